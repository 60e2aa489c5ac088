/*
 * Finding a field: plans run over values in memory, and over parts of large ones.
 *
 * The way of a small value through kiln_access() is short on purpose: a few tests that everything is as it was for the
 * last row, one load of the definition's hash, and the plan. A row of another definition changes the slot
 * (access_plan.c).
 */
#include "access_plan.h"

#include "miscadmin.h"

static void
poll_interrupts(void)
{
	CHECK_FOR_INTERRUPTS();
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
	return run_in_memory(kiln_accessor_slot(accessor, form, &frame), frame.payload, frame.payload_length, field);
}

/* The cache that the accessors of the query share. */
static KilnToastCache *
toast_cache(Accessor *accessor)
{
	if (accessor->toast_cache == NULL)
		accessor->toast_cache = kiln_toast_cache(GetMemoryChunkContext(accessor));
	return accessor->toast_cache;
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

	kiln_toast_open_cached(&toast, datum, toast_cache(accessor));
	head = read_head(&toast, &frame);
	if (frame.kind == KILN_FRAME_TENSORS || frame.kind == KILN_FRAME_UNVERIFIED || accessor->path.count == 0 ||
		toast.total - head < KILN_HELD_LEAST)
	{
		kiln_toast_close(&toast);
		return access_detoasted(accessor, form, PG_DETOAST_DATUM(datum), field);
	}

	slot = kiln_accessor_slot(accessor, form, &frame);
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

static bool
access_slow(FunctionCallInfo fcinfo, KilnPathForm form, KilnField *field)
{
	Accessor   *accessor = kiln_accessor_ready(fcinfo, form);
	Datum		datum = PG_GETARG_DATUM(0);
	bool		found;

	field->path = &accessor->path;
	field->loose = form == KILN_PATH_KEYS;
	if (kiln_toast_is_partial(datum))
		found = access_external(accessor, form, datum, field);
	else if (VARATT_IS_EXTERNAL_ONDISK(DatumGetPointer(datum)))
		found = access_detoasted(accessor, form, kiln_toast_cache_whole(toast_cache(accessor), (struct varlena *) DatumGetPointer(datum)), field);
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
			field->loose = form == KILN_PATH_KEYS;
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
	Accessor   *accessor = kiln_accessor_ready(fcinfo, form);
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
	*schema = kiln_accessor_slot(accessor, form, &frame)->schema;
	return !accessor->last->elsewhere;
}
