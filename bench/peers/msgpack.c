/*
 * msgpack-c in the scenarios: fields by position in arrays, packed into one buffer that is used again; unpacking into objects
 * in one zone, emptied between values. Strings and bytes of an object lead into the bytes read, which is the
 * library's behaviour for what is longer than its reference threshold, and set here for all.
 *
 * Unpacking is the check (bounds), so that safe reading is the only one; types and counts are looked at as they are read.
 */
#include <msgpack.h>

#include "peer.h"

static msgpack_sbuffer buffer;
static msgpack_packer packer;
static msgpack_zone zone;

/* ------------------------------------------------------------------ writers */

static inline void
put_text(msgpack_packer *pk, const kiln_slice *s)
{
	msgpack_pack_str(pk, s->length);
	msgpack_pack_str_body(pk, s->data, s->length);
}

static inline void
put_bool(msgpack_packer *pk, bool v)
{
	if (v)
		msgpack_pack_true(pk);
	else
		msgpack_pack_false(pk);
}

static inline void
put_message(msgpack_packer *pk, const bench_message *m)
{
	msgpack_pack_array(pk, 8);
	put_bool(pk, m->a);
	put_bool(pk, m->b);
	msgpack_pack_int32(pk, m->x);
	msgpack_pack_int32(pk, m->y);
	msgpack_pack_int64(pk, m->id);
	msgpack_pack_double(pk, m->score);
	put_text(pk, &m->s);
	put_text(pk, &m->t);
}

static inline void
put_batch(msgpack_packer *pk, const bench_message *m)
{
	msgpack_pack_array(pk, BENCH_BATCH);
	for (size_t i = 0; i < BENCH_BATCH; i++)
		put_message(pk, &m[i]);
}

static inline void
put_account_head(msgpack_packer *pk, const bench_account *a)
{
	msgpack_pack_array(pk, 5);
	msgpack_pack_int64(pk, a->id);
	msgpack_pack_int64(pk, a->balance);
	put_text(pk, &a->owner);
	put_text(pk, &a->currency);
}

static inline void
put_transaction(msgpack_packer *pk, const bench_transaction *t)
{
	msgpack_pack_array(pk, 6);
	msgpack_pack_int64(pk, t->id);
	msgpack_pack_int64(pk, t->at);
	msgpack_pack_int64(pk, t->amount);
	msgpack_pack_uint8(pk, t->kind);
	put_text(pk, &t->party);
	put_text(pk, &t->memo);
}

static inline void
put_account(msgpack_packer *pk, const bench_account *a)
{
	put_account_head(pk, a);
	msgpack_pack_array(pk, a->count);
	for (uint32_t i = 0; i < a->count; i++)
		put_transaction(pk, &a->transactions[i]);
}

/* The count is known at the end only: an array head of the widest form, whose count is filled in then. */
static inline void
stream_account(msgpack_packer *pk, const bench_account *a)
{
	static const char head[5] = {(char) 0xdd, 0, 0, 0, 0};
	uint32_t	count = 0;
	size_t		at;

	put_account_head(pk, a);
	at = buffer.size;
	msgpack_sbuffer_write(&buffer, head, sizeof head);
	while (count < a->count)
		put_transaction(pk, &a->transactions[count++]);
	for (int i = 0; i < 4; i++)
		buffer.data[at + 1 + (size_t) i] = (char) (count >> (24 - 8 * i));
}

static inline void
put_frame(msgpack_packer *pk, const bench_entity *e, size_t n)
{
	msgpack_pack_array(pk, n);
	for (size_t i = 0; i < n; i++, e++)
	{
		msgpack_pack_array(pk, 13);
		msgpack_pack_uint32(pk, e->id);
		msgpack_pack_float(pk, e->px);
		msgpack_pack_float(pk, e->py);
		msgpack_pack_float(pk, e->pz);
		msgpack_pack_int16(pk, e->vx);
		msgpack_pack_int16(pk, e->vy);
		msgpack_pack_int16(pk, e->vz);
		msgpack_pack_uint16(pk, e->yaw);
		msgpack_pack_uint16(pk, e->pitch);
		msgpack_pack_uint16(pk, e->health);
		msgpack_pack_uint8(pk, e->kind);
		msgpack_pack_uint8(pk, e->team);
		msgpack_pack_uint8(pk, e->flags);
	}
}

static inline void
put_telemetry(msgpack_packer *pk, const bench_telemetry *t)
{
	msgpack_pack_array(pk, 6);
	msgpack_pack_uint32(pk, t->device);
	msgpack_pack_int64(pk, t->at);
	msgpack_pack_double(pk, t->temperature);
	if (t->has_humidity)
		msgpack_pack_double(pk, t->humidity);
	else
		msgpack_pack_nil(pk);
	msgpack_pack_uint16(pk, t->status);
	msgpack_pack_uint8(pk, t->battery);
}

static inline void
put_chunk(msgpack_packer *pk, const bench_chunk *c)
{
	msgpack_pack_array(pk, 3);
	msgpack_pack_uint64(pk, c->id);
	msgpack_pack_uint32(pk, c->sequence);
	msgpack_pack_bin(pk, c->data.length);
	msgpack_pack_bin_body(pk, c->data.data, c->data.length);
}

static inline void
put_numbers(msgpack_packer *pk, const double *values, size_t n)
{
	msgpack_pack_bin(pk, n * sizeof *values);
	msgpack_pack_bin_body(pk, values, n * sizeof *values);
}

#define BORROWED(name, put) \
static inline encoded \
write_##name(size_t i) \
{ \
	encoded		e; \
\
	msgpack_sbuffer_clear(&buffer); \
	put; \
	e.data = (const uint8_t *) buffer.data; \
	e.n = buffer.size; \
	return e; \
}

BORROWED(message, put_message(&packer, &corpus->message[i]))
BORROWED(batch100, put_batch(&packer, corpus->batch[i]))
BORROWED(bank1, put_account(&packer, &corpus->bank1[i]))
BORROWED(bank10, put_account(&packer, &corpus->bank10[i]))
BORROWED(bank100, put_account(&packer, &corpus->bank100[i]))
BORROWED(stream1, stream_account(&packer, &corpus->bank1[i]))
BORROWED(stream10, stream_account(&packer, &corpus->bank10[i]))
BORROWED(stream100, stream_account(&packer, &corpus->bank100[i]))
BORROWED(frame10, put_frame(&packer, corpus->frame[i], 10))
BORROWED(frame500, put_frame(&packer, corpus->frame[i], 500))
BORROWED(telemetry, put_telemetry(&packer, &corpus->telemetry[i]))
BORROWED(chunk64, put_chunk(&packer, &corpus->chunk64[i]))
BORROWED(chunk65536, put_chunk(&packer, &corpus->chunk65536[i]))
BORROWED(small, put_numbers(&packer, corpus->f64_small[i], BENCH_F64_SMALL))
BORROWED(large, put_numbers(&packer, corpus->f64_large[i], BENCH_F64_LARGE))

/* A value of msgpack ends by itself; what stands before it is only for the likeness of the task. */
#define BATCHED(name, put) \
static inline encoded \
write_batched_##name(size_t i) \
{ \
	static const char length[4]; \
	size_t		at; \
	encoded		e; \
\
	if (i == 0) \
		msgpack_sbuffer_clear(&buffer); \
	msgpack_sbuffer_write(&buffer, length, sizeof length); \
	at = buffer.size; \
	put; \
	e.data = (const uint8_t *) buffer.data + at; \
	e.n = buffer.size - at; \
	kiln_store_u32((uint8_t *) buffer.data + at - 4, (uint32_t) e.n); \
	return e; \
}

BATCHED(message, put_message(&packer, &corpus->message[i]))
BATCHED(bank10, put_account(&packer, &corpus->bank10[i]))
BATCHED(telemetry, put_telemetry(&packer, &corpus->telemetry[i]))

static char *handed_over;

#define OWNED(name, put) \
static inline encoded \
write_owned_##name(size_t i) \
{ \
	msgpack_sbuffer own; \
	msgpack_packer own_packer; \
	encoded		e; \
\
	free(handed_over); \
	msgpack_sbuffer_init(&own); \
	msgpack_packer_init(&own_packer, &own, msgpack_sbuffer_write); \
	put; \
	e.n = own.size; \
	handed_over = msgpack_sbuffer_release(&own); \
	e.data = (const uint8_t *) handed_over; \
	return e; \
}

OWNED(message, put_message(&own_packer, &corpus->message[i]))
OWNED(bank10, put_account(&own_packer, &corpus->bank10[i]))
OWNED(telemetry, put_telemetry(&own_packer, &corpus->telemetry[i]))

/* ------------------------------------------------------------------ readers */

/* The tree of one value, or false. */
static inline bool
unpack(encoded e, msgpack_object *o)
{
	size_t		at = 0;

	msgpack_zone_clear(&zone);
	return msgpack_unpack((const char *) e.data, e.n, &at, &zone, o) == MSGPACK_UNPACK_SUCCESS && at == e.n;
}

/* The elements of an array that must have n of them. */
static inline const msgpack_object *
array_of(const msgpack_object *o, uint32_t n)
{
	if (o->type != MSGPACK_OBJECT_ARRAY || o->via.array.size != n)
		abort();
	return o->via.array.ptr;
}

/* Integers, positive and negative, have their bits in the same place. */
static inline uint64_t
integer(const msgpack_object *o)
{
	if (o->type != MSGPACK_OBJECT_POSITIVE_INTEGER && o->type != MSGPACK_OBJECT_NEGATIVE_INTEGER)
		abort();
	return o->via.u64;
}

static inline double
number(const msgpack_object *o)
{
	if (o->type != MSGPACK_OBJECT_FLOAT64 && o->type != MSGPACK_OBJECT_FLOAT32)
		abort();
	return o->via.f64;
}

static inline uint64_t
fold_text(uint64_t f, const msgpack_object *o)
{
	if (o->type != MSGPACK_OBJECT_STR)
		abort();
	return bench_fold_text(f, o->via.str.ptr, o->via.str.size);
}

static inline uint64_t
fold_message(uint64_t f, const msgpack_object *o)
{
	const msgpack_object *field = array_of(o, 8);

	f = bench_fold(f, field[0].via.boolean);
	f = bench_fold(f, field[1].via.boolean);
	f = bench_fold(f, integer(&field[2]));
	f = bench_fold(f, integer(&field[3]));
	f = bench_fold(f, integer(&field[4]));
	f = bench_fold_f64(f, number(&field[5]));
	f = fold_text(f, &field[6]);
	return fold_text(f, &field[7]);
}

static inline uint64_t
fold_single(const msgpack_object *o)
{
	return fold_message(0, o);
}

static inline uint64_t
fold_batch(const msgpack_object *o)
{
	uint64_t	f = 0;

	for (uint32_t i = 0; i < o->via.array.size; i++)
		f = fold_message(f, &o->via.array.ptr[i]);
	return f;
}

static inline uint64_t
fold_account(const msgpack_object *o)
{
	const msgpack_object *field = array_of(o, 5);
	const msgpack_object *list = &field[4];
	uint64_t	f = bench_fold(0, integer(&field[0]));

	f = bench_fold(f, integer(&field[1]));
	f = fold_text(f, &field[2]);
	f = fold_text(f, &field[3]);
	f = bench_fold(f, list->via.array.size);
	for (uint32_t i = 0; i < list->via.array.size; i++)
	{
		const msgpack_object *t = array_of(&list->via.array.ptr[i], 6);

		f = bench_fold(f, integer(&t[0]));
		f = bench_fold(f, integer(&t[1]));
		f = bench_fold(f, integer(&t[2]));
		f = bench_fold(f, integer(&t[3]));
		f = fold_text(f, &t[4]);
		f = fold_text(f, &t[5]);
	}
	return f;
}

static inline uint64_t
fold_frame(const msgpack_object *o)
{
	uint64_t	f = 0;

	for (uint32_t i = 0; i < o->via.array.size; i++)
	{
		const msgpack_object *e = array_of(&o->via.array.ptr[i], 13);

		f = bench_fold(f, integer(&e[0]));
		f = bench_fold_f32(f, (float) number(&e[1]));
		f = bench_fold_f32(f, (float) number(&e[2]));
		f = bench_fold_f32(f, (float) number(&e[3]));
		for (int j = 4; j < 13; j++)
			f = bench_fold(f, integer(&e[j]));
	}
	return f;
}

static inline uint64_t
fold_telemetry(const msgpack_object *o)
{
	const msgpack_object *field = array_of(o, 6);
	uint64_t	f = bench_fold(0, integer(&field[0]));

	f = bench_fold(f, integer(&field[1]));
	f = bench_fold_f64(f, number(&field[2]));
	f = field[3].type != MSGPACK_OBJECT_NIL ? bench_fold_f64(f, number(&field[3])) : bench_fold(f, 1);
	f = bench_fold(f, integer(&field[4]));
	return bench_fold(f, integer(&field[5]));
}

static inline uint64_t
fold_chunk(const msgpack_object *o)
{
	const msgpack_object *field = array_of(o, 3);
	uint64_t	f = bench_fold(0, integer(&field[0]));

	f = bench_fold(f, integer(&field[1]));
	return bench_fold_text(f, field[2].via.bin.ptr, field[2].via.bin.size);
}

static inline uint64_t
fold_bin(const msgpack_object *o)
{
	const uint8_t *p = (const uint8_t *) o->via.bin.ptr;
	uint64_t	f = 0;

	for (uint32_t i = 0; i < o->via.bin.size; i += 8)
		f = bench_fold_f64(f, kiln_load_f64(p + i));
	return f;
}

#define FIELD(o, i)	((o)->via.array.ptr[i])

#define READERS(scenario, fold, find_one) \
static inline uint64_t \
safe_##scenario(encoded e) \
{ \
	msgpack_object o; \
\
	return unpack(e, &o) ? fold(&o) : 0; \
} \
\
static inline uint64_t \
one_##scenario(encoded e) \
{ \
	msgpack_object o; \
\
	return unpack(e, &o) ? find_one : 0; \
} \
\
PEER_STORE(scenario) \
PEER_WRITER(scenario, scenario, safe) \
PEER_READER(safe, scenario) \
PEER_ONE(one, scenario)

#define MIDDLE_X	bench_fold_f32(0, (float) number(&FIELD(&FIELD(&o, o.via.array.size / 2), 1)))
#define MIDDLE		bench_fold_f64(0, kiln_load_f64((const uint8_t *) o.via.bin.ptr + o.via.bin.size / 16 * 8))

READERS(message, fold_single, integer(&FIELD(&o, 4)))
READERS(batch100, fold_batch, integer(&FIELD(&FIELD(&o, 50), 4)))
READERS(bank1, fold_account, integer(&FIELD(&o, 1)))
READERS(bank10, fold_account, integer(&FIELD(&o, 1)))
READERS(bank100, fold_account, integer(&FIELD(&o, 1)))
READERS(frame10, fold_frame, MIDDLE_X)
READERS(frame500, fold_frame, MIDDLE_X)
READERS(telemetry, fold_telemetry, integer(&FIELD(&o, 4)))
READERS(chunk64, fold_chunk, integer(&FIELD(&o, 1)))
READERS(chunk65536, fold_chunk, integer(&FIELD(&o, 1)))
READERS(small, fold_bin, MIDDLE)
READERS(large, fold_bin, MIDDLE)

PEER_WRITER(stream1, bank1, safe)
PEER_WRITER(stream10, bank10, safe)
PEER_WRITER(stream100, bank100, safe)
PEER_FORMS(safe)

/* ------------------------------------------------------------------ registration */

#define ADD_ALL(scenario) \
do { \
	double		bytes = store_##scenario(); \
	\
	ADD("write", write_##scenario, scenario, "msgpack", "capacity", bytes); \
	ADD("read safe", safe_##scenario, scenario, "msgpack", "bounds types", bytes); \
	ADD("read one", one_##scenario, scenario, "msgpack", "bounds types", bytes); \
} while (0)

void
bench_register(const bench_host *from)
{
	host = from;
	corpus = host->corpus;
	msgpack_sbuffer_init(&buffer);
	msgpack_packer_init(&packer, &buffer, msgpack_sbuffer_write);
	if (!msgpack_zone_init(&zone, 1 << 20))
		host->die("out of memory");
	PEER_ADD_SCENARIOS("msgpack", "capacity", stream);
}
