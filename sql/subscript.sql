-- Subscripts of kiln values: v['user']['tags'][0], read and assigned.

SELECT kiln_register($$sub(id i64, n u8, user (name string, tags string[], home (city string?)?)?, props dict<i32>, l i32[], j json?, e enum('a', 'b')?, d date?,
	at timestamptz?, f f32?, num numeric?, b bool?, u uuid?)$$) AS hash;
CREATE TABLE sub(k int, v kiln(sub));
INSERT INTO sub VALUES
	(1, '{"id": 1, "n": 2, "user": {"name": "ann", "tags": ["x","y"]}, "props": {"a.b": 1, "c": 2}, "l": [5,6], "j": {"q": [{"r": "s"}]}}'),
	(2, '{"id": 2, "n": 0, "props": {}, "l": []}'), (3, NULL);

-- Reading: text is a field or key, taken literally; an integer a position. The answer is kiln, as with ->.
SELECT k, v['id'], v['user']['tags'][0], v['user']['tags'][-1], v['props']['a.b'], v['l'][1] FROM sub ORDER BY k;
SELECT k, v['user'] ->> 'name' AS name, (v['user']['tags'])::jsonb AS tags, v['j']['q'][0]['r'] FROM sub ORDER BY k;
SELECT pg_typeof(v['id']), v['id'] = '1'::kiln AS equal, v['id'] = v -> 'id' AS same FROM sub WHERE k = 1;
-- what is not there is NULL; what can't be there is an error
SELECT v['props']['zz'], v['l'][9], v['l'][-9], v['user']['home']['city'], v['j']['nope'], v[NULL], v['l'][NULL::int] FROM sub WHERE k = 1;
SELECT attempt($$SELECT v['nome'] FROM sub$$);
SELECT attempt($$SELECT v['usr'] FROM sub$$);
SELECT attempt($$SELECT v['l']['0'] FROM sub$$);
SELECT attempt($$SELECT v['props'][0] FROM sub$$);
SELECT attempt($$SELECT v['id']['x'] FROM sub$$);
SELECT attempt($$SELECT v['l'][0:1] FROM sub$$);
SELECT attempt($$SELECT v['l'][:] FROM sub$$);
SELECT attempt($$SELECT v['l'][1.5] FROM sub$$);
SELECT attempt($$SELECT v['l'][now()] FROM sub$$);
SELECT attempt($$SELECT v['l'][1::int8] FROM sub$$);
-- subscripts of other types, and that vary
SELECT k, f, v[f] FROM sub, unnest('{id,n}'::varchar[]) AS f WHERE k < 3 ORDER BY k, f;
SELECT i, v['l'][i], v['user']['tags'][i::int2] FROM sub, generate_series(-3, 2) AS i WHERE k = 1 ORDER BY i;
SELECT v[p] FROM sub, (VALUES ('id'), (NULL), ('props')) AS t(p) WHERE k = 1;
-- any kiln value
SELECT ('{"a": [1, {"b": 2}]}'::kiln)['a'][1]['b'], ('{"$kiln": "i8[]", "$value": [1,2]}'::kiln)[1], ('{"$kiln": "dict<i8>", "$value": {"": 1}}'::kiln)[''];
SELECT ('{"$kiln": "tensors", "w": {"dtype": "f64", "shape": [2], "data": [1,2]}}'::kiln)['w'];
SELECT attempt($$SELECT (kiln_from_frame('\x14000102030405060700'))['a']$$);

-- The planner turns a cast or ->> of constant subscripts into one accessor call, in whatever mixture of spellings.
EXPLAIN (VERBOSE, COSTS OFF) SELECT v['id']::int8, v['user']['tags'][0] ->> 'x', (v['user'] -> 'tags')[1]::jsonb, (v -> 'l')[0]::int4, v['props']['a.b']::numeric, v['l'][k]::int8, v['user']
	FROM sub;
SELECT v['id']::int8, (v['user'] -> 'tags')[1]::jsonb, (v -> 'l')[0]::int4, v['props']['a.b']::numeric, v['l'][k]::int8 FROM sub WHERE k = 1;
CREATE INDEX sub_id ON sub ((v['id']::int8));
SET enable_seqscan = off;
SET enable_bitmapscan = off;
EXPLAIN (COSTS OFF) SELECT k FROM sub WHERE kiln_get_int8(v, 'id') = 2;
EXPLAIN (COSTS OFF) SELECT k FROM sub WHERE (v -> 'id')::int8 = 2;
EXPLAIN (COSTS OFF) SELECT k FROM sub WHERE v['id']::int8 = 2;
SELECT k FROM sub WHERE v['id']::int8 = 2;
RESET enable_seqscan;
RESET enable_bitmapscan;
DROP INDEX sub_id;

-- Assigning: the value is converted by its assignment cast to kiln, then to the field's type; the rest stays.
UPDATE sub SET v['id'] = 5, v['n'] = 7::int8, v['user']['name'] = '"bob"', v['user']['tags'][0] = '"z"', v['props']['b'] = 3, v['l'][2] = 7.0,
	v['e'] = '"b"', v['d'] = date '2020-01-02', v['at'] = timestamptz '2020-01-02 03:04:05+00', v['f'] = 1.5::float8, v['num'] = 2.50, v['b'] = true,
	v['u'] = '00112233-4455-6677-8899-aabbccddeeff'::uuid, v['user']['home']['city'] = to_jsonb('X'::text), v['j']['q'][0]['r'] = '[1]' WHERE k = 1;
SELECT v, kiln_verify(v), kiln_version(v) FROM sub WHERE k = 1;
UPDATE sub SET v['user']['tags'] = '["p"]', v['props'] = '{"k": 1}'::jsonb, v['l'] = '[]', v['j'] = NULL, v['e'] = NULL, v['d'] = '"2020-02-03"', v['at'] = NULL, v['u'] = NULL,
	v['num'] = 1e3, v['f'] = NULL, v['b'] = NULL, v['user']['home'] = NULL WHERE k = 1 RETURNING v;
-- from another field, another value, a subquery
UPDATE sub SET v['id'] = v['n'], v['n'] = v['id']::int8 + 1, v['l'] = (SELECT o.v -> 'l' FROM sub AS o WHERE o.k = 2) WHERE k = 1 RETURNING v['id'], v['n'], v['l'];
-- an absent struct is made if its other fields allow it
SELECT attempt($$UPDATE sub SET v['user']['home']['city'] = '"X"' WHERE k = 2$$);
UPDATE sub SET v['j']['a'] = 1 WHERE k = 2 RETURNING v;
UPDATE sub SET v['user']['home'] = NULL WHERE k = 2 RETURNING v;

-- What does not fit is refused.
SELECT q, attempt(format('UPDATE sub SET %s WHERE k = 1', q)) FROM unnest(ARRAY[
	$$v['n'] = 256$$, $$v['n'] = 1.5$$, $$v['n'] = true$$, $$v['n'] = '"x"'$$, $$v['n'] = 'x'$$, $$v['n'] = 'x'::text$$, $$v['n'] = NULL$$, $$v['n'] = '[1]'$$, $$v['e'] = '"c"'$$, $$v['d'] = '"x"'$$,
	$$v['f'] = 1e40::float8$$, $$v['l'][9] = 1$$, $$v['l'][-9] = 1$$, $$v['l'][NULL::int] = 1$$, $$v['nome'] = 1$$, $$v['l']['x'] = 1$$, $$v['l'][0:1] = '[]'$$, $$v['user'] = '{"name": "x"}'$$,
	$$v['id'] = '{"$kiln": "tensors"}'$$, $$v['id'] = kiln_from_frame('\x14000102030405060700')$$
]) AS q;

-- A NULL value in a typed column becomes one of the latest version, if all other fields may be absent or have a default.
SELECT attempt($$UPDATE sub SET v['id'] = 1 WHERE k = 3$$);
SELECT kiln_register('opt(a i32?, b string = ''x'', c (d i8, e i8?)?)') IS NOT NULL AS one, kiln_register('opt(a i64?, b string = ''x'', c (d i8, e i8?)?, f dict<bool>?)') IS NOT NULL AS two;
CREATE DOMAIN opt_domain AS kiln(opt);
CREATE TABLE opt(k int, v kiln(opt), w kiln, d opt_domain, a kiln(opt)[]);
INSERT INTO opt(k) VALUES (1);
UPDATE opt SET v['a'] = 5, d['b'] = '"y"' RETURNING v, d, kiln_version(v);
UPDATE opt SET v = NULL, d = NULL;
UPDATE opt SET v['c']['d'] = 5, d['f']['k'] = true RETURNING v, d;
UPDATE opt SET v = NULL, d = NULL;
UPDATE opt SET v['a'] = NULL RETURNING v;
UPDATE opt SET v = NULL;
SELECT attempt($$UPDATE opt SET v['c']['e'] = 1$$);
SELECT attempt($$UPDATE opt SET v['zz'] = 1$$);
SELECT attempt($$UPDATE opt SET w['a'] = 1$$);
INSERT INTO opt(k, v['a'], v['b']) VALUES (2, 7, '"z"') RETURNING v;
-- a column whose schema is not registered, and one of tensors
SET client_min_messages = error;
CREATE TEMP TABLE nobody(v kiln(nobody), t kiln(tensor));
RESET client_min_messages;
INSERT INTO nobody VALUES (NULL, NULL);
SELECT attempt($$UPDATE nobody SET v['a'] = 1$$);
SELECT attempt($$UPDATE nobody SET t['a'] = 1$$);
-- the container's version is kept, whatever is latest
INSERT INTO opt(k, v) VALUES (3, '{"$kiln": "opt(a i32?, b string = ''x'', c (d i8, e i8?)?)", "a": 1}');
UPDATE opt SET v['a'] = 2, v['b'] = '"kept"' WHERE k = 3 RETURNING v, kiln_version(v);
SELECT attempt($$UPDATE opt SET v['f'] = '{}' WHERE k = 3$$);
UPDATE opt SET v = kiln_upgrade(v), w = kiln_set(kiln_upgrade(v), 'f', '{}') WHERE k = 3 RETURNING w;
-- inside composites, domains, and of arrays by way of a variable
CREATE TYPE holder AS (x int, v kiln(opt));
CREATE TEMP TABLE held(h holder);
INSERT INTO held VALUES (ROW(1, '{"a": 1}'));
UPDATE held SET h.v['a'] = 9, h.v['c']['d'] = 1 RETURNING h;

-- in views, rules of conflict, triggers and prepared statements
CREATE VIEW opt_view AS SELECT k, v['a']::int8 AS a, v['c']['d'] AS d, v['f'][k::text] AS f FROM opt;
DO $$ BEGIN EXECUTE 'CREATE VIEW opt_again AS ' || pg_get_viewdef('opt_view'); END $$;
SELECT pg_get_viewdef('opt_again') = pg_get_viewdef('opt_view') AS same;
SELECT * FROM opt_view ORDER BY k, a;
CREATE UNIQUE INDEX ON opt (k);
INSERT INTO opt(k, v['a']) VALUES (2, 70), (4, 40) ON CONFLICT (k) DO UPDATE SET v['a'] = EXCLUDED.v['a'], v['b'] = '"seen"' RETURNING k, v;
CREATE FUNCTION opt_stamp() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.v['c'] := '{"d": 1}'; NEW.v['c']['e'] := (NEW.v['c']['d'])::int4 + 1; RETURN NEW; END $$;
CREATE TRIGGER opt_stamp BEFORE UPDATE ON opt FOR EACH ROW EXECUTE FUNCTION opt_stamp();
UPDATE opt SET v['a'] = 41 WHERE k = 4 RETURNING v;
PREPARE put(text, int8) AS UPDATE opt SET v[$1] = $2 WHERE k = 4 RETURNING v[$1];
EXECUTE put('a', 42);
EXECUTE put('a', NULL);
SELECT attempt($$EXECUTE put('b', 42)$$);
DROP VIEW opt_view, opt_again;

-- plpgsql
DO $$
DECLARE
	v kiln(opt);
	w kiln := '{"$kiln": "i16[]", "$value": [1]}';
	k text := 'a';
BEGIN
	v['a'] := 1;
	v[k] := v[k]::int8 + 1;
	v['f']['x'] := true;
	w[1] := 7;
	FOR i IN 2..4 LOOP
		w[i] := i;
	END LOOP;
	RAISE NOTICE '% %', v, w;
END $$;

-- Values of every storage, and long ones read by part.
CREATE TEMP TABLE long(v kiln);
INSERT INTO long SELECT kiln_encode('(a i32, s string, z (y string[]))', r::jsonb) FROM (
	SELECT format('{"a": %s, "s": "%s", "z": {"y": ["p", "q"]}}', n, repeat('x', n)) FROM unnest(ARRAY[0, 1, 100, 1900, 3000, 9000, 1000000]) AS n) AS t(r);
SELECT v['a'], v['z']['y'][1], length(v ->> 's') FROM long ORDER BY v['a']::int4;
UPDATE long SET v['z']['y'][2] = '"r"', v['a'] = v['a']::int4 + 1;
SELECT bool_and(kiln_verify(v)), string_agg(v['z']['y'][2]::jsonb::text, ' '), sum(v['a']::int4) FROM long;

DROP TABLE sub, opt, held, long;
DROP FUNCTION opt_stamp;
DROP DOMAIN opt_domain;
DROP TYPE holder;
SELECT kiln_forget(n) FROM unnest('{sub,opt}'::text[]) AS n;
