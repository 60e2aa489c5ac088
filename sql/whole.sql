-- Whole values: rows, arrays, keys, elements and types.

CREATE SCHEMA whole_test;
SET search_path = whole_test, public;
SET client_min_messages = warning;
\set VERBOSITY terse

-- what a query answers, or its error
CREATE FUNCTION attempt(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	answer text;
	detail text;
	hint text;
	context text;
BEGIN
	EXECUTE query INTO answer;
	RETURN coalesce(answer, 'NULL');
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS detail = PG_EXCEPTION_DETAIL, hint = PG_EXCEPTION_HINT, context = PG_EXCEPTION_CONTEXT;
	RETURN concat_ws(' | ', SQLSTATE, SQLERRM, nullif(detail, ''), nullif(hint, ''),
		(SELECT string_agg(line, ', ') FROM regexp_split_to_table(context, E'\n') AS line WHERE line LIKE 'column %'));
END $$;

SELECT kiln_register('wh_message(a bool,b bool,x i32,y i32,id i64,score f64,s string,t string)') IS NOT NULL AS registered;
CREATE TYPE message AS (a bool, b bool, x int, y int, id bigint, score float8, s text, t text);
CREATE TABLE messages (n int, m kiln(wh_message));
INSERT INTO messages SELECT i, kiln_encode('wh_message', jsonb_build_object('a', i % 2 = 0, 'b', i % 3 = 0, 'x', i, 'y', -i,
	'id', 9007199254740993 + i, 'score', i / 8.0, 's', 'hello ' || i, 't', '')) FROM generate_series(1, 3) AS i;

-- A struct as a row of a type: columns by name
SELECT r.* FROM messages, kiln_populate_record(NULL::message, m) AS r ORDER BY n;
SELECT (kiln_populate_record(NULL::message, m)).id FROM messages ORDER BY n;
-- it is what jsonb gives, and what was put in
SELECT bool_and(kiln_populate_record(NULL::message, m) IS NOT DISTINCT FROM jsonb_populate_record(NULL::message, m::jsonb)) AS as_jsonb,
	bool_and(kiln_encode('wh_message', kiln_populate_record(NULL::message, m)) = m) AS round_trip
FROM messages;
-- bytes and all, whatever is absent and however long strings are; and stored and compared as any other row
CREATE TYPE plain AS (a bool, gone int, i int2, s text, x int4, t text, f float4, id int8, d float8);
ALTER TYPE plain DROP ATTRIBUTE gone;
CREATE TABLE plain_rows AS SELECT n, (n % 2 = 0, nullif(n % 3, 0), repeat('s', n), nullif(-n % 5, 0), CASE WHEN n % 7 > 0 THEN repeat('é', n % 150) END,
	n / 3.0::real, nullif(n * 10000000000, 0), CASE WHEN n % 2 > 0 THEN n / 7.0 END)::plain AS r FROM generate_series(0, 300) AS n;
CREATE TABLE plain_copies AS SELECT n, kiln_populate_record(NULL::plain,
	kiln_encode('(a bool,i i16?,s string,x i32?,t string?,f f32,skip i8[]?,id i64?,d f64?)', r)) AS r FROM plain_rows;
SELECT count(*), bool_and(a.r *= b.r) AS image, bool_and(a.r = b.r) AS equal, bool_and(hash_record(a.r) = hash_record(b.r)) AS hash,
	sum(pg_column_size(a.r) - pg_column_size(b.r)) AS size, min(array_length(regexp_split_to_array((b.r).t, ''), 1)) AS short, max(length((b.r).t)) AS long
FROM plain_rows AS a JOIN plain_copies AS b USING (n);
-- or of columns listed in the query, in any order; a column that the struct does not have is NULL
SELECT n, r.* FROM messages, kiln_to_record(m) AS r(t text, id numeric(20,1), nothing int, a bool, x smallint) ORDER BY n;
SELECT count(*), sum(id - 9007199254740993) FROM messages, kiln_to_record(m) AS r(id bigint);
SELECT r IS NULL AS none FROM kiln_to_record(NULL) AS r(a int);
SELECT attempt('SELECT kiln_to_record(m) FROM messages');

-- A base row gives what the struct does not have, and what is absent in it; what is present, zero and empty too, replaces it. case 17
CREATE TYPE sparse AS (i int, s text, l int[], extra date, b bytea, f float8);
SELECT kiln_populate_record(ROW(1, 'kept', '{7}', '2001-02-03', '\xff', 1.5)::sparse, v) AS row FROM (VALUES
	('{"$kiln":"wh_sparse(i i32?,s string?,l i32[]?,b bytes?,f f64?)"}'::kiln),
	('{"$kiln":"wh_sparse(i i32?,s string?,l i32[]?,b bytes?,f f64?)","i":0,"s":"","l":[],"b":"\\x","f":-0.0}'),
	('{"$kiln":"wh_sparse(i i32?,s string?,l i32[]?,b bytes?,f f64?)","i":2,"f":"NaN"}'),
	(NULL)) AS t(v);
SELECT kiln_populate_record(NULL::sparse, NULL) IS NULL AS none;
-- an anonymous row gives its columns
SELECT kiln_populate_record(r, '{"$kiln":"wh_x(f1 i64,f2 string)","f1":3,"f2":"new"}') FROM (SELECT ROW(1, 'old', true)) AS t(r);
SELECT * FROM kiln_populate_record(NULL::record, '{"$kiln":"(f1 i64,f2 string)","f1":3,"f2":"new"}') AS t(f2 text, f1 int);
SELECT attempt($$SELECT kiln_populate_record(NULL::record, '{"$kiln":"(f1 i64)","f1":3}')$$);
-- two columns of one name take the same field
SELECT kiln_populate_record(q, '{"$kiln":"(f i64,g i64)","f":3,"g":4}') FROM (SELECT 1 AS f, 2 AS g, 5 AS f) AS q;
-- what is no row type, and values that have no columns. case 30
SELECT attempt(format('SELECT kiln_populate_record(%s, m) FROM messages', base)) FROM unnest(ARRAY['1', '''abc''', 'NULL', 'NULL::int[]',
	'cash_out(0::money)', 'point(1,2)', 'NULL::name']) AS base;
SELECT attempt(format('SELECT kiln_populate_record(NULL::message, %L)', v)) FROM unnest(ARRAY['{"$kiln":"i64","$value":1}',
	'{"$kiln":"i64[]","$value":[1]}', '{"$kiln":"dict<i64>","$value":{"x":1}}', '[1]', '1', 'null',
	'{"$kiln":"tensors","w":{"dtype":"f64","shape":[1],"data":[1]}}']) AS v;
-- a json object goes the way of jsonb
SELECT r.* FROM kiln_populate_record(NULL::message, '{"x": "17", "s": null, "t": {"u": 1}}') AS r;
SELECT * FROM kiln_to_record('{"x": 17, "l": [1, 2]}') AS r(l int[], x int);

-- Versions of a schema may mix in a column, and inline values with them
SELECT kiln_register('wh_message(a bool,id i64,s string,note string?)') IS NOT NULL AS registered;
INSERT INTO messages VALUES (4, '{"a":true,"id":4,"s":"new","note":"n"}'),
	(5, '{"$kiln":"wh_message(s string)","s":"inline"}'), (6, '{"$kiln":"wh_message(s string,id u8)","s":"other","id":255}');
SELECT n, r.id, r.s, r.x FROM messages, kiln_populate_record(NULL::message, m) AS r ORDER BY n;

-- The row type changes under the call
CREATE TYPE changing AS (id bigint);
PREPARE populate AS SELECT n, kiln_populate_record(NULL::changing, m)::text FROM messages WHERE n <= 2 ORDER BY n;
EXECUTE populate;
ALTER TYPE changing ADD ATTRIBUTE s text;
EXECUTE populate;
ALTER TYPE changing DROP ATTRIBUTE id;
EXECUTE populate;
DO $$
DECLARE
	c changing;
	v kiln;
BEGIN
	SELECT m INTO v FROM messages WHERE n = 1;
	FOR i IN 1 .. 3 LOOP
		EXECUTE 'SELECT kiln_populate_record(NULL::whole_test.changing, $1)::text' INTO STRICT c.s USING v;
		RAISE WARNING '%', c.s;
		IF i = 1 THEN
			ALTER TYPE changing ADD ATTRIBUTE x int;
		END IF;
	END LOOP;
END $$;

-- A field as a type: kiln_get with a witness
CREATE TYPE mood AS ENUM ('calm', 'keen');
CREATE DOMAIN small AS int CHECK (VALUE < 100);
CREATE DOMAIN given AS text NOT NULL;
CREATE FUNCTION get(definition text, value text, type text) RETURNS text LANGUAGE sql AS $$
	SELECT attempt(format('SELECT kiln_get(%L::kiln, ''v'', NULL::%s)::text',
		'{"$kiln":' || to_json('(v ' || definition || ')') || ',"v":' || value || '}', type))
$$;
SELECT definition, value, type, get(definition, value, type) FROM (VALUES
	('bool', 'true', 'bool'), ('bool', 'true', 'int'), ('i8', '-128', 'int2'), ('u16', '65535', 'int2'), ('u16', '65535', 'int4'),
	('u64', '18446744073709551615', 'bigint'), ('u64', '18446744073709551615', 'numeric'), ('u32', '4294967295', 'oid'), ('i32', '-1', 'oid'),
	('i64', '9007199254740993', 'float8'), ('i64', '9007199254740993', 'text'), ('f64', '2.5', 'bigint'), ('f64', '1e300', 'real'),
	('f64', '"NaN"', 'float8'), ('f32', '0.1', 'numeric'), ('f64', '0.1', 'real'), ('numeric', '123.455', 'numeric'),
	('numeric', '"NaN"', 'numeric'), ('string', '"5"', 'int'), ('string', '"abc"', 'text'), ('string', '"abc"', 'varchar'),
	('string', '"abc"', 'char(5)'), ('string', '"abc"', 'name'), ('string', '"abc"', '"char"'), ('string', '"2001-02-03"', 'date'),
	('string', '"192.168.0.1/24"', 'inet'), ('string', '"1 day"', 'interval'), ('string', '"[1,5)"', 'int4range'), ('string', '"x"', 'inet'),
	('string', '"{1,2}"', 'int[]'), ('string', '"(1)"', 'message'), ('string', '"keen"', 'mood'), ('string', '"glad"', 'mood'),
	('enum(''keen'')', '"keen"', 'mood'), ('enum(''glad'')', '"glad"', 'mood'), ('enum(''keen'')', '"keen"', 'text'),
	('bytes', '"\\x00ff"', 'bytea'), ('bytes', '"\\x00ff"', 'text'), ('bytes', '"\\x00ff"', 'int'),
	('date', '"0044-03-15 BC"', 'date'), ('date', '"infinity"', 'date'), ('date', '"2001-02-03"', 'timestamp'),
	('timestamp', '"2001-02-03T04:05:06.789"', 'timestamp'), ('timestamptz', '"2001-02-03T04:05:06.789Z"', 'timestamptz'),
	('uuid', '"01020304-0506-0708-090a-0b0c0d0e0f10"', 'uuid'), ('i32', '1', 'uuid'), ('i32', '1', 'inet'),
	('i32', '99', 'small'), ('i32', '100', 'small'), ('i32?', '7', 'int'), ('i32?', 'null', 'int'), ('i32?', 'null', 'small'),
	('i32', '1', 'kiln'), ('(x i32)', '{"x":1}', 'kiln'), ('(x i32)', '{"x":1}', 'jsonb'), ('dict<i32>', '{"x":1}', 'json'),
	('dict<i32>', '{"x":1}', 'message'), ('dict<i32>', '{"x":1}', 'text'), ('i32', '1', 'record'), ('(x i32)', '{"x":1}', 'record'),
	('json', '{"a":[1,2]}', 'jsonb'), ('json', '5', 'int'), ('json', '"keen"', 'mood'), ('json', '[1]', 'int[]'), ('json', 'null', 'int'),
	('i32', '1', 'point'), ('string', '"(1,2)"', 'point'), ('string', '"1 2"', 'int2vector'), ('i32', '1', 'cstring'), ('string', '"1"', 'unknown')
) AS t(definition, value, type);
-- a path into json
SELECT kiln_get('{"$kiln":"(j json)","j":{"a":{"b":[10,{"c":"keen"}]}}}', 'j.a.b[1].c', NULL::mood),
	kiln_get('{"$kiln":"(j json)","j":{"a":{"b":[10,{"c":"keen"}]}}}', 'j.a.b[0]', NULL::small),
	kiln_get('{"$kiln":"(j json)","j":{"a":{"b":[10,{"c":"keen"}]}}}', 'j.a.b', NULL::jsonb),
	kiln_get('{"$kiln":"(j json)","j":{"a":{"b":[10,{"c":"keen"}]}}}', 'j.x.y', NULL::text);
-- NULL for NULL
SELECT kiln_get(NULL, 'v', 1), kiln_get('{"$kiln":"(v i32)","v":5}', NULL, 1), kiln_get('{"$kiln":"(v i32)","v":5}', 'v', 1);

-- Type modifiers hold for columns: what is too long is an error, numbers and times are rounded
SELECT * FROM kiln_to_record('{"$kiln":"(s string,c string,n numeric,f f64,t timestamp,z timestamptz)","s":"abc","c":"ab","n":"123.455",
	"f":2.345,"t":"2001-02-03T04:05:06.789","z":"2001-02-03T04:05:06.789Z"}')
	AS r(s varchar(3), c char(4), n numeric(5,2), f numeric(4,1), t timestamp(0), z timestamptz(1));
SELECT attempt($$SELECT r FROM kiln_to_record('{"$kiln":"(s string)","s":"abcd"}') AS r(s varchar(3))$$);
SELECT attempt($$SELECT r FROM kiln_to_record('{"$kiln":"(n i32)","n":1000}') AS r(n numeric(5,2))$$);
SELECT attempt($$SELECT r FROM kiln_to_record('{"$kiln":"(m i32)","m":1000}') AS r(m kiln(wh_message))$$);
-- errors name the column, also where the value is absent
SELECT attempt($$SELECT r FROM kiln_to_record('{"$kiln":"(a i32,u u64)","a":1,"u":9223372036854775808}') AS r(a int, u bigint)$$);
SELECT attempt($$SELECT r FROM kiln_to_record('{"$kiln":"(a i32?)"}') AS r(a uuid)$$);

-- Domains: also of what is absent, and of the row
CREATE TYPE with_domains AS (i small, s given);
CREATE DOMAIN good_message AS with_domains CHECK ((VALUE).i > 0);
SELECT attempt(format('SELECT kiln_populate_record(%s, %L)', base, v)) FROM (VALUES
	('NULL::with_domains', '{"$kiln":"(i i32,s string?)","i":5,"s":"x"}'), ('NULL::with_domains', '{"$kiln":"(i i32,s string?)","i":500,"s":"x"}'),
	('NULL::with_domains', '{"$kiln":"(i i32,s string?)","i":5}'), ('NULL::with_domains', '{"$kiln":"(i i32)","i":5}'),
	('ROW(1, ''base'')::with_domains', '{"$kiln":"(i i32)","i":5}'), ('NULL::good_message', '{"$kiln":"(i i32,s string)","i":5,"s":"x"}'),
	('NULL::good_message', '{"$kiln":"(i i32,s string)","i":-5,"s":"x"}')) AS t(base, v);

-- Lists as arrays: lower bounds are 1, absent elements NULL. case 59
CREATE DOMAIN row_of_two AS int[] CHECK (cardinality(VALUE) = 2);
SELECT definition, value, type, get(definition, value, type) FROM (VALUES
	('i32[]', '[1,2,3]', 'int[]'), ('i32[]', '[]', 'int[]'), ('i32[]', '[1,2]', 'bigint[]'), ('i32[]', '[1,2]', 'smallint[]'), ('i32[]', '[1,70000]', 'smallint[]'),
	('i16[]', '[-1,2]', 'smallint[]'), ('i64[]', '[9007199254740993]', 'bigint[]'), ('f32[]', '[0.1,"NaN"]', 'real[]'), ('f64[]', '[0.1,-0.0,"Infinity"]', 'float8[]'),
	('u32[]', '[4294967295]', 'oid[]'), ('u8[]', '[255]', 'int[]'), ('bool[]', '[true,false,true]', 'bool[]'), ('f64[]', '[1.25,2]', 'numeric[]'),
	('i32?[]', '[null,1,null,2]', 'int[]'), ('i32?[]', '[null,null]', 'int[]'), ('string[]', '["a","","b c","NULL"]', 'text[]'), ('string?[]', '[null,"x"]', 'varchar[]'),
	('uuid[]', '["01020304-0506-0708-090a-0b0c0d0e0f10"]', 'uuid[]'), ('date[]', '["2001-02-03","infinity"]', 'date[]'),
	('timestamp[]', '["2001-02-03T04:05:06"]', 'timestamp[]'), ('timestamptz[]', '["2001-02-03T04:05:06Z"]', 'timestamptz[]'), ('enum(''keen'')[]', '["keen"]', 'mood[]'),
	('i32[][]', '[[1,2,3],[4,5,6]]', 'int[]'), ('i32[][]', '[[1,2],[3]]', 'int[]'), ('i32[][]', '[[],[]]', 'int[]'), ('i32[][]', '[[],[1]]', 'int[]'),
	('i32?[][]', '[[1,null],[null,4]]', 'int[]'), ('i32[]?[]', '[[1],[2]]', 'int[]'), ('i32[]?[]', '[[1],null]', 'int[]'), ('string[][]', '[["a","b"]]', 'text[]'),
	('i8[][][][][][]', '[[[[[[1,2]]]]]]', 'int[]'), ('i8[][][][][][][]', '[[[[[[[1,2]]]]]]]', 'int[]'),
	('i32[][]', '[[1,2],[3]]', 'jsonb[]'), ('i32[][]', '[[1,2],[3]]', 'kiln[]'), ('i32[][]', '[[1,2],[3,4]]', 'row_of_two[]'), ('i32[][]', '[[1,2],[3]]', 'row_of_two[]'),
	('i32[]', '[1,2]', 'row_of_two'), ('i32[]', '[1]', 'row_of_two'), ('i32[]', '[5,99]', 'small[]'), ('i32[]', '[5,100]', 'small[]'), ('i32[]', '[1]', 'jsonb'),
	('i32', '1', 'int[]'), ('i32[]', '[1]', 'int'), ('i32[]', '[1]', 'text'), ('i32[]', '[1]', 'bool[]'), ('i32[]', '[1]', 'int2vector'), ('string[]', '["1"]', 'int[]'),
	('(x i32,y string)[]', '[{"x":1,"y":"a"},{"x":2,"y":"b"}]', 'message[]'), ('(x i32)?[]', '[{"x":1},null]', 'message[]')
) AS t(definition, value, type);
-- arrays that come back are those that were put in
SELECT bool_and(kiln_get(kiln_encode('(v i32?[])', ROW_TO_JSON(t)), 'v', NULL::int[]) = t.v) AS same
FROM (VALUES ('{1,2,3}'::int[]), ('{NULL,1}'), ('{}'), ('{2147483647,-2147483648}')) AS t(v);
SELECT array_ndims(a), array_dims(a), a[2][1], a = '{{1,2},{3,4},{5,6}}' AS equal
FROM kiln_get('{"$kiln":"(v f64[][])","v":[[1,2],[3,4],[5,6]]}', 'v', NULL::float8[]) AS a;
-- a long one, and one that is out of line
CREATE TABLE long_lists (v kiln);
INSERT INTO long_lists SELECT kiln_encode('(n i32,l i64[],s string[],t string)',
	jsonb_build_object('n', 1, 'l', (SELECT jsonb_agg(i) FROM generate_series(1, 20000) AS i),
		's', (SELECT jsonb_agg('x' || i) FROM generate_series(1, 3000) AS i), 't', 'end'));
SELECT cardinality(l), (SELECT sum(i) FROM unnest(l) AS i), l[20000], cardinality(s), s[3000], t
FROM long_lists, kiln_to_record(v) AS r(l bigint[], s text[], t text);
SELECT (SELECT sum(i) FROM unnest(kiln_get(v, 'l', NULL::numeric[])) AS i), cardinality(kiln_get(v, 's', NULL::text[])) FROM long_lists;

-- Structs as composites, inside each other and in lists
CREATE TYPE inner_row AS (y int, z text);
CREATE TYPE outer_row AS (i inner_row, l inner_row[], d jsonb, k kiln, "Größe" int);
SELECT r.*, (r.i).y, (r.l)[2].z FROM kiln_populate_record(NULL::outer_row, '{"$kiln":"(i (y i32,z string?),l (z string,y i64)[],d dict<i32>,k (q bool),\"Größe\" i32)",
	"i":{"y":1},"l":[{"z":"a","y":2},{"z":"b","y":3}],"d":{"x":1,"y":2},"k":{"q":true},"Größe":5}') AS r;
SELECT attempt($$SELECT kiln_populate_record(NULL::outer_row, '{"$kiln":"(l (y i64)[])","l":[{"y":1},{"y":3000000000}]}')$$);
SELECT attempt($$SELECT kiln_populate_record(NULL::outer_row, '{"$kiln":"(i (y bytes)?)"}')$$);
SELECT attempt($$SELECT kiln_populate_record(NULL::outer_row, '{"$kiln":"(i i32)","i":1}')$$);
-- names in NFC on both sides
CREATE TYPE decomposed AS (U&"e\0301" int);
SELECT kiln_populate_record(NULL::decomposed, E'{"$kiln":"(\\"\u00e9\\" i32)","\u00e9":7}');

-- kiln_each: what is present in a struct, the pairs of a dict. case 18
SELECT e.* FROM messages, kiln_each(m) AS e WHERE n = 1;
SELECT e.* FROM messages, kiln_each_text(m) AS e WHERE n = 4;
SELECT v->>'n' AS n, key, value FROM (VALUES ('{"$kiln":"(n i32?,d dict<string?>?,x (y i32?)?)","n":1,"d":{"a":null,"b":"null","":"NULL"}}'::kiln),
	('{"$kiln":"(n i32?,d dict<string?>?,x (y i32?)?)","n":2,"x":{}}'), ('{"$kiln":"(n i32?,d dict<string?>?,x (y i32?)?)"}')) AS t(v),
	kiln_each_text(v);
SELECT key, value, value IS NULL AS absent FROM kiln_each_text('{"$kiln":"dict<string?>","$value":{"a":null,"b":"null","":"NULL"}}');
SELECT key, value->>'x' AS x FROM kiln_each('{"$kiln":"dict<(x i32)?>","$value":{"b":{"x":1},"a":null,"Ü":{"x":3}}}');
SELECT * FROM kiln_each('{"a":[1,"x"],"b":null,"c":"s"}');
SELECT * FROM kiln_each_text('{"a":[1,"x"],"b":null,"c":"s"}');
SELECT * FROM kiln_each('{"$kiln":"tensors","w":{"dtype":"f64","shape":[2],"data":[1,2]},"b":{"dtype":"i8","shape":[],"data":[3]}}');
SELECT * FROM kiln_each_text('{"$kiln":"tensors","w":{"dtype":"f64","shape":[2],"data":[1,2]}}');
SELECT count(*) FROM kiln_each(NULL);
-- tensors as arrays
SELECT kiln_get(v, 'w', NULL::float8[]), kiln_get(v, 'w', NULL::int[]), kiln_get(v, 'b', NULL::numeric[]), kiln_get(v, 'x', NULL::int[]),
	kiln_get(v, 'w', NULL::jsonb), kiln_get(v, 'w', NULL::kiln)
FROM (VALUES ('{"$kiln":"tensors","w":{"dtype":"f64","shape":[2,2],"data":[1,2,3,4]},"b":{"dtype":"i8","shape":[1],"data":[3]}}'::kiln)) AS t(v);
SELECT attempt(format('SELECT kiln_get(%L, %L, NULL::%s)', '{"$kiln":"tensors","w":{"dtype":"f64","shape":[2],"data":[1.5,2]},"b":{"dtype":"i8","shape":[1],"data":[3]}}',
	path, type)) FROM (VALUES ('w', 'int[]'), ('w', 'text[]'), ('w', 'int'), ('', 'float8[]'), ('', 'message'), ('w', 'kiln')) AS t(path, type);
-- in a select list
SELECT n, kiln_keys(m) FROM messages WHERE n IN (4, 5) ORDER BY n;

-- kiln_keys
SELECT array_agg(k) FROM kiln_keys('{"$kiln":"(n i32?,d dict<string?>?,s string)","s":"x"}') AS k;
SELECT array_agg(k) FROM kiln_keys('{"$kiln":"dict<string?>","$value":{"b":null,"a":"x","":"y"}}') AS k;
SELECT array_agg(k) FROM kiln_keys('{"$kiln":"tensors","w":{"dtype":"f64","shape":[0],"data":[]},"b":{"dtype":"i8","shape":[0],"data":[]}}') AS k;
SELECT array_agg(k) FROM kiln_keys('{"b":1,"a":2}') AS k;
SELECT array_agg(k) FROM kiln_keys('{"$kiln":"dict<i32>","$value":{}}') AS k;

-- kiln_unnest: elements that stand on their own, bytes and all. case 70
SELECT e, kiln_definition(e), e = '{"$kiln":"string[]","$value":["b"]}'::kiln AS same
FROM kiln_unnest('{"$kiln":"string[][]","$value":[["a","aa"],["b"],[]]}') AS e;
SELECT e IS NULL AS absent, e FROM kiln_unnest('{"$kiln":"i32?[]","$value":[1,null,3]}') AS e;
SELECT e->>'x' AS x FROM messages, kiln_unnest('{"$kiln":"(x i32,y string[])[]","$value":[{"x":1,"y":["a","b"]},{"x":2,"y":[]}]}') AS e WHERE n = 1;
SELECT e FROM kiln_unnest('[1, "x", null, [2], {"a": 3}]') AS e;
SELECT count(e) FROM kiln_unnest('{"$kiln":"i32[]","$value":[]}') AS e;
SELECT count(*), sum((e)::bigint) FROM long_lists, kiln_unnest(v->'l') AS e;
SELECT sum(value::bigint) FROM long_lists, LATERAL (SELECT e AS value FROM kiln_unnest(v->'l') AS e LIMIT 10) AS few;

-- what has no keys or elements
SELECT attempt(format('SELECT %s(%L)', f, v)) FROM unnest(ARRAY['kiln_each', 'kiln_each_text', 'kiln_keys']) AS f,
	unnest(ARRAY['{"$kiln":"i64","$value":1}', '{"$kiln":"i64[]","$value":[1]}', '[1]', '5']) AS v;
SELECT attempt(format('SELECT kiln_unnest(%L)', v)) FROM unnest(ARRAY['{"$kiln":"i64","$value":1}', '{"$kiln":"(x i64)","x":1}', '{"a":1}', '5',
	'{"$kiln":"dict<i64>","$value":{}}', '{"$kiln":"tensors","w":{"dtype":"f64","shape":[0],"data":[]}}']) AS v;

-- kiln_typeof: the type at a path, also where nothing is there
SELECT path, attempt(format('SELECT kiln_typeof(%L, %L)',
	'{"$kiln":"wh_t(i int,s text?,l wh_e(q enum(''a''))?[],d dict<float8?>?,j json,\"a b\" bytes)","i":1,"l":[],"j":null,"a b":"\\x"}', path))
FROM unnest(ARRAY['', 'i', 's', 'l', 'l[5]', 'l[-1].q', 'd', 'd.anything', 'j', 'j.x.y[3]', '"a b"', 'nothing', 'i.x', 'l.q', 's[0]', 'l[', 'I']) AS path;
-- a field that another version has
SELECT n, kiln_typeof(m, 'note'), kiln_typeof(m, 'id') FROM messages WHERE n <= 5 ORDER BY n;
SELECT attempt('SELECT kiln_typeof(m, ''nowhere'') FROM messages');
SELECT kiln_typeof('{"a":1}', ''), kiln_typeof('{"a":1}', 'a.b'), kiln_typeof('5', ''), kiln_typeof(NULL, '');
SELECT kiln_typeof('{"$kiln":"tensors","w":{"dtype":"f64","shape":[0],"data":[]}}', p) FROM unnest(ARRAY['', 'w', 'x']) AS p;
SELECT kiln_typeof(v, 'l'), kiln_typeof(v, 's[0]') FROM long_lists;

-- Stored in any way, a value reads the same. case 40
CREATE TABLE stored (c "char", size int, storage text, v kiln);
CREATE FUNCTION fresh(size int) RETURNS kiln LANGUAGE sql AS $$
	SELECT kiln_encode('wh_stored(i i32?,s string,l string?[],d dict<i16>,r (f f64,t string))', jsonb_build_object('i', size, 's', repeat('s', size),
		'l', jsonb_build_array('a', NULL, repeat('l', size / 10)), 'd', jsonb_build_object('k', 1, 'l', 2), 'r', jsonb_build_object('f', 0.5, 't', 'end')))
$$;
CREATE TYPE stored_inner AS (t text, f real);
CREATE TYPE stored_row AS (i int, r stored_inner, l text[], d jsonb, s text);
INSERT INTO stored SELECT 'c', size, 'external', fresh(size) FROM unnest(ARRAY[0, 1, 10, 20, 21, 22, 23, 24, 25, 26, 1500, 1900, 2000, 8000, 3000000]) AS size;
ALTER TABLE stored ALTER v SET STORAGE extended;
INSERT INTO stored SELECT 'c', size, 'extended', fresh(size) FROM unnest(ARRAY[0, 10, 2000, 8000, 3000000]) AS size;
ALTER TABLE stored ALTER v SET STORAGE main;
INSERT INTO stored SELECT 'c', size, 'main', fresh(size) FROM unnest(ARRAY[0, 10, 2000, 8000]) AS size;
SELECT storage, count(*),
	bool_and(kiln_populate_record(NULL::stored_row, v) IS NOT DISTINCT FROM jsonb_populate_record(NULL::stored_row, v::jsonb)) AS row,
	bool_and(kiln_get(v, 'l', NULL::text[]) = ARRAY['a', NULL, repeat('l', size / 10)]) AS list,
	bool_and(kiln_get(v, 'r', NULL::stored_inner) = ('end', 0.5::real)::stored_inner) AS inner,
	bool_and((SELECT jsonb_object_agg(key, value::jsonb) FROM kiln_each(v)) = v::jsonb) AS each,
	bool_and((SELECT array_agg(k) FROM kiln_keys(v) AS k) = '{i,s,l,d,r}') AS keys,
	bool_and((SELECT count(e) FROM kiln_unnest(v->'l') AS e) = 2) AS unnest,
	bool_and(kiln_typeof(v, 'l[0]') = 'string?') AS typeof
FROM stored GROUP BY storage ORDER BY storage;

-- Values of a definition that is gone, and unverified ones
SELECT kiln_register('wh_gone(x i32,l i32[])') AS hash \gset
CREATE TABLE gone AS SELECT kiln_encode('wh_gone', '{"x":1,"l":[1,2]}') AS v;
PREPARE gone_row AS SELECT r.* FROM gone, kiln_to_record(v) AS r(x int, l int[]);
EXECUTE gone_row;
SELECT kiln_forget('wh_gone');
SELECT attempt('SELECT r FROM gone, kiln_to_record(v) AS r(x int, l int[])') LIKE '42704%' AS missing,
	attempt('SELECT kiln_keys(v) FROM gone') LIKE '42704%' AS keys, attempt('SELECT kiln_typeof(v, ''x'') FROM gone') LIKE '42704%' AS type;
-- it comes in binary before its definition
INSERT INTO gone SELECT kiln_from_frame(kiln_frame(v)) FROM gone;
DELETE FROM gone WHERE substr(kiln_frame(v), 1, 1) = '\x11';
SELECT kiln_register('wh_gone(x i32,l i32[])') = :'hash' AS same;
SELECT substr(kiln_frame(v), 1, 1) AS kind FROM gone;
EXECUTE gone_row;
SELECT array_agg(k) FROM gone, kiln_keys(v) AS k;
SELECT key, value FROM gone, kiln_each_text(v);
SELECT kiln_typeof(v, 'l') FROM gone;
SELECT attempt('SELECT kiln_each(v) FROM gone');
SELECT attempt('SELECT r FROM gone, kiln_to_record(v) AS r(x kiln)');

-- Rows leave no memory behind
CREATE FUNCTION used() RETURNS bigint LANGUAGE sql AS 'SELECT sum(total_bytes)::bigint FROM pg_backend_memory_contexts';
CREATE FUNCTION grows(expression text, value text DEFAULT 'SELECT m FROM messages WHERE n = 2') RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
	grown bigint;
BEGIN
	-- from row 100 to row 5000 of one query
	EXECUTE format('SELECT max(u) - min(u) + 0 * count(x) FROM (SELECT CASE WHEN i IN (100, 5000) THEN used() END AS u, %s AS x
		FROM generate_series(1, 5000) AS i, (%s) AS v(m) OFFSET 0) AS rows', expression, value) INTO grown;
	RETURN grown > 100000;
END $$;
SELECT grows('kiln_populate_record(NULL::message, m)') AS populate, grows('kiln_populate_record(ROW(''x'', i)::changing, m)') AS based,
	grows('kiln_get(m, ''x'', NULL::numeric)') AS get, grows('(SELECT count(e) FROM kiln_each(m) AS e)') AS each,
	grows('(SELECT r FROM kiln_to_record(m) AS r(s text, x numeric(10,2)))') AS record, grows('kiln_typeof(m, ''x'')') AS typeof,
	grows('kiln_get(m, CASE i % 2 WHEN 0 THEN ''x'' ELSE ''s'' END, NULL::text)') AS paths,
	grows('kiln_get(m, ''v'', NULL::small[])', $v$SELECT '{"$kiln":"(v i32[])","v":[1,2]}'::kiln$v$) AS domains,
	grows('(SELECT count(e) FROM kiln_unnest(m->''v'') AS e)', $v$SELECT '{"$kiln":"(v i32[])","v":[1,2]}'::kiln$v$) AS unnest;
-- and the measure sees what does
SELECT grows('lag(m, 1) OVER ()', 'SELECT fresh(100)') AS nothing, grows('array_agg(repeat(''x'', 100) || i) OVER (ORDER BY i)') AS something;

SELECT kiln_forget('wh_gone');
DROP SCHEMA whole_test CASCADE;
SELECT kiln_forget('wh_message');
