/*
 * kiln_utf8_prefix() and kiln_ascii() against utf8proc, which reads one code point at a time.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>
#include <utf8proc.h>

#include "internal.h"

/* The same answer, the slow way. */
static size_t
oracle_prefix(const uint8_t *s, size_t n, bool *nul)
{
	size_t		i = 0;

	*nul = false;
	while (i < n)
	{
		utf8proc_int32_t code_point;
		utf8proc_ssize_t length = utf8proc_iterate(s + i, (utf8proc_ssize_t) (n - i), &code_point);

		if (length <= 0)
			return i;
		if (code_point == 0)
		{
			*nul = true;
			return i;
		}
		i += (size_t) length;
	}
	return n;
}

/* Ask both about bytes that end where their memory ends. */
static void
compare(const uint8_t *s, size_t n)
{
	uint8_t    *exact = malloc(n != 0 ? n : 1);
	bool		nul;
	bool		want_nul;
	bool		ascii = true;
	size_t		want;

	assert_non_null(exact);
	memcpy(exact, s, n);
	want = oracle_prefix(exact, n, &want_nul);
	if (kiln_utf8_prefix(exact, n, &nul) != want || nul != want_nul)
	{
		for (size_t i = 0; i < n; i++)
			print_error("%02x", s[i]);
		print_error("\n");
	}
	assert_int_equal(kiln_utf8_prefix(exact, n, &nul), want);
	assert_int_equal(nul, want_nul);
	for (size_t i = 0; i < n; i++)
		ascii = ascii && s[i] != 0 && s[i] < 0x80;
	assert_int_equal(kiln_ascii(exact, n), ascii);
	free(exact);
}

/* A sequence alone, cut short at every length, and among other text at every place relative to the words. */
static void
compare_everywhere(const uint8_t *sequence, size_t n)
{
	static const char *const fillers[] = {"x", "\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x98\x80"};
	uint8_t		text[128];

	for (size_t length = 0; length <= n; length++)
		compare(sequence, length);
	for (size_t which = 0; which < 4; which++)
	{
		size_t		width = strlen(fillers[which]);

		for (size_t before = 0; before <= 40; before += width)
			for (size_t after = 0; after <= 36; after += 12)
			{
				size_t		length = 0;

				for (; length < before; length += width)
					memcpy(text + length, fillers[which], width);
				memcpy(text + length, sequence, n);
				length += n;
				memset(text + length, 'y', after);
				compare(text, length + after);
			}
	}
}

static void
every_code_point(void **state)
{
	(void) state;
	for (int32_t code_point = 1; code_point <= 0x10ffff; code_point++)
	{
		uint8_t		s[4];
		size_t		n;
		bool		nul;

		if (code_point >= 0xd800 && code_point <= 0xdfff)
			continue;
		n = (size_t) utf8proc_encode_char(code_point, s);
		assert_int_equal(kiln_utf8_prefix(s, n, &nul), n);
		if (n > 1)
			assert_int_equal(kiln_utf8_prefix(s, n - 1, &nul), 0);
	}
}

/* All sequences of one, two and three bytes, and of four with the third and fourth at the edges of the ranges. */
static void
every_short_sequence(void **state)
{
	static const uint8_t edges[] = {0x00, 0x01, 0x7f, 0x80, 0x8f, 0x90, 0x9f, 0xa0, 0xbf, 0xc0, 0xff};

	(void) state;
	for (uint32_t i = 0; i < 1u << 24; i++)
	{
		uint8_t		s[3] = {(uint8_t) (i >> 16), (uint8_t) (i >> 8), (uint8_t) i};
		bool		nul;
		bool		want_nul;
		size_t		want = oracle_prefix(s, 3, &want_nul);

		if (kiln_utf8_prefix(s, 3, &nul) != want || nul != want_nul)
			compare(s, 3);
	}
	for (uint32_t i = 0xf000; i <= 0xffff; i++)
		for (size_t j = 0; j < sizeof edges; j++)
			for (size_t k = 0; k < sizeof edges; k++)
			{
				uint8_t		s[4] = {(uint8_t) (i >> 8), (uint8_t) i, edges[j], edges[k]};

				compare(s, 4);
			}
}

static void
faults_at_every_place(void **state)
{
	static const char *const sequences[] = {
		"\x80", "\xbf", "\xc0\x80", "\xc1\xbf", "\xc3", "\xc3(", "\xe2", "\xe2\x82", "\xe2(\xa1", "\xe2\x82(",
		"\xe0\x80\x80", "\xe0\x9f\xbf", "\xe0\xa0\x80", "\xed\x9f\xbf", "\xed\xa0\x80", "\xed\xbf\xbf",
		"\xee\x80\x80", "\xef\xbf\xbf", "\xf0\x80\x80\x80", "\xf0\x8f\xbf\xbf", "\xf0\x90\x80\x80", "\xf0\x9f\x98",
		"\xf0\x9f\x98(", "\xf4\x8f\xbf\xbf", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xf8\x88\x80\x80\x80", "\xfe",
		"\xff", "\x7f", "a", "\xc2\x80", "\xdf\xbf"
	};

	(void) state;
	for (size_t i = 0; i < sizeof sequences / sizeof *sequences; i++)
		compare_everywhere((const uint8_t *) sequences[i], strlen(sequences[i]));
	compare_everywhere((const uint8_t *) "\0", 1);
	compare_everywhere((const uint8_t *) "a\0b", 3);
	compare_everywhere((const uint8_t *) "\xc3\0", 2);
}

static void
random_text(void **state)
{
	uint64_t	seed = 0x6b696c6e;

	(void) state;
	for (int round = 0; round < 200000; round++)
	{
		uint8_t		text[160];
		size_t		n = 0;
		size_t		want = (seed >> 33) % 150;

		while (n < want)
		{
			int32_t		code_point;

			seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
			code_point = (int32_t) ((seed >> 32) & (seed >> 62 == 0 ? 0xfffff : seed >> 62 == 1 ? 0x7ff : 0x7f));
			if (code_point == 0 || (code_point >= 0xd800 && code_point <= 0xdfff))
				code_point = 'z';
			n += (size_t) utf8proc_encode_char(code_point, text + n);
		}
		if (n > 0 && round % 2 == 0)
			text[(seed >> 20) % n] ^= (uint8_t) (1u << ((seed >> 12) % 8));
		compare(text, n);
	}
}

/* Is it a test at all: a kiln_ascii() that always agreed with the prefix would fail here. */
static void
ascii_is_not_utf8(void **state)
{
	bool		nul;

	(void) state;
	assert_int_equal(kiln_utf8_prefix((const uint8_t *) "caf\xc3\xa9", 5, &nul), 5);
	assert_false(kiln_ascii((const uint8_t *) "caf\xc3\xa9", 5));
	assert_true(kiln_ascii((const uint8_t *) "cafe", 4));
	assert_true(kiln_ascii((const uint8_t *) "\x7f", 1));
	assert_int_equal(kiln_utf8_prefix(NULL, 0, &nul), 0);
	assert_false(nul);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_code_point), cmocka_unit_test(every_short_sequence),
		cmocka_unit_test(faults_at_every_place), cmocka_unit_test(random_text), cmocka_unit_test(ascii_is_not_utf8)
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
