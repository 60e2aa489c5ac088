"""The wire vectors, clients/wire.jsonl, without a server: what is read is held against the vectors' bytes and their JSON."""
import json
import math
import os
import random
import struct
import unittest
import uuid
from datetime import date, datetime
from decimal import Decimal

import numpy as np

import kiln
from kiln import tensors

FILE = os.path.join(os.environ.get('KILN_WIRE', os.path.join(os.path.dirname(__file__), '..', '..')), 'wire.jsonl')


class Number(str):
    """A number as JSON spells it."""


def rows(kind):
    with open(FILE, encoding='utf-8') as file:
        for line in file:
            row = json.loads(line)
            if row['kind'] == kind:
                yield row


def registry_of(row):
    registry = kiln.Registry()
    for text in row['registered_hex']:
        registry.add(bytes.fromhex(text).decode())
    return registry


def plain_json(value):
    if isinstance(value, Number):
        return json.loads(value)
    if isinstance(value, list):
        return [plain_json(item) for item in value]
    if isinstance(value, dict):
        return {key: plain_json(item) for key, item in value.items()}
    return value


def same(type_, value, wanted):
    """Is a value what its JSON says?"""
    kind = type_.kind
    if kind == 'optional':
        return value is None if wanted is None else same(type_.element, value, wanted)
    if kind == 'list':
        return len(value) == len(wanted) and all(same(type_.element, a, b) for a, b in zip(value, wanted))
    if kind == 'dict':
        return list(value) == list(wanted) and all(same(type_.element, value[key], wanted[key]) for key in wanted)
    if kind == 'struct':
        return all(same(f.type, value[f.name], wanted.get(f.name)) for f in type_.fields) and set(wanted) <= set(value)
    if kind in ('f32', 'f64'):
        number = float('nan') if wanted.startswith('NaN') else float(wanted.replace('Infinity', 'inf'))
        if math.isnan(number):
            return math.isnan(value)
        number = float(np.float32(number)) if kind == 'f32' else number
        return value == number and math.copysign(1, value) == math.copysign(1, number)
    if kind == 'numeric':
        return isinstance(value, Decimal) and value.as_tuple() == Decimal(wanted).as_tuple()
    if isinstance(wanted, Number) and kind != 'json':
        return type(value) is int and value == int(wanted)
    if kind == 'bytes':
        return '\\x' + value.hex() == wanted
    if kind == 'uuid':
        return isinstance(value, uuid.UUID) and str(value) == wanted
    if kind == 'date':
        return value == date.fromisoformat(wanted) if isinstance(value, date) else str(value) == wanted
    if kind in ('timestamp', 'timestamptz'):
        return value == datetime.fromisoformat(wanted) if isinstance(value, datetime) else str(value) == wanted
    if kind == 'json':
        return value == plain_json(wanted)
    return value == wanted


def holds(type_, kinds):
    """Is a type of one of the kinds anywhere in it?"""
    inner = [f.type for f in type_.fields] if type_.kind == 'struct' else [type_.element] if hasattr(type_, 'element') else []
    return type_.kind in kinds or any(holds(t, kinds) for t in inner)


FORMATS = {'bool': '<?', 'i8': '<b', 'i16': '<h', 'i32': '<i', 'i64': '<q', 'u8': '<B', 'u16': '<H', 'u32': '<I', 'u64': '<Q', 'f32': '<f', 'f64': '<d'}


class Wire(unittest.TestCase):
    def each(self, kind, least, check):
        """Run check over every row of a kind, each a subtest of its own."""
        count = 0
        for row in rows(kind):
            with self.subTest(id=row['id']):
                check(row)
            count += 1
        self.assertGreater(count, least)

    def frames(self, check):
        """Run check over every readable frame: the row, a registry that knows its definitions, and the bytes."""
        self.each('frame', 500, lambda row: row.get('readable', True) and check(row, registry_of(row), bytes.fromhex(row['frame'])))

    def test_definitions(self):
        def one(row):
            text = bytes.fromhex(row['text_hex']).decode('utf-8', 'surrogateescape')
            if not row['valid']:
                self.assertRaises(kiln.DefinitionError, kiln.parse, text)
                return
            schema = kiln.parse(text)
            self.assertEqual((schema.text.encode().hex(), schema.hash), (row['canonical_hex'], row['hash']))
            self.assertEqual(kiln.parse(schema.text, canonical=True).text, schema.text)

        self.each('definition', 300, one)

    def test_reads(self):
        def one(row, registry, data):
            frame = registry.open(data).check()
            for read in row['reads']:
                path = bytes.fromhex(read['path_hex']).decode()
                if 'error' in read:
                    with self.assertRaises(kiln.PathError) as raised:
                        kiln.get(frame, path)
                    self.assertEqual(raised.exception.sqlstate, read['error'], path)
                elif 'absent' in read:
                    self.assertIsNone(kiln.raw(frame, path), path)
                    self.assertIsNone(kiln.get(frame, path), path)
                else:
                    self.check_read(frame, path, read)

        self.frames(one)

    def check_read(self, frame, path, read):
        type_, payload = kiln.raw(frame, path)
        self.assertEqual((type_.text.encode().hex(), payload.hex()), (read['type_hex'], read['payload']), path)
        self.assertIs(payload.obj, frame.payload.obj)
        value, wanted = kiln.get(frame, path), bytes.fromhex(read['payload'])
        if type_.kind in FORMATS:
            wanted, = struct.unpack(FORMATS[type_.kind], wanted)
            self.assertTrue(value == wanted or value != value and wanted != wanted, path)
        elif type_.kind in ('string', 'bytes'):
            self.assertEqual(value if type_.kind == 'bytes' else value.encode(), wanted[4:], path)

    def test_values_are_their_json(self):
        def one(row, registry, data):
            if 'text' not in row:
                return
            members = json.loads(row['text'], parse_float=Number, parse_int=Number, object_pairs_hook=dict)
            frame = registry.open(data)
            if '$base64' in members:
                return
            del members['$kiln']
            wanted = members if frame.schema.root.kind == 'struct' else members['$value']
            self.assertTrue(same(frame.schema.root, frame.value, wanted), f'{row["text"][:300]}: {frame.value!r:.300}')

        self.frames(one)

    def test_text_reads_back(self):
        def one(row, registry, _):
            if row.get('text_reads_back'):
                self.assertEqual(bytes(registry.from_text(row['text'])).hex(), row.get('stored', row['frame']))

        self.frames(one)

    def test_values_encode_back(self):
        def one(row, registry, data):
            frame = registry.open(data)
            root = frame.schema.root
            if holds(root, ('json', 'f32', 'f64')):     # json is reformatted, a NaN loses its bits on its way through a float
                return
            self.assertEqual(registry.encode(frame.schema, kiln.asdict(frame.value)).payload, frame.payload)
            self.assertEqual(registry.encode(frame.schema, frame.value).payload, frame.payload)

        self.frames(one)

    def test_views_copy_their_bytes(self):
        def one(row, registry, data):
            frame = registry.open(data)
            if frame.schema.root.kind in ('struct', 'list', 'dict'):
                self.assertEqual(kiln.frame(registry.load(data))[1:], data[1:])
                self.assertEqual(frame.value, registry.load(bytearray(data)))

        self.frames(one)

    def test_unreadable(self):
        count = 0
        for row in rows('frame'):
            if row.get('readable', True):
                continue
            value = registry_of(row).load(bytes.fromhex(row['frame']))
            self.assertIsInstance(value, kiln.Opaque)
            self.assertEqual(kiln.frame(value).hex(), row['frame'])
            with self.assertRaises((kiln.UnknownDefinition, kiln.FormatError)):
                value.field
            count += 1
        self.assertGreater(count, 3)

    def test_invalid(self):
        def one(row):
            registry, data = registry_of(row), bytes.fromhex(row['frame'])
            with self.assertRaises(kiln.FormatError) as raised:
                registry.open(data).check()
            self.assertEqual(raised.exception.offset, row['offset'], row['reason'])
            self.use(registry, data)

        self.each('invalid', 700, one)

    def use(self, registry, data):
        """Whatever the bytes are: a value, or an error of ours."""
        try:
            kiln.asdict(registry.load(data))
        except kiln.Error:
            pass

    def test_damaged(self):
        chance = random.Random(7)
        good = [(registry_of(row), bytes.fromhex(row['frame'])) for row in [*rows('frame'), *rows('tensors')]]
        for registry, data in good:
            for _ in range(6):
                bad = bytearray(data)
                for _ in range(chance.randint(1, 3)):
                    bad[chance.randrange(len(bad))] = chance.choice((0, 1, 0x7f, 0x80, 0xff, chance.randrange(256)))
                self.use(registry, bytes(bad[:chance.randint(0, len(bad))] if chance.random() < .3 else bad))

    def test_tensors(self):
        def one(row):
            registry, data = registry_of(row), bytes.fromhex(row['frame'])
            frame = registry.open(data).check()
            arrays = tensors.read(memoryview(data), 4, len(data))
            got = [{'name_hex': name.encode().hex(), 'dtype': tensors.NAMES[tensors.dtype_of(a)], 'shape': list(a.shape), 'data': a.tobytes().hex()}
                   for name, a in arrays.items()]
            self.assertEqual(got, row['tensors'])
            for array in arrays.values():
                self.assertTrue(array.size == 0 or np.shares_memory(array, np.frombuffer(data, 'u1')))
            self.assertEqual(kiln.frame(arrays), data)
            self.assertEqual(kiln.frame(frame.value), data)
            self.assertEqual(bytes(registry.from_text(row['text'])), data)

        self.each('tensors', 50, one)


if __name__ == '__main__':
    unittest.main()
