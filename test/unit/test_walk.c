/*
 * Skips and the walk: on valid payloads all agree on where a value ends and the walk tells the whole value; on any
 * others the held ones stay inside (which the sanitisers watch, as every payload ends where its memory ends).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>

#include "internal.h"
#include "json_check.h"
#include "jsonl.h"

static kiln_schema *
parse(const char *text, size_t length)
{
	kiln_parse_options options = {.stored = true, .json = &json_checker};
	kiln_schema *schema;

	assert_true(kiln_schema_parse(text, length, &options, &schema, NULL));
	return schema;
}

static uint8_t *
exact_copy(const uint8_t *bytes, size_t n)
{
	uint8_t    *copy = malloc(n != 0 ? n : 1);

	assert_non_null(copy);
	memcpy(copy, bytes, n);
	return copy;
}

/* ------------------------------------------------------------------ a visitor that writes the payload anew */

typedef struct rebuilder
{
	uint8_t    *out;
	size_t		n;
	size_t		room;
	bool		tagged;			/* the next part is an optional's */
	long		parts_left;		/* visit so many parts, then refuse */
} rebuilder;

static bool
put(rebuilder *re, const void *bytes, size_t n)
{
	assert_in_range(n, 0, re->room - re->n);
	if (n != 0)
		memcpy(re->out + re->n, bytes, n);
	re->n += n;
	return true;
}

static bool
put_u32(rebuilder *re, uint32_t v)
{
	uint8_t		bytes[4];

	kiln_store_u32(bytes, v);
	return put(re, bytes, 4);
}

/* A part begins: its tag, if it is an optional's. */
static bool
part(rebuilder *re, uint8_t tag)
{
	assert_int_not_equal(re->parts_left, -1);
	if (re->parts_left-- == 0)
		return false;
	if (re->tagged)
		put(re, &tag, 1);
	re->tagged = false;
	return true;
}

static bool
on_begin_struct(void *context, const kiln_type *type)
{
	assert_int_equal(type->kind, KILN_STRUCT);
	return part(context, 1);
}

static bool
on_field(void *context, const kiln_type *type, uint32_t index)
{
	rebuilder  *re = context;

	assert_in_range(index, 0, type->count - 1);
	assert_false(re->tagged);
	re->tagged = type->fields[index].type->kind == KILN_OPTIONAL;
	return true;
}

static bool
on_end(void *context, const kiln_type *type)
{
	(void) type;
	assert_false(((rebuilder *) context)->tagged);
	return true;
}

static bool
on_begin_many(void *context, const kiln_type *type, uint32_t count)
{
	assert_true(type->kind == KILN_LIST || type->kind == KILN_DICT);
	return part(context, 1) && put_u32(context, count);
}

static bool
on_element(void *context, const kiln_type *type, uint32_t index)
{
	rebuilder  *re = context;

	(void) index;
	assert_false(re->tagged);
	re->tagged = type->element->kind == KILN_OPTIONAL;
	return true;
}

static bool
on_key(void *context, const kiln_type *type, const uint8_t *key, uint32_t length)
{
	put_u32(context, length);
	put(context, key, length);
	return on_element(context, type, 0);
}

static bool
on_absent(void *context, const kiln_type *type)
{
	assert_int_equal(type->kind, KILN_OPTIONAL);
	assert_true(((rebuilder *) context)->tagged);
	return part(context, 0);
}

static bool
on_scalar(void *context, const kiln_type *type, const uint8_t *data, uint32_t length)
{
	if (!part(context, 1))
		return false;
	if (kiln_kind_is_span(type->kind))
		put_u32(context, length);
	else
		assert_int_equal(length, type->width);
	if (type->kind == KILN_BOOL)
		assert_in_range(data[0], 0, 1);
	if (type->kind == KILN_ENUM)
		assert_in_range(kiln_load_u16(data), 0, type->count - 1);
	return put(context, data, length);
}

static const kiln_visitor rebuild = {
	.begin_struct = on_begin_struct, .field = on_field, .end_struct = on_end,
	.begin_list = on_begin_many, .element = on_element, .end_list = on_end,
	.begin_dict = on_begin_many, .key = on_key, .end_dict = on_end,
	.absent = on_absent, .scalar = on_scalar
};

/* ------------------------------------------------------------------ valid payloads */

/* All ways over a valid value agree, and the walk tells it byte for byte. Returns the number of its parts. */
static long
agree(const kiln_type *type, const uint8_t *bytes, size_t n)
{
	uint8_t    *payload = exact_copy(bytes, n);
	rebuilder	re = {.out = malloc(n), .room = n, .parts_left = 100000000};
	kiln_held	held = {payload, n, NULL};
	kiln_reader reader;
	size_t		used = 0;
	static const kiln_visitor nobody;

	assert_non_null(re.out);
	assert_ptr_equal(kiln_view_skip(type, payload), payload + n);
	kiln_reader_init(&reader, payload, n);
	assert_true(kiln_reader_skip(&reader, type));
	assert_int_equal(kiln_reader_left(&reader), 0);
	if (n >= KILN_HELD_LEAST)
		assert_int_equal(kiln_held_skip(&held, type, 0), n);
	assert_true(kiln_walk(type, payload, n, NULL, &rebuild, &re, &used));
	assert_int_equal(used, n);
	assert_int_equal(re.n, n);
	assert_memory_equal(re.out, bytes, n);
	assert_true(kiln_walk(type, payload, n, NULL, &nobody, NULL, NULL));
	free(re.out);
	free(payload);
	return 100000000 - re.parts_left;
}

/* Bytes behind a value do not change where it ends, and a value short of its end is noticed by the reader. */
static void
with_company(const kiln_type *type, const uint8_t *bytes, size_t n)
{
	uint8_t    *longer = malloc(n + 24);
	kiln_held	held = {longer, n + 24, NULL};
	kiln_reader reader;
	size_t		used;

	assert_non_null(longer);
	memset(longer, 0xff, n + 24);
	memcpy(longer + 3, bytes, n);
	assert_int_equal(kiln_held_skip(&held, type, 3), n + 3);
	assert_ptr_equal(kiln_view_skip(type, longer + 3), longer + 3 + n);
	kiln_reader_init(&reader, longer + 3, n + 21);
	assert_true(kiln_reader_skip(&reader, type));
	assert_int_equal(kiln_reader_left(&reader), 21);
	kiln_reader_init(&reader, longer + 3, n - 1);
	assert_false(kiln_reader_skip(&reader, type));
	assert_true(reader.failed);
	assert_true(kiln_walk(type, longer + 3, n + 21, NULL, &(kiln_visitor){.scalar = NULL}, NULL, &used));
	assert_int_equal(used, n);
	free(longer);
}

/* A visitor that says no at part k ends the walk there. */
static void
refusals(const kiln_type *type, const uint8_t *payload, size_t n, long parts)
{
	uint8_t    *out = malloc(n);

	for (long k = 0; k < parts && k < 50; k++)
	{
		rebuilder	re = {.out = out, .room = n, .parts_left = k};

		assert_false(kiln_walk(type, payload, n, NULL, &rebuild, &re, NULL));
		assert_int_equal(re.parts_left, -1);
	}
	free(out);
}

static void
valid_payloads(void **state)
{
	jsonl		row;
	int			rows = 0;

	(void) state;
	assert_true(jsonl_open(&row, "payloads.jsonl"));
	while (jsonl_next(&row))
	{
		uint8_t    *text;
		uint8_t    *payload;
		size_t		length = jsonl_hex(&row, "definition_hex", &text);
		size_t		n = jsonl_hex(&row, "payload", &payload);
		kiln_schema *schema;

		if (n == SIZE_MAX)
			continue;
		rows++;
		schema = parse((const char *) text, length);
		refusals(schema->root, payload, n, agree(schema->root, payload, n));
		with_company(schema->root, payload, n);
		kiln_schema_free(schema);
	}
	jsonl_close(&row);
	assert_in_range(rows, 500, 100000);
}

/* ------------------------------------------------------------------ other payloads */

static bool
bounded_scalar(void *context, const kiln_type *type, const uint8_t *data, uint32_t length)
{
	uint64_t   *sum = context;

	if (type->kind == KILN_BOOL)
		assert_in_range(data[0], 0, 1);
	if (type->kind == KILN_ENUM)
		assert_in_range(kiln_load_u16(data), 0, type->count - 1);
	for (uint32_t i = 0; i < length; i++)
		*sum += data[i];
	return true;
}

static bool
bounded_key(void *context, const kiln_type *type, const uint8_t *key, uint32_t length)
{
	uint64_t   *sum = context;

	(void) type;
	for (uint32_t i = 0; i < length; i++)
		*sum += key[i];
	return true;
}

static void
stays_inside(const kiln_type *type, const uint8_t *bytes, size_t n)
{
	static const kiln_visitor toucher = {.scalar = bounded_scalar, .key = bounded_key};
	uint8_t    *payload = exact_copy(bytes, n);
	kiln_held	held = {payload, n, NULL};
	kiln_reader reader;
	uint64_t	sum = 0;
	size_t		used;
	bool		read;

	assert_true(kiln_walk(type, payload, n, NULL, &toucher, &sum, &used));
	assert_in_range(used, 0, n);
	kiln_reader_init(&reader, payload, n);
	read = kiln_reader_skip(&reader, type);
	assert_int_equal(read, !reader.failed);
	if (n >= KILN_HELD_LEAST)
		for (size_t pos = 0; pos <= n; pos += 1 + n / 8)
			assert_in_range(kiln_held_skip(&held, type, pos), pos, n);
	/* Where the reader finds no fault, the others end where it does. */
	if (read)
	{
		assert_int_equal(used, n - kiln_reader_left(&reader));
		assert_ptr_equal(kiln_view_skip(type, payload), reader.pos);
		if (n >= KILN_HELD_LEAST)
			assert_int_equal(kiln_held_skip(&held, type, 0), used);
	}
	free(payload);
}

#define SCHEMAS 64

/* Definitions of the vectors, one row in so many. */
static size_t
some_schemas(kiln_schema **schemas)
{
	jsonl		row;
	size_t		count = 0;
	int			seen = 0;

	assert_true(jsonl_open(&row, "payloads.jsonl"));
	while (jsonl_next(&row) && count < SCHEMAS)
	{
		uint8_t    *text;
		size_t		length = jsonl_hex(&row, "definition_hex", &text);

		if (seen++ % 8 == 1 || memchr(text, ',', length) != NULL)
			schemas[count++] = parse((const char *) text, length);
	}
	jsonl_close(&row);
	return count;
}

/* Every payload of the vectors, whole, cut and with bytes changed, under its own definition and under others. */
static void
wrong_payloads(void **state)
{
	kiln_schema *schemas[SCHEMAS];
	size_t		schema_count = some_schemas(schemas);
	uint64_t	seed = 0x6b696c6e;
	const char *const files[] = {"payloads.jsonl", "invalid_payloads.jsonl"};

	(void) state;
	for (int which = 0; which < 2; which++)
	{
		jsonl		row;

		assert_true(jsonl_open(&row, files[which]));
		while (jsonl_next(&row))
		{
			uint8_t    *text;
			uint8_t    *payload;
			size_t		length = jsonl_hex(&row, "definition_hex", &text);
			size_t		n = jsonl_hex(&row, "payload", &payload);
			kiln_schema *schema;

			if (n == SIZE_MAX || n > 1000)
				continue;
			schema = parse((const char *) text, length);
			stays_inside(schema->root, payload, n);
			for (int round = 0; round < 64 && n > 0; round++)
			{
				seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
				payload[(seed >> 32) % n] ^= (uint8_t) (seed >> 24 & 8 ? 0xff : seed >> 16);
				stays_inside(schema->root, payload, n - (seed >> 60 == 0 ? (seed >> 40) % n : 0));
				stays_inside(schemas[(seed >> 48) % schema_count]->root, payload, n);
			}
			kiln_schema_free(schema);
		}
		jsonl_close(&row);
	}
	for (size_t i = 0; i < schema_count; i++)
	{
		stays_inside(schemas[i]->root, (const uint8_t *) "", 0);
		kiln_schema_free(schemas[i]);
	}
}

/* A count that can't be: cut to what is left, and no more elements are told than bytes are there. */
static uint32_t told_count;
static uint32_t told_elements;

static bool
tell_list(void *context, const kiln_type *type, uint32_t count)
{
	(void) context;
	(void) type;
	told_count = count;
	return true;
}

static bool
tell_element(void *context, const kiln_type *type, uint32_t index)
{
	(void) context;
	(void) type;
	assert_int_equal(index, told_elements);
	told_elements++;
	return true;
}

static void
impossible_counts(void **state)
{
	static const kiln_visitor teller = {.begin_list = tell_list, .element = tell_element};
	kiln_schema *schema = parse("string[]", 8);
	uint8_t		payload[24];

	(void) state;
	memset(payload, 0xff, sizeof payload);
	told_elements = 0;
	assert_true(kiln_walk(schema->root, payload, sizeof payload, NULL, &teller, NULL, NULL));
	assert_int_equal(told_count, 5);
	assert_int_equal(told_elements, 1);	/* whose length takes all the rest */
	assert_int_equal(kiln_held_skip(&(kiln_held){payload, sizeof payload, NULL}, schema->root, 0), sizeof payload);
	assert_true(kiln_walk(schema->root, NULL, 0, NULL, &teller, NULL, NULL));
	assert_int_equal(told_count, 0);
	kiln_schema_free(schema);
}

static bool
tell_scalar(void *context, const kiln_type *type, const uint8_t *data, uint32_t length)
{
	*(uint64_t *) context = type->kind == KILN_BOOL || length == 2 ? data[0] : 99;
	return true;
}

/* Tags and bools are tested against zero, an enum's position is cut to the last label. */
static void
damaged_scalars(void **state)
{
	static const kiln_visitor teller = {.scalar = tell_scalar};
	kiln_schema *schema = parse("(s string?,a bool,e enum('x','y'))", 34);
	uint8_t		payload[20] = {0x80, 3, 0, 0, 0, 'a', 'b', 'c', 0x40, 0xff};
	kiln_held	held = {payload, sizeof payload, NULL};
	uint64_t	told = 99;
	size_t		used;

	(void) state;
	assert_int_equal(kiln_held_skip(&held, schema->root->fields[0].type, 0), 8);
	assert_int_equal(kiln_held_skip(&held, schema->root, 0), 11);
	assert_true(kiln_walk(schema->root->fields[1].type, payload + 8, 12, NULL, &teller, &told, &used));
	assert_int_equal(told, 1);
	assert_true(kiln_walk(schema->root->fields[2].type, payload + 9, 11, NULL, &teller, &told, &used));
	assert_int_equal(told, 1);
	assert_true(kiln_walk(schema->root, payload, sizeof payload, NULL, &teller, &told, &used));
	assert_int_equal(told, 1);
	assert_int_equal(used, 11);
	kiln_schema_free(schema);
}

/* ------------------------------------------------------------------ poll, strings */

static int	polls;

static void
count_poll(void)
{
	polls++;
}

static void
long_lists_poll(void **state)
{
	kiln_schema *schema = parse("string[]", 8);
	uint32_t	count = 100000;
	uint8_t    *payload = calloc(4 + 4 * (size_t) count, 1);
	kiln_held	held = {payload, 4 + 4 * (size_t) count, count_poll};

	(void) state;
	assert_non_null(payload);
	kiln_store_u32(payload, count);
	polls = 0;
	assert_int_equal(kiln_held_skip(&held, schema->root, 0), held.n);
	assert_in_range(polls, 4, 100);
	polls = 0;
	assert_true(kiln_walk(schema->root, payload, held.n, count_poll, &(kiln_visitor){.scalar = NULL}, NULL, NULL));
	assert_in_range(polls, 10, 1000);
	free(payload);
	kiln_schema_free(schema);
}

static void
reader_strings(void **state)
{
	static const uint8_t bytes[] = "\2\0\0\0\xc3\xa9\1\0\0\0\xc3";
	kiln_reader reader;
	uint32_t	length;
	const uint8_t *text;

	(void) state;
	kiln_reader_init(&reader, bytes, sizeof bytes - 1);
	text = kiln_reader_string(&reader, &length);
	assert_ptr_equal(text, bytes + 4);
	assert_int_equal(length, 2);
	assert_null(kiln_reader_string(&reader, &length));
	assert_int_equal(length, 0);
	assert_true(reader.failed);
	kiln_reader_init(&reader, (const uint8_t *) "\5\0\0\0abcd", 8);
	assert_null(kiln_reader_string(&reader, &length));
	assert_true(reader.failed);
	kiln_reader_init(&reader, (const uint8_t *) "\1\0\0\0\0", 5);
	assert_null(kiln_reader_string(&reader, &length));
	assert_true(reader.failed);
}

/* The reader refuses what decides where a value ends, bools among it, and stays failed. */
static void
reader_refusals(void **state)
{
	static const struct
	{
		const char *definition;
		const char *bytes;
		size_t		n;
	}			cases[] = {
		{"bool", "\2", 1}, {"i32?", "\2\0\0\0\0", 5}, {"bool[]", "\1\0\0\0\2", 5}, {"i32[]", "\2\0\0\0\0\0\0\0", 8},
		{"(a i8,b (c bool))", "\0\3", 2}, {"(a i8,b bool)[]", "\2\0\0\0\0\1\0\2", 8},
		{"dict<bool>", "\1\0\0\0\0\0\0\0\2", 9},
		{"dict<i8>", "\2\0\0\0\0\0\0\0\1", 9}, {"string", "\2\0\0\0a", 5}, {"(a bool,s string)", "\7\0\0\0\0", 5},
		{"u64", "1234567", 7}, {"(a bool?)[]", "\1\0\0\0\1\2", 6}
	};

	(void) state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
	{
		char		definition[64];
		kiln_schema *schema;
		kiln_reader reader;
		uint8_t    *exact = exact_copy((const uint8_t *) cases[i].bytes, cases[i].n);
		const kiln_type *type;

		/* An optional is no definition: it stands in a struct. */
		strcpy(definition, "(x ");
		strcat(definition, cases[i].definition);
		strcat(definition, ")");
		schema = parse(definition, strlen(definition));
		type = schema->root->fields[0].type;
		kiln_reader_init(&reader, exact, cases[i].n);
		if (kiln_reader_skip(&reader, type) || !reader.failed || kiln_reader_skip(&reader, type))
			fail_msg("%s", cases[i].definition);
		free(exact);
		kiln_schema_free(schema);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(valid_payloads), cmocka_unit_test(wrong_payloads), cmocka_unit_test(impossible_counts), cmocka_unit_test(damaged_scalars),
		cmocka_unit_test(long_lists_poll), cmocka_unit_test(reader_strings), cmocka_unit_test(reader_refusals)
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
