/*
 * Running a plan in every way there is, for the tests and the fuzz target.
 *
 * The bytes given to a run stand in memory of exactly their size, so that a sanitizer sees any read outside them. The
 * table of definitions and paths reaches every step a plan can have.
 */
#ifndef PLAN_RUNS_H
#define PLAN_RUNS_H

#include "kiln.h"

#include <stdio.h>
#include <stdlib.h>

#define PLAN_RUN_PATHS	12

typedef struct plan_run_case
{
	const char *definition;
	const char *paths[PLAN_RUN_PATHS];
} plan_run_case;

static const plan_run_case plan_run_cases[] = {
	{"(a bool,b bool,x i32,y i32,id i64,score f64,s string,t string)", {"", "a", "id", "score", "s", "t"}},
	{"(s string,p u16[],o i32?,os string?,ol i64[]?,r (x u8,y string?)?,t string,u bytes,v i32)",
	 {"s", "p", "p[1]", "p[-1]", "o", "os", "ol[0]", "r.y", "r.x", "u", "t", "v"}},
	{"(s string,w string[],d dict<string>,e dict<i32>,f dict<(k u8,l string[])>,z i64)",
	 {"w", "w[2]", "w[-2]", "d", "d.k", "d.\"\"", "e.kk", "f.k.l[1]", "z", "e"}},
	{"(l (n i32,m dict<(z bool)[]>)[],q (u (v (s string,t i16)?,w string)?,x i8[])[],z string)",
	 {"l[1].n", "l[-1].m.k[1].z", "q", "q[1].u.v.t", "q[0].u.w", "q[-1].x[0]", "z"}},
	{"string?[][]", {"", "[0]", "[1][1]", "[-1][-1]", "[2][0]"}},
	{"dict<dict<i64?>>", {"a", "a.b", "b.a", "\"\".\"\""}},
	{"(a string,b string,c bytes,d numeric,e json,f (g string,h string),i dict<bool>[]?,j enum('x','y'),k date,l uuid)",
	 {"a", "c", "e", "e.deep[3]", "f.h", "i[1].t", "i[0]", "j", "k", "l"}},
};

#define PLAN_RUN_CASES	(sizeof plan_run_cases / sizeof plan_run_cases[0])

/* ------------------------------------------------------------------ runs */

typedef struct plan_outcome
{
	kiln_found	found;
	size_t		pos;			/* of FOUND */
	size_t		calls;			/* window runs */
	size_t		most;			/* window runs: the largest part asked for, in bytes */
} plan_outcome;

/* A run that did what no run may do: the program ends. */
static inline void
plan_run_require(bool good, const char *what)
{
	if (good)
		return;
	fprintf(stderr, "plan run: %s\n", what);
	abort();
}

/* n bytes in memory of that size: one byte more in front, as malloc(0) may be NULL. */
static inline uint8_t *
plan_run_copy(const uint8_t *bytes, size_t n)
{
	uint8_t    *copy = malloc(n + 1);

	plan_run_require(copy != NULL, "out of memory");
	if (n != 0)
		memcpy(copy + 1, bytes, n);
	return copy + 1;
}

static inline void
plan_run_release(uint8_t *copy)
{
	free(copy - 1);
}

static inline plan_outcome
plan_run_raw(const kiln_plan *plan, const uint8_t *payload)
{
	const uint8_t *at = kiln_plan_run(plan, payload);
	plan_outcome out = {at ? KILN_FOUND : KILN_ABSENT, at ? (size_t) (at - payload) : 0, 0, 0};

	return out;
}

static inline plan_outcome
plan_run_held(const kiln_plan *plan, const uint8_t *payload, size_t n)
{
	kiln_held	held = {payload, n, NULL};
	plan_outcome out = {KILN_ABSENT, 0, 0, 0};

	out.found = kiln_plan_run_held(plan, &held, &out.pos);
	plan_run_require(out.found == KILN_FOUND || out.found == KILN_ABSENT, "held run neither finds nor misses");
	plan_run_require(out.pos <= n, "held run ends outside");
	return out;
}

static inline plan_outcome
plan_run_checked(const kiln_plan *plan, const uint8_t *payload, size_t n, kiln_error *error)
{
	plan_outcome out = {KILN_ABSENT, 0, 0, 0};

	out.found = kiln_plan_run_checked(plan, payload, n, &out.pos, error);
	plan_run_require(out.found != KILN_NEED, "checked run wants bytes");
	plan_run_require(out.pos <= n, "checked run ends outside");
	return out;
}

/*
 * Run with windows of size bytes, or of what is asked for if that is more, until the run ends; each window begins where
 * the run asks. type NULL: run the plan; else measure the value of that type at from.
 */
static inline plan_outcome
plan_run_windows(const kiln_plan *plan, const kiln_type *type, size_t from, const uint8_t *payload, size_t n,
				 size_t size)
{
	plan_outcome out = {KILN_NEED, 0, 0, 0};
	kiln_window window;

	memset(&window, 0, sizeof window);
	window.total = n;
	window.have = size < n ? size : n;
	window.pos = from;
	for (;;)
	{
		uint8_t    *part = plan_run_copy(payload + window.start, window.have);
		size_t		old_start = window.start;
		size_t		old_end = window.start + window.have;

		window.data = part;
		out.found = type ? kiln_window_measure(type, &window) : kiln_plan_run_window(plan, &window);
		plan_run_release(part);
		out.calls++;
		if (out.found != KILN_NEED)
			break;
		plan_run_require(window.need_from < window.need_to && window.need_to <= n, "window run asks for bytes outside");
		plan_run_require(window.need_from < old_start || window.need_to > old_end, "window run asks for what it has");
		plan_run_require(out.calls < 1000000, "window run does not end");
		window.start = window.need_from;
		window.have = window.need_to - window.need_from;
		if (out.most < window.have)
			out.most = window.have;
		if (window.have < size)
			window.have = size < n - window.start ? size : n - window.start;
	}
	plan_run_require(out.found == KILN_FOUND || out.found == KILN_ABSENT, "window run neither finds nor misses");
	out.pos = type ? window.need_to : window.pos;
	plan_run_require(out.pos <= n, "window run ends outside");
	return out;
}

/* ------------------------------------------------------------------ valid payloads */

#define PLAN_RUN_PAYLOAD	4096

/* Where choices come from: given bytes, then a generator that starts from seed. */
typedef struct plan_run_source
{
	const uint8_t *bytes;
	size_t		left;
	uint64_t	seed;
} plan_run_source;

static inline uint32_t
plan_run_choose(plan_run_source *source, uint32_t below)
{
	if (source->left > 0)
	{
		source->left--;
		return *source->bytes++ % below;
	}
	source->seed = source->seed * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t) (source->seed >> 33) % below;
}

/* A span of characters from first on, now and then a long one. */
static inline void
plan_run_build_span(plan_run_source *source, uint8_t *out, size_t *n, uint32_t least, char first, bool small)
{
	uint32_t	length = least + (small ? 0 : plan_run_choose(source, 16) == 0 ? 100 : plan_run_choose(source, 4));
	uint32_t	i;

	kiln_store_u32(out + *n, length);
	*n += 4;
	for (i = 0; i < length; i++)
		out[(*n)++] = (uint8_t) (first + (char) (i % 9));
}

/* Append a valid value of any type that the table above uses; once out is half full, the smallest. */
static inline void
plan_run_build(const kiln_type *type, plan_run_source *source, uint8_t *out, size_t *n)
{
	static const char *const keys[] = {"", "a", "b", "k", "kk", "t"};
	bool		small = *n > PLAN_RUN_PAYLOAD / 2;
	uint32_t	count;
	uint32_t	i;

	switch (type->kind)
	{
		case KILN_STRING:
		case KILN_BYTES:
			plan_run_build_span(source, out, n, 0, 'a', small);
			break;
		case KILN_NUMERIC:
		case KILN_JSON:
			plan_run_build_span(source, out, n, 1, '1', small);
			break;
		case KILN_STRUCT:
			for (i = 0; i < type->count; i++)
				plan_run_build(type->fields[i].type, source, out, n);
			break;
		case KILN_OPTIONAL:
			out[(*n)++] = !small && plan_run_choose(source, 3) != 0;
			if (out[*n - 1] != 0)
				plan_run_build(type->element, source, out, n);
			break;
		case KILN_LIST:
			count = small ? 0 : plan_run_choose(source, 5);
			kiln_store_u32(out + *n, count);
			*n += 4;
			for (i = 0; i < count; i++)
				plan_run_build(type->element, source, out, n);
			break;
		case KILN_DICT:
			{
				size_t		at = *n;

				*n += 4;
				for (count = i = 0; !small && i < sizeof keys / sizeof keys[0]; i++)
				{
					if (plan_run_choose(source, 2) == 0)
						continue;
					count++;
					kiln_store_u32(out + *n, (uint32_t) strlen(keys[i]));
					memcpy(out + *n + 4, keys[i], strlen(keys[i]));
					*n += 4 + strlen(keys[i]);
					plan_run_build(type->element, source, out, n);
				}
				kiln_store_u32(out + at, count);
			}
			break;
		default:				/* small numbers are valid for bool, enum and date too */
			memset(out + *n, 0, type->width);
			out[*n] = (uint8_t) plan_run_choose(source, 2);
			*n += type->width;
			break;
	}
}

/* ------------------------------------------------------------------ what must hold */

static inline bool
plan_outcome_same(plan_outcome a, plan_outcome b)
{
	return a.found == b.found && (a.found != KILN_FOUND || a.pos == b.pos);
}

/*
 * Run the plan over any n bytes in all ways, and require what must hold of them:
 *
 *   valid payload        raw = held = checked = windows, and all ways agree on where the value found ends
 *   checked run passes   raw, held and window runs come to the same, valid or not
 *   anything             held = windows, and all stay inside
 *
 * Returns what the checked run says.
 */
static inline plan_outcome
plan_run_all(const kiln_plan *plan, const uint8_t *bytes, size_t n, bool valid)
{
	static const size_t sizes[] = {1, 7, 64, SIZE_MAX};
	uint8_t    *payload = plan_run_copy(bytes, n);
	plan_outcome checked = plan_run_checked(plan, payload, n, NULL);
	plan_outcome held;
	size_t		i;

	plan_run_require(!valid || checked.found != KILN_DAMAGED, "a valid payload is found damaged");
	if (checked.found != KILN_DAMAGED)
		plan_run_require(plan_outcome_same(checked, plan_run_raw(plan, payload)), "raw and checked differ");
	if (n >= KILN_HELD_LEAST)
	{
		held = plan_run_held(plan, payload, n);
		if (checked.found != KILN_DAMAGED)
			plan_run_require(plan_outcome_same(checked, held), "held and checked differ");
		for (i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
			plan_run_require(plan_outcome_same(held, plan_run_windows(plan, NULL, 0, payload, n, sizes[i])),
							 "held and window differ");
		if (held.found == KILN_FOUND)
		{
			kiln_held	all = {payload, n, NULL};
			size_t		end = kiln_held_skip(&all, plan->type, held.pos);

			plan_run_require(!valid || end == (size_t) (kiln_view_skip(plan->type, payload + held.pos) - payload),
							 "held and view differ on the value's end");
			for (i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
				plan_run_require(plan_run_windows(NULL, plan->type, held.pos, payload, n, sizes[i]).pos == end,
								 "held and window differ on the value's end");
		}
	}
	if (checked.found == KILN_FOUND)
	{
		kiln_reader reader = {payload, payload + checked.pos, payload + n, false};

		plan_run_require(kiln_reader_skip(&reader, plan->type) || !valid, "a valid value can't be read");
	}
	plan_run_release(payload);
	return checked;
}

#endif							/* PLAN_RUNS_H */
