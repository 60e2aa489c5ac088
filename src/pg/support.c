/*
 * Planner support: one typed accessor call for a chain of operators, and no collation where none is used.
 *
 * (v->'a'->'b')::int8, or v['a']['b']::int8, would cut two values out of v and then read the second. It means
 * kiln_get_int8(v, 'a.b'), and that is what the planner gets to see: in the plan, and, since index expressions pass
 * through here too, in expression indexes, so that either spelling uses an index on the other. Functions are
 * identified by OID, so the extension may live in any schema.
 *
 * Paths and names are text, so the parser gives a call that has one an input collation, though none of our functions
 * looks at it. postgres_fdw sends no expression whose collation does not come from a foreign column, and would read
 * whole tables to evaluate kiln_get_int8(v, 'id') = 1 itself. So the planner gets to see such calls without. A
 * getter has this function since version 1.1 of the SQL objects; before, its calls keep the collation that an index
 * expression that was written out has.
 */
#include "kiln_pg.h"

#include "access/htup_details.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_operator.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "nodes/supportnodes.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

/* Which getter a cast or operator stands for. */
typedef struct Getter
{
	const char *function;		/* C symbol of the function called, which is its SQL name */
	const char *getter;
} Getter;

static const Getter getters[] = {
	{"kiln_to_bool", "kiln_get_bool"},
	{"kiln_to_int2", "kiln_get_int2"},
	{"kiln_to_int4", "kiln_get_int4"},
	{"kiln_to_int8", "kiln_get_int8"},
	{"kiln_to_float4", "kiln_get_float4"},
	{"kiln_to_float8", "kiln_get_float8"},
	{"kiln_to_numeric", "kiln_get_numeric"},
	{"kiln_to_bytea", "kiln_get_bytea"},
	{"kiln_to_uuid", "kiln_get_uuid"},
	{"kiln_to_date", "kiln_get_date"},
	{"kiln_to_timestamp", "kiln_get_timestamp"},
	{"kiln_to_timestamptz", "kiln_get_timestamptz"},
	{"kiln_to_json", "kiln_get_json"},
	{"kiln_to_jsonb", "kiln_get_jsonb"},
	{"kiln_object_field_text", "kiln_get_text"},
	{"kiln_list_element_text", "kiln_get_text"},
	{"kiln_get", "kiln_get_text"},
};

/*
 * OID of one of our functions by name and argument types, in the schema that holds them; InvalidOid if there is none.
 */
static Oid
own_function(Oid namespace, const char *name, int nargs, const Oid *argtypes)
{
	oidvector  *types = buildoidvector(argtypes, nargs);

	return GetSysCacheOid3(PROCNAMEARGSNSP, Anum_pg_proc_oid, CStringGetDatum(name), PointerGetDatum(types),
						   ObjectIdGetDatum(namespace));
}

/* The function and the arguments of a call, spelled as function or operator; false for other nodes. */
static bool
call_parts(Node *node, Oid *function, List **args)
{
	if (node && IsA(node, FuncExpr))
	{
		*function = ((FuncExpr *) node)->funcid;
		*args = ((FuncExpr *) node)->args;
		return true;
	}
	if (node && IsA(node, OpExpr))
	{
		*function = get_opcode(((OpExpr *) node)->opno);
		*args = ((OpExpr *) node)->args;
		return true;
	}
	return false;
}

/*
 * Append one step to a path: a key, quoted only if it has to be, so that it is spelled as a user would; or a
 * position. A server's encoding keeps ASCII apart, so quoting there is quoting in UTF-8.
 */
static void
append_step(StringInfo path, Const *step, bool position)
{
	char	   *key;
	size_t		length;

	if (position)
	{
		appendStringInfo(path, "[%d]", DatumGetInt32(step->constvalue));
		return;
	}
	key = TextDatumGetCString(step->constvalue);
	length = strlen(key);
	enlargeStringInfo(path, (int) (2 * length + 3));
	path->len += (int) kiln_path_quote(key, length, path->len == 0, path->data + path->len);
	path->data[path->len] = '\0';
}

static Node *follow_chain(Node *node, Oid by_key, Oid by_position, StringInfo path);

/*
 * The same for the subscripts of v[k1][k2]…: returns the start of the chain that ends in v, NULL unless all are
 * constants.
 */
static Node *
follow_subscripts(const SubscriptingRef *ref, Oid by_key, Oid by_position, StringInfo path)
{
	Node	   *value;
	ListCell   *cell;

	if (ref->refassgnexpr || ref->reflowerindexpr)
		return NULL;
	foreach(cell, ref->refupperindexpr)
	{
		Const	   *step = (Const *) lfirst(cell);

		if (!IsA(step, Const) || step->constisnull)
			return NULL;
	}
	value = follow_chain((Node *) ref->refexpr, by_key, by_position, path);
	if (value == NULL)
		value = (Node *) ref->refexpr;
	foreach(cell, ref->refupperindexpr)
		append_step(path, lfirst(cell), ((Const *) lfirst(cell))->consttype == INT4OID);
	return value;
}

/*
 * Follow v -> k1 -> k2 …, or subscripts of v, or both: returns v, and the steps in path; NULL if node is no such
 * chain of constants.
 */
static Node *
follow_chain(Node *node, Oid by_key, Oid by_position, StringInfo path)
{
	Oid			function;
	List	   *args;
	Node	   *value;
	Const	   *step;

	if (node && IsA(node, SubscriptingRef) && ((SubscriptingRef *) node)->refcontainertype == get_func_rettype(by_key))
		return follow_subscripts((SubscriptingRef *) node, by_key, by_position, path);
	if (!call_parts(node, &function, &args) || (function != by_key && function != by_position))
		return NULL;
	step = (Const *) lsecond(args);
	if (!IsA(step, Const) || step->constisnull)
		return NULL;
	value = follow_chain(linitial(args), by_key, by_position, path);
	if (value == NULL)
		value = linitial(args);
	append_step(path, step, function == by_position);
	return value;
}

/*
 * getter(value, path), so that it equals an index expression that was written out: without an input collation if the
 * getter's calls come through here, else with the path's, as the parser would have made it.
 */
static Node *
make_call(const FuncExpr *call, Oid getter, Node *value, Node *path)
{
	Oid			collation = InvalidOid;

	if (!OidIsValid(get_func_support(getter)))
		collation = OidIsValid(call->inputcollid) ? call->inputcollid : DEFAULT_COLLATION_OID;
	return (Node *) makeFuncExpr(getter, get_func_rettype(getter), list_make2(value, path),
								 call->funccollid, collation, COERCE_EXPLICIT_CALL);
}

/* The operator that a function of ours implements, in the schema that holds both; InvalidOid if it is no operator's. */
static Oid
own_operator(Oid function)
{
	static const char *const operators[][2] = {
		{"kiln_object_field", "->"},
		{"kiln_object_field_text", "->>"},
		{"kiln_extract_path", "#>"},
		{"kiln_extract_path_text", "#>>"},
		{"kiln_exists", "?"},
	};
	const char *name = get_func_name(function);
	Oid			result;
	Oid		   *types;
	int			count;
	Oid			found = InvalidOid;

	result = get_func_signature(function, &types, &count);
	for (int i = 0; i < (int) lengthof(operators) && OidIsValid(result) && count == 2; i++)
		if (strcmp(name, operators[i][0]) == 0)
			found = GetSysCacheOid4(OPERNAMENSP, Anum_pg_operator_oid, CStringGetDatum(operators[i][1]),
									ObjectIdGetDatum(types[0]), ObjectIdGetDatum(types[1]),
									ObjectIdGetDatum(get_func_namespace(function)));
	return OidIsValid(found) && get_opcode(found) == function ? found : InvalidOid;
}

/*
 * The call without its input collation; NULL if it has none. What an operator implements becomes that operator, whose
 * selectivity the planner knows.
 */
static Node *
drop_collation(const FuncExpr *call)
{
	char	   *name = get_func_name(call->funcid);
	Oid			operator;
	FuncExpr   *copy;

	/* a superuser may hang this on any function, also on one that needs its collation */
	if (!OidIsValid(call->inputcollid) || name == NULL || strncmp(name, "kiln_", 5) != 0)
		return NULL;
	operator = own_operator(call->funcid);
	if (OidIsValid(operator))
	{
		Expr	   *expression = make_opclause(operator, call->funcresulttype, false, linitial(call->args),
											   lsecond(call->args), call->funccollid, InvalidOid);

		set_opfuncid((OpExpr *) expression);
		return (Node *) expression;
	}
	copy = makeNode(FuncExpr);
	*copy = *call;
	copy->inputcollid = InvalidOid;
	return (Node *) copy;
}

/* The accessor call that a cast, an operator or kiln_get stands for; NULL if it is nothing of the kind. */
static Node *
as_getter(FuncExpr *call)
{
	Oid			namespace = get_func_namespace(call->funcid);
	Oid			kiln = exprType(linitial(call->args));
	char	   *name = get_func_name(call->funcid);
	Oid			by_key = own_function(namespace, "kiln_object_field", 2, (Oid[]) {kiln, TEXTOID});
	Oid			by_position = own_function(namespace, "kiln_list_element", 2, (Oid[]) {kiln, INT4OID});
	const char *getter_name = NULL;
	StringInfoData path;
	Node	   *start;
	Node	   *value;
	Oid			getter;

	for (int i = 0; i < (int) lengthof(getters); i++)
		if (strcmp(name, getters[i].function) == 0)
			getter_name = getters[i].getter;
	if (getter_name == NULL || !OidIsValid(by_key) || !OidIsValid(by_position))
		return NULL;

	getter = own_function(namespace, getter_name, 2, (Oid[]) {kiln, TEXTOID});
	if (!OidIsValid(getter))
		return NULL;
	start = linitial(call->args);
	if (strcmp(name, "kiln_get") == 0)
		return make_call(call, getter, start, lsecond(call->args));

	initStringInfo(&path);
	value = follow_chain(start, by_key, by_position, &path);
	if (list_length(call->args) == 2)
	{
		/* ->> : its own step is the chain's last */
		Const	   *step = (Const *) lsecond(call->args);

		if (!IsA(step, Const) || step->constisnull)
			return NULL;
		if (value == NULL)
			value = start;
		append_step(&path, step, step->consttype == INT4OID);
	}
	if (value == NULL)
		return NULL;
	return make_call(call, getter, value,
					 (Node *) makeConst(TEXTOID, -1, DEFAULT_COLLATION_OID, -1,
										PointerGetDatum(cstring_to_text_with_len(path.data, path.len)), false, false));
}

PG_FUNCTION_INFO_V1(kiln_getter_support);

/* kiln_getter_support(internal): for the casts from kiln and ->>, and for all immutable functions of a path or name. */
Datum
kiln_getter_support(PG_FUNCTION_ARGS)
{
	Node	   *request = (Node *) PG_GETARG_POINTER(0);
	Node	   *result = NULL;

	if (IsA(request, SupportRequestSimplify))
	{
		FuncExpr   *call = ((SupportRequestSimplify *) request)->fcall;
		int			arguments = list_length(call->args);

		/* a superuser may hang this function on any other */
		if (arguments == 1 || arguments == 2)
			result = as_getter(call);
		if (result == NULL)
			result = drop_collation(call);
	}
	PG_RETURN_POINTER(result);
}
