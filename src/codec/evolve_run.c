/*
 * Evolution, the second half: a conversion carried out over one payload.
 *
 * The source is read held (docs/DESIGN.md, section 1): it passed validation once, but perhaps for another definition
 * than it is read under now. A place beyond the end yields the last bytes again or zeros, counts are cut to what can be
 * there, and lists and dicts end where the bytes do, so that the work is bounded by the payload's length. What is
 * written has the new type's widths in any case.
 */
#include "evolve_internal.h"

#define POLL_EVERY	1024		/* elements between two calls of poll */

typedef struct mover
{
	kiln_held	held;
	size_t		pos;			/* in the source; at most n */
	kiln_writer *writer;
	kiln_error *error;
} mover;

static bool run_move(mover *m, const kiln_move *move);

/* ------------------------------------------------------------------ bytes */

static inline bool
make_room(mover *m, uint64_t n)
{
	return kiln_writer_room(m->writer, n, m->error);
}

static inline size_t
advance(const mover *m, size_t width)
{
	return width < m->held.n - m->pos ? m->pos + width : m->held.n;
}

/* Copy the source from where it stands to end; what a fixed width lacks there is zero. */
static bool
copy_to(mover *m, size_t end, size_t width)
{
	size_t		have = end - m->pos;
	size_t		want = width > have ? width : have;

	if (!make_room(m, want))
		return false;
	kiln_writer_bytes(m->writer, m->held.data + m->pos, have);
	memset(m->writer->pos, 0, want - have);
	m->writer->pos += want - have;
	m->pos = end;
	return true;
}

static bool
copy_value(mover *m, const kiln_type *type)
{
	if (type->width != 0)
		return copy_to(m, advance(m, type->width), type->width);
	return copy_to(m, kiln_held_skip(&m->held, type, m->pos), type->least);
}

static bool
put_bytes(mover *m, const uint8_t *bytes, uint32_t length)
{
	if (!make_room(m, length))
		return false;
	kiln_writer_bytes(m->writer, bytes, length);
	return true;
}

static bool
put_tag(mover *m, uint8_t tag)
{
	return put_bytes(m, &tag, 1);
}

static inline void
poll_at(const mover *m, uint32_t position)
{
	if (position % POLL_EVERY == POLL_EVERY - 1 && m->held.poll != NULL)
		m->held.poll();
}

/* ------------------------------------------------------------------ numbers and enums */

/* The bits of an f32 as an f64. A NaN keeps its sign and bits and becomes quiet, which the machine might not do. */
static uint64_t
widen_f32(uint32_t bits)
{
	uint64_t	wide;
	float		narrow;
	double		value;

	if ((bits & 0x7fffffff) > 0x7f800000)
		return (uint64_t) (bits >> 31) << 63 | UINT64_C(0x7ff8000000000000) | (uint64_t) (bits & 0x7fffff) << 29;
	memcpy(&narrow, &bits, sizeof narrow);
	value = narrow;
	memcpy(&wide, &value, sizeof wide);
	return wide;
}

/* Store the number at p as the wider type; returns the byte after it. */
static inline uint8_t *
store_wider(uint8_t *out, const kiln_type *to, const kiln_type *from, const uint8_t *p)
{
	bool		is_unsigned = from->kind >= KILN_U8 && from->kind <= KILN_U64;
	uint64_t	bits;

	if (from->kind == KILN_F32)
	{
		kiln_store_u64(out, widen_f32(kiln_load_u32(p)));
		return out + 8;
	}
	bits = is_unsigned ? kiln_view_unsigned(from, p) : (uint64_t) kiln_view_signed(from, p);
	switch (to->kind)
	{
		case KILN_F32:
			kiln_store_f32(out, (float) (int64_t) bits);	/* of at most 16 bits, so exact */
			return out + 4;
		case KILN_F64:
			kiln_store_f64(out, (double) (int64_t) bits);	/* of at most 32 bits */
			return out + 8;
		default:
			if (to->width == 2)
				kiln_store_u16(out, (uint16_t) bits);
			else if (to->width == 4)
				kiln_store_u32(out, (uint32_t) bits);
			else
				kiln_store_u64(out, bits);
			return out + to->width;
	}
}

static inline const uint8_t *
held_scalar(mover *m, uint32_t width)
{
	const uint8_t *p = m->held.data + kiln_held_at(&m->held, m->pos, width);

	m->pos = advance(m, width);
	return p;
}

static bool
run_number(mover *m, const kiln_move *move)
{
	if (!make_room(m, move->to->width))
		return false;
	m->writer->pos = store_wider(m->writer->pos, move->to, move->from, held_scalar(m, move->from->width));
	return true;
}

/* An integer in decimal: numeric's spelling, written from its end. */
static bool
run_digits(mover *m, const kiln_move *move)
{
	bool		is_unsigned = move->from->kind >= KILN_U8 && move->from->kind <= KILN_U64;
	const uint8_t *p = held_scalar(m, move->from->width);
	uint64_t	magnitude = is_unsigned ? kiln_view_unsigned(move->from, p) : (uint64_t) kiln_view_signed(move->from, p);
	bool		negative = !is_unsigned && (int64_t) magnitude < 0;
	uint32_t	length = negative ? 2 : 1;
	uint8_t    *out;

	if (negative)
		magnitude = 0 - magnitude;
	for (uint64_t rest = magnitude; rest >= 10; rest /= 10)
		length++;
	if (!make_room(m, 4 + (uint64_t) length))
		return false;
	kiln_writer_u32(m->writer, length);
	out = m->writer->pos + length;
	m->writer->pos = out;
	do
	{
		*--out = (uint8_t) ('0' + magnitude % 10);
		magnitude /= 10;
	} while (magnitude != 0);
	if (negative)
		*--out = '-';
	return true;
}

static bool
run_enum(mover *m, const kiln_move *move)
{
	uint32_t	position = kiln_load_u16(held_scalar(m, 2));
	int32_t		found;

	if (position >= move->from->count)
		position = move->from->count - 1;
	found = move->labels[position];
	if (found < 0)
		return kiln_fail(m->error, KILN_E_LABEL, 0, move->from->labels[position].text);
	if (!make_room(m, 2))
		return false;
	kiln_writer_u16(m->writer, (uint16_t) found);
	return true;
}

/* ------------------------------------------------------------------ optionals */

static bool
take_tag(mover *m)
{
	return *held_scalar(m, 1) != 0;
}

static bool
run_optional(mover *m, const kiln_move *move)
{
	if (!take_tag(m))
		return put_tag(m, 0);
	return put_tag(m, 1) && run_move(m, move->child);
}

/* A value that is there becomes an optional one; but a JSON null is what an optional json has as absent. */
static bool
run_present(mover *m, const kiln_move *move)
{
	if (move->from->kind == KILN_JSON)
	{
		uint32_t	length;
		const uint8_t *text = kiln_held_span(&m->held, m->pos, &length);

		if (length == 4 && memcmp(text, "null", 4) == 0)
		{
			m->pos = kiln_held_skip(&m->held, move->from, m->pos);
			return put_tag(m, 0);
		}
	}
	return put_tag(m, 1) && run_move(m, move->child);
}

static bool
run_required(mover *m, const kiln_move *move)
{
	if (take_tag(m))
		return run_move(m, move->child);
	if (move->field == NULL)
		return kiln_fail(m->error, KILN_E_NULL, 0, NULL);
	return put_bytes(m, move->field->default_payload, move->field->default_length);
}

/* ------------------------------------------------------------------ lists and dicts */

/* The count of a list or dict, and the source behind it. */
static uint32_t
take_count(mover *m, uint32_t least)
{
	uint32_t	count = kiln_held_count(&m->held, m->pos, least);

	m->pos = kiln_held_at(&m->held, m->pos, 4) + 4;
	return count;
}

/* Numbers to wider numbers: one reserve, one loop. All of them are inside, since the count is held. */
static bool
run_numbers(mover *m, const kiln_move *move, uint32_t count)
{
	const kiln_type *from = move->from->element;
	const kiln_type *to = move->to->element;
	const uint8_t *p = m->held.data + m->pos;

	if (!make_room(m, (uint64_t) count * to->width))
		return false;
	for (uint32_t i = 0; i < count; i++, p += from->width)
	{
		m->writer->pos = store_wider(m->writer->pos, to, from, p);
		poll_at(m, i);
	}
	m->pos += (size_t) count * from->width;
	return true;
}

static bool
run_list(mover *m, const kiln_move *move)
{
	uint32_t	count = take_count(m, move->from->element->least);
	size_t		mark = kiln_writer_length(m->writer);
	uint32_t	i = 0;

	if (!make_room(m, 4))
		return false;
	kiln_writer_u32(m->writer, count);
	if (move->child->op == KILN_MOVE_NUMBER)
		return run_numbers(m, move, count);
	for (; i < count && m->pos < m->held.n; i++)
	{
		if (!run_move(m, move->child))
		{
			kiln_error_prepend_index(m->error, i);
			return false;
		}
		poll_at(m, i);
	}
	kiln_store_u32(m->writer->start + mark, i);
	return true;
}

static bool
run_dict(mover *m, const kiln_move *move)
{
	uint32_t	count = take_count(m, 4 + move->from->element->least);
	size_t		mark = kiln_writer_length(m->writer);
	uint32_t	i = 0;

	if (!make_room(m, 4))
		return false;
	kiln_writer_u32(m->writer, count);
	for (; i < count && m->pos < m->held.n; i++)
	{
		uint32_t	length;
		const uint8_t *key = kiln_held_span(&m->held, m->pos, &length);

		m->pos = (size_t) (key - m->held.data) + length;
		if (!make_room(m, 4 + (uint64_t) length))
			return false;
		kiln_writer_span(m->writer, key, length);
		if (!run_move(m, move->child))
		{
			kiln_error_prepend_name(m->error, (const char *) key, length);
			return false;
		}
		poll_at(m, i);
	}
	kiln_store_u32(m->writer->start + mark, i);
	return true;
}

/* ------------------------------------------------------------------ structs */

/* Pass old fields first … first + fields - 1: the position after them. */
static size_t
skip_fields(const mover *m, const kiln_type *type, uint32_t first, uint32_t fields, size_t *width)
{
	size_t		pos = m->pos;

	*width = 0;
	for (uint32_t i = first; i < first + fields; i++)
	{
		*width += type->fields[i].type->least;
		pos = kiln_held_skip(&m->held, type->fields[i].type, pos);
	}
	return pos;
}

/* Where the old fields start, and the struct's end. */
static void
find_places(const mover *m, const kiln_move *move)
{
	size_t		pos = m->pos;

	for (uint32_t i = 0; i < move->from->count; i++)
	{
		move->places[i] = pos;
		pos = kiln_held_skip(&m->held, move->from->fields[i].type, pos);
	}
	move->places[move->from->count] = pos;
}

static bool
run_part(mover *m, const kiln_move *move, const kiln_part *part)
{
	size_t		end;
	size_t		width;

	switch (part->op)
	{
		case KILN_PART_COPY:
			end = skip_fields(m, move->from, part->first, part->fields, &width);
			return copy_to(m, end, width);
		case KILN_PART_SKIP:
			m->pos = skip_fields(m, move->from, part->first, part->fields, &width);
			return true;
		case KILN_PART_BYTES:
			return put_bytes(m, part->bytes, part->length);
		default:
			if (run_move(m, part->move))
				return true;
			kiln_error_prepend_name(m->error, part->field->name, part->field->name_length);
			return false;
	}
}

static bool
run_struct(mover *m, const kiln_move *move)
{
	if (!move->ordered)
		find_places(m, move);
	for (uint32_t i = 0; i < move->part_count; i++)
	{
		if (!move->ordered && move->parts[i].op != KILN_PART_BYTES)
			m->pos = move->places[move->parts[i].first];
		if (!run_part(m, move, &move->parts[i]))
			return false;
	}
	if (!move->ordered)
		m->pos = move->places[move->from->count];
	return true;
}

/* ------------------------------------------------------------------ any value */

static bool
run_move(mover *m, const kiln_move *move)
{
	switch (move->op)
	{
		case KILN_MOVE_COPY:
			return copy_value(m, move->from);
		case KILN_MOVE_NUMBER:
			return run_number(m, move);
		case KILN_MOVE_DIGITS:
			return run_digits(m, move);
		case KILN_MOVE_ENUM:
			return run_enum(m, move);
		case KILN_MOVE_OPTIONAL:
			return run_optional(m, move);
		case KILN_MOVE_PRESENT:
			return run_present(m, move);
		case KILN_MOVE_REQUIRED:
			return run_required(m, move);
		case KILN_MOVE_LIST:
			return run_list(m, move);
		case KILN_MOVE_DICT:
			return run_dict(m, move);
		default:
			return run_struct(m, move);
	}
}

/*
 * A payload shorter than held reads need is read from a copy with zeros behind it, where a valid one ends at the same
 * place.
 */
bool
kiln_evolution_run(kiln_evolution *evolution, const uint8_t *payload, size_t n, void (*poll) (void),
				   kiln_writer *writer, kiln_error *error)
{
	uint8_t		padded[KILN_HELD_LEAST] = {0};
	size_t		mark = kiln_writer_length(writer);
	mover		m;

	m.held.data = payload;
	m.held.n = n;
	m.held.poll = poll;
	if (n < KILN_HELD_LEAST)
	{
		if (n > 0)
			memcpy(padded, payload, n);
		m.held.data = padded;
		m.held.n = KILN_HELD_LEAST;
	}
	m.pos = 0;
	m.writer = writer;
	m.error = error;
	if (run_move(&m, evolution->root))
		return true;
	writer->pos = mark != 0 ? writer->start + mark : writer->start;
	return false;
}
