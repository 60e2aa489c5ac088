-- kiln_upgrade and kiln_encode from a kiln value: values under a later definition, by field names.

SELECT kiln_register('ev(a i32, b string)') AS first;
CREATE TABLE ev(n int, v kiln(ev));
INSERT INTO ev VALUES (1, '{"a": 1, "b": "one"}'), (2, '{"a": -2, "b": ""}');
-- the latest version already: nothing changes
SELECT n, kiln_upgrade(v) = v AS same, kiln_version(v) FROM ev ORDER BY n;

-- A new version: a field is wider, one moves, two come.
SELECT kiln_register('ev(b string, a i64, c f64?, d string = ''new'')') AS second;
INSERT INTO ev VALUES (3, '{"a": 3, "b": "three", "c": 0.5}');
-- each value is read under its own definition; what a version lacks is NULL, never the default
SELECT n, kiln_version(v), v ->> 'a' AS a, v ->> 'b' AS b, v ->> 'c' AS c, v ->> 'd' AS d FROM ev ORDER BY n;
SELECT n, u, kiln_verify(u), kiln_version(u) FROM (SELECT n, kiln_upgrade(v) AS u FROM ev) AS t ORDER BY n;
-- a whole table; what is of the latest version is left alone
UPDATE ev SET v = kiln_upgrade(v) WHERE kiln_version(v) < 2;
SELECT n, kiln_version(v), v FROM ev ORDER BY n;

-- An inline value becomes a registered one.
SELECT kiln_upgrade('{"$kiln": "ev(a i8, b string)", "a": 5, "b": "x"}');
SELECT kiln_upgrade(kiln_portable(v)) = v AS same, hex(kiln_upgrade(kiln_portable(v))) = hex(v) AS identical FROM ev ORDER BY n;

-- A removed field is an error unless asked for, with the way to ask.
SELECT kiln_register('ev(a numeric, c f64?)') AS third;
SELECT attempt('SELECT kiln_upgrade(v) FROM ev WHERE n = 1');
SELECT n, kiln_upgrade(v, true), kiln_upgrade(v, drop_removed => true) = kiln_upgrade(v, true) FROM ev ORDER BY n;

-- One statement, values of several versions and several schemas.
SELECT kiln_register('ev2(x i8?)') AS other;
CREATE TEMP TABLE mixed AS
	SELECT v FROM ev UNION ALL SELECT '{"$kiln": "ev(a i32, b string)", "a": 1, "b": ""}' UNION ALL SELECT '{"$kiln": "ev2", "x": 1}';
SELECT kiln_upgrade(v, true) FROM mixed;
-- and a version that comes while a session has conversions at hand
CREATE FUNCTION ev_upgrade(v kiln) RETURNS kiln LANGUAGE plpgsql AS $$ BEGIN RETURN kiln_upgrade(v, true); END $$;
SELECT ev_upgrade('{"$kiln": "ev2(x i8?)", "x": 1}');
SELECT kiln_register('ev2(x i16, y bool = true)') AS later;
SELECT ev_upgrade('{"$kiln": "ev2(x i8?)", "x": 1}');

-- Defaults of every type are those of the definition.
SELECT kiln_register('ev3(a i32)') AS a, kiln_register($$ev3(a i32, b bool = true, c i8 = -128, d u64 = 18446744073709551615, e f32 = '1.5', f f64 = 'NaN',
	g string = 'it''s', h bytes = '\x00ff', i uuid = '00112233-4455-6677-8899-aabbccddeeff', j date = '2000-01-02',
	k timestamp = '2000-01-01T00:00:01', l timestamptz = '2000-01-01T00:00:01Z', m numeric = '1.50', n json = '{"x": [1]}', o enum('p', 'q') = 'q',
	r i32[] = '[1, 2]', s dict<bool> = '{"k": true}', t (u i8, v string?) = '{"u": 1}')$$) AS b;
SELECT kiln_upgrade('{"$kiln": "ev3(a i32)", "a": 1}') AS v \gset
SELECT :'v'::kiln, kiln_verify(:'v'::kiln);
-- JSON without a field that has a default takes the same; unknown keys and missing fields name their path
SELECT kiln_encode('ev3', '{"a": 1}'::jsonb) = :'v'::kiln AS same;
SELECT attempt($$SELECT kiln_encode('ev3', '{"b": true}'::jsonb)$$);
SELECT attempt($$SELECT kiln_encode('ev3', '{"a": 1, "zz": 1}'::jsonb)$$);

-- Presence, enums, nesting: what a value holds decides, and an error says where.
SELECT t.to_type, attempt(format('SELECT kiln_encode(%L, %L::kiln)', t.to_type, format('{"$kiln": %s, %s}', to_json(t.from_type), t.value)))
FROM (VALUES
	('(a i32?)', '(a i64)', '"a": 1'),
	('(a i32?)', '(a i64)', '"b": 1'),
	('(a i32?)', '(a i64)', '"a": null'),
	('(a i32?)', '(a i64 = 9)', '"a": null'),
	('(a i32)', '(a i64?)', '"a": 7'),
	('(a i32)', '(a f32)', '"a": 7'),
	('(a i32)', '(a string)', '"a": 7'),
	('(a i32)', '(a i32, b i32)', '"a": 7'),
	('(a (b i32[], c bool)?, d u8)', '(d i16, a (b i64[], c bool)?)', '"a": {"b": [1,2], "c": true}, "d": 1'),
	('(d i8, a (b i32[], c bool)?)', '(d f64, a (c bool, b numeric[])?)', '"a": {"b": [1,-2], "c": true}, "d": 1'),
	('(e enum(''a'',''b''))', '(e enum(''b'',''c''))', '"e": "b"'),
	('(e enum(''a'',''b''))', '(e enum(''b'',''c''))', '"e": "a"'),
	('(l dict<(e enum(''a'',''b'')[])>)', '(l dict<(e enum(''b'')[])>)', '"l": {"k": {"e": ["b","b"]}, "k.": {"e": ["b","a"]}}'),
	('(a i32?[])', '(a i32[])', '"a": [1,2]'),
	('(a i32?[])', '(a i32[])', '"a": [1,null]'),
	('(a i8)', 'dict<i8>', '"a": 1'),
	('(j json)', '(j json?)', '"j": null'),
	('(a f32)', '(a f64)', '"a": "NaN(0xffc00001)"')
) AS t(from_type, to_type, value);

-- Reordered and inserted fields are never read by position.
CREATE TEMP TABLE abcd(d text);
INSERT INTO abcd VALUES ('(a i32, b i32)'), ('(b i32, a i32)'), ('(a i32, x i32?, b i32)'), ('(a i64, b i32)');	-- case 35
SELECT f.d AS from_type, t.d AS to_type, attempt(format('SELECT kiln_encode(%L, kiln_encode(%L, %L::jsonb))::jsonb', t.d, f.d, '{"a": 1, "b": 2}'))
FROM abcd AS f, abcd AS t WHERE f.d <> t.d ORDER BY 1, 2;

-- Scalars convert by value, nameless JSON as its text.
SELECT kiln_encode('i16', '5'::kiln), kiln_encode('f64', '5'::kiln), kiln_encode('numeric', 2.50::kiln), kiln_encode('string', '"x"'::kiln),
	kiln_encode('date', '"2020-01-02"'::kiln), kiln_encode('ev2', '{"x": 1}'::kiln);
SELECT attempt($$SELECT kiln_encode('i8', '300'::kiln)$$);
SELECT attempt($$SELECT kiln_encode('i8', '2.5'::kiln)$$);
SELECT attempt($$SELECT kiln_encode('bool', '"true"'::kiln)$$);
SELECT attempt($$SELECT kiln_encode('i8', 'true'::kiln)$$);
SELECT attempt($$SELECT kiln_encode('ev2', '{"$kiln": "tensors"}'::kiln)$$);

-- What has no name, or no registered one, has no later version.
SELECT attempt($$SELECT kiln_upgrade('1'::kiln)$$);
SELECT attempt($$SELECT kiln_upgrade('{"$kiln": "(a i32)", "a": 1}'::kiln)$$);
SELECT attempt($$SELECT kiln_upgrade('{"$kiln": "tensors"}'::kiln)$$);
SELECT attempt($$SELECT kiln_upgrade('{"$kiln": "nobody(a i32)", "a": 1}'::kiln)$$);
SELECT kiln_upgrade(NULL) IS NULL AND kiln_upgrade(v, NULL) IS NULL AS strict FROM ev WHERE n = 1;

-- An unverified value is validated once its definition has come, and is then like any other.
BEGIN;
SELECT kiln_register('ev4(a i8)') AS hash;
SELECT hex(kiln_encode('ev4', '{"a": 1}'::jsonb)) AS frame \gset
ROLLBACK;
CREATE TEMP TABLE unverified AS
	SELECT kiln_from_frame(decode(:'frame', 'hex')) AS v UNION ALL SELECT kiln_from_frame(decode(:'frame' || '00', 'hex'));
SELECT kiln_verify(v), left(hex(v), 2) AS kind FROM unverified;
SELECT split_part(attempt('SELECT kiln_upgrade(v) FROM unverified LIMIT 1'), '|', 1);
SELECT kiln_register('ev4(a i8)') IS NOT NULL AS come;
SELECT left(hex(kiln_upgrade(v)), 2) AS kind, kiln_upgrade(v) FROM unverified LIMIT 1;
SELECT kiln_register('ev4(a i16)') IS NOT NULL AS later;
SELECT kiln_upgrade(v), kiln_verify(kiln_upgrade(v)) FROM unverified LIMIT 1;
SELECT attempt('SELECT kiln_upgrade(v) FROM unverified OFFSET 1');
SELECT attempt('SELECT kiln_encode(''ev4'', v) FROM unverified OFFSET 1');

-- Large values, fetched whole.
INSERT INTO ev SELECT 4, kiln_encode('ev(a i32,b string)', r) FROM (SELECT 4 AS a, repeat('x', 3000000) AS b) AS r;
SELECT kiln_encode('(b string, a f64)', v) -> 'a', length(kiln_encode('(b string, a f64)', v) ->> 'b') FROM ev WHERE n = 4;
SELECT kiln_upgrade(v, true) FROM ev WHERE n = 4;

-- What is of the latest version already is not stored again.
SELECT kiln_register('ev5(a i32, b string)') IS NOT NULL AS one, kiln_register('ev5(a i64, b string)') IS NOT NULL AS two;
CREATE TABLE ev_large(n int, v kiln);
INSERT INTO ev_large SELECT i, kiln_encode(CASE i WHEN 1 THEN 'ev5(a i32,b string)' ELSE 'ev5' END, r)
	FROM generate_series(1, 2) AS i, LATERAL (SELECT i AS a, repeat('x', 10000) AS b) AS r;
SELECT format('SELECT array_agg(DISTINCT chunk_id::text) AS chunks FROM %s', reltoastrelid::regclass) AS query FROM pg_class WHERE relname = 'ev_large' \gset
:query \gset before_
UPDATE ev_large SET v = kiln_upgrade(v);
:query \gset after_
SELECT cardinality(ARRAY(SELECT unnest(:'before_chunks'::text[]) INTERSECT SELECT unnest(:'after_chunks'::text[]))) AS kept;
UPDATE ev_large SET v = kiln_merge(kiln_upgrade(v), '{}');
:query \gset last_
SELECT n, kiln_version(v), v -> 'a', length(v ->> 'b') FROM ev_large ORDER BY n;
SELECT :'after_chunks'::text[] <@ :'last_chunks'::text[] AS kept;

DROP FUNCTION ev_upgrade;
DROP TABLE ev, ev_large, mixed, unverified;
SELECT kiln_forget(n) FROM unnest('{ev,ev2,ev3,ev4,ev5}'::text[]) AS n;
