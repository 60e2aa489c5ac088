/*
 * Tensors from lists: kiln values that are lists of numbers or bools, nested for more dimensions.
 */
#include "kiln_tensor.h"

#include "miscadmin.h"

/* A tensor under way. */
typedef struct ListReader
{
	kiln_reader reader;
	kiln_tensor *tensor;
	bool		known[KILN_MAX_RANK];	/* dimensions that a list has set */
	const kiln_type *base;		/* of elements, without OPTIONAL */
	uint32_t	width;			/* of an element in the tensor */
	uint8_t    *out;			/* elements so far */
	uint64		n;
} ListReader;

pg_noreturn static void
no_numbers(const kiln_type *type)
{
	ereport(ERROR,
			(errcode(ERRCODE_DATATYPE_MISMATCH),
			 errmsg("cannot make a tensor of kiln type %s", kiln_utf8_for_message(type->text, type->text_length)),
			 errhint("Tensors are made of lists of numbers or bools, or of lists of such lists.")));
}

pg_noreturn static void
damaged(void)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_BINARY_REPRESENTATION),
			 errmsg("damaged value of type kiln: value ends too early")));
}

pg_noreturn static void
absent(void)
{
	ereport(ERROR,
			(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
			 errmsg("a list element is null"),
			 errdetail("A tensor has no nulls.")));
}

static const kiln_type *
without_optional(const kiln_type *type)
{
	return type->kind == KILN_OPTIONAL ? type->element : type;
}

/* The dtype that holds values of a scalar type, 0 if none does. numeric is kept as f64. */
static uint8_t
dtype_of_kind(uint8_t kind)
{
	static const uint8_t dtypes[] = {
		[KILN_BOOL] = KILN_DTYPE_BOOL,
		[KILN_I8] = KILN_DTYPE_I8, [KILN_I16] = KILN_DTYPE_I16, [KILN_I32] = KILN_DTYPE_I32,
		[KILN_I64] = KILN_DTYPE_I64,
		[KILN_U8] = KILN_DTYPE_U8, [KILN_U16] = KILN_DTYPE_U16, [KILN_U32] = KILN_DTYPE_U32,
		[KILN_U64] = KILN_DTYPE_U64,
		[KILN_F32] = KILN_DTYPE_F32, [KILN_F64] = KILN_DTYPE_F64, [KILN_NUMERIC] = KILN_DTYPE_F64
	};

	return kind < lengthof(dtypes) ? dtypes[kind] : 0;
}

/* A presence tag, if the type is optional; absent ones are refused. */
static void
read_tag(ListReader *list, const kiln_type *type)
{
	if (type->kind == KILN_OPTIONAL && !kiln_reader_bool(&list->reader))
	{
		if (list->reader.failed)
			damaged();
		absent();
	}
}

/* One element that is not part of a packed list. */
static void
read_element(ListReader *list, const kiln_type *type)
{
	uint8_t    *out = list->out + list->n * list->width;
	const uint8_t *data;
	uint32_t	length;

	read_tag(list, type);
	if (list->base->kind == KILN_NUMERIC)
	{
		data = kiln_reader_span(&list->reader, &length);
		if (data == NULL)
			damaged();
		if (!kiln_element_from_text(list->tensor->dtype, (const char *) data, length, out))
			kiln_report_element(list->tensor->dtype, list->n);
	}
	else
	{
		data = kiln_reader_bytes(&list->reader, list->width);
		if (data == NULL)
			damaged();
		memcpy(out, data, list->width);
		if (list->base->kind == KILN_BOOL)
			*out = *out != 0;
	}
	list->n++;
}

/* A list at a depth, which is its dimension. Lists of one depth have one length. */
static void
read_list(ListReader *list, const kiln_type *type, int depth)
{
	const kiln_type *element = type->element;
	uint64		count = kiln_reader_count(&list->reader, element->least);

	if (list->reader.failed)
		damaged();
	if (list->known[depth] && list->tensor->shape[depth] != count)
		ereport(ERROR,
				(errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
				 errmsg("lists differ in length"),
				 errdetail("One has " UINT64_FORMAT " elements, another " UINT64_FORMAT ".",
						   (uint64) list->tensor->shape[depth], count)));
	list->known[depth] = true;
	list->tensor->shape[depth] = count;
	if (type->numbers)
	{
		const uint8_t *data = kiln_reader_bytes(&list->reader, count * list->width);

		if (data == NULL)
			damaged();
		memcpy(list->out + list->n * list->width, data, count * list->width);
		list->n += count;
		return;
	}
	for (uint64 i = 0; i < count; i++)
	{
		if ((i & 0xfff) == 0)
			CHECK_FOR_INTERRUPTS();
		if (without_optional(element)->kind == KILN_LIST)
		{
			read_tag(list, element);
			read_list(list, without_optional(element), depth + 1);
		}
		else
			read_element(list, element);
	}
}

/* Rank and type of elements; raises if the value is no list of numbers. */
static void
measure(ListReader *list, const kiln_type *type)
{
	const kiln_type *whole = type;

	list->tensor->rank = 0;
	while (type->kind == KILN_LIST)
	{
		if (list->tensor->rank == KILN_MAX_RANK)
			ereport(ERROR,
					(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
					 errmsg("a tensor has at most %d dimensions", KILN_MAX_RANK)));
		list->tensor->rank++;
		type = without_optional(type->element);
	}
	list->base = type;
	list->tensor->dtype = dtype_of_kind(type->kind);
	if (list->tensor->rank == 0 || list->tensor->dtype == 0)
		no_numbers(whole);
}

PG_FUNCTION_INFO_V1(kiln_tensor_from_list);

/* kiln_tensor(kiln, name text DEFAULT '', dtype text DEFAULT NULL): a list, in its own dtype or another. */
Datum
kiln_tensor_from_list(PG_FUNCTION_ARGS)
{
	KilnField	field;
	kiln_tensor tensor = {0};
	ListReader	list = {0};
	uint8_t		dtype;
	size_t		n;
	uint64_t	elements;

	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	dtype = PG_ARGISNULL(2) ? 0 : kiln_dtype_argument(PG_GETARG_DATUM(2));
	kiln_access_whole(fcinfo, &field);
	if (field.type == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("kiln value is a tensor already"),
				 errhint("kiln_rename() and kiln_cast() change its name and dtype.")));
	list.tensor = &tensor;
	measure(&list, field.type);
	/* a numeric is rounded once, to the dtype asked for */
	if (list.base->kind == KILN_NUMERIC && dtype != 0)
		tensor.dtype = dtype;
	list.width = kiln_dtype_width(tensor.dtype);
	n = (size_t) (field.end - field.at);
	kiln_reader_init(&list.reader, field.at, n);
	list.out = palloc_extended(n / list.base->least * list.width + 1, MCXT_ALLOC_HUGE);
	read_list(&list, field.type, 0);
	if (!kiln_tensor_size(tensor.dtype, tensor.rank, tensor.shape, &tensor.length, &elements))
		kiln_tensor_too_large();
	tensor.data = list.out;
	if (!PG_ARGISNULL(1))
		kiln_tensor_set_name(&tensor, PG_GETARG_DATUM(1));
	PG_RETURN_POINTER(kiln_tensor_converted(&tensor, elements, dtype));
}
