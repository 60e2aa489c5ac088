/*
 * Rules for single scalars (FORMAT 2): spelling of numeric, ranges of dates and timestamps, runs of bools.
 */
#include "internal.h"

/* Digits that core's numeric can hold before and after the point. */
#define NUMERIC_WHOLE_DIGITS	131072
#define NUMERIC_SCALE			16383

static inline bool
is_digit(uint8_t c)
{
	return c >= '0' && c <= '9';
}

static bool
spells(const uint8_t *s, size_t n, const char *word, size_t length)
{
	return n == length && memcmp(s, word, length) == 0;
}

/* NaN, Infinity, -Infinity */
static bool
is_special_numeric(const uint8_t *s, size_t n)
{
	return spells(s, n, "NaN", 3) || spells(s, n, "Infinity", 8) || spells(s, n, "-Infinity", 9);
}

bool
kiln_numeric_spelling(const uint8_t *s, size_t n)
{
	const uint8_t *p = s;
	const uint8_t *end = s + n;
	const uint8_t *digits;
	uint8_t		any = 0;		/* bits of all digits: 0x30 alone while all are '0' */
	bool		negative = n > 0 && *p == '-';

	if (negative)
		p++;
	for (digits = p; p < end && is_digit(*p); p++)
		any |= *p;
	if (p == digits)
		return is_special_numeric(s, n);
	if (p - digits > NUMERIC_WHOLE_DIGITS || (*digits == '0' && p - digits > 1))
		return false;
	if (p < end && *p == '.')
	{
		for (digits = ++p; p < end && is_digit(*p); p++)
			any |= *p;
		if (p == digits || p - digits > NUMERIC_SCALE)
			return false;
	}
	return p == end && !(negative && any == '0');
}

bool
kiln_date_valid(int32_t days)
{
	return kiln_date_in_range(days);
}

bool
kiln_timestamp_valid(int64_t microseconds)
{
	return kiln_timestamp_in_range(microseconds);
}

size_t
kiln_bool_prefix(const uint8_t *p, size_t n)
{
	size_t		i = 0;

	while (n - i >= 8 && (kiln_load_u64(p + i) & UINT64_C(0xfefefefefefefefe)) == 0)
		i += 8;
	while (i < n && p[i] <= 1)
		i++;
	return i;
}
