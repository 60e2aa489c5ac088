/*
 * kiln_upgrade, and kiln_encode from a kiln value: a value under another definition (docs/FORMAT.md, section 8).
 *
 * A column has few versions and one latest, so the conversions of a query are kept between calls, as long as no
 * definition comes or goes. Their schemas are pinned meanwhile.
 */
#include "kiln_change.h"

#include "utils/builtins.h"

#define SLOTS 4					/* conversions that one call site keeps */

typedef struct ConversionSlot
{
	KilnSchema *from;			/* pinned, as is to */
	KilnSchema *to;
	bool		drop;
	kiln_evolution *evolution;
} ConversionSlot;

typedef struct Conversions
{
	MemoryContext context;		/* of evolutions and the argument */
	uint64		generation;		/* of the registry, when all this was found true */
	int			used;
	int			next;			/* slot to be given up next */
	ConversionSlot slots[SLOTS];
	/* kiln_encode: what its schema argument means */
	struct varlena *argument;
	KilnSchema *target;			/* pinned */
	MemoryContextCallback release;
} Conversions;

/* ------------------------------------------------------------------ what is kept */

static void
forget_all(void *argument)
{
	Conversions *kept = argument;

	for (int i = 0; i < kept->used; i++)
	{
		kiln_schema_unpin(kept->slots[i].from);
		kiln_schema_unpin(kept->slots[i].to);
	}
	kept->used = kept->next = 0;
	if (kept->target)
		kiln_schema_unpin(kept->target);
	kept->target = NULL;
	kept->argument = NULL;
}

/* The call site's conversions; empty if definitions have come or gone. */
static Conversions *
conversions_of(FunctionCallInfo fcinfo)
{
	Conversions *kept = fcinfo->flinfo->fn_extra;

	if (kept == NULL)
	{
		kept = MemoryContextAllocZero(fcinfo->flinfo->fn_mcxt, sizeof(Conversions));
		kept->context = AllocSetContextCreate(fcinfo->flinfo->fn_mcxt, "kiln conversions", ALLOCSET_SMALL_SIZES);
		kept->release.func = forget_all;
		kept->release.arg = kept;
		MemoryContextRegisterResetCallback(fcinfo->flinfo->fn_mcxt, &kept->release);
		fcinfo->flinfo->fn_extra = kept;
	}
	else if (kept->generation != kiln_registry_generation)
	{
		forget_all(kept);
		MemoryContextReset(kept->context);
	}
	kept->generation = kiln_registry_generation;
	return kept;
}

/* 42804 for a field that the new definition lacks, with kiln_upgrade's way to drop it. */
pg_noreturn static void
report_removed(const kiln_error *error)
{
	ereport(ERROR,
			(errcode(ERRCODE_DATATYPE_MISMATCH),
			 errmsg("value does not fit the kiln schema: %s", kiln_error_text(KILN_E_REMOVED)),
			 errdetail("At path %s.", kiln_utf8_for_message(error->path, strlen(error->path))),
			 errhint("kiln_upgrade(value, true) drops such fields.")));
}

/* upgrade: for kiln_upgrade, which may be asked to drop fields. */
static kiln_evolution *
evolution_between(Conversions *kept, KilnSchema *from, KilnSchema *to, bool upgrade, bool drop)
{
	kiln_allocator allocator = kiln_palloc_allocator(kept->context);
	ConversionSlot made = {from, to, drop, NULL};
	ConversionSlot *slot;
	kiln_error	error;

	for (int i = 0; i < kept->used; i++)
	{
		slot = &kept->slots[i];
		if (slot->from == from && slot->to == to && slot->drop == drop)
			return slot->evolution;
	}
	if (!kiln_evolution_compile(from->root, to->root, drop, &allocator, &made.evolution, &error))
	{
		if (error.code == KILN_E_REMOVED && upgrade)
			report_removed(&error);
		kiln_report(&error, KILN_IN_RECORD, NULL);
	}
	if (kept->used < SLOTS)
		slot = &kept->slots[kept->used++];
	else
	{
		slot = &kept->slots[kept->next];
		kept->next = (kept->next + 1) % SLOTS;
		kiln_schema_unpin(slot->from);
		kiln_schema_unpin(slot->to);
		kiln_evolution_free(slot->evolution);
	}
	kiln_schema_pin(from);
	kiln_schema_pin(to);
	*slot = made;
	return made.evolution;
}

/* ------------------------------------------------------------------ conversion */

static bool
same_definition(const KilnSchema *one, const KilnSchema *other)
{
	return one->codec->text_length == other->codec->text_length &&
		memcmp(one->codec->text, other->codec->text, one->codec->text_length) == 0;
}

/* The value under another definition; the value itself if it is of that already and in the frame that goes with it. */
static struct varlena *
convert(Conversions *kept, KilnValue *value, KilnSchema *to, bool upgrade, bool drop)
{
	kiln_evolution *evolution;
	kiln_writer writer;
	kiln_error	error;

	if (same_definition(value->schema, to))
	{
		if (value->frame.kind == (to->registered ? KILN_FRAME_REGISTERED : KILN_FRAME_INLINE))
			return value->datum;
		return kiln_make_frame(to, value->frame.payload, value->frame.payload_length);
	}
	evolution = evolution_between(kept, value->schema, to, upgrade, drop);
	kiln_builder_init(&writer, KILN_INLINE_HEAD + (to->registered ? 8 : to->codec->text_length) +
					  value->frame.payload_length + 64);
	kiln_builder_head_schema(&writer, to);
	if (!kiln_evolution_run(evolution, value->frame.payload, value->frame.payload_length, kiln_poll_interrupts, &writer,
							&error))
		kiln_report(&error, KILN_IN_RECORD, NULL);
	return kiln_builder_finish(&writer);
}

/*
 * Is a value that is stored out of line of its schema's latest version? It is then given back as it is stored: not
 * fetched, and not stored again by an UPDATE. Only its head is read.
 */
static bool
is_latest_out_of_line(Datum datum)
{
	struct varlena *head;
	kiln_frame	frame;
	KilnSchema *schema;
	bool		latest = false;

	if (!VARATT_IS_EXTERNAL_ONDISK(DatumGetPointer(datum)))
		return false;
	head = PG_DETOAST_DATUM_SLICE(datum, 0, KILN_HASH_HEAD);
	if (VARSIZE_ANY_EXHDR(head) == KILN_HASH_HEAD && *(uint8 *) VARDATA_ANY(head) == KILN_FRAME_REGISTERED)
	{
		kiln_frame_parts(head, &frame);
		schema = kiln_frame_schema(&frame);
		latest = kiln_registry_latest(schema->root->name, schema->root->name_length) == schema;
	}
	pfree(head);
	return latest;
}

PG_FUNCTION_INFO_V1(kiln_upgrade);

/* kiln_upgrade(kiln, boolean): the value in the latest version of its schema. */
Datum
kiln_upgrade(PG_FUNCTION_ARGS)
{
	Conversions *kept = conversions_of(fcinfo);
	KilnValue	value;
	KilnSchema *latest;
	const kiln_type *root;

	if (is_latest_out_of_line(PG_GETARG_DATUM(0)))
		PG_RETURN_DATUM(PG_GETARG_DATUM(0));
	kiln_value_open(PG_GETARG_DATUM(0), &value);
	root = value.schema ? value.schema->root : NULL;
	if (root == NULL || root->kind != KILN_STRUCT || root->name_length == 0)
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("a kiln value without a schema's name has no later version")));
	latest = kiln_registry_latest(root->name, root->name_length);
	if (latest == NULL)
	{
		char	   *name = kiln_schema_quoted_name(value.schema);

		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("kiln schema %s is not registered", kiln_utf8_for_message(name, strlen(name))),
				 errhint("Register a definition of that name with kiln_register().")));
	}
	PG_RETURN_POINTER(convert(kept, &value, latest, true, PG_GETARG_BOOL(1)));
}

/* What kiln_encode's schema argument means; kept as long as it is the same. */
static KilnSchema *
target_of(Conversions *kept, Datum argument)
{
	struct varlena *now = PG_DETOAST_DATUM_PACKED(argument);
	size_t		n = VARSIZE_ANY_EXHDR(now);
	size_t		length;
	const char *text;
	KilnSchema *schema;

	if (kept->argument && VARSIZE_ANY_EXHDR(kept->argument) == n &&
		memcmp(VARDATA_ANY(kept->argument), VARDATA_ANY(now), n) == 0)
		return kept->target;
	text = kiln_text_datum_to_utf8(PointerGetDatum(now), &length);
	schema = kiln_schema_interned(kiln_schema_resolve(text, length, NULL));
	kiln_schema_pin(schema);
	if (kept->target)
		kiln_schema_unpin(kept->target);
	kept->target = schema;
	if (kept->argument)
		pfree(kept->argument);
	kept->argument = MemoryContextAlloc(kept->context, VARSIZE_ANY(now));
	memcpy(kept->argument, now, VARSIZE_ANY(now));
	return schema;
}

PG_FUNCTION_INFO_V1(kiln_encode_kiln);

/* kiln_encode(text, kiln): a value under another definition. Scalars and nameless JSON convert by value. */
Datum
kiln_encode_kiln(PG_FUNCTION_ARGS)
{
	Conversions *kept = conversions_of(fcinfo);
	KilnSchema *to = target_of(kept, PG_GETARG_DATUM(0));
	KilnErrorPlace place;
	KilnValue	value;
	kiln_writer writer;
	kiln_error	error;

	kiln_value_open(PG_GETARG_DATUM(1), &value);
	if (value.schema && value.schema->root->kind >= KILN_ENUM)
		PG_RETURN_POINTER(convert(kept, &value, to, false, false));
	kiln_builder_init(&writer, KILN_INLINE_HEAD + to->codec->text_length + value.frame.payload_length);
	kiln_builder_head_schema(&writer, to);
	if (!kiln_put_kiln(to->root, &value, &writer, &place, &error))
		kiln_report(&error, place, NULL);
	PG_RETURN_POINTER(kiln_builder_finish(&writer));
}
