"""Records, lists, dicts and tensors without a server: making, reading, comparing, refusing."""
import dataclasses
import enum
import pickle
import unittest
import uuid
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from typing import NamedTuple

import numpy as np

import kiln

ALL = ("every(a bool,b i8,c u64,d f32,e f64,f string,g bytes,h uuid,i date,j timestamp,k timestamptz,l numeric,m json,n enum('x','y'),"
       "o i32?,p i64[],q dict<f64>,r (s string,t u8[])[],u string='dflt')")
VALUE = {
    'a': True, 'b': -128, 'c': 2 ** 64 - 1, 'd': 0.5, 'e': 0.1, 'f': 'é', 'g': b'\0\xff', 'h': uuid.UUID(int=7), 'i': date(2024, 2, 29),
    'j': datetime(1999, 12, 31, 23, 59, 59, 999999), 'k': datetime(2024, 2, 29, 12, tzinfo=timezone(timedelta(hours=2))), 'l': Decimal('1.50'),
    'm': {'k': [1, None, 'v']}, 'n': 'y', 'o': None, 'p': [1, -2, 3], 'q': {'b': 2.0, 'a': 1.0}, 'r': [{'s': 'deep', 't': [1, 2]}],
}


class Values(unittest.TestCase):
    def setUp(self):
        self.registry = kiln.Registry()
        self.registry.add(ALL)
        self.Every = self.registry['every']

    def test_members(self):
        record = self.Every(VALUE)
        self.assertEqual(record.u, 'dflt')
        for name, value in VALUE.items():
            self.assertEqual(getattr(record, name), value, name)
            self.assertEqual(record[name], value, name)
        self.assertEqual((record.l.as_tuple(), type(record.e), record.k.utcoffset()), (Decimal('1.50').as_tuple(), float, timedelta(0)))
        self.assertEqual((list(record.q), record.r[0].s, record.r[-1].t[1], record.p[1:]), (['a', 'b'], 'deep', 2, [-2, 3]))
        self.assertEqual((len(record), list(record)[:3], 'z' in record, record.get('z')), (19, ['a', 'b', 'c'], False, None))
        self.assertEqual(dict(record)['b'], -128)
        self.assertRaises(AttributeError, getattr, record, 'z')
        self.assertRaises(KeyError, record.__getitem__, 'z')
        self.assertRaises(AttributeError, setattr, record, 'a', False)
        self.assertRaises(IndexError, record.p.__getitem__, 3)
        self.assertEqual(kiln.get(record, 'r[0].t[-1]'), 2)
        self.assertIsNone(kiln.get(record, 'q.none'))
        self.assertEqual(bytes(kiln.raw(record, 'l')[1]), b'\x04\0\0\x001.50')
        self.assertEqual([f.name for f in kiln.fields(record)][-1], 'u')

    def test_like_a_dataclass(self):
        record = self.Every(VALUE)
        self.assertEqual(record, self.Every(**VALUE))
        self.assertEqual(hash(record), hash(self.Every(**VALUE)))
        self.assertEqual(record, {**VALUE, 'u': 'dflt'})
        self.assertNotEqual(record, kiln.replace(record, b=0))
        self.assertEqual(kiln.replace(record, b=0).b, 0)
        self.assertRaises(kiln.EncodeError, kiln.replace, record, nothing=1)
        self.assertTrue(repr(record).startswith("every(a=True, b=-128, c=18446744073709551615"))
        self.assertEqual(pickle.loads(pickle.dumps(record)), record)
        self.assertEqual(kiln.asdict(record), {**VALUE, 'u': 'dflt'})
        self.assertIsInstance(record, kiln.Record)
        match record:
            case self.Every(True, -128):
                pass
            case _:
                self.fail('no match')

    def test_names_that_mean_something_else(self):
        self.registry.add('odd(keys i32,"a b" i32,_b i32,self i32,buffer i32)')
        odd = self.registry['odd']({'keys': 1, 'a b': 2, '_b': 3, 'self': 4, 'buffer': 5})
        self.assertEqual([odd['keys'], odd['a b'], odd['_b'], odd.self, odd.buffer], [1, 2, 3, 4, 5])
        self.assertEqual(getattr(odd, 'a b'), 2)
        self.assertEqual(list(odd.keys()), ['keys', 'a b', '_b', 'self', 'buffer'])

    def test_sources(self):
        @dataclasses.dataclass
        class Inner:
            s: str
            t: list

        class Pair(NamedTuple):
            x: int
            y: float

        class Colour(enum.Enum):
            RED = 'red'

        inner = self.registry.encode('(s string,t u8[])', Inner('a', [1])).value
        self.assertEqual(inner, {'s': 'a', 't': [1]})
        self.assertEqual(self.registry.encode('(x i8,y f64)', Pair(1, 2.5)).value, {'x': 1, 'y': 2.5})
        self.assertEqual(self.registry.encode("enum('red')", Colour.RED).value, 'red')
        self.assertEqual(self.registry.encode('i16[]', np.array([1, 2], 'i2')).value, [1, 2])
        self.assertEqual(self.registry.encode('i16[]', (n for n in (1, 2))).value, [1, 2])
        self.assertEqual(self.registry.encode('(r (s string,t u8[]))', {'r': inner}).value.r, inner)
        self.assertEqual(self.registry.encode('json', kiln.Json(' [1,  2] ')).payload, b'\x07\0\0\0[1,  2]')
        self.assertEqual(self.registry.encode('numeric', 10 ** 30).value, Decimal(10) ** 30)
        self.assertEqual(self.registry.encode('date', kiln.Days('0044-03-15 BC')).value, kiln.Days('0044-03-15 BC'))
        self.assertEqual(str(self.registry.encode('timestamptz', 'infinity').value), 'infinity')

    def test_refused(self):
        for definition, value in [
                ('bool', 1), ('i8', 128), ('i8', True), ('i8', 1.5), ('u8', -1), ('f32', 1e39), ('f64', '1'), ('string', 'a\0'), ('string', '\ud800'),
                ('string', b'a'), ('bytes', 'a'), ('uuid', 'x'), ('date', datetime(2024, 1, 1)), ('timestamp', datetime.now(timezone.utc)),
                ('timestamptz', datetime(2024, 1, 1)), ('date', '2023-02-29'), ('numeric', '1'), ("enum('a')", 'b'), ('i8[]', 'ab'), ('i8[]', [1, None]),
                ('i8[]', np.array([1.5])), ('dict<i8>', [1]), ('dict<i8>', {1: 1}), ('(a i8)', {}), ('(a i8)', {'a': 1, 'b': 2}), ('(a i8)', None),
                ('json', float('nan')), ('json', kiln.Json('{')), ('numeric', Decimal('1e131072'))]:
            with self.subTest(definition=definition, value=repr(value)[:40]):
                self.assertRaises(kiln.EncodeError, self.registry.encode, definition, value)
        with self.assertRaises(kiln.EncodeError) as raised:
            self.Every({**VALUE, 'r': [{'s': 'x', 't': [1, 300]}]})
        self.assertEqual(raised.exception.path, 'r[0].t[1]')

    def test_floats_are_rounded_once(self):
        # low, the next float, the middle of both, and what is above it by too little for a double
        for form, low, high, middle, above in [
                ('f32', '0000804b', '0100804b', '16777217', '16777217.000000000001'),
                ('f32', '0000407f', '0100407f', str(3 * 2 ** 126 + 2 ** 103), str(3 * 2 ** 126 + 2 ** 103 + 2 ** 70)),
                ('f32', '00000000', '01000000', None, '7.0064923216240853546187e-46'),
                ('f16', '0068', '0168', '2049', '2049.0000000000000001'),
                ('bf16', '8043', '8143', '257', '257.0000000000000001')]:
            for sign, bit in (('', 0), ('-', 0x80)):
                for text, expected in ((middle, low), (above, high)):
                    expected = bytearray.fromhex(expected)
                    expected[-1] |= bit
                    if text:
                        self.assertEqual(self.bytes_of(form, sign + text), expected.hex(), sign + text)

    def test_floats_out_of_range(self):
        for form, most, more, least, less in [('f16', '65519.999', '65520', '3e-8', '2.9e-8'), ('bf16', '3.3961e38', '3.3962e38', '4.7e-41', '4.5e-41'),
                                              ('f32', '3.40282356e38', '3.40282357e38', '7.1e-46', '7e-46')]:
            self.assertEqual([self.bytes_of(form, least)[:2], set(self.bytes_of(form, least)[2:])], ['01', {'0'}])
            self.assertIn(self.bytes_of(form, '-' + most), ('fffb', '7fff', 'ffff7fff'))
            for text in (more, less, '-' + more, '1e400', '1e-400'):
                self.assertRaises(kiln.EncodeError, self.bytes_of, form, text)
            self.assertEqual([set(self.bytes_of(form, '0e400')), self.bytes_of(form, '-0')[-2:]], [{'0'}, '80'])

    def bytes_of(self, form, number):
        """A number of JSON, encoded, in hex: of a scalar, or of a tensor's one element."""
        if form == 'f32':
            return bytes(self.registry.from_text('{"$kiln": "f32", "$value": %s}' % number).payload).hex()
        array = self.registry.from_text('{"$kiln": "tensors", "": {"dtype": "%s", "shape": [], "data": [%s]}}' % (form, number)).value
        return array.tobytes().hex()

    def test_text_of_tensors_refused(self):
        for tensor in ['{"dtype": 1, "shape": [], "data": [1]}', '{"dtype": "f32", "shape": 1, "data": [1]}', '{"dtype": "f32", "shape": [], "data": 1}',
                       '{"dtype": "f32", "shape": []}', '{"dtype": "f99", "shape": [], "data": [1]}', '{"dtype": "bf16", "shape": [], "data": ["x"]}',
                       '{"dtype": "bf16", "shape": [], "data": ["NaN(0x7f80)"]}', '{"dtype": "bf16", "shape": [], "data": [[1]]}',
                       '{"dtype": "f16", "shape": [], "data": [true]}', '{"dtype": "f16", "shape": [], "data": ["NaN(0x7c00)"]}',
                       '{"dtype": "f32", "shape": [2], "data": [1]}']:
            with self.subTest(tensor=tensor):
                self.assertRaises(kiln.Error, self.registry.from_text, '{"$kiln": "tensors", "": %s}' % tensor)

    def test_lists_are_arrays_in_place(self):
        data = bytes(self.registry.encode('(a i32[],b string)', {'a': range(1000), 'b': ''}))
        record = self.registry.load(data)
        array = record.a.numpy()
        self.assertTrue(np.array_equal(array, np.arange(1000)))
        self.assertTrue(np.shares_memory(array, np.frombuffer(data, 'u1')))
        self.assertTrue(np.shares_memory(np.asarray(record.a), array))
        self.assertFalse(array.flags.writeable)
        self.assertRaises(TypeError, self.registry.encode('string[]', ['a']).value.numpy)

    def test_tensors(self):
        chance = np.random.default_rng(3)
        for dtype in ('?', 'i1', 'i2', 'i4', 'i8', 'u1', 'u2', 'u4', 'u8', 'f2', 'f4', 'f8'):
            for order in '<>':
                array = (chance.random((3, 1, 5)) * 100).astype(dtype)
                sent = np.asfortranarray(array.astype(array.dtype.newbyteorder(order)))
                data = kiln.frame(sent)
                got = self.registry.load(data, check=True)
                self.assertTrue(np.array_equal(got, array) and got.dtype == array.dtype.newbyteorder('<'), dtype)
                self.assertTrue(np.shares_memory(got, np.frombuffer(data, 'u1')))
        wide = chance.standard_normal(100).astype('f4')
        halves = self.registry.load(kiln.frame(kiln.bf16(wide)))
        self.assertTrue(np.allclose(kiln.f32(halves), wide, rtol=2 ** -8))
        self.assertEqual(kiln.frame(halves), kiln.frame(kiln.bf16(wide)))
        several = kiln.Tensors({'w': np.eye(2), 'b': np.zeros(0, 'i4')})
        self.assertEqual(self.registry.load(kiln.frame(several)), several)
        self.assertEqual(list(several), ['b', 'w'])
        self.assertRaises(kiln.EncodeError, kiln.frame, np.array(['a']))
        self.assertRaises(kiln.EncodeError, kiln.frame, np.zeros((1,) * 9))
        self.assertRaises(kiln.EncodeError, kiln.frame, kiln.Tensors({'$x': np.zeros(1)}))
        self.assertRaises(TypeError, kiln.frame, 'text')

    def test_definitions(self):
        schema = kiln.parse('Boolean -- a comment\n')
        self.assertEqual((schema.text, schema.name), ('bool', None))
        self.assertRaises(kiln.DefinitionError, kiln.parse, 'Message(a int)')
        self.registry.add('every(a bool)')
        self.assertEqual(len(self.registry.versions('every')), 2)
        self.assertEqual(self.registry['every'](a=True), {'a': True})
        with self.assertRaises(kiln.UnknownDefinition) as raised:
            self.registry.open(b'\x11' + bytes(8))
        self.assertEqual(raised.exception.hash, '0' * 16)


if __name__ == '__main__':
    unittest.main()
