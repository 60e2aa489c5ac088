/*
 * JSON text: lexed once, into a tape of nodes.
 *
 * The tokens are core's (json_lex, which is told not to unescape: it would do so into the server's encoding, and
 * raise for what that lacks), but for the plainest. The grammar is a loop over a stack of levels, so that depth costs neither stack nor
 * surprise.
 *
 * A list starts as FLAT, which counts its scalars and keeps none. Only when a container turns up among them does it
 * become a LIST, and those that went before get their nodes after all. Strings are unescaped by whoever uses them.
 */
#include "kiln_text.h"

#include "miscadmin.h"

/* An object or list that is not closed yet. */
typedef struct KilnLevel
{
	uint32		node;
	uint32		count;
	bool		object;
} KilnLevel;

typedef struct KilnParser
{
	const char *text;
	size_t		length;
	JsonLexContext *lex;
	KilnJsonText *tape;			/* NULL: only a check */
	bool		as_jsonb;		/* check strings and numbers as jsonb does */
	kiln_error *error;
	int			levels;			/* most that may be open */
	int			level;			/* open now */
	KilnLevel	open[KILN_TEXT_LEVELS];
} KilnParser;

/* ------------------------------------------------------------------ words for messages */

const char *
kiln_node_word(KilnNodeKind kind)
{
	switch (kind)
	{
		case KILN_NODE_NULL:
			return "null";
		case KILN_NODE_FALSE:
			return "false";
		case KILN_NODE_TRUE:
			return "true";
		case KILN_NODE_NUMBER:
			return "a number";
		case KILN_NODE_OBJECT:
			return "an object";
		case KILN_NODE_LIST:
		case KILN_NODE_FLAT:
			return "a list";
		case KILN_NODE_STRING:
		case KILN_NODE_CONTENT:
			break;
	}
	return "a string";
}

const char *
kiln_clip(const char *text, size_t length, char *out)
{
	size_t		n = Min(length, 40);

	if (n < length)
		while (n > 0 && ((unsigned char) text[n] & 0xc0) == 0x80)
			n--;
	for (size_t i = 0; i < n; i++)
		out[i] = (unsigned char) text[i] < ' ' || text[i] == 0x7f ? '?' : text[i];
	strcpy(out + n, n < length ? "..." : "");
	return out;
}

static bool
is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

void
kiln_json_trim(const char **text, size_t *length)
{
	while (*length > 0 && is_space((*text)[0]))
	{
		(*text)++;
		(*length)--;
	}
	while (*length > 0 && is_space((*text)[*length - 1]))
		(*length)--;
}

/* ------------------------------------------------------------------ tape */

/* The first growth goes by the length of the text, which tells about how many nodes it will take. */
static pg_noinline void
tape_grow(KilnJsonText *tape)
{
	if (tape->nodes == tape->local)
	{
		tape->capacity = (uint32) Max(4 * KILN_LOCAL_NODES, Min(tape->length / 16, 4096));
		tape->nodes = palloc(tape->capacity * sizeof(KilnJsonNode));
		memcpy(tape->nodes, tape->local, sizeof tape->local);
		return;
	}
	tape->capacity *= 2;
	tape->nodes = repalloc_huge(tape->nodes, (Size) tape->capacity * sizeof(KilnJsonNode));
}

static inline void
tape_push(KilnJsonText *tape, KilnNodeKind kind, size_t start, size_t length)
{
	KilnJsonNode *node;

	if (unlikely(tape->count == tape->capacity))
		tape_grow(tape);
	node = &tape->nodes[tape->count++];
	node->start = (uint32) start;
	node->length = (uint32) length;
	node->next = tape->count;
	node->kind = kind;
	node->count = 0;
}

KilnJsonValue
kiln_json_flat_next(const char **pos)
{
	const char *p = *pos;
	KilnJsonValue value;

	while (is_space(*p) || *p == ',')
		p++;
	value.text = p;
	value.node = NULL;
	switch (*p)
	{
		case '"':
			for (value.text = ++p; *p != '"'; p++)
				if (*p == '\\')
					p++;
			value.kind = KILN_NODE_STRING;
			value.length = p - value.text;
			*pos = p + 1;
			return value;
		case 'n':
			value.kind = KILN_NODE_NULL;
			p += 4;
			break;
		case 't':
			value.kind = KILN_NODE_TRUE;
			p += 4;
			break;
		case 'f':
			value.kind = KILN_NODE_FALSE;
			p += 5;
			break;
		default:
			value.kind = KILN_NODE_NUMBER;
			while (*p != ',' && *p != ']' && !is_space(*p))
				p++;
			break;
	}
	value.length = p - value.text;
	*pos = p;
	return value;
}

/* A container stands in a list that was flat so far: its scalars get their nodes. */
static void
unflatten(KilnParser *parser, uint32 list)
{
	KilnJsonText *tape = parser->tape;
	uint32		count = parser->open[parser->level - 1].count;
	const char *pos = parser->text + tape->nodes[list].start + 1;

	tape->nodes[list].kind = KILN_NODE_LIST;
	for (uint32 i = 0; i < count; i++)
	{
		KilnJsonValue value = kiln_json_flat_next(&pos);

		tape_push(tape, value.kind, value.text - parser->text, value.length);
	}
}

KilnJsonValue
kiln_json_value(const KilnJsonText *json, uint32 node)
{
	const KilnJsonNode *at = &json->nodes[node];
	KilnJsonValue value;

	value.kind = (KilnNodeKind) at->kind;
	value.text = json->text + at->start;
	value.length = at->length;
	value.node = at;
	return value;
}

/* ------------------------------------------------------------------ strings */

static bool
escape_fault(kiln_json_escape fault, kiln_error *error)
{
	switch (fault)
	{
		case KILN_ESCAPE_GOOD:
			return true;
		case KILN_ESCAPE_NUL:
			return kiln_source_fail(error, ERRCODE_UNTRANSLATABLE_CHARACTER, "\\u0000 can't be stored");
		case KILN_ESCAPE_SURROGATE:
			return kiln_source_fail(error, ERRCODE_UNTRANSLATABLE_CHARACTER,
									"an escape is half of a surrogate pair");
		case KILN_ESCAPE_MALFORMED:
			break;
	}
	return kiln_source_fail(error, ERRCODE_INVALID_TEXT_REPRESENTATION, "malformed escape in a JSON string");
}

bool
kiln_json_string(const KilnJsonValue *value, MemoryContext context, const char **text, size_t *length,
				 kiln_error *error)
{
	char	   *copy;

	*text = value->text;
	*length = value->length;
	if (value->kind == KILN_NODE_CONTENT || value->length == 0 || memchr(value->text, '\\', value->length) == NULL)
		return true;
	copy = MemoryContextAllocHuge(context, value->length);
	*text = copy;
	return escape_fault(kiln_json_unescape((const uint8_t *) value->text, value->length, (uint8_t *) copy, length),
						error);
}

/* ------------------------------------------------------------------ grammar */

static bool
syntax_fault(KilnParser *parser, const char *wanted)
{
	JsonLexContext *lex = parser->lex;
	char		clip[KILN_CLIP];

	if (lex->token_start == NULL || lex->token_start >= parser->text + parser->length)
		return kiln_source_fail(parser->error, ERRCODE_INVALID_TEXT_REPRESENTATION,
								"the text ends too early (expected %s)", wanted);
	return kiln_source_fail(parser->error, ERRCODE_INVALID_TEXT_REPRESENTATION,
							"expected %s at byte %zu of the text, found \"%s\"", wanted,
							(size_t) (lex->token_start - parser->text),
							kiln_clip(lex->token_start, parser->text + parser->length - lex->token_start, clip));
}

/* json_lex() met something that is no token. */
static bool
token_fault(KilnParser *parser, JsonParseErrorType fault)
{
	const char *at = parser->lex->token_start;
	char		clip[KILN_CLIP];

	switch (fault)
	{
		case JSON_ESCAPING_INVALID:
		case JSON_UNICODE_ESCAPE_FORMAT:
			return escape_fault(KILN_ESCAPE_MALFORMED, parser->error);
		case JSON_ESCAPING_REQUIRED:
			return kiln_source_fail(parser->error, ERRCODE_INVALID_TEXT_REPRESENTATION,
									"a control character stands unescaped in a JSON string");
		default:
			return kiln_source_fail(parser->error, ERRCODE_INVALID_TEXT_REPRESENTATION,
									"malformed JSON at byte %zu of the text: \"%s\"",
									(size_t) (at - parser->text),
									kiln_clip(at, parser->text + parser->length - at, clip));
	}
}

static bool
number_fits(KilnParser *parser, const char *text, size_t length)
{
	KilnDecimal decimal;
	char		clip[KILN_CLIP];

	if (kiln_decimal_parse(text, length, &decimal) && kiln_decimal_fits_numeric(&decimal))
		return true;
	return kiln_source_fail(parser->error, ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE,
							"\"%s\" overflows the numeric format", kiln_clip(text, length, clip));
}

/* What jsonb makes of a string: its escapes must stand for characters, and it has a limit. */
static bool
string_fits(KilnParser *parser, const char *text, size_t length)
{
	size_t		unescaped = length;

	if (length > 0 && memchr(text, '\\', length) != NULL &&
		!escape_fault(kiln_json_unescape((const uint8_t *) text, length, NULL, &unescaped), parser->error))
		return false;
	if (unescaped > 0x0fffffff)
		return kiln_source_fail(parser->error, ERRCODE_PROGRAM_LIMIT_EXCEEDED,
								"a string in JSON text has more than %d bytes", 0x0fffffff);
	return true;
}

/* The token is a scalar or a key: check it, and give it a node if it needs one. */
static inline bool
take_scalar(KilnParser *parser, KilnNodeKind kind, bool key)
{
	const char *text = parser->lex->token_start;
	size_t		length = parser->lex->token_terminator - text;
	KilnLevel  *level = parser->level > 0 ? &parser->open[parser->level - 1] : NULL;

	if (kind == KILN_NODE_STRING)
	{
		text++;
		length -= 2;
	}
	if (parser->as_jsonb)
	{
		if (kind == KILN_NODE_STRING && !string_fits(parser, text, length))
			return false;
		if (kind == KILN_NODE_NUMBER && !number_fits(parser, text, length))
			return false;
	}
	if (parser->tape && (level == NULL || parser->tape->nodes[level->node].kind != KILN_NODE_FLAT))
		tape_push(parser->tape, kind, text - parser->text, length);
	if (level && !key)
		level->count++;
	return true;
}

static bool
open_container(KilnParser *parser, bool object)
{
	KilnLevel  *level;
	uint32		node = 0;

	if (parser->level == parser->levels)
		return kiln_source_fail(parser->error, ERRCODE_STATEMENT_TOO_COMPLEX,
								"JSON text nests more than %d levels", parser->levels);
	if (parser->tape)
	{
		if (parser->level > 0)
		{
			level = &parser->open[parser->level - 1];
			if (parser->tape->nodes[level->node].kind == KILN_NODE_FLAT)
				unflatten(parser, level->node);
		}
		node = parser->tape->count;
		tape_push(parser->tape, object ? KILN_NODE_OBJECT : KILN_NODE_FLAT, parser->lex->token_start - parser->text, 0);
	}
	if (parser->level > 0)
		parser->open[parser->level - 1].count++;
	level = &parser->open[parser->level++];
	level->node = node;
	level->count = 0;
	level->object = object;
	return true;
}

static void
close_container(KilnParser *parser)
{
	KilnLevel  *level = &parser->open[--parser->level];
	KilnJsonNode *node;

	if (parser->tape == NULL)
		return;
	node = &parser->tape->nodes[level->node];
	node->length = (uint32) (parser->lex->token_terminator - parser->text - node->start);
	node->next = parser->tape->count;
	node->count = level->count;
}

/* What may come next. */
typedef enum KilnExpect
{
	EXPECT_VALUE,
	EXPECT_VALUE_OR_END,		/* right after [ */
	EXPECT_KEY,
	EXPECT_KEY_OR_END,			/* right after { */
	EXPECT_COLON,
	EXPECT_MORE_OR_END,
	EXPECT_NOTHING
} KilnExpect;

static const char *
expected_word(const KilnParser *parser, KilnExpect expect)
{
	switch (expect)
	{
		case EXPECT_KEY:
		case EXPECT_KEY_OR_END:
			return "a key";
		case EXPECT_COLON:
			return "a colon";
		case EXPECT_MORE_OR_END:
			return parser->open[parser->level - 1].object ? "\",\" or \"}\"" : "\",\" or \"]\"";
		case EXPECT_NOTHING:
			return "the end";
		default:
			return "a value";
	}
}

/* After a value. */
static KilnExpect
after_value(const KilnParser *parser)
{
	return parser->level > 0 ? EXPECT_MORE_OR_END : EXPECT_NOTHING;
}

/* A token where a value may stand. False with *error filled, or with *misplaced set. */
static bool
take_value(KilnParser *parser, JsonTokenType token, KilnExpect *expect, bool *misplaced)
{
	switch (token)
	{
		case JSON_TOKEN_OBJECT_START:
			*expect = EXPECT_KEY_OR_END;
			return open_container(parser, true);
		case JSON_TOKEN_ARRAY_START:
			*expect = EXPECT_VALUE_OR_END;
			return open_container(parser, false);
		case JSON_TOKEN_STRING:
			*expect = after_value(parser);
			return take_scalar(parser, KILN_NODE_STRING, false);
		case JSON_TOKEN_NUMBER:
			*expect = after_value(parser);
			return take_scalar(parser, KILN_NODE_NUMBER, false);
		case JSON_TOKEN_TRUE:
			*expect = after_value(parser);
			return take_scalar(parser, KILN_NODE_TRUE, false);
		case JSON_TOKEN_FALSE:
			*expect = after_value(parser);
			return take_scalar(parser, KILN_NODE_FALSE, false);
		case JSON_TOKEN_NULL:
			*expect = after_value(parser);
			return take_scalar(parser, KILN_NODE_NULL, false);
		default:
			*misplaced = true;
			return false;
	}
}

/* A token that ends the innermost container? Then it is closed. */
static bool
take_end(KilnParser *parser, JsonTokenType token, KilnExpect *expect)
{
	bool		object = parser->open[parser->level - 1].object;

	if (token != (object ? JSON_TOKEN_OBJECT_END : JSON_TOKEN_ARRAY_END))
		return false;
	close_container(parser);
	*expect = after_value(parser);
	return true;
}

/* One token. The same returns. */
static bool
take_token(KilnParser *parser, JsonTokenType token, KilnExpect *expect, bool *misplaced)
{
	switch (*expect)
	{
		case EXPECT_VALUE_OR_END:
			if (take_end(parser, token, expect))
				return true;
			/* FALLTHROUGH */
		case EXPECT_VALUE:
			return take_value(parser, token, expect, misplaced);
		case EXPECT_KEY_OR_END:
			if (take_end(parser, token, expect))
				return true;
			/* FALLTHROUGH */
		case EXPECT_KEY:
			if (token != JSON_TOKEN_STRING)
				break;
			*expect = EXPECT_COLON;
			return take_scalar(parser, KILN_NODE_STRING, true);
		case EXPECT_COLON:
			if (token != JSON_TOKEN_COLON)
				break;
			*expect = EXPECT_VALUE;
			return true;
		case EXPECT_MORE_OR_END:
			if (take_end(parser, token, expect))
				return true;
			if (token != JSON_TOKEN_COMMA)
				break;
			*expect = parser->open[parser->level - 1].object ? EXPECT_KEY : EXPECT_VALUE;
			return true;
		case EXPECT_NOTHING:
			break;
	}
	*misplaced = true;
	return false;
}

/*
 * The tokens that most of a text is made of, punctuation and strings of plain ASCII, without a call. False: ask the lexer, which goes on
 * from the same place.
 */
static inline bool
lex_plain(JsonLexContext *lex, const char *end)
{
	const char *p = lex->token_terminator;

	while (p < end && *p == ' ')
		p++;
	if (p == end)
		return false;
	switch (*p)
	{
		case '{':
			lex->token_type = JSON_TOKEN_OBJECT_START;
			break;
		case '}':
			lex->token_type = JSON_TOKEN_OBJECT_END;
			break;
		case '[':
			lex->token_type = JSON_TOKEN_ARRAY_START;
			break;
		case ']':
			lex->token_type = JSON_TOKEN_ARRAY_END;
			break;
		case ',':
			lex->token_type = JSON_TOKEN_COMMA;
			break;
		case ':':
			lex->token_type = JSON_TOKEN_COLON;
			break;
		case '"':
			{
				const char *q = p + 1;

				while (q < end && *q >= ' ' && *q <= '~' && *q != '"' && *q != '\\')
					q++;
				if (q == end || *q != '"')
					return false;
				lex->token_type = JSON_TOKEN_STRING;
				lex->token_start = unconstify(char *, p);
				lex->token_terminator = unconstify(char *, q + 1);
				return true;
			}
		default:
			return false;
	}
	lex->token_start = unconstify(char *, p);
	lex->token_terminator = unconstify(char *, p + 1);
	return true;
}

/* Lex and parse the whole. The lexer's memory is given back; a check leaves nothing behind. */
static bool
parse_text(KilnParser *parser)
{
	KilnExpect	expect = EXPECT_VALUE;
	bool		good;

	if (parser->length > MaxAllocSize)
		return kiln_source_fail(parser->error, ERRCODE_PROGRAM_LIMIT_EXCEEDED, "JSON text is too long");
	parser->level = 0;
	parser->lex = kiln_json_lexer(unconstify(char *, parser->text), (int) parser->length);
	for (;;)
	{
		bool		misplaced = false;

		CHECK_FOR_INTERRUPTS();
		if (!lex_plain(parser->lex, parser->text + parser->length))
		{
			JsonParseErrorType fault = json_lex(parser->lex);

			if (fault != JSON_SUCCESS)
			{
				good = token_fault(parser, fault);
				break;
			}
		}
		if (parser->lex->token_type == JSON_TOKEN_END && expect == EXPECT_NOTHING)
		{
			good = true;
			break;
		}
		good = take_token(parser, parser->lex->token_type, &expect, &misplaced);
		if (misplaced)
			syntax_fault(parser, expected_word(parser, expect));
		if (!good)
			break;
	}
	pfree(parser->lex);
	return good;
}

bool
kiln_json_parse(KilnJsonText *json, const char *text, size_t length, int levels, kiln_error *error)
{
	KilnParser	parser;

	json->text = text;
	json->length = length;
	json->count = 0;
	json->capacity = KILN_LOCAL_NODES;
	json->nodes = json->local;
	parser.text = text;
	parser.length = length;
	parser.tape = json;
	parser.as_jsonb = false;
	parser.error = error;
	parser.levels = levels;
	return parse_text(&parser);
}

/* The kind of a value of well-formed text, by its first byte. */
static KilnNodeKind
kind_by_first(char c)
{
	switch (c)
	{
		case '{':
			return KILN_NODE_OBJECT;
		case '[':
			return KILN_NODE_LIST;
		case '"':
			return KILN_NODE_STRING;
		case 'n':
			return KILN_NODE_NULL;
		case 't':
			return KILN_NODE_TRUE;
		case 'f':
			return KILN_NODE_FALSE;
		default:
			return KILN_NODE_NUMBER;
	}
}

bool
kiln_json_check_text(const char *text, size_t length, KilnNodeKind *kind, kiln_error *error)
{
	KilnParser	parser;

	parser.text = text;
	parser.length = length;
	parser.tape = NULL;
	parser.as_jsonb = true;
	parser.error = error;
	parser.levels = KILN_JSON_LEVELS;
	if (!parse_text(&parser))
		return false;
	kiln_json_trim(&text, &length);
	if (kind)
		*kind = kind_by_first(text[0]);
	return true;
}

static bool
check_callback(void *context, const uint8_t *text, size_t n)
{
	return kiln_json_check_text((const char *) text, n, NULL, NULL);
}

const kiln_json_check kiln_pg_json_check = {check_callback, NULL};
