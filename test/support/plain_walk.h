/*
 * A plain walk over payloads: where values end and where paths lead, worked out from FORMAT 2 and 6 alone.
 *
 * Nothing here is quick, and nothing of the codec is used but the type tree, so that the codec's own ways of reading can be held
 * against it. The payload must be valid.
 */
#ifndef TEST_PLAIN_WALK_H
#define TEST_PLAIN_WALK_H

#include "kiln.h"
#include "random.h"

/* A path into a value and what stands there. */
typedef struct plain_place
{
	test_bytes	path;			/* NUL-terminated behind its length; the caller frees it */
	const kiln_type *type;		/* never OPTIONAL */
	const uint8_t *at;			/* NULL: absent */
} plain_place;

/* Where the value of that type that starts at p ends. */
const uint8_t *plain_end(const kiln_type *type, const uint8_t *p);

/*
 * Walk down from the whole value for a random number of steps; keys and positions that are not there are among them. No
 * step goes into a json value.
 */
void		plain_random_place(test_random *r, const kiln_type *root, const uint8_t *payload, plain_place *out);

#endif							/* TEST_PLAIN_WALK_H */
