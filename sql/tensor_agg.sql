-- Aggregates that make tensors: of numbers, of rows that are stacked, of named rows, and element by element.

CREATE SCHEMA tensor_agg_test;
SET search_path = tensor_agg_test, public;

-- Every type of number; no rows give NULL.
SELECT kiln_tensor_agg(x > 1), kiln_tensor_agg(x::int2), kiln_tensor_agg(x::int4) FROM unnest('{1,2,3}'::float8[]) x;
SELECT kiln_tensor_agg(x::int8), kiln_tensor_agg(x::float4) FROM unnest('{1,2,3}'::float8[]) x;
SELECT kiln_tensor_agg(x), kiln_tensor_agg(x::numeric) FROM unnest('{0.1,-0,NaN}'::float8[]) x;
SELECT kiln_tensor_agg(x) IS NULL AS none, kiln_tensor_agg(ARRAY[x]) IS NULL AS none, kiln_directory_agg('a', ARRAY[x]) IS NULL AS none,
	kiln_sum_agg(ARRAY[x]) IS NULL AS none, kiln_max_agg(ARRAY[x]) IS NULL AS none
FROM unnest('{}'::float8[]) x;
SELECT kiln_tensor(array_agg(x)) = kiln_tensor_agg(x) AS same FROM generate_series(1, 1000) x;
SELECT attempt($$SELECT kiln_tensor_agg(x) FROM (VALUES ('a'::text)) t (x)$$);

-- A row that is NULL is an error; FILTER leaves it out. case 58
CREATE TABLE gaps (x float8, a int4[]);
INSERT INTO gaps VALUES (1, '{1,2}'), (NULL, NULL), (3, '{3,4}');
SELECT attempt('SELECT kiln_tensor_agg(x) FROM gaps');
SELECT attempt('SELECT kiln_tensor_agg(a) FROM gaps');
SELECT attempt('SELECT kiln_sum_agg(a) FROM gaps');
SELECT attempt($$SELECT kiln_directory_agg('a', a) FROM gaps$$);
SELECT attempt($$SELECT kiln_tensor_agg('{1,NULL}'::int4[])$$);
SELECT kiln_tensor_agg(x) FILTER (WHERE x IS NOT NULL), kiln_tensor_agg(a) FILTER (WHERE a IS NOT NULL) FROM gaps;

-- The state is left alone by the final function: frames of a window, and aggregates that share a transition. case 53
SELECT i, kiln_to_array(kiln_tensor_agg(i) OVER (ORDER BY i)), kiln_to_array(kiln_tensor_agg(i) OVER (ROWS BETWEEN 2 PRECEDING AND CURRENT ROW)),
	kiln_to_array(kiln_tensor_agg(i) FILTER (WHERE i % 2 = 0) OVER (ORDER BY i ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING EXCLUDE CURRENT ROW))
FROM generate_series(1, 5) i;
SELECT count(DISTINCT v) FROM (SELECT kiln_tensor_agg(i) OVER (ORDER BY i) AS v FROM generate_series(1, 500) i) t;
SELECT i, kiln_to_array(kiln_tensor_agg(ARRAY[i, -i]) OVER (ORDER BY i)) FROM generate_series(1, 3) i;
SELECT i, (SELECT array_agg(name) FROM kiln_tensors(v)) FROM (
	SELECT i, kiln_directory_agg('t' || -i, ARRAY[i]) OVER (ORDER BY i) AS v FROM generate_series(1, 3) i) t;
SELECT kiln_to_array(kiln_sum_agg(a)), kiln_to_array(kiln_avg_agg(a)) FROM gaps WHERE a IS NOT NULL;

-- Frames that move: each is as if summed afresh. case 55
SELECT x, kiln_at(kiln_sum_agg(ARRAY[x]) OVER w, 1) AS sum, kiln_at(kiln_avg_agg(ARRAY[x]) OVER w, 1) AS avg, kiln_at(kiln_max_agg(ARRAY[x]) OVER w, 1) AS max
FROM unnest('{NaN,1,2,3,Infinity,1,2,18014398509481984,1,1}'::float8[]) WITH ORDINALITY t (x, i)
WINDOW w AS (ORDER BY i ROWS BETWEEN 1 PRECEDING AND CURRENT ROW);

-- ORDER BY, DISTINCT, GROUPING SETS.
SELECT kiln_to_array(kiln_tensor_agg(x ORDER BY x DESC)), kiln_to_array(kiln_tensor_agg(DISTINCT x)) FROM unnest('{2,3,2,1}'::int4[]) x;
SELECT g, h, kiln_to_array(kiln_tensor_agg(i ORDER BY i)), kiln_to_array(kiln_tensor_agg(ARRAY[i] ORDER BY i))
FROM (SELECT i % 2 AS g, i % 3 AS h, i FROM generate_series(1, 6) i) t GROUP BY GROUPING SETS ((g), (h), ()) ORDER BY g, h;

-- Rows of one shape are stacked.
SELECT kiln_tensor_agg(a) FROM (VALUES ('{{1,2},{3,4}}'::int2[]), ('{{5,6},{7,8}}')) t (a);
SELECT kiln_tensor_agg(a) = kiln_tensor_agg(kiln_tensor(a)) AS same, kiln_tensor_agg(a::numeric[]) = kiln_tensor_agg(a) AS numeric,
	kiln_tensor(array_agg(a)) = kiln_tensor_agg(a) AS array FROM (SELECT ARRAY[i, i / 4.0::float8] AS a FROM generate_series(1, 100) i) t;
SELECT kiln_tensor_agg(kiln_tensor_agg) FROM (SELECT kiln_tensor_agg(ARRAY[i::float4, g]) FROM generate_series(1, 4) i, generate_series(1, 2) g GROUP BY g ORDER BY g) t;
SELECT kiln_shape(kiln_tensor_agg(a)) FROM (VALUES ('{"$kiln": "tensors", "x": {"dtype": "bool", "shape": [], "data": [true]}}'::kiln)) t (a);
SELECT attempt($$SELECT kiln_tensor_agg(a) FROM (VALUES ('{1,2}'::int4[]), ('{3}')) t (a)$$);
SELECT attempt($$SELECT kiln_tensor_agg(a) FROM (VALUES ('{1,2}'::int4[]), ('{{1,2},{3,4}}')) t (a)$$);
SELECT attempt($$SELECT kiln_tensor_agg(a) FROM (VALUES (kiln_tensor('{1,2}'::int4[])), (kiln_tensor('{1,2}'::int8[]))) t (a)$$);
SELECT attempt($$SELECT kiln_tensor_agg('{}'::int4[])$$);
SELECT attempt($$SELECT kiln_tensor_agg('{"$kiln": "tensors", "x": {"dtype": "i8", "shape": [1,1,1,1,1,1,1,1], "data": [1]}}'::kiln)$$);
SELECT attempt($$SELECT kiln_tensor_agg(ARRAY['a'])$$);

-- Named rows make a directory, whatever their order, dtype and shape.
SELECT kiln_directory_agg(n, a) FROM (VALUES ('b', '{1,2}'::float4[]), ('', '{}'), ('a', '{{3},{4}}')) t (n, a);
SELECT kiln_directory_agg(n, kiln_tensor(a, 'other', 'u8')) FROM (VALUES ('b', '{1,2}'::float4[]), ('a', '{3}')) t (n, a);
SELECT attempt($$SELECT kiln_directory_agg(n, '{1}'::int4[]) FROM (VALUES ('a'), ('b'), ('a')) t (n)$$);
SELECT attempt($$SELECT kiln_directory_agg('$a', '{1}'::int4[])$$);
SELECT attempt($$SELECT kiln_directory_agg(NULL, '{1}'::int4[])$$);

-- Element by element: sums are exact, and rounded once.
SELECT kiln_sum_agg(ARRAY[x]), kiln_avg_agg(ARRAY[x]) FROM unnest('{1e308,1e308,-1e308,1,-1e308,5e-324}'::float8[]) x;
SELECT kiln_sum_agg(ARRAY[x]) FROM unnest('{0.1,0.1,0.1,0.1,0.1,0.1,0.1,0.1,0.1,0.1}'::float4[]) x;
SELECT kiln_at(kiln_sum_agg(ARRAY[x]), 1) AS exact, sum(x) AS float8 FROM unnest('{1e16,1,-1e16,1e100,1,-1e100}'::float8[]) x;
SELECT kiln_avg_agg(ARRAY[x]) FROM unnest('{1.7e308,1.7e308,1.7e308}'::float8[]) x;
SELECT attempt($$SELECT kiln_sum_agg(ARRAY[x]) FROM unnest('{1.7e308,1.7e308}'::float8[]) x$$);
SELECT kiln_sum_agg(ARRAY[x]) FROM unnest('{Infinity,1,-Infinity}'::float8[]) x;
SELECT kiln_sum_agg(ARRAY[x, 1]), kiln_avg_agg(ARRAY[x, 1]) FROM unnest('{-Infinity,1}'::float8[]) x;
SELECT kiln_sum_agg(a), kiln_avg_agg(a) FROM (VALUES ('{9223372036854775807,-5,1}'::int8[]), ('{-1,-4,1}'), ('{1,-3,1}')) t (a);
SELECT attempt($$SELECT kiln_sum_agg(ARRAY[x, 0, x]) FROM unnest('{9223372036854775807,1}'::int8[]) x$$);
SELECT kiln_sum_agg(kiln_cast(kiln_tensor(ARRAY[9223372036854775807]), 'u64')) FROM generate_series(1, 2);
SELECT attempt($$SELECT kiln_sum_agg(kiln_cast(kiln_tensor(ARRAY[9223372036854775807]), 'u64')) FROM generate_series(1, 3)$$);
SELECT kiln_sum_agg(ARRAY[i % 2 = 0, true]), kiln_avg_agg(ARRAY[i % 2 = 0, true]), kiln_max_agg(ARRAY[i = 2, false]) FROM generate_series(1, 3) i;
SELECT kiln_min_agg(a), kiln_max_agg(a) FROM (VALUES ('{NaN,-0,1,2}'::float8[]), ('{1,0,-Infinity,3}'), ('{2,0,NaN,1}')) t (a);
SELECT kiln_min_agg(kiln_tensor(a, dtype => d)), kiln_max_agg(kiln_tensor(a, dtype => d))
FROM (VALUES ('{5,0,1,7}'::float8[]), ('{6,0,2,3}')) t (a), unnest('{i8,u8,i16,u16,i32,u32,i64,u64,f16,bf16,f32,f64}'::text[]) WITH ORDINALITY u (d, i) GROUP BY d, i ORDER BY i;
SELECT kiln_sum_agg(kiln_tensor(a, dtype => d)), kiln_avg_agg(kiln_tensor(a, dtype => d))
FROM (VALUES ('{5,0,1,7}'::float8[]), ('{6,0,2,3}')) t (a), unnest('{i8,u8,i16,u16,i32,u32,i64,u64,f16,bf16,f32,f64}'::text[]) WITH ORDINALITY u (d, i) GROUP BY d, i ORDER BY i;
SELECT kiln_sum_agg('{}'::float8[]), kiln_min_agg('{}'::int4[]) FROM generate_series(1, 3);
SELECT attempt($$SELECT kiln_sum_agg(a) FROM (VALUES ('{1,2}'::int4[]), ('{3}')) t (a)$$);
SELECT attempt($$SELECT kiln_max_agg(a) FROM (VALUES ('{1,2}'::int4[]), ('{{1,2}}')) t (a)$$);

-- No order and no plan changes a sum, whatever the numbers.
CREATE TABLE numbers (i int, g int, x float8);
INSERT INTO numbers SELECT i, i % 7, CASE i % 5 WHEN 0 THEN 1e300 / i WHEN 1 THEN -1e300 / i WHEN 2 THEN 1.0::float8 / i WHEN 3 THEN -i * 1e-300 ELSE i * 0.1 END
FROM generate_series(1, 20000) i;
ANALYZE numbers;
SELECT (SELECT kiln_sum_agg(ARRAY[x, -x, x / 3]) FROM (SELECT x FROM numbers ORDER BY i) t) = ALL (ARRAY[
	(SELECT kiln_sum_agg(ARRAY[x, -x, x / 3]) FROM (SELECT x FROM numbers ORDER BY i DESC) t),
	(SELECT kiln_sum_agg(ARRAY[x, -x, x / 3]) FROM (SELECT x FROM numbers ORDER BY x) t),
	(SELECT kiln_sum_agg(ARRAY[x, -x, x / 3]) FROM (SELECT x FROM numbers ORDER BY abs(x) DESC) t)]) AS same;

-- Parallel: partial states of every kind, also of workers that saw nothing. case 52
CREATE TABLE serial AS
SELECT kiln_sum_agg(ARRAY[x, -x]) AS sum, kiln_avg_agg(ARRAY[x, -x]) AS avg, kiln_min_agg(ARRAY[x, -x]) AS min, kiln_max_agg(kiln_tensor(ARRAY[x, -x])) AS max,
	kiln_tensor_agg(x ORDER BY x) AS sorted, kiln_directory_agg('n' || i, ARRAY[x]) AS directory, kiln_sum_agg(ARRAY[i, -i]) AS integers FROM numbers;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET max_parallel_workers_per_gather = 3;
EXPLAIN (COSTS off) SELECT kiln_sum_agg(ARRAY[x, -x]) FROM numbers;
CREATE TABLE parallel AS
WITH p AS MATERIALIZED (
	SELECT kiln_sum_agg(ARRAY[x, -x]) AS sum, kiln_avg_agg(ARRAY[x, -x]) AS avg, kiln_min_agg(ARRAY[x, -x]) AS min, kiln_max_agg(kiln_tensor(ARRAY[x, -x])) AS max,
		kiln_tensor_agg(x) AS unsorted, kiln_directory_agg('n' || i, ARRAY[x]) AS directory, kiln_sum_agg(ARRAY[i, -i]) AS integers FROM numbers)
SELECT * FROM p;
SELECT s.sum = p.sum AS sum, s.avg = p.avg AS avg, s.min = p.min AS min, s.max = p.max AS max, s.directory = p.directory AS directory, s.integers = p.integers AS integers,
	s.sorted = (SELECT kiln_tensor_agg(x ORDER BY x) FROM kiln_values(p.unsorted) x) AS numbers FROM serial s, parallel p;
SET parallel_leader_participation = off;
SELECT kiln_tensor_agg(x) IS NULL AS none, kiln_tensor_agg(ARRAY[x]) IS NULL AS none, kiln_directory_agg('a', ARRAY[x]) IS NULL AS none,
	kiln_sum_agg(ARRAY[x]) IS NULL AS none, kiln_min_agg(ARRAY[x]) IS NULL AS none FROM numbers WHERE i < 0;
SELECT kiln_tensor_agg(i), kiln_tensor_agg(ARRAY[i]), kiln_directory_agg('a', ARRAY[i]), kiln_sum_agg(ARRAY[i]), kiln_min_agg(ARRAY[i]) FROM numbers WHERE i = 12345;
SELECT kiln_shape(kiln_tensor_agg(ARRAY[[x, x, x]])) FROM numbers;
SELECT (SELECT array_agg(r ORDER BY r) FROM (SELECT kiln_to_array(kiln_row(v, n)) AS r FROM generate_series(1, 20000, 100) n) t) <@
	(SELECT array_agg(ARRAY[i::float8, x]) FROM numbers) AS rows_whole FROM (SELECT kiln_tensor_agg(ARRAY[i::float8, x]) AS v FROM numbers) t;
SELECT g, kiln_shape(kiln_tensor_agg(x)), kiln_shape(kiln_tensor_agg(ARRAY[x, i])), kiln_at(kiln_sum_agg(ARRAY[i]), 1) = sum(i) AS sum FROM numbers GROUP BY g ORDER BY g;
-- rows that differ are refused by every plan
\set VERBOSITY sqlstate
SELECT kiln_tensor_agg(CASE WHEN i = 1 THEN ARRAY[x, x] ELSE ARRAY[x] END) FROM numbers;
SELECT kiln_sum_agg(CASE WHEN i = 1 THEN kiln_tensor(ARRAY[i]) ELSE kiln_tensor(ARRAY[x]) END) FROM numbers;
SELECT kiln_directory_agg('a' || i % 19999, ARRAY[x]) FROM numbers;
\set VERBOSITY default
RESET parallel_setup_cost;
RESET parallel_tuple_cost;
RESET min_parallel_table_scan_size;
RESET max_parallel_workers_per_gather;
RESET parallel_leader_participation;

-- Called by hand: refused, by the grammar (which says so in two ways, as the server's minor version has it) before it gets to a function of ours.
SELECT call, attempt('SELECT ' || call) ~ '^(42883 . function .* does not exist|0A000 . cannot accept a value of type internal)' AS refused
FROM unnest(ARRAY['kiln_tensor_agg_final(NULL)', 'kiln_stack_final(NULL)', 'kiln_collect_final(NULL)', 'kiln_sum_final(NULL)',
	'kiln_element_combine(NULL, NULL)', 'kiln_tensor_agg_float8(NULL, 1)']) AS call;

-- Too large is a clean error, before the memory is taken.
SELECT attempt($$SELECT kiln_tensor_agg(v) FROM (SELECT kiln_tensor(array_fill(1::float8, '{2000000}')) AS v) t, generate_series(1, 50)$$);
SELECT attempt($$SELECT kiln_directory_agg('n' || n, v) FROM (SELECT kiln_tensor(array_fill(1::float8, '{2000000}')) AS v) t, generate_series(1, 50) n$$);
