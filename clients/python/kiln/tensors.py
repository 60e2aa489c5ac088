"""Tensor directories (docs/FORMAT.md, section 4) as numpy arrays over the received bytes, and back.

numpy has no bfloat16: such a tensor is an array of uint16 whose dtype carries the metadata {'kiln': 'bf16'}; f32() widens it, bf16() makes one.
"""
import struct
from collections.abc import Mapping

import numpy as np

from .errors import EncodeError, FormatError

MAGIC = b'KILNTDIR'
HEADER = 64
ENTRY = 128
ALIGN = 64
MAX_RANK = 8
NAMES = (None, 'bool', 'i8', 'i16', 'i32', 'i64', 'u8', 'u16', 'u32', 'u64', 'f16', 'bf16', 'f32', 'f64')
BF16 = np.dtype('<u2', metadata={'kiln': 'bf16'})
DTYPES = (None, *map(np.dtype, ('?', 'i1', '<i2', '<i4', '<i8', 'u1', '<u2', '<u4', '<u8', '<f2')), BF16, *map(np.dtype, ('<f4', '<f8')))

_ENTRY = struct.Struct('<QQBBHI')


def is_bf16(array):
    return array.dtype.metadata is not None and array.dtype.metadata.get('kiln') == 'bf16'


def f32(array):
    """A tensor of bf16 as float32, exact."""
    if not is_bf16(array):
        raise TypeError('not an array of bf16')
    return (np.ascontiguousarray(array).astype('<u4') << 16).view('<f4')


def bf16(array):
    """An array of floats rounded to bf16: to nearest, ties to even, NaN kept quiet."""
    wide = np.ascontiguousarray(array, '<f4')
    bits = wide.view('<u4')
    rounded = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16
    return np.where(np.isnan(wide), (bits >> 16) | 0x40, rounded).astype('<u2').view(BF16)


def dtype_of(array):
    """An array's dtype in a directory."""
    if is_bf16(array):
        return NAMES.index('bf16')
    for code, dtype in enumerate(DTYPES):
        if code and code != NAMES.index('bf16') and dtype == array.dtype.newbyteorder('<'):
            return code
    raise EncodeError(f'no tensor has elements of dtype {array.dtype}')


def _up(n):
    return (n + ALIGN - 1) // ALIGN * ALIGN


def _nonzero(b, p, e):
    """The first byte from p to e that is not zero, else e."""
    data = bytes(b[p:e])
    return e - len(data.lstrip(b'\0'))


class Tensors(Mapping):
    """A directory: tensors by name, each an array in place. Tensors({name: array}) makes one to be sent."""

    def __init__(self, arrays):
        self._arrays = {name: arrays[name] if isinstance(arrays[name], np.ndarray) else np.asarray(arrays[name])
                        for name in sorted(arrays, key=lambda name: name.encode())}

    def __getitem__(self, name):
        return self._arrays[name]

    def __iter__(self):
        return iter(self._arrays)

    def __len__(self):
        return len(self._arrays)

    def __eq__(self, other):
        if not isinstance(other, Mapping):
            return NotImplemented
        return list(self) == sorted(other, key=lambda name: name.encode()) and all(
            dtype_of(self[name]) == dtype_of(np.asarray(other[name])) and np.array_equal(self[name], other[name]) for name in self)

    __hash__ = None

    def __repr__(self):
        parts = (f'{name!r}: {NAMES[dtype_of(array)]}{list(array.shape)}' for name, array in self.items())
        return f'<kiln.Tensors {{{", ".join(parts)}}}>'


def read(b, p, e):
    """The Tensors of the directory from p to e, every rule checked."""
    n = e - p

    def fail(message, at):
        raise FormatError(message, p + at)

    if n < HEADER:
        fail('tensor directory is shorter than its header', 0)
    if bytes(b[p:p + 8]) != MAGIC:
        fail('tensor directory has a wrong signature', 0)
    version, count, total = struct.unpack_from('<IIQ', b, p + 8)
    if version != 1:
        fail('unknown version of the tensor directory', 8)
    if count > (n - HEADER) // ENTRY:
        fail('count of tensors is too large for the bytes present', 12)
    if total != n:
        fail('total of the tensor directory is not the bytes present', 16)
    if _nonzero(b, p + 24, p + HEADER) < p + HEADER:
        fail('reserved bytes are not zero', _nonzero(b, p + 24, p + HEADER) - p)
    end, before, arrays = HEADER + ENTRY * count, None, {}
    for base in range(HEADER, HEADER + ENTRY * count, ENTRY):
        offset, length, dtype, shape, name = _entry(b, p, base, n, _up(end), fail)
        if before is not None and name <= before:
            fail('names of tensors are not strictly ascending', base + 24 + 8 * len(shape))
        if _nonzero(b, p + end, p + offset) < p + offset:
            fail('bytes between tensors are not zero', _nonzero(b, p + end, p + offset) - p)
        array = np.frombuffer(b, DTYPES[dtype], length // DTYPES[dtype].itemsize, p + offset) if length else np.empty(0, DTYPES[dtype])
        if dtype == 1:
            bad = np.flatnonzero(array.view('u1') > 1)
            if len(bad):
                fail('bool is neither 0 nor 1', offset + int(bad[0]))
        arrays[name.decode()] = array.reshape(shape)
        before, end = name, offset + length
    if end != n:
        fail('total is not the end of the last tensor', 16)
    return Tensors(arrays)


def _entry(b, p, base, n, wanted, fail):
    offset, length, dtype, rank, name_length, zero = _ENTRY.unpack_from(b, p + base)
    if offset != wanted:
        fail('offset of a tensor is not the one that follows', base)
    if not 1 <= dtype < len(DTYPES):
        fail('unknown dtype', base + 16)
    if rank > MAX_RANK:
        fail('rank of a tensor is above 8', base + 17)
    if name_length > ENTRY - 24 - 8 * rank:
        fail('name of a tensor is too long', base + 18)
    if zero:
        fail('reserved bytes are not zero', _nonzero(b, p + base + 20, p + base + 24) - p)
    shape = struct.unpack_from(f'<{rank}Q', b, p + base + 24)
    size = DTYPES[dtype].itemsize
    for dimension in shape:
        size *= dimension or 1
    if size >= 2 ** 63:
        fail('shape of a tensor is too large', base + 24)
    if length != (0 if 0 in shape else size):
        fail('payload of a tensor has not the size of its shape', base + 8)
    at = base + 24 + 8 * rank
    name = bytes(b[p + at:p + at + name_length])
    try:
        name.decode()
        bad = name.find(0)
    except UnicodeDecodeError as error:
        bad = name.find(0, 0, error.start)
        bad = error.start if bad < 0 else bad
    if bad >= 0:
        fail('name of a tensor is not UTF-8 without NUL', at + bad)
    if name.startswith(b'$'):
        fail('name of a tensor starts with $', at)
    rest = _nonzero(b, p + at + name_length, p + base + ENTRY)
    if rest < p + base + ENTRY:
        fail('bytes behind the name of a tensor are not zero', rest - p)
    if offset + length > n:
        fail('tensor is beyond the end of the directory', base + 8)
    return offset, length, dtype, shape, name


def write(arrays, head=b''):
    """A directory of {name: array} as a bytearray, behind head. One copy of each array."""
    arrays = Tensors(arrays)
    names = [name.encode() for name in arrays]
    end, places = HEADER + ENTRY * len(names), []
    for name, array in zip(names, arrays.values()):
        if array.ndim > MAX_RANK or len(name) > ENTRY - 24 - 8 * array.ndim or name.startswith(b'$') or 0 in name:
            raise EncodeError(f'no tensor has {array.ndim} dimensions and the name {name.decode()!r}')
        places.append(_up(end))
        end = places[-1] + array.nbytes
    out = bytearray(len(head) + end)
    out[:len(head)] = head
    start = len(head)
    out[start:start + 8] = MAGIC
    struct.pack_into('<IIQ', out, start + 8, 1, len(names), end)
    for i, (name, array, offset) in enumerate(zip(names, arrays.values(), places)):
        base = start + HEADER + ENTRY * i
        _ENTRY.pack_into(out, base, offset, array.nbytes, dtype_of(array), array.ndim, len(name), 0)
        struct.pack_into(f'<{array.ndim}Q', out, base + 24, *array.shape)
        at = base + 24 + 8 * array.ndim
        out[at:at + len(name)] = name
        if array.nbytes:
            into = np.frombuffer(out, array.dtype.newbyteorder('<'), array.size, start + offset)
            into.reshape(array.shape)[...] = array
    return out
