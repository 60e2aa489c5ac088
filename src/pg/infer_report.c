/*
 * What inference saw, for people: an object of a jsonb array for each place, which kiln_infer_report() shows as rows.
 *
 * The names of its members are the columns of kiln_infer_report(): change both.
 */
#include "kiln_infer.h"

#include <math.h>

#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/json.h"

#include "kiln_text.h"

#define FEW_ROWS	100			/* fewer are told to be few */

/* A report while it is written. */
typedef struct Report
{
	StringInfoData json;
	StringInfoData path;		/* of the place at hand; server encoding */
	StringInfoData notes;
	bool		begun;			/* a row stands there already */
} Report;

/* ------------------------------------------------------------------ pieces */

/* One more thing that is uncertain. */
static void note(Report *report, const char *format,...) pg_attribute_printf(2, 3);

static void
note(Report *report, const char *format,...)
{
	va_list		args;
	char		text[512];

	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	if (report->notes.len > 0)
		appendStringInfoString(&report->notes, "; ");
	appendStringInfoString(&report->notes, text);
}

static void
put_text(StringInfo json, const char *name, const char *text)
{
	appendStringInfo(json, ",\"%s\":", name);
	escape_json(json, text);
}

static void
put_count(StringInfo json, const char *name, uint64 count)
{
	appendStringInfo(json, ",\"%s\":" UINT64_FORMAT, name, count);
}

static void
put_extent(StringInfo json, const KilnExtent *extent)
{
	if (extent->least > extent->most)
		return;
	appendStringInfo(json, ",\"lowest\":\"" UINT64_FORMAT "\",\"highest\":\"" UINT64_FORMAT "\"", extent->least,
					 extent->most);
}

static void
put_number(StringInfo json, const char *name, double number)
{
	char		digits[33];

	digits[kiln_print_f64(number, digits)] = '\0';
	put_text(json, name, digits);
}

/* Least and greatest: exact where the state has them so, else as doubles. */
static void
put_numbers(StringInfo json, const KilnPlace *place)
{
	if (place->whole && place->least < 0)
		appendStringInfo(json, ",\"lowest\":\"" INT64_FORMAT "\"", place->least);
	else
		put_number(json, "lowest", place->low);
	if (place->whole && place->most > 0)
		appendStringInfo(json, ",\"highest\":\"" UINT64_FORMAT "\"", place->most);
	else
		put_number(json, "highest", place->high);
}

static const char *
seen_word(int kind)
{
	static const char *const words[] = {"null", "boolean", "number", "string", "array", "object"};

	return words[kind];
}

static void
put_kinds(StringInfo json, const KilnPlace *place)
{
	const char *between = "";

	appendStringInfoString(json, ",\"kinds\":\"");
	for (int i = 0; i < KILN_SEEN_KINDS; i++)
	{
		if (place->seen[i] == 0)
			continue;
		appendStringInfo(json, "%s%s " UINT64_FORMAT, between, seen_word(i), place->seen[i]);
		between = ", ";
	}
	appendStringInfoChar(json, '"');
}

/* ------------------------------------------------------------------ what is uncertain */

static void
note_number(Report *report, const KilnPlace *place)
{
	uint8		kind = kiln_infer_scalar(place);

	if (kind == KILN_NUMERIC)
		note(report, "f64 would not give all of them back");
	else if (kind != KILN_F64)
	{
		bool		widest = kind == KILN_I64 || kind == KILN_U64;

		note(report, "whole numbers only: a later one may have a fraction%s%s", widest ? "" : " or pass ",
			 widest ? "" : kiln_kind_word(kind));
	}
	if (place->scaled > 0 && kind != KILN_NUMERIC)
		note(report, UINT64_FORMAT " written with zeros at the end (1.50), which ->> shows without", place->scaled);
}

static void
note_string(Report *report, const KilnPlace *place)
{
	uint8		kind = kiln_infer_scalar(place);
	const char *word = place->readable & KILN_WORD_DATE ? "date" : place->readable & KILN_WORD_TIMESTAMP ? "timestamp" :
		place->readable & KILN_WORD_TIMESTAMPTZ ? "timestamptz" : "uuid";

	if (kind != KILN_STRING)
		note(report, "a later string may be no %s", kiln_kind_word(kind));
	else if (place->readable && place->seen[KILN_SEEN_STRING] > place->infinite)
		note(report, "each reads as %s, but not all are spelled as kiln writes it: string keeps them", word);
}

static void
note_object(Report *report, const KilnPlace *place)
{
	switch (place->dict)
	{
		case KILN_DICT_NOT:
			if (place->count == 0)
				note(report, "empty objects only: type of the values guessed");
			else if (place->open)
				note(report, "keys look open-ended (%u distinct), but their values differ in kind", place->count);
			break;
		case KILN_DICT_LOOKS:
			note(report, "keys look open-ended: " UINT64_FORMAT " distinct", place->distinct);
			break;
		case KILN_DICT_PLACES:
			note(report, "more keys in all than are told apart: a dict");
			break;
		case KILN_DICT_KEYS:
			note(report, "more than %d keys: a dict", KILN_INFER_KEYS);
			break;
		case KILN_DICT_NAME:
			note(report, "a key can't be a field's name, \"%s\": a dict", kiln_utf8_for_message(place->odd, strlen(place->odd)));
			break;
	}
}

static void
note_kind(Report *report, const KilnPlace *place)
{
	if (place->seen[KILN_SEEN_NUMBER] > 0)
		note_number(report, place);
	else if (place->seen[KILN_SEEN_STRING] > 0)
		note_string(report, place);
	else if (place->seen[KILN_SEEN_LIST] > 0 && place->element == NULL)
		note(report, "empty lists only: type of the elements guessed");
	else if (place->seen[KILN_SEEN_OBJECT] > 0)
		note_object(report, place);
}

/* object: whose member the place is; NULL if it is none. */
static void
note_place(Report *report, const KilnPlace *place, const KilnPlace *object, uint64 absent, const KilnChoice *choice)
{
	uint64		total = kiln_place_total(place);

	if (report->path.len == 0 && total < FEW_ROWS)
		note(report, "only " UINT64_FORMAT " rows seen", total);
	if (absent > 0 && total < (total + absent) / 100)
		note(report, "only " UINT64_FORMAT " of " UINT64_FORMAT " have it", total, total + absent);
	if (object && place->seen[KILN_SEEN_NULL] > 0 && choice->optional)
		note(report, "null " UINT64_FORMAT " times, which reads back as absent", place->seen[KILN_SEEN_NULL]);
	if (choice->json)
		note(report, kiln_place_kinds(place) > 1 || place->null ? "values of several kinds: kept as json"
			 : "deeper than a definition may be: kept as json");
	else if (kiln_place_kinds(place) == 0)
		note(report, "nulls only: type guessed");
	else
		note_kind(report, place);
}

/* ------------------------------------------------------------------ rows */

static void
put_row(Report *report, const KilnPlace *place, const KilnPlace *object, uint64 absent, int left,
		const KilnChoice *choice)
{
	StringInfo	json = &report->json;
	StringInfoData type;

	resetStringInfo(&report->notes);
	note_place(report, place, object, absent, choice);
	initStringInfo(&type);
	kiln_infer_print(place, absent > 0, left, true, &type);
	appendStringInfoString(json, report->begun ? ",{\"path\":" : "{\"path\":");
	report->begun = true;
	escape_json(json, report->path.data);
	put_text(json, "type", type.data);
	put_count(json, "seen", kiln_place_total(place));
	put_count(json, "absent", absent);
	put_count(json, "nulls", place->seen[KILN_SEEN_NULL]);
	put_kinds(json, place);
	if (!choice->json && place->seen[KILN_SEEN_NUMBER] > 0)
		put_numbers(json, place);
	else if (!choice->json && place->seen[KILN_SEEN_OBJECT] > 0)
	{
		put_extent(json, &place->keys);
		if (place->dict != KILN_DICT_NAME)
			put_count(json, "keys", place->dict ? place->distinct : place->count);
	}
	else if (!choice->json)
		put_extent(json, place->seen[KILN_SEEN_LIST] > 0 ? &place->elements : &place->bytes);
	if (report->notes.len > 0)
		put_text(json, "uncertain", report->notes.data);
	appendStringInfoChar(json, '}');
	pfree(type.data);
}

/* A field's step of a path, quoted if it has to be (docs/FORMAT.md, section 6). */
static void
push_name(StringInfo path, const KilnMember *member)
{
	char	   *name = kiln_utf8_to_server(member->name, member->length);

	if (path->len > 0)
		appendStringInfoChar(path, '.');
	if (strpbrk(name, ".[]\"") == NULL && strcmp(name, "*") != 0)
	{
		appendStringInfoString(path, name);
		return;
	}
	appendStringInfoChar(path, '"');
	for (const char *p = name; *p; p++)
	{
		if (*p == '"')
			appendStringInfoChar(path, '"');
		appendStringInfoChar(path, *p);
	}
	appendStringInfoChar(path, '"');
}

static void
walk(Report *report, const KilnPlace *place, const KilnPlace *object, uint64 absent, int left)
{
	KilnChoice	choice = kiln_infer_choose(place, absent > 0, left);
	int			length = report->path.len;

	check_stack_depth();
	CHECK_FOR_INTERRUPTS();
	put_row(report, place, object, absent, left, &choice);
	if (choice.json)
		return;
	if (place->element)
	{
		appendStringInfoString(&report->path, place->seen[KILN_SEEN_LIST] > 0 ? "[*]" : length > 0 ? ".*" : "*");
		walk(report, place->element, NULL, 0, choice.left);
	}
	for (uint32 i = 0; i < place->count; i++)
	{
		const KilnMember *member = &place->members[i];

		report->path.len = length;
		report->path.data[length] = '\0';
		push_name(&report->path, member);
		walk(report, member->place, place, place->seen[KILN_SEEN_OBJECT] - kiln_place_total(member->place), choice.left);
	}
	report->path.len = length;
	report->path.data[length] = '\0';
}

Datum
kiln_infer_report_datum(const KilnPlace *root)
{
	Report		report = {.begun = false};

	initStringInfo(&report.json);
	initStringInfo(&report.path);
	initStringInfo(&report.notes);
	appendStringInfoChar(&report.json, '[');
	walk(&report, root, NULL, 0, KILN_MAX_DEPTH);
	appendStringInfoChar(&report.json, ']');
	return DirectFunctionCall1(jsonb_in, CStringGetDatum(report.json.data));
}
