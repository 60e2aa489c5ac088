/*
 * The data that every contender reads and writes, as plain C structs, and the fold that consumes it.
 *
 * Made by a fixed random sequence, so that every run and every machine has the same. Small values come in
 * BENCH_BUFFERS variants, over which a leg rotates: no branch predictor learns one value by heart. Large ones come in
 * fewer, since they leave no room in the caches and have no branches to learn.
 *
 * The fold of a source value is what every reader of its encoding must arrive at: bench_fold_…() here is the one
 * definition, and a reader that gives another figure gets no time.
 */
#ifndef BENCH_CORPUS_H
#define BENCH_CORPUS_H

#include "kiln.h"

#ifdef __cplusplus
extern "C" {
#endif

#define BENCH_BUFFERS		64		/* variants of a small value; a power of two */
#define BENCH_LARGE			8		/* variants of a value of about 64 KiB */
#define BENCH_HUGE			2		/* variants of a value of 2 MiB */
#define BENCH_BATCH			100		/* messages of a batch */

#define BENCH_F64_SMALL		10000
#define BENCH_F64_LARGE		262144

typedef struct bench_message
{
	bool		a;
	bool		b;
	int32_t		x;
	int32_t		y;
	int64_t		id;
	double		score;
	kiln_slice	s;
	kiln_slice	t;
} bench_message;

typedef struct bench_transaction
{
	int64_t		id;
	int64_t		at;				/* microseconds since 2000-01-01 */
	int64_t		amount;
	uint8_t		kind;
	kiln_slice	party;
	kiln_slice	memo;
} bench_transaction;

typedef struct bench_account
{
	int64_t		id;
	int64_t		balance;
	kiln_slice	owner;
	kiln_slice	currency;
	uint32_t	count;
	bench_transaction *transactions;
} bench_account;

/* An entity of a game's frame: 31 bytes of scalars, 32 with the padding that C puts behind them. */
typedef struct bench_entity
{
	uint32_t	id;
	float		px;
	float		py;
	float		pz;
	int16_t		vx;
	int16_t		vy;
	int16_t		vz;
	uint16_t	yaw;
	uint16_t	pitch;
	uint16_t	health;
	uint8_t		kind;
	uint8_t		team;
	uint8_t		flags;
} bench_entity;

#define BENCH_ENTITY_BYTES	31

typedef struct bench_telemetry
{
	uint32_t	device;
	int64_t		at;
	double		temperature;
	bool		has_humidity;
	double		humidity;
	uint16_t	status;
	uint8_t		battery;
} bench_telemetry;

typedef struct bench_chunk
{
	uint64_t	id;
	uint32_t	sequence;
	kiln_slice	data;
} bench_chunk;

typedef struct bench_corpus
{
	bench_message golden;		/* the reference message of FORMAT 2 */
	bench_message message[BENCH_BUFFERS];	/* 44 bytes each: five-byte strings, as the reference message has */
	bench_message varied[BENCH_BUFFERS];	/* strings of 0 to 24 bytes, some of them not ASCII */
	bench_message batch[BENCH_BUFFERS][BENCH_BATCH];	/* 44 bytes each */
	bench_account bank1[BENCH_BUFFERS];
	bench_account bank10[BENCH_BUFFERS];
	bench_account bank100[BENCH_BUFFERS];
	bench_entity frame[BENCH_BUFFERS][500];
	uint8_t		packed[BENCH_BUFFERS][500 * BENCH_ENTITY_BYTES];	/* the same entities without padding */
	bench_telemetry telemetry[BENCH_BUFFERS];
	bench_chunk chunk64[BENCH_BUFFERS];
	bench_chunk chunk65536[BENCH_LARGE];
	double	   *f64_small[BENCH_LARGE];
	double	   *f64_large[BENCH_HUGE];
} bench_corpus;

/* The one corpus of this process, made at the first call. */
const bench_corpus *bench_corpus_get(void);

/* Zeroed room for large values, that starts a huge page. Stays. */
void	   *bench_room(size_t n);

/* The next number of a fixed sequence. */
uint64_t	bench_random(uint64_t *state);

/* ------------------------------------------------------------------ fold */

static inline uint64_t
bench_fold(uint64_t f, uint64_t v)
{
	return (f << 5 | f >> 59) ^ v;
}

static inline uint64_t
bench_fold_f64(uint64_t f, double v)
{
	uint64_t	bits;

	memcpy(&bits, &v, sizeof bits);
	return bench_fold(f, bits);
}

static inline uint64_t
bench_fold_f32(uint64_t f, float v)
{
	uint32_t	bits;

	memcpy(&bits, &v, sizeof bits);
	return bench_fold(f, bits);
}

/* A string or bytes value: its length, and its first and last byte. */
static inline uint64_t
bench_fold_text(uint64_t f, const void *data, size_t n)
{
	const uint8_t *bytes = (const uint8_t *) data;

	return bench_fold(f, n == 0 ? 0 : n << 16 | (uint64_t) bytes[0] << 8 | bytes[n - 1]);
}

static inline uint64_t
bench_fold_message(uint64_t f, const bench_message *m)
{
	f = bench_fold(f, m->a);
	f = bench_fold(f, m->b);
	f = bench_fold(f, (uint64_t) m->x);
	f = bench_fold(f, (uint64_t) m->y);
	f = bench_fold(f, (uint64_t) m->id);
	f = bench_fold_f64(f, m->score);
	f = bench_fold_text(f, m->s.data, m->s.length);
	return bench_fold_text(f, m->t.data, m->t.length);
}

static inline uint64_t
bench_fold_transaction(uint64_t f, const bench_transaction *t)
{
	f = bench_fold(f, (uint64_t) t->id);
	f = bench_fold(f, (uint64_t) t->at);
	f = bench_fold(f, (uint64_t) t->amount);
	f = bench_fold(f, t->kind);
	f = bench_fold_text(f, t->party.data, t->party.length);
	return bench_fold_text(f, t->memo.data, t->memo.length);
}

static inline uint64_t
bench_fold_account(uint64_t f, const bench_account *a)
{
	f = bench_fold(f, (uint64_t) a->id);
	f = bench_fold(f, (uint64_t) a->balance);
	f = bench_fold_text(f, a->owner.data, a->owner.length);
	f = bench_fold_text(f, a->currency.data, a->currency.length);
	f = bench_fold(f, a->count);
	for (uint32_t i = 0; i < a->count; i++)
		f = bench_fold_transaction(f, &a->transactions[i]);
	return f;
}

static inline uint64_t
bench_fold_entity(uint64_t f, const bench_entity *e)
{
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
	return bench_fold(f, e->flags);
}

static inline uint64_t
bench_fold_telemetry(uint64_t f, const bench_telemetry *t)
{
	f = bench_fold(f, t->device);
	f = bench_fold(f, (uint64_t) t->at);
	f = bench_fold_f64(f, t->temperature);
	f = t->has_humidity ? bench_fold_f64(f, t->humidity) : bench_fold(f, 1);
	f = bench_fold(f, t->status);
	return bench_fold(f, t->battery);
}

static inline uint64_t
bench_fold_chunk(uint64_t f, const bench_chunk *c)
{
	f = bench_fold(f, c->id);
	f = bench_fold(f, c->sequence);
	return bench_fold_text(f, c->data.data, c->data.length);
}

#ifdef __cplusplus
}
#endif

#endif							/* BENCH_CORPUS_H */
