-- Messages: making values, and COPY. Functions from legs.sql.
--
-- Rows go into an unlogged table that was just emptied, so the log is in no time. Conversion from plain columns is what each way of
-- keeping them has to do anyway; a row of columns is handed over either as ROW(a, b, …) or as the table's whole row, which is slower, and
-- like is compared with like. psql variable folder: where COPY's files are.

\set ON_ERROR_STOP on
SET client_min_messages = warning;
SET search_path = bench, public;
SELECT set_config('bench.folder', :'folder', false) \g /dev/null

CREATE UNLOGGED TABLE to_plain (LIKE m_plain) WITH (autovacuum_enabled = off);
CREATE UNLOGGED TABLE to_kiln (v kiln(message)) WITH (autovacuum_enabled = off);
CREATE UNLOGGED TABLE to_jsonb (v jsonb) WITH (autovacuum_enabled = off);
CREATE UNLOGGED TABLE to_json (v json) WITH (autovacuum_enabled = off);
CREATE UNLOGGED TABLE to_hstore (v hstore) WITH (autovacuum_enabled = off);
CREATE UNLOGGED TABLE to_composite (v message) WITH (autovacuum_enabled = off);
CREATE UNLOGGED TABLE to_bytea (v bytea) WITH (autovacuum_enabled = off);

DO $$
DECLARE
	n int8 := (SELECT count(*) FROM m_plain);
	copied int8 := n / 5;
	corpus text := 'messages';
	c text;
	reads text;
	from_table text;
	to_table text;
	file text;
	form text;
	-- how a row of columns becomes a value: contender, expression, its source
	makers text[] := ARRAY[
		['kiln', 'kiln_encode(''message'', ROW(a, b, x, y, id, score, s, t)::message)', 'm_plain'],
		['composite', 'ROW(a, b, x, y, id, score, s, t)::message', 'm_plain'],
		['jsonb', 'to_jsonb(ROW(a, b, x, y, id, score, s, t)::message)', 'm_plain'],
		['json', 'row_to_json(ROW(a, b, x, y, id, score, s, t)::message)', 'm_plain'],
		['hstore', 'hstore(ROW(a, b, x, y, id, score, s, t)::message)', 'm_plain'],
		['kiln, whole row', 'kiln_encode(''message'', p)', 'm_plain'],
		['composite, whole row', 'p::message', 'm_typed'],
		['jsonb, whole row', 'to_jsonb(p)', 'm_plain'],
		['jsonb, built', 'jsonb_build_object(''a'', a, ''b'', b, ''x'', x, ''y'', y, ''id'', id, ''score'', score, ''s'', s, ''t'', t)', 'm_plain'],
		['kiln twin', 'kiln_encode(''message'', ROW(a, b, x, y, id, score, s, t)::message)', 'm_plain']];
BEGIN
	CALL add_leg('encode', 'INSERT SELECT', corpus, 'columns', 'INSERT INTO to_plain SELECT * FROM m_plain', n, prepare => 'TRUNCATE to_plain');
	CALL add_leg('encode', 'INSERT SELECT', corpus, 'scan columns', 'SELECT count(id) FROM m_plain', n);
	FOR i IN 1 .. array_length(makers, 1) LOOP
		c := regexp_replace(makers[i][1], '\W.*', '');
		reads := CASE c WHEN 'jsonb' THEN 'jsonb ->>' ELSE c END;
		to_table := table_of('to_', c);
		CALL add_leg('encode', 'INSERT SELECT', corpus, makers[i][1], format('INSERT INTO %s SELECT %s FROM %s p', to_table, makers[i][2], makers[i][3]), n,
			prepare => format('TRUNCATE %s', to_table), answer => answer_of(field(reads, 'id', 'int8'), to_table));
	END LOOP;

	FOREACH form IN ARRAY '{text,binary}'::text[] LOOP
		FOREACH c IN ARRAY '{kiln,jsonb,json,hstore,composite,columns,bytea}'::text[] LOOP
			from_table := format('(SELECT * FROM %s LIMIT %s)', table_of('m_', c), copied);
			to_table := table_of('to_', c);
			file := current_setting('bench.folder') || '/' || c || '.' || form;
			EXECUTE format('COPY %s TO %L (FORMAT %s)', from_table, file, form);
			CALL add_leg('copy', 'out, ' || form, corpus, c, format('COPY %s TO ''/dev/null'' (FORMAT %s)', from_table, form), copied);
			CALL add_leg('copy', 'in, ' || form, corpus, c, format('COPY %s FROM %L (FORMAT %s)', to_table, file, form), copied,
				prepare => format('TRUNCATE %s', to_table),
				answer => CASE WHEN c = 'bytea' THEN NULL
					ELSE answer_of(field(CASE c WHEN 'jsonb' THEN 'jsonb ->>' ELSE c END, 'id', 'int8'), to_table) END);
		END LOOP;
		CALL add_leg('copy', 'in, ' || form, corpus, 'kiln twin', format('COPY to_kiln FROM %L (FORMAT %s)',
			current_setting('bench.folder') || '/kiln.' || form, form), copied, prepare => 'TRUNCATE to_kiln');
	END LOOP;
END $$;
