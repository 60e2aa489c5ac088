/*
 * What converting a table asks of one row.
 *
 * kiln_misfit encodes a document and reads it back, and says in a line what is lost or does not go, or NULL. Nothing
 * is raised for a document's own faults, so that one query over a table lists them all, on every version of the server.
 */
#include "kiln_encode.h"

#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"

#include "kiln_convert.h"
#include "kiln_text.h"

PG_FUNCTION_INFO_V1(kiln_misfit);
PG_FUNCTION_INFO_V1(kiln_misfit_json);
PG_FUNCTION_INFO_V1(kiln_outdated);

/* Kept from row to row. */
typedef struct MisfitState
{
	MemoryContext context;
	MemoryContext row;			/* of what a row needs; reset after each */
	struct varlena *argument;	/* the schema argument, as it was given */
	KilnSchema *schema;			/* what it means; pinned */
} MisfitState;

/* ------------------------------------------------------------------ arguments */

/* The function's memory goes when its query does: so does what pins a definition. */
static void
release_schema(void *argument)
{
	MisfitState *state = argument;

	if (state->schema)
		kiln_schema_unpin(state->schema);
	state->schema = NULL;
}

static MisfitState *
state_of(FunctionCallInfo fcinfo)
{
	MisfitState *state = fcinfo->flinfo->fn_extra;
	MemoryContext context = fcinfo->flinfo->fn_mcxt;
	MemoryContextCallback *callback;

	if (state)
		return state;
	state = MemoryContextAllocZero(context, sizeof(MisfitState));
	state->context = context;
	state->row = AllocSetContextCreate(context, "kiln_misfit row", ALLOCSET_DEFAULT_SIZES);
	callback = MemoryContextAllocZero(context, sizeof(MemoryContextCallback));
	callback->func = release_schema;
	callback->arg = state;
	MemoryContextRegisterResetCallback(context, callback);
	fcinfo->flinfo->fn_extra = state;
	return state;
}

static KilnSchema *
schema_of(MisfitState *state, Datum argument)
{
	struct varlena *now = PG_DETOAST_DATUM_PACKED(argument);
	size_t		n = VARSIZE_ANY_EXHDR(now);
	KilnSchema *schema;
	const char *text;
	size_t		length;

	if (state->schema && kiln_schema_fresh(state->schema) && VARSIZE_ANY_EXHDR(state->argument) == n &&
		memcmp(VARDATA_ANY(state->argument), VARDATA_ANY(now), n) == 0)
		return state->schema;
	text = kiln_text_datum_to_utf8(PointerGetDatum(now), &length);
	schema = kiln_schema_interned(kiln_schema_resolve(text, length, NULL));
	kiln_schema_pin(schema);
	if (state->schema)
		kiln_schema_unpin(state->schema);
	state->schema = schema;
	if (state->argument)
		pfree(state->argument);
	state->argument = MemoryContextAlloc(state->context, VARSIZE_ANY(now));
	memcpy(state->argument, now, VARSIZE_ANY(now));
	return schema;
}

KilnVerify
kiln_verify_of(text *argument)
{
	char	   *word = text_to_cstring(argument);

	if (strcmp(word, "values") == 0)
		return KILN_VERIFY_VALUES;
	if (strcmp(word, "exact") == 0)
		return KILN_VERIFY_EXACT;
	if (strcmp(word, "none") != 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("unrecognized way to verify: \"%s\"", word),
				 errhint("It is values, exact or none.")));
	return KILN_VERIFY_NONE;
}

/* ------------------------------------------------------------------ differences */

static void
whole_value(Jsonb *document, JsonbValue *value)
{
	if (JsonbExtractScalar(&document->root, value))
		return;
	value->type = jbvBinary;
	value->val.binary.data = &document->root;
	value->val.binary.len = VARSIZE(document) - VARHDRSZ;
}

static bool
same_document(Jsonb *one, Jsonb *other)
{
	return compareJsonbContainers(&one->root, &other->root) == 0;
}

/* A value's text for a message, cut to some forty bytes. */
static const char *
clipped(const JsonbValue *value, char *out)
{
	JsonbValue	copy = *value;
	Jsonb	   *document;
	const char *text;
	size_t		length;

	document = JsonbValueToJsonb(&copy);
	text = JsonbToCString(NULL, &document->root, VARSIZE(document));
	text = kiln_server_to_utf8(text, strlen(text), &length);
	return kiln_clip(text, length, out);
}

static bool
differs(const JsonbValue *source, const JsonbValue *back, kiln_error *error)
{
	char		one[KILN_CLIP];
	char		other[KILN_CLIP];

	if (back == NULL)
		return kiln_source_fail(error, 0, "%s is lost", clipped(source, one));
	return kiln_source_fail(error, 0, "%s reads back as %s", clipped(source, one), clipped(back, other));
}

static bool same_value(const JsonbValue *source, const JsonbValue *back, kiln_error *error);

static bool
same_object(JsonbContainer *source, JsonbContainer *back, kiln_error *error)
{
	JsonbIterator *iterator = JsonbIteratorInit(source);
	JsonbValue	key;
	JsonbValue	value;

	(void) JsonbIteratorNext(&iterator, &key, true);
	while (JsonbIteratorNext(&iterator, &key, true) == WJB_KEY)
	{
		JsonbValue *found = findJsonbValueFromContainer(back, JB_FOBJECT, &key);
		size_t		length;
		const char *name;

		(void) JsonbIteratorNext(&iterator, &value, true);
		if (found ? same_value(&value, found, error) : differs(&value, NULL, error))
			continue;
		name = kiln_server_to_utf8(key.val.string.val, key.val.string.len, &length);
		kiln_error_prepend_name(error, name, length);
		return false;
	}
	return true;
}

static bool
same_list(JsonbContainer *source, JsonbContainer *back, kiln_error *error)
{
	for (uint32 i = 0; i < JsonContainerSize(source); i++)
	{
		JsonbValue *value = getIthJsonbValueFromContainer(source, i);
		JsonbValue *found = getIthJsonbValueFromContainer(back, i);

		CHECK_FOR_INTERRUPTS();
		if (found ? same_value(value, found, error) : differs(value, NULL, error))
			continue;
		kiln_error_prepend_index(error, i);
		return false;
	}
	return true;
}

/* Where do two values differ first? False: *error says. What the second has more is not looked for. */
static bool
same_value(const JsonbValue *source, const JsonbValue *back, kiln_error *error)
{
	JsonbValue	one = *source;
	JsonbValue	other = *back;

	check_stack_depth();
	if (source->type == jbvBinary && back->type == jbvBinary &&
		JsonContainerIsObject(source->val.binary.data) == JsonContainerIsObject(back->val.binary.data))
		return JsonContainerIsObject(source->val.binary.data) ?
			same_object(source->val.binary.data, back->val.binary.data, error) :
			same_list(source->val.binary.data, back->val.binary.data, error);
	if (source->type == back->type && source->type != jbvBinary &&
		same_document(JsonbValueToJsonb(&one), JsonbValueToJsonb(&other)))
		return true;
	return differs(source, back, error);
}

static Jsonb *
without_nulls(Jsonb *document)
{
	return DatumGetJsonbP(DirectFunctionCall1(jsonb_strip_nulls, JsonbPGetDatum(document)));
}

/* Is what came back the document? */
static bool
verify_document(Jsonb *document, Jsonb *back, KilnVerify verify, kiln_error *error)
{
	JsonbValue	one;
	JsonbValue	other;

	if (same_document(document, back))
		return true;
	if (verify == KILN_VERIFY_VALUES)
	{
		document = without_nulls(document);
		back = without_nulls(back);
		if (same_document(document, back))
			return true;
	}
	whole_value(document, &one);
	whole_value(back, &other);
	if (same_value(&one, &other, error))
		return kiln_source_fail(error, 0, "the value reads back as another");
	return false;
}

/* ------------------------------------------------------------------ one row */

/* Encode, and read back. False: *error says what is wrong. */
static bool
fits(const KilnSchema *schema, Jsonb *document, KilnVerify verify, kiln_error *error)
{
	KilnJsonbSource source;
	kiln_writer writer;
	kiln_frame	frame;
	StringInfoData json;
	Jsonb	   *back;

	kiln_jsonb_source_init(&source);
	kiln_builder_init(&writer, VARSIZE(document));
	kiln_builder_head_schema(&writer, schema);
	if (!kiln_encode(schema->root, &source.source, kiln_jsonb_node(document), &writer, error))
		return false;
	if (verify == KILN_VERIFY_NONE)
		return true;
	kiln_frame_parts(kiln_builder_finish(&writer), &frame);
	initStringInfo(&json);
	kiln_print_json(&json, schema->root, frame.payload, frame.payload_length, KILN_JSON_LIMIT);
	back = DatumGetJsonbP(DirectFunctionCall1(jsonb_in, CStringGetDatum(json.data)));
	return verify_document(document, back, verify, error);
}

/* JSON text as jsonb; NULL with *error filled for what jsonb does not take. */
static Jsonb *
parse_document(Datum json, kiln_error *error)
{
	char	   *source = TextDatumGetCString(json);
	size_t		length;
	const char *utf8 = kiln_server_to_utf8(source, strlen(source), &length);

	if (!kiln_json_check_text(utf8, length, NULL, error))
		return NULL;
	return DatumGetJsonbP(DirectFunctionCall1(jsonb_in, CStringGetDatum(source)));
}

static Datum
misfit(FunctionCallInfo fcinfo, bool json)
{
	MisfitState *state = state_of(fcinfo);
	MemoryContext caller = MemoryContextSwitchTo(state->row);
	KilnSchema *schema = schema_of(state, PG_GETARG_DATUM(0));
	KilnVerify	verify = kiln_verify_of(PG_GETARG_TEXT_PP(2));
	kiln_error	error;
	Jsonb	   *document = json ? parse_document(PG_GETARG_DATUM(1), &error) : PG_GETARG_JSONB_P(1);
	bool		good = document != NULL && fits(schema, document, verify, &error);
	char	   *line = good ? NULL : kiln_error_line(&error);
	Datum		result = (Datum) 0;

	MemoryContextSwitchTo(caller);
	if (line)
		result = CStringGetTextDatum(line);
	MemoryContextReset(state->row);
	if (good)
		PG_RETURN_NULL();
	PG_RETURN_DATUM(result);
}

/* kiln_misfit(schema text, document jsonb, verify text): why the document is no value of the schema; NULL if it is. */
Datum
kiln_misfit(PG_FUNCTION_ARGS)
{
	return misfit(fcinfo, false);
}

/* kiln_misfit(schema text, document json, verify text) */
Datum
kiln_misfit_json(PG_FUNCTION_ARGS)
{
	return misfit(fcinfo, true);
}

/* ------------------------------------------------------------------ versions */

/* Of a schema that has a name: is another text its latest version? */
static bool
has_later(const KilnSchema *schema)
{
	const kiln_type *root = schema->root;
	const KilnSchema *latest = root->kind == KILN_STRUCT && root->name_length > 0 ?
		kiln_registry_latest(root->name, root->name_length) : NULL;

	return latest != NULL && latest != schema;
}

/*
 * kiln_outdated(kiln): would kiln_upgrade() change it, or fail to? A value that is inline, or was kept unverified, of a
 * registered schema counts; a tensor, and what has no schema's name or none that is registered, does not.
 */
Datum
kiln_outdated(PG_FUNCTION_ARGS)
{
	Datum		datum = PG_GETARG_DATUM(0);
	struct varlena *head;
	kiln_frame	frame;
	KilnSchema *schema;

	/* the head of a registered value says all */
	head = PG_DETOAST_DATUM_SLICE(datum, 0, KILN_HASH_HEAD);
	if (VARSIZE_ANY_EXHDR(head) > 0 && *(uint8 *) VARDATA_ANY(head) == KILN_FRAME_INLINE)
		head = PG_DETOAST_DATUM_PACKED(datum);
	else if (VARSIZE_ANY_EXHDR(head) > 0 && *(uint8 *) VARDATA_ANY(head) == KILN_FRAME_TENSORS)
		PG_RETURN_BOOL(false);
	kiln_frame_parts(head, &frame);
	if (frame.kind == KILN_FRAME_INLINE)
		PG_RETURN_BOOL(has_later(kiln_schema_inline(frame.text, frame.text_length)));
	if (kiln_registry_find(frame.hash, &schema) != KILN_LOOKUP_FOUND)
		PG_RETURN_BOOL(true);
	PG_RETURN_BOOL(frame.kind == KILN_FRAME_UNVERIFIED || has_later(schema));
}
