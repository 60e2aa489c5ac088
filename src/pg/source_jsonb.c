/*
 * jsonb as a source for the encoder, read in place.
 *
 * jsonb keeps an object's keys by length, then bytes: a struct's keys are matched with its fields in one pass when
 * the struct is begun, a dict's pairs are put in byte order then. Values mean what they mean in Kiln's JSON text
 * (docs/FORMAT.md, section 5): the same parsers read strings and numbers, so that kiln_encode(s, j) and
 * kiln_encode(s, j::text) agree, but for what jsonb itself has already dropped (the sign of -0.0, all but the last
 * of repeated keys).
 *
 * A node is a JsonbNode. A begin call makes its node a container; the one child that a container has is used again
 * for the next, as is the memory that either holds, so that a document takes memory by its depth and its widest
 * object.
 */
#include "kiln_encode.h"

#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/numeric.h"

#include "kiln_text.h"

/* A member of an object. Of a struct's: the one for a field, with a key of NULL if the object has none. */
typedef struct JsonbMember
{
	const char *key;			/* UTF-8 */
	size_t		length;
	JsonbValue	value;
} JsonbMember;

typedef struct JsonbNode
{
	JsonbValue	value;
	JsonbMember *members;		/* of a struct or dict that was begun */
	uint32		capacity;		/* of members */
	struct JsonbNode *child;
} JsonbNode;

static const kiln_source jsonb_callbacks;

/* ------------------------------------------------------------------ nodes */

void
kiln_jsonb_source_init(KilnJsonbSource *source)
{
	source->source = jsonb_callbacks;
	source->source.self = source;
	source->content = NULL;
}

kiln_node
kiln_jsonb_node(Jsonb *document)
{
	JsonbNode  *root = palloc0(sizeof(JsonbNode));
	kiln_node	node = {root, 0};

	if (!JsonbExtractScalar(&document->root, &root->value))
	{
		root->value.type = jbvBinary;
		root->value.val.binary.data = &document->root;
		root->value.val.binary.len = VARSIZE(document) - VARHDRSZ;
	}
	return node;
}

bool
kiln_jsonb_is_null(Jsonb *document)
{
	JsonbValue	value;

	return JB_ROOT_IS_SCALAR(document) && JsonbExtractScalar(&document->root, &value) && value.type == jbvNull;
}

static JsonbNode *
node_of(kiln_node node)
{
	return unconstify(void *, node.pointer);
}

/* Hand out a value below a container. null stands for what is absent, but for a json field, where it is a value. */
static kiln_presence
give_child(JsonbNode *parent, const JsonbValue *value, const kiln_type *type, kiln_node *child)
{
	if (value->type == jbvNull && type->kind != KILN_JSON)
		return KILN_IS_NULL;
	if (parent->child == NULL)
		parent->child = palloc0(sizeof(JsonbNode));
	parent->child->value = *value;
	child->pointer = parent->child;
	child->word = 0;
	return KILN_PRESENT;
}

/* 22P02, in the words of the text form's source. */
static bool
unexpected(const JsonbValue *value, const char *wanted, kiln_error *error)
{
	KilnNodeKind kind;

	switch (value->type)
	{
		case jbvNull:
			return kiln_fail(error, KILN_E_NULL, 0, NULL);
		case jbvString:
			kind = KILN_NODE_STRING;
			break;
		case jbvNumeric:
			kind = KILN_NODE_NUMBER;
			break;
		case jbvBool:
			kind = value->val.boolean ? KILN_NODE_TRUE : KILN_NODE_FALSE;
			break;
		default:
			kind = JsonContainerIsObject(value->val.binary.data) ? KILN_NODE_OBJECT : KILN_NODE_LIST;
			break;
	}
	return kiln_source_fail(error, ERRCODE_INVALID_TEXT_REPRESENTATION, "expected %s, found %s", wanted,
							kiln_node_word(kind));
}

/* What JSON a scalar type is written as. */
static const char *
wanted_for(const kiln_type *type)
{
	switch (type->kind)
	{
		case KILN_BOOL:
			return "true or false";
		case KILN_I8:
		case KILN_I16:
		case KILN_I32:
		case KILN_I64:
		case KILN_U8:
		case KILN_U16:
		case KILN_U32:
		case KILN_U64:
			return "an integer";
		case KILN_F32:
		case KILN_F64:
		case KILN_NUMERIC:
			return "a number";
		default:
			return "a string";
	}
}

static void
reserve_members(JsonbNode *node, uint32 count)
{
	if (count <= node->capacity)
		return;
	if (node->members)
		pfree(node->members);
	node->members = palloc_extended(sizeof(JsonbMember) * (Size) count, MCXT_ALLOC_HUGE);
	node->capacity = count;
}

/* ------------------------------------------------------------------ objects */

/*
 * Call each member of an object in stored order; stops at the first false.
 */
typedef bool (*MemberFunction) (JsonbNode *node, const kiln_type *type, const JsonbMember *member, uint32 position,
								kiln_error *error);

static bool
each_member(JsonbNode *node, const kiln_type *type, MemberFunction function, kiln_error *error)
{
	JsonbIterator *iterator = JsonbIteratorInit(node->value.val.binary.data);
	JsonbMember member;
	JsonbValue	key;
	JsonbIteratorToken token;
	uint32		position = 0;

	(void) JsonbIteratorNext(&iterator, &key, true);
	while ((token = JsonbIteratorNext(&iterator, &key, true)) == WJB_KEY)
	{
		member.key = kiln_server_to_utf8(key.val.string.val, key.val.string.len, &member.length);
		(void) JsonbIteratorNext(&iterator, &member.value, true);
		if (!function(node, type, &member, position++, error))
			return false;
	}
	Assert(token == WJB_END_OBJECT);
	(void) JsonbIteratorNext(&iterator, &key, true);	/* gives the iterator back */
	return true;
}

static bool
is_object(const JsonbValue *value)
{
	return value->type == jbvBinary && JsonContainerIsObject(value->val.binary.data);
}

/* The field that a key names, as it stands or in NFC; -1 with *error filled. */
static int
field_of_key(const kiln_type *type, const char *key, size_t length, kiln_error *error)
{
	int			found = kiln_struct_find(type, key, length);
	char		normal[KILN_MAX_NAME + 1];
	size_t		normal_length;
	char		clip[KILN_CLIP];
	const char *near;

	if (found < 0 && kiln_name_nfc(key, length, normal, &normal_length))
		found = kiln_struct_find(type, normal, normal_length);
	if (found >= 0)
		return found;
	near = kiln_near_names(type, key, length);
	kiln_clip(key, length, clip);
	if (near == NULL)
		kiln_source_fail(error, ERRCODE_UNDEFINED_COLUMN, "unknown key \"%s\"", clip);
	else
	{
		near = kiln_server_to_utf8(near, strlen(near), &length);
		kiln_source_fail(error, ERRCODE_UNDEFINED_COLUMN, "unknown key \"%s\"; perhaps you meant \"%s\"", clip, near);
	}
	return -1;
}

static bool
take_field(JsonbNode *node, const kiln_type *type, const JsonbMember *member, uint32 position, kiln_error *error)
{
	int			index = field_of_key(type, member->key, member->length, error);

	if (index < 0)
		return false;
	if (node->members[index].key != NULL)
	{
		char		clip[KILN_CLIP];

		/* two spellings of one name */
		return kiln_source_fail(error, ERRCODE_INVALID_TEXT_REPRESENTATION, "repeated key \"%s\"",
								kiln_clip(type->fields[index].name, type->fields[index].name_length, clip));
	}
	node->members[index] = *member;
	return true;
}

static bool
jsonb_begin_struct(void *self, kiln_node place, const kiln_type *type, kiln_node *object, kiln_error *error)
{
	JsonbNode  *node = node_of(place);

	if (!is_object(&node->value))
		return unexpected(&node->value, "an object", error);
	reserve_members(node, type->count);
	for (uint32 i = 0; i < type->count; i++)
		node->members[i].key = NULL;
	*object = place;
	return each_member(node, type, take_field, error);
}

static kiln_presence
jsonb_field(void *self, kiln_node object, const kiln_type *type, uint32_t index, kiln_node *child, kiln_error *error)
{
	JsonbNode  *node = node_of(object);

	if (node->members[index].key == NULL)
		return KILN_IS_MISSING;
	return give_child(node, &node->members[index].value, type->fields[index].type, child);
}

static bool
take_pair(JsonbNode *node, const kiln_type *type, const JsonbMember *member, uint32 position, kiln_error *error)
{
	node->members[position] = *member;
	return true;
}

static int
compare_members(const void *a, const void *b)
{
	const JsonbMember *x = a;
	const JsonbMember *y = b;

	return kiln_compare_bytes(x->key, x->length, y->key, y->length);
}

static bool
jsonb_begin_dict(void *self, kiln_node place, const kiln_type *type, kiln_node *dict, uint64_t *count,
				 kiln_error *error)
{
	JsonbNode  *node = node_of(place);
	uint32		pairs;

	if (!is_object(&node->value))
		return unexpected(&node->value, "an object", error);
	pairs = JsonContainerSize(node->value.val.binary.data);
	reserve_members(node, pairs);
	if (!each_member(node, type, take_pair, error))
		return false;
	if (pairs > 1)
		qsort(node->members, pairs, sizeof(JsonbMember), compare_members);
	*dict = place;
	*count = pairs;
	return true;
}

static kiln_presence
jsonb_pair(void *self, kiln_node dict, const kiln_type *type, uint64_t position, const char **key,
		   size_t *key_length, kiln_node *child, kiln_error *error)
{
	JsonbNode  *node = node_of(dict);
	const JsonbMember *member = &node->members[position];

	*key = member->key;
	*key_length = member->length;
	return give_child(node, &member->value, type->element, child);
}

/* ------------------------------------------------------------------ arrays */

static bool
jsonb_begin_list(void *self, kiln_node place, const kiln_type *type, kiln_node *list, uint64_t *count,
				 const void **packed, kiln_error *error)
{
	JsonbNode  *node = node_of(place);

	if (node->value.type != jbvBinary || !JsonContainerIsArray(node->value.val.binary.data))
		return unexpected(&node->value, "a list", error);
	*list = place;
	*count = JsonContainerSize(node->value.val.binary.data);
	return true;
}

static kiln_presence
jsonb_element(void *self, kiln_node list, const kiln_type *type, uint64_t position, kiln_node *child,
			  kiln_error *error)
{
	JsonbNode  *node = node_of(list);
	JsonbValue *value = getIthJsonbValueFromContainer(node->value.val.binary.data, (uint32) position);
	kiln_presence presence = give_child(node, value, type->element, child);

	pfree(value);
	return presence;
}

/* ------------------------------------------------------------------ scalars */

bool
kiln_numeric_scalar(const kiln_type *type, Datum numeric, kiln_scalar *out, kiln_error *error)
{
	char	   *text = DatumGetCString(DirectFunctionCall1(numeric_out, numeric));
	size_t		length = strlen(text);
	bool		good;

	switch (type->kind)
	{
		case KILN_NUMERIC:
			out->span.data = text;
			out->span.length = length;
			return true;
		case KILN_F32:
			good = kiln_f32_in(text, length, true, &out->f32, error);
			break;
		case KILN_F64:
			good = kiln_f64_in(text, length, true, &out->f64, error);
			break;
		default:
			good = kiln_integer_in(type->kind, text, length, out, error);
			break;
	}
	pfree(text);
	return good;
}

static bool
is_number(const kiln_type *type)
{
	return (type->kind >= KILN_I8 && type->kind <= KILN_F64) || type->kind == KILN_NUMERIC;
}

/* A string for a type that is written as one: the text form's own reader. */
static bool
string_scalar(KilnJsonbSource *source, const kiln_type *type, const char *text, size_t length, kiln_scalar *value,
			  kiln_error *error)
{
	if (type->kind == KILN_STRING)
	{
		value->span.data = text;
		value->span.length = length;
		return true;
	}
	if (source->content == NULL)
	{
		source->content = palloc(sizeof(KilnJsonSource));
		kiln_json_source_init(source->content, NULL);
	}
	return source->content->source.scalar(source->content->source.self, kiln_json_content_node(text, length),
										  type, value, error);
}

/* The text of any value, for a json field. */
static void
value_text(const JsonbValue *value, kiln_scalar *out)
{
	StringInfoData buf;

	initStringInfo(&buf);
	if (value->type == jbvBinary)
		JsonbToCString(&buf, value->val.binary.data, value->val.binary.len);
	else
	{
		JsonbValue	copy = *value;
		Jsonb	   *document = JsonbValueToJsonb(&copy);

		JsonbToCString(&buf, &document->root, VARSIZE(document));
		pfree(document);
	}
	out->span.data = kiln_server_to_utf8(buf.data, buf.len, &out->span.length);
}

static bool
jsonb_scalar(void *self, kiln_node place, const kiln_type *type, kiln_scalar *value, kiln_error *error)
{
	const JsonbValue *from = &node_of(place)->value;
	const char *text;
	size_t		length;

	if (type->kind == KILN_JSON)
	{
		value_text(from, value);
		return true;
	}
	if (from->type == jbvString)
	{
		text = kiln_server_to_utf8(from->val.string.val, from->val.string.len, &length);
		return string_scalar(self, type, text, length, value, error);
	}
	if (from->type == jbvNumeric && is_number(type))
		return kiln_numeric_scalar(type, NumericGetDatum(from->val.numeric), value, error);
	if (from->type == jbvBool && type->kind == KILN_BOOL)
	{
		value->boolean = from->val.boolean;
		return true;
	}
	return unexpected(from, wanted_for(type), error);
}

static void
jsonb_poll(void)
{
	CHECK_FOR_INTERRUPTS();
}

static const kiln_source jsonb_callbacks = {
	.begin_struct = jsonb_begin_struct,
	.field = jsonb_field,
	.scalar = jsonb_scalar,
	.begin_list = jsonb_begin_list,
	.element = jsonb_element,
	.begin_dict = jsonb_begin_dict,
	.pair = jsonb_pair,
	.poll = jsonb_poll,
	.json = &kiln_pg_json_check,
};
