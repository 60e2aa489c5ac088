/*
 * Accessors: kiln_get and its family, the operators -> ->> #> #>> and ?, and the casts from kiln to scalars.
 *
 * Each is a line over kiln_access() and one kiln_field_… function. A tensor directory has its tensors as fields.
 */
#include "kiln_access.h"

#include "utils/array.h"
#include "utils/date.h"

#include "kiln_tensor.h"

/* Find a field by the function's second argument and convert it. */
#define GETTER_BODY(form, convert) \
	{ \
		KilnField	field; \
		bool		isnull = false; \
		Datum		result; \
		\
		if (!kiln_access(fcinfo, form, &field)) \
			PG_RETURN_NULL(); \
		result = convert(&field, &isnull); \
		if (isnull) \
			PG_RETURN_NULL(); \
		PG_RETURN_DATUM(result); \
	}

/* A function that does that. */
#define KILN_GETTER(name, form, convert) \
	PG_FUNCTION_INFO_V1(name); \
	Datum \
	name(PG_FUNCTION_ARGS) \
	GETTER_BODY(form, convert) \
	extern int	no_such_variable

/* The text of a field: of a tensor, its JSON. */
Datum
kiln_part_text(const KilnField *field, bool *isnull)
{
	return field->type ? kiln_field_text(field, isnull) : kiln_tensor_field_text(field, isnull);
}

/* A field as a kiln value: of a directory, the directory of that tensor alone. */
Datum
kiln_part_kiln(const KilnField *field, bool *isnull)
{
	if (field->type == NULL)
		return kiln_tensor_field_kiln(field, isnull);
	if (field->kind == KILN_FRAME_UNVERIFIED)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("cannot take a part out of an unverified kiln value"),
				 errdetail("The value came in binary before its definition was registered."),
				 errhint("Read it with kiln_get(), or store it again to have it verified.")));
	return kiln_field_kiln(field, isnull);
}

static Datum
get_json(const KilnField *field, bool *isnull)
{
	return field->type ? kiln_field_json(field, isnull) : kiln_tensor_field_json(field, isnull);
}

static Datum
get_jsonb(const KilnField *field, bool *isnull)
{
	return field->type ? kiln_field_jsonb(field, isnull) : kiln_tensor_field_jsonb(field, isnull);
}

/*
 * The same for a type that many fields of a fixed width, or strings, have: cases are FAST_CASEs for the kinds that
 * need no thought, the likeliest first.
 */
#define KILN_FAST_GETTER(name, form, convert, cases) \
	PG_FUNCTION_INFO_V1(name); \
	static Datum name##_slow(FunctionCallInfo fcinfo); \
	Datum \
	name(PG_FUNCTION_ARGS) \
	{ \
		const KilnFastPlace *place; \
		const uint8_t *end; \
		const uint8_t *frame = kiln_fast_frame(fcinfo, &place, &end); \
		const uint8_t *p; \
		\
		if (likely(frame != NULL)) \
		{ \
			cases \
		} \
		return name##_slow(fcinfo); \
	} \
	static pg_noinline Datum \
	name##_slow(FunctionCallInfo fcinfo) \
	GETTER_BODY(form, convert) \
	extern int	no_such_variable

/* A kind whose value takes width bytes from p on; a statement that does not return leaves the value to the slow way. */
#define FAST_CASE(wanted, width, statement) \
	if (place->kind == (wanted)) \
	{ \
		p = kiln_fast_fixed(place, frame, end, width); \
		statement; \
	} \
	else if (place->kind == ((wanted) | KILN_BEHIND_SPANS)) \
	{ \
		p = kiln_fast_behind(place, frame, end); \
		statement; \
	}

#define FAST_STRING \
	FAST_CASE(KILN_STRING, 4, return fast_text(p, end))

/* The text of a span. */
static Datum
fast_text(const uint8_t *p, const uint8_t *end)
{
	uint32_t	length;
	const uint8_t *data = kiln_fast_span(p, end, &length);

	return kiln_utf8_to_text_datum(data, length);
}

/* kiln_get(kiln, text) and its typed family. */
KILN_FAST_GETTER(kiln_get, KILN_PATH_TEXT, kiln_part_text, FAST_STRING);
KILN_FAST_GETTER(kiln_get_text, KILN_PATH_TEXT, kiln_part_text, FAST_STRING);
KILN_FAST_GETTER(kiln_get_bool, KILN_PATH_TEXT, kiln_field_bool,
				 FAST_CASE(KILN_BOOL, 1, PG_RETURN_BOOL(*p != 0)));
KILN_FAST_GETTER(kiln_get_int2, KILN_PATH_TEXT, kiln_field_int2,
				 FAST_CASE(KILN_I16, 2, PG_RETURN_INT16((int16) kiln_load_u16(p))));
KILN_FAST_GETTER(kiln_get_int4, KILN_PATH_TEXT, kiln_field_int4,
				 FAST_CASE(KILN_I32, 4, PG_RETURN_INT32((int32) kiln_load_u32(p)))
				 FAST_CASE(KILN_I16, 2, PG_RETURN_INT32((int16) kiln_load_u16(p))));
KILN_FAST_GETTER(kiln_get_int8, KILN_PATH_TEXT, kiln_field_int8,
				 FAST_CASE(KILN_I64, 8, PG_RETURN_INT64((int64) kiln_load_u64(p)))
				 FAST_CASE(KILN_I32, 4, PG_RETURN_INT64((int32) kiln_load_u32(p)))
				 FAST_CASE(KILN_U32, 4, PG_RETURN_INT64(kiln_load_u32(p))));
KILN_FAST_GETTER(kiln_get_float4, KILN_PATH_TEXT, kiln_field_float4,
				 FAST_CASE(KILN_F32, 4, PG_RETURN_FLOAT4(kiln_load_f32(p))));
KILN_FAST_GETTER(kiln_get_float8, KILN_PATH_TEXT, kiln_field_float8,
				 FAST_CASE(KILN_F64, 8, PG_RETURN_FLOAT8(kiln_load_f64(p)))
				 FAST_CASE(KILN_F32, 4, PG_RETURN_FLOAT8((float8) kiln_load_f32(p))));
KILN_FAST_GETTER(kiln_get_date, KILN_PATH_TEXT, kiln_field_date,
				 FAST_CASE(KILN_DATE, 4, if (kiln_date_valid((int32) kiln_load_u32(p)))
						   PG_RETURN_DATEADT((int32) kiln_load_u32(p))));
KILN_FAST_GETTER(kiln_get_timestamptz, KILN_PATH_TEXT, kiln_field_timestamptz,
				 FAST_CASE(KILN_TIMESTAMPTZ, 8, if (kiln_timestamp_valid((int64) kiln_load_u64(p)))
						   PG_RETURN_INT64((int64) kiln_load_u64(p))));

KILN_GETTER(kiln_get_numeric, KILN_PATH_TEXT, kiln_field_numeric);
KILN_GETTER(kiln_get_bytea, KILN_PATH_TEXT, kiln_field_bytea);
KILN_GETTER(kiln_get_uuid, KILN_PATH_TEXT, kiln_field_uuid);
KILN_GETTER(kiln_get_timestamp, KILN_PATH_TEXT, kiln_field_timestamp);
KILN_GETTER(kiln_get_json, KILN_PATH_TEXT, get_json);
KILN_GETTER(kiln_get_jsonb, KILN_PATH_TEXT, get_jsonb);
KILN_GETTER(kiln_get_kiln, KILN_PATH_TEXT, kiln_part_kiln);

/* Operators: -> and ->> by key, by position, #> and #>> by keys. */
KILN_GETTER(kiln_object_field, KILN_PATH_KEY, kiln_part_kiln);
KILN_FAST_GETTER(kiln_object_field_text, KILN_PATH_KEY, kiln_part_text, FAST_STRING);
KILN_GETTER(kiln_list_element, KILN_PATH_POSITION, kiln_part_kiln);
KILN_GETTER(kiln_list_element_text, KILN_PATH_POSITION, kiln_part_text);

/* Casts: the whole value. */
KILN_GETTER(kiln_to_bool, KILN_PATH_WHOLE, kiln_field_bool);
KILN_GETTER(kiln_to_int2, KILN_PATH_WHOLE, kiln_field_int2);
KILN_GETTER(kiln_to_int4, KILN_PATH_WHOLE, kiln_field_int4);
KILN_GETTER(kiln_to_int8, KILN_PATH_WHOLE, kiln_field_int8);
KILN_GETTER(kiln_to_float4, KILN_PATH_WHOLE, kiln_field_float4);
KILN_GETTER(kiln_to_float8, KILN_PATH_WHOLE, kiln_field_float8);
KILN_GETTER(kiln_to_numeric, KILN_PATH_WHOLE, kiln_field_numeric);
KILN_GETTER(kiln_to_bytea, KILN_PATH_WHOLE, kiln_field_bytea);
KILN_GETTER(kiln_to_uuid, KILN_PATH_WHOLE, kiln_field_uuid);
KILN_GETTER(kiln_to_date, KILN_PATH_WHOLE, kiln_field_date);
KILN_GETTER(kiln_to_timestamp, KILN_PATH_WHOLE, kiln_field_timestamp);
KILN_GETTER(kiln_to_timestamptz, KILN_PATH_WHOLE, kiln_field_timestamptz);
KILN_GETTER(kiln_to_json, KILN_PATH_WHOLE, get_json);
KILN_GETTER(kiln_to_jsonb, KILN_PATH_WHOLE, get_jsonb);

PG_FUNCTION_INFO_V1(kiln_exists);

/* kiln ? text: is the field present and not null? */
Datum
kiln_exists(PG_FUNCTION_ARGS)
{
	KilnField	field;
	bool		isnull = false;

	if (!kiln_access(fcinfo, KILN_PATH_KEY, &field))
		PG_RETURN_BOOL(false);
	if (field.type == NULL)
		PG_RETURN_BOOL(kiln_tensor_field_exists(&field));
	if (field.type->kind == KILN_JSON)
		(void) kiln_field_text(&field, &isnull);
	PG_RETURN_BOOL(!isnull);
}

/*
 * #> and #>>: as jsonb's, an array of literal steps; a NULL among them is NULL.
 */
static Datum
get_by_keys(FunctionCallInfo fcinfo, Datum (*convert) (const KilnField *, bool *))
{
	KilnField	field;
	bool		isnull = false;
	Datum		result;

	if (array_contains_nulls(PG_GETARG_ARRAYTYPE_P(1)) || !kiln_access(fcinfo, KILN_PATH_KEYS, &field))
		PG_RETURN_NULL();
	result = convert(&field, &isnull);
	if (isnull)
		PG_RETURN_NULL();
	PG_RETURN_DATUM(result);
}

PG_FUNCTION_INFO_V1(kiln_extract_path);
PG_FUNCTION_INFO_V1(kiln_extract_path_text);

/* kiln #> text[] */
Datum
kiln_extract_path(PG_FUNCTION_ARGS)
{
	return get_by_keys(fcinfo, kiln_part_kiln);
}

/* kiln #>> text[] */
Datum
kiln_extract_path_text(PG_FUNCTION_ARGS)
{
	return get_by_keys(fcinfo, kiln_part_text);
}

PG_FUNCTION_INFO_V1(kiln_get_as);

/* kiln_get(kiln, text, anyelement): the field as the type of the third argument, whose value does not matter. */
Datum
kiln_get_as(PG_FUNCTION_ARGS)
{
	KilnField	field;
	Oid			type = get_fn_expr_argtype(fcinfo->flinfo, 2);
	void	  **cache = NULL;
	MemoryContext context = CurrentMemoryContext;
	bool		isnull = false;
	Datum		result;

	if (PG_ARGISNULL(0) || PG_ARGISNULL(1))
		PG_RETURN_NULL();
	if (!OidIsValid(type))
		ereport(ERROR,
				(errcode(ERRCODE_INDETERMINATE_DATATYPE),
				 errmsg("could not determine the type that kiln_get is to return")));
	if (!kiln_access(fcinfo, KILN_PATH_TEXT, &field))
		PG_RETURN_NULL();
	if (field.type)
		cache = kiln_access_cache(fcinfo, &context);
	result = kiln_field_datum(&field, type, -1, cache, context, &isnull);
	if (isnull)
		PG_RETURN_NULL();
	PG_RETURN_DATUM(result);
}
