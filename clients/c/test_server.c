/*
 * kiln_pq against a live server: results and COPY in binary, both ways. PGHOST etc. say where; the database must have
 * the extension.
 *
 * What the library reads is compared with what the server's own accessors say of the same rows, and what it writes
 * with what the server then prints.
 */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "kiln_pq.h"

#define MESSAGE	"kiln_c(a bool,x i32,id i64,big u64,score f64,half f32?,s string,raw bytes,u uuid,d date," \
				"t timestamptz,n numeric,j json,e enum('one','two'),l f64[],k dict<i32>,q (z u16)[])"

static PGconn *conn;

static PGresult *
run(const char *query, int format)
{
	PGresult   *result = PQexecParams(conn, query, 0, NULL, NULL, NULL, NULL, format);
	ExecStatusType status = PQresultStatus(result);

	if (status == PGRES_FATAL_ERROR || status == PGRES_BAD_RESPONSE)
		fail_msg("%s: %s", query, PQerrorMessage(conn));
	return result;
}

static void
command(const char *query)
{
	PQclear(run(query, 0));
}

/* The one answer of a query, as text. */
static void
assert_answer(const char *query, const char *wanted)
{
	PGresult   *result = run(query, 0);

	assert_int_equal(PQntuples(result), 1);
	assert_string_equal(PQgetvalue(result, 0, 0), wanted);
	PQclear(result);
}

static kiln_pq *
open_client(void)
{
	kiln_pq_error error;
	kiln_pq    *client = kiln_pq_open(conn, &error);

	if (client == NULL)
		fail_msg("%s", error.message);
	return client;
}

static kiln_pq_path *
open_path(kiln_pq *client, const char *text)
{
	kiln_pq_error error;
	kiln_pq_path *path = kiln_pq_path_open(client, text, &error);

	if (path == NULL)
		fail_msg("%s", error.message);
	return path;
}

static int
set_up(void **state)
{
	(void) state;
	conn = PQconnectdb("");
	if (PQstatus(conn) != CONNECTION_OK)
	{
		fprintf(stderr, "%s", PQerrorMessage(conn));
		return -1;
	}
	command("SET timezone = 'UTC'");
	command("SET client_min_messages = warning");
	command("CREATE SCHEMA kiln_c_tests");
	command("SET search_path = kiln_c_tests, public");
	command("SELECT kiln_register($$" MESSAGE "$$)");
	command("CREATE TABLE m (n int, v kiln(kiln_c))");
	command("INSERT INTO m SELECT g, kiln_encode('kiln_c', jsonb_build_object('a', g % 2 = 0, 'x', -g, "
			"'id', g * 1000003::bigint, "
			"'big', 18446744073709551615::numeric - g, 'score', sqrt(g)::float8, 'half', "
			"CASE WHEN g % 3 > 0 THEN g / 4.0 END, "
			"'s', repeat('é', g % 40), 'raw', '\\x00ff', 'u', md5(g::text)::uuid, 'd', '2024-02-29'::date + g, "
			"'t', '2024-02-29T12:34:56Z'::timestamptz + g * interval '1 hour', 'n', g / 1000.0, 'j', "
			"jsonb_build_object('g', g), "
			"'e', CASE WHEN g % 2 = 0 THEN 'one' ELSE 'two' END, 'l', jsonb_build_array(g, g / 2.0), "
			"'k', jsonb_build_object('a', g, 'b', -g), 'q', jsonb_build_array(jsonb_build_object('z', g % 65536)))) "
			"FROM generate_series(1, 20000) AS g");
	command("INSERT INTO m VALUES (20001, NULL)");
	return 0;
}

static int
tear_down(void **state)
{
	(void) state;
	command("RESET ALL");
	command("DROP SCHEMA kiln_c_tests CASCADE");
	command("SELECT kiln_forget('kiln_c')");
	PQfinish(conn);
	return 0;
}

/* ------------------------------------------------------------------ results */

/* A value's field as the text that the server gives for it. */
static void
spell(const kiln_pq_value *value, kiln_pq_path *path, char *out, size_t room)
{
	kiln_pq_error error;
	kiln_pq_view view;
	kiln_pq_found found = kiln_pq_find(value, path, &view, &error);
	kiln_slice	span;
	int64_t		i;
	uint64_t	u;
	double		d;
	bool		b;
	bool		good = true;

	out[0] = 0;
	if (found == KILN_PQ_FAILED)
		fail_msg("%s", error.message);
	if (found == KILN_PQ_ABSENT)
		return;
	switch (view.type->kind)
	{
		case KILN_BOOL:
			good = kiln_pq_view_bool(&view, &b, &error);
			snprintf(out, room, "%s", b ? "true" : "false");
			break;
		case KILN_F32:
		case KILN_F64:
			good = kiln_pq_view_double(&view, &d, &error);
			snprintf(out, room, "%.17g", d);
			break;
		case KILN_U64:
			good = kiln_pq_view_uint64(&view, &u, &error);
			snprintf(out, room, "%" PRIu64, u);
			break;
		case KILN_UUID:
		case KILN_BYTES:
			good = kiln_pq_view_span(&view, &span, &error);
			for (uint32_t k = 0; good && k < span.length && 2 * k + 2 < room; k++)
				snprintf(out + 2 * k, room - 2 * k, "%02x", ((const uint8_t *) span.data)[k]);
			break;
		case KILN_STRING:
		case KILN_NUMERIC:
		case KILN_JSON:
		case KILN_ENUM:
			good = kiln_pq_view_span(&view, &span, &error);
			snprintf(out, room, "%.*s", (int) span.length, (const char *) span.data);
			break;
		default:
			good = kiln_pq_view_int64(&view, &i, &error);
			snprintf(out, room, "%" PRId64, i);
			break;
	}
	if (!good)
		fail_msg("%s", error.message);
}

static void
test_result(void **state)
{
	static const char *const paths[] = {
		"a", "x", "id", "big", "score", "half", "s", "raw", "u", "d", "t", "n", "j", "e", "l[1]", "k.b", "k.none",
		"q[0].z", "q[-1].z", "q[7].z"
	};
	/* the server's own word on each of these; numbers by way of the same format as above */
	static const char query[] =
		"SELECT v, v->>'a', v->>'x', v->>'id', v->>'big', v->>'score', v->>'half', v->>'s', substr(v->>'raw', 3), "
		"replace(v->>'u', '-', ''), "
		"(v->>'d')::date - '2000-01-01'::date, (extract(epoch FROM (v->>'t')::timestamptz - "
		"'2000-01-01Z'::timestamptz) * 1000000)::bigint, "
		"v->>'n', v->>'j', v->>'e', kiln_get(v, 'l[1]'), kiln_get(v, 'k.b'), kiln_get(v, 'k.none'), "
		"kiln_get(v, 'q[0].z'), "
		"kiln_get(v, 'q[-1].z'), kiln_get(v, 'q[7].z') FROM m ORDER BY n";
	kiln_pq    *client = open_client();
	PGresult   *values = run("SELECT v FROM m ORDER BY n", 1);
	PGresult   *texts = run(query, 0);
	kiln_pq_error error;
	kiln_pq_value value;
	char		got[400];
	char		wanted[400];

	(void) state;
	for (size_t p = 0; p < sizeof paths / sizeof paths[0]; p++)
	{
		kiln_pq_path *path = open_path(client, paths[p]);

		for (int row = 0; row < 20000; row++)
		{
			const char *text = PQgetvalue(texts, row, (int) p + 1);

			if (kiln_pq_result_value(client, values, row, 0, &value, &error) != KILN_PQ_FOUND)
				fail_msg("%s", error.message);
			/* nothing was copied: the payload lies in the result */
			assert_ptr_equal(value.payload, PQgetvalue(values, row, 0) + KILN_HASH_HEAD);
			spell(&value, path, got, sizeof got);
			if ((strcmp(paths[p], "score") == 0 || strcmp(paths[p], "half") == 0 || strcmp(paths[p], "l[1]") == 0) &&
				text[0] != 0)
			{
				double		d = strcmp(paths[p], "half") == 0 ? strtof(text, NULL) : strtod(text, NULL);

				snprintf(wanted, sizeof wanted, "%.17g", d);
				text = wanted;
			}
			if (strcmp(got, text) != 0)
				fail_msg("row %d, path %s: got %s, wanted %s", row, paths[p], got, text);
		}
		kiln_pq_path_close(path);
	}
	assert_int_equal(kiln_pq_result_value(client, values, 20000, 0, &value, &error), KILN_PQ_ABSENT);
	assert_int_equal(kiln_pq_result_value(client, texts, 0, 0, &value, &error), KILN_PQ_FAILED);
	assert_int_equal(error.code, KILN_PQ_E_TYPE);
	PQclear(texts);
	PQclear(values);
	kiln_pq_close(client);
}

static void
test_errors(void **state)
{
	kiln_pq    *client = open_client();
	kiln_pq_path *typo = open_path(client, "scroe");
	kiln_pq_path *deep = open_path(client, "x.y");
	kiln_pq_path *text = open_path(client, "s");
	PGresult   *values = run("SELECT v, kiln_tensor(ARRAY[1.5]::float8[]) FROM m WHERE n = 1", 1);
	kiln_pq_error error;
	kiln_pq_value value;
	int64_t		i;
	double		d;

	(void) state;
	assert_int_equal(kiln_pq_result_value(client, values, 0, 0, &value, &error), KILN_PQ_FOUND);
	assert_int_equal(kiln_pq_get_int64(&value, typo, &i, &error), KILN_PQ_FAILED);
	assert_int_equal(error.code, KILN_PQ_E_PATH);
	assert_int_equal(kiln_pq_get_int64(&value, deep, &i, &error), KILN_PQ_FAILED);
	assert_int_equal(error.code, KILN_PQ_E_PATH);
	assert_int_equal(kiln_pq_get_double(&value, text, &d, &error), KILN_PQ_FAILED);
	assert_int_equal(error.code, KILN_PQ_E_TYPE);
	assert_null(kiln_pq_path_open(client, "a..b", &error));
	assert_int_equal(error.code, KILN_PQ_E_PATH);
	assert_int_equal(kiln_pq_result_value(client, values, 0, 1, &value, &error), KILN_PQ_FOUND);
	assert_int_equal(kiln_pq_get_double(&value, text, &d, &error), KILN_PQ_FAILED);
	assert_int_equal(error.code, KILN_PQ_E_TYPE);
	assert_false(kiln_pq_value_open(client, "\x11too short", 3, &value, &error));
	assert_int_equal(error.code, KILN_PQ_E_FORMAT);
	PQclear(values);
	kiln_pq_path_close(typo);
	kiln_pq_path_close(deep);
	kiln_pq_path_close(text);
	kiln_pq_close(client);
}

/* ------------------------------------------------------------------ definitions */

static void
test_definitions(void **state)
{
	kiln_pq    *client = open_client();
	kiln_pq_path *added = open_path(client, "added");
	kiln_pq_error error;
	kiln_pq_value value;
	kiln_pq_copy copy;
	PGresult   *result;
	int64_t		i = 0;

	(void) state;
	/* registered behind the client's back: asked for when met, not during a COPY */
	command("SELECT kiln_register('kiln_c_later(id i64)')");
	command("CREATE TABLE later (v kiln(kiln_c_later))");
	command("INSERT INTO later VALUES ('{\"id\": 1}')");
	assert_null(kiln_pq_by_name(client, "kiln_c_later"));
	command("COPY later TO STDOUT (FORMAT binary)");
	assert_true(kiln_pq_copy_open(&copy, conn, &error));
	assert_int_equal(kiln_pq_copy_row(&copy, &error), KILN_PQ_FOUND);
	assert_int_equal(kiln_pq_copy_value(&copy, client, 0, &value, &error), KILN_PQ_FAILED);
	assert_int_equal(error.code, KILN_PQ_E_UNKNOWN);
	kiln_pq_copy_close(&copy);
	result = run("SELECT v FROM later", 1);
	assert_int_equal(kiln_pq_result_value(client, result, 0, 0, &value, &error), KILN_PQ_FOUND);
	assert_int_equal(kiln_pq_get_int64(&value, added, &i, &error), KILN_PQ_FAILED);
	PQclear(result);

	/* two versions in a column: what only the other one has is absent */
	command("SELECT kiln_register('kiln_c_later(id i64,added i64?)')");
	command("INSERT INTO later VALUES ('{\"id\": 2, \"added\": 7}')");
	assert_true(kiln_pq_refresh(client, &error));
	assert_int_equal(kiln_pq_by_name(client, "kiln_c_later")->root->count, 2);
	result = run("SELECT v FROM later ORDER BY (v->'id')::int8", 1);
	assert_int_equal(kiln_pq_result_value(client, result, 0, 0, &value, &error), KILN_PQ_FOUND);
	assert_int_equal(kiln_pq_get_int64(&value, added, &i, &error), KILN_PQ_ABSENT);
	assert_int_equal(kiln_pq_result_value(client, result, 1, 0, &value, &error), KILN_PQ_FOUND);
	assert_int_equal(kiln_pq_get_int64(&value, added, &i, &error), KILN_PQ_FOUND);
	assert_int_equal(i, 7);
	PQclear(result);

	/* a value that carries its definition along */
	result = run("SELECT '{\"$kiln\": \"(added i8)\", \"added\": -3}'::kiln", 1);
	assert_int_equal(kiln_pq_result_value(client, result, 0, 0, &value, &error), KILN_PQ_FOUND);
	assert_int_equal(value.kind, KILN_FRAME_INLINE);
	assert_int_equal(kiln_pq_get_int64(&value, added, &i, &error), KILN_PQ_FOUND);
	assert_int_equal(i, -3);
	PQclear(result);

	/* one that nobody knows */
	result = run("SELECT kiln_from_frame('\\x14ffffffffffffffff01')", 1);
	assert_int_equal(kiln_pq_result_value(client, result, 0, 0, &value, &error), KILN_PQ_FAILED);
	assert_int_equal(error.code, KILN_PQ_E_UNKNOWN);
	PQclear(result);
	command("DROP TABLE later");
	command("SELECT kiln_forget('kiln_c_later')");
	kiln_pq_path_close(added);
	kiln_pq_close(client);
}

/* ------------------------------------------------------------------ COPY */

static void
test_copy_out(void **state)
{
	kiln_pq    *client = open_client();
	kiln_pq_path *id = open_path(client, "id");
	kiln_pq_path *list = open_path(client, "l");
	PGresult   *sums = run("SELECT sum((v->'id')::int8), sum(kiln_get_float8(v, 'l[0]')), count(*) FROM m", 0);
	kiln_pq_error error = {0};
	kiln_pq_copy copy;
	kiln_pq_found found;
	int64_t		total = 0;
	int64_t		rows = 0;
	double		first = 0;

	(void) state;
	command("COPY (SELECT n, v FROM m ORDER BY n) TO STDOUT (FORMAT binary)");
	assert_true(kiln_pq_copy_open(&copy, conn, &error));
	for (; (found = kiln_pq_copy_row(&copy, &error)) == KILN_PQ_FOUND; rows++)
	{
		kiln_pq_value value;
		kiln_pq_view view;
		const uint8_t *numbers;
		uint32_t	count;
		int64_t		i;

		assert_int_equal(copy.columns, 2);
		assert_int_equal(kiln_pq_int4(&copy.fields[0]), rows + 1);
		found = kiln_pq_copy_value(&copy, client, 1, &value, &error);
		assert_int_equal(found, rows == 20000 ? KILN_PQ_ABSENT : KILN_PQ_FOUND);
		if (found == KILN_PQ_ABSENT)
			continue;
		assert_int_equal(kiln_pq_get_int64(&value, id, &i, &error), KILN_PQ_FOUND);
		total += i;
		assert_int_equal(kiln_pq_find(&value, list, &view, &error), KILN_PQ_FOUND);
		assert_true(kiln_pq_view_numbers(&view, &numbers, &count, &error));
		assert_int_equal(count, 2);
		first += kiln_load_f64(numbers);
		assert_int_equal(kiln_pq_copy_value(&copy, client, 2, &value, NULL), KILN_PQ_FAILED);
	}
	if (found != KILN_PQ_ABSENT)
		fail_msg("%s", error.message);
	kiln_pq_copy_close(&copy);
	assert_int_equal(total, strtoll(PQgetvalue(sums, 0, 0), NULL, 10));
	assert_true(first == strtod(PQgetvalue(sums, 0, 1), NULL));
	assert_int_equal(rows, strtoll(PQgetvalue(sums, 0, 2), NULL, 10));
	PQclear(sums);

	/* left half-way, and one that is no binary stream: the connection is at rest again */
	command("COPY m TO STDOUT (FORMAT binary)");
	assert_true(kiln_pq_copy_open(&copy, conn, &error));
	assert_int_equal(kiln_pq_copy_row(&copy, &error), KILN_PQ_FOUND);
	kiln_pq_copy_close(&copy);
	command("COPY m TO STDOUT");
	assert_true(kiln_pq_copy_open(&copy, conn, &error));
	assert_int_equal(kiln_pq_copy_row(&copy, &error), KILN_PQ_FAILED);
	assert_int_equal(error.code, KILN_PQ_E_PROTOCOL);
	kiln_pq_copy_close(&copy);
	assert_answer("SELECT 1", "1");
	assert_false(kiln_pq_copy_open(&copy, conn, &error));

	/* the server gives up in the middle */
	command("COPY (SELECT 1 / (1000 - n) FROM m) TO STDOUT (FORMAT binary)");
	assert_true(kiln_pq_copy_open(&copy, conn, &error));
	for (rows = 0; (found = kiln_pq_copy_row(&copy, &error)) == KILN_PQ_FOUND; rows++)
		continue;
	assert_int_equal(found, KILN_PQ_FAILED);
	assert_int_equal(error.code, KILN_PQ_E_SERVER);
	assert_non_null(strstr(error.message, "division by zero"));
	kiln_pq_copy_close(&copy);
	assert_answer("SELECT 1", "1");
	kiln_pq_path_close(id);
	kiln_pq_path_close(list);
	kiln_pq_close(client);
}

typedef struct point
{
	int64_t		id;
	double		x;
	kiln_slice	name;
} point;

static const kiln_member point_members[] = {
	{"id", offsetof(point, id)}, {"x", offsetof(point, x)}, {"name", offsetof(point, name)}
};

static void
test_copy_in(void **state)
{
	kiln_pq    *client;
	const kiln_schema *schema;
	const kiln_schema *bare;
	kiln_binding *binding;
	kiln_binding *bare_binding;
	kiln_pq_error error;
	kiln_pq_put *put;
	int64_t		rows = 0;
	double		numbers[6] = {1.5, 2, 3, 4, 5, 6};
	uint8_t		packed[sizeof numbers];

	(void) state;
	command("SELECT kiln_register('kiln_c_point(id i64,x f64,name string)')");
	command("CREATE TABLE p (n int, big int8, f float8, b bool, s text, v kiln(kiln_c_point), w kiln, t kiln(tensor))");
	client = open_client();
	schema = kiln_pq_by_name(client, "kiln_c_point");
	bare = kiln_pq_inline(client, "(id int8, x double precision, name text)", 40, &error);
	assert_non_null(bare);
	assert_string_equal(bare->text, "(id i64,x f64,name string)");
	assert_true(kiln_binding_compile(schema->root, point_members, 3, NULL, &binding, NULL));
	assert_true(kiln_binding_compile(bare->root, point_members, 3, NULL, &bare_binding, NULL));
	for (int i = 0; i < 6; i++)
		kiln_store_f64(packed + 8 * i, numbers[i]);

	command("COPY p FROM STDIN (FORMAT binary)");
	put = kiln_pq_put_open(client, conn, &error);
	for (int i = 0; i < 5000; i++)
	{
		char		name[20];
		point		o = {i, i / 8.0, {name, (uint32_t) snprintf(name, sizeof name, "p%d", i)}};
		kiln_tensor tensors[2] = {
			{.name = "", .dtype = KILN_DTYPE_F64, .rank = 2, .shape = {2, 3}, .length = sizeof packed, .data = packed},
			{.name = "w", .name_length = 1, .dtype = KILN_DTYPE_F64, .rank = 1, .shape = {1}, .length = 8,
			 .data = packed},
		};

		assert_true(kiln_pq_put_row(put, 8, &error));
		assert_true(kiln_pq_put_int4(put, i, &error) && kiln_pq_put_int8(put, -i * INT64_C(5000000000), &error) &&
					kiln_pq_put_float8(put, i / 3.0, &error) && kiln_pq_put_bool(put, i % 2 == 0, &error));
		if (i % 10 == 0)
			assert_true(kiln_pq_put_null(put, &error));
		else
			assert_true(kiln_pq_put_bytes(put, name, o.name.length, &error));
		assert_true(kiln_pq_put_object(put, schema, binding, &o, true, &error));
		assert_true(kiln_pq_put_object(put, bare, bare_binding, &o, true, &error));
		assert_true(kiln_pq_put_tensors(put, tensors, 2, &error));
	}
	if (!kiln_pq_put_close(put, NULL, &rows, &error))
		fail_msg("%s", error.message);
	assert_int_equal(rows, 5000);
	assert_answer("SELECT count(*) FROM p WHERE big = -n * 5000000000 AND f = n / 3.0::float8 AND b = (n % 2 = 0) "
				  "AND s IS NOT DISTINCT FROM CASE WHEN n % 10 <> 0 THEN 'p' || n END "
				  "AND v = kiln_encode('kiln_c_point', jsonb_build_object('id', n, 'x', n / 8.0, 'name', 'p' || n)) "
				  "AND kiln_definition(w) = '(id i64,x f64,name string)' AND w::jsonb = v::jsonb "
				  "AND kiln_to_array(t->'') = '{{1.5,2,3},{4,5,6}}' AND kiln_to_array(t->'w') = '{1.5}' "
				  "AND kiln_verify(v) AND kiln_verify(w) AND kiln_verify(t)", "5000");

	/* a string that is no UTF-8 is refused here; the COPY is then abandoned and nothing stays */
	command("COPY p (v) FROM STDIN (FORMAT binary)");
	put = kiln_pq_put_open(client, conn, &error);
	assert_true(kiln_pq_put_row(put, 1, &error));
	assert_false(kiln_pq_put_object(put, schema, binding, &(point) {1, 1, {"\xff", 1}}, true, &error));
	assert_int_equal(error.code, KILN_PQ_E_ENCODE);
	assert_string_equal(error.codec.path, "name");
	assert_false(kiln_pq_put_row(put, 1, &error));
	assert_false(kiln_pq_put_close(put, "enough", NULL, &error));
	assert_int_equal(error.code, KILN_PQ_E_SERVER);
	assert_non_null(strstr(error.message, "enough"));

	/* rows that are short, and long */
	command("COPY p (n, v) FROM STDIN (FORMAT binary)");
	put = kiln_pq_put_open(client, conn, &error);
	assert_true(kiln_pq_put_row(put, 2, &error) && kiln_pq_put_int4(put, 1, &error));
	assert_false(kiln_pq_put_close(put, NULL, NULL, &error));
	assert_int_equal(error.code, KILN_PQ_E_PROTOCOL);
	command("COPY p (n) FROM STDIN (FORMAT binary)");
	put = kiln_pq_put_open(client, conn, &error);
	assert_true(kiln_pq_put_row(put, 1, &error) && kiln_pq_put_int4(put, 1, &error));
	assert_false(kiln_pq_put_int4(put, 1, &error));
	assert_int_equal(error.code, KILN_PQ_E_PROTOCOL);
	assert_false(kiln_pq_put_close(put, "no", NULL, NULL));
	assert_answer("SELECT count(*) FROM p", "5000");
	command("DROP TABLE p");
	command("SELECT kiln_forget('kiln_c_point')");
	kiln_binding_free(binding);
	kiln_binding_free(bare_binding);
	kiln_pq_close(client);
}

/* All of a table, read and put again as it came. */
static void
test_copy_round(void **state)
{
	PGconn	   *other = PQconnectdb("");
	kiln_pq    *client = open_client();
	kiln_pq_error error;
	kiln_pq_copy copy;
	kiln_pq_put *put;
	kiln_pq_value value;
	kiln_pq_found found;

	(void) state;
	command("CREATE TABLE again (n int, v kiln(kiln_c))");
	PQclear(PQexec(other, "COPY kiln_c_tests.m TO STDOUT (FORMAT binary)"));
	command("COPY again FROM STDIN (FORMAT binary)");
	assert_true(kiln_pq_copy_open(&copy, other, &error));
	put = kiln_pq_put_open(client, conn, &error);
	while (kiln_pq_copy_row(&copy, &error) == KILN_PQ_FOUND)
	{
		found = kiln_pq_copy_value(&copy, client, 1, &value, &error);
		assert_int_not_equal(found, KILN_PQ_FAILED);
		assert_true(kiln_pq_put_row(put, 2, &error) && kiln_pq_put_bytes(put, copy.fields[0].data, 4, &error));
		assert_true(found == KILN_PQ_FOUND ? kiln_pq_put_bytes(put, value.frame, value.frame_length, &error)
					: kiln_pq_put_null(put, &error));
	}
	kiln_pq_copy_close(&copy);
	PQfinish(other);
	if (!kiln_pq_put_close(put, NULL, NULL, &error))
		fail_msg("%s", error.message);
	assert_answer("SELECT count(*) FROM (TABLE m EXCEPT TABLE again) AS d", "0");
	assert_answer("SELECT count(*) FROM again", "20001");
	command("DROP TABLE again");
	kiln_pq_close(client);
}

/* ------------------------------------------------------------------ tensors, parameters */

static void
test_tensor(void **state)
{
	kiln_pq    *client = open_client();
	PGresult   *result =
		run("SELECT kiln_tensor_agg(sqrt(g)::float8 ORDER BY g), array_agg(sqrt(g)::float8 ORDER BY g) "
							 "FROM generate_series(1, 100000) AS g", 1);
	const uint8_t *array = (const uint8_t *) PQgetvalue(result, 0, 1);
	kiln_pq_error error;
	kiln_pq_value value;
	kiln_tensor tensor;

	(void) state;
	assert_int_equal(kiln_pq_result_value(client, result, 0, 0, &value, &error), KILN_PQ_FOUND);
	assert_int_equal(kiln_pq_tensor(&value, "", &tensor, &error), KILN_PQ_FOUND);
	assert_int_equal(tensor.dtype, KILN_DTYPE_F64);
	assert_int_equal(tensor.rank, 1);
	assert_int_equal(tensor.shape[0], 100000);
	assert_true(tensor.data > value.frame && tensor.data + tensor.length <= value.frame + value.frame_length);
	/* against float8[] as the server sends it: a head of 20 bytes, then a length word and a big-endian number each */
	for (int i = 0; i < 100000; i++)
	{
		kiln_pq_field element = {array + 20 + 12 * i + 4, 8};

		assert_true(kiln_load_f64(tensor.data + 8 * i) == kiln_pq_float8(&element));
	}
	PQclear(result);
	kiln_pq_close(client);
}

static void
test_parameter(void **state)
{
	kiln_pq    *client = open_client();
	const kiln_schema *schema = kiln_pq_inline(client, "(id i64,x f64,name string)", 26, NULL);
	const Oid	types[] = {kiln_pq_oid(client)};
	const int	formats[] = {1};
	kiln_binding *binding;
	kiln_writer writer;
	kiln_pq_error error;
	point		o = {42, 0.5, {"é", 2}};
	PGresult   *result;
	const char *values[1];
	int			lengths[1];

	(void) state;
	assert_true(kiln_binding_compile(schema->root, point_members, 3, NULL, &binding, NULL));
	kiln_writer_init(&writer, NULL, 0);
	writer.grow = kiln_writer_grow_malloc;
	assert_true(kiln_pq_frame_head(client, schema, &writer, &error));
	assert_true(kiln_binding_encode(binding, &o, true, &writer, NULL));
	values[0] = (const char *) writer.start;
	lengths[0] = (int) kiln_writer_length(&writer);
	result = PQexecParams(conn, "SELECT $1::json", 1, types, values, lengths, formats, 0);
	assert_int_equal(PQresultStatus(result), PGRES_TUPLES_OK);
	assert_string_equal(PQgetvalue(result, 0, 0), "{\"id\": 42, \"x\": 0.5, \"name\": \"é\"}");
	PQclear(result);
	free(writer.start);
	kiln_binding_free(binding);
	kiln_pq_close(client);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_result),
		cmocka_unit_test(test_errors),
		cmocka_unit_test(test_definitions),
		cmocka_unit_test(test_copy_out),
		cmocka_unit_test(test_copy_in),
		cmocka_unit_test(test_copy_round),
		cmocka_unit_test(test_tensor),
		cmocka_unit_test(test_parameter),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
