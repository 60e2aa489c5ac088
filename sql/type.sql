-- The type: frames, binary doors, storage. Text is text.sql's subject.

-- The reference message: a frame of 53 bytes, of which 44 are payload.
CREATE TABLE type_message (m kiln(message));
INSERT INTO type_message VALUES
	('{"a": true, "b": false, "x": 1, "y": -2, "id": 42, "score": 4.5, "s": "hello", "t": "world"}');
SELECT m, octet_length(kiln_frame(m)) AS bytes, hex(m) FROM type_message;
SELECT typstorage, typlen, typalign FROM pg_type WHERE oid = 'kiln'::regtype;
SELECT attstorage FROM pg_attribute WHERE attrelid = 'type_message'::regclass AND attname = 'm';

-- What a value says of itself
SELECT kiln_schema(m), kiln_version(m), kiln_hash(m), kiln_definition(m), kiln_is(m, 'message'), kiln_is(m, 'other'),
	kiln_verify(m)
FROM type_message;
SELECT kiln_schema(v), kiln_version(v), kiln_hash(v), kiln_definition(v), kiln_is(v, 'message'), kiln_verify(v)
FROM (VALUES ('42'::kiln), ('{"$kiln": "p(a i32)", "a": 1}'), ('{"$kiln": "tensors"}')) AS t (v);
SELECT kiln_is('{"$kiln": "tensors"}', 'tensor');

-- The binary door takes what it gives. case 20
SELECT kiln_from_frame(kiln_frame(m)) = m, kiln_frame(kiln_from_frame(kiln_frame(m))) = kiln_frame(m) FROM type_message;

-- Each single wrong byte in the head, each cut and each addition is refused. case 22
SELECT kind, count(*) AS tried, count(*) FILTER (WHERE answer LIKE '22P03%' OR answer LIKE '22021%') AS refused
FROM type_message,
	LATERAL (
		SELECT 'cut' AS kind, attempt(format('SELECT kiln_from_frame(%L)', substr(kiln_frame(m), 1, n))) AS answer
		FROM generate_series(0, octet_length(kiln_frame(m)) - 1) AS n
		UNION ALL
		SELECT 'padded', attempt(format('SELECT kiln_from_frame(%L)', kiln_frame(m) || tail))
		FROM (VALUES ('\x00'::bytea), ('\xff'), (kiln_frame(m))) AS tails (tail)
		UNION ALL
		SELECT 'bools', attempt(format('SELECT kiln_from_frame(%L)', set_byte(set_byte(kiln_frame(m), 9, b), 10, 2)))
		FROM generate_series(0, 255, 51) AS b
	) AS tries
GROUP BY kind ORDER BY kind;
SELECT attempt(format('SELECT kiln_from_frame(%L)', set_byte(kiln_frame(m), 9, 2))),
	attempt(format('SELECT kiln_from_frame(%L)', set_byte(kiln_frame(m), 35, 255)))
FROM type_message;
SELECT frame, attempt(format('SELECT kiln_from_frame(%L)', frame))
FROM unnest(ARRAY['\x', '\x10', '\x11', '\x1100', '\x15aa', '\x2011223344556677889900', '\x12', '\x1200000000',
	'\x120300000069363400', '\x12030000006936340000000000000000ff', '\x1203000000493634', '\x130000', '\x13010000',
	'\x13000000', '\x140011']::text[]) AS frame;

-- Counts and lengths that lie ask for no memory. case 24
SELECT attempt(format('SELECT kiln_from_frame(%L)', '\x1205000000' || encode('f64[]', 'hex') || c || repeat('00', 20)))
FROM unnest(ARRAY['01000020', '00000040', 'ffffffff']) AS c;
SELECT attempt(format('SELECT kiln_from_frame(%L)', '\x1206000000' || encode('string', 'hex') || 'fcffffff' || '61'));

-- Bad UTF-8 and NUL are refused in strings and dict keys, kept in bytes. case 9, case 12
SELECT bad, left(attempt(format('SELECT kiln_from_frame(%L)', '\x1206000000' || encode('string', 'hex') ||
	to_char(length(bad) / 2, 'FM00') || '000000' || bad)), 60) AS string,
	left(attempt(format('SELECT kiln_from_frame(%L)', '\x120a000000' || encode('dict<bool>', 'hex') || '01000000' ||
	to_char(length(bad) / 2, 'FM00') || '000000' || bad || '01')), 60) AS key,
	attempt(format('SELECT kiln_from_frame(%L)::bytea', '\x1205000000' || encode('bytes', 'hex') ||
	to_char(length(bad) / 2, 'FM00') || '000000' || bad)) AS bytes
FROM unnest(ARRAY['f08080', 'c080', 'eda080', 'f4908080', 'ff', '61e282', '610062']) AS bad;

-- An unregistered hash is kept unverified, and says so; once registered it is verified when it passes a door again.
CREATE TABLE type_unverified (v kiln);
INSERT INTO type_unverified SELECT kiln_from_frame('\x11' || substr(h, 1) || '\x07000000')
FROM (SELECT decode('1f' || 'e1d2c3b4a59687', 'hex') AS h) AS t;
SELECT v, kiln_verify(v), attempt(format('SELECT kiln_get(%L::kiln, %L)', v, 'x')) FROM type_unverified;

-- Storage: the same answers however a value is stored. case 40
CREATE TABLE type_storage (c "char", v kiln);
SELECT setseed(0.5);
CREATE TABLE type_sizes AS
SELECT n, kiln_encode('(i i32, s string, j i64, l string[], k i32)', format('{"i": 7, "s": "%s", "j": 8, "l": ["%s", "x"], "k": 9}',
	repeat('s', n), repeat('l', n / 2))) AS v
FROM (SELECT generate_series(1, 20) UNION SELECT generate_series(50, 60) UNION SELECT generate_series(1260, 1300, 7)
	UNION SELECT generate_series(5300, 5400, 17) UNION VALUES (20000), (300000)) AS sizes (n);
DO $$
DECLARE
	storage text;
	wrong int;
BEGIN
	FOREACH storage IN ARRAY ARRAY['plain', 'main', 'external', 'extended'] LOOP
		TRUNCATE type_storage;
		EXECUTE format('ALTER TABLE type_storage ALTER v SET STORAGE %s', storage);
		INSERT INTO type_storage SELECT 'x', v FROM type_sizes WHERE storage <> 'plain' OR n < 3000;
		SELECT count(*) INTO wrong FROM type_storage AS s WHERE NOT EXISTS (
			SELECT FROM type_sizes AS t
			WHERE t.v = s.v AND t.v::text = s.v::text AND kiln_hash_value(t.v) = kiln_hash_value(s.v)
				AND kiln_get_int4(s.v, 'i') = 7 AND kiln_get_int8(s.v, 'j') = 8 AND kiln_get_int4(s.v, 'k') = 9
				AND kiln_get(s.v, 's') = repeat('s', t.n) AND kiln_get(s.v, 'l[0]') = repeat('l', t.n / 2)
				AND s.v->'l'->>1 = 'x' AND kiln_get(s.v, 'l[-1]') = 'x' AND kiln_get(s.v, 'l[2]') IS NULL
				AND s.v::jsonb = t.v::jsonb);
		RAISE NOTICE '% values stored %, % differ', (SELECT count(*) FROM type_storage), storage, wrong;
	END LOOP;
END $$;
