-- The extension, and what the other tests share.
CREATE EXTENSION kiln;

-- Run a query and give its one answer, or the SQLSTATE and the message of its error.
CREATE FUNCTION attempt(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	answer text;
	state text;
	message text;
	detail text;
	hint text;
BEGIN
	EXECUTE query INTO answer;
	RETURN answer;
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS state = RETURNED_SQLSTATE, message = MESSAGE_TEXT,
		detail = PG_EXCEPTION_DETAIL, hint = PG_EXCEPTION_HINT;
	RETURN concat_ws(' | ', state, message, nullif(detail, ''), nullif(hint, ''));
END $$;

-- The frame's bytes in hex.
CREATE FUNCTION hex(v kiln) RETURNS text LANGUAGE sql IMMUTABLE AS $$ SELECT encode(kiln_frame(v), 'hex') $$;

-- Operator classes are complete and consistent.
SELECT opc.opcname, am.amname, amvalidate(opc.oid)
FROM pg_opclass opc JOIN pg_am am ON am.oid = opc.opcmethod
WHERE opc.opcintype = 'kiln'::regtype ORDER BY 2;

-- Everything has a comment, and nothing that may run in a parallel worker is kept from it.
SELECT d.classid::regclass, pg_describe_object(d.classid, d.objid, d.objsubid)
FROM pg_depend d
WHERE d.refclassid = 'pg_extension'::regclass AND d.refobjid = (SELECT oid FROM pg_extension WHERE extname = 'kiln')
	AND d.classid IN ('pg_proc'::regclass, 'pg_operator'::regclass, 'pg_opclass'::regclass, 'pg_cast'::regclass)
	AND obj_description(d.objid, d.classid::regclass::name) IS NULL
ORDER BY 2;
SELECT p.oid::regprocedure, p.proparallel
FROM pg_depend d JOIN pg_proc p ON p.oid = d.objid
WHERE d.classid = 'pg_proc'::regclass AND d.refclassid = 'pg_extension'::regclass
	AND d.refobjid = (SELECT oid FROM pg_extension WHERE extname = 'kiln') AND p.proparallel <> 's'
ORDER BY p.oid::regprocedure::text;

-- The reference schema.
SELECT kiln_register('message(a bool, b bool, x i32, y i32, id i64, score f64, s string, t string)');
