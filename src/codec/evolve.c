/*
 * Evolution, the first half: from two types to a conversion (FORMAT 8).
 *
 * Structs are paired by field name; what their names are does not matter. All that does not depend on a value is
 * decided here: removed and added fields, what widens to what, which labels are gone. A struct whose parts come to one
 * copy of all its fields is a copy itself, and so is what holds nothing but copies; so two definitions that differ in
 * a default, a struct's name or one late field cost little more than a memcpy.
 *
 * Memory is an arena that the evolution owns.
 */
#include "evolve_internal.h"

typedef struct compiler
{
	kiln_arena *arena;
	bool		drop_removed;
	kiln_error *error;
} compiler;

static const uint8_t absent_tag[1] = {0};

static const kiln_move *make_move(compiler *c, const kiln_type *from, const kiln_type *to, const kiln_field *field);

/* ------------------------------------------------------------------ errors and memory */

static void *
no_memory(compiler *c)
{
	kiln_fail(c->error, KILN_E_MEMORY, 0, NULL);
	return NULL;
}

/* Room for count objects; count may be 0. */
static void *
take(compiler *c, size_t count, size_t size)
{
	void	   *memory = kiln_arena_take(c->arena, (count != 0 ? count : 1) * size);

	return memory != NULL ? memory : no_memory(c);
}

static size_t
append(char *out, size_t at, size_t room, const char *text, size_t length)
{
	size_t		n = length < room - at ? length : room - at;

	/* a character that is cut is left out */
	while (n < length && n > 0 && ((unsigned char) text[n] & 0xC0) == 0x80)
		n--;
	memcpy(out + at, text, n);
	return at + n;
}

/* "i64 to i32", each type cut to what an error can show. */
static const kiln_move *
no_conversion(compiler *c, const kiln_type *from, const kiln_type *to)
{
	char		detail[KILN_ERROR_DETAIL];
	size_t		at = append(detail, 0, 70, from->text, from->text_length);

	memcpy(detail + at, " to ", 4);
	at = append(detail, at + 4, at + 4 + 70, to->text, to->text_length);
	detail[at] = '\0';
	kiln_fail(c->error, KILN_E_CONVERT, 0, detail);
	return NULL;
}

static kiln_move *
new_move(compiler *c, kiln_move_op op, const kiln_type *from, const kiln_type *to)
{
	kiln_move  *move = take(c, 1, sizeof(kiln_move));

	if (move == NULL)
		return NULL;
	memset(move, 0, sizeof *move);
	move->op = (uint8_t) op;
	move->from = from;
	move->to = to;
	return move;
}

/* ------------------------------------------------------------------ scalars */

static bool
is_signed(uint8_t kind)
{
	return kind >= KILN_I8 && kind <= KILN_I64;
}

static bool
is_unsigned(uint8_t kind)
{
	return kind >= KILN_U8 && kind <= KILN_U64;
}

/* Does a number of that type always fit the other, wider one? */
static bool
widens(const kiln_type *from, const kiln_type *to)
{
	bool		integer = is_signed(from->kind) || is_unsigned(from->kind);

	if (is_signed(to->kind))
		return integer && from->width < to->width;
	if (is_unsigned(to->kind))
		return is_unsigned(from->kind) && from->width < to->width;
	if (to->kind == KILN_F64)
		return (integer && from->width <= 4) || from->kind == KILN_F32;
	return to->kind == KILN_F32 && integer && from->width <= 2;
}

/* Labels of the old enum in the new. If each keeps its position, as when labels are added at the end, it is a copy. */
static const kiln_move *
make_enum(compiler *c, const kiln_type *from, const kiln_type *to)
{
	kiln_move  *move = new_move(c, KILN_MOVE_ENUM, from, to);
	int32_t    *labels = move != NULL ? take(c, from->count, sizeof(int32_t)) : NULL;
	bool		same = true;

	if (labels == NULL)
		return NULL;
	for (uint32_t i = 0; i < from->count; i++)
	{
		labels[i] = kiln_enum_find(to, from->labels[i].text, from->labels[i].length);
		same = same && labels[i] == (int32_t) i;
	}
	move->labels = labels;
	if (same)
		move->op = KILN_MOVE_COPY;
	return move;
}

static const kiln_move *
make_scalar(compiler *c, const kiln_type *from, const kiln_type *to)
{
	if (from->kind == KILN_ENUM && to->kind == KILN_ENUM)
		return make_enum(c, from, to);
	if (from->kind == to->kind)
		return new_move(c, KILN_MOVE_COPY, from, to);
	if (to->kind == KILN_NUMERIC && (is_signed(from->kind) || is_unsigned(from->kind)))
		return new_move(c, KILN_MOVE_DIGITS, from, to);
	if (widens(from, to))
		return new_move(c, KILN_MOVE_NUMBER, from, to);
	return no_conversion(c, from, to);
}

/* ------------------------------------------------------------------ structs */

/* Are the old fields that the new struct keeps in its order? */
static bool
in_order(const kiln_type *from, const kiln_type *to)
{
	int			last = -1;

	for (uint32_t i = 0; i < to->count; i++)
	{
		int			old = kiln_struct_find(from, to->fields[i].name, to->fields[i].name_length);

		if (old < 0)
			continue;
		if (old < last)
			return false;
		last = old;
	}
	return true;
}

/* A field that the new struct has not. */
static bool
check_removed(compiler *c, const kiln_type *from, const kiln_type *to)
{
	if (c->drop_removed)
		return true;
	for (uint32_t i = 0; i < from->count; i++)
	{
		const kiln_field *field = &from->fields[i];

		if (kiln_struct_find(to, field->name, field->name_length) < 0)
		{
			kiln_fail(c->error, KILN_E_REMOVED, 0, NULL);
			kiln_error_prepend_name(c->error, field->name, field->name_length);
			return false;
		}
	}
	return true;
}

/* A field that the old struct has not: what stands for it. */
static bool
added_part(compiler *c, const kiln_field *field, kiln_part *part)
{
	memset(part, 0, sizeof *part);
	part->op = KILN_PART_BYTES;
	part->bytes = field->default_payload;
	part->length = field->default_length;
	if (part->bytes == NULL && field->type->kind == KILN_OPTIONAL)
	{
		part->bytes = absent_tag;
		part->length = 1;
	}
	if (part->bytes != NULL)
		return true;
	kiln_fail(c->error, KILN_E_MISSING, 0, NULL);
	kiln_error_prepend_name(c->error, field->name, field->name_length);
	return false;
}

/* A field of both. */
static bool
kept_part(compiler *c, const kiln_type *from, int old, const kiln_field *field, kiln_part *part)
{
	memset(part, 0, sizeof *part);
	part->first = (uint16_t) old;
	part->fields = 1;
	part->field = field;
	part->move = make_move(c, from->fields[old].type, field->type, field);
	if (part->move == NULL)
	{
		kiln_error_prepend_name(c->error, field->name, field->name_length);
		return false;
	}
	part->op = part->move->op == KILN_MOVE_COPY ? KILN_PART_COPY : KILN_PART_MOVE;
	return true;
}

/* Old fields first … end - 1 dropped. */
static kiln_part
skip_part(int first, int end)
{
	kiln_part	part = {0};

	part.op = KILN_PART_SKIP;
	part.first = (uint16_t) first;
	part.fields = (uint16_t) (end - first);
	return part;
}

/* The parts of a struct, neighbouring copies joined. parts has room for two a field and one more. */
static bool
fill_parts(compiler *c, const kiln_move *move, kiln_part *parts, uint32_t *count)
{
	const kiln_type *from = move->from;
	const kiln_type *to = move->to;
	uint32_t	n = 0;
	int			next = 0;		/* the old field that the source stands at, if it is ordered */

	for (uint32_t i = 0; i < to->count; i++)
	{
		const kiln_field *field = &to->fields[i];
		int			old = kiln_struct_find(from, field->name, field->name_length);

		if (old < 0)
		{
			if (!added_part(c, field, &parts[n++]))
				return false;
			continue;
		}
		if (move->ordered && old > next)
			parts[n++] = skip_part(next, old);
		if (!kept_part(c, from, old, field, &parts[n]))
			return false;
		next = old + 1;
		if (n > 0 && parts[n].op == KILN_PART_COPY && parts[n - 1].op == KILN_PART_COPY &&
			parts[n - 1].first + parts[n - 1].fields == old)
			parts[n - 1].fields++;
		else
			n++;
	}
	if (move->ordered && (uint32_t) next < from->count)
		parts[n++] = skip_part(next, (int) from->count);
	*count = n;
	return true;
}

static const kiln_move *
make_struct(compiler *c, const kiln_type *from, const kiln_type *to)
{
	kiln_move  *move = new_move(c, KILN_MOVE_STRUCT, from, to);
	kiln_part  *parts = move != NULL ? take(c, 2 * (size_t) to->count + 1, sizeof(kiln_part)) : NULL;

	if (parts == NULL || !check_removed(c, from, to))
		return NULL;
	move->ordered = in_order(from, to);
	if (!fill_parts(c, move, parts, &move->part_count))
		return NULL;
	move->parts = parts;
	if (move->part_count == 1 && parts[0].op == KILN_PART_COPY && parts[0].fields == from->count)
		move->op = KILN_MOVE_COPY;
	else if (!move->ordered && (move->places = take(c, (size_t) from->count + 1, sizeof(size_t))) == NULL)
		return NULL;
	return move;
}

/* ------------------------------------------------------------------ any type */

/* A move around that of the element: a copy if that is one. */
static const kiln_move *
make_around(compiler *c, kiln_move_op op, const kiln_type *from, const kiln_type *to)
{
	kiln_move  *move = new_move(c, op, from, to);

	if (move == NULL)
		return NULL;
	move->child = make_move(c, from->element, to->element, NULL);
	if (move->child == NULL)
		return NULL;
	if (move->child->op == KILN_MOVE_COPY)
		move->op = KILN_MOVE_COPY;
	return move;
}

/* A move where only one side is optional. field: the new one, where the value is a field's. */
static const kiln_move *
make_half_optional(compiler *c, const kiln_type *from, const kiln_type *to, const kiln_field *field)
{
	bool		present = to->kind == KILN_OPTIONAL;
	kiln_move  *move = new_move(c, present ? KILN_MOVE_PRESENT : KILN_MOVE_REQUIRED, from, to);

	if (move == NULL)
		return NULL;
	if (!present && field != NULL && field->default_payload != NULL)
		move->field = field;
	move->child = present ? make_move(c, from, to->element, NULL) : make_move(c, from->element, to, NULL);
	return move->child != NULL ? move : NULL;
}

/* The move from a value of one type to one of the other; NULL: the error is set. */
static const kiln_move *
make_move(compiler *c, const kiln_type *from, const kiln_type *to, const kiln_field *field)
{
	if (from->text_length == to->text_length && memcmp(from->text, to->text, from->text_length) == 0)
		return new_move(c, KILN_MOVE_COPY, from, to);
	if ((from->kind == KILN_OPTIONAL) != (to->kind == KILN_OPTIONAL))
		return make_half_optional(c, from, to, field);
	if (from->kind < KILN_OPTIONAL && to->kind < KILN_OPTIONAL)
		return make_scalar(c, from, to);
	if (from->kind != to->kind)
		return no_conversion(c, from, to);
	switch (from->kind)
	{
		case KILN_OPTIONAL:
			return make_around(c, KILN_MOVE_OPTIONAL, from, to);
		case KILN_LIST:
			return make_around(c, KILN_MOVE_LIST, from, to);
		case KILN_DICT:
			return make_around(c, KILN_MOVE_DICT, from, to);
		default:
			return make_struct(c, from, to);
	}
}

bool
kiln_evolution_compile(const kiln_type *from, const kiln_type *to, bool drop_removed,
					   const kiln_allocator *allocator, kiln_evolution **evolution, kiln_error *error)
{
	kiln_evolution *made = kiln_allocate(allocator, sizeof(kiln_evolution));
	compiler	c;

	*evolution = NULL;
	if (made == NULL)
		return kiln_fail(error, KILN_E_MEMORY, 0, NULL);
	memset(made, 0, sizeof *made);
	if (allocator != NULL)
		made->allocator = *allocator;
	made->arena.allocator = &made->allocator;
	c.arena = &made->arena;
	c.drop_removed = drop_removed;
	c.error = error;
	made->root = make_move(&c, from, to, NULL);
	if (made->root == NULL)
	{
		kiln_evolution_free(made);
		return false;
	}
	*evolution = made;
	return true;
}

void
kiln_evolution_free(kiln_evolution *evolution)
{
	kiln_allocator allocator;

	if (evolution == NULL)
		return;
	allocator = evolution->allocator;
	kiln_arena_release(&evolution->arena);
	kiln_release(&allocator, evolution);
}
