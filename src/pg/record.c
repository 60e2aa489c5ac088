/*
 * Whole values as rows: kiln_populate_record() and kiln_to_record().
 *
 * A call site keeps what it knows of its row type and, for each of a few definitions, the conversion of a struct to
 * that row: a row of a definition met before costs the walk over its fields and the forming of the tuple. A value
 * that is a json object goes to core's functions of the same names.
 */
#include "kiln_datum.h"

#include "catalog/pg_type.h"
#include "funcapi.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"

/* Definitions that one call site keeps conversions for. */
#define RECORD_SLOTS 4

typedef struct RecordSlot
{
	KilnSchema *schema;			/* pinned */
	uint8		kind;			/* of frames it serves */
	KilnRowTarget *target;		/* NULL if the definition is no struct */
	MemoryContext context;		/* of target */
} RecordSlot;

typedef struct RecordCache
{
	MemoryContextCallback unpin;
	MemoryContext context;		/* the call site's */
	const char *function;		/* its name, for messages */
	Oid			declared;		/* type of the argument or result */
	bool		is_domain;
	Oid			row_type;		/* the same without domains */
	int32		row_typmod;
	Oid			call_type;		/* what the caller's column definition list asks for, once it was looked at */
	int32		call_typmod;
	void	   *domain_cache;
	FmgrInfo   *json;			/* for core's function, made when it is first wanted */
	int			used;
	int			next;			/* slot to be given up next */
	RecordSlot	slots[RECORD_SLOTS];
} RecordCache;

/* ------------------------------------------------------------------ the call site */

static void
unpin_slots(void *argument)
{
	RecordCache *cache = argument;

	for (int i = 0; i < cache->used; i++)
		kiln_schema_unpin(cache->slots[i].schema);
	cache->used = 0;
}

static void
drop_slot(RecordCache *cache, RecordSlot *slot)
{
	kiln_schema_unpin(slot->schema);
	MemoryContextDelete(slot->context);
	*slot = cache->slots[--cache->used];
}

/* Set the row type; conversions to another are dropped. */
static void
set_row_type(RecordCache *cache, Oid row_type, int32 row_typmod)
{
	if (cache->row_type == row_type && cache->row_typmod == row_typmod)
		return;
	while (cache->used > 0)
		drop_slot(cache, &cache->slots[cache->used - 1]);
	cache->row_type = row_type;
	cache->row_typmod = row_typmod;
}

static RecordCache *
cache_create(FunctionCallInfo fcinfo, const char *function)
{
	MemoryContext context = fcinfo->flinfo->fn_mcxt;
	RecordCache *cache = MemoryContextAllocZero(context, sizeof(RecordCache));

	cache->context = context;
	cache->function = function;
	cache->row_typmod = -1;
	cache->unpin.func = unpin_slots;
	cache->unpin.arg = cache;
	MemoryContextRegisterResetCallback(context, &cache->unpin);
	return cache;
}

/* The row type that the caller's column definition list asks for; false if there is none. */
static bool
row_type_of_call(FunctionCallInfo fcinfo, RecordCache *cache)
{
	TupleDesc	columns;
	MemoryContext before;

	if (!OidIsValid(cache->call_type))
	{
		if (get_call_result_type(fcinfo, NULL, &columns) != TYPEFUNC_COMPOSITE)
			return false;
		before = MemoryContextSwitchTo(cache->context);
		columns = BlessTupleDesc(CreateTupleDescCopy(columns));
		MemoryContextSwitchTo(before);
		cache->call_type = columns->tdtypeid;
		cache->call_typmod = columns->tdtypmod;
	}
	set_row_type(cache, cache->call_type, cache->call_typmod);
	return true;
}

/* ------------------------------------------------------------------ conversions */

/* Is the slot's definition the frame's, and still the catalog's? */
static inline bool
slot_serves(RecordSlot *slot, const kiln_frame *frame)
{
	const kiln_schema *codec = slot->schema->codec;

	if (slot->kind != frame->kind)
		return false;
	if (frame->kind == KILN_FRAME_INLINE)
		return codec->text_length == frame->text_length && memcmp(codec->text, frame->text, frame->text_length) == 0;
	return slot->schema->hash == frame->hash && kiln_schema_fresh(slot->schema);
}

static RecordSlot *
slot_make(RecordCache *cache, const kiln_frame *frame)
{
	KilnSchema *schema = kiln_frame_schema(frame);
	MemoryContext context = AllocSetContextCreate(cache->context, "kiln record", ALLOCSET_SMALL_SIZES);
	KilnRowTarget *target = NULL;
	RecordSlot *slot;

	if (schema->root->kind == KILN_STRUCT)
		target = kiln_row_target_make(schema->root, cache->row_type, cache->row_typmod, context);
	if (cache->used == RECORD_SLOTS)
	{
		drop_slot(cache, &cache->slots[cache->next]);
		cache->next = (cache->next + 1) % RECORD_SLOTS;
	}
	slot = &cache->slots[cache->used];
	slot->schema = schema;
	slot->kind = frame->kind;
	slot->target = target;
	slot->context = context;
	kiln_schema_pin(schema);
	cache->used++;
	return slot;
}

static RecordSlot *
slot_for(RecordCache *cache, const kiln_frame *frame)
{
	for (int i = 0; i < cache->used;)
	{
		RecordSlot *slot = &cache->slots[i];

		if (slot_serves(slot, frame))
		{
			if (frame->kind == KILN_FRAME_UNVERIFIED)
				(void) kiln_frame_schema(frame);
			return slot;
		}
		if (slot->kind != KILN_FRAME_INLINE && !kiln_schema_fresh(slot->schema))
			drop_slot(cache, slot);
		else
			i++;
	}
	return slot_make(cache, frame);
}

pg_noreturn static void
no_struct(const RecordCache *cache, const kiln_type *type)
{
	ereport(ERROR,
			(errcode(ERRCODE_DATATYPE_MISMATCH),
			 errmsg("cannot call %s on a kiln %s", cache->function, kiln_kind_name(type)),
			 errdetail("Only a struct, or a json object, has columns.")));
	pg_unreachable();
}

/*
 * A json value by core's function, which finds the row type as the caller was told it.
 */
static Datum
json_record(FunctionCallInfo fcinfo, RecordCache *cache, const KilnField *field, int argument, PGFunction function)
{
	LOCAL_FCINFO(inner, 2);
	bool		isnull = false;
	Datum		jsonb = kiln_field_jsonb(field, &isnull);
	Datum		result;

	if (!JB_ROOT_IS_OBJECT(DatumGetJsonbP(jsonb)))
		no_struct(cache, field->type);
	if (cache->json == NULL)
	{
		cache->json = MemoryContextAlloc(cache->context, sizeof(FmgrInfo));
		*cache->json = *fcinfo->flinfo;
		cache->json->fn_extra = NULL;
	}
	InitFunctionCallInfoData(*inner, cache->json, fcinfo->nargs, fcinfo->fncollation, NULL, fcinfo->resultinfo);
	for (int i = 0; i < fcinfo->nargs; i++)
		inner->args[i] = fcinfo->args[i];
	inner->args[argument].value = jsonb;
	inner->args[argument].isnull = false;
	result = function(inner);
	fcinfo->isnull = inner->isnull;
	return result;
}

/* The value in that argument as a row of the cache's type; base may be NULL. */
static Datum
convert_value(FunctionCallInfo fcinfo, RecordCache *cache, int argument, HeapTupleHeader base, PGFunction of_json)
{
	static const kiln_path whole;
	struct varlena *varlena = PG_DETOAST_DATUM_PACKED(PG_GETARG_DATUM(argument));
	kiln_frame	frame;
	RecordSlot *slot;
	KilnField	field;

	kiln_frame_parts(varlena, &frame);
	if (frame.kind == KILN_FRAME_TENSORS)
		no_struct(cache, NULL);
	slot = slot_for(cache, &frame);
	field.type = slot->schema->root;
	field.base = field.at = frame.payload;
	field.end = frame.payload + frame.payload_length;
	field.schema = slot->schema;
	field.path = &whole;
	field.rest = 0;
	field.kind = frame.kind;
	if (slot->target)
		return kiln_row_target_run(slot->target, &field, base);
	if (field.type->kind != KILN_JSON)
		no_struct(cache, field.type);
	return json_record(fcinfo, cache, &field, argument, of_json);
}

/* ------------------------------------------------------------------ kiln_populate_record */

/* The first argument's declared type, or 42804. */
static void
populate_declared_type(FunctionCallInfo fcinfo, RecordCache *cache)
{
	int32		typmod = -1;

	cache->declared = get_fn_expr_argtype(fcinfo->flinfo, 0);
	if (OidIsValid(cache->declared))
		cache->row_type = getBaseTypeAndTypmod(cache->declared, &typmod);
	cache->is_domain = cache->row_type != cache->declared;
	if (!OidIsValid(cache->declared) || !type_is_rowtype(cache->row_type))
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("first argument of %s must be a row type", cache->function)));
}

/* What an anonymous row type is: that of the row given, else of the call. */
static void
populate_record_type(FunctionCallInfo fcinfo, RecordCache *cache, HeapTupleHeader base)
{
	if (base)
		set_row_type(cache, HeapTupleHeaderGetTypeId(base), HeapTupleHeaderGetTypMod(base));
	else if (!row_type_of_call(fcinfo, cache))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("could not determine row type for result of %s", cache->function),
				 errhint("Provide a non-null record argument, or call the function in the FROM clause "
						 "using a column definition list.")));
}

PG_FUNCTION_INFO_V1(kiln_populate_record);

/*
 * kiln_populate_record(anyelement, kiln): the struct as a row; columns that it has nothing for stay as they are in
 * the first argument.
 */
Datum
kiln_populate_record(PG_FUNCTION_ARGS)
{
	RecordCache *cache = fcinfo->flinfo->fn_extra;
	HeapTupleHeader base = NULL;
	Datum		result;

	if (cache == NULL)
	{
		cache = cache_create(fcinfo, "kiln_populate_record");
		populate_declared_type(fcinfo, cache);
		fcinfo->flinfo->fn_extra = cache;
	}
	if (!PG_ARGISNULL(0))
		base = PG_GETARG_HEAPTUPLEHEADER(0);
	if (PG_ARGISNULL(1))
	{
		if (base == NULL)
			PG_RETURN_NULL();
		PG_RETURN_DATUM(HeapTupleHeaderGetDatum(base));
	}
	if (cache->declared == RECORDOID)
		populate_record_type(fcinfo, cache, base);
	result = convert_value(fcinfo, cache, 1, base, jsonb_populate_record);
	if (unlikely(cache->is_domain))
		domain_check(result, fcinfo->isnull, cache->declared, &cache->domain_cache, cache->context);
	return result;
}

/* ------------------------------------------------------------------ kiln_to_record */

PG_FUNCTION_INFO_V1(kiln_to_record);

/* kiln_to_record(kiln) AS (columns): the struct as a row of the columns that the query lists. */
Datum
kiln_to_record(PG_FUNCTION_ARGS)
{
	RecordCache *cache = fcinfo->flinfo->fn_extra;

	if (cache == NULL)
	{
		cache = cache_create(fcinfo, "kiln_to_record");
		if (!row_type_of_call(fcinfo, cache))
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("function returning record called in context that cannot accept type record"),
					 errhint("Try calling the function in the FROM clause using a column definition list.")));
		fcinfo->flinfo->fn_extra = cache;
	}
	return convert_value(fcinfo, cache, 0, NULL, jsonb_to_record);
}
