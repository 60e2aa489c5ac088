/*
 * Elements from one dtype to another.
 *
 * Every conversion is exact or rounds once, and what does not fit is an error, the same through every route. An
 * element on its way is an integer with a sign, or a double; f64 to f32, the way that narrows most data, has its
 * own loop.
 */
#include "kiln_tensor.h"

#include "kiln_text.h"

#include <math.h>

#include "access/transam.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "utils/lsyscache.h"

typedef struct Element
{
	bool		is_float;
	bool		negative;
	uint64		magnitude;		/* of an integer */
	double		value;			/* of a float */
} Element;

static bool
dtype_is_float(uint8_t dtype)
{
	return dtype >= KILN_DTYPE_F16;
}

static Element
element_signed(int64 v)
{
	Element		element = {false, v < 0, v < 0 ? 0 - (uint64) v : (uint64) v, 0};

	return element;
}

static Element
element_unsigned(uint64 v)
{
	Element		element = {false, false, v, 0};

	return element;
}

static Element
element_float(double v)
{
	Element		element = {true, false, 0, v};

	return element;
}

static Element
element_load(uint8_t dtype, const uint8_t *p)
{
	switch (dtype)
	{
		case KILN_DTYPE_BOOL:
		case KILN_DTYPE_U8:
			return element_unsigned(*p);
		case KILN_DTYPE_I8:
			return element_signed((int8) *p);
		case KILN_DTYPE_I16:
			return element_signed((int16) kiln_load_u16(p));
		case KILN_DTYPE_I32:
			return element_signed((int32) kiln_load_u32(p));
		case KILN_DTYPE_I64:
			return element_signed((int64) kiln_load_u64(p));
		case KILN_DTYPE_U16:
			return element_unsigned(kiln_load_u16(p));
		case KILN_DTYPE_U32:
			return element_unsigned(kiln_load_u32(p));
		case KILN_DTYPE_U64:
			return element_unsigned(kiln_load_u64(p));
		default:
			return element_float(kiln_element_f64(dtype, p));
	}
}

/* One element as a double: integers are rounded once. */
double
kiln_element_f64(uint8_t dtype, const uint8_t *p)
{
	Element		element;

	switch (dtype)
	{
		case KILN_DTYPE_F64:
			return kiln_load_f64(p);
		case KILN_DTYPE_F32:
			return kiln_load_f32(p);
		case KILN_DTYPE_F16:
			return kiln_f16_to_f32(kiln_load_u16(p));
		case KILN_DTYPE_BF16:
			return kiln_bf16_to_f32(kiln_load_u16(p));
		default:
			element = element_load(dtype, p);
			return element.negative ? -(double) element.magnitude : (double) element.magnitude;
	}
}

/*
 * An integer as a double that rounds, in a second step to a shorter format, to what one step would give: bits that
 * the double has no room for are gathered into its last one.
 */
static double
odd_double(uint64 magnitude)
{
	if (magnitude >> 53)
	{
		int			shift = 63 - __builtin_clzll(magnitude) - 53;
		uint64		kept = magnitude >> shift;

		if ((kept << shift) != magnitude)
			magnitude = (kept | 1) << shift;
	}
	return (double) magnitude;
}

/* Range of an integer dtype: the greatest magnitude below and above zero. */
static void
integer_range(uint8_t dtype, uint64 *below, uint64 *above)
{
	int			bits = (int) kiln_dtype_width(dtype) * 8;
	bool		is_signed = dtype >= KILN_DTYPE_I8 && dtype <= KILN_DTYPE_I64;

	if (dtype == KILN_DTYPE_BOOL)
	{
		*below = 0;
		*above = 1;
		return;
	}
	*above = (is_signed ? PG_UINT64_MAX >> (65 - bits) : PG_UINT64_MAX >> (64 - bits));
	*below = is_signed ? *above + 1 : 0;
}

static bool
store_integer(uint8_t dtype, Element element, uint8_t *p)
{
	uint64		below;
	uint64		above;
	uint64		bits;

	if (element.is_float)
	{
		double		v = element.value;

		if (!(fabs(v) < 18446744073709551616.0) || v != rint(v))
			return false;
		element = v < 0 ? element_unsigned((uint64) -v) : element_unsigned((uint64) v);
		element.negative = v < 0;
	}
	integer_range(dtype, &below, &above);
	if (element.magnitude > (element.negative ? below : above))
		return false;
	bits = element.negative ? 0 - element.magnitude : element.magnitude;
	switch (kiln_dtype_width(dtype))
	{
		case 1:
			*p = (uint8_t) bits;
			break;
		case 2:
			kiln_store_u16(p, (uint16_t) bits);
			break;
		case 4:
			kiln_store_u32(p, (uint32_t) bits);
			break;
		default:
			kiln_store_u64(p, bits);
	}
	return true;
}

static bool
store_float(uint8_t dtype, Element element, uint8_t *p)
{
	double		v = element.value;
	float		narrow;
	uint16_t	half;

	if (!element.is_float)
	{
		if (dtype == KILN_DTYPE_F64)
			v = (double) element.magnitude;
		else if (dtype == KILN_DTYPE_F32)
			v = (double) (float) element.magnitude;
		else
			v = odd_double(element.magnitude);
		if (element.negative)
			v = -v;
	}
	switch (dtype)
	{
		case KILN_DTYPE_F64:
			kiln_store_f64(p, v);
			return true;
		case KILN_DTYPE_F32:
			narrow = (float) v;
			kiln_store_f32(p, narrow);
			break;
		default:
			half = dtype == KILN_DTYPE_F16 ? kiln_f16_from_f64(v) : kiln_bf16_from_f64(v);
			narrow = dtype == KILN_DTYPE_F16 ? kiln_f16_to_f32(half) : kiln_bf16_to_f32(half);
			kiln_store_u16(p, half);
	}
	return !(isinf(narrow) && !isinf(v)) && !(narrow == 0 && v != 0);
}

void
kiln_report_element(uint8_t dtype, uint64 position)
{
	ereport(ERROR,
			(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
			 errmsg("value out of range for dtype %s", kiln_dtype_name(dtype)),
			 errdetail("Element %llu, counted in row-major order from 1, does not fit.",
					   (unsigned long long) position + 1)));
}

/* f64 to f32. */
static void
narrow_f64(const uint8_t *source, uint8_t *target, uint64 n, uint64 first)
{
	for (uint64 i = 0; i < n; i++)
	{
		double		v = kiln_load_f64(source + i * 8);
		float		narrow = (float) v;

		if (unlikely((isinf(narrow) && !isinf(v)) || (narrow == 0 && v != 0)))
			kiln_report_element(KILN_DTYPE_F32, first + i);
		kiln_store_f32(target + i * 4, narrow);
	}
}

void
kiln_elements_f64(uint8_t dtype, const uint8_t *source, double *target, uint64 n)
{
	switch (dtype)
	{
		case KILN_DTYPE_F64:
			for (uint64 i = 0; i < n; i++)
				target[i] = kiln_load_f64(source + i * 8);
			break;
		case KILN_DTYPE_F32:
			for (uint64 i = 0; i < n; i++)
				target[i] = kiln_load_f32(source + i * 4);
			break;
		case KILN_DTYPE_I64:
			for (uint64 i = 0; i < n; i++)
				target[i] = (double) (int64) kiln_load_u64(source + i * 8);
			break;
		case KILN_DTYPE_I32:
			for (uint64 i = 0; i < n; i++)
				target[i] = (int32) kiln_load_u32(source + i * 4);
			break;
		case KILN_DTYPE_I16:
			for (uint64 i = 0; i < n; i++)
				target[i] = (int16) kiln_load_u16(source + i * 2);
			break;
		default:
			for (uint64 i = 0; i < n; i++)
				target[i] = kiln_element_f64(dtype, source + i * kiln_dtype_width(dtype));
	}
}

/* To f64, by way of a buffer of doubles. */
static void
widen(uint8_t from, const uint8_t *source, uint8_t *target, uint64 n)
{
	double		buffer[512];
	uint32_t	width = kiln_dtype_width(from);

	while (n > 0)
	{
		uint64		some = Min(n, lengthof(buffer));

		kiln_elements_f64(from, source, buffer, some);
		for (uint64 i = 0; i < some; i++)
			kiln_store_f64(target + i * 8, buffer[i]);
		source += some * width;
		target += some * 8;
		n -= some;
	}
}

void
kiln_convert_elements(uint8_t from, uint8_t to, const uint8_t *source, uint8_t *target, uint64 n, uint64 first)
{
	uint32_t	from_width = kiln_dtype_width(from);
	uint32_t	to_width = kiln_dtype_width(to);

	if (n == 0)
		return;
	if (from == to)
	{
		memcpy(target, source, n * from_width);
		return;
	}
	if (to == KILN_DTYPE_F64)
	{
		widen(from, source, target, n);
		return;
	}
	if (from == KILN_DTYPE_F64 && to == KILN_DTYPE_F32)
	{
		narrow_f64(source, target, n, first);
		return;
	}
	for (uint64 i = 0; i < n; i++)
	{
		Element		element = element_load(from, source + i * from_width);
		uint8_t    *p = target + i * to_width;

		if (!(dtype_is_float(to) ? store_float(to, element, p) : store_integer(to, element, p)))
			kiln_report_element(to, first + i);
		if ((i & 0xffff) == 0xffff)
			CHECK_FOR_INTERRUPTS();
	}
}

/* The element that decimal text, or a word of FORMAT 5, stands for, rounded once. False if there is none. */
bool
kiln_element_from_text(uint8_t dtype, const char *text, size_t length, uint8_t *p)
{
	kiln_error	error;
	kiln_scalar number;

	if (dtype != KILN_DTYPE_BOOL)
		return kiln_dtype_number_in(dtype, text, length, true, p, &error);
	return kiln_integer_in(KILN_U64, text, length, &number, &error) &&
		store_integer(dtype, element_unsigned(number.u64), p);
}

uint8_t
kiln_dtype_argument(Datum word)
{
	size_t		length;
	const char *text = kiln_text_datum_to_utf8(word, &length);
	uint8_t		dtype = kiln_dtype_find(text, length);

	if (dtype == 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("unrecognized dtype \"%s\"", kiln_utf8_for_message(text, length)),
				 errhint("Known are bool, i8, i16, i32, i64, u8, u16, u32, u64, f16, bf16, f32 and f64.")));
	return dtype;
}

uint8_t
kiln_dtype_of_type(Oid type)
{
	Oid			base;

	switch (type)
	{
		case BOOLOID:
			return KILN_DTYPE_BOOL;
		case INT2OID:
			return KILN_DTYPE_I16;
		case INT4OID:
			return KILN_DTYPE_I32;
		case INT8OID:
			return KILN_DTYPE_I64;
		case FLOAT4OID:
			return KILN_DTYPE_F32;
		case FLOAT8OID:
		case NUMERICOID:
			return KILN_DTYPE_F64;
		default:
			if (type < FirstNormalObjectId)
				return 0;
			base = getBaseType(type);
			return base == type ? 0 : kiln_dtype_of_type(base);
	}
}
