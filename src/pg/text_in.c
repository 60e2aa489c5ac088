/*
 * Text input: the forms of FORMAT 5 into a frame.
 *
 * The outermost object is looked through for $kiln, which may stand anywhere in it, and what $kiln says decides
 * how the rest is read. A text without it is JSON for the column's schema, or for nobody in particular.
 *
 * The tape and all that goes with it live in a context of their own; frames are built in the caller's. Errors are
 * reported there too, since a soft error is kept in the context in which it is met.
 */
#include "kiln_text.h"

#include "registry.h"

/* The keys of the outermost object that the envelope knows; 0: not there. */
typedef struct KilnEnvelope
{
	uint32		kiln;
	uint32		value;
	uint32		base64;
	uint32		unverified;
	uint32		keys;			/* all that are there */
} KilnEnvelope;

/* A text in hand. */
typedef struct KilnTextIn
{
	KilnJsonText json;
	KilnEnvelope envelope;
	MemoryContext working;
	const char *name;			/* what $kiln says */
	size_t		name_length;
	Node	   *escontext;
} KilnTextIn;

static bool
syntax(kiln_error *error, const char *message)
{
	return kiln_source_fail(error, ERRCODE_INVALID_TEXT_REPRESENTATION, "%s", message);
}

/* ------------------------------------------------------------------ memory */

/* Texts this short are read in the caller's memory: what they leave there is little, and the caller's to reset. */
#define SHORT_TEXT	1024

static MemoryContext
working_begin(size_t length)
{
	if (length <= SHORT_TEXT)
		return CurrentMemoryContext;
	return AllocSetContextCreate(CurrentMemoryContext, "kiln text", ALLOCSET_DEFAULT_SIZES);
}

static void
working_end(MemoryContext working)
{
	if (working != CurrentMemoryContext)
		MemoryContextDelete(working);
}

/* ------------------------------------------------------------------ payloads */

bool
kiln_payload_from_json(const kiln_type *type, const char *text, size_t length, kiln_writer *writer, kiln_error *error)
{
	MemoryContext caller = CurrentMemoryContext;
	MemoryContext working = working_begin(length);
	KilnJsonText json;
	KilnJsonSource source;
	bool		good;

	MemoryContextSwitchTo(working);
	good = kiln_json_parse(&json, text, length, KILN_TEXT_LEVELS, error);
	if (good)
		kiln_json_source_init(&source, &json);
	MemoryContextSwitchTo(caller);
	/* the writer may get its first buffer while it is written to, and then from the caller's context */
	if (good)
	{
		good = kiln_encode(type, &source.source, kiln_json_source_node(&source, 0), writer, error);
		kiln_json_source_done(&source);
	}
	working_end(working);
	return good;
}

/* Types whose default in a definition is JSON text; the text of all others is the content of a JSON string. */
static bool
default_is_json(const kiln_type *type)
{
	switch (type->kind)
	{
		case KILN_JSON:
		case KILN_LIST:
		case KILN_DICT:
		case KILN_STRUCT:
			return true;
		default:
			return false;
	}
}

static bool
literal_grow(kiln_writer *writer, size_t capacity)
{
	size_t		used = kiln_writer_length(writer);

	writer->start = repalloc(writer->start, capacity);
	writer->pos = writer->start + used;
	writer->end = writer->start + capacity;
	return true;
}

bool
kiln_literal(void *context, const kiln_type *type, const char *text, size_t length,
			 const uint8_t **payload, size_t *payload_length, kiln_error *error)
{
	kiln_writer writer;
	KilnJsonSource source;
	bool		good;

	kiln_writer_init(&writer, palloc(64), 64);
	writer.grow = literal_grow;
	writer.limit = MaxAllocSize;
	if (default_is_json(type))
		good = kiln_payload_from_json(type, text, length, &writer, error);
	else
	{
		kiln_json_source_init(&source, NULL);
		good = kiln_encode(type, &source.source, kiln_json_content_node(text, length), &writer, error);
	}
	*payload = writer.start;
	*payload_length = kiln_writer_length(&writer);
	return good;
}

/* ------------------------------------------------------------------ texts without $kiln */

/* The type of a JSON scalar that says no more of itself; "json" for anything else. */
static const char *
type_of_scalar(KilnNodeKind kind, const char *text, size_t length)
{
	KilnDecimal decimal;
	kiln_scalar value;

	switch (kind)
	{
		case KILN_NODE_TRUE:
		case KILN_NODE_FALSE:
			return "bool";
		case KILN_NODE_STRING:
			return "string";
		case KILN_NODE_NUMBER:
			if (!kiln_decimal_parse(text, length, &decimal) || !decimal.integer)
				return "numeric";
			if (kiln_integer_in(KILN_I64, text, length, &value, NULL))
				return "i64";
			return kiln_integer_in(KILN_U64, text, length, &value, NULL) ? "u64" : "numeric";
		default:
			return "json";
	}
}

/* A frame of an inline scalar type from JSON text. NULL after a soft error. */
static struct varlena *
inline_from_json(const char *word, const char *text, size_t length, Node *escontext)
{
	KilnSchema *schema = kiln_schema_inline(word, strlen(word));
	kiln_writer writer;
	kiln_error	error;

	kiln_builder_init(&writer, KILN_INLINE_HEAD + strlen(word) + 4 + length);
	kiln_builder_head_schema(&writer, schema);
	if (kiln_payload_from_json(schema->root, text, length, &writer, &error))
		return kiln_builder_finish(&writer);
	kiln_report(&error, KILN_IN_TEXT, escontext);
	return NULL;
}

/* An inline json value: the text as it stands, known to be good. */
static struct varlena *
inline_json(const char *text, size_t length, Node *escontext)
{
	kiln_writer writer;

	kiln_builder_init(&writer, KILN_INLINE_HEAD + 4 + 4 + length);
	kiln_builder_head_inline(&writer, "json", 4);
	if (!kiln_writer_reserve(&writer, 4 + length))
		kiln_ereturn(escontext, NULL,
					 (errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
					  errmsg("kiln value is too large"),
					  errdetail("A value has at most %d bytes.", KILN_MAX_FRAME)));
	kiln_writer_span(&writer, text, (uint32) length);
	return kiln_builder_finish(&writer);
}

static struct varlena *
nameless(const char *text, size_t length, int32 typmod, Node *escontext)
{
	KilnNodeKind kind;
	kiln_error	error;
	const char *word;

	if (typmod >= 0)
		return kiln_encode_nameless(text, length, typmod, escontext);
	if (!kiln_json_check_text(text, length, &kind, &error))
	{
		kiln_report(&error, KILN_IN_TEXT, escontext);
		return NULL;
	}
	word = type_of_scalar(kind, text, length);
	if (strcmp(word, "json") == 0)
		return inline_json(text, length, escontext);
	return inline_from_json(word, text, length, escontext);
}

/* ------------------------------------------------------------------ the envelope */

/* Which of the envelope's keys this is, NULL if none. */
static uint32 *
envelope_key(KilnEnvelope *envelope, const char *key, size_t length)
{
	static const char *const words[] = {"$kiln", "$value", "$base64", "$unverified"};
	uint32	   *places[] = {&envelope->kiln, &envelope->value, &envelope->base64, &envelope->unverified};

	for (size_t i = 0; i < lengthof(words); i++)
		if (strlen(words[i]) == length && memcmp(words[i], key, length) == 0)
			return places[i];
	return NULL;
}

/*
 * Look through the outermost object. *repeated gets a key of the envelope that stands there twice, if one does: an
 * error if there is a $kiln.
 */
static bool
find_envelope(KilnTextIn *in, uint32 *repeated, kiln_error *error)
{
	const KilnJsonNode *object = &in->json.nodes[0];
	uint32		key = 1;

	*repeated = 0;
	memset(&in->envelope, 0, sizeof in->envelope);
	in->envelope.keys = object->count;
	while (key < object->next)
	{
		KilnJsonValue value = kiln_json_value(&in->json, key);
		const char *text;
		size_t		length;
		uint32	   *place;

		/* only these can turn out as a key that starts with $ */
		if (value.length > 0 && (value.text[0] == '$' || value.text[0] == '\\'))
		{
			if (!kiln_json_string(&value, in->working, &text, &length, error))
				return false;
			place = envelope_key(&in->envelope, text, length);
			if (place && *place)
				*repeated = key;
			else if (place)
				*place = key;
		}
		key = in->json.nodes[key + 1].next;
	}
	return true;
}

/* The string at a key, without escapes. */
static bool
string_at(KilnTextIn *in, uint32 key, const char **text, size_t *length, kiln_error *error)
{
	KilnJsonValue value = kiln_json_value(&in->json, key + 1);

	if (value.kind != KILN_NODE_STRING)
	{
		value = kiln_json_value(&in->json, key);
		return kiln_source_fail(error, ERRCODE_INVALID_TEXT_REPRESENTATION, "%.*s is a string", (int) value.length,
								value.text);
	}
	return kiln_json_string(&value, in->working, text, length, error);
}

/* ------------------------------------------------------------------ the forms */

static struct varlena *
report(const KilnTextIn *in, const kiln_error *error)
{
	kiln_report(error, KILN_IN_TEXT, in->escontext);
	return NULL;
}

static bool
says_tensors(const KilnTextIn *in)
{
	return in->name_length == 7 && memcmp(in->name, "tensors", 7) == 0;
}

/* Append what base64 stands for to a frame under construction. */
static bool
append_base64(kiln_writer *writer, const char *text, size_t length, kiln_error *error)
{
	size_t		bytes;

	if (!kiln_base64_length(text, length, &bytes))
		return syntax(error, "base64 has a wrong length");
	if (!kiln_writer_reserve(writer, bytes))
		return kiln_fail(error, KILN_E_SIZE, 0, NULL);
	if (!kiln_base64_decode(text, length, writer->pos))
		return syntax(error, "malformed base64");
	writer->pos += bytes;
	return true;
}

/* The hash of "#0123456789abcdef". */
static bool
hash_of_name(const KilnTextIn *in, uint64 *hash)
{
	return in->name_length == 17 && in->name[0] == '#' && kiln_read_hash(in->name + 1, hash);
}

/*
 * The unverified form: kept as it comes, but if its definition is registered by now and it is valid, it is a
 * registered value.
 */
static struct varlena *
unverified(KilnTextIn *in)
{
	KilnEnvelope *envelope = &in->envelope;
	KilnSchema *schema;
	kiln_writer writer;
	kiln_error	error;
	const char *text;
	size_t		length;
	uint64		hash;
	uint8	   *frame;

	if (!envelope->base64 || envelope->keys != 3 || !hash_of_name(in, &hash) ||
		in->json.nodes[envelope->unverified + 1].kind != KILN_NODE_TRUE)
	{
		kiln_source_fail(&error, ERRCODE_INVALID_TEXT_REPRESENTATION,
						 "an unverified value has a hash alone in $kiln, a $base64, and $unverified that is true");
		return report(in, &error);
	}
	kiln_builder_init(&writer, KILN_HASH_HEAD + in->json.length / 4 * 3);
	kiln_builder_head_unverified(&writer, hash);
	if (!string_at(in, envelope->base64, &text, &length, &error) || !append_base64(&writer, text, length, &error))
		return report(in, &error);
	frame = writer.start + VARHDRSZ;
	if (kiln_registry_find(hash, &schema) == KILN_LOOKUP_FOUND &&
		kiln_validate(schema->root, frame + KILN_HASH_HEAD, writer.pos - frame - KILN_HASH_HEAD,
					  &kiln_pg_json_check, NULL))
		frame[0] = KILN_FRAME_REGISTERED;
	return kiln_builder_finish(&writer);
}

/* A payload in base64 under a definition that is known: validated like any other that comes from outside. */
static struct varlena *
from_base64(KilnTextIn *in)
{
	KilnSchema *schema = NULL;
	struct varlena *tensors;
	kiln_writer writer;
	kiln_error	error;
	const char *text;
	size_t		length;
	size_t		start;

	if (in->envelope.keys != 2)
	{
		syntax(&error, "a key stands beside $base64 that can't");
		return report(in, &error);
	}
	if (!string_at(in, in->envelope.base64, &text, &length, &error))
		return report(in, &error);
	if (says_tensors(in))
	{
		tensors = kiln_tensors_from_base64(text, length, &error);
		return tensors ? tensors : report(in, &error);
	}
	schema = kiln_schema_resolve(in->name, in->name_length, in->escontext);
	if (schema == NULL)
		return NULL;
	kiln_schema_interned(schema);
	kiln_builder_init(&writer, KILN_INLINE_HEAD + schema->codec->text_length + length / 4 * 3);
	kiln_builder_head_schema(&writer, schema);
	start = kiln_writer_length(&writer);
	if (!append_base64(&writer, text, length, &error) ||
		!kiln_validate(schema->root, writer.start + start, kiln_writer_length(&writer) - start,
					   &kiln_pg_json_check, &error))
		return report(in, &error);
	return kiln_builder_finish(&writer);
}

/* Encode the value at a node under a definition. */
static struct varlena *
encode_node(KilnTextIn *in, const KilnSchema *schema, uint32 node)
{
	MemoryContext caller = MemoryContextSwitchTo(in->working);
	KilnJsonSource source;
	kiln_writer writer;
	kiln_error	error;
	bool		good;

	kiln_json_source_init(&source, &in->json);
	MemoryContextSwitchTo(caller);
	source.passed_over = in->envelope.kiln;
	kiln_builder_init(&writer, KILN_INLINE_HEAD + schema->codec->text_length + in->json.length / 2);
	kiln_builder_head_schema(&writer, schema);
	good = kiln_encode(schema->root, &source.source, kiln_json_source_node(&source, node), &writer, &error);
	kiln_json_source_done(&source);
	return good ? kiln_builder_finish(&writer) : report(in, &error);
}

/* 42804 for a scalar that says it is one: a typed column would take it for JSON text without $kiln. */
static struct varlena *
refuse_scalar(const KilnTextIn *in, const KilnSchema *schema, int32 typmod)
{
	kiln_ereturn(in->escontext, NULL,
				 (errcode(ERRCODE_DATATYPE_MISMATCH),
				  errmsg("value of kiln schema %s can't be stored in a column of type kiln(%s)",
						 kiln_utf8_for_message(schema->codec->text, Min(schema->codec->text_length, 200)),
						 kiln_typmod_name(typmod))));
}

/* A value written out, under a definition. */
static struct varlena *
from_members(KilnTextIn *in, int32 typmod)
{
	KilnSchema *schema = kiln_schema_resolve(in->name, in->name_length, in->escontext);
	kiln_error	error;
	bool		is_struct;

	if (schema == NULL)
		return NULL;
	/* a definition in full must not be a stranger to the one that is registered under its hash */
	kiln_schema_interned(schema);
	is_struct = schema->root->kind == KILN_STRUCT;
	if (is_struct && in->envelope.value)
		syntax(&error, "$value stands for a value that is no struct, and the definition is one");
	else if (!is_struct && (!in->envelope.value || in->envelope.keys != 2))
		syntax(&error, "a value that is no struct has $kiln and $value, and nothing else");
	else if (!is_struct && typmod >= 0 && schema->root->kind != KILN_JSON)
		return refuse_scalar(in, schema, typmod);
	else
		return encode_node(in, schema, is_struct ? 0 : in->envelope.value + 1);
	return report(in, &error);
}

static struct varlena *
from_tensors(KilnTextIn *in)
{
	MemoryContext caller = MemoryContextSwitchTo(in->working);
	kiln_error	error;
	struct varlena *tensors = kiln_tensors_from_json(&in->json, in->envelope.kiln, caller, &error);

	MemoryContextSwitchTo(caller);
	return tensors ? tensors : report(in, &error);
}

/* A text with $kiln in it. */
static struct varlena *
named(KilnTextIn *in, int32 typmod)
{
	struct varlena *frame;
	kiln_error	error;

	if (!string_at(in, in->envelope.kiln, &in->name, &in->name_length, &error))
		return report(in, &error);
	if (in->envelope.unverified)
		frame = unverified(in);
	else if (in->envelope.base64)
		frame = from_base64(in);
	else if (says_tensors(in))
		frame = from_tensors(in);
	else
		frame = from_members(in, typmod);
	return frame ? kiln_coerce_frame(frame, typmod, in->escontext) : NULL;
}

/*
 * An object: *frame, if it has a $kiln, which it returns. NULL in *frame: after a soft error.
 */
static bool
from_object(KilnTextIn *in, const char *text, size_t length, int32 typmod, struct varlena **frame)
{
	MemoryContext caller = MemoryContextSwitchTo(in->working);
	kiln_error	error;
	uint32		repeated = 0;
	bool		good;

	good = kiln_json_parse(&in->json, text, length, KILN_TEXT_LEVELS, &error) && find_envelope(in, &repeated, &error);
	MemoryContextSwitchTo(caller);
	if (good && in->envelope.kiln == 0)
		return false;
	if (good && repeated)
	{
		KilnJsonValue key = kiln_json_value(&in->json, repeated);
		char		clip[KILN_CLIP];

		good = kiln_source_fail(&error, ERRCODE_INVALID_TEXT_REPRESENTATION, "repeated key \"%s\"",
								kiln_clip(key.text, key.length, clip));
	}
	*frame = good ? named(in, typmod) : report(in, &error);
	return true;
}

struct varlena *
kiln_frame_from_text(const char *text, size_t length, int32 typmod, Node *escontext)
{
	KilnTextIn	in;
	struct varlena *frame;
	bool		is_named;

	kiln_json_trim(&text, &length);
	if (length == 0 || text[0] != '{')
		return nameless(text, length, typmod, escontext);
	in.escontext = escontext;
	in.name = NULL;
	in.name_length = 0;
	in.working = working_begin(length);
	is_named = from_object(&in, text, length, typmod, &frame);
	working_end(in.working);
	return is_named ? frame : nameless(text, length, typmod, escontext);
}
