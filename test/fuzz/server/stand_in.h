/*
 * As much of the server as its readers of bytes need, for fuzz targets: memory, errors, calls by Datum.
 *
 * Readers of files and of aggregates' states stand in src/pg, in terms of palloc() and ereport(). The real files are compiled
 * here against the server's headers; what they call of the server is stand_in.c, and what nothing reaches is left unresolved,
 * so that a call of it is a crash. Each chunk of memory is one of malloc(), so that a sanitizer sees its ends.
 */
#ifndef STAND_IN_H
#define STAND_IN_H

#include "postgres.h"

#include <setjmp.h>

#include "fmgr.h"

#define MUST(condition) \
	do \
	{ \
		if (!(condition)) \
		{ \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
			abort(); \
		} \
	} while (0)

/*
 * Run work(context). Returns 0, or the SQLSTATE that it raised; an internal error aborts. After it all memory is freed that
 * was taken in it. limit: bytes of memory that work may hold; asking for more raises 53200.
 */
extern int	attempt(void (*work) (void *context), void *context, size_t limit);

/* bytes as a Datum of bytea with a long header, palloc'd. */
extern Datum bytea_of(const uint8_t *bytes, size_t n);

/* Call a function of n arguments as an aggregate's. NULL pointers among the arguments are SQL NULLs. *isnull is set. */
extern Datum call(PGFunction function, int n, const Datum *arguments, bool *isnull);

#endif							/* STAND_IN_H */
