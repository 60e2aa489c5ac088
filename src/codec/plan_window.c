/*
 * Plans, run over a part of a payload, asking for other parts as they are needed.
 *
 * A window run stops at the first load whose bytes are not at hand. It keeps the number of the step under way and the
 * place where that step begins, and starts that step again when it is called with more; of a row of spans it also keeps
 * how many are done. So what is behind it need not be in later windows.
 *
 * Most steps read a word or two at places known without the bytes between: they ask for just those words, however far
 * ahead; the caller may round up. A walk (over a list or dict of varying elements, for a position or a key) has to see
 * every length word on its way. It asks for everything from its beginning on, each time at least twice as much as it
 * was given from there, so that the bytes fetched stay within a small multiple of the bytes needed.
 */
#include "plan_internal.h"

/* What a walk asks for at least, in bytes. */
#define WALK_LEAST	1024

/*
 * window->step: the step's number, and how many of its spans are done. 0: nothing of it is, and its advance is still to
 * be made.
 */
#define STATE_STEP(state)	((state) >> 8)
#define STATE_SPANS(state)	((state) & 255)
#define STATE(step, spans)	((step) << 8 | (spans))

/* ------------------------------------------------------------------ walks */

/*
 * Pass one struct that is made of fixed-width fields and spans and lies at hand; false, with the cursor where it was, if it is not, or its
 * lengths lead out of the payload: the walk by fields then asks for bytes, or stays inside.
 */
static inline bool
skip_struct_at_hand(plan_cursor *cursor, const kiln_type *type)
{
	size_t		pos = cursor->pos - cursor->start;	/* in the window; beyond it if the cursor is before it */
	size_t		length;

	for (const kiln_step *step = type->steps, *stop = step + type->step_count; step < stop; step++)
	{
		if (step->op == KILN_STEP_RUN)
			pos += step->width;
		else
		{
			if (step->op != KILN_STEP_SPAN || pos > cursor->have || cursor->have - pos < 4)
				return false;
			length = kiln_load_u32(cursor->data + pos);
			pos += 4;
			if (length > cursor->have - pos)
				return false;
			pos += length;
		}
		if (pos > cursor->have)
			return false;
	}
	cursor->pos = cursor->start + pos;
	return true;
}

static bool
skip_elements(plan_cursor *cursor, const kiln_type *type, bool keys)
{
	const kiln_type *element = type->element;
	bool		structs = element->kind == KILN_STRUCT && element->width == 0;
	uint32_t	count;
	uint32_t	i;

	if (!plan_count(PLAN_WINDOW, cursor, (keys ? 4 : 0) + element->least, &count))
		return false;
	if (!keys && element->width != 0)
	{
		cursor->pos += (size_t) count * element->width;
		return true;
	}
	for (i = 0; i < count; i++)
	{
		uint32_t	length;

		if (keys)
		{
			if (!plan_span(PLAN_WINDOW, cursor, &length))
				return false;
			cursor->pos += length;
		}
		if (!(structs && skip_struct_at_hand(cursor, element)) && !plan_skip(PLAN_WINDOW, cursor, element))
			return false;
		plan_poll(PLAN_WINDOW, cursor, i);
	}
	return true;
}

/* Recursion is bounded by KILN_MAX_DEPTH. */
bool
kiln_plan_window_skip(plan_cursor *cursor, const kiln_type *type)
{
	bool		present;
	uint32_t	i;

	switch (type->kind)
	{
		case KILN_OPTIONAL:
			if (!plan_tag(PLAN_WINDOW, cursor, &present))
				return false;
			return !present || plan_skip(PLAN_WINDOW, cursor, type->element);
		case KILN_LIST:
			return skip_elements(cursor, type, false);
		case KILN_DICT:
			return skip_elements(cursor, type, true);
		case KILN_STRUCT:
			for (i = 0; i < type->count; i++)
			{
				if (!plan_skip(PLAN_WINDOW, cursor, type->fields[i].type))
					return false;
			}
			return true;
		default:				/* scalars: not in a walk, but right all the same */
			return plan_skip(PLAN_WINDOW, cursor, type);
	}
}

/* ------------------------------------------------------------------ windows */

static void
open_cursor(plan_cursor *cursor, const kiln_window *window)
{
	memset(cursor, 0, sizeof *cursor);
	cursor->data = window->data;
	cursor->start = window->start;
	cursor->have = window->have;
	cursor->n = window->total;
	cursor->pos = window->pos;
	cursor->poll = window->poll;
}

/*
 * Ask for the bytes that the cursor could not reach, and for all from begin on. In a walk, for at least twice what
 * there was from begin on.
 */
static void
ask(kiln_window *window, const plan_cursor *cursor, size_t begin, bool walk)
{
	size_t		from = begin < cursor->at ? begin : cursor->at;
	size_t		to = cursor->at + cursor->width;

	if (walk)
	{
		size_t		held = 0;
		size_t		wanted;

		if (from >= window->start && from - window->start < window->have)
			held = window->have - (from - window->start);
		wanted = held > WALK_LEAST / 2 ? held * 2 : WALK_LEAST;
		if (wanted > window->total - from)
			wanted = window->total - from;
		if (to < from + wanted)
			to = from + wanted;
	}
	window->need_from = from;
	window->need_to = to;
}

static bool
step_walks(const kiln_plan_step *step)
{
	return step->op == PLAN_WALK || step->op == PLAN_INDEX_WALK || step->op == PLAN_KEY;
}

kiln_found
kiln_plan_run_window(const kiln_plan *plan, kiln_window *window)
{
	plan_cursor cursor;
	kiln_found	found;

	if (plan->constant)
	{
		window->pos = plan->offset < window->total ? plan->offset : window->total;
		return KILN_FOUND;
	}
	open_cursor(&cursor, window);
	cursor.spans = STATE_SPANS(window->step);
	found = plan_steps(PLAN_WINDOW, plan, &cursor, STATE_STEP(window->step));
	if (found == KILN_NEED)
	{
		const kiln_plan_step *step = &plan->steps[cursor.step];

		/* a row of spans goes on where it is; any other step begins again, with its advance still to be made */
		ask(window, &cursor, step->op == PLAN_SPANS ? cursor.at : cursor.begin, step_walks(step));
		window->step = STATE(cursor.step, cursor.spans);
		window->pos = cursor.spans != 0 ? cursor.pos : cursor.begin - step->advance;
		return KILN_NEED;
	}
	window->step = STATE(plan->step_count, 0);
	window->pos = cursor.pos < window->total ? cursor.pos : window->total;
	return found;
}

kiln_found
kiln_window_measure(const kiln_type *type, kiln_window *window)
{
	plan_cursor cursor;

	open_cursor(&cursor, window);
	if (!plan_skip(PLAN_WINDOW, &cursor, type))
	{
		bool		walk = !kiln_kind_is_span(type->kind) && !(type->kind == KILN_LIST && type->element->width != 0);

		ask(window, &cursor, walk ? window->pos : cursor.at, walk);
		return KILN_NEED;
	}
	window->need_from = window->pos;
	window->need_to = cursor.pos < window->total ? cursor.pos : window->total;
	return KILN_FOUND;
}
