-- The data that the server's benchmark reads, in schema bench: one table for each way to keep the same rows.
--
-- psql variables: messages, documents, documents64, documents1024, arrays: how many rows of each kind.
--
-- Rows are made once, as plain columns, by arithmetic on their number, and every other form is made from those. So all
-- forms hold the same values, which check.sql tests before anything is timed. Strings differ from row to row, but have five
-- bytes each, as those of the reference message: a message's frame always takes 53 bytes.

\set ON_ERROR_STOP on
SET client_min_messages = warning;
CREATE EXTENSION kiln;
CREATE EXTENSION hstore;
CREATE SCHEMA bench;
SET search_path = bench, public;
SET default_table_access_method = heap;

CREATE TYPE message AS (a bool, b bool, x int4, y int4, id int8, score float8, s text, t text);
SELECT kiln_register('message(a bool, b bool, x i32, y i32, id i64, score f64, s string, t string)');

-- ------------------------------------------------------------------ messages

CREATE FUNCTION message_columns(i int8, OUT a bool, OUT b bool, OUT x int4, OUT y int4, OUT id int8, OUT score float8, OUT s text, OUT t text)
LANGUAGE sql IMMUTABLE RETURN (i % 2 = 0, i % 3 = 0, (i * 7919 % 1000003)::int4, (-(i % 1000))::int4, i * 1000003,
	(i * 37 % 100000) / 8.0::float8, substr(md5(i::text), 1, 5), substr(md5(i::text), 6, 5));

CREATE UNLOGGED TABLE m_plain AS SELECT m.* FROM generate_series(1, :messages) i, message_columns(i) m;

-- A typed table, whose whole row is a message as it stands.
CREATE UNLOGGED TABLE m_typed OF message;
INSERT INTO m_typed SELECT * FROM m_plain;

CREATE UNLOGGED TABLE m_kiln (v kiln(message));
CREATE UNLOGGED TABLE m_jsonb (v jsonb);
CREATE UNLOGGED TABLE m_json (v json);
CREATE UNLOGGED TABLE m_hstore (v hstore);
CREATE UNLOGGED TABLE m_composite (v message);
CREATE UNLOGGED TABLE m_bytea (v bytea);

INSERT INTO m_kiln SELECT kiln_encode('message', p) FROM m_plain p;
INSERT INTO m_jsonb SELECT to_jsonb(p) FROM m_plain p;
INSERT INTO m_json SELECT row_to_json(p) FROM m_plain p;
INSERT INTO m_hstore SELECT hstore(p) FROM m_plain p;
INSERT INTO m_composite SELECT ROW(a, b, x, y, id, score, s, t)::message FROM m_plain;
INSERT INTO m_bytea SELECT kiln_frame(v) FROM m_kiln;

-- With a key, for look-ups of one row, and with indexes on a field.
CREATE UNLOGGED TABLE p_plain AS SELECT row_number() OVER () AS k, p.* FROM m_plain p;
CREATE UNLOGGED TABLE p_kiln AS SELECT row_number() OVER () AS k, v FROM m_kiln;
CREATE UNLOGGED TABLE p_jsonb AS SELECT row_number() OVER () AS k, v FROM m_jsonb;
CREATE UNLOGGED TABLE p_hstore AS SELECT row_number() OVER () AS k, v FROM m_hstore;
CREATE UNLOGGED TABLE p_composite AS SELECT row_number() OVER () AS k, v FROM m_composite;
ALTER TABLE p_plain ADD PRIMARY KEY (k);
ALTER TABLE p_kiln ADD PRIMARY KEY (k);
ALTER TABLE p_jsonb ADD PRIMARY KEY (k);
ALTER TABLE p_hstore ADD PRIMARY KEY (k);
ALTER TABLE p_composite ADD PRIMARY KEY (k);
CREATE INDEX p_plain_id ON p_plain (id);
CREATE INDEX p_kiln_id ON p_kiln (kiln_get_int8(v, 'id'));
CREATE INDEX p_jsonb_id ON p_jsonb (((v->>'id')::int8));
CREATE INDEX p_hstore_id ON p_hstore (((v->'id')::int8));
CREATE INDEX p_composite_id ON p_composite (((v).id));

-- Ids to look for, in no order of theirs.
CREATE UNLOGGED TABLE wanted AS SELECT id FROM m_plain ORDER BY md5(id::text) LIMIT 10000;

-- ------------------------------------------------------------------ documents: a head, a list of messages, a tail

CREATE TYPE document AS (id int8, owner int4, kind int2, open bool, score float8, created timestamptz, title text, note text,
	items message[], total int8, last text);
SELECT kiln_register('document(id i64, owner i32, kind i16, open bool, score f64, created timestamptz, title string, note string,
	items message(a bool, b bool, x i32, y i32, id i64, score f64, s string, t string)[], total i64, last string)');

CREATE FUNCTION document_row(i int8, count int) RETURNS document LANGUAGE sql STABLE AS $$
	SELECT ROW(i, (i * 31 % 100000)::int4, (i % 100)::int2, i % 2 = 0, i / 4.0::float8, '2024-01-01 00:00+00'::timestamptz + i * interval '1 minute',
		'document ' || i, repeat(md5(i::text) || ' ', 10),
		(SELECT array_agg(m::message ORDER BY k) FROM generate_series(i * 1000, i * 1000 + count - 1) k, LATERAL (SELECT (c).* FROM message_columns(k) c) m),
		i * 1000, md5((i + 1)::text))::document $$;

-- make_documents(suffix, rows, messages in each): d<suffix>_kiln, _jsonb, _jsonb_external, _bytea, _kiln_extended
CREATE PROCEDURE make_documents(suffix text, rows int, count int) LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('CREATE UNLOGGED TABLE d%s_kiln (v kiln(document))', suffix);
	EXECUTE format('CREATE UNLOGGED TABLE d%s_extended (v kiln(document))', suffix);
	EXECUTE format('CREATE UNLOGGED TABLE d%s_jsonb (v jsonb)', suffix);
	EXECUTE format('CREATE UNLOGGED TABLE d%s_jsonb_external (v jsonb)', suffix);
	EXECUTE format('CREATE UNLOGGED TABLE d%s_composite (v document)', suffix);
	EXECUTE format('CREATE UNLOGGED TABLE d%s_bytea (v bytea)', suffix);
	EXECUTE format('ALTER TABLE d%s_extended ALTER v SET STORAGE EXTENDED', suffix);
	EXECUTE format('ALTER TABLE d%s_jsonb_external ALTER v SET STORAGE EXTERNAL', suffix);
	EXECUTE format('ALTER TABLE d%s_bytea ALTER v SET STORAGE EXTERNAL', suffix);
	EXECUTE format('INSERT INTO d%s_composite SELECT document_row(i, $1) FROM generate_series(1, $2) i', suffix) USING count, rows;
	EXECUTE format('INSERT INTO d%s_kiln SELECT kiln_encode(''document'', v) FROM d%1$s_composite', suffix);
	EXECUTE format('INSERT INTO d%s_extended SELECT kiln_encode(''document'', v) FROM d%1$s_composite', suffix);
	EXECUTE format('INSERT INTO d%s_jsonb SELECT to_jsonb(v) FROM d%1$s_composite', suffix);
	EXECUTE format('INSERT INTO d%s_jsonb_external SELECT to_jsonb(v) FROM d%1$s_composite', suffix);
	EXECUTE format('INSERT INTO d%s_bytea SELECT kiln_frame(v) FROM d%1$s_kiln', suffix);
END $$;
CALL make_documents('', :documents, 100);
CALL make_documents('64', :documents64, 1470);
CALL make_documents('1024', :documents1024, 23800);

-- ------------------------------------------------------------------ arrays of 262,144 doubles, 2 MiB each

CREATE UNLOGGED TABLE a_array (v float8[]);
CREATE UNLOGGED TABLE a_array_external (v float8[]);
CREATE UNLOGGED TABLE a_kiln (v kiln(tensor));
CREATE UNLOGGED TABLE a_bytea (v bytea);
ALTER TABLE a_array_external ALTER v SET STORAGE EXTERNAL;
ALTER TABLE a_bytea ALTER v SET STORAGE EXTERNAL;
-- Noise does not compress, as real measurements hardly do.
SELECT setseed(0.5);
INSERT INTO a_array SELECT (SELECT array_agg((random() + k) * i) FROM generate_series(1, 262144) k) FROM generate_series(1, :arrays) i;
INSERT INTO a_array_external SELECT array_cat(v, '{}') FROM a_array;
INSERT INTO a_kiln SELECT kiln_tensor(v) FROM a_array;
INSERT INTO a_bytea SELECT kiln_frame(v) FROM a_kiln;

-- Rows to build arrays from: one of many elements, and many of few.
CREATE UNLOGGED TABLE samples AS SELECT i % 10000 AS g, (i * 37 % 100000) / 8.0::float8 AS x FROM generate_series(1, :messages) i;

-- ------------------------------------------------------------------ real data: the languages of ISO 639-3

SELECT kiln_register('language(alpha_3 string, name string, scope string, type string, alpha_2 string?, bibliographic string?,
	common_name string?, inverted_name string?)');
CREATE TYPE language AS (alpha_3 text, name text, scope text, type text, alpha_2 text, bibliographic text, common_name text, inverted_name text);
CREATE UNLOGGED TABLE l_jsonb AS SELECT v FROM jsonb_array_elements(pg_read_file('/usr/share/iso-codes/json/iso_639-3.json')::jsonb -> '639-3') v;
CREATE UNLOGGED TABLE l_json AS SELECT v::json FROM l_jsonb;
CREATE UNLOGGED TABLE l_composite AS SELECT jsonb_populate_record(NULL::language, v) AS v FROM l_jsonb;
CREATE UNLOGGED TABLE l_plain AS SELECT (v).* FROM l_composite;
CREATE UNLOGGED TABLE l_hstore AS SELECT hstore(v) - ARRAY(SELECT key FROM each(hstore(v)) WHERE value IS NULL) AS v FROM l_composite;
CREATE UNLOGGED TABLE l_kiln (v kiln(language));
INSERT INTO l_kiln SELECT kiln_encode('language', v) FROM l_jsonb;
CREATE UNLOGGED TABLE l_bytea AS SELECT kiln_frame(v) AS v FROM l_kiln;

VACUUM (FREEZE, ANALYZE);
CHECKPOINT;
