/*
 * What a value says of itself: schema, version, definition, hash, frame; and its other forms: interned, portable.
 */
#include "kiln_pg.h"

#include "utils/builtins.h"

/* Detoasted argument 0 and its parts; nothing is looked up. */
static struct varlena *
argument_parts(FunctionCallInfo fcinfo, kiln_frame *frame)
{
	struct varlena *varlena = PG_DETOAST_DATUM_PACKED(PG_GETARG_DATUM(0));

	kiln_frame_parts(varlena, frame);
	return varlena;
}

static Datum
utf8_text(const char *text, size_t length)
{
	return kiln_utf8_to_text_datum((const uint8_t *) text, length);
}

PG_FUNCTION_INFO_V1(kiln_frame_bytes);
PG_FUNCTION_INFO_V1(kiln_from_frame);
PG_FUNCTION_INFO_V1(kiln_schema_name);
PG_FUNCTION_INFO_V1(kiln_version);
PG_FUNCTION_INFO_V1(kiln_definition);
PG_FUNCTION_INFO_V1(kiln_hash_of);
PG_FUNCTION_INFO_V1(kiln_is);
PG_FUNCTION_INFO_V1(kiln_verify);
PG_FUNCTION_INFO_V1(kiln_intern);
PG_FUNCTION_INFO_V1(kiln_portable);

/* kiln_frame(kiln): the frame's bytes, as kiln_send gives them. */
Datum
kiln_frame_bytes(PG_FUNCTION_ARGS)
{
	return PointerGetDatum(PG_DETOAST_DATUM_COPY(PG_GETARG_DATUM(0)));
}

/* kiln_from_frame(bytea): the door that kiln_recv is, for a bytea. */
Datum
kiln_from_frame(PG_FUNCTION_ARGS)
{
	bytea	   *bytes = PG_GETARG_BYTEA_PP(0);

	PG_RETURN_POINTER(kiln_admit((const uint8_t *) VARDATA_ANY(bytes), VARSIZE_ANY_EXHDR(bytes), -1));
}

/* kiln_schema(kiln): name of the value's schema; NULL for one that has none. */
Datum
kiln_schema_name(PG_FUNCTION_ARGS)
{
	KilnValue	value;

	kiln_value_open(PG_GETARG_DATUM(0), &value);
	if (value.schema == NULL || value.schema->root->kind != KILN_STRUCT || value.schema->root->name_length == 0)
		PG_RETURN_NULL();
	return utf8_text(value.schema->root->name, value.schema->root->name_length);
}

/* kiln_version(kiln): version of the registered definition; NULL for one that is not registered. */
Datum
kiln_version(PG_FUNCTION_ARGS)
{
	kiln_frame	frame;
	KilnSchema *schema;

	(void) argument_parts(fcinfo, &frame);
	if (frame.kind == KILN_FRAME_TENSORS)
		PG_RETURN_NULL();
	if (frame.kind != KILN_FRAME_INLINE)
		PG_RETURN_INT64(kiln_frame_schema(&frame)->version);
	if (kiln_registry_find(frame.hash, &schema) != KILN_LOOKUP_FOUND ||
		schema->codec->text_length != frame.text_length ||
		memcmp(schema->codec->text, frame.text, frame.text_length) != 0)
		PG_RETURN_NULL();
	PG_RETURN_INT64(schema->version);
}

/* kiln_definition(kiln): canonical text of the value's definition; NULL for tensors. */
Datum
kiln_definition(PG_FUNCTION_ARGS)
{
	KilnValue	value;

	kiln_value_open(PG_GETARG_DATUM(0), &value);
	if (value.schema == NULL)
		PG_RETURN_NULL();
	return utf8_text(value.schema->codec->text, value.schema->codec->text_length);
}

/* kiln_hash(kiln): hash of the value's definition, 16 hex digits; looks nothing up. NULL for tensors. */
Datum
kiln_hash_of(PG_FUNCTION_ARGS)
{
	kiln_frame	frame;

	(void) argument_parts(fcinfo, &frame);
	if (frame.kind == KILN_FRAME_TENSORS)
		PG_RETURN_NULL();
	PG_RETURN_TEXT_P(cstring_to_text(psprintf("%016llx", (unsigned long long) frame.hash)));
}

/* kiln_is(kiln, text): is the value of the schema of that name? 'tensor' asks for a directory, as in kiln(tensor). */
Datum
kiln_is(PG_FUNCTION_ARGS)
{
	KilnValue	value;
	size_t		length;
	const char *name = kiln_text_datum_to_utf8(PG_GETARG_DATUM(1), &length);
	char		normal[KILN_MAX_NAME + 1];
	size_t		normal_length;

	kiln_value_open(PG_GETARG_DATUM(0), &value);
	if (!kiln_name_nfc(name, length, normal, &normal_length))
		PG_RETURN_BOOL(false);
	if (value.schema == NULL)
		PG_RETURN_BOOL(strcmp(normal, "tensor") == 0);
	PG_RETURN_BOOL(value.schema->root->kind == KILN_STRUCT && normal_length > 0 &&
				   value.schema->root->name_length == normal_length &&
				   memcmp(value.schema->root->name, normal, normal_length) == 0);
}

/*
 * kiln_verify(kiln): is the value what it says it is? False for an unverified one, one whose definition is missing
 * or lies, and one that does not validate. Never raises for what it finds.
 */
Datum
kiln_verify(PG_FUNCTION_ARGS)
{
	kiln_frame	frame;
	KilnSchema *schema;

	(void) argument_parts(fcinfo, &frame);
	switch (frame.kind)
	{
		case KILN_FRAME_TENSORS:
			PG_RETURN_BOOL(kiln_directory_validate(frame.payload, frame.payload_length, NULL));
		case KILN_FRAME_UNVERIFIED:
			PG_RETURN_BOOL(false);
		case KILN_FRAME_REGISTERED:
			if (kiln_registry_find(frame.hash, &schema) != KILN_LOOKUP_FOUND)
				PG_RETURN_BOOL(false);
			break;
		default:
			schema = kiln_schema_admit(frame.text, frame.text_length, NULL);
			if (schema == NULL)
				PG_RETURN_BOOL(false);
	}
	PG_RETURN_BOOL(kiln_validate(schema->root, frame.payload, frame.payload_length, &kiln_pg_json_check, NULL));
}

/* kiln_intern(kiln): an inline value whose definition is registered, by hash; any other as it is. */
Datum
kiln_intern(PG_FUNCTION_ARGS)
{
	kiln_frame	frame;
	struct varlena *varlena = argument_parts(fcinfo, &frame);
	KilnSchema *schema;

	if (frame.kind != KILN_FRAME_INLINE)
		PG_RETURN_POINTER(varlena);
	schema = kiln_schema_interned(kiln_schema_inline(frame.text, frame.text_length));
	if (!schema->registered)
		PG_RETURN_POINTER(varlena);
	PG_RETURN_POINTER(kiln_make_frame(schema, frame.payload, frame.payload_length));
}

/*
 * kiln_portable(kiln): a registered value in inline form, so that its text carries the definition; any other as it
 * is.
 */
Datum
kiln_portable(PG_FUNCTION_ARGS)
{
	KilnValue	value;
	kiln_writer writer;

	kiln_value_open(PG_GETARG_DATUM(0), &value);
	if (value.schema == NULL || value.frame.kind == KILN_FRAME_INLINE)
		PG_RETURN_POINTER(value.datum);
	kiln_builder_init(&writer, KILN_INLINE_HEAD + value.schema->codec->text_length + value.frame.payload_length);
	kiln_builder_head_inline(&writer, value.schema->codec->text, value.schema->codec->text_length);
	if (!kiln_writer_reserve(&writer, value.frame.payload_length))
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("kiln value is too large"),
				 errdetail("A value has at most %d bytes.", KILN_MAX_FRAME)));
	kiln_writer_bytes(&writer, value.frame.payload, value.frame.payload_length);
	PG_RETURN_POINTER(kiln_builder_finish(&writer));
}
