/*
 * Decimal text into numbers (docs/FORMAT.md, section 5).
 *
 * A number is taken apart once, and no double ever stands between a decimal and what is made of it: an integer is
 * exact or refused, a float is rounded once from the decimal itself, a numeric is spelled out with its scale.
 * Exponents are only counted, never expanded before it is known that the result is short enough.
 */
#include "kiln_text.h"

#include <math.h>

/* The digits of a decimal that count: without zeros in front and behind. Their value is digits × 10^exponent. */
typedef struct KilnDigits
{
	const KilnDecimal *decimal;
	size_t		first;			/* positions in whole and fraction joined */
	size_t		count;
	int64		exponent;
} KilnDigits;

/* ------------------------------------------------------------------ the parts of a number */

static size_t
count_digits(const char *p, const char *end)
{
	const char *start = p;

	while (p < end && *p >= '0' && *p <= '9')
		p++;
	return p - start;
}

static bool
all_zeros(const char *digits, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (digits[i] != '0')
			return false;
	return true;
}

/* [eE][+-]?digits at *pos. */
static bool
parse_exponent(const char **pos, const char *end, int64 *exponent)
{
	const char *p = *pos + 1;
	bool		negative = false;
	size_t		n;
	int64		value = 0;

	if (p < end && (*p == '+' || *p == '-'))
		negative = (*p++ == '-');
	n = count_digits(p, end);
	if (n == 0)
		return false;
	for (size_t i = 0; i < n; i++)
		value = Min(value * 10 + (p[i] - '0'), KILN_EXPONENT_MAX);
	*exponent = negative ? -value : value;
	*pos = p + n;
	return true;
}

bool
kiln_decimal_parse(const char *text, size_t length, KilnDecimal *decimal)
{
	const char *p = text;
	const char *end = text + length;

	decimal->negative = (p < end && *p == '-');
	if (decimal->negative)
		p++;
	decimal->whole = p;
	decimal->whole_length = count_digits(p, end);
	if (decimal->whole_length == 0 || (*p == '0' && decimal->whole_length > 1))
		return false;
	p += decimal->whole_length;
	decimal->fraction = p;
	decimal->fraction_length = 0;
	decimal->exponent = 0;
	decimal->integer = (p == end);
	if (p < end && *p == '.')
	{
		decimal->fraction = ++p;
		decimal->fraction_length = count_digits(p, end);
		if (decimal->fraction_length == 0)
			return false;
		p += decimal->fraction_length;
	}
	decimal->plain = (p == end);
	if (p < end && (*p == 'e' || *p == 'E') && !parse_exponent(&p, end, &decimal->exponent))
		return false;
	decimal->zero = all_zeros(decimal->whole, decimal->whole_length) &&
		all_zeros(decimal->fraction, decimal->fraction_length);
	return p == end;
}

/* Digit at a position of whole and fraction joined. */
static inline char
digit_at(const KilnDecimal *decimal, size_t position)
{
	return position < decimal->whole_length ? decimal->whole[position]
		: decimal->fraction[position - decimal->whole_length];
}

/* decimal: not zero. */
static void
find_digits(const KilnDecimal *decimal, KilnDigits *digits)
{
	size_t		end = decimal->whole_length + decimal->fraction_length;

	digits->decimal = decimal;
	digits->exponent = decimal->exponent - (int64) decimal->fraction_length;
	for (digits->first = 0; digit_at(decimal, digits->first) == '0'; digits->first++)
		;
	for (; digit_at(decimal, end - 1) == '0'; end--)
		digits->exponent++;
	digits->count = end - digits->first;
}

/* Compare two decimals, neither zero, without regard to signs. */
static int
compare_magnitudes(const KilnDecimal *a, const KilnDecimal *b)
{
	KilnDigits	x;
	KilnDigits	y;
	int64		above_x;
	int64		above_y;

	find_digits(a, &x);
	find_digits(b, &y);
	above_x = x.exponent + (int64) x.count;
	above_y = y.exponent + (int64) y.count;
	if (above_x != above_y)
		return above_x < above_y ? -1 : 1;
	for (size_t i = 0; i < x.count && i < y.count; i++)
	{
		char		c = digit_at(a, x.first + i);
		char		d = digit_at(b, y.first + i);

		if (c != d)
			return c < d ? -1 : 1;
	}
	return x.count == y.count ? 0 : x.count < y.count ? -1 : 1;
}

/* ------------------------------------------------------------------ faults */

static bool
no_number(const char *word, const char *text, size_t length, kiln_error *error)
{
	char		clip[KILN_CLIP];

	return kiln_source_fail(error, ERRCODE_INVALID_TEXT_REPRESENTATION, "\"%s\" is no %s",
							kiln_clip(text, length, clip), word);
}

static bool
out_of_range(const char *word, const char *text, size_t length, kiln_error *error)
{
	char		clip[KILN_CLIP];

	return kiln_source_fail(error, ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE, "\"%s\" is out of range for type %s",
							kiln_clip(text, length, clip), word);
}

static bool
is_word(const char *text, size_t length, const char *word)
{
	return length == strlen(word) && memcmp(text, word, length) == 0;
}

/* ------------------------------------------------------------------ integers */

/* The whole number that a decimal is. False with *fits unset: it has a fraction; with *fits: it passes 64 bits. */
static bool
whole_number(const KilnDecimal *decimal, uint64 *magnitude, bool *too_large)
{
	KilnDigits	digits;
	uint64		value = 0;

	*magnitude = 0;
	*too_large = false;
	if (decimal->zero)
		return true;
	find_digits(decimal, &digits);
	if (digits.exponent < 0)
		return false;
	*too_large = digits.exponent > 20 || (int64) digits.count + digits.exponent > 20;
	if (*too_large)
		return false;
	for (size_t i = 0; i < digits.count + digits.exponent; i++)
	{
		int			digit = i < digits.count ? digit_at(decimal, digits.first + i) - '0' : 0;

		if (value > (PG_UINT64_MAX - digit) / 10)
		{
			*too_large = true;
			return false;
		}
		value = value * 10 + digit;
	}
	*magnitude = value;
	return true;
}

/* Bits of an integer kind, and whether it has a sign. */
static int
integer_bits(uint8_t kind, bool *is_signed)
{
	*is_signed = kind <= KILN_I64;
	return 8 << (kind - (*is_signed ? KILN_I8 : KILN_U8));
}

bool
kiln_integer_in(uint8_t kind, const char *text, size_t length, kiln_scalar *value, kiln_error *error)
{
	KilnDecimal decimal;
	uint64		magnitude;
	uint64		most;
	bool		too_large;
	bool		is_signed;
	int			bits = integer_bits(kind, &is_signed);

	if (!kiln_decimal_parse(text, length, &decimal))
		return no_number("number", text, length, error);
	if (!whole_number(&decimal, &magnitude, &too_large))
	{
		if (!too_large)
			return no_number("integer", text, length, error);
		return out_of_range(kiln_kind_word(kind), text, length, error);
	}
	if (is_signed)
		most = (UINT64CONST(1) << (bits - 1)) - (decimal.negative ? 0 : 1);
	else
		most = decimal.negative ? 0 : PG_UINT64_MAX >> (64 - bits);
	if (magnitude > most)
		return out_of_range(kiln_kind_word(kind), text, length, error);
	value->u64 = decimal.negative ? 0 - magnitude : magnitude;
	return true;
}

/* ------------------------------------------------------------------ floats */

/*
 * Text as a C string for strtod(). The server keeps LC_NUMERIC at C, so that the point is one. buffer holds
 * FLOAT_BUFFER bytes; a longer text is copied to CurrentMemoryContext, and the caller gives it back.
 */
#define FLOAT_BUFFER 64

static char *
float_text(const char *text, size_t length, char *buffer)
{
	char	   *copy = length < FLOAT_BUFFER ? buffer : palloc(length + 1);

	memcpy(copy, text, length);
	copy[length] = '\0';
	return copy;
}

/* Bits of "NaN(0x…)" with that many digits; *bits is left alone if it is something else. */
static bool
nan_bits(const char *text, size_t length, int digits, uint64 *bits)
{
	uint64		value = 0;

	if (length != 7 + (size_t) digits || memcmp(text, "NaN(0x", 6) != 0 || text[length - 1] != ')')
		return false;
	for (const char *p = text + 6; p < text + length - 1; p++)
	{
		if (*p >= '0' && *p <= '9')
			value = value << 4 | (*p - '0');
		else if (*p >= 'a' && *p <= 'f')
			value = value << 4 | (*p - 'a' + 10);
		else
			return false;
	}
	*bits = value;
	return true;
}

/*
 * The words of a float of that many hex digits, whose infinity has these bits and whose fraction that many. False
 * if the text is none of them.
 */
static bool
float_word(const char *text, size_t length, int digits, uint64 infinity, int fraction_bits, uint64 *bits)
{
	uint64		sign = UINT64CONST(1) << (digits * 4 - 1);

	if (is_word(text, length, "NaN"))
		*bits = infinity | UINT64CONST(1) << (fraction_bits - 1);
	else if (is_word(text, length, "Infinity"))
		*bits = infinity;
	else if (is_word(text, length, "-Infinity"))
		*bits = infinity | sign;
	else
		return nan_bits(text, length, digits, bits) && (*bits & ~sign) > infinity;
	return true;
}

bool
kiln_f64_in(const char *text, size_t length, bool words, double *value, kiln_error *error)
{
	KilnDecimal decimal;
	char		buffer[FLOAT_BUFFER];
	char	   *copy;
	uint64		bits;

	if (!kiln_decimal_parse(text, length, &decimal))
	{
		if (!words || !float_word(text, length, 16, UINT64CONST(0x7ff0000000000000), 52, &bits))
			return no_number("number", text, length, error);
		memcpy(value, &bits, sizeof bits);
		return true;
	}
	copy = float_text(text, length, buffer);
	*value = strtod(copy, NULL);
	if (copy != buffer)
		pfree(copy);
	if (isinf(*value) || (*value == 0 && !decimal.zero))
		return out_of_range("f64", text, length, error);
	return true;
}

bool
kiln_f32_in(const char *text, size_t length, bool words, float *value, kiln_error *error)
{
	KilnDecimal decimal;
	char		buffer[FLOAT_BUFFER];
	char	   *copy;
	uint64		bits;
	uint32		narrow;

	if (!kiln_decimal_parse(text, length, &decimal))
	{
		if (!words || !float_word(text, length, 8, 0x7f800000, 23, &bits))
			return no_number("number", text, length, error);
		narrow = (uint32) bits;
		memcpy(value, &narrow, sizeof narrow);
		return true;
	}
	copy = float_text(text, length, buffer);
	*value = strtof(copy, NULL);
	if (copy != buffer)
		pfree(copy);
	if (isinf(*value) || (*value == 0 && !decimal.zero))
		return out_of_range("f32", text, length, error);
	return true;
}

/* On which side of a double does the decimal stand that was rounded to it? Both are finite and not zero. */
static int
side_of(const KilnDecimal *decimal, double rounded)
{
	char		exact[256];
	KilnDecimal other;
	int			n;

	/* a double that lies between two halves has fewer digits than this, so that it is printed exactly */
	n = snprintf(exact, sizeof exact, "%.200e", fabs(rounded));
	if (!kiln_decimal_parse(exact, n, &other))
		return 0;
	n = compare_magnitudes(decimal, &other);
	return decimal->negative ? -n : n;
}

/*
 * A 16-bit float is rounded from the nearest double. That is one rounding too many only if this double lies
 * exactly between two halves, which shows in that its neighbours round apart: then the decimal itself decides.
 */
bool
kiln_half_in(uint8_t dtype, const char *text, size_t length, bool words, uint16_t *value, kiln_error *error)
{
	bool		f16 = dtype == KILN_DTYPE_F16;
	uint16_t	(*narrow) (double) = f16 ? kiln_f16_from_f64 : kiln_bf16_from_f64;
	uint16_t	infinity = f16 ? 0x7c00 : 0x7f80;
	const char *word = f16 ? "f16" : "bf16";
	KilnDecimal decimal;
	double		wide;
	uint64		bits;
	uint16_t	below;
	uint16_t	above;

	if (!kiln_decimal_parse(text, length, &decimal))
	{
		if (!words || !float_word(text, length, 4, infinity, f16 ? 10 : 7, &bits))
			return no_number("number", text, length, error);
		*value = (uint16_t) bits;
		return true;
	}
	if (!kiln_f64_in(text, length, false, &wide, NULL))
		return out_of_range(word, text, length, error);
	*value = narrow(wide);
	below = narrow(nextafter(wide, -INFINITY));
	above = narrow(nextafter(wide, INFINITY));
	if (below != above && !decimal.zero)
	{
		int			side = side_of(&decimal, wide);

		if (side != 0)
			*value = side < 0 ? below : above;
	}
	if ((*value & 0x7fff) >= infinity || ((*value & 0x7fff) == 0 && !decimal.zero))
		return out_of_range(word, text, length, error);
	return true;
}

/* ------------------------------------------------------------------ numeric */

/* core's numeric takes no exponent beyond this, even of zero */
#define NUMERIC_EXPONENT_MAX	(PG_INT32_MAX / 2)
#define NUMERIC_WHOLE_DIGITS	131072
#define NUMERIC_SCALE			16383

/* Digits behind the point, written out. */
static int64
scale_of(const KilnDecimal *decimal)
{
	int64		scale = (int64) decimal->fraction_length - decimal->exponent;

	return Max(scale, 0);
}

bool
kiln_decimal_fits_numeric(const KilnDecimal *decimal)
{
	KilnDigits	digits;

	if (decimal->exponent > NUMERIC_EXPONENT_MAX || decimal->exponent < -NUMERIC_EXPONENT_MAX)
		return false;
	if (scale_of(decimal) > NUMERIC_SCALE)
		return false;
	if (decimal->zero)
		return true;
	find_digits(decimal, &digits);
	return (int64) digits.count + digits.exponent <= NUMERIC_WHOLE_DIGITS;
}

/* Digit of the power of ten 10^power. */
static inline char
digit_of_power(const KilnDecimal *decimal, int64 power)
{
	int64		position = (int64) decimal->whole_length + decimal->exponent - 1 - power;

	if (position < 0 || position >= (int64) (decimal->whole_length + decimal->fraction_length))
		return '0';
	return digit_at(decimal, (size_t) position);
}

/* Write a decimal that fits out in digits. */
static const char *
spell_out(const KilnDecimal *decimal, MemoryContext context, size_t *length)
{
	KilnDigits	digits;
	int64		top = 0;		/* power of ten of the first digit */
	int64		scale = scale_of(decimal);
	char	   *text;
	char	   *p;

	if (!decimal->zero)
	{
		find_digits(decimal, &digits);
		top = Max((int64) digits.count + digits.exponent - 1, 0);
	}
	p = text = MemoryContextAlloc(context, top + scale + 4);
	if (decimal->negative && !decimal->zero)
		*p++ = '-';
	for (int64 power = top; power >= 0; power--)
		*p++ = digit_of_power(decimal, power);
	if (scale > 0)
		*p++ = '.';
	for (int64 power = -1; power >= -scale; power--)
		*p++ = digit_of_power(decimal, power);
	*length = p - text;
	return text;
}

bool
kiln_numeric_in(const char *text, size_t length, bool words, MemoryContext context,
				const char **spelling, size_t *spelling_length, kiln_error *error)
{
	KilnDecimal decimal;

	*spelling = text;
	*spelling_length = length;
	if (!kiln_decimal_parse(text, length, &decimal))
	{
		if (words && (is_word(text, length, "NaN") || is_word(text, length, "Infinity") ||
					  is_word(text, length, "-Infinity")))
			return true;
		return no_number("number", text, length, error);
	}
	if (!kiln_decimal_fits_numeric(&decimal))
		return out_of_range("numeric", text, length, error);
	if (!decimal.plain || (decimal.negative && decimal.zero))
		*spelling = spell_out(&decimal, context, spelling_length);
	return true;
}
