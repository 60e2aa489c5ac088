-- kiln_infer_agg: one definition for many documents; kiln_infer_report: what it saw.

-- Integers get the narrowest type, fractions f64, and numeric what f64 would not give back.
SELECT d, (SELECT kiln_infer_agg(x) FROM jsonb_array_elements(d::jsonb) x) AS definition
FROM unnest(ARRAY[
	'[0, 127]', '[-128]', '[128]', '[255, 0]', '[256]', '[-1, 128]', '[32768]', '[65535]', '[65536]', '[-32769]', '[2147483648]', '[4294967295]', '[4294967296]',
	'[9223372036854775807]', '[9223372036854775808]', '[18446744073709551615, 0]', '[18446744073709551616]', '[-1, 18446744073709551615]', '[-1, 9223372036854775808]',
	'[1, 1.0, 1e2]', '[1, 2.5]', '[1.50]', '[0.1, 9007199254740993]', '[0.12345678901234567890]', '[1e400]', '[1e-400]', '[-9223372036854775809]'
]) WITH ORDINALITY AS t(d, n) ORDER BY n;

-- Strings are dates, timestamps and uuids only where each is one, and is written as it stands.
SELECT d, (SELECT kiln_infer_agg(x) FROM jsonb_array_elements(d::jsonb) x) AS definition
FROM unnest(ARRAY[
	'["2024-02-29", "1999-01-01"]', '["2024-02-29", "2024-02-30"]', '["2024-02-29", ""]', '["2024-02-29", "infinity"]', '["infinity"]', '["2024-2-9"]', '["0044-03-15 BC"]',
	'["2024-02-29T12:00:00", "2024-02-29T12:00:00.25"]', '["2024-02-29T12:00:00.50"]', '["2024-02-29 12:00:00"]', '["2024-02-29T12:00:00", "2024-02-29"]',
	'["2024-02-29T12:00:00+00:00"]', '["2024-02-29T12:00:00Z"]', '["2024-02-29T12:00:00+01:00"]', '["2024-02-29T12:00:00+00:00", "2024-02-29T12:00:00Z"]',
	'["6ba7b810-9dad-11d1-80b4-00c04fd430c8"]', '["6BA7B810-9dad-11d1-80b4-00c04fd430c8"]', '["6ba7b8109dad11d180b400c04fd430c8"]',
	'["6ba7b810-9dad-11d1-80b4-00c04fd430c8", "x"]', '["1", "2"]', '["true"]', '[""]'
]) WITH ORDINALITY AS t(d, n) ORDER BY n;

-- Fields are optional where some objects lack them, or where they are null; kinds that differ are json.
SELECT d, (SELECT kiln_infer_agg(x) FROM jsonb_array_elements(d::jsonb) x) AS definition
FROM unnest(ARRAY[
	'[{"a": 1}, {"b": "x"}, {}]', '[{"a": 1}, {"a": null}]', '[{"a": null}]', '[{"a": []}]', '[{"a": []}, {"a": [1]}]', '[{"a": {}}]', '[{"a": {}}, {"a": {"b": 1}}]',
	'[{"a": 1}, {"a": "x"}]', '[{"a": 1}, {"a": "x"}, {"a": null}]', '[{"a": 1}, {"a": "x"}, {"a": null}, {}]', '[{"a": [1, "x", null]}]', '[{"a": [1, null]}]',
	'[{"a": [{"b": 1}, {"c": 2}]}]', '[{"a": [[]]}, {"a": [[], [true]]}]', '[{"a": [1]}, {"a": {"b": 1}}]', '[1, "x"]', '[1, null]', '[null]', '[[1], [2, 3]]', '[{}]', '[]'
]) WITH ORDINALITY AS t(d, n) ORDER BY n;

-- Keys that can't be fields make dicts: no name, no room, or not as they would be normalised.
SELECT d, (SELECT kiln_infer_agg(x) FROM jsonb_array_elements(d::jsonb) x) AS definition
FROM unnest(ARRAY[
	'[{"a": {"": 1, "b": 2}}]', '[{"a": {"$x": 1}}, {"a": {"b": null}}]', '[{"a": {"e\u0301": 1}}]', '[{"a": {"\u00e9": 1}}]', '[{"a": {"": 1, "b": "x"}}]',
	'[{"a": {"": {"x": 1}, "b": {"y": 2}}}]', '[{"$x": 1}]', '[{"a": {"odd key": 1, "A": 2, "a.b": 3}}]'
]) WITH ORDINALITY AS t(d, n) ORDER BY n;
SELECT kiln_infer_agg(jsonb_build_object('a', jsonb_build_object('k' || i, i))) FROM generate_series(1, 1700) i;
-- and so do keys that look open-ended: many, each in few objects, their values of one kind
SELECT kiln_infer_agg(jsonb_build_object('id', i, 'p', jsonb_build_object('k' || i % 15, i))) AS fifteen FROM generate_series(1, 100) i;
SELECT kiln_infer_agg(jsonb_build_object('id', i, 'p', jsonb_build_object('k' || i % 16, i))) AS sixteen FROM generate_series(1, 100) i;
SELECT length(kiln_infer_agg(jsonb_build_object('id', i, 'p', jsonb_build_object('k' || i % 16, i, 'always', i)))) AS one_in_all FROM generate_series(1, 100) i;
SELECT length(kiln_infer_agg(jsonb_build_object('p', jsonb_build_object('k' || i % 16, CASE WHEN i % 16 = 3 THEN to_jsonb(i) ELSE '"x"' END)))) AS other_kinds
FROM generate_series(1, 100) i;
SELECT kiln_infer_agg(jsonb_build_object('by_day', jsonb_build_object('2024-01-0' || i, jsonb_build_object('n', i), '2024-01-1' || i, null))) AS digits
FROM generate_series(1, 3) i;
-- the whole stays a struct
SELECT left(kiln_infer_agg(jsonb_build_object('k' || i, i)), 20) FROM generate_series(1, 100) i;

-- Deeper than a definition is json.
SELECT kiln_infer_agg((repeat('[', n) || repeat(']', n))::jsonb) = CASE WHEN n < 33 THEN 'string' || repeat('[]', n) END AS same,
	kiln_infer_agg((repeat('[', n) || repeat(']', n))::jsonb) FROM unnest(ARRAY[32, 33, 40]) n GROUP BY n ORDER BY n;
SELECT kiln_infer_agg((repeat('{"a": ', n) || '[null]' || repeat('}', n))::jsonb) FROM unnest(ARRAY[29, 30, 31, 60]) n GROUP BY n ORDER BY n;

-- With a name the definition can be registered.
SELECT kiln_infer_agg(x::jsonb, 'person') AS named, kiln_infer_agg(x::jsonb, 'Two Words') AS quoted FROM unnest(ARRAY['{"id": 1}', '{"id": 700, "mail": "x"}']) x;
SELECT kiln_register(kiln_infer_agg(x::jsonb, 'inferred_person')) IS NOT NULL FROM unnest(ARRAY['{"id": 1}', '{"id": 700, "mail": "x"}']) x;
SELECT kiln_infer_agg(x::jsonb, 'person') FROM unnest(ARRAY['{"id": 1}', '[2]', 'null']) x;
SELECT kiln_infer_agg(x::jsonb, 'person') FILTER (WHERE jsonb_typeof(x::jsonb) = 'object') FROM unnest(ARRAY['{"id": 1}', '[2]', 'null']) x;
SELECT kiln_infer_agg(x::jsonb, 'person') FROM unnest(ARRAY['{"$id": 1}']) x;
SELECT kiln_infer_agg(x::jsonb, 'person') FROM unnest(ARRAY['{}']) x;
SELECT kiln_infer_agg(jsonb_build_object('k' || i, i), 'person') FROM generate_series(1, 1601) i;
SELECT kiln_infer_agg('{}', '');
SELECT kiln_infer_agg('{}', '$x');
SELECT kiln_infer_agg('{}', NULL);
SELECT kiln_infer_agg('{"a": 1}', x) FROM unnest(ARRAY['one', 'two']) x;
-- no documents
SELECT kiln_infer_agg(NULL), kiln_infer_agg(NULL, 'x'), kiln_infer_report_agg(NULL) FROM generate_series(1, 3);
SELECT kiln_infer_agg(x) FILTER (WHERE false) FROM (SELECT '{}'::jsonb) t(x);

-- Groups, window frames.
SELECT i % 2 AS g, kiln_infer_agg(jsonb_build_object('k' || i, i)) FROM generate_series(1, 4) i GROUP BY 1 ORDER BY 1;
SELECT i, kiln_infer_agg(jsonb_build_object('a', 10 ^ i)) OVER (ORDER BY i) FROM generate_series(1, 5) i;

-- What is inferred takes each document, which comes back the same.
CREATE TABLE infer_documents (n int, j jsonb);
INSERT INTO infer_documents SELECT i, ('{"id": ' || i || ', "f": ' || i / 7.0 || ', "g": ' || i / 8.0::float8 || ', "at": "2024-01-01T00:00:00.' || 1 + i % 9 || '", "l": [' || i || ', null],
	"o": {"x": [{"y": ' || i * 1000 || '}]}, "d": {"$' || i || '": null, "b": ' || i || '}, "mixed": ' || CASE WHEN i % 2 = 0 THEN '[1, {"q": null}]' ELSE '"s"' END || ', "e": {}, "v": []'
	|| CASE WHEN i % 3 = 0 THEN ', "opt": true' ELSE '' END || '}')::jsonb FROM generate_series(1, 200) i;
SELECT kiln_infer_agg(j) FROM infer_documents;
SELECT count(*), count(*) FILTER (WHERE kiln_encode(d, j)::jsonb = j) AS same
FROM infer_documents, (SELECT kiln_infer_agg(j) AS d FROM infer_documents) x;

-- The report: a row for each path.
SELECT * FROM kiln_infer_report('infer_documents', 'j');
SELECT path, type, kinds, lowest, highest, keys, uncertain FROM (SELECT kiln_infer_report_agg(x::jsonb) AS r FROM unnest(ARRAY[
	'{"n": null, "z": "2024-02-29T12:00:00Z", "u": "6BA7B810-9dad-11d1-80b4-00c04fd430c8", "price": 1.50, "a.b": {"c": -5}, "big": 123456789012345678901}',
	'{"n": null, "z": "2024-02-29T12:00:00Z", "u": "6BA7B810-9dad-11d1-80b4-00c04fd430c8", "price": 2.25, "a.b": {"c": 7}, "big": 0.5, "say \"x\"": true}']) x) s,
	kiln_infer_report(s.r);
SELECT path, absent, uncertain FROM (SELECT kiln_infer_report_agg(CASE WHEN i = 7 THEN '{"a": 1, "b": 2}' ELSE '{"a": 1}' END::jsonb) AS r FROM generate_series(1, 1000) i) s,
	kiln_infer_report(s.r) WHERE path = 'b';
SELECT path, keys, uncertain FROM (SELECT kiln_infer_report_agg(jsonb_build_object('p', jsonb_build_object('k' || i, i), 'q', jsonb_build_object('k' || i % 20,
		CASE WHEN i % 20 = 0 THEN '1'::jsonb ELSE '[]' END), 'r', jsonb_build_object('k' || i % 134, i))) AS r FROM generate_series(1, 1700) i) s,
	kiln_infer_report(s.r) WHERE path IN ('p', 'q', 'r');
SELECT * FROM kiln_infer_report('infer_documents', 'n');
SELECT * FROM kiln_infer_report('infer_documents', 'no');
SELECT * FROM kiln_infer_report('[{"path": "x"}]'::jsonb);

-- A parallel plan gives what a serial one does.
CREATE TABLE infer_many AS SELECT i, jsonb_build_object('id', i, 'k' || i % 7, i, 'p', jsonb_build_object('x' || i % 50, i / 4.0), 's', repeat('x', i % 10),
	'd', ('2024-01-01'::date + i % 300)::text, 'l', jsonb_build_array(i % 3, null)) AS j FROM generate_series(1, 20000) i;
CREATE TABLE infer_serial AS SELECT kiln_infer_agg(j, 'x') AS d, kiln_infer_report_agg(j) AS r FROM infer_many;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET parallel_leader_participation = off;
EXPLAIN (COSTS OFF) SELECT kiln_infer_agg(j, 'x') FROM infer_many;
SELECT kiln_infer_agg(j, 'x') = d AS definition, kiln_infer_report_agg(j) = r AS report FROM infer_many, infer_serial GROUP BY d, r;
SELECT (SELECT kiln_infer_agg(j, 'x') FROM infer_many) = d AS definition, (SELECT kiln_infer_report_agg(j) FROM infer_many) = r AS report FROM infer_serial;
RESET ALL;

-- Wide and deep documents are kept within bounds: places become dicts, and the definition still takes all.
CREATE TABLE infer_wide AS SELECT jsonb_object_agg('a' || g, (SELECT jsonb_object_agg('k' || i, i) FROM generate_series(g * 100, g * 100 + 1500) i)) AS j
FROM generate_series(1, 40) g;
SELECT length(d) < 200000 AS bounded, count(*) FILTER (WHERE kiln_encode(d, j)::jsonb = j) AS same FROM infer_wide, (SELECT kiln_infer_agg(j) AS d FROM infer_wide) x GROUP BY d;

DROP TABLE infer_documents, infer_many, infer_serial, infer_wide;
