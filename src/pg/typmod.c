/*
 * Type modifiers: kiln(message).
 *
 * A typmod is 31 bits of the hash of the schema's name in NFC and UTF-8. It is computed without a catalog, so that it
 * means the same in every database and for ever; the registry is only asked to show the name again.
 */
#include "registry.h"

#include "access/xact.h"
#include "catalog/pg_type.h"
#include "utils/array.h"
#include "utils/builtins.h"

int32
kiln_name_typmod(const char *name, size_t length)
{
	int32		typmod = (int32) (kiln_hash(name, length) & 0x7fffffff);

	return typmod != 0 ? typmod : 1;
}

int32
kiln_tensor_typmod(void)
{
	static int32 typmod = 0;

	if (typmod == 0)
		typmod = kiln_name_typmod("tensor", 6);
	return typmod;
}

char *
kiln_typmod_name(int32 typmod)
{
	KilnSchema *schema;
	char	   *quoted;

	if (typmod == kiln_tensor_typmod())
		return pstrdup("tensor");
	schema = kiln_registry_latest_by_typmod(typmod);
	if (schema == NULL)
		return psprintf("%d", typmod);
	quoted = kiln_schema_quoted_name(schema);
	return kiln_utf8_for_message(quoted, strlen(quoted));
}

/* A modifier that is all digits stands for itself. */
static int32
number_typmod(const char *digits)
{
	int64		number = 0;

	for (; *digits && number <= PG_INT32_MAX; digits++)
		number = number * 10 + (*digits - '0');
	if (number < 1 || number > PG_INT32_MAX)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("type modifier of kiln is out of range"),
				 errdetail("A number here is between 1 and %d.", PG_INT32_MAX)));
	return (int32) number;
}

/*
 * Say that a name is not registered: once a statement, since CREATE TABLE reads a column's type more than once.
 */
static void
notice_unregistered(int32 typmod, const char *name)
{
	static TimestampTz statement = 0;
	static int32 told = 0;

	if (told == typmod && statement == GetCurrentStatementStartTimestamp())
		return;
	told = typmod;
	statement = GetCurrentStatementStartTimestamp();
	ereport(NOTICE,
			(errmsg("kiln schema \"%s\" is not registered", name),
			 errhint("Register a definition of that name with kiln_register().")));
}

/* A modifier that is a name, as the parser hands it over: without the quotes that it had in SQL. */
static int32
named_typmod(const char *server_text)
{
	char		name[KILN_MAX_NAME + 1];
	size_t		name_length;
	size_t		length;
	const char *utf8 = kiln_server_to_utf8(server_text, strlen(server_text), &length);
	kiln_error	error;
	int32		typmod;

	if (!kiln_name_normalize(utf8, length, name, &name_length, &error))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("type modifier of kiln is not the name of a schema: %s",
						error.detail[0] ? kiln_utf8_for_message(error.detail, strlen(error.detail)) :
						kiln_error_text(error.code))));
	typmod = kiln_name_typmod(name, name_length);
	if (typmod != kiln_tensor_typmod() && kiln_registry_latest(name, name_length) == NULL)
		notice_unregistered(typmod, server_text);
	return typmod;
}

/* kiln_typmod_in(cstring[]): a name, or the number that stands for one. */
PG_FUNCTION_INFO_V1(kiln_typmod_in);
Datum
kiln_typmod_in(PG_FUNCTION_ARGS)
{
	ArrayType  *array = PG_GETARG_ARRAYTYPE_P(0);
	Datum	   *elements;
	int			count;
	const char *text;

	if (ARR_ELEMTYPE(array) != CSTRINGOID)
		ereport(ERROR,
				(errcode(ERRCODE_ARRAY_ELEMENT_ERROR),
				 errmsg("typmod array must be type cstring[]")));
	if (array_contains_nulls(array))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("typmod array must not contain nulls")));
	deconstruct_array(array, CSTRINGOID, -2, false, TYPALIGN_CHAR, &elements, NULL, &count);
	if (count != 1)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("type kiln takes one modifier, the name of a schema")));
	text = DatumGetCString(elements[0]);
	if (*text && strspn(text, "0123456789") == strlen(text))
		PG_RETURN_INT32(number_typmod(text));
	PG_RETURN_INT32(named_typmod(text));
}

/*
 * kiln_typmod_out(integer): "(name)", quoted as an SQL identifier, so that it reads back; "(number)" if no such
 * name is registered, or if it is too long for an identifier in the server's encoding.
 */
PG_FUNCTION_INFO_V1(kiln_typmod_out);
Datum
kiln_typmod_out(PG_FUNCTION_ARGS)
{
	int32		typmod = PG_GETARG_INT32(0);
	KilnSchema *schema;

	if (typmod < 0)
		PG_RETURN_CSTRING(pstrdup(""));
	if (typmod == kiln_tensor_typmod())
		PG_RETURN_CSTRING(pstrdup("(tensor)"));
	schema = kiln_registry_latest_by_typmod(typmod);
	if (schema)
	{
		char	   *name = kiln_utf8_to_server(schema->root->name, schema->root->name_length);

		if (strlen(name) < NAMEDATALEN)
			PG_RETURN_CSTRING(psprintf("(%s)", quote_identifier(name)));
	}
	PG_RETURN_CSTRING(psprintf("(%d)", typmod));
}
