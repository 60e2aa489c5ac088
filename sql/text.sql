-- The text form: JSON that mirrors the frame. The vectors (test/t/010_vectors.pl) hold every detail; here is the story.

-- What a text reads as, printed again, or its error.
CREATE FUNCTION reads(input text) RETURNS text LANGUAGE sql
	AS $$ SELECT attempt(format('SELECT %L::kiln::text', input)) $$;
-- The same for one value of a type.
CREATE FUNCTION value_of(type text, input text) RETURNS text LANGUAGE sql
	AS $$ SELECT reads(format('{"$kiln": %s, "$value": %s}', to_json(type), input)) $$;
CREATE FUNCTION values_of(type text, VARIADIC inputs text[]) RETURNS TABLE (input text, answer text) LANGUAGE sql
	AS $$ SELECT i, value_of(type, i) FROM unnest(inputs) i $$;

SELECT kiln_register('text_event(id i64, name string, score f64?, tags string[]?,
	at timestamptz = ''2000-01-01T00:00:00Z'')');

------------------------------------------------------------------------
-- The envelope
------------------------------------------------------------------------

-- A registered schema, by name, by name and hash, by hash alone; $kiln may stand anywhere, and keys in any order.
SELECT input, reads(input) FROM (VALUES
	('{"$kiln": "text_event", "id": 1, "name": "first"}'),
	('{"name": "second", "id": 2, "$kiln": "text_event", "tags": ["a", "b"], "score": 0.5}'),
	('{"$kiln": "text_event#9a4b1d5bf3f27d35", "id": 3, "name": "no such hash"}'),
	('{"$kiln": "\"text_event\"", "id": 4, "name": "quoted"}')) v (input);
SELECT reads(format('{"$kiln": "#%s", "id": 5, "name": "by hash"}', hash))
		= reads('{"$kiln": "text_event", "id": 5, "name": "by hash"}'),
	attempt(format('SELECT %L::kiln', format('{"$kiln": "message#%s", "id": 5}', hash)))
		LIKE '22P02 | %is not one of schema message%'
FROM kiln_schemas WHERE name = 'text_event';

-- A definition in full: the value carries it, canonical.
SELECT input, reads(input) FROM (VALUES
	('{"$kiln": "point( x  double precision, y float8 ) -- metres", "x": 1, "y": -0.0}'),
	('{"$kiln": "(a int, b text?)", "a": 1}'),
	('{"$kiln": "int[]", "$value": [1, 2]}'),
	('{"$kiln": "dict<int>", "$value": {"$value": 1}}'),
	('{"$kiln": "json", "$value": {"$kiln": [ 1 ]}}')) v (input);

-- Forms that are none. The session goes on after each.
SELECT input, reads(input) FROM (VALUES
	('{"$kiln": 1, "a": 1}'), ('{"$kiln": null}'), ('{"$kiln": ""}'),
	('{"$kiln": "i64"}'), ('{"$kiln": "i64", "a": 1}'), ('{"$kiln": "i64", "$value": 1, "a": 1}'),
	('{"$kiln": "i64", "$value": 1, "$value": 2}'), ('{"$kiln": "i64", "$kiln": "i64", "$value": 1}'),
	('{"$kiln": "i64", "\u0024kiln": "i64", "$value": 1}'),
	('{"$kiln": "(a i32)", "$value": {"a": 1}}'), ('{"$kiln": "(a i32)?", "a": 1}'),
	('{"$kiln": "no_such_schema", "a": 1}'), ('{"$kiln": "x#0123456789abcdef", "a": 1}'),
	('{"$kiln": "(a i32)", "a": 1, "$x": 2}')) v (input);
SELECT 1;

-- Without $kiln and without a column a scalar is an inline scalar, and anything else a json value, as it stands.
SELECT input, reads(input) FROM (VALUES
	('42'), ('-0'), ('9223372036854775807'), ('9223372036854775808'), ('18446744073709551616'), ('1.50'), ('1e3'),
	('"x"'), (' true '), ('null'), ('[1,  2]'), ('{"a":  {}}'), ('{"$value": 1}'), ('{"$Kiln": 1}')) v (input);

-- In a typed column it is the column's schema, on every route.
CREATE TABLE text_typed (e kiln(text_event));
INSERT INTO text_typed VALUES ('{"id": 1, "name": "literal"}');
COPY text_typed FROM stdin;
{"name": "copy", "id": 2}
{"$kiln": "text_event", "id": 3, "name": "named"}
\.
SELECT e FROM text_typed;
SELECT attempt($$ INSERT INTO text_typed VALUES ('{"id": 1}') $$),
	attempt($$ INSERT INTO text_typed VALUES ('42') $$),
	attempt($$ INSERT INTO text_typed VALUES ('{"$kiln": "(a i32)", "a": 1}') $$);

------------------------------------------------------------------------
-- Structs, lists, dicts, absence
------------------------------------------------------------------------

-- Absent, empty and zero are three things. case 17
SELECT reads('{"$kiln": "(a i32?,s string?,l i32[]?,d dict<i32>?,b bytes?,f f64?)"' || rest || '}') FROM (VALUES
	(''), (', "a": null, "s": null'), (', "a": 0, "s": "", "l": [], "d": {}, "b": "\\x", "f": -0.0')) v (rest);
-- null, the word null, and a missing key. case 18
SELECT * FROM values_of('dict<string?>', '{"a": null}', '{"a": "null"}', '{"a": "NULL"}', '{}');
SELECT * FROM values_of('i32?[]', '[1, null, 2]', '[]');
SELECT * FROM values_of('i32[]', '[1, null]', 'null', '{}', '[1, [2]]');
SELECT reads('{"$kiln": "(s (a i32?)?)", "s": {}}'), reads('{"$kiln": "(s (a i32?)?)", "s": null}');
-- A default is taken by a field that is not there, not by one that is null.
SELECT reads('{"$kiln": "(a i32=5,b string=''x'')"' || rest || '}') FROM (VALUES (''), (', "a": 1'),
	(', "a": null')) v (rest);
-- Unknown, misspelt, repeated and missing keys. case 19
SELECT reads('{"$kiln": "(name i32,e (\"é\" i32?)?)"' || rest || '}') FROM (VALUES
	(', "name": 1'), (', "nane": 1'), (', "Name": 1'), (', "name": 1, "zzz": 1'), (', "name": 1, "name": 1'), (''),
	(', "name": 1, "e": {"e\u0301": 2}'), (', "name": 1, "e": {"é": 1, "e\u0301": 2}')) v (rest);
SELECT * FROM values_of('dict<i32>', '{"b": 1, "a": 2, "": 3}', '{"a": 1, "a": 1}', '{"a": 1, "\u0061": 1}', '[1]');
-- Where it is wrong
SELECT reads('{"$kiln": "(a (b dict<i32[]>)[])", "a": [{"b": {}}, {"b": {"q.r": [0, 1, 2.5]}}]}');

------------------------------------------------------------------------
-- Numbers
------------------------------------------------------------------------

-- Exact beyond 2^53, quoted or not. case 1
SELECT * FROM values_of('i64', '9007199254740993', '"9007199254740993"', '-9223372036854775808',
	'9223372036854775808', '-9223372036854775809');
SELECT * FROM values_of('u64', '9223372036854775808', '18446744073709551615', '18446744073709551616', '-1');
-- Fractions, exponents, junk. case 2
SELECT * FROM values_of('i64', '2.5', '1e3', '9223372036854775807.0', '100e-2', '"12,abc"', '"10 mins"', '"1 "',
	'""', '"-"', 'true', '1e-1');
-- Huge exponents and long digits cost nothing. case 7
SELECT * FROM values_of('i64', '1e131071', '1e999999999999999999999', '0e999999999', '1e-999999999');
SELECT * FROM values_of('f64', '1e100000', '1e-999999999', '0e999999999');
SELECT left(value_of('i64', repeat('9', 1000000)), 90), left(value_of('f64',
	'0.' || repeat('0', 300) || repeat('7', 1000000)), 60);
-- NaN and the infinities are strings, with the bits of every other NaN kept. case 3
SELECT * FROM values_of('f64', '"NaN"', '"Infinity"', '"-Infinity"', '"NaN(0x7ff8000000000001)"',
	'"NaN(0xfff8000000000000)"',
	'"NaN(0x7ff8000000000000)"', '"nan"', '"inf"', 'NaN', '"NaN(0x7ff0000000000000)"');
SELECT * FROM values_of('i32', '"NaN"', '"Infinity"');
-- Floats survive, whatever extra_float_digits says. case 4
SELECT n, setting, value_of('f64[]',
	'[0.1, 0.30000000000000004, 5e-324, 2.2250738585072014e-308, 216237.00000035969, 1e23, -0.0]'),
	value_of('f32[]', '[1.2345679, 16777217, 1e-45, 0.1, 3.4028235e38]')
FROM (VALUES (1, 0), (2, -15), (3, 3)) s (n, setting),
	LATERAL set_config('extra_float_digits', setting::text, false) ORDER BY n;
RESET extra_float_digits;
-- One rounding, from the decimal; nothing turns into zero or infinity unasked. case 6
SELECT * FROM values_of('f32', '1.00000017881393432617187499', '1.00000017881393432617187501', '1e39',
	'3.4028236e38', '1e-50', '7.006492321624085e-46');
SELECT * FROM values_of('f64', '1.8e308', '2.4703282292062327e-324', '2.4703282292062328e-324');
-- numeric keeps its scale.
SELECT * FROM values_of('numeric', '1.00', '1.50e1', '1e-5', '-0.00', '0e5', '"NaN"', '"-Infinity"', '"12.340"',
	'1e131072', '1e-16384', '0e-16384');

------------------------------------------------------------------------
-- Strings
------------------------------------------------------------------------

-- NUL has no place in a string; the six characters do. case 9
SELECT * FROM values_of('string', '"a\u0000b"', '"a\\u0000b"');
SELECT * FROM values_of('bytes', '"\\x610062"', '"\\X61"', '"\\x6"', '"61"', '"\\x 61"');
-- Surrogates come in pairs. case 11
SELECT * FROM values_of('string', '"\ud83d\ude00"', '"\ud800"', '"\udc00"', '"\ude00\ud83d"', '"\ud83dx"',
	'"\uD83D\uD83D"');
SELECT * FROM values_of('json', '"\ud83d\ude00"', '"\ud800"', '{"\u0000": 1}');
-- Escapes, in values and in keys. case 45
SELECT * FROM values_of('string', '"\" \\ \/ \b \f \n \r \t \u0001 \u007f \u20ac"', '"tab	in it"', '"\x"',
	'"\u12"');
SELECT * FROM values_of('dict<string>', '{"\"": "\\.", "\\": "{}", "a,b": "NULL", " ": "\u2028"}');
CREATE TABLE text_copies (n int, v kiln, l kiln[]);
INSERT INTO text_copies
	SELECT n, v, ARRAY[v, NULL, v]
	FROM (VALUES (1, E'"\\\\ \\" \' \\t \\n \\r \\\\. , { } [ ] ( ) => : NULL"'::kiln), (2, '""'), (3, '" "'),
	(4, '"\\."'),
		(5, '{"$kiln": "(\"a,\"\"b\" dict<string>)", "a,\"b": {"\\": "😀"}}')) v (n, v);
COPY text_copies TO stdout;
COPY text_copies TO stdout (FORMAT csv);
SELECT n, (t::text::text_copies).v = v AND (t::text::text_copies).l = l AS row, l::text::kiln[] = l AS array,
	json_agg(v)->>0 = v::jsonb #>> '{}' AS json
FROM text_copies t GROUP BY n, v, l, t ORDER BY n;
-- Enums by label, uuids as core spells them. case 16
SELECT * FROM values_of('enum(''a'',''it''''s'')', '"it''s"', '"b"', '0');
SELECT * FROM values_of('uuid', '"01020304-0506-0708-090A-0b0c0d0e0f10"', '"{01020304050607080 90a0b0c0d0e0f10}"',
	'"{0102030405060708090a0b0c0d0e0f10}"', '"0102030405060708090a0b0c0d0e0f1"');
SELECT hex(value_of('uuid', '"01020304-0506-0708-090a-0b0c0d0e0f10"')::kiln);

------------------------------------------------------------------------
-- Dates and timestamps: one grammar, whatever the session is set to. case 14
------------------------------------------------------------------------

SET datestyle = 'German, DMY';
SET timezone = 'Asia/Kolkata';
SELECT * FROM values_of('date', '"2024-02-29"', '"2023-02-29"', '"0044-03-15 BC"', '"4714-11-24 BC"',
	'"4714-11-23 BC"', '"5874897-12-31"',
	'"5874898-01-01"', '"infinity"', '"-infinity"', '"now"', '"today"', '"29.02.2024"', '"0000-01-01"',
	'"02024-01-01"', '0');
SELECT * FROM values_of('timestamp', '"2000-01-01T00:00:00.100"', '"294276-12-31T23:59:59.999999"',
	'"294277-01-01T00:00:00"',
	'"2000-01-01 00:00:00"', '"2000-01-01T24:00:00"', '"2000-01-01T00:00:60"', '"2000-01-01T00:00:00.1234567"',
	'"2000-01-01T00:00:00Z"');
SELECT * FROM values_of('timestamptz', '"2000-01-01T05:30:00+05:30"', '"2000-01-01T00:00:00Z"',
	'"2000-01-01T00:19:32+00:19:32"',
	'"0044-03-15T00:00:00-08 BC"', '"2000-01-01T00:00:00"', '"2000-01-01T00:00:00+16"', '"2000-01-01T00:00:00+1"',
	'"2000-01-01T00:00:00 UTC"',
	'"294277-01-01T00:59:59.999999+01"', '"4714-11-24T00:00:00+01 BC"', '"infinity"');
-- core's own JSON of a timestamp is read.
SELECT value_of('timestamptz', to_json(t)::text), value_of('timestamp', to_json(t AT TIME ZONE 'UTC')::text),
	value_of('date', to_json(t::date)::text)
FROM (VALUES (timestamptz '2024-02-29 12:34:56.789+00'), ('0044-03-15 00:00:00+00 BC'), ('infinity')) v (t);
RESET datestyle;
RESET timezone;

------------------------------------------------------------------------
-- JSON itself
------------------------------------------------------------------------

-- Cut or padded text. case 22
SELECT input, reads(input) FROM (VALUES (''), (' '), ('{'), ('{"a"'), ('{"a":'), ('{"a": 1'), ('{"a": 1,}'),
	('[1,]'), ('[1 2]'), ('1 1'), ('{} x'),
	('01'), ('1.'), ('+1'), ('nul'), ('"abc'), ('{a: 1}'), ('{"a": 1e200000}'), ('"\u0000"')) v (input);
SELECT count(*) AS cuts, count(*) FILTER (WHERE reads(left(t, n)) ~ '^22P02 ') AS refused
FROM (VALUES ('{"$kiln": "text_event", "id": 2, "name": "a\"b", "score": 0.5, "tags": ["a", "b"]}')) v (t),
	generate_series(1, length(t) - 1) n;
-- Depth: 200 levels, below those of a definition and the envelope. case 27
SELECT levels, left(reads(repeat('[', levels) || repeat(']', levels)), 60),
	left(value_of('json', repeat('[', levels) || repeat(']', levels)), 60),
	left(value_of('dict<json[]>', '{"a": [' || repeat('{"a":', levels) || '1' || repeat('}', levels) || ']}'), 60)
FROM (VALUES (200), (201), (100000)) v (levels);
SELECT left(reads(repeat('[', 100000)), 80), left(reads(repeat('{"a":', 100000)), 80);
SELECT 1;
-- Lists of lists, and scalars before a list, which are kept in another way
SELECT * FROM values_of('json?[]', '[1, "a\"b", null, true, {"x": [1, [2]]}, [], -1.50, {}]');
SELECT * FROM values_of('i32[][]', '[[], [1], [1, 2]]', '[1, [2]]', '[[1], 2]', '[[1], [2, "x"]]');
SELECT * FROM values_of('string[]', '["\"", "\\", "", "\\\"", "]", ","]');

------------------------------------------------------------------------
-- base64, and values whose definition is not at hand
------------------------------------------------------------------------

SELECT input, reads(input) FROM (VALUES
	('{"$kiln": "i32", "$base64": "AQAAAA=="}'), ('{"$base64": "AQAAAAE=", "$kiln": "(a i32,b bool)"}'),
	('{"$kiln": "(a string)", "$base64": "AgAAAGFi"}'),
	('{"$kiln": "i32", "$base64": "AQAAAA"}'), ('{"$kiln": "i32", "$base64": "AQAAAB=="}'),
	('{"$kiln": "i32", "$base64": "AQAA AA=="}'),
	('{"$kiln": "i32", "$base64": "====" }'), ('{"$kiln": "i32", "$base64": "AQAA"}'),
	('{"$kiln": "i32", "$base64": 1}'),
	('{"$kiln": "i32", "$base64": "AQAAAA==", "$value": 1}'), ('{"$kiln": "bool", "$base64": "Ag=="}'),
	('{"$kiln": "string", "$base64": "AQAAAP8="}'),
	('{"$kiln": "#0123456789abcdef", "$base64": ""}')) v (input);
-- Unverified: kept under a hash that nobody knows, registered once it is known and valid.
SELECT input, reads(input) FROM (VALUES
	('{"$kiln": "#0123456789abcdef", "$unverified": true, "$base64": "AAEC"}'),
	('{"$kiln": "#0123456789abcdef", "$unverified": false, "$base64": "AAEC"}'),
	('{"$kiln": "#0123456789abcdef", "$unverified": true}'),
	('{"$kiln": "#0123456789ABCDEF", "$unverified": true, "$base64": ""}'),
	('{"$kiln": "i32", "$unverified": true, "$base64": "AQAAAA=="}')) v (input);
BEGIN;
SELECT kiln_register('text_gone(a i32,s string)') AS hash \gset
CREATE TABLE text_kept AS SELECT '{"$kiln": "text_gone", "a": 7, "s": "kept"}'::kiln AS v;
SELECT v FROM text_kept;
SELECT kiln_forget('text_gone');
SELECT v FROM text_kept;
SELECT attempt(format('SELECT %L::kiln', v)), attempt('SELECT v::json FROM text_kept') FROM text_kept;
SELECT kiln_register('text_gone(a i32,s string)') = :'hash';
SELECT v FROM text_kept;
SELECT reads(format('{"$kiln": "#%s", "$unverified": true, "$base64": "BwAAAAQAAABrZXB0"}', :'hash')),
	reads(format('{"$kiln": "#%s", "$unverified": true, "$base64": "BwAAAAQAAABrZXA="}', :'hash'));
ROLLBACK;

------------------------------------------------------------------------
-- Tensors
------------------------------------------------------------------------

SELECT input, reads(input) FROM (VALUES
	('{"$kiln": "tensors"}'),
	('{"w": {"data": [1,2,3,4,5,"6"], "shape": [2,3], "dtype": "f64"}, "$kiln": "tensors", "a": {"dtype": "u8", "shape": [], "base64": "Ag=="}}'),
	('{"$kiln": "tensors", "h": {"dtype": "f16", "shape": [5], "data": [0.1, -0, "NaN", 65504, 6e-08]}, "": {"dtype": "bool", "shape": [1], "data": [true]}}'),
	('{"$kiln": "tensors", "e": {"dtype": "i64", "shape": [2,0,3], "data": []}}'),
	('{"$kiln": "tensors", "h": {"dtype": "f16", "shape": [1], "data": [65520]}}'),
	('{"$kiln": "tensors", "h": {"dtype": "bf16", "shape": [1], "data": [1e-45]}}'),
	('{"$kiln": "tensors", "w": {"dtype": "u8", "shape": [2], "data": [1, 256]}}'),
	('{"$kiln": "tensors", "w": {"dtype": "u8", "shape": [2], "data": [1]}}'),
	('{"$kiln": "tensors", "w": {"dtype": "u8", "shape": [2], "data": [1, null]}}'),
	('{"$kiln": "tensors", "w": {"dtype": "u8", "shape": [2], "data": [[1], [2]]}}'),
	('{"$kiln": "tensors", "w": {"dtype": "u8", "shape": [-1], "data": []}}'),
	('{"$kiln": "tensors", "w": {"dtype": "f8", "shape": [1], "data": [1]}}'),
	('{"$kiln": "tensors", "w": {"dtype": "u8", "shape": [1]}}'),
	('{"$kiln": "tensors", "w": {"dtype": "u8", "shape": [1], "data": [1], "base64": "AQ=="}}'),
	('{"$kiln": "tensors", "$w": {"dtype": "u8", "shape": [1], "data": [1]}}'), ('{"$kiln": "tensors", "w": 1}'),
	('{"$kiln": "tensors", "$value": 1}'),
	('{"$kiln": "tensors", "w": {"dtype": "u8", "shape": [1], "data": [1]}, "w": {"dtype": "u8", "shape": [1], "data": [1]}}'),
	('{"$kiln": "tensors", "w": {"dtype": "bool", "shape": [1], "base64": "Ag=="}}'),
	('{"$kiln": "tensors", "$base64": "S0lMTg=="}')) v (input);
-- A shape that promises the world allocates nothing. case 61
SELECT reads(format('{"$kiln": "tensors", "w": {"dtype": "f64", "shape": [%s], "data": []}}', shape)) FROM (VALUES
	('4294967296,4294967296'), ('65536,65536,65536,65536'), ('2147483648,2'), ('3,6148914691236517206'),
	('0,9223372036854775808')) v (shape);
-- Up to 1,024 elements are written out, more are base64; the whole directory is read from base64 too.
SELECT n, left(t, 100), right(t, 20), hex(t::kiln) = hex(v)
FROM (VALUES (1024), (1025)) s (n),
	LATERAL (SELECT format('{"$kiln": "tensors", "k": {"dtype": "u8", "shape": [%s], "data": [%s]}}', n,
			string_agg((i % 256)::text, ','))::kiln AS v
		FROM generate_series(1, n) i) w, LATERAL (SELECT v::text AS t) x;
SELECT hex(format('{"$kiln": "tensors", "$base64": "%s"}',
		translate(encode(substr(kiln_frame(v), 5), 'base64'), E'\n', ''))::kiln) = hex(v)
FROM (VALUES ('{"$kiln": "tensors", "w": {"dtype": "f32", "shape": [2], "data": [1.5, -2]}}'::kiln)) t (v);

------------------------------------------------------------------------
-- Long values
------------------------------------------------------------------------

-- Text that would pass 256 MB starts again as base64 and reads back; JSON of it is refused, its own text is not.
-- case 47
CREATE TABLE text_long AS
	SELECT kiln_from_frame('\x1206000000737472696e670098ab02'::bytea || decode(repeat('01', 44800000), 'hex')) AS v;
SELECT octet_length(kiln_frame(v)), octet_length(v::text), left(v::text, 50), v::text::kiln = v FROM text_long;
SELECT attempt('SELECT v::json FROM text_long'), attempt('SELECT octet_length(kiln_get(v, '''')) FROM text_long');
DROP TABLE text_long;
SELECT 1;
