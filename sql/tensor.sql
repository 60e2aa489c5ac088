-- Tensors from arrays and rows, their elements, and back to arrays.

CREATE SCHEMA tensor_test;
SET search_path = tensor_test, public;

-- Every type of number has its dtype; numeric is kept as f64.
SELECT kiln_tensor(ARRAY[true, false]);
SELECT kiln_tensor('{1,-2}'::int2[]);
SELECT kiln_tensor('{1,-2}'::int4[]);
SELECT kiln_tensor('{9223372036854775807,-9223372036854775808}'::int8[]);
SELECT kiln_tensor('{1.5,NaN,-0,Infinity}'::float4[]);
SELECT kiln_tensor('{0.1,NaN,-0,-Infinity,5e-324}'::float8[]);
SELECT kiln_tensor('{0.1,NaN,1e308,-Infinity,9007199254740993}'::numeric[]);
SELECT attempt($$SELECT kiln_tensor('{a}'::text[])$$);
CREATE DOMAIN measure AS float8 CHECK (VALUE >= 0);
CREATE DOMAIN series AS float8[];
SELECT kiln_dtype(kiln_tensor('{1,2}'::measure[])), kiln_dtype(kiln_tensor('{1,2}'::series));

-- Shapes are kept, lower bounds dropped; '{}' is [0]. case 59, case 60
SELECT kiln_tensor('{{1,2,3},{4,5,6}}'::int4[]);
SELECT kiln_tensor('[0:2]={1,2,3}'::int4[]) = kiln_tensor('{1,2,3}'::int4[]) AS same;
SELECT kiln_to_array(kiln_tensor('[2:3][5:6]={{1,2},{3,4}}'::int8[])), kiln_to_array(kiln_tensor('[-5:-4]={1,2}'::int2[]));
SELECT kiln_tensor('{}'::float8[]), kiln_to_array(kiln_tensor('{}'::float8[]));
SELECT kiln_shape(kiln_tensor('{{{{{{1},{2}}}}}}'::int4[]));

-- A NULL is an error that tells where it stands.
SELECT attempt($$SELECT kiln_tensor('{NULL,1,2}'::float8[])$$);
SELECT attempt($$SELECT kiln_tensor('[0:1][5:6]={{1,NULL},{3,4}}'::float8[])$$);
SELECT attempt($$SELECT kiln_tensor(ARRAY[NULL,NULL]::numeric[])$$);
-- an array that had one once, and keeps the bitmap
SELECT kiln_tensor((ARRAY[1,NULL]::int4[])[1:1]), kiln_tensor(NULL::int4[]) IS NULL AS null;

-- A name, and another dtype; what that can't hold is an error. case 6
SELECT kiln_tensor('{1,2}'::int4[], 'weights');
SELECT kiln_tensor('{0.1,65504}'::float8[], dtype => 'f32'), kiln_tensor('{0.1,65504}'::float8[], dtype => 'f16'),
	kiln_tensor('{0.1,65504}'::float8[], dtype => 'bf16');
SELECT dtype, attempt(format('SELECT kiln_tensor(ARRAY[1, %s]::float8[], dtype => %L)', x, dtype))
FROM (VALUES ('f32', '1e39'), ('f32', '3.4028236e38'), ('f32', '1e-50'), ('f32', $$'NaN'$$), ('f32', $$'-Infinity'$$),
	('f16', '65520'), ('f16', '65519'), ('f16', '1e-9'), ('bf16', '3.4e38'), ('bf16', '3e38'), ('i8', '128'), ('i8', '-128'),
	('u8', '-1'), ('u64', '18446744073709551615'), ('u64', '18446744073709549568'), ('i64', '9223372036854775808'), ('i32', '1.5'),
	('i32', $$'NaN'$$), ('bool', '1'), ('bool', '2')) AS t (dtype, x);
SELECT attempt($$SELECT kiln_tensor('{9223372036854775807}'::int8[], dtype => 'f16')$$);
SELECT kiln_tensor('{16777217,-9007199254740993}'::int8[], dtype => 'f32'), kiln_tensor('{9007199254740993}'::int8[], dtype => 'f64'),
	kiln_tensor('{-9223372036854775808,257,259}'::int8[], dtype => 'bf16');
-- numeric is rounded once, whatever the dtype
SELECT kiln_cast(kiln_tensor('{1.00000017881393432617187499}'::numeric[], dtype => 'f32'), 'f64'),
	kiln_tensor('{9007199254740993,18446744073709551615.00,1e3}'::numeric[], dtype => 'u64'), kiln_tensor('{65519.999999999999999999}'::numeric[], dtype => 'f16');
SELECT x, dtype, attempt(format('SELECT kiln_tensor(ARRAY[1, %s]::numeric[], dtype => %L)', x, dtype))
FROM (VALUES ('3.4028236e38', 'f32'), ('1e-50', 'f32'), ('65520', 'f16'), ('0.5', 'i32'), ('9223372036854775808', 'i64'), ($$'NaN'$$, 'i8'), ($$'NaN'$$, 'bf16'), ('1', 'bool'), ('2', 'bool'), ('-1', 'u8')) t (x, dtype);
SELECT left(attempt($$SELECT kiln_tensor('{1e400}'::numeric[])$$), 8);
SELECT attempt($$SELECT kiln_tensor('{1}'::int4[], dtype => 'float64')$$);
SELECT attempt($$SELECT kiln_tensor('{1}'::int4[], '$kiln')$$);
SELECT octet_length(kiln_frame(kiln_tensor('{1}'::int4[], repeat('n', 96)))), attempt($$SELECT kiln_tensor('{1}'::int4[], repeat('n', 97))$$);

-- The golden sizes.
SELECT octet_length(kiln_frame(kiln_tensor(array_fill(1::float8, ARRAY[10000])))) - 4 AS of_10000,
	octet_length(kiln_frame(kiln_tensor(array_fill(1::float8, ARRAY[512,512])))) - 4 AS of_262144;

-- One element: positions count from 1, as an array's; out of range is NULL.
SELECT i, kiln_at(kiln_tensor(a), i) IS NOT DISTINCT FROM a[i] AS same
FROM (SELECT '{1.5,-0,NaN}'::float8[] AS a) t, unnest('{-9223372036854775808,-1,0,1,2,3,4,2147483648,9223372036854775807}'::int8[]) i
WHERE i BETWEEN -2147483648 AND 2147483647;
SELECT i, kiln_at(kiln_tensor('{1}'::int4[]), i) FROM unnest('{-9223372036854775808,9223372036854775807,4294967297,1,NULL}'::int8[]) i;
SELECT i, j, kiln_at(kiln_tensor('{{1,2,3},{4,5,6}}'::int4[], 'm'), 'm', i, j) FROM generate_series(0, 3) i, generate_series(1, 4, 3) j;
SELECT kiln_at(kiln_tensor('{{{1,2},{3,4}}}'::int2[]), 1, 2, 1), kiln_at(kiln_tensor('{{1,2}}'::int2[]), 1, NULL);
SELECT kiln_at('{"$kiln": "tensors", "": {"dtype": "f32", "shape": [], "data": [7]}}'),
	kiln_at('{"$kiln": "tensors", "a": {"dtype": "u64", "shape": [], "data": [18446744073709551615]}}', 'a');
SELECT attempt($$SELECT kiln_at(kiln_tensor('{1,2}'::int4[]), 1, 1)$$);
SELECT attempt($$SELECT kiln_at(kiln_tensor('{1,2}'::int4[]))$$);
SELECT attempt($$SELECT kiln_at('{"$kiln": "tensors", "": {"dtype": "f32", "shape": [], "data": [7]}}'::kiln, 1)$$);
SELECT kiln_at('{"$kiln": "tensors", "": {"dtype": "i8", "shape": [2,0], "data": []}}', 1, 1) IS NULL AS none;

-- Several tensors: the unnamed one is meant where no name is given.
CREATE TABLE several (v kiln(tensor));
INSERT INTO several VALUES ('{"$kiln": "tensors", "b": {"dtype": "f64", "shape": [2], "data": [1,2]}, "a": {"dtype": "i8", "shape": [], "data": [3]}}'),
	('{"$kiln": "tensors", "b": {"dtype": "f64", "shape": [2], "data": [4,5]}, "": {"dtype": "bool", "shape": [1,1], "data": [true]}}');
SELECT kiln_shape(v, 'b'), kiln_at(v, 'b', 2), kiln_to_array(v, 'b'), kiln_dtype(v, 'b'), kiln_ndim(v, 'b') FROM several;
SELECT kiln_shape(v), kiln_to_array(v) FROM several WHERE v ? '';
SELECT attempt('SELECT kiln_shape(v) FROM several');
SELECT attempt($$SELECT kiln_shape(v, 'c') FROM several$$);
SELECT attempt($$SELECT kiln_shape('{"$kiln": "tensors"}'::kiln)$$);
SELECT attempt($$SELECT kiln_shape('{"$kiln": "i64[]", "$value": [1]}'::kiln)$$);
SELECT t.* FROM several, kiln_tensors(v) t;
SELECT count(*) FROM kiln_tensors('{"$kiln": "tensors"}');

-- A directory's tensors are its fields.
SELECT v -> 'b', v ->> 'b', v ? 'a', v -> 'a' FROM several;
SELECT v #>> '{b}', kiln_get(v, 'b'), kiln_get(v, 'no'), kiln_get_jsonb(v, '') FROM several;
SELECT v::jsonb FROM several;
SELECT attempt($$SELECT v -> 0 FROM several$$);
SELECT attempt($$SELECT kiln_get(v, 'b.x') FROM several$$);

-- To arrays of any type of number; what does not fit is an error.
SELECT a::int2[], a::int4[], a::int8[], a::float4[], a::float8[], a::numeric[], b::bool[]
FROM (SELECT kiln_tensor('{{1,2},{3,4}}'::float8[]) AS a, kiln_tensor('{1,0}'::float8[]) AS b) t;
SELECT kiln_tensor('{0.1,NaN,Infinity,1e23}'::float8[])::numeric[] AS f64, kiln_tensor('{0.1,NaN,-Infinity}'::float4[])::numeric[] AS f32,
	'{"$kiln": "tensors", "": {"dtype": "u64", "shape": [2], "data": [18446744073709551615, 9007199254740993]}}'::kiln::numeric[] AS u64;
SELECT attempt($$SELECT kiln_tensor('{1,2.5}'::float8[])::int4[]$$);
SELECT attempt($$SELECT kiln_tensor('{1,32768}'::int4[])::int2[]$$);
SELECT attempt($$SELECT kiln_tensor('{1,NaN}'::float8[])::int8[]$$);
SELECT array_ndims(a), cardinality(a) FROM (SELECT kiln_to_array('{"$kiln": "tensors", "": {"dtype": "i8", "shape": [2,0], "data": []}}')) t (a);
SELECT kiln_to_array('{"$kiln": "tensors", "": {"dtype": "f16", "shape": [], "data": [0.5]}}');
SELECT attempt($$SELECT kiln_to_array('{"$kiln": "tensors", "": {"dtype": "i8", "shape": [1,1,1,1,1,1,1], "data": [0]}}'::kiln)$$);
SELECT i, x FROM kiln_values(kiln_tensor('{{1.5,2},{3,4}}'::float8[])) WITH ORDINALITY AS t (x, i);
SELECT kiln_values(v, 'b') FROM several;
SELECT count(*) FROM kiln_values(kiln_tensor('{}'::int4[]));

-- Stored out of line, as arrays and as tensors: the same numbers.
CREATE TABLE large (n int, a float8[], v kiln);
ALTER TABLE large ALTER a SET STORAGE EXTERNAL;
INSERT INTO large SELECT n, array_agg(i / 7.0::float8 ORDER BY i), NULL FROM generate_series(1, 3) n, generate_series(1, 30000 * n) i GROUP BY n;
UPDATE large SET a = (SELECT array_agg(a[3 * i + 1:3 * i + 3]) FROM generate_series(0, 29999) i) WHERE n = 3;
UPDATE large SET v = kiln_tensor(a);
SELECT n, pg_column_size(v) > 200000 AS large, kiln_shape(v), kiln_to_array(v) = a AS same, v = kiln_tensor(a || '{}') AS equal,
	kiln_tensor(a, dtype => 'f32') = kiln_tensor(a || '{}', dtype => 'f32') AS narrowed,
	(SELECT array_agg(x) FROM kiln_values(v) x) = ARRAY(SELECT unnest(a)) AS values
FROM large ORDER BY n;
SELECT n, bool_and(kiln_at(v, i) = a[i]) FROM large, generate_series(1, 60000, 251) i WHERE n < 3 AND i <= 30000 * n GROUP BY n ORDER BY n;
SELECT bool_and(kiln_at(v, i, j) = a[i][j]) FROM large, generate_series(1, 30000, 251) i, generate_series(1, 3) j WHERE n = 3;
SELECT attempt('SELECT kiln_tensor(a || 1e300::float8, dtype => ''f32'') FROM large WHERE n = 1');
UPDATE large SET a = a || 1e300::float8 WHERE n = 1;
SELECT attempt('SELECT kiln_tensor(a, dtype => ''f32'') FROM large WHERE n = 1');
-- compressed
ALTER TABLE large ALTER v SET STORAGE EXTENDED;
INSERT INTO large SELECT 4, NULL, kiln_tensor(array_fill(1.5::float8, '{100000}'));
SELECT pg_column_size(v) < 100000 AS compressed, kiln_at(v, 99999), kiln_at(v, 100001), kiln_shape(v) FROM large WHERE n = 4;

-- Many tensors: a name is found by search.
CREATE TABLE many (v kiln);
INSERT INTO many SELECT (jsonb_object_agg('t' || i, jsonb_build_object('dtype', 'i16', 'shape', '[1]'::jsonb, 'data', jsonb_build_array(i))) ||
	'{"$kiln": "tensors"}')::text::kiln FROM generate_series(1, 1000) i;
SELECT bool_and(kiln_at(v, 't' || i, 1) = i) FROM many, generate_series(1, 1000) i;
SELECT count(*), sum(bytes) FROM many, kiln_tensors(v);
SELECT attempt($$SELECT kiln_at(v, 't1001', 1) FROM many$$);
