"""JSON text as the server's jsonb takes it, kept close to its spelling.

The standard library's parser forgets how a number was written and where a value stands; the text form needs both: a numeric keeps its scale,
a json field keeps its text. Here a value is a Node with its place in the text. Refused, as jsonb refuses them: more than 200 levels, \\u0000,
half surrogate pairs, and numbers beyond the server's numeric.
"""
import re
from collections import namedtuple
from decimal import Decimal

MAX_LEVELS = 200
MAX_DIGITS = 131072         # before the point
MAX_SCALE = 16383           # behind it

# kind: 'null', 'bool', 'number' (value: its text), 'string', 'array' (nodes), 'object' ([(key, node)])
Node = namedtuple('Node', 'kind value start end')

_SPACE = re.compile(r'[ \t\n\r]*')
_NUMBER = re.compile(r'-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?')
_STRING = re.compile(r'"([^"\\\x00-\x1f]*(?:\\.[^"\\\x00-\x1f]*)*)"', re.DOTALL)
_WORD = re.compile(r'true|false|null')
_ESCAPE = re.compile(r'\\(?:u([0-9a-fA-F]{4})(?:\\u([dD][c-fC-F][0-9a-fA-F]{2}))?|(.))', re.DOTALL)
_PLAIN = {'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}
_WORDS = {'true': ('bool', True), 'false': ('bool', False), 'null': ('null', None)}


def _unescape(match):
    code, low, plain = match.groups()
    if plain is not None:
        if plain not in _PLAIN:
            raise ValueError('invalid escape in JSON string')
        return _PLAIN[plain]
    first = int(code, 16)
    if 0xd800 <= first < 0xdc00 and low is not None:
        return chr(0x10000 + ((first - 0xd800) << 10) + int(low, 16) - 0xdc00)
    if first == 0 or low is not None and first & 0xf800 == 0xd800 or 0xd800 <= first < 0xe000:
        raise ValueError('escape in JSON string stands for no character')
    return chr(first) + (_unescape_low(low) if low is not None else '')


def _unescape_low(low):
    raise ValueError('escape in JSON string stands for no character')


def number_fits(text):
    """Would the server's numeric take a number of that spelling?"""
    mantissa, _, exponent = text.lower().lstrip('-').partition('e')
    whole, _, fraction = mantissa.partition('.')
    if len(exponent.lstrip('+-').lstrip('0')) > 9:
        return False
    exponent = int(exponent or 0)
    digits = (whole + fraction).lstrip('0')
    before = len(digits) - len(fraction) + exponent if digits else 0
    return before <= MAX_DIGITS and max(len(fraction) - exponent, 0) <= MAX_SCALE


def parse(text):
    """The Node of a text that holds one JSON value and white space; ValueError if it does not."""
    node = _value(text, _SPACE.match(text, 0).end(), 0)
    if _SPACE.match(text, node.end).end() != len(text):
        raise ValueError(f'text behind JSON value at character {node.end}')
    return node


def _value(text, at, level):
    first = text[at:at + 1]
    if first == '"':
        value, end = _string(text, at)
        return Node('string', value, at, end)
    if first in ('{', '['):
        if level == MAX_LEVELS:
            raise ValueError('JSON nests too deeply')
        return _container(text, at, level + 1)
    match = _NUMBER.match(text, at)
    if match:
        if not number_fits(match.group()):
            raise ValueError('number in JSON is out of range')
        return Node('number', match.group(), at, match.end())
    match = _WORD.match(text, at)
    if not match:
        raise ValueError(f'no JSON value at character {at}')
    return Node(*_WORDS[match.group()], at, match.end())


def _string(text, at):
    match = _STRING.match(text, at)
    if not match:
        raise ValueError(f'no JSON string at character {at}')
    value = match.group(1)
    return (_ESCAPE.sub(_unescape, value) if '\\' in value else value), match.end()


def _container(text, at, level):
    is_object = text[at] == '{'
    close = '}' if is_object else ']'
    start, items = at, []
    at = _SPACE.match(text, at + 1).end()
    if text[at:at + 1] != close:
        while True:
            key = None
            if is_object:
                key, at = _string(text, at)
                at = _SPACE.match(text, at).end()
                if text[at:at + 1] != ':':
                    raise ValueError(f'no colon in JSON object at character {at}')
                at = _SPACE.match(text, at + 1).end()
            node = _value(text, at, level)
            items.append((key, node) if is_object else node)
            at = _SPACE.match(text, node.end).end()
            if text[at:at + 1] != ',':
                break
            at = _SPACE.match(text, at + 1).end()
        if text[at:at + 1] != close:
            raise ValueError(f'JSON array or object does not end at character {at}')
    return Node('object' if is_object else 'array', items, start, at + 1)


def number_of(node):
    """The number of a node, or of a string that holds exactly one: its spelling; None if there is none."""
    if node.kind == 'number':
        return node.value
    if node.kind == 'string' and _NUMBER.fullmatch(node.value):
        return node.value
    return None


def decimal_of(text):
    """A number's Decimal, exact; None if its exponent is beyond what anything here can hold."""
    if len(text.lower().partition('e')[2].lstrip('+-').lstrip('0')) > 9:
        return None
    return Decimal(text)
