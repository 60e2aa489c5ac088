/* kiln--1.0--1.1.sql: what version 1.1 adds to the SQL objects of the kiln extension */

-- complain if script is sourced in psql, rather than via ALTER EXTENSION
\echo Use "ALTER EXTENSION kiln UPDATE TO '1.1'" to load this file. \quit

------------------------------------------------------------------------
-- shards: calls with a path or a name are planned without the collation of that text, which no function looks at, so
-- that postgres_fdw sends them to the shard
------------------------------------------------------------------------

ALTER FUNCTION kiln_get_bool(kiln, text) SUPPORT kiln_getter_support;
ALTER FUNCTION kiln_get_int2(kiln, text) SUPPORT kiln_getter_support;
ALTER FUNCTION kiln_get_int4(kiln, text) SUPPORT kiln_getter_support;
ALTER FUNCTION kiln_get_int8(kiln, text) SUPPORT kiln_getter_support;
ALTER FUNCTION kiln_get_float4(kiln, text) SUPPORT kiln_getter_support;
ALTER FUNCTION kiln_get_float8(kiln, text) SUPPORT kiln_getter_support;
ALTER FUNCTION kiln_get_numeric(kiln, text) SUPPORT kiln_getter_support;
ALTER FUNCTION kiln_get_text(kiln, text) SUPPORT kiln_getter_support;
ALTER FUNCTION kiln_get_bytea(kiln, text) SUPPORT kiln_getter_support;
ALTER FUNCTION kiln_get_uuid(kiln, text) SUPPORT kiln_getter_support;
ALTER FUNCTION kiln_get_date(kiln, text) SUPPORT kiln_getter_support;
ALTER FUNCTION kiln_get_timestamp(kiln, text) SUPPORT kiln_getter_support;
ALTER FUNCTION kiln_get_timestamptz(kiln, text) SUPPORT kiln_getter_support;
ALTER FUNCTION kiln_get_json(kiln, text) SUPPORT kiln_getter_support;
ALTER FUNCTION kiln_get_jsonb(kiln, text) SUPPORT kiln_getter_support;
ALTER FUNCTION kiln_get_kiln(kiln, text) SUPPORT kiln_getter_support;
ALTER FUNCTION kiln_get(kiln, text, anyelement) SUPPORT kiln_getter_support;
ALTER FUNCTION kiln_object_field(kiln, text) SUPPORT kiln_getter_support;
ALTER FUNCTION kiln_extract_path(kiln, text[]) SUPPORT kiln_getter_support;
ALTER FUNCTION kiln_extract_path_text(kiln, text[]) SUPPORT kiln_getter_support;
ALTER FUNCTION kiln_exists(kiln, text) SUPPORT kiln_getter_support;
ALTER FUNCTION kiln_is(kiln, text) SUPPORT kiln_getter_support;
ALTER FUNCTION kiln_typeof(kiln, text) SUPPORT kiln_getter_support;
ALTER FUNCTION kiln_tensor(anyarray, text, text) SUPPORT kiln_getter_support;
ALTER FUNCTION kiln_tensor(kiln, text, text) SUPPORT kiln_getter_support;
ALTER FUNCTION kiln_at(kiln, text) SUPPORT kiln_getter_support;
ALTER FUNCTION kiln_at(kiln, text, bigint) SUPPORT kiln_getter_support;
ALTER FUNCTION kiln_at(kiln, text, bigint[]) SUPPORT kiln_getter_support;
ALTER FUNCTION kiln_to_array(kiln, text) SUPPORT kiln_getter_support;
ALTER FUNCTION kiln_shape(kiln, text) SUPPORT kiln_getter_support;
ALTER FUNCTION kiln_ndim(kiln, text) SUPPORT kiln_getter_support;
ALTER FUNCTION kiln_dtype(kiln, text) SUPPORT kiln_getter_support;
ALTER FUNCTION kiln_slice(kiln, text, bigint, bigint) SUPPORT kiln_getter_support;
ALTER FUNCTION kiln_row(kiln, text, bigint) SUPPORT kiln_getter_support;
ALTER FUNCTION kiln_reshape(kiln, text, bigint[]) SUPPORT kiln_getter_support;
ALTER FUNCTION kiln_cast(kiln, text) SUPPORT kiln_getter_support;
ALTER FUNCTION kiln_cast(kiln, text, text) SUPPORT kiln_getter_support;
ALTER FUNCTION kiln_rename(kiln, text, text) SUPPORT kiln_getter_support;
ALTER FUNCTION kiln_drop(kiln, text) SUPPORT kiln_getter_support;
ALTER FUNCTION kiln_sum(kiln, text) SUPPORT kiln_getter_support;
ALTER FUNCTION kiln_mean(kiln, text) SUPPORT kiln_getter_support;
ALTER FUNCTION kiln_min(kiln, text) SUPPORT kiln_getter_support;
ALTER FUNCTION kiln_max(kiln, text) SUPPORT kiln_getter_support;
ALTER FUNCTION kiln_norm(kiln, text) SUPPORT kiln_getter_support;
ALTER FUNCTION kiln_from_npy(bytea, text) SUPPORT kiln_getter_support;
ALTER FUNCTION kiln_to_npy(kiln, text) SUPPORT kiln_getter_support;

------------------------------------------------------------------------
-- from jsonb: a definition for many documents
------------------------------------------------------------------------

CREATE FUNCTION kiln_infer_agg_add(internal, jsonb) RETURNS internal
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION kiln_infer_agg_add(internal, jsonb) IS 'transition of kiln_infer_agg and kiln_infer_report_agg';

CREATE FUNCTION kiln_infer_agg_add(internal, jsonb, text) RETURNS internal
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION kiln_infer_agg_add(internal, jsonb, text) IS 'transition of kiln_infer_agg with a name';

CREATE FUNCTION kiln_infer_agg_combine(internal, internal) RETURNS internal
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION kiln_infer_agg_combine(internal, internal) IS 'combine function of kiln_infer_agg';

CREATE FUNCTION kiln_infer_agg_serialize(internal) RETURNS bytea
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION kiln_infer_agg_serialize(internal) IS 'serialization of kiln_infer_agg';

CREATE FUNCTION kiln_infer_agg_deserialize(bytea, internal) RETURNS internal
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION kiln_infer_agg_deserialize(bytea, internal) IS 'deserialization of kiln_infer_agg';

CREATE FUNCTION kiln_infer_agg_final(internal) RETURNS text
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION kiln_infer_agg_final(internal) IS 'final function of kiln_infer_agg';

CREATE FUNCTION kiln_infer_report_agg_final(internal) RETURNS jsonb
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION kiln_infer_report_agg_final(internal) IS 'final function of kiln_infer_report_agg';

CREATE AGGREGATE kiln_infer_agg(document jsonb) (
	SFUNC = kiln_infer_agg_add, STYPE = internal, SSPACE = 8192, FINALFUNC = kiln_infer_agg_final, FINALFUNC_MODIFY = READ_ONLY,
	COMBINEFUNC = kiln_infer_agg_combine, SERIALFUNC = kiln_infer_agg_serialize, DESERIALFUNC = kiln_infer_agg_deserialize,
	PARALLEL = SAFE
);
COMMENT ON AGGREGATE kiln_infer_agg(jsonb) IS 'the tightest definition that gives every document back';

CREATE AGGREGATE kiln_infer_agg(document jsonb, name text) (
	SFUNC = kiln_infer_agg_add, STYPE = internal, SSPACE = 8192, FINALFUNC = kiln_infer_agg_final, FINALFUNC_MODIFY = READ_ONLY,
	COMBINEFUNC = kiln_infer_agg_combine, SERIALFUNC = kiln_infer_agg_serialize, DESERIALFUNC = kiln_infer_agg_deserialize,
	PARALLEL = SAFE
);
COMMENT ON AGGREGATE kiln_infer_agg(jsonb, text) IS 'the same with a name, for kiln_register';

CREATE AGGREGATE kiln_infer_report_agg(document jsonb) (
	SFUNC = kiln_infer_agg_add, STYPE = internal, SSPACE = 8192, FINALFUNC = kiln_infer_report_agg_final, FINALFUNC_MODIFY = READ_ONLY,
	COMBINEFUNC = kiln_infer_agg_combine, SERIALFUNC = kiln_infer_agg_serialize, DESERIALFUNC = kiln_infer_agg_deserialize,
	PARALLEL = SAFE
);
COMMENT ON AGGREGATE kiln_infer_report_agg(jsonb) IS 'what kiln_infer_agg saw at each path, for kiln_infer_report';

CREATE FUNCTION kiln_infer_report(report jsonb)
	RETURNS TABLE (path text, type text, seen bigint, absent bigint, nulls bigint, kinds text, lowest text, highest text, keys bigint, uncertain text)
	LANGUAGE SQL IMMUTABLE STRICT PARALLEL SAFE ROWS 50
	BEGIN ATOMIC
		SELECT r.path, r.type, r.seen, r.absent, r.nulls, r.kinds, r.lowest, r.highest, r.keys, r.uncertain
		FROM pg_catalog.jsonb_to_recordset(report) AS r(path pg_catalog.text, type pg_catalog.text, seen pg_catalog.int8, absent pg_catalog.int8,
			nulls pg_catalog.int8, kinds pg_catalog.text, lowest pg_catalog.text, highest pg_catalog.text, keys pg_catalog.int8, uncertain pg_catalog.text);
	END;
COMMENT ON FUNCTION kiln_infer_report(jsonb) IS 'a row for each path of what kiln_infer_report_agg gave';

CREATE FUNCTION kiln_infer_report_of(relation regclass, column_name name) RETURNS jsonb
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE STRICT PARALLEL RESTRICTED;
COMMENT ON FUNCTION kiln_infer_report_of(regclass, name) IS 'kiln_infer_report_agg over a column';

CREATE FUNCTION kiln_infer_report(relation regclass, column_name name)
	RETURNS TABLE (path text, type text, seen bigint, absent bigint, nulls bigint, kinds text, lowest text, highest text, keys bigint, uncertain text)
	LANGUAGE SQL STABLE STRICT PARALLEL RESTRICTED ROWS 50
	BEGIN ATOMIC
		SELECT r.path, r.type, r.seen, r.absent, r.nulls, r.kinds, r.lowest, r.highest, r.keys, r.uncertain
		FROM kiln_infer_report(kiln_infer_report_of(relation, column_name)) AS r;
	END;
COMMENT ON FUNCTION kiln_infer_report(regclass, name) IS 'a row for each path in a column of documents: what was seen, what is uncertain';

------------------------------------------------------------------------
-- from jsonb: tables converted
------------------------------------------------------------------------

CREATE FUNCTION kiln_misfit(schema text, document jsonb, verify text DEFAULT 'values') RETURNS text
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION kiln_misfit(text, jsonb, text) IS 'why a document is no value of a schema, NULL if it is';

CREATE FUNCTION kiln_misfit_json(schema text, document json, verify text DEFAULT 'values') RETURNS text
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION kiln_misfit_json(text, json, text) IS 'why a document is no value of a schema, NULL if it is';

CREATE FUNCTION kiln_outdated(value kiln) RETURNS boolean
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION kiln_outdated(kiln) IS 'has the schema of a value a later version, or would kiln_upgrade change it otherwise?';

CREATE FUNCTION kiln_misfits(relation regclass, from_column name, schema text, verify text DEFAULT 'values')
	RETURNS TABLE (relation_name regclass, row_id tid, key jsonb, reason text)
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE STRICT PARALLEL RESTRICTED;
COMMENT ON FUNCTION kiln_misfits(regclass, name, text, text) IS 'rows whose document is no value of a schema, and why';

CREATE PROCEDURE kiln_convert(relation regclass, from_column name, to_column name, schema text, batch integer DEFAULT 10000,
		verify text DEFAULT 'values')
	AS 'MODULE_PATHNAME' LANGUAGE C;
COMMENT ON PROCEDURE kiln_convert(regclass, name, name, text, integer, text) IS 'fill a kiln column from a jsonb or json column, in batches that commit';

CREATE PROCEDURE kiln_upgrade_table(relation regclass, column_name name, batch integer DEFAULT 10000)
	AS 'MODULE_PATHNAME' LANGUAGE C;
COMMENT ON PROCEDURE kiln_upgrade_table(regclass, name, integer) IS 'bring a column''s values to the latest version of their schema, in batches that commit';
