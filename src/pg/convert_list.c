/*
 * kiln_misfits and kiln_infer_report: a query over a user's table, whose rows are handed on.
 */
#include "kiln_convert.h"

#include "access/relation.h"
#include "access/sysattr.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "nodes/bitmapset.h"
#include "utils/builtins.h"
#include "utils/jsonb.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#define FETCHED		1000		/* rows at a time */

PG_FUNCTION_INFO_V1(kiln_misfits);
PG_FUNCTION_INFO_V1(kiln_infer_report_of);

/* ------------------------------------------------------------------ the query */

/* jsonb_build_object('id', t.id, …) over the primary key, or NULL if there is none. */
static char *
key_expression(Oid oid)
{
	Relation	relation = relation_open(oid, AccessShareLock);
	Bitmapset  *key = RelationGetIndexAttrBitmap(relation, INDEX_ATTR_BITMAP_PRIMARY_KEY);
	StringInfoData sql;
	int			bit = -1;

	initStringInfo(&sql);
	while ((bit = bms_next_member(key, bit)) >= 0)
	{
		const char *name = get_attname(oid, (AttrNumber) (bit + FirstLowInvalidHeapAttributeNumber), false);

		appendStringInfo(&sql, "%s%s, t.%s", sql.len > 0 ? ", " : "pg_catalog.jsonb_build_object(", quote_literal_cstr(name),
						 quote_identifier(name));
	}
	appendStringInfoString(&sql, sql.len > 0 ? ")" : "NULL::pg_catalog.jsonb");
	relation_close(relation, AccessShareLock);
	return sql.data;
}

/* A store of rows as the caller wants them, in the memory of its query. */
static Tuplestorestate *
begin_rows(FunctionCallInfo fcinfo, TupleDesc *columns)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	MemoryContext caller;
	Tuplestorestate *rows;

	if (result == NULL || !IsA(result, ReturnSetInfo) || !(result->allowedModes & SFRM_Materialize))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("set-valued function called in context that cannot accept a set")));
	caller = MemoryContextSwitchTo(result->econtext->ecxt_per_query_memory);
	if (get_call_result_type(fcinfo, NULL, columns) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	*columns = CreateTupleDescCopy(*columns);
	rows = tuplestore_begin_heap((result->allowedModes & SFRM_Materialize_Random) != 0, false, work_mem);
	result->returnMode = SFRM_Materialize;
	result->setResult = rows;
	result->setDesc = *columns;
	MemoryContextSwitchTo(caller);
	return rows;
}

static void
put_rows(Tuplestorestate *rows, TupleDesc columns, const SPITupleTable *fetched, uint64 count)
{
	for (uint64 i = 0; i < count; i++)
	{
		Datum		values[4];
		bool		nulls[4];

		for (int column = 0; column < 4; column++)
			values[column] = SPI_getbinval(fetched->vals[i], fetched->tupdesc, column + 1, &nulls[column]);
		tuplestore_putvalues(rows, columns, values, nulls);
	}
}

/*
 * kiln_misfits(relation, from_column, schema, verify): the rows whose document is no value of the schema: table, TID,
 * primary key, reason.
 */
Datum
kiln_misfits(PG_FUNCTION_ARGS)
{
	Oid			relation = PG_GETARG_OID(0);
	char	   *own = kiln_own_schema(fcinfo);
	KilnColumn	column = kiln_document_column(relation, NameStr(*PG_GETARG_NAME(1)));
	Oid			types[2] = {TEXTOID, TEXTOID};
	Datum		values[2];
	TupleDesc	columns;
	Tuplestorestate *rows = begin_rows(fcinfo, &columns);
	Portal		portal;
	char	   *sql;

	values[0] = PG_GETARG_DATUM(2);
	values[1] = PG_GETARG_DATUM(3);
	sql = psprintf("SELECT q.r, q.c, q.k, q.e FROM (SELECT t.tableoid::pg_catalog.regclass AS r, t.ctid AS c, %s AS k, "
				   "%s.%s($1, t.%s, $2) AS e FROM %s AS t WHERE t.%s IS NOT NULL OFFSET 0) AS q "
				   "WHERE q.e IS NOT NULL", key_expression(relation), own, kiln_misfit_function(&column), column.quoted,
				   kiln_relation_name(relation), column.quoted);
	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	portal = SPI_cursor_open_with_args(NULL, sql, 2, types, values, NULL, true, 0);
	do
	{
		SPI_cursor_fetch(portal, true, FETCHED);
		put_rows(rows, columns, SPI_tuptable, SPI_processed);
		SPI_freetuptable(SPI_tuptable);
		CHECK_FOR_INTERRUPTS();
	} while (SPI_processed > 0);
	SPI_cursor_close(portal);
	SPI_finish();
	PG_RETURN_NULL();
}

/* kiln_infer_report_of(relation, column): kiln_infer_report_agg over a column of documents. */
Datum
kiln_infer_report_of(PG_FUNCTION_ARGS)
{
	MemoryContext caller = CurrentMemoryContext;
	Oid			relation = PG_GETARG_OID(0);
	KilnColumn	column = kiln_document_column(relation, NameStr(*PG_GETARG_NAME(1)));
	char	   *sql;
	bool		isnull;
	Datum		report;

	sql = psprintf("SELECT %s.kiln_infer_report_agg(t.%s::pg_catalog.jsonb) FROM %s AS t", kiln_own_schema(fcinfo),
				   column.quoted, kiln_relation_name(relation));
	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	if (SPI_execute(sql, true, 0) != SPI_OK_SELECT || SPI_processed != 1)
		elog(ERROR, "kiln_infer_report_agg gave no row");
	report = SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1, &isnull);
	if (!isnull)
	{
		MemoryContext inner = MemoryContextSwitchTo(caller);

		report = JsonbPGetDatum(DatumGetJsonbPCopy(report));
		MemoryContextSwitchTo(inner);
	}
	SPI_finish();
	if (isnull)
		PG_RETURN_NULL();
	PG_RETURN_DATUM(report);
}
