/*
 * What the extension's files share.
 *
 * A kiln datum is a varlena that holds one frame (docs/FORMAT.md, section 3). Every frame in the database came
 * through one of the doors (kiln_in, kiln_recv, kiln_from_frame, the encoders, the tensor builders) and is
 * well-formed as a frame; a registered or inline payload was validated against the definition that it named at that
 * time. Readers are held all the same (docs/DESIGN.md, section 1).
 *
 * Strings inside the extension (definitions, names, keys, paths) are UTF-8 whatever the server's encoding, unless a
 * name says "server". Conversion happens at the edge: kiln_server_to_utf8() and kiln_utf8_to_server().
 */
#ifndef KILN_PG_H
#define KILN_PG_H

#include "postgres.h"

#include "fmgr.h"
#include "lib/stringinfo.h"
#include "mb/pg_wchar.h"
#include "nodes/nodes.h"
#include "utils/memutils.h"

#include "compat.h"
#include "kiln.h"

/* ------------------------------------------------------------------ registry.c: compiled definitions */

#define KILN_WRAPPER_NAME	"kiln"
#define KILN_SERVER_PREFIX	"kiln_"		/* then the hash in 16 hex digits */
#define KILN_OPTION_NAME	"definition"

/*
 * A compiled definition in the backend's cache. Registered ones are found by hash, inline ones by text.
 *
 * Lifetime: an entry returned by a look-up stays valid to the end of the transaction, even if the definition is
 * dropped meanwhile. Who keeps it longer (fn_extra of a prepared statement) pins it and, on each call, tests
 * kiln_schema_fresh().
 */
typedef struct KilnSchema
{
	uint64		hash;
	kiln_schema *codec;			/* text, text_length, root */
	const kiln_type *root;		/* = codec->root */
	bool		registered;		/* else inline */
	Oid			server;			/* registered: the foreign server's OID */
	int64		version;		/* registered: VERSION of the server */
	int			pins;
	uint64		generation;		/* of the registry when this entry was last found true */
	bool		unlinked;		/* no longer in the cache; freed once unpinned, at the end of a transaction */
	MemoryContext context;		/* holds the entry and all it points to */
	struct KilnSchema *next;	/* private to registry.c */
} KilnSchema;

/* Counts invalidations of foreign servers and wrappers. A cached decision made under another generation is stale. */
extern uint64 kiln_registry_generation;

typedef enum KilnLookup
{
	KILN_LOOKUP_FOUND,
	KILN_LOOKUP_MISSING,		/* no such server (or no wrapper yet: a restore in progress) */
	KILN_LOOKUP_LIES			/* there is a server of that name, but not of our wrapper, or its definition has another hash */
} KilnLookup;

/* Look a registered definition up; *schema is set if found. Never raises for what it finds. */
extern KilnLookup kiln_registry_find(uint64 hash, KilnSchema **schema);

/* The same, raising 42704 (missing, with a hint) or 55000 (lies). */
extern KilnSchema *kiln_registry_get(uint64 hash);

/* Latest version (highest VERSION, then hash) by normalised name, or by typmod; NULL if none is registered. */
extern KilnSchema *kiln_registry_latest(const char *name, size_t length);
extern KilnSchema *kiln_registry_latest_by_typmod(int32 typmod);

/* All registered versions of a name, ascending; palloc'd array. Entries that lie are left out. */
extern int	kiln_registry_versions(const char *name, size_t length, KilnSchema ***versions);

/*
 * The compiled form of a stored, canonical inline definition (that of a 0x12 frame that passed a door). Compared by
 * text, so a definition registered under the same hash does not matter. Raises if the text is not canonical.
 */
extern KilnSchema *kiln_schema_inline(const char *text, size_t length);

/*
 * The compiled form of a definition as a user wrote it. Returns NULL after a soft error. If it turns out to be
 * registered (same text) the registered entry is returned when prefer_registered is set.
 */
extern KilnSchema *kiln_schema_parse_user(const char *text, size_t length, bool prefer_registered, Node *escontext);

/*
 * What "schema" arguments and "$kiln" names mean: name#hash or #hash, a registered name (its latest version), or a
 * definition in full, tried in this order. Raises or soft-errors (NULL) when it is none of these.
 */
extern KilnSchema *kiln_schema_resolve(const char *text, size_t length, Node *escontext);

/*
 * The registered entry of the same definition, or schema itself if it is not registered. 55000 if another text is
 * registered under its hash, or the entry lies.
 */
extern KilnSchema *kiln_schema_interned(KilnSchema *schema);

/*
 * The door for the definition of a binary inline frame: valid, canonical, names normalised. NULL: *error says why
 * (offset in the text). Texts that were admitted before are found in the cache.
 */
extern KilnSchema *kiln_schema_admit(const char *text, size_t length, kiln_error *error);

/* 55000: the entry of that hash is not what its name says; and: the hash is registered with another text. */
pg_noreturn extern void kiln_report_lie(uint64 hash);
pg_noreturn extern void kiln_report_collision(uint64 hash);

/* Called once, by _PG_init. */
extern void kiln_registry_init(void);

/* Still what the catalog says? Cheap when nothing was invalidated. Inline entries are always fresh. */
extern bool kiln_schema_recheck(KilnSchema *schema);

static inline bool
kiln_schema_fresh(KilnSchema *schema)
{
	return schema->generation == kiln_registry_generation || kiln_schema_recheck(schema);
}

static inline void
kiln_schema_pin(KilnSchema *schema)
{
	schema->pins++;
}

extern void kiln_schema_unpin(KilnSchema *schema);

/* Allocator for codec objects over palloc in CurrentMemoryContext (context NULL) or in a given context. */
extern kiln_allocator kiln_palloc_allocator(MemoryContext context);

/* Name of a schema as a definition would write it (quoted if it has to be), palloc'd UTF-8; "" for an unnamed one. */
extern char *kiln_schema_quoted_name(const KilnSchema *schema);

/* ------------------------------------------------------------------ typmod.c */

/* typmod of a normalised name: XXH3 of it, 31 bits, never 0 or negative. */
extern int32 kiln_name_typmod(const char *name, size_t length);

/* typmod of kiln(tensor). */
extern int32 kiln_tensor_typmod(void);

/*
 * How a typmod is called in messages: the name, quoted as in a definition and converted to the server's encoding, or
 * the number. palloc'd.
 */
extern char *kiln_typmod_name(int32 typmod);

/* ------------------------------------------------------------------ coerce.c */

/*
 * kiln_encode_nameless: JSON text without $kiln for a typed column, into the column's latest version (42704 if none
 * is registered).
 *
 * kiln_coerce_frame: the rule of typed columns, used by every route: takes a well-formed frame (a whole varlena,
 * not toasted, any header) and returns it, or another, fit for a column of that typmod; a nameless value is encoded
 * into the column's latest version, an inline definition that is registered is interned. typmod < 0 takes
 * everything as it is. NULL after a soft error.
 */
extern struct varlena *kiln_encode_nameless(const char *json, size_t length, int32 typmod, Node *escontext);
extern struct varlena *kiln_coerce_frame(struct varlena *frame, int32 typmod, Node *escontext);

/* ------------------------------------------------------------------ frame.c: doors and frames */

/* A frame under construction: a writer over a palloc'd varlena, limited to KILN_MAX_FRAME. */
extern void kiln_builder_init(kiln_writer *writer, Size estimate);
extern void kiln_builder_head_registered(kiln_writer *writer, uint64 hash);
extern void kiln_builder_head_inline(kiln_writer *writer, const char *text, size_t length);
extern void kiln_builder_head_schema(kiln_writer *writer, const KilnSchema *schema);	/* whichever it is */
extern void kiln_builder_head_tensors(kiln_writer *writer);
extern void kiln_builder_head_unverified(kiln_writer *writer, uint64 hash);
extern struct varlena *kiln_builder_finish(kiln_writer *writer);

/* A frame from a schema and a finished payload. */
extern struct varlena *kiln_make_frame(const KilnSchema *schema, const uint8_t *payload, size_t n);

/*
 * The door for binary frames (recv, kiln_from_frame): validates, turns 0x11 of unknown hash into 0x14 and back, and
 * applies typmod. Returns a fresh varlena.
 */
extern struct varlena *kiln_admit(const uint8_t *frame, size_t n, int32 typmod);

/* A stored frame taken apart. payload and text lead into it. */
typedef struct KilnValue
{
	kiln_frame	frame;			/* hash is not set for 0x12: see schema->hash */
	KilnSchema *schema;			/* NULL for tensors */
	struct varlena *datum;		/* what the pointers lead into; differs from the argument if it had to be fetched */
} KilnValue;

/*
 * Open a datum for reading: detoasts (a short header is read in place), finds the definition, validates a 0x14
 * first. Raises 42704 if the definition is missing, 55000 if the entry lies, 22P03 for a 0x14 that does not
 * validate.
 */
extern void kiln_value_open(Datum datum, KilnValue *value);

/* The definition of a frame; NULL for tensors. Raises as kiln_value_open(). */
extern KilnSchema *kiln_frame_schema(const kiln_frame *frame);

/* Take apart only, looking nothing up. varlena: detoasted, any header. */
extern void kiln_frame_parts(const struct varlena *varlena, kiln_frame *frame);

/* Free what kiln_value_open() fetched, if anything. For comparison functions, which must not leak. */
extern void kiln_value_close(KilnValue *value, Datum datum);

/* ------------------------------------------------------------------ error.c */

/* Where an error was met decides its SQLSTATE and its primary message. */
typedef enum KilnErrorPlace
{
	KILN_IN_BINARY,				/* bytes from outside: 22P03 */
	KILN_IN_TEXT,				/* text input: 22P02 */
	KILN_IN_DEFINITION,			/* a definition: 42601 */
	KILN_IN_PATH,				/* a path: 42601 */
	KILN_IN_RECORD,				/* a value to be encoded, from SQL values */
	KILN_IN_STORED				/* a stored value: 22P03 */
} KilnErrorPlace;

/* Raise, or save in escontext, the PostgreSQL error for a codec error. */
extern void kiln_report(const kiln_error *error, KilnErrorPlace place, Node *escontext);

/* A codec error in one line, its path at the end; palloc'd, server encoding. */
extern char *kiln_error_line(const kiln_error *error);

/* For sources: set KILN_E_SOURCE with a SQLSTATE and a formatted primary message; returns false. */
extern bool kiln_source_fail(kiln_error *error, int sqlstate, const char *format, ...) pg_attribute_printf(3, 4);

/* 42703 for a field, with a hint that names near ones. type: a STRUCT. */
pg_noreturn extern void kiln_report_unknown_field(const kiln_type *type, const char *schema_name,
												  const char *name, size_t length);

/* Near names as a hint ("Perhaps you meant …"), or NULL; palloc'd, server encoding. */
extern char *kiln_near_names(const kiln_type *type, const char *name, size_t length);

/* ------------------------------------------------------------------ encoding.c: text encodings */

/*
 * Convert; the result may be the argument itself. Lengths in bytes. kiln_utf8_to_server raises 22P05 for what the
 * encoding lacks.
 */
extern const char *kiln_server_to_utf8(const char *text, size_t length, size_t *out_length);
extern char *kiln_utf8_to_server(const char *text, size_t length);	/* NUL-terminated, palloc'd */

/* The same for messages: what the encoding lacks becomes \uXXXX. */
extern char *kiln_utf8_for_message(const char *text, size_t length);

/* text of a UTF-8 string, as a text datum in the server's encoding; scans UTF-8 and NUL again (22021). */
extern Datum kiln_utf8_to_text_datum(const uint8_t *text, size_t length);

/* UTF-8 of a text datum. The result may lead into it. */
extern const char *kiln_text_datum_to_utf8(Datum text_datum, size_t *length);

/* ------------------------------------------------------------------ json_text.c: JSON text as a tree of tokens */

/* json check that jsonb's input would pass (at most 200 levels), for kiln_validate and the encoder. */
extern const kiln_json_check kiln_pg_json_check;

/* ------------------------------------------------------------------ text_in.c, text_out.c: FORMAT 5 */

/* Text input: UTF-8 text to a frame, as kiln_in does. NULL after a soft error. */
extern struct varlena *kiln_frame_from_text(const char *text, size_t length, int32 typmod, Node *escontext);

/*
 * JSON text (no $kiln envelope) into a payload of type, appended to writer. False: *error is filled. Also the literal
 * callback's engine (kiln_literal).
 */
extern bool kiln_payload_from_json(const kiln_type *type, const char *text, size_t length,
								   kiln_writer *writer, kiln_error *error);

/* kiln_parse_options.literal: reads the text form of a default. */
extern bool kiln_literal(void *context, const kiln_type *type, const char *text, size_t length,
						 const uint8_t **payload, size_t *payload_length, kiln_error *error);

/* Text form of a whole frame, appended to buf, in the server's encoding. Never fails for want of a definition. */
extern void kiln_frame_to_text(StringInfo buf, const struct varlena *frame);

/*
 * JSON of a value without envelope, appended to buf in the server's encoding. payload: n bytes from the value's first
 * byte (they may go on after it). Raises 54000 when buf would pass limit bytes.
 */
extern void kiln_print_json(StringInfo buf, const kiln_type *type, const uint8_t *payload, size_t n, Size limit);

#define KILN_JSON_LIMIT (256 * 1024 * 1024)

/* JSON of a whole frame as the casts to json and jsonb show it: no $kiln, tensors as an object by name. */
extern void kiln_frame_to_json(StringInfo buf, Datum datum, Size limit);

/*
 * A scalar as plain text (no quotes), appended to buf in the server's encoding. data and length as in
 * kiln_visitor.scalar. Also for a json value, whose text is given as it is.
 */
extern void kiln_print_scalar(StringInfo buf, const kiln_type *type, const uint8_t *data, uint32_t length);

/* Shortest digits of FORMAT 5; out holds 32 bytes; returns the length. NaN and infinities without quotes. */
extern int	kiln_print_f64(double v, char *out);
extern int	kiln_print_f32(float v, char *out);

/* ------------------------------------------------------------------ encode.c */

/* Encode with a source into a fresh frame of that schema, raising errors of that place. NULL after a soft error. */
extern struct varlena *kiln_encode_frame(const KilnSchema *schema, const kiln_source *source, kiln_node node,
										 Size estimate, KilnErrorPlace place, Node *escontext);

#endif							/* KILN_PG_H */
