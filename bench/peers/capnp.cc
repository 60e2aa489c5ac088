/*
 * Cap'n Proto in the scenarios: a message builder over a first segment that is used again, the segment table written in
 * front of it, so that the bytes lie in one piece without a copy.
 *
 * Safe reading is FlatArrayMessageReader, which checks pointers as it follows them; trusted is readMessageUnchecked. There
 * is no check that can be had alone.
 */
#include <capnp/message.h>
#include <capnp/serialize.h>
#include <optional>
#include <vector>

#include "scenarios.capnp.h"

#include "peer.h"

#define SEGMENT_WORDS	(static_cast<size_t>(1) << 19)	/* holds the largest value */
#define TABLE_WORDS		1		/* of one segment */

static capnp::word *room;		/* the table, and the segment behind it */
static std::optional<capnp::MallocMessageBuilder> builder;

/* The builder before this one zeroes what it used, as it must, when it goes. */
static inline capnp::MallocMessageBuilder &
begin()
{
	builder.emplace(kj::arrayPtr(room + TABLE_WORDS, SEGMENT_WORDS));
	return *builder;
}

static inline encoded
finished()
{
	auto		segments = builder->getSegmentsForOutput();
	encoded		e;

	if (segments.size() != 1)
		abort();
	kiln_store_u32(reinterpret_cast<uint8_t *>(room), 0);
	kiln_store_u32(reinterpret_cast<uint8_t *>(room) + 4, static_cast<uint32_t>(segments[0].size()));
	e.data = reinterpret_cast<const uint8_t *>(room);
	e.n = (TABLE_WORDS + segments[0].size()) * sizeof(capnp::word);
	return e;
}

static inline capnp::Text::Reader
text(const kiln_slice &s)
{
	return capnp::Text::Reader(static_cast<const char *>(s.data), s.length);
}

/* ------------------------------------------------------------------ writers */

static inline void
fill(cp::Message::Builder to, const bench_message &m)
{
	to.setA(m.a);
	to.setB(m.b);
	to.setX(m.x);
	to.setY(m.y);
	to.setId(m.id);
	to.setScore(m.score);
	to.setS(text(m.s));
	to.setT(text(m.t));
}

static inline void
fill(cp::Batch::Builder to, const bench_message *m)
{
	auto		list = to.initMessages(BENCH_BATCH);

	for (unsigned i = 0; i < BENCH_BATCH; i++)
		fill(list[i], m[i]);
}

static inline void
fill(cp::Transaction::Builder to, const bench_transaction &t)
{
	to.setId(t.id);
	to.setAt(t.at);
	to.setAmount(t.amount);
	to.setKind(t.kind);
	to.setParty(text(t.party));
	to.setMemo(text(t.memo));
}

static inline void
fill_head(cp::Account::Builder to, const bench_account &a)
{
	to.setId(a.id);
	to.setBalance(a.balance);
	to.setOwner(text(a.owner));
	to.setCurrency(text(a.currency));
}

static inline void
fill(cp::Account::Builder to, const bench_account &a)
{
	fill_head(to, a);

	auto		list = to.initTransactions(a.count);

	for (unsigned i = 0; i < a.count; i++)
		fill(list[i], a.transactions[i]);
}

/* The count is known at the end only, and a list wants it first: what comes is collected, then written. */
static std::vector<const bench_transaction *> collected;

static inline void
fill_stream(cp::Account::Builder to, const bench_account &a)
{
	fill_head(to, a);
	collected.clear();
	for (unsigned i = 0; i < a.count; i++)
		collected.push_back(&a.transactions[i]);

	auto		list = to.initTransactions(static_cast<unsigned>(collected.size()));

	for (unsigned i = 0; i < collected.size(); i++)
		fill(list[i], *collected[i]);
}

static inline void
fill_frame(cp::Frame::Builder to, const bench_entity *e, unsigned n)
{
	auto		list = to.initEntities(n);

	for (unsigned i = 0; i < n; i++)
	{
		auto		one = list[i];

		one.setId(e[i].id);
		one.setPx(e[i].px);
		one.setPy(e[i].py);
		one.setPz(e[i].pz);
		one.setVx(e[i].vx);
		one.setVy(e[i].vy);
		one.setVz(e[i].vz);
		one.setYaw(e[i].yaw);
		one.setPitch(e[i].pitch);
		one.setHealth(e[i].health);
		one.setKind(e[i].kind);
		one.setTeam(e[i].team);
		one.setFlags(e[i].flags);
	}
}

static inline void
fill(cp::Telemetry::Builder to, const bench_telemetry &t)
{
	to.setDevice(t.device);
	to.setAt(t.at);
	to.setTemperature(t.temperature);
	to.setHasHumidity(t.has_humidity);
	if (t.has_humidity)
		to.setHumidity(t.humidity);
	to.setStatus(t.status);
	to.setBattery(t.battery);
}

static inline void
fill(cp::Chunk::Builder to, const bench_chunk &c)
{
	to.setId(c.id);
	to.setSequence(c.sequence);
	to.setData(capnp::Data::Reader(static_cast<const kj::byte *>(c.data.data), c.data.length));
}

static inline void
fill_numbers(cp::Numbers::Builder to, const double *values, unsigned n)
{
	auto		list = to.initValues(n);

	for (unsigned i = 0; i < n; i++)
		list.set(i, values[i]);
}

#define BORROWED(name, type, put) \
static inline encoded \
write_##name(size_t i) \
{ \
	auto		root = begin().initRoot<cp::type>(); \
\
	put; \
	return finished(); \
}

BORROWED(message, Message, fill(root, corpus->message[i]))
BORROWED(batch100, Batch, fill(root, corpus->batch[i]))
BORROWED(bank1, Account, fill(root, corpus->bank1[i]))
BORROWED(bank10, Account, fill(root, corpus->bank10[i]))
BORROWED(bank100, Account, fill(root, corpus->bank100[i]))
BORROWED(stream1, Account, fill_stream(root, corpus->bank1[i]))
BORROWED(stream10, Account, fill_stream(root, corpus->bank10[i]))
BORROWED(stream100, Account, fill_stream(root, corpus->bank100[i]))
BORROWED(frame10, Frame, fill_frame(root, corpus->frame[i], 10))
BORROWED(frame500, Frame, fill_frame(root, corpus->frame[i], 500))
BORROWED(telemetry, Telemetry, fill(root, corpus->telemetry[i]))
BORROWED(chunk64, Chunk, fill(root, corpus->chunk64[i]))
BORROWED(chunk65536, Chunk, fill(root, corpus->chunk65536[i]))
BORROWED(small, Numbers, fill_numbers(root, corpus->f64_small[i], BENCH_F64_SMALL))
BORROWED(large, Numbers, fill_numbers(root, corpus->f64_large[i], BENCH_F64_LARGE))

/* A message in one buffer with others is a copy; its own head says how long it is. */
static uint8_t *batch_room;
static uint8_t *batch_pos;

static inline encoded
append(encoded e, size_t i)
{
	encoded		there;

	if (i == 0)
		batch_pos = batch_room;
	memcpy(batch_pos, e.data, e.n);
	there.data = batch_pos;
	there.n = e.n;
	batch_pos += e.n;
	return there;
}

static inline encoded write_batched_message(size_t i) { return append(write_message(i), i); }
static inline encoded write_batched_bank10(size_t i) { return append(write_bank10(i), i); }
static inline encoded write_batched_telemetry(size_t i) { return append(write_telemetry(i), i); }

/* The library's own way to hand a message over; it is freed at the next call. */
static kj::Array<capnp::word> handed_over;

#define OWNED(name, type, put) \
static inline encoded \
write_owned_##name(size_t i) \
{ \
	auto		root = begin().initRoot<cp::type>(); \
	encoded		e; \
\
	put; \
	handed_over = capnp::messageToFlatArray(*builder); \
	e.data = reinterpret_cast<const uint8_t *>(handed_over.begin()); \
	e.n = handed_over.size() * sizeof(capnp::word); \
	return e; \
}

OWNED(message, Message, fill(root, corpus->message[i]))
OWNED(bank10, Account, fill(root, corpus->bank10[i]))
OWNED(telemetry, Telemetry, fill(root, corpus->telemetry[i]))

/* ------------------------------------------------------------------ readers */

static inline uint64_t
fold_text(uint64_t f, capnp::Text::Reader s)
{
	return bench_fold_text(f, s.begin(), s.size());
}

static inline uint64_t
fold_message(uint64_t f, cp::Message::Reader m)
{
	f = bench_fold(f, m.getA());
	f = bench_fold(f, m.getB());
	f = bench_fold(f, static_cast<uint64_t>(m.getX()));
	f = bench_fold(f, static_cast<uint64_t>(m.getY()));
	f = bench_fold(f, static_cast<uint64_t>(m.getId()));
	f = bench_fold_f64(f, m.getScore());
	f = fold_text(f, m.getS());
	return fold_text(f, m.getT());
}

static inline uint64_t
fold_of(cp::Message::Reader m)
{
	return fold_message(0, m);
}

static inline uint64_t
fold_of(cp::Batch::Reader b)
{
	uint64_t	f = 0;

	for (auto m : b.getMessages())
		f = fold_message(f, m);
	return f;
}

static inline uint64_t
fold_of(cp::Account::Reader a)
{
	auto		list = a.getTransactions();
	uint64_t	f = bench_fold(0, static_cast<uint64_t>(a.getId()));

	f = bench_fold(f, static_cast<uint64_t>(a.getBalance()));
	f = fold_text(f, a.getOwner());
	f = fold_text(f, a.getCurrency());
	f = bench_fold(f, list.size());
	for (auto t : list)
	{
		f = bench_fold(f, static_cast<uint64_t>(t.getId()));
		f = bench_fold(f, static_cast<uint64_t>(t.getAt()));
		f = bench_fold(f, static_cast<uint64_t>(t.getAmount()));
		f = bench_fold(f, t.getKind());
		f = fold_text(f, t.getParty());
		f = fold_text(f, t.getMemo());
	}
	return f;
}

static inline uint64_t
fold_of(cp::Frame::Reader frame)
{
	uint64_t	f = 0;

	for (auto e : frame.getEntities())
	{
		f = bench_fold(f, e.getId());
		f = bench_fold_f32(f, e.getPx());
		f = bench_fold_f32(f, e.getPy());
		f = bench_fold_f32(f, e.getPz());
		f = bench_fold(f, static_cast<uint64_t>(e.getVx()));
		f = bench_fold(f, static_cast<uint64_t>(e.getVy()));
		f = bench_fold(f, static_cast<uint64_t>(e.getVz()));
		f = bench_fold(f, e.getYaw());
		f = bench_fold(f, e.getPitch());
		f = bench_fold(f, e.getHealth());
		f = bench_fold(f, e.getKind());
		f = bench_fold(f, e.getTeam());
		f = bench_fold(f, e.getFlags());
	}
	return f;
}

static inline uint64_t
fold_of(cp::Telemetry::Reader t)
{
	uint64_t	f = bench_fold(0, t.getDevice());

	f = bench_fold(f, static_cast<uint64_t>(t.getAt()));
	f = bench_fold_f64(f, t.getTemperature());
	f = t.getHasHumidity() ? bench_fold_f64(f, t.getHumidity()) : bench_fold(f, 1);
	f = bench_fold(f, t.getStatus());
	return bench_fold(f, t.getBattery());
}

static inline uint64_t
fold_of(cp::Chunk::Reader c)
{
	auto		data = c.getData();
	uint64_t	f = bench_fold(0, c.getId());

	f = bench_fold(f, c.getSequence());
	return bench_fold_text(f, data.begin(), data.size());
}

static inline uint64_t
fold_of(cp::Numbers::Reader n)
{
	uint64_t	f = 0;

	for (double value : n.getValues())
		f = bench_fold_f64(f, value);
	return f;
}

static inline uint64_t one_of(cp::Message::Reader m) { return static_cast<uint64_t>(m.getId()); }
static inline uint64_t one_of(cp::Batch::Reader b) { return static_cast<uint64_t>(b.getMessages()[50].getId()); }
static inline uint64_t one_of(cp::Account::Reader a) { return static_cast<uint64_t>(a.getBalance()); }
static inline uint64_t one_of(cp::Telemetry::Reader t) { return t.getStatus(); }
static inline uint64_t one_of(cp::Chunk::Reader c) { return c.getSequence(); }

static inline uint64_t
one_of(cp::Frame::Reader f)
{
	auto		list = f.getEntities();

	return bench_fold_f32(0, list[list.size() / 2].getPx());
}

static inline uint64_t
one_of(cp::Numbers::Reader n)
{
	auto		list = n.getValues();

	return bench_fold_f64(0, list[list.size() / 2]);
}

#define READERS(scenario, type) \
static inline uint64_t \
safe_##scenario(encoded e) \
{ \
	capnp::FlatArrayMessageReader reader(kj::arrayPtr(reinterpret_cast<const capnp::word *>(e.data), \
													  e.n / sizeof(capnp::word))); \
\
	return fold_of(reader.getRoot<cp::type>()); \
} \
\
static inline uint64_t \
trusted_##scenario(encoded e) \
{ \
	return fold_of(capnp::readMessageUnchecked<cp::type>(reinterpret_cast<const capnp::word *>(e.data) + TABLE_WORDS)); \
} \
\
static inline uint64_t \
one_##scenario(encoded e) \
{ \
	return one_of(capnp::readMessageUnchecked<cp::type>(reinterpret_cast<const capnp::word *>(e.data) + TABLE_WORDS)); \
} \
\
PEER_STORE(scenario) \
PEER_WRITER(scenario, scenario, safe) \
PEER_READER(trusted, scenario) \
PEER_READER(safe, scenario) \
PEER_ONE(one, scenario)

PEER_ROOTS(READERS)

PEER_WRITER(stream1, bank1, safe)
PEER_WRITER(stream10, bank10, safe)
PEER_WRITER(stream100, bank100, safe)
PEER_FORMS(safe)

/* ------------------------------------------------------------------ registration */

#define ADD_ALL(scenario) \
do { \
	double		bytes = store_##scenario(); \
	\
	ADD("write", write_##scenario, scenario, "capnp", "capacity", bytes); \
	ADD("read safe", safe_##scenario, scenario, "capnp", "bounds", bytes); \
	ADD("read trusted", trusted_##scenario, scenario, "capnp", "none", bytes); \
	ADD("read one", one_##scenario, scenario, "capnp", "none", bytes); \
} while (0)

void
bench_register(const bench_host *from)
{
	size_t		bytes = (TABLE_WORDS + SEGMENT_WORDS) * sizeof(capnp::word);

	host = from;
	corpus = host->corpus;
	room = static_cast<capnp::word *>(host->room(bytes));
	batch_room = static_cast<uint8_t *>(host->room(BENCH_BUFFERS * 4096));
	PEER_ADD_SCENARIOS("capnp", "capacity", stream);
}
