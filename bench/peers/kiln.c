/*
 * Kiln in the scenarios: the writer with fields known to the program; views of validated bytes; the checked reader.
 */
#include <stddef.h>

#include "peer.h"
#include "message.h"

#define TRANSACTION_FIXED	25
#define ACCOUNT_FIXED		16
#define DIRECTORY_HEAD		192

static const char *const definitions[] = {
	MESSAGE_TEXT, MESSAGE_TEXT "[]",
	"account(id i64,balance i64,owner string,currency string,"
	"transactions transaction(id i64,at timestamp,amount i64,kind u8,party string,memo string)[])",
	"entity(id u32,px f32,py f32,pz f32,vx i16,vy i16,vz i16,yaw u16,pitch u16,health u16,kind u8,team u8,flags u8)[]",
	"telemetry(device u32,at timestamp,temperature f64,humidity f64?,status u16,battery u8)",
	"chunk(id u64,sequence u32,data bytes)"
};

enum
{
	MESSAGE, BATCH, ACCOUNT, FRAME, TELEMETRY, CHUNK, SCHEMAS
};

static const kiln_type *types[SCHEMAS];
static uint8_t *room;
static kiln_writer writer;

#define ROOM	(64 + DIRECTORY_HEAD + 8 * (size_t) BENCH_F64_LARGE)

static inline encoded
written(const kiln_writer *w)
{
	encoded		e = {w->start, kiln_writer_length(w)};

	return e;
}

/* ------------------------------------------------------------------ writers, at the writer's position */

static inline void
put_message(kiln_writer *w, const bench_message *m)
{
	if (!message_put(w, m))
		abort();
}

static inline void
put_batch(kiln_writer *w, const bench_message *m)
{
	if (!kiln_writer_reserve(w, 4))
		abort();
	w->pos = kiln_put_u32(w->pos, BENCH_BATCH);
	for (size_t i = 0; i < BENCH_BATCH; i++)
		put_message(w, &m[i]);
}

static inline void
put_transaction(kiln_writer *w, const bench_transaction *t)
{
	uint8_t    *p;

	if (!kiln_writer_reserve(w, TRANSACTION_FIXED + 8 + (size_t) t->party.length + t->memo.length))
		abort();
	p = w->pos;
	p = kiln_put_u64(p, (uint64_t) t->id);
	p = kiln_put_u64(p, (uint64_t) t->at);
	p = kiln_put_u64(p, (uint64_t) t->amount);
	p = kiln_put_u8(p, t->kind);
	p = kiln_put_span(p, t->party.data, t->party.length);
	w->pos = kiln_put_span(p, t->memo.data, t->memo.length);
}

/* The account up to the count of its transactions, for which four bytes are left. */
static inline void
put_account_head(kiln_writer *w, const bench_account *a)
{
	uint8_t    *p;

	if (!kiln_writer_reserve(w, ACCOUNT_FIXED + 12 + (size_t) a->owner.length + a->currency.length))
		abort();
	p = w->pos;
	p = kiln_put_u64(p, (uint64_t) a->id);
	p = kiln_put_u64(p, (uint64_t) a->balance);
	p = kiln_put_span(p, a->owner.data, a->owner.length);
	p = kiln_put_span(p, a->currency.data, a->currency.length);
	w->pos = kiln_put_u32(p, a->count);
}

static inline void
put_account(kiln_writer *w, const bench_account *a)
{
	put_account_head(w, a);
	for (uint32_t i = 0; i < a->count; i++)
		put_transaction(w, &a->transactions[i]);
}

/* The count is known at the end only: its place is kept as an offset, since the buffer may move. */
static inline void
stream_account(kiln_writer *w, const bench_account *a)
{
	size_t		count_at;
	uint32_t	count = 0;

	put_account_head(w, a);
	count_at = kiln_writer_length(w) - 4;
	while (count < a->count)
		put_transaction(w, &a->transactions[count++]);
	kiln_store_u32(w->start + count_at, count);
}

static inline void
put_frame_packed(kiln_writer *w, size_t i, uint32_t count)
{
	size_t		bytes = (size_t) count * BENCH_ENTITY_BYTES;

	if (!kiln_writer_reserve(w, 4 + bytes))
		abort();
	kiln_writer_u32(w, count);
	kiln_writer_bytes(w, corpus->packed[i], bytes);
}

static inline void
put_frame(kiln_writer *w, const bench_entity *e, uint32_t count)
{
	uint8_t    *p;

	if (!kiln_writer_reserve(w, 4 + (size_t) count * BENCH_ENTITY_BYTES))
		abort();
	p = kiln_put_u32(w->pos, count);
	for (const bench_entity *end = e + count; e < end; e++)
	{
		p = kiln_put_u32(p, e->id);
		p = kiln_put_f32(p, e->px);
		p = kiln_put_f32(p, e->py);
		p = kiln_put_f32(p, e->pz);
		p = kiln_put_u16(p, (uint16_t) e->vx);
		p = kiln_put_u16(p, (uint16_t) e->vy);
		p = kiln_put_u16(p, (uint16_t) e->vz);
		p = kiln_put_u16(p, e->yaw);
		p = kiln_put_u16(p, e->pitch);
		p = kiln_put_u16(p, e->health);
		p = kiln_put_u8(p, e->kind);
		p = kiln_put_u8(p, e->team);
		p = kiln_put_u8(p, e->flags);
	}
	w->pos = p;
}

/* From the C structs as they lie, by a binding: their fields are one run. */
static kiln_binding *entities;

static void
bind_entities(void)
{
	static const kiln_member members[] = {
		{"id", offsetof(bench_entity, id)}, {"px", offsetof(bench_entity, px)}, {"py", offsetof(bench_entity, py)},
		{"pz", offsetof(bench_entity, pz)}, {"vx", offsetof(bench_entity, vx)}, {"vy", offsetof(bench_entity, vy)},
		{"vz", offsetof(bench_entity, vz)}, {"yaw", offsetof(bench_entity, yaw)},
		{"pitch", offsetof(bench_entity, pitch)}, {"health", offsetof(bench_entity, health)},
		{"kind", offsetof(bench_entity, kind)}, {"team", offsetof(bench_entity, team)},
		{"flags", offsetof(bench_entity, flags)}
	};

	if (!kiln_binding_compile(types[FRAME]->element, members, 13, NULL, &entities, NULL))
		host->die("the entity can't be bound");
}

static inline void
put_frame_bound(kiln_writer *w, const bench_entity *e, uint32_t count)
{
	if (!kiln_binding_encode_list(entities, e, count, sizeof *e, false, w, NULL))
		abort();
}

static inline void
put_telemetry(kiln_writer *w, const bench_telemetry *t)
{
	uint8_t    *p;

	if (!kiln_writer_reserve(w, 32))
		abort();
	p = w->pos;
	p = kiln_put_u32(p, t->device);
	p = kiln_put_u64(p, (uint64_t) t->at);
	p = kiln_put_f64(p, t->temperature);
	p = kiln_put_u8(p, t->has_humidity);
	if (t->has_humidity)
		p = kiln_put_f64(p, t->humidity);
	p = kiln_put_u16(p, t->status);
	w->pos = kiln_put_u8(p, t->battery);
}

static inline void
put_chunk(kiln_writer *w, const bench_chunk *c)
{
	uint8_t    *p;

	if (!kiln_writer_reserve(w, 16 + (size_t) c->data.length))
		abort();
	p = kiln_put_u64(w->pos, c->id);
	p = kiln_put_u32(p, c->sequence);
	w->pos = kiln_put_span(p, c->data.data, c->data.length);
}

static inline void
put_directory(kiln_writer *w, const double *values, uint64_t count)
{
	kiln_tensor tensor = {.name = "", .dtype = KILN_DTYPE_F64, .rank = 1, .shape = {count}, .length = 8 * count,
	.data = (const uint8_t *) values};
	uint64_t	total;

	if (!kiln_directory_layout(&tensor, 1, &total, NULL) || !kiln_writer_reserve(w, (size_t) total))
		abort();
	kiln_directory_build(&tensor, 1, total, w->pos);
	w->pos += total;
}

#define BORROWED(name, put) \
static inline encoded \
write_##name(size_t i) \
{ \
	kiln_writer_reset(&writer); \
	put; \
	return written(&writer); \
}

BORROWED(message, put_message(&writer, &corpus->message[i]))
BORROWED(batch100, put_batch(&writer, corpus->batch[i]))
BORROWED(bank1, put_account(&writer, &corpus->bank1[i]))
BORROWED(bank10, put_account(&writer, &corpus->bank10[i]))
BORROWED(bank100, put_account(&writer, &corpus->bank100[i]))
BORROWED(stream1, stream_account(&writer, &corpus->bank1[i]))
BORROWED(stream10, stream_account(&writer, &corpus->bank10[i]))
BORROWED(stream100, stream_account(&writer, &corpus->bank100[i]))
BORROWED(frame10, put_frame(&writer, corpus->frame[i], 10))
BORROWED(frame500, put_frame(&writer, corpus->frame[i], 500))
BORROWED(bound10, put_frame_bound(&writer, corpus->frame[i], 10))
BORROWED(bound500, put_frame_bound(&writer, corpus->frame[i], 500))
BORROWED(packed10, put_frame_packed(&writer, i, 10))
BORROWED(packed500, put_frame_packed(&writer, i, 500))
BORROWED(telemetry, put_telemetry(&writer, &corpus->telemetry[i]))
BORROWED(chunk64, put_chunk(&writer, &corpus->chunk64[i]))
BORROWED(chunk65536, put_chunk(&writer, &corpus->chunk65536[i]))
BORROWED(small, put_directory(&writer, corpus->f64_small[i], BENCH_F64_SMALL))
BORROWED(large, put_directory(&writer, corpus->f64_large[i], BENCH_F64_LARGE))

/* Messages one behind another, each behind its length; the buffer is emptied every 64. */
#define BATCHED(name, put) \
static inline encoded \
write_batched_##name(size_t i) \
{ \
	size_t		mark; \
	encoded		e; \
\
	if (i == 0) \
		kiln_writer_reset(&writer); \
	mark = kiln_writer_begin_message(&writer); \
	put; \
	if (mark == SIZE_MAX || !kiln_writer_end_message(&writer, mark)) \
		abort(); \
	e.data = writer.start + mark + 4; \
	e.n = kiln_load_u32(writer.start + mark); \
	return e; \
}

BATCHED(message, put_message(&writer, &corpus->message[i]))
BATCHED(bank10, put_account(&writer, &corpus->bank10[i]))
BATCHED(telemetry, put_telemetry(&writer, &corpus->telemetry[i]))

/* A buffer that the caller frees: here the one before, at the next call. */
static uint8_t *handed_over;

#define OWNED(name, put) \
static inline encoded \
write_owned_##name(size_t i) \
{ \
	kiln_writer own = {NULL, NULL, NULL, SIZE_MAX, kiln_writer_grow_malloc, NULL}; \
	encoded		e; \
\
	free(handed_over); \
	put; \
	handed_over = kiln_writer_detach(&own, &e.n); \
	e.data = handed_over; \
	return e; \
}

OWNED(message, put_message(&own, &corpus->message[i]))
OWNED(bank10, put_account(&own, &corpus->bank10[i]))
OWNED(telemetry, put_telemetry(&own, &corpus->telemetry[i]))

/* ---- memcpy alone, of the same bytes from and to the same places: the floor of what is one copy */

#define COPIED(scenario, head, from, bytes) \
static inline encoded \
write_memcpy_##scenario(size_t i) \
{ \
	encoded		e = {room, (head) + (bytes)}; \
\
	memcpy(room + (head), from, bytes); \
	return e; \
} \
\
static uint64_t \
run_write_memcpy_##scenario(void *state, size_t n) \
{ \
	uint64_t	f = 0; \
\
	(void) state; \
	for (size_t i = 0; i < n; i++) \
	{ \
		encoded		e = write_memcpy_##scenario(i % variants_##scenario); \
\
		bench_clobber(e.data); \
		f = bench_fold(f, e.n); \
	} \
	return f; \
} \
\
static bool \
check_write_memcpy_##scenario(void *state) \
{ \
	(void) state; \
	for (size_t i = 0; i < variants_##scenario; i++) \
	{ \
		encoded		e = write_memcpy_##scenario(i); \
\
		if (e.n != stored_##scenario[i].n || \
			memcmp(e.data + (head), stored_##scenario[i].data + (head), e.n - (head)) != 0) \
			return false; \
	} \
	return true; \
}

COPIED(frame10, 4, corpus->packed[i], (size_t) 10 * BENCH_ENTITY_BYTES)
COPIED(frame500, 4, corpus->packed[i], (size_t) 500 * BENCH_ENTITY_BYTES)
COPIED(chunk64, 16, corpus->chunk64[i].data.data, corpus->chunk64[i].data.length)
COPIED(chunk65536, 16, corpus->chunk65536[i].data.data, corpus->chunk65536[i].data.length)
COPIED(small, DIRECTORY_HEAD, corpus->f64_small[i], 8 * (size_t) BENCH_F64_SMALL)
COPIED(large, DIRECTORY_HEAD, corpus->f64_large[i], 8 * (size_t) BENCH_F64_LARGE)

/* ------------------------------------------------------------------ views */

static inline uint64_t
view_messages(const uint8_t *p)
{
	uint32_t	count = kiln_load_u32(p);
	uint64_t	f = 0;

	for (p += 4; count > 0; count--)
		f = view_message(f, &p);
	return f;
}

static inline uint64_t
view_account(const uint8_t *p)
{
	uint32_t	length;
	uint32_t	count;
	const uint8_t *text;
	uint64_t	f = bench_fold(0, kiln_load_u64(p));

	f = bench_fold(f, kiln_load_u64(p + 8));
	text = kiln_view_span(p + 16, &length);
	f = bench_fold_text(f, text, length);
	text = kiln_view_span(text + length, &length);
	f = bench_fold_text(f, text, length);
	p = text + length;
	count = kiln_load_u32(p);
	f = bench_fold(f, count);
	for (p += 4; count > 0; count--)
	{
		f = bench_fold(f, kiln_load_u64(p));
		f = bench_fold(f, kiln_load_u64(p + 8));
		f = bench_fold(f, kiln_load_u64(p + 16));
		f = bench_fold(f, p[24]);
		text = kiln_view_span(p + 25, &length);
		f = bench_fold_text(f, text, length);
		text = kiln_view_span(text + length, &length);
		f = bench_fold_text(f, text, length);
		p = text + length;
	}
	return f;
}

static inline uint64_t
view_entity(uint64_t f, const uint8_t *p)
{
	f = bench_fold(f, kiln_load_u32(p));
	f = bench_fold_f32(f, kiln_load_f32(p + 4));
	f = bench_fold_f32(f, kiln_load_f32(p + 8));
	f = bench_fold_f32(f, kiln_load_f32(p + 12));
	f = bench_fold(f, (uint64_t) (int16_t) kiln_load_u16(p + 16));
	f = bench_fold(f, (uint64_t) (int16_t) kiln_load_u16(p + 18));
	f = bench_fold(f, (uint64_t) (int16_t) kiln_load_u16(p + 20));
	f = bench_fold(f, kiln_load_u16(p + 22));
	f = bench_fold(f, kiln_load_u16(p + 24));
	f = bench_fold(f, kiln_load_u16(p + 26));
	f = bench_fold(f, p[28]);
	f = bench_fold(f, p[29]);
	return bench_fold(f, p[30]);
}

static inline uint64_t
view_frame(const uint8_t *p)
{
	uint32_t	count = kiln_load_u32(p);
	uint64_t	f = 0;

	for (p += 4; count > 0; count--, p += BENCH_ENTITY_BYTES)
		f = view_entity(f, p);
	return f;
}

static inline uint64_t
view_telemetry(const uint8_t *p)
{
	uint64_t	f = bench_fold(0, kiln_load_u32(p));

	f = bench_fold(f, kiln_load_u64(p + 4));
	f = bench_fold_f64(f, kiln_load_f64(p + 12));
	if (p[20] != 0)
	{
		f = bench_fold_f64(f, kiln_load_f64(p + 21));
		p += 8;
	}
	else
		f = bench_fold(f, 1);
	f = bench_fold(f, kiln_load_u16(p + 21));
	return bench_fold(f, p[23]);
}

static inline uint64_t
view_chunk(const uint8_t *p)
{
	uint32_t	length;
	const uint8_t *data = kiln_view_span(p + 12, &length);
	uint64_t	f = bench_fold(0, kiln_load_u64(p));

	f = bench_fold(f, kiln_load_u32(p + 8));
	return bench_fold_text(f, data, length);
}

static inline uint64_t
view_directory(encoded e)
{
	kiln_tensor tensor;
	uint64_t	f = 0;

	if (!kiln_directory_entry(e.data, e.n, 0, &tensor))
		abort();
	for (uint64_t i = 0; i < tensor.shape[0]; i++)
		f = bench_fold_f64(f, kiln_load_f64(tensor.data + 8 * i));
	return f;
}

static inline uint64_t
one_number(encoded e)
{
	kiln_tensor tensor;

	if (!kiln_directory_entry(e.data, e.n, 0, &tensor))
		abort();
	return bench_fold_f64(0, kiln_load_f64(tensor.data + 8 * (tensor.shape[0] / 2)));
}

/* ------------------------------------------------------------------ the checked reader */

static inline uint64_t
told(const kiln_reader *reader, uint64_t f)
{
	return reader->failed || kiln_reader_left(reader) != 0 ? ~f : f;
}

static inline uint64_t
read_text(uint64_t f, kiln_reader *reader)
{
	uint32_t	length;
	const uint8_t *text = kiln_reader_string(reader, &length);

	return bench_fold_text(f, text, length);
}

static inline uint64_t
checked_message(encoded e)
{
	kiln_reader reader;
	uint64_t	f;

	kiln_reader_init(&reader, e.data, e.n);
	f = message_checked(0, &reader, true);
	return told(&reader, f);
}

static inline uint64_t
checked_batch100(encoded e)
{
	kiln_reader reader;
	uint32_t	count;
	uint64_t	f = 0;

	kiln_reader_init(&reader, e.data, e.n);
	for (count = kiln_reader_count(&reader, 34); count > 0; count--)
		f = message_checked(f, &reader, true);
	return told(&reader, f);
}

static inline uint64_t
checked_account(encoded e)
{
	kiln_reader reader;
	uint32_t	count;
	uint64_t	f = 0;

	kiln_reader_init(&reader, e.data, e.n);
	f = bench_fold(f, kiln_reader_u64(&reader));
	f = bench_fold(f, kiln_reader_u64(&reader));
	f = read_text(f, &reader);
	f = read_text(f, &reader);
	count = kiln_reader_count(&reader, 33);
	f = bench_fold(f, count);
	for (; count > 0; count--)
	{
		int64_t		at;

		f = bench_fold(f, kiln_reader_u64(&reader));
		at = (int64_t) kiln_reader_u64(&reader);
		reader.failed |= !kiln_timestamp_valid(at);
		f = bench_fold(f, (uint64_t) at);
		f = bench_fold(f, kiln_reader_u64(&reader));
		f = bench_fold(f, kiln_reader_u8(&reader));
		f = read_text(f, &reader);
		f = read_text(f, &reader);
	}
	return told(&reader, f);
}

static inline uint64_t
checked_frame(encoded e)
{
	kiln_reader reader;
	uint32_t	count;
	const uint8_t *p;
	uint64_t	f = 0;

	kiln_reader_init(&reader, e.data, e.n);
	count = kiln_reader_count(&reader, BENCH_ENTITY_BYTES);
	p = kiln_reader_bytes(&reader, (size_t) count * BENCH_ENTITY_BYTES);
	if (p != NULL)
		for (; count > 0; count--, p += BENCH_ENTITY_BYTES)
			f = view_entity(f, p);
	return told(&reader, f);
}

static inline uint64_t
checked_telemetry(encoded e)
{
	kiln_reader reader;
	int64_t		at;
	uint64_t	f;

	kiln_reader_init(&reader, e.data, e.n);
	f = bench_fold(0, kiln_reader_u32(&reader));
	at = (int64_t) kiln_reader_u64(&reader);
	reader.failed |= !kiln_timestamp_valid(at);
	f = bench_fold(f, (uint64_t) at);
	f = bench_fold_f64(f, kiln_reader_f64(&reader));
	f = kiln_reader_bool(&reader) ? bench_fold_f64(f, kiln_reader_f64(&reader)) : bench_fold(f, 1);
	f = bench_fold(f, kiln_reader_u16(&reader));
	f = bench_fold(f, kiln_reader_u8(&reader));
	return told(&reader, f);
}

static inline uint64_t
checked_chunk(encoded e)
{
	kiln_reader reader;
	uint32_t	length;
	const uint8_t *data;
	uint64_t	f;

	kiln_reader_init(&reader, e.data, e.n);
	f = bench_fold(0, kiln_reader_u64(&reader));
	f = bench_fold(f, kiln_reader_u32(&reader));
	data = kiln_reader_span(&reader, &length);
	f = bench_fold_text(f, data, length);
	return told(&reader, f);
}

/* ------------------------------------------------------------------ all readers of a scenario */

#define READERS(scenario, schema, view, checked, find_one) \
static inline uint64_t \
trusted_##scenario(encoded e) \
{ \
	return view(e.data); \
} \
\
static inline uint64_t \
verify_##scenario(encoded e) \
{ \
	return kiln_validate(types[schema], e.data, e.n, NULL, NULL); \
} \
\
static inline uint64_t \
safe_##scenario(encoded e) \
{ \
	return verify_##scenario(e) ? view(e.data) : 0; \
} \
\
static inline uint64_t \
reader_##scenario(encoded e) \
{ \
	return checked(e); \
} \
\
static inline uint64_t \
one_##scenario(encoded e) \
{ \
	const uint8_t *p = e.data; \
\
	return find_one; \
} \
\
PEER_STORE(scenario) \
PEER_WRITER(scenario, scenario, safe) \
PEER_READER(trusted, scenario) \
PEER_READER(safe, scenario) \
PEER_READER(reader, scenario) \
PEER_VERIFIER(verify, scenario) \
PEER_ONE(one, scenario)

/* Message 50 of a batch: a walk. */
static inline uint64_t
one_of_batch(const uint8_t *p)
{
	p += 4;
	for (size_t i = 0; i < 50; i++)
	{
		p += MESSAGE_FIXED;
		p += 4 + kiln_load_u32(p);
		p += 4 + kiln_load_u32(p);
	}
	return kiln_load_u64(p + 10);
}

static inline uint64_t
one_of_frame(const uint8_t *p)
{
	return bench_fold_f32(0, kiln_load_f32(p + 4 + (size_t) (kiln_load_u32(p) / 2) * BENCH_ENTITY_BYTES + 4));
}

static inline uint64_t
view_one_message(const uint8_t *p)
{
	return view_message(0, &p);
}

READERS(message, MESSAGE, view_one_message, checked_message, kiln_load_u64(p + 10))
READERS(batch100, BATCH, view_messages, checked_batch100, one_of_batch(p))
READERS(bank1, ACCOUNT, view_account, checked_account, kiln_load_u64(p + 8))
READERS(bank10, ACCOUNT, view_account, checked_account, kiln_load_u64(p + 8))
READERS(bank100, ACCOUNT, view_account, checked_account, kiln_load_u64(p + 8))
READERS(frame10, FRAME, view_frame, checked_frame, one_of_frame(p))
READERS(frame500, FRAME, view_frame, checked_frame, one_of_frame(p))
READERS(telemetry, TELEMETRY, view_telemetry, checked_telemetry, kiln_load_u16(p + 21 + (p[20] != 0 ? 8 : 0)))
READERS(chunk64, CHUNK, view_chunk, checked_chunk, kiln_load_u32(p + 8))
READERS(chunk65536, CHUNK, view_chunk, checked_chunk, kiln_load_u32(p + 8))

#define TENSOR_READERS(scenario) \
static inline uint64_t \
trusted_##scenario(encoded e) \
{ \
	return view_directory(e); \
} \
\
static inline uint64_t \
verify_##scenario(encoded e) \
{ \
	return kiln_directory_validate(e.data, e.n, NULL); \
} \
\
static inline uint64_t \
safe_##scenario(encoded e) \
{ \
	return verify_##scenario(e) ? view_directory(e) : 0; \
} \
\
static inline uint64_t \
one_##scenario(encoded e) \
{ \
	return one_number(e); \
} \
\
PEER_STORE(scenario) \
PEER_WRITER(scenario, scenario, safe) \
PEER_READER(trusted, scenario) \
PEER_READER(safe, scenario) \
PEER_VERIFIER(verify, scenario) \
PEER_ONE(one, scenario)

TENSOR_READERS(small)
TENSOR_READERS(large)

PEER_WRITER(stream1, bank1, safe)
PEER_WRITER(stream10, bank10, safe)
PEER_WRITER(stream100, bank100, safe)
PEER_WRITER(bound10, frame10, safe)
PEER_WRITER(bound500, frame500, safe)
PEER_WRITER(packed10, frame10, safe)
PEER_WRITER(packed500, frame500, safe)
PEER_FORMS(safe)

/* ------------------------------------------------------------------ registration */

/* The golden bytes: what is written for the reference message is FORMAT 2's line. */
static void
check_golden(void)
{
	size_t		length = 0;
	const uint8_t *golden = host->golden("payloads.txt", 0, 1, &length);

	kiln_writer_reset(&writer);
	put_message(&writer, &corpus->golden);
	if (golden == NULL || length != kiln_writer_length(&writer) || memcmp(golden, writer.start, length) != 0)
		host->die("the golden message is not written as the golden file has it");
}

#define ADD_READS(scenario, checks) \
do { \
	ADD("read safe", safe_##scenario, scenario, "kiln validate, view", checks, bytes_##scenario); \
	ADD("read trusted", trusted_##scenario, scenario, "kiln", "none", bytes_##scenario); \
	ADD("read one", one_##scenario, scenario, "kiln", "none", bytes_##scenario); \
	ADD("verify", verify_##scenario, scenario, "kiln", checks, bytes_##scenario); \
} while (0)

#define ADD_CHECKED(scenario, checks) \
	ADD("read safe", reader_##scenario, scenario, "kiln checked reader", checks, bytes_##scenario)

static void
add_messages(double bytes_message, double bytes_batch100)
{
	if (host->wants("message"))
	{
		ADD("write", write_message, message, "kiln", "capacity", bytes_message);
		ADD("write batched", write_batched_message, message, "kiln", "capacity", bytes_message);
		ADD("write owned", write_owned_message, message, "kiln", "capacity", bytes_message);
		ADD_READS(message, "bounds UTF-8");
		ADD_CHECKED(message, "bounds UTF-8");
	}
	if (host->wants("batch100"))
	{
		ADD("write", write_batch100, batch100, "kiln", "capacity", bytes_batch100);
		ADD_READS(batch100, "bounds UTF-8");
		ADD_CHECKED(batch100, "bounds UTF-8");
	}
}

static void
add_bank(double bytes_bank1, double bytes_bank10, double bytes_bank100)
{
	ADD("write", write_bank1, bank1, "kiln", "capacity", bytes_bank1);
	ADD("write stream", write_stream1, bank1, "kiln", "capacity", bytes_bank1);
	ADD("write", write_bank10, bank10, "kiln", "capacity", bytes_bank10);
	ADD("write stream", write_stream10, bank10, "kiln", "capacity", bytes_bank10);
	ADD("write batched", write_batched_bank10, bank10, "kiln", "capacity", bytes_bank10);
	ADD("write owned", write_owned_bank10, bank10, "kiln", "capacity", bytes_bank10);
	ADD("write", write_bank100, bank100, "kiln", "capacity", bytes_bank100);
	ADD("write stream", write_stream100, bank100, "kiln", "capacity", bytes_bank100);
	ADD_READS(bank1, "bounds UTF-8 ranges");
	ADD_CHECKED(bank1, "bounds UTF-8 ranges");
	ADD_READS(bank10, "bounds UTF-8 ranges");
	ADD_CHECKED(bank10, "bounds UTF-8 ranges");
	ADD_READS(bank100, "bounds UTF-8 ranges");
	ADD_CHECKED(bank100, "bounds UTF-8 ranges");
}

static void
add_frame(double bytes_frame10, double bytes_frame500)
{
	ADD("write", write_bound10, frame10, "kiln, from padded structs", "capacity", bytes_frame10);
	ADD("write", write_frame10, frame10, "kiln, field by field", "capacity", bytes_frame10);
	ADD("write", write_packed10, frame10, "kiln, from a packed array", "capacity", bytes_frame10);
	ADD("write", write_memcpy_frame10, frame10, "memcpy", "none", bytes_frame10);
	ADD("write", write_bound500, frame500, "kiln, from padded structs", "capacity", bytes_frame500);
	ADD("write", write_frame500, frame500, "kiln, field by field", "capacity", bytes_frame500);
	ADD("write", write_packed500, frame500, "kiln, from a packed array", "capacity", bytes_frame500);
	ADD("write", write_memcpy_frame500, frame500, "memcpy", "none", bytes_frame500);
	ADD_READS(frame10, "bounds");
	ADD_CHECKED(frame10, "bounds");
	ADD_READS(frame500, "bounds");
	ADD_CHECKED(frame500, "bounds");
}

static void
add_telemetry(double bytes_telemetry)
{
	ADD("write", write_telemetry, telemetry, "kiln", "capacity", bytes_telemetry);
	ADD("write batched", write_batched_telemetry, telemetry, "kiln", "capacity", bytes_telemetry);
	ADD("write owned", write_owned_telemetry, telemetry, "kiln", "capacity", bytes_telemetry);
	ADD_READS(telemetry, "bounds ranges");
	ADD_CHECKED(telemetry, "bounds ranges");
}

static void
add_chunk(double bytes_chunk64, double bytes_chunk65536)
{
	ADD("write", write_chunk64, chunk64, "kiln", "capacity", bytes_chunk64);
	ADD("write", write_memcpy_chunk64, chunk64, "memcpy", "none", bytes_chunk64);
	ADD("write", write_chunk65536, chunk65536, "kiln", "capacity", bytes_chunk65536);
	ADD("write", write_memcpy_chunk65536, chunk65536, "memcpy", "none", bytes_chunk65536);
	ADD_READS(chunk64, "bounds");
	ADD_CHECKED(chunk64, "bounds");
	ADD_READS(chunk65536, "bounds");
	ADD_CHECKED(chunk65536, "bounds");
}

static void
add_tensors(double bytes_small, double bytes_large)
{
	ADD("write", write_small, small, "kiln", "shape names", bytes_small);
	ADD("write", write_memcpy_small, small, "memcpy", "none", bytes_small);
	ADD("write", write_large, large, "kiln", "shape names", bytes_large);
	ADD("write", write_memcpy_large, large, "memcpy", "none", bytes_large);
	ADD_READS(small, "all");
	ADD_READS(large, "all");
}

void
bench_register(const bench_host *from)
{
	host = from;
	corpus = host->corpus;
	room = host->room(ROOM);
	kiln_writer_init(&writer, room, ROOM);
	for (size_t i = 0; i < SCHEMAS; i++)
	{
		kiln_schema *schema;

		if (!kiln_schema_parse(definitions[i], strlen(definitions[i]), NULL, &schema, NULL))
			host->die("a definition of a scenario is wrong");
		types[i] = schema->root;
	}
	check_golden();
	bind_entities();
	if (host->wants("message") || host->wants("batch100"))
		add_messages(store_message(), store_batch100());
	if (host->wants("bank"))
		add_bank(store_bank1(), store_bank10(), store_bank100());
	if (host->wants("frame"))
		add_frame(store_frame10(), store_frame500());
	if (host->wants("telemetry"))
		add_telemetry(store_telemetry());
	if (host->wants("chunk"))
		add_chunk(store_chunk64(), store_chunk65536());
	if (host->wants("tensor"))
		add_tensors(store_small(), store_large());
}
