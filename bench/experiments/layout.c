/*
 * Experiments on how single values could have been spelled. Each rival layout is written and read by hand as well as can
 * be, by code of the same kind as for the layout that Kiln has.
 *
 *   E03  u16, u32 or varint length prefix       E17  presence bitmap or tag byte
 *   E04  fixed width or LEB128                  E18  interning repeated strings
 *   E09  fixed block first or declaration       E19  delta coding for integer lists
 */
#include "layout.h"

#define NUMBERS		64			/* integers a value in E04 */
#define OPTIONALS	8			/* optional fields of E17 */
#define TIMES		1000		/* timestamps a list in E19 */
#define WORDS		8			/* distinct strings of E18 */

/* ------------------------------------------------------------------ LEB128 */

static inline uint8_t *
put_varint(uint8_t *p, uint64_t v)
{
	while (v >= 0x80)
	{
		*p++ = (uint8_t) (v | 0x80);
		v >>= 7;
	}
	*p++ = (uint8_t) v;
	return p;
}

static inline uint64_t
get_varint(const uint8_t **at)
{
	const uint8_t *p = *at;
	uint64_t	v = *p & 0x7f;
	unsigned	shift = 7;

	while (*p++ & 0x80)
	{
		v |= (uint64_t) (*p & 0x7f) << shift;
		shift += 7;
	}
	*at = p;
	return v;
}

static inline uint64_t
zigzag(int64_t v)
{
	return (uint64_t) v << 1 ^ (uint64_t) (v >> 63);
}

static inline int64_t
unzigzag(uint64_t v)
{
	return (int64_t) (v >> 1 ^ (~(v & 1) + 1));
}

/* ------------------------------------------------------------------ E03: 100 strings, their lengths in three spellings */

static inline const kiln_slice *
text_of(size_t i, size_t j)
{
	const bench_message *m = &corpus->varied[(i + j) & (BENCH_BUFFERS - 1)];

	return j & 1 ? &m->t : &m->s;
}

static uint64_t
source_e03(size_t i)
{
	uint64_t	f = 0;

	for (size_t j = 0; j < 100; j++)
		f = bench_fold_text(f, text_of(i, j)->data, text_of(i, j)->length);
	return f;
}

#define PREFIX(name, put, get) \
static inline uint8_t * \
write_##name(size_t i, uint8_t *p) \
{ \
	for (size_t j = 0; j < 100; j++) \
	{ \
		const kiln_slice *text = text_of(i, j); \
\
		put; \
		p = kiln_put_bytes(p, text->data, text->length); \
	} \
	return p; \
} \
\
static inline uint64_t \
read_##name(const uint8_t *p) \
{ \
	uint64_t	f = 0; \
\
	for (size_t j = 0; j < 100; j++) \
	{ \
		size_t		length; \
\
		get; \
		f = bench_fold_text(f, p, length); \
		p += length; \
	} \
	return f; \
} \
\
LAYOUT(e03, name)

PREFIX(prefix_u16, p = kiln_put_u16(p, (uint16_t) text->length), (length = kiln_load_u16(p), p += 2))
PREFIX(prefix_u32, p = kiln_put_u32(p, text->length), (length = kiln_load_u32(p), p += 4))
PREFIX(prefix_varint, p = put_varint(p, text->length), length = (size_t) get_varint(&p))

/* ------------------------------------------------------------------ E04: integers of all sizes */

static int64_t integers[BENCH_BUFFERS][NUMBERS];

static uint64_t
source_e04(size_t i)
{
	uint64_t	f = 0;

	for (size_t j = 0; j < NUMBERS; j++)
		f = bench_fold(f, (uint64_t) integers[i][j]);
	return f;
}

static inline uint8_t *
write_fixed(size_t i, uint8_t *p)
{
	for (size_t j = 0; j < NUMBERS; j++)
		p = kiln_put_u64(p, (uint64_t) integers[i][j]);
	return p;
}

static inline uint64_t
read_fixed(const uint8_t *p)
{
	uint64_t	f = 0;

	for (size_t j = 0; j < NUMBERS; j++)
		f = bench_fold(f, kiln_load_u64(p + 8 * j));
	return f;
}

static inline uint8_t *
write_leb128(size_t i, uint8_t *p)
{
	for (size_t j = 0; j < NUMBERS; j++)
		p = put_varint(p, zigzag(integers[i][j]));
	return p;
}

static inline uint64_t
read_leb128(const uint8_t *p)
{
	uint64_t	f = 0;

	for (size_t j = 0; j < NUMBERS; j++)
		f = bench_fold(f, (uint64_t) unzigzag(get_varint(&p)));
	return f;
}

LAYOUT(e04, fixed)
LAYOUT(e04, leb128)

/* ------------------------------------------------------------------ E09: a message whose strings are declared among its numbers */

static uint64_t
source_e09(size_t i)
{
	const bench_message *m = &corpus->varied[i];
	uint64_t	f = bench_fold_text(0, m->s.data, m->s.length);

	f = bench_fold(f, (uint64_t) m->x);
	f = bench_fold(f, (uint64_t) m->y);
	f = bench_fold_text(f, m->t.data, m->t.length);
	f = bench_fold(f, (uint64_t) m->id);
	return bench_fold_f64(f, m->score);
}

/* s string, x i32, y i32, t string, id i64, score f64, as declared */
static inline uint8_t *
write_declared(size_t i, uint8_t *p)
{
	const bench_message *m = &corpus->varied[i];

	p = kiln_put_span(p, m->s.data, m->s.length);
	p = kiln_put_u32(p, (uint32_t) m->x);
	p = kiln_put_u32(p, (uint32_t) m->y);
	p = kiln_put_span(p, m->t.data, m->t.length);
	p = kiln_put_u64(p, (uint64_t) m->id);
	return kiln_put_f64(p, m->score);
}

static inline uint64_t
read_declared(const uint8_t *p)
{
	uint32_t	length;
	const uint8_t *text = kiln_view_span(p, &length);
	uint64_t	f = bench_fold_text(0, text, length);

	p = text + length;
	f = bench_fold(f, (uint64_t) (int32_t) kiln_load_u32(p));
	f = bench_fold(f, (uint64_t) (int32_t) kiln_load_u32(p + 4));
	text = kiln_view_span(p + 8, &length);
	f = bench_fold_text(f, text, length);
	p = text + length;
	f = bench_fold(f, kiln_load_u64(p));
	return bench_fold_f64(f, kiln_load_f64(p + 8));
}

/* the same fields, those of fixed width moved to the front */
static inline uint8_t *
write_fixed_first(size_t i, uint8_t *p)
{
	const bench_message *m = &corpus->varied[i];

	p = kiln_put_u32(p, (uint32_t) m->x);
	p = kiln_put_u32(p, (uint32_t) m->y);
	p = kiln_put_u64(p, (uint64_t) m->id);
	p = kiln_put_f64(p, m->score);
	p = kiln_put_span(p, m->s.data, m->s.length);
	return kiln_put_span(p, m->t.data, m->t.length);
}

static inline uint64_t
read_fixed_first(const uint8_t *p)
{
	uint32_t	length;
	const uint8_t *text = kiln_view_span(p + 24, &length);
	uint64_t	f = bench_fold_text(0, text, length);

	f = bench_fold(f, (uint64_t) (int32_t) kiln_load_u32(p));
	f = bench_fold(f, (uint64_t) (int32_t) kiln_load_u32(p + 4));
	text = kiln_view_span(text + length, &length);
	f = bench_fold_text(f, text, length);
	f = bench_fold(f, kiln_load_u64(p + 8));
	return bench_fold_f64(f, kiln_load_f64(p + 16));
}

LAYOUT(e09, declared)
LAYOUT(e09, fixed_first)

static uint64_t
source_e09_score(size_t i)
{
	return bench_fold_f64(0, corpus->varied[i].score);
}

static inline uint64_t
score_declared(const uint8_t *p)
{
	uint32_t	length;
	const uint8_t *text = kiln_view_span(p, &length);

	text = kiln_view_span(text + length + 8, &length);
	return bench_fold_f64(0, kiln_load_f64(text + length + 8));
}

static inline uint64_t
score_fixed_first(const uint8_t *p)
{
	return bench_fold_f64(0, kiln_load_f64(p + 16));
}

READING(e09_score, score_declared, declared)
READING(e09_score, score_fixed_first, fixed_first)

/* ------------------------------------------------------------------ E17: which of eight numbers are there */

static uint8_t present[BENCH_BUFFERS];	/* bit j: is number j of integers[i] there? */

static uint64_t
source_e17(size_t i)
{
	uint64_t	f = 0;

	for (size_t j = 0; j < OPTIONALS; j++)
		f = bench_fold(f, present[i] >> j & 1 ? (uint64_t) integers[i][j] : 1);
	return f;
}

static inline uint8_t *
write_tags(size_t i, uint8_t *p)
{
	for (size_t j = 0; j < OPTIONALS; j++)
	{
		bool		there = present[i] >> j & 1;

		*p++ = there;
		if (there)
			p = kiln_put_u64(p, (uint64_t) integers[i][j]);
	}
	return p;
}

static inline uint64_t
read_tags(const uint8_t *p)
{
	uint64_t	f = 0;

	for (size_t j = 0; j < OPTIONALS; j++)
	{
		if (*p++ != 0)
		{
			f = bench_fold(f, kiln_load_u64(p));
			p += 8;
		}
		else
			f = bench_fold(f, 1);
	}
	return f;
}

static inline uint8_t *
write_bitmap(size_t i, uint8_t *p)
{
	*p++ = present[i];
	for (size_t j = 0; j < OPTIONALS; j++)
		if (present[i] >> j & 1)
			p = kiln_put_u64(p, (uint64_t) integers[i][j]);
	return p;
}

static inline uint64_t
read_bitmap(const uint8_t *p)
{
	uint8_t		bits = *p++;
	uint64_t	f = 0;

	for (size_t j = 0; j < OPTIONALS; j++)
	{
		if (bits >> j & 1)
		{
			f = bench_fold(f, kiln_load_u64(p));
			p += 8;
		}
		else
			f = bench_fold(f, 1);
	}
	return f;
}

LAYOUT(e17, tags)
LAYOUT(e17, bitmap)

/* the last of them alone */
static uint64_t
source_e17_last(size_t i)
{
	return present[i] >> (OPTIONALS - 1) & 1 ? (uint64_t) integers[i][OPTIONALS - 1] : 1;
}

static inline uint64_t
last_tags(const uint8_t *p)
{
	for (size_t j = 0; j < OPTIONALS - 1; j++)
		p += *p != 0 ? 9 : 1;
	return *p != 0 ? kiln_load_u64(p + 1) : 1;
}

static inline uint64_t
last_bitmap(const uint8_t *p)
{
	uint8_t		before = p[0] & ((1 << (OPTIONALS - 1)) - 1);

	return p[0] >> (OPTIONALS - 1) & 1 ? kiln_load_u64(p + 1 + 8 * (size_t) __builtin_popcount(before)) : 1;
}

READING(e17_last, last_tags, tags)
READING(e17_last, last_bitmap, bitmap)

/* ------------------------------------------------------------------ E18: a hundred strings, eight of them different */

static const char *const words[WORDS] =
{
	"pending", "authorised", "captured", "settled", "refunded", "charged back", "cancelled", "expired"
};
static uint8_t chosen[BENCH_BUFFERS][100];

static uint64_t
source_e18(size_t i)
{
	uint64_t	f = 0;

	for (size_t j = 0; j < 100; j++)
		f = bench_fold_text(f, words[chosen[i][j]], strlen(words[chosen[i][j]]));
	return f;
}

static inline uint8_t *
write_inline(size_t i, uint8_t *p)
{
	p = kiln_put_u32(p, 100);
	for (size_t j = 0; j < 100; j++)
	{
		const char *word = words[chosen[i][j]];

		p = kiln_put_span(p, word, (uint32_t) strlen(word));
	}
	return p;
}

static inline uint64_t
read_inline(const uint8_t *p)
{
	uint64_t	f = 0;

	p += 4;
	for (size_t j = 0; j < 100; j++)
	{
		uint32_t	length;
		const uint8_t *text = kiln_view_span(p, &length);

		f = bench_fold_text(f, text, length);
		p = text + length;
	}
	return f;
}

/* A table of the strings met so far, found by a hash of length and ends: count of them, they, then a byte an element. */
static inline uint8_t *
write_interned(size_t i, uint8_t *p)
{
	const char *table[64] = {NULL};
	uint8_t		numbers[64];
	uint8_t		order[100];
	uint8_t    *count_at = p;
	uint8_t		count = 0;

	p += 1;
	for (size_t j = 0; j < 100; j++)
	{
		const char *word = words[chosen[i][j]];
		size_t		length = strlen(word);
		size_t		slot = (length * 7 + (uint8_t) word[0] * 3 + (uint8_t) word[length - 1]) & 63;

		while (table[slot] != NULL && (strlen(table[slot]) != length || memcmp(table[slot], word, length) != 0))
			slot = (slot + 1) & 63;
		if (table[slot] == NULL)
		{
			table[slot] = word;
			numbers[slot] = count++;
			p = kiln_put_span(p, word, (uint32_t) length);
		}
		order[j] = numbers[slot];
	}
	*count_at = count;
	p = kiln_put_u32(p, 100);
	return kiln_put_bytes(p, order, 100);
}

static inline uint64_t
read_interned(const uint8_t *p)
{
	const uint8_t *table[256];
	uint8_t		count = *p++;
	uint64_t	f = 0;

	for (size_t j = 0; j < count; j++)
	{
		table[j] = p;
		p += 4 + kiln_load_u32(p);
	}
	p += 4;
	for (size_t j = 0; j < 100; j++)
	{
		uint32_t	length;
		const uint8_t *text = kiln_view_span(table[p[j]], &length);

		f = bench_fold_text(f, text, length);
	}
	return f;
}

LAYOUT(e18, inline)
LAYOUT(e18, interned)

/* ------------------------------------------------------------------ E19: ascending timestamps */

static int64_t times[BENCH_BUFFERS][TIMES];

static uint64_t
source_e19(size_t i)
{
	uint64_t	f = 0;

	for (size_t j = 0; j < TIMES; j++)
		f = bench_fold(f, (uint64_t) times[i][j]);
	return f;
}

static inline uint8_t *
write_plain(size_t i, uint8_t *p)
{
	p = kiln_put_u32(p, TIMES);
	return kiln_put_bytes(p, times[i], sizeof times[i]);
}

static inline uint64_t
read_plain(const uint8_t *p)
{
	uint64_t	f = 0;

	for (size_t j = 0; j < TIMES; j++)
		f = bench_fold(f, kiln_load_u64(p + 4 + 8 * j));
	return f;
}

static inline uint8_t *
write_delta(size_t i, uint8_t *p)
{
	int64_t		before = 0;

	p = kiln_put_u32(p, TIMES);
	for (size_t j = 0; j < TIMES; j++)
	{
		p = put_varint(p, zigzag(times[i][j] - before));
		before = times[i][j];
	}
	return p;
}

static inline uint64_t
read_delta(const uint8_t *p)
{
	int64_t		value = 0;
	uint64_t	f = 0;

	p += 4;
	for (size_t j = 0; j < TIMES; j++)
	{
		value += unzigzag(get_varint(&p));
		f = bench_fold(f, (uint64_t) value);
	}
	return f;
}

LAYOUT(e19, plain)
LAYOUT(e19, delta)

/* ------------------------------------------------------------------ registration */

static void
set_up(void)
{
	uint64_t	state = 4;

	room = take(ROOM);
	for (size_t i = 0; i < BENCH_BUFFERS; i++)
	{
		int64_t		at = (int64_t) (bench_random(&state) % UINT64_C(800000000000000));

		for (size_t j = 0; j < NUMBERS; j++)
			integers[i][j] = (int64_t) bench_random(&state) >> bench_random(&state) % 63;
		present[i] = (uint8_t) bench_random(&state);
		for (size_t j = 0; j < 100; j++)
			chosen[i][j] = (uint8_t) (bench_random(&state) % WORDS);
		for (size_t j = 0; j < TIMES; j++)
			times[i][j] = at += (int64_t) (bench_random(&state) % 1000000);
	}
}

void
bench_register(const bench_host *from)
{
	host = from;
	corpus = host->corpus;
	set_up();
	if (host->wants("E03"))
	{
		ADD_LAYOUT("E03", "100 strings", prefix_u32, "u32 length (here)");
		ADD_LAYOUT("E03", "100 strings", prefix_u16, "u16 length");
		ADD_LAYOUT("E03", "100 strings", prefix_varint, "varint length");
	}
	if (host->wants("E04"))
	{
		ADD_LAYOUT("E04", "64 integers", fixed, "fixed width (here)");
		ADD_LAYOUT("E04", "64 integers", leb128, "LEB128 of zigzag");
	}
	if (host->wants("E09"))
	{
		ADD_LAYOUT("E09", "six fields", declared, "as declared (here)");
		ADD_LAYOUT("E09", "six fields", fixed_first, "fixed block first");
		ADD_READING("E09", "read the last field", "six fields", score_declared, "as declared (here)", 0);
		ADD_READING("E09", "read the last field", "six fields", score_fixed_first, "fixed block first", 0);
	}
	if (host->wants("E17"))
	{
		ADD_LAYOUT("E17", "8 optional integers", tags, "a tag byte each (here)");
		ADD_LAYOUT("E17", "8 optional integers", bitmap, "a bitmap");
		ADD_READING("E17", "read the last field", "8 optional integers", last_tags, "a tag byte each (here)", 0);
		ADD_READING("E17", "read the last field", "8 optional integers", last_bitmap, "a bitmap", 0);
	}
	if (host->wants("E18"))
	{
		ADD_LAYOUT("E18", "100 strings of 8", inline, "each in its place (here)");
		ADD_LAYOUT("E18", "100 strings of 8", interned, "interned");
	}
	if (host->wants("E19"))
	{
		ADD_LAYOUT("E19", "1000 timestamps", plain, "as they are (here)");
		ADD_LAYOUT("E19", "1000 timestamps", delta, "deltas as varints");
	}
}
