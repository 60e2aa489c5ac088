/*
 * From what was seen to a definition: the tightest type that gives every value back.
 *
 * A copy of the state's tree is settled first: objects whose keys look open-ended become dicts, outer ones before
 * inner ones, and the levels that each type takes are counted from the leaves up. Then the definition is written
 * from the root down, knowing how many levels are left; what would be too deep is json.
 */
#include "kiln_infer.h"

#include "miscadmin.h"

/* ------------------------------------------------------------------ open-ended keys */

static bool
begins_with_digit(const KilnPlace *place)
{
	for (uint32 i = 0; i < place->count; i++)
		if (place->members[i].name[0] < '0' || place->members[i].name[0] > '9')
			return false;
	return true;
}

static bool
in_all_objects(const KilnPlace *place)
{
	for (uint32 i = 0; i < place->count; i++)
		if (kiln_place_total(place->members[i].place) == place->seen[KILN_SEEN_OBJECT])
			return true;
	return false;
}

/* Do the keys look as if later documents brought others? */
static bool
looks_open(const KilnPlace *place)
{
	uint64		pairs = 0;

	if (place->count == 0)
		return false;
	if (begins_with_digit(place))
		return true;
	if (place->count < KILN_INFER_OPEN_KEYS || in_all_objects(place))
		return false;
	for (uint32 i = 0; i < place->count; i++)
		pairs += kiln_place_total(place->members[i].place);
	return pairs * KILN_INFER_OPEN_SHARE <= place->count * place->seen[KILN_SEEN_OBJECT];
}

/* Would the values be of one kind? */
static bool
values_unify(const KilnPlace *place)
{
	uint64		seen[KILN_SEEN_KINDS] = {0};
	int			kinds = 0;

	for (uint32 i = 0; i < place->count; i++)
	{
		if (kiln_place_mixed(place->members[i].place))
			return false;
		for (int kind = KILN_SEEN_BOOL; kind < KILN_SEEN_KINDS; kind++)
			seen[kind] += place->members[i].place->seen[kind];
	}
	for (int kind = KILN_SEEN_BOOL; kind < KILN_SEEN_KINDS; kind++)
		kinds += seen[kind] > 0;
	return kinds == 1;
}

/* ------------------------------------------------------------------ settling */

/* Without its levels' own "?": what a place adds to those of the type that it stands in. */
static int
whole_levels(const KilnPlace *place, bool absent)
{
	return place->levels + kiln_infer_choose(place, absent, KILN_MAX_DEPTH).optional;
}

static void
count_levels(KilnPlace *place)
{
	int			inside = 0;

	if (kiln_place_mixed(place) || (place->seen[KILN_SEEN_LIST] == 0 && place->seen[KILN_SEEN_OBJECT] == 0))
		return;
	if (place->element)
		inside = whole_levels(place->element, false);
	for (uint32 i = 0; i < place->count; i++)
		inside = Max(inside, whole_levels(place->members[i].place, kiln_infer_absent(place, &place->members[i])));
	place->levels = (uint8) (1 + inside);
}

static void
settle(KilnInferState *state, KilnPlace *place, bool outermost)
{
	check_stack_depth();
	CHECK_FOR_INTERRUPTS();
	if (!outermost && place->dict == KILN_DICT_NOT && looks_open(place))
	{
		if (values_unify(place))
			kiln_place_become_dict(state, place, KILN_DICT_LOOKS, NULL, 0);
		else
			place->open = true;
	}
	if (place->element)
		settle(state, place->element, false);
	for (uint32 i = 0; i < place->count; i++)
		settle(state, place->members[i].place, false);
	count_levels(place);
	/* the whole is not optional: where there were nulls only json takes all */
	if (outermost && place->seen[KILN_SEEN_NULL] > 0)
		place->null = true;
}

KilnPlace *
kiln_infer_settle(const KilnInferState *state)
{
	KilnInferState *copy = kiln_infer_state_new(CurrentMemoryContext);

	kiln_place_merge(copy, copy->root, state->root);
	settle(copy, copy->root, true);
	return copy->root;
}

/* ------------------------------------------------------------------ choosing */

bool
kiln_infer_absent(const KilnPlace *object, const KilnMember *member)
{
	return kiln_place_total(member->place) < object->seen[KILN_SEEN_OBJECT];
}

KilnChoice
kiln_infer_choose(const KilnPlace *place, bool absent, int left)
{
	bool		empty = kiln_place_kinds(place) == 0;
	KilnChoice	choice;

	choice.optional = absent || empty || place->seen[KILN_SEEN_NULL] > 0;
	/* a container takes a level, its "?" one, and one is left for an element's "?" */
	choice.json = kiln_place_mixed(place) || place->null || (place->levels + choice.optional > left && left < 3);
	if (choice.json)
		choice.optional = absent;	/* null is a value of json */
	choice.left = left - 1 - choice.optional;
	return choice;
}

static uint8
whole_kind(const KilnPlace *place)
{
	static const struct
	{
		uint8		kind;
		int64		least;
		uint64		most;
	}			kinds[] = {
		{KILN_I8, PG_INT8_MIN, PG_INT8_MAX}, {KILN_U8, 0, PG_UINT8_MAX}, {KILN_I16, PG_INT16_MIN, PG_INT16_MAX},
		{KILN_U16, 0, PG_UINT16_MAX}, {KILN_I32, PG_INT32_MIN, PG_INT32_MAX}, {KILN_U32, 0, PG_UINT32_MAX},
		{KILN_I64, PG_INT64_MIN, PG_INT64_MAX}, {KILN_U64, 0, PG_UINT64_MAX}
	};

	for (size_t i = 0; i < lengthof(kinds); i++)
		if (place->least >= kinds[i].least && place->most <= kinds[i].most)
			return kinds[i].kind;
	return place->f64 ? KILN_F64 : KILN_NUMERIC;	/* from below zero to above i64 */
}

uint8
kiln_infer_scalar(const KilnPlace *place)
{
	if (place->seen[KILN_SEEN_BOOL] > 0)
		return KILN_BOOL;
	if (place->seen[KILN_SEEN_NUMBER] > 0)
		return place->whole ? whole_kind(place) : place->f64 ? KILN_F64 : KILN_NUMERIC;
	if (place->seen[KILN_SEEN_STRING] == place->infinite)
		return KILN_STRING;
	if (place->exact & KILN_WORD_DATE)
		return KILN_DATE;
	if (place->exact & KILN_WORD_TIMESTAMP)
		return KILN_TIMESTAMP;
	if (place->exact & KILN_WORD_TIMESTAMPTZ)
		return KILN_TIMESTAMPTZ;
	if (place->exact & KILN_WORD_UUID)
		return KILN_UUID;
	return KILN_STRING;
}

/* ------------------------------------------------------------------ writing */

static void
print_element(const KilnPlace *element, int left, bool brief, StringInfo buf)
{
	if (element)
		kiln_infer_print(element, false, left, brief, buf);
	else
		appendStringInfoString(buf, kiln_kind_word(KILN_STRING));
}

static void
print_struct(const KilnPlace *place, int left, bool brief, StringInfo buf)
{
	char		quoted[2 * KILN_MAX_NAME + 3];

	if (brief)
	{
		appendStringInfoString(buf, "(...)");
		return;
	}
	for (uint32 i = 0; i < place->count; i++)
	{
		const KilnMember *member = &place->members[i];

		appendStringInfoChar(buf, i == 0 ? '(' : ',');
		appendBinaryStringInfo(buf, quoted, (int) kiln_name_quote(member->name, member->length, quoted));
		appendStringInfoChar(buf, ' ');
		kiln_infer_print(member->place, kiln_infer_absent(place, member), left, brief, buf);
	}
	appendStringInfoChar(buf, ')');
}

void
kiln_infer_print(const KilnPlace *place, bool absent, int left, bool brief, StringInfo buf)
{
	KilnChoice	choice = kiln_infer_choose(place, absent, left);

	check_stack_depth();
	CHECK_FOR_INTERRUPTS();
	if (choice.json)
		appendStringInfoString(buf, kiln_kind_word(KILN_JSON));
	else if (place->seen[KILN_SEEN_LIST] > 0)
	{
		print_element(place->element, choice.left, brief, buf);
		appendStringInfoString(buf, "[]");
	}
	else if (place->seen[KILN_SEEN_OBJECT] > 0 && place->count > 0)
		print_struct(place, choice.left, brief, buf);
	else if (place->seen[KILN_SEEN_OBJECT] > 0)
	{
		appendStringInfoString(buf, "dict<");
		print_element(place->element, choice.left, brief, buf);
		appendStringInfoChar(buf, '>');
	}
	else
		appendStringInfoString(buf, kiln_kind_word(kiln_infer_scalar(place)));
	if (choice.optional)
		appendStringInfoChar(buf, '?');
}
