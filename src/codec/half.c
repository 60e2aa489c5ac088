/*
 * The two 16-bit floats of tensors: IEEE binary16 (f16) and bfloat16 (bf16).
 *
 * Both are a sign, an exponent and a fraction, so one pair of conversions serves them. Widening is exact.
 * Narrowing takes a double and rounds it once, to nearest, ties to even; what is too large becomes an infinity,
 * and the caller says whether that may be.
 */
#include "internal.h"

typedef struct half_format
{
	int			fraction_bits;
	int			least_exponent; /* of normal numbers */
	uint16_t	infinity;		/* exponent all ones, fraction zero */
} half_format;

static const half_format f16_format = {10, -14, 0x7c00};
static const half_format bf16_format = {7, -126, 0x7f80};

static uint16_t
half_from_f64(const half_format *format, double value)
{
	uint64_t	bits;
	uint64_t	significand;
	uint64_t	quotient;
	uint64_t	rest;
	uint64_t	middle;
	uint16_t	sign;
	int			exponent;
	int			shift;

	memcpy(&bits, &value, sizeof bits);
	sign = (uint16_t) (bits >> 48 & 0x8000);
	exponent = (int) (bits >> 52 & 0x7ff) - 1023;
	significand = bits & UINT64_C(0xfffffffffffff);
	if (exponent == 1024)
	{
		if (significand == 0)
			return sign | format->infinity;
		/* a NaN keeps its sign and its upper bits, and is quiet */
		return (uint16_t) (sign | format->infinity | 1 << (format->fraction_bits - 1) |
						   significand >> (52 - format->fraction_bits));
	}
	if (exponent == -1023)
		return sign;			/* zero, or far below the least half */
	significand |= UINT64_C(1) << 52;

	/* bits of the significand that the half has no room for */
	shift = 52 - format->fraction_bits;
	if (exponent < format->least_exponent)
		shift += format->least_exponent - exponent;
	if (shift > 54)
		return sign;
	quotient = significand >> shift;
	rest = significand & ((UINT64_C(1) << shift) - 1);
	middle = UINT64_C(1) << (shift - 1);
	if (rest > middle || (rest == middle && (quotient & 1)))
		quotient++;

	/* a fraction that rounds up to one carries into the exponent by itself */
	if (exponent >= format->least_exponent)
		quotient += (uint64_t) (exponent - format->least_exponent) << format->fraction_bits;
	if (quotient >= format->infinity)
		quotient = format->infinity;
	return (uint16_t) (sign | quotient);
}

float
kiln_f16_to_f32(uint16_t half)
{
	uint32_t	sign = (uint32_t) (half & 0x8000) << 16;
	uint32_t	exponent = half >> 10 & 0x1f;
	uint32_t	fraction = half & 0x3ff;
	uint32_t	bits;
	float		value;

	if (exponent == 0x1f)
		bits = sign | 0x7f800000 | fraction << 13;
	else if (exponent != 0)
		bits = sign | (exponent + 112) << 23 | fraction << 13;
	else
	{
		/* zero, or a subnormal: fraction × 2^-24, exact in a float */
		value = (float) fraction * (1.0f / 16777216.0f);
		memcpy(&bits, &value, sizeof bits);
		bits |= sign;
	}
	memcpy(&value, &bits, sizeof value);
	return value;
}

float
kiln_bf16_to_f32(uint16_t half)
{
	uint32_t	bits = (uint32_t) half << 16;
	float		value;

	memcpy(&value, &bits, sizeof value);
	return value;
}

uint16_t
kiln_f16_from_f64(double value)
{
	return half_from_f64(&f16_format, value);
}

uint16_t
kiln_bf16_from_f64(double value)
{
	return half_from_f64(&bf16_format, value);
}
