-- The same value: comparison, hashing, operator classes.

-- Inline scalars by value, whatever their width; NaN above all numbers and equal to itself; -0.0 is 0. case 48
CREATE TABLE cmp_scalar (i serial, v kiln);
INSERT INTO cmp_scalar (v) VALUES
	('false'), ('true'),
	('{"$kiln": "f64", "$value": "-Infinity"}'), ('-9223372036854775809'), ('{"$kiln": "i8", "$value": -1}'),
	('{"$kiln": "f64", "$value": -0.0}'), ('{"$kiln": "f32", "$value": 0.1}'), ('{"$kiln": "f64", "$value": 0.10000000000000002}'),
	('{"$kiln": "u8", "$value": 1}'), ('{"$kiln": "f64", "$value": 9007199254740992}'), ('9007199254740993'),
	('18446744073709551615'), ('{"$kiln": "f64", "$value": 1e300}'), ('{"$kiln": "numeric", "$value": "Infinity"}'),
	('{"$kiln": "f32", "$value": "NaN"}'),
	('""'), ('"a"'), ('"aa"'), ('"b"'), ('"é"'),
	('{"$kiln": "bytes", "$value": "\\x"}'), ('{"$kiln": "bytes", "$value": "\\x7f"}'), ('{"$kiln": "bytes", "$value": "\\x80"}'),
	('{"$kiln": "bytes", "$value": "\\xff"}'),
	('{"$kiln": "uuid", "$value": "0f000000-0000-0000-0000-000000000000"}'), ('{"$kiln": "uuid", "$value": "ff000000-0000-0000-0000-000000000000"}'),
	('{"$kiln": "date", "$value": "-infinity"}'), ('{"$kiln": "date", "$value": "0044-03-15 BC"}'), ('{"$kiln": "date", "$value": "2024-01-01"}'),
	('{"$kiln": "date", "$value": "infinity"}'),
	('{"$kiln": "timestamp", "$value": "2024-01-01T00:00:00"}'), ('{"$kiln": "timestamptz", "$value": "2024-01-01T00:00:00Z"}'),
	('{"$kiln": "p(a i32)", "a": 1}'), ('{"$kiln": "p(a i32)", "a": 2}'),
	('{"$kiln": "tensors"}'), ('{"$kiln": "tensors", "w": {"dtype": "u8", "shape": [1], "data": [1]}}');
-- a total order, every pair by its position
SELECT count(*) AS wrong FROM cmp_scalar a, cmp_scalar b
WHERE (a.v < b.v) <> (a.i < b.i) OR (a.v > b.v) <> (a.i > b.i) OR (a.v = b.v) <> (a.i = b.i)
	OR (a.v <= b.v) <> (a.i <= b.i) OR (a.v >= b.v) <> (a.i >= b.i) OR (a.v <> b.v) <> (a.i <> b.i)
	OR sign(kiln_cmp(a.v, b.v)) <> sign(a.i - b.i);

-- equal values have equal hashes, across frames and widths
CREATE TABLE cmp_equal (a kiln, b kiln);
INSERT INTO cmp_equal VALUES
	('1', '{"$kiln": "f64", "$value": 1}'), ('1', '{"$kiln": "u8", "$value": 1}'), ('1', '{"$kiln": "numeric", "$value": 1.00}'),
	('{"$kiln": "f32", "$value": 0.1}', '{"$kiln": "f64", "$value": 0.1}'), ('{"$kiln": "f64", "$value": 0.1}', '0.1'),
	('{"$kiln": "f64", "$value": -0.0}', '0'), ('{"$kiln": "f64", "$value": "NaN"}', '{"$kiln": "f64", "$value": "NaN(0xfff8000000000001)"}'),
	('{"$kiln": "f32", "$value": "NaN"}', '{"$kiln": "numeric", "$value": "NaN"}'),
	('{"$kiln": "f64", "$value": "Infinity"}', '{"$kiln": "numeric", "$value": "Infinity"}'),
	('18446744073709551615', '{"$kiln": "numeric", "$value": 18446744073709551615}');
INSERT INTO cmp_equal SELECT m, kiln_portable(m) FROM (SELECT kiln_encode('message',
	'{"a": true, "b": false, "x": 1, "y": -2, "id": 42, "score": 4.5, "s": "hello", "t": "world"}') AS m) AS t;
INSERT INTO cmp_equal SELECT kiln_from_frame('\x14' || substr(kiln_frame(a), 2)), b FROM cmp_equal WHERE kiln_schema(a) IS NOT NULL;
SELECT a, b, a = b AS equal, kiln_hash_value(a) = kiln_hash_value(b) AS hash,
	kiln_hash_value_extended(a, 7) = kiln_hash_value_extended(b, 7) AS extended FROM cmp_equal;

-- Inside records numbers go by bits: documented, and the same in every operator class
SELECT a = b AS zeros, c = d AS nans FROM (VALUES ('{"$kiln": "p(x f64)", "x": 0.0}'::kiln, '{"$kiln": "p(x f64)", "x": -0.0}'::kiln,
	'{"$kiln": "p(x f64)", "x": "NaN"}'::kiln, '{"$kiln": "p(x f64)", "x": "NaN(0x7ff8000000000001)"}'::kiln)) AS t (a, b, c, d);

-- Every plan gives the same rows. case 44, case 48
CREATE TABLE cmp_many AS
	SELECT g, CASE g % 4 WHEN 0 THEN (g % 50)::text::kiln WHEN 1 THEN format('{"$kiln": "f64", "$value": %s}', g % 50)::kiln
		WHEN 2 THEN to_json('s' || g % 50)::text::kiln
		ELSE format('{"$kiln": "p(a i32,b string?)", "a": %s}', g % 50)::kiln END AS v
	FROM generate_series(1, 2000) AS g;
ANALYZE cmp_many;
SET enable_hashagg = on; SET enable_sort = off;
EXPLAIN (COSTS OFF) SELECT v, count(*) FROM cmp_many GROUP BY v;
CREATE TABLE cmp_hash AS SELECT v, count(*) AS n FROM cmp_many GROUP BY v;
SET enable_hashagg = off; SET enable_sort = on;
EXPLAIN (COSTS OFF) SELECT v, count(*) FROM cmp_many GROUP BY v;
CREATE TABLE cmp_sort AS SELECT v, count(*) AS n FROM cmp_many GROUP BY v;
RESET enable_hashagg; RESET enable_sort;
SELECT (SELECT count(*) FROM cmp_hash) AS groups, (SELECT sum(n) FROM cmp_hash) AS rows,
	(SELECT count(*) FROM (SELECT * FROM cmp_hash EXCEPT SELECT * FROM cmp_sort) AS t) AS only_hash,
	(SELECT count(*) FROM (SELECT * FROM cmp_sort EXCEPT SELECT * FROM cmp_hash) AS t) AS only_sort;
SET enable_nestloop = off; SET enable_mergejoin = off;
EXPLAIN (COSTS OFF) SELECT count(*) FROM cmp_many a JOIN cmp_many b USING (v);
SELECT count(*) FROM cmp_many a JOIN cmp_many b USING (v);
SET enable_mergejoin = on; SET enable_hashjoin = off;
EXPLAIN (COSTS OFF) SELECT count(*) FROM cmp_many a JOIN cmp_many b USING (v);
SELECT count(*) FROM cmp_many a JOIN cmp_many b USING (v);
RESET enable_nestloop; RESET enable_mergejoin; RESET enable_hashjoin;
SELECT count(DISTINCT v), count(DISTINCT v::text) AS texts FROM cmp_many;
SELECT v IS DISTINCT FROM '1' AS other, count(*) FROM cmp_many GROUP BY 1 ORDER BY 1;

-- Indexes: btree unique, hash, hash partitions
CREATE TABLE cmp_unique (v kiln PRIMARY KEY);
INSERT INTO cmp_unique VALUES ('1'), ('"1"');
SELECT attempt($$INSERT INTO cmp_unique VALUES ('{"$kiln": "f64", "$value": 1}')$$);
CREATE INDEX cmp_many_v ON cmp_many USING btree (v);
CREATE INDEX cmp_many_h ON cmp_many USING hash (v);
SET enable_seqscan = off; SET enable_bitmapscan = off;
EXPLAIN (COSTS OFF) SELECT count(*) FROM cmp_many WHERE v < '10';
SELECT count(*) FROM cmp_many WHERE v < '10';
RESET enable_seqscan; RESET enable_bitmapscan;
CREATE TABLE cmp_part (v kiln) PARTITION BY HASH (v);
CREATE TABLE cmp_part0 PARTITION OF cmp_part FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE cmp_part1 PARTITION OF cmp_part FOR VALUES WITH (MODULUS 2, REMAINDER 1);
INSERT INTO cmp_part SELECT v FROM cmp_many;
SELECT count(*) AS straddling FROM cmp_part0 WHERE v IN (SELECT v FROM cmp_part1);

-- Hashes of fixed values never change. case 51
SELECT v, kiln_hash_value(v), kiln_hash_value_extended(v, 1) FROM (VALUES ('1'::kiln), ('"\u0080"'), ('true'),
	('{"$kiln": "bytes", "$value": "\\x7f80ff"}'), ('{"$kiln": "p(a i32)", "a": 1}')) AS t (v);

-- Large values out of line are told apart by their first chunk, or later; the order is that of their bytes all the same
CREATE TABLE cmp_large (i serial, v kiln);
SELECT kiln_register('cmp_big(s string)') IS NOT NULL AS registered;
INSERT INTO cmp_large (v) SELECT kiln_encode('cmp_big', jsonb_build_object('s', s)) FROM unnest(ARRAY[
	repeat('a', 5000), repeat('a', 5000) || 'b', 'b' || repeat('a', 5000), repeat('a', 4999) || 'b', repeat('a', 4000) || 'b' || repeat('a', 999),
	repeat('a', 5000), 'short', repeat('z', 1990), repeat('z', 2000)]) AS s;
INSERT INTO cmp_large (v) SELECT kiln_from_frame('\x14' || substr(kiln_frame(v), 2)) FROM cmp_large WHERE i = 2;
INSERT INTO cmp_large (v) SELECT kiln_portable(v) FROM cmp_large WHERE i = 3;
SELECT count(*) AS wrong FROM cmp_large a, cmp_large b
WHERE sign(kiln_cmp(a.v, b.v)) <> CASE WHEN substr(kiln_frame(kiln_intern(a.v)), 10) < substr(kiln_frame(kiln_intern(b.v)), 10) THEN -1
	WHEN substr(kiln_frame(kiln_intern(a.v)), 10) > substr(kiln_frame(kiln_intern(b.v)), 10) THEN 1 ELSE 0 END
	OR (a.v = b.v) <> (kiln_frame(kiln_intern(a.v)) = kiln_frame(kiln_intern(b.v)))
	OR (a.v = b.v AND kiln_hash_value(a.v) <> kiln_hash_value(b.v));
SELECT count(DISTINCT v) FROM cmp_large;
