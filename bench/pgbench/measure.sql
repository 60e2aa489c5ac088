-- How legs are timed. A leg is a statement by which one contender answers a question; the legs of one experiment, operation and corpus are
-- a group, and are measured together.
--
-- The statements run inside the server, one after the other in one session, so that no client and no protocol is in a time:
-- EXECUTE plans each anew, which takes some hundredths of a millisecond of the 200 and more that a leg takes. Within a
-- round every leg of the experiment runs once, and each round starts with another one. A leg that takes less
-- than the least time is repeated, as often as its warm-up showed to be needed; the time kept is that of one execution.
--
-- Two times are taken: the clock's, and the time that the backend was on the core, as the kernel accounts it, which leaves out what other
-- processes took from it. The second is what is reported; the first is kept beside it. The kernel brings its account up to date
-- when a process yields the core, so each leg begins and ends with a millisecond's sleep, in no time.
--
-- Each experiment begins and ends with the control leg, whose work never changes. Where the two medians differ by
-- more than 5 percent the machine was not the same throughout: the pass is kept as invalid and made again, twice at most.

\set ON_ERROR_STOP on
SET client_min_messages = warning;
SET search_path = bench, public;

CREATE TABLE leg (
	id int GENERATED ALWAYS AS IDENTITY,
	experiment text NOT NULL,		-- fields, encode, …: a file of results
	operation text NOT NULL,
	corpus text NOT NULL,
	contender text NOT NULL,		-- floors are contenders too; a name that ends in " twin" is the same again
	statement text NOT NULL,
	operations int8 NOT NULL,		-- rows that one execution reads or writes
	floor text,						-- the leg whose time is taken off in the figures "over its scan"; NULL: there are none
	prepare text,					-- runs before each execution, not timed
	answer text,					-- gives what every contender of the group must give alike; NULL: floors and the like
	group_name text GENERATED ALWAYS AS (experiment || ': ' || operation || ', ' || corpus) STORED,
	UNIQUE (group_name, contender));

CREATE TABLE timing (group_name text, pass int, round int, contender text, ms float8, clock_ms float8);
CREATE TABLE pass (group_name text, pass int, valid bool, control_first float8, control_last float8);

-- Sizes, and whatever else is counted, not timed.
CREATE TABLE fact (experiment text, operation text, corpus text, contender text, value float8, unit text);

CREATE FUNCTION median(x float8[]) RETURNS float8 LANGUAGE sql IMMUTABLE RETURN
	(SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY u) FROM unnest(x) u);

-- Milliseconds that this backend has had the core.
CREATE FUNCTION core_ms() RETURNS float8 LANGUAGE plpgsql AS $$
BEGIN
	PERFORM pg_sleep(0.001);
	RETURN split_part(pg_read_file('/proc/self/schedstat'), ' ', 1)::float8 / 1e6;
END $$;

-- One execution each of the legs' answers. Nothing is timed before all agree.
CREATE PROCEDURE check_answers(which text) LANGUAGE plpgsql AS $$
DECLARE
	l leg;
	got text;
	expected text;
	expected_of text;
	known text;
BEGIN
	FOR l IN SELECT * FROM leg WHERE group_name LIKE which AND answer IS NOT NULL ORDER BY group_name, id LOOP
		IF known IS DISTINCT FROM l.group_name THEN
			known := l.group_name;
			expected := NULL;
		END IF;
		IF l.prepare IS NOT NULL THEN
			EXECUTE l.prepare;
			EXECUTE l.statement;
		END IF;
		EXECUTE l.answer INTO got;
		IF got IS NULL THEN
			RAISE EXCEPTION '%: % gives no answer', l.group_name, l.contender;
		ELSIF expected IS NULL THEN
			expected := got;
			expected_of := l.contender;
		ELSIF got <> expected THEN
			RAISE EXCEPTION '%: % says %, but % says %', l.group_name, l.contender, got, expected_of, expected;
		END IF;
		COMMIT;
	END LOOP;
END $$;

CREATE PROCEDURE run_leg(l leg, repeats int, INOUT ms float8, INOUT clock_ms float8) LANGUAGE plpgsql AS $$
DECLARE
	begun timestamptz;
	begun_ms float8;
BEGIN
	IF l.prepare IS NOT NULL THEN
		EXECUTE l.prepare;
		COMMIT;
	END IF;
	begun_ms := core_ms();
	begun := clock_timestamp();
	FOR i IN 1 .. repeats LOOP
		EXECUTE l.statement;
	END LOOP;
	clock_ms := extract(epoch FROM clock_timestamp() - begun) * 1000 / repeats;
	ms := (core_ms() - begun_ms) / repeats;
END $$;

CREATE PROCEDURE control(INOUT ms float8, size int DEFAULT 100000) LANGUAGE plpgsql AS $$
DECLARE
	begun_ms float8;
	times float8[];
BEGIN
	FOR i IN 1 .. 5 LOOP
		begun_ms := core_ms();
		PERFORM sum(hashint8(u)) FROM generate_series(1, size) u;
		times := times || core_ms() - begun_ms;
	END LOOP;
	ms := median(times);
END $$;

CREATE PROCEDURE measure_pass(which text, this_pass int, rounds int, warmup int, least_ms float8) LANGUAGE plpgsql AS $$
DECLARE
	legs leg[];
	repeats int[];
	k int;
	ms float8;
	clock_ms float8;
	first float8;
	last float8;
	control_size int := greatest(20000, least_ms * 2500);
BEGIN
	SELECT array_agg(l ORDER BY id) INTO legs FROM leg l WHERE group_name = which;
	FOR k IN 1 .. array_length(legs, 1) LOOP
		FOR i IN 1 .. warmup LOOP
			CALL run_leg(legs[k], 1, ms, clock_ms);
		END LOOP;
		repeats[k] := CASE WHEN legs[k].prepare IS NULL THEN greatest(1, ceil(least_ms / greatest(ms, 0.01))) ELSE 1 END;
		COMMIT;
	END LOOP;
	CALL control(first, control_size);
	FOR r IN 1 .. rounds LOOP
		FOR j IN 0 .. array_length(legs, 1) - 1 LOOP
			k := 1 + (j + r) % array_length(legs, 1);
			CALL run_leg(legs[k], repeats[k], ms, clock_ms);
			INSERT INTO timing VALUES (which, this_pass, r, legs[k].contender, ms, clock_ms);
			COMMIT;
		END LOOP;
	END LOOP;
	CALL control(last, control_size);
	INSERT INTO pass VALUES (which, this_pass, abs(last - first) <= 0.05 * least(first, last), first, last);
END $$;

CREATE PROCEDURE measure(which text, rounds int, warmup int, least_ms float8, passes int) LANGUAGE plpgsql AS $$
DECLARE
	e text;
	begun timestamptz;
BEGIN
	FOR e IN SELECT group_name FROM leg WHERE group_name LIKE which GROUP BY 1 ORDER BY min(id) LOOP
		FOR p IN 1 .. passes LOOP
			begun := clock_timestamp();
			CALL measure_pass(e, p, rounds, warmup, least_ms);
			COMMIT;
			RAISE NOTICE '% pass %: % s%', e, p, round(extract(epoch FROM clock_timestamp() - begun)),
				CASE WHEN (SELECT valid FROM pass WHERE pass = p AND group_name = e) THEN '' ELSE ', not valid: the controls differ' END;
			EXIT WHEN (SELECT valid FROM pass WHERE pass = p AND group_name = e);
		END LOOP;
	END LOOP;
END $$;

-- What each contender checks of the bytes it reads, or of the values it stores.
CREATE FUNCTION checks_of(experiment text, contender text) RETURNS text LANGUAGE sql IMMUTABLE RETURN
	CASE WHEN experiment IN ('fields', 'queries', 'documents', 'languages', 'lookup') AND contender ~ '^kiln' THEN 'definition, bounds, UTF-8'
		WHEN experiment = 'tensors' AND contender ~ '^kiln' THEN 'directory, bounds'
		WHEN experiment IN ('encode', 'copy') AND contender !~ '^(scan|bytea)' THEN 'types'
		ELSE 'none' END;

-- The rows of METHOD.md, in nanoseconds an operation: each leg, each leg over its floor in the same round, and the controls of both.
CREATE VIEW csv AS
	WITH figure AS (
		SELECT l.id, t.pass, t.round, l.experiment, l.operation, l.corpus, l.contender, t.ms * 1e6 / l.operations AS value, 0 AS place, l.group_name
		FROM timing t JOIN leg l USING (group_name, contender)
		UNION ALL
		SELECT l.id, t.pass, t.round, l.experiment, l.operation || ', over its scan', l.corpus, l.contender, (t.ms / l.operations - f.ms / fl.operations) * 1e6, 1, l.group_name
		FROM timing t JOIN leg l USING (group_name, contender)
			JOIN timing f ON f.group_name = t.group_name AND f.pass = t.pass AND f.round = t.round AND f.contender = l.floor
			JOIN leg fl ON fl.group_name = f.group_name AND fl.contender = f.contender),
	control AS (
		SELECT min(f.id) AS id, pass, experiment, operation, corpus, place, control_first, control_last
		FROM figure f JOIN pass p USING (group_name, pass) GROUP BY pass, experiment, operation, corpus, place, control_first, control_last)
	SELECT experiment, operation, corpus, contender, pass, round::text AS round, value, 'ns' AS unit, id, place FROM figure
	UNION ALL
	SELECT experiment, operation, corpus, 'control', pass, r, CASE r WHEN 'first' THEN control_first ELSE control_last END * 1e6, 'ns', id, place
	FROM control, unnest(ARRAY['first', 'last']) r;

-- For a look at once: medians of the last pass of each group.
CREATE VIEW summary AS
	SELECT group_name, contender, round(min(ms)::numeric, 3) AS least, round((percentile_cont(0.5) WITHIN GROUP (ORDER BY ms))::numeric, 3) AS median,
		round((percentile_cont(0.5) WITHIN GROUP (ORDER BY ms) * 1e6 / max(operations))::numeric, 1) AS ns, bool_and(valid) AS valid
	FROM timing t JOIN leg l USING (group_name, contender) JOIN pass p USING (group_name, pass)
	WHERE pass = (SELECT max(pass) FROM pass q WHERE q.group_name = t.group_name)
	GROUP BY group_name, contender
	ORDER BY group_name, median;
