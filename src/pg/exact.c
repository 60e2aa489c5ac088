/*
 * Exact sums: see exact.h.
 */
#include "exact.h"

#include <limits.h>
#include <math.h>

#include "utils/float.h"

#define MANTISSA_BITS	53
#define FIRST_TERM_BITS	30
#define MOST_TERM_BITS	62

/* Words that hold any sum of doubles, or of products of two, with 2^62 terms. */
#define MOST_WORDS		72

/* Weight of the lowest bit of a double's mantissa whose exponent field is e. */
#define WEIGHT(e)		((e) - 1075)

/* ------------------------------------------------------------------ window */

KilnExact *
kiln_exact_create(MemoryContext context, uint64 n)
{
	KilnExact  *exact = MemoryContextAllocZero(context, sizeof(KilnExact));

	exact->context = context;
	exact->n = n;
	exact->term_bits = FIRST_TERM_BITS;
	return exact;
}

/* Widen every accumulator by words below and above. */
static void
widen(KilnExact *exact, int below, int above)
{
	int			words = exact->words + below + above;
	uint64	   *data;

	if (words > MOST_WORDS)
		elog(ERROR, "exact sum needs %d words", words);
	data = MemoryContextAllocHuge(exact->context, Max(exact->n, 1) * words * sizeof(uint64));
	for (uint64 i = 0; i < exact->n; i++)
	{
		const uint64 *from = exact->words > 0 ? exact->data + i * exact->words : NULL;
		uint64	   *to = data + i * words;
		bool		negative = from != NULL && (from[exact->words - 1] >> 63) != 0;

		memset(to, 0, below * sizeof(uint64));
		if (from != NULL)
			memcpy(to + below, from, exact->words * sizeof(uint64));
		memset(to + below + exact->words, negative ? 0xff : 0, above * sizeof(uint64));
	}
	if (exact->data)
		pfree(exact->data);
	exact->data = data;
	exact->words = words;
	exact->lowest -= 64 * below;
}

/* Bits that a term may take, counted from the lowest. */
static int
room(const KilnExact *exact)
{
	return 64 * exact->words - 1 - exact->term_bits;
}

/* Make terms whose bits have weights from low up to below high fit. */
static void
ensure(KilnExact *exact, int low, int high)
{
	int			below = 0;
	int			above = 0;

	if (exact->words == 0)
	{
		exact->lowest = low;
		exact->words = 0;
	}
	if (low < exact->lowest)
		below = (exact->lowest - low + 63) / 64;
	if (high - exact->lowest > room(exact))
		above = (high - exact->lowest - room(exact) + 63) / 64;
	/* two words even where one would do: that is what the fast path is made for */
	if (exact->words + below + above < 2)
		above = 2 - exact->words - below;
	if (below + above > 0)
		widen(exact, below, above);
}

void
kiln_exact_terms(KilnExact *exact, uint64 count)
{
	exact->terms += count;
	if (unlikely(exact->terms >> FIRST_TERM_BITS != 0 && exact->term_bits < MOST_TERM_BITS))
	{
		if (exact->words > 0)
			widen(exact, 0, 1);
		exact->term_bits = MOST_TERM_BITS;
	}
}

/* ------------------------------------------------------------------ adding */

/* Add a term of some words to an accumulator at a shift of bits; what it takes is known to fit. */
static void
add_words(uint64 *to, int words, bool negative, const uint64 *term, int count, int shift)
{
	int			word = shift / 64;
	int			bits = shift % 64;
	uint64		carry = negative ? 1 : 0;	/* subtracting is adding the complement and one */
	uint64		left = 0;		/* bits of the word before that were shifted out */

	for (int i = 0; word < words; i++, word++)
	{
		uint64		digit = i < count ? term[i] : 0;
		uint64		part = (digit << bits) | left;
		uint64		sum;

		left = bits ? digit >> (64 - bits) : 0;
		if (negative)
			part = ~part;
		sum = to[word] + part;
		to[word] = sum + carry;
		carry = (uint64) (sum < part) + (uint64) (to[word] < carry);
		/* beyond the term only a carry (or, subtracting, the lack of one) still changes anything */
		if (i >= count && left == 0 && carry == (negative ? 1 : 0))
			break;
	}
}

static void
note_special(KilnExact *exact, uint64 i, double value)
{
	if (exact->special == NULL)
	{
		exact->special = MemoryContextAllocHuge(exact->context, exact->n);
		memset(exact->special, 0, exact->n);
	}
	exact->special[i] |= isnan(value) ? KILN_EXACT_NAN : value > 0 ? KILN_EXACT_INFINITY : KILN_EXACT_NEGATIVE;
}

/*
 * A double taken apart: the weight of its lowest bit is *weight. False for zero and what is not finite (*special).
 */
static inline bool
take_apart(double value, uint64 *mantissa, int *weight, bool *negative, bool *special)
{
	uint64		bits;
	int			e;

	memcpy(&bits, &value, sizeof bits);
	e = (int) (bits >> 52) & 0x7ff;
	*mantissa = bits & ((UINT64CONST(1) << 52) - 1);
	*negative = bits >> 63 != 0;
	*special = e == 0x7ff;
	if (*special)
		return false;
	if (e == 0)
	{
		if (*mantissa == 0)
			return false;
		e = 1;
	}
	else
		*mantissa |= UINT64CONST(1) << 52;
	*weight = WEIGHT(e);
	return true;
}

/* The window for the first numbers: narrow, with room on both sides. */
static void
first_window(KilnExact *exact, const double *values, uint64 count)
{
	int			low = INT_MAX;
	int			high = INT_MIN;
	int			words;
	int			slack;

	for (uint64 i = 0; i < count; i++)
	{
		uint64		mantissa;
		int			weight;
		bool		negative;
		bool		special;

		if (!take_apart(values[i], &mantissa, &weight, &negative, &special))
			continue;
		low = Min(low, weight);
		high = Max(high, weight + MANTISSA_BITS);
	}
	if (low > high)
		return;
	words = Max(2, (high - low + 1 + exact->term_bits + 63) / 64);
	slack = 64 * words - 1 - exact->term_bits - (high - low);
	ensure(exact, Max(low - slack / 2, WEIGHT(1)), high);
}

/*
 * Add as long as the numbers fall into a window of two words. Returns how many did.
 */
static uint64
add_two_words(KilnExact *exact, uint64 first, const double *values, uint64 count)
{
	uint64	   *data = exact->data + first * 2;
	int			lowest = exact->lowest;
	unsigned	most = (unsigned) (room(exact) - MANTISSA_BITS);

	for (uint64 i = 0; i < count; i++)
	{
		uint64		mantissa;
		int			weight;
		bool		negative;
		bool		special;
		unsigned	shift;
		unsigned __int128 term;
		unsigned __int128 sum;

		if (unlikely(!take_apart(values[i], &mantissa, &weight, &negative, &special)))
		{
			if (special)
				note_special(exact, first + i, values[i]);
			continue;
		}
		shift = (unsigned) (weight - lowest);
		if (unlikely(shift > most))
			return i;
		term = (unsigned __int128) mantissa << shift;
		term = (term ^ -(unsigned __int128) negative) + negative;
		sum = ((unsigned __int128) data[i * 2 + 1] << 64 | data[i * 2]) + term;
		data[i * 2] = (uint64) sum;
		data[i * 2 + 1] = (uint64) (sum >> 64);
	}
	return count;
}

/* The same for any window. */
static uint64
add_many_words(KilnExact *exact, uint64 first, const double *values, uint64 count)
{
	int			words = exact->words;
	uint64	   *data = exact->data + first * words;
	unsigned	most = (unsigned) (room(exact) - MANTISSA_BITS);

	for (uint64 i = 0; i < count; i++)
	{
		uint64		mantissa;
		int			weight;
		bool		negative;
		bool		special;

		if (unlikely(!take_apart(values[i], &mantissa, &weight, &negative, &special)))
		{
			if (special)
				note_special(exact, first + i, values[i]);
			continue;
		}
		if (unlikely((unsigned) (weight - exact->lowest) > most))
			return i;
		add_words(data + i * words, words, negative, &mantissa, 1, weight - exact->lowest);
	}
	return count;
}

void
kiln_exact_add(KilnExact *exact, uint64 first, const double *values, uint64 count)
{
	uint64		done = 0;

	if (exact->words == 0)
		first_window(exact, values, count);
	while (done < count)
	{
		uint64		mantissa;
		int			weight;
		bool		negative;
		bool		special;

		if (exact->words == 0)
		{
			/* zeros and specials only */
			for (; done < count; done++)
				if (!isfinite(values[done]))
					note_special(exact, first + done, values[done]);
			return;
		}
		if (exact->words == 2)
			done += add_two_words(exact, first + done, values + done, count - done);
		else
			done += add_many_words(exact, first + done, values + done, count - done);
		if (done < count && take_apart(values[done], &mantissa, &weight, &negative, &special))
			ensure(exact, weight, weight + MANTISSA_BITS);
	}
}

void
kiln_exact_add_scaled(KilnExact *exact, uint64 i, bool negative, uint64 high, uint64 low, int exponent)
{
	uint64		term[2] = {low, high};
	int			top = exponent + (high == 0 ? 64 : 128);

	if (high == 0 && low == 0)
		return;
	if (exact->words == 0 || exponent < exact->lowest || top - exact->lowest > room(exact))
		ensure(exact, exponent, top);
	add_words(exact->data + i * exact->words, exact->words, negative, term, 2, exponent - exact->lowest);
}

/* ------------------------------------------------------------------ results */

/* The absolute value of accumulator i, in words; returns whether it is negative. */
static bool
magnitude(const KilnExact *exact, uint64 i, uint64 *out)
{
	const uint64 *from = exact->data + i * exact->words;
	bool		negative = from[exact->words - 1] >> 63 != 0;
	uint64		carry = 1;

	for (int k = 0; k < exact->words; k++)
	{
		out[k] = negative ? ~from[k] + carry : from[k];
		carry = carry && out[k] == 0;
	}
	return negative;
}

void
kiln_exact_combine(KilnExact *exact, const KilnExact *other)
{
	uint64		term[MOST_WORDS];

	Assert(exact->n == other->n);
	kiln_exact_terms(exact, other->terms);
	if (other->words > 0)
	{
		ensure(exact, other->lowest, other->lowest + room(other));
		for (uint64 i = 0; i < other->n; i++)
		{
			bool		negative = magnitude(other, i, term);

			add_words(exact->data + i * exact->words, exact->words, negative, term, other->words,
					  other->lowest - exact->lowest);
		}
	}
	for (uint64 i = 0; other->special && i < other->n; i++)
	{
		if (other->special[i] == 0)
			continue;
		if (exact->special == NULL)
		{
			exact->special = MemoryContextAllocHuge(exact->context, exact->n);
			memset(exact->special, 0, exact->n);
		}
		exact->special[i] |= other->special[i];
	}
}

/*
 * The 128 bits of accumulator i from its leading bit down, whose lowest has the weight *exponent; *more if there
 * are further bits. Zero: 0.
 */
static unsigned __int128
leading_bits(const KilnExact *exact, uint64 i, bool *negative, int *exponent, bool *more)
{
	uint64		words[MOST_WORDS + 2];
	int			top;
	int			shift;
	uint64		third;
	unsigned __int128 bits;

	*more = false;
	*negative = false;
	*exponent = 0;
	if (exact->words == 0)
		return 0;
	/* two words of zeros below, so that there always are 128 bits */
	words[0] = words[1] = 0;
	*negative = magnitude(exact, i, words + 2);
	for (top = exact->words + 1; top > 1 && words[top] == 0; top--)
		;
	if (top == 1)
		return 0;
	shift = __builtin_clzll(words[top]);
	bits = (unsigned __int128) words[top] << 64 | words[top - 1];
	third = words[top - 2];
	if (shift > 0)
	{
		bits = bits << shift | third >> (64 - shift);
		third <<= shift;
	}
	*more = third != 0;
	for (int k = top - 3; k >= 2 && !*more; k--)
		*more = words[k] != 0;
	*exponent = exact->lowest + 64 * (top - 3) - shift;
	return bits;
}

/* ±(bits, more) × 2^exponent as a double, rounded once, ties to even. bits has its leading bit set. */
static double
round_once(bool negative, uint64 bits, bool more, int exponent)
{
	int			lowest = Max(exponent + 64 - MANTISSA_BITS, WEIGHT(1));	/* weight of the result's last bit */
	int			dropped = lowest - exponent;	/* bits; at least 11 */
	uint64		kept;
	uint64		rest;
	uint64		half;

	if (dropped > 64)
		return negative ? -0.0 : 0.0;
	kept = dropped == 64 ? 0 : bits >> dropped;
	rest = dropped == 64 ? bits : bits & ((UINT64CONST(1) << dropped) - 1);
	half = UINT64CONST(1) << (dropped - 1);
	if (rest > half || (rest == half && (more || (kept & 1))))
		kept++;
	return ldexp(negative ? -(double) kept : (double) kept, lowest);
}

double
kiln_exact_result(const KilnExact *exact, uint64 i, uint64 divisor, bool *overflow)
{
	uint8		special = exact->special ? exact->special[i] : 0;
	unsigned __int128 bits;
	bool		negative;
	bool		more;
	int			exponent;
	int			shift;
	double		result;

	*overflow = false;
	if (special == KILN_EXACT_INFINITY)
		return INFINITY;
	if (special == KILN_EXACT_NEGATIVE)
		return -INFINITY;
	if (special != 0)
		return get_float8_nan();
	bits = leading_bits(exact, i, &negative, &exponent, &more);
	if (bits == 0)
		return 0;
	if (divisor > 1)
	{
		more = more || bits % divisor != 0;
		bits /= divisor;
	}
	/* 64 bits from the leading one down; a divisor below 2^63 leaves at least 65 */
	shift = 64 - __builtin_clzll((uint64) (bits >> 64));
	more = more || (bits & (((unsigned __int128) 1 << shift) - 1)) != 0;
	result = round_once(negative, (uint64) (bits >> shift), more, exponent + shift);
	*overflow = isinf(result);
	return result;
}

uint64
kiln_exact_scaled(const KilnExact *exact, uint64 i, bool *negative, int *exponent)
{
	bool		more;
	unsigned __int128 bits = leading_bits(exact, i, negative, exponent, &more);

	*exponent += 64;
	return (uint64) (bits >> 64) | (uint64) (more || (uint64) bits != 0);
}

/* ------------------------------------------------------------------ serialized form */

/* terms u64, lowest i32, words u32, special u8; then words and special bytes, if any; all little-endian. */
#define SERIAL_HEAD	17

Size
kiln_exact_serialized(const KilnExact *exact)
{
	return SERIAL_HEAD + exact->n * exact->words * 8 + (exact->special ? exact->n : 0);
}

void
kiln_exact_serialize(const KilnExact *exact, uint8 *out)
{
	uint64		words = exact->n * exact->words;

	kiln_store_u64(out, exact->terms);
	kiln_store_u32(out + 8, (uint32) exact->lowest);
	kiln_store_u32(out + 12, (uint32) exact->words);
	out[16] = exact->special != NULL;
	out += SERIAL_HEAD;
	for (uint64 i = 0; i < words; i++)
		kiln_store_u64(out + i * 8, exact->data[i]);
	if (exact->special)
		memcpy(out + words * 8, exact->special, exact->n);
}

KilnExact *
kiln_exact_deserialize(MemoryContext context, uint64 n, const uint8 *in, Size length, Size *used)
{
	KilnExact  *exact;
	uint64		terms;
	uint32		words;
	uint32		each;			/* bytes of an accumulator */
	int32		lowest;

	if (length < SERIAL_HEAD)
		return NULL;
	terms = kiln_load_u64(in);
	lowest = (int32) kiln_load_u32(in + 8);
	words = kiln_load_u32(in + 12);
	*used = SERIAL_HEAD;
	if (words == 1 || words > MOST_WORDS || lowest < -2 * 1100 || lowest > 2 * 1100 || in[16] > 1 ||
		terms >> MOST_TERM_BITS != 0)
		return NULL;
	each = words * 8 + in[16];
	if (each > 0 && n > (length - SERIAL_HEAD) / each)
		return NULL;
	*used += n * each;
	exact = kiln_exact_create(context, n);
	kiln_exact_terms(exact, terms);
	exact->lowest = lowest;
	exact->words = (int) words;
	in += SERIAL_HEAD;
	if (words > 0)
	{
		exact->data = MemoryContextAllocHuge(context, Max(n, 1) * words * sizeof(uint64));
		for (uint64 i = 0; i < n * words; i++)
			exact->data[i] = kiln_load_u64(in + i * 8);
	}
	if (in[-1])
	{
		exact->special = MemoryContextAllocHuge(context, Max(n, 1));
		memcpy(exact->special, in + n * words * 8, n);
	}
	return exact;
}
