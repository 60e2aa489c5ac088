/*
 * Choosing how a kiln value becomes an SQL value; scalars, domains, and types that only their input function knows.
 *
 * The rules are those of the casts from kiln (field.c), with the target's type modifier applied as an assignment
 * would: too long a string is an error, a number or time is rounded. Every kind has a text, so text types take
 * everything. A type that has no rule here is made from a string, an enum's label or a json value's text by its input
 * function.
 */
#include "kiln_datum.h"

#include "access/transam.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/date.h"
#include "utils/fmgrprotos.h"
#include "utils/lsyscache.h"
#include "utils/timestamp.h"

#include "kiln_tensor.h"

extern Datum kiln_in(PG_FUNCTION_ARGS);

static void
poll_interrupts(void)
{
	CHECK_FOR_INTERRUPTS();
}

/* ------------------------------------------------------------------ stepping through parts */

void
kiln_field_pass_slow(KilnField *field, const kiln_type *type)
{
	size_t		n = (size_t) (field->end - field->base);
	kiln_reader reader;

	if (type->kind == KILN_STRING || type->kind == KILN_BYTES || type->kind == KILN_NUMERIC || type->kind == KILN_JSON)
	{
		uint32_t	length;
		const uint8_t *content = kiln_field_span(field, &length);

		field->at = content + length;
	}
	else if (n >= KILN_HELD_LEAST)
	{
		kiln_held	held = {field->base, n, poll_interrupts};

		field->at = field->base + kiln_held_skip(&held, type, (size_t) (field->at - field->base));
	}
	else
	{
		kiln_reader_init(&reader, field->at, (size_t) (field->end - field->at));
		if (!kiln_reader_skip(&reader, type))
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_BINARY_REPRESENTATION),
					 errmsg("damaged value of type kiln: value ends too early")));
		field->at = reader.pos;
	}
}

/* ------------------------------------------------------------------ scalars */

Datum
kiln_field_utf8_text(const KilnField *field)
{
	uint32_t	length;
	const uint8_t *content = kiln_field_span(field, &length);
	text	   *result;
	bool		nul;

	if (unlikely(kiln_utf8_prefix(content, length, &nul) < length))
		return kiln_utf8_to_text_datum(content, length);	/* which says what is wrong */
	result = palloc(VARHDRSZ + (Size) length);
	SET_VARSIZE(result, VARHDRSZ + (Size) length);
	memcpy(VARDATA(result), content, length);
	return PointerGetDatum(result);
}

static Datum
run_scalar(KilnTarget *target, const KilnField *field, bool *isnull)
{
	return target->scalar(field, isnull);
}

/* A conversion, then the type's own function that fits a value to a type modifier. */
static Datum
run_scaled(KilnTarget *target, const KilnField *field, bool *isnull, PGFunction scale)
{
	Datum		value = target->scalar(field, isnull);

	if (*isnull)
		return (Datum) 0;
	return DirectFunctionCall2(scale, value, Int32GetDatum(target->typmod));
}

static Datum
run_numeric(KilnTarget *target, const KilnField *field, bool *isnull)
{
	return run_scaled(target, field, isnull, numeric);
}

static Datum
run_timestamp(KilnTarget *target, const KilnField *field, bool *isnull)
{
	return run_scaled(target, field, isnull, timestamp_scale);
}

static Datum
run_timestamptz(KilnTarget *target, const KilnField *field, bool *isnull)
{
	return run_scaled(target, field, isnull, timestamptz_scale);
}

/* Text fitted to a length, not as an explicit cast would: what does not fit is 22001. */
static Datum
run_fitted(KilnTarget *target, const KilnField *field, bool *isnull, PGFunction fit)
{
	Datum		value = kiln_field_text(field, isnull);

	if (*isnull)
		return (Datum) 0;
	return DirectFunctionCall3(fit, value, Int32GetDatum(target->typmod), BoolGetDatum(false));
}

static Datum
run_varchar(KilnTarget *target, const KilnField *field, bool *isnull)
{
	return run_fitted(target, field, isnull, varchar);
}

static Datum
run_bpchar(KilnTarget *target, const KilnField *field, bool *isnull)
{
	return run_fitted(target, field, isnull, bpchar);
}

static Datum
run_name(KilnTarget *target, const KilnField *field, bool *isnull)
{
	Datum		value = kiln_field_text(field, isnull);

	return *isnull ? (Datum) 0 : DirectFunctionCall1(text_name, value);
}

static Datum
run_oid(KilnTarget *target, const KilnField *field, bool *isnull)
{
	int64		value = DatumGetInt64(kiln_field_int8(field, isnull));

	if (*isnull)
		return (Datum) 0;
	if (value < 0 || value > (int64) PG_UINT32_MAX)
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				 errmsg("OID out of range")));
	return ObjectIdGetDatum((Oid) value);
}

/* A kiln value of its own, fitted to the column. */
static Datum
run_kiln(KilnTarget *target, const KilnField *field, bool *isnull)
{
	Datum		value = kiln_part_kiln(field, isnull);

	if (*isnull || target->typmod < 0)
		return value;
	return PointerGetDatum(kiln_coerce_frame((struct varlena *) DatumGetPointer(value), target->typmod, NULL));
}

/* Through the type's input function. */
static Datum
run_input(KilnTarget *target, const KilnField *field, bool *isnull)
{
	Datum		value = kiln_field_text(field, isnull);

	if (*isnull)
		return (Datum) 0;
	return InputFunctionCall(&target->input, TextDatumGetCString(value), target->input_parameter, target->typmod);
}

/* ------------------------------------------------------------------ arrays and rows */

static Datum
run_array(KilnTarget *target, const KilnField *field, bool *isnull)
{
	return kiln_array_target_run(target->array, field);
}

static Datum
run_row(KilnTarget *target, const KilnField *field, bool *isnull)
{
	return kiln_row_target_run(target->row, field, NULL);
}

/* ------------------------------------------------------------------ domains */

static void
check_domain(KilnTarget *target, Datum value, bool isnull)
{
	domain_check(value, isnull, target->domain, &target->domain_cache, target->context);
}

static Datum
run_domain(KilnTarget *target, const KilnField *field, bool *isnull)
{
	Datum		value = kiln_target_run(target->base, field, isnull);

	check_domain(target, value, *isnull);
	return value;
}

void
kiln_target_check_null(KilnTarget *target)
{
	if (OidIsValid(target->domain))
		check_domain(target, (Datum) 0, true);
}

/* ------------------------------------------------------------------ choosing */

bool
kiln_is_kiln_type(Oid sql_type)
{
	Oid			function;
	Oid			parameter;
	FmgrInfo	input;

	if (sql_type < FirstNormalObjectId || get_typtype(sql_type) != TYPTYPE_BASE)
		return false;
	getTypeInputInfo(sql_type, &function, &parameter);
	fmgr_info(function, &input);
	return input.fn_addr == kiln_in;
}

bool
kiln_takes_lists(Oid sql_type)
{
	return sql_type == JSONOID || sql_type == JSONBOID || OidIsValid(get_element_type(sql_type)) ||
		kiln_is_kiln_type(sql_type);
}

/*
 * Is there a conversion from such a scalar to such a type? Which kinds field.c converts, said once before the first
 * value comes.
 */
static bool
scalar_converts(const kiln_type *type, Oid sql_type)
{
	bool		json = type->kind == KILN_JSON;

	switch (sql_type)
	{
		case BOOLOID:
			return json || type->kind == KILN_BOOL;
		case INT2OID:
		case INT4OID:
		case INT8OID:
		case OIDOID:
		case FLOAT4OID:
		case FLOAT8OID:
		case NUMERICOID:
			return json || type->kind == KILN_NUMERIC || (type->kind >= KILN_I8 && type->kind <= KILN_F64);
		case BYTEAOID:
			return type->kind == KILN_BYTES;
		case UUIDOID:
			return type->kind == KILN_UUID;
		case DATEOID:
			return type->kind == KILN_DATE;
		case TIMESTAMPOID:
			return type->kind == KILN_TIMESTAMP;
		case TIMESTAMPTZOID:
			return type->kind == KILN_TIMESTAMPTZ;
		default:
			return true;
	}
}

/* Conversions by a function of field.c and no more; false if the type has none. */
static bool
choose_plain(KilnTarget *target)
{
	static const struct
	{
		Oid			sql_type;
		Datum		(*convert) (const KilnField *field, bool *isnull);
	}			plain[] = {
		{BOOLOID, kiln_field_bool}, {INT2OID, kiln_field_int2}, {INT4OID, kiln_field_int4}, {INT8OID, kiln_field_int8},
		{FLOAT4OID, kiln_field_float4}, {FLOAT8OID, kiln_field_float8}, {NUMERICOID, kiln_field_numeric},
		{TEXTOID, kiln_field_text}, {VARCHAROID, kiln_field_text}, {BPCHAROID, kiln_field_text},
		{BYTEAOID, kiln_field_bytea}, {UUIDOID, kiln_field_uuid}, {DATEOID, kiln_field_date},
		{TIMESTAMPOID, kiln_field_timestamp}, {TIMESTAMPTZOID, kiln_field_timestamptz},
		{JSONOID, kiln_field_json}, {JSONBOID, kiln_field_jsonb}
	};

	for (size_t i = 0; i < lengthof(plain); i++)
		if (plain[i].sql_type == target->sql_type)
		{
			target->scalar = plain[i].convert;
			target->run = run_scalar;
			return true;
		}
	return false;
}

/* One load, where a plain conversion is no more than that. */
static KilnDirect
direct_conversion(uint8 kind, Oid sql_type)
{
	switch (kind)
	{
		case KILN_BOOL:
			return sql_type == BOOLOID ? KILN_DIRECT_BOOL : KILN_DIRECT_NONE;
		case KILN_I16:
			return sql_type == INT2OID ? KILN_DIRECT_INT2 : KILN_DIRECT_NONE;
		case KILN_I32:
			return sql_type == INT4OID ? KILN_DIRECT_INT4 : KILN_DIRECT_NONE;
		case KILN_I64:
			return sql_type == INT8OID ? KILN_DIRECT_INT8 : KILN_DIRECT_NONE;
		case KILN_F32:
			return sql_type == FLOAT4OID ? KILN_DIRECT_FLOAT4 : KILN_DIRECT_NONE;
		case KILN_F64:
			return sql_type == FLOAT8OID ? KILN_DIRECT_FLOAT8 : KILN_DIRECT_NONE;
		case KILN_STRING:
			return sql_type == TEXTOID && GetDatabaseEncoding() == PG_UTF8 ? KILN_DIRECT_TEXT : KILN_DIRECT_NONE;
		default:
			return KILN_DIRECT_NONE;
	}
}

/* What a type modifier, or the lack of a function in field.c, asks for beyond that. */
static void
choose_fitted(KilnTarget *target)
{
	switch (target->sql_type)
	{
		case NAMEOID:
			target->run = run_name;
			return;
		case OIDOID:
			target->run = run_oid;
			return;
		default:
			break;
	}
	if (target->typmod < 0)
		return;
	switch (target->sql_type)
	{
		case NUMERICOID:
			target->run = run_numeric;
			break;
		case VARCHAROID:
			target->run = run_varchar;
			break;
		case BPCHAROID:
			target->run = run_bpchar;
			break;
		case TIMESTAMPOID:
			target->run = run_timestamp;
			break;
		case TIMESTAMPTZOID:
			target->run = run_timestamptz;
			break;
		default:
			break;
	}
}

/* Types without a rule of their own: kiln itself, and what an input function makes of a string. */
static bool
choose_input(KilnTarget *target)
{
	uint8		kind = target->type->kind;
	Oid			function;

	if (target->sql_type != UNKNOWNOID && get_typtype(target->sql_type) == TYPTYPE_PSEUDO)
		return false;
	if (kiln_is_kiln_type(target->sql_type))
	{
		target->run = run_kiln;
		return true;
	}
	if (kind != KILN_STRING && kind != KILN_ENUM && kind != KILN_JSON)
		return false;
	if (type_is_rowtype(target->sql_type))
		return false;
	getTypeInputInfo(target->sql_type, &function, &target->input_parameter);
	fmgr_info_cxt(function, &target->input, target->context);
	target->run = run_input;
	return true;
}

static bool
choose(KilnTarget *target)
{
	Oid			element_type = get_element_type(target->sql_type);

	/* these two are arrays of a shape of their own */
	if (target->sql_type == INT2VECTOROID || target->sql_type == OIDVECTOROID)
		element_type = InvalidOid;
	if (OidIsValid(element_type))
	{
		if (target->type->kind != KILN_LIST)
			return false;
		target->array = kiln_array_target_make(target->type, element_type, target->typmod, target->context);
		target->run = run_array;
		return true;
	}
	if (target->type->kind == KILN_STRUCT && type_is_rowtype(target->sql_type))
	{
		if (target->sql_type == RECORDOID && target->typmod < 0)
			return false;
		target->row = kiln_row_target_make(target->type, target->sql_type, target->typmod, target->context);
		target->run = run_row;
		return true;
	}
	if (!scalar_converts(target->type, target->sql_type))
		return false;
	if (choose_plain(target))
		target->direct = direct_conversion(target->type->kind, target->sql_type);
	choose_fitted(target);
	return target->run != NULL || choose_input(target);
}

KilnTarget *
kiln_target_make(const kiln_type *type, Oid sql_type, int32 typmod, MemoryContext context)
{
	KilnTarget *target = MemoryContextAllocZero(context, sizeof(KilnTarget));

	target->type = kiln_without_optional(type);
	target->context = context;
	target->typmod = typmod;
	target->sql_type = getBaseTypeAndTypmod(sql_type, &target->typmod);
	if (target->sql_type != sql_type)
	{
		target->base = kiln_target_make(type, target->sql_type, target->typmod, context);
		target->domain = sql_type;
		target->run = run_domain;
	}
	else if (!choose(target))
		kiln_report_cast(target->type, format_type_be(sql_type));
	return target;
}

/* ------------------------------------------------------------------ one field */

/* A tensor as an array of its shape; of a directory, the only one. */
static Datum
tensor_array(const KilnField *field, Oid array_type, bool *isnull)
{
	Oid			element_type = get_element_type(array_type);
	KilnTensorReader reader;
	Datum		directory;
	ArrayType  *array;

	if (kiln_dtype_of_type(element_type) == 0)
		kiln_report_cast(NULL, format_type_be(array_type));
	directory = kiln_tensor_field_kiln(field, isnull);
	if (*isnull)
		return (Datum) 0;
	kiln_tensor_open(&reader, directory, field->path->count > 0 ? field->path->steps[0].name : NULL,
					 field->path->count > 0 ? field->path->steps[0].length : 0);
	array = kiln_tensor_array(&reader, element_type);
	kiln_tensor_close(&reader);
	return PointerGetDatum(array);
}

/* A tensor directory, or a tensor of one, as an SQL value. */
static Datum
tensor_datum(const KilnField *field, Oid type, int32 typmod, bool *isnull)
{
	Oid			base = getBaseTypeAndTypmod(type, &typmod);
	Datum		value;

	if (base == TEXTOID)
		value = kiln_tensor_field_text(field, isnull);
	else if (base == JSONOID)
		value = kiln_tensor_field_json(field, isnull);
	else if (base == JSONBOID)
		value = kiln_tensor_field_jsonb(field, isnull);
	else if (kiln_is_kiln_type(base))
	{
		value = kiln_tensor_field_kiln(field, isnull);
		if (!*isnull)
			value = PointerGetDatum(kiln_coerce_frame((struct varlena *) DatumGetPointer(value), typmod, NULL));
	}
	else if (OidIsValid(get_element_type(base)))
		value = tensor_array(field, base, isnull);
	else
		kiln_report_cast(NULL, format_type_be(type));
	if (base != type)
		domain_check(value, *isnull, type, NULL, NULL);
	return value;
}

/* One conversion of a call site, as *cache holds it. */
typedef struct Conversion
{
	Oid			type;
	int32		typmod;
	KilnTarget *target;
} Conversion;

Datum
kiln_field_datum(const KilnField *field, Oid type, int32 typmod, void **cache, MemoryContext context, bool *isnull)
{
	Conversion *conversion = cache ? *cache : NULL;

	if (field->type == NULL)
		return tensor_datum(field, type, typmod, isnull);
	if (conversion == NULL || conversion->type != type || conversion->typmod != typmod ||
		conversion->target->type != field->type)
	{
		KilnTarget *target = kiln_target_make(field->type, type, typmod, context);

		conversion = MemoryContextAlloc(context, sizeof(Conversion));
		conversion->type = type;
		conversion->typmod = typmod;
		conversion->target = target;
		if (cache)
			*cache = conversion;
	}
	return kiln_target_run(conversion->target, field, isnull);
}
