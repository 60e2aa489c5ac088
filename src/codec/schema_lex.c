/*
 * Tokens of a definition (FORMAT 1).
 *
 * One token at a time, from left to right; what is outside quotes and comments is ASCII, what is inside must be
 * UTF-8. A fault's offset is the character that can't stand where it does, the token's start where the token as a
 * whole is wrong, or the text's end where something is missing.
 *
 * The character tests are our own: those of <ctype.h> ask the locale.
 */
#include "schema_internal.h"

static bool
is_space(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

static bool
is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool
is_hex(char c)
{
	return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

static bool
is_word(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || is_digit(c);
}

static bool
is_control(char c)
{
	return (unsigned char) c < 0x20 || c == 0x7F;
}

/* Does a comment start at pos? */
static bool
is_comment(const kiln_lexer *lexer, size_t pos)
{
	return lexer->length - pos >= 2 && lexer->text[pos] == '-' && lexer->text[pos + 1] == '-';
}

static size_t
comment_end(const kiln_lexer *lexer, size_t pos)
{
	while (pos < lexer->length && lexer->text[pos] != '\n' && lexer->text[pos] != '\r')
		pos++;
	return pos;
}

size_t
kiln_lexer_peek(const kiln_lexer *lexer, size_t pos)
{
	while (pos < lexer->length)
	{
		if (is_space(lexer->text[pos]))
			pos++;
		else if (is_comment(lexer, pos))
			pos = comment_end(lexer, pos);
		else
			break;
	}
	return pos;
}

bool
kiln_lexer_peek_word(const kiln_lexer *lexer, size_t *pos, const char *word, size_t length)
{
	size_t		at = kiln_lexer_peek(lexer, *pos);
	size_t		i;

	if (length > lexer->length - at)
		return false;
	for (i = 0; i < length; i++)
	{
		char		c = lexer->text[at + i];

		if (c >= 'A' && c <= 'Z')
			c = (char) (c - 'A' + 'a');
		if (c != word[i])
			return false;
	}
	at += length;
	if (at < lexer->length && is_word(lexer->text[at]))
		return false;
	*pos = at;
	return true;
}

bool
kiln_lexer_is(const kiln_lexer *lexer, char mark)
{
	return lexer->token.kind == KILN_TOKEN_MARK && lexer->token.content[0] == mark;
}

/* Check that bytes [from, to) of the text are UTF-8; NULs are the caller's affair. */
static bool
check_utf8(kiln_lexer *lexer, size_t from, size_t to)
{
	bool		nul;

	while (from < to)
	{
		from += kiln_utf8_prefix((const uint8_t *) lexer->text + from, to - from, &nul);
		if (from == to)
			break;
		if (!nul)
			return kiln_fail(lexer->error, KILN_E_SYNTAX, from, "text is not valid UTF-8");
		from++;
	}
	return true;
}

/* Move pos over white space and comments to the next token. */
static bool
skip_space(kiln_lexer *lexer)
{
	size_t		end;

	for (;;)
	{
		while (lexer->pos < lexer->length && is_space(lexer->text[lexer->pos]))
			lexer->pos++;
		if (!is_comment(lexer, lexer->pos))
			return true;
		end = comment_end(lexer, lexer->pos);
		if (!check_utf8(lexer, lexer->pos, end))
			return false;
		lexer->pos = end;
	}
}

/* Make the token of what lies between start and pos. */
static bool
plain_token(kiln_lexer *lexer, kiln_token_kind kind, size_t start)
{
	lexer->token.kind = kind;
	lexer->token.doubled = false;
	lexer->token.start = start;
	lexer->token.content = lexer->text + start;
	lexer->token.length = lexer->pos - start;
	return true;
}

/* A name or string; pos is at its opening quote. */
static bool
quoted_token(kiln_lexer *lexer, kiln_token_kind kind)
{
	size_t		start = lexer->pos;
	char		quote = lexer->text[start];
	size_t		pos = start + 1;
	bool		doubled = false;

	for (; pos < lexer->length && !is_control(lexer->text[pos]); pos++)
	{
		if (lexer->text[pos] != quote)
			continue;
		if (pos + 1 == lexer->length || lexer->text[pos + 1] != quote)
			break;
		doubled = true;
		pos++;
	}
	if (!check_utf8(lexer, start + 1, pos))
		return false;
	if (pos == lexer->length)
		return kiln_fail(lexer->error, KILN_E_SYNTAX, pos, "unterminated quote");
	if (lexer->text[pos] != quote)
		return kiln_fail(lexer->error, KILN_E_SYNTAX, pos, "control characters can't stand in quotes");
	lexer->token.kind = kind;
	lexer->token.doubled = doubled;
	lexer->token.start = start;
	lexer->token.content = lexer->text + start + 1;
	lexer->token.length = pos - start - 1;
	lexer->pos = pos + 1;
	return true;
}

/* x'…'; pos is at the x. */
static bool
hex_token(kiln_lexer *lexer)
{
	size_t		start = lexer->pos;
	size_t		pos = start + 2;
	size_t		digits;

	while (pos < lexer->length && is_hex(lexer->text[pos]))
		pos++;
	digits = pos - start - 2;
	if (pos == lexer->length)
		return kiln_fail(lexer->error, KILN_E_SYNTAX, pos, "unterminated quote");
	if (lexer->text[pos] != '\'' || digits == 0 || digits % 2 != 0)
		return kiln_fail(lexer->error, KILN_E_SYNTAX, start,
						 "x'' takes an even number of hexadecimal digits, at least two");
	lexer->token.kind = KILN_TOKEN_HEX;
	lexer->token.doubled = false;
	lexer->token.start = start;
	lexer->token.content = lexer->text + start + 2;
	lexer->token.length = digits;
	lexer->pos = pos + 1;
	return true;
}

/* Digits, perhaps after a minus at pos. */
static bool
integer_token(kiln_lexer *lexer)
{
	size_t		start = lexer->pos;
	size_t		first = start + (lexer->text[start] == '-');

	lexer->pos = first;
	while (lexer->pos < lexer->length && is_digit(lexer->text[lexer->pos]))
		lexer->pos++;
	if (lexer->text[first] == '0' && lexer->pos - first > 1)
		return kiln_fail(lexer->error, KILN_E_SYNTAX, start, "an integer has no leading zeros");
	return plain_token(lexer, KILN_TOKEN_INTEGER, start);
}

bool
kiln_lexer_next(kiln_lexer *lexer)
{
	size_t		start;
	char		c;
	char		next;

	if (!skip_space(lexer))
		return false;
	start = lexer->pos;
	if (start == lexer->length)
		return plain_token(lexer, KILN_TOKEN_END, start);
	c = lexer->text[start];
	next = start + 1 < lexer->length ? lexer->text[start + 1] : '\0';
	if (c == '"')
		return quoted_token(lexer, KILN_TOKEN_NAME);
	if (c == '\'')
		return quoted_token(lexer, KILN_TOKEN_STRING);
	if (c == 'x' && next == '\'')
		return hex_token(lexer);
	if (is_digit(c) || (c == '-' && is_digit(next)))
		return integer_token(lexer);
	if (is_word(c))
	{
		while (lexer->pos < lexer->length && is_word(lexer->text[lexer->pos]))
			lexer->pos++;
		return plain_token(lexer, KILN_TOKEN_WORD, start);
	}
	if (c != '\0' && strchr("()<>[]?,=", c) != NULL)
	{
		lexer->pos++;
		return plain_token(lexer, KILN_TOKEN_MARK, start);
	}
	return kiln_fail(lexer->error, KILN_E_SYNTAX, start, "unexpected character");
}

size_t
kiln_token_unquote(const kiln_token *token, char *out)
{
	const char *from = token->content;
	const char *end = from + token->length;
	char		quote = token->kind == KILN_TOKEN_NAME ? '"' : '\'';
	char	   *to = out;

	if (!token->doubled)
	{
		if (token->length != 0)
			memcpy(out, from, token->length);
		return token->length;
	}
	while (from < end)
	{
		if (*from == quote)
			from++;				/* the first of two */
		*to++ = *from++;
	}
	return (size_t) (to - out);
}
