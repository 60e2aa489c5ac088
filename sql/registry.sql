--
-- The registry: definitions as foreign servers of the wrapper kiln
--
\set VERBOSITY terse

-- Error of a statement, as its SQLSTATE, message, detail and hint.
CREATE FUNCTION registry_error(statement text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	detail text;
	hint text;
BEGIN
	EXECUTE statement;
	RETURN 'no error';
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS detail = PG_EXCEPTION_DETAIL, hint = PG_EXCEPTION_HINT;
	RETURN concat_ws(E'\n', sqlstate || ' ' || sqlerrm, nullif(detail, ''), nullif(hint, ''));
END $$;

-- What these tests registered; others may have registered more.
CREATE VIEW registry_seen AS
	SELECT name, version, hash, definition, valid FROM kiln_schemas WHERE name LIKE 'reg%' OR NOT valid;

--
-- Registering: the answer is the hash, the definition is kept in its canonical form
--
SELECT kiln_register('reg_message(a bool, b boolean, x int4, id bigint, s varchar)');
SELECT * FROM registry_seen;
-- the same in another spelling (case 32), and in canonical form, is the same definition
SELECT kiln_register(E'reg_message (  -- a comment\n a BOOL,b bool,\tx i32 , id int8, s text )');
SELECT kiln_register(definition) = hash AS same FROM registry_seen;
-- what differs in meaning differs in hash: order, type, optional, default
SELECT count(DISTINCT kiln_register(d)) FROM unnest(ARRAY[
	'reg_differ(a i32,b i32)', 'reg_differ(b i32,a i32)', 'reg_differ(a i64,b i32)', 'reg_differ(a i32?,b i32)',
	'reg_differ(a i32=1,b i32)', 'reg_differ(a i32=2,b i32)', 'reg_differ(a i32?[],b i32)', 'reg_differ(a i32[]?,b i32)']) AS d;
SELECT name, version, definition FROM registry_seen WHERE name = 'reg_differ' ORDER BY version;
-- the server behind it
SELECT srvname, srvtype, srvversion, srvoptions FROM pg_foreign_server WHERE srvtype = 'reg_message';
-- names that need quotes, and names in NFC
SELECT kiln_register('"reg My Msg"(v i32)');
SELECT kiln_register(U&'"reg cafe\0301"("e\0301" i32)') = kiln_register(U&'"reg caf\00e9"("\00e9" i32)') AS same;
SELECT name, definition FROM registry_seen WHERE name LIKE 'reg %' ORDER BY name COLLATE "C";
-- a quote in a default survives the catalog
SELECT kiln_register($$reg_quote(a string='it''s \ "so"')$$);
SELECT definition FROM registry_seen WHERE name = 'reg_quote';

--
-- What can't be registered
--
SELECT registry_error(format('SELECT kiln_register(%L)', d)) AS error FROM unnest(ARRAY[
	'', 'i32', 'reg_x(a i32)[]', '(a i32)', 'reg_x(a nosuch)', 'reg_x(a i32', 'reg_x(a i32, a i64)', 'Reg_x(a i32)',
	'"123"(a i32)', '"i32"(a i32)', '"INTEGER"(a i32)', '"double precision"(a i32)', '"enum"(a i32)', '"dict"(a i32)',
	'tensor(a i32)', 'tensors(a i32)', '"$x"(a i32)']) AS d;
SELECT kiln_register(NULL);
-- two names with one typmod can't both be registered, whichever comes first
SELECT kiln_register('reg_clash_49364(a i32)') IS NOT NULL AS registered;
SELECT registry_error($$SELECT kiln_register('reg_clash_61005(a i32)')$$) AS error;
SELECT kiln_forget('reg_clash_49364');
SELECT kiln_register('reg_clash_61005(a i32)') IS NOT NULL AS registered;
SELECT registry_error($$SELECT kiln_register('reg_clash_49364(a i32)')$$) AS error;
SELECT kiln_forget('reg_clash_61005');

--
-- Transactions: a definition goes with the transaction that made it, and with the savepoint
--
BEGIN;
SELECT kiln_register('reg_gone(a i32)');
SELECT name FROM registry_seen WHERE name = 'reg_gone';
ROLLBACK;
SELECT name FROM registry_seen WHERE name = 'reg_gone';
BEGIN;
SAVEPOINT one;
SELECT kiln_register('reg_gone(a i32)');
ROLLBACK TO one;
SELECT name FROM registry_seen WHERE name = 'reg_gone';
-- and comes back under the same hash
SELECT kiln_register('reg_gone(a i32)');
COMMIT;
SELECT kiln_forget('reg_gone');

--
-- Where nothing may be written, what is registered is still answered, without an XID (case 38)
--
BEGIN READ ONLY;
SELECT kiln_register('reg_message(a bool,b bool,x i32,id i64,s string)');
SELECT pg_current_xact_id_if_assigned() IS NULL AS no_xid;
SELECT registry_error($$SELECT kiln_register('reg_new(a i32)')$$) AS error;
SELECT registry_error($$SELECT kiln_forget('reg_message')$$) AS error;
COMMIT;
-- nor is a lock held after it
BEGIN;
SELECT kiln_register('reg_message(a bool,b bool,x i32,id i64,s string)');
SELECT count(*) FROM pg_locks WHERE pid = pg_backend_pid() AND locktype = 'object';
SELECT kiln_register('reg_locked(a i32)');
SELECT mode FROM pg_locks WHERE pid = pg_backend_pid() AND locktype = 'object'
	AND classid = 'pg_foreign_data_wrapper'::regclass;
ROLLBACK;

--
-- Rights (case 79): USAGE on the wrapper; the server belongs to the extension's owner
--
CREATE ROLE regress_kiln_app;
CREATE ROLE regress_kiln_dev;
GRANT USAGE ON FOREIGN DATA WRAPPER kiln TO regress_kiln_dev;
SET ROLE regress_kiln_app;
SELECT registry_error($$SELECT kiln_register('reg_role(a i32)')$$) AS error;
SELECT registry_error($$SELECT kiln_forget('reg_message')$$) AS error;
-- what is registered may be named by anybody, and seen
SELECT kiln_register('reg_message(a bool,b bool,x i32,id i64,s string)');
SELECT count(*) > 0 AS seen FROM kiln_schemas;
SELECT count(*) >= 0 AS seen FROM kiln_columns;
-- direct writes are denied
SELECT registry_error($$DROP SERVER kiln_c8f2f73a5516d5df$$) AS error;
SELECT registry_error($$UPDATE pg_foreign_server SET srvoptions = NULL$$) AS error;
SELECT registry_error($$CREATE SERVER regress_x FOREIGN DATA WRAPPER kiln OPTIONS (definition 'reg_x(a i32)')$$) AS error;
RESET ROLE;
SET ROLE regress_kiln_dev;
SELECT kiln_register('reg_role(a i32)') IS NOT NULL AS registered;
SELECT current_user;
-- also after an error in the middle
SELECT registry_error($$SELECT kiln_register('tensor(a i32)')$$) AS error;
SELECT current_user;
RESET ROLE;
SELECT srvowner = extowner AS of_extension
	FROM pg_foreign_server, pg_extension WHERE srvtype = 'reg_role' AND extname = 'kiln';
--
-- Event triggers see a registration as the CREATE SERVER that it is
--
CREATE FUNCTION registry_watch() RETURNS event_trigger LANGUAGE plpgsql AS $$
BEGIN
	RAISE NOTICE '% %', tg_event, tg_tag;
	IF current_setting('kiln_test.refuse', true) = 'yes' THEN
		RAISE EXCEPTION 'not today';
	END IF;
END $$;
CREATE EVENT TRIGGER registry_watch ON ddl_command_end WHEN TAG IN ('CREATE SERVER', 'DROP SERVER')
	EXECUTE FUNCTION registry_watch();
SELECT kiln_register('reg_event(a i32)');
SELECT kiln_forget('reg_event');
-- and may refuse it, which leaves nothing behind, nor the caller as somebody else
SET kiln_test.refuse = 'yes';
SET ROLE regress_kiln_dev;
SELECT registry_error($$SELECT kiln_register('reg_event(a i32)')$$) AS error;
SELECT current_user;
RESET ROLE;
RESET kiln_test.refuse;
SELECT name FROM registry_seen WHERE name = 'reg_event';
DROP EVENT TRIGGER registry_watch;
DROP FUNCTION registry_watch();

-- dropping the role that registered drops no definition
DROP OWNED BY regress_kiln_dev;
DROP ROLE regress_kiln_dev, regress_kiln_app;
SELECT kiln_forget('reg_role');

--
-- The wrapper's validator: one option, one canonical definition of a named struct
--
SELECT registry_error(format('CREATE SERVER regress_kiln FOREIGN DATA WRAPPER kiln %s', o)) AS error FROM unnest(ARRAY[
	'', 'OPTIONS (nosuch ''x'')', 'OPTIONS (definition ''reg_x(a i32)'', other ''x'')', 'OPTIONS (definition '''')',
	'OPTIONS (definition ''reg_x(a int4)'')', 'OPTIONS (definition ''reg_x(a i32, b i32)'')',
	'OPTIONS (definition ''i32'')', 'OPTIONS (definition ''(a i32)'')', 'OPTIONS (definition ''tensor(a i32)'')',
	'OPTIONS (definition ''reg_x(a nosuch)'')']) AS o;
SELECT registry_error($$CREATE SERVER regress_kiln FOREIGN DATA WRAPPER kiln OPTIONS (definition U&'"e\0301"(a i32)')$$) AS error;
SELECT registry_error('ALTER SERVER kiln_' || hash || ' OPTIONS (DROP definition)') AS error
	FROM registry_seen WHERE name = 'reg_message';
SELECT registry_error('ALTER FOREIGN DATA WRAPPER kiln OPTIONS (ADD x ''y'')') AS error;
SELECT registry_error(format('CREATE FOREIGN TABLE registry_foreign (a int) SERVER kiln_%s', hash)) AS error
	FROM registry_seen WHERE name = 'reg_message';
SELECT registry_error(format('CREATE USER MAPPING FOR CURRENT_USER SERVER kiln_%s', hash)) AS error
	FROM registry_seen WHERE name = 'reg_message';

--
-- Entries that lie: shown, and used for nothing
--
-- a name that is not the definition's hash
CREATE SERVER kiln_0123456789abcdef FOREIGN DATA WRAPPER kiln OPTIONS (definition 'reg_liar(a i32)');
CREATE SERVER regress_kiln_other TYPE 'x' VERSION 'y' FOREIGN DATA WRAPPER kiln OPTIONS (definition 'reg_liar(b i32)');
-- a name of ours under another wrapper
CREATE FOREIGN DATA WRAPPER regress_kiln_wrapper;
DO $$ BEGIN
	EXECUTE format('CREATE SERVER kiln_%s FOREIGN DATA WRAPPER regress_kiln_wrapper OPTIONS (definition %L)',
		'125a7c9f7459ef94', 'secret');
END $$;
SELECT name, version, hash, definition, valid, server FROM kiln_schemas WHERE NOT valid ORDER BY server;
-- the names that they claim are not registered
SELECT registry_error($$SELECT kiln_forget('reg_liar')$$) AS error;
SELECT count(*) FROM kiln_dump_schemas() AS d WHERE d LIKE '%reg_liar%';
-- a squatted name stands in the way of its definition only
SELECT registry_error($$SELECT kiln_register('reg_squatted(a i32)')$$) AS error;
SELECT kiln_register('reg_liar(a i32)') IS NOT NULL AS registered;
SELECT name, version, valid FROM registry_seen WHERE name = 'reg_liar' ORDER BY valid, version;
SELECT kiln_forget('reg_liar');
DROP SERVER kiln_0123456789abcdef;
DROP SERVER regress_kiln_other;
DROP SERVER kiln_125a7c9f7459ef94;
DROP FOREIGN DATA WRAPPER regress_kiln_wrapper;
-- an entry whose definition is changed under it lies from then on, and is true again when it is put back
SELECT 'kiln_' || kiln_register('reg_changed(a i32)') AS server \gset
ALTER SERVER :server OPTIONS (SET definition 'reg_changed(b i32)');
SELECT name, definition, valid FROM registry_seen WHERE name = 'reg_changed';
SELECT registry_error($$SELECT kiln_register('reg_changed(a i32)')$$) AS error;
ALTER SERVER :server OPTIONS (SET definition 'reg_changed(a i32)');
SELECT kiln_register('reg_changed(a i32)') IS NOT NULL AS registered;
-- so does one that is renamed
ALTER SERVER :server RENAME TO regress_kiln_renamed;
SELECT name, hash, valid FROM registry_seen WHERE name = 'reg_changed';
SELECT kiln_register('reg_changed(a i32)') IS NOT NULL AS registered;
DROP SERVER regress_kiln_renamed;
SELECT kiln_forget('reg_changed');

--
-- Versions: the latest is the highest VERSION, which orders and means nothing else
--
SELECT kiln_register('reg_version(a i32)') AS one, kiln_register('reg_version(a i64)') AS two \gset
SELECT name, version, definition FROM registry_seen WHERE name = 'reg_version' ORDER BY version;
ALTER SERVER kiln_:one VERSION '10';
SELECT name, version, definition FROM registry_seen WHERE name = 'reg_version' ORDER BY version;
-- the next is one above the highest
SELECT kiln_register('reg_version(a i64,b i64?)') IS NOT NULL AS registered;
SELECT version, definition FROM registry_seen WHERE name = 'reg_version' ORDER BY version;
-- one that is no number counts as 0; there is none above the last
ALTER SERVER kiln_:two VERSION 'two';
ALTER SERVER kiln_:one VERSION '9223372036854775807';
SELECT version, definition FROM registry_seen WHERE name = 'reg_version' ORDER BY version;
SELECT registry_error($$SELECT kiln_register('reg_version(c i32)')$$) AS error;

--
-- kiln_dump_schemas(): what it prints makes the same registry again (case 71)
--
SELECT * FROM kiln_dump_schemas() AS d WHERE d LIKE '%reg!_version%' ESCAPE '!' OR d LIKE '%reg_quote%' OR d LIKE '%My Msg%';
CREATE TEMP TABLE dumped AS SELECT d, row_number() OVER () AS position FROM kiln_dump_schemas() AS d;
CREATE TEMP TABLE before AS SELECT * FROM kiln_schemas WHERE valid;
DO $$
DECLARE
	s record;
BEGIN
	FOR s IN SELECT server FROM before LOOP
		EXECUTE format('DROP SERVER %I', s.server);
	END LOOP;
	FOR s IN SELECT d FROM dumped ORDER BY position LOOP
		EXECUTE s.d;
	END LOOP;
END $$;
SELECT count(*) FROM (TABLE before EXCEPT TABLE kiln_schemas) AS lost;
SELECT count(*) FROM (TABLE kiln_schemas EXCEPT TABLE before) AS made_up;

--
-- Typed columns: the modifier is the name, and reads back as it prints
--
CREATE TABLE registry_typed (
	plain kiln,
	message kiln(reg_message),
	message_list kiln(reg_message)[],
	quoted kiln("reg My Msg"),
	literal kiln('reg My Msg'),
	nfc kiln(U&"reg cafe\0301"),
	tensor kiln(tensor),
	unknown kiln(reg_nosuch),
	number kiln(123456)
);
SELECT attname, format_type(atttypid, atttypmod) FROM pg_attribute
	WHERE attrelid = 'registry_typed'::regclass AND attnum > 0 ORDER BY attnum;
SELECT format('CREATE TABLE registry_again (%s)',
			  string_agg(format('%I %s', attname, format_type(atttypid, atttypmod)), ', ' ORDER BY attnum)) AS again
	FROM pg_attribute WHERE attrelid = 'registry_typed'::regclass AND attnum > 0 \gset
:again;
SELECT count(*) FROM pg_attribute AS a JOIN pg_attribute AS b USING (attnum, attname, atttypid, atttypmod)
	WHERE a.attrelid = 'registry_typed'::regclass AND b.attrelid = 'registry_again'::regclass AND attnum > 0;
DROP TABLE registry_again;
-- a typmod is fixed for ever
SELECT kiln_typmod_in('{reg_message}'), kiln_typmod_in('{tensor}'), kiln_typmod_in('{2147483647}');
SELECT kiln_typmod_out(-1), kiln_typmod_out(1), kiln_typmod_out(kiln_typmod_in('{tensor}'));
SELECT registry_error('CREATE TABLE registry_again (x ' || t || ')') AS error FROM unnest(ARRAY[
	'kiln()', 'kiln(a, b)', 'kiln(0)', 'kiln(2147483648)', 'kiln(99999999999999999999)', 'kiln("")', 'kiln("$x")']) AS t;
SELECT registry_error('SELECT kiln_typmod_in(ARRAY[NULL]::cstring[])') AS error;

CREATE DOMAIN registry_domain AS kiln(reg_differ);
CREATE DOMAIN registry_domain_over AS registry_domain;
CREATE TYPE registry_composite AS (m kiln("reg My Msg"));
CREATE TABLE registry_domains (d registry_domain, o registry_domain_over[]);
SELECT table_name, column_name, schema_name, registered, latest_version FROM kiln_columns
	WHERE table_name LIKE 'registry%' ORDER BY table_name COLLATE "C", column_number;

--
-- kiln_forget(): refuses while a column has the name, by whatever route
--
SELECT registry_error(format('SELECT kiln_forget(%L)', n)) AS error
	FROM unnest(ARRAY['reg_message', 'reg_differ', 'reg My Msg', '"reg My Msg"', 'reg_nosuch', '', '"']) AS n;
DROP TABLE registry_domains;
SELECT registry_error($$SELECT kiln_forget('reg_differ')$$) AS error;
DROP DOMAIN registry_domain_over;
DROP DOMAIN registry_domain;
SELECT kiln_forget('reg_differ');
ALTER TABLE registry_typed DROP COLUMN message;
SELECT registry_error($$SELECT kiln_forget('reg_message')$$) AS error;
DROP TABLE registry_typed;
SELECT kiln_forget('reg_message');
SELECT registry_error($$SELECT kiln_forget('reg My Msg')$$) AS error;
DROP TYPE registry_composite;
SELECT kiln_forget('"reg My Msg"');
SELECT kiln_forget('reg_version');
SELECT kiln_forget('reg_quote'), kiln_forget(U&'reg caf\00e9');
SELECT * FROM registry_seen;

--
-- Values whose definition is gone, or lies: written in a form that loses nothing, read with an error, and whole again
-- once the definition is back (case 34)
--
SELECT kiln_register('reg_value(a i32,b string)') AS hash \gset
CREATE TABLE registry_values AS
	SELECT kiln_encode('reg_value', '{"a": 1, "b": "x"}'::jsonb) AS v, 'reg_value#' || :'hash' AS called;
PREPARE registry_read AS SELECT v, kiln_get(v, 'b') FROM registry_values;
EXECUTE registry_read;
-- name, name and hash, or the hash alone; the hash decides, and a name beside it has to agree
SELECT registry_error(format('SELECT kiln_encode(%L, ''{"a": 1, "b": "x"}''::jsonb)', c)) AS error FROM unnest(ARRAY[
	'reg_value', '"reg_value"', ' reg_value ', 'reg_value#' || :'hash', '#' || :'hash', '"reg_value"#' || :'hash',
	'reg_other#' || :'hash', 'reg_value#0123456789abcdef', '#0123456789ABCDEF', 'reg_nosuch']) AS c;
SELECT kiln_forget('reg_value');
SELECT v FROM registry_values;
EXECUTE registry_read;
SELECT registry_error('SELECT kiln_get(v, ''b'') FROM registry_values') AS error;
SELECT kiln_register('reg_value(a i32,b string)') = :'hash' AS same;
EXECUTE registry_read;
ALTER SERVER kiln_:hash OPTIONS (SET definition 'reg_value(b string,a i32)');
SELECT v FROM registry_values;
SELECT registry_error('SELECT kiln_get(v, ''b'') FROM registry_values') AS error;
SELECT left(registry_error($$SELECT kiln_encode('reg_value(a i32,b string)', '{"a": 1, "b": "x"}'::jsonb)$$), 5) AS error;
ALTER SERVER kiln_:hash OPTIONS (SET definition 'reg_value(a i32,b string)');
EXECUTE registry_read;
-- registering in the middle of a query that reads
SELECT kiln_get(v, 'a'), kiln_register('reg_middle(a i32)') IS NOT NULL AS registered, kiln_get(v, 'b') FROM registry_values;
SELECT kiln_forget('reg_middle'), kiln_forget('reg_value');
DEALLOCATE registry_read;
DROP TABLE registry_values;
-- a default given as text is kept as the bytes that it means
SELECT kiln_register($$reg_default(a f64='1.5',d date='2020-01-01',n numeric='1.50')$$) IS NOT NULL AS registered;
SELECT definition FROM registry_seen WHERE name = 'reg_default';
SELECT kiln_forget('reg_default');

--
-- Look-ups do not depend on search_path (case 46)
--
SET search_path = '';
SELECT public.kiln_register('reg_path(a i32)');
SELECT name, definition FROM public.registry_seen;
SELECT public.kiln_forget('reg_path');
RESET search_path;

DROP VIEW registry_seen;
DROP FUNCTION registry_error(text);
