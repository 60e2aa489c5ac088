/*
 * Random payloads: see random.h. Definitions are in random_definition.c.
 *
 * Values are biased to where mistakes live: edges of ranges, empty and one-element lists, special floats,
 * characters on both sides of each UTF-8 length. A budget keeps nested lists from growing without bound: each
 * element spends one, and when it is gone lists are empty.
 */
#include "random.h"

#include <stdio.h>
#include <stdlib.h>

#define BUDGET	200

static void random_value(test_random *r, const kiln_type *type, int *budget, bool optional, test_bytes *out);

/* ------------------------------------------------------------------ numbers and bytes */

uint64_t
test_random_next(test_random *r)
{
	uint64_t	z = r->state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

uint32_t
test_random_below(test_random *r, uint32_t n)
{
	return (uint32_t) (((test_random_next(r) >> 32) * n) >> 32);
}

bool
test_random_once(test_random *r, uint32_t n)
{
	return test_random_below(r, n) == 0;
}

void
test_bytes_add(test_bytes *bytes, const void *data, size_t n)
{
	if (n == 0)
		return;
	if (n > bytes->capacity - bytes->length)
	{
		bytes->capacity = bytes->capacity * 2 > bytes->length + n ? bytes->capacity * 2 : bytes->length + n;
		bytes->data = realloc(bytes->data, bytes->capacity);
		if (bytes->data == NULL)
		{
			fprintf(stderr, "out of memory\n");
			abort();
		}
	}
	memcpy(bytes->data + bytes->length, data, n);
	bytes->length += n;
}

void
test_bytes_text(test_bytes *bytes, const char *text)
{
	test_bytes_add(bytes, text, strlen(text));
}

void
test_bytes_u8(test_bytes *bytes, uint8_t v)
{
	test_bytes_add(bytes, &v, 1);
}

void
test_bytes_u16(test_bytes *bytes, uint16_t v)
{
	test_bytes_u8(bytes, (uint8_t) v);
	test_bytes_u8(bytes, (uint8_t) (v >> 8));
}

void
test_bytes_u32(test_bytes *bytes, uint32_t v)
{
	test_bytes_u16(bytes, (uint16_t) v);
	test_bytes_u16(bytes, (uint16_t) (v >> 16));
}

void
test_bytes_u64(test_bytes *bytes, uint64_t v)
{
	test_bytes_u32(bytes, (uint32_t) v);
	test_bytes_u32(bytes, (uint32_t) (v >> 32));
}

void
test_bytes_free(test_bytes *bytes)
{
	free(bytes->data);
	memset(bytes, 0, sizeof *bytes);
}

/* A length word in front of what body holds; body is emptied. */
static void
add_span(test_bytes *out, test_bytes *body)
{
	test_bytes_u32(out, (uint32_t) body->length);
	test_bytes_add(out, body->data, body->length);
	test_bytes_free(body);
}

static bool
any_json(void *context, const uint8_t *text, size_t n)
{
	(void) context;
	(void) text;
	(void) n;
	return true;
}

const kiln_json_check test_json_any = {any_json, NULL};

/* ------------------------------------------------------------------ text */

static void
add_character(test_bytes *out, uint32_t c)
{
	if (c < 0x80)
		test_bytes_u8(out, (uint8_t) c);
	else if (c < 0x800)
	{
		test_bytes_u8(out, (uint8_t) (0xc0 | c >> 6));
		test_bytes_u8(out, (uint8_t) (0x80 | (c & 0x3f)));
	}
	else if (c < 0x10000)
	{
		test_bytes_u8(out, (uint8_t) (0xe0 | c >> 12));
		test_bytes_u8(out, (uint8_t) (0x80 | (c >> 6 & 0x3f)));
		test_bytes_u8(out, (uint8_t) (0x80 | (c & 0x3f)));
	}
	else
	{
		test_bytes_u8(out, (uint8_t) (0xf0 | c >> 18));
		test_bytes_u8(out, (uint8_t) (0x80 | (c >> 12 & 0x3f)));
		test_bytes_u8(out, (uint8_t) (0x80 | (c >> 6 & 0x3f)));
		test_bytes_u8(out, (uint8_t) (0x80 | (c & 0x3f)));
	}
}

/* Any code point but NUL and the surrogates, edges of the encoding's lengths often. */
static uint32_t
random_character(test_random *r)
{
	static const uint32_t edges[] = {0x01, 0x7f, 0x80, 0x7ff, 0x800, 0xd7ff, 0xe000, 0xfffd, 0xffff, 0x10000, 0x10ffff};

	switch (test_random_below(r, 12))
	{
		case 0:
			return edges[test_random_below(r, sizeof edges / sizeof edges[0])];
		case 1:
			return 0x80 + test_random_below(r, 0x780);
		case 2:
			return 0x800 + test_random_below(r, 0xd000);
		case 3:
			return 0x10000 + test_random_below(r, 0x100000);
		case 4:
			return (uint32_t) ".[]\"\\'/ "[test_random_below(r, 8)];
		default:
			return 'a' + test_random_below(r, 26);
	}
}

void
test_random_string(test_random *r, uint32_t characters, test_bytes *text)
{
	bool		ascii = !test_random_once(r, 3);

	while (characters-- > 0)
		add_character(text, ascii ? 0x20 + test_random_below(r, 0x5f) : random_character(r));
}

/* How many characters, bytes or elements: mostly few, now and then many. */
static uint32_t
random_count(test_random *r)
{
	switch (test_random_below(r, 16))
	{
		case 0:
		case 1:
			return 0;
		case 2:
			return test_random_below(r, 100);
		default:
			return test_random_below(r, 12);
	}
}

static void
add_digits(test_random *r, uint32_t n, test_bytes *out)
{
	while (n-- > 0)
		test_bytes_u8(out, (uint8_t) ('0' + test_random_below(r, 10)));
}

/* A numeric as FORMAT 2 spells it: a minus only before what is not zero. */
static void
random_numeric(test_random *r, test_bytes *out)
{
	static const char *const specials[] = {"NaN", "Infinity", "-Infinity", "0", "0.00", "-0.5", "10"};

	if (test_random_once(r, 6))
	{
		test_bytes_text(out, specials[test_random_below(r, sizeof specials / sizeof specials[0])]);
		return;
	}
	if (test_random_once(r, 3))
		test_bytes_text(out, "-");
	test_bytes_u8(out, (uint8_t) ('1' + test_random_below(r, 9)));
	add_digits(r, random_count(r), out);
	if (test_random_once(r, 2))
	{
		test_bytes_text(out, ".");
		add_digits(r, 1 + test_random_below(r, 9), out);
	}
}

/* JSON text without white space around it. */
static void
random_json(test_random *r, int depth, test_bytes *out)
{
	static const char *const simple[] = {
		"null", "true", "false", "0", "-1.50", "1e3", "\"\"", "\"a\\u00e9\\n\"", "[]", "{}"
	};
	uint32_t	n;

	if (depth == 0 || !test_random_once(r, 3))
	{
		test_bytes_text(out, simple[test_random_below(r, sizeof simple / sizeof simple[0])]);
		return;
	}
	n = 1 + test_random_below(r, 3);
	if (test_random_once(r, 2))
	{
		test_bytes_text(out, "[");
		while (n-- > 0)
		{
			random_json(r, depth - 1, out);
			test_bytes_text(out, n > 0 ? " , " : "");
		}
		test_bytes_text(out, "]");
		return;
	}
	test_bytes_text(out, "{");
	while (n-- > 0)
	{
		test_bytes_text(out, "\"k\" :");
		random_json(r, depth - 1, out);
		test_bytes_text(out, n > 0 ? "," : "\n");
	}
	test_bytes_text(out, "}");
}

/* ------------------------------------------------------------------ scalars */

/* In [least, most], the edges and what stands around zero often. */
static int64_t
random_between(test_random *r, int64_t least, int64_t most)
{
	uint64_t	span = (uint64_t) most - (uint64_t) least;
	uint64_t	ahead = test_random_next(r);

	switch (test_random_below(r, 8))
	{
		case 0:
			return least;
		case 1:
			return most;
		case 2:
			return (int64_t) test_random_below(r, 5) - 2;
		default:
			return (int64_t) ((uint64_t) least + (span == UINT64_MAX ? ahead : ahead % (span + 1)));
	}
}

static uint64_t
random_double_bits(test_random *r)
{
	static const uint64_t specials[] = {
		0, UINT64_C(1) << 63, UINT64_C(0x7ff0000000000000), UINT64_C(0xfff0000000000000),
		UINT64_C(0x7ff8000000000000), UINT64_C(0x7ff0000000000001), UINT64_C(0xffffffffffffffff), 1
	};

	return test_random_once(r, 3) ? specials[test_random_below(r, 8)] : test_random_next(r);
}

static uint32_t
random_float_bits(test_random *r)
{
	static const uint32_t specials[] = {0, 0x80000000, 0x7f800000, 0xff800000, 0x7fc00000, 0x7f800001, 0xffffffff, 1};

	return test_random_once(r, 3) ? specials[test_random_below(r, 8)] : (uint32_t) test_random_next(r);
}

static int32_t
random_date(test_random *r)
{
	if (test_random_once(r, 8))
		return test_random_once(r, 2) ? INT32_MIN : INT32_MAX;
	return (int32_t) random_between(r, -2451545, 2145031948);
}

static int64_t
random_timestamp(test_random *r)
{
	if (test_random_once(r, 8))
		return test_random_once(r, 2) ? INT64_MIN : INT64_MAX;
	return random_between(r, INT64_C(-211813488000000000), INT64_C(9223371331199999999));
}

/* A string, bytes, numeric or json value. optional: the value is in a json?, where null is no value. */
static void
random_span(test_random *r, uint8_t kind, bool optional, test_bytes *out)
{
	test_bytes	body = {0};
	uint32_t	n;

	switch (kind)
	{
		case KILN_STRING:
			test_random_string(r, random_count(r), &body);
			break;
		case KILN_BYTES:
			for (n = random_count(r); n > 0; n--)
				test_bytes_u8(&body, (uint8_t) test_random_next(r));
			break;
		case KILN_NUMERIC:
			random_numeric(r, &body);
			break;
		default:
			random_json(r, 3, &body);
			if (optional && body.length == 4 && memcmp(body.data, "null", 4) == 0)
			{
				body.length = 0;
				test_bytes_text(&body, "[null]");
			}
			break;
	}
	add_span(out, &body);
}

static void
random_scalar(test_random *r, const kiln_type *type, bool optional, test_bytes *out)
{
	switch (type->kind)
	{
		case KILN_BOOL:
			test_bytes_u8(out, (uint8_t) test_random_below(r, 2));
			break;
		case KILN_I8:
		case KILN_U8:
			test_bytes_u8(out, (uint8_t) random_between(r, INT8_MIN, INT8_MAX));
			break;
		case KILN_I16:
		case KILN_U16:
			test_bytes_u16(out, (uint16_t) random_between(r, INT16_MIN, INT16_MAX));
			break;
		case KILN_I32:
		case KILN_U32:
			test_bytes_u32(out, (uint32_t) random_between(r, INT32_MIN, INT32_MAX));
			break;
		case KILN_I64:
		case KILN_U64:
			test_bytes_u64(out, (uint64_t) random_between(r, INT64_MIN, INT64_MAX));
			break;
		case KILN_F32:
			test_bytes_u32(out, random_float_bits(r));
			break;
		case KILN_F64:
			test_bytes_u64(out, random_double_bits(r));
			break;
		case KILN_UUID:
			test_bytes_u64(out, test_random_next(r));
			test_bytes_u64(out, test_random_next(r));
			break;
		case KILN_DATE:
			test_bytes_u32(out, (uint32_t) random_date(r));
			break;
		case KILN_TIMESTAMP:
		case KILN_TIMESTAMPTZ:
			test_bytes_u64(out, (uint64_t) random_timestamp(r));
			break;
		case KILN_ENUM:
			test_bytes_u16(out, (uint16_t) test_random_below(r, type->count));
			break;
		default:
			random_span(r, type->kind, optional, out);
			break;
	}
}

/* ------------------------------------------------------------------ lists and dicts */

/* How many elements the budget allows, and pay for them. */
static uint32_t
spend(test_random *r, int *budget)
{
	uint32_t	n = random_count(r);

	if ((int) n > *budget)
		n = *budget > 0 ? (uint32_t) *budget : 0;
	*budget -= (int) n;
	return n;
}

static int
compare_keys(const void *left, const void *right)
{
	const test_bytes *a = left;
	const test_bytes *b = right;
	size_t		least = a->length < b->length ? a->length : b->length;
	int			order = least > 0 ? memcmp(a->data, b->data, least) : 0;

	if (order != 0)
		return order;
	return a->length < b->length ? -1 : a->length > b->length;
}

static void
random_dict(test_random *r, const kiln_type *type, int *budget, test_bytes *out)
{
	test_bytes	keys[100] = {{0}};
	uint32_t	n = spend(r, budget);
	uint32_t	unique = 0;
	uint32_t	i;
	size_t		count_at = out->length;

	for (i = 0; i < n; i++)
		test_random_string(r, test_random_below(r, 5), &keys[i]);
	qsort(keys, n, sizeof keys[0], compare_keys);
	test_bytes_u32(out, 0);
	for (i = 0; i < n; i++)
	{
		if (i > 0 && compare_keys(&keys[i - 1], &keys[i]) == 0)
			continue;
		test_bytes_u32(out, (uint32_t) keys[i].length);
		test_bytes_add(out, keys[i].data, keys[i].length);
		random_value(r, type->element, budget, false, out);
		unique++;
	}
	out->data[count_at] = (uint8_t) unique; /* below 100 */
	for (i = 0; i < n; i++)
		test_bytes_free(&keys[i]);
}

static void
random_value(test_random *r, const kiln_type *type, int *budget, bool optional, test_bytes *out)
{
	uint32_t	i;

	switch (type->kind)
	{
		case KILN_OPTIONAL:
			if (test_random_once(r, 2))
				test_bytes_u8(out, 0);
			else
			{
				test_bytes_u8(out, 1);
				random_value(r, type->element, budget, true, out);
			}
			break;
		case KILN_LIST:
			i = spend(r, budget);
			test_bytes_u32(out, i);
			while (i-- > 0)
				random_value(r, type->element, budget, false, out);
			break;
		case KILN_DICT:
			random_dict(r, type, budget, out);
			break;
		case KILN_STRUCT:
			for (i = 0; i < type->count; i++)
				random_value(r, type->fields[i].type, budget, false, out);
			break;
		default:
			random_scalar(r, type, optional, out);
			break;
	}
}

void
test_random_payload(test_random *r, const kiln_type *type, test_bytes *payload)
{
	int			budget = BUDGET;

	random_value(r, type, &budget, false, payload);
}
