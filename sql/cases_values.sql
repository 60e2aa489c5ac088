-- Single values through every door: the same input has the same outcome on each, and comes back as it went in.

CREATE SCHEMA cases_values;
SET search_path = cases_values, public;
SET client_min_messages = warning;

-- The frame that a JSON value of a type becomes by one door, in hex, or the SQLSTATE. A record's field has the value.
CREATE FUNCTION door(way text, type text, input text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	definition text := format('(v %s)', type);
	object text := format('{"v": %s}', input);
	answer kiln;
BEGIN
	CASE way
		WHEN 'text' THEN answer := format('{"$kiln": %s, "v": %s}', to_json(definition), input)::kiln;
		WHEN 'encode text' THEN answer := kiln_encode(definition, object);
		WHEN 'encode json' THEN answer := kiln_encode(definition, object::json);
		WHEN 'encode jsonb' THEN answer := kiln_encode(definition, object::jsonb);
		WHEN 'json column' THEN answer := kiln_encode(definition, r) FROM (SELECT input::json AS v) AS r;
		WHEN 'jsonb column' THEN answer := kiln_encode(definition, r) FROM (SELECT input::jsonb AS v) AS r;
	END CASE;
	RETURN encode(substr(kiln_frame(answer), 6 + octet_length(definition)), 'hex');
EXCEPTION WHEN OTHERS THEN
	RETURN SQLSTATE;
END $$;
CREATE TABLE ways (way text);
INSERT INTO ways VALUES ('text'), ('encode text'), ('encode json'), ('encode jsonb'), ('json column'), ('jsonb column');
-- One line for an input on which all doors agree, else one for each outcome
CREATE FUNCTION doors(type text, VARIADIC inputs text[]) RETURNS TABLE (input text, outcome text,
	ways text) LANGUAGE sql AS $$
	SELECT left(i, 40), left(o, 60), CASE WHEN count(*) = (SELECT count(*) FROM ways) THEN 'all' ELSE string_agg(way,
		', ' ORDER BY way) END
	FROM unnest(inputs) WITH ORDINALITY AS u (i, n), ways, LATERAL door(way, type, i) AS o
	GROUP BY n, i, o ORDER BY n, min(way)
$$;

------------------------------------------------------------------------
-- Numbers
------------------------------------------------------------------------

-- Integers are exact, quoted or not, and out of range beyond. case 1
SELECT * FROM doors('i64', '9007199254740993', '9223372036854775807', '-9223372036854775808', '"9007199254740993"',
	'9223372036854775808',
	'-9223372036854775809', '18446744073709551615');
SELECT * FROM doors('u64', '9223372036854775808', '18446744073709551615', '"18446744073709551615"',
	'18446744073709551616', '-1');
SELECT n, kiln_get(v, 'n'), v->>'n', (v->'n')::numeric = n AS equal, (v::jsonb->>'n')::numeric = n AS by_jsonb,
	attempt(format('SELECT (%L::kiln->''n'')::int8', v)) AS as_int8
FROM (SELECT n, kiln_encode('(n u64)', jsonb_build_object('n', n)) AS v
	FROM unnest(ARRAY[0, 9223372036854775807, 9223372036854775808, 18446744073709551615]) AS n) AS t;
-- unsigned numbers have an unsigned order
SELECT string_agg(v->>'n', ' < ' ORDER BY v->'n') FROM (SELECT kiln_encode('(n u64)', jsonb_build_object('n', n)) AS v
	FROM unnest(ARRAY[18446744073709551615, 1, 9223372036854775808, 0, 9223372036854775807]) AS n) AS t;
-- decimals are rounded once
SELECT * FROM doors('f64', '12345678901234567890.123456789', '0.1000000000000000055', '9007199254740993',
	'1.7976931348623157e308');

-- A whole number in any spelling, and nothing but a whole number. case 2
SELECT * FROM doors('i64', '2.5', '1e3', '9223372036854775807.0', '"12,abc"', '"10 mins"', '"1 "', '""', '"-"', 'true',
	'1e-1', '"1e3"', '[1]');

-- NaN and the infinities are strings in JSON, as core has them, and come back from it. case 3
SELECT v::jsonb, kiln_encode('p(x f64,y f32,n numeric)', v::jsonb) = v AS back, kiln_encode('p(x f64,y f32,n numeric)',
	v::json) = v AS by_json,
	v::jsonb = to_jsonb(r) AS as_core
FROM (SELECT r, kiln_encode('p(x f64,y f32,n numeric)', r) AS v
	FROM (SELECT f::float8 AS x, f::float4 AS y, f::numeric AS n FROM unnest(ARRAY['NaN', 'Infinity',
		'-Infinity']) AS f) AS r) AS t;
SELECT * FROM doors('i32', '"NaN"', '"Infinity"');

-- Floats are bit-identical through text, under every setting. jsonb alone loses the sign of -0.0. case 4
CREATE TABLE floats AS SELECT kiln_encode('p(x f64,y f32,l f64[],m f32[])', r) AS v, kiln_tensor(r.l) AS t,
	kiln_tensor(r.m, dtype => 'f32') AS u
	FROM (SELECT x, y, ARRAY[x, -x, 1 / 3.0] AS l, ARRAY[y, -y] AS m
		FROM (VALUES (0.1::float8 + 0.2, 1.2345679::float4), (5e-324, 16777217), (2.2250738585072014e-308, 1e-45),
			(216237.00000035969, '-0'),
			('-0', 'NaN'), ('NaN', '-Infinity'), (1e23, 3.4028235e38)) AS f (x, y)) AS r;
CREATE FUNCTION floats_under(setting text, OUT records bigint, OUT f64 bigint, OUT f32 bigint,
	OUT texts text) LANGUAGE plpgsql AS $$
BEGIN
	PERFORM set_config('extra_float_digits', setting, true);
	SELECT count(*) FILTER (WHERE hex(v) = hex(v::text::kiln)), count(*) FILTER (WHERE hex(t) = hex(t::text::kiln)),
		count(*) FILTER (WHERE hex(u) = hex(u::text::kiln)), md5(string_agg(concat(v, t, u), ' ' ORDER BY hex(v)))
	INTO records, f64, f32, texts FROM floats;
END $$;
SELECT setting, records, f64, f32, texts = (floats_under('1')).texts AS same_text FROM unnest(ARRAY['1', '0', '3',
	'-15']) AS setting,
	floats_under(setting);
SELECT v::text, kiln_encode('(x f64)', v::jsonb)::text AS by_jsonb FROM (SELECT '{"$kiln": "(x f64)", "x": -0.0}'::kiln
	AS v) AS t;

-- Narrowing has one answer: never infinity, never zero, one rounding. case 6
SELECT * FROM doors('f32', '1e39', '3.4028236e38', '3.4028234e38', '1e-50', '"NaN"', '1.00000017881393432617187499');
SELECT x, left(attempt(format('SELECT kiln_tensor(ARRAY[%L]::float8[], dtype => ''f32'')', x)), 90) AS tensor,
	left(attempt(format('SELECT kiln_encode(''(v f32)'', r) FROM (SELECT %L::float8 AS v) AS r', x)), 90) AS record,
	left(attempt(format('SELECT ''{"$kiln": "tensors", "": {"dtype": "f32", "shape": [1], "data": [%s]}}''::kiln', x)),
		90) AS text
FROM unnest(ARRAY['1e39', '3.4028236e38', '1e-50', '-1e39']) AS x;

-- Huge exponents and endless digits cost nothing. case 7
SELECT clock_timestamp() AS began \gset
SELECT * FROM doors('i64', '1e131071', '1e-16383');
SELECT * FROM doors('f64', '1e100000', '1e-10000');
SELECT door('text', 'i64', '1e999999999'), door('text', 'f64', '1e-999999999'), door('encode json', 'i64', repeat('9',
	1000000)),
	door('text', 'numeric', '1e999999999'), door('text', 'f32', '1e999999999');
SELECT clock_timestamp() - :'began' < interval '20 seconds' AS at_once;

------------------------------------------------------------------------
-- Strings and bytes
------------------------------------------------------------------------

-- NUL is refused in strings at every door and kept in bytes; the six characters are just characters. case 9
SELECT way, door(way, 'string', '"a\u0000b"'), door(way, 'dict<i32>', '{"\u0000": 1}'), door(way, 'string',
	'"a\\u0000b"'),
	door(way, 'bytes', '"\\x610062"') FROM ways ORDER BY way;
SELECT v->>'v' AS text, v::jsonb->>'v' = v->>'v' AS jsonb, v::text::kiln = v AS back, kiln_encode('(v string)',
	v::jsonb)->>'v' = v->>'v' AS by_jsonb
FROM (SELECT '{"$kiln": "(v string)", "v": "a\\u0000b"}'::kiln AS v) AS t;

-- Surrogates come in pairs, wherever JSON comes from. case 11
SELECT * FROM doors('string', '"\ud83d\ude00"', '"\ud800"', '"\udc00"', '"\ude00\ud83d"', '"\ud83d\ud83d"',
	'"\ud83d\u0041"');

-- Bytes that are no UTF-8 are refused in strings, in lists of them, in dict keys, in names of fields, schemas and
-- tensors. case 12
CREATE FUNCTION span(bytes bytea) RETURNS text LANGUAGE sql AS $$
	SELECT encode(substr(int8send((octet_length(bytes)::int8 << 56)), 1, 1) || '\x000000' || bytes, 'hex') $$;
CREATE FUNCTION door_binary(definition bytea, payload text) RETURNS text LANGUAGE sql AS $$
	SELECT left(attempt(format('SELECT kiln_from_frame(%L)', '\x12' || span(definition) || payload)), 5) $$;
CREATE FUNCTION directory(name bytea) RETURNS text LANGUAGE sql AS $$
	SELECT left(attempt(format('SELECT kiln_from_frame(%L)',
		overlay(overlay(overlay(kiln_frame(kiln_tensor('{1}'::float8[], 'n'))
		PLACING set_byte('\x0000', 0, octet_length(name)) FROM 4 + 64 + 18 + 1) PLACING name
			FROM 4 + 64 + 32 + 1) PLACING '\x' FROM 1))), 5) $$;
SELECT bad, door_binary('string', span(bad)) AS string, door_binary('string[]',
	'02000000' || span('ok') || span(bad)) AS list,
	door_binary('dict<string>', '01000000' || span(bad) || span('ok')) AS key, door_binary('p(a string,b i32)',
		span(bad) || '00000000') AS field,
	door_binary('p("' || bad || '" i8)', '00') AS name, door_binary('enum(''' || bad || ''')', '0000') AS label,
		directory(bad) AS tensor,
	door_binary('bytes', span(bad)) LIKE '{"$k%' AS bytes
FROM unnest(ARRAY['\xf080', '\xc080', '\xeda080', '\xf4908080', '\xff', '\x61e282', '\x80',
	'\xf8888080']::bytea[]) AS bad;
-- what is well-formed is taken in all these places
SELECT door_binary('string', span(good)) || door_binary('dict<string>', '01000000' || span(good) || span('ok')) ||
	door_binary('p("' || good || '" i8)', '00') || directory(good) = repeat('{"$ki', 4) AS taken
FROM unnest(ARRAY['\x20', '\xc3a9', '\xe282ac', '\xf09f9880']::bytea[]) AS good;

-- uuid: network order, core's spellings, unsigned order. case 16
SELECT * FROM doors('uuid', '"01020304-0506-0708-090a-0b0c0d0e0f10"', '"{01020304-0506-0708-090A-0B0C0D0E0F10}"',
	'"0102030405060708090A0b0c0d0e0f10"',
	'"01020304-0506-0708-090a-0b0c0d0e0f1"', '"01020304-0506-0708-090a-0b0c0d0e0f10 "', '1');
SELECT substr(kiln_frame(v), 6 + 8) = uuid_send(u) AS bytes, (v->'u')::uuid = u AS back, kiln_get_uuid(v,
	'u') = (v::jsonb->>'u')::uuid AS jsonb
FROM (SELECT u, kiln_encode('(u uuid)', r) AS v FROM (SELECT '01020304-0506-0708-090a-0b0c0d0e0f10'::uuid AS u) AS r) AS
	t;
SELECT string_agg(left(v->>'u', 2), ' ' ORDER BY v) AS by_record, string_agg(left(v->>'u', 2),
	' ' ORDER BY v->'u') AS by_field
FROM (SELECT kiln_encode('(u uuid)', jsonb_build_object('u', rpad(u, 32, '0'))) AS v FROM unnest(ARRAY['ff', '0f', '7f',
	'80', '00']) AS u) AS t;

------------------------------------------------------------------------
-- Time
------------------------------------------------------------------------

-- Infinite, BC and far-future times: exact, in order, and core's JSON of them is read. case 14
CREATE TABLE times (n serial, t timestamptz, d date, v kiln);
INSERT INTO times (t, d) VALUES ('-infinity', '-infinity'), ('4713-01-01 00:00:00+00 BC', '4713-01-01 BC'),
	('0044-03-15 00:00:00+00 BC', '0044-03-15 BC'),
	('1969-12-31 23:59:59.999999+00', '1969-12-31'), ('294276-12-31 23:59:59.999999+00', '5874897-12-31'), ('infinity',
		'infinity');
UPDATE times SET v = kiln_encode('p(t timestamptz,d date,z timestamp)', r) FROM (SELECT n AS m, t, d,
	t AT TIME ZONE 'UTC' AS z FROM times) AS q,
	LATERAL (SELECT q.t, q.d, q.z) AS r WHERE m = n;
SELECT v::jsonb FROM times ORDER BY n;
SET timezone = 'America/St_Johns';
SET datestyle = 'SQL, DMY';
SELECT n, hex(v::text::kiln) = hex(v) AS text, kiln_from_frame(kiln_frame(v)) = v AS binary,
	kiln_encode('p(t timestamptz,d date,z timestamp)', jsonb_build_object('t', t, 'd', d, 'z',
		t AT TIME ZONE 'UTC')) = v AS core_json,
	(v->'t')::timestamptz = t AND (v->'d')::date = d AND (v->'z')::timestamp = t AT TIME ZONE 'UTC' AS cast,
	v::jsonb->'d' = to_jsonb(d) AND v::jsonb->'z' = to_jsonb(t AT TIME ZONE 'UTC') AS as_core
FROM times ORDER BY n;
SELECT string_agg(n::text, '' ORDER BY v->'t'), string_agg(n::text, '' ORDER BY v->'d'), string_agg(n::text,
	'' ORDER BY v->'z') FROM times;
RESET timezone;
RESET datestyle;
SELECT * FROM doors('timestamptz', '"294277-01-01T00:00:00Z"', '"4714-11-23T23:59:59Z BC"', '"2024-02-30T00:00:00Z"',
	'"infinity"', '"epoch"', '0');
SELECT * FROM doors('date', '"5874898-01-01"', '"4714-11-23 BC"', '"2024-02-30"', '"-infinity"', '"yesterday"');

------------------------------------------------------------------------
-- Absent, null, empty, zero; keys
------------------------------------------------------------------------

-- What is not set differs from what is set to nothing, everywhere. case 17
CREATE TABLE sets AS SELECT n, kiln_encode('p(a i32?,s string?,l i32[]?,d dict<i32>?,b bytes?,f f64?,r (x i32?)?)',
	j::jsonb) AS v
FROM (VALUES (1, '{}'), (2, '{"a": 0}'), (3, '{"s": ""}'), (4, '{"l": []}'), (5, '{"d": {}}'), (6, '{"b": "\\x"}'), (7,
	'{"f": 0}'), (8, '{"r": {}}'),
	(9, '{"a": 0, "s": "", "l": [], "d": {}, "b": "\\x", "f": 0, "r": {}}')) AS t (n, j);
SELECT n, v::jsonb, num_nonnulls(kiln_get(v, 'a'), kiln_get(v, 's'), kiln_get(v, 'l'), kiln_get(v, 'd'), kiln_get(v,
	'b'), kiln_get(v, 'f'), kiln_get(v, 'r')) AS set,
	num_nonnulls(v->'a', v->'s', v->'l', v->'d', v->'b', v->'f', v->'r') AS arrow,
	v ? 'a' AS has_a, hex(v::text::kiln) = hex(v) AND
		kiln_encode('p(a i32?,s string?,l i32[]?,d dict<i32>?,b bytes?,f f64?,r (x i32?)?)', v::jsonb) = v AS back
FROM sets ORDER BY n;
SELECT count(DISTINCT v), count(DISTINCT v::text), count(DISTINCT v::jsonb), count(DISTINCT kiln_hash_value_extended(v,
	0)) FROM sets;

-- null, the word null, and a missing key are three things in a dict; null for what is always there says where. case 18
SELECT count(DISTINCT v), string_agg(v->>'d', ' ' ORDER BY n) FROM (SELECT n, kiln_encode('(d dict<string?>)',
	j::json) AS v
	FROM (VALUES (1, '{"d": {"a": null}}'), (2, '{"d": {"a": "null"}}'), (3, '{"d": {"a": "NULL"}}'), (4,
		'{"d": {}}')) AS t (n, j)) AS u;
SELECT * FROM doors('(s (a i32?)?)', '{"s": null}', '{"s": {}}', '{}', 'null');
SELECT * FROM doors('i32?[]', '[1, null, 2]');
SELECT way, d, attempt(format('SELECT kiln_encode(%L, %L::%s)', d, j, way)) FROM (VALUES ('(r (n i32))',
	'{"r": {"n": null}}'),
	('(l i32[])', '{"l": [1, null]}'), ('(d dict<i32>)', '{"d": {"a.b": null}}')) AS t (d, j), unnest(ARRAY['text',
		'json', 'jsonb']) AS way;

-- A key stands once, in values and in definitions; names are case-sensitive. jsonb has kept the last before anybody can
-- see. case 19
SELECT * FROM doors('(a i32)', '{"a": 1, "a": 2}', '{"a": 1, "A": 2}', '{"A": 1}');
SELECT * FROM doors('dict<i32>', '{"x": 1, "x": 2}', '{"x": 1, "X": 2}');
SELECT door_binary('dict<i8>', '02000000' || span('x') || '01' || span('x') || '02'), door_binary('dict<i8>',
	'02000000' || span('x') || '01' || span('y') || '02');
SELECT attempt(format('SELECT kiln_register(%L)', d)) FROM unnest(ARRAY['p(a i32,a i64)', 'p(a i32,"a" i32)',
	U&'p("\00e9" i8,"e\0301" i8)',
	'p(e enum(''x'',''x''))']) AS d;
SELECT kiln_definition(kiln_encode('p(a i32,"A" i32)', '{"a": 1, "A": 2}'));

SELECT 1 AS still_here;
RESET search_path;
DROP SCHEMA cases_values CASCADE;
