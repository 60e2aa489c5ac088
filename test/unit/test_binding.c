/*
 * Bindings: payloads from C structs.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "kiln.h"
#include "random.h"

#define MESSAGE "message(a bool,b bool,x i32,y i32,id i64,score f64,s string,t string)"

typedef struct message
{
	bool		a;
	bool		b;
	int32_t		x;
	int32_t		y;
	int64_t		id;
	double		score;
	kiln_slice	s;
	kiln_slice	t;
} message;

static const kiln_member message_members[] = {
	{"a", offsetof(message, a)}, {"b", offsetof(message, b)}, {"x", offsetof(message, x)}, {"y", offsetof(message, y)},
	{"id", offsetof(message, id)}, {"score", offsetof(message, score)}, {"s", offsetof(message, s)},
	{"t", offsetof(message, t)}
};

static const message hello = {true, false, 1, -2, 42, 4.5, {"hello", 5}, {"world", 5}};

static const uint8_t hello_payload[44] =
	"\1\0\1\0\0\0\xfe\xff\xff\xff\x2a\0\0\0\0\0\0\0\0\0\0\0\0\0\x12\x40\5\0\0\0hello\5\0\0\0world";

static kiln_schema *
parse(const char *definition)
{
	kiln_schema *schema;
	kiln_error	error;

	if (!kiln_schema_parse(definition, strlen(definition), NULL, &schema, &error))
		fail_msg("%s: %s at %zu", definition, kiln_error_text(error.code), error.offset);
	return schema;
}

static kiln_binding *
bind_message(const kiln_schema *schema)
{
	kiln_binding *binding;

	assert_true(kiln_binding_compile(schema->root, message_members, 8, NULL, &binding, NULL));
	return binding;
}

static void
test_reference_message(void **state)
{
	kiln_schema *schema = parse(MESSAGE);
	kiln_binding *binding = bind_message(schema);
	uint8_t		buffer[100];
	kiln_writer writer;
	int			i;

	(void) state;
	kiln_writer_init(&writer, buffer, sizeof buffer);
	for (i = 0; i < 2; i++)
	{
		kiln_writer_reset(&writer);
		assert_true(kiln_binding_encode(binding, &hello, i == 1, &writer, NULL));
		assert_int_equal(kiln_writer_length(&writer), 44);
		assert_memory_equal(buffer, hello_payload, 44);
	}
	kiln_binding_free(binding);
	kiln_schema_free(schema);
}

/* Room for a value is asked for once, and missing room or a limit leaves the writer as it was. */
static void
test_room(void **state)
{
	kiln_schema *schema = parse(MESSAGE);
	kiln_binding *binding = bind_message(schema);
	uint8_t		buffer[100];
	kiln_writer writer;
	kiln_error	error;
	size_t		length;

	(void) state;
	kiln_writer_init(&writer, buffer, 43);
	assert_false(kiln_binding_encode(binding, &hello, true, &writer, &error));
	assert_int_equal(error.code, KILN_E_SIZE);
	assert_int_equal(kiln_writer_length(&writer), 0);
	kiln_writer_init(&writer, buffer, sizeof buffer);
	writer.limit = 43;
	assert_false(kiln_binding_encode(binding, &hello, true, &writer, &error));
	assert_int_equal(error.code, KILN_E_SIZE);
	writer.limit = 44;
	assert_true(kiln_binding_encode(binding, &hello, true, &writer, &error));
	assert_false(kiln_binding_encode(binding, &hello, true, &writer, &error));

	kiln_writer_init(&writer, NULL, 0);
	writer.grow = kiln_writer_grow_malloc;
	assert_true(kiln_binding_encode(binding, &hello, true, &writer, &error));
	assert_true(kiln_binding_encode(binding, &hello, true, &writer, &error));
	assert_int_equal(kiln_writer_length(&writer), 88);
	assert_memory_equal(writer.start + 44, hello_payload, 44);
	free(kiln_writer_detach(&writer, &length));
	kiln_binding_free(binding);
	kiln_schema_free(schema);
}

static void
test_strings_are_checked_if_asked(void **state)
{
	static const struct
	{
		kiln_slice	text;
		kiln_code	code;
	}			rows[] =
	{
		{{"", 0}, KILN_E_OK}, {{NULL, 0}, KILN_E_OK}, {{"\xc3\xa9", 2}, KILN_E_OK},
		{{"a long text, longer than any short one \xe2\x82\xac", 42}, KILN_E_OK},
		{{"\xff", 1}, KILN_E_UTF8}, {{"abcdefg\xff", 8}, KILN_E_UTF8},
		{{"abcd\0fgh", 8}, KILN_E_NUL}, {{"ab\0", 3}, KILN_E_NUL},
		{{"0123456789abcdef0123456789abcdef\xe2\x82", 34}, KILN_E_UTF8},
	};
	kiln_schema *schema = parse(MESSAGE);
	kiln_binding *binding = bind_message(schema);
	uint8_t		buffer[200];
	size_t		i;

	(void) state;
	for (i = 0; i < sizeof rows / sizeof rows[0]; i++)
	{
		message		m = hello;
		kiln_writer writer;
		kiln_error	error;
		bool		good;

		m.t = rows[i].text;
		kiln_writer_init(&writer, buffer, sizeof buffer);
		good = kiln_binding_encode(binding, &m, true, &writer, &error);
		assert_int_equal(good, rows[i].code == KILN_E_OK);
		if (good)
		{
			assert_true(kiln_validate(schema->root, buffer, kiln_writer_length(&writer), NULL, NULL));
			continue;
		}
		assert_int_equal(error.code, rows[i].code);
		assert_string_equal(error.path, "t");
		assert_int_equal(kiln_writer_length(&writer), 0);
		assert_true(kiln_binding_encode(binding, &m, false, &writer, &error));
	}
	kiln_binding_free(binding);
	kiln_schema_free(schema);
}

/* Every length of string, in memory of exactly that length, arrives whole and touches nothing else. */
static void
test_every_length(void **state)
{
	kiln_schema *schema = parse("(s string,b bytes)");
	const kiln_member members[] = {{"s", 0}, {"b", sizeof(kiln_slice)}};
	kiln_binding *binding;
	uint32_t	n;
	uint32_t	i;

	(void) state;
	assert_true(kiln_binding_compile(schema->root, members, 2, NULL, &binding, NULL));
	for (n = 0; n < 70; n++)
	{
		uint8_t    *text = malloc(n + 1);
		kiln_slice	slices[2] = {{text + 1, n}, {text + 1, n}};
		uint8_t    *out = malloc(8 + 2 * n);
		kiln_writer writer;

		for (i = 0; i <= n; i++)
			text[i] = (uint8_t) ('A' + i % 50);
		kiln_writer_init(&writer, out, 8 + 2 * n);
		assert_true(kiln_binding_encode(binding, slices, true, &writer, NULL));
		assert_int_equal(kiln_load_u32(out), n);
		assert_int_equal(kiln_load_u32(out + 4 + n), n);
		if (n > 0)
		{
			assert_memory_equal(out + 4, text + 1, n);
			assert_memory_equal(out + 8 + n, text + 1, n);
		}
		free(out);
		free(text);
	}
	kiln_binding_free(binding);
	kiln_schema_free(schema);
}

/* All types that can be bound, in an order of memory that is not the payload's. */
typedef struct everything
{
	kiln_slice	bytes;
	uint64_t	u64;
	uint8_t		uuid[16];
	uint8_t		u8;
	int16_t		i16;
	int8_t		i8;
	float		f32;
	int64_t		timestamptz;
	uint32_t	u32;
	int32_t		date;
	uint16_t	u16;
	bool		yes;
	int64_t		timestamp;
} everything;

static const kiln_member everything_members[] = {
	{"bytes", offsetof(everything, bytes)}, {"u64", offsetof(everything, u64)}, {"uuid", offsetof(everything, uuid)},
	{"u8", offsetof(everything, u8)}, {"i16", offsetof(everything, i16)}, {"i8", offsetof(everything, i8)},
	{"f32", offsetof(everything, f32)}, {"timestamptz", offsetof(everything, timestamptz)},
	{"u32", offsetof(everything, u32)}, {"date", offsetof(everything, date)}, {"u16", offsetof(everything, u16)},
	{"yes", offsetof(everything, yes)}, {"timestamp", offsetof(everything, timestamp)}
};

#define EVERYTHING "(yes bool,i8 i8,u8 u8,i16 i16,u16 u16,bytes bytes,u32 u32,f32 f32,date date,u64 u64," \
	"timestamp timestamp,uuid uuid,timestamptz timestamptz)"

static void
test_every_type(void **state)
{
	static const uint8_t expected[] =
		"\1\xff\xfe\xfd\xff\xfc\xff\3\0\0\0\0\1\2\xfb\xff\xff\xff\0\0\x80\x3f\5\0\0\0\xfa\xff\xff\xff\xff\xff\xff\xff"
		"\6\0\0\0\0\0\0\0uuuuuuuuuuuuuuuu\xff\xff\xff\xff\xff\xff\xff\x7f";
	kiln_schema *schema = parse(EVERYTHING);
	everything	e;
	kiln_binding *binding;
	kiln_writer writer;
	kiln_error	error;
	uint8_t		buffer[sizeof expected];

	(void) state;
	memset(&e, 0xcc, sizeof e);	/* padding that must not leak */
	e.yes = true;
	e.i8 = -1;
	e.u8 = 0xfe;
	e.i16 = -3;
	e.u16 = 0xfffc;
	e.bytes = (kiln_slice) {"\0\1\2", 3};
	e.u32 = 0xfffffffb;
	e.f32 = 1.0f;
	e.date = 5;
	e.u64 = UINT64_MAX - 5;
	e.timestamp = 6;
	memset(e.uuid, 'u', 16);
	e.timestamptz = INT64_MAX;
	assert_true(kiln_binding_compile(schema->root, everything_members, 13, NULL, &binding, NULL));
	kiln_writer_init(&writer, buffer, sizeof buffer);
	assert_true(kiln_binding_encode(binding, &e, true, &writer, NULL));
	assert_int_equal(kiln_writer_length(&writer), sizeof expected - 1);
	assert_memory_equal(buffer, expected, sizeof expected - 1);
	assert_true(kiln_validate(schema->root, buffer, sizeof expected - 1, NULL, NULL));

	/* dates and timestamps are checked always */
	kiln_writer_reset(&writer);
	e.date = INT32_MAX - 1;
	assert_false(kiln_binding_encode(binding, &e, false, &writer, &error));
	assert_int_equal(error.code, KILN_E_DATE);
	assert_string_equal(error.path, "date");
	e.date = INT32_MAX;
	e.timestamptz = INT64_MAX - 1;
	assert_false(kiln_binding_encode(binding, &e, false, &writer, &error));
	assert_int_equal(error.code, KILN_E_TIMESTAMP);
	assert_string_equal(error.path, "timestamptz");
	assert_int_equal(kiln_writer_length(&writer), 0);
	kiln_binding_free(binding);
	kiln_schema_free(schema);
}

/* Layouts at random: fields of random widths at random, unaligned or adjoining places, read byte for byte. */
static void
test_random_layouts(void **state)
{
	static const struct
	{
		const char *word;
		uint32_t	width;
	}			types[] = {{"u8", 1}, {"u16", 2}, {"u32", 4}, {"u64", 8}, {"uuid", 16}, {"f32", 4}, {"f64", 8}};
	test_random r = {11};
	int			turn;

	(void) state;
	for (turn = 0; turn < 2000; turn++)
	{
		uint32_t	n = 1 + test_random_below(&r, 12);
		char		names[12][16];
		kiln_member members[12];
		test_bytes	text = {0};
		uint8_t		object[12 * 20];
		uint8_t		expected[12 * 16];
		uint8_t		out[12 * 16];
		size_t		at = 0;
		size_t		length = 0;
		kiln_schema *schema;
		kiln_binding *binding;
		kiln_writer writer;
		uint32_t	i;

		for (i = 0; i < sizeof object; i++)
			object[i] = (uint8_t) test_random_next(&r);
		test_bytes_text(&text, "(");
		for (i = 0; i < n; i++)
		{
			uint32_t	t = test_random_below(&r, 7);

			at += test_random_once(&r, 3) ? test_random_below(&r, 5) : 0;
			snprintf(names[i], sizeof names[i], "f%u", (unsigned) i);
			members[i] = (kiln_member) {names[i], at};
			test_bytes_text(&text, names[i]);
			test_bytes_text(&text, " ");
			test_bytes_text(&text, types[t].word);
			test_bytes_text(&text, i + 1 < n ? "," : ")");
			memcpy(expected + length, object + at, types[t].width);
			at += types[t].width;
			length += types[t].width;
		}
		test_bytes_u8(&text, 0);
		schema = parse((const char *) text.data);
		assert_true(kiln_binding_compile(schema->root, members, n, NULL, &binding, NULL));
		kiln_writer_init(&writer, out, length);
		assert_true(kiln_binding_encode(binding, object, true, &writer, NULL));
		assert_int_equal(kiln_writer_length(&writer), length);
#if !defined(__BYTE_ORDER__) || __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
		assert_memory_equal(out, expected, length);
#endif
		kiln_binding_free(binding);
		kiln_schema_free(schema);
		test_bytes_free(&text);
	}
}

static void
test_compile_refuses(void **state)
{
	static const kiln_member two[] = {{"a", 0}, {"b", 8}};
	static const kiln_member twice[] = {{"a", 0}, {"a", 8}};
	static const kiln_member unknown[] = {{"a", 0}, {"z", 8}};
	static const struct
	{
		const char *definition;
		const kiln_member *members;
		size_t		count;
		kiln_code	code;
		const char *path;
	}			rows[] =
	{
		{"i32", two, 2, KILN_E_TYPE, ""},
		{"(a i32,b i32)[]", two, 2, KILN_E_TYPE, ""},
		{"(a i32,b i32)", two, 1, KILN_E_MISSING, "b"},
		{"(a i32,b i32)", NULL, 0, KILN_E_MISSING, "a"},
		{"(a i32,b i32)", twice, 2, KILN_E_TYPE, "a"},
		{"(a i32,b i32)", unknown, 2, KILN_E_PATH_FIELD, "z"},
		{"(a i32,b i32?)", two, 2, KILN_E_TYPE, "b"},
		{"(a i32,b i32[])", two, 2, KILN_E_TYPE, "b"},
		{"(a i32,b dict<i32>)", two, 2, KILN_E_TYPE, "b"},
		{"(a i32,b (c i32))", two, 2, KILN_E_TYPE, "b"},
		{"(a i32,b numeric)", two, 2, KILN_E_TYPE, "b"},
		{"(a i32,b json)", two, 2, KILN_E_TYPE, "b"},
		{"(a i32,b enum('x'))", two, 2, KILN_E_TYPE, "b"},
	};
	size_t		i;

	(void) state;
	for (i = 0; i < sizeof rows / sizeof rows[0]; i++)
	{
		kiln_schema *schema = parse(rows[i].definition);
		kiln_binding *binding;
		kiln_error	error;

		assert_false(kiln_binding_compile(schema->root, rows[i].members, rows[i].count, NULL, &binding, &error));
		assert_int_equal(error.code, rows[i].code);
		assert_string_equal(error.path, rows[i].path);
		kiln_schema_free(schema);
	}
	kiln_binding_free(NULL);
}

/* ------------------------------------------------------------------ memory */

static int	blocks;

static void *
counted_allocate(void *context, size_t size)
{
	if (context != NULL)
		return NULL;
	blocks++;
	return malloc(size);
}

static void
counted_release(void *context, void *memory)
{
	(void) context;
	blocks--;
	free(memory);
}

static void
test_allocator(void **state)
{
	kiln_allocator counted = {counted_allocate, counted_release, NULL};
	kiln_allocator none = {counted_allocate, counted_release, &blocks};
	kiln_schema *schema = parse(MESSAGE);
	kiln_binding *binding;
	kiln_error	error;

	(void) state;
	assert_true(kiln_binding_compile(schema->root, message_members, 8, &counted, &binding, NULL));
	assert_int_equal(blocks, 1);
	kiln_binding_free(binding);
	assert_int_equal(blocks, 0);
	assert_false(kiln_binding_compile(schema->root, message_members, 7, &counted, &binding, NULL));
	assert_int_equal(blocks, 0);
	assert_false(kiln_binding_compile(schema->root, message_members, 8, &none, &binding, &error));
	assert_int_equal(error.code, KILN_E_MEMORY);
	kiln_schema_free(schema);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_reference_message),
		cmocka_unit_test(test_room),
		cmocka_unit_test(test_strings_are_checked_if_asked),
		cmocka_unit_test(test_every_length),
		cmocka_unit_test(test_every_type),
		cmocka_unit_test(test_random_layouts),
		cmocka_unit_test(test_compile_refuses),
		cmocka_unit_test(test_allocator),
	};

	return cmocka_run_group_tests_name("binding", tests, NULL, NULL);
}
