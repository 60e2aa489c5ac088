/*
 * The program of a plan, and the one interpreter behind its four runs.
 *
 * A step first advances by a constant, then does what its op says. What a step passes over decides its cost: fixed
 * widths melt into the next step's advance, spans and lists of fixed width take one load each, an optional is a
 * conditional jump over the steps of its value; only lists and dicts of varying elements are walked.
 *
 * The interpreter's functions take the mode of the run as their first argument, always a constant, and are inlined
 * into each run: raw, held, checked and window runs are one source and can't drift apart. The modes differ only in how
 * bytes are reached:
 *
 *   RAW      at pos. The payload is valid.
 *   HELD     at min(pos, n - width); spans and counts are clipped. Always inside, whatever the payload holds.
 *   CHECKED  at pos if the bytes are inside and length, count and tag are valid; else the run ends with KILN_DAMAGED.
 *   WINDOW   as HELD, but only if the part at hand holds the bytes; else the run ends with KILN_NEED.
 *
 * In HELD and WINDOW a position may stand beyond n between steps: the next load brings it back, the end of the run
 * clips it.
 */
#ifndef KILN_PLAN_INTERNAL_H
#define KILN_PLAN_INTERNAL_H

#include "internal.h"

#if defined(__GNUC__)
#define PLAN_INLINE static inline __attribute__((always_inline, unused))
#else
#define PLAN_INLINE static inline
#endif

/* Spans in one step, so that a window run's state packs a step and the spans done into one word. */
#define PLAN_MAX_SPANS	255

/* How often loops call poll: once in so many elements (a power of two). */
#define PLAN_POLL_EVERY	4096

typedef enum kiln_plan_op
{
	PLAN_ADVANCE,				/* nothing but the advance */
	PLAN_SPANS,					/* count length-prefixed spans */
	PLAN_PACKED,				/* a list of elements of width bytes */
	PLAN_OPTIONAL_FIXED,		/* an optional of width bytes, present or not */
	PLAN_OPTIONAL_SPAN,			/* an optional span, present or not */
	PLAN_JUMP,					/* a tag; if it is 0, jump over the next count steps, which skip the value */
	PLAN_WALK,					/* any value of type */
	PLAN_TAG,					/* a tag; if it is 0, the value sought is absent */
	PLAN_INDEX_FIXED,			/* a list of elements of width bytes: go to position index */
	PLAN_INDEX_WALK,			/* a list of type elements: likewise */
	PLAN_KEY					/* a dict of type values: go to the value of key */
} kiln_plan_op;

struct kiln_plan_step
{
	uint8_t		op;				/* kiln_plan_op */
	uint32_t	advance;		/* bytes to pass before the op */
	union
	{
		uint32_t	count;		/* SPANS, JUMP */
		uint32_t	width;		/* PACKED, OPTIONAL_FIXED, INDEX_FIXED */
		uint32_t	key_length; /* KEY */
	};
	union
	{
		int64_t		index;		/* INDEX_FIXED, INDEX_WALK: negative from the end */
		const char *key;		/* KEY: in the memory of the steps */
	};
	const kiln_type *type;		/* WALK: of the value; INDEX_WALK, KEY: of an element */
};

typedef enum plan_mode
{
	PLAN_RAW, PLAN_HELD, PLAN_CHECKED, PLAN_WINDOW
} plan_mode;

/*
 * A run under way. data[0] is byte start of the payload (0 but in WINDOW), and have bytes from there are at hand; n is
 * the whole payload's length. After a failure at … at + width are the bytes that were not at hand (WINDOW), or code
 * and at say what is wrong where (CHECKED).
 */
typedef struct plan_cursor
{
	const uint8_t *data;
	size_t		start;
	size_t		have;
	size_t		n;
	size_t		pos;
	size_t		begin;			/* WINDOW: where the step under way begins, its advance made */
	uint32_t	step;			/* WINDOW: the step under way */
	uint32_t	spans;			/* WINDOW: spans of it that are done */
	void		(*poll) (void);
	size_t		at;
	size_t		width;
	kiln_code	code;
} plan_cursor;

/* The walk over any value in a window, as kiln_held_skip() is in memory: false if bytes are missing. */
bool		kiln_plan_window_skip(plan_cursor *cursor, const kiln_type *type);

/* ------------------------------------------------------------------ bytes */

PLAN_INLINE bool
plan_fail(plan_cursor *cursor, kiln_code code, size_t at, size_t width)
{
	cursor->code = code;
	cursor->at = at;
	cursor->width = width;
	return false;
}

/* Reach width bytes at *pos (which is put where the mode says): *bytes leads to them. */
PLAN_INLINE bool
plan_reach(const plan_mode mode, plan_cursor *cursor, size_t *pos, size_t width, const uint8_t **bytes)
{
	if (mode == PLAN_CHECKED && (*pos > cursor->n || width > cursor->n - *pos))
		return plan_fail(cursor, KILN_E_TRUNCATED, *pos < cursor->n ? *pos : cursor->n, width);
	if (mode == PLAN_HELD || mode == PLAN_WINDOW)
	{
		size_t		last = cursor->n - width;

		*pos = *pos < last ? *pos : last;
	}
	if (mode == PLAN_WINDOW)
	{
		size_t		at = *pos - cursor->start;

		if (*pos < cursor->start || at > cursor->have || width > cursor->have - at)
			return plan_fail(cursor, KILN_E_OK, *pos, width);
		*bytes = cursor->data + at;
		return true;
	}
	*bytes = cursor->data + *pos;
	return true;
}

/* Pass a tag: *present says what it said. */
PLAN_INLINE bool
plan_tag(const plan_mode mode, plan_cursor *cursor, bool *present)
{
	size_t		pos = cursor->pos;
	const uint8_t *bytes;

	if (!plan_reach(mode, cursor, &pos, 1, &bytes))
		return false;
	if (mode == PLAN_CHECKED && *bytes > 1)
		return plan_fail(cursor, KILN_E_TAG, pos, 1);
	*present = *bytes != 0;
	cursor->pos = pos + 1;
	return true;
}

/* Pass a span's length word: the cursor then stands on the first of its *length bytes, all of which are inside. */
PLAN_INLINE bool
plan_span(const plan_mode mode, plan_cursor *cursor, uint32_t *length)
{
	size_t		pos = cursor->pos;
	const uint8_t *bytes;

	if (!plan_reach(mode, cursor, &pos, 4, &bytes))
		return false;
	*length = kiln_load_u32(bytes);
	if (mode != PLAN_RAW)
	{
		size_t		left = cursor->n - pos - 4;

		if (*length > left)
		{
			if (mode == PLAN_CHECKED)
				return plan_fail(cursor, KILN_E_LENGTH, pos, 4);
			*length = (uint32_t) left;
		}
	}
	cursor->pos = pos + 4;
	return true;
}

/* Pass a count of elements of at least least bytes each, all of which are then inside. */
PLAN_INLINE bool
plan_count(const plan_mode mode, plan_cursor *cursor, uint32_t least, uint32_t *count)
{
	size_t		pos = cursor->pos;
	const uint8_t *bytes;

	if (!plan_reach(mode, cursor, &pos, 4, &bytes))
		return false;
	*count = kiln_load_u32(bytes);
	if (mode != PLAN_RAW)
	{
		size_t		left = cursor->n - pos - 4;

		if ((uint64_t) *count * least > left)
		{
			if (mode == PLAN_CHECKED)
				return plan_fail(cursor, KILN_E_COUNT, pos, 4);
			*count = (uint32_t) (left / least);
		}
	}
	cursor->pos = pos + 4;
	return true;
}

/* ------------------------------------------------------------------ skipping */

/* Pass one value of varying length. */
PLAN_INLINE bool
plan_walk(const plan_mode mode, plan_cursor *cursor, const kiln_type *type)
{
	if (mode == PLAN_RAW)
		cursor->pos = (size_t) (kiln_view_skip(type, cursor->data + cursor->pos) - cursor->data);
	else if (mode == PLAN_HELD)
	{
		kiln_held	held = {cursor->data, cursor->n, cursor->poll};

		cursor->pos = kiln_held_skip(&held, type, cursor->pos < cursor->n ? cursor->pos : cursor->n);
	}
	else if (mode == PLAN_WINDOW)
		return kiln_plan_window_skip(cursor, type);
	else
	{
		kiln_reader reader = {cursor->data, NULL, cursor->data + cursor->n, false};

		if (cursor->pos > cursor->n)
			return plan_fail(cursor, KILN_E_TRUNCATED, cursor->n, 0);
		reader.pos = cursor->data + cursor->pos;
		if (!kiln_reader_skip(&reader, type))
			return plan_fail(cursor, KILN_E_TRUNCATED, cursor->pos, 0);
		cursor->pos = (size_t) (reader.pos - cursor->data);
	}
	return true;
}

/* Pass one value of any type: those of fixed width, and spans, without a call. */
PLAN_INLINE bool
plan_skip(const plan_mode mode, plan_cursor *cursor, const kiln_type *type)
{
	if (type->width != 0)
	{
		cursor->pos += type->width;
		return true;
	}
	if (kiln_kind_is_span(type->kind))
	{
		uint32_t	length;

		if (!plan_span(mode, cursor, &length))
			return false;
		cursor->pos += length;
		return true;
	}
	return plan_walk(mode, cursor, type);
}

/* Called with the number of an element in a long loop. */
PLAN_INLINE void
plan_poll(const plan_mode mode, const plan_cursor *cursor, uint32_t i)
{
	if ((mode == PLAN_HELD || mode == PLAN_WINDOW) && (i & (PLAN_POLL_EVERY - 1)) == PLAN_POLL_EVERY - 1 &&
		cursor->poll != NULL)
		cursor->poll();
}

/* ------------------------------------------------------------------ steps that seek */

/* What a step comes to when bytes are missing (window) or wrong (checked). */
PLAN_INLINE kiln_found
plan_stopped(const plan_mode mode)
{
	return mode == PLAN_WINDOW ? KILN_NEED : KILN_DAMAGED;
}

/* Element of a list that has count of them: false if there is none at index. */
PLAN_INLINE bool
plan_position(int64_t index, uint32_t count, uint32_t *position)
{
	if (index < 0)
		index += count;
	if (index < 0 || index >= (int64_t) count)
		return false;
	*position = (uint32_t) index;
	return true;
}

PLAN_INLINE kiln_found
plan_index(const plan_mode mode, plan_cursor *cursor, const kiln_plan_step *step)
{
	bool		fixed = step->op == PLAN_INDEX_FIXED;
	uint32_t	count;
	uint32_t	position;
	uint32_t	i;

	if (!plan_count(mode, cursor, fixed ? step->width : step->type->least, &count))
		return plan_stopped(mode);
	if (!plan_position(step->index, count, &position))
		return KILN_ABSENT;
	if (fixed)
	{
		cursor->pos += (size_t) position * step->width;
		return KILN_FOUND;
	}
	for (i = 0; i < position; i++)
	{
		if (!plan_skip(mode, cursor, step->type))
			return plan_stopped(mode);
		plan_poll(mode, cursor, i);
	}
	return KILN_FOUND;
}

/* Order of two keys by unsigned bytes, the shorter first. */
PLAN_INLINE int
plan_compare(const uint8_t *a, size_t a_length, const void *b, size_t b_length)
{
	size_t		least = a_length < b_length ? a_length : b_length;
	int			order = least ? memcmp(a, b, least) : 0;

	return order != 0 ? order : (a_length > b_length) - (a_length < b_length);
}

/*
 * Look a key up. Keys ascend, so the search ends at the first that is greater. A checked run tests that they do, as
 * far as it comes.
 */
PLAN_INLINE kiln_found
plan_key(const plan_mode mode, plan_cursor *cursor, const kiln_plan_step *step)
{
	const uint8_t *before = NULL;
	uint32_t	before_length = 0;
	uint32_t	count;
	uint32_t	i;

	if (!plan_count(mode, cursor, 4 + step->type->least, &count))
		return plan_stopped(mode);
	for (i = 0; i < count; i++)
	{
		size_t		word = cursor->pos;
		size_t		at;
		uint32_t	length;
		uint32_t	compared;
		const uint8_t *key;
		int			order;

		if (!plan_span(mode, cursor, &length))
			return plan_stopped(mode);
		at = cursor->pos;
		compared = length < step->key_length ? length : step->key_length;
		key = cursor->data;
		if ((compared != 0 || mode == PLAN_CHECKED) && !plan_reach(mode, cursor, &at, compared, &key))
			return plan_stopped(mode);
		if (mode == PLAN_CHECKED)
		{
			if (before != NULL && plan_compare(before, before_length, key, length) >= 0)
			{
				plan_fail(cursor, KILN_E_KEY, word, 4);
				return KILN_DAMAGED;
			}
			before = key;
			before_length = length;
		}
		cursor->pos += length;
		order = compared ? memcmp(key, step->key, compared) : 0;
		if (order == 0 && length == step->key_length)
			return KILN_FOUND;
		if (order > 0 || (order == 0 && length > step->key_length))
			return KILN_ABSENT;
		if (!plan_skip(mode, cursor, step->type))
			return plan_stopped(mode);
		plan_poll(mode, cursor, i);
	}
	return KILN_ABSENT;
}

/* ------------------------------------------------------------------ steps that pass */

PLAN_INLINE bool
plan_spans(const plan_mode mode, plan_cursor *cursor, const kiln_plan_step *step)
{
	uint32_t	i = mode == PLAN_WINDOW ? cursor->spans : 0;

	for (; i < step->count; i++)
	{
		uint32_t	length;

		if (!plan_span(mode, cursor, &length))
			return false;
		cursor->pos += length;
		if (mode == PLAN_WINDOW)
			cursor->spans = i + 1;
	}
	return true;
}

/* All ops whose step is passed whatever it holds; *jump gets the number of steps to leave out after it. */
PLAN_INLINE bool
plan_pass(const plan_mode mode, plan_cursor *cursor, const kiln_plan_step *step, uint32_t *jump)
{
	uint32_t	number;
	bool		present;

	switch (step->op)
	{
		case PLAN_SPANS:
			return plan_spans(mode, cursor, step);
		case PLAN_PACKED:
			if (!plan_count(mode, cursor, step->width, &number))
				return false;
			cursor->pos += (size_t) number * step->width;
			return true;
		case PLAN_OPTIONAL_FIXED:
			if (!plan_tag(mode, cursor, &present))
				return false;
			cursor->pos += present ? step->width : 0;
			return true;
		case PLAN_OPTIONAL_SPAN:
			if (!plan_tag(mode, cursor, &present))
				return false;
			if (!present)
				return true;
			if (!plan_span(mode, cursor, &number))
				return false;
			cursor->pos += number;
			return true;
		case PLAN_JUMP:
			if (!plan_tag(mode, cursor, &present))
				return false;
			*jump = present ? 0 : step->count;
			return true;
		case PLAN_WALK:
			return plan_walk(mode, cursor, step->type);
		default:				/* PLAN_ADVANCE */
			return true;
	}
}

/*
 * Run the program from step number from on. FOUND: the cursor stands on the value; in HELD and WINDOW it may stand
 * beyond the end.
 */
PLAN_INLINE kiln_found
plan_steps(const plan_mode mode, const kiln_plan *plan, plan_cursor *cursor, uint32_t from)
{
	const kiln_plan_step *step = plan->steps + from;
	const kiln_plan_step *end = plan->steps + plan->step_count;

	while (step < end)
	{
		kiln_found	found = KILN_FOUND;
		uint32_t	jump = 0;
		bool		present;

		if (mode == PLAN_WINDOW)
		{
			cursor->step = (uint32_t) (step - plan->steps);
			if (cursor->spans == 0)
				cursor->pos += step->advance;
			cursor->begin = cursor->pos;
		}
		else
			cursor->pos += step->advance;

		switch (step->op)
		{
			case PLAN_TAG:
				if (!plan_tag(mode, cursor, &present))
					return plan_stopped(mode);
				if (!present)
					return KILN_ABSENT;
				break;
			case PLAN_INDEX_FIXED:
			case PLAN_INDEX_WALK:
				found = plan_index(mode, cursor, step);
				break;
			case PLAN_KEY:
				found = plan_key(mode, cursor, step);
				break;
			default:
				if (!plan_pass(mode, cursor, step, &jump))
					return plan_stopped(mode);
		}
		if (found != KILN_FOUND)
			return found;
		if (mode == PLAN_WINDOW)
			cursor->spans = 0;
		step += 1 + jump;
	}
	return KILN_FOUND;
}

#endif							/* KILN_PLAN_INTERNAL_H */
