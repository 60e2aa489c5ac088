/*
 * Golden files: bytes that every version must read and write the same.
 *
 * test/golden holds payloads, schema hashes and tensor directories as text that can be checked by hand against
 * docs/FORMAT.md. A line there, once published, never changes. KILN_GOLDEN names another folder.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "json_check.h"
#include "kiln.h"
#include "payload_source.h"
#include "sha256.h"

#define LINE		20000		/* the longest line is the batch's */

/* Open a golden file. */
static FILE *
golden_open(const char *name)
{
	const char *folder = getenv("KILN_GOLDEN");
	char		path[4096];
	FILE	   *file;

	snprintf(path, sizeof path, "%s/%s", folder != NULL ? folder : "test/golden", name);
	file = fopen(path, "rb");
	if (file == NULL)
		fail_msg("cannot read %s", path);
	return file;
}

/* The next line that is no comment, split at its tabs into exactly that many columns. False at the end. */
static bool
golden_row(FILE *file, char *line, char **columns, int count)
{
	do
	{
		if (fgets(line, LINE, file) == NULL)
			return false;
	} while (line[0] == '#');
	assert_non_null(strchr(line, '\n'));
	*strchr(line, '\n') = 0;
	for (int i = 0; i < count; i++)
	{
		char	   *tab = strchr(line, '\t');

		assert_int_equal(tab != NULL, i + 1 < count);
		columns[i] = line;
		if (tab != NULL)
		{
			*tab = 0;
			line = tab + 1;
		}
	}
	return true;
}

/* Decode hex into memory of exactly its size; the caller frees it. */
static uint8_t *
from_hex(const char *hex, size_t *n)
{
	uint8_t    *bytes;
	size_t		i;

	*n = strlen(hex) / 2;
	assert_int_equal(strlen(hex) % 2, 0);
	bytes = malloc(*n);
	for (i = 0; i < *n; i++)
	{
		unsigned	byte;

		assert_int_equal(sscanf(hex + 2 * i, "%2x", &byte), 1);
		bytes[i] = (uint8_t) byte;
	}
	return bytes;
}

static kiln_schema *
parse(const char *definition)
{
	kiln_parse_options options = {.stored = true, .json = &json_checker};
	kiln_schema *schema;
	kiln_error	error;

	if (!kiln_schema_parse(definition, strlen(definition), &options, &schema, &error))
		fail_msg("%s: %s at %zu", definition, kiln_error_text(error.code), error.offset);
	assert_string_equal(schema->text, definition);
	return schema;
}

/* Remember which kinds of types have been seen, all the way down. */
static void
note_kinds(const kiln_type *type, bool *seen)
{
	uint32_t	i;

	seen[type->kind] = true;
	if (type->element != NULL)
		note_kinds(type->element, seen);
	for (i = 0; type->kind == KILN_STRUCT && i < type->count; i++)
		note_kinds(type->fields[i].type, seen);
}

/* The payload is valid, and encoding what it holds gives the same bytes. */
static void
check_payload(const kiln_schema *schema, const uint8_t *payload, size_t n)
{
	payload_source source;
	kiln_node	root;
	kiln_writer writer;
	kiln_error	error;
	uint8_t    *again;
	size_t		length;

	if (!kiln_validate(schema->root, payload, n, &json_checker, &error))
		fail_msg("%s: %s at %zu", schema->text, kiln_error_text(error.code), error.offset);
	payload_source_init(&source, payload, &root);
	source.source.json = &json_checker;
	kiln_writer_init(&writer, NULL, 0);
	writer.grow = kiln_writer_grow_malloc;
	assert_true(kiln_encode(schema->root, &source.source, root, &writer, &error));
	again = kiln_writer_detach(&writer, &length);
	assert_int_equal(length, n);
	assert_memory_equal(again, payload, n);
	free(again);
}

static void
test_payloads(void **state)
{
	static char line[LINE];
	bool		seen[KILN_STRUCT + 1] = {false};
	FILE	   *file = golden_open("payloads.txt");
	char	   *columns[2];
	unsigned	rows = 0;
	unsigned	kind;

	(void) state;
	while (golden_row(file, line, columns, 2))
	{
		kiln_schema *schema = parse(columns[0]);
		size_t		n;
		uint8_t    *payload = from_hex(columns[1], &n);

		check_payload(schema, payload, n);
		if (rows == 0)
			assert_int_equal(n, 44);
		if (rows == 1)
			assert_int_equal(n, 4404);
		note_kinds(schema->root, seen);
		free(payload);
		kiln_schema_free(schema);
		rows++;
	}
	fclose(file);
	assert_true(rows >= KILN_STRUCT + 1);
	for (kind = 0; kind <= KILN_STRUCT; kind++)
	{
		if (!seen[kind])
			fail_msg("no golden payload for kind %u", kind);
	}
}

/* The reference message spelled out by hand, and its batch as a hundred of something of that size. */
static void
test_reference_message(void **state)
{
	static const uint8_t by_hand[44] = {
		1,						/* a true */
		0,						/* b false */
		1, 0, 0, 0,				/* x 1 */
		0xfe, 0xff, 0xff, 0xff, /* y -2 */
		42, 0, 0, 0, 0, 0, 0, 0,	/* id 42 */
		0, 0, 0, 0, 0, 0, 0x12, 0x40,	/* score 4.5 */
		5, 0, 0, 0, 'h', 'e', 'l', 'l', 'o',	/* s */
		5, 0, 0, 0, 'w', 'o', 'r', 'l', 'd' /* t */
	};
	static char line[LINE];
	FILE	   *file = golden_open("payloads.txt");
	char	   *columns[2];
	uint8_t    *payload;
	size_t		n;

	(void) state;
	assert_true(golden_row(file, line, columns, 2));
	assert_string_equal(columns[0], "message(a bool,b bool,x i32,y i32,id i64,score f64,s string,t string)");
	payload = from_hex(columns[1], &n);
	assert_int_equal(n, sizeof by_hand);
	assert_memory_equal(payload, by_hand, n);
	free(payload);
	assert_true(golden_row(file, line, columns, 2));
	assert_string_equal(columns[0], "message(a bool,b bool,x i32,y i32,id i64,score f64,s string,t string)[]");
	payload = from_hex(columns[1], &n);
	assert_int_equal(kiln_load_u32(payload), 100);
	free(payload);
	fclose(file);
}

static void
test_hashes(void **state)
{
	static char line[LINE];
	FILE	   *file = golden_open("hashes.txt");
	char	   *columns[2];
	unsigned	rows = 0;

	(void) state;
	while (golden_row(file, line, columns, 2))
	{
		kiln_schema *schema = parse(columns[0]);
		char		hash[17];

		snprintf(hash, sizeof hash, "%016llx", (unsigned long long) schema->hash);
		assert_string_equal(hash, columns[1]);
		kiln_schema_free(schema);
		rows++;
	}
	fclose(file);
	assert_int_equal(rows, 10);
}

/* Build the directory of the golden row, and compare. */
static void
check_directory(uint64_t elements, uint64_t bytes, const char *digest, const uint8_t *head, size_t head_length)
{
	kiln_tensor tensor = {0};
	kiln_tensor found;
	uint8_t    *directory = malloc(bytes);
	uint64_t	total;
	uint64_t	i;
	char		actual[65];

	tensor.name = "";
	tensor.dtype = KILN_DTYPE_F64;
	tensor.rank = 1;
	tensor.shape[0] = elements;
	tensor.length = 8 * elements;
	assert_true(kiln_directory_layout(&tensor, 1, &total, NULL));
	assert_true(total == bytes);
	kiln_directory_build(&tensor, 1, total, directory);
	for (i = 0; i < elements; i++)
		kiln_store_f64(directory + tensor.offset + 8 * i, (double) i + 0.5);
	assert_memory_equal(directory, head, head_length);
	sha256_hex(directory, total, actual);
	assert_string_equal(actual, digest);

	assert_true(kiln_directory_validate(directory, total, NULL));
	assert_int_equal(kiln_directory_count(directory, total), 1);
	assert_true(kiln_directory_entry(directory, total, 0, &found));
	assert_int_equal(found.name_length, 0);
	assert_true(found.shape[0] == elements && found.rank == 1 && found.dtype == KILN_DTYPE_F64);
	free(directory);
}

static void
test_directories(void **state)
{
	static char line[LINE];
	static const uint64_t sizes[] = {80192, 2097344};
	FILE	   *file = golden_open("directories.txt");
	char	   *columns[4];
	unsigned	rows = 0;

	(void) state;
	while (golden_row(file, line, columns, 4))
	{
		size_t		n;
		uint8_t    *head = from_hex(columns[3], &n);
		uint64_t	bytes = strtoull(columns[1], NULL, 10);

		assert_int_equal(n, 192);
		assert_true(rows < 2 && bytes == sizes[rows]);
		check_directory(strtoull(columns[0], NULL, 10), bytes, columns[2], head, n);
		free(head);
		rows++;
	}
	fclose(file);
	assert_int_equal(rows, 2);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_payloads),
		cmocka_unit_test(test_reference_message),
		cmocka_unit_test(test_hashes),
		cmocka_unit_test(test_directories),
	};

	return cmocka_run_group_tests_name("golden", tests, NULL, NULL);
}
