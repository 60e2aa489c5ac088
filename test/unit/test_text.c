/*
 * Escapes of JSON strings, and the 16-bit floats.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "kiln.h"

/* ------------------------------------------------------------------ escapes */

/* raw lies in memory of its own size, so that a sanitizer sees a read behind it. */
static kiln_json_escape
unescape(const char *raw, size_t n, uint8_t *out, size_t *length)
{
	uint8_t    *exact = malloc(n + 1);
	kiln_json_escape answer;

	memcpy(exact, raw, n);
	answer = kiln_json_unescape(exact, n, out, length);
	free(exact);
	return answer;
}

static void
test_good_escapes(void **state)
{
	static const struct
	{
		const char *raw;
		const char *text;
	}			cases[] = {
		{"", ""},
		{"plain", "plain"},
		{"\\\"\\\\\\/\\b\\f\\n\\r\\t", "\"\\/\b\f\n\r\t"},
		{"a\\u0001\\u007f\\u0080b", "a\x01\x7f\xc2\x80" "b"},
		{"\\u07ff\\u0800\\uFFFF", "\xdf\xbf\xe0\xa0\x80\xef\xbf\xbf"},
		{"\\ud83d\\ude00\\uD800\\uDC00\\udbff\\udfff", "\xf0\x9f\x98\x80\xf0\x90\x80\x80\xf4\x8f\xbf\xbf"},
		{"\\\\u0000", "\\u0000"},
		{"\xc3\xa9\\u00e9", "\xc3\xa9\xc3\xa9"},
	};

	(void) state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
	{
		size_t		n = strlen(cases[i].raw);
		uint8_t    *out = malloc(n + 1);
		size_t		length = 0;
		size_t		counted = 0;

		assert_int_equal(unescape(cases[i].raw, n, out, &length), KILN_ESCAPE_GOOD);
		assert_int_equal(length, strlen(cases[i].text));
		assert_memory_equal(out, cases[i].text, length);
		assert_int_equal(unescape(cases[i].raw, n, NULL, &counted), KILN_ESCAPE_GOOD);
		assert_int_equal(counted, length);

		/* in place */
		memcpy(out, cases[i].raw, n);
		assert_int_equal(kiln_json_unescape(out, n, out, &length), KILN_ESCAPE_GOOD);
		assert_int_equal(length, strlen(cases[i].text));
		assert_memory_equal(out, cases[i].text, length);
		free(out);
	}
}

static void
test_bad_escapes(void **state)
{
	static const struct
	{
		const char *raw;
		kiln_json_escape answer;
	}			cases[] = {
		{"\\", KILN_ESCAPE_MALFORMED}, {"a\\", KILN_ESCAPE_MALFORMED}, {"\\x", KILN_ESCAPE_MALFORMED},
		{"\\u", KILN_ESCAPE_MALFORMED}, {"\\u123", KILN_ESCAPE_MALFORMED}, {"\\u12g4", KILN_ESCAPE_MALFORMED},
		{"\\U0041", KILN_ESCAPE_MALFORMED}, {"\\u0000", KILN_ESCAPE_NUL}, {"a\\u0000b", KILN_ESCAPE_NUL},
		{"\\ud800", KILN_ESCAPE_SURROGATE}, {"\\ud800x", KILN_ESCAPE_SURROGATE}, {"\\udc00", KILN_ESCAPE_SURROGATE},
		{"\\udc00\\ud800", KILN_ESCAPE_SURROGATE}, {"\\ud800\\ud800", KILN_ESCAPE_SURROGATE},
		{"\\ud800\\u0041", KILN_ESCAPE_SURROGATE}, {"\\ud800\\udc0", KILN_ESCAPE_SURROGATE},
		{"\\ud800\\udc0g", KILN_ESCAPE_MALFORMED}, {"\\ud800\\n", KILN_ESCAPE_SURROGATE},
	};

	(void) state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
	{
		uint8_t		out[32];

		assert_int_equal(unescape(cases[i].raw, strlen(cases[i].raw), out, NULL), cases[i].answer);
		assert_int_equal(unescape(cases[i].raw, strlen(cases[i].raw), NULL, NULL), cases[i].answer);
	}
}

/* ------------------------------------------------------------------ 16-bit floats */

typedef struct half
{
	float		(*widen) (uint16_t half);
	uint16_t	(*narrow) (double value);
	int			fraction_bits;
	int			bias;
	uint16_t	infinity;
} half;

static const half halves[] = {
	{kiln_f16_to_f32, kiln_f16_from_f64, 10, 15, 0x7c00},
	{kiln_bf16_to_f32, kiln_bf16_from_f64, 7, 127, 0x7f80},
};

/* The value of finite bits, from the definition. */
static double
value_of(const half *h, uint16_t bits)
{
	int			exponent = (bits & 0x7fff) >> h->fraction_bits;
	int			fraction = bits & ((1 << h->fraction_bits) - 1);
	double		value;

	if (exponent > 0)
		fraction |= 1 << h->fraction_bits;
	value = ldexp(fraction, (exponent > 0 ? exponent : 1) - h->bias - h->fraction_bits);
	return bits & 0x8000 ? -value : value;
}

static void
test_halves_and_back(void **state)
{
	(void) state;
	for (const half *h = halves; h < halves + 2; h++)
		for (uint32_t bits = 0; bits <= 0xffff; bits++)
		{
			float		wide = h->widen((uint16_t) bits);

			if ((bits & 0x7fff) > h->infinity)
			{
				/* a NaN stays one, quiet; its other bits are kept */
				assert_true(isnan(wide));
				assert_int_equal(h->narrow(wide), bits | 1u << (h->fraction_bits - 1));
				continue;
			}
			assert_int_equal(h->narrow(wide), bits);
			if ((bits & 0x7fff) == h->infinity)
				assert_true(isinf(wide));
			else
				assert_true((double) wide == value_of(h, (uint16_t) bits) && !signbit(wide) == !(bits & 0x8000));
		}
}

/* Between two neighbours: the nearer one, and in the middle the even one. */
static void
test_halves_round_once(void **state)
{
	(void) state;
	for (const half *h = halves; h < halves + 2; h++)
		for (uint16_t bits = 0; bits < h->infinity; bits++)
		{
			double		low = value_of(h, bits);
			double		high = bits + 1 < h->infinity ? value_of(h, bits + 1) : low + (low - value_of(h, bits - 1));
			double		middle = (low + high) / 2;
			uint16_t	even = bits & 1 ? bits + 1 : bits;

			assert_int_equal(h->narrow(nextafter(middle, 0)), bits);
			assert_int_equal(h->narrow(middle), even);
			assert_int_equal(h->narrow(nextafter(middle, INFINITY)), bits + 1);
			assert_int_equal(h->narrow(-middle), even | 0x8000);
		}
	assert_int_equal(kiln_f16_from_f64(1e300), 0x7c00);
	assert_int_equal(kiln_bf16_from_f64(-1e300), 0xff80);
	assert_int_equal(kiln_f16_from_f64(5e-324), 0);
	assert_int_equal(kiln_bf16_from_f64(-5e-324), 0x8000);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_good_escapes),
		cmocka_unit_test(test_bad_escapes),
		cmocka_unit_test(test_halves_and_back),
		cmocka_unit_test(test_halves_round_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
