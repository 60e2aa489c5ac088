/*
 * Paths and plans of accessors: see access_plan.h.
 */
#include "access_plan.h"

#include "catalog/pg_type.h"
#include "nodes/primnodes.h"
#include "utils/array.h"

/* ------------------------------------------------------------------ accessor and path */

static void
unpin_slots(void *argument)
{
	Accessor   *accessor = argument;

	for (int i = 0; i < accessor->used; i++)
		if (accessor->slots[i].schema)
			kiln_schema_unpin(accessor->slots[i].schema);
	accessor->used = 0;
}

/* Forget the last slot, and with it the fast way. */
static void
forget_last(Accessor *accessor)
{
	accessor->last = NULL;
	accessor->fast.generation = KILN_NOT_FAST;
}

/*
 * Is argument n of the call a constant? An external parameter is not enough: plpgsql keeps the function's state
 * while its variables change.
 */
static bool
argument_is_const(FmgrInfo *flinfo, int n)
{
	Node	   *expr = flinfo->fn_expr;
	List	   *args;

	if (expr == NULL)
		return false;
	if (IsA(expr, FuncExpr))
		args = ((FuncExpr *) expr)->args;
	else if (IsA(expr, OpExpr))
		args = ((OpExpr *) expr)->args;
	else
		return false;
	return n < list_length(args) && IsA(list_nth(args, n), Const);
}

static Accessor *
accessor_create(FunctionCallInfo fcinfo, KilnPathForm form)
{
	MemoryContext context = fcinfo->flinfo->fn_mcxt;
	Accessor   *accessor = MemoryContextAllocZero(context, sizeof(Accessor));

	accessor->path_context = AllocSetContextCreate(context, "kiln path", ALLOCSET_SMALL_SIZES);
	accessor->fast.generation = KILN_NOT_FAST;
	accessor->constant = form == KILN_PATH_WHOLE || argument_is_const(fcinfo->flinfo, 1);
	accessor->unpin.func = unpin_slots;
	accessor->unpin.arg = accessor;
	MemoryContextRegisterResetCallback(context, &accessor->unpin);
	fcinfo->flinfo->fn_extra = accessor;
	return accessor;
}

/*
 * Steps of a path that is not text: one literal key, one position, or an array of literal keys. All in the accessor's
 * context.
 */
static void
path_of_steps(Accessor *accessor, uint32_t count)
{
	accessor->path.allocator = kiln_palloc_allocator(accessor->path_context);
	accessor->path.steps = MemoryContextAllocZero(accessor->path_context, Max(count, 1) * sizeof(kiln_path_step));
	accessor->path.memory = accessor->path.steps;
	accessor->path.count = count;
}

static void
path_step_key(Accessor *accessor, uint32_t i, Datum key)
{
	kiln_path_step *step = &accessor->path.steps[i];
	size_t		length;
	const char *name = kiln_text_datum_to_utf8(key, &length);
	char	   *copy = MemoryContextAlloc(accessor->path_context, length + 1);

	memcpy(copy, name, length);
	copy[length] = '\0';
	step->name = copy;
	step->length = length;
}

/* A key of #> stands for a position where it leads into a list (see compile_path). */
static bool
key_as_position(kiln_path_step *step)
{
	char	   *end;
	long		position;

	if (step->length == 0 || step->length > 11)
		return false;
	errno = 0;
	position = strtol(step->name, &end, 10);
	if (errno != 0 || *end != '\0' || isspace((unsigned char) step->name[0]))
		return false;
	step->is_index = true;
	step->index = position;
	return true;
}

static void
path_of_keys(Accessor *accessor, ArrayType *keys)
{
	Datum	   *elements;
	bool	   *nulls;
	int			count;

	deconstruct_array(keys, TEXTOID, -1, false, TYPALIGN_INT, &elements, &nulls, &count);
	path_of_steps(accessor, count);
	for (int i = 0; i < count; i++)
		path_step_key(accessor, i, elements[i]);
}

/* Make the path from the argument, and forget plans of another. */
static void
set_path(Accessor *accessor, KilnPathForm form, Datum argument)
{
	MemoryContext old;

	unpin_slots(accessor);
	forget_last(accessor);
	accessor->have_path = false;
	accessor->argument = NULL;
	MemoryContextReset(accessor->path_context);
	old = MemoryContextSwitchTo(accessor->path_context);
	if (form == KILN_PATH_WHOLE)
		path_of_steps(accessor, 0);
	else if (form == KILN_PATH_POSITION)
	{
		accessor->position = DatumGetInt32(argument);
		path_of_steps(accessor, 1);
		accessor->path.steps[0].is_index = true;
		accessor->path.steps[0].index = accessor->position;
	}
	else
	{
		accessor->argument = PG_DETOAST_DATUM_COPY(argument);
		if (form == KILN_PATH_KEY)
		{
			path_of_steps(accessor, 1);
			path_step_key(accessor, 0, PointerGetDatum(accessor->argument));
		}
		else if (form == KILN_PATH_KEYS)
			path_of_keys(accessor, (ArrayType *) accessor->argument);
		else
		{
			kiln_allocator allocator = kiln_palloc_allocator(accessor->path_context);
			size_t		length;
			const char *text = kiln_text_datum_to_utf8(PointerGetDatum(accessor->argument), &length);
			kiln_error	error;

			if (!kiln_path_parse(text, length, &allocator, &accessor->path, &error))
				kiln_report(&error, KILN_IN_PATH, NULL);
		}
	}
	MemoryContextSwitchTo(old);
	accessor->have_path = true;
}

/* Is the path still that of the argument? */
static bool
same_path(const Accessor *accessor, KilnPathForm form, Datum argument)
{
	struct varlena *now;
	bool		same;

	if (!accessor->have_path)
		return false;
	if (form == KILN_PATH_WHOLE)
		return true;
	if (form == KILN_PATH_POSITION)
		return accessor->position == DatumGetInt32(argument);
	now = PG_DETOAST_DATUM_PACKED(argument);
	same = VARSIZE_ANY_EXHDR(now) == VARSIZE_ANY_EXHDR(accessor->argument) &&
		memcmp(VARDATA_ANY(now), VARDATA_ANY(accessor->argument), VARSIZE_ANY_EXHDR(now)) == 0;
	if ((Pointer) now != DatumGetPointer(argument))
		pfree(now);
	return same;
}

Accessor *
kiln_accessor_ready(FunctionCallInfo fcinfo, KilnPathForm form)
{
	Accessor   *accessor = fcinfo->flinfo->fn_extra;

	if (accessor == NULL)
		accessor = accessor_create(fcinfo, form);
	if (!accessor->have_path || (!accessor->constant && !same_path(accessor, form, PG_GETARG_DATUM(1))))
		set_path(accessor, form, form == KILN_PATH_WHOLE ? (Datum) 0 : PG_GETARG_DATUM(1));
	return accessor;
}

/* ------------------------------------------------------------------ slots */

/* Does the path lead somewhere in another version of this schema? Then it is NULL here, not an error. */
bool
kiln_path_elsewhere(const KilnSchema *schema, const kiln_path *path)
{
	KilnSchema **versions;
	int			count;
	bool		found = false;

	if (schema->root->kind != KILN_STRUCT || schema->root->name_length == 0)
		return false;
	count = kiln_registry_versions(schema->root->name, schema->root->name_length, &versions);
	for (int i = 0; i < count && !found; i++)
	{
		kiln_allocator allocator = kiln_palloc_allocator(NULL);
		kiln_plan	plan;

		found = kiln_plan_compile(versions[i]->root, path, &allocator, &plan, NULL);
		if (found)
			kiln_plan_free(&plan);
	}
	if (count > 0)
		pfree(versions);
	return found;
}

/*
 * Compile the path against a definition. Under #> a key that meets a list is read as a position, as jsonb does, and
 * one that was so read for another definition is a key again elsewhere.
 */
static bool
compile_path(Accessor *accessor, KilnPathForm form, const kiln_type *root, kiln_plan *plan, kiln_error *error)
{
	kiln_allocator allocator = kiln_palloc_allocator(accessor->path_context);

	for (;;)
	{
		kiln_path_step *step;

		if (kiln_plan_compile(root, &accessor->path, &allocator, plan, error))
			return true;
		if (form != KILN_PATH_KEYS || error->code != KILN_E_PATH_STEP)
			return false;
		step = &accessor->path.steps[plan->fault_step];
		if (plan->fault_type->kind == KILN_LIST)
		{
			if (step->is_index || !key_as_position(step))
				return false;
		}
		else if (step->is_index)
			step->is_index = false;
		else
			return false;
	}
}

static void
slot_fill(Accessor *accessor, KilnPathForm form, PlanSlot *slot, KilnSchema *schema)
{
	kiln_error	error;

	slot->elsewhere = false;
	if (!compile_path(accessor, form, schema->root, &slot->plan, &error))
	{
		const kiln_path_step *step;

		if (error.code != KILN_E_PATH_FIELD)
			kiln_report(&error, KILN_IN_PATH, NULL);
		if (!kiln_path_elsewhere(schema, &accessor->path))
		{
			step = &accessor->path.steps[slot->plan.fault_step];
			kiln_report_unknown_field(slot->plan.fault_type, slot->plan.fault_type->name, step->name, step->length);
		}
		memset(&slot->plan, 0, sizeof slot->plan);
		slot->elsewhere = true;
	}
	slot->hash = schema->hash;
	slot->generation = schema->generation;
	kiln_schema_pin(schema);
	slot->schema = schema;
}

/* Is the slot's definition the frame's? The generation is looked at by the caller. */
static inline bool
slot_serves(const PlanSlot *slot, const kiln_frame *frame)
{
	if (slot->kind != frame->kind)
		return false;
	if (frame->kind == KILN_FRAME_INLINE)
		return slot->schema->codec->text_length == frame->text_length &&
			memcmp(slot->schema->codec->text, frame->text, frame->text_length) == 0;
	return slot->hash == frame->hash;
}

static void
slot_release(Accessor *accessor, PlanSlot *slot)
{
	kiln_plan_free(&slot->plan);
	kiln_schema_unpin(slot->schema);
	if (slot->conversion_context)
		MemoryContextDelete(slot->conversion_context);
	*slot = accessor->slots[--accessor->used];
	forget_last(accessor);
}

/* Remember the slot for the next row, which is likely to be of the same definition. */
static PlanSlot *
remember(Accessor *accessor, PlanSlot *slot)
{
	KilnFastPlace *fast = &accessor->fast;

	accessor->last = slot;
	fast->generation = KILN_NOT_FAST;
	if (accessor->constant && slot->kind == KILN_FRAME_REGISTERED && !slot->elsewhere && !slot->plan.json_rest &&
		(slot->plan.constant || (slot->plan.spans > 0 && slot->plan.spans <= KILN_FAST_SPANS)))
	{
		const kiln_type *type = slot->plan.type;

		fast->hash = slot->hash;
		fast->offset = KILN_HASH_HEAD + slot->plan.offset;
		fast->spans = (uint8) slot->plan.spans;
		fast->after = slot->plan.after;
		fast->kind = type->kind | (slot->plan.constant ? 0 : KILN_BEHIND_SPANS);
		fast->width = type->kind == KILN_STRING ? 4 : (uint8) type->width;
		if (type->kind == KILN_STRING || (type->width > 0 && type->width <= 16))
			fast->generation = slot->generation;
	}
	return slot;
}

PlanSlot *
kiln_accessor_slot(Accessor *accessor, KilnPathForm form, const kiln_frame *frame)
{
	KilnSchema *schema;
	PlanSlot   *slot;

	for (int i = 0; i < accessor->used; i++)
	{
		slot = &accessor->slots[i];
		if (!slot_serves(slot, frame))
			continue;
		/* other versions may have come or gone: what rests on them is worked out again */
		if (slot->generation != kiln_registry_generation &&
			(slot->elsewhere || !kiln_schema_fresh(slot->schema)))
		{
			slot_release(accessor, slot);
			break;
		}
		slot->generation = kiln_registry_generation;
		if (frame->kind == KILN_FRAME_UNVERIFIED)
			(void) kiln_frame_schema(frame);
		return remember(accessor, slot);
	}

	schema = kiln_frame_schema(frame);
	if (accessor->used == PLAN_SLOTS)
	{
		slot_release(accessor, &accessor->slots[accessor->next]);
		accessor->next = (accessor->next + 1) % PLAN_SLOTS;
	}
	slot = &accessor->slots[accessor->used];
	memset(slot, 0, sizeof *slot);
	slot->kind = frame->kind;
	slot_fill(accessor, form, slot, schema);
	accessor->used++;
	return remember(accessor, slot);
}
