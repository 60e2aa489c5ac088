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
