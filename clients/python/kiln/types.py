"""The types of a definition: how each is checked, stepped over, decoded and encoded (docs/FORMAT.md, section 2).

Every method that reads takes a buffer (a memoryview of bytes), a position and an end, and never reads at or beyond the end. All numbers are
little-endian.

    skip(b, p, e)   the position after the value; checks what decides it
    check(b, p, e)  the same, with every rule of the format
    get(b, p, e)    the value: a Python object for a scalar, a lazy view for a struct, list or dict
    put(out, value) appends a Python value's bytes to a bytearray
    put_json(out, node) the same of a jsontext.Node
"""
import enum
import json
import math
import operator
import re
import struct
import uuid
from decimal import Decimal
from fractions import Fraction

import numpy as np

from . import calendar, jsontext
from .errors import EncodeError, FormatError

_U16 = struct.Struct('<H')
_U32 = struct.Struct('<I')

ABSENT = object()           # a member that is not given


def quote_step(name):
    """A field or key as a step of a path."""
    return name if name and not re.search(r'[.\[\]"]', name) else '"' + name.replace('"', '""') + '"'


def quote_name(name):
    """A name as a definition spells it."""
    return name if re.fullmatch(r'[a-z_][a-z0-9_]*', name) else '"' + name.replace('"', '""') + '"'


def _prepend(error, step):
    """Put a step in front of an error's path, as a walk that failed unwinds."""
    rest = error.path
    error.path = step + ('.' if rest and not rest.startswith('[') else '') + rest
    return error


class View:
    """What stands for a value in its bytes (see views): _b is the buffer, _p the value's position, _e the end of what may be read."""

    __slots__ = ()

    def _bytes(self):
        """The value's payload, as a memoryview."""
        return self._b[self._p:self._type.skip(self._b, self._p, self._e)]


def _is_of(value, type_):
    """Is that a view of a value of the very same type?"""
    return isinstance(value, View) and value._type is not None and value._type.text == type_.text


class Type:
    """One node of a definition. text: its canonical text; width: bytes, if that never varies, else None; least: fewest bytes; depth: levels."""

    width = None
    least = 0
    depth = 0
    kind = ''
    schema = None           # of a whole definition's type: its Schema
    plain = False           # fixed width, and every bit pattern is valid

    def __init__(self, text):
        self.text = text

    def __repr__(self):
        return f'<kiln type {self.text}>'

    def skip(self, b, p, e):
        if self.width > e - p:
            raise FormatError('value ends too early', p)
        return p + self.width

    check = skip

    def wrong(self, value):
        return EncodeError(f'{type(value).__name__} for {self.text}')

    def put_json(self, out, node):
        raise NotImplementedError


class Bool(Type):
    kind = 'bool'
    width = least = 1

    def check(self, b, p, e):
        self.get(b, p, e)
        return p + 1

    def get(self, b, p, e):
        if p >= e:
            raise FormatError('value ends too early', p)
        if b[p] > 1:
            raise FormatError('bool is neither 0 nor 1', p)
        return b[p] == 1

    def put(self, out, value):
        if not isinstance(value, (bool, np.bool_)):
            raise self.wrong(value)
        out.append(bool(value))

    def put_json(self, out, node):
        if node.kind != 'bool':
            raise EncodeError(f'{node.kind} for bool')
        out.append(node.value)


class Number(Type):
    """Integers and floats: what struct and numpy know as one item."""

    plain = True

    def __init__(self, text, code):
        super().__init__(text)
        self.kind = text
        self.item = struct.Struct('<' + code)
        self.width = self.least = self.item.size
        self.dtype = np.dtype({'f': '<f', 'd': '<f'}.get(code, '<u' if text[0] == 'u' else '<i') + str(self.width))

    def get(self, b, p, e):
        if self.width > e - p:
            raise FormatError('value ends too early', p)
        return self.item.unpack_from(b, p)[0]


class Integer(Number):
    def put(self, out, value):
        try:
            if isinstance(value, (bool, np.bool_)):
                raise TypeError
            out += self.item.pack(operator.index(value))
        except TypeError:
            raise self.wrong(value) from None
        except struct.error:
            raise EncodeError(f'{value} is out of range of {self.text}') from None

    def put_json(self, out, node):
        text = jsontext.number_of(node)
        if text is None:
            raise EncodeError(f'{node.kind} for {self.text}')
        self.put(out, integer_of(text, self.text))


def integer_of(text, what):
    """The integer that a JSON number is, whatever its spelling."""
    value = jsontext.decimal_of(text)
    if value is None or value and value.adjusted() > 30:
        raise EncodeError(f'{text[:40]} is out of range of {what}')
    if value and value.adjusted() < 0 or value != int(value):
        raise EncodeError(f'{text[:40]} is not an integer')
    return int(value)


# Bytes of a form of float, and bits of its significand, the leading one among them.
_FORMS = {'f16': (2, 11), 'bf16': (2, 8), 'f32': (4, 24), 'f64': (8, 53)}


class Float(Number):
    def put(self, out, value):
        if isinstance(value, (bool, np.bool_, str)):
            raise self.wrong(value)
        try:
            out += self.item.pack(value)
        except OverflowError:
            raise EncodeError(f'{value} is out of range of {self.text}') from None
        except struct.error:
            raise self.wrong(value) from None

    def put_json(self, out, node):
        out += float_bytes(node, self.text)


def float_bytes(node, form):
    """The bytes that a JSON number, or a word for what is none, has in a form of float: f16, bf16, f32 or f64."""
    text = jsontext.number_of(node)
    if text is None and node.kind != 'string':
        raise EncodeError(f'{node.kind} for {form}')
    width = _FORMS[form][0]
    if text is None:
        return float_word(node.value, form).to_bytes(width, 'little')
    value = float_of(text, form)
    return struct.pack('<f', value)[2:] if form == 'bf16' else struct.pack({2: '<e', 4: '<f', 8: '<d'}[width], value)


def float_word(text, form):
    """The bits of a word for what is no number: an infinity, a NaN, or a NaN with its bits."""
    width, digits = _FORMS[form]
    sign = 1 << 8 * width - 1
    infinity = sign - (1 << digits - 1)
    words = {'Infinity': infinity, '-Infinity': sign | infinity, 'NaN': infinity | 1 << digits - 2}
    if text in words:
        return words[text]
    match = re.fullmatch(r'NaN\(0x([0-9a-f]{%d})\)' % (2 * width), text)
    if not match:
        raise EncodeError(f'string for {form}')
    bits = int(match.group(1), 16)
    if bits & ~sign <= infinity:
        raise EncodeError(f'{text} is no NaN')
    return bits


def float_of(text, form):
    """A decimal as the nearest float of a form, rounded once; what is too large, or no longer a number but 0, is an error."""
    value = float(text)
    if form != 'f64' and math.isfinite(value):
        width, digits = _FORMS[form]
        most = 1 << 8 * width - digits - 1      # 2 to this is too large; the smallest step follows from it
        step = math.ldexp(1.0, max(math.frexp(value)[1] - digits, 3 - most - digits))
        steps = value / step
        if steps % 1 == 0.5:        # a tie, or a decimal next to one: it decides itself
            steps = Fraction(Decimal(text)) / Fraction(step)
        value = round(steps) * step
        if abs(value) >= math.ldexp(1.0, most):
            value = math.inf
    if not math.isfinite(value) or value == 0 and text.lstrip('-').lower().partition('e')[0].strip('0.'):
        raise EncodeError(f'{text[:40]} is out of range of {form}')
    return math.copysign(value, -1.0 if text.startswith('-') else 1.0)


class Span(Type):
    """What has a length word before it."""

    least = 4

    def skip(self, b, p, e):
        if e - p < 4:
            raise FormatError('value ends too early', p)
        n = _U32.unpack_from(b, p)[0]
        if n > e - p - 4:
            raise FormatError('length is beyond the end of the value', p)
        return p + 4 + n

    def check(self, b, p, e):
        end = self.skip(b, p, e)
        self.content(b, p, end)
        return end

    def get(self, b, p, e):
        return self.content(b, p, self.skip(b, p, e))

    def span(self, out, data):
        if len(data) > 0xffffffff:
            raise EncodeError('value is too large')
        out += _U32.pack(len(data))
        out += data


def text_of(b, p, e):
    """UTF-8 without NUL, from p to e."""
    data = bytes(b[p:e])
    try:
        text = data.decode()
        nul = data.find(0)
    except UnicodeDecodeError as error:
        nul = data.find(0, 0, error.start)
        if nul < 0:
            raise FormatError('string is not valid UTF-8', p + error.start) from None
    if nul >= 0:
        raise FormatError('string contains a NUL byte', p + nul)
    return text


def utf8_of(text):
    try:
        data = text.encode()
    except UnicodeEncodeError:
        raise EncodeError('string has half of a surrogate pair') from None
    if 0 in data:
        raise EncodeError('string contains a NUL character')
    return data


class String(Span):
    kind = 'string'

    def content(self, b, p, e):
        return text_of(b, p + 4, e)

    def put(self, out, value):
        if not isinstance(value, str):
            raise self.wrong(value)
        self.span(out, utf8_of(value))

    def put_json(self, out, node):
        if node.kind != 'string':
            raise EncodeError(f'{node.kind} for string')
        self.span(out, utf8_of(node.value))


class Bytes(Span):
    kind = 'bytes'

    def content(self, b, p, e):
        return bytes(b[p + 4:e])

    def put(self, out, value):
        try:
            self.span(out, memoryview(value).cast('B'))
        except TypeError:
            raise self.wrong(value) from None

    def put_json(self, out, node):
        if node.kind != 'string' or not re.fullmatch(r'\\x(?:[0-9a-fA-F]{2})*', node.value):
            raise EncodeError('bytes are spelled "\\x…" with an even number of hex digits')
        self.span(out, bytes.fromhex(node.value[2:]))


class Numeric(Span):
    kind = 'numeric'
    least = 5
    _spelling = re.compile(r'-?(?:0|[1-9][0-9]{0,131071})(?:\.[0-9]{1,16383})?')
    _zero = re.compile(r'-[0.]*')

    def content(self, b, p, e):
        text = text_of(b, p + 4, e)
        if text not in ('NaN', 'Infinity', '-Infinity') and not self.good(text):
            raise FormatError('numeric is not spelled as the format asks', p)
        return Decimal(text)

    def good(self, text):
        return self._spelling.fullmatch(text) and not self._zero.fullmatch(text)

    def put(self, out, value):
        if isinstance(value, (bool, np.bool_)) or not isinstance(value, (Decimal, int, float, np.number)):
            raise self.wrong(value)
        if not isinstance(value, Decimal):
            value = Decimal(repr(float(value)) if isinstance(value, (float, np.floating)) else int(value))
        self.span(out, self.spell(value).encode())

    def spell(self, value):
        """A Decimal as the format spells it, scale kept."""
        if not value.is_finite():
            return 'NaN' if value.is_nan() else 'Infinity' if value > 0 else '-Infinity'
        if value and value.adjusted() >= 131072 or value.as_tuple().exponent < -16383:
            raise EncodeError('value is out of range of numeric')
        text = format(value if value or value.as_tuple().exponent < 0 else Decimal(0), 'f')
        if self._zero.fullmatch(text):
            text = text[1:]
        if not self.good(text):
            raise EncodeError('value is out of range of numeric')
        return text

    def put_json(self, out, node):
        text = jsontext.number_of(node)
        if text is not None:
            value = jsontext.decimal_of(text)
            if value is None:
                raise EncodeError('value is out of range of numeric')
            self.span(out, self.spell(value).encode())
        elif node.kind == 'string' and node.value in ('NaN', 'Infinity', '-Infinity'):
            self.span(out, node.value.encode())
        else:
            raise EncodeError(f'{node.kind} for numeric')


class Json(str):
    """JSON text, to be written as it stands. Reading a json field gives what json.loads makes of it; kiln.raw() has its text."""


def _whole(text):
    """A whole number of JSON; Python refuses to make an int of very many digits."""
    return int(text) if len(text) <= 4000 else Decimal(text)


class JsonType(Span):
    kind = 'json'
    least = 5

    def parse(self, b, p, e):
        text = text_of(b, p + 4, e)
        try:
            node = jsontext.parse(text)
        except ValueError as error:
            raise FormatError(f'json field does not hold JSON text: {error}', p) from None
        if node.start != 0 or node.end != len(text):
            raise FormatError('json field has white space around its text', p)
        return text, node

    def check(self, b, p, e):
        end = self.skip(b, p, e)
        self.parse(b, p, end)
        return end

    def content(self, b, p, e):
        try:
            return json.loads(text_of(b, p + 4, e), parse_int=_whole)
        except (ValueError, RecursionError) as error:
            raise FormatError(f'json field does not hold JSON text: {error}', p) from None

    def put(self, out, value):
        try:
            text = value if isinstance(value, Json) else json.dumps(value, ensure_ascii=False, allow_nan=False)
            node = jsontext.parse(text)
        except (TypeError, ValueError) as error:
            raise EncodeError(f'{error}, for json') from None
        self.span(out, utf8_of(text[node.start:node.end]))

    def put_text(self, out, text):
        self.span(out, utf8_of(text))

    def put_json(self, out, node):
        raise NotImplementedError       # a node does not know its text: whoever holds it calls put_text


class Uuid(Type):
    kind = 'uuid'
    width = least = 16
    plain = True
    _spelling = re.compile(r'(\{)?[0-9a-fA-F]{4}(?:-?[0-9a-fA-F]{4}){7}(?(1)\})')

    def get(self, b, p, e):
        return uuid.UUID(bytes=bytes(b[p:self.skip(b, p, e)]))

    def put(self, out, value):
        if not isinstance(value, uuid.UUID):
            raise self.wrong(value)
        out += value.bytes

    def put_json(self, out, node):
        if node.kind != 'string' or not self._spelling.fullmatch(node.value):
            raise EncodeError('not a uuid')
        out += bytes.fromhex(node.value.strip('{}').replace('-', ''))


class Moment(Type):
    """date, timestamp, timestamptz."""

    def __init__(self, text):
        super().__init__(text)
        self.kind = text
        self.item = struct.Struct('<i' if text == 'date' else '<q')
        self.width = self.least = self.item.size
        self.range, self.infinite = ((calendar.DATE_RANGE, calendar.DATE_INFINITE) if text == 'date' else
                                     (calendar.TIMESTAMP_RANGE, calendar.TIMESTAMP_INFINITE))

    def fits(self, value):
        return self.range[0] <= value <= self.range[1] or value in self.infinite

    def number(self, b, p, e):
        self.skip(b, p, e)
        value = self.item.unpack_from(b, p)[0]
        if not self.fits(value):
            raise FormatError(f'{self.text} out of range', p)
        return value

    def check(self, b, p, e):
        self.number(b, p, e)
        return p + self.width

    def get(self, b, p, e):
        value = self.number(b, p, e)
        if self.text == 'date':
            return calendar.date_of_days(value)
        return calendar.time_of_microseconds(value, self.text == 'timestamptz')

    def put(self, out, value):
        try:
            if self.text == 'date':
                value = calendar.days_of(value)
            else:
                value = calendar.microseconds_of(value, self.text == 'timestamptz')
        except (TypeError, ValueError) as error:
            raise EncodeError(str(error)) from None
        if not self.fits(value):
            raise EncodeError(f'value is out of range of {self.text}')
        out += self.item.pack(value)

    def put_json(self, out, node):
        if node.kind != 'string':
            raise EncodeError(f'{node.kind} for {self.text}')
        self.put(out, node.value)


class Enum(Type):
    kind = 'enum'
    width = least = 2

    def __init__(self, labels):
        super().__init__('enum(' + ','.join("'" + label.replace("'", "''") + "'" for label in labels) + ')')
        self.labels = labels
        self.position = {label: n for n, label in enumerate(labels)}

    def get(self, b, p, e):
        self.skip(b, p, e)
        n = _U16.unpack_from(b, p)[0]
        if n >= len(self.labels):
            raise FormatError('enum position is beyond the last label', p)
        return self.labels[n]

    def check(self, b, p, e):
        self.get(b, p, e)
        return p + 2

    def put(self, out, value):
        value = value.value if isinstance(value, enum.Enum) else value
        if not isinstance(value, str):
            raise self.wrong(value)
        if value not in self.position:
            raise EncodeError(f'{value!r} is no label of {self.text[:100]}')
        out += _U16.pack(self.position[value])

    def put_json(self, out, node):
        self.put(out, node.value if node.kind == 'string' else None)


class Optional(Type):
    kind = 'optional'
    least = 1

    def __init__(self, element):
        super().__init__(element.text + '?')
        self.element = element
        self.depth = element.depth + 1

    def present(self, b, p, e):
        if p >= e:
            raise FormatError('value ends too early', p)
        if b[p] > 1:
            raise FormatError('tag of an optional is neither 0 nor 1', p)
        return b[p]

    def skip(self, b, p, e):
        return self.element.skip(b, p + 1, e) if self.present(b, p, e) else p + 1

    def check(self, b, p, e):
        if not self.present(b, p, e):
            return p + 1
        if self.element.kind == 'json':
            text, _ = self.element.parse(b, p + 1, self.element.skip(b, p + 1, e))
            if text == 'null':
                raise FormatError('null stands for an absent value', p + 1)
        return self.element.check(b, p + 1, e)

    def get(self, b, p, e):
        return self.element.get(b, p + 1, e) if self.present(b, p, e) else None

    def put(self, out, value):
        if value is None or self.element.kind == 'json' and isinstance(value, Json) and value.strip() == 'null':
            out.append(0)
        else:
            out.append(1)
            self.element.put(out, value)

    def put_node(self, out, node, text):
        out.append(node.kind != 'null')
        if node.kind != 'null':
            put_node(self.element, out, node, text)


class ListType(Type):
    kind = 'list'
    least = 4

    def __init__(self, element):
        super().__init__(element.text + '[]')
        self.element = element
        self.depth = element.depth + 1
        self.numbers = isinstance(element, Number)

    def count(self, b, p, e):
        if e - p < 4:
            raise FormatError('value ends too early', p)
        n = _U32.unpack_from(b, p)[0]
        if n * self.element.least > e - p - 4:
            raise FormatError('count is too large for the bytes left', p)
        return n

    def skip(self, b, p, e):
        n = self.count(b, p, e)
        p += 4
        if self.element.width is not None:
            return p + n * self.element.width
        for _ in range(n):
            p = self.element.skip(b, p, e)
        return p

    def check(self, b, p, e):
        n = self.count(b, p, e)
        p += 4
        if self.element.plain:
            return p + n * self.element.width
        for i in range(n):
            try:
                p = self.element.check(b, p, e)
            except FormatError as error:
                raise _prepend(error, f'[{i}]')
        return p

    def get(self, b, p, e):
        return self.view(self, b, p, e, self.count(b, p, e))

    def put(self, out, value):
        if _is_of(value, self):
            out += value._bytes()
            return
        if self.numbers and isinstance(value, np.ndarray):
            self.put_array(out, value)
            return
        if isinstance(value, (str, bytes, bytearray, dict)) or not hasattr(value, '__iter__'):
            raise self.wrong(value)
        at, n = len(out), 0
        out += bytes(4)
        for item in value:
            try:
                self.element.put(out, item)
            except EncodeError as error:
                raise _prepend(error, f'[{n}]')
            n += 1
        self.finish(out, at, n)

    def put_array(self, out, array):
        """A numpy array whose numbers fit the element: one copy."""
        if array.ndim != 1 or not np.can_cast(array.dtype, self.element.dtype, 'safe'):
            raise EncodeError(f'array of {array.ndim} dimensions of {array.dtype} for {self.text}')
        out += _U32.pack(len(array))
        out += np.ascontiguousarray(array, self.element.dtype).data.cast('B') if len(array) else b''

    @staticmethod
    def finish(out, at, n):
        if n > 0xffffffff:
            raise EncodeError('value is too large')
        _U32.pack_into(out, at, n)

    def put_node(self, out, node, text):
        if node.kind != 'array':
            raise EncodeError(f'{node.kind} for {self.text}')
        out += _U32.pack(len(node.value))
        for i, item in enumerate(node.value):
            try:
                put_node(self.element, out, item, text)
            except EncodeError as error:
                raise _prepend(error, f'[{i}]')


class DictType(Type):
    kind = 'dict'
    least = 4

    def __init__(self, element):
        super().__init__(f'dict<{element.text}>')
        self.element = element
        self.depth = element.depth + 1

    def count(self, b, p, e):
        if e - p < 4:
            raise FormatError('value ends too early', p)
        n = _U32.unpack_from(b, p)[0]
        if n * (4 + self.element.least) > e - p - 4:
            raise FormatError('count is too large for the bytes left', p)
        return n

    def skip(self, b, p, e):
        n = self.count(b, p, e)
        p += 4
        for _ in range(n):
            p = self.element.skip(b, KEY.skip(b, p, e), e)
        return p

    def check(self, b, p, e):
        n = self.count(b, p, e)
        p, before = p + 4, None
        for _ in range(n):
            end = KEY.skip(b, p, e)
            key = text_of(b, p + 4, end)
            data = bytes(b[p + 4:end])
            if before is not None and data <= before:
                raise FormatError('dict keys are not strictly ascending', p)
            before = data
            try:
                p = self.element.check(b, end, e)
            except FormatError as error:
                raise _prepend(error, quote_step(key))
        return p

    def get(self, b, p, e):
        return self.view(self, b, p, e, self.count(b, p, e))

    def put(self, out, value):
        if _is_of(value, self):
            out += value._bytes()
            return
        try:
            pairs = [(key, value[key]) for key in value.keys()]
        except (AttributeError, TypeError):
            raise self.wrong(value) from None
        self.pairs(out, pairs, self.element.put)

    def pairs(self, out, pairs, put):
        for key, _ in pairs:
            if not isinstance(key, str):
                raise EncodeError(f'{type(key).__name__} for a key of {self.text}')
        pairs = sorted((utf8_of(key), key, item) for key, item in [(k, _Held(v)) for k, v in pairs])
        out += _U32.pack(len(pairs))
        before = None
        for data, key, item in pairs:
            if data == before:
                raise EncodeError('key is given more than once', quote_step(key))
            before = data
            KEY.span(out, data)
            try:
                put(out, item.value)
            except EncodeError as error:
                raise _prepend(error, quote_step(key))

    def put_node(self, out, node, text):
        if node.kind != 'object':
            raise EncodeError(f'{node.kind} for {self.text}')
        self.pairs(out, node.value, lambda out, item: put_node(self.element, out, item, text))


class _Held:
    """A value that takes no part in sorting."""

    def __init__(self, value):
        self.value = value

    def __lt__(self, other):
        return False


KEY = Bytes('bytes')


class Field:
    def __init__(self, name, type, default=None):
        self.name = name
        self.type = type
        self.default = default      # payload bytes, or None

    def __repr__(self):
        return f'<kiln field {quote_name(self.name)} {self.type.text}>'


class Struct(Type):
    """text is set by the parser, which knows how defaults are spelled."""

    kind = 'struct'
    record = None                   # the class of its views, made on demand by views.record_class

    def __init__(self, name, fields):
        super().__init__('')
        self.name = name
        self.fields = fields
        self.index = {field.name: n for n, field in enumerate(fields)}
        self.depth = 1 + max(field.type.depth for field in fields)
        self.least = sum(field.type.least for field in fields)
        widths = [field.type.width for field in fields]
        self.width = sum(widths) if None not in widths else None
        self.plain = all(field.type.plain for field in fields)
        # places of the fields from the beginning, as long as they are the same in every value
        self.fixed = [0]
        for width in widths:
            if width is None:
                break
            self.fixed.append(self.fixed[-1] + width)

    def skip(self, b, p, e):
        if self.width is not None:
            return Type.skip(self, b, p, e)
        for field in self.fields:
            p = field.type.skip(b, p, e)
        return p

    def check(self, b, p, e):
        for field in self.fields:
            try:
                p = field.type.check(b, p, e)
            except FormatError as error:
                raise _prepend(error, quote_step(field.name))
        return p

    def get(self, b, p, e):
        return (self.record or self.view(self))(b, p, e)

    def put(self, out, value):
        if _is_of(value, self):
            out += value._bytes()
            return
        self.members(out, members_of(value, self), lambda type, out, item: type.put(out, item))

    def members(self, out, given, put):
        for name in given:
            if name not in self.index:
                raise EncodeError(f'field {name!r} does not exist in {self.text[:100]}')
        for field in self.fields:
            value = given.get(field.name, ABSENT)
            if value is ABSENT:
                if field.default is not None:
                    out += field.default
                elif field.type.kind == 'optional':
                    out.append(0)
                else:
                    raise EncodeError('missing field', quote_step(field.name))
                continue
            try:
                put(field.type, out, value)
            except EncodeError as error:
                raise _prepend(error, quote_step(field.name))

    def put_node(self, out, node, text):
        if node.kind != 'object':
            raise EncodeError(f'{node.kind} for a struct')
        given = {}
        for key, item in node.value:
            if key in given:
                raise EncodeError(f'field {key!r} is given more than once')
            given[key] = item
        self.members(out, given, lambda type, out, item: put_node(type, out, item, text))


def members_of(value, type_):
    """A mapping, dataclass, named tuple or other object with the fields as attributes, as a dict."""
    if hasattr(value, 'keys') and hasattr(value, '__getitem__'):
        return {key: value[key] for key in value.keys()}
    if hasattr(value, '__dataclass_fields__'):
        return {name: getattr(value, name) for name in value.__dataclass_fields__}
    if hasattr(value, '_fields'):
        return dict(zip(value._fields, value))
    if value is None or isinstance(value, (str, bytes, int, float, list, tuple, np.ndarray)):
        raise type_.wrong(value)
    found = {field.name: getattr(value, field.name, ABSENT) for field in type_.fields}
    if all(item is ABSENT for item in found.values()):
        raise type_.wrong(value)
    return found


def put_node(type_, out, node, text):
    """Append the bytes of a node of that JSON text."""
    if type_.kind == 'json':
        type_.put_text(out, text[node.start:node.end])
    elif type_.kind in ('optional', 'list', 'dict', 'struct'):
        type_.put_node(out, node, text)
    else:
        type_.put_json(out, node)


SCALARS = {
    'bool': Bool('bool'), 'string': String('string'), 'bytes': Bytes('bytes'), 'uuid': Uuid('uuid'), 'numeric': Numeric('numeric'),
    'json': JsonType('json'), 'f32': Float('f32', 'f'), 'f64': Float('f64', 'd'),
    **{name: Integer(name, code) for name, code in zip('i8 i16 i32 i64 u8 u16 u32 u64'.split(), 'bhiqBHIQ')},
    **{name: Moment(name) for name in ('date', 'timestamp', 'timestamptz')},
}
