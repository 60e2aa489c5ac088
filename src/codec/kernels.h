/*
 * Sums over runs of doubles, by SIMD, with one result on every CPU.
 *
 * Element i goes to lane i mod 16. A block of KILN_BLOCK elements is added up lane by lane; the block's lanes are
 * then added to the run's, and what each of these additions rounds away is kept beside them (Knuth's TwoSum).
 * kiln_run_finish() adds the lanes in pairs, in the same way. So the order of additions depends on the number of
 * elements alone; the variants for different instruction sets do the same operations, wider, and fuse none of them.
 * The error of a sum is at most 2^-45 of the sum of the terms' magnitudes, however long the run.
 *
 * Overflow shows as a result that is not finite; the caller then takes a slower way.
 */
#ifndef KILN_KERNELS_H
#define KILN_KERNELS_H

#include <stddef.h>
#include <stdint.h>

#define KILN_LANES	16
#define KILN_BLOCK	2048

/* A sum under way. Zeroed to begin with. */
typedef struct kiln_run
{
	double		total[KILN_LANES];
	double		error[KILN_LANES];
} kiln_run;

/* Least and greatest under way; NaNs are passed over and counted. */
typedef struct kiln_extremes
{
	double		least[KILN_LANES];
	double		greatest[KILN_LANES];
	uint64_t	nans;
} kiln_extremes;

/*
 * One set of kernels. x and y are n doubles in the machine's own form, at any alignment. A run is fed in pieces of
 * whole blocks; only the last may be shorter.
 */
typedef struct kiln_kernels
{
	const char *name;
	void		(*sum) (kiln_run *run, const void *x, size_t n);	/* x */
	void		(*squares) (kiln_run *run, const void *x, size_t n);	/* x² */
	void		(*products) (kiln_run *run, const void *x, const void *y, size_t n);	/* x y */
	void		(*differences) (kiln_run *run, const void *x, const void *y, size_t n);	/* (x - y)² */
	void		(*extremes) (kiln_extremes *extremes, const void *x, size_t n);
} kiln_kernels;

double		kiln_run_finish(const kiln_run *run);

void		kiln_extremes_start(kiln_extremes *extremes);
double		kiln_extremes_least(const kiln_extremes *extremes);		/* +infinity if there was no number */
double		kiln_extremes_greatest(const kiln_extremes *extremes);	/* -infinity likewise */

/* The best set for this CPU; and all that it can run, at most KILN_KERNEL_SETS, for tests. */
#define KILN_KERNEL_SETS	2
const kiln_kernels *kiln_kernels_best(void);
size_t		kiln_kernels_all(const kiln_kernels **sets);

#endif							/* KILN_KERNELS_H */
