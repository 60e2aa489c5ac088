/*
 * Reading parts of a large value.
 *
 * A value stored out of line and uncompressed (Kiln's default) is fetched by chunk; any other is brought whole at once, and every
 * part of it is then at hand. Callers ask for a range and read what they get.
 *
 * The accessors of a query share what was fetched for the row at hand: a cache keeps the first bytes of the last two values, or
 * all of them if they are stored compressed. It lives in the query's memory (the memory context of a call site in the executor)
 * and holds at most KILN_TOAST_CACHED bytes of each.
 */
#ifndef KILN_TOAST_H
#define KILN_TOAST_H

#include "kiln_pg.h"

#define KILN_TOAST_CACHED	(64 * 1024)

typedef struct KilnToastCache KilnToastCache;

typedef struct KilnToast
{
	struct varlena *source;		/* the datum, if it is read by part; else NULL */
	size_t		total;			/* bytes of the frame */
	const uint8_t *data;		/* frame bytes [start, start + have) */
	size_t		start;
	size_t		have;
	struct varlena *fetched;	/* what data leads into, if it was fetched for this reader alone */
	KilnToastCache *cache;		/* or NULL */
	size_t	   *wanted;			/* how far the value was read, if data leads into the cache; else NULL */
} KilnToast;

/* Is the datum one that is read by part? */
extern bool kiln_toast_is_partial(Datum datum);

/*
 * Begin to read a datum: its first bytes are at hand (all of them, if it is not read by part). cache: the query's, or NULL. With a cache, what is
 * read stays valid until the next datum but one is opened with it.
 */
extern void kiln_toast_open(KilnToast *toast, Datum datum);
extern void kiln_toast_open_cached(KilnToast *toast, Datum datum, KilnToastCache *cache);

/*
 * Have frame bytes [from, to) at hand, cut to the frame's end; returns the first. What was at hand before may go.
 */
extern const uint8_t *kiln_toast_read(KilnToast *toast, size_t from, size_t to);

/*
 * Copy frame bytes [from, to), which must lie within the frame, to target: chunk by chunk straight from the TOAST table, where the value is read by
 * part. VARHDRSZ bytes before target have to belong to the same piece of memory; they are left as they are. What was at hand stays.
 */
extern void kiln_toast_copy(KilnToast *toast, size_t from, size_t to, uint8_t *target);

/* Free what was fetched for this reader. */
extern void kiln_toast_close(KilnToast *toast);

/* ------------------------------------------------------------------ toast_cache.c */

/* The cache of the query whose memory context is given, made if there is none. */
extern KilnToastCache *kiln_toast_cache(MemoryContext query);

/* Point the reader at bytes [from, to) in the cache, fetching what lacks. False: not for the cache; the reader has to fetch them itself. */
extern bool kiln_toast_cache_read(KilnToastCache *cache, KilnToast *toast, size_t from, size_t to);

/* A compressed out-of-line value, decompressed: kept in the cache if it is small enough. Else a fresh copy. */
extern struct varlena *kiln_toast_cache_whole(KilnToastCache *cache, struct varlena *datum);

/* Bytes [from, to) of a value that is read by part, in a fresh varlena. */
extern struct varlena *kiln_toast_slice(struct varlena *source, size_t from, size_t to);

#endif							/* KILN_TOAST_H */
