/*
 * kiln_directory_agg: rows of a name and an array (or tensor) to one directory.
 *
 * The state lists the tensors in the order they came; each is one chunk with its name and elements. The final
 * function sorts a copy of the list, so the state stays as it is.
 */
#include "kiln_tensor.h"

#include "miscadmin.h"

typedef struct CollectState
{
	uint64		bytes;			/* at least what the directory will take */
	uint32		count;
	uint32		capacity;
	kiln_tensor *tensors;
} CollectState;

#define STATE_VERSION		1
#define SERIAL_HEAD			5
#define SERIAL_TENSOR		4		/* before the dimensions */

/* ------------------------------------------------------------------ state */

static CollectState *
state_create(MemoryContext context)
{
	CollectState *state = MemoryContextAllocZero(context, sizeof(CollectState));

	state->bytes = KILN_DIRECTORY_HEADER;
	state->capacity = 4;
	state->tensors = MemoryContextAlloc(context, state->capacity * sizeof(kiln_tensor));
	return state;
}

/* Take a copy of the tensor. Raises before memory is taken if the directory would be too large. */
static void
state_add(CollectState *state, const kiln_tensor *tensor)
{
	MemoryContext context = GetMemoryChunkContext(state);
	kiln_tensor copy = *tensor;
	char	   *memory;

	state->bytes += KILN_DIRECTORY_ENTRY + tensor->length;
	if (state->bytes > KILN_MAX_DIRECTORY)
		kiln_tensor_too_large();
	if (state->count == state->capacity)
	{
		state->tensors = repalloc_huge(state->tensors, (Size) state->capacity * 2 * sizeof(kiln_tensor));
		state->capacity *= 2;
	}
	memory = MemoryContextAlloc(context, tensor->length + tensor->name_length + 1);
	if (tensor->length > 0)
		memcpy(memory, tensor->data, tensor->length);
	if (tensor->name_length > 0)
		memcpy(memory + tensor->length, tensor->name, tensor->name_length);
	copy.data = (const uint8_t *) memory;
	copy.name = memory + tensor->length;
	state->tensors[state->count++] = copy;
}

static Datum
add_row(FunctionCallInfo fcinfo, void (*read) (FunctionCallInfo, int, kiln_tensor *))
{
	CollectState *state;
	kiln_tensor tensor = {0};

	if (PG_ARGISNULL(1) || PG_ARGISNULL(2))
		kiln_report_null_row("kiln_directory_agg(name, x)");
	read(fcinfo, 2, &tensor);
	kiln_tensor_set_name(&tensor, PG_GETARG_DATUM(1));
	state = PG_ARGISNULL(0) ? state_create(kiln_state_context(fcinfo)) : (CollectState *) PG_GETARG_POINTER(0);
	state_add(state, &tensor);
	PG_RETURN_POINTER(state);
}

/* ------------------------------------------------------------------ the aggregate's functions */

PG_FUNCTION_INFO_V1(kiln_collect_array);
PG_FUNCTION_INFO_V1(kiln_collect_tensor);
PG_FUNCTION_INFO_V1(kiln_collect_final);
PG_FUNCTION_INFO_V1(kiln_collect_combine);
PG_FUNCTION_INFO_V1(kiln_collect_serialize);
PG_FUNCTION_INFO_V1(kiln_collect_deserialize);

/* kiln_collect_array(internal, text, anyarray) */
Datum
kiln_collect_array(PG_FUNCTION_ARGS)
{
	return add_row(fcinfo, kiln_row_of_array);
}

/* kiln_collect_tensor(internal, text, kiln) */
Datum
kiln_collect_tensor(PG_FUNCTION_ARGS)
{
	return add_row(fcinfo, kiln_row_of_tensor);
}

/* kiln_collect_final(internal): the directory; 42710 for a name that came twice; no rows: NULL. */
Datum
kiln_collect_final(PG_FUNCTION_ARGS)
{
	CollectState *state;
	kiln_tensor *sorted;
	const kiln_tensor *twice;

	(void) kiln_state_context(fcinfo);
	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	state = (CollectState *) PG_GETARG_POINTER(0);
	sorted = palloc_extended(state->count * sizeof(kiln_tensor), MCXT_ALLOC_HUGE);
	memcpy(sorted, state->tensors, state->count * sizeof(kiln_tensor));
	twice = kiln_tensors_sort(sorted, state->count);
	if (twice)
		ereport(ERROR,
				(errcode(ERRCODE_DUPLICATE_OBJECT),
				 errmsg("tensor \"%s\" comes more than once", kiln_utf8_for_message(twice->name, twice->name_length))));
	PG_RETURN_POINTER(kiln_tensors_frame(sorted, state->count));
}

/* kiln_collect_combine(internal, internal) */
Datum
kiln_collect_combine(PG_FUNCTION_ARGS)
{
	MemoryContext context = kiln_state_context(fcinfo);
	CollectState *state = PG_ARGISNULL(0) ? NULL : (CollectState *) PG_GETARG_POINTER(0);
	CollectState *other = PG_ARGISNULL(1) ? NULL : (CollectState *) PG_GETARG_POINTER(1);

	if (other == NULL)
	{
		if (state == NULL)
			PG_RETURN_NULL();
		PG_RETURN_POINTER(state);
	}
	if (state == NULL)
		state = state_create(context);
	for (uint32 i = 0; i < other->count; i++)
		state_add(state, &other->tensors[i]);
	PG_RETURN_POINTER(state);
}

/*
 * kiln_collect_serialize(internal): version, count (u32), and each tensor: dtype, rank, length of the name (u16),
 * dimensions (u64), name, elements; all little-endian.
 */
Datum
kiln_collect_serialize(PG_FUNCTION_ARGS)
{
	CollectState *state = (CollectState *) PG_GETARG_POINTER(0);
	kiln_writer writer;
	bytea	   *result;
	Size		size = SERIAL_HEAD;

	(void) kiln_state_context(fcinfo);
	for (uint32 i = 0; i < state->count; i++)
		size += SERIAL_TENSOR + 8 * (Size) state->tensors[i].rank + state->tensors[i].name_length +
			state->tensors[i].length;
	result = palloc(VARHDRSZ + size);
	SET_VARSIZE(result, VARHDRSZ + size);
	kiln_writer_init(&writer, VARDATA(result), size);
	kiln_writer_u8(&writer, STATE_VERSION);
	kiln_writer_u32(&writer, state->count);
	for (uint32 i = 0; i < state->count; i++)
	{
		const kiln_tensor *tensor = &state->tensors[i];

		kiln_writer_u8(&writer, tensor->dtype);
		kiln_writer_u8(&writer, tensor->rank);
		kiln_writer_u16(&writer, tensor->name_length);
		for (int d = 0; d < tensor->rank; d++)
			kiln_writer_u64(&writer, tensor->shape[d]);
		kiln_writer_bytes(&writer, tensor->name, tensor->name_length);
		kiln_writer_bytes(&writer, tensor->data, tensor->length);
	}
	PG_RETURN_BYTEA_P(result);
}

/* One tensor of a serialized state; checks what it is given, as any input. */
static void
read_tensor(kiln_reader *reader, kiln_tensor *tensor)
{
	uint64_t	elements;

	tensor->dtype = kiln_reader_u8(reader);
	tensor->rank = kiln_reader_u8(reader);
	tensor->name_length = kiln_reader_u16(reader);
	if (reader->failed || tensor->rank > KILN_MAX_RANK)
		kiln_report_bad_state();
	for (int d = 0; d < tensor->rank; d++)
		tensor->shape[d] = kiln_reader_u64(reader);
	tensor->name = (const char *) kiln_reader_bytes(reader, tensor->name_length);
	if (reader->failed || !kiln_tensor_name_valid(tensor->name, tensor->name_length, tensor->rank) ||
		!kiln_tensor_size(tensor->dtype, tensor->rank, tensor->shape, &tensor->length, &elements))
		kiln_report_bad_state();
	tensor->data = kiln_reader_bytes(reader, tensor->length);
	if (reader->failed)
		kiln_report_bad_state();
}

/* kiln_collect_deserialize(bytea, internal) */
Datum
kiln_collect_deserialize(PG_FUNCTION_ARGS)
{
	bytea	   *serialized = PG_GETARG_BYTEA_PP(0);
	CollectState *state;
	kiln_reader reader;
	kiln_tensor tensor = {0};
	uint32		count;

	(void) kiln_state_context(fcinfo);
	kiln_reader_init(&reader, (const uint8_t *) VARDATA_ANY(serialized), VARSIZE_ANY_EXHDR(serialized));
	if (kiln_reader_u8(&reader) != STATE_VERSION)
		kiln_report_bad_state();
	count = kiln_reader_count(&reader, SERIAL_TENSOR);
	if (reader.failed)
		kiln_report_bad_state();
	state = state_create(CurrentMemoryContext);
	for (uint32 i = 0; i < count; i++)
	{
		read_tensor(&reader, &tensor);
		state_add(state, &tensor);
	}
	if (kiln_reader_left(&reader) > 0)
		kiln_report_bad_state();
	PG_RETURN_POINTER(state);
}
