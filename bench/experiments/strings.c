/*
 * Experiments on strings and single words.
 *
 *   E05  inline or SIMD copies of short strings against memcpy
 *   E22  word stores and loads at any address against byte by byte
 *   E23  a string filled as it is allocated, or constructed first and then copied
 */
#include "experiment.h"

#define TEXTS	64				/* strings of one operation */
#define SLACK	64				/* bytes that may be read and written beyond them */

static uint8_t *room;

/* ------------------------------------------------------------------ E05 */

/* Strings that lie one behind another, with slack after the last, and what they make when copied tight. */
typedef struct texts
{
	kiln_slice	text[BENCH_BUFFERS][TEXTS];
	size_t		total[BENCH_BUFFERS];
	double		bytes;
} texts;

static texts five;
static texts to_16;
static texts to_40;

static void
fill_texts(texts *t, uint32_t least, uint32_t most)
{
	uint64_t	state = least * 100 + most;

	for (size_t i = 0; i < BENCH_BUFFERS; i++)
	{
		uint8_t    *p = take(TEXTS * (size_t) most + SLACK);

		for (size_t j = 0; j < TEXTS; j++)
		{
			uint32_t	length = least + (uint32_t) (bench_random(&state) % (most - least + 1));

			for (uint32_t k = 0; k < length; k++)
				p[k] = (uint8_t) ('a' + bench_random(&state) % 26);
			t->text[i][j] = (kiln_slice) {p, length};
			t->total[i] += length;
			p += length;
		}
		t->bytes += (double) t->total[i] / BENCH_BUFFERS;
	}
}

static inline void
copy_bytes(uint8_t *to, const void *data, size_t n)
{
	const volatile uint8_t *from = (const volatile uint8_t *) data;	/* no compiler shall make a memcpy of it */

	for (size_t i = 0; i < n; i++)
		to[i] = from[i];
}

static inline void
copy_memcpy(uint8_t *to, const void *data, size_t n)
{
	memcpy(to, data, n);
}

/* Sixteen bytes at a time, whatever the length: allowed only where both sides have slack. */
static inline void
copy_slack(uint8_t *to, const void *data, size_t n)
{
	const uint8_t *from = (const uint8_t *) data;

	memcpy(to, from, 16);
	for (size_t i = 16; i < n; i += 16)
		memcpy(to + i, from + i, 16);
}

static inline void
copy_inline(uint8_t *to, const void *data, size_t n)
{
	kiln_copy_short(to, data, n);
}

#define COPY(name) \
static uint64_t \
run_##name(void *state, size_t n) \
{ \
	const texts *t = state; \
	uint64_t	f = 0; \
\
	for (size_t i = 0; i < n; i++) \
	{ \
		const kiln_slice *text = t->text[EACH_BUFFER(i)]; \
		uint8_t    *p = room; \
\
		for (size_t j = 0; j < TEXTS; j++) \
		{ \
			name(p, text[j].data, text[j].length); \
			p += text[j].length; \
		} \
		bench_clobber(room); \
		f += (uint64_t) (p - room); \
	} \
	return f; \
} \
\
static bool \
check_##name(void *state) \
{ \
	const texts *t = state; \
\
	for (size_t i = 0; i < BENCH_BUFFERS; i++) \
	{ \
		uint8_t    *p = room; \
\
		memset(room, 0xee, t->total[i] + SLACK); \
		for (size_t j = 0; j < TEXTS; j++) \
		{ \
			name(p, t->text[i][j].data, t->text[i][j].length); \
			p += t->text[i][j].length; \
		} \
		if (memcmp(room, t->text[i][0].data, t->total[i]) != 0) \
			return false; \
	} \
	return true; \
}

COPY(copy_bytes)
COPY(copy_memcpy)
COPY(copy_inline)
COPY(copy_slack)

static void
add_copies(const char *name, texts *t)
{
	group		g = {"E05", "copy 64 strings", name, t};

	add_checked(&g, "inline up to 64 bytes (here)", "none", run_copy_inline, check_copy_inline, t->bytes);
	add_checked(&g, "memcpy", "none", run_copy_memcpy, check_copy_memcpy, t->bytes);
	add_checked(&g, "16 bytes at a time into slack", "none", run_copy_slack, check_copy_slack, t->bytes);
	add_checked(&g, "byte by byte", "none", run_copy_bytes, check_copy_bytes, t->bytes);
}

/* ------------------------------------------------------------------ E22 */

static uint64_t words[BENCH_BUFFERS][64];

static inline void
store_word(uint8_t *p, uint64_t v)
{
	kiln_store_u64(p, v);
}

static inline void
store_bytes(uint8_t *p, uint64_t v)
{
	for (int i = 0; i < 8; i++)
		p[i] = (uint8_t) (v >> 8 * i);
}

/* The same where the compiler can't make a word of it. */
static inline void
store_single_bytes(uint8_t *p, uint64_t v)
{
	volatile uint8_t *to = p;

	for (int i = 0; i < 8; i++)
		to[i] = (uint8_t) (v >> 8 * i);
}

static inline uint64_t
load_word(const uint8_t *p)
{
	return kiln_load_u64(p);
}

static inline uint64_t
load_bytes(const uint8_t *p)
{
	uint64_t	v = 0;

	for (int i = 0; i < 8; i++)
		v |= (uint64_t) p[i] << 8 * i;
	return v;
}

static inline uint64_t
load_single_bytes(const uint8_t *p)
{
	const volatile uint8_t *from = p;
	uint64_t	v = 0;

	for (int i = 0; i < 8; i++)
		v |= (uint64_t) from[i] << 8 * i;
	return v;
}

static uint64_t
source_words(void)
{
	uint64_t	f = 0;

	for (size_t i = 0; i < BENCH_BUFFERS; i++)
		for (size_t j = 0; j < 64; j++)
			f = bench_fold(f, words[i][j]);
	return f;
}

/* Nine bytes apart, so that no word is aligned but by chance. */
#define STORE_LOAD(kind) \
static uint64_t \
run_store_##kind(void *state, size_t n) \
{ \
	(void) state; \
	for (size_t i = 0; i < n; i++) \
	{ \
		for (size_t j = 0; j < 64; j++) \
			store_##kind(room + 1 + 9 * j, words[EACH_BUFFER(i)][j]); \
		bench_clobber(room); \
	} \
	return n; \
} \
\
static bool \
check_store_##kind(void *state) \
{ \
	for (size_t i = 0; i < BENCH_BUFFERS; i++) \
	{ \
		for (size_t j = 0; j < 64; j++) \
			store_##kind(room + 1 + 9 * j, words[i][j]); \
		for (size_t j = 0; j < 64; j++) \
			if (load_##kind(room + 1 + 9 * j) != words[i][j] || kiln_load_u64(room + 1 + 9 * j) != words[i][j]) \
				return false; \
	} \
	(void) state; \
	return true; \
} \
\
static uint64_t \
run_load_##kind(void *state, size_t n) \
{ \
	const uint8_t *const *from = state; \
	uint64_t	f = 0; \
\
	for (size_t i = 0; i < n; i++) \
		for (size_t j = 0; j < 64; j++) \
			f = bench_fold(f, load_##kind(from[EACH_BUFFER(i)] + 1 + 9 * j)); \
	return f; \
}

STORE_LOAD(word)
STORE_LOAD(bytes)
STORE_LOAD(single_bytes)

static void
add_words(void)
{
	static uint8_t *spread[BENCH_BUFFERS];
	group		in = {"E22", "store", "64 u64", NULL};
	group		back = {"E22", "load", "64 u64", spread};
	uint64_t	state = 22;

	for (size_t i = 0; i < BENCH_BUFFERS; i++)
	{
		spread[i] = take(1 + 9 * 64);
		for (size_t j = 0; j < 64; j++)
		{
			words[i][j] = bench_random(&state);
			kiln_store_u64(spread[i] + 1 + 9 * j, words[i][j]);
		}
	}
	add_checked(&in, "words at any address (here)", "none", run_store_word, check_store_word, 512);
	add_checked(&in, "bytes, as the compiler merges them", "none", run_store_bytes, check_store_bytes, 512);
	add_checked(&in, "bytes one by one", "none", run_store_single_bytes, check_store_single_bytes, 512);
	add_expected(&back, "words at any address (here)", "none", run_load_word, source_words(), 512);
	add_expected(&back, "bytes, as the compiler merges them", "none", run_load_bytes, source_words(), 512);
	add_expected(&back, "bytes one by one", "none", run_load_single_bytes, source_words(), 512);
}

/* ------------------------------------------------------------------ E23: a string of one's own */

static inline char *
own_filled(const kiln_slice *text)
{
	char	   *own = malloc((size_t) text->length + 1);

	kiln_copy_short((uint8_t *) own, text->data, text->length);
	own[text->length] = '\0';
	return own;
}

static inline char *
own_zeroed(const kiln_slice *text)
{
	char	   *own = calloc((size_t) text->length + 1, 1);

	bench_clobber(own);			/* a constructor has run */
	memcpy(own, text->data, text->length);
	return own;
}

static inline char *
own_twice(const kiln_slice *text)
{
	char	   *first = malloc((size_t) text->length + 1);
	char	   *own;

	memcpy(first, text->data, text->length);
	first[text->length] = '\0';
	bench_clobber(first);		/* a string object by itself, then copied into the record */
	own = malloc((size_t) text->length + 1);
	memcpy(own, first, (size_t) text->length + 1);
	free(first);
	return own;
}

static uint64_t
source_texts(const texts *t)
{
	uint64_t	f = 0;

	for (size_t i = 0; i < BENCH_BUFFERS; i++)
		for (size_t j = 0; j < TEXTS; j++)
			f = bench_fold_text(f, t->text[i][j].data, t->text[i][j].length);
	return f;
}

#define OWN(name) \
static uint64_t \
run_##name(void *state, size_t n) \
{ \
	const texts *t = state; \
	uint64_t	f = 0; \
\
	for (size_t i = 0; i < n; i++) \
		for (size_t j = 0; j < TEXTS; j++) \
		{ \
			const kiln_slice *text = &t->text[EACH_BUFFER(i)][j]; \
			char	   *own = name(text); \
\
			bench_clobber(own); \
			f = bench_fold_text(f, own, text->length); \
			free(own); \
		} \
	return f; \
}

OWN(own_filled)
OWN(own_zeroed)
OWN(own_twice)

static void
add_owned(const char *name, texts *t)
{
	group		g = {"E23", "own 64 strings", name, t};

	add_expected(&g, "allocated and filled (here)", "none", run_own_filled, source_texts(t), t->bytes);
	add_expected(&g, "zeroed, then filled", "none", run_own_zeroed, source_texts(t), t->bytes);
	add_expected(&g, "constructed, then copied", "none", run_own_twice, source_texts(t), t->bytes);
}

/* ------------------------------------------------------------------ registration */

void
bench_register(const bench_host *from)
{
	host = from;
	corpus = host->corpus;
	room = take(TEXTS * 40 + SLACK);
	fill_texts(&five, 5, 5);
	fill_texts(&to_16, 0, 16);
	fill_texts(&to_40, 0, 40);
	if (host->wants("E05"))
	{
		add_copies("5 bytes", &five);
		add_copies("0 to 16 bytes", &to_16);
		add_copies("0 to 40 bytes", &to_40);
	}
	if (host->wants("E22"))
		add_words();
	if (host->wants("E23"))
	{
		add_owned("5 bytes", &five);
		add_owned("0 to 40 bytes", &to_40);
	}
}
