/*
 * kiln_tensor_agg of arrays and of tensors: rows of one shape, stacked into a tensor of one dimension more.
 *
 * The state is one chunk, as that of kiln_tensor_agg of numbers: a head, and the rows' elements behind it; each row
 * is one copy.
 */
#include "kiln_tensor.h"

typedef struct StackState
{
	uint64		rows;
	uint64		row_bytes;
	uint32		capacity;		/* bytes of room for elements */
	uint8		dtype;
	uint8		rank;			/* of a row */
	uint64		shape[KILN_MAX_RANK - 1];
	uint8		data[FLEXIBLE_ARRAY_MEMBER];
} StackState;

#define STATE_HEAD			offsetof(StackState, data)
#define STATE_FIRST			128
#define STATE_VERSION		1
#define SERIAL_HEAD			(3 + 8 + 8 * (KILN_MAX_RANK - 1))

/* ------------------------------------------------------------------ rows */

void
kiln_row_of_array(FunctionCallInfo fcinfo, int argument, kiln_tensor *tensor)
{
	uint64		elements;

	kiln_tensor_of_array(tensor, PG_GETARG_ARRAYTYPE_P(argument), &elements);
}

void
kiln_row_of_tensor(FunctionCallInfo fcinfo, int argument, kiln_tensor *tensor)
{
	KilnTensorReader reader;

	/* opened from memory: what is read then stays in place */
	kiln_tensor_open(&reader, PointerGetDatum(PG_GETARG_VARLENA_PP(argument)), NULL, 0);
	*tensor = reader.tensor;
	tensor->name = NULL;
	tensor->name_length = 0;
	tensor->data = kiln_tensor_bytes(&reader, 0, reader.tensor.length);
}

const char *
kiln_shape_text(uint8_t rank, const uint64 *shape)
{
	StringInfoData buf;

	initStringInfo(&buf);
	for (int i = 0; i < rank; i++)
		appendStringInfo(&buf, "%s" UINT64_FORMAT, i > 0 ? "," : "", shape[i]);
	return buf.data;
}

void
kiln_check_row(uint8_t dtype, uint8_t rank, const uint64 *shape, const kiln_tensor *row)
{
	if (unlikely(row->dtype != dtype))
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("rows differ in dtype"),
				 errdetail("One is of %s, another of %s.", kiln_dtype_name(dtype), kiln_dtype_name(row->dtype)),
				 errhint("Use kiln_cast().")));
	if (unlikely(row->rank != rank || memcmp(row->shape, shape, rank * sizeof shape[0]) != 0))
		ereport(ERROR,
				(errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
				 errmsg("rows differ in shape"),
				 errdetail("One is [%s], another [%s].",
						   kiln_shape_text(rank, shape), kiln_shape_text(row->rank, row->shape))));
}

/* ------------------------------------------------------------------ state */

/* A state for rows like that one, with room for bytes of elements. */
static StackState *
state_create(MemoryContext context, const kiln_tensor *row, uint64 bytes)
{
	Size		size = kiln_state_size(STATE_FIRST, STATE_HEAD, bytes);
	StackState *state;

	if (row->length == 0)
		ereport(ERROR,
				(errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
				 errmsg("rows without elements can't be stacked")));
	if (row->rank >= KILN_MAX_RANK)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("a tensor has at most %d dimensions", KILN_MAX_RANK)));
	state = MemoryContextAlloc(context, size);
	state->rows = 0;
	state->row_bytes = row->length;
	state->capacity = (uint32) (size - STATE_HEAD);
	state->dtype = row->dtype;
	state->rank = row->rank;
	memset(state->shape, 0, sizeof state->shape);
	memcpy(state->shape, row->shape, row->rank * sizeof row->shape[0]);
	return state;
}

/* Append rows, whose shape is known to be that of the state. The state may move. */
static StackState *
state_append(StackState *state, const uint8 *data, uint64 rows)
{
	uint64		used = state->rows * state->row_bytes;
	uint64		more = rows * state->row_bytes;

	if (unlikely(used + more > state->capacity))
	{
		Size		size = kiln_state_size(STATE_HEAD + state->capacity, STATE_HEAD, used + more);

		state = repalloc(state, size);
		state->capacity = (uint32) (size - STATE_HEAD);
	}
	memcpy(state->data + used, data, more);
	state->rows += rows;
	return state;
}

static StackState *
add_row(FunctionCallInfo fcinfo, const kiln_tensor *row)
{
	StackState *state;

	if (PG_ARGISNULL(0))
		state = state_create(kiln_state_context(fcinfo), row, row->length);
	else
	{
		state = (StackState *) PG_GETARG_POINTER(0);
		kiln_check_row(state->dtype, state->rank, state->shape, row);
	}
	return state_append(state, row->data, 1);
}

/* ------------------------------------------------------------------ the aggregate's functions */

PG_FUNCTION_INFO_V1(kiln_stack_array);
PG_FUNCTION_INFO_V1(kiln_stack_tensor);
PG_FUNCTION_INFO_V1(kiln_stack_final);
PG_FUNCTION_INFO_V1(kiln_stack_combine);
PG_FUNCTION_INFO_V1(kiln_stack_serialize);
PG_FUNCTION_INFO_V1(kiln_stack_deserialize);

/* kiln_stack_array(internal, anyarray) */
Datum
kiln_stack_array(PG_FUNCTION_ARGS)
{
	kiln_tensor row;

	if (PG_ARGISNULL(1))
		kiln_report_null_row("kiln_tensor_agg(x)");
	kiln_row_of_array(fcinfo, 1, &row);
	PG_RETURN_POINTER(add_row(fcinfo, &row));
}

/* kiln_stack_tensor(internal, kiln) */
Datum
kiln_stack_tensor(PG_FUNCTION_ARGS)
{
	kiln_tensor row;

	if (PG_ARGISNULL(1))
		kiln_report_null_row("kiln_tensor_agg(x)");
	kiln_row_of_tensor(fcinfo, 1, &row);
	PG_RETURN_POINTER(add_row(fcinfo, &row));
}

/* kiln_stack_final(internal): a directory with the one unnamed tensor; no rows: NULL. */
Datum
kiln_stack_final(PG_FUNCTION_ARGS)
{
	StackState *state;
	kiln_tensor tensor = {0};

	(void) kiln_state_context(fcinfo);
	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	state = (StackState *) PG_GETARG_POINTER(0);
	tensor.dtype = state->dtype;
	tensor.rank = state->rank + 1;
	tensor.shape[0] = state->rows;
	memcpy(tensor.shape + 1, state->shape, state->rank * sizeof state->shape[0]);
	tensor.length = state->rows * state->row_bytes;
	tensor.data = state->data;
	PG_RETURN_POINTER(kiln_tensor_frame(&tensor, NULL));
}

/* What a state holds, as a row of its shape. */
static kiln_tensor
row_of_state(const StackState *state)
{
	kiln_tensor row = {0};

	row.dtype = state->dtype;
	row.rank = state->rank;
	memcpy(row.shape, state->shape, sizeof state->shape);
	row.length = state->row_bytes;
	return row;
}

/* kiln_stack_combine(internal, internal): the second's rows behind the first's. */
Datum
kiln_stack_combine(PG_FUNCTION_ARGS)
{
	MemoryContext context = kiln_state_context(fcinfo);
	StackState *state = PG_ARGISNULL(0) ? NULL : (StackState *) PG_GETARG_POINTER(0);
	StackState *other = PG_ARGISNULL(1) ? NULL : (StackState *) PG_GETARG_POINTER(1);
	kiln_tensor row;

	if (other == NULL)
	{
		if (state == NULL)
			PG_RETURN_NULL();
		PG_RETURN_POINTER(state);
	}
	row = row_of_state(other);
	if (state == NULL)
		state = state_create(context, &row, other->rows * other->row_bytes);
	else
		kiln_check_row(state->dtype, state->rank, state->shape, &row);
	PG_RETURN_POINTER(state_append(state, other->data, other->rows));
}

/*
 * kiln_stack_serialize(internal): version, dtype, rank, rows, shape (all dimensions, u64 little-endian), elements.
 */
Datum
kiln_stack_serialize(PG_FUNCTION_ARGS)
{
	StackState *state = (StackState *) PG_GETARG_POINTER(0);
	Size		bytes;
	bytea	   *result;
	uint8	   *p;

	(void) kiln_state_context(fcinfo);
	bytes = state->rows * state->row_bytes;
	result = palloc(VARHDRSZ + SERIAL_HEAD + bytes);
	SET_VARSIZE(result, VARHDRSZ + SERIAL_HEAD + bytes);
	p = (uint8 *) VARDATA(result);
	p[0] = STATE_VERSION;
	p[1] = state->dtype;
	p[2] = state->rank;
	kiln_store_u64(p + 3, state->rows);
	for (int i = 0; i < KILN_MAX_RANK - 1; i++)
		kiln_store_u64(p + 11 + 8 * i, state->shape[i]);
	memcpy(p + SERIAL_HEAD, state->data, bytes);
	PG_RETURN_BYTEA_P(result);
}

/* kiln_stack_deserialize(bytea, internal): checks what it is given, as any input. */
Datum
kiln_stack_deserialize(PG_FUNCTION_ARGS)
{
	bytea	   *serialized = PG_GETARG_BYTEA_PP(0);
	const uint8 *p = (const uint8 *) VARDATA_ANY(serialized);
	Size		n = VARSIZE_ANY_EXHDR(serialized);
	kiln_tensor row = {0};
	StackState *state;
	uint64_t	elements;
	uint64		rows;

	(void) kiln_state_context(fcinfo);
	if (n < SERIAL_HEAD || p[0] != STATE_VERSION || p[2] >= KILN_MAX_RANK)
		kiln_report_bad_state();
	row.dtype = p[1];
	row.rank = p[2];
	rows = kiln_load_u64(p + 3);
	for (int i = 0; i < KILN_MAX_RANK - 1; i++)
		row.shape[i] = kiln_load_u64(p + 11 + 8 * i);
	n -= SERIAL_HEAD;
	if (!kiln_tensor_size(row.dtype, row.rank, row.shape, &row.length, &elements) || row.length == 0 ||
		rows > n / row.length || n != rows * row.length)
		kiln_report_bad_state();
	state = state_create(CurrentMemoryContext, &row, n);
	PG_RETURN_POINTER(state_append(state, p + SERIAL_HEAD, rows));
}
