/*
 * Values written down in a test: see literal_source.h.
 */
#include "literal_source.h"

#include "json_check.h"

kiln_presence
literal_give(const value *v, kiln_node *child, kiln_error *error)
{
	child->pointer = v;
	child->word = 0;
	switch (v->kind)
	{
		case V_NULL:
			return KILN_IS_NULL;
		case V_MISSING:
			return KILN_IS_MISSING;
		case V_BROKEN:
			kiln_fail(error, KILN_E_TYPE, 0, "broken on purpose");
			return KILN_UNREADABLE;
		default:
			return KILN_PRESENT;
	}
}

static kiln_presence
literal_field(void *self, kiln_node object, const kiln_type *type, uint32_t index, kiln_node *child, kiln_error *error)
{
	const value *v = object.pointer;

	(void) self;
	(void) type;
	return literal_give(&v->children[index], child, error);
}

static bool
literal_scalar(void *self, kiln_node node, const kiln_type *type, kiln_scalar *scalar, kiln_error *error)
{
	const value *v = node.pointer;

	(void) self;
	(void) type;
	if (v->kind == V_NODE)
		return kiln_fail(error, KILN_E_TYPE, 0, "no scalar");
	*scalar = v->scalar;
	return true;
}

static uint64_t
count_children(const value *v)
{
	uint64_t	n = 0;

	while (v->children[n].kind != V_END)
		n++;
	return n;
}

static bool
literal_begin_list(void *self, kiln_node node, const kiln_type *type, kiln_node *list, uint64_t *count,
				   const void **packed, kiln_error *error)
{
	const value *v = node.pointer;

	(void) self;
	(void) type;
	(void) list;
	if (v->kind == V_TEXT)		/* packed numbers */
	{
		*count = v->scalar.span.length / type->element->width;
		*packed = v->scalar.span.data;
		return true;
	}
	if (v->kind == V_UINT)		/* a list that claims so many elements */
	{
		*count = v->scalar.u64;
		return true;
	}
	if (v->kind != V_NODE)
		return kiln_fail(error, KILN_E_TYPE, 0, "no list");
	*count = count_children(v);
	return true;
}

static kiln_presence
literal_element(void *self, kiln_node list, const kiln_type *type, uint64_t position,
				kiln_node *child, kiln_error *error)
{
	const value *v = list.pointer;

	(void) self;
	(void) type;
	return literal_give(&v->children[position], child, error);
}

static bool
literal_begin_dict(void *self, kiln_node node, const kiln_type *type, kiln_node *dict,
				   uint64_t *count, kiln_error *error)
{
	const void *packed;

	return literal_begin_list(self, node, type, dict, count, &packed, error);
}

static kiln_presence
literal_pair(void *self, kiln_node dict, const kiln_type *type, uint64_t position,
			 const char **key, size_t *key_length, kiln_node *child, kiln_error *error)
{
	const value *pair = &((const value *) dict.pointer)->children[position];

	(void) self;
	(void) type;
	*key = pair->key;
	*key_length = pair->key_length;
	return literal_give(pair->children, child, error);
}

const kiln_source literal_source = {
	NULL, literal_field, literal_scalar, literal_begin_list, literal_element, literal_begin_dict, literal_pair,
	NULL, NULL, &json_checker
};
