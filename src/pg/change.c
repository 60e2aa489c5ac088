/*
 * New values for a place in a kiln value: SQL values, kiln values and text, as payloads of the place's type.
 *
 * SQL values convert as the columns of kiln_encode() do. A text is the string itself for a string or enum field, and
 * what stands between JSON's quotes for what JSON writes as a string or number; for the rest it is JSON text. A kiln
 * value is what an assignment cast has made of an SQL value as often as not, so that scalars convert by their value,
 * and a nameless JSON value is read as text input would read it; structs, lists, dicts and enums convert as evolution
 * does.
 */
#include "kiln_change.h"

#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/fmgrprotos.h"
#include "utils/lsyscache.h"

#include "kiln_access.h"
#include "kiln_encode.h"
#include "kiln_text.h"

void
kiln_report_too_large(void)
{
	ereport(ERROR,
			(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
			 errmsg("kiln value is too large"),
			 errdetail("A value has at most %d bytes.", KILN_MAX_FRAME)));
}

void
kiln_poll_interrupts(void)
{
	CHECK_FOR_INTERRUPTS();
}

/* ------------------------------------------------------------------ text */

static bool
is_text(Oid sql_type)
{
	char		category;
	bool		preferred;

	if (sql_type == UNKNOWNOID)
		return true;
	get_type_category_preferred(sql_type, &category, &preferred);
	return category == TYPCATEGORY_STRING;
}

/* UTF-8 of a text value of any string type. */
static const char *
text_utf8(Oid sql_type, Datum datum, size_t *length)
{
	Oid			output;
	bool		varlena;
	char	   *text;

	if (sql_type == TEXTOID || sql_type == VARCHAROID)
		return kiln_text_datum_to_utf8(datum, length);
	getTypeOutputInfo(sql_type, &output, &varlena);
	text = OidOutputFunctionCall(output, datum);
	*length = strlen(text);
	if (sql_type == BPCHAROID)
		while (*length > 0 && text[*length - 1] == ' ')
			--*length;
	return kiln_server_to_utf8(text, *length, length);
}

/* Is JSON's text of that type a string or number, so that its content can stand alone? */
static bool
has_content(const kiln_type *type)
{
	return type->kind < KILN_OPTIONAL && type->kind != KILN_BOOL && type->kind != KILN_JSON;
}

static bool
put_text(const kiln_type *type, const char *text, size_t length, kiln_writer *writer, kiln_error *error)
{
	const char *trimmed = text;
	size_t		trimmed_length = length;
	KilnJsonSource *source;

	kiln_json_trim(&trimmed, &trimmed_length);
	if (type->kind != KILN_STRING && type->kind != KILN_ENUM &&
		(!has_content(type) || (trimmed_length > 0 && trimmed[0] == '"')))
		return kiln_payload_from_json(type, trimmed, trimmed_length, writer, error);
	source = palloc(sizeof(KilnJsonSource));
	kiln_json_source_init(source, NULL);
	return kiln_encode(type, &source->source, kiln_json_content_node(text, length), writer, error);
}

/* ------------------------------------------------------------------ SQL values */

pg_noreturn static void
report_no_conversion(Oid sql_type, const kiln_type *type)
{
	const int	most = 60;
	int			shown = pg_encoding_mbcliplen(PG_UTF8, type->text, (int) type->text_length, most);

	ereport(ERROR,
			(errcode(ERRCODE_DATATYPE_MISMATCH),
			 errmsg("value of type %s can't be stored in a kiln field of type %s%s", format_type_be(sql_type),
					kiln_utf8_for_message(type->text, shown), (uint32) shown < type->text_length ? "..." : "")));
}

/* core's to_jsonb(), which learns its argument's type from the call's expression */
static Datum
call_to_jsonb(Oid sql_type, Datum datum)
{
	FmgrInfo	flinfo;
	Node	   *argument = (Node *) makeNullConst(sql_type, -1, InvalidOid);

	fmgr_info(F_TO_JSONB, &flinfo);
	fmgr_info_set_expr((Node *) makeFuncExpr(F_TO_JSONB, JSONBOID, list_make1(argument), InvalidOid, InvalidOid,
											 COERCE_EXPLICIT_CALL), &flinfo);
	return FunctionCall1(&flinfo, datum);
}

/* A value that has the place of a field of type, as kiln_encode() takes a column's. */
static bool
put_datum(const kiln_type *type, Oid sql_type, Oid kiln_oid, Datum datum, kiln_writer *writer, kiln_error *error)
{
	KilnRecordSource *source = kiln_datum_source(type, sql_type, kiln_oid, CurrentMemoryContext);

	if (source == NULL && type->kind == KILN_JSON)
	{
		/* anything has a JSON form */
		source = kiln_datum_source(type, JSONBOID, kiln_oid, CurrentMemoryContext);
		datum = call_to_jsonb(sql_type, datum);
	}
	if (source == NULL)
		report_no_conversion(sql_type, type);
	return kiln_encode(type, &source->source, kiln_record_node(source, datum), writer, error);
}

/* ------------------------------------------------------------------ kiln values */

/* A whole value as a field, for the functions that turn fields into SQL values. */
static KilnField
whole_field(const KilnValue *value)
{
	static const kiln_path whole;
	KilnField	field = {0};

	field.type = value->schema->root;
	field.base = field.at = value->frame.payload;
	field.end = value->frame.payload + value->frame.payload_length;
	field.schema = value->schema;
	field.path = &whole;
	field.kind = value->frame.kind;
	return field;
}

/* A scalar as the SQL value that holds all of its kind; its type, or InvalidOid if it is none. */
static Oid
scalar_datum(const KilnField *field, Datum *datum)
{
	bool		isnull = false;

	switch (field->type->kind)
	{
		case KILN_BOOL:
			*datum = kiln_field_bool(field, &isnull);
			return BOOLOID;
		case KILN_I8:
		case KILN_I16:
		case KILN_I32:
		case KILN_I64:
		case KILN_U8:
		case KILN_U16:
		case KILN_U32:
			*datum = kiln_field_int8(field, &isnull);
			return INT8OID;
		case KILN_U64:
		case KILN_NUMERIC:
			*datum = kiln_field_numeric(field, &isnull);
			return NUMERICOID;
		case KILN_F32:
			*datum = kiln_field_float4(field, &isnull);
			return FLOAT4OID;
		case KILN_F64:
			*datum = kiln_field_float8(field, &isnull);
			return FLOAT8OID;
		case KILN_STRING:
			*datum = kiln_field_text(field, &isnull);
			return TEXTOID;
		case KILN_BYTES:
			*datum = kiln_field_bytea(field, &isnull);
			return BYTEAOID;
		case KILN_UUID:
			*datum = kiln_field_uuid(field, &isnull);
			return UUIDOID;
		case KILN_DATE:
			*datum = kiln_field_date(field, &isnull);
			return DATEOID;
		case KILN_TIMESTAMP:
			*datum = kiln_field_timestamp(field, &isnull);
			return TIMESTAMPOID;
		case KILN_TIMESTAMPTZ:
			*datum = kiln_field_timestamptz(field, &isnull);
			return TIMESTAMPTZOID;
		default:
			return InvalidOid;
	}
}

/* The JSON of a value, in UTF-8. */
static const char *
json_utf8(const KilnValue *value, size_t *length)
{
	StringInfoData buf;

	initStringInfo(&buf);
	kiln_frame_to_json(&buf, PointerGetDatum(value->datum), KILN_JSON_LIMIT);
	return kiln_server_to_utf8(buf.data, buf.len, length);
}

static bool
put_evolved(const kiln_type *type, const KilnValue *value, kiln_writer *writer, kiln_error *error)
{
	kiln_allocator allocator = kiln_palloc_allocator(NULL);
	kiln_evolution *evolution;
	bool		good;

	if (!kiln_evolution_compile(value->schema->root, type, false, &allocator, &evolution, error))
		return false;
	good = kiln_evolution_run(evolution, value->frame.payload, value->frame.payload_length, kiln_poll_interrupts,
							  writer, error);
	kiln_evolution_free(evolution);
	return good;
}

bool
kiln_put_kiln(const kiln_type *type, KilnValue *value, kiln_writer *writer, KilnErrorPlace *place, kiln_error *error)
{
	KilnField	field;
	Oid			sql_type;
	Datum		datum;
	size_t		length;
	const char *text;

	*place = KILN_IN_RECORD;
	if (value->schema == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("a tensor directory can't be stored in a kiln field")));
	if (type->kind == KILN_JSON || value->schema->root->kind == KILN_JSON)
	{
		*place = KILN_IN_TEXT;
		text = json_utf8(value, &length);
		return kiln_payload_from_json(type, text, length, writer, error);
	}
	field = whole_field(value);
	sql_type = type->kind < KILN_OPTIONAL ? scalar_datum(&field, &datum) : InvalidOid;
	if (!OidIsValid(sql_type))
		return put_evolved(type, value, writer, error);
	if (sql_type == TEXTOID)
	{
		/* as a JSON string in the field's place would be read */
		*place = KILN_IN_TEXT;
		text = kiln_text_datum_to_utf8(datum, &length);
		if (type->kind == KILN_BOOL)
			report_no_conversion(sql_type, type);
		return put_text(type, text, length, writer, error);
	}
	return put_datum(type, sql_type, InvalidOid, datum, writer, error);
}

/* ------------------------------------------------------------------ any value */

bool
kiln_new_value_is_null(const KilnNewValue *value, const kiln_type *type)
{
	size_t		length;
	const char *text;
	KilnValue	opened;

	if (value->isnull)
		return true;
	if (type->kind == KILN_JSON)
		return false;
	if (value->sql_type == JSONBOID)
		return kiln_jsonb_is_null(DatumGetJsonbP(value->datum));
	if (value->sql_type == JSONOID)
		text = kiln_json_datum_text(JSONOID, value->datum, &length);
	else if (value->sql_type == value->kiln_oid)
	{
		uint32_t	span;

		kiln_value_open(value->datum, &opened);
		if (opened.schema == NULL || opened.schema->root->kind != KILN_JSON || opened.frame.payload_length < 4)
			return false;
		text = (const char *) kiln_view_span(opened.frame.payload, &span);
		length = opened.frame.payload_length - 4;
	}
	else
		return false;
	return length == 4 && memcmp(text, "null", 4) == 0;
}

bool
kiln_put_value(const kiln_type *type, const KilnNewValue *value, kiln_writer *writer, KilnErrorPlace *place,
			   kiln_error *error)
{
	KilnValue	opened;
	size_t		length;
	const char *text;

	if (value->sql_type == value->kiln_oid)
	{
		kiln_value_open(value->datum, &opened);
		return kiln_put_kiln(type, &opened, writer, place, error);
	}
	if (is_text(value->sql_type))
	{
		*place = KILN_IN_TEXT;
		text = text_utf8(value->sql_type, value->datum, &length);
		return put_text(type, text, length, writer, error);
	}
	*place = value->sql_type == JSONOID || value->sql_type == JSONBOID ? KILN_IN_TEXT : KILN_IN_RECORD;
	return put_datum(type, value->sql_type, value->kiln_oid, value->datum, writer, error);
}

Datum
kiln_new_value_jsonb(const KilnNewValue *value)
{
	StringInfoData buf;

	if (value->sql_type == JSONBOID)
		return value->datum;
	if (value->sql_type == value->kiln_oid)
	{
		initStringInfo(&buf);
		kiln_frame_to_json(&buf, value->datum, KILN_JSON_LIMIT);
		return DirectFunctionCall1(jsonb_in, CStringGetDatum(buf.data));
	}
	if (is_text(value->sql_type))
	{
		size_t		length;
		const char *text = text_utf8(value->sql_type, value->datum, &length);

		return DirectFunctionCall1(jsonb_in, CStringGetDatum(kiln_utf8_to_server(text, length)));
	}
	return call_to_jsonb(value->sql_type, value->datum);
}
