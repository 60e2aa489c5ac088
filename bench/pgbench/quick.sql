-- What reading one field costs, next to what the server asks for the length of the same bytes.
--
-- A million reference messages (docs/FORMAT.md), once as kiln(message) and once as bytea of the very same bytes. Every
-- round times four queries one after the other, so that whatever disturbs the machine disturbs all alike:
--
--   scan_bytea   count(*) over the bytea table, testing only that the column is there
--   octet_length count(octet_length(b))
--   scan_kiln    the same scan over the kiln table
--   kiln_get     sum(kiln_get_int8(m, 'id'))
--
-- and the sum's own share, sum(n) over a plain bigint column against its scan. What counts is each read over its own scan:
--
--   ratio = (kiln_get - scan_kiln) / (octet_length - scan_bytea)
--
-- kiln_get sums what it read, so that no field stays unread; octet_length only counts. The ratio therefore has the sum's cost
-- against it; ratio_count leaves it out by counting on both sides.
--
-- Run by bench/pgbench/quick, or in any database: psql -X -f bench/pgbench/quick.sql. Makes and drops schema kiln_quick.

\set ON_ERROR_STOP on
\if :{?rounds} \else \set rounds 21 \endif
\if :{?rows} \else \set rows 1000000 \endif

SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS kiln;
DROP SCHEMA IF EXISTS kiln_quick CASCADE;
CREATE SCHEMA kiln_quick;
SET search_path = kiln_quick, public;
SET jit = off;
SET max_parallel_workers_per_gather = 0;
SET synchronize_seqscans = off;

SELECT kiln_register('message(a bool, b bool, x i32, y i32, id i64, score f64, s string, t string)') AS schema \gset
CREATE UNLOGGED TABLE as_kiln (m kiln(message)) WITH (autovacuum_enabled = off);
CREATE UNLOGGED TABLE as_bytea (b bytea) WITH (autovacuum_enabled = off);
INSERT INTO as_kiln
	SELECT kiln_encode('message', jsonb_build_object('a', true, 'b', false, 'x', i, 'y', -i, 'id', i, 'score', i / 4.0, 's', 'hello', 't', 'world'))
	FROM generate_series(1, :rows) i;
INSERT INTO as_bytea SELECT kiln_frame(m) FROM as_kiln;
VACUUM (FREEZE, ANALYZE) as_kiln;
VACUUM (FREEZE, ANALYZE) as_bytea;

-- The comparison is of like with like: the same bytes in every row, and every id there.
SELECT count(*) = :rows AND min(pg_column_size(m)) = 54 AND max(pg_column_size(m)) = 54
	AND (SELECT min(pg_column_size(b)) = 54 AND max(pg_column_size(b)) = 54 FROM as_bytea)
	AND sum(kiln_get_int8(m, 'id')) = :rows::int8 * (:rows + 1) / 2 AS same FROM as_kiln \gset
\if :same \else \echo the tables are not what they should be \quit \endif

CREATE TABLE timings (round int, name text, ms float8);
CREATE PROCEDURE measure(rounds int) LANGUAGE plpgsql AS $$
DECLARE
	queries text[] := ARRAY[
		['scan_bytea', 'SELECT count(*) FROM as_bytea WHERE b IS NOT NULL'],
		['octet_length', 'SELECT count(octet_length(b)) FROM as_bytea WHERE b IS NOT NULL'],
		['scan_kiln', 'SELECT count(*) FROM as_kiln WHERE m IS NOT NULL'],
		['kiln_get_sum', 'SELECT sum(kiln_get_int8(m, ''id'')) FROM as_kiln WHERE m IS NOT NULL'],
		['kiln_get_count', 'SELECT count(kiln_get_int8(m, ''id'')) FROM as_kiln WHERE m IS NOT NULL'],
		['kiln_s_count', 'SELECT count(kiln_get(m, ''s'')) FROM as_kiln WHERE m IS NOT NULL']];
	begun timestamptz;
	answer numeric;
	k int;
BEGIN
	FOR round IN -1 .. rounds LOOP				-- two rounds warm up
		FOR j IN 0 .. array_length(queries, 1) - 1 LOOP
			-- Each round starts elsewhere, so that no query always follows the same one.
			k := 1 + (j + round + 1) % array_length(queries, 1);
			begun := clock_timestamp();
			EXECUTE queries[k][2] INTO answer;
			IF round > 0 THEN
				INSERT INTO timings VALUES (round, queries[k][1], extract(epoch FROM clock_timestamp() - begun) * 1000);
			END IF;
		END LOOP;
	END LOOP;
END $$;
CALL measure(:rounds);

\pset footer off
\echo Time of each query over :rows messages, in milliseconds, :rounds rounds
SELECT name, round(min(ms)::numeric, 1) AS least, round(percentile_cont(0.5) WITHIN GROUP (ORDER BY ms)::numeric, 1) AS median,
	round(percentile_cont(0.9) WITHIN GROUP (ORDER BY ms)::numeric, 1) AS "90 %"
FROM timings GROUP BY name ORDER BY median;

-- The two scans do the same and are the control: where they differ, or swing, the machine was busy and no ratio means anything.
SELECT max(median) / min(median) > 1.05 OR bool_or(median > least * 1.15) AS busy
FROM (SELECT min(ms) AS least, percentile_cont(0.5) WITHIN GROUP (ORDER BY ms) AS median FROM timings WHERE name LIKE 'scan%' GROUP BY name) s \gset
\if :busy
\echo The scans alone differ by more than 5 %, or from their least by more than 15 %: the machine was busy, do not use what follows
\endif

\echo Cost of one call in nanoseconds, over its own scan, and against octet_length(bytea); medians of the rounds
WITH a AS (SELECT round, jsonb_object_agg(name, ms) AS t FROM timings GROUP BY round),
b AS (
	SELECT round, name, (t->>name)::float8 - (t->>(CASE WHEN name = 'octet_length' THEN 'scan_bytea' ELSE 'scan_kiln' END))::float8 AS over,
		(t->>'octet_length')::float8 - (t->>'scan_bytea')::float8 AS base
	FROM a, unnest(ARRAY['octet_length', 'kiln_get_count', 'kiln_get_sum', 'kiln_s_count']) name),
c AS (
	SELECT name, percentile_cont(0.5) WITHIN GROUP (ORDER BY over) AS over, percentile_cont(0.5) WITHIN GROUP (ORDER BY base) AS base,
		percentile_cont(ARRAY[0.25, 0.75]) WITHIN GROUP (ORDER BY over / base) AS spread
	FROM b GROUP BY name)
SELECT name, round((over * 1e6 / :rows)::numeric, 1) AS ns, round((over / base)::numeric, 2) AS ratio,
	round(spread[1]::numeric, 2) || ' to ' || round(spread[2]::numeric, 2) AS "half of the rounds"
FROM c ORDER BY ratio;

DROP SCHEMA kiln_quick CASCADE;
