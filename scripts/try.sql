\set QUIET on
\pset footer off
\pset null ''
SET client_min_messages = warning;
CREATE EXTENSION kiln;

\echo
\echo '-- The source: all languages of ISO 639-3, as jsonb'
\set ECHO queries
CREATE TABLE source AS
SELECT j FROM jsonb_array_elements(
	pg_read_file('/usr/share/iso-codes/json/iso_639-3.json')::jsonb -> '639-3') AS j;
SELECT count(*) AS languages, (SELECT j FROM source WHERE j->>'alpha_3' = 'hye') AS one_of_them FROM source;
\set ECHO none

\echo
\echo '-- A schema, named once; a column of that schema; and the rows, checked on the way in'
\set ECHO queries
SELECT kiln_register('language(alpha_3 string, name string, scope string, type string,
	alpha_2 string?, bibliographic string?, common_name string?, inverted_name string?)');
CREATE TABLE languages (m kiln(language));
INSERT INTO languages SELECT kiln_encode('language', j) FROM source;
\set ECHO none

\echo
\echo '-- Fields by name, no parse and no copy'
\set ECHO queries
SELECT kiln_get(m, 'alpha_3') AS code, m->>'name' AS name, m->>'inverted_name' AS inverted, m->'alpha_2' AS alpha_2
FROM languages WHERE m->>'name' ~ '[^ -~]' AND m ? 'inverted_name'
ORDER BY m->>'name' COLLATE "C" LIMIT 6;
SELECT m->>'type' AS type, count(*) AS languages, count(kiln_get(m, 'alpha_2')) AS with_two_letters
FROM languages GROUP BY 1 ORDER BY 2 DESC;
SELECT m FROM languages WHERE m->>'alpha_3' = 'bod';
\set ECHO none

\echo
\echo '-- A misspelt field is an error, not a NULL'
\set ECHO queries
\set ON_ERROR_STOP off
SELECT kiln_get(m, 'nmae') FROM languages;
\set ON_ERROR_STOP on
\set ECHO none

\echo
\echo '-- Nothing was lost: every row equals its source'
\set ECHO queries
SELECT count(*) AS rows, count(*) FILTER (WHERE m::jsonb <> j) AS different
FROM languages JOIN source ON j->>'alpha_3' = kiln_get(m, 'alpha_3');
\set ECHO none

\echo
\echo '-- The same rows, in bytes'
\set ECHO queries
SELECT (SELECT sum(pg_column_size(m)) FROM languages) AS kiln,
	(SELECT sum(pg_column_size(j)) FROM source) AS jsonb,
	round((SELECT sum(pg_column_size(m)) FROM languages) * 100.0 / (SELECT sum(pg_column_size(j)) FROM source)) AS percent;
\set ECHO none

\echo
\echo '-- A numeric series: latitude and longitude of the cities that the time zones are named after'
\set ECHO queries
CREATE TABLE cities AS
SELECT zone,
	(a[1] || '1')::float8 * (a[2]::float8 + a[3]::float8 / 60 + coalesce(a[4]::float8, 0) / 3600) AS latitude,
	(a[5] || '1')::float8 * (a[6]::float8 + a[7]::float8 / 60 + coalesce(a[8]::float8, 0) / 3600) AS longitude
FROM string_to_table(pg_read_file('/usr/share/zoneinfo/zone1970.tab'), E'\n') AS line,
	split_part(line, E'\t', 3) AS zone,
	regexp_match(split_part(line, E'\t', 2), '^([+-])(\d\d)(\d\d)(\d\d)?([+-])(\d{3})(\d\d)(\d\d)?$') AS a
WHERE line !~ '^#' AND a IS NOT NULL;
CREATE TABLE series AS
SELECT kiln_tensor_agg(latitude ORDER BY zone) AS latitude, kiln_tensor(array_agg(ARRAY[latitude, longitude] ORDER BY zone)) AS place
FROM cities;
SELECT kiln_shape(latitude) AS latitude, kiln_shape(place) AS place, pg_column_size(place) AS bytes,
	kiln_at(latitude, 1) AS first, kiln_at(place, 1, 2) AS its_longitude
FROM series;
SELECT zone, latitude, longitude FROM cities ORDER BY zone LIMIT 1;
SELECT (SELECT kiln_tensor(array_agg(latitude ORDER BY zone)) FROM cities) = latitude AS equal,
	kiln_to_array(latitude) = (SELECT array_agg(latitude ORDER BY zone) FROM cities) AS and_back
FROM series;
\set ECHO none
