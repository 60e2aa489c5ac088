/*
 * Encoder: payloads from a source of literal values, every way to fail with its code and path, the payload vectors
 * decoded and encoded again, and C structs.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "json_check.h"
#include "jsonl.h"
#include "kiln.h"
#include "literal_source.h"
#include "payload_source.h"

/* ------------------------------------------------------------------ helpers */

static kiln_schema *
parse(const char *definition)
{
	kiln_parse_options options = {.json = &json_checker};
	kiln_schema *schema;
	kiln_error	error;

	if (!kiln_schema_parse(definition, strlen(definition), &options, &schema, &error))
		fail_msg("%s: %s at %zu", definition, kiln_error_text(error.code), error.offset);
	return schema;
}

static void
init_growing(kiln_writer *writer)
{
	kiln_writer_init(writer, NULL, 0);
	writer->grow = kiln_writer_grow_malloc;
}

/* The value encodes to these bytes, which validate. */
static void
expect_bytes(const char *definition, const value *v, const void *bytes, size_t n)
{
	kiln_schema *schema = parse(definition);
	kiln_writer writer;
	kiln_error	error;
	uint8_t    *payload;
	size_t		length;

	init_growing(&writer);
	if (!kiln_encode(schema->root, &literal_source, (kiln_node) {v, 0}, &writer, &error))
		fail_msg("%s: %s at \"%s\"", definition, kiln_error_text(error.code), error.path);
	assert_true(kiln_validate(schema->root, writer.start, kiln_writer_length(&writer), &json_checker, NULL));
	payload = kiln_writer_detach(&writer, &length);
	assert_int_equal(length, n);
	assert_memory_equal(payload, bytes, n);
	free(payload);
	kiln_schema_free(schema);
}

#define EXPECT(definition, literal, bytes) \
	do { \
		const value one = literal; \
		expect_bytes(definition, &one, bytes, sizeof(bytes) - 1); \
	} while (0)

/* The value is refused with that code and path, and what stood in the writer before still does. */
static void
expect_error(const char *definition, const value *v, kiln_code code, const char *path)
{
	kiln_schema *schema = parse(definition);
	kiln_writer writer;
	kiln_error	error;
	size_t		length;

	init_growing(&writer);
	assert_true(kiln_writer_reserve(&writer, 6));
	kiln_writer_bytes(&writer, "before", 6);
	if (kiln_encode(schema->root, &literal_source, (kiln_node) {v, 0}, &writer, &error))
		fail_msg("%s: accepted, not refused for %s at \"%s\"", definition, kiln_error_text(code), path);
	if (error.code != code || strcmp(error.path, path) != 0)
		fail_msg("%s: %s (%s) at \"%s\"", definition, kiln_error_text(error.code), error.detail, error.path);
	assert_false(kiln_encode(schema->root, &literal_source, (kiln_node) {v, 0}, &writer, NULL));
	assert_int_equal(kiln_writer_length(&writer), 6);
	assert_memory_equal(writer.start, "before", 6);
	free(kiln_writer_detach(&writer, &length));
	kiln_schema_free(schema);
}

#define REFUSE(definition, literal, code, path) \
	do { \
		const value one = literal; \
		expect_error(definition, &one, code, path); \
	} while (0)

/* ------------------------------------------------------------------ values */

static void
test_scalars(void **state)
{
	(void) state;
	EXPECT("bool", BOOL(true), "\1");
	EXPECT("i8", INT(-128), "\x80");
	EXPECT("i16", INT(-2), "\xfe\xff");
	EXPECT("i32", INT(INT32_MIN), "\0\0\0\x80");
	EXPECT("i64", INT(INT64_MIN), "\0\0\0\0\0\0\0\x80");
	EXPECT("u8", UINT(255), "\xff");
	EXPECT("u16", UINT(65535), "\xff\xff");
	EXPECT("u32", UINT(UINT32_MAX), "\xff\xff\xff\xff");
	EXPECT("u64", UINT(UINT64_MAX), "\xff\xff\xff\xff\xff\xff\xff\xff");
	EXPECT("f32", F32(1.0f), "\0\0\x80\x3f");
	EXPECT("f64", F64(-0.0), "\0\0\0\0\0\0\0\x80");
	EXPECT("string", TEXT("\xc3\xa9"), "\2\0\0\0\xc3\xa9");
	EXPECT("string", TEXT(""), "\0\0\0\0");
	EXPECT("bytes", TEXT("\0\xff"), "\2\0\0\0\0\xff");
	EXPECT("uuid", TEXT("0123456789abcdef"), "0123456789abcdef");
	EXPECT("date", INT(1), "\1\0\0\0");
	EXPECT("date", INT(INT32_MAX), "\xff\xff\xff\x7f");
	EXPECT("timestamp", INT(-1), "\xff\xff\xff\xff\xff\xff\xff\xff");
	EXPECT("timestamptz", INT(INT64_MAX), "\xff\xff\xff\xff\xff\xff\xff\x7f");
	EXPECT("numeric", TEXT("-1.50"), "\5\0\0\0-1.50");
	EXPECT("json", TEXT("[1, 2]"), "\6\0\0\0[1, 2]");
	EXPECT("json", TEXT("null"), "\4\0\0\0null");
	EXPECT("enum('x','y')", UINT(1), "\1\0");
}

static void
test_scalars_out_of_range(void **state)
{
	(void) state;
	REFUSE("i8", INT(128), KILN_E_RANGE, "");
	REFUSE("i8", INT(-129), KILN_E_RANGE, "");
	REFUSE("i16", INT(32768), KILN_E_RANGE, "");
	REFUSE("i32", INT(INT64_C(2147483648)), KILN_E_RANGE, "");
	REFUSE("u8", UINT(256), KILN_E_RANGE, "");
	REFUSE("u16", UINT(65536), KILN_E_RANGE, "");
	REFUSE("u32", UINT(UINT64_C(4294967296)), KILN_E_RANGE, "");
	REFUSE("enum('x','y')", UINT(2), KILN_E_ENUM, "");
	REFUSE("enum('x','y')", UINT(65536), KILN_E_ENUM, "");
	REFUSE("date", INT(-2451546), KILN_E_DATE, "");
	REFUSE("date", INT(2145031949), KILN_E_DATE, "");
	REFUSE("date", INT(INT64_C(4294967296)), KILN_E_DATE, "");
	REFUSE("timestamp", INT(INT64_C(9223371331200000000)), KILN_E_TIMESTAMP, "");
	REFUSE("timestamptz", INT(INT64_C(-211813488000000001)), KILN_E_TIMESTAMP, "");
	REFUSE("string", TEXT("a\xff"), KILN_E_UTF8, "");
	REFUSE("string", TEXT("a\0b"), KILN_E_NUL, "");
	REFUSE("numeric", TEXT("1e3"), KILN_E_NUMERIC, "");
	REFUSE("numeric", TEXT(""), KILN_E_NUMERIC, "");
	REFUSE("json", TEXT(""), KILN_E_JSON, "");
	REFUSE("json", TEXT(" 1"), KILN_E_JSON, "");
	REFUSE("json", TEXT("1\n"), KILN_E_JSON, "");
	REFUSE("json", TEXT("{"), KILN_E_JSON, "");
	REFUSE("json", TEXT("\"\xff\""), KILN_E_UTF8, "");
	REFUSE("json", TEXT("\"\0\""), KILN_E_NUL, "");
	REFUSE("i32", EMPTY, KILN_E_TYPE, "");
}

static void
test_structs(void **state)
{
	(void) state;
	EXPECT("message(a bool,b bool,x i32,y i32,id i64,score f64,s string,t string)",
		   NODE(BOOL(true), BOOL(false), INT(1), INT(-2), INT(42), F64(4.5), TEXT("hello"), TEXT("world")),
		   "\1\0\1\0\0\0\xfe\xff\xff\xff\x2a\0\0\0\0\0\0\0\0\0\0\0\0\0\x12\x40\5\0\0\0hello\5\0\0\0world");
	EXPECT("(a i8,b (c i8?,d string)?,e (f i8),g i8?)",
		   NODE(INT(1), NODE(NULL_, TEXT("x")), NODE(INT(3)), INT(4)), "\1\1\0\1\0\0\0x\3\1\4");
	EXPECT("(a i8,b (c i8?,d string)?,e (f i8),g i8?)",
		   NODE(INT(1), NULL_, NODE(INT(3)), MISSING), "\1\0\3\0");
	REFUSE("(a i8,b (c i8?,d string)?)", NODE(INT(1), NODE(NULL_, NULL_)), KILN_E_NULL, "b.d");
	REFUSE("(a i8,b (c i8?,d string)?)", NODE(INT(1), NODE(NULL_, MISSING)), KILN_E_MISSING, "b.d");
	REFUSE("(a i8,b i16)", NODE(INT(1), BROKEN), KILN_E_TYPE, "b");
	REFUSE("(a i8,b i16[])", NODE(INT(1), BROKEN), KILN_E_TYPE, "b");
	REFUSE("(a i8,\"b.c\" i16)", NODE(INT(1), INT(40000)), KILN_E_RANGE, "\"b.c\"");
	REFUSE("(a (b (c i8)))", NODE(NODE(NODE(INT(1000)))), KILN_E_RANGE, "a.b.c");
	REFUSE("(a (b i8))", NODE(NULL_), KILN_E_NULL, "a");
	REFUSE("(a (b i8))", NODE(MISSING), KILN_E_MISSING, "a");
}

static void
test_defaults(void **state)
{
	(void) state;
	EXPECT("(a i32=7,b string='x',c i8[]=x'020000000102',d enum('p','q')='q',e i8)",
		   NODE(MISSING, MISSING, MISSING, MISSING, INT(1)), "\7\0\0\0\1\0\0\0x\2\0\0\0\1\2\1\0\1");
	EXPECT("(a i32=7,b i8)", NODE(INT(8), INT(1)), "\10\0\0\0\1");
	REFUSE("(a i32=7)", NODE(NULL_), KILN_E_NULL, "a");
	REFUSE("(a i8[]=x'00000000')", NODE(NULL_), KILN_E_NULL, "a");
}

/* null in an optional json value is absent, however the source puts it. */
static void
test_optional_json(void **state)
{
	(void) state;
	EXPECT("(a json?)", NODE(TEXT("null")), "\0");
	EXPECT("(a json?)", NODE(NULL_), "\0");
	EXPECT("(a json?)", NODE(TEXT("[null]")), "\1\6\0\0\0[null]");
	EXPECT("json?[]", NODE(TEXT("null"), TEXT("1"), NULL_), "\3\0\0\0\0\1\1\0\0\0" "1\0");
	EXPECT("dict<json?>", NODE(KEY("k", TEXT("null"))), "\1\0\0\0\1\0\0\0k\0");
}

static void
test_lists(void **state)
{
	(void) state;
	EXPECT("i16[]", EMPTY, "\0\0\0\0");
	EXPECT("i16[]", NODE(INT(1), INT(-1)), "\2\0\0\0\1\0\xff\xff");
	EXPECT("i16[]", TEXT("\1\0\xff\xff"), "\2\0\0\0\1\0\xff\xff");
	EXPECT("i16[]", TEXT(""), "\0\0\0\0");
	EXPECT("i16?[]", NODE(INT(1), NULL_), "\2\0\0\0\1\1\0\0");
	EXPECT("string[]", NODE(TEXT("a"), TEXT("")), "\2\0\0\0\1\0\0\0a\0\0\0\0");
	EXPECT("i8[][]", NODE(NODE(INT(1)), EMPTY), "\2\0\0\0\1\0\0\0\1\0\0\0\0");
	EXPECT("(a i8)[]", NODE(NODE(INT(1)), NODE(INT(2))), "\2\0\0\0\1\2");
	REFUSE("i16[]", NODE(INT(1), NULL_), KILN_E_NULL, "[1]");
	REFUSE("i16[]", NODE(INT(1), MISSING), KILN_E_NULL, "[1]");
	REFUSE("i16[]", NODE(INT(1), INT(40000)), KILN_E_RANGE, "[1]");
	REFUSE("i16[]", NODE(BROKEN), KILN_E_TYPE, "[0]");
	REFUSE("string[]", NODE(TEXT("a"), TEXT("\xff")), KILN_E_UTF8, "[1]");
	REFUSE("string[]", NODE(TEXT("a"), NULL_), KILN_E_NULL, "[1]");
	REFUSE("(a string[])[]", NODE(NODE(EMPTY), NODE(NODE(TEXT(""), TEXT("\0")))), KILN_E_NUL, "[1].a[1]");
	REFUSE("i16[]", INT(3), KILN_E_TYPE, "");
}

static void
test_dicts(void **state)
{
	(void) state;
	EXPECT("dict<i8>", EMPTY, "\0\0\0\0");
	EXPECT("dict<i8>",
		   NODE(KEY("", INT(1)), KEY("a", INT(2)), KEY("ab", INT(3)), KEY("b", INT(4)), KEY("\xc3\xa9", INT(5))),
		   "\5\0\0\0" "\0\0\0\0\1" "\1\0\0\0a\2" "\2\0\0\0ab\3" "\1\0\0\0b\4" "\2\0\0\0\xc3\xa9\5");
	REFUSE("dict<i8>", NODE(KEY("b", INT(1)), KEY("a", INT(2))), KILN_E_KEY, "");
	REFUSE("(d dict<i8>)", NODE(NODE(KEY("a", INT(1)), KEY("a", INT(2)))), KILN_E_KEY, "d");
	REFUSE("dict<i8>", NODE(KEY("ab", INT(1)), KEY("a", INT(2))), KILN_E_KEY, "");
	REFUSE("dict<i8>", NODE(KEY("\xc3\xa9", INT(1)), KEY("z", INT(2))), KILN_E_KEY, "");
	REFUSE("dict<i8>", NODE(KEY("\xff", INT(1))), KILN_E_UTF8, "");
	REFUSE("dict<i8>", NODE(KEY("a\0", INT(1))), KILN_E_NUL, "");
	REFUSE("dict<i8>", NODE(KEY("a", INT(1000))), KILN_E_RANGE, "a");
	REFUSE("dict<i8>", NODE(KEY("a.b", NULL_)), KILN_E_NULL, "\"a.b\"");
	REFUSE("dict<i8>", NODE(KEY("a", MISSING)), KILN_E_NULL, "a");
	REFUSE("dict<i8[]>", NODE(KEY("a", NODE(INT(1), INT(1000)))), KILN_E_RANGE, "a[1]");
}

/* ------------------------------------------------------------------ sizes */

/* Counts that no payload can have, or that the limit does not allow, fail before an element is asked for. */
static void
test_counts_too_large(void **state)
{
	kiln_schema *schema = parse("i64[]");
	const value claim = UINT(UINT64_C(1) << 31);
	kiln_writer writer;
	kiln_error	error;

	(void) state;
	REFUSE("i8[]", UINT(UINT64_C(1) << 32), KILN_E_SIZE, "");
	REFUSE("string[]", UINT(UINT64_MAX), KILN_E_SIZE, "");
	REFUSE("dict<i8>", UINT(UINT64_C(1) << 32), KILN_E_SIZE, "");

	init_growing(&writer);
	writer.limit = 700000000;
	assert_false(kiln_encode(schema->root, &literal_source, (kiln_node) {&claim, 0}, &writer, &error));
	assert_int_equal(error.code, KILN_E_SIZE);
	assert_null(writer.start);
	kiln_schema_free(schema);
}

/* A span of 2^32 bytes: nobody reads them. */
static void
test_span_too_long(void **state)
{
#if SIZE_MAX > UINT32_MAX
	const value v = {V_TEXT, {.span = {"", (size_t) UINT32_MAX + 1}}, NULL, 0, NULL};

	expect_error("string", &v, KILN_E_SIZE, "");
	expect_error("bytes", &v, KILN_E_SIZE, "");
	expect_error("json", &v, KILN_E_SIZE, "");
#endif
	(void) state;
}

/* The limit holds even in a buffer with more room. */
static void
test_limit(void **state)
{
	kiln_schema *schema = parse("(a i32,s string)");
	const value v = NODE(INT(1), TEXT("four"));
	uint8_t		buffer[100];
	kiln_writer writer;
	kiln_error	error;

	(void) state;
	kiln_writer_init(&writer, buffer, sizeof buffer);
	writer.limit = 11;
	assert_false(kiln_encode(schema->root, &literal_source, (kiln_node) {&v, 0}, &writer, &error));
	assert_int_equal(error.code, KILN_E_SIZE);
	writer.limit = 12;
	assert_true(kiln_encode(schema->root, &literal_source, (kiln_node) {&v, 0}, &writer, &error));
	assert_int_equal(kiln_writer_length(&writer), 12);
	kiln_schema_free(schema);
}

static bool
no_memory(kiln_writer *writer, size_t capacity)
{
	(void) writer;
	(void) capacity;
	return false;
}

static void
test_memory_exhausted(void **state)
{
	kiln_schema *schema = parse("string[]");
	const value v = NODE(TEXT("a"));
	kiln_writer writer;
	kiln_error	error;

	(void) state;
	kiln_writer_init(&writer, NULL, 0);
	writer.grow = no_memory;
	assert_false(kiln_encode(schema->root, &literal_source, (kiln_node) {&v, 0}, &writer, &error));
	assert_int_equal(error.code, KILN_E_MEMORY);
	kiln_schema_free(schema);
}

/* More scalars than one batch holds, optional ones and other fields among them. */
static void
test_wide_struct(void **state)
{
	char		definition[4000] = "(";
	value		fields[200];
	value		whole = {V_NODE, {0}, NULL, 0, fields};
	const value empty = EMPTY;
	uint8_t		expected[1000];
	size_t		n = 0;
	int			i;

	(void) state;
	for (i = 0; i < 200; i++)
	{
		static const char *const types[] = {"i8", "i8?", "i8?", "i8[]"};
		int			turn = i < 150 ? i % 3 : 3;
		char		field[32];

		snprintf(field, sizeof field, "f%d %s%s", i, types[turn], i < 199 ? "," : ")");
		strcat(definition, field);
		fields[i] = (value) INT(i % 100);
		if (turn == 2)
		{
			fields[i] = (value) NULL_;
			expected[n++] = 0;
			continue;
		}
		if (turn == 3)
		{
			fields[i] = empty;
			memset(expected + n, 0, 4);
			n += 4;
			continue;
		}
		if (turn == 1)
			expected[n++] = 1;
		expected[n++] = (uint8_t) (i % 100);
	}
	expect_bytes(definition, &whole, expected, n);
	fields[130] = (value) INT(1000);
	expect_error(definition, &whole, KILN_E_RANGE, "f130");
}

/* ------------------------------------------------------------------ polling and silent sources */

static unsigned polls;

static void
count_poll(void)
{
	polls++;
}

static kiln_presence
zero_element(void *self, kiln_node list, const kiln_type *type, uint64_t position, kiln_node *child, kiln_error *error)
{
	static const value zero = INT(0);

	(void) self;
	(void) list;
	(void) type;
	(void) position;
	return literal_give(&zero, child, error);
}

static void
test_long_lists_poll(void **state)
{
	static const char *const definitions[] = {"i32[]", "i32?[]"};
	const value claim = UINT(10000);
	kiln_source source = literal_source;
	int			i;

	(void) state;
	source.element = zero_element;
	source.poll = count_poll;
	for (i = 0; i < 2; i++)
	{
		kiln_schema *schema = parse(definitions[i]);
		kiln_writer writer;
		size_t		length;

		init_growing(&writer);
		polls = 0;
		assert_true(kiln_encode(schema->root, &source, (kiln_node) {&claim, 0}, &writer, NULL));
		assert_true(polls >= 4 && polls < 1000);
		free(kiln_writer_detach(&writer, &length));
		kiln_schema_free(schema);
	}
}

static bool
silent_scalar(void *self, kiln_node node, const kiln_type *type, kiln_scalar *scalar, kiln_error *error)
{
	(void) self;
	(void) node;
	(void) type;
	(void) scalar;
	(void) error;
	return false;
}

/* A source that fails and does not say why still gives an error with a code and a path. */
static void
test_silent_source(void **state)
{
	kiln_schema *schema = parse("(a (b i8))");
	const value v = NODE(NODE(INT(1)));
	kiln_source source = literal_source;
	kiln_writer writer;
	kiln_error	error;

	(void) state;
	source.scalar = silent_scalar;
	init_growing(&writer);
	memset(&error, 'x', sizeof error);
	assert_false(kiln_encode(schema->root, &source, (kiln_node) {&v, 0}, &writer, &error));
	assert_int_equal(error.code, KILN_E_SOURCE);
	assert_string_equal(error.path, "a.b");
	kiln_schema_free(schema);
}

/* ------------------------------------------------------------------ vectors */

static void
test_vectors_encode_again(void **state)
{
	jsonl		in;
	unsigned	rows = 0;

	(void) state;
	assert_true(jsonl_open(&in, "payloads.jsonl"));
	while (jsonl_next(&in))
	{
		uint8_t    *payload;
		uint8_t    *definition;
		size_t		n = jsonl_hex(&in, "payload", &payload);
		kiln_schema *schema;
		payload_source source;
		kiln_node	root;
		kiln_writer writer;
		kiln_error	error;
		size_t		length;
		uint8_t    *again;

		if (n == SIZE_MAX)
			continue;
		jsonl_hex(&in, "definition_hex", &definition);
		schema = parse((const char *) definition);
		assert_true(kiln_validate(schema->root, payload, n, &json_checker, &error));
		payload_source_init(&source, payload, &root);
		source.source.json = &json_checker;
		source.packed = rows % 2;
		init_growing(&writer);
		if (!kiln_encode(schema->root, &source.source, root, &writer, &error))
			fail_msg("row %lld: %s", jsonl_int(&in, "id", 0), kiln_error_text(error.code));
		again = kiln_writer_detach(&writer, &length);
		assert_int_equal(length, n);
		if (n > 0)
			assert_memory_equal(again, payload, n);
		free(again);
		kiln_schema_free(schema);
		rows++;
	}
	jsonl_close(&in);
	assert_int_equal(rows, 353 + 196);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_scalars),
		cmocka_unit_test(test_scalars_out_of_range),
		cmocka_unit_test(test_structs),
		cmocka_unit_test(test_defaults),
		cmocka_unit_test(test_optional_json),
		cmocka_unit_test(test_lists),
		cmocka_unit_test(test_dicts),
		cmocka_unit_test(test_counts_too_large),
		cmocka_unit_test(test_span_too_long),
		cmocka_unit_test(test_limit),
		cmocka_unit_test(test_memory_exhausted),
		cmocka_unit_test(test_wide_struct),
		cmocka_unit_test(test_long_lists_poll),
		cmocka_unit_test(test_silent_source),
		cmocka_unit_test(test_vectors_encode_again),
	};

	return cmocka_run_group_tests_name("encode", tests, NULL, NULL);
}
