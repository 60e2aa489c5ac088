/*
 * What the registry's own files share.
 *
 *   registry.c           the cache: compiled definitions by hash and by text, their life
 *   registry_catalog.c   the catalog: our wrapper, its servers, the list of names
 *   registry_resolve.c   what a user's text means: definitions, names, hashes
 *   register.c           the SQL functions that change the registry
 *   register_type.c      a definition from the columns of a row type
 *   registry_show.c      the SQL functions that show it
 */
#ifndef KILN_REGISTRY_H
#define KILN_REGISTRY_H

#include "kiln_pg.h"

#include "access/htup.h"

/* ------------------------------------------------------------------ registry_catalog.c */

/* A foreign server as the catalog has it. Strings are palloc'd in the context that it was read in. */
typedef struct KilnServer
{
	Oid			oid;
	Oid			wrapper;
	char	   *server_name;
	bool		hash_named;		/* its name is kiln_ and 16 lower-case hex digits: hash is set */
	uint64		hash;
	int64		version;		/* VERSION if it is a natural number, else 0 */
	char	   *version_text;	/* VERSION as it is, or NULL */
	char	   *definition;		/* in the server's encoding; NULL: not exactly one option, or another one */
	const char *text;			/* the same in UTF-8; NULL if it can't be converted */
	size_t		length;
} KilnServer;

/* Bytes of a server's name, with the NUL. */
#define KILN_SERVER_NAME_SIZE (sizeof(KILN_SERVER_PREFIX) + 16)

/* The name of the server that holds a hash's definition. */
extern void kiln_server_name(uint64 hash, char *out);

/* A hash from 16 lower-case hex digits; false if they are something else. Never reads past what is no digit. */
extern bool kiln_read_hash(const char *digits, uint64 *hash);

/* Read a tuple of pg_foreign_server. Allocates in CurrentMemoryContext. */
extern void kiln_server_read(HeapTuple tuple, KilnServer *server);

/*
 * The server of a hash, through the syscache alone. FOUND says that wrapper, name and hash of the text agree, not yet
 * that the text is a definition.
 */
extern KilnLookup kiln_server_find(uint64 hash, KilnServer *server);

/* All servers that are ours, or have a name that should be. Palloc'd array in CurrentMemoryContext. */
extern int	kiln_server_list(KilnServer **servers);

/* OID of our foreign-data wrapper, InvalidOid while there is none. */
extern Oid	kiln_registry_wrapper(void);

/*
 * The name that a canonical definition begins with, as UTF-8 of at most KILN_MAX_NAME bytes and a NUL. False: it begins
 * with none. *end, if wanted, is where the name ends.
 */
extern bool kiln_leading_name(const char *text, size_t length, char *name, size_t *name_length, size_t *end);

/* What is registered under a name, in ascending order of version: hashes, palloc'd. */
extern int	kiln_name_hashes(const char *name, size_t length, uint64 **hashes);

/* Highest VERSION of a name, 0 if it has none. */
extern int64 kiln_name_top_version(const char *name, size_t length);

/* A registered name other than this one with the same typmod, palloc'd UTF-8; NULL if there is none. */
extern char *kiln_name_clash(const char *name, size_t length);

/* ------------------------------------------------------------------ registry.c */

/* Is this text a canonical definition? Compiles it and throws it away. */
extern bool kiln_definition_holds(const char *text, size_t length);

/* An admitted inline entry by its exact text, NULL if there is none in the cache. */
extern KilnSchema *kiln_inline_admitted(const char *text, size_t length);

/*
 * Compile a definition from outside, with every check, and cache it under its canonical text. NULL: *error says why.
 */
extern KilnSchema *kiln_inline_compile(const char *text, size_t length, kiln_error *error);

/* ------------------------------------------------------------------ registry_resolve.c */

/* May a definition be registered: is it a struct, and has it a name that means nothing else? Raises if not. */
extern void kiln_check_registrable(const KilnSchema *schema);

/* 42704: no such definition; saved in escontext or raised. */
extern void kiln_report_missing(uint64 hash, Node *escontext);

/* ------------------------------------------------------------------ register.c */

/* Put a definition into the registry, if it is not there; its hash as a text datum. What kiln_register() does. */
extern Datum kiln_register_schema(KilnSchema *schema);

/* ------------------------------------------------------------------ registry_show.c */

/*
 * CREATE SERVER for a definition, without a semicolon, palloc'd. All strings are in the server's encoding; version may
 * be NULL.
 */
extern char *kiln_create_server_text(const char *server, const char *type, const char *version, const char *definition);

#endif							/* KILN_REGISTRY_H */
