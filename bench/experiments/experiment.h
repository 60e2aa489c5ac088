/*
 * What the experiments share: the harness's handle, adding a leg in a line, room for output.
 *
 * Each experiment is a question that a format or a codec has to answer. "here" in a contender's name marks what Kiln does.
 */
#ifndef BENCH_EXPERIMENT_H
#define BENCH_EXPERIMENT_H

#include <stdio.h>

#include "message.h"

#define EACH_BUFFER(i)	((i) & (BENCH_BUFFERS - 1))

static const bench_host *host;
static const bench_corpus *corpus;

/* A group's coordinates, so that adding a leg is one line. */
typedef struct group
{
	const char *experiment;
	const char *operation;
	const char *corpus;
	void	   *state;
} group;

static inline void
add_checked(const group *g, const char *contender, const char *checks,
			uint64_t (*run) (void *, size_t), bool (*check) (void *), double bytes)
{
	bench_leg	leg = {g->experiment, g->operation, g->corpus, contender, checks, run, g->state, check, false, 0, bytes};

	host->add(&leg);
}

static inline void
add_expected(const group *g, const char *contender, const char *checks,
			 uint64_t (*run) (void *, size_t), uint64_t expect, double bytes)
{
	bench_leg	leg = {g->experiment, g->operation, g->corpus, contender, checks, run, g->state, NULL, true, expect, bytes};

	host->add(&leg);
}

static inline kiln_schema *
parse(const char *text)
{
	kiln_schema *schema;
	kiln_error	error;

	if (!kiln_schema_parse(text, strlen(text), NULL, &schema, &error))
		host->die(text);
	return schema;
}

/* Zeroed room, a large one at the start of a huge page. */
static inline void *
take(size_t n)
{
	size_t		whole = (n + 63) & ~(size_t) 63;
	void	   *memory;

	if (n >= 32 * 1024)
		return host->room(n);
	memory = aligned_alloc(64, whole);
	if (memory == NULL)
		host->die("out of memory");
	memset(memory, 0, whole);
	return memory;
}

#endif							/* BENCH_EXPERIMENT_H */
