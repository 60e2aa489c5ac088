/*
 * Types: making a node and working out all that follows from its definition (see kiln_type in kiln.h).
 *
 * Nodes are made bottom up and never change afterwards, but for their slice of the canonical text. Sums can't
 * overflow: a definition of 1 MiB has room for less than 3 MB of fixed-width fields.
 *
 * by_name is sorted here rather than with qsort(), which may allocate on its own and can't be told what to sort by.
 */
#include "schema_internal.h"

/* What a scalar kind is, in the order of kiln_kind. */
typedef struct scalar_kind
{
	const char *word;
	uint8_t		width;			/* 0: varies */
	uint8_t		least;
	bool		any_bits;
} scalar_kind;

static const scalar_kind scalar_kinds[] = {
	[KILN_BOOL] = {"bool", 1, 1, false},
	[KILN_I8] = {"i8", 1, 1, true},
	[KILN_I16] = {"i16", 2, 2, true},
	[KILN_I32] = {"i32", 4, 4, true},
	[KILN_I64] = {"i64", 8, 8, true},
	[KILN_U8] = {"u8", 1, 1, true},
	[KILN_U16] = {"u16", 2, 2, true},
	[KILN_U32] = {"u32", 4, 4, true},
	[KILN_U64] = {"u64", 8, 8, true},
	[KILN_F32] = {"f32", 4, 4, true},
	[KILN_F64] = {"f64", 8, 8, true},
	[KILN_STRING] = {"string", 0, 4, false},
	[KILN_BYTES] = {"bytes", 0, 4, false},
	[KILN_UUID] = {"uuid", 16, 16, true},
	[KILN_DATE] = {"date", 4, 4, false},
	[KILN_TIMESTAMP] = {"timestamp", 8, 8, false},
	[KILN_TIMESTAMPTZ] = {"timestamptz", 8, 8, false},
	[KILN_NUMERIC] = {"numeric", 0, 5, false},
	[KILN_JSON] = {"json", 0, 5, false},
};

const char *
kiln_kind_word(uint8_t kind)
{
	return scalar_kinds[kind].word;
}

/* A node with nothing but its kind; its text is empty until the whole is printed. */
static kiln_type *
type_new(kiln_arena *arena, kiln_kind kind)
{
	kiln_type  *type = kiln_arena_take(arena, sizeof *type);

	if (type == NULL)
		return NULL;
	memset(type, 0, sizeof *type);
	type->kind = (uint8_t) kind;
	type->text = "";
	return type;
}

kiln_type *
kiln_type_scalar(kiln_arena *arena, kiln_kind kind)
{
	kiln_type  *type = type_new(arena, kind);

	if (type == NULL)
		return NULL;
	type->width = scalar_kinds[kind].width;
	type->least = scalar_kinds[kind].least;
	type->any_bits = scalar_kinds[kind].any_bits;
	return type;
}

kiln_type *
kiln_type_wrap(kiln_arena *arena, kiln_kind kind, const kiln_type *element)
{
	kiln_type  *type = type_new(arena, kind);

	if (type == NULL)
		return NULL;
	type->element = element;
	type->depth = (uint8_t) (element->depth + 1);
	type->least = kind == KILN_OPTIONAL ? 1 : 4;
	type->numbers = kind == KILN_LIST && element->kind >= KILN_I8 && element->kind <= KILN_F64;
	return type;
}

/* ---- names in order */

/* The name at a position of a struct or enum. */
static inline const char *
name_at(const kiln_type *type, uint32_t position, size_t *length)
{
	if (type->kind == KILN_ENUM)
	{
		*length = type->labels[position].length;
		return type->labels[position].text;
	}
	*length = type->fields[position].name_length;
	return type->fields[position].name;
}

static int
compare_at(const kiln_type *type, uint32_t a, uint32_t b)
{
	size_t		a_length;
	size_t		b_length;
	const char *a_name = name_at(type, a, &a_length);
	const char *b_name = name_at(type, b, &b_length);

	return kiln_compare_bytes(a_name, a_length, b_name, b_length);
}

/*
 * Merge the sorted runs [from, middle) and [middle, to) of order. Equal names stay in the order of their positions.
 */
static void
merge_runs(const kiln_type *type, uint16_t *order, uint16_t *spare, uint32_t from, uint32_t middle, uint32_t to)
{
	uint32_t	a = from;
	uint32_t	b = middle;
	uint32_t	n = 0;

	if (compare_at(type, order[middle - 1], order[middle]) <= 0)
		return;
	while (a < middle && b < to)
	{
		if (compare_at(type, order[a], order[b]) <= 0)
			spare[n++] = order[a++];
		else
			spare[n++] = order[b++];
	}
	/* what is left of the second run is in its place already */
	memcpy(spare + n, order + a, (middle - a) * sizeof *order);
	memcpy(order + from, spare, (n + middle - a) * sizeof *order);
}

/*
 * Set type->by_name, and *duplicate to the first position whose name an earlier one has too, or to the count.
 */
static bool
sort_names(kiln_arena *arena, kiln_type *type, uint32_t *duplicate)
{
	uint32_t	count = type->count;
	uint16_t   *order = kiln_arena_take(arena, count * sizeof *order);
	uint16_t   *spare = kiln_allocate(arena->allocator, count * sizeof *spare);
	uint32_t	i;
	uint32_t	run;

	if (order == NULL || spare == NULL)
	{
		kiln_release(arena->allocator, spare);
		return false;
	}
	for (i = 0; i < count; i++)
		order[i] = (uint16_t) i;
	for (run = 1; run < count; run *= 2)
	{
		for (i = 0; i + run < count; i += 2 * run)
			merge_runs(type, order, spare, i, i + run, i + 2 * run < count ? i + 2 * run : count);
	}
	kiln_release(arena->allocator, spare);

	*duplicate = count;
	for (i = 1; i < count; i++)
	{
		if (order[i] < *duplicate && compare_at(type, order[i - 1], order[i]) == 0)
			*duplicate = order[i];
	}
	type->by_name = order;
	return true;
}

/* Binary search in by_name. */
static int
find_name(const kiln_type *type, const char *name, size_t length)
{
	uint32_t	low = 0;
	uint32_t	high = type->count;

	while (low < high)
	{
		uint32_t	middle = low + (high - low) / 2;
		uint32_t	position = type->by_name[middle];
		size_t		there_length;
		const char *there = name_at(type, position, &there_length);
		int			order = kiln_compare_bytes(name, length, there, there_length);

		if (order == 0)
			return (int) position;
		if (order < 0)
			high = middle;
		else
			low = middle + 1;
	}
	return -1;
}

int
kiln_struct_find(const kiln_type *type, const char *name, size_t length)
{
	return type->kind == KILN_STRUCT ? find_name(type, name, length) : -1;
}

int
kiln_enum_find(const kiln_type *type, const char *label, size_t length)
{
	return type->kind == KILN_ENUM ? find_name(type, label, length) : -1;
}

/* ---- structs and enums */

/*
 * Write a struct's steps (see internal.h) to steps, which may be NULL; returns how many there are.
 */
static uint32_t
make_steps(const kiln_type *type, kiln_step *steps)
{
	kiln_step	step;
	uint32_t	n = 0;
	uint32_t	i = 0;

	while (i < type->count)
	{
		memset(&step, 0, sizeof step);
		step.first = (uint16_t) i;
		step.kind = type->fields[i].type->kind;
		step.op = kiln_kind_is_span(step.kind) ? KILN_STEP_SPAN : KILN_STEP_OTHER;
		for (; i < type->count && type->fields[i].type->width != 0; i++)
		{
			step.op = KILN_STEP_RUN;
			if (!type->fields[i].type->any_bits)
				step.check = KILN_CHECK_FIELDS;
			step.width += type->fields[i].type->width;
		}
		if (step.op != KILN_STEP_RUN)
			i++;
		step.fields = (uint16_t) (i - step.first);
		if (steps != NULL)
			steps[n] = step;
		n++;
	}
	return n;
}

/* The looks of a run, as they are found. */
typedef struct look_list
{
	bool		bools;			/* bools are looked for, else all others */
	bool		words;			/* the run has eight bytes: bools among the first go into zero */
	uint64_t	zero;
	uint32_t	count;			/* may pass KILN_MAX_LOOKS: then they are too many */
	kiln_look	looks[KILN_MAX_LOOKS];
} look_list;

/* Add what has to be looked at in a fixed-width value at offset. */
static void
find_looks(look_list *list, const kiln_type *type, uint32_t offset)
{
	uint32_t	i;

	if (type->any_bits || list->count > KILN_MAX_LOOKS)
		return;
	if (type->kind == KILN_STRUCT)
	{
		for (i = 0; i < type->count; i++)
		{
			find_looks(list, type->fields[i].type, offset);
			offset += type->fields[i].type->width;
		}
		return;
	}
	if ((type->kind == KILN_BOOL) != list->bools)
		return;
	if (list->bools && list->words && offset < 8)
	{
		list->zero |= UINT64_C(0xfe) << 8 * offset;
		return;
	}
	if (list->count < KILN_MAX_LOOKS)
	{
		list->looks[list->count].offset = offset;
		list->looks[list->count].kind = type->kind;
		list->looks[list->count].labels = type->kind == KILN_ENUM ? (uint16_t) type->count : 0;
	}
	list->count++;
}

static void
find_run_looks(look_list *list, const kiln_type *type, const kiln_step *step, bool bools)
{
	uint32_t	offset = 0;
	uint32_t	i;

	list->bools = bools;
	for (i = step->first; i < (uint32_t) step->first + step->fields; i++)
	{
		find_looks(list, type->fields[i].type, offset);
		offset += type->fields[i].type->width;
	}
}

/* Say in a run's step what of it has to be looked at, unless it is too much. False: out of memory. */
static bool
make_looks(kiln_arena *arena, const kiln_type *type, kiln_step *step)
{
	look_list	list = {.words = step->width >= 8};
	kiln_look  *looks = NULL;
	uint32_t	bools;

	find_run_looks(&list, type, step, true);
	bools = list.count;
	find_run_looks(&list, type, step, false);
	if (list.count > KILN_MAX_LOOKS)
		return true;
	if (list.count != 0)
	{
		looks = kiln_arena_take(arena, list.count * sizeof *looks);
		if (looks == NULL)
			return false;
		memcpy(looks, list.looks, list.count * sizeof *looks);
	}
	step->check = list.count != 0 ? KILN_CHECK_LOOKS : KILN_CHECK_ZERO;
	step->zero = list.zero;
	step->bools = (uint8_t) bools;
	step->look_count = (uint8_t) list.count;
	step->looks = looks;
	return true;
}

kiln_type *
kiln_type_struct(kiln_arena *arena, const char *name, size_t name_length,
				 const kiln_field *fields, uint32_t count, uint32_t *duplicate)
{
	kiln_type  *type = type_new(arena, KILN_STRUCT);
	kiln_step  *steps;
	bool		fixed = true;
	uint32_t	i;

	if (type == NULL)
		return NULL;
	type->name = name;
	type->name_length = (uint32_t) name_length;
	type->fields = fields;
	type->count = count;
	type->any_bits = true;
	for (i = 0; i < count; i++)
	{
		const kiln_type *field = fields[i].type;

		type->least += field->least;
		type->any_bits &= field->any_bits;
		fixed &= field->width != 0;
		if (field->depth > type->depth)
			type->depth = field->depth;
	}
	type->depth++;
	type->width = fixed ? type->least : 0;

	type->step_count = make_steps(type, NULL);
	steps = kiln_arena_take(arena, type->step_count * sizeof *steps);
	if (steps == NULL)
		return NULL;
	make_steps(type, steps);
	for (i = 0; i < type->step_count; i++)
		if (steps[i].check != KILN_CHECK_NONE && !make_looks(arena, type, &steps[i]))
			return NULL;
	type->steps = steps;
	return sort_names(arena, type, duplicate) ? type : NULL;
}

kiln_type *
kiln_type_enum(kiln_arena *arena, const kiln_label *labels, uint32_t count, uint32_t *duplicate)
{
	kiln_type  *type = type_new(arena, KILN_ENUM);

	if (type == NULL)
		return NULL;
	type->labels = labels;
	type->count = count;
	type->width = type->least = 2;
	return sort_names(arena, type, duplicate) ? type : NULL;
}
