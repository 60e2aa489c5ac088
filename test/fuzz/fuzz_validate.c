/*
 * Fuzz target: a definition, and bytes that claim to be a payload under it.
 *
 * Input: one byte picks a definition of the list; 255 says that a u16 length and a definition's text follow. The rest
 * is the payload. Whatever it is, the held skip and the walk stay inside (the sanitisers watch). Where it validates,
 * all ways of stepping over it end at its end, and so does the walk.
 */
#include <stdio.h>
#include <stdlib.h>

#include "json_check.h"
#include "kiln.h"

static const char *const definitions[] = {
	"message(a bool,b bool,x i32,y i32,id i64,score f64,s string,t string)",
	"message(a bool,b bool,x i32,y i32,id i64,score f64,s string,t string)[]",
	"bool[]", "string", "bytes", "numeric", "json", "date", "timestamptz", "uuid[]", "string[]", "i32?[]", "dict<i8>",
	"dict<string?>", "dict<dict<bool>>", "enum('a','b','c')", "enum('a','b')[]", "(a json?)[]", "numeric[]",
	"(a i8,b (c bool,d date,e enum('x','y')),f string?,g dict<(h numeric,i bool[])>,j json,k timestamp?[])",
	"(a (b (c bool,d i64)[])?,e string[][])[]", "(a bool?,b i8?,c string?,d (e bool)?,f uuid)", "json?[]",
	"(a timestamp,b date,c timestamptz)[]", "f64[]"
};

#define COUNT (sizeof definitions / sizeof *definitions)

#define CHECK(condition) \
	do \
	{ \
		if (!(condition)) \
		{ \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
			abort(); \
		} \
	} while (0)

/* Parsed once, and kept. */
static const kiln_schema *
listed_schema(size_t i)
{
	static kiln_schema *schemas[COUNT];

	if (schemas[i] == NULL)
		CHECK(kiln_schema_parse(definitions[i], strlen(definitions[i]), NULL, &schemas[i], NULL));
	return schemas[i];
}

static bool
touch(const uint8_t *data, uint32_t length)
{
	volatile uint8_t last = 0;

	if (length != 0)
		last = (uint8_t) (data[0] ^ data[length - 1]);
	(void) last;
	return true;
}

static bool
on_scalar(void *context, const kiln_type *type, const uint8_t *data, uint32_t length)
{
	(void) context;
	if (type->kind == KILN_BOOL)
		CHECK(data[0] <= 1);
	if (type->kind == KILN_ENUM)
		CHECK(kiln_load_u16(data) < type->count);
	return touch(data, length);
}

static bool
on_key(void *context, const kiln_type *type, const uint8_t *key, uint32_t length)
{
	(void) context;
	(void) type;
	return touch(key, length);
}

static void
check(const kiln_type *type, const uint8_t *payload, size_t n)
{
	static const kiln_visitor visitor = {.scalar = on_scalar, .key = on_key};
	kiln_held	held = {payload, n, NULL};
	kiln_error	error;
	kiln_reader reader;
	bool		valid = kiln_validate(type, payload, n, &json_checker, &error);
	size_t		used;
	bool		read;

	if (!valid)
		CHECK(error.offset <= n && error.code != KILN_E_OK && error.code <= KILN_E_TIMESTAMP);
	CHECK(kiln_walk(type, payload, n, NULL, &visitor, NULL, &used));
	CHECK(used <= n);
	kiln_reader_init(&reader, payload, n);
	read = kiln_reader_skip(&reader, type);
	if (valid)
		CHECK(read && reader.pos == payload + n);
	if (read)
	{
		size_t		end = (size_t) (reader.pos - payload);

		CHECK(used == end);
		CHECK(kiln_view_skip(type, payload) == reader.pos);
		if (n >= KILN_HELD_LEAST)
			CHECK(kiln_held_skip(&held, type, 0) == end);
	}
	if (n >= KILN_HELD_LEAST)
		for (size_t pos = 0; pos <= n; pos += 1 + n / 4)
			CHECK(kiln_held_skip(&held, type, pos) <= n);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const kiln_schema *schema = NULL;
	kiln_schema *own = NULL;
	uint8_t    *payload;
	size_t		length;

	if (size < 1)
		return -1;
	if (data[0] < COUNT)
		schema = listed_schema(data[0]);
	data++, size--;
	if (schema == NULL)
	{
		kiln_parse_options options = {.json = &json_checker};

		if (size < 2 || data[-1] != 255)
			return -1;
		length = kiln_load_u16(data);
		if (length > size - 2)
			return -1;
		if (!kiln_schema_parse((const char *) data + 2, length, &options, &own, NULL))
			return 0;
		schema = own;
		data += 2 + length;
		size -= 2 + length;
	}
	payload = malloc(size != 0 ? size : 1);
	CHECK(payload != NULL);
	memcpy(payload, data, size);
	check(schema->root, payload, size);
	free(payload);
	kiln_schema_free(own);
	return 0;
}
