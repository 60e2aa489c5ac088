/*
 * A payload as the source of another: generic decoding.
 *
 * The source reads an existing, valid payload by FORMAT 2 as the encoder asks for its parts. Encoding from it must
 * give the same bytes, so that decode and encode are each other's test.
 */
#ifndef TEST_PAYLOAD_SOURCE_H
#define TEST_PAYLOAD_SOURCE_H

#include "kiln.h"

/*
 * Where the next child is in each container that is open, by nesting depth: the encoder asks for children in order
 * and finishes one container before the next, so that a place for each depth is enough. A node's word is the depth.
 */
typedef struct payload_source
{
	kiln_source source;
	bool		packed;			/* hand lists of numbers over as they stand */
	bool		missing;		/* say missing rather than null for absent fields */
	struct
	{
		const uint8_t *next;
		uint64_t	position;
	}			open[KILN_MAX_DEPTH + 2];
} payload_source;

/* Set up a source over payload; *root is the node to encode. The source must stay where it is. */
void		payload_source_init(payload_source *self, const uint8_t *payload, kiln_node *root);

#endif							/* TEST_PAYLOAD_SOURCE_H */
