/*
 * Finding a field: plans kept in fn_extra, and large values read by slice.
 *
 * The way of a small value through kiln_access() is short on purpose: a few tests that everything is as it was for the
 * last row, one load of the definition's hash, and the plan. A row of another definition changes the slot; the path is
 * compared only where it is not a constant of the query.
 */
#include "kiln_access.h"

#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "nodes/primnodes.h"
#include "utils/array.h"
#include "utils/builtins.h"

#include "toast.h"

/* Definitions that one call site keeps plans for; a column rarely mixes more versions. */
#define PLAN_SLOTS 4

typedef struct PlanSlot
{
	KilnSchema *schema;			/* pinned */
	uint64		hash;
	uint64		generation;		/* of the registry, when the slot was last found true */
	uint8		kind;			/* of frames it serves: REGISTERED, INLINE or UNVERIFIED */
	bool		elsewhere;		/* no such field here, but in another version: NULL */
	kiln_plan	plan;
	void	   *conversion;		/* kept for the caller: see kiln_access_cache() */
	MemoryContext conversion_context;	/* child of path_context; NULL until it is asked for */
} PlanSlot;

typedef struct Accessor
{
	KilnFastPlace fast;			/* first: kiln_access_fast() reads it without knowing the rest */
	MemoryContext path_context; /* the path, its argument and the plans; emptied when the path changes */
	MemoryContextCallback unpin;
	bool		constant;		/* the path is a constant of the query */
	bool		have_path;
	struct varlena *argument;	/* what path was made from; NULL for a position */
	int32		position;
	kiln_path	path;
	PlanSlot   *last;			/* the slot of the row before */
	int			used;
	int			next;			/* slot to be given up next */
	PlanSlot	slots[PLAN_SLOTS];
} Accessor;

static void
poll_interrupts(void)
{
	CHECK_FOR_INTERRUPTS();
}

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
	accessor->fast.width = 0;
}

/*
 * Is argument n of the call a constant? An external parameter is not enough: plpgsql keeps the function's state while its variables change.
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
	accessor->constant = form == KILN_PATH_WHOLE || argument_is_const(fcinfo->flinfo, 1);
	accessor->unpin.func = unpin_slots;
	accessor->unpin.arg = accessor;
	MemoryContextRegisterResetCallback(context, &accessor->unpin);
	fcinfo->flinfo->fn_extra = accessor;
	return accessor;
}

/* Steps of a path that is not text: one literal key, one position, or an array of literal keys. All in the accessor's context. */
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

/* ------------------------------------------------------------------ slots */

/* Does the path lead somewhere in another version of this schema? Then it is NULL here, not an error. */
static bool
known_elsewhere(const KilnSchema *schema, const kiln_path *path)
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
 * Compile the path against a definition. Under #> a key that meets a list is read as a position, as jsonb does, and one that was so read
 * for another definition is a key again elsewhere.
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
		if (!known_elsewhere(schema, &accessor->path))
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
	fast->width = 0;
	if (accessor->constant && slot->kind == KILN_FRAME_REGISTERED && !slot->elsewhere && slot->plan.constant &&
		!slot->plan.json_rest && slot->plan.type->width <= 8)
	{
		fast->hash = slot->hash;
		fast->generation = slot->generation;
		fast->offset = KILN_HASH_HEAD + slot->plan.offset;
		fast->kind = slot->plan.type->kind;
		fast->width = (uint8) slot->plan.type->width;
	}
	return slot;
}

/* The slot for a frame, made if there is none. An unverified frame is validated each time. */
static PlanSlot *
slot_for(Accessor *accessor, KilnPathForm form, const kiln_frame *frame)
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

/* ------------------------------------------------------------------ running a plan */

/*
 * A value shorter than held reads need, or the CHECKED build's second opinion: full checks.
 */
static bool
run_checked(const PlanSlot *slot, const uint8_t *payload, size_t n, size_t *pos)
{
	kiln_error	error;

	switch (kiln_plan_run_checked(&slot->plan, payload, n, pos, &error))
	{
		case KILN_FOUND:
			return true;
		case KILN_ABSENT:
			return false;
		default:
			kiln_report(&error, KILN_IN_STORED, NULL);
			return false;
	}
}

static inline bool
run_in_memory(const PlanSlot *slot, const uint8_t *payload, size_t n, KilnField *field)
{
	size_t		pos;
	bool		found = true;

	if (unlikely(slot->elsewhere))
		return false;
	if (unlikely(n < KILN_HELD_LEAST))
		found = run_checked(slot, payload, n, &pos);
	else if (likely(slot->plan.constant))
		pos = Min(slot->plan.offset, n);
	else
	{
		kiln_held	held = {payload, n, poll_interrupts};

		found = kiln_plan_run_held(&slot->plan, &held, &pos) == KILN_FOUND;
	}
#ifdef KILN_CHECKED
	{
		size_t		checked = 0;

		if (run_checked(slot, payload, n, &checked) != found || (found && checked != pos))
			elog(PANIC, "kiln: held and checked readers disagree");
	}
#endif
	if (!found)
		return false;
	field->type = slot->plan.type;
	field->base = payload;
	field->at = payload + pos;
	field->end = payload + n;
	field->schema = slot->schema;
	field->kind = slot->kind;
	return true;
}

/* ------------------------------------------------------------------ large values */

/* Point the window at what is at hand of the payload, which begins head bytes into the frame. */
static void
window_set(kiln_window *window, const KilnToast *toast, size_t head)
{
	size_t		skip = toast->start < head ? head - toast->start : 0;

	skip = Min(skip, toast->have);
	window->data = toast->data + skip;
	window->start = toast->start + skip - head;
	window->have = toast->have - skip;
}

/*
 * The head of an external value: frame kind, hash or definition. Returns bytes before the payload.
 */
static size_t
read_head(KilnToast *toast, kiln_frame *frame)
{
	kiln_error	error;
	const uint8_t *data = kiln_toast_read(toast, 0, KILN_HASH_HEAD);
	size_t		wanted = KILN_HASH_HEAD;

	if (toast->total >= KILN_INLINE_HEAD && data[0] == KILN_FRAME_INLINE)
		wanted = KILN_INLINE_HEAD + (size_t) kiln_load_u32(data + 1);
	data = kiln_toast_read(toast, 0, wanted);
	if (!kiln_frame_open(data, toast->have, frame, &error))
		kiln_report(&error, KILN_IN_STORED, NULL);
	return (size_t) (frame->payload - data);
}

/* Read on until the run has what it needs. */
static bool
window_run(const PlanSlot *slot, KilnToast *toast, size_t head, kiln_window *window)
{
	for (;;)
	{
		switch (kiln_plan_run_window(&slot->plan, window))
		{
			case KILN_FOUND:
				return true;
			case KILN_NEED:
				(void) kiln_toast_read(toast, head + window->need_from, head + window->need_to);
				window_set(window, toast, head);
				break;
			default:
				return false;
		}
		CHECK_FOR_INTERRUPTS();
	}
}

/* Have the found value whole in the window. */
static void
window_take(const kiln_type *type, KilnToast *toast, size_t head, kiln_window *window)
{
	while (kiln_window_measure(type, window) == KILN_NEED)
	{
		(void) kiln_toast_read(toast, head + window->need_from, head + window->need_to);
		window_set(window, toast, head);
		CHECK_FOR_INTERRUPTS();
	}
	(void) kiln_toast_read(toast, head + window->pos, head + window->need_to);
	window_set(window, toast, head);
}

/* A whole value, detoasted: as any small one. */
static bool
access_detoasted(Accessor *accessor, KilnPathForm form, struct varlena *varlena, KilnField *field)
{
	kiln_frame	frame;

	kiln_frame_parts(varlena, &frame);
	field->kind = frame.kind;
	if (frame.kind == KILN_FRAME_TENSORS)
	{
		field->type = NULL;
		field->base = field->at = frame.payload;
		field->end = frame.payload + frame.payload_length;
		return true;
	}
	return run_in_memory(slot_for(accessor, form, &frame), frame.payload, frame.payload_length, field);
}

/* A value out of line: the head, then only what the path needs. */
static bool
access_external(Accessor *accessor, KilnPathForm form, Datum datum, KilnField *field)
{
	KilnToast	toast;
	kiln_window window = {0};
	kiln_frame	frame;
	PlanSlot   *slot;
	size_t		head;

	kiln_toast_open(&toast, datum);
	head = read_head(&toast, &frame);
	if (frame.kind == KILN_FRAME_TENSORS || frame.kind == KILN_FRAME_UNVERIFIED || accessor->path.count == 0 ||
		toast.total - head < KILN_HELD_LEAST)
	{
		kiln_toast_close(&toast);
		return access_detoasted(accessor, form, PG_DETOAST_DATUM(datum), field);
	}

	slot = slot_for(accessor, form, &frame);
	if (slot->elsewhere)
		return false;
	window.total = toast.total - head;
	window.poll = poll_interrupts;
	window_set(&window, &toast, head);
	if (!window_run(slot, &toast, head, &window))
		return false;
	window_take(slot->plan.type, &toast, head, &window);
	field->type = slot->plan.type;
	field->base = window.data;
	field->at = window.data + (window.pos - window.start);
	field->end = window.data + window.have;
	field->schema = slot->schema;
	field->kind = slot->kind;
	return true;
}

/* ------------------------------------------------------------------ entry */

/* The call site's accessor, with the path of the argument. */
static Accessor *
accessor_ready(FunctionCallInfo fcinfo, KilnPathForm form)
{
	Accessor   *accessor = fcinfo->flinfo->fn_extra;

	if (accessor == NULL)
		accessor = accessor_create(fcinfo, form);
	if (!accessor->have_path || (!accessor->constant && !same_path(accessor, form, PG_GETARG_DATUM(1))))
		set_path(accessor, form, form == KILN_PATH_WHOLE ? (Datum) 0 : PG_GETARG_DATUM(1));
	return accessor;
}

static bool
access_slow(FunctionCallInfo fcinfo, KilnPathForm form, KilnField *field)
{
	Accessor   *accessor = accessor_ready(fcinfo, form);
	Datum		datum = PG_GETARG_DATUM(0);
	bool		found;

	field->path = &accessor->path;

	if (kiln_toast_is_partial(datum))
		found = access_external(accessor, form, datum, field);
	else
		found = access_detoasted(accessor, form, PG_DETOAST_DATUM_PACKED(datum), field);
	if (found)
		field->rest = field->type && accessor->last && accessor->last->plan.json_rest ?
			accessor->last->plan.rest : accessor->path.count;
	return found;
}

bool
kiln_access(FunctionCallInfo fcinfo, KilnPathForm form, KilnField *field)
{
	Accessor   *accessor = fcinfo->flinfo->fn_extra;
	struct varlena *varlena = (struct varlena *) PG_GETARG_POINTER(0);

	if (likely(accessor != NULL && accessor->last != NULL && accessor->constant &&
			   !VARATT_IS_EXTERNAL(varlena) && !VARATT_IS_COMPRESSED(varlena)))
	{
		const PlanSlot *slot = accessor->last;
		const uint8_t *data = (const uint8_t *) VARDATA_ANY(varlena);
		size_t		n = VARSIZE_ANY_EXHDR(varlena);

		if (likely(n >= KILN_HASH_HEAD && data[0] == KILN_FRAME_REGISTERED && slot->kind == KILN_FRAME_REGISTERED &&
				   kiln_load_u64(data + 1) == slot->hash && slot->generation == kiln_registry_generation))
		{
			field->path = &accessor->path;
			field->rest = slot->plan.json_rest ? slot->plan.rest : accessor->path.count;
			return run_in_memory(slot, data + KILN_HASH_HEAD, n - KILN_HASH_HEAD, field);
		}
	}
	return access_slow(fcinfo, form, field);
}

void
kiln_access_whole(FunctionCallInfo fcinfo, KilnField *field)
{
	if (!kiln_access(fcinfo, KILN_PATH_WHOLE, field))
		elog(ERROR, "the whole of a kiln value is never absent");
}

void **
kiln_access_cache(FunctionCallInfo fcinfo, MemoryContext *context)
{
	Accessor   *accessor = fcinfo->flinfo->fn_extra;
	PlanSlot   *slot = accessor->last;

	if (slot->conversion_context == NULL)
		slot->conversion_context = AllocSetContextCreate(accessor->path_context, "kiln conversion", ALLOCSET_SMALL_SIZES);
	*context = slot->conversion_context;
	return &slot->conversion;
}

bool
kiln_access_path(FunctionCallInfo fcinfo, KilnPathForm form, KilnSchema **schema, const kiln_path **path)
{
	Accessor   *accessor = accessor_ready(fcinfo, form);
	Datum		datum = PG_GETARG_DATUM(0);
	kiln_frame	frame;
	KilnToast	toast;

	*path = &accessor->path;
	*schema = NULL;
	kiln_toast_open(&toast, datum);
	(void) read_head(&toast, &frame);
	if (frame.kind == KILN_FRAME_TENSORS)
		return true;
	/* an unverified value is validated, for which all of it is wanted */
	if (frame.kind == KILN_FRAME_UNVERIFIED)
		kiln_frame_parts(PG_DETOAST_DATUM_PACKED(datum), &frame);
	*schema = slot_for(accessor, form, &frame)->schema;
	return !accessor->last->elsewhere;
}
