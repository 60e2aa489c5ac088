/*
 * UTF-8 and NUL in one pass.
 *
 * ASCII, which is most of all text, goes by words: see kiln_ascii_word() in internal.h. What is not ASCII goes byte by
 * byte through an automaton of nine states. Each byte's row of the transition table is one 64-bit number: six bits for
 * each state, which hold the shift that picks the next state's bits, so that a step is one load and one shift and the
 * only chain from byte to byte is the shift. A bad byte leads to a state that nothing leaves, so that the automaton is
 * asked only now and then; the place of the fault is found afterwards by going on from the last known character one
 * character at a time.
 *
 * Well-formed is what Unicode's table 3-7 says: no overlong forms, no surrogates, nothing beyond U+10FFFF.
 */
#include "internal.h"

/* Shifts that stand for the states; what may come next. */
enum
{
	UTF8_BAD = 0,				/* nothing any more; zero, so that a row need not name it */
	UTF8_START = 6,				/* a first byte */
	UTF8_ONE = 12,				/* one 80–BF */
	UTF8_TWO = 18,				/* two of them */
	UTF8_THREE = 24,			/* three of them */
	UTF8_AFTER_E0 = 30,			/* A0–BF, then one */
	UTF8_AFTER_ED = 36,			/* 80–9F, then one */
	UTF8_AFTER_F0 = 42,			/* 90–BF, then two */
	UTF8_AFTER_F4 = 48			/* 80–8F, then two */
};

#define GO(from, to)	((uint64_t) (to) << (from))

/* Rows of the table, by what a byte is. */
#define NO		0
#define ASCII	GO(UTF8_START, UTF8_START)
#define LEAD2	GO(UTF8_START, UTF8_ONE)
#define LEADE0	GO(UTF8_START, UTF8_AFTER_E0)
#define LEAD3	GO(UTF8_START, UTF8_TWO)
#define LEADED	GO(UTF8_START, UTF8_AFTER_ED)
#define LEADF0	GO(UTF8_START, UTF8_AFTER_F0)
#define LEAD4	GO(UTF8_START, UTF8_THREE)
#define LEADF4	GO(UTF8_START, UTF8_AFTER_F4)
#define NEXT	(GO(UTF8_ONE, UTF8_START) | GO(UTF8_TWO, UTF8_ONE) | GO(UTF8_THREE, UTF8_TWO))
#define NEXT8	(NEXT | GO(UTF8_AFTER_ED, UTF8_ONE) | GO(UTF8_AFTER_F4, UTF8_TWO))	/* 80–8F */
#define NEXT9	(NEXT | GO(UTF8_AFTER_ED, UTF8_ONE) | GO(UTF8_AFTER_F0, UTF8_TWO))	/* 90–9F */
#define NEXTAB	(NEXT | GO(UTF8_AFTER_E0, UTF8_ONE) | GO(UTF8_AFTER_F0, UTF8_TWO))	/* A0–BF */

#define X3(x)	x, x, x
#define X12(x)	X3(x), X3(x), X3(x), X3(x)
#define X15(x)	X12(x), X3(x)
#define X16(x)	X15(x), x

static const uint64_t utf8_rows[256] = {
	/* 00 */ NO, X15(ASCII),
	/* 10 */ X16(ASCII), X16(ASCII), X16(ASCII), X16(ASCII), X16(ASCII), X16(ASCII), X16(ASCII),
	/* 80 */ X16(NEXT8),
	/* 90 */ X16(NEXT9),
	/* a0 */ X16(NEXTAB), X16(NEXTAB),
	/* c0 */ NO, NO, X12(LEAD2), LEAD2, LEAD2,
	/* d0 */ X16(LEAD2),
	/* e0 */ LEADE0, X12(LEAD3), LEADED, LEAD3, LEAD3,
	/* f0 */ LEADF0, X3(LEAD4), LEADF4, X3(NO), NO, NO, NO, NO, NO, NO, NO, NO
};

/* Bytes that the automaton takes before it is asked. */
#define UTF8_STRETCH	16

static inline uint64_t
utf8_step(uint64_t state, uint8_t byte)
{
	return utf8_rows[byte] >> (state & 63);
}

/*
 * Length of the character at s, 0 if none of its n bytes or fewer is well-formed there.
 */
static size_t
utf8_character(const uint8_t *s, size_t n)
{
	uint64_t	state = UTF8_START;

	for (size_t i = 0; i < n && i < 4; i++)
	{
		state = utf8_step(state, s[i]) & 63;
		if (state == UTF8_BAD)
			return 0;
		if (state == UTF8_START)
			return i + 1;
	}
	return 0;
}

/* Find the fault that is known to lie at or after from, where a character starts. */
static size_t
utf8_fault(const uint8_t *s, size_t n, size_t from, bool *nul)
{
	size_t		length;

	while (from < n && (length = utf8_character(s + from, n - from)) != 0)
		from += length;
	*nul = from < n && s[from] == 0;
	return from;
}

bool
kiln_utf8_short(const uint8_t *s, size_t n)
{
	uint64_t	state = UTF8_START;

	for (size_t i = 0; i < n; i++)
		state = utf8_step(state, s[i]);
	return (state & 63) == UTF8_START;
}

size_t
kiln_utf8_prefix(const uint8_t *s, size_t n, bool *nul)
{
	size_t		i = 0;
	size_t		from = 0;		/* all before it is good, and a character starts there */
	uint64_t	state = UTF8_START;

	*nul = false;
	for (;;)
	{
		/* Words of ASCII, four at a time, then one at a time. */
		while (n - i >= 32 && kiln_ascii_word(kiln_load_u64(s + i)) && kiln_ascii_word(kiln_load_u64(s + i + 8)) &&
			   kiln_ascii_word(kiln_load_u64(s + i + 16)) && kiln_ascii_word(kiln_load_u64(s + i + 24)))
			i += 32;
		while (n - i >= 8 && kiln_ascii_word(kiln_load_u64(s + i)))
			i += 8;
		from = i;

		/* Stretches of anything, until one ends with a character. */
		do
		{
			if (n - i < UTF8_STRETCH)
			{
				while (i < n)
					state = utf8_step(state, s[i++]);
				return (state & 63) == UTF8_START ? n : utf8_fault(s, n, from, nul);
			}
			for (size_t stop = i + UTF8_STRETCH; i < stop; i++)
				state = utf8_step(state, s[i]);
			state &= 63;
			if (state == UTF8_BAD)
				return utf8_fault(s, n, from, nul);
		} while (state != UTF8_START);
	}
}
