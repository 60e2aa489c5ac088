/*
 * What changes the registry: kiln_register(), kiln_forget(), and the wrapper's validator.
 *
 * Both functions are DDL. They take the wrapper's ShareUpdateExclusive lock to the end of the transaction, so that
 * two sessions that register one definition both succeed; it is the only lock they wait for, so they can't deadlock
 * among themselves. What is registered already takes no lock and no XID, and works on a standby.
 *
 * The caller needs USAGE on the wrapper. Servers are made and dropped as the extension's owner, through ProcessUtility,
 * so that event triggers and hooks see them.
 */
#include "registry.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/reloptions.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/dependency.h"
#include "catalog/pg_class.h"
#include "catalog/pg_attribute.h"
#include "catalog/pg_extension.h"
#include "catalog/pg_foreign_data_wrapper.h"
#include "catalog/pg_foreign_server.h"
#include "catalog/pg_foreign_table.h"
#include "catalog/pg_type.h"
#include "catalog/pg_user_mapping.h"
#include "commands/defrem.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/parsenodes.h"
#include "storage/lmgr.h"
#include "tcop/dest.h"
#include "tcop/utility.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/syscache.h"

/* ------------------------------------------------------------------ rights and the act */

/*
 * The owner of the extension that the wrapper belongs to; without an extension, of the wrapper. Of the wrapper's own
 * owner nothing follows: a trusted extension's objects belong to the bootstrap superuser.
 */
static Oid
extension_owner(Oid wrapper)
{
	Oid			extension = getExtensionOfObject(ForeignDataWrapperRelationId, wrapper);
	Oid			owner = InvalidOid;
	Relation	relation;
	SysScanDesc scan;
	ScanKeyData key;
	HeapTuple	tuple;

	if (!OidIsValid(extension))
	{
		tuple = SearchSysCache1(FOREIGNDATAWRAPPEROID, ObjectIdGetDatum(wrapper));
		if (HeapTupleIsValid(tuple))
		{
			owner = ((Form_pg_foreign_data_wrapper) GETSTRUCT(tuple))->fdwowner;
			ReleaseSysCache(tuple);
		}
		return owner;
	}
	/* There is no syscache of extensions. */
	relation = table_open(ExtensionRelationId, AccessShareLock);
	ScanKeyInit(&key, Anum_pg_extension_oid, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(extension));
	scan = systable_beginscan(relation, ExtensionOidIndexId, true, NULL, 1, &key);
	tuple = systable_getnext(scan);
	if (HeapTupleIsValid(tuple))
		owner = ((Form_pg_extension) GETSTRUCT(tuple))->extowner;
	systable_endscan(scan);
	table_close(relation, AccessShareLock);
	if (!OidIsValid(owner))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("extension of foreign-data wrapper \"%s\" does not exist", KILN_WRAPPER_NAME)));
	return owner;
}

/*
 * Before a change: forbid it where nothing may be changed, check the caller's right, and lock. Returns the wrapper.
 */
static Oid
begin_change(const char *function)
{
	Oid			wrapper;
	AclResult	rights;

	PreventCommandIfReadOnly(function);
	PreventCommandIfParallelMode(function);
	wrapper = kiln_registry_wrapper();
	if (!OidIsValid(wrapper))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("foreign-data wrapper \"%s\" of extension kiln does not exist", KILN_WRAPPER_NAME)));
	rights = kiln_wrapper_aclcheck(wrapper, GetUserId());
	if (rights != ACLCHECK_OK)
		aclcheck_error(rights, OBJECT_FDW, KILN_WRAPPER_NAME);
	LockDatabaseObject(ForeignDataWrapperRelationId, wrapper, 0, ShareUpdateExclusiveLock);
	/* It may have gone while we waited. */
	if (kiln_registry_wrapper() != wrapper)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("foreign-data wrapper \"%s\" of extension kiln does not exist", KILN_WRAPPER_NAME)));
	return wrapper;
}

/*
 * Run a utility statement as owner. text is the statement as SQL, for hooks and event triggers. After an error the end
 * of the (sub)transaction gives the caller's identity back, as it does for all who set it.
 */
static void
run_as(Oid owner, Node *statement, const char *text)
{
	PlannedStmt *planned = makeNode(PlannedStmt);
	Oid			caller;
	int			context;

	planned->commandType = CMD_UTILITY;
	planned->canSetTag = false;
	planned->utilityStmt = statement;
	planned->stmt_location = 0;
	planned->stmt_len = (int) strlen(text);

	GetUserIdAndSecContext(&caller, &context);
	SetUserIdAndSecContext(owner, context | SECURITY_LOCAL_USERID_CHANGE);
	ProcessUtility(planned, text, false, PROCESS_UTILITY_QUERY, NULL, NULL, None_Receiver, NULL);
	SetUserIdAndSecContext(caller, context);
	CommandCounterIncrement();
}

/* ------------------------------------------------------------------ kiln_register */

/*
 * The extension's owner, who is going to own the new server. The install script granted it USAGE on the wrapper, but
 * REASSIGN OWNED moves the extension and leaves grants behind.
 */
static Oid
server_owner(Oid wrapper)
{
	Oid			owner = extension_owner(wrapper);

	if (kiln_wrapper_aclcheck(wrapper, owner) != ACLCHECK_OK)
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("owner of extension kiln may not use foreign-data wrapper \"%s\"", KILN_WRAPPER_NAME),
				 errhint("A superuser can give the right: GRANT USAGE ON FOREIGN DATA WRAPPER %s TO %s.",
						 KILN_WRAPPER_NAME, quote_identifier(GetUserNameFromId(owner, false)))));
	return owner;
}

static text *
hash_text(uint64 hash)
{
	char		digits[17];

	snprintf(digits, sizeof digits, "%016llx", (unsigned long long) hash);
	return cstring_to_text(digits);
}

/*
 * Is the definition registered? A server of its name that holds something else is an error: 42710 for one that somebody
 * put there, 55000 for another definition with this hash.
 */
static bool
is_registered(KilnSchema *schema)
{
	KilnSchema *registered;
	char		name[KILN_SERVER_NAME_SIZE];

	switch (kiln_registry_find(schema->hash, &registered))
	{
		case KILN_LOOKUP_FOUND:
			(void) kiln_schema_interned(schema);	/* compares the texts */
			return true;
		case KILN_LOOKUP_LIES:
			kiln_server_name(schema->hash, name);
			ereport(ERROR,
					(errcode(ERRCODE_DUPLICATE_OBJECT),
					 errmsg("foreign server \"%s\" already exists", name),
					 errdetail("It has the name that this kiln definition takes, and does not hold it."),
					 errhint("Drop or rename that server, and register the definition again.")));
			break;
		case KILN_LOOKUP_MISSING:
			break;
	}
	return false;
}

/* A name's typmod is what its columns keep of it, so no two registered names may have the same. */
static void
check_clash(const kiln_type *root)
{
	char	   *other = kiln_name_clash(root->name, root->name_length);

	if (other == NULL && kiln_name_typmod(root->name, root->name_length) == kiln_tensor_typmod())
		other = pstrdup("tensor");
	if (other)
		ereport(ERROR,
				(errcode(ERRCODE_DUPLICATE_OBJECT),
				 errmsg("kiln schema \"%s\" has the type modifier of schema \"%s\"",
						kiln_utf8_for_message(root->name, root->name_length),
						kiln_utf8_for_message(other, strlen(other))),
				 errhint("Choose another name.")));
}

/*
 * A definition in the server's encoding. What that lacks is 22P05; so is what does not come back from it as it was,
 * since the hash is that of the UTF-8.
 */
static char *
definition_to_server(const kiln_schema *codec)
{
	char	   *text = kiln_utf8_to_server(codec->text, codec->text_length);
	size_t		length;
	const char *back = kiln_server_to_utf8(text, strlen(text), &length);

	if (length != codec->text_length || memcmp(back, codec->text, length) != 0)
		ereport(ERROR,
				(errcode(ERRCODE_UNTRANSLATABLE_CHARACTER),
				 errmsg("kiln definition has a character that encoding \"%s\" does not keep",
						GetDatabaseEncodingName())));
	return text;
}

/* A definition as the server that holds it. */
static CreateForeignServerStmt *
create_statement(const KilnSchema *schema)
{
	const kiln_type *root = schema->root;
	int64		top = kiln_name_top_version(root->name, root->name_length);
	CreateForeignServerStmt *statement = makeNode(CreateForeignServerStmt);

	if (top == PG_INT64_MAX)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("kiln schema \"%s\" has no version left",
						kiln_utf8_for_message(root->name, root->name_length)),
				 errhint("ALTER SERVER with VERSION can lower the highest one.")));
	statement->servername = palloc(KILN_SERVER_NAME_SIZE);
	kiln_server_name(schema->hash, statement->servername);
	statement->servertype = kiln_utf8_to_server(root->name, root->name_length);
	statement->version = psprintf(INT64_FORMAT, top + 1);
	statement->fdwname = pstrdup(KILN_WRAPPER_NAME);
	statement->if_not_exists = false;
	statement->options = list_make1(makeDefElem(pstrdup(KILN_OPTION_NAME),
												(Node *) makeString(definition_to_server(schema->codec)), -1));
	return statement;
}

Datum
kiln_register_schema(KilnSchema *schema)
{
	CreateForeignServerStmt *statement;
	Oid			wrapper;

	kiln_check_registrable(schema);
	if (is_registered(schema))
		PG_RETURN_TEXT_P(hash_text(schema->hash));

	wrapper = begin_change("kiln_register()");
	if (is_registered(schema))
		PG_RETURN_TEXT_P(hash_text(schema->hash));
	check_clash(schema->root);
	statement = create_statement(schema);
	run_as(server_owner(wrapper), (Node *) statement,
		   kiln_create_server_text(statement->servername, statement->servertype, statement->version,
								   defGetString(linitial_node(DefElem, statement->options))));
	PG_RETURN_TEXT_P(hash_text(schema->hash));
}

/* kiln_register(text): the hash of the definition, which is in the registry afterwards. */
PG_FUNCTION_INFO_V1(kiln_register);
Datum
kiln_register(PG_FUNCTION_ARGS)
{
	size_t		length;
	const char *text = kiln_text_datum_to_utf8(PG_GETARG_DATUM(0), &length);

	return kiln_register_schema(kiln_schema_parse_user(text, length, false, NULL));
}

/* ------------------------------------------------------------------ kiln_forget */

/*
 * Types that hold kiln values of one typmod whatever typmod their column has: domains, and what is made of those.
 */
static List *
typed_types(List *kiln_types, int32 typmod)
{
	List	   *types = NIL;
	Relation	relation = table_open(TypeRelationId, AccessShareLock);
	bool		grown = true;

	/* A domain over a domain, or an array of one, may come before it in the catalog. */
	while (grown)
	{
		SysScanDesc scan = systable_beginscan(relation, InvalidOid, false, NULL, 0, NULL);
		HeapTuple	tuple;

		grown = false;
		while (HeapTupleIsValid(tuple = systable_getnext(scan)))
		{
			Form_pg_type form = (Form_pg_type) GETSTRUCT(tuple);
			bool		holds;

			CHECK_FOR_INTERRUPTS();
			holds = (form->typtype == TYPTYPE_DOMAIN && form->typtypmod == typmod &&
					 list_member_oid(kiln_types, form->typbasetype)) ||
				(OidIsValid(form->typbasetype) && list_member_oid(types, form->typbasetype)) ||
				(OidIsValid(form->typelem) && list_member_oid(types, form->typelem));
			if (holds && !list_member_oid(types, form->oid))
			{
				types = lappend_oid(types, form->oid);
				grown = true;
			}
		}
		systable_endscan(scan);
	}
	table_close(relation, AccessShareLock);
	return types;
}

/* Is this attribute one that a user sees as a column or a member of a composite type? Not that of an index. */
static bool
is_column(Oid relid)
{
	switch (get_rel_relkind(relid))
	{
		case RELKIND_RELATION:
		case RELKIND_PARTITIONED_TABLE:
		case RELKIND_VIEW:
		case RELKIND_MATVIEW:
		case RELKIND_FOREIGN_TABLE:
		case RELKIND_COMPOSITE_TYPE:
			return true;
		default:
			return false;
	}
}

/* Some column with that typmod, as 'Column "x" of "y"'; else a domain; NULL if there is neither. */
static char *
typed_column(Oid kiln_type, int32 typmod)
{
	Oid			kiln_array = get_array_type(kiln_type);
	List	   *kiln_types = list_make2_oid(kiln_type, kiln_array);
	List	   *types = typed_types(kiln_types, typmod);
	Relation	relation = table_open(AttributeRelationId, AccessShareLock);
	SysScanDesc scan = systable_beginscan(relation, InvalidOid, false, NULL, 0, NULL);
	char	   *found = NULL;
	HeapTuple	tuple;

	while (found == NULL && HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		Form_pg_attribute form = (Form_pg_attribute) GETSTRUCT(tuple);

		CHECK_FOR_INTERRUPTS();
		if (form->attisdropped || form->attnum <= 0)
			continue;
		if (((form->atttypid == kiln_type || form->atttypid == kiln_array) && form->atttypmod == typmod) ||
			list_member_oid(types, form->atttypid))
		{
			if (is_column(form->attrelid))
				found = psprintf("Column \"%s\" of \"%s\"", NameStr(form->attname), get_rel_name(form->attrelid));
		}
	}
	systable_endscan(scan);
	table_close(relation, AccessShareLock);
	if (found == NULL && types != NIL)
		found = psprintf("Domain %s", format_type_be(linitial_oid(types)));
	return found;
}

/*
 * The name that a user means: as it is, as kiln_schemas shows it, or else as a definition writes it. Returns the number
 * of its versions, which is not 0.
 */
static int
find_versions(const char *text, size_t length, char *name, size_t *name_length, uint64 **hashes)
{
	char		raw[KILN_MAX_NAME + 1];
	size_t		raw_length;
	size_t		end;
	int			count = 0;

	if (kiln_name_normalize(text, length, name, name_length, NULL))
		count = kiln_name_hashes(name, *name_length, hashes);
	if (count == 0 && kiln_leading_name(text, length, raw, &raw_length, &end) && end == length &&
		kiln_name_normalize(raw, raw_length, name, name_length, NULL))
		count = kiln_name_hashes(name, *name_length, hashes);
	if (count == 0)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("kiln schema \"%s\" is not registered", kiln_utf8_for_message(text, length))));
	return count;
}

/* kiln_forget(text): drop all versions of a name; their number. */
PG_FUNCTION_INFO_V1(kiln_forget);
Datum
kiln_forget(PG_FUNCTION_ARGS)
{
	size_t		length;
	const char *text = kiln_text_datum_to_utf8(PG_GETARG_DATUM(0), &length);
	Oid			wrapper = begin_change("kiln_forget()");
	char		name[KILN_MAX_NAME + 1];
	size_t		name_length;
	uint64	   *hashes;
	int			count = find_versions(text, length, name, &name_length, &hashes);
	Oid			kiln_type = GetSysCacheOid2(TYPENAMENSP, Anum_pg_type_oid, CStringGetDatum("kiln"),
											ObjectIdGetDatum(get_func_namespace(fcinfo->flinfo->fn_oid)));
	int32		typmod = kiln_name_typmod(name, name_length);
	char	   *column = typed_column(kiln_type, typmod);
	DropStmt   *statement;
	StringInfoData sql;

	if (column)
		ereport(ERROR,
				(errcode(ERRCODE_DEPENDENT_OBJECTS_STILL_EXIST),
				 errmsg("can't forget kiln schema \"%s\" because other objects depend on it",
						kiln_utf8_for_message(name, name_length)),
				 errdetail("%s holds kiln(%s).", column, kiln_typmod_name(typmod))));

	statement = makeNode(DropStmt);
	statement->removeType = OBJECT_FOREIGN_SERVER;
	statement->behavior = DROP_RESTRICT;
	initStringInfo(&sql);
	for (int i = 0; i < count; i++)
	{
		char	   *server = palloc(KILN_SERVER_NAME_SIZE);

		kiln_server_name(hashes[i], server);
		statement->objects = lappend(statement->objects, makeString(server));
		appendStringInfo(&sql, "%s%s", i == 0 ? "DROP SERVER " : ", ", server);
	}
	run_as(extension_owner(wrapper), (Node *) statement, sql.data);
	PG_RETURN_INT32(count);
}

/* ------------------------------------------------------------------ the validator */

/* Options of anything but a server: there are none, and foreign tables and user mappings are not wanted at all. */
static void
validate_no_options(List *options, Oid catalog)
{
	if (catalog == ForeignTableRelationId || catalog == UserMappingRelationId)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 catalog == ForeignTableRelationId ?
				 errmsg("foreign-data wrapper \"%s\" has no foreign tables", KILN_WRAPPER_NAME) :
				 errmsg("foreign-data wrapper \"%s\" has no user mappings", KILN_WRAPPER_NAME),
				 errdetail("Its servers hold kiln definitions.")));
	if (options != NIL)
		ereport(ERROR,
				(errcode(ERRCODE_FDW_INVALID_OPTION_NAME),
				 errmsg("invalid option \"%s\"", linitial_node(DefElem, options)->defname),
				 errhint("Only servers of this wrapper have an option, \"%s\".", KILN_OPTION_NAME)));
}

/* The definition of a server: canonical, and fit to be registered. */
static void
validate_definition(const char *server_text)
{
	size_t		length;
	const char *text = kiln_server_to_utf8(server_text, strlen(server_text), &length);
	kiln_error	error;
	KilnSchema *schema = kiln_schema_admit(text, length, &error);

	if (schema == NULL && error.code == KILN_E_NOT_CANONICAL)
		ereport(ERROR,
				(errcode(ERRCODE_FDW_INVALID_ATTRIBUTE_VALUE),
				 errmsg("kiln definition is not in canonical form"),
				 errhint("Use kiln_register(), which takes a definition in any form.")));
	if (schema == NULL)
		kiln_report(&error, KILN_IN_DEFINITION, NULL);
	kiln_check_registrable(schema);
}

/*
 * kiln_fdw_validator(text[], oid): what CREATE SERVER and ALTER SERVER may write. It does not see the server's name:
 * that it is the hash is checked by every look-up.
 */
PG_FUNCTION_INFO_V1(kiln_fdw_validator);
Datum
kiln_fdw_validator(PG_FUNCTION_ARGS)
{
	List	   *options = untransformRelOptions(PG_GETARG_DATUM(0));
	Oid			catalog = PG_GETARG_OID(1);
	const char *definition = NULL;
	ListCell   *cell;

	if (catalog != ForeignServerRelationId)
	{
		validate_no_options(options, catalog);
		PG_RETURN_VOID();
	}
	foreach(cell, options)
	{
		DefElem    *option = lfirst_node(DefElem, cell);

		if (strcmp(option->defname, KILN_OPTION_NAME) != 0)
			ereport(ERROR,
					(errcode(ERRCODE_FDW_INVALID_OPTION_NAME),
					 errmsg("invalid option \"%s\"", option->defname),
					 errhint("Servers of this wrapper have one option, \"%s\".", KILN_OPTION_NAME)));
		definition = defGetString(option);
	}
	if (definition == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_FDW_DYNAMIC_PARAMETER_VALUE_NEEDED),
				 errmsg("option \"%s\" is required for servers of foreign-data wrapper \"%s\"",
						KILN_OPTION_NAME, KILN_WRAPPER_NAME),
				 errhint("Use kiln_register() to register a definition.")));
	validate_definition(definition);
	PG_RETURN_VOID();
}
