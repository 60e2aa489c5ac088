/*
 * Ways to write the reference message: each a function put_WAY(at, message) that stores one message at *at, moves *at behind it, and
 * says whether there was room.
 */
#ifndef BENCH_WAYS_H
#define BENCH_WAYS_H

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

#endif							/* BENCH_WAYS_H */
