"""Tensors against numpy: random ones of every dtype, through every door, bit for bit.

usage: tensor_numpy.py CONNINFO COUNT

Reads and writes the directory and safetensors formats by itself, so that nothing here rests on the code under test. Prints what differs and how
many tensors were compared; exits with 1 if anything differed.
"""
import base64
import io
import json
import math
import re
import struct
import sys
from fractions import Fraction

import numpy as np
import psycopg

DTYPES = ['bool', 'i8', 'i16', 'i32', 'i64', 'u8', 'u16', 'u32', 'u64', 'f16', 'bf16', 'f32', 'f64']
NUMPY = {'bool': 'bool', 'i8': 'i1', 'i16': 'i2', 'i32': 'i4', 'i64': 'i8', 'u8': 'u1', 'u16': 'u2', 'u32': 'u4', 'u64': 'u8',
         'f16': 'f2', 'bf16': 'u2', 'f32': 'f4', 'f64': 'f8'}
SAFETENSORS = {'bool': 'BOOL', 'i8': 'I8', 'i16': 'I16', 'i32': 'I32', 'i64': 'I64', 'u8': 'U8', 'u16': 'U16', 'u32': 'U32', 'u64': 'U64',
               'f16': 'F16', 'bf16': 'BF16', 'f32': 'F32', 'f64': 'F64'}
FLOATS = ('f16', 'bf16', 'f32', 'f64')
# array types that hold a dtype's numbers
ARRAYS = {'bool': 'bool[]', 'i16': 'int2[]', 'i32': 'int4[]', 'i64': 'int8[]', 'f32': 'float4[]', 'f64': 'float8[]'}

random = np.random.Generator(np.random.PCG64(4))
failures = []


def little(dtype):
    return np.dtype(NUMPY[dtype]).newbyteorder('<')


def check(what, case, got, wanted):
    same = got == wanted
    if isinstance(got, float) and isinstance(wanted, float) and math.isnan(got) and math.isnan(wanted):
        same = True
    if not same:
        failures.append(what)
        if len(failures) <= 20:
            print(f'{what}: {case}: got {str(got)[:200]}, wanted {str(wanted)[:200]}')


# ---------------------------------------------------------------- numpy's view of a tensor: bf16 is kept as its bits

def values(dtype, array):
    """The elements as float64 (bf16 decoded), or as integers."""
    if dtype == 'bf16':
        with np.errstate(invalid='ignore'):
            return (array.reshape(-1).astype('u4') << 16).view('f4').astype('f8').reshape(array.shape)
    if dtype in FLOATS:
        with np.errstate(invalid='ignore'):
            return array.astype('f8')
    return array


def random_tensor():
    dtype = DTYPES[random.integers(len(DTYPES))]
    rank = int(random.integers(5))
    shape = tuple(int(random.choice([0, 1, 2, 3, 5, 8, 13], p=[.03, .17, .2, .2, .2, .1, .1])) for _ in range(rank))
    count = int(np.prod(shape))
    kind = random.integers(3)
    if dtype == 'bool':
        array = random.integers(2, size=count).astype('bool')
    elif kind == 0 or (dtype == 'bf16' and kind == 1):      # any bits, NaNs among them
        array = np.frombuffer(random.bytes(count * np.dtype(NUMPY[dtype]).itemsize), little(dtype)).copy()
    elif dtype == 'bf16':
        array = (random.standard_normal(count).astype('f4').view('u4') >> 16).astype('u2')
    elif dtype in FLOATS:
        array = random.standard_normal(count)
        if kind == 1 and count:
            special = random.choice([0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, 6e-8], count)
            array = np.where(random.random(count) < .3, special, array)
        array = array.astype(NUMPY[dtype])
    else:
        array = random.integers(0, 100, count).astype(NUMPY[dtype])
    return dtype, array.reshape(shape)


# ---------------------------------------------------------------- directories, by an own reader and writer

def directory(tensors):
    """tensors: {name: (dtype, array)}"""
    names = sorted(tensors, key=lambda name: name.encode())
    at = 64 + 128 * len(names)
    entries, payloads, end = b'', b'', at
    for name in names:
        dtype, array = tensors[name]
        data = array.astype(array.dtype.newbyteorder('<')).tobytes()
        offset = (end + 63) // 64 * 64
        payloads += bytes(offset - end) + data
        end = offset + len(data)
        entry = struct.pack('<QQBBHI', offset, len(data), DTYPES.index(dtype) + 1, array.ndim, len(name.encode()), 0)
        entry += struct.pack(f'<{array.ndim}Q', *array.shape) + name.encode()
        entries += entry + bytes(128 - len(entry))
    return b'KILNTDIR' + struct.pack('<IIQ', 1, len(names), end) + bytes(40) + entries + payloads


def frame(tensors):
    return b'\x13\0\0\0' + directory(tensors)


def single(dtype, array, name=''):
    return frame({name: (dtype, array)})


def parse_number(dtype, text):
    found = re.fullmatch(r'NaN\(0x([0-9a-f]+)\)', text) if isinstance(text, str) else None
    width = np.dtype(NUMPY[dtype]).itemsize
    if found:
        return bytes.fromhex(found.group(1))[::-1]
    if text == 'NaN':
        return {'f64': 0x7ff8 << 48, 'f32': 0x7fc00000, 'f16': 0x7e00, 'bf16': 0x7fc0}[dtype].to_bytes(width, 'little')
    value = float(text) if isinstance(text, str) or dtype in FLOATS else text
    if dtype == 'bf16':
        bits = struct.unpack('<I', struct.pack('<f', value))[0]
        return ((bits + 0x7fff + (bits >> 16 & 1)) >> 16).to_bytes(2, 'little')
    return np.array(value).astype(little(dtype)).tobytes()


def parse_text(text):
    """The payload of the one tensor of a text form, and its dtype and shape."""
    # an integer to Python, -0 would lose its sign
    tensor = json.loads(text, parse_int=lambda word: -0.0 if word == '-0' else int(word))['']
    if 'base64' in tensor:
        data = base64.b64decode(tensor['base64'], validate=True)
    else:
        data = b''.join(parse_number(tensor['dtype'], x) for x in tensor['data'])
    return tensor['dtype'], tuple(tensor['shape']), data


def safetensors(tensors):
    header, data = {}, b''
    names = list(tensors)
    random.shuffle(names)
    for name in names:
        dtype, array = tensors[name]
        payload = array.astype(array.dtype.newbyteorder('<')).tobytes()
        header[name] = {'dtype': SAFETENSORS[dtype], 'shape': list(array.shape), 'data_offsets': [len(data), len(data) + len(payload)]}
        data += payload
    if random.integers(2):
        header['__metadata__'] = {'made by': 'a test'}
    text = json.dumps(header, ensure_ascii=bool(random.integers(2))).encode()
    text += b' ' * (-len(text) % 8)
    return struct.pack('<Q', len(text)) + text + data


def read_safetensors(file):
    length = struct.unpack('<Q', file[:8])[0]
    header, data = json.loads(file[8:8 + length]), file[8 + length:]
    result, end = {}, 0
    for name, entry in sorted(header.items(), key=lambda item: item[1]['data_offsets']):
        assert entry['data_offsets'][0] == end, 'a hole'
        end = entry['data_offsets'][1]
        dtype = [d for d, word in SAFETENSORS.items() if word == entry['dtype']][0]
        assert entry['data_offsets'][0] % np.dtype(NUMPY[dtype]).itemsize == 0, 'not aligned'
        result[name] = (dtype, np.frombuffer(data[entry['data_offsets'][0]:end], little(dtype)).reshape(entry['shape']))
    assert end == len(data), 'bytes left'
    return result


# ---------------------------------------------------------------- comparisons

def one(cursor, query, *arguments):
    return cursor.execute(query, arguments, binary=True).fetchone()


def refused(cursor, state, query, *arguments):
    try:
        cursor.execute(query, arguments, binary=True).fetchall()
    except psycopg.Error as error:
        return error.sqlstate == state
    return False


def check_doors(cursor, case, dtype, array, bytes_):
    row = one(cursor, 'SELECT v, v::text, v::text::kiln = v, kiln_shape(v), kiln_dtype(v), kiln_ndim(v), octet_length(kiln_frame(v)) '
                      'FROM kiln_from_frame(%s) v', bytes_)
    check('binary', case, bytes(row[0]), bytes_)
    got = parse_text(row[1])
    check('text', case, got, (dtype, array.shape, array.astype(array.dtype.newbyteorder('<')).tobytes()))
    check('text back', case, row[2], True)
    check('shape', case, tuple(row[3]), array.shape)
    check('dtype', case, (row[4], row[5], row[6]), (dtype, array.ndim, len(bytes_)))


def check_npy(cursor, case, dtype, array, bytes_):
    if dtype == 'bf16':
        check('npy of bf16', case, refused(cursor, '0A000', 'SELECT kiln_to_npy(kiln_from_frame(%s))', bytes_), True)
        return
    file = one(cursor, 'SELECT kiln_to_npy(kiln_from_frame(%s))', bytes_)[0]
    read = np.load(io.BytesIO(file))
    check('npy out', case, (read.dtype, read.shape, read.tobytes()), (np.dtype(NUMPY[dtype]), array.shape, array.tobytes()))
    made = array.astype(array.dtype.newbyteorder(random.choice(['<', '>'])))
    made = np.asfortranarray(made) if random.integers(2) and array.ndim else made
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, made, version=[(1, 0), (2, 0), (3, 0)][random.integers(3)])
    check('npy in', case, bytes(one(cursor, 'SELECT kiln_from_npy(%s)', buffer.getvalue())[0]), bytes_)
    check_damage(cursor, case, 'kiln_from_npy', buffer.getvalue())


def check_safetensors(cursor, case, tensors):
    bytes_ = frame(tensors)
    check('safetensors in', case, bytes(one(cursor, 'SELECT kiln_from_safetensors(%s)', safetensors(tensors))[0]), bytes_)
    read = read_safetensors(one(cursor, 'SELECT kiln_to_safetensors(kiln_from_frame(%s))', bytes_)[0])
    check('safetensors out', case, frame(read), bytes_)
    for _ in range(20):
        check_damage(cursor, case, 'kiln_from_safetensors', safetensors(tensors))


def nested(array):
    return array.tolist()


def check_arrays(cursor, case, dtype, array, bytes_):
    wide = values(dtype, array)
    got = one(cursor, 'SELECT kiln_to_array(kiln_from_frame(%s))', bytes_)[0]
    wanted = [] if array.size == 0 else [float(wide)] if array.ndim == 0 else nested(wide.astype('f8'))
    check('to array', case, np.array(got, 'f8').tobytes() if not np.isnan(np.array(got, 'f8')).any() else str(got),
          np.array(wanted, 'f8').tobytes() if not np.isnan(np.array(wanted, 'f8')).any() else str(wanted))
    if dtype in ARRAYS and array.size and array.ndim and not (dtype in FLOATS and np.isnan(array).any()):
        back, = one(cursor, f'SELECT kiln_tensor(v::{ARRAYS[dtype]}) FROM kiln_from_frame(%s) v', bytes_)
        check('array and back', case, bytes(back), bytes_)
    got = [row[0] for row in cursor.execute('SELECT kiln_values(kiln_from_frame(%s))', (bytes_,), binary=True).fetchall()]
    check('values', case, str(got), str(wide.astype('f8').reshape(-1).tolist()))


def check_parts(cursor, case, dtype, array, bytes_):
    if array.ndim == 0:
        got, = one(cursor, 'SELECT kiln_at(kiln_from_frame(%s))', bytes_)
        check('at', case, got, float(values(dtype, array)))
        return
    rows = array.shape[0]
    low, high = (int(x) for x in random.integers(-2, rows + 4, 2))
    wanted = array[max(low, 1) - 1:max(high, 0)] if low <= high else array[:0]
    sliced, row = one(cursor, 'SELECT kiln_slice(v, %s, %s), kiln_row(v, %s) FROM kiln_from_frame(%s) v', low, high, low, bytes_)
    check('slice', (case, low, high), bytes(sliced), single(dtype, wanted))
    check('row', (case, low), row and bytes(row), single(dtype, np.asarray(array[low - 1])) if 1 <= low <= rows else None)
    place = [int(random.integers(0, n + 2)) for n in array.shape]
    got, = one(cursor, 'SELECT kiln_at(kiln_from_frame(%s), VARIADIC %s::int8[])', bytes_, place)
    inside = all(1 <= p <= n for p, n in zip(place, array.shape))
    check('at', (case, place), got, float(values(dtype, array)[tuple(p - 1 for p in place)]) if inside else None)


def check_shapes(cursor, case, dtype, array, bytes_):
    if array.size:
        shape = list(array.reshape(-1, array.shape[-1] if array.ndim else 1).shape)
        got, = one(cursor, 'SELECT kiln_reshape(kiln_from_frame(%s), %s::int8[])', bytes_, [-1, shape[1]])
        check('reshape', case, bytes(got), single(dtype, array.reshape(shape)))
    if array.ndim:
        got, = one(cursor, 'SELECT kiln_concat(v, v, kiln_slice(v, 1, 1)) FROM kiln_from_frame(%s) v', bytes_)
        check('concat', case, bytes(got), single(dtype, np.concatenate([array, array, array[:1]])))


def round_bf16(x):
    """float64 to bf16 bits, rounded once."""
    f = np.float32(x)
    bits = int(f.view('u4'))
    # the step to float32 must not round to a half-way point that the double is not on
    if bits & 0xffff == 0x8000 and float(f) != x:
        bits += 1 if abs(x) > abs(float(f)) else -1
    return (bits + 0x7fff + (bits >> 16 & 1)) >> 16


def check_casts(cursor, case, dtype, array, bytes_):
    target = FLOATS[random.integers(4)]
    wide = values(dtype, array)
    exact = [Fraction(int(x)) if dtype not in FLOATS else x for x in wide.reshape(-1).tolist()]
    if target in ('f32', 'bf16') and dtype in ('i64', 'u64'):
        return      # through numpy these would be rounded twice
    with np.errstate(all='ignore'):
        doubles = np.array([float(x) for x in exact], 'f8').reshape(array.shape)
        if target == 'bf16':
            narrow = np.array([round_bf16(x) if math.isfinite(x) else int(np.float32(x).view('u4')) >> 16 for x in doubles.reshape(-1)], 'u2').reshape(array.shape)
        elif target == 'f16' and dtype in ('i64', 'u64', 'i32', 'u32'):
            return
        else:
            narrow = doubles.astype(NUMPY[target])
    if np.isnan(doubles).any():
        return      # which NaN comes out is for other tests
    back = values(target, narrow)
    lost = (np.isinf(back) & ~np.isinf(doubles)) | ((back == 0) & (doubles != 0))
    if lost.any():
        check('cast refused', (case, target), refused(cursor, '22003', 'SELECT kiln_cast(kiln_from_frame(%s), %s)', bytes_, target), True)
    else:
        check('cast', (case, target), bytes(one(cursor, 'SELECT kiln_cast(kiln_from_frame(%s), %s)', bytes_, target)[0]), single(target, narrow))


def check_reductions(cursor, case, dtype, array, bytes_):
    wide = [float(x) if dtype in FLOATS else int(x) for x in values(dtype, array).reshape(-1)]
    finite = all(math.isfinite(x) for x in wide)
    least, greatest = one(cursor, 'SELECT kiln_min(v), kiln_max(v) FROM kiln_from_frame(%s) v', bytes_)
    numbers = [x for x in wide if not math.isnan(x)]
    check('min', case, least, float(min(numbers)) if numbers else float('nan') if wide else None)
    check('max', case, greatest, None if not wide else float('nan') if len(numbers) < len(wide) else float(max(wide)))
    if not finite or (wide and max(abs(x) for x in wide) > 1e150):
        return
    total, mean, norm, dot = one(cursor, 'SELECT kiln_sum(v), kiln_mean(v), kiln_norm(v), kiln_dot(v, v) FROM kiln_from_frame(%s) v', bytes_)
    exact = sum(map(Fraction, wide))
    squares = sum(float(x) * float(x) for x in wide)
    if dtype in FLOATS:
        bound = float(sum(abs(Fraction(x)) for x in wide)) * 2.0 ** -45
        check('sum', case, abs(Fraction(total) - exact) <= bound, True)
        check('mean', case, mean is None if not wide else abs(Fraction(mean) - exact / len(wide)) <= bound / len(wide) + 5e-324, True)
    else:
        check('sum', case, total, float(exact))
        check('mean', case, mean, float(exact / len(wide)) if wide else None)
    check('norm', case, math.isclose(norm, math.sqrt(squares), rel_tol=1e-13, abs_tol=1e-160), True)
    check('dot', case, math.isclose(dot, squares, rel_tol=1e-13, abs_tol=5e-324 * (len(wide) + 1)), True)


def check_arithmetic(cursor, case, dtype, array):
    if dtype in ('bool', 'bf16'):
        return
    other = random_like(dtype, array)
    result = 'f32' if dtype == 'f16' else dtype
    for name, operation in (('add', np.add), ('sub', np.subtract), ('mul', np.multiply)):
        with np.errstate(all='ignore'):
            if dtype in FLOATS:
                a, b = array.astype(NUMPY[result]), other.astype(NUMPY[result])
                wanted = operation(a, b)
                lost = ~np.isfinite(wanted) & np.isfinite(a) & np.isfinite(b)
            else:
                exact = operation(array.astype(object), other.astype(object))
                limits = np.iinfo(NUMPY[dtype])
                lost = (exact < limits.min) | (exact > limits.max)
                wanted = None if np.any(lost) else np.asarray(exact, dtype=object).astype(NUMPY[dtype]).reshape(array.shape)
        query = f'SELECT kiln_{name}(kiln_from_frame(%s), kiln_from_frame(%s))'
        arguments = single(dtype, array), single(dtype, other)
        if np.any(lost):
            check(name + ' refused', case, refused(cursor, '22003', query, *arguments), True)
        else:
            if dtype in FLOATS:
                wanted = np.where(np.isnan(wanted), np.array(np.nan, NUMPY[result]), wanted).astype(NUMPY[result])
            check(name, case, bytes(one(cursor, query, *arguments)[0]), single(result, wanted))


def random_like(dtype, array):
    if dtype in FLOATS:
        return random.standard_normal(array.shape).astype(NUMPY[dtype]) if array.ndim else np.array(random.standard_normal()).astype(NUMPY[dtype])
    return np.asarray(random.integers(0, 100, array.shape)).astype(NUMPY[dtype])


def check_damage(cursor, case, function, file):
    """A file with some bytes changed, cut or added is refused with a proper error, or gives a value that is sound."""
    damaged = bytearray(file)
    for _ in range(int(random.integers(1, 4))):
        at = int(random.integers(len(damaged) if random.integers(2) else min(len(damaged), 140)))
        damaged[at] = int(random.integers(256)) if random.integers(2) else ord(random.choice(list('0123456789{}[]":,\'() ')))
    if random.integers(4) == 0:
        del damaged[int(random.integers(len(damaged))):]
    try:
        sound, = one(cursor, f'SELECT kiln_from_frame(kiln_frame(v)) = v FROM {function}(%s) v', bytes(damaged))
        check('damaged file taken', (case, function), sound, True)
    except psycopg.Error as error:
        check('damaged file refused', (case, function, damaged.hex()), error.sqlstate in ('22P03', '0A000', '54000', '42602', '22021', '22P05'), True)


def check_aggregates(cursor, case):
    """Element-wise aggregates over random rows: fsum and Fraction are exact."""
    n, width = int(random.integers(1, 30)), int(random.integers(1, 6))
    rows = random.standard_normal((n, width)) * 10.0 ** random.integers(-8, 8, (n, width))
    if random.integers(4) == 0:
        rows = rows.astype('f4').astype('f8')
    total, mean, least, greatest, stacked = one(
        cursor, 'SELECT kiln_sum_agg(kiln_from_frame(f)), kiln_avg_agg(kiln_from_frame(f)), kiln_min_agg(kiln_from_frame(f)), kiln_max_agg(kiln_from_frame(f)), '
                'kiln_tensor_agg(kiln_from_frame(f) ORDER BY i) FROM unnest(%s::bytea[]) WITH ORDINALITY AS t (f, i)', [single('f64', row) for row in rows])
    check('sum_agg', case, bytes(total), single('f64', np.array([math.fsum(column) for column in rows.T])))
    check('avg_agg', case, bytes(mean), single('f64', np.array([float(sum(map(Fraction, column)) / n) for column in rows.T])))
    check('min_agg', case, bytes(least), single('f64', rows.min(axis=0)))
    check('max_agg', case, bytes(greatest), single('f64', rows.max(axis=0)))
    check('tensor_agg', case, bytes(stacked), single('f64', rows))


def main():
    conninfo, count = sys.argv[1], int(sys.argv[2])
    seen = set()
    with psycopg.connect(conninfo, autocommit=True) as connection:
        cursor = connection.cursor()
        for i in range(count):
            dtype, array = random_tensor()
            case = (i, dtype, array.shape)
            bytes_ = single(dtype, array)
            seen.add((dtype, array.ndim))
            check_doors(cursor, case, dtype, array, bytes_)
            check_npy(cursor, case, dtype, array, bytes_)
            check_arrays(cursor, case, dtype, array, bytes_)
            check_parts(cursor, case, dtype, array, bytes_)
            check_shapes(cursor, case, dtype, array, bytes_)
            check_casts(cursor, case, dtype, array, bytes_)
            check_reductions(cursor, case, dtype, array, bytes_)
            check_arithmetic(cursor, case, dtype, array)
            if i % 10 == 0:
                check_safetensors(cursor, case, {name: random_tensor() for name in random.choice(['', 'a', 'b', 'weight.0', 'größe', 'a"b\\'], 3, replace=False)})
                check_aggregates(cursor, case)
    check('every dtype and rank', count, len(seen), len(DTYPES) * 5)
    print(f'{count} tensors, {len(failures)} differences')
    sys.exit(1 if failures else 0)


main()
