/* kiln--1.0.sql: the SQL objects of the kiln extension, version 1.0 */

-- complain if script is sourced in psql, rather than via CREATE EXTENSION
\echo Use "CREATE EXTENSION kiln" to load this file. \quit

------------------------------------------------------------------------
-- the type
------------------------------------------------------------------------

CREATE TYPE kiln;

CREATE FUNCTION kiln_in(cstring, oid, integer) RETURNS kiln
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION kiln_in(cstring, oid, integer) IS 'text input';

CREATE FUNCTION kiln_out(kiln) RETURNS cstring
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION kiln_out(kiln) IS 'text output';

CREATE FUNCTION kiln_recv(internal, oid, integer) RETURNS kiln
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION kiln_recv(internal, oid, integer) IS 'binary input';

CREATE FUNCTION kiln_send(kiln) RETURNS bytea
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION kiln_send(kiln) IS 'binary output';


CREATE FUNCTION kiln_typmod_in(cstring[]) RETURNS integer
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION kiln_typmod_in(cstring[]) IS 'type modifier input: the name of a schema, or its number';

CREATE FUNCTION kiln_typmod_out(integer) RETURNS cstring
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION kiln_typmod_out(integer) IS 'type modifier output';

CREATE FUNCTION kiln_subscript(internal) RETURNS internal
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION kiln_subscript(internal) IS 'subscripting handler';

CREATE TYPE kiln (
	INPUT = kiln_in,
	OUTPUT = kiln_out,
	RECEIVE = kiln_recv,
	SEND = kiln_send,
	TYPMOD_IN = kiln_typmod_in,
	TYPMOD_OUT = kiln_typmod_out,
	SUBSCRIPT = kiln_subscript,
	INTERNALLENGTH = VARIABLE,
	ALIGNMENT = int4,
	STORAGE = external
);
COMMENT ON TYPE kiln IS 'typed binary record or tensor directory; kiln(name) takes records of one schema only';

CREATE FUNCTION kiln_coerce(kiln, integer, boolean) RETURNS kiln
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION kiln_coerce(kiln, integer, boolean) IS 'fit a value to a typed column';

CREATE CAST (kiln AS kiln) WITH FUNCTION kiln_coerce(kiln, integer, boolean) AS IMPLICIT;
COMMENT ON CAST (kiln AS kiln) IS 'fit a value to a typed column';

------------------------------------------------------------------------
-- the registry
------------------------------------------------------------------------

CREATE FUNCTION kiln_fdw_validator(text[], oid) RETURNS void
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION kiln_fdw_validator(text[], oid) IS 'check a definition that CREATE SERVER or ALTER SERVER gives';

CREATE FOREIGN DATA WRAPPER kiln VALIDATOR kiln_fdw_validator;
COMMENT ON FOREIGN DATA WRAPPER kiln IS 'registry of kiln definitions: each is a server of this wrapper; USAGE is the right to register';

-- A trusted extension's wrapper belongs to the bootstrap superuser; who owns the extension registers, and says who else may.
GRANT USAGE ON FOREIGN DATA WRAPPER kiln TO @extowner@ WITH GRANT OPTION;

CREATE FUNCTION kiln_register(definition text) RETURNS text
	AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE;
COMMENT ON FUNCTION kiln_register(text) IS 'register a definition; its hash';

CREATE FUNCTION kiln_forget(name text) RETURNS integer
	AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE;
COMMENT ON FUNCTION kiln_forget(text) IS 'drop all versions of a schema that no column is typed with; their number';

CREATE FUNCTION kiln_dump_schemas() RETURNS SETOF text
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE STRICT PARALLEL SAFE ROWS 100;
COMMENT ON FUNCTION kiln_dump_schemas() IS 'statements that register all definitions in another database, in order';

CREATE FUNCTION kiln_schemas(OUT name text, OUT version bigint, OUT hash text,
		OUT definition text, OUT valid boolean, OUT typmod integer, OUT server text)
	RETURNS SETOF record
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE STRICT PARALLEL SAFE ROWS 100;
COMMENT ON FUNCTION kiln_schemas() IS 'all entries of the registry; see view kiln_schemas';

CREATE VIEW kiln_schemas AS
	SELECT s.name, s.version, s.hash, s.definition, s.valid, s.server
	FROM kiln_schemas() AS s;
COMMENT ON VIEW kiln_schemas IS 'registered definitions; an entry that is not what its name says has valid = false and decodes nothing';
GRANT SELECT ON kiln_schemas TO PUBLIC;

-- Types that hold kiln values, with the typmod that a domain fixes; from them all columns that have a typmod.
CREATE VIEW kiln_columns AS
	WITH RECURSIVE holders(oid, typmod) AS (
		SELECT k.oid, NULL::integer
		FROM pg_catalog.unnest(ARRAY['kiln'::regtype::oid,
									 'kiln[]'::regtype::oid]) AS k(oid)
		UNION
		SELECT t.oid,
			CASE WHEN t.typtypmod OPERATOR(pg_catalog.>=) 0 THEN t.typtypmod ELSE h.typmod END
		FROM holders AS h
			JOIN pg_catalog.pg_type AS t
				ON (t.typbasetype OPERATOR(pg_catalog.=) h.oid
					OR t.typelem OPERATOR(pg_catalog.=) h.oid)
		WHERE t.typtype OPERATOR(pg_catalog.=) 'd'::pg_catalog."char" OR h.typmod IS NOT NULL
	),
	typed AS (
		SELECT a.attrelid, a.attname, a.attnum,
			CASE WHEN a.atttypmod OPERATOR(pg_catalog.>=) 0 THEN a.atttypmod ELSE h.typmod END AS typmod
		FROM pg_catalog.pg_attribute AS a
			JOIN holders AS h ON a.atttypid OPERATOR(pg_catalog.=) h.oid
		WHERE a.attnum OPERATOR(pg_catalog.>) 0 AND NOT a.attisdropped
	),
	known AS (
		SELECT s.typmod, pg_catalog.max(s.name) AS name, pg_catalog.max(s.version) AS version
		FROM kiln_schemas() AS s
		WHERE s.valid
		GROUP BY s.typmod
	)
	SELECT n.nspname AS table_schema, c.relname AS table_name, t.attname AS column_name, t.attnum AS column_number,
		CASE WHEN kiln_typmod_out(t.typmod)::text OPERATOR(pg_catalog.=) '(tensor)'::text
			THEN 'tensor'::text ELSE k.name END AS schema_name,
		t.typmod,
		CASE WHEN kiln_typmod_out(t.typmod)::text OPERATOR(pg_catalog.=) '(tensor)'::text
			THEN NULL ELSE k.name IS NOT NULL END AS registered,
		k.version AS latest_version
	FROM typed AS t
		JOIN pg_catalog.pg_class AS c ON c.oid OPERATOR(pg_catalog.=) t.attrelid
		JOIN pg_catalog.pg_namespace AS n ON n.oid OPERATOR(pg_catalog.=) c.relnamespace
		LEFT JOIN known AS k ON k.typmod OPERATOR(pg_catalog.=) t.typmod
	WHERE t.typmod IS NOT NULL
		AND c.relkind OPERATOR(pg_catalog.=) ANY ('{r,p,v,m,f,c}'::pg_catalog."char"[]);
COMMENT ON VIEW kiln_columns IS 'columns of type kiln(name), and whether a schema of that name is registered; NULL for kiln(tensor)';
GRANT SELECT ON kiln_columns TO PUBLIC;

CREATE FUNCTION kiln_register(name text, type regtype) RETURNS text
	AS 'MODULE_PATHNAME', 'kiln_register_type' LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE;
COMMENT ON FUNCTION kiln_register(text, regtype) IS 'register the columns of a table or composite type as a definition; its hash';

------------------------------------------------------------------------
-- reading
------------------------------------------------------------------------

CREATE FUNCTION kiln_getter_support(internal) RETURNS internal
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION kiln_getter_support(internal) IS 'planner support: chains of operators as one accessor call';

CREATE FUNCTION kiln_get(value kiln, path text) RETURNS text
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE
	SUPPORT kiln_getter_support;
COMMENT ON FUNCTION kiln_get(value kiln, path text) IS 'value at a path, as text';

CREATE FUNCTION kiln_get_bool(value kiln, path text) RETURNS boolean
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION kiln_get_bool(value kiln, path text) IS 'value at a path, as boolean';

CREATE FUNCTION kiln_get_int2(value kiln, path text) RETURNS smallint
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION kiln_get_int2(value kiln, path text) IS 'value at a path, as smallint';

CREATE FUNCTION kiln_get_int4(value kiln, path text) RETURNS integer
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION kiln_get_int4(value kiln, path text) IS 'value at a path, as integer';

CREATE FUNCTION kiln_get_int8(value kiln, path text) RETURNS bigint
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION kiln_get_int8(value kiln, path text) IS 'value at a path, as bigint';

CREATE FUNCTION kiln_get_float4(value kiln, path text) RETURNS real
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION kiln_get_float4(value kiln, path text) IS 'value at a path, as real';

CREATE FUNCTION kiln_get_float8(value kiln, path text) RETURNS double precision
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION kiln_get_float8(value kiln, path text) IS 'value at a path, as double precision';

CREATE FUNCTION kiln_get_numeric(value kiln, path text) RETURNS numeric
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION kiln_get_numeric(value kiln, path text) IS 'value at a path, as numeric';

CREATE FUNCTION kiln_get_text(value kiln, path text) RETURNS text
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION kiln_get_text(value kiln, path text) IS 'value at a path, as text';

CREATE FUNCTION kiln_get_bytea(value kiln, path text) RETURNS bytea
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION kiln_get_bytea(value kiln, path text) IS 'value at a path, as bytea';

CREATE FUNCTION kiln_get_uuid(value kiln, path text) RETURNS uuid
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION kiln_get_uuid(value kiln, path text) IS 'value at a path, as uuid';

CREATE FUNCTION kiln_get_date(value kiln, path text) RETURNS date
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION kiln_get_date(value kiln, path text) IS 'value at a path, as date';

CREATE FUNCTION kiln_get_timestamp(value kiln, path text) RETURNS timestamp without time zone
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION kiln_get_timestamp(value kiln, path text) IS 'value at a path, as timestamp without time zone';

CREATE FUNCTION kiln_get_timestamptz(value kiln, path text) RETURNS timestamp with time zone
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION kiln_get_timestamptz(value kiln, path text) IS 'value at a path, as timestamp with time zone';

CREATE FUNCTION kiln_get_json(value kiln, path text) RETURNS json
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION kiln_get_json(value kiln, path text) IS 'value at a path, as json';

CREATE FUNCTION kiln_get_jsonb(value kiln, path text) RETURNS jsonb
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION kiln_get_jsonb(value kiln, path text) IS 'value at a path, as jsonb';

CREATE FUNCTION kiln_get_kiln(value kiln, path text) RETURNS kiln
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION kiln_get_kiln(value kiln, path text) IS 'value at a path, as kiln';

CREATE FUNCTION kiln_get(value kiln, path text, witness anyelement) RETURNS anyelement
	AS 'MODULE_PATHNAME', 'kiln_get_as' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION kiln_get(value kiln, path text, witness anyelement) IS 'value at a path, as the type of the third argument';

CREATE FUNCTION kiln_object_field(kiln, text) RETURNS kiln
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION kiln_object_field(kiln, text) IS 'implementation of -> operator';

CREATE FUNCTION kiln_object_field_text(kiln, text) RETURNS text
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE
	SUPPORT kiln_getter_support;
COMMENT ON FUNCTION kiln_object_field_text(kiln, text) IS 'implementation of ->> operator';

CREATE FUNCTION kiln_list_element(kiln, integer) RETURNS kiln
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION kiln_list_element(kiln, integer) IS 'implementation of -> operator';

CREATE FUNCTION kiln_list_element_text(kiln, integer) RETURNS text
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE
	SUPPORT kiln_getter_support;
COMMENT ON FUNCTION kiln_list_element_text(kiln, integer) IS 'implementation of ->> operator';

CREATE FUNCTION kiln_extract_path(kiln, text[]) RETURNS kiln
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION kiln_extract_path(kiln, text[]) IS 'implementation of #> operator';

CREATE FUNCTION kiln_extract_path_text(kiln, text[]) RETURNS text
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION kiln_extract_path_text(kiln, text[]) IS 'implementation of #>> operator';

CREATE FUNCTION kiln_exists(kiln, text) RETURNS boolean
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION kiln_exists(kiln, text) IS 'implementation of ? operator';

CREATE OPERATOR -> (
	LEFTARG = kiln, RIGHTARG = text, FUNCTION = kiln_object_field
);
COMMENT ON OPERATOR ->(kiln, text) IS 'field or key, as kiln';

CREATE OPERATOR ->> (
	LEFTARG = kiln, RIGHTARG = text, FUNCTION = kiln_object_field_text
);
COMMENT ON OPERATOR ->>(kiln, text) IS 'field or key, as text';

CREATE OPERATOR -> (
	LEFTARG = kiln, RIGHTARG = integer, FUNCTION = kiln_list_element
);
COMMENT ON OPERATOR ->(kiln, integer) IS 'list element, from 0, as kiln';

CREATE OPERATOR ->> (
	LEFTARG = kiln, RIGHTARG = integer, FUNCTION = kiln_list_element_text
);
COMMENT ON OPERATOR ->>(kiln, integer) IS 'list element, from 0, as text';

CREATE OPERATOR #> (
	LEFTARG = kiln, RIGHTARG = text[], FUNCTION = kiln_extract_path
);
COMMENT ON OPERATOR #>(kiln, text[]) IS 'value at a path of keys and positions, as kiln';

CREATE OPERATOR #>> (
	LEFTARG = kiln, RIGHTARG = text[], FUNCTION = kiln_extract_path_text
);
COMMENT ON OPERATOR #>>(kiln, text[]) IS 'value at a path of keys and positions, as text';

CREATE OPERATOR ? (
	LEFTARG = kiln, RIGHTARG = text, FUNCTION = kiln_exists,
	RESTRICT = contsel, JOIN = contjoinsel
);
COMMENT ON OPERATOR ?(kiln, text) IS 'is the field or key present and not null?';

------------------------------------------------------------------------
-- casts from kiln: explicit only, and none to text (value::text is the text form)
------------------------------------------------------------------------

CREATE FUNCTION kiln_to_bool(kiln) RETURNS boolean
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE
	SUPPORT kiln_getter_support;
COMMENT ON FUNCTION kiln_to_bool(kiln) IS 'boolean of a whole value';

CREATE CAST (kiln AS boolean) WITH FUNCTION kiln_to_bool(kiln);
COMMENT ON CAST (kiln AS boolean) IS 'boolean of a whole value';

CREATE FUNCTION kiln_to_int2(kiln) RETURNS smallint
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE
	SUPPORT kiln_getter_support;
COMMENT ON FUNCTION kiln_to_int2(kiln) IS 'smallint of a whole value';

CREATE CAST (kiln AS smallint) WITH FUNCTION kiln_to_int2(kiln);
COMMENT ON CAST (kiln AS smallint) IS 'smallint of a whole value';

CREATE FUNCTION kiln_to_int4(kiln) RETURNS integer
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE
	SUPPORT kiln_getter_support;
COMMENT ON FUNCTION kiln_to_int4(kiln) IS 'integer of a whole value';

CREATE CAST (kiln AS integer) WITH FUNCTION kiln_to_int4(kiln);
COMMENT ON CAST (kiln AS integer) IS 'integer of a whole value';

CREATE FUNCTION kiln_to_int8(kiln) RETURNS bigint
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE
	SUPPORT kiln_getter_support;
COMMENT ON FUNCTION kiln_to_int8(kiln) IS 'bigint of a whole value';

CREATE CAST (kiln AS bigint) WITH FUNCTION kiln_to_int8(kiln);
COMMENT ON CAST (kiln AS bigint) IS 'bigint of a whole value';

CREATE FUNCTION kiln_to_float4(kiln) RETURNS real
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE
	SUPPORT kiln_getter_support;
COMMENT ON FUNCTION kiln_to_float4(kiln) IS 'real of a whole value';

CREATE CAST (kiln AS real) WITH FUNCTION kiln_to_float4(kiln);
COMMENT ON CAST (kiln AS real) IS 'real of a whole value';

CREATE FUNCTION kiln_to_float8(kiln) RETURNS double precision
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE
	SUPPORT kiln_getter_support;
COMMENT ON FUNCTION kiln_to_float8(kiln) IS 'double precision of a whole value';

CREATE CAST (kiln AS double precision) WITH FUNCTION kiln_to_float8(kiln);
COMMENT ON CAST (kiln AS double precision) IS 'double precision of a whole value';

CREATE FUNCTION kiln_to_numeric(kiln) RETURNS numeric
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE
	SUPPORT kiln_getter_support;
COMMENT ON FUNCTION kiln_to_numeric(kiln) IS 'numeric of a whole value';

CREATE CAST (kiln AS numeric) WITH FUNCTION kiln_to_numeric(kiln);
COMMENT ON CAST (kiln AS numeric) IS 'numeric of a whole value';

CREATE FUNCTION kiln_to_bytea(kiln) RETURNS bytea
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE
	SUPPORT kiln_getter_support;
COMMENT ON FUNCTION kiln_to_bytea(kiln) IS 'bytea of a whole value';

CREATE CAST (kiln AS bytea) WITH FUNCTION kiln_to_bytea(kiln);
COMMENT ON CAST (kiln AS bytea) IS 'bytea of a whole value';

CREATE FUNCTION kiln_to_uuid(kiln) RETURNS uuid
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE
	SUPPORT kiln_getter_support;
COMMENT ON FUNCTION kiln_to_uuid(kiln) IS 'uuid of a whole value';

CREATE CAST (kiln AS uuid) WITH FUNCTION kiln_to_uuid(kiln);
COMMENT ON CAST (kiln AS uuid) IS 'uuid of a whole value';

CREATE FUNCTION kiln_to_date(kiln) RETURNS date
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE
	SUPPORT kiln_getter_support;
COMMENT ON FUNCTION kiln_to_date(kiln) IS 'date of a whole value';

CREATE CAST (kiln AS date) WITH FUNCTION kiln_to_date(kiln);
COMMENT ON CAST (kiln AS date) IS 'date of a whole value';

CREATE FUNCTION kiln_to_timestamp(kiln) RETURNS timestamp without time zone
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE
	SUPPORT kiln_getter_support;
COMMENT ON FUNCTION kiln_to_timestamp(kiln) IS 'timestamp without time zone of a whole value';

CREATE CAST (kiln AS timestamp without time zone) WITH FUNCTION kiln_to_timestamp(kiln);
COMMENT ON CAST (kiln AS timestamp without time zone) IS 'timestamp without time zone of a whole value';

CREATE FUNCTION kiln_to_timestamptz(kiln) RETURNS timestamp with time zone
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE
	SUPPORT kiln_getter_support;
COMMENT ON FUNCTION kiln_to_timestamptz(kiln) IS 'timestamp with time zone of a whole value';

CREATE CAST (kiln AS timestamp with time zone) WITH FUNCTION kiln_to_timestamptz(kiln);
COMMENT ON CAST (kiln AS timestamp with time zone) IS 'timestamp with time zone of a whole value';

CREATE FUNCTION kiln_to_json(kiln) RETURNS json
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE
	SUPPORT kiln_getter_support;
COMMENT ON FUNCTION kiln_to_json(kiln) IS 'json of a whole value';

CREATE CAST (kiln AS json) WITH FUNCTION kiln_to_json(kiln);
COMMENT ON CAST (kiln AS json) IS 'json of a whole value';

CREATE FUNCTION kiln_to_jsonb(kiln) RETURNS jsonb
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE
	SUPPORT kiln_getter_support;
COMMENT ON FUNCTION kiln_to_jsonb(kiln) IS 'jsonb of a whole value';

CREATE CAST (kiln AS jsonb) WITH FUNCTION kiln_to_jsonb(kiln);
COMMENT ON CAST (kiln AS jsonb) IS 'jsonb of a whole value';

------------------------------------------------------------------------
-- containment: the planner sees through it to the cast, and so to a GIN index on it
------------------------------------------------------------------------

CREATE FUNCTION kiln_contains(value kiln, query jsonb) RETURNS boolean
	LANGUAGE SQL IMMUTABLE STRICT PARALLEL SAFE
	RETURN value::jsonb OPERATOR(pg_catalog.@>) query;
COMMENT ON FUNCTION kiln_contains(value kiln, query jsonb) IS 'implementation of @> operator';

CREATE OPERATOR @> (
	LEFTARG = kiln, RIGHTARG = jsonb, FUNCTION = kiln_contains,
	RESTRICT = matchingsel, JOIN = matchingjoinsel
);
COMMENT ON OPERATOR @>(kiln, jsonb) IS 'does the value as jsonb contain this?';

------------------------------------------------------------------------
-- encoding
------------------------------------------------------------------------

CREATE FUNCTION kiln_encode(schema text, value record) RETURNS kiln
	AS 'MODULE_PATHNAME', 'kiln_encode_record' LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION kiln_encode(text, record) IS 'encode a row, column by column name, as a kiln value';

CREATE FUNCTION kiln_encode(schema text, value jsonb) RETURNS kiln
	AS 'MODULE_PATHNAME', 'kiln_encode_jsonb' LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION kiln_encode(text, jsonb) IS 'encode jsonb as a kiln value';

CREATE FUNCTION kiln_encode(schema text, value json) RETURNS kiln
	AS 'MODULE_PATHNAME', 'kiln_encode_json' LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION kiln_encode(text, json) IS 'encode JSON text as a kiln value';

CREATE FUNCTION kiln_encode(schema text, value text) RETURNS kiln
	AS 'MODULE_PATHNAME', 'kiln_encode_json' LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION kiln_encode(text, text) IS 'encode JSON text as a kiln value';

CREATE FUNCTION kiln_from_json(json, integer, boolean) RETURNS kiln
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION kiln_from_json(json, integer, boolean) IS 'cast from json: reads it as text input reads its text';
CREATE CAST (json AS kiln) WITH FUNCTION kiln_from_json(json, integer, boolean) AS ASSIGNMENT;
COMMENT ON CAST (json AS kiln) IS 'as text input; into a typed column, the latest version of its schema';

CREATE FUNCTION kiln_from_jsonb(jsonb, integer, boolean) RETURNS kiln
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION kiln_from_jsonb(jsonb, integer, boolean) IS 'cast from jsonb: reads it as text input reads its text';
CREATE CAST (jsonb AS kiln) WITH FUNCTION kiln_from_jsonb(jsonb, integer, boolean) AS ASSIGNMENT;
COMMENT ON CAST (jsonb AS kiln) IS 'as text input; into a typed column, the latest version of its schema';

CREATE FUNCTION kiln_from_bool(boolean) RETURNS kiln
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION kiln_from_bool(boolean) IS 'an inline value of type bool';
CREATE CAST (boolean AS kiln) WITH FUNCTION kiln_from_bool(boolean) AS ASSIGNMENT;
COMMENT ON CAST (boolean AS kiln) IS 'an inline value of type bool';

CREATE FUNCTION kiln_from_int2(smallint) RETURNS kiln
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION kiln_from_int2(smallint) IS 'an inline value of type i16';
CREATE CAST (smallint AS kiln) WITH FUNCTION kiln_from_int2(smallint) AS ASSIGNMENT;
COMMENT ON CAST (smallint AS kiln) IS 'an inline value of type i16';

CREATE FUNCTION kiln_from_int4(integer) RETURNS kiln
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION kiln_from_int4(integer) IS 'an inline value of type i32';
CREATE CAST (integer AS kiln) WITH FUNCTION kiln_from_int4(integer) AS ASSIGNMENT;
COMMENT ON CAST (integer AS kiln) IS 'an inline value of type i32';

CREATE FUNCTION kiln_from_int8(bigint) RETURNS kiln
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION kiln_from_int8(bigint) IS 'an inline value of type i64';
CREATE CAST (bigint AS kiln) WITH FUNCTION kiln_from_int8(bigint) AS ASSIGNMENT;
COMMENT ON CAST (bigint AS kiln) IS 'an inline value of type i64';

CREATE FUNCTION kiln_from_float4(real) RETURNS kiln
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION kiln_from_float4(real) IS 'an inline value of type f32';
CREATE CAST (real AS kiln) WITH FUNCTION kiln_from_float4(real) AS ASSIGNMENT;
COMMENT ON CAST (real AS kiln) IS 'an inline value of type f32';

CREATE FUNCTION kiln_from_float8(double precision) RETURNS kiln
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION kiln_from_float8(double precision) IS 'an inline value of type f64';
CREATE CAST (double precision AS kiln) WITH FUNCTION kiln_from_float8(double precision) AS ASSIGNMENT;
COMMENT ON CAST (double precision AS kiln) IS 'an inline value of type f64';

CREATE FUNCTION kiln_from_numeric(numeric) RETURNS kiln
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION kiln_from_numeric(numeric) IS 'an inline value of type numeric';
CREATE CAST (numeric AS kiln) WITH FUNCTION kiln_from_numeric(numeric) AS ASSIGNMENT;
COMMENT ON CAST (numeric AS kiln) IS 'an inline value of type numeric';

CREATE FUNCTION kiln_from_uuid(uuid) RETURNS kiln
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION kiln_from_uuid(uuid) IS 'an inline value of type uuid';
CREATE CAST (uuid AS kiln) WITH FUNCTION kiln_from_uuid(uuid) AS ASSIGNMENT;
COMMENT ON CAST (uuid AS kiln) IS 'an inline value of type uuid';

CREATE FUNCTION kiln_from_date(date) RETURNS kiln
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION kiln_from_date(date) IS 'an inline value of type date';
CREATE CAST (date AS kiln) WITH FUNCTION kiln_from_date(date) AS ASSIGNMENT;
COMMENT ON CAST (date AS kiln) IS 'an inline value of type date';

CREATE FUNCTION kiln_from_timestamp(timestamp without time zone) RETURNS kiln
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION kiln_from_timestamp(timestamp without time zone) IS 'an inline value of type timestamp';
CREATE CAST (timestamp without time zone AS kiln) WITH FUNCTION kiln_from_timestamp(timestamp without time zone) AS ASSIGNMENT;
COMMENT ON CAST (timestamp without time zone AS kiln) IS 'an inline value of type timestamp';

CREATE FUNCTION kiln_from_timestamptz(timestamp with time zone) RETURNS kiln
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION kiln_from_timestamptz(timestamp with time zone) IS 'an inline value of type timestamptz';
CREATE CAST (timestamp with time zone AS kiln) WITH FUNCTION kiln_from_timestamptz(timestamp with time zone) AS ASSIGNMENT;
COMMENT ON CAST (timestamp with time zone AS kiln) IS 'an inline value of type timestamptz';

------------------------------------------------------------------------
-- comparison and operator classes
------------------------------------------------------------------------

CREATE FUNCTION kiln_eq(kiln, kiln) RETURNS boolean
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION kiln_eq(kiln, kiln) IS 'implementation of = operator';

CREATE FUNCTION kiln_ne(kiln, kiln) RETURNS boolean
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION kiln_ne(kiln, kiln) IS 'implementation of <> operator';

CREATE FUNCTION kiln_lt(kiln, kiln) RETURNS boolean
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION kiln_lt(kiln, kiln) IS 'implementation of < operator';

CREATE FUNCTION kiln_le(kiln, kiln) RETURNS boolean
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION kiln_le(kiln, kiln) IS 'implementation of <= operator';

CREATE FUNCTION kiln_gt(kiln, kiln) RETURNS boolean
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION kiln_gt(kiln, kiln) IS 'implementation of > operator';

CREATE FUNCTION kiln_ge(kiln, kiln) RETURNS boolean
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION kiln_ge(kiln, kiln) IS 'implementation of >= operator';

CREATE FUNCTION kiln_cmp(kiln, kiln) RETURNS integer
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION kiln_cmp(kiln, kiln) IS 'less-equal-greater';

CREATE FUNCTION kiln_hash_value(kiln) RETURNS integer
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION kiln_hash_value(kiln) IS 'hash';

CREATE FUNCTION kiln_hash_value_extended(kiln, bigint) RETURNS bigint
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION kiln_hash_value_extended(kiln, bigint) IS 'hash';

CREATE OPERATOR = (
	LEFTARG = kiln, RIGHTARG = kiln, FUNCTION = kiln_eq,
	COMMUTATOR = =, NEGATOR = <>, RESTRICT = eqsel, JOIN = eqjoinsel, HASHES, MERGES
);
COMMENT ON OPERATOR =(kiln, kiln) IS 'equal';

CREATE OPERATOR <> (
	LEFTARG = kiln, RIGHTARG = kiln, FUNCTION = kiln_ne,
	COMMUTATOR = <>, NEGATOR = =, RESTRICT = neqsel, JOIN = neqjoinsel
);
COMMENT ON OPERATOR <>(kiln, kiln) IS 'not equal';

CREATE OPERATOR < (
	LEFTARG = kiln, RIGHTARG = kiln, FUNCTION = kiln_lt,
	COMMUTATOR = >, NEGATOR = >=, RESTRICT = scalarltsel, JOIN = scalarltjoinsel
);
COMMENT ON OPERATOR <(kiln, kiln) IS 'less than';

CREATE OPERATOR <= (
	LEFTARG = kiln, RIGHTARG = kiln, FUNCTION = kiln_le,
	COMMUTATOR = >=, NEGATOR = >, RESTRICT = scalarlesel, JOIN = scalarlejoinsel
);
COMMENT ON OPERATOR <=(kiln, kiln) IS 'less than or equal';

CREATE OPERATOR > (
	LEFTARG = kiln, RIGHTARG = kiln, FUNCTION = kiln_gt,
	COMMUTATOR = <, NEGATOR = <=, RESTRICT = scalargtsel, JOIN = scalargtjoinsel
);
COMMENT ON OPERATOR >(kiln, kiln) IS 'greater than';

CREATE OPERATOR >= (
	LEFTARG = kiln, RIGHTARG = kiln, FUNCTION = kiln_ge,
	COMMUTATOR = <=, NEGATOR = <, RESTRICT = scalargesel, JOIN = scalargejoinsel
);
COMMENT ON OPERATOR >=(kiln, kiln) IS 'greater than or equal';

CREATE OPERATOR CLASS kiln_ops DEFAULT FOR TYPE kiln USING btree AS
	OPERATOR 1 <, OPERATOR 2 <=, OPERATOR 3 =, OPERATOR 4 >=, OPERATOR 5 >,
	FUNCTION 1 kiln_cmp(kiln, kiln);
COMMENT ON OPERATOR CLASS kiln_ops USING btree IS 'order of values: scalars by value, then records, then tensors';

CREATE OPERATOR CLASS kiln_ops DEFAULT FOR TYPE kiln USING hash AS
	OPERATOR 1 =,
	FUNCTION 1 kiln_hash_value(kiln),
	FUNCTION 2 kiln_hash_value_extended(kiln, bigint);
COMMENT ON OPERATOR CLASS kiln_ops USING hash IS 'equality of values';

------------------------------------------------------------------------
-- tensors
------------------------------------------------------------------------

-- from arrays

CREATE FUNCTION kiln_tensor(elements anyarray, name text DEFAULT '', dtype text DEFAULT NULL) RETURNS kiln
	AS 'MODULE_PATHNAME', 'kiln_tensor_from_array' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION kiln_tensor(elements anyarray, name text, dtype text) IS 'tensor from an array';

-- parts

CREATE FUNCTION kiln_at(value kiln) RETURNS double precision
	AS 'MODULE_PATHNAME', 'kiln_at_scalar' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION kiln_at(value kiln) IS 'the element of a tensor without dimensions';

CREATE FUNCTION kiln_at(value kiln, i bigint) RETURNS double precision
	AS 'MODULE_PATHNAME', 'kiln_at_position' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION kiln_at(value kiln, i bigint) IS 'element of a tensor, counted from 1';

CREATE FUNCTION kiln_at(value kiln, VARIADIC positions bigint[]) RETURNS double precision
	AS 'MODULE_PATHNAME', 'kiln_at_positions' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION kiln_at(value kiln, VARIADIC positions bigint[]) IS 'element of a tensor, positions counted from 1';

CREATE FUNCTION kiln_at(value kiln, name text) RETURNS double precision
	AS 'MODULE_PATHNAME', 'kiln_at_named_scalar' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION kiln_at(value kiln, name text) IS 'the element of a named tensor without dimensions';

CREATE FUNCTION kiln_at(value kiln, name text, i bigint) RETURNS double precision
	AS 'MODULE_PATHNAME', 'kiln_at_named_position' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION kiln_at(value kiln, name text, i bigint) IS 'element of a named tensor, counted from 1';

CREATE FUNCTION kiln_at(value kiln, name text, VARIADIC positions bigint[]) RETURNS double precision
	AS 'MODULE_PATHNAME', 'kiln_at_named_positions' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION kiln_at(value kiln, name text, VARIADIC positions bigint[]) IS 'element of a named tensor, positions counted from 1';

CREATE FUNCTION kiln_values(value kiln) RETURNS SETOF double precision
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE ROWS 1000;
COMMENT ON FUNCTION kiln_values(value kiln) IS 'elements of a tensor, in row-major order';

CREATE FUNCTION kiln_values(value kiln, name text) RETURNS SETOF double precision
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE ROWS 1000;
COMMENT ON FUNCTION kiln_values(value kiln, name text) IS 'elements of a named tensor, in row-major order';

-- to arrays

CREATE FUNCTION kiln_to_array(value kiln) RETURNS double precision[]
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION kiln_to_array(value kiln) IS 'tensor as an array of its shape';

CREATE FUNCTION kiln_to_array(value kiln, name text) RETURNS double precision[]
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION kiln_to_array(value kiln, name text) IS 'named tensor as an array of its shape';

CREATE FUNCTION kiln_to_bool_array(kiln) RETURNS boolean[]
	AS 'MODULE_PATHNAME', 'kiln_to_array_of' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION kiln_to_bool_array(kiln) IS 'cast of tensors and lists to boolean[]';
CREATE CAST (kiln AS boolean[]) WITH FUNCTION kiln_to_bool_array(kiln);
COMMENT ON CAST (kiln AS boolean[]) IS 'boolean[] of a tensor or list';

CREATE FUNCTION kiln_to_int2_array(kiln) RETURNS smallint[]
	AS 'MODULE_PATHNAME', 'kiln_to_array_of' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION kiln_to_int2_array(kiln) IS 'cast of tensors and lists to smallint[]';
CREATE CAST (kiln AS smallint[]) WITH FUNCTION kiln_to_int2_array(kiln);
COMMENT ON CAST (kiln AS smallint[]) IS 'smallint[] of a tensor or list';

CREATE FUNCTION kiln_to_int4_array(kiln) RETURNS integer[]
	AS 'MODULE_PATHNAME', 'kiln_to_array_of' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION kiln_to_int4_array(kiln) IS 'cast of tensors and lists to integer[]';
CREATE CAST (kiln AS integer[]) WITH FUNCTION kiln_to_int4_array(kiln);
COMMENT ON CAST (kiln AS integer[]) IS 'integer[] of a tensor or list';

CREATE FUNCTION kiln_to_int8_array(kiln) RETURNS bigint[]
	AS 'MODULE_PATHNAME', 'kiln_to_array_of' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION kiln_to_int8_array(kiln) IS 'cast of tensors and lists to bigint[]';
CREATE CAST (kiln AS bigint[]) WITH FUNCTION kiln_to_int8_array(kiln);
COMMENT ON CAST (kiln AS bigint[]) IS 'bigint[] of a tensor or list';

CREATE FUNCTION kiln_to_float4_array(kiln) RETURNS real[]
	AS 'MODULE_PATHNAME', 'kiln_to_array_of' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION kiln_to_float4_array(kiln) IS 'cast of tensors and lists to real[]';
CREATE CAST (kiln AS real[]) WITH FUNCTION kiln_to_float4_array(kiln);
COMMENT ON CAST (kiln AS real[]) IS 'real[] of a tensor or list';

CREATE FUNCTION kiln_to_float8_array(kiln) RETURNS double precision[]
	AS 'MODULE_PATHNAME', 'kiln_to_array_of' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION kiln_to_float8_array(kiln) IS 'cast of tensors and lists to double precision[]';
CREATE CAST (kiln AS double precision[]) WITH FUNCTION kiln_to_float8_array(kiln);
COMMENT ON CAST (kiln AS double precision[]) IS 'double precision[] of a tensor or list';

CREATE FUNCTION kiln_to_numeric_array(kiln) RETURNS numeric[]
	AS 'MODULE_PATHNAME', 'kiln_to_array_of' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION kiln_to_numeric_array(kiln) IS 'cast of tensors and lists to numeric[]';
CREATE CAST (kiln AS numeric[]) WITH FUNCTION kiln_to_numeric_array(kiln);
COMMENT ON CAST (kiln AS numeric[]) IS 'numeric[] of a tensor or list';

-- shape

CREATE FUNCTION kiln_shape(value kiln) RETURNS bigint[]
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION kiln_shape(value kiln) IS 'dimensions of a tensor';

CREATE FUNCTION kiln_shape(value kiln, name text) RETURNS bigint[]
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION kiln_shape(value kiln, name text) IS 'dimensions of a named tensor';

CREATE FUNCTION kiln_ndim(value kiln) RETURNS integer
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION kiln_ndim(value kiln) IS 'number of dimensions of a tensor';

CREATE FUNCTION kiln_ndim(value kiln, name text) RETURNS integer
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION kiln_ndim(value kiln, name text) IS 'number of dimensions of a named tensor';

CREATE FUNCTION kiln_dtype(value kiln) RETURNS text
	AS 'MODULE_PATHNAME', 'kiln_dtype_of' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION kiln_dtype(value kiln) IS 'dtype of a tensor';

CREATE FUNCTION kiln_dtype(value kiln, name text) RETURNS text
	AS 'MODULE_PATHNAME', 'kiln_dtype_of' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION kiln_dtype(value kiln, name text) IS 'dtype of a named tensor';

CREATE FUNCTION kiln_tensors(value kiln, OUT name text, OUT dtype text, OUT shape bigint[], OUT bytes bigint) RETURNS SETOF record
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE ROWS 10;
COMMENT ON FUNCTION kiln_tensors(value kiln) IS 'tensors of a directory: name, dtype, shape and bytes of the elements';

-- aggregates over rows of numbers

CREATE FUNCTION kiln_tensor_agg_bool(internal, boolean) RETURNS internal
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION kiln_tensor_agg_bool(internal, boolean) IS 'transition of kiln_tensor_agg(boolean)';

CREATE FUNCTION kiln_tensor_agg_int2(internal, smallint) RETURNS internal
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION kiln_tensor_agg_int2(internal, smallint) IS 'transition of kiln_tensor_agg(smallint)';

CREATE FUNCTION kiln_tensor_agg_int4(internal, integer) RETURNS internal
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION kiln_tensor_agg_int4(internal, integer) IS 'transition of kiln_tensor_agg(integer)';

CREATE FUNCTION kiln_tensor_agg_int8(internal, bigint) RETURNS internal
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION kiln_tensor_agg_int8(internal, bigint) IS 'transition of kiln_tensor_agg(bigint)';

CREATE FUNCTION kiln_tensor_agg_float4(internal, real) RETURNS internal
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION kiln_tensor_agg_float4(internal, real) IS 'transition of kiln_tensor_agg(real)';

CREATE FUNCTION kiln_tensor_agg_float8(internal, double precision) RETURNS internal
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION kiln_tensor_agg_float8(internal, double precision) IS 'transition of kiln_tensor_agg(double precision)';

CREATE FUNCTION kiln_tensor_agg_numeric(internal, numeric) RETURNS internal
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION kiln_tensor_agg_numeric(internal, numeric) IS 'transition of kiln_tensor_agg(numeric)';

CREATE FUNCTION kiln_tensor_agg_final(internal) RETURNS kiln
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION kiln_tensor_agg_final(internal) IS 'final function of kiln_tensor_agg';

CREATE FUNCTION kiln_tensor_agg_combine(internal, internal) RETURNS internal
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION kiln_tensor_agg_combine(internal, internal) IS 'combine function of kiln_tensor_agg';

CREATE FUNCTION kiln_tensor_agg_serialize(internal) RETURNS bytea
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION kiln_tensor_agg_serialize(internal) IS 'serialization of kiln_tensor_agg';

CREATE FUNCTION kiln_tensor_agg_deserialize(bytea, internal) RETURNS internal
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION kiln_tensor_agg_deserialize(bytea, internal) IS 'deserialization of kiln_tensor_agg';

CREATE AGGREGATE kiln_tensor_agg(boolean) (
	SFUNC = kiln_tensor_agg_bool, STYPE = internal, SSPACE = 128, FINALFUNC = kiln_tensor_agg_final, FINALFUNC_MODIFY = READ_ONLY,
	COMBINEFUNC = kiln_tensor_agg_combine, SERIALFUNC = kiln_tensor_agg_serialize, DESERIALFUNC = kiln_tensor_agg_deserialize,
	PARALLEL = SAFE
);
COMMENT ON AGGREGATE kiln_tensor_agg(boolean) IS 'values of the rows as a tensor';

CREATE AGGREGATE kiln_tensor_agg(smallint) (
	SFUNC = kiln_tensor_agg_int2, STYPE = internal, SSPACE = 128, FINALFUNC = kiln_tensor_agg_final, FINALFUNC_MODIFY = READ_ONLY,
	COMBINEFUNC = kiln_tensor_agg_combine, SERIALFUNC = kiln_tensor_agg_serialize, DESERIALFUNC = kiln_tensor_agg_deserialize,
	PARALLEL = SAFE
);
COMMENT ON AGGREGATE kiln_tensor_agg(smallint) IS 'values of the rows as a tensor';

CREATE AGGREGATE kiln_tensor_agg(integer) (
	SFUNC = kiln_tensor_agg_int4, STYPE = internal, SSPACE = 128, FINALFUNC = kiln_tensor_agg_final, FINALFUNC_MODIFY = READ_ONLY,
	COMBINEFUNC = kiln_tensor_agg_combine, SERIALFUNC = kiln_tensor_agg_serialize, DESERIALFUNC = kiln_tensor_agg_deserialize,
	PARALLEL = SAFE
);
COMMENT ON AGGREGATE kiln_tensor_agg(integer) IS 'values of the rows as a tensor';

CREATE AGGREGATE kiln_tensor_agg(bigint) (
	SFUNC = kiln_tensor_agg_int8, STYPE = internal, SSPACE = 128, FINALFUNC = kiln_tensor_agg_final, FINALFUNC_MODIFY = READ_ONLY,
	COMBINEFUNC = kiln_tensor_agg_combine, SERIALFUNC = kiln_tensor_agg_serialize, DESERIALFUNC = kiln_tensor_agg_deserialize,
	PARALLEL = SAFE
);
COMMENT ON AGGREGATE kiln_tensor_agg(bigint) IS 'values of the rows as a tensor';

CREATE AGGREGATE kiln_tensor_agg(real) (
	SFUNC = kiln_tensor_agg_float4, STYPE = internal, SSPACE = 128, FINALFUNC = kiln_tensor_agg_final, FINALFUNC_MODIFY = READ_ONLY,
	COMBINEFUNC = kiln_tensor_agg_combine, SERIALFUNC = kiln_tensor_agg_serialize, DESERIALFUNC = kiln_tensor_agg_deserialize,
	PARALLEL = SAFE
);
COMMENT ON AGGREGATE kiln_tensor_agg(real) IS 'values of the rows as a tensor';

CREATE AGGREGATE kiln_tensor_agg(double precision) (
	SFUNC = kiln_tensor_agg_float8, STYPE = internal, SSPACE = 128, FINALFUNC = kiln_tensor_agg_final, FINALFUNC_MODIFY = READ_ONLY,
	COMBINEFUNC = kiln_tensor_agg_combine, SERIALFUNC = kiln_tensor_agg_serialize, DESERIALFUNC = kiln_tensor_agg_deserialize,
	PARALLEL = SAFE
);
COMMENT ON AGGREGATE kiln_tensor_agg(double precision) IS 'values of the rows as a tensor';

CREATE AGGREGATE kiln_tensor_agg(numeric) (
	SFUNC = kiln_tensor_agg_numeric, STYPE = internal, SSPACE = 128, FINALFUNC = kiln_tensor_agg_final, FINALFUNC_MODIFY = READ_ONLY,
	COMBINEFUNC = kiln_tensor_agg_combine, SERIALFUNC = kiln_tensor_agg_serialize, DESERIALFUNC = kiln_tensor_agg_deserialize,
	PARALLEL = SAFE
);
COMMENT ON AGGREGATE kiln_tensor_agg(numeric) IS 'values of the rows as a tensor';

-- aggregates over rows of arrays and tensors

CREATE FUNCTION kiln_stack_array(internal, anyarray) RETURNS internal
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION kiln_stack_array(internal, anyarray) IS 'transition of kiln_tensor_agg(anyarray)';

CREATE FUNCTION kiln_stack_tensor(internal, kiln) RETURNS internal
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION kiln_stack_tensor(internal, kiln) IS 'transition of kiln_tensor_agg(kiln)';

CREATE FUNCTION kiln_stack_final(internal) RETURNS kiln
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION kiln_stack_final(internal) IS 'final function of kiln_tensor_agg of rows';

CREATE FUNCTION kiln_stack_combine(internal, internal) RETURNS internal
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION kiln_stack_combine(internal, internal) IS 'combine function of kiln_tensor_agg of rows';

CREATE FUNCTION kiln_stack_serialize(internal) RETURNS bytea
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION kiln_stack_serialize(internal) IS 'serialization of kiln_tensor_agg of rows';

CREATE FUNCTION kiln_stack_deserialize(bytea, internal) RETURNS internal
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION kiln_stack_deserialize(bytea, internal) IS 'deserialization of kiln_tensor_agg of rows';

CREATE AGGREGATE kiln_tensor_agg(anyarray) (
	SFUNC = kiln_stack_array, STYPE = internal, SSPACE = 1024, FINALFUNC = kiln_stack_final, FINALFUNC_MODIFY = READ_ONLY,
	COMBINEFUNC = kiln_stack_combine, SERIALFUNC = kiln_stack_serialize, DESERIALFUNC = kiln_stack_deserialize,
	PARALLEL = SAFE
);
COMMENT ON AGGREGATE kiln_tensor_agg(anyarray) IS 'arrays of one shape, stacked into a tensor of one dimension more';

CREATE AGGREGATE kiln_tensor_agg(kiln) (
	SFUNC = kiln_stack_tensor, STYPE = internal, SSPACE = 1024, FINALFUNC = kiln_stack_final, FINALFUNC_MODIFY = READ_ONLY,
	COMBINEFUNC = kiln_stack_combine, SERIALFUNC = kiln_stack_serialize, DESERIALFUNC = kiln_stack_deserialize,
	PARALLEL = SAFE
);
COMMENT ON AGGREGATE kiln_tensor_agg(kiln) IS 'tensors of one shape, stacked into a tensor of one dimension more';

CREATE FUNCTION kiln_collect_array(internal, text, anyarray) RETURNS internal
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION kiln_collect_array(internal, text, anyarray) IS 'transition of kiln_directory_agg(text, anyarray)';

CREATE FUNCTION kiln_collect_tensor(internal, text, kiln) RETURNS internal
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION kiln_collect_tensor(internal, text, kiln) IS 'transition of kiln_directory_agg(text, kiln)';

CREATE FUNCTION kiln_collect_final(internal) RETURNS kiln
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION kiln_collect_final(internal) IS 'final function of kiln_directory_agg';

CREATE FUNCTION kiln_collect_combine(internal, internal) RETURNS internal
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION kiln_collect_combine(internal, internal) IS 'combine function of kiln_directory_agg';

CREATE FUNCTION kiln_collect_serialize(internal) RETURNS bytea
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION kiln_collect_serialize(internal) IS 'serialization of kiln_directory_agg';

CREATE FUNCTION kiln_collect_deserialize(bytea, internal) RETURNS internal
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION kiln_collect_deserialize(bytea, internal) IS 'deserialization of kiln_directory_agg';

CREATE AGGREGATE kiln_directory_agg(name text, elements anyarray) (
	SFUNC = kiln_collect_array, STYPE = internal, SSPACE = 4096, FINALFUNC = kiln_collect_final, FINALFUNC_MODIFY = READ_ONLY,
	COMBINEFUNC = kiln_collect_combine, SERIALFUNC = kiln_collect_serialize, DESERIALFUNC = kiln_collect_deserialize,
	PARALLEL = SAFE
);
COMMENT ON AGGREGATE kiln_directory_agg(name text, elements anyarray) IS 'arrays by name as a directory';

CREATE AGGREGATE kiln_directory_agg(name text, tensor kiln) (
	SFUNC = kiln_collect_tensor, STYPE = internal, SSPACE = 4096, FINALFUNC = kiln_collect_final, FINALFUNC_MODIFY = READ_ONLY,
	COMBINEFUNC = kiln_collect_combine, SERIALFUNC = kiln_collect_serialize, DESERIALFUNC = kiln_collect_deserialize,
	PARALLEL = SAFE
);
COMMENT ON AGGREGATE kiln_directory_agg(name text, tensor kiln) IS 'tensors by name as a directory';

CREATE FUNCTION kiln_sum_array(internal, anyarray) RETURNS internal
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION kiln_sum_array(internal, anyarray) IS 'transition of kiln_sum_agg(anyarray) and kiln_avg_agg';

CREATE FUNCTION kiln_sum_tensor(internal, kiln) RETURNS internal
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION kiln_sum_tensor(internal, kiln) IS 'transition of kiln_sum_agg(kiln) and kiln_avg_agg';

CREATE FUNCTION kiln_min_array(internal, anyarray) RETURNS internal
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION kiln_min_array(internal, anyarray) IS 'transition of kiln_min_agg(anyarray)';

CREATE FUNCTION kiln_min_tensor(internal, kiln) RETURNS internal
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION kiln_min_tensor(internal, kiln) IS 'transition of kiln_min_agg(kiln)';

CREATE FUNCTION kiln_max_array(internal, anyarray) RETURNS internal
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION kiln_max_array(internal, anyarray) IS 'transition of kiln_max_agg(anyarray)';

CREATE FUNCTION kiln_max_tensor(internal, kiln) RETURNS internal
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION kiln_max_tensor(internal, kiln) IS 'transition of kiln_max_agg(kiln)';

CREATE FUNCTION kiln_sum_final(internal) RETURNS kiln
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION kiln_sum_final(internal) IS 'final function of kiln_sum_agg';

CREATE FUNCTION kiln_avg_final(internal) RETURNS kiln
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION kiln_avg_final(internal) IS 'final function of kiln_avg_agg';

CREATE FUNCTION kiln_pick_final(internal) RETURNS kiln
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION kiln_pick_final(internal) IS 'final function of kiln_min_agg and kiln_max_agg';

CREATE FUNCTION kiln_element_combine(internal, internal) RETURNS internal
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION kiln_element_combine(internal, internal) IS 'combine function of aggregates by element';

CREATE FUNCTION kiln_element_serialize(internal) RETURNS bytea
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION kiln_element_serialize(internal) IS 'serialization of aggregates by element';

CREATE FUNCTION kiln_element_deserialize(bytea, internal) RETURNS internal
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION kiln_element_deserialize(bytea, internal) IS 'deserialization of aggregates by element';

CREATE AGGREGATE kiln_sum_agg(anyarray) (
	SFUNC = kiln_sum_array, STYPE = internal, SSPACE = 16384, FINALFUNC = kiln_sum_final, FINALFUNC_MODIFY = READ_ONLY,
	COMBINEFUNC = kiln_element_combine, SERIALFUNC = kiln_element_serialize, DESERIALFUNC = kiln_element_deserialize,
	PARALLEL = SAFE
);
COMMENT ON AGGREGATE kiln_sum_agg(anyarray) IS 'sum of each element over rows of one shape';

CREATE AGGREGATE kiln_sum_agg(kiln) (
	SFUNC = kiln_sum_tensor, STYPE = internal, SSPACE = 16384, FINALFUNC = kiln_sum_final, FINALFUNC_MODIFY = READ_ONLY,
	COMBINEFUNC = kiln_element_combine, SERIALFUNC = kiln_element_serialize, DESERIALFUNC = kiln_element_deserialize,
	PARALLEL = SAFE
);
COMMENT ON AGGREGATE kiln_sum_agg(kiln) IS 'sum of each element over rows of one shape';

CREATE AGGREGATE kiln_avg_agg(anyarray) (
	SFUNC = kiln_sum_array, STYPE = internal, SSPACE = 16384, FINALFUNC = kiln_avg_final, FINALFUNC_MODIFY = READ_ONLY,
	COMBINEFUNC = kiln_element_combine, SERIALFUNC = kiln_element_serialize, DESERIALFUNC = kiln_element_deserialize,
	PARALLEL = SAFE
);
COMMENT ON AGGREGATE kiln_avg_agg(anyarray) IS 'mean of each element over rows of one shape';

CREATE AGGREGATE kiln_avg_agg(kiln) (
	SFUNC = kiln_sum_tensor, STYPE = internal, SSPACE = 16384, FINALFUNC = kiln_avg_final, FINALFUNC_MODIFY = READ_ONLY,
	COMBINEFUNC = kiln_element_combine, SERIALFUNC = kiln_element_serialize, DESERIALFUNC = kiln_element_deserialize,
	PARALLEL = SAFE
);
COMMENT ON AGGREGATE kiln_avg_agg(kiln) IS 'mean of each element over rows of one shape';

CREATE AGGREGATE kiln_min_agg(anyarray) (
	SFUNC = kiln_min_array, STYPE = internal, SSPACE = 16384, FINALFUNC = kiln_pick_final, FINALFUNC_MODIFY = READ_ONLY,
	COMBINEFUNC = kiln_element_combine, SERIALFUNC = kiln_element_serialize, DESERIALFUNC = kiln_element_deserialize,
	PARALLEL = SAFE
);
COMMENT ON AGGREGATE kiln_min_agg(anyarray) IS 'least of each element over rows of one shape';

CREATE AGGREGATE kiln_min_agg(kiln) (
	SFUNC = kiln_min_tensor, STYPE = internal, SSPACE = 16384, FINALFUNC = kiln_pick_final, FINALFUNC_MODIFY = READ_ONLY,
	COMBINEFUNC = kiln_element_combine, SERIALFUNC = kiln_element_serialize, DESERIALFUNC = kiln_element_deserialize,
	PARALLEL = SAFE
);
COMMENT ON AGGREGATE kiln_min_agg(kiln) IS 'least of each element over rows of one shape';

CREATE AGGREGATE kiln_max_agg(anyarray) (
	SFUNC = kiln_max_array, STYPE = internal, SSPACE = 16384, FINALFUNC = kiln_pick_final, FINALFUNC_MODIFY = READ_ONLY,
	COMBINEFUNC = kiln_element_combine, SERIALFUNC = kiln_element_serialize, DESERIALFUNC = kiln_element_deserialize,
	PARALLEL = SAFE
);
COMMENT ON AGGREGATE kiln_max_agg(anyarray) IS 'greatest of each element over rows of one shape';

CREATE AGGREGATE kiln_max_agg(kiln) (
	SFUNC = kiln_max_tensor, STYPE = internal, SSPACE = 16384, FINALFUNC = kiln_pick_final, FINALFUNC_MODIFY = READ_ONLY,
	COMBINEFUNC = kiln_element_combine, SERIALFUNC = kiln_element_serialize, DESERIALFUNC = kiln_element_deserialize,
	PARALLEL = SAFE
);
COMMENT ON AGGREGATE kiln_max_agg(kiln) IS 'greatest of each element over rows of one shape';

-- parts of tensors

CREATE FUNCTION kiln_slice(value kiln, low bigint, high bigint) RETURNS kiln
	AS 'MODULE_PATHNAME', 'kiln_slice_of' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION kiln_slice(value kiln, low bigint, high bigint) IS 'rows low to high of a tensor, counted from 1, both included';

CREATE FUNCTION kiln_slice(value kiln, name text, low bigint, high bigint) RETURNS kiln
	AS 'MODULE_PATHNAME', 'kiln_slice_named' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION kiln_slice(value kiln, name text, low bigint, high bigint) IS 'rows low to high of a named tensor, counted from 1, both included';

CREATE FUNCTION kiln_row(value kiln, i bigint) RETURNS kiln
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION kiln_row(value kiln, i bigint) IS 'row of a tensor, counted from 1';

CREATE FUNCTION kiln_row(value kiln, name text, i bigint) RETURNS kiln
	AS 'MODULE_PATHNAME', 'kiln_row_named' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION kiln_row(value kiln, name text, i bigint) IS 'row of a named tensor, counted from 1';

-- other shapes, dtypes and names

CREATE FUNCTION kiln_reshape(value kiln, shape bigint[]) RETURNS kiln
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION kiln_reshape(value kiln, shape bigint[]) IS 'tensor with the same elements in another shape; one dimension may be -1';

CREATE FUNCTION kiln_reshape(value kiln, name text, shape bigint[]) RETURNS kiln
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION kiln_reshape(value kiln, name text, shape bigint[]) IS 'named tensor with the same elements in another shape; one dimension may be -1';

CREATE FUNCTION kiln_cast(value kiln, dtype text) RETURNS kiln
	AS 'MODULE_PATHNAME', 'kiln_cast_directory' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION kiln_cast(value kiln, dtype text) IS 'tensors of a directory in another dtype';

CREATE FUNCTION kiln_cast(value kiln, name text, dtype text) RETURNS kiln
	AS 'MODULE_PATHNAME', 'kiln_cast_named' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION kiln_cast(value kiln, name text, dtype text) IS 'named tensor in another dtype';

CREATE FUNCTION kiln_concat(VARIADIC tensors kiln[]) RETURNS kiln
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION kiln_concat(VARIADIC tensors kiln[]) IS 'tensors put end to end along the first axis';

CREATE FUNCTION kiln_rename(value kiln, name text, new_name text) RETURNS kiln
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION kiln_rename(value kiln, name text, new_name text) IS 'directory with a tensor renamed';

CREATE FUNCTION kiln_drop(value kiln, name text) RETURNS kiln
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION kiln_drop(value kiln, name text) IS 'directory without a tensor';

CREATE FUNCTION kiln_join(kiln, kiln) RETURNS kiln
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION kiln_join(kiln, kiln) IS 'implementation of || operator';

CREATE OPERATOR || (
	LEFTARG = kiln, RIGHTARG = kiln, FUNCTION = kiln_join
);
COMMENT ON OPERATOR ||(kiln, kiln) IS 'tensors of both directories; of a name in both, the right one''s';

-- numbers from tensors

CREATE FUNCTION kiln_sum(value kiln) RETURNS double precision
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION kiln_sum(value kiln) IS 'sum of the elements of a tensor';

CREATE FUNCTION kiln_sum(value kiln, name text) RETURNS double precision
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION kiln_sum(value kiln, name text) IS 'sum of the elements of a named tensor';

CREATE FUNCTION kiln_mean(value kiln) RETURNS double precision
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION kiln_mean(value kiln) IS 'mean of the elements of a tensor';

CREATE FUNCTION kiln_mean(value kiln, name text) RETURNS double precision
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION kiln_mean(value kiln, name text) IS 'mean of the elements of a named tensor';

CREATE FUNCTION kiln_min(value kiln) RETURNS double precision
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION kiln_min(value kiln) IS 'least of the elements of a tensor';

CREATE FUNCTION kiln_min(value kiln, name text) RETURNS double precision
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION kiln_min(value kiln, name text) IS 'least of the elements of a named tensor';

CREATE FUNCTION kiln_max(value kiln) RETURNS double precision
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION kiln_max(value kiln) IS 'greatest of the elements of a tensor';

CREATE FUNCTION kiln_max(value kiln, name text) RETURNS double precision
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION kiln_max(value kiln, name text) IS 'greatest of the elements of a named tensor';

CREATE FUNCTION kiln_norm(value kiln) RETURNS double precision
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION kiln_norm(value kiln) IS 'Euclidean norm of the elements of a tensor';

CREATE FUNCTION kiln_norm(value kiln, name text) RETURNS double precision
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION kiln_norm(value kiln, name text) IS 'Euclidean norm of the elements of a named tensor';

CREATE FUNCTION kiln_dot(a kiln, b kiln) RETURNS double precision
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION kiln_dot(a kiln, b kiln) IS 'sum of the products of the elements of two tensors';

CREATE FUNCTION kiln_l2_distance(a kiln, b kiln) RETURNS double precision
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION kiln_l2_distance(a kiln, b kiln) IS 'Euclidean distance of two tensors';

CREATE FUNCTION kiln_cosine_distance(a kiln, b kiln) RETURNS double precision
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION kiln_cosine_distance(a kiln, b kiln) IS 'one less the cosine of the angle between two tensors';

-- tensors from tensors

CREATE FUNCTION kiln_add(a kiln, b kiln) RETURNS kiln
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION kiln_add(a kiln, b kiln) IS 'sums of the elements of two tensors';

CREATE FUNCTION kiln_sub(a kiln, b kiln) RETURNS kiln
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION kiln_sub(a kiln, b kiln) IS 'differences of the elements of two tensors';

CREATE FUNCTION kiln_mul(a kiln, b kiln) RETURNS kiln
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION kiln_mul(a kiln, b kiln) IS 'products of the elements of two tensors';

CREATE FUNCTION kiln_scale(value kiln, factor double precision) RETURNS kiln
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION kiln_scale(value kiln, factor double precision) IS 'elements of a tensor times a number';

-- from lists, and files of other systems

CREATE FUNCTION kiln_tensor(value kiln, name text DEFAULT '', dtype text DEFAULT NULL) RETURNS kiln
	AS 'MODULE_PATHNAME', 'kiln_tensor_from_list' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION kiln_tensor(value kiln, name text, dtype text) IS 'tensor from a list of numbers';

CREATE FUNCTION kiln_from_npy(file bytea, name text DEFAULT '') RETURNS kiln
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION kiln_from_npy(file bytea, name text) IS 'tensor from a .npy file';

CREATE FUNCTION kiln_to_npy(value kiln) RETURNS bytea
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION kiln_to_npy(value kiln) IS 'tensor as a .npy file';

CREATE FUNCTION kiln_to_npy(value kiln, name text) RETURNS bytea
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION kiln_to_npy(value kiln, name text) IS 'named tensor as a .npy file';

CREATE FUNCTION kiln_from_safetensors(file bytea) RETURNS kiln
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION kiln_from_safetensors(file bytea) IS 'tensors from a safetensors file';

CREATE FUNCTION kiln_to_safetensors(value kiln) RETURNS bytea
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION kiln_to_safetensors(value kiln) IS 'tensors of a directory as a safetensors file';

------------------------------------------------------------------------
-- whole values as rows
------------------------------------------------------------------------

CREATE FUNCTION kiln_to_record(value kiln) RETURNS record
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION kiln_to_record(value kiln) IS 'struct as a row of the columns listed after AS';

CREATE FUNCTION kiln_populate_record(base anyelement, value kiln) RETURNS anyelement
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE PARALLEL SAFE;
COMMENT ON FUNCTION kiln_populate_record(base anyelement, value kiln) IS 'struct as a row of the type of the first argument, which also gives what the struct lacks';

CREATE FUNCTION kiln_each(v kiln, OUT key text, OUT value kiln) RETURNS SETOF record
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE ROWS 100;
COMMENT ON FUNCTION kiln_each(v kiln) IS 'keys and values of a struct, dict or tensor directory';

CREATE FUNCTION kiln_each_text(v kiln, OUT key text, OUT value text) RETURNS SETOF record
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE ROWS 100;
COMMENT ON FUNCTION kiln_each_text(v kiln) IS 'keys and values of a struct, dict or tensor directory, values as text';

CREATE FUNCTION kiln_keys(value kiln) RETURNS SETOF text
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE ROWS 100;
COMMENT ON FUNCTION kiln_keys(value kiln) IS 'keys of a struct, dict or tensor directory';

CREATE FUNCTION kiln_unnest(value kiln) RETURNS SETOF kiln
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE ROWS 100;
COMMENT ON FUNCTION kiln_unnest(value kiln) IS 'elements of a list';

CREATE FUNCTION kiln_typeof(value kiln, path text) RETURNS text
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION kiln_typeof(value kiln, path text) IS 'type that the definition of a value has at a path';

------------------------------------------------------------------------
-- changing
------------------------------------------------------------------------

CREATE FUNCTION kiln_set(value kiln, path text, new anyelement) RETURNS kiln
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE PARALLEL SAFE;
COMMENT ON FUNCTION kiln_set(value kiln, path text, new anyelement) IS 'value with the place at a path set; NULL makes it absent';

CREATE FUNCTION kiln_set(value kiln, path text, new text) RETURNS kiln
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE PARALLEL SAFE;
COMMENT ON FUNCTION kiln_set(value kiln, path text, new text) IS 'value with the place at a path set from text; NULL makes it absent';

CREATE FUNCTION kiln_merge(value kiln, patch jsonb) RETURNS kiln
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION kiln_merge(value kiln, patch jsonb) IS 'value with the members of an object taken over; null makes absent';

CREATE FUNCTION kiln_upgrade(value kiln, drop_removed boolean DEFAULT false) RETURNS kiln
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION kiln_upgrade(value kiln, drop_removed boolean) IS 'value in the latest version of its schema';

CREATE FUNCTION kiln_encode(schema text, value kiln) RETURNS kiln
	AS 'MODULE_PATHNAME', 'kiln_encode_kiln' LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION kiln_encode(schema text, value kiln) IS 'kiln value under another definition';

CREATE FUNCTION kiln_infer(document jsonb) RETURNS text
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION kiln_infer(document jsonb) IS 'definition that a document fits';

------------------------------------------------------------------------
-- batches
------------------------------------------------------------------------

CREATE FUNCTION kiln_agg_transition(internal, kiln) RETURNS internal
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE PARALLEL SAFE;
COMMENT ON FUNCTION kiln_agg_transition(internal, kiln) IS 'transition function of kiln_agg';

CREATE FUNCTION kiln_agg_final(internal) RETURNS kiln
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION kiln_agg_final(internal) IS 'final function of kiln_agg';

CREATE FUNCTION kiln_agg_combine(internal, internal) RETURNS internal
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION kiln_agg_combine(internal, internal) IS 'combine function of kiln_agg';

CREATE FUNCTION kiln_agg_serialize(internal) RETURNS bytea
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION kiln_agg_serialize(internal) IS 'serialize function of kiln_agg';

CREATE FUNCTION kiln_agg_deserialize(bytea, internal) RETURNS internal
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION kiln_agg_deserialize(bytea, internal) IS 'deserialize function of kiln_agg';

CREATE AGGREGATE kiln_agg(kiln) (
	SFUNC = kiln_agg_transition,
	STYPE = internal,
	SSPACE = 1024,
	FINALFUNC = kiln_agg_final,
	COMBINEFUNC = kiln_agg_combine,
	SERIALFUNC = kiln_agg_serialize,
	DESERIALFUNC = kiln_agg_deserialize,
	PARALLEL = SAFE
);
COMMENT ON AGGREGATE kiln_agg(kiln) IS 'list of values of one definition, as kiln';

------------------------------------------------------------------------
-- what a value says of itself
------------------------------------------------------------------------

CREATE FUNCTION kiln_schema(value kiln) RETURNS text
	AS 'MODULE_PATHNAME', 'kiln_schema_name' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION kiln_schema(value kiln) IS 'name of the schema of a value';

CREATE FUNCTION kiln_version(value kiln) RETURNS bigint
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION kiln_version(value kiln) IS 'version of the registered definition of a value';

CREATE FUNCTION kiln_definition(value kiln) RETURNS text
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION kiln_definition(value kiln) IS 'canonical definition of a value';

CREATE FUNCTION kiln_hash(value kiln) RETURNS text
	AS 'MODULE_PATHNAME', 'kiln_hash_of' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION kiln_hash(value kiln) IS 'hash of the definition of a value, 16 hex digits';

CREATE FUNCTION kiln_is(value kiln, name text) RETURNS boolean
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION kiln_is(value kiln, name text) IS 'is the value of the schema of that name?';

CREATE FUNCTION kiln_frame(value kiln) RETURNS bytea
	AS 'MODULE_PATHNAME', 'kiln_frame_bytes' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION kiln_frame(value kiln) IS 'bytes of a value, as stored and sent';

CREATE FUNCTION kiln_from_frame(frame bytea) RETURNS kiln
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION kiln_from_frame(frame bytea) IS 'value from the bytes of a frame, checked';

CREATE FUNCTION kiln_verify(value kiln) RETURNS boolean
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION kiln_verify(value kiln) IS 'does the value keep every rule of its definition?';

CREATE FUNCTION kiln_intern(value kiln) RETURNS kiln
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION kiln_intern(value kiln) IS 'inline value by hash, if its definition is registered';

CREATE FUNCTION kiln_portable(value kiln) RETURNS kiln
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION kiln_portable(value kiln) IS 'value that carries its definition along';
