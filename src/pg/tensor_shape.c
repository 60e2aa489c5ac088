/*
 * What a directory holds: names, dtypes and shapes of its tensors. Only the value's head is read.
 */
#include "kiln_tensor.h"

#include "catalog/pg_type.h"
#include "funcapi.h"
#include "utils/builtins.h"

/* The dimensions as bigint[], empty for a tensor of rank 0. */
static ArrayType *
shape_array(const kiln_tensor *tensor)
{
	Datum		dimensions[KILN_MAX_RANK];

	for (int i = 0; i < tensor->rank; i++)
		dimensions[i] = Int64GetDatum((int64) tensor->shape[i]);
	return construct_array(dimensions, tensor->rank, INT8OID, sizeof(int64), FLOAT8PASSBYVAL, TYPALIGN_DOUBLE);
}

/* The one tensor that the arguments (kiln [, name text]) ask for. */
static void
look_up(FunctionCallInfo fcinfo, KilnTensorReader *reader)
{
	kiln_tensor_open_argument(reader, fcinfo, PG_NARGS() > 1 ? 1 : -1);
	kiln_tensor_close(reader);
}

PG_FUNCTION_INFO_V1(kiln_shape);
PG_FUNCTION_INFO_V1(kiln_ndim);
PG_FUNCTION_INFO_V1(kiln_dtype_of);

/* kiln_shape(kiln [, name text]) */
Datum
kiln_shape(PG_FUNCTION_ARGS)
{
	KilnTensorReader reader;

	look_up(fcinfo, &reader);
	PG_RETURN_ARRAYTYPE_P(shape_array(&reader.tensor));
}

/* kiln_ndim(kiln [, name text]) */
Datum
kiln_ndim(PG_FUNCTION_ARGS)
{
	KilnTensorReader reader;

	look_up(fcinfo, &reader);
	PG_RETURN_INT32(reader.tensor.rank);
}

/* kiln_dtype(kiln [, name text]); the codec has a type of that name */
Datum
kiln_dtype_of(PG_FUNCTION_ARGS)
{
	KilnTensorReader reader;

	look_up(fcinfo, &reader);
	PG_RETURN_TEXT_P(cstring_to_text(kiln_dtype_name(reader.tensor.dtype)));
}

/* ------------------------------------------------------------------ the list */

PG_FUNCTION_INFO_V1(kiln_tensors);

/* kiln_tensors(kiln): a row (name, dtype, shape, bytes) for each tensor, in the directory's order. */
Datum
kiln_tensors(PG_FUNCTION_ARGS)
{
	FuncCallContext *call;
	KilnTensorReader *reader;
	Datum		values[4];
	bool		nulls[4] = {false};

	if (SRF_IS_FIRSTCALL())
	{
		MemoryContext old;
		TupleDesc	description;

		call = SRF_FIRSTCALL_INIT();
		old = MemoryContextSwitchTo(call->multi_call_memory_ctx);
		if (get_call_result_type(fcinfo, NULL, &description) != TYPEFUNC_COMPOSITE)
			elog(ERROR, "return type must be a row type");
		call->tuple_desc = BlessTupleDesc(description);
		call->user_fctx = kiln_tensor_open_all(PG_GETARG_DATUM(0), &call->max_calls);
		MemoryContextSwitchTo(old);
	}
	call = SRF_PERCALL_SETUP();
	reader = call->user_fctx;
	if (call->call_cntr >= call->max_calls)
		SRF_RETURN_DONE(call);
	kiln_tensor_open_next(reader, (uint32) call->call_cntr);
	values[0] = kiln_utf8_to_text_datum((const uint8_t *) reader->tensor.name, reader->tensor.name_length);
	values[1] = CStringGetTextDatum(kiln_dtype_name(reader->tensor.dtype));
	values[2] = PointerGetDatum(shape_array(&reader->tensor));
	values[3] = Int64GetDatum((int64) reader->tensor.length);
	SRF_RETURN_NEXT(call, HeapTupleGetDatum(heap_form_tuple(call->tuple_desc, values, nulls)));
}
