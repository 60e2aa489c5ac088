-- The type as the server sees it: damaged bytes, limits, catalogs, memory, plans; and which functions take what they do
-- not expect.

CREATE SCHEMA cases_types;
SET search_path = cases_types, public;
SET client_min_messages = warning;

-- The SQLSTATE of a query, or what it answers
CREATE FUNCTION outcome(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	answer text;
BEGIN
	EXECUTE query INTO answer;
	RETURN answer;
EXCEPTION WHEN OTHERS THEN
	RETURN SQLSTATE;
END $$;
-- a u32 or u64 as it stands in a frame, and an inline frame
CREATE FUNCTION u32(n bigint) RETURNS bytea LANGUAGE sql AS $$
	SELECT decode(string_agg(lpad(to_hex((n >> shift) & 255), 2, '0'), '' ORDER BY shift), 'hex') FROM unnest(ARRAY[0,
		8, 16, 24]) AS shift $$;
CREATE FUNCTION u64(n numeric) RETURNS bytea LANGUAGE sql AS $$ SELECT u32((n % 4294967296)::bigint) || u32(div(n,
	4294967296)::bigint) $$;
CREATE FUNCTION inline_frame(definition text, payload bytea) RETURNS bytea LANGUAGE sql AS $$
	SELECT '\x12'::bytea || u32(octet_length(definition)) || convert_to(definition, 'UTF8') || payload $$;
CREATE FUNCTION admits(frame bytea) RETURNS text LANGUAGE sql AS $$ SELECT outcome(format('SELECT kiln_from_frame(%L)',
	frame)) $$;

-- One value of each type, and of each way to put types together
CREATE TABLE samples (definition text, json text, frame bytea, payload bytea);
INSERT INTO samples (definition, json) VALUES ('bool', 'true'), ('i8', '-1'), ('i16', '-2'), ('i32', '-3'), ('i64',
	'-4'), ('u8', '1'), ('u16', '2'),
	('u32', '3'), ('u64', '18446744073709551615'), ('f32', '0.5'), ('f64', '"NaN"'), ('string', '"abc"'), ('bytes',
		'"\\x0011"'),
	('uuid', '"01020304-0506-0708-090a-0b0c0d0e0f10"'), ('date', '"2024-02-29"'), ('timestamp',
		'"2024-02-29T01:02:03"'),
	('timestamptz', '"2024-02-29T01:02:03Z"'), ('numeric', '1.50'), ('json', '{"k": [1]}'), ('enum(''a'',''b'')',
		'"b"'), ('i32?[]', '[1, null]'),
	('f64[]', '[1, 2]'), ('string[]', '["a", "b"]'), ('dict<i32>', '{"a": 1, "b": 2}'), ('dict<string?>',
		'{"a": null, "b": "x"}'),
	('p(a i32,b string?,c (d f64,e bool[]),f dict<string>)',
		'{"a": 1, "b": "x", "c": {"d": 1, "e": [true]}, "f": {"k": "v"}}');
UPDATE samples SET frame = kiln_frame(kiln_encode(definition, json));
UPDATE samples SET payload = substr(frame, 6 + octet_length(definition));

------------------------------------------------------------------------
-- Damaged bytes
------------------------------------------------------------------------

-- No prefix of a value is a value, and nothing may follow one. case 22
SELECT definition, count(*) AS tried, string_agg(DISTINCT answer, ' ') AS answers FROM (
	SELECT definition, admits(inline_frame(definition, substr(payload, 1, n))) AS answer
	FROM samples, generate_series(0, octet_length(payload) - 1) AS n
	UNION ALL SELECT definition, admits(inline_frame(definition, payload || tail)) FROM samples,
		LATERAL (VALUES ('\x00'::bytea), ('\xff'), (payload)) AS t (tail)
	UNION ALL SELECT definition, admits(substr(frame, 1, n)) FROM samples, generate_series(0,
		octet_length(frame) - octet_length(payload) - 1) AS n) AS t
GROUP BY definition ORDER BY min(octet_length(definition)), definition;
-- a length that is one too small or too large
SELECT answer, count(*) FROM (SELECT admits(inline_frame(d, payload)) AS answer FROM (VALUES
	('string', u32(2) || 'abc'), ('string', u32(4) || 'abc'), ('bytes', u32(2) || 'abc'), ('bytes', u32(4) || 'abc'),
		('i32[]', u32(1) || u32(1) || u32(2)),
	('i32[]', u32(3) || u32(1) || u32(2)), ('string[]', u32(2) || u32(1) || 'a'), ('dict<u8>',
		u32(2) || u32(1) || 'a' || '\x01'),
	('dict<u8>', u32(0) || u32(1) || 'a' || '\x01'), ('(a string,b u8)', u32(1) || 'ab' || '\x01'), ('(a string,b u8)',
		u32(3) || 'ab' || '\x01'),
	('numeric', u32(3) || '1.50'), ('json', u32(1) || '{}')) AS v (d, payload)) AS t GROUP BY answer;
SELECT d, outcome(format('SELECT kiln_encode(%L, %L)', d, '1')) FROM unnest(ARRAY['p(a i32', 'p(a i32) x', 'p(a i32))',
	'p(a', 'i32[', 'i32[]]', 'dict<i32',
	'dict<i32>>', 'enum(''a''', 'p(a i32,)', '']) AS d;
WITH t AS (SELECT kiln_frame(kiln_tensor('{{1,2},{3,4}}'::float8[], 'w')) AS f)
SELECT string_agg(DISTINCT admits(substr(f, 1, n)), ' ') AS cuts, admits(f || '\x00') AS padded,
	admits(f || f) AS twice, admits(f) =
	'{"$kiln": "tensors", "w": {"dtype": "f64", "shape": [2,2], "data": [1,2,3,4]}}' AS whole
FROM t, generate_series(1, octet_length(f) - 1) AS n GROUP BY f;

-- Every byte of a value set to something else: refused, or a value like any other, which the text form brings back.
-- case 20
SELECT count(*) AS tried, count(*) FILTER (WHERE answer ~ '^(22P03|22021|22P02)$') AS refused,
	count(*) FILTER (WHERE answer !~ '^(22P03|22021|22P02)$' AND answer IS DISTINCT FROM 'true') AS wrong
FROM (SELECT
	outcome(format('SELECT (v::text::kiln = v AND kiln_verify(v) AND kiln_hash_value(v) IS NOT NULL
			AND v::jsonb IS NOT NULL)::text FROM kiln_from_frame(%L) AS v',
		set_byte(frame, n, b))) AS answer
	FROM samples, LATERAL generate_series(5 + octet_length(definition), octet_length(frame) - 1) AS n,
		LATERAL (SELECT DISTINCT unnest(ARRAY[0, 1, 2, 127, 128, 255, get_byte(frame, n) # 1, get_byte(frame,
			n) # 128])) AS bytes (b)) AS t;
SELECT outcome('SELECT ''\x11''::bytea::kiln') AS no_cast_from_bytea;

-- A count or length that lies asks for no memory, wherever it stands. case 24
SELECT d, n, admits(inline_frame(d, u32(n) || rest)) AS answer FROM (VALUES ('f64[]', '\x0000000000000000'::bytea),
	('i8[]', '\x00'), ('string', '\x61'),
	('bytes', '\x61'), ('dict<i8>', '\x000000000000'), ('string[]', '\x00000000'), ('(a i8)[]', '\x00'), ('i8?[]',
		'\x00'), ('i32[][]', '\x00000000'),
	('json', '\x7b7d'), ('numeric', '\x30')) AS v (d, rest), unnest(ARRAY[536870913, 1073741824, 2147483648, 4294967292,
		4294967295]) AS n
WHERE admits(inline_frame(d, u32(n) || rest)) <> '22P03';
SELECT n, admits('\x12' || u32(n) || 'i32' || u32(1)) FROM unnest(ARRAY[2147483648, 4294967295, 1048577, 0]) AS n;
-- a directory's count, total, offset, payload bytes, shape
CREATE FUNCTION damaged(place int, bytes bytea) RETURNS text LANGUAGE sql AS $$
	SELECT admits(overlay(kiln_frame(kiln_tensor('{1,2}'::float8[], 'w')) PLACING bytes FROM place + 5)) $$;
SELECT what, value, damaged(place, u64(value)) FROM (VALUES ('total', 16), ('offset', 64), ('bytes', 72), ('shape',
	88)) AS v (what, place),
	unnest(ARRAY[2305843009213693952, 9223372036854775808, 18446744073709551615, 18446744073709551608,
		4294967296]) AS value
WHERE damaged(place, u64(value)) <> '22P03';
SELECT n, damaged(12, u32(n)) FROM unnest(ARRAY[0, 2, 65537, 4294967295]) AS n;

-- Shapes whose product wraps are refused, whatever bytes are there. case 61
CREATE FUNCTION shaped(shape numeric[], bytes int) RETURNS text LANGUAGE sql AS $$
	SELECT admits('\x13000000'::bytea || 'KILNTDIR' || u32(1) || u32(1) || u64((192 + bytes)::numeric) ||
		decode(repeat('00', 40), 'hex') ||
		u64(192) || u64(bytes::numeric) || '\x01'::bytea || set_byte('\x00', 0,
			cardinality(shape)) || '\x000000000000' ||
		(SELECT string_agg(u64(s), '' ORDER BY n) FROM unnest(shape) WITH ORDINALITY AS t (s, n)) ||
		decode(repeat('00', 128 - 24 - 8 * cardinality(shape)), 'hex') || decode(repeat('00', bytes), 'hex')) $$;
SELECT shape, bytes, shaped(shape, bytes) FROM (VALUES ('{4294967296,4294967296}'::numeric[]),
	('{65536,65536,65536,65536}'), ('{2147483648,2}'),
	('{3,6148914691236517206}'), ('{18446744073709551615}'), ('{2,9223372036854775808}'),
		('{4294967296,0,4294967296}')) AS s (shape),
	unnest(ARRAY[0, 2, 8]) AS bytes
WHERE shaped(shape, bytes) NOT IN ('22P03', '54000');
SELECT left(shaped('{2,3}', 6), 12) AS sound, left(shaped('{0,3}', 0), 12) AS empty, shaped('{2,3}', 5) AS short;

-- No dimensions, none of something, and one: each shape is its own, in text, bytes and a directory of several. case 60
CREATE FUNCTION text_shape(shape text, data text) RETURNS kiln LANGUAGE sql AS $$
	SELECT format('{"$kiln": "tensors", "": {"dtype": "f64", "shape": %s, "data": %s}}', shape, data)::kiln $$;
SELECT shape, left(v::text, 80) AS text, kiln_from_frame(kiln_frame(v)) = v AND v::text::kiln = v AS back, kiln_shape(v),
	attempt(format('SELECT kiln_to_array(%L)', v)) AS array, octet_length(kiln_frame(v)) AS bytes
FROM (SELECT n, shape, text_shape(shape, data) AS v
		FROM (VALUES (1, '[]', '[1]'), (2, '[0]', '[]'), (3, '[1]', '[1]'), (4, '[2,0]', '[]'), (5, '[0,3]', '[]'),
			(6, '[1,1]', '[1]')) AS t (n, shape, data)) AS s
ORDER BY n;
SELECT count(DISTINCT v) AS distinct_shapes FROM (SELECT text_shape(shape, data) AS v
	FROM (VALUES ('[]', '[1]'), ('[0]', '[]'), ('[1]', '[1]'), ('[2,0]', '[]'), ('[0,3]', '[]')) AS t (shape, data)) AS s;
SELECT kiln_tensor('{}'::float8[]) = text_shape('[0]', '[]') AS empty_array,
	kiln_to_array(kiln_tensor('{}'::float8[])) = '{}' AS and_back;
-- empty ones share a place in a directory, the empty name among them
SELECT v, kiln_from_frame(kiln_frame(v)) = v AS back, octet_length(kiln_frame(v)) - 4 AS bytes
FROM (SELECT ('{"$kiln": "tensors", "": {"dtype": "i8", "shape": [0], "data": []}, "a": {"dtype": "f64", "shape": [2,0], '
	'"data": []}, "b": {"dtype": "i8", "shape": [], "data": [7]}, "c": {"dtype": "i8", "shape": [0,3], "data": []}}')::kiln
	AS v) AS t;
SELECT kiln_encode('(s string,b bytes,l i32[],d dict<i32>)', '{"s": "", "b": "\\x", "l": [], "d": {}}')::jsonb AS empty_fields;

------------------------------------------------------------------------
-- Limits: the last that fits comes back, the next is refused
------------------------------------------------------------------------

-- Depth, of definitions and of JSON, with a small stack too. case 27
CREATE FUNCTION nested(n int) RETURNS text LANGUAGE sql AS $$ SELECT repeat('(a ', n) || 'i8' || repeat(')', n) $$;
SELECT n, outcome(format('SELECT length(kiln_definition(kiln_encode(%L, %L)))', nested(n), repeat('{"a": ',
	n) || '1' || repeat('}', n))) FROM unnest(ARRAY[32, 33]) AS n;
CREATE FUNCTION deep() RETURNS TABLE (what text, outcome text) LANGUAGE sql AS $$
	VALUES ('definition', outcome(format('SELECT kiln_register(%L)', 'p' || nested(100000)))), ('open',
		outcome(format('SELECT kiln_register(%L)', 'p' || repeat('(a ', 100000)))),
		('dicts', outcome(format('SELECT kiln_encode(%L, ''1'')', repeat('dict<', 100000)))), ('lists',
			outcome(format('SELECT kiln_encode(%L, ''1'')', 'i8' || repeat('[]', 100000)))),
		('text', outcome(format('SELECT %L::kiln', repeat('[', 100000)))), ('objects', outcome(format('SELECT %L::kiln',
			repeat('{"a":', 100000)))),
		('typed', outcome(format('SELECT %L::kiln', '{"$kiln": "(a json)", "a": ' || repeat('[', 100000) || '}'))),
		('500', outcome(format('SELECT %L::kiln', repeat('[', 500) || repeat(']', 500)))), ('200',
			outcome(format('SELECT length((%L::kiln)::text)', repeat('[', 200) || repeat(']', 200)))),
		('32', outcome(format('SELECT length(kiln_encode(%L, %L)::text)', nested(32), repeat('{"a": ',
			32) || '1' || repeat('}', 32)))),
		('path', outcome(format('SELECT kiln_get(''[]'', %L)', repeat('[0]', 100000)))), ('binary',
			admits(inline_frame('json', u32(100000) || convert_to(repeat('[', 100000), 'UTF8')))) $$;
SELECT * FROM deep();
SET max_stack_depth = '100kB';
SELECT * FROM deep();
RESET max_stack_depth;

-- Fields, labels, names, counts. case 29
CREATE FUNCTION fields(n int) RETURNS text LANGUAGE sql AS $$ SELECT '(' || string_agg('f' || i || ' i8', ',') || ')'
	FROM generate_series(1, n) AS i $$;
CREATE FUNCTION field_values(n int) RETURNS jsonb LANGUAGE sql AS $$ SELECT jsonb_object_agg('f' || i, i % 100)
	FROM generate_series(1, n) AS i $$;
SELECT n, outcome(format('SELECT v::text::kiln = v AND kiln_get(v, %L) = %L FROM kiln_encode(%L, %L::jsonb) AS v',
	'f' || n, n % 100, fields(n), field_values(n)))
FROM unnest(ARRAY[255, 256, 257, 1600, 1601]) AS n;
SELECT n, outcome(format('SELECT kiln_encode(%L, ''{}'')', fields(n))) FROM unnest(ARRAY[32767, 32768, 65536]) AS n;
SELECT n, outcome(format('SELECT v::text::kiln = v AND v->>%L = ''1'' FROM kiln_encode(%L, %L) AS v', repeat('n', n),
	format('(%s i8)', repeat('n', n)),
	format('{"%s": 1}', repeat('n', n)))) AS field, outcome(format('SELECT kiln_register(%L) IS NOT NULL', repeat('n',
		n) || '(a i8)')) AS schema
FROM unnest(ARRAY[63, 64, 256, 65536]) AS n;
CREATE FUNCTION labels(n int) RETURNS text LANGUAGE sql AS $$ SELECT 'enum(' || string_agg(format('''%s''', i),
	',') || ')' FROM generate_series(1, n) AS i $$;
SELECT n, outcome(format('SELECT kiln_get(kiln_encode(%L, %L), '''') = %L', labels(n), format('"%s"', n), n))
	FROM unnest(ARRAY[256, 257, 65535, 65536]) AS n;
SELECT n, count(*) AS elements, bool_and(back) FROM unnest(ARRAY[65535, 65536, 65537, 131074]) AS n,
	LATERAL (SELECT kiln_encode('(l i16[],d dict<i8>)', jsonb_build_object('l', jsonb_agg(i % 32768), 'd',
		jsonb_object_agg('k' || i, 1))) AS v FROM generate_series(1, n) AS i) AS made,
	LATERAL (SELECT v::text::kiln = v AND kiln_from_frame(kiln_frame(v)) = v AND kiln_get(v, format('l[%s]',
		n - 1)) = (n % 32768)::text AND kiln_get(v, format('d.k%s', n)) = '1' AS back) AS b
GROUP BY n ORDER BY n;
SELECT rank, outcome(format('SELECT %L::kiln::text::kiln = %1$L::kiln',
	format('{"$kiln": "tensors", "": {"dtype": "i8", "shape": [%s], "data": [1]}}',
	(SELECT string_agg('1', ',') FROM generate_series(1, rank))))) FROM unnest(ARRAY[1, 8, 9, 33, 256]) AS rank;
SELECT n, v::text::kiln = v AND kiln_from_frame(kiln_frame(v)) = v AS back, octet_length(kiln_frame(v))
	FROM unnest(ARRAY[255, 65537]) AS n,
	LATERAL (SELECT ('{"$kiln": "tensors", ' || string_agg(format('"%s": {"dtype": "i8", "shape": [0], "data": []}', i),
		', ') || '}')::kiln AS v FROM generate_series(1, n) AS i) AS made;

------------------------------------------------------------------------
-- Definitions
------------------------------------------------------------------------

-- What means something else has another hash; what is spelled otherwise has the same. case 32
CREATE FUNCTION hash_of(definition text) RETURNS text LANGUAGE sql AS $$ SELECT kiln_register(definition) $$;
SELECT a, b, hash_of(a) <> hash_of(b) AS differ FROM (VALUES ('ct32(a i32,b i64)', 'ct32(b i64,a i32)'), ('ct32(a i32)',
	'ct32(a i64)'), ('ct32(a i32)', 'ct32(a i32?)'),
	('ct32(a i32=1)', 'ct32(a i32=2)'), ('ct32(a i64)', 'ct32(a timestamp)'), ('ct32(a i32?[])', 'ct32(a i32[])'),
		('ct32(a q(b i8))', 'ct32(a r(b i8))'),
	('ct32(a enum(''x'',''y''))', 'ct32(a enum(''y'',''x''))'), ('ct32(a i32[]?)', 'ct32(a i32?[])'), ('ct32(a i32)',
		'ct32b(a i32)'), ('ct32(a i32)', 'ct32("A" i32)')) AS v (a, b);
SELECT hash_of('ct32(a i32,b string=''x'')') = ALL (SELECT hash_of(d) FROM
	unnest(ARRAY[E'ct32 (\n\ta int4 ,-- one\n\tb text = ''x'' )', '"ct32"("a" INTEGER,"b" VARCHAR=''x'')',
	E'ct32(a i32,b string=''x'')-- end']) AS d) AS agree;
SELECT count(*) AS registered, count(*) FILTER (WHERE kiln_register(definition) = hash) AS again FROM kiln_schemas
	WHERE name LIKE 'ct32%';

-- Defaults are values of their type, read by its own rules when the definition is, and written where a field is
-- missing. case 39
SELECT d, v::jsonb->'v' AS value, kiln_definition(v) AS canonical, hash_of('ct39' || d) = hash_of('ct39' ||
	kiln_definition(v)) AS reads_back
FROM (SELECT d, kiln_encode(d, '{}') AS v FROM unnest(ARRAY['(v bytes=''\x00ff'')',
	'(v timestamp=''2024-02-29T00:00:00'')', '(v timestamptz=''2024-02-29T01:00:00+01'')',
	'(v uuid=''01020304-0506-0708-090a-0b0c0d0e0f10'')', '(v f64=''NaN'')', '(v f64=-1)',
		'(v i64=-9223372036854775808)', '(v u64=18446744073709551615)',
	'(v string=''it''''s "x"'')', '(v (a i32,b string?)=''{"a": 1}'')', '(v i32[]=''[1,2]'')',
		'(v dict<i8>=''{"b": 1, "a": 2}'')', '(v numeric=''1.50'')', '(v date=''infinity'')',
	'(v enum(''a'',''b'')=''b'')', '(v bool=true)', '(v json=''{"k": null}'')', '(v f32=''0.1'')']) AS d) AS t;
SELECT d, attempt(format('SELECT kiln_encode(%L, ''{}'')', d)) FROM unnest(ARRAY['(v i8=128)', '(v i8=''1'')',
	'(v bytes=''00'')', '(v uuid=''x'')', '(v date=''2024-02-30'')', '(v i32?=1)',
	'(v enum(''a'')=''b'')', '(v string=1)', '(v bool=1)', '(v i32[]=''[1,null]'')', '(v (a i32)=''{"b": 1}'')',
		'(v f64=x''00'')', '(v f32=''1e39'')']) AS d;
SELECT attempt('SELECT kiln_encode(''(a i32,b bytes=x''''00000000'''')'', ''{"a": 1, "zz": 1}'')'),
	attempt('SELECT kiln_encode(''(a i32,b i32=1)'', ''{}'')');

------------------------------------------------------------------------
-- What functions make of what they do not expect
------------------------------------------------------------------------

-- Every function and aggregate with a polymorphic argument, given values of all kinds of types: an answer or an error
-- of the user's, never an internal one. case 30
CREATE TYPE mood AS ENUM ('sad', 'ok');
CREATE DOMAIN percent AS float8 CHECK (VALUE <= 100);
CREATE TYPE pair AS (a int, b text);
CREATE TABLE odd_values (expression text);
INSERT INTO odd_values VALUES ('''abc'''), ('NULL'), ('cash_out(0::money)'), ('ROW(1, ''x'')'), ('ARRAY[]::int[]'),
	('1::percent'), ('''ok''::mood'), ('ROW(1, ''x'')::pair'),
	('point(1, 2)'), ('''n''::name'), ('''c''::"char"'), ('1::int2'), ('1.5::numeric'), ('NULL::int[]'),
		('ARRAY[NULL]::float8[]'), ('ARRAY[''a'']::text[]'), ('''[1,2]''::int4range'),
	('ARRAY[ROW(1, ''x'')::pair]'), ('''(1,1)''::tid'), ('''1 2''::int2vector'), ('B''101'''), ('''1 day''::interval'),
		('''{"a": 1}''::jsonb'), ('''{"$kiln": "p(a i32)", "a": 1}''::kiln'),
	('ARRAY[''1''::kiln]'), ('pg_sleep(0)'), ('''<a/>''::text'), ('''10.0.0.1''::inet'), ('ARRAY[1::percent]'),
		('ARRAY[[1, 2], [3, 4]]'), ('12::oid'), ('''pg_class''::regclass');
CREATE TABLE odd_calls AS
	SELECT p.oid::regprocedure AS function, p.prokind, v.expression,
		format('SELECT %s(%s)', p.oid::regproc, (SELECT string_agg(CASE
			WHEN t::regtype::text ~ '^"?any' THEN v.expression
			WHEN t = 'kiln'::regtype THEN '''{"$kiln": "p(a i32)", "a": 1}''::kiln' WHEN t = 'text'::regtype
				THEN '''a''::text' ELSE 'NULL::' || t::regtype END, ', ' ORDER BY n)
			FROM unnest(p.proargtypes) WITH ORDINALITY AS a (t, n))) AS query
	FROM pg_depend AS d JOIN pg_proc AS p ON p.oid = d.objid AND d.classid = 'pg_proc'::regclass, odd_values AS v
	WHERE d.refclassid = 'pg_extension'::regclass AND d.refobjid = (SELECT oid FROM pg_extension WHERE extname = 'kiln')
		AND EXISTS (SELECT FROM unnest(p.proargtypes) AS t WHERE t::regtype::text ~ '^"?any')
			AND NOT 'internal'::regtype = ANY (p.proargtypes::oid[]);
SELECT count(*) > 200 AS many, count(DISTINCT function) > 6 AS functions,
	count(*) FILTER (WHERE outcome(query) LIKE 'XX%') AS internal FROM odd_calls;
SELECT outcome(query) AS internal, query FROM odd_calls WHERE outcome(query) LIKE 'XX%' ORDER BY query;
-- in aggregates: DISTINCT, ORDER BY, FILTER, no rows
SELECT count(*) FILTER (WHERE outcome(call) LIKE 'XX%') AS internal FROM odd_calls,
	LATERAL (VALUES (regexp_replace(query, '\((.*)\)$', '(DISTINCT \1)')), (regexp_replace(query, '\((.*)\)$',
		'(\1 ORDER BY 1)')), (query || ' FILTER (WHERE false)')) AS c (call)
WHERE prokind = 'a';
-- functions of other signatures by their wrong types, and NULL everywhere
SELECT count(*) > 100 AS many, count(*) FILTER (WHERE outcome(query) LIKE 'XX%') AS internal FROM (
	SELECT format('SELECT %s(%s)', p.oid::regproc, (SELECT string_agg('NULL::' || CASE
		WHEN t::regtype::text LIKE 'any%array' THEN 'int[]' WHEN t::regtype::text ~ '^"?any' THEN 'int'
		ELSE t::regtype::text END, ', ' ORDER BY n) FROM unnest(p.proargtypes) WITH ORDINALITY AS a (t, n))) AS query
	FROM pg_depend AS d JOIN pg_proc AS p ON p.oid = d.objid AND d.classid = 'pg_proc'::regclass
	WHERE d.refclassid = 'pg_extension'::regclass AND d.refobjid = (SELECT oid FROM pg_extension WHERE extname = 'kiln')
		AND NOT 'internal'::regtype = ANY (p.proargtypes::oid[])
		AND p.proname NOT IN ('kiln_register', 'kiln_forget', 'kiln_fdw_validator')) AS t;

-- Planner support and estimators attached to what they were not made for. case 31
CREATE FUNCTION same_word(int, text) RETURNS boolean LANGUAGE sql AS $$ SELECT $1::text = $2 $$;
CREATE OPERATOR === (LEFTARG = int, RIGHTARG = text, FUNCTION = same_word, RESTRICT = matchingsel,
	JOIN = matchingjoinsel);
CREATE TABLE numbers AS SELECT i FROM generate_series(1, 100) AS i;
EXPLAIN (COSTS OFF) SELECT * FROM numbers WHERE i === '5';
-- our comparison and hash functions in an operator class of another type: what is no frame is damage, what is one compares
CREATE OPERATOR CLASS odd_bytes FOR TYPE bytea USING btree AS
	OPERATOR 1 <, OPERATOR 2 <=, OPERATOR 3 =, OPERATOR 4 >=, OPERATOR 5 >, FUNCTION 1 (bytea, bytea) kiln_cmp(kiln, kiln);
CREATE OPERATOR CLASS odd_hashes FOR TYPE bytea USING hash AS
	OPERATOR 1 =, FUNCTION 1 (bytea) kiln_hash_value(kiln);
CREATE FUNCTION indexed(x bytea) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	CREATE TEMP TABLE odd_frames AS SELECT x AS b UNION ALL SELECT kiln_frame('1') UNION ALL SELECT kiln_frame('"x"');
	CREATE INDEX ON odd_frames USING btree (b odd_bytes);
	CREATE INDEX ON odd_frames USING hash (b odd_hashes);
	DROP TABLE odd_frames;
	RETURN 'indexed';
EXCEPTION WHEN OTHERS THEN
	RETURN SQLSTATE;
END $$;
SELECT x, indexed(x) FROM unnest(ARRAY['\x', '\x00', '\x11', '\x12', '\x12ffffffff', '\x1203000000693634',
	'\x1203000000693634ff', '\x1206000000737472696e67ffffffff61', '\x12070000006e756d6572696303000000312e',
	'\x12070000006e756d6572696301000000ff', '\x12040000007575696400', '\x13', '\x13000000', '\x14', '\x1412345678'
	]::bytea[]) AS x;
SELECT indexed(kiln_frame(kiln_encode('(a i32)', '{"a": 1}'))) AS record, indexed(kiln_frame('5')) AS scalar;
-- which estimators our own operators have: core's
SELECT DISTINCT oprrest, oprjoin FROM pg_operator WHERE oprleft = 'kiln'::regtype AND oprrest <> 0 ORDER BY 1;
-- the support function takes only calls of our own functions for its own
CREATE FUNCTION foreign_call(int) RETURNS int LANGUAGE plpgsql IMMUTABLE SUPPORT kiln_getter_support AS $$ BEGIN RETURN
	$1 + 1; END $$;
CREATE FUNCTION foreign_call(jsonb) RETURNS text LANGUAGE plpgsql IMMUTABLE SUPPORT kiln_getter_support AS $$ BEGIN
	RETURN $1->>'a'; END $$;
CREATE FUNCTION foreign_call(kiln) RETURNS text LANGUAGE plpgsql IMMUTABLE SUPPORT kiln_getter_support AS $$ BEGIN
	RETURN $1->>'a'; END $$;
CREATE FUNCTION foreign_call() RETURNS int LANGUAGE plpgsql SUPPORT kiln_getter_support AS $$ BEGIN RETURN 7; END $$;
CREATE FUNCTION foreign_call(VARIADIC int[]) RETURNS int LANGUAGE plpgsql SUPPORT kiln_getter_support AS $$ BEGIN RETURN
	$1[1]; END $$;
SELECT foreign_call(i), foreign_call(jsonb_build_object('a', i)->'a'), foreign_call(kiln_encode('(a i32)',
	jsonb_build_object('a', i))), foreign_call(), foreign_call(i, i)
FROM generate_series(1, 2) AS i;
SELECT foreign_call(v->'a'), foreign_call((v->'b')) FROM (SELECT kiln_encode('(a (a i32),b (a i32)?)',
	jsonb_build_object('a', jsonb_build_object('a', i))) AS v FROM generate_series(1, 2) AS i) AS t;

------------------------------------------------------------------------
-- In the server
------------------------------------------------------------------------

-- Reading and comparing in parallel workers gives what one process gives. case 38
CREATE TABLE parallel_rows (n int, v kiln(message));
INSERT INTO parallel_rows SELECT i, kiln_encode('message', jsonb_build_object('a', true, 'b', false, 'x', i, 'y', -i,
	'id', i, 'score', i / 4.0, 's', 's' || i % 7, 't', repeat('t', i % 50)))
FROM generate_series(1, 5000) AS i;
ANALYZE parallel_rows;
CREATE FUNCTION digest(OUT rows bigint, OUT ids numeric, OUT texts text, OUT equal bigint) LANGUAGE sql AS $$
	SELECT count(*), sum((v->'id')::int8), md5(string_agg(v->>'s', '' ORDER BY n)),
		count(*) FILTER (WHERE v::text::kiln = v) FROM parallel_rows WHERE kiln_get(v, 's') <> 's3' $$;
SELECT digest()::text AS alone \gset
SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0; SET
	max_parallel_workers_per_gather = 2;
EXPLAIN (COSTS OFF) SELECT count(*), sum((v->'id')::int8) FROM parallel_rows WHERE kiln_get(v, 's') <> 's3';
SELECT digest()::text = :'alone' AS same;
SELECT count(*), sum((v->'id')::int8) FROM parallel_rows WHERE kiln_get(v, 's') <> 's3' AND v::text::kiln = v;
RESET parallel_setup_cost; RESET parallel_tuple_cost; RESET min_parallel_table_scan_size; RESET
	max_parallel_workers_per_gather;

-- Memory: what a query takes does not grow with its rows. case 42
CREATE TABLE big_rows AS SELECT n, kiln_encode('(n i64,s string,b bytes)', jsonb_build_object('n', n % 1000, 's',
	md5(n::text) || repeat('x', 4000), 'b', '\x00')) AS v
FROM generate_series(1, 4000) AS n;
CREATE FUNCTION memory_of(query text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	rows refcursor;
	before bigint := (SELECT sum(used_bytes) FROM pg_backend_memory_contexts);
	after bigint;
BEGIN
	OPEN rows FOR EXECUTE query;
	MOVE FORWARD ALL IN rows;
	-- the executor's memory is still there, sorts and hash tables among it
	after := (SELECT sum(used_bytes) FROM pg_backend_memory_contexts);
	CLOSE rows;
	RETURN after - before;
END $$;
SET work_mem = '1MB';
SELECT what, memory_of(query) < 4000000 AS flat FROM (VALUES
	('order', 'SELECT n FROM (SELECT n, v FROM big_rows ORDER BY v OFFSET 0) AS t'), ('group',
		'SELECT count(*) FROM (SELECT DISTINCT v FROM big_rows) AS t'),
	('compare', 'SELECT count(*) FROM big_rows AS a JOIN big_rows AS b ON b.n = a.n + 1 WHERE a.v < b.v'), ('merge',
		'SELECT count(*) FROM big_rows AS a JOIN big_rows AS b USING (v)'),
	('get', 'SELECT kiln_get(v, ''s''), v->>''s'', v->''s'' FROM big_rows'), ('hash',
		'SELECT sum(kiln_hash_value(v)) FROM big_rows'), ('text', 'SELECT max(length(v::text)) FROM big_rows'),
	('jsonb', 'SELECT max(length(v::jsonb::text)) FROM big_rows'), ('encode',
		'SELECT max(octet_length(kiln_frame(kiln_encode(''(n i64,s string,b bytes)'', v::jsonb)))) FROM big_rows')) AS q
		(what, query);
RESET work_mem;

-- Everything that clients and the executor look for is there. case 44
SELECT typname, typsend, typreceive, typanalyze, typlen, typalign FROM pg_type WHERE oid IN ('kiln'::regtype,
	'kiln[]'::regtype) ORDER BY 1;
SELECT definition, kiln_from_frame(kiln_send(kiln_encode(definition, json))) = kiln_encode(definition, json) AS binary
	FROM samples WHERE
	kiln_from_frame(kiln_send(kiln_encode(definition, json))) IS DISTINCT FROM kiln_encode(definition, json);
SELECT type, bool_and(kiln_from_frame(kiln_send(v)) = v AND hex(v) = hex(v::text::kiln)) FROM (VALUES ('i8', '-128',
	'127'), ('i16', '-32768', '32767'), ('i32', '-2147483648', '2147483647'),
	('i64', '-9223372036854775808', '9223372036854775807'), ('u8', '0', '255'), ('u16', '0', '65535'), ('u32', '0',
		'4294967295'), ('u64', '0', '18446744073709551615'),
	('f32', '-3.4028235e38', '1e-45'), ('f64', '-1.7976931348623157e308', '5e-324'), ('date', '"4714-11-24 BC"',
		'"5874897-12-31"'),
	('timestamp', '"4714-11-24T00:00:00 BC"', '"294276-12-31T23:59:59.999999"'), ('numeric', '-1e131071',
		'1e-16383')) AS t (type, least, most), unnest(ARRAY[least, most]) AS x,
	LATERAL kiln_encode(type, x) AS v GROUP BY type ORDER BY type;
SELECT count(*) FROM (SELECT v FROM big_rows WHERE n <= 10 UNION SELECT v FROM big_rows WHERE n <= 20) AS t;
SELECT count(*) FROM (SELECT v FROM big_rows WHERE n <= 10 INTERSECT SELECT v FROM big_rows WHERE n BETWEEN 6
	AND 20) AS t;
SELECT ARRAY['1'::kiln, '"x"'] = ARRAY['{"$kiln": "f64", "$value": 1}'::kiln, '"x"'] AS arrays,
	ROW('1'::kiln) < ROW('2'::kiln) AS rows, '2'::kiln IN ('1', '2') AS listed;

-- Equal values fall into one group with every plan, NaN of any bits and zeros of either sign among them. case 48
CREATE TABLE zeros AS SELECT n, kiln_from_frame(inline_frame('f64', bits)) AS v FROM (VALUES (1,
	'\x0000000000000000'::bytea), (2, '\x0000000000000080'), (3, '\x000000000000f87f'),
	(4, '\x000000000000f8ff'), (5, '\x010000000000f87f'), (6, '\x000000000000f07f'), (7, '\x010000000000f07f')) AS t (n,
		bits);
SELECT count(DISTINCT v) FROM zeros;
SET enable_hashagg = off;
SELECT count(*), string_agg(ns, ' ' ORDER BY ns) FROM (SELECT array_agg(n ORDER BY n)::text AS ns
	FROM zeros GROUP BY v) AS t;
RESET enable_hashagg;
SET enable_sort = off;
SELECT count(*), string_agg(ns, ' ' ORDER BY ns) FROM (SELECT min(n) || '…' || max(n) AS ns FROM zeros GROUP BY v) AS t;
RESET enable_sort;
SET enable_nestloop = off; SET enable_mergejoin = off;
SELECT count(*) AS by_hash FROM zeros AS a JOIN zeros AS b USING (v);
RESET enable_mergejoin; SET enable_hashjoin = off;
SELECT count(*) AS by_merge FROM zeros AS a JOIN zeros AS b USING (v);
RESET enable_hashjoin; SET enable_mergejoin = off; RESET enable_nestloop;
SELECT count(*) AS by_loop FROM zeros AS a JOIN zeros AS b ON a.v = b.v;
RESET enable_mergejoin;
SELECT outcome('CREATE UNIQUE INDEX ON zeros (v)') AS "unique";

-- One value has one form: keys of a dict in the order of their bytes, whoever wrote them; no normal form for keys and
-- strings. case 50
SELECT count(DISTINCT hex(v)) AS forms, min(v::text) FROM (
	SELECT kiln_encode('dict<i32>', '{"b": 2, "aa": 3, "a": 1, "B": 0}'::json) UNION ALL SELECT kiln_encode('dict<i32>',
		'{"B": 0, "a": 1, "aa": 3, "b": 2}'::jsonb)
	UNION ALL SELECT '{"$value": {"aa": 3, "b": 2, "B": 0, "a": 1}, "$kiln": "dict<i32>"}'
		UNION ALL SELECT kiln_from_frame(kiln_frame(kiln_encode('dict<i32>',
		'{"a": 1, "B": 0, "b": 2, "aa": 3}')))) AS t (v);
SELECT admits(inline_frame('dict<i8>', u32(2) || u32(1) || 'b' || '\x02' || u32(1) || 'a' || '\x01')) AS unsorted;
SELECT kiln_keys(kiln_encode('dict<i8>', U&'{"e\0301": 1, "\00e9": 2, "f": 3, "B": 4, "10": 5, "9": 6, "-1": 7}')) AS
	key;
SELECT kiln_encode('(a i32=5)', '{}') = kiln_encode('(a i32=5)', '{"a": 5}') AS default_or_said;

-- Order is that of unsigned bytes; between definitions that of their hashes, whichever came first. case 51
SELECT string_agg(encode((v->'b')::bytea, 'hex'), ' ' ORDER BY v->'b') AS bytes, string_agg(encode((v->'b')::bytea,
	'hex'), ' ' ORDER BY v) AS records
FROM (SELECT kiln_encode('(b bytes)', jsonb_build_object('b', b)) AS v FROM unnest(ARRAY['\xff', '\x7f', '\x80',
	'\xc3a9', '\x']) AS b) AS t;
SELECT string_agg(kiln_get(v, ''), ' ' ORDER BY v) FROM (SELECT kiln_encode('u8[]', j::text) AS v
	FROM unnest(ARRAY['[1, 2, 3]', '[1, 2]', '[255]', '[1]', '[]', '[127, 128]']) AS j) AS t;
SELECT string_agg(kiln_hash(v), ' ' ORDER BY v) = string_agg(kiln_hash(v), ' ' ORDER BY kiln_hash(v)) AS by_hash
FROM (SELECT kiln_encode(d, '{"a": 1}') AS v FROM unnest(ARRAY['(a i8)', '(a i16)', '(a i32)', '(a u8)',
	'(a f64)']) AS d) AS t;

SELECT 1 AS still_here;
RESET search_path;
DROP SCHEMA cases_types CASCADE;
SELECT sum(kiln_forget(name)) > 0 AS forgotten FROM (SELECT DISTINCT name FROM kiln_schemas WHERE name LIKE 'ct3%'
	OR name LIKE 'nnn%') AS t;
