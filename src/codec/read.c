/*
 * Stepping over values, three ways: views trust the payload, held reads stay inside it whatever it holds, the reader
 * checks what decides where a value ends. On a valid payload all three end at the same place.
 */
#include "internal.h"

/* poll is called where a loop passes a multiple of 2^POLL_SHIFT bytes; each turn of a loop takes a byte at least. */
#define POLL_SHIFT	16

/* ------------------------------------------------------------------ views */

static inline const uint8_t *
view_skip_span(const uint8_t *p)
{
	return p + 4 + (size_t) kiln_load_u32(p);
}

static const uint8_t *
view_skip_struct(const kiln_type *type, const uint8_t *p)
{
	for (const kiln_step *step = type->steps, *stop = step + type->step_count; step < stop; step++)
	{
		if (step->op == KILN_STEP_RUN)
			p += step->width;
		else if (step->op == KILN_STEP_SPAN)
			p = view_skip_span(p);
		else
			p = kiln_view_skip(type->fields[step->first].type, p);
	}
	return p;
}

const uint8_t *
kiln_view_skip(const kiln_type *type, const uint8_t *p)
{
	const kiln_type *element = type->element;
	uint32_t	count;

	switch (type->kind)
	{
		case KILN_STRING:
		case KILN_BYTES:
		case KILN_NUMERIC:
		case KILN_JSON:
			return view_skip_span(p);
		case KILN_OPTIONAL:
			return *p != 0 ? kiln_view_skip(element, p + 1) : p + 1;
		case KILN_LIST:
			count = kiln_load_u32(p);
			p += 4;
			if (element->width != 0)
				return p + (size_t) count * element->width;
			while (count-- > 0)
				p = kiln_view_skip(element, p);
			return p;
		case KILN_DICT:
			count = kiln_load_u32(p);
			p += 4;
			while (count-- > 0)
				p = kiln_view_skip(element, view_skip_span(p));
			return p;
		case KILN_STRUCT:
			if (type->width == 0)
				return view_skip_struct(type, p);
			return p + type->width;
		default:
			return p + type->width;
	}
}

/* ------------------------------------------------------------------ reader */

const uint8_t *
kiln_reader_string(kiln_reader *reader, uint32_t *length)
{
	const uint8_t *text = kiln_reader_span(reader, length);
	bool		nul;

	if (text == NULL || kiln_ascii_room(text, *length, (size_t) (reader->end - text)) ||
		(*length <= KILN_UTF8_SHORT && kiln_utf8_short(text, *length)) ||
		kiln_utf8_prefix(text, *length, &nul) == *length)
		return text;
	reader->failed = true;
	*length = 0;
	return NULL;
}

/* The bools inside a fixed-width value whose bytes are all there. */
static bool
bools_are_good(const kiln_type *type, const uint8_t *p)
{
	if (type->kind == KILN_BOOL)
		return *p <= 1;
	if (type->kind == KILN_STRUCT && !type->any_bits)
		for (uint32_t i = 0; i < type->count; i++)
		{
			if (!bools_are_good(type->fields[i].type, p))
				return false;
			p += type->fields[i].type->width;
		}
	return true;
}

/* count values of fixed width. */
static bool
reader_skip_fixed(kiln_reader *reader, const kiln_type *type, uint32_t count)
{
	const uint8_t *p;

	if ((uint64_t) count * type->width > kiln_reader_left(reader))
	{
		reader->failed = true;
		return false;
	}
	p = kiln_reader_bytes(reader, (size_t) count * type->width);
	if (type->kind == KILN_BOOL)
		reader->failed = kiln_bool_prefix(p, count) < count;
	else if (type->kind == KILN_STRUCT && !type->any_bits)
		for (; count > 0 && !reader->failed; count--, p += type->width)
			reader->failed = !bools_are_good(type, p);
	return !reader->failed;
}

static bool
reader_skip_span(kiln_reader *reader)
{
	uint32_t	length;

	kiln_reader_span(reader, &length);
	return !reader->failed;
}

static bool
reader_skip_list(kiln_reader *reader, const kiln_type *element)
{
	uint32_t	count = kiln_reader_count(reader, element->least);

	if (reader->failed)
		return false;
	if (element->width != 0)
		return reader_skip_fixed(reader, element, count);
	while (count-- > 0)
		if (!kiln_reader_skip(reader, element))
			return false;
	return true;
}

static bool
reader_skip_dict(kiln_reader *reader, const kiln_type *element)
{
	uint32_t	count = kiln_reader_count(reader, 4 + element->least);

	while (count-- > 0)
		if (!reader_skip_span(reader) || !kiln_reader_skip(reader, element))
			return false;
	return !reader->failed;
}

bool
kiln_reader_skip(kiln_reader *reader, const kiln_type *type)
{
	if (reader->failed)
		return false;
	if (type->width != 0)
		return reader_skip_fixed(reader, type, 1);
	switch (type->kind)
	{
		case KILN_OPTIONAL:
			return kiln_reader_bool(reader) ? kiln_reader_skip(reader, type->element) : !reader->failed;
		case KILN_LIST:
			return reader_skip_list(reader, type->element);
		case KILN_DICT:
			return reader_skip_dict(reader, type->element);
		case KILN_STRUCT:
			for (uint32_t i = 0; i < type->count; i++)
				if (!kiln_reader_skip(reader, type->fields[i].type))
					return false;
			return true;
		default:
			return reader_skip_span(reader);
	}
}

/* ------------------------------------------------------------------ held */

static inline size_t
held_advance(const kiln_held *held, size_t pos, size_t width)
{
	return width < held->n - pos ? pos + width : held->n;
}

static inline size_t
held_skip_span(const kiln_held *held, size_t pos)
{
	uint32_t	length;
	const uint8_t *text = kiln_held_span(held, pos, &length);

	return (size_t) (text - held->data) + length;
}

/*
 * Elements from pos on, or pairs. In a valid value each takes a byte at least, so that the end is reached with the
 * last of them; in another the rest would stand there too, and are left out, which bounds the work by n.
 */
static size_t
held_skip_elements(const kiln_held *held, const kiln_type *element, bool keys, size_t pos, uint32_t count)
{
	for (uint32_t i = 0; i < count && pos < held->n; i++)
	{
		size_t		before = pos;

		if (keys)
			pos = held_skip_span(held, pos);
		pos = kiln_held_skip(held, element, pos);
		if ((before ^ pos) >> POLL_SHIFT != 0 && held->poll != NULL)
			held->poll();
	}
	return pos;
}

static size_t
held_skip_struct(const kiln_held *held, const kiln_type *type, size_t pos)
{
	for (const kiln_step *step = type->steps, *stop = step + type->step_count; step < stop; step++)
	{
		if (step->op == KILN_STEP_RUN)
			pos = held_advance(held, pos, step->width);
		else if (step->op == KILN_STEP_SPAN)
			pos = held_skip_span(held, pos);
		else
			pos = kiln_held_skip(held, type->fields[step->first].type, pos);
	}
	return pos;
}

size_t
kiln_held_skip(const kiln_held *held, const kiln_type *type, size_t pos)
{
	const kiln_type *element = type->element;
	uint32_t	count;

	if (pos >= held->n)
		return held->n;
	if (type->width != 0)
		return held_advance(held, pos, type->width);
	switch (type->kind)
	{
		case KILN_OPTIONAL:
			return held->data[pos] != 0 ? kiln_held_skip(held, element, pos + 1) : pos + 1;
		case KILN_LIST:
			count = kiln_held_count(held, pos, element->least);
			pos = kiln_held_at(held, pos, 4) + 4;
			if (element->width != 0)
				return pos + (size_t) count * element->width;
			return held_skip_elements(held, element, false, pos, count);
		case KILN_DICT:
			count = kiln_held_count(held, pos, 4 + element->least);
			return held_skip_elements(held, element, true, kiln_held_at(held, pos, 4) + 4, count);
		case KILN_STRUCT:
			return held_skip_struct(held, type, pos);
		default:
			return held_skip_span(held, pos);
	}
}
