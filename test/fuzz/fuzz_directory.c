/*
 * Fuzz target: tensor directories.
 *
 * Any bytes may be refused. What is accepted must be readable, each tensor found by its name, and the directory
 * built again from its own tensors must be the same bytes: FORMAT 4 has one spelling only.
 */
#include <stdlib.h>

#include "kiln.h"

int			LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void
must(bool condition)
{
	if (!condition)
		abort();
}

/* Fill tensors, which has room for one more than count. */
static void
read_all(const uint8_t *directory, size_t n, kiln_tensor *tensors, uint32_t count)
{
	uint32_t	i;

	for (i = 0; i < count; i++)
	{
		kiln_tensor *tensor = &tensors[i];
		uint64_t	length;
		uint64_t	elements;

		must(kiln_directory_entry(directory, n, i, tensor));
		must(kiln_tensor_name_valid(tensor->name, tensor->name_length, tensor->rank));
		must(kiln_tensor_size(tensor->dtype, tensor->rank, tensor->shape, &length, &elements));
		must(length == tensor->length && tensor->offset <= n && length <= n - tensor->offset);
		must(kiln_directory_find(directory, n, tensor->name, tensor->name_length) == (int64_t) i);
	}
	must(!kiln_directory_entry(directory, n, count, &tensors[count]));
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	kiln_error	error;
	kiln_tensor *tensors;
	kiln_tensor any;
	uint32_t	count;
	uint32_t	i;
	uint64_t	total;
	uint8_t    *out;

	/* entries of what nobody has checked: inside the bytes all the same */
	for (i = 0; i < 4; i++)
		kiln_directory_entry(data, n, i, &any);
	kiln_directory_find(data, n, "w", 1);

	if (!kiln_directory_validate(data, n, &error))
	{
		must(error.code != KILN_E_OK && error.offset <= n);
		return 0;
	}
	count = kiln_directory_count(data, n);
	tensors = calloc((size_t) count + 1, sizeof *tensors);
	out = malloc(n);
	must(tensors != NULL && out != NULL);
	read_all(data, n, tensors, count);
	must(kiln_directory_layout(tensors, count, &total, &error) && total == n);
	kiln_directory_build(tensors, count, total, out);
	must(memcmp(out, data, n) == 0);
	free(out);
	free(tensors);
	return 0;
}
