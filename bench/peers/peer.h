/*
 * What the contenders share: scenarios by number, the loops of their legs, and the golden gate.
 *
 * A contender gives functions write_SCENARIO(i), which encodes variant i and returns where the bytes are, and readers
 * READER_SCENARIO(bytes), which fold what they read. Both are inlined into the loops here, so that nobody pays for a call.
 * The gate: what a writer wrote must read back, by the contender's safe reader, as the source folds.
 */
#ifndef BENCH_PEER_H
#define BENCH_PEER_H

#include <stdio.h>
#include <stdlib.h>

#include "bench.h"

#define PEER_UNUSED __attribute__((unused))

static const bench_host *host;
static const bench_corpus *corpus;

typedef struct encoded
{
	const uint8_t *data;
	size_t		n;
} encoded;

/* X(name, experiment, corpus, variants) */
#define SCENARIOS(X) \
	X(message, "message", "message", BENCH_BUFFERS) \
	X(batch100, "batch100", "batch100", BENCH_BUFFERS) \
	X(bank1, "bank", "bank/1", BENCH_BUFFERS) \
	X(bank10, "bank", "bank/10", BENCH_BUFFERS) \
	X(bank100, "bank", "bank/100", BENCH_BUFFERS) \
	X(frame10, "frame", "frame/10", BENCH_BUFFERS) \
	X(frame500, "frame", "frame/500", BENCH_BUFFERS) \
	X(telemetry, "telemetry", "telemetry", BENCH_BUFFERS) \
	X(chunk64, "chunk", "chunk/64", BENCH_BUFFERS) \
	X(chunk65536, "chunk", "chunk/65536", BENCH_LARGE) \
	X(small, "tensor", "f64x10k", BENCH_LARGE) \
	X(large, "tensor", "f64x262k", BENCH_HUGE)

/* X(name, type): the scenarios' root types, by the names that they have in each library's schema. */
#define PEER_ROOTS(X) \
	X(message, Message) \
	X(batch100, Batch) \
	X(bank1, Account) \
	X(bank10, Account) \
	X(bank100, Account) \
	X(frame10, Frame) \
	X(frame500, Frame) \
	X(telemetry, Telemetry) \
	X(chunk64, Chunk) \
	X(chunk65536, Chunk) \
	X(small, Numbers) \
	X(large, Numbers)

#define X(name, experiment, corpus, variants) \
enum { variants_##name = variants }; \
static encoded stored_##name[variants] PEER_UNUSED; \
static const char *const experiment_##name PEER_UNUSED = experiment; \
static const char *const corpus_##name PEER_UNUSED = corpus;
SCENARIOS(X)
#undef X

/* ------------------------------------------------------------------ what must be read */

static inline uint64_t PEER_UNUSED
fold_numbers(uint64_t f, const double *values, size_t n)
{
	for (size_t i = 0; i < n; i++)
		f = bench_fold_f64(f, values[i]);
	return f;
}

static inline uint64_t PEER_UNUSED
source_message(size_t i)
{
	return bench_fold_message(0, &corpus->message[i]);
}

static inline uint64_t PEER_UNUSED
source_batch100(size_t i)
{
	uint64_t	f = 0;

	for (size_t j = 0; j < BENCH_BATCH; j++)
		f = bench_fold_message(f, &corpus->batch[i][j]);
	return f;
}

static inline uint64_t PEER_UNUSED
source_frame(size_t i, size_t n)
{
	uint64_t	f = 0;

	for (size_t j = 0; j < n; j++)
		f = bench_fold_entity(f, &corpus->frame[i][j]);
	return f;
}

#define SOURCE(name, expression) \
static inline uint64_t PEER_UNUSED \
source_##name(size_t i) \
{ \
	return expression; \
}

SOURCE(bank1, bench_fold_account(0, &corpus->bank1[i]))
SOURCE(bank10, bench_fold_account(0, &corpus->bank10[i]))
SOURCE(bank100, bench_fold_account(0, &corpus->bank100[i]))
SOURCE(frame10, source_frame(i, 10))
SOURCE(frame500, source_frame(i, 500))
SOURCE(telemetry, bench_fold_telemetry(0, &corpus->telemetry[i]))
SOURCE(chunk64, bench_fold_chunk(0, &corpus->chunk64[i]))
SOURCE(chunk65536, bench_fold_chunk(0, &corpus->chunk65536[i]))
SOURCE(small, fold_numbers(0, corpus->f64_small[i], BENCH_F64_SMALL))
SOURCE(large, fold_numbers(0, corpus->f64_large[i], BENCH_F64_LARGE))

/* The one field of each scenario that "read one" reads. */
SOURCE(one_message, (uint64_t) corpus->message[i].id)
SOURCE(one_batch100, (uint64_t) corpus->batch[i][50].id)
SOURCE(one_bank1, (uint64_t) corpus->bank1[i].balance)
SOURCE(one_bank10, (uint64_t) corpus->bank10[i].balance)
SOURCE(one_bank100, (uint64_t) corpus->bank100[i].balance)
SOURCE(one_frame10, bench_fold_f32(0, corpus->frame[i][5].px))
SOURCE(one_frame500, bench_fold_f32(0, corpus->frame[i][250].px))
SOURCE(one_telemetry, corpus->telemetry[i].status)
SOURCE(one_chunk64, corpus->chunk64[i].sequence)
SOURCE(one_chunk65536, corpus->chunk65536[i].sequence)
SOURCE(one_small, bench_fold_f64(0, corpus->f64_small[i][BENCH_F64_SMALL / 2]))
SOURCE(one_large, bench_fold_f64(0, corpus->f64_large[i][BENCH_F64_LARGE / 2]))

/* ------------------------------------------------------------------ legs */

/* A copy of bytes that stays, at an address that any library is content with. */
static inline encoded PEER_UNUSED
keep(encoded e)
{
	size_t		whole = (e.n + 64 + 63) & ~(size_t) 63;
	uint8_t    *copy = (uint8_t *) (whole < 32 * 1024 ? aligned_alloc(64, whole) : host->room(whole));
	encoded		kept = {copy, e.n};

	memset(copy, 0, whole);
	memcpy(copy, e.data, e.n);
	return kept;
}

static inline void PEER_UNUSED
add_leg(const char *experiment, const char *operation, const char *corpus_name, const char *contender, const char *checks,
		uint64_t (*run) (void *, size_t), bool (*check) (void *), double bytes)
{
	bench_leg	leg = {experiment, operation, corpus_name, contender, checks, run, NULL, check, false, 0, bytes};

	host->add(&leg);
}

/* The writer write_NAME, checked by the reader reader_SCENARIO. NAME is SCENARIO or another way to write it. */
#define PEER_WRITER(name, scenario, reader) \
static uint64_t \
run_write_##name(void *state, size_t n) \
{ \
	uint64_t	f = 0; \
\
	(void) state; \
	for (size_t i = 0; i < n; i++) \
	{ \
		encoded		e = write_##name(i % variants_##scenario); \
\
		bench_clobber(e.data); \
		f = bench_fold(f, e.n); \
	} \
	return f; \
} \
\
static bool \
check_write_##name(void *state) \
{ \
	(void) state; \
	for (size_t i = 0; i < variants_##scenario; i++) \
	{ \
		encoded		e = keep(write_##name(i)); \
		bool		good = reader##_##scenario(e) == source_##scenario(i); \
\
		free((void *) e.data); \
		if (!good) \
			return false; \
	} \
	return true; \
}

/* The reader reader_SCENARIO over stored bytes; what is the prefix of the source fold it must give. */
#define PEER_READER_OF(reader, scenario, what) \
static uint64_t \
run_##reader##_##scenario(void *state, size_t n) \
{ \
	uint64_t	f = 0; \
\
	(void) state; \
	for (size_t i = 0; i < n; i++) \
		f = bench_fold(f, reader##_##scenario(stored_##scenario[i % variants_##scenario])); \
	return f; \
} \
\
static bool \
check_##reader##_##scenario(void *state) \
{ \
	(void) state; \
	for (size_t i = 0; i < variants_##scenario; i++) \
		if (reader##_##scenario(stored_##scenario[i]) != what##scenario(i)) \
			return false; \
	return true; \
}

#define PEER_READER(reader, scenario)	PEER_READER_OF(reader, scenario, source_)
#define PEER_ONE(reader, scenario)		PEER_READER_OF(reader, scenario, source_one_)

/* A check alone: it must say yes to what is stored and no to the same bytes cut off. */
#define PEER_VERIFIER(reader, scenario) \
static uint64_t \
run_##reader##_##scenario(void *state, size_t n) \
{ \
	uint64_t	f = 0; \
\
	(void) state; \
	for (size_t i = 0; i < n; i++) \
		f += reader##_##scenario(stored_##scenario[i % variants_##scenario]); \
	return f; \
} \
\
static bool \
check_##reader##_##scenario(void *state) \
{ \
	(void) state; \
	for (size_t i = 0; i < variants_##scenario; i++) \
	{ \
		encoded		cut = {stored_##scenario[i].data, stored_##scenario[i].n - 9}; \
\
		if (reader##_##scenario(stored_##scenario[i]) != 1 || reader##_##scenario(cut) != 0) \
			return false; \
	} \
	return true; \
}

/* Fill stored_SCENARIO from write_SCENARIO; returns the bytes on average. */
#define PEER_STORE(scenario) \
static double \
store_##scenario(void) \
{ \
	double		bytes = 0; \
\
	for (size_t i = 0; i < variants_##scenario; i++) \
	{ \
		stored_##scenario[i] = keep(write_##scenario(i)); \
		bytes += (double) stored_##scenario[i].n / variants_##scenario; \
	} \
	return bytes; \
}

/* The writers of what is also written into a batch, and of what is handed over. */
#define PEER_FORMS(reader) \
PEER_WRITER(batched_message, message, reader) \
PEER_WRITER(batched_bank10, bank10, reader) \
PEER_WRITER(batched_telemetry, telemetry, reader) \
PEER_WRITER(owned_message, message, reader) \
PEER_WRITER(owned_bank10, bank10, reader) \
PEER_WRITER(owned_telemetry, telemetry, reader)

/* ---- registration: run_NAME and check_NAME under a contender's name */

#define ADD(operation, name, scenario, contender, checks, bytes) \
	add_leg(experiment_##scenario, operation, corpus_##scenario, contender, checks, run_##name, check_##name, bytes)

#define PEER_ADD_FORMS(scenario, contender, checks) \
do { \
	ADD("write batched", write_batched_##scenario, scenario, contender, checks, 0); \
	ADD("write owned", write_owned_##scenario, scenario, contender, checks, 0); \
} while (0)

/*
 * All that is wanted of a contender that has every scenario. It defines ADD_ALL(scenario), which adds a scenario's
 * writer and readers; checks are its writers'. stream is what its writers of a bank are called whose count is not
 * known until the end: stream, with 1, 10 or 100 behind, or bank where they are the same.
 */
#define PEER_ADD_SCENARIOS(contender, checks, stream) \
do { \
	if (host->wants("message")) \
	{ \
		ADD_ALL(message); \
		PEER_ADD_FORMS(message, contender, checks); \
	} \
	if (host->wants("batch100")) \
		ADD_ALL(batch100); \
	if (host->wants("bank")) \
	{ \
		ADD_ALL(bank1); \
		ADD_ALL(bank10); \
		ADD_ALL(bank100); \
		PEER_ADD_FORMS(bank10, contender, checks); \
		ADD("write stream", write_##stream##1, bank1, contender, checks, 0); \
		ADD("write stream", write_##stream##10, bank10, contender, checks, 0); \
		ADD("write stream", write_##stream##100, bank100, contender, checks, 0); \
	} \
	if (host->wants("frame")) \
	{ \
		ADD_ALL(frame10); \
		ADD_ALL(frame500); \
	} \
	if (host->wants("telemetry")) \
	{ \
		ADD_ALL(telemetry); \
		PEER_ADD_FORMS(telemetry, contender, checks); \
	} \
	if (host->wants("chunk")) \
	{ \
		ADD_ALL(chunk64); \
		ADD_ALL(chunk65536); \
	} \
	if (host->wants("tensor")) \
	{ \
		ADD_ALL(small); \
		ADD_ALL(large); \
	} \
} while (0)

#endif							/* BENCH_PEER_H */
