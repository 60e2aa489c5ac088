/*
 * Validation: the one door for payloads (FORMAT 2).
 *
 * A recursive walk over the type, at most KILN_MAX_DEPTH deep. Each function takes the place of an item and returns
 * the place after it, or NULL when it has filled the error; a caller that gets NULL puts its own step in front of the
 * error's path and returns NULL in turn. Nothing is ever read at or after check->end.
 *
 * What makes it quick: a struct's run of fixed-width fields costs one bounds test, and only the places whose bits can be
 * wrong are looked at, all of them before anything is decided; a list of elements whose bits can't be wrong costs one
 * multiplication and one test; a string is first asked whether it is plain ASCII. All that has to do with errors stands in functions of its own.
 *
 * A fault's offset is where its item begins. A run that does not fit is therefore walked again field by field, which
 * finds the first field that is at fault.
 */
#include "internal.h"

#if defined(__GNUC__)
#define COLD	__attribute__((cold, noinline))
#define ALWAYS	inline __attribute__((always_inline))
#define likely(x) __builtin_expect((x) != 0, 1)
#define unlikely(x) __builtin_expect((x) != 0, 0)
#else
#define COLD
#define ALWAYS	inline
#define likely(x) (x)
#define unlikely(x) (x)
#endif

typedef struct kiln_check
{
	const uint8_t *start;
	const uint8_t *end;
	const kiln_json_check *json;
	kiln_error *error;
} kiln_check;

static const uint8_t *check_value(const kiln_check *check, const kiln_type *type, const uint8_t *p);
static const uint8_t *check_optional(const kiln_check *check, const kiln_type *type, const uint8_t *p);

static inline size_t
bytes_left(const kiln_check *check, const uint8_t *p)
{
	return (size_t) (check->end - p);
}

/* ------------------------------------------------------------------ errors */

static COLD const uint8_t *
fault(const kiln_check *check, kiln_code code, const uint8_t *at)
{
	kiln_fail(check->error, code, (size_t) (at - check->start), NULL);
	return NULL;
}

/* The same in a function that returns a bool; inline, so that the compiler knows what comes of it. */
static inline bool
refuse(const kiln_check *check, kiln_code code, const uint8_t *at)
{
	fault(check, code, at);
	return false;
}

static COLD const uint8_t *
fault_in_field(const kiln_check *check, const kiln_field *field)
{
	kiln_error_prepend_name(check->error, field->name, field->name_length);
	return NULL;
}

static inline bool
refuse_in_field(const kiln_check *check, const kiln_field *field)
{
	fault_in_field(check, field);
	return false;
}

static COLD const uint8_t *
fault_in_element(const kiln_check *check, uint64_t position)
{
	kiln_error_prepend_index(check->error, position);
	return NULL;
}

static COLD const uint8_t *
fault_in_pair(const kiln_check *check, const uint8_t *key, uint32_t length)
{
	kiln_error_prepend_name(check->error, (const char *) key, length);
	return NULL;
}

/* ------------------------------------------------------------------ strings and their kin */

/*
 * UTF-8 and NUL, for a string that is not plain ASCII. False if it has neither fault.
 */
static bool
text_fault(const kiln_check *check, const uint8_t *text, uint32_t length)
{
	bool		nul;
	size_t		good;

	if (length <= KILN_UTF8_SHORT && kiln_utf8_short(text, length))
		return false;
	good = kiln_utf8_prefix(text, length, &nul);
	if (good == length)
		return false;
	fault(check, nul ? KILN_E_NUL : KILN_E_UTF8, text + good);
	return true;
}

static inline bool
is_json_space(uint8_t c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/*
 * json text that is known to be UTF-8 without NUL. The rule about white space is the format's own; what JSON is, the
 * callback says.
 */
static bool
is_json(const kiln_check *check, const uint8_t *text, uint32_t length)
{
	if (length == 0 || is_json_space(text[0]) || is_json_space(text[length - 1]))
		return false;
	return check->json == NULL || check->json->check(check->json->context, text, length);
}

/* A numeric that is not well spelled may be no text at all, which is then the fault. */
static COLD const uint8_t *
numeric_fault(const kiln_check *check, const uint8_t *p, uint32_t length)
{
	return text_fault(check, p + 4, length) ? NULL : fault(check, KILN_E_NUMERIC, p);
}

/* numeric and json: p is at the length word, the length bytes behind it are there. */
static const uint8_t *
check_spelling(const kiln_check *check, uint8_t kind, const uint8_t *p, uint32_t length)
{
	const uint8_t *text = p + 4;

	if (kind == KILN_NUMERIC)
		return likely(kiln_numeric_spelling(text, length)) ? text + length : numeric_fault(check, p, length);
	if (!kiln_ascii(text, length) && text_fault(check, text, length))
		return NULL;
	return likely(is_json(check, text, length)) ? text + length : fault(check, KILN_E_JSON, p);
}

/* The length word of a span whose bytes are all there. Returns false when it has filled the error. */
static ALWAYS bool
check_length(const kiln_check *check, const uint8_t *p, uint32_t *length)
{
	size_t		left = bytes_left(check, p);

	if (unlikely(left < 4))
		return refuse(check, KILN_E_TRUNCATED, p);
	*length = kiln_load_u32(p);
	if (unlikely(*length > left - 4))
		return refuse(check, KILN_E_LENGTH, p);
	return true;
}

/* string: p is at the length word. */
static ALWAYS const uint8_t *
check_string(const kiln_check *check, const uint8_t *p)
{
	uint32_t	length;
	const uint8_t *text = p + 4;

	if (!check_length(check, p, &length))
		return NULL;
	if (!kiln_ascii_room(text, length, bytes_left(check, text)) && text_fault(check, text, length))
		return NULL;
	return text + length;
}

/* string, bytes, numeric, json: p is at the length word. */
static const uint8_t *
check_span(const kiln_check *check, uint8_t kind, const uint8_t *p)
{
	uint32_t	length;

	if (kind == KILN_STRING)
		return check_string(check, p);
	if (!check_length(check, p, &length))
		return NULL;
	return kind == KILN_BYTES ? p + 4 + length : check_spelling(check, kind, p, length);
}

/* ------------------------------------------------------------------ fixed width */

/*
 * The bits of a fixed-width value whose bytes are all there. Returns false when it has filled the error.
 */
static bool
check_bits(const kiln_check *check, const kiln_type *type, const uint8_t *p)
{
	switch (type->kind)
	{
		case KILN_BOOL:
			if (unlikely(*p > 1))
				return refuse(check, KILN_E_BOOL, p);
			return true;
		case KILN_ENUM:
			if (unlikely(kiln_load_u16(p) >= type->count))
				return refuse(check, KILN_E_ENUM, p);
			return true;
		case KILN_DATE:
			if (unlikely(!kiln_date_valid((int32_t) kiln_load_u32(p))))
				return refuse(check, KILN_E_DATE, p);
			return true;
		case KILN_TIMESTAMP:
		case KILN_TIMESTAMPTZ:
			if (unlikely(!kiln_timestamp_valid((int64_t) kiln_load_u64(p))))
				return refuse(check, KILN_E_TIMESTAMP, p);
			return true;
		case KILN_STRUCT:
			for (uint32_t i = 0; i < type->count; i++)
			{
				const kiln_field *field = &type->fields[i];

				if (!field->type->any_bits && !check_bits(check, field->type, p))
					return refuse_in_field(check, field);
				p += field->type->width;
			}
			return true;
		default:
			return true;
	}
}

/* ------------------------------------------------------------------ structs */

/* Fields one by one: the slow way, for a run that does not fit. */
static COLD const uint8_t *
check_fields(const kiln_check *check, const kiln_type *type, const kiln_step *step, const uint8_t *p)
{
	for (uint32_t i = step->first; i < (uint32_t) step->first + step->fields; i++)
	{
		p = check_value(check, type->fields[i].type, p);
		if (p == NULL)
			return fault_in_field(check, &type->fields[i]);
	}
	return p;
}

/*
 * Are the bits at a run's looks good? Where the fault is, nobody is told: the caller then asks the fields.
 */
static ALWAYS bool
looks_are_good(const kiln_step *step, const uint8_t *p)
{
	const kiln_look *look = step->looks;
	uint32_t	i;
	uint8_t		bools = 0;
	bool		bad = false;

	if (step->zero != 0 && unlikely((kiln_load_u64(p) & step->zero) != 0))
		return false;
	for (i = 0; i < step->bools; i++, look++)
		bools |= p[look->offset];
	for (; i < step->look_count; i++, look++)
	{
		const uint8_t *at = p + look->offset;

		if (look->kind == KILN_ENUM)
			bad |= kiln_load_u16(at) >= look->labels;
		else if (look->kind == KILN_DATE)
			bad |= !kiln_date_in_range((int32_t) kiln_load_u32(at));
		else
			bad |= !kiln_timestamp_in_range((int64_t) kiln_load_u64(at));
	}
	return bools <= 1 && !bad;
}

/* Bits of a run's fields, whose bytes are all there: finds the fault, if there is one. */
static COLD bool
check_run_fields(const kiln_check *check, const kiln_type *type, const kiln_step *step, const uint8_t *p)
{
	const kiln_field *field = &type->fields[step->first];
	const kiln_field *stop = field + step->fields;

	for (; field < stop; field++)
	{
		const kiln_type *part = field->type;

		if (!part->any_bits && !check_bits(check, part, p))
			return refuse_in_field(check, field);
		p += part->width;
	}
	return true;
}

static ALWAYS bool
check_run(const kiln_check *check, const kiln_type *type, const kiln_step *step, const uint8_t *p)
{
	if (step->check == KILN_CHECK_NONE)
		return true;
	if (step->check == KILN_CHECK_ZERO && likely((kiln_load_u64(p) & step->zero) == 0))
		return true;
	if (step->check == KILN_CHECK_LOOKS && looks_are_good(step, p))
		return true;
	return check_run_fields(check, type, step, p);
}

/* The body of check_struct(), also for the loop over a list of structs. */
static ALWAYS const uint8_t *
check_struct_inline(const kiln_check *check, const kiln_type *type, const uint8_t *p)
{
	const kiln_step *step = type->steps;
	const kiln_step *stop = step + type->step_count;

	for (; step < stop; step++)
	{
		const kiln_field *field;

		if (step->op == KILN_STEP_RUN)
		{
			if (unlikely(bytes_left(check, p) < step->width))
				return check_fields(check, type, step, p);
			if (unlikely(!check_run(check, type, step, p)))
				return NULL;
			p += step->width;
			continue;
		}
		field = &type->fields[step->first];
		if (step->kind == KILN_STRING)
			p = check_string(check, p);
		else if (step->op == KILN_STEP_SPAN)
			p = check_span(check, step->kind, p);
		else if (step->kind == KILN_OPTIONAL)
			p = check_optional(check, field->type, p);
		else
			p = check_value(check, field->type, p);
		if (unlikely(p == NULL))
			return fault_in_field(check, field);
	}
	return p;
}

static const uint8_t *
check_struct(const kiln_check *check, const kiln_type *type, const uint8_t *p)
{
	return check_struct_inline(check, type, p);
}

/* ------------------------------------------------------------------ optionals, lists, dicts */

static const uint8_t *
check_optional(const kiln_check *check, const kiln_type *type, const uint8_t *p)
{
	const uint8_t *value;
	const uint8_t *after;

	if (unlikely(p == check->end))
		return fault(check, KILN_E_TRUNCATED, p);
	value = p + 1;
	if (*p == 0)
		return value;
	if (unlikely(*p != 1))
		return fault(check, KILN_E_TAG, p);
	if (type->element->any_bits && bytes_left(check, value) >= type->element->width)
		return value + type->element->width;
	after = check_value(check, type->element, value);
	/* null in json? means absent and is spelled so. */
	if (type->element->kind == KILN_JSON && after != NULL && after - value == 8 && memcmp(value + 4, "null", 4) == 0)
		return fault(check, KILN_E_JSON, value);
	return after;
}

/*
 * The count word of a list or dict whose elements take at least least bytes each. Returns false when it has filled the
 * error.
 */
static inline bool
check_count(const kiln_check *check, const uint8_t *p, uint64_t least, uint32_t *count)
{
	size_t		left = bytes_left(check, p);

	if (unlikely(left < 4))
		return refuse(check, KILN_E_TRUNCATED, p);
	*count = kiln_load_u32(p);
	if (unlikely(*count * least > left - 4))
		return refuse(check, KILN_E_COUNT, p);
	return true;
}

static const uint8_t *
check_bools(const kiln_check *check, const uint8_t *p, uint32_t count)
{
	size_t		good = kiln_bool_prefix(p, count);

	if (good < count)
	{
		fault(check, KILN_E_BOOL, p + good);
		return fault_in_element(check, good);
	}
	return p + count;
}

/* Elements of fixed width whose bits may be wrong; the count has shown that their bytes are all there. */
static const uint8_t *
check_fixed_elements(const kiln_check *check, const kiln_type *element, const uint8_t *p, uint32_t count)
{
	bool		is_struct = element->kind == KILN_STRUCT;	/* of one run */

	for (uint32_t i = 0; i < count; i++)
	{
		if (!(is_struct ? check_run(check, element, element->steps, p) : check_bits(check, element, p)))
			return fault_in_element(check, i);
		p += element->width;
	}
	return p;
}

static const uint8_t *
check_structs(const kiln_check *check, const kiln_type *element, const uint8_t *p, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
	{
		p = check_struct_inline(check, element, p);
		if (unlikely(p == NULL))
			return fault_in_element(check, i);
	}
	return p;
}

static const uint8_t *
check_list(const kiln_check *check, const kiln_type *type, const uint8_t *p)
{
	const kiln_type *element = type->element;
	uint32_t	count;

	if (!check_count(check, p, element->least, &count))
		return NULL;
	p += 4;
	if (element->any_bits)
		return p + (size_t) count * element->width;
	if (element->kind == KILN_BOOL)
		return check_bools(check, p, count);
	if (element->width != 0)
		return check_fixed_elements(check, element, p, count);
	if (element->kind == KILN_STRUCT)
		return check_structs(check, element, p, count);
	for (uint32_t i = 0; i < count; i++)
	{
		p = check_value(check, element, p);
		if (unlikely(p == NULL))
			return fault_in_element(check, i);
	}
	return p;
}

static const uint8_t *
check_dict(const kiln_check *check, const kiln_type *type, const uint8_t *p)
{
	const uint8_t *before = NULL;
	uint32_t	before_length = 0;
	uint32_t	count;

	if (!check_count(check, p, UINT64_C(4) + type->element->least, &count))
		return NULL;
	p += 4;
	for (uint32_t i = 0; i < count; i++)
	{
		const uint8_t *value = check_span(check, KILN_STRING, p);
		const uint8_t *key;
		uint32_t	length;

		if (value == NULL)
			return NULL;
		key = p + 4;
		length = (uint32_t) (value - key);
		if (before != NULL && kiln_compare_bytes(before, before_length, key, length) >= 0)
			return fault(check, KILN_E_KEY, p);
		before = key;
		before_length = length;
		p = check_value(check, type->element, value);
		if (unlikely(p == NULL))
			return fault_in_pair(check, key, length);
	}
	return p;
}

/* ------------------------------------------------------------------ any value */

static const uint8_t *
check_value(const kiln_check *check, const kiln_type *type, const uint8_t *p)
{
	switch (type->kind)
	{
		case KILN_STRING:
		case KILN_BYTES:
		case KILN_NUMERIC:
		case KILN_JSON:
			return check_span(check, type->kind, p);
		case KILN_STRUCT:
			return check_struct(check, type, p);
		case KILN_OPTIONAL:
			return check_optional(check, type, p);
		case KILN_LIST:
			return check_list(check, type, p);
		case KILN_DICT:
			return check_dict(check, type, p);
		default:
			if (unlikely(bytes_left(check, p) < type->width))
				return fault(check, KILN_E_TRUNCATED, p);
			if (!type->any_bits && !check_bits(check, type, p))
				return NULL;
			return p + type->width;
	}
}

bool
kiln_validate(const kiln_type *type, const uint8_t *payload, size_t n, const kiln_json_check *json, kiln_error *error)
{
	static const uint8_t nothing[1];
	kiln_check	check;
	const uint8_t *p;

	if (payload == NULL)
		payload = nothing;		/* NULL stands for "failed" in all that follows */
	check.start = payload;
	check.end = payload + n;
	check.json = json;
	check.error = error;
	p = check_value(&check, type, payload);
	if (p != NULL && p != check.end)
		p = fault(&check, KILN_E_TRAILING, p);
	return p != NULL;
}
