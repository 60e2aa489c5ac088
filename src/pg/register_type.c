/*
 * kiln_register(text, regtype): a definition from the columns of a table, view or composite type.
 *
 * The definition is written as a text, so that it goes through the parser as a user's own would, and registered as
 * kiln_register(text) registers it. Columns become fields in their order, under their names. A column that can't be
 * NULL, by a constraint or by a domain, is a field that is always there; any other one is optional. Elements of an
 * array are never optional. Type modifiers, defaults and checks have no place in a definition.
 *
 * What is written here encodes from rows of the type by kiln_encode(), and fills them by kiln_populate_record().
 */
#include "registry.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/pg_enum.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "parser/parse_coerce.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/syscache.h"
#include "utils/typcache.h"

#include "kiln_datum.h"

/* The column that is being written, within those that it is nested in: for messages. */
typedef struct ColumnPlace
{
	const char *name;			/* server encoding */
	Oid			type;			/* that has the column */
	struct ColumnPlace *parent;
} ColumnPlace;

static void append_struct(StringInfo definition, Oid row_type, ColumnPlace *parent);

/* ------------------------------------------------------------------ messages */

/* Error context: what no message of the parser or of a name can know. */
static void
place_context(void *argument)
{
	const ColumnPlace *place = argument;

	if (place->name)
		errcontext("column \"%s\" of type %s", place->name, format_type_be(place->type));
	else
		errcontext("kiln definition of type %s", format_type_be(place->type));
}

/* center.x; palloc'd. */
static char *
place_path(const ColumnPlace *place)
{
	if (place->parent == NULL)
		return pstrdup(place->name);
	return psprintf("%s.%s", place_path(place->parent), place->name);
}

pg_noreturn static void
report_no_type(const ColumnPlace *place, Oid type)
{
	bool		kiln = kiln_is_kiln_type(type);

	ereport(ERROR,
			(errcode(ERRCODE_DATATYPE_MISMATCH),
			 errmsg("column \"%s\" of type %s has no kiln type of its own", place_path(place), format_type_be(type)),
			 kiln ? errdetail("A value brings its own definition, so the column has none to be copied.") : 0,
			 kiln ? errhint("Write the definition out, with the struct, or json, in the place of this column.") :
			 errhint("Use a view that casts the column or leaves it out, or write the definition out.")));
}

/* ------------------------------------------------------------------ texts in a definition */

/* The least that stops a definition which nested types multiply; the parser draws the exact line. */
static void
check_length(StringInfo definition)
{
	CHECK_FOR_INTERRUPTS();
	if (definition->len > KILN_MAX_DEFINITION)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("kiln definition is longer than %d bytes", KILN_MAX_DEFINITION)));
}

/* A name in the server's encoding as a definition writes it. */
static void
append_name(StringInfo definition, const char *text, size_t length)
{
	char		name[KILN_MAX_NAME + 1];
	char		quoted[2 * KILN_MAX_NAME + 2];
	size_t		name_length;
	kiln_error	error;

	if (!kiln_name_normalize(text, length, name, &name_length, &error))
		kiln_report(&error, KILN_IN_DEFINITION, NULL);
	appendBinaryStringInfo(definition, quoted, (int) kiln_name_quote(name, name_length, quoted));
}

static void
append_label(StringInfo definition, const char *server_text)
{
	size_t		length;
	const char *text = kiln_server_to_utf8(server_text, strlen(server_text), &length);

	appendStringInfoChar(definition, '\'');
	for (size_t i = 0; i < length; i++)
	{
		if (text[i] == '\'')
			appendStringInfoChar(definition, '\'');
		appendStringInfoChar(definition, text[i]);
	}
	appendStringInfoChar(definition, '\'');
}

/* ------------------------------------------------------------------ types */

/* The word for a type that needs no more than one; NULL: it is none of these. */
static const char *
type_word(Oid type)
{
	static const struct
	{
		Oid			type;
		const char *word;
	}			words[] = {
		{BOOLOID, "bool"}, {INT2OID, "i16"}, {INT4OID, "i32"}, {INT8OID, "i64"}, {OIDOID, "u32"},
		{FLOAT4OID, "f32"}, {FLOAT8OID, "f64"}, {NUMERICOID, "numeric"},
		{TEXTOID, "string"}, {VARCHAROID, "string"}, {BPCHAROID, "string"}, {NAMEOID, "string"},
		{BYTEAOID, "bytes"}, {UUIDOID, "uuid"}, {DATEOID, "date"}, {TIMESTAMPOID, "timestamp"},
		{TIMESTAMPTZOID, "timestamptz"}, {JSONOID, "json"}, {JSONBOID, "json"}
	};

	for (size_t i = 0; i < lengthof(words); i++)
		if (words[i].type == type)
			return words[i].word;
	/* citext and its like */
	return IsBinaryCoercible(type, TEXTOID) ? "string" : NULL;
}

/* enum(…) with the labels in their order. False: the type has none yet. */
static bool
append_enum(StringInfo definition, Oid type)
{
	Relation	relation = table_open(EnumRelationId, AccessShareLock);
	Relation	index = index_open(EnumTypIdSortOrderIndexId, AccessShareLock);
	bool		any = false;
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple	tuple;

	ScanKeyInit(&key, Anum_pg_enum_enumtypid, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(type));
	scan = systable_beginscan_ordered(relation, index, NULL, 1, &key);
	while (HeapTupleIsValid(tuple = systable_getnext_ordered(scan, ForwardScanDirection)))
	{
		appendStringInfoString(definition, any ? "," : "enum(");
		append_label(definition, NameStr(((Form_pg_enum) GETSTRUCT(tuple))->enumlabel));
		check_length(definition);
		any = true;
	}
	systable_endscan_ordered(scan);
	index_close(index, AccessShareLock);
	table_close(relation, AccessShareLock);
	appendStringInfoChar(definition, ')');
	return any;
}

/* A type below its domains: its base, how many dimensions it is declared with, and whether a domain refuses NULL. */
static Oid
base_of(Oid type, int *dimensions, bool *not_null)
{
	for (;;)
	{
		HeapTuple	tuple = SearchSysCache1(TYPEOID, ObjectIdGetDatum(type));
		Form_pg_type form;
		Oid			base;

		if (!HeapTupleIsValid(tuple))
			elog(ERROR, "cache lookup failed for type %u", type);
		form = (Form_pg_type) GETSTRUCT(tuple);
		if (form->typtype != TYPTYPE_DOMAIN)
		{
			ReleaseSysCache(tuple);
			return type;
		}
		*dimensions = Max(*dimensions, form->typndims);
		*not_null = *not_null || form->typnotnull;
		base = form->typbasetype;
		ReleaseSysCache(tuple);
		type = base;
	}
}

/*
 * A type as a definition writes it, without a "?". dimensions: as declared where the type stands; an array has one at
 * least. *not_null is set if a domain refuses NULL.
 */
static void
append_type(StringInfo definition, Oid declared, int dimensions, bool *not_null, ColumnPlace *place)
{
	Oid			type = base_of(declared, &dimensions, not_null);
	const char *word = type_word(type);
	Oid			element = get_element_type(type);

	check_stack_depth();
	/* these two are arrays of a shape of their own */
	if (type == INT2VECTOROID || type == OIDVECTOROID)
		report_no_type(place, declared);
	if (word)
		appendStringInfoString(definition, word);
	else if (OidIsValid(element))
	{
		bool		ignored = false;

		append_type(definition, element, 0, &ignored, place);
		for (int i = 0; i < Max(dimensions, 1); i++)
			appendStringInfoString(definition, "[]");
	}
	else if (get_typtype(type) == TYPTYPE_ENUM)
	{
		if (!append_enum(definition, type))
			report_no_type(place, declared);
	}
	else if (get_typtype(type) == TYPTYPE_COMPOSITE)
		append_struct(definition, type, place);
	else
		report_no_type(place, declared);
}

/* ------------------------------------------------------------------ structs */

static void
append_column(StringInfo definition, Form_pg_attribute column, ColumnPlace *place)
{
	ErrorContextCallback context = {error_context_stack, place_context, place};
	bool		not_null = column->attnotnull;
	size_t		length;
	const char *name;

	error_context_stack = &context;
	name = kiln_server_to_utf8(NameStr(column->attname), strlen(NameStr(column->attname)), &length);
	append_name(definition, name, length);
	appendStringInfoChar(definition, ' ');
	append_type(definition, column->atttypid, column->attndims, &not_null, place);
	if (!not_null)
		appendStringInfoChar(definition, '?');
	check_length(definition);
	error_context_stack = context.previous;
}

/* (…) of a composite type. parent: the column that has this type, or NULL. */
static void
append_struct(StringInfo definition, Oid row_type, ColumnPlace *parent)
{
	TupleDesc	shared = lookup_rowtype_tupdesc(row_type, -1);
	TupleDesc	columns = CreateTupleDescCopyConstr(shared);
	char		separator = '(';

	ReleaseTupleDesc(shared);
	for (int i = 0; i < columns->natts; i++)
	{
		Form_pg_attribute column = TupleDescAttr(columns, i);
		ColumnPlace place = {NameStr(column->attname), row_type, parent};

		if (column->attisdropped)
			continue;
		appendStringInfoChar(definition, separator);
		append_column(definition, column, &place);
		separator = ',';
	}
	if (separator == '(')
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("type %s has no columns", format_type_be(row_type)),
				 errdetail("A kiln struct has at least one field.")));
	appendStringInfoChar(definition, ')');
	FreeTupleDesc(columns);
}

/* kiln_register(text, regtype): the hash of the definition, which is in the registry afterwards. */
PG_FUNCTION_INFO_V1(kiln_register_type);
Datum
kiln_register_type(PG_FUNCTION_ARGS)
{
	size_t		length;
	const char *name = kiln_text_datum_to_utf8(PG_GETARG_DATUM(0), &length);
	Oid			type = PG_GETARG_OID(1);
	Oid			row_type;
	ColumnPlace place = {NULL, type, NULL};
	ErrorContextCallback context = {error_context_stack, place_context, &place};
	StringInfoData definition;
	KilnSchema *schema;

	if (get_typtype(type) == '\0')
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("type with OID %u does not exist", type)));
	row_type = getBaseType(type);
	if (get_typtype(row_type) != TYPTYPE_COMPOSITE)
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("type %s is not a composite type", format_type_be(type)),
				 errhint("Name a table, a view or a composite type.")));

	initStringInfo(&definition);
	append_name(&definition, name, length);
	append_struct(&definition, row_type, NULL);
	error_context_stack = &context;
	schema = kiln_schema_parse_user(definition.data, definition.len, false, NULL);
	error_context_stack = context.previous;
	return kiln_register_schema(schema);
}
