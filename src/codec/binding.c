/*
 * Bindings: payloads straight from C structs.
 *
 * kiln_binding_compile() turns a struct type and the offsets of its fields in a C struct into a program of moves:
 * copy n bytes from offset x, or write the slice at offset x behind its length word. Fields that stand side by side
 * in the C struct as they do in the payload are one move. kiln_binding_encode() then adds up the lengths of the
 * slices, reserves once and runs the moves through a bare pointer; it makes no decision that depends on the
 * definition. kiln_binding_encode_list() does the same for an array of structs.
 *
 * Moves read exactly the fields' own bytes, never the padding beside them. On machines of the other byte order runs
 * are not fused and numbers are swapped one by one.
 */
#include "internal.h"

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#define NATIVE_LITTLE	0
#else
#define NATIVE_LITTLE	1
#endif

typedef enum move_op
{
	MOVE_1, MOVE_2, MOVE_4, MOVE_8, MOVE_16,	/* a number, or a run of just that many bytes */
	MOVE_UP_TO_8,				/* 5 … 7 bytes */
	MOVE_UP_TO_16,				/* 9 … 15 bytes */
	MOVE_UP_TO_32,				/* 17 … 32 bytes */
	MOVE_MORE,					/* any number */
	MOVE_SPAN					/* a kiln_slice */
} move_op;

typedef struct move
{
	uint32_t	op;				/* move_op */
	uint32_t	length;			/* bytes, but for MOVE_SPAN */
	size_t		from;			/* offset in the C struct */
} move;

/* A field that is looked at before anything is written. */
typedef struct look
{
	uint32_t	index;			/* of the field */
	uint8_t		kind;
	size_t		from;
} look;

struct kiln_binding
{
	const kiln_type *type;
	kiln_allocator allocator;
	bool		from_allocator;	/* else from malloc */
	uint64_t	fixed;			/* bytes of all fields but the slices' content */
	move	   *moves;
	size_t	   *spans;			/* offsets of the slices in the C struct */
	look	   *texts;			/* strings */
	look	   *times;			/* dates and timestamps */
	uint32_t	move_count;
	uint32_t	span_count;
	uint32_t	text_count;
	uint32_t	time_count;
};

/* ------------------------------------------------------------------ compile */

/* Fail at a field. */
static bool
field_fail(kiln_error *error, kiln_code code, const char *name, size_t length, const char *detail)
{
	kiln_fail(error, code, 0, detail);
	kiln_error_prepend_name(error, name, length);
	return false;
}

/* Can a C struct hold a field of that type? */
static bool
can_bind(const kiln_type *type)
{
	switch (type->kind)
	{
		case KILN_NUMERIC:
		case KILN_JSON:
		case KILN_ENUM:
		case KILN_OPTIONAL:
		case KILN_LIST:
		case KILN_DICT:
		case KILN_STRUCT:
			return false;
		default:
			return true;
	}
}

/* Where each field of the type is in the C struct: offsets[] by position in the type. */
static bool
place_members(const kiln_type *type, const kiln_member *members, size_t member_count,
			  size_t *offsets, kiln_error *error)
{
	size_t		i;
	uint32_t	f;

	for (f = 0; f < type->count; f++)
		offsets[f] = SIZE_MAX;
	for (i = 0; i < member_count; i++)
	{
		const char *name = members[i].field;
		size_t		length = strlen(name);
		int			at = kiln_struct_find(type, name, length);

		if (at < 0)
			return field_fail(error, KILN_E_PATH_FIELD, name, length, NULL);
		if (offsets[at] != SIZE_MAX)
			return field_fail(error, KILN_E_TYPE, name, length, "the field is bound twice");
		if (!can_bind(type->fields[at].type))
			return field_fail(error, KILN_E_TYPE, name, length, "a C struct can't be bound to a field of this type");
		offsets[at] = members[i].offset;
	}
	for (f = 0; f < type->count; f++)
	{
		if (offsets[f] == SIZE_MAX)
			return field_fail(error, KILN_E_MISSING, type->fields[f].name, type->fields[f].name_length, NULL);
	}
	return true;
}

/* The op for a run of that many bytes. */
static uint32_t
move_of_length(uint32_t length)
{
	switch (length)
	{
		case 1:
			return MOVE_1;
		case 2:
			return MOVE_2;
		case 4:
			return MOVE_4;
		case 8:
			return MOVE_8;
		case 16:
			return MOVE_16;
		default:
			if (length > 32 || length < 5)
				return MOVE_MORE;
			if (length > 16)
				return MOVE_UP_TO_32;
			return length < 8 ? MOVE_UP_TO_8 : MOVE_UP_TO_16;
	}
}

/* Append a fixed-width field to the program, to the run before it if it stands behind that in memory too. */
static void
add_fixed(kiln_binding *binding, const kiln_type *type, size_t from)
{
	move	   *last = binding->move_count > 0 ? &binding->moves[binding->move_count - 1] : NULL;

	binding->fixed += type->width;
	if (NATIVE_LITTLE && last != NULL && last->op != MOVE_SPAN && last->from + last->length == from)
	{
		last->length += type->width;
		last->op = move_of_length(last->length);
		return;
	}
	last = &binding->moves[binding->move_count++];
	last->op = type->kind == KILN_UUID ? (uint32_t) MOVE_16 : move_of_length(type->width);
	last->length = type->width;
	last->from = from;
}

static void
add_span(kiln_binding *binding, size_t from)
{
	move	   *last = &binding->moves[binding->move_count++];

	binding->fixed += 4;
	binding->spans[binding->span_count++] = from;
	last->op = MOVE_SPAN;
	last->length = 0;
	last->from = from;
}

static void
add_look(look *looks, uint32_t *count, uint32_t index, uint8_t kind, size_t from)
{
	look	   *one = &looks[(*count)++];

	one->index = index;
	one->kind = kind;
	one->from = from;
}

/* The program for a type whose fields are at offsets[]. */
static void
write_program(kiln_binding *binding, const size_t *offsets)
{
	uint32_t	f;

	for (f = 0; f < binding->type->count; f++)
	{
		const kiln_type *type = binding->type->fields[f].type;

		if (kiln_kind_is_span(type->kind))
			add_span(binding, offsets[f]);
		else
			add_fixed(binding, type, offsets[f]);
		if (type->kind == KILN_STRING)
			add_look(binding->texts, &binding->text_count, f, type->kind, offsets[f]);
		else if (type->kind == KILN_DATE || type->kind == KILN_TIMESTAMP || type->kind == KILN_TIMESTAMPTZ)
			add_look(binding->times, &binding->time_count, f, type->kind, offsets[f]);
	}
}

/*
 * One allocation holds the binding and its arrays, each as long as the type has fields; offsets[] stand in the last
 * of them while compiling.
 */
bool
kiln_binding_compile(const kiln_type *type, const kiln_member *members, size_t member_count,
					 const kiln_allocator *allocator, kiln_binding **binding, kiln_error *error)
{
	size_t		fields = type->count;
	kiln_binding *made;
	size_t	   *offsets;

	if (type->kind != KILN_STRUCT)
		return kiln_fail(error, KILN_E_TYPE, 0, "only a struct type can be bound to a C struct");
	made = kiln_allocate(allocator, sizeof *made +
						 fields * (sizeof(move) + 2 * sizeof(look) + 2 * sizeof(size_t)));
	if (made == NULL)
		return kiln_fail(error, KILN_E_MEMORY, 0, NULL);
	memset(made, 0, sizeof *made);
	made->type = type;
	made->from_allocator = allocator != NULL;
	if (allocator != NULL)
		made->allocator = *allocator;
	made->moves = (move *) (made + 1);
	made->texts = (look *) (made->moves + fields);
	made->times = made->texts + fields;
	made->spans = (size_t *) (made->times + fields);
	offsets = made->spans + fields;
	if (!place_members(type, members, member_count, offsets, error))
	{
		kiln_release(allocator, made);
		return false;
	}
	write_program(made, offsets);
	*binding = made;
	return true;
}

void
kiln_binding_free(kiln_binding *binding)
{
	kiln_allocator allocator;

	if (binding == NULL)
		return;
	allocator = binding->allocator;
	kiln_release(binding->from_allocator ? &allocator : NULL, binding);
}

/* ------------------------------------------------------------------ checks */

static inline kiln_slice
slice_at(const char *object, size_t from)
{
	kiln_slice	slice;

	memcpy(&slice, object + from, sizeof slice);
	return slice;
}

static bool
check_texts(const kiln_binding *binding, const char *object, kiln_error *error)
{
	uint32_t	i;

	for (i = 0; i < binding->text_count; i++)
	{
		const look *text = &binding->texts[i];
		kiln_slice	slice = slice_at(object, text->from);
		const kiln_field *field = &binding->type->fields[text->index];
		bool		nul;

		if (slice.length <= 32 && kiln_ascii(slice.data, slice.length))
			continue;
		if (kiln_utf8_prefix(slice.data, slice.length, &nul) < slice.length)
			return field_fail(error, nul ? KILN_E_NUL : KILN_E_UTF8, field->name, field->name_length, NULL);
	}
	return true;
}

static bool
check_times(const kiln_binding *binding, const char *object, kiln_error *error)
{
	uint32_t	i;

	for (i = 0; i < binding->time_count; i++)
	{
		const look *time = &binding->times[i];
		const kiln_field *field = &binding->type->fields[time->index];
		int32_t		days;
		int64_t		microseconds;

		if (time->kind == KILN_DATE)
		{
			memcpy(&days, object + time->from, sizeof days);
			if (!kiln_date_valid(days))
				return field_fail(error, KILN_E_DATE, field->name, field->name_length, NULL);
		}
		else
		{
			memcpy(&microseconds, object + time->from, sizeof microseconds);
			if (!kiln_timestamp_valid(microseconds))
				return field_fail(error, KILN_E_TIMESTAMP, field->name, field->name_length, NULL);
		}
	}
	return true;
}

/* ------------------------------------------------------------------ moves */

/* 4 … 7 and 8 … 16 bytes, as two moves that may overlap: neither reads nor writes outside the n bytes. */
static inline void
copy_up_to_8(uint8_t *to, const char *from, size_t n)
{
	uint32_t	head;
	uint32_t	tail;

	memcpy(&head, from, 4);
	memcpy(&tail, from + n - 4, 4);
	memcpy(to, &head, 4);
	memcpy(to + n - 4, &tail, 4);
}

static inline void
copy_up_to_16(uint8_t *to, const char *from, size_t n)
{
	uint64_t	head;
	uint64_t	tail;

	memcpy(&head, from, 8);
	memcpy(&tail, from + n - 8, 8);
	memcpy(to, &head, 8);
	memcpy(to + n - 8, &tail, 8);
}

/* 17 … 32 bytes, likewise. */
static inline void
copy_up_to_32(uint8_t *to, const char *from, size_t n)
{
	uint64_t	head[2];
	uint64_t	tail[2];

	memcpy(head, from, 16);
	memcpy(tail, from + n - 16, 16);
	memcpy(to, head, 16);
	memcpy(to + n - 16, tail, 16);
}

/* A number of the machine's byte order, stored in the payload's. */
static inline void
move_2(uint8_t *to, const char *from)
{
	uint16_t	v;

	memcpy(&v, from, sizeof v);
	kiln_store_u16(to, v);
}

static inline void
move_4(uint8_t *to, const char *from)
{
	uint32_t	v;

	memcpy(&v, from, sizeof v);
	kiln_store_u32(to, v);
}

static inline void
move_8(uint8_t *to, const char *from)
{
	uint64_t	v;

	memcpy(&v, from, sizeof v);
	kiln_store_u64(to, v);
}

/* Run the program over one C struct; returns the byte after its payload. */
static inline uint8_t *
run_moves(const kiln_binding *binding, const char *object, uint8_t *p)
{
	const move *one = binding->moves;
	const move *end = one + binding->move_count;

	for (; one < end; one++)
	{
		const char *from = object + one->from;
		kiln_slice	slice;

		switch (one->op)
		{
			case MOVE_1:
				*p = (uint8_t) *from;
				p += 1;
				break;
			case MOVE_2:
				move_2(p, from);
				p += 2;
				break;
			case MOVE_4:
				move_4(p, from);
				p += 4;
				break;
			case MOVE_8:
				move_8(p, from);
				p += 8;
				break;
			case MOVE_16:
				memcpy(p, from, 16);
				p += 16;
				break;
			case MOVE_UP_TO_8:
				copy_up_to_8(p, from, one->length);
				p += one->length;
				break;
			case MOVE_UP_TO_16:
				copy_up_to_16(p, from, one->length);
				p += one->length;
				break;
			case MOVE_UP_TO_32:
				copy_up_to_32(p, from, one->length);
				p += one->length;
				break;
			case MOVE_MORE:
				memcpy(p, from, one->length);
				p += one->length;
				break;
			default:
				slice = slice_at(object, one->from);
				kiln_store_u32(p, slice.length);
				kiln_copy_short(p + 4, slice.data, slice.length);
				p += 4 + (size_t) slice.length;
				break;
		}
	}
	return p;
}

/* Bytes of one C struct's payload. */
static inline uint64_t
payload_size(const kiln_binding *binding, const char *object)
{
	const size_t *span = binding->spans;
	const size_t *end = span + binding->span_count;
	uint64_t	size = binding->fixed;

	for (; span < end; span++)
		size += slice_at(object, *span).length;
	return size;
}

static inline bool
check_object(const kiln_binding *binding, const char *object, bool texts, kiln_error *error)
{
	if (texts && !check_texts(binding, object, error))
		return false;
	return binding->time_count == 0 || check_times(binding, object, error);
}

static inline bool
make_room(kiln_writer *writer, uint64_t size, kiln_error *error)
{
	if (size <= (size_t) (writer->end - writer->pos) && kiln_writer_length(writer) + size <= writer->limit)
		return true;
	return kiln_writer_room(writer, size, error);
}

bool
kiln_binding_encode(const kiln_binding *binding, const void *object, bool check, kiln_writer *writer, kiln_error *error)
{
	uint64_t	size = payload_size(binding, object);

	if (!check_object(binding, object, check, error) || !make_room(writer, size, error))
		return false;
	writer->pos = run_moves(binding, object, writer->pos);
	return true;
}

/* ------------------------------------------------------------------ lists */

/* Structs that are one move of 17 to 32 bytes each: a loop without a program. */
static uint8_t *
run_one_move(const move *one, const char *objects, uint32_t count, size_t stride, uint8_t *p)
{
	const char *from = objects + one->from;

	for (; count > 0; count--, from += stride, p += one->length)
		copy_up_to_32(p, from, one->length);
	return p;
}

static bool
check_objects(const kiln_binding *binding, const char *objects, uint32_t count, size_t stride, bool texts,
			  kiln_error *error)
{
	uint32_t	i;

	if (!(texts && binding->text_count != 0) && binding->time_count == 0)
		return true;
	for (i = 0; i < count; i++)
	{
		if (!check_object(binding, objects + i * stride, texts, error))
		{
			kiln_error_prepend_index(error, i);
			return false;
		}
	}
	return true;
}

bool
kiln_binding_encode_list(const kiln_binding *binding, const void *objects, uint32_t count, size_t stride, bool check,
						 kiln_writer *writer, kiln_error *error)
{
	const char *first = (const char *) objects;
	uint64_t	size = 4 + (uint64_t) count * binding->fixed;
	uint32_t	i;
	uint8_t    *p;

	if (binding->span_count != 0)
	{
		size = 4;
		for (i = 0; i < count; i++)
			size += payload_size(binding, first + i * stride);
	}
	if (!check_objects(binding, first, count, stride, check, error) || !make_room(writer, size, error))
		return false;
	p = kiln_put_u32(writer->pos, count);
	if (count != 0 && binding->move_count == 1 && binding->moves[0].op == MOVE_UP_TO_32)
		p = run_one_move(binding->moves, first, count, stride, p);
	else
		for (i = 0; i < count; i++)
			p = run_moves(binding, first + i * stride, p);
	writer->pos = p;
	return true;
}
