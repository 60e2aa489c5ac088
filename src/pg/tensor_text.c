/*
 * Tensor directories as text: {"name": {"dtype": …, "shape": …, "data" or "base64": …}, …} (docs/FORMAT.md,
 * section 5).
 *
 * A directory is laid out before any data is read: how many elements the text has is known from the tape, and has
 * to be the shape's product, so that nothing is allocated on a shape's word alone. The data is then read straight
 * into its place.
 */
#include "kiln_text.h"

#include "miscadmin.h"

/* Up to this many elements are written out as numbers. */
#define WRITTEN_OUT		1024

/* Elements between two looks at interrupts. */
#define POLL_EVERY		1024

/* A tensor while it is read. */
typedef struct KilnTensorText
{
	kiln_tensor tensor;
	uint32		data;			/* node of "data", 0 if there is none */
	uint32		base64;			/* node of "base64" */
} KilnTensorText;

/* ------------------------------------------------------------------ elements in */

/* The type that a dtype's elements are, as far as there is one. */
static uint8_t
kind_of_dtype(uint8_t dtype)
{
	static const uint8_t kinds[] = {
		[KILN_DTYPE_BOOL] = KILN_BOOL, [KILN_DTYPE_I8] = KILN_I8, [KILN_DTYPE_I16] = KILN_I16,
		[KILN_DTYPE_I32] = KILN_I32, [KILN_DTYPE_I64] = KILN_I64, [KILN_DTYPE_U8] = KILN_U8,
		[KILN_DTYPE_U16] = KILN_U16, [KILN_DTYPE_U32] = KILN_U32, [KILN_DTYPE_U64] = KILN_U64,
		[KILN_DTYPE_F16] = KILN_F32, [KILN_DTYPE_BF16] = KILN_F32, [KILN_DTYPE_F32] = KILN_F32,
		[KILN_DTYPE_F64] = KILN_F64,
	};

	return kinds[dtype];
}

static void
store_integer(uint8_t *out, uint32_t width, uint64 value)
{
	switch (width)
	{
		case 1:
			out[0] = (uint8_t) value;
			break;
		case 2:
			kiln_store_u16(out, (uint16_t) value);
			break;
		case 4:
			kiln_store_u32(out, (uint32_t) value);
			break;
		default:
			kiln_store_u64(out, value);
			break;
	}
}

/* One number, given as such or in a string, into its place. Not for bool. */
bool
kiln_dtype_number_in(uint8_t dtype, const char *text, size_t length, bool words, uint8_t *out, kiln_error *error)
{
	kiln_scalar value;
	uint16_t	half;

	switch (dtype)
	{
		case KILN_DTYPE_F64:
			if (!kiln_f64_in(text, length, words, &value.f64, error))
				return false;
			kiln_store_f64(out, value.f64);
			return true;
		case KILN_DTYPE_F32:
			if (!kiln_f32_in(text, length, words, &value.f32, error))
				return false;
			kiln_store_f32(out, value.f32);
			return true;
		case KILN_DTYPE_F16:
		case KILN_DTYPE_BF16:
			if (!kiln_half_in(dtype, text, length, words, &half, error))
				return false;
			kiln_store_u16(out, half);
			return true;
		default:
			if (!kiln_integer_in(kind_of_dtype(dtype), text, length, &value, error))
				return false;
			store_integer(out, kiln_dtype_width(dtype), value.u64);
			return true;
	}
}

static bool
element_in(uint8_t dtype, const KilnJsonValue *value, MemoryContext scratch, uint8_t *out, kiln_error *error)
{
	const char *text;
	size_t		length;
	bool		good;

	if (value->kind == KILN_NODE_NULL)
		return kiln_fail(error, KILN_E_NULL, 0, NULL);
	if (dtype == KILN_DTYPE_BOOL)
	{
		*out = value->kind == KILN_NODE_TRUE;
		if (value->kind == KILN_NODE_TRUE || value->kind == KILN_NODE_FALSE)
			return true;
		return kiln_source_fail(error, ERRCODE_INVALID_TEXT_REPRESENTATION, "expected true or false, found %s",
								kiln_node_word(value->kind));
	}
	if (value->kind == KILN_NODE_NUMBER)
		return kiln_dtype_number_in(dtype, value->text, value->length, false, out, error);
	if (value->kind != KILN_NODE_STRING)
		return kiln_source_fail(error, ERRCODE_INVALID_TEXT_REPRESENTATION, "expected a number, found %s",
								kiln_node_word(value->kind));
	if (!kiln_json_string(value, scratch, &text, &length, error))
		return false;
	good = kiln_dtype_number_in(dtype, text, length, true, out, error);
	if (text != value->text)
		pfree(unconstify(char *, text));
	return good;
}

/* All elements of "data" into their place. */
static bool
data_in(const KilnJsonText *json, const KilnTensorText *in, uint8_t *out, kiln_error *error)
{
	KilnJsonValue list = kiln_json_value(json, in->data);
	uint32_t	width = kiln_dtype_width(in->tensor.dtype);
	const char *pos = list.text + 1;

	for (uint32 i = 0; i < list.node->count; i++)
	{
		KilnJsonValue value = kiln_json_flat_next(&pos);

		if (!element_in(in->tensor.dtype, &value, CurrentMemoryContext, out + (size_t) i * width, error))
		{
			kiln_error_prepend_index(error, i);
			kiln_error_prepend_name(error, "data", 4);
			return false;
		}
		if (i % POLL_EVERY == POLL_EVERY - 1)
			CHECK_FOR_INTERRUPTS();
	}
	return true;
}

static bool
base64_in(const KilnJsonText *json, const KilnTensorText *in, uint8_t *out, kiln_error *error)
{
	KilnJsonValue value = kiln_json_value(json, in->base64);
	const char *text;
	size_t		length;

	if (!kiln_json_string(&value, CurrentMemoryContext, &text, &length, error))
		return false;
	if (!kiln_base64_decode(text, length, out))
		return kiln_source_fail(error, ERRCODE_INVALID_TEXT_REPRESENTATION, "malformed base64");
	return true;
}

/* ------------------------------------------------------------------ one tensor's description in */

static bool
tensor_form(kiln_error *error)
{
	return kiln_source_fail(error, ERRCODE_INVALID_TEXT_REPRESENTATION,
							"a tensor has a dtype, a shape, and either data or base64");
}

static bool
shape_in(const KilnJsonText *json, uint32 node, kiln_tensor *tensor, kiln_error *error)
{
	KilnJsonValue list = kiln_json_value(json, node);
	const char *pos = list.text + 1;

	if (list.kind != KILN_NODE_FLAT || list.node->count > KILN_MAX_RANK)
		return kiln_source_fail(error, ERRCODE_INVALID_TEXT_REPRESENTATION,
								"a shape is a list of at most %d dimensions", KILN_MAX_RANK);
	tensor->rank = (uint8_t) list.node->count;
	for (int i = 0; i < tensor->rank; i++)
	{
		KilnJsonValue value = kiln_json_flat_next(&pos);
		uint8_t		dimension[8];

		if (!element_in(KILN_DTYPE_U64, &value, CurrentMemoryContext, dimension, error))
		{
			kiln_error_prepend_index(error, i);
			kiln_error_prepend_name(error, "shape", 5);
			return false;
		}
		tensor->shape[i] = kiln_load_u64(dimension);
	}
	return true;
}

static bool
dtype_in(const KilnJsonText *json, uint32 node, kiln_tensor *tensor, kiln_error *error)
{
	KilnJsonValue value = kiln_json_value(json, node);
	const char *text = "";
	size_t		length = 0;
	char		clip[KILN_CLIP];

	if (value.kind == KILN_NODE_STRING && !kiln_json_string(&value, CurrentMemoryContext, &text, &length, error))
		return false;
	tensor->dtype = value.kind == KILN_NODE_STRING ? kiln_dtype_find(text, length) : 0;
	if (tensor->dtype != 0)
		return true;
	return kiln_source_fail(error, ERRCODE_INVALID_TEXT_REPRESENTATION, "unknown dtype \"%s\"",
							kiln_clip(value.text, value.length, clip));
}

/* Find the four keys of a tensor's object. */
static bool
members_in(const KilnJsonText *json, const KilnJsonNode *object, uint32 nodes[4], kiln_error *error)
{
	static const char *const words[] = {"dtype", "shape", "data", "base64"};
	uint32		key = (uint32) (object - json->nodes) + 1;

	memset(nodes, 0, 4 * sizeof(uint32));
	while (key < object->next)
	{
		KilnJsonValue value = kiln_json_value(json, key);
		const char *text;
		size_t		length;
		int			i;

		if (!kiln_json_string(&value, CurrentMemoryContext, &text, &length, error))
			return false;
		for (i = 0; i < 4; i++)
			if (strlen(words[i]) == length && memcmp(words[i], text, length) == 0)
				break;
		if (i == 4 || nodes[i] != 0)
			return tensor_form(error);
		nodes[i] = key + 1;
		key = json->nodes[key + 1].next;
	}
	return true;
}

/* Does the data that the text holds fit the shape? Asked before room is made for either. */
static bool
check_length(const KilnJsonText *json, const KilnTensorText *in, kiln_error *error)
{
	uint64_t	length;
	uint64_t	elements;
	size_t		given;

	if (!kiln_tensor_size(in->tensor.dtype, in->tensor.rank, in->tensor.shape, &length, &elements))
		return kiln_source_fail(error, ERRCODE_PROGRAM_LIMIT_EXCEEDED, "the shape is too large");
	if (in->data)
	{
		KilnJsonValue list = kiln_json_value(json, in->data);

		if (list.kind != KILN_NODE_FLAT)
			return kiln_source_fail(error, ERRCODE_INVALID_TEXT_REPRESENTATION, "data is a list of scalars");
		given = (size_t) list.node->count * kiln_dtype_width(in->tensor.dtype);
	}
	else
	{
		KilnJsonValue value = kiln_json_value(json, in->base64);
		const char *text;
		size_t		text_length;

		if (value.kind != KILN_NODE_STRING)
			return kiln_source_fail(error, ERRCODE_INVALID_TEXT_REPRESENTATION, "base64 is a string");
		if (!kiln_json_string(&value, CurrentMemoryContext, &text, &text_length, error))
			return false;
		if (!kiln_base64_length(text, text_length, &given))
			return kiln_source_fail(error, ERRCODE_INVALID_TEXT_REPRESENTATION, "malformed base64");
	}
	if (given != length)
		return kiln_source_fail(error, ERRCODE_INVALID_TEXT_REPRESENTATION, "the data does not fit the shape");
	return true;
}

static bool
tensor_in(const KilnJsonText *json, uint32 node, KilnTensorText *in, kiln_error *error)
{
	KilnJsonValue object = kiln_json_value(json, node);
	uint32		members[4];

	if (object.kind != KILN_NODE_OBJECT)
		return tensor_form(error);
	if (!members_in(json, object.node, members, error))
		return false;
	if (!members[0] || !members[1] || !members[2] == !members[3])
		return tensor_form(error);
	in->data = members[2];
	in->base64 = members[3];
	return dtype_in(json, members[0], &in->tensor, error) && shape_in(json, members[1], &in->tensor, error) &&
		check_length(json, in, error);
}

/* ------------------------------------------------------------------ a directory in */

static int
compare_tensors(const void *a, const void *b)
{
	const kiln_tensor *x = &((const KilnTensorText *) a)->tensor;
	const kiln_tensor *y = &((const KilnTensorText *) b)->tensor;

	return kiln_compare_bytes(x->name, x->name_length, y->name, y->name_length);
}

/* Name and description of each tensor of the object. */
static bool
describe_tensors(const KilnJsonText *json, uint32 passed_over, KilnTensorText *in, kiln_error *error)
{
	const KilnJsonNode *object = &json->nodes[0];
	char		clip[KILN_CLIP];

	for (uint32 key = 1; key < object->next; key = json->nodes[key + 1].next)
	{
		KilnJsonValue value = kiln_json_value(json, key);
		const char *name;
		size_t		length;

		if (key == passed_over)
			continue;
		if (!kiln_json_string(&value, CurrentMemoryContext, &name, &length, error))
			return false;
		memset(in, 0, sizeof *in);
		if (!kiln_tensor_name_valid(name, length, 0))
			return kiln_source_fail(error, ERRCODE_INVALID_TEXT_REPRESENTATION, "\"%s\" can't be a tensor's name",
									kiln_clip(name, length, clip));
		in->tensor.name = name;
		in->tensor.name_length = (uint16_t) length;
		if (!tensor_in(json, key + 1, in, error))
		{
			kiln_error_prepend_name(error, name, length);
			return false;
		}
		if (!kiln_tensor_name_valid(name, length, in->tensor.rank))
			return kiln_source_fail(error, ERRCODE_INVALID_TEXT_REPRESENTATION,
									"name \"%s\" is too long for a tensor of rank %d",
									kiln_clip(name, length, clip), in->tensor.rank);
		in++;
		CHECK_FOR_INTERRUPTS();
	}
	return true;
}

/* Sort by name; no name twice. */
static bool
sort_tensors(KilnTensorText *in, uint32 count, kiln_error *error)
{
	char		clip[KILN_CLIP];

	qsort(in, count, sizeof *in, compare_tensors);
	for (uint32 i = 1; i < count; i++)
		if (compare_tensors(&in[i - 1], &in[i]) == 0)
			return kiln_source_fail(error, ERRCODE_INVALID_TEXT_REPRESENTATION, "repeated key \"%s\"",
									kiln_clip(in[i].tensor.name, in[i].tensor.name_length, clip));
	return true;
}

/* A frame for a directory of that size, in a context; NULL if it would be too large. */
static struct varlena *
directory_room(uint64 total, MemoryContext context, uint8_t **directory, kiln_error *error)
{
	MemoryContext old;
	kiln_writer writer;

	if (total > KILN_MAX_FRAME - KILN_TENSORS_HEAD)
	{
		kiln_fail(error, KILN_E_SIZE, 0, NULL);
		return NULL;
	}
	old = MemoryContextSwitchTo(context);
	kiln_builder_init(&writer, KILN_TENSORS_HEAD + total);
	MemoryContextSwitchTo(old);
	kiln_builder_head_tensors(&writer);
	*directory = writer.pos;
	writer.pos += total;
	return kiln_builder_finish(&writer);
}

/* Read what the descriptions promise into a frame. in: sorted. */
static struct varlena *
build_directory(const KilnJsonText *json, KilnTensorText *in, uint32 count, MemoryContext result, kiln_error *error)
{
	kiln_tensor *tensors = MemoryContextAllocHuge(CurrentMemoryContext, ((Size) count + 1) * sizeof *tensors);
	struct varlena *frame;
	uint8_t    *directory;
	uint64_t	total;

	for (uint32 i = 0; i < count; i++)
	{
		uint64_t	elements;

		tensors[i] = in[i].tensor;
		kiln_tensor_size(tensors[i].dtype, tensors[i].rank, tensors[i].shape, &tensors[i].length, &elements);
	}
	if (!kiln_directory_layout(tensors, count, &total, error))
		return NULL;
	frame = directory_room(total, result, &directory, error);
	if (frame == NULL)
		return NULL;
	kiln_directory_build(tensors, count, total, directory);
	for (uint32 i = 0; i < count; i++)
	{
		uint8_t    *out = directory + tensors[i].offset;

		if (!(in[i].data ? data_in(json, &in[i], out, error) : base64_in(json, &in[i], out, error)))
		{
			kiln_error_prepend_name(error, tensors[i].name, tensors[i].name_length);
			return NULL;
		}
	}
	/* what base64 gave for bools is still unchecked */
	return kiln_directory_validate(directory, total, error) ? frame : NULL;
}

struct varlena *
kiln_tensors_from_json(const KilnJsonText *json, uint32 passed_over, MemoryContext result, kiln_error *error)
{
	uint32		count = json->nodes[0].count - (passed_over ? 1 : 0);
	KilnTensorText *in = MemoryContextAllocHuge(CurrentMemoryContext, ((Size) count + 1) * sizeof *in);

	if (!describe_tensors(json, passed_over, in, error) || !sort_tensors(in, count, error))
		return NULL;
	return build_directory(json, in, count, result, error);
}

struct varlena *
kiln_tensors_from_base64(const char *text, size_t length, kiln_error *error)
{
	struct varlena *frame;
	uint8_t    *directory;
	size_t		total;

	if (!kiln_base64_length(text, length, &total))
	{
		kiln_source_fail(error, ERRCODE_INVALID_TEXT_REPRESENTATION, "malformed base64");
		return NULL;
	}
	frame = directory_room(total, CurrentMemoryContext, &directory, error);
	if (frame == NULL)
		return NULL;
	if (!kiln_base64_decode(text, length, directory))
	{
		kiln_source_fail(error, ERRCODE_INVALID_TEXT_REPRESENTATION, "malformed base64");
		return NULL;
	}
	return kiln_directory_validate(directory, total, error) ? frame : NULL;
}

/* ------------------------------------------------------------------ out */

static bool
add_integer(KilnPrinter *printer, uint8_t kind, const uint8_t *data)
{
	kiln_type	type = {.kind = kind, .width = kind <= KILN_I64 ? 1u << (kind - KILN_I8) : 1u << (kind - KILN_U8)};
	char		out[32];

	return kiln_printer_add(printer, out, kiln_print_integer(&type, data, out));
}

static bool
add_element(KilnPrinter *printer, uint8_t dtype, const uint8_t *data)
{
	char		out[32];

	switch (dtype)
	{
		case KILN_DTYPE_BOOL:
			return *data ? kiln_printer_add(printer, "true", 4) : kiln_printer_add(printer, "false", 5);
		case KILN_DTYPE_F64:
			return kiln_printer_float(printer, out, kiln_print_f64(kiln_load_f64(data), out));
		case KILN_DTYPE_F32:
			return kiln_printer_float(printer, out, kiln_print_f32(kiln_load_f32(data), out));
		case KILN_DTYPE_F16:
		case KILN_DTYPE_BF16:
			return kiln_printer_float(printer, out, kiln_print_half(dtype, kiln_load_u16(data), out));
		default:
			return add_integer(printer, kind_of_dtype(dtype), data);
	}
}

/* The elements, as numbers or in base64. */
static bool
add_data(KilnPrinter *printer, const kiln_tensor *tensor)
{
	uint32_t	width = kiln_dtype_width(tensor->dtype);
	uint64_t	count = tensor->length / width;

	if (count > WRITTEN_OUT)
		return kiln_printer_add(printer, ", \"base64\": ", 12) &&
			kiln_printer_base64(printer, tensor->data, tensor->length);
	if (!kiln_printer_add(printer, ", \"data\": [", 11))
		return false;
	for (uint64_t i = 0; i < count; i++)
		if ((i > 0 && !kiln_printer_add(printer, ",", 1)) ||
			!add_element(printer, tensor->dtype, tensor->data + i * width))
			return false;
	return kiln_printer_add(printer, "]", 1);
}

bool
kiln_printer_tensor(KilnPrinter *printer, const kiln_tensor *tensor)
{
	const char *dtype = kiln_dtype_name(tensor->dtype);
	char		shape[KILN_MAX_RANK * 21 + 1];
	int			n = 0;

	for (int i = 0; i < tensor->rank; i++)
		n += sprintf(shape + n, "%s" UINT64_FORMAT, i > 0 ? "," : "", tensor->shape[i]);
	return kiln_printer_add(printer, "{\"dtype\": \"", 11) && kiln_printer_add(printer, dtype, strlen(dtype)) &&
		kiln_printer_add(printer, "\", \"shape\": [", 13) && kiln_printer_add(printer, shape, n) &&
		kiln_printer_add(printer, "]", 1) && add_data(printer, tensor) && kiln_printer_add(printer, "}", 1);
}

bool
kiln_printer_tensors(KilnPrinter *printer, const uint8_t *directory, size_t n)
{
	uint32_t	count = kiln_directory_count(directory, n);
	kiln_tensor tensor;

	for (uint32_t i = 0; i < count; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (!kiln_directory_entry(directory, n, i, &tensor) || tensor.offset > n || tensor.length > n - tensor.offset)
		{
			printer->fault = KILN_PRINT_DIRECTORY;
			return false;
		}
		if (printer->filled && !kiln_printer_add(printer, ", ", 2))
			return false;
		printer->filled = 1;
		if (!kiln_printer_string(printer, tensor.name, tensor.name_length) || !kiln_printer_add(printer, ": ", 2) ||
			!kiln_printer_tensor(printer, &tensor))
			return false;
	}
	return true;
}
