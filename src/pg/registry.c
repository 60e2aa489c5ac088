/*
 * The backend's cache of compiled definitions.
 *
 * Registered definitions are found by their hash, inline ones by their text; both hang in buckets under the hash.
 * Each entry has a memory context of its own, a child of CacheMemoryContext.
 *
 * Invariants:
 *
 * - The callbacks of the syscache only count up kiln_registry_generation. They run in the middle of anything that
 *   touches a catalog or a TOAST table, our own look-ups too, so they must neither free nor unlink.
 * - An entry's generation is the one that was read *before* the look-up in the catalog that found it true. A change
 *   that comes in during the look-up makes the entry stale at once, never wrongly fresh.
 * - Unlinking takes an entry out of the cache and changes nothing else. It is freed at the end of a transaction, once
 *   no one pins it: whoever got it from a look-up may use it until then.
 * - Inline entries are all kept while a transaction lasts, so that a query over many definitions compiles each once; at
 *   its end those that were not used lately go. A transaction's memory thus grows with its distinct definitions,
 *   never with its rows.
 * - Registered entries stay until they are found to be gone. That is noticed when one is asked for, and for the others
 *   a few at a time, whenever a new one is loaded.
 * - A definition that is missing is asked for again each time (the syscache remembers that it is missing). One that
 *   lies is remembered for its generation, so that it is not compiled again for each row.
 */
#include "registry.h"

#include "access/xact.h"
#include "lib/ilist.h"
#include "utils/catcache.h"
#include "utils/hsearch.h"
#include "utils/inval.h"
#include "utils/syscache.h"

/* Inline entries that stay after a transaction though nobody pins them. */
#define INLINE_KEPT 64

/* Stale registered entries that are looked at again when a new one is loaded: more than one, so that none pile up. */
#define SWEPT_AT_LOAD 2

/* A KilnSchema and what only this file knows of it. */
typedef struct Entry
{
	KilnSchema	schema;			/* first */
	bool		admitted;		/* inline: its text passed the full checks, not only those of a stored text */
	dlist_node	place;			/* linked: in inline_list, last used first, or registered_list, last found true first */
} Entry;

typedef struct Bucket
{
	uint64		hash;			/* key */
	KilnSchema *registered;
	KilnSchema *inlines;		/* list by next; more than one only for a collision */
	uint64		lie_generation; /* the registered definition was found to lie under this generation */
} Bucket;

/* Starts above 0, so that zeroed memory is stale. */
uint64		kiln_registry_generation = 1;

static HTAB *buckets = NULL;
static KilnSchema *last_found = NULL;	/* registered and linked: what kiln_registry_find() gave last */
static KilnSchema *unlinked = NULL; /* list by next: to be freed when unpinned */
static dlist_head registered_list = DLIST_STATIC_INIT(registered_list);
static dlist_head inline_list = DLIST_STATIC_INIT(inline_list);
static bool inline_grown = false;	/* inline_list has entries that the end of a transaction has not seen */

/* ------------------------------------------------------------------ memory */

static void *
palloc_allocate(void *context, size_t size)
{
	return MemoryContextAlloc(context ? (MemoryContext) context : CurrentMemoryContext, size);
}

static void
palloc_release(void *context, void *memory)
{
	if (memory)
		pfree(memory);
}

kiln_allocator
kiln_palloc_allocator(MemoryContext context)
{
	kiln_allocator allocator;

	allocator.allocate = palloc_allocate;
	allocator.release = palloc_release;
	allocator.context = context;
	return allocator;
}

/* ------------------------------------------------------------------ entries */

/*
 * Compile a text into an entry that is in no list yet and whose context is a child of CurrentMemoryContext: until
 * adopt(), an error takes it away with whatever was being done. NULL: *error says why.
 */
static Entry *
compile(const char *text, size_t length, bool stored, kiln_error *error)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "kiln definition", ALLOCSET_SMALL_SIZES);
	MemoryContext scratch = AllocSetContextCreate(CurrentMemoryContext, "kiln definition text", ALLOCSET_SMALL_SIZES);
	MemoryContext caller = MemoryContextSwitchTo(scratch);
	kiln_allocator allocator = kiln_palloc_allocator(context);
	kiln_parse_options options = {0};
	kiln_schema *codec;
	Entry	   *entry = NULL;

	options.allocator = &allocator;
	options.stored = stored;
	options.literal = stored ? NULL : kiln_literal;
	options.json = &kiln_pg_json_check;
	if (kiln_schema_parse(text, length, &options, &codec, error))
	{
		entry = MemoryContextAllocZero(context, sizeof(Entry));
		entry->schema.codec = codec;
		entry->schema.root = codec->root;
		entry->schema.hash = codec->hash;
		entry->schema.context = context;
	}
	MemoryContextSwitchTo(caller);
	MemoryContextDelete(scratch);
	if (entry == NULL)
		MemoryContextDelete(context);
	return entry;
}

/* Only structs with a name are registered; an entry that holds anything else was not made by us. */
static bool
is_named_struct(const kiln_type *root)
{
	return root->kind == KILN_STRUCT && root->name_length > 0;
}

bool
kiln_definition_holds(const char *text, size_t length)
{
	Entry	   *entry = compile(text, length, true, NULL);
	bool		holds;

	if (entry == NULL)
		return false;
	holds = is_named_struct(entry->schema.root);
	MemoryContextDelete(entry->schema.context);
	return holds;
}

static bool
same_text(const KilnSchema *schema, const char *text, size_t length)
{
	return schema->codec->text_length == length && memcmp(schema->codec->text, text, length) == 0;
}

/* The bucket of a hash; with make, a new one if there is none. */
static Bucket *
bucket_of(uint64 hash, bool make)
{
	bool		found;
	Bucket	   *bucket;

	if (buckets == NULL)
	{
		HASHCTL		control = {0};

		if (!make)
			return NULL;
		if (CacheMemoryContext == NULL)
			CreateCacheMemoryContext();
		control.keysize = sizeof(uint64);
		control.entrysize = sizeof(Bucket);
		control.hcxt = CacheMemoryContext;
		buckets = hash_create("kiln definitions", 64, &control, HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
	}
	bucket = hash_search(buckets, &hash, make ? HASH_ENTER : HASH_FIND, &found);
	if (make && !found)
	{
		bucket->registered = NULL;
		bucket->inlines = NULL;
		bucket->lie_generation = 0;
	}
	return bucket;
}

/* Put a compiled entry under its hash, for good. Its registered, server, version and generation are set. */
static void
adopt(Entry *entry)
{
	KilnSchema *schema = &entry->schema;
	Bucket	   *bucket = bucket_of(schema->hash, true);

	/* From here on nothing raises. */
	MemoryContextSetParent(schema->context, CacheMemoryContext);
	if (schema->registered)
	{
		Assert(bucket->registered == NULL);
		bucket->registered = schema;
		dlist_push_head(&registered_list, &entry->place);
		return;
	}
	schema->next = bucket->inlines;
	bucket->inlines = schema;
	dlist_push_head(&inline_list, &entry->place);
	inline_grown = true;
}

/* Take an entry out of the cache; the end of a transaction frees it. */
static void
unlink_schema(KilnSchema *schema)
{
	Bucket	   *bucket = bucket_of(schema->hash, false);

	Assert(!schema->unlinked && bucket != NULL);
	if (schema->registered)
	{
		bucket->registered = NULL;
		if (last_found == schema)
			last_found = NULL;
	}
	else
	{
		KilnSchema **link = &bucket->inlines;

		while (*link != schema)
			link = &(*link)->next;
		*link = schema->next;
	}
	dlist_delete(&((Entry *) schema)->place);
	if (bucket->registered == NULL && bucket->inlines == NULL)
		(void) hash_search(buckets, &schema->hash, HASH_REMOVE, NULL);
	schema->unlinked = true;
	schema->next = unlinked;
	unlinked = schema;
}

void
kiln_schema_unpin(KilnSchema *schema)
{
	Assert(schema->pins > 0);
	schema->pins--;
}

/* ------------------------------------------------------------------ callbacks */

static void
registry_changed(Datum arg, int cacheid, uint32 hashvalue)
{
	kiln_registry_generation++;
}

/* Unlink the inline entries that were not used for the longest time, but for INLINE_KEPT and for pinned ones. */
static void
trim_inline(void)
{
	dlist_mutable_iter place;
	int			kept = 0;

	dlist_foreach_modify(place, &inline_list)
	{
		Entry	   *entry = dlist_container(Entry, place, place.cur);

		if (entry->schema.pins == 0 && ++kept > INLINE_KEPT)
			unlink_schema(&entry->schema);
	}
	inline_grown = false;
}

/* Free what is unlinked and not pinned. */
static void
free_unlinked(void)
{
	KilnSchema **link = &unlinked;

	while (*link)
	{
		KilnSchema *schema = *link;

		if (schema->pins > 0)
			link = &schema->next;
		else
		{
			*link = schema->next;
			MemoryContextDelete(schema->context);
		}
	}
}

/* The end of a transaction: nobody holds what a look-up gave, unless it is pinned. */
static void
transaction_ended(XactEvent event, void *arg)
{
	switch (event)
	{
		case XACT_EVENT_COMMIT:
		case XACT_EVENT_PARALLEL_COMMIT:
		case XACT_EVENT_ABORT:
		case XACT_EVENT_PARALLEL_ABORT:
		case XACT_EVENT_PREPARE:
			break;
		default:
			return;
	}
	if (inline_grown)
		trim_inline();
	free_unlinked();
}

void
kiln_registry_init(void)
{
	CacheRegisterSyscacheCallback(FOREIGNSERVEROID, registry_changed, (Datum) 0);
	CacheRegisterSyscacheCallback(FOREIGNDATAWRAPPEROID, registry_changed, (Datum) 0);
	RegisterXactCallback(transaction_ended, NULL);
}

/* ------------------------------------------------------------------ registered definitions */

/* Look at the entries again that were last found true the longest time ago: what is gone must not stay for ever. */
static void
sweep_registered(void)
{
	for (int i = 0; i < SWEPT_AT_LOAD && !dlist_is_empty(&registered_list); i++)
	{
		Entry	   *oldest = dlist_tail_element(Entry, place, &registered_list);

		if (oldest->schema.generation == kiln_registry_generation)
			break;
		dlist_move_head(&registered_list, &oldest->place);
		(void) kiln_schema_recheck(&oldest->schema);
	}
}

/* Ask the catalog for a definition that is not in the cache. */
static KilnLookup
load(uint64 hash, KilnSchema **schema)
{
	MemoryContext scratch = AllocSetContextCreate(CurrentMemoryContext, "kiln registry look-up", ALLOCSET_SMALL_SIZES);
	MemoryContext caller = MemoryContextSwitchTo(scratch);
	KilnServer	server;
	Entry	   *entry = NULL;
	uint64		generation;
	KilnLookup	result;

	sweep_registered();
	generation = kiln_registry_generation;
	result = kiln_server_find(hash, &server);
	if (result == KILN_LOOKUP_FOUND)
	{
		entry = compile(server.text, server.length, true, NULL);
		if (entry == NULL || !is_named_struct(entry->schema.root))
			result = KILN_LOOKUP_LIES;
	}
	if (result == KILN_LOOKUP_FOUND)
	{
		entry->schema.registered = true;
		entry->schema.server = server.oid;
		entry->schema.version = server.version;
		entry->schema.generation = generation;
		adopt(entry);
		*schema = last_found = &entry->schema;
	}
	else if (result == KILN_LOOKUP_LIES)
		bucket_of(hash, true)->lie_generation = generation;
	MemoryContextSwitchTo(caller);
	MemoryContextDelete(scratch);
	return result;
}

/*
 * Look a stale entry up again. True: the catalog still has the same text under its hash. An inline entry asks no
 * catalog and is always true.
 */
bool
kiln_schema_recheck(KilnSchema *schema)
{
	uint64		generation = kiln_registry_generation;
	MemoryContext scratch;
	MemoryContext caller;
	KilnServer	server;
	bool		same;

	if (schema->unlinked && schema->registered)
		return false;
	if (!schema->registered)
	{
		schema->generation = generation;
		return true;
	}
	scratch = AllocSetContextCreate(CurrentMemoryContext, "kiln registry look-up", ALLOCSET_SMALL_SIZES);
	caller = MemoryContextSwitchTo(scratch);
	same = kiln_server_find(schema->hash, &server) == KILN_LOOKUP_FOUND &&
		same_text(schema, server.text, server.length);
	if (same)
	{
		schema->server = server.oid;
		schema->version = server.version;
		schema->generation = generation;
	}
	else
		unlink_schema(schema);
	MemoryContextSwitchTo(caller);
	MemoryContextDelete(scratch);
	return same;
}

KilnLookup
kiln_registry_find(uint64 hash, KilnSchema **schema)
{
	Bucket	   *bucket;

	if (last_found && last_found->hash == hash && last_found->generation == kiln_registry_generation)
	{
		*schema = last_found;
		return KILN_LOOKUP_FOUND;
	}
	*schema = NULL;
	bucket = bucket_of(hash, false);
	if (bucket)
	{
		KilnSchema *registered = bucket->registered;

		if (registered == NULL && bucket->lie_generation == kiln_registry_generation)
			return KILN_LOOKUP_LIES;
		/* The bucket may be gone after this. */
		if (registered && kiln_schema_fresh(registered))
		{
			*schema = last_found = registered;
			return KILN_LOOKUP_FOUND;
		}
	}
	return load(hash, schema);
}

KilnSchema *
kiln_registry_get(uint64 hash)
{
	KilnSchema *schema;

	switch (kiln_registry_find(hash, &schema))
	{
		case KILN_LOOKUP_FOUND:
			return schema;
		case KILN_LOOKUP_MISSING:
			kiln_report_missing(hash, NULL);
			break;
		case KILN_LOOKUP_LIES:
			kiln_report_lie(hash);
			break;
	}
	return NULL;				/* not reached */
}

/* ------------------------------------------------------------------ inline definitions */

/* An inline entry by its text, NULL if it is not in the cache. */
static Entry *
cached_inline(uint64 hash, const char *text, size_t length)
{
	Bucket	   *bucket = bucket_of(hash, false);

	for (KilnSchema *schema = bucket ? bucket->inlines : NULL; schema; schema = schema->next)
	{
		if (same_text(schema, text, length))
		{
			Entry	   *entry = (Entry *) schema;

			dlist_move_head(&inline_list, &entry->place);
			return entry;
		}
	}
	return NULL;
}

/* The cached twin of a freshly compiled inline entry, or the entry itself, now in the cache. */
static KilnSchema *
settle_inline(Entry *entry, bool admitted)
{
	Entry	   *twin = cached_inline(entry->schema.hash, entry->schema.codec->text, entry->schema.codec->text_length);

	if (twin)
		MemoryContextDelete(entry->schema.context);
	else
	{
		entry->schema.generation = kiln_registry_generation;
		adopt(entry);
		twin = entry;
	}
	twin->admitted |= admitted;
	return &twin->schema;
}

KilnSchema *
kiln_schema_inline(const char *text, size_t length)
{
	Entry	   *entry = cached_inline(kiln_hash(text, length), text, length);
	kiln_error	error;

	if (entry)
		return &entry->schema;
	entry = compile(text, length, true, &error);
	if (entry == NULL)
		kiln_report(&error, KILN_IN_STORED, NULL);
	return settle_inline(entry, false);
}

KilnSchema *
kiln_inline_admitted(const char *text, size_t length)
{
	Entry	   *entry = cached_inline(kiln_hash(text, length), text, length);

	return entry && entry->admitted ? &entry->schema : NULL;
}

/*
 * A definition from outside, compiled with every check and put under its canonical text, which need not be the text as
 * given. NULL: *error says why.
 */
KilnSchema *
kiln_inline_compile(const char *text, size_t length, kiln_error *error)
{
	Entry	   *entry = compile(text, length, false, error);

	return entry ? settle_inline(entry, true) : NULL;
}

KilnSchema *
kiln_schema_admit(const char *text, size_t length, kiln_error *error)
{
	KilnSchema *schema = kiln_inline_admitted(text, length);

	if (schema)
		return schema;
	schema = kiln_inline_compile(text, length, error);
	if (schema && !same_text(schema, text, length))
	{
		kiln_fail(error, KILN_E_NOT_CANONICAL, 0, NULL);
		return NULL;
	}
	return schema;
}
