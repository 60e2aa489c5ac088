/*
 * Experiments on reading: what each check costs, and what it is to own what was read.
 *
 *   E02  per-byte bounds checks: unchecked views, held views and checked reads
 *   E06  owned decode against views, one message and a batch of 100, with and without UTF-8
 *   E12  the UTF-8 check alone, in the reader and in validation
 *   E26  append against placed writes into a decoded list
 *   E27  an offset index over a list of strings, built once, against the walk
 */
#include "experiment.h"

#define LIST_STRINGS	1000	/* strings of E27's list */
#define LOOK_UPS		64		/* of them looked up at a time */
#define LIST_NUMBERS	1000	/* of E26's list */

static kiln_schema *message_schema;
static kiln_schema *batch_schema;
static kiln_schema *bytes_schema;	/* the message's twin, its strings declared as bytes: validation without text checks */
static kiln_schema *bytes_batch_schema;

/* The payloads of a set of messages: BENCH_BUFFERS values, each a message or a batch. */
typedef struct payloads
{
	const uint8_t *data[BENCH_BUFFERS];
	size_t		length[BENCH_BUFFERS];
	double		bytes;
	uint64_t	expect;			/* fold of all of them, one leg's way: each value's fold folded */
} payloads;

static payloads single;
static payloads varied;
static payloads batches;

/* ------------------------------------------------------------------ readers of one value */

static inline uint64_t
value_view(const payloads *p, size_t i, bool list)
{
	const uint8_t *at = p->data[i] + (list ? 4 : 0);
	uint32_t	count = list ? kiln_load_u32(p->data[i]) : 1;
	uint64_t	f = 0;

	while (count-- > 0)
		f = view_message(f, &at);
	return f;
}

static inline uint64_t
value_held(const payloads *p, size_t i, bool list)
{
	kiln_held	held = {p->data[i], p->length[i], NULL};
	size_t		pos = list ? 4 : 0;
	uint32_t	count = list ? kiln_held_count(&held, 0, message_schema->root->least) : 1;
	uint64_t	f = 0;

	while (count-- > 0)
		f = held_message(f, &held, &pos);
	return f;
}

static inline uint64_t
value_reader(const payloads *p, size_t i, bool list, const bool utf8)
{
	kiln_reader reader;
	uint32_t	count = 1;
	uint64_t	f = 0;

	kiln_reader_init(&reader, p->data[i], p->length[i]);
	if (list)
		count = kiln_reader_count(&reader, 34);
	while (count-- > 0)
		f = message_checked(f, &reader, utf8);
	return reader.failed || kiln_reader_left(&reader) != 0 ? ~f : f;
}

static inline uint64_t
value_reader_plain(const payloads *p, size_t i, bool list)
{
	return value_reader(p, i, list, false);
}

static inline uint64_t
value_reader_utf8(const payloads *p, size_t i, bool list)
{
	return value_reader(p, i, list, true);
}

/* A check of a result after each field, and out at once. */
static inline bool
eager_bytes(kiln_reader *r, size_t n, const uint8_t **p)
{
	if (kiln_reader_left(r) < n)
		return false;
	*p = r->pos;
	r->pos += n;
	return true;
}

static inline bool
eager_message(kiln_reader *r, uint64_t *f)
{
	static const uint8_t widths[] = {1, 1, 4, 4, 8, 8};
	const uint8_t *p;

	for (int i = 0; i < 6; i++)
	{
		if (!eager_bytes(r, widths[i], &p))
			return false;
		if (widths[i] == 1)
		{
			if (*p > 1)
				return false;
			*f = bench_fold(*f, *p);
		}
		else
			*f = bench_fold(*f, widths[i] == 4 ? (uint64_t) (int32_t) kiln_load_u32(p) : kiln_load_u64(p));
	}
	for (int i = 0; i < 2; i++)
	{
		uint32_t	length;

		if (!eager_bytes(r, 4, &p))
			return false;
		length = kiln_load_u32(p);
		if (!eager_bytes(r, length, &p))
			return false;
		*f = bench_fold_text(*f, p, length);
	}
	return true;
}

static inline uint64_t
value_eager(const payloads *p, size_t i, bool list)
{
	kiln_reader reader;
	uint32_t	count = 1;
	uint64_t	f = 0;

	kiln_reader_init(&reader, p->data[i], p->length[i]);
	if (list)
		count = kiln_reader_count(&reader, 34);
	while (count-- > 0)
		if (!eager_message(&reader, &f))
			return ~f;
	return f;
}

static inline uint64_t
value_validate_view(const payloads *p, size_t i, bool list)
{
	if (!kiln_validate(list ? batch_schema->root : message_schema->root, p->data[i], p->length[i], NULL, NULL))
		return 0;
	return value_view(p, i, list);
}

static inline uint64_t
value_validate(const payloads *p, size_t i, bool list)
{
	return kiln_validate(list ? batch_schema->root : message_schema->root, p->data[i], p->length[i], NULL, NULL);
}

static inline uint64_t
value_validate_bytes(const payloads *p, size_t i, bool list)
{
	return kiln_validate(list ? bytes_batch_schema->root : bytes_schema->root, p->data[i], p->length[i], NULL, NULL);
}

/* ---- owned: C structs with strings of their own */

typedef struct owned
{
	bool		a;
	bool		b;
	int32_t		x;
	int32_t		y;
	int64_t		id;
	double		score;
	char	   *s;
	char	   *t;
	uint32_t	s_length;
	uint32_t	t_length;
} owned;

static char *
own_text(const uint8_t *text, uint32_t length)
{
	char	   *copy = malloc((size_t) length + 1);

	kiln_copy_short((uint8_t *) copy, text, length);
	copy[length] = '\0';
	return copy;
}

static inline bool
own_message(kiln_reader *reader, owned *m, const bool utf8)
{
	const uint8_t *text;

	m->a = kiln_reader_bool(reader);
	m->b = kiln_reader_bool(reader);
	m->x = (int32_t) kiln_reader_u32(reader);
	m->y = (int32_t) kiln_reader_u32(reader);
	m->id = (int64_t) kiln_reader_u64(reader);
	m->score = kiln_reader_f64(reader);
	text = utf8 ? kiln_reader_string(reader, &m->s_length) : kiln_reader_span(reader, &m->s_length);
	m->s = own_text(text, m->s_length);
	text = utf8 ? kiln_reader_string(reader, &m->t_length) : kiln_reader_span(reader, &m->t_length);
	m->t = own_text(text, m->t_length);
	return !reader->failed;
}

static inline uint64_t
value_owned(const payloads *p, size_t i, bool list, const bool utf8)
{
	kiln_reader reader;
	uint32_t	count = 1;
	uint64_t	f = 0;
	owned	   *all;

	kiln_reader_init(&reader, p->data[i], p->length[i]);
	if (list)
		count = kiln_reader_count(&reader, 34);
	all = malloc(count * sizeof *all);
	for (uint32_t j = 0; j < count; j++)
		if (!own_message(&reader, &all[j], utf8))
			abort();
	bench_clobber(all);
	for (uint32_t j = 0; j < count; j++)
	{
		bench_message m = {all[j].a, all[j].b, all[j].x, all[j].y, all[j].id, all[j].score,
		{all[j].s, all[j].s_length}, {all[j].t, all[j].t_length}};

		f = bench_fold_message(f, &m);
		free(all[j].s);
		free(all[j].t);
	}
	free(all);
	return f;
}

static inline uint64_t
value_owned_plain(const payloads *p, size_t i, bool list)
{
	return value_owned(p, i, list, false);
}

static inline uint64_t
value_owned_utf8(const payloads *p, size_t i, bool list)
{
	return value_owned(p, i, list, true);
}

/* ------------------------------------------------------------------ from a reader to legs */

#define READER(name) \
static uint64_t \
once_##name(void *state, size_t n) \
{ \
	uint64_t	f = 0; \
\
	for (size_t i = 0; i < n; i++) \
		f = bench_fold(f, value_##name(state, EACH_BUFFER(i), false)); \
	return f; \
} \
\
static uint64_t \
batch_##name(void *state, size_t n) \
{ \
	uint64_t	f = 0; \
\
	for (size_t i = 0; i < n; i++) \
		f = bench_fold(f, value_##name(state, EACH_BUFFER(i), true)); \
	return f; \
}

READER(view)
READER(held)
READER(reader_plain)
READER(reader_utf8)
READER(eager)
READER(validate)
READER(validate_view)
READER(validate_bytes)
READER(owned_plain)
READER(owned_utf8)

#define READ_BOTH(e, name, title, checks) \
do { \
	group		one = {e, "read", "message", &single}; \
	group		uneven = {e, "read", "varied", &varied}; \
	group		many = {e, "read", "batch100", &batches}; \
	\
	add_expected(&one, title, checks, once_##name, single.expect, single.bytes); \
	add_expected(&uneven, title, checks, once_##name, varied.expect, varied.bytes); \
	add_expected(&many, title, checks, batch_##name, batches.expect, batches.bytes); \
} while (0)

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

static void
fill_payloads(payloads *p, const bench_message *m, size_t per, bool list)
{
	for (size_t i = 0; i < BENCH_BUFFERS; i++)
	{
		uint8_t    *to = take(4 + per * 96);
		uint8_t    *end = to;
		uint64_t	f = 0;

		p->data[i] = to;
		if (list)
			end = kiln_put_u32(end, (uint32_t) per);
		for (size_t j = 0; j < per; j++)
		{
			end = bare_message(end, &m[i * per + j]);
			f = bench_fold_message(f, &m[i * per + j]);
		}
		p->length[i] = (size_t) (end - to);
		p->bytes += (double) (end - to) / BENCH_BUFFERS;
		p->expect = bench_fold(p->expect, f);
	}
}

/* What a leg gives whose every answer is 1. */
static uint64_t
all_true(void)
{
	uint64_t	f = 0;

	for (size_t i = 0; i < BENCH_BUFFERS; i++)
		f = bench_fold(f, 1);
	return f;
}

static void
add_validation(void)
{
	group		one = {"E12", "validate", "message", &single};
	group		uneven = {"E12", "validate", "varied", &varied};
	group		many = {"E12", "validate", "batch100", &batches};

	add_expected(&one, "kiln validate (here)", "bounds UTF-8", once_validate, all_true(), single.bytes);
	add_expected(&one, "kiln validate, strings as bytes", "bounds", once_validate_bytes, all_true(), single.bytes);
	add_expected(&uneven, "kiln validate (here)", "bounds UTF-8", once_validate, all_true(), varied.bytes);
	add_expected(&uneven, "kiln validate, strings as bytes", "bounds", once_validate_bytes, all_true(), varied.bytes);
	add_expected(&many, "kiln validate (here)", "bounds UTF-8", batch_validate, all_true(), batches.bytes);
	add_expected(&many, "kiln validate, strings as bytes", "bounds", batch_validate_bytes, all_true(), batches.bytes);
}

static void
add_messages(void)
{
	message_schema = parse(MESSAGE_TEXT);
	batch_schema = parse(MESSAGE_TEXT "[]");
	bytes_schema = parse("message(a bool,b bool,x i32,y i32,id i64,score f64,s bytes,t bytes)");
	bytes_batch_schema = parse("message(a bool,b bool,x i32,y i32,id i64,score f64,s bytes,t bytes)[]");
	fill_payloads(&single, corpus->message, 1, false);
	fill_payloads(&varied, corpus->varied, 1, false);
	fill_payloads(&batches, &corpus->batch[0][0], BENCH_BATCH, true);
	if (host->wants("E02"))
	{
		READ_BOTH("E02", view, "kiln view (here, validated values)", "none");
		READ_BOTH("E02", held, "kiln held view (here, in the server)", "clamped");
		READ_BOTH("E02", reader_plain, "kiln checked reader, a mark that stays", "bounds");
		READ_BOTH("E02", eager, "checked reads, a result tested each field", "bounds");
		READ_BOTH("E02", reader_utf8, "kiln checked reader, UTF-8", "bounds UTF-8");
	}
	if (host->wants("E06"))
	{
		READ_BOTH("E06", view, "kiln view (here)", "none");
		READ_BOTH("E06", validate_view, "kiln validate, then view (here)", "bounds UTF-8");
		READ_BOTH("E06", reader_utf8, "kiln checked reader, UTF-8", "bounds UTF-8");
		READ_BOTH("E06", owned_plain, "owned decode", "bounds");
		READ_BOTH("E06", owned_utf8, "owned decode, UTF-8", "bounds UTF-8");
	}
	if (host->wants("E12"))
	{
		READ_BOTH("E12", reader_plain, "kiln checked reader", "bounds");
		READ_BOTH("E12", reader_utf8, "kiln checked reader, UTF-8", "bounds UTF-8");
		add_validation();
	}
}

void
bench_register(const bench_host *from)
{
	host = from;
	corpus = host->corpus;
	if (host->wants("E02") || host->wants("E06") || host->wants("E12"))
		add_messages();
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
