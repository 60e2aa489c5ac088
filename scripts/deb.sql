-- What scripts/test-deb runs on a server that has nothing but the Debian package.
\set VERBOSITY terse
CREATE DATABASE kiln TEMPLATE template0 ENCODING 'UTF8' LC_COLLATE 'C' LC_CTYPE 'C';
\connect kiln
CREATE EXTENSION kiln;
SELECT extversion = (SELECT default_version FROM pg_available_extensions WHERE name = 'kiln') AS newest FROM pg_extension WHERE extname = 'kiln';

-- records
SELECT kiln_register('message(a bool, b bool, x i32, y i32, id i64, score f64, s string, t string)');
CREATE TABLE msg (m kiln(message));
INSERT INTO msg SELECT kiln_encode('message', r)
	FROM (SELECT true AS a, false AS b, g AS x, -g AS y, g::bigint AS id, g / 8.0::float8 AS score, 'hello' AS s, 'world' AS t
		FROM generate_series(1, 1000) AS g) AS r;
SELECT kiln_get(m, 's') AS s, (m->'id')::int8 AS id, m->>'score' AS score FROM msg WHERE (m->'id')::int8 > 998 ORDER BY 2;
SELECT avg(octet_length(kiln_frame(m)))::numeric(5, 1) AS kiln FROM msg;
SELECT m->>'scroe' FROM msg;
CREATE INDEX msg_id ON msg (kiln_get_int8(m, 'id'));
SET enable_seqscan = off;
SELECT m FROM msg WHERE (m->'id')::int8 = 7;

-- names in NFC: libutf8proc is there
SELECT kiln_hash('{"$kiln": "(\"é\" i32)", "é": 1}'::kiln) = kiln_hash(replace('{"$kiln": "(\"#\" i32)", "#": 1}', '#', 'e' || chr(769))::kiln) AS same;

-- tensors
SELECT kiln_tensor(ARRAY[[1.5, 2], [3, 4]]::float8[]) AS matrix;
SELECT kiln_shape(t), kiln_at(t, 1000) FROM (SELECT kiln_tensor_agg((m->'score')::float8 ORDER BY (m->'id')::int8) AS t FROM msg) AS series;

-- the companion is there; what it needs is not
CREATE EXTENSION kiln_pgvector;
