/*
 * Strings of JSON text: what stands between the quotes, with its escapes resolved to UTF-8.
 *
 * JSON escapes a code point as one or two UTF-16 units, so a string never grows: six bytes become at most three,
 * twelve become four. Whether the bytes outside the escapes are UTF-8 is not asked here.
 */
#include "internal.h"

/* Value of four hex digits, -1 if they are none. */
static int32_t
hex4(const uint8_t *p, const uint8_t *end)
{
	int32_t		value = 0;

	if (end - p < 4)
		return -1;
	for (int i = 0; i < 4; i++)
	{
		uint8_t		c = p[i];

		if (c >= '0' && c <= '9')
			value = value << 4 | (c - '0');
		else if (c >= 'a' && c <= 'f')
			value = value << 4 | (c - 'a' + 10);
		else if (c >= 'A' && c <= 'F')
			value = value << 4 | (c - 'A' + 10);
		else
			return -1;
	}
	return value;
}

static bool
is_high_surrogate(int32_t unit)
{
	return unit >= 0xd800 && unit <= 0xdbff;
}

static bool
is_low_surrogate(int32_t unit)
{
	return unit >= 0xdc00 && unit <= 0xdfff;
}

/* Write a code point as UTF-8; returns its length. */
static size_t
put_utf8(uint8_t *out, uint32_t c)
{
	if (c < 0x80)
	{
		out[0] = (uint8_t) c;
		return 1;
	}
	if (c < 0x800)
	{
		out[0] = (uint8_t) (0xc0 | c >> 6);
		out[1] = (uint8_t) (0x80 | (c & 0x3f));
		return 2;
	}
	if (c < 0x10000)
	{
		out[0] = (uint8_t) (0xe0 | c >> 12);
		out[1] = (uint8_t) (0x80 | (c >> 6 & 0x3f));
		out[2] = (uint8_t) (0x80 | (c & 0x3f));
		return 3;
	}
	out[0] = (uint8_t) (0xf0 | c >> 18);
	out[1] = (uint8_t) (0x80 | (c >> 12 & 0x3f));
	out[2] = (uint8_t) (0x80 | (c >> 6 & 0x3f));
	out[3] = (uint8_t) (0x80 | (c & 0x3f));
	return 4;
}

/* The byte that a one-letter escape stands for, 0 if it is none. */
static uint8_t
short_escape(uint8_t c)
{
	switch (c)
	{
		case '"':
		case '\\':
		case '/':
			return c;
		case 'b':
			return '\b';
		case 'f':
			return '\f';
		case 'n':
			return '\n';
		case 'r':
			return '\r';
		case 't':
			return '\t';
		default:
			return 0;
	}
}

/* The escape at *pos (its backslash). Moves *pos behind it and sets the code point. */
static kiln_json_escape
read_escape(const uint8_t **pos, const uint8_t *end, uint32_t *code)
{
	const uint8_t *p = *pos + 1;
	int32_t		unit;
	int32_t		low;

	if (p == end)
		return KILN_ESCAPE_MALFORMED;
	if (*p != 'u')
	{
		*code = short_escape(*p);
		*pos = p + 1;
		return *code ? KILN_ESCAPE_GOOD : KILN_ESCAPE_MALFORMED;
	}
	unit = hex4(p + 1, end);
	if (unit < 0)
		return KILN_ESCAPE_MALFORMED;
	if (unit == 0)
		return KILN_ESCAPE_NUL;
	if (is_low_surrogate(unit))
		return KILN_ESCAPE_SURROGATE;
	p += 5;
	*code = (uint32_t) unit;
	if (is_high_surrogate(unit))
	{
		if (end - p < 6 || p[0] != '\\' || p[1] != 'u')
			return KILN_ESCAPE_SURROGATE;
		low = hex4(p + 2, end);
		if (low < 0)
			return KILN_ESCAPE_MALFORMED;
		if (!is_low_surrogate(low))
			return KILN_ESCAPE_SURROGATE;
		*code = 0x10000 + ((uint32_t) (unit - 0xd800) << 10) + (uint32_t) (low - 0xdc00);
		p += 6;
	}
	*pos = p;
	return KILN_ESCAPE_GOOD;
}

kiln_json_escape
kiln_json_unescape(const uint8_t *raw, size_t n, uint8_t *out, size_t *out_length)
{
	const uint8_t *p = raw;
	const uint8_t *end = raw + n;
	size_t		length = 0;

	while (p < end)
	{
		const uint8_t *escape = memchr(p, '\\', (size_t) (end - p));
		size_t		run = (size_t) ((escape ? escape : end) - p);
		uint8_t		character[4];
		uint32_t	code = 0;
		kiln_json_escape fault;

		if (out != NULL)
			memmove(out + length, p, run);
		length += run;
		if (escape == NULL)
			break;
		p = escape;
		fault = read_escape(&p, end, &code);
		if (fault != KILN_ESCAPE_GOOD)
			return fault;
		run = put_utf8(character, code);
		if (out != NULL)
			memcpy(out + length, character, run);
		length += run;
	}
	if (out_length != NULL)
		*out_length = length;
	return KILN_ESCAPE_GOOD;
}
