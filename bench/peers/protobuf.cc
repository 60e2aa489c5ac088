/*
 * protobuf C++ in the scenarios, lite runtime: one message object of each type, cleared and used again; no reflection.
 *
 * Parsing is the check (bounds, and UTF-8 of proto3 strings), so that safe reading is the only one. There is no check that can be had alone.
 */
#include "scenarios.pb.h"

#include "peer.h"

static pb::Message one_message_object;
static pb::Batch batch_object;
static pb::Account account_object;
static pb::Frame frame_object;
static pb::Telemetry telemetry_object;
static pb::Chunk chunk_object;
static pb::Numbers numbers_object;

#define ROOM	(static_cast<size_t>(1) << 22)

static uint8_t *room;
static uint8_t *room_end;

/* ------------------------------------------------------------------ from source to message object */

static inline void
set_text(std::string *to, const kiln_slice &s)
{
	to->assign(static_cast<const char *>(s.data), s.length);
}

static inline void
fill(pb::Message &to, const bench_message &m)
{
	to.set_a(m.a);
	to.set_b(m.b);
	to.set_x(m.x);
	to.set_y(m.y);
	to.set_id(m.id);
	to.set_score(m.score);
	set_text(to.mutable_s(), m.s);
	set_text(to.mutable_t(), m.t);
}

static inline void
fill(pb::Batch &to, const bench_message *m)
{
	to.Clear();
	for (size_t i = 0; i < BENCH_BATCH; i++)
		fill(*to.add_messages(), m[i]);
}

static inline void
fill(pb::Account &to, const bench_account &a)
{
	to.Clear();
	to.set_id(a.id);
	to.set_balance(a.balance);
	set_text(to.mutable_owner(), a.owner);
	set_text(to.mutable_currency(), a.currency);
	for (uint32_t i = 0; i < a.count; i++)
	{
		const bench_transaction &t = a.transactions[i];
		pb::Transaction &one = *to.add_transactions();

		one.set_id(t.id);
		one.set_at(t.at);
		one.set_amount(t.amount);
		one.set_kind(t.kind);
		set_text(one.mutable_party(), t.party);
		set_text(one.mutable_memo(), t.memo);
	}
}

static inline void
fill_frame(pb::Frame &to, const bench_entity *e, size_t n)
{
	to.Clear();
	for (size_t i = 0; i < n; i++, e++)
	{
		pb::Entity &one = *to.add_entities();

		one.set_id(e->id);
		one.set_px(e->px);
		one.set_py(e->py);
		one.set_pz(e->pz);
		one.set_vx(e->vx);
		one.set_vy(e->vy);
		one.set_vz(e->vz);
		one.set_yaw(e->yaw);
		one.set_pitch(e->pitch);
		one.set_health(e->health);
		one.set_kind(e->kind);
		one.set_team(e->team);
		one.set_flags(e->flags);
	}
}

static inline void
fill(pb::Telemetry &to, const bench_telemetry &t)
{
	to.set_device(t.device);
	to.set_at(t.at);
	to.set_temperature(t.temperature);
	if (t.has_humidity)
		to.set_humidity(t.humidity);
	else
		to.clear_humidity();
	to.set_status(t.status);
	to.set_battery(t.battery);
}

static inline void
fill(pb::Chunk &to, const bench_chunk &c)
{
	to.set_id(c.id);
	to.set_sequence(c.sequence);
	to.set_data(c.data.data, c.data.length);
}

static inline void
fill_numbers(pb::Numbers &to, const double *values, size_t n)
{
	to.mutable_values()->Resize(static_cast<int>(n), 0);
	memcpy(to.mutable_values()->mutable_data(), values, n * sizeof *values);
}

/* ------------------------------------------------------------------ writers */

/* The size is worked out once and kept in the object. */
template<class T>
static inline encoded
serialized(const T &object, uint8_t *at)
{
	encoded		e = {at, object.ByteSizeLong()};

	if (e.n > static_cast<size_t>(room_end - at))
		abort();
	object.SerializeWithCachedSizesToArray(at);
	return e;
}

#define BORROWED(name, object, put) \
static inline encoded \
write_##name(size_t i) \
{ \
	put; \
	return serialized(object, room); \
}

BORROWED(message, one_message_object, fill(one_message_object, corpus->message[i]))
BORROWED(batch100, batch_object, fill(batch_object, corpus->batch[i]))
BORROWED(bank1, account_object, fill(account_object, corpus->bank1[i]))
BORROWED(bank10, account_object, fill(account_object, corpus->bank10[i]))
BORROWED(bank100, account_object, fill(account_object, corpus->bank100[i]))
BORROWED(frame10, frame_object, fill_frame(frame_object, corpus->frame[i], 10))
BORROWED(frame500, frame_object, fill_frame(frame_object, corpus->frame[i], 500))
BORROWED(telemetry, telemetry_object, fill(telemetry_object, corpus->telemetry[i]))
BORROWED(chunk64, chunk_object, fill(chunk_object, corpus->chunk64[i]))
BORROWED(chunk65536, chunk_object, fill(chunk_object, corpus->chunk65536[i]))
BORROWED(small, numbers_object, fill_numbers(numbers_object, corpus->f64_small[i], BENCH_F64_SMALL))
BORROWED(large, numbers_object, fill_numbers(numbers_object, corpus->f64_large[i], BENCH_F64_LARGE))

static uint8_t *batch_pos;

#define BATCHED(name, object, put) \
static inline encoded \
write_batched_##name(size_t i) \
{ \
	encoded		e; \
\
	if (i == 0) \
		batch_pos = room; \
	put; \
	e = serialized(object, batch_pos + 4); \
	kiln_store_u32(batch_pos, static_cast<uint32_t>(e.n)); \
	batch_pos += 4 + e.n; \
	return e; \
}

BATCHED(message, one_message_object, fill(one_message_object, corpus->message[i]))
BATCHED(bank10, account_object, fill(account_object, corpus->bank10[i]))
BATCHED(telemetry, telemetry_object, fill(telemetry_object, corpus->telemetry[i]))

static uint8_t *handed_over;

#define OWNED(name, object, put) \
static inline encoded \
write_owned_##name(size_t i) \
{ \
	encoded		e; \
\
	free(handed_over); \
	put; \
	e.n = object.ByteSizeLong(); \
	e.data = handed_over = static_cast<uint8_t *>(malloc(e.n)); \
	object.SerializeWithCachedSizesToArray(handed_over); \
	return e; \
}

OWNED(message, one_message_object, fill(one_message_object, corpus->message[i]))
OWNED(bank10, account_object, fill(account_object, corpus->bank10[i]))
OWNED(telemetry, telemetry_object, fill(telemetry_object, corpus->telemetry[i]))

/* ------------------------------------------------------------------ readers */

static inline uint64_t
fold_text(uint64_t f, const std::string &s)
{
	return bench_fold_text(f, s.data(), s.size());
}

static inline uint64_t
fold_message(uint64_t f, const pb::Message &m)
{
	f = bench_fold(f, m.a());
	f = bench_fold(f, m.b());
	f = bench_fold(f, static_cast<uint64_t>(m.x()));
	f = bench_fold(f, static_cast<uint64_t>(m.y()));
	f = bench_fold(f, static_cast<uint64_t>(m.id()));
	f = bench_fold_f64(f, m.score());
	f = fold_text(f, m.s());
	return fold_text(f, m.t());
}

static inline uint64_t
fold_of(const pb::Message &m)
{
	return fold_message(0, m);
}

static inline uint64_t
fold_of(const pb::Batch &b)
{
	uint64_t	f = 0;

	for (const pb::Message &m : b.messages())
		f = fold_message(f, m);
	return f;
}

static inline uint64_t
fold_of(const pb::Account &a)
{
	uint64_t	f = bench_fold(0, static_cast<uint64_t>(a.id()));

	f = bench_fold(f, static_cast<uint64_t>(a.balance()));
	f = fold_text(f, a.owner());
	f = fold_text(f, a.currency());
	f = bench_fold(f, static_cast<uint64_t>(a.transactions_size()));
	for (const pb::Transaction &t : a.transactions())
	{
		f = bench_fold(f, static_cast<uint64_t>(t.id()));
		f = bench_fold(f, static_cast<uint64_t>(t.at()));
		f = bench_fold(f, static_cast<uint64_t>(t.amount()));
		f = bench_fold(f, t.kind());
		f = fold_text(f, t.party());
		f = fold_text(f, t.memo());
	}
	return f;
}

static inline uint64_t
fold_of(const pb::Frame &frame)
{
	uint64_t	f = 0;

	for (const pb::Entity &e : frame.entities())
	{
		f = bench_fold(f, e.id());
		f = bench_fold_f32(f, e.px());
		f = bench_fold_f32(f, e.py());
		f = bench_fold_f32(f, e.pz());
		f = bench_fold(f, static_cast<uint64_t>(e.vx()));
		f = bench_fold(f, static_cast<uint64_t>(e.vy()));
		f = bench_fold(f, static_cast<uint64_t>(e.vz()));
		f = bench_fold(f, e.yaw());
		f = bench_fold(f, e.pitch());
		f = bench_fold(f, e.health());
		f = bench_fold(f, e.kind());
		f = bench_fold(f, e.team());
		f = bench_fold(f, e.flags());
	}
	return f;
}

static inline uint64_t
fold_of(const pb::Telemetry &t)
{
	uint64_t	f = bench_fold(0, t.device());

	f = bench_fold(f, static_cast<uint64_t>(t.at()));
	f = bench_fold_f64(f, t.temperature());
	f = t.has_humidity() ? bench_fold_f64(f, t.humidity()) : bench_fold(f, 1);
	f = bench_fold(f, t.status());
	return bench_fold(f, t.battery());
}

static inline uint64_t
fold_of(const pb::Chunk &c)
{
	uint64_t	f = bench_fold(0, c.id());

	f = bench_fold(f, c.sequence());
	return fold_text(f, c.data());
}

static inline uint64_t
fold_of(const pb::Numbers &n)
{
	return fold_numbers(0, n.values().data(), static_cast<size_t>(n.values_size()));
}

static inline uint64_t one_of(const pb::Message &m) { return static_cast<uint64_t>(m.id()); }
static inline uint64_t one_of(const pb::Batch &b) { return static_cast<uint64_t>(b.messages(50).id()); }
static inline uint64_t one_of(const pb::Account &a) { return static_cast<uint64_t>(a.balance()); }
static inline uint64_t one_of(const pb::Frame &f) { return bench_fold_f32(0, f.entities(f.entities_size() / 2).px()); }
static inline uint64_t one_of(const pb::Telemetry &t) { return t.status(); }
static inline uint64_t one_of(const pb::Chunk &c) { return c.sequence(); }
static inline uint64_t one_of(const pb::Numbers &n) { return bench_fold_f64(0, n.values(n.values_size() / 2)); }

#define READERS(scenario, object) \
static inline uint64_t \
safe_##scenario(encoded e) \
{ \
	return object.ParseFromArray(e.data, static_cast<int>(e.n)) ? fold_of(object) : 0; \
} \
\
static inline uint64_t \
one_##scenario(encoded e) \
{ \
	return object.ParseFromArray(e.data, static_cast<int>(e.n)) ? one_of(object) : 0; \
} \
\
PEER_STORE(scenario) \
PEER_WRITER(scenario, scenario, safe) \
PEER_READER(safe, scenario) \
PEER_ONE(one, scenario)

READERS(message, one_message_object)
READERS(batch100, batch_object)
READERS(bank1, account_object)
READERS(bank10, account_object)
READERS(bank100, account_object)
READERS(frame10, frame_object)
READERS(frame500, frame_object)
READERS(telemetry, telemetry_object)
READERS(chunk64, chunk_object)
READERS(chunk65536, chunk_object)
READERS(small, numbers_object)
READERS(large, numbers_object)

PEER_FORMS(safe)

/* ------------------------------------------------------------------ registration */

#define ADD_ALL(scenario) \
do { \
	double		bytes = store_##scenario(); \
	\
	ADD("write", write_##scenario, scenario, "protobuf", "capacity UTF-8", bytes); \
	ADD("read safe", safe_##scenario, scenario, "protobuf", "bounds UTF-8", bytes); \
	ADD("read one", one_##scenario, scenario, "protobuf", "bounds UTF-8", bytes); \
} while (0)

void
bench_register(const bench_host *from)
{
	host = from;
	corpus = host->corpus;
	room = static_cast<uint8_t *>(host->room(ROOM));
	room_end = room + ROOM;
	PEER_ADD_SCENARIOS("protobuf", "capacity UTF-8", bank);
}
