-- Numbers from tensors, and tensors from tensors.

CREATE SCHEMA tensor_math_test;
SET search_path = tensor_math_test, public;

-- As the numbers of the rows.
CREATE TABLE samples AS SELECT (CASE WHEN i % 3 = 0 THEN -1 ELSE 1 END) * (i * 7919 % 1000 / 8.0::float8) AS x FROM generate_series(1, 5000) i;
SELECT kiln_sum(v) = s AS sum, kiln_mean(v) = s / 5000 AS mean, kiln_min(v) = least AS min, kiln_max(v) = greatest AS max, kiln_norm(v) = sqrt(q) AS norm, kiln_dot(v, v) = q AS dot
FROM (SELECT kiln_tensor_agg(x) AS v, sum(x) AS s, min(x) AS least, max(x) AS greatest, sum(x * x) AS q FROM samples) t;
SELECT dtype, kiln_sum(v), kiln_mean(v), kiln_min(v), kiln_max(v), kiln_norm(v), kiln_dot(v, v)
FROM unnest('{i8,u8,i16,u16,i32,u32,i64,u64,f16,bf16,f32,f64}'::text[]) dtype, kiln_tensor('{{1,2},{3,5}}'::int4[], dtype => dtype) v;
SELECT kiln_sum(v), kiln_mean(v), kiln_min(v), kiln_max(v) FROM kiln_tensor('{true,true,false,true}'::bool[]) v;
SELECT kiln_sum(v, 'a'), kiln_mean(v, 'a'), kiln_min(v, 'a'), kiln_max(v, 'a'), kiln_norm(v, 'a'), kiln_dot(v -> 'a', v -> 'b')
FROM (SELECT kiln_tensor('{3,4}'::float4[], 'a') || kiln_tensor('{2,1}'::int4[], 'b') AS v) t;

-- Of no elements the sum is 0, mean, least and greatest are NULL.
SELECT kiln_sum(v), kiln_mean(v), kiln_min(v), kiln_max(v), kiln_norm(v), kiln_dot(v, v), kiln_l2_distance(v, v), kiln_cosine_distance(v, v) FROM kiln_tensor('{}'::float8[]) v;

-- Infinities and NaN; NaN is above all, as in min() and max() of SQL.
SELECT a, kiln_sum(v), kiln_mean(v), kiln_min(v), kiln_max(v), kiln_norm(v), kiln_dot(v, v), kiln_l2_distance(v, v)
FROM (VALUES ('{1,Infinity}'::float8[]), ('{-Infinity,1}'), ('{Infinity,-Infinity}'), ('{NaN,1}'), ('{NaN,Infinity}'), ('{NaN,NaN}'), ('{1e308,1e308,Infinity}'), ('{1e308,1e308,-Infinity,-1e308}')) t (a), kiln_tensor(a) v;
SELECT kiln_l2_distance(kiln_tensor('{Infinity,1}'::float8[]), kiln_tensor('{-Infinity,1}'::float8[])), kiln_dot(kiln_tensor('{Infinity,1e200}'::float8[]), kiln_tensor('{1,-1e200}'::float8[])),
	kiln_dot(kiln_tensor('{Infinity,1}'::float8[]), kiln_tensor('{0,1}'::float8[]));

-- What is finite in truth comes out finite, whatever happens on the way. case 69
SELECT kiln_sum(kiln_tensor('{1.7e308,1.7e308,-1.7e308,-1.7e308,1}'::float8[])) AS sum, kiln_mean(kiln_tensor('{1.7e308,1.7e308,1.7e308}'::float8[])) AS mean,
	kiln_norm(kiln_tensor('{3e200,4e200}'::float8[])) AS large, kiln_norm(kiln_tensor('{3e-200,4e-200}'::float8[])) AS small, kiln_norm(kiln_tensor('{5e-324}'::float8[])) AS least,
	kiln_norm(kiln_tensor('{3e38,3e38}'::float4[])) AS f32;
SELECT kiln_dot(kiln_tensor('{1e200,1e200,2}'::float8[]), kiln_tensor('{1e200,-1e200,3}'::float8[])) AS dot,
	kiln_l2_distance(kiln_tensor('{1e308,1e308}'::float8[]), kiln_tensor('{1.3e308,0.6e308}'::float8[])) AS far, kiln_l2_distance(kiln_tensor('{1e300,3e-200}'::float8[]), kiln_tensor('{1e300,0}'::float8[])) AS near,
	kiln_l2_distance(kiln_tensor('{8e307}'::float8[]), kiln_tensor('{-9e307}'::float8[])) AS across;
SELECT kiln_cosine_distance(kiln_tensor('{3e200,4e200}'::float8[]), kiln_tensor('{3e-200,4e-200}'::float8[])) AS same, kiln_cosine_distance(kiln_tensor('{3e200,4e200}'::float8[]), kiln_tensor('{-3,-4}'::float8[])) AS opposite,
	kiln_cosine_distance(kiln_tensor('{1,0}'::float8[]), kiln_tensor('{0,1}'::float8[])) AS right, kiln_cosine_distance(kiln_tensor('{1,1}'::float8[]), kiln_tensor('{0,0}'::float8[])) AS none,
	kiln_cosine_distance(kiln_tensor('{3e38,3e38}'::float4[]), kiln_tensor('{1,1}'::float4[])) AS f32;
-- and what is not is an error
SELECT attempt($$SELECT kiln_sum(kiln_tensor('{1.7e308,1.7e308}'::float8[]))$$);
SELECT attempt($$SELECT kiln_norm(kiln_tensor('{1.7e308,1.7e308}'::float8[]))$$);
SELECT attempt($$SELECT kiln_dot(kiln_tensor('{1e200}'::float8[]), kiln_tensor('{1e200}'::float8[]))$$);
SELECT attempt($$SELECT kiln_l2_distance(kiln_tensor('{1.7e308}'::float8[]), kiln_tensor('{-1.7e308}'::float8[]))$$);

-- Integers are added exactly and rounded once.
SELECT kiln_sum(kiln_tensor('{9223372036854775807,-9223372036854775807,1}'::int8[])), kiln_sum(kiln_tensor('{9007199254740993,2}'::int8[])), kiln_mean(kiln_tensor('{9223372036854775807,9223372036854775805}'::int8[])),
	kiln_sum(kiln_cast(kiln_tensor('{9223372036854775807,9223372036854775807,9223372036854775807}'::int8[]), 'u64'));

-- Long, in blocks and parts; stored out of line as in memory.
CREATE TABLE long (v kiln);
INSERT INTO long SELECT kiln_tensor_agg(sin(i) * exp(i % 50 / 10.0::float8)) FROM generate_series(1, 100003) i;
SELECT kiln_sum(v) = kiln_sum(m) AS sum, kiln_norm(v) = kiln_norm(m) AS norm, kiln_dot(v, m) = kiln_dot(m, v) AS dot, kiln_min(v) = kiln_min(m) AS min, kiln_l2_distance(v, m) AS distance,
	abs(kiln_sum(v) - (SELECT kiln_at(kiln_sum_agg(ARRAY[x]), 1) FROM kiln_values(v) x)) < 1e-9 AS exact, abs(kiln_cosine_distance(v, m)) < 1e-15 AS cosine
FROM long, kiln_reshape(v, '{100003}') m;

-- Tensors from tensors. Overflow is an error; integers stay integers; 16-bit floats become f32.
SELECT dtype, kiln_add(a, b) ->> '', kiln_sub(a, b) ->> '', kiln_mul(a, b) ->> '', kiln_scale(a, 0.5) ->> ''
FROM unnest('{i8,u8,i16,u16,i32,u32,i64,u64,f16,bf16,f32,f64}'::text[]) dtype, kiln_tensor('{{1,2},{3,11}}'::int4[], dtype => dtype) a, kiln_tensor('{{1,0},{3,10}}'::int4[], dtype => dtype) b;
SELECT kiln_add(kiln_tensor('{0.1,NaN,Infinity}'::float8[], 'a'), kiln_tensor('{0.2,1,-Infinity}'::float8[], 'b')), kiln_mul(kiln_tensor('{16777217,3}'::float4[]), kiln_tensor('{1,0.1}'::float4[]));
SELECT dtype, attempt(format('SELECT kiln_add(a, a) FROM kiln_tensor(ARRAY[0, %s]::numeric[], dtype => %L) a', x, dtype)), attempt(format('SELECT kiln_mul(a, a) FROM kiln_tensor(ARRAY[0, %s]::numeric[], dtype => %L) a', x, dtype))
FROM (VALUES ('i8', 64), ('u8', 128), ('i16', 16384), ('u16', 32768), ('i32', 1073741824), ('u32', 2147483648), ('i64', 4611686018427387904), ('u64', 9223372036854775808), ('f32', 2e38), ('f64', 1e308)) t (dtype, x);
SELECT attempt($$SELECT kiln_sub(a, b) FROM kiln_tensor('{1}'::int4[], dtype => 'u8') a, kiln_tensor('{2}'::int4[], dtype => 'u8') b$$);
SELECT attempt($$SELECT kiln_scale(kiln_tensor('{1,2}'::float4[]), 3e38)$$), attempt($$SELECT kiln_scale(kiln_tensor('{1,Infinity}'::float4[]), 'Infinity')$$);
SELECT kiln_scale(kiln_tensor('{1,2}'::int4[], 'a'), 'NaN'), kiln_add(v, v) FROM kiln_tensor('{}'::int4[]) v;
SELECT attempt($$SELECT kiln_add(kiln_tensor('{1}'::int4[]), kiln_tensor('{1}'::int8[]))$$);
SELECT attempt($$SELECT kiln_add(kiln_tensor('{1}'::int4[]), kiln_tensor('{1,2}'::int4[]))$$);
SELECT attempt($$SELECT kiln_dot(kiln_tensor('{{1}}'::int4[]), kiln_tensor('{1}'::int4[]))$$);
SELECT attempt($$SELECT kiln_mul(v, v) FROM kiln_tensor('{true}'::bool[]) v$$);
SELECT kiln_sub(m, v) = kiln_sub(v, m) AS zero, kiln_add(v, v) = kiln_scale(m, 2) AS twice FROM long, kiln_reshape(v, '{100003}') m;
