/*
 * What a parse works out for each type: sizes, depth, slices of the text, a struct's steps, look-up by name.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <stdio.h>

#include "internal.h"

static kiln_schema *
parse(const char *text)
{
	kiln_schema *schema;
	kiln_error	error;

	if (!kiln_schema_parse(text, strlen(text), NULL, &schema, &error))
		fail_msg("%s: at %zu: %s (%s)", text, error.offset, kiln_error_text(error.code), error.detail);
	return schema;
}

static void
test_scalars(void **state)
{
	static const struct
	{
		const char *word;
		kiln_kind	kind;
		uint32_t	width;
		uint32_t	least;
		bool		any_bits;
		bool		number;
	}			scalars[] = {
		{"bool", KILN_BOOL, 1, 1, false, false},
		{"i8", KILN_I8, 1, 1, true, true},
		{"i16", KILN_I16, 2, 2, true, true},
		{"i32", KILN_I32, 4, 4, true, true},
		{"i64", KILN_I64, 8, 8, true, true},
		{"u8", KILN_U8, 1, 1, true, true},
		{"u16", KILN_U16, 2, 2, true, true},
		{"u32", KILN_U32, 4, 4, true, true},
		{"u64", KILN_U64, 8, 8, true, true},
		{"f32", KILN_F32, 4, 4, true, true},
		{"f64", KILN_F64, 8, 8, true, true},
		{"string", KILN_STRING, 0, 4, false, false},
		{"bytes", KILN_BYTES, 0, 4, false, false},
		{"uuid", KILN_UUID, 16, 16, true, false},
		{"date", KILN_DATE, 4, 4, false, false},
		{"timestamp", KILN_TIMESTAMP, 8, 8, false, false},
		{"timestamptz", KILN_TIMESTAMPTZ, 8, 8, false, false},
		{"numeric", KILN_NUMERIC, 0, 5, false, false},
		{"json", KILN_JSON, 0, 5, false, false},
		{"enum('a')", KILN_ENUM, 2, 2, false, false},
	};
	char		text[32];
	size_t		i;

	(void) state;
	for (i = 0; i < sizeof scalars / sizeof scalars[0]; i++)
	{
		kiln_schema *schema;
		const kiln_type *type;

		sprintf(text, "%s[]", scalars[i].word);
		schema = parse(text);
		type = schema->root;
		assert_int_equal(type->kind, KILN_LIST);
		assert_int_equal(type->numbers, scalars[i].number);
		assert_true(type->width == 0 && type->least == 4 && !type->any_bits && type->depth == 1);
		type = type->element;
		assert_int_equal(type->kind, scalars[i].kind);
		assert_int_equal(type->width, scalars[i].width);
		assert_int_equal(type->least, scalars[i].least);
		assert_int_equal(type->any_bits, scalars[i].any_bits);
		assert_int_equal(type->depth, 0);
		kiln_schema_free(schema);
	}
}

static void
check_step(const kiln_type *type, uint32_t index, kiln_step_op op, uint32_t first, uint32_t fields, uint32_t width,
		   bool check)
{
	const kiln_step *step = &type->steps[index];

	assert_int_equal(step->op, op);
	assert_int_equal(step->first, first);
	assert_int_equal(step->fields, fields);
	assert_int_equal(step->width, width);
	assert_int_equal(step->check != KILN_CHECK_NONE, check);
}

static void
check_text(const kiln_type *type, const char *expected)
{
	assert_int_equal(type->text_length, strlen(expected));
	assert_memory_equal(type->text, expected, type->text_length);
}

static void
test_struct(void **state)
{
	kiln_schema *schema = parse("r(a bool,b i32,c string,d i64,e uuid,f i32[]=x'00000000',g (x i32,y f64),"
								"h \"H\"(x date),i enum('p','o'),j i32?,k dict<i32?>)");
	const kiln_type *type = schema->root;

	(void) state;
	assert_string_equal(type->name, "r");
	assert_int_equal(type->name_length, 1);
	assert_int_equal(type->count, 11);
	assert_true(type->width == 0 && type->least == 60 && type->depth == 3 && !type->any_bits);
	assert_int_equal(type->step_count, 7);
	check_step(type, 0, KILN_STEP_RUN, 0, 2, 5, true);
	check_step(type, 1, KILN_STEP_SPAN, 2, 1, 0, false);
	check_step(type, 2, KILN_STEP_RUN, 3, 2, 24, false);
	check_step(type, 3, KILN_STEP_OTHER, 5, 1, 0, false);
	check_step(type, 4, KILN_STEP_RUN, 6, 3, 18, true);
	check_step(type, 5, KILN_STEP_OTHER, 9, 1, 0, false);
	check_step(type, 6, KILN_STEP_OTHER, 10, 1, 0, false);
	assert_true(type->fields[6].type->any_bits && type->fields[6].type->width == 12);
	assert_null(type->fields[6].type->name);
	assert_true(!type->fields[7].type->any_bits && type->fields[7].type->width == 4);
	assert_string_equal(type->fields[7].type->name, "H");
	check_text(type->fields[5].type, "i32[]");
	check_text(type->fields[5].type->element, "i32");
	check_text(type->fields[7].type, "\"H\"(x date)");
	check_text(type->fields[9].type, "i32?");
	check_text(type->fields[9].type->element, "i32");
	check_text(type->fields[10].type, "dict<i32?>");
	check_text(type->fields[10].type->element, "i32?");
	assert_int_equal(type->fields[5].default_length, 4);
	assert_null(type->fields[4].default_payload);
	kiln_schema_free(schema);
}

static void
test_find(void **state)
{
	kiln_schema *schema = parse("(b i32,\"B\" i32,\"\xc3\xa9\" i32,ab i32,a enum('x','X','xx','$'))");
	const kiln_type *type = schema->root;
	const kiln_type *labels = type->fields[4].type;

	(void) state;
	assert_int_equal(kiln_struct_find(type, "b", 1), 0);
	assert_int_equal(kiln_struct_find(type, "B", 1), 1);
	assert_int_equal(kiln_struct_find(type, "\xc3\xa9", 2), 2);
	assert_int_equal(kiln_struct_find(type, "abc", 2), 3);
	assert_int_equal(kiln_struct_find(type, "a", 1), 4);
	assert_int_equal(kiln_struct_find(type, "abc", 3), -1);
	assert_int_equal(kiln_struct_find(type, "", 0), -1);
	assert_int_equal(kiln_struct_find(type, "a", 2), -1);
	assert_int_equal(kiln_enum_find(labels, "x", 1), 0);
	assert_int_equal(kiln_enum_find(labels, "X", 1), 1);
	assert_int_equal(kiln_enum_find(labels, "xx", 2), 2);
	assert_int_equal(kiln_enum_find(labels, "$", 1), 3);
	assert_int_equal(kiln_enum_find(labels, "y", 1), -1);
	/* asked of another kind of type */
	assert_int_equal(kiln_enum_find(type, "b", 1), -1);
	assert_int_equal(kiln_struct_find(labels, "x", 1), -1);
	kiln_schema_free(schema);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_scalars),
		cmocka_unit_test(test_struct),
		cmocka_unit_test(test_find),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
