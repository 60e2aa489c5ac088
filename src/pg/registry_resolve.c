/*
 * What a user's text means: a definition in full, the name of a registered schema, or a hash.
 *
 * All texts here are UTF-8. Errors can be saved softly, but for those that say the registry itself is wrong.
 */
#include "registry.h"

#include "utils/builtins.h"

/* ------------------------------------------------------------------ errors that have one text */

void
kiln_report_missing(uint64 hash, Node *escontext)
{
	kiln_errsave(escontext,
				 (errcode(ERRCODE_UNDEFINED_OBJECT),
				  errmsg("kiln definition %016llx is not registered", (unsigned long long) hash),
				  errhint("Register it with kiln_register(), or run here what kiln_dump_schemas() prints "
						  "where the value comes from.")));
}

void
kiln_report_lie(uint64 hash)
{
	char		name[KILN_SERVER_NAME_SIZE];

	kiln_server_name(hash, name);
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("registry entry of kiln definition %016llx is not what its name says",
					(unsigned long long) hash),
			 errdetail("Foreign server \"%s\" does not hold a kiln definition with this hash.", name),
			 errhint("Drop or rename that server, and register the definition again.")));
}

void
kiln_report_collision(uint64 hash)
{
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("kiln definition has the hash of another one: %016llx", (unsigned long long) hash),
			 errdetail("A definition with this hash and another text is registered."),
			 errhint("Change the definition, for example the order of its fields.")));
}

/* ------------------------------------------------------------------ definitions */

static bool
same_definition(const KilnSchema *one, const KilnSchema *other)
{
	return one->codec->text_length == other->codec->text_length &&
		memcmp(one->codec->text, other->codec->text, one->codec->text_length) == 0;
}

KilnSchema *
kiln_schema_interned(KilnSchema *schema)
{
	KilnSchema *registered;

	if (schema->registered)
		return schema;
	switch (kiln_registry_find(schema->hash, &registered))
	{
		case KILN_LOOKUP_FOUND:
			if (!same_definition(schema, registered))
				kiln_report_collision(schema->hash);
			return registered;
		case KILN_LOOKUP_LIES:
			kiln_report_lie(schema->hash);
			break;
		case KILN_LOOKUP_MISSING:
			break;
	}
	return schema;
}

KilnSchema *
kiln_schema_parse_user(const char *text, size_t length, bool prefer_registered, Node *escontext)
{
	KilnSchema *schema = kiln_inline_admitted(text, length);
	kiln_error	error;

	if (schema == NULL)
		schema = kiln_inline_compile(text, length, &error);
	if (schema == NULL)
	{
		kiln_report(&error, KILN_IN_DEFINITION, escontext);
		return NULL;
	}
	return prefer_registered ? kiln_schema_interned(schema) : schema;
}

char *
kiln_schema_quoted_name(const KilnSchema *schema)
{
	const kiln_type *root = schema->root;
	char	   *quoted;

	if (root->kind != KILN_STRUCT || root->name_length == 0)
		return pstrdup("");
	quoted = palloc(2 * root->name_length + 3);
	quoted[kiln_name_quote(root->name, root->name_length, quoted)] = '\0';
	return quoted;
}

/* ------------------------------------------------------------------ names and hashes */

/* The white space of definitions. */
static bool
is_space(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

/*
 * The whole text as a name, plain or quoted, in normal form; white space may stand around it as in a definition. False:
 * it is no name.
 */
static bool
whole_name(const char *text, size_t length, char *name, size_t *name_length)
{
	char		raw[KILN_MAX_NAME + 1];
	size_t		raw_length;
	size_t		end;

	while (length > 0 && is_space(text[0]))
	{
		text++;
		length--;
	}
	while (length > 0 && is_space(text[length - 1]))
		length--;
	return kiln_leading_name(text, length, raw, &raw_length, &end) && end == length &&
		kiln_name_normalize(raw, raw_length, name, name_length, NULL);
}

/*
 * [name]#hash: true if the text has that form; *schema is then what it means, or NULL after a soft error. The hash
 * decides; a name that is given has to be that of the definition.
 */
static bool
resolve_hash(const char *text, size_t length, Node *escontext, KilnSchema **schema)
{
	char		name[KILN_MAX_NAME + 1];
	size_t		name_length = 0;
	uint64		hash;
	const kiln_type *root;

	*schema = NULL;
	if (length < 17 || text[length - 17] != '#' || !kiln_read_hash(text + length - 16, &hash))
		return false;
	if (length > 17 && !whole_name(text, length - 17, name, &name_length))
		return false;
	switch (kiln_registry_find(hash, schema))
	{
		case KILN_LOOKUP_MISSING:
			kiln_report_missing(hash, escontext);
			return true;
		case KILN_LOOKUP_LIES:
			kiln_report_lie(hash);
			break;
		case KILN_LOOKUP_FOUND:
			break;
	}
	root = (*schema)->root;
	if (name_length > 0 &&
		(root->name_length != name_length || memcmp(root->name, name, name_length) != 0))
	{
		char	   *real = kiln_schema_quoted_name(*schema);

		*schema = NULL;
		kiln_errsave(escontext,
					 (errcode(ERRCODE_INVALID_TEXT_REPRESENTATION),
					  errmsg("kiln definition %016llx is not one of schema %s",
							 (unsigned long long) hash, kiln_utf8_for_message(text, length - 17)),
					  errdetail("It is a definition of schema %s.", kiln_utf8_for_message(real, strlen(real)))));
	}
	return true;
}

/* A name that is not registered: 42601, since it might have been a definition and is none either. */
static void
report_unknown_name(const char *text, size_t length, Node *escontext)
{
	kiln_errsave(escontext,
				 (errcode(ERRCODE_SYNTAX_ERROR),
				  errmsg("kiln schema %s is not registered", kiln_utf8_for_message(text, length)),
				  errdetail("Nor is it a type in kiln definitions."),
				  errhint("Register a definition of that name with kiln_register(), or give a definition in "
						  "full.")));
}

KilnSchema *
kiln_schema_resolve(const char *text, size_t length, Node *escontext)
{
	char		name[KILN_MAX_NAME + 1];
	size_t		name_length;
	KilnSchema *schema;
	kiln_error	error;

	if (resolve_hash(text, length, escontext, &schema))
		return schema;
	if (!whole_name(text, length, name, &name_length))
		return kiln_schema_parse_user(text, length, false, escontext);
	schema = kiln_registry_latest(name, name_length);
	if (schema == NULL)
		schema = kiln_inline_admitted(text, length);
	if (schema == NULL)
		schema = kiln_inline_compile(text, length, &error);
	if (schema == NULL)
		report_unknown_name(text, length, escontext);
	return schema;
}

/* ------------------------------------------------------------------ what may be registered */

/*
 * Would this name, as a text, mean something else? A number is a typmod in kiln(…), a type's word is a definition, and
 * the rest begin other forms.
 */
static bool
name_is_taken(const char *name, size_t length)
{
	static const char *const words[] = {"enum", "dict", "tensor", "tensors"};
	KilnSchema *schema;

	for (size_t i = 0; i < lengthof(words); i++)
		if (strlen(words[i]) == length && memcmp(words[i], name, length) == 0)
			return true;
	if (strspn(name, "0123456789") == length)
		return true;
	/* A type word or synonym is, and nothing else that looks like a name, a definition by itself. */
	schema = kiln_inline_compile(name, length, NULL);
	return schema != NULL;
}

void
kiln_check_registrable(const KilnSchema *schema)
{
	const kiln_type *root = schema->root;
	char	   *quoted = kiln_schema_quoted_name(schema);

	if (root->kind != KILN_STRUCT || root->name_length == 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("kiln definition has no name to be registered under"),
				 errdetail("Only structs with a name are registered."),
				 errhint("Write it as in message(id i64, body string).")));
	if (name_is_taken(root->name, root->name_length))
		ereport(ERROR,
				(errcode(ERRCODE_RESERVED_NAME),
				 errmsg("kiln schema can't be registered under the name %s",
						kiln_utf8_for_message(quoted, strlen(quoted))),
				 errdetail("Numbers, type names and the words enum, dict, tensor and tensors mean something else "
						   "where a schema's name is asked for.")));
}
