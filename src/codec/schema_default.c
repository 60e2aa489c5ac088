/*
 * Defaults (FORMAT 1): the literal after "=" becomes a payload of the field's type.
 *
 * bool, integers, string and enum have literals of their own and take no other. Floats and numeric take an integer as
 * well. All types without a literal take x'payload', which goes through the validator as any bytes from outside do,
 * or '…', which the caller's reader of text turns into a payload; that is validated too.
 *
 * What does not fit is KILN_E_DEFAULT at the literal's first byte.
 */
#include "schema_internal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* Digits of an integer literal that can still be a finite double: a longer one is above 10^309. */
#define MAX_FLOAT_DIGITS	310

static bool
misfit(kiln_schema_parser *parser, const char *detail)
{
	return kiln_fail(parser->error, KILN_E_DEFAULT, parser->lexer.token.start, detail);
}

static bool
no_memory(kiln_schema_parser *parser)
{
	return kiln_fail(parser->error, KILN_E_MEMORY, parser->lexer.token.start, NULL);
}

/* Give the field a copy of n bytes as its default. */
static bool
set_default(kiln_schema_parser *parser, kiln_field *field, const void *payload, size_t n)
{
	if (n > KILN_MAX_DEFINITION)
		return kiln_fail(parser->error, KILN_E_LIMIT, parser->lexer.token.start, "default is larger than 1 MiB");
	field->default_payload = (const uint8_t *) kiln_arena_copy(&parser->arena, payload, n);
	field->default_length = (uint32_t) n;
	return field->default_payload != NULL || no_memory(parser);
}

static bool
is_word(const kiln_token *token, const char *word)
{
	return token->kind == KILN_TOKEN_WORD && token->length == strlen(word) &&
		memcmp(token->content, word, token->length) == 0;
}

static bool
bool_default(kiln_schema_parser *parser, kiln_field *field)
{
	const kiln_token *token = &parser->lexer.token;
	uint8_t		value = is_word(token, "true");

	if (!value && !is_word(token, "false"))
		return misfit(parser, "a bool's default is true or false");
	return set_default(parser, field, &value, 1);
}

/* The value of digits, if it fits 64 bits. */
static bool
read_magnitude(const char *digits, size_t n, uint64_t *value)
{
	uint64_t	v = 0;
	size_t		i;

	for (i = 0; i < n; i++)
	{
		uint64_t	digit = (uint64_t) (digits[i] - '0');

		if (v > (UINT64_MAX - digit) / 10)
			return false;
		v = v * 10 + digit;
	}
	*value = v;
	return true;
}

static bool
integer_default(kiln_schema_parser *parser, const kiln_type *type, kiln_field *field)
{
	const kiln_token *token = &parser->lexer.token;
	bool		negative;
	uint64_t	magnitude;
	uint64_t	most;
	uint8_t		payload[8];
	char		detail[KILN_ERROR_DETAIL];

	if (token->kind != KILN_TOKEN_INTEGER)
		return misfit(parser, "an integer's default is an integer without quotes");
	negative = token->content[0] == '-';
	if (type->kind <= KILN_I64)
		most = (UINT64_C(1) << (8 * type->width - 1)) - !negative;
	else
		most = negative ? 0 : UINT64_MAX >> (64 - 8 * type->width);
	if (!read_magnitude(token->content + negative, token->length - negative, &magnitude) || magnitude > most)
	{
		snprintf(detail, sizeof detail, "integer is out of range for %s", kiln_kind_word(type->kind));
		return misfit(parser, detail);
	}
	kiln_store_u64(payload, negative ? 0 - magnitude : magnitude);
	return set_default(parser, field, payload, type->width);
}

/* A payload of a length word and n bytes of room after it, for the field's default. */
static uint8_t *
span_default(kiln_schema_parser *parser, kiln_field *field, size_t n)
{
	uint8_t    *payload = (uint8_t *) kiln_arena_take_bytes(&parser->arena, 4 + n);

	if (payload == NULL)
	{
		no_memory(parser);
		return NULL;
	}
	kiln_store_u32(payload, (uint32_t) n);
	field->default_payload = payload;
	field->default_length = (uint32_t) (4 + n);
	return payload + 4;
}

static bool
string_default(kiln_schema_parser *parser, kiln_field *field)
{
	const kiln_token *token = &parser->lexer.token;
	uint8_t    *room;
	size_t		n;

	if (token->kind != KILN_TOKEN_STRING)
		return misfit(parser, "a string's default stands in single quotes");
	room = span_default(parser, field, token->length);
	if (room == NULL)
		return false;
	n = kiln_token_unquote(token, (char *) room);
	kiln_store_u32(room - 4, (uint32_t) n);
	field->default_length = (uint32_t) (4 + n);
	return true;
}

static bool
enum_default(kiln_schema_parser *parser, const kiln_type *type, kiln_field *field)
{
	const kiln_token *token = &parser->lexer.token;
	char		label[2 * KILN_MAX_NAME];
	int			position = -1;
	uint8_t		payload[2];

	if (token->kind != KILN_TOKEN_STRING)
		return misfit(parser, "an enum's default is one of its labels, in single quotes");
	if (token->length <= sizeof label)
		position = kiln_enum_find(type, label, kiln_token_unquote(token, label));
	if (position < 0)
		return misfit(parser, "default is not a label of the enum");
	kiln_store_u16(payload, (uint16_t) position);
	return set_default(parser, field, payload, sizeof payload);
}

/*
 * An integer literal as a float, rounded once. strtod() and strtof() ask the locale only about what is not a digit.
 * Zero has no sign: -0 is the integer 0 here as everywhere in definitions.
 */
static bool
float_default(kiln_schema_parser *parser, const kiln_type *type, kiln_field *field)
{
	const kiln_token *token = &parser->lexer.token;
	bool		negative = token->content[0] == '-';
	const char *digits = token->content + negative;
	size_t		n = token->length - negative;
	char		text[MAX_FLOAT_DIGITS + 1];
	double		value = HUGE_VAL;
	uint8_t		payload[8];

	if (n <= MAX_FLOAT_DIGITS)
	{
		memcpy(text, digits, n);
		text[n] = '\0';
		value = type->kind == KILN_F32 ? (double) strtof(text, NULL) : strtod(text, NULL);
	}
	if (isinf(value))
		return misfit(parser, "integer is out of range for the float");
	if (negative && value != 0)
		value = -value;
	if (type->kind == KILN_F32)
		kiln_store_f32(payload, (float) value);
	else
		kiln_store_f64(payload, value);
	return set_default(parser, field, payload, type->width);
}

/* The check for json values where the caller has given none: nothing passes. */
static bool
refuse_json(void *context, const uint8_t *text, size_t n)
{
	(void) context;
	(void) text;
	(void) n;
	return false;
}

/* Say of the literal what another part of the codec said of its value; only memory keeps its own code. */
static bool
misfit_because(kiln_schema_parser *parser, const kiln_error *why)
{
	if (why->code == KILN_E_MEMORY)
		return no_memory(parser);
	return misfit(parser, why->detail[0] != '\0' ? why->detail : kiln_error_text(why->code));
}

static bool
validate_default(kiln_schema_parser *parser, const kiln_type *type, const kiln_field *field)
{
	static const kiln_json_check refuse = {refuse_json, NULL};
	const kiln_json_check *json = parser->options.json != NULL ? parser->options.json : &refuse;
	kiln_error	why;

	memset(&why, 0, sizeof why);
	if (kiln_validate(type, field->default_payload, field->default_length, json, &why))
		return true;
	return misfit_because(parser, &why);
}

static bool
numeric_default(kiln_schema_parser *parser, const kiln_type *type, kiln_field *field)
{
	const kiln_token *token = &parser->lexer.token;
	bool		zero = token->content[token->content[0] == '-'] == '0';
	uint8_t    *room = span_default(parser, field, zero ? 1 : token->length);

	if (room == NULL)
		return false;
	memcpy(room, zero ? "0" : token->content, zero ? 1 : token->length);
	return validate_default(parser, type, field);
}

static uint8_t
hex_value(char c)
{
	if (c <= '9')
		return (uint8_t) (c - '0');
	return (uint8_t) ((c | 0x20) - 'a' + 10);
}

static bool
payload_default(kiln_schema_parser *parser, const kiln_type *type, kiln_field *field)
{
	const kiln_token *token = &parser->lexer.token;
	size_t		n = token->length / 2;
	uint8_t    *payload = (uint8_t *) kiln_arena_take_bytes(&parser->arena, n);
	size_t		i;

	if (payload == NULL)
		return no_memory(parser);
	for (i = 0; i < n; i++)
		payload[i] = (uint8_t) (hex_value(token->content[2 * i]) << 4 | hex_value(token->content[2 * i + 1]));
	field->default_payload = payload;
	field->default_length = (uint32_t) n;
	return validate_default(parser, type, field);
}

/*
 * '…' for a type without a literal. In a stored text this form can't be: there an empty payload takes the default's
 * place, so that the comparison with the canonical text ends here at the latest, and the reader of text is not
 * needed.
 */
static bool
text_default(kiln_schema_parser *parser, const kiln_type *type, kiln_field *field)
{
	const kiln_token *token = &parser->lexer.token;
	const char *text = token->content;
	size_t		length = token->length;
	const uint8_t *payload = NULL;
	size_t		payload_length = 0;
	char	   *unquoted = NULL;
	bool		good;
	kiln_error	why;

	if (parser->options.stored)
		return set_default(parser, field, NULL, 0);
	if (parser->options.literal == NULL)
		return misfit(parser, "this type's default has to be given as x'payload' here");
	if (token->doubled)
	{
		unquoted = kiln_allocate(parser->arena.allocator, length);
		if (unquoted == NULL)
			return no_memory(parser);
		length = kiln_token_unquote(token, unquoted);
		text = unquoted;
	}
	memset(&why, 0, sizeof why);
	why.code = KILN_E_DEFAULT;
	if (parser->options.literal(parser->options.literal_context, type, text, length, &payload, &payload_length, &why))
		good = set_default(parser, field, payload, payload_length);
	else
		good = misfit_because(parser, &why);
	kiln_release(parser->arena.allocator, unquoted);	/* the payload may have been a part of it */
	return good && validate_default(parser, type, field);
}

/* Literals of the types that have none of their own. */
static bool
other_default(kiln_schema_parser *parser, const kiln_type *type, kiln_field *field)
{
	switch (parser->lexer.token.kind)
	{
		case KILN_TOKEN_HEX:
			return payload_default(parser, type, field);
		case KILN_TOKEN_STRING:
			return text_default(parser, type, field);
		case KILN_TOKEN_INTEGER:
			if (type->kind == KILN_F32 || type->kind == KILN_F64)
				return float_default(parser, type, field);
			if (type->kind == KILN_NUMERIC)
				return numeric_default(parser, type, field);
			break;
		default:
			break;
	}
	return misfit(parser, "this type's default is given as 'text' or x'payload'");
}

bool
kiln_parse_default(kiln_schema_parser *parser, const kiln_type *type, kiln_field *field)
{
	bool		fits;

	if (parser->lexer.token.kind == KILN_TOKEN_END)
		return kiln_fail(parser->error, KILN_E_SYNTAX, parser->lexer.token.start, "expected a default");
	switch (type->kind)
	{
		case KILN_BOOL:
			fits = bool_default(parser, field);
			break;
		case KILN_I8:
		case KILN_I16:
		case KILN_I32:
		case KILN_I64:
		case KILN_U8:
		case KILN_U16:
		case KILN_U32:
		case KILN_U64:
			fits = integer_default(parser, type, field);
			break;
		case KILN_STRING:
			fits = string_default(parser, field);
			break;
		case KILN_ENUM:
			fits = enum_default(parser, type, field);
			break;
		default:
			fits = other_default(parser, type, field);
			break;
	}
	return fits && kiln_lexer_next(&parser->lexer);
}
