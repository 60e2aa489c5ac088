/*
 * Differential test: everything that reads or writes a payload must agree about it.
 *
 * Random definitions and payloads come from test/support/random.c, which knows FORMAT 2 but none of the codec. For
 * each case the validator must accept the payload, encoding from a generic decode must reproduce it, all ways of
 * stepping over it must end at its end, and a random path must lead all four kinds of plan runs to the place that a
 * plain recursive walk, written here, finds. Damaged copies, each in a buffer of exactly its size, must be refused
 * or be read as what they have become; and held reads must stay inside them, which the sanitizers watch.
 *
 * KILN_CASES sets the number of cases (100,000), KILN_SEED the seed. After 60 seconds the test stops and says how
 * far it came.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <cmocka.h>

#include "kiln.h"
#include "payload_source.h"
#include "plain_walk.h"
#include "random.h"

#define CASES			100000
#define SEED			20000101
#define SECONDS			60
#define VALUES			20		/* of each definition */
#define PATHS			3		/* into each value */
#define DAMAGES			3		/* of each value */

/* The case at hand, for messages. */
static struct
{
	unsigned long number;
	const char *definition;
	const char *path;
	const uint8_t *payload;
	size_t		length;
}			now;

/* What the cases were, so that a test of nothing is seen. */
static struct
{
	unsigned long found;
	unsigned long absent;
	unsigned long refused;
	unsigned long still_valid;
	unsigned long bytes;
}			tally;

static void
show_case(const char *what)
{
	size_t		i;

	fprintf(stderr, "case %lu: %s\ndefinition %s\npath %s\npayload ", now.number, what, now.definition, now.path);
	for (i = 0; i < now.length && i < 2000; i++)
		fprintf(stderr, "%02x", now.payload[i]);
	fprintf(stderr, " (%zu bytes)\n", now.length);
}

#define CHECK(condition) \
	do { \
		if (!(condition)) \
		{ \
			show_case(#condition); \
			fail(); \
		} \
	} while (0)

/* A copy in memory of exactly its size, so that a read beyond it is seen. */
static uint8_t *
exact_copy(const uint8_t *data, size_t n)
{
	uint8_t    *copy = malloc(n != 0 ? n : 1);

	assert_non_null(copy);
	if (n != 0)
		memcpy(copy, data, n);
	return n != 0 ? copy : (copy + 1);
}

static void
exact_free(uint8_t *copy, size_t n)
{
	free(n != 0 ? copy : copy - 1);
}

/* ------------------------------------------------------------------ plan runs */

/* Make the window's part be [from, to), and a little more on either side, in memory of its own. */
static void
move_window(test_random *r, const uint8_t *payload, kiln_window *window, size_t from, size_t to)
{
	size_t		before = test_random_below(r, 20);
	size_t		after = test_random_below(r, 20);

	exact_free((uint8_t *) window->data, window->have);
	window->start = from > before ? from - before : 0;
	window->have = (window->total - to > after ? to + after : window->total) - window->start;
	window->data = exact_copy(payload + window->start, window->have);
}

/* A window run over small parts, and then the end of what it found. valid: the payload is, so that all must go well. */
static kiln_found
run_window(test_random *r, const kiln_plan *plan, const uint8_t *payload, size_t n, bool valid,
		   size_t *pos, size_t *end)
{
	kiln_window window = {0};
	kiln_found	found;
	unsigned	turns = 0;

	window.total = n;
	window.have = test_random_below(r, (uint32_t) (n < 40 ? n : 40) + 1);
	window.data = exact_copy(payload, window.have);
	while ((found = kiln_plan_run_window(plan, &window)) == KILN_NEED)
	{
		CHECK(window.need_from <= window.need_to && window.need_to <= n);
		CHECK(turns++ < 2 * n + 100);
		move_window(r, payload, &window, window.need_from, window.need_to);
	}
	*pos = window.pos;
	if (found == KILN_FOUND && plan->type->kind != KILN_JSON)
	{
		kiln_found	measured;

		window.step = 0;
		while ((measured = kiln_window_measure(plan->type, &window)) == KILN_NEED)
		{
			CHECK(window.need_from <= window.need_to && window.need_to <= n);
			CHECK(turns++ < 4 * n + 200);
			move_window(r, payload, &window, window.need_from, window.need_to);
		}
		CHECK(!valid || measured == KILN_FOUND);
		*end = window.need_to;
	}
	exact_free((uint8_t *) window.data, window.have);
	return found;
}

/* All four runs of the plan for a random path lead where a plain walk leads. */
static void
check_path(test_random *r, const kiln_type *root, const uint8_t *payload, size_t n)
{
	plain_place expected;
	kiln_path	path;
	kiln_plan	plan;
	kiln_error	error;
	kiln_held	held = {payload, n, NULL};
	kiln_found	outcome;
	size_t		at;
	size_t		pos = 0;
	size_t		end = 0;

	plain_random_place(r, root, payload, &expected);
	now.path = (const char *) expected.path.data;
	outcome = expected.at != NULL ? KILN_FOUND : KILN_ABSENT;
	at = expected.at != NULL ? (size_t) (expected.at - payload) : 0;
	*(expected.at != NULL ? &tally.found : &tally.absent) += 1;

	CHECK(kiln_path_parse((const char *) expected.path.data, expected.path.length, NULL, &path, &error));
	CHECK(kiln_plan_compile(root, &path, NULL, &plan, &error));
	CHECK(plan.type == expected.type);
	CHECK(!plan.constant || (outcome == KILN_FOUND && plan.offset == at));
	CHECK(kiln_plan_run(&plan, payload) == expected.at);
	if (n >= KILN_HELD_LEAST)
	{
		CHECK(kiln_plan_run_held(&plan, &held, &pos) == outcome);
		CHECK(outcome != KILN_FOUND || pos == at);
	}
	pos = SIZE_MAX;
	CHECK(kiln_plan_run_checked(&plan, payload, n, &pos, &error) == outcome);
	CHECK(outcome != KILN_FOUND || pos == at);
	CHECK(run_window(r, &plan, payload, n, true, &pos, &end) == outcome);
	CHECK(outcome != KILN_FOUND || pos == at);
	if (outcome == KILN_FOUND && expected.type->kind != KILN_JSON)
		CHECK(end == (size_t) (plain_end(expected.type, expected.at) - payload));

	kiln_plan_free(&plan);
	kiln_path_free(&path);
	test_bytes_free(&expected.path);
	now.path = "";
}

/* ------------------------------------------------------------------ whole values */

/* What a walk sees: the bytes of all scalars and keys are read, so that a stray pointer is noticed. */
typedef struct witness
{
	uint64_t	sum;
	uint64_t	parts;
} witness;

static bool
see_scalar(void *context, const kiln_type *type, const uint8_t *data, uint32_t length)
{
	witness    *seen = context;
	uint32_t	i;

	(void) type;
	for (i = 0; i < length; i++)
		seen->sum = seen->sum * 31 + data[i];
	seen->parts++;
	return true;
}

static bool
see_index(void *context, const kiln_type *type, uint32_t index)
{
	(void) type;
	(void) index;
	((witness *) context)->parts++;
	return true;
}

static const kiln_visitor visitor = {.scalar = see_scalar, .key = see_scalar, .element = see_index, .field = see_index};

/* Does encoding from a generic decode of a valid payload give the same bytes? */
static void
check_encode(test_random *r, const kiln_type *type, const uint8_t *payload, size_t n)
{
	payload_source source;
	kiln_node	root;
	kiln_writer writer;
	kiln_error	error;
	uint8_t    *buffer;
	size_t		length;

	payload_source_init(&source, payload, &root);
	source.packed = test_random_once(r, 2);
	source.missing = test_random_once(r, 2);
	kiln_writer_init(&writer, NULL, 0);
	writer.grow = kiln_writer_grow_malloc;
	writer.limit = n;
	CHECK(kiln_encode(type, &source.source, root, &writer, &error));
	buffer = kiln_writer_detach(&writer, &length);
	CHECK(length == n && memcmp(buffer, payload, n) == 0);
	free(buffer);

	/* one byte less than it takes: refused, and nothing is left behind */
	if (n > 0 && test_random_once(r, 4))
	{
		buffer = malloc(n);
		assert_non_null(buffer);
		kiln_writer_init(&writer, buffer, n - 1);
		payload_source_init(&source, payload, &root);
		CHECK(!kiln_encode(type, &source.source, root, &writer, &error));
		CHECK(error.code == KILN_E_SIZE && kiln_writer_length(&writer) == 0);
		free(buffer);
	}
}

/* Views, held reads, the checked reader, the walk and the plain walk all end at the end. */
static void
check_ends(const kiln_type *type, const uint8_t *payload, size_t n)
{
	kiln_held	held = {payload, n, NULL};
	kiln_reader reader;
	witness		seen = {0, 0};
	size_t		used = 0;

	CHECK(plain_end(type, payload) == payload + n);
	CHECK(kiln_view_skip(type, payload) == payload + n);
	if (n >= KILN_HELD_LEAST)
		CHECK(kiln_held_skip(&held, type, 0) == n);
	kiln_reader_init(&reader, payload, n);
	CHECK(kiln_reader_skip(&reader, type));
	CHECK(!reader.failed && kiln_reader_left(&reader) == 0);
	CHECK(kiln_walk(type, payload, n, NULL, &visitor, &seen, &used));
	CHECK(used == n);
}

/* ------------------------------------------------------------------ damage */

/* Reads of bytes that are not a value of the type: nothing is expected of them but to stay inside. */
static void
check_damaged_reads(test_random *r, const kiln_type *type, const uint8_t *payload, size_t n, const kiln_plan *plan)
{
	kiln_held	held = {payload, n, NULL};
	kiln_reader reader;
	kiln_error	error;
	witness		seen = {0, 0};
	size_t		used = 0;
	size_t		pos = 0;
	size_t		end = 0;

	kiln_walk(type, payload, n, NULL, &visitor, &seen, &used);
	CHECK(used <= n);
	kiln_reader_init(&reader, payload, n);
	kiln_reader_skip(&reader, type);
	if (kiln_plan_run_checked(plan, payload, n, &pos, &error) == KILN_FOUND)
		CHECK(pos <= n);
	if (n < KILN_HELD_LEAST)	/* what is so short is no matter for held reads, nor for windows */
		return;
	if (run_window(r, plan, payload, n, false, &pos, &end) == KILN_FOUND)
		CHECK(pos <= n && end <= n);
	CHECK(kiln_held_skip(&held, type, 0) <= n);
	pos = 0;
	if (kiln_plan_run_held(plan, &held, &pos) == KILN_FOUND)
		CHECK(pos <= n);
}

/* A copy with one byte changed, or cut short. */
static void
check_damage(test_random *r, const kiln_type *type, const uint8_t *payload, size_t n)
{
	size_t		length = test_random_once(r, 3) ? test_random_below(r, (uint32_t) n + 1) : n;
	uint8_t    *damaged = exact_copy(payload, length);
	plain_place where;
	kiln_path	path;
	kiln_plan	plan;
	kiln_error	error;

	if (length == n)
	{
		static const uint8_t favoured[] = {0x00, 0x01, 0x02, 0x7f, 0x80, 0xff};
		uint8_t    *byte = &damaged[test_random_below(r, (uint32_t) n)];

		if (test_random_once(r, 2))
			*byte = favoured[test_random_below(r, 6)];
		else
			*byte ^= (uint8_t) (1u << test_random_below(r, 8));
	}
	plain_random_place(r, type, payload, &where);
	now.path = (const char *) where.path.data;
	now.payload = damaged;
	now.length = length;
	CHECK(kiln_path_parse((const char *) where.path.data, where.path.length, NULL, &path, &error));
	CHECK(kiln_plan_compile(type, &path, NULL, &plan, &error));
	if (kiln_validate(type, damaged, length, &test_json_any, &error))
	{
		check_ends(type, damaged, length);
		check_encode(r, type, damaged, length);
		tally.still_valid++;
	}
	else
	{
		tally.refused++;
		CHECK(error.code != KILN_E_OK && error.offset <= length);
		check_damaged_reads(r, type, damaged, length, &plan);
	}
	kiln_plan_free(&plan);
	kiln_path_free(&path);
	test_bytes_free(&where.path);
	now.path = "";
	now.payload = payload;
	now.length = n;
	exact_free(damaged, length);
}

/* ------------------------------------------------------------------ the test */

/* The generator writes canonical text: the parser must print it back, and take it as a stored one. */
static kiln_schema *
parse_definition(const test_bytes *text)
{
	kiln_parse_options options = {0};
	kiln_schema *schema;
	kiln_schema *again;
	kiln_error	error;

	options.json = &test_json_any;
	if (!kiln_schema_parse((const char *) text->data, text->length, &options, &schema, &error))
	{
		fprintf(stderr, "%zu %s %s\n", error.offset, kiln_error_text(error.code), error.detail);
		CHECK(!"the definition is refused");
	}
	CHECK(schema->text_length == text->length && memcmp(schema->text, text->data, text->length) == 0);
	options.stored = true;
	CHECK(kiln_schema_parse(schema->text, schema->text_length, &options, &again, &error));
	CHECK(again->text_length == text->length && memcmp(again->text, text->data, text->length) == 0);
	CHECK(again->hash == schema->hash && schema->hash == kiln_hash(text->data, text->length));
	kiln_schema_free(again);
	return schema;
}

static void
check_value(test_random *r, const kiln_type *type)
{
	test_bytes	random = {0};
	uint8_t    *payload;
	kiln_error	error;
	int			i;

	test_random_payload(r, type, &random);
	payload = exact_copy(random.data, random.length);
	now.payload = payload;
	now.length = random.length;
	tally.bytes += random.length;
	if (!kiln_validate(type, payload, random.length, &test_json_any, &error))
	{
		fprintf(stderr, "%s at %zu, %s\n", kiln_error_text(error.code), error.offset, error.path);
		CHECK(!"the payload is refused");
	}
	CHECK(random.length >= type->least);
	CHECK(type->width == 0 || random.length == type->width);
	check_ends(type, payload, random.length);
	check_encode(r, type, payload, random.length);
	for (i = 0; i < PATHS; i++)
		check_path(r, type, payload, random.length);
	for (i = 0; i < DAMAGES; i++)
		check_damage(r, type, payload, random.length);
	exact_free(payload, random.length);
	test_bytes_free(&random);
}

static unsigned long
setting(const char *name, unsigned long otherwise)
{
	const char *value = getenv(name);

	return value != NULL && *value != 0 ? strtoul(value, NULL, 10) : otherwise;
}

static void
test_all_agree(void **state)
{
	unsigned long cases = setting("KILN_CASES", CASES);
	test_random r = {setting("KILN_SEED", SEED)};
	time_t		started = time(NULL);
	unsigned long definitions = 0;

	(void) state;
	now.path = "";
	now.number = 0;
	while (now.number < cases && time(NULL) - started < SECONDS)
	{
		test_bytes	text = {0};
		kiln_schema *schema;
		int			i;

		test_random_definition(&r, &text);
		now.definition = (const char *) text.data;
		now.length = 0;
		test_bytes_u8(&text, 0);
		text.length--;
		schema = parse_definition(&text);
		definitions++;
		for (i = 0; i < VALUES && now.number < cases; i++, now.number++)
			check_value(&r, schema->root);
		kiln_schema_free(schema);
		test_bytes_free(&text);
	}
	print_message("%lu of %lu cases agree: %lu definitions, %lu bytes; paths %lu found, %lu absent; "
				  "damaged %lu refused, %lu still valid\n", now.number, cases, definitions, tally.bytes,
				  tally.found, tally.absent, tally.refused, tally.still_valid);
	printf("# kiln-count differential %lu\n", now.number);
	if (cases >= 1000)
		assert_true(tally.found > 0 && tally.absent > 0 && tally.refused > 0 && tally.still_valid > 0);
	assert_true(now.number > 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_all_agree)};

	return cmocka_run_group_tests_name("differential", tests, NULL, NULL);
}
