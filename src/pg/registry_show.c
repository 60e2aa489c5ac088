/*
 * What shows the registry: the function behind view kiln_schemas, and kiln_dump_schemas().
 *
 * Both list pg_foreign_server afresh, past the cache, so that they show entries that lie as well, and so that a look at
 * ten thousand definitions does not leave them all compiled.
 */
#include "registry.h"

#include "access/htup_details.h"
#include "catalog/pg_type.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "nodes/parsenodes.h"
#include "utils/builtins.h"

/* A server and what its definition says. */
typedef struct Shown
{
	KilnServer	server;
	char	   *name;			/* UTF-8; NULL if the definition begins with none */
	size_t		name_length;
	bool		valid;
} Shown;

/* By name, version, hash; what has no name comes last, by the server's name. */
static int
compare_shown(const void *a, const void *b)
{
	const Shown *one = a;
	const Shown *other = b;
	int			order;

	if (one->name == NULL || other->name == NULL)
	{
		if (one->name || other->name)
			return one->name ? -1 : 1;
		return strcmp(one->server.server_name, other->server.server_name);
	}
	order = strcmp(one->name, other->name);
	if (order == 0)
		order = (one->server.version > other->server.version) - (one->server.version < other->server.version);
	if (order == 0)
		order = strcmp(one->server.server_name, other->server.server_name);
	return order;
}

/* All entries, sorted, in CurrentMemoryContext. */
static int
list_shown(Shown **list)
{
	Oid			wrapper = kiln_registry_wrapper();
	KilnServer *servers;
	int			count = kiln_server_list(&servers);

	*list = palloc_extended(Max(count, 1) * sizeof(Shown), MCXT_ALLOC_HUGE);
	for (int i = 0; i < count; i++)
	{
		Shown	   *shown = &(*list)[i];
		char		name[KILN_MAX_NAME + 1];

		CHECK_FOR_INTERRUPTS();
		memset(shown, 0, sizeof *shown);
		shown->server = servers[i];
		if (!OidIsValid(wrapper) || shown->server.wrapper != wrapper)
		{
			/* Another wrapper's server under a name of ours: its options are no definition. */
			shown->server.definition = NULL;
			shown->server.text = NULL;
			continue;
		}
		if (shown->server.text == NULL)
			continue;
		if (kiln_leading_name(shown->server.text, shown->server.length, name, &shown->name_length, NULL))
			shown->name = pnstrdup(name, shown->name_length);
		shown->valid = shown->server.hash_named &&
			kiln_hash(shown->server.text, shown->server.length) == shown->server.hash &&
			kiln_definition_holds(shown->server.text, shown->server.length);
	}
	pfree(servers);
	qsort(*list, count, sizeof(Shown), compare_shown);
	return count;
}

/* Entries of a set-returning function that is still at work. */
typedef struct Listing
{
	Shown	   *list;
	int			count;
} Listing;

/* Make the list at the first call. */
static FuncCallContext *
begin_listing(FunctionCallInfo fcinfo, bool rows)
{
	FuncCallContext *calls;
	MemoryContext caller;
	Listing    *listing;

	if (!SRF_IS_FIRSTCALL())
		return SRF_PERCALL_SETUP();
	calls = SRF_FIRSTCALL_INIT();
	caller = MemoryContextSwitchTo(calls->multi_call_memory_ctx);
	if (rows)
	{
		TupleDesc	desc;

		if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("function returning record called in context that cannot accept type record")));
		calls->tuple_desc = BlessTupleDesc(desc);
	}
	listing = palloc(sizeof(Listing));
	listing->count = list_shown(&listing->list);
	calls->user_fctx = listing;
	MemoryContextSwitchTo(caller);
	return SRF_PERCALL_SETUP();
}

/* The name in the server's encoding. */
static char *
server_name_text(const Shown *shown)
{
	return kiln_utf8_to_server(shown->name, shown->name_length);
}

static HeapTuple
schema_row(TupleDesc desc, const Shown *shown)
{
	Datum		values[7] = {0};
	bool		nulls[7] = {false};
	char		digits[17];

	if (shown->name)
	{
		values[0] = CStringGetTextDatum(server_name_text(shown));
		values[5] = Int32GetDatum(kiln_name_typmod(shown->name, shown->name_length));
	}
	nulls[0] = nulls[5] = (shown->name == NULL);
	values[1] = Int64GetDatum(shown->server.version);
	snprintf(digits, sizeof digits, "%016llx", (unsigned long long) shown->server.hash);
	values[2] = CStringGetTextDatum(digits);
	nulls[2] = !shown->server.hash_named;
	if (shown->server.definition)
		values[3] = CStringGetTextDatum(shown->server.definition);
	nulls[3] = (shown->server.definition == NULL);
	values[4] = BoolGetDatum(shown->valid);
	values[6] = CStringGetTextDatum(shown->server.server_name);
	return heap_form_tuple(desc, values, nulls);
}

/* kiln_schemas(): name, version, hash, definition, valid, typmod, server of every entry. */
PG_FUNCTION_INFO_V1(kiln_schemas);
Datum
kiln_schemas(PG_FUNCTION_ARGS)
{
	FuncCallContext *calls = begin_listing(fcinfo, true);
	Listing    *listing = calls->user_fctx;
	HeapTuple	row;

	if (calls->call_cntr >= (uint64) listing->count)
		SRF_RETURN_DONE(calls);
	row = schema_row(calls->tuple_desc, &listing->list[calls->call_cntr]);
	SRF_RETURN_NEXT(calls, HeapTupleGetDatum(row));
}

char *
kiln_create_server_text(const char *server, const char *type, const char *version, const char *definition)
{
	StringInfoData sql;

	initStringInfo(&sql);
	appendStringInfo(&sql, "CREATE SERVER %s TYPE %s", quote_identifier(server), quote_literal_cstr(type));
	if (version)
		appendStringInfo(&sql, " VERSION %s", quote_literal_cstr(version));
	appendStringInfo(&sql, " FOREIGN DATA WRAPPER %s OPTIONS (%s %s)",
					 KILN_WRAPPER_NAME, KILN_OPTION_NAME, quote_literal_cstr(definition));
	return sql.data;
}

/* kiln_dump_schemas(): one CREATE SERVER a row for all that is valid, in order of name and version. */
PG_FUNCTION_INFO_V1(kiln_dump_schemas);
Datum
kiln_dump_schemas(PG_FUNCTION_ARGS)
{
	FuncCallContext *calls = begin_listing(fcinfo, false);
	Listing    *listing = calls->user_fctx;

	/* max_calls is free: it keeps the place, since lying entries are passed over. */
	while (calls->max_calls < (uint64) listing->count)
	{
		const Shown *shown = &listing->list[calls->max_calls++];
		char	   *sql;

		if (!shown->valid || shown->name == NULL)
			continue;
		sql = kiln_create_server_text(shown->server.server_name, server_name_text(shown),
									  shown->server.version_text, shown->server.definition);
		SRF_RETURN_NEXT(calls, CStringGetTextDatum(psprintf("%s;", sql)));
	}
	SRF_RETURN_DONE(calls);
}
