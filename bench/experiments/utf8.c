/*
 * Experiments on one question: is a text UTF-8 without NUL?
 *
 *   E24  ASCII eight bytes at a time against the state machine, 5 and 200 bytes
 *   E25  vectorised validation, short and long, ASCII and not
 */
#include "experiment.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

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

void
bench_register(const bench_host *from)
{
	host = from;
	corpus = host->corpus;
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
