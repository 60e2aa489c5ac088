/*
 * A payload as the source of another: see payload_source.h.
 */
#include "payload_source.h"

#include <stdlib.h>

/* Open the container at node; its children are asked for from position 0 on, the first at first. */
static kiln_node
open_container(payload_source *self, kiln_node node, const uint8_t *first)
{
	kiln_node	container = {first, node.word + 1};

	if (container.word >= KILN_MAX_DEPTH + 2)
		abort();
	self->open[container.word].next = first;
	self->open[container.word].position = 0;
	return container;
}

/* The child of that type at position, which must be the next one; steps over it. */
static kiln_presence
next_child(payload_source *self, kiln_node container, const kiln_type *type, uint64_t position, kiln_node *child)
{
	const uint8_t *p = self->open[container.word].next;

	if (self->open[container.word].position++ != position)
		abort();
	self->open[container.word].next = kiln_view_skip(type, p);
	child->word = container.word;
	child->pointer = p;
	if (type->kind != KILN_OPTIONAL)
		return KILN_PRESENT;
	child->pointer = p + 1;
	return *p != 0 ? KILN_PRESENT : KILN_IS_NULL;
}

static bool
source_begin_struct(void *self, kiln_node node, const kiln_type *type, kiln_node *object, kiln_error *error)
{
	(void) type;
	(void) error;
	*object = open_container(self, node, node.pointer);
	return true;
}

static kiln_presence
source_field(void *self, kiln_node object, const kiln_type *type, uint32_t index, kiln_node *child, kiln_error *error)
{
	payload_source *source = self;
	kiln_presence presence = next_child(source, object, type->fields[index].type, index, child);

	(void) error;
	return presence == KILN_IS_NULL && source->missing ? KILN_IS_MISSING : presence;
}

static bool
source_scalar(void *self, kiln_node node, const kiln_type *type, kiln_scalar *value, kiln_error *error)
{
	const uint8_t *p = node.pointer;
	uint32_t	length;

	(void) self;
	(void) error;
	switch (type->kind)
	{
		case KILN_BOOL:
			value->boolean = *p != 0;
			break;
		case KILN_I8:
		case KILN_I16:
		case KILN_I32:
		case KILN_I64:
		case KILN_DATE:
		case KILN_TIMESTAMP:
		case KILN_TIMESTAMPTZ:
			value->i64 = kiln_view_signed(type, p);
			break;
		case KILN_F32:
			value->f32 = kiln_load_f32(p);
			break;
		case KILN_F64:
			value->f64 = kiln_load_f64(p);
			break;
		case KILN_STRING:
		case KILN_BYTES:
		case KILN_NUMERIC:
		case KILN_JSON:
			value->span.data = kiln_view_span(p, &length);
			value->span.length = length;
			break;
		case KILN_UUID:
			value->span.data = p;
			value->span.length = 16;
			break;
		default:
			value->u64 = kiln_view_unsigned(type, p);
			break;
	}
	return true;
}

static bool
source_begin_list(void *self, kiln_node node, const kiln_type *type, kiln_node *list,
				  uint64_t *count, const void **packed, kiln_error *error)
{
	payload_source *source = self;
	const uint8_t *p = node.pointer;

	(void) error;
	*count = kiln_load_u32(p);
	*list = open_container(source, node, p + 4);
	if (type->numbers && source->packed)
		*packed = p + 4;
	return true;
}

static kiln_presence
source_element(void *self, kiln_node list, const kiln_type *type, uint64_t position,
			   kiln_node *child, kiln_error *error)
{
	(void) error;
	return next_child(self, list, type->element, position, child);
}

static bool
source_begin_dict(void *self, kiln_node node, const kiln_type *type, kiln_node *dict,
				  uint64_t *count, kiln_error *error)
{
	const uint8_t *p = node.pointer;

	(void) type;
	(void) error;
	*count = kiln_load_u32(p);
	*dict = open_container(self, node, p + 4);
	return true;
}

static kiln_presence
source_pair(void *self, kiln_node dict, const kiln_type *type, uint64_t position,
			const char **key, size_t *key_length, kiln_node *child, kiln_error *error)
{
	payload_source *source = self;
	const uint8_t *p = source->open[dict.word].next;
	uint32_t	length;

	(void) error;
	*key = (const char *) kiln_view_span(p, &length);
	*key_length = length;
	source->open[dict.word].next = p + 4 + length;
	return next_child(source, dict, type->element, position, child);
}

void
payload_source_init(payload_source *self, const uint8_t *payload, kiln_node *root)
{
	memset(self, 0, sizeof *self);
	self->source.begin_struct = source_begin_struct;
	self->source.field = source_field;
	self->source.scalar = source_scalar;
	self->source.begin_list = source_begin_list;
	self->source.element = source_element;
	self->source.begin_dict = source_begin_dict;
	self->source.pair = source_pair;
	self->source.self = self;
	root->pointer = payload;
	root->word = 0;
}
