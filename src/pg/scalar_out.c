/*
 * Scalars to text (docs/FORMAT.md, section 5). No setting has a say: floats print their shortest digits whatever
 * extra_float_digits is, dates and timestamps as core's jsonb has them, timestamptz in UTC.
 */
#include "kiln_text.h"

#include <math.h>

#include "catalog/pg_type.h"
#include "common/shortest_dec.h"
#include "utils/builtins.h"
#include "utils/date.h"
#include "utils/datetime.h"
#include "utils/json.h"
#include "utils/timestamp.h"

/* ------------------------------------------------------------------ floats */

/* NaN and the infinities. canonical: the bits of the one NaN that prints as NaN; digits: of its bits in hex. */
static int
print_special(uint64 bits, uint64 canonical, bool infinite, bool negative, int digits, char *out)
{
	if (infinite)
		return sprintf(out, negative ? "-Infinity" : "Infinity");
	if (bits == canonical)
		return sprintf(out, "NaN");
	return sprintf(out, "NaN(0x%0*llx)", digits, (unsigned long long) bits);
}

int
kiln_print_f64(double v, char *out)
{
	uint64		bits;

	memcpy(&bits, &v, sizeof bits);
	if (!isfinite(v))
		return print_special(bits, UINT64CONST(0x7ff8000000000000), isinf(v), v < 0, 16, out);
	return double_to_shortest_decimal_buf(v, out);
}

int
kiln_print_f32(float v, char *out)
{
	uint32		bits;

	memcpy(&bits, &v, sizeof bits);
	if (!isfinite(v))
		return print_special(bits, 0x7fc00000, isinf(v), v < 0, 8, out);
	return float_to_shortest_decimal_buf(v, out);
}

/*
 * Digits of a 16-bit float: the fewest that lie strictly between the points half-way to its neighbours, and of
 * those the nearest. Five digits always do, so trying is quick. On return digits holds them without a point, and
 * the value is d.ddd × 10^exponent.
 */
static int
half_digits(double value, double low, double high, char *digits, int *exponent)
{
	char		text[32];

	for (int n = 1;; n++)
	{
		double		best = 0;
		double		unit;
		int			power;

		/* the nearest decimal of n digits, and its neighbours: below a power of two the nearest may lie too low */
		snprintf(text, sizeof text, "%.*e", n - 1, value);
		power = atoi(strchr(text, 'e') + 1);
		snprintf(text, sizeof text, "1e%d", power - (n - 1));
		unit = strtod(text, NULL);
		for (int step = -1; step <= 1; step++)
		{
			double		candidate;
			double		whole = rint(value / unit) + step;

			snprintf(text, sizeof text, "%.0fe%d", whole, power - (n - 1));
			candidate = strtod(text, NULL);
			if (candidate > low && candidate < high &&
				(best == 0 || fabs(candidate - value) < fabs(best - value)))
				best = candidate;
		}
		if (best == 0 && n < 9)
			continue;
		snprintf(text, sizeof text, "%.*e", n - 1, best == 0 ? value : best);
		digits[0] = text[0];
		memcpy(digits + 1, text + 2, n - 1);
		*exponent = atoi(strchr(text, 'e') + 1);
		while (n > 1 && digits[n - 1] == '0')
			n--;
		return n;
	}
}

/* Lay digits out as float4out does: an exponent below 1e-4 and from 1e6. */
static int
lay_out(const char *digits, int n, int exponent, char *out)
{
	char	   *p = out;

	if (exponent < -4 || exponent >= 6)
	{
		*p++ = digits[0];
		if (n > 1)
		{
			*p++ = '.';
			memcpy(p, digits + 1, n - 1);
			p += n - 1;
		}
		return (int) (p - out) + sprintf(p, "e%c%02d", exponent < 0 ? '-' : '+', abs(exponent));
	}
	if (exponent < 0)
	{
		*p++ = '0';
		*p++ = '.';
		for (int i = -1; i > exponent; i--)
			*p++ = '0';
		memcpy(p, digits, n);
		p += n;
	}
	else
	{
		for (int i = 0; i < Max(n, exponent + 1); i++)
		{
			if (i == exponent + 1)
				*p++ = '.';
			*p++ = i < n ? digits[i] : '0';
		}
	}
	*p = '\0';
	return (int) (p - out);
}

int
kiln_print_half(uint8_t dtype, uint16_t half, char *out)
{
	bool		f16 = dtype == KILN_DTYPE_F16;
	float		(*widen) (uint16_t) = f16 ? kiln_f16_to_f32 : kiln_bf16_to_f32;
	uint16_t	infinity = f16 ? 0x7c00 : 0x7f80;
	uint16_t	magnitude = half & 0x7fff;
	bool		negative = (half & 0x8000) != 0;
	double		value;
	double		low;
	double		high;
	char		digits[16];
	int			exponent;
	int			n;

	if (magnitude >= infinity)
		return print_special(half, f16 ? 0x7e00 : 0x7fc0, magnitude == infinity, negative, 4, out);
	if (magnitude == 0)
		return sprintf(out, negative ? "-0" : "0");
	value = widen(magnitude);
	low = ((double) widen(magnitude - 1) + value) / 2;
	/* above the largest there would be one more, as far away as the one below */
	high = magnitude + 1 == infinity ? value + (value - low) : ((double) widen(magnitude + 1) + value) / 2;
	n = half_digits(value, low, high, digits, &exponent);
	if (negative)
		*out++ = '-';
	return (negative ? 1 : 0) + lay_out(digits, n, exponent, out);
}

/* ------------------------------------------------------------------ integers, times, uuid */

int
kiln_print_integer(const kiln_type *type, const uint8_t *data, char *out)
{
	if (type->kind <= KILN_I64)
		return pg_lltoa(kiln_view_signed(type, data), out);
	return pg_ulltoa_n(kiln_view_unsigned(type, data), out);
}

bool
kiln_print_time(const kiln_type *type, const uint8_t *data, char *out)
{
	static const int utc = 0;
	int64		value;

	if (type->kind == KILN_DATE)
	{
		int32		days = (int32) kiln_load_u32(data);

		if (!kiln_date_valid(days))
			return false;
		JsonEncodeDateTime(out, DateADTGetDatum(days), DATEOID, NULL);
		return true;
	}
	value = (int64) kiln_load_u64(data);
	if (!kiln_timestamp_valid(value))
		return false;
	if (type->kind == KILN_TIMESTAMP)
		JsonEncodeDateTime(out, TimestampGetDatum(value), TIMESTAMPOID, NULL);
	else
		JsonEncodeDateTime(out, TimestampTzGetDatum(value), TIMESTAMPTZOID, &utc);
	return true;
}

int
kiln_print_uuid(const uint8_t *data, char *out)
{
	static const char hex[] = "0123456789abcdef";
	char	   *p = out;

	for (int i = 0; i < 16; i++)
	{
		if (i == 4 || i == 6 || i == 8 || i == 10)
			*p++ = '-';
		*p++ = hex[data[i] >> 4];
		*p++ = hex[data[i] & 0xf];
	}
	return (int) (p - out);
}
