-- Parts of tensors, other shapes, dtypes and names, and directories joined.

CREATE SCHEMA tensor_slice_test;
SET search_path = tensor_slice_test, public;

-- kiln_slice(v, m, n) is a[m:n]: both ends included, what lies outside cut off. case 63
SELECT m, n, kiln_to_array(kiln_slice(kiln_tensor(a), m, n)) = coalesce(a[greatest(m, 1):least(n, 5)], '{}') AS as_array, kiln_slice(kiln_tensor(a), m, n) ->> ''
FROM (SELECT '{10,20,30,40,50}'::float8[] AS a) t,
	(VALUES (2::int8, 4::int8), (1, 5), (5, -1), (0, 0), (-3, 2), (4, 9), (6, 9), (3, 3), (4, 3), (2147483647, 2147483647), (-2147483648, 10), (1, 2147483647)) u (m, n);
SELECT m, n, kiln_slice(kiln_tensor('{{1,2},{3,4},{5,6}}'::int2[]), m, n)
FROM (VALUES (-9223372036854775808, 9223372036854775807), (9223372036854775807, -9223372036854775808), (9223372036854775807, 9223372036854775807), (2, 3), (NULL, 1)) u (m, n);
SELECT kiln_slice(kiln_tensor('{1,2,3}'::int4[], 'w') || kiln_tensor('{4}'::int4[], 'x'), 'w', 2, 3);
SELECT kiln_slice('{"$kiln": "tensors", "": {"dtype": "i8", "shape": [0,3], "data": []}}', 1, 2), kiln_slice('{"$kiln": "tensors", "": {"dtype": "i8", "shape": [3,0], "data": []}}', 2, 3);
SELECT attempt($$SELECT kiln_slice('{"$kiln": "tensors", "": {"dtype": "i8", "shape": [], "data": [1]}}'::kiln, 1, 1)$$);
SELECT attempt($$SELECT kiln_slice(kiln_tensor('{1}'::int4[]), 'no', 1, 1)$$);

-- A row; out of range is NULL.
SELECT i, kiln_row(kiln_tensor('{{1,2},{3,4}}'::int4[], 'm'), i) ->> 'm', kiln_row(kiln_tensor('{{1,2},{3,4}}'::int4[], 'm'), 'm', i) IS NULL AS null
FROM unnest('{-9223372036854775808,-1,0,1,2,3,9223372036854775807}'::int8[]) i;
SELECT kiln_row(kiln_tensor('{7,8}'::float4[]), 2), kiln_at(kiln_row(kiln_tensor('{7,8}'::float4[]), 2));
SELECT attempt($$SELECT kiln_row(kiln_row(kiln_tensor('{7,8}'::float4[]), 2), 1)$$);

-- Parts of what is stored out of line are the same as of what is not, compressed or whole. Odd elements of i8 among them. case 65
CREATE TABLE stored (n int, v kiln);
INSERT INTO stored SELECT 1, kiln_tensor(array_agg(sin(i)), 'f') || kiln_cast(kiln_tensor(array_agg(i % 127), 'b'), 'i8') FROM generate_series(1, 50000) i;
ALTER TABLE stored ALTER v SET STORAGE EXTENDED;
INSERT INTO stored SELECT 2, kiln_tensor(array_agg(i % 10), 'f') || kiln_cast(kiln_tensor(array_agg(i % 127), 'b'), 'i8') FROM generate_series(1, 50000) i;
SELECT n, pg_column_size(v) < 200000 AS compressed,
	(SELECT bool_and(kiln_slice(v, 'f', m, m + 30) = kiln_slice(kiln_tensor(kiln_to_array(v, 'f'), 'f', kiln_dtype(v, 'f')), m, m + 30)) FROM generate_series(1, 50000, 777) m) AS f,
	(SELECT bool_and(kiln_slice(v, 'b', m, m + 30) = kiln_slice(kiln_cast(kiln_tensor(kiln_to_array(v, 'b'), 'b'), 'i8'), m, m + 30)) FROM generate_series(1, 50000, 777) m) AS b
FROM stored;

-- Shapes.
SELECT kiln_reshape(kiln_tensor('{1,2,3,4,5,6}'::int4[], 'm'), s) ->> 'm' FROM (VALUES ('{2,3}'::int8[]), ('{-1,2}'), ('{6}'), ('{1,1,-1,1}'), ('{2,3,1}')) t (s);
SELECT kiln_reshape(kiln_tensor('{1}'::int4[]), '{}'), kiln_reshape(kiln_tensor('{}'::int4[]), '{3,0}'), kiln_reshape(kiln_tensor('{1}'::int4[], 'a') || kiln_tensor('{2}'::int4[], 'b'), 'b', '{1,1}');
SELECT s, attempt(format('SELECT kiln_reshape(kiln_tensor(ARRAY[1,2,3,4,5,6]), %L)', s))
FROM (VALUES ('{4}'), ('{-1,4}'), ('{-1,-1}'), ('{-2,-3}'), ('{NULL}'), ('{0,-1}'), ('{}'), ('{4294967296,4294967296}'), ('{1,1,1,1,1,1,1,1,6}')) t (s);
SELECT attempt($$SELECT kiln_reshape(kiln_tensor('{}'::int4[]), '{-1,0}')$$);
SELECT attempt($$SELECT kiln_reshape(kiln_tensor('{1}'::int4[], repeat('n', 96)), '{1,1}')$$);

-- Shapes that wrap are refused by every door. case 61
SELECT s, attempt(format('SELECT %L::kiln', format('{"$kiln": "tensors", "w": {"dtype": "f64", "shape": %s, "data": []}}', s)))
FROM (VALUES ('[4294967296,4294967296]'), ('[65536,65536,65536,65536]'), ('[2147483648,2]'), ('[3,6148914691236517206]'), ('[9223372036854775808]'), ('[-1]'), ('[1.5]')) t (s);

-- dtypes: all tensors, or one of them.
SELECT kiln_cast(kiln_tensor('{1,2}'::int4[], 'a') || kiln_tensor('{0.5}'::float8[], 'b'), 'f16');
SELECT kiln_cast(kiln_tensor('{1,0}'::int4[], 'a') || kiln_tensor('{0.5}'::float8[], 'b'), 'a', 'bool');
SELECT attempt($$SELECT kiln_cast(kiln_tensor('{1,300}'::int4[]), 'u8')$$);
SELECT attempt($$SELECT kiln_cast(kiln_tensor('{1e300}'::float8[]), 'f32')$$);
SELECT attempt($$SELECT kiln_cast(kiln_tensor('{1}'::float8[]), 'c64')$$);

-- End to end.
SELECT kiln_concat(kiln_tensor('{1,2}'::int4[], 'a'), kiln_tensor('{}'::int4[]), kiln_tensor('{3}'::int4[], 'b'));
SELECT kiln_concat(kiln_tensor('{{1,2}}'::int4[]), kiln_tensor('{{3,4},{5,6}}'::int4[])), kiln_concat(VARIADIC ARRAY[kiln_tensor('{1}'::int4[])]), kiln_concat(kiln_tensor('{1}'::int4[]), NULL) IS NULL AS null;
SELECT attempt($$SELECT kiln_concat(kiln_tensor('{1}'::int4[]), kiln_tensor('{1}'::int8[]))$$);
SELECT attempt($$SELECT kiln_concat(kiln_tensor('{{1}}'::int4[]), kiln_tensor('{1}'::int4[]))$$);
SELECT attempt($$SELECT kiln_concat(kiln_row(kiln_tensor('{1}'::int4[]), 1))$$);

-- Directories.
SELECT kiln_tensor('{1}'::int4[], 'b') || kiln_tensor('{2}'::int4[], 'a') || kiln_tensor('{{3}}'::int4[], 'b') || kiln_tensor('{4}'::int2[]);
SELECT '{"$kiln": "tensors"}'::kiln || '{"$kiln": "tensors"}'::kiln;
SELECT kiln_rename(v, 'a', 'c'), kiln_rename(v, 'b', ''), kiln_rename(v, 'a', 'a') = v AS same, kiln_drop(v, 'a'), kiln_drop(kiln_drop(v, 'a'), 'b')
FROM (SELECT kiln_tensor('{1}'::int4[], 'b') || kiln_tensor('{2}'::int4[], 'a') AS v) t;
SELECT attempt($$SELECT kiln_rename(kiln_tensor('{1}'::int4[], 'b') || kiln_tensor('{2}'::int4[], 'a'), 'a', 'b')$$);
SELECT attempt($$SELECT kiln_rename(kiln_tensor('{1}'::int4[], 'b'), 'x', 'y')$$);
SELECT attempt($$SELECT kiln_rename(kiln_tensor('{1}'::int4[], 'b'), 'b', '$y')$$);
SELECT attempt($$SELECT kiln_drop(kiln_tensor('{1}'::int4[], 'b'), '')$$);
SELECT attempt($$SELECT kiln_tensor('{1}'::int4[]) || '{"$kiln": "i64", "$value": 1}'::kiln$$);

-- Names of every length before wide data: nothing relies on alignment. case 65
SELECT bool_and(kiln_at(v, repeat('n', n), 2) = n + 0.5 AND kiln_to_array(kiln_slice(v, repeat('n', n), 1, 1)) = ARRAY[n::float8] AND kiln_to_array(v -> repeat('n', n)) = ARRAY[n, n + 0.5::float8])
FROM (SELECT kiln_directory_agg(repeat('n', n), ARRAY[n, n + 0.5::float8]) AS v FROM generate_series(0, 17) n) t, generate_series(0, 17) n;

-- Dimensions and counts beyond 16 bits, by text and binary. case 64
SELECT n, kiln_shape(v), v::text::kiln = v AS text, kiln_from_frame(kiln_frame(v)) = v AS frame, kiln_at(v, n)
FROM (SELECT n, kiln_tensor(array_fill(1::int2, ARRAY[n])) AS v FROM unnest('{32767,32768,65535,65536,131074}'::int4[]) n) t;
