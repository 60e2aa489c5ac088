/*
 * Kiln from C: write records by COPY in binary, read them back by COPY and by SELECT, and a tensor.
 *
 *   example [conninfo]
 *
 * Works in temporary tables; the definition that it registers is forgotten at the end.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "kiln_pq.h"

/* A reading as this program has it; the binding says where its fields are. */
typedef struct reading
{
	int64_t		sensor;
	double		level;
	kiln_slice	unit;
} reading;

static const kiln_member members[] = {
	{"sensor", offsetof(reading, sensor)},
	{"level", offsetof(reading, level)},
	{"unit", offsetof(reading, unit)},
};

static void
die(const char *what)
{
	fprintf(stderr, "example: %s\n", what);
	exit(1);
}

static PGresult *
run(PGconn *conn, const char *query, int format)
{
	PGresult   *result = PQexecParams(conn, query, 0, NULL, NULL, NULL, NULL, format);
	ExecStatusType status = PQresultStatus(result);

	if (status == PGRES_BAD_RESPONSE || status == PGRES_FATAL_ERROR)
		die(PQerrorMessage(conn));
	return result;
}

/* A thousand readings, from an array of structs. */
static void
write_readings(kiln_pq *client, PGconn *conn)
{
	kiln_pq_error error;
	const kiln_schema *schema = kiln_pq_by_name(client, "kiln_example");
	kiln_binding *binding;
	kiln_pq_put *put;
	int64_t		rows;

	if (schema == NULL || !kiln_binding_compile(schema->root, members, 3, NULL, &binding, NULL))
		die("the schema is not the one this program was written for");
	PQclear(run(conn, "COPY readings FROM STDIN (FORMAT binary)", 0));
	put = kiln_pq_put_open(client, conn, &error);
	if (put == NULL)
		die(error.message);
	for (int i = 0; i < 1000; i++)
	{
		reading		r = {i % 7, i / 4.0, {"bar", 3}};

		if (!kiln_pq_put_row(put, 2, &error) || !kiln_pq_put_int4(put, i, &error) ||
			!kiln_pq_put_object(put, schema, binding, &r, true, &error))
			die(error.message);
	}
	if (!kiln_pq_put_close(put, NULL, &rows, &error))
		die(error.message);
	kiln_binding_free(binding);
	printf("%" PRId64 " rows written\n", rows);
}

/* Sum a field over all rows, from the stream's own bytes. */
static void
sum_readings(kiln_pq *client, PGconn *conn)
{
	kiln_pq_error error = {0};
	kiln_pq_path *level = kiln_pq_path_open(client, "level", &error);
	kiln_pq_copy copy;
	double		sum = 0;

	PQclear(run(conn, "COPY readings (r) TO STDOUT (FORMAT binary)", 0));
	if (level == NULL || !kiln_pq_copy_open(&copy, conn, &error))
		die(error.message);
	while (kiln_pq_copy_row(&copy, &error) == KILN_PQ_FOUND)
	{
		kiln_pq_value value;
		double		v;

		if (kiln_pq_copy_value(&copy, client, 0, &value, &error) == KILN_PQ_FOUND &&
			kiln_pq_get_double(&value, level, &v, &error) == KILN_PQ_FOUND)
			sum += v;
	}
	if (error.code != KILN_PQ_E_OK)
		die(error.message);
	kiln_pq_copy_close(&copy);
	kiln_pq_path_close(level);
	printf("sum of level: %g\n", sum);
}

/* One row by SELECT: its fields as they stand in the result. */
static void
show_reading(kiln_pq *client, PGconn *conn)
{
	kiln_pq_error error;
	kiln_pq_path *unit = kiln_pq_path_open(client, "unit", &error);
	kiln_pq_path *sensor = kiln_pq_path_open(client, "sensor", &error);
	PGresult   *result = run(conn, "SELECT r FROM readings WHERE n = 500", 1);
	kiln_pq_value value;
	kiln_slice	text = {NULL, 0};
	int64_t		number = 0;

	if (kiln_pq_result_value(client, result, 0, 0, &value, &error) != KILN_PQ_FOUND ||
		kiln_pq_get_span(&value, unit, &text, &error) != KILN_PQ_FOUND ||
		kiln_pq_get_int64(&value, sensor, &number, &error) != KILN_PQ_FOUND)
		die(error.message);
	printf("row 500: sensor %" PRId64 ", unit %.*s, schema %s\n", number, (int) text.length, (const char *) text.data,
		value.schema->text);
	PQclear(result);
	kiln_pq_path_close(unit);
	kiln_pq_path_close(sensor);
}

/* A tensor: a pointer and a shape. */
static void
show_tensor(kiln_pq *client, PGconn *conn)
{
	kiln_pq_error error;
	PGresult   *result = run(conn, "SELECT kiln_tensor(ARRAY[[1, 2, 3], [4, 5, 6]]::float8[])", 1);
	kiln_pq_value value;
	kiln_tensor tensor;
	double		sum = 0;

	if (kiln_pq_result_value(client, result, 0, 0, &value, &error) != KILN_PQ_FOUND ||
		kiln_pq_tensor(&value, "", &tensor, &error) != KILN_PQ_FOUND || tensor.dtype != KILN_DTYPE_F64)
		die(error.message);
	for (uint64_t i = 0; i < tensor.length; i += sizeof(double))
		sum += kiln_load_f64(tensor.data + i);
	printf("a tensor of %s, %" PRIu64 " by %" PRIu64 ", sum %g\n", kiln_dtype_name(tensor.dtype), tensor.shape[0],
		tensor.shape[1], sum);
	PQclear(result);
}

int
main(int argc, char **argv)
{
	PGconn	   *conn = PQconnectdb(argc > 1 ? argv[1] : "");
	kiln_pq_error error;
	kiln_pq    *client;

	if (PQstatus(conn) != CONNECTION_OK)
		die(PQerrorMessage(conn));
	PQclear(run(conn, "SELECT kiln_register('kiln_example(sensor i64,level f64,unit string)')", 0));
	PQclear(run(conn, "CREATE TEMPORARY TABLE readings (n integer, r kiln(kiln_example))", 0));
	client = kiln_pq_open(conn, &error);
	if (client == NULL)
		die(error.message);

	write_readings(client, conn);
	sum_readings(client, conn);
	show_reading(client, conn);
	show_tensor(client, conn);

	kiln_pq_close(client);
	PQclear(run(conn, "DROP TABLE readings", 0));
	PQclear(run(conn, "SELECT kiln_forget('kiln_example')", 0));
	PQfinish(conn);
	return 0;
}
