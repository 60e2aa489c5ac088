"""psycopg against a live server; PGHOST etc. say where, the database must have the extension.

What is read is compared with what the same rows give as float8[], jsonb and plain columns, which kiln has no part in.
"""
import asyncio
import json
import random
import struct
import unittest
import uuid
from dataclasses import dataclass
from datetime import date, datetime, timezone
from decimal import Decimal

import numpy as np
import psycopg

import kiln

DEFINITION = ("kiln_py(a bool,x i32,big u64,score f64,half f32,s string,raw bytes,u uuid,d date,t timestamp,z timestamptz,n numeric,j json,"
              "e enum('one','two'),o i32?,l f64[],k dict<i32>,q (w u16)[])")
SOURCE = """
CREATE TABLE source AS SELECT g AS n, g % 2 = 0 AS a, -g AS x, 18446744073709551615::numeric - g AS big, sqrt(g)::float8 AS score,
	(g / 4.0)::float4 AS half, repeat('é', g % 40) AS s, decode(lpad(to_hex(g), 8, '0'), 'hex') AS raw, md5(g::text)::uuid AS u,
	'2024-02-29'::date + g AS d, '2024-02-29 12:34:56.789'::timestamp + g * interval '1 hour' AS t,
	'2024-02-29 12:34:56Z'::timestamptz - g * interval '1 day' AS z, (g / 1000.0)::numeric(10, 3) AS n3, jsonb_build_object('g', g, 'h', ARRAY[g]) AS j,
	CASE WHEN g % 2 = 0 THEN 'one' ELSE 'two' END AS e, CASE WHEN g % 3 > 0 THEN g END AS o, ARRAY[g, g / 2.0]::float8[] AS l,
	jsonb_build_object('a', g, 'b', -g) AS k, jsonb_build_array(jsonb_build_object('w', g)) AS q
	FROM generate_series(1, 500) AS g
"""
VALUES = """
CREATE TABLE v AS SELECT s.n, kiln_encode('kiln_py', r) AS v FROM source AS s,
	LATERAL (SELECT a, x, big, score, half, s, raw, u, d, t, z, n3 AS n, j, e, o, l, k, q FROM (SELECT s.*) AS c) AS r
"""
FIELDS = ['a', 'x', 'score', 'half', 's', 'raw', 'u', 'd', 't', 'z', 'n', 'e', 'o', 'l']


class Server(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.conn = cls.connect()
        cls.conn.execute('SET client_min_messages = warning')
        cls.conn.execute('CREATE SCHEMA kiln_py_tests')
        cls.conn.execute('SET search_path = kiln_py_tests, public')
        cls.conn.execute('SELECT kiln_register(%s)', [DEFINITION])
        cls.conn.execute(SOURCE)
        cls.conn.execute(VALUES)
        cls.registry = kiln.register(cls.conn)

    @classmethod
    def tearDownClass(cls):
        cls.conn.execute('DROP SCHEMA kiln_py_tests CASCADE')
        cls.conn.execute("SELECT kiln_forget('kiln_py')")
        cls.conn.close()

    @staticmethod
    def connect(**options):
        conn = psycopg.connect('', autocommit=True, **options)
        conn.execute("SET timezone = 'UTC'")
        return conn

    def one(self, query, values=None, binary=True):
        return self.conn.cursor(binary=binary).execute(query, values).fetchone()

    def refused(self, state, query, values):
        with self.assertRaises(psycopg.Error) as raised:
            self.conn.execute(query, values)
        self.assertEqual(raised.exception.sqlstate, state)


class Results(Server):
    def test_records(self):
        for binary in (True, False):
            cursor = self.conn.cursor(binary=binary)
            values = [row[0] for row in cursor.execute('SELECT v FROM v ORDER BY n')]
            columns = 'a, x, score, half, s, raw, u, d, t, z, n3, e, o, l'
            plain = cursor.execute(f'SELECT {columns} FROM source ORDER BY n').fetchall()
            documents = [row[0] for row in cursor.execute('SELECT v::jsonb FROM v ORDER BY n')]
            self.assertEqual((len(values), len(plain)), (500, 500))
            for value, row, document in zip(values, plain, documents):
                for name, wanted in zip(FIELDS, row):
                    self.assertEqual(value[name], wanted, name)
                    self.assertEqual(getattr(value, name), wanted, name)
                self.assertEqual(value.n.as_tuple(), row[10].as_tuple())
                for name in ('big', 'j', 'k', 'q'):
                    self.assertEqual(value[name], document[name], name)
                self.assertEqual(value.half, np.float32(value.half))

    def test_arrays_of_values_nulls_and_domains(self):
        self.conn.execute('CREATE DOMAIN dom AS kiln')
        for binary in (True, False):
            row = self.one("SELECT array_agg(v ORDER BY n), NULL::kiln, (array_agg(v ORDER BY n))[1]::dom FROM v WHERE n <= 3", binary=binary)
            self.assertEqual([value.x for value in row[0]], [-1, -2, -3])
            self.assertIsNone(row[1])
            self.assertEqual(row[2].x, -1)
            batch = self.one('SELECT kiln_agg(v ORDER BY n) FROM v', binary=binary)[0]
            self.assertEqual((len(batch), batch[499].x), (500, -500))
            self.assertEqual(kiln.frame(batch), self.one('SELECT kiln_frame(kiln_agg(v ORDER BY n)) FROM v')[0])

    def test_values_without_a_record(self):
        for text, wanted in [('42', 42), ('-1.50', Decimal('-1.50')), ('"x"', 'x'), ('true', True), ('[1, {"a": null}]', [1, {'a': None}]),
                             ('{"$kiln": "u64", "$value": 18446744073709551615}', 2 ** 64 - 1), ('{"$kiln": "bytes", "$value": "\\\\x00ff"}', b'\0\xff'),
                             ('{"$kiln": "date", "$value": "0044-03-15 BC"}', kiln.Days('0044-03-15 BC')),
                             ('{"$kiln": "date", "$value": "2024-02-29"}', date(2024, 2, 29)),
                             ('{"$kiln": "timestamp", "$value": "infinity"}', kiln.Microseconds('infinity')),
                             ('{"$kiln": "timestamptz", "$value": "2024-02-29T01:00:00+01:00"}', datetime(2024, 2, 29, tzinfo=timezone.utc)),
                             ('{"$kiln": "dict<string>", "$value": {"b": "1", "a": "2"}}', {'a': '2', 'b': '1'}),
                             ('{"$kiln": "f32[]", "$value": [0.1, -0.0]}', [float(np.float32(0.1)), -0.0])]:
            for binary in (True, False):
                value = self.one('SELECT %s::kiln', [text], binary)[0]
                self.assertEqual(value, wanted)
                self.assertTrue(isinstance(value, type(wanted)) or isinstance(wanted, (list, dict)))

    def test_latin_client(self):
        with self.connect() as conn:
            conn.execute("SET client_encoding = 'LATIN1'")
            conn.execute("SELECT kiln_register('kiln_py_latin(\"é\" string)')")
            kiln.register(conn)
            for binary in (True, False):
                value = conn.cursor(binary=binary).execute("SELECT kiln_encode('kiln_py_latin', '{\"é\": \"ü\"}'::jsonb)").fetchone()[0]
                self.assertEqual(value, {'é': 'ü'})
                self.assertEqual(conn.cursor(binary=binary).execute('SELECT (%s::kiln)->>%s', [value, 'é']).fetchone()[0], 'ü')
            conn.execute("SELECT kiln_forget('kiln_py_latin')")


class Tensors(Server):
    def received(self, query):
        """The value of a query, and the bytes that it came in."""
        kept, load = [], type(self.registry).load
        self.registry.load = lambda data, check=False: kept.append(data) or load(self.registry, data, check)
        try:
            value = self.one(query)[0]
        finally:
            del self.registry.load
        return value, kept[-1]

    def assert_in_place(self, array, data):
        """The array's base is the received buffer, and its memory lies in it."""
        base = array
        while isinstance(base, np.ndarray):
            self.assertIsNotNone(base.base)
            base = base.base
        while isinstance(base, memoryview) and base.obj is not data and isinstance(base.obj, memoryview):
            base = base.obj
        self.assertTrue(base is data or base.obj is data or base.obj is memoryview(data).obj)
        self.assertTrue(np.shares_memory(array, np.frombuffer(data, 'u1')))
        self.assertFalse(array.flags.owndata)

    def test_arrays_equal_the_source(self):
        self.conn.execute('CREATE TABLE t AS SELECT array_agg(sqrt(g)::float8 ORDER BY g) AS a FROM generate_series(1, 300000) AS g')
        self.conn.execute('ALTER TABLE t ADD v kiln')
        self.conn.execute('UPDATE t SET v = kiln_tensor(a)')
        source = np.array(self.one('SELECT a FROM t')[0])
        value, data = self.received('SELECT v FROM t')
        self.assertIs(type(value), np.ndarray)
        self.assertEqual((value.dtype, value.shape), (np.dtype('<f8'), (300000,)))
        self.assertTrue(np.array_equal(value, source))
        self.assert_in_place(value, data)
        text = self.one('SELECT v FROM t', binary=False)[0]
        self.assertTrue(np.array_equal(text, source))

    def test_every_dtype(self):
        chance = np.random.default_rng(11)
        for dtype in ('?', 'i1', 'i2', 'i4', 'i8', 'u1', 'u2', 'u4', 'u8', 'f2', 'f4', 'f8'):
            for shape in ((7,), (2, 3), (2, 1, 3), (0,), ()):
                array = (chance.standard_normal(shape) * 50).astype(dtype) if dtype != '?' else chance.random(shape) < .5
                array = np.asarray(array)
                word, wanted_shape, numbers = self.one(
                    'SELECT kiln_dtype(v), kiln_shape(v), kiln_to_array(v)::float8[] FROM (SELECT %s::kiln AS v) AS s'
                    if dtype != '?' else 'SELECT kiln_dtype(v), kiln_shape(v), kiln_to_array(v)::text FROM (SELECT %s::kiln AS v) AS s', [array])
                self.assertEqual(word, {'?': 'bool', 'f2': 'f16'}.get(dtype) or dtype[0] + str(8 * int(dtype[1])))
                self.assertEqual(tuple(wanted_shape), shape)
                if dtype != '?':
                    self.assertTrue(np.array_equal(np.array(numbers, 'f8').reshape(shape), array.astype('f8')), (dtype, shape))
                for binary in (True, False):
                    back = self.one('SELECT %b::kiln' if binary else 'SELECT %t::kiln', [array], binary)[0]
                    self.assertTrue(np.array_equal(back, array) and back.dtype == array.dtype and back.shape == shape, (dtype, shape, binary))
        # the server rounds to bf16 by itself
        numbers = chance.standard_normal(1000)
        theirs = self.one("SELECT kiln_tensor(%s::float8[], dtype => 'bf16')", [list(numbers)])[0]
        self.assertEqual(theirs.dtype.metadata['kiln'], 'bf16')
        self.assertTrue(np.array_equal(kiln.f32(theirs).astype('f8'), np.array(self.one('SELECT kiln_to_array(%s::kiln)', [theirs])[0])))

    def test_directories(self):
        value, data = self.received("SELECT kiln_tensor('{1,2}'::int4[], 'b') || kiln_tensor('{{1.5}}'::float8[], 'a')")
        self.assertEqual(list(value), ['a', 'b'])
        self.assertEqual((value['a'].tolist(), value['b'].tolist()), ([[1.5]], [1, 2]))
        self.assert_in_place(value['b'], data)
        self.assertEqual(self.one('SELECT %s::kiln', [value])[0], value)
        self.assertEqual(self.one("SELECT %s::kiln->'b' = kiln_tensor('{1,2}'::int4[], 'b')", [value])[0], True)

    def test_lists_in_records_are_in_place(self):
        value, data = self.received('SELECT v FROM v WHERE n = 7')
        array = value.l.numpy()
        self.assertTrue(np.shares_memory(array, np.frombuffer(data, 'u1')))
        self.assertEqual(array.tolist(), [7, 3.5])


class Copy(Server):
    def test_out(self):
        wanted = self.conn.execute('SELECT n, x, score FROM source ORDER BY n').fetchall()
        got = []
        with self.conn.cursor().copy('COPY (SELECT n, v FROM v ORDER BY n) TO STDOUT (FORMAT binary)') as copy:
            copy.set_types(['int4', 'kiln'])
            for n, value in copy.rows():
                got.append((n, value.x, value.score))
        self.assertEqual(got, wanted)

    def test_in(self):
        self.conn.execute('CREATE TABLE i (n int, v kiln(kiln_py), t kiln(tensor))')
        Record = self.registry['kiln_py']
        sample = dict(self.one('SELECT v FROM v WHERE n = 1')[0])
        with self.conn.cursor().copy('COPY i FROM STDIN (FORMAT binary)') as copy:
            copy.set_types(['int4', 'kiln', 'kiln'])
            for n in range(300):
                copy.write_row((n, Record({**sample, 'x': n, 's': str(n)}) if n % 10 else None, np.arange(n, dtype='i2')))
        self.assertEqual(self.one("SELECT count(*), count(v), sum((v->'x')::int8), sum((v->>'s')::int8), sum(kiln_sum(t)), bool_and(kiln_verify(v)) FROM i"),
                         (300, 270, 40500, 40500, sum(n * (n - 1) // 2 for n in range(300)), True))
        self.assertEqual(self.one("SELECT count(*) FROM i WHERE v::jsonb - '{x,s}'::text[] = (SELECT v::jsonb - '{x,s}'::text[] FROM v WHERE n = 1)")[0], 270)

    def test_stream(self):
        cursor = self.conn.cursor(binary=True)
        self.assertEqual([row[0].x for row in cursor.stream('SELECT v FROM v ORDER BY n')], [-n for n in range(1, 501)])


@dataclass
class Point:
    id: int
    name: str


class Writes(Server):
    def setUp(self):
        self.conn.execute("SELECT kiln_register('kiln_py_point(id i64,name string,tag string?,w i8=7)')")
        self.conn.execute('CREATE TABLE p (v kiln(kiln_py_point))')

    def tearDown(self):
        self.conn.execute('DROP TABLE p')
        self.conn.execute("SELECT kiln_forget('kiln_py_point')")

    def test_records(self):
        Record = self.registry['kiln_py_point']
        made = [Record(id=1, name='é'), Record({'id': 2, 'name': '', 'tag': 't', 'w': -1}), Record(Point(3, 'p'))]
        for format in ('%s', '%b', '%t'):
            self.conn.execute('TRUNCATE p')
            for record in made:
                self.conn.execute(f'INSERT INTO p VALUES ({format})', [record])
            rows = self.conn.execute('SELECT v::jsonb FROM p').fetchall()
            self.assertEqual([row[0] for row in rows], [
                {'id': 1, 'name': 'é', 'w': 7}, {'id': 2, 'name': '', 'tag': 't', 'w': -1}, {'id': 3, 'name': 'p', 'w': 7}])
            self.assertEqual(self.one('SELECT bool_and(kiln_verify(v)), min(kiln_schema(v)) FROM p'), (True, 'kiln_py_point'))
            self.assertEqual([row[0] for row in self.conn.cursor(binary=True).execute('SELECT v FROM p')], made)
            self.assertEqual(self.conn.execute(f'SELECT count(*) FROM p WHERE v = {format}', [made[1]]).fetchone()[0], 1)

    def test_frames_are_the_servers(self):
        record = self.registry['kiln_py'](dict(self.one('SELECT v FROM v WHERE n = 42')[0]))
        theirs = self.one('SELECT v FROM v WHERE n = 42')[0]
        # json is spelled in another way
        again = kiln.replace(theirs, j=kiln.Json(bytes(kiln.raw(record, 'j')[1][4:]).decode()))
        self.assertEqual(record, again)
        for name in self.registry['kiln_py']._type.index:
            if name != 'j':
                mine, wanted = kiln.raw(record, name), kiln.raw(theirs, name)
                self.assertEqual(mine and mine[1], wanted and wanted[1], name)
        self.assertEqual(kiln.frame(theirs), self.one('SELECT kiln_frame(v) FROM v WHERE n = 42')[0])

    def test_other_values(self):
        for definition, value, wanted in [
                ('i8', -3, -3), ('string[]', ['a', 'é'], ['a', 'é']), ('dict<f64?>', {'b': None, 'a': 0.5}, {'a': 0.5, 'b': None}),
                ('(a (b u8)[])', {'a': [{'b': 1}]}, {'a': [{'b': 1}]}), ('numeric', Decimal('1.50'), 1.5), ('uuid', uuid.UUID(int=5), str(uuid.UUID(int=5)))]:
            frame = self.registry.encode(definition, value)
            for format in ('%b', '%t'):
                self.assertEqual(self.conn.execute(f'SELECT {format}::kiln::jsonb', [frame]).fetchone()[0], wanted)
        self.conn.execute("INSERT INTO p VALUES (%s)", [self.registry.encode('kiln_py_point', {'id': 5, 'name': 'x'})])
        self.assertEqual(self.one("SELECT (v->'id')::int8 FROM p")[0], 5)
        lists = [self.registry['kiln_py_point'](id=n, name=str(n)) for n in range(3)]
        self.assertEqual(self.one("SELECT array_length(%s::kiln[], 1)", [lists])[0], 3)

    def test_refused_by_the_server(self):
        self.refused('42804', 'INSERT INTO p VALUES (%s)', [self.registry.encode('(id i64)', {'id': 1})])


class Definitions(Server):
    def setUp(self):
        self.conn.execute("SELECT kiln_register('kiln_py_later(id i64)')")
        self.conn.execute('CREATE TABLE later (v kiln(kiln_py_later))')
        self.conn.execute("INSERT INTO later VALUES ('{\"id\": 1}')")

    def tearDown(self):
        self.conn.execute('DROP TABLE later')
        self.conn.execute("SELECT kiln_forget('kiln_py_later')")

    def fresh(self, **options):
        """A registry as one that has never heard of the definition."""
        conn = self.connect(**options)
        registry = kiln.register(conn)
        registry._by_hash.clear()
        registry._by_name.clear()
        return conn, registry

    def test_asked_for_when_met(self):
        conn, registry = self.fresh()
        with conn:
            self.assertEqual(conn.cursor(binary=True).execute('SELECT v FROM kiln_py_tests.later').fetchone()[0].id, 1)
            self.assertEqual(conn.info.transaction_status, psycopg.pq.TransactionStatus.IDLE)
            self.assertEqual([schema.name for schema in registry.versions('kiln_py_later')], ['kiln_py_later'])

    def test_asking_starts_no_transaction(self):
        conn, registry = self.fresh()
        with conn:
            conn.autocommit = False
            registry['kiln_py_later']
            self.assertEqual(conn.info.transaction_status, psycopg.pq.TransactionStatus.IDLE)

    def test_not_while_a_query_runs(self):
        conn, registry = self.fresh()
        with conn:
            values = [row[0] for row in conn.cursor(binary=True).stream('SELECT v FROM kiln_py_tests.later')]
            self.assertIsInstance(values[0], kiln.Opaque)
            self.assertRaises(kiln.UnknownDefinition, lambda: values[0].id)
            self.assertEqual(values[0].resolve().id, 1)
            with conn.pipeline():
                value = conn.cursor(binary=True).execute('SELECT v FROM kiln_py_tests.later').fetchone()[0]
            self.assertEqual(value.resolve().id if isinstance(value, kiln.Opaque) else value.id, 1)

    def test_in_a_failed_transaction(self):
        conn, registry = self.fresh()
        with conn:
            cursor = conn.cursor(binary=True).execute('SELECT v FROM kiln_py_tests.later')
            conn.execute('BEGIN')
            self.assertRaises(psycopg.Error, conn.execute, 'SELECT 1 / 0')
            value = cursor.fetchone()[0]
            self.assertIsInstance(value, kiln.Opaque)
            conn.execute('ROLLBACK')
            self.assertEqual(value.resolve().id, 1)

    def test_versions(self):
        self.conn.execute("SELECT kiln_register('kiln_py_later(id i64,added string?)')")
        self.conn.execute("INSERT INTO later VALUES ('{\"id\": 2, \"added\": \"x\"}')")
        self.registry.refresh()
        old, new = [row[0] for row in self.conn.cursor(binary=True).execute("SELECT v FROM later ORDER BY (v->'id')::int8")]
        self.assertEqual((new.added, kiln.get(new, 'added'), kiln.get(old, 'added')), ('x', 'x', None))
        self.assertRaises(AttributeError, lambda: old.added)
        self.assertRaises(kiln.PathError, kiln.get, old, 'nowhere')
        self.assertEqual(self.registry['kiln_py_later']._type, new._type)

    def test_nobody_knows(self):
        value = self.one("SELECT kiln_from_frame('\\x14ffffffffffffffff01')")[0]
        self.assertIsInstance(value, kiln.Opaque)
        self.assertRaises(kiln.UnknownDefinition, lambda: value.id)
        self.assertEqual(self.one('SELECT kiln_frame(%s::kiln)', [value])[0].hex(), '14ffffffffffffffff01')
        text = self.one("SELECT kiln_from_frame('\\x14ffffffffffffffff01')", binary=False)[0]
        self.assertIsInstance(text, kiln.Opaque)

    def test_damaged_and_unverified(self):
        registry = kiln.Registry()
        registry.add('d(s string)')
        hash_ = bytes.fromhex(registry.schema('d').hash)[::-1]
        value = registry.load(b'\x14' + hash_ + struct.pack('<I', 9) + b'x')
        self.assertRaises(kiln.FormatError, lambda: value.s)
        self.assertEqual(registry.load(b'\x14' + hash_ + struct.pack('<I', 1) + b'x').s, 'x')

    def test_without_the_extension(self):
        name = 'kiln_py_none'
        self.conn.execute(f'CREATE DATABASE {name} TEMPLATE template0')
        try:
            with psycopg.connect('', dbname=name) as conn:
                self.assertRaises(kiln.Error, kiln.register, conn)
        finally:
            self.conn.execute(f'DROP DATABASE {name}')

    def test_async(self):
        async def read():
            async with await psycopg.AsyncConnection.connect('', autocommit=True) as conn:
                kiln.register(conn)
                cursor = await conn.cursor(binary=True).execute('SELECT v FROM kiln_py_tests.later')
                return (await cursor.fetchone())[0].id
        self.assertEqual(asyncio.run(read()), 1)


class Oracle(Server):
    """Values that nobody chose: the server makes kiln of random JSON documents, and this package must read the same documents."""

    def document(self, chance, depth=3):
        kind = chance.randrange(7 if depth else 4)
        if kind == 0:
            return chance.choice([True, False])
        if kind == 1:
            return chance.choice([0, -1, 2 ** 31, 2 ** 53 + 1, -2 ** 63, 2 ** 64 - 1, chance.getrandbits(20)])
        if kind == 2:
            return chance.choice([0.5, -1e-7, 1e300, chance.random()])
        if kind == 3:
            return ''.join(chance.choice('aé€😀" \\\n') for _ in range(chance.randrange(6)))
        if kind == 4:
            item = self.document(chance, depth - 1)
            return [item] * chance.randrange(4)
        return {chance.choice(['a', 'b', 'c d', 'é', 'keys']): self.document(chance, depth - 1) for _ in range(chance.randrange(1, 5))}

    def numbers(self, value):
        """The same with numbers by value: a numeric is a Decimal here and a float or an int there."""
        if isinstance(value, dict):
            return {key: self.numbers(item) for key, item in value.items()}
        if isinstance(value, list):
            return [self.numbers(item) for item in value]
        if isinstance(value, (Decimal, float)) or isinstance(value, int) and abs(value) > 2 ** 64:
            return int(value) if value == int(value) and abs(value) <= 2 ** 64 else float(value)
        return value

    def test_documents(self):
        chance = random.Random(5)
        for _ in range(300):
            document = {'top': self.document(chance)}
            text = json.dumps(document)
            definition = self.one('SELECT kiln_infer(%s::jsonb)', [text])[0]
            value, back = self.one('SELECT v, v::jsonb FROM (SELECT kiln_encode(%s, %s::jsonb) AS v) AS s', [definition, text])
            self.assertEqual(self.numbers(kiln.asdict(value)), self.numbers(back))
            ours = self.registry.from_json(definition, text)
            self.assertEqual(bytes(ours), kiln.frame(value))
            self.assertEqual(self.registry.encode(definition, document).payload, ours.payload)


del Server       # it is a base, not a test


if __name__ == '__main__':
    unittest.main()
