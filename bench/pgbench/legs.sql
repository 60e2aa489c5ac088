-- The questions of the benchmark, and how each contender answers them.
--
-- Aggregates that are spelled alike are computed once by the executor, so each
-- call in a statement is another. Floors stand among the contenders: "scan x" counts x's column and does nothing with it,
-- "octet_length" asks the length of a bytea with the same bytes as Kiln's.

\set ON_ERROR_STOP on
SET client_min_messages = warning;
SET search_path = bench, public;

-- How each contender gets at a field of its column v, as an SQL type. NULL: it has no way of its own.
CREATE FUNCTION field(contender text, name text, type text) RETURNS text LANGUAGE sql IMMUTABLE RETURN
	CASE contender
		WHEN 'kiln' THEN format('kiln_get%s(v, %L)', CASE type WHEN 'text' THEN '' ELSE '_' || type END, name)
		WHEN 'kiln ->' THEN CASE type WHEN 'text' THEN format('(v->>%L)', name) ELSE format('(v->%L)::%s', name, type) END
		WHEN 'jsonb ->>' THEN format(CASE type WHEN 'text' THEN '(v->>%L)' ELSE '(v->>%L)::%s' END, name, type)
		WHEN 'jsonb ->' THEN CASE type WHEN 'text' THEN NULL ELSE format('(v->%L)::%s', name, type) END
		WHEN 'json' THEN format(CASE type WHEN 'text' THEN '(v->>%L)' ELSE '(v->>%L)::%s' END, name, type)
		WHEN 'hstore' THEN format(CASE type WHEN 'text' THEN '(v->%L)' ELSE '(v->%L)::%s' END, name, type)
		WHEN 'composite' THEN format('(v).%I', name)
		WHEN 'columns' THEN quote_ident(name)
	END;

-- The table of a contender among tables of one prefix.
CREATE FUNCTION table_of(prefix text, contender text) RETURNS text LANGUAGE sql IMMUTABLE RETURN
	prefix || CASE WHEN contender = 'columns' THEN 'plain' ELSE split_part(contender, ' ', 1) END;

CREATE FUNCTION column_of(contender text) RETURNS text LANGUAGE sql IMMUTABLE RETURN
	CASE contender WHEN 'columns' THEN 'id' ELSE 'v' END;

-- The floor of a contender: its table's column, counted.
CREATE FUNCTION scan_of(contender text) RETURNS text LANGUAGE sql IMMUTABLE RETURN 'scan ' || split_part(contender, ' ', 1);

-- All that a contender's answer depends on, whatever the order of the rows.
CREATE FUNCTION answer_of(expression text, source text) RETURNS text LANGUAGE sql IMMUTABLE RETURN
	format('SELECT count(*) || '' '' || sum(hashtextextended((%s)::text, 0)::numeric) FROM %s', expression, source);

CREATE PROCEDURE add_leg(experiment text, operation text, corpus text, contender text, statement text, operations int8, floor text DEFAULT NULL,
	answer text DEFAULT NULL, prepare text DEFAULT NULL)
LANGUAGE sql AS $$
	INSERT INTO leg (experiment, operation, corpus, contender, statement, operations, floor, answer, prepare)
	VALUES (experiment, operation, corpus, contender, statement, operations, floor, answer, prepare) $$;

CREATE PROCEDURE add_scans(experiment text, operation text, corpus text, prefix text, contenders text[], operations int8) LANGUAGE plpgsql AS $$
DECLARE
	c text;
BEGIN
	FOREACH c IN ARRAY contenders LOOP
		CALL add_leg(experiment, operation, corpus, scan_of(c), format('SELECT count(%s) FROM %s', column_of(c), table_of(prefix, c)), operations);
	END LOOP;
END $$;
