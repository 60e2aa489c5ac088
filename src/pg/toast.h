/*
 * Reading parts of a large value.
 *
 * A value stored out of line and uncompressed (Kiln's default) is fetched by chunk; any other is brought whole at once, and every
 * part of it is then at hand. Callers ask for a range and read what they get.
 */
#ifndef KILN_TOAST_H
#define KILN_TOAST_H

#include "kiln_pg.h"

typedef struct KilnToast
{
	struct varlena *source;		/* the datum, if it is read by part; else NULL */
	size_t		total;			/* bytes of the frame */
	const uint8_t *data;		/* frame bytes [start, start + have) */
	size_t		start;
	size_t		have;
	struct varlena *fetched;	/* what data leads into, if it was fetched */
} KilnToast;

/* Is the datum one that is read by part? */
extern bool kiln_toast_is_partial(Datum datum);

/* Begin to read a datum: its first bytes are at hand (all of them, if it is not read by part). */
extern void kiln_toast_open(KilnToast *toast, Datum datum);

/*
 * Have frame bytes [from, to) at hand, cut to the frame's end; returns the first. What was at hand before may go.
 */
extern const uint8_t *kiln_toast_read(KilnToast *toast, size_t from, size_t to);

/* Free what was fetched. */
extern void kiln_toast_close(KilnToast *toast);

#endif							/* KILN_TOAST_H */
