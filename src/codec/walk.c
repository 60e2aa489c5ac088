/*
 * A whole value, part by part, for whoever prints or compares one.
 *
 * The walk is held: it asks nothing of the payload and never leaves it. A load that does not fit into the bytes left
 * reads as zero and takes them all; a length and a count are cut to what is left. So a damaged value dwindles to zeros,
 * empty strings and empty lists, and a valid one never notices. Once the end is reached, the elements still outstanding
 * are left out: the work is bounded by the payload's length and the type's size.
 */
#include "internal.h"

/* Parts between two calls of poll. */
#define POLL_EVERY	4096

typedef struct kiln_walker
{
	const uint8_t *payload;
	size_t		n;
	size_t		pos;			/* at most n */
	const kiln_visitor *visitor;
	void	   *context;
	void		(*poll) (void);
	uint32_t	parts;			/* visited so far */
} kiln_walker;

static const uint8_t zeros[16];

/* Call a visitor's function if it has one; the arguments are not evaluated else. */
#define VISIT(walker, call, ...) \
	((walker)->visitor->call == NULL || (walker)->visitor->call((walker)->context, __VA_ARGS__))

static bool walk_value(kiln_walker *walker, const kiln_type *type);

/*
 * The next width bytes (at most 16), or zeros for a value that is cut short.
 */
static inline const uint8_t *
take(kiln_walker *walker, size_t width)
{
	const uint8_t *p;

	if (width > walker->n - walker->pos)
	{
		walker->pos = walker->n;
		return zeros;
	}
	p = walker->payload + walker->pos;
	walker->pos += width;
	return p;
}

static inline const uint8_t *
take_span(kiln_walker *walker, uint32_t *length)
{
	uint32_t	wanted = kiln_load_u32(take(walker, 4));
	size_t		left = walker->n - walker->pos;

	*length = wanted < left ? wanted : (uint32_t) left;
	return take(walker, *length);
}

static inline uint32_t
take_count(kiln_walker *walker, uint32_t least)
{
	uint32_t	wanted = kiln_load_u32(take(walker, 4));
	size_t		most = (walker->n - walker->pos) / least;

	return wanted < most ? wanted : (uint32_t) most;
}

static inline void
poll_now_and_then(kiln_walker *walker)
{
	if (++walker->parts % POLL_EVERY == 0 && walker->poll != NULL)
		walker->poll();
}

static bool
walk_bool(kiln_walker *walker, const kiln_type *type)
{
	uint8_t		value = *take(walker, 1) != 0;

	return VISIT(walker, scalar, type, &value, 1);
}

static bool
walk_enum(kiln_walker *walker, const kiln_type *type)
{
	uint16_t	position = kiln_load_u16(take(walker, 2));
	uint8_t		value[2];

	if (position >= type->count)
		position = (uint16_t) (type->count - 1);
	kiln_store_u16(value, position);
	return VISIT(walker, scalar, type, value, 2);
}

static bool
walk_fixed(kiln_walker *walker, const kiln_type *type)
{
	const uint8_t *value = take(walker, type->width);

	return VISIT(walker, scalar, type, value, type->width);
}

static bool
walk_span(kiln_walker *walker, const kiln_type *type)
{
	uint32_t	length;
	const uint8_t *text = take_span(walker, &length);

	return VISIT(walker, scalar, type, text, length);
}

static bool
walk_struct(kiln_walker *walker, const kiln_type *type)
{
	if (!VISIT(walker, begin_struct, type))
		return false;
	for (uint32_t i = 0; i < type->count; i++)
		if (!VISIT(walker, field, type, i) || !walk_value(walker, type->fields[i].type))
			return false;
	return VISIT(walker, end_struct, type);
}

static bool
walk_list(kiln_walker *walker, const kiln_type *type)
{
	uint32_t	count = take_count(walker, type->element->least);

	if (!VISIT(walker, begin_list, type, count))
		return false;
	for (uint32_t i = 0; i < count && walker->pos < walker->n; i++)
		if (!VISIT(walker, element, type, i) || !walk_value(walker, type->element))
			return false;
	return VISIT(walker, end_list, type);
}

static bool
walk_dict(kiln_walker *walker, const kiln_type *type)
{
	uint32_t	count = take_count(walker, 4 + type->element->least);

	if (!VISIT(walker, begin_dict, type, count))
		return false;
	for (uint32_t i = 0; i < count && walker->pos < walker->n; i++)
	{
		uint32_t	length;
		const uint8_t *key = take_span(walker, &length);

		if (!VISIT(walker, key, type, key, length) || !walk_value(walker, type->element))
			return false;
	}
	return VISIT(walker, end_dict, type);
}

static bool
walk_value(kiln_walker *walker, const kiln_type *type)
{
	poll_now_and_then(walker);
	switch (type->kind)
	{
		case KILN_BOOL:
			return walk_bool(walker, type);
		case KILN_ENUM:
			return walk_enum(walker, type);
		case KILN_STRING:
		case KILN_BYTES:
		case KILN_NUMERIC:
		case KILN_JSON:
			return walk_span(walker, type);
		case KILN_OPTIONAL:
			if (*take(walker, 1) != 0)
				return walk_value(walker, type->element);
			return VISIT(walker, absent, type);
		case KILN_LIST:
			return walk_list(walker, type);
		case KILN_DICT:
			return walk_dict(walker, type);
		case KILN_STRUCT:
			return walk_struct(walker, type);
		default:
			return walk_fixed(walker, type);
	}
}

bool
kiln_walk(const kiln_type *type, const uint8_t *payload, size_t n, void (*poll) (void),
		  const kiln_visitor *visitor, void *context, size_t *used)
{
	kiln_walker walker = {
		.payload = payload != NULL ? payload : zeros, .n = n, .visitor = visitor, .context = context, .poll = poll
	};
	bool		done = walk_value(&walker, type);

	if (used != NULL)
		*used = walker.pos;
	return done;
}
