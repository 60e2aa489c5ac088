/*
 * Bindings: lists from arrays of C structs, against the same structs one by one.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "kiln.h"

typedef struct entry
{
	int64_t		at;
	kiln_slice	text;
	bool		flag;
} entry;

static const kiln_member entry_members[] = {
	{"at", offsetof(entry, at)}, {"text", offsetof(entry, text)}, {"flag", offsetof(entry, flag)}
};

/* Fields that lie side by side: 12 to 33 bytes of them, one move. */
typedef struct block
{
	uint8_t		bytes[40];
} block;

static kiln_binding *
bind(const kiln_schema *list, const kiln_member *members, size_t count)
{
	kiln_binding *binding;

	assert_true(kiln_binding_compile(list->root->element, members, count, NULL, &binding, NULL));
	return binding;
}

static kiln_schema *
parse(const char *text)
{
	kiln_schema *schema;

	assert_true(kiln_schema_parse(text, strlen(text), NULL, &schema, NULL));
	return schema;
}

static void
test_list_is_its_elements(void **state)
{
	kiln_schema *schema = parse("(at timestamp,text string,flag bool)[]");
	kiln_binding *binding = bind(schema, entry_members, 3);
	entry		entries[70];
	char		letters[70];

	(void) state;
	memset(letters, 'k', sizeof letters);
	for (int i = 0; i < 70; i++)
		entries[i] = (entry) {i * 1000, {letters, (uint32_t) i}, i % 2 != 0};
	for (uint32_t count = 0; count <= 70; count++)
	{
		kiln_writer whole = {NULL, NULL, NULL, SIZE_MAX, kiln_writer_grow_malloc, NULL};
		kiln_writer single = {NULL, NULL, NULL, SIZE_MAX, kiln_writer_grow_malloc, NULL};

		assert_true(kiln_binding_encode_list(binding, entries, count, sizeof *entries, true, &whole, NULL));
		assert_true(kiln_writer_reserve(&single, 4));
		kiln_writer_u32(&single, count);
		for (uint32_t i = 0; i < count; i++)
			assert_true(kiln_binding_encode(binding, &entries[i], true, &single, NULL));
		assert_int_equal(kiln_writer_length(&whole), kiln_writer_length(&single));
		assert_memory_equal(whole.start, single.start, kiln_writer_length(&whole));
		assert_true(kiln_validate(schema->root, whole.start, kiln_writer_length(&whole), NULL, NULL));
		free(whole.start);
		free(single.start);
	}
	kiln_binding_free(binding);
	kiln_schema_free(schema);
}

/* One move of each length, structs wider than it: nothing between is taken along. */
static void
test_packed_runs(void **state)
{
	(void) state;
	for (int n = 1; n <= 40; n++)
	{
		char		text[1024];
		char		names[40][4];
		kiln_member members[40];
		size_t		at = (size_t) snprintf(text, sizeof text, "(");
		kiln_schema *schema;
		kiln_binding *binding;
		block	   *blocks = malloc(9 * sizeof *blocks);
		uint8_t    *buffer = malloc(4 + 9 * (size_t) n);
		kiln_writer writer;

		for (int i = 0; i < n; i++)
		{
			at += (size_t) snprintf(text + at, sizeof text - at, "%sf%d u8", i ? "," : "", i);
			snprintf(names[i], sizeof names[i], "f%d", i);
			members[i] = (kiln_member) {names[i], (size_t) i};
		}
		snprintf(text + at, sizeof text - at, ")[]");
		schema = parse(text);
		binding = bind(schema, members, (size_t) n);
		for (size_t i = 0; i < 9 * sizeof *blocks; i++)
			((uint8_t *) blocks)[i] = (uint8_t) (i * 7);
		kiln_writer_init(&writer, buffer, 4 + 9 * (size_t) n);
		assert_true(kiln_binding_encode_list(binding, blocks, 9, sizeof *blocks, true, &writer, NULL));
		assert_int_equal(kiln_writer_length(&writer), 4 + 9 * n);
		for (int i = 0; i < 9; i++)
			assert_memory_equal(buffer + 4 + i * n, blocks[i].bytes, (size_t) n);
		kiln_binding_free(binding);
		kiln_schema_free(schema);
		free(blocks);
		free(buffer);
	}
}

static void
test_failures(void **state)
{
	kiln_schema *schema = parse("(at timestamp,text string,flag bool)[]");
	kiln_binding *binding = bind(schema, entry_members, 3);
	entry		entries[3] = {{1, {"a", 1}, true}, {2, {"b", 1}, true}, {3, {"c", 1}, true}};
	uint8_t		buffer[4 + 3 * 14];
	kiln_writer writer;
	kiln_error	error;

	(void) state;
	kiln_writer_init(&writer, buffer, sizeof buffer - 1);
	assert_false(kiln_binding_encode_list(binding, entries, 3, sizeof *entries, true, &writer, &error));
	assert_int_equal(error.code, KILN_E_SIZE);
	assert_int_equal(kiln_writer_length(&writer), 0);

	kiln_writer_init(&writer, buffer, sizeof buffer);
	entries[2].text.data = "\xff";
	assert_false(kiln_binding_encode_list(binding, entries, 3, sizeof *entries, true, &writer, &error));
	assert_int_equal(error.code, KILN_E_UTF8);
	assert_string_equal(error.path, "[2].text");
	assert_int_equal(kiln_writer_length(&writer), 0);
	assert_true(kiln_binding_encode_list(binding, entries, 3, sizeof *entries, false, &writer, &error));

	kiln_writer_reset(&writer);
	entries[1].at = INT64_MAX - 1;
	assert_false(kiln_binding_encode_list(binding, entries, 2, sizeof *entries, false, &writer, &error));
	assert_int_equal(error.code, KILN_E_TIMESTAMP);
	assert_string_equal(error.path, "[1].at");
	assert_true(kiln_binding_encode_list(binding, NULL, 0, sizeof *entries, true, &writer, &error));
	assert_int_equal(kiln_writer_length(&writer), 4);
	kiln_binding_free(binding);
	kiln_schema_free(schema);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_list_is_its_elements),
		cmocka_unit_test(test_packed_runs),
		cmocka_unit_test(test_failures),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
