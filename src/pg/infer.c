/*
 * kiln_infer: a definition for a jsonb document (docs/FORMAT.md, section 7).
 *
 * Each place of the document has a shape, which takes in one value after the other and widens as it must: the
 * elements of a list share a shape, and so do the values of a field in all objects of a list. At the end the shape of
 * the whole is written as a definition.
 *
 * An object is a struct until it has a key that can't be a field's name, or more keys than a struct has fields; then
 * its members' shapes are merged into one, and it is a dict. So a shape is never larger than a definition's struct.
 */
#include "kiln_pg.h"

#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/jsonb.h"

#include "kiln_infer.h"
#include "kiln_text.h"

typedef enum ShapeKind
{
	SHAPE_NULL,					/* nothing but nulls so far */
	SHAPE_BOOL,
	SHAPE_NUMBER,
	SHAPE_STRING,
	SHAPE_LIST,
	SHAPE_OBJECT
} ShapeKind;

typedef struct Shape Shape;

typedef struct ShapeMember
{
	const char *name;			/* normalised, UTF-8 */
	size_t		length;
	Shape	   *shape;
	uint64		objects;		/* that had it; the last of them had number last */
	uint64		last;
} ShapeMember;

struct Shape
{
	ShapeKind	kind;
	bool		nulls;
	bool		i64;			/* NUMBER: holds all of them exactly */
	bool		u64;
	bool		f64;
	bool		dict;			/* OBJECT: element is the shape of its values, and there are no members */
	Shape	   *element;		/* LIST, dict; NULL while all are empty */
	uint64		objects;		/* OBJECT: how many went in */
	ShapeMember *members;		/* in byte order of names */
	uint32		count;
	uint32		capacity;
};

/* The way to the value that is being looked at, innermost first, for messages. */
typedef struct Step
{
	const struct Step *outer;
	const char *name;			/* NULL: position */
	size_t		length;
	uint64		position;
} Step;

static void add_value(Shape *shape, const JsonbValue *value, const Step *way);

/* ------------------------------------------------------------------ errors */

static const char *
kind_word(ShapeKind kind)
{
	switch (kind)
	{
		case SHAPE_BOOL:
			return "a boolean";
		case SHAPE_NUMBER:
			return "a number";
		case SHAPE_STRING:
			return "a string";
		case SHAPE_LIST:
			return "a list";
		case SHAPE_OBJECT:
			return "an object";
		case SHAPE_NULL:
			break;
	}
	return "null";
}

pg_noreturn static void
report_kinds(ShapeKind one, ShapeKind other, const Step *way, bool dict)
{
	kiln_error	place;

	kiln_fail(&place, KILN_E_TYPE, 0, NULL);
	for (; way; way = way->outer)
	{
		if (way->name)
			kiln_error_prepend_name(&place, way->name, way->length);
		else
			kiln_error_prepend_index(&place, way->position);
	}
	ereport(ERROR,
			(errcode(ERRCODE_DATATYPE_MISMATCH),
			 errmsg("can't infer a kiln definition: %s and %s at one place", kind_word(one), kind_word(other)),
			 errdetail("At path %s.", kiln_utf8_for_message(place.path, strlen(place.path))),
			 dict ? errhint("An object with a key that can't be a field's name is a dict, whose values are of one "
							"type.") : 0));
}

/* ------------------------------------------------------------------ shapes */

static Shape *
new_shape(void)
{
	Shape	   *shape = palloc0(sizeof(Shape));

	shape->i64 = shape->u64 = shape->f64 = true;
	return shape;
}

/* Have the shape be of that kind; what is not yet of any becomes so. */
static void
take_kind(Shape *shape, ShapeKind kind, const Step *way, bool dict)
{
	if (shape->kind == SHAPE_NULL)
		shape->kind = kind;
	else if (shape->kind != kind)
		report_kinds(shape->kind, kind, way, dict);
}

/* Where a name is among the members, or belongs. */
static uint32
find_member(const Shape *shape, const char *name, size_t length, bool *found)
{
	uint32		low = 0;
	uint32		high = shape->count;

	*found = false;
	while (low < high && !*found)
	{
		uint32		middle = low + (high - low) / 2;
		const ShapeMember *member = &shape->members[middle];
		int			order = kiln_compare_bytes(member->name, member->length, name, length);

		*found = order == 0;
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return high;
}

static ShapeMember *
insert_member(Shape *shape, uint32 at, const char *name, size_t length)
{
	ShapeMember *member;

	if (shape->count == shape->capacity)
	{
		shape->capacity = Max(8, shape->capacity * 2);
		shape->members = shape->members ? repalloc(shape->members, shape->capacity * sizeof(ShapeMember))
			: palloc(shape->capacity * sizeof(ShapeMember));
	}
	member = &shape->members[at];
	memmove(member + 1, member, (shape->count - at) * sizeof(ShapeMember));
	shape->count++;
	member->name = pnstrdup(name, length);
	member->length = length;
	member->shape = new_shape();
	member->objects = member->last = 0;
	return member;
}

static void merge_shapes(Shape *into, const Shape *from, const Step *way);

/* An object that can't be a struct: all its values are of one type. */
static void
become_dict(Shape *shape, const Step *way)
{
	shape->dict = true;
	shape->element = shape->count > 0 ? new_shape() : NULL;
	for (uint32 i = 0; i < shape->count; i++)
	{
		const ShapeMember *member = &shape->members[i];
		Step		step = {way, member->name, member->length, 0};

		merge_shapes(shape->element, member->shape, &step);
	}
	shape->count = 0;
}

/* The shape of a dict's or list's elements, made when the first comes. */
static Shape *
element_of(Shape *shape)
{
	if (shape->element == NULL)
		shape->element = new_shape();
	return shape->element;
}

/* Take in all that another shape has taken in: both are a dict's values, or below them. */
static void
merge_shapes(Shape *into, const Shape *from, const Step *way)
{
	bool		found;

	check_stack_depth();
	into->nulls |= from->nulls;
	if (from->kind == SHAPE_NULL)
		return;
	take_kind(into, from->kind, way, true);
	into->i64 &= from->i64;
	into->u64 &= from->u64;
	into->f64 &= from->f64;
	if (from->dict && !into->dict)
		become_dict(into, way);
	if (from->element)
		merge_shapes(element_of(into), from->element, way);
	for (uint32 i = 0; i < from->count; i++)
	{
		const ShapeMember *member = &from->members[i];
		Step		step = {way, member->name, member->length, 0};
		uint32		at;

		if (into->dict)
		{
			merge_shapes(element_of(into), member->shape, &step);
			continue;
		}
		at = find_member(into, member->name, member->length, &found);
		if (!found && into->count == KILN_MAX_FIELDS)
		{
			become_dict(into, way);
			merge_shapes(element_of(into), member->shape, &step);
			continue;
		}
		if (!found)
			(void) insert_member(into, at, member->name, member->length);
		into->members[at].objects += member->objects;
		merge_shapes(into->members[at].shape, member->shape, &step);
	}
	into->objects += from->objects;
}

/* ------------------------------------------------------------------ numbers */

/* Digits from the first to the last that is not zero. */
static int
significant_digits(const char *text)
{
	int			digits = 0;
	int			zeros = 0;

	for (; *text; text++)
	{
		if (*text == '0')
			zeros++;
		else if (*text >= '1' && *text <= '9')
		{
			digits += (digits > 0 ? zeros : 0) + 1;
			zeros = 0;
		}
	}
	return digits;
}

bool
kiln_infer_fits_f64(Numeric number, const char *text)
{
	char		digits[33];
	double		value;
	kiln_error	error;
	Datum		back;

	if (significant_digits(text) > 17 || !kiln_f64_in(text, strlen(text), false, &value, &error))
		return false;
	digits[kiln_print_f64(value, digits)] = '\0';
	back = DirectFunctionCall3(numeric_in, CStringGetDatum(digits), ObjectIdGetDatum(InvalidOid), Int32GetDatum(-1));
	return DatumGetBool(DirectFunctionCall2(numeric_eq, back, NumericGetDatum(number)));
}

static void
add_number(Shape *shape, Numeric number)
{
	const int64 exact = INT64CONST(1) << 53;	/* integers up to here are all f64's */
	char	   *text = DatumGetCString(DirectFunctionCall1(numeric_out, NumericGetDatum(number)));
	size_t		length = strlen(text);
	kiln_scalar value;
	kiln_error	error;
	bool		i64 = kiln_integer_in(KILN_I64, text, length, &value, &error);

	if (!i64)
		shape->i64 = false;
	if (shape->u64 && !(i64 && value.i64 >= 0))
		shape->u64 = !i64 && kiln_integer_in(KILN_U64, text, length, &value, &error);
	if (shape->f64 && !(i64 && value.i64 >= -exact && value.i64 <= exact))
		shape->f64 = kiln_infer_fits_f64(number, text);
	pfree(text);
}

/* ------------------------------------------------------------------ values */

static void
add_pair(Shape *shape, const char *key, size_t length, const JsonbValue *value, const Step *way)
{
	Step		step = {way, key, length, 0};
	char		name[KILN_MAX_NAME + 1];
	size_t		name_length;
	uint32		at = 0;
	bool		found = false;
	bool		fits;

	if (!shape->dict)
	{
		/* two keys that are one name once normalised can't both be fields */
		fits = kiln_name_normalize(key, length, name, &name_length, NULL);
		if (fits)
			at = find_member(shape, name, name_length, &found);
		if (!fits || (found && shape->members[at].last == shape->objects) ||
			(!found && shape->count == KILN_MAX_FIELDS))
			become_dict(shape, way);
	}
	if (shape->dict)
	{
		Shape	   *alone = new_shape();

		/* on its own first, so that a conflict of this value with others is told as the dict's */
		add_value(alone, value, &step);
		merge_shapes(element_of(shape), alone, &step);
		return;
	}
	if (!found)
		(void) insert_member(shape, at, name, name_length);
	shape->members[at].objects++;
	shape->members[at].last = shape->objects;
	add_value(shape->members[at].shape, value, &step);
}

static void
add_object(Shape *shape, JsonbContainer *object, const Step *way)
{
	JsonbIterator *iterator = JsonbIteratorInit(object);
	JsonbValue	key;
	JsonbValue	value;

	shape->objects++;
	(void) JsonbIteratorNext(&iterator, &key, true);
	while (JsonbIteratorNext(&iterator, &key, true) == WJB_KEY)
	{
		size_t		length;
		const char *text = kiln_server_to_utf8(key.val.string.val, key.val.string.len, &length);

		(void) JsonbIteratorNext(&iterator, &value, true);
		add_pair(shape, text, length, &value, way);
		CHECK_FOR_INTERRUPTS();
	}
}

static void
add_list(Shape *shape, JsonbContainer *list, const Step *way)
{
	JsonbIterator *iterator = JsonbIteratorInit(list);
	JsonbValue	value;
	Step		step = {way, NULL, 0, 0};

	(void) JsonbIteratorNext(&iterator, &value, true);
	while (JsonbIteratorNext(&iterator, &value, true) == WJB_ELEM)
	{
		add_value(element_of(shape), &value, &step);
		step.position++;
		CHECK_FOR_INTERRUPTS();
	}
}

static ShapeKind
kind_of(const JsonbValue *value)
{
	switch (value->type)
	{
		case jbvNull:
			return SHAPE_NULL;
		case jbvBool:
			return SHAPE_BOOL;
		case jbvNumeric:
			return SHAPE_NUMBER;
		case jbvString:
			return SHAPE_STRING;
		default:
			return JsonContainerIsObject(value->val.binary.data) ? SHAPE_OBJECT : SHAPE_LIST;
	}
}

static void
add_value(Shape *shape, const JsonbValue *value, const Step *way)
{
	ShapeKind	kind = kind_of(value);

	check_stack_depth();
	if (kind == SHAPE_NULL)
	{
		shape->nulls = true;
		return;
	}
	take_kind(shape, kind, way, false);
	if (kind == SHAPE_NUMBER)
		add_number(shape, value->val.numeric);
	else if (kind == SHAPE_LIST)
		add_list(shape, value->val.binary.data, way);
	else if (kind == SHAPE_OBJECT)
		add_object(shape, value->val.binary.data, way);
}

/* ------------------------------------------------------------------ the definition */

static void print_shape(const Shape *shape, bool optional, StringInfo buf);

static void
print_struct(const Shape *shape, StringInfo buf)
{
	char		quoted[2 * KILN_MAX_NAME + 3];

	for (uint32 i = 0; i < shape->count; i++)
	{
		const ShapeMember *member = &shape->members[i];

		appendStringInfoChar(buf, i == 0 ? '(' : ',');
		appendBinaryStringInfo(buf, quoted, (int) kiln_name_quote(member->name, member->length, quoted));
		appendStringInfoChar(buf, ' ');
		print_shape(member->shape, member->objects < shape->objects, buf);
	}
	appendStringInfoChar(buf, ')');
}

/* A shape's type, optional if nulls were seen, or if the caller has met objects without it. */
static void
print_shape(const Shape *shape, bool optional, StringInfo buf)
{
	check_stack_depth();
	switch (shape->kind)
	{
		case SHAPE_NULL:
			appendStringInfoString(buf, "string");
			optional = true;
			break;
		case SHAPE_BOOL:
			appendStringInfoString(buf, "bool");
			break;
		case SHAPE_NUMBER:
			appendStringInfoString(buf, shape->i64 ? "i64" : shape->u64 ? "u64" : shape->f64 ? "f64" : "numeric");
			break;
		case SHAPE_STRING:
			appendStringInfoString(buf, "string");
			break;
		case SHAPE_LIST:
			if (shape->element)
				print_shape(shape->element, false, buf);
			else
				appendStringInfoString(buf, "string");
			appendStringInfoString(buf, "[]");
			break;
		case SHAPE_OBJECT:
			if (shape->count > 0)
			{
				print_struct(shape, buf);
				break;
			}
			appendStringInfoString(buf, "dict<");
			if (shape->element)
				print_shape(shape->element, false, buf);
			else
				appendStringInfoString(buf, "string");
			appendStringInfoChar(buf, '>');
			break;
	}
	if (optional || shape->nulls)
		appendStringInfoChar(buf, '?');
}

Datum
kiln_infer_canonical(const char *text, size_t length)
{
	kiln_allocator allocator = kiln_palloc_allocator(NULL);
	kiln_parse_options options = {.allocator = &allocator};
	kiln_schema *schema;
	kiln_error	error;

	if (!kiln_schema_parse(text, length, &options, &schema, &error))
		kiln_report(&error, KILN_IN_DEFINITION, NULL);
	return kiln_utf8_to_text_datum((const uint8_t *) schema->text, schema->text_length);
}

PG_FUNCTION_INFO_V1(kiln_infer);

/* kiln_infer(jsonb): a definition that the document fits. */
Datum
kiln_infer(PG_FUNCTION_ARGS)
{
	Jsonb	   *document = PG_GETARG_JSONB_P(0);
	Shape	   *shape = new_shape();
	JsonbValue	root;
	StringInfoData buf;

	if (!JsonbExtractScalar(&document->root, &root))
	{
		root.type = jbvBinary;
		root.val.binary.data = &document->root;
		root.val.binary.len = VARSIZE(document) - VARHDRSZ;
	}
	add_value(shape, &root, NULL);
	if (shape->kind == SHAPE_NULL)
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("can't infer a kiln definition from null alone")));
	initStringInfo(&buf);
	print_shape(shape, false, &buf);
	PG_RETURN_DATUM(kiln_infer_canonical(buf.data, buf.len));
}
