/*
 * Tensors and directories made of others: other shapes, dtypes and names, tensors put end to end, directories
 * joined.
 */
#include "kiln_tensor.h"

#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "utils/lsyscache.h"

/* ------------------------------------------------------------------ shape */

/*
 * Read a shape from a bigint[]: 2202E unless it has as many elements as the tensor. One dimension may be -1,
 * whatever the others leave.
 */
static void
read_shape(kiln_tensor *tensor, uint64 elements, ArrayType *array)
{
	int			rank = ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array));
	const int64 *dimensions = (const int64 *) ARR_DATA_PTR(array);
	int			open = -1;
	uint64_t	others;

	if (array_contains_nulls(array))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("a dimension is null")));
	if (rank > KILN_MAX_RANK)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("a tensor has at most %d dimensions", KILN_MAX_RANK)));
	tensor->rank = (uint8_t) rank;
	for (int i = 0; i < rank; i++)
	{
		if (dimensions[i] < -1 || (dimensions[i] == -1 && open >= 0))
			ereport(ERROR,
					(errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
					 errmsg("dimensions must not be negative"),
					 errhint("One of them may be -1: it takes what the others leave.")));
		if (dimensions[i] == -1)
			open = i;
		tensor->shape[i] = dimensions[i] == -1 ? 1 : (uint64) dimensions[i];
	}
	if (!kiln_tensor_size(tensor->dtype, tensor->rank, tensor->shape, &tensor->length, &others))
		kiln_tensor_too_large();
	if (open >= 0 && others > 0 && elements % others == 0)
	{
		tensor->shape[open] = elements / others;
		others = elements;
	}
	if (others != elements || (open >= 0 && elements == 0))
		ereport(ERROR,
				(errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
				 errmsg("a tensor of " UINT64_FORMAT " elements does not take that shape", elements)));
	tensor->length = elements * kiln_dtype_width(tensor->dtype);
}

/* The elements of the tensor in another form. */
static Datum
rebuild(KilnTensorReader *reader, kiln_tensor *tensor)
{
	uint8_t    *payload;
	struct varlena *frame = kiln_tensor_frame(tensor, &payload);

	kiln_tensor_copy(reader, 0, reader->elements, tensor->dtype, payload);
	kiln_tensor_close(reader);
	PG_RETURN_POINTER(frame);
}

PG_FUNCTION_INFO_V1(kiln_reshape);

/* kiln_reshape(kiln [, name text], bigint[]) */
Datum
kiln_reshape(PG_FUNCTION_ARGS)
{
	bool		named = PG_NARGS() > 2;
	KilnTensorReader reader;
	kiln_tensor tensor;

	kiln_tensor_open_argument(&reader, fcinfo, named ? 1 : -1);
	tensor = reader.tensor;
	read_shape(&tensor, reader.elements, PG_GETARG_ARRAYTYPE_P(named ? 2 : 1));
	return rebuild(&reader, &tensor);
}

/* ------------------------------------------------------------------ dtype */

PG_FUNCTION_INFO_V1(kiln_cast_directory);
PG_FUNCTION_INFO_V1(kiln_cast_named);

/* kiln_cast(kiln, dtype text): every tensor of the directory. */
Datum
kiln_cast_directory(PG_FUNCTION_ARGS)
{
	uint32		count;
	kiln_tensor *tensors = kiln_directory_open(PG_GETARG_DATUM(0), 0, &count);
	kiln_tensor *cast = palloc_extended(Max(count, 1) * sizeof(kiln_tensor), MCXT_ALLOC_HUGE);
	uint8_t		dtype = kiln_dtype_argument(PG_GETARG_DATUM(1));
	struct varlena *frame;

	for (uint32 i = 0; i < count; i++)
	{
		cast[i] = tensors[i];
		cast[i].dtype = dtype;
		cast[i].length = tensors[i].length / kiln_dtype_width(tensors[i].dtype) * kiln_dtype_width(dtype);
		cast[i].data = NULL;
	}
	frame = kiln_tensors_frame(cast, count);
	for (uint32 i = 0; i < count; i++)
	{
		CHECK_FOR_INTERRUPTS();
		kiln_convert_elements(tensors[i].dtype, dtype, tensors[i].data,
							  (uint8_t *) VARDATA(frame) + KILN_TENSORS_HEAD + cast[i].offset,
							  cast[i].length / kiln_dtype_width(dtype), 0);
	}
	PG_RETURN_POINTER(frame);
}

/* kiln_cast(kiln, name text, dtype text): that tensor alone. */
Datum
kiln_cast_named(PG_FUNCTION_ARGS)
{
	KilnTensorReader reader;
	kiln_tensor tensor;

	kiln_tensor_open_argument(&reader, fcinfo, 1);
	tensor = reader.tensor;
	tensor.dtype = kiln_dtype_argument(PG_GETARG_DATUM(2));
	tensor.length = reader.elements * kiln_dtype_width(tensor.dtype);
	return rebuild(&reader, &tensor);
}

/* ------------------------------------------------------------------ concatenation */

/* Add the rows of a further tensor to the shape of the whole. */
static void
add_rows(kiln_tensor *whole, const kiln_tensor *part, int position)
{
	if (part->dtype != whole->dtype)
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("cannot concatenate tensors of dtypes %s and %s",
						kiln_dtype_name(whole->dtype), kiln_dtype_name(part->dtype)),
				 errhint("Use kiln_cast().")));
	if (part->rank != whole->rank ||
		memcmp(part->shape + 1, whole->shape + 1, (part->rank - 1) * sizeof part->shape[0]) != 0)
		ereport(ERROR,
				(errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
				 errmsg("cannot concatenate tensors whose rows differ in shape"),
				 errdetail("Tensor %d has other dimensions than the first.", position + 1)));
	if (part->shape[0] > PG_INT64_MAX - whole->shape[0])
		kiln_tensor_too_large();
	whole->shape[0] += part->shape[0];
}

PG_FUNCTION_INFO_V1(kiln_concat);

/* kiln_concat(VARIADIC kiln[]): tensors put end to end along the first axis, under the first one's name. */
Datum
kiln_concat(PG_FUNCTION_ARGS)
{
	ArrayType  *array = PG_GETARG_ARRAYTYPE_P(0);
	Datum	   *values;
	bool	   *nulls;
	int			count;
	int16		typlen;
	bool		typbyval;
	char		typalign;
	KilnTensorReader *readers;
	kiln_tensor whole;
	uint64_t	elements;
	uint8_t    *payload;
	struct varlena *frame;

	get_typlenbyvalalign(ARR_ELEMTYPE(array), &typlen, &typbyval, &typalign);
	deconstruct_array(array, ARR_ELEMTYPE(array), typlen, typbyval, typalign, &values, &nulls, &count);
	if (count == 0)
		PG_RETURN_NULL();
	readers = palloc_extended(count * sizeof(KilnTensorReader), MCXT_ALLOC_HUGE);
	for (int i = 0; i < count; i++)
	{
		if (nulls[i])
			PG_RETURN_NULL();
		kiln_tensor_open(&readers[i], values[i], NULL, 0);
		if (readers[i].tensor.rank == 0)
			ereport(ERROR,
					(errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
					 errmsg("kiln_concat needs tensors of rank 1 or more")));
		if (i == 0)
			whole = readers[i].tensor;
		else
			add_rows(&whole, &readers[i].tensor, i);
	}
	if (!kiln_tensor_size(whole.dtype, whole.rank, whole.shape, &whole.length, &elements))
		kiln_tensor_too_large();
	frame = kiln_tensor_frame(&whole, &payload);
	for (int i = 0; i < count; i++)
	{
		kiln_tensor_copy(&readers[i], 0, readers[i].elements, whole.dtype, payload);
		payload += readers[i].tensor.length;
		kiln_tensor_close(&readers[i]);
	}
	PG_RETURN_POINTER(frame);
}

/* ------------------------------------------------------------------ directories */

PG_FUNCTION_INFO_V1(kiln_join);
PG_FUNCTION_INFO_V1(kiln_rename);
PG_FUNCTION_INFO_V1(kiln_drop);

/* kiln || kiln: the tensors of both; of a name that both have, the right one's. */
Datum
kiln_join(PG_FUNCTION_ARGS)
{
	uint32		left_count;
	uint32		right_count;
	kiln_tensor *left = kiln_directory_open(PG_GETARG_DATUM(0), 0, &left_count);
	kiln_tensor *right = kiln_directory_open(PG_GETARG_DATUM(1), 0, &right_count);
	kiln_tensor *joined = palloc_extended(((Size) left_count + right_count + 1) * sizeof(kiln_tensor), MCXT_ALLOC_HUGE);
	uint32		count = 0;
	uint32		l = 0;

	for (uint32 r = 0; r < right_count; r++)
	{
		int64		place = kiln_tensors_find(left, left_count, right[r].name, right[r].name_length);
		uint32		before = (uint32) (place < 0 ? -1 - place : place);

		while (l < before)
			joined[count++] = left[l++];
		if (place >= 0)
			l++;
		joined[count++] = right[r];
	}
	while (l < left_count)
		joined[count++] = left[l++];
	PG_RETURN_POINTER(kiln_tensors_frame(joined, count));
}

/* Take tensor i out of a list. */
static kiln_tensor
take_out(kiln_tensor *tensors, uint32 *count, Datum name)
{
	size_t		length;
	const char *text = kiln_text_datum_to_utf8(name, &length);
	int64		i = kiln_tensors_find(tensors, *count, text, length);
	kiln_tensor taken;

	if (i < 0)
		kiln_report_no_tensor(text, length);
	taken = tensors[i];
	memmove(&tensors[i], &tensors[i + 1], ((Size) *count - i - 1) * sizeof(kiln_tensor));
	(*count)--;
	return taken;
}

/* kiln_rename(kiln, text, text): 42710 if there is one of the new name already. */
Datum
kiln_rename(PG_FUNCTION_ARGS)
{
	uint32		count;
	kiln_tensor *tensors = kiln_directory_open(PG_GETARG_DATUM(0), 0, &count);
	kiln_tensor tensor = take_out(tensors, &count, PG_GETARG_DATUM(1));
	int64		place;

	kiln_tensor_set_name(&tensor, PG_GETARG_DATUM(2));
	place = kiln_tensors_find(tensors, count, tensor.name, tensor.name_length);
	if (place >= 0)
		ereport(ERROR,
				(errcode(ERRCODE_DUPLICATE_OBJECT),
				 errmsg("tensor \"%s\" already exists", kiln_utf8_for_message(tensor.name, tensor.name_length))));
	place = -1 - place;
	memmove(&tensors[place + 1], &tensors[place], ((Size) count - place) * sizeof(kiln_tensor));
	tensors[place] = tensor;
	PG_RETURN_POINTER(kiln_tensors_frame(tensors, count + 1));
}

/* kiln_drop(kiln, text): the directory without that tensor. */
Datum
kiln_drop(PG_FUNCTION_ARGS)
{
	uint32		count;
	kiln_tensor *tensors = kiln_directory_open(PG_GETARG_DATUM(0), 0, &count);

	(void) take_out(tensors, &count, PG_GETARG_DATUM(1));
	PG_RETURN_POINTER(kiln_tensors_frame(tensors, count));
}
