/*
 * Validation's short cuts against the plain rule: runs of fixed-width fields are looked at by masks and places worked out at
 * parse time, short strings by words. Each byte of a run is spoiled in turn, each byte of strings of each length, with and
 * without room behind them; the verdict and its offset must be those of the rule.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "kiln.h"

static kiln_schema *
parse(const char *text)
{
	kiln_schema *schema;
	kiln_error	error;

	assert_true(kiln_schema_parse(text, strlen(text), NULL, &schema, &error));
	return schema;
}

/* A payload that ends where its memory does, so that a sanitizer sees a read beyond it. */
static bool
validate_copy(const kiln_type *type, const uint8_t *payload, size_t n, kiln_error *error)
{
	uint8_t    *copy = malloc(n);
	bool		good;

	memcpy(copy, payload, n);
	good = kiln_validate(type, copy, n, NULL, error);
	free(copy);
	return good;
}

/* bools: n bytes, 1 where a bool stands. Any of them set to 2 is a fault at that place, any other byte may be anything. */
static void
check_bools(const char *text, const uint8_t *bools, size_t n)
{
	kiln_schema *schema = parse(text);
	uint8_t    *payload = calloc(1, n);
	kiln_error	error;

	for (size_t i = 0; i < n; i++)
	{
		static const uint8_t wrong[] = {2, 0x80, 0xff};

		payload[i] = 1;
		assert_true(validate_copy(schema->root, payload, n, &error));
		for (size_t j = 0; j < sizeof wrong; j++)
		{
			payload[i] = wrong[j];
			assert_int_equal(validate_copy(schema->root, payload, n, &error), !bools[i]);
			if (bools[i])
			{
				assert_int_equal(error.code, KILN_E_BOOL);
				assert_int_equal(error.offset, i);
			}
		}
		payload[i] = 1;
	}
	free(payload);
	kiln_schema_free(schema);
}

static void
test_bools_in_runs(void **state)
{
	static const uint8_t all[100] = {[0 ... 99] = 1};
	static const uint8_t mixed[] = {1, 0, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1};
	static const uint8_t nested[] = {0, 1, 0, 0, 1, 0, 0, 1, 0, 0, 1};
	char		text[2048];

	(void) state;
	for (int n = 1; n <= 100; n++)
	{
		size_t		at = (size_t) snprintf(text, sizeof text, "t(");

		for (int i = 0; i < n; i++)
			at += (size_t) snprintf(text + at, sizeof text - at, "%sb%d bool", i ? "," : "", i);
		snprintf(text + at, sizeof text - at, ")");
		check_bools(text, all, (size_t) n);
	}
	check_bools("t(a bool,x i32,b bool,c bool,y i64,d bool,e bool)", mixed, sizeof mixed);
	check_bools("t(x i8,p (a bool,q (y i16,b bool)),r (y i16,c bool),z i16,d bool)", nested, sizeof nested);
}

/* The same inside a list of structs of fixed width, in its second element. */
static void
test_bools_in_lists(void **state)
{
	kiln_schema *schema = parse("(a bool,x i64,b bool)[]");
	uint8_t		payload[4 + 20] = {2};
	kiln_error	error;

	(void) state;
	assert_true(validate_copy(schema->root, payload, sizeof payload, &error));
	payload[4 + 10 + 9] = 2;
	assert_false(validate_copy(schema->root, payload, sizeof payload, &error));
	assert_int_equal(error.offset, 23);
	assert_string_equal(error.path, "[1].b");
	payload[4 + 10 + 9] = 1;
	payload[4 + 10] = 3;
	assert_false(validate_copy(schema->root, payload, sizeof payload, &error));
	assert_int_equal(error.offset, 14);
	assert_string_equal(error.path, "[1].a");
	kiln_schema_free(schema);
}

static void
test_other_looks(void **state)
{
	kiln_schema *schema = parse("t(x i8,e enum('a','b','c'),d date,w timestamp,z timestamptz,b bool)");
	uint8_t		payload[1 + 2 + 4 + 8 + 8 + 1] = {0};
	kiln_error	error;

	(void) state;
	assert_true(validate_copy(schema->root, payload, sizeof payload, &error));
	kiln_store_u16(payload + 1, 2);
	kiln_store_u32(payload + 3, (uint32_t) INT32_MAX);
	kiln_store_u64(payload + 7, (uint64_t) INT64_MIN);
	kiln_store_u64(payload + 15, (uint64_t) INT64_C(9223371331199999999));
	assert_true(validate_copy(schema->root, payload, sizeof payload, &error));

	kiln_store_u64(payload + 15, (uint64_t) INT64_C(9223371331200000000));
	assert_false(validate_copy(schema->root, payload, sizeof payload, &error));
	assert_int_equal(error.code, KILN_E_TIMESTAMP);
	assert_int_equal(error.offset, 15);
	kiln_store_u64(payload + 7, (uint64_t) INT64_C(-211813488000000001));
	assert_false(validate_copy(schema->root, payload, sizeof payload, &error));
	assert_int_equal(error.offset, 7);
	kiln_store_u32(payload + 3, 2145031949);
	assert_false(validate_copy(schema->root, payload, sizeof payload, &error));
	assert_int_equal(error.code, KILN_E_DATE);
	kiln_store_u32(payload + 3, (uint32_t) -2451546);
	assert_false(validate_copy(schema->root, payload, sizeof payload, &error));
	assert_int_equal(error.offset, 3);
	kiln_store_u16(payload + 1, 3);
	assert_false(validate_copy(schema->root, payload, sizeof payload, &error));
	assert_int_equal(error.code, KILN_E_ENUM);
	assert_int_equal(error.offset, 1);
	kiln_schema_free(schema);
}

/* A string of n bytes with one of them as given, and behind it so many bytes more: validate and the reader must agree. */
static void
check_string(const kiln_type *type, size_t n, size_t at, uint8_t byte, size_t behind, bool good, kiln_code code)
{
	uint8_t		payload[4 + 64 + 4 + 32];
	size_t		whole = 4 + n + 4 + behind;
	uint8_t    *copy = malloc(whole);
	kiln_reader reader;
	kiln_error	error;
	uint32_t	length;

	kiln_store_u32(payload, (uint32_t) n);
	memset(payload + 4, 'x', n);
	if (at < n)
		payload[4 + at] = byte;
	kiln_store_u32(payload + 4 + n, (uint32_t) behind);
	memset(payload + 8 + n, 0xff, behind);	/* what stands behind must not count */
	assert_int_equal(validate_copy(type, payload, whole, &error), good);
	if (!good)
	{
		assert_int_equal(error.code, code);
		assert_int_equal(error.offset, 4 + at);
	}
	memcpy(copy, payload, whole);
	kiln_reader_init(&reader, copy, whole);
	kiln_reader_string(&reader, &length);
	assert_int_equal(reader.failed, !good);
	free(copy);
}

static void
test_strings(void **state)
{
	kiln_schema *schema = parse("t(s string,b bytes)");

	(void) state;
	for (size_t n = 0; n <= 64; n++)
	{
		static const size_t behinds[] = {0, 5, 11, 12, 13, 32};

		for (size_t b = 0; b < sizeof behinds / sizeof behinds[0]; b++)
		{
			check_string(schema->root, n, n, 0, behinds[b], true, KILN_E_OK);
			for (size_t at = 0; at < n; at++)
			{
				check_string(schema->root, n, at, 0x01, behinds[b], true, KILN_E_OK);
				check_string(schema->root, n, at, 0x7f, behinds[b], true, KILN_E_OK);
				check_string(schema->root, n, at, 0x00, behinds[b], false, KILN_E_NUL);
				check_string(schema->root, n, at, 0x80, behinds[b], false, KILN_E_UTF8);
				check_string(schema->root, n, at, 0xff, behinds[b], false, KILN_E_UTF8);
				check_string(schema->root, n, at, 0xc3, behinds[b], false, KILN_E_UTF8);
			}
		}
	}
	kiln_schema_free(schema);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bools_in_runs),
		cmocka_unit_test(test_bools_in_lists),
		cmocka_unit_test(test_other_looks),
		cmocka_unit_test(test_strings),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
