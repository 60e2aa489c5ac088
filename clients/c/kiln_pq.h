/*
 * kiln_pq.h: Kiln values over libpq, read in place.
 *
 * A program that asks a server for binary results, or for COPY … (FORMAT binary), gets kiln values as frames
 * (docs/FORMAT.md, section 3). This library turns a frame into views over the row's own bytes: nothing is copied, and
 * the server is asked only for definitions, once.
 *
 *   kiln_pq        what a program knows of a database: the type's oid, definitions by hash and by name
 *   kiln_pq_value  a frame, opened: its definition and its payload, or its tensors
 *   kiln_pq_path   a path, worked out once for each definition that it meets
 *   kiln_pq_view   what a path led to: a type and a place
 *   kiln_pq_copy   rows of a COPY BINARY stream from the server; kiln_pq_put the same to the server
 *
 * Rules that hold everywhere:
 *
 * - Pointers lead into the PGresult or, for a COPY, into the row: they last until PQclear() or the next row.
 * - Every read stays inside the value, whatever it holds: bytes that broke on the way give an error or a wrong
 *   number, never a read beyond the end. kiln_pq_check() tests a value whole. Values that the server itself does not
 *   vouch for (0x14) and tensors are tested when opened.
 * - What can fail returns false, NULL or KILN_PQ_FAILED, and has filled the kiln_pq_error, which may be NULL.
 * - Nothing is locked: a kiln_pq and what was made with it are for one thread at a time.
 */
#ifndef KILN_PQ_H
#define KILN_PQ_H

#include <libpq-fe.h>

#include "kiln.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ------------------------------------------------------------------ errors */

typedef enum kiln_pq_code
{
	KILN_PQ_E_OK,
	KILN_PQ_E_SERVER,			/* the server, or the connection, said so */
	KILN_PQ_E_PROTOCOL,			/* the stream is no COPY BINARY, or calls are out of order */
	KILN_PQ_E_UNKNOWN,			/* a definition is not at hand */
	KILN_PQ_E_FORMAT,			/* bytes break the format: see codec */
	KILN_PQ_E_DEFINITION,		/* a definition does */
	KILN_PQ_E_PATH,				/* a path can't be followed: see codec */
	KILN_PQ_E_TYPE,				/* the value is of another type, or does not fit what was asked for */
	KILN_PQ_E_ENCODE,			/* a value does not fit its definition: see codec */
	KILN_PQ_E_MEMORY
} kiln_pq_code;

typedef struct kiln_pq_error
{
	kiln_pq_code code;
	kiln_error	codec;			/* what the codec said; codec.code is KILN_E_OK if it had no part in it */
	char		message[640];	/* the whole in words, in lower case */
} kiln_pq_error;

/* Whether something is there. */
typedef enum kiln_pq_found
{
	KILN_PQ_FAILED = -1,
	KILN_PQ_ABSENT = 0,			/* NULL, absent, or the end */
	KILN_PQ_FOUND = 1
} kiln_pq_found;

/* ------------------------------------------------------------------ a database's definitions */

typedef struct kiln_pq kiln_pq;

/*
 * Ask the server for the type's oid and for all definitions. conn stays the caller's; unknown hashes are asked for on
 * it as they are met, as long as it is at rest (no query or COPY under way, no failed transaction). NULL: a client
 * without a server, which knows what kiln_pq_define() tells it. kiln_pq_close() after all paths and COPYs made with
 * it.
 */
kiln_pq    *kiln_pq_open(PGconn *conn, kiln_pq_error *error);
void		kiln_pq_close(kiln_pq *client);

/* Ask for all definitions again. Those that are gone stay readable. */
bool		kiln_pq_refresh(kiln_pq *client, kiln_pq_error *error);

/* The oid of type kiln, InvalidOid without a server. */
Oid			kiln_pq_oid(const kiln_pq *client);

/*
 * Definitions live as long as the client. kiln_pq_define() makes one known as the latest version of its name, as if
 * it were registered; kiln_pq_inline() takes one that travels along in its values. text: length bytes of UTF-8, not
 * necessarily canonical, but defaults that have no literal of their own are spelled x'…'.
 */
const kiln_schema *kiln_pq_define(kiln_pq *client, const char *text, size_t length, kiln_pq_error *error);
const kiln_schema *kiln_pq_inline(kiln_pq *client, const char *text, size_t length, kiln_pq_error *error);

/* By hash, NULL if it is not known; the latest version of a name, NULL likewise. Neither asks the server. */
const kiln_schema *kiln_pq_by_hash(const kiln_pq *client, uint64_t hash);
const kiln_schema *kiln_pq_by_name(const kiln_pq *client, const char *name);

/* ------------------------------------------------------------------ values */

typedef struct kiln_pq_value
{
	kiln_pq    *client;
	const kiln_schema *schema;	/* NULL for tensors */
	const uint8_t *frame;		/* the whole frame, to be sent on */
	size_t		frame_length;
	const uint8_t *payload;		/* for tensors the directory */
	size_t		length;
	uint8_t		kind;			/* KILN_FRAME_… */
} kiln_pq_value;

/* Open n bytes of a frame. */
bool		kiln_pq_value_open(kiln_pq *client, const void *frame, size_t n, kiln_pq_value *value,
							   kiln_pq_error *error);

/* The same of a field of a result, which must be of type kiln and in binary. KILN_PQ_ABSENT: it is NULL. */
kiln_pq_found kiln_pq_result_value(kiln_pq *client, const PGresult *result, int row, int column, kiln_pq_value *value,
								   kiln_pq_error *error);

/* Test the whole value against every rule of the format. json checks json fields; NULL: any UTF-8 passes for one. */
bool		kiln_pq_check(const kiln_pq_value *value, const kiln_json_check *json, kiln_pq_error *error);

/* ------------------------------------------------------------------ paths and views */

typedef struct kiln_pq_path kiln_pq_path;

/* A path (docs/FORMAT.md, section 6), NUL-terminated; '' is the whole value. */
kiln_pq_path *kiln_pq_path_open(kiln_pq *client, const char *text, kiln_pq_error *error);
void		kiln_pq_path_close(kiln_pq_path *path);

/* A place in a value: never of an OPTIONAL type. left: bytes from at to the end of the whole value. */
typedef struct kiln_pq_view
{
	const kiln_type *type;
	const uint8_t *at;
	size_t		left;
} kiln_pq_view;

/*
 * Find what the path leads to. Absent: an optional on the way is, a key is missing, a position is out of range, or
 * only another version of the definition has the field. A field that none has, or a step that can't apply, is
 * KILN_PQ_E_PATH.
 */
kiln_pq_found kiln_pq_find(const kiln_pq_value *value, kiln_pq_path *path, kiln_pq_view *view, kiln_pq_error *error);

/*
 * What a view holds. int64: integers, date, timestamp, timestamptz (PostgreSQL's own numbers: days and microseconds
 * since 2000-01-01); a u64 beyond INT64_MAX is KILN_PQ_E_TYPE. double: floats, and integers rounded. span: the
 * content of string, bytes, numeric and json, 16 bytes of a uuid, the label of an enum. numbers: the elements of a
 * list of numbers, little-endian, packed and unaligned; type->element says which.
 */
bool		kiln_pq_view_bool(const kiln_pq_view *view, bool *out, kiln_pq_error *error);
bool		kiln_pq_view_int64(const kiln_pq_view *view, int64_t *out, kiln_pq_error *error);
bool		kiln_pq_view_uint64(const kiln_pq_view *view, uint64_t *out, kiln_pq_error *error);
bool		kiln_pq_view_double(const kiln_pq_view *view, double *out, kiln_pq_error *error);
bool		kiln_pq_view_span(const kiln_pq_view *view, kiln_slice *out, kiln_pq_error *error);
bool		kiln_pq_view_numbers(const kiln_pq_view *view, const uint8_t **data, uint32_t *count, kiln_pq_error *error);

/* The payload bytes of whatever is there: view->at, so many. */
bool		kiln_pq_view_length(const kiln_pq_view *view, size_t *length, kiln_pq_error *error);

/* Both steps in one: false and true of the views are KILN_PQ_FAILED and KILN_PQ_FOUND here. */
kiln_pq_found kiln_pq_get_bool(const kiln_pq_value *value, kiln_pq_path *path, bool *out, kiln_pq_error *error);
kiln_pq_found kiln_pq_get_int64(const kiln_pq_value *value, kiln_pq_path *path, int64_t *out, kiln_pq_error *error);
kiln_pq_found kiln_pq_get_uint64(const kiln_pq_value *value, kiln_pq_path *path, uint64_t *out, kiln_pq_error *error);
kiln_pq_found kiln_pq_get_double(const kiln_pq_value *value, kiln_pq_path *path, double *out, kiln_pq_error *error);
kiln_pq_found kiln_pq_get_span(const kiln_pq_value *value, kiln_pq_path *path, kiln_slice *out, kiln_pq_error *error);

/* The members of a struct, list or dict, in order. count is what its bytes announce. */
typedef struct kiln_pq_members
{
	const kiln_type *type;
	const uint8_t *at;
	size_t		left;
	uint32_t	count;
	uint32_t	next;
} kiln_pq_members;

bool		kiln_pq_members_open(const kiln_pq_view *view, kiln_pq_members *members, kiln_pq_error *error);

/*
 * The next member. KILN_PQ_ABSENT: there is none. An absent optional is a member whose view->at is NULL. name (may be
 * NULL) gets a field's name or a dict's key.
 */
kiln_pq_found kiln_pq_members_next(kiln_pq_members *members, kiln_slice *name, kiln_pq_view *view,
								   kiln_pq_error *error);

/*
 * A tensor by name, '' for the unnamed one: type, shape and payload in place. The payload is little-endian and as
 * aligned as the bytes that arrived: go through memcpy() or kiln_load_…() where alignment counts. KILN_PQ_ABSENT: no
 * tensor of that name.
 */
kiln_pq_found kiln_pq_tensor(const kiln_pq_value *value, const char *name, kiln_tensor *tensor, kiln_pq_error *error);

/* ------------------------------------------------------------------ COPY … TO STDOUT (FORMAT binary) */

typedef struct kiln_pq_field
{
	const uint8_t *data;		/* NULL: the column is */
	uint32_t	length;
} kiln_pq_field;

typedef struct kiln_pq_copy
{
	int			columns;		/* of the row */
	kiln_pq_field *fields;		/* of the row: valid until the next */
	/* private */
	PGconn	   *conn;
	char	   *message;		/* libpq's, or NULL */
	const uint8_t *pos;
	const uint8_t *end;
	uint8_t    *carry;			/* a row that began in an earlier message */
	size_t		carry_size;
	int			room;
	bool		begun;
	bool		ended;
} kiln_pq_copy;

/* After PQexec() has given PGRES_COPY_OUT. The struct must stay where it is; close it in any case. */
bool		kiln_pq_copy_open(kiln_pq_copy *copy, PGconn *conn, kiln_pq_error *error);
void		kiln_pq_copy_close(kiln_pq_copy *copy);

/* The next row. KILN_PQ_ABSENT: the stream has ended, and the server said that it went well. */
kiln_pq_found kiln_pq_copy_row(kiln_pq_copy *copy, kiln_pq_error *error);

/* A column of the row as a kiln value; the stream does not say of which type a column is, the caller knows. */
kiln_pq_found kiln_pq_copy_value(const kiln_pq_copy *copy, kiln_pq *client, int column, kiln_pq_value *value,
								 kiln_pq_error *error);

/* Columns of other types, as the server sends them in binary: big-endian. field->length must be that width. */
static inline int32_t kiln_pq_int4(const kiln_pq_field *field);
static inline int64_t kiln_pq_int8(const kiln_pq_field *field);
static inline double kiln_pq_float8(const kiln_pq_field *field);

/* ------------------------------------------------------------------ frames, and COPY … FROM STDIN (FORMAT binary) */

/*
 * Write what stands before a payload of that schema: its hash if it is registered, else the definition. The caller
 * appends the payload, by kiln_binding_encode(), kiln_encode() or by hand, and has a frame that PQexecParams() takes
 * in binary.
 */
bool		kiln_pq_frame_head(kiln_pq *client, const kiln_schema *schema, kiln_writer *writer, kiln_pq_error *error);

typedef struct kiln_pq_put kiln_pq_put;

/* After PQexec() has given PGRES_COPY_IN. Rows are sent in portions. */
kiln_pq_put *kiln_pq_put_open(kiln_pq *client, PGconn *conn, kiln_pq_error *error);

/* Begin a row of so many columns; then put exactly those. After a failure only kiln_pq_put_close() makes sense. */
bool		kiln_pq_put_row(kiln_pq_put *put, int columns, kiln_pq_error *error);
bool		kiln_pq_put_null(kiln_pq_put *put, kiln_pq_error *error);
/* text, bytea, a frame as it is */
bool		kiln_pq_put_bytes(kiln_pq_put *put, const void *data, size_t n, kiln_pq_error *error);
bool		kiln_pq_put_bool(kiln_pq_put *put, bool v, kiln_pq_error *error);
bool		kiln_pq_put_int4(kiln_pq_put *put, int32_t v, kiln_pq_error *error);
bool		kiln_pq_put_int8(kiln_pq_put *put, int64_t v, kiln_pq_error *error);
bool		kiln_pq_put_float8(kiln_pq_put *put, double v, kiln_pq_error *error);

/*
 * A record: a C struct by its binding (check as in kiln_binding_encode), or anything by a source. tensors: as for
 * kiln_directory_layout().
 */
bool		kiln_pq_put_object(kiln_pq_put *put, const kiln_schema *schema, const kiln_binding *binding,
							   const void *object, bool check, kiln_pq_error *error);
bool		kiln_pq_put_source(kiln_pq_put *put, const kiln_schema *schema, const kiln_source *source, kiln_node node,
							   kiln_pq_error *error);
bool		kiln_pq_put_tensors(kiln_pq_put *put, kiln_tensor *tensors, uint32_t count, kiln_pq_error *error);

/*
 * End the COPY and free put. abandon: NULL, or why the server is to throw all of it away (then false with
 * KILN_PQ_E_SERVER is what is expected). rows, if not NULL, gets the number that the server took.
 */
bool		kiln_pq_put_close(kiln_pq_put *put, const char *abandon, int64_t *rows, kiln_pq_error *error);

/* ================================================================== inline bodies */

static inline uint32_t
kiln_pq_big32(const uint8_t *p)
{
	return (uint32_t) p[0] << 24 | (uint32_t) p[1] << 16 | (uint32_t) p[2] << 8 | p[3];
}

static inline uint64_t
kiln_pq_big64(const uint8_t *p)
{
	return (uint64_t) kiln_pq_big32(p) << 32 | kiln_pq_big32(p + 4);
}

static inline int32_t
kiln_pq_int4(const kiln_pq_field *field)
{
	return (int32_t) kiln_pq_big32(field->data);
}

static inline int64_t
kiln_pq_int8(const kiln_pq_field *field)
{
	return (int64_t) kiln_pq_big64(field->data);
}

static inline double
kiln_pq_float8(const kiln_pq_field *field)
{
	uint64_t	bits = kiln_pq_big64(field->data);
	double		v;

	memcpy(&v, &bits, sizeof v);
	return v;
}

#ifdef __cplusplus
}
#endif

#endif							/* KILN_PQ_H */
