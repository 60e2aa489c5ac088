/*
 * Parts of a tensor along its first axis. Only the chunks that hold the part are fetched; the part becomes a
 * directory of one tensor, under the same name.
 */
#include "kiln_tensor.h"

pg_noreturn static void
no_rows(const char *function)
{
	ereport(ERROR,
			(errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
			 errmsg("%s needs a tensor of rank 1 or more", function)));
}

/* Elements [from, from + part's own) as the tensor described by part, whose length is not set yet. */
static Datum
cut(KilnTensorReader *reader, kiln_tensor *part, uint64 from)
{
	uint64_t	elements;
	uint8_t    *payload;
	struct varlena *frame;

	if (!kiln_tensor_size(part->dtype, part->rank, part->shape, &part->length, &elements))
		kiln_tensor_too_large();
	frame = kiln_tensor_frame(part, &payload);
	kiln_tensor_copy(reader, from, elements, part->dtype, payload);
	kiln_tensor_close(reader);
	PG_RETURN_POINTER(frame);
}

/*
 * a[low:high] of the first axis: both ends count from 1 and are included; what lies outside is cut off, and nothing
 * may be left.
 */
static Datum
slice(KilnTensorReader *reader, int64 low, int64 high)
{
	kiln_tensor part = reader->tensor;
	uint64		rows;

	if (part.rank == 0)
		no_rows("kiln_slice");
	rows = part.shape[0];
	low = Max(low, 1);
	high = high < 0 ? 0 : (int64) Min((uint64) high, rows);
	part.shape[0] = low > high ? 0 : (uint64) (high - low + 1);
	return cut(reader, &part, part.shape[0] == 0 ? 0 : (uint64) (low - 1) * (reader->elements / rows));
}

/* Row i of the first axis, a tensor of one dimension less; NULL out of range. */
static Datum
row(FunctionCallInfo fcinfo, KilnTensorReader *reader, int64 i)
{
	kiln_tensor part = reader->tensor;
	uint64		rows;

	if (part.rank == 0)
		no_rows("kiln_row");
	rows = part.shape[0];
	if (i < 1 || (uint64) i > rows)
	{
		kiln_tensor_close(reader);
		PG_RETURN_NULL();
	}
	part.rank--;
	memmove(part.shape, part.shape + 1, part.rank * sizeof part.shape[0]);
	return cut(reader, &part, (uint64) (i - 1) * (reader->elements / rows));
}

PG_FUNCTION_INFO_V1(kiln_slice_of);
PG_FUNCTION_INFO_V1(kiln_slice_named);
PG_FUNCTION_INFO_V1(kiln_row);
PG_FUNCTION_INFO_V1(kiln_row_named);

/* kiln_slice(kiln, bigint, bigint); the codec has a type of that name */
Datum
kiln_slice_of(PG_FUNCTION_ARGS)
{
	KilnTensorReader reader;

	kiln_tensor_open_argument(&reader, fcinfo, -1);
	return slice(&reader, PG_GETARG_INT64(1), PG_GETARG_INT64(2));
}

/* kiln_slice(kiln, text, bigint, bigint) */
Datum
kiln_slice_named(PG_FUNCTION_ARGS)
{
	KilnTensorReader reader;

	kiln_tensor_open_argument(&reader, fcinfo, 1);
	return slice(&reader, PG_GETARG_INT64(2), PG_GETARG_INT64(3));
}

/* kiln_row(kiln, bigint) */
Datum
kiln_row(PG_FUNCTION_ARGS)
{
	KilnTensorReader reader;

	kiln_tensor_open_argument(&reader, fcinfo, -1);
	return row(fcinfo, &reader, PG_GETARG_INT64(1));
}

/* kiln_row(kiln, text, bigint) */
Datum
kiln_row_named(PG_FUNCTION_ARGS)
{
	KilnTensorReader reader;

	kiln_tensor_open_argument(&reader, fcinfo, 1);
	return row(fcinfo, &reader, PG_GETARG_INT64(2));
}
