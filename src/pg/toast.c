/*
 * Parts of large values: see toast.h.
 */
#include "toast.h"

#include "access/detoast.h"
#include "access/heaptoast.h"
#include "access/table.h"
#include "access/tableam.h"
#include "utils/rel.h"

bool
kiln_toast_is_partial(Datum datum)
{
	struct varlena *varlena = (struct varlena *) DatumGetPointer(datum);
	struct varatt_external pointer;

	if (!VARATT_IS_EXTERNAL_ONDISK(varlena))
		return false;
	VARATT_EXTERNAL_GET_POINTER(pointer, varlena);
	return !VARATT_EXTERNAL_IS_COMPRESSED(pointer);
}

struct varlena *
kiln_toast_slice(struct varlena *source, size_t from, size_t to)
{
	return detoast_attr_slice(source, (int32) from, (int32) (to - from));
}

/*
 * Fetch the chunks that hold bytes [from, to). A reader that goes on from what it has fetches only what follows.
 */
static void
fetch(KilnToast *toast, size_t from, size_t to)
{
	size_t		past = (to + TOAST_MAX_CHUNK_SIZE - 1) / TOAST_MAX_CHUNK_SIZE * TOAST_MAX_CHUNK_SIZE;
	struct varlena *whole = toast->fetched;

	past = Min(past, toast->total);
	from -= from % TOAST_MAX_CHUNK_SIZE;
	if (whole != NULL && from >= toast->start && from < toast->start + toast->have)
	{
		size_t		kept = toast->start + toast->have - from;
		struct varlena *more = kiln_toast_slice(toast->source, from + kept, past);
		size_t		n = VARSIZE_ANY_EXHDR(more);

		memmove(VARDATA(whole), toast->data + (from - toast->start), kept);
		whole = repalloc(whole, VARHDRSZ + kept + n);
		memcpy(VARDATA(whole) + kept, VARDATA_ANY(more), n);
		SET_VARSIZE(whole, VARHDRSZ + kept + n);
		pfree(more);
	}
	else
	{
		if (whole != NULL)
			pfree(whole);
		toast->fetched = NULL;
		whole = kiln_toast_slice(toast->source, from, past);
	}
	toast->fetched = whole;
	toast->wanted = NULL;
	toast->data = (const uint8_t *) VARDATA_ANY(whole);
	toast->start = from;
	toast->have = VARSIZE_ANY_EXHDR(whole);
}

/* Have the range in the cache, or else fetch it. */
static void
bring(KilnToast *toast, size_t from, size_t to)
{
	if (toast->cache == NULL || toast->fetched != NULL || !kiln_toast_cache_read(toast->cache, toast, from, to))
		fetch(toast, from, to);
}

void
kiln_toast_open_cached(KilnToast *toast, Datum datum, KilnToastCache *cache)
{
	struct varlena *varlena = (struct varlena *) DatumGetPointer(datum);
	struct varlena *whole;

	memset(toast, 0, sizeof *toast);
	toast->cache = cache;
	if (kiln_toast_is_partial(datum))
	{
		toast->source = varlena;
		toast->total = toast_raw_datum_size(datum) - VARHDRSZ;
		bring(toast, 0, 1);
		return;
	}
	if (cache != NULL && VARATT_IS_EXTERNAL_ONDISK(varlena))
		whole = kiln_toast_cache_whole(cache, varlena);
	else
	{
		whole = PG_DETOAST_DATUM_PACKED(datum);
		if (whole != varlena)
			toast->fetched = whole;
	}
	toast->data = (const uint8_t *) VARDATA_ANY(whole);
	toast->total = toast->have = VARSIZE_ANY_EXHDR(whole);
}

void
kiln_toast_open(KilnToast *toast, Datum datum)
{
	kiln_toast_open_cached(toast, datum, NULL);
}

const uint8_t *
kiln_toast_read(KilnToast *toast, size_t from, size_t to)
{
	to = Min(to, toast->total);
	from = Min(from, to);
	if (from < toast->start || to > toast->start + toast->have)
		bring(toast, from, to);
	if (toast->wanted != NULL && *toast->wanted < to)
		*toast->wanted = to;
	return toast->data + (from - toast->start);
}

void
kiln_toast_copy(KilnToast *toast, size_t from, size_t to, uint8_t *target)
{
	struct varatt_external pointer;
	Relation	relation;

	if (from == to)
		return;
	if (toast->source == NULL || (from >= toast->start && to <= toast->start + toast->have))
	{
		memcpy(target, kiln_toast_read(toast, from, to), to - from);
		return;
	}
	VARATT_EXTERNAL_GET_POINTER(pointer, toast->source);
	relation = table_open(pointer.va_toastrelid, AccessShareLock);
	table_relation_fetch_toast_slice(relation, pointer.va_valueid, (int32) VARATT_EXTERNAL_GET_EXTSIZE(pointer),
									 (int32) from, (int32) (to - from), (struct varlena *) (target - VARHDRSZ));
	table_close(relation, AccessShareLock);
}

void
kiln_toast_close(KilnToast *toast)
{
	if (toast->fetched)
		pfree(toast->fetched);
	toast->fetched = NULL;
}
