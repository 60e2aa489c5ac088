/*
 * Random frames for tests in the server: frames COUNT [SEED]
 *
 * Prints COUNT lines, ready for COPY into (definition bytea, hash bytea, frame bytea). Nine lines in ten have a random
 * definition in canonical form (several lines in a row share one), its hash as a frame has it, and an inline frame (0x12) of a
 * random payload; every tenth has \N, \N and a frame of tensors (0x13). Definitions and payloads come from
 * test/support/random.h, which knows the format but not the codec's encoder. Nothing but the seed decides what is printed.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "random.h"

#define SEED			20000101
#define VALUES			20		/* of each definition */
#define MOST_TENSORS	3		/* in a directory */

static void
print_hex(const uint8_t *data, size_t n)
{
	size_t		i;

	fputs("\\\\x", stdout);
	for (i = 0; i < n; i++)
		printf("%02x", data[i]);
}

static void
give_up(const char *what)
{
	fprintf(stderr, "frames: %s\n", what);
	exit(EXIT_FAILURE);
}

/* ------------------------------------------------------------------ records */

static kiln_schema *
random_schema(test_random *r)
{
	kiln_parse_options options = {0};
	test_bytes	text = {0};
	kiln_schema *schema;

	options.json = &test_json_any;
	test_random_definition(r, &text);
	if (!kiln_schema_parse((const char *) text.data, text.length, &options, &schema, NULL))
		give_up("a random definition is refused");
	test_bytes_free(&text);
	return schema;
}

static void
print_record(test_random *r, const kiln_schema *schema)
{
	test_bytes	frame = {0};
	uint8_t		hash[8];

	kiln_store_u64(hash, schema->hash);
	test_bytes_u8(&frame, KILN_FRAME_INLINE);
	test_bytes_u32(&frame, (uint32_t) schema->text_length);
	test_bytes_add(&frame, schema->text, schema->text_length);
	test_random_payload(r, schema->root, &frame);
	print_hex((const uint8_t *) schema->text, schema->text_length);
	putchar('\t');
	print_hex(hash, sizeof hash);
	putchar('\t');
	print_hex(frame.data, frame.length);
	putchar('\n');
	test_bytes_free(&frame);
}

/* ------------------------------------------------------------------ tensors */

/* Any bits will do but for bool, and NaNs of every kind are among them. */
static void
random_elements(test_random *r, const kiln_tensor *tensor, uint8_t *out)
{
	uint64_t	i;

	for (i = 0; i < tensor->length; i++)
		out[i] = tensor->dtype == KILN_DTYPE_BOOL ? (uint8_t) test_random_below(r, 2) : (uint8_t) test_random_next(r);
}

/* name: room for KILN_MAX_TENSOR_NAME bytes. Names of one directory ascend by their first letter. */
static void
random_tensor(test_random *r, uint32_t position, char *name, kiln_tensor *tensor)
{
	uint64_t	elements;
	uint8_t		i;

	memset(tensor, 0, sizeof *tensor);
	tensor->dtype = (uint8_t) (1 + test_random_below(r, KILN_DTYPE_F64));
	tensor->rank = (uint8_t) test_random_below(r, 5);
	for (i = 0; i < tensor->rank; i++)
		tensor->shape[i] = test_random_below(r, 5);
	if (tensor->rank == 1 && test_random_once(r, 20))
		tensor->shape[0] = 1020 + test_random_below(r, 10);	/* about where the text form turns to base64 */
	if (!kiln_tensor_size(tensor->dtype, tensor->rank, tensor->shape, &tensor->length, &elements))
		give_up("a random shape is refused");
	if (position > 0 || test_random_once(r, 2))	/* else unnamed */
	{
		test_bytes	rest = {0};

		test_bytes_u8(&rest, (uint8_t) ('a' + position));
		test_random_string(r, test_random_below(r, 12), &rest);
		memcpy(name, rest.data, rest.length);
		tensor->name_length = (uint16_t) rest.length;
		test_bytes_free(&rest);
	}
	tensor->name = name;
}

static void
print_tensors(test_random *r)
{
	char		names[MOST_TENSORS][KILN_MAX_TENSOR_NAME];
	kiln_tensor tensors[MOST_TENSORS];
	uint32_t	count = test_random_below(r, MOST_TENSORS + 1);
	uint64_t	total;
	uint8_t    *frame;
	kiln_error	error;
	uint32_t	i;

	for (i = 0; i < count; i++)
		random_tensor(r, i, names[i], &tensors[i]);
	if (!kiln_directory_layout(tensors, count, &total, &error))
		give_up("a random directory is refused");
	frame = malloc(KILN_TENSORS_HEAD + total);
	if (frame == NULL)
		give_up("out of memory");
	memset(frame, 0, KILN_TENSORS_HEAD);
	frame[0] = KILN_FRAME_TENSORS;
	kiln_directory_build(tensors, count, total, frame + KILN_TENSORS_HEAD);
	for (i = 0; i < count; i++)
		random_elements(r, &tensors[i], frame + KILN_TENSORS_HEAD + tensors[i].offset);
	if (!kiln_directory_validate(frame + KILN_TENSORS_HEAD, total, &error))
		give_up("a random directory does not validate");
	fputs("\\N\t\\N\t", stdout);
	print_hex(frame, KILN_TENSORS_HEAD + total);
	putchar('\n');
	free(frame);
}

int
main(int argc, char **argv)
{
	unsigned long count = argc > 1 ? strtoul(argv[1], NULL, 10) : 0;
	test_random r = {argc > 2 ? strtoull(argv[2], NULL, 10) : SEED};
	kiln_schema *schema = NULL;
	unsigned long i;

	if (count == 0)
		give_up("usage: frames COUNT [SEED]");
	for (i = 0; i < count; i++)
	{
		if (i % VALUES == 0)
		{
			if (schema != NULL)
				kiln_schema_free(schema);
			schema = random_schema(&r);
		}
		if (i % 10 == 9)
			print_tensors(&r);
		else
			print_record(&r, schema);
	}
	kiln_schema_free(schema);
	return ferror(stdout) || fflush(stdout) != 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
