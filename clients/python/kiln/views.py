"""Views over a value's bytes: records, lists and dicts that decode a member when it is asked for.

A view holds the buffer that it was made over and a position in it; it copies nothing. All reads are bounds-checked; damaged bytes raise
FormatError where they are met. kiln.check() tests a whole value.
"""
from collections.abc import Mapping, Sequence

import numpy as np

from . import types
from .errors import EncodeError


class Record(types.View, Mapping):
    """A struct. Fields are attributes and keys; absent ones are None. Each definition has a subclass, which makes records, too."""

    __slots__ = ('_b', '_p', '_e', '_at')
    _type = None

    def __new__(cls, buffer=None, position=None, end=None, /, **fields):
        self = super().__new__(cls)
        if buffer is None or position is None:
            if cls._type is None:
                raise TypeError('a record is made by the class of its definition: registry[name](…)')
            out = bytearray()
            given = {} if buffer is None else types.members_of(buffer, cls._type)
            cls._type.put(out, {**given, **fields})
            buffer, position, end = memoryview(bytes(out)), 0, len(out)
        self._b, self._p, self._e = buffer, position, end
        self._at = None
        return self

    def _place(self, n):
        """Where field n starts."""
        fixed = self._type.fixed
        if n < len(fixed):
            return self._p + fixed[n]
        if self._at is None:
            self._at = [self._p + fixed[-1]]
        at, first = self._at, len(fixed) - 1
        while len(at) <= n - first:
            at.append(self._type.fields[first + len(at) - 1].type.skip(self._b, at[-1], self._e))
        return at[n - first]

    def _get(self, n):
        return self._type.fields[n].type.get(self._b, self._place(n), self._e)

    def __getitem__(self, name):
        n = self._type.index.get(name)
        if n is None:
            raise KeyError(name)
        return self._get(n)

    def __getattr__(self, name):
        n = self._type.index.get(name) if self._type is not None else None
        if n is None:
            raise AttributeError(f'{type(self).__name__} has no field {name!r}')
        return self._get(n)

    def __contains__(self, name):
        return name in self._type.index

    def __iter__(self):
        return iter(self._type.index)

    def __len__(self):
        return len(self._type.fields)

    def __dir__(self):
        return [*super().__dir__(), *self._type.index]

    def __eq__(self, other):
        if isinstance(other, Record) and self._type.text == other._type.text:
            return self._bytes() == other._bytes()
        if isinstance(other, Mapping):
            return len(self) == len(other) and all(name in other and _same(self[name], other[name]) for name in self)
        return NotImplemented

    def __hash__(self):
        return hash((self._type.text, bytes(self._bytes())))

    def __repr__(self):
        return f'{type(self).__name__}({", ".join(f"{name}={self[name]!r}" for name in self)})'

    def __reduce__(self):
        return _restore, (self._type.text, bytes(self._bytes()))


def _same(a, b):
    result = a == b
    return bool(result.all()) if isinstance(result, np.ndarray) else bool(result)


def _restore(text, payload):
    from .definition import parse
    return parse(text).root.get(memoryview(payload), 0, len(payload))


def record_class(type_):
    """The class of a struct's records: a property for each field whose name means nothing else."""
    members = {'__slots__': (), '_type': type_, '__match_args__': tuple(f.name for f in type_.fields)}
    for n, field in enumerate(type_.fields):
        if field.name.isidentifier() and not hasattr(Record, field.name):
            members[field.name] = property(lambda self, n=n: self._get(n), doc=field.type.text)
    type_.record = type(type_.name or 'Record', (Record,), members)
    return type_.record


class List(types.View, Sequence):
    """A list. One of numbers is an array in place: numpy.asarray(v) and v.numpy() copy nothing."""

    __slots__ = ('_type', '_b', '_p', '_e', '_n', '_at')

    def __init__(self, type_, buffer, position, end, count):
        self._type, self._b, self._p, self._e, self._n = type_, buffer, position, end, count
        self._at = [position + 4]

    def __len__(self):
        return self._n

    def _place(self, n):
        element = self._type.element
        if element.width is not None:
            return self._p + 4 + n * element.width
        at = self._at
        while len(at) <= n:
            at.append(element.skip(self._b, at[-1], self._e))
        return at[n]

    def __getitem__(self, n):
        if isinstance(n, slice):
            return [self[i] for i in range(*n.indices(self._n))]
        n = n + self._n if n < 0 else n
        if not 0 <= n < self._n:
            raise IndexError('list index out of range')
        return self._type.element.get(self._b, self._place(n), self._e)

    def numpy(self):
        """The elements as a read-only numpy array over the received bytes; TypeError if they are no numbers."""
        if not self._type.numbers:
            raise TypeError(f'{self._type.text} is no list of numbers')
        return np.frombuffer(self._b, self._type.element.dtype, self._n, self._p + 4)

    def __array__(self, dtype=None, copy=None):
        if not self._type.numbers:
            return np.array(list(self), dtype)
        array = self.numpy()
        return array.astype(dtype) if dtype is not None and dtype != array.dtype or copy else array

    def __eq__(self, other):
        if isinstance(other, List) and self._type.text == other._type.text:
            return self._bytes() == other._bytes()
        if isinstance(other, np.ndarray):
            return np.asarray(self) == other
        if isinstance(other, Sequence) and not isinstance(other, (str, bytes)):
            return len(self) == len(other) and all(_same(a, b) for a, b in zip(self, other))
        return NotImplemented

    def __hash__(self):
        return hash((self._type.text, bytes(self._bytes())))

    def __repr__(self):
        return repr(self.numpy().tolist() if self._type.numbers else list(self))

    def __reduce__(self):
        return _restore, (self._type.text, bytes(self._bytes()))


class Dict(types.View, Mapping):
    """A dict, in the order of its keys' bytes."""

    __slots__ = ('_type', '_b', '_p', '_e', '_n', '_keys')

    def __init__(self, type_, buffer, position, end, count):
        self._type, self._b, self._p, self._e, self._n = type_, buffer, position, end, count
        self._keys = None

    def _places(self):
        if self._keys is None:
            keys, p = {}, self._p + 4
            for _ in range(self._n):
                end = types.KEY.skip(self._b, p, self._e)
                keys[types.text_of(self._b, p + 4, end)] = end
                p = self._type.element.skip(self._b, end, self._e)
            self._keys = keys
        return self._keys

    def __getitem__(self, key):
        return self._type.element.get(self._b, self._places()[key], self._e)

    def __contains__(self, key):
        return key in self._places()

    def __iter__(self):
        return iter(self._places())

    def __len__(self):
        return self._n

    def __eq__(self, other):
        if isinstance(other, Mapping):
            return len(self) == len(other) and all(key in other and _same(self[key], other[key]) for key in self)
        return NotImplemented

    def __hash__(self):
        return hash((self._type.text, bytes(self._bytes())))

    def __repr__(self):
        return repr(dict(self))

    def __reduce__(self):
        return _restore, (self._type.text, bytes(self._bytes()))


types.ListType.view = List
types.DictType.view = Dict
types.Struct.view = staticmethod(record_class)


class Opaque:
    """A value that can't be read: of an unknown definition, or unverified and damaged. Its frame can be kept and sent on; any other use raises."""

    def __init__(self, frame, error, hash=None, resolve=None):
        self.frame = frame
        self.error = error
        self.hash = hash
        self._resolve = resolve

    def resolve(self):
        """The value, if its definition has become known since; else raises what is wrong with it."""
        if self._resolve is None:
            raise self.error
        return self._resolve(self.frame)

    def __getattr__(self, name):
        if name.startswith('__'):
            raise AttributeError(name)
        raise self.error

    def __getitem__(self, name):
        raise self.error

    def __eq__(self, other):
        return isinstance(other, Opaque) and bytes(self.frame) == bytes(other.frame)

    def __hash__(self):
        return hash(bytes(self.frame))

    def __repr__(self):
        return f'<kiln value that cannot be read: {self.error}>'


def asdict(value):
    """A value with all its views made plain: dicts, lists and scalars."""
    if isinstance(value, (Record, Dict)):
        return {key: asdict(value[key]) for key in value}
    if isinstance(value, List):
        return value.numpy().tolist() if value._type.numbers else [asdict(item) for item in value]
    if isinstance(value, Opaque):
        raise value.error
    return value


def fields(record):
    """The fields of a record or record class: objects with name, type and default."""
    return tuple(record._type.fields)


def replace(record, **changes):
    """A record of the same definition with some fields changed."""
    unknown = [name for name in changes if name not in record._type.index]
    if unknown:
        raise EncodeError(f'field {unknown[0]!r} does not exist in {record._type.text[:100]}')
    return type(record)({**{name: record[name] for name in record}, **changes})

