-- Casts from kiln: explicit only, none to text; json and jsonb show the value without $kiln.

SELECT '42'::kiln::int2, '42'::kiln::int4, '42'::kiln::int8, '0.5'::kiln::float4, '0.5'::kiln::float8, '1.50'::kiln::numeric, 'true'::kiln::bool;
SELECT '{"$kiln": "bytes", "$value": "\\x01ff"}'::kiln::bytea, '{"$kiln": "uuid", "$value": "01020304-0506-0708-090a-0b0c0d0e0f10"}'::kiln::uuid,
	'{"$kiln": "date", "$value": "2024-02-29"}'::kiln::date = '2024-02-29' AS d,
	'{"$kiln": "timestamp", "$value": "2024-02-29T01:02:03.5"}'::kiln::timestamp = '2024-02-29 01:02:03.5' AS ts,
	'{"$kiln": "timestamptz", "$value": "2024-02-29T01:02:03+01"}'::kiln::timestamptz = '2024-02-29 00:02:03+00' AS tz;

-- Text is the text form; the plain text of a string is ->>'s matter
SELECT '"x"'::kiln::text, kiln_get('"x"'::kiln, '');
SELECT attempt($$SELECT '42'::kiln + 1$$);
CREATE TABLE cast_int (i int);
SELECT attempt($$INSERT INTO cast_int SELECT '42'::kiln$$);

-- Numbers that do not fit, kinds that do not convert. case 1, case 2
SELECT q, attempt('SELECT ' || q) FROM unnest(ARRAY[$$'70000'::kiln::int2$$, $$'3000000000'::kiln::int4$$, $$'18446744073709551615'::kiln::int8$$,
	$$'"x"'::kiln::int4$$, $$'1'::kiln::bool$$, $$'true'::kiln::int4$$, $$'"2024-01-01"'::kiln::date$$, $$'{"$kiln": "p(a i32)", "a": 1}'::kiln::int4$$,
	$$'{"$kiln": "tensors"}'::kiln::int4$$, $$'{"$kiln": "f64", "$value": 1e300}'::kiln::float4$$, $$'{"$kiln": "f64", "$value": 2.5}'::kiln::int4$$]) AS q;

-- json and jsonb
SELECT '{"$kiln": "p(a i64,b f64,c string?,d numeric,e dict<i32>)", "a": 9223372036854775807, "b": "NaN", "d": 1.50, "e": {"b": 1, "a": 2}}'::kiln::jsonb AS v,
	'{"$kiln": "p(a i64,b f64,c string?,d numeric,e dict<i32>)", "a": 9223372036854775807, "b": "NaN", "d": 1.50, "e": {"b": 1, "a": 2}}'::kiln::json AS j;
SELECT to_jsonb(m), row_to_json(t), json_agg(m) FROM (SELECT '{"$kiln": "p(a i32)", "a": 1}'::kiln AS m) AS t GROUP BY m, t;
SELECT '{"$kiln": "tensors", "w": {"dtype": "f32", "shape": [2], "data": [1, 0.5]}}'::kiln::jsonb;
SELECT '[1, {"x":  2}]'::kiln::json, 'null'::kiln::jsonb, '"s"'::kiln::jsonb;
