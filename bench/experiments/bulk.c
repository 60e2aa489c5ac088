/*
 * Experiments on the clock and on large values.
 *
 *   E00  the timer's floor
 *   E07  one copy for 10,000 f64 against a store for each
 *   E13  a directory of 262,144 f64 (2 MiB) against memcpy of its bytes
 *   E14  compression of small and large values
 */
#define _GNU_SOURCE
#include <lz4.h>
#include <time.h>
#include <zstd.h>

#include "experiment.h"

/* ------------------------------------------------------------------ E00 */

static uint64_t
run_clock(clockid_t clock, size_t n)
{
	uint64_t	f = 0;
	struct timespec t;

	for (size_t i = 0; i < n; i++)
	{
		if (clock_gettime(clock, &t) != 0)
			return ~f;
		f += t.tv_nsec < 1000000000 ? 1 : 2;
	}
	return f;
}

static uint64_t
run_monotonic(void *state, size_t n)
{
	(void) state;
	return run_clock(CLOCK_MONOTONIC, n);
}

static uint64_t
run_thread(void *state, size_t n)
{
	(void) state;
	return run_clock(CLOCK_THREAD_CPUTIME_ID, n);
}

/* What the harness itself costs: a loop that folds a number. */
static uint64_t
run_nothing(void *state, size_t n)
{
	uint64_t	f = 0;

	(void) state;
	for (size_t i = 0; i < n; i++)
	{
		bench_clobber(&f);
		f++;
	}
	return f;
}

/* ------------------------------------------------------------------ E07: a list of 10,000 f64 */

static uint8_t *list_room;
static kiln_writer writer;
static kiln_schema *list_schema;

#define LIST_BYTES	(4 + 8 * (size_t) BENCH_F64_SMALL)

static const double *
numbers_at(size_t i)
{
	return corpus->f64_small[i % BENCH_LARGE];
}

static void
list_copy(const double *from)
{
	writer.pos = list_room;
	if (!kiln_writer_reserve(&writer, LIST_BYTES))
		abort();
	kiln_writer_u32(&writer, BENCH_F64_SMALL);
	kiln_writer_bytes(&writer, from, 8 * (size_t) BENCH_F64_SMALL);
}

static void
list_checked_stores(const double *from)
{
	writer.pos = list_room;
	if (!kiln_writer_reserve(&writer, 4))
		abort();
	kiln_writer_u32(&writer, BENCH_F64_SMALL);
	for (size_t i = 0; i < BENCH_F64_SMALL; i++)
	{
		if (!kiln_writer_reserve(&writer, 8))
			abort();
		kiln_writer_f64(&writer, from[i]);
	}
}

static void
list_stores(const double *from)
{
	uint8_t    *p;

	writer.pos = list_room;
	if (!kiln_writer_reserve(&writer, LIST_BYTES))
		abort();
	p = kiln_put_u32(writer.pos, BENCH_F64_SMALL);
	for (size_t i = 0; i < BENCH_F64_SMALL; i++)
		p = kiln_put_f64(p, from[i]);
	writer.pos = p;
}

static void
list_memcpy(const double *from)
{
	kiln_store_u32(list_room, BENCH_F64_SMALL);
	memcpy(list_room + 4, from, 8 * (size_t) BENCH_F64_SMALL);
	writer.pos = list_room + LIST_BYTES;
}

/* A leg from a function that writes the list, and the gate: it must validate and hold the very numbers. */
#define LIST_LEG(name) \
static uint64_t \
run_##name(void *state, size_t n) \
{ \
	(void) state; \
	for (size_t i = 0; i < n; i++) \
	{ \
		name(numbers_at(i)); \
		bench_clobber(list_room); \
	} \
	return n; \
} \
\
static bool \
check_##name(void *state) \
{ \
	(void) state; \
	for (size_t i = 0; i < BENCH_LARGE; i++) \
	{ \
		memset(list_room, 0xee, LIST_BYTES); \
		name(numbers_at(i)); \
		if (!kiln_validate(list_schema->root, list_room, kiln_writer_length(&writer), NULL, NULL) || \
			kiln_load_u32(list_room) != BENCH_F64_SMALL || \
			memcmp(list_room + 4, numbers_at(i), 8 * (size_t) BENCH_F64_SMALL) != 0) \
			return false; \
	} \
	return true; \
}

LIST_LEG(list_copy)
LIST_LEG(list_checked_stores)
LIST_LEG(list_stores)
LIST_LEG(list_memcpy)

/* ---- the same numbers as a directory */

static uint8_t *directory_room;

#define SMALL_DIRECTORY_BYTES	(192 + 8 * (size_t) BENCH_F64_SMALL)

/* Returns the directory's bytes. */
static uint64_t
build_directory(const double *from, uint64_t count)
{
	kiln_tensor tensor = {.name = "", .dtype = KILN_DTYPE_F64, .rank = 1, .shape = {count}, .length = 8 * count,
	.data = (const uint8_t *) from};
	uint64_t	total;

	if (!kiln_directory_layout(&tensor, 1, &total, NULL))
		abort();
	kiln_directory_build(&tensor, 1, total, directory_room);
	return total;
}

static uint64_t
run_small_directory(void *state, size_t n)
{
	(void) state;
	for (size_t i = 0; i < n; i++)
	{
		build_directory(numbers_at(i), BENCH_F64_SMALL);
		bench_clobber(directory_room);
	}
	return n;
}

static uint64_t
run_small_memcpy(void *state, size_t n)
{
	(void) state;
	for (size_t i = 0; i < n; i++)
	{
		memcpy(directory_room + 192, numbers_at(i), 8 * (size_t) BENCH_F64_SMALL);
		bench_clobber(directory_room);
	}
	return n;
}

/*
 * A directory of that many numbers: the golden file (in that line) has the head of the one of i + 0.5, and the corpus'
 * own must come out whole.
 */
static bool
directory_is_golden(unsigned line, uint64_t count, const double *from)
{
	double	   *golden_numbers = take(8 * count);
	size_t		length = 0;
	const uint8_t *head = host->golden("directories.txt", line, 3, &length);
	uint64_t	total;
	bool		good;

	for (uint64_t i = 0; i < count; i++)
		golden_numbers[i] = (double) i + 0.5;
	total = build_directory(golden_numbers, count);
	good = head != NULL && length == 192 && memcmp(head, directory_room, length) == 0 &&
		total == 192 + 8 * count && memcmp(directory_room + 192, golden_numbers, 8 * count) == 0;
	build_directory(from, count);
	free(golden_numbers);
	return good && kiln_directory_validate(directory_room, total, NULL) &&
		memcmp(directory_room + 192, from, 8 * count) == 0;
}

static bool
check_small_directory(void *state)
{
	(void) state;
	return directory_is_golden(0, BENCH_F64_SMALL, corpus->f64_small[0]);
}

static bool
check_small_memcpy(void *state)
{
	run_small_memcpy(state, 1);
	return memcmp(directory_room + 192, corpus->f64_small[0], 8 * (size_t) BENCH_F64_SMALL) == 0;
}

/* ------------------------------------------------------------------ E13 */

#define DIRECTORY_BYTES	(192 + 8 * (size_t) BENCH_F64_LARGE)

static uint64_t
run_directory(void *state, size_t n)
{
	(void) state;
	for (size_t i = 0; i < n; i++)
	{
		build_directory(corpus->f64_large[i % BENCH_HUGE], BENCH_F64_LARGE);
		bench_clobber(directory_room);
	}
	return n;
}

static uint64_t
run_large_memcpy(void *state, size_t n)
{
	(void) state;
	for (size_t i = 0; i < n; i++)
	{
		memcpy(directory_room + 192, corpus->f64_large[i % BENCH_HUGE], 8 * (size_t) BENCH_F64_LARGE);
		bench_clobber(directory_room);
	}
	return n;
}

/* As many bytes as the directory has, copied from a finished one. */
static uint64_t
run_whole_memcpy(void *state, size_t n)
{
	uint8_t   **whole = state;

	for (size_t i = 0; i < n; i++)
	{
		memcpy(directory_room, whole[i % BENCH_HUGE], DIRECTORY_BYTES);
		bench_clobber(directory_room);
	}
	return n;
}

static uint64_t
run_directory_validate(void *state, size_t n)
{
	uint8_t   **whole = state;
	uint64_t	f = 0;

	for (size_t i = 0; i < n; i++)
		f += kiln_directory_validate(whole[i % BENCH_HUGE], DIRECTORY_BYTES, NULL);
	return f;
}

static bool
check_directory(void *state)
{
	(void) state;
	return directory_is_golden(1, BENCH_F64_LARGE, corpus->f64_large[0]);
}

static bool
check_large_memcpy(void *state)
{
	run_large_memcpy(state, 1);
	return memcmp(directory_room + 192, corpus->f64_large[0], 8 * (size_t) BENCH_F64_LARGE) == 0;
}

static bool
check_whole_memcpy(void *state)
{
	run_whole_memcpy(state, 1);
	return kiln_directory_validate(directory_room, DIRECTORY_BYTES, NULL);
}

/* ------------------------------------------------------------------ E14 */

#define LEVEL_ZSTD	3

typedef struct packing
{
	const uint8_t *plain[BENCH_BUFFERS];
	size_t		plain_length;
	uint8_t    *lz4[BENCH_BUFFERS];
	size_t		lz4_length[BENCH_BUFFERS];
	uint8_t    *zstd[BENCH_BUFFERS];
	size_t		zstd_length[BENCH_BUFFERS];
	size_t		count;
	uint8_t    *scratch;
	size_t		scratch_length;
	double		lz4_bytes;
	double		zstd_bytes;
} packing;

static ZSTD_CCtx *zstd_compressor;
static ZSTD_DCtx *zstd_decompressor;

static uint64_t
run_copy(void *state, size_t n)
{
	packing    *p = state;

	for (size_t i = 0; i < n; i++)
	{
		memcpy(p->scratch, p->plain[i % p->count], p->plain_length);
		bench_clobber(p->scratch);
	}
	return n;
}

static uint64_t
run_lz4(void *state, size_t n)
{
	packing    *p = state;
	uint64_t	f = 0;

	for (size_t i = 0; i < n; i++)
	{
		f += (uint64_t) LZ4_compress_default((const char *) p->plain[i % p->count], (char *) p->scratch,
											 (int) p->plain_length, (int) p->scratch_length);
		bench_clobber(p->scratch);
	}
	return f;
}

static uint64_t
run_zstd(void *state, size_t n)
{
	packing    *p = state;
	uint64_t	f = 0;

	for (size_t i = 0; i < n; i++)
	{
		f += ZSTD_compressCCtx(zstd_compressor, p->scratch, p->scratch_length, p->plain[i % p->count],
							   p->plain_length, LEVEL_ZSTD);
		bench_clobber(p->scratch);
	}
	return f;
}

static uint64_t
run_unlz4(void *state, size_t n)
{
	packing    *p = state;
	uint64_t	f = 0;

	for (size_t i = 0; i < n; i++)
	{
		f += (uint64_t) LZ4_decompress_safe((const char *) p->lz4[i % p->count], (char *) p->scratch,
											(int) p->lz4_length[i % p->count], (int) p->scratch_length);
		bench_clobber(p->scratch);
	}
	return f;
}

static uint64_t
run_unzstd(void *state, size_t n)
{
	packing    *p = state;
	uint64_t	f = 0;

	for (size_t i = 0; i < n; i++)
	{
		f += ZSTD_decompressDCtx(zstd_decompressor, p->scratch, p->scratch_length, p->zstd[i % p->count],
								 p->zstd_length[i % p->count]);
		bench_clobber(p->scratch);
	}
	return f;
}

/* Compressed and decompressed again, each value is what it was. */
static bool
check_packing(void *state)
{
	packing    *p = state;

	for (size_t i = 0; i < p->count; i++)
	{
		if (LZ4_decompress_safe((const char *) p->lz4[i], (char *) p->scratch, (int) p->lz4_length[i],
								(int) p->scratch_length) != (int) p->plain_length ||
			memcmp(p->scratch, p->plain[i], p->plain_length) != 0)
			return false;
		if (ZSTD_decompressDCtx(zstd_decompressor, p->scratch, p->scratch_length, p->zstd[i],
								p->zstd_length[i]) != p->plain_length ||
			memcmp(p->scratch, p->plain[i], p->plain_length) != 0)
			return false;
	}
	return true;
}

static void
fill_packing(packing *p)
{
	p->scratch_length = ZSTD_compressBound(p->plain_length) + (size_t) LZ4_compressBound((int) p->plain_length);
	p->scratch = take(p->scratch_length);
	for (size_t i = 0; i < p->count; i++)
	{
		p->lz4_length[i] = (size_t) LZ4_compress_default((const char *) p->plain[i], (char *) p->scratch,
														 (int) p->plain_length, (int) p->scratch_length);
		p->lz4[i] = take(p->lz4_length[i]);
		memcpy(p->lz4[i], p->scratch, p->lz4_length[i]);
		p->zstd_length[i] = ZSTD_compressCCtx(zstd_compressor, p->scratch, p->scratch_length, p->plain[i],
											  p->plain_length, LEVEL_ZSTD);
		p->zstd[i] = take(p->zstd_length[i]);
		memcpy(p->zstd[i], p->scratch, p->zstd_length[i]);
		p->lz4_bytes += (double) p->lz4_length[i] / (double) p->count;
		p->zstd_bytes += (double) p->zstd_length[i] / (double) p->count;
	}
}

static void
add_packing(const char *name, packing *p)
{
	group		in = {"E14", "compress", name, p};
	group		back = {"E14", "decompress", name, p};
	double		bytes = (double) p->plain_length;

	fill_packing(p);
	add_checked(&in, "as it is: memcpy (here)", "none", run_copy, check_packing, bytes);
	add_checked(&in, "lz4", "none", run_lz4, check_packing, p->lz4_bytes);
	add_checked(&in, "zstd, level 3", "none", run_zstd, check_packing, p->zstd_bytes);
	add_checked(&back, "as it is: memcpy (here)", "none", run_copy, check_packing, bytes);
	add_checked(&back, "lz4", "bounds", run_unlz4, check_packing, p->lz4_bytes);
	add_checked(&back, "zstd, level 3", "bounds", run_unzstd, check_packing, p->zstd_bytes);
}

static void
set_up_packing(void)
{
	static packing small;
	static packing medium;
	static packing large;

	zstd_compressor = ZSTD_createCCtx();
	zstd_decompressor = ZSTD_createDCtx();
	small.count = medium.count = BENCH_BUFFERS;
	small.plain_length = 44;
	medium.plain_length = 4 + 44 * BENCH_BATCH;
	for (size_t i = 0; i < BENCH_BUFFERS; i++)
	{
		uint8_t    *one = take(128);	/* more than it takes, so that the compiler need not fear for longer strings */
		uint8_t    *many = take(medium.plain_length);
		uint8_t    *end = kiln_put_u32(many, BENCH_BATCH);

		bare_message(one, &corpus->message[i]);
		for (size_t j = 0; j < BENCH_BATCH; j++)
			end = bare_message(end, &corpus->batch[i][j]);
		small.plain[i] = one;
		medium.plain[i] = many;
	}
	large.count = BENCH_HUGE;
	large.plain_length = DIRECTORY_BYTES;
	for (size_t i = 0; i < BENCH_HUGE; i++)
	{
		uint8_t    *copy = take(DIRECTORY_BYTES);

		build_directory(corpus->f64_large[i], BENCH_F64_LARGE);
		memcpy(copy, directory_room, DIRECTORY_BYTES);
		large.plain[i] = copy;
	}
	add_packing("message", &small);
	add_packing("batch100", &medium);
	add_packing("f64 x 262144", &large);
}

/* ------------------------------------------------------------------ registration */

static void
add_large(void)
{
	static uint8_t *whole[BENCH_HUGE];
	group		g = {"E13", "build", "f64 x 262144", whole};
	group		door = {"E13", "validate", "f64 x 262144", whole};

	for (size_t i = 0; i < BENCH_HUGE; i++)
	{
		whole[i] = take(DIRECTORY_BYTES);
		build_directory(corpus->f64_large[i], BENCH_F64_LARGE);
		memcpy(whole[i], directory_room, DIRECTORY_BYTES);
	}
	add_checked(&g, "memcpy of its bytes", "none", run_whole_memcpy, check_whole_memcpy, DIRECTORY_BYTES);
	add_checked(&g, "kiln directory (here)", "shape names", run_directory, check_directory, DIRECTORY_BYTES);
	add_checked(&g, "memcpy of the numbers", "none", run_large_memcpy, check_large_memcpy, DIRECTORY_BYTES);
	add_expected(&door, "kiln directory validate", "all", run_directory_validate, BENCH_BUFFERS, DIRECTORY_BYTES);
}

void
bench_register(const bench_host *from)
{
	host = from;
	corpus = host->corpus;
	directory_room = take(DIRECTORY_BYTES);
	if (host->wants("E00"))
	{
		group		g = {"E00", "floor", "none", NULL};

		add_expected(&g, "an empty turn of a leg's loop", "none", run_nothing, BENCH_BUFFERS, 0);
		add_expected(&g, "clock_gettime, thread (here)", "none", run_thread, BENCH_BUFFERS, 0);
		add_expected(&g, "clock_gettime, monotonic", "none", run_monotonic, BENCH_BUFFERS, 0);
	}
	if (host->wants("E07"))
	{
		group		g = {"E07", "encode", "f64 x 10000", NULL};

		list_schema = parse("f64[]");
		list_room = take(LIST_BYTES);
		kiln_writer_init(&writer, list_room, LIST_BYTES);
		add_checked(&g, "kiln directory, one copy (here)", "shape names", run_small_directory, check_small_directory,
					SMALL_DIRECTORY_BYTES);
		add_checked(&g, "kiln list, one copy (here)", "capacity", run_list_copy, check_list_copy, LIST_BYTES);
		add_checked(&g, "a store each, capacity tested each", "capacity", run_list_checked_stores,
					check_list_checked_stores, LIST_BYTES);
		add_checked(&g, "a store each, one reserve", "capacity", run_list_stores, check_list_stores, LIST_BYTES);
		add_checked(&g, "memcpy as in the list", "none", run_list_memcpy, check_list_memcpy, LIST_BYTES);
		add_checked(&g, "memcpy as in the directory", "none", run_small_memcpy, check_small_memcpy, SMALL_DIRECTORY_BYTES);
	}
	if (host->wants("E13"))
		add_large();
	if (host->wants("E14"))
		set_up_packing();
}
