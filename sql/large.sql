-- Large values: read by part, and what one accessor of a query fetched serves the next.
SELECT kiln_register('big(n i32, name string, body string, items (k i32, s string)[], total i64, last string)') IS NOT NULL AS registered;
CREATE TABLE big_json (k int PRIMARY KEY, j jsonb);
INSERT INTO big_json
	SELECT k, jsonb_build_object('n', k, 'name', 'document ' || k, 'body', repeat(md5(k::text), k * k * 3), 'total', k * 1000, 'last', md5((k + 1)::text),
		'items', (SELECT jsonb_agg(jsonb_build_object('k', i, 's', repeat('x', i % 7))) FROM generate_series(1, k * 20) i))
	FROM generate_series(1, 40) k;
CREATE TABLE big (k int PRIMARY KEY, v kiln(big));
CREATE TABLE big_compressed (k int PRIMARY KEY, v kiln(big));
ALTER TABLE big_compressed ALTER v SET STORAGE EXTENDED;
INSERT INTO big SELECT k, kiln_encode('big', j) FROM big_json;
INSERT INTO big_compressed SELECT k, kiln_encode('big', j) FROM big_json;
-- Small ones among them, and some above any bound of what is kept.
SELECT min(octet_length(kiln_frame(v))) < 2000 AS small, max(octet_length(kiln_frame(v))) > 150000 AS large,
	count(*) FILTER (WHERE octet_length(kiln_frame(v)) BETWEEN 2000 AND 60000) > 10 AS between FROM big;
-- Every way to ask, in any order, says what the source says.
CREATE FUNCTION differences(which regclass, OUT forwards bigint, OUT backwards bigint, OUT inside bigint, OUT operators bigint) LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format($q$
		SELECT count(*) FILTER (WHERE (kiln_get_int4(v, 'n'), kiln_get(v, 'name'), kiln_get(v, 'body'), kiln_get_int8(v, 'total'), kiln_get(v, 'last'))
				IS DISTINCT FROM ((j->'n')::int, j->>'name', j->>'body', (j->'total')::int8, j->>'last')),
			count(*) FILTER (WHERE (kiln_get(v, 'last'), kiln_get_int8(v, 'total'), kiln_get(v, 'body'), kiln_get(v, 'name'), kiln_get_int4(v, 'n'))
				IS DISTINCT FROM (j->>'last', (j->'total')::int8, j->>'body', j->>'name', (j->'n')::int)),
			count(*) FILTER (WHERE (kiln_get_int4(v, 'items[17].k'), kiln_get(v, 'items[-1].s'), kiln_get_int4(v, 'items[100].k'))
				IS DISTINCT FROM ((j#>'{items,17,k}')::int, j#>>'{items,-1,s}', (j#>'{items,100,k}')::int)),
			count(*) FILTER (WHERE (v->>'name', (v->'total')::int8, v #>> '{items,3,s}', v ? 'last')
				IS DISTINCT FROM (j->>'name', (j->'total')::int8, j #>> '{items,3,s}', true))
		FROM %s JOIN big_json USING (k)$q$, which) INTO forwards, backwards, inside, operators;
END $$;
SELECT * FROM differences('big');
SELECT * FROM differences('big_compressed');
-- Two columns by turns.
SELECT count(*) FILTER (WHERE kiln_get(a.v, 'last') <> kiln_get(b.v, 'last') OR kiln_get(a.v, 'name') <> kiln_get(b.v, 'name')
	OR kiln_get_int8(a.v, 'total') <> kiln_get_int8(b.v, 'total')) AS different, count(*) AS pairs
FROM big a JOIN big_compressed b USING (k);
SELECT count(*) FILTER (WHERE kiln_get_int4(a.v, 'n') <> a.k OR kiln_get_int4(b.v, 'n') <> b.k OR kiln_get(a.v, 'name') <> 'document ' || a.k
	OR kiln_get(b.v, 'last') <> md5((b.k + 1)::text)) AS different, count(*) AS pairs
FROM big a CROSS JOIN big b WHERE a.k > 30;
-- Pages that a query touches: eight fields hardly more than one, also of a value that is compressed.
CREATE FUNCTION pages(query text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	plan json;
BEGIN
	EXECUTE query;
	EXECUTE 'EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, FORMAT JSON) ' || query INTO plan;
	RETURN (plan->0->'Plan'->>'Shared Hit Blocks')::bigint + (plan->0->'Plan'->>'Shared Read Blocks')::bigint;
END $$;
CREATE VIEW some_documents AS SELECT * FROM big WHERE k BETWEEN 8 AND 20;
CREATE VIEW some_compressed AS SELECT * FROM big_compressed WHERE k BETWEEN 8 AND 20;
SELECT pages('SELECT count(kiln_get_int4(v, ''n'')), count(kiln_get(v, ''n'')), count(kiln_get_int8(v, ''n'')), count(kiln_get_int2(v, ''n'')),
		count(kiln_get(v, ''name'')), count(v->>''name''), count(kiln_get_text(v, ''name'')), count(kiln_get_numeric(v, ''n'')) FROM ' || t)
	< 2 * pages('SELECT count(kiln_get_int4(v, ''n'')) FROM ' || t) AS shared
FROM unnest(ARRAY['some_documents', 'some_compressed']) t;
-- One field of a large document takes a few pages, wherever it stands before the lists.
SELECT pages('SELECT kiln_get(v, ''name'') FROM big WHERE k = 40') < 15 AS few;
-- What a query keeps of them is little, and goes with it.
CREATE FUNCTION kept(c bigint) RETURNS bigint LANGUAGE sql VOLATILE AS $$
	SELECT coalesce(sum(total_bytes), 0)::bigint FROM pg_backend_memory_contexts WHERE name = 'kiln toast cache' AND c >= 0 $$;
SELECT kept(c) BETWEEN 1 AND 160000 AS bounded FROM (SELECT count(kiln_get(v, 'last')) + count(kiln_get(v, 'body')) AS c FROM big OFFSET 0) q;
SELECT kept(c) BETWEEN 1 AND 160000 AS bounded FROM (SELECT count(kiln_get(v, 'last')) + count(kiln_get(v, 'body')) AS c FROM big_compressed OFFSET 0) q;
SELECT kept(0) AS afterwards;
-- What is read is what is there now: after an update, a rollback, a TRUNCATE, in one function and one transaction.
CREATE FUNCTION now_and_then() RETURNS TABLE (step text, n int, total bigint, last text) LANGUAGE plpgsql AS $$
DECLARE
	d kiln(big);
BEGIN
	FOR i IN 1 .. 3 LOOP
		UPDATE big SET v = kiln_encode('big', jsonb_set(jsonb_set(j, '{n}', to_jsonb(i)), '{total}', to_jsonb(i * 7))) FROM big_json WHERE big.k = 12 AND big_json.k = 12;
		SELECT v INTO d FROM big WHERE k = 12;
		RETURN QUERY SELECT 'update ' || i, kiln_get_int4(d, 'n'), kiln_get_int8(d, 'total'), kiln_get(d, 'last');
	END LOOP;
	BEGIN
		UPDATE big SET v = kiln_encode('big', jsonb_set(j, '{n}', '99')) FROM big_json WHERE big.k = 12 AND big_json.k = 12;
		SELECT v INTO d FROM big WHERE k = 12;
		n := kiln_get_int4(d, 'n');
		step := 'inside'; total := kiln_get_int8(d, 'total'); last := kiln_get(d, 'last');
		RETURN NEXT;
		PERFORM kiln_get(d, 'nosuch');
	EXCEPTION WHEN undefined_column THEN
		SELECT v INTO d FROM big WHERE k = 12;
		n := kiln_get_int4(d, 'n');
		step := 'rolled back'; total := kiln_get_int8(d, 'total'); last := kiln_get(d, 'last');
		RETURN NEXT;
	END;
	TRUNCATE big;
	INSERT INTO big SELECT k, kiln_encode('big', jsonb_set(j, '{n}', to_jsonb(-k))) FROM big_json;
	SELECT v INTO d FROM big WHERE k = 12;
	RETURN QUERY SELECT 'refilled', kiln_get_int4(d, 'n'), kiln_get_int8(d, 'total'), kiln_get(d, 'last');
END $$;
SELECT * FROM now_and_then();
-- A cursor sees its snapshot, while the rows change under it.
BEGIN;
DECLARE c CURSOR FOR SELECT k, kiln_get_int4(v, 'n') AS n, kiln_get_int8(v, 'total') AS total, kiln_get(v, 'name') AS name FROM big WHERE k BETWEEN 10 AND 14 ORDER BY k;
FETCH 2 FROM c;
UPDATE big SET v = kiln_encode('big', jsonb_set(j, '{n}', '0')) FROM big_json WHERE big.k = big_json.k AND big.k BETWEEN 10 AND 14;
SAVEPOINT s;
SELECT kiln_get(v, 'name.x') FROM big WHERE k = 12;
ROLLBACK TO s;
FETCH 2 FROM c;
SELECT k, kiln_get_int4(v, 'n') AS n, kiln_get_int8(v, 'total') AS total FROM big WHERE k BETWEEN 10 AND 14 ORDER BY k;
FETCH 2 FROM c;
COMMIT;
-- A domain's CHECK reads the value while an accessor reads it.
CREATE DOMAIN tidy AS kiln(big) CHECK (kiln_get_int8(VALUE, 'total') >= 0 AND kiln_get(VALUE, 'last') <> '');
SELECT count(*), bool_and(kiln_get_int4(d, 'n') = kiln_get(v, 'n')::int) FROM (SELECT v, v::tidy AS d FROM big OFFSET 0) q;
-- An index on a field, built and used.
CREATE INDEX ON big (kiln_get_int8(v, 'total'), kiln_get(v, 'last'));
SET enable_seqscan = off;
SELECT k FROM big WHERE kiln_get_int8(v, 'total') = 33000;
RESET enable_seqscan;
-- Large values go out of line as they are.
SELECT typstorage FROM pg_type WHERE oid = 'kiln'::regtype;
