/*
 * kiln.h: the codec of Kiln, typed binary records and tensors.
 *
 * This header is the codec's whole public face and its manual. docs/FORMAT.md fixes the bytes; the section numbers
 * in comments ("FORMAT 2") are that document's.
 *
 * How the parts fit together:
 *
 *   definition text --kiln_schema_parse()--> kiln_schema, a tree of kiln_type
 *   outside bytes   --kiln_validate()------> a payload that may be trusted
 *   payload + path  --kiln_plan_compile(), kiln_plan_run()--> the place of one value
 *   values          --kiln_encode()--------> a payload
 *
 * Rules that hold everywhere:
 *
 * - Nothing here calls malloc, longjmp or a locale-dependent function behind the caller's back. What needs memory
 *   takes a kiln_allocator; validation, views, readers, plans in motion and directories need none.
 * - A function that can fail returns a bool, and on false has filled the kiln_error it was given (which may be NULL
 *   where nobody wants to know).
 * - Numbers are little-endian and unaligned in a payload, and are loaded and stored by memcpy, so that any alignment
 *   and either byte order is fine.
 * - "view" readers check nothing: the bytes must have passed kiln_validate() for the same type. "held" readers stay
 *   inside the value whatever it holds. "reader" functions check everything. A function's name says which it is.
 */
#ifndef KILN_H
#define KILN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ------------------------------------------------------------------ limits (FORMAT 1, 3, 4) */

#define KILN_MAX_DEFINITION		1048576		/* bytes of a definition, as given and canonical */
#define KILN_MAX_DEPTH			32			/* levels: struct, list, dict and ? are one each */
#define KILN_MAX_FIELDS			1600		/* fields of a struct */
#define KILN_MAX_NAME			63			/* bytes of a field's, a struct's or a label's name */
#define KILN_MAX_LABELS			65535		/* labels of an enum */
#define KILN_MAX_FRAME			700000000	/* bytes of a frame, so that its text always fits */
#define KILN_MAX_RANK			8			/* dimensions of a tensor */
#define KILN_MAX_TENSOR_NAME	104			/* bytes of a tensor's name at rank 0; 8 less for each dimension */

/* ------------------------------------------------------------------ errors */

/* Every way to fail, with the text that says so. X(code, text) */
#define KILN_ERROR_MAP(X) \
	X(OK, "no error") \
	/* a payload that breaks FORMAT 2 */ \
	X(TRUNCATED, "value ends too early") \
	X(LENGTH, "length is beyond the end of the value") \
	X(COUNT, "count is too large for the bytes left") \
	X(TRAILING, "bytes stand after the end of the value") \
	X(BOOL, "a bool is neither 0 nor 1") \
	X(TAG, "a presence tag is neither 0 nor 1") \
	X(ENUM, "enum position is beyond the last label") \
	X(UTF8, "string is not valid UTF-8") \
	X(NUL, "string contains a NUL byte") \
	X(KEY, "dict keys are not strictly ascending") \
	X(NUMERIC, "numeric is not spelled as the format asks") \
	X(JSON, "json field does not hold JSON text") \
	X(DATE, "date out of range") \
	X(TIMESTAMP, "timestamp out of range") \
	/* a frame or directory that breaks FORMAT 3 or 4 */ \
	X(FRAME_KIND, "unknown frame kind") \
	X(FRAME_HEAD, "frame is shorter than its head") \
	X(RESERVED, "reserved bytes are not zero") \
	X(MAGIC, "tensor directory has a wrong signature") \
	X(VERSION, "unknown version of the tensor directory") \
	X(DIRECTORY, "tensor directory is damaged") \
	/* a definition that breaks FORMAT 1 */ \
	X(SYNTAX, "syntax error in kiln definition") \
	X(NOT_CANONICAL, "definition is not in canonical form") \
	X(UNKNOWN_TYPE, "type does not exist in kiln definitions") \
	X(NAME, "invalid name in kiln definition") \
	X(DUPLICATE, "name is used more than once in kiln definition") \
	X(DEFAULT, "default does not fit the field's type") \
	X(LIMIT, "kiln definition exceeds a limit") \
	/* a path that breaks FORMAT 6 */ \
	X(PATH, "malformed path") \
	X(PATH_FIELD, "field does not exist") \
	X(PATH_STEP, "path step can't be applied") \
	/* a value that can't be encoded */ \
	X(NULL, "null for what is not optional") \
	X(MISSING, "missing field") \
	X(RANGE, "value out of range") \
	X(TYPE, "value is of a wrong type") \
	X(SIZE, "value is too large") \
	X(MEMORY, "out of memory") \
	X(SOURCE, "value could not be read from its source") \
	/* a value that can't be converted from one definition to another (FORMAT 8) */ \
	X(REMOVED, "field is not in the new definition") \
	X(CONVERT, "type does not convert to that of the new definition") \
	X(LABEL, "enum label is not in the new definition")

typedef enum kiln_code
{
#define X(code, text) KILN_E_##code,
	KILN_ERROR_MAP(X)
#undef X
	KILN_E_COUNT_OF
} kiln_code;

#define KILN_ERROR_PATH		256
#define KILN_ERROR_DETAIL	160

/*
 * What went wrong. offset counts bytes from the start of what was read (payload, frame, directory, definition or
 * path text) and points where FORMAT 2 says. path leads to the value at fault in FORMAT 6 spelling, empty for the whole value;
 * one too long for the buffer keeps its tail after "...". detail says more, in lower case, or is empty.
 */
typedef struct kiln_error
{
	kiln_code	code;
	int			source_code;	/* KILN_E_SOURCE: the source's own code (in the server a SQLSTATE), else 0 */
	size_t		offset;
	char		path[KILN_ERROR_PATH];
	char		detail[KILN_ERROR_DETAIL];
} kiln_error;

/* The fixed text of a code; never NULL. */
const char *kiln_error_text(kiln_code code);

/* Fill *error (which may be NULL); detail may be NULL. Always returns false, so that "return kiln_fail(…)" reads well. */
bool		kiln_fail(kiln_error *error, kiln_code code, size_t offset, const char *detail);

/*
 * Put one step in front of error->path, as a walk that failed unwinds: a field or dict key (quoted if it has to be),
 * or a list position. error may be NULL.
 */
void		kiln_error_prepend_name(kiln_error *error, const char *name, size_t length);
void		kiln_error_prepend_index(kiln_error *error, uint64_t position);

/* ------------------------------------------------------------------ memory */

/*
 * Where memory comes from. allocate() returns NULL or does not return at all (as palloc) when there is none; release() may be a
 * no-op. A NULL kiln_allocator means malloc and free.
 */
typedef struct kiln_allocator
{
	void	   *(*allocate) (void *context, size_t size);
	void		(*release) (void *context, void *memory);
	void	   *context;
} kiln_allocator;

/* ------------------------------------------------------------------ schema */

typedef enum kiln_kind
{
	KILN_BOOL, KILN_I8, KILN_I16, KILN_I32, KILN_I64, KILN_U8, KILN_U16, KILN_U32, KILN_U64, KILN_F32, KILN_F64,
	KILN_STRING, KILN_BYTES, KILN_UUID, KILN_DATE, KILN_TIMESTAMP, KILN_TIMESTAMPTZ, KILN_NUMERIC, KILN_JSON,
	KILN_ENUM, KILN_OPTIONAL, KILN_LIST, KILN_DICT, KILN_STRUCT
} kiln_kind;

typedef struct kiln_type kiln_type;

typedef struct kiln_field
{
	const char *name;			/* UTF-8, NUL-terminated for the caller's convenience */
	const kiln_type *type;
	const uint8_t *default_payload; /* NULL without a default; valid for type */
	uint32_t	default_length;
	uint8_t		name_length;
} kiln_field;

typedef struct kiln_label
{
	const char *text;			/* UTF-8, NUL-terminated */
	uint8_t		length;
} kiln_label;

/*
 * One step of a struct's validation and skipping program, made at parse time: see src/codec/validate.c.
 */
typedef struct kiln_step kiln_step;

/*
 * One node of a definition. Immutable and shared; lives as long as its schema. There is no recursion in
 * definitions, so a walk is at most KILN_MAX_DEPTH deep.
 */
struct kiln_type
{
	uint8_t		kind;			/* kiln_kind */
	uint8_t		depth;			/* levels of this type itself: 0 for a scalar */
	bool		any_bits;		/* fixed width, and every bit pattern is valid: integers, floats, uuid and structs of them */
	bool		numbers;		/* LIST only: element is i8…u64, f32 or f64, so that packed input is one memcpy */
	uint32_t	width;			/* bytes a payload takes if that never varies, else 0 */
	uint32_t	least;			/* fewest bytes a payload takes (FORMAT 2) */
	uint32_t	count;			/* STRUCT: fields; ENUM: labels */
	const kiln_type *element;	/* OPTIONAL, LIST, DICT */
	const kiln_field *fields;	/* STRUCT */
	const kiln_label *labels;	/* ENUM */
	const uint16_t *by_name;	/* STRUCT, ENUM: positions in ascending byte order of the names */
	const kiln_step *steps;		/* STRUCT */
	uint32_t	step_count;
	uint32_t	name_length;	/* STRUCT: 0 for an unnamed one */
	const char *name;			/* STRUCT: UTF-8, NUL-terminated; NULL for an unnamed one */
	const char *text;			/* its canonical text, a slice of the schema's, not NUL-terminated */
	uint32_t	text_length;
};

typedef struct kiln_schema
{
	const kiln_type *root;
	const char *text;			/* canonical, NUL-terminated */
	size_t		text_length;
	uint64_t	hash;			/* XXH3_64bits(text) */
	kiln_allocator allocator;
	void	   *chunks;			/* the schema's memory; private */
} kiln_schema;

/* JSON check for json values: true if n bytes of UTF-8 text are JSON that jsonb would take. */
typedef struct kiln_json_check
{
	bool		(*check) (void *context, const uint8_t *text, size_t n);
	void	   *context;
} kiln_json_check;

/*
 * How to read a definition.
 *
 * stored: the text comes from where it was checked before (the catalog): names are taken as they stand, neither
 * normalised nor tested for unassigned code points, and a text that is not canonical is KILN_E_NOT_CANONICAL.
 *
 * literal: reads a default given as text ('…') for a type that has no literal of its own (floats, numeric, bytes, uuid,
 * dates, timestamps, json, lists, dicts, structs). It returns the payload, in memory that stays until the parse
 * has returned, or fails. The type is complete but for its text, which is empty until the parse has returned. Not
 * called for a stored text, where such a default can't be. NULL: such defaults are KILN_E_DEFAULT.
 *
 * json: checks json values in x'…' defaults; NULL: they are KILN_E_DEFAULT.
 */
typedef struct kiln_parse_options
{
	const kiln_allocator *allocator;
	bool		stored;
	bool		(*literal) (void *context, const kiln_type *type, const char *text, size_t length,
							const uint8_t **payload, size_t *payload_length, kiln_error *error);
	void	   *literal_context;
	const kiln_json_check *json;
} kiln_parse_options;

/*
 * Parse a definition (FORMAT 1). text: length bytes, need not be NUL-terminated or valid UTF-8. On success *schema is
 * owned by the caller; kiln_schema_free() gives it back. error->offset is the byte at fault. options may be NULL.
 */
bool		kiln_schema_parse(const char *text, size_t length, const kiln_parse_options *options,
							  kiln_schema **schema, kiln_error *error);
void		kiln_schema_free(kiln_schema *schema);

/* The word of a scalar kind in definitions; not for ENUM, OPTIONAL, LIST, DICT and STRUCT. */
const char *kiln_kind_word(uint8_t kind);

/* XXH3_64bits of a canonical text, and of any other bytes. */
uint64_t	kiln_hash(const void *data, size_t length);

/* Position of a field or label by its exact bytes, -1 if there is none. O(log n). */
int			kiln_struct_find(const kiln_type *type, const char *name, size_t length);
int			kiln_enum_find(const kiln_type *type, const char *label, size_t length);

/*
 * Normalise a name as registration does: NFC, 1 to 63 bytes, no leading $, no control characters, no unassigned code
 * points. out: KILN_MAX_NAME + 1 bytes, NUL-terminated on success.
 */
bool		kiln_name_normalize(const char *name, size_t length, char *out, size_t *out_length, kiln_error *error);

/*
 * NFC alone, for a path's steps, where an unusable name is merely not found. Returns false (and leaves out alone) if the result is
 * not UTF-8 or longer than KILN_MAX_NAME bytes.
 */
bool		kiln_name_nfc(const char *name, size_t length, char *out, size_t *out_length);

/*
 * Write a name as a definition would: plain, or quoted. out holds at least 2 * length + 2 bytes; returns bytes written.
 */
size_t		kiln_name_quote(const char *name, size_t length, char *out);

/* ------------------------------------------------------------------ text checks */

/*
 * Length of the longest prefix of s that is well-formed UTF-8 without NUL; n if all of it is. *nul says whether a NUL
 * byte ended it. ASCII goes eight bytes at a time.
 */
size_t		kiln_utf8_prefix(const uint8_t *s, size_t n, bool *nul);

/* Does s spell a numeric (FORMAT 2)? */
bool		kiln_numeric_spelling(const uint8_t *s, size_t n);

/* Ranges of FORMAT 2; infinities are inside. */
bool		kiln_date_valid(int32_t days);
bool		kiln_timestamp_valid(int64_t microseconds);

/*
 * Resolve the escapes of a JSON string: raw is what stands between the quotes. out holds n bytes, which is always
 * enough, and may be raw itself; NULL only checks and counts. What is outside the escapes is copied as it is.
 */
typedef enum kiln_json_escape
{
	KILN_ESCAPE_GOOD,
	KILN_ESCAPE_MALFORMED,		/* no escape of JSON */
	KILN_ESCAPE_NUL,			/* \u0000 */
	KILN_ESCAPE_SURROGATE		/* half of a surrogate pair */
} kiln_json_escape;

kiln_json_escape kiln_json_unescape(const uint8_t *raw, size_t n, uint8_t *out, size_t *out_length);

/* ------------------------------------------------------------------ validate */

/*
 * Check a whole payload against its type: every rule of FORMAT 2. Total, bounded by n, allocation-free, one walk. json checks json values; with NULL
 * there, any UTF-8 without NUL passes for one, if it is not empty and has no white space around it. On failure *error has code, offset and path.
 */
bool		kiln_validate(const kiln_type *type, const uint8_t *payload, size_t n,
						  const kiln_json_check *json, kiln_error *error);

/* ------------------------------------------------------------------ frames (FORMAT 3) */

#define KILN_FRAME_REGISTERED	0x11
#define KILN_FRAME_INLINE		0x12
#define KILN_FRAME_TENSORS		0x13
#define KILN_FRAME_UNVERIFIED	0x14

#define KILN_HASH_HEAD			9	/* bytes before the payload of 0x11 and 0x14 */
#define KILN_INLINE_HEAD		5	/* bytes before the definition of 0x12 */
#define KILN_TENSORS_HEAD		4	/* bytes before the directory of 0x13 */

/*
 * The parts of a frame. All pointers lead into the frame. hash: the one stored, or for an inline frame that of its
 * text. payload of 0x13 is the directory.
 */
typedef struct kiln_frame
{
	uint8_t		kind;
	uint64_t	hash;			/* 0x11, 0x14; 0x12: kiln_hash(text) */
	const char *text;			/* 0x12 */
	size_t		text_length;
	const uint8_t *payload;
	size_t		payload_length;
} kiln_frame;

/*
 * Take a frame from outside apart, checking its head (kind, lengths, reserved bytes), not what follows it.
 * Offsets in errors count from the frame's first byte.
 */
bool		kiln_frame_open(const uint8_t *frame, size_t n, kiln_frame *out, kiln_error *error);

/* ------------------------------------------------------------------ loads, stores and order */

static inline uint8_t kiln_load_u8(const uint8_t *p);
static inline uint16_t kiln_load_u16(const uint8_t *p);
static inline uint32_t kiln_load_u32(const uint8_t *p);
static inline uint64_t kiln_load_u64(const uint8_t *p);
static inline float kiln_load_f32(const uint8_t *p);
static inline double kiln_load_f64(const uint8_t *p);
static inline void kiln_store_u8(uint8_t *p, uint8_t v);
static inline void kiln_store_u16(uint8_t *p, uint16_t v);
static inline void kiln_store_u32(uint8_t *p, uint32_t v);
static inline void kiln_store_u64(uint8_t *p, uint64_t v);
static inline void kiln_store_f32(uint8_t *p, float v);
static inline void kiln_store_f64(uint8_t *p, double v);

/*
 * The order of names, dict keys and texts: unsigned bytes, a prefix first. -1, 0 or 1. Of a length of 0 the pointer may be
 * NULL.
 */
static inline int kiln_compare_bytes(const void *a, size_t a_length, const void *b, size_t b_length);

/* ------------------------------------------------------------------ views: unchecked reads of validated payloads */

/* Bytes and length of a string, bytes, numeric or json value at p. */
static inline const uint8_t *kiln_view_span(const uint8_t *p, uint32_t *length);

/* Any integer at p, widened. */
static inline int64_t kiln_view_signed(const kiln_type *type, const uint8_t *p);
static inline uint64_t kiln_view_unsigned(const kiln_type *type, const uint8_t *p);

/* The byte after the value of that type at p. */
const uint8_t *kiln_view_skip(const kiln_type *type, const uint8_t *p);

/* ------------------------------------------------------------------ reader: checked reads */

/*
 * Sequential reading of bytes that nobody vouches for. A read beyond the end returns zero (or NULL) and sets failed,
 * which stays set; so a caller may read a whole message and test once.
 */
typedef struct kiln_reader
{
	const uint8_t *start;
	const uint8_t *pos;
	const uint8_t *end;
	bool		failed;
} kiln_reader;

static inline void kiln_reader_init(kiln_reader *reader, const uint8_t *data, size_t n);
static inline size_t kiln_reader_left(const kiln_reader *reader);
static inline const uint8_t *kiln_reader_bytes(kiln_reader *reader, size_t n);
static inline bool kiln_reader_bool(kiln_reader *reader);	/* a byte other than 0 and 1 fails */
static inline uint8_t kiln_reader_u8(kiln_reader *reader);
static inline uint16_t kiln_reader_u16(kiln_reader *reader);
static inline uint32_t kiln_reader_u32(kiln_reader *reader);
static inline uint64_t kiln_reader_u64(kiln_reader *reader);
static inline float kiln_reader_f32(kiln_reader *reader);
static inline double kiln_reader_f64(kiln_reader *reader);

/* A length-prefixed span; kiln_reader_string also checks UTF-8 and NUL. */
static inline const uint8_t *kiln_reader_span(kiln_reader *reader, uint32_t *length);
const uint8_t *kiln_reader_string(kiln_reader *reader, uint32_t *length);

/* A count of elements of at least least bytes each: fails if so many can't follow. */
static inline uint32_t kiln_reader_count(kiln_reader *reader, uint32_t least);

/*
 * Step over one value of that type, checking bounds, counts, tags and bools (the things that decide where a value ends).
 */
bool		kiln_reader_skip(kiln_reader *reader, const kiln_type *type);

/* ------------------------------------------------------------------ held reads */

/*
 * A value that passed validation once, read under a definition that may since have become another's. Every read stays inside
 * [data, data + n): a load of w bytes is at min(pos, n - w), a span is min(length, n - pos), a count is
 * min(count, bytes left / least element size). On a valid value none of this changes anything. n must be at least
 * KILN_HELD_LEAST; shorter values take the checked reader.
 *
 * poll, if not NULL, is called now and then in long loops (and may not return).
 */
#define KILN_HELD_LEAST 16

typedef struct kiln_held
{
	const uint8_t *data;
	size_t		n;
	void		(*poll) (void);
} kiln_held;

static inline size_t kiln_held_at(const kiln_held *held, size_t pos, size_t width); /* min(pos, n - width) */
static inline uint8_t kiln_held_u8(const kiln_held *held, size_t pos);
static inline uint16_t kiln_held_u16(const kiln_held *held, size_t pos);
static inline uint32_t kiln_held_u32(const kiln_held *held, size_t pos);
static inline uint64_t kiln_held_u64(const kiln_held *held, size_t pos);
static inline const uint8_t *kiln_held_span(const kiln_held *held, size_t pos, uint32_t *length);
static inline uint32_t kiln_held_count(const kiln_held *held, size_t pos, uint32_t least);

/* Position after the value of that type at pos; at most n. */
size_t		kiln_held_skip(const kiln_held *held, const kiln_type *type, size_t pos);

/* ------------------------------------------------------------------ walk: a whole value, held, in order */

/*
 * Calls for each part of a value. Any may be NULL. All are given the walk's context. A scalar's bytes are
 * data[0 .. length): for string, bytes, numeric and json the content without its length word, else its fixed width
 * (an enum's two bytes hold a position below the label count, whatever the payload said; a bool is 0 or 1).
 * field comes before each field's value, present or not; absent stands for the value where an optional is absent.
 * Returning false from any ends the walk, which then returns false. Of a damaged value fewer elements or pairs may follow than
 * begin_list or begin_dict announced (the bytes have run out); never more, and of a valid value never fewer.
 */
typedef struct kiln_visitor
{
	bool		(*begin_struct) (void *context, const kiln_type *type);
	bool		(*field) (void *context, const kiln_type *type, uint32_t index);
	bool		(*end_struct) (void *context, const kiln_type *type);
	bool		(*begin_list) (void *context, const kiln_type *type, uint32_t count);
	bool		(*element) (void *context, const kiln_type *type, uint32_t index);
	bool		(*end_list) (void *context, const kiln_type *type);
	bool		(*begin_dict) (void *context, const kiln_type *type, uint32_t count);
	bool		(*key) (void *context, const kiln_type *type, const uint8_t *key, uint32_t length);
	bool		(*end_dict) (void *context, const kiln_type *type);
	bool		(*absent) (void *context, const kiln_type *type);	/* type: the OPTIONAL */
	bool		(*scalar) (void *context, const kiln_type *type, const uint8_t *data, uint32_t length);
} kiln_visitor;

/*
 * Walk the value of that type which starts at payload[0]. Never reads outside payload[0 .. n), whatever it holds; an n below
 * KILN_HELD_LEAST is fine too. *used, if not NULL, gets the bytes the value took.
 */
bool		kiln_walk(const kiln_type *type, const uint8_t *payload, size_t n, void (*poll) (void),
					  const kiln_visitor *visitor, void *context, size_t *used);

/* ------------------------------------------------------------------ paths and plans (FORMAT 6) */

typedef struct kiln_path_step
{
	bool		is_index;
	int64_t		index;			/* saturated to ±INT64_MAX: such a position exists nowhere */
	const char *name;			/* unquoted, as given */
	size_t		length;
	size_t		offset;			/* byte of the path text where the step begins, for errors; 0 in a step that has no text */
} kiln_path_step;

typedef struct kiln_path
{
	kiln_path_step *steps;
	uint32_t	count;
	kiln_allocator allocator;
	void	   *memory;			/* private */
} kiln_path;

/* Parse a path; error->offset is the byte at fault. kiln_path_free() gives the memory back. */
bool		kiln_path_parse(const char *text, size_t length, const kiln_allocator *allocator,
							kiln_path *path, kiln_error *error);
void		kiln_path_free(kiln_path *path);

/* Append a step to a path under construction, quoted if it has to be: out holds 2 * length + 3 bytes. first: no dot before it. */
size_t		kiln_path_quote(const char *name, size_t length, bool first, char *out);

typedef struct kiln_plan_step kiln_plan_step;

/*
 * A path worked out against a type: a short program over a payload. A plan points into the type, which must outlive
 * it. constant plans (no optional, list, dict or variable-length field on the way) need no program at all: the value is at offset. Nor
 * do those with only spans (length-prefixed fields) on the way, beside fixed widths: see kiln_plan.spans.
 */
typedef struct kiln_plan
{
	const kiln_type *type;		/* of the value found, never OPTIONAL */
	bool		constant;
	bool		json_rest;		/* the path goes on inside a json value: from path step rest on */
	uint32_t	rest;
	uint32_t	offset;			/* if constant, or spans is not 0 */
	uint32_t	spans;			/* if not 0: the value is behind so many spans that begin at offset, and after bytes more */
	uint32_t	after;
	uint32_t	step_count;
	kiln_plan_step *steps;
	kiln_allocator allocator;
	/* set when compiling failed with KILN_E_PATH_FIELD or KILN_E_PATH_STEP: where */
	const kiln_type *fault_type;
	uint32_t	fault_step;
} kiln_plan;

/*
 * Compile path against root. A field that the struct does not have is KILN_E_PATH_FIELD, a step that can't apply
 * KILN_E_PATH_STEP; plan->fault_type and fault_step then say where. Steps into a json value are left to the caller (json_rest).
 * kiln_plan_free() gives the memory back; not needed after a failure.
 */
bool		kiln_plan_compile(const kiln_type *root, const kiln_path *path, const kiln_allocator *allocator,
							  kiln_plan *plan, kiln_error *error);
void		kiln_plan_free(kiln_plan *plan);

/*
 * Find the value. Returns its first byte, or NULL where it is absent. Trusts payload, which must have passed
 * kiln_validate() for the plan's root.
 */
const uint8_t *kiln_plan_run(const kiln_plan *plan, const uint8_t *payload);

typedef enum kiln_found
{
	KILN_FOUND,
	KILN_ABSENT,
	KILN_NEED,					/* window runs: other bytes are wanted */
	KILN_DAMAGED				/* checked runs: the payload is not valid */
} kiln_found;

/* The same, held. On KILN_FOUND *pos is where the value starts (at most n). */
kiln_found	kiln_plan_run_held(const kiln_plan *plan, const kiln_held *held, size_t *pos);

/* The same, trusting nothing and checking what it passes over. */
kiln_found	kiln_plan_run_checked(const kiln_plan *plan, const uint8_t *payload, size_t n, size_t *pos, kiln_error *error);

/*
 * The same over a part of the payload: bytes [start, start + have) of a payload of total bytes are at data. Holds to
 * total, never to the part. On KILN_NEED the bytes [need_from, need_to) must be inside the part given to the next
 * call, which goes on from where this one stopped; both are at most total. Where the place is known without a walk, need_from is far ahead, so
 * that a second slice is fetched instead of a long prefix. On KILN_FOUND pos is the value's place in the payload, and
 * nothing is said about whether the part holds it.
 */
typedef struct kiln_window
{
	/* the caller's */
	const uint8_t *data;
	size_t		start;
	size_t		have;
	size_t		total;
	void		(*poll) (void);
	/* the run's: zero them before the first call */
	uint32_t	step;
	size_t		pos;
	size_t		need_from;
	size_t		need_to;
} kiln_window;

kiln_found	kiln_plan_run_window(const kiln_plan *plan, kiln_window *window);

/*
 * End of the value of that type that starts at window->pos: KILN_FOUND and need_to is the position after it, or
 * KILN_NEED. So the bytes of a found value can be fetched whole.
 */
kiln_found	kiln_window_measure(const kiln_type *type, kiln_window *window);

/* ------------------------------------------------------------------ writer */

/*
 * Bytes under construction in a buffer. Reserve room once, then store without checks; a reserve that does not fit calls grow, or fails
 * without one. limit bounds the whole.
 *
 *   borrowed   kiln_writer_init() over the caller's buffer; kiln_writer_data() is read before the next reset
 *   batched    kiln_writer_begin_message() … kiln_writer_end_message() write [u32 length][message]…
 *   owned      kiln_writer_detach() hands the buffer over, and the writer starts with none
 */
typedef struct kiln_writer
{
	uint8_t    *start;
	uint8_t    *pos;
	uint8_t    *end;
	size_t		limit;
	bool		(*grow) (struct kiln_writer *writer, size_t capacity);	/* make end - start at least capacity */
	void	   *context;
} kiln_writer;

static inline void kiln_writer_init(kiln_writer *writer, void *buffer, size_t capacity);
static inline void kiln_writer_reset(kiln_writer *writer);
static inline size_t kiln_writer_length(const kiln_writer *writer);

/* Make room for n more bytes. False: limit or memory is exhausted, nothing has changed. */
static inline bool kiln_writer_reserve(kiln_writer *writer, size_t n);
bool		kiln_writer_reserve_slow(kiln_writer *writer, size_t n);

/* Unchecked stores into reserved room. */
static inline void kiln_writer_u8(kiln_writer *writer, uint8_t v);
static inline void kiln_writer_u16(kiln_writer *writer, uint16_t v);
static inline void kiln_writer_u32(kiln_writer *writer, uint32_t v);
static inline void kiln_writer_u64(kiln_writer *writer, uint64_t v);
static inline void kiln_writer_f32(kiln_writer *writer, float v);
static inline void kiln_writer_f64(kiln_writer *writer, double v);
static inline void kiln_writer_bytes(kiln_writer *writer, const void *data, size_t n);
static inline void kiln_writer_span(kiln_writer *writer, const void *data, uint32_t n); /* length word and bytes: 4 + n */

/*
 * The same through a bare pointer, for whoever knows a value's fields: reserve once, take writer->pos, put one after the other, set
 * writer->pos to what the last returned. Each returns the byte after what it stored. The pointer can stay in a register, which the
 * writer's own, in memory that a byte store might change, can not.
 */
static inline uint8_t *kiln_put_u8(uint8_t *p, uint8_t v);
static inline uint8_t *kiln_put_u16(uint8_t *p, uint16_t v);
static inline uint8_t *kiln_put_u32(uint8_t *p, uint32_t v);
static inline uint8_t *kiln_put_u64(uint8_t *p, uint64_t v);
static inline uint8_t *kiln_put_f32(uint8_t *p, float v);
static inline uint8_t *kiln_put_f64(uint8_t *p, double v);
static inline uint8_t *kiln_put_bytes(uint8_t *p, const void *data, size_t n);
static inline uint8_t *kiln_put_span(uint8_t *p, const void *data, uint32_t n);

/* Copy n bytes that mostly are few (a string's): up to 64 without a call. data may be NULL if n is 0. */
static inline void kiln_copy_short(uint8_t *to, const void *data, size_t n);

/* A batched message; begin returns a mark for end, or SIZE_MAX without room. */
size_t		kiln_writer_begin_message(kiln_writer *writer);
bool		kiln_writer_end_message(kiln_writer *writer, size_t mark);

uint8_t    *kiln_writer_detach(kiln_writer *writer, size_t *length);

/* A grow function over malloc, for callers without an allocator of their own; the buffer must come from malloc or be NULL. */
bool		kiln_writer_grow_malloc(kiln_writer *writer, size_t capacity);

/* ------------------------------------------------------------------ encode */

/*
 * A place in the source of a value. What the two words mean is the source's affair.
 */
typedef struct kiln_node
{
	const void *pointer;
	uint64_t	word;
} kiln_node;

/* A scalar in the form that its type is stored in. Which member counts follows from the type's kind. */
typedef union kiln_scalar
{
	bool		boolean;		/* bool */
	int64_t		i64;			/* i8…i64, date, timestamp, timestamptz */
	uint64_t	u64;			/* u8…u64; enum: position */
	float		f32;
	double		f64;
	struct
	{
		const void *data;		/* string, bytes, numeric, json; uuid: 16 bytes */
		size_t		length;
	}			span;
} kiln_scalar;

typedef enum kiln_presence
{
	KILN_PRESENT,
	KILN_IS_NULL,
	KILN_IS_MISSING,
	KILN_UNREADABLE				/* the source has filled *error */
} kiln_presence;

/*
 * Where values come from: a record, a JSON document, a C program's own structures. The encoder asks for what the
 * definition wants, in the order of the definition; it never passes an OPTIONAL type. Conversion into the type's form is the
 * source's work; ranges, UTF-8, spellings and key order are checked again by the encoder.
 *
 * Each function may fail: it then fills *error (code, detail; the encoder adds the path) and returns false or
 * KILN_UNREADABLE. error is never NULL here.
 *
 * begin_struct   (may be NULL) look at the node as a struct: unknown keys are found here. *object replaces the node as parent of its fields.
 * field          child at field index
 * scalar         the node's value for a scalar type
 * begin_list     number of elements; *packed, if set, is the elements' own little-endian bytes, tightly packed (only for type->numbers)
 * element        child at position
 * begin_dict     number of pairs, to be given in strictly ascending byte order of their keys
 * pair           key and child at position
 *
 * A span that scalar delivers is read before the next call of begin_struct, element or pair, and a key before the next call of
 * pair for the same dict; until then they must stay. A child is done with before the next one of its parent is asked for;
 * elements and pairs are asked for in order, each once.
 */
typedef struct kiln_source
{
	bool		(*begin_struct) (void *self, kiln_node node, const kiln_type *type, kiln_node *object, kiln_error *error);
	kiln_presence (*field) (void *self, kiln_node object, const kiln_type *type, uint32_t index, kiln_node *child, kiln_error *error);
	bool		(*scalar) (void *self, kiln_node node, const kiln_type *type, kiln_scalar *value, kiln_error *error);
	bool		(*begin_list) (void *self, kiln_node node, const kiln_type *type, kiln_node *list, uint64_t *count, const void **packed, kiln_error *error);
	kiln_presence (*element) (void *self, kiln_node list, const kiln_type *type, uint64_t position, kiln_node *child, kiln_error *error);
	bool		(*begin_dict) (void *self, kiln_node node, const kiln_type *type, kiln_node *dict, uint64_t *count, kiln_error *error);
	kiln_presence (*pair) (void *self, kiln_node dict, const kiln_type *type, uint64_t position,
						   const char **key, size_t *key_length, kiln_node *child, kiln_error *error);
	void		(*poll) (void); /* may be NULL */
	void	   *self;
	const kiln_json_check *json;
} kiln_source;

/*
 * Append the payload of the value at node. A missing field takes its default, is absent if it is optional, else KILN_E_MISSING; null for
 * what is not optional is KILN_E_NULL. On failure the writer is back where it was.
 */
bool		kiln_encode(const kiln_type *type, const kiln_source *source, kiln_node node, kiln_writer *writer, kiln_error *error);

/*
 * A C struct as source, field by field at known offsets, for structs whose fields are bools, numbers, dates, timestamps,
 * uuids, strings and bytes (and optionals of them are not). Compiled once, then one size pass, one reserve and pointer stores a value; runs
 * of fields whose layout in memory is that of the payload are one copy.
 */
typedef struct kiln_slice
{
	const void *data;
	uint32_t	length;
} kiln_slice;

typedef struct kiln_member
{
	const char *field;			/* name in the definition */
	size_t		offset;			/* in the C struct: of the number in native form and alignment, or of a kiln_slice */
} kiln_member;

typedef struct kiln_binding kiln_binding;

/* Bind a struct type to a C layout. Every field must be given. The caller frees the binding. */
bool		kiln_binding_compile(const kiln_type *type, const kiln_member *members, size_t member_count,
								 const kiln_allocator *allocator, kiln_binding **binding, kiln_error *error);
void		kiln_binding_free(kiln_binding *binding);

/*
 * Append the payload of one C struct. Strings are checked for UTF-8 and NUL if check is set; a caller whose strings are known to be good
 * leaves it out.
 */
bool		kiln_binding_encode(const kiln_binding *binding, const void *object, bool check, kiln_writer *writer, kiln_error *error);

/*
 * Append a list of them: an array of count C structs, stride bytes apart. One size pass, one reserve. What fails is in
 * error->path by its position; then nothing was written.
 */
bool		kiln_binding_encode_list(const kiln_binding *binding, const void *objects, uint32_t count, size_t stride, bool check,
									 kiln_writer *writer, kiln_error *error);

/* ------------------------------------------------------------------ evolution (FORMAT 8) */

/*
 * How payloads of one type become payloads of another, field by field name: numbers widen, enums keep their labels, T
 * becomes T?, what is added is absent or takes its default. Worked out once for a pair of types; it points into both, which
 * must outlive it. It has scratch memory of its own: one run at a time.
 */
typedef struct kiln_evolution kiln_evolution;

/*
 * Work out the conversion. What can't work whatever a value holds fails here: a field that is removed, unless
 * drop_removed is set (KILN_E_REMOVED), an added one that is neither optional nor has a default (KILN_E_MISSING), a type that does not widen to the
 * other (KILN_E_CONVERT). error->path then has field names only. kiln_evolution_free() gives the memory back.
 */
bool		kiln_evolution_compile(const kiln_type *from, const kiln_type *to, bool drop_removed,
								   const kiln_allocator *allocator, kiln_evolution **evolution, kiln_error *error);
void		kiln_evolution_free(kiln_evolution *evolution);

/*
 * Append the converted payload. The source is read held: nothing outside payload[0 .. n) is touched whatever it holds, and a valid payload gives a
 * valid one. KILN_E_NULL: absent where the new type needs a value; KILN_E_LABEL: an enum label that it lacks. On failure the writer
 * is back where it was. poll as in kiln_held.
 */
bool		kiln_evolution_run(kiln_evolution *evolution, const uint8_t *payload, size_t n, void (*poll) (void),
							   kiln_writer *writer, kiln_error *error);

/* ------------------------------------------------------------------ tensor directories (FORMAT 4) */

typedef enum kiln_dtype
{
	KILN_DTYPE_BOOL = 1, KILN_DTYPE_I8, KILN_DTYPE_I16, KILN_DTYPE_I32, KILN_DTYPE_I64, KILN_DTYPE_U8, KILN_DTYPE_U16, KILN_DTYPE_U32,
	KILN_DTYPE_U64, KILN_DTYPE_F16, KILN_DTYPE_BF16, KILN_DTYPE_F32, KILN_DTYPE_F64
} kiln_dtype;

#define KILN_DIRECTORY_HEADER	64
#define KILN_DIRECTORY_ENTRY	128
#define KILN_DIRECTORY_ALIGN	64

/* Bytes of an element, 0 for an unknown dtype; its word ("f64"), NULL likewise; and the dtype of a word, 0 if unknown. */
uint32_t	kiln_dtype_width(uint8_t dtype);
const char *kiln_dtype_name(uint8_t dtype);
uint8_t		kiln_dtype_find(const char *word, size_t length);

/*
 * The 16-bit floats. Widening is exact. Narrowing rounds once, to nearest, ties to even; what is too large becomes an
 * infinity, and a NaN stays one, quiet, with its sign and upper bits.
 */
float		kiln_f16_to_f32(uint16_t half);
float		kiln_bf16_to_f32(uint16_t half);
uint16_t	kiln_f16_from_f64(double value);
uint16_t	kiln_bf16_from_f64(double value);

/* One tensor. name and data lead into the directory (or, when building, to the caller's memory). */
typedef struct kiln_tensor
{
	const char *name;
	uint16_t	name_length;
	uint8_t		dtype;
	uint8_t		rank;
	uint64_t	shape[KILN_MAX_RANK];
	uint64_t	offset;			/* from the directory's first byte */
	uint64_t	length;			/* payload bytes */
	const uint8_t *data;
} kiln_tensor;

/* Payload bytes of a shape: false if width × the non-zero dimensions reaches 2^63 or rank or dtype is unknown. */
bool		kiln_tensor_size(uint8_t dtype, uint8_t rank, const uint64_t *shape, uint64_t *length, uint64_t *elements);

/* Check a whole directory: every rule of FORMAT 4. Offsets count from its first byte. */
bool		kiln_directory_validate(const uint8_t *directory, size_t n, kiln_error *error);

/*
 * Reads of a validated directory, unchecked but for bounds: kiln_directory_entry() gives tensor i (below the count) from
 * the n bytes at hand, which may be only a head of the directory as long as the entries are in it (data is then set all the same, and must not be read
 * beyond n). False if i or the entry lies outside.
 */
uint32_t	kiln_directory_count(const uint8_t *directory, size_t n);
bool		kiln_directory_entry(const uint8_t *directory, size_t n, uint32_t i, kiln_tensor *tensor);

/* Position of a tensor by name, -1 if there is none; binary search. */
int64_t		kiln_directory_find(const uint8_t *directory, size_t n, const char *name, size_t length);

/*
 * Build a directory: tensors in ascending order of names (checked, as are names and shapes). length and data of each must be set; data may be
 * NULL to leave room that the caller fills, at the offset set in the tensor. One copy of each payload; padding is
 * zeroed. kiln_directory_layout() sets the offsets and tells the bytes wanted; kiln_directory_build() writes exactly those.
 */
bool		kiln_directory_layout(kiln_tensor *tensors, uint32_t count, uint64_t *total, kiln_error *error);
void		kiln_directory_build(const kiln_tensor *tensors, uint32_t count, uint64_t total, uint8_t *out);

/* Is this name fit for a tensor of that rank (FORMAT 4)? */
bool		kiln_tensor_name_valid(const char *name, size_t length, uint8_t rank);

/* ================================================================== inline bodies */

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#define KILN_SWAP16(v) __builtin_bswap16(v)
#define KILN_SWAP32(v) __builtin_bswap32(v)
#define KILN_SWAP64(v) __builtin_bswap64(v)
#else
#define KILN_SWAP16(v) (v)
#define KILN_SWAP32(v) (v)
#define KILN_SWAP64(v) (v)
#endif

#if defined(__GNUC__)
#define KILN_LIKELY(x) __builtin_expect((x) != 0, 1)
#else
#define KILN_LIKELY(x) (x)
#endif

static inline uint8_t
kiln_load_u8(const uint8_t *p)
{
	return *p;
}

static inline uint16_t
kiln_load_u16(const uint8_t *p)
{
	uint16_t	v;

	memcpy(&v, p, sizeof v);
	return KILN_SWAP16(v);
}

static inline uint32_t
kiln_load_u32(const uint8_t *p)
{
	uint32_t	v;

	memcpy(&v, p, sizeof v);
	return KILN_SWAP32(v);
}

static inline uint64_t
kiln_load_u64(const uint8_t *p)
{
	uint64_t	v;

	memcpy(&v, p, sizeof v);
	return KILN_SWAP64(v);
}

static inline float
kiln_load_f32(const uint8_t *p)
{
	uint32_t	bits = kiln_load_u32(p);
	float		v;

	memcpy(&v, &bits, sizeof v);
	return v;
}

static inline double
kiln_load_f64(const uint8_t *p)
{
	uint64_t	bits = kiln_load_u64(p);
	double		v;

	memcpy(&v, &bits, sizeof v);
	return v;
}

static inline void
kiln_store_u8(uint8_t *p, uint8_t v)
{
	*p = v;
}

static inline void
kiln_store_u16(uint8_t *p, uint16_t v)
{
	v = KILN_SWAP16(v);
	memcpy(p, &v, sizeof v);
}

static inline void
kiln_store_u32(uint8_t *p, uint32_t v)
{
	v = KILN_SWAP32(v);
	memcpy(p, &v, sizeof v);
}

static inline void
kiln_store_u64(uint8_t *p, uint64_t v)
{
	v = KILN_SWAP64(v);
	memcpy(p, &v, sizeof v);
}

static inline void
kiln_store_f32(uint8_t *p, float v)
{
	uint32_t	bits;

	memcpy(&bits, &v, sizeof bits);
	kiln_store_u32(p, bits);
}

static inline void
kiln_store_f64(uint8_t *p, double v)
{
	uint64_t	bits;

	memcpy(&bits, &v, sizeof bits);
	kiln_store_u64(p, bits);
}

static inline int
kiln_compare_bytes(const void *a, size_t a_length, const void *b, size_t b_length)
{
	size_t		least = a_length < b_length ? a_length : b_length;
	int			order = least > 0 ? memcmp(a, b, least) : 0;

	if (order != 0)
		return order < 0 ? -1 : 1;
	return a_length < b_length ? -1 : a_length > b_length;
}

/* ---- views */

static inline const uint8_t *
kiln_view_span(const uint8_t *p, uint32_t *length)
{
	*length = kiln_load_u32(p);
	return p + 4;
}

static inline int64_t
kiln_view_signed(const kiln_type *type, const uint8_t *p)
{
	switch (type->width)
	{
		case 1:
			return (int8_t) p[0];
		case 2:
			return (int16_t) kiln_load_u16(p);
		case 4:
			return (int32_t) kiln_load_u32(p);
		default:
			return (int64_t) kiln_load_u64(p);
	}
}

static inline uint64_t
kiln_view_unsigned(const kiln_type *type, const uint8_t *p)
{
	switch (type->width)
	{
		case 1:
			return p[0];
		case 2:
			return kiln_load_u16(p);
		case 4:
			return kiln_load_u32(p);
		default:
			return kiln_load_u64(p);
	}
}

/* ---- reader */

static inline void
kiln_reader_init(kiln_reader *reader, const uint8_t *data, size_t n)
{
	reader->start = reader->pos = data;
	reader->end = n != 0 ? data + n : data;
	reader->failed = false;
}

static inline size_t
kiln_reader_left(const kiln_reader *reader)
{
	return (size_t) (reader->end - reader->pos);
}

static inline const uint8_t *
kiln_reader_bytes(kiln_reader *reader, size_t n)
{
	const uint8_t *p = reader->pos;

	if (n > kiln_reader_left(reader))
	{
		reader->failed = true;
		return NULL;
	}
	reader->pos += n;
	return p;
}

static inline uint8_t
kiln_reader_u8(kiln_reader *reader)
{
	const uint8_t *p = kiln_reader_bytes(reader, 1);

	return p ? *p : 0;
}

static inline bool
kiln_reader_bool(kiln_reader *reader)
{
	uint8_t		v = kiln_reader_u8(reader);

	if (v > 1)
		reader->failed = true;
	return v == 1;
}

static inline uint16_t
kiln_reader_u16(kiln_reader *reader)
{
	const uint8_t *p = kiln_reader_bytes(reader, 2);

	return p ? kiln_load_u16(p) : 0;
}

static inline uint32_t
kiln_reader_u32(kiln_reader *reader)
{
	const uint8_t *p = kiln_reader_bytes(reader, 4);

	return p ? kiln_load_u32(p) : 0;
}

static inline uint64_t
kiln_reader_u64(kiln_reader *reader)
{
	const uint8_t *p = kiln_reader_bytes(reader, 8);

	return p ? kiln_load_u64(p) : 0;
}

static inline float
kiln_reader_f32(kiln_reader *reader)
{
	const uint8_t *p = kiln_reader_bytes(reader, 4);

	return p ? kiln_load_f32(p) : 0;
}

static inline double
kiln_reader_f64(kiln_reader *reader)
{
	const uint8_t *p = kiln_reader_bytes(reader, 8);

	return p ? kiln_load_f64(p) : 0;
}

static inline const uint8_t *
kiln_reader_span(kiln_reader *reader, uint32_t *length)
{
	const uint8_t *p;

	*length = kiln_reader_u32(reader);
	p = kiln_reader_bytes(reader, *length);
	if (reader->failed)
	{
		*length = 0;
		return NULL;
	}
	return p;
}

static inline uint32_t
kiln_reader_count(kiln_reader *reader, uint32_t least)
{
	uint32_t	count = kiln_reader_u32(reader);

	if ((uint64_t) count * least > kiln_reader_left(reader))
	{
		reader->failed = true;
		return 0;
	}
	return count;
}

/* ---- held */

static inline size_t
kiln_held_at(const kiln_held *held, size_t pos, size_t width)
{
	size_t		last = held->n - width;

	return pos < last ? pos : last;
}

static inline uint8_t
kiln_held_u8(const kiln_held *held, size_t pos)
{
	return held->data[kiln_held_at(held, pos, 1)];
}

static inline uint16_t
kiln_held_u16(const kiln_held *held, size_t pos)
{
	return kiln_load_u16(held->data + kiln_held_at(held, pos, 2));
}

static inline uint32_t
kiln_held_u32(const kiln_held *held, size_t pos)
{
	return kiln_load_u32(held->data + kiln_held_at(held, pos, 4));
}

static inline uint64_t
kiln_held_u64(const kiln_held *held, size_t pos)
{
	return kiln_load_u64(held->data + kiln_held_at(held, pos, 8));
}

static inline const uint8_t *
kiln_held_span(const kiln_held *held, size_t pos, uint32_t *length)
{
	size_t		at = kiln_held_at(held, pos, 4);
	size_t		left = held->n - at - 4;
	uint32_t	n = kiln_load_u32(held->data + at);

	*length = n < left ? n : (uint32_t) left;
	return held->data + at + 4;
}

static inline uint32_t
kiln_held_count(const kiln_held *held, size_t pos, uint32_t least)
{
	size_t		at = kiln_held_at(held, pos, 4);
	size_t		most = (held->n - at - 4) / least;
	uint32_t	n = kiln_load_u32(held->data + at);

	return n < most ? n : (uint32_t) most;
}

/* ---- writer */

/* Two or four moves that may overlap: none reads or writes outside the n bytes. to and data do not overlap. */
static inline void
kiln_copy_short(uint8_t *to, const void *data, size_t n)
{
	const uint8_t *from = (const uint8_t *) data;
	uint64_t	head;
	uint64_t	tail;
	uint32_t	small_head;
	uint32_t	small_tail;
	uint64_t	large_head[2];
	uint64_t	large_tail[2];
	uint64_t	larger_head[2];
	uint64_t	larger_tail[2];

	if (KILN_LIKELY(n <= 16))
	{
		if (n >= 8)
		{
			memcpy(&head, from, 8);
			memcpy(&tail, from + n - 8, 8);
			memcpy(to, &head, 8);
			memcpy(to + n - 8, &tail, 8);
		}
		else if (n >= 4)
		{
			memcpy(&small_head, from, 4);
			memcpy(&small_tail, from + n - 4, 4);
			memcpy(to, &small_head, 4);
			memcpy(to + n - 4, &small_tail, 4);
		}
		else if (n != 0)
		{
			to[0] = from[0];
			to[n / 2] = from[n / 2];
			to[n - 1] = from[n - 1];
		}
	}
	else if (n <= 64)
	{
		memcpy(large_head, from, 16);
		memcpy(large_tail, from + n - 16, 16);
		if (n > 32)
		{
			memcpy(larger_head, from + 16, 16);
			memcpy(larger_tail, from + n - 32, 16);
			memcpy(to + 16, larger_head, 16);
			memcpy(to + n - 32, larger_tail, 16);
		}
		memcpy(to, large_head, 16);
		memcpy(to + n - 16, large_tail, 16);
	}
	else
		memcpy(to, from, n);
}

static inline uint8_t *
kiln_put_u8(uint8_t *p, uint8_t v)
{
	*p = v;
	return p + 1;
}

static inline uint8_t *
kiln_put_u16(uint8_t *p, uint16_t v)
{
	kiln_store_u16(p, v);
	return p + 2;
}

static inline uint8_t *
kiln_put_u32(uint8_t *p, uint32_t v)
{
	kiln_store_u32(p, v);
	return p + 4;
}

static inline uint8_t *
kiln_put_u64(uint8_t *p, uint64_t v)
{
	kiln_store_u64(p, v);
	return p + 8;
}

static inline uint8_t *
kiln_put_f32(uint8_t *p, float v)
{
	kiln_store_f32(p, v);
	return p + 4;
}

static inline uint8_t *
kiln_put_f64(uint8_t *p, double v)
{
	kiln_store_f64(p, v);
	return p + 8;
}

static inline uint8_t *
kiln_put_bytes(uint8_t *p, const void *data, size_t n)
{
	kiln_copy_short(p, data, n);
	return p + n;
}

static inline uint8_t *
kiln_put_span(uint8_t *p, const void *data, uint32_t n)
{
	kiln_store_u32(p, n);
	kiln_copy_short(p + 4, data, n);
	return p + 4 + (size_t) n;
}

static inline void
kiln_writer_init(kiln_writer *writer, void *buffer, size_t capacity)
{
	writer->start = writer->pos = (uint8_t *) buffer;
	writer->end = capacity != 0 ? writer->start + capacity : writer->start;	/* no buffer at all is fine */
	writer->limit = SIZE_MAX;
	writer->grow = NULL;
	writer->context = NULL;
}

static inline void
kiln_writer_reset(kiln_writer *writer)
{
	writer->pos = writer->start;
}

static inline size_t
kiln_writer_length(const kiln_writer *writer)
{
	return (size_t) (writer->pos - writer->start);
}

static inline bool
kiln_writer_reserve(kiln_writer *writer, size_t n)
{
	if ((size_t) (writer->end - writer->pos) >= n)
		return true;
	return kiln_writer_reserve_slow(writer, n);
}

static inline void
kiln_writer_u8(kiln_writer *writer, uint8_t v)
{
	*writer->pos++ = v;
}

static inline void
kiln_writer_u16(kiln_writer *writer, uint16_t v)
{
	kiln_store_u16(writer->pos, v);
	writer->pos += 2;
}

static inline void
kiln_writer_u32(kiln_writer *writer, uint32_t v)
{
	kiln_store_u32(writer->pos, v);
	writer->pos += 4;
}

static inline void
kiln_writer_u64(kiln_writer *writer, uint64_t v)
{
	kiln_store_u64(writer->pos, v);
	writer->pos += 8;
}

static inline void
kiln_writer_f32(kiln_writer *writer, float v)
{
	kiln_store_f32(writer->pos, v);
	writer->pos += 4;
}

static inline void
kiln_writer_f64(kiln_writer *writer, double v)
{
	kiln_store_f64(writer->pos, v);
	writer->pos += 8;
}

static inline void
kiln_writer_bytes(kiln_writer *writer, const void *data, size_t n)
{
	writer->pos = kiln_put_bytes(writer->pos, data, n);
}

static inline void
kiln_writer_span(kiln_writer *writer, const void *data, uint32_t n)
{
	writer->pos = kiln_put_span(writer->pos, data, n);
}

#ifdef __cplusplus
}
#endif

#endif							/* KILN_H */
