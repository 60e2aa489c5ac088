/*
 * Typed columns: which values a column kiln(name) takes (docs/DESIGN.md, section 3).
 *
 * Every route into a column ends here: input and recv with a typmod, the length coercion of literals, parameters,
 * INSERT … SELECT, domains, arrays, composites and plpgsql variables, and the casts from json and jsonb. So they
 * can't differ.
 */
#include "kiln_pg.h"

#include "fmgr.h"
#include "utils/builtins.h"

/* 42804, or a soft error: the value's own schema is not the column's. */
static struct varlena *
wrong_schema(const char *found, size_t length, int32 typmod, Node *escontext)
{
	char	   *column = kiln_typmod_name(typmod);

	if (length > 0)
		kiln_ereturn(escontext, NULL,
					 (errcode(ERRCODE_DATATYPE_MISMATCH),
					  errmsg("value of kiln schema %s can't be stored in a column of type kiln(%s)",
							 kiln_utf8_for_message(found, length), column)));
	kiln_ereturn(escontext, NULL,
				 (errcode(ERRCODE_DATATYPE_MISMATCH),
				  errmsg("a tensor directory can't be stored in a column of type kiln(%s)", column)));
}

/* The same for a value that is a definition's, named by its name or, unnamed, by its text. */
static struct varlena *
wrong_definition(const KilnSchema *schema, int32 typmod, Node *escontext)
{
	const kiln_type *root = schema->root;
	char	   *name;

	if (root->kind != KILN_STRUCT || root->name_length == 0)
		return wrong_schema(schema->codec->text, Min(schema->codec->text_length, 200), typmod, escontext);
	name = kiln_schema_quoted_name(schema);
	return wrong_schema(name, strlen(name), typmod, escontext);
}

/*
 * Encode JSON text that names no definition into the latest version of the column's schema. NULL after a soft error.
 */
struct varlena *
kiln_encode_nameless(const char *json, size_t length, int32 typmod, Node *escontext)
{
	KilnSchema *schema;
	kiln_writer writer;
	kiln_error	error;

	if (typmod == kiln_tensor_typmod())
		kiln_ereturn(escontext, NULL,
					 (errcode(ERRCODE_DATATYPE_MISMATCH),
					  errmsg("a column of type kiln(tensor) takes tensor directories only"),
					  errhint("Write {\"$kiln\": \"tensors\", …}, or use kiln_tensor().")));
	schema = kiln_registry_latest_by_typmod(typmod);
	if (schema == NULL)
		kiln_ereturn(escontext, NULL,
					 (errcode(ERRCODE_UNDEFINED_OBJECT),
					  errmsg("kiln schema %s is not registered", kiln_typmod_name(typmod)),
					  errhint("Register its definition with kiln_register(). "
							  "Restoring data before its definitions? See kiln_dump_schemas().")));
	kiln_builder_init(&writer, KILN_HASH_HEAD + length);
	kiln_builder_head_registered(&writer, schema->hash);
	if (!kiln_payload_from_json(schema->root, json, length, &writer, &error))
	{
		kiln_report(&error, KILN_IN_TEXT, escontext);
		return NULL;
	}
	return kiln_builder_finish(&writer);
}

/* Could JSON text without $kiln have given this value? Then a typed column reads it as that text. */
static bool
is_nameless(const kiln_type *type)
{
	switch (type->kind)
	{
		case KILN_JSON:
		case KILN_BOOL:
		case KILN_I64:
		case KILN_U64:
		case KILN_NUMERIC:
		case KILN_STRING:
			return true;
		default:
			return false;
	}
}

static struct varlena *
coerce_inline(struct varlena *varlena, const kiln_frame *frame, int32 typmod, Node *escontext)
{
	KilnSchema *schema = kiln_schema_inline(frame->text, frame->text_length);
	const kiln_type *root = schema->root;
	KilnSchema *registered;
	StringInfoData json;

	if (is_nameless(root) && typmod != kiln_tensor_typmod())
	{
		uint32		n;

		if (root->kind == KILN_JSON)
			return kiln_encode_nameless((const char *) kiln_view_span(frame->payload, &n),
										frame->payload_length - 4, typmod, escontext);
		initStringInfo(&json);
		kiln_print_json(&json, root, frame->payload, frame->payload_length, KILN_JSON_LIMIT);
		{
			size_t		length;
			const char *utf8 = kiln_server_to_utf8(json.data, json.len, &length);

			return kiln_encode_nameless(utf8, length, typmod, escontext);
		}
	}
	if (root->kind != KILN_STRUCT || root->name_length == 0 ||
		kiln_name_typmod(root->name, root->name_length) != typmod)
		return wrong_definition(schema, typmod, escontext);

	registered = kiln_schema_interned(schema);
	if (!registered->registered)
		return varlena;
	return kiln_make_frame(registered, frame->payload, frame->payload_length);
}

/*
 * Fit a frame to a column of that typmod. varlena: detoasted, any header. Returns it or another; NULL after a soft
 * error.
 */
struct varlena *
kiln_coerce_frame(struct varlena *varlena, int32 typmod, Node *escontext)
{
	kiln_frame	frame;
	KilnSchema *schema;

	if (typmod < 0)
		return varlena;
	kiln_frame_parts(varlena, &frame);
	switch (frame.kind)
	{
		case KILN_FRAME_TENSORS:
			if (typmod == kiln_tensor_typmod())
				return varlena;
			return wrong_schema(NULL, 0, typmod, escontext);
		case KILN_FRAME_INLINE:
			return coerce_inline(varlena, &frame, typmod, escontext);
		case KILN_FRAME_UNVERIFIED:
			if (typmod != kiln_tensor_typmod())
				return varlena;
			kiln_ereturn(escontext, NULL,
						 (errcode(ERRCODE_DATATYPE_MISMATCH),
						  errmsg("an unverified kiln value can't be stored in a column of type kiln(tensor)")));
		default:
			schema = kiln_registry_get(frame.hash);
			if (kiln_name_typmod(schema->root->name, schema->root->name_length) == typmod)
				return varlena;
			return wrong_definition(schema, typmod, escontext);
	}
}

PG_FUNCTION_INFO_V1(kiln_coerce);

/* The definition that the call site last found to be its column's. */
typedef struct CoerceState
{
	uint64		hash;
	uint64		generation;		/* of the registry */
	int32		typmod;
} CoerceState;

/* The hash of a registered value that is in memory as a whole; false if it is none. */
static inline bool
registered_hash(const struct varlena *value, uint64 *hash)
{
	const uint8_t *frame;

	if (VARATT_IS_EXTERNAL(value) || VARATT_IS_COMPRESSED(value) || VARSIZE_ANY_EXHDR(value) < KILN_HASH_HEAD)
		return false;
	frame = (const uint8_t *) VARDATA_ANY(value);
	*hash = kiln_load_u64(frame + 1);
	return frame[0] == KILN_FRAME_REGISTERED;
}

/* kiln_coerce(kiln, integer, boolean): the length coercion, which the parser puts in where a typmod is wanted. */
Datum
kiln_coerce(PG_FUNCTION_ARGS)
{
	CoerceState *state = fcinfo->flinfo->fn_extra;
	struct varlena *value = (struct varlena *) PG_GETARG_POINTER(0);
	int32		typmod = PG_GETARG_INT32(1);
	uint64		generation = kiln_registry_generation;
	uint64		hash;
	bool		registered;

	if (typmod < 0)
		PG_RETURN_POINTER(value);
	registered = registered_hash(value, &hash);
	if (registered && state != NULL && state->hash == hash && state->generation == generation && state->typmod == typmod)
		PG_RETURN_POINTER(value);
	value = kiln_coerce_frame(PG_DETOAST_DATUM_PACKED(PointerGetDatum(value)), typmod, kiln_escontext(fcinfo));
	if (registered && value != NULL)
	{
		if (state == NULL)
			state = fcinfo->flinfo->fn_extra = MemoryContextAlloc(fcinfo->flinfo->fn_mcxt, sizeof(CoerceState));
		state->hash = hash;
		state->generation = generation;
		state->typmod = typmod;
	}
	PG_RETURN_POINTER(value);
}
