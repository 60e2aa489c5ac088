/*
 * Paths: syntax, what they compile to or why not, and the vectors, run in every way a plan can be.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "jsonl.h"
#include "plan_fixture.h"

/* ------------------------------------------------------------------ syntax */

static void
describe_path(const kiln_path *path, char *out)
{
	uint32_t	i;

	*out = '\0';
	for (i = 0; i < path->count; i++)
	{
		const kiln_path_step *step = &path->steps[i];

		out += step->is_index ? sprintf(out, "#%lld@%zu ", (long long) step->index, step->offset)
			: sprintf(out, "%.*s@%zu ", (int) step->length, step->name, step->offset);
	}
}

static void
test_syntax(void **state)
{
	static const struct
	{
		const char *text;
		const char *steps;
	}			good[] = {
		{"", ""},
		{"a", "a@0 "},
		{"a.b", "a@0 b@2 "},
		{"user.tags[2]", "user@0 tags@5 #2@9 "},
		{"[0][-1].x", "#0@0 #-1@3 x@8 "},
		{"\"a.b\".\"c\"\"d\"[7]", "a.b@0 c\"d@6 #7@12 "},
		{"\"\".\"\"\"\"", "@0 \"@3 "},
		{"a b.\xc3\xa9", "a b@0 \xc3\xa9@4 "},
		{"l[-0][007]", "l@0 #0@1 #7@5 "},
		{"l[9223372036854775806]", "l@0 #9223372036854775806@1 "},
		{"l[9223372036854775808]", "l@0 #9223372036854775807@1 "},
		{"l[-99999999999999999999999]", "l@0 #-9223372036854775807@1 "},
	};
	static const struct
	{
		const char *text;
		size_t		offset;
	}			bad[] = {
		{".", 0}, {".a", 0}, {"a.", 2}, {"a..b", 2}, {"]", 0}, {"a]", 1}, {"a\"b\"", 1}, {"\"a\"b", 3}, {"\"", 0},
		{"x.\"a", 2},
		{"\"a\"\"", 0}, {"l[", 2}, {"l[]", 2}, {"l[-]", 3}, {"l[+1]", 2}, {"l[ 0]", 2}, {"l[0", 3}, {"l[0 ]", 3},
		{"l[1.0]", 3}, {"l[0]x", 4}, {"[1].[0]", 4}, {"l[a]", 2},
	};
	char		steps[256];
	kiln_path	path;
	kiln_error	error;
	size_t		i;

	(void) state;
	for (i = 0; i < sizeof good / sizeof good[0]; i++)
	{
		assert_true(kiln_path_parse(good[i].text, strlen(good[i].text), NULL, &path, &error));
		describe_path(&path, steps);
		assert_string_equal(steps, good[i].steps);
		kiln_path_free(&path);
	}
	for (i = 0; i < sizeof bad / sizeof bad[0]; i++)
	{
		assert_false(kiln_path_parse(bad[i].text, strlen(bad[i].text), NULL, &path, &error));
		assert_int_equal(error.code, KILN_E_PATH);
		if (error.offset != bad[i].offset)
			fail_msg("%s: offset %zu, not %zu", bad[i].text, error.offset, bad[i].offset);
		assert_true(error.detail[0] != '\0');
		kiln_path_free(&path);
	}
}

/* What is quoted for a path reads back as the same steps. */
static void
test_quote(void **state)
{
	static const struct
	{
		const char *name;
		const char *spelling;
	}			rows[] = {
		{"a", "a"}, {"A b", "A b"}, {"", "\"\""}, {"a.b", "\"a.b\""}, {"c\"d", "\"c\"\"d\""}, {"[0]", "\"[0]\""},
		{"]", "\"]\""}, {"\"", "\"\"\"\""}, {"\xc3\xa9", "\xc3\xa9"},
	};
	char		text[256];
	size_t		length = 0;
	size_t		i;
	kiln_path	path;

	(void) state;
	for (i = 0; i < sizeof rows / sizeof rows[0]; i++)
	{
		size_t		n = kiln_path_quote(rows[i].name, strlen(rows[i].name), i == 0, text + length);

		assert_true(n <= 2 * strlen(rows[i].name) + 3);
		assert_int_equal(n, strlen(rows[i].spelling) + (i != 0));
		assert_memory_equal(text + length + (i != 0), rows[i].spelling, strlen(rows[i].spelling));
		length += n;
	}
	assert_true(kiln_path_parse(text, length, NULL, &path, NULL));
	assert_int_equal(path.count, sizeof rows / sizeof rows[0]);
	for (i = 0; i < path.count; i++)
	{
		assert_int_equal(path.steps[i].length, strlen(rows[i].name));
		assert_memory_equal(path.steps[i].name, rows[i].name, path.steps[i].length);
	}
	kiln_path_free(&path);
}

/* A path of any length is read to its end, but its steps take bounded memory. */
static void
test_long_path(void **state)
{
	size_t		n = 200001;
	char	   *text = malloc(n);
	kiln_path	path;
	kiln_error	error;
	size_t		i;

	(void) state;
	assert_non_null(text);
	for (i = 0; i < n; i++)
		text[i] = i % 2 ? '.' : 'a';
	assert_true(kiln_path_parse(text, n, NULL, &path, &error));
	assert_int_equal(path.count, 1024);
	kiln_path_free(&path);
	assert_false(kiln_path_parse(text, n - 1, NULL, &path, &error));
	assert_int_equal(error.offset, n - 1);
	kiln_path_free(&path);
	free(text);
}

/* ------------------------------------------------------------------ compiling */

static void
test_faults(void **state)
{
	static const char *const definition =
		"(a i32,s string,o (x u8)?,l i32[],d dict<i32>,q (n i32,m dict<(z bool)[]>)[],j json?,\"\xc3\xa9\" i32)";
	static const struct
	{
		const char *path;
		kiln_code	code;
		uint32_t	step;
		size_t		offset;
		const char *type;
	}			rows[] = {
		{"nosuch", KILN_E_PATH_FIELD, 0, 0, NULL},
		{"nosuch.x", KILN_E_PATH_FIELD, 0, 0, NULL},
		{"A", KILN_E_PATH_FIELD, 0, 0, NULL},
		{"\"\"", KILN_E_PATH_FIELD, 0, 0, NULL},
		{"\xff\xfe", KILN_E_PATH_FIELD, 0, 0, NULL},
		{"o.y", KILN_E_PATH_FIELD, 1, 2, "(x u8)"},
		{"q[99].m.k[5].w", KILN_E_PATH_FIELD, 5, 13, "(z bool)"},
		{"[0]", KILN_E_PATH_STEP, 0, 0, NULL},
		{"a.b", KILN_E_PATH_STEP, 1, 2, "i32"},
		{"s[0]", KILN_E_PATH_STEP, 1, 1, "string"},
		{"l.\"0\"", KILN_E_PATH_STEP, 1, 2, "i32[]"},
		{"d[0]", KILN_E_PATH_STEP, 1, 1, "dict<i32>"},
		{"q[0].m.k.z", KILN_E_PATH_STEP, 4, 9, "(z bool)[]"},
		{"q[0].m.k[0].z.t", KILN_E_PATH_STEP, 6, 14, "bool"},
		{"o.x[0]", KILN_E_PATH_STEP, 2, 3, "u8"},
	};
	size_t		i;

	(void) state;
	for (i = 0; i < sizeof rows / sizeof rows[0]; i++)
	{
		const char *type = rows[i].type ? rows[i].type : definition;
		fixture		f;

		assert_false(open_plan(&f, definition, rows[i].path));
		if (f.error.code != rows[i].code || f.error.offset != rows[i].offset)
			fail_msg("%s: code %d at %zu", rows[i].path, (int) f.error.code, f.error.offset);
		assert_int_equal(f.plan.fault_step, rows[i].step);
		assert_int_equal(f.plan.fault_type->text_length, strlen(type));
		assert_memory_equal(f.plan.fault_type->text, type, strlen(type));
		assert_true(f.error.detail[0] >= 'a' && f.error.detail[0] <= 'z');
		close_fixture(&f);
	}
}

/* Fields are compared in NFC, dict keys byte by byte. */
static void
test_names(void **state)
{
	fixture		f;
	uint8_t		payload[32];
	size_t		n = from_hex("01000000 02000000 c3a9 05000000 09000000", payload);

	(void) state;
	assert_true(open_plan(&f, "(d dict<i32>,\"\xc3\xa9\" i32)", "e\xcc\x81"));
	assert_int_equal(plan_run_all(&f.plan, payload, n, true).pos, 14);
	close_fixture(&f);
	assert_true(open_plan(&f, "(d dict<i32>,\"\xc3\xa9\" i32)", "d.e\xcc\x81"));
	assert_int_equal(plan_run_all(&f.plan, payload, n, true).found, KILN_ABSENT);
	close_fixture(&f);
	assert_true(open_plan(&f, "(d dict<i32>,\"\xc3\xa9\" i32)", "d.\xc3\xa9"));
	assert_int_equal(plan_run_all(&f.plan, payload, n, true).pos, 10);
	close_fixture(&f);
}

/* What follows a json value is the caller's. */
static void
test_json(void **state)
{
	fixture		f;

	(void) state;
	assert_true(open_plan(&f, "(s string,j json?[])", "j[1].a[0]"));
	assert_true(f.plan.json_rest);
	assert_int_equal(f.plan.rest, 2);
	assert_int_equal(f.plan.type->kind, KILN_JSON);
	close_fixture(&f);
	assert_true(open_plan(&f, "(s string,j json?[])", "j[1]"));
	assert_false(f.plan.json_rest);
	close_fixture(&f);
}

/* Counts what is out, and gives nothing after so many calls. */
typedef struct counting
{
	int			left;
	int			live;
} counting;

static void *
counting_allocate(void *context, size_t size)
{
	counting   *c = context;

	if (c->left-- <= 0)
		return NULL;
	c->live++;
	return malloc(size);
}

static void
counting_release(void *context, void *memory)
{
	((counting *) context)->live--;
	free(memory);
}

/* Every allocation may fail; none is left behind. Enough steps to leave the builder's own room, jumps open. */
static void
test_memory(void **state)
{
	char		definition[4096];
	size_t		n = (size_t) sprintf(definition, "(f0 (g0 string[]");
	fixture		f;
	int			given;
	int			i;
	bool		done = false;

	(void) state;
	for (i = 1; i < 100; i++)
		n += (size_t) sprintf(definition + n, ",g%d (h string[],k i8)?", i);
	sprintf(definition + n, ")?,d dict<i32>)");
	for (given = 0; !done; given++)
	{
		counting	c = {given, 0};
		kiln_allocator allocator = {counting_allocate, counting_release, &c};
		kiln_path	path;
		kiln_plan	plan;

		open_schema(&f, definition, strlen(definition));
		if (kiln_path_parse("d.key", 5, &allocator, &path, &f.error))
		{
			done = kiln_plan_compile(f.schema->root, &path, &allocator, &plan, &f.error);
			kiln_path_free(&path);
			if (done)
			{
				assert_int_equal(plan.step_count, 3 * 99 + 3);
				kiln_plan_free(&plan);
			}
		}
		if (!done)
			assert_int_equal(f.error.code, KILN_E_MEMORY);
		assert_int_equal(c.live, 0);
		close_fixture(&f);
	}
	assert_true(given > 5);
}

/* ------------------------------------------------------------------ vectors */

/* Take the backslash escapes of quotes and backslashes out of a string of the file; others do not occur in types. */
static size_t
unescape(const char *text, char *out)
{
	char	   *to = out;

	for (; *text != '\0'; text++)
	{
		if (*text == '\\')
			text++;
		*to++ = *text;
	}
	return (size_t) (to - out);
}

static kiln_code
code_of(const char *sqlstate)
{
	if (strcmp(sqlstate, "42703") == 0)
		return KILN_E_PATH_FIELD;
	return strcmp(sqlstate, "42804") == 0 ? KILN_E_PATH_STEP : KILN_E_PATH;
}

/* A row whose path leads somewhere. */
static void
check_row(jsonl *in, fixture *f, long long id, const uint8_t *payload, size_t n)
{
	const char *expected = jsonl_string(in, "type");
	char		type[1024];
	size_t		length = unescape(expected, type);
	plan_outcome out;
	uint8_t    *value;
	size_t		value_length = jsonl_hex(in, "result_payload", &value);

	assert_int_equal(f->plan.type->text_length, length);
	assert_memory_equal(f->plan.type->text, type, length);
	out = plan_run_all(&f->plan, payload, n, true);
	if (strcmp(jsonl_string(in, "kind"), "null") == 0)
	{
		assert_int_equal(out.found, KILN_ABSENT);
		return;
	}
	if (out.found != KILN_FOUND || out.pos != (size_t) jsonl_int(in, "offset", -1))
		fail_msg("row %lld: found %d at %zu", id, (int) out.found, out.pos);
	assert_int_equal(kiln_view_skip(f->plan.type, payload + out.pos) - (payload + out.pos), value_length);
	assert_memory_equal(payload + out.pos, value, value_length);
}

static void
test_vectors(void **state)
{
	jsonl		in;
	size_t		rows = 0;

	(void) state;
	assert_true(jsonl_open(&in, "paths.jsonl"));
	while (jsonl_next(&in))
	{
		long long	id = jsonl_int(&in, "id", -1);
		const char *sqlstate = jsonl_string(&in, "sqlstate");
		uint8_t    *definition;
		uint8_t    *payload;
		uint8_t    *path;
		size_t		definition_length = jsonl_hex(&in, "definition_hex", &definition);
		size_t		n = jsonl_hex(&in, "payload", &payload);
		size_t		path_length = jsonl_hex(&in, "path_hex", &path);
		kiln_code	expected = KILN_E_OK;
		fixture		f;

		if (sqlstate != NULL)
			expected = code_of(sqlstate);
		else if (jsonl_string(&in, "type") == NULL)
			expected = KILN_E_PATH_FIELD;	/* a field of another version: the server's matter */

		open_schema(&f, (const char *) definition, definition_length);
		assert_true(kiln_validate(f.schema->root, payload, n, NULL, &f.error));
		f.compiled = kiln_path_parse((const char *) path, path_length, NULL, &f.path, &f.error) &&
			kiln_plan_compile(f.schema->root, &f.path, NULL, &f.plan, &f.error);
		if ((f.compiled ? KILN_E_OK : f.error.code) != expected)
			fail_msg("row %lld: code %d", id, (int) f.error.code);
		if (f.compiled)
			check_row(&in, &f, id, payload, n);
		close_fixture(&f);
		rows++;
	}
	jsonl_close(&in);
	assert_int_equal(rows, 153);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_syntax),
		cmocka_unit_test(test_quote),
		cmocka_unit_test(test_long_path),
		cmocka_unit_test(test_faults),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_json),
		cmocka_unit_test(test_memory),
		cmocka_unit_test(test_vectors),
	};

	return cmocka_run_group_tests_name("path", tests, NULL, NULL);
}
