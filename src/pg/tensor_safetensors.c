/*
 * Directories from and to safetensors files.
 *
 * A file is the length of a header (u64), the header, a JSON object that gives each tensor's dtype, shape and
 * place, and the tensors' elements, row-major and little-endian, which have to lie end to end. What a header says
 * is held against the bytes present before memory is taken.
 */
#include "kiln_tensor.h"

#include "kiln_text.h"

#include "miscadmin.h"

#define LENGTH_BYTES	8
#define HEADER_MAX		100000000	/* as the reference implementation */
#define HEADER_LEVELS	4
#define METADATA		"__metadata__"

pg_noreturn static void
malformed(const char *detail)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_BINARY_REPRESENTATION),
			 errmsg("invalid safetensors file"),
			 errdetail_internal("%s", detail)));
}

/* What the JSON reader says of the header. */
pg_noreturn static void
malformed_header(const kiln_error *error)
{
	const char *detail = error->detail[0] ? error->detail : kiln_error_text(error->code);

	malformed(psprintf(_("The header is no JSON: %s."), kiln_utf8_for_message(detail, strlen(detail))));
}

static const struct
{
	const char *word;
	uint8_t		dtype;
}			words[] =
{
	{"BOOL", KILN_DTYPE_BOOL},
	{"I8", KILN_DTYPE_I8}, {"I16", KILN_DTYPE_I16}, {"I32", KILN_DTYPE_I32}, {"I64", KILN_DTYPE_I64},
	{"U8", KILN_DTYPE_U8}, {"U16", KILN_DTYPE_U16}, {"U32", KILN_DTYPE_U32}, {"U64", KILN_DTYPE_U64},
	{"F16", KILN_DTYPE_F16}, {"BF16", KILN_DTYPE_BF16}, {"F32", KILN_DTYPE_F32}, {"F64", KILN_DTYPE_F64}
};

/* ------------------------------------------------------------------ header in */

/* A string of the header, unescaped. */
static const char *
read_string(const KilnJsonText *json, uint32 node, size_t *length)
{
	KilnJsonValue value = kiln_json_value(json, node);
	const char *text;
	kiln_error	error;

	if (value.kind != KILN_NODE_STRING)
		malformed(_("The header has something else where a string should be."));
	if (!kiln_json_string(&value, CurrentMemoryContext, &text, length, &error))
		malformed_header(&error);
	return text;
}

/* A flat list of at most most whole numbers. Returns their number. */
static int
read_numbers(const KilnJsonText *json, uint32 node, int most, uint64 *numbers)
{
	KilnJsonValue list = kiln_json_value(json, node);
	const char *pos = list.text + 1;

	if (list.kind != KILN_NODE_FLAT)
		malformed(_("A shape or a place is not a list of numbers."));
	if (list.node->count > (uint32) most)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("a tensor has at most %d dimensions", KILN_MAX_RANK)));
	for (uint32 i = 0; i < list.node->count; i++)
	{
		KilnJsonValue value = kiln_json_flat_next(&pos);
		kiln_scalar scalar;
		kiln_error	error;

		if (value.kind != KILN_NODE_NUMBER || !kiln_integer_in(KILN_U64, value.text, value.length, &scalar, &error))
			malformed(_("A shape or a place is not a list of whole numbers."));
		numbers[i] = scalar.u64;
	}
	return (int) list.node->count;
}

static uint8_t
read_dtype(const KilnJsonText *json, uint32 node)
{
	size_t		length;
	const char *word = read_string(json, node, &length);

	for (size_t i = 0; i < lengthof(words); i++)
		if (strlen(words[i].word) == length && memcmp(words[i].word, word, length) == 0)
			return words[i].dtype;
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("safetensors of dtype \"%s\" are not supported", kiln_utf8_for_message(word, Min(length, 64)))));
}

/*
 * What the header says of one tensor; offset is its place among the elements, which are n bytes.
 */
static void
read_tensor(const KilnJsonText *json, uint32 node, uint64 n, kiln_tensor *tensor)
{
	static const char *const keys[] = {"dtype", "shape", "data_offsets"};
	const KilnJsonNode *object = &json->nodes[node];
	uint32		found[3] = {0, 0, 0};
	uint64		place[2];
	uint64_t	elements;

	if (object->kind != KILN_NODE_OBJECT)
		malformed(_("A tensor is not described by an object."));
	for (uint32 key = node + 1; key < object->next; key = json->nodes[key + 1].next)
	{
		size_t		length;
		const char *text = read_string(json, key, &length);
		int			i;

		for (i = 0; i < 3; i++)
			if (strlen(keys[i]) == length && memcmp(keys[i], text, length) == 0)
				break;
		if (i == 3 || found[i] != 0)
			malformed(_("A tensor is described by a dtype, a shape and data_offsets, and nothing else."));
		found[i] = key + 1;
	}
	if (!found[0] || !found[1] || !found[2])
		malformed(_("A tensor is described by a dtype, a shape and data_offsets, and nothing else."));
	tensor->dtype = read_dtype(json, found[0]);
	tensor->rank = (uint8_t) read_numbers(json, found[1], KILN_MAX_RANK, tensor->shape);
	if (read_numbers(json, found[2], 2, place) != 2 || place[0] > place[1] || place[1] > n)
		malformed(_("The place of a tensor is not within the file."));
	if (!kiln_tensor_size(tensor->dtype, tensor->rank, tensor->shape, &tensor->length, &elements))
		kiln_tensor_too_large();
	if (place[1] - place[0] != tensor->length)
		malformed(_("The place of a tensor has not the size of its shape."));
	tensor->offset = place[0];
}

/* Metadata is an object of strings; a directory has no room for it. */
static void
check_metadata(const KilnJsonText *json, uint32 node)
{
	const KilnJsonNode *object = &json->nodes[node];

	if (object->kind != KILN_NODE_OBJECT)
		malformed(_("The metadata is not an object of strings."));
	for (uint32 key = node + 1; key < object->next; key = json->nodes[key + 1].next)
	{
		size_t		length;

		(void) read_string(json, key, &length);
		(void) read_string(json, key + 1, &length);
	}
}

static int
compare_places(const void *a, const void *b)
{
	const kiln_tensor *x = a;
	const kiln_tensor *y = b;

	if (x->offset != y->offset)
		return x->offset < y->offset ? -1 : 1;
	return x->length < y->length ? -1 : x->length > y->length;
}

/* Tensors lie end to end and fill the file. */
static void
check_places(kiln_tensor *tensors, uint32 count, uint64 n)
{
	uint64		end = 0;

	qsort(tensors, count, sizeof(kiln_tensor), compare_places);
	for (uint32 i = 0; i < count; i++)
	{
		if (tensors[i].offset != end)
			malformed(_("The tensors' elements do not lie end to end."));
		end += tensors[i].length;
	}
	if (end != n)
		malformed(_("The tensors' elements do not fill the file."));
}

PG_FUNCTION_INFO_V1(kiln_from_safetensors);

/* kiln_from_safetensors(bytea): all tensors of the file; its metadata is left behind. */
Datum
kiln_from_safetensors(PG_FUNCTION_ARGS)
{
	bytea	   *file = PG_GETARG_BYTEA_PP(0);
	const uint8_t *data = (const uint8_t *) VARDATA_ANY(file);
	size_t		n = VARSIZE_ANY_EXHDR(file);
	uint64		header;
	KilnJsonText json;
	kiln_error	error;
	kiln_tensor *tensors;
	const kiln_tensor *twice;
	uint32		count = 0;
	bool		metadata = false;

	if (n < LENGTH_BYTES)
		malformed(_("It is shorter than its first word."));
	header = kiln_load_u64(data);
	if (header > n - LENGTH_BYTES || header > HEADER_MAX)
		malformed(_("The header is longer than the file, or than 100 MB."));
	if (header == 0 || data[LENGTH_BYTES] != '{')
		malformed(_("The header does not begin as a JSON object."));
	if (!kiln_json_parse(&json, (const char *) data + LENGTH_BYTES, header, HEADER_LEVELS, &error))
		malformed_header(&error);
	n -= LENGTH_BYTES + header;
	tensors = palloc_extended(Max((Size) json.nodes[0].count, 1) * sizeof(kiln_tensor),
							  MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	for (uint32 key = 1; key < json.nodes[0].next; key = json.nodes[key + 1].next)
	{
		size_t		length;
		const char *name = read_string(&json, key, &length);

		CHECK_FOR_INTERRUPTS();
		if (length == strlen(METADATA) && memcmp(name, METADATA, length) == 0)
		{
			if (metadata)
				malformed(_("The header has its metadata twice."));
			metadata = true;
			check_metadata(&json, key + 1);
			continue;
		}
		read_tensor(&json, key + 1, n, &tensors[count]);
		tensors[count].name = name;
		tensors[count].name_length = (uint16_t) Min(length, PG_UINT16_MAX);
		tensors[count].data = data + LENGTH_BYTES + header + tensors[count].offset;
		if (tensors[count].dtype == KILN_DTYPE_BOOL)
			kiln_check_bools(tensors[count].data, tensors[count].length);
		count++;
	}
	check_places(tensors, count, n);
	twice = kiln_tensors_sort(tensors, count);
	if (twice)
		malformed(psprintf(_("Two tensors have the name \"%s\"."),
						   kiln_utf8_for_message(twice->name, twice->name_length)));
	PG_RETURN_POINTER(kiln_tensors_frame(tensors, count));
}

/* ------------------------------------------------------------------ out */

static const char *
safetensors_word(uint8_t dtype)
{
	for (size_t i = 0; i < lengthof(words); i++)
		if (words[i].dtype == dtype)
			return words[i].word;
	return NULL;
}

/* Wide elements first, so that all are aligned; then by name, as they come. */
static int
compare_widths(const void *a, const void *b)
{
	const kiln_tensor *x = a;
	const kiln_tensor *y = b;
	uint32_t	x_width = kiln_dtype_width(x->dtype);
	uint32_t	y_width = kiln_dtype_width(y->dtype);

	if (x_width != y_width)
		return x_width > y_width ? -1 : 1;
	return kiln_tensors_compare(x, y);
}

/* "name":{"dtype":…,"shape":[…],"data_offsets":[…,…]} */
static void
write_tensor(KilnPrinter *printer, const kiln_tensor *tensor, uint64 at)
{
	StringInfoData rest;

	if (tensor->name_length == strlen(METADATA) && memcmp(tensor->name, METADATA, tensor->name_length) == 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_NAME),
				 errmsg("safetensors files can't hold a tensor of the name \"%s\"", METADATA)));
	initStringInfo(&rest);
	appendStringInfo(&rest, ":{\"dtype\":\"%s\",\"shape\":[", safetensors_word(tensor->dtype));
	for (int d = 0; d < tensor->rank; d++)
		appendStringInfo(&rest, d == 0 ? UINT64_FORMAT : "," UINT64_FORMAT, tensor->shape[d]);
	appendStringInfo(&rest, "],\"data_offsets\":[" UINT64_FORMAT "," UINT64_FORMAT "]}", at, at + tensor->length);
	if (!kiln_printer_string(printer, tensor->name, tensor->name_length) ||
		!kiln_printer_add(printer, rest.data, rest.len))
		kiln_printer_report(printer);
	pfree(rest.data);
}

PG_FUNCTION_INFO_V1(kiln_to_safetensors);

/* kiln_to_safetensors(kiln): all tensors of the directory. */
Datum
kiln_to_safetensors(PG_FUNCTION_ARGS)
{
	uint32		count;
	kiln_tensor *tensors = kiln_directory_open(PG_GETARG_DATUM(0), 0, &count);
	StringInfoData header;
	KilnPrinter printer;
	uint64		bytes = 0;
	bytea	   *file;
	uint8_t    *p;
	Size		size;

	qsort(tensors, count, sizeof(kiln_tensor), compare_widths);
	initStringInfo(&header);
	kiln_printer_init(&printer, &header, HEADER_MAX);
	appendStringInfoChar(&header, '{');
	for (uint32 i = 0; i < count; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (i > 0)
			appendStringInfoChar(&header, ',');
		write_tensor(&printer, &tensors[i], bytes);
		bytes += tensors[i].length;
	}
	appendStringInfoChar(&header, '}');
	while (header.len % 8 != 0)
		appendStringInfoChar(&header, ' ');

	size = VARHDRSZ + LENGTH_BYTES + header.len + bytes;
	file = palloc(size);
	SET_VARSIZE(file, size);
	p = (uint8_t *) VARDATA(file);
	kiln_store_u64(p, (uint64) header.len);
	memcpy(p + LENGTH_BYTES, header.data, header.len);
	p += LENGTH_BYTES + header.len;
	for (uint32 i = 0; i < count; i++)
	{
		if (tensors[i].length > 0)
			memcpy(p, tensors[i].data, tensors[i].length);
		p += tensors[i].length;
	}
	PG_RETURN_BYTEA_P(file);
}
