/*
 * Fuzz target: kiln_from_npy.
 *
 * Any bytes may be refused, by an error of PostgreSQL's own classes and in memory that the bytes account for. What is
 * taken is a valid directory, and the file written from it reads as the same bytes.
 */
#include "stand_in.h"

#include "kiln_tensor.h"

extern Datum kiln_from_npy(PG_FUNCTION_ARGS);
extern Datum kiln_to_npy(PG_FUNCTION_ARGS);
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
	Datum		arguments[2] = {bytea_of(input->data, input->n), bytea_of(NULL, 0)};
	Datum		taken;
	Datum		file;
	Datum		again;
	bool		isnull;
	kiln_error	error;

	taken = call(kiln_from_npy, 2, arguments, &isnull);
	MUST(!isnull);
	MUST(kiln_directory_validate((uint8_t *) VARDATA_ANY(taken) + KILN_TENSORS_HEAD,
								 VARSIZE_ANY_EXHDR(taken) - KILN_TENSORS_HEAD, &error));
	file = call(kiln_to_npy, 1, &taken, &isnull);
	arguments[0] = file;
	again = call(kiln_from_npy, 2, arguments, &isnull);
	MUST(VARSIZE_ANY(again) == VARSIZE_ANY(taken) &&
		 memcmp(DatumGetPointer(again), DatumGetPointer(taken), VARSIZE_ANY(taken)) == 0);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	Input		input = {data, n};

	MUST(attempt(read_and_write, &input, 65536 + 16 * n) != ERRCODE_OUT_OF_MEMORY);
	return 0;
}
