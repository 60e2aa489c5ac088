-- kiln_set and kiln_merge: values with a place changed.

SELECT kiln_register($$thing(id i64, small u8, name string?, tags string[], props dict<i32>, opt dict<i32?>, addr (city string?, zip i32?, pos (x f64, y f64 = 0)?)?,
	j json, jo json?, e enum('red', 'green')?, d date?, b bytes?, u uuid?, rows (k i8, v string?)[], nums f64[], done bool = true)$$) AS hash;
CREATE TABLE thing(n int, v kiln(thing));
INSERT INTO thing VALUES (1, $${"id": 1, "small": 2, "name": "one", "tags": ["a","b"], "props": {"b": 2, "d": 4}, "opt": {"x": null}, "j": {"k": [1, 2]},
	"rows": [{"k": 1, "v": "x"},{"k": 2}], "nums": [1,2.5]}$$);

-- What is set, and nothing else: the rest is byte for byte what it was, the definition and the frame's kind are kept.
CREATE FUNCTION changed(path text, new text) RETURNS TABLE(answer text) LANGUAGE plpgsql AS $$
DECLARE
	before kiln;
	after kiln;
BEGIN
	SELECT v INTO before FROM thing WHERE n = 1;
	EXECUTE format('SELECT kiln_set(v, $1, %s) FROM thing WHERE n = 1', new) INTO after USING path;
	IF NOT kiln_verify(after) OR kiln_hash(after) <> kiln_hash(before) OR left(hex(after), 2) <> '11' THEN
		RETURN QUERY SELECT 'BROKEN ' || hex(after);
	END IF;
	-- the keys that differ, before and after
	RETURN QUERY SELECT coalesce(string_agg(format('%s: %s -> %s', key, b.value, a.value), ', ' ORDER BY key), 'same')
		FROM jsonb_each(before::jsonb) AS b FULL JOIN jsonb_each(after::jsonb) AS a USING (key) WHERE b.value IS DISTINCT FROM a.value;
EXCEPTION WHEN OTHERS THEN
	RETURN QUERY SELECT attempt(format('SELECT kiln_set(v, %L, %s) FROM thing WHERE n = 1', path, new));
END $$;
CREATE FUNCTION changes(VARIADIC pairs text[]) RETURNS TABLE(path text, new text, answer text) LANGUAGE sql AS $$
	SELECT p, q, c.answer FROM unnest(pairs[1:1000000]) WITH ORDINALITY AS p(p, n)
		JOIN unnest(pairs) WITH ORDINALITY AS q(q, n) ON q.n = p.n + 1, changed(p, q) AS c WHERE p.n % 2 = 1 ORDER BY p.n
$$;

-- Numbers: by value, range-checked, whatever their SQL type.
SELECT * FROM changes('id', '5', 'id', '5::int2', 'id', '5::numeric', 'id', '5.0::float8', 'id', '5.5::float8', 'id', '''7''', 'id', '''"7"''',
	'id', '''x''', 'id', '9223372036854775808', 'small', '255', 'small', '256', 'small', '-1', 'small', 'true', 'nums[1]', '7', 'nums[0]', '''NaN''');
-- Strings and enums: text is the string itself. What JSON writes as a string may stand without quotes.
SELECT * FROM changes('name', '''it''''s "x"''', 'name', '''''', 'name', '''y''::varchar', 'name', '''z  ''::char(5)', 'name', '''w''::name', 'name', '5',
	'e', '''green''', 'e', '''blue''', 'd', '''2020-02-29''', 'd', '''2020-02-30''', 'd', 'date ''2020-02-28''', 'd', '''"2020-02-27"''', 'b', '''\x00ff''', 'b', '''\xff''::bytea',
	'u', '''00112233-4455-6677-8899-aabbccddeeff''', 'u', '''00112233-4455-6677-8899-aabbccddeeff''::uuid');
-- Lists, dicts, structs and json: JSON text, jsonb, arrays, rows, kiln values.
SELECT * FROM changes('tags', '''["x"]''', 'tags', 'ARRAY[''p'', ''q'', ''r'']', 'tags', '''{}''::text[]', 'tags', '''["x"''', 'tags', '''"x"''', 'nums', 'ARRAY[1.5, 2]::float4[]',
	'props', '''{"z": 1, "a": 2}''', 'props', '''{"a": 1}''::jsonb', 'addr', '''{"city": "X"}''', 'addr', '''{"pos": {"x": 1}}''::jsonb', 'addr', '''{"town": "X"}''',
	'addr.pos', 'r', 'rows[0]', '''{"$kiln": "(v string, k i8)", "k": 3, "v": "y"}''::kiln',
	'rows[0]', '''{"$kiln": "(v string, k i16)", "k": 3, "v": "y"}''::kiln', 'j', '''[1, 2]''', 'j', '''null''', 'j', '5', 'j', 'ARRAY[1,2]', 'jo', '''null''', 'jo', '''{"a": 1}''::kiln', 'jo', '''x''');
SELECT kiln_set(v, 'addr.pos', r)::jsonb -> 'addr' FROM thing, (SELECT 1.5::float8 AS x) AS r WHERE n = 1;
-- Positions: from 0, negative from the end; the one behind the last appends.
SELECT * FROM changes('tags[0]', '''X''', 'tags[-1]', '''X''', 'tags[2]', '''X''', 'tags[3]', '''X''', 'tags[-3]', '''X''', 'rows[1].v', '''X''', 'rows[0].v', 'NULL',
	'rows[2].k', '9', 'rows[2].v', '''X''', 'rows[2]', '''{"k": 9}''', 'nums[2]', '0');
-- Keys: a new one goes where it belongs.
SELECT * FROM changes('props.b', '7', 'props.a', '7', 'props.c', '7', 'props.e', '7', 'props.""', '7', 'props."a.b"', '7', 'opt.x', '1', 'opt.y', 'NULL', 'opt.a', '1',
	'props.b', 'NULL', 'props.a', '''x''');
-- NULL makes an optional absent, and is refused elsewhere.
SELECT * FROM changes('name', 'NULL', 'name', 'NULL::int', 'e', 'NULL', 'id', 'NULL', 'done', 'NULL', 'j', 'NULL', 'j', '''null''::jsonb', 'jo', '''null''::jsonb', 'name', '''null''::jsonb',
	'id', '''null''::jsonb', 'id', '''null''::kiln', 'addr.city', 'NULL', 'addr.pos.x', 'NULL', 'tags[0]', 'NULL');
-- What an absent optional stands for is made if its other fields allow it.
SELECT * FROM changes('addr.city', '''X''', 'addr.pos.x', '1', 'addr.pos.y', '1', 'jo.a', '1', 'jo[0]', '1', 'jo.a', 'NULL');
-- Inside json: as jsonb_set, NULL takes out.
SELECT * FROM changes('j.k', '''[3]''', 'j.k[0]', '9', 'j.k[0]', '''"x"''::jsonb', 'j.k[0]', 'now() - now()', 'j.new', '''{"a": 1}''::kiln', 'j.k', 'NULL', 'j.k[5]', '1', 'j.a.b', '1', 'j.k.x', '1');
-- The whole value.
SELECT * FROM changes('', '''{"id": 1}''', '', 'NULL');
SELECT kiln_set('5'::kiln, '', 6), kiln_set('"x"'::kiln, '', 'y');
SELECT attempt($$SELECT kiln_set('5'::kiln, '', 'true')$$);
-- Paths that lead nowhere are the errors that reading has.
SELECT * FROM changes('nome', '1', 'addr.town', '1', 'id.x', '1', 'tags.x', '1', 'props[0]', '1', 'addr[0]', '1', 'a..b', '1', 'tags[x]', '1');
-- Types without a conversion, and strange ones.	case 30
SELECT * FROM changes('id', 'point(1, 2)', 'name', 'ROW(1, ''x'')', 'name', '''c''::"char"', 'tags', 'ARRAY[]::int[]', 'tags', 'ARRAY[[''x'']]', 'nums', 'ARRAY[1, NULL]', 'id', 'true');
SELECT attempt($$SELECT kiln_set(v, 'id', cash_out(0::money)) FROM thing$$);
SELECT kiln_set(NULL, 'id', 1) IS NULL AND kiln_set(v, NULL, 1) IS NULL AS strict FROM thing WHERE n = 1;

-- Explicit zero, empty and absent stay apart.	case 17
SELECT kiln_set(v, 'name', '') -> 'name' AS empty, kiln_set(v, 'name', NULL) -> 'name' IS NULL AS absent, kiln_set(v, 'name', '') = kiln_set(v, 'name', NULL) AS same FROM thing WHERE n = 1;
-- The order of assignments leaves no trace.	case 50
SELECT hex(kiln_set(kiln_set(v, 'props.a', 1), 'props.z', 2)) = hex(kiln_set(kiln_set(v, 'props.z', 2), 'props.a', 1)) AS same,
	kiln_set(kiln_set(v, 'props', '{"a": 1}'), 'props.B', 2)::jsonb -> 'props' FROM thing WHERE n = 1;

-- The same width is an overwrite; any other a splice. Each is what encoding the whole anew gives.
SELECT p.path, octet_length(kiln_frame(kiln_set(v, p.path, p.new))) - octet_length(kiln_frame(v)) AS longer,
	hex(kiln_set(v, p.path, p.new)) = hex(kiln_encode('thing', kiln_set(v, p.path, p.new)::jsonb)) AS as_encoded
FROM thing, (VALUES ('id', '77'), ('small', '77'), ('done', 'false'), ('name', 'two'), ('name', 'three'), ('name', NULL), ('e', 'red'), ('nums[0]', '3'),
	('props.x', '1'), ('rows[0].k', '1'), ('addr.pos.x', '5')) AS p(path, new) WHERE n = 1;

-- Inline values keep their text.
SELECT kiln_set('{"$kiln": "(a i32, b string?)", "a": 1}'::kiln, 'b', 'x'), kiln_set('{"$kiln": "i16[]", "$value": [1,2]}'::kiln, '[2]', 3),
	kiln_set('{"$kiln": "dict<bool>", "$value": {}}'::kiln, 'k', true), kiln_set('{"$kiln": "(a u8)", "a": 1}'::kiln, 'a', 2);
SELECT kiln_set('{"a": {"b": 1}}'::kiln, 'a.b', 2), kiln_set('{"a": {"b": 1}}'::kiln, 'a.c', 'null'::text);
-- Tensors and unverified values are refused.
SELECT attempt($$SELECT kiln_set('{"$kiln": "tensors"}'::kiln, 'a', 1)$$);
SELECT attempt($$SELECT kiln_set(kiln_from_frame('\x14000102030405060700'), 'a', 1)$$);
SELECT attempt($$SELECT kiln_merge('{"$kiln": "tensors"}'::kiln, '{}')$$);
SELECT attempt($$SELECT kiln_merge(kiln_from_frame('\x14000102030405060700'), '{}')$$);

-- Short, packed, compressed and external values.	case 40
CREATE TEMP TABLE sizes(v kiln);
INSERT INTO sizes SELECT kiln_encode('(a i32, s string, z i8)', r) FROM (SELECT 1 AS a, repeat('x', n) AS s, 2::int2 AS z
	FROM unnest(ARRAY[0, 1, 5, 90, 91, 92, 93, 94, 95, 96, 97, 98, 99, 100, 1950, 2000, 8100, 8200, 3000000]) AS n) AS r;
ALTER TABLE sizes ADD w kiln;
ALTER TABLE sizes ALTER w SET STORAGE extended;
UPDATE sizes SET w = v;
SELECT count(*), bool_and(kiln_set(v, 'z', 3)::jsonb = jsonb_set(v::jsonb, '{z}', '3')),
	bool_and(kiln_set(w, 's', 'y')::jsonb = jsonb_set(w::jsonb, '{s}', '"y"')), bool_and(kiln_verify(kiln_set(w, 's', s.y)) AND kiln_set(v, 's', s.y) ->> 's' = s.y),
	bool_and(kiln_merge(w, '{"a": 5}')::jsonb = w::jsonb || '{"a": 5}')
FROM sizes, (SELECT repeat('y', 500) AS y) AS s;
UPDATE sizes SET v = kiln_set(v, 'a', 9), w = kiln_merge(w, '{"z": 9}');
SELECT bool_and((v ->> 'a') = '9' AND (w ->> 'z') = '9' AND v ->> 's' = w ->> 's'), sum(length(v ->> 's')) FROM sizes;

-- kiln_merge: as a JSON merge patch.
SELECT p AS patch, attempt(format('SELECT k.v::jsonb - ''rows'' - ''nums'' - ''id'' - ''small'' - ''done'' FROM (SELECT kiln_merge(v, %L) AS v FROM thing WHERE n = 1) AS k WHERE kiln_verify(k.v)', p))
FROM unnest(ARRAY[
	'{}', '{"name": "two"}', '{"name": null}', '{"tags": ["z"]}', '{"props": {"b": null, "a": 1, "c": 3, "e": 5}}', '{"props": {"b": null, "d": null, "zz": null}}', '{"props": {}}',
	'{"opt": {"x": null}}', '{"opt": {"y": 1, "x": 2}}', '{"addr": {"city": "X"}}', '{"addr": {"pos": {"x": 1}}}', '{"addr": {"pos": {"y": 1}}}', '{"addr": null}',
	'{"j": {"k": null, "n": {"m": 1, "o": null}}}', '{"j": {"k": {"x": {"y": null, "z": 1}}}}', '{"j": [1]}', '{"j": null}', '{"jo": {"a": {"b": null}}}', '{"jo": null}', '{"jo": [null]}',
	'{"e": "green", "d": "2020-01-01"}', '{"id": null}', '{"nome": 1}', '{"e": "blue"}', '{"small": 256}', '{"addr": {"zip": "x"}}', '{"props": {"b": "x"}}', '{"tags": {"a": 1}}', '{"props": [1]}', '5', 'null', '[]'
]) AS p;
-- where RFC 7396 over jsonb says the same, it is the same
CREATE FUNCTION json_merge(target jsonb, patch jsonb) RETURNS jsonb LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
	k text;
	p jsonb;
BEGIN
	IF jsonb_typeof(patch) <> 'object' THEN RETURN patch; END IF;
	IF target IS NULL OR jsonb_typeof(target) <> 'object' THEN target := '{}'; END IF;
	FOR k, p IN SELECT * FROM jsonb_each(patch) LOOP
		IF jsonb_typeof(p) = 'null' THEN target := target - k;
		ELSE target := target || jsonb_build_object(k, json_merge(target -> k, p)); END IF;
	END LOOP;
	RETURN target;
END $$;
SELECT p, kiln_merge(v, p)::jsonb = json_merge(v::jsonb, p) AS same, hex(kiln_merge(v, p)) = hex(kiln_encode('thing', json_merge(v::jsonb, p))) AS as_encoded
FROM thing, unnest(ARRAY[
	'{"name": null, "id": 9, "done": false}', '{"props": {"b": null, "a": 1, "c": 3, "e": 5}, "rows": [{"k": 9}]}', '{"addr": {"pos": {"x": 1, "y": 2}, "zip": null}, "j": {"k": null, "n": {"m": 1, "o": null}}}',
	'{"opt": {"a": 1, "z": 2}, "jo": {"x": 1}, "nums": [], "b": "\\x00"}']::jsonb[]) AS p WHERE n = 1;
SELECT kiln_merge('{"a": 1, "b": {"c": 2}}'::kiln, '{"a": null, "b": {"d": 3}}'), kiln_merge('{"$kiln": "dict<i8>", "$value": {"b": 1}}'::kiln, '{"a": 2, "c": 3}'),
	kiln_merge('{"$kiln": "i8", "$value": 1}'::kiln, '5'), kiln_merge('{"$kiln": "(a i8?)"}'::kiln, '{"a": 5}');

DROP FUNCTION changed, changes, json_merge;
DROP TABLE thing;
SELECT kiln_forget('thing');
