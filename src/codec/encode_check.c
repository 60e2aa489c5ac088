/*
 * Encoder: what a scalar must obey before it is stored.
 *
 * A source converts its values into the forms of kiln_scalar; that they are in range and well spelled is not taken
 * on its word. The rules are those of FORMAT 2, and so those of kiln_validate(), but asked of a value in hand
 * rather than of bytes in a payload: a fault has no offset here, and the caller adds the path.
 */
#include "internal.h"

static bool
check_signed(int64_t value, int64_t least, int64_t most, kiln_error *error)
{
	if (value < least || value > most)
		return kiln_fail(error, KILN_E_RANGE, 0, NULL);
	return true;
}

static bool
check_unsigned(uint64_t value, uint64_t most, kiln_error *error)
{
	if (value > most)
		return kiln_fail(error, KILN_E_RANGE, 0, NULL);
	return true;
}

static bool
check_utf8(const uint8_t *text, size_t length, kiln_error *error)
{
	bool		nul;

	if (kiln_utf8_prefix(text, length, &nul) < length)
		return kiln_fail(error, nul ? KILN_E_NUL : KILN_E_UTF8, 0, NULL);
	return true;
}

static bool
is_json_space(uint8_t c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* JSON text, from its first byte to its last. */
static bool
check_json(const uint8_t *text, size_t length, const kiln_json_check *json, kiln_error *error)
{
	if (!check_utf8(text, length, error))
		return false;
	if (length == 0)
		return kiln_fail(error, KILN_E_JSON, 0, "the text is empty");
	if (is_json_space(text[0]) || is_json_space(text[length - 1]))
		return kiln_fail(error, KILN_E_JSON, 0, "white space stands around the text");
	if (json != NULL && !json->check(json->context, text, length))
		return kiln_fail(error, KILN_E_JSON, 0, NULL);
	return true;
}

/* The content of a string, bytes, numeric or json value. json may be NULL: then any text passes for JSON. */
bool
kiln_span_check(uint8_t kind, const void *content, size_t length, const kiln_json_check *json, kiln_error *error)
{
	const uint8_t *data = (const uint8_t *) content;

#if SIZE_MAX > UINT32_MAX
	if (length > UINT32_MAX)
		return kiln_fail(error, KILN_E_SIZE, 0, "more than 4294967295 bytes");
#endif
	switch (kind)
	{
		case KILN_STRING:
			return check_utf8(data, length, error);
		case KILN_NUMERIC:
			if (!kiln_numeric_spelling(data, length))
				return kiln_fail(error, KILN_E_NUMERIC, 0, NULL);
			return true;
		case KILN_JSON:
			return check_json(data, length, json, error);
		default:
			return true;
	}
}

/* Does this scalar obey its type? */
bool
kiln_scalar_check(const kiln_type *type, const kiln_scalar *value, const kiln_json_check *json, kiln_error *error)
{
	switch (type->kind)
	{
		case KILN_I8:
			return check_signed(value->i64, INT8_MIN, INT8_MAX, error);
		case KILN_I16:
			return check_signed(value->i64, INT16_MIN, INT16_MAX, error);
		case KILN_I32:
			return check_signed(value->i64, INT32_MIN, INT32_MAX, error);
		case KILN_U8:
			return check_unsigned(value->u64, UINT8_MAX, error);
		case KILN_U16:
			return check_unsigned(value->u64, UINT16_MAX, error);
		case KILN_U32:
			return check_unsigned(value->u64, UINT32_MAX, error);
		case KILN_ENUM:
			if (value->u64 >= type->count)
				return kiln_fail(error, KILN_E_ENUM, 0, NULL);
			return true;
		case KILN_DATE:
			if (value->i64 < INT32_MIN || value->i64 > INT32_MAX || !kiln_date_valid((int32_t) value->i64))
				return kiln_fail(error, KILN_E_DATE, 0, NULL);
			return true;
		case KILN_TIMESTAMP:
		case KILN_TIMESTAMPTZ:
			if (!kiln_timestamp_valid(value->i64))
				return kiln_fail(error, KILN_E_TIMESTAMP, 0, NULL);
			return true;
		case KILN_STRING:
		case KILN_BYTES:
		case KILN_NUMERIC:
		case KILN_JSON:
			return kiln_span_check(type->kind, value->span.data, value->span.length, json, error);
		default:
			return true;		/* bool, i64, u64, f32, f64, uuid: all values */
	}
}
