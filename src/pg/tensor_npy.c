/*
 * Tensors from and to numpy's .npy files, versions 1.0 to 3.0.
 *
 * A file is a signature, a version, the length of a header and the header, a Python dict of three keys that is read
 * here as no more than that; then the elements. Both byte orders and both orders of axes are read; little-endian,
 * row-major files are written.
 */
#include "kiln_tensor.h"

#include "miscadmin.h"

#define MAGIC			"\x93NUMPY"
#define MAGIC_LENGTH	6
#define WRITE_ALIGN		64		/* numpy's readers map the elements at this alignment */

pg_noreturn static void
malformed(const char *detail)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_BINARY_REPRESENTATION),
			 errmsg("invalid npy file"),
			 errdetail_internal("%s", detail)));
}

/* ------------------------------------------------------------------ header */

/* What the header says. */
typedef struct NpyHeader
{
	uint8_t		dtype;
	bool		big_endian;
	bool		fortran_order;
	uint8_t		rank;
	uint64		shape[KILN_MAX_RANK];
} NpyHeader;

/* The header's text, on the way. */
typedef struct Cursor
{
	const char *pos;
	const char *end;
} Cursor;

static void
skip_space(Cursor *cursor)
{
	while (cursor->pos < cursor->end &&
		   (*cursor->pos == ' ' || *cursor->pos == '\t' || *cursor->pos == '\n' || *cursor->pos == '\r'))
		cursor->pos++;
}

/* Is this the next character, after white space? Then step over it. */
static bool
take(Cursor *cursor, char c)
{
	skip_space(cursor);
	if (cursor->pos == cursor->end || *cursor->pos != c)
		return false;
	cursor->pos++;
	return true;
}

static void
expect(Cursor *cursor, char c)
{
	if (!take(cursor, c))
		malformed(psprintf(_("The header lacks \"%c\" where one should be."), c));
}

/* A string in either kind of quotes, without escapes. */
static const char *
read_string(Cursor *cursor, size_t *length)
{
	const char *start;
	char		quote;

	skip_space(cursor);
	if (cursor->pos == cursor->end || (*cursor->pos != '\'' && *cursor->pos != '"'))
		malformed(_("The header lacks a string where one should be."));
	quote = *cursor->pos++;
	start = cursor->pos;
	while (cursor->pos < cursor->end && *cursor->pos != quote && *cursor->pos != '\\')
		cursor->pos++;
	if (cursor->pos == cursor->end || *cursor->pos != quote)
		malformed(_("A string in the header does not end."));
	*length = (size_t) (cursor->pos++ - start);
	return start;
}

static bool
take_word(Cursor *cursor, const char *word)
{
	size_t		length = strlen(word);

	skip_space(cursor);
	if ((size_t) (cursor->end - cursor->pos) < length || memcmp(cursor->pos, word, length) != 0)
		return false;
	cursor->pos += length;
	return true;
}

/* One dimension; Python 2 wrote an L behind some. */
static uint64
read_dimension(Cursor *cursor)
{
	const char *start;
	uint64		value = 0;

	skip_space(cursor);
	start = cursor->pos;
	while (cursor->pos < cursor->end && *cursor->pos >= '0' && *cursor->pos <= '9')
	{
		if (__builtin_mul_overflow(value, UINT64CONST(10), &value) ||
			__builtin_add_overflow(value, (uint64) (*cursor->pos - '0'), &value))
			kiln_tensor_too_large();
		cursor->pos++;
	}
	if (cursor->pos == start)
		malformed(_("A dimension is not a number."));
	if (cursor->pos < cursor->end && *cursor->pos == 'L')
		cursor->pos++;
	return value;
}

static void
read_shape(Cursor *cursor, NpyHeader *header)
{
	expect(cursor, '(');
	header->rank = 0;
	while (!take(cursor, ')'))
	{
		if (header->rank == KILN_MAX_RANK)
			ereport(ERROR,
					(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
					 errmsg("a tensor has at most %d dimensions", KILN_MAX_RANK)));
		header->shape[header->rank++] = read_dimension(cursor);
		if (!take(cursor, ','))
		{
			expect(cursor, ')');
			break;
		}
	}
}

pg_noreturn static void
unsupported(const char *descr, size_t length)
{
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("npy files of type \"%s\" are not supported", kiln_utf8_for_message(descr, Min(length, 64))),
			 errhint("Supported are booleans, integers of 1 to 8 bytes and floats of 2 to 8 bytes.")));
}

/* "<f8" and the like; structured types are lists. */
static void
read_descr(Cursor *cursor, NpyHeader *header)
{
	static const struct
	{
		char		code[3];
		uint8_t		dtype;
	}			types[] = {
		{"b1", KILN_DTYPE_BOOL},
		{"i1", KILN_DTYPE_I8}, {"i2", KILN_DTYPE_I16}, {"i4", KILN_DTYPE_I32}, {"i8", KILN_DTYPE_I64},
		{"u1", KILN_DTYPE_U8}, {"u2", KILN_DTYPE_U16}, {"u4", KILN_DTYPE_U32}, {"u8", KILN_DTYPE_U64},
		{"f2", KILN_DTYPE_F16}, {"f4", KILN_DTYPE_F32}, {"f8", KILN_DTYPE_F64}
	};
	const char *descr;
	size_t		length;

	skip_space(cursor);
	if (cursor->pos < cursor->end && *cursor->pos == '[')
		unsupported("structured", 10);
	descr = read_string(cursor, &length);
	header->dtype = 0;
	for (size_t i = 0; length == 3 && i < lengthof(types); i++)
		if (memcmp(descr + 1, types[i].code, 2) == 0)
			header->dtype = types[i].dtype;
	if (header->dtype == 0)
		unsupported(descr, length);
	if (descr[0] != '<' && descr[0] != '>' && !(descr[0] == '|' && kiln_dtype_width(header->dtype) == 1))
		unsupported(descr, length);
	header->big_endian = descr[0] == '>';
}

static bool
is_key(const char *key, size_t length, const char *word)
{
	return strlen(word) == length && memcmp(key, word, length) == 0;
}

/* The dict: its three keys, once each, in any order. */
static void
read_dict(Cursor *cursor, NpyHeader *header)
{
	bool		seen[3] = {false, false, false};

	expect(cursor, '{');
	while (!take(cursor, '}'))
	{
		size_t		length;
		const char *key = read_string(cursor, &length);
		int			which;

		expect(cursor, ':');
		if (is_key(key, length, "descr"))
		{
			which = 0;
			read_descr(cursor, header);
		}
		else if (is_key(key, length, "fortran_order"))
		{
			which = 1;
			header->fortran_order = take_word(cursor, "True");
			if (!header->fortran_order && !take_word(cursor, "False"))
				malformed(_("The order of axes is neither True nor False."));
		}
		else if (is_key(key, length, "shape"))
		{
			which = 2;
			read_shape(cursor, header);
		}
		else
			malformed(_("The header has an unknown key."));
		if (seen[which])
			malformed(_("The header has a key twice."));
		seen[which] = true;
		if (!take(cursor, ','))
		{
			expect(cursor, '}');
			break;
		}
	}
	skip_space(cursor);
	if (cursor->pos != cursor->end)
		malformed(_("Something stands behind the header's end."));
	if (!seen[0] || !seen[1] || !seen[2])
		malformed(_("The header lacks a key."));
}

/* Returns where the elements begin. */
static size_t
read_header(const uint8_t *file, size_t n, NpyHeader *header)
{
	Cursor		cursor;
	size_t		at;
	size_t		length;

	if (n < MAGIC_LENGTH + 4 || memcmp(file, MAGIC, MAGIC_LENGTH) != 0)
		malformed(_("It does not begin as one."));
	if (file[6] < 1 || file[6] > 3 || file[7] != 0)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("npy files of version %d.%d are not supported", file[6], file[7])));
	at = file[6] == 1 ? 10 : 12;
	if (n < at)
		malformed(_("It ends within the header."));
	length = file[6] == 1 ? kiln_load_u16(file + 8) : kiln_load_u32(file + 8);
	if (length > n - at)
		malformed(_("It ends within the header."));
	cursor.pos = (const char *) file + at;
	cursor.end = cursor.pos + length;
	read_dict(&cursor, header);
	return at + length;
}

/* ------------------------------------------------------------------ elements */

static inline void
copy_element(uint8_t *to, const uint8_t *from, uint32_t width, bool swap)
{
	if (!swap)
		memcpy(to, from, width);
	else
		for (uint32_t i = 0; i < width; i++)
			to[i] = from[width - 1 - i];
}

/*
 * Elements into row-major order and little-endian. positions counts through the result's positions; at is where the
 * element lies in the file, whose first axis varies fastest.
 */
static void
copy_elements(const NpyHeader *header, const uint8_t *from, uint8_t *to, uint64 elements)
{
	uint32_t	width = kiln_dtype_width(header->dtype);
	uint64		stride[KILN_MAX_RANK];
	uint64		positions[KILN_MAX_RANK] = {0};
	uint64		at = 0;
	uint64		step = 1;

	if (!header->fortran_order || header->rank < 2)
	{
		if (!header->big_endian)
			memcpy(to, from, elements * width);
		else
			for (uint64 i = 0; i < elements; i++)
				copy_element(to + i * width, from + i * width, width, true);
		return;
	}
	for (int d = 0; d < header->rank; d++)
	{
		stride[d] = step;
		step *= header->shape[d];
	}
	for (uint64 i = 0; i < elements; i++)
	{
		copy_element(to + i * width, from + at * width, width, header->big_endian);
		for (int d = header->rank - 1; d >= 0; d--)
		{
			at += stride[d];
			if (++positions[d] < header->shape[d])
				break;
			at -= stride[d] * positions[d];
			positions[d] = 0;
		}
		if ((i & 0xffff) == 0xffff)
			CHECK_FOR_INTERRUPTS();
	}
}

void
kiln_check_bools(const uint8_t *elements, uint64 n)
{
	for (uint64 i = 0; i < n; i++)
		if (elements[i] > 1)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_BINARY_REPRESENTATION),
					 errmsg("a boolean element is neither 0 nor 1")));
}

PG_FUNCTION_INFO_V1(kiln_from_npy);

/* kiln_from_npy(bytea, name text DEFAULT ''): the file's array as a tensor. */
Datum
kiln_from_npy(PG_FUNCTION_ARGS)
{
	bytea	   *file = PG_GETARG_BYTEA_PP(0);
	const uint8_t *data = (const uint8_t *) VARDATA_ANY(file);
	size_t		n = VARSIZE_ANY_EXHDR(file);
	NpyHeader	header;
	kiln_tensor tensor = {0};
	uint64_t	elements;
	uint8_t    *payload;
	struct varlena *frame;
	size_t		at = read_header(data, n, &header);

	tensor.dtype = header.dtype;
	tensor.rank = header.rank;
	memcpy(tensor.shape, header.shape, header.rank * sizeof header.shape[0]);
	if (!kiln_tensor_size(tensor.dtype, tensor.rank, tensor.shape, &tensor.length, &elements))
		kiln_tensor_too_large();
	if (n - at < tensor.length)
		malformed(_("It ends within the elements."));
	if (n - at > tensor.length)
		malformed(_("Something stands behind the elements."));
	if (tensor.dtype == KILN_DTYPE_BOOL)
		kiln_check_bools(data + at, elements);
	kiln_tensor_set_name(&tensor, PG_GETARG_DATUM(1));
	frame = kiln_tensor_frame(&tensor, &payload);
	if (elements > 0)
		copy_elements(&header, data + at, payload, elements);
	PG_RETURN_POINTER(frame);
}

/* ------------------------------------------------------------------ out */

/* numpy's name of a dtype. */
static const char *
npy_descr(uint8_t dtype)
{
	static const char *const descrs[] = {
		[KILN_DTYPE_BOOL] = "|b1",
		[KILN_DTYPE_I8] = "|i1", [KILN_DTYPE_I16] = "<i2", [KILN_DTYPE_I32] = "<i4", [KILN_DTYPE_I64] = "<i8",
		[KILN_DTYPE_U8] = "|u1", [KILN_DTYPE_U16] = "<u2", [KILN_DTYPE_U32] = "<u4", [KILN_DTYPE_U64] = "<u8",
		[KILN_DTYPE_F16] = "<f2", [KILN_DTYPE_F32] = "<f4", [KILN_DTYPE_F64] = "<f8"
	};

	if (dtype == KILN_DTYPE_BF16)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("npy files can't hold dtype bf16"),
				 errhint("Use kiln_cast(value, 'f32').")));
	return descrs[dtype];
}

PG_FUNCTION_INFO_V1(kiln_to_npy);

/* kiln_to_npy(kiln [, name text]): a file of version 1.0, as numpy.save() writes it. */
Datum
kiln_to_npy(PG_FUNCTION_ARGS)
{
	KilnTensorReader reader;
	StringInfoData header;
	bytea	   *file;
	uint8_t    *p;
	Size		size;

	kiln_tensor_open_argument(&reader, fcinfo, PG_NARGS() > 1 ? 1 : -1);
	initStringInfo(&header);
	appendStringInfo(&header, "{'descr': '%s', 'fortran_order': False, 'shape': (", npy_descr(reader.tensor.dtype));
	for (int d = 0; d < reader.tensor.rank; d++)
		appendStringInfo(&header, d == 0 ? UINT64_FORMAT : ", " UINT64_FORMAT, reader.tensor.shape[d]);
	appendStringInfoString(&header, reader.tensor.rank == 1 ? ",), }" : "), }");
	while ((10 + header.len + 1) % WRITE_ALIGN != 0)
		appendStringInfoChar(&header, ' ');
	appendStringInfoChar(&header, '\n');

	size = VARHDRSZ + 10 + header.len + reader.tensor.length;
	file = palloc(size);
	SET_VARSIZE(file, size);
	p = (uint8_t *) VARDATA(file);
	memcpy(p, MAGIC "\x01\x00", 8);
	kiln_store_u16(p + 8, (uint16_t) header.len);
	memcpy(p + 10, header.data, header.len);
	kiln_tensor_copy(&reader, 0, reader.elements, reader.tensor.dtype, p + 10 + header.len);
	kiln_tensor_close(&reader);
	PG_RETURN_BYTEA_P(file);
}
