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

#include "experiment.h"

#define ROOM	(BENCH_BATCH * 96 + 64)

static uint8_t *room;			/* found at run time, as a caller's buffer is: no store has an address that the compiler knows */
static kiln_schema *message_schema;
static kiln_schema *batch_schema;
static kiln_binding *binding;
static kiln_writer writer;

/* ------------------------------------------------------------------ ways to write one message, at *p */

/* What a generic loop over the definition would do: a decision for each field. */
typedef struct plain_field
{
	uint8_t		kind;
	uint8_t		width;
	size_t		offset;
} plain_field;

static plain_field plain_fields[8];

static inline bool
put_bare(uint8_t **p, const bench_message *m)
{
	*p = bare_message(*p, m);
	return true;
}

/* The same with the C library's memcpy for every string: what most hand-written code does. */
static inline bool
put_bare_memcpy(uint8_t **at, const bench_message *m)
{
	uint8_t    *p = *at;

	p[0] = m->a;
	p[1] = m->b;
	memcpy(p + 2, &m->x, 4);
	memcpy(p + 6, &m->y, 4);
	memcpy(p + 10, &m->id, 8);
	memcpy(p + 18, &m->score, 8);
	memcpy(p + 26, &m->s.length, 4);
	memcpy(p + 30, m->s.data, m->s.length);
	p += 30 + m->s.length;
	memcpy(p, &m->t.length, 4);
	memcpy(p + 4, m->t.data, m->t.length);
	*at = p + 4 + m->t.length;
	return true;
}

static inline bool
put_writer(uint8_t **p, const bench_message *m)
{
	bool		good;

	writer.pos = *p;
	good = message_put(&writer, m);
	*p = writer.pos;
	return good;
}

/* One reserve, then the writer's stores, each of which moves the position in memory. */
static inline bool
put_writer_fields(uint8_t **p, const bench_message *m)
{
	writer.pos = *p;
	if (!kiln_writer_reserve(&writer, MESSAGE_FIXED + 8 + (size_t) m->s.length + m->t.length))
		return false;
	kiln_writer_u8(&writer, m->a);
	kiln_writer_u8(&writer, m->b);
	kiln_writer_u32(&writer, (uint32_t) m->x);
	kiln_writer_u32(&writer, (uint32_t) m->y);
	kiln_writer_u64(&writer, (uint64_t) m->id);
	kiln_writer_f64(&writer, m->score);
	kiln_writer_span(&writer, m->s.data, m->s.length);
	kiln_writer_span(&writer, m->t.data, m->t.length);
	*p = writer.pos;
	return true;
}

/* A reserve for each field. */
static inline bool
put_reserve_each(uint8_t **p, const bench_message *m)
{
	writer.pos = *p;
	if (!kiln_writer_reserve(&writer, 1))
		return false;
	kiln_writer_u8(&writer, m->a);
	if (!kiln_writer_reserve(&writer, 1))
		return false;
	kiln_writer_u8(&writer, m->b);
	if (!kiln_writer_reserve(&writer, 4))
		return false;
	kiln_writer_u32(&writer, (uint32_t) m->x);
	if (!kiln_writer_reserve(&writer, 4))
		return false;
	kiln_writer_u32(&writer, (uint32_t) m->y);
	if (!kiln_writer_reserve(&writer, 8))
		return false;
	kiln_writer_u64(&writer, (uint64_t) m->id);
	if (!kiln_writer_reserve(&writer, 8))
		return false;
	kiln_writer_f64(&writer, m->score);
	if (!kiln_writer_reserve(&writer, 4 + (size_t) m->s.length))
		return false;
	kiln_writer_span(&writer, m->s.data, m->s.length);
	if (!kiln_writer_reserve(&writer, 4 + (size_t) m->t.length))
		return false;
	kiln_writer_span(&writer, m->t.data, m->t.length);
	*p = writer.pos;
	return true;
}

static inline bool
put_binding(uint8_t **p, const bench_message *m)
{
	bool		good;

	writer.pos = *p;
	good = kiln_binding_encode(binding, m, false, &writer, NULL);
	*p = writer.pos;
	return good;
}

static inline bool
put_binding_checked(uint8_t **p, const bench_message *m)
{
	bool		good;

	writer.pos = *p;
	good = kiln_binding_encode(binding, m, true, &writer, NULL);
	*p = writer.pos;
	return good;
}

/* Fields known at run time, one decision each: room asked for each too, as a first implementation has it. */
static bool BENCH_NOINLINE
put_interpreted(uint8_t **at, const bench_message *m)
{
	uint8_t    *p = *at;
	const plain_field *end = plain_fields + 8;

	for (const plain_field *field = plain_fields; field < end; field++)
	{
		const char *from = (const char *) m + field->offset;
		kiln_slice	slice;

		if (field->kind == KILN_STRING)
		{
			memcpy(&slice, from, sizeof slice);
			if ((size_t) (writer.end - p) < 4 + (size_t) slice.length)
				return false;
			p = kiln_put_span(p, slice.data, slice.length);
			continue;
		}
		if ((size_t) (writer.end - p) < field->width)
			return false;
		memcpy(p, from, field->width);
		p += field->width;
	}
	*at = p;
	return true;
}

/* ---- the value interface */

static kiln_presence
source_field(void *self, kiln_node object, const kiln_type *type, uint32_t index, kiln_node *child, kiln_error *error)
{
	(void) self;
	(void) type;
	(void) error;
	child->pointer = object.pointer;
	child->word = index;
	return KILN_PRESENT;
}

static bool
source_scalar(void *self, kiln_node node, const kiln_type *type, kiln_scalar *value, kiln_error *error)
{
	const bench_message *m = node.pointer;
	const kiln_slice *slice = node.word == 6 ? &m->s : &m->t;

	(void) self;
	(void) type;
	(void) error;
	switch (node.word)
	{
		case 0:
			value->boolean = m->a;
			return true;
		case 1:
			value->boolean = m->b;
			return true;
		case 2:
			value->i64 = m->x;
			return true;
		case 3:
			value->i64 = m->y;
			return true;
		case 4:
			value->i64 = m->id;
			return true;
		case 5:
			value->f64 = m->score;
			return true;
		default:
			value->span.data = slice->data;
			value->span.length = slice->length;
			return true;
	}
}

static bool
source_begin_list(void *self, kiln_node node, const kiln_type *type, kiln_node *list, uint64_t *count,
				  const void **packed, kiln_error *error)
{
	(void) self;
	(void) type;
	(void) packed;
	(void) error;
	*list = node;
	*count = BENCH_BATCH;
	return true;
}

static kiln_presence
source_element(void *self, kiln_node list, const kiln_type *type, uint64_t position, kiln_node *child, kiln_error *error)
{
	(void) self;
	(void) type;
	(void) error;
	child->pointer = (const bench_message *) list.pointer + position;
	child->word = 0;
	return KILN_PRESENT;
}

static const kiln_source source = {
	.field = source_field, .scalar = source_scalar, .begin_list = source_begin_list, .element = source_element
};

static inline bool
put_value(uint8_t **p, const bench_message *m)
{
	kiln_node	node = {m, 0};
	bool		good;

	writer.pos = *p;
	good = kiln_encode(message_schema->root, &source, node, &writer, NULL);
	*p = writer.pos;
	return good;
}

/* ---- errors: the same stores, told apart by what they do about failing */

typedef struct sink
{
	uint8_t    *pos;
	uint8_t    *end;
	bool		failed;
} sink;

static inline bool
returning_store(sink *s, const void *data, size_t n)
{
	if ((size_t) (s->end - s->pos) < n)
		return false;
	memcpy(s->pos, data, n);
	s->pos += n;
	return true;
}

static inline bool
returning_text(sink *s, const kiln_slice *text)
{
	if (!returning_store(s, &text->length, 4) || (size_t) (s->end - s->pos) < text->length)
		return false;
	bare_copy(s->pos, text->data, text->length);
	s->pos += text->length;
	return true;
}

/* Each store may fail, and each caller looks. */
static inline bool
put_returning(uint8_t **p, const bench_message *m)
{
	sink		s = {*p, writer.end, false};

	if (!returning_store(&s, &m->a, 1) || !returning_store(&s, &m->b, 1) || !returning_store(&s, &m->x, 4) ||
		!returning_store(&s, &m->y, 4) || !returning_store(&s, &m->id, 8) || !returning_store(&s, &m->score, 8) ||
		!returning_text(&s, &m->s) || !returning_text(&s, &m->t))
		return false;
	*p = s.pos;
	return true;
}

static inline void
sticky_store(sink *s, const void *data, size_t n)
{
	if ((size_t) (s->end - s->pos) < n)
	{
		s->failed = true;
		s->end = s->pos;
		return;
	}
	memcpy(s->pos, data, n);
	s->pos += n;
}

static inline void
sticky_text(sink *s, const kiln_slice *text)
{
	sticky_store(s, &text->length, 4);
	if ((size_t) (s->end - s->pos) < text->length)
	{
		s->failed = true;
		s->end = s->pos;
		return;
	}
	bare_copy(s->pos, text->data, text->length);
	s->pos += text->length;
}

/* A store that fails leaves a mark, and the caller looks once. */
static inline bool
put_sticky(uint8_t **p, const bench_message *m)
{
	sink		s = {*p, writer.end, false};

	sticky_store(&s, &m->a, 1);
	sticky_store(&s, &m->b, 1);
	sticky_store(&s, &m->x, 4);
	sticky_store(&s, &m->y, 4);
	sticky_store(&s, &m->id, 8);
	sticky_store(&s, &m->score, 8);
	sticky_text(&s, &m->s);
	sticky_text(&s, &m->t);
	*p = s.pos;
	return !s.failed;
}

/* ------------------------------------------------------------------ from a way to write to legs */

static uint64_t
fold_messages(const bench_message *m, size_t n, const uint8_t *p, const uint8_t *end)
{
	uint64_t	f = 0;

	for (size_t i = 0; i < n; i++)
		f = view_message(f, &p);
	(void) m;
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
	return f == fold_messages(m, n, room + (list ? 4 : 0), room + length);
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
