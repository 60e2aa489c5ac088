/*
 * What the files of the text form share (docs/FORMAT.md, section 5).
 *
 *   json_text.c      JSON text, lexed once into a tape of nodes
 *   source_json.c    such a tape as a source for the encoder
 *   number_in.c      decimal text into integers, floats and the spelling of numeric
 *   scalar_in.c      the other scalars from text; base64
 *   scalar_out.c     scalars to text
 *   print.c          a whole payload as JSON
 *   text_in.c        frames from text: the $kiln envelope in all its forms
 *   text_out.c       frames to text
 *   tensor_text.c    tensor directories from and to text
 *
 * All text in here is UTF-8; it comes in converted and goes out converted, whole. What can fail because of its
 * input fills a kiln_error and returns false.
 */
#ifndef KILN_TEXT_H
#define KILN_TEXT_H

#include "kiln_pg.h"

/* ------------------------------------------------------------------ json_text.c: JSON text as a tape */

/* Levels that JSON text may nest (FORMAT 5). */
#define KILN_JSON_LEVELS	200

/*
 * Levels of the text of a kiln value: a json field may use up its own 200 below the levels of the definition and
 * the envelope.
 */
#define KILN_TEXT_LEVELS	(KILN_JSON_LEVELS + KILN_MAX_DEPTH + 2)

typedef enum KilnNodeKind
{
	KILN_NODE_NULL,
	KILN_NODE_FALSE,
	KILN_NODE_TRUE,
	KILN_NODE_NUMBER,
	KILN_NODE_STRING,			/* span is what stands between the quotes, escapes unresolved */
	KILN_NODE_OBJECT,			/* pairs of nodes follow: key (a STRING) and value */
	KILN_NODE_LIST,				/* elements follow */
	KILN_NODE_FLAT,				/* a list of scalars only; they are read again from the text, and have no nodes */
	KILN_NODE_CONTENT			/* not in a tape: a string without quotes and escapes */
} KilnNodeKind;

/*
 * One value of a text. What a container holds stands right behind it, up to node number next. So a long list of
 * numbers costs one node, and a key, a nested container or a scalar beside one costs 16 bytes.
 */
typedef struct KilnJsonNode
{
	uint32		start;			/* bytes from the text's start */
	uint32		length;
	uint32		next;			/* number of the node behind this one and all that it holds */
	uint32		kind:3;			/* KilnNodeKind */
	uint32		count:29;		/* elements or pairs */
} KilnJsonNode;

/* Nodes that a tape has room for before it asks for memory. */
#define KILN_LOCAL_NODES	40

/* A text and its tape; node 0 is the whole value. It does not move, and lives in the memory context it was made in. */
typedef struct KilnJsonText
{
	const char *text;
	size_t		length;
	KilnJsonNode *nodes;
	uint32		count;
	uint32		capacity;
	KilnJsonNode local[KILN_LOCAL_NODES];
} KilnJsonText;

/* A value in hand: a scalar's span, or a container's node. */
typedef struct KilnJsonValue
{
	KilnNodeKind kind;
	const char *text;			/* scalars, as KilnJsonNode's span; containers: from bracket to bracket */
	size_t		length;
	const KilnJsonNode *node;	/* containers */
} KilnJsonValue;

/*
 * Lex a text that nests at most levels deep into a tape, in CurrentMemoryContext. Strings are not unescaped or
 * checked yet.
 */
extern bool kiln_json_parse(KilnJsonText *json, const char *text, size_t length, int levels, kiln_error *error);

/* Is it JSON that jsonb would take? White space around it is let pass. *kind, if not NULL, gets that of the whole. */
extern bool kiln_json_check_text(const char *text, size_t length, KilnNodeKind *kind, kiln_error *error);

/* The value at a node. */
extern KilnJsonValue kiln_json_value(const KilnJsonText *json, uint32 node);

/* The next scalar of a FLAT list. *pos starts at the byte after the bracket. There must be one left. */
extern KilnJsonValue kiln_json_flat_next(const char **pos);

/*
 * A STRING's or CONTENT's text without escapes: the span itself, or a copy in context.
 */
extern bool kiln_json_string(const KilnJsonValue *value, MemoryContext context, const char **text, size_t *length,
							 kiln_error *error);

/* Cut white space off both ends. */
extern void kiln_json_trim(const char **text, size_t *length);

/* How a value's kind is called in messages: "a number". */
extern const char *kiln_node_word(KilnNodeKind kind);

/* A piece of input for messages: cut to some forty bytes, control characters replaced. out holds KILN_CLIP bytes. */
#define KILN_CLIP 64
extern const char *kiln_clip(const char *text, size_t length, char *out);

/* ------------------------------------------------------------------ source_json.c */

typedef struct KilnDictEntry
{
	const char *key;
	size_t		length;
	uint32		node;			/* of the value */
} KilnDictEntry;

/* Where reading a list has got to. */
typedef struct KilnListCursor
{
	const KilnJsonNode *list;
	uint64		position;		/* of the element that comes next */
	uint32		node;			/* LIST */
	const char *pos;			/* FLAT */
} KilnListCursor;

/*
 * A tape as the encoder's source. Definitions don't recur, so at any time at most one value of each depth is being
 * encoded: what a struct, list or dict needs meanwhile is kept by its type's depth, and used again by the next of
 * that depth.
 */
typedef struct KilnJsonSource
{
	kiln_source source;			/* source.self leads here */
	const KilnJsonText *json;
	uint32		passed_over;	/* node of a key of the outermost object that is none of the value's: $kiln; 0: none */
	MemoryContext context;		/* of the tables below */
	MemoryContext scratch;		/* strings on their way to the encoder; made when first wanted */
	bool		scratch_used;
	uint32	   *slots[KILN_MAX_DEPTH + 1];	/* STRUCT: by field, the node of its key, 0 if it is missing */
	uint32		slot_count[KILN_MAX_DEPTH + 1];
	KilnDictEntry *dicts[KILN_MAX_DEPTH + 1];
	uint64		dict_count[KILN_MAX_DEPTH + 1];
	KilnListCursor lists[KILN_MAX_DEPTH + 1];	/* last: set when a list begins */
} KilnJsonSource;

/* Allocates in CurrentMemoryContext and, later, in the same context; json may be NULL if only CONTENT is read. */
extern void kiln_json_source_init(KilnJsonSource *source, const KilnJsonText *json);

/* Give back what is not freed with the memory context otherwise used: the context of strings on their way. */
extern void kiln_json_source_done(KilnJsonSource *source);
extern kiln_node kiln_json_source_node(const KilnJsonSource *source, uint32 node);
extern kiln_node kiln_json_content_node(const char *text, size_t length);

/* ------------------------------------------------------------------ number_in.c */

/* A JSON number taken apart. */
typedef struct KilnDecimal
{
	bool		negative;
	bool		zero;
	bool		integer;		/* has neither point nor exponent */
	bool		plain;			/* has no exponent */
	const char *whole;			/* digits before the point */
	size_t		whole_length;
	const char *fraction;		/* digits after it */
	size_t		fraction_length;
	int64		exponent;		/* as written, held to ±KILN_EXPONENT_MAX */
} KilnDecimal;

#define KILN_EXPONENT_MAX	INT64CONST(4000000000)

/* Does a text spell exactly one JSON number? */
extern bool kiln_decimal_parse(const char *text, size_t length, KilnDecimal *decimal);

/* Would numeric hold it: at most 131,072 digits before and 16,383 after the point, when it is written out? */
extern bool kiln_decimal_fits_numeric(const KilnDecimal *decimal);

/*
 * Decimal text into a number. kind or dtype says which; text is a JSON number or, for floats and numeric, one of
 * the words of FORMAT 5. The spelling of numeric may lead into text or is allocated in context.
 */
extern bool kiln_integer_in(uint8_t kind, const char *text, size_t length, kiln_scalar *value, kiln_error *error);
extern bool kiln_f32_in(const char *text, size_t length, bool words, float *value, kiln_error *error);
extern bool kiln_f64_in(const char *text, size_t length, bool words, double *value, kiln_error *error);
extern bool kiln_half_in(uint8_t dtype, const char *text, size_t length, bool words, uint16_t *value,
						 kiln_error *error);
extern bool kiln_numeric_in(const char *text, size_t length, bool words, MemoryContext context,
							const char **spelling, size_t *spelling_length, kiln_error *error);

/* ------------------------------------------------------------------ scalar_in.c */

extern bool kiln_uuid_in(const char *text, size_t length, uint8_t *uuid, kiln_error *error);
extern bool kiln_bytes_in(const char *text, size_t length, MemoryContext context,
						  const uint8_t **bytes, size_t *bytes_length, kiln_error *error);
extern bool kiln_date_in(const char *text, size_t length, int64_t *days, kiln_error *error);

/* timestamptz if zone is set. */
extern bool kiln_timestamp_in(const char *text, size_t length, bool zone, int64_t *microseconds, kiln_error *error);

/*
 * base64 of RFC 4648: padded, no line breaks, unused bits zero. kiln_base64_length() gives the bytes that text of
 * that length and padding stands for, or false; kiln_base64_decode() writes exactly those.
 */
extern bool kiln_base64_length(const char *text, size_t length, size_t *bytes);
extern bool kiln_base64_decode(const char *text, size_t length, uint8_t *out);
extern size_t kiln_base64_encoded(size_t bytes);
extern void kiln_base64_encode(const uint8_t *bytes, size_t n, char *out);

/* ------------------------------------------------------------------ scalar_out.c */

/* Shortest digits of a 16-bit float, as kiln_print_f64(). */
extern int	kiln_print_half(uint8_t dtype, uint16_t half, char *out);

/* An i8…i64 or u8…u64; out holds 32 bytes. */
extern int	kiln_print_integer(const kiln_type *type, const uint8_t *data, char *out);

/* Dates and timestamps; false if out of range. out holds KILN_PRINT_TIME bytes. */
#define KILN_PRINT_TIME 128
extern bool kiln_print_time(const kiln_type *type, const uint8_t *data, char *out);

extern int	kiln_print_uuid(const uint8_t *data, char *out);	/* 36 characters */

/* ------------------------------------------------------------------ print.c */

typedef enum KilnPrintFault
{
	KILN_PRINT_GOOD,
	KILN_PRINT_LIMIT,			/* the text would pass its limit */
	KILN_PRINT_UTF8,
	KILN_PRINT_NUMERIC,
	KILN_PRINT_TIMES,
	KILN_PRINT_DIRECTORY
} KilnPrintFault;

/*
 * The longest JSON that is printed: escapes for the server's encoding may make it three times as long, and that
 * has to fit into a buffer as well.
 */
#define KILN_PRINT_MAX	(MaxAllocSize / 3)

/* JSON under construction, in UTF-8. Nothing raises: false, and fault says why. */
typedef struct KilnPrinter
{
	StringInfo	buf;
	Size		limit;			/* of buf->len */
	KilnPrintFault fault;
	int			level;			/* containers that are open */
	uint64		filled;			/* bit level - 1: the container has a member already */
	bool		opened;			/* the outermost struct's bracket and envelope stand there already */
	const kiln_field *pending;	/* field whose name is written once its value turns out to be there */
} KilnPrinter;

extern void kiln_printer_init(KilnPrinter *printer, StringInfo buf, Size limit);
extern bool kiln_printer_room(KilnPrinter *printer, Size n);
extern bool kiln_printer_add(KilnPrinter *printer, const char *text, Size n);
extern bool kiln_printer_string(KilnPrinter *printer, const char *text, Size n);
extern bool kiln_printer_base64(KilnPrinter *printer, const uint8_t *bytes, Size n);	/* with quotes */
extern bool kiln_printer_float(KilnPrinter *printer, const char *digits, int n);	/* quotes what is no JSON number */
extern bool kiln_printer_value(KilnPrinter *printer, const kiln_type *type, const uint8_t *payload, size_t n);

/* Raise what stopped a printer. */
pg_noreturn extern void kiln_printer_report(const KilnPrinter *printer);

/* ------------------------------------------------------------------ encoding.c */

/* Is UTF-8 text as it stands right for the server? In SQL_ASCII any bytes are. */
static inline bool
kiln_server_takes_utf8(void)
{
	return GetDatabaseEncoding() == PG_UTF8 || GetDatabaseEncoding() == PG_SQL_ASCII;
}

/*
 * JSON text at buf[start …), in UTF-8, into the server's encoding, in place: characters that it lacks become escapes.
 */
extern void kiln_json_to_server(StringInfo buf, int start);

/* ------------------------------------------------------------------ tensor_text.c */

/* A tensors frame from the outermost object; passed_over as above. */
extern struct varlena *kiln_tensors_from_json(const KilnJsonText *json, uint32 passed_over, MemoryContext result,
											  kiln_error *error);

/* A tensors frame from a directory in base64. */
extern struct varlena *kiln_tensors_from_base64(const char *text, size_t length, kiln_error *error);

/* Decimal text into an element of a dtype other than bool, as the functions of number_in.c. */
extern bool kiln_dtype_number_in(uint8_t dtype, const char *text, size_t length, bool words, uint8_t *out, kiln_error *error);

/* One tensor without its name: {"dtype": …}. */
extern bool kiln_printer_tensor(KilnPrinter *printer, const kiln_tensor *tensor);

/* Members "name": {…} of a directory, into the object that the printer has open. */
extern bool kiln_printer_tensors(KilnPrinter *printer, const uint8_t *directory, size_t n);

#endif							/* KILN_TEXT_H */
