/*
 * Reading tensors.
 *
 * A tensor is found by its entry: the first chunk of the value holds the header and the first entries, and a search
 * by name reads one entry a step. Its elements are read by range. So a value stored out of line costs two short
 * reads for one element, however large it is.
 *
 * Entries were validated at the door. They are held to their value's bounds all the same.
 */
#include "kiln_tensor.h"

#include "catalog/pg_type.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/datum.h"

/* Bytes that a loop reads at a time from a value stored out of line. */
#define PART_BYTES	(256 * 1024)

/* ------------------------------------------------------------------ opening */

pg_noreturn static void
damaged(void)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_BINARY_REPRESENTATION),
			 errmsg("damaged value of type kiln: tensor directory is damaged")));
}

/* Number of tensors; raises if the value is a record. */
static uint32
read_count(KilnToast *toast)
{
	const uint8_t *data = kiln_toast_read(toast, 0, KILN_TENSORS_HEAD + KILN_DIRECTORY_HEADER);
	uint32		count;

	if (toast->total == 0 || data[0] != KILN_FRAME_TENSORS)
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("kiln value is not a tensor"),
				 errhint("kiln_tensor() makes one of an array or of a list.")));
	if (toast->total < KILN_TENSORS_HEAD + KILN_DIRECTORY_HEADER)
		damaged();
	count = kiln_load_u32(data + KILN_TENSORS_HEAD + 12);
	if (count > (toast->total - KILN_TENSORS_HEAD - KILN_DIRECTORY_HEADER) / KILN_DIRECTORY_ENTRY)
		damaged();
	return count;
}

/* Entry i, which is below the count. */
static void
read_entry(KilnTensorReader *reader, uint32 i)
{
	size_t		at = KILN_TENSORS_HEAD + KILN_DIRECTORY_HEADER + (size_t) KILN_DIRECTORY_ENTRY * i;
	size_t		size = reader->toast.total - KILN_TENSORS_HEAD;
	const uint8_t *data = kiln_toast_read(&reader->toast, at, at + KILN_DIRECTORY_ENTRY);
	uint64_t	length;

	memset(reader->entry, 0, KILN_DIRECTORY_HEADER);
	kiln_store_u32(reader->entry + 12, 1);
	memcpy(reader->entry + KILN_DIRECTORY_HEADER, data, KILN_DIRECTORY_ENTRY);
	if (!kiln_directory_entry(reader->entry, sizeof reader->entry, 0, &reader->tensor) ||
		!kiln_tensor_size(reader->tensor.dtype, reader->tensor.rank, reader->tensor.shape,
						  &length, &reader->elements) ||
		length != reader->tensor.length || reader->tensor.offset > size || length > size - reader->tensor.offset)
		damaged();
	reader->tensor.data = NULL;
	reader->width = (uint8_t) kiln_dtype_width(reader->tensor.dtype);
}

/* Find the entry of that name, by binary search; false if there is none. */
static bool
find_entry(KilnTensorReader *reader, uint32 count, const char *name, size_t length)
{
	uint32		low = 0;
	uint32		high = count;

	while (low < high)
	{
		uint32		middle = low + (high - low) / 2;
		int			order;

		read_entry(reader, middle);
		order = kiln_compare_bytes(name, length, reader->tensor.name, reader->tensor.name_length);
		if (order == 0)
			return true;
		if (order < 0)
			high = middle;
		else
			low = middle + 1;
	}
	return false;
}

void
kiln_report_no_tensor(const char *name, size_t length)
{
	ereport(ERROR,
			(errcode(ERRCODE_UNDEFINED_OBJECT),
			 errmsg("tensor \"%s\" does not exist", kiln_utf8_for_message(name, length)),
			 errhint("kiln_tensors() lists the tensors of a value.")));
}

/* The tensor meant when none is named. */
static void
find_only(KilnTensorReader *reader, uint32 count)
{
	if (count == 0)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("the tensor directory is empty")));
	read_entry(reader, 0);
	if (count > 1 && reader->tensor.name_length > 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("the kiln value holds %u tensors, none of them unnamed", count),
				 errhint("Pick one by its name: value->'%s'.",
						 kiln_utf8_for_message(reader->tensor.name, reader->tensor.name_length))));
}

/* Find the tensor in the value that reader->toast was opened on. */
static void
find_tensor(KilnTensorReader *reader, const char *name, size_t length)
{
	uint32		count = read_count(&reader->toast);

	reader->part = NULL;
	if (name == NULL)
		find_only(reader, count);
	else if (!find_entry(reader, count, name, length))
		kiln_report_no_tensor(name, length);
}

void
kiln_tensor_open(KilnTensorReader *reader, Datum datum, const char *name, size_t length)
{
	kiln_toast_open(&reader->toast, datum);
	find_tensor(reader, name, length);
}

/* A copy of a datum as it is read: out of line if it is read by part, else whole. */
static Datum
keep_datum(Datum datum)
{
	if (kiln_toast_is_partial(datum))
		return datumCopy(datum, false, -1);
	return PointerGetDatum(PG_DETOAST_DATUM_COPY(datum));
}

KilnTensorReader *
kiln_tensor_open_all(Datum datum, uint64 *count)
{
	KilnTensorReader *reader = palloc0(sizeof(KilnTensorReader));

	reader->context = CurrentMemoryContext;
	kiln_toast_open(&reader->toast, keep_datum(datum));
	*count = read_count(&reader->toast);
	return reader;
}

void
kiln_tensor_open_next(KilnTensorReader *reader, uint32 i)
{
	MemoryContext old = MemoryContextSwitchTo(reader->context);

	read_entry(reader, i);
	MemoryContextSwitchTo(old);
}

static const char *
name_at(FunctionCallInfo fcinfo, int name_argument, size_t *length)
{
	*length = 0;
	return name_argument >= 0 ? kiln_text_datum_to_utf8(PG_GETARG_DATUM(name_argument), length) : NULL;
}

static void
open_argument(KilnTensorReader *reader, FunctionCallInfo fcinfo, Datum datum, int name_argument)
{
	size_t		length;
	const char *name = name_at(fcinfo, name_argument, &length);

	kiln_tensor_open(reader, datum, name, length);
}

/*
 * The same for one element: what the query's accessors share of a value stored out of line (toast_cache.c) spares the second look into a row's tensor
 * the fetch of its directory, and every look the locks.
 */
static void
open_for_element(KilnTensorReader *reader, FunctionCallInfo fcinfo, int name_argument)
{
	Datum		datum = PG_GETARG_DATUM(0);
	KilnToastCache *cache = NULL;
	size_t		length;
	const char *name = name_at(fcinfo, name_argument, &length);

	if (VARATT_IS_EXTERNAL_ONDISK(DatumGetPointer(datum)))
		cache = kiln_toast_cache(fcinfo->flinfo->fn_mcxt);
	kiln_toast_open_cached(&reader->toast, datum, cache);
	find_tensor(reader, name, length);
}

void
kiln_tensor_open_argument(KilnTensorReader *reader, FunctionCallInfo fcinfo, int name_argument)
{
	open_argument(reader, fcinfo, PG_GETARG_DATUM(0), name_argument);
}

void
kiln_tensor_close(KilnTensorReader *reader)
{
	kiln_toast_close(&reader->toast);
	if (reader->part)
		pfree(reader->part);
	reader->part = NULL;
}

/* ------------------------------------------------------------------ whole directories */

kiln_tensor *
kiln_directory_open(Datum datum, uint32 extra, uint32 *count)
{
	KilnTensorReader reader;
	kiln_tensor *tensors;
	const uint8_t *directory;

	kiln_toast_open(&reader.toast, PointerGetDatum(PG_DETOAST_DATUM_PACKED(datum)));
	*count = read_count(&reader.toast);
	directory = reader.toast.data + KILN_TENSORS_HEAD;
	tensors = palloc_extended(Max((Size) *count + extra, 1) * sizeof(kiln_tensor), MCXT_ALLOC_HUGE);
	for (uint32 i = 0; i < *count; i++)
	{
		read_entry(&reader, i);
		(void) kiln_directory_entry(directory, reader.toast.total - KILN_TENSORS_HEAD, i, &tensors[i]);
	}
	return tensors;
}

int
kiln_tensors_compare(const kiln_tensor *a, const kiln_tensor *b)
{
	return kiln_compare_bytes(a->name, a->name_length, b->name, b->name_length);
}

static int
compare_for_sort(const void *a, const void *b)
{
	return kiln_tensors_compare(a, b);
}

const kiln_tensor *
kiln_tensors_sort(kiln_tensor *tensors, uint32 count)
{
	qsort(tensors, count, sizeof(kiln_tensor), compare_for_sort);
	for (uint32 i = 1; i < count; i++)
		if (kiln_tensors_compare(&tensors[i - 1], &tensors[i]) == 0)
			return &tensors[i];
	return NULL;
}

int64
kiln_tensors_find(const kiln_tensor *tensors, uint32 count, const char *name, size_t length)
{
	uint32		low = 0;
	uint32		high = count;

	while (low < high)
	{
		uint32		middle = low + (high - low) / 2;
		int			order = kiln_compare_bytes(name, length, tensors[middle].name, tensors[middle].name_length);

		if (order == 0)
			return middle;
		if (order < 0)
			high = middle;
		else
			low = middle + 1;
	}
	return -1 - (int64) low;
}

/* ------------------------------------------------------------------ elements */

/* Where a byte of the payload is in the frame. */
static size_t
frame_position(const KilnTensorReader *reader, uint64 at)
{
	return KILN_TENSORS_HEAD + (size_t) (reader->tensor.offset + at);
}

const uint8_t *
kiln_tensor_bytes(KilnTensorReader *reader, uint64 from, uint64 to)
{
	return kiln_toast_read(&reader->toast, frame_position(reader, from), frame_position(reader, to));
}

const uint8_t *
kiln_tensor_some(KilnTensorReader *reader, uint64 position, uint64 end, uint64 *n)
{
	size_t		from = frame_position(reader, position * reader->width);

	*n = end - position;
	if (reader->toast.source == NULL)
		return kiln_tensor_bytes(reader, position * reader->width, end * reader->width);
	*n = Min(*n, PART_BYTES / reader->width);
	if (reader->part == NULL)
		reader->part = palloc(VARHDRSZ + Min(reader->tensor.length, PART_BYTES));
	kiln_toast_copy(&reader->toast, from, from + *n * reader->width, reader->part + VARHDRSZ);
	return reader->part + VARHDRSZ;
}

void
kiln_tensor_copy(KilnTensorReader *reader, uint64 position, uint64 n, uint8_t dtype, uint8_t *target)
{
	uint32		width = kiln_dtype_width(dtype);
	uint64		end = position + n;

	if (dtype == reader->tensor.dtype)
	{
		kiln_toast_copy(&reader->toast, frame_position(reader, position * width),
						frame_position(reader, end * width), target);
		return;
	}
	while (position < end)
	{
		uint64		some;
		const uint8_t *data = kiln_tensor_some(reader, position, end, &some);

		CHECK_FOR_INTERRUPTS();
		kiln_convert_elements(reader->tensor.dtype, dtype, data, target, some, position);
		position += some;
		target += some * width;
	}
}

/* ------------------------------------------------------------------ one element */

/*
 * The element at 1-based positions as a double; NULL if one of them is out of range.
 */
static Datum
element_at(FunctionCallInfo fcinfo, KilnTensorReader *reader, const int64 *positions, int count)
{
	uint64		index = 0;
	double		element;

	if (count != reader->tensor.rank)
		ereport(ERROR,
				(errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
				 errmsg("tensor of rank %d needs %d positions, not %d",
						reader->tensor.rank, reader->tensor.rank, count)));
	for (int i = 0; i < count; i++)
	{
		if (positions[i] < 1 || (uint64) positions[i] > reader->tensor.shape[i])
		{
			kiln_tensor_close(reader);
			PG_RETURN_NULL();
		}
		index = index * reader->tensor.shape[i] + (uint64) (positions[i] - 1);
	}
	element = kiln_element_f64(reader->tensor.dtype,
							   kiln_tensor_bytes(reader, index * reader->width, (index + 1) * reader->width));
	kiln_tensor_close(reader);
	PG_RETURN_FLOAT8(element);
}

/* The positions in argument n, an array of bigint; false if one is NULL, and then there is no element. */
static bool
positions_argument(FunctionCallInfo fcinfo, int n, const int64 **positions, int *count)
{
	ArrayType  *array = PG_GETARG_ARRAYTYPE_P(n);

	*count = ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array));
	*positions = (const int64 *) ARR_DATA_PTR(array);
	return !array_contains_nulls(array);
}

PG_FUNCTION_INFO_V1(kiln_at_scalar);
PG_FUNCTION_INFO_V1(kiln_at_position);
PG_FUNCTION_INFO_V1(kiln_at_positions);
PG_FUNCTION_INFO_V1(kiln_at_named_scalar);
PG_FUNCTION_INFO_V1(kiln_at_named_position);
PG_FUNCTION_INFO_V1(kiln_at_named_positions);

/* kiln_at(kiln): the one element of a tensor of rank 0. */
Datum
kiln_at_scalar(PG_FUNCTION_ARGS)
{
	KilnTensorReader reader;

	open_for_element(&reader, fcinfo, -1);
	return element_at(fcinfo, &reader, NULL, 0);
}

/* kiln_at(kiln, bigint) */
Datum
kiln_at_position(PG_FUNCTION_ARGS)
{
	KilnTensorReader reader;
	int64		position = PG_GETARG_INT64(1);

	open_for_element(&reader, fcinfo, -1);
	return element_at(fcinfo, &reader, &position, 1);
}

/* kiln_at(kiln, VARIADIC bigint[]) */
Datum
kiln_at_positions(PG_FUNCTION_ARGS)
{
	KilnTensorReader reader;
	const int64 *positions;
	int			count;

	if (!positions_argument(fcinfo, 1, &positions, &count))
		PG_RETURN_NULL();
	open_for_element(&reader, fcinfo, -1);
	return element_at(fcinfo, &reader, positions, count);
}

/* kiln_at(kiln, text) */
Datum
kiln_at_named_scalar(PG_FUNCTION_ARGS)
{
	KilnTensorReader reader;

	open_for_element(&reader, fcinfo, 1);
	return element_at(fcinfo, &reader, NULL, 0);
}

/* kiln_at(kiln, text, bigint) */
Datum
kiln_at_named_position(PG_FUNCTION_ARGS)
{
	KilnTensorReader reader;
	int64		position = PG_GETARG_INT64(2);

	open_for_element(&reader, fcinfo, 1);
	return element_at(fcinfo, &reader, &position, 1);
}

/* kiln_at(kiln, text, VARIADIC bigint[]) */
Datum
kiln_at_named_positions(PG_FUNCTION_ARGS)
{
	KilnTensorReader reader;
	const int64 *positions;
	int			count;

	if (!positions_argument(fcinfo, 2, &positions, &count))
		PG_RETURN_NULL();
	open_for_element(&reader, fcinfo, 1);
	return element_at(fcinfo, &reader, positions, count);
}

/* ------------------------------------------------------------------ all elements */

PG_FUNCTION_INFO_V1(kiln_values);

typedef struct ValuesState
{
	KilnTensorReader reader;
	uint64		position;		/* of data[0] */
	uint64		n;				/* elements at data */
	const uint8_t *data;
} ValuesState;

/* kiln_values(kiln [, name text]): the elements as doubles, in row-major order. */
Datum
kiln_values(PG_FUNCTION_ARGS)
{
	FuncCallContext *call;
	ValuesState *state;
	uint64		i;

	if (SRF_IS_FIRSTCALL())
	{
		MemoryContext old;

		call = SRF_FIRSTCALL_INIT();
		old = MemoryContextSwitchTo(call->multi_call_memory_ctx);
		state = palloc0(sizeof(ValuesState));
		open_argument(&state->reader, fcinfo, keep_datum(PG_GETARG_DATUM(0)), PG_NARGS() > 1 ? 1 : -1);
		call->max_calls = state->reader.elements;
		call->user_fctx = state;
		MemoryContextSwitchTo(old);
	}
	call = SRF_PERCALL_SETUP();
	state = call->user_fctx;
	if (call->call_cntr >= call->max_calls)
		SRF_RETURN_DONE(call);
	if (call->call_cntr == state->position + state->n)
	{
		MemoryContext old = MemoryContextSwitchTo(call->multi_call_memory_ctx);

		state->position = call->call_cntr;
		state->data = kiln_tensor_some(&state->reader, state->position, state->reader.elements, &state->n);
		MemoryContextSwitchTo(old);
	}
	i = call->call_cntr - state->position;
	SRF_RETURN_NEXT(call, Float8GetDatum(kiln_element_f64(state->reader.tensor.dtype,
														  state->data + i * state->reader.width)));
}
