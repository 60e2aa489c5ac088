/*
 * Experiments on writing the reference message: who decides what is stored, when room is asked for, what errors cost.
 *
 *   E01  fields known at run time against stores written by hand
 *   E08  what error returns cost when nothing goes wrong
 *   E10  room for the whole message at once, or for each field
 *   E15  the codec against the hand-written ceiling, one message and a batch of 100
 *   E21  one reserve and a bare pointer against the writer's own position
 */
#include <stddef.h>

#include "ways.h"

/* ------------------------------------------------------------------ from a way to write to legs */

static uint64_t
fold_messages(size_t n, const uint8_t *p, const uint8_t *end)
{
	uint64_t	f = 0;

	for (size_t i = 0; i < n; i++)
		f = view_message(f, &p);
	return p == end ? f : ~f;
}

/* Are the bytes in room those of the n messages at m? They must validate, and read as the messages do. */
static bool
room_holds(const bench_message *m, size_t n, size_t length)
{
	uint64_t	f = 0;
	bool		list = n > 1;

	if (!kiln_validate(list ? batch_schema->root : message_schema->root, room, length, NULL, NULL))
		return false;
	for (size_t i = 0; i < n; i++)
		f = bench_fold_message(f, &m[i]);
	return f == fold_messages(n, room + (list ? 4 : 0), room + length);
}

static bool
room_is_golden(unsigned line, size_t length)
{
	size_t		golden_length = 0;
	const uint8_t *golden = host->golden("payloads.txt", line, 1, &golden_length);

	return golden != NULL && golden_length == length && memcmp(golden, room, length) == 0;
}

/* What a leg for one message needs, from a function that writes one. */
#define WAY_ONCE(name) \
static size_t \
once_##name(const bench_message *m) \
{ \
	uint8_t    *p = room; \
\
	return put_##name(&p, m) ? (size_t) (p - room) : 0; \
} \
\
static uint64_t \
run_once_##name(void *state, size_t n) \
{ \
	const bench_message *m = state; \
	uint64_t	f = 0; \
\
	for (size_t i = 0; i < n; i++) \
	{ \
		uint8_t    *p = room; \
\
		if (!put_##name(&p, &m[EACH_BUFFER(i)])) \
			abort(); \
		f = bench_fold(f, (uint64_t) (p - room)); \
		bench_clobber(room); \
	} \
	return f; \
} \
\
static bool \
check_once_##name(void *state) \
{ \
	const bench_message *m = state; \
\
	if (!room_is_golden(0, once_##name(&corpus->golden))) \
		return false; \
	for (size_t i = 0; i < BENCH_BUFFERS; i++) \
		if (!room_holds(&m[i], 1, once_##name(&m[i]))) \
			return false; \
	return true; \
}

/* The same for a leg that writes a batch of them. */
#define WAY_BATCH(name) \
static size_t \
batch_##name(const bench_message *m) \
{ \
	uint8_t    *p = room; \
\
	kiln_store_u32(p, BENCH_BATCH); \
	p += 4; \
	for (size_t i = 0; i < BENCH_BATCH; i++) \
		if (!put_##name(&p, &m[i])) \
			return 0; \
	return (size_t) (p - room); \
} \
\
static uint64_t \
run_batch_##name(void *state, size_t n) \
{ \
	const bench_message *m = state; \
	uint64_t	f = 0; \
\
	for (size_t i = 0; i < n; i++) \
	{ \
		f = bench_fold(f, batch_##name(m + EACH_BUFFER(i) * BENCH_BATCH)); \
		bench_clobber(room); \
	} \
	return f; \
} \
\
static bool \
check_batch_##name(void *state) \
{ \
	const bench_message *m = state; \
\
	if (!room_is_golden(1, batch_##name(golden_batch))) \
		return false; \
	for (size_t i = 0; i < BENCH_BUFFERS; i++) \
		if (!room_holds(&m[i * BENCH_BATCH], BENCH_BATCH, batch_##name(&m[i * BENCH_BATCH]))) \
			return false; \
	return true; \
}

#define WAY(name) \
WAY_ONCE(name) \
WAY_BATCH(name)

static bench_message golden_batch[BENCH_BATCH];

WAY(bare)
WAY(bare_memcpy)
WAY(writer)
WAY(writer_fields)
WAY(reserve_each)
WAY(binding)
WAY(binding_checked)
WAY(interpreted)
WAY_ONCE(value)
WAY(returning)
WAY(sticky)

/* A batch through a binding is one call. */
static uint64_t
run_batch_binding_list(void *state, size_t n)
{
	const bench_message *m = state;
	uint64_t	f = 0;

	for (size_t i = 0; i < n; i++)
	{
		writer.pos = room;
		if (!kiln_binding_encode_list(binding, m + EACH_BUFFER(i) * BENCH_BATCH, BENCH_BATCH, sizeof *m, false, &writer, NULL))
			abort();
		f = bench_fold(f, kiln_writer_length(&writer));
		bench_clobber(room);
	}
	return f;
}

static bool
check_batch_binding_list(void *state)
{
	const bench_message *m = state;

	run_batch_binding_list(golden_batch, 1);
	if (!room_is_golden(1, kiln_writer_length(&writer)))
		return false;
	for (size_t i = 0; i < BENCH_BUFFERS; i++)
	{
		run_batch_binding_list((void *) (m + i * BENCH_BATCH), 1);
		if (!room_holds(&m[i * BENCH_BATCH], BENCH_BATCH, kiln_writer_length(&writer)))
			return false;
	}
	return true;
}

/* A batch through the value interface is one call too. */
static uint64_t
run_batch_value_whole(void *state, size_t n)
{
	const bench_message *m = state;
	uint64_t	f = 0;

	for (size_t i = 0; i < n; i++)
	{
		kiln_node	node = {m + EACH_BUFFER(i) * BENCH_BATCH, 0};

		writer.pos = room;
		if (!kiln_encode(batch_schema->root, &source, node, &writer, NULL))
			abort();
		f = bench_fold(f, kiln_writer_length(&writer));
		bench_clobber(room);
	}
	return f;
}

static bool
check_batch_value_whole(void *state)
{
	const bench_message *m = state;

	for (size_t i = 0; i < BENCH_BUFFERS; i++)
	{
		run_batch_value_whole((void *) (m + i * BENCH_BATCH), 1);
		if (!room_holds(&m[i * BENCH_BATCH], BENCH_BATCH, kiln_writer_length(&writer)))
			return false;
	}
	return true;
}

/* ---- E10: a buffer that starts with none */

static kiln_writer growing = {NULL, NULL, NULL, SIZE_MAX, kiln_writer_grow_malloc, NULL};

/* A buffer of its own for each message, grown as fields come. */
static uint64_t
run_grown(void *state, size_t n)
{
	const bench_message *m = state;
	uint64_t	f = 0;

	for (size_t i = 0; i < n; i++)
	{
		size_t		length;
		uint8_t    *owned;

		if (!message_put(&growing, &m[EACH_BUFFER(i)]))
			abort();
		owned = kiln_writer_detach(&growing, &length);
		bench_clobber(owned);
		f = bench_fold(f, length);
		free(owned);
	}
	return f;
}

static uint64_t
run_exact(void *state, size_t n)
{
	const bench_message *m = state;
	uint64_t	f = 0;

	for (size_t i = 0; i < n; i++)
	{
		const bench_message *one = &m[EACH_BUFFER(i)];
		uint8_t    *owned = malloc(MESSAGE_FIXED + 8 + (size_t) one->s.length + one->t.length);
		uint8_t    *end = bare_message(owned, one);

		bench_clobber(owned);
		f = bench_fold(f, (uint64_t) (end - owned));
		free(owned);
	}
	return f;
}

/* ------------------------------------------------------------------ registration */

static uint64_t
lengths(const bench_message *m, bool batch)
{
	uint64_t	f = 0;

	for (size_t i = 0; i < BENCH_BUFFERS; i++)
	{
		uint64_t	length = batch ? 4 : 0;

		for (size_t j = 0; j < (batch ? BENCH_BATCH : 1); j++)
		{
			const bench_message *one = batch ? &m[i * BENCH_BATCH + j] : &m[i];

			length += MESSAGE_FIXED + 8 + one->s.length + one->t.length;
		}
		f = bench_fold(f, length);
	}
	return f;
}

static double
average(const bench_message *m)
{
	double		sum = 0;

	for (size_t i = 0; i < BENCH_BUFFERS; i++)
		sum += MESSAGE_FIXED + 8 + m[i].s.length + m[i].t.length;
	return sum / BENCH_BUFFERS;
}

static void
set_up(void)
{
	static const kiln_member members[] = {
		{"a", offsetof(bench_message, a)}, {"b", offsetof(bench_message, b)}, {"x", offsetof(bench_message, x)},
		{"y", offsetof(bench_message, y)}, {"id", offsetof(bench_message, id)},
		{"score", offsetof(bench_message, score)}, {"s", offsetof(bench_message, s)}, {"t", offsetof(bench_message, t)}
	};

	message_schema = parse(MESSAGE_TEXT);
	batch_schema = parse(MESSAGE_TEXT "[]");
	if (!kiln_binding_compile(message_schema->root, members, 8, NULL, &binding, NULL))
		host->die("the message can't be bound");
	for (size_t i = 0; i < 8; i++)
	{
		const kiln_type *type = message_schema->root->fields[i].type;

		plain_fields[i] = (plain_field) {type->kind, (uint8_t) type->width, members[i].offset};
	}
	for (size_t i = 0; i < BENCH_BATCH; i++)
		golden_batch[i] = corpus->golden;
	room = take(ROOM);
	kiln_writer_init(&writer, room, ROOM);
}

#define ONCE(g, name, title, checks)	add_checked(&(g), title, checks, run_once_##name, check_once_##name, bytes)
#define BATCH(g, name, title, checks)	add_checked(&(g), title, checks, run_batch_##name, check_batch_##name, 4404)

static void
add_one_message(const char *corpus_name, const bench_message *m)
{
	double		bytes = average(m);
	group		e15 = {"E15", "encode", corpus_name, (void *) m};
	group		e01 = {"E01", "encode", corpus_name, (void *) m};

	if (host->wants("E15"))
	{
		ONCE(e15, bare, "bare C stores", "none");
		ONCE(e15, bare_memcpy, "bare C stores, memcpy for strings", "none");
		ONCE(e15, writer, "kiln writer", "capacity");
		ONCE(e15, binding, "kiln binding", "capacity");
		ONCE(e15, binding_checked, "kiln binding, UTF-8", "capacity UTF-8");
		ONCE(e15, value, "kiln value interface", "all");
	}
	if (host->wants("E01"))
	{
		ONCE(e01, bare, "bare C stores", "none");
		ONCE(e01, binding, "kiln binding (here)", "capacity");
		ONCE(e01, interpreted, "a decision a field", "capacity");
		ONCE(e01, value, "kiln value interface (here)", "all");
	}
}

void
bench_register(const bench_host *from)
{
	double		bytes = 44;

	host = from;
	corpus = host->corpus;
	if (!host->wants("E01") && !host->wants("E08") && !host->wants("E10") && !host->wants("E15") && !host->wants("E21"))
		return;
	set_up();
	add_one_message("message", corpus->message);
	add_one_message("varied", corpus->varied);
	if (host->wants("E15"))
	{
		group		g = {"E15", "encode", "batch100", (void *) corpus->batch};

		BATCH(g, bare, "bare C stores", "none");
		BATCH(g, bare_memcpy, "bare C stores, memcpy for strings", "none");
		BATCH(g, writer, "kiln writer", "capacity");
		BATCH(g, binding_list, "kiln binding", "capacity");
		BATCH(g, binding, "kiln binding, a call a message", "capacity");
		BATCH(g, binding_checked, "kiln binding, a call a message, UTF-8", "capacity UTF-8");
		BATCH(g, value_whole, "kiln value interface", "all");
	}
	if (host->wants("E01"))
	{
		group		g = {"E01", "encode", "batch100", (void *) corpus->batch};

		BATCH(g, bare, "bare C stores", "none");
		BATCH(g, binding, "kiln binding (here)", "capacity");
		BATCH(g, interpreted, "a decision a field", "capacity");
		BATCH(g, value_whole, "kiln value interface (here)", "all");
	}
	if (host->wants("E08"))
	{
		group		g = {"E08", "encode", "message", (void *) corpus->message};
		group		batch = {"E08", "encode", "batch100", (void *) corpus->batch};

		ONCE(g, bare, "no errors possible", "none");
		ONCE(g, writer, "one test a message (here)", "capacity");
		ONCE(g, returning, "a result tested each field", "capacity");
		ONCE(g, sticky, "a mark that stays, tested once", "capacity");
		BATCH(batch, bare, "no errors possible", "none");
		BATCH(batch, writer, "one test a message (here)", "capacity");
		BATCH(batch, returning, "a result tested each field", "capacity");
		BATCH(batch, sticky, "a mark that stays, tested once", "capacity");
	}
	if (host->wants("E10"))
	{
		group		g = {"E10", "encode", "message", (void *) corpus->message};

		ONCE(g, writer, "one reserve, a kept buffer (here)", "capacity");
		ONCE(g, reserve_each, "a reserve a field, a kept buffer", "capacity");
		add_expected(&g, "one malloc of the exact size a message", "none", run_exact, lengths(corpus->message, false), 44);
		add_expected(&g, "kiln writer, owned: grown from nothing", "capacity", run_grown, lengths(corpus->message, false), 44);
	}
	if (host->wants("E21"))
	{
		group		g = {"E21", "encode", "message", (void *) corpus->message};
		group		batch = {"E21", "encode", "batch100", (void *) corpus->batch};

		ONCE(g, writer, "one reserve, bare pointer (here)", "capacity");
		ONCE(g, writer_fields, "one reserve, writer's position", "capacity");
		ONCE(g, reserve_each, "a reserve a field", "capacity");
		BATCH(batch, writer, "one reserve, bare pointer (here)", "capacity");
		BATCH(batch, writer_fields, "one reserve, writer's position", "capacity");
		BATCH(batch, reserve_each, "a reserve a field", "capacity");
	}
}
