-- Encoding SQL values: kiln_encode() and the assignment casts to kiln.

CREATE SCHEMA encode_test;
SET search_path = encode_test, public;
SET client_min_messages = warning;

-- the payload of a value that is not inline, and the whole frame
CREATE FUNCTION payload(v kiln) RETURNS text LANGUAGE sql AS $$ SELECT encode(substr(kiln_send(v), 10), 'hex') $$;
CREATE FUNCTION frame(v kiln) RETURNS text LANGUAGE sql AS $$ SELECT encode(kiln_send(v), 'hex') $$;
-- the payload of an inline value: behind the head, the definition's length and the definition
CREATE FUNCTION inline_payload(v kiln, definition text) RETURNS text LANGUAGE sql AS $$
	SELECT encode(substr(kiln_send(v), 6 + octet_length(definition)), 'hex')
$$;

-- A record, by column name: the golden message of 44 bytes, whatever the order of the columns. case 1
SELECT kiln_register('enc_message(a bool,b bool,x i32,y i32,id i64,score f64,s string,t string)') AS hash \gset
CREATE TABLE staging (t text, s varchar(20), id bigint, score float8, a bool, gone int, b bool, x int, y int);
ALTER TABLE staging DROP COLUMN gone;
INSERT INTO staging VALUES ('world', 'hello', 9007199254740993, 0.1, true, false, -1, 2);
SELECT payload(kiln_encode('enc_message', r)) = '0100' || 'ffffffff' || '02000000' || '0100000000002000' ||
	'9a9999999999b93f' || '05000000' || '68656c6c6f' || '05000000' || '776f726c64' AS golden,
	substr(frame(kiln_encode('enc_message', r)), 1, 2) AS kind,
	octet_length(kiln_send(kiln_encode('enc_message', r))) AS bytes
FROM staging r;

-- The schema: a name, name#hash, #hash, or a definition in full, which is interned if it is registered
SELECT frame(kiln_encode('enc_message', r)) = ALL (ARRAY[
	frame(kiln_encode('enc_message#' || :'hash', r)),
	frame(kiln_encode('#' || :'hash', r)),
	frame(kiln_encode('enc_message(a boolean, b bool, x int, y int4, id bigint, score float8, s text, t varchar)', r))])
FROM staging r;
SELECT substr(frame(kiln_encode('enc_other(f1 i32)', ROW(7))), 1, 2) AS kind,
	inline_payload(kiln_encode('enc_other(f1 i32)', ROW(7)), 'enc_other(f1 i32)') AS payload;
SELECT attempt($$SELECT kiln_encode('enc_nothing',
	ROW(1))$$) ~ '^42... . kiln schema enc_nothing is not registered' AS unknown;
SELECT attempt($$SELECT kiln_encode('enc_other(f1 i32', ROW(1))$$) LIKE '42601%' AS syntax;

-- NULL gives NULL
SELECT kiln_encode(NULL, r) IS NULL, kiln_encode('enc_message', NULL::staging) IS NULL,
	kiln_encode('enc_message', NULL::jsonb) IS NULL, kiln_encode('enc_message', NULL::json) IS NULL
FROM staging r;

-- Overloads: an untyped literal is JSON text; json and jsonb come to the same
SELECT frame(kiln_encode('enc_message', r)) = ALL (ARRAY[
	frame(kiln_encode('enc_message',
	'{"t":"world","s":"hello","id":9007199254740993,"score":0.1,"a":true,"b":false,"x":-1,"y":2}')),
	frame(kiln_encode('enc_message', to_json(r))),
	frame(kiln_encode('enc_message', to_jsonb(r))),
	frame(kiln_encode('enc_message', to_jsonb(r)::text))])
FROM staging r;

-- A column that the schema lacks would be lost, so it is an error; near names are hinted. case 39
SELECT attempt($$SELECT kiln_encode('enc_message', r) FROM (SELECT s.*, 1 AS extra FROM staging s) r$$);
SELECT attempt($$SELECT kiln_encode('p(score f64)', r) FROM (SELECT 1.5::float8 AS scroe) r$$);
SELECT attempt($$SELECT kiln_encode('p(score f64)', r) FROM (SELECT 1::float8 AS "Score") r$$);
-- a missing one takes the default, is absent, or is an error. cases 17, 39
SELECT inline_payload(kiln_encode('p(a i32,b i16=7,c i8?,d string=''x'')', r),
	'p(a i32,b i16=7,c i8?,d string=''x'')')
FROM (SELECT 1 AS a) r;
SELECT attempt($$SELECT kiln_encode('p(a i32,b i16)', r) FROM (SELECT 1 AS a) r$$);
-- NULL is no missing column: absent for an optional field, else an error. case 18
SELECT inline_payload(kiln_encode('p(a i32?,b string?)', r), 'p(a i32?,b string?)')
FROM (VALUES (NULL::int, NULL::text), (0, ''), (1, 'null')) r(a, b);
SELECT attempt($$SELECT kiln_encode('p(a i32=3)', r) FROM (SELECT NULL::int AS a) r$$);
-- one name twice. case 19
SELECT attempt($$SELECT kiln_encode('p(a i32)', r) FROM (SELECT 1 AS a, 2 AS a) r$$);
-- names are compared in NFC; the field's name is given composed, the column's decomposed
SELECT inline_payload(kiln_encode(U&'p("n\00e9" i8)', r), U&'p("n\00e9" i8)') FROM (SELECT 1::int2 AS U&"ne\0301") r;

-- Integers, at their limits. cases 1, 2
CREATE FUNCTION one(type text, value anyelement) RETURNS text LANGUAGE sql AS $$
	SELECT attempt(format('SELECT inline_payload(kiln_encode(%1$L, r), %1$L) FROM (SELECT %2$L::%3$s AS v) r',
		'(v ' || type || ')', value, format_type(pg_typeof(value)::oid, -1)))
$$;
SELECT type, value, one(type, value) FROM (VALUES
	('i8', -128::bigint), ('i8', 127), ('i8', -129), ('i8', 128),
	('i16', -32768), ('i16', 32767), ('i16', 32768),
	('i32', -2147483648), ('i32', 2147483647), ('i32', 2147483648),
	('i64', -9223372036854775808), ('i64', 9223372036854775807),
	('u8', 0), ('u8', 255), ('u8', 256), ('u8', -1),
	('u16', 65535), ('u16', 65536), ('u32', 4294967295), ('u32', 4294967296), ('u32', -1),
	('u64', 9223372036854775807), ('u64', -1),
	('f32', 16777217), ('f64', 9007199254740993), ('numeric', -9223372036854775808)) v(type, value);
SELECT one('i64', 7::smallint), one('i16', 7::integer), one('u32', 4294967295::oid), one('i32', 4294967295::oid);
-- numeric into integers: exactly, or not at all
SELECT type, value, one(type, value) FROM (VALUES
	('i64', 9223372036854775807.0), ('i64', 9223372036854775808), ('i64', 2.5), ('i64', -0.0), ('u64',
	18446744073709551615),
	('u64', 18446744073709551616), ('u64', -1), ('i8', 1e1), ('i8', 1e3), ('i64', 'NaN'), ('i64',
	'Infinity')) v(type, value);
-- floats into integers likewise
SELECT type, value, one(type, value) FROM (VALUES
	('i64', -9223372036854775808::float8), ('i64', 9223372036854775807), ('u64', 18446744073709549568), ('u64',
	18446744073709551616),
	('i32', 2.5), ('i32', -0.0), ('i32', 'NaN'), ('i32', 'Infinity'), ('i8', 128), ('u8', -1)) v(type, value);

-- Floats: kept bit for bit, narrowed with one rounding. cases 3, 4, 6
SELECT type, value, one(type, value) FROM (VALUES
	('f64', 0.1::float8), ('f64', '-0.0'), ('f64', 'NaN'), ('f64', 'Infinity'), ('f64', '-Infinity'), ('f64', 5e-324),
	('f32', 0.1), ('f32', 3.4028234663852886e38), ('f32', 3.4028236e38), ('f32', 1e39), ('f32', 1e-50), ('f32',
	'NaN'), ('f32', '-0.0'),
	('numeric', 0.1), ('numeric', 1e23), ('numeric', 1e-7), ('numeric', 'NaN'), ('numeric', '-Infinity'),
	('numeric', '-0.0')) v(type, value);
SELECT one('f32', 1.2345679::real), one('f64', 0.1::real), one('numeric', 0.1::real);
-- numeric: kept with its scale, rounded once into a float
SELECT type, value, one(type, value) FROM (VALUES
	('numeric', 1.00), ('numeric', -0.001), ('numeric', 0), ('numeric', 'NaN'), ('numeric', 'Infinity'),
	('f64', 0.1), ('f64', 12345678901234567890.123456789), ('f64', 'NaN'), ('f64', '-Infinity'), ('f64', 1e309),
	('f64', 1e-400),
	('f32', 1.00000017881393432617187499), ('f32', 1e39), ('f32', 1e-50)) v(type, value);

-- Strings and enum labels
CREATE TYPE mood AS ENUM ('sad', 'it''s ok', 'happy');
CREATE DOMAIN short AS varchar(5);
SELECT one('string', 'abc'::text), one('string', ''::varchar), one('string', 'ab  '::char(4)), one('string',
	'pg_class'::name),
	one('string', 'sad'::mood), one('string', 'dom'::short), one('string', 'x'::"char");
SELECT one('enum(''happy'',''sad'')', 'sad'::mood), one('enum(''happy'',''sad'')', 'happy'::text),
	one('enum(''happy'',''sad'')', 'sad'::char(5));
SELECT one('enum(''happy'',''sad'')', 'it''s ok'::mood);
SELECT one('enum(''happy'',''sad'')', 'Sad'::text);
-- an untyped NULL or literal in a row
SELECT inline_payload(kiln_encode('(f1 string,f2 string?)', ROW('lit', NULL)), '(f1 string,f2 string?)');

-- The rest, each into its own kind. cases 14, 16
SELECT one('bool', true), one('bytes', '\x6100ff'::bytea), one('bytes', ''::bytea);
SELECT one('uuid', '01020304-0506-0708-090A-0B0C0D0E0F10'::uuid);
SELECT one('date', '2000-01-01'::date), one('date', 'infinity'::date), one('date', '4714-11-24 BC'::date);
SELECT one('timestamp', '2000-01-01 00:00:00.000001'::timestamp), one('timestamp', '-infinity'::timestamp),
	one('timestamp', '294276-12-31 23:59:59.999999'::timestamp);
SELECT one('timestamptz', '2000-01-01 01:00:00+01'::timestamptz), one('timestamptz', 'infinity'::timestamptz);
SELECT one('json', ' {"a" : [1, 2]} '::json), one('json', '{"b": 1, "a": null}'::jsonb), one('json', 'null'::json);

-- What has no natural mapping says what to do, whether or not the value is NULL
SELECT one('i32', 'x'::text);
SELECT one('string', 5);
SELECT one('timestamp', '2000-01-01'::date);
SELECT one('uuid', 'x'::text);
SELECT one('bool', 1);
SELECT one('json', '1'::text);
SELECT one('string', '1 day'::interval);
SELECT one('i32[]', 5);
SELECT one('dict<i32>', 5);
SELECT one('(a i32)', 5);
SELECT attempt($$SELECT kiln_encode('p(a i32?)', r) FROM (SELECT NULL::text AS a) r$$);
SELECT attempt($$SELECT kiln_encode('i32[]', ROW(1))$$);

-- Arrays are lists: the lower bound is dropped, dimensions nest. case 59
SELECT one('f64[]', '{1,2}'::float8[]), one('f64[]', '{}'::float8[]), one('i32[]', '[5:6]={1,2}'::int[]);
SELECT one('i64[]', '{1,2}'::int[]), one('u32[]', '{1,4294967295}'::oid[]), one('i8[]', '{1,-1}'::int2[]),
	one('numeric[]', '{1.0,2}'::numeric[]);
SELECT one('f64[][]', '{{1,2},{3,4}}'::float8[]), one('i16[][]', '[2:2][5:6]={{1,2}}'::int[]), one('i16[][]',
	'{}'::int[]);
SELECT one('i16[][][]', '{{{1},{2}},{{3},{4}}}'::int2[]);
SELECT one('string[]', '{a,"",null}'::text[]);
SELECT one('string?[]', '{null,a,"",null,"null"}'::text[]), one('i32?[]', '{null,1}'::int[]), one('i32[]?',
	'{1}'::int[]);
SELECT one('f64[]', '{1,null}'::float8[]);
SELECT one('f64[]', '{{1,2},{3,4}}'::float8[]);
SELECT one('f64[][]', '{1,2}'::float8[]);
SELECT one('u8[]', '{1,256}'::int[]);
SELECT one('f64[]', '{a}'::text[]);
CREATE DOMAIN percent AS float8 CHECK (VALUE <= 100);
CREATE DOMAIN vector AS float8[];
SELECT one('f64[]', '{1,2}'::percent[]), one('f64[]', '{1}'::vector);
SELECT inline_payload(kiln_encode('(v f64[][])', r), '(v f64[][])') FROM (SELECT ARRAY['{1,2}'::vector,
	'{3}'::vector] AS v) r;
-- a packed list of numbers equals the same taken one by one
SELECT inline_payload(kiln_encode('(v i64[])', r), '(v i64[])') = inline_payload(kiln_encode('(v i64[])',
	to_jsonb(r)), '(v i64[])')
FROM (SELECT array_agg(i * 1000003) AS v FROM generate_series(1::bigint, 10000) i) r;

-- Composites are structs, at any depth
CREATE TYPE point2 AS (x float8, y float8);
CREATE TYPE shape AS (name text, points point2[], center point2, tags text[]);
SELECT frame(kiln_encode('(name string,center (x f64,y f64)?,points (x f64,y f64)[],tags string[])', r)) =
	frame(kiln_encode('(name string,center (x f64,y f64)?,points (x f64,y f64)[],tags string[])', to_jsonb(r)))
FROM (VALUES (ROW('a', ARRAY[ROW(1, 2), ROW(3, 4)]::point2[], ROW(0, 0)::point2, '{p,q}')::shape),
	(ROW('b', '{}', NULL, '{}')::shape)) v(r);
SELECT attempt($$SELECT kiln_encode('(c (x f64,y i32))', r) FROM (SELECT ROW(1, 2.5)::point2 AS c) r$$);
SELECT attempt($$SELECT kiln_encode('(p (x f64,y string)[])', r) FROM (SELECT ARRAY[ROW(1, 2)]::point2[] AS p) r$$);
SELECT attempt($$SELECT kiln_encode('(p (x f64)[])', r) FROM (SELECT ARRAY[ROW(1, 2)]::point2[] AS p) r$$);
SELECT attempt($$SELECT kiln_encode('(p (x f64,y f64)[])', r) FROM (SELECT ARRAY[ROW(1, 2), ROW(1,
	NULL)]::point2[] AS p) r$$);
-- rows of more than one type in one call
CREATE FUNCTION some_row(i int) RETURNS record LANGUAGE plpgsql AS $$
BEGIN
	IF i % 2 = 0 THEN
		RETURN ROW(i, 0)::encode_test.point2;
	END IF;
	RETURN r FROM (SELECT i::float8 AS y) r;
END $$;
SELECT inline_payload(kiln_encode('(x f64?,y f64?)', some_row(i)), '(x f64?,y f64?)') FROM generate_series(1, 4) i;
-- a row type that changes while a query runs
CREATE TYPE changing AS (a int);
CREATE FUNCTION changing_row(i int) RETURNS record LANGUAGE plpgsql AS $$
DECLARE
	r record;
BEGIN
	IF i = 1 THEN
		EXECUTE 'SELECT ROW(1)::encode_test.changing AS r' INTO r;
	ELSIF i = 2 THEN
		EXECUTE 'ALTER TYPE encode_test.changing ADD ATTRIBUTE b int';
		EXECUTE 'SELECT ROW(1, 2)::encode_test.changing AS r' INTO r;
	ELSE
		EXECUTE 'ALTER TYPE encode_test.changing DROP ATTRIBUTE a';
		EXECUTE 'SELECT ROW(3)::encode_test.changing AS r' INTO r;
	END IF;
	RETURN r.r;
END $$;
SELECT inline_payload(kiln_encode('(a i32?,b i32?)', changing_row(i)), '(a i32?,b i32?)') FROM generate_series(1, 3) i;

-- json, jsonb and kiln columns can fill any field
SELECT inline_payload(kiln_encode('(v (a i32,b string?))', r), '(v (a i32,b string?))')
	FROM (SELECT '{"b": "x", "a": 1}'::jsonb AS v) r;
SELECT inline_payload(kiln_encode('(v (a i32,b string?))', r), '(v (a i32,b string?))')
	FROM (SELECT '{"b": "x", "a": 1}'::json AS v) r;
SELECT inline_payload(kiln_encode('(v i32[])', r), '(v i32[])') FROM (SELECT '[1, 2]'::jsonb AS v) r;
SELECT one('dict<i8>', '{"bb": 2, "a": 1, "aa": 3}'::jsonb), one('dict<i8>', '{"bb": 2, "a": 1, "aa": 3}'::json);
SELECT one('i32?', 'null'::jsonb), one('i32?', 'null'::json), one('i32', '7'::jsonb), one('uuid',
	'"01020304-0506-0708-090a-0b0c0d0e0f10"'::json);
SELECT inline_payload(kiln_encode('(v (a i8)[])', r), '(v (a i8)[])') FROM (SELECT ARRAY['{"a": 1}',
	'{"a": 2}']::jsonb[] AS v) r;
SELECT inline_payload(kiln_encode('(v (a i8,b (c i8)[])[])', r), '(v (a i8,b (c i8)[])[])')
FROM (SELECT '[{"a": 1, "b": [{"c": 2}, {"c": 3}]}, {"b": [], "a": 4}]'::json AS v) r;
SELECT inline_payload(kiln_encode('(v (f1 i32))', r), '(v (f1 i32))') FROM (SELECT kiln_encode('q(f1 i32)',
	ROW(7)) AS v) r;
SELECT inline_payload(kiln_encode('(v json)', r), '(v json)') = encode('\x0b000000'::bytea || '{"f1": 777}',
	'hex') FROM (SELECT kiln_encode('q(f1 i32)', ROW(777)) AS v) r;
SELECT one('i32', 'null'::jsonb);
SELECT one('(a i32)', '{"a": "x"}'::jsonb);
SELECT one('(a i32)', '{"a": 1, "a": 2}'::json);
SELECT one('i32[]', '{"a": 1}'::jsonb);

-- jsonb reads as its text does, but for the text of a json field
CREATE TABLE documents (definition text, document text);
INSERT INTO documents VALUES
	('(a i32,b string?)', '{"b": "x", "a": 1}'), ('(a i32,b string?)', '{"a": 1, "b": null}'),
	('(a i32=5,b string?)', '{}'),
	('(a i32)', '{"a": 1e3}'), ('(a i32)', '{"a": "12"}'), ('(a i32)', '{"a": "12,abc"}'), ('(a i32)', '{"a": 2.5}'),
	('(a i32)', '{"a": true}'), ('(a i32)', '{"a": null}'), ('(a i32)', '{}'), ('(a i32)', '{"a": 1, "zz": 2}'),
	('(a i32)', '[1]'),
	('(a i32)', '1'), ('(a i32)', 'null'), ('(a i8)', '{"a": 128}'), ('i64', '9223372036854775807.0'), ('i64',
	'9223372036854775808'),
	('u64', '18446744073709551615'), ('u64', '-1'), ('f64', '"NaN"'), ('f64', '"-Infinity"'), ('f64', '"nan"'),
	('f64', '1e400'),
	('f64', '1e-400'), ('f64', '0.1000000000000000055'), ('f32', '1.00000017881393432617187499'), ('f32',
	'1e-50'), ('f64', '"0.5"'),
	('numeric', '1.00'), ('numeric', '"NaN"'), ('numeric', '1e3'), ('numeric', '"x"'), ('string',
	'"\u00e9\ud83d\ude00"'), ('string', '5'),
	('bool', 'true'), ('bool', '1'), ('bool', '"true"'), ('bytes', '"\\x6100ff"'), ('bytes', '"6100"'), ('bytes',
	'"\\x610"'),
	('uuid', '"01020304-0506-0708-090a-0b0c0d0e0f10"'), ('uuid', '"nope"'), ('date', '"0044-03-15 BC"'), ('date',
	'"infinity"'),
	('date', '"today"'), ('date', '"5874898-01-01"'), ('timestamp', '"2000-01-01T00:00:00.5"'), ('timestamptz',
	'"2000-01-01T00:00:00"'),
	('timestamptz', '"2000-01-01T00:00:00+01:00"'), ('enum(''a'',''b'')', '"b"'), ('enum(''a'',''b'')', '"c"'),
	('enum(''a'',''b'')', '1'),
	('json', '{"b": [1, null], "a": {}}'), ('json', 'null'), ('json?[]', '[null, 1]'), ('(j json,k json?)',
	'{"j": null, "k": null}'),
	('i32[]', '[]'), ('i32[]', '[1, 2, 3]'), ('i32[]', '[1, null]'), ('i32?[]', '[1, null]'), ('i32[][]',
	'[[], [1], [2, 3]]'),
	('i32[]', '{}'), ('dict<i32>', '{}'), ('dict<i32?>', '{"bb": 1, "c": 2, "aaa": 3, "": 4, "é": null}'),
	('dict<i32>', '[]'),
	('dict<(a i32)[]>', '{"y": [{"a": 1}], "x": []}'), ('dict<i32>', '{"a.b": null}'),
	('(s (x i32,t (y string?)[]))', '{"s": {"t": [{"y": "p"}, {}], "x": 1}}'), ('(s (x i32)[])',
	'{"s": [{"x": 1}, {"x": "no"}]}'),
	('(s (x i32)?)', '{"s": null}'), ('(s (x i32?)?)', '{"s": {}}');
SELECT definition, document, by_text FROM (
	SELECT definition, document,
		attempt(format('SELECT inline_payload(kiln_encode(%1$L, %2$L::text), %1$L)', definition,
		document)) AS by_text,
		attempt(format('SELECT inline_payload(kiln_encode(%1$L, %2$L::json), %1$L)', definition,
		document)) AS by_json,
		attempt(format('SELECT inline_payload(kiln_encode(%1$L, %2$L::jsonb), %1$L)', definition,
		document)) AS by_jsonb
	FROM documents) d
WHERE by_text IS DISTINCT FROM by_json OR split_part(by_text, ' | ', 1) IS DISTINCT FROM split_part(by_jsonb,
	' | ', 1);
SELECT definition, document, attempt(format('SELECT inline_payload(kiln_encode(%1$L, %2$L::jsonb), %1$L)',
	definition, document)) AS payload
FROM documents;
-- a row and the row as jsonb agree, too
SELECT count(*), count(*) FILTER (WHERE frame(kiln_encode(definition, r)) = frame(kiln_encode(definition,
	to_jsonb(r)))) AS same
FROM (SELECT '(i i32,n numeric,b bool?,s string,l f64[],u uuid,d date,t timestamp,z timestamptz,'
			'e enum(''x'',''y''),h (k i64)?)' AS definition, g AS i,
		(g * 1.10)::numeric AS n, nullif(g % 3 = 0, true) AS b, repeat('é', g % 5) AS s,
		ARRAY[g / 3.0, -g]::float8[] AS l, md5(g::text)::uuid AS u, '2000-01-01'::date + g AS d,
		'1999-12-31'::timestamp + g * interval '1 hour 1 microsecond' AS t,
		'1999-12-31'::timestamptz + g * interval '1 second' AS z,
		CASE WHEN g % 2 = 0 THEN 'x' ELSE 'y' END AS e, CASE WHEN g % 4 > 0 THEN jsonb_build_object('k', g) END AS h
	FROM generate_series(1, 500) g) q,
	LATERAL (SELECT q.i, q.n, q.b, q.s, q.l, q.u, q.d, q.t, q.z, q.e, q.h) r;

-- Huge numbers in few bytes are refused at once. case 7
SELECT attempt($$SELECT kiln_encode('(n i64)', '{"n": 1e131071}'::jsonb)$$) LIKE '22003%',
	attempt($$SELECT kiln_encode('(n i64)', '{"n": 1e-16383}'::jsonb)$$) LIKE '22___%',
	attempt($$SELECT kiln_encode('(x f64)', '{"x": 1e100000}'::jsonb)$$) LIKE '22003%',
	attempt($$SELECT kiln_encode('(x f64)', '{"x": 1e-10000}'::jsonb)$$) LIKE '22003%';
SELECT octet_length(kiln_send(kiln_encode('(n numeric)', '{"n": 1e131071}'::jsonb)));

-- Documents that are no JSON, or repeat a key. cases 18, 19
SELECT attempt($$SELECT kiln_encode('(a i32)', '{"a": 1')$$) LIKE '22P02%',
	attempt($$SELECT kiln_encode('(a i32)', '')$$) LIKE '22P02%';
SELECT attempt($$SELECT kiln_encode('(a i32)', '{"a": 1, "a": 1}'::json)$$);

-- The latest version of a name is looked up again when definitions come and go
SELECT kiln_register('enc_versions(a i32)') IS NOT NULL;
DO $$
DECLARE
	first kiln;
	second kiln;
	r record;
BEGIN
	FOR i IN 1..2 LOOP
		SELECT 1 AS a INTO r;
		IF i = 1 THEN
			first := kiln_encode('enc_versions', r);
			PERFORM kiln_register('enc_versions(a i32,b i32=2)');
		ELSE
			second := kiln_encode('enc_versions', r);
		END IF;
	END LOOP;
	IF encode_test.payload(first) <> '01000000' OR encode_test.payload(second) <> '0100000002000000' THEN
		RAISE 'first %, second %', encode_test.payload(first), encode_test.payload(second);
	END IF;
END $$;

-- Many schemas in one call
SELECT d, count(DISTINCT frame(kiln_encode(d, j))) FROM (VALUES ('(a i32)', 1), ('(a i64)', 2), ('(a i32)', 3),
	('(a numeric)', 4)) v(d, n),
	LATERAL jsonb_build_object('a', n) j GROUP BY d ORDER BY d;

-- Large and compressed columns
CREATE TABLE wide (s text, l int[], b bytea);
INSERT INTO wide SELECT repeat('é', 100000), array_agg(i), decode(repeat('00ff', 50000), 'hex')
	FROM generate_series(1, 20000) i;
SELECT octet_length(kiln_send(v)) = 5 + octet_length('(s string,l i32[],b bytes)') 
	+ 4 + 200000 + 4 + 80000 + 4 + 100000,
	inline_payload(v, '(s string,l i32[],b bytes)') = inline_payload(kiln_encode('(s string,l i32[],b bytes)',
	to_jsonb(r)), '(s string,l i32[],b bytes)')
FROM wide r, LATERAL kiln_encode('(s string,l i32[],b bytes)', r) v;

-- Assignment casts from json and jsonb: what text input makes of the text, with the column's type known
CREATE TABLE typed (m kiln(enc_versions));
INSERT INTO typed VALUES ('{"a": 1}'::json), ('{"a": 1}'::jsonb), ('{"a": 1, "b": 9}'::jsonb);
INSERT INTO typed SELECT jsonb_build_object('a', i) FROM generate_series(2, 3) i;
INSERT INTO typed VALUES ('{"a": 7, "$kiln": "enc_versions(a i32)"}'::jsonb);
SELECT frame(m) LIKE '11%' AS registered, payload(m) FROM typed;
SELECT attempt($$INSERT INTO encode_test.typed VALUES ('{"a": "x"}'::jsonb)$$) LIKE '22P02%';
SELECT attempt($$INSERT INTO encode_test.typed VALUES ('{"$kiln": "enc_other(a i32)", "a": 1}'::jsonb)$$) LIKE '42804%';
SELECT frame('{"$kiln": "i64", "$value": 5}'::jsonb::kiln) = frame('{"$kiln": "i64", "$value": 5}'),
	frame('[1, 2]'::json::kiln) = frame('[1, 2]'),
	frame('[1, 2]'::text::kiln) = frame('[1, 2]');

-- Assignment casts from scalars: inline values
SELECT frame(true::kiln) = '1204000000' || encode('bool', 'hex') || '01',
	frame((-2)::smallint::kiln) = '1203000000' || encode('i16', 'hex') || 'feff',
	frame(5::kiln) = '1203000000' || encode('i32', 'hex') || '05000000',
	frame(5::bigint::kiln) = '1203000000' || encode('i64', 'hex') || '0500000000000000',
	frame(1.5::real::kiln) = '1203000000' || encode('f32', 'hex') || '0000c03f',
	frame(1.5::float8::kiln) = '1203000000' || encode('f64', 'hex') || '000000000000f83f',
	frame(1.50::kiln) = '1207000000' || encode('numeric', 'hex') || '04000000' || encode('1.50', 'hex'),
	frame('01020304-0506-0708-090a-0b0c0d0e0f10'::uuid::kiln) = '1204000000' || encode('uuid',
	'hex') || '0102030405060708090a0b0c0d0e0f10',
	frame('2000-01-02'::date::kiln) = '1204000000' || encode('date', 'hex') || '01000000',
	frame('2000-01-01 00:00:00.000002'::timestamp::kiln) = '1209000000' || encode('timestamp',
	'hex') || '0200000000000000',
	frame('1999-12-31 23:59:59.999999+00'::timestamptz::kiln) = '120b000000' || encode('timestamptz',
	'hex') || 'ffffffffffffffff';
SELECT frame('-infinity'::date::kiln), frame('NaN'::numeric::kiln);

-- Rows whose columns come in the order of the fields are read where they lie: what comes out is what the same columns in another order give, and
-- what jsonb says of them. Strings with short and long headers at every alignment, empty ones, values of every width, optional ones there and not.
SELECT kiln_register('in_order(a bool, b i16, c string, d i64, e bytes, f i32, g string?, h f64, i date, j string, k timestamptz, l uuid?, m f32, n i64, o timestamp, p string, q i64?)');
CREATE TYPE in_order AS (a bool, b int2, c text, d int8, e bytea, f int4, g text, h float8, i date, j varchar, k timestamptz, l uuid, m float4, n int4, o timestamp, p text, q int2);
CREATE TYPE out_of_order AS (q int2, b int2, c text, d int8, e bytea, f int4, g text, h float8, i date, j varchar, k timestamptz, l uuid, m float4, n int4, o timestamp, p text, a bool);
CREATE TEMP TABLE in_order_rows AS SELECT ROW(n % 2 = 0, n::int2, repeat('c', n % 9), -n::int8 << 40, decode(repeat('e5', n % 7), 'hex'), n * 1000003, repeat('é', n % 5),
		n / 7.0::float8, '2024-02-28'::date + n, repeat('j', n % 131), '2024-01-01 00:00+00'::timestamptz + n * interval '7 hours', md5(n::text)::uuid,
		n / 3.0::float4, -n, '1999-12-31'::timestamp + n * interval '1 second', repeat('p', CASE WHEN n % 50 = 0 THEN 5000 ELSE n % 13 END),
		CASE WHEN n % 3 > 0 THEN n END)::in_order AS r FROM generate_series(1, 300) n;
SELECT count(*), count(*) FILTER (WHERE v = w) AS either_order, count(*) FILTER (WHERE v::jsonb - '{e,k,o}'::text[] = jsonb_strip_nulls(to_jsonb(r)) - '{e,k,o}'::text[]) AS as_jsonb,
	count(*) FILTER (WHERE kiln_get(v, 'e', NULL::bytea) = (r).e AND kiln_get(v, 'k', NULL::timestamptz) = (r).k AND kiln_get(v, 'o', NULL::timestamp) = (r).o) AS others
	FROM in_order_rows,
	kiln_encode('in_order', r) AS v,
	kiln_encode('in_order', ROW((r).q, (r).b, (r).c, (r).d, (r).e, (r).f, (r).g, (r).h, (r).i, (r).j, (r).k, (r).l, (r).m, (r).n, (r).o, (r).p, (r).a)::out_of_order) AS w;
SELECT attempt($$SELECT kiln_encode('in_order', jsonb_populate_record(r, '{"c": null}')) FROM in_order_rows LIMIT 1$$);

SELECT 1 AS still_here;
RESET search_path;
DROP SCHEMA encode_test CASCADE;
