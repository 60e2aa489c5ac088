/*
 * FlatBuffers in the scenarios: one builder, cleared and used again; its generated accessors; its verifier.
 */
#include <flatbuffers/flatbuffers.h>
#include <vector>

#include "scenarios_generated.h"

#include "peer.h"

using flatbuffers::FlatBufferBuilder;
using flatbuffers::Offset;
using flatbuffers::String;

static FlatBufferBuilder *builder;
static std::vector<Offset<fb::Message>> messages;
static std::vector<Offset<fb::Transaction>> transactions;

static inline encoded
finished()
{
	encoded		e = {builder->GetBufferPointer(), builder->GetSize()};

	return e;
}

static inline Offset<String>
text(FlatBufferBuilder &b, const kiln_slice &s)
{
	return b.CreateString(static_cast<const char *>(s.data), s.length);
}

/* ------------------------------------------------------------------ writers */

static inline Offset<fb::Message>
put_message(FlatBufferBuilder &b, const bench_message &m)
{
	auto		s = text(b, m.s);
	auto		t = text(b, m.t);

	return fb::CreateMessage(b, m.a, m.b, m.x, m.y, m.id, m.score, s, t);
}

static inline Offset<fb::Transaction>
put_transaction(FlatBufferBuilder &b, const bench_transaction &t)
{
	auto		party = text(b, t.party);
	auto		memo = text(b, t.memo);

	return fb::CreateTransaction(b, t.id, t.at, t.amount, t.kind, party, memo);
}

/* Offsets are collected first and become a vector at the end, so that a count known late changes nothing. */
static inline Offset<fb::Account>
put_account(FlatBufferBuilder &b, const bench_account &a)
{
	transactions.clear();
	for (uint32_t i = 0; i < a.count; i++)
		transactions.push_back(put_transaction(b, a.transactions[i]));
	auto		list = b.CreateVector(transactions);
	auto		owner = text(b, a.owner);
	auto		currency = text(b, a.currency);

	return fb::CreateAccount(b, a.id, a.balance, owner, currency, list);
}

static inline fb::Entity
entity(const bench_entity &e)
{
	return fb::Entity(e.id, e.px, e.py, e.pz, e.vx, e.vy, e.vz, e.yaw, e.pitch, e.health, e.kind, e.team, e.flags);
}

static inline Offset<fb::Frame>
put_frame(FlatBufferBuilder &b, const bench_entity *e, size_t n)
{
	fb::Entity *to;
	auto		list = b.CreateUninitializedVectorOfStructs<fb::Entity>(n, &to);

	for (size_t i = 0; i < n; i++)
		to[i] = entity(e[i]);
	return fb::CreateFrame(b, list);
}

/* The source's structs lie as the format has them, padding included: one copy. */
static inline Offset<fb::Frame>
put_frame_copied(FlatBufferBuilder &b, const bench_entity *e, size_t n)
{
	static_assert(sizeof(bench_entity) == sizeof(fb::Entity), "the layouts agree");
	return fb::CreateFrame(b, b.CreateVectorOfStructs(reinterpret_cast<const fb::Entity *>(e), n));
}

static inline Offset<fb::Telemetry>
put_telemetry(FlatBufferBuilder &b, const bench_telemetry &t)
{
	fb::TelemetryBuilder one(b);

	one.add_at(t.at);
	one.add_temperature(t.temperature);
	if (t.has_humidity)
		one.add_humidity(t.humidity);
	one.add_device(t.device);
	one.add_status(t.status);
	one.add_battery(t.battery);
	return one.Finish();
}

static inline Offset<fb::Chunk>
put_chunk(FlatBufferBuilder &b, const bench_chunk &c)
{
	auto		data = b.CreateVector(static_cast<const uint8_t *>(c.data.data), c.data.length);

	return fb::CreateChunk(b, c.id, c.sequence, data);
}

static inline Offset<fb::Batch>
put_batch(FlatBufferBuilder &b, const bench_message *m)
{
	messages.clear();
	for (size_t i = 0; i < BENCH_BATCH; i++)
		messages.push_back(put_message(b, m[i]));
	return fb::CreateBatch(b, b.CreateVector(messages));
}

static inline Offset<fb::Numbers>
put_numbers(FlatBufferBuilder &b, const double *values, size_t n)
{
	return fb::CreateNumbers(b, b.CreateVector(values, n));
}

#define BORROWED(name, put) \
static inline encoded \
write_##name(size_t i) \
{ \
	FlatBufferBuilder &b = *builder; \
\
	b.Clear(); \
	b.Finish(put); \
	return finished(); \
}

BORROWED(message, put_message(b, corpus->message[i]))
BORROWED(batch100, put_batch(b, corpus->batch[i]))
BORROWED(bank1, put_account(b, corpus->bank1[i]))
BORROWED(bank10, put_account(b, corpus->bank10[i]))
BORROWED(bank100, put_account(b, corpus->bank100[i]))
BORROWED(frame10, put_frame(b, corpus->frame[i], 10))
BORROWED(frame500, put_frame(b, corpus->frame[i], 500))
BORROWED(copied10, put_frame_copied(b, corpus->frame[i], 10))
BORROWED(copied500, put_frame_copied(b, corpus->frame[i], 500))
BORROWED(telemetry, put_telemetry(b, corpus->telemetry[i]))
BORROWED(chunk64, put_chunk(b, corpus->chunk64[i]))
BORROWED(chunk65536, put_chunk(b, corpus->chunk65536[i]))
BORROWED(small, put_numbers(b, corpus->f64_small[i], BENCH_F64_SMALL))
BORROWED(large, put_numbers(b, corpus->f64_large[i], BENCH_F64_LARGE))

/* A builder holds one buffer; a batch of them is a copy each, behind its length. */
static uint8_t *batch_room;
static uint8_t *batch_pos;

static inline encoded
append(encoded e, size_t i)
{
	encoded		there;

	if (i == 0)
		batch_pos = batch_room;
	kiln_store_u64(batch_pos, e.n);		/* eight bytes, so that the buffer stays aligned */
	there.data = batch_pos + 8;
	there.n = e.n;
	memcpy(batch_pos + 8, e.data, e.n);
	batch_pos += 8 + ((e.n + 7) & ~static_cast<size_t>(7));
	return there;
}

static inline encoded write_batched_message(size_t i) { return append(write_message(i), i); }
static inline encoded write_batched_bank10(size_t i) { return append(write_bank10(i), i); }
static inline encoded write_batched_telemetry(size_t i) { return append(write_telemetry(i), i); }

/* The builder's buffer, released; it is freed at the next call. */
static flatbuffers::DetachedBuffer *handed_over;

#define OWNED(name) \
static inline encoded \
write_owned_##name(size_t i) \
{ \
	write_##name(i); \
	*handed_over = builder->Release(); \
\
	encoded		e = {handed_over->data(), handed_over->size()}; \
\
	return e; \
}

OWNED(message)
OWNED(bank10)
OWNED(telemetry)

/* ------------------------------------------------------------------ readers */

static inline uint64_t
fold_text(uint64_t f, const String *s)
{
	return bench_fold_text(f, s->data(), s->size());
}

static inline uint64_t
fold_message(uint64_t f, const fb::Message *m)
{
	f = bench_fold(f, m->a());
	f = bench_fold(f, m->b());
	f = bench_fold(f, static_cast<uint64_t>(m->x()));
	f = bench_fold(f, static_cast<uint64_t>(m->y()));
	f = bench_fold(f, static_cast<uint64_t>(m->id()));
	f = bench_fold_f64(f, m->score());
	f = fold_text(f, m->s());
	return fold_text(f, m->t());
}

static inline uint64_t
fold_of(const fb::Message *m)
{
	return fold_message(0, m);
}

static inline uint64_t
fold_of(const fb::Batch *b)
{
	uint64_t	f = 0;

	for (const fb::Message *m : *b->messages())
		f = fold_message(f, m);
	return f;
}

static inline uint64_t
fold_of(const fb::Account *a)
{
	uint64_t	f = bench_fold(0, static_cast<uint64_t>(a->id()));

	f = bench_fold(f, static_cast<uint64_t>(a->balance()));
	f = fold_text(f, a->owner());
	f = fold_text(f, a->currency());
	f = bench_fold(f, a->transactions()->size());
	for (const fb::Transaction *t : *a->transactions())
	{
		f = bench_fold(f, static_cast<uint64_t>(t->id()));
		f = bench_fold(f, static_cast<uint64_t>(t->at()));
		f = bench_fold(f, static_cast<uint64_t>(t->amount()));
		f = bench_fold(f, t->kind());
		f = fold_text(f, t->party());
		f = fold_text(f, t->memo());
	}
	return f;
}

static inline uint64_t
fold_of(const fb::Frame *frame)
{
	uint64_t	f = 0;

	for (const fb::Entity *e : *frame->entities())
	{
		f = bench_fold(f, e->id());
		f = bench_fold_f32(f, e->px());
		f = bench_fold_f32(f, e->py());
		f = bench_fold_f32(f, e->pz());
		f = bench_fold(f, static_cast<uint64_t>(e->vx()));
		f = bench_fold(f, static_cast<uint64_t>(e->vy()));
		f = bench_fold(f, static_cast<uint64_t>(e->vz()));
		f = bench_fold(f, e->yaw());
		f = bench_fold(f, e->pitch());
		f = bench_fold(f, e->health());
		f = bench_fold(f, e->kind());
		f = bench_fold(f, e->team());
		f = bench_fold(f, e->flags());
	}
	return f;
}

static inline uint64_t
fold_of(const fb::Telemetry *t)
{
	uint64_t	f = bench_fold(0, t->device());
	auto		humidity = t->humidity();

	f = bench_fold(f, static_cast<uint64_t>(t->at()));
	f = bench_fold_f64(f, t->temperature());
	f = humidity ? bench_fold_f64(f, *humidity) : bench_fold(f, 1);
	f = bench_fold(f, t->status());
	return bench_fold(f, t->battery());
}

static inline uint64_t
fold_of(const fb::Chunk *c)
{
	uint64_t	f = bench_fold(0, c->id());

	f = bench_fold(f, c->sequence());
	return bench_fold_text(f, c->data()->data(), c->data()->size());
}

static inline uint64_t
fold_of(const fb::Numbers *n)
{
	return fold_numbers(0, n->values()->data(), n->values()->size());
}

static inline uint64_t one_of(const fb::Message *m) { return static_cast<uint64_t>(m->id()); }
static inline uint64_t one_of(const fb::Batch *b) { return static_cast<uint64_t>(b->messages()->Get(50)->id()); }
static inline uint64_t one_of(const fb::Account *a) { return static_cast<uint64_t>(a->balance()); }
static inline uint64_t one_of(const fb::Frame *f) { return bench_fold_f32(0, f->entities()->Get(f->entities()->size() / 2)->px()); }
static inline uint64_t one_of(const fb::Telemetry *t) { return t->status(); }
static inline uint64_t one_of(const fb::Chunk *c) { return c->sequence(); }
static inline uint64_t one_of(const fb::Numbers *n) { return bench_fold_f64(0, n->values()->Get(n->values()->size() / 2)); }

#define READERS(scenario, type) \
static inline uint64_t \
trusted_##scenario(encoded e) \
{ \
	return fold_of(flatbuffers::GetRoot<fb::type>(e.data)); \
} \
\
static inline uint64_t \
verify_##scenario(encoded e) \
{ \
	flatbuffers::Verifier verifier(e.data, e.n); \
\
	return verifier.VerifyBuffer<fb::type>(nullptr); \
} \
\
static inline uint64_t \
safe_##scenario(encoded e) \
{ \
	return verify_##scenario(e) ? trusted_##scenario(e) : 0; \
} \
\
static inline uint64_t \
one_##scenario(encoded e) \
{ \
	return one_of(flatbuffers::GetRoot<fb::type>(e.data)); \
} \
\
PEER_STORE(scenario) \
PEER_WRITER(scenario, scenario, safe) \
PEER_READER(trusted, scenario) \
PEER_READER(safe, scenario) \
PEER_VERIFIER(verify, scenario) \
PEER_ONE(one, scenario)

PEER_ROOTS(READERS)

PEER_WRITER(copied10, frame10, safe)
PEER_WRITER(copied500, frame500, safe)
PEER_FORMS(safe)

/* ------------------------------------------------------------------ registration */

#define ADD_ALL(scenario) \
do { \
	double		bytes = store_##scenario(); \
	\
	ADD("write", write_##scenario, scenario, "flatbuffers", "capacity", bytes); \
	ADD("read safe", safe_##scenario, scenario, "flatbuffers", "bounds", bytes); \
	ADD("read trusted", trusted_##scenario, scenario, "flatbuffers", "none", bytes); \
	ADD("read one", one_##scenario, scenario, "flatbuffers", "none", bytes); \
	ADD("verify", verify_##scenario, scenario, "flatbuffers", "bounds", bytes); \
} while (0)

void
bench_register(const bench_host *from)
{
	host = from;
	corpus = host->corpus;
	builder = new FlatBufferBuilder(1 << 20);
	handed_over = new flatbuffers::DetachedBuffer();
	batch_room = static_cast<uint8_t *>(host->room(BENCH_BUFFERS * 4096));
	messages.reserve(BENCH_BATCH);
	transactions.reserve(BENCH_BATCH);
	PEER_ADD_SCENARIOS("flatbuffers", "capacity", bank);
	if (host->wants("frame"))
	{
		ADD("write", write_copied10, frame10, "flatbuffers, native vector", "capacity", 0);
		ADD("write", write_copied500, frame500, "flatbuffers, native vector", "capacity", 0);
	}
}
