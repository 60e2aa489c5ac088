/*
 * What an experiment and the harness know of each other.
 *
 * Contenders are shared objects, built once for each set of compiler flags and loaded side by side into one process,
 * so that builds take turns with one another inside each round as contenders do. A shared object exports one
 * function, bench_register(), which adds a leg for each thing that it can do. Legs with the same experiment, operation
 * and corpus are a group: they are timed together, and only they are ever compared.
 *
 * METHOD.md says how legs are timed.
 */
#ifndef BENCH_H
#define BENCH_H

#include "corpus.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One timed thing. All strings stay; none has a double quote. */
typedef struct bench_leg
{
	const char *experiment;		/* "E07", "bank" */
	const char *operation;		/* "write" */
	const char *corpus;			/* "bank/10" */
	const char *contender;		/* "kiln view" */
	const char *checks;			/* what it checks of what it reads or writes: "bounds UTF-8", "none" */

	/* Do the operation n times, on variant 0, 1, …, and fold what comes of it. */
	uint64_t	(*run) (void *state, size_t n);
	void	   *state;

	/* Golden gate: at least one of the two. A leg that fails it gets no figure, and the run fails. */
	bool		(*check) (void *state);	/* are the bytes right? */
	bool		expects;		/* run(state, BENCH_BUFFERS) must return expect */
	uint64_t	expect;

	double		bytes;			/* of one encoded value on average, 0 where that says nothing */
} bench_leg;

typedef struct bench_host
{
	const bench_corpus *corpus;
	bool		(*wants) (const char *experiment);
	void		(*add) (const bench_leg *leg);
	/* Line number line (from 0) of a golden file, its tab-separated field number field, decoded from hex; NULL if there is none. */
	const uint8_t *(*golden) (const char *file, unsigned line, unsigned field, size_t *length);
	void		(*die) (const char *why);
	void	   *(*room) (size_t n);	/* bench_room() */
} bench_host;

typedef void (*bench_register_function) (const bench_host *host);

#if defined(__GNUC__)
#define BENCH_EXPORT __attribute__((visibility("default"), used))
#define BENCH_NOINLINE __attribute__((noinline))
#else
#define BENCH_EXPORT
#define BENCH_NOINLINE
#endif

BENCH_EXPORT void bench_register(const bench_host *host);

/* Pretend to read and write all memory, so that what was written counts as wanted. */
static inline void
bench_clobber(const void *p)
{
#if defined(__GNUC__)
	__asm__ volatile("" : : "r"(p) : "memory");
#else
	static const void *volatile seen;

	seen = p;
#endif
}

#ifdef __cplusplus
}
#endif

#endif							/* BENCH_H */
