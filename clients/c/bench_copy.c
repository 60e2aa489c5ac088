/*
 * What it takes to sum one field over many rows, in a client: kiln values by COPY in binary against plain columns in
 * text.
 *
 *   bench_copy [rows [rounds]]        1,000,000 rows and 7 rounds, unless said otherwise; PGHOST etc. say where
 *
 * The data are the eight-field messages of the README, once as kiln values and once as plain columns: in a table of
 * the same eight columns, and in a narrow one of just the two that are summed, which is the least that a server can
 * read. Legs take turns, round by round; each is timed from the query to the last row, and beside it the time that
 * this program itself computed. Every leg's sum must equal the server's own and the others' before a time counts.
 * Medians are printed. All is made in a schema of its own, which goes at the end.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "kiln_pq.h"

#define DEFINITION	"kiln_bench_copy(a bool,b bool,x i32,y i32,id i64,score f64,s string,t string)"
#define MAX_ROUNDS	101

typedef enum how
{
	KILN_COPY,					/* COPY of the kiln column in binary */
	KILN_SELECT,				/* its SELECT in binary */
	TEXT_COPY,					/* COPY of the plain column in text, strtod() or strtoll() */
	TEXT_SELECT,				/* its SELECT in text, likewise */
	BINARY_COPY					/* COPY of the plain column in binary: what remains if nothing is parsed */
} how;

typedef struct leg
{
	const char *what;
	how			how;
	const char *table;
	bool		is_double;		/* sums score, else id */
	double		seconds[MAX_ROUNDS];
	double		cpu[MAX_ROUNDS];	/* this program's own, without the server's */
} leg;

static leg	legs[] = {
	{"kiln, COPY binary", KILN_COPY, "kiln_bench_copy.k", true, {0}, {0}},
	{"kiln, SELECT binary", KILN_SELECT, "kiln_bench_copy.k", true, {0}, {0}},
	{"plain, COPY text + strtod", TEXT_COPY, "kiln_bench_copy.wide", true, {0}, {0}},
	{"plain, COPY text + strtod, narrow table", TEXT_COPY, "kiln_bench_copy.narrow", true, {0}, {0}},
	{"plain, SELECT text + strtod, narrow table", TEXT_SELECT, "kiln_bench_copy.narrow", true, {0}, {0}},
	{"plain, COPY binary, narrow table", BINARY_COPY, "kiln_bench_copy.narrow", true, {0}, {0}},
	{"kiln, COPY binary", KILN_COPY, "kiln_bench_copy.k", false, {0}, {0}},
	{"kiln, SELECT binary", KILN_SELECT, "kiln_bench_copy.k", false, {0}, {0}},
	{"plain, COPY text + strtoll", TEXT_COPY, "kiln_bench_copy.wide", false, {0}, {0}},
	{"plain, COPY text + strtoll, narrow table", TEXT_COPY, "kiln_bench_copy.narrow", false, {0}, {0}},
	{"plain, SELECT text + strtoll, narrow table", TEXT_SELECT, "kiln_bench_copy.narrow", false, {0}, {0}},
	{"plain, COPY binary, narrow table", BINARY_COPY, "kiln_bench_copy.narrow", false, {0}, {0}},
};

#define LEGS	(sizeof legs / sizeof legs[0])

typedef union sum
{
	double		d;
	int64_t		i;
} sum;

static PGconn *conn;
static kiln_pq *client;

static void
die(const char *what)
{
	fprintf(stderr, "bench_copy: %s\n", what);
	exit(1);
}

static PGresult *
run(const char *query, int format, ExecStatusType wanted)
{
	PGresult   *result = PQexecParams(conn, query, 0, NULL, NULL, NULL, NULL, format);

	if (PQresultStatus(result) != wanted)
		die(PQerrorMessage(conn));
	return result;
}

static void
command(const char *query)
{
	PGresult   *result = PQexec(conn, query);

	if (PQresultStatus(result) != PGRES_COMMAND_OK && PQresultStatus(result) != PGRES_TUPLES_OK)
		die(PQerrorMessage(conn));
	PQclear(result);
}

static double
now(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (double) t.tv_sec + (double) t.tv_nsec * 1e-9;
}

/* ------------------------------------------------------------------ legs */

static void
add_value(sum *total, const kiln_pq_value *value, kiln_pq_path *path, bool is_double, kiln_pq_error *error)
{
	double		d;
	int64_t		i;

	if (is_double)
	{
		if (kiln_pq_get_double(value, path, &d, error) != KILN_PQ_FOUND)
			die(error->message);
		total->d += d;
	}
	else
	{
		if (kiln_pq_get_int64(value, path, &i, error) != KILN_PQ_FOUND)
			die(error->message);
		total->i += i;
	}
}

static int64_t
kiln_copy(const leg *l, kiln_pq_path *path, sum *total)
{
	kiln_pq_error error = {0};
	kiln_pq_copy copy;
	kiln_pq_value value;
	int64_t		rows = 0;
	char		query[200];

	snprintf(query, sizeof query, "COPY %s TO STDOUT (FORMAT binary)", l->table);
	PQclear(run(query, 0, PGRES_COPY_OUT));
	if (!kiln_pq_copy_open(&copy, conn, &error))
		die(error.message);
	for (; kiln_pq_copy_row(&copy, &error) == KILN_PQ_FOUND; rows++)
	{
		if (kiln_pq_copy_value(&copy, client, 0, &value, &error) != KILN_PQ_FOUND)
			die(error.message);
		add_value(total, &value, path, l->is_double, &error);
	}
	if (error.code != KILN_PQ_E_OK)
		die(error.message);
	kiln_pq_copy_close(&copy);
	return rows;
}

static int64_t
kiln_select(const leg *l, kiln_pq_path *path, sum *total)
{
	kiln_pq_error error = {0};
	kiln_pq_value value;
	PGresult   *result;
	char		query[200];
	int			rows;

	snprintf(query, sizeof query, "SELECT m FROM %s", l->table);
	result = run(query, 1, PGRES_TUPLES_OK);
	rows = PQntuples(result);
	for (int i = 0; i < rows; i++)
	{
		if (kiln_pq_result_value(client, result, i, 0, &value, &error) != KILN_PQ_FOUND)
			die(error.message);
		add_value(total, &value, path, l->is_double, &error);
	}
	PQclear(result);
	return rows;
}

static void
add_text(sum *total, const char *text, bool is_double)
{
	if (is_double)
		total->d += strtod(text, NULL);
	else
		total->i += strtoll(text, NULL, 10);
}

static int64_t
text_copy(const leg *l, sum *total)
{
	int64_t		rows = 0;
	char		query[200];
	char	   *line;
	int			n;

	snprintf(query, sizeof query, "COPY %s (%s) TO STDOUT", l->table, l->is_double ? "score" : "id");
	PQclear(run(query, 0, PGRES_COPY_OUT));
	for (; (n = PQgetCopyData(conn, &line, 0)) > 0; rows++)
	{
		add_text(total, line, l->is_double);
		PQfreemem(line);
	}
	for (PGresult *result; (result = PQgetResult(conn)) != NULL; PQclear(result))
	{
		if (n == -2 || PQresultStatus(result) != PGRES_COMMAND_OK)
			die(PQerrorMessage(conn));
	}
	return rows;
}

static int64_t
text_select(const leg *l, sum *total)
{
	PGresult   *result;
	char		query[200];
	int			rows;

	snprintf(query, sizeof query, "SELECT %s FROM %s", l->is_double ? "score" : "id", l->table);
	result = run(query, 0, PGRES_TUPLES_OK);
	rows = PQntuples(result);
	for (int i = 0; i < rows; i++)
		add_text(total, PQgetvalue(result, i, 0), l->is_double);
	PQclear(result);
	return rows;
}

static int64_t
binary_copy(const leg *l, sum *total)
{
	kiln_pq_error error = {0};
	kiln_pq_copy copy;
	int64_t		rows = 0;
	char		query[200];

	snprintf(query, sizeof query, "COPY %s (%s) TO STDOUT (FORMAT binary)", l->table, l->is_double ? "score" : "id");
	PQclear(run(query, 0, PGRES_COPY_OUT));
	if (!kiln_pq_copy_open(&copy, conn, &error))
		die(error.message);
	for (; kiln_pq_copy_row(&copy, &error) == KILN_PQ_FOUND; rows++)
	{
		if (l->is_double)
			total->d += kiln_pq_float8(&copy.fields[0]);
		else
			total->i += kiln_pq_int8(&copy.fields[0]);
	}
	if (error.code != KILN_PQ_E_OK)
		die(error.message);
	kiln_pq_copy_close(&copy);
	return rows;
}

static int64_t
run_leg(const leg *l, kiln_pq_path *path, sum *total)
{
	memset(total, 0, sizeof *total);
	switch (l->how)
	{
		case KILN_COPY:
			return kiln_copy(l, path, total);
		case KILN_SELECT:
			return kiln_select(l, path, total);
		case TEXT_COPY:
			return text_copy(l, total);
		case TEXT_SELECT:
			return text_select(l, total);
		default:
			return binary_copy(l, total);
	}
}

/* ------------------------------------------------------------------ the whole */

static void
make_tables(int64_t rows)
{
	char		query[1000];

	command("SET client_min_messages = warning");
	command("SET synchronize_seqscans = off");
	command("SET extra_float_digits = 1");
	command("DROP SCHEMA IF EXISTS kiln_bench_copy CASCADE");
	command("SELECT kiln_register('" DEFINITION "')");
	command("CREATE SCHEMA kiln_bench_copy");
	snprintf(query, sizeof query,
			 "CREATE UNLOGGED TABLE kiln_bench_copy.wide AS SELECT g %% 2 = 0 AS a, g %% 3 = 0 AS b, g::int AS x, "
			 "-g::int AS y, "
			 "g * 1000003 AS id, sqrt(g)::float8 AS score, 'hello'::text AS s, 'world'::text AS t "
			 "FROM generate_series(1, %" PRId64 "::bigint) AS g", rows);
	command(query);
	command("CREATE UNLOGGED TABLE kiln_bench_copy.narrow AS SELECT id, score FROM kiln_bench_copy.wide");
	command("CREATE UNLOGGED TABLE kiln_bench_copy.k (m kiln(kiln_bench_copy))");
	command("INSERT INTO kiln_bench_copy.k SELECT kiln_encode('kiln_bench_copy', w) FROM kiln_bench_copy.wide AS w");
	command("VACUUM kiln_bench_copy.wide, kiln_bench_copy.narrow, kiln_bench_copy.k");
}

static void
drop_tables(void)
{
	command("DROP SCHEMA kiln_bench_copy CASCADE");
	command("SELECT kiln_forget('kiln_bench_copy')");
}

/*
 * Every leg's sum, once, against the server's: a warm-up, too. The server adds doubles in another way, so it answers
 * for the integers alone.
 */
static void
check_sums(int64_t rows, kiln_pq_path *const *paths)
{
	PGresult   *result = run("SELECT count(*), sum(id) FROM kiln_bench_copy.wide", 0, PGRES_TUPLES_OK);
	sum			first = {0};
	sum			total;

	if (strtoll(PQgetvalue(result, 0, 0), NULL, 10) != rows)
		die("rows are missing");
	for (size_t i = 0; i < LEGS; i++)
	{
		if (run_leg(&legs[i], paths[legs[i].is_double], &total) != rows)
			die("a leg has not seen all rows");
		if (i == 0)
			first = total;
		if (legs[i].is_double ? total.d != first.d : total.i != strtoll(PQgetvalue(result, 0, 1), NULL, 10))
			die("the sums differ");
	}
	PQclear(result);
	printf("%" PRId64 " rows, sums equal\n", rows);
}

static int
compare(const void *a, const void *b)
{
	double		x = *(const double *) a;
	double		y = *(const double *) b;

	return (x > y) - (x < y);
}

static void
report(int rounds)
{
	double		kiln = 0;

	for (size_t i = 0; i < LEGS; i++)
	{
		double	   *seconds = legs[i].seconds;

		qsort(seconds, (size_t) rounds, sizeof *seconds, compare);
		qsort(legs[i].cpu, (size_t) rounds, sizeof *seconds, compare);
		if (legs[i].how == KILN_COPY)
		{
			kiln = seconds[rounds / 2];
			printf("\n%-42s %10s %8s %8s %8s %8s\n", legs[i].is_double ? "sum of score (float8)" : "sum of id (int8)",
				   "median ms", "best", "worst", "to kiln", "client");
		}
		printf("%-42s %10.1f %8.1f %8.1f %8.2f %8.1f\n", legs[i].what, seconds[rounds / 2] * 1e3, seconds[0] * 1e3,
			   seconds[rounds - 1] * 1e3, seconds[rounds / 2] / kiln, legs[i].cpu[rounds / 2] * 1e3);
	}
}

int
main(int argc, char **argv)
{
	int64_t		rows = argc > 1 ? strtoll(argv[1], NULL, 10) : 1000000;
	int			rounds = argc > 2 ? atoi(argv[2]) : 7;
	kiln_pq_error error = {0};
	kiln_pq_path *paths[2];
	sum			total;

	if (rows < 1 || rows > 100000000 || rounds < 1 || rounds > MAX_ROUNDS)
		die("usage: bench_copy [rows [rounds]]");
	conn = PQconnectdb("");
	if (PQstatus(conn) != CONNECTION_OK)
		die(PQerrorMessage(conn));
	make_tables(rows);
	client = kiln_pq_open(conn, &error);
	if (client == NULL)
		die(error.message);
	paths[0] = kiln_pq_path_open(client, "id", &error);
	paths[1] = kiln_pq_path_open(client, "score", &error);
	if (paths[0] == NULL || paths[1] == NULL)
		die(error.message);

	check_sums(rows, paths);
	for (int round = 0; round < rounds; round++)
	{
		for (size_t i = 0; i < LEGS; i++)
		{
			double		begun = now(CLOCK_MONOTONIC);
			double		cpu = now(CLOCK_PROCESS_CPUTIME_ID);

			run_leg(&legs[i], paths[legs[i].is_double], &total);
			legs[i].cpu[round] = now(CLOCK_PROCESS_CPUTIME_ID) - cpu;
			legs[i].seconds[round] = now(CLOCK_MONOTONIC) - begun;
		}
	}
	report(rounds);

	kiln_pq_path_close(paths[0]);
	kiln_pq_path_close(paths[1]);
	kiln_pq_close(client);
	drop_tables();
	PQfinish(conn);
	return 0;
}
