/*
 * JSON text as the encoder's source.
 *
 * A node of the source is a scalar's span (pointer, and word = length << 4 | kind) or a container's node in the
 * tape (pointer, and word = kind). The encoder asks in the order of the definition; the text may have its keys in
 * any. Keys in the definition's order, the usual case, are recognised by a comparison; others are looked up.
 */
#include "kiln_text.h"

#include "miscadmin.h"

#define KIND_BITS	4
#define KIND_MASK	((1 << KIND_BITS) - 1)

/* ------------------------------------------------------------------ nodes */

static kiln_node
node_of(const KilnJsonValue *value)
{
	kiln_node	node;

	if (value->node && value->kind >= KILN_NODE_OBJECT)
	{
		node.pointer = value->node;
		node.word = value->kind;
	}
	else
	{
		node.pointer = value->text;
		node.word = (uint64) value->length << KIND_BITS | value->kind;
	}
	return node;
}

static KilnNodeKind
node_kind(kiln_node node)
{
	return (KilnNodeKind) (node.word & KIND_MASK);
}

/* A scalar's span back from its node; for a container, its text. */
static KilnJsonValue
value_of(const KilnJsonSource *source, kiln_node node)
{
	KilnJsonValue value;

	value.kind = node_kind(node);
	value.node = NULL;
	value.text = node.pointer;
	value.length = node.word >> KIND_BITS;
	if (value.kind >= KILN_NODE_OBJECT && value.kind <= KILN_NODE_FLAT)
	{
		value.node = node.pointer;
		value.text = source->json->text + value.node->start;
		value.length = value.node->length;
	}
	return value;
}

kiln_node
kiln_json_source_node(const KilnJsonSource *source, uint32 node)
{
	KilnJsonValue value = kiln_json_value(source->json, node);

	return node_of(&value);
}

kiln_node
kiln_json_content_node(const char *text, size_t length)
{
	KilnJsonValue value = {KILN_NODE_CONTENT, text, length, NULL};

	return node_of(&value);
}

/* What a child node is to the encoder: null is a value for json, and nothing for all other types. */
static kiln_presence
presence_of(kiln_node child, const kiln_type *type)
{
	return node_kind(child) == KILN_NODE_NULL && type->kind != KILN_JSON ? KILN_IS_NULL : KILN_PRESENT;
}

static bool
unexpected(KilnNodeKind kind, const char *wanted, kiln_error *error)
{
	if (kind == KILN_NODE_NULL)
		return kiln_fail(error, KILN_E_NULL, 0, NULL);
	return kiln_source_fail(error, ERRCODE_INVALID_TEXT_REPRESENTATION, "expected %s, found %s", wanted,
							kiln_node_word(kind));
}

/* ------------------------------------------------------------------ memory */

static MemoryContext
scratch_of(KilnJsonSource *source)
{
	if (source->scratch == NULL)
		source->scratch = AllocSetContextCreate(source->context, "kiln strings", ALLOCSET_DEFAULT_SIZES);
	source->scratch_used = true;
	return source->scratch;
}

/* The encoder has stored what it was given so far. */
static inline void
scratch_done(KilnJsonSource *source)
{
	if (source->scratch_used)
	{
		MemoryContextReset(source->scratch);
		source->scratch_used = false;
	}
}

/* A string without its escapes; only one that has any takes memory. */
static inline bool
string_of(KilnJsonSource *source, const KilnJsonValue *value, const char **text, size_t *length, kiln_error *error)
{
	if (value->kind == KILN_NODE_CONTENT || value->length == 0 || memchr(value->text, '\\', value->length) == NULL)
	{
		*text = value->text;
		*length = value->length;
		return true;
	}
	return kiln_json_string(value, scratch_of(source), text, length, error);
}

/* Room for count things of a size in a table that is used again and again. */
static void *
table_room(MemoryContext context, void *table, uint64 *have, uint64 count, Size size)
{
	uint64		wanted = Max(count, 16);

	if (table && *have >= wanted)
		return table;
	if (table)
		pfree(table);
	*have = wanted;
	return MemoryContextAllocHuge(context, wanted * size);
}

/* ------------------------------------------------------------------ structs */

static bool
unknown_key(const kiln_type *type, const char *key, size_t length, kiln_error *error)
{
	char		clip[KILN_CLIP];
	char	   *near = kiln_near_names(type, key, length);

	kiln_clip(key, length, clip);
	if (near)
		return kiln_source_fail(error, ERRCODE_UNDEFINED_COLUMN,
								"unknown key \"%s\"; perhaps you meant \"%s\"", clip, near);
	return kiln_source_fail(error, ERRCODE_UNDEFINED_COLUMN, "unknown key \"%s\"", clip);
}

static bool
repeated_key(const char *key, size_t length, kiln_error *error)
{
	char		clip[KILN_CLIP];

	return kiln_source_fail(error, ERRCODE_INVALID_TEXT_REPRESENTATION, "repeated key \"%s\"",
							kiln_clip(key, length, clip));
}

static bool
is_name(const kiln_field *field, const char *key, size_t length)
{
	return length == field->name_length && memcmp(key, field->name, length) == 0;
}

/*
 * Position of the field that a key names, as far as expected tells, else by a look-up; -1 with *error filled.
 */
static int
field_of_key(KilnJsonSource *source, const kiln_type *type, const KilnJsonValue *key, uint32 expected,
			 kiln_error *error)
{
	const char *text;
	size_t		length;
	char		normal[KILN_MAX_NAME + 1];
	int			found;

	if (expected < type->count && is_name(&type->fields[expected], key->text, key->length))
		return (int) expected;
	if (!string_of(source, key, &text, &length, error))
		return -1;
	found = kiln_struct_find(type, text, length);
	if (found < 0)
	{
		size_t		normal_length;

		if (kiln_name_nfc(text, length, normal, &normal_length))
			found = kiln_struct_find(type, normal, normal_length);
		if (found < 0)
			unknown_key(type, text, length, error);
	}
	return found;
}

/*
 * Is each field there, or can do without? Asked here, where the path is still that of the struct; the encoder
 * would name the place that the field does not have.
 */
static bool
nothing_missing(const kiln_type *type, const uint32 *slots, kiln_error *error)
{
	for (uint32 i = 0; i < type->count; i++)
	{
		const kiln_field *field = &type->fields[i];

		if (slots[i] == 0 && field->default_payload == NULL && field->type->kind != KILN_OPTIONAL)
			return kiln_source_fail(error, ERRCODE_NOT_NULL_VIOLATION, "missing field \"%s\"", field->name);
	}
	return true;
}

static bool
begin_struct(void *self, kiln_node node, const kiln_type *type, kiln_node *object, kiln_error *error)
{
	KilnJsonSource *source = self;
	const KilnJsonNode *at = node.pointer;
	uint64		have = source->slot_count[type->depth];
	uint32	   *slots;
	uint32		key;
	uint32		expected = 0;

	if (node_kind(node) != KILN_NODE_OBJECT)
		return unexpected(node_kind(node), "an object", error);
	scratch_done(source);
	slots = table_room(source->context, source->slots[type->depth], &have, type->count, sizeof(uint32));
	source->slots[type->depth] = slots;
	source->slot_count[type->depth] = (uint32) have;
	memset(slots, 0, type->count * sizeof(uint32));

	key = (uint32) (at - source->json->nodes) + 1;
	while (key < at->next)
	{
		uint32		next = source->json->nodes[key + 1].next;

		if (key != source->passed_over)
		{
			KilnJsonValue value = kiln_json_value(source->json, key);
			int			index = field_of_key(source, type, &value, expected, error);

			if (index < 0)
				return false;
			if (slots[index] != 0)
				return repeated_key(type->fields[index].name, type->fields[index].name_length, error);
			slots[index] = key;
			expected = (uint32) index + 1;
		}
		key = next;
	}
	object->pointer = slots;
	object->word = KILN_NODE_OBJECT;
	return nothing_missing(type, slots, error);
}

static kiln_presence
field(void *self, kiln_node object, const kiln_type *type, uint32_t index, kiln_node *child, kiln_error *error)
{
	KilnJsonSource *source = self;
	uint32		key = ((const uint32 *) object.pointer)[index];

	(void) error;
	if (key == 0)
		return KILN_IS_MISSING;
	*child = kiln_json_source_node(source, key + 1);
	return presence_of(*child, type->fields[index].type);
}

/* ------------------------------------------------------------------ lists */

static bool
begin_list(void *self, kiln_node node, const kiln_type *type, kiln_node *list, uint64_t *count,
		   const void **packed, kiln_error *error)
{
	KilnJsonSource *source = self;
	KilnListCursor *cursor = &source->lists[type->depth];
	const KilnJsonNode *at = node.pointer;

	(void) packed;
	if (node_kind(node) != KILN_NODE_LIST && node_kind(node) != KILN_NODE_FLAT)
		return unexpected(node_kind(node), "a list", error);
	cursor->list = at;
	cursor->position = 0;
	cursor->node = (uint32) (at - source->json->nodes) + 1;
	cursor->pos = source->json->text + at->start + 1;
	*list = node;
	*count = at->count;
	return true;
}

/* The next element. The encoder takes them in order, each once. */
static kiln_presence
element(void *self, kiln_node list, const kiln_type *type, uint64_t position, kiln_node *child, kiln_error *error)
{
	KilnJsonSource *source = self;
	KilnListCursor *cursor = &source->lists[type->depth];
	KilnJsonValue value;

	(void) error;
	Assert(cursor->list == list.pointer && cursor->position == position);
	scratch_done(source);
	cursor->position = position + 1;
	if (node_kind(list) == KILN_NODE_FLAT)
		value = kiln_json_flat_next(&cursor->pos);
	else
	{
		value = kiln_json_value(source->json, cursor->node);
		cursor->node = value.node->next;
	}
	*child = node_of(&value);
	return presence_of(*child, type->element);
}

/* ------------------------------------------------------------------ dicts */

static int
compare_entries(const void *a, const void *b)
{
	const KilnDictEntry *x = a;
	const KilnDictEntry *y = b;

	CHECK_FOR_INTERRUPTS();
	return kiln_compare_bytes(x->key, x->length, y->key, y->length);
}

/* Ascending, and no key twice; sorts only what is not sorted yet. */
static bool
sort_entries(KilnDictEntry *entries, uint64 count, kiln_error *error)
{
	uint64		i = 1;

	while (i < count && compare_entries(&entries[i - 1], &entries[i]) < 0)
		i++;
	if (i >= count)
		return true;
	qsort(entries, count, sizeof(KilnDictEntry), compare_entries);
	for (i = 1; i < count; i++)
		if (compare_entries(&entries[i - 1], &entries[i]) == 0)
			return repeated_key(entries[i].key, entries[i].length, error);
	return true;
}

static bool
begin_dict(void *self, kiln_node node, const kiln_type *type, kiln_node *dict, uint64_t *count, kiln_error *error)
{
	KilnJsonSource *source = self;
	const KilnJsonNode *at = node.pointer;
	uint64	   *have = &source->dict_count[type->depth];
	KilnDictEntry *entries;
	uint32		key;

	if (node_kind(node) != KILN_NODE_OBJECT)
		return unexpected(node_kind(node), "an object", error);
	scratch_done(source);
	entries = table_room(source->context, source->dicts[type->depth], have, at->count, sizeof(KilnDictEntry));
	source->dicts[type->depth] = entries;
	key = (uint32) (at - source->json->nodes) + 1;
	for (uint32 i = 0; i < at->count; i++)
	{
		KilnJsonValue value = kiln_json_value(source->json, key);

		/* keys stay until the whole value is encoded: together they are no longer than the text */
		if (!kiln_json_string(&value, source->context, &entries[i].key, &entries[i].length, error))
			return false;
		entries[i].node = key + 1;
		key = source->json->nodes[key + 1].next;
	}
	if (!sort_entries(entries, at->count, error))
		return false;
	dict->pointer = entries;
	dict->word = KILN_NODE_OBJECT;
	*count = at->count;
	return true;
}

static kiln_presence
pair(void *self, kiln_node dict, const kiln_type *type, uint64_t position, const char **key, size_t *key_length,
	 kiln_node *child, kiln_error *error)
{
	KilnJsonSource *source = self;
	const KilnDictEntry *entry = (const KilnDictEntry *) dict.pointer + position;

	(void) error;
	scratch_done(source);
	*key = entry->key;
	*key_length = entry->length;
	*child = kiln_json_source_node(source, entry->node);
	return presence_of(*child, type->element);
}

/* ------------------------------------------------------------------ scalars */

static bool
scalar_bool(const KilnJsonValue *value, kiln_scalar *out, kiln_error *error)
{
	if (value->kind != KILN_NODE_TRUE && value->kind != KILN_NODE_FALSE)
		return unexpected(value->kind, "true or false", error);
	out->boolean = value->kind == KILN_NODE_TRUE;
	return true;
}

/* A json value is its text as it stands. */
static bool
scalar_json(const KilnJsonValue *value, kiln_scalar *out, kiln_error *error)
{
	const char *text = value->text;
	size_t		length = value->length;

	if (value->kind == KILN_NODE_STRING)
	{
		text--;
		length += 2;
	}
	kiln_json_trim(&text, &length);
	out->span.data = text;
	out->span.length = length;
	return kiln_json_check_text(text, length, NULL, error);
}

/* A JSON number, or a string for one. */
static bool
scalar_number(KilnJsonSource *source, const kiln_type *type, const KilnJsonValue *value, kiln_scalar *out,
			  kiln_error *error)
{
	const char *text = value->text;
	size_t		length = value->length;
	bool		words = value->kind != KILN_NODE_NUMBER;
	const char *spelling;

	if (words && !string_of(source, value, &text, &length, error))
		return false;
	switch (type->kind)
	{
		case KILN_F32:
			return kiln_f32_in(text, length, words, &out->f32, error);
		case KILN_F64:
			return kiln_f64_in(text, length, words, &out->f64, error);
		case KILN_NUMERIC:
			if (!kiln_numeric_in(text, length, words, scratch_of(source), &spelling, &out->span.length, error))
				return false;
			out->span.data = spelling;
			return true;
		default:
			return kiln_integer_in(type->kind, text, length, out, error);
	}
}

static bool
scalar_enum(const kiln_type *type, const char *text, size_t length, kiln_scalar *out, kiln_error *error)
{
	int			position = kiln_enum_find(type, text, length);
	char		clip[KILN_CLIP];

	if (position < 0)
		return kiln_source_fail(error, ERRCODE_INVALID_TEXT_REPRESENTATION, "\"%s\" is no label of the enum",
								kiln_clip(text, length, clip));
	out->u64 = (uint64) position;
	return true;
}

/* What text gives as a string. */
static bool
scalar_string(KilnJsonSource *source, const kiln_type *type, const KilnJsonValue *value, kiln_scalar *out,
			  kiln_error *error)
{
	const char *text;
	size_t		length;
	const uint8_t *bytes;
	uint8_t    *uuid;

	if (!string_of(source, value, &text, &length, error))
		return false;
	switch (type->kind)
	{
		case KILN_BYTES:
			if (!kiln_bytes_in(text, length, scratch_of(source), &bytes, &out->span.length, error))
				return false;
			out->span.data = bytes;
			return true;
		case KILN_UUID:
			out->span.data = uuid = MemoryContextAlloc(scratch_of(source), 16);
			out->span.length = 16;
			return kiln_uuid_in(text, length, uuid, error);
		case KILN_DATE:
			return kiln_date_in(text, length, &out->i64, error);
		case KILN_TIMESTAMP:
		case KILN_TIMESTAMPTZ:
			return kiln_timestamp_in(text, length, type->kind == KILN_TIMESTAMPTZ, &out->i64, error);
		case KILN_ENUM:
			return scalar_enum(type, text, length, out, error);
		default:
			out->span.data = text;
			out->span.length = length;
			return true;
	}
}

static bool
scalar(void *self, kiln_node node, const kiln_type *type, kiln_scalar *out, kiln_error *error)
{
	KilnJsonSource *source = self;
	KilnJsonValue value = value_of(source, node);
	bool		string = value.kind == KILN_NODE_STRING || value.kind == KILN_NODE_CONTENT;

	switch (type->kind)
	{
		case KILN_BOOL:
			return scalar_bool(&value, out, error);
		case KILN_JSON:
			return scalar_json(&value, out, error);
		case KILN_I8:
		case KILN_I16:
		case KILN_I32:
		case KILN_I64:
		case KILN_U8:
		case KILN_U16:
		case KILN_U32:
		case KILN_U64:
			if (!string && value.kind != KILN_NODE_NUMBER)
				return unexpected(value.kind, "an integer", error);
			return scalar_number(source, type, &value, out, error);
		case KILN_F32:
		case KILN_F64:
		case KILN_NUMERIC:
			if (!string && value.kind != KILN_NODE_NUMBER)
				return unexpected(value.kind, "a number", error);
			return scalar_number(source, type, &value, out, error);
		default:
			if (!string)
				return unexpected(value.kind, "a string", error);
			return scalar_string(source, type, &value, out, error);
	}
}

/* ------------------------------------------------------------------ the source */

static void
poll_interrupts(void)
{
	CHECK_FOR_INTERRUPTS();
}

void
kiln_json_source_init(KilnJsonSource *source, const KilnJsonText *json)
{
	memset(source, 0, offsetof(KilnJsonSource, lists));
	source->source.begin_struct = begin_struct;
	source->source.field = field;
	source->source.scalar = scalar;
	source->source.begin_list = begin_list;
	source->source.element = element;
	source->source.begin_dict = begin_dict;
	source->source.pair = pair;
	source->source.poll = poll_interrupts;
	source->source.self = source;
	source->source.json = NULL; /* scalar_json() has checked it, and says more */
	source->json = json;
	source->context = CurrentMemoryContext;
}

void
kiln_json_source_done(KilnJsonSource *source)
{
	if (source->scratch != NULL)
		MemoryContextDelete(source->scratch);
	source->scratch = NULL;
	source->scratch_used = false;
}
