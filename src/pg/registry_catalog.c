/*
 * The registry in the catalog: foreign servers of our own wrapper.
 *
 * A server counts only if its wrapper is ours and its name is kiln_ and the hash of its definition's text in UTF-8.
 * The schema's name is read from the definition; TYPE is for people's eyes, and VERSION only orders.
 *
 * A look-up by hash goes through the syscache alone. By name, the list of all registered names is needed: it is made by
 * one scan of pg_foreign_server, which hashes the texts but compiles none, and is kept until the next invalidation.
 *
 * Nothing here raises for what it finds in the catalog: whoever owns a server may have written anything there.
 */
#include "registry.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/reloptions.h"
#include "access/table.h"
#include "catalog/namespace.h"
#include "catalog/pg_foreign_data_wrapper.h"
#include "catalog/pg_foreign_server.h"
#include "catalog/pg_language.h"
#include "catalog/pg_proc.h"
#include "commands/defrem.h"
#include "miscadmin.h"
#include "nodes/parsenodes.h"
#include "utils/builtins.h"
#include "utils/catcache.h"
#include "utils/rel.h"
#include "utils/syscache.h"

/* ------------------------------------------------------------------ our wrapper */

/* Is this function our validator, wherever the extension's schema is? */
static bool
is_our_validator(Oid function)
{
	HeapTuple	tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(function));
	bool		ours = false;
	bool		isnull;
	Datum		source;

	if (!HeapTupleIsValid(tuple))
		return false;
	if (((Form_pg_proc) GETSTRUCT(tuple))->prolang == ClanguageId)
	{
		source = SysCacheGetAttr(PROCOID, tuple, Anum_pg_proc_prosrc, &isnull);
		if (!isnull)
		{
			char	   *symbol = TextDatumGetCString(source);

			ours = strcmp(symbol, "kiln_fdw_validator") == 0;
			pfree(symbol);
		}
	}
	ReleaseSysCache(tuple);
	return ours;
}

/*
 * The wrapper is known by its name and by its validator. A superuser may drop ours, make another by the same name, or
 * take the validator away; then its servers are no definitions, since nobody checked them.
 */
Oid
kiln_registry_wrapper(void)
{
	static Oid	wrapper = InvalidOid;
	static uint64 wrapper_generation = 0;
	uint64		generation = kiln_registry_generation;
	HeapTuple	tuple;
	Form_pg_foreign_data_wrapper form;

	if (OidIsValid(wrapper) && wrapper_generation == generation)
		return wrapper;
	wrapper = InvalidOid;
	tuple = SearchSysCache1(FOREIGNDATAWRAPPERNAME, CStringGetDatum(KILN_WRAPPER_NAME));
	if (!HeapTupleIsValid(tuple))
		return InvalidOid;
	form = (Form_pg_foreign_data_wrapper) GETSTRUCT(tuple);
	if (OidIsValid(form->fdwvalidator) && is_our_validator(form->fdwvalidator))
	{
		wrapper = form->oid;
		wrapper_generation = generation;
	}
	ReleaseSysCache(tuple);
	return wrapper;
}

/* ------------------------------------------------------------------ one server */

void
kiln_server_name(uint64 hash, char *out)
{
	snprintf(out, KILN_SERVER_NAME_SIZE, KILN_SERVER_PREFIX "%016llx", (unsigned long long) hash);
}

bool
kiln_read_hash(const char *digits, uint64 *hash)
{
	*hash = 0;
	for (int i = 0; i < 16; i++)
	{
		char		c = digits[i];

		if (c >= '0' && c <= '9')
			*hash = *hash << 4 | (uint64) (c - '0');
		else if (c >= 'a' && c <= 'f')
			*hash = *hash << 4 | (uint64) (c - 'a' + 10);
		else
			return false;
	}
	return true;
}

/* The hash in a server's name; false if the name is of another form. */
static bool
hash_of_name(const char *name, uint64 *hash)
{
	size_t		prefix = strlen(KILN_SERVER_PREFIX);

	return strncmp(name, KILN_SERVER_PREFIX, prefix) == 0 && strlen(name) == prefix + 16 &&
		kiln_read_hash(name + prefix, hash);
}

/* VERSION as a number: a natural number that fits, else 0. */
static int64
version_number(const char *text)
{
	int64		version = 0;

	if (text == NULL || *text == '\0' || strspn(text, "0123456789") != strlen(text))
		return 0;
	for (; *text; text++)
	{
		if (version > (PG_INT64_MAX - (*text - '0')) / 10)
			return 0;
		version = version * 10 + (*text - '0');
	}
	return version;
}

/* The value of the only option, NULL if there is another one or none. */
static char *
definition_option(Datum options)
{
	List	   *list = untransformRelOptions(options);
	DefElem    *option;

	if (list_length(list) != 1)
		return NULL;
	option = linitial_node(DefElem, list);
	if (strcmp(option->defname, KILN_OPTION_NAME) != 0 || option->arg == NULL)
		return NULL;
	return defGetString(option);
}

/*
 * Text of the catalog in UTF-8; NULL if it can't be converted, which is no reason to raise here. May be the argument.
 */
static const char *
catalog_to_utf8(const char *text, size_t *length)
{
	size_t		n = strlen(text);
	int			encoding = GetDatabaseEncoding();
	Oid			conversion;
	char	   *utf8;
	size_t		room;

	*length = n;
	if (encoding == PG_UTF8 || encoding == PG_SQL_ASCII)
		return text;
	conversion = FindDefaultConversionProc(encoding, PG_UTF8);
	if (!OidIsValid(conversion) || n > KILN_MAX_DEFINITION)
		return NULL;
	room = n * MAX_CONVERSION_GROWTH + 1;
	utf8 = palloc(room);
	if (pg_do_encoding_conversion_buf(conversion, encoding, PG_UTF8,
									  (unsigned char *) unconstify(char *, text), (int) n,
									  (unsigned char *) utf8, (int) room, true) != (int) n)
		return NULL;
	*length = strlen(utf8);
	return utf8;
}

void
kiln_server_read(HeapTuple tuple, KilnServer *server)
{
	Form_pg_foreign_server form = (Form_pg_foreign_server) GETSTRUCT(tuple);
	Datum		datum;
	bool		isnull;

	memset(server, 0, sizeof *server);
	server->oid = form->oid;
	server->wrapper = form->srvfdw;
	server->server_name = pstrdup(NameStr(form->srvname));
	server->hash_named = hash_of_name(server->server_name, &server->hash);
	datum = SysCacheGetAttr(FOREIGNSERVEROID, tuple, Anum_pg_foreign_server_srvversion, &isnull);
	if (!isnull)
		server->version_text = TextDatumGetCString(datum);
	server->version = version_number(server->version_text);
	datum = SysCacheGetAttr(FOREIGNSERVEROID, tuple, Anum_pg_foreign_server_srvoptions, &isnull);
	if (!isnull)
		server->definition = definition_option(datum);
	if (server->definition)
		server->text = catalog_to_utf8(server->definition, &server->length);
}

/* Do wrapper, name and text agree? wrapper: ours. */
static bool
server_agrees(const KilnServer *server, Oid wrapper)
{
	return OidIsValid(wrapper) && server->wrapper == wrapper &&
		server->hash_named && server->text &&
		kiln_hash(server->text, server->length) == server->hash;
}

KilnLookup
kiln_server_find(uint64 hash, KilnServer *server)
{
	char		name[KILN_SERVER_NAME_SIZE];
	HeapTuple	tuple;

	kiln_server_name(hash, name);
	tuple = SearchSysCache1(FOREIGNSERVERNAME, CStringGetDatum(name));
	if (!HeapTupleIsValid(tuple))
		return KILN_LOOKUP_MISSING;
	kiln_server_read(tuple, server);
	ReleaseSysCache(tuple);
	return server_agrees(server, kiln_registry_wrapper()) ? KILN_LOOKUP_FOUND : KILN_LOOKUP_LIES;
}

/* ------------------------------------------------------------------ all servers */

int
kiln_server_list(KilnServer **servers)
{
	Oid			wrapper = kiln_registry_wrapper();
	Relation	relation = table_open(ForeignServerRelationId, AccessShareLock);
	SysScanDesc scan = systable_beginscan(relation, InvalidOid, false, NULL, 0, NULL);
	int			room = 16;
	int			count = 0;
	HeapTuple	tuple;

	*servers = palloc(room * sizeof(KilnServer));
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		Form_pg_foreign_server form = (Form_pg_foreign_server) GETSTRUCT(tuple);
		uint64		hash;

		CHECK_FOR_INTERRUPTS();
		if ((!OidIsValid(wrapper) || form->srvfdw != wrapper) && !hash_of_name(NameStr(form->srvname), &hash))
			continue;
		if (count == room)
		{
			room *= 2;
			*servers = repalloc_huge(*servers, room * sizeof(KilnServer));
		}
		kiln_server_read(tuple, &(*servers)[count++]);
	}
	systable_endscan(scan);
	table_close(relation, AccessShareLock);
	return count;
}

/* ------------------------------------------------------------------ names */

bool
kiln_leading_name(const char *text, size_t length, char *name, size_t *name_length, size_t *end)
{
	size_t		n = 0;
	size_t		at = 0;

	if (length > 0 && text[0] == '"')
	{
		for (at = 1;; at++)
		{
			if (at == length)
				return false;
			if (text[at] == '"' && (++at == length || text[at] != '"'))
				break;
			if (n == KILN_MAX_NAME)
				return false;
			name[n++] = text[at];
		}
	}
	else
	{
		for (; at < length; at++)
		{
			char		c = text[at];

			if (!((c >= 'a' && c <= 'z') || c == '_' || (c >= '0' && c <= '9' && at > 0)))
				break;
			if (n == KILN_MAX_NAME)
				return false;
			name[n++] = c;
		}
	}
	if (n == 0)
		return false;
	name[n] = '\0';
	*name_length = n;
	if (end)
		*end = at;
	return true;
}

/* One registered definition in the list of names. */
typedef struct NameEntry
{
	int32		typmod;			/* of the name */
	const char *name;
	size_t		length;
	int64		version;
	uint64		hash;
} NameEntry;

/* All that agree, in ascending order of typmod, name, version, hash. */
typedef struct NameList
{
	uint64		generation;		/* read before the scan */
	MemoryContext context;		/* holds entries and their names */
	NameEntry  *entries;
	int			count;
} NameList;

static NameList names = {0};

static int
compare_entries(const void *a, const void *b)
{
	const NameEntry *one = a;
	const NameEntry *other = b;
	int			order = (one->typmod > other->typmod) - (one->typmod < other->typmod);

	if (order == 0)
		order = kiln_compare_bytes(one->name, one->length, other->name, other->length);
	if (order == 0)
		order = (one->version > other->version) - (one->version < other->version);
	if (order == 0)
		order = (one->hash > other->hash) - (one->hash < other->hash);
	return order;
}

/* Fill list from the catalog, in CurrentMemoryContext; garbage goes to scratch. */
static void
fill_names(NameList *list, MemoryContext scratch)
{
	MemoryContext context = MemoryContextSwitchTo(scratch);
	Oid			wrapper = kiln_registry_wrapper();
	KilnServer *servers;
	int			count = kiln_server_list(&servers);

	MemoryContextSwitchTo(context);
	list->entries = palloc_extended(Max(count, 1) * sizeof(NameEntry), MCXT_ALLOC_HUGE);
	list->count = 0;
	for (int i = 0; i < count; i++)
	{
		char		name[KILN_MAX_NAME + 1];
		size_t		length;
		size_t		end;
		NameEntry  *entry = &list->entries[list->count];

		if (!server_agrees(&servers[i], wrapper) ||
			!kiln_leading_name(servers[i].text, servers[i].length, name, &length, &end) ||
			end == servers[i].length || servers[i].text[end] != '(')
			continue;
		entry->typmod = kiln_name_typmod(name, length);
		entry->name = pnstrdup(name, length);
		entry->length = length;
		entry->version = servers[i].version;
		entry->hash = servers[i].hash;
		list->count++;
	}
	qsort(list->entries, list->count, sizeof(NameEntry), compare_entries);
}

/*
 * The list of names, made again if something was invalidated. What it leads to stays until the next call; look-ups by
 * hash do not call it.
 */
static const NameList *
current_names(void)
{
	NameList	fresh = {0};
	MemoryContext scratch;
	MemoryContext caller;

	if (names.context && names.generation == kiln_registry_generation)
		return &names;
	fresh.generation = kiln_registry_generation;
	fresh.context = AllocSetContextCreate(CurrentMemoryContext, "kiln names", ALLOCSET_SMALL_SIZES);
	scratch = AllocSetContextCreate(CurrentMemoryContext, "kiln names scan", ALLOCSET_DEFAULT_SIZES);
	caller = MemoryContextSwitchTo(fresh.context);
	fill_names(&fresh, scratch);
	MemoryContextSwitchTo(caller);
	MemoryContextDelete(scratch);
	if (CacheMemoryContext == NULL)
		CreateCacheMemoryContext();
	MemoryContextSetParent(fresh.context, CacheMemoryContext);
	if (names.context)
		MemoryContextDelete(names.context);
	names = fresh;
	return &names;
}

/* The first entry of a typmod or, with a name, of that name; count says how many follow each other. */
static const NameEntry *
names_range(int32 typmod, const char *name, size_t length, int *count)
{
	const NameList *list = current_names();
	int			low = 0;
	int			high = list->count;
	int			end;

	while (low < high)
	{
		int			middle = low + (high - low) / 2;
		const NameEntry *entry = &list->entries[middle];

		if (entry->typmod < typmod ||
			(entry->typmod == typmod && name && kiln_compare_bytes(entry->name, entry->length, name, length) < 0))
			low = middle + 1;
		else
			high = middle;
	}
	for (end = low; end < list->count; end++)
	{
		const NameEntry *entry = &list->entries[end];

		if (entry->typmod != typmod || (name && kiln_compare_bytes(entry->name, entry->length, name, length) != 0))
			break;
	}
	*count = end - low;
	return list->entries + low;
}

/* The last of a range that compiles, NULL if none does. */
static KilnSchema *
last_of(const NameEntry *entries, int count)
{
	KilnSchema *schema;

	while (count-- > 0)
		if (kiln_registry_find(entries[count].hash, &schema) == KILN_LOOKUP_FOUND)
			return schema;
	return NULL;
}

KilnSchema *
kiln_registry_latest(const char *name, size_t length)
{
	int			count;
	const NameEntry *entries = names_range(kiln_name_typmod(name, length), name, length, &count);

	return last_of(entries, count);
}

/*
 * By typmod. Registration lets no two names share one, but CREATE SERVER by hand may: then the greater name has it.
 */
KilnSchema *
kiln_registry_latest_by_typmod(int32 typmod)
{
	int			count;
	const NameEntry *entries = names_range(typmod, NULL, 0, &count);

	return last_of(entries, count);
}

int
kiln_registry_versions(const char *name, size_t length, KilnSchema ***versions)
{
	int			count;
	const NameEntry *entries = names_range(kiln_name_typmod(name, length), name, length, &count);
	int			found = 0;

	*versions = palloc(Max(count, 1) * sizeof(KilnSchema *));
	for (int i = 0; i < count; i++)
		if (kiln_registry_find(entries[i].hash, &(*versions)[found]) == KILN_LOOKUP_FOUND)
			found++;
	return found;
}

int
kiln_name_hashes(const char *name, size_t length, uint64 **hashes)
{
	int			count;
	const NameEntry *entries = names_range(kiln_name_typmod(name, length), name, length, &count);

	*hashes = palloc(Max(count, 1) * sizeof(uint64));
	for (int i = 0; i < count; i++)
		(*hashes)[i] = entries[i].hash;
	return count;
}

int64
kiln_name_top_version(const char *name, size_t length)
{
	int			count;
	const NameEntry *entries = names_range(kiln_name_typmod(name, length), name, length, &count);

	return count > 0 ? entries[count - 1].version : 0;
}

char *
kiln_name_clash(const char *name, size_t length)
{
	int			count;
	const NameEntry *entries = names_range(kiln_name_typmod(name, length), NULL, 0, &count);

	for (int i = 0; i < count; i++)
		if (kiln_compare_bytes(entries[i].name, entries[i].length, name, length) != 0)
			return pnstrdup(entries[i].name, entries[i].length);
	return NULL;
}
