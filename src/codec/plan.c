/*
 * Plans, compiled: a path and a type become a short program (plan_internal.h says what its steps mean).
 *
 * Whatever stands before the value sought is compiled field by field into steps that pass it, nested structs and
 * optionals included, so a plan has at most as many steps as the definition has fields before the value. Fixed widths
 * gather in the builder's pending advance and cost nothing until a step needs them; if none ever does, the plan is
 * constant.
 *
 * A jump's target must be the beginning of a step: close_jump() therefore puts what is pending into a step of its own
 * and keeps later spans from being merged over the target.
 */
#include "plan_internal.h"

#define LOCAL_STEPS	32

typedef struct plan_builder
{
	const kiln_allocator *allocator;
	kiln_plan_step *steps;		/* local, or from the allocator */
	uint32_t	count;
	uint32_t	capacity;
	uint32_t	barrier;		/* steps below this number are not to be changed any more */
	uint32_t	pending;		/* bytes to advance before the next step */
	size_t		key_bytes;
	bool		failed;			/* out of memory */
	kiln_plan_step local[LOCAL_STEPS];
} plan_builder;

static void
builder_free(plan_builder *builder)
{
	if (builder->steps != builder->local)
		kiln_release(builder->allocator, builder->steps);
	builder->steps = builder->local;
}

/* A new step that carries the pending advance. Never NULL: out of memory it sets failed and reuses the last step. */
static kiln_plan_step *
add_step(plan_builder *builder, kiln_plan_op op)
{
	kiln_plan_step *step;

	if (builder->count == builder->capacity)
	{
		uint32_t	capacity = builder->capacity * 2;
		kiln_plan_step *steps = NULL;

		if (!builder->failed)
			steps = kiln_allocate(builder->allocator, capacity * sizeof *steps);
		if (steps == NULL)
		{
			builder->failed = true;
			builder->count--;
		}
		else
		{
			memcpy(steps, builder->steps, builder->count * sizeof *steps);
			builder_free(builder);
			builder->steps = steps;
			builder->capacity = capacity;
		}
	}
	step = &builder->steps[builder->count++];
	memset(step, 0, sizeof *step);
	step->op = (uint8_t) op;
	step->advance = builder->pending;
	builder->pending = 0;
	return step;
}

static void
add_span(plan_builder *builder)
{
	if (builder->pending == 0 && builder->count > builder->barrier)
	{
		kiln_plan_step *last = &builder->steps[builder->count - 1];

		if (last->op == PLAN_SPANS && last->count < PLAN_MAX_SPANS)
		{
			last->count++;
			return;
		}
	}
	add_step(builder, PLAN_SPANS)->count = 1;
}

/* Let the jump at that step land here. */
static void
close_jump(plan_builder *builder, uint32_t jump)
{
	if (builder->pending != 0)
		add_step(builder, PLAN_ADVANCE);
	builder->steps[jump].count = builder->count - jump - 1;
	builder->barrier = builder->count;
}

/* Steps that pass a value of that type. Recursion is bounded by KILN_MAX_DEPTH. */
static void
add_skip(plan_builder *builder, const kiln_type *type)
{
	const kiln_type *element = type->element;
	uint32_t	jump;
	uint32_t	i;

	if (builder->failed)
		return;
	if (type->width != 0)
		builder->pending += type->width;
	else if (kiln_kind_is_span(type->kind))
		add_span(builder);
	else if (type->kind == KILN_STRUCT)
	{
		for (i = 0; i < type->count; i++)
			add_skip(builder, type->fields[i].type);
	}
	else if (type->kind == KILN_LIST && element->width != 0)
		add_step(builder, PLAN_PACKED)->width = element->width;
	else if (type->kind == KILN_OPTIONAL && element->width != 0)
		add_step(builder, PLAN_OPTIONAL_FIXED)->width = element->width;
	else if (type->kind == KILN_OPTIONAL && kiln_kind_is_span(element->kind))
		add_step(builder, PLAN_OPTIONAL_SPAN);
	else if (type->kind == KILN_OPTIONAL)
	{
		add_step(builder, PLAN_JUMP);
		jump = builder->count - 1;
		add_skip(builder, element);
		close_jump(builder, jump);
	}
	else
		add_step(builder, PLAN_WALK)->type = type;
}

/* ------------------------------------------------------------------ steps of a path */

static bool
wrong_step(kiln_error *error, const kiln_path_step *step, const char *detail)
{
	return kiln_fail(error, KILN_E_PATH_STEP, step->offset, detail);
}

static bool
enter_struct(plan_builder *builder, const kiln_type **type, const kiln_path_step *step, kiln_error *error)
{
	const kiln_type *outer = *type;
	char		name[KILN_MAX_NAME + 1];
	size_t		length;
	int			field;
	int			i;

	if (step->is_index)
		return wrong_step(error, step, "a struct takes a field's name, not a position");
	field = kiln_struct_find(outer, step->name, step->length);
	if (field < 0 && kiln_name_nfc(step->name, step->length, name, &length))
		field = kiln_struct_find(outer, name, length);
	if (field < 0)
		return kiln_fail(error, KILN_E_PATH_FIELD, step->offset, "the struct has no field of that name");
	for (i = 0; i < field; i++)
		add_skip(builder, outer->fields[i].type);
	*type = outer->fields[field].type;
	return true;
}

static bool
enter_list(plan_builder *builder, const kiln_type **type, const kiln_path_step *step, kiln_error *error)
{
	const kiln_type *element = (*type)->element;
	kiln_plan_step *out;

	if (!step->is_index)
		return wrong_step(error, step, "a list takes a position in brackets");
	out = add_step(builder, element->width != 0 ? PLAN_INDEX_FIXED : PLAN_INDEX_WALK);
	out->width = element->width;
	out->index = step->index;
	out->type = element;
	*type = element;
	return true;
}

static bool
enter_dict(plan_builder *builder, const kiln_type **type, const kiln_path_step *step, kiln_error *error)
{
	const kiln_type *element = (*type)->element;
	kiln_plan_step *out;

	if (step->is_index)
		return wrong_step(error, step, "a dict takes a key, not a position");
	if (step->length > UINT32_MAX)
		return kiln_fail(error, KILN_E_SIZE, step->offset, "the key is too long");
	out = add_step(builder, PLAN_KEY);
	out->key_length = (uint32_t) step->length;
	out->key = step->name;
	out->type = element;
	builder->key_bytes += step->length;
	*type = element;
	return true;
}

/* Pass the tag, if there is one: what is sought is the value behind it. */
static void
enter_optional(plan_builder *builder, const kiln_type **type)
{
	while ((*type)->kind == KILN_OPTIONAL)
	{
		add_step(builder, PLAN_TAG);
		*type = (*type)->element;
	}
}

/* The whole path. On failure *at is the step at fault and *type what it was applied to. */
static bool
follow(plan_builder *builder, const kiln_path *path, kiln_plan *plan, const kiln_type **type, uint32_t *at,
	   kiln_error *error)
{
	enter_optional(builder, type);
	for (*at = 0; *at < path->count; (*at)++)
	{
		const kiln_path_step *step = &path->steps[*at];
		bool		good;

		switch ((*type)->kind)
		{
			case KILN_STRUCT:
				good = enter_struct(builder, type, step, error);
				break;
			case KILN_LIST:
				good = enter_list(builder, type, step, error);
				break;
			case KILN_DICT:
				good = enter_dict(builder, type, step, error);
				break;
			case KILN_JSON:
				plan->json_rest = true;
				plan->rest = *at;
				return true;
			default:
				good = wrong_step(error, step, "a value of that type has no parts");
				break;
		}
		if (!good)
			return false;
		enter_optional(builder, type);
	}
	return true;
}

/* ------------------------------------------------------------------ the plan */

/* Move the program, and the keys behind it, into memory of its exact size. */
static bool
keep_steps(const plan_builder *builder, kiln_plan *plan)
{
	size_t		bytes = builder->count * sizeof(kiln_plan_step);
	char	   *keys;
	uint32_t	i;

	plan->steps = kiln_allocate(builder->allocator, bytes + builder->key_bytes);
	if (plan->steps == NULL)
		return false;
	memcpy(plan->steps, builder->steps, bytes);
	plan->step_count = builder->count;
	keys = (char *) plan->steps + bytes;
	for (i = 0; i < plan->step_count; i++)
	{
		kiln_plan_step *step = &plan->steps[i];

		if (step->op != PLAN_KEY)
			continue;
		if (step->key_length != 0)
			memcpy(keys, step->key, step->key_length);
		step->key = keys;
		keys += step->key_length;
	}
	return true;
}

/* Tell of a program that only passes one row of spans. */
static void
note_spans(kiln_plan *plan)
{
	const kiln_plan_step *step = plan->steps;
	bool		advances = plan->step_count == 2 && step[1].op == PLAN_ADVANCE;

	if (step[0].op != PLAN_SPANS || (plan->step_count != 1 && !advances))
		return;
	plan->offset = step[0].advance;
	plan->spans = step[0].count;
	plan->after = advances ? step[1].advance : 0;
}

bool
kiln_plan_compile(const kiln_type *root, const kiln_path *path, const kiln_allocator *allocator, kiln_plan *plan,
				  kiln_error *error)
{
	plan_builder builder;
	const kiln_type *type = root;
	uint32_t	at;
	bool		good;

	memset(plan, 0, sizeof *plan);
	if (allocator != NULL)
		plan->allocator = *allocator;
	memset(&builder, 0, offsetof(plan_builder, local));
	builder.allocator = allocator;
	builder.steps = builder.local;
	builder.capacity = LOCAL_STEPS;

	good = follow(&builder, path, plan, &type, &at, error);
	if (!good && !builder.failed)
	{
		plan->fault_type = type;
		plan->fault_step = at;
		builder_free(&builder);
		return false;
	}
	plan->type = type;
	plan->constant = builder.count == 0;
	plan->offset = plan->constant ? builder.pending : 0;
	if (good && !plan->constant)
	{
		if (builder.pending != 0)
			add_step(&builder, PLAN_ADVANCE);
		good = keep_steps(&builder, plan);
		if (good)
			note_spans(plan);
	}
	good = good && !builder.failed;
	builder_free(&builder);
	if (!good)
	{
		kiln_plan_free(plan);
		return kiln_fail(error, KILN_E_MEMORY, 0, NULL);
	}
	return true;
}

void
kiln_plan_free(kiln_plan *plan)
{
	if (plan->steps != NULL)
		kiln_release(plan->allocator.allocate != NULL ? &plan->allocator : NULL, plan->steps);
	plan->steps = NULL;
	plan->step_count = 0;
}
