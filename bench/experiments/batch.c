/*
 * Experiments on how messages stand together. Each rival layout is written and read by hand as well as can be, by code of
 * the same kind as for the layout that Kiln has.
 *
 *   E11  columnar batch or row batch
 *   E16  structs behind a length word, or bare
 *   E20  padding small messages to 64 bytes
 */
#include "layout.h"

#define NESTED		16			/* structs before the trailer in E16 */

/* ------------------------------------------------------------------ E11: a batch by rows or by columns */

static uint64_t
source_e11(size_t i)
{
	uint64_t	f = 0;

	for (size_t j = 0; j < BENCH_BATCH; j++)
		f = bench_fold_message(f, &corpus->batch[i][j]);
	return f;
}

static inline uint8_t *
write_rows(size_t i, uint8_t *p)
{
	p = kiln_put_u32(p, BENCH_BATCH);
	for (size_t j = 0; j < BENCH_BATCH; j++)
		p = bare_message(p, &corpus->batch[i][j]);
	return p;
}

static inline uint64_t
read_rows(const uint8_t *p)
{
	uint64_t	f = 0;

	p += 4;
	for (size_t j = 0; j < BENCH_BATCH; j++)
		f = view_message(f, &p);
	return f;
}

/* count; a, b, x, y, id, score, then the lengths of s and of t as columns, then the strings' bytes */
#define COLUMN_X		(4 + 2 * BENCH_BATCH)
#define COLUMN_ID		(COLUMN_X + 8 * BENCH_BATCH)
#define COLUMN_SCORE	(COLUMN_ID + 8 * BENCH_BATCH)
#define COLUMN_LENGTHS	(COLUMN_SCORE + 8 * BENCH_BATCH)
#define COLUMN_TEXTS	(COLUMN_LENGTHS + 8 * BENCH_BATCH)

static inline uint8_t *
write_columns(size_t i, uint8_t *p)
{
	const bench_message *m = corpus->batch[i];
	uint8_t    *text = p + COLUMN_TEXTS;

	kiln_store_u32(p, BENCH_BATCH);
	for (size_t j = 0; j < BENCH_BATCH; j++)
	{
		p[4 + j] = m[j].a;
		p[4 + BENCH_BATCH + j] = m[j].b;
		kiln_store_u32(p + COLUMN_X + 4 * j, (uint32_t) m[j].x);
		kiln_store_u32(p + COLUMN_X + 4 * (BENCH_BATCH + j), (uint32_t) m[j].y);
		kiln_store_u64(p + COLUMN_ID + 8 * j, (uint64_t) m[j].id);
		kiln_store_f64(p + COLUMN_SCORE + 8 * j, m[j].score);
		kiln_store_u32(p + COLUMN_LENGTHS + 4 * j, m[j].s.length);
		kiln_store_u32(p + COLUMN_LENGTHS + 4 * (BENCH_BATCH + j), m[j].t.length);
		text = kiln_put_bytes(text, m[j].s.data, m[j].s.length);
		text = kiln_put_bytes(text, m[j].t.data, m[j].t.length);
	}
	return text;
}

static inline uint64_t
read_columns(const uint8_t *p)
{
	const uint8_t *text = p + COLUMN_TEXTS;
	uint64_t	f = 0;

	for (size_t j = 0; j < BENCH_BATCH; j++)
	{
		uint32_t	s = kiln_load_u32(p + COLUMN_LENGTHS + 4 * j);
		uint32_t	t = kiln_load_u32(p + COLUMN_LENGTHS + 4 * (BENCH_BATCH + j));

		f = bench_fold(f, p[4 + j]);
		f = bench_fold(f, p[4 + BENCH_BATCH + j]);
		f = bench_fold(f, (uint64_t) (int32_t) kiln_load_u32(p + COLUMN_X + 4 * j));
		f = bench_fold(f, (uint64_t) (int32_t) kiln_load_u32(p + COLUMN_X + 4 * (BENCH_BATCH + j)));
		f = bench_fold(f, kiln_load_u64(p + COLUMN_ID + 8 * j));
		f = bench_fold_f64(f, kiln_load_f64(p + COLUMN_SCORE + 8 * j));
		f = bench_fold_text(f, text, s);
		text += s;
		f = bench_fold_text(f, text, t);
		text += t;
	}
	return f;
}

LAYOUT(e11, rows)
LAYOUT(e11, columns)

/* one column alone: the sum of all scores, as bits of the double */
static uint64_t
source_e11_sum(size_t i)
{
	double		sum = 0;

	for (size_t j = 0; j < BENCH_BATCH; j++)
		sum += corpus->batch[i][j].score;
	return bench_fold_f64(0, sum);
}

static inline uint64_t
sum_rows(const uint8_t *p)
{
	double		sum = 0;

	p += 4;
	for (size_t j = 0; j < BENCH_BATCH; j++)
	{
		sum += kiln_load_f64(p + 18);
		p += 26;
		p += 4 + kiln_load_u32(p);
		p += 4 + kiln_load_u32(p);
	}
	return bench_fold_f64(0, sum);
}

static inline uint64_t
sum_columns(const uint8_t *p)
{
	double		sum = 0;

	for (size_t j = 0; j < BENCH_BATCH; j++)
		sum += kiln_load_f64(p + COLUMN_SCORE + 8 * j);
	return bench_fold_f64(0, sum);
}

READING(e11_sum, sum_rows, rows)
READING(e11_sum, sum_columns, columns)

/* ------------------------------------------------------------------ E16: nested messages before a trailer of eight bytes */

static uint64_t
source_e16(size_t i)
{
	uint64_t	f = 0;

	for (size_t j = 0; j < NESTED; j++)
		f = bench_fold_message(f, &corpus->varied[(i + j) & (BENCH_BUFFERS - 1)]);
	return bench_fold(f, i);
}

static inline uint8_t *
write_nested(size_t i, uint8_t *p)
{
	for (size_t j = 0; j < NESTED; j++)
		p = bare_message(p, &corpus->varied[(i + j) & (BENCH_BUFFERS - 1)]);
	return kiln_put_u64(p, i);
}

static inline uint64_t
read_nested(const uint8_t *p)
{
	uint64_t	f = 0;

	for (size_t j = 0; j < NESTED; j++)
		f = view_message(f, &p);
	return bench_fold(f, kiln_load_u64(p));
}

static inline uint8_t *
write_prefixed(size_t i, uint8_t *p)
{
	for (size_t j = 0; j < NESTED; j++)
	{
		uint8_t    *end = bare_message(p + 4, &corpus->varied[(i + j) & (BENCH_BUFFERS - 1)]);

		kiln_store_u32(p, (uint32_t) (end - p - 4));
		p = end;
	}
	return kiln_put_u64(p, i);
}

static inline uint64_t
read_prefixed(const uint8_t *p)
{
	uint64_t	f = 0;

	for (size_t j = 0; j < NESTED; j++)
	{
		p += 4;
		f = view_message(f, &p);
	}
	return bench_fold(f, kiln_load_u64(p));
}

LAYOUT(e16, nested)
LAYOUT(e16, prefixed)

static uint64_t
source_e16_trailer(size_t i)
{
	return i;
}

static inline uint64_t
trailer_nested(const uint8_t *p)
{
	for (size_t j = 0; j < NESTED; j++)
	{
		p += 26;
		p += 4 + kiln_load_u32(p);
		p += 4 + kiln_load_u32(p);
	}
	return kiln_load_u64(p);
}

static inline uint64_t
trailer_prefixed(const uint8_t *p)
{
	for (size_t j = 0; j < NESTED; j++)
		p += 4 + kiln_load_u32(p);
	return kiln_load_u64(p);
}

READING(e16_trailer, trailer_nested, nested)
READING(e16_trailer, trailer_prefixed, prefixed)

/* ------------------------------------------------------------------ E20: a batch, each message at a multiple of 64 */

static inline uint8_t *
write_padded(size_t i, uint8_t *p)
{
	kiln_store_u32(p, BENCH_BATCH);
	p += 64;
	for (size_t j = 0; j < BENCH_BATCH; j++)
	{
		uint8_t    *end = bare_message(p, &corpus->batch[i][j]);

		memset(end, 0, (size_t) (p + 64 - end));
		p += 64;
	}
	return p;
}

static inline uint64_t
read_padded(const uint8_t *p)
{
	uint64_t	f = 0;

	for (size_t j = 0; j < BENCH_BATCH; j++)
	{
		const uint8_t *at = p + 64 + 64 * j;

		f = view_message(f, &at);
	}
	return f;
}

LAYOUT(e11, padded)

static uint64_t
source_e20_last(size_t i)
{
	return (uint64_t) corpus->batch[i][BENCH_BATCH - 1].id;
}

static inline uint64_t
last_rows(const uint8_t *p)
{
	p += 4;
	for (size_t j = 0; j < BENCH_BATCH - 1; j++)
	{
		p += 26;
		p += 4 + kiln_load_u32(p);
		p += 4 + kiln_load_u32(p);
	}
	return kiln_load_u64(p + 10);
}

static inline uint64_t
last_padded(const uint8_t *p)
{
	return kiln_load_u64(p + 64 * BENCH_BATCH + 10);
}

READING(e20_last, last_rows, rows)
READING(e20_last, last_padded, padded)

/* ------------------------------------------------------------------ registration */

void
bench_register(const bench_host *from)
{
	host = from;
	corpus = host->corpus;
	room = take(ROOM);
	if (host->wants("E11"))
	{
		ADD_LAYOUT("E11", "batch100", rows, "rows (here)");
		ADD_LAYOUT("E11", "batch100", columns, "columns");
		ADD_READING("E11", "sum of one field", "batch100", sum_rows, "rows (here)", 0);
		ADD_READING("E11", "sum of one field", "batch100", sum_columns, "columns", 0);
	}
	if (host->wants("E16"))
	{
		ADD_LAYOUT("E16", "16 structs and a trailer", nested, "bare structs (here)");
		ADD_LAYOUT("E16", "16 structs and a trailer", prefixed, "structs behind a length");
		ADD_READING("E16", "read the trailer", "16 structs and a trailer", trailer_nested, "bare structs (here)", 0);
		ADD_READING("E16", "read the trailer", "16 structs and a trailer", trailer_prefixed, "structs behind a length", 0);
	}
	if (host->wants("E20"))
	{
		ADD_LAYOUT("E20", "batch100", rows, "packed (here)");
		ADD_LAYOUT("E20", "batch100", padded, "each padded to 64 bytes");
		ADD_READING("E20", "read the last id", "batch100", last_rows, "packed (here)", 0);
		ADD_READING("E20", "read the last id", "batch100", last_padded, "each padded to 64 bytes", 0);
	}
}
