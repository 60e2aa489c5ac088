"""The grammar of definitions (docs/FORMAT.md, section 1): text to types, and the canonical text back."""
import re
import unicodedata

import xxhash

from . import jsontext, types
from .errors import DefinitionError, EncodeError, FormatError

MAX_TEXT = 1048576
MAX_DEPTH = 32
MAX_FIELDS = 1600
MAX_NAME = 63
MAX_LABELS = 65535

SYNONYMS = {
    'boolean': 'bool', 'int2': 'i16', 'smallint': 'i16', 'int4': 'i32', 'int': 'i32', 'integer': 'i32', 'int8': 'i64', 'bigint': 'i64',
    'float4': 'f32', 'real': 'f32', 'float8': 'f64', 'float': 'f64', 'double precision': 'f64', 'text': 'string', 'varchar': 'string',
    'character varying': 'string', 'bytea': 'bytes', 'decimal': 'numeric', 'timestamp without time zone': 'timestamp',
    'timestamp with time zone': 'timestamptz', **{word: word for word in types.SCALARS},
}
_MOST_WORDS = 4
_SPACE = re.compile(r'(?:[ \t\n\r\f\v]|--[^\n\r]*)*')
_WORD = re.compile(r'[A-Za-z_][A-Za-z0-9_]*')
_QUOTED = re.compile(r'"((?:[^"\x00-\x1f\x7f]|"")+)"')
_STRING = re.compile(r"'((?:[^'\x00-\x1f\x7f]|'')*)'")
_HEX = re.compile(r"x'((?:[0-9a-fA-F]{2})+)'")
_INTEGER = re.compile(r'-?(?:0|[1-9][0-9]*)(?![A-Za-z0-9_.])')
_TRUTH = re.compile(r'(?:true|false)(?![A-Za-z0-9_])')


class Schema:
    """A whole definition. text: canonical; hash: its XXH3, as 16 hex digits; registered: the server has it under its hash."""

    def __init__(self, root, text, registry=None, registered=False):
        self.root = root
        self.text = text
        self.hash = hash_of(text)
        self.registry = registry
        self.registered = registered
        root.schema = self

    @property
    def name(self):
        return getattr(self.root, 'name', None)

    def __repr__(self):
        return f'<kiln schema {self.text}>'


def hash_of(canonical):
    """XXH3_64bits of a canonical text, as 16 hex digits."""
    return xxhash.xxh3_64_hexdigest(canonical.encode())


def parse(text, canonical=False):
    """The Schema of a definition. canonical: refuse a text that is not in canonical form."""
    if len(text) > MAX_TEXT or len(text.encode('utf-8', 'surrogatepass')) > MAX_TEXT:
        raise DefinitionError('definition is too long')
    parser = _Parser(text, canonical)
    root = parser.type(1)
    parser.space()
    if parser.at != len(text):
        raise DefinitionError('syntax error: text behind the definition', parser.at)
    if root.kind == 'optional':
        raise DefinitionError('a definition is not optional at the top', len(text) - 1)
    if len(root.text.encode()) > MAX_TEXT:
        raise DefinitionError('definition is too long')
    if canonical and root.text != text:
        raise DefinitionError('definition is not in canonical form')
    if isinstance(root, (types.Type,)) and root in types.SCALARS.values():
        root = _copy(root)          # the schema hangs on the root
    return Schema(root, root.text)


def _copy(scalar):
    copy = object.__new__(type(scalar))
    copy.__dict__.update(scalar.__dict__)
    return copy


class _Parser:
    def __init__(self, text, stored):
        self.text = text
        self.stored = stored        # a server has checked it, maybe one with a later Unicode
        self.at = 0

    def space(self):
        self.at = _SPACE.match(self.text, self.at).end()

    def fail(self, message, at=None):
        return DefinitionError(message, self.at if at is None else at)

    def take(self, pattern):
        """The match of a pattern at the next token, or None."""
        self.space()
        match = pattern.match(self.text, self.at)
        if match:
            self.at = match.end()
        return match

    def next_is(self, mark):
        self.space()
        if not self.text.startswith(mark, self.at):
            return False
        self.at += len(mark)
        return True

    def expect(self, mark):
        if not self.next_is(mark):
            raise self.fail(f'syntax error: expected {mark}')

    # ------------------------------------------------------------ names

    def name_of(self, text, at, what='name'):
        """A name, normalised and checked."""
        name = unicodedata.normalize('NFC', text)
        try:
            size = len(name.encode())
        except UnicodeEncodeError:
            raise self.fail(f'{what} is not Unicode text', at) from None
        if not 1 <= size <= MAX_NAME:
            raise self.fail(f'{what} is not of 1 to {MAX_NAME} bytes', at)
        if name.startswith('$'):
            raise self.fail(f'{what} starts with $', at)
        if not self.stored and any(unicodedata.category(c) == 'Cn' for c in name):
            raise self.fail(f'{what} has an unassigned code point', at)
        return name

    def name(self):
        """A quoted or plain name, or None."""
        self.space()
        at = self.at
        match = self.take(_QUOTED)
        if match:
            return self.name_of(match.group(1).replace('""', '"'), at)
        match = self.take(_WORD)
        if not match:
            return None
        if match.group() != match.group().lower():
            raise self.fail('a name with a capital letter must be quoted', at)
        return self.name_of(match.group(), at)

    # ------------------------------------------------------------ types

    def type(self, level):
        if level > MAX_DEPTH + 1:
            raise self.fail('definition nests too deeply')
        result = self.base(level)
        while True:
            self.space()
            at = self.at
            if self.next_is('?'):
                if result.kind == 'optional':
                    raise self.fail('an optional is not optional again', at)
                result = types.Optional(result)
            elif self.next_is('['):
                self.expect(']')
                result = types.ListType(result)
            else:
                break
            if result.depth > MAX_DEPTH:
                raise self.fail('definition nests too deeply', at)
        return result

    def base(self, level):
        self.space()
        at = self.at
        if self.next_is('('):
            return self.struct(None, level)
        match = self.take(_QUOTED)
        if match:
            name = self.name_of(match.group(1).replace('""', '"'), at)
            self.expect('(')
            return self.struct(name, level)
        match = self.take(_WORD)
        if not match:
            raise self.fail('syntax error: expected a type')
        word = match.group()
        if word == 'dict' and self.next_is('<'):
            result = types.DictType(self.type(level + 1))
            self.expect('>')
            return self.shallow(result, at)
        if self.next_is('('):
            if word == 'enum':
                return self.enum()
            self.at = at
            name = self.name()
            self.expect('(')
            return self.struct(name, level)
        return self.word(word, at)

    def shallow(self, result, at):
        if result.depth > MAX_DEPTH:
            raise self.fail('definition nests too deeply', at)
        return result

    def word(self, word, at):
        """A type word of one or more words, the longest that there is."""
        words, found, end = [word], None, self.at
        while True:
            key = ' '.join(words).lower()
            if key in SYNONYMS:
                found, end = SYNONYMS[key], self.at
            match = self.take(_WORD) if len(words) < _MOST_WORDS else None
            if not match:
                break
            words.append(match.group())
        if found is None:
            raise self.fail(f'type {word} does not exist in kiln definitions', at)
        self.at = end
        return types.SCALARS[found]

    def enum(self):
        labels, seen = [], set()
        while True:
            self.space()
            at = self.at
            match = self.take(_STRING)
            if not match:
                raise self.fail('syntax error: expected a label')
            label = match.group(1).replace("''", "'")
            try:
                size = len(label.encode())
            except UnicodeEncodeError:
                raise self.fail('label is not Unicode text', at) from None
            if not 1 <= size <= MAX_NAME:
                raise self.fail(f'label is not of 1 to {MAX_NAME} bytes', at)
            if label in seen:
                raise self.fail('label is given more than once', at)
            seen.add(label)
            labels.append(label)
            if len(labels) > MAX_LABELS:
                raise self.fail('enum has too many labels', at)
            if not self.next_is(','):
                break
        self.expect(')')
        return types.Enum(labels)

    def struct(self, name, level):
        fields, texts, seen = [], [], set()
        while True:
            self.space()
            at = self.at
            field = self.name()
            if field is None:
                raise self.fail("syntax error: expected a field's name")
            if field in seen:
                raise self.fail('field is given more than once', at)
            seen.add(field)
            type_ = self.type(level + 1)
            text, default = types.quote_name(field) + ' ' + type_.text, None
            self.space()
            at = self.at
            if self.next_is('='):
                if type_.kind == 'optional':
                    raise self.fail('an optional field has no default', at)
                default, spelled = self.default(type_)
                text += '=' + spelled
            fields.append(types.Field(field, type_, default))
            texts.append(text)
            if len(fields) > MAX_FIELDS:
                raise self.fail('struct has too many fields', at)
            if not self.next_is(','):
                break
        self.expect(')')
        result = types.Struct(name, fields)
        prefix = '' if name is None else '"enum"' if name == 'enum' else types.quote_name(name)
        result.text = prefix + '(' + ','.join(texts) + ')'
        return self.shallow(result, self.at)

    # ------------------------------------------------------------ defaults

    def default(self, type_):
        """A literal that fits the type: its payload and its canonical spelling."""
        self.space()
        at = self.at
        kind = type_.kind
        out = bytearray()
        try:
            match = self.take(_TRUTH)
            if match:
                self.only(kind == 'bool', kind)
                return bytes([match.group() == 'true']), match.group()
            match = self.take(_INTEGER)
            if match:
                self.only(isinstance(type_, types.Number) or kind == 'numeric', kind)
                text = match.group()
                if isinstance(type_, types.Integer):
                    value = types.integer_of(text, kind)
                    type_.put(out, value)
                    return bytes(out), str(value)
                type_.put_json(out, jsontext.Node('number', text, 0, 0))
                return bytes(out), f"x'{out.hex()}'"
            match = self.take(_HEX)
            own = kind in ('bool', 'string', 'enum') or isinstance(type_, types.Integer)
            if match:
                self.only(not own, kind)
                payload = bytes.fromhex(match.group(1))
                if type_.check(memoryview(payload), 0, len(payload)) != len(payload):
                    raise EncodeError('bytes are left')
                return payload, f"x'{payload.hex()}'"
            match = self.take(_STRING)
            if not match:
                raise self.fail('syntax error: expected a literal')
            text = match.group(1).replace("''", "'")
            self.only(kind in ('string', 'enum') or not own, kind)
            if kind in ('json', 'list', 'dict', 'struct'):
                types.put_node(type_, out, jsontext.parse(text), text)
            else:
                type_.put_json(out, jsontext.Node('string', text, 0, 0))
            return bytes(out), match.group() if own else f"x'{out.hex()}'"
        except DefinitionError:
            raise
        except (EncodeError, FormatError, ValueError) as error:
            raise self.fail(f"default does not fit the field's type: {error}", at) from None

    @staticmethod
    def only(good, kind):
        if not good:
            raise EncodeError(f'a literal of that form is no default of {kind}')
