/*
 * Subscripts of kiln values: v['user']['tags'][0], read and assigned.
 *
 * A subscript is text, a field's or dict's key taken literally, or an integer, a position in a list from 0 (negative
 * from the end). What is read is a kiln value without typmod, so that a further operator or cast has it; a read is
 * the path's accessor, with its plans and its slices of large values. What is assigned is a kiln value too, made from
 * the SQL value by the assignment casts, and becomes the field's type as kiln_set() has it. The container keeps its
 * definition. A NULL container in a typed column becomes a value of the schema's latest version.
 */
#include "kiln_change.h"

#include "catalog/pg_type.h"
#include "executor/execExpr.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "nodes/subscripting.h"
#include "parser/parse_coerce.h"
#include "parser/parse_expr.h"
#include "utils/builtins.h"

extern Datum kiln_get_kiln(PG_FUNCTION_ARGS);

/* What one expression keeps while it runs. */
typedef struct Subscripts
{
	Oid			kiln_oid;
	int32		typmod;			/* of the container */
	bool	   *is_text;		/* by subscript */
	kiln_path_step *steps;
	kiln_path	path;			/* of the row at hand; without memory of its own */
	FmgrInfo	getter;			/* kiln_get_kiln; its fn_extra is the accessor */
	FmgrInfo	constant_getter;	/* that one's twin where all subscripts are constants: knows it */
	Datum		constant_path;	/* the path as text; 0 where subscripts vary */
} Subscripts;

/* ------------------------------------------------------------------ parse analysis */

/* A subscript as integer if its type becomes one implicitly, else as text. */
static Node *
transform_subscript(ParseState *pstate, A_Indices *indices)
{
	Node	   *subscript = transformExpr(pstate, indices->uidx, pstate->p_expr_kind);
	Oid			type = exprType(subscript);
	Oid			target = INT4OID;

	if (type == UNKNOWNOID || !can_coerce_type(1, &type, &target, COERCION_IMPLICIT))
		target = TEXTOID;
	if (!can_coerce_type(1, &type, &target, COERCION_IMPLICIT))
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("subscript type %s is not supported", format_type_be(type)),
				 errhint("kiln subscript must be of type text or integer."),
				 parser_errposition(pstate, exprLocation(subscript))));
	return coerce_type(pstate, subscript, type, target, -1, COERCION_IMPLICIT, COERCE_IMPLICIT_CAST, -1);
}

static void
kiln_subscript_transform(SubscriptingRef *sbsref, List *indirection, ParseState *pstate, bool isSlice,
						 bool isAssignment)
{
	List	   *subscripts = NIL;
	ListCell   *cell;

	foreach(cell, indirection)
	{
		A_Indices  *indices = lfirst_node(A_Indices, cell);

		if (isSlice)
			ereport(ERROR,
					(errcode(ERRCODE_DATATYPE_MISMATCH),
					 errmsg("kiln subscript does not support slices"),
					 parser_errposition(pstate, exprLocation(indices->uidx ? indices->uidx : indices->lidx))));
		subscripts = lappend(subscripts, transform_subscript(pstate, indices));
	}
	sbsref->refupperindexpr = subscripts;
	sbsref->reflowerindexpr = NIL;

	/*
	 * What is read is kiln of any schema, and so is what is assigned; the caller then puts the container's typmod back,
	 * where the executor finds it.
	 */
	sbsref->refrestype = sbsref->refcontainertype;
	sbsref->reftypmod = -1;
}

/* ------------------------------------------------------------------ execution: subscripts */

/* The subscripts of a row as path steps; false if one is NULL, which only a read may have: that is NULL. */
static bool
kiln_subscript_check(ExprState *state, ExprEvalStep *op, ExprContext *econtext)
{
	SubscriptingRefState *sbsrefstate = op->d.sbsref_subscript.state;
	Subscripts *subscripts = sbsrefstate->workspace;

	for (int i = 0; i < sbsrefstate->numupper; i++)
	{
		kiln_path_step *step = &subscripts->steps[i];

		if (sbsrefstate->upperindexnull[i])
		{
			if (sbsrefstate->isassignment)
				ereport(ERROR,
						(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
						 errmsg("kiln subscript in assignment must not be null")));
			*op->resnull = true;
			return false;
		}
		if (subscripts->constant_path != 0)
			continue;
		step->is_index = !subscripts->is_text[i];
		if (step->is_index)
			step->index = DatumGetInt32(sbsrefstate->upperindex[i]);
		else
			step->name = kiln_text_datum_to_utf8(sbsrefstate->upperindex[i], &step->length);
	}
	return true;
}

/* A path as text, so that the accessor reads it. */
static Datum
path_text(const kiln_path *path)
{
	StringInfoData buf;

	initStringInfo(&buf);
	for (uint32 i = 0; i < path->count; i++)
	{
		const kiln_path_step *step = &path->steps[i];

		if (step->is_index)
		{
			appendStringInfo(&buf, "[" INT64_FORMAT "]", step->index);
			continue;
		}
		enlargeStringInfo(&buf, (int) (2 * step->length + 3));
		buf.len += (int) kiln_path_quote(step->name, step->length, i == 0, buf.data + buf.len);
		buf.data[buf.len] = '\0';
	}
	return kiln_utf8_to_text_datum((const uint8_t *) buf.data, (size_t) buf.len);
}

/* ------------------------------------------------------------------ execution: reading */

static Datum
fetch(Subscripts *subscripts, Datum container, bool *isnull)
{
	LOCAL_FCINFO(fcinfo, 2);
	bool		constant = subscripts->constant_path != 0;
	Datum		result;

	InitFunctionCallInfoData(*fcinfo, constant ? &subscripts->constant_getter : &subscripts->getter, 2, InvalidOid,
							 NULL, NULL);
	fcinfo->args[0].value = container;
	fcinfo->args[0].isnull = false;
	fcinfo->args[1].value = constant ? subscripts->constant_path : path_text(&subscripts->path);
	fcinfo->args[1].isnull = false;
	result = kiln_get_kiln(fcinfo);
	*isnull = fcinfo->isnull;
	return result;
}

static void
kiln_subscript_fetch(ExprState *state, ExprEvalStep *op, ExprContext *econtext)
{
	SubscriptingRefState *sbsrefstate = op->d.sbsref.state;

	/* a NULL container does not come here */
	*op->resvalue = fetch(sbsrefstate->workspace, *op->resvalue, op->resnull);
}

/* ------------------------------------------------------------------ execution: assigning */

/* The old value of the place, for an assignment that changes a part of it. */
static void
kiln_subscript_fetch_old(ExprState *state, ExprEvalStep *op, ExprContext *econtext)
{
	SubscriptingRefState *sbsrefstate = op->d.sbsref.state;

	sbsrefstate->prevnull = true;
	sbsrefstate->prevvalue = (Datum) 0;
	if (!*op->resnull)
		sbsrefstate->prevvalue = fetch(sbsrefstate->workspace, *op->resvalue, &sbsrefstate->prevnull);
}

/* What a NULL container becomes. */
static struct varlena *
change_null(const Subscripts *subscripts, const KilnNewValue *value)
{
	KilnSchema *schema;

	if (subscripts->typmod < 0)
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("cannot assign to a subscript of a null kiln value"),
				 errdetail("Without a schema the value has no fields."),
				 errhint("Declare it as kiln(name), or assign a whole value first.")));
	if (subscripts->typmod == kiln_tensor_typmod())
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("cannot set a field of a tensor directory"),
				 errhint("Put directories together with ||.")));
	schema = kiln_registry_latest_by_typmod(subscripts->typmod);
	if (schema == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("kiln schema %s is not registered", kiln_typmod_name(subscripts->typmod)),
				 errhint("Register its definition with kiln_register().")));
	return kiln_change_nothing(schema, &subscripts->path, value);
}

static void
kiln_subscript_assign(ExprState *state, ExprEvalStep *op, ExprContext *econtext)
{
	SubscriptingRefState *sbsrefstate = op->d.sbsref.state;
	Subscripts *subscripts = sbsrefstate->workspace;
	KilnNewValue value;

	value.sql_type = value.kiln_oid = subscripts->kiln_oid;
	value.datum = sbsrefstate->replacevalue;
	value.isnull = sbsrefstate->replacenull;
	if (*op->resnull)
		*op->resvalue = PointerGetDatum(change_null(subscripts, &value));
	else
		*op->resvalue = PointerGetDatum(kiln_change(*op->resvalue, &subscripts->path, &value));
	*op->resnull = false;
}

/* ------------------------------------------------------------------ execution: set-up */

static void
set_getter(FmgrInfo *flinfo, Node *path)
{
	memset(flinfo, 0, sizeof *flinfo);
	flinfo->fn_addr = kiln_get_kiln;
	flinfo->fn_nargs = 2;
	flinfo->fn_strict = true;
	flinfo->fn_mcxt = CurrentMemoryContext;
	if (path)
		flinfo->fn_expr = (Node *) makeFuncExpr(InvalidOid, InvalidOid, list_make2(path, path), InvalidOid, InvalidOid,
												COERCE_EXPLICIT_CALL);
}

/* All subscripts as constants: their path is made here, once. */
static void
set_constant_path(Subscripts *subscripts, List *expressions)
{
	ListCell   *cell;
	int			i = 0;
	Const	   *path;

	foreach(cell, expressions)
	{
		Const	   *subscript = (Const *) lfirst(cell);
		kiln_path_step *step = &subscripts->steps[i];

		if (!IsA(subscript, Const) || subscript->constisnull)
			return;
		step->is_index = !subscripts->is_text[i++];
		if (step->is_index)
			step->index = DatumGetInt32(subscript->constvalue);
		else
			step->name = kiln_text_datum_to_utf8(subscript->constvalue, &step->length);
	}
	subscripts->constant_path = path_text(&subscripts->path);
	path = makeConst(TEXTOID, -1, InvalidOid, -1, subscripts->constant_path, false, false);
	set_getter(&subscripts->constant_getter, (Node *) path);
}

static void
kiln_exec_setup(const SubscriptingRef *sbsref, SubscriptingRefState *sbsrefstate, SubscriptExecSteps *methods)
{
	int			count = sbsrefstate->numupper;
	Subscripts *subscripts = palloc0(sizeof(Subscripts));
	ListCell   *cell;
	int			i = 0;

	subscripts->kiln_oid = sbsref->refcontainertype;
	subscripts->typmod = sbsref->reftypmod;
	subscripts->is_text = palloc0(count * sizeof(bool));
	subscripts->steps = palloc0(count * sizeof(kiln_path_step));
	subscripts->path.steps = subscripts->steps;
	subscripts->path.count = (uint32) count;
	foreach(cell, sbsref->refupperindexpr)
		subscripts->is_text[i++] = exprType(lfirst(cell)) == TEXTOID;
	set_getter(&subscripts->getter, NULL);
	set_constant_path(subscripts, sbsref->refupperindexpr);

	sbsrefstate->workspace = subscripts;
	methods->sbs_check_subscripts = kiln_subscript_check;
	methods->sbs_fetch = kiln_subscript_fetch;
	methods->sbs_fetch_old = kiln_subscript_fetch_old;
	methods->sbs_assign = kiln_subscript_assign;
}

PG_FUNCTION_INFO_V1(kiln_subscript);

/* kiln_subscript(internal): the subscripting handler of type kiln. */
Datum
kiln_subscript(PG_FUNCTION_ARGS)
{
	static const SubscriptRoutines routines = {
		.transform = kiln_subscript_transform,
		.exec_setup = kiln_exec_setup,
		.fetch_strict = true,	/* a NULL container gives NULL */
		.fetch_leakproof = false,	/* raises for what does not fit the value */
		.store_leakproof = false
	};

	PG_RETURN_POINTER(&routines);
}
