/*
 * Directories from arrays.
 */
#include "kiln_tensor.h"

#include "access/transam.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/lsyscache.h"

/* Elements read at a time from an array stored out of line: few enough that they stay in cache. */
#define PART_ELEMENTS	((uint64) 16384)

void
kiln_tensor_too_large(void)
{
	ereport(ERROR,
			(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
			 errmsg("tensor is too large"),
			 errdetail("A tensor directory has at most %d bytes.", KILN_MAX_DIRECTORY)));
}

static void
check_name(const kiln_tensor *tensor)
{
	if (!kiln_tensor_name_valid(tensor->name, tensor->name_length, tensor->rank))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_NAME),
				 errmsg("invalid tensor name \"%s\"", kiln_utf8_for_message(tensor->name, tensor->name_length)),
				 errdetail("A name of a tensor of rank %d has at most %d bytes and no leading $.",
						   tensor->rank, KILN_MAX_TENSOR_NAME - 8 * tensor->rank)));
}

/*
 * A frame that holds the tensors, whose names, shapes, dtypes and lengths are set; their offsets get set. A
 * tensor's data is copied once; where it is NULL its room is left as it is.
 */
struct varlena *
kiln_tensors_frame(kiln_tensor *tensors, uint32 count)
{
	uint64_t	total;
	kiln_error	error;
	struct varlena *frame;

	for (uint32 i = 0; i < count; i++)
		check_name(&tensors[i]);
	if (!kiln_directory_layout(tensors, count, &total, &error))
		kiln_report(&error, KILN_IN_RECORD, NULL);
	if (total > KILN_MAX_DIRECTORY)
		kiln_tensor_too_large();
	frame = palloc(VARHDRSZ + KILN_TENSORS_HEAD + total);
	SET_VARSIZE(frame, VARHDRSZ + KILN_TENSORS_HEAD + total);
	kiln_store_u32((uint8_t *) VARDATA(frame), KILN_FRAME_TENSORS);
	kiln_directory_build(tensors, count, total, (uint8_t *) VARDATA(frame) + KILN_TENSORS_HEAD);
	return frame;
}

/* A frame that holds the one tensor; *payload, if wanted, tells where its elements are. */
struct varlena *
kiln_tensor_frame(kiln_tensor *tensor, uint8_t **payload)
{
	struct varlena *frame = kiln_tensors_frame(tensor, 1);

	if (payload)
		*payload = (uint8_t *) VARDATA(frame) + KILN_TENSORS_HEAD + tensor->offset;
	return frame;
}

/* 22004 for a NULL element, with its position in the array's own subscripts counted from 1. */
pg_noreturn static void
null_element(ArrayType *array, int position)
{
	StringInfoData where;
	int			subscripts[MAXDIM];

	initStringInfo(&where);
	for (int i = ARR_NDIM(array) - 1; i >= 0; i--)
	{
		subscripts[i] = position % ARR_DIMS(array)[i] + 1;
		position /= ARR_DIMS(array)[i];
	}
	for (int i = 0; i < ARR_NDIM(array); i++)
		appendStringInfo(&where, "[%d]", subscripts[i]);
	ereport(ERROR,
			(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
			 errmsg("array element %s is null", where.data),
			 errdetail("A tensor has no nulls."),
			 errhint("Remove them with array_remove(), or leave such rows out with FILTER.")));
}

static void
refuse_nulls(ArrayType *array)
{
	const bits8 *bitmap = ARR_NULLBITMAP(array);
	int			n = ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array));

	if (bitmap == NULL)
		return;
	for (int i = 0; i < n; i++)
		if ((bitmap[i / 8] & (1 << (i % 8))) == 0)
			null_element(array, i);
}

static bool
is_numeric(Oid type)
{
	return type == NUMERICOID || (type >= FirstNormalObjectId && getBaseType(type) == NUMERICOID);
}

/*
 * The elements of an array as little-endian bytes of the dtype of its type: the array's own, or a copy for types
 * that keep theirs another way (numeric, and bool, whose bytes are made 0 or 1).
 */
static const uint8_t *
array_elements(ArrayType *array, uint8_t dtype, uint64 n)
{
	const uint8_t *data = (const uint8_t *) ARR_DATA_PTR(array);
	Oid			type = ARR_ELEMTYPE(array);
	uint8_t    *copy;

	if (dtype == KILN_DTYPE_F64 && is_numeric(type))
	{
		ArrayIterator iterator = array_create_iterator(array, 0, NULL);
		Datum		element;
		bool		isnull;

		copy = palloc_extended(n * 8, MCXT_ALLOC_HUGE);
		for (uint64 i = 0; array_iterate(iterator, &element, &isnull); i++)
			kiln_store_f64(copy + i * 8, DatumGetFloat8(DirectFunctionCall1(numeric_float8, element)));
		array_free_iterator(iterator);
		return copy;
	}
	if (dtype == KILN_DTYPE_BOOL)
	{
		copy = palloc(n);
		for (uint64 i = 0; i < n; i++)
			copy[i] = data[i] != 0;
		return copy;
	}
#ifdef WORDS_BIGENDIAN
	{
		uint32_t	width = kiln_dtype_width(dtype);

		copy = palloc(n * width);
		for (uint64 i = 0; i < n * width; i++)
			copy[i] = data[i / width * width + (width - 1 - i % width)];
		return copy;
	}
#else
	return data;
#endif
}

/* dtype and shape of an array, which is refused if it has NULLs. */
static void
tensor_shape_of_array(kiln_tensor *tensor, ArrayType *array, uint64_t *elements)
{
	tensor->dtype = kiln_dtype_of_type(ARR_ELEMTYPE(array));
	if (tensor->dtype == 0)
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("cannot make a tensor of type %s", format_type_be(ARR_ELEMTYPE(array))),
				 errhint("Tensors are made of boolean, smallint, integer, bigint, real, double precision and "
						 "numeric.")));
	if (ARR_HASNULL(array))
		refuse_nulls(array);
	tensor->rank = (uint8_t) Max(ARR_NDIM(array), 1);
	tensor->shape[0] = 0;
	for (int i = 0; i < ARR_NDIM(array); i++)
		tensor->shape[i] = (uint64_t) ARR_DIMS(array)[i];
	if (!kiln_tensor_size(tensor->dtype, tensor->rank, tensor->shape, &tensor->length, elements))
		kiln_tensor_too_large();
}

void
kiln_tensor_of_array(kiln_tensor *tensor, ArrayType *array, uint64 *elements)
{
	uint64_t	n;

	tensor_shape_of_array(tensor, array, &n);
	tensor->data = array_elements(array, tensor->dtype, n);
	*elements = n;
}

void
kiln_tensor_set_name(kiln_tensor *tensor, Datum name)
{
	size_t		length;
	const char *text = kiln_text_datum_to_utf8(name, &length);

	tensor->name = text;
	tensor->name_length = (uint16_t) Min(length, PG_UINT16_MAX);
	check_name(tensor);
}

/*
 * A numeric array in another dtype than f64: every element is rounded once, from its decimal digits.
 */
static struct varlena *
frame_of_numerics(kiln_tensor *tensor, ArrayType *array, uint8_t dtype)
{
	ArrayIterator iterator = array_create_iterator(array, 0, NULL);
	uint32_t	width = kiln_dtype_width(dtype);
	uint64_t	elements;
	uint8_t    *payload;
	struct varlena *frame;
	Datum		element;
	bool		isnull;

	tensor->dtype = dtype;
	tensor->data = NULL;
	if (!kiln_tensor_size(dtype, tensor->rank, tensor->shape, &tensor->length, &elements))
		kiln_tensor_too_large();
	frame = kiln_tensor_frame(tensor, &payload);
	for (uint64 i = 0; array_iterate(iterator, &element, &isnull); i++)
	{
		char	   *text = DatumGetCString(DirectFunctionCall1(numeric_out, element));

		if (!kiln_element_from_text(dtype, text, strlen(text), payload + i * width))
			kiln_report_element(dtype, i);
		pfree(text);
		CHECK_FOR_INTERRUPTS();
	}
	array_free_iterator(iterator);
	return frame;
}

struct varlena *
kiln_tensor_converted(kiln_tensor *tensor, uint64 elements, uint8_t dtype)
{
	uint8_t		own = tensor->dtype;
	const uint8_t *data = tensor->data;
	uint8_t    *payload;
	struct varlena *frame;

	if (dtype == 0 || dtype == own)
		return kiln_tensor_frame(tensor, NULL);
	tensor->dtype = dtype;
	tensor->length = elements * kiln_dtype_width(dtype);
	tensor->data = NULL;
	frame = kiln_tensor_frame(tensor, &payload);
	kiln_convert_elements(own, dtype, data, payload, elements, 0);
	return frame;
}

/* ------------------------------------------------------------------ arrays out of line */

/*
 * An array stored out of line, uncompressed and without NULLs: its elements go straight from the TOAST table into
 * the frame, so that a large array is copied once and not twice. NULL if it is not such a one.
 */
static struct varlena *
frame_of_external_array(FunctionCallInfo fcinfo, uint8_t dtype)
{
	Datum		datum = PG_GETARG_DATUM(0);
	KilnToast	toast;
	union
	{
		ArrayType	array;
		char		bytes[ARR_OVERHEAD_NONULLS(MAXDIM)];
	}			head;
	kiln_tensor tensor = {0};
	uint64_t	elements;
	uint8_t    *payload;
	struct varlena *frame;
	size_t		at;
	uint32_t	width;
	uint8_t		own;

	if (!kiln_toast_is_partial(datum))
		return NULL;
	kiln_toast_open(&toast, datum);
	memset(&head, 0, sizeof head);
	memcpy(head.bytes + VARHDRSZ, kiln_toast_read(&toast, 0, sizeof head - VARHDRSZ),
		   Min(sizeof head - VARHDRSZ, toast.total));
	own = kiln_dtype_of_type(head.array.elemtype);
	if (own == 0 || own == KILN_DTYPE_BOOL || ARR_HASNULL(&head.array) || ARR_NDIM(&head.array) < 1 ||
		ARR_NDIM(&head.array) > MAXDIM || get_typlen(head.array.elemtype) != (int16) kiln_dtype_width(own))
	{
		kiln_toast_close(&toast);
		return NULL;
	}
	width = kiln_dtype_width(own);
	tensor.dtype = dtype ? dtype : own;
	tensor.rank = (uint8_t) ARR_NDIM(&head.array);
	for (int i = 0; i < tensor.rank; i++)
		tensor.shape[i] = (uint64_t) ARR_DIMS(&head.array)[i];
	if (!kiln_tensor_size(tensor.dtype, tensor.rank, tensor.shape, &tensor.length, &elements))
		kiln_tensor_too_large();
	if (!PG_ARGISNULL(1))
		kiln_tensor_set_name(&tensor, PG_GETARG_DATUM(1));
	frame = kiln_tensor_frame(&tensor, &payload);

	at = ARR_DATA_OFFSET(&head.array) - VARHDRSZ;
	if (toast.total - at < elements * width)
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("array has not the size that its dimensions ask for")));
	if (own == tensor.dtype)
		kiln_toast_copy(&toast, at, at + elements * width, payload);
	else
	{
		uint8_t    *part = palloc(VARHDRSZ + PART_ELEMENTS * width);

		for (uint64 i = 0; i < elements; i += PART_ELEMENTS)
		{
			uint64		n = Min(PART_ELEMENTS, elements - i);

			CHECK_FOR_INTERRUPTS();
			kiln_toast_copy(&toast, at + i * width, at + (i + n) * width, part + VARHDRSZ);
			kiln_convert_elements(own, tensor.dtype, part + VARHDRSZ,
								  payload + i * kiln_dtype_width(tensor.dtype), n, i);
		}
		pfree(part);
	}
	kiln_toast_close(&toast);
	return frame;
}

PG_FUNCTION_INFO_V1(kiln_tensor_from_array);

/*
 * kiln_tensor(anyarray, name text DEFAULT '', dtype text DEFAULT NULL): the array as a tensor of its shape; lower
 * bounds are dropped, and an empty array is a tensor of shape [0]. With dtype its elements are converted.
 */
Datum
kiln_tensor_from_array(PG_FUNCTION_ARGS)
{
	ArrayType  *array;
	kiln_tensor tensor = {0};
	uint64_t	elements;
	uint8_t		dtype;
	struct varlena *frame;

	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	dtype = PG_ARGISNULL(2) ? 0 : kiln_dtype_argument(PG_GETARG_DATUM(2));
#ifndef WORDS_BIGENDIAN
	frame = frame_of_external_array(fcinfo, dtype);
	if (frame != NULL)
		PG_RETURN_POINTER(frame);
#endif
	array = PG_GETARG_ARRAYTYPE_P(0);
	if (dtype != 0 && dtype != KILN_DTYPE_F64 && is_numeric(ARR_ELEMTYPE(array)))
	{
		tensor_shape_of_array(&tensor, array, &elements);
		if (!PG_ARGISNULL(1))
			kiln_tensor_set_name(&tensor, PG_GETARG_DATUM(1));
		frame = frame_of_numerics(&tensor, array, dtype);
	}
	else
	{
		kiln_tensor_of_array(&tensor, array, &elements);
		if (!PG_ARGISNULL(1))
			kiln_tensor_set_name(&tensor, PG_GETARG_DATUM(1));
		frame = kiln_tensor_converted(&tensor, elements, dtype);
	}
	PG_FREE_IF_COPY(array, 0);
	PG_RETURN_POINTER(frame);
}
