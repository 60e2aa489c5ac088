"""Kiln's typed records and tensors for psycopg 3.

    registry = kiln.register(connection)
    row = connection.cursor(binary=True).execute('SELECT m FROM msg').fetchone()
    row[0].score, row[0]['s']                           # decoded when asked for
    Message = registry['message']
    connection.execute('INSERT INTO msg VALUES (%s)', [Message(a=True, …)])

Records and tensors are views over the received bytes. clients/README.md says more.
"""
from .calendar import Days, Microseconds, MicrosecondsUTC
from .definition import Schema, hash_of, parse
from .errors import DefinitionError, EncodeError, Error, FormatError, PathError, UnknownDefinition
from .registry import Frame, Registry, check, frame, get, raw
from .tensors import BF16, Tensors, bf16, f32
from .types import Json
from .views import Dict, List, Opaque, Record, asdict, fields, replace

__version__ = '1.1.0'


def register(connection, arrays=True):
    """See kiln.adapt.register; needs psycopg, which the rest of the package does not."""
    from .adapt import register as register_connection
    return register_connection(connection, arrays)


__all__ = ['BF16', 'Days', 'DefinitionError', 'Dict', 'EncodeError', 'Error', 'FormatError', 'Frame', 'Json', 'List', 'Microseconds',
           'MicrosecondsUTC', 'Opaque', 'PathError', 'Record', 'Registry', 'Schema', 'Tensors', 'UnknownDefinition', 'asdict', 'bf16', 'check',
           'f32', 'fields', 'frame', 'get', 'hash_of', 'parse', 'raw', 'register', 'replace']
