-- Tensors from lists in records, and from and to files of other systems.

CREATE SCHEMA tensor_file_test;
SET search_path = tensor_file_test, public;

-- A list of numbers, of any depth.
SELECT type, kiln_tensor(format('{"$kiln": "%s[]", "$value": [1,0]}', type)::kiln) ->> ''
FROM unnest('{i8,i16,i32,i64,u8,u16,u32,u64,f32,f64,numeric,i32?,f64?}'::text[]) type;
SELECT kiln_tensor('{"$kiln": "bool[]", "$value": [true,false]}'::kiln, 'flags');
SELECT kiln_register('tensor_series(id i64,samples f32[],matrix f64[][],words string[],gaps i16?[])');
SELECT kiln_tensor(v -> 'samples', 's', 'f16'), kiln_tensor(v -> 'matrix') FROM (SELECT kiln_encode('tensor_series', '{"id": 1, "samples": [0.5,1.5], "matrix": [[1,2],[3,4],[5,6]], "words": ["a"], "gaps": [1,null]}'::json) AS v) t;
SELECT l, kiln_tensor(l::kiln) ->> ''
FROM (VALUES ('{"$kiln": "i32[]", "$value": []}'), ('{"$kiln": "i32[][]", "$value": []}'), ('{"$kiln": "i32[][]", "$value": [[],[]]}'), ('{"$kiln": "u8[][][]?[]", "$value": [[[[1,2]],[[3,4]]]]}'),
	('{"$kiln": "numeric[]", "$value": [0.1, 9007199254740993]}')) t (l);
SELECT kiln_tensor('{"$kiln": "numeric[]", "$value": [18446744073709551615, 1.0]}'::kiln, dtype => 'u64'), kiln_tensor(NULL::kiln) IS NULL AS null;
SELECT l, attempt(format('SELECT kiln_tensor(%L::kiln)', l))
FROM (VALUES ('{"$kiln": "i32[][]", "$value": [[1],[2,3]]}'), ('{"$kiln": "i32?[]", "$value": [1,null]}'), ('{"$kiln": "i32[]?[]", "$value": [[1],null]}'), ('{"$kiln": "string[]", "$value": ["a"]}'),
	('{"$kiln": "i64", "$value": 1}'), ('{"$kiln": "t(a i64)", "a": 1}'), ('{"$kiln": "date[]", "$value": []}'), ('{"$kiln": "i8[][][][][][][][][]", "$value": []}'), ('{"$kiln": "tensors"}'),
	('{"$kiln": "numeric[]", "$value": [1e400]}')) t (l);
SELECT (v -> 'samples')::float4[], (v -> 'matrix')::float8[] FROM (SELECT kiln_encode('tensor_series', '{"id": 1, "samples": [0.5,1.5], "matrix": [[1,2],[3,4],[5,6]], "words": [], "gaps": []}'::json) AS v) t;

-- numpy's files. Both byte orders and both orders of axes: t[1,2] is 2. case 66
CREATE FUNCTION npy(header text, data text, major int DEFAULT 1) RETURNS bytea LANGUAGE sql AS $$
	SELECT '\x934e554d5059'::bytea || set_byte('\x00', 0, major) || '\x00'::bytea ||
		CASE WHEN major = 1 THEN set_byte(set_byte('\x0000', 0, length(header) % 256), 1, length(header) / 256) ELSE set_byte('\x00000000', 0, length(header)) END ||
		convert_to(header, 'UTF8') || decode(data, 'hex')
$$;
SELECT descr, kiln_from_npy(npy(format('{''descr'': ''%s'', ''fortran_order'': False, ''shape'': (2, 3), }' || E'    \n', descr), data)) ->> ''
FROM (VALUES ('<i2', '010002000300040005000600'), ('>i2', '000100020003000400050006'), ('|i1', '010203040506'), ('<u1', '010203040506'), ('|b1', '000100010001'), ('<f2', '003c00400042004400450046'),
	('>f4', '3f800000400000004040000040800000' || '40a0000040c00000'), ('<f8', '000000000000f03f0000000000000040000000000000084000000000000010400000000000001440' || '0000000000001840'),
	('>i4', '000000010000000200000003000000040000000500000006')) t (descr, data);
SELECT kiln_at(v, 1, 2), v ->> '' FROM kiln_from_npy(npy('{''descr'': ''|i1'', ''fortran_order'': True, ''shape'': (2, 3), }', '010402050306')) v;
SELECT kiln_from_npy(npy('{"shape":(2,1,2),"fortran_order":True,"descr":">i2"}', '0001000300020004', 2), 'x') ->> 'x', kiln_from_npy(npy('{''descr'': ''|u1'', ''fortran_order'': False, ''shape'': (3L,)}', '010203', 3)) ->> '',
	kiln_from_npy(npy('{''descr'': ''<f4'', ''fortran_order'': True, ''shape'': ()}', '0000803f')) ->> '', kiln_from_npy(npy('{''descr'': ''<f4'', ''fortran_order'': True, ''shape'': (2,0)}', '')) ->> '';
-- what is not supported is refused by its name
SELECT d, attempt(format('SELECT kiln_from_npy(tensor_file_test.npy(%L, ''''))', format('{''descr'': %s, ''fortran_order'': False, ''shape'': (1,)}', d)))
FROM unnest(ARRAY['''<c16''', '''|O''', '''<U3''', '''=f8''', '''<f16''', '''|i4''', '''<M8[s]''', '[(''a'', ''<i4'')]', '''''', '''<b1'', ''<b2''', '3']) d;
-- nothing of it is taken on trust. case 67
SELECT h, attempt(format('SELECT kiln_from_npy(tensor_file_test.npy(%L, %L))', h, d))
FROM (VALUES ('', ''), ('{', ''), ('{}', ''), ('{''descr'': ''<i2''}', ''), ('{''descr'': ''<i2'', ''descr'': ''<i2'', ''fortran_order'': True, ''shape'': ()}', '0100'),
	('{''descr'': ''<i2'', ''fortran_order'': 1, ''shape'': ()}', '0100'), ('{''descr'': ''<i2'', ''fortran_order'': True, ''shape'': (}', ''), ('{''descr'': ''<i2'', ''fortran_order'': True, ''shape'': (-1,)}', ''),
	('{''descr'': ''<i2'', ''fortran_order'': True, ''shape'': (1,), ''x'': 1}', '0100'), ('{''descr'': ''<i2'', ''fortran_order'': True, ''shape'': (1,)} x', '0100'), ('{''descr'': ''<i2', ''),
	('{''descr'': ''<i2'', ''fortran_order'': True, ''shape'': (2,)}', '0100'), ('{''descr'': ''<i2'', ''fortran_order'': True, ''shape'': (1,)}', '010001'), ('{''descr'': ''|b1'', ''fortran_order'': True, ''shape'': (1,)}', '02'),
	('{''descr'': ''<f8'', ''fortran_order'': True, ''shape'': (4294967296,4294967296)}', ''), ('{''descr'': ''<f8'', ''fortran_order'': True, ''shape'': (3,6148914691236517206)}', ''),
	('{''descr'': ''<f8'', ''fortran_order'': True, ''shape'': (99999999999999999999,)}', ''), ('{''descr'': ''<f8'', ''fortran_order'': True, ''shape'': (1,1,1,1,1,1,1,1,1)}', '')) t (h, d);
SELECT f, attempt(format('SELECT kiln_from_npy(%L)', f))
FROM unnest(ARRAY['\x', '\x934e554d5059', '\x934e554d50590100', '\x934e554d50590100ffff7b', '\x934e554d505902000000', '\x934e554d50590200ffffffff7b', '\x934e554d50590400ffffffff7b', '\x934e554d5059010001007b']::bytea[]) f;
SELECT convert_from(substr(kiln_to_npy(kiln_tensor('{{1,2},{3,4}}'::int4[], 'm')), 11, 70), 'UTF8'), length(kiln_to_npy(kiln_tensor('{{1,2},{3,4}}'::int4[], 'm'), 'm')), kiln_to_npy(kiln_tensor('{}'::bool[]));
SELECT bool_and(kiln_from_npy(kiln_to_npy(v)) = v) FROM (SELECT kiln_reshape(kiln_tensor('{1,0,1,1,0,1}'::int2[], dtype => d), s) AS v
	FROM unnest('{bool,i8,i16,i32,i64,u8,u16,u32,u64,f16,f32,f64}'::text[]) d, (VALUES ('{6}'::int8[]), ('{2,3}'), ('{1,6,1}'), ('{1,1,1,1,1,2,1,3}')) s (s)) t;
SELECT attempt($$SELECT kiln_to_npy(kiln_tensor('{1}'::int4[], dtype => 'bf16'))$$);

-- safetensors: whole directories.
CREATE FUNCTION safetensors(header text, data text, length bigint DEFAULT NULL) RETURNS bytea LANGUAGE sql AS $$
	SELECT (SELECT string_agg(set_byte('\x00', 0, (coalesce(length, octet_length(header)) >> (8 * i) & 255)::int), '' ORDER BY i) FROM generate_series(0, 7) i) || convert_to(header, 'UTF8') || decode(data, 'hex')
$$;
SELECT kiln_from_safetensors(safetensors('{"__metadata__":{"format":"pt"},"b":{"dtype":"F32","shape":[2],"data_offsets":[2,10]},"a":{"dtype":"I8","shape":[1,2],"data_offsets":[0,2]},"é\"":{"dtype":"BF16","shape":[],"data_offsets":[10,12]}}   ', '01020000803f00000040803f'));
SELECT kiln_from_safetensors(safetensors('{}', '')), kiln_from_safetensors(safetensors('{"a":{"shape":[0],"dtype":"F64","data_offsets":[0,0]},"b":{"shape":[2,0],"dtype":"BOOL","data_offsets":[0,0]}}', ''));
SELECT convert_from(substr(kiln_to_safetensors(v), 9, get_byte(kiln_to_safetensors(v), 0)), 'UTF8'), encode(substr(kiln_to_safetensors(v), 9 + get_byte(kiln_to_safetensors(v), 0)), 'hex') FROM (SELECT kiln_tensor('{1,2}'::int4[], 'b', 'i8') || kiln_tensor('{}'::float8[], 'a') || kiln_tensor('{16705}'::int2[], 'é"') AS v) t;
SELECT kiln_from_safetensors(kiln_to_safetensors(v)) = v AS same, kiln_to_safetensors(v) = kiln_to_safetensors(kiln_from_safetensors(kiln_to_safetensors(v))) AS stable
FROM (SELECT kiln_directory_agg(d || n, kiln_reshape(kiln_tensor(array_fill(1, ARRAY[n]), dtype => d), '{1,-1}')) AS v FROM unnest('{bool,i8,i16,i32,i64,u8,u16,u32,u64,f16,bf16,f32,f64}'::text[]) d, generate_series(1, 5) n) t;
SELECT kiln_to_safetensors('{"$kiln": "tensors"}');
SELECT attempt($$SELECT kiln_to_safetensors(kiln_tensor('{1}'::int4[], '__metadata__'))$$);
SELECT h, attempt(format('SELECT kiln_from_safetensors(tensor_file_test.safetensors(%L, %L))', h, d))
FROM (VALUES ('[]', ''), (' {}', ''), ('{', ''), ('{} x', ''), ('{}', '00'), ('{"a":1}', ''), ('{"a":{}}', ''), ('{"a":{"dtype":"F8_E4M3","shape":[1],"data_offsets":[0,1]}}', '00'), ('{"a":{"dtype":1,"shape":[1],"data_offsets":[0,1]}}', '00'),
	('{"a":{"dtype":"U8","shape":1,"data_offsets":[0,1]}}', '00'), ('{"a":{"dtype":"U8","shape":[-1],"data_offsets":[0,1]}}', '00'), ('{"a":{"dtype":"U8","shape":[1.5],"data_offsets":[0,1]}}', '00'), ('{"a":{"dtype":"U8","shape":["1"],"data_offsets":[0,1]}}', '00'),
	('{"a":{"dtype":"U8","shape":[1],"data_offsets":[0]}}', '00'), ('{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,2]}}', '00'), ('{"a":{"dtype":"U8","shape":[1],"data_offsets":[1,0]}}', '00'), ('{"a":{"dtype":"U8","shape":[2],"data_offsets":[0,1]}}', '00'),
	('{"a":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}}', '0000'), ('{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}', '0000'), ('{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"b":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}', '00'),
	('{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"a":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}}', '0000'), ('{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1],"x":1}}', '00'), ('{"a":{"dtype":"U8","dtype":"U8","shape":[1],"data_offsets":[0,1]}}', '00'),
	('{"a":{"dtype":"BOOL","shape":[1],"data_offsets":[0,1]}}', '02'), ('{"$a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}', '00'), ('{"' || repeat('a', 97) || '":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}', '00'), ('{"\u0000":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}', '00'),
	('{"__metadata__":{"a":1}}', ''), ('{"__metadata__":{},"__metadata__":{}}', ''), ('{"a":{"dtype":"F64","shape":[4294967296,4294967296],"data_offsets":[0,0]}}', ''), ('{"a":{"dtype":"F64","shape":[3,6148914691236517206],"data_offsets":[0,16]}}', '00000000000000000000000000000000'),
	('{"a":{"dtype":"U8","shape":[1,1,1,1,1,1,1,1,1],"data_offsets":[0,1]}}', '00'), ('{"a":{"dtype":"U8","shape":[[1]],"data_offsets":[0,1]}}', '00')) t (h, d);
SELECT n, attempt(format('SELECT kiln_from_safetensors(tensor_file_test.safetensors(''{}'', '''', %s))', n)) FROM unnest('{0,1,3,4294967280,9223372036854775807,-1}'::int8[]) n;
SELECT attempt($$SELECT kiln_from_safetensors('\x')$$), attempt($$SELECT kiln_from_safetensors('\x0200000000000000ff7d')$$);
SELECT attempt('SELECT kiln_from_safetensors(''\x0a000000000000007b22ff223a7b7d7d2020'')');
