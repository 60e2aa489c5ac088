/*
 * kiln_sum_agg, kiln_avg_agg, kiln_min_agg, kiln_max_agg: rows of one shape, element by element.
 *
 * Sums are exact (exact.h) and rounded once at the end, so neither the order of rows nor the plan changes a result,
 * and a mean is finite where the true one is. Sums of integers stay integers. Least and greatest go by one total
 * order, -0 below 0 and NaN above all (always the same NaN), for the same reason.
 */
#include "kiln_tensor.h"

#include "exact.h"

#include "miscadmin.h"

/* Doubles converted at a time. */
#define BLOCK			512

typedef enum Kind
{
	KIND_SUM, KIND_MIN, KIND_MAX
} Kind;

typedef struct ElementState
{
	uint8		kind;			/* Kind: of min and max, which share their functions */
	uint8		dtype;			/* of the rows */
	uint8		rank;
	uint64		shape[KILN_MAX_RANK];
	uint64		elements;
	uint64		bytes;			/* of a row */
	uint64		rows;
	KilnExact  *exact;			/* KIND_SUM */
	uint8	   *data;			/* KIND_MIN, KIND_MAX: the row so far */
} ElementState;

#define STATE_VERSION		1
#define SERIAL_HEAD			(4 + 8 + 8 * KILN_MAX_RANK)
#define MOST_ROWS			((UINT64CONST(1) << 62) - 1)	/* a mean divides by them, which takes less than 63 bits */

static bool
dtype_is_integer(uint8_t dtype)
{
	return dtype < KILN_DTYPE_F16;
}

static ElementState *
state_create(MemoryContext context, Kind kind, const kiln_tensor *row)
{
	ElementState *state = MemoryContextAllocZero(context, sizeof(ElementState));

	state->kind = (uint8) kind;
	state->dtype = row->dtype;
	state->rank = row->rank;
	memcpy(state->shape, row->shape, row->rank * sizeof row->shape[0]);
	state->bytes = row->length;
	state->elements = row->length / kiln_dtype_width(row->dtype);
	if (kind == KIND_SUM)
		state->exact = kiln_exact_create(context, state->elements);
	else
		state->data = MemoryContextAllocHuge(context, Max(row->length, 1));
	return state;
}

/* ------------------------------------------------------------------ sums */

/* Integers of 64 bits, which doubles don't hold. */
static void
add_integers(ElementState *state, const uint8_t *data)
{
	for (uint64 i = 0; i < state->elements; i++)
	{
		uint64		bits = kiln_load_u64(data + i * 8);
		bool		negative = state->dtype == KILN_DTYPE_I64 && (int64) bits < 0;

		kiln_exact_add_scaled(state->exact, i, negative, 0, negative ? 0 - bits : bits, 0);
	}
}

static void
add_row(ElementState *state, const kiln_tensor *row)
{
	uint32_t	width = kiln_dtype_width(state->dtype);
	double		block[BLOCK];

	state->rows++;
	kiln_exact_terms(state->exact, 1);
	if (state->dtype == KILN_DTYPE_I64 || state->dtype == KILN_DTYPE_U64)
	{
		add_integers(state, row->data);
		return;
	}
	for (uint64 i = 0; i < state->elements; i += BLOCK)
	{
		uint64		n = Min(BLOCK, state->elements - i);

		kiln_elements_f64(state->dtype, row->data + i * width, block, n);
		kiln_exact_add(state->exact, i, block, n);
	}
}

pg_noreturn static void
sum_overflows(uint64 i)
{
	ereport(ERROR,
			(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
			 errmsg("sum out of range"),
			 errdetail("That of element %llu, counted in row-major order from 1.", (unsigned long long) i + 1)));
}

/* A sum of integers: i64 or u64. */
static void
store_integer_sum(const KilnExact *exact, uint64 i, uint8_t dtype, uint8_t *p)
{
	bool		negative;
	int			exponent;
	uint64		bits = kiln_exact_scaled(exact, i, &negative, &exponent);
	uint64		value = 0;

	/* a sum that fits has its leading bit below 2^64, so all of it is in the 64 bits */
	if (bits != 0)
	{
		if (exponent > 0)
			sum_overflows(i);
		value = exponent > -64 ? bits >> -exponent : 0; /* a forged state may hold fractions */
	}
	if (dtype == KILN_DTYPE_U64)
	{
		kiln_store_u64(p, value);
		return;
	}
	if (value > (uint64) PG_INT64_MAX + negative)
		sum_overflows(i);
	kiln_store_u64(p, negative ? 0 - value : value);
}

/* ------------------------------------------------------------------ least and greatest */

/*
 * The bits of a float as an integer that orders as the numbers do, -0 below 0; and back. NaN is the greatest: any
 * becomes the quiet one without a sign.
 */
#define ALL_BUT_SIGN(wide, width)		((((wide) 1) << ((width) - 2)) - 1 + (((wide) 1) << ((width) - 2)))
#define FLOAT_KEY(bits, wide, width) \
	((wide) ((bits) ^ (((wide) (bits) >> ((width) - 1)) & ALL_BUT_SIGN(wide, width))))

#define PICK_LOOP(ctype, load, store) \
	for (uint64 i = 0; i < n; i++) \
	{ \
		ctype		old = (ctype) load(to + i * sizeof(ctype)); \
		ctype		new = (ctype) load(from + i * sizeof(ctype)); \
		\
		store(to + i * sizeof(ctype), greatest ? Max(old, new) : Min(old, new)); \
	}

#define PICK_FLOATS(ctype, width, load, store) \
	for (uint64 i = 0; i < n; i++) \
	{ \
		ctype		old = (ctype) load(to + i * sizeof(ctype)); \
		ctype		new = (ctype) load(from + i * sizeof(ctype)); \
		ctype		old_key = FLOAT_KEY(old, ctype, width); \
		ctype		new_key = FLOAT_KEY(new, ctype, width); \
		\
		if (greatest ? new_key > old_key : new_key < old_key) \
			store(to + i * sizeof(ctype), new); \
	}

/* Keep, element by element, the lesser or the greater of both. NaNs have been made one. */
static void
pick(uint8_t dtype, bool greatest, uint8_t *to, const uint8_t *from, uint64 n)
{
	switch (dtype)
	{
		case KILN_DTYPE_BOOL:
		case KILN_DTYPE_U8:
			PICK_LOOP(uint8, kiln_load_u8, kiln_store_u8);
			break;
		case KILN_DTYPE_I8:
			PICK_LOOP(int8, kiln_load_u8, kiln_store_u8);
			break;
		case KILN_DTYPE_I16:
			PICK_LOOP(int16, kiln_load_u16, kiln_store_u16);
			break;
		case KILN_DTYPE_U16:
			PICK_LOOP(uint16, kiln_load_u16, kiln_store_u16);
			break;
		case KILN_DTYPE_I32:
			PICK_LOOP(int32, kiln_load_u32, kiln_store_u32);
			break;
		case KILN_DTYPE_U32:
			PICK_LOOP(uint32, kiln_load_u32, kiln_store_u32);
			break;
		case KILN_DTYPE_I64:
			PICK_LOOP(int64, kiln_load_u64, kiln_store_u64);
			break;
		case KILN_DTYPE_U64:
			PICK_LOOP(uint64, kiln_load_u64, kiln_store_u64);
			break;
		case KILN_DTYPE_F16:
		case KILN_DTYPE_BF16:
			PICK_FLOATS(int16, 16, kiln_load_u16, kiln_store_u16);
			break;
		case KILN_DTYPE_F32:
			PICK_FLOATS(int32, 32, kiln_load_u32, kiln_store_u32);
			break;
		case KILN_DTYPE_F64:
			PICK_FLOATS(int64, 64, kiln_load_u64, kiln_store_u64);
			break;
	}
}

/* Copy a row, every NaN as the one. */
static void
copy_row(uint8_t dtype, uint8_t *to, const uint8_t *from, uint64 n)
{
	memcpy(to, from, n * kiln_dtype_width(dtype));
	for (uint64 i = 0; i < n; i++)
	{
		switch (dtype)
		{
			case KILN_DTYPE_F16:
				if ((kiln_load_u16(to + i * 2) & 0x7fff) > 0x7c00)
					kiln_store_u16(to + i * 2, 0x7e00);
				break;
			case KILN_DTYPE_BF16:
				if ((kiln_load_u16(to + i * 2) & 0x7fff) > 0x7f80)
					kiln_store_u16(to + i * 2, 0x7fc0);
				break;
			case KILN_DTYPE_F32:
				if ((kiln_load_u32(to + i * 4) & 0x7fffffff) > 0x7f800000)
					kiln_store_u32(to + i * 4, 0x7fc00000);
				break;
			case KILN_DTYPE_F64:
				if ((kiln_load_u64(to + i * 8) & PG_INT64_MAX) > UINT64CONST(0x7ff0000000000000))
					kiln_store_u64(to + i * 8, UINT64CONST(0x7ff8000000000000));
				break;
			default:
				return;
		}
	}
}

static void
pick_row(ElementState *state, const kiln_tensor *row)
{
	uint32_t	width = kiln_dtype_width(state->dtype);
	uint8_t		block[BLOCK * 8];

	if (state->rows++ == 0)
	{
		copy_row(state->dtype, state->data, row->data, state->elements);
		return;
	}
	for (uint64 i = 0; i < state->elements; i += BLOCK)
	{
		uint64		n = Min(BLOCK, state->elements - i);
		const uint8_t *from = row->data + i * width;

		if (!dtype_is_integer(state->dtype))
		{
			copy_row(state->dtype, block, from, n);
			from = block;
		}
		pick(state->dtype, state->kind == KIND_MAX, state->data + i * width, from, n);
	}
}

/* ------------------------------------------------------------------ transitions */

static Datum
transition(FunctionCallInfo fcinfo, Kind kind, const char *name, void (*read) (FunctionCallInfo, int, kiln_tensor *))
{
	ElementState *state;
	kiln_tensor row;

	if (PG_ARGISNULL(1))
		kiln_report_null_row(name);
	read(fcinfo, 1, &row);
	if (PG_ARGISNULL(0))
		state = state_create(kiln_state_context(fcinfo), kind, &row);
	else
	{
		state = (ElementState *) PG_GETARG_POINTER(0);
		kiln_check_row(state->dtype, state->rank, state->shape, &row);
	}
	CHECK_FOR_INTERRUPTS();
	if (kind == KIND_SUM)
		add_row(state, &row);
	else
		pick_row(state, &row);
	PG_RETURN_POINTER(state);
}

PG_FUNCTION_INFO_V1(kiln_sum_array);
PG_FUNCTION_INFO_V1(kiln_sum_tensor);
PG_FUNCTION_INFO_V1(kiln_min_array);
PG_FUNCTION_INFO_V1(kiln_min_tensor);
PG_FUNCTION_INFO_V1(kiln_max_array);
PG_FUNCTION_INFO_V1(kiln_max_tensor);

/* kiln_sum_array(internal, anyarray); kiln_avg_agg has it too. */
Datum
kiln_sum_array(PG_FUNCTION_ARGS)
{
	return transition(fcinfo, KIND_SUM, "kiln_sum_agg(x)", kiln_row_of_array);
}

/* kiln_sum_tensor(internal, kiln) */
Datum
kiln_sum_tensor(PG_FUNCTION_ARGS)
{
	return transition(fcinfo, KIND_SUM, "kiln_sum_agg(x)", kiln_row_of_tensor);
}

/* kiln_min_array(internal, anyarray) */
Datum
kiln_min_array(PG_FUNCTION_ARGS)
{
	return transition(fcinfo, KIND_MIN, "kiln_min_agg(x)", kiln_row_of_array);
}

/* kiln_min_tensor(internal, kiln) */
Datum
kiln_min_tensor(PG_FUNCTION_ARGS)
{
	return transition(fcinfo, KIND_MIN, "kiln_min_agg(x)", kiln_row_of_tensor);
}

/* kiln_max_array(internal, anyarray) */
Datum
kiln_max_array(PG_FUNCTION_ARGS)
{
	return transition(fcinfo, KIND_MAX, "kiln_max_agg(x)", kiln_row_of_array);
}

/* kiln_max_tensor(internal, kiln) */
Datum
kiln_max_tensor(PG_FUNCTION_ARGS)
{
	return transition(fcinfo, KIND_MAX, "kiln_max_agg(x)", kiln_row_of_tensor);
}

/* ------------------------------------------------------------------ final functions */

PG_FUNCTION_INFO_V1(kiln_sum_final);
PG_FUNCTION_INFO_V1(kiln_avg_final);
PG_FUNCTION_INFO_V1(kiln_pick_final);

/* The result's tensor, in a dtype; data NULL leaves room at *payload. */
static struct varlena *
result_frame(const ElementState *state, uint8_t dtype, const uint8_t *data, uint8_t **payload)
{
	kiln_tensor tensor = {0};

	tensor.dtype = dtype;
	tensor.rank = state->rank;
	memcpy(tensor.shape, state->shape, sizeof tensor.shape);
	tensor.length = state->elements * kiln_dtype_width(dtype);
	tensor.data = data;
	return kiln_tensor_frame(&tensor, payload);
}

/* Sums over divisor as f64. */
static struct varlena *
float_result(const ElementState *state, uint64 divisor)
{
	uint8_t    *payload;
	struct varlena *frame = result_frame(state, KILN_DTYPE_F64, NULL, &payload);

	for (uint64 i = 0; i < state->elements; i++)
	{
		bool		overflow;
		double		result = kiln_exact_result(state->exact, i, divisor, &overflow);

		if (unlikely(overflow))
			sum_overflows(i);
		kiln_store_f64(payload + i * 8, result);
	}
	return frame;
}

/* kiln_sum_final(internal): floats as f64, integers as i64 (u64 as u64), 22003 if that overflows; no rows: NULL. */
Datum
kiln_sum_final(PG_FUNCTION_ARGS)
{
	ElementState *state;
	uint8_t		dtype;
	uint8_t    *payload;
	struct varlena *frame;

	(void) kiln_state_context(fcinfo);
	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	state = (ElementState *) PG_GETARG_POINTER(0);
	if (!dtype_is_integer(state->dtype))
		PG_RETURN_POINTER(float_result(state, 1));
	dtype = state->dtype == KILN_DTYPE_U64 ? KILN_DTYPE_U64 : KILN_DTYPE_I64;
	frame = result_frame(state, dtype, NULL, &payload);
	for (uint64 i = 0; i < state->elements; i++)
		store_integer_sum(state->exact, i, dtype, payload + i * 8);
	PG_RETURN_POINTER(frame);
}

/* kiln_avg_final(internal): as f64, rounded once; no rows: NULL. */
Datum
kiln_avg_final(PG_FUNCTION_ARGS)
{
	ElementState *state;

	(void) kiln_state_context(fcinfo);
	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	state = (ElementState *) PG_GETARG_POINTER(0);
	PG_RETURN_POINTER(float_result(state, state->rows));
}

/* kiln_pick_final(internal): least or greatest, in the rows' dtype; no rows: NULL. */
Datum
kiln_pick_final(PG_FUNCTION_ARGS)
{
	ElementState *state;

	(void) kiln_state_context(fcinfo);
	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	state = (ElementState *) PG_GETARG_POINTER(0);
	PG_RETURN_POINTER(result_frame(state, state->dtype, state->data, NULL));
}

/* ------------------------------------------------------------------ combine, serialize */

PG_FUNCTION_INFO_V1(kiln_element_combine);
PG_FUNCTION_INFO_V1(kiln_element_serialize);
PG_FUNCTION_INFO_V1(kiln_element_deserialize);

/* What a state holds, as a row. */
static kiln_tensor
row_of_state(const ElementState *state)
{
	kiln_tensor row = {0};

	row.dtype = state->dtype;
	row.rank = state->rank;
	memcpy(row.shape, state->shape, sizeof row.shape);
	row.length = state->bytes;
	row.data = state->data;
	return row;
}

/* kiln_element_combine(internal, internal) */
Datum
kiln_element_combine(PG_FUNCTION_ARGS)
{
	MemoryContext context = kiln_state_context(fcinfo);
	ElementState *state = PG_ARGISNULL(0) ? NULL : (ElementState *) PG_GETARG_POINTER(0);
	ElementState *other = PG_ARGISNULL(1) ? NULL : (ElementState *) PG_GETARG_POINTER(1);
	kiln_tensor row;

	if (other == NULL)
	{
		if (state == NULL)
			PG_RETURN_NULL();
		PG_RETURN_POINTER(state);
	}
	row = row_of_state(other);
	if (state == NULL)
		state = state_create(context, (Kind) other->kind, &row);
	else
		kiln_check_row(state->dtype, state->rank, state->shape, &row);
	if (state->kind == KIND_SUM)
	{
		kiln_exact_combine(state->exact, other->exact);
		state->rows += other->rows;
	}
	else
		pick_row(state, &row);
	PG_RETURN_POINTER(state);
}

/* kiln_element_serialize(internal): version, kind, dtype, rank, rows, dimensions (all), then sums or the row. */
Datum
kiln_element_serialize(PG_FUNCTION_ARGS)
{
	ElementState *state = (ElementState *) PG_GETARG_POINTER(0);
	Size		size;
	bytea	   *result;
	uint8	   *p;

	(void) kiln_state_context(fcinfo);
	size = SERIAL_HEAD + (state->exact ? kiln_exact_serialized(state->exact) : state->bytes);
	if (!AllocSizeIsValid(VARHDRSZ + size))
		kiln_tensor_too_large();
	result = palloc(VARHDRSZ + size);
	SET_VARSIZE(result, VARHDRSZ + size);
	p = (uint8 *) VARDATA(result);
	p[0] = STATE_VERSION;
	p[1] = state->kind;
	p[2] = state->dtype;
	p[3] = state->rank;
	kiln_store_u64(p + 4, state->rows);
	for (int i = 0; i < KILN_MAX_RANK; i++)
		kiln_store_u64(p + 12 + 8 * i, state->shape[i]);
	if (state->exact)
		kiln_exact_serialize(state->exact, p + SERIAL_HEAD);
	else
		memcpy(p + SERIAL_HEAD, state->data, state->bytes);
	PG_RETURN_BYTEA_P(result);
}

/* kiln_element_deserialize(bytea, internal): checks what it is given, as any input. */
Datum
kiln_element_deserialize(PG_FUNCTION_ARGS)
{
	bytea	   *serialized = PG_GETARG_BYTEA_PP(0);
	const uint8 *p = (const uint8 *) VARDATA_ANY(serialized);
	Size		n = VARSIZE_ANY_EXHDR(serialized);
	kiln_tensor row = {0};
	ElementState *state;
	uint64_t	elements;
	uint64		rows;
	Size		used = 0;

	(void) kiln_state_context(fcinfo);
	if (n < SERIAL_HEAD || p[0] != STATE_VERSION || p[1] > KIND_MAX || p[3] > KILN_MAX_RANK)
		kiln_report_bad_state();
	row.dtype = p[2];
	row.rank = p[3];
	for (int i = 0; i < KILN_MAX_RANK; i++)
		row.shape[i] = kiln_load_u64(p + 12 + 8 * i);
	if (!kiln_tensor_size(row.dtype, row.rank, row.shape, &row.length, &elements) || row.length > KILN_MAX_DIRECTORY)
		kiln_report_bad_state();
	n -= SERIAL_HEAD;
	rows = kiln_load_u64(p + 4);
	if (rows == 0 || rows > MOST_ROWS || (p[1] != KIND_SUM && n != row.length))
		kiln_report_bad_state();
	state = state_create(CurrentMemoryContext, (Kind) p[1], &row);
	state->rows = rows;
	if (p[1] != KIND_SUM)
		memcpy(state->data, p + SERIAL_HEAD, n);
	else
	{
		state->exact = kiln_exact_deserialize(CurrentMemoryContext, elements, p + SERIAL_HEAD, n, &used);
		if (state->exact == NULL || used != n)
			kiln_report_bad_state();
	}
	PG_RETURN_POINTER(state);
}
