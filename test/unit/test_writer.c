/*
 * Writer: stores, growth and its limits, batched messages, hand-over.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "kiln.h"

static void
test_stores_are_little_endian(void **state)
{
	static const uint8_t expected[] = {
		0x01, 0x03, 0x02, 0x07, 0x06, 0x05, 0x04, 0x0f, 0x0e, 0x0d, 0x0c, 0x0b, 0x0a, 0x09, 0x08,
		0x00, 0x00, 0x80, 0x3f, 0, 0, 0, 0, 0, 0, 0xf0, 0xbf, 'r', 'a', 'w', 2, 0, 0, 0, 'h', 'i', 0, 0, 0, 0
	};
	uint8_t		buffer[sizeof expected];
	kiln_writer writer;

	(void) state;
	kiln_writer_init(&writer, buffer, sizeof buffer);
	assert_true(kiln_writer_reserve(&writer, sizeof expected));
	kiln_writer_u8(&writer, 0x01);
	kiln_writer_u16(&writer, 0x0203);
	kiln_writer_u32(&writer, 0x04050607);
	kiln_writer_u64(&writer, UINT64_C(0x08090a0b0c0d0e0f));
	kiln_writer_f32(&writer, 1.0f);
	kiln_writer_f64(&writer, -1.0);
	kiln_writer_bytes(&writer, "raw", 3);
	kiln_writer_bytes(&writer, NULL, 0);
	kiln_writer_span(&writer, "hi", 2);
	kiln_writer_span(&writer, NULL, 0);
	assert_int_equal(kiln_writer_length(&writer), sizeof expected);
	assert_memory_equal(buffer, expected, sizeof expected);
	kiln_writer_reset(&writer);
	assert_int_equal(kiln_writer_length(&writer), 0);
}

/* A borrowed buffer has the room it has. */
static void
test_borrowed_buffer_does_not_grow(void **state)
{
	uint8_t		buffer[8];
	kiln_writer writer;

	(void) state;
	kiln_writer_init(&writer, buffer, sizeof buffer);
	assert_true(kiln_writer_reserve(&writer, 8));
	kiln_writer_u32(&writer, 7);
	assert_true(kiln_writer_reserve(&writer, 4));
	assert_false(kiln_writer_reserve(&writer, 5));
	assert_false(kiln_writer_reserve(&writer, SIZE_MAX));
	assert_int_equal(kiln_writer_length(&writer), 4);
	assert_ptr_equal(writer.start, buffer);
}

static void
test_growth_keeps_bytes(void **state)
{
	kiln_writer writer;
	size_t		length;
	uint8_t    *buffer;
	uint32_t	i;

	(void) state;
	kiln_writer_init(&writer, NULL, 0);
	writer.grow = kiln_writer_grow_malloc;
	assert_true(kiln_writer_reserve(&writer, 0));
	for (i = 0; i < 100000; i++)
	{
		assert_true(kiln_writer_reserve(&writer, 4));
		kiln_writer_u32(&writer, i);
	}
	buffer = kiln_writer_detach(&writer, &length);
	assert_int_equal(length, 400000);
	for (i = 0; i < 100000; i++)
		assert_int_equal(kiln_load_u32(buffer + 4 * (size_t) i), i);
	free(buffer);

	/* the writer starts afresh, with the same grow function */
	assert_int_equal(kiln_writer_length(&writer), 0);
	assert_true(kiln_writer_reserve(&writer, 1));
	kiln_writer_u8(&writer, 9);
	buffer = kiln_writer_detach(&writer, &length);
	assert_int_equal(length, 1);
	assert_int_equal(buffer[0], 9);
	free(buffer);
	assert_null(kiln_writer_detach(&writer, &length));
	assert_int_equal(length, 0);
}

static void
test_limit_bounds_the_whole(void **state)
{
	kiln_writer writer;
	size_t		length;
	uint8_t    *buffer;

	(void) state;
	kiln_writer_init(&writer, NULL, 0);
	writer.grow = kiln_writer_grow_malloc;
	writer.limit = 100;
	assert_true(kiln_writer_reserve(&writer, 90));
	memset(writer.pos, 1, 90);
	writer.pos += 90;
	assert_true(kiln_writer_reserve(&writer, 10));
	assert_true((size_t) (writer.end - writer.start) <= 100);
	assert_false(kiln_writer_reserve(&writer, 11));
	assert_false(kiln_writer_reserve(&writer, SIZE_MAX - 50));
	assert_int_equal(kiln_writer_length(&writer), 90);
	buffer = kiln_writer_detach(&writer, &length);
	free(buffer);
}

/* A grow function that gives exactly what is needed, and no more: asked for double, it refuses. */
typedef struct miser
{
	size_t		most;
	unsigned	refused;
} miser;

static bool
miserly_grow(kiln_writer *writer, size_t capacity)
{
	miser	   *m = writer->context;

	if (capacity > m->most)
	{
		m->refused++;
		return false;
	}
	return kiln_writer_grow_malloc(writer, capacity);
}

static void
test_growth_falls_back_to_what_is_needed(void **state)
{
	kiln_writer writer;
	miser		m = {1000, 0};
	size_t		length;

	(void) state;
	kiln_writer_init(&writer, NULL, 0);
	writer.grow = miserly_grow;
	writer.context = &m;
	assert_true(kiln_writer_reserve(&writer, 600));
	writer.pos += 600;
	assert_int_equal(m.refused, 0);
	assert_true(kiln_writer_reserve(&writer, 400));
	assert_int_equal(m.refused, 1);
	assert_false(kiln_writer_reserve(&writer, 401));
	assert_int_equal(kiln_writer_length(&writer), 600);
	free(kiln_writer_detach(&writer, &length));
}

/* [u32 length][message]…, across moves of the buffer. */
static void
test_batched_messages(void **state)
{
	kiln_writer writer;
	kiln_reader reader;
	uint8_t    *buffer;
	size_t		length;
	uint32_t	i;

	(void) state;
	kiln_writer_init(&writer, NULL, 0);
	writer.grow = kiln_writer_grow_malloc;
	for (i = 0; i < 300; i++)
	{
		size_t		mark = kiln_writer_begin_message(&writer);
		uint32_t	n = i * 7 % 50;

		assert_true(mark != SIZE_MAX);
		assert_true(kiln_writer_reserve(&writer, n));
		if (n != 0)
			memset(writer.pos, (int) i, n);
		writer.pos += n;
		assert_true(kiln_writer_end_message(&writer, mark));
	}
	buffer = kiln_writer_detach(&writer, &length);
	kiln_reader_init(&reader, buffer, length);
	for (i = 0; i < 300; i++)
	{
		uint32_t	n;
		const uint8_t *message = kiln_reader_span(&reader, &n);

		assert_non_null(message);
		assert_int_equal(n, i * 7 % 50);
		if (n > 0)
			assert_int_equal(message[n - 1], (uint8_t) i);
	}
	assert_false(reader.failed);
	assert_int_equal(kiln_reader_left(&reader), 0);
	free(buffer);
}

static void
test_message_without_room(void **state)
{
	uint8_t		buffer[3];
	kiln_writer writer;

	(void) state;
	kiln_writer_init(&writer, buffer, sizeof buffer);
	assert_true(kiln_writer_begin_message(&writer) == SIZE_MAX);
	assert_int_equal(kiln_writer_length(&writer), 0);
}

#if SIZE_MAX > UINT32_MAX
/* The longest message is 2^32 - 1 bytes. Nothing is written to the memory that this asks for but the length word. */
static void
test_message_too_long(void **state)
{
	size_t		capacity = (size_t) UINT32_MAX + 5;
	uint8_t    *buffer = malloc(capacity);
	kiln_writer writer;
	size_t		mark;

	(void) state;
	if (buffer == NULL)
		skip();
	kiln_writer_init(&writer, buffer, capacity);
	mark = kiln_writer_begin_message(&writer);
	writer.pos += UINT32_MAX;
	assert_true(kiln_writer_end_message(&writer, mark));
	assert_true(kiln_load_u32(buffer) == UINT32_MAX);
	writer.pos += 1;
	assert_false(kiln_writer_end_message(&writer, mark));
	assert_int_equal(kiln_writer_length(&writer), 0);
	free(buffer);
}
#endif

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_stores_are_little_endian),
		cmocka_unit_test(test_borrowed_buffer_does_not_grow),
		cmocka_unit_test(test_growth_keeps_bytes),
		cmocka_unit_test(test_limit_bounds_the_whole),
		cmocka_unit_test(test_growth_falls_back_to_what_is_needed),
		cmocka_unit_test(test_batched_messages),
		cmocka_unit_test(test_message_without_room),
#if SIZE_MAX > UINT32_MAX
		cmocka_unit_test(test_message_too_long),
#endif
	};

	return cmocka_run_group_tests_name("writer", tests, NULL, NULL);
}
