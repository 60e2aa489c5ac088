/*
 * Lists as arrays.
 *
 * A list of lists becomes one array of more dimensions, unless the array's elements can be lists themselves (json,
 * jsonb, kiln, a domain over an array): those take one list as one element. Lower bounds are 1; an absent element is
 * NULL; nested lists must be of equal length, and an absent one among them has none.
 *
 * Where a list's bytes are an array's (numbers of one width, uuids; bools, dates and timestamps once they are looked
 * at), they are written straight into the array. Room is taken for as many elements as the first list of each level
 * promises, never more than the bytes at hand can hold.
 */
#include "kiln_datum.h"

#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/uuid.h"

#include "kiln_encode.h"

#define POLL_EVERY	1024		/* elements between two looks for interrupts */

struct KilnArrayTarget
{
	Oid			element_type;
	int16		length;			/* of an element, as pg_type has it */
	bool		by_value;
	char		alignment;
	int			levels;			/* nested lists, each a dimension */
	bool		packed;			/* elements are copied, not converted */
	const kiln_type *leaf;		/* of the elements; may be OPTIONAL */
	KilnTarget *element;
};

/* An array under construction. */
typedef struct ArrayBuilder
{
	const KilnArrayTarget *target;
	KilnField	field;			/* moves through the list */
	int			dims[MAXDIM];	/* -1 until the first list of that level is met */
	size_t		count;			/* elements so far */
	size_t		capacity;
	bool		any_null;
	char	   *bytes;			/* packed: the array itself, elements behind the header */
	size_t		header;
	Datum	   *values;			/* else */
	bool	   *nulls;
} ArrayBuilder;

/* ------------------------------------------------------------------ making */

/* Are the elements' bytes in a list those in an array, but for a look at each? */
static bool
elements_packed(Oid element_type, const kiln_type *leaf)
{
	switch (leaf->kind)
	{
		case KILN_BOOL:
			return element_type == BOOLOID;
		case KILN_UUID:
			return element_type == UUIDOID;
		case KILN_DATE:
			return element_type == DATEOID;
		case KILN_TIMESTAMP:
			return element_type == TIMESTAMPOID;
		case KILN_TIMESTAMPTZ:
			return element_type == TIMESTAMPTZOID;
		default:
			return kiln_same_layout(element_type, leaf);
	}
}

KilnArrayTarget *
kiln_array_target_make(const kiln_type *type, Oid element_type, int32 typmod, MemoryContext context)
{
	KilnArrayTarget *target = MemoryContextAllocZero(context, sizeof(KilnArrayTarget));
	bool		one_level = kiln_takes_lists(getBaseType(element_type));

	target->element_type = element_type;
	get_typlenbyvalalign(element_type, &target->length, &target->by_value, &target->alignment);
	target->levels = 1;
	target->leaf = type->element;
	while (!one_level && kiln_without_optional(target->leaf)->kind == KILN_LIST)
	{
		target->levels++;
		target->leaf = kiln_without_optional(target->leaf)->element;
	}
	if (target->levels > MAXDIM)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("number of array dimensions (%d) exceeds the maximum allowed (%d)", target->levels, MAXDIM)));
	target->element = kiln_target_make(target->leaf, element_type, typmod, context);
	target->packed = typmod < 0 && elements_packed(element_type, target->leaf);
	return target;
}

/* ------------------------------------------------------------------ room */

pg_noreturn static void
too_large(void)
{
	ereport(ERROR,
			(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
			 errmsg("array size exceeds the maximum allowed (%d)", (int) MaxArraySize)));
	pg_unreachable();
}

/*
 * Take room, once the first of the innermost lists is met and all dimensions are known. Elements take least bytes each
 * in the value, so that there are no more of them than that.
 */
static void
take_room(ArrayBuilder *builder)
{
	const KilnArrayTarget *target = builder->target;
	uint64		most = (size_t) (builder->field.end - builder->field.at) / target->leaf->least;
	uint64		wanted = 1;

	for (int i = 0; i < target->levels; i++)
		wanted = Min(wanted * (uint64) builder->dims[i], most);
	if (wanted > MaxArraySize)
		too_large();
	builder->capacity = (size_t) wanted;
	if (target->packed)
	{
		builder->header = ARR_OVERHEAD_NONULLS(target->levels);
		if (builder->capacity > (MaxAllocSize - builder->header) / target->length)
			too_large();
		builder->bytes = palloc(builder->header + builder->capacity * target->length);
	}
	else
	{
		builder->values = palloc(Max(builder->capacity, 1) * sizeof(Datum));
		builder->nulls = palloc(Max(builder->capacity, 1) * sizeof(bool));
	}
}

/* ------------------------------------------------------------------ elements */

/* Copy elements whose bytes need a look: bools and times of a value that may not be what it says. */
static void
copy_checked(const kiln_type *leaf, char *out, const KilnField *field, uint32_t count)
{
	KilnField	element = *field;
	bool		isnull = false;

	element.type = leaf;
	for (uint32_t i = 0; i < count; i++, element.at += leaf->width, out += leaf->width)
	{
		if (leaf->kind == KILN_BOOL)
			*out = *element.at != 0;
		else if (leaf->kind == KILN_DATE)
		{
			int32		days = DatumGetInt32(kiln_field_date(&element, &isnull));

			memcpy(out, &days, sizeof days);
		}
		else
		{
			int64		time = DatumGetInt64(leaf->kind == KILN_TIMESTAMP ? kiln_field_timestamp(&element, &isnull) :
											 kiln_field_timestamptz(&element, &isnull));

			memcpy(out, &time, sizeof time);
		}
	}
}

/* The count is cut to what the bytes at hand can hold, so that all of these are. */
static void
add_packed(ArrayBuilder *builder, uint32_t count)
{
	const kiln_type *leaf = builder->target->leaf;
	char	   *out = builder->bytes + builder->header + builder->count * builder->target->length;

	if (leaf->any_bits)
		memcpy(out, builder->field.at, (size_t) count * leaf->width);
	else
		copy_checked(leaf, out, &builder->field, count);
	builder->field.at += (size_t) count * leaf->width;
	builder->count += count;
}

static void
add_converted(ArrayBuilder *builder, uint32_t count)
{
	const kiln_type *leaf = builder->target->leaf;
	KilnTarget *element = builder->target->element;
	KilnField	field;

	for (uint32_t i = 0; i < count; i++)
	{
		bool	   *isnull = &builder->nulls[builder->count];

		if (i % POLL_EVERY == POLL_EVERY - 1)
			CHECK_FOR_INTERRUPTS();
		*isnull = leaf->kind == KILN_OPTIONAL && !kiln_field_present(&builder->field);
		if (*isnull)
		{
			kiln_target_check_null(element);
			builder->values[builder->count] = (Datum) 0;
		}
		else
		{
			field = builder->field;
			field.type = element->type;
			builder->values[builder->count] = kiln_target_run(element, &field, isnull);
			kiln_field_pass(&builder->field, element->type);
		}
		builder->any_null |= *isnull;
		builder->count++;
	}
}

/* ------------------------------------------------------------------ lists */

pg_noreturn static void
not_rectangular(uint32_t count, int wanted)
{
	ereport(ERROR,
			(errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
			 errmsg("kiln list cannot become an array: nested lists must have matching lengths"),
			 errdetail("Their lengths are %d and %u.", wanted, count)));
	pg_unreachable();
}

static void
add_list(ArrayBuilder *builder, const kiln_type *type, int level)
{
	const kiln_type *inner = type->element;
	uint32_t	count = kiln_field_count(&builder->field, inner->least);

	if (count > MaxArraySize)
		too_large();
	if (builder->dims[level] < 0)
		builder->dims[level] = (int) count;
	else if (builder->dims[level] != (int) count)
		not_rectangular(count, builder->dims[level]);

	if (level == builder->target->levels - 1)
	{
		if (builder->bytes == NULL && builder->values == NULL)
			take_room(builder);
		if (count > builder->capacity - builder->count)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_BINARY_REPRESENTATION),
					 errmsg("damaged value of type kiln: value ends too early")));
		if (builder->target->packed)
			add_packed(builder, count);
		else
			add_converted(builder, count);
		return;
	}
	for (uint32_t i = 0; i < count; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (inner->kind == KILN_OPTIONAL && !kiln_field_present(&builder->field))
			ereport(ERROR,
					(errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
					 errmsg("kiln list cannot become an array: a nested list is absent")));
		add_list(builder, kiln_without_optional(inner), level + 1);
	}
}

static Datum
finish_packed(ArrayBuilder *builder, const int *bounds)
{
	const KilnArrayTarget *target = builder->target;
	ArrayType  *array = (ArrayType *) builder->bytes;

	SET_VARSIZE(array, builder->header + builder->count * target->length);
	array->ndim = target->levels;
	array->dataoffset = 0;
	array->elemtype = target->element_type;
	memcpy(ARR_DIMS(array), builder->dims, target->levels * sizeof(int));
	memcpy(ARR_LBOUND(array), bounds, target->levels * sizeof(int));
	return PointerGetDatum(array);
}

Datum
kiln_array_target_run(KilnArrayTarget *target, const KilnField *field)
{
	static int	bounds[MAXDIM] = {1, 1, 1, 1, 1, 1};
	ArrayBuilder builder = {.target = target, .field = *field};
	ArrayType  *array;

	for (int i = 0; i < MAXDIM; i++)
		builder.dims[i] = -1;
	add_list(&builder, field->type, 0);
	if (builder.count == 0)
		return PointerGetDatum(construct_empty_array(target->element_type));
	if (target->packed)
		return finish_packed(&builder, bounds);
	array = construct_md_array(builder.values, builder.any_null ? builder.nulls : NULL, target->levels, builder.dims,
							   bounds, target->element_type, target->length, target->by_value, target->alignment);
	return PointerGetDatum(array);
}
