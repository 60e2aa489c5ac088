/*
 * Encoder: from any source of values to a payload, in one pass in the order of the definition.
 *
 * Neighbouring scalar fields of a struct, optional or not, are a batch: they are fetched and checked into a small
 * array while their sizes are summed, room is reserved once, and then they are stored through a bare pointer. A
 * struct of scalars is thus one reserve. Lists of fixed-width scalars reserve once too, and packed numbers are one
 * copy. Everything else goes value by value.
 *
 * What the source delivers is checked here, every rule of FORMAT 2, so that the payload would pass kiln_validate().
 * Only what the types guarantee (a bool is 0 or 1) is not. The path in an error is put together as the calls unwind.
 *
 * A reserve may move the writer's buffer: places in it are kept as offsets. On failure the writer's position is put
 * back once, by kiln_encode().
 */
#include "internal.h"

#define BATCH		64			/* scalars fetched before they are stored */
#define POLL_EVERY	1024		/* elements between two calls of poll */

typedef struct encoder
{
	const kiln_source *source;
	kiln_writer *writer;
	kiln_error *error;			/* never NULL */
} encoder;

/* A scalar field on its way: where its bytes come from, and how many they are without a tag. */
typedef enum piece_from
{
	PIECE_VALUE,				/* the scalar that the source gave */
	PIECE_TAGGED,				/* the same, behind a tag of 1 */
	PIECE_ABSENT,				/* a tag of 0 */
	PIECE_DEFAULT				/* the field's default */
} piece_from;

static bool encode_value(encoder *e, const kiln_type *type, kiln_node node);

/* ------------------------------------------------------------------ room and patience */

/* Make room for n more bytes within the writer's limit. */
static inline bool
make_room(encoder *e, uint64_t n)
{
	return kiln_writer_room(e->writer, n, e->error);
}

static inline void
poll_at(const encoder *e, uint64_t position)
{
	if (position % POLL_EVERY == POLL_EVERY - 1 && e->source->poll != NULL)
		e->source->poll();
}

/* ------------------------------------------------------------------ scalars */

static bool
fetch_scalar(encoder *e, const kiln_type *type, kiln_node node, kiln_scalar *value)
{
	if (!e->source->scalar(e->source->self, node, type, value, e->error))
		return false;
	return kiln_scalar_check(type, value, e->source->json, e->error);
}

/* Bytes that the payload of a scalar takes. */
static inline uint64_t
scalar_size(const kiln_type *type, const kiln_scalar *value)
{
	return type->width != 0 ? type->width : 4 + (uint64_t) value->span.length;
}

/* Store a checked scalar into room that is there; returns the byte after it. */
static inline uint8_t *
store_scalar(uint8_t *p, const kiln_type *type, const kiln_scalar *value)
{
	switch (type->kind)
	{
		case KILN_BOOL:
			*p = value->boolean ? 1 : 0;
			return p + 1;
		case KILN_I8:
		case KILN_U8:
			*p = (uint8_t) value->u64;
			return p + 1;
		case KILN_I16:
		case KILN_U16:
		case KILN_ENUM:
			kiln_store_u16(p, (uint16_t) value->u64);
			return p + 2;
		case KILN_I32:
		case KILN_U32:
		case KILN_DATE:
			kiln_store_u32(p, (uint32_t) value->u64);
			return p + 4;
		case KILN_I64:
		case KILN_U64:
		case KILN_TIMESTAMP:
		case KILN_TIMESTAMPTZ:
			kiln_store_u64(p, value->u64);
			return p + 8;
		case KILN_F32:
			kiln_store_f32(p, value->f32);
			return p + 4;
		case KILN_F64:
			kiln_store_f64(p, value->f64);
			return p + 8;
		case KILN_UUID:
			memcpy(p, value->span.data, 16);
			return p + 16;
		default:
			kiln_store_u32(p, (uint32_t) value->span.length);
			if (value->span.length != 0)
				memcpy(p + 4, value->span.data, value->span.length);
			return p + 4 + value->span.length;
	}
}

/* The one spelling of null in an optional json value: such a value is absent. */
static bool
is_json_null(const kiln_type *type, const kiln_scalar *value)
{
	return type->kind == KILN_JSON && value->span.length == 4 && memcmp(value->span.data, "null", 4) == 0;
}

static inline bool
is_scalar(const kiln_type *type)
{
	return type->kind < KILN_OPTIONAL;
}

static inline bool
is_optional_scalar(const kiln_type *type)
{
	return type->kind == KILN_OPTIONAL && is_scalar(type->element);
}

/* ------------------------------------------------------------------ children */

/* A value of an OPTIONAL type: a tag, and what is there. */
static bool
encode_optional(encoder *e, const kiln_type *type, kiln_presence presence, kiln_node node)
{
	const kiln_type *element = type->element;
	kiln_scalar value;
	uint8_t    *p;

	if (presence == KILN_PRESENT && !is_scalar(element))
	{
		if (!make_room(e, 1))
			return false;
		kiln_writer_u8(e->writer, 1);
		return encode_value(e, element, node);
	}
	if (presence == KILN_PRESENT)
	{
		if (!fetch_scalar(e, element, node, &value))
			return false;
		if (!is_json_null(element, &value))
		{
			if (!make_room(e, 1 + scalar_size(element, &value)))
				return false;
			p = e->writer->pos;
			*p = 1;
			e->writer->pos = store_scalar(p + 1, element, &value);
			return true;
		}
	}
	if (!make_room(e, 1))
		return false;
	kiln_writer_u8(e->writer, 0);
	return true;
}

/* A list element, dict value or field of any type, as the source gave it. */
static bool
encode_child(encoder *e, const kiln_type *type, kiln_presence presence, kiln_node node)
{
	if (presence == KILN_UNREADABLE)
		return false;
	if (type->kind == KILN_OPTIONAL)
		return encode_optional(e, type, presence, node);
	if (presence != KILN_PRESENT)
		return kiln_fail(e->error, presence == KILN_IS_NULL ? KILN_E_NULL : KILN_E_MISSING, 0, NULL);
	return encode_value(e, type, node);
}

/* ------------------------------------------------------------------ structs */

static bool
encode_default(encoder *e, const kiln_field *field)
{
	if (!make_room(e, field->default_length))
		return false;
	kiln_writer_bytes(e->writer, field->default_payload, field->default_length);
	return true;
}

/* Fetch and check one field of a batch: says where its bytes come from, and adds their number to *size. */
static bool
fetch_piece(encoder *e, const kiln_type *type, uint32_t index, kiln_node object,
			kiln_scalar *value, uint8_t *from, uint64_t *size)
{
	const kiln_field *field = &type->fields[index];
	bool		optional = field->type->kind == KILN_OPTIONAL;
	const kiln_type *scalar = optional ? field->type->element : field->type;
	kiln_node	child;
	kiln_presence presence;

	presence = e->source->field(e->source->self, object, type, index, &child, e->error);
	if (presence == KILN_PRESENT)
	{
		if (!fetch_scalar(e, scalar, child, value))
			return false;
		if (!optional || !is_json_null(scalar, value))
		{
			*from = optional ? PIECE_TAGGED : PIECE_VALUE;
			*size += scalar_size(scalar, value) + (optional ? 1 : 0);
			return true;
		}
	}
	else if (presence == KILN_UNREADABLE)
		return false;

	if (optional)
	{
		*from = PIECE_ABSENT;
		*size += 1;
		return true;
	}
	if (presence == KILN_IS_NULL)
		return kiln_fail(e->error, KILN_E_NULL, 0, NULL);
	if (field->default_payload == NULL)
		return kiln_fail(e->error, KILN_E_MISSING, 0, NULL);
	*from = PIECE_DEFAULT;
	*size += field->default_length;
	return true;
}

/* Store one field of a batch; returns the byte after it. */
static inline uint8_t *
store_piece(uint8_t *p, const kiln_field *field, const kiln_scalar *value, uint8_t from)
{
	switch (from)
	{
		case PIECE_VALUE:
			return store_scalar(p, field->type, value);
		case PIECE_TAGGED:
			*p = 1;
			return store_scalar(p + 1, field->type->element, value);
		case PIECE_ABSENT:
			*p = 0;
			return p + 1;
		default:
			memcpy(p, field->default_payload, field->default_length);
			return p + field->default_length;
	}
}

/* Fields first … end - 1 of a struct, at most BATCH of them and all scalars or optional scalars: one reserve. */
static bool
encode_batch(encoder *e, const kiln_type *type, uint32_t first, uint32_t end, kiln_node object)
{
	kiln_scalar values[BATCH];
	uint8_t		from[BATCH];
	uint64_t	size = 0;
	uint32_t	i;
	uint8_t    *p;

	for (i = first; i < end; i++)
	{
		if (!fetch_piece(e, type, i, object, &values[i - first], &from[i - first], &size))
		{
			kiln_error_prepend_name(e->error, type->fields[i].name, type->fields[i].name_length);
			return false;
		}
	}
	if (!make_room(e, size))
		return false;
	p = e->writer->pos;
	for (i = first; i < end; i++)
		p = store_piece(p, &type->fields[i], &values[i - first], from[i - first]);
	e->writer->pos = p;
	return true;
}

/* Where the batch that starts at field first ends: first itself if that field is none for a batch. */
static uint32_t
batch_end(const kiln_type *type, uint32_t first)
{
	uint32_t	end = first;

	while (end < type->count && end - first < BATCH &&
		   (is_scalar(type->fields[end].type) || is_optional_scalar(type->fields[end].type)))
		end++;
	return end;
}

/* One field that is none for a batch. */
static bool
encode_field(encoder *e, const kiln_type *type, uint32_t index, kiln_node object)
{
	const kiln_field *field = &type->fields[index];
	kiln_node	child = {NULL, 0};
	kiln_presence presence;
	bool		done;

	presence = e->source->field(e->source->self, object, type, index, &child, e->error);
	if (presence == KILN_IS_MISSING && field->default_payload != NULL)
		done = encode_default(e, field);
	else
		done = encode_child(e, field->type, presence, child);
	if (!done)
		kiln_error_prepend_name(e->error, field->name, field->name_length);
	return done;
}

static bool
encode_struct(encoder *e, const kiln_type *type, kiln_node node)
{
	kiln_node	object = node;
	uint32_t	i = 0;

	if (e->source->begin_struct != NULL &&
		!e->source->begin_struct(e->source->self, node, type, &object, e->error))
		return false;
	while (i < type->count)
	{
		uint32_t	end = batch_end(type, i);

		if (end > i)
		{
			if (!encode_batch(e, type, i, end, object))
				return false;
			i = end;
		}
		else if (!encode_field(e, type, i++, object))
			return false;
	}
	return true;
}

/* ------------------------------------------------------------------ lists and dicts */

/* Elements of a fixed-width scalar type, into room that is there. */
static bool
encode_fixed_elements(encoder *e, const kiln_type *type, kiln_node list, uint32_t count)
{
	const kiln_type *element = type->element;
	uint32_t	i;

	for (i = 0; i < count; i++)
	{
		kiln_node	child;
		kiln_scalar value;
		kiln_presence presence = e->source->element(e->source->self, list, type, i, &child, e->error);
		bool		good = presence == KILN_PRESENT;

		if (good)
			good = fetch_scalar(e, element, child, &value);
		else if (presence != KILN_UNREADABLE)
			kiln_fail(e->error, KILN_E_NULL, 0, NULL);
		if (!good)
		{
			kiln_error_prepend_index(e->error, i);
			return false;
		}
		e->writer->pos = store_scalar(e->writer->pos, element, &value);
		poll_at(e, i);
	}
	return true;
}

/* Elements of any other type. */
static bool
encode_elements(encoder *e, const kiln_type *type, kiln_node list, uint32_t count)
{
	uint32_t	i;

	for (i = 0; i < count; i++)
	{
		kiln_node	child = {NULL, 0};
		kiln_presence presence = e->source->element(e->source->self, list, type, i, &child, e->error);

		if (presence == KILN_IS_MISSING)
			presence = KILN_IS_NULL;
		if (!encode_child(e, type->element, presence, child))
		{
			kiln_error_prepend_index(e->error, i);
			return false;
		}
		poll_at(e, i);
	}
	return true;
}

static bool
encode_list(encoder *e, const kiln_type *type, kiln_node node)
{
	const kiln_type *element = type->element;
	kiln_node	list = node;
	uint64_t	count = 0;
	const void *packed = NULL;
	bool		fixed = is_scalar(element) && element->width != 0;

	if (!e->source->begin_list(e->source->self, node, type, &list, &count, &packed, e->error))
		return false;
	if (count > UINT32_MAX)
		return kiln_fail(e->error, KILN_E_SIZE, 0, "more than 4294967295 elements");
	/* the least that the elements take, which is all if their width is fixed; a hopeless count fails here */
	if (!make_room(e, 4 + count * element->least))
		return false;
	kiln_writer_u32(e->writer, (uint32_t) count);
	if (type->numbers && packed != NULL)
	{
		kiln_writer_bytes(e->writer, packed, (size_t) count * element->width);
		return true;
	}
	return fixed ? encode_fixed_elements(e, type, list, (uint32_t) count)
		: encode_elements(e, type, list, (uint32_t) count);
}

/*
 * One key, which must come after the one that the payload has at offset before (SIZE_MAX for the first). Comparing
 * with the payload asks nothing of the source.
 */
static bool
encode_key(encoder *e, const char *key, size_t length, size_t before)
{
	if (!kiln_span_check(KILN_STRING, key, length, NULL, e->error))
		return false;
	if (before != SIZE_MAX)
	{
		uint32_t	other_length;
		const uint8_t *other = kiln_view_span(e->writer->start + before, &other_length);

		if (kiln_compare_bytes(other, other_length, key, length) >= 0)
			return kiln_fail(e->error, KILN_E_KEY, 0, NULL);
	}
	if (!make_room(e, 4 + (uint64_t) length))
		return false;
	kiln_writer_span(e->writer, key, (uint32_t) length);
	return true;
}

static bool
encode_dict(encoder *e, const kiln_type *type, kiln_node node)
{
	kiln_node	dict = node;
	uint64_t	count = 0;
	uint64_t	i;
	size_t		before = SIZE_MAX;

	if (!e->source->begin_dict(e->source->self, node, type, &dict, &count, e->error))
		return false;
	if (count > UINT32_MAX)
		return kiln_fail(e->error, KILN_E_SIZE, 0, "more than 4294967295 pairs");
	if (!make_room(e, 4 + count * (4 + (uint64_t) type->element->least)))
		return false;
	kiln_writer_u32(e->writer, (uint32_t) count);
	for (i = 0; i < count; i++)
	{
		const char *key = NULL;
		size_t		length = 0;
		size_t		at = kiln_writer_length(e->writer);
		kiln_node	child = {NULL, 0};
		kiln_presence presence = e->source->pair(e->source->self, dict, type, i, &key, &length, &child, e->error);

		if (presence == KILN_UNREADABLE || !encode_key(e, key, length, before))
			return false;
		if (presence == KILN_IS_MISSING)
			presence = KILN_IS_NULL;
		if (!encode_child(e, type->element, presence, child))
		{
			/* from the payload: the source's key may be gone by now */
			kiln_error_prepend_name(e->error, (const char *) e->writer->start + at + 4, length);
			return false;
		}
		before = at;
		poll_at(e, i);
	}
	return true;
}

/* ------------------------------------------------------------------ any value */

static bool
encode_value(encoder *e, const kiln_type *type, kiln_node node)
{
	kiln_scalar value;

	switch (type->kind)
	{
		case KILN_STRUCT:
			return encode_struct(e, type, node);
		case KILN_LIST:
			return encode_list(e, type, node);
		case KILN_DICT:
			return encode_dict(e, type, node);
		case KILN_OPTIONAL:
			return encode_optional(e, type, KILN_PRESENT, node);
		default:
			if (!fetch_scalar(e, type, node, &value) || !make_room(e, scalar_size(type, &value)))
				return false;
			e->writer->pos = store_scalar(e->writer->pos, type, &value);
			return true;
	}
}

bool
kiln_encode(const kiln_type *type, const kiln_source *source, kiln_node node, kiln_writer *writer, kiln_error *error)
{
	kiln_error	unwanted;
	encoder		e;
	size_t		mark = kiln_writer_length(writer);

	e.source = source;
	e.writer = writer;
	e.error = error != NULL ? error : &unwanted;
	kiln_fail(e.error, KILN_E_OK, 0, NULL);
	if (encode_value(&e, type, node))
		return true;
	if (e.error->code == KILN_E_OK)
		e.error->code = KILN_E_SOURCE;
	writer->pos = mark != 0 ? writer->start + mark : writer->start;
	return false;
}
