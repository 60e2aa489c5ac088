/*
 * kiln_frame_open() by itself and as the first step through the door: head, then definition, then payload or directory,
 * with offsets that count from the frame's first byte.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>

#include "json_check.h"
#include "jsonl.h"
#include "kiln.h"

static const kiln_parse_options stored = {.stored = true, .json = &json_checker};

/* The registered definition that has this hash, parsed; NULL if there is none. */
static kiln_schema *
registered_schema(jsonl *row, uint64_t hash)
{
	const char **texts;
	size_t		count = jsonl_array(row, "registered", &texts);

	for (size_t i = 0; count != SIZE_MAX && i < count; i++)
	{
		kiln_schema *schema;
		char		text[512];
		size_t		n = 0;

		/* The texts are raw JSON: a quoted name's quotes are escaped. */
		for (const char *p = texts[i]; *p != '\0' && n < sizeof text - 1; p++)
			if (*p != '\\')
				text[n++] = *p;
		if (kiln_hash(text, n) != hash)
			continue;
		assert_true(kiln_schema_parse(text, n, &stored, &schema, NULL));
		return schema;
	}
	return NULL;
}

/* Validate what follows a head; false with error->offset from the frame's first byte. */
static bool
check_payload(const kiln_schema *schema, const uint8_t *bytes, const kiln_frame *frame, kiln_error *error)
{
	if (kiln_validate(schema->root, frame->payload, frame->payload_length, &json_checker, error))
		return true;
	error->offset += (size_t) (frame->payload - bytes);
	return false;
}

/*
 * The definition of an inline frame from outside: its text must be canonical, names in normal form among it, which
 * reading it as a stored one does not ask. Where it is not, the fault is the whole definition's.
 */
static bool
open_definition(const kiln_frame *frame, kiln_schema **schema, kiln_error *error)
{
	kiln_parse_options foreign = {.json = &json_checker};
	bool		same;

	if (!kiln_schema_parse(frame->text, frame->text_length, &stored, schema, error))
	{
		if (error->code == KILN_E_NOT_CANONICAL)
			error->offset = 0;
		return false;
	}
	kiln_schema_free(*schema);
	if (!kiln_schema_parse(frame->text, frame->text_length, &foreign, schema, error))
		return false;
	same = (*schema)->text_length == frame->text_length &&
		memcmp((*schema)->text, frame->text, frame->text_length) == 0;
	if (same)
		return true;
	kiln_schema_free(*schema);
	return kiln_fail(error, KILN_E_NOT_CANONICAL, 0, NULL);
}

/* The door, as far as the codec goes. */
static bool
enter(jsonl *row, const uint8_t *bytes, size_t n, kiln_frame *frame, kiln_error *error)
{
	kiln_schema *schema = NULL;
	bool		good;

	if (!kiln_frame_open(bytes, n, frame, error))
		return false;
	switch (frame->kind)
	{
		case KILN_FRAME_UNVERIFIED:
			return true;
		case KILN_FRAME_TENSORS:
			good = kiln_directory_validate(frame->payload, frame->payload_length, error);
			if (!good)
				error->offset += KILN_TENSORS_HEAD;
			return good;
		case KILN_FRAME_REGISTERED:
			schema = registered_schema(row, frame->hash);
			if (schema == NULL)
				return true;
			break;
		default:
			if (!open_definition(frame, &schema, error))
			{
				error->offset += KILN_INLINE_HEAD;
				return false;
			}
			assert_int_equal(schema->hash, frame->hash);
	}
	good = check_payload(schema, bytes, frame, error);
	kiln_schema_free(schema);
	return good;
}

static uint8_t *
exact_frame(jsonl *row, const char *key, size_t *n)
{
	uint8_t    *bytes;
	uint8_t    *copy;

	*n = jsonl_hex(row, key, &bytes);
	assert_int_not_equal(*n, SIZE_MAX);
	copy = malloc(*n != 0 ? *n : 1);
	assert_non_null(copy);
	memcpy(copy, bytes, *n);
	return copy;
}

static void
good_frame(jsonl *row, const uint8_t *bytes, size_t n)
{
	kiln_frame	frame;
	kiln_error	error;

	if (!enter(row, bytes, n, &frame, &error))
		fail_msg("row %lld: %s at %zu", jsonl_int(row, "id", -1), kiln_error_text(error.code), error.offset);
	assert_int_equal(frame.kind, bytes[0]);
	assert_ptr_equal(frame.payload + frame.payload_length, bytes + n);
	assert_int_equal(frame.text != NULL, frame.kind == KILN_FRAME_INLINE);
	if (frame.kind == KILN_FRAME_REGISTERED || frame.kind == KILN_FRAME_UNVERIFIED)
		assert_int_equal(frame.hash, kiln_load_u64(bytes + 1));
	/* Every beginning that lacks part of the head is refused, any other opens. */
	for (size_t length = 0; length < n && length < 200; length++)
	{
		bool		whole = length >= (size_t) (frame.payload - bytes);
		kiln_frame	cut;

		assert_int_equal(kiln_frame_open(bytes, length, &cut, &error), whole);
		if (!whole)
			assert_in_range(error.offset, 0, 1);
	}
}

static bool
bad_frame(jsonl *row, const uint8_t *bytes, size_t n)
{
	kiln_frame	frame;
	kiln_error	error;
	long long	offset = jsonl_int(row, "offset", -1);

	if (enter(row, bytes, n, &frame, &error))
	{
		print_error("row %lld: accepted\n", jsonl_int(row, "id", -1));
		return false;
	}
	if (error.offset == (size_t) offset)
		return true;
	print_error("row %lld: wrong at %lld, got \"%s\" at %zu\n", jsonl_int(row, "id", -1), offset,
				kiln_error_text(error.code), error.offset);
	return false;
}

static void
vectors(void **state)
{
	jsonl		row;
	int			good = 0;
	int			bad = 0;
	int			wrong = 0;

	(void) state;
	assert_true(jsonl_open(&row, "frames.jsonl"));
	while (jsonl_next(&row))
	{
		const char *kind = jsonl_string(&row, "kind");
		uint8_t    *bytes = NULL;
		size_t		n;

		if (strcmp(kind, "frame") == 0)
		{
			good++;
			bytes = exact_frame(&row, "stored", &n);
			good_frame(&row, bytes, n);
			free(bytes);
			bytes = exact_frame(&row, "frame", &n);
			good_frame(&row, bytes, n);
		}
		else if (strcmp(kind, "invalid_frame") == 0)
		{
			bad++;
			bytes = exact_frame(&row, "frame", &n);
			wrong += !bad_frame(&row, bytes, n);
		}
		free(bytes);
	}
	jsonl_close(&row);
	assert_int_equal(wrong, 0);
	assert_in_range(good, 80, 10000);
	assert_in_range(bad, 50, 10000);
}

static void
expect(const char *bytes, size_t n, kiln_code code, size_t offset)
{
	kiln_frame	frame;
	kiln_error	error;

	assert_false(kiln_frame_open((const uint8_t *) bytes, n, &frame, &error));
	assert_int_equal(error.code, code);
	assert_int_equal(error.offset, offset);
}

static void
heads(void **state)
{
	kiln_frame	frame;
	char		kind[16] = {0};

	(void) state;
	expect("", 0, KILN_E_FRAME_HEAD, 0);
	expect("\x11", KILN_MAX_FRAME + (size_t) 1, KILN_E_SIZE, 0);
	expect("\x12\0\0\0\0", 5, KILN_E_LENGTH, 1);
	expect("\x12\1\0\0\0", 5, KILN_E_LENGTH, 1);
	expect("\x12\1\0\x10\0", 5, KILN_E_LENGTH, 1);
	expect("\x12\xff\xff\xff\xff", 5, KILN_E_LENGTH, 1);
	expect("\x13\0\1\1", 4, KILN_E_RESERVED, 2);
	for (int first = 0; first < 256; first++)
	{
		kind[0] = (char) first;
		if (first < 0x11 || first > 0x14)
			expect(kind, sizeof kind, KILN_E_FRAME_KIND, 0);
	}
	assert_true(kiln_frame_open((const uint8_t *) "\x12\2\0\0\0i8", 7, &frame, NULL));
	assert_int_equal(frame.text_length, 2);
	assert_memory_equal(frame.text, "i8", 2);
	assert_int_equal(frame.hash, kiln_hash("i8", 2));
	assert_int_equal(frame.payload_length, 0);
	assert_true(kiln_frame_open((const uint8_t *) "\x14\1\2\3\4\5\6\7\x88", 9, &frame, NULL));
	assert_true(frame.hash == UINT64_C(0x8807060504030201));
	assert_false(kiln_frame_open((const uint8_t *) "\x14", 1, &frame, NULL));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(vectors), cmocka_unit_test(heads)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
