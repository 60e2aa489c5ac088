-- The rows of one experiment as METHOD.md has them. psql variables: experiment, file.
\set ON_ERROR_STOP on
SET search_path = bench, public;
CREATE TEMP VIEW rows AS
	SELECT 'pgbench' AS part, experiment, operation, corpus, contender, checks_of(experiment, contender) AS checks,
		'PostgreSQL ' || split_part(current_setting('server_version'), ' ', 1) AS flags, pass, round, round(value::numeric, 4) AS value, unit, NULL AS allocations, CASE unit WHEN 'bytes' THEN round(value::numeric, 1) END AS bytes
	FROM (
		SELECT experiment, operation, corpus, contender, pass, round, value, unit, id, place FROM csv
		UNION ALL
		-- what is counted needs no second look, and is as good as the machine is steady
		SELECT experiment, operation, corpus, contender, 1, '1', value, unit, 0, 0 FROM fact WHERE contender <> 'control'
		UNION ALL
		SELECT DISTINCT experiment, operation, corpus, 'control', 1, r, 1, 'ns', 0, 0 FROM fact, unnest(ARRAY['first', 'last']) r
		WHERE unit = 'bytes') x
	WHERE experiment = :'experiment'
	ORDER BY place, operation, corpus, pass, id, round;
\pset format csv
\pset tuples_only on
\o :file
SELECT * FROM rows;
