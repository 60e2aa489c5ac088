/*
 * The wire vectors, clients/wire.jsonl, through the codec and through kiln_pq; no server. KILN_WIRE names the file's
 * folder.
 *
 * Reads are held against the vectors twice: by paths, and by the getters that suit the type, whose answers are worked
 * out from the vector's bytes here by hand. Values are encoded again from their own parts and must give the same
 * frame.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "json_check.h"
#include "jsonl.h"
#include "kiln_pq.h"
#include "payload_source.h"

#define MOST_READS	48			/* of a row, as make_wire.pl has it */

static void
open_vectors(jsonl *in)
{
	if (getenv("KILN_WIRE") != NULL)
		setenv("KILN_VECTORS", getenv("KILN_WIRE"), 1);
	assert_true(jsonl_open(in, "wire.jsonl"));
}

/* The next row of a kind; false at the end. */
static bool
next_row(jsonl *in, const char *kind)
{
	while (jsonl_next(in))
	{
		if (strcmp(jsonl_string(in, "kind"), kind) == 0)
			return true;
	}
	return false;
}

static int
id(jsonl *in)
{
	return (int) jsonl_int(in, "id", -1);
}

/* A copy of bytes in memory of exactly that size, so that a sanitizer sees what reads beyond it. */
static uint8_t *
exact(const uint8_t *bytes, size_t n)
{
	uint8_t    *copy = malloc(n != 0 ? n : 1);

	assert_non_null(copy);
	memcpy(copy, bytes, n);
	return copy;
}

/* A client that knows what the row says is registered. */
static kiln_pq *
client_of(jsonl *in)
{
	kiln_pq_error error;
	kiln_pq    *client = kiln_pq_open(NULL, &error);
	const char **texts;
	size_t		count = jsonl_array(in, "registered_hex", &texts);

	assert_non_null(client);
	for (size_t i = 0; count != SIZE_MAX && i < count; i++)
	{
		uint8_t    *text;
		size_t		n = jsonl_decode(in, texts[i], &text);

		if (kiln_pq_define(client, (const char *) text, n, &error) == NULL)
			fail_msg("row %d: definition %zu: %s", id(in), i, error.message);
	}
	return client;
}

/* ------------------------------------------------------------------ definitions */

static void
test_definitions(void **state)
{
	jsonl		in;
	int			rows = 0;

	(void) state;
	open_vectors(&in);
	for (; next_row(&in, "definition"); rows++)
	{
		kiln_pq_error error;
		kiln_pq    *client = kiln_pq_open(NULL, &error);
		uint8_t    *text;
		uint8_t    *canonical;
		size_t		n = jsonl_hex(&in, "text_hex", &text);
		const kiln_schema *schema;

		/* defaults spelled as text are the server's affair: the codec gets them in canonical form */
		if (jsonl_bool(&in, "valid"))
			n = jsonl_hex(&in, "canonical_hex", &text);
		schema = kiln_pq_inline(client, (const char *) text, n, &error);
		if (!jsonl_bool(&in, "valid"))
		{
			if (schema != NULL || error.code != KILN_PQ_E_DEFINITION)
				fail_msg("row %d: accepted", id(&in));
		}
		else if (schema == NULL)
			fail_msg("row %d: %s", id(&in), error.message);
		else
		{
			assert_int_equal(schema->text_length, jsonl_hex(&in, "canonical_hex", &canonical));
			assert_memory_equal(schema->text, canonical, schema->text_length);
			assert_int_equal(schema->hash, strtoull(jsonl_string(&in, "hash"), NULL, 16));
		}
		kiln_pq_close(client);
	}
	assert_true(rows > 300);
	jsonl_close(&in);
}

/* ------------------------------------------------------------------ reads */

/* What the getter for the type says, against the vector's bytes. */
static void
check_getter(int row, const kiln_pq_view *view, const uint8_t *wanted, size_t n)
{
	kiln_pq_error error;
	int64_t		i = 0;
	uint64_t	u = 0;
	double		d = 0;
	double		wide;
	float		narrow;
	bool		b = false;
	kiln_slice	span;
	bool		good = true;

	for (size_t k = n; k-- > 0 && n <= 8;)
		u = u << 8 | wanted[k];
	switch (view->type->kind)
	{
		case KILN_BOOL:
			good = kiln_pq_view_bool(view, &b, &error) && b == (wanted[0] == 1);
			break;
		case KILN_I8:
		case KILN_I16:
		case KILN_I32:
		case KILN_I64:
		case KILN_DATE:
		case KILN_TIMESTAMP:
		case KILN_TIMESTAMPTZ:
			good = kiln_pq_view_int64(view, &i, &error) && (uint64_t) i << (64 - 8 * n) == u << (64 - 8 * n) &&
				(i < 0) == (wanted[n - 1] >= 0x80);
			break;
		case KILN_U8:
		case KILN_U16:
		case KILN_U32:
		case KILN_U64:
			good = kiln_pq_view_uint64(view, (uint64_t *) &i, &error) && (uint64_t) i == u;
			break;
		case KILN_F32:
			memcpy(&narrow, wanted, 4);
			wide = narrow;
			good = kiln_pq_view_double(view, &d, &error) && (d == wide || (d != d && wide != wide));
			break;
		case KILN_F64:
			memcpy(&wide, wanted, 8);
			good = kiln_pq_view_double(view, &d, &error) && memcmp(&d, &wide, 8) == 0;
			break;
		case KILN_STRING:
		case KILN_BYTES:
		case KILN_NUMERIC:
		case KILN_JSON:
			good = kiln_pq_view_span(view, &span, &error) && span.length == n - 4 &&
				memcmp(span.data, wanted + 4, n - 4) == 0 &&
				(const uint8_t *) span.data == view->at + 4;
			break;
		case KILN_UUID:
			good = kiln_pq_view_span(view, &span, &error) && span.length == 16 && span.data == view->at;
			break;
		case KILN_ENUM:
			good = kiln_pq_view_span(view, &span, &error) && u < view->type->count &&
				strcmp(span.data, view->type->labels[u].text) == 0;
			break;
		default:
			break;
	}
	if (!good)
		fail_msg("row %d: a getter of %.*s is wrong", row, (int) view->type->text_length, view->type->text);
}

/* One expected read. */
static void
check_read(int row, const kiln_pq_value *value, jsonl *read)
{
	kiln_pq_error error = {0};
	uint8_t    *path_text;
	uint8_t    *wanted;
	uint8_t    *type;
	size_t		n;
	size_t		length;
	kiln_pq_path *path;
	kiln_pq_view view;
	kiln_pq_found found = KILN_PQ_FAILED;

	jsonl_hex(read, "path_hex", &path_text);
	path = kiln_pq_path_open(value->client, (const char *) path_text, &error);
	if (path != NULL)
		found = kiln_pq_find(value, path, &view, &error);
	if (jsonl_string(read, "error") != NULL)
	{
		if (found != KILN_PQ_FAILED || error.code != KILN_PQ_E_PATH)
			fail_msg("row %d: path %s is not refused", row, path_text);
	}
	else if (jsonl_bool(read, "absent") == 1)
	{
		if (found != KILN_PQ_ABSENT)
			fail_msg("row %d: path %s: %s", row, path_text, found == KILN_PQ_FOUND ? "found" : error.message);
	}
	else
	{
		if (found != KILN_PQ_FOUND)
			fail_msg("row %d: path %s: %s", row, path_text, found == KILN_PQ_ABSENT ? "absent" : error.message);
		assert_int_equal(view.type->text_length, jsonl_hex(read, "type_hex", &type));
		assert_memory_equal(view.type->text, type, view.type->text_length);
		n = jsonl_hex(read, "payload", &wanted);
		assert_true(kiln_pq_view_length(&view, &length, &error));
		assert_int_equal(length, n);
		assert_memory_equal(view.at, wanted, n);
		check_getter(row, &view, wanted, n);
		/* in place */
		assert_true(view.at >= value->frame && view.at + n <= value->frame + value->frame_length);
	}
	kiln_pq_path_close(path);
}

/* The array of reads: objects one after the other. */
static void
check_reads(jsonl *in, const kiln_pq_value *value)
{
	size_t		n;
	const char *raw = jsonl_raw(in, "reads", &n);
	const char *end = raw + n;
	jsonl		read = {0};

	for (const char *p = raw + 1; p < end && *p == '{'; p += read.row_length + 1)
	{
		/* no string in a read has a brace in it: they are hex, but for the SQLSTATE */
		read.row = p;
		read.row_length = (size_t) (strchr(p, '}') + 1 - p);
		check_read(id(in), value, &read);
	}
	jsonl_close(&read);
}

/* Go over all members, down to the scalars, as deep as they go; their number. */
static size_t
count_members(const kiln_pq_view *view)
{
	kiln_pq_error error;
	kiln_pq_members members;
	kiln_pq_view member;
	kiln_pq_found found;
	size_t		count = 0;

	if (view->type->kind != KILN_STRUCT && view->type->kind != KILN_LIST && view->type->kind != KILN_DICT)
		return 1;
	assert_true(kiln_pq_members_open(view, &members, &error));
	while ((found = kiln_pq_members_next(&members, NULL, &member, &error)) == KILN_PQ_FOUND)
		count += member.at != NULL ? count_members(&member) : 1;
	assert_int_equal(found, KILN_PQ_ABSENT);
	return count;
}

static size_t
count_reads(jsonl *in)
{
	size_t		n;
	const char *raw = jsonl_raw(in, "reads", &n);
	size_t		count = 0;

	for (const char *p = raw; p < raw + n; p++)
		count += *p == '{';
	return count;
}

/* Encode a value from its own parts, head and all. */
static void
check_writing(jsonl *in, const kiln_pq_value *value)
{
	kiln_pq_error error;
	kiln_error	codec;
	kiln_writer writer;
	payload_source source;
	kiln_node	root;

	kiln_writer_init(&writer, NULL, 0);
	writer.grow = kiln_writer_grow_malloc;
	payload_source_init(&source, value->payload, &root);
	source.source.json = &json_checker;
	assert_true(kiln_pq_frame_head(value->client, value->schema, &writer, &error));
	if (!kiln_encode(value->schema->root, &source.source, root, &writer, &codec))
		fail_msg("row %d: %s", id(in), kiln_error_text(codec.code));
	assert_int_equal(kiln_writer_length(&writer), value->frame_length);
	/* 0x14 of a definition that is known is written as what it is */
	assert_memory_equal(writer.start + 1, value->frame + 1, value->frame_length - 1);
	free(writer.start);
}

static void
test_frames(void **state)
{
	jsonl		in;
	int			rows = 0;

	(void) state;
	open_vectors(&in);
	for (; next_row(&in, "frame"); rows++)
	{
		kiln_pq_error error;
		kiln_pq    *client = client_of(&in);
		uint8_t    *bytes;
		size_t		n = jsonl_hex(&in, "frame", &bytes);
		uint8_t    *frame = exact(bytes, n);
		kiln_pq_value value;
		bool		opened = kiln_pq_value_open(client, frame, n, &value, &error);
		kiln_pq_view whole;

		if (jsonl_bool(&in, "readable") == 0)
			assert_false(opened);
		else
		{
			if (!opened || !kiln_pq_check(&value, &json_checker, &error))
				fail_msg("row %d: %s", id(&in), error.message);
			check_reads(&in, &value);
			whole = (kiln_pq_view) {value.schema->root, value.payload, value.length};
			/* where the reads are all the leaves there are, the members are as many */
			if (jsonl_bool(&in, "text_reads_back") != -1 && count_reads(&in) < MOST_READS)
				assert_int_equal(count_members(&whole), count_reads(&in));
			else
				count_members(&whole);
			if (kiln_pq_by_hash(client, value.schema->hash) == NULL || value.kind != KILN_FRAME_INLINE)
				check_writing(&in, &value);
		}
		kiln_pq_close(client);
		free(frame);
	}
	assert_true(rows > 500);
	jsonl_close(&in);
}

/* ------------------------------------------------------------------ what is refused */

static void
test_invalid(void **state)
{
	jsonl		in;
	int			rows = 0;

	(void) state;
	open_vectors(&in);
	for (; next_row(&in, "invalid"); rows++)
	{
		kiln_pq_error error;
		kiln_pq    *client = client_of(&in);
		uint8_t    *bytes;
		size_t		n = jsonl_hex(&in, "frame", &bytes);
		uint8_t    *frame = exact(bytes, n);
		kiln_pq_value value;
		bool		opened = kiln_pq_value_open(client, frame, n, &value, &error);

		if (opened && kiln_pq_check(&value, &json_checker, &error))
			fail_msg("row %d: accepted", id(&in));
		if (error.code == KILN_PQ_E_FORMAT)
			assert_int_equal(error.codec.offset, jsonl_int(&in, "offset", -1));
		else
			assert_int_equal(error.code, KILN_PQ_E_DEFINITION);
		/* what opens can be gone through all the same, and nothing is read beyond it */
		if (opened && value.schema != NULL)
		{
			kiln_pq_members members;
			kiln_pq_view member = {value.schema->root, value.payload, value.length};

			if (kiln_pq_members_open(&member, &members, &error))
			{
				while (kiln_pq_members_next(&members, NULL, &member, &error) == KILN_PQ_FOUND)
					continue;
			}
		}
		kiln_pq_close(client);
		free(frame);
	}
	assert_true(rows > 700);
	jsonl_close(&in);
}

/* ------------------------------------------------------------------ tensors */

/* One expected tensor. */
static void
check_tensor(int row, const kiln_pq_value *value, jsonl *wanted, kiln_tensor *tensor)
{
	kiln_pq_error error;
	uint8_t    *name;
	uint8_t    *data;
	const char *shape;
	size_t		n;

	jsonl_hex(wanted, "name_hex", &name);
	if (kiln_pq_tensor(value, (const char *) name, tensor, &error) != KILN_PQ_FOUND)
		fail_msg("row %d: no tensor \"%s\"", row, name);
	assert_string_equal(kiln_dtype_name(tensor->dtype), jsonl_string(wanted, "dtype"));
	shape = jsonl_raw(wanted, "shape", &n) + 1;
	for (int i = 0; i < tensor->rank; i++)
	{
		char	   *end;

		assert_int_equal(tensor->shape[i], strtoull(shape, &end, 10));
		shape = end + 1;
	}
	assert_int_equal(tensor->rank == 0 ? *shape : shape[-1], ']');
	assert_int_equal(tensor->length, jsonl_hex(wanted, "data", &data));
	assert_memory_equal(tensor->data, data, tensor->length);
	assert_true(tensor->data >= value->frame && tensor->data + tensor->length <= value->frame + value->frame_length);
}

static void
test_tensors(void **state)
{
	jsonl		in;
	int			rows = 0;

	(void) state;
	open_vectors(&in);
	for (; next_row(&in, "tensors"); rows++)
	{
		kiln_pq_error error;
		kiln_pq    *client = kiln_pq_open(NULL, &error);
		uint8_t    *bytes;
		size_t		n = jsonl_hex(&in, "frame", &bytes);
		uint8_t    *frame = exact(bytes, n);
		uint8_t    *built = malloc(n);
		kiln_pq_value value;
		kiln_tensor tensors[256];
		jsonl		wanted = {0};
		uint64_t	total;
		uint32_t	count = 0;
		size_t		length;
		const char *p = jsonl_raw(&in, "tensors", &length) + 1;

		if (!kiln_pq_value_open(client, frame, n, &value, &error))
			fail_msg("row %d: %s", id(&in), error.message);
		for (; *p == '{' && count < 256; p += wanted.row_length + 1)
		{
			wanted.row = p;
			wanted.row_length = (size_t) (strchr(p, '}') + 1 - p);
			check_tensor(id(&in), &value, &wanted, &tensors[count++]);
		}
		jsonl_close(&wanted);
		assert_int_equal(count, kiln_directory_count(value.payload, value.length));
		assert_int_equal(kiln_pq_tensor(&value, "no such name", &tensors[255], &error), KILN_PQ_ABSENT);
		assert_true(kiln_directory_layout(tensors, count, &total, NULL));
		assert_int_equal(total, value.length);
		kiln_directory_build(tensors, count, total, built);
		assert_memory_equal(built, value.payload, value.length);
		free(built);
		free(frame);
		kiln_pq_close(client);
	}
	assert_true(rows > 50);
	jsonl_close(&in);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_definitions),
		cmocka_unit_test(test_frames),
		cmocka_unit_test(test_invalid),
		cmocka_unit_test(test_tensors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
