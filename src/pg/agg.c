/*
 * kiln_agg: values of one definition as one list.
 *
 * The state is one chunk of the aggregate's memory context: a head, the definition's text, and the payloads one after
 * the other, doubled when full. A list's payload is its count and its elements' payloads, so that the final function
 * only puts a frame's head in front; it leaves the state alone, and may run once a row of a window frame.
 */
#include "kiln_change.h"

#include "utils/builtins.h"

typedef struct ListState
{
	uint64		hash;			/* of the elements' definition */
	uint64		used;			/* bytes of payloads */
	uint64		capacity;		/* bytes of room for them */
	uint32		count;			/* elements */
	uint32		text_length;	/* of the definition */
	bool		registered;		/* a registered value with this hash has the same text, and needs no look-up */
	char		text[FLEXIBLE_ARRAY_MEMBER];	/* the definition, then payloads */
} ListState;

#define STATE_HEAD			offsetof(ListState, text)
#define STATE_FIRST			256		/* bytes of room for payloads */
#define STATE_VERSION		1
#define SERIAL_HEAD			(1 + 4 + 4 + 1)		/* version, text length, count, registered */

/* ------------------------------------------------------------------ state */

static MemoryContext
state_context(FunctionCallInfo fcinfo)
{
	MemoryContext context;

	if (!AggCheckCallContext(fcinfo, &context))
		elog(ERROR, "kiln aggregate function called in non-aggregate context");
	return context;
}

static inline uint8 *
state_payloads(ListState *state)
{
	return (uint8 *) state->text + state->text_length;
}

/* Most bytes of payloads, so that the list with its definition and count is a frame. */
static uint64
state_most(const ListState *state)
{
	return KILN_MAX_FRAME - KILN_INLINE_HEAD - (uint64) state->text_length - 2 - 4;
}

static ListState *
state_create(MemoryContext context, uint64 hash, const char *text, uint32 text_length, uint64 room)
{
	ListState  *state;

	room = Max(room, STATE_FIRST);
	state = MemoryContextAlloc(context, STATE_HEAD + text_length + room);
	state->hash = hash;
	state->used = 0;
	state->capacity = room;
	state->count = 0;
	state->text_length = text_length;
	state->registered = false;
	memcpy(state->text, text, text_length);
	return state;
}

/* Room for more bytes of payloads. The state may move. */
static ListState *
state_reserve(ListState *state, uint64 more)
{
	uint64		capacity = state->capacity;

	if (more <= capacity - state->used)
		return state;
	if (more > state_most(state) - state->used)
		kiln_report_too_large();
	while (capacity < state->used + more)
		capacity *= 2;
	capacity = Min(capacity, state_most(state));
	state = repalloc(state, STATE_HEAD + state->text_length + capacity);
	state->capacity = capacity;
	return state;
}

static ListState *
state_append(ListState *state, const uint8 *payloads, uint64 length, uint32 count)
{
	if (count > PG_UINT32_MAX - state->count)
		kiln_report_too_large();
	state = state_reserve(state, length);
	memcpy(state_payloads(state) + state->used, payloads, length);
	state->used += length;
	state->count += count;
	return state;
}

/* ------------------------------------------------------------------ which definition */

pg_noreturn static void
report_other_definition(void)
{
	ereport(ERROR,
			(errcode(ERRCODE_DATATYPE_MISMATCH),
			 errmsg("values of different definitions can't be elements of one kiln list"),
			 errhint("Bring them to one version first, as in kiln_agg(kiln_upgrade(v)).")));
}

static void
check_kind(const kiln_frame *frame)
{
	if (frame->kind == KILN_FRAME_TENSORS)
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("a tensor directory can't be an element of a kiln list"),
				 errhint("See kiln_tensor_agg() and kiln_directory_agg().")));
	if (frame->kind == KILN_FRAME_UNVERIFIED)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("an unverified kiln value can't be an element of a kiln list"),
				 errdetail("The value came in binary before its definition was registered."),
				 errhint("Store it again to have it verified.")));
}

static bool
same_text(const ListState *state, const char *text, size_t length)
{
	return state->text_length == length && memcmp(state->text, text, length) == 0;
}

/* The first value's definition is the list's. */
static ListState *
state_begin(MemoryContext context, const kiln_frame *frame)
{
	KilnSchema *schema = kiln_frame_schema(frame);
	ListState  *state;

	if (schema->root->depth >= KILN_MAX_DEPTH || schema->codec->text_length + 2 > KILN_MAX_DEFINITION)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("a list of these values would have too large a definition"),
				 errdetail("A definition has at most %d levels and %d bytes.", KILN_MAX_DEPTH, KILN_MAX_DEFINITION)));
	state = state_create(context, schema->hash, schema->codec->text, (uint32) schema->codec->text_length,
						 2 * (uint64) frame->payload_length);
	state->registered = frame->kind == KILN_FRAME_REGISTERED;
	return state;
}

/* Is a value of the list's definition? A registered one is compared by text once, then by hash. */
static bool
state_takes(ListState *state, const kiln_frame *frame)
{
	KilnSchema *schema;

	if (frame->kind == KILN_FRAME_INLINE)
		return same_text(state, frame->text, frame->text_length);
	if (frame->hash != state->hash)
		return false;
	if (!state->registered)
	{
		schema = kiln_registry_get(frame->hash);
		if (!same_text(state, schema->codec->text, schema->codec->text_length))
			return false;
		state->registered = true;
	}
	return true;
}

/* ------------------------------------------------------------------ functions */

PG_FUNCTION_INFO_V1(kiln_agg_transition);
PG_FUNCTION_INFO_V1(kiln_agg_final);
PG_FUNCTION_INFO_V1(kiln_agg_combine);
PG_FUNCTION_INFO_V1(kiln_agg_serialize);
PG_FUNCTION_INFO_V1(kiln_agg_deserialize);

/* kiln_agg_transition(internal, kiln) */
Datum
kiln_agg_transition(PG_FUNCTION_ARGS)
{
	MemoryContext context = state_context(fcinfo);
	ListState  *state = PG_ARGISNULL(0) ? NULL : (ListState *) PG_GETARG_POINTER(0);
	struct varlena *varlena;
	kiln_frame	frame;

	if (PG_ARGISNULL(1))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("a kiln list of values has no nulls"),
				 errhint("Leave rows with NULL out: kiln_agg(v) FILTER (WHERE v IS NOT NULL).")));
	varlena = PG_DETOAST_DATUM_PACKED(PG_GETARG_DATUM(1));
	kiln_frame_parts(varlena, &frame);
	check_kind(&frame);
	if (state == NULL)
		state = state_begin(context, &frame);
	else if (!state_takes(state, &frame))
		report_other_definition();
	state = state_append(state, frame.payload, frame.payload_length, 1);
	PG_FREE_IF_COPY(varlena, 1);
	PG_RETURN_POINTER(state);
}

/* kiln_agg_final(internal): an inline value of type T[]; no rows: NULL. */
Datum
kiln_agg_final(PG_FUNCTION_ARGS)
{
	ListState  *state;
	kiln_writer writer;
	char	   *text;

	(void) state_context(fcinfo);
	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	state = (ListState *) PG_GETARG_POINTER(0);
	text = palloc(state->text_length + 2);
	memcpy(text, state->text, state->text_length);
	memcpy(text + state->text_length, "[]", 2);
	kiln_builder_init(&writer, KILN_INLINE_HEAD + state->text_length + 2 + 4 + state->used);
	kiln_builder_head_inline(&writer, text, state->text_length + 2);
	pfree(text);
	if (!kiln_writer_reserve(&writer, 4 + state->used))
		kiln_report_too_large();
	kiln_writer_u32(&writer, state->count);
	kiln_writer_bytes(&writer, state_payloads(state), state->used);
	PG_RETURN_POINTER(kiln_builder_finish(&writer));
}

/* kiln_agg_combine(internal, internal): the second's elements behind the first's. */
Datum
kiln_agg_combine(PG_FUNCTION_ARGS)
{
	MemoryContext context = state_context(fcinfo);
	ListState  *state = PG_ARGISNULL(0) ? NULL : (ListState *) PG_GETARG_POINTER(0);
	ListState  *other = PG_ARGISNULL(1) ? NULL : (ListState *) PG_GETARG_POINTER(1);

	if (other == NULL)
	{
		if (state == NULL)
			PG_RETURN_NULL();
		PG_RETURN_POINTER(state);
	}
	if (state == NULL)
		state = state_create(context, other->hash, other->text, other->text_length, other->used);
	else if (!same_text(state, other->text, other->text_length))
		report_other_definition();
	state->registered |= other->registered;
	PG_RETURN_POINTER(state_append(state, state_payloads(other), other->used, other->count));
}

/* kiln_agg_serialize(internal): a head of SERIAL_HEAD bytes, the definition, the payloads. */
Datum
kiln_agg_serialize(PG_FUNCTION_ARGS)
{
	ListState  *state = (ListState *) PG_GETARG_POINTER(0);
	Size		size = VARHDRSZ + SERIAL_HEAD + state->text_length + state->used;
	bytea	   *result;
	uint8	   *p;

	(void) state_context(fcinfo);
	result = palloc(size);
	SET_VARSIZE(result, size);
	p = (uint8 *) VARDATA(result);
	p[0] = STATE_VERSION;
	kiln_store_u32(p + 1, state->text_length);
	kiln_store_u32(p + 5, state->count);
	p[9] = state->registered;
	memcpy(p + SERIAL_HEAD, state->text, state->text_length + state->used);
	PG_RETURN_BYTEA_P(result);
}

/* kiln_agg_deserialize(bytea, internal): checks what it is given, as any input. */
Datum
kiln_agg_deserialize(PG_FUNCTION_ARGS)
{
	bytea	   *serialized = PG_GETARG_BYTEA_PP(0);
	const uint8 *p = (const uint8 *) VARDATA_ANY(serialized);
	Size		n = VARSIZE_ANY_EXHDR(serialized);
	uint32		text_length = n >= SERIAL_HEAD ? kiln_load_u32(p + 1) : 0;
	const char *text;
	ListState  *state;

	(void) state_context(fcinfo);
	if (n < SERIAL_HEAD || p[0] != STATE_VERSION || p[9] > 1 || text_length == 0 ||
		text_length > KILN_MAX_DEFINITION - 2 || text_length > n - SERIAL_HEAD || n > KILN_MAX_FRAME)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_BINARY_REPRESENTATION),
				 errmsg("invalid serialized state of a kiln aggregate")));
	text = (const char *) p + SERIAL_HEAD;
	n -= SERIAL_HEAD + text_length;
	state = state_create(CurrentMemoryContext, kiln_hash(text, text_length), text, text_length, n);
	state->registered = p[9] != 0;
	PG_RETURN_POINTER(state_append(state, (const uint8 *) text + text_length, n, kiln_load_u32(p + 5)));
}
