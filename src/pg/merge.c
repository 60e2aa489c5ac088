/*
 * kiln_merge: a value with the members of a jsonb object taken over, as JSON Merge Patch (RFC 7396) has it.
 *
 * An object in the patch merges with a struct, dict or json object and leaves alone what it does not name; null makes
 * an optional field absent, takes a key out of a dict, and is refused elsewhere; anything else replaces what stands
 * there. The value is walked once beside the patch: what the patch does not name is copied in runs, what it does is
 * encoded as kiln_encode() would.
 */
#include "kiln_change.h"

#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"

#include "kiln_encode.h"
#include "kiln_text.h"

typedef struct Merge
{
	kiln_held	held;			/* the old payload */
	size_t		pos;
	kiln_writer *writer;
	KilnJsonbSource source;
	kiln_error	error;
} Merge;

/* A member of the patch. */
typedef struct Member
{
	const char *key;			/* UTF-8; NULL: none */
	size_t		length;
	JsonbValue	value;
} Member;

/* there: an old value stands at merge->pos, and is passed; else one is made. */
static bool merge_value(Merge *merge, const kiln_type *type, bool there, const JsonbValue *patch);

/* ------------------------------------------------------------------ bytes */

static void
put_bytes(Merge *merge, const void *bytes, size_t n)
{
	if (!kiln_writer_reserve(merge->writer, n))
		kiln_report_too_large();
	kiln_writer_bytes(merge->writer, bytes, n);
}

static void
put_span(Merge *merge, const char *text, size_t length)
{
	uint8		word[4];

	kiln_store_u32(word, (uint32) length);
	put_bytes(merge, word, 4);
	put_bytes(merge, text, length);
}

static void
put_tag(Merge *merge, uint8 tag)
{
	put_bytes(merge, &tag, 1);
}

static void
pass(Merge *merge, const kiln_type *type)
{
	merge->pos = kiln_held_skip(&merge->held, type, Min(merge->pos, merge->held.n));
}

/* Pass a tag. */
static void
pass_tag(Merge *merge)
{
	if (merge->pos < merge->held.n)
		merge->pos++;
}

static void
copy_from(Merge *merge, size_t from)
{
	put_bytes(merge, merge->held.data + from, merge->pos - from);
}

/* ------------------------------------------------------------------ the patch */

static bool
is_object(const JsonbValue *value)
{
	return value->type == jbvBinary && JsonContainerIsObject(value->val.binary.data);
}

/* Members of an object, in stored order; palloc'd. */
static Member *
object_members(const JsonbValue *object, uint32 *count)
{
	Member	   *members = palloc(Max(JsonContainerSize(object->val.binary.data), 1) * sizeof(Member));
	JsonbIterator *iterator = JsonbIteratorInit(object->val.binary.data);
	JsonbValue	key;

	*count = 0;
	(void) JsonbIteratorNext(&iterator, &key, true);
	while (JsonbIteratorNext(&iterator, &key, true) == WJB_KEY)
	{
		Member	   *member = &members[(*count)++];

		member->key = kiln_server_to_utf8(key.val.string.val, key.val.string.len, &member->length);
		(void) JsonbIteratorNext(&iterator, &member->value, true);
	}
	return members;
}

static int
compare_members(const void *a, const void *b)
{
	const Member *x = a;
	const Member *y = b;

	return kiln_compare_bytes(x->key, x->length, y->key, y->length);
}

/* ------------------------------------------------------------------ structs */

static bool
unknown_key(Merge *merge, const kiln_type *type, const Member *member)
{
	char	   *near = kiln_near_names(type, member->key, member->length);
	char		clip[KILN_CLIP];
	size_t		length;

	kiln_clip(member->key, member->length, clip);
	if (near == NULL)
		return kiln_source_fail(&merge->error, ERRCODE_UNDEFINED_COLUMN, "unknown key \"%s\"", clip);
	return kiln_source_fail(&merge->error, ERRCODE_UNDEFINED_COLUMN, "unknown key \"%s\"; perhaps you meant \"%s\"",
							clip, kiln_server_to_utf8(near, strlen(near), &length));
}

/* The patch's members by field; NULL for a key that is none. */
static const Member **
members_by_field(Merge *merge, const kiln_type *type, const JsonbValue *patch)
{
	const Member **fields = palloc0(type->count * sizeof(Member *));
	uint32		count;
	Member	   *members = object_members(patch, &count);

	for (uint32 i = 0; i < count; i++)
	{
		int			index = kiln_struct_find(type, members[i].key, members[i].length);
		char		name[KILN_MAX_NAME + 1];
		size_t		length;

		if (index < 0 && kiln_name_nfc(members[i].key, members[i].length, name, &length))
			index = kiln_struct_find(type, name, length);
		if (index < 0)
		{
			(void) unknown_key(merge, type, &members[i]);
			return NULL;
		}
		if (fields[index])
		{
			(void) kiln_source_fail(&merge->error, ERRCODE_INVALID_TEXT_REPRESENTATION, "repeated key \"%s\"",
									type->fields[index].name);
			return NULL;
		}
		fields[index] = &members[i];
	}
	return fields;
}

/* A field that neither the old value nor the patch has. */
static bool
put_missing(Merge *merge, const kiln_field *field)
{
	if (field->type->kind == KILN_OPTIONAL)
		put_tag(merge, 0);
	else if (field->default_payload)
		put_bytes(merge, field->default_payload, field->default_length);
	else
		return kiln_fail(&merge->error, KILN_E_MISSING, 0, NULL);
	return true;
}

static bool
merge_struct(Merge *merge, const kiln_type *type, bool there, const JsonbValue *patch)
{
	const Member **members = members_by_field(merge, type, patch);
	size_t		from = merge->pos;	/* of the run to be copied */

	if (members == NULL)
		return false;
	for (uint32 i = 0; i < type->count; i++)
	{
		const kiln_field *field = &type->fields[i];
		bool		good = true;

		if (members[i])
		{
			if (there)
				copy_from(merge, from);
			good = merge_value(merge, field->type, there, &members[i]->value);
			from = merge->pos;
		}
		else if (there)
			pass(merge, field->type);
		else
			good = put_missing(merge, field);
		if (!good)
		{
			kiln_error_prepend_name(&merge->error, field->name, field->name_length);
			return false;
		}
	}
	if (there)
		copy_from(merge, from);
	return true;
}

/* ------------------------------------------------------------------ dicts */

/* One pair of the patch; there: the old dict has the key, and stands at its value. */
static bool
merge_pair(Merge *merge, const kiln_type *type, bool there, const Member *member, uint32 *pairs)
{
	if (member->value.type == jbvNull)
	{
		if (there)
			pass(merge, type->element);
		return true;
	}
	put_span(merge, member->key, member->length);
	++*pairs;
	if (merge_value(merge, type->element, there, &member->value))
		return true;
	kiln_error_prepend_name(&merge->error, member->key, member->length);
	return false;
}

/* Two ascending sequences of pairs become one. */
static bool
merge_dict(Merge *merge, const kiln_type *type, bool there, const JsonbValue *patch)
{
	size_t		count_at = kiln_writer_length(merge->writer);
	uint32		count;
	Member	   *members = object_members(patch, &count);
	uint32		next = 0;
	uint32		old = 0;
	uint32		pairs = 0;
	uint8		none[4] = {0};

	if (count > 1)
		qsort(members, count, sizeof(Member), compare_members);
	put_bytes(merge, none, 4);
	if (there)
	{
		old = kiln_held_count(&merge->held, merge->pos, 4 + type->element->least);
		merge->pos = kiln_held_at(&merge->held, merge->pos, 4) + 4;
	}
	for (; old > 0 && merge->pos < merge->held.n; old--)
	{
		size_t		pair = merge->pos;
		uint32		length;
		const uint8 *key = kiln_held_span(&merge->held, pair, &length);
		int			order = -1;

		while (next < count && (order = kiln_compare_bytes(members[next].key, members[next].length, key, length)) < 0)
			if (!merge_pair(merge, type, false, &members[next++], &pairs))
				return false;
		merge->pos = (size_t) (key - merge->held.data) + length;
		if (next < count && order == 0)
		{
			if (!merge_pair(merge, type, true, &members[next++], &pairs))
				return false;
			continue;
		}
		pass(merge, type->element);
		copy_from(merge, pair);
		pairs++;
		CHECK_FOR_INTERRUPTS();
	}
	while (next < count)
		if (!merge_pair(merge, type, false, &members[next++], &pairs))
			return false;
	kiln_store_u32(merge->writer->start + count_at, pairs);
	return true;
}

/* ------------------------------------------------------------------ json */

static JsonbValue *merge_json(JsonbParseState **state, JsonbValue *target, const JsonbValue *patch);

/* Push what a member of the patch makes of the target's member of that key (NULL: it has none). */
static void
push_member(JsonbParseState **state, JsonbValue *key, JsonbValue *target, JsonbValue *patch)
{
	if (patch->type == jbvNull)
		return;
	(void) pushJsonbValue(state, WJB_KEY, key);
	if (is_object(patch))
		(void) merge_json(state, target, patch);
	else
		(void) pushJsonbValue(state, WJB_VALUE, patch);
}

/* Push the merge of an object with a target that may be anything, or NULL. */
static JsonbValue *
merge_json(JsonbParseState **state, JsonbValue *target, const JsonbValue *patch)
{
	JsonbContainer *old = target && is_object(target) ? target->val.binary.data : NULL;
	JsonbContainer *new = patch->val.binary.data;
	JsonbIterator *iterator;
	JsonbValue	key;
	JsonbValue	value;
	JsonbValue *other;

	check_stack_depth();
	(void) pushJsonbValue(state, WJB_BEGIN_OBJECT, NULL);
	if (old)
	{
		iterator = JsonbIteratorInit(old);
		(void) JsonbIteratorNext(&iterator, &key, true);
		while (JsonbIteratorNext(&iterator, &key, true) == WJB_KEY)
		{
			(void) JsonbIteratorNext(&iterator, &value, true);
			other = findJsonbValueFromContainer(new, JB_FOBJECT, &key);
			if (other)
			{
				push_member(state, &key, &value, other);
				continue;
			}
			(void) pushJsonbValue(state, WJB_KEY, &key);
			(void) pushJsonbValue(state, WJB_VALUE, &value);
		}
	}
	iterator = JsonbIteratorInit(new);
	(void) JsonbIteratorNext(&iterator, &key, true);
	while (JsonbIteratorNext(&iterator, &key, true) == WJB_KEY)
	{
		(void) JsonbIteratorNext(&iterator, &value, true);
		if (old == NULL || findJsonbValueFromContainer(old, JB_FOBJECT, &key) == NULL)
			push_member(state, &key, NULL, &value);
	}
	return pushJsonbValue(state, WJB_END_OBJECT, NULL);
}

/* A json field into which an object merges. */
static void
merge_json_field(Merge *merge, bool there, const JsonbValue *patch)
{
	JsonbParseState *state = NULL;
	JsonbValue	target;
	JsonbValue *merged;
	Jsonb	   *document;
	StringInfoData buf;
	const char *text;
	size_t		length;

	target.type = jbvNull;
	if (there)
	{
		uint32		n;
		const uint8 *old = kiln_held_span(&merge->held, merge->pos, &n);
		char	   *server = kiln_utf8_to_server((const char *) old, n);

		document = DatumGetJsonbP(DirectFunctionCall1(jsonb_in, CStringGetDatum(server)));
		merge->pos = (size_t) (old - merge->held.data) + n;
		target.type = jbvBinary;
		target.val.binary.data = &document->root;
		target.val.binary.len = VARSIZE(document) - VARHDRSZ;
	}
	merged = merge_json(&state, &target, patch);
	document = JsonbValueToJsonb(merged);
	initStringInfo(&buf);
	(void) JsonbToCString(&buf, &document->root, VARSIZE(document));
	text = kiln_server_to_utf8(buf.data, buf.len, &length);
	put_span(merge, text, length);
}

/* ------------------------------------------------------------------ any value */

/* What replaces whatever stands there. */
static bool
put_patch(Merge *merge, const kiln_type *type, const JsonbValue *patch)
{
	JsonbValue	copy = *patch;
	kiln_node	node = kiln_jsonb_node(JsonbValueToJsonb(&copy));

	return kiln_encode(type, &merge->source.source, node, merge->writer, &merge->error);
}

static bool
merge_optional(Merge *merge, const kiln_type *type, bool there, const JsonbValue *patch)
{
	if (there && kiln_held_u8(&merge->held, merge->pos) == 0)
	{
		there = false;
		pass_tag(merge);
	}
	if (patch->type == jbvNull)
	{
		if (there)
			pass(merge, type);
		put_tag(merge, 0);
		return true;
	}
	if (there)
		pass_tag(merge);
	put_tag(merge, 1);
	return merge_value(merge, type->element, there, patch);
}

static bool
merge_value(Merge *merge, const kiln_type *type, bool there, const JsonbValue *patch)
{
	if (type->kind == KILN_OPTIONAL)
		return merge_optional(merge, type, there, patch);
	if (is_object(patch))
	{
		if (type->kind == KILN_STRUCT)
			return merge_struct(merge, type, there, patch);
		if (type->kind == KILN_DICT)
			return merge_dict(merge, type, there, patch);
		if (type->kind == KILN_JSON)
		{
			merge_json_field(merge, there, patch);
			return true;
		}
	}
	if (patch->type == jbvNull && type->kind != KILN_JSON)
		return kiln_fail(&merge->error, KILN_E_NULL, 0, NULL);
	if (there)
		pass(merge, type);
	return put_patch(merge, type, patch);
}

static void
check_kind(const kiln_frame *frame)
{
	if (frame->kind == KILN_FRAME_TENSORS)
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("cannot merge into a tensor directory"),
				 errhint("Put directories together with ||.")));
	if (frame->kind == KILN_FRAME_UNVERIFIED)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("cannot change an unverified kiln value"),
				 errdetail("The value came in binary before its definition was registered."),
				 errhint("Store it again to have it verified.")));
}

PG_FUNCTION_INFO_V1(kiln_merge);

/* kiln_merge(kiln, jsonb): the value under its own definition, with the patch's members taken over. */
Datum
kiln_merge(PG_FUNCTION_ARGS)
{
	struct varlena *varlena = PG_DETOAST_DATUM_PACKED(PG_GETARG_DATUM(0));
	const uint8 *data = (const uint8 *) VARDATA_ANY(varlena);
	Jsonb	   *document = PG_GETARG_JSONB_P(1);
	uint8		padded[KILN_HELD_LEAST] = {0};
	JsonbValue	patch;
	kiln_frame	frame;
	KilnSchema *schema;
	kiln_writer writer;
	Merge		merge;

	kiln_frame_parts(varlena, &frame);
	check_kind(&frame);
	schema = kiln_frame_schema(&frame);
	if (JB_ROOT_IS_OBJECT(document) && JB_ROOT_COUNT(document) == 0 &&
		(schema->root->kind == KILN_STRUCT || schema->root->kind == KILN_DICT))
		PG_RETURN_DATUM(PG_GETARG_DATUM(0));	/* as it is stored */
	if (!JsonbExtractScalar(&document->root, &patch))
	{
		patch.type = jbvBinary;
		patch.val.binary.data = &document->root;
		patch.val.binary.len = VARSIZE(document) - VARHDRSZ;
	}
	merge.held.data = frame.payload;
	merge.held.n = frame.payload_length;
	merge.held.poll = kiln_poll_interrupts;
	if (frame.payload_length < KILN_HELD_LEAST)
	{
		/* read from a copy with zeros behind it, in which a valid payload ends at the same place */
		memcpy(padded, frame.payload, frame.payload_length);
		merge.held.data = padded;
		merge.held.n = KILN_HELD_LEAST;
	}
	merge.pos = 0;
	merge.writer = &writer;
	kiln_jsonb_source_init(&merge.source);
	kiln_builder_init(&writer, VARSIZE_ANY_EXHDR(varlena) + VARSIZE(document));
	put_bytes(&merge, data, (size_t) (frame.payload - data));
	if (!merge_value(&merge, schema->root, true, &patch))
		kiln_report(&merge.error, KILN_IN_TEXT, NULL);
	PG_RETURN_POINTER(kiln_builder_finish(&writer));
}
