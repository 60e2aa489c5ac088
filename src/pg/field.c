/*
 * A field's value as an SQL value.
 *
 * Numbers convert to each other as core's own casts do (a double as numeric is the number that its text shows);
 * other kinds convert to their own SQL type only. A json field answers through core's jsonb functions, also for
 * what lies inside it.
 */
#include "kiln_access.h"

#include "common/int.h"
#include "utils/builtins.h"
#include "utils/date.h"
#include "utils/float.h"
#include "utils/fmgrprotos.h"
#include "utils/timestamp.h"
#include "utils/uuid.h"

/* ------------------------------------------------------------------ errors */

const char *
kiln_kind_name(const kiln_type *type)
{
	if (type == NULL)
		return "tensor directory";
	switch (type->kind)
	{
		case KILN_STRUCT:
			return "struct";
		case KILN_DICT:
			return "dict";
		case KILN_LIST:
			return "list";
		case KILN_ENUM:
			return "enum";
		default:
			return kiln_utf8_for_message(type->text, type->text_length);
	}
}

void
kiln_report_cast(const kiln_type *type, const char *sql_type)
{
	ereport(ERROR,
			(errcode(ERRCODE_DATATYPE_MISMATCH),
			 errmsg("cannot cast kiln %s to type %s", kiln_kind_name(type), sql_type)));
	pg_unreachable();
}

pg_noreturn static void
out_of_range(const char *sql_type)
{
	ereport(ERROR,
			(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
			 errmsg("%s out of range", sql_type)));
}

/* ------------------------------------------------------------------ json fields */

/* A step under #>, where a key may be a position, as jsonb's own function for that has it. */
static Jsonb *
json_loose(const KilnField *field, Jsonb *jsonb)
{
	uint32		steps = field->path->count - field->rest;
	Datum	   *keys = palloc(steps * sizeof(Datum));
	bool		isnull;
	Datum		found;

	for (uint32 i = 0; i < steps; i++)
	{
		const kiln_path_step *step = &field->path->steps[field->rest + i];

		keys[i] = kiln_utf8_to_text_datum((const uint8_t *) step->name, step->length);
	}
	found = jsonb_get_element(jsonb, keys, (int) steps, &isnull, false);
	return isnull ? NULL : DatumGetJsonbP(found);
}

/* One step as -> of jsonb takes it: a position in an array, a key of an object; NULL if there is nothing. */
static JsonbValue *
json_step(JsonbContainer *container, const kiln_path_step *step)
{
	JsonbValue	key;
	int64		position = step->index;

	if (!step->is_index)
	{
		if (!JsonContainerIsObject(container))
			return NULL;
		key.type = jbvString;
		key.val.string.val = kiln_utf8_to_server(step->name, step->length);
		key.val.string.len = (int) strlen(key.val.string.val);
		return findJsonbValueFromContainer(container, JB_FOBJECT, &key);
	}
	if (!JsonContainerIsArray(container) || JsonContainerIsScalar(container))
		return NULL;
	if (position < 0)
		position += JsonContainerSize(container);
	if (position < 0 || position >= JsonContainerSize(container))
		return NULL;
	return getIthJsonbValueFromContainer(container, (uint32) position);
}

/*
 * What the path's rest finds inside a json value, as jsonb; NULL if nothing.
 */
static Jsonb *
json_inside(const KilnField *field)
{
	uint32_t	length;
	const uint8_t *text = kiln_field_span(field, &length);
	char	   *server = kiln_utf8_to_server((const char *) text, length);
	Jsonb	   *jsonb = DatumGetJsonbP(DirectFunctionCall1(jsonb_in, CStringGetDatum(server)));
	JsonbContainer *container = &jsonb->root;
	JsonbValue *found = NULL;

	if (field->rest == field->path->count)
		return jsonb;
	if (field->loose)
		return json_loose(field, jsonb);
	for (uint32 i = field->rest; i < field->path->count; i++)
	{
		if (container == NULL)
			return NULL;		/* a step into a scalar */
		found = json_step(container, &field->path->steps[i]);
		if (found == NULL)
			return NULL;
		container = found->type == jbvBinary ? found->val.binary.data : NULL;
	}
	return JsonbValueToJsonb(found);
}

static bool
json_is_null(Jsonb *jsonb)
{
	JsonbValue	scalar;

	return JB_ROOT_IS_SCALAR(jsonb) && JsonbExtractScalar(&jsonb->root, &scalar) && scalar.type == jbvNull;
}

/* A json field through one of core's casts from jsonb. A JSON null is no value. */
static Datum
json_cast(const KilnField *field, PGFunction cast, bool *isnull)
{
	Jsonb	   *jsonb = json_inside(field);

	*isnull = jsonb == NULL || json_is_null(jsonb);
	if (*isnull)
		return (Datum) 0;
	return DirectFunctionCall1(cast, JsonbPGetDatum(jsonb));
}

/* As ->> of jsonb shows it. */
static Datum
json_text(const KilnField *field, bool *isnull)
{
	Jsonb	   *jsonb;
	JsonbValue	scalar;

	if (field->rest == field->path->count)
	{
		uint32_t	length;
		const uint8_t *text = kiln_field_span(field, &length);

		if (length > 0 && text[0] != '"' && text[0] != 'n')
			return kiln_utf8_to_text_datum(text, length);
	}
	jsonb = json_inside(field);
	*isnull = jsonb == NULL || json_is_null(jsonb);
	if (*isnull)
		return (Datum) 0;
	if (JB_ROOT_IS_SCALAR(jsonb) && JsonbExtractScalar(&jsonb->root, &scalar) && scalar.type == jbvString)
		return PointerGetDatum(cstring_to_text_with_len(scalar.val.string.val, scalar.val.string.len));
	return CStringGetTextDatum(JsonbToCString(NULL, &jsonb->root, VARSIZE(jsonb)));
}

/* ------------------------------------------------------------------ numbers */

typedef enum NumberForm
{
	NUMBER_NONE, NUMBER_SIGNED, NUMBER_UNSIGNED, NUMBER_F32, NUMBER_F64, NUMBER_NUMERIC
} NumberForm;

static NumberForm
number_form(const KilnField *field)
{
	if (field->type == NULL)
		return NUMBER_NONE;
	switch (field->type->kind)
	{
		case KILN_I8:
		case KILN_I16:
		case KILN_I32:
		case KILN_I64:
			return NUMBER_SIGNED;
		case KILN_U8:
		case KILN_U16:
		case KILN_U32:
		case KILN_U64:
			return NUMBER_UNSIGNED;
		case KILN_F32:
			return NUMBER_F32;
		case KILN_F64:
			return NUMBER_F64;
		case KILN_NUMERIC:
			return NUMBER_NUMERIC;
		default:
			return NUMBER_NONE;
	}
}

static int64
load_signed(const KilnField *field)
{
	return kiln_view_signed(field->type, kiln_field_fixed(field, field->type->width));
}

static uint64
load_unsigned(const KilnField *field)
{
	return kiln_view_unsigned(field->type, kiln_field_fixed(field, field->type->width));
}

static float8
load_f64(const KilnField *field)
{
	return kiln_load_f64(kiln_field_fixed(field, 8));
}

static float4
load_f32(const KilnField *field)
{
	return kiln_load_f32(kiln_field_fixed(field, 4));
}

static Datum
numeric_from_text(const char *text)
{
	return DirectFunctionCall3(numeric_in, CStringGetDatum(text), ObjectIdGetDatum(InvalidOid), Int32GetDatum(-1));
}

/* The numeric of a numeric field, its spelling tested again. */
static Datum
load_numeric(const KilnField *field)
{
	uint32_t	length;
	const uint8_t *text = kiln_field_span(field, &length);

	if (!kiln_numeric_spelling(text, length))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_BINARY_REPRESENTATION),
				 errmsg("damaged value of type kiln: %s", kiln_error_text(KILN_E_NUMERIC))));
	return numeric_from_text(pnstrdup((const char *) text, length));
}

Datum
kiln_field_int8(const KilnField *field, bool *isnull)
{
	switch (number_form(field))
	{
		case NUMBER_SIGNED:
			return Int64GetDatum(load_signed(field));
		case NUMBER_UNSIGNED:
			{
				uint64		v = load_unsigned(field);

				if (v > PG_INT64_MAX)
					out_of_range("bigint");
				return Int64GetDatum((int64) v);
			}
		case NUMBER_F32:
			return DirectFunctionCall1(ftoi8, Float4GetDatum(load_f32(field)));
		case NUMBER_F64:
			return DirectFunctionCall1(dtoi8, Float8GetDatum(load_f64(field)));
		case NUMBER_NUMERIC:
			return DirectFunctionCall1(numeric_int8, load_numeric(field));
		case NUMBER_NONE:
			break;
	}
	if (field->type && field->type->kind == KILN_JSON)
		return json_cast(field, jsonb_int8, isnull);
	kiln_report_cast(field->type, "bigint");
}

/* A smaller integer, by way of int8, whose range it is tested against. */
static int64
field_small_integer(const KilnField *field, int64 least, int64 most, const char *sql_type, bool *isnull)
{
	NumberForm	form = number_form(field);
	int64		v;

	if (form == NUMBER_NONE && (field->type == NULL || field->type->kind != KILN_JSON))
		kiln_report_cast(field->type, sql_type);
	if (form == NUMBER_UNSIGNED && load_unsigned(field) > (uint64) most)
		out_of_range(sql_type);
	v = DatumGetInt64(kiln_field_int8(field, isnull));
	if (v < least || v > most)
		out_of_range(sql_type);
	return v;
}

Datum
kiln_field_int4(const KilnField *field, bool *isnull)
{
	return Int32GetDatum((int32) field_small_integer(field, PG_INT32_MIN, PG_INT32_MAX, "integer", isnull));
}

Datum
kiln_field_int2(const KilnField *field, bool *isnull)
{
	return Int16GetDatum((int16) field_small_integer(field, PG_INT16_MIN, PG_INT16_MAX, "smallint", isnull));
}

Datum
kiln_field_float8(const KilnField *field, bool *isnull)
{
	switch (number_form(field))
	{
		case NUMBER_SIGNED:
			return Float8GetDatum((float8) load_signed(field));
		case NUMBER_UNSIGNED:
			return Float8GetDatum((float8) load_unsigned(field));
		case NUMBER_F32:
			return Float8GetDatum((float8) load_f32(field));
		case NUMBER_F64:
			return Float8GetDatum(load_f64(field));
		case NUMBER_NUMERIC:
			return DirectFunctionCall1(numeric_float8, load_numeric(field));
		case NUMBER_NONE:
			break;
	}
	if (field->type && field->type->kind == KILN_JSON)
		return json_cast(field, jsonb_float8, isnull);
	kiln_report_cast(field->type, "double precision");
}

Datum
kiln_field_float4(const KilnField *field, bool *isnull)
{
	switch (number_form(field))
	{
		case NUMBER_SIGNED:
			return Float4GetDatum((float4) load_signed(field));
		case NUMBER_UNSIGNED:
			return Float4GetDatum((float4) load_unsigned(field));
		case NUMBER_F32:
			return Float4GetDatum(load_f32(field));
		case NUMBER_F64:
			return DirectFunctionCall1(dtof, Float8GetDatum(load_f64(field)));
		case NUMBER_NUMERIC:
			return DirectFunctionCall1(numeric_float4, load_numeric(field));
		case NUMBER_NONE:
			break;
	}
	if (field->type && field->type->kind == KILN_JSON)
		return json_cast(field, jsonb_float4, isnull);
	kiln_report_cast(field->type, "real");
}

Datum
kiln_field_numeric(const KilnField *field, bool *isnull)
{
	char		text[64];

	switch (number_form(field))
	{
		case NUMBER_SIGNED:
			return NumericGetDatum(int64_to_numeric(load_signed(field)));
		case NUMBER_UNSIGNED:
			snprintf(text, sizeof text, UINT64_FORMAT, load_unsigned(field));
			return numeric_from_text(text);
		case NUMBER_F32:
			text[kiln_print_f32(load_f32(field), text)] = '\0';
			return numeric_from_text(text);
		case NUMBER_F64:
			text[kiln_print_f64(load_f64(field), text)] = '\0';
			return numeric_from_text(text);
		case NUMBER_NUMERIC:
			return load_numeric(field);
		case NUMBER_NONE:
			break;
	}
	if (field->type && field->type->kind == KILN_JSON)
		return json_cast(field, jsonb_numeric, isnull);
	kiln_report_cast(field->type, "numeric");
}

/* ------------------------------------------------------------------ other scalars */

Datum
kiln_field_bool(const KilnField *field, bool *isnull)
{
	if (field->type && field->type->kind == KILN_BOOL)
		return BoolGetDatum(*kiln_field_fixed(field, 1) != 0);
	if (field->type && field->type->kind == KILN_JSON)
		return json_cast(field, jsonb_bool, isnull);
	kiln_report_cast(field->type, "boolean");
}

Datum
kiln_field_bytea(const KilnField *field, bool *isnull)
{
	const uint8_t *data;
	uint32_t	length;
	bytea	   *result;

	if (field->type == NULL || field->type->kind != KILN_BYTES)
		kiln_report_cast(field->type, "bytea");
	data = kiln_field_span(field, &length);
	result = palloc(VARHDRSZ + (Size) length);
	SET_VARSIZE(result, VARHDRSZ + (Size) length);
	memcpy(VARDATA(result), data, length);
	return PointerGetDatum(result);
}

Datum
kiln_field_uuid(const KilnField *field, bool *isnull)
{
	pg_uuid_t  *result;

	if (field->type == NULL || field->type->kind != KILN_UUID)
		kiln_report_cast(field->type, "uuid");
	result = palloc(sizeof *result);
	memcpy(result->data, kiln_field_fixed(field, UUID_LEN), UUID_LEN);
	return UUIDPGetDatum(result);
}

Datum
kiln_field_date(const KilnField *field, bool *isnull)
{
	int32		days;

	if (field->type == NULL || field->type->kind != KILN_DATE)
		kiln_report_cast(field->type, "date");
	days = (int32) kiln_load_u32(kiln_field_fixed(field, 4));
	if (!kiln_date_valid(days))
		ereport(ERROR,
				(errcode(ERRCODE_DATETIME_VALUE_OUT_OF_RANGE),
				 errmsg("date out of range")));
	return DateADTGetDatum(days);
}

static Datum
field_timestamp(const KilnField *field, kiln_kind kind, const char *sql_type)
{
	int64		microseconds;

	if (field->type == NULL || field->type->kind != kind)
		kiln_report_cast(field->type, sql_type);
	microseconds = (int64) kiln_load_u64(kiln_field_fixed(field, 8));
	if (!kiln_timestamp_valid(microseconds))
		ereport(ERROR,
				(errcode(ERRCODE_DATETIME_VALUE_OUT_OF_RANGE),
				 errmsg("timestamp out of range")));
	return TimestampGetDatum(microseconds);
}

Datum
kiln_field_timestamp(const KilnField *field, bool *isnull)
{
	return field_timestamp(field, KILN_TIMESTAMP, "timestamp without time zone");
}

Datum
kiln_field_timestamptz(const KilnField *field, bool *isnull)
{
	return field_timestamp(field, KILN_TIMESTAMPTZ, "timestamp with time zone");
}

/* ------------------------------------------------------------------ text and JSON */

/*
 * A scalar's bytes as kiln_print_scalar() wants them: content without length word, bools and enum positions held.
 */
static const uint8_t *
scalar_bytes(const KilnField *field, uint32_t *length, uint8_t *scratch)
{
	const kiln_type *type = field->type;

	if (type->width == 0)
		return kiln_field_span(field, length);
	*length = type->width;
	if (type->kind == KILN_BOOL)
		scratch[0] = *kiln_field_fixed(field, 1) != 0;
	else if (type->kind == KILN_ENUM)
		kiln_store_u16(scratch, Min(kiln_load_u16(kiln_field_fixed(field, 2)), type->count - 1));
	else
		return kiln_field_fixed(field, type->width);
	return scratch;
}

/* JSON of the field, without $kiln, in the server's encoding. */
static void
field_to_json(const KilnField *field, StringInfo buf)
{
	initStringInfo(buf);
	kiln_print_json(buf, field->type, field->at, (size_t) (field->end - field->at), KILN_JSON_LIMIT);
}

Datum
kiln_field_text(const KilnField *field, bool *isnull)
{
	StringInfoData buf;
	const uint8_t *data;
	uint32_t	length;
	uint8_t		scratch[2];

	switch (field->type->kind)
	{
		case KILN_STRING:
			data = kiln_field_span(field, &length);
			return kiln_utf8_to_text_datum(data, length);
		case KILN_JSON:
			return json_text(field, isnull);
		case KILN_STRUCT:
		case KILN_LIST:
		case KILN_DICT:
			field_to_json(field, &buf);
			break;
		default:
			initStringInfo(&buf);
			data = scalar_bytes(field, &length, scratch);
			kiln_print_scalar(&buf, field->type, data, length);
	}
	return PointerGetDatum(cstring_to_text_with_len(buf.data, buf.len));
}

Datum
kiln_field_json(const KilnField *field, bool *isnull)
{
	StringInfoData buf;

	if (field->type->kind == KILN_JSON && field->rest < field->path->count)
	{
		Jsonb	   *jsonb = json_inside(field);

		*isnull = jsonb == NULL;
		return jsonb ? CStringGetTextDatum(JsonbToCString(NULL, &jsonb->root, VARSIZE(jsonb))) : (Datum) 0;
	}
	field_to_json(field, &buf);
	return PointerGetDatum(cstring_to_text_with_len(buf.data, buf.len));
}

Datum
kiln_field_jsonb(const KilnField *field, bool *isnull)
{
	StringInfoData buf;

	if (field->type->kind == KILN_JSON)
	{
		Jsonb	   *jsonb = json_inside(field);

		*isnull = jsonb == NULL;
		return jsonb ? JsonbPGetDatum(jsonb) : (Datum) 0;
	}
	field_to_json(field, &buf);
	return DirectFunctionCall1(jsonb_in, CStringGetDatum(buf.data));
}

/* ------------------------------------------------------------------ a value of its own */

/*
 * The field's value cut out as an inline frame: its type's canonical text, which is a slice of the whole's, and its
 * bytes.
 */
Datum
kiln_field_kiln(const KilnField *field, bool *isnull)
{
	const kiln_type *type = field->type;
	size_t		left = (size_t) (field->end - field->at);
	size_t		n;
	kiln_writer writer;

	if (type->kind == KILN_JSON && field->rest < field->path->count)
	{
		Datum		text = kiln_field_json(field, isnull);
		size_t		length;
		const char *utf8;

		if (*isnull)
			return (Datum) 0;
		utf8 = kiln_text_datum_to_utf8(text, &length);
		kiln_builder_init(&writer, KILN_INLINE_HEAD + 4 + 4 + length);
		kiln_builder_head_inline(&writer, "json", 4);
		if (!kiln_writer_reserve(&writer, 4 + length))
			out_of_range("kiln value");
		kiln_writer_span(&writer, utf8, (uint32) length);
		return PointerGetDatum(kiln_builder_finish(&writer));
	}
	if (left >= KILN_HELD_LEAST)
	{
		kiln_held	held = {field->at, left, NULL};

		n = kiln_held_skip(&held, type, 0);
	}
	else
	{
		kiln_reader reader;

		kiln_reader_init(&reader, field->at, left);
		if (!kiln_reader_skip(&reader, type))
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_BINARY_REPRESENTATION),
					 errmsg("damaged value of type kiln: value ends too early")));
		n = (size_t) (reader.pos - reader.start);
	}
	kiln_builder_init(&writer, KILN_INLINE_HEAD + type->text_length + n);
	kiln_builder_head_inline(&writer, type->text, type->text_length);
	if (!kiln_writer_reserve(&writer, n))
		out_of_range("kiln value");
	kiln_writer_bytes(&writer, field->at, n);
	return PointerGetDatum(kiln_builder_finish(&writer));
}
