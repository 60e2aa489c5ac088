-- Large values: documents and arrays. Functions from legs.sql.

\set ON_ERROR_STOP on
SET client_min_messages = warning;
SET search_path = bench, public;

-- How each contender gets at element 50 of a document's list.
CREATE FUNCTION element(contender text) RETURNS text LANGUAGE sql IMMUTABLE RETURN
	CASE contender
		WHEN 'kiln' THEN 'kiln_get_int8(v, ''items[50].id'')'
		WHEN 'composite' THEN '((v).items)[51].id'
		ELSE '(v#>>''{items,50,id}'')::int8'
	END;

DO $$
DECLARE
	suffix text;
	c text;
	n int8;
	corpus text;
	source text;
	operation text;
	expression text;
	counts text;
	-- eight fields before the list
	names text[] := '{id,owner,kind,open,score,created,title,note}';
	types text[] := '{int8,int4,int2,bool,float8,timestamptz,text,text}';
	-- contender, how its fields are read, its table
	stores text[] := ARRAY[['kiln', 'kiln', 'kiln'], ['kiln EXTENDED', 'kiln', 'extended'], ['jsonb', 'jsonb ->>', 'jsonb'],
		['jsonb EXTERNAL', 'jsonb ->>', 'jsonb_external'], ['composite', 'composite', 'composite'], ['kiln twin', 'kiln', 'kiln']];
BEGIN
	FOREACH suffix IN ARRAY '{"",64,1024}'::text[] LOOP
		EXECUTE format('SELECT count(*) FROM d%s_kiln', suffix) INTO n;
		corpus := 'documents of ' || CASE suffix WHEN '' THEN '5 KB' WHEN '64' THEN '64 KB' ELSE '1 MB' END;
		FOREACH operation IN ARRAY '{early field,late field,list element,eight fields}'::text[] LOOP
			CALL add_leg('documents', operation, corpus, 'scan', format('SELECT count(v) FROM d%s_kiln', suffix), n);
			FOR i IN 1 .. array_length(stores, 1) LOOP
				c := stores[i][2];
				source := 'd' || suffix || '_' || stores[i][3];
				IF operation = 'eight fields' THEN
					SELECT string_agg(format('count(%s)', field(c, name, type)), ', '), string_agg(format('(%s)::text', field(c, name, type)), ' || '' '' || ')
						INTO counts, expression FROM unnest(names, types) u(name, type);
				ELSE
					expression := CASE operation WHEN 'early field' THEN field(c, 'owner', 'int4') WHEN 'late field' THEN field(c, 'total', 'int8') ELSE element(c) END;
					counts := format('count(%s)', expression);
				END IF;
				CALL add_leg('documents', operation, corpus, stores[i][1], format('SELECT %s FROM %s', counts, source), n, answer => answer_of(expression, source));
			END LOOP;
			-- get_byte fetches all of a value, and substr of an EXTERNAL one a chunk
			CALL add_leg('documents', operation, corpus, 'bytea, all of it', format('SELECT count(get_byte(v, 100)) FROM d%s_bytea', suffix), n);
			CALL add_leg('documents', operation, corpus, 'bytea, 4 bytes of it', format('SELECT count(substr(v, 18, 4)) FROM d%s_bytea', suffix), n);
		END LOOP;
	END LOOP;

	-- Does a field before the list cost more in a larger document? As many rows of each size, so that no cache is kinder to one.
	EXECUTE 'SELECT count(*) FROM d1024_kiln' INTO n;
	FOREACH suffix IN ARRAY '{"",64,1024}'::text[] LOOP
		CALL add_leg('documents', 'early field by size', 'documents', 'kiln, ' || CASE suffix WHEN '' THEN '5 KB' WHEN '64' THEN '64 KB' ELSE '1 MB' END,
			format('SELECT count(kiln_get_int4(v, ''owner'')) FROM (SELECT v FROM d%s_kiln LIMIT %s) q', suffix, n), n);
	END LOOP;
END $$;

-- ------------------------------------------------------------------ arrays

DO $$
DECLARE
	n int8 := (SELECT count(*) FROM a_kiln);
	corpus text := 'arrays of 2 MiB';
	m int8 := (SELECT count(*) FROM samples);
BEGIN
	CALL add_leg('tensors', 'element', corpus, 'scan', 'SELECT count(v) FROM a_kiln', n);
	CALL add_leg('tensors', 'element', corpus, 'kiln_at', 'SELECT count(kiln_at(v, 200000)) FROM a_kiln', n, answer => answer_of('kiln_at(v, 200000)', 'a_kiln'));
	CALL add_leg('tensors', 'element', corpus, 'kiln_at twin', 'SELECT count(kiln_at(v, 200000)) FROM a_kiln', n);
	CALL add_leg('tensors', 'element', corpus, 'float8[]', 'SELECT count(v[200000]) FROM a_array', n, answer => answer_of('v[200000]', 'a_array'));
	CALL add_leg('tensors', 'element', corpus, 'float8[] EXTERNAL', 'SELECT count(v[200000]) FROM a_array_external', n,
		answer => answer_of('v[200000]', 'a_array_external'));
	CALL add_leg('tensors', 'element', corpus, 'bytea, 16 bytes of it', 'SELECT count(substring(v FROM 1600189 FOR 16)) FROM a_bytea', n);

	CALL add_leg('tensors', 'slice', corpus, 'kiln_slice', 'SELECT count(kiln_slice(v, 100001, 101000)) FROM a_kiln', n,
		answer => answer_of('kiln_to_array(kiln_slice(v, 100001, 101000))', 'a_kiln'));
	CALL add_leg('tensors', 'slice', corpus, 'kiln_slice twin', 'SELECT count(kiln_slice(v, 100001, 101000)) FROM a_kiln', n);
	CALL add_leg('tensors', 'slice', corpus, 'float8[]', 'SELECT count(v[100001:101000]) FROM a_array', n, answer => answer_of('v[100001:101000]', 'a_array'));
	CALL add_leg('tensors', 'slice', corpus, 'float8[] EXTERNAL', 'SELECT count(v[100001:101000]) FROM a_array_external', n,
		answer => answer_of('v[100001:101000]', 'a_array_external'));

	CALL add_leg('tensors', 'build', 'samples', 'scan', 'SELECT count(x) FROM samples', m);
	CALL add_leg('tensors', 'build', 'samples', 'kiln_tensor_agg', 'SELECT kiln_tensor_agg(x) FROM samples', m, floor => 'scan',
		answer => answer_of('kiln_to_array(v)', '(SELECT kiln_tensor_agg(x) AS v FROM samples) q'));
	CALL add_leg('tensors', 'build', 'samples', 'kiln_tensor_agg twin', 'SELECT kiln_tensor_agg(x) FROM samples', m, floor => 'scan');
	CALL add_leg('tensors', 'build', 'samples', 'array_agg', 'SELECT array_agg(x) FROM samples', m, floor => 'scan',
		answer => answer_of('v', '(SELECT array_agg(x) AS v FROM samples) q'));
	CALL add_leg('tensors', 'build', 'samples', 'kiln_tensor(array_agg)', 'SELECT kiln_tensor(array_agg(x)) FROM samples', m, floor => 'scan',
		answer => answer_of('kiln_to_array(v)', '(SELECT kiln_tensor(array_agg(x)) AS v FROM samples) q'));

	CALL add_leg('tensors', 'build, 10,000 groups', 'samples', 'scan', 'SELECT g, count(x) FROM samples GROUP BY g', m);
	CALL add_leg('tensors', 'build, 10,000 groups', 'samples', 'kiln_tensor_agg', 'SELECT g, kiln_tensor_agg(x) FROM samples GROUP BY g', m, floor => 'scan',
		answer => answer_of('kiln_to_array(v)', '(SELECT g, kiln_tensor_agg(x ORDER BY x) AS v FROM samples GROUP BY g) q'));
	CALL add_leg('tensors', 'build, 10,000 groups', 'samples', 'kiln_tensor_agg twin', 'SELECT g, kiln_tensor_agg(x) FROM samples GROUP BY g', m, floor => 'scan');
	CALL add_leg('tensors', 'build, 10,000 groups', 'samples', 'array_agg', 'SELECT g, array_agg(x) FROM samples GROUP BY g', m, floor => 'scan',
		answer => answer_of('v', '(SELECT g, array_agg(x ORDER BY x) AS v FROM samples GROUP BY g) q'));
END $$;

-- ------------------------------------------------------------------ languages: real strings, many fields absent

DO $$
DECLARE
	n int8 := (SELECT count(*) FROM l_kiln);
	corpus text := 'languages';
	contenders text[] := '{kiln,jsonb ->>,json,hstore,composite,columns}';
	names text[] := '{alpha_3,name,scope,type,alpha_2,bibliographic,common_name,inverted_name}';
	c text;
	source text;
	counts text;
	expression text;
BEGIN
	FOREACH c IN ARRAY contenders LOOP
		source := table_of('l_', c);
		CALL add_leg('languages', 'name', corpus, c, format('SELECT count(%s) FROM %s', field(c, 'name', 'text'), source), n,
			answer => answer_of(field(c, 'name', 'text'), source));
		SELECT string_agg(format('count(%s)', field(c, name, 'text')), ', '), string_agg(format('coalesce(%s, ''-'')', field(c, name, 'text')), ' || '' '' || ')
			INTO counts, expression FROM unnest(names) name;
		CALL add_leg('languages', 'all eight', corpus, c, format('SELECT %s FROM %s', counts, source), n, answer => answer_of(expression, source));
	END LOOP;
	CALL add_leg('languages', 'name', corpus, 'kiln twin', 'SELECT count(kiln_get(v, ''name'')) FROM l_kiln', n);
END $$;

-- ------------------------------------------------------------------ sizes

INSERT INTO fact
	SELECT 'sizes', 'bytes a value', 'messages', c, bytes, 'bytes' FROM (VALUES
		('kiln', (SELECT avg(pg_column_size(v)) FROM m_kiln)), ('jsonb', (SELECT avg(pg_column_size(v)) FROM m_jsonb)),
		('json', (SELECT avg(pg_column_size(v)) FROM m_json)), ('hstore', (SELECT avg(pg_column_size(v)) FROM m_hstore)),
		('composite', (SELECT avg(pg_column_size(v)) FROM m_composite)), ('bytea', (SELECT avg(pg_column_size(v)) FROM m_bytea))) s(c, bytes);
INSERT INTO fact
	SELECT 'sizes', 'bytes a value', 'languages', c, bytes, 'bytes' FROM (VALUES
		('kiln', (SELECT avg(pg_column_size(v)) FROM l_kiln)), ('jsonb', (SELECT avg(pg_column_size(v)) FROM l_jsonb)),
		('json', (SELECT avg(pg_column_size(v)) FROM l_json)), ('hstore', (SELECT avg(pg_column_size(v)) FROM l_hstore)),
		('composite', (SELECT avg(pg_column_size(v)) FROM l_composite)), ('bytea', (SELECT avg(pg_column_size(v)) FROM l_bytea))) s(c, bytes);
INSERT INTO fact
	SELECT 'sizes', 'table, bytes a row', corpus, c, pg_table_size(prefix || CASE c WHEN 'columns' THEN 'plain' WHEN 'jsonb EXTERNAL' THEN 'jsonb_external'
		WHEN 'kiln EXTENDED' THEN 'extended' ELSE c END)::float8 / rows, 'bytes'
	FROM (VALUES
		('messages', 'm_', '{kiln,jsonb,json,hstore,composite,columns,bytea}'::text[], (SELECT count(*) FROM m_kiln)),
		('languages', 'l_', '{kiln,jsonb,json,hstore,composite,columns,bytea}', (SELECT count(*) FROM l_kiln)),
		('documents of 5 KB', 'd_', '{kiln,kiln EXTENDED,jsonb,jsonb EXTERNAL,composite,bytea}', (SELECT count(*) FROM d_kiln)),
		('documents of 64 KB', 'd64_', '{kiln,kiln EXTENDED,jsonb,jsonb EXTERNAL,composite,bytea}', (SELECT count(*) FROM d64_kiln)),
		('documents of 1 MB', 'd1024_', '{kiln,kiln EXTENDED,jsonb,jsonb EXTERNAL,composite,bytea}', (SELECT count(*) FROM d1024_kiln)))
		t(corpus, prefix, contenders, rows), unnest(contenders) c;
