"""Frames (docs/FORMAT.md, section 3), the definitions they name, and their text form (section 5)."""
import base64
import binascii
import re
import struct

import numpy as np

from . import definition, jsontext, paths, tensors, types, views
from .errors import DefinitionError, EncodeError, FormatError, UnknownDefinition

REGISTERED, INLINE, TENSORS, UNVERIFIED = 0x11, 0x12, 0x13, 0x14
MAX_FRAME = 700000000
_MOST_INLINE = 1000         # definitions of inline frames that are kept parsed

_NAMED = re.compile(r'(?:[a-z_][a-z0-9_]*|"(?:[^"]|"")+")?#([0-9a-f]{16})')


class Frame:
    """A value and the bytes it travels in. kind is the first byte; schema is None for tensors; payload runs from _p to _e of the buffer _b."""

    def __init__(self, kind, schema, b, p, e):
        self.kind = kind
        self.schema = schema
        self._b, self._p, self._e = b, p, e

    @property
    def hash(self):
        return self.schema.hash if self.schema else None

    @property
    def payload(self):
        return self._b[self._p:self._e]

    @property
    def value(self):
        """A record, list, dict, scalar, or tensors."""
        if self.kind == TENSORS:
            found = tensors.read(self._b, self._p, self._e)
            return found[''] if list(found) == [''] else found
        return self.schema.root.get(self._b, self._p, self._e)

    def check(self):
        """Test the whole value against every rule of the format; returns self."""
        if self.kind == TENSORS:
            tensors.read(self._b, self._p, self._e)
            return self
        end = self.schema.root.check(self._b, self._p, self._e)
        if end != self._e:
            raise FormatError('bytes follow the value', end)
        return self

    def __bytes__(self):
        return bytes(self._b)

    def __eq__(self, other):
        return isinstance(other, Frame) and bytes(self) == bytes(other)

    def __hash__(self):
        return hash(bytes(self))

    def __repr__(self):
        return f'<kiln.Frame 0x{self.kind:02x} of {self.schema.text if self.schema else "tensors"}, {len(self._b)} bytes>'


class Registry:
    """Definitions by hash and by name, and what they read and write. One of a connection (see kiln.register) asks its server for new ones."""

    def __init__(self, fetch=None):
        self._fetch = fetch         # returns [(version, hash, definition)], or raises UnknownDefinition when it can't ask now
        self._by_hash = {}
        self._by_name = {}          # name: [(version, hash, schema)], the latest last
        self._inline = {}           # canonical text: schema

    # ------------------------------------------------------------ definitions

    def refresh(self):
        """Fetch the server's definitions; those that are gone there stay readable here."""
        if self._fetch is None:
            return
        for version, hash_, text in self._fetch():
            self._add(text, hash_, version)

    def add(self, text, version=None):
        """Make a definition known by hand; returns its Schema."""
        root = definition.parse(text)
        if not root.name:
            raise DefinitionError('only a named struct is registered')
        known = self._by_name.get(root.name, [])
        return self._add(root.text, root.hash, version if version is not None else max([v for v, _, _ in known], default=0) + 1)

    def _add(self, text, hash_, version):
        schema = self._by_hash.get(hash_)
        if schema is None:
            schema = definition.parse(text, canonical=True)
            if schema.hash != hash_:
                raise DefinitionError(f'definition {text[:100]} does not have the hash {hash_}')
            schema.registry, schema.registered = self, True
            self._by_hash[hash_] = schema
        elif schema.text != text:
            raise DefinitionError(f'two definitions have the hash {hash_}')
        versions = self._by_name.setdefault(schema.name, [])
        if all(known is not schema for _, _, known in versions):
            versions.append((version, hash_, schema))
            versions.sort(key=lambda entry: entry[:2])
        return schema

    def versions(self, name):
        """The registered Schemas of a name, the latest last."""
        return [schema for _, _, schema in self._by_name.get(name, [])]

    def by_hash(self, hash_, ask=True):
        """The Schema of a hash; asks the server once if it is unknown."""
        if hash_ not in self._by_hash and ask:
            self.refresh()
        if hash_ not in self._by_hash:
            raise UnknownDefinition(f'no definition with the hash {hash_} is registered', hash_)
        return self._by_hash[hash_]

    def inline(self, text):
        """The Schema of a canonical text that travelled in a frame."""
        schema = self._inline.get(text)
        if schema is None:
            schema = definition.parse(text, canonical=True)
            schema.registry = self
            if len(self._inline) >= _MOST_INLINE:
                self._inline.pop(next(iter(self._inline)))
            self._inline[text] = schema
        return schema

    def schema(self, name):
        """The Schema of a name (its latest version), or of a definition in full."""
        if name in self._by_name or self._ask(name):
            return self._by_name[name][-1][2]
        schema = definition.parse(name)
        return self._by_hash.get(schema.hash) or self.inline(schema.text)

    def _ask(self, name):
        """Is that a registered name after all?"""
        if self._fetch is None or not re.fullmatch(r'[^()<>\[\]?]+', name) or name.lower() in definition.SYNONYMS:
            return False
        self.refresh()
        return name in self._by_name

    def __getitem__(self, name):
        """The class of a schema's records: registry['message'](a=True, …)."""
        root = self.schema(name).root
        if root.kind != 'struct':
            raise TypeError(f'{root.text} is no struct')
        return root.record or root.view(root)

    # ------------------------------------------------------------ reading

    def open(self, data):
        """The Frame that the bytes are. Checks its head; UnknownDefinition if its definition is not at hand."""
        b = memoryview(data).toreadonly()
        b = b if b.format == 'B' and b.ndim == 1 else b.cast('B')
        n = len(b)
        if n == 0:
            raise FormatError('frame is empty', 0)
        kind = b[0]
        if kind in (REGISTERED, UNVERIFIED):
            if n < 9:
                raise FormatError('frame is shorter than its head', 1)
            return Frame(kind, self.by_hash(f'{struct.unpack_from("<Q", b, 1)[0]:016x}'), b, 9, n)
        if kind == INLINE:
            return self._open_inline(b, n)
        if kind == TENSORS:
            if n < 4:
                raise FormatError('frame is shorter than its head', 1)
            for at in (1, 2, 3):
                if b[at]:
                    raise FormatError('reserved bytes are not zero', at)
            return Frame(kind, None, b, 4, n)
        raise FormatError('unknown frame kind', 0)

    def _open_inline(self, b, n):
        if n < 5:
            raise FormatError('frame is shorter than its head', 1)
        length = struct.unpack_from('<I', b, 1)[0]
        if not 1 <= length <= min(definition.MAX_TEXT, n - 5):
            raise FormatError('length of the definition is wrong', 1)
        try:
            schema = self.inline(bytes(b[5:5 + length]).decode())
        except UnicodeDecodeError:
            raise FormatError('definition is not valid UTF-8', 5) from None
        except DefinitionError as error:
            raise FormatError(str(error), 5 + (error.offset or 0)) from None
        return Frame(INLINE, schema, b, 5 + length, n)

    def load(self, data, check=False):
        """The value of a frame: a record, list, dict, scalar, array or Tensors. What can't be read is an Opaque. check: test all of it first."""
        try:
            frame = self.open(data)
        except UnknownDefinition as error:
            return views.Opaque(bytes(data), error, error.hash, self.load)
        try:
            # a frame that the server keeps unverified is tested before it is believed
            return frame.check().value if check or frame.kind == UNVERIFIED else frame.value
        except FormatError as error:
            if frame.kind != UNVERIFIED:
                raise
            return views.Opaque(bytes(data), error, frame.hash)

    # ------------------------------------------------------------ writing

    def encode(self, schema, value):
        """The Frame of a value under a schema: a name, a definition or a Schema."""
        schema = schema if isinstance(schema, definition.Schema) else self.schema(schema)
        out = head_of(schema)
        at = len(out)
        schema.root.put(out, value)
        return self._made(schema, out, at)

    def from_json(self, schema, text):
        """The same, of JSON text as the server takes it for a column of that schema."""
        schema = schema if isinstance(schema, definition.Schema) else self.schema(schema)
        return self._from_node(schema, parse_json(text), text)

    def _from_node(self, schema, node, text):
        out = head_of(schema)
        at = len(out)
        types.put_node(schema.root, out, node, text)
        return self._made(schema, out, at)

    @staticmethod
    def _made(schema, out, at):
        if len(out) > MAX_FRAME:
            raise EncodeError('value is too large')
        return Frame(out[0], schema, memoryview(bytes(out)), at, len(out))

    # ------------------------------------------------------------ the text form

    def from_text(self, text):
        """The Frame of a text form, as the server prints values."""
        node = parse_json(text)
        members = dict(node.value) if node.kind == 'object' else {}
        if node.kind != 'object' or len(members) != len(node.value) or '$kiln' not in members or members['$kiln'].kind != 'string':
            raise FormatError('not the text form of a kiln value')
        name = members.pop('$kiln').value
        if name == 'tensors':
            return self._tensors_from(members, text)
        match = _NAMED.fullmatch(name)
        if '$base64' in members:
            return self._from_base64(name, match, members)
        schema = self.by_hash(match.group(1)) if match else self._by_text(name)
        if schema.root.kind != 'struct':
            if list(members) != ['$value']:
                raise FormatError('a value that is no struct stands under $value')
            return self._from_node(schema, members['$value'], text)
        rest = jsontext.Node('object', [(key, item) for key, item in node.value if key != '$kiln'], node.start, node.end)
        return self._from_node(schema, rest, text)

    def _by_text(self, name):
        schema = self.schema(name)
        return schema if name in self._by_name else self.inline(schema.text)

    def _from_base64(self, name, match, members):
        data = decode_base64(members.pop('$base64'))
        unverified = members.pop('$unverified', None)
        if members or unverified is not None and unverified.value is not True:
            raise FormatError('no other key stands beside $base64')
        if match:
            head = bytes([UNVERIFIED if unverified else REGISTERED]) + bytes.fromhex(match.group(1))[::-1]
            return self.open(head + data)
        schema = self._by_text(name)
        return self.open(bytes(head_of(schema)) + data)

    def _tensors_from(self, members, text):
        if list(members) == ['$base64']:
            return self.open(bytes([TENSORS, 0, 0, 0]) + decode_base64(members['$base64'])).check()
        arrays = {name: array_of(name, node) for name, node in members.items()}
        return self.open(bytes(tensors.write(arrays, bytes([TENSORS, 0, 0, 0]))))


def head_of(schema):
    """What stands before a payload: the hash of a registered definition, else the definition."""
    if schema.registered:
        return bytearray([REGISTERED]) + bytes.fromhex(schema.hash)[::-1]
    text = schema.text.encode()
    return bytearray([INLINE]) + struct.pack('<I', len(text)) + text


def parse_json(text):
    try:
        return jsontext.parse(text)
    except ValueError as error:
        raise FormatError(str(error)) from None


def decode_base64(node):
    try:
        if node.kind != 'string':
            raise ValueError
        data = base64.b64decode(node.value.encode('ascii'), validate=True)
        if base64.b64encode(data).decode() != node.value:
            raise ValueError
        return data
    except (ValueError, binascii.Error):
        raise FormatError('invalid base64') from None


def array_of(name, node):
    """The array of a tensor's text form."""
    members = dict(node.value) if node.kind == 'object' else {}
    kinds = {key: item.kind for key, item in members.items()}
    shaped = {'dtype': 'string', 'shape': 'array'}
    if kinds not in ({**shaped, 'data': 'array'}, {**shaped, 'base64': 'string'}) or members['dtype'].value not in tensors.NAMES[1:]:
        raise FormatError(f'tensor {name!r} is not spelled as the format asks')
    word = members['dtype'].value
    dtype = tensors.DTYPES[tensors.NAMES.index(word)]
    shape = [types.integer_of(item.value, 'a dimension') for item in members['shape'].value]
    if 'base64' in members:
        data = decode_base64(members['base64'])
    else:
        data = b''.join(element_of(word, item) for item in members['data'].value)
    try:
        return np.frombuffer(data, dtype).reshape(shape)
    except ValueError as error:
        raise FormatError(f'tensor {name!r}: {error}') from None


def element_of(word, node):
    """The bytes of one element."""
    if word in ('f16', 'bf16'):         # which are no types of their own
        return types.float_bytes(node, word)
    out = bytearray()
    types.SCALARS[word].put_json(out, node)
    return bytes(out)


# ---------------------------------------------------------------- functions over values

def frame(value):
    """The frame bytes of a record, list or dict that was read or made, of an array or Tensors, or of a Frame or Opaque."""
    if isinstance(value, types.View):
        schema = value._type.schema
        if schema is None or not schema.registered:
            text = value._type.text.encode()
            return bytes([INLINE]) + struct.pack('<I', len(text)) + text + bytes(value._bytes())
        return bytes(head_of(schema)) + bytes(value._bytes())
    if isinstance(value, np.ndarray):
        return bytes(tensors.write({'': value}, bytes([TENSORS, 0, 0, 0])))
    if isinstance(value, tensors.Tensors):
        return bytes(tensors.write(value, bytes([TENSORS, 0, 0, 0])))
    if isinstance(value, Frame):
        return bytes(value)
    if isinstance(value, views.Opaque):
        return bytes(value.frame)
    raise TypeError(f'{type(value).__name__} is no kiln value: see Registry.encode')


def _start(value):
    """Type, buffer, position, end and registry of what a path starts from."""
    if isinstance(value, Frame):
        if value.schema is None:
            raise TypeError('no path leads into tensors')
        return value.schema.root, value._b, value._p, value._e, value.schema.registry
    if isinstance(value, views.Opaque):
        raise value.error
    if not isinstance(value, types.View):
        raise TypeError(f'no path leads into {type(value).__name__}')
    schema = value._type.schema
    return value._type, value._b, value._p, value._e, schema.registry if schema else None


def get(value, path):
    """What stands at a path of a record, list, dict or Frame; None where it is absent. PathError if the path can't be followed."""
    type_, b, p, e, registry = _start(value)
    found = paths.follow(type_, path, b, p, e, registry)
    return found[0].get(b, found[1], e) if found else None


def raw(value, path=''):
    """The type and the payload bytes (a memoryview, no copy) of what stands at a path; None where it is absent."""
    type_, b, p, e, registry = _start(value)
    found = paths.follow(type_, path, b, p, e, registry)
    return (found[0], b[found[1]:found[0].skip(b, found[1], e)]) if found else None


def check(value):
    """Test a record, list or dict whole; returns it."""
    type_, b, p, e, _ = _start(value)
    type_.check(b, p, e)
    return value
