-- kiln_agg: values of one definition as one list.

-- 100 reference messages are 4,404 bytes of payload behind the frame's head.
CREATE TEMP TABLE sent AS
	SELECT i, kiln_encode('message', r) AS m
	FROM generate_series(1, 100) AS i,
		LATERAL (SELECT i % 2 = 0 AS a, false AS b, i AS x, -i AS y, i::int8 AS id, i / 4.0::float8 AS score,
			'hello' AS s, 'world' AS t) AS r;
SELECT kiln_definition(l), octet_length(kiln_frame(l)) - 5 - octet_length(kiln_definition(l)) AS payload, kiln_verify(l)
FROM (SELECT kiln_agg(m ORDER BY i) AS l FROM sent) AS a;

-- Order and elements.
SELECT kiln_get_int8(l, '[0].id'), kiln_get(l, '[99].score'), kiln_get(l, '[-2].id'), kiln_get(l, '[100].id')
FROM (SELECT kiln_agg(m ORDER BY i DESC) AS l FROM sent) AS a;
SELECT i % 3 AS g, kiln_agg(m ORDER BY i)::jsonb = jsonb_agg(m::jsonb ORDER BY i) AS same FROM sent GROUP BY 1 ORDER BY 1;
SELECT kiln_agg(DISTINCT m)::jsonb -> 0 ->> 'id' FROM (SELECT m FROM sent UNION ALL SELECT m FROM sent) AS d;

-- kiln_unnest is the inverse, and aggregating its elements gives the list again.
SELECT count(*), bool_and(hex(e) = hex(kiln_portable(m))) AS same
FROM (SELECT kiln_agg(m ORDER BY i) AS l FROM sent) AS a, kiln_unnest(l) WITH ORDINALITY AS u(e, n) JOIN sent ON sent.i = u.n;
SELECT hex(kiln_agg(e ORDER BY n)) = hex(l) AS same
FROM (SELECT kiln_agg(m ORDER BY i) AS l FROM sent) AS a, kiln_unnest(l) WITH ORDINALITY AS u(e, n) GROUP BY l;

-- As a window function.
SELECT i, (kiln_agg(m -> 'x') OVER (ORDER BY i ROWS 2 PRECEDING))::jsonb FROM sent WHERE i < 5 ORDER BY i;

-- Any type: scalars, lists, structs without a name.
SELECT kiln_agg(v ORDER BY n), kiln_agg(v ORDER BY n DESC) -> 0 FROM (VALUES (1, '1'::kiln), (2, '2'), (3, '3')) AS t(n, v);
SELECT kiln_agg(v) FROM (VALUES ('{"$kiln": "(a i32[])", "a": [1,2]}'::kiln), ('{"$kiln": "(a i32[])", "a": []}')) AS t(v);
SELECT kiln_agg(v) FROM (VALUES ('{"$kiln": "string?[]", "$value": ["x",null]}'::kiln)) AS t(v);

-- A definition by hash and in full is one.
SELECT kiln_agg(v) = kiln_agg(kiln_portable(v)) AS same FROM (
	SELECT m FROM sent WHERE i = 1 UNION ALL SELECT kiln_portable(m) FROM sent WHERE i = 1) AS t(v);
SELECT kiln_get(kiln_agg(v ORDER BY n), '[1].id') FROM (
	SELECT 2, m FROM sent WHERE i = 7 UNION ALL SELECT 1, kiln_portable(m) FROM sent WHERE i = 1) AS t(n, v);

-- No rows: NULL. A NULL among them is an error that says what to do.
SELECT kiln_agg(m) IS NULL AS none FROM sent WHERE i > 100;
SELECT attempt('SELECT kiln_agg(CASE WHEN i <> 2 THEN m END) FROM sent');
SELECT kiln_agg(v) FILTER (WHERE v IS NOT NULL) FROM (VALUES ('1'::kiln), (NULL), ('2')) AS t(v);

-- Definitions do not mix; versions are brought to one first.
SELECT attempt($$SELECT kiln_agg(v) FROM (VALUES ('1'::kiln), ('"x"')) AS t(v)$$);
SELECT kiln_register('agg_v(a i32)') IS NOT NULL;
CREATE TEMP TABLE mixed(v kiln(agg_v));
INSERT INTO mixed VALUES ('{"a": 1}');
SELECT kiln_register('agg_v(a i64, b string?)') IS NOT NULL;
INSERT INTO mixed VALUES ('{"a": 2, "b": "x"}');
SELECT attempt('SELECT kiln_agg(v) FROM mixed');
SELECT kiln_agg(kiln_upgrade(v) ORDER BY v -> 'a') FROM mixed;

-- Tensors and unverified values are no elements; nor may the list's definition be too deep.
SELECT attempt($$SELECT kiln_agg('{"$kiln": "tensors"}'::kiln)$$);
SELECT attempt($$SELECT kiln_agg(kiln_from_frame('\x14000102030405060700'))$$);
SELECT attempt(format('SELECT kiln_definition(kiln_agg(%L))', format('{"$kiln": "i8%s", "$value": []}', repeat('[]', 31)))) = 'i8' || repeat('[]', 32);
SELECT attempt(format('SELECT kiln_definition(kiln_agg(%L))', format('{"$kiln": "i8%s", "$value": []}', repeat('[]', 32))));

-- Workers aggregate parts, which are put together.
CREATE TABLE agg_many AS SELECT kiln_encode('message', r) AS m
	FROM generate_series(1, 20000) AS i,
		LATERAL (SELECT true AS a, false AS b, i AS x, 0 AS y, i::int8 AS id, 0.5::float8 AS score, repeat('x', i % 7) AS s, '' AS t) AS r;
ANALYZE agg_many;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET max_parallel_workers_per_gather = 2;
EXPLAIN (COSTS OFF) SELECT kiln_agg(m) FROM agg_many;
WITH l AS MATERIALIZED (SELECT kiln_agg(m) AS l FROM agg_many)
SELECT kiln_verify(l), octet_length(kiln_frame(l)), jsonb_array_length(l::jsonb) FROM l;
WITH l AS MATERIALIZED (SELECT kiln_agg(m)::jsonb AS l FROM agg_many)
SELECT count(DISTINCT e ->> 'id'), sum((e ->> 'id')::int8) FROM l, jsonb_array_elements(l) AS e;
-- values of two definitions, met only when the parts are put together
INSERT INTO agg_many SELECT kiln_encode('(id i64)', r) FROM (SELECT 1::int8 AS id) AS r;
SELECT split_part(attempt('SELECT kiln_agg(m) FROM agg_many'), ' | ', 1);
RESET parallel_setup_cost;
RESET parallel_tuple_cost;
RESET min_parallel_table_scan_size;
RESET max_parallel_workers_per_gather;
DROP TABLE agg_many, mixed;
SELECT kiln_forget('agg_v');
