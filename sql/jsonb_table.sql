-- What jsonb does, and what does the same for kiln: every counterpart in the table of docs/SQL.md, beside what it
-- stands for.

CREATE SCHEMA jsonb_table;
SET search_path = jsonb_table, public;
SET client_min_messages = warning;

SELECT kiln_register('jt(id i64,score f64,name string,tags string[],user (name string,mail string?)?,props dict<i32>,'
	'extra json?,gone i32?,l i32[][])') IS NOT NULL AS registered;
CREATE TABLE doc (j jsonb, v kiln(jt));
INSERT INTO doc (j) VALUES
	('{"id": 1, "score": 0.5, "name": "Ada", "tags": ["a", "b", "c"], "user": {"name": "ada", "mail": "a@example.org"},
		"props": {"x": 1, "y": 2}, "extra": {"k": [1, {"z": null}]}, "l": [[1, 2], [3]]}'),
	('{"id": 2, "score": -1e3, "name": "", "tags": [], "props": {}, "l": []}');
UPDATE doc SET v = kiln_encode('jt', j);
CREATE TYPE pair AS (name text, mail text);
CREATE TYPE doc_row AS (id bigint, score float8, name text, tags text[], "user" pair, gone int);

-- Both expressions over every row, and whether they are the same; sets as arrays, kiln values as jsonb
CREATE TABLE counterpart (n serial, jsonb text, kiln text);
CREATE FUNCTION compared(this counterpart, OUT answers text, OUT same boolean) LANGUAGE plpgsql AS $$
DECLARE
	by_jsonb text;
	by_kiln text;
BEGIN
	BEGIN
		EXECUTE format('SELECT string_agg(coalesce((%s)::text, ''NULL''), '' | '' ORDER BY j->''id'') FROM doc',
			this.jsonb) INTO by_jsonb;
		EXECUTE format('SELECT string_agg(coalesce((%s)::text, ''NULL''), '' | '' ORDER BY j->''id'') FROM doc',
			this.kiln) INTO by_kiln;
	EXCEPTION WHEN OTHERS THEN
		by_kiln := coalesce(by_jsonb, '') || ' / ' || SQLSTATE || ' ' || SQLERRM;
	END;
	same := by_kiln = by_jsonb;
	answers := CASE WHEN same THEN by_kiln ELSE by_jsonb || ' / ' || by_kiln END;
END $$;

INSERT INTO counterpart (jsonb, kiln) VALUES
	-- operators of json and jsonb
	($$j->'name'$$, $$(v->'name')::jsonb$$),
	($$j->'tags'->0$$, $$(v->'tags'->0)::jsonb$$),
	($$j->'tags'->-1$$, $$(v->'tags'->-1)::jsonb$$),
	($$j->>'name'$$, $$v->>'name'$$),
	($$j->>'tags'$$, $$(v->>'tags')::jsonb$$),
	($$j->'tags'->>1$$, $$v->'tags'->>1$$),
	($$j#>'{user,name}'$$, $$(v#>'{user,name}')::jsonb$$),
	($$j#>>'{tags,1}'$$, $$v#>>'{tags,1}'$$),
	($$j#>>'{extra,k,1,z}'$$, $$v#>>'{extra,k,1,z}'$$),
	-- subscripts
	($$j['user']['name']$$, $$v['user']['name']::jsonb$$),
	($$j['l'][0][1]$$, $$v['l'][0][1]::jsonb$$),
	($$(j['id'])::int8$$, $$v['id']::int8$$),
	-- operators of jsonb alone
	($$j @> '{"tags": ["b"]}'$$, $$v @> '{"tags": ["b"]}'$$),
	($$'{"id": 1}' <@ j$$, $$v @> '{"id": 1}'$$),
	($$j <@ (j || '{"more": 1}')$$, $$v::jsonb <@ (j || '{"more": 1}')$$),
	($$j ? 'user'$$, $$v ? 'user'$$),
	($$j->'props' ? 'x'$$, $$v->'props' ? 'x'$$),
	($$j->'tags' ? 'b'$$, $$(v->'tags')::jsonb ? 'b'$$),
	($$j ?| '{user,gone}'$$, $$v ? 'user' OR v ? 'gone'$$),
	($$j ?& '{user,gone}'$$, $$v ? 'user' AND v ? 'gone'$$),
	($$j || '{"name": "new", "gone": 7}'$$, $$kiln_merge(v, '{"name": "new", "gone": 7}')::jsonb$$),
	($$j || '{"tags": ["z"]}'$$, $$kiln_merge(v, '{"tags": ["z"]}')::jsonb$$),
	($$jsonb_set(j, '{tags}', j->'tags' || '"z"')$$,
		$$kiln_set(v, format('tags[%s]', (SELECT count(*) FROM kiln_unnest(v->'tags'))), 'z')::jsonb$$),
	($$j - 'user'$$, $$kiln_set(v, 'user', NULL)::jsonb$$),
	($$j - '{user,extra}'::text[]$$, $$kiln_merge(v, '{"user": null, "extra": null}')::jsonb$$),
	($$jsonb_set(j, '{props}', (j->'props') - 'x')$$, $$kiln_merge(v, '{"props": {"x": null}}')::jsonb$$),
	($$j #- '{props,x}'$$, $$kiln_merge(v, '{"props": {"x": null}}')::jsonb$$),
	($$j #- '{user,mail}'$$, $$kiln_set(v, 'user.mail', NULL)::jsonb$$),
	($$(j->'tags') - 1$$,
		$$to_jsonb(ARRAY(SELECT t::jsonb FROM kiln_unnest(v->'tags') WITH ORDINALITY AS u (t, n) WHERE n <> 2))$$),
	($$j @? '$.tags[*] ? (@ == "b")'$$, $$v::jsonb @? '$.tags[*] ? (@ == "b")'$$),
	($$j @@ '$.id > 1'$$, $$v::jsonb @@ '$.id > 1'$$),
	-- comparison: scalars as jsonb, whole values as the same and another one
	($$j->'id' = '1'$$, $$v->'id' = '1'$$),
	($$j->'score' < '0.25'$$, $$v->'score' < '0.25'$$),
	($$j->'name' >= '"A"'$$, $$v->'name' >= '"A"'$$),
	($$j->'id' <> '1.0'$$, $$v->'id' <> '1.0'$$),
	($$j = (SELECT d.j FROM doc AS d WHERE d.j->>'id' = '1')$$,
		$$v = (SELECT d.v FROM doc AS d WHERE d.v->>'id' = '1')$$),
	-- making
	($$to_jsonb(ROW('a', NULL)::pair)$$,
		$$kiln_encode('(name string,mail string?)', ROW('a', NULL)::pair)::jsonb || '{"mail": null}'$$),
	($$to_jsonb(ARRAY[1, 2])$$,
		$$(kiln_encode('(l i32[])', (SELECT r FROM (SELECT ARRAY[1, 2] AS l) AS r))->'l')::jsonb$$),
	($$to_jsonb(5)$$, $$(5::kiln)::jsonb$$),
	($$jsonb_build_object('id', 5, 'name', 'x')$$,
		$$kiln_encode('(id i64,name string)', jsonb_build_object('id', 5, 'name', 'x'))::jsonb$$),
	($$jsonb_object('{a,1,b,2}')$$, $$kiln_encode('dict<string>', jsonb_object('{a,1,b,2}'))::jsonb$$),
	($$jsonb_build_array(1, 2)$$, $$kiln_encode('i32[]', jsonb_build_array(1, 2))::jsonb$$),
	($$to_jsonb(ROW(j)) -> 'f1'$$, $$to_jsonb(ROW(v)) -> 'f1'$$),
	($$row_to_json(ROW(j))::jsonb #> '{f1,tags}'$$, $$row_to_json(ROW(v))::jsonb #> '{f1,tags}'$$),
	-- taking apart
	($$(SELECT string_agg(e::text, ' ') FROM jsonb_array_elements(j->'tags') AS e)$$,
		$$(SELECT string_agg(e::jsonb::text, ' ') FROM kiln_unnest(v->'tags') AS e)$$),
	($$(SELECT string_agg(e, ' ') FROM jsonb_array_elements_text(j->'tags') AS e)$$,
		$$(SELECT string_agg(e, ' ') FROM unnest(kiln_get(v, 'tags', NULL::text[])) AS e)$$),
	($$jsonb_array_length(j->'tags')$$, $$(SELECT count(*) FROM kiln_unnest(v->'tags'))$$),
	($$jsonb_array_length(j->'tags')$$, $$cardinality(kiln_get(v, 'tags', NULL::text[]))$$),
	($$jsonb_array_length(j->'l')$$, $$jsonb_array_length((v->'l')::jsonb)$$),
	($$(SELECT string_agg(key || '=' || value, ' ' ORDER BY key) FROM jsonb_each(j) WHERE key <> 'extra')$$,
		$$(SELECT string_agg(key || '=' || value::jsonb, ' ' ORDER BY key) FROM kiln_each(v) WHERE key <> 'extra')$$),
	($$(SELECT string_agg(key || '=' || value, ' ' ORDER BY key) FROM jsonb_each_text(j->'props'))$$,
		$$(SELECT string_agg(key || '=' || value, ' ' ORDER BY key) FROM kiln_each_text(v->'props'))$$),
	($$(SELECT string_agg(k, ' ' ORDER BY k) FROM jsonb_object_keys(j) AS k)$$,
		$$(SELECT string_agg(k, ' ' ORDER BY k) FROM kiln_keys(v) AS k)$$),
	($$jsonb_extract_path(j, 'user', 'name')$$, $$kiln_get_jsonb(v, 'user.name')$$),
	($$jsonb_extract_path_text(j, 'tags', '1')$$, $$kiln_get(v, 'tags[1]')$$),
	($$jsonb_populate_record(NULL::doc_row, j)$$, $$kiln_populate_record(NULL::doc_row, v)$$),
	($$(SELECT string_agg(r::text, ' ') FROM jsonb_populate_recordset(NULL::pair, jsonb_path_query_array(j,
		'$.user')) AS r)$$,
		$$(SELECT string_agg(r::text, ' ') FROM kiln_unnest(kiln_encode('(name string,mail string?)[]',
			jsonb_path_query_array(j, '$.user'))) AS u, kiln_populate_record(NULL::pair, u) AS r)$$),
	($$(SELECT r::text FROM jsonb_to_record(j) AS r (id bigint, name text, gone int))$$,
		$$(SELECT r::text FROM kiln_to_record(v) AS r (id bigint, name text, gone int))$$),
	($$(SELECT string_agg(r::text, ' ') FROM jsonb_to_recordset(jsonb_build_array(j)) AS r (id bigint, name text))$$,
		$$(SELECT string_agg(r::text, ' ') FROM kiln_unnest((SELECT kiln_agg(d.v) FROM doc AS d
			WHERE d.v = doc.v)) AS u, kiln_to_record(u) AS r (id bigint, name text))$$),
	-- changing
	($$jsonb_set(j, '{name}', '"new"')$$, $$kiln_set(v, 'name', 'new')::jsonb$$),
	($$jsonb_set(j, '{props,z}', '3')$$, $$kiln_set(v, 'props.z', 3)::jsonb$$),
	($$jsonb_set(j, '{extra}', 'null') - 'extra'$$, $$kiln_set(v, 'extra', NULL::int)::jsonb$$),
	($$jsonb_set_lax(j, '{user}', NULL, true, 'delete_key')$$, $$kiln_set(v, 'user', NULL)::jsonb$$),
	($$jsonb_insert(j, '{props,z}', '3')$$, $$kiln_set(v, 'props.z', 3)::jsonb$$),
	($$jsonb_strip_nulls('{"a": null, "b": 1}')$$,
		$$kiln_encode('(a i32?,b i32)', '{"a": null, "b": 1}'::jsonb)::jsonb$$),
	-- jsonpath, by the cast
	($$jsonb_path_exists(j, '$.user')$$, $$jsonb_path_exists(v::jsonb, '$.user')$$),
	($$jsonb_path_match(j, '$.id == 1')$$, $$jsonb_path_match(v::jsonb, '$.id == 1')$$),
	($$(SELECT string_agg(q::text, ' ') FROM jsonb_path_query(j, '$.tags[*]') AS q)$$,
		$$(SELECT string_agg(q::text, ' ') FROM jsonb_path_query(v::jsonb, '$.tags[*]') AS q)$$),
	($$jsonb_path_query_array(j, '$.l[*][0]')$$, $$jsonb_path_query_array(v::jsonb, '$.l[*][0]')$$),
	($$jsonb_path_query_first(j, '$.props.*')$$, $$jsonb_path_query_first(v::jsonb, '$.props.*')$$),
	($$jsonb_path_exists_tz(j, '$.id ? (@ > 1)')$$, $$jsonb_path_exists_tz(v::jsonb, '$.id ? (@ > 1)')$$),
	-- showing
	($$jsonb_pretty(j)$$, $$jsonb_pretty(v::jsonb)$$),
	($$jsonb_typeof(j->'tags') || jsonb_typeof(j->'id')$$,
		$$CASE WHEN kiln_typeof(v, 'tags') LIKE '%]' THEN 'array' END ||
		CASE WHEN kiln_typeof(v, 'id') = 'i64' THEN 'number' END$$),
	-- casts from jsonb, and the same from kiln
	($$(j->'id')::int2$$, $$(v->'id')::int2$$),
	($$(j->'id')::int4$$, $$(v->'id')::int4$$),
	($$(j->'id')::int8$$, $$(v->'id')::int8$$),
	($$(j->'score')::float4$$, $$(v->'score')::float4$$),
	($$(j->'score')::float8$$, $$(v->'score')::float8$$),
	($$(j->'score')::numeric$$, $$(v->'score')::numeric$$),
	($$(j->'id' = '1')$$, $$((kiln_encode('(b bool)', jsonb_build_object('b', j->'id' = '1')))->'b')::bool$$);

SELECT n, jsonb, kiln, left(answers, 100) AS answers FROM counterpart, compared(counterpart)
	WHERE same IS NOT TRUE ORDER BY n;
SELECT count(*) > 60 AS many, count(*) FILTER (WHERE same) = count(*) AS same FROM counterpart, compared(counterpart);

-- aggregates, and subscripts assigned
SELECT jsonb_agg(j ORDER BY j->'id') = kiln_agg(v ORDER BY v->'id')::jsonb AS agg,
	jsonb_agg(j ORDER BY j->'id') = jsonb_agg(v ORDER BY v->'id') AS jsonb_agg,
	jsonb_object_agg(j->>'id', j->'name') = jsonb_object_agg(v->>'id', v->'name') AS object_agg FROM doc;
UPDATE doc SET j['name'] = '"set"', j['tags'] = '["s"]', j['props']['n'] = '9', v['name'] = '"set"',
	v['tags'] = '["s"]', v['props']['n'] = 9;
SELECT j = v::jsonb AS assigned FROM doc;

-- indexes: what a GIN index on jsonb serves, one on the cast serves
CREATE INDEX doc_gin ON doc USING gin ((v::jsonb));
CREATE INDEX doc_path ON doc USING gin ((v::jsonb) jsonb_path_ops);
SET enable_seqscan = off;
EXPLAIN (COSTS OFF) SELECT * FROM doc WHERE v::jsonb ? 'user';
EXPLAIN (COSTS OFF) SELECT * FROM doc WHERE v::jsonb ?| '{user,gone}';
RESET enable_seqscan;

-- What jsonb has and kiln has not is refused as an unknown operator or function, not guessed at
SELECT expression, left(attempt(format('SELECT %s FROM jsonb_table.doc', expression)), 60)
	FROM unnest(ARRAY['v ?| ''{a}''', 'v ?& ''{a}''', 'v - ''a''', 'v #- ''{a}''', 'v @? ''$''',
	'v <@ v', 'v || ''{}''::jsonb', 'jsonb_pretty(v)']) AS expression;

SELECT 1 AS still_here;
RESET search_path;
DROP SCHEMA jsonb_table CASCADE;
