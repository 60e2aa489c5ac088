/*
 * Places: what was seen in documents at one path, and how two such become one.
 *
 * Merging is commutative and associative, so that it does not matter which documents came first or in which worker.
 * A place whose values are of several kinds holds no more than how many of each there were: nothing below it has a
 * say any more.
 *
 * All of a state's places are allocated in one context of its own and counted, and given back when they are merged
 * away.
 */
#include "kiln_infer.h"

#include <math.h>

#include "miscadmin.h"

/* ------------------------------------------------------------------ made and given back */

KilnInferState *
kiln_infer_state_new(MemoryContext context)
{
	KilnInferState *state = MemoryContextAllocZero(context, sizeof(KilnInferState));

	state->context = AllocSetContextCreate(context, "kiln inference", ALLOCSET_SMALL_SIZES);
	state->root = kiln_place_new(state);
	return state;
}

KilnPlace *
kiln_place_new(KilnInferState *state)
{
	KilnPlace  *place = MemoryContextAllocZero(state->context, sizeof(KilnPlace));

	state->places++;
	place->whole = place->f64 = true;
	place->low = INFINITY;
	place->high = -INFINITY;
	place->exact = place->readable = KILN_WORD_ALL;
	place->bytes.least = place->elements.least = place->keys.least = PG_UINT64_MAX;
	return place;
}

static void
free_members(KilnInferState *state, KilnPlace *place)
{
	for (uint32 i = 0; i < place->count; i++)
	{
		pfree(unconstify(char *, place->members[i].name));
		kiln_place_free(state, place->members[i].place);
	}
	if (place->members)
		pfree(place->members);
	place->members = NULL;
	place->count = place->capacity = 0;
}

/* All below a place. */
static void
free_inside(KilnInferState *state, KilnPlace *place)
{
	free_members(state, place);
	if (place->element)
		kiln_place_free(state, place->element);
	place->element = NULL;
}

void
kiln_place_free(KilnInferState *state, KilnPlace *place)
{
	check_stack_depth();
	free_inside(state, place);
	if (place->odd)
		pfree(place->odd);
	pfree(place);
	state->places--;
}

KilnPlace *
kiln_place_element(KilnInferState *state, KilnPlace *place)
{
	if (place->element == NULL)
		place->element = kiln_place_new(state);
	return place->element;
}

/* ------------------------------------------------------------------ members */

uint32
kiln_place_find(const KilnPlace *place, const char *name, size_t length, bool *found)
{
	uint32		low = 0;
	uint32		high = place->count;

	*found = false;
	while (low < high && !*found)
	{
		uint32		middle = low + (high - low) / 2;
		const KilnMember *member = &place->members[middle];
		int			order = kiln_compare_bytes(member->name, member->length, name, length);

		*found = order == 0;
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return high;
}

KilnMember *
kiln_place_insert(KilnInferState *state, KilnPlace *place, uint32 at, const char *name, size_t length)
{
	char	   *copy = MemoryContextAlloc(state->context, length + 1);
	KilnMember *member;

	memcpy(copy, name, length);
	copy[length] = '\0';
	if (place->count == place->capacity)
	{
		uint32		capacity = Max(8, place->capacity * 2);

		place->members = place->members ? repalloc(place->members, capacity * sizeof(KilnMember))
			: MemoryContextAlloc(state->context, capacity * sizeof(KilnMember));
		place->capacity = capacity;
	}
	member = &place->members[at];
	memmove(member + 1, member, (place->count - at) * sizeof(KilnMember));
	place->count++;
	member->name = copy;
	member->length = length;
	member->place = kiln_place_new(state);
	return member;
}

/* ------------------------------------------------------------------ counts */

void
kiln_extent_take(KilnExtent *extent, uint64 size)
{
	extent->least = Min(extent->least, size);
	extent->most = Max(extent->most, size);
}

uint64
kiln_place_total(const KilnPlace *place)
{
	uint64		total = 0;

	for (int i = 0; i < KILN_SEEN_KINDS; i++)
		total += place->seen[i];
	return total;
}

int
kiln_place_kinds(const KilnPlace *place)
{
	int			kinds = 0;

	for (int i = KILN_SEEN_BOOL; i < KILN_SEEN_KINDS; i++)
		kinds += place->seen[i] > 0;
	return kinds;
}

/* ------------------------------------------------------------------ dicts */

/*
 * Of two keys that can't be names the one that sorts first is told, so that it depends less on the order of
 * documents. What is told of a key that was cut ends with a whole character.
 */
static void
keep_odd(KilnInferState *state, KilnPlace *place, const char *odd, size_t length)
{
	bool		nul;

	if (odd == NULL)
		return;
	length = kiln_utf8_prefix((const uint8_t *) odd, length, &nul);
	if (place->odd)
	{
		if (kiln_compare_bytes(place->odd, strlen(place->odd), odd, length) <= 0)
			return;
		pfree(place->odd);
	}
	place->odd = MemoryContextAlloc(state->context, length + 1);
	memcpy(place->odd, odd, length);
	place->odd[length] = '\0';
}

void
kiln_place_become_dict(KilnInferState *state, KilnPlace *place, KilnDictReason reason, const char *odd, size_t length)
{
	if (place->dict == KILN_DICT_NOT)
	{
		KilnMember *members = place->members;
		uint32		count = place->count;

		place->distinct = count;
		place->members = NULL;
		place->count = place->capacity = 0;
		for (uint32 i = 0; i < count; i++)
		{
			kiln_place_merge(state, kiln_place_element(state, place), members[i].place);
			pfree(unconstify(char *, members[i].name));
			kiln_place_free(state, members[i].place);
		}
		if (members)
			pfree(members);
	}
	place->dict = Max(place->dict, reason);
	keep_odd(state, place, odd, length);
}

/* ------------------------------------------------------------------ merging */

static void
merge_extents(KilnExtent *into, const KilnExtent *from)
{
	into->least = Min(into->least, from->least);
	into->most = Max(into->most, from->most);
}

static void
merge_scalars(KilnPlace *into, const KilnPlace *from)
{
	for (int i = 0; i < KILN_SEEN_KINDS; i++)
		into->seen[i] += from->seen[i];
	into->whole &= from->whole;
	into->f64 &= from->f64;
	into->least = Min(into->least, from->least);
	into->most = Max(into->most, from->most);
	into->low = Min(into->low, from->low);
	into->high = Max(into->high, from->high);
	into->scaled += from->scaled;
	into->exact &= from->exact;
	into->readable &= from->readable;
	into->infinite += from->infinite;
	merge_extents(&into->bytes, &from->bytes);
	merge_extents(&into->elements, &from->elements);
	merge_extents(&into->keys, &from->keys);
	into->deep |= from->deep;
}

static void
merge_members(KilnInferState *state, KilnPlace *into, const KilnPlace *from)
{
	for (uint32 i = 0; i < from->count; i++)
	{
		const KilnMember *member = &from->members[i];
		bool		found;
		uint32		at;

		if (into->dict == KILN_DICT_NOT)
		{
			at = kiln_place_find(into, member->name, member->length, &found);
			if (!found && into->count == KILN_INFER_KEYS)
				kiln_place_become_dict(state, into, KILN_DICT_KEYS, NULL, 0);
			else if (!found)
				(void) kiln_place_insert(state, into, at, member->name, member->length);
		}
		kiln_place_merge(state, into->dict ? kiln_place_element(state, into) : into->members[at].place, member->place);
	}
}

void
kiln_place_merge(KilnInferState *state, KilnPlace *into, const KilnPlace *from)
{
	check_stack_depth();
	CHECK_FOR_INTERRUPTS();
	merge_scalars(into, from);
	if (kiln_place_mixed(into))
	{
		free_inside(state, into);
		return;
	}
	if (from->dict)
	{
		kiln_place_become_dict(state, into, from->dict, from->odd, from->odd ? strlen(from->odd) : 0);
		into->distinct = Max(into->distinct, from->distinct);
	}
	if (from->element)
		kiln_place_merge(state, kiln_place_element(state, into), from->element);
	merge_members(state, into, from);
}

/* ------------------------------------------------------------------ the bound */

/* The object with the most members, the outermost apart; of equals, the first. */
static void
find_widest(KilnPlace *place, bool outermost, KilnPlace **widest)
{
	check_stack_depth();
	if (!outermost && place->count > 0 && (*widest == NULL || place->count > (*widest)->count))
		*widest = place;
	if (place->element)
		find_widest(place->element, false, widest);
	for (uint32 i = 0; i < place->count; i++)
		find_widest(place->members[i].place, false, widest);
}

void
kiln_infer_shrink(KilnInferState *state)
{
	if (state->places <= KILN_INFER_PLACES)
		return;
	while (state->places > KILN_INFER_PLACES / 2)
	{
		KilnPlace  *widest = NULL;

		CHECK_FOR_INTERRUPTS();
		find_widest(state->root, true, &widest);
		if (widest == NULL)
			break;
		kiln_place_become_dict(state, widest, KILN_DICT_PLACES, NULL, 0);
	}
}
