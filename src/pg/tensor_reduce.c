/*
 * One number from a tensor, or from two: sums, means, extremes, norms, products and distances.
 *
 * Elements of floats are added as doubles by the kernels of kernels.h, in an order that only their number decides;
 * those of integers exactly. Where a sum overflows on its way, or squares vanish, a slower way gives the true
 * result: exact sums (exact.h), or operands scaled by a power of two. A result beyond the doubles is 22003, unless
 * an infinity or a NaN among the elements made it.
 */
#include "kiln_tensor.h"

#include <limits.h>
#include <math.h>

#include "exact.h"
#include "kernels.h"

#include "miscadmin.h"
#include "utils/float.h"

/* Below this a sum of squares may have lost some to underflow. */
#define SQUARES_LEAST	1e-270

static const kiln_run EMPTY_RUN;

pg_noreturn static void
out_of_range(void)
{
	ereport(ERROR,
			(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
			 errmsg("value out of range: overflow")));
}

/* ------------------------------------------------------------------ walks */

/* A tensor's elements as doubles, a block at a time; f64 on little-endian machines where they are. */
typedef struct Walk
{
	KilnTensorReader reader;
	uint64		position;		/* of the block's end */
	const uint8_t *part;		/* elements at hand: [position, part_end) */
	uint64		part_end;
	double		block[KILN_BLOCK];
} Walk;

static void
walk_start(Walk *walk)
{
	walk->position = walk->part_end = 0;
}

/* The next block, of at most KILN_BLOCK; all but the last are whole. NULL at the end. */
static const void *
walk_next(Walk *walk, uint64 *n)
{
	const uint8_t *data;

	if (walk->position == walk->reader.elements)
		return NULL;
	if (walk->position == walk->part_end)
	{
		CHECK_FOR_INTERRUPTS();
		walk->part = kiln_tensor_some(&walk->reader, walk->position, walk->reader.elements, n);
		walk->part_end += *n;
	}
	*n = Min(KILN_BLOCK, walk->part_end - walk->position);
	data = walk->part;
	walk->part += *n * walk->reader.width;
	walk->position += *n;
#ifndef WORDS_BIGENDIAN
	if (walk->reader.tensor.dtype == KILN_DTYPE_F64)
		return data;
#endif
	kiln_elements_f64(walk->reader.tensor.dtype, data, walk->block, *n);
	return walk->block;
}

static double
double_at(const void *block, uint64 i)
{
	double		value;

	memcpy(&value, (const char *) block + i * sizeof value, sizeof value);
	return value;
}

static bool
is_integer(const Walk *walk)
{
	return walk->reader.tensor.dtype < KILN_DTYPE_F16;
}

static void
open_one(FunctionCallInfo fcinfo, Walk *walk)
{
	kiln_tensor_open_argument(&walk->reader, fcinfo, PG_NARGS() > 1 ? 1 : -1);
}

/* ------------------------------------------------------------------ sum and mean */

/* The exact sum over divisor. */
static double
sum_exactly(Walk *walk, uint64 divisor)
{
	KilnExact  *exact = kiln_exact_create(CurrentMemoryContext, 1);
	const void *block;
	uint64		n;
	bool		overflow;
	double		result;

	walk_start(walk);
	while ((block = walk_next(walk, &n)) != NULL)
	{
		kiln_exact_terms(exact, n);
		for (uint64 i = 0; i < n; i++)
		{
			double		value = double_at(block, i);

			kiln_exact_add(exact, 0, &value, 1);
		}
	}
	result = kiln_exact_result(exact, 0, divisor, &overflow);
	if (overflow)
		out_of_range();
	return result;
}

/* The sum of integers over divisor, rounded once. Fewer than 2^63 terms below 2^64 fit 128 bits. */
static double
sum_integers(Walk *walk, uint64 divisor)
{
	KilnTensorReader *reader = &walk->reader;
	__int128	sum = 0;
	unsigned __int128 magnitude;
	uint64		position = 0;
	KilnExact  *exact;
	bool		overflow;

	if (reader->width < 8)
	{
		const void *block;
		uint64		n;

		/* shorter integers are exact as doubles */
		walk_start(walk);
		while ((block = walk_next(walk, &n)) != NULL)
			for (uint64 i = 0; i < n; i++)
				sum += (int64) double_at(block, i);
		position = reader->elements;
	}
	while (position < reader->elements)
	{
		uint64		n;
		const uint8_t *data = kiln_tensor_some(reader, position, reader->elements, &n);

		CHECK_FOR_INTERRUPTS();
		for (uint64 i = 0; i < n; i++)
		{
			uint64		bits = kiln_load_u64(data + i * 8);

			sum += reader->tensor.dtype == KILN_DTYPE_U64 ? (__int128) bits : (__int128) (int64) bits;
		}
		position += n;
	}
	exact = kiln_exact_create(CurrentMemoryContext, 1);
	kiln_exact_terms(exact, 1);
	magnitude = sum < 0 ? -(unsigned __int128) sum : (unsigned __int128) sum;
	kiln_exact_add_scaled(exact, 0, sum < 0, (uint64) (magnitude >> 64), (uint64) magnitude, 0);
	return kiln_exact_result(exact, 0, divisor, &overflow);
}

static double
sum_over(Walk *walk, uint64 divisor)
{
	const kiln_kernels *kernels = kiln_kernels_best();
	kiln_run	run = EMPTY_RUN;
	const void *block;
	uint64		n;
	double		sum;

	if (is_integer(walk))
		return sum_integers(walk, divisor);
	walk_start(walk);
	while ((block = walk_next(walk, &n)) != NULL)
		kernels->sum(&run, block, n);
	sum = kiln_run_finish(&run);
	if (unlikely(!isfinite(sum)))
		return sum_exactly(walk, divisor);
	return sum / (double) divisor;
}

PG_FUNCTION_INFO_V1(kiln_sum);
PG_FUNCTION_INFO_V1(kiln_mean);

/* kiln_sum(kiln [, name text]): of no elements 0. */
Datum
kiln_sum(PG_FUNCTION_ARGS)
{
	Walk		walk;
	double		result;

	open_one(fcinfo, &walk);
	result = sum_over(&walk, 1);
	kiln_tensor_close(&walk.reader);
	PG_RETURN_FLOAT8(result);
}

/* kiln_mean(kiln [, name text]): of no elements NULL. */
Datum
kiln_mean(PG_FUNCTION_ARGS)
{
	Walk		walk;
	double		result = 0;

	open_one(fcinfo, &walk);
	if (walk.reader.elements > 0)
		result = sum_over(&walk, walk.reader.elements);
	kiln_tensor_close(&walk.reader);
	if (walk.reader.elements == 0)
		PG_RETURN_NULL();
	PG_RETURN_FLOAT8(result);
}

/* ------------------------------------------------------------------ extremes */

static void
find_extremes(Walk *walk, kiln_extremes *extremes)
{
	const kiln_kernels *kernels = kiln_kernels_best();
	const void *block;
	uint64		n;

	kiln_extremes_start(extremes);
	walk_start(walk);
	while ((block = walk_next(walk, &n)) != NULL)
		kernels->extremes(extremes, block, n);
}

PG_FUNCTION_INFO_V1(kiln_min);
PG_FUNCTION_INFO_V1(kiln_max);

/* kiln_min(kiln [, name text]): as min() of SQL, NaN is above all; of no elements NULL. */
Datum
kiln_min(PG_FUNCTION_ARGS)
{
	Walk		walk;
	kiln_extremes extremes;

	open_one(fcinfo, &walk);
	find_extremes(&walk, &extremes);
	kiln_tensor_close(&walk.reader);
	if (walk.reader.elements == 0)
		PG_RETURN_NULL();
	PG_RETURN_FLOAT8(extremes.nans == walk.reader.elements ? get_float8_nan() : kiln_extremes_least(&extremes));
}

/* kiln_max(kiln [, name text]) */
Datum
kiln_max(PG_FUNCTION_ARGS)
{
	Walk		walk;
	kiln_extremes extremes;

	open_one(fcinfo, &walk);
	find_extremes(&walk, &extremes);
	kiln_tensor_close(&walk.reader);
	if (walk.reader.elements == 0)
		PG_RETURN_NULL();
	PG_RETURN_FLOAT8(extremes.nans > 0 ? get_float8_nan() : kiln_extremes_greatest(&extremes));
}

/* ------------------------------------------------------------------ norms and distances */

/*
 * The next block of both tensors, which have the same number of elements. They may come in parts of different
 * length.
 */
static const void *
walk_both(Walk *a, Walk *b, const void **other, uint64 *n)
{
	const void *block = walk_next(a, n);

	if (block != NULL)
		*other = walk_next(b, n);
	return block;
}

/*
 * Element i of x, or of x - y; where that would overflow half of it, and *halved is 1.
 */
static double
term_at(const void *x, const void *y, uint64 i, int *halved)
{
	double		left = double_at(x, i);
	double		right = y ? double_at(y, i) : 0;

	*halved = 0;
	if (isfinite(left - right) || !isfinite(left) || !isfinite(right))
		return left - right;
	*halved = 1;
	return left * 0.5 - right * 0.5;
}

/*
 * Exponent of the term that is greatest in magnitude, 0 if all are zero. *special gets the sum of magnitudes of
 * those that are not finite: 0, an infinity or NaN.
 */
static int
greatest_exponent(Walk *a, Walk *b, double *special)
{
	const void *x;
	const void *y = NULL;
	uint64		n;
	int			greatest = INT_MIN;

	*special = 0;
	walk_start(a);
	if (b)
		walk_start(b);
	while ((x = b ? walk_both(a, b, &y, &n) : walk_next(a, &n)) != NULL)
	{
		for (uint64 i = 0; i < n; i++)
		{
			int			halved;
			int			exponent;
			double		term = term_at(x, y, i, &halved);

			if (!isfinite(term))
				*special += fabs(term);
			else if (term != 0)
			{
				(void) frexp(term, &exponent);
				greatest = Max(greatest, exponent + halved);
			}
		}
	}
	return greatest == INT_MIN ? 0 : greatest;
}

/* The sum of squares of terms, each scaled by 2^-exponent first. */
static double
scaled_squares(Walk *a, Walk *b, int exponent)
{
	const kiln_kernels *kernels = kiln_kernels_best();
	kiln_run	run = EMPTY_RUN;
	double		scaled[KILN_BLOCK];
	const void *x;
	const void *y = NULL;
	uint64		n;

	walk_start(a);
	if (b)
		walk_start(b);
	while ((x = b ? walk_both(a, b, &y, &n) : walk_next(a, &n)) != NULL)
	{
		for (uint64 i = 0; i < n; i++)
		{
			int			halved;
			double		term = term_at(x, y, i, &halved);

			scaled[i] = ldexp(term, halved - exponent);
		}
		kernels->squares(&run, scaled, n);
	}
	return kiln_run_finish(&run);
}

/* The root of the sum of squares of x (b NULL) or of x - y. */
static double
length_of(Walk *a, Walk *b)
{
	const kiln_kernels *kernels = kiln_kernels_best();
	kiln_run	run = EMPTY_RUN;
	const void *x;
	const void *y = NULL;
	uint64		n;
	double		sum;
	double		special;
	int			exponent;
	double		result;

	walk_start(a);
	if (b)
	{
		walk_start(b);
		while ((x = walk_both(a, b, &y, &n)) != NULL)
			kernels->differences(&run, x, y, n);
	}
	else
		while ((x = walk_next(a, &n)) != NULL)
			kernels->squares(&run, x, n);
	sum = kiln_run_finish(&run);
	if (likely(isfinite(sum) && sum >= SQUARES_LEAST))
		return sqrt(sum);

	exponent = greatest_exponent(a, b, &special);
	if (special != 0)
		return isnan(special) ? get_float8_nan() : special;
	result = ldexp(sqrt(scaled_squares(a, b, exponent)), exponent);
	if (isinf(result))
		out_of_range();
	return result;
}

PG_FUNCTION_INFO_V1(kiln_norm);

/* kiln_norm(kiln [, name text]): the Euclidean norm of all elements. */
Datum
kiln_norm(PG_FUNCTION_ARGS)
{
	Walk		walk;
	double		result;

	open_one(fcinfo, &walk);
	result = length_of(&walk, NULL);
	kiln_tensor_close(&walk.reader);
	PG_RETURN_FLOAT8(result);
}

/* Open two tensors of one shape. */
static void
open_two(FunctionCallInfo fcinfo, Walk *a, Walk *b)
{
	kiln_tensor_open(&a->reader, PG_GETARG_DATUM(0), NULL, 0);
	kiln_tensor_open(&b->reader, PG_GETARG_DATUM(1), NULL, 0);
	kiln_check_shapes(&a->reader.tensor, &b->reader.tensor);
}

PG_FUNCTION_INFO_V1(kiln_l2_distance);

/* kiln_l2_distance(kiln, kiln) */
Datum
kiln_l2_distance(PG_FUNCTION_ARGS)
{
	Walk		a;
	Walk		b;
	double		result;

	open_two(fcinfo, &a, &b);
	result = length_of(&a, &b);
	kiln_tensor_close(&a.reader);
	kiln_tensor_close(&b.reader);
	PG_RETURN_FLOAT8(result);
}

/* ------------------------------------------------------------------ products */

/* The exact sum of products. */
static double
dot_exactly(Walk *a, Walk *b)
{
	KilnExact  *exact = kiln_exact_create(CurrentMemoryContext, 1);
	const void *x;
	const void *y;
	uint64		n;
	bool		overflow;
	double		result;

	walk_start(a);
	walk_start(b);
	while ((x = walk_both(a, b, &y, &n)) != NULL)
	{
		kiln_exact_terms(exact, n);
		for (uint64 i = 0; i < n; i++)
		{
			double		left = double_at(x, i);
			double		right = double_at(y, i);
			int			left_exponent;
			int			right_exponent;
			unsigned __int128 product;

			if (!isfinite(left) || !isfinite(right))
			{
				double		special = left * right;

				kiln_exact_add(exact, 0, &special, 1);
				continue;
			}
			/* mantissas of 53 bits as integers */
			product = (unsigned __int128) (uint64) ldexp(fabs(frexp(left, &left_exponent)), 53) *
				(uint64) ldexp(fabs(frexp(right, &right_exponent)), 53);
			kiln_exact_add_scaled(exact, 0, signbit(left) != signbit(right), (uint64) (product >> 64), (uint64) product,
								  left_exponent + right_exponent - 106);
		}
	}
	result = kiln_exact_result(exact, 0, 1, &overflow);
	if (overflow)
		out_of_range();
	return result;
}

PG_FUNCTION_INFO_V1(kiln_dot);

/* kiln_dot(kiln, kiln): the sum of products of all elements. */
Datum
kiln_dot(PG_FUNCTION_ARGS)
{
	const kiln_kernels *kernels = kiln_kernels_best();
	Walk		a;
	Walk		b;
	kiln_run	run = EMPTY_RUN;
	const void *x;
	const void *y;
	uint64		n;
	double		result;

	open_two(fcinfo, &a, &b);
	walk_start(&a);
	walk_start(&b);
	while ((x = walk_both(&a, &b, &y, &n)) != NULL)
		kernels->products(&run, x, y, n);
	result = kiln_run_finish(&run);
	if (unlikely(!isfinite(result)))
		result = dot_exactly(&a, &b);
	kiln_tensor_close(&a.reader);
	kiln_tensor_close(&b.reader);
	PG_RETURN_FLOAT8(result);
}

/* The cosine of the angle, from sums whose operands are scaled by powers of two. */
static double
scaled_cosine(Walk *a, Walk *b)
{
	const kiln_kernels *kernels = kiln_kernels_best();
	kiln_run	products = EMPTY_RUN;
	double		left[KILN_BLOCK];
	double		right[KILN_BLOCK];
	const void *x;
	const void *y;
	uint64		n;
	double		a_special;
	double		b_special;
	int			a_exponent = greatest_exponent(a, NULL, &a_special);
	int			b_exponent = greatest_exponent(b, NULL, &b_special);
	double		a_squares;
	double		b_squares;

	if (a_special != 0 || b_special != 0)
		return get_float8_nan();
	a_squares = scaled_squares(a, NULL, a_exponent);
	b_squares = scaled_squares(b, NULL, b_exponent);
	walk_start(a);
	walk_start(b);
	while ((x = walk_both(a, b, &y, &n)) != NULL)
	{
		for (uint64 i = 0; i < n; i++)
		{
			left[i] = ldexp(double_at(x, i), -a_exponent);
			right[i] = ldexp(double_at(y, i), -b_exponent);
		}
		kernels->products(&products, left, right, n);
	}
	return kiln_run_finish(&products) / (sqrt(a_squares) * sqrt(b_squares));
}

PG_FUNCTION_INFO_V1(kiln_cosine_distance);

/*
 * kiln_cosine_distance(kiln, kiln): one less the cosine of the angle between them; NaN where one of them is all
 * zeros.
 */
Datum
kiln_cosine_distance(PG_FUNCTION_ARGS)
{
	const kiln_kernels *kernels = kiln_kernels_best();
	Walk		a;
	Walk		b;
	kiln_run	products = EMPTY_RUN;
	kiln_run	a_run = EMPTY_RUN;
	kiln_run	b_run = EMPTY_RUN;
	const void *x;
	const void *y;
	uint64		n;
	double		a_squares;
	double		b_squares;
	double		cosine;

	open_two(fcinfo, &a, &b);
	walk_start(&a);
	walk_start(&b);
	while ((x = walk_both(&a, &b, &y, &n)) != NULL)
	{
		kernels->products(&products, x, y, n);
		kernels->squares(&a_run, x, n);
		kernels->squares(&b_run, y, n);
	}
	a_squares = kiln_run_finish(&a_run);
	b_squares = kiln_run_finish(&b_run);
	if (isfinite(a_squares) && isfinite(b_squares) && a_squares >= SQUARES_LEAST && b_squares >= SQUARES_LEAST)
		cosine = kiln_run_finish(&products) / (sqrt(a_squares) * sqrt(b_squares));
	else
		cosine = scaled_cosine(&a, &b);
	kiln_tensor_close(&a.reader);
	kiln_tensor_close(&b.reader);
	if (isnan(cosine))
		PG_RETURN_FLOAT8(get_float8_nan());
	/* rounding may lead a little beyond the range */
	cosine = cosine > 1 ? 1 : cosine < -1 ? -1 : cosine;
	PG_RETURN_FLOAT8(1 - cosine);
}
