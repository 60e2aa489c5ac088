/*
 * Parts of large values: see toast.h.
 */
#include "toast.h"

#include "access/detoast.h"
#include "access/heaptoast.h"

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

/*
 * Fetch the chunks that hold bytes [from, to).
 */
static void
fetch(KilnToast *toast, size_t from, size_t to)
{
	size_t		past = (to + TOAST_MAX_CHUNK_SIZE - 1) / TOAST_MAX_CHUNK_SIZE * TOAST_MAX_CHUNK_SIZE;

	from -= from % TOAST_MAX_CHUNK_SIZE;
	past = Min(past, toast->total);
	if (toast->fetched)
		pfree(toast->fetched);
	toast->fetched = NULL;
	toast->fetched = detoast_attr_slice(toast->source, (int32) from, (int32) (past - from));
	toast->data = (const uint8_t *) VARDATA_ANY(toast->fetched);
	toast->start = from;
	toast->have = VARSIZE_ANY_EXHDR(toast->fetched);
}

void
kiln_toast_open(KilnToast *toast, Datum datum)
{
	struct varlena *whole;

	memset(toast, 0, sizeof *toast);
	if (kiln_toast_is_partial(datum))
	{
		toast->source = (struct varlena *) DatumGetPointer(datum);
		toast->total = toast_raw_datum_size(datum) - VARHDRSZ;
		fetch(toast, 0, 1);
		return;
	}
	whole = PG_DETOAST_DATUM_PACKED(datum);
	if ((Pointer) whole != DatumGetPointer(datum))
		toast->fetched = whole;
	toast->data = (const uint8_t *) VARDATA_ANY(whole);
	toast->total = toast->have = VARSIZE_ANY_EXHDR(whole);
}

const uint8_t *
kiln_toast_read(KilnToast *toast, size_t from, size_t to)
{
	to = Min(to, toast->total);
	from = Min(from, to);
	if (from < toast->start || to > toast->start + toast->have)
		fetch(toast, from, to);
	return toast->data + (from - toast->start);
}

void
kiln_toast_close(KilnToast *toast)
{
	if (toast->fetched)
		pfree(toast->fetched);
	toast->fetched = NULL;
}
