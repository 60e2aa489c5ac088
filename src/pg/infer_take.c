/*
 * Documents taken into places.
 *
 * A value is looked at once. Numbers and strings are tried against the types that they may still be, and no others:
 * after the first string that is no date nothing looks for dates there.
 */
#include "kiln_infer.h"

#include <math.h>

#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"

#include "kiln_text.h"

static void take_value(KilnInferState *state, KilnPlace *place, const JsonbValue *value, int level);

/* ------------------------------------------------------------------ numbers */

/* The number as text: an integer of up to 18 digits, the usual one, without the codec's reader. */
static bool
short_integer(const char *text, size_t length, int64 *value)
{
	size_t		i = *text == '-';

	if (length == i || length > 18)
		return false;
	for (*value = 0; i < length; i++)
	{
		if (text[i] < '0' || text[i] > '9')
			return false;
		*value = *value * 10 + (text[i] - '0');
	}
	if (*text == '-')
		*value = -*value;
	return true;
}

/*
 * The whole number that text is, by value (1.0 is one): *value if it fits i64, else *large for u64; false if it is
 * none of them.
 */
static bool
whole_number(const char *text, size_t length, int64 *value, uint64 *large)
{
	kiln_scalar scalar;
	kiln_error	error;

	*large = 0;
	if (short_integer(text, length, value))
		return true;
	*value = 0;
	if (kiln_integer_in(KILN_I64, text, length, &scalar, &error))
		*value = scalar.i64;
	else if (kiln_integer_in(KILN_U64, text, length, &scalar, &error))
		*large = scalar.u64;
	else
		return false;
	return true;
}

static void
take_number(KilnPlace *place, Numeric number)
{
	const int64 exact = INT64CONST(1) << 53;	/* integers up to here are all f64's */
	char	   *text = DatumGetCString(DirectFunctionCall1(numeric_out, NumericGetDatum(number)));
	size_t		length = strlen(text);
	int64		value;
	uint64		large;
	double		size;
	kiln_error	error;

	if (whole_number(text, length, &value, &large))
	{
		if (value < 0)
			place->least = Min(place->least, value);
		else
			place->most = Max(place->most, Max((uint64) value, large));
		size = large ? (double) large : (double) value;
		if (place->f64 && (large || value < -exact || value > exact))
			place->f64 = kiln_infer_fits_f64(number, text);
	}
	else
	{
		place->whole = false;
		if (!kiln_f64_in(text, length, false, &size, &error))
			size = *text == '-' ? -INFINITY : INFINITY;
		if (place->f64)
			place->f64 = kiln_infer_fits_f64(number, text);
	}
	if (text[length - 1] == '0' && strchr(text, '.'))
		place->scaled++;
	place->low = Min(place->low, size);
	place->high = Max(place->high, size);
	pfree(text);
}

/* ------------------------------------------------------------------ strings */

/* A date or timestamp: is it read, and is it written as it stands? */
static void
try_time(uint8 kind, uint8 bit, const char *text, size_t length, uint8 *readable, uint8 *exact)
{
	const kiln_type type = {.kind = kind};
	uint8_t		data[8];
	char		again[KILN_PRINT_TIME];
	int64_t		value;
	kiln_error	error;

	if (kind == KILN_DATE ? !kiln_date_in(text, length, &value, &error)
		: !kiln_timestamp_in(text, length, kind == KILN_TIMESTAMPTZ, &value, &error))
		return;
	*readable |= bit;
	if (kind == KILN_DATE)
		kiln_store_u32(data, (uint32) value);
	else
		kiln_store_u64(data, (uint64) value);
	if (kiln_print_time(&type, data, again) && strlen(again) == length && memcmp(again, text, length) == 0)
		*exact |= bit;
}

static void
try_uuid(const char *text, size_t length, uint8 *readable, uint8 *exact)
{
	uint8_t		uuid[16];
	char		again[36];
	kiln_error	error;

	if (!kiln_uuid_in(text, length, uuid, &error))
		return;
	*readable |= KILN_WORD_UUID;
	if (length == sizeof again && kiln_print_uuid(uuid, again) && memcmp(again, text, length) == 0)
		*exact |= KILN_WORD_UUID;
}

static bool
is_infinite(const char *text, size_t length)
{
	return (length == 8 && memcmp(text, "infinity", 8) == 0) || (length == 9 && memcmp(text, "-infinity", 9) == 0);
}

static void
take_string(KilnPlace *place, const char *text, size_t length)
{
	uint8		readable = 0;
	uint8		exact = 0;

	kiln_extent_take(&place->bytes, length);
	if (place->readable == 0)
		return;
	if (is_infinite(text, length))
	{
		place->infinite++;
		place->exact &= KILN_WORD_TIMES;
		place->readable &= KILN_WORD_TIMES;
		return;
	}
	if ((place->readable & KILN_WORD_TIMES) && length >= 10 && length < KILN_PRINT_TIME &&
		text[0] >= '0' && text[0] <= '9')
	{
		if (place->readable & KILN_WORD_DATE)
			try_time(KILN_DATE, KILN_WORD_DATE, text, length, &readable, &exact);
		if (place->readable & KILN_WORD_TIMESTAMP)
			try_time(KILN_TIMESTAMP, KILN_WORD_TIMESTAMP, text, length, &readable, &exact);
		if (place->readable & KILN_WORD_TIMESTAMPTZ)
			try_time(KILN_TIMESTAMPTZ, KILN_WORD_TIMESTAMPTZ, text, length, &readable, &exact);
	}
	if ((place->readable & KILN_WORD_UUID) && length >= 32 && length <= 41)
		try_uuid(text, length, &readable, &exact);
	place->readable &= readable;
	place->exact &= exact;
}

/* ------------------------------------------------------------------ lists and objects */

static void
take_list(KilnInferState *state, KilnPlace *place, JsonbContainer *list, int level)
{
	JsonbIterator *iterator = JsonbIteratorInit(list);
	JsonbValue	value;

	kiln_extent_take(&place->elements, JsonContainerSize(list));
	(void) JsonbIteratorNext(&iterator, &value, true);
	while (JsonbIteratorNext(&iterator, &value, true) == WJB_ELEM)
	{
		take_value(state, kiln_place_element(state, place), &value, level + 1);
		CHECK_FOR_INTERRUPTS();
	}
}

/* The place of a key's value. A new key may make a dict of the object. */
static KilnPlace *
member_place(KilnInferState *state, KilnPlace *place, const char *key, size_t length)
{
	char		name[KILN_MAX_NAME + 1];
	size_t		name_length;
	bool		found;
	uint32		at;

	if (place->dict == KILN_DICT_NOT)
	{
		at = kiln_place_find(place, key, length, &found);
		if (found)
			return place->members[at].place;
		/* a key that normalisation changes would come back as another */
		if (!kiln_name_normalize(key, length, name, &name_length, NULL) || name_length != length ||
			memcmp(name, key, length) != 0)
			kiln_place_become_dict(state, place, KILN_DICT_NAME, key, Min(length, KILN_MAX_NAME + 1));
		else if (place->count == KILN_INFER_KEYS)
			kiln_place_become_dict(state, place, KILN_DICT_KEYS, NULL, 0);
		else if (state->places >= 2 * KILN_INFER_PLACES && place != state->root)
			kiln_place_become_dict(state, place, KILN_DICT_PLACES, NULL, 0);
		else
			return kiln_place_insert(state, place, at, key, length)->place;
	}
	return kiln_place_element(state, place);
}

static void
take_object(KilnInferState *state, KilnPlace *place, JsonbContainer *object, int level)
{
	JsonbIterator *iterator = JsonbIteratorInit(object);
	JsonbValue	key;
	JsonbValue	value;

	kiln_extent_take(&place->keys, JsonContainerSize(object));
	(void) JsonbIteratorNext(&iterator, &key, true);
	while (JsonbIteratorNext(&iterator, &key, true) == WJB_KEY)
	{
		size_t		length;
		const char *text = kiln_server_to_utf8(key.val.string.val, key.val.string.len, &length);

		(void) JsonbIteratorNext(&iterator, &value, true);
		take_value(state, member_place(state, place, text, length), &value, level + 1);
		CHECK_FOR_INTERRUPTS();
	}
}

/* ------------------------------------------------------------------ values */

static KilnSeenKind
kind_of(const JsonbValue *value)
{
	switch (value->type)
	{
		case jbvNull:
			return KILN_SEEN_NULL;
		case jbvBool:
			return KILN_SEEN_BOOL;
		case jbvNumeric:
			return KILN_SEEN_NUMBER;
		case jbvString:
			return KILN_SEEN_STRING;
		default:
			return JsonContainerIsObject(value->val.binary.data) ? KILN_SEEN_OBJECT : KILN_SEEN_LIST;
	}
}

/* A place that has come to be mixed keeps nothing below it: merging it with nothing gives that back. */
static void
forget_inside(KilnInferState *state, KilnPlace *place)
{
	KilnPlace  *nothing = kiln_place_new(state);

	if (place->element || place->count > 0)
		kiln_place_merge(state, place, nothing);
	kiln_place_free(state, nothing);
}

static void
take_value(KilnInferState *state, KilnPlace *place, const JsonbValue *value, int level)
{
	KilnSeenKind kind = kind_of(value);
	const char *text;
	size_t		length;

	check_stack_depth();
	if (place->seen[kind]++ == 0 && kiln_place_mixed(place))
		forget_inside(state, place);
	if (kiln_place_mixed(place))
		return;
	switch (kind)
	{
		case KILN_SEEN_NUMBER:
			take_number(place, value->val.numeric);
			break;
		case KILN_SEEN_STRING:
			text = kiln_server_to_utf8(value->val.string.val, value->val.string.len, &length);
			take_string(place, text, length);
			break;
		case KILN_SEEN_LIST:
		case KILN_SEEN_OBJECT:
			if (level >= KILN_MAX_DEPTH)
			{
				place->deep = true;
				forget_inside(state, place);
			}
			else if (kind == KILN_SEEN_LIST)
				take_list(state, place, value->val.binary.data, level);
			else
				take_object(state, place, value->val.binary.data, level);
			break;
		case KILN_SEEN_NULL:
		case KILN_SEEN_BOOL:
			break;
	}
}

void
kiln_infer_take(KilnInferState *state, Jsonb *document)
{
	JsonbValue	root;

	if (!JsonbExtractScalar(&document->root, &root))
	{
		root.type = jbvBinary;
		root.val.binary.data = &document->root;
		root.val.binary.len = VARSIZE(document) - VARHDRSZ;
	}
	take_value(state, state->root, &root, 0);
	kiln_infer_shrink(state);
}
