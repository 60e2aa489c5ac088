/*
 * kiln_infer_agg and kiln_infer_report_agg: one state, two final functions.
 *
 * The state is a tree of places in a memory context of its own below the aggregate's. The final functions work on a
 * copy and leave it alone, so that they may run once a row of a window frame.
 *
 * Serialized: the version, the schema's name, and the places from the root down, each a head of fixed width, the odd
 * key, its members and its element. What comes back is checked as any input is.
 */
#include "kiln_infer.h"

#include "miscadmin.h"
#include "utils/builtins.h"

#include "kiln_tensor.h"

#define STATE_VERSION	1

/* Places of a serialized state: a transition holds to twice the bound, and one document may end a little above. */
#define STATE_PLACES	(4 * KILN_INFER_PLACES)

PG_FUNCTION_INFO_V1(kiln_infer_agg_add);
PG_FUNCTION_INFO_V1(kiln_infer_agg_combine);
PG_FUNCTION_INFO_V1(kiln_infer_agg_serialize);
PG_FUNCTION_INFO_V1(kiln_infer_agg_deserialize);
PG_FUNCTION_INFO_V1(kiln_infer_agg_final);
PG_FUNCTION_INFO_V1(kiln_infer_report_agg_final);

/* ------------------------------------------------------------------ the schema's name */

pg_noreturn static void
report_two_names(const char *one, const char *other)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("rows of one group name two kiln schemas, \"%s\" and \"%s\"",
					kiln_utf8_for_message(one, strlen(one)), kiln_utf8_for_message(other, strlen(other))),
			 errhint("The name is one for all rows of a group.")));
}

static void
take_name(KilnInferState *state, Datum argument)
{
	char		name[KILN_MAX_NAME + 1];
	size_t		name_length;
	size_t		length;
	const char *text = kiln_text_datum_to_utf8(argument, &length);
	kiln_error	error;

	/* the name of the last row, as a rule */
	if (state->name && strlen(state->name) == length && memcmp(state->name, text, length) == 0)
		return;
	if (!kiln_name_normalize(text, length, name, &name_length, &error))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_NAME),
				 errmsg("\"%s\" can't be the name of a kiln schema", kiln_utf8_for_message(text, Min(length, 2 * KILN_MAX_NAME)))));
	if (state->name == NULL)
		state->name = MemoryContextStrdup(state->context, name);
	else if (strcmp(state->name, name) != 0)
		report_two_names(state->name, name);
}

/* ------------------------------------------------------------------ transition and combination */

/* kiln_infer_agg_add(internal, jsonb [, text]): NULL documents are passed over. */
Datum
kiln_infer_agg_add(PG_FUNCTION_ARGS)
{
	MemoryContext context = kiln_state_context(fcinfo);
	KilnInferState *state = PG_ARGISNULL(0) ? NULL : (KilnInferState *) PG_GETARG_POINTER(0);

	if (PG_ARGISNULL(1))
	{
		if (state == NULL)
			PG_RETURN_NULL();
		PG_RETURN_POINTER(state);
	}
	if (state == NULL)
		state = kiln_infer_state_new(context);
	if (PG_NARGS() > 2)
	{
		if (PG_ARGISNULL(2))
			ereport(ERROR,
					(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
					 errmsg("the name of a kiln schema can't be null")));
		take_name(state, PG_GETARG_DATUM(2));
	}
	kiln_infer_take(state, PG_GETARG_JSONB_P(1));
	PG_RETURN_POINTER(state);
}

/* kiln_infer_agg_combine(internal, internal) */
Datum
kiln_infer_agg_combine(PG_FUNCTION_ARGS)
{
	MemoryContext context = kiln_state_context(fcinfo);
	KilnInferState *state = PG_ARGISNULL(0) ? NULL : (KilnInferState *) PG_GETARG_POINTER(0);
	KilnInferState *other = PG_ARGISNULL(1) ? NULL : (KilnInferState *) PG_GETARG_POINTER(1);

	if (other == NULL)
	{
		if (state == NULL)
			PG_RETURN_NULL();
		PG_RETURN_POINTER(state);
	}
	if (state == NULL)
		state = kiln_infer_state_new(context);
	if (state->name && other->name && strcmp(state->name, other->name) != 0)
		report_two_names(state->name, other->name);
	if (state->name == NULL && other->name)
		state->name = MemoryContextStrdup(state->context, other->name);
	kiln_place_merge(state, state->root, other->root);
	kiln_infer_shrink(state);
	PG_RETURN_POINTER(state);
}

/* ------------------------------------------------------------------ serialization */

static void
put_u64(StringInfo out, uint64 value)
{
	uint8_t		bytes[8];

	kiln_store_u64(bytes, value);
	appendBinaryStringInfo(out, (const char *) bytes, sizeof bytes);
}

static void
put_f64(StringInfo out, double value)
{
	uint8_t		bytes[8];

	kiln_store_f64(bytes, value);
	appendBinaryStringInfo(out, (const char *) bytes, sizeof bytes);
}

static void
put_extent(StringInfo out, const KilnExtent *extent)
{
	put_u64(out, extent->least);
	put_u64(out, extent->most);
}

/* A name or key of at most 255 bytes. */
static void
put_short(StringInfo out, const char *text, size_t length)
{
	appendStringInfoChar(out, (char) length);
	appendBinaryStringInfo(out, text, (int) length);
}

static void
put_place(StringInfo out, const KilnPlace *place)
{
	check_stack_depth();
	for (int i = 0; i < KILN_SEEN_KINDS; i++)
		put_u64(out, place->seen[i]);
	appendStringInfoChar(out, place->whole);
	appendStringInfoChar(out, place->f64);
	appendStringInfoChar(out, place->deep);
	appendStringInfoChar(out, place->element != NULL);
	appendStringInfoChar(out, place->odd != NULL);
	appendStringInfoChar(out, (char) place->exact);
	appendStringInfoChar(out, (char) place->readable);
	appendStringInfoChar(out, (char) place->dict);
	put_u64(out, (uint64) place->least);
	put_u64(out, place->most);
	put_f64(out, place->low);
	put_f64(out, place->high);
	put_u64(out, place->scaled);
	put_u64(out, place->infinite);
	put_extent(out, &place->bytes);
	put_extent(out, &place->elements);
	put_extent(out, &place->keys);
	put_u64(out, place->distinct);
	put_u64(out, place->count);
	if (place->odd)
		put_short(out, place->odd, strlen(place->odd));
	for (uint32 i = 0; i < place->count; i++)
	{
		put_short(out, place->members[i].name, place->members[i].length);
		put_place(out, place->members[i].place);
	}
	if (place->element)
		put_place(out, place->element);
}

/* kiln_infer_agg_serialize(internal) */
Datum
kiln_infer_agg_serialize(PG_FUNCTION_ARGS)
{
	KilnInferState *state = (KilnInferState *) PG_GETARG_POINTER(0);
	StringInfoData out;

	(void) kiln_state_context(fcinfo);
	initStringInfo(&out);
	appendStringInfoSpaces(&out, VARHDRSZ);
	appendStringInfoChar(&out, STATE_VERSION);
	put_short(&out, state->name ? state->name : "", state->name ? strlen(state->name) : 0);
	put_place(&out, state->root);
	SET_VARSIZE(out.data, out.len);
	PG_RETURN_BYTEA_P(out.data);
}

/* ------------------------------------------------------------------ deserialization */

static const char *
get_short(kiln_reader *reader, size_t *length)
{
	const char *text;
	bool		nul;

	*length = kiln_reader_u8(reader);
	text = (const char *) kiln_reader_bytes(reader, *length);
	if (reader->failed || kiln_utf8_prefix((const uint8_t *) text, *length, &nul) < *length)
		kiln_report_bad_state();
	return text;
}

/* A name as it must be: the same when normalised. */
static const char *
get_name(kiln_reader *reader, size_t *length)
{
	const char *text = get_short(reader, length);
	char		name[KILN_MAX_NAME + 1];
	size_t		name_length;

	if (!kiln_name_normalize(text, *length, name, &name_length, NULL) || name_length != *length ||
		memcmp(name, text, *length) != 0)
		kiln_report_bad_state();
	return text;
}

static void
get_extent(kiln_reader *reader, KilnExtent *extent)
{
	extent->least = kiln_reader_u64(reader);
	extent->most = kiln_reader_u64(reader);
}

static void
get_odd(KilnInferState *state, kiln_reader *reader, KilnPlace *place)
{
	size_t		length;
	const char *text = get_short(reader, &length);

	if (length > KILN_MAX_NAME + 1)
		kiln_report_bad_state();
	place->odd = MemoryContextAlloc(state->context, length + 1);
	memcpy(place->odd, text, length);
	place->odd[length] = '\0';
}

static void get_place(KilnInferState *state, kiln_reader *reader, KilnPlace *place, int level);

static void
get_members(KilnInferState *state, kiln_reader *reader, KilnPlace *place, uint64 count, int level)
{
	for (uint32 i = 0; i < count; i++)
	{
		size_t		length;
		const char *name = get_name(reader, &length);
		bool		found;

		/* ascending, so that each belongs behind the others */
		if (kiln_place_find(place, name, length, &found) != i || found)
			kiln_report_bad_state();
		get_place(state, reader, kiln_place_insert(state, place, i, name, length)->place, level + 1);
	}
}

static void
get_place(KilnInferState *state, kiln_reader *reader, KilnPlace *place, int level)
{
	bool		has_element;
	bool		has_odd;
	uint64		count;
	uint8		dict;

	check_stack_depth();
	CHECK_FOR_INTERRUPTS();
	if (level > KILN_MAX_DEPTH + 1 || state->places > STATE_PLACES)
		kiln_report_bad_state();
	for (int i = 0; i < KILN_SEEN_KINDS; i++)
		place->seen[i] = kiln_reader_u64(reader);
	place->whole = kiln_reader_bool(reader);
	place->f64 = kiln_reader_bool(reader);
	place->deep = kiln_reader_bool(reader);
	has_element = kiln_reader_bool(reader);
	has_odd = kiln_reader_bool(reader);
	place->exact = kiln_reader_u8(reader);
	place->readable = kiln_reader_u8(reader);
	dict = kiln_reader_u8(reader);
	place->dict = dict;
	place->least = (int64) kiln_reader_u64(reader);
	place->most = kiln_reader_u64(reader);
	place->low = kiln_reader_f64(reader);
	place->high = kiln_reader_f64(reader);
	place->scaled = kiln_reader_u64(reader);
	place->infinite = kiln_reader_u64(reader);
	get_extent(reader, &place->bytes);
	get_extent(reader, &place->elements);
	get_extent(reader, &place->keys);
	place->distinct = kiln_reader_u64(reader);
	count = kiln_reader_u64(reader);
	if (reader->failed || (place->exact & ~KILN_WORD_ALL) || (place->readable & ~KILN_WORD_ALL) || dict > KILN_DICT_NAME ||
		dict == KILN_DICT_LOOKS || count > KILN_INFER_KEYS || (count > 0 && (dict || has_element)) ||
		has_odd != (dict == KILN_DICT_NAME))
		kiln_report_bad_state();
	if (has_odd)
		get_odd(state, reader, place);
	get_members(state, reader, place, count, level);
	if (has_element)
		get_place(state, reader, kiln_place_element(state, place), level + 1);
}

/* kiln_infer_agg_deserialize(bytea, internal) */
Datum
kiln_infer_agg_deserialize(PG_FUNCTION_ARGS)
{
	bytea	   *serialized = PG_GETARG_BYTEA_PP(0);
	KilnInferState *state;
	kiln_reader reader;
	size_t		length;
	const char *name;

	(void) kiln_state_context(fcinfo);
	state = kiln_infer_state_new(CurrentMemoryContext);
	kiln_reader_init(&reader, (const uint8_t *) VARDATA_ANY(serialized), VARSIZE_ANY_EXHDR(serialized));
	if (kiln_reader_u8(&reader) != STATE_VERSION || kiln_reader_left(&reader) == 0)
		kiln_report_bad_state();
	if (*reader.pos == 0)
		(void) kiln_reader_u8(&reader);
	else
	{
		name = get_name(&reader, &length);
		state->name = MemoryContextAllocZero(state->context, length + 1);
		memcpy(state->name, name, length);
	}
	get_place(state, &reader, state->root, 0);
	if (reader.failed || kiln_reader_left(&reader) > 0)
		kiln_report_bad_state();
	PG_RETURN_POINTER(state);
}

/* ------------------------------------------------------------------ the definition */

/* A schema is a struct: say why the documents make none. */
static void
check_record(const KilnPlace *root)
{
	const char *detail = NULL;

	if (root->seen[KILN_SEEN_OBJECT] < kiln_place_total(root))
		detail = psprintf("Of " UINT64_FORMAT " documents " UINT64_FORMAT " are objects.", kiln_place_total(root),
						  root->seen[KILN_SEEN_OBJECT]);
	else if (root->dict == KILN_DICT_NAME)
		detail = psprintf("The key \"%s\" can't be a field's name.", kiln_utf8_for_message(root->odd, strlen(root->odd)));
	else if (root->dict)
		detail = psprintf("There are more than %d different keys.", KILN_INFER_KEYS);
	else if (root->count == 0)
		detail = "All objects are empty.";
	if (detail == NULL)
		return;
	ereport(ERROR,
			(errcode(ERRCODE_DATATYPE_MISMATCH),
			 errmsg("documents can't all be records of one kiln schema"),
			 errdetail_internal("%s", detail),
			 errhint(root->seen[KILN_SEEN_OBJECT] > 0 && root->seen[KILN_SEEN_OBJECT] < kiln_place_total(root) ?
					 "Leave the others out: FILTER (WHERE jsonb_typeof(document) = 'object')." :
					 "Without a name, kiln_infer_agg(document) gives a definition that is no struct.")));
}

/* kiln_infer_agg_final(internal): the definition; no documents: NULL. */
Datum
kiln_infer_agg_final(PG_FUNCTION_ARGS)
{
	KilnInferState *state;
	KilnPlace  *root;
	char		quoted[2 * KILN_MAX_NAME + 3];
	StringInfoData buf;

	(void) kiln_state_context(fcinfo);
	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	state = (KilnInferState *) PG_GETARG_POINTER(0);
	root = kiln_infer_settle(state);
	initStringInfo(&buf);
	if (state->name)
	{
		check_record(root);
		appendBinaryStringInfo(&buf, quoted, (int) kiln_name_quote(state->name, strlen(state->name), quoted));
	}
	kiln_infer_print(root, false, KILN_MAX_DEPTH, false, &buf);
	PG_RETURN_DATUM(kiln_infer_canonical(buf.data, buf.len));
}

/* kiln_infer_report_agg_final(internal) */
Datum
kiln_infer_report_agg_final(PG_FUNCTION_ARGS)
{
	(void) kiln_state_context(fcinfo);
	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	PG_RETURN_DATUM(kiln_infer_report_datum(kiln_infer_settle((KilnInferState *) PG_GETARG_POINTER(0))));
}
