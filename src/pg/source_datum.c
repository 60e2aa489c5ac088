/*
 * One SQL value as one kiln scalar.
 *
 * The mapping is what a PostgreSQL user expects of an assignment, without its silent losses: numbers go where their
 * value fits (a fraction into an integer is refused, where core would round it), strings go into strings and enum
 * labels, and each other type into its own kind alone. What has no mapping is found when a plan is made, not when a
 * row comes by. Ranges that the encoder checks anyway are left to it.
 */
#include "kiln_encode.h"

#include <math.h>

#include "catalog/pg_type.h"
#include "parser/parse_coerce.h"
#include "utils/builtins.h"
#include "utils/date.h"
#include "utils/fmgrprotos.h"
#include "utils/lsyscache.h"
#include "utils/timestamp.h"
#include "utils/uuid.h"

#include "kiln_text.h"

#define INTEGER_DIGITS	20			/* of a bigint, with its sign */

/* ------------------------------------------------------------------ integers */

static int64
integer_value(Oid sql_type, Datum value)
{
	switch (sql_type)
	{
		case INT2OID:
			return DatumGetInt16(value);
		case INT4OID:
			return DatumGetInt32(value);
		case OIDOID:
			return (int64) DatumGetObjectId(value);
		default:
			return DatumGetInt64(value);
	}
}

static bool
int2_signed(const KilnConvert *convert, Datum value, kiln_scalar *out, kiln_error *error)
{
	out->i64 = DatumGetInt16(value);
	return true;
}

static bool
int4_signed(const KilnConvert *convert, Datum value, kiln_scalar *out, kiln_error *error)
{
	out->i64 = DatumGetInt32(value);
	return true;
}

static bool
int8_signed(const KilnConvert *convert, Datum value, kiln_scalar *out, kiln_error *error)
{
	out->i64 = DatumGetInt64(value);
	return true;
}

static bool
oid_signed(const KilnConvert *convert, Datum value, kiln_scalar *out, kiln_error *error)
{
	out->i64 = integer_value(OIDOID, value);
	return true;
}

static bool
integer_unsigned(const KilnConvert *convert, Datum value, kiln_scalar *out, kiln_error *error)
{
	int64		number = integer_value(convert->sql_type, value);

	if (number < 0)
		return kiln_fail(error, KILN_E_RANGE, 0, NULL);
	out->u64 = (uint64) number;
	return true;
}

/* Rounded once, as core's casts do. */
static bool
integer_f32(const KilnConvert *convert, Datum value, kiln_scalar *out, kiln_error *error)
{
	out->f32 = (float) integer_value(convert->sql_type, value);
	return true;
}

static bool
integer_f64(const KilnConvert *convert, Datum value, kiln_scalar *out, kiln_error *error)
{
	out->f64 = (double) integer_value(convert->sql_type, value);
	return true;
}

static bool
integer_numeric(const KilnConvert *convert, Datum value, kiln_scalar *out, kiln_error *error)
{
	char	   *digits = palloc(INTEGER_DIGITS + 1);

	out->span.length = pg_lltoa(integer_value(convert->sql_type, value), digits);
	out->span.data = digits;
	return true;
}

static KilnConvertScalar
integer_converter(Oid sql_type, const kiln_type *type)
{
	switch (type->kind)
	{
		case KILN_I8:
		case KILN_I16:
		case KILN_I32:
		case KILN_I64:
			return sql_type == INT2OID ? int2_signed : sql_type == INT4OID ? int4_signed :
				sql_type == OIDOID ? oid_signed : int8_signed;
		case KILN_U8:
		case KILN_U16:
		case KILN_U32:
		case KILN_U64:
			return integer_unsigned;
		case KILN_F32:
			return integer_f32;
		case KILN_F64:
			return integer_f64;
		case KILN_NUMERIC:
			return integer_numeric;
		default:
			return NULL;
	}
}

/* ------------------------------------------------------------------ floats */

static double
float_value(Oid sql_type, Datum value)
{
	return sql_type == FLOAT4OID ? (double) DatumGetFloat4(value) : DatumGetFloat8(value);
}

/* A float that is a whole number between least and limit (exclusive); both are powers of two, so exact. */
static bool
whole_float(double number, double least, double limit, kiln_error *error)
{
	if (isnan(number) || isinf(number) || number < least || number >= limit)
		return kiln_fail(error, KILN_E_RANGE, 0, NULL);
	if (number != trunc(number))
		return kiln_fail(error, KILN_E_RANGE, 0, "an integer can't have a fraction");
	return true;
}

static bool
float_signed(const KilnConvert *convert, Datum value, kiln_scalar *out, kiln_error *error)
{
	double		number = float_value(convert->sql_type, value);

	if (!whole_float(number, -9223372036854775808.0, 9223372036854775808.0, error))
		return false;
	out->i64 = (int64) number;
	return true;
}

static bool
float_unsigned(const KilnConvert *convert, Datum value, kiln_scalar *out, kiln_error *error)
{
	double		number = float_value(convert->sql_type, value);

	if (!whole_float(number, 0.0, 18446744073709551616.0, error))
		return false;
	out->u64 = (uint64) number;
	return true;
}

static bool
float4_f32(const KilnConvert *convert, Datum value, kiln_scalar *out, kiln_error *error)
{
	out->f32 = DatumGetFloat4(value);
	return true;
}

/* A finite number must not become infinite, nor one that is not zero become zero. */
static bool
float8_f32(const KilnConvert *convert, Datum value, kiln_scalar *out, kiln_error *error)
{
	double		number = DatumGetFloat8(value);
	float		narrow = (float) number;

	if ((isinf(narrow) && !isinf(number)) || (narrow == 0.0f && number != 0.0))
		return kiln_fail(error, KILN_E_RANGE, 0, NULL);
	out->f32 = narrow;
	return true;
}

static bool
float4_f64(const KilnConvert *convert, Datum value, kiln_scalar *out, kiln_error *error)
{
	out->f64 = DatumGetFloat4(value);
	return true;
}

static bool
float8_f64(const KilnConvert *convert, Datum value, kiln_scalar *out, kiln_error *error)
{
	out->f64 = DatumGetFloat8(value);
	return true;
}

/* The number that the float's shortest text shows, written without an exponent. */
static bool
float_numeric(const KilnConvert *convert, Datum value, kiln_scalar *out, kiln_error *error)
{
	char		digits[32 + 1];
	int			n;
	Datum		numeric;
	char	   *text;

	n = convert->sql_type == FLOAT4OID ? kiln_print_f32(DatumGetFloat4(value), digits)
		: kiln_print_f64(DatumGetFloat8(value), digits);
	digits[n] = '\0';
	numeric = DirectFunctionCall3(numeric_in, CStringGetDatum(digits), ObjectIdGetDatum(InvalidOid), Int32GetDatum(-1));
	text = DatumGetCString(DirectFunctionCall1(numeric_out, numeric));
	out->span.data = text;
	out->span.length = strlen(text);
	return true;
}

static KilnConvertScalar
float_converter(Oid sql_type, const kiln_type *type)
{
	switch (type->kind)
	{
		case KILN_I8:
		case KILN_I16:
		case KILN_I32:
		case KILN_I64:
			return float_signed;
		case KILN_U8:
		case KILN_U16:
		case KILN_U32:
		case KILN_U64:
			return float_unsigned;
		case KILN_F32:
			return sql_type == FLOAT4OID ? float4_f32 : float8_f32;
		case KILN_F64:
			return sql_type == FLOAT4OID ? float4_f64 : float8_f64;
		case KILN_NUMERIC:
			return float_numeric;
		default:
			return NULL;
	}
}

/* ------------------------------------------------------------------ numeric */

/* A number without a place in an integer type is out of its range here, where it can't be a slip of spelling. */
static bool
numeric_integer(const KilnConvert *convert, Datum value, kiln_scalar *out, kiln_error *error)
{
	if (kiln_numeric_scalar(convert->type, value, out, error))
		return true;
	error->source_code = ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE;
	return false;
}

static bool
numeric_scalar(const KilnConvert *convert, Datum value, kiln_scalar *out, kiln_error *error)
{
	return kiln_numeric_scalar(convert->type, value, out, error);
}

static KilnConvertScalar
numeric_converter(const kiln_type *type)
{
	if (type->kind >= KILN_I8 && type->kind <= KILN_U64)
		return numeric_integer;
	return type->kind == KILN_F32 || type->kind == KILN_F64 || type->kind == KILN_NUMERIC ? numeric_scalar : NULL;
}

/* ------------------------------------------------------------------ strings and enums */

static bool
is_text(Oid sql_type)
{
	return sql_type == TEXTOID || sql_type == VARCHAROID || IsBinaryCoercible(sql_type, TEXTOID);
}

static bool
is_string(Oid sql_type)
{
	return sql_type == BPCHAROID || sql_type == NAMEOID || sql_type == CHAROID || sql_type == UNKNOWNOID ||
		get_typtype(sql_type) == TYPTYPE_ENUM || is_text(sql_type);
}

/* UTF-8 of any value that is a string. A char(n) loses its padding, as in core's cast to text. */
static const char *
string_utf8(Oid sql_type, Datum value, size_t *length)
{
	const char *text;

	switch (sql_type)
	{
		case BPCHAROID:
			{
				struct varlena *padded = PG_DETOAST_DATUM_PACKED(value);
				int			n = bpchartruelen(VARDATA_ANY(padded), VARSIZE_ANY_EXHDR(padded));

				return kiln_server_to_utf8(VARDATA_ANY(padded), n, length);
			}
		case NAMEOID:
			text = NameStr(*DatumGetName(value));
			break;
		case UNKNOWNOID:
			text = DatumGetCString(value);
			break;
		case CHAROID:
			text = DatumGetCString(DirectFunctionCall1(charout, value));
			break;
		default:
			if (get_typtype(sql_type) != TYPTYPE_ENUM)
				return kiln_text_datum_to_utf8(value, length);
			text = DatumGetCString(DirectFunctionCall1(enum_out, value));
			break;
	}
	return kiln_server_to_utf8(text, strlen(text), length);
}

static bool
text_string(const KilnConvert *convert, Datum value, kiln_scalar *out, kiln_error *error)
{
	out->span.data = kiln_text_datum_to_utf8(value, &out->span.length);
	return true;
}

static bool
any_string(const KilnConvert *convert, Datum value, kiln_scalar *out, kiln_error *error)
{
	out->span.data = string_utf8(convert->sql_type, value, &out->span.length);
	return true;
}

static bool
any_label(const KilnConvert *convert, Datum value, kiln_scalar *out, kiln_error *error)
{
	size_t		length;
	const char *label = string_utf8(convert->sql_type, value, &length);
	int			position = kiln_enum_find(convert->type, label, length);

	if (position < 0)
	{
		char		clip[KILN_CLIP];

		return kiln_source_fail(error, ERRCODE_INVALID_TEXT_REPRESENTATION, "\"%s\" is no label of the enum",
								kiln_clip(label, length, clip));
	}
	out->u64 = (uint64) position;
	return true;
}

static KilnConvertScalar
string_converter(Oid sql_type, const kiln_type *type)
{
	if (type->kind == KILN_STRING)
		return is_text(sql_type) ? text_string : any_string;
	if (type->kind == KILN_ENUM)
		return any_label;
	return NULL;
}

/* ------------------------------------------------------------------ the rest, each into its own kind */

static bool
bool_scalar(const KilnConvert *convert, Datum value, kiln_scalar *out, kiln_error *error)
{
	out->boolean = DatumGetBool(value);
	return true;
}

static bool
bytea_scalar(const KilnConvert *convert, Datum value, kiln_scalar *out, kiln_error *error)
{
	struct varlena *bytes = PG_DETOAST_DATUM_PACKED(value);

	out->span.data = VARDATA_ANY(bytes);
	out->span.length = VARSIZE_ANY_EXHDR(bytes);
	return true;
}

static bool
uuid_scalar(const KilnConvert *convert, Datum value, kiln_scalar *out, kiln_error *error)
{
	out->span.data = DatumGetUUIDP(value)->data;
	out->span.length = UUID_LEN;
	return true;
}

static bool
date_scalar(const KilnConvert *convert, Datum value, kiln_scalar *out, kiln_error *error)
{
	out->i64 = DatumGetDateADT(value);
	return true;
}

static bool
timestamp_scalar(const KilnConvert *convert, Datum value, kiln_scalar *out, kiln_error *error)
{
	out->i64 = DatumGetTimestamp(value);
	return true;
}

static bool
json_scalar(const KilnConvert *convert, Datum value, kiln_scalar *out, kiln_error *error)
{
	out->span.data = kiln_json_datum_text(convert->sql_type, value, &out->span.length);
	return true;
}

const char *
kiln_json_datum_text(Oid sql_type, Datum value, size_t *length)
{
	const char *text;
	StringInfoData buf;

	if (sql_type == JSONOID)
		text = kiln_text_datum_to_utf8(value, length);
	else if (sql_type == JSONBOID)
	{
		Jsonb	   *document = DatumGetJsonbP(value);

		initStringInfo(&buf);
		JsonbToCString(&buf, &document->root, VARSIZE(document));
		return kiln_server_to_utf8(buf.data, buf.len, length);
	}
	else
	{
		initStringInfo(&buf);
		kiln_frame_to_json(&buf, value, KILN_JSON_LIMIT);
		return kiln_server_to_utf8(buf.data, buf.len, length);
	}
	/* white space as JSON knows it */
	while (*length > 0 && strchr(" \t\n\r", text[*length - 1]) != NULL)
		--*length;
	while (*length > 0 && strchr(" \t\n\r", *text) != NULL)
	{
		text++;
		--*length;
	}
	return text;
}

/* ------------------------------------------------------------------ choosing */

KilnConvertScalar
kiln_scalar_converter(Oid sql_type, const kiln_type *type, Oid kiln_oid)
{
	switch (sql_type)
	{
		case BOOLOID:
			return type->kind == KILN_BOOL ? bool_scalar : NULL;
		case INT2OID:
		case INT4OID:
		case INT8OID:
		case OIDOID:
			return integer_converter(sql_type, type);
		case FLOAT4OID:
		case FLOAT8OID:
			return float_converter(sql_type, type);
		case NUMERICOID:
			return numeric_converter(type);
		case BYTEAOID:
			return type->kind == KILN_BYTES ? bytea_scalar : NULL;
		case UUIDOID:
			return type->kind == KILN_UUID ? uuid_scalar : NULL;
		case DATEOID:
			return type->kind == KILN_DATE ? date_scalar : NULL;
		case TIMESTAMPOID:
			return type->kind == KILN_TIMESTAMP ? timestamp_scalar : NULL;
		case TIMESTAMPTZOID:
			return type->kind == KILN_TIMESTAMPTZ ? timestamp_scalar : NULL;
		case JSONOID:
		case JSONBOID:
			return type->kind == KILN_JSON ? json_scalar : NULL;
		default:
			if (sql_type == kiln_oid)
				return type->kind == KILN_JSON ? json_scalar : NULL;
			return is_string(sql_type) ? string_converter(sql_type, type) : NULL;
	}
}

bool
kiln_same_layout(Oid sql_element, const kiln_type *element)
{
#ifdef WORDS_BIGENDIAN
	return false;
#else
	switch (element->kind)
	{
		case KILN_I16:
			return sql_element == INT2OID;
		case KILN_I32:
			return sql_element == INT4OID;
		case KILN_I64:
			return sql_element == INT8OID;
		case KILN_U32:
			return sql_element == OIDOID;
		case KILN_F32:
			return sql_element == FLOAT4OID;
		case KILN_F64:
			return sql_element == FLOAT8OID;
		default:
			return false;
	}
#endif
}
