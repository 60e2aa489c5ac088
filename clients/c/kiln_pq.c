/*
 * A database's definitions.
 *
 * All that were met stay until the client is closed, in one array and an open hash table over it, so that a schema's
 * address is its identity: paths keep their plans by it. Inline definitions come from the values themselves; so that
 * a stream of strangers' values can't fill the memory, there is a limit to their number.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "kiln_pq_internal.h"

#define MAX_INLINE	10000

typedef struct known
{
	const kiln_schema *schema;
	kiln_schema *owned;
	int64_t		version;
	bool		registered;
} known;

struct kiln_pq
{
	PGconn	   *conn;
	Oid			oid;
	char	   *query;			/* asks for the definitions */
	known	   *all;
	size_t		count;
	size_t		room;
	size_t		inlines;
	size_t	   *table;			/* by hash, registered and inline ones apart: position + 1, 0 for none */
	size_t		table_size;		/* a power of two */
};

/* ------------------------------------------------------------------ errors */

bool
kiln_pq_fail(kiln_pq_error *error, kiln_pq_code code, const kiln_error *codec, const char *format, ...)
{
	va_list		arguments;
	size_t		used;

	if (error == NULL)
		return false;
	memset(error, 0, sizeof *error);
	error->code = code;
	va_start(arguments, format);
	vsnprintf(error->message, sizeof error->message, format, arguments);
	va_end(arguments);
	if (codec == NULL)
		return false;
	error->codec = *codec;
	used = strlen(error->message);
	snprintf(error->message + used, sizeof error->message - used, "%s%s%s%s%s%s", used != 0 ? ": " : "",
			 kiln_error_text(codec->code), codec->detail[0] != 0 ? ": " : "", codec->detail,
			 codec->path[0] != 0 ? ", path " : "", codec->path);
	return false;
}

static bool
out_of_memory(kiln_pq_error *error)
{
	return kiln_pq_fail(error, KILN_PQ_E_MEMORY, NULL, "out of memory");
}

/* ------------------------------------------------------------------ the tables */

/* The slot of a definition, or the empty one where it belongs. text: NULL for a registered one. */
static size_t
slot_of(const kiln_pq *client, uint64_t hash, const char *text, size_t length)
{
	size_t		slot = (size_t) (hash ^ hash >> 32) & (client->table_size - 1);

	while (client->table[slot] != 0)
	{
		const known *entry = &client->all[client->table[slot] - 1];

		if (entry->schema->hash == hash && entry->registered == (text == NULL) &&
			(text == NULL || (entry->schema->text_length == length && memcmp(entry->schema->text, text, length) == 0)))
			break;
		slot = (slot + 1) & (client->table_size - 1);
	}
	return slot;
}

static bool
grow_table(kiln_pq *client)
{
	size_t		size = client->table_size != 0 ? 2 * client->table_size : 64;
	size_t	   *table = calloc(size, sizeof *table);

	if (table == NULL)
		return false;
	free(client->table);
	client->table = table;
	client->table_size = size;
	for (size_t i = 0; i < client->count; i++)
	{
		const known *entry = &client->all[i];

		client->table[slot_of(client, entry->schema->hash, entry->registered ? NULL : entry->schema->text,
							  entry->schema->text_length)] = i + 1;
	}
	return true;
}

/* Take a schema over; it is freed if that fails. */
static const kiln_schema *
remember(kiln_pq *client, kiln_schema *schema, bool registered, int64_t version, kiln_pq_error *error)
{
	known	   *entry;

	if (client->count == client->room)
	{
		size_t		room = client->room != 0 ? 2 * client->room : 32;
		known	   *all = realloc(client->all, room * sizeof *all);

		if (all != NULL)
		{
			client->all = all;
			client->room = room;
		}
	}
	if (client->count == client->room || (2 * client->count >= client->table_size && !grow_table(client)))
	{
		kiln_schema_free(schema);
		out_of_memory(error);
		return NULL;
	}
	entry = &client->all[client->count];
	entry->schema = entry->owned = schema;
	entry->version = version;
	entry->registered = registered;
	client->table[slot_of(client, schema->hash, registered ? NULL : schema->text, schema->text_length)] =
		++client->count;
	client->inlines += !registered;
	return schema;
}

const kiln_schema *
kiln_pq_by_hash(const kiln_pq *client, uint64_t hash)
{
	size_t		position = client->table_size != 0 ? client->table[slot_of(client, hash, NULL, 0)] : 0;

	return position != 0 ? client->all[position - 1].schema : NULL;
}

const kiln_schema *
kiln_pq_by_name(const kiln_pq *client, const char *name)
{
	const known *latest = NULL;

	for (size_t i = 0; i < client->count; i++)
	{
		const known *entry = &client->all[i];

		if (entry->registered && strcmp(entry->schema->root->name, name) == 0 &&
			(latest == NULL || entry->version > latest->version ||
			 (entry->version == latest->version && entry->schema->hash > latest->schema->hash)))
			latest = entry;
	}
	return latest != NULL ? latest->schema : NULL;
}

bool
kiln_pq_is_registered(const kiln_pq *client, const kiln_schema *schema)
{
	return kiln_pq_by_hash(client, schema->hash) == schema;
}

bool
kiln_pq_other_version(const kiln_pq *client, const kiln_schema *schema, const kiln_path *path)
{
	if (schema->root->kind != KILN_STRUCT || schema->root->name == NULL)
		return false;
	for (size_t i = 0; i < client->count; i++)
	{
		const kiln_schema *other = client->all[i].schema;
		kiln_plan	plan;

		if (!client->all[i].registered || other == schema || strcmp(other->root->name, schema->root->name) != 0)
			continue;
		if (kiln_plan_compile(other->root, path, NULL, &plan, NULL))
		{
			kiln_plan_free(&plan);
			return true;
		}
	}
	return false;
}

/* ------------------------------------------------------------------ taking definitions in */

/* The default of a json field is JSON: the server has seen to that. */
static bool
any_json(void *context, const uint8_t *text, size_t n)
{
	(void) context;
	(void) text;
	return n > 0;
}

static bool
parse(const char *text, size_t length, bool stored, kiln_schema **schema, kiln_pq_error *error)
{
	static const kiln_json_check json = {any_json, NULL};
	kiln_parse_options options = {0};
	kiln_error	codec;

	options.stored = stored;
	options.json = &json;
	if (kiln_schema_parse(text, length, &options, schema, &codec))
		return true;
	return kiln_pq_fail(error, KILN_PQ_E_DEFINITION, &codec, "definition, at byte %zu", codec.offset);
}

/* One that the server has, under the hash it says. */
static bool
take_registered(kiln_pq *client, uint64_t hash, int64_t version, const char *text, size_t length, kiln_pq_error *error)
{
	const kiln_schema *before = kiln_pq_by_hash(client, hash);
	kiln_schema *schema;

	if (before != NULL)
	{
		if (before->text_length == length && memcmp(before->text, text, length) == 0)
			return true;
		return kiln_pq_fail(error, KILN_PQ_E_DEFINITION, NULL, "two definitions have the hash %016" PRIx64, hash);
	}
	if (!parse(text, length, true, &schema, error))
		return false;
	if (schema->hash != hash || schema->root->kind != KILN_STRUCT || schema->root->name == NULL)
	{
		kiln_schema_free(schema);
		return kiln_pq_fail(error, KILN_PQ_E_DEFINITION, NULL,
							"the definition under hash %016" PRIx64 " is not what it says", hash);
	}
	return remember(client, schema, true, version, error) != NULL;
}

const kiln_schema *
kiln_pq_define(kiln_pq *client, const char *text, size_t length, kiln_pq_error *error)
{
	const kiln_schema *before;
	kiln_schema *schema;
	int64_t		version = 1;

	if (!parse(text, length, false, &schema, error))
		return NULL;
	before = kiln_pq_by_hash(client, schema->hash);
	if (before == NULL && schema->root->kind == KILN_STRUCT && schema->root->name != NULL)
	{
		for (size_t i = 0; i < client->count; i++)
		{
			if (client->all[i].registered && strcmp(client->all[i].schema->root->name, schema->root->name) == 0 &&
				client->all[i].version >= version)
				version = client->all[i].version + 1;
		}
		return remember(client, schema, true, version, error);
	}
	if (before == NULL)
		kiln_pq_fail(error, KILN_PQ_E_DEFINITION, NULL, "only a struct with a name is registered");
	else if (before->text_length != schema->text_length || memcmp(before->text, schema->text, schema->text_length) != 0)
	{
		kiln_pq_fail(error, KILN_PQ_E_DEFINITION, NULL, "two definitions have the hash %016" PRIx64, schema->hash);
		before = NULL;
	}
	kiln_schema_free(schema);
	return before;
}

/*
 * Is a text in canonical form down to the normal form of its names, too? Names that this build's Unicode does not
 * know are taken as they stand: a later one's server has checked them.
 */
static bool
is_canonical(const char *text, size_t length)
{
	kiln_schema *again;
	bool		same;

	if (!parse(text, length, false, &again, NULL))
		return true;
	same = again->text_length == length && memcmp(again->text, text, length) == 0;
	kiln_schema_free(again);
	return same;
}

static const kiln_schema *
take_inline(kiln_pq *client, const char *text, size_t length, bool stored, kiln_pq_error *error)
{
	kiln_schema *schema;
	size_t		position;

	if (client->table_size != 0)
	{
		position = client->table[slot_of(client, kiln_hash(text, length), text, length)];
		if (position != 0)
			return client->all[position - 1].schema;
	}
	if (!parse(text, length, stored, &schema, error))
		return NULL;
	if (stored && !is_canonical(text, length))
	{
		kiln_schema_free(schema);
		kiln_pq_fail(error, KILN_PQ_E_DEFINITION, NULL, "definition is not in canonical form");
		return NULL;
	}
	position = client->table_size != 0
		? client->table[slot_of(client, schema->hash, schema->text, schema->text_length)] : 0;
	if (position != 0)
	{
		kiln_schema_free(schema);
		return client->all[position - 1].schema;
	}
	if (client->inlines >= MAX_INLINE)
	{
		kiln_schema_free(schema);
		kiln_pq_fail(error, KILN_PQ_E_DEFINITION, NULL, "more than %d definitions came along in values", MAX_INLINE);
		return NULL;
	}
	return remember(client, schema, false, 0, error);
}

const kiln_schema *
kiln_pq_inline(kiln_pq *client, const char *text, size_t length, kiln_pq_error *error)
{
	return take_inline(client, text, length, false, error);
}

const kiln_schema *
kiln_pq_stored(kiln_pq *client, const char *text, size_t length, kiln_pq_error *error)
{
	return take_inline(client, text, length, true, error);
}

/* ------------------------------------------------------------------ the server's */

static bool
server_said(PGconn *conn, const PGresult *result, kiln_pq_error *error)
{
	const char *text = result != NULL ? PQresultErrorMessage(result) : "";

	if (text[0] == 0)
		text = PQerrorMessage(conn);
	return kiln_pq_fail(error, KILN_PQ_E_SERVER, NULL, "%.*s", (int) strcspn(text, "\n"), text);
}

/* Find the type, and make the query for definitions. */
static bool
find_type(kiln_pq *client, kiln_pq_error *error)
{
	static const char query[] =
		"SELECT t.oid, 'SELECT version::pg_catalog.int8, hash, pg_catalog.convert_to(definition, ''UTF8'') FROM ' "
		"|| pg_catalog.quote_ident(n.nspname) || '.kiln_schemas WHERE valid' "
		"FROM pg_catalog.pg_extension e JOIN pg_catalog.pg_depend d "
		"ON d.refclassid = 'pg_catalog.pg_extension'::pg_catalog.regclass AND d.refobjid = e.oid "
		"AND d.classid = 'pg_catalog.pg_type'::pg_catalog.regclass AND d.deptype = 'e' "
		"JOIN pg_catalog.pg_type t ON t.oid = d.objid JOIN pg_catalog.pg_namespace n ON n.oid = t.typnamespace "
		"WHERE e.extname = 'kiln' AND t.typname = 'kiln'";
	PGresult   *result = PQexec(client->conn, query);
	bool		good = false;

	if (PQresultStatus(result) != PGRES_TUPLES_OK)
		server_said(client->conn, result, error);
	else if (PQntuples(result) != 1)
		kiln_pq_fail(error, KILN_PQ_E_SERVER, NULL, "the extension kiln is not installed in this database");
	else
	{
		client->oid = (Oid) strtoul(PQgetvalue(result, 0, 0), NULL, 10);
		client->query = strdup(PQgetvalue(result, 0, 1));
		good = client->query != NULL || out_of_memory(error);
	}
	PQclear(result);
	return good;
}

bool
kiln_pq_refresh(kiln_pq *client, kiln_pq_error *error)
{
	PGTransactionStatusType status;
	PGresult   *result;
	bool		good = true;

	if (client->conn == NULL)
		return true;
	status = PQtransactionStatus(client->conn);
	if (status != PQTRANS_IDLE && status != PQTRANS_INTRANS)
		return kiln_pq_fail(error, KILN_PQ_E_UNKNOWN, NULL,
							"definitions can't be asked for while the connection is busy, closed or in a failed "
							"transaction");
	if (client->query == NULL && !find_type(client, error))
		return false;
	result = PQexecParams(client->conn, client->query, 0, NULL, NULL, NULL, NULL, 1);
	if (PQresultStatus(result) != PGRES_TUPLES_OK)
		good = server_said(client->conn, result, error);
	for (int i = 0; good && i < PQntuples(result); i++)
	{
		int64_t		version = (int64_t) kiln_pq_big64((const uint8_t *) PQgetvalue(result, i, 0));
		uint64_t	hash = strtoull(PQgetvalue(result, i, 1), NULL, 16);

		good = take_registered(client, hash, version, PQgetvalue(result, i, 2), (size_t) PQgetlength(result, i, 2),
							   error);
	}
	PQclear(result);
	return good;
}

const kiln_schema *
kiln_pq_need(kiln_pq *client, uint64_t hash, kiln_pq_error *error)
{
	const kiln_schema *schema = kiln_pq_by_hash(client, hash);

	if (schema == NULL)
	{
		if (!kiln_pq_refresh(client, error))
			return NULL;
		schema = kiln_pq_by_hash(client, hash);
	}
	if (schema == NULL)
		kiln_pq_fail(error, KILN_PQ_E_UNKNOWN, NULL, "no definition with the hash %016" PRIx64 " is registered", hash);
	return schema;
}

kiln_pq *
kiln_pq_open(PGconn *conn, kiln_pq_error *error)
{
	kiln_pq    *client = calloc(1, sizeof *client);

	if (client == NULL)
	{
		out_of_memory(error);
		return NULL;
	}
	client->conn = conn;
	if (!kiln_pq_refresh(client, error))
	{
		kiln_pq_close(client);
		return NULL;
	}
	return client;
}

void
kiln_pq_close(kiln_pq *client)
{
	if (client == NULL)
		return;
	for (size_t i = 0; i < client->count; i++)
		kiln_schema_free(client->all[i].owned);
	free(client->all);
	free(client->table);
	free(client->query);
	free(client);
}

Oid
kiln_pq_oid(const kiln_pq *client)
{
	return client->oid;
}
