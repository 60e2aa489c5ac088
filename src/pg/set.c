/*
 * kiln_set: a value with one place changed.
 *
 * No length or offset in a payload covers more than one scalar; beside tags only the counts of lists and dicts say
 * what follows. So a change is a splice: the bytes before the place, what is put there, the bytes after it, and
 * perhaps one count that goes up. Nothing else of the value is read again or written differently; where the width
 * stays, it is an overwrite in a copy.
 *
 * The place is found by held reads. What the path leads through but is not there (an absent optional, a dict's key,
 * the element behind a list's last) is made, with its other fields absent or at their defaults. The part of a path
 * inside a json field is core's jsonb_set().
 */
#include "kiln_change.h"

#include "catalog/pg_type.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/jsonb.h"
#include "utils/lsyscache.h"

#include "kiln_access.h"

/* A change under way. */
typedef struct Change
{
	const kiln_path *path;
	const KilnNewValue *value;
	kiln_writer *writer;
	KilnErrorPlace met;			/* where error was met */
	kiln_error	error;
} Change;

/*
 * Where the change goes in the payload: bytes [start, end) make way for a value of type, to which path steps from
 * step on still lead.
 */
typedef struct Place
{
	const kiln_type *type;		/* perhaps OPTIONAL */
	size_t		start;
	size_t		end;
	uint32		step;
	const kiln_path_step *key;	/* of a dict that lacks it: goes before the value */
	bool		grows;			/* the count at count_at goes up by one */
	size_t		count_at;
} Place;

static bool put_at(Change *change, const kiln_type *type, uint32 step);

/* ------------------------------------------------------------------ the path against the type */

static int
find_field(const kiln_type *type, const kiln_path_step *step)
{
	int			found;
	char		name[KILN_MAX_NAME + 1];
	size_t		length;

	if (step->is_index)
		return -1;
	found = kiln_struct_find(type, step->name, step->length);
	if (found < 0 && kiln_name_nfc(step->name, step->length, name, &length))
		found = kiln_struct_find(type, name, length);
	return found;
}

/* Raise what is wrong with a path, as a reader of it would. */
pg_noreturn static void
report_path(const KilnSchema *schema, const kiln_path *path)
{
	kiln_allocator allocator = kiln_palloc_allocator(NULL);
	kiln_plan	plan;
	kiln_error	error;
	const kiln_path_step *step;

	if (kiln_plan_compile(schema->root, path, &allocator, &plan, &error))
		elog(ERROR, "path of a kiln value leads somewhere after all");
	if (error.code != KILN_E_PATH_FIELD)
		kiln_report(&error, KILN_IN_PATH, NULL);
	step = &path->steps[plan.fault_step];
	if (kiln_path_elsewhere(schema, path))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_COLUMN),
				 errmsg("field \"%s\" does not exist in this version of kiln schema \"%s\"",
						kiln_utf8_for_message(step->name, step->length),
						kiln_utf8_for_message(schema->root->name, schema->root->name_length)),
				 errhint("Bring the value to a version that has it: kiln_upgrade(value).")));
	kiln_report_unknown_field(plan.fault_type, plan.fault_type->name, step->name, step->length);
}

/*
 * The type of the place that a path leads to, as declared; *json is set if that is inside json.
 */
static const kiln_type *
type_at(const KilnSchema *schema, const kiln_path *path, bool *json)
{
	const kiln_type *type = schema->root;

	*json = false;
	for (uint32 i = 0; i < path->count && !*json; i++)
	{
		const kiln_path_step *step = &path->steps[i];
		int			index;

		if (type->kind == KILN_OPTIONAL)
			type = type->element;
		if (type->kind == KILN_STRUCT && (index = find_field(type, step)) >= 0)
			type = type->fields[index].type;
		else if ((type->kind == KILN_DICT && !step->is_index) || (type->kind == KILN_LIST && step->is_index))
			type = type->element;
		else if (type->kind == KILN_JSON)
			*json = true;
		else
			report_path(schema, path);
	}
	return type;
}

/* ------------------------------------------------------------------ the place in the payload */

static size_t
skip(const kiln_held *held, const kiln_type *type, size_t pos)
{
	return kiln_held_skip(held, type, Min(pos, held->n));
}

/* Look a key up: true and *pos behind it, or the pair's place if it is not there. */
static bool
seek_key(const kiln_held *held, const kiln_type *type, const kiln_path_step *step, size_t *pos, Place *place)
{
	uint32		count = kiln_held_count(held, *pos, 4 + type->element->least);

	place->count_at = kiln_held_at(held, *pos, 4);
	*pos = place->count_at + 4;
	for (uint32 i = 0; i < count && *pos < held->n; i++)
	{
		size_t		pair = *pos;
		uint32		length;
		const uint8 *key = kiln_held_span(held, pair, &length);
		int			order = kiln_compare_bytes(key, length, step->name, step->length);

		*pos = (size_t) (key - held->data) + length;
		if (order == 0)
			return true;
		if (order > 0)
		{
			*pos = pair;
			break;
		}
		*pos = skip(held, type->element, *pos);
		if (i % 1024 == 1023)
			kiln_poll_interrupts();
	}
	place->key = step;
	place->grows = true;
	return false;
}

pg_noreturn static void
report_position(const kiln_path_step *step, uint32 count)
{
	ereport(ERROR,
			(errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
			 errmsg("position " INT64_FORMAT " is outside of the kiln list", step->index),
			 errdetail("The list has %u elements; position %u appends one.", count, count)));
}

/* Go to an element: true, or its place behind the last. */
static bool
seek_position(const kiln_held *held, const kiln_type *type, const kiln_path_step *step, size_t *pos, Place *place)
{
	uint32		count = kiln_held_count(held, *pos, type->element->least);
	int64		index = step->index < 0 ? step->index + count : step->index;

	if (index < 0 || index > (int64) count)
		report_position(step, count);
	place->count_at = kiln_held_at(held, *pos, 4);
	*pos = place->count_at + 4;
	if (type->element->width != 0)
		*pos += (size_t) index * type->element->width;
	else
		for (int64 i = 0; i < index && *pos < held->n; i++)
		{
			*pos = skip(held, type->element, *pos);
			if (i % 1024 == 1023)
				kiln_poll_interrupts();
		}
	place->grows = index == (int64) count;
	return !place->grows;
}

/* Follow the path as far as it leads to something. type_at() has found no fault in it. */
static void
seek(const kiln_type *type, const kiln_path *path, const kiln_held *held, Place *place)
{
	size_t		pos = 0;
	uint32		i = 0;
	bool		there = true;

	memset(place, 0, sizeof *place);
	for (; i < path->count && there; i++)
	{
		const kiln_path_step *step = &path->steps[i];

		if (type->kind == KILN_OPTIONAL)
		{
			if (kiln_held_u8(held, pos) == 0)
				break;
			type = type->element;
			pos++;
		}
		if (type->kind == KILN_JSON)
			break;
		if (type->kind == KILN_STRUCT)
		{
			int			index = find_field(type, step);

			for (int k = 0; k < index; k++)
				pos = skip(held, type->fields[k].type, pos);
			type = type->fields[index].type;
			continue;
		}
		there = type->kind == KILN_DICT ? seek_key(held, type, step, &pos, place)
			: seek_position(held, type, step, &pos, place);
		type = type->element;
	}
	place->type = type;
	place->step = i;
	place->start = pos;
	place->end = there ? skip(held, type, pos) : pos;
}

/* A payload that is too short for held reads is read from a copy with zeros behind it. */
static void
find_place(const kiln_type *root, const kiln_path *path, const uint8 *payload, size_t n, Place *place)
{
	uint8		padded[KILN_HELD_LEAST] = {0};
	kiln_held	held = {payload, n, kiln_poll_interrupts};

	if (n < KILN_HELD_LEAST)
	{
		memcpy(padded, payload, n);
		held.data = padded;
		held.n = KILN_HELD_LEAST;
	}
	seek(root, path, &held, place);
	place->start = Min(place->start, n);
	place->end = Max(Min(place->end, n), place->start);
	if (place->count_at + 4 > n)
		place->grows = false;
}

/* ------------------------------------------------------------------ what is put there */

static bool
put_bytes(Change *change, const void *bytes, size_t n)
{
	if (!kiln_writer_reserve(change->writer, n))
		kiln_report_too_large();
	kiln_writer_bytes(change->writer, bytes, n);
	return true;
}

static bool
put_tag(Change *change, uint8 tag)
{
	return put_bytes(change, &tag, 1);
}

static bool
put_key(Change *change, const kiln_path_step *key)
{
	uint8		length[4];

	if (memchr(key->name, '\0', key->length) != NULL)
		return kiln_fail(&change->error, KILN_E_NUL, 0, NULL);
	kiln_store_u32(length, (uint32) key->length);
	return put_bytes(change, length, 4) && put_bytes(change, key->name, key->length);
}

/* The new value itself, where the path ends. */
static bool
put_value(Change *change, const kiln_type *type)
{
	bool		optional = type->kind == KILN_OPTIONAL;
	const kiln_type *base = optional ? type->element : type;
	size_t		mark = kiln_writer_length(change->writer);
	uint8	   *written;

	if (kiln_new_value_is_null(change->value, base))
	{
		change->met = KILN_IN_RECORD;
		return optional ? put_tag(change, 0) : kiln_fail(&change->error, KILN_E_NULL, 0, NULL);
	}
	if (optional)
		(void) put_tag(change, 1);
	if (!kiln_put_value(base, change->value, change->writer, &change->met, &change->error))
		return false;
	written = change->writer->start + mark;
	if (optional && base->kind == KILN_JSON && kiln_writer_length(change->writer) - mark == 1 + 4 + 4 &&
		memcmp(written + 5, "null", 4) == 0)
	{
		/* what an optional json has as absent */
		written[0] = 0;
		change->writer->pos = written + 1;
	}
	return true;
}

/* The steps from step on as core's functions take them. */
static Datum
keys_from(const kiln_path *path, uint32 step)
{
	uint32		count = path->count - step;
	Datum	   *keys = palloc(count * sizeof(Datum));

	for (uint32 i = 0; i < count; i++)
	{
		const kiln_path_step *key = &path->steps[step + i];

		keys[i] = key->is_index ? CStringGetTextDatum(psprintf(INT64_FORMAT, key->index))
			: kiln_utf8_to_text_datum((const uint8_t *) key->name, key->length);
	}
	return PointerGetDatum(construct_array(keys, (int) count, TEXTOID, -1, false, TYPALIGN_INT));
}

/* A json value with the place inside it changed as jsonb_set() does, or taken out if the new value is NULL. */
static bool
put_inside_json(Change *change, Datum document, uint32 step)
{
	Datum		keys = keys_from(change->path, step);
	Jsonb	   *changed;
	StringInfoData buf;
	const char *text;
	size_t		length;
	uint8		word[4];

	if (change->value->isnull)
		changed = DatumGetJsonbP(DirectFunctionCall2(jsonb_delete_path, document, keys));
	else
		changed = DatumGetJsonbP(DirectFunctionCall4(jsonb_set, document, keys,
													 kiln_new_value_jsonb(change->value), BoolGetDatum(true)));
	initStringInfo(&buf);
	(void) JsonbToCString(&buf, &changed->root, VARSIZE(changed));
	text = kiln_server_to_utf8(buf.data, buf.len, &length);
	kiln_store_u32(word, (uint32) length);
	return put_bytes(change, word, 4) && put_bytes(change, text, length);
}

/* The json value that stands at payload[start, end). */
static Datum
json_document(const uint8 *payload, const Place *place)
{
	size_t		n = place->end - place->start;
	uint32_t	length = 0;
	const uint8 *text = n >= 4 ? kiln_view_span(payload + place->start, &length) : payload;
	char	   *server = kiln_utf8_to_server((const char *) text, n >= 4 ? Min(length, n - 4) : 0);

	return DirectFunctionCall1(jsonb_in, CStringGetDatum(server));
}

/* ------------------------------------------------------------------ what has to be made on the way */

/* A struct that was not there: the field that the path leads to, and as little as can be for the others. */
static bool
make_struct(Change *change, const kiln_type *type, uint32 step)
{
	int			target = find_field(type, &change->path->steps[step]);

	for (uint32 i = 0; i < type->count; i++)
	{
		const kiln_field *field = &type->fields[i];
		bool		good = true;

		if ((int) i == target)
			good = put_at(change, field->type, step + 1);
		else if (field->type->kind == KILN_OPTIONAL)
			good = put_tag(change, 0);
		else if (field->default_payload)
			good = put_bytes(change, field->default_payload, field->default_length);
		else
		{
			change->met = KILN_IN_RECORD;
			good = kiln_source_fail(&change->error, ERRCODE_NULL_VALUE_NOT_ALLOWED,
									"field has no value, is not optional and has no default");
		}
		if (!good)
		{
			kiln_error_prepend_name(&change->error, field->name, field->name_length);
			return false;
		}
	}
	return true;
}

/* A list or dict of one. */
static bool
make_single(Change *change, const kiln_type *type, uint32 step)
{
	const kiln_path_step *entry = &change->path->steps[step];
	uint8		one[4];

	if (type->kind == KILN_LIST && entry->index != 0)
		report_position(entry, 0);
	kiln_store_u32(one, 1);
	(void) put_bytes(change, one, 4);
	if (type->kind == KILN_DICT && !put_key(change, entry))
		return false;
	if (put_at(change, type->element, step + 1))
		return true;
	if (entry->is_index)
		kiln_error_prepend_index(&change->error, (uint64) entry->index);
	else
		kiln_error_prepend_name(&change->error, entry->name, entry->length);
	return false;
}

/* What steps from step on lead to, in a value of type that is not there yet. */
static bool
put_at(Change *change, const kiln_type *type, uint32 step)
{
	if (step == change->path->count)
		return put_value(change, type);
	switch (type->kind)
	{
		case KILN_OPTIONAL:
			return put_tag(change, 1) && put_at(change, type->element, step);
		case KILN_STRUCT:
			return make_struct(change, type, step);
		case KILN_JSON:
			return put_inside_json(change, DirectFunctionCall1(jsonb_in, CStringGetDatum(
				change->path->steps[step].is_index ? "[]" : "{}")), step);
		default:
			return make_single(change, type, step);
	}
}

/* ------------------------------------------------------------------ the change */

/* Raise the error of a change whose first steps steps are not in its path yet. */
pg_noreturn static void
report_change(Change *change, uint32 steps)
{
	while (steps-- > 0)
	{
		const kiln_path_step *step = &change->path->steps[steps];

		if (!step->is_index)
			kiln_error_prepend_name(&change->error, step->name, step->length);
		else if (step->index >= 0)
			kiln_error_prepend_index(&change->error, (uint64) step->index);
	}
	kiln_report(&change->error, change->met, NULL);
	pg_unreachable();
}

static void
check_kind(const kiln_frame *frame)
{
	if (frame->kind == KILN_FRAME_TENSORS)
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("cannot set a field of a tensor directory"),
				 errhint("Put directories together with ||.")));
	if (frame->kind == KILN_FRAME_UNVERIFIED)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("cannot change an unverified kiln value"),
				 errdetail("The value came in binary before its definition was registered."),
				 errhint("Store it again to have it verified.")));
}

static bool
put_place(Change *change, const uint8 *payload, const Place *place)
{
	if (place->key && !put_key(change, place->key))
		return false;
	if (place->type->kind == KILN_JSON && place->step < change->path->count && !place->grows)
		return put_inside_json(change, json_document(payload, place), place->step);
	return put_at(change, place->type, place->step);
}

struct varlena *
kiln_change(Datum container, const kiln_path *path, const KilnNewValue *value)
{
	struct varlena *varlena = PG_DETOAST_DATUM_PACKED(container);
	const uint8 *data = (const uint8 *) VARDATA_ANY(varlena);
	Change		change = {.path = path, .value = value, .met = KILN_IN_RECORD};
	kiln_frame	frame;
	kiln_writer writer;
	const kiln_type *type;
	KilnSchema *schema;
	Place		place;
	bool		json;
	size_t		head;

	kiln_frame_parts(varlena, &frame);
	check_kind(&frame);
	schema = kiln_frame_schema(&frame);
	type = type_at(schema, path, &json);
	find_place(schema->root, path, frame.payload, frame.payload_length, &place);
	if (value->isnull && !place.grows && place.step < path->count && place.type->kind == KILN_OPTIONAL)
	{
		/* nothing, into what is not there */
		if (json || type->kind == KILN_OPTIONAL)
			return (struct varlena *) DatumGetPointer(container);
		kiln_fail(&change.error, KILN_E_NULL, 0, NULL);
		report_change(&change, path->count);
	}

	head = (size_t) (frame.payload - data);
	kiln_builder_init(&writer, head + frame.payload_length + 64);
	change.writer = &writer;
	(void) put_bytes(&change, data, head + place.start);
	if (!put_place(&change, frame.payload, &place))
		report_change(&change, place.step);
	(void) put_bytes(&change, frame.payload + place.end, frame.payload_length - place.end);
	if (place.grows)
	{
		uint8	   *count = writer.start + VARHDRSZ + head + place.count_at;

		kiln_store_u32(count, kiln_load_u32(count) + 1);
	}
	return kiln_builder_finish(&writer);
}

struct varlena *
kiln_change_nothing(const KilnSchema *schema, const kiln_path *path, const KilnNewValue *value)
{
	Change		change = {.path = path, .value = value, .met = KILN_IN_RECORD};
	kiln_writer writer;
	bool		json;

	(void) type_at(schema, path, &json);
	kiln_builder_init(&writer, KILN_INLINE_HEAD + 64);
	kiln_builder_head_schema(&writer, schema);
	change.writer = &writer;
	if (!put_at(&change, schema->root, 0))
		report_change(&change, 0);
	return kiln_builder_finish(&writer);
}

PG_FUNCTION_INFO_V1(kiln_set);

/* kiln_set(kiln, text, anyelement) and kiln_set(kiln, text, text): the value with that place changed. */
Datum
kiln_set(PG_FUNCTION_ARGS)
{
	kiln_allocator allocator = kiln_palloc_allocator(NULL);
	KilnNewValue value;
	kiln_path	path;
	kiln_error	error;
	const char *text;
	size_t		length;

	if (PG_ARGISNULL(0) || PG_ARGISNULL(1))
		PG_RETURN_NULL();
	value.sql_type = get_fn_expr_argtype(fcinfo->flinfo, 2);
	if (!OidIsValid(value.sql_type))
		ereport(ERROR,
				(errcode(ERRCODE_INDETERMINATE_DATATYPE),
				 errmsg("could not determine the type of the value that kiln_set is to set")));
	value.sql_type = getBaseType(value.sql_type);
	value.kiln_oid = get_func_rettype(fcinfo->flinfo->fn_oid);
	value.isnull = PG_ARGISNULL(2);
	value.datum = value.isnull ? (Datum) 0 : PG_GETARG_DATUM(2);
	text = kiln_text_datum_to_utf8(PG_GETARG_DATUM(1), &length);
	if (!kiln_path_parse(text, length, &allocator, &path, &error))
		kiln_report(&error, KILN_IN_PATH, NULL);
	PG_RETURN_POINTER(kiln_change(PG_GETARG_DATUM(0), &path, &value));
}
