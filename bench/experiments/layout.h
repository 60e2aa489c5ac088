/*
 * Two or more layouts of the same values, written and read by hand as well as can be: the legs of each, and their gate.
 */
#ifndef BENCH_LAYOUT_H
#define BENCH_LAYOUT_H

#include "experiment.h"

#define ROOM		65536

static uint8_t *room;

/*
 * A layout is write_NAME(i, to), which encodes value i and returns the byte after it, and read_NAME(p), which folds
 * all of it. The gate: what was written reads as source_EXPERIMENT(i) says.
 */
#define LAYOUT(experiment, name) \
static uint8_t *encoded_##name[BENCH_BUFFERS]; \
\
static uint64_t \
run_write_##name(void *state, size_t n) \
{ \
	uint64_t	f = 0; \
\
	(void) state; \
	for (size_t i = 0; i < n; i++) \
	{ \
		f += (uint64_t) (write_##name(EACH_BUFFER(i), room) - room); \
		bench_clobber(room); \
	} \
	return f; \
} \
\
static uint64_t \
run_read_##name(void *state, size_t n) \
{ \
	uint64_t	f = 0; \
\
	(void) state; \
	for (size_t i = 0; i < n; i++) \
		f = bench_fold(f, read_##name(encoded_##name[EACH_BUFFER(i)])); \
	return f; \
} \
\
static bool \
check_##name(void *state) \
{ \
	(void) state; \
	for (size_t i = 0; i < BENCH_BUFFERS; i++) \
	{ \
		memset(room, 0xee, ROOM); \
		write_##name(i, room); \
		if (read_##name(room) != source_##experiment(i) || \
			read_##name(encoded_##name[i]) != source_##experiment(i)) \
			return false; \
	} \
	return true; \
} \
\
static double \
encode_##name(void) \
{ \
	double		bytes = 0; \
\
	for (size_t i = 0; i < BENCH_BUFFERS; i++) \
	{ \
		size_t		n = (size_t) (write_##name(i, room) - room); \
\
		encoded_##name[i] = take(n + 16); \
		memcpy(encoded_##name[i], room, n); \
		bytes += (double) n / BENCH_BUFFERS; \
	} \
	return bytes; \
}

#define ADD_LAYOUT(experiment, corpus_name, name, title) \
do { \
	double		bytes = encode_##name(); \
	group		w = {experiment, "write", corpus_name, NULL}; \
	group		r = {experiment, "read", corpus_name, NULL}; \
	\
	add_checked(&w, title, "none", run_write_##name, check_##name, bytes); \
	add_checked(&r, title, "none", run_read_##name, check_##name, bytes); \
} while (0)

/* One more way to read a layout: a leg of its own, with its own source. */
#define READING(experiment, name, layout) \
static uint64_t \
run_##name(void *state, size_t n) \
{ \
	uint64_t	f = 0; \
\
	(void) state; \
	for (size_t i = 0; i < n; i++) \
		f = bench_fold(f, name(encoded_##layout[EACH_BUFFER(i)])); \
	return f; \
} \
\
static bool \
check_##name(void *state) \
{ \
	(void) state; \
	for (size_t i = 0; i < BENCH_BUFFERS; i++) \
		if (name(encoded_##layout[i]) != source_##experiment(i)) \
			return false; \
	return true; \
}

#define ADD_READING(experiment, operation, corpus_name, name, title, bytes) \
do { \
	group		r = {experiment, operation, corpus_name, NULL}; \
	\
	add_checked(&r, title, "none", run_##name, check_##name, bytes); \
} while (0)

#endif							/* BENCH_LAYOUT_H */
