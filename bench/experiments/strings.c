/*
 * Experiments on strings and single words.
 *
 *   E05  inline or SIMD copies of short strings against memcpy
 *   E22  word stores and loads at any address against byte by byte
 *   E23  a string filled as it is allocated, or constructed first and then copied
 *   E24  ASCII eight bytes at a time against the state machine, 5 and 200 bytes
 *   E25  vectorised validation, short and long, ASCII and not
 */
#include "experiment.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

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

/* ------------------------------------------------------------------ E24, E25: is it UTF-8 without NUL? */

typedef struct samples
{
	uint8_t    *text[BENCH_BUFFERS];
	size_t		length;
} samples;

/* The state machine byte by byte: what Unicode's table 3-7 says, without a fast path. */
static bool BENCH_NOINLINE
valid_states(const uint8_t *s, size_t n)
{
	unsigned	left = 0;		/* continuation bytes to come */
	uint8_t		low = 0x80;		/* range of the next of them */
	uint8_t		high = 0xbf;

	for (size_t i = 0; i < n; i++)
	{
		uint8_t		c = s[i];

		if (left > 0)
		{
			if (c < low || c > high)
				return false;
			low = 0x80;
			high = 0xbf;
			left--;
		}
		else if (c < 0x80)
		{
			if (c == 0)
				return false;
		}
		else if (c < 0xc2 || c > 0xf4)
			return false;
		else
		{
			left = c < 0xe0 ? 1 : c < 0xf0 ? 2 : 3;
			low = c == 0xe0 ? 0xa0 : c == 0xf0 ? 0x90 : 0x80;
			high = c == 0xed ? 0x9f : c == 0xf4 ? 0x8f : 0xbf;
		}
	}
	return left == 0;
}

static inline bool
valid_kiln(const uint8_t *s, size_t n)
{
	bool		nul;

	return kiln_utf8_prefix(s, n, &nul) == n;
}

#if defined(__x86_64__)

/* Sixteen bytes of ASCII at a time, and the codec's check from where that ends. */
static bool BENCH_NOINLINE
valid_sse2(const uint8_t *s, size_t n)
{
	const __m128i zero = _mm_setzero_si128();
	size_t		i = 0;
	bool		nul;

	for (; n - i >= 16; i += 16)
	{
		__m128i		block = _mm_loadu_si128((const __m128i *) (s + i));

		/* a byte that is not above zero as a signed number is NUL or not ASCII */
		if (_mm_movemask_epi8(_mm_cmpgt_epi8(block, zero)) != 0xffff)
			break;
	}
	return kiln_utf8_prefix(s + i, n - i, &nul) == n - i;
}

/*
 * Sixteen bytes of anything at a time, by table look-ups on nibbles (Keiser and Lemire, "Validating UTF-8 in less than one
 * instruction per byte", 2020): three tables say which faults a pair of neighbouring bytes may have; their
 * intersection is the faults it has.
 */
#define F_SHORT		0x01		/* a lead byte without its continuation */
#define F_LONG		0x02		/* a continuation after ASCII */
#define F_OVER3		0x04		/* overlong in three bytes */
#define F_LARGE		0x08		/* beyond U+10FFFF */
#define F_SURROGATE	0x10
#define F_OVER2		0x20		/* overlong in two bytes */
#define F_OVER4		0x40		/* overlong in four bytes, or far too large */
#define F_TWO		0x80		/* two continuations, right or wrong by what stands before */
#define F_ANY		(F_SHORT | F_LONG | F_TWO)

__attribute__((target("ssse3")))
static inline __m128i
faults_of(__m128i block, __m128i before)
{
	const __m128i low_nibble = _mm_set1_epi8(0x0f);
	const __m128i first_high = _mm_setr_epi8(
		F_LONG, F_LONG, F_LONG, F_LONG, F_LONG, F_LONG, F_LONG, F_LONG, (char) F_TWO, (char) F_TWO, (char) F_TWO,
		(char) F_TWO, F_SHORT | F_OVER2, F_SHORT, F_SHORT | F_OVER3 | F_SURROGATE, F_SHORT | F_LARGE | F_OVER4);
	const __m128i first_low = _mm_setr_epi8(
		(char) (F_ANY | F_OVER3 | F_OVER2 | F_OVER4), (char) (F_ANY | F_OVER2), (char) F_ANY, (char) F_ANY,
		(char) (F_ANY | F_LARGE), (char) (F_ANY | F_LARGE | F_OVER4), (char) (F_ANY | F_LARGE | F_OVER4),
		(char) (F_ANY | F_LARGE | F_OVER4), (char) (F_ANY | F_LARGE | F_OVER4), (char) (F_ANY | F_LARGE | F_OVER4),
		(char) (F_ANY | F_LARGE | F_OVER4), (char) (F_ANY | F_LARGE | F_OVER4), (char) (F_ANY | F_LARGE | F_OVER4),
		(char) (F_ANY | F_LARGE | F_OVER4 | F_SURROGATE), (char) (F_ANY | F_LARGE | F_OVER4),
		(char) (F_ANY | F_LARGE | F_OVER4));
	const __m128i second_high = _mm_setr_epi8(
		F_SHORT, F_SHORT, F_SHORT, F_SHORT, F_SHORT, F_SHORT, F_SHORT, F_SHORT,
		(char) (F_LONG | F_OVER2 | F_TWO | F_OVER3 | F_OVER4), (char) (F_LONG | F_OVER2 | F_TWO | F_OVER3 | F_LARGE),
		(char) (F_LONG | F_OVER2 | F_TWO | F_SURROGATE | F_LARGE),
		(char) (F_LONG | F_OVER2 | F_TWO | F_SURROGATE | F_LARGE), F_SHORT, F_SHORT, F_SHORT, F_SHORT);
	__m128i		one_back = _mm_alignr_epi8(block, before, 15);
	__m128i		two_back = _mm_alignr_epi8(block, before, 14);
	__m128i		three_back = _mm_alignr_epi8(block, before, 13);
	__m128i		pair;
	__m128i		wanted;

	pair = _mm_and_si128(
		_mm_and_si128(_mm_shuffle_epi8(first_high, _mm_and_si128(_mm_srli_epi16(one_back, 4), low_nibble)),
					  _mm_shuffle_epi8(first_low, _mm_and_si128(one_back, low_nibble))),
		_mm_shuffle_epi8(second_high, _mm_and_si128(_mm_srli_epi16(block, 4), low_nibble)));
	/* top bit: this byte must be the third or fourth of a character, and so a second continuation */
	wanted = _mm_or_si128(_mm_subs_epu8(two_back, _mm_set1_epi8((char) (0xe0 - 0x80))),
						  _mm_subs_epu8(three_back, _mm_set1_epi8((char) (0xf0 - 0x80))));
	return _mm_xor_si128(_mm_and_si128(wanted, _mm_set1_epi8((char) 0x80)), pair);
}

__attribute__((target("ssse3")))
static bool BENCH_NOINLINE
valid_ssse3(const uint8_t *s, size_t n)
{
	const __m128i zero = _mm_setzero_si128();
	__m128i		before = zero;
	__m128i		faults = zero;
	__m128i		block;
	uint8_t		tail[16];
	size_t		i = 0;

	for (; n - i >= 16; i += 16)
	{
		block = _mm_loadu_si128((const __m128i *) (s + i));
		faults = _mm_or_si128(faults, _mm_or_si128(faults_of(block, before), _mm_cmpeq_epi8(block, zero)));
		before = block;
	}
	/* what is left, behind it ASCII, so that a character cut off shows */
	memset(tail, 'x', sizeof tail);
	kiln_copy_short(tail, s + i, n - i);
	block = _mm_loadu_si128((const __m128i *) tail);
	faults = _mm_or_si128(faults, _mm_or_si128(faults_of(block, before), _mm_cmpeq_epi8(block, zero)));
	return _mm_movemask_epi8(_mm_cmpeq_epi8(faults, zero)) == 0xffff;
}
#endif

/* The gate of a validator: it says of good and damaged texts what the state machine says, and the sample is good. */
static bool
judges_well(bool (*valid) (const uint8_t *, size_t), const samples *sample)
{
	static const uint8_t pieces[][4] = {
		{0}, {0x80}, {0xbf}, {0xc0, 0x80}, {0xc1, 0xbf}, {0xc2, 0x80}, {0xdf, 0xbf}, {0xe0, 0x80, 0x80},
		{0xe0, 0xa0, 0x80}, {0xed, 0x9f, 0xbf}, {0xed, 0xa0, 0x80}, {0xef, 0xbf, 0xbf}, {0xf0, 0x80, 0x80, 0x80},
		{0xf0, 0x90, 0x80, 0x80}, {0xf4, 0x8f, 0xbf, 0xbf}, {0xf4, 0x90, 0x80, 0x80}, {0xf5}, {0xff}, {0xe2, 0x82},
		{'a', 'b', 'c', 'd'}
	};
	uint64_t	state = 25;

	for (size_t i = 0; i < BENCH_BUFFERS; i++)
		if (!valid(sample->text[i], sample->length) || !valid_states(sample->text[i], sample->length))
			return false;
	for (int round = 0; round < 20000; round++)
	{
		uint8_t		text[80];
		size_t		n = 0;

		for (uint64_t count = bench_random(&state) % 12; count > 0 && n < 76; count--)
		{
			size_t		piece = bench_random(&state) % 4 != 0 ? 19 : bench_random(&state) % 20;
			size_t		length = 1 + bench_random(&state) % 4;

			memcpy(text + n, pieces[piece], length);
			n += length;
		}
		if (valid(text, n) != valid_states(text, n))
			return false;
	}
	return true;
}

#define VALIDATOR(name) \
static uint64_t \
run_##name(void *state, size_t n) \
{ \
	const samples *sample = state; \
	uint64_t	f = 0; \
\
	for (size_t i = 0; i < n; i++) \
		f += name(sample->text[EACH_BUFFER(i)], sample->length); \
	return f; \
} \
\
static bool \
check_##name(void *state) \
{ \
	return judges_well(name, state); \
}

VALIDATOR(valid_states)
VALIDATOR(valid_kiln)
#if defined(__x86_64__)
VALIDATOR(valid_sse2)
VALIDATOR(valid_ssse3)
#endif

/* A text of n bytes: of every 100 characters, foreign are not ASCII, of two or three bytes. */
static void
fill_sample(samples *sample, size_t n, unsigned foreign)
{
	uint64_t	state = n * 1000 + foreign;

	sample->length = n;
	for (size_t i = 0; i < BENCH_BUFFERS; i++)
	{
		uint8_t    *p = sample->text[i] = take(n + 1);
		size_t		at = 0;

		while (at < n)
		{
			bool		plain = bench_random(&state) % 100 >= foreign;
			size_t		left = n - at;

			if (plain || left < 2)
				p[at++] = (uint8_t) ('a' + bench_random(&state) % 26);
			else if (left == 2 || bench_random(&state) % 2 == 0)
			{
				p[at++] = (uint8_t) (0xd0 + bench_random(&state) % 2);
				p[at++] = (uint8_t) (0x80 + bench_random(&state) % 64);
			}
			else
			{
				p[at++] = (uint8_t) (0xe3 + bench_random(&state) % 6);
				p[at++] = (uint8_t) (0x80 + bench_random(&state) % 64);
				p[at++] = (uint8_t) (0x80 + bench_random(&state) % 64);
			}
		}
	}
}

static void
add_validators(const char *experiment, const char *name, size_t n, unsigned foreign)
{
	samples    *sample = take(sizeof *sample);
	group		g = {experiment, "validate", name, sample};

	fill_sample(sample, n, foreign);
	add_checked(&g, "codec: 8 bytes of ASCII at a time (here)", "UTF-8 NUL", run_valid_kiln, check_valid_kiln, (double) n);
	add_checked(&g, "state machine", "UTF-8 NUL", run_valid_states, check_valid_states, (double) n);
#if defined(__x86_64__)
	if (strcmp(experiment, "E25") == 0)
	{
		add_checked(&g, "SSE2 for ASCII, then the codec's", "UTF-8 NUL", run_valid_sse2, check_valid_sse2, (double) n);
		add_checked(&g, "SSSE3 look-ups for all", "UTF-8 NUL", run_valid_ssse3, check_valid_ssse3, (double) n);
	}
#endif
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
	if (host->wants("E24"))
	{
		add_validators("E24", "5 bytes ASCII", 5, 0);
		add_validators("E24", "200 bytes ASCII", 200, 0);
	}
	if (host->wants("E25"))
	{
		add_validators("E25", "5 bytes ASCII", 5, 0);
		add_validators("E25", "20 bytes ASCII", 20, 0);
		add_validators("E25", "20 bytes mixed", 20, 10);
		add_validators("E25", "200 bytes ASCII", 200, 0);
		add_validators("E25", "200 bytes mixed", 200, 10);
		add_validators("E25", "4000 bytes ASCII", 4000, 0);
		add_validators("E25", "4000 bytes foreign", 4000, 90);
	}
}
