/*
 * kiln_convert and kiln_upgrade_table: a table's rows changed in batches, each a transaction of its own.
 *
 * A batch is a range of pages, read by a TID range scan, and one UPDATE of those of its rows that are still to be
 * done: a row says so itself (the new column is NULL; the value is outdated), so that what was stopped in any way is
 * resumed by the same call. New versions of rows land behind the pages that the table had, or in them; the scan goes
 * on until no pages have come, and meets them as done.
 *
 * A row that does not fit is not in the UPDATE. What else goes wrong with a row (a constraint, a trigger, a value
 * that does not upgrade) undoes the batch's subtransaction; its rows are then done one by one, each in a
 * subtransaction, and those that fail are left. Errors that are not a row's (a cancel, a missing right, a lost
 * table) end the procedure; what was committed stays.
 *
 * Partitions and children are taken one after the other, each as the table that it is.
 */
#include "kiln_convert.h"

#include "access/relation.h"
#include "access/xact.h"
#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/resowner.h"
#include "utils/timestamp.h"

#define SHOWN			5		/* rows that are told one by one; all are in kiln_misfits() */
#define PAGES_MOST		8192	/* of a batch, where nothing is to be done */
#define TELL_EVERY		1000	/* milliseconds between two words on progress */

PG_FUNCTION_INFO_V1(kiln_convert);
PG_FUNCTION_INFO_V1(kiln_upgrade_table);

typedef struct Job
{
	const char *function;		/* for messages */
	const char *set;			/* "column = expression" of the UPDATE, over t */
	const char *todo;			/* which rows are to be done */
	const char *fitting;		/* which of these fit: a condition, or NULL for all */
	const char *reason;			/* expression: why a row that is to be done does not fit */
	int			arguments;		/* that these use, from $3 on */
	Datum		values[4];
	Oid			types[4];
	int			batch;			/* rows */
	MemoryContext scratch;		/* reset after each batch */
	uint64		done;
	uint64		left;			/* that did not fit */
	int			shown;
	TimestampTz begun;
	TimestampTz told;
} Job;

/* The table at hand. */
typedef struct Part
{
	Oid			oid;
	char	   *name;			/* qualified and quoted */
	char	   *update;			/* UPDATE between two TIDs */
	char	   *pending;		/* SELECT of the TIDs of rows between two TIDs that are to be done */
	char	   *reasons;		/* the same, with why each does not fit */
	BlockNumber pages;
	TimestampTz begun;
	BlockNumber goal;			/* pages when the scan began; once there, those that have come since */
} Part;

/* ------------------------------------------------------------------ queries */

static void
make_queries(const Job *job, Part *part)
{
	const char *range = "t.ctid OPERATOR(pg_catalog.>=) $1 AND t.ctid OPERATOR(pg_catalog.<) $2";

	part->name = kiln_relation_name(part->oid);
	part->update = psprintf("UPDATE ONLY %s AS t SET %s WHERE %s AND %s%s%s", part->name, job->set, range, job->todo,
							job->fitting ? " AND " : "", job->fitting ? job->fitting : "");
	part->pending = psprintf("SELECT t.ctid FROM ONLY %s AS t WHERE %s AND %s", part->name, range, job->todo);
	part->reasons = psprintf("SELECT t.ctid, %s FROM ONLY %s AS t WHERE %s AND %s", job->reason, part->name, range,
							 job->todo);
}

/* Run one of them between two TIDs; the number of rows. */
static uint64
run_between(Job *job, const char *query, const ItemPointerData *from, const ItemPointerData *to)
{
	int			wanted = query[0] == 'U' ? SPI_OK_UPDATE : SPI_OK_SELECT;
	int			got;

	job->values[0] = PointerGetDatum(from);
	job->values[1] = PointerGetDatum(to);
	job->types[0] = job->types[1] = TIDOID;
	got = SPI_execute_with_args(query, 2 + job->arguments, job->types, job->values, NULL, false, 0);
	if (got != wanted && got != SPI_OK_REWRITTEN)
		elog(ERROR, "SPI_execute_with_args: %s", SPI_result_code_string(got));
	return SPI_processed;
}

/* ------------------------------------------------------------------ rows that do not go */

static void
tell_misfit(Job *job, const Part *part, const ItemPointerData *tid, const char *why)
{
	if (job->shown++ >= SHOWN)
		return;
	ereport(NOTICE,
			(errmsg("%s: row (%u,%u) of %s is left as it was: %s", job->function,
					ItemPointerGetBlockNumberNoCheck(tid), ItemPointerGetOffsetNumberNoCheck(tid), part->name, why)));
}

/* Is an error about a row's data, so that other rows may go? */
static bool
is_about_a_row(const ErrorData *error)
{
	switch (ERRCODE_TO_CATEGORY(error->sqlerrcode))
	{
		case ERRCODE_DATA_EXCEPTION:
		case ERRCODE_INTEGRITY_CONSTRAINT_VIOLATION:
		case ERRCODE_PROGRAM_LIMIT_EXCEEDED:
		case ERRCODE_WITH_CHECK_OPTION_VIOLATION:
		case ERRCODE_PLPGSQL_ERROR:
			return true;
		default:
			return error->sqlerrcode == ERRCODE_DATATYPE_MISMATCH || error->sqlerrcode == ERRCODE_UNDEFINED_OBJECT;
	}
}

static char *
error_line(const ErrorData *error)
{
	const char *detail = error->detail;

	return detail ? psprintf("%s (%s)", error->message, detail) : pstrdup(error->message);
}

/*
 * UPDATE between two TIDs in a subtransaction. An error about a row undoes it: *why gets its line (in scratch), and
 * false is returned.
 */
static bool
try_update(Job *job, const Part *part, const ItemPointerData *from, const ItemPointerData *to, uint64 *rows, char **why)
{
	MemoryContext context = CurrentMemoryContext;
	ResourceOwner owner = CurrentResourceOwner;
	volatile bool good = false;

	BeginInternalSubTransaction(NULL);
	MemoryContextSwitchTo(context);
	PG_TRY();
	{
		*rows = run_between(job, part->update, from, to);
		ReleaseCurrentSubTransaction();
		good = true;
	}
	PG_CATCH();
	{
		ErrorData  *error;

		MemoryContextSwitchTo(job->scratch);
		error = CopyErrorData();
		FlushErrorState();
		RollbackAndReleaseCurrentSubTransaction();
		MemoryContextSwitchTo(context);
		CurrentResourceOwner = owner;
		if (!is_about_a_row(error))
			ReThrowError(error);
		MemoryContextSwitchTo(job->scratch);
		*why = error_line(error);
	}
	PG_END_TRY();
	MemoryContextSwitchTo(context);
	CurrentResourceOwner = owner;
	return good;
}

/* TIDs of what is to be done in a range, in scratch. */
static ItemPointerData *
pending_tids(Job *job, const Part *part, const ItemPointerData *from, const ItemPointerData *to, uint64 *count)
{
	ItemPointerData *tids;

	*count = run_between(job, part->pending, from, to);
	tids = MemoryContextAllocHuge(job->scratch, sizeof(ItemPointerData) * (*count + 1));
	for (uint64 i = 0; i < *count; i++)
	{
		bool		isnull;

		tids[i] = *(ItemPointer) DatumGetPointer(SPI_getbinval(SPI_tuptable->vals[i], SPI_tuptable->tupdesc, 1, &isnull));
	}
	SPI_freetuptable(SPI_tuptable);
	return tids;
}

/* A batch that failed, row by row. */
static uint64
update_one_by_one(Job *job, const Part *part, const ItemPointerData *from, const ItemPointerData *to)
{
	uint64		count;
	uint64		done = 0;
	ItemPointerData *tids = pending_tids(job, part, from, to, &count);

	for (uint64 i = 0; i < count; i++)
	{
		ItemPointerData next = tids[i];
		uint64		rows = 0;
		char	   *why = NULL;

		CHECK_FOR_INTERRUPTS();
		ItemPointerSetOffsetNumber(&next, ItemPointerGetOffsetNumberNoCheck(&next) + 1);
		if (try_update(job, part, &tids[i], &next, &rows, &why))
			done += rows;
		else
			tell_misfit(job, part, &tids[i], why);
	}
	return done;
}

/* Count what a range has left, and tell of the first. */
static void
count_left(Job *job, const Part *part, const ItemPointerData *from, const ItemPointerData *to)
{
	uint64		count = run_between(job, part->reasons, from, to);
	SPITupleTable *rows = SPI_tuptable;

	for (uint64 i = 0; i < count && job->shown < SHOWN; i++)
	{
		bool		isnull;
		Datum		tid = SPI_getbinval(rows->vals[i], rows->tupdesc, 1, &isnull);
		char	   *why = SPI_getvalue(rows->vals[i], rows->tupdesc, 2);

		if (why)
			tell_misfit(job, part, (ItemPointer) DatumGetPointer(tid), why);
	}
	job->left += count;
	SPI_freetuptable(rows);
}

/* ------------------------------------------------------------------ progress */

static void
tell_progress(Job *job, const Part *part, BlockNumber page)
{
	TimestampTz now = GetCurrentTimestamp();
	double		seconds = (double) (now - job->begun) / USECS_PER_SEC;
	double		here = (double) (now - part->begun) / USECS_PER_SEC;

	if (!TimestampDifferenceExceeds(job->told, now, TELL_EVERY))
		return;
	job->told = now;
	ereport(NOTICE,
			(errmsg("%s: rows done: " UINT64_FORMAT " (%.0f a second), left as they were: " UINT64_FORMAT "; "
					"page %u of %u of %s, about %.0f s to go",
					job->function, job->done, seconds > 0 ? job->done / seconds : 0, job->left, page, part->goal, part->name,
					here / page * (part->goal - page))));
}

static void
tell_end(const Job *job, Oid relation)
{
	double		seconds = (double) (GetCurrentTimestamp() - job->begun) / USECS_PER_SEC;

	ereport(NOTICE,
			(errmsg("%s: at the end of %s, rows done: " UINT64_FORMAT ", left as they were: " UINT64_FORMAT, job->function,
					kiln_relation_name(relation), job->done, job->left),
			 errdetail("It took %.1f s, %.0f rows a second.", seconds, seconds > 0 ? job->done / seconds : 0),
			 job->left > 0 && job->fitting ? errhint("kiln_misfits() lists what does not fit.") : 0));
}

/* ------------------------------------------------------------------ tables */

/* Pages of a table; false if it is gone. */
static bool
count_pages(Part *part)
{
	Relation	relation = try_relation_open(part->oid, AccessShareLock);

	if (relation == NULL)
		return false;
	part->pages = RelationGetNumberOfBlocks(relation);
	relation_close(relation, NoLock);
	return true;
}

/* Pages of the first batch: by what statistics there are, else for rows of some eighty bytes. */
static BlockNumber
first_step(const Job *job, Oid oid)
{
	Relation	relation = try_relation_open(oid, AccessShareLock);
	double		density = 100;

	if (relation)
	{
		if (relation->rd_rel->relpages > 0 && relation->rd_rel->reltuples > 0)
			density = Max(1, relation->rd_rel->reltuples / relation->rd_rel->relpages);
		relation_close(relation, NoLock);
	}
	return (BlockNumber) Max(1, Min(job->batch / density, PAGES_MOST));
}

/* Pages of the next batch, after one that had so many rows to do. */
static BlockNumber
next_step(const Job *job, BlockNumber step, uint64 rows)
{
	double		wanted = rows > 0 ? (double) step * job->batch / rows : 2.0 * step;

	return (BlockNumber) Max(1, Min(Min(wanted, 2.0 * step), PAGES_MOST));
}

/* One batch: pages from first up to but not with end; how many rows were looked after. */
static uint64
do_batch(Job *job, const Part *part, BlockNumber first, BlockNumber end)
{
	uint64		before = job->done + job->left;
	uint64		rows = 0;
	char	   *why = NULL;
	ItemPointerData from;
	ItemPointerData to;

	ItemPointerSet(&from, first, InvalidOffsetNumber);
	ItemPointerSet(&to, end, InvalidOffsetNumber);
	if (!try_update(job, part, &from, &to, &rows, &why))
		rows = update_one_by_one(job, part, &from, &to);
	job->done += rows;
	count_left(job, part, &from, &to);
	SPI_commit();
	return job->done + job->left - before;
}

static void
do_table(Job *job, Oid oid)
{
	MemoryContext caller = CurrentMemoryContext;
	BlockNumber page = 0;
	BlockNumber step;
	Part		part = {.oid = oid, .begun = GetCurrentTimestamp()};

	if (get_rel_relkind(oid) != RELKIND_RELATION)
	{
		if (get_rel_relkind(oid) == RELKIND_FOREIGN_TABLE)
			ereport(NOTICE,
					(errmsg("%s: foreign table %s is passed over", job->function, kiln_relation_name(oid)),
					 errhint("Convert it on the server that has its rows.")));
		return;
	}
	make_queries(job, &part);
	step = first_step(job, oid);
	while (count_pages(&part) && page < part.pages)
	{
		BlockNumber end = part.pages - page > step ? page + step : part.pages;
		uint64		rows;

		CHECK_FOR_INTERRUPTS();
		if (page >= part.goal)
			part.goal = part.pages;
		end = Min(end, part.goal);
		rows = do_batch(job, &part, page, end);
		page = end;
		step = next_step(job, step, rows);
		MemoryContextSwitchTo(caller);
		MemoryContextReset(job->scratch);
		tell_progress(job, &part, page);
	}
}

static void
do_all(Job *job, Oid relation)
{
	List	   *tables = find_all_inheritors(relation, NoLock, NULL);
	ListCell   *cell;

	job->scratch = AllocSetContextCreate(CurrentMemoryContext, "kiln conversion batch", ALLOCSET_DEFAULT_SIZES);
	job->begun = job->told = GetCurrentTimestamp();
	foreach(cell, tables)
		do_table(job, lfirst_oid(cell));
	tell_end(job, relation);
}

/* ------------------------------------------------------------------ the procedures */

/* Connect, so that core itself says where a procedure that commits may not be called. */
static void
connect_and_commit(FunctionCallInfo fcinfo)
{
	bool		atomic = fcinfo->context == NULL || !IsA(fcinfo->context, CallContext) ||
		castNode(CallContext, fcinfo->context)->atomic;

	if (SPI_connect_ext(atomic ? 0 : SPI_OPT_NONATOMIC) != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect_ext failed");
	SPI_commit();
}

static void
check_arguments(FunctionCallInfo fcinfo)
{
	for (int i = 0; i < PG_NARGS(); i++)
		if (PG_ARGISNULL(i))
			ereport(ERROR,
					(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
					 errmsg("argument %d can't be null", i + 1)));
}

static int
batch_argument(FunctionCallInfo fcinfo, int position)
{
	int			batch = PG_GETARG_INT32(position);

	if (batch < 1)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("a batch has at least one row")));
	return batch;
}

/* What the schema argument means now, as a text that means the same to the end. The column has to take it. */
static text *
settled_schema(text *argument, const KilnColumn *to, const char *column)
{
	size_t		length;
	const char *given = kiln_text_datum_to_utf8(PointerGetDatum(argument), &length);
	KilnSchema *schema = kiln_schema_interned(kiln_schema_resolve(given, length, NULL));
	const kiln_type *root = schema->root;

	if (to->typmod >= 0 &&
		(root->kind != KILN_STRUCT || root->name_length == 0 ||
		 kiln_name_typmod(root->name, root->name_length) != to->typmod))
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("column \"%s\" is of type kiln(%s), not of the schema that was given", column,
						kiln_typmod_name(to->typmod))));
	if (schema->registered)
		return cstring_to_text(psprintf("#%016llx", (unsigned long long) schema->hash));
	return DatumGetTextP(kiln_utf8_to_text_datum((const uint8_t *) schema->codec->text, schema->codec->text_length));
}

/*
 * kiln_convert(relation, from_column, to_column, schema, batch, verify): fill a kiln column from documents, where it
 * is NULL.
 */
Datum
kiln_convert(PG_FUNCTION_ARGS)
{
	Job			job = {.function = "kiln_convert"};
	Oid			relation;
	char	   *own;
	KilnColumn	from;
	KilnColumn	to;
	const char *to_name;

	check_arguments(fcinfo);
	relation = PG_GETARG_OID(0);
	to_name = NameStr(*PG_GETARG_NAME(2));
	connect_and_commit(fcinfo);
	job.batch = batch_argument(fcinfo, 4);
	kiln_check_table(relation);
	from = kiln_document_column(relation, NameStr(*PG_GETARG_NAME(1)));
	to = kiln_kiln_column(relation, to_name);
	if (to.not_null)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("column \"%s\" is NOT NULL", to_name),
				 errdetail("Rows are converted where it is NULL."),
				 errhint("Set it NOT NULL when all rows are converted.")));
	own = kiln_own_schema(fcinfo);
	job.arguments = 2;
	job.types[2] = job.types[3] = TEXTOID;
	job.values[2] = PointerGetDatum(settled_schema(PG_GETARG_TEXT_PP(3), &to, to_name));
	job.values[3] = PointerGetDatum(cstring_to_text(text_to_cstring(PG_GETARG_TEXT_PP(5))));
	(void) kiln_verify_of(DatumGetTextPP(job.values[3]));
	job.set = psprintf("%s = %s.kiln_encode($3, t.%s::pg_catalog.jsonb)", to.quoted, own, from.quoted);
	job.todo = psprintf("t.%s IS NULL AND t.%s IS NOT NULL", to.quoted, from.quoted);
	job.reason = psprintf("%s.%s($3, t.%s, $4)", own, kiln_misfit_function(&from), from.quoted);
	job.fitting = psprintf("%s IS NULL", job.reason);
	do_all(&job, relation);
	SPI_finish();
	PG_RETURN_VOID();
}

/* kiln_upgrade_table(relation, column, batch): bring a column's values to the latest versions of their schemas. */
Datum
kiln_upgrade_table(PG_FUNCTION_ARGS)
{
	Job			job = {.function = "kiln_upgrade_table"};
	Oid			relation;
	char	   *own;
	KilnColumn	column;

	check_arguments(fcinfo);
	relation = PG_GETARG_OID(0);
	connect_and_commit(fcinfo);
	job.batch = batch_argument(fcinfo, 2);
	kiln_check_table(relation);
	column = kiln_kiln_column(relation, NameStr(*PG_GETARG_NAME(1)));
	own = kiln_own_schema(fcinfo);
	job.set = psprintf("%s = %s.kiln_upgrade(t.%s, false)", column.quoted, own, column.quoted);
	job.todo = psprintf("%s.kiln_outdated(t.%s)", own, column.quoted);
	job.reason = "NULL::pg_catalog.text";
	do_all(&job, relation);
	SPI_finish();
	PG_RETURN_VOID();
}
