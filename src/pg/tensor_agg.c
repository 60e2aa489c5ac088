/*
 * kiln_tensor_agg: rows to a tensor.
 *
 * The state is a head and elements. A small group is one chunk, the elements behind the head, of 64 bytes at first
 * and doubled when full. A larger one has its elements in a chunk of their own, of a power of two of bytes: so the
 * heads of many groups stay close together, where the CPU's caches hold them, while rows come to the groups by
 * turns. The final function copies and leaves the state alone, so that it may run once a row of a window frame.
 * Elements are kept little-endian, as the directory has them.
 */
#include "kiln_tensor.h"

#include "catalog/pg_type.h"
#include "libpq/pqformat.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"

typedef struct TensorState
{
	uint32		count;			/* elements */
	uint32		capacity;		/* bytes of room for elements */
	uint8	   *data;			/* the elements: near, or a chunk of their own */
	uint8		dtype;
	uint8		width;
	uint8		near[FLEXIBLE_ARRAY_MEMBER];
} TensorState;

#define STATE_HEAD			MAXALIGN(offsetof(TensorState, near))
#define STATE_FIRST			64
#define STATE_NEAR			1024	/* largest state that is one chunk */
#define STATE_VERSION		1

/* Most bytes of elements: those of the largest directory of one tensor. */
#define STATE_MOST			((Size) KILN_MAX_FRAME - KILN_TENSORS_HEAD - KILN_DIRECTORY_HEADER - KILN_DIRECTORY_ENTRY)

MemoryContext
kiln_state_context(FunctionCallInfo fcinfo)
{
	MemoryContext context;

	if (!AggCheckCallContext(fcinfo, &context))
		elog(ERROR, "kiln aggregate function called in non-aggregate context");
	return context;
}

Size
kiln_state_size(Size size, Size head, uint64 wanted)
{
	if (wanted > STATE_MOST)
		kiln_tensor_too_large();
	while (size < head + wanted)
		size *= 2;
	return Min(size, head + STATE_MOST);
}

/* A state with room for bytes of elements. */
static TensorState *
state_create(MemoryContext context, uint8 dtype, Size bytes)
{
	Size		size = kiln_state_size(STATE_FIRST, STATE_HEAD, bytes);
	TensorState *state;

	if (size <= STATE_NEAR)
	{
		state = MemoryContextAlloc(context, size);
		state->capacity = (uint32) (size - STATE_HEAD);
		state->data = (uint8 *) state + STATE_HEAD;
	}
	else
	{
		/* of the size that states begin with: there is one that was given back */
		state = MemoryContextAlloc(context, STATE_FIRST);
		state->capacity = (uint32) kiln_state_size(STATE_NEAR, 0, bytes);
		state->data = MemoryContextAlloc(context, state->capacity);
	}
	state->count = 0;
	state->dtype = dtype;
	state->width = (uint8) kiln_dtype_width(dtype);
	return state;
}

/* Room for wanted bytes of elements in all. The state may move. */
static pg_noinline TensorState *
state_grow(TensorState *state, uint64 wanted)
{
	TensorState *old = state;

	if (state->data != (uint8 *) state + STATE_HEAD)
	{
		Size		size = kiln_state_size(state->capacity, 0, wanted);

		state->data = repalloc(state->data, size);
		state->capacity = (uint32) size;
		return state;
	}
	state = state_create(GetMemoryChunkContext(old), old->dtype, wanted);
	memcpy(state->data, old->data, (Size) old->count * old->width);
	state->count = old->count;
	pfree(old);
	return state;
}

/* The state argument, made if this is the first row. dtype: of the rows. */
static inline TensorState *
state_argument(FunctionCallInfo fcinfo, uint8 dtype)
{
	if (unlikely(PG_ARGISNULL(0)))
		return state_create(kiln_state_context(fcinfo), dtype, 0);
	return (TensorState *) PG_GETARG_POINTER(0);
}

/* Where the next element goes. */
static inline uint8 *
state_next(TensorState **state, uint32 width)
{
	uint64		used = (uint64) (*state)->count * width;

	if (unlikely(used + width > (*state)->capacity))
		*state = state_grow(*state, used + width);
	(*state)->count++;
	return (*state)->data + used;
}

void
kiln_report_null_row(const char *call)
{
	ereport(ERROR,
			(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
			 errmsg("a tensor has no nulls"),
			 errhint("Leave rows with NULL out: %s FILTER (WHERE x IS NOT NULL).", call)));
}

static inline void
refuse_null(FunctionCallInfo fcinfo)
{
	if (unlikely(PG_ARGISNULL(1)))
		kiln_report_null_row("kiln_tensor_agg(x)");
}

void
kiln_report_bad_state(void)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_BINARY_REPRESENTATION),
			 errmsg("invalid serialized state of a kiln aggregate")));
}

/* ------------------------------------------------------------------ transitions, one for each type */

#define TENSOR_TRANSITION(name, dtype, width, store) \
	PG_FUNCTION_INFO_V1(name); \
	Datum \
	name(PG_FUNCTION_ARGS) \
	{ \
		TensorState *state; \
		uint8	   *p; \
		\
		refuse_null(fcinfo); \
		state = state_argument(fcinfo, dtype); \
		p = state_next(&state, width); \
		store; \
		PG_RETURN_POINTER(state); \
	} \
	extern int	no_such_variable

TENSOR_TRANSITION(kiln_tensor_agg_bool, KILN_DTYPE_BOOL, 1, *p = PG_GETARG_BOOL(1));
TENSOR_TRANSITION(kiln_tensor_agg_int2, KILN_DTYPE_I16, 2, kiln_store_u16(p, (uint16_t) PG_GETARG_INT16(1)));
TENSOR_TRANSITION(kiln_tensor_agg_int4, KILN_DTYPE_I32, 4, kiln_store_u32(p, (uint32_t) PG_GETARG_INT32(1)));
TENSOR_TRANSITION(kiln_tensor_agg_int8, KILN_DTYPE_I64, 8, kiln_store_u64(p, (uint64_t) PG_GETARG_INT64(1)));
TENSOR_TRANSITION(kiln_tensor_agg_float4, KILN_DTYPE_F32, 4, kiln_store_f32(p, PG_GETARG_FLOAT4(1)));
TENSOR_TRANSITION(kiln_tensor_agg_float8, KILN_DTYPE_F64, 8, kiln_store_f64(p, PG_GETARG_FLOAT8(1)));

PG_FUNCTION_INFO_V1(kiln_tensor_agg_numeric);

/* numeric is kept as f64, rounded once. The conversion may raise, so it comes before the element is counted. */
Datum
kiln_tensor_agg_numeric(PG_FUNCTION_ARGS)
{
	TensorState *state;
	float8		value;

	refuse_null(fcinfo);
	value = DatumGetFloat8(DirectFunctionCall1(numeric_float8, PG_GETARG_DATUM(1)));
	state = state_argument(fcinfo, KILN_DTYPE_F64);
	kiln_store_f64(state_next(&state, 8), value);
	PG_RETURN_POINTER(state);
}

/* ------------------------------------------------------------------ final, combine, serialize */

PG_FUNCTION_INFO_V1(kiln_tensor_agg_final);
PG_FUNCTION_INFO_V1(kiln_tensor_agg_combine);
PG_FUNCTION_INFO_V1(kiln_tensor_agg_serialize);
PG_FUNCTION_INFO_V1(kiln_tensor_agg_deserialize);

/* kiln_tensor_agg_final(internal): a directory with the one unnamed tensor; no rows: NULL. */
Datum
kiln_tensor_agg_final(PG_FUNCTION_ARGS)
{
	TensorState *state;
	kiln_tensor tensor = {0};

	(void) kiln_state_context(fcinfo);
	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	state = (TensorState *) PG_GETARG_POINTER(0);
	tensor.dtype = state->dtype;
	tensor.rank = 1;
	tensor.shape[0] = state->count;
	tensor.length = (uint64) state->count * state->width;
	tensor.data = state->data;
	PG_RETURN_POINTER(kiln_tensor_frame(&tensor, NULL));
}

/* kiln_tensor_agg_combine(internal, internal): the second's elements behind the first's. */
Datum
kiln_tensor_agg_combine(PG_FUNCTION_ARGS)
{
	MemoryContext context = kiln_state_context(fcinfo);
	TensorState *state = PG_ARGISNULL(0) ? NULL : (TensorState *) PG_GETARG_POINTER(0);
	TensorState *other = PG_ARGISNULL(1) ? NULL : (TensorState *) PG_GETARG_POINTER(1);
	uint64		used;
	uint64		more;

	if (other == NULL)
	{
		if (state == NULL)
			PG_RETURN_NULL();
		PG_RETURN_POINTER(state);
	}
	if (state == NULL)
		state = state_create(context, other->dtype, (Size) other->count * other->width);
	used = (uint64) state->count * state->width;
	more = (uint64) other->count * other->width;
	if (used + more > state->capacity)
		state = state_grow(state, used + more);
	memcpy(state->data + used, other->data, more);
	state->count += other->count;
	PG_RETURN_POINTER(state);
}

/* kiln_tensor_agg_serialize(internal): version, dtype, count (u64 little-endian), elements. */
Datum
kiln_tensor_agg_serialize(PG_FUNCTION_ARGS)
{
	TensorState *state = (TensorState *) PG_GETARG_POINTER(0);
	Size		bytes;
	bytea	   *result;
	uint8	   *p;

	(void) kiln_state_context(fcinfo);
	bytes = (Size) state->count * state->width;
	result = palloc(VARHDRSZ + 10 + bytes);
	SET_VARSIZE(result, VARHDRSZ + 10 + bytes);
	p = (uint8 *) VARDATA(result);
	p[0] = STATE_VERSION;
	p[1] = state->dtype;
	kiln_store_u64(p + 2, state->count);
	memcpy(p + 10, state->data, bytes);
	PG_RETURN_BYTEA_P(result);
}

/* kiln_tensor_agg_deserialize(bytea, internal): checks what it is given, as any input. */
Datum
kiln_tensor_agg_deserialize(PG_FUNCTION_ARGS)
{
	bytea	   *serialized = PG_GETARG_BYTEA_PP(0);
	const uint8 *p = (const uint8 *) VARDATA_ANY(serialized);
	Size		n = VARSIZE_ANY_EXHDR(serialized);
	TensorState *state;
	uint64		count;
	uint32		width;

	(void) kiln_state_context(fcinfo);
	width = n >= 10 ? kiln_dtype_width(p[1]) : 0;
	count = n >= 10 ? kiln_load_u64(p + 2) : 0;
	if (width == 0 || p[0] != STATE_VERSION || count > STATE_MOST / width || n - 10 != count * width)
		kiln_report_bad_state();
	state = state_create(CurrentMemoryContext, p[1], count * width);
	state->count = (uint32) count;
	memcpy(state->data, p + 10, count * width);
	PG_RETURN_POINTER(state);
}
