/*
 * Tensors from tensors, element by element: sums, differences, products, multiples.
 *
 * Integers stay what they are; floats of 64 and of 32 bits are computed in their own width, those of 16 bits as
 * f32; an overflow is 22003. A multiple is computed as f64 and then, for floats of up to 32 bits, rounded to f32.
 * The result has the first operand's name and shape.
 */
#include "kiln_tensor.h"

#include <math.h>

#include "miscadmin.h"
#include "utils/float.h"

typedef enum Operation
{
	ADD, SUBTRACT, MULTIPLY
} Operation;

/* Elements computed between two looks at interrupts. */
#define PART	65536

static uint8_t
result_dtype(uint8_t dtype)
{
	return dtype == KILN_DTYPE_F16 || dtype == KILN_DTYPE_BF16 ? KILN_DTYPE_F32 : dtype;
}

pg_noreturn static void
overflows(uint8_t dtype, uint64 i)
{
	kiln_report_element(dtype, i);
}

/* ------------------------------------------------------------------ floats */

/*
 * A result that is not finite: an overflow if the operands are. Every NaN is made the same one, as CPUs differ in
 * the sign of those they make.
 */
static double
settle(double result, bool finite, uint8_t dtype, uint64 i)
{
	if (isnan(result))
		return get_float8_nan();
	if (finite)
		overflows(dtype, i);
	return result;
}

/* One of these a float type, so that the operation is not tested for each element. */
#define FLOAT_LOOP(ctype, load, store, operator) \
	for (uint64 i = 0; i < n; i++) \
	{ \
		ctype		a = load(x + i * sizeof(ctype)); \
		ctype		b = load(y + i * sizeof(ctype)); \
		ctype		result = a operator b; \
		\
		if (unlikely(!isfinite(result))) \
			result = (ctype) settle(result, isfinite(a) && isfinite(b), dtype, first + i); \
		store(out + i * sizeof(ctype), result); \
	}

#define FLOAT_LOOPS(ctype, load, store) \
	switch (operation) \
	{ \
		case ADD: \
			FLOAT_LOOP(ctype, load, store, +); \
			break; \
		case SUBTRACT: \
			FLOAT_LOOP(ctype, load, store, -); \
			break; \
		case MULTIPLY: \
			FLOAT_LOOP(ctype, load, store, *); \
			break; \
	}

/* ------------------------------------------------------------------ integers */

static inline bool
operate_signed(Operation operation, int64 a, int64 b, int64 *result)
{
	switch (operation)
	{
		case ADD:
			return !__builtin_add_overflow(a, b, result);
		case SUBTRACT:
			return !__builtin_sub_overflow(a, b, result);
		default:
			return !__builtin_mul_overflow(a, b, result);
	}
}

static inline bool
operate_unsigned(Operation operation, uint64 a, uint64 b, uint64 *result)
{
	switch (operation)
	{
		case ADD:
			return !__builtin_add_overflow(a, b, result);
		case SUBTRACT:
			return !__builtin_sub_overflow(a, b, result);
		default:
			return !__builtin_mul_overflow(a, b, result);
	}
}

#define INTEGER_LOOP(ctype, wide, operate, load, store) \
	for (uint64 i = 0; i < n; i++) \
	{ \
		ctype		a = (ctype) load(x + i * sizeof(ctype)); \
		ctype		b = (ctype) load(y + i * sizeof(ctype)); \
		wide		result; \
		\
		if (unlikely(!operate(operation, a, b, &result) || result != (wide) (ctype) result)) \
			overflows(dtype, first + i); \
		store(out + i * sizeof(ctype), (ctype) result); \
	}

/* n elements from first on; dtype is the result's and the operands'. */
static void
operate(Operation operation, uint8_t dtype, const uint8_t *x, const uint8_t *y, uint8_t *out, uint64 n, uint64 first)
{
	switch (dtype)
	{
		case KILN_DTYPE_F64:
			FLOAT_LOOPS(double, kiln_load_f64, kiln_store_f64);
			break;
		case KILN_DTYPE_F32:
			FLOAT_LOOPS(float, kiln_load_f32, kiln_store_f32);
			break;
		case KILN_DTYPE_I8:
			INTEGER_LOOP(int8, int64, operate_signed, kiln_load_u8, kiln_store_u8);
			break;
		case KILN_DTYPE_I16:
			INTEGER_LOOP(int16, int64, operate_signed, kiln_load_u16, kiln_store_u16);
			break;
		case KILN_DTYPE_I32:
			INTEGER_LOOP(int32, int64, operate_signed, kiln_load_u32, kiln_store_u32);
			break;
		case KILN_DTYPE_I64:
			INTEGER_LOOP(int64, int64, operate_signed, kiln_load_u64, kiln_store_u64);
			break;
		case KILN_DTYPE_U8:
			INTEGER_LOOP(uint8, uint64, operate_unsigned, kiln_load_u8, kiln_store_u8);
			break;
		case KILN_DTYPE_U16:
			INTEGER_LOOP(uint16, uint64, operate_unsigned, kiln_load_u16, kiln_store_u16);
			break;
		case KILN_DTYPE_U32:
			INTEGER_LOOP(uint32, uint64, operate_unsigned, kiln_load_u32, kiln_store_u32);
			break;
		case KILN_DTYPE_U64:
			INTEGER_LOOP(uint64, uint64, operate_unsigned, kiln_load_u64, kiln_store_u64);
			break;
		default:
			ereport(ERROR,
					(errcode(ERRCODE_DATATYPE_MISMATCH),
					 errmsg("cannot calculate with tensors of dtype %s", kiln_dtype_name(dtype)),
					 errhint("Use kiln_cast().")));
	}
}

/* ------------------------------------------------------------------ two tensors */

void
kiln_check_shapes(const kiln_tensor *a, const kiln_tensor *b)
{
	if (a->rank != b->rank || memcmp(a->shape, b->shape, a->rank * sizeof a->shape[0]) != 0)
		ereport(ERROR,
				(errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
				 errmsg("tensors differ in shape"),
				 errdetail("One is [%s], the other [%s].",
						   kiln_shape_text(a->rank, a->shape), kiln_shape_text(b->rank, b->shape))));
}

static Datum
combine(FunctionCallInfo fcinfo, Operation operation)
{
	KilnTensorReader a;
	KilnTensorReader b;
	kiln_tensor result;
	uint8_t    *payload;
	struct varlena *frame;
	uint32_t	width;
	uint8_t    *operand;

	kiln_tensor_open(&a, PG_GETARG_DATUM(0), NULL, 0);
	kiln_tensor_open(&b, PG_GETARG_DATUM(1), NULL, 0);
	kiln_check_shapes(&a.tensor, &b.tensor);
	if (a.tensor.dtype != b.tensor.dtype)
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("tensors differ in dtype"),
				 errdetail("One is of %s, the other of %s.",
						   kiln_dtype_name(a.tensor.dtype), kiln_dtype_name(b.tensor.dtype)),
				 errhint("Use kiln_cast().")));
	result = a.tensor;
	result.dtype = result_dtype(a.tensor.dtype);
	width = kiln_dtype_width(result.dtype);
	result.length = a.elements * width;
	frame = kiln_tensor_frame(&result, &payload);
	operand = palloc(PART * width);
	/* the first operand is copied into its place, and the second added to it there */
	for (uint64 i = 0; i < a.elements; i += PART)
	{
		uint64		n = Min(PART, a.elements - i);

		kiln_tensor_copy(&a, i, n, result.dtype, payload + i * width);
		kiln_tensor_copy(&b, i, n, result.dtype, operand);
		operate(operation, result.dtype, payload + i * width, operand, payload + i * width, n, i);
	}
	if (a.elements == 0)
		operate(operation, result.dtype, payload, operand, payload, 0, 0);
	pfree(operand);
	kiln_tensor_close(&a);
	kiln_tensor_close(&b);
	PG_RETURN_POINTER(frame);
}

PG_FUNCTION_INFO_V1(kiln_add);
PG_FUNCTION_INFO_V1(kiln_sub);
PG_FUNCTION_INFO_V1(kiln_mul);

/* kiln_add(kiln, kiln) */
Datum
kiln_add(PG_FUNCTION_ARGS)
{
	return combine(fcinfo, ADD);
}

/* kiln_sub(kiln, kiln) */
Datum
kiln_sub(PG_FUNCTION_ARGS)
{
	return combine(fcinfo, SUBTRACT);
}

/* kiln_mul(kiln, kiln) */
Datum
kiln_mul(PG_FUNCTION_ARGS)
{
	return combine(fcinfo, MULTIPLY);
}

/* ------------------------------------------------------------------ multiples */

PG_FUNCTION_INFO_V1(kiln_scale);

/* kiln_scale(kiln, double precision): f64 of f64 and integers, f32 of shorter floats. */
Datum
kiln_scale(PG_FUNCTION_ARGS)
{
	double		factor = PG_GETARG_FLOAT8(1);
	KilnTensorReader reader;
	kiln_tensor result;
	uint8_t    *payload;
	struct varlena *frame;
	uint64		position = 0;

	kiln_tensor_open(&reader, PG_GETARG_DATUM(0), NULL, 0);
	result = reader.tensor;
	result.dtype = result_dtype(reader.tensor.dtype);
	if (result.dtype != KILN_DTYPE_F32)
		result.dtype = KILN_DTYPE_F64;
	result.length = reader.elements * kiln_dtype_width(result.dtype);
	frame = kiln_tensor_frame(&result, &payload);
	while (position < reader.elements)
	{
		uint64		n;
		const uint8_t *data = kiln_tensor_some(&reader, position, reader.elements, &n);

		CHECK_FOR_INTERRUPTS();
		for (uint64 i = 0; i < n; i++)
		{
			double		value = kiln_element_f64(reader.tensor.dtype, data + i * reader.width);
			double		product = value * factor;

			if (result.dtype == KILN_DTYPE_F32)
				product = (float) product;
			if (unlikely(!isfinite(product)))
				product = settle(product, isfinite(value) && isfinite(factor), result.dtype, position + i);
			if (result.dtype == KILN_DTYPE_F32)
				kiln_store_f32(payload + (position + i) * 4, (float) product);
			else
				kiln_store_f64(payload + (position + i) * 8, product);
		}
		position += n;
	}
	kiln_tensor_close(&reader);
	PG_RETURN_POINTER(frame);
}
