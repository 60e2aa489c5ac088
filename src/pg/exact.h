/*
 * Exact sums.
 *
 * A vector of accumulators, each a two's-complement number of some 64-bit words whose lowest bit has the weight
 * 2^lowest. A double is an integer times a power of two, so adding one is integer arithmetic and loses nothing: the
 * sum is rounded once, when it is asked for, and no order of rows, plan, CPU or SIMD width can change it. The
 * window of weights starts as narrow as the first row allows (two words for most data) and is widened when a number
 * falls outside it; all of a double's range takes 34 words.
 *
 * Bounds: an accumulator never overflows. A term takes at most 64 * words - 1 - term_bits bits, and no more than
 * 2^term_bits terms are added.
 */
#ifndef KILN_EXACT_H
#define KILN_EXACT_H

#include "kiln_pg.h"

typedef struct KilnExact
{
	MemoryContext context;
	uint64		n;				/* accumulators */
	uint64		terms;			/* added to each, at most */
	int			term_bits;
	int			lowest;			/* weight of bit 0, a power of two */
	int			words;			/* of each; 0 while all are zero */
	uint64	   *data;			/* words of accumulator i at i * words, lowest first */
	uint8	   *special;		/* what else was added to each: KILN_EXACT_…; NULL while there is nothing */
} KilnExact;

#define KILN_EXACT_NAN			1
#define KILN_EXACT_INFINITY		2
#define KILN_EXACT_NEGATIVE		4	/* -Infinity */

/* n sums of nothing, kept in context. */
extern KilnExact *kiln_exact_create(MemoryContext context, uint64 n);

/* Tell that count more terms will be added to some accumulator, before they are. */
extern void kiln_exact_terms(KilnExact *exact, uint64 count);

/* Add values[0 … count) to the accumulators from first on, one each. */
extern void kiln_exact_add(KilnExact *exact, uint64 first, const double *values, uint64 count);

/* Add ±magnitude × 2^exponent to accumulator i. */
extern void kiln_exact_add_scaled(KilnExact *exact, uint64 i, bool negative, uint64 high, uint64 low, int exponent);

/* Add all that other holds; other is left as it is. */
extern void kiln_exact_combine(KilnExact *exact, const KilnExact *other);

/*
 * Sum i over divisor, rounded once, to nearest. Where no infinity was added, an infinite result says that the true
 * one is beyond the doubles: *overflow is then set.
 */
extern double kiln_exact_result(const KilnExact *exact, uint64 i, uint64 divisor, bool *overflow);

/*
 * Sum i as m × 2^*exponent, with 2^63 <= |m| < 2^64 rounded to odd; zero is m = 0. Only for sums without special
 * terms.
 */
extern uint64 kiln_exact_scaled(const KilnExact *exact, uint64 i, bool *negative, int *exponent);

/*
 * Bytes of the serialized form, and itself. Reading checks it; *used gets the bytes taken; NULL if it is none for n
 * accumulators.
 */
extern Size kiln_exact_serialized(const KilnExact *exact);
extern void kiln_exact_serialize(const KilnExact *exact, uint8 *out);
extern KilnExact *kiln_exact_deserialize(MemoryContext context, uint64 n, const uint8 *in, Size length, Size *used);

#endif							/* KILN_EXACT_H */
