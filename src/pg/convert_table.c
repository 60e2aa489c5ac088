/*
 * Names and columns for queries over a user's table.
 */
#include "kiln_convert.h"

#include "access/htup_details.h"
#include "catalog/pg_attribute.h"
#include "catalog/pg_class.h"
#include "catalog/pg_type.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "kiln_datum.h"

char *
kiln_own_schema(FunctionCallInfo fcinfo)
{
	return pstrdup(quote_identifier(get_namespace_name(get_func_namespace(fcinfo->flinfo->fn_oid))));
}

char *
kiln_relation_name(Oid relation)
{
	char	   *name = get_rel_name(relation);
	char	   *schema = name ? get_namespace_name(get_rel_namespace(relation)) : NULL;

	if (schema == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("relation with OID %u does not exist", relation)));
	return quote_qualified_identifier(schema, name);
}

KilnColumn
kiln_find_column(Oid relation, const char *name)
{
	HeapTuple	tuple = SearchSysCacheAttName(relation, name);
	Form_pg_attribute attribute;
	KilnColumn	column;

	if (!HeapTupleIsValid(tuple))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_COLUMN),
				 errmsg("column \"%s\" of relation %s does not exist", name, kiln_relation_name(relation))));
	attribute = (Form_pg_attribute) GETSTRUCT(tuple);
	column.quoted = pstrdup(quote_identifier(name));
	column.typmod = attribute->atttypmod;
	column.base_type = getBaseTypeAndTypmod(attribute->atttypid, &column.typmod);
	column.not_null = attribute->attnotnull;
	column.generated = attribute->attgenerated != '\0';
	ReleaseSysCache(tuple);
	return column;
}

KilnColumn
kiln_document_column(Oid relation, const char *name)
{
	KilnColumn	column = kiln_find_column(relation, name);

	if (column.base_type != JSONBOID && column.base_type != JSONOID)
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("column \"%s\" is of type %s, not jsonb or json", name, format_type_be(column.base_type)),
				 errhint("A column of another type is converted by an UPDATE with kiln_encode(), kiln_tensor() or a cast.")));
	return column;
}

const char *
kiln_misfit_function(const KilnColumn *column)
{
	return column->base_type == JSONOID ? "kiln_misfit_json" : "kiln_misfit";
}

KilnColumn
kiln_kiln_column(Oid relation, const char *name)
{
	KilnColumn	column = kiln_find_column(relation, name);

	if (!kiln_is_kiln_type(column.base_type))
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("column \"%s\" is of type %s, not kiln", name, format_type_be(column.base_type)),
				 errhint("Add one with ALTER TABLE ... ADD COLUMN ... kiln(schema).")));
	if (column.generated)
		ereport(ERROR,
				(errcode(ERRCODE_GENERATED_ALWAYS),
				 errmsg("column \"%s\" is a generated column", name),
				 errdetail("The server computes its values.")));
	return column;
}

void
kiln_check_table(Oid relation)
{
	char		kind = get_rel_relkind(relation);

	if (kind == RELKIND_RELATION || kind == RELKIND_PARTITIONED_TABLE)
		return;
	ereport(ERROR,
			(errcode(ERRCODE_WRONG_OBJECT_TYPE),
			 errmsg("%s is not a table", kiln_relation_name(relation)),
			 kind == RELKIND_FOREIGN_TABLE ? errhint("Convert it on the server that has its rows.") :
			 errhint("Convert the tables that its rows are in.")));
}
