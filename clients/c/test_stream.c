/*
 * COPY streams as no server sends them: cut anywhere, cut short, damaged. No server; libpq's functions for reading a
 * COPY are the ones below, which deal out a stream in pieces.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "kiln_pq.h"

static const uint8_t *stream;
static size_t stream_length;
static size_t stream_at;
static size_t piece;			/* bytes of a message */

int
PQgetCopyData(PGconn *conn, char **buffer, int async)
{
	size_t		n = stream_length - stream_at < piece ? stream_length - stream_at : piece;

	(void) conn;
	(void) async;
	*buffer = NULL;
	if (n == 0)
		return -1;
	*buffer = malloc(n);
	memcpy(*buffer, stream + stream_at, n);
	stream_at += n;
	return (int) n;
}

PGresult *
PQgetResult(PGconn *conn)
{
	(void) conn;
	return NULL;
}

PGTransactionStatusType
PQtransactionStatus(const PGconn *conn)
{
	(void) conn;
	return PQTRANS_ACTIVE;
}

void
PQfreemem(void *memory)
{
	free(memory);
}

#define HEADER	'P', 'G', 'C', 'O', 'P', 'Y', '\n', 0xff, '\r', '\n', 0, 0, 0, 0, 0, 0, 0, 0, 0

/* Two columns; NULL and an empty one; no column; the end. */
static const uint8_t good[] = {
	HEADER,
	0, 2, 0, 0, 0, 4, 0, 0, 1, 2, 0, 0, 0, 8, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xfe,
	0, 2, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0,
	0, 0,
	0xff, 0xff
};

static void
start(kiln_pq_copy *copy, const uint8_t *bytes, size_t n, size_t size)
{
	stream = bytes;
	stream_length = n;
	stream_at = 0;
	piece = size;
	assert_true(kiln_pq_copy_open(copy, NULL, NULL));
}

static void
test_pieces(void **state)
{
	kiln_pq_error error;
	kiln_pq_copy copy;

	(void) state;
	for (size_t size = 1; size <= sizeof good; size++)
	{
		start(&copy, good, sizeof good, size);
		assert_int_equal(kiln_pq_copy_row(&copy, &error), KILN_PQ_FOUND);
		assert_int_equal(copy.columns, 2);
		assert_int_equal(kiln_pq_int4(&copy.fields[0]), 258);
		assert_int_equal(kiln_pq_int8(&copy.fields[1]), -2);
		assert_int_equal(kiln_pq_copy_row(&copy, &error), KILN_PQ_FOUND);
		assert_null(copy.fields[0].data);
		assert_non_null(copy.fields[1].data);
		assert_int_equal(copy.fields[1].length, 0);
		assert_int_equal(kiln_pq_copy_row(&copy, &error), KILN_PQ_FOUND);
		assert_int_equal(copy.columns, 0);
		assert_int_equal(kiln_pq_copy_row(&copy, &error), KILN_PQ_ABSENT);
		assert_int_equal(kiln_pq_copy_row(&copy, &error), KILN_PQ_ABSENT);
		kiln_pq_copy_close(&copy);
	}
}

/* All rows of a stream; how it ended. */
static kiln_pq_found
drain(const uint8_t *bytes, size_t n, size_t size, kiln_pq_error *error)
{
	kiln_pq_copy copy;
	kiln_pq_found found;

	start(&copy, bytes, n, size);
	while ((found = kiln_pq_copy_row(&copy, error)) == KILN_PQ_FOUND)
		continue;
	kiln_pq_copy_close(&copy);
	return found;
}

static void
test_cut_short(void **state)
{
	(void) state;
	for (size_t n = 0; n < sizeof good; n++)
	{
		for (size_t size = 1; size <= n + 1; size += 3)
		{
			kiln_pq_error error;

			assert_int_equal(drain(good, n, size, &error), KILN_PQ_FAILED);
			assert_int_equal(error.code, KILN_PQ_E_PROTOCOL);
		}
	}
}

/*
 * Every byte damaged in every way that matters: an answer or an error, no read beyond the stream (a sanitizer would
 * see it).
 */
static void
test_damaged(void **state)
{
	static const uint8_t bytes[] = {0, 1, 0x7f, 0x80, 0xfe, 0xff};
	uint8_t		bad[sizeof good];

	(void) state;
	for (size_t i = 0; i < sizeof good; i++)
	{
		for (size_t k = 0; k < sizeof bytes; k++)
		{
			kiln_pq_error error;
			kiln_pq_found found;

			memcpy(bad, good, sizeof good);
			bad[i] = bytes[k];
			found = drain(bad, sizeof bad, 7, &error);
			if (i < 13 && bytes[k] != good[i])
				assert_int_equal(found, KILN_PQ_FAILED);
			if (found == KILN_PQ_FAILED)
				assert_int_equal(error.code, KILN_PQ_E_PROTOCOL);
		}
	}
}

static void
test_behind_the_end(void **state)
{
	uint8_t		longer[sizeof good + 1] = {0};
	kiln_pq_error error;

	(void) state;
	memcpy(longer, good, sizeof good);
	for (size_t size = 1; size <= sizeof longer; size++)
	{
		assert_int_equal(drain(longer, sizeof longer, size, &error), KILN_PQ_FAILED);
		assert_int_equal(error.code, KILN_PQ_E_PROTOCOL);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pieces),
		cmocka_unit_test(test_cut_short),
		cmocka_unit_test(test_damaged),
		cmocka_unit_test(test_behind_the_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
