/*
 * Sums over runs of doubles: see kernels.h.
 *
 * Each kernel is written once, as a macro over a vector type of the compiler, and compiled for each instruction
 * set. No set may have fused multiply-add: it rounds once where others round twice.
 */
#include "kernels.h"

#include <math.h>
#include <string.h>

#ifdef __clang__
#pragma STDC FP_CONTRACT OFF
#endif

/* As wide as the registers of the instruction set that is named last. */
typedef double vector16 __attribute__((vector_size(16)));
typedef int64_t mask16 __attribute__((vector_size(16)));
typedef double vector32 __attribute__((vector_size(32)));
typedef int64_t mask32 __attribute__((vector_size(32)));

/* For each vector of the lanes; unrolled, so that they stay in registers. */
#define EACH(k, count)	_Pragma("GCC unroll 8") for (size_t k = 0; k < (count); k++)

/*
 * Add what a block came to, by TwoSum: total + block = sum + error, exactly.
 */
static inline void
add_block(kiln_run *run, const double *block)
{
	for (int k = 0; k < KILN_LANES; k++)
	{
		double		sum = run->total[k] + block[k];
		double		part = sum - run->total[k];

		run->error[k] += (run->total[k] - (sum - part)) + (block[k] - part);
		run->total[k] = sum;
	}
}

/*
 * A kernel of one or two operands. TERM makes the term of a and b, which are vectors, or doubles in the last,
 * partial row of lanes.
 */
#define RUN_KERNEL(name, attribute, vector, parameters, y_of, TERM) \
	attribute static void \
	name parameters \
	{ \
		enum {width = sizeof(vector) / sizeof(double), count = KILN_LANES / width}; \
		const char *px = x; \
		const char *py = y_of; \
		\
		while (n > 0) \
		{ \
			size_t		some = n < KILN_BLOCK ? n : KILN_BLOCK; \
			size_t		i = 0; \
			vector		sums[count] = {{0}}; \
			double		lanes[KILN_LANES]; \
			\
			for (; i + KILN_LANES <= some; i += KILN_LANES) \
			{ \
				EACH(k, count) \
				{ \
					vector		a, b; \
					\
					memcpy(&a, px + (i + k * width) * sizeof(double), sizeof a); \
					memcpy(&b, py + (i + k * width) * sizeof(double), sizeof b); \
					sums[k] += TERM(a, b); \
				} \
			} \
			memcpy(lanes, sums, sizeof lanes); \
			for (size_t k = 0; i < some; i++, k++) \
			{ \
				double		a, b; \
				\
				memcpy(&a, px + i * sizeof a, sizeof a); \
				memcpy(&b, py + i * sizeof b, sizeof b); \
				lanes[k] += TERM(a, b); \
			} \
			add_block(run, lanes); \
			px += some * sizeof(double); \
			py += some * sizeof(double); \
			n -= some; \
		} \
	}

#define TERM_VALUE(a, b)		((void) (b), (a))
#define TERM_SQUARE(a, b)		((void) (b), (a) * (a))
#define TERM_PRODUCT(a, b)		((a) * (b))
#define TERM_DIFFERENCE(a, b)	(((a) - (b)) * ((a) - (b)))

/* a where the condition holds, else b. */
#define CHOOSE(vector, mask, condition, a, b) \
	((vector) (((mask) (a) & (condition)) | ((mask) (b) & ~(condition))))

/* Keep the lesser and the greater of each lane; a NaN is neither. */
#define EXTREMES_KERNEL(name, attribute, vector, mask) \
	attribute static void \
	name(kiln_extremes *extremes, const void *x, size_t n) \
	{ \
		enum {width = sizeof(vector) / sizeof(double), count = KILN_LANES / width}; \
		const char *px = x; \
		size_t		i = 0; \
		vector		least[count], greatest[count]; \
		mask		nans = {0}; \
		\
		memcpy(least, extremes->least, sizeof least); \
		memcpy(greatest, extremes->greatest, sizeof greatest); \
		for (; i + KILN_LANES <= n; i += KILN_LANES) \
		{ \
			EACH(k, count) \
			{ \
				vector		a; \
				\
				memcpy(&a, px + (i + k * width) * sizeof(double), sizeof a); \
				least[k] = CHOOSE(vector, mask, a < least[k], a, least[k]); \
				greatest[k] = CHOOSE(vector, mask, a > greatest[k], a, greatest[k]); \
				nans -= (a != a); \
			} \
		} \
		memcpy(extremes->least, least, sizeof least); \
		memcpy(extremes->greatest, greatest, sizeof greatest); \
		for (size_t k = 0; k < width; k++) \
			extremes->nans += (uint64_t) nans[k]; \
		for (size_t k = 0; i < n; i++, k++) \
		{ \
			double		a; \
			\
			memcpy(&a, px + i * sizeof a, sizeof a); \
			if (a < extremes->least[k]) \
				extremes->least[k] = a; \
			if (a > extremes->greatest[k]) \
				extremes->greatest[k] = a; \
			extremes->nans += a != a; \
		} \
	}

#define ONE_OPERAND		(kiln_run *run, const void *x, size_t n)
#define TWO_OPERANDS	(kiln_run *run, const void *x, const void *y, size_t n)

#define KERNELS(set, attribute, vector, mask) \
	RUN_KERNEL(sum_##set, attribute, vector, ONE_OPERAND, x, TERM_VALUE) \
	RUN_KERNEL(squares_##set, attribute, vector, ONE_OPERAND, x, TERM_SQUARE) \
	RUN_KERNEL(products_##set, attribute, vector, TWO_OPERANDS, y, TERM_PRODUCT) \
	RUN_KERNEL(differences_##set, attribute, vector, TWO_OPERANDS, y, TERM_DIFFERENCE) \
	EXTREMES_KERNEL(extremes_##set, attribute, vector, mask) \
	static const kiln_kernels set = {#set, sum_##set, squares_##set, products_##set, differences_##set, extremes_##set};

KERNELS(portable, , vector16, mask16)

#if defined(__x86_64__) && defined(__GNUC__)
#define HAVE_AVX2
KERNELS(avx2, __attribute__((target("avx2"))), vector32, mask32)
#endif

/* ------------------------------------------------------------------ choice */

size_t
kiln_kernels_all(const kiln_kernels **sets)
{
	size_t		count = 0;

	sets[count++] = &portable;
#ifdef HAVE_AVX2
	if (__builtin_cpu_supports("avx2"))
		sets[count++] = &avx2;
#endif
	return count;
}

const kiln_kernels *
kiln_kernels_best(void)
{
	static const kiln_kernels *best = NULL;

	if (best == NULL)
	{
		const kiln_kernels *sets[KILN_KERNEL_SETS];

		best = sets[kiln_kernels_all(sets) - 1];
	}
	return best;
}

/* ------------------------------------------------------------------ results */

/*
 * Lanes in pairs, the upper half on the lower, until one is left; with what the additions round away kept aside, as
 * in add_block().
 */
double
kiln_run_finish(const kiln_run *run)
{
	kiln_run	left = *run;

	for (int width = KILN_LANES / 2; width > 0; width /= 2)
	{
		for (int k = 0; k < width; k++)
		{
			double		sum = left.total[k] + left.total[k + width];
			double		part = sum - left.total[k];

			left.error[k] += left.error[k + width] + ((left.total[k] - (sum - part)) + (left.total[k + width] - part));
			left.total[k] = sum;
		}
	}
	return left.total[0] + left.error[0];
}

void
kiln_extremes_start(kiln_extremes *extremes)
{
	for (int k = 0; k < KILN_LANES; k++)
	{
		extremes->least[k] = INFINITY;
		extremes->greatest[k] = -INFINITY;
	}
	extremes->nans = 0;
}

double
kiln_extremes_least(const kiln_extremes *extremes)
{
	double		least = extremes->least[0];

	for (int k = 1; k < KILN_LANES; k++)
		if (extremes->least[k] < least)
			least = extremes->least[k];
	return least;
}

double
kiln_extremes_greatest(const kiln_extremes *extremes)
{
	double		greatest = extremes->greatest[0];

	for (int k = 1; k < KILN_LANES; k++)
		if (extremes->greatest[k] > greatest)
			greatest = extremes->greatest[k];
	return greatest;
}
