/*
 * Kernels: every set gives the same bits, and they are right.
 */
#include "kernels.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "random.h"

#define LONGEST	(3 * KILN_BLOCK + 37)

/* Two runs of numbers at an odd address. */
static char memory[2][LONGEST * sizeof(double) + 1];

static double
number(int64_t i, int which)
{
	double		value;

	memcpy(&value, memory[which] + 1 + i * sizeof value, sizeof value);
	return value;
}

static void
set_number(int64_t i, int which, double value)
{
	memcpy(memory[which] + 1 + i * sizeof value, &value, sizeof value);
}

/* Numbers of magnitudes that vary by 2^spread. */
static void
fill(uint64_t seed, int spread)
{
	test_random random = {seed};

	for (int i = 0; i < LONGEST; i++)
		for (int which = 0; which < 2; which++)
		{
			double		value = (double) (test_random_next(&random) >> 11) / 9007199254740992.0 - 0.5;

			set_number(i, which, ldexp(value, spread > 0 ? (int) test_random_below(&random, (uint32_t) spread) : 0));
		}
}

enum {SUM, SQUARES, PRODUCTS, DIFFERENCES, KERNELS};

static void
run(const kiln_kernels *set, int kernel, kiln_run *to, size_t from, size_t n)
{
	const char *x = memory[0] + 1 + from * sizeof(double);
	const char *y = memory[1] + 1 + from * sizeof(double);

	switch (kernel)
	{
		case SUM:
			set->sum(to, x, n);
			break;
		case SQUARES:
			set->squares(to, x, n);
			break;
		case PRODUCTS:
			set->products(to, x, y, n);
			break;
		default:
			set->differences(to, x, y, n);
	}
}

static long double
term(int kernel, int64_t i)
{
	long double x = number(i, 0);
	long double y = number(i, 1);

	switch (kernel)
	{
		case SUM:
			return x;
		case SQUARES:
			return x * x;
		case PRODUCTS:
			return x * y;
		default:
			return (x - y) * (x - y);
	}
}

static const size_t lengths[] = {
	0, 1, 7, 15, 16, 17, 31, 33, 500, KILN_BLOCK - 1, KILN_BLOCK, KILN_BLOCK + 1, 2 * KILN_BLOCK, LONGEST
};

#define LENGTHS (sizeof lengths / sizeof lengths[0])

static void
sets_agree(void **state)
{
	const kiln_kernels *sets[KILN_KERNEL_SETS];
	size_t		count = kiln_kernels_all(sets);

	(void) state;
	assert_true(count >= 1);
	for (uint64_t seed = 1; seed <= 20; seed++)
	{
		fill(seed, (int) seed * 10);
		for (size_t l = 0; l < LENGTHS; l++)
			for (int kernel = 0; kernel < KERNELS; kernel++)
			{
				kiln_run	first = {{0}, {0}};

				run(sets[0], kernel, &first, 0, lengths[l]);
				for (size_t s = 1; s < count; s++)
				{
					kiln_run	other = {{0}, {0}};

					run(sets[s], kernel, &other, 0, lengths[l]);
					assert_memory_equal(&first, &other, sizeof first);
				}
			}
	}
}

/* A run fed in pieces of whole blocks is the run fed at once. */
static void
pieces_agree(void **state)
{
	const kiln_kernels *sets[KILN_KERNEL_SETS];
	size_t		count = kiln_kernels_all(sets);

	(void) state;
	fill(99, 40);
	for (size_t s = 0; s < count; s++)
		for (int kernel = 0; kernel < KERNELS; kernel++)
		{
			kiln_run	whole = {{0}, {0}};
			kiln_run	pieces = {{0}, {0}};

			run(sets[s], kernel, &whole, 0, LONGEST);
			run(sets[s], kernel, &pieces, 0, KILN_BLOCK);
			run(sets[s], kernel, &pieces, KILN_BLOCK, 2 * KILN_BLOCK);
			run(sets[s], kernel, &pieces, 3 * KILN_BLOCK, LONGEST - 3 * KILN_BLOCK);
			assert_memory_equal(&whole, &pieces, sizeof whole);
		}
}

/* Within the bound that the header gives, measured by long doubles. */
static void
sums_are_right(void **state)
{
	const kiln_kernels *set = kiln_kernels_best();

	(void) state;
	for (uint64_t seed = 1; seed <= 20; seed++)
	{
		fill(seed, (int) seed);
		for (size_t l = 0; l < LENGTHS; l++)
			for (int kernel = 0; kernel < KERNELS; kernel++)
			{
				kiln_run	sum = {{0}, {0}};
				long double right = 0;
				long double magnitude = 0;

				run(set, kernel, &sum, 0, lengths[l]);
				for (size_t i = 0; i < lengths[l]; i++)
				{
					right += term(kernel, (int64_t) i);
					magnitude += fabsl(term(kernel, (int64_t) i));
				}
				assert_true(fabsl(kiln_run_finish(&sum) - right) <= ldexpl(magnitude, -45));
			}
	}
}

/* What cancels between blocks is not lost. */
static void
sums_are_compensated(void **state)
{
	const kiln_kernels *set = kiln_kernels_best();
	kiln_run	sum = {{0}, {0}};

	(void) state;
	memset(memory, 0, sizeof memory);
	set_number(0, 0, 1e17);
	set_number(KILN_BLOCK, 0, 1);
	set_number(2 * KILN_BLOCK + 1, 0, -1e17);
	set->sum(&sum, memory[0] + 1, LONGEST);
	assert_true(kiln_run_finish(&sum) == 1);
}

static void
extremes_are_right(void **state)
{
	const kiln_kernels *sets[KILN_KERNEL_SETS];
	size_t		count = kiln_kernels_all(sets);

	(void) state;
	for (uint64_t seed = 1; seed <= 20; seed++)
	{
		fill(seed, 30);
		if (seed % 2 == 0)
			for (int i = 0; i < LONGEST; i += (int) seed)
				set_number(i, 0, NAN);
		for (size_t l = 0; l < LENGTHS; l++)
		{
			double		least = INFINITY;
			double		greatest = -INFINITY;
			uint64_t	nans = 0;

			for (size_t i = 0; i < lengths[l]; i++)
			{
				double		value = number((int64_t) i, 0);

				least = value < least ? value : least;
				greatest = value > greatest ? value : greatest;
				nans += isnan(value) != 0;
			}
			for (size_t s = 0; s < count; s++)
			{
				kiln_extremes found;

				kiln_extremes_start(&found);
				sets[s]->extremes(&found, memory[0] + 1, lengths[l]);
				assert_true(kiln_extremes_least(&found) == least);
				assert_true(kiln_extremes_greatest(&found) == greatest);
				assert_true(found.nans == nans);
			}
		}
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sets_agree),
		cmocka_unit_test(pieces_agree),
		cmocka_unit_test(sums_are_right),
		cmocka_unit_test(sums_are_compensated),
		cmocka_unit_test(extremes_are_right),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
