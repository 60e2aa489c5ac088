/*
 * What the accessors of one query share of values stored out of line.
 *
 * A query that reads eight fields of a document has eight call sites, and each would open the TOAST table and its index and fetch the
 * same chunk. So what one of them fetched is kept for the next: the first bytes of the value, as far as someone wanted them, or
 * all of a value that is stored compressed. Two values are kept, since a join reads two by turns.
 *
 * A cache belongs to the memory context of the query's call sites and goes with it, however the query ends. A value is known by its
 * TOAST pointer, and found again only under a snapshot that sees what that one saw under which it was fetched: while such a snapshot
 * is in use no value that it sees is removed, so its id can't have been given to another. (A plpgsql function's expressions keep
 * their call sites, and so a cache, through many snapshots.)
 *
 * How much to fetch is learnt from the value before: rows of one query are asked for the same fields.
 */
#include "toast.h"

#include "access/detoast.h"
#include "access/heaptoast.h"
#include "access/table.h"
#include "storage/lmgr.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

/* A place this far behind what is at hand is fetched alone. */
#define GAP			(8 * TOAST_MAX_CHUNK_SIZE)

/* Where the value before was read to byte n, this one is probably read to byte n or a little more. */
#define SLACK		256

/* TOAST tables that a query reads from, mostly. */
#define LOCKED		4

/* Two snapshots that agree in these see the same. */
typedef struct SnapshotTag
{
	TransactionId xmin;
	TransactionId xmax;
	uint32		running;
	CommandId	command;
} SnapshotTag;

typedef struct CachedValue
{
	struct varatt_external pointer;
	SnapshotTag snapshot;
	struct varlena *data;		/* NULL: nothing is cached here. A 4-byte header, then the value's first bytes */
	size_t		wanted;			/* how far it was read */
} CachedValue;

struct KilnToastCache
{
	MemoryContextCallback unlink;
	KilnToastCache *next;
	MemoryContext query;
	MemoryContext context;		/* of the values; child of query */
	Oid			locked[LOCKED]; /* TOAST tables whose locks are held */
	int			next_locked;
	int			newest;
	CachedValue values[2];
};

static KilnToastCache *caches = NULL;

/* ------------------------------------------------------------------ caches */

static void
unlink_cache(void *argument)
{
	KilnToastCache **link = &caches;

	while (*link != argument)
		link = &(*link)->next;
	*link = (*link)->next;
}

KilnToastCache *
kiln_toast_cache(MemoryContext query)
{
	KilnToastCache *cache;

	for (cache = caches; cache != NULL; cache = cache->next)
		if (cache->query == query)
			return cache;
	cache = MemoryContextAllocZero(query, sizeof(KilnToastCache));
	cache->query = query;
	cache->context = AllocSetContextCreate(query, "kiln toast cache", ALLOCSET_SMALL_SIZES);
	cache->unlink.func = unlink_cache;
	cache->unlink.arg = cache;
	cache->next = caches;
	caches = cache;
	MemoryContextRegisterResetCallback(query, &cache->unlink);
	return cache;
}

/* ------------------------------------------------------------------ values */

/* What the active snapshot sees; false if there is none of the usual kind. */
static bool
current_snapshot(SnapshotTag *tag)
{
	Snapshot	snapshot;

	if (!ActiveSnapshotSet())
		return false;
	snapshot = GetActiveSnapshot();
	if (snapshot->snapshot_type != SNAPSHOT_MVCC)
		return false;
	tag->xmin = snapshot->xmin;
	tag->xmax = snapshot->xmax;
	tag->running = snapshot->xcnt;
	tag->command = snapshot->curcid;
	return true;
}

/*
 * The place of a value: its own, or that of the older one, emptied for it but for wanted. NULL if nothing can be cached now.
 */
static CachedValue *
value_place(KilnToastCache *cache, const struct varatt_external *pointer)
{
	SnapshotTag snapshot;
	CachedValue *value;

	if (!current_snapshot(&snapshot))
		return NULL;
	for (int i = 0; i < 2; i++)
	{
		value = &cache->values[i];
		if (value->data != NULL && memcmp(&value->pointer, pointer, sizeof *pointer) == 0 &&
			memcmp(&value->snapshot, &snapshot, sizeof snapshot) == 0)
		{
			cache->newest = i;
			return value;
		}
	}
	cache->newest = 1 - cache->newest;
	value = &cache->values[cache->newest];
	if (value->data != NULL)
	{
		struct varlena *data = value->data;

		value->data = NULL;
		pfree(data);
	}
	value->pointer = *pointer;
	value->snapshot = snapshot;
	return value;
}

static inline size_t
value_have(const CachedValue *value)
{
	return value->data != NULL ? VARSIZE(value->data) - VARHDRSZ : 0;
}

/*
 * Keep the TOAST table and its index locked to the end of the transaction, as the table that they belong to is. A lock that is held is
 * taken again and given back at each fetch for a fraction of the price.
 */
static void
hold_locks(KilnToastCache *cache, Oid toast_table)
{
	Relation	relation;
	List	   *indexes;
	ListCell   *cell;

	for (int i = 0; i < LOCKED; i++)
		if (cache->locked[i] == toast_table)
			return;
	relation = table_open(toast_table, AccessShareLock);
	indexes = RelationGetIndexList(relation);
	foreach(cell, indexes)
		LockRelationOid(lfirst_oid(cell), AccessShareLock);
	list_free(indexes);
	table_close(relation, NoLock);
	cache->locked[cache->next_locked] = toast_table;
	cache->next_locked = (cache->next_locked + 1) % LOCKED;
}

/* Fetch on to byte to. */
static void
value_extend(KilnToastCache *cache, CachedValue *value, struct varlena *source, size_t total, size_t to)
{
	size_t		have = value_have(value);
	MemoryContext before = MemoryContextSwitchTo(cache->context);
	struct varlena *more;

	hold_locks(cache, value->pointer.va_toastrelid);
	more = kiln_toast_slice(source, have, Min(to, total));
	if (have == 0)
		value->data = more;
	else
	{
		size_t		n = VARSIZE(more) - VARHDRSZ;

		value->data = repalloc(value->data, VARHDRSZ + have + n);
		memcpy(VARDATA(value->data) + have, VARDATA(more), n);
		SET_VARSIZE(value->data, VARHDRSZ + have + n);
		pfree(more);
	}
	MemoryContextSwitchTo(before);
}

bool
kiln_toast_cache_read(KilnToastCache *cache, KilnToast *toast, size_t from, size_t to)
{
	struct varatt_external pointer;
	CachedValue *value;
	size_t		have;

	if (to > KILN_TOAST_CACHED)
		return false;
	VARATT_EXTERNAL_GET_POINTER(pointer, toast->source);
	value = value_place(cache, &pointer);
	if (value == NULL)
		return false;
	have = value_have(value);
	if (to > have)
	{
		size_t		most = Min(toast->total, KILN_TOAST_CACHED);
		size_t		expected;

		if (have == 0)
		{
			/* a first look: as far as the value was read that was here before */
			expected = value->wanted > 0 ? value->wanted + SLACK : TOAST_MAX_CHUNK_SIZE;
			value->wanted = 0;
		}
		else
		{
			/* someone goes on, perhaps step by step; not so if it is a jump over much that nobody wanted */
			if (from > have + GAP)
				return false;
			expected = Max(have * 4, TOAST_MAX_CHUNK_SIZE);
		}
		value_extend(cache, value, toast->source, toast->total, Max(to, Min(expected, most)));
	}
	toast->wanted = &value->wanted;
	toast->data = (const uint8_t *) VARDATA(value->data);
	toast->start = 0;
	toast->have = value_have(value);
	return true;
}

struct varlena *
kiln_toast_cache_whole(KilnToastCache *cache, struct varlena *datum)
{
	struct varatt_external pointer;
	CachedValue *value;
	MemoryContext before;

	VARATT_EXTERNAL_GET_POINTER(pointer, datum);
	value = pointer.va_rawsize <= KILN_TOAST_CACHED ? value_place(cache, &pointer) : NULL;
	if (value == NULL)
		return detoast_attr(datum);
	if (value->data == NULL)
	{
		before = MemoryContextSwitchTo(cache->context);
		value->wanted = 0;
		value->data = detoast_attr(datum);
		MemoryContextSwitchTo(before);
	}
	return value->data;
}
