-- Tables converted: kiln_misfit, kiln_misfits, kiln_convert, kiln_outdated, kiln_upgrade_table.
\set VERBOSITY default

-- Why a document does not fit, or NULL.
SELECT kiln_register('cv(id i16, name string, at timestamptz?, tags string[]?, props dict<i32>?)') IS NOT NULL;
SELECT d, kiln_misfit('cv', d::jsonb) AS misfit, kiln_misfit('cv', d::jsonb, 'exact') AS exact, kiln_misfit('cv', d::jsonb, 'none') AS none
FROM unnest(ARRAY[
	'{"id": 1, "name": "x"}', '{"id": 1.0, "name": "x", "props": {"k": 5}}', '{"id": 1, "name": "x", "tags": null}', '{"id": 40000, "name": "x"}', '{"id": 1}', '{"id": 1, "name": 5}',
	'{"id": 1, "name": "x", "at": "2024-01-01T00:00:00Z"}', '{"id": "1", "name": "x"}', '{"id": 1, "name": "x", "tags": ["a", 5]}', '{"id": 1, "name": "x", "nam": 1}', '[]', 'null',
	'{"id": 1, "name": "x", "at": "2024-01-01T00:00:00+00:00"}'
]) WITH ORDINALITY AS t(d, n) ORDER BY n;
SELECT kiln_misfit('(a f64)', '{"a": 0.12345678901234567890}'), kiln_misfit('(a (b uuid[])[])', '{"a": [{"b": []}, {"b": ["6BA7B810-9dad-11d1-80b4-00c04fd430c8"]}]}'::jsonb);
SELECT kiln_misfit_json('cv', j) FROM unnest(ARRAY['{"id": 1, "name": "x"}', '{"id": 1, "name": "\u0000"}', '{"id": 1, "id": 2, "name": "x"}', '{"id": 1e4, "name": "x"}']::json[]) j;
SELECT kiln_misfit('cv', '{}'::jsonb, 'some');
SELECT kiln_misfit('no such schema', '{}'::jsonb);
SELECT kiln_misfit(NULL, '{}'::jsonb) IS NULL AS strict;

-- A table is filled where the new column is NULL; rows that do not fit are told of and left.
CREATE SCHEMA "odd ""schema";
CREATE TABLE "odd ""schema"."a table" ("key 1" int, k2 text, "the doc" jsonb, "new 'col" kiln(cv), PRIMARY KEY ("key 1", k2));
INSERT INTO "odd ""schema"."a table" SELECT i, 'k' || i, jsonb_build_object('id', i, 'name', 'n' || i) FROM generate_series(1, 1000) i;
INSERT INTO "odd ""schema"."a table" VALUES (1001, 'x', '{"id": 40000, "name": "x"}'), (1002, 'x', '[]'), (1003, 'x', 'null'), (1004, 'x', NULL), (1005, 'x', '{"id": 1, "name": "x", "tags": null}');
UPDATE "odd ""schema"."a table" SET "new 'col" = '{"id": 7, "name": "already there"}' WHERE "key 1" = 7;
SET search_path = '';
\set VERBOSITY terse
SET client_min_messages = warning;
CALL public.kiln_convert('"odd ""schema"."a table"', 'the doc', 'new ''col', 'cv', 100);
RESET client_min_messages;
SET search_path = public;
SELECT count(*), count("new 'col") AS converted, count(*) FILTER (WHERE "new 'col"::jsonb = "the doc") AS same FROM "odd ""schema"."a table";
SELECT "new 'col" FROM "odd ""schema"."a table" WHERE "key 1" IN (7, 1005) ORDER BY 1;
SELECT relation_name, key, reason FROM kiln_misfits('"odd ""schema"."a table"', 'the doc', 'cv') ORDER BY key;
SELECT relation_name, key, reason FROM kiln_misfits('"odd ""schema"."a table"', 'the doc', 'cv', 'exact') WHERE key->>'key 1' = '1005';
-- again: only what is still NULL is tried
CALL kiln_convert('"odd ""schema"."a table"', 'the doc', 'new ''col', 'cv');
UPDATE "odd ""schema"."a table" SET "the doc" = '{"id": 4, "name": "x"}' WHERE "key 1" = 1001;
CALL kiln_convert('"odd ""schema"."a table"', 'the doc', 'new ''col', 'cv');
SELECT count("new 'col") FROM "odd ""schema"."a table";

-- json as the source, a domain, a definition in full, inline values; no primary key.
CREATE DOMAIN cv_doc AS json;
CREATE TABLE cv_json (j cv_doc, v kiln);
INSERT INTO cv_json VALUES ('{"a": 1}'), ('{"a": 1, "a": 2}'), ('{"a": "\u0000"}'), ('{"a": 1e999999}'), ('{"b": 1}');
CALL kiln_convert('cv_json', 'j', 'v', '(a i32)');
SELECT j, v FROM cv_json ORDER BY v;
SELECT key, reason FROM kiln_misfits('cv_json', 'j', '(a i32)');

-- What fails in the UPDATE itself, by a check or a trigger, fails for its row alone.
CREATE TABLE cv_checked (i int, j jsonb, v kiln(cv) CHECK (kiln_get_int4(v, 'id') <> 13));
CREATE FUNCTION cv_refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
	IF NEW.i = 77 THEN RAISE EXCEPTION 'not that one'; END IF;
	IF NEW.i = 78 THEN RETURN NULL; END IF;
	RETURN NEW;
END $$;
CREATE TRIGGER refuse BEFORE UPDATE ON cv_checked FOR EACH ROW EXECUTE FUNCTION cv_refuse();
INSERT INTO cv_checked SELECT i, jsonb_build_object('id', i, 'name', 'n') FROM generate_series(1, 300) i;
CALL kiln_convert('cv_checked', 'j', 'v', 'cv', 1000);
SELECT array_agg(i ORDER BY i) FROM cv_checked WHERE v IS NULL;

-- Partitions and children, each as a table of its own.
CREATE TABLE cv_parted (i int, j jsonb, v kiln(cv)) PARTITION BY RANGE (i);
CREATE TABLE cv_parted_1 PARTITION OF cv_parted FOR VALUES FROM (0) TO (50);
CREATE TABLE cv_parted_2 PARTITION OF cv_parted FOR VALUES FROM (50) TO (200) PARTITION BY RANGE (i);
CREATE TABLE cv_parted_21 (v kiln(cv), j jsonb, i int);
ALTER TABLE cv_parted_2 ATTACH PARTITION cv_parted_21 FOR VALUES FROM (50) TO (200);
INSERT INTO cv_parted SELECT i, jsonb_build_object('id', i, 'name', CASE WHEN i = 60 THEN NULL ELSE 'n' END) FROM generate_series(1, 100) i;
CALL kiln_convert('cv_parted', 'j', 'v', 'cv');
SELECT tableoid::regclass, count(*), count(v) FROM cv_parted GROUP BY 1 ORDER BY 1;
SELECT relation_name, reason FROM kiln_misfits('cv_parted', 'j', 'cv');

-- Row security holds as in any UPDATE.
CREATE TABLE cv_secret (i int, j jsonb, v kiln(cv));
INSERT INTO cv_secret SELECT i, jsonb_build_object('id', i, 'name', 'n') FROM generate_series(1, 10) i;
ALTER TABLE cv_secret ENABLE ROW LEVEL SECURITY;
CREATE POLICY low ON cv_secret USING (i <= 3);
CREATE ROLE cv_reader;
GRANT SELECT ON cv_secret TO cv_reader;
SET ROLE cv_reader;
CALL kiln_convert('cv_secret', 'j', 'v', 'cv');
RESET ROLE;
GRANT UPDATE ON cv_secret TO cv_reader;
SET ROLE cv_reader;
SET client_min_messages = warning;
CALL kiln_convert('cv_secret', 'j', 'v', 'cv');
RESET client_min_messages;
SELECT count(*) FROM kiln_misfits('cv_secret', 'j', '(x i32)');
RESET ROLE;
SELECT count(*), count(v) FROM cv_secret;

-- Versions: what is outdated is brought to the latest one; what does not go is left.
INSERT INTO cv_json VALUES (NULL, kiln_tensor('{1}'::float8[])), (NULL, '5'), (NULL, NULL);
CREATE TABLE cv_old (i int, v kiln(cv));
INSERT INTO cv_old SELECT i, kiln_encode('cv', jsonb_build_object('id', i, 'name', 'n' || i, 'props', CASE WHEN i IN (3, 5) THEN '{"k": 1}'::jsonb ELSE '{}' END)) FROM generate_series(1, 300) i;
SELECT count(*) FILTER (WHERE kiln_outdated(v)) FROM cv_old;
SELECT kiln_register('cv(id i32, name string, at timestamptz?, tags string[]?, props dict<i32>?, more f64?)') IS NOT NULL;
SELECT count(*) FILTER (WHERE kiln_outdated(v)) FROM cv_old;
SELECT kiln_outdated(v), count(*) FROM cv_json GROUP BY 1 ORDER BY 1;
SELECT kiln_outdated(kiln_portable(v)), kiln_outdated(kiln_upgrade(v)) FROM cv_old LIMIT 1;
SET client_min_messages = warning;
CALL kiln_upgrade_table('cv_old', 'v', 70);
RESET client_min_messages;
SELECT count(*) FILTER (WHERE kiln_outdated(v)) AS outdated, count(DISTINCT kiln_hash(v)) AS hashes, min(kiln_version(v)) AS version FROM cv_old;
SELECT kiln_register('cv(id i32, name string, at timestamptz, tags string[]?, props dict<i32>?, more f64?)') IS NOT NULL;
UPDATE cv_old SET v = kiln_set(v, 'at', '2024-01-01'::timestamptz) WHERE i % 100 <> 50;
CALL kiln_upgrade_table('cv_old', 'v');
SELECT kiln_version(v), count(*) FROM cv_old GROUP BY 1 ORDER BY 1;

-- Where it may not be called, and what it refuses.
\set VERBOSITY default
BEGIN;
CALL kiln_convert('cv_json', 'j', 'v', 'cv');
ROLLBACK;
CREATE FUNCTION cv_inside() RETURNS void LANGUAGE plpgsql AS $$ BEGIN CALL kiln_upgrade_table('cv_old', 'v'); END $$;
SELECT cv_inside();
SET client_min_messages = warning;
DO $$ BEGIN CALL kiln_upgrade_table('cv_parted', 'v'); END $$;
RESET client_min_messages;
CREATE VIEW cv_view AS SELECT * FROM cv_json;
CREATE TABLE cv_odd (i int GENERATED ALWAYS AS IDENTITY, j jsonb, g kiln GENERATED ALWAYS AS (kiln_tensor(ARRAY[1.5])) STORED, n kiln NOT NULL, t text);
CALL kiln_convert('cv_view', 'j', 'v', 'cv');
CALL kiln_convert('cv_odd', 'j', 'g', '(a i32)');
CALL kiln_convert('cv_odd', 'j', 'n', '(a i32)');
CALL kiln_convert('cv_odd', 'j', 't', '(a i32)');
CALL kiln_convert('cv_odd', 't', 'n', '(a i32)');
CALL kiln_convert('cv_odd', 'nope', 'n', '(a i32)');
CALL kiln_convert('cv_old', 'v', 'v', 'cv');
CALL kiln_convert('cv_parted', 'j', 'v', '(a i32)');
CALL kiln_convert('cv_parted', 'j', 'v', 'no such');
CALL kiln_convert('cv_parted', 'j', 'v', 'cv', 0);
CALL kiln_convert('cv_parted', 'j', 'v', 'cv', verify => 'x');
CALL kiln_convert('cv_parted', 'j', NULL, 'cv');
CALL kiln_convert(0::oid::regclass, 'j', 'v', 'cv');
CALL kiln_upgrade_table('cv_odd', 'i');
SELECT * FROM kiln_misfits('cv_odd', 'i', 'cv');

DROP SCHEMA "odd ""schema" CASCADE;
DROP TABLE cv_json, cv_checked, cv_parted, cv_secret, cv_old, cv_odd CASCADE;
DROP FUNCTION cv_refuse, cv_inside;
DROP DOMAIN cv_doc;
DROP ROLE cv_reader;
SELECT kiln_forget('cv');
