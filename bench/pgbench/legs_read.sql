-- Messages: reading one field, all fields, and queries on a field. Functions from legs.sql.

\set ON_ERROR_STOP on
SET client_min_messages = warning;
SET search_path = bench, public;

-- json parses each row for each field: a tenth of the rows is enough to be timed.
CREATE FUNCTION rows_of(n int8, contender text) RETURNS int8 LANGUAGE sql IMMUTABLE RETURN CASE contender WHEN 'json' THEN n / 10 ELSE n END;
CREATE FUNCTION some_of(source text, contender text) RETURNS text LANGUAGE sql STABLE RETURN
	CASE contender WHEN 'json' THEN format('(SELECT v FROM %s LIMIT %s) q', source, rows_of((SELECT count(*) FROM m_plain), contender)) ELSE source END;

DO $$
DECLARE
	n int8 := (SELECT count(*) FROM m_plain);
	wanted_rows int8 := (SELECT count(*) FROM wanted);
	corpus text := 'messages';
	contenders text[] := '{kiln,kiln ->,jsonb ->>,jsonb ->,json,hstore,composite,columns}';
	stores text[] := '{kiln,jsonb,json,hstore,composite,columns,bytea}';
	names text[] := '{a,b,x,y,id,score,s,t}';
	types text[] := '{bool,bool,int4,int4,int8,float8,text,text}';
	c text;
	expression text;
	source text;
	aggregates text;
BEGIN
	-- one field: the first, id, score, the last string
	FOR i IN 1 .. 8 LOOP
		CONTINUE WHEN names[i] NOT IN ('a', 'id', 'score', 't');
		CALL add_scans('fields', names[i], corpus, 'm_', stores, n);
		FOREACH c IN ARRAY contenders LOOP
			expression := field(c, names[i], types[i]);
			source := table_of('m_', c);
			CONTINUE WHEN expression IS NULL;
			CALL add_leg('fields', names[i], corpus, c, format('SELECT count(%s) FROM %s', expression, some_of(source, c)), rows_of(n, c), floor => scan_of(c),
				answer => answer_of(expression, source));
		END LOOP;
		CALL add_leg('fields', names[i], corpus, 'kiln twin', format('SELECT count(%s) FROM m_kiln', field('kiln', names[i], types[i])), n,
			floor => 'scan kiln');
		CALL add_leg('fields', names[i], corpus, 'octet_length', 'SELECT count(octet_length(v)) FROM m_bytea', n, floor => 'scan bytea');
	END LOOP;

	-- all eight, each by a call of its own; and one call for all
	CALL add_scans('fields', 'all eight', corpus, 'm_', stores, n);
	FOREACH c IN ARRAY contenders LOOP
		SELECT string_agg(format('count(%s)', field(c, name, type)), ', '), string_agg(format('(%s)::text', field(c, name, type)), ' || '' '' || ')
			INTO aggregates, expression FROM unnest(names, types) u(name, type);
		CONTINUE WHEN c = 'jsonb ->';
		source := table_of('m_', c);
		CALL add_leg('fields', 'all eight', corpus, c, format('SELECT %s FROM %s', aggregates, some_of(source, c)), rows_of(n, c), floor => scan_of(c),
			answer => answer_of(expression, source));
	END LOOP;
	SELECT string_agg(format('count((r).%I)', name), ', '), string_agg(format('(r).%I::text', name), ' || '' '' || ')
		INTO aggregates, expression FROM unnest(names) name;
	FOREACH c IN ARRAY '{kiln,jsonb}'::text[] LOOP
		source := format('(SELECT %s_populate_record(NULL::message, v) AS r FROM m_%1$s OFFSET 0) q', c);
		CALL add_leg('fields', 'all eight', corpus, c || ' populate_record', format('SELECT %s FROM %s', aggregates, source), n, floor => scan_of(c),
			answer => answer_of(expression, source));
	END LOOP;
	SELECT string_agg(format('count(%s)', field('kiln', name, type)), ', ') INTO aggregates FROM unnest(names, types) u(name, type);
	CALL add_leg('fields', 'all eight', corpus, 'kiln twin', format('SELECT %s FROM m_kiln', aggregates), n, floor => 'scan kiln');

	-- WHERE, GROUP BY, ORDER BY, DISTINCT on a field
	FOREACH c IN ARRAY contenders LOOP
		source := table_of('m_', c);
		CALL add_leg('queries', 'WHERE', corpus, c, format('SELECT count(*) FROM %s WHERE %s %% 1000 = 7', source, field(c, 'id', 'int8')), n,
			answer => format('SELECT count(*) FROM %s WHERE %s %% 1000 = 7', source, field(c, 'id', 'int8')));
		CALL add_leg('queries', 'GROUP BY', corpus, c, format('SELECT %s, count(*) FROM %s GROUP BY 1', field(c, 'y', 'int4'), source), n,
			answer => format('SELECT sum(y * c) || '' '' || count(*) FROM (SELECT %s AS y, count(*) AS c FROM %s GROUP BY 1) q', field(c, 'y', 'int4'), source));
		CALL add_leg('queries', 'ORDER BY', corpus, c, format('SELECT count(*) FROM (SELECT %s AS x FROM %s ORDER BY 1 OFFSET 0) q', field(c, 'x', 'int4'), source), n,
			answer => format('SELECT sum(x * (i %% 1000)) FROM (SELECT x, row_number() OVER (ORDER BY x) AS i FROM (SELECT %s AS x FROM %s) p) q',
				field(c, 'x', 'int4'), source));
		CONTINUE WHEN field(c, 's', 'text') IS NULL;
		CALL add_leg('queries', 'DISTINCT', corpus, c, format('SELECT count(*) FROM (SELECT DISTINCT %s FROM %s) q', field(c, 's', 'text'), source), n,
			answer => format('SELECT count(*) FROM (SELECT DISTINCT %s FROM %s) q', field(c, 's', 'text'), source));
	END LOOP;
	CALL add_leg('queries', 'WHERE', corpus, 'kiln twin', format('SELECT count(*) FROM m_kiln WHERE %s %% 1000 = 7', field('kiln', 'id', 'int8')), n);

	-- the same by an index on the field: rows found by their ids
	FOREACH c IN ARRAY '{kiln,jsonb ->>,hstore,composite,columns}'::text[] LOOP
		source := format('wanted w JOIN %s p ON %s = w.id', table_of('p_', c), replace(field(c, 'id', 'int8'), '(v', '(p.v'));
		IF c = 'columns' THEN
			source := 'wanted w JOIN p_plain p ON p.id = w.id';
		END IF;
		CALL add_leg('queries', 'WHERE, indexed', corpus, c, 'SELECT count(*) FROM ' || source, wanted_rows,
			answer => 'SELECT count(*) || '' '' || sum(w.id) FROM ' || source);
	END LOOP;
END $$;
