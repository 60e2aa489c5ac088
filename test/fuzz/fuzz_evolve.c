/*
 * Fuzz target: evolution of any bytes.
 *
 * Byte 0 picks a pair of definitions and a direction. If byte 1 is odd, the eight bytes behind it seed a valid
 * payload and what follows are damages of three bytes each (the place, and what to add there); else all that follows
 * is the payload. What must hold: nothing outside the payload is read, a valid payload gives a valid one or an error
 * of its own values, and one whose types have the same bytes in both definitions gives itself.
 */
#include <stdio.h>
#include <stdlib.h>

#include "random.h"

static const char *const pairs[][2] = {
	{"m(a bool,b i32,c string,d f64)", "n(a bool,b i32,c string,d f64)"},
	{"(a i8,b u16,c f32,d u32[],e i64)", "(e numeric,d f64[],c f64,b i32,a f32)"},
	{"(a (x i8?,y string)[],b dict<i32?>,c enum('p','q','r'))",
	"(c enum('r','q'),b dict<i64?>,z i8?,a (y string,x i16?)[]?)"},
	{"(a i32?,b string?,c json,d (k i8?)?[])", "(a i32=5,b string,c json?,d (k i8=1,l bool?)?[])"},
	{"(a i8[][],b dict<dict<u8>>,c uuid,d date)", "(d date,c uuid?,b dict<dict<u16>>,a i16[][])"},
	{"(a string,b bytes,c i32)", "(c i64,b bytes)"},
	{"dict<(a enum('x','y')?,b timestamp)[]>", "dict<(b timestamp,a enum('y','x')?)[]>"},
	{"i16?[]", "numeric?[]"},
};

#define PAIRS (sizeof pairs / sizeof pairs[0])

typedef struct conversion
{
	kiln_schema *from;
	kiln_schema *to;
	kiln_evolution *evolution;	/* NULL: there is none in this direction */
} conversion;

static void
require(bool holds, const char *what)
{
	if (holds)
		return;
	fprintf(stderr, "fuzz_evolve: %s\n", what);
	abort();
}

static const conversion *
compile_all(void)
{
	static conversion all[2 * PAIRS];
	size_t		i;

	for (i = 0; i < 2 * PAIRS && all[i].from == NULL; i++)
	{
		const char *from = pairs[i / 2][i % 2];
		const char *to = pairs[i / 2][1 - i % 2];

		require(kiln_schema_parse(from, strlen(from), NULL, &all[i].from, NULL), from);
		require(kiln_schema_parse(to, strlen(to), NULL, &all[i].to, NULL), to);
		(void) kiln_evolution_compile(all[i].from->root, all[i].to->root, true, NULL, &all[i].evolution, NULL);
		require(i % 2 == 1 || all[i].evolution != NULL, "a pair that does not convert");
	}
	return all;
}

static void
run(const conversion *with, const uint8_t *payload, size_t n)
{
	bool		valid = kiln_validate(with->from->root, payload, n, NULL, NULL);
	kiln_writer writer;
	kiln_error	error;

	kiln_writer_init(&writer, NULL, 0);
	writer.grow = kiln_writer_grow_malloc;
	if (!kiln_evolution_run(with->evolution, payload, n, NULL, &writer, &error))
	{
		require(kiln_writer_length(&writer) == 0, "a failure leaves something behind");
		require(error.code == KILN_E_NULL || error.code == KILN_E_LABEL, kiln_error_text(error.code));
	}
	else if (valid)
	{
		require(kiln_validate(with->to->root, writer.start, kiln_writer_length(&writer), NULL, NULL),
				"a valid value becomes an invalid one");
		if (with == compile_all())
			require(kiln_writer_length(&writer) == n && memcmp(writer.start, payload, n) == 0, "a copy differs");
	}
	free(writer.start);
}

int			LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const conversion *with;
	test_bytes	built = {0};
	test_random r;
	uint8_t    *payload;
	size_t		n;

	if (size < 2)
		return 0;
	with = &compile_all()[data[0] % (2 * PAIRS)];
	if (with->evolution == NULL)
		return 0;
	if (data[1] % 2 == 1 && size >= 10)
	{
		r.state = kiln_load_u64(data + 2);
		test_random_payload(&r, with->from->root, &built);
		for (size_t i = 10; i + 3 <= size && built.length > 0; i += 3)
			built.data[kiln_load_u16(data + i) % built.length] += data[i + 2];
	}
	else
		test_bytes_add(&built, data + 2, size - 2);

	/* a block of exactly its size, so that a sanitizer sees the first byte read beyond it */
	n = built.length;
	payload = malloc(n != 0 ? n : 1);
	require(payload != NULL, "no memory");
	if (n != 0)
		memcpy(payload, built.data, n);
	run(with, payload, n);
	free(payload);
	test_bytes_free(&built);
	return 0;
}
