/*
 * SQL values into kiln: kiln_encode() and the assignment casts to kiln.
 *
 * kiln_encode's schema argument is nearly always the same from row to row, so what it means is kept between calls:
 * the schema as long as the argument's bytes are the same and no definition has come or gone (a name means its
 * latest version), and the plan of the record source as long as the schema is the same. What a row needs in passing
 * goes to a memory context that is reset for each.
 */
#include "kiln_encode.h"

#include "access/htup_details.h"
#include "catalog/pg_type.h"
#include "utils/builtins.h"
#include "utils/date.h"
#include "utils/fmgrprotos.h"
#include "utils/lsyscache.h"
#include "utils/timestamp.h"
#include "utils/uuid.h"

PG_FUNCTION_INFO_V1(kiln_encode_record);
PG_FUNCTION_INFO_V1(kiln_encode_jsonb);
PG_FUNCTION_INFO_V1(kiln_encode_json);
PG_FUNCTION_INFO_V1(kiln_from_json);
PG_FUNCTION_INFO_V1(kiln_from_jsonb);
PG_FUNCTION_INFO_V1(kiln_from_bool);
PG_FUNCTION_INFO_V1(kiln_from_int2);
PG_FUNCTION_INFO_V1(kiln_from_int4);
PG_FUNCTION_INFO_V1(kiln_from_int8);
PG_FUNCTION_INFO_V1(kiln_from_float4);
PG_FUNCTION_INFO_V1(kiln_from_float8);
PG_FUNCTION_INFO_V1(kiln_from_numeric);
PG_FUNCTION_INFO_V1(kiln_from_uuid);
PG_FUNCTION_INFO_V1(kiln_from_date);
PG_FUNCTION_INFO_V1(kiln_from_timestamp);
PG_FUNCTION_INFO_V1(kiln_from_timestamptz);

#define FIRST_ESTIMATE	128		/* bytes of a payload, before one was seen */

/* ------------------------------------------------------------------ one value */

struct varlena *
kiln_encode_frame(const KilnSchema *schema, const kiln_source *source, kiln_node node, Size estimate,
				  KilnErrorPlace place, Node *escontext)
{
	kiln_writer writer;
	kiln_error	error;

	kiln_builder_init(&writer, estimate);
	kiln_builder_head_schema(&writer, schema);
	if (kiln_encode(schema->root, source, node, &writer, &error))
		return kiln_builder_finish(&writer);
	pfree(writer.start);
	kiln_report(&error, place, escontext);
	return NULL;
}

/* ------------------------------------------------------------------ kiln_encode */

/* What kiln_encode keeps between calls, in fn_extra. */
typedef struct EncodeState
{
	char	   *argument;		/* the schema argument, server encoding */
	size_t		argument_length;
	uint64		generation;		/* of the registry, when the argument was resolved */
	KilnSchema *schema;			/* pinned */
	KilnRecordSource *source;	/* made when the first record comes */
	MemoryContext plan;			/* of source */
	MemoryContext row;			/* reset after each row */
	bool		row_used;		/* it was not: an error came between */
	MemoryContext caller;		/* while a row is encoded: that of the result */
	Size		estimate;		/* bytes of the last frame */
	MemoryContextCallback release;
} EncodeState;

static void
release_schema(void *argument)
{
	EncodeState *state = argument;

	if (state->schema)
		kiln_schema_unpin(state->schema);
	state->schema = NULL;
}

static EncodeState *
encode_state(FunctionCallInfo fcinfo)
{
	MemoryContext context = fcinfo->flinfo->fn_mcxt;
	EncodeState *state = fcinfo->flinfo->fn_extra;

	if (state != NULL)
		return state;
	state = MemoryContextAllocZero(context, sizeof(EncodeState));
	state->plan = AllocSetContextCreate(context, "kiln_encode plan", ALLOCSET_SMALL_SIZES);
	state->row = AllocSetContextCreate(context, "kiln_encode row", ALLOCSET_DEFAULT_SIZES);
	state->release.func = release_schema;
	state->release.arg = state;
	MemoryContextRegisterResetCallback(context, &state->release);
	fcinfo->flinfo->fn_extra = state;
	return state;
}

/* Find out what the schema argument means, anew. A definition given in full that is registered is that one. */
static void
resolve_schema(EncodeState *state, Datum argument, const char *bytes, size_t n)
{
	uint64		generation = kiln_registry_generation;
	size_t		length;
	const char *text = kiln_text_datum_to_utf8(argument, &length);
	KilnSchema *schema = kiln_schema_interned(kiln_schema_resolve(text, length, NULL));

	if (schema != state->schema)
	{
		kiln_schema_pin(schema);
		release_schema(state);
		state->schema = schema;
		state->source = NULL;
		MemoryContextReset(state->plan);
		state->estimate = KILN_INLINE_HEAD + FIRST_ESTIMATE + (schema->registered ? 0 : schema->codec->text_length);
	}
	if (state->argument == NULL || state->argument_length != n || memcmp(state->argument, bytes, n) != 0)
	{
		if (state->argument)
			pfree(state->argument);
		state->argument = NULL;
		state->argument = MemoryContextAlloc(GetMemoryChunkContext(state), Max(n, 1));
		memcpy(state->argument, bytes, n);
		state->argument_length = n;
	}
	state->generation = generation;
}

/*
 * Start a call: find the schema, start the result's frame in the caller's context, and switch to the row's context.
 * encode_end() switches back.
 */
static EncodeState *
encode_begin(FunctionCallInfo fcinfo, kiln_writer *writer)
{
	EncodeState *state = encode_state(fcinfo);
	struct varlena *argument;
	size_t		n;

	if (state->row_used)
		MemoryContextReset(state->row);
	state->row_used = true;
	state->caller = MemoryContextSwitchTo(state->row);
	argument = PG_DETOAST_DATUM_PACKED(PG_GETARG_DATUM(0));
	n = VARSIZE_ANY_EXHDR(argument);
	if (state->schema == NULL || state->generation != kiln_registry_generation ||
		state->argument_length != n || memcmp(state->argument, VARDATA_ANY(argument), n) != 0)
		resolve_schema(state, PointerGetDatum(argument), VARDATA_ANY(argument), n);
	MemoryContextSwitchTo(state->caller);

	kiln_builder_init(writer, state->estimate);
	kiln_builder_head_schema(writer, state->schema);
	MemoryContextSwitchTo(state->row);
	return state;
}

/* 42804 with a hint: a column that has no conversion to its field. */
static void
report_mismatch(const kiln_error *error, const char *hint)
{
	ereport(ERROR,
			(errcode(error->source_code),
			 errmsg_internal("%s", kiln_utf8_for_message(error->detail, strlen(error->detail))),
			 error->path[0] ? errdetail("At path %s.", kiln_utf8_for_message(error->path, strlen(error->path))) : 0,
			 errhint("%s", hint)));
}

/* End a call: hand the frame out, or raise the error. */
static Datum
encode_end(EncodeState *state, kiln_writer *writer, bool encoded, const kiln_error *error, KilnErrorPlace place)
{
	struct varlena *frame;

	if (!encoded)
	{
		if (error->code == KILN_E_SOURCE && state->source && state->source->hint)
			report_mismatch(error, state->source->hint);
		kiln_report(error, place, NULL);
	}
	MemoryContextSwitchTo(state->caller);
	frame = kiln_builder_finish(writer);
	state->estimate = VARSIZE(frame) - VARHDRSZ;
	MemoryContextReset(state->row);
	state->row_used = false;
	return PointerGetDatum(frame);
}

/* Does the schema argument mean what it meant for the last row? */
static inline bool
same_schema(const EncodeState *state, const struct varlena *argument)
{
	return state->schema != NULL && state->generation == kiln_registry_generation &&
		!VARATT_IS_EXTERNAL(argument) && !VARATT_IS_COMPRESSED(argument) &&
		state->argument_length == VARSIZE_ANY_EXHDR(argument) &&
		memcmp(state->argument, VARDATA_ANY(argument), state->argument_length) == 0;
}

/*
 * The frame of a row that is as the last one and flat: see encode_flat.c. NULL: take the general way.
 */
static inline struct varlena *
encode_flat(FunctionCallInfo fcinfo)
{
	const EncodeState *state = fcinfo->flinfo->fn_extra;
	const KilnRecordPlan *plan;
	HeapTupleHeader row;

	if (state == NULL || state->source == NULL || !same_schema(state, (struct varlena *) PG_GETARG_POINTER(0)) ||
		!state->schema->registered || state->source->root.form != KILN_FORM_RECORD)
		return NULL;
	plan = state->source->root.record;
	row = PG_GETARG_HEAPTUPLEHEADER(1);
	if (plan->flat == NULL || !kiln_record_fits(plan, HeapTupleHeaderGetTypeId(row), HeapTupleHeaderGetTypMod(row)))
		return NULL;
	return kiln_flat_encode(plan, state->schema->hash, row);
}

static Datum encode_record(FunctionCallInfo fcinfo);

/* kiln_encode(text, record): columns become fields by name. */
Datum
kiln_encode_record(PG_FUNCTION_ARGS)
{
	struct varlena *flat = encode_flat(fcinfo);

#ifdef KILN_CHECKED
	if (flat != NULL)
	{
		struct varlena *general = (struct varlena *) DatumGetPointer(encode_record(fcinfo));

		if (VARSIZE(flat) != VARSIZE(general) || memcmp(flat, general, VARSIZE(flat)) != 0)
			elog(PANIC, "kiln: a flat row is encoded otherwise in the general way");
	}
#endif
	if (flat != NULL)
		PG_RETURN_POINTER(flat);
	return encode_record(fcinfo);
}

/* The general way. */
static Datum
encode_record(FunctionCallInfo fcinfo)
{
	kiln_writer writer;
	kiln_error	error;
	EncodeState *state = encode_begin(fcinfo, &writer);
	const kiln_type *type = state->schema->root;
	bool		encoded;

	if (type->kind != KILN_STRUCT)
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("a record can't be encoded as kiln type %s",
						kiln_utf8_for_message(type->text, Min(type->text_length, 200))),
				 errhint("Use a definition that is a struct, or encode jsonb.")));
	if (state->source == NULL)
		state->source = kiln_record_source(type, get_func_rettype(fcinfo->flinfo->fn_oid), state->plan);
	state->source->hint = NULL;
	encoded = kiln_encode(type, &state->source->source, kiln_record_node(state->source, PG_GETARG_DATUM(1)),
						  &writer, &error);
	return encode_end(state, &writer, encoded, &error, KILN_IN_RECORD);
}

/* kiln_encode(text, jsonb) */
Datum
kiln_encode_jsonb(PG_FUNCTION_ARGS)
{
	kiln_writer writer;
	kiln_error	error;
	EncodeState *state = encode_begin(fcinfo, &writer);
	KilnJsonbSource source;
	bool		encoded;

	kiln_jsonb_source_init(&source);
	encoded = kiln_encode(state->schema->root, &source.source, kiln_jsonb_node(PG_GETARG_JSONB_P(1)),
						  &writer, &error);
	return encode_end(state, &writer, encoded, &error, KILN_IN_TEXT);
}

/* kiln_encode(text, json) and kiln_encode(text, text): JSON text, read as it stands. */
Datum
kiln_encode_json(PG_FUNCTION_ARGS)
{
	kiln_writer writer;
	kiln_error	error;
	EncodeState *state = encode_begin(fcinfo, &writer);
	size_t		length;
	const char *text = kiln_text_datum_to_utf8(PG_GETARG_DATUM(1), &length);
	bool		encoded;

	encoded = kiln_payload_from_json(state->schema->root, text, length, &writer, &error);
	return encode_end(state, &writer, encoded, &error, KILN_IN_TEXT);
}

/* ------------------------------------------------------------------ casts from json and jsonb */

static Datum
from_document(Oid sql_type, FunctionCallInfo fcinfo)
{
	size_t		length;
	const char *text = kiln_json_datum_text(sql_type, PG_GETARG_DATUM(0), &length);

	PG_RETURN_POINTER(kiln_frame_from_text(text, length, PG_GETARG_INT32(1), NULL));
}

/* kiln_from_json(json, integer, boolean): what text input makes of the same text. */
Datum
kiln_from_json(PG_FUNCTION_ARGS)
{
	return from_document(JSONOID, fcinfo);
}

/* kiln_from_jsonb(jsonb, integer, boolean) */
Datum
kiln_from_jsonb(PG_FUNCTION_ARGS)
{
	return from_document(JSONBOID, fcinfo);
}

/* ------------------------------------------------------------------ casts from scalars */

/*
 * An inline frame of a scalar type, given by its type word and its payload.
 */
static Datum
inline_scalar(const char *word, const void *payload, size_t n)
{
	kiln_writer writer;
	size_t		length = strlen(word);

	kiln_builder_init(&writer, KILN_INLINE_HEAD + length + n);
	kiln_builder_head_inline(&writer, word, length);
	kiln_writer_bytes(&writer, payload, n);
	return PointerGetDatum(kiln_builder_finish(&writer));
}

static Datum
inline_16(const char *word, uint16 bits)
{
	uint8_t		payload[2];

	kiln_store_u16(payload, bits);
	return inline_scalar(word, payload, sizeof payload);
}

static Datum
inline_32(const char *word, uint32 bits)
{
	uint8_t		payload[4];

	kiln_store_u32(payload, bits);
	return inline_scalar(word, payload, sizeof payload);
}

static Datum
inline_64(const char *word, uint64 bits)
{
	uint8_t		payload[8];

	kiln_store_u64(payload, bits);
	return inline_scalar(word, payload, sizeof payload);
}

/* kiln_from_bool(boolean) */
Datum
kiln_from_bool(PG_FUNCTION_ARGS)
{
	uint8_t		payload = PG_GETARG_BOOL(0) ? 1 : 0;

	return inline_scalar("bool", &payload, 1);
}

/* kiln_from_int2(smallint) */
Datum
kiln_from_int2(PG_FUNCTION_ARGS)
{
	return inline_16("i16", (uint16) PG_GETARG_INT16(0));
}

/* kiln_from_int4(integer) */
Datum
kiln_from_int4(PG_FUNCTION_ARGS)
{
	return inline_32("i32", (uint32) PG_GETARG_INT32(0));
}

/* kiln_from_int8(bigint) */
Datum
kiln_from_int8(PG_FUNCTION_ARGS)
{
	return inline_64("i64", (uint64) PG_GETARG_INT64(0));
}

/* kiln_from_float4(real) */
Datum
kiln_from_float4(PG_FUNCTION_ARGS)
{
	uint8_t		payload[4];

	kiln_store_f32(payload, PG_GETARG_FLOAT4(0));
	return inline_scalar("f32", payload, sizeof payload);
}

/* kiln_from_float8(double precision) */
Datum
kiln_from_float8(PG_FUNCTION_ARGS)
{
	uint8_t		payload[8];

	kiln_store_f64(payload, PG_GETARG_FLOAT8(0));
	return inline_scalar("f64", payload, sizeof payload);
}

/* kiln_from_numeric(numeric) */
Datum
kiln_from_numeric(PG_FUNCTION_ARGS)
{
	const char *text = DatumGetCString(DirectFunctionCall1(numeric_out, PG_GETARG_DATUM(0)));
	const char *word = "numeric";
	size_t		n = strlen(text);
	kiln_writer writer;

	kiln_builder_init(&writer, KILN_INLINE_HEAD + strlen(word) + 4 + n);
	kiln_builder_head_inline(&writer, word, strlen(word));
	kiln_writer_span(&writer, text, (uint32) n);
	return PointerGetDatum(kiln_builder_finish(&writer));
}

/* kiln_from_uuid(uuid) */
Datum
kiln_from_uuid(PG_FUNCTION_ARGS)
{
	return inline_scalar("uuid", PG_GETARG_UUID_P(0)->data, UUID_LEN);
}

/* kiln_from_date(date) */
Datum
kiln_from_date(PG_FUNCTION_ARGS)
{
	return inline_32("date", (uint32) PG_GETARG_DATEADT(0));
}

/* kiln_from_timestamp(timestamp without time zone) */
Datum
kiln_from_timestamp(PG_FUNCTION_ARGS)
{
	return inline_64("timestamp", (uint64) PG_GETARG_TIMESTAMP(0));
}

/* kiln_from_timestamptz(timestamp with time zone) */
Datum
kiln_from_timestamptz(PG_FUNCTION_ARGS)
{
	return inline_64("timestamptz", (uint64) PG_GETARG_TIMESTAMPTZ(0));
}
