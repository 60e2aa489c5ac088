/*
 * The harness: loads contenders, lets none of them run before it has proved itself, and times them in turns.
 *
 *   host [options] object.so=flags … [-- experiment …]
 *     --part NAME      first column of the results
 *     --out FILE       append results there
 *     --golden FOLDER  where the golden files are
 *     --rounds N       timed rounds (11)      --leg-ms MS   least time of a leg (200)
 *     --passes N       passes of a group until one is valid (3)
 *     --count FILE     time nothing: write each leg's allocations there (needs count.so preloaded)
 *     --counts FILE    allocations as counted before
 *
 * A pass of a group: the control leg, a warm-up that also finds how many operations fill a leg, the rounds, the
 * control leg again. Each round runs every leg once, from another place and in another direction than the round before. Time is
 * the thread's own (CLOCK_THREAD_CPUTIME_ID), so that a core which others use too takes turns but no time away.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "bench.h"

#define MAX_LEGS	4096
#define MAX_ROUNDS	101
#define CONTROLS	3			/* control legs at either end of a pass: their median counts */
#define CONTROL_BOUND 0.05

typedef struct leg
{
	bench_leg	is;
	const char *flags;
	bool		twin;			/* the A/A leg: another's function under a name of its own */
	bool		refused;
	double		allocations;	/* an operation; negative: not counted */
	size_t		n;				/* operations in a timed leg */
	double		values[MAX_ROUNDS]; /* nanoseconds an operation */
} leg;

static struct
{
	const char *part;
	const char *out;
	const char *golden;
	const char *count;
	const char *counts;
	int			rounds;
	double		leg_ns;
	int			passes;
	char	  **experiments;
	int			experiment_count;
}			options = {"micro", NULL, "test/golden", NULL, NULL, 11, 200e6, 3, NULL, 0};

static leg *legs;
static size_t leg_count;
static const char *loading_flags;
static FILE *out;
static bool refused_any;

static void
die(const char *why)
{
	fprintf(stderr, "bench: %s\n", why);
	exit(1);
}

static double
now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double) t.tv_sec * 1e9 + (double) t.tv_nsec;
}

/* ------------------------------------------------------------------ what contenders may call */

static bool
wants(const char *experiment)
{
	for (int i = 0; i < options.experiment_count; i++)
		if (strcmp(options.experiments[i], experiment) == 0)
			return true;
	return options.experiment_count == 0;
}

static void
add(const bench_leg *is)
{
	leg		   *one;

	if (leg_count == MAX_LEGS)
		die("too many legs");
	if (is->check == NULL && !is->expects)
		die("a leg has no golden gate");
	one = &legs[leg_count++];
	memset(one, 0, sizeof *one);
	one->is = *is;
	one->flags = loading_flags;
	one->allocations = -1;
}

static int
hex_digit(int c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Lines that start with # do not count. The answer stays until the process ends. */
static const uint8_t *
golden(const char *file, unsigned line, unsigned field, size_t *length)
{
	char		path[4096];
	char	   *text = NULL;
	size_t		room = 0;
	FILE	   *f;
	uint8_t    *bytes = NULL;

	snprintf(path, sizeof path, "%s/%s", options.golden, file);
	f = fopen(path, "r");
	if (f == NULL)
		die("a golden file is missing");
	while (getline(&text, &room, f) > 0)
	{
		char	   *from = text;

		if (text[0] == '#' || line-- > 0)
			continue;
		for (unsigned i = 0; i < field && from != NULL; i++)
			from = (from = strchr(from, '\t')) != NULL ? from + 1 : NULL;
		if (from == NULL)
			break;
		bytes = malloc(strlen(from) / 2 + 1);
		for (*length = 0; hex_digit(from[0]) >= 0 && hex_digit(from[1]) >= 0; from += 2)
			bytes[(*length)++] = (uint8_t) (hex_digit(from[0]) << 4 | hex_digit(from[1]));
		break;
	}
	free(text);
	fclose(f);
	return bytes;
}

/* ------------------------------------------------------------------ loading */

/* object.so=flags */
static void
load(char *argument, const bench_host *host)
{
	char	   *flags = strchr(argument, '=');
	void	   *object;
	bench_register_function enter;

	if (flags == NULL)
		die("usage: host [options] object.so=flags … [-- experiment …]");
	*flags++ = '\0';
	object = dlopen(argument, RTLD_NOW | RTLD_LOCAL);
	if (object == NULL)
		die(dlerror());
	*(void **) &enter = dlsym(object, "bench_register");
	if (enter == NULL)
		die("an object has no bench_register()");
	loading_flags = flags;
	enter(host);
}

static bool
same_group(const leg *a, const leg *b)
{
	return strcmp(a->is.experiment, b->is.experiment) == 0 && strcmp(a->is.operation, b->is.operation) == 0 &&
		strcmp(a->is.corpus, b->is.corpus) == 0;
}

/* Every leg proves itself; one that can't is left out, and the run will fail. */
static void
pass_golden_gate(void)
{
	for (size_t i = 0; i < leg_count; i++)
	{
		leg		   *one = &legs[i];
		bool		good = true;

		if (one->is.check != NULL)
			good = one->is.check(one->is.state);
		if (good && one->is.expects)
			good = one->is.run(one->is.state, BENCH_BUFFERS) == one->is.expect;
		if (good)
			continue;
		fprintf(stderr, "bench: WRONG ANSWER, no figure: %s, %s, %s: %s (%s)\n", one->is.experiment,
				one->is.operation, one->is.corpus, one->is.contender, one->flags);
		one->refused = refused_any = true;
	}
}

/* ------------------------------------------------------------------ allocations */

static void
count_allocations(const char *file)
{
	uint64_t	(*allocations) (void);
	FILE	   *f = fopen(file, "w");

	*(void **) &allocations = dlsym(RTLD_DEFAULT, "bench_allocations");
	if (f == NULL || allocations == NULL)
		die("--count needs a file to write and count.so preloaded");
	for (size_t i = 0; i < leg_count; i++)
	{
		uint64_t	before;

		/* the first runs may fill caches of the contender's own; what counts is the steady state */
		legs[i].is.run(legs[i].is.state, BENCH_BUFFERS * 2);
		before = allocations();
		legs[i].is.run(legs[i].is.state, BENCH_BUFFERS * 2);
		fprintf(f, "%.4f\n", (double) (allocations() - before) / (BENCH_BUFFERS * 2));
	}
	fclose(f);
}

static void
read_counts(const char *file)
{
	FILE	   *f = fopen(file, "r");

	if (f == NULL)
		die("the counts can't be read");
	for (size_t i = 0; i < leg_count; i++)
		if (fscanf(f, "%lf", &legs[i].allocations) != 1)
			die("the counts are of another run");
	fclose(f);
}

/* ------------------------------------------------------------------ timing */

/* Work that is the same in every pass: arithmetic in a chain, and copies within the first cache. */
static BENCH_NOINLINE uint64_t
control_work(size_t n)
{
	static uint8_t from[16384];
	static uint8_t to[16384];
	uint64_t	f = n;

	for (size_t i = 0; i < n; i++)
	{
		memcpy(to, from, sizeof to);
		bench_clobber(to);
		for (size_t j = 0; j < sizeof to; j += 8)
			f = bench_fold(f, kiln_load_u64(to + j)) * 3;
		from[i % sizeof from] = (uint8_t) f;
	}
	return f;
}

static volatile uint64_t swallowed;

static int
compare_doubles(const void *a, const void *b)
{
	double		x = *(const double *) a;
	double		y = *(const double *) b;

	return (x > y) - (x < y);
}

/* What share of the values is below the answer: 0.5 is the median. */
static double
quantile(const double *values, int n, double share)
{
	double		sorted[MAX_ROUNDS];
	double		at = share * (n - 1);
	int			low = (int) at;

	memcpy(sorted, values, (size_t) n * sizeof *values);
	qsort(sorted, (size_t) n, sizeof *sorted, compare_doubles);
	if (low + 1 >= n)
		return sorted[n - 1];
	return sorted[low] + (at - low) * (sorted[low + 1] - sorted[low]);
}

static double
control_leg(void)
{
	static size_t n;
	double		values[CONTROLS];

	for (size_t tried = 16; n == 0; tried *= 2)
	{
		double		begun = now();
		double		took;

		swallowed += control_work(tried);
		took = now() - begun;
		if (took > options.leg_ns / 4)
			n = (size_t) ((double) tried * options.leg_ns / took) + 1;
	}
	for (int i = 0; i < CONTROLS; i++)
	{
		double		begun = now();

		swallowed += control_work(n);
		values[i] = (now() - begun) / (double) n;
	}
	return quantile(values, CONTROLS, 0.5);
}

static double
time_leg(leg *one)
{
	double		begun = now();

	swallowed += one->is.run(one->is.state, one->n);
	return now() - begun;
}

/* Warm the leg up, and find how many operations take leg_ns. */
static void
calibrate(leg *one)
{
	double		took = 0;

	for (one->n = 1; took < options.leg_ns / 8 && one->n < (SIZE_MAX >> 2); one->n *= 2)
		took = time_leg(one);
	one->n /= 2;
	one->n = (size_t) ((double) one->n * options.leg_ns * 1.02 / took) + 1;
	if (one->n > BENCH_BUFFERS)
		one->n = (one->n + BENCH_BUFFERS - 1) / BENCH_BUFFERS * BENCH_BUFFERS;
}

/* One field of a line, quoted if it has a comma. */
static void
print_text(const char *text, const char *suffix)
{
	bool		quoted = strchr(text, ',') != NULL;

	fprintf(out, quoted ? "\"%s%s\"," : "%s%s,", text, suffix);
}

static void
print_row(const leg *one, int pass, const char *round, double value)
{
	if (out == NULL)
		return;
	print_text(options.part, "");
	print_text(one->is.experiment, "");
	print_text(one->is.operation, "");
	print_text(one->is.corpus, "");
	print_text(one->is.contender, one->twin ? " twin" : "");
	print_text(one->is.checks, "");
	print_text(one->flags, "");
	fprintf(out, "%d,%s,%.6g,ns,", pass, round, value);
	if (one->allocations >= 0)
		fprintf(out, "%.4g", one->allocations);
	fputc(',', out);
	if (one->is.bytes > 0)
		fprintf(out, "%.6g", one->is.bytes);
	fputc('\n', out);
}

static void
print_control(const leg *first, int pass, const char *round, double value)
{
	leg			control = {.is = first->is, .flags = "-O2", .allocations = -1};

	control.is.contender = "control";
	control.is.checks = "none";
	control.is.bytes = 0;
	print_row(&control, pass, round, value);
}

static void
show_group(leg **group, size_t count, double before, double after)
{
	printf("%s  %s  %s   (control %.4g, %.4g)\n", group[0]->is.experiment, group[0]->is.operation,
		   group[0]->is.corpus, before, after);
	for (size_t i = 0; i < count; i++)
		printf("  %12.2f ns  min %10.2f  p25-p75 %10.2f %10.2f  x%-7.2f %s%s [%s] %s\n",
			   quantile(group[i]->values, options.rounds, 0.5), quantile(group[i]->values, options.rounds, 0),
			   quantile(group[i]->values, options.rounds, 0.25), quantile(group[i]->values, options.rounds, 0.75),
			   quantile(group[i]->values, options.rounds, 0.5) / quantile(group[0]->values, options.rounds, 0.5),
			   group[i]->is.contender, group[i]->twin ? " twin" : "", group[i]->is.checks, group[i]->flags);
	fflush(stdout);
}

/* One pass over a group; false if its controls differ too much. */
static bool
run_pass(leg **group, size_t count, int pass)
{
	double		before = control_leg();
	double		after;

	for (size_t i = 0; i < count; i++)
		calibrate(group[i]);
	for (int round = 0; round < options.rounds; round++)
		for (size_t i = 0; i < count; i++)
		{
			size_t		turn = round % 2 == 0 ? i : count - 1 - i;
			leg		   *one = group[(turn + (size_t) round) % count];

			one->values[round] = time_leg(one) / (double) one->n;
		}
	after = control_leg();

	print_control(group[0], pass, "first", before);
	for (size_t i = 0; i < count; i++)
		for (int round = 0; round < options.rounds; round++)
		{
			char		number[16];

			snprintf(number, sizeof number, "%d", round + 1);
			print_row(group[i], pass, number, group[i]->values[round]);
		}
	print_control(group[0], pass, "last", after);
	if (out != NULL)
		fflush(out);
	show_group(group, count, before, after);
	return after < before * (1 + CONTROL_BOUND) && before < after * (1 + CONTROL_BOUND);
}

/* All legs like the first, with a twin of it; pass after pass until one is valid. */
static void
run_group(size_t first)
{
	leg		   *group[MAX_LEGS];
	size_t		count = 0;
	leg			twin = legs[first];

	for (size_t i = first; i < leg_count; i++)
		if (!legs[i].refused && same_group(&legs[first], &legs[i]))
			group[count++] = &legs[i];
	if (count > 1)
	{
		twin.twin = true;
		group[count++] = &twin;
	}
	for (int pass = 1; pass <= options.passes; pass++)
	{
		if (run_pass(group, count, pass))
			return;
		printf("  INVALID: the controls of this pass differ by more than 5 %%\n");
	}
}

static void
run_groups(void)
{
	for (size_t i = 0; i < leg_count; i++)
	{
		bool		seen = legs[i].refused;

		for (size_t j = 0; j < i && !seen; j++)
			seen = !legs[j].refused && same_group(&legs[i], &legs[j]);
		if (!seen)
			run_group(i);
	}
}

/* ------------------------------------------------------------------ main */

/* Take the option at argv[i] with its value; false if it is none. */
static bool
take_option(char **argv, int i)
{
	const char *name = argv[i];
	const char *value = argv[i + 1];

	if (strncmp(name, "--", 2) != 0)
		return false;
	if (value == NULL)
		die("an option has no value");
	if (strcmp(name, "--part") == 0)
		options.part = value;
	else if (strcmp(name, "--out") == 0)
		options.out = value;
	else if (strcmp(name, "--golden") == 0)
		options.golden = value;
	else if (strcmp(name, "--count") == 0)
		options.count = value;
	else if (strcmp(name, "--counts") == 0)
		options.counts = value;
	else if (strcmp(name, "--rounds") == 0)
		options.rounds = atoi(value);
	else if (strcmp(name, "--leg-ms") == 0)
		options.leg_ns = atof(value) * 1e6;
	else if (strcmp(name, "--passes") == 0)
		options.passes = atoi(value);
	else
		die("unknown option");
	return true;
}

int
main(int argc, char **argv)
{
	bench_host	host = {NULL, wants, add, golden, die, bench_room};
	int			objects_from;
	int			objects_to;
	int			i;

	for (i = 1; i < argc && strcmp(argv[i], "--") != 0 && take_option(argv, i); i += 2)
		;
	objects_from = objects_to = i;
	while (objects_to < argc && strcmp(argv[objects_to], "--") != 0)
		objects_to++;
	if (objects_to < argc)
	{
		options.experiments = argv + objects_to + 1;
		options.experiment_count = argc - objects_to - 1;
	}
	if (options.rounds < 1 || options.rounds > MAX_ROUNDS)
		die("rounds must be 1 to 101");

	host.corpus = bench_corpus_get();
	legs = calloc(MAX_LEGS, sizeof *legs);
	if (legs == NULL)
		die("out of memory");
	for (i = objects_from; i < objects_to; i++)
		load(argv[i], &host);
	if (options.experiment_count > 0 && leg_count == 0)
		die("there is no such experiment");
	if (options.count != NULL)
	{
		count_allocations(options.count);
		return 0;
	}
	pass_golden_gate();
	if (options.counts != NULL)
		read_counts(options.counts);
	if (options.out != NULL && (out = fopen(options.out, "a")) == NULL)
		die("the results can't be written");
	run_groups();
	return refused_any ? 1 : 0;
}
