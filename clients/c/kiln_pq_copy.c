/*
 * COPY in binary, both ways.
 *
 * The stream is a signature, flags, rows of counted columns, and a trailer (PostgreSQL's documentation of COPY).
 * Reading, a row is used where libpq put it as long as one message holds it whole, which is how servers send; else it
 * is put together in a buffer of our own. Writing, rows are collected and sent in portions.
 */
#include <stdio.h>
#include <stdlib.h>

#include "kiln_pq_internal.h"

static const uint8_t signature[11] = {'P', 'G', 'C', 'O', 'P', 'Y', '\n', 0xff, '\r', '\n', 0};

#define HEADER		19			/* signature, flags, length of an extension */
#define OIDS		0x00010000	/* the flag of rows with oids, which no server sends any more */
#define PORTION		65536
#define MAX_ROW		1073741824	/* what the server could send or take */

static bool
out_of_memory(kiln_pq_error *error)
{
	return kiln_pq_fail(error, KILN_PQ_E_MEMORY, NULL, "out of memory");
}

static bool
broken(const char *what, kiln_pq_error *error)
{
	return kiln_pq_fail(error, KILN_PQ_E_PROTOCOL, NULL, "%s", what);
}

static bool
server_said(const char *text, kiln_pq_error *error)
{
	return kiln_pq_fail(error, KILN_PQ_E_SERVER, NULL, "%.*s", (int) strcspn(text, "\n"), text);
}

/* Take in what the server says at the end. */
static bool
finish(PGconn *conn, int64_t *rows, kiln_pq_error *error)
{
	bool		good = true;
	PGresult   *result;

	while ((result = PQgetResult(conn)) != NULL)
	{
		if (PQresultStatus(result) == PGRES_COMMAND_OK)
		{
			if (rows != NULL)
				*rows = strtoll(PQcmdTuples(result), NULL, 10);
		}
		else if (good)
			good = server_said(PQresultErrorMessage(result), error);
		PQclear(result);
	}
	return good;
}

/* ------------------------------------------------------------------ reading */

bool
kiln_pq_copy_open(kiln_pq_copy *copy, PGconn *conn, kiln_pq_error *error)
{
	memset(copy, 0, sizeof *copy);
	copy->conn = conn;
	if (PQtransactionStatus(conn) != PQTRANS_ACTIVE)
		return broken("no COPY is under way", error);
	return true;
}

void
kiln_pq_copy_close(kiln_pq_copy *copy)
{
	PGresult   *result;

	if (copy->message != NULL)
		PQfreemem(copy->message);
	copy->message = NULL;
	if (copy->conn != NULL && !copy->ended)
	{
		/* what is left of the stream goes unread */
		while (PQgetCopyData(copy->conn, &copy->message, 0) > 0)
			PQfreemem(copy->message);
		while ((result = PQgetResult(copy->conn)) != NULL)
			PQclear(result);
	}
	free(copy->carry);
	free(copy->fields);
	memset(copy, 0, sizeof *copy);
}

/* Get the next message. The bytes not used yet are kept before it. KILN_PQ_ABSENT: there is none. */
static kiln_pq_found
more(kiln_pq_copy *copy, kiln_pq_error *error)
{
	size_t		kept = (size_t) (copy->end - copy->pos);
	char	   *message;
	int			n = PQgetCopyData(copy->conn, &message, 0);

	if (n <= 0)
	{
		copy->ended = true;
		if (n == -2)
			server_said(PQerrorMessage(copy->conn), error);
		if (!finish(copy->conn, NULL, n == -2 ? NULL : error) || n == -2)
			return KILN_PQ_FAILED;
		return KILN_PQ_ABSENT;
	}
	if (kept != 0)
	{
		uint8_t    *carry = copy->carry;
		size_t		wanted = kept + (size_t) n;

		if (wanted > MAX_ROW)
		{
			PQfreemem(message);
			broken("a row of the COPY stream is too large", error);
			return KILN_PQ_FAILED;
		}
		if (wanted > copy->carry_size)
		{
			carry = malloc(2 * wanted);
			if (carry == NULL)
			{
				PQfreemem(message);
				out_of_memory(error);
				return KILN_PQ_FAILED;
			}
		}
		memmove(carry, copy->pos, kept);
		memcpy(carry + kept, message, (size_t) n);
		PQfreemem(message);
		message = NULL;
		if (carry != copy->carry)
		{
			free(copy->carry);
			copy->carry = carry;
			copy->carry_size = 2 * wanted;
		}
		copy->pos = carry;
		copy->end = carry + wanted;
	}
	else
	{
		copy->pos = (const uint8_t *) message;
		copy->end = copy->pos + n;
	}
	if (copy->message != NULL)
		PQfreemem(copy->message);
	copy->message = message;
	return KILN_PQ_FOUND;
}

/* Have n bytes at pos. */
static inline bool
have(kiln_pq_copy *copy, size_t n, kiln_pq_error *error)
{
	kiln_pq_found found = KILN_PQ_FOUND;

	while ((size_t) (copy->end - copy->pos) < n && found == KILN_PQ_FOUND)
		found = more(copy, error);
	if (found == KILN_PQ_ABSENT)
		return broken("the COPY stream ends inside a row", error);
	return found == KILN_PQ_FOUND;
}

static bool
read_header(kiln_pq_copy *copy, kiln_pq_error *error)
{
	uint32_t	extension;

	if (!have(copy, HEADER, error))
		return false;
	if (memcmp(copy->pos, signature, sizeof signature) != 0)
		return broken("the COPY stream is not in binary", error);
	if (kiln_pq_big32(copy->pos + 11) & 0xffff0000)
		return broken(kiln_pq_big32(copy->pos + 11) & OIDS ? "the COPY stream has oids"
					  : "the COPY stream has unknown flags", error);
	extension = kiln_pq_big32(copy->pos + 15);
	if (extension > MAX_ROW || !have(copy, HEADER + (size_t) extension, error))
		return broken("the COPY stream's header is damaged", error);
	copy->pos += HEADER + (size_t) extension;
	copy->begun = true;
	return true;
}

static bool
room_for(kiln_pq_copy *copy, int columns, kiln_pq_error *error)
{
	kiln_pq_field *fields = realloc(copy->fields, (size_t) columns * sizeof *fields);

	if (fields == NULL)
		return out_of_memory(error);
	copy->fields = fields;
	copy->room = columns;
	return true;
}

/*
 * The columns, from pos on, as far as the bytes at hand go. KILN_PQ_ABSENT: *need bytes from pos are wanted. Nothing
 * is taken in; *used is the row's size.
 */
static inline kiln_pq_found
scan_row(kiln_pq_copy *copy, size_t *used, size_t *need, kiln_pq_error *error)
{
	const uint8_t *p = copy->pos + 2;

	for (int i = 0; i < copy->columns; i++)
	{
		int32_t		n;

		if (copy->end - p < 4)
		{
			*need = (size_t) (p - copy->pos) + 4;
			return KILN_PQ_ABSENT;
		}
		n = (int32_t) kiln_pq_big32(p);
		p += 4;
		copy->fields[i].data = NULL;
		copy->fields[i].length = 0;
		if (n == -1)
			continue;
		if (n < 0 || n > MAX_ROW)
		{
			broken("the COPY stream has a column of negative length", error);
			return KILN_PQ_FAILED;
		}
		if (copy->end - p < n)
		{
			*need = (size_t) (p - copy->pos) + (size_t) n;
			return KILN_PQ_ABSENT;
		}
		copy->fields[i].data = p;
		copy->fields[i].length = (uint32_t) n;
		p += n;
	}
	*used = (size_t) (p - copy->pos);
	return KILN_PQ_FOUND;
}

kiln_pq_found
kiln_pq_copy_row(kiln_pq_copy *copy, kiln_pq_error *error)
{
	kiln_pq_found found;
	size_t		used;
	size_t		need;
	int			columns;

	if (copy->ended)
		return KILN_PQ_ABSENT;
	if ((!copy->begun && !read_header(copy, error)) || !have(copy, 2, error))
		return KILN_PQ_FAILED;
	columns = (int16_t) (copy->pos[0] << 8 | copy->pos[1]);
	if (columns == -1)
	{
		copy->pos += 2;
		if (copy->pos != copy->end || (found = more(copy, error)) == KILN_PQ_FOUND)
		{
			broken("bytes follow the COPY stream's end", error);
			return KILN_PQ_FAILED;
		}
		return found;
	}
	if (columns < 0)
	{
		broken("the COPY stream has a row of a negative number of columns", error);
		return KILN_PQ_FAILED;
	}
	if (columns > copy->room && !room_for(copy, columns, error))
		return KILN_PQ_FAILED;
	copy->columns = columns;
	while ((found = scan_row(copy, &used, &need, error)) == KILN_PQ_ABSENT)
	{
		if (!have(copy, need, error))
			return KILN_PQ_FAILED;
	}
	if (found == KILN_PQ_FOUND)
		copy->pos += used;
	return found;
}

kiln_pq_found
kiln_pq_copy_value(const kiln_pq_copy *copy, kiln_pq *client, int column, kiln_pq_value *value, kiln_pq_error *error)
{
	if (column < 0 || column >= copy->columns)
	{
		kiln_pq_fail(error, KILN_PQ_E_TYPE, NULL, "the row has no column %d", column);
		return KILN_PQ_FAILED;
	}
	if (copy->fields[column].data == NULL)
		return KILN_PQ_ABSENT;
	return kiln_pq_value_open(client, copy->fields[column].data, copy->fields[column].length, value, error)
		? KILN_PQ_FOUND : KILN_PQ_FAILED;
}

/* ------------------------------------------------------------------ writing */

struct kiln_pq_put
{
	kiln_pq    *client;
	PGconn	   *conn;
	kiln_writer writer;
	int			wanted;			/* columns that the row still lacks */
};

static void
store_big32(uint8_t *p, uint32_t v)
{
	p[0] = (uint8_t) (v >> 24);
	p[1] = (uint8_t) (v >> 16);
	p[2] = (uint8_t) (v >> 8);
	p[3] = (uint8_t) v;
}

static bool
reserve(kiln_writer *writer, size_t n, kiln_pq_error *error)
{
	return kiln_writer_reserve(writer, n) || out_of_memory(error);
}

bool
kiln_pq_frame_head(kiln_pq *client, const kiln_schema *schema, kiln_writer *writer, kiln_pq_error *error)
{
	if (kiln_pq_is_registered(client, schema))
	{
		if (!reserve(writer, KILN_HASH_HEAD, error))
			return false;
		kiln_writer_u8(writer, KILN_FRAME_REGISTERED);
		kiln_writer_u64(writer, schema->hash);
		return true;
	}
	if (!reserve(writer, KILN_INLINE_HEAD + schema->text_length, error))
		return false;
	kiln_writer_u8(writer, KILN_FRAME_INLINE);
	kiln_writer_span(writer, schema->text, (uint32_t) schema->text_length);
	return true;
}

static bool
send_portion(kiln_pq_put *put, kiln_pq_error *error)
{
	size_t		n = kiln_writer_length(&put->writer);

	if (n != 0 && PQputCopyData(put->conn, (const char *) put->writer.start, (int) n) != 1)
		return server_said(PQerrorMessage(put->conn), error);
	kiln_writer_reset(&put->writer);
	return true;
}

kiln_pq_put *
kiln_pq_put_open(kiln_pq *client, PGconn *conn, kiln_pq_error *error)
{
	kiln_pq_put *put = calloc(1, sizeof *put);

	if (put == NULL)
	{
		out_of_memory(error);
		return NULL;
	}
	put->client = client;
	put->conn = conn;
	kiln_writer_init(&put->writer, NULL, 0);
	put->writer.grow = kiln_writer_grow_malloc;
	put->writer.limit = MAX_ROW;
	if (!reserve(&put->writer, PORTION, error))
	{
		free(put);
		return NULL;
	}
	kiln_writer_bytes(&put->writer, signature, sizeof signature);
	kiln_writer_u64(&put->writer, 0);
	return put;
}

bool
kiln_pq_put_row(kiln_pq_put *put, int columns, kiln_pq_error *error)
{
	if (put->wanted != 0)
		return broken("the row before lacks columns", error);
	if (columns < 0 || columns > 1600)
		return broken("no row has so many columns", error);
	if (kiln_writer_length(&put->writer) >= PORTION && !send_portion(put, error))
		return false;
	if (!reserve(&put->writer, 2, error))
		return false;
	kiln_writer_u8(&put->writer, (uint8_t) (columns >> 8));
	kiln_writer_u8(&put->writer, (uint8_t) columns);
	put->wanted = columns;
	return true;
}

/* Begin a column: room for its length word, whose place is returned; SIZE_MAX on failure. */
static size_t
begin_column(kiln_pq_put *put, kiln_pq_error *error)
{
	size_t		mark = kiln_writer_length(&put->writer);

	if (put->wanted == 0)
	{
		broken("the row has all its columns", error);
		return SIZE_MAX;
	}
	if (!reserve(&put->writer, 4, error))
		return SIZE_MAX;
	kiln_writer_u32(&put->writer, 0);
	return mark;
}

static bool
end_column(kiln_pq_put *put, size_t mark, bool good, kiln_pq_error *error)
{
	size_t		n = kiln_writer_length(&put->writer) - mark - 4;

	if (good && n > KILN_MAX_FRAME)
		good = kiln_pq_fail(error, KILN_PQ_E_ENCODE, NULL, "value is too large");
	if (!good)
	{
		put->writer.pos = put->writer.start + mark;
		return false;
	}
	store_big32(put->writer.start + mark, (uint32_t) n);
	put->wanted--;
	return true;
}

bool
kiln_pq_put_null(kiln_pq_put *put, kiln_pq_error *error)
{
	size_t		mark = begin_column(put, error);

	if (mark == SIZE_MAX)
		return false;
	store_big32(put->writer.start + mark, UINT32_MAX);
	put->wanted--;
	return true;
}

bool
kiln_pq_put_bytes(kiln_pq_put *put, const void *data, size_t n, kiln_pq_error *error)
{
	size_t		mark = begin_column(put, error);
	bool		good;

	if (mark == SIZE_MAX)
		return false;
	good = reserve(&put->writer, n, error);
	if (good)
		kiln_writer_bytes(&put->writer, data, n);
	return end_column(put, mark, good, error);
}

bool
kiln_pq_put_bool(kiln_pq_put *put, bool v, kiln_pq_error *error)
{
	uint8_t		byte = v;

	return kiln_pq_put_bytes(put, &byte, 1, error);
}

bool
kiln_pq_put_int4(kiln_pq_put *put, int32_t v, kiln_pq_error *error)
{
	uint8_t		bytes[4];

	store_big32(bytes, (uint32_t) v);
	return kiln_pq_put_bytes(put, bytes, sizeof bytes, error);
}

bool
kiln_pq_put_int8(kiln_pq_put *put, int64_t v, kiln_pq_error *error)
{
	uint8_t		bytes[8];

	store_big32(bytes, (uint32_t) ((uint64_t) v >> 32));
	store_big32(bytes + 4, (uint32_t) v);
	return kiln_pq_put_bytes(put, bytes, sizeof bytes, error);
}

bool
kiln_pq_put_float8(kiln_pq_put *put, double v, kiln_pq_error *error)
{
	int64_t		bits;

	memcpy(&bits, &v, sizeof bits);
	return kiln_pq_put_int8(put, bits, error);
}

bool
kiln_pq_put_object(kiln_pq_put *put, const kiln_schema *schema, const kiln_binding *binding, const void *object,
				   bool check, kiln_pq_error *error)
{
	size_t		mark = begin_column(put, error);
	kiln_error	codec;
	bool		good;

	if (mark == SIZE_MAX)
		return false;
	good = kiln_pq_frame_head(put->client, schema, &put->writer, error);
	if (good && !kiln_binding_encode(binding, object, check, &put->writer, &codec))
		good = kiln_pq_fail(error, KILN_PQ_E_ENCODE, &codec, "record");
	return end_column(put, mark, good, error);
}

bool
kiln_pq_put_source(kiln_pq_put *put, const kiln_schema *schema, const kiln_source *source, kiln_node node,
				   kiln_pq_error *error)
{
	size_t		mark = begin_column(put, error);
	kiln_error	codec;
	bool		good;

	if (mark == SIZE_MAX)
		return false;
	good = kiln_pq_frame_head(put->client, schema, &put->writer, error);
	if (good && !kiln_encode(schema->root, source, node, &put->writer, &codec))
		good = kiln_pq_fail(error, KILN_PQ_E_ENCODE, &codec, "value");
	return end_column(put, mark, good, error);
}

bool
kiln_pq_put_tensors(kiln_pq_put *put, kiln_tensor *tensors, uint32_t count, kiln_pq_error *error)
{
	size_t		mark = begin_column(put, error);
	kiln_error	codec;
	uint64_t	total;
	bool		good;

	if (mark == SIZE_MAX)
		return false;
	good = kiln_directory_layout(tensors, count, &total, &codec);
	if (!good)
		kiln_pq_fail(error, KILN_PQ_E_ENCODE, &codec, "tensors");
	else if (total > KILN_MAX_FRAME)
		good = kiln_pq_fail(error, KILN_PQ_E_ENCODE, NULL, "value is too large");
	good = good && reserve(&put->writer, KILN_TENSORS_HEAD + (size_t) total, error);
	if (good)
	{
		kiln_writer_u32(&put->writer, KILN_FRAME_TENSORS);
		kiln_directory_build(tensors, count, total, put->writer.pos);
		put->writer.pos += total;
	}
	return end_column(put, mark, good, error);
}

bool
kiln_pq_put_close(kiln_pq_put *put, const char *abandon, int64_t *rows, kiln_pq_error *error)
{
	bool		good = true;

	if (abandon == NULL && put->wanted != 0)
	{
		good = broken("the last row lacks columns", error);
		abandon = "the last row lacks columns";
	}
	else if (abandon == NULL)
	{
		good = reserve(&put->writer, 2, error);
		if (good)
		{
			kiln_writer_u8(&put->writer, 0xff);
			kiln_writer_u8(&put->writer, 0xff);
			good = send_portion(put, error);
		}
		abandon = good ? NULL : "out of memory";
	}
	if (PQputCopyEnd(put->conn, abandon) != 1 && good)
		good = server_said(PQerrorMessage(put->conn), error);
	/* the first thing that went wrong is what the caller hears */
	if (!finish(put->conn, rows, good ? error : NULL))
		good = false;
	free(put->writer.start);
	free(put);
	return good;
}
