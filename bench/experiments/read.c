/*
 * Experiments on reading: what each check costs, and what it is to own what was read.
 *
 *   E02  per-byte bounds checks: unchecked views, held views and checked reads
 *   E06  owned decode against views, one message and a batch of 100, with and without UTF-8
 *   E12  the UTF-8 check alone, in the reader and in validation
 */
#include "experiment.h"

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
}
