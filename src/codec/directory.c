/*
 * Tensor directories (FORMAT 4): validate, read, build.
 *
 * A directory has one spelling only: from the tensors (names, dtypes, shapes) every other byte follows, but for the
 * payloads themselves. So kiln_directory_validate() compares what it finds with what must stand there, and
 * rebuilding an accepted directory from its own tensors gives the same bytes.
 *
 * Sums and products are 64 bits wide and tested before they are made. Shapes keep payloads below 2^63 bytes, so
 * that the sum of an offset that is at most the directory's size and a payload can't wrap.
 */
#include "internal.h"

#define ENTRY_SHAPE		24			/* bytes of an entry before its shape */
#define SIZE_BOUND		((uint64_t) 1 << 63)

static const char directory_magic[8] = {'K', 'I', 'L', 'N', 'T', 'D', 'I', 'R'};

/* ------------------------------------------------------------------ dtypes and shapes */

static const struct
{
	const char *name;
	uint8_t		width;
}			dtypes[] =
{
	[KILN_DTYPE_BOOL] = {"bool", 1},
	[KILN_DTYPE_I8] = {"i8", 1},
	[KILN_DTYPE_I16] = {"i16", 2},
	[KILN_DTYPE_I32] = {"i32", 4},
	[KILN_DTYPE_I64] = {"i64", 8},
	[KILN_DTYPE_U8] = {"u8", 1},
	[KILN_DTYPE_U16] = {"u16", 2},
	[KILN_DTYPE_U32] = {"u32", 4},
	[KILN_DTYPE_U64] = {"u64", 8},
	[KILN_DTYPE_F16] = {"f16", 2},
	[KILN_DTYPE_BF16] = {"bf16", 2},
	[KILN_DTYPE_F32] = {"f32", 4},
	[KILN_DTYPE_F64] = {"f64", 8},
};

#define DTYPE_END	(sizeof dtypes / sizeof dtypes[0])

uint32_t
kiln_dtype_width(uint8_t dtype)
{
	return dtype < DTYPE_END ? dtypes[dtype].width : 0;
}

const char *
kiln_dtype_name(uint8_t dtype)
{
	return dtype < DTYPE_END ? dtypes[dtype].name : NULL;
}

uint8_t
kiln_dtype_find(const char *word, size_t length)
{
	uint8_t		dtype;

	for (dtype = KILN_DTYPE_BOOL; dtype < DTYPE_END; dtype++)
	{
		if (strlen(dtypes[dtype].name) == length && memcmp(dtypes[dtype].name, word, length) == 0)
			return dtype;
	}
	return 0;
}

bool
kiln_tensor_size(uint8_t dtype, uint8_t rank, const uint64_t *shape, uint64_t *length, uint64_t *elements)
{
	uint64_t	width = kiln_dtype_width(dtype);
	uint64_t	bytes = width;
	bool		empty = false;
	uint8_t		i;

	if (width == 0 || rank > KILN_MAX_RANK)
		return false;
	for (i = 0; i < rank; i++)
	{
		if (shape[i] == 0)
			empty = true;
		else if (shape[i] > (SIZE_BOUND - 1) / bytes)
			return false;
		else
			bytes *= shape[i];
	}
	*length = empty ? 0 : bytes;
	*elements = *length / width;
	return true;
}

/* Most bytes that a name may have beside a shape of that rank. */
static size_t
name_room(uint8_t rank)
{
	return (size_t) KILN_MAX_TENSOR_NAME - 8 * (size_t) rank;
}

bool
kiln_tensor_name_valid(const char *name, size_t length, uint8_t rank)
{
	bool		nul;

	if (rank > KILN_MAX_RANK || length > name_room(rank))
		return false;
	if (length > 0 && name[0] == '$')
		return false;
	return kiln_utf8_prefix((const uint8_t *) name, length, &nul) == length;
}

/* The next multiple of 64. at is below 2^64 - 63 wherever this is called. */
static uint64_t
align_up(uint64_t at)
{
	return (at + (KILN_DIRECTORY_ALIGN - 1)) & ~(uint64_t) (KILN_DIRECTORY_ALIGN - 1);
}

/* ------------------------------------------------------------------ validate */

/* First byte of p that is not zero, n if there is none. */
static size_t
first_not_zero(const uint8_t *p, size_t n)
{
	size_t		i = 0;

	while (n - i >= 8 && kiln_load_u64(p + i) == 0)
		i += 8;
	while (i < n && p[i] == 0)
		i++;
	return i;
}

/* The 64 bytes before the entries. On success *count entries are inside the n bytes and *total is n. */
static bool
validate_header(const uint8_t *directory, size_t n, uint32_t *count, kiln_error *error)
{
	uint64_t	total;
	size_t		at;

	if (n < KILN_DIRECTORY_HEADER)
		return kiln_fail(error, KILN_E_TRUNCATED, 0, "the directory is shorter than its header");
	if (memcmp(directory, directory_magic, sizeof directory_magic) != 0)
		return kiln_fail(error, KILN_E_MAGIC, 0, NULL);
	if (kiln_load_u32(directory + 8) != 1)
		return kiln_fail(error, KILN_E_VERSION, 8, NULL);
	*count = kiln_load_u32(directory + 12);
	if (*count > (n - KILN_DIRECTORY_HEADER) / KILN_DIRECTORY_ENTRY)
		return kiln_fail(error, KILN_E_DIRECTORY, 12, "the count is too large for the bytes present");
	total = kiln_load_u64(directory + 16);
	if (total > n)
		return kiln_fail(error, KILN_E_TRUNCATED, 16, "the total is more than the bytes present");
	if (total < n)
		return kiln_fail(error, KILN_E_TRAILING, 16, "the total is less than the bytes present");
	at = 24 + first_not_zero(directory + 24, KILN_DIRECTORY_HEADER - 24);
	if (at < KILN_DIRECTORY_HEADER)
		return kiln_fail(error, KILN_E_RESERVED, at, "in the directory's header");
	return true;
}

/* The name of the entry at base, whose rank and name length are good, and the zeros behind it. */
static bool
validate_name(const uint8_t *directory, size_t base, kiln_error *error)
{
	const uint8_t *entry = directory + base;
	size_t		name_at = ENTRY_SHAPE + 8 * (size_t) entry[17];
	size_t		length = kiln_load_u16(entry + 18);
	size_t		good;
	size_t		used = name_at + length;
	bool		nul;

	good = kiln_utf8_prefix(entry + name_at, length, &nul);
	if (good < length)
		return kiln_fail(error, nul ? KILN_E_NUL : KILN_E_UTF8, base + name_at + good, "in the name of a tensor");
	if (length > 0 && entry[name_at] == '$')
		return kiln_fail(error, KILN_E_DIRECTORY, base + name_at, "the name of a tensor starts with $");
	used += first_not_zero(entry + used, KILN_DIRECTORY_ENTRY - used);
	if (used < KILN_DIRECTORY_ENTRY)
		return kiln_fail(error, KILN_E_RESERVED, base + used, "behind the name of a tensor");
	return true;
}

/*
 * The entry at base. at: where its payload must start. On success *tensor has its name, and its payload lies inside
 * the n bytes.
 */
static bool
validate_entry(const uint8_t *directory, size_t n, size_t base, uint64_t at, kiln_tensor *tensor, kiln_error *error)
{
	const uint8_t *entry = directory + base;
	uint64_t	length;
	uint64_t	elements;
	uint8_t		i;

	tensor->offset = kiln_load_u64(entry);
	tensor->length = kiln_load_u64(entry + 8);
	tensor->dtype = entry[16];
	tensor->rank = entry[17];
	tensor->name_length = kiln_load_u16(entry + 18);
	if (tensor->offset != at)
		return kiln_fail(error, KILN_E_DIRECTORY, base, "the offset of a tensor is not the one that follows");
	if (kiln_dtype_width(tensor->dtype) == 0)
		return kiln_fail(error, KILN_E_DIRECTORY, base + 16, "unknown dtype");
	if (tensor->rank > KILN_MAX_RANK)
		return kiln_fail(error, KILN_E_DIRECTORY, base + 17, "the rank of a tensor is above 8");
	if (tensor->name_length > name_room(tensor->rank))
		return kiln_fail(error, KILN_E_DIRECTORY, base + 18, "the name of a tensor is too long");
	if (kiln_load_u32(entry + 20) != 0)
		return kiln_fail(error, KILN_E_RESERVED, base + 20 + first_not_zero(entry + 20, 4), "in the entry of a tensor");

	for (i = 0; i < tensor->rank; i++)
		tensor->shape[i] = kiln_load_u64(entry + ENTRY_SHAPE + 8 * (size_t) i);
	if (!kiln_tensor_size(tensor->dtype, tensor->rank, tensor->shape, &length, &elements))
		return kiln_fail(error, KILN_E_DIRECTORY, base + ENTRY_SHAPE, "the shape of a tensor is too large");
	if (tensor->length != length)
		return kiln_fail(error, KILN_E_DIRECTORY, base + 8, "the payload of a tensor has not the size of its shape");
	if (at > n || length > n - at)
		return kiln_fail(error, KILN_E_DIRECTORY, base + 8, "the payload of a tensor is beyond the total");

	tensor->name = (const char *) entry + ENTRY_SHAPE + 8 * (size_t) tensor->rank;
	tensor->data = directory + (size_t) at;
	return validate_name(directory, base, error);
}

/* What stands between the end of one payload and the start of the tensor's, and the payload itself. */
static bool
validate_payload(const uint8_t *directory, uint64_t end, const kiln_tensor *tensor, kiln_error *error)
{
	size_t		gap = (size_t) (tensor->offset - end);
	size_t		good = first_not_zero(directory + (size_t) end, gap);

	if (good < gap)
		return kiln_fail(error, KILN_E_RESERVED, (size_t) end + good, "between the payloads of tensors");
	if (tensor->dtype != KILN_DTYPE_BOOL)
		return true;
	good = kiln_bool_prefix(tensor->data, (size_t) tensor->length);
	if (good < tensor->length)
		return kiln_fail(error, KILN_E_BOOL, (size_t) tensor->offset + good, "in the payload of a tensor");
	return true;
}

bool
kiln_directory_validate(const uint8_t *directory, size_t n, kiln_error *error)
{
	kiln_tensor tensor;
	const char *before = NULL;	/* the name before */
	size_t		before_length = 0;
	uint64_t	end;			/* of the payload before, or of the entries */
	uint32_t	count = 0;
	uint32_t	i;

	if (!validate_header(directory, n, &count, error))
		return false;
	end = KILN_DIRECTORY_HEADER + (uint64_t) KILN_DIRECTORY_ENTRY * count;
	for (i = 0; i < count; i++)
	{
		size_t		base = KILN_DIRECTORY_HEADER + (size_t) KILN_DIRECTORY_ENTRY * i;

		if (!validate_entry(directory, n, base, align_up(end), &tensor, error))
			return false;
		if (i > 0 && kiln_compare_bytes(before, before_length, tensor.name, tensor.name_length) >= 0)
			return kiln_fail(error, KILN_E_DIRECTORY, (size_t) ((const uint8_t *) tensor.name - directory),
							 "the names of tensors are not strictly ascending");
		if (!validate_payload(directory, end, &tensor, error))
			return false;
		before = tensor.name;
		before_length = tensor.name_length;
		end = tensor.offset + tensor.length;
	}
	if (end != n)
		return kiln_fail(error, KILN_E_DIRECTORY, 16, "the total is not the end of the last payload");
	return true;
}

/* ------------------------------------------------------------------ read */

uint32_t
kiln_directory_count(const uint8_t *directory, size_t n)
{
	return n < KILN_DIRECTORY_HEADER ? 0 : kiln_load_u32(directory + 12);
}

bool
kiln_directory_entry(const uint8_t *directory, size_t n, uint32_t i, kiln_tensor *tensor)
{
	const uint8_t *entry;
	uint8_t		d;

	if (i >= kiln_directory_count(directory, n) || i >= (n - KILN_DIRECTORY_HEADER) / KILN_DIRECTORY_ENTRY)
		return false;
	entry = directory + KILN_DIRECTORY_HEADER + (size_t) KILN_DIRECTORY_ENTRY * i;
	tensor->offset = kiln_load_u64(entry);
	tensor->length = kiln_load_u64(entry + 8);
	tensor->dtype = entry[16];
	tensor->rank = entry[17];
	tensor->name_length = kiln_load_u16(entry + 18);
	if (tensor->rank > KILN_MAX_RANK || tensor->name_length > name_room(tensor->rank))
		return false;
	for (d = 0; d < tensor->rank; d++)
		tensor->shape[d] = kiln_load_u64(entry + ENTRY_SHAPE + 8 * (size_t) d);
	tensor->name = (const char *) entry + ENTRY_SHAPE + 8 * (size_t) tensor->rank;
	/* the payload may lie beyond the n bytes, where C knows no pointers */
	tensor->data = (const uint8_t *) ((uintptr_t) directory + (uintptr_t) tensor->offset);
	return true;
}

int64_t
kiln_directory_find(const uint8_t *directory, size_t n, const char *name, size_t length)
{
	uint32_t	low = 0;
	uint32_t	high = kiln_directory_count(directory, n);

	while (low < high)
	{
		uint32_t	middle = low + (high - low) / 2;
		kiln_tensor tensor;
		int			order;

		if (!kiln_directory_entry(directory, n, middle, &tensor))
			return -1;
		order = kiln_compare_bytes(name, length, tensor.name, tensor.name_length);
		if (order == 0)
			return middle;
		if (order < 0)
			high = middle;
		else
			low = middle + 1;
	}
	return -1;
}

/* ------------------------------------------------------------------ build */

/* Fail for one of the tensors to build: the path is its name, or its position if the name can't be shown. */
static bool
tensor_fail(kiln_error *error, kiln_code code, const kiln_tensor *tensor, uint32_t i, const char *detail)
{
	kiln_fail(error, code, 0, detail);
	if (kiln_tensor_name_valid(tensor->name, tensor->name_length, 0))
		kiln_error_prepend_name(error, tensor->name, tensor->name_length);
	else
		kiln_error_prepend_index(error, i);
	return false;
}

/* Is this tensor, by itself, one that a directory can hold? */
static bool
tensor_check(const kiln_tensor *tensor, uint32_t i, kiln_error *error)
{
	uint64_t	length;
	uint64_t	elements;

	if (kiln_dtype_width(tensor->dtype) == 0)
		return tensor_fail(error, KILN_E_DIRECTORY, tensor, i, "unknown dtype");
	if (tensor->rank > KILN_MAX_RANK)
		return tensor_fail(error, KILN_E_DIRECTORY, tensor, i, "the rank of a tensor is above 8");
	if (!kiln_tensor_name_valid(tensor->name, tensor->name_length, tensor->rank))
		return tensor_fail(error, KILN_E_DIRECTORY, tensor, i,
						   "the name of a tensor is too long, starts with $ or is not UTF-8 without NUL");
	if (!kiln_tensor_size(tensor->dtype, tensor->rank, tensor->shape, &length, &elements))
		return tensor_fail(error, KILN_E_SIZE, tensor, i, "the shape of a tensor is too large");
	if (tensor->length != length)
		return tensor_fail(error, KILN_E_DIRECTORY, tensor, i, "the payload of a tensor has not the size of its shape");
	return true;
}

bool
kiln_directory_layout(kiln_tensor *tensors, uint32_t count, uint64_t *total, kiln_error *error)
{
	uint64_t	end = KILN_DIRECTORY_HEADER + (uint64_t) KILN_DIRECTORY_ENTRY * count;
	uint32_t	i;

	for (i = 0; i < count; i++)
	{
		kiln_tensor *tensor = &tensors[i];

		if (!tensor_check(tensor, i, error))
			return false;
		if (i > 0 && kiln_compare_bytes(tensor[-1].name, tensor[-1].name_length, tensor->name, tensor->name_length) >= 0)
			return tensor_fail(error, KILN_E_DIRECTORY, tensor, i, "the names of tensors are not strictly ascending");
		/* both are below 2^63, the bound of a payload; so neither the sum nor its rounding can wrap */
		tensor->offset = align_up(end);
		if (tensor->length >= SIZE_BOUND - KILN_DIRECTORY_ALIGN - tensor->offset)
			return tensor_fail(error, KILN_E_SIZE, tensor, i, "the directory is too large");
		end = tensor->offset + tensor->length;
	}
	*total = end;
	return true;
}

/* The 128 bytes of one entry. */
static void
build_entry(const kiln_tensor *tensor, uint8_t *entry)
{
	uint8_t    *name = entry + ENTRY_SHAPE + 8 * (size_t) tensor->rank;
	uint8_t		i;

	memset(entry, 0, KILN_DIRECTORY_ENTRY);
	kiln_store_u64(entry, tensor->offset);
	kiln_store_u64(entry + 8, tensor->length);
	entry[16] = tensor->dtype;
	entry[17] = tensor->rank;
	kiln_store_u16(entry + 18, tensor->name_length);
	for (i = 0; i < tensor->rank; i++)
		kiln_store_u64(entry + ENTRY_SHAPE + 8 * (size_t) i, tensor->shape[i]);
	if (tensor->name_length > 0)
		memcpy(name, tensor->name, tensor->name_length);
}

/*
 * Write the directory that kiln_directory_layout() laid out: total bytes at out. The elements of a bool tensor must
 * be 0 or 1; nothing looks.
 */
void
kiln_directory_build(const kiln_tensor *tensors, uint32_t count, uint64_t total, uint8_t *out)
{
	size_t		end = KILN_DIRECTORY_HEADER + (size_t) KILN_DIRECTORY_ENTRY * count;
	uint32_t	i;

	memset(out, 0, KILN_DIRECTORY_HEADER);
	memcpy(out, directory_magic, sizeof directory_magic);
	kiln_store_u32(out + 8, 1);
	kiln_store_u32(out + 12, count);
	kiln_store_u64(out + 16, total);
	for (i = 0; i < count; i++)
	{
		const kiln_tensor *tensor = &tensors[i];

		build_entry(tensor, out + KILN_DIRECTORY_HEADER + (size_t) KILN_DIRECTORY_ENTRY * i);
		memset(out + end, 0, (size_t) tensor->offset - end);
		end = (size_t) tensor->offset;
		if (tensor->data != NULL && tensor->length > 0)
			memcpy(out + end, tensor->data, (size_t) tensor->length);
		end += (size_t) tensor->length;
	}
}
