/*
 * Structs as composites: columns by name.
 *
 * A column takes the field of its name (in NFC); one that the struct does not have is NULL, and so is one whose field
 * is absent, unless a base row says what to keep there, as for jsonb_populate_record. Fields that no column asks for
 * are passed over, those behind the last one wanted are not looked at. So a row costs one walk over the struct and
 * one call for each column.
 *
 * Where every column is a load or a string, in the order of the fields, the tuple is written as the struct is read,
 * without values in between. Its header is that of a row of NULLs which core made: what a header holds is the
 * server's affair.
 *
 * A named row type may change between two rows (ALTER TYPE): its identifier in the type cache tells, and the columns
 * are worked out again.
 */
#include "kiln_datum.h"

#include "catalog/pg_type.h"
#include "funcapi.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"

/* A column that has a field. Steps are in the order of fields; two columns of one name take the same. */
typedef struct RowStep
{
	uint32		from;			/* fields [from, to) are passed first */
	uint32		to;				/* the column's field */
	uint32		advance;		/* bytes that passing them takes, if skip_fixed */
	bool		skip_fixed;
	bool		optional;
	int			column;
	KilnTarget *target;
} RowStep;

struct KilnRowTarget
{
	const kiln_type *type;		/* STRUCT */
	Oid			row_type;
	int32		row_typmod;
	TypeCacheEntry *entry;		/* of a named row type; entries live as long as the backend */
	uint64		identifier;		/* of its columns when they were worked out; 0 if they have to be again */
	MemoryContext context;		/* of what follows; reset when the row type changes */
	TupleDesc	columns;
	RowStep    *steps;
	uint32		step_count;
	bool		in_one_pass;	/* rows can be written as the struct is read */
	bool		any_text;
	HeapTupleHeader header;		/* what they begin with: t_hoff bytes, no column present */
	uint32		room;			/* bytes that they take at most, but for the strings' content */
	KilnTarget **empty;			/* by column: the domain that NULL is checked against, or NULL */
	bool		any_empty;
	Datum	   *values;			/* of the row at hand */
	bool	   *nulls;
};

/* ------------------------------------------------------------------ working out columns */

/* Field of a column's name, -1 if there is none. */
static int
field_of_column(const kiln_type *type, const char *column)
{
	char		normalized[KILN_MAX_NAME + 1];
	size_t		length;
	const char *name = kiln_server_to_utf8(column, strlen(column), &length);

	if (kiln_name_nfc(name, length, normalized, &length))
		name = normalized;
	return kiln_struct_find(type, name, length);
}

/* Which column, and of what type: for errors met on the way. */
static void
column_context(void *argument)
{
	Form_pg_attribute column = *(Form_pg_attribute *) argument;

	if (column)
		errcontext("column \"%s\"", NameStr(column->attname));
}

static KilnTarget *
column_target(const kiln_type *type, Form_pg_attribute column, MemoryContext context)
{
	ErrorContextCallback callback = {error_context_stack, column_context, &column};
	KilnTarget *target;

	error_context_stack = &callback;
	target = kiln_target_make(type, column->atttypid, column->atttypmod, context);
	error_context_stack = callback.previous;
	return target;
}

/* How the fields between two steps are passed. */
static void
step_set_pass(const kiln_type *type, RowStep *step)
{
	step->skip_fixed = true;
	step->advance = 0;
	for (uint32 i = step->from; i < step->to; i++)
	{
		step->skip_fixed &= type->fields[i].type->width != 0;
		step->advance += type->fields[i].type->width;
	}
}

static int
compare_steps(const void *a, const void *b)
{
	const RowStep *left = a;
	const RowStep *right = b;

	if (left->to != right->to)
		return left->to < right->to ? -1 : 1;
	return left->column - right->column;
}

/* A column without a field takes nothing but NULL: only a domain cares. */
static void
column_without_field(KilnRowTarget *target, int column)
{
	Form_pg_attribute attribute = TupleDescAttr(target->columns, column);
	KilnTarget *domain;

	if (get_typtype(attribute->atttypid) != TYPTYPE_DOMAIN)
		return;
	domain = MemoryContextAllocZero(target->context, sizeof(KilnTarget));
	domain->domain = attribute->atttypid;
	domain->context = target->context;
	target->empty[column] = domain;
}

/* What columns hold that the value has nothing for. */
static void
start_row(KilnRowTarget *target, HeapTupleHeader base)
{
	HeapTupleData tuple;

	if (base == NULL)
	{
		memset(target->nulls, true, target->columns->natts * sizeof(bool));
		memset(target->values, 0, target->columns->natts * sizeof(Datum));
		return;
	}
	tuple.t_len = HeapTupleHeaderGetDatumLength(base);
	ItemPointerSetInvalid(&tuple.t_self);
	tuple.t_tableOid = InvalidOid;
	tuple.t_data = base;
	heap_deform_tuple(&tuple, target->columns, target->values, target->nulls);
}

/*
 * Can a tuple be written in the order of the fields? Sets the room it takes.
 */
static void
work_out_pass(KilnRowTarget *target)
{
	int			last = -1;

	target->in_one_pass = !target->any_empty && target->step_count > 0;
	target->any_text = false;
	start_row(target, NULL);
	target->header = heap_form_tuple(target->columns, target->values, target->nulls)->t_data;
	target->header->t_infomask &= ~(HEAP_HASNULL | HEAP_HASVARWIDTH);
	target->room = target->header->t_hoff;
	for (uint32 i = 0; i < target->step_count; i++)
	{
		const RowStep *step = &target->steps[i];
		bool		text = step->target->direct == KILN_DIRECT_TEXT;

		if (step->target->direct == KILN_DIRECT_NONE || step->column <= last ||
			(i > 0 && step->to == target->steps[i - 1].to) ||
			(text && TupleDescAttr(target->columns, step->column)->attstorage == TYPSTORAGE_PLAIN))
			target->in_one_pass = false;
		last = step->column;
		target->any_text |= text;
		target->room += 2 * sizeof(Datum);	/* of a number with its padding, or of a string's header with its */
	}
}

static void
work_out_columns(KilnRowTarget *target)
{
	TupleDesc	columns;
	MemoryContext before;
	int			natts;
	uint32		next = 0;

	target->identifier = 0;
	target->columns = NULL;
	MemoryContextReset(target->context);
	before = MemoryContextSwitchTo(target->context);
	columns = lookup_rowtype_tupdesc(target->row_type, target->row_typmod);
	target->columns = CreateTupleDescCopyConstr(columns);
	ReleaseTupleDesc(columns);
	natts = target->columns->natts;
	target->steps = palloc0(sizeof(RowStep) * Max(natts, 1));
	target->empty = palloc0(sizeof(KilnTarget *) * Max(natts, 1));
	target->values = palloc(sizeof(Datum) * Max(natts, 1));
	target->nulls = palloc(sizeof(bool) * Max(natts, 1));
	target->step_count = 0;
	target->any_empty = false;

	for (int i = 0; i < natts; i++)
	{
		Form_pg_attribute column = TupleDescAttr(target->columns, i);
		int			field = column->attisdropped ? -1 : field_of_column(target->type, NameStr(column->attname));
		RowStep    *step;

		if (field < 0)
		{
			if (!column->attisdropped)
				column_without_field(target, i);
			continue;
		}
		step = &target->steps[target->step_count++];
		step->to = (uint32) field;
		step->column = i;
		step->optional = target->type->fields[field].type->kind == KILN_OPTIONAL;
		step->target = column_target(target->type->fields[field].type, column, target->context);
		if (OidIsValid(step->target->domain))
			target->empty[i] = step->target;
	}
	qsort(target->steps, target->step_count, sizeof(RowStep), compare_steps);
	for (uint32 i = 0; i < target->step_count; i++)
	{
		target->steps[i].from = next;
		step_set_pass(target->type, &target->steps[i]);
		next = target->steps[i].to;
	}
	for (int i = 0; i < natts; i++)
		target->any_empty |= target->empty[i] != NULL;
	work_out_pass(target);
	MemoryContextSwitchTo(before);
	target->identifier = target->entry ? target->entry->tupDesc_identifier : 1;
}

KilnRowTarget *
kiln_row_target_make(const kiln_type *type, Oid row_type, int32 row_typmod, MemoryContext context)
{
	KilnRowTarget *target = MemoryContextAllocZero(context, sizeof(KilnRowTarget));

	target->type = type;
	target->row_type = row_type;
	target->row_typmod = row_type == RECORDOID ? row_typmod : -1;
	target->context = AllocSetContextCreate(context, "kiln row", ALLOCSET_SMALL_SIZES);
	if (row_type != RECORDOID)
		target->entry = lookup_type_cache(row_type, TYPECACHE_TUPDESC);
	work_out_columns(target);
	return target;
}

/* ------------------------------------------------------------------ a row */

/* Do the columns still stand? A type whose entry was invalidated has another identifier once it is looked up again. */
static inline void
columns_refresh(KilnRowTarget *target)
{
	if (target->identifier != 0 && (target->entry == NULL || target->entry->tupDesc_identifier == target->identifier))
		return;
	if (target->entry)
		(void) lookup_type_cache(target->row_type, TYPECACHE_TUPDESC);
	work_out_columns(target);
}

static inline void
pass_fields(const KilnRowTarget *target, const RowStep *step, KilnField *field)
{
	if (step->skip_fixed)
		field->at += Min((size_t) step->advance, (size_t) (field->end - field->at));
	else
		for (uint32 i = step->from; i < step->to; i++)
			kiln_field_pass(field, target->type->fields[i].type);
}

static void
fill_row(KilnRowTarget *target, const KilnField *value, Form_pg_attribute *column)
{
	const RowStep *stop = target->steps + target->step_count;
	KilnField	place = *value;
	KilnField	field = *value;

	for (const RowStep *step = target->steps; step < stop; step++)
	{
		pass_fields(target, step, &place);
		field.at = place.at;
		if (step->optional && !kiln_field_present(&field))
			continue;
		*column = TupleDescAttr(target->columns, step->column);
		field.type = step->target->type;
		target->nulls[step->column] = false;
		target->values[step->column] = kiln_target_run(step->target, &field, &target->nulls[step->column]);
	}
}

/* Columns that nothing was found for, and that have no base to keep: does their domain take NULL? */
static void
check_nulls(KilnRowTarget *target, Form_pg_attribute *column)
{
	for (int i = 0; i < target->columns->natts; i++)
		if (target->empty[i] && target->nulls[i])
		{
			*column = TupleDescAttr(target->columns, i);
			kiln_target_check_null(target->empty[i]);
		}
}

/* ------------------------------------------------------------------ a row in one pass */

/*
 * Values longer than this may hold much that no column wants, and go the other way, which takes room for what they
 * do.
 */
#define ONE_PASS_LIMIT	8192

/* Zeros up to the next multiple of a power of two. */
static inline char *
pad_to(char *p, uintptr_t alignment)
{
	while ((uintptr_t) p & (alignment - 1))
		*p++ = '\0';
	return p;
}

#define PUT_NUMBER(type, value) \
	do { \
		p = pad_to(p, sizeof(type)); \
		*(type *) p = (value); \
		p += sizeof(type); \
	} while (0)

/* A string as a varlena, with a short header if it fits, as heap_form_tuple() would have it. end: of the room. */
static char *
put_text(char *p, const char *end, const KilnField *field)
{
	uint32_t	length;
	const uint8_t *content = kiln_field_span(field, &length);
	bool		nul;

	if (unlikely(kiln_utf8_prefix(content, length, &nul) < length))
		(void) kiln_utf8_to_text_datum(content, length);	/* which says what is wrong */
	if (unlikely(length + sizeof(Datum) > (size_t) (end - p)))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_BINARY_REPRESENTATION),
				 errmsg("damaged value of type kiln: %s", kiln_error_text(KILN_E_LENGTH))));
	if (length + VARHDRSZ_SHORT <= VARATT_SHORT_MAX)
	{
		SET_VARSIZE_SHORT(p, length + VARHDRSZ_SHORT);
		p += VARHDRSZ_SHORT;
	}
	else
	{
		p = pad_to(p, sizeof(int32));
		SET_VARSIZE(p, length + VARHDRSZ);
		p += VARHDRSZ;
	}
	memcpy(p, content, length);
	return p + length;
}

static inline char *
put_value(char *p, const char *end, const RowStep *step, const KilnField *field)
{
	switch (step->target->direct)
	{
		case KILN_DIRECT_BOOL:
			PUT_NUMBER(bool, *kiln_field_fixed(field, 1) != 0);
			break;
		case KILN_DIRECT_INT2:
			PUT_NUMBER(int16, (int16) kiln_load_u16(kiln_field_fixed(field, 2)));
			break;
		case KILN_DIRECT_INT4:
			PUT_NUMBER(int32, (int32) kiln_load_u32(kiln_field_fixed(field, 4)));
			break;
		case KILN_DIRECT_INT8:
			PUT_NUMBER(int64, (int64) kiln_load_u64(kiln_field_fixed(field, 8)));
			break;
		case KILN_DIRECT_FLOAT4:
			PUT_NUMBER(float4, kiln_load_f32(kiln_field_fixed(field, 4)));
			break;
		case KILN_DIRECT_FLOAT8:
			PUT_NUMBER(float8, kiln_load_f64(kiln_field_fixed(field, 8)));
			break;
		default:
			return put_text(p, end, field);
	}
	return p;
}

/* The finished tuple's header. */
static Datum
finish_row(const KilnRowTarget *target, HeapTupleHeader tuple, const char *end, uint32 present)
{
	HeapTupleHeaderSetDatumLength(tuple, end - (const char *) tuple);
	if (target->any_text)
		tuple->t_infomask |= HEAP_HASVARWIDTH;
	if (present < (uint32) target->columns->natts)
		tuple->t_infomask |= HEAP_HASNULL;
	return PointerGetDatum(tuple);
}

static Datum
form_in_one_pass(const KilnRowTarget *target, const KilnField *value, Form_pg_attribute *column)
{
	const RowStep *stop = target->steps + target->step_count;
	Size		room = target->room + (target->any_text ? (Size) (value->end - value->at) : 0);
	HeapTupleHeader tuple = palloc(room);
	char	   *p = (char *) tuple + target->header->t_hoff;
	const char *end = (char *) tuple + room;
	uint32		present = 0;
	KilnField	place = *value;
	KilnField	field = *value;

	memcpy(tuple, target->header, target->header->t_hoff);
	for (const RowStep *step = target->steps; step < stop; step++)
	{
		pass_fields(target, step, &place);
		field.at = place.at;
		if (step->optional && !kiln_field_present(&field))
			continue;
		*column = TupleDescAttr(target->columns, step->column);
		tuple->t_bits[step->column >> 3] |= (bits8) (1 << (step->column & 7));
		p = put_value(p, end, step, &field);
		present++;
	}
	return finish_row(target, tuple, p, present);
}

/* ------------------------------------------------------------------ entry */

Datum
kiln_row_target_run(KilnRowTarget *target, const KilnField *field, HeapTupleHeader base)
{
	Form_pg_attribute column = NULL;
	ErrorContextCallback callback = {error_context_stack, column_context, &column};

	columns_refresh(target);
	error_context_stack = &callback;
	if (target->in_one_pass && base == NULL && field->end - field->at <= ONE_PASS_LIMIT)
	{
		Datum		row = form_in_one_pass(target, field, &column);

		error_context_stack = callback.previous;
		return row;
	}
	start_row(target, base);
	fill_row(target, field, &column);
	if (unlikely(target->any_empty) && base == NULL)
		check_nulls(target, &column);
	error_context_stack = callback.previous;
	return HeapTupleHeaderGetDatum(heap_form_tuple(target->columns, target->values, target->nulls)->t_data);
}
