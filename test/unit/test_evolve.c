/*
 * Evolution: every widening, fields that come, go and move, labels, defaults, what is refused and where; and damaged
 * sources, from which nothing may be read outside the payload.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "kiln.h"
#include "random.h"

static kiln_schema *
parse(const char *definition, size_t length)
{
	static const kiln_parse_options options = {.json = &test_json_any};
	kiln_schema *schema;
	kiln_error	error;

	if (!kiln_schema_parse(definition, length, &options, &schema, &error))
		fail_msg("%.*s: %s at %zu", (int) length, definition, kiln_error_text(error.code), error.offset);
	return schema;
}

/* Bytes written as hex, with spaces; returns their number. */
static size_t
from_hex(const char *hex, uint8_t *out)
{
	size_t		n = 0;
	unsigned	byte;

	for (; *hex; hex += *hex == ' ' ? 1 : 2)
		if (*hex != ' ' && sscanf(hex, "%2x", &byte) == 1)
			out[n++] = (uint8_t) byte;
	return n;
}

/* Convert a payload; what comes out, or an error's code and path, as text in a static buffer. */
static const char *
evolve(const char *from_text, const char *to_text, bool drop, const char *hex)
{
	static char result[1024];
	kiln_schema *from = parse(from_text, strlen(from_text));
	kiln_schema *to = parse(to_text, strlen(to_text));
	kiln_evolution *evolution = NULL;
	kiln_writer writer;
	kiln_error	error = {0};
	uint8_t		payload[256];
	size_t		n = from_hex(hex, payload);
	uint8_t    *exact = malloc(n ? n : 1);	/* so that a sanitizer sees a read beyond it */

	memcpy(exact, payload, n);
	kiln_writer_init(&writer, NULL, 0);
	writer.grow = kiln_writer_grow_malloc;
	assert_true(kiln_validate(from->root, exact, n, NULL, NULL));
	if (kiln_evolution_compile(from->root, to->root, drop, NULL, &evolution, &error) &&
		kiln_evolution_run(evolution, exact, n, NULL, &writer, &error))
	{
		size_t		at = 0;

		assert_true(kiln_validate(to->root, writer.start, kiln_writer_length(&writer), NULL, NULL));
		result[0] = '\0';
		for (size_t i = 0; i < kiln_writer_length(&writer); i++)
			at += (size_t) snprintf(result + at, sizeof result - at, "%02x", writer.start[i]);
	}
	else
	{
		assert_int_equal(kiln_writer_length(&writer), 0);
		snprintf(result, sizeof result, "%s|%s|%s", kiln_error_text(error.code), error.path, error.detail);
	}
	kiln_evolution_free(evolution);
	free(writer.start);
	free(exact);
	kiln_schema_free(from);
	kiln_schema_free(to);
	return result;
}

#define GIVES(from, to, hex, expected)	assert_string_equal(evolve(from, to, false, hex), expected)
#define REMOVED		"field is not in the new definition|"
#define CONVERT		"type does not convert to that of the new definition|"

static void
test_integers(void **state)
{
	(void) state;
	GIVES("i8", "i16", "ff", "ffff");
	GIVES("i8", "i32", "80", "80ffffff");
	GIVES("i8", "i64", "7f", "7f00000000000000");
	GIVES("i16", "i32", "0080", "0080ffff");
	GIVES("i32", "i64", "feffffff", "feffffffffffffff");
	GIVES("u8", "u16", "ff", "ff00");
	GIVES("u8", "i16", "ff", "ff00");
	GIVES("u16", "u32", "ffff", "ffff0000");
	GIVES("u16", "i32", "ffff", "ffff0000");
	GIVES("u32", "u64", "ffffffff", "ffffffff00000000");
	GIVES("u32", "i64", "ffffffff", "ffffffff00000000");
	GIVES("i64", "i64", "0102030405060708", "0102030405060708");
	GIVES("i64", "i32", "0000000000000000", CONVERT "|i64 to i32");
	GIVES("u8", "i8", "00", CONVERT "|u8 to i8");
	GIVES("i8", "u16", "00", CONVERT "|i8 to u16");
	GIVES("u64", "i64", "0000000000000000", CONVERT "|u64 to i64");
	GIVES("i32", "string", "00000000", CONVERT "|i32 to string");
	GIVES("date", "timestamp", "00000000", CONVERT "|date to timestamp");
}

static void
test_floats(void **state)
{
	(void) state;
	GIVES("i8", "f64", "ff", "000000000000f0bf");
	GIVES("i32", "f64", "00000080", "000000000000e0c1");
	GIVES("u32", "f64", "ffffffff", "0000e0ffffffef41");
	GIVES("i64", "f64", "0000000000000000", CONVERT "|i64 to f64");
	GIVES("u64", "f64", "0000000000000000", CONVERT "|u64 to f64");
	GIVES("i16", "f32", "0080", "000000c7");
	GIVES("u16", "f32", "ffff", "00ff7f47");
	GIVES("i8", "f32", "ff", "000080bf");
	GIVES("i32", "f32", "00000000", CONVERT "|i32 to f32");
	GIVES("f32", "f64", "0000c03f", "000000000000f83f");
	GIVES("f32", "f64", "00000080", "0000000000000080");
	GIVES("f32", "f64", "010000 00", "000000000000a036");
	GIVES("f32", "f64", "000080ff", "000000000000f0ff");
	/* NaNs keep sign and bits; the quiet bit is set */
	GIVES("f32", "f64", "0000c07f", "000000000000f87f");
	GIVES("f32", "f64", "010080ff", "000000200000f8ff");
	GIVES("f32", "f64", "ffffff7f", "000000e0ffffff7f");
	GIVES("f64", "f32", "0000000000000000", CONVERT "|f64 to f32");
	GIVES("f64", "numeric", "0000000000000000", CONVERT "|f64 to numeric");
}

static void
test_numeric(void **state)
{
	(void) state;
	GIVES("i8", "numeric", "80", "040000002d313238");
	GIVES("u8", "numeric", "ff", "03000000323535");
	GIVES("i64", "numeric", "0000000000000000", "0100000030");
	GIVES("i64", "numeric", "0000000000000080", "140000002d39323233333732303336383534373735383038");
	GIVES("u64", "numeric", "ffffffffffffffff", "140000003138343436373434303733373039353531363135");
}

static void
test_optionals(void **state)
{
	(void) state;
	GIVES("(a i32)", "(a i32?)", "05000000", "0105000000");
	GIVES("(a i32)", "(a i64?)", "05000000", "010500000000000000");
	GIVES("(a i32?)", "(a i64?)", "01 05000000", "010500000000000000");
	GIVES("(a i32?)", "(a i64?)", "00", "00");
	GIVES("(a i32?)", "(a i32)", "01 05000000", "05000000");
	GIVES("(a i32?)", "(a i32)", "00", "null for what is not optional|a|");
	GIVES("(a i32?)", "(a i32 = 7)", "00", "07000000");
	GIVES("(a i32?)", "(a i32 = 7)", "01 05000000", "05000000");
	GIVES("(a string?)", "(a string='x')", "00", "0100000078");
	GIVES("(a i32?[])", "(a i32[])", "02000000 01 05000000 01 06000000", "020000000500000006000000");
	GIVES("(a i32?[])", "(a i32[])", "02000000 01 05000000 00", "null for what is not optional|a[1]|");
	/* a JSON null is what an optional json has as absent */
	GIVES("(a json)", "(a json?)", "04000000 6e756c6c", "00");
	GIVES("(a json)", "(a json?)", "01000000 31", "010100000031");
	GIVES("(a json?)", "(a json)", "00", "null for what is not optional|a|");
}

static void
test_enums(void **state)
{
	(void) state;
	GIVES("enum('a','b')", "enum('a','b','c')", "0100", "0100");
	GIVES("enum('a','b')", "enum('c','b','a')", "0100", "0100");
	GIVES("enum('a','b')", "enum('c','b','a')", "0000", "0200");
	GIVES("(e enum('a','b'))", "(e enum('b'))", "0100", "0000");
	GIVES("(e enum('a','b'))", "(e enum('b'))", "0000", "enum label is not in the new definition|e|a");
	GIVES("enum('a')", "string", "0000", CONVERT "|enum('a') to string");
}

static void
test_structs(void **state)
{
	(void) state;
	/* names do not matter, nor do defaults that nobody asks for */
	GIVES("m(a i32,b bool)", "n(a i32,b bool)", "05000000 01", "0500000001");
	GIVES("m(a i32,b bool)", "m(a i32=3,b bool)", "05000000 01", "0500000001");
	/* added, at the end, in front and between */
	GIVES("(a i8,b i8)", "(a i8,b i8,c string?)", "01 02", "010200");
	GIVES("(a i8,b i8)", "(z i16=-1,a i8,y f32?,b i8)", "01 02", "ffff010002");
	GIVES("(a i8)", "(a i8,b i8)", "01", "missing field|b|");
	/* moved */
	GIVES("(a i8,b i16,c i8)", "(c i8,b i16,a i8)", "01 0203 04", "04020301");
	GIVES("(s string,t string?,n i8)", "(n i16,t string?,s string)", "01000000 61 01 02000000 6262 05",
		  "0500010200000062620100000061");
	/* removed */
	GIVES("(a i8,b i8)", "(a i8)", "01 02", REMOVED "b|");
	assert_string_equal(evolve("(a i8,b i8)", "(a i8)", true, "01 02"), "01");
	assert_string_equal(evolve("(x string,a i8,y string?,b i8,z i8[])", "(a i16,b i8)", true,
							   "01000000 61 05 01 00000000 06 02000000 0102"), "050006");
	assert_string_equal(evolve("(a i8,b i8)", "(c i8?,b i8)", true, "01 02"), "0002");
	/* nested, in lists and dicts, with what follows kept apart */
	GIVES("(u (a i32,d string)?,n i8)", "(u (a i64,d string,e i8?)?,n i8)", "01 05000000 01000000 78 09",
		  "01050000000000000001000000780009");
	GIVES("(u (a i32)?,n i8)", "(u (a i64)?,n i8)", "00 09", "0009");
	GIVES("(l (b i8,a i8)[],n i8)", "(l (a i8,b i16)[],n i8)", "02000000 01 02 03 04 09", "0200000002010004030009");
	GIVES("dict<i8>", "dict<i16>", "02000000 01000000 61 01 01000000 62 ff", "02000000010000006101000100000062ffff");
	GIVES("i16[][]", "numeric[][]", "01000000 02000000 0100 0200", "01000000020000000100000031" "0100000032");
	GIVES("i8[]", "i64[]", "00000000", "00000000");
	/* where */
	GIVES("(u (v (a i64)[])?)", "(u (v (a i32)[])?)", "00", CONVERT "u.v.a|i64 to i32");
	GIVES("(u dict<(a i8?)[]>)", "(u dict<(a i8)[]>)", "01000000 02000000 6b2e 02000000 01 05 00",
		  "null for what is not optional|u.\"k.\"[1].a|");
	GIVES("(a i8)", "dict<i8>", "00", CONVERT "|(a i8) to dict<i8>");
}

/* A payload of any type becomes itself, and itself again behind "?" and in a struct with one more field. */
static void
test_random_values(void **state)
{
	test_random r = {20};
	int			round;

	(void) state;
	for (round = 0; round < 3000; round++)
	{
		test_bytes	text = {0};
		test_bytes	wider = {0};
		test_bytes	payload = {0};
		kiln_schema *from;
		kiln_schema *to;
		kiln_evolution *evolution;
		kiln_writer writer;
		uint8_t    *exact;
		size_t		n;

		test_bytes_text(&text, "(a ");
		test_random_definition(&r, &text);
		test_bytes_text(&text, ",b i32)");
		test_bytes_text(&wider, "(b i64,new string?,a ");
		test_bytes_add(&wider, text.data + 3, text.length - 3 - strlen(",b i32)"));
		test_bytes_text(&wider, ")");
		from = parse((const char *) text.data, text.length);
		to = parse((const char *) wider.data, wider.length);
		test_random_payload(&r, from->root, &payload);
		n = payload.length;
		exact = malloc(n);
		memcpy(exact, payload.data, n);

		kiln_writer_init(&writer, NULL, 0);
		writer.grow = kiln_writer_grow_malloc;
		assert_true(kiln_evolution_compile(from->root, to->root, false, NULL, &evolution, NULL));
		assert_true(kiln_evolution_run(evolution, exact, n, NULL, &writer, NULL));
		assert_int_equal(kiln_writer_length(&writer), n + 5);
		assert_int_equal((int64_t) kiln_load_u64(writer.start), (int32_t) kiln_load_u32(exact + n - 4));
		assert_int_equal(writer.start[8], 0);
		assert_memory_equal(writer.start + 9, exact, n - 4);

		/* cut and damaged sources: any answer will do, but from inside the bytes */
		for (int i = 0; i < 8; i++)
		{
			size_t		cut = test_random_below(&r, (uint32_t) n + 1);
			uint8_t    *damaged = malloc(cut ? cut : 1);

			memcpy(damaged, exact, cut);
			if (cut > 0)
				damaged[test_random_below(&r, (uint32_t) cut)] = (uint8_t) test_random_next(&r);
			kiln_writer_reset(&writer);
			(void) kiln_evolution_run(evolution, damaged, cut, NULL, &writer, NULL);
			free(damaged);
		}
		kiln_evolution_free(evolution);
		free(writer.start);
		free(exact);
		kiln_schema_free(from);
		kiln_schema_free(to);
		test_bytes_free(&text);
		test_bytes_free(&wider);
		test_bytes_free(&payload);
	}
}

/* Memory that gives out after a number of requests. */
static int	requests_left;

static void *
failing_allocate(void *context, size_t size)
{
	(void) context;
	return requests_left-- > 0 ? malloc(size) : NULL;
}

static void
failing_release(void *context, void *memory)
{
	(void) context;
	free(memory);
}

static void
test_limits(void **state)
{
	const kiln_allocator failing = {failing_allocate, failing_release, NULL};
	kiln_schema *from = parse("(a i8,e enum('a','b'),c (y i8,x i8)[])", 38);
	kiln_schema *to = parse("(c (x i8,y i8)[],e enum('b','a'),a i16)", 39);
	static const uint8_t payload[] = {1, 0, 0, 1, 0, 0, 0, 2, 3};
	uint8_t		buffer[12];
	kiln_evolution *evolution;
	kiln_writer writer;
	kiln_error	error;
	int			i;

	(void) state;
	for (i = 0;; i++)
	{
		requests_left = i;
		if (kiln_evolution_compile(from->root, to->root, false, &failing, &evolution, &error))
			break;
		assert_int_equal(error.code, KILN_E_MEMORY);
		assert_null(evolution);
	}
	assert_true(i >= 2);

	/* too small a buffer, by one byte after the other */
	for (size_t room = 0; room <= 10; room++)
	{
		kiln_writer_init(&writer, buffer, room);
		if (kiln_evolution_run(evolution, payload, sizeof payload, NULL, &writer, &error))
		{
			assert_int_equal(room, 10);
			assert_memory_equal(buffer, "\1\0\0\0\3\2\1\0\1\0", 10);
		}
		else
		{
			assert_true(room < 10);
			assert_int_equal(error.code, KILN_E_SIZE);
			assert_int_equal(kiln_writer_length(&writer), 0);
		}
	}
	kiln_evolution_free(evolution);
	kiln_evolution_free(NULL);
	kiln_schema_free(from);
	kiln_schema_free(to);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_integers),
		cmocka_unit_test(test_floats),
		cmocka_unit_test(test_numeric),
		cmocka_unit_test(test_optionals),
		cmocka_unit_test(test_enums),
		cmocka_unit_test(test_structs),
		cmocka_unit_test(test_random_values),
		cmocka_unit_test(test_limits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
