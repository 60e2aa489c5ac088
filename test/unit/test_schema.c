/*
 * Definitions: the vectors, error codes and limits, stored texts, memory.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "kiln.h"
#include "json_check.h"
#include "jsonl.h"

/* ---- an allocator that counts, and fails when told to */

typedef struct counted
{
	size_t		calls;			/* to allocate */
	size_t		held;			/* allocations not released yet */
	size_t		fail_at;		/* the call that fails, from 1; 0: none */
} counted;

static void *
counted_allocate(void *context, size_t size)
{
	counted    *count = context;
	void	   *memory;

	assert_true(size > 0);
	if (++count->calls == count->fail_at)
		return NULL;
	memory = malloc(size);
	assert_non_null(memory);
	memset(memory, 0xA5, size);
	count->held++;
	return memory;
}

static void
counted_release(void *context, void *memory)
{
	counted    *count = context;

	assert_non_null(memory);
	assert_true(count->held > 0);
	count->held--;
	free(memory);
}

/* ---- a reader of the text defaults in the vectors, which the server reads with its encoder */

typedef struct known_literal
{
	kiln_kind	kind;
	const char *text;
	const char *payload;		/* bytes */
	size_t		length;
} known_literal;

#define LITERAL(kind, text, payload) {kind, text, payload, sizeof payload - 1}

static const known_literal known_literals[] = {
	LITERAL(KILN_F64, "1.5", "\0\0\0\0\0\0\xf8\x3f"),
	LITERAL(KILN_F64, "Infinity", "\0\0\0\0\0\0\xf0\x7f"),
	LITERAL(KILN_F32, "-0", "\0\0\0\x80"),
	LITERAL(KILN_F32, "NaN", "\0\0\xc0\x7f"),
	LITERAL(KILN_BYTES, "\\x00ff", "\2\0\0\0\0\xff"),
	LITERAL(KILN_BYTES, "\\x", "\0\0\0\0"),
	LITERAL(KILN_UUID, "6BA7B810-9DAD-11D1-80B4-00C04FD430C8",
			"\x6b\xa7\xb8\x10\x9d\xad\x11\xd1\x80\xb4\x00\xc0\x4f\xd4\x30\xc8"),
	LITERAL(KILN_DATE, "2024-02-29", "\x79\x22\0\0"),
	LITERAL(KILN_DATE, "-infinity", "\0\0\0\x80"),
	LITERAL(KILN_TIMESTAMP, "2000-01-01T00:00:00", "\0\0\0\0\0\0\0\0"),
	LITERAL(KILN_TIMESTAMPTZ, "2000-01-01T01:00:00+01:00", "\0\0\0\0\0\0\0\0"),
	LITERAL(KILN_NUMERIC, "1.50", "\4\0\0\0" "1.50"),
	LITERAL(KILN_NUMERIC, "NaN", "\3\0\0\0NaN"),
	LITERAL(KILN_JSON, "{\"k\": [1]}", "\x0a\0\0\0{\"k\": [1]}"),
	LITERAL(KILN_LIST, "[1,2,3]", "\3\0\0\0\1\0\0\0\2\0\0\0\3\0\0\0"),
	LITERAL(KILN_DICT, "{\"b\":2,\"a\":1}", "\2\0\0\0\1\0\0\0a\1\0\0\0\1\0\0\0b\2\0\0\0"),
	LITERAL(KILN_LIST, "[null,1]", "\2\0\0\0\0\1\1\0\0\0"),
	LITERAL(KILN_STRUCT, "{\"b\":1}", "\1\0\0\0\0"),
	LITERAL(KILN_LIST, "[\"y\"]", "\1\0\0\0\1\0"),
	LITERAL(KILN_DICT, "{}", "\0\0\0\0"),
	LITERAL(KILN_LIST, "[]", "\0\0\0\0"),
	/* for this file's own tests: quotes inside, a payload that is not valid, a failure */
	LITERAL(KILN_JSON, "\"it's\"", "\6\0\0\0\"it's\""),
	LITERAL(KILN_NUMERIC, "wrong", "\2\0\0\0" "01"),
};

static bool
read_literal(void *context, const kiln_type *type, const char *text, size_t length,
			 const uint8_t **payload, size_t *payload_length, kiln_error *error)
{
	size_t		i;

	(void) context;
	for (i = 0; i < sizeof known_literals / sizeof known_literals[0]; i++)
	{
		const known_literal *each = &known_literals[i];

		if (each->kind == type->kind && strlen(each->text) == length && memcmp(each->text, text, length) == 0)
		{
			*payload = (const uint8_t *) each->payload;
			*payload_length = each->length;
			return true;
		}
	}
	return kiln_fail(error, KILN_E_TYPE, 0, "not in the table");
}

static const kiln_parse_options with_literals = {.literal = read_literal, .json = &json_checker};
static const kiln_parse_options as_stored = {.stored = true, .json = &json_checker};

/* ---- helpers */

static kiln_schema *
parse_with(const char *text, size_t length, const kiln_parse_options *options)
{
	kiln_schema *schema;
	kiln_error	error;

	if (!kiln_schema_parse(text, length, options, &schema, &error))
		fail_msg("%.*s: at %zu: %s (%s)", length > 200 ? 200 : (int) length, text, error.offset,
				 kiln_error_text(error.code), error.detail);
	return schema;
}

static kiln_schema *
parse(const char *text)
{
	return parse_with(text, strlen(text), &with_literals);
}

/* The text must be refused, with that code, there; detail, if not NULL, is part of what is said. */
static void
refused_with(const char *text, size_t length, const kiln_parse_options *options,
			 kiln_code code, size_t offset, const char *detail)
{
	kiln_schema *schema = (kiln_schema *) &with_literals;
	kiln_error	error;

	memset(&error, 0x55, sizeof error);
	if (kiln_schema_parse(text, length, options, &schema, &error))
		fail_msg("%.*s was taken", length > 200 ? 200 : (int) length, text);
	assert_null(schema);
	if (error.code != code || error.offset != offset ||
		(detail != NULL && strstr(error.detail, detail) == NULL))
		fail_msg("%.*s: at %zu: %s (%s)", length > 200 ? 200 : (int) length, text, error.offset,
				 kiln_error_text(error.code), error.detail);
	assert_string_equal(error.path, "");
	/* nobody has to want the error */
	assert_false(kiln_schema_parse(text, length, options, &schema, NULL));
}

static void
refused(const char *text, kiln_code code, size_t offset, const char *detail)
{
	refused_with(text, strlen(text), &with_literals, code, offset, detail);
}

static void
canonical(const char *text, const char *expected)
{
	kiln_schema *schema = parse(text);

	assert_string_equal(schema->text, expected);
	kiln_schema_free(schema);
}

/*
 * What holds of every type: its text stands alone (a "?" apart, which can't be on top) for the same type, and its
 * names are in order.
 */
static void
check_type(const kiln_schema *schema, const kiln_type *type)
{
	uint32_t	i;

	assert_true(type->text >= schema->text && type->text + type->text_length <= schema->text + schema->text_length);
	for (i = 1; (type->kind == KILN_STRUCT || type->kind == KILN_ENUM) && i < type->count; i++)
	{
		const char *before = type->kind == KILN_ENUM ? type->labels[type->by_name[i - 1]].text
			: type->fields[type->by_name[i - 1]].name;
		const char *after = type->kind == KILN_ENUM ? type->labels[type->by_name[i]].text
			: type->fields[type->by_name[i]].name;

		assert_true(strcmp(before, after) < 0);
	}
	for (i = 0; type->kind == KILN_ENUM && i < type->count; i++)
		assert_int_equal(kiln_enum_find(type, type->labels[i].text, type->labels[i].length), i);
	for (i = 0; type->kind == KILN_STRUCT && i < type->count; i++)
	{
		const kiln_field *field = &type->fields[i];

		assert_int_equal(kiln_struct_find(type, field->name, field->name_length), i);
		assert_int_equal(strlen(field->name), field->name_length);
		if (field->default_payload != NULL)
			assert_true(kiln_validate(field->type, field->default_payload, field->default_length, &json_checker, NULL));
		check_type(schema, field->type);
	}
	if (type->element != NULL)
	{
		assert_int_equal(type->depth, type->element->depth + 1);
		check_type(schema, type->element);
	}
}

/* A canonical text gives itself, in both modes, and so does each type's slice of it. */
static void
check_fixed_point(const char *text, size_t length)
{
	kiln_schema *schema = parse_with(text, length, &as_stored);
	kiln_schema *again = parse_with(text, length, &with_literals);

	assert_int_equal(schema->text_length, length);
	assert_memory_equal(schema->text, text, length);
	assert_int_equal(schema->text[length], 0);
	assert_int_equal(again->text_length, length);
	assert_memory_equal(again->text, text, length);
	assert_true(again->hash == schema->hash && schema->hash == kiln_hash(text, length));
	assert_ptr_equal(schema->root->text, schema->text);
	assert_int_equal(schema->root->text_length, length);
	check_type(schema, schema->root);
	kiln_schema_free(again);
	kiln_schema_free(schema);
}

static void
check_hash(const kiln_schema *schema, const char *expected)
{
	char		hash[17];

	snprintf(hash, sizeof hash, "%016" PRIx64, schema->hash);
	assert_string_equal(hash, expected);
}

/* ---- the vectors */

static void
check_valid(jsonl *in)
{
	uint8_t    *text;
	uint8_t    *expected;
	size_t		length = jsonl_hex(in, "text_hex", &text);
	size_t		expected_length = jsonl_hex(in, "canonical_hex", &expected);
	kiln_schema *schema = parse_with((const char *) text, length, &with_literals);

	assert_int_equal(schema->text_length, expected_length);
	assert_memory_equal(schema->text, expected, expected_length);
	check_hash(schema, jsonl_string(in, "hash"));
	assert_int_equal(schema->root->least, jsonl_int(in, "least", -1));
	assert_int_equal(schema->root->depth, jsonl_int(in, "depth", -1));
	assert_int_equal(jsonl_bool(in, "is_canonical"),
					 length == schema->text_length && memcmp(text, schema->text, length) == 0);
	kiln_schema_free(schema);
	check_fixed_point((const char *) expected, expected_length);
}

static void
check_invalid(jsonl *in)
{
	uint8_t    *text;
	size_t		length = jsonl_hex(in, "text_hex", &text);
	kiln_schema *schema;
	kiln_error	error;

	if (kiln_schema_parse((const char *) text, length, &with_literals, &schema, &error))
		fail_msg("row %lld was taken", jsonl_int(in, "id", -1));
	if (error.offset != (size_t) jsonl_int(in, "byte_offset", -1))
		fail_msg("row %lld: offset %zu: %s (%s)", jsonl_int(in, "id", -1), error.offset,
				 kiln_error_text(error.code), error.detail);
	assert_in_range(error.code, KILN_E_SYNTAX, KILN_E_LIMIT);
	assert_int_not_equal(error.code, KILN_E_NOT_CANONICAL);
	assert_true(error.detail[0] != '\0' && error.path[0] == '\0');
}

/* The text of a recipe, to be freed. A "%d" in the item is its number. */
static char *
make_recipe(const char *head, const char *item, const char *separator, size_t count, const char *tail, size_t *length)
{
	const char *number = strstr(item, "%d");
	size_t		most = strlen(head) + strlen(tail) + count * (strlen(item) + strlen(separator) + 8) + 1;
	char	   *text = malloc(most);
	char	   *to = text;
	size_t		i;

	assert_non_null(text);
	to += sprintf(to, "%s", head);
	for (i = 0; i < count; i++)
	{
		if (i > 0)
			to += sprintf(to, "%s", separator);
		if (number == NULL)
			to += sprintf(to, "%s", item);
		else
			to += sprintf(to, "%.*s%zu%s", (int) (number - item), item, i, number + 2);
	}
	to += sprintf(to, "%s", tail);
	*length = (size_t) (to - text);
	return text;
}

static void
check_recipe(jsonl *in)
{
	jsonl		recipe;
	size_t		length;
	char	   *text;

	assert_true(jsonl_sub(in, "recipe", &recipe));
	text = make_recipe(jsonl_string(&recipe, "head"), jsonl_string(&recipe, "item"), jsonl_string(&recipe, "sep"),
					   (size_t) jsonl_int(&recipe, "count", 0), jsonl_string(&recipe, "tail"), &length);
	jsonl_close(&recipe);
	assert_int_equal(length, jsonl_int(in, "bytes", -1));
	if (jsonl_bool(in, "valid"))
	{
		kiln_schema *schema = parse_with(text, length, &with_literals);

		assert_int_equal(schema->text_length, jsonl_int(in, "canonical_bytes", -1));
		check_hash(schema, jsonl_string(in, "hash"));
		check_fixed_point(schema->text, schema->text_length);
		kiln_schema_free(schema);
	}
	else
		refused_with(text, length, &with_literals, KILN_E_LIMIT, (size_t) jsonl_int(in, "byte_offset", -1), NULL);
	free(text);
}

static void
test_vectors(void **state)
{
	jsonl		in;
	size_t		rows = 0;

	(void) state;
	assert_true(jsonl_open(&in, "definitions.jsonl"));
	while (jsonl_next(&in))
	{
		const char *kind = jsonl_string(&in, "kind");

		if (strcmp(kind, "valid") == 0)
			check_valid(&in);
		else if (strcmp(kind, "invalid") == 0)
			check_invalid(&in);
		else if (strcmp(kind, "recipe") == 0)
			check_recipe(&in);
		else
			fail_msg("unknown kind %s", kind);
		rows++;
	}
	jsonl_close(&in);
	assert_true(rows >= 345);
}

/* ---- codes */

static void
test_error_codes(void **state)
{
	static const char bad_utf8[] = "(a string='x\xc3(')";
	static const char nul_comment[] = "i32 -- a\0b";
	static const char bad_comment[] = "i32 -- \xff\n";
	static const char bad_between[] = "timestamp --\xff\n with time zone";

	(void) state;
	refused("p(a)", KILN_E_SYNTAX, 3, "expected a type");
	refused("p(a i32;", KILN_E_SYNTAX, 7, "unexpected character");
	refused("p(a i32", KILN_E_SYNTAX, 7, "expected \")\"");
	refused("numeric(10,2)", KILN_E_SYNTAX, 0, "type modifiers are not supported: numeric");
	refused("(a Character  Varying ( 3 ))", KILN_E_SYNTAX, 3, "modifiers are not supported: character varying");
	refused("i32[4]", KILN_E_SYNTAX, 4, "fixed-size lists");
	refused("(a i32=", KILN_E_SYNTAX, 7, "expected a default");
	refused("(a f64=x'00", KILN_E_SYNTAX, 11, "unterminated");
	refused("(a f64=x'00\n'", KILN_E_SYNTAX, 7, "hexadecimal");
	refused("i32?", KILN_E_SYNTAX, 3, "optional as a whole");
	refused("(a strings)", KILN_E_UNKNOWN_TYPE, 3, "\"strings\"");
	refused("(a tttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttt)", KILN_E_UNKNOWN_TYPE,
			3, "ttt...\"");
	refused("(aB i32)", KILN_E_NAME, 1, "must be quoted: \"aB\"");
	refused("(\"$a\" i32)", KILN_E_NAME, 1, "\"$\"");
	refused("(\"\xcd\xb8\" i32)", KILN_E_NAME, 1, "not assigned");
	refused("enum('')", KILN_E_NAME, 5, "label");
	refused("(a i32,b i32,b i32,a i32)", KILN_E_DUPLICATE, 13, "\"b\"");
	refused("enum('x','y','x','x')", KILN_E_DUPLICATE, 13, "'x'");
	refused("(a u8=256)", KILN_E_DEFAULT, 6, "out of range for u8");
	refused("(a i32?=1)", KILN_E_DEFAULT, 7, "optional");
	refused("(a numeric='wrong')", KILN_E_DEFAULT, 11, "numeric");
	refused("(a date='tomorrow')", KILN_E_DEFAULT, 8, "not in the table");
	refused_with("(a f64='1.5')", 13, NULL, KILN_E_DEFAULT, 7, "x'payload'");
	/* json in a default is refused where nobody can check it, but not a list without any */
	refused_with("(a json=x'0100000031')", 22, NULL, KILN_E_DEFAULT, 8, NULL);
	kiln_schema_free(parse_with("(a json[]=x'00000000')", 22, NULL));
	/* a comment may hold any character, a NUL too */
	kiln_schema_free(parse_with(nul_comment, sizeof nul_comment - 1, &with_literals));
	/* ill-formed UTF-8 is refused wherever it stands */
	refused(bad_utf8, KILN_E_SYNTAX, 12, "UTF-8");
	refused(bad_comment, KILN_E_SYNTAX, 7, "UTF-8");
	refused(bad_between, KILN_E_SYNTAX, 12, "UTF-8");
	refused("(\"\xed\xa0\x80\" i32)", KILN_E_SYNTAX, 2, "UTF-8");
}

static void
test_number_defaults(void **state)
{
	char		text[400];

	(void) state;
	canonical("(a i8=-128,b i16=-32768,c i32=-2147483648,d u16=65535,e u32=4294967295,f u8=-0)",
			  "(a i8=-128,b i16=-32768,c i32=-2147483648,d u16=65535,e u32=4294967295,f u8=0)");
	refused("(a i8=128)", KILN_E_DEFAULT, 6, "i8");
	refused("(a i8=-129)", KILN_E_DEFAULT, 6, "i8");
	refused("(a i64=-9223372036854775809)", KILN_E_DEFAULT, 7, "i64");
	/* one rounding: 2^24 + 1 is halfway, a digit far behind decides */
	canonical("(a f32=16777217,b f32=-16777219)", "(a f32=x'0000804b',b f32=x'020080cb')");
	canonical("(a f64=9007199254740993)", "(a f64=x'0000000000004043')");
	canonical("(a f64=-0,b f32=-0,c numeric=-0)",
			  "(a f64=x'0000000000000000',b f32=x'00000000',c numeric=x'0100000030')");
	canonical("(a numeric=-12)", "(a numeric=x'030000002d3132')");
	refused("(a f32=340282356779733661637539395458142568448)", KILN_E_DEFAULT, 7, "out of range");
	canonical("(a f32=340282356779733661637539395458142568447)", "(a f32=x'ffff7f7f')");
	sprintf(text, "(a f64=1%0308d)", 0);
	canonical(text, "(a f64=x'a0c8eb85f3cce17f')");
	sprintf(text, "(a f64=1%0309d)", 0);
	refused(text, KILN_E_DEFAULT, 7, "out of range");
	sprintf(text, "(a f64=-1%0350d)", 0);
	refused(text, KILN_E_DEFAULT, 7, "out of range");
	canonical("(a json='\"it''s\"')", "(a json=x'06000000226974277322')");
}

static void
test_quoted_names(void **state)
{
	(void) state;
	/* a struct's name is quoted where a bracket after it would mean something else, a field's is not */
	canonical("\"enum\"(enum \"enum\"(\"dict\" i32))", "\"enum\"(enum \"enum\"(dict i32))");
	canonical("timestamp(a dict(b i32))", "timestamp(a dict(b i32))");
}

static void
test_limits(void **state)
{
	size_t		length;
	char	   *text;

	(void) state;
	/* numeric holds 131,072 digits before the point */
	text = make_recipe("(a numeric=", "7", "", 131072, ")", &length);
	kiln_schema_free(parse_with(text, length, &with_literals));
	free(text);
	text = make_recipe("(a numeric=", "7", "", 131073, ")", &length);
	refused_with(text, length, &with_literals, KILN_E_DEFAULT, 11, "numeric");
	free(text);
	/* a text at the limit whose canonical form, with string for text, is above it */
	text = make_recipe("(b text,a string='", "x", "", KILN_MAX_DEFINITION - 20, "')", &length);
	assert_int_equal(length, KILN_MAX_DEFINITION);
	refused_with(text, length, &with_literals, KILN_E_LIMIT, length, "canonical");
	free(text);
	text = make_recipe("", "(a ", "", 33, "i32", &length);
	refused(text, KILN_E_LIMIT, 96, "32 levels");
	free(text);
	/* levels of what is open and of what was read add up */
	refused("(a (a (a (a (a (a (a (a (a (a (a (a (a (a (a (a (a (a (a (a (a (a (a (a (a (a (a (a (a (a i32[]?[]",
			KILN_E_LIMIT, 96, "32 levels");
	text = make_recipe("", "(a ", "", 32, "i32))))))))))))))))))))))))))))))))[]", &length);
	refused(text, KILN_E_LIMIT, 131, "32 levels");
	free(text);
	refused("(a i32,)", KILN_E_SYNTAX, 7, "name");
	text = make_recipe("(\"", "\"\"", "", 505, "\" i32)", &length);
	refused(text, KILN_E_NAME, 1, "63 bytes");
	free(text);
	text = make_recipe("(", "f%d i32", ",", KILN_MAX_FIELDS, ",)", &length);
	refused(text, KILN_E_SYNTAX, length - 1, "name");
	free(text);
}

/* Large definitions of many types, and names that come in the worst order. */
static void
test_large(void **state)
{
	size_t		length;
	char	   *text;

	(void) state;
	text = make_recipe("(", "s%d (a i8,\"B\" i8?,c (d i8[],e dict<u8>)[]?,f enum('z','y','x')='x')", ",", 1600, ")",
					   &length);
	check_fixed_point(text, length);
	free(text);
	text = make_recipe("i8", "[]", "", 32, "", &length);
	check_fixed_point(text, length);
	free(text);
	/* 43,690 names of which the last two are one */
	text = make_recipe("enum('x','", "%d", "','", 43690, "','x')", &length);
	refused(text, KILN_E_DUPLICATE, length - 4, "'x'");
	free(text);
}

/* ---- stored texts */

static bool
never_called(void *context, const kiln_type *type, const char *text, size_t length,
			 const uint8_t **payload, size_t *payload_length, kiln_error *error)
{
	(void) context;
	(void) type;
	(void) payload;
	(void) payload_length;
	(void) error;
	fail_msg("literal called for %.*s", (int) length, text);
	return false;
}

static void
not_canonical(const char *text, size_t offset)
{
	kiln_parse_options options = as_stored;

	options.literal = never_called;
	refused_with(text, strlen(text), &options, KILN_E_NOT_CANONICAL, offset, NULL);
}

static void
test_stored(void **state)
{
	static const char decomposed[] = "(\"e\xcc\x81\" i32)";
	static const char unassigned[] = "(\"\xcd\xb8\" i32)";
	kiln_schema *schema;
	kiln_schema *normal;

	(void) state;
	not_canonical("(a int)", 4);
	not_canonical("i32 ", 3);
	not_canonical(" i32", 0);
	not_canonical("\"p\"(a i32)", 0);
	not_canonical("(a f64='1.5')", 7);
	not_canonical("(a i32=-0,b f64='1.5')", 7);
	not_canonical("(a f64=1)", 7);
	not_canonical("(a f64=x'000000000000F83F')", 21);
	not_canonical("(a i32,b i32 )", 12);
	refused_with("(a i32", 6, &as_stored, KILN_E_SYNTAX, 6, NULL);
	refused_with("(A i32)", 7, &as_stored, KILN_E_NAME, 1, NULL);
	refused_with("(\"$\" i32)", 9, &as_stored, KILN_E_NAME, 1, NULL);
	refused_with("(\"\" i32)", 8, &as_stored, KILN_E_NAME, 1, NULL);
	refused_with("(a i32,a i32)", 13, &as_stored, KILN_E_DUPLICATE, 7, NULL);

	/* names stay as they stand */
	schema = parse_with(decomposed, sizeof decomposed - 1, &as_stored);
	normal = parse(decomposed);
	assert_string_equal(schema->text, decomposed);
	assert_string_equal(schema->root->fields[0].name, "e\xcc\x81");
	assert_string_equal(normal->root->fields[0].name, "\xc3\xa9");
	assert_true(schema->hash != normal->hash);
	kiln_schema_free(schema);
	kiln_schema_free(normal);
	kiln_schema_free(parse_with(unassigned, sizeof unassigned - 1, &as_stored));
	refused(unassigned, KILN_E_NAME, 1, NULL);
}

/* ---- memory */

/* Let each allocation fail in turn: every time a plain failure, with nothing left behind. */
static void
check_memory(const char *text, bool valid)
{
	counted		count = {0, 0, 0};
	kiln_allocator allocator = {counted_allocate, counted_release, &count};
	kiln_parse_options options = with_literals;
	kiln_schema *schema;
	kiln_error	error;
	size_t		calls;
	size_t		k;

	options.allocator = &allocator;
	if (kiln_schema_parse(text, strlen(text), &options, &schema, &error) != valid)
		fail_msg("%s", text);
	if (valid)
	{
		assert_true(count.held > 0);
		kiln_schema_free(schema);
	}
	assert_int_equal(count.held, 0);
	calls = count.calls;
	assert_true(calls > 0);
	for (k = 1; k <= calls; k++)
	{
		count.calls = 0;
		count.fail_at = k;
		assert_false(kiln_schema_parse(text, strlen(text), &options, &schema, &error));
		assert_int_equal(error.code, KILN_E_MEMORY);
		assert_int_equal(count.held, 0);
	}
}

static void
test_memory(void **state)
{
	static const char many[] =
		"(a i8,b i8,c i8,d i8,e i8,f i8,g i8,h i8,i i8,j i8,k i8,l i8,m i8,n i8,o i8,p i8,q i8,r enum('a','b','c','d',"
		"'e','f','g','h','i','j','k','l','m','n','o','p','q','r','s'))";
	static const char various[] =
		"a i32,\"e\xcc\x81\" i32?[],c dict<r(a enum('x','y')='y')>=x'00000000',d json='\"it''s\"',"
		"e f64=1,f numeric=12,g string='it''s',h bytes='\\x00ff',i f64='Infinity',j u8=7,k (a i8))";
	char		text[2048];
	int			pad;

	(void) state;
	check_memory("i32", true);
	check_memory(many, true);
	check_memory("(a i32,b (c i32,a i32) a)", false);
	check_memory("(a i32,b i32,a i32)", false);
	check_memory("(a json='no',b i32)", false);
	check_memory("(a i32", false);
	/* text of growing length in front, so that memory runs out at every place in turn */
	for (pad = 0; pad < 1200; pad += 4)
	{
		sprintf(text, "(\"1\" string='%0*d',\"2\" string='%0*d',\"3\" string='%0*d',\"4\" string='%0*d',%s",
				pad / 4 + 1, 0, pad / 4 + 1, 0, pad / 4 + 1, 0, pad / 4 + 1, 0, various);
		check_memory(text, true);
	}
	kiln_schema_free(NULL);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_vectors),
		cmocka_unit_test(test_error_codes),
		cmocka_unit_test(test_number_defaults),
		cmocka_unit_test(test_quoted_names),
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_large),
		cmocka_unit_test(test_stored),
		cmocka_unit_test(test_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
