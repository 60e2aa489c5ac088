/*
 * Composites as a source for the encoder: columns by name, arrays as lists, composites as structs, documents as
 * anything.
 *
 * The plan (source_plan.c) is kept as long as rows have the same type, so that a row costs one deforming and two
 * calls for each field. No two places of the definition share state: while one element of a list is being encoded
 * nothing else uses its arrays. What a row needs beyond them is allocated in CurrentMemoryContext.
 *
 * A column may hold json, jsonb or a kiln value where the definition wants a struct, list, dict or scalar. Such a
 * document has a source of its own; KilnInner wraps its nodes, so that both kinds go through one set of callbacks.
 */
#include "kiln_encode.h"

#include "access/htup_details.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "utils/typcache.h"

#include "kiln_text.h"

/*
 * A place inside a document. container is the room for what a begin call puts in a node's place, child that for a
 * container's node below it; both are used again for the next sibling, so that a document takes memory by its depth.
 */
typedef struct KilnInner
{
	KilnForm	form;			/* KILN_FORM_INNER */
	const kiln_source *source;
	kiln_node	node;
	struct KilnInner *container;
	struct KilnInner *child;
} KilnInner;

/* ------------------------------------------------------------------ records */

static bool
record_open(KilnRecordSource *source, const KilnConvert *convert, Datum value, kiln_error *error)
{
	KilnRecordPlan *plan = convert->record;
	HeapTupleHeader header = DatumGetHeapTupleHeader(value);
	Oid			row_type = HeapTupleHeaderGetTypeId(header);
	int32		row_typmod = HeapTupleHeaderGetTypMod(header);
	HeapTupleData tuple;

	if (!kiln_record_fits(plan, row_type, row_typmod) &&
		!kiln_record_compile(source, plan, convert->type, row_type, row_typmod, error))
		return false;
	tuple.t_len = HeapTupleHeaderGetDatumLength(header);
	ItemPointerSetInvalid(&tuple.t_self);
	tuple.t_tableOid = InvalidOid;
	tuple.t_data = header;
	heap_deform_tuple(&tuple, plan->columns, plan->values, plan->nulls);
	return true;
}

/* ------------------------------------------------------------------ arrays */

static bool
array_open(const KilnConvert *convert, Datum value, kiln_error *error)
{
	KilnArrayPlan *plan = convert->array;
	ArrayType  *array = DatumGetArrayTypeP(value);
	int			dimensions = ARR_NDIM(array);
	int			elements;

	if (dimensions == 0)
	{
		plan->counts[0] = 0;
		return true;
	}
	if (dimensions != plan->levels)
		return kiln_source_fail(error, ERRCODE_ARRAY_SUBSCRIPT_ERROR,
								"array has wrong number of dimensions: %d, expected %d", dimensions, plan->levels);
	elements = 1;
	for (int i = dimensions - 1; i >= 0; i--)
	{
		plan->counts[i] = ARR_DIMS(array)[i];
		plan->strides[i] = elements;
		elements *= plan->counts[i];
	}
	plan->data = NULL;
	if (plan->same_layout && !ARR_HASNULL(array))
		plan->data = ARR_DATA_PTR(array);
	else
		deconstruct_array(array, plan->element_type, plan->element_length, plan->by_value, plan->alignment,
						  &plan->values, &plan->nulls, &elements);
	return true;
}

/*
 * A list of the array: the whole at level 0, where word is the datum, below it a part that starts at element word.
 */
static bool
array_begin(const KilnConvert *convert, kiln_node node, kiln_node *list, uint64_t *count, const void **packed,
			kiln_error *error)
{
	KilnArrayPlan *plan = convert->array;

	if (convert->level == 0)
	{
		if (!array_open(convert, (Datum) node.word, error))
			return false;
		node.word = 0;
	}
	*list = node;
	*count = plan->counts[convert->level];
	if (*count > 0 && plan->data != NULL && convert->level == plan->levels - 1)
		*packed = plan->data + node.word * plan->element_length;
	return true;
}

static kiln_presence
array_element(const KilnConvert *convert, kiln_node list, uint64_t position, kiln_node *child)
{
	const KilnArrayPlan *plan = convert->array;
	uint64_t	at = list.word + position * plan->strides[convert->level];

	child->pointer = convert->element;
	if (convert->level < plan->levels - 1)
		child->word = at;
	else if (plan->nulls[at])
		return KILN_IS_NULL;
	else
		child->word = plan->values[at];
	return KILN_PRESENT;
}

/* ------------------------------------------------------------------ documents */

/* A document as a source of its own, with the node of its root. False: it is no JSON text of at most 200 levels. */
static bool
document_open(const KilnConvert *convert, Datum value, KilnInner *inner, kiln_error *error)
{
	inner->form = KILN_FORM_INNER;
	inner->container = inner->child = NULL;
	if (convert->sql_type == JSONBOID)
	{
		KilnJsonbSource *jsonb = palloc(sizeof(KilnJsonbSource));

		kiln_jsonb_source_init(jsonb);
		inner->source = &jsonb->source;
		inner->node = kiln_jsonb_node(DatumGetJsonbP(value));
	}
	else
	{
		KilnJsonSource *source = palloc(sizeof(KilnJsonSource));
		KilnJsonText *json = palloc(sizeof(KilnJsonText));
		size_t		length;
		const char *text = kiln_json_datum_text(convert->sql_type, value, &length);

		if (!kiln_json_parse(json, text, length, KILN_TEXT_LEVELS, error))
			return false;
		kiln_json_source_init(source, json);
		inner->source = &source->source;
		inner->node = kiln_json_source_node(source, 0);
	}
	return true;
}

bool
kiln_document_scalar(const KilnConvert *convert, Datum value, kiln_scalar *out, kiln_error *error)
{
	KilnInner	inner;

	return document_open(convert, value, &inner, error) &&
		inner.source->scalar(inner.source->self, inner.node, convert->type, out, error);
}

/* null in a document is what NULL is; only a json field keeps it, and that has a converter of its own. */
static bool
document_is_null(const KilnConvert *convert, Datum value)
{
	size_t		length;
	const char *text;

	if (convert->sql_type == JSONBOID)
		return kiln_jsonb_is_null(DatumGetJsonbP(value));
	text = kiln_json_datum_text(convert->sql_type, value, &length);
	return length == 4 && memcmp(text, "null", 4) == 0;
}

/* The inner node behind any node of a document: its root's is made here. NULL: *error is filled. */
static KilnInner *
inner_of(kiln_node node, kiln_error *error)
{
	const KilnConvert *convert = node.pointer;
	KilnInner  *inner;

	if (convert->form == KILN_FORM_INNER)
		return unconstify(void *, node.pointer);
	inner = palloc(sizeof(KilnInner));
	return document_open(convert, (Datum) node.word, inner, error) ? inner : NULL;
}

/* Wrap the node below a container. */
static kiln_node
inner_child(const KilnInner *parent, kiln_node node)
{
	kiln_node	wrapped = {parent->child, 0};

	parent->child->node = node;
	return wrapped;
}

/* Wrap what a begin call put in the place of a node. */
static kiln_node
inner_container(KilnInner *inner, kiln_node node)
{
	kiln_node	wrapped;

	if (inner->container == NULL)
	{
		KilnInner  *pair = palloc0(2 * sizeof(KilnInner));

		pair[0].form = pair[1].form = KILN_FORM_INNER;
		pair[0].source = pair[1].source = inner->source;
		pair[0].child = &pair[1];
		inner->container = pair;
	}
	inner->container->node = node;
	wrapped.pointer = inner->container;
	wrapped.word = 0;
	return wrapped;
}

/* ------------------------------------------------------------------ callbacks */

static inline KilnForm
form_of(kiln_node node)
{
	return *(const KilnForm *) node.pointer;
}

static bool
source_begin_struct(void *self, kiln_node node, const kiln_type *type, kiln_node *object, kiln_error *error)
{
	const KilnConvert *convert = node.pointer;
	KilnInner  *inner;
	kiln_node	replaced;

	if (convert->form == KILN_FORM_RECORD)
	{
		object->pointer = convert;
		return record_open(self, convert, (Datum) node.word, error);
	}
	inner = inner_of(node, error);
	if (inner == NULL)
		return false;
	replaced = inner->node;
	if (!inner->source->begin_struct(inner->source->self, inner->node, type, &replaced, error))
		return false;
	*object = inner_container(inner, replaced);
	return true;
}

static kiln_presence
source_field(void *self, kiln_node object, const kiln_type *type, uint32_t index, kiln_node *child, kiln_error *error)
{
	if (likely(form_of(object) == KILN_FORM_RECORD))
	{
		const KilnRecordPlan *plan = ((const KilnConvert *) object.pointer)->record;
		const RecordSlot *slot = &plan->slots[index];

		if (slot->column < 0)
			return KILN_IS_MISSING;
		if (plan->nulls[slot->column])
			return KILN_IS_NULL;
		child->pointer = slot->convert;
		child->word = plan->values[slot->column];
		if (unlikely(slot->document) && document_is_null(slot->convert, plan->values[slot->column]))
			return KILN_IS_NULL;
		return KILN_PRESENT;
	}
	else
	{
		const KilnInner *inner = object.pointer;
		kiln_node	node;
		kiln_presence presence = inner->source->field(inner->source->self, inner->node, type, index, &node, error);

		if (presence == KILN_PRESENT)
			*child = inner_child(inner, node);
		return presence;
	}
}

static bool
source_scalar(void *self, kiln_node node, const kiln_type *type, kiln_scalar *value, kiln_error *error)
{
	if (likely(form_of(node) != KILN_FORM_INNER))
	{
		const KilnConvert *convert = node.pointer;

		return convert->scalar(convert, (Datum) node.word, value, error);
	}
	else
	{
		const KilnInner *inner = node.pointer;

		return inner->source->scalar(inner->source->self, inner->node, type, value, error);
	}
}

static bool
source_begin_list(void *self, kiln_node node, const kiln_type *type, kiln_node *list, uint64_t *count,
				  const void **packed, kiln_error *error)
{
	KilnInner  *inner;
	kiln_node	replaced;

	if (form_of(node) == KILN_FORM_ARRAY)
		return array_begin(node.pointer, node, list, count, packed, error);
	inner = inner_of(node, error);
	if (inner == NULL)
		return false;
	replaced = inner->node;
	if (!inner->source->begin_list(inner->source->self, inner->node, type, &replaced, count, packed, error))
		return false;
	*list = inner_container(inner, replaced);
	return true;
}

static kiln_presence
source_element(void *self, kiln_node list, const kiln_type *type, uint64_t position, kiln_node *child,
			   kiln_error *error)
{
	const KilnInner *inner;
	kiln_node	node;
	kiln_presence presence;

	if (form_of(list) == KILN_FORM_ARRAY)
	{
		presence = array_element(list.pointer, list, position, child);
		if (presence == KILN_PRESENT && form_of(*child) == KILN_FORM_JSON &&
			document_is_null(child->pointer, (Datum) child->word))
			return KILN_IS_NULL;
		return presence;
	}
	inner = list.pointer;
	presence = inner->source->element(inner->source->self, inner->node, type, position, &node, error);
	if (presence == KILN_PRESENT)
		*child = inner_child(inner, node);
	return presence;
}

/* Only documents have dicts. */
static bool
source_begin_dict(void *self, kiln_node node, const kiln_type *type, kiln_node *dict, uint64_t *count,
				  kiln_error *error)
{
	KilnInner  *inner = inner_of(node, error);
	kiln_node	replaced;

	if (inner == NULL)
		return false;
	replaced = inner->node;
	if (!inner->source->begin_dict(inner->source->self, inner->node, type, &replaced, count, error))
		return false;
	*dict = inner_container(inner, replaced);
	return true;
}

static kiln_presence
source_pair(void *self, kiln_node dict, const kiln_type *type, uint64_t position, const char **key,
			size_t *key_length, kiln_node *child, kiln_error *error)
{
	const KilnInner *inner = dict.pointer;
	kiln_node	node;
	kiln_presence presence;

	presence = inner->source->pair(inner->source->self, inner->node, type, position, key, key_length, &node, error);
	if (presence == KILN_PRESENT)
		*child = inner_child(inner, node);
	return presence;
}

static void
source_poll(void)
{
	CHECK_FOR_INTERRUPTS();
}

/* ------------------------------------------------------------------ making a source */

KilnRecordSource *
kiln_datum_source(const kiln_type *type, Oid sql_type, Oid kiln_oid, MemoryContext context)
{
	MemoryContext before = MemoryContextSwitchTo(context);
	KilnRecordSource *source = palloc0(sizeof(KilnRecordSource));

	source->source.begin_struct = source_begin_struct;
	source->source.field = source_field;
	source->source.scalar = source_scalar;
	source->source.begin_list = source_begin_list;
	source->source.element = source_element;
	source->source.begin_dict = source_begin_dict;
	source->source.pair = source_pair;
	source->source.poll = source_poll;
	source->source.self = source;
	source->source.json = &kiln_pg_json_check;
	source->kiln_oid = kiln_oid;
	if (!kiln_convert_compile(source, sql_type, type, &source->root))
		source = NULL;
	MemoryContextSwitchTo(before);
	return source;
}

KilnRecordSource *
kiln_record_source(const kiln_type *type, Oid kiln_oid, MemoryContext context)
{
	KilnRecordSource *source = kiln_datum_source(type, RECORDOID, kiln_oid, context);

	if (source == NULL)
		elog(ERROR, "record source for a kiln type that is no struct");
	return source;
}

kiln_node
kiln_record_node(KilnRecordSource *source, Datum record)
{
	kiln_node	node;

	node.pointer = &source->root;
	node.word = (uint64_t) record;
	return node;
}
