/*
 * Plans: the program of every kind of step, damage found by checked runs, windows, and runs over payloads
 * valid and not.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "plan_internal.h"
#include "plan_fixture.h"

/* ------------------------------------------------------------------ programs */

static void
describe_plan(const kiln_plan *plan, char *out)
{
	uint32_t	i;

	if (plan->constant)
	{
		sprintf(out, "constant %u", plan->offset);
		return;
	}
	for (i = 0; i < plan->step_count; i++)
	{
		const kiln_plan_step *step = &plan->steps[i];
		int			text = step->type ? (int) step->type->text_length : 0;
		const char *type = step->type ? step->type->text : "";

		out += sprintf(out, i ? ", " : "");
		if (step->advance != 0)
			out += sprintf(out, "+%u ", step->advance);
		switch (step->op)
		{
			case PLAN_ADVANCE:
				out += sprintf(out, "end");
				break;
			case PLAN_SPANS:
				out += sprintf(out, "spans %u", step->count);
				break;
			case PLAN_PACKED:
				out += sprintf(out, "packed %u", step->width);
				break;
			case PLAN_OPTIONAL_FIXED:
				out += sprintf(out, "optional %u", step->width);
				break;
			case PLAN_OPTIONAL_SPAN:
				out += sprintf(out, "optional span");
				break;
			case PLAN_JUMP:
				out += sprintf(out, "jump %u", step->count);
				break;
			case PLAN_WALK:
				out += sprintf(out, "walk %.*s", text, type);
				break;
			case PLAN_TAG:
				out += sprintf(out, "tag");
				break;
			case PLAN_INDEX_FIXED:
				out += sprintf(out, "index %u[%d]", step->width, (int) step->index);
				break;
			case PLAN_INDEX_WALK:
				out += sprintf(out, "index %.*s[%d]", text, type, (int) step->index);
				break;
			case PLAN_KEY:
				out += sprintf(out, "key %.*s", (int) step->key_length, step->key);
				break;
			default:
				fail();
		}
	}
}

#define NONE	(-1)

static const struct
{
	const char *definition;
	const char *path;
	const char *program;
	const char *payload;
	int			at;				/* NONE: absent */
}			programs[] = {
	{"(a bool,x i32,s string)", "", "constant 0", "01 07000000 00000000", 0},
	{"(a bool,x i32,s string)", "s", "constant 5", "01 07000000 00000000", 5},
	{"(a u8,r (b u16,c (d u32,e u64)),s string)", "r.c.e", "constant 7",
	"01 0200 03000000 0400000000000000 00000000", 7},
	{"(a i32,s string,t bytes,b i16,u string)", "b", "+4 spans 2",
	"01000000 01000000 41 02000000 ffff 0900 00000000", 15},
	{"(a i32,s string,t bytes,b i16,u string)", "u", "+4 spans 2, +2 end",
	"01000000 01000000 41 02000000 ffff 0900 00000000", 17},
	{"(s string,r (t json,x i8,u numeric),v string)", "v", "spans 2, +1 spans 1",
	"01000000 41 01000000 31 05 01000000 37 00000000", 16},
	{"(p u16[],x i32)", "x", "packed 2", "03000000 010002000300 07000000", 10},
	{"(p (a i8,b i32)[],x i32)", "x", "packed 5", "02000000 0101000000 0201000000 07000000", 14},
	{"(o i32?,p u8?,x i32)", "x", "optional 4, optional 1", "00 01 09 07000000", 3},
	{"(o i32?,p u8?,x i32)", "x", "optional 4, optional 1", "01 05000000 00 07000000", 6},
	{"(o string?,x i32)", "x", "optional span", "01 02000000 4142 07000000", 7},
	{"(o string?,x i32)", "x", "optional span", "00 07000000", 1},
	{"(r (s string,n i16)?,t string,x i8)", "x", "jump 2, spans 1, +2 end, spans 1",
	"01 01000000 41 0500 01000000 42 09", 13},
	{"(r (s string,n i16)?,t string,x i8)", "x", "jump 2, spans 1, +2 end, spans 1", "00 01000000 42 09", 6},
	{"(r (s string)?,t string,x i8)", "t", "jump 1, spans 1", "01 01000000 41 01000000 42 09", 6},
	{"(r (s string)?,t string,x i8)", "x", "jump 1, spans 1, spans 1", "00 01000000 42 09", 6},
	{"(r (s string)?,t string,x i8)", "x", "jump 1, spans 1, spans 1", "01 01000000 41 01000000 42 09", 11},
	{"(r (s string)?,n i16,t string,x i8)", "x", "jump 1, spans 1, +2 spans 1", "00 0500 01000000 42 09", 8},
	{"(r (n i8,q (s string)?,m i8)?,x i8)", "x", "jump 3, +1 jump 1, spans 1, +1 end", "01 01 00 02 09", 4},
	{"(r (n i8,q (s string)?,m i8)?,x i8)", "x", "jump 3, +1 jump 1, spans 1, +1 end", "01 01 01 01000000 41 02 09", 9},
	{"(r (n i8,q (s string)?,m i8)?,x i8)", "x", "jump 3, +1 jump 1, spans 1, +1 end", "00 09", 1},
	{"(l i8[]?,x i8)", "x", "jump 1, packed 1", "01 02000000 0101 09", 7},
	{"(w string[],x i8)", "x", "walk string[]", "02000000 01000000 41 00000000 09", 13},
	{"(d dict<i32>,x i8)", "x", "walk dict<i32>", "01000000 01000000 41 05000000 09", 13},
	{"(a i8,o i32?)", "o", "+1 tag", "01 01 05000000", 2},
	{"(a i8,o i32?)", "o", "+1 tag", "01 00", NONE},
	{"(o (x i8,y i16)?)", "o.y", "tag, +1 end", "01 05 0600", 2},
	{"(o (x i8,y i16)?)", "o.y", "tag, +1 end", "00", NONE},
	{"i16[]", "[1]", "index 2[1]", "02000000 0100 0200", 6},
	{"i16[]", "[2]", "index 2[2]", "02000000 0100 0200", NONE},
	{"i16[]", "[-2]", "index 2[-2]", "02000000 0100 0200", 4},
	{"i16[]", "[-3]", "index 2[-3]", "02000000 0100 0200", NONE},
	{"string[]", "[2]", "index string[2]", "03000000 01000000 41 00000000 00000000", 13},
	{"string[]", "[-3]", "index string[-3]", "03000000 01000000 41 00000000 00000000", 4},
	{"string[]", "[3]", "index string[3]", "03000000 01000000 41 00000000 00000000", NONE},
	{"(l (k string?)?[])", "l[1].k", "index (k string?)?[1], tag, tag", "02000000 00 01 01 00000000", 7},
	{"(l (k string?)?[])", "l[0].k", "index (k string?)?[0], tag, tag", "02000000 00 01 01 00000000", NONE},
	{"(l (k string?)?[])", "l[1].k", "index (k string?)?[1], tag, tag", "02000000 00 01 00", NONE},
	{"dict<i32>", "b", "key b", "02000000 01000000 61 01000000 01000000 62 02000000", 18},
	{"dict<i32>", "a\x01", "key a\x01", "02000000 01000000 61 01000000 01000000 62 02000000", NONE},
	{"dict<i32>", "\"\"", "key ", "01000000 00000000 01000000", 8},
	{"dict<i32>", "\"\"", "key ", "01000000 01000000 61 01000000", NONE},
	{"dict<string>", "\xc3\xa9", "key \xc3\xa9", "02000000 01000000 7a 01000000 41 02000000 c3a9 01000000 42", 20},
	{"dict<i8?>", "a", "key a, tag", "01000000 01000000 61 00", NONE},
	{"(d dict<(p i8,q i8)[]>)", "d.k[1].q", "key k, index 2[1], +1 end", "01000000 01000000 6b 02000000 01020304", 16},
};

static void
test_programs(void **state)
{
	uint8_t		payload[256];
	char		program[512];
	size_t		i;

	(void) state;
	for (i = 0; i < sizeof programs / sizeof programs[0]; i++)
	{
		fixture		f;
		size_t		n = from_hex(programs[i].payload, payload);
		plan_outcome out;

		if (!open_plan(&f, programs[i].definition, programs[i].path))
			fail_msg("%s: %s", programs[i].path, kiln_error_text(f.error.code));
		describe_plan(&f.plan, program);
		assert_string_equal(program, programs[i].program);
		assert_true(kiln_validate(f.schema->root, payload, n, NULL, &f.error));
		out = plan_run_all(&f.plan, payload, n, true);
		if (programs[i].at == NONE)
			assert_int_equal(out.found, KILN_ABSENT);
		else if (out.found != KILN_FOUND || out.pos != (size_t) programs[i].at)
			fail_msg("row %zu: found %d at %zu", i, (int) out.found, out.pos);
		close_fixture(&f);
	}
}

/* More spans in a row than one step takes, and a window state that counts them. */
static void
test_many_spans(void **state)
{
	char		definition[8192];
	uint8_t		payload[4 * 600 + 600 + 1];
	size_t		n = 0;
	size_t		length = 0;
	fixture		f;
	int			i;

	(void) state;
	for (i = 0; i < 600; i++)
		length += (size_t) sprintf(definition + length, "%cf%d string", i ? ',' : '(', i);
	sprintf(definition + length, ",x i8)");
	for (i = 0; i < 600; i++)
	{
		kiln_store_u32(payload + n, (uint32_t) (i % 3));
		n += 4;
		memset(payload + n, 'a', (size_t) (i % 3));
		n += (size_t) (i % 3);
	}
	payload[n++] = 42;
	assert_true(open_plan(&f, definition, "x"));
	assert_int_equal(f.plan.step_count, 3);
	assert_true(kiln_validate(f.schema->root, payload, n, NULL, NULL));
	assert_int_equal(plan_run_all(&f.plan, payload, n, true).pos, n - 1);
	close_fixture(&f);
}

/* ------------------------------------------------------------------ checked runs */

static void
test_damage(void **state)
{
	static const struct
	{
		const char *definition;
		const char *path;
		const char *payload;
		kiln_code	code;
		size_t		offset;
	}			rows[] = {
		{"(a i8,s string,x i8)", "x", "01 05000000 41", KILN_E_LENGTH, 1},
		{"(a i8,s string,x i8)", "x", "01 0500", KILN_E_TRUNCATED, 1},
		{"(a i8,s string,x i8)", "x", "01 01000000 41", KILN_E_TRUNCATED, 6},
		{"(a i8,x i32)", "x", "01 0203", KILN_E_TRUNCATED, 1},
		{"(p i16[],x i8)", "x", "ffffffff 0000", KILN_E_COUNT, 0},
		{"(p i16[],x i8)", "p[0]", "00010000 0000", KILN_E_COUNT, 0},
		{"(p string[])", "p[0]", "ffffffff 00000000", KILN_E_COUNT, 0},
		{"(p string[])", "p[1]", "02000000 05000000 00000000", KILN_E_LENGTH, 4},
		{"(a i8,o i8?)", "o", "00 02 00", KILN_E_TAG, 1},
		{"(o i8?,x i8)", "x", "03 00", KILN_E_TAG, 0},
		{"(o string?,x i8)", "x", "01 ffffffff", KILN_E_LENGTH, 1},
		{"(o (s string)?,x i8)", "x", "09", KILN_E_TAG, 0},
		{"dict<i8>", "c", "02000000 01000000 62 00 01000000 61 00", KILN_E_KEY, 10},
		{"dict<i8>", "c", "02000000 01000000 61 00 01000000 61 00", KILN_E_KEY, 10},
		{"dict<i8>", "c", "02000000 01000000 61 00 ff000000 61 00", KILN_E_LENGTH, 10},
		{"dict<i8>", "c", "09000000 01000000 61 00", KILN_E_COUNT, 0},
		{"(w string[],x i8)", "x", "01000000 05000000", KILN_E_TRUNCATED, 0},
		{"i64[]", "[0]", "", KILN_E_TRUNCATED, 0},
	};
	uint8_t		payload[64];
	size_t		i;

	(void) state;
	for (i = 0; i < sizeof rows / sizeof rows[0]; i++)
	{
		fixture		f;
		size_t		n = from_hex(rows[i].payload, payload);
		uint8_t    *exact = plan_run_copy(payload, n);

		assert_true(open_plan(&f, rows[i].definition, rows[i].path));
		assert_int_equal(plan_run_checked(&f.plan, exact, n, &f.error).found, KILN_DAMAGED);
		if (f.error.code != rows[i].code || f.error.offset != rows[i].offset)
			fail_msg("row %zu: code %d at %zu", i, (int) f.error.code, f.error.offset);
		plan_run_release(exact);
		close_fixture(&f);
	}
}

/* ------------------------------------------------------------------ windows */

/* A payload of (a i32,big bytes,w string[],p i64[],t string): w of short strings. Returns its length. */
static size_t
build_large(uint8_t **out, uint32_t big, uint32_t strings, uint32_t numbers)
{
	size_t		n = 4 + 4 + (size_t) big + 4 + (size_t) strings * 7 + 4 + (size_t) numbers * 8 + 4 + 5;
	uint8_t    *at = *out = calloc(n, 1);
	uint32_t	i;

	assert_non_null(at);
	kiln_store_u32(at + 4, big);
	at += 8 + big;
	kiln_store_u32(at, strings);
	at += 4;
	for (i = 0; i < strings; i++, at += 7)
	{
		kiln_store_u32(at, 3);
		memcpy(at + 4, "abc", 3);
	}
	kiln_store_u32(at, numbers);
	at += 4 + (size_t) numbers * 8;
	kiln_store_u32(at, 5);
	memcpy(at + 4, "hello", 5);
	return n;
}

/* Known places are jumped to with a few bytes fetched; a walk fetches what it walks over, in few and growing parts. */
static void
test_windows(void **state)
{
	static const struct
	{
		const char *path;
		size_t		calls;		/* at most */
		size_t		fetched;	/* the largest part asked for, at most */
	}			rows[] = {
		{"a", 1, 0},
		{"big", 1, 0},
		{"w", 2, 4},
		{"w[100]", 2, 1024},
		{"w[-1]", 20, 2 * 70004},
		{"p", 20, 2 * 70004},
		{"p[99999]", 20, 2 * 70004},
		{"t", 20, 2 * 70004},
	};
	static const char *const definition = "(a i32,big bytes,w string[],p i64[],t string)";
	uint8_t    *payload;
	size_t		n = build_large(&payload, 1000000, 10000, 100000);
	plan_outcome out;
	fixture		f;
	size_t		i;

	(void) state;
	for (i = 0; i < sizeof rows / sizeof rows[0]; i++)
	{
		assert_true(open_plan(&f, definition, rows[i].path));
		if (i == 0)
			assert_true(kiln_validate(f.schema->root, payload, n, NULL, NULL));
		out = plan_run_windows(&f.plan, NULL, 0, payload, n, 64);
		assert_true(plan_outcome_same(out, plan_run_raw(&f.plan, payload)));
		if (out.calls > rows[i].calls || out.most > rows[i].fetched)
			fail_msg("%s: %zu calls, %zu bytes", rows[i].path, out.calls, out.most);
		close_fixture(&f);
	}

	/* the end of a span or packed list is known from its length word, that of the walked list is not */
	open_schema(&f, definition, strlen(definition));
	out = plan_run_windows(NULL, f.schema->root->fields[1].type, 4, payload, n, 8);
	assert_true(out.pos == 1000008 && out.calls == 1);
	out = plan_run_windows(NULL, f.schema->root->fields[3].type, n - 9 - 800004, payload, n, 8);
	assert_true(out.pos == n - 9 && out.calls == 2 && out.most == 4);
	out = plan_run_windows(NULL, f.schema->root->fields[2].type, 1000008, payload, n, 8);
	assert_true(out.pos == 1070012 && out.calls < 12);
	close_fixture(&f);
	free(payload);

	/* of two large spans in a row, neither is fetched */
	payload = calloc(20009, 1);
	assert_non_null(payload);
	kiln_store_u32(payload, 10000);
	kiln_store_u32(payload + 10004, 10000);
	assert_true(open_plan(&f, "(b bytes,c bytes,x i8)", "x"));
	out = plan_run_windows(&f.plan, NULL, 0, payload, 20009, 4);
	assert_true(out.found == KILN_FOUND && out.pos == 20008 && out.calls == 2 && out.most == 4);
	close_fixture(&f);
	free(payload);
}

static int	polled;

static void
count_poll(void)
{
	polled++;
}

/* Long loops poll, held and in windows. */
static void
test_poll(void **state)
{
	uint8_t    *payload;
	size_t		n = build_large(&payload, 0, 100000, 0);
	kiln_held	held = {payload, n, count_poll};
	kiln_window window = {.data = payload, .have = n, .total = n, .poll = count_poll};
	size_t		pos;
	fixture		f;

	(void) state;
	assert_true(open_plan(&f, "(a i32,big bytes,w string[],p i64[],t string)", "w[-1]"));
	polled = 0;
	assert_int_equal(kiln_plan_run_held(&f.plan, &held, &pos), KILN_FOUND);
	assert_in_range(polled, 20, 30);
	polled = 0;
	assert_int_equal(kiln_plan_run_window(&f.plan, &window), KILN_FOUND);
	assert_in_range(polled, 20, 30);
	assert_int_equal(window.pos, pos);
	close_fixture(&f);
	free(payload);
}

/* ------------------------------------------------------------------ any payload */

/* Bytes that look like payloads now and then: mostly small words, ones and zeros, some of anything. */
static size_t
fill_random(uint8_t *bytes, plan_run_source *source)
{
	size_t		n = plan_run_choose(source, 160);
	size_t		i;

	for (i = 0; i < n; i++)
	{
		uint32_t	r = plan_run_choose(source, 2048);

		bytes[i] = (uint8_t) (r % 8 < 5 ? 0 : r % 8 < 7 ? r / 8 % 3 : r / 8);
	}
	return n;
}

/* Change a few bytes, or cut the payload short. */
static size_t
damage(uint8_t *bytes, size_t n, plan_run_source *source)
{
	uint32_t	i = plan_run_choose(source, 4);

	if (i == 0)
		return plan_run_choose(source, (uint32_t) n);
	for (; i > 0; i--)
		bytes[plan_run_choose(source, (uint32_t) n)] = (uint8_t) plan_run_choose(source, 256);
	return n;
}

/*
 * All definitions and paths of the table over payloads that are valid, damaged, or noise, with what plan_run_all()
 * requires of each.
 */
static void
test_any_payload(void **state)
{
	plan_run_source source = {NULL, 0, 20000101};
	uint8_t		bytes[PLAN_RUN_PAYLOAD];
	size_t		ends[3][4] = {{0}};
	size_t		i;
	size_t		j;

	(void) state;
	for (i = 0; i < PLAN_RUN_CASES; i++)
	{
		for (j = 0; j < PLAN_RUN_PATHS && plan_run_cases[i].paths[j] != NULL; j++)
		{
			fixture		f;
			int			round;

			if (!open_plan(&f, plan_run_cases[i].definition, plan_run_cases[i].paths[j]))
				fail_msg("%s: %s", plan_run_cases[i].paths[j], kiln_error_text(f.error.code));
			for (round = 0; round < 900; round++)
			{
				size_t		n = 0;
				bool		valid;

				if (round % 3 == 2)
					n = fill_random(bytes, &source);
				else
					plan_run_build(f.schema->root, &source, bytes, &n);
				if (round % 3 == 1)
					n = damage(bytes, n, &source);
				valid = kiln_validate(f.schema->root, bytes, n, NULL, NULL);
				assert_true(valid || round % 3 != 0);
				ends[round % 3][plan_run_all(&f.plan, bytes, n, valid).found]++;
			}
			close_fixture(&f);
		}
	}
	/* each sort of payload meets each end it can */
	for (i = 0; i < 3; i++)
	{
		assert_true(ends[i][KILN_FOUND] > 200 && ends[i][KILN_ABSENT] > 200);
		assert_true((ends[i][KILN_DAMAGED] > 200) == (i != 0));
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_programs),
		cmocka_unit_test(test_many_spans),
		cmocka_unit_test(test_damage),
		cmocka_unit_test(test_windows),
		cmocka_unit_test(test_poll),
		cmocka_unit_test(test_any_payload),
	};

	return cmocka_run_group_tests_name("plan", tests, NULL, NULL);
}
