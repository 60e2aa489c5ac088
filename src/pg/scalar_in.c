/*
 * Scalars that text gives as strings: uuid, bytes, dates and timestamps (docs/FORMAT.md, section 5); and base64.
 *
 * Dates and timestamps have one grammar, that of core's jsonb forms. Nothing here asks DateStyle, TimeZone or the
 * clock.
 */
#include "kiln_text.h"

#include "utils/datetime.h"
#include "utils/timestamp.h"

/* ------------------------------------------------------------------ hex */

static int
hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

/* n bytes from 2n digits. */
static bool
hex_bytes(const char *text, size_t n, uint8_t *out)
{
	for (size_t i = 0; i < n; i++)
	{
		int			high = hex_digit(text[2 * i]);
		int			low = hex_digit(text[2 * i + 1]);

		if (high < 0 || low < 0)
			return false;
		out[i] = (uint8_t) (high << 4 | low);
	}
	return true;
}

/* ------------------------------------------------------------------ uuid and bytes */

/* core's spellings: braces around it, and a hyphen after each group of four digits, may be there or not. */
static bool
parse_uuid(const char *p, const char *end, uint8_t *uuid)
{
	if (end - p >= 2 && *p == '{')
	{
		if (end[-1] != '}')
			return false;
		p++;
		end--;
	}
	for (int i = 0; i < 16; i++)
	{
		if (end - p < 2 || !hex_bytes(p, 1, &uuid[i]))
			return false;
		p += 2;
		if (i % 2 == 1 && i < 15 && p < end && *p == '-')
			p++;
	}
	return p == end;
}

bool
kiln_uuid_in(const char *text, size_t length, uint8_t *uuid, kiln_error *error)
{
	char		clip[KILN_CLIP];

	if (parse_uuid(text, text + length, uuid))
		return true;
	return kiln_source_fail(error, ERRCODE_INVALID_TEXT_REPRESENTATION, "\"%s\" is no uuid",
							kiln_clip(text, length, clip));
}

bool
kiln_bytes_in(const char *text, size_t length, MemoryContext context, const uint8_t **bytes, size_t *bytes_length,
			  kiln_error *error)
{
	if (length >= 2 && length % 2 == 0 && text[0] == '\\' && text[1] == 'x')
	{
		size_t		n = length / 2 - 1;
		uint8_t    *out = MemoryContextAllocHuge(context, n + 1);

		if (hex_bytes(text + 2, n, out))
		{
			*bytes = out;
			*bytes_length = n;
			return true;
		}
	}
	return kiln_source_fail(error, ERRCODE_INVALID_TEXT_REPRESENTATION,
							"bytes are given as \\x and an even number of hex digits");
}

/* ------------------------------------------------------------------ dates and timestamps */

/* A text while it is read. fault is 0, or the SQLSTATE of what is wrong. */
typedef struct KilnTimeText
{
	const char *pos;
	const char *end;
	int			fault;
} KilnTimeText;

#define YEAR_DIGITS 7			/* of the last year that date holds */

static bool
fail_time(KilnTimeText *in, int fault)
{
	if (in->fault == 0)
		in->fault = fault;
	return false;
}

static bool
take(KilnTimeText *in, char c)
{
	if (in->pos == in->end || *in->pos != c)
		return false;
	in->pos++;
	return true;
}

static bool
want(KilnTimeText *in, char c)
{
	return take(in, c) || fail_time(in, ERRCODE_INVALID_DATETIME_FORMAT);
}

/* Exactly two digits; out_of_range is the fault if they lie outside [least, most]. */
static bool
two_digits(KilnTimeText *in, int least, int most, int out_of_range, int *value)
{
	const char *p = in->pos;

	if (in->end - p < 2 || p[0] < '0' || p[0] > '9' || p[1] < '0' || p[1] > '9')
		return fail_time(in, ERRCODE_INVALID_DATETIME_FORMAT);
	*value = (p[0] - '0') * 10 + (p[1] - '0');
	in->pos += 2;
	return (*value >= least && *value <= most) || fail_time(in, out_of_range);
}

/* A year: four digits, or more without a zero in front. */
static bool
take_year(KilnTimeText *in, int *year)
{
	const char *start = in->pos;

	*year = 0;
	while (in->pos < in->end && *in->pos >= '0' && *in->pos <= '9')
	{
		if (in->pos - start == YEAR_DIGITS)
			return fail_time(in, ERRCODE_INVALID_DATETIME_FORMAT);
		*year = *year * 10 + (*in->pos++ - '0');
	}
	if (in->pos - start < 4 || (in->pos - start > 4 && *start == '0'))
		return fail_time(in, ERRCODE_INVALID_DATETIME_FORMAT);
	return true;
}

/* Cut " BC" off the end. */
static bool
ends_in_bc(KilnTimeText *in)
{
	if (in->end - in->pos < 3 || memcmp(in->end - 3, " BC", 3) != 0)
		return false;
	in->end -= 3;
	return true;
}

/* YYYY-MM-DD. *year is astronomical: 0 is 1 BC. */
static bool
take_date(KilnTimeText *in, bool bc, int *year, int *month, int *day)
{
	if (!take_year(in, year) || !want(in, '-') ||
		!two_digits(in, 1, 12, ERRCODE_DATETIME_FIELD_OVERFLOW, month) || !want(in, '-') ||
		!two_digits(in, 1, 31, ERRCODE_DATETIME_FIELD_OVERFLOW, day))
		return false;
	if (*year == 0)
		return fail_time(in, ERRCODE_DATETIME_FIELD_OVERFLOW);
	if (bc)
		*year = 1 - *year;
	if (*day > day_tab[isleap(*year)][*month - 1])
		return fail_time(in, ERRCODE_DATETIME_FIELD_OVERFLOW);
	return true;
}

/* HH:MM:SS[.ffffff] in microseconds. */
static bool
take_time(KilnTimeText *in, int64 *microseconds)
{
	int			hour;
	int			minute;
	int			second;
	int64		fraction = 0;

	if (!two_digits(in, 0, 23, ERRCODE_DATETIME_FIELD_OVERFLOW, &hour) || !want(in, ':') ||
		!two_digits(in, 0, 59, ERRCODE_DATETIME_FIELD_OVERFLOW, &minute) || !want(in, ':') ||
		!two_digits(in, 0, 59, ERRCODE_DATETIME_FIELD_OVERFLOW, &second))
		return false;
	if (take(in, '.'))
	{
		int64		unit = USECS_PER_SEC / 10;
		const char *start = in->pos;

		for (; in->pos < in->end && *in->pos >= '0' && *in->pos <= '9' && unit > 0; unit /= 10)
			fraction += (*in->pos++ - '0') * unit;
		if (in->pos == start)
			return fail_time(in, ERRCODE_INVALID_DATETIME_FORMAT);
	}
	*microseconds = ((hour * INT64CONST(60) + minute) * 60 + second) * USECS_PER_SEC + fraction;
	return true;
}

/* Z or ±HH[:MM[:SS]] in seconds east of UTC. */
static bool
take_zone(KilnTimeText *in, int *seconds)
{
	bool		west;
	int			hour;
	int			minute = 0;
	int			second = 0;
	int			far = ERRCODE_INVALID_TIME_ZONE_DISPLACEMENT_VALUE;

	*seconds = 0;
	if (take(in, 'Z'))
		return true;
	west = take(in, '-');
	if (!west && !want(in, '+'))
		return false;
	if (!two_digits(in, 0, 15, far, &hour))
		return false;
	if (take(in, ':'))
	{
		if (!two_digits(in, 0, 59, far, &minute))
			return false;
		if (take(in, ':') && !two_digits(in, 0, 59, far, &second))
			return false;
	}
	*seconds = (hour * 60 + minute) * 60 + second;
	if (west)
		*seconds = -*seconds;
	return true;
}

static bool
at_end(KilnTimeText *in)
{
	return in->pos == in->end || fail_time(in, ERRCODE_INVALID_DATETIME_FORMAT);
}

static bool
report_time(const KilnTimeText *in, const char *word, const char *text, size_t length, kiln_error *error)
{
	char		clip[KILN_CLIP];

	kiln_clip(text, length, clip);
	if (in->fault == ERRCODE_INVALID_DATETIME_FORMAT)
		return kiln_source_fail(error, in->fault, "\"%s\" is no %s of the form that kiln reads", clip, word);
	if (in->fault == ERRCODE_INVALID_TIME_ZONE_DISPLACEMENT_VALUE)
		return kiln_source_fail(error, in->fault, "time zone of \"%s\" is out of range", clip);
	return kiln_source_fail(error, in->fault, "\"%s\" is out of range for type %s", clip, word);
}

/* The two words; false if it is neither. */
static bool
infinity_word(const char *text, size_t length, int64_t below, int64_t above, int64_t *value)
{
	if (length == 8 && memcmp(text, "infinity", 8) == 0)
		*value = above;
	else if (length == 9 && memcmp(text, "-infinity", 9) == 0)
		*value = below;
	else
		return false;
	return true;
}

static bool
read_date(KilnTimeText *in, int64_t *days)
{
	bool		bc = ends_in_bc(in);
	int			year;
	int			month;
	int			day;

	if (!take_date(in, bc, &year, &month, &day) || !at_end(in))
		return false;
	if (!IS_VALID_JULIAN(year, month, day))
		return fail_time(in, ERRCODE_DATETIME_FIELD_OVERFLOW);
	*days = (int64_t) date2j(year, month, day) - POSTGRES_EPOCH_JDATE;
	return kiln_date_valid((int32_t) *days) || fail_time(in, ERRCODE_DATETIME_FIELD_OVERFLOW);
}

bool
kiln_date_in(const char *text, size_t length, int64_t *days, kiln_error *error)
{
	KilnTimeText in = {text, text + length, 0};

	if (infinity_word(text, length, INT32_MIN, INT32_MAX, days) || read_date(&in, days))
		return true;
	return report_time(&in, "date", text, length, error);
}

static bool
read_timestamp(KilnTimeText *in, bool zone, int64_t *microseconds)
{
	bool		bc = ends_in_bc(in);
	int			year;
	int			month;
	int			day;
	int64		time;
	int			east = 0;

	if (!take_date(in, bc, &year, &month, &day) || !want(in, 'T') || !take_time(in, &time))
		return false;
	if (zone && !take_zone(in, &east))
		return false;
	if (!at_end(in))
		return false;
	/* a zone may lead across the first or last year, and only just */
	if (year < -4713 || year > 294277)
		return fail_time(in, ERRCODE_DATETIME_FIELD_OVERFLOW);
	*microseconds = ((int64_t) date2j(year, month, day) - POSTGRES_EPOCH_JDATE) * USECS_PER_DAY + time -
		east * USECS_PER_SEC;
	if (!kiln_timestamp_valid(*microseconds))
		return fail_time(in, ERRCODE_DATETIME_FIELD_OVERFLOW);
	return true;
}

bool
kiln_timestamp_in(const char *text, size_t length, bool zone, int64_t *microseconds, kiln_error *error)
{
	KilnTimeText in = {text, text + length, 0};

	if (infinity_word(text, length, PG_INT64_MIN, PG_INT64_MAX, microseconds) ||
		read_timestamp(&in, zone, microseconds))
		return true;
	return report_time(&in, zone ? "timestamptz" : "timestamp", text, length, error);
}

/* ------------------------------------------------------------------ base64 */

static const char base64_digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/* Value of a digit, -1 if it is none. */
static int
base64_value(char c)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (c >= '0' && c <= '9')
		return c - '0' + 52;
	return c == '+' ? 62 : c == '/' ? 63 : -1;
}

bool
kiln_base64_length(const char *text, size_t length, size_t *bytes)
{
	if (length % 4 != 0)
		return false;
	*bytes = length / 4 * 3;
	if (length > 0 && text[length - 1] == '=')
		*bytes -= text[length - 2] == '=' ? 2 : 1;
	return true;
}

/* Up to four digits into a word of 24 bits, from the left; false if one is none. */
static bool
base64_group(const char *text, int digits, uint32 *word)
{
	*word = 0;
	for (int i = 0; i < digits; i++)
	{
		int			value = base64_value(text[i]);

		if (value < 0)
			return false;
		*word |= (uint32) value << (18 - 6 * i);
	}
	return true;
}

bool
kiln_base64_decode(const char *text, size_t length, uint8_t *out)
{
	size_t		bytes;
	uint32		word;
	int			rest;

	if (!kiln_base64_length(text, length, &bytes))
		return false;
	for (size_t i = 0; i < bytes / 3; i++, text += 4)
	{
		if (!base64_group(text, 4, &word))
			return false;
		*out++ = (uint8_t) (word >> 16);
		*out++ = (uint8_t) (word >> 8);
		*out++ = (uint8_t) word;
	}
	rest = (int) (bytes % 3);
	if (rest == 0)
		return true;
	/* the bits that make no byte are zero */
	if (!base64_group(text, rest + 1, &word) || (word & (0xffffff >> (8 * rest))) != 0)
		return false;
	*out++ = (uint8_t) (word >> 16);
	if (rest == 2)
		*out++ = (uint8_t) (word >> 8);
	return true;
}

size_t
kiln_base64_encoded(size_t bytes)
{
	return (bytes + 2) / 3 * 4;
}

void
kiln_base64_encode(const uint8_t *bytes, size_t n, char *out)
{
	for (; n > 0; bytes += 3)
	{
		uint32		word = (uint32) bytes[0] << 16 | (n > 1 ? (uint32) bytes[1] << 8 : 0) | (n > 2 ? bytes[2] : 0);

		*out++ = base64_digits[word >> 18];
		*out++ = base64_digits[word >> 12 & 0x3f];
		*out++ = n > 1 ? base64_digits[word >> 6 & 0x3f] : '=';
		*out++ = n > 2 ? base64_digits[word & 0x3f] : '=';
		n -= Min(n, 3);
	}
}
