/*
 * A JSON checker for tests: see json_check.h. Recursive descent; each function takes the place of an item and returns
 * the place after it, or NULL.
 */
#include "json_check.h"

#define MAX_LEVELS		200
#define MAX_EXPONENT	1073741823	/* core's numeric reads no longer exponent */
#define MAX_WEIGHT		131071		/* power of ten of the first digit that is not zero */
#define MAX_SCALE		16383

const kiln_json_check json_checker = {json_check_text, NULL};

static const uint8_t *json_value(const uint8_t *p, const uint8_t *end, int levels);

static const uint8_t *
json_space(const uint8_t *p, const uint8_t *end)
{
	while (p < end && (*p == ' ' || *p == '\t' || *p == '\n' || *p == '\r'))
		p++;
	return p;
}

static bool
json_digit(const uint8_t *p, const uint8_t *end)
{
	return p < end && *p >= '0' && *p <= '9';
}

/* Four hex digits, -1 if there are none. */
static int
json_unit(const uint8_t *p, const uint8_t *end)
{
	int			unit = 0;

	if (end - p < 4)
		return -1;
	for (int i = 0; i < 4; i++)
	{
		uint8_t		c = p[i];

		if (c >= '0' && c <= '9')
			unit = unit * 16 + c - '0';
		else if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f')
			unit = unit * 16 + (c | 0x20) - 'a' + 10;
		else
			return -1;
	}
	return unit;
}

/* p is after \u. */
static const uint8_t *
json_unicode(const uint8_t *p, const uint8_t *end)
{
	int			unit = json_unit(p, end);
	int			low;

	if (unit <= 0 || (unit >= 0xdc00 && unit <= 0xdfff))
		return NULL;
	p += 4;
	if (unit < 0xd800 || unit > 0xdbff)
		return p;
	if (end - p < 6 || p[0] != '\\' || p[1] != 'u')
		return NULL;
	low = json_unit(p + 2, end);
	return low >= 0xdc00 && low <= 0xdfff ? p + 6 : NULL;
}

/* p is at the opening quote. */
static const uint8_t *
json_string(const uint8_t *p, const uint8_t *end)
{
	p++;
	while (p != NULL && p < end)
	{
		uint8_t		c = *p++;

		if (c == '"')
			return p;
		if (c < 0x20)
			return NULL;
		if (c != '\\')
			continue;
		if (p == end)
			return NULL;
		c = *p++;
		if (c == 'u')
			p = json_unicode(p, end);
		else if (strchr("\"\\/bfnrt", c) == NULL)
			return NULL;
	}
	return NULL;
}

/* Does the number with these digits and this exponent fit into numeric? */
static bool
json_number_fits(const uint8_t *digits, const uint8_t *after, long exponent)
{
	const uint8_t *point = memchr(digits, '.', (size_t) (after - digits));
	long		whole = (point != NULL ? point : after) - digits;
	long		scale = (point != NULL ? after - point - 1 : 0) - exponent;
	long		weight = whole - 1 + exponent;

	for (const uint8_t *p = digits; p < after; p++)
	{
		if (*p == '.')
			continue;
		if (*p != '0')
			return weight <= MAX_WEIGHT && scale <= MAX_SCALE;
		weight--;
	}
	return scale <= MAX_SCALE;	/* zero */
}

static const uint8_t *
json_number(const uint8_t *p, const uint8_t *end)
{
	const uint8_t *digits;
	const uint8_t *after;
	long		exponent = 0;

	if (*p == '-')
		p++;
	digits = p;
	if (!json_digit(p, end))
		return NULL;
	if (*p == '0')
		p++;
	else
		while (json_digit(p, end))
			p++;
	if (p < end && *p == '.')
	{
		if (!json_digit(++p, end))
			return NULL;
		while (json_digit(p, end))
			p++;
	}
	after = p;
	if (p < end && (*p == 'e' || *p == 'E'))
	{
		bool		negative = ++p < end && *p == '-';

		if (p < end && (*p == '-' || *p == '+'))
			p++;
		if (!json_digit(p, end))
			return NULL;
		for (; json_digit(p, end); p++)
			if (exponent < MAX_EXPONENT)
				exponent = exponent * 10 + *p - '0';
		if (exponent >= MAX_EXPONENT)
			return NULL;
		if (negative)
			exponent = -exponent;
	}
	return json_number_fits(digits, after, exponent) ? p : NULL;
}

/* p is at the opening bracket or brace. */
static const uint8_t *
json_container(const uint8_t *p, const uint8_t *end, int levels)
{
	bool		object = *p == '{';
	uint8_t		close = object ? '}' : ']';

	if (levels == MAX_LEVELS)
		return NULL;
	p = json_space(p + 1, end);
	if (p < end && *p == close)
		return p + 1;
	for (;;)
	{
		if (object)
		{
			if (p == end || *p != '"' || (p = json_string(p, end)) == NULL)
				return NULL;
			p = json_space(p, end);
			if (p == end || *p++ != ':')
				return NULL;
		}
		p = json_value(json_space(p, end), end, levels + 1);
		if (p == NULL)
			return NULL;
		p = json_space(p, end);
		if (p == end)
			return NULL;
		if (*p == close)
			return p + 1;
		if (*p != ',')
			return NULL;
		p = json_space(p + 1, end);
	}
}

static const uint8_t *
json_word(const uint8_t *p, const uint8_t *end, const char *word)
{
	size_t		length = strlen(word);

	return (size_t) (end - p) >= length && memcmp(p, word, length) == 0 ? p + length : NULL;
}

static const uint8_t *
json_value(const uint8_t *p, const uint8_t *end, int levels)
{
	if (p == end)
		return NULL;
	switch (*p)
	{
		case '{':
		case '[':
			return json_container(p, end, levels);
		case '"':
			return json_string(p, end);
		case 't':
			return json_word(p, end, "true");
		case 'f':
			return json_word(p, end, "false");
		case 'n':
			return json_word(p, end, "null");
		default:
			return json_number(p, end);
	}
}

bool
json_check_text(void *context, const uint8_t *text, size_t n)
{
	const uint8_t *end = text + n;
	const uint8_t *p = json_value(json_space(text, end), end, 0);

	(void) context;
	return p != NULL && json_space(p, end) == end;
}
