/*
 * Tensor directories: every row of tensors.jsonl, rebuilding what was accepted, look-ups, and what the builder
 * refuses.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "jsonl.h"
#include "kiln.h"
#include "random.h"
#include "sha256.h"

/* Memory of exactly n bytes, so that a read beyond them is seen. */
static uint8_t *
exact_copy(const uint8_t *data, size_t n)
{
	uint8_t    *copy = malloc(n);

	if (n != 0)
		memcpy(copy, data, n);
	return copy;
}

/* Build a directory again from its own tensors: there is one spelling, so the bytes must be the same. */
static void
check_rebuild(const uint8_t *directory, size_t n)
{
	uint32_t	count = kiln_directory_count(directory, n);
	kiln_tensor *tensors = calloc(count + 1, sizeof *tensors);
	uint8_t    *out = malloc(n);
	uint64_t	total;
	uint32_t	i;

	for (i = 0; i < count; i++)
	{
		assert_true(kiln_directory_entry(directory, n, i, &tensors[i]));
		assert_int_equal(kiln_directory_find(directory, n, tensors[i].name, tensors[i].name_length), i);
		tensors[i].offset = 0;
	}
	assert_false(kiln_directory_entry(directory, n, count, &tensors[count]));
	assert_int_equal(kiln_directory_find(directory, n, "no such tensor", 14), -1);
	assert_true(kiln_directory_layout(tensors, count, &total, NULL));
	assert_int_equal(total, n);
	memset(out, 0xaa, n);
	kiln_directory_build(tensors, count, total, out);
	assert_memory_equal(out, directory, n);
	free(out);
	free(tensors);
}

static kiln_code
code_of_fault(const char *fault, size_t offset)
{
	if (strcmp(fault, "truncated") == 0)
		return offset == 12 ? KILN_E_DIRECTORY : KILN_E_TRUNCATED;
	if (strcmp(fault, "trailing") == 0)
		return KILN_E_TRAILING;
	if (strcmp(fault, "magic") == 0)
		return KILN_E_MAGIC;
	if (strcmp(fault, "version") == 0)
		return KILN_E_VERSION;
	if (strcmp(fault, "header zeros") == 0 || strcmp(fault, "reserved") == 0 || strcmp(fault, "entry zeros") == 0 ||
		strcmp(fault, "padding") == 0)
		return KILN_E_RESERVED;
	if (strcmp(fault, "name UTF-8") == 0)
		return KILN_E_UTF8;
	if (strcmp(fault, "name NUL") == 0)
		return KILN_E_NUL;
	if (strcmp(fault, "bool payload") == 0)
		return KILN_E_BOOL;
	if (strcmp(fault, "total") == 0)
		return KILN_E_OK;		/* truncated or trailing, by what was changed */
	return KILN_E_DIRECTORY;
}

/* One tensor of the row's name, dtype and shape, whose element i is i + 0.5. */
static void
check_big(jsonl *in)
{
	size_t		elements = (size_t) jsonl_int(in, "bytes", 0) - 192;
	kiln_tensor tensor = {0};
	uint64_t	total;
	uint8_t    *data = malloc(elements);
	uint8_t    *out;
	uint8_t    *head;
	char		digest[65];
	size_t		i;

	elements /= 8;
	for (i = 0; i < elements; i++)
		kiln_store_f64(data + 8 * i, (double) i + 0.5);
	tensor.name = jsonl_string(in, "name");
	tensor.name_length = (uint16_t) strlen(tensor.name);
	tensor.dtype = kiln_dtype_find(jsonl_string(in, "dtype"), strlen(jsonl_string(in, "dtype")));
	tensor.rank = 1;
	tensor.shape[0] = elements;
	tensor.length = 8 * elements;
	tensor.data = data;
	assert_true(kiln_directory_layout(&tensor, 1, &total, NULL));
	assert_int_equal(total, jsonl_int(in, "bytes", 0));
	out = malloc(total);
	kiln_directory_build(&tensor, 1, total, out);
	assert_int_equal(jsonl_hex(in, "head", &head), 192);
	assert_memory_equal(out, head, 192);
	sha256_hex(out, total, digest);
	assert_string_equal(digest, jsonl_string(in, "sha256"));
	assert_true(kiln_directory_validate(out, total, NULL));
	check_rebuild(out, total);
	free(out);
	free(data);
}

static void
check_invalid(jsonl *in)
{
	uint8_t    *bytes;
	size_t		n = jsonl_hex(in, "directory", &bytes);
	uint8_t    *directory = exact_copy(bytes, n);
	kiln_error	error;
	kiln_code	code;

	if (kiln_directory_validate(directory, n, &error))
		fail_msg("row %lld is accepted", jsonl_int(in, "id", 0));
	if (error.offset != (size_t) jsonl_int(in, "offset", -1))
		fail_msg("row %lld: offset %zu, %s", jsonl_int(in, "id", 0), error.offset, error.detail);
	code = code_of_fault(jsonl_string(in, "fault"), error.offset);
	if (code != KILN_E_OK && code != error.code)
		fail_msg("row %lld: %s, %s", jsonl_int(in, "id", 0), kiln_error_text(error.code), error.detail);
	free(directory);
}

static void
test_vectors(void **state)
{
	jsonl		in;
	unsigned	rows[3] = {0, 0, 0};

	(void) state;
	assert_true(jsonl_open(&in, "tensors.jsonl"));
	while (jsonl_next(&in))
	{
		const char *kind = jsonl_string(&in, "kind");

		if (strcmp(kind, "directory") == 0)
		{
			uint8_t    *bytes;
			size_t		n = jsonl_hex(&in, "directory", &bytes);
			uint8_t    *directory = exact_copy(bytes, n);
			kiln_error	error;

			if (!kiln_directory_validate(directory, n, &error))
				fail_msg("row %lld: %s at %zu", jsonl_int(&in, "id", 0), kiln_error_text(error.code), error.offset);
			check_rebuild(directory, n);
			free(directory);
			rows[0]++;
		}
		else if (strcmp(kind, "big") == 0)
		{
			check_big(&in);
			rows[1]++;
		}
		else
		{
			assert_string_equal(kind, "invalid");
			check_invalid(&in);
			rows[2]++;
		}
	}
	jsonl_close(&in);
	assert_int_equal(rows[0], 72);
	assert_int_equal(rows[1], 2);
	assert_int_equal(rows[2], 79);
}

/* ------------------------------------------------------------------ dtypes and sizes */

static void
test_dtypes(void **state)
{
	static const char *const names[] = {
		"bool", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f16", "bf16", "f32", "f64"
	};
	static const uint32_t widths[] = {1, 1, 2, 4, 8, 1, 2, 4, 8, 2, 2, 4, 8};
	uint8_t		i;

	(void) state;
	for (i = 0; i < 13; i++)
	{
		assert_string_equal(kiln_dtype_name((uint8_t) (i + 1)), names[i]);
		assert_int_equal(kiln_dtype_width((uint8_t) (i + 1)), widths[i]);
		assert_int_equal(kiln_dtype_find(names[i], strlen(names[i])), i + 1);
	}
	assert_null(kiln_dtype_name(0));
	assert_null(kiln_dtype_name(14));
	assert_int_equal(kiln_dtype_width(0), 0);
	assert_int_equal(kiln_dtype_width(255), 0);
	assert_int_equal(kiln_dtype_find("f6", 2), 0);
	assert_int_equal(kiln_dtype_find("f644", 4), 0);
	assert_int_equal(kiln_dtype_find("F64", 3), 0);
	assert_int_equal(kiln_dtype_find("", 0), 0);
}

static void
test_sizes(void **state)
{
	static const struct
	{
		uint8_t		dtype;
		uint8_t		rank;
		uint64_t	shape[3];
		bool		good;
		uint64_t	length;
		uint64_t	elements;
	}			rows[] =
	{
		{KILN_DTYPE_F64, 0, {0}, true, 8, 1},
		{KILN_DTYPE_F64, 1, {0}, true, 0, 0},
		{KILN_DTYPE_F64, 2, {2, 3}, true, 48, 6},
		{KILN_DTYPE_BF16, 3, {2, 0, 3}, true, 0, 0},
		{KILN_DTYPE_U8, 1, {INT64_MAX}, true, INT64_MAX, INT64_MAX},
		{KILN_DTYPE_U8, 1, {(uint64_t) INT64_MAX + 1}, false, 0, 0},
		{KILN_DTYPE_U8, 1, {UINT64_MAX}, false, 0, 0},
		{KILN_DTYPE_F64, 1, {UINT64_C(1) << 60}, false, 0, 0},
		{KILN_DTYPE_F64, 1, {(UINT64_C(1) << 60) - 1}, true, (UINT64_C(1) << 63) - 8, (UINT64_C(1) << 60) - 1},
		{KILN_DTYPE_U8, 2, {UINT64_C(1) << 32, UINT64_C(1) << 32}, false, 0, 0},
		{KILN_DTYPE_U8, 2, {3, UINT64_C(6148914691236517206)}, false, 0, 0},
		{KILN_DTYPE_U8, 3, {0, UINT64_C(1) << 32, UINT64_C(1) << 32}, false, 0, 0},
		{0, 1, {1}, false, 0, 0},
		{14, 1, {1}, false, 0, 0},
		{KILN_DTYPE_U8, 9, {1}, false, 0, 0},
	};
	size_t		i;

	(void) state;
	for (i = 0; i < sizeof rows / sizeof rows[0]; i++)
	{
		uint64_t	length = 1;
		uint64_t	elements = 1;

		assert_int_equal(kiln_tensor_size(rows[i].dtype, rows[i].rank, rows[i].shape, &length, &elements),
						 rows[i].good);
		if (rows[i].good)
		{
			assert_true(length == rows[i].length);
			assert_true(elements == rows[i].elements);
		}
	}
}

static void
test_names(void **state)
{
	char		name[105];

	(void) state;
	memset(name, 'n', sizeof name);
	assert_true(kiln_tensor_name_valid("", 0, 0));
	assert_true(kiln_tensor_name_valid(name, 104, 0));
	assert_false(kiln_tensor_name_valid(name, 105, 0));
	assert_true(kiln_tensor_name_valid(name, 40, 8));
	assert_false(kiln_tensor_name_valid(name, 41, 8));
	assert_false(kiln_tensor_name_valid("", 0, 9));
	assert_true(kiln_tensor_name_valid("a$", 2, 1));
	assert_false(kiln_tensor_name_valid("$a", 2, 1));
	assert_false(kiln_tensor_name_valid("a\0b", 3, 1));
	assert_false(kiln_tensor_name_valid("\xed\xa0\x80", 3, 1));
}

/* ------------------------------------------------------------------ build */

static kiln_tensor
bytes_tensor(const char *name, uint64_t n, const uint8_t *data)
{
	kiln_tensor tensor = {0};

	tensor.name = name;
	tensor.name_length = (uint16_t) strlen(name);
	tensor.dtype = KILN_DTYPE_U8;
	tensor.rank = 1;
	tensor.shape[0] = tensor.length = n;
	tensor.data = data;
	return tensor;
}

/* What the builder refuses, each with the tensor it blames. */
static void
test_layout_refuses(void **state)
{
	kiln_tensor good[2];
	kiln_tensor bad[2];
	kiln_error	error;
	uint64_t	total;

	(void) state;
	good[0] = bytes_tensor("a", 1, NULL);
	good[1] = bytes_tensor("b", 100, NULL);
	assert_true(kiln_directory_layout(good, 2, &total, &error));
	assert_int_equal(good[0].offset, 64 + 2 * 128);
	assert_int_equal(good[1].offset, 64 + 2 * 128 + 64);
	assert_int_equal(total, 64 + 2 * 128 + 64 + 100);

#define REFUSED(change, wanted_code, wanted_path) \
	memcpy(bad, good, sizeof bad); \
	change; \
	assert_false(kiln_directory_layout(bad, 2, &total, &error)); \
	assert_int_equal(error.code, wanted_code); \
	assert_string_equal(error.path, wanted_path)

	REFUSED(bad[1].name = "a", KILN_E_DIRECTORY, "a");
	REFUSED(bad[0].name = "c", KILN_E_DIRECTORY, "b");
	REFUSED((bad[1].name = "", bad[1].name_length = 0), KILN_E_DIRECTORY, "\"\"");
	REFUSED(bad[1].name = "$", KILN_E_DIRECTORY, "[1]");
	REFUSED(bad[1].name = "\xff", KILN_E_DIRECTORY, "[1]");
	REFUSED(bad[0].dtype = 0, KILN_E_DIRECTORY, "a");
	REFUSED(bad[0].rank = 9, KILN_E_DIRECTORY, "a");
	REFUSED(bad[1].length = 99, KILN_E_DIRECTORY, "b");
	REFUSED((bad[1].dtype = KILN_DTYPE_F64, bad[1].shape[0] = UINT64_MAX / 8), KILN_E_SIZE, "b");
	REFUSED((bad[0].shape[0] = bad[0].length = INT64_MAX - 1000, bad[1].shape[0] = bad[1].length = INT64_MAX - 1000),
			KILN_E_SIZE, "b");
	REFUSED(bad[0].shape[0] = bad[0].length = INT64_MAX, KILN_E_SIZE, "a");
#undef REFUSED
}

/* Room for a payload that the caller fills: nothing but the payload's own bytes is left to do. */
static void
test_build_leaves_room(void **state)
{
	kiln_tensor tensors[3];
	uint8_t		fives[70];
	uint8_t    *out;
	uint64_t	total;

	(void) state;
	memset(fives, 5, sizeof fives);
	tensors[0] = bytes_tensor("", 70, fives);
	tensors[1] = bytes_tensor("empty", 0, NULL);
	tensors[2] = bytes_tensor("room", 3, NULL);
	assert_true(kiln_directory_layout(tensors, 3, &total, NULL));
	assert_int_equal(total, 64 + 3 * 128 + 128 + 3);
	out = malloc(total);
	memset(out, 0xee, total);
	kiln_directory_build(tensors, 3, total, out);
	memset(out + tensors[2].offset, 1, 3);
	assert_true(kiln_directory_validate(out, total, NULL));
	assert_int_equal(kiln_directory_find(out, total, "room", 4), 2);
	assert_int_equal(kiln_directory_find(out, total, "", 0), 0);
	check_rebuild(out, total);
	free(out);
}

/* With only a head of the directory at hand, entries are readable as far as they are in it. */
static void
test_head_of_a_directory(void **state)
{
	kiln_tensor tensors[2];
	kiln_tensor found;
	uint8_t		out[64 + 2 * 128 + 64 + 1];
	uint8_t    *head;
	uint64_t	total;

	(void) state;
	tensors[0] = bytes_tensor("a", 1, (const uint8_t *) "x");
	tensors[1] = bytes_tensor("b", 1, (const uint8_t *) "y");
	assert_true(kiln_directory_layout(tensors, 2, &total, NULL));
	assert_int_equal(total, sizeof out);
	kiln_directory_build(tensors, 2, total, out);

	head = exact_copy(out, 64 + 128 + 127);
	assert_int_equal(kiln_directory_count(head, 64 + 128 + 127), 2);
	assert_true(kiln_directory_entry(head, 64 + 128 + 127, 0, &found));
	assert_int_equal(found.offset, 64 + 2 * 128);
	assert_ptr_equal(found.data, head + found.offset);
	assert_false(kiln_directory_entry(head, 64 + 128 + 127, 1, &found));
	assert_int_equal(kiln_directory_find(head, 64 + 128 + 127, "b", 1), -1);
	free(head);

	head = exact_copy(out, 63);
	assert_int_equal(kiln_directory_count(head, 63), 0);
	assert_false(kiln_directory_entry(head, 63, 0, &found));
	free(head);
}

/* A bool that is neither 0 nor 1 is found at every place of a payload, whichever way it is looked at. */
static void
test_every_bool_is_checked(void **state)
{
	uint8_t		data[41];
	size_t		n;
	size_t		at;

	(void) state;
	for (n = 1; n <= sizeof data; n += 5)
	{
		kiln_tensor tensor;
		uint64_t	total;
		uint8_t    *out;

		memset(data, 1, sizeof data);
		tensor = bytes_tensor("b", n, data);
		tensor.dtype = KILN_DTYPE_BOOL;
		assert_true(kiln_directory_layout(&tensor, 1, &total, NULL));
		out = malloc(total);
		kiln_directory_build(&tensor, 1, total, out);
		assert_true(kiln_directory_validate(out, total, NULL));
		for (at = 0; at < n; at++)
		{
			kiln_error	error;

			out[192 + at] = at % 2 ? 2 : 0x80;
			assert_false(kiln_directory_validate(out, total, &error));
			assert_int_equal(error.code, KILN_E_BOOL);
			assert_int_equal(error.offset, 192 + at);
			out[192 + at] = 0;
		}
		free(out);
	}
}

/* Random directories: accepted and rebuilt; with any one byte changed, refused or still a directory of one spelling. */
static void
test_random_directories(void **state)
{
	test_random r = {4};
	int			turn;

	(void) state;
	for (turn = 0; turn < 300; turn++)
	{
		static const char *const names[] = {"", "a", "ab", "a\xc3\xa9", "b", "long name with blanks", "z"};
		kiln_tensor tensors[7];
		uint8_t		data[512];
		uint32_t	count = 0;
		uint64_t	total;
		uint64_t	elements;
		uint8_t    *out;
		size_t		i;

		for (i = 0; i < sizeof data; i++)
			data[i] = (uint8_t) test_random_below(&r, 2);
		for (i = 0; i < 7; i++)
		{
			kiln_tensor *tensor = &tensors[count];
			uint8_t		d;

			if (test_random_once(&r, 2))
				continue;
			*tensor = bytes_tensor(names[i], 0, data);
			tensor->dtype = (uint8_t) (1 + test_random_below(&r, 13));
			tensor->rank = (uint8_t) test_random_below(&r, 4);
			for (d = 0; d < tensor->rank; d++)
				tensor->shape[d] = test_random_below(&r, 5);
			assert_true(kiln_tensor_size(tensor->dtype, tensor->rank, tensor->shape, &tensor->length, &elements));
			count++;
		}
		assert_true(kiln_directory_layout(tensors, count, &total, NULL));
		out = malloc(total);
		kiln_directory_build(tensors, count, total, out);
		assert_true(kiln_directory_validate(out, total, NULL));
		check_rebuild(out, total);
		for (i = 0; i < 200; i++)
		{
			size_t		at = test_random_below(&r, (uint32_t) total);
			uint8_t		kept = out[at];

			out[at] ^= (uint8_t) (1 << test_random_below(&r, 8));
			if (kiln_directory_validate(out, total, NULL))
				check_rebuild(out, total);
			out[at] = kept;
		}
		free(out);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_vectors),
		cmocka_unit_test(test_dtypes),
		cmocka_unit_test(test_sizes),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_layout_refuses),
		cmocka_unit_test(test_build_leaves_room),
		cmocka_unit_test(test_head_of_a_directory),
		cmocka_unit_test(test_every_bool_is_checked),
		cmocka_unit_test(test_random_directories),
	};

	return cmocka_run_group_tests_name("directory", tests, NULL, NULL);
}
