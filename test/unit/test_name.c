/*
 * Names by themselves: normal form, what may be one, quotes, order.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "kiln.h"

static void
normalizes(const char *name, const char *expected)
{
	char		out[KILN_MAX_NAME + 1];
	size_t		length = 99;
	kiln_error	error;

	if (!kiln_name_normalize(name, strlen(name), out, &length, &error))
		fail_msg("%s: %s", name, error.detail);
	assert_string_equal(out, expected);
	assert_int_equal(length, strlen(expected));
	assert_true(kiln_name_nfc(name, strlen(name), out, &length));
	assert_string_equal(out, expected);
}

static void
no_name(const char *name, size_t length, size_t offset, bool nfc)
{
	char		out[KILN_MAX_NAME + 1] = "kept";
	size_t		out_length = 99;
	kiln_error	error;

	assert_false(kiln_name_normalize(name, length, out, &out_length, &error));
	assert_int_equal(error.code, KILN_E_NAME);
	assert_int_equal(error.offset, offset);
	assert_string_equal(out, "kept");
	assert_int_equal(out_length, 99);
	assert_int_equal(kiln_name_nfc(name, length, out, &out_length), nfc);
	if (!nfc)
		assert_string_equal(out, "kept");
}

static void
test_names(void **state)
{
	char		jamo[KILN_MAX_NAME * 3 + 4] = "";
	char		syllables[KILN_MAX_NAME + 1] = "";
	char		text[300];
	int			i;

	(void) state;
	normalizes("a", "a");
	normalizes("A b", "A b");
	normalizes("e\xcc\x81", "\xc3\xa9");
	normalizes("\xc3\xa9", "\xc3\xa9");
	normalizes("\xe2\x84\xab", "\xc3\x85");
	/* marks are put in order */
	normalizes("a\xcc\xa7\xcc\x81", "\xc3\xa1\xcc\xa7");
	normalizes("a\xcc\x81\xcc\xa7", "\xc3\xa1\xcc\xa7");
	/* three times too long, until composed */
	for (i = 0; i < 21; i++)
	{
		strcat(jamo, "\xe1\x84\x92\xe1\x85\xa1\xe1\x86\xab");
		strcat(syllables, "\xed\x95\x9c");
	}
	normalizes(jamo, syllables);
	strcat(jamo, "a");
	no_name(jamo, strlen(jamo), 0, false);

	no_name("", 0, 0, true);
	no_name("$a", 2, 0, true);
	no_name("a\nb", 3, 1, true);
	no_name("\xc3\xa9\x7f", 3, 2, true);
	no_name("a\0b", 3, 1, true);
	no_name("ab\xc3", 3, 2, false);
	no_name("\xed\xa0\x80", 3, 0, false);
	no_name("\xef\xbf\xbf", 3, 0, true);	/* a noncharacter */
	memset(text, 'n', sizeof text);
	no_name(text, 64, 0, false);
	memset(text, '\xcc', sizeof text);
	no_name(text, 300, 0, false);

	assert_int_equal(kiln_name_quote("ab_9", 4, text), 4);
	assert_memory_equal(text, "ab_9", 4);
	assert_int_equal(kiln_name_quote("9a", 2, text), 4);
	assert_memory_equal(text, "\"9a\"", 4);
	assert_int_equal(kiln_name_quote("a\"B", 3, text), 6);
	assert_memory_equal(text, "\"a\"\"B\"", 6);
	assert_int_equal(kiln_name_quote("", 0, text), 2);
	assert_memory_equal(text, "\"\"", 2);
}

/* In ascending order: bytes count as unsigned, a prefix comes first, NUL is a byte. */
static void
test_order(void **state)
{
	static const struct
	{
		const char *text;
		size_t		length;
	}			ascending[] = {
		{NULL, 0}, {"\0", 1}, {"\0a", 2}, {"Z", 1}, {"a", 1}, {"a\0", 2}, {"a\0b", 3}, {"aa", 2}, {"ab", 2}, {"b", 1}, {"\x7f", 1},
		{"\x80", 1}, {"\xc3\xa9", 2}, {"\xff", 1}
	};
	const size_t n = sizeof ascending / sizeof ascending[0];

	(void) state;
	for (size_t i = 0; i < n; i++)
		for (size_t j = 0; j < n; j++)
			assert_int_equal(kiln_compare_bytes(ascending[i].text, ascending[i].length, ascending[j].text, ascending[j].length),
							 i < j ? -1 : i > j);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
