/*
 * kiln_validate() against the vectors, and points that no vector covers.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "json_check.h"
#include "jsonl.h"
#include "kiln.h"

static kiln_schema *
parse(const char *text, size_t length)
{
	kiln_parse_options options = {.stored = true, .json = &json_checker};
	kiln_schema *schema;
	kiln_error	error;

	if (!kiln_schema_parse(text, length, &options, &schema, &error))
	{
		print_error("%.*s: %s at %zu\n", (int) length, text, kiln_error_text(error.code), error.offset);
		fail();
	}
	return schema;
}

static kiln_schema *
row_schema(jsonl *row)
{
	uint8_t    *text;
	size_t		length = jsonl_hex(row, "definition_hex", &text);

	assert_int_not_equal(length, SIZE_MAX);
	return parse((const char *) text, length);
}

/* Validate a copy that ends where its memory ends. */
static bool
validate(const kiln_schema *schema, const uint8_t *payload, size_t n, kiln_error *error)
{
	uint8_t    *exact = malloc(n != 0 ? n : 1);
	bool		good;

	assert_non_null(exact);
	memcpy(exact, payload, n);
	good = kiln_validate(schema->root, exact, n, &json_checker, error);
	assert_int_equal(kiln_validate(schema->root, exact, n, &json_checker, NULL), good);
	free(exact);
	return good;
}

/* Does a code belong to a class of the vectors? A length beyond the end is "truncated" there. */
static bool
is_fault(kiln_code code, const char *fault)
{
	static const struct
	{
		const char *fault;
		kiln_code	code;
	}			classes[] = {
		{"truncated", KILN_E_TRUNCATED}, {"truncated", KILN_E_LENGTH}, {"trailing", KILN_E_TRAILING},
		{"bool", KILN_E_BOOL}, {"tag", KILN_E_TAG}, {"enum", KILN_E_ENUM}, {"utf8", KILN_E_UTF8},
		{"nul", KILN_E_NUL}, {"key", KILN_E_KEY}, {"count", KILN_E_COUNT}, {"numeric", KILN_E_NUMERIC},
		{"json", KILN_E_JSON}, {"date", KILN_E_DATE}, {"timestamp", KILN_E_TIMESTAMP}
	};

	for (size_t i = 0; i < sizeof classes / sizeof *classes; i++)
		if (classes[i].code == code && strcmp(classes[i].fault, fault) == 0)
			return true;
	return false;
}

/* Refused as the row says? Prints what differs. */
static bool
refused_as_said(jsonl *row, const kiln_schema *schema, const uint8_t *payload, size_t n)
{
	const char *fault = jsonl_string(row, "fault");
	long long	offset = jsonl_int(row, "offset", -1);
	uint8_t    *path = NULL;
	size_t		path_length = jsonl_hex(row, "path_hex", &path);
	kiln_error	error;

	if (validate(schema, payload, n, &error))
	{
		print_error("row %lld: accepted, but it is %s at %lld\n", jsonl_int(row, "id", -1), fault, offset);
		return false;
	}
	if (is_fault(error.code, fault) && error.offset == (size_t) offset &&
		(path_length == SIZE_MAX || strcmp(error.path, (char *) path) == 0))
		return true;
	print_error("row %lld: %s at %lld of %s, got \"%s\" at %zu of %s\n", jsonl_int(row, "id", -1), fault, offset,
				path != NULL ? (char *) path : "", kiln_error_text(error.code), error.offset, error.path);
	return false;
}

static void
invalid_payloads(void **state)
{
	jsonl		row;
	int			rows = 0;
	int			wrong = 0;

	(void) state;
	assert_true(jsonl_open(&row, "invalid_payloads.jsonl"));
	while (jsonl_next(&row))
	{
		uint8_t    *payload;
		size_t		n;
		kiln_schema *schema;

		if (strcmp(jsonl_string(&row, "kind"), "payload") != 0)
			continue;
		rows++;
		n = jsonl_hex(&row, "payload", &payload);
		schema = row_schema(&row);
		wrong += !refused_as_said(&row, schema, payload, n);
		kiln_schema_free(schema);
	}
	jsonl_close(&row);
	assert_int_equal(wrong, 0);
	assert_in_range(rows, 700, 100000);
}

/* Accepted whole; every beginning of it is refused, at a place inside what is there. */
static void
valid_row(jsonl *row, const kiln_schema *schema)
{
	uint8_t    *payload;
	size_t		n = jsonl_hex(row, "payload", &payload);
	kiln_error	error;

	if (!validate(schema, payload, n, &error))
		fail_msg("row %lld: %s at %zu of %s", jsonl_int(row, "id", -1), kiln_error_text(error.code), error.offset,
				 error.path);
	for (size_t length = 0; length < n; length++)
	{
		assert_false(validate(schema, payload, length, &error));
		assert_in_range(error.offset, 0, length);
		assert_true(error.code == KILN_E_TRUNCATED || error.code == KILN_E_LENGTH || error.code == KILN_E_COUNT);
	}
}

/* A long payload, put together. */
static bool
recipe_row(jsonl *row, const kiln_schema *schema)
{
	uint8_t    *head;
	uint8_t    *item;
	uint8_t    *tail;
	size_t		head_length = jsonl_hex(row, "head", &head);
	size_t		item_length = jsonl_hex(row, "item", &item);
	size_t		tail_length = jsonl_hex(row, "tail", &tail);
	size_t		count = (size_t) jsonl_int(row, "count", 0);
	size_t		n = head_length + count * item_length + tail_length;
	uint8_t    *payload = malloc(n + 1);
	uint8_t    *p = payload;
	kiln_error	error;
	bool		as_said;

	assert_non_null(payload);
	assert_int_equal(n, jsonl_int(row, "bytes", -1));
	memcpy(p, head, head_length);
	p += head_length;
	for (size_t i = 0; i < count; i++, p += item_length)
		memcpy(p, item, item_length);
	memcpy(p, tail, tail_length);
	if (jsonl_bool(row, "valid") == 1)
	{
		as_said = validate(schema, payload, n, &error);
		if (!as_said)
			print_error("row %lld: %s at %zu\n", jsonl_int(row, "id", -1), kiln_error_text(error.code), error.offset);
	}
	else
		as_said = refused_as_said(row, schema, payload, n);
	free(payload);
	return as_said;
}

static void
payloads(void **state)
{
	jsonl		row;
	int			rows = 0;
	int			recipes = 0;
	int			wrong = 0;

	(void) state;
	assert_true(jsonl_open(&row, "payloads.jsonl"));
	while (jsonl_next(&row))
	{
		kiln_schema *schema = row_schema(&row);

		if (strcmp(jsonl_string(&row, "kind"), "recipe") == 0)
		{
			recipes++;
			wrong += !recipe_row(&row, schema);
		}
		else
		{
			rows++;
			valid_row(&row, schema);
		}
		kiln_schema_free(schema);
	}
	jsonl_close(&row);
	assert_int_equal(wrong, 0);
	assert_in_range(rows, 500, 100000);
	assert_in_range(recipes, 20, 1000);
}

/* One payload under one definition; code KILN_E_OK means that it is valid. */
static void
expect(const char *definition, const char *payload, size_t n, kiln_code code, size_t offset, const char *path)
{
	kiln_schema *schema = parse(definition, strlen(definition));
	kiln_error	error = {.code = KILN_E_OK};

	assert_int_equal(validate(schema, (const uint8_t *) payload, n, &error), code == KILN_E_OK);
	assert_int_equal(error.code, code);
	if (code != KILN_E_OK)
	{
		assert_int_equal(error.offset, offset);
		assert_string_equal(error.path, path);
	}
	kiln_schema_free(schema);
}

#define EXPECT(definition, bytes, code, offset, path) \
	expect(definition, bytes, sizeof(bytes) - 1, KILN_E_##code, offset, path)

/* What a run holds is told apart field by field, also inside a struct that is part of it. */
static void
runs(void **state)
{
	static const char definition[] = "(a i32,b (c bool,d (e date,f enum('x','y'))),g i64)";

	(void) state;
	EXPECT(definition, "aaaa\1\0\0\0\0\1\0gggggggg", OK, 0, "");
	EXPECT(definition, "aaaa\2\0\0\0\0\1\0gggggggg", BOOL, 4, "b.c");
	EXPECT(definition, "aaaa\1\1\0\0\200\1\0gggggggg", DATE, 5, "b.d.e");
	EXPECT(definition, "aaaa\1\0\0\0\0\2\0gggggggg", ENUM, 9, "b.d.f");
	EXPECT(definition, "aaaa\1\0\0\0\0\1\0ggggggg", TRUNCATED, 11, "g");
	EXPECT(definition, "aaaa\1\0\0\0\0\1", TRUNCATED, 9, "b.d.f");
	EXPECT(definition, "aaaa\1\0\0\0", TRUNCATED, 5, "b.d.e");
	EXPECT(definition, "aaaa", TRUNCATED, 4, "b.c");
	/* The first fault in order is the one told, though the run is cut short behind it. */
	EXPECT(definition, "aaaa\2\0\0\0", BOOL, 4, "b.c");
	EXPECT("(a bool,b bool)[]", "\2\0\0\0\0\1\1\5", BOOL, 7, "[1].b");
	EXPECT("(t timestamp)[]", "\1\0\0\0\1\0\0\0\0\0\0\200", TIMESTAMP, 4, "[0].t");
	EXPECT("uuid", "0123456789abcdef", OK, 0, "");
	EXPECT("uuid", "0123456789abcde", TRUNCATED, 0, "");
}

/* Bools go eight at a time: each place of a word, and the rest behind the last one. */
static void
bool_lists(void **state)
{
	kiln_schema *schema = parse("bool[]", 6);

	(void) state;
	for (uint32_t count = 0; count < 40; count++)
	{
		uint8_t		payload[64];

		memset(payload, 1, sizeof payload);
		kiln_store_u32(payload, count);
		assert_true(validate(schema, payload, 4 + count, NULL));
		for (uint32_t i = 0; i < count; i++)
			for (int bit = 1; bit < 8; bit++)
			{
				kiln_error	error;
				char		path[16];

				payload[4 + i] ^= (uint8_t) (1 << bit);
				assert_false(validate(schema, payload, 4 + count, &error));
				assert_int_equal(error.code, KILN_E_BOOL);
				assert_int_equal(error.offset, 4 + i);
				snprintf(path, sizeof path, "[%u]", i);
				assert_string_equal(error.path, path);
				payload[4 + i] ^= (uint8_t) (1 << bit);
			}
	}
	kiln_schema_free(schema);
}

static void
dicts(void **state)
{
	(void) state;
	EXPECT("dict<i8>", "\3\0\0\0" "\0\0\0\0" "1" "\1\0\0\0a2" "\2\0\0\0aa3", OK, 0, "");
	EXPECT("dict<i8>", "\2\0\0\0" "\2\0\0\0aa1" "\1\0\0\0a2", KEY, 11, "");
	/* A key's own faults are the dict's, a value's are at the key. */
	EXPECT("(d dict<string>)", "\1\0\0\0" "\1\0\0\0k" "\1\0\0\0\200", UTF8, 13, "d.k");
	EXPECT("(d dict<string>)", "\1\0\0\0" "\1\0\0\0\200" "\0\0\0\0", UTF8, 8, "d");
	EXPECT("(d dict<string>)", "\1\0\0\0" "\7\0\0\0k" "\0\0\0\0", LENGTH, 4, "d");
	EXPECT("(d dict<bool>)", "\2\0\0\0" "\5\0\0\0kkkkk" "\1" "\0\0", TRUNCATED, 14, "d");
	EXPECT("(d dict<bool>)", "\1\0\0\0" "\3\0\0\0a.b" "\3", BOOL, 11, "d.\"a.b\"");
}

static void
spans(void **state)
{
	(void) state;
	EXPECT("bytes", "\3\0\0\0\0\377\200", OK, 0, "");
	EXPECT("string", "\377\377\377\377", LENGTH, 0, "");
	EXPECT("numeric", "\2\0\0\0" "1\200", UTF8, 5, "");
	EXPECT("numeric", "\2\0\0\0" "1 ", NUMERIC, 0, "");
	EXPECT("json", "\2\0\0\0" " 1", JSON, 0, "");
	EXPECT("json", "\2\0\0\0" "1\n", JSON, 0, "");
	EXPECT("json", "\5\0\0\0" "[ 1 ]", OK, 0, "");
	EXPECT("json", "\4\0\0\0" "null", OK, 0, "");
	EXPECT("(j json?,k json)", "\1" "\4\0\0\0null" "\4\0\0\0null", JSON, 1, "j");
	EXPECT("(j json?)", "\1" "\6\0\0\0\"null\"", OK, 0, "");
	EXPECT("(j string?)", "\1" "\4\0\0\0null", OK, 0, "");
}

/* Without a callback json is any text, but not an empty one, and not one with white space around it. */
static void
json_without_callback(void **state)
{
	kiln_schema *schema = parse("json", 4);
	kiln_error	error;

	(void) state;
	assert_true(kiln_validate(schema->root, (const uint8_t *) "\3\0\0\0{{{", 7, NULL, &error));
	assert_false(kiln_validate(schema->root, (const uint8_t *) "\0\0\0\0", 4, NULL, &error));
	assert_int_equal(error.code, KILN_E_JSON);
	assert_false(kiln_validate(schema->root, (const uint8_t *) "\2\0\0\0{ ", 6, NULL, &error));
	assert_int_equal(error.code, KILN_E_JSON);
	assert_false(kiln_validate(schema->root, (const uint8_t *) "\2\0\0\0{\200", 6, NULL, &error));
	assert_int_equal(error.code, KILN_E_UTF8);
	assert_int_equal(error.offset, 5);
	kiln_schema_free(schema);
}

static void
no_bytes_at_all(void **state)
{
	kiln_schema *schema = parse("i32[]", 5);
	kiln_error	error;

	(void) state;
	assert_false(kiln_validate(schema->root, NULL, 0, NULL, &error));
	assert_int_equal(error.code, KILN_E_TRUNCATED);
	assert_int_equal(error.offset, 0);
	kiln_schema_free(schema);
}

/* Ranges and spellings by themselves; the vectors have the same through payloads. */
static void
scalars(void **state)
{
	static const char *const good[] = {
		"0", "-1", "10", "0.0", "-0.1", "1.50", "NaN", "Infinity", "-Infinity", "0.00", "-0.001"
	};
	static const char *const bad[] = {
		"", "-", "-0", "-0.0", "00", "01", "-01", "1.", ".1", "+1", "1e3", "nan", "-NaN", "inf", "infinity", "1.2.3",
		" 1", "1 ", "--1", "NaN ", "Infinity0", "0x1", "1,0"
	};

	(void) state;
	for (size_t i = 0; i < sizeof good / sizeof *good; i++)
		assert_true(kiln_numeric_spelling((const uint8_t *) good[i], strlen(good[i])));
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		assert_false(kiln_numeric_spelling((const uint8_t *) bad[i], strlen(bad[i])));
	assert_true(kiln_date_valid(-2451545) && !kiln_date_valid(-2451546));
	assert_true(kiln_date_valid(2145031948) && !kiln_date_valid(2145031949));
	assert_true(kiln_date_valid(INT32_MIN) && !kiln_date_valid(INT32_MIN + 1));
	assert_true(kiln_date_valid(INT32_MAX) && !kiln_date_valid(INT32_MAX - 1));
	assert_true(kiln_timestamp_valid(INT64_C(-211813488000000000)));
	assert_false(kiln_timestamp_valid(INT64_C(-211813488000000001)));
	assert_true(kiln_timestamp_valid(INT64_C(9223371331199999999)));
	assert_false(kiln_timestamp_valid(INT64_C(9223371331200000000)));
	assert_true(kiln_timestamp_valid(INT64_MIN) && !kiln_timestamp_valid(INT64_MIN + 1));
	assert_true(kiln_timestamp_valid(INT64_MAX) && !kiln_timestamp_valid(INT64_MAX - 1));
}

/* The checker behind all this: what the vectors leave out. */
static void
json_checker_itself(void **state)
{
	static const char *const good[] = {
		"1e131071", "-0.0", "0e200000", "1E+2", "1e-16383", "0.1e16", "\"\\ud83d\\ude00\"", "\"\\/\\b\"", "[]", "{}",
		"{\"a\":1,\"a\":[true,false,null]}", "10e131070", "0.1e131072", "\" \\\\\""
	};
	static const char *const bad[] = {
		"1e131072", "1e-16384", "0e-16384", "1.5e-16383", "0e1073741823", "1e99999999999999999999", "10e131071",
		"\"\\ud83d\\u0041\"", "\"\\ud83dx\"", "\"\\ude00\"", "\"\\u0000\"", "\"\\", "\"\\u12", "[1,]", "{\"a\"}",
		"{,}", "[", "]", "1 1", "tru", "-", "0x1", "01", "'a'", "\"\t\""
	};

	(void) state;
	for (size_t i = 0; i < sizeof good / sizeof *good; i++)
		if (!json_check_text(NULL, (const uint8_t *) good[i], strlen(good[i])))
			fail_msg("%s", good[i]);
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		if (json_check_text(NULL, (const uint8_t *) bad[i], strlen(bad[i])))
			fail_msg("%s", bad[i]);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(payloads), cmocka_unit_test(invalid_payloads), cmocka_unit_test(runs),
		cmocka_unit_test(bool_lists), cmocka_unit_test(dicts), cmocka_unit_test(spans),
		cmocka_unit_test(json_without_callback), cmocka_unit_test(no_bytes_at_all), cmocka_unit_test(scalars),
		cmocka_unit_test(json_checker_itself)
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
