/*
 * protobuf-c in the scenarios: structs that point into the source, packed into one buffer; unpacking into an arena that
 * is emptied between values, its fastest documented way (ProtobufCAllocator).
 *
 * Parsing is the check (bounds only), so that safe reading is the only one. Strings are C
 * strings: their lengths are found by strlen.
 */
#include "scenarios.pb-c.h"

#include "peer.h"

#define ROOM	((size_t) 1 << 22)
#define ENTITIES 500

static uint8_t *room;
static uint8_t *arena;
static size_t arena_used;

static void *
arena_take(void *context, size_t n)
{
	void	   *memory = arena + arena_used;

	(void) context;
	arena_used += (n + 15) & ~(size_t) 15;
	return arena_used <= ROOM ? memory : NULL;
}

static void
arena_release(void *context, void *memory)
{
	(void) context;
	(void) memory;
}

static ProtobufCAllocator allocator = {arena_take, arena_release, NULL};

/* ------------------------------------------------------------------ from source to struct */

static Pb__Message messages[BENCH_BATCH];
static Pb__Message *message_pointers[BENCH_BATCH];
static Pb__Batch batch = PB__BATCH__INIT;
static Pb__Transaction transactions[BENCH_BATCH];
static Pb__Transaction *transaction_pointers[BENCH_BATCH];
static Pb__Account account = PB__ACCOUNT__INIT;
static Pb__Entity entities[ENTITIES];
static Pb__Entity *entity_pointers[ENTITIES];
static Pb__Frame frame = PB__FRAME__INIT;
static Pb__Telemetry telemetry = PB__TELEMETRY__INIT;
static Pb__Chunk chunk = PB__CHUNK__INIT;
static Pb__Numbers numbers = PB__NUMBERS__INIT;

static void
set_up(void)
{
	static const Pb__Message message_init = PB__MESSAGE__INIT;
	static const Pb__Transaction transaction_init = PB__TRANSACTION__INIT;
	static const Pb__Entity entity_init = PB__ENTITY__INIT;

	for (size_t i = 0; i < BENCH_BATCH; i++)
	{
		messages[i] = message_init;
		message_pointers[i] = &messages[i];
		transactions[i] = transaction_init;
		transaction_pointers[i] = &transactions[i];
	}
	for (size_t i = 0; i < ENTITIES; i++)
	{
		entities[i] = entity_init;
		entity_pointers[i] = &entities[i];
	}
	batch.messages = message_pointers;
	account.transactions = transaction_pointers;
	frame.entities = entity_pointers;
}

static inline const ProtobufCMessage *
fill_message(Pb__Message *to, const bench_message *m)
{
	to->a = m->a;
	to->b = m->b;
	to->x = m->x;
	to->y = m->y;
	to->id = m->id;
	to->score = m->score;
	to->s = (char *) m->s.data;
	to->t = (char *) m->t.data;
	return &to->base;
}

static inline const ProtobufCMessage *
fill_batch(const bench_message *m)
{
	batch.n_messages = BENCH_BATCH;
	for (size_t i = 0; i < BENCH_BATCH; i++)
		fill_message(&messages[i], &m[i]);
	return &batch.base;
}

static inline const ProtobufCMessage *
fill_account(const bench_account *a)
{
	account.id = a->id;
	account.balance = a->balance;
	account.owner = (char *) a->owner.data;
	account.currency = (char *) a->currency.data;
	account.n_transactions = 0;
	for (uint32_t i = 0; i < a->count; i++)
	{
		const bench_transaction *t = &a->transactions[i];
		Pb__Transaction *to = &transactions[account.n_transactions++];

		to->id = t->id;
		to->at = t->at;
		to->amount = t->amount;
		to->kind = t->kind;
		to->party = (char *) t->party.data;
		to->memo = (char *) t->memo.data;
	}
	return &account.base;
}

static inline const ProtobufCMessage *
fill_frame(const bench_entity *e, size_t n)
{
	frame.n_entities = n;
	for (size_t i = 0; i < n; i++)
	{
		Pb__Entity *to = &entities[i];

		to->id = e[i].id;
		to->px = e[i].px;
		to->py = e[i].py;
		to->pz = e[i].pz;
		to->vx = e[i].vx;
		to->vy = e[i].vy;
		to->vz = e[i].vz;
		to->yaw = e[i].yaw;
		to->pitch = e[i].pitch;
		to->health = e[i].health;
		to->kind = e[i].kind;
		to->team = e[i].team;
		to->flags = e[i].flags;
	}
	return &frame.base;
}

static inline const ProtobufCMessage *
fill_telemetry(const bench_telemetry *t)
{
	telemetry.device = t->device;
	telemetry.at = t->at;
	telemetry.temperature = t->temperature;
	telemetry.maybe_case = t->has_humidity ? PB__TELEMETRY__MAYBE_HUMIDITY : PB__TELEMETRY__MAYBE__NOT_SET;
	telemetry.humidity = t->humidity;
	telemetry.status = t->status;
	telemetry.battery = t->battery;
	return &telemetry.base;
}

static inline const ProtobufCMessage *
fill_chunk(const bench_chunk *c)
{
	chunk.id = c->id;
	chunk.sequence = c->sequence;
	chunk.data.data = (uint8_t *) c->data.data;
	chunk.data.len = c->data.length;
	return &chunk.base;
}

static inline const ProtobufCMessage *
fill_numbers(const double *values, size_t n)
{
	numbers.n_values = n;
	numbers.values = (double *) values;
	return &numbers.base;
}

/* ------------------------------------------------------------------ writers */

#define BORROWED(name, put) \
static inline encoded \
write_##name(size_t i) \
{ \
	encoded		e = {room, 0}; \
\
	e.n = protobuf_c_message_pack(put, room); \
	return e; \
}

BORROWED(message, fill_message(&messages[0], &corpus->message[i]))
BORROWED(batch100, fill_batch(corpus->batch[i]))
BORROWED(bank1, fill_account(&corpus->bank1[i]))
BORROWED(bank10, fill_account(&corpus->bank10[i]))
BORROWED(bank100, fill_account(&corpus->bank100[i]))
BORROWED(frame10, fill_frame(corpus->frame[i], 10))
BORROWED(frame500, fill_frame(corpus->frame[i], 500))
BORROWED(telemetry, fill_telemetry(&corpus->telemetry[i]))
BORROWED(chunk64, fill_chunk(&corpus->chunk64[i]))
BORROWED(chunk65536, fill_chunk(&corpus->chunk65536[i]))
BORROWED(small, fill_numbers(corpus->f64_small[i], BENCH_F64_SMALL))
BORROWED(large, fill_numbers(corpus->f64_large[i], BENCH_F64_LARGE))

static uint8_t *batch_pos;

#define BATCHED(name, put) \
static inline encoded \
write_batched_##name(size_t i) \
{ \
	encoded		e; \
\
	if (i == 0) \
		batch_pos = room; \
	e.data = batch_pos + 4; \
	e.n = protobuf_c_message_pack(put, batch_pos + 4); \
	kiln_store_u32(batch_pos, (uint32_t) e.n); \
	batch_pos += 4 + e.n; \
	return e; \
}

BATCHED(message, fill_message(&messages[0], &corpus->message[i]))
BATCHED(bank10, fill_account(&corpus->bank10[i]))
BATCHED(telemetry, fill_telemetry(&corpus->telemetry[i]))

static uint8_t *handed_over;

#define OWNED(name, put) \
static inline encoded \
write_owned_##name(size_t i) \
{ \
	const ProtobufCMessage *message = put; \
	encoded		e; \
\
	free(handed_over); \
	e.data = handed_over = malloc(protobuf_c_message_get_packed_size(message)); \
	e.n = protobuf_c_message_pack(message, handed_over); \
	return e; \
}

OWNED(message, fill_message(&messages[0], &corpus->message[i]))
OWNED(bank10, fill_account(&corpus->bank10[i]))
OWNED(telemetry, fill_telemetry(&corpus->telemetry[i]))

/* ------------------------------------------------------------------ readers */

static inline uint64_t
fold_text(uint64_t f, const char *s)
{
	return bench_fold_text(f, s, strlen(s));
}

static inline uint64_t
fold_message(uint64_t f, const Pb__Message *m)
{
	f = bench_fold(f, (uint64_t) m->a);
	f = bench_fold(f, (uint64_t) m->b);
	f = bench_fold(f, (uint64_t) m->x);
	f = bench_fold(f, (uint64_t) m->y);
	f = bench_fold(f, (uint64_t) m->id);
	f = bench_fold_f64(f, m->score);
	f = fold_text(f, m->s);
	return fold_text(f, m->t);
}

static inline uint64_t
fold_single(const Pb__Message *m)
{
	return fold_message(0, m);
}

static inline uint64_t
fold_batch(const Pb__Batch *b)
{
	uint64_t	f = 0;

	for (size_t i = 0; i < b->n_messages; i++)
		f = fold_message(f, b->messages[i]);
	return f;
}

static inline uint64_t
fold_account(const Pb__Account *a)
{
	uint64_t	f = bench_fold(0, (uint64_t) a->id);

	f = bench_fold(f, (uint64_t) a->balance);
	f = fold_text(f, a->owner);
	f = fold_text(f, a->currency);
	f = bench_fold(f, a->n_transactions);
	for (size_t i = 0; i < a->n_transactions; i++)
	{
		const Pb__Transaction *t = a->transactions[i];

		f = bench_fold(f, (uint64_t) t->id);
		f = bench_fold(f, (uint64_t) t->at);
		f = bench_fold(f, (uint64_t) t->amount);
		f = bench_fold(f, t->kind);
		f = fold_text(f, t->party);
		f = fold_text(f, t->memo);
	}
	return f;
}

static inline uint64_t
fold_frame(const Pb__Frame *frame_read)
{
	uint64_t	f = 0;

	for (size_t i = 0; i < frame_read->n_entities; i++)
	{
		const Pb__Entity *e = frame_read->entities[i];

		f = bench_fold(f, e->id);
		f = bench_fold_f32(f, e->px);
		f = bench_fold_f32(f, e->py);
		f = bench_fold_f32(f, e->pz);
		f = bench_fold(f, (uint64_t) e->vx);
		f = bench_fold(f, (uint64_t) e->vy);
		f = bench_fold(f, (uint64_t) e->vz);
		f = bench_fold(f, e->yaw);
		f = bench_fold(f, e->pitch);
		f = bench_fold(f, e->health);
		f = bench_fold(f, e->kind);
		f = bench_fold(f, e->team);
		f = bench_fold(f, e->flags);
	}
	return f;
}

static inline uint64_t
fold_telemetry(const Pb__Telemetry *t)
{
	uint64_t	f = bench_fold(0, t->device);

	f = bench_fold(f, (uint64_t) t->at);
	f = bench_fold_f64(f, t->temperature);
	f = t->maybe_case == PB__TELEMETRY__MAYBE_HUMIDITY ? bench_fold_f64(f, t->humidity) : bench_fold(f, 1);
	f = bench_fold(f, t->status);
	return bench_fold(f, t->battery);
}

static inline uint64_t
fold_chunk(const Pb__Chunk *c)
{
	uint64_t	f = bench_fold(0, c->id);

	f = bench_fold(f, c->sequence);
	return bench_fold_text(f, c->data.data, c->data.len);
}

static inline uint64_t
fold_values(const Pb__Numbers *n)
{
	return fold_numbers(0, n->values, n->n_values);
}

#define READERS(scenario, type, name, fold, find_one) \
static inline uint64_t \
safe_##scenario(encoded e) \
{ \
	type	   *o; \
\
	arena_used = 0; \
	o = pb__##name##__unpack(&allocator, e.n, e.data); \
	return o != NULL ? fold(o) : 0; \
} \
\
static inline uint64_t \
one_##scenario(encoded e) \
{ \
	type	   *o; \
\
	arena_used = 0; \
	o = pb__##name##__unpack(&allocator, e.n, e.data); \
	return o != NULL ? find_one : 0; \
} \
\
PEER_STORE(scenario) \
PEER_WRITER(scenario, scenario, safe) \
PEER_READER(safe, scenario) \
PEER_ONE(one, scenario)

READERS(message, Pb__Message, message, fold_single, (uint64_t) o->id)
READERS(batch100, Pb__Batch, batch, fold_batch, (uint64_t) o->messages[50]->id)
READERS(bank1, Pb__Account, account, fold_account, (uint64_t) o->balance)
READERS(bank10, Pb__Account, account, fold_account, (uint64_t) o->balance)
READERS(bank100, Pb__Account, account, fold_account, (uint64_t) o->balance)
READERS(frame10, Pb__Frame, frame, fold_frame, bench_fold_f32(0, o->entities[o->n_entities / 2]->px))
READERS(frame500, Pb__Frame, frame, fold_frame, bench_fold_f32(0, o->entities[o->n_entities / 2]->px))
READERS(telemetry, Pb__Telemetry, telemetry, fold_telemetry, o->status)
READERS(chunk64, Pb__Chunk, chunk, fold_chunk, o->sequence)
READERS(chunk65536, Pb__Chunk, chunk, fold_chunk, o->sequence)
READERS(small, Pb__Numbers, numbers, fold_values, bench_fold_f64(0, o->values[o->n_values / 2]))
READERS(large, Pb__Numbers, numbers, fold_values, bench_fold_f64(0, o->values[o->n_values / 2]))

PEER_FORMS(safe)

/* ------------------------------------------------------------------ registration */

#define ADD_ALL(scenario) \
do { \
	double		bytes = store_##scenario(); \
	\
	ADD("write", write_##scenario, scenario, "protobuf-c", "none", bytes); \
	ADD("read safe", safe_##scenario, scenario, "protobuf-c", "bounds", bytes); \
	ADD("read one", one_##scenario, scenario, "protobuf-c", "bounds", bytes); \
} while (0)

void
bench_register(const bench_host *from)
{
	host = from;
	corpus = host->corpus;
	room = host->room(ROOM);
	arena = host->room(ROOM);
	set_up();
	PEER_ADD_SCENARIOS("protobuf-c", "none", bank);
}
