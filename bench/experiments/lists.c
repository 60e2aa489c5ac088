/*
 * Experiments on lists: decoding one into memory of one's own, and reaching its elements.
 *
 *   E26  append against placed writes into a decoded list
 *   E27  an offset index over a list of strings, built once, against the walk
 */
#include "experiment.h"

#define LIST_STRINGS	1000	/* strings of E27's list */
#define LOOK_UPS		64		/* of them looked up at a time */
#define LIST_NUMBERS	1000	/* of E26's list */

/* ------------------------------------------------------------------ E26: a list of numbers, decoded into memory of one's own */

static uint8_t *number_lists[BENCH_BUFFERS];
static uint64_t number_expect;

typedef struct vector
{
	int32_t    *data;
	size_t		count;
	size_t		capacity;
} vector;

static vector decoded;

static BENCH_NOINLINE void
vector_grow(vector *v)
{
	v->capacity = v->capacity != 0 ? v->capacity * 2 : 16;
	v->data = realloc(v->data, v->capacity * sizeof *v->data);
}

static inline uint64_t
fold_vector(void)
{
	bench_clobber(decoded.data);
	return bench_fold(decoded.count, (uint64_t) decoded.data[0] ^ (uint64_t) decoded.data[decoded.count - 1]);
}

static uint64_t
run_append(void *state, size_t n)
{
	uint64_t	f = 0;

	(void) state;
	for (size_t i = 0; i < n; i++)
	{
		const uint8_t *p = number_lists[EACH_BUFFER(i)];
		uint32_t	count = kiln_load_u32(p);

		decoded.count = 0;
		for (uint32_t j = 0; j < count; j++)
		{
			if (decoded.count == decoded.capacity)
				vector_grow(&decoded);
			decoded.data[decoded.count++] = (int32_t) kiln_load_u32(p + 4 + 4 * (size_t) j);
		}
		f = bench_fold(f, fold_vector());
	}
	return f;
}

static void
vector_fit(uint32_t count)
{
	while (decoded.capacity < count)
		vector_grow(&decoded);
	decoded.count = count;
}

static uint64_t
run_placed(void *state, size_t n)
{
	uint64_t	f = 0;

	(void) state;
	for (size_t i = 0; i < n; i++)
	{
		const uint8_t *p = number_lists[EACH_BUFFER(i)];
		uint32_t	count = kiln_load_u32(p);
		int32_t    *to;

		vector_fit(count);
		to = decoded.data;
		for (uint32_t j = 0; j < count; j++)
			to[j] = (int32_t) kiln_load_u32(p + 4 + 4 * (size_t) j);
		f = bench_fold(f, fold_vector());
	}
	return f;
}

static uint64_t
run_copied(void *state, size_t n)
{
	uint64_t	f = 0;

	(void) state;
	for (size_t i = 0; i < n; i++)
	{
		const uint8_t *p = number_lists[EACH_BUFFER(i)];
		uint32_t	count = kiln_load_u32(p);

		vector_fit(count);
		memcpy(decoded.data, p + 4, 4 * (size_t) count);
		f = bench_fold(f, fold_vector());
	}
	return f;
}

static void
set_up_numbers(void)
{
	uint64_t	state = 26;

	for (size_t i = 0; i < BENCH_BUFFERS; i++)
	{
		uint8_t    *p = number_lists[i] = take(4 + 4 * LIST_NUMBERS);
		int32_t		first = 0;
		int32_t		last = 0;

		kiln_store_u32(p, LIST_NUMBERS);
		for (size_t j = 0; j < LIST_NUMBERS; j++)
		{
			last = (int32_t) bench_random(&state);
			first = j == 0 ? last : first;
			kiln_store_u32(p + 4 + 4 * j, (uint32_t) last);
		}
		number_expect = bench_fold(number_expect, bench_fold(LIST_NUMBERS, (uint64_t) first ^ (uint64_t) last));
	}
}

/* ------------------------------------------------------------------ E27: strings of a list, by position */

static uint8_t *string_lists[BENCH_BUFFERS];
static uint32_t string_offsets[BENCH_BUFFERS][LIST_STRINGS];	/* built before anything is timed */
static uint32_t scratch_offsets[LIST_STRINGS];
static uint32_t look_ups[LOOK_UPS];
static kiln_schema *strings_schema;
static kiln_plan string_plans[LOOK_UPS];
static uint64_t string_expect;
static double string_bytes;

static inline void
build_index(const uint8_t *p, uint32_t *offsets)
{
	uint32_t	count = kiln_load_u32(p);
	uint32_t	at = 4;

	for (uint32_t j = 0; j < count; j++)
	{
		offsets[j] = at;
		at += 4 + kiln_load_u32(p + at);
	}
}

static inline uint64_t
fold_span(uint64_t f, const uint8_t *p)
{
	uint32_t	length;
	const uint8_t *text = kiln_view_span(p, &length);

	return bench_fold_text(f, text, length);
}

static uint64_t
run_walk_each(void *state, size_t n)
{
	uint64_t	f = 0;

	(void) state;
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < LOOK_UPS; k++)
			f = fold_span(f, kiln_plan_run(&string_plans[k], string_lists[EACH_BUFFER(i)]));
	return f;
}

static uint64_t
run_index_kept(void *state, size_t n)
{
	uint64_t	f = 0;

	(void) state;
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < LOOK_UPS; k++)
			f = fold_span(f, string_lists[EACH_BUFFER(i)] + string_offsets[EACH_BUFFER(i)][look_ups[k]]);
	return f;
}

static uint64_t
run_index_built(void *state, size_t n)
{
	uint64_t	f = 0;

	(void) state;
	for (size_t i = 0; i < n; i++)
	{
		const uint8_t *p = string_lists[EACH_BUFFER(i)];

		build_index(p, scratch_offsets);
		for (size_t k = 0; k < LOOK_UPS; k++)
			f = fold_span(f, p + scratch_offsets[look_ups[k]]);
	}
	return f;
}

static void
set_up_strings(void)
{
	uint64_t	state = 27;

	strings_schema = parse("string[]");
	for (size_t i = 0; i < BENCH_BUFFERS; i++)
	{
		uint8_t    *p = string_lists[i] = take(4 + LIST_STRINGS * 36);
		uint8_t    *to = kiln_put_u32(p, LIST_STRINGS);

		for (size_t j = 0; j < LIST_STRINGS; j++)
		{
			uint8_t		text[32];
			uint32_t	length = (uint32_t) (bench_random(&state) % 32);

			for (uint32_t c = 0; c < length; c++)
				text[c] = (uint8_t) ('a' + bench_random(&state) % 26);
			to = kiln_put_span(to, text, length);
		}
		string_bytes += (double) (to - p) / BENCH_BUFFERS;
		build_index(p, string_offsets[i]);
	}
	for (size_t k = 0; k < LOOK_UPS; k++)
	{
		char		text[16];
		kiln_path	path;

		look_ups[k] = (uint32_t) (bench_random(&state) % LIST_STRINGS);
		snprintf(text, sizeof text, "[%u]", (unsigned) look_ups[k]);
		if (!kiln_path_parse(text, strlen(text), NULL, &path, NULL) ||
			!kiln_plan_compile(strings_schema->root, &path, NULL, &string_plans[k], NULL))
			host->die("no plan into the list of strings");
		kiln_path_free(&path);
	}
	/* what a walk by hand gives */
	for (size_t i = 0; i < BENCH_BUFFERS; i++)
		for (size_t k = 0; k < LOOK_UPS; k++)
		{
			const uint8_t *p = string_lists[i] + 4;

			for (uint32_t j = 0; j < look_ups[k]; j++)
				p += 4 + kiln_load_u32(p);
			string_expect = fold_span(string_expect, p);
		}
}

/* ------------------------------------------------------------------ registration */

void
bench_register(const bench_host *from)
{
	host = from;
	corpus = host->corpus;
	if (host->wants("E26"))
	{
		group		g = {"E26", "decode", "i32 x 1000", NULL};

		set_up_numbers();
		add_expected(&g, "append, capacity tested each", "none", run_append, number_expect, 4 + 4 * LIST_NUMBERS);
		add_expected(&g, "room once, placed writes", "none", run_placed, number_expect, 4 + 4 * LIST_NUMBERS);
		add_expected(&g, "room once, one copy (here)", "none", run_copied, number_expect, 4 + 4 * LIST_NUMBERS);
	}
	if (host->wants("E27"))
	{
		group		g = {"E27", "64 look-ups", "string x 1000", NULL};

		set_up_strings();
		add_expected(&g, "a walk a look-up (here)", "none", run_walk_each, string_expect, string_bytes);
		add_expected(&g, "index built, then used", "none", run_index_built, string_expect, string_bytes);
		add_expected(&g, "index kept from before", "none", run_index_kept, string_expect, string_bytes);
	}
}
