/*
 * The reference message, written and read by hand in each way that is compared: bare stores, the codec's writer, views,
 * held views, the checked reader. Its fields are known to the program, as they are to a C program that uses Kiln.
 */
#ifndef BENCH_MESSAGE_H
#define BENCH_MESSAGE_H

#include <stdlib.h>

#include "bench.h"

#define MESSAGE_TEXT	"message(a bool,b bool,x i32,y i32,id i64,score f64,s string,t string)"
#define MESSAGE_FIXED	26		/* bytes before the first length word */

/* ------------------------------------------------------------------ bare C: the ceiling */

/* n bytes, of which there mostly are few: no call, and no byte outside them touched. */
static inline void
bare_copy(uint8_t *to, const void *data, size_t n)
{
	const uint8_t *from = (const uint8_t *) data;

	if (KILN_LIKELY(n <= 16))
	{
		if (n >= 8)
		{
			uint64_t	head;
			uint64_t	tail;

			memcpy(&head, from, 8);
			memcpy(&tail, from + n - 8, 8);
			memcpy(to, &head, 8);
			memcpy(to + n - 8, &tail, 8);
		}
		else if (n >= 4)
		{
			uint32_t	head;
			uint32_t	tail;

			memcpy(&head, from, 4);
			memcpy(&tail, from + n - 4, 4);
			memcpy(to, &head, 4);
			memcpy(to + n - 4, &tail, 4);
		}
		else if (n != 0)
		{
			to[0] = from[0];
			to[n / 2] = from[n / 2];
			to[n - 1] = from[n - 1];
		}
	}
	else if (n <= 64)
	{
		uint64_t	head[2];
		uint64_t	tail[2];

		if (n > 32)
		{
			memcpy(head, from + 16, 16);
			memcpy(tail, from + n - 32, 16);
			memcpy(to + 16, head, 16);
			memcpy(to + n - 32, tail, 16);
		}
		memcpy(head, from, 16);
		memcpy(tail, from + n - 16, 16);
		memcpy(to, head, 16);
		memcpy(to + n - 16, tail, 16);
	}
	else
		memcpy(to, from, n);
}

/* Bare stores, into room that is known to be there: returns the byte after the message. */
static inline uint8_t *
bare_message(uint8_t *p, const bench_message *m)
{
	p[0] = m->a;
	p[1] = m->b;
	memcpy(p + 2, &m->x, 4);
	memcpy(p + 6, &m->y, 4);
	memcpy(p + 10, &m->id, 8);
	memcpy(p + 18, &m->score, 8);
	memcpy(p + 26, &m->s.length, 4);
	bare_copy(p + 30, m->s.data, m->s.length);
	p += 30 + m->s.length;
	memcpy(p, &m->t.length, 4);
	bare_copy(p + 4, m->t.data, m->t.length);
	return p + 4 + m->t.length;
}

/* ------------------------------------------------------------------ the codec's writer */

static inline bool
message_put(kiln_writer *w, const bench_message *m)
{
	kiln_slice	s = m->s;		/* values, so that no store can change them for all the compiler knows */
	kiln_slice	t = m->t;
	uint8_t    *p;

	if (!kiln_writer_reserve(w, MESSAGE_FIXED + 8 + (size_t) s.length + t.length))
		return false;
	p = w->pos;
	p = kiln_put_u8(p, m->a);
	p = kiln_put_u8(p, m->b);
	p = kiln_put_u32(p, (uint32_t) m->x);
	p = kiln_put_u32(p, (uint32_t) m->y);
	p = kiln_put_u64(p, (uint64_t) m->id);
	p = kiln_put_f64(p, m->score);
	p = kiln_put_span(p, s.data, s.length);
	w->pos = kiln_put_span(p, t.data, t.length);
	return true;
}

/* ------------------------------------------------------------------ readers: each folds one message and passes it */

static inline uint64_t
view_message(uint64_t f, const uint8_t **at)
{
	const uint8_t *p = *at;
	const uint8_t *text;
	uint32_t	length;

	f = bench_fold(f, p[0]);
	f = bench_fold(f, p[1]);
	f = bench_fold(f, (uint64_t) (int32_t) kiln_load_u32(p + 2));
	f = bench_fold(f, (uint64_t) (int32_t) kiln_load_u32(p + 6));
	f = bench_fold(f, kiln_load_u64(p + 10));
	f = bench_fold_f64(f, kiln_load_f64(p + 18));
	text = kiln_view_span(p + 26, &length);
	f = bench_fold_text(f, text, length);
	text = kiln_view_span(text + length, &length);
	*at = text + length;
	return bench_fold_text(f, text, length);
}

static inline uint64_t
held_message(uint64_t f, const kiln_held *held, size_t *at)
{
	size_t		pos = *at;
	const uint8_t *text;
	uint32_t	length;

	f = bench_fold(f, kiln_held_u8(held, pos) != 0);
	f = bench_fold(f, kiln_held_u8(held, pos + 1) != 0);
	f = bench_fold(f, (uint64_t) (int32_t) kiln_held_u32(held, pos + 2));
	f = bench_fold(f, (uint64_t) (int32_t) kiln_held_u32(held, pos + 6));
	f = bench_fold(f, kiln_held_u64(held, pos + 10));
	f = bench_fold(f, kiln_held_u64(held, pos + 18));
	text = kiln_held_span(held, pos + 26, &length);
	f = bench_fold_text(f, text, length);
	text = kiln_held_span(held, (size_t) (text - held->data) + length, &length);
	*at = (size_t) (text - held->data) + length;
	return bench_fold_text(f, text, length);
}

/* The checked reader; utf8 must be a constant. What failed is told by reader->failed alone, once. */
static inline uint64_t
message_checked(uint64_t f, kiln_reader *reader, const bool utf8)
{
	const uint8_t *text;
	uint32_t	length;

	f = bench_fold(f, kiln_reader_bool(reader));
	f = bench_fold(f, kiln_reader_bool(reader));
	f = bench_fold(f, (uint64_t) (int32_t) kiln_reader_u32(reader));
	f = bench_fold(f, (uint64_t) (int32_t) kiln_reader_u32(reader));
	f = bench_fold(f, kiln_reader_u64(reader));
	f = bench_fold_f64(f, kiln_reader_f64(reader));
	text = utf8 ? kiln_reader_string(reader, &length) : kiln_reader_span(reader, &length);
	f = bench_fold_text(f, text, length);
	text = utf8 ? kiln_reader_string(reader, &length) : kiln_reader_span(reader, &length);
	return bench_fold_text(f, text, length);
}

#endif							/* BENCH_MESSAGE_H */
