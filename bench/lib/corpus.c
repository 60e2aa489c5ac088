/*
 * The benchmark's data: see corpus.h. Everything stays until the process ends.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "corpus.h"

uint64_t
bench_random(uint64_t *state)
{
	uint64_t	z = (*state += UINT64_C(0x9e3779b97f4a7c15));

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

static uint64_t
below(uint64_t *state, uint64_t bound)
{
	return bench_random(state) % bound;
}

static void *
take_aligned(size_t alignment, size_t n)
{
	void	   *memory = aligned_alloc(alignment, (n + alignment - 1) & ~(alignment - 1));

	if (memory == NULL)
	{
		fputs("bench: out of memory\n", stderr);
		exit(1);
	}
	return memory;
}

static void *
take(size_t n)
{
	return take_aligned(64, n);
}

/*
 * Large room lies in huge pages where the kernel has them: in which of the cache's sets a buffer falls is then the same for every contender and
 * in every run, and not a matter of which pages came by.
 */
#define HUGE_PAGE	((size_t) 2 << 20)

void *
bench_room(size_t n)
{
	size_t		whole = (n + HUGE_PAGE - 1) & ~(HUGE_PAGE - 1);
	void	   *memory = take_aligned(HUGE_PAGE, whole);

#ifdef MADV_HUGEPAGE
	madvise(memory, whole, MADV_HUGEPAGE);
#endif
	memset(memory, 0, whole);
	return memory;
}

/*
 * A large source lies in the middle of a page. Output buffers start near the start of one, so that no copy runs
 * a few bytes behind itself in the low twelve bits of its addresses, which processors mistake for an overlap.
 */
static void *
take_large(size_t n)
{
	return (uint8_t *) bench_room(n + 2048) + 2048;
}

/* n letters; in a text that is not plain, two bytes at a time may be an é. */
static kiln_slice
text(uint64_t *state, size_t n, bool plain)
{
	uint8_t    *bytes = take(n + 1);
	kiln_slice	slice;

	for (size_t i = 0; i < n; i++)
	{
		bytes[i] = (uint8_t) ('a' + below(state, 26));
		if (!plain && i > 0 && bytes[i - 1] < 0x80 && below(state, 5) == 0)
		{
			bytes[i - 1] = 0xc3;
			bytes[i] = 0xa9;
		}
	}
	bytes[n] = 0;				/* for libraries that want C strings */
	slice.data = bytes;
	slice.length = (uint32_t) n;
	return slice;
}

/* A number of varying magnitude. */
static int64_t
number(uint64_t *state)
{
	return (int64_t) bench_random(state) >> below(state, 63);
}

static void
fill_message(uint64_t *state, bench_message *m, bool varied)
{
	m->a = below(state, 2) != 0;
	m->b = below(state, 2) != 0;
	m->x = (int32_t) number(state);
	m->y = (int32_t) number(state);
	m->id = number(state);
	m->score = (double) (int64_t) below(state, 2000000) / 1000 - 1000;
	m->s = text(state, varied ? below(state, 25) : 5, !varied || below(state, 4) != 0);
	m->t = text(state, varied ? below(state, 25) : 5, !varied || below(state, 4) != 0);
}

static void
fill_account(uint64_t *state, bench_account *a, uint32_t count)
{
	a->id = number(state);
	a->balance = number(state);
	a->owner = text(state, 8 + below(state, 17), below(state, 4) != 0);
	a->currency = text(state, 3, true);
	a->count = count;
	a->transactions = take(count * sizeof *a->transactions);
	for (uint32_t i = 0; i < count; i++)
	{
		bench_transaction *t = &a->transactions[i];

		t->id = number(state);
		t->at = (int64_t) below(state, UINT64_C(800000000000000));
		t->amount = number(state);
		t->kind = (uint8_t) below(state, 6);
		t->party = text(state, 6 + below(state, 15), below(state, 4) != 0);
		t->memo = text(state, below(state, 41), below(state, 8) != 0);
	}
}

static void
fill_entity(uint64_t *state, bench_entity *e)
{
	e->id = (uint32_t) bench_random(state);
	e->px = (float) below(state, 100000) / 16;
	e->py = (float) below(state, 100000) / 16;
	e->pz = (float) below(state, 100000) / 16;
	e->vx = (int16_t) bench_random(state);
	e->vy = (int16_t) bench_random(state);
	e->vz = (int16_t) bench_random(state);
	e->yaw = (uint16_t) bench_random(state);
	e->pitch = (uint16_t) bench_random(state);
	e->health = (uint16_t) below(state, 1000);
	e->kind = (uint8_t) below(state, 12);
	e->team = (uint8_t) below(state, 4);
	e->flags = (uint8_t) bench_random(state);
}

/* An entity as the wire has it: field by field, little-endian, nothing between. */
static void
pack_entity(const bench_entity *e, uint8_t *p)
{
	kiln_store_u32(p, e->id);
	kiln_store_f32(p + 4, e->px);
	kiln_store_f32(p + 8, e->py);
	kiln_store_f32(p + 12, e->pz);
	kiln_store_u16(p + 16, (uint16_t) e->vx);
	kiln_store_u16(p + 18, (uint16_t) e->vy);
	kiln_store_u16(p + 20, (uint16_t) e->vz);
	kiln_store_u16(p + 22, e->yaw);
	kiln_store_u16(p + 24, e->pitch);
	kiln_store_u16(p + 26, e->health);
	p[28] = e->kind;
	p[29] = e->team;
	p[30] = e->flags;
}

static void
fill_chunk(uint64_t *state, bench_chunk *c, size_t n)
{
	uint8_t    *bytes = n < 4096 ? take(n) : take_large(n);

	c->id = bench_random(state);
	c->sequence = (uint32_t) bench_random(state);
	for (size_t i = 0; i < n; i += 8)
		kiln_store_u64(bytes + i, bench_random(state));
	c->data.data = bytes;
	c->data.length = (uint32_t) n;
}

static double *
numbers(uint64_t *state, size_t n)
{
	double	   *values = take_large(n * sizeof *values);

	for (size_t i = 0; i < n; i++)
		values[i] = (double) (int64_t) below(state, 1000000) / 64 - 5000;
	return values;
}

static void
fill_small(bench_corpus *c, uint64_t *state)
{
	for (size_t i = 0; i < BENCH_BUFFERS; i++)
	{
		bench_telemetry *t = &c->telemetry[i];

		fill_message(state, &c->message[i], false);
		fill_message(state, &c->varied[i], true);
		for (size_t j = 0; j < BENCH_BATCH; j++)
			fill_message(state, &c->batch[i][j], false);
		fill_account(state, &c->bank1[i], 1);
		fill_account(state, &c->bank10[i], 10);
		fill_account(state, &c->bank100[i], 100);
		for (size_t j = 0; j < 500; j++)
		{
			fill_entity(state, &c->frame[i][j]);
			pack_entity(&c->frame[i][j], c->packed[i] + j * BENCH_ENTITY_BYTES);
		}
		t->device = (uint32_t) below(state, 100000);
		t->at = (int64_t) below(state, UINT64_C(800000000000000));
		t->temperature = (double) below(state, 10000) / 128 - 20;
		t->has_humidity = below(state, 2) != 0;
		t->humidity = (double) below(state, 10000) / 128;
		t->status = (uint16_t) below(state, 500);
		t->battery = (uint8_t) below(state, 101);
		fill_chunk(state, &c->chunk64[i], 64);
	}
}

const bench_corpus *
bench_corpus_get(void)
{
	static bench_corpus *c;
	uint64_t	state = 20000101;

	if (c != NULL)
		return c;
	c = take(sizeof *c);
	memset(c, 0, sizeof *c);
	c->golden = (bench_message) {true, false, 1, -2, 42, 4.5, {"hello", 5}, {"world", 5}};
	fill_small(c, &state);
	for (size_t i = 0; i < BENCH_LARGE; i++)
	{
		fill_chunk(&state, &c->chunk65536[i], 65536);
		c->f64_small[i] = numbers(&state, BENCH_F64_SMALL);
	}
	for (size_t i = 0; i < BENCH_HUGE; i++)
		c->f64_large[i] = numbers(&state, BENCH_F64_LARGE);
	return c;
}
