"""psycopg 3: kiln values as parameters and results, in text and in binary, in queries and COPY."""
import base64
import json

import numpy as np
from psycopg import pq
from psycopg.adapt import Dumper, Loader
from psycopg.types import TypeInfo

from . import registry as frames
from . import tensors, views
from .errors import Error, UnknownDefinition

_TYPE = b"""
SELECT t.oid, t.typarray, pg_catalog.quote_ident(n.nspname)
FROM pg_catalog.pg_extension e
JOIN pg_catalog.pg_depend d ON d.refclassid = 'pg_catalog.pg_extension'::pg_catalog.regclass AND d.refobjid = e.oid
	AND d.classid = 'pg_catalog.pg_type'::pg_catalog.regclass AND d.deptype = 'e'
JOIN pg_catalog.pg_type t ON t.oid = d.objid
JOIN pg_catalog.pg_namespace n ON n.oid = t.typnamespace
WHERE e.extname = 'kiln' AND t.typname = 'kiln'
"""


def _rows(connection, query):
    """A query's rows as text, past psycopg's cursors: it starts no transaction. The connection must be at rest."""
    pgconn = connection.pgconn
    resting = (pq.TransactionStatus.IDLE, pq.TransactionStatus.INTRANS)
    if pgconn.status != pq.ConnStatus.OK or pgconn.transaction_status not in resting:
        raise UnknownDefinition('definitions can not be fetched now: the connection is busy, closed or in a failed transaction')
    if getattr(pgconn, 'pipeline_status', pq.PipelineStatus.OFF) != pq.PipelineStatus.OFF:
        raise UnknownDefinition('definitions can not be fetched in a pipeline')
    result = pgconn.exec_(query)
    if result.status != pq.ExecStatus.TUPLES_OK:
        raise Error(f'definitions could not be fetched: {result.error_message.decode("utf-8", "replace").strip()}')
    encoding = _encoding(connection)
    return [[result.get_value(row, column).decode(encoding) for column in range(result.nfields)] for row in range(result.ntuples)]


def _encoding(connection):
    name = connection.info.encoding if connection else 'utf-8'
    return 'utf-8' if name == 'ascii' else name


def register(connection, arrays=True):
    """Teach a connection (psycopg.Connection or AsyncConnection) the type kiln; returns its Registry.

    Fetches the definitions once, and again when a value names an unknown one and the connection is at rest. arrays: numpy arrays that are given
    as parameters become tensors.
    """
    found = _rows(connection, _TYPE)
    if not found:
        raise Error('the extension kiln is not installed in this database')
    oid, array_oid, schema = int(found[0][0]), int(found[0][1]), found[0][2]
    # in hex, so that no client encoding stands between
    query = (f"SELECT version, hash, pg_catalog.encode(pg_catalog.convert_to(definition, 'UTF8'), 'hex') FROM {schema}.kiln_schemas "
             "WHERE valid ORDER BY 1, 2").encode(_encoding(connection))

    def fetch():
        # Whoever reads a result holds no lock; while it is held, a query or COPY is under way.
        lock = connection.lock
        if lock.locked():
            raise UnknownDefinition('definitions can not be fetched now: the connection is busy')
        return [(int(version), hash_, bytes.fromhex(text).decode()) for version, hash_, text in _rows(connection, query)]

    registry = frames.Registry(fetch)
    registry.refresh()
    TypeInfo('kiln', oid, array_oid).register(connection)
    for base in (_BinaryLoader, _TextLoader):
        connection.adapters.register_loader(oid, type(base.__name__, (base,), {'registry': registry}))
    for cls in (views.Record, views.List, views.Dict, views.Opaque, frames.Frame, tensors.Tensors) + ((np.ndarray,) if arrays else ()):
        # the one registered last is what %s takes
        for base in (_TextDumper, _BinaryDumper):
            connection.adapters.register_dumper(cls, type(base.__name__, (base,), {'oid': oid}))
    return registry


class _BinaryLoader(Loader):
    format = pq.Format.BINARY
    registry = None

    def load(self, data):
        return self.registry.load(data)


class _TextLoader(Loader):
    format = pq.Format.TEXT
    registry = None

    def load(self, data):
        text = bytes(data).decode(_encoding(self.connection))
        try:
            return self.registry.load(bytes(self.registry.from_text(text)))
        except UnknownDefinition as error:
            return views.Opaque(text.encode(), error, error.hash, lambda data: self.registry.load(bytes(self.registry.from_text(data.decode()))))


class _BinaryDumper(Dumper):
    format = pq.Format.BINARY

    def dump(self, value):
        return frames.frame(value)


class _TextDumper(Dumper):
    """The base64 form: as exact as the binary one."""

    format = pq.Format.TEXT

    def dump(self, value):
        return text_of(frames.frame(value)).encode(_encoding(self.connection))


def text_of(data):
    """A text form of frame bytes that the server reads back to the same value."""
    kind = data[0]
    if kind in (frames.REGISTERED, frames.UNVERIFIED):
        members = {'$kiln': '#' + data[8:0:-1].hex(), **({'$unverified': True} if kind == frames.UNVERIFIED else {})}
        payload = data[9:]
    elif kind == frames.INLINE:
        end = 5 + int.from_bytes(data[1:5], 'little')
        members, payload = {'$kiln': data[5:end].decode()}, data[end:]
    else:
        members, payload = {'$kiln': 'tensors'}, data[4:]
    return json.dumps({**members, '$base64': base64.b64encode(payload).decode()})
