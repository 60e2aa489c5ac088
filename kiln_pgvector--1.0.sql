/* kiln_pgvector--1.0.sql: casts between kiln tensors and the types of pgvector */

-- complain if script is sourced in psql, rather than via CREATE EXTENSION
\echo Use "CREATE EXTENSION kiln_pgvector" to load this file. \quit

/*
 * kiln, vector and this extension may each be in a schema of its own, and others may be able to make objects there. So types
 * and functions are named with their schemas, which the catalog tells; bodies are parsed now, once; and what they came to
 * hang on is looked at in the end. Nothing depends on search_path afterwards, nor on where the extensions are moved to.
 *
 * From a vector: an assignment cast, as nothing is lost: the dtype is f32 for a vector, f16 for a halfvec. To one: explicit, as
 * all casts from kiln are; elements are rounded to what the type holds, and pgvector refuses what it can't hold. A length
 * as in vector(3) is checked by pgvector's own cast from vector to vector.
 */
DO $script$
DECLARE
	kiln pg_catalog.text := (SELECT pg_catalog.quote_ident(n.nspname) FROM pg_catalog.pg_extension AS e
		JOIN pg_catalog.pg_namespace AS n ON n.oid OPERATOR(pg_catalog.=) e.extnamespace
		WHERE e.extname OPERATOR(pg_catalog.=) 'kiln'::pg_catalog.name);
	vector pg_catalog.text := (SELECT pg_catalog.quote_ident(n.nspname) FROM pg_catalog.pg_extension AS e
		JOIN pg_catalog.pg_namespace AS n ON n.oid OPERATOR(pg_catalog.=) e.extnamespace
		WHERE e.extname OPERATOR(pg_catalog.=) 'vector'::pg_catalog.name);
	stranger pg_catalog.text;
BEGIN
	IF pg_catalog.to_regtype(pg_catalog.concat(vector, '.halfvec')) IS NULL THEN
		RAISE EXCEPTION USING ERRCODE = '0A000',
			MESSAGE = 'kiln_pgvector needs pgvector 0.7.0 or later',
			HINT = 'Use ALTER EXTENSION vector UPDATE, if a newer one is installed.';
	END IF;

	EXECUTE pg_catalog.replace(pg_catalog.replace($sql$

------------------------------------------------------------------------
-- from pgvector
------------------------------------------------------------------------

CREATE FUNCTION kiln_from_vector(value {vector}.vector) RETURNS {kiln}.kiln
	LANGUAGE sql IMMUTABLE PARALLEL SAFE
	RETURN {kiln}.kiln_tensor(value::pg_catalog.float4[], ''::pg_catalog.text, NULL::pg_catalog.text);
COMMENT ON FUNCTION kiln_from_vector({vector}.vector) IS 'tensor of dtype f32 from a vector';

CREATE CAST ({vector}.vector AS {kiln}.kiln) WITH FUNCTION kiln_from_vector({vector}.vector) AS ASSIGNMENT;
COMMENT ON CAST ({vector}.vector AS {kiln}.kiln) IS 'tensor of dtype f32';

CREATE FUNCTION kiln_from_halfvec(value {vector}.halfvec) RETURNS {kiln}.kiln
	LANGUAGE sql IMMUTABLE PARALLEL SAFE
	RETURN {kiln}.kiln_tensor(value::pg_catalog.float4[], ''::pg_catalog.text, 'f16'::pg_catalog.text);
COMMENT ON FUNCTION kiln_from_halfvec({vector}.halfvec) IS 'tensor of dtype f16 from a halfvec';

CREATE CAST ({vector}.halfvec AS {kiln}.kiln) WITH FUNCTION kiln_from_halfvec({vector}.halfvec) AS ASSIGNMENT;
COMMENT ON CAST ({vector}.halfvec AS {kiln}.kiln) IS 'tensor of dtype f16';

------------------------------------------------------------------------
-- to pgvector
------------------------------------------------------------------------

CREATE FUNCTION kiln_to_vector(value {kiln}.kiln) RETURNS {vector}.vector
	LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
	RETURN value::pg_catalog.float8[]::{vector}.vector;
COMMENT ON FUNCTION kiln_to_vector({kiln}.kiln) IS 'vector of a tensor or list of one dimension';

CREATE CAST ({kiln}.kiln AS {vector}.vector) WITH FUNCTION kiln_to_vector({kiln}.kiln);
COMMENT ON CAST ({kiln}.kiln AS {vector}.vector) IS 'vector of a tensor or list of one dimension';

CREATE FUNCTION kiln_to_halfvec(value {kiln}.kiln) RETURNS {vector}.halfvec
	LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
	RETURN value::pg_catalog.float8[]::{vector}.halfvec;
COMMENT ON FUNCTION kiln_to_halfvec({kiln}.kiln) IS 'halfvec of a tensor or list of one dimension';

CREATE CAST ({kiln}.kiln AS {vector}.halfvec) WITH FUNCTION kiln_to_halfvec({kiln}.kiln);
COMMENT ON CAST ({kiln}.kiln AS {vector}.halfvec) IS 'halfvec of a tensor or list of one dimension';

$sql$, '{kiln}', kiln), '{vector}', vector);

	-- A body that came to use what is neither the system's nor the two extensions' own was led astray.
	SELECT pg_catalog.min(pg_catalog.pg_describe_object(d.refclassid, d.refobjid, d.refobjsubid)) INTO stranger
	FROM pg_catalog.pg_depend AS f
		JOIN pg_catalog.pg_depend AS d ON d.classid OPERATOR(pg_catalog.=) f.classid AND d.objid OPERATOR(pg_catalog.=) f.objid
	WHERE f.refclassid OPERATOR(pg_catalog.=) 'pg_catalog.pg_extension'::pg_catalog.regclass
		AND f.refobjid OPERATOR(pg_catalog.=) (SELECT e.oid FROM pg_catalog.pg_extension AS e
			WHERE e.extname OPERATOR(pg_catalog.=) 'kiln_pgvector'::pg_catalog.name)
		AND f.classid OPERATOR(pg_catalog.=) 'pg_catalog.pg_proc'::pg_catalog.regclass
		AND d.deptype OPERATOR(pg_catalog.=) 'n'::pg_catalog."char"
		AND d.refclassid OPERATOR(pg_catalog.<>) 'pg_catalog.pg_namespace'::pg_catalog.regclass
		AND NOT EXISTS (SELECT FROM pg_catalog.pg_depend AS m JOIN pg_catalog.pg_extension AS e ON e.oid OPERATOR(pg_catalog.=) m.refobjid
			WHERE m.classid OPERATOR(pg_catalog.=) d.refclassid AND m.objid OPERATOR(pg_catalog.=) d.refobjid
				AND m.refclassid OPERATOR(pg_catalog.=) 'pg_catalog.pg_extension'::pg_catalog.regclass
				AND m.deptype OPERATOR(pg_catalog.=) 'e'::pg_catalog."char"
				AND e.extname OPERATOR(pg_catalog.=) ANY (ARRAY['kiln', 'vector']::pg_catalog.name[]));
	IF stranger IS NOT NULL THEN
		RAISE EXCEPTION USING ERRCODE = '42710',
			MESSAGE = pg_catalog.format('%s stands in the way of kiln_pgvector', stranger),
			HINT = 'It takes calls of the extensions kiln and vector, in whose schema it is. Drop or rename it.';
	END IF;
END
$script$;
