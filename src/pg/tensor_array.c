/*
 * Tensors to arrays.
 */
#include "kiln_tensor.h"

#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/lsyscache.h"

/* Most elements of an array, as core has it. */
#define MOST_ELEMENTS	(MaxAllocSize / sizeof(Datum))

pg_noreturn static void
too_large(const char *detail)
{
	ereport(ERROR,
			(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
			 errmsg("tensor does not fit an array"),
			 errdetail_internal("%s", detail)));
}

/* Dimensions of the array: those of the tensor, or a single [1] for one of rank 0. Returns their number. */
static int
array_dimensions(const KilnTensorReader *reader, int *dimensions, int *bounds)
{
	if (reader->tensor.rank > MAXDIM)
		too_large(psprintf(_("It has %d dimensions, an array has at most %d."), reader->tensor.rank, MAXDIM));
	if (reader->elements > MOST_ELEMENTS)
		too_large(psprintf(_("It has " UINT64_FORMAT " elements, an array has at most %d."),
						   reader->elements, (int) MOST_ELEMENTS));
	dimensions[0] = bounds[0] = 1;
	for (int i = 0; i < reader->tensor.rank; i++)
	{
		dimensions[i] = (int) reader->tensor.shape[i];
		bounds[i] = 1;
	}
	return Max(reader->tensor.rank, 1);
}

/* An array of fixed-width elements: one palloc, filled in place. */
static ArrayType *
fixed_array(KilnTensorReader *reader, Oid type)
{
	int			dimensions[KILN_MAX_RANK];
	int			bounds[KILN_MAX_RANK];
	int			ndim = array_dimensions(reader, dimensions, bounds);
	uint8_t		dtype = kiln_dtype_of_type(type);
	uint32_t	width = kiln_dtype_width(dtype);
	Size		size = ARR_OVERHEAD_NONULLS(ndim) + (Size) reader->elements * width;
	ArrayType  *array;

	if (!AllocSizeIsValid(size))
		too_large(_("It would pass 1 GB."));
	array = palloc(size);
	memset(array, 0, ARR_OVERHEAD_NONULLS(ndim));
	SET_VARSIZE(array, size);
	array->ndim = ndim;
	array->dataoffset = 0;
	array->elemtype = type;
	memcpy(ARR_DIMS(array), dimensions, (size_t) ndim * sizeof(int));
	memcpy(ARR_LBOUND(array), bounds, (size_t) ndim * sizeof(int));
	kiln_tensor_copy(reader, 0, reader->elements, dtype, (uint8_t *) ARR_DATA_PTR(array));
#ifdef WORDS_BIGENDIAN
	{
		uint8_t    *p = (uint8_t *) ARR_DATA_PTR(array);

		for (uint64 i = 0; i < reader->elements; i++)
			for (uint32_t k = 0; k < width / 2; k++)
			{
				uint8_t		byte = p[i * width + k];

				p[i * width + k] = p[i * width + width - 1 - k];
				p[i * width + width - 1 - k] = byte;
			}
	}
#endif
	return array;
}

/* One element as numeric, exactly: an integer, or the number that a float's text shows. */
static Datum
element_numeric(uint8_t dtype, const uint8_t *p)
{
	char		text[32];

	switch (dtype)
	{
		case KILN_DTYPE_U64:
			snprintf(text, sizeof text, UINT64_FORMAT, (uint64) kiln_load_u64(p));
			break;
		case KILN_DTYPE_I64:
			snprintf(text, sizeof text, INT64_FORMAT, (int64) kiln_load_u64(p));
			break;
		case KILN_DTYPE_F64:
			text[kiln_print_f64(kiln_load_f64(p), text)] = '\0';
			break;
		case KILN_DTYPE_F32:
			text[kiln_print_f32(kiln_load_f32(p), text)] = '\0';
			break;
		default:
			/* integers of up to 32 bits, and 16-bit floats, whose value has few digits */
			text[kiln_print_f64(kiln_element_f64(dtype, p), text)] = '\0';
	}
	if (strncmp(text, "NaN", 3) == 0)
		text[3] = '\0';
	return DirectFunctionCall3(numeric_in, CStringGetDatum(text), ObjectIdGetDatum(InvalidOid), Int32GetDatum(-1));
}

static ArrayType *
numeric_array(KilnTensorReader *reader)
{
	int			dimensions[KILN_MAX_RANK];
	int			bounds[KILN_MAX_RANK];
	int			ndim = array_dimensions(reader, dimensions, bounds);
	Datum	   *elements = palloc_extended(Max(reader->elements, 1) * sizeof(Datum), MCXT_ALLOC_HUGE);
	uint64		position = 0;

	while (position < reader->elements)
	{
		uint64		n;
		const uint8_t *data = kiln_tensor_some(reader, position, reader->elements, &n);

		for (uint64 i = 0; i < n; i++)
		{
			elements[position + i] = element_numeric(reader->tensor.dtype, data + i * reader->width);
			if ((i & 0xfff) == 0)
				CHECK_FOR_INTERRUPTS();
		}
		position += n;
	}
	return construct_md_array(elements, NULL, ndim, dimensions, bounds, NUMERICOID, -1, false, TYPALIGN_INT);
}

ArrayType *
kiln_tensor_array(KilnTensorReader *reader, Oid type)
{
	if (reader->elements == 0)
		return construct_empty_array(type);
	if (type == NUMERICOID)
		return numeric_array(reader);
	return fixed_array(reader, type);
}

PG_FUNCTION_INFO_V1(kiln_to_array);

/* kiln_to_array(kiln [, name text]): the elements as doubles, in the tensor's shape. */
Datum
kiln_to_array(PG_FUNCTION_ARGS)
{
	KilnTensorReader reader;
	ArrayType  *array;

	kiln_tensor_open_argument(&reader, fcinfo, PG_NARGS() > 1 ? 1 : -1);
	array = kiln_tensor_array(&reader, FLOAT8OID);
	kiln_tensor_close(&reader);
	PG_RETURN_ARRAYTYPE_P(array);
}

PG_FUNCTION_INFO_V1(kiln_to_array_of);

/*
 * Casts to arrays: a tensor in its shape, any other value as kiln_get() gives it. The array type is the function's
 * result type.
 */
Datum
kiln_to_array_of(PG_FUNCTION_ARGS)
{
	Oid			array_type = get_fn_expr_rettype(fcinfo->flinfo);
	Oid			type;
	KilnToast	toast;
	KilnTensorReader reader;
	ArrayType  *array;
	bool		is_tensor;

	if (!OidIsValid(array_type))
		array_type = get_func_rettype(fcinfo->flinfo->fn_oid);
	type = get_element_type(array_type);
	kiln_toast_open(&toast, PG_GETARG_DATUM(0));
	is_tensor = *kiln_toast_read(&toast, 0, 1) == KILN_FRAME_TENSORS;
	kiln_toast_close(&toast);
	if (!is_tensor)
	{
		KilnField	field;
		bool		isnull = false;
		Datum		result;

		kiln_access_whole(fcinfo, &field);
		result = kiln_field_datum(&field, array_type, -1, NULL, CurrentMemoryContext, &isnull);
		if (isnull)
			PG_RETURN_NULL();
		PG_RETURN_DATUM(result);
	}
	kiln_tensor_open_argument(&reader, fcinfo, -1);
	array = kiln_tensor_array(&reader, type);
	kiln_tensor_close(&reader);
	PG_RETURN_ARRAYTYPE_P(array);
}
