-- kiln_register(name, regtype): a definition from the columns of a table, view or composite type.

CREATE SCHEMA register_type_test;
SET search_path = register_type_test, public;
SET client_min_messages = warning;

-- What the definition is, or the error
CREATE FUNCTION registers(name text, type regtype) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	given text;
	detail text;
	hint text;
BEGIN
	given := kiln_register(name, type);
	RETURN definition FROM kiln_schemas WHERE hash = given;
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS detail = PG_EXCEPTION_DETAIL, hint = PG_EXCEPTION_HINT;
	RETURN concat_ws(' | ', SQLSTATE, SQLERRM, nullif(detail, ''), nullif(hint, ''));
END $$;
-- Does a row come back from its encoding as it was?
CREATE FUNCTION comes_back(name text, base anyelement, r anyelement) RETURNS boolean LANGUAGE sql AS $$
	SELECT kiln_populate_record(base, kiln_encode(name, r)) IS NOT DISTINCT FROM r
$$;

-- Every type that has a kiln type of its own; NOT NULL makes the field one that is always there.
CREATE TYPE mood AS ENUM ('sad', 'it''s ok', 'happy');
ALTER TYPE mood ADD VALUE 'content' BEFORE 'happy';
CREATE TABLE every (
	b bool, i2 int2 NOT NULL, i4 int4, i8 int8 NOT NULL, o oid, f4 float4, f8 float8, n numeric, n2 numeric(10, 2),
	t text NOT NULL, v varchar(20), c char(5), na name, y bytea, u uuid, d date, ts timestamp, ts0 timestamp(0),
		tz timestamptz(3),
	j json, jb jsonb, m mood);
SELECT registers('rt_every', 'every');
SELECT kiln_register('rt_every', 'every') = hash AS again FROM kiln_schemas WHERE name = 'rt_every';
INSERT INTO every VALUES
	(true, -32768, 2147483647, -9223372036854775808, 4294967295, 0.1, 1e300, 1.500, 12.34, '', 'varchar', 'ab',
		'pg_class', '\x00ff',
	'01020304-0506-0708-090a-0b0c0d0e0f10', '0044-03-15 BC', 'infinity', '2000-01-01 00:00:01',
		'2024-02-29 12:00:00.123+00', '{"a" : 1}',
	'[1, null]', 'content'),
	(NULL, 0, NULL, 0, NULL, NULL, NULL, NULL, NULL, 'é', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
		NULL, NULL),
	(false, 32767, 0, 9223372036854775807, 0, 'NaN', '-Infinity', 'NaN', 0, 'x', '', '', '', '', NULL, '-infinity',
		NULL, NULL, '-infinity',
	NULL, '"s"', 'sad');
-- json has no equality, so that rows are compared by their text
SELECT kiln_populate_record(NULL::every, kiln_encode('rt_every', e))::text = e::text AS comes_back FROM every AS e;
SELECT kiln_encode('rt_every', e) FROM every AS e;

-- Arrays, with as many dimensions as are declared; their elements are never optional
CREATE TYPE point2 AS (x float8, y float8);
CREATE TABLE arrays (l int[] NOT NULL, t text[], g float8[][], p point2[], m mood[], b numeric(5, 1)[]);
SELECT registers('rt_arrays', 'arrays');
SELECT comes_back('rt_arrays', NULL::arrays, r) FROM (VALUES
	(ROW('{1,2}', '{a,"",null_}', '{{1,2},{3,4}}', ARRAY[ROW(1, 2), ROW(3, NULL)]::point2[], '{sad,happy}',
		'{1.5}')::arrays),
	(ROW('{}', NULL, '{}', '{}', NULL, '{}')::arrays)) AS t (r);
SELECT attempt($$SELECT kiln_encode('rt_arrays', ROW('{1,NULL}', NULL, NULL, NULL, NULL,
	NULL)::register_type_test.arrays)$$);

-- Composites in composites are structs without a name
CREATE TYPE shape AS (name text, center point2, outline point2[]);
CREATE TABLE drawing (id int PRIMARY KEY, main shape NOT NULL, others shape[]);
SELECT registers('rt_drawing', 'drawing');
INSERT INTO drawing VALUES
	(1, ROW('a', ROW(1, 2), ARRAY[ROW(0, 0), ROW(1, NULL)]::point2[]), ARRAY[ROW('b', NULL, NULL), ROW(NULL, NULL,
		'{}')]::shape[]),
	(2, ROW(NULL, NULL, NULL), NULL);
SELECT comes_back('rt_drawing', NULL::drawing, d), kiln_encode('rt_drawing', d)->'main'->>'name' AS name
	FROM drawing AS d;
SELECT registers('rt_shape', 'shape');

-- Domains are their base; one that refuses NULL makes its column, and is as good as the column's own NOT NULL
CREATE DOMAIN percent AS float8 CHECK (VALUE BETWEEN 0 AND 100);
CREATE DOMAIN known AS percent NOT NULL;
CREATE DOMAIN grid AS int[][];
CREATE DOMAIN shape_of_mine AS shape;
CREATE TABLE domains (p percent, k known, kk known[], g grid, s shape_of_mine);
SELECT registers('rt_domains', 'domains');
SELECT registers('rt_domain', 'shape_of_mine') = replace(registers('rt_shape', 'shape'), 'rt_shape',
	'rt_domain') AS domain_of_rows;
SELECT comes_back('rt_domains', NULL::domains, ROW(50, 1, '{1,2}', '{{1,2}}', ROW('n', NULL, NULL))::domains);

-- Dropped columns are none, added ones come last: a new version of the name. Views have no constraints.
ALTER TABLE drawing DROP COLUMN others, ADD COLUMN note text;
SELECT registers('rt_drawing', 'drawing');
SELECT version, definition FROM kiln_schemas WHERE name = 'rt_drawing' ORDER BY version;
SELECT comes_back('rt_drawing', NULL::drawing, d) FROM drawing AS d;
CREATE VIEW seen AS SELECT id, note FROM drawing;
SELECT registers('rt_seen', 'seen');

-- Names are as they are, quoted where a definition asks for it; the schema's name too
CREATE TABLE "Odd" ("A b" int, "q""q" int, "é" int, "i32" int);
SELECT registers('Rt Odd', '"Odd"');
CREATE TABLE odd_typed (v kiln("Rt Odd"));
INSERT INTO odd_typed SELECT kiln_encode('"Rt Odd"', ROW(1, 2, 3, 4)::"Odd");
SELECT v, kiln_populate_record(NULL::"Odd", v) FROM odd_typed;

-- What can't be: a type without a counterpart, here and deeper, is named
CREATE TYPE hours AS (a text, b interval);
CREATE TABLE no1 (i int, h hours[]);
CREATE TABLE no2 (i int, r int4range);
CREATE TABLE no3 (i int, k kiln(message));
CREATE TABLE no4 (i int, k kiln[]);
CREATE TABLE no5 ();
CREATE TYPE nothing AS ENUM ();
CREATE TABLE no6 (e nothing);
CREATE TABLE no7 (v int2vector, t time);
CREATE TABLE no8 ("$id" int);
CREATE TYPE empty_label AS ENUM ('');
CREATE TABLE no9 (e empty_label);
SELECT t, registers('rt_no', t) FROM unnest(ARRAY['no1', 'no2', 'no3', 'no4', 'no5', 'no6', 'no7', 'no8', 'no9', 'int',
	'mood', 'int[]',
	'record', 'percent']::regtype[]) AS t;
SELECT attempt('SELECT kiln_register(''rt_no'', 4294967295::regtype)');
\set VERBOSITY default
\set SHOW_CONTEXT errors
SELECT kiln_register('rt_no', 'no8');
SELECT name, registers(name, 'point2') FROM unnest(ARRAY['', '$x', 'tensor', '42', 'int', repeat('n', 64)]) AS name;

-- Types that multiply end at the length of a definition, in no time
DO $$
DECLARE
	columns text := (SELECT string_agg(format('c%s register_type_test.big%%1$s', i), ',') FROM generate_series(1,
		20) AS i);
BEGIN
	CREATE TYPE big0 AS (a int, b int);
	FOR i IN 1..4 LOOP
		EXECUTE format('CREATE TYPE big%s AS (%s)', i, format(columns, i - 1));
	END LOOP;
END $$;
SELECT registers('rt_big', 'big4');
-- and nested ones at its depth
DO $$
BEGIN
	CREATE TYPE deep0 AS (a int);
	FOR i IN 1..40 LOOP
		EXECUTE format('CREATE TYPE deep%s AS (c deep%s)', i, i - 1);
	END LOOP;
END $$;
SELECT registers('rt_deep', 'deep40');
SELECT registers('rt_deep', 'deep13') IS NOT NULL AS deep;

-- It is registration like any other: rights, transactions, NULL
SELECT kiln_register(NULL, 'point2'::regtype) IS NULL AS none;
CREATE ROLE register_type_nobody;
GRANT USAGE ON SCHEMA register_type_test TO register_type_nobody;
SET ROLE register_type_nobody;
SELECT registers('rt_denied', 'point2');
SELECT registers('rt_shape', 'shape') IS NOT NULL AS known_to_all;
RESET ROLE;
BEGIN READ ONLY;
SELECT registers('rt_denied', 'point2');
ROLLBACK;
BEGIN;
SELECT kiln_register('rt_undone', 'point2') IS NOT NULL AS done;
ROLLBACK;
SELECT count(*) AS undone FROM kiln_schemas WHERE name = 'rt_undone';

SELECT 1 AS still_here;
RESET search_path;
DROP SCHEMA register_type_test CASCADE;
DROP ROLE register_type_nobody;
