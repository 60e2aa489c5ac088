/*
 * What the files that read definitions share: tokens, memory, the state of a parse, the making of types.
 *
 *   schema_lex.c      text → tokens
 *   schema_word.c     the words that are types
 *   schema_parse.c    tokens → tree
 *   schema_default.c  the literal after a field's "=" → payload
 *   schema_name.c     names: normal form, checks, quotes
 *   schema_compile.c  a node's derived members, look-up by name
 *   schema_print.c    tree → canonical text and its hash
 *
 * A type is finished (but for its slice of the canonical text) as soon as it is made, bottom up, so that a default
 * can be validated against it while the text around it is still being read.
 *
 * All state of a parse is on the stack of kiln_schema_parse() or in memory of its allocator: an allocator that does
 * not return leaves nothing behind but what it has given out itself.
 */
#ifndef KILN_SCHEMA_INTERNAL_H
#define KILN_SCHEMA_INTERNAL_H

#include "internal.h"

/* ---- memory that lives as long as the schema: chunks in a list, released together (memory.c) */

typedef struct kiln_arena
{
	const kiln_allocator *allocator;
	void	   *chunks;			/* newest first */
} kiln_arena;

/* size bytes for any object, or for bytes without alignment; NULL without memory. */
void	   *kiln_arena_take(kiln_arena *arena, size_t size);
char	   *kiln_arena_take_bytes(kiln_arena *arena, size_t size);

/* A copy of n bytes with a NUL behind them. */
char	   *kiln_arena_copy(kiln_arena *arena, const void *bytes, size_t n);
void		kiln_arena_release(kiln_arena *arena);

/* ---- tokens (schema_lex.c) */

typedef enum kiln_token_kind
{
	KILN_TOKEN_END,				/* of the text */
	KILN_TOKEN_WORD,			/* [A-Za-z_][A-Za-z0-9_]* */
	KILN_TOKEN_NAME,			/* "…" */
	KILN_TOKEN_STRING,			/* '…' */
	KILN_TOKEN_HEX,				/* x'…', whole pairs of digits, at least one */
	KILN_TOKEN_INTEGER,			/* digits without a leading zero, perhaps after "-" */
	KILN_TOKEN_MARK				/* one of ( ) < > [ ] ? , = */
} kiln_token_kind;

/*
 * content is what stands between the quotes, doubled quotes as they are (doubled says whether there are any), and the
 * whole token where there are no quotes. Quoted content is UTF-8 without control characters.
 */
typedef struct kiln_token
{
	kiln_token_kind kind;
	bool		doubled;
	size_t		start;			/* in the text */
	const char *content;
	size_t		length;			/* of content */
} kiln_token;

typedef struct kiln_lexer
{
	const char *text;
	size_t		length;
	size_t		pos;			/* behind the token */
	kiln_token	token;
	kiln_error *error;
} kiln_lexer;

/* Read the next token into lexer->token. False: there is none that could be; *error says so. */
bool		kiln_lexer_next(kiln_lexer *lexer);

/* Is the token that mark? */
bool		kiln_lexer_is(const kiln_lexer *lexer, char mark);

/* Where the token after pos starts; the text's length if there is none. Looks ahead without errors. */
size_t		kiln_lexer_peek(const kiln_lexer *lexer, size_t pos);

/* Does this word, whatever its case, stand next after *pos? If so *pos moves behind it. word is in lower case. */
bool		kiln_lexer_peek_word(const kiln_lexer *lexer, size_t *pos, const char *word, size_t length);

/* Content with each doubled quote made one. out: token->length bytes; returns the bytes written. */
size_t		kiln_token_unquote(const kiln_token *token, char *out);

/* ---- type words (schema_word.c) */

typedef struct kiln_type_word
{
	const char *words;			/* in lower case, one space between two */
	kiln_kind	kind;
} kiln_type_word;

/*
 * The longest type word that starts with the current token, or NULL. *end: the position behind its last word.
 */
const kiln_type_word *kiln_find_type_word(const kiln_lexer *lexer, size_t *end);

/* ---- the parse (schema_parse.c, schema_default.c) */

typedef struct kiln_pending_field
{
	kiln_field	field;
	size_t		start;			/* of its name in the text */
} kiln_pending_field;

typedef struct kiln_pending_label
{
	kiln_label	label;
	size_t		start;
} kiln_pending_label;

typedef struct kiln_schema_parser
{
	kiln_lexer	lexer;
	kiln_parse_options options;
	kiln_error *error;
	kiln_arena	arena;			/* becomes the schema's */
	kiln_type  *scalars[KILN_ENUM]; /* one node for each scalar type that occurs */
	/* fields of the structs that are open, outermost first; labels of the enum that is open */
	kiln_pending_field *fields;
	size_t		field_count;
	size_t		field_capacity;
	kiln_pending_label *labels;
	size_t		label_count;
	size_t		label_capacity;
} kiln_schema_parser;

/* Read the literal that is the current token as type's default into *field, and move to the token behind it. */
bool		kiln_parse_default(kiln_schema_parser *parser, const kiln_type *type, kiln_field *field);

/* ---- names (schema_name.c) */

/* FORMAT 1's rules for a name that is not to be normalised; *error->offset counts in the name. */
bool		kiln_name_check(const char *name, size_t length, kiln_error *error);
bool		kiln_name_is_plain(const char *name, size_t length);

/* Longest raw name that is looked at: normalising never makes a name so long short enough (schema_name.c). */
#define KILN_MAX_RAW_NAME	(8 * KILN_MAX_NAME)

/* ---- types (schema_compile.c); NULL without memory */

kiln_type  *kiln_type_scalar(kiln_arena *arena, kiln_kind kind);
kiln_type  *kiln_type_wrap(kiln_arena *arena, kiln_kind kind, const kiln_type *element);

/*
 * name may be NULL; it, fields and labels must be in the arena. *duplicate: the first position whose name stands at
 * an earlier one too, else count.
 */
kiln_type  *kiln_type_struct(kiln_arena *arena, const char *name, size_t name_length,
							 const kiln_field *fields, uint32_t count, uint32_t *duplicate);
kiln_type  *kiln_type_enum(kiln_arena *arena, const kiln_label *labels, uint32_t count, uint32_t *duplicate);

/* ---- canonical text (schema_print.c) */

/* Bytes of the canonical text; write exactly those and set text in every node of the tree. */
size_t		kiln_print_measure(const kiln_type *root);
void		kiln_print_write(kiln_type *root, char *out);

#endif							/* KILN_SCHEMA_INTERNAL_H */
