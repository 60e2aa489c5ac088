/*
 * Fuzz target: kiln_from_safetensors.
 *
 * Any bytes may be refused, by an error of PostgreSQL's own classes and in memory that the bytes account for. What is
 * taken is a valid directory, and the file written from it reads as the same bytes.
 *
 * A fuzzer that had to count would never get past the header's length: an input is the header, then the byte 0 (which
 * no JSON has), then the elements; one that begins with 0 is a file as it stands, behind that byte.
 */
#include "stand_in.h"

#include "kiln_tensor.h"

extern Datum kiln_from_safetensors(PG_FUNCTION_ARGS);
extern Datum kiln_to_safetensors(PG_FUNCTION_ARGS);
int			LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

typedef struct Input
{
	const uint8_t *data;
	size_t		n;
} Input;

static void
read_and_write(void *context)
{
	Input	   *input = context;
	Datum		file = bytea_of(input->data, input->n);
	Datum		taken;
	Datum		again;
	bool		isnull;
	kiln_error	error;

	taken = call(kiln_from_safetensors, 1, &file, &isnull);
	MUST(!isnull);
	MUST(kiln_directory_validate((uint8_t *) VARDATA_ANY(taken) + KILN_TENSORS_HEAD,
								 VARSIZE_ANY_EXHDR(taken) - KILN_TENSORS_HEAD, &error));
	file = call(kiln_to_safetensors, 1, &taken, &isnull);
	again = call(kiln_from_safetensors, 1, &file, &isnull);
	MUST(VARSIZE_ANY(again) == VARSIZE_ANY(taken) &&
		 memcmp(DatumGetPointer(again), DatumGetPointer(taken), VARSIZE_ANY(taken)) == 0);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	const uint8_t *zero = memchr(data, 0, n);
	size_t		header = zero ? (size_t) (zero - data) : n;
	size_t		elements = n - header - (zero ? 1 : 0);
	uint8_t    *file = malloc(8 + n);
	Input		input = {file, 8 + header + elements};

	MUST(file != NULL);
	if (n > 0 && data[0] == 0)
		input = (Input) {data + 1, n - 1};
	else
	{
		kiln_store_u64(file, header);
		memcpy(file + 8, data, header);
		if (zero)
			memcpy(file + 8 + header, zero + 1, elements);
	}
	/* an entry of the header is short, and takes some 200 bytes; an element's place is rounded up to 64 */
	MUST(attempt(read_and_write, &input, 65536 + 256 * n) != ERRCODE_OUT_OF_MEMORY);
	free(file);
	return 0;
}
