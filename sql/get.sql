-- Reading fields: kiln_get and its family, operators, paths, what the planner makes of them.

CREATE TABLE get_doc (id int, d kiln);
INSERT INTO get_doc VALUES (1, '{"$kiln": "doc(b bool, i8 i8, u64 u64, f32 f32, f64 f64, s string, y bytes, u uuid, d date, ts timestamp, tz timestamptz, n numeric, j json, e enum(''red'',''green''), o i32?, l i32[], m dict<string>, r (x i64, \"odd.name\" string)?, q (a i32?)[])",
	"b": true, "i8": -5, "u64": 18446744073709551615, "f32": 0.1, "f64": -0.0, "s": "é\"\\", "y": "\\x00ff",
	"u": "01020304-0506-0708-090A-0B0C0D0E0F10", "d": "2024-02-29", "ts": "2024-02-29T12:00:00.5", "tz": "2024-02-29T12:00:00+02",
	"n": 1.50, "j": {"k": [1, {"z": null}], "s": "text"}, "e": "green", "l": [10, 20, 30], "m": {"a.b": "x", "": "empty"},
	"r": {"x": 9007199254740993, "odd.name": "odd"}, "q": [{"a": 1}, {}]}');

-- Every scalar as text, and every scalar by its type
SELECT p, kiln_get(d, p) FROM get_doc, unnest(ARRAY['b', 'i8', 'u64', 'f32', 'f64', 's', 'y', 'u', 'd', 'ts', 'tz', 'n', 'j', 'e',
	'o', 'l', 'm', 'r', 'q']) AS p;
SELECT kiln_get_bool(d, 'b'), kiln_get_int8(d, 'i8'), kiln_get_float8(d, 'f64'), kiln_get_float8(d, 'f32'),
	kiln_get_numeric(d, 'u64'), kiln_get_numeric(d, 'n'), kiln_get_numeric(d, 'f32'), kiln_get_text(d, 's') FROM get_doc;
SELECT kiln_get_bytea(d, 'y'), kiln_get_uuid(d, 'u'), kiln_get_date(d, 'd'), kiln_get_timestamp(d, 'ts'),
	kiln_get_timestamptz(d, 'tz') AT TIME ZONE 'UTC' AS tz, kiln_get_jsonb(d, 'j'), kiln_get_json(d, 'r') FROM get_doc;
SELECT kiln_get(d, 'i8', NULL::int2), kiln_get(d, 'b', NULL::bool), kiln_get(d, 's', NULL::varchar), kiln_get(d, 'n', NULL::numeric),
	kiln_get(d, 'u64', NULL::numeric), kiln_get(d, 'd', NULL::date), kiln_get(d, 'r', NULL::jsonb), kiln_get(d, 'l', NULL::int4[])
FROM get_doc;

-- NULL: absent, out of range, missing key, NULL arguments
SELECT kiln_get(d, 'o'), kiln_get_int8(d, 'o'), kiln_get(d, 'l[3]'), kiln_get(d, 'l[-4]'), kiln_get(d, 'm.nosuch'),
	kiln_get(d, 'q[1].a'), kiln_get(d, 'q[7].a'), kiln_get(d, NULL), kiln_get(NULL::kiln, 'b'), kiln_get(d, NULL, NULL::int)
FROM get_doc;

-- What does not convert, and numbers that do not fit
SELECT q, attempt(format('SELECT %s FROM get_doc', q)) FROM unnest(ARRAY[
	'kiln_get_int8(d, ''u64'')', 'kiln_get_int8(d, ''s'')', 'kiln_get_int8(d, ''l'')', 'kiln_get_bool(d, ''i8'')',
	'kiln_get_date(d, ''ts'')', 'kiln_get_bytea(d, ''s'')', 'kiln_get(d, ''u64'', NULL::int4)', 'kiln_get(d, ''s'', NULL::point)',
	'kiln_get_uuid(d, ''s'')', 'kiln_get_numeric(d, ''b'')', 'kiln_get_timestamptz(d, ''ts'')']) AS q;

-- Paths: quoting, positions from the end, dict keys by bytes, into json; what is malformed, unknown or can't apply
SELECT kiln_get(d, 'l[0]'), kiln_get(d, 'l[-1]'), kiln_get(d, 'm."a.b"'), kiln_get(d, 'm.""'), kiln_get(d, 'r."odd.name"'),
	kiln_get(d, 'q[0].a'), kiln_get(d, 'j.k[0]'), kiln_get(d, 'j.k[1].z'), kiln_get(d, 'j.s'), kiln_get_int8(d, 'j.k[0]') FROM get_doc;
SELECT p, attempt(format('SELECT kiln_get(d, %L) FROM get_doc', p)) FROM unnest(ARRAY['.', 'l[', 'l[x]', 'a..b', '"u', 'nosuch', 'i9', 'r.y',
	'l.x', 'b.x', 'm[0]', '[0]', 'o.x']) AS p;
SELECT kiln_get(d, '') = d::json::text AS whole FROM get_doc;

-- Operators: one literal step, positions, arrays of steps; presence
SELECT d->'r'->>'x', d->'m'->>'a.b', d->'l'->>0, d->'l'->>-1, d->'l'->>5, (d->'q'->0->'a')::int, d->>'s', d #>> '{q,0,a}', d #>> '{j,k,0}',
	d #>> '{r,"odd.name"}', d #> '{}' = d AS same, d #>> '{l,-1}' FROM get_doc;
SELECT d->'r', d->'q', d->'o' FROM get_doc;
SELECT d ? 'o' AS absent, d ? 'b' AS present, (d->'m') ? 'a.b' AS key, (d->'m') ? 'z' AS no_key FROM get_doc;
SELECT attempt('SELECT d->''nosuch'' FROM get_doc'), attempt('SELECT d->0 FROM get_doc'), attempt('SELECT d ? ''bb'' FROM get_doc');

-- A column that mixes definitions and versions: each value is read by its own. A field that only another version has is NULL. case 35
SELECT kiln_register('ver(a i32, b i32)') IS NOT NULL, kiln_register('ver(b i32, a i32)') IS NOT NULL,
	kiln_register('ver(a i32, x i32?, b i32)') IS NOT NULL, kiln_register('ver(a i64, b i32, c string?)') IS NOT NULL;
CREATE TABLE get_mixed (i int, v kiln(ver));
INSERT INTO get_mixed VALUES
	(1, '{"$kiln": "ver(a i32,b i32)", "a": 1, "b": 2}'), (2, '{"$kiln": "ver(b i32,a i32)", "a": 1, "b": 2}'),
	(3, '{"$kiln": "ver(a i32,x i32?,b i32)", "a": 1, "b": 2, "x": 3}'), (4, '{"a": 1, "b": 2, "c": "c"}'),
	(5, '{"$kiln": "ver(z i16,a i16,b i16)", "a": 1, "b": 2, "z": 0}');
INSERT INTO get_mixed SELECT i + 5 * n, v FROM get_mixed, generate_series(1, 40) AS n;
SELECT kiln_get_int8(v, 'a') AS a, kiln_get_int4(v, 'b') AS b, (v->>'a')::int AS t, count(*) FROM get_mixed GROUP BY 1, 2, 3;
SELECT i, kiln_version(v), kiln_get(v, 'x') AS x, kiln_get(v, 'c') AS c FROM get_mixed WHERE i <= 5 ORDER BY i;
SELECT attempt('SELECT kiln_get(v, ''d'') FROM get_mixed WHERE i = 1');
SELECT i, attempt(format('SELECT kiln_get(v, ''z'') FROM get_mixed WHERE i = %s', i)) FROM generate_series(4, 5) AS i;

-- The path may change from row to row, and in plpgsql between calls of one expression
SELECT kiln_get(d, p) FROM get_doc, (VALUES ('i8'), ('s'), ('i8'), ('l[0]'), (NULL), ('s')) AS paths (p);
DO $$
DECLARE
	doc kiln := (SELECT d FROM get_doc);
	p text;
	n int;
BEGIN
	FOREACH p IN ARRAY ARRAY['b', 'i8', 'e'] LOOP
		RAISE NOTICE '% = %', p, kiln_get(doc, p);
	END LOOP;
	FOR n IN 0..2 LOOP
		RAISE NOTICE '% = %', n, doc->'l'->>n;
	END LOOP;
END $$;

-- The planner makes one call of a chain, and either spelling finds an index on the other
CREATE TABLE get_many (m kiln(message));
INSERT INTO get_many SELECT kiln_encode('message', format('{"a": true, "b": false, "x": %s, "y": 0, "id": %s, "score": 0.5, "s": "s%s", "t": ""}', g % 10, g, g))
FROM generate_series(1, 2000) AS g;
EXPLAIN (COSTS OFF, VERBOSE) SELECT (m->'id')::int8, m->>'s', (m->'x')::int4, kiln_get(m, 't') FROM get_many;
EXPLAIN (COSTS OFF, VERBOSE) SELECT (d->'r'->'x')::int8, (d->'q'->0->'a')::int4, d->'m'->>'a.b', d->'l'->>2 FROM get_doc;
CREATE INDEX get_many_id ON get_many (kiln_get_int8(m, 'id'));
CREATE INDEX get_many_s ON get_many ((m->>'s'));
ANALYZE get_many;
SET enable_seqscan = off;
EXPLAIN (COSTS OFF) SELECT * FROM get_many WHERE (m->'id')::int8 = 77;
EXPLAIN (COSTS OFF) SELECT * FROM get_many WHERE kiln_get_int8(m, 'id') = 77;
EXPLAIN (COSTS OFF) SELECT * FROM get_many WHERE kiln_get(m, 's') = 's77';
EXPLAIN (COSTS OFF) SELECT * FROM get_many WHERE m->>'s' = 's77';
SELECT m->>'id' FROM get_many WHERE (m->'id')::int8 = 77 AND kiln_get(m, 's') = 's77';
RESET enable_seqscan;

-- Dropped from memory with the statement: a prepared accessor sees a definition go and come back. case 34
SELECT kiln_register('shortlived(a i32)') IS NOT NULL;
CREATE TABLE get_short (v kiln);
INSERT INTO get_short VALUES ('{"$kiln": "shortlived", "a": 5}');
PREPARE read_short AS SELECT kiln_get_int4(v, 'a') FROM get_short;
EXECUTE read_short;
SELECT kiln_forget('shortlived');
SELECT attempt('EXECUTE read_short');
SELECT v FROM get_short;
SELECT kiln_register('shortlived(a i32)') IS NOT NULL;
EXECUTE read_short;

-- Steps into json: a position for arrays, a key for objects, as jsonb's -> has it; under #> a key may be a position
SELECT d->'j'->'k'->0, d->'j'->'k'->'0' AS no_key, d->'j'->0 AS no_position, d->'j'->'k'->1->'z' AS null_inside, kiln_get(d, 'j.k.0') AS bare, kiln_get(d, 'j.k[0]') AS position,
	d #> '{j,k,0}' AS loose, d #>> '{j,k,-1}' AS last, kiln_get(d, 'j.s.t') AS into_scalar FROM get_doc;
SELECT v->0, v->'0', v->1->>'a', v #>> '{1,a}', kiln_get(v, '[1].a'), v->>2, v->-1 FROM (VALUES ('[1, {"a": "x"}, null]'::kiln)) AS t (v);
