/*
 * Writer: growing room, batched messages, hand-over.
 *
 * The stores themselves are inline in kiln.h and check nothing; what is here runs once for a value or more seldom.
 *
 * Invariant: start <= pos <= end, and what was written stands in [start, pos). A grow function may move the buffer,
 * so that a place in it is kept as an offset from start across anything that may reserve.
 */
#include <stdlib.h>

#include "internal.h"

/* The first buffer of a writer that starts with none, and the least step by which one grows. */
#define WRITER_FIRST	64

/*
 * Room for n more bytes that are not there yet: double the buffer, within the limit. If so much can't be had,
 * what is needed may still be.
 */
bool
kiln_writer_reserve_slow(kiln_writer *writer, size_t n)
{
	size_t		used = kiln_writer_length(writer);
	size_t		capacity = (size_t) (writer->end - writer->start);
	size_t		want;
	size_t		roomy;

	if (used > writer->limit || n > writer->limit - used)
		return false;
	want = used + n;
	if (want <= capacity)
		return true;
	if (writer->grow == NULL)
		return false;

	roomy = capacity > writer->limit / 2 ? writer->limit : capacity * 2;
	if (roomy < WRITER_FIRST)
		roomy = WRITER_FIRST < writer->limit ? WRITER_FIRST : writer->limit;
	if (roomy > want && writer->grow(writer, roomy))
		return true;
	return writer->grow(writer, want);
}

bool
kiln_writer_room(kiln_writer *writer, uint64_t size, kiln_error *error)
{
	size_t		used = kiln_writer_length(writer);

	if (used > writer->limit || size > writer->limit - used)
		return kiln_fail(error, KILN_E_SIZE, 0, NULL);
	if (kiln_writer_reserve(writer, (size_t) size))
		return true;
	if (writer->grow == NULL)
		return kiln_fail(error, KILN_E_SIZE, 0, "the buffer is too small");
	return kiln_fail(error, KILN_E_MEMORY, 0, NULL);
}

/*
 * Start a message: room for its length word, which kiln_writer_end_message() fills. Messages may not nest in one
 * another's bytes other than by being ended in reverse order.
 */
size_t
kiln_writer_begin_message(kiln_writer *writer)
{
	size_t		mark = kiln_writer_length(writer);

	if (!kiln_writer_reserve(writer, 4))
		return SIZE_MAX;
	kiln_writer_u32(writer, 0);
	return mark;
}

/*
 * Close the message that mark began. False if it has 2^32 bytes or more, which its length word can't say: it is
 * then taken back whole.
 */
bool
kiln_writer_end_message(kiln_writer *writer, size_t mark)
{
	size_t		length = kiln_writer_length(writer) - mark - 4;

#if SIZE_MAX > UINT32_MAX
	if (length > UINT32_MAX)
	{
		writer->pos = writer->start + mark;
		return false;
	}
#endif
	kiln_store_u32(writer->start + mark, (uint32_t) length);
	return true;
}

/*
 * Hand the buffer over; the caller frees it as the grow function allocated it. The writer is left without one, with
 * its limit and grow function, ready to start the next. NULL if nothing was ever reserved.
 */
uint8_t *
kiln_writer_detach(kiln_writer *writer, size_t *length)
{
	uint8_t    *buffer = writer->start;

	*length = kiln_writer_length(writer);
	writer->start = writer->pos = writer->end = NULL;
	return buffer;
}

/* The one place in the codec that knows malloc beside the default allocator: the caller asks for it by name. */
bool
kiln_writer_grow_malloc(kiln_writer *writer, size_t capacity)
{
	size_t		used = kiln_writer_length(writer);
	uint8_t    *buffer = realloc(writer->start, capacity);

	if (buffer == NULL)
		return false;
	writer->start = buffer;
	writer->pos = buffer + used;
	writer->end = buffer + capacity;
	return true;
}
