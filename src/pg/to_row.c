/*
 * Structs as composites: columns by name.
 *
 * A column takes the field of its name (in NFC); one that the struct does not have is NULL, and so is one whose field is absent, unless
 * a base row says what to keep there, as for jsonb_populate_record. Fields that no column asks for are passed over, those
 * behind the last one wanted are not looked at. So a row costs one walk over the struct and one call for each column.
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

Datum
kiln_row_target_run(KilnRowTarget *target, const KilnField *field, HeapTupleHeader base)
{
	Form_pg_attribute column = NULL;
	ErrorContextCallback callback = {error_context_stack, column_context, &column};

	columns_refresh(target);
	start_row(target, base);
	error_context_stack = &callback;
	fill_row(target, field, &column);
	if (unlikely(target->any_empty) && base == NULL)
		check_nulls(target, &column);
	error_context_stack = callback.previous;
	return HeapTupleHeaderGetDatum(heap_form_tuple(target->columns, target->values, target->nulls)->t_data);
}
