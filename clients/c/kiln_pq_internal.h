/*
 * kiln_pq_internal.h: what the files of kiln_pq share.
 */
#ifndef KILN_PQ_INTERNAL_H
#define KILN_PQ_INTERNAL_H

#include "kiln_pq.h"

/* Fill *error (which may be NULL) in printf's manner; always false. codec: what the codec said, or NULL. */
bool		kiln_pq_fail(kiln_pq_error *error, kiln_pq_code code, const kiln_error *codec, const char *format, ...)
			__attribute__((format(printf, 4, 5)));

/* Does the client take this schema for registered? */
bool		kiln_pq_is_registered(const kiln_pq *client, const kiln_schema *schema);

/* The schema of a hash, asked for if it is not at hand; NULL with an error if it can't be had. */
const kiln_schema *kiln_pq_need(kiln_pq *client, uint64_t hash, kiln_pq_error *error);

/* Is there a registered version of the schema's name that the path can be followed in? */
bool		kiln_pq_other_version(const kiln_pq *client, const kiln_schema *schema, const kiln_path *path);

/* The schema of an inline frame: a text that must be canonical. */
const kiln_schema *kiln_pq_stored(kiln_pq *client, const char *text, size_t length, kiln_pq_error *error);

#endif							/* KILN_PQ_INTERNAL_H */
