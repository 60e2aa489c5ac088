-- kiln_infer: a definition for a document.

-- Fields come in byte order of their names; numbers are taken by value.
SELECT kiln_infer('{"b": true, "a": 1, "B": "x", "é": 1.5, "a b": [1]}');
SELECT d, attempt(format('SELECT kiln_infer(%L)', d)) AS definition
FROM unnest(ARRAY[
	'1', '1.0', '1e3', '-1', '9223372036854775807', '9223372036854775808', '18446744073709551615', '18446744073709551616',
	'-9223372036854775808', '-9223372036854775809', '2.5', '0.1', '1e20', '1e400', '1e-400', '0.12345678901234567',
	'0.123456789012345678', '123456789012345678.5', '1e308', '5e-324', 'true', '"x"', '"1"', '[]', '{}', '[[]]', '[{}]'
]) WITH ORDINALITY AS t(d, n) ORDER BY n;

-- Mixed numbers: the first of i64, u64, f64 that holds all of them exactly, else numeric.
SELECT d, kiln_infer(d::jsonb)
FROM unnest(ARRAY[
	'[1, 2]', '[1, 18446744073709551615]', '[-1, 18446744073709551615]', '[1, 1.5]', '[9007199254740992, 0.5]',
	'[9007199254740993, 0.5]', '[-9007199254740994, 0.5]', '[18446744073709551615, 0.5]', '[1e20, 1]', '[1e20, 9007199254740993]'
]) WITH ORDINALITY AS t(d, n) ORDER BY n;

-- null, [] and {} yield to what else is seen.
SELECT d, kiln_infer(d::jsonb)
FROM unnest(ARRAY[
	'{"a": null}', '[null]', '[null, 1]', '[[], [1]]', '[[], null, [null, "x"]]', '[{}, {"a": 1}]', '[{}, {}]',
	'[{"a": {}}, {"a": {"b": 1}}]', '[{"a": []}, {"a": null}, {"a": [true]}]'
]) WITH ORDINALITY AS t(d, n) ORDER BY n;

-- Objects in a list merge; what some lack is optional.
SELECT kiln_infer('[{"a": 1, "b": "x"}, {"a": 2.5, "c": [{"d": 1}]}, {"a": 3, "b": null, "c": [{}, {"e": true}]}]');

-- A key that can't be a field's name makes a dict; so do two keys that are one name once normalised.
SELECT d, kiln_infer(d::jsonb)
FROM unnest(ARRAY[
	'{"": 1, "b": 2.5}', '{"$a": null, "b": [1]}', '{"a\nb": {"x": 1}, "c": {"x": null}}', '[{"a": 1}, {"": 2}]', '[{"": 2}, {"a": 1}, {}]',
	'{"\u00e9": 1, "e\u0301": 2}', '{"e\u0301": 1}', '{"a234567890123456789012345678901234567890123456789012345678901234": 1}'
]) WITH ORDINALITY AS t(d, n) ORDER BY n;
-- more keys than a struct has fields make one too
SELECT kiln_infer(jsonb_object_agg('k' || i, i)) FROM generate_series(1, 1601) AS i;
SELECT left(kiln_infer(jsonb_object_agg('k' || i, i)), 30) FROM generate_series(1, 1600) AS i;

-- Different kinds do not unify, and null alone is nothing.
SELECT d, attempt(format('SELECT kiln_infer(%L)', d))
FROM unnest(ARRAY[
	'null', '[1, "x"]', '[[], {}]', '{"a": [{"b": 1}, {"b": 2}, {"b": {"c": 1}}]}', '{"": 1, "a": "x"}', '[{"a": 1, "b": "x"}, {"": true}]',
	'{"x": {"$": [1], "y": ["a"]}}', '[true, 0]'
]) WITH ORDINALITY AS t(d, n) ORDER BY n;

-- Too deep for a definition.
SELECT attempt(format('SELECT kiln_infer(%L)', repeat('[', 32) || repeat(']', 32))) = repeat('[]', 0) || 'string' || repeat('[]', 32);
SELECT attempt(format('SELECT kiln_infer(%L)', repeat('[', 33) || repeat(']', 33)));

-- What is inferred takes the document, which comes back as it was (null = left out).
SELECT d, kiln_encode(kiln_infer(d::jsonb), d::jsonb)::jsonb = jsonb_strip_nulls(d::jsonb) AS same
FROM unnest(ARRAY[
	'{"b": true, "a": 1, "B": "x", "é": 1.5, "a b": [1]}', '[{"a": 1}, {"": 2}, {}]', '[0.1, 12345678901234567890, 1e400, -5]',
	'[{"a": 1, "b": "x"}, {"a": 2.5, "c": [{"d": 1}]}, {"a": 3, "b": null, "c": [{}, {"e": true}]}]', '{"a": {}, "b": [], "c": [[]]}',
	'{"n": 18446744073709551615, "\u00e9": 1}'
]) WITH ORDINALITY AS t(d, n) ORDER BY n;
