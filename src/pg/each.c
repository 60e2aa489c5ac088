/*
 * A value taken apart, a row for each part: kiln_each(), kiln_each_text(), kiln_keys(), kiln_unnest().
 *
 * A struct gives its fields that are present, a dict its pairs, a tensor directory its tensors by name, a list its
 * elements; a json value gives what core's functions for jsonb would. One row is made a call; between calls stands
 * only the place reached in the value.
 */
#include "kiln_datum.h"

#include "catalog/pg_type.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/builtins.h"

/* The next part. */
typedef struct Part
{
	Datum		key;			/* text; not set for elements of a list */
	bool		absent;
	KilnField	field;			/* if not absent */
} Part;

typedef struct EachState
{
	KilnField	field;			/* how far the value is read */
	const kiln_type *type;		/* of the value, NULL for tensors */
	uint32		next;			/* part to come */
	uint32		count;
	bool	  (*step) (struct EachState *state, Part *part);	/* false: there are no more */
	JsonbIterator *json;
	kiln_path_step tensor_step; /* path to the tensor at hand, by which it is read */
	kiln_path	tensor_path;
	TupleDesc	columns;
} EachState;

static const kiln_path whole;

/* ------------------------------------------------------------------ parts */

/*
 * The value at state->field, which moves behind it. type may be OPTIONAL.
 */
static void
take_value(EachState *state, const kiln_type *type, Part *part)
{
	part->absent = type->kind == KILN_OPTIONAL && !kiln_field_present(&state->field);
	if (part->absent)
		return;
	part->field = state->field;
	part->field.type = kiln_without_optional(type);
	kiln_field_pass(&state->field, part->field.type);
}

/* Fields that are present. */
static bool
step_struct(EachState *state, Part *part)
{
	while (state->next < state->count)
	{
		const kiln_field *field = &state->type->fields[state->next++];

		take_value(state, field->type, part);
		if (part->absent)
			continue;
		part->key = kiln_utf8_to_text_datum((const uint8_t *) field->name, field->name_length);
		return true;
	}
	return false;
}

static bool
step_dict(EachState *state, Part *part)
{
	uint32_t	length;
	const uint8_t *key;

	if (state->next == state->count || state->field.at == state->field.end)
		return false;
	state->next++;
	key = kiln_field_span(&state->field, &length);
	part->key = kiln_utf8_to_text_datum(key, length);
	state->field.at = key + length;
	take_value(state, state->type->element, part);
	return true;
}

static bool
step_list(EachState *state, Part *part)
{
	if (state->next == state->count || state->field.at == state->field.end)
		return false;
	state->next++;
	take_value(state, state->type->element, part);
	return true;
}

/* A tensor is reached by a path of its name. */
static bool
step_tensors(EachState *state, Part *part)
{
	kiln_tensor tensor;

	if (state->next == state->count ||
		!kiln_directory_entry(state->field.base, (size_t) (state->field.end - state->field.base), state->next, &tensor))
		return false;
	state->next++;
	state->tensor_step.name = tensor.name;
	state->tensor_step.length = tensor.name_length;
	part->key = kiln_utf8_to_text_datum((const uint8_t *) tensor.name, tensor.name_length);
	part->absent = false;
	part->field = state->field;
	part->field.path = &state->tensor_path;
	return true;
}

/*
 * A part of a json value as a json value of its own: the bytes that such a field would have.
 */
static void
take_json(EachState *state, JsonbValue *value, Part *part)
{
	Jsonb	   *jsonb = JsonbValueToJsonb(value);
	char	   *server = JsonbToCString(NULL, &jsonb->root, VARSIZE(jsonb));
	size_t		length;
	const char *text = kiln_server_to_utf8(server, strlen(server), &length);
	uint8_t    *bytes = palloc(4 + length);

	kiln_store_u32(bytes, (uint32_t) length);
	memcpy(bytes + 4, text, length);
	part->absent = false;
	part->field = state->field;
	part->field.base = part->field.at = bytes;
	part->field.end = bytes + 4 + length;
}

static bool
step_json(EachState *state, Part *part)
{
	JsonbValue	value;
	JsonbIteratorToken token = JsonbIteratorNext(&state->json, &value, true);

	if (token == WJB_KEY)
	{
		part->key = PointerGetDatum(cstring_to_text_with_len(value.val.string.val, value.val.string.len));
		token = JsonbIteratorNext(&state->json, &value, true);
	}
	if (token != WJB_VALUE && token != WJB_ELEM)
		return false;
	take_json(state, &value, part);
	return true;
}

/* ------------------------------------------------------------------ starting */

pg_noreturn static void
no_parts(const char *function, const kiln_type *type, const char *wanted)
{
	ereport(ERROR,
			(errcode(ERRCODE_DATATYPE_MISMATCH),
			 errmsg("cannot call %s on a kiln %s", function, kiln_kind_name(type)),
			 errdetail("It takes %s.", wanted)));
	pg_unreachable();
}

/* Begin to go through a json value, which has to be of the shape wanted. */
static bool
start_json(EachState *state, bool list)
{
	bool		isnull = false;
	Jsonb	   *jsonb = DatumGetJsonbP(kiln_field_jsonb(&state->field, &isnull));
	JsonbValue	value;

	if (JB_ROOT_IS_SCALAR(jsonb) || (JB_ROOT_IS_ARRAY(jsonb) != 0) != list)
		return false;
	state->json = JsonbIteratorInit(&jsonb->root);
	(void) JsonbIteratorNext(&state->json, &value, true);
	state->step = step_json;
	return true;
}

static bool
start_keyed(EachState *state)
{
	if (state->type == NULL)
	{
		state->count = kiln_directory_count(state->field.base, (size_t) (state->field.end - state->field.base));
		state->tensor_path.steps = &state->tensor_step;
		state->tensor_path.count = 1;
		state->step = step_tensors;
		return true;
	}
	switch (state->type->kind)
	{
		case KILN_STRUCT:
			state->count = state->type->count;
			state->step = step_struct;
			return true;
		case KILN_DICT:
			state->count = kiln_field_count(&state->field, 4 + state->type->element->least);
			state->step = step_dict;
			return true;
		case KILN_JSON:
			return start_json(state, false);
		default:
			return false;
	}
}

static bool
start_list(EachState *state)
{
	if (state->type == NULL)
		return false;
	switch (state->type->kind)
	{
		case KILN_LIST:
			state->count = kiln_field_count(&state->field, state->type->element->least);
			state->step = step_list;
			return true;
		case KILN_JSON:
			return start_json(state, true);
		default:
			return false;
	}
}

/* The state of a call that begins, in the memory of all its rows. */
static EachState *
each_open(FunctionCallInfo fcinfo)
{
	EachState  *state = palloc0(sizeof(EachState));
	KilnValue	value;

	kiln_value_open(PG_GETARG_DATUM(0), &value);
	state->type = value.schema ? value.schema->root : NULL;
	state->field.type = state->type;
	state->field.base = state->field.at = value.frame.payload;
	state->field.end = value.frame.payload + value.frame.payload_length;
	state->field.schema = value.schema;
	state->field.path = &whole;
	state->field.kind = value.frame.kind;
	return state;
}

/* ------------------------------------------------------------------ functions */

/* First call: set everything up. Rows of two columns if the function has such. */
static void
first_call(FunctionCallInfo fcinfo, const char *function, bool list)
{
	FuncCallContext *call = SRF_FIRSTCALL_INIT();
	MemoryContext before = MemoryContextSwitchTo(call->multi_call_memory_ctx);
	EachState  *state = each_open(fcinfo);

	if (!(list ? start_list(state) : start_keyed(state)))
		no_parts(function, state->type, list ? "a list or a json array" :
				 "a struct, a dict, a tensor directory or a json object");
	if (get_call_result_type(fcinfo, NULL, &state->columns) == TYPEFUNC_COMPOSITE)
		state->columns = BlessTupleDesc(state->columns);
	call->user_fctx = state;
	MemoryContextSwitchTo(before);
}

/* A row of key and value. */
static Datum
each(FunctionCallInfo fcinfo, const char *function, Datum (*convert) (const KilnField *, bool *))
{
	FuncCallContext *call;
	EachState  *state;
	Part		part;
	Datum		values[2];
	bool		nulls[2] = {false, false};

	if (SRF_IS_FIRSTCALL())
		first_call(fcinfo, function, false);
	call = SRF_PERCALL_SETUP();
	state = call->user_fctx;
	if (!state->step(state, &part))
		SRF_RETURN_DONE(call);
	values[0] = part.key;
	nulls[1] = part.absent;
	values[1] = part.absent ? (Datum) 0 : convert(&part.field, &nulls[1]);
	SRF_RETURN_NEXT(call, HeapTupleGetDatum(heap_form_tuple(state->columns, values, nulls)));
}

PG_FUNCTION_INFO_V1(kiln_each);
PG_FUNCTION_INFO_V1(kiln_each_text);
PG_FUNCTION_INFO_V1(kiln_keys);
PG_FUNCTION_INFO_V1(kiln_unnest);

/* kiln_each(kiln): key and value of each part, the value as kiln. */
Datum
kiln_each(PG_FUNCTION_ARGS)
{
	return each(fcinfo, "kiln_each", kiln_part_kiln);
}

/* kiln_each_text(kiln): the same with the value as ->> gives it. */
Datum
kiln_each_text(PG_FUNCTION_ARGS)
{
	return each(fcinfo, "kiln_each_text", kiln_part_text);
}

/* kiln_keys(kiln): the keys alone. */
Datum
kiln_keys(PG_FUNCTION_ARGS)
{
	FuncCallContext *call;
	EachState  *state;
	Part		part;

	if (SRF_IS_FIRSTCALL())
		first_call(fcinfo, "kiln_keys", false);
	call = SRF_PERCALL_SETUP();
	state = call->user_fctx;
	if (!state->step(state, &part))
		SRF_RETURN_DONE(call);
	SRF_RETURN_NEXT(call, part.key);
}

/* kiln_unnest(kiln): the elements of a list, NULL where one is absent. */
Datum
kiln_unnest(PG_FUNCTION_ARGS)
{
	FuncCallContext *call;
	EachState  *state;
	Part		part;
	bool		isnull;
	Datum		value = (Datum) 0;

	if (SRF_IS_FIRSTCALL())
		first_call(fcinfo, "kiln_unnest", true);
	call = SRF_PERCALL_SETUP();
	state = call->user_fctx;
	if (!state->step(state, &part))
		SRF_RETURN_DONE(call);
	isnull = part.absent;
	if (!isnull)
		value = kiln_part_kiln(&part.field, &isnull);
	if (isnull)
		SRF_RETURN_NEXT_NULL(call);
	SRF_RETURN_NEXT(call, value);
}
