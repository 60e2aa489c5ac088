/*
 * Errors: texts, details cut to size, paths that grow in front.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "kiln.h"

static void
test_errors(void **state)
{
	kiln_error	error;
	char		name[400];
	int			i;

	(void) state;
	for (i = 0; i < KILN_E_COUNT_OF; i++)
		assert_true(kiln_error_text((kiln_code) i)[0] != '\0');
	assert_string_equal(kiln_error_text(KILN_E_TRAILING), "bytes stand after the end of the value");
	assert_string_equal(kiln_error_text((kiln_code) 9999), "unknown error");

	assert_false(kiln_fail(NULL, KILN_E_TAG, 1, "x"));
	kiln_error_prepend_name(NULL, "a", 1);
	kiln_error_prepend_index(NULL, 1);

	assert_false(kiln_fail(&error, KILN_E_TAG, 7, NULL));
	assert_true(error.code == KILN_E_TAG && error.offset == 7);
	assert_string_equal(error.detail, "");
	assert_string_equal(error.path, "");
	kiln_error_prepend_index(&error, UINT64_MAX);
	kiln_error_prepend_name(&error, "it's b c", 8);
	kiln_error_prepend_index(&error, 0);
	kiln_error_prepend_index(&error, 12);
	kiln_error_prepend_name(&error, "a.\"b", 4);
	kiln_error_prepend_name(&error, "", 0);
	assert_string_equal(error.path, "\"\".\"a.\"\"b\"[12][0].it's b c[18446744073709551615]");

	/* a path that is too long keeps its end, in whole characters */
	kiln_fail(&error, KILN_E_TAG, 0, "detail");
	assert_string_equal(error.detail, "detail");
	for (i = 0; i < 400; i += 2)
		memcpy(name + i, "\xc3\xa9", 2);
	kiln_error_prepend_name(&error, "en", 2);
	kiln_error_prepend_name(&error, name, 400);
	assert_int_equal(strlen(error.path), 254);
	assert_memory_equal(error.path, "...\xc3\xa9\xc3\xa9", 7);
	assert_string_equal(error.path + 250, "\xa9.en");
	kiln_error_prepend_name(&error, "more", 4);
	assert_memory_equal(error.path, "...\xc3\xa9\xc3\xa9", 7);
	/* one that just fits is whole */
	kiln_fail(&error, KILN_E_TAG, 0, NULL);
	memset(name, 'x', sizeof name);
	kiln_error_prepend_name(&error, name, 255);
	assert_int_equal(strlen(error.path), 255);
	assert_memory_equal(error.path, "xxxx", 4);
	kiln_error_prepend_index(&error, 3);
	assert_int_equal(strlen(error.path), 255);
	assert_memory_equal(error.path, "...xxxx", 7);

	/* so is a detail */
	name[0] = 'a';
	for (i = 1; i < 399; i += 2)
		memcpy(name + i, "\xc3\xa9", 2);
	name[399] = '\0';
	kiln_fail(&error, KILN_E_NAME, 0, name);
	assert_int_equal(strlen(error.detail), KILN_ERROR_DETAIL - 1);
	kiln_fail(&error, KILN_E_NAME, 0, name + 1);
	assert_int_equal(strlen(error.detail), KILN_ERROR_DETAIL - 2);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_errors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
