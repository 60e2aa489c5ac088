/*
 * How the columns of a row type become the fields of a struct, worked out ahead.
 *
 * A plan holds, for each field, the column that fills it and the converter of that column. Converters form a tree
 * that follows the definition: a list's leads to that of its elements, a struct's has a plan of its own, made when
 * the first of its rows comes by (what an anonymous record holds is known only then). What does not fit is an error
 * here, whether or not a value is NULL.
 */
#include "kiln_encode.h"

#include "access/htup_details.h"
#include "catalog/pg_type.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"

#define SHOWN_TYPE	60			/* bytes of a type that a message shows */

static const kiln_type *
without_optional(const kiln_type *type)
{
	return type->kind == KILN_OPTIONAL ? type->element : type;
}

static bool
is_document(const KilnRecordSource *source, Oid sql_type)
{
	return sql_type == JSONOID || sql_type == JSONBOID || (OidIsValid(sql_type) && sql_type == source->kiln_oid);
}

/*
 * An array stands for as many nested lists as the definition has there; one whose elements are arrays (through a
 * domain) or documents for one list only, as its elements can be lists themselves.
 */
static bool
array_compile(KilnRecordSource *source, Oid element_type, const kiln_type *type, KilnConvert *convert)
{
	KilnArrayPlan *plan = palloc0(sizeof(KilnArrayPlan));
	Oid			base = getBaseType(element_type);
	bool		one_level = OidIsValid(get_element_type(base)) || is_document(source, base);

	plan->element_type = element_type;
	get_typlenbyvalalign(element_type, &plan->element_length, &plan->by_value, &plan->alignment);
	for (;;)
	{
		const kiln_type *element = without_optional(type->element);

		convert->form = KILN_FORM_ARRAY;
		convert->type = type;
		convert->array = plan;
		convert->level = plan->levels++;
		convert->element = palloc0(sizeof(KilnConvert));
		if (one_level || element->kind != KILN_LIST || plan->levels == MAXDIM)
			break;
		convert = convert->element;
		type = element;
	}
	plan->same_layout = type->numbers && kiln_same_layout(base, type->element);
	return kiln_convert_compile(source, element_type, type->element, convert->element);
}

bool
kiln_convert_compile(KilnRecordSource *source, Oid sql_type, const kiln_type *type, KilnConvert *convert)
{
	Oid			base = getBaseType(sql_type);

	type = without_optional(type);
	convert->type = type;
	convert->sql_type = base;
	if (is_document(source, base) && type->kind != KILN_JSON)
	{
		convert->form = KILN_FORM_JSON;
		convert->scalar = kiln_document_scalar;
		return true;
	}
	if (type->kind < KILN_OPTIONAL)
	{
		convert->form = KILN_FORM_PLAIN;
		convert->scalar = kiln_scalar_converter(base, type, source->kiln_oid);
		return convert->scalar != NULL;
	}
	if (type->kind == KILN_STRUCT && (base == RECORDOID || type_is_rowtype(base)))
	{
		convert->form = KILN_FORM_RECORD;
		convert->record = palloc0(sizeof(KilnRecordPlan));
		convert->record->context = AllocSetContextCreate(CurrentMemoryContext, "kiln record plan",
														 ALLOCSET_SMALL_SIZES);
		return true;
	}
	if (type->kind == KILN_LIST)
	{
		Oid			element_type = get_element_type(base);

		return OidIsValid(element_type) && array_compile(source, element_type, type, convert);
	}
	return false;
}

/* What to cast a column to so that it fits a type. */
static const char *
natural_type(const kiln_type *type)
{
	switch ((kiln_kind) type->kind)
	{
		case KILN_BOOL:
			return "boolean";
		case KILN_I8:
		case KILN_I16:
		case KILN_U8:
			return "smallint";
		case KILN_I32:
		case KILN_U16:
			return "integer";
		case KILN_I64:
		case KILN_U32:
			return "bigint";
		case KILN_F32:
			return "real";
		case KILN_F64:
			return "double precision";
		case KILN_STRING:
		case KILN_ENUM:
			return "text";
		case KILN_BYTES:
			return "bytea";
		case KILN_UUID:
			return "uuid";
		case KILN_DATE:
			return "date";
		case KILN_TIMESTAMP:
			return "timestamp without time zone";
		case KILN_TIMESTAMPTZ:
			return "timestamp with time zone";
		case KILN_U64:
		case KILN_NUMERIC:
			return "numeric";
		case KILN_JSON:
			return "json";
		case KILN_LIST:
			return "an array of a fitting type, or to jsonb";
		case KILN_STRUCT:
			return "a composite type with the struct's fields, or to jsonb";
		default:
			return "jsonb";
	}
}

/* 42804 for a column that has no conversion to its field. */
static bool
column_mismatch(KilnRecordSource *source, Form_pg_attribute column, const kiln_field *field, kiln_error *error)
{
	const char *sql_type = format_type_be(column->atttypid);
	const kiln_type *type = without_optional(field->type);
	size_t		length;
	int			sql_shown;
	const char *text = field->type->text;
	int			text_length = (int) field->type->text_length;
	int			shown = pg_encoding_mbcliplen(PG_UTF8, text, text_length, SHOWN_TYPE);

	sql_type = kiln_server_to_utf8(sql_type, strlen(sql_type), &length);
	sql_shown = pg_encoding_mbcliplen(PG_UTF8, sql_type, (int) length, SHOWN_TYPE);
	source->hint = psprintf("Cast the column to %s.", natural_type(type));
	kiln_source_fail(error, ERRCODE_DATATYPE_MISMATCH, "column of type %.*s can't be encoded as %.*s%s",
					 sql_shown, sql_type, shown, text, shown < text_length ? "…" : "");
	kiln_error_prepend_name(error, field->name, field->name_length);
	return false;
}

/*
 * Pair columns and fields by name. A column that the struct does not have would be lost silently, so it is an error;
 * a field without a column is the encoder's affair.
 */
static bool
record_compile_slots(KilnRecordSource *source, KilnRecordPlan *plan, const kiln_type *type, kiln_error *error)
{
	for (int i = 0; i < plan->columns->natts; i++)
	{
		Form_pg_attribute column = TupleDescAttr(plan->columns, i);
		char		normalized[KILN_MAX_NAME + 1];
		const char *name;
		size_t		length;
		int			index;

		if (column->attisdropped)
			continue;
		name = kiln_server_to_utf8(NameStr(column->attname), strlen(NameStr(column->attname)), &length);
		if (kiln_name_nfc(name, length, normalized, &length))
			name = normalized;
		index = kiln_struct_find(type, name, length);
		if (index < 0)
			kiln_report_unknown_field(type, type->name, name, length);
		if (plan->slots[index].column >= 0)
			ereport(ERROR,
					(errcode(ERRCODE_DUPLICATE_COLUMN),
					 errmsg("column name \"%s\" appears more than once", NameStr(column->attname))));
		plan->slots[index].convert = palloc0(sizeof(KilnConvert));
		if (!kiln_convert_compile(source, column->atttypid, type->fields[index].type, plan->slots[index].convert))
			return column_mismatch(source, column, &type->fields[index], error);
		plan->slots[index].document = plan->slots[index].convert->form == KILN_FORM_JSON;
		plan->slots[index].column = i;
	}
	return true;
}

/* The plan stays marked as not made until all of it is. */
bool
kiln_record_compile(KilnRecordSource *source, KilnRecordPlan *plan, const kiln_type *type,
					Oid row_type, int32 row_typmod, kiln_error *error)
{
	MemoryContext before;
	TupleDesc	columns;
	bool		made;

	plan->identifier = 0;
	MemoryContextReset(plan->context);
	before = MemoryContextSwitchTo(plan->context);
	columns = lookup_rowtype_tupdesc(row_type, row_typmod);
	plan->columns = CreateTupleDescCopyConstr(columns);
	ReleaseTupleDesc(columns);
	plan->values = palloc(sizeof(Datum) * Max(plan->columns->natts, 1));
	plan->nulls = palloc(sizeof(bool) * Max(plan->columns->natts, 1));
	plan->slots = palloc0(sizeof(RecordSlot) * type->count);
	for (uint32_t i = 0; i < type->count; i++)
		plan->slots[i].column = -1;
	made = record_compile_slots(source, plan, type, error);
	plan->flat = made ? kiln_flat_plan(plan, type) : NULL;
	MemoryContextSwitchTo(before);
	if (!made)
		return false;
	plan->row_type = row_type;
	plan->row_typmod = row_typmod;
	plan->entry = row_type == RECORDOID ? NULL : lookup_type_cache(row_type, TYPECACHE_TUPDESC);
	plan->identifier = assign_record_type_identifier(row_type, row_typmod);
	return true;
}
