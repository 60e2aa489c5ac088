/*
 * Definitions: from tokens to a tree of types, and the life of a schema.
 *
 * Recursive descent with one token of look-ahead. "level" is the number of levels open around what is being read. A
 * struct or dict counts its level when it opens; a "?" or "[]" comes behind what it encloses, so there the depth of
 * what was read counts too. Recursion is therefore never deeper than KILN_MAX_DEPTH, and time is linear in the text,
 * but for sorting names.
 *
 * Fields and labels wait in two growing arrays until their struct or enum is complete, because their number is not
 * known before; a struct's fields stand on those of the structs around it.
 */
#include "schema_internal.h"

#include <stdio.h>

static kiln_type *parse_type(kiln_schema_parser *parser, unsigned level, size_t *question);

/* ---- failing */

static bool
fail_here(kiln_schema_parser *parser, kiln_code code, const char *detail)
{
	return kiln_fail(parser->error, code, parser->lexer.token.start, detail);
}

/* detail: a phrase with one %.*s for some of the n bytes at what, which are shortened if they are many. */
static bool
fail_about(kiln_schema_parser *parser, kiln_code code, size_t offset, const char *detail, const char *what, size_t n)
{
	char		text[KILN_ERROR_DETAIL];
	int			shown = n <= KILN_MAX_NAME ? (int) n : KILN_MAX_NAME;

	snprintf(text, sizeof text, detail, shown, what, n <= KILN_MAX_NAME ? "" : "...");
	return kiln_fail(parser->error, code, offset, text);
}

static void *
no_memory(kiln_schema_parser *parser)
{
	fail_here(parser, KILN_E_MEMORY, NULL);
	return NULL;
}

static bool
expect(kiln_schema_parser *parser, char mark)
{
	static const char format[] = "expected \"%.*s\"%s";

	if (!kiln_lexer_is(&parser->lexer, mark))
		return fail_about(parser, KILN_E_SYNTAX, parser->lexer.token.start, format, &mark, 1);
	return kiln_lexer_next(&parser->lexer);
}

/* May one more level, around what is depth levels deep already, open here? */
static bool
check_depth(kiln_schema_parser *parser, unsigned level, unsigned depth)
{
	if (level + depth + 1 > KILN_MAX_DEPTH)
		return fail_here(parser, KILN_E_LIMIT, "definition is deeper than 32 levels");
	return true;
}

/*
 * An array with room for one more item behind count of them: the one given, or a larger one in its place. NULL
 * without memory, and then the given one stays.
 */
static void *
grow(kiln_schema_parser *parser, void *array, size_t item, size_t count, size_t *capacity)
{
	size_t		larger = *capacity == 0 ? 16 : *capacity * 2;
	void	   *moved;

	if (count < *capacity)
		return array;
	moved = kiln_allocate(parser->arena.allocator, larger * item);
	if (moved == NULL)
		return no_memory(parser);
	if (count != 0)
		memcpy(moved, array, count * item);
	kiln_release(parser->arena.allocator, array);
	*capacity = larger;
	return moved;
}

/* ---- names */

static bool
has_capital(const kiln_token *token)
{
	size_t		i;

	for (i = 0; i < token->length; i++)
	{
		if (token->content[i] >= 'A' && token->content[i] <= 'Z')
			return true;
	}
	return false;
}

/*
 * Read the current token, a word or a quoted name, as a name, and move to the next. The name is in the arena, with a
 * NUL behind it.
 */
static bool
parse_name(kiln_schema_parser *parser, const char **name, size_t *length)
{
	const kiln_token *token = &parser->lexer.token;
	char		raw[2 * KILN_MAX_RAW_NAME];
	char		normal[KILN_MAX_NAME + 1];
	const char *use = raw;
	size_t		n;
	bool		good;

	if (token->kind == KILN_TOKEN_WORD && has_capital(token))
		return fail_about(parser, KILN_E_NAME, token->start,
						  "a name with a capital letter must be quoted: \"%.*s%s\"", token->content, token->length);
	if (token->length > sizeof raw)
		return fail_here(parser, KILN_E_NAME, "name is longer than 63 bytes");
	n = kiln_token_unquote(token, raw);
	if (parser->options.stored)
		good = kiln_name_check(raw, n, parser->error);
	else
	{
		good = kiln_name_normalize(raw, n, normal, &n, parser->error);
		use = normal;
	}
	if (!good)
	{
		if (parser->error != NULL)
			parser->error->offset = token->start;
		return false;
	}
	*name = kiln_arena_copy(&parser->arena, use, n);
	*length = n;
	if (*name == NULL)
		return no_memory(parser) != NULL;
	return kiln_lexer_next(&parser->lexer);
}

/* ---- looking ahead */

static bool
is_exactly(const kiln_token *token, const char *word)
{
	return token->length == strlen(word) && memcmp(token->content, word, token->length) == 0;
}

/* Is the byte at pos, if there is one, that one? */
static bool
stands_at(const kiln_lexer *lexer, size_t pos, char mark)
{
	return pos < lexer->length && lexer->text[pos] == mark;
}

/* After a "(" at pos: does a number follow, as in numeric(10,2)? No field begins so. */
static bool
number_follows(const kiln_lexer *lexer, size_t pos)
{
	size_t		next = kiln_lexer_peek(lexer, pos + 1);

	if (next == lexer->length)
		return false;
	return (lexer->text[next] >= '0' && lexer->text[next] <= '9') || lexer->text[next] == '-';
}

/* ---- types */

/* One field, the current token being its name. */
static bool
parse_field(kiln_schema_parser *parser, unsigned level)
{
	kiln_pending_field pending;
	kiln_pending_field *fields;
	size_t		name_length;
	size_t		question;

	memset(&pending, 0, sizeof pending);
	pending.start = parser->lexer.token.start;
	if (!parse_name(parser, &pending.field.name, &name_length))
		return false;
	pending.field.name_length = (uint8_t) name_length;
	pending.field.type = parse_type(parser, level, &question);
	if (pending.field.type == NULL)
		return false;
	if (kiln_lexer_is(&parser->lexer, '='))
	{
		if (pending.field.type->kind == KILN_OPTIONAL)
			return fail_here(parser, KILN_E_DEFAULT, "an optional field takes no default");
		if (!kiln_lexer_next(&parser->lexer) ||
			!kiln_parse_default(parser, pending.field.type, &pending.field))
			return false;
	}
	fields = grow(parser, parser->fields, sizeof pending, parser->field_count, &parser->field_capacity);
	if (fields == NULL)
		return false;
	parser->fields = fields;
	parser->fields[parser->field_count++] = pending;
	return true;
}

/* Make a struct of the pending fields from first on. */
static kiln_type *
finish_struct(kiln_schema_parser *parser, const char *name, size_t name_length, size_t first)
{
	uint32_t	count = (uint32_t) (parser->field_count - first);
	const kiln_pending_field *pending = parser->fields + first;
	kiln_field *fields = kiln_arena_take(&parser->arena, count * sizeof *fields);
	kiln_type  *type;
	uint32_t	duplicate;
	uint32_t	i;

	if (fields == NULL)
		return no_memory(parser);
	for (i = 0; i < count; i++)
		fields[i] = pending[i].field;
	type = kiln_type_struct(&parser->arena, name, name_length, fields, count, &duplicate);
	if (type == NULL)
		return no_memory(parser);
	if (duplicate < count)
	{
		fail_about(parser, KILN_E_DUPLICATE, pending[duplicate].start, "field \"%.*s%s\" occurs more than once",
				   fields[duplicate].name, fields[duplicate].name_length);
		return NULL;
	}
	parser->field_count = first;
	return type;
}

/* A struct, the current token being its "("; name is NULL for an unnamed one. */
static kiln_type *
parse_struct(kiln_schema_parser *parser, unsigned level, const char *name, size_t name_length)
{
	size_t		first = parser->field_count;
	kiln_type  *type;

	if (!check_depth(parser, level, 0))
		return NULL;
	do
	{
		if (!kiln_lexer_next(&parser->lexer))
			return NULL;
		if (parser->lexer.token.kind != KILN_TOKEN_WORD && parser->lexer.token.kind != KILN_TOKEN_NAME)
		{
			fail_here(parser, KILN_E_SYNTAX, "expected a field's name");
			return NULL;
		}
		if (parser->field_count - first == KILN_MAX_FIELDS)
		{
			fail_here(parser, KILN_E_LIMIT, "struct has more than 1600 fields");
			return NULL;
		}
		if (!parse_field(parser, level + 1))
			return NULL;
	} while (kiln_lexer_is(&parser->lexer, ','));
	if (!kiln_lexer_is(&parser->lexer, ')'))
	{
		expect(parser, ')');
		return NULL;
	}
	type = finish_struct(parser, name, name_length, first);
	return type != NULL && kiln_lexer_next(&parser->lexer) ? type : NULL;
}

/* One label, the current token. */
static bool
parse_label(kiln_schema_parser *parser)
{
	const kiln_token *token = &parser->lexer.token;
	kiln_pending_label pending;
	kiln_pending_label *labels;
	char		text[2 * KILN_MAX_NAME];
	size_t		n;

	if (token->kind != KILN_TOKEN_STRING)
		return fail_here(parser, KILN_E_SYNTAX, "expected a label in single quotes");
	if (parser->label_count == KILN_MAX_LABELS)
		return fail_here(parser, KILN_E_LIMIT, "enum has more than 65535 labels");
	n = token->length <= sizeof text ? kiln_token_unquote(token, text) : sizeof text;
	if (n == 0 || n > KILN_MAX_NAME)
		return fail_here(parser, KILN_E_NAME, "a label has 1 to 63 bytes");
	pending.start = token->start;
	pending.label.length = (uint8_t) n;
	pending.label.text = kiln_arena_copy(&parser->arena, text, n);
	if (pending.label.text == NULL)
		return no_memory(parser) != NULL;
	labels = grow(parser, parser->labels, sizeof pending, parser->label_count, &parser->label_capacity);
	if (labels == NULL)
		return false;
	parser->labels = labels;
	parser->labels[parser->label_count++] = pending;
	return kiln_lexer_next(&parser->lexer);
}

/* Make an enum of the pending labels. */
static kiln_type *
finish_enum(kiln_schema_parser *parser)
{
	uint32_t	count = (uint32_t) parser->label_count;
	kiln_label *labels = kiln_arena_take(&parser->arena, count * sizeof *labels);
	kiln_type  *type;
	uint32_t	duplicate;
	uint32_t	i;

	if (labels == NULL)
		return no_memory(parser);
	for (i = 0; i < count; i++)
		labels[i] = parser->labels[i].label;
	type = kiln_type_enum(&parser->arena, labels, count, &duplicate);
	if (type == NULL)
		return no_memory(parser);
	if (duplicate < count)
	{
		fail_about(parser, KILN_E_DUPLICATE, parser->labels[duplicate].start, "label '%.*s%s' occurs more than once",
				   labels[duplicate].text, labels[duplicate].length);
		return NULL;
	}
	return type;
}

/* An enum, the current token being the word. */
static kiln_type *
parse_enum(kiln_schema_parser *parser)
{
	kiln_type  *type;

	parser->label_count = 0;
	if (!kiln_lexer_next(&parser->lexer))	/* "(" */
		return NULL;
	do
	{
		if (!kiln_lexer_next(&parser->lexer) || !parse_label(parser))
			return NULL;
	} while (kiln_lexer_is(&parser->lexer, ','));
	if (!kiln_lexer_is(&parser->lexer, ')'))
	{
		expect(parser, ')');
		return NULL;
	}
	type = finish_enum(parser);
	return type != NULL && kiln_lexer_next(&parser->lexer) ? type : NULL;
}

/* A dict, the current token being the word. */
static kiln_type *
parse_dict(kiln_schema_parser *parser, unsigned level)
{
	const kiln_type *element;
	kiln_type  *type;
	size_t		question;

	if (!kiln_lexer_next(&parser->lexer))
		return NULL;
	if (kiln_lexer_is(&parser->lexer, '<') && !check_depth(parser, level, 0))
		return NULL;
	if (!expect(parser, '<'))
		return NULL;
	element = parse_type(parser, level + 1, &question);
	if (element == NULL || !expect(parser, '>'))
		return NULL;
	type = kiln_type_wrap(&parser->arena, KILN_DICT, element);
	return type != NULL ? type : no_memory(parser);
}

/* A named struct, the current token being its name and a "(" coming next. */
static kiln_type *
parse_named_struct(kiln_schema_parser *parser, unsigned level)
{
	const char *name;
	size_t		length;

	if (!parse_name(parser, &name, &length))
		return NULL;
	return parse_struct(parser, level, name, length);
}

/* A scalar type; end is behind its last word. All its occurrences in a schema are one node. */
static kiln_type *
parse_scalar(kiln_schema_parser *parser, kiln_kind kind, size_t end)
{
	kiln_type **type = &parser->scalars[kind];

	do
	{
		if (!kiln_lexer_next(&parser->lexer))
			return NULL;
	} while (parser->lexer.token.start < end);
	if (*type == NULL)
		*type = kiln_type_scalar(&parser->arena, kind);
	return *type != NULL ? *type : no_memory(parser);
}

/* What an unquoted word in type position means. */
static kiln_type *
parse_word(kiln_schema_parser *parser, unsigned level)
{
	kiln_lexer *lexer = &parser->lexer;
	const kiln_token *token = &lexer->token;
	size_t		next = kiln_lexer_peek(lexer, lexer->pos);
	bool		opens = stands_at(lexer, next, '(');
	const kiln_type_word *word;
	size_t		end = 0;

	if (opens && is_exactly(token, "enum"))
		return parse_enum(parser);
	if (!opens && is_exactly(token, "dict"))
		return parse_dict(parser, level);
	word = kiln_find_type_word(lexer, &end);
	if (word != NULL && (opens ? number_follows(lexer, next)
						 : stands_at(lexer, kiln_lexer_peek(lexer, end), '(')))
	{
		fail_about(parser, KILN_E_SYNTAX, token->start, "type modifiers are not supported: %.*s%s(...)",
				   word->words, strlen(word->words));
		return NULL;
	}
	if (opens)
		return parse_named_struct(parser, level);
	if (word != NULL)
		return parse_scalar(parser, word->kind, end);
	fail_about(parser, KILN_E_UNKNOWN_TYPE, token->start, "unknown type \"%.*s%s\"", token->content, token->length);
	return NULL;
}

/* A type without what may follow it. */
static kiln_type *
parse_base(kiln_schema_parser *parser, unsigned level)
{
	kiln_lexer *lexer = &parser->lexer;

	switch (lexer->token.kind)
	{
		case KILN_TOKEN_WORD:
			return parse_word(parser, level);
		case KILN_TOKEN_NAME:
			if (stands_at(lexer, kiln_lexer_peek(lexer, lexer->pos), '('))
				return parse_named_struct(parser, level);
			fail_here(parser, KILN_E_SYNTAX, "a quoted word is a name, not a type");
			return NULL;
		default:
			if (kiln_lexer_is(lexer, '('))
				return parse_struct(parser, level, NULL, 0);
			fail_here(parser, KILN_E_SYNTAX, "expected a type");
			return NULL;
	}
}

/* After a "[": the "]", or why there is none. */
static bool
parse_list_end(kiln_schema_parser *parser)
{
	if (!kiln_lexer_next(&parser->lexer))
		return false;
	if (parser->lexer.token.kind == KILN_TOKEN_INTEGER)
		return fail_here(parser, KILN_E_SYNTAX, "fixed-size lists are not supported");
	return expect(parser, ']');
}

/*
 * A type and what follows it. *question: where the last "?" stands, if it is optional.
 */
static kiln_type *
parse_type(kiln_schema_parser *parser, unsigned level, size_t *question)
{
	kiln_lexer *lexer = &parser->lexer;
	kiln_type  *type = parse_base(parser, level);
	kiln_kind	kind;

	while (type != NULL && (kiln_lexer_is(lexer, '?') || kiln_lexer_is(lexer, '[')))
	{
		kind = kiln_lexer_is(lexer, '?') ? KILN_OPTIONAL : KILN_LIST;
		if (kind == KILN_OPTIONAL && type->kind == KILN_OPTIONAL)
		{
			fail_here(parser, KILN_E_SYNTAX, "a type can't be optional twice");
			return NULL;
		}
		if (!check_depth(parser, level, type->depth))
			return NULL;
		if (kind == KILN_OPTIONAL)
			*question = lexer->token.start;
		if (kind == KILN_OPTIONAL ? !kiln_lexer_next(lexer) : !parse_list_end(parser))
			return NULL;
		type = kiln_type_wrap(&parser->arena, kind, type);
		if (type == NULL)
			return no_memory(parser);
	}
	return type;
}

/* ---- schemas */

/* The whole text as one type. */
static kiln_type *
parse_definition(kiln_schema_parser *parser)
{
	kiln_type  *root;
	size_t		question = 0;

	if (parser->lexer.length > KILN_MAX_DEFINITION)
	{
		kiln_fail(parser->error, KILN_E_LIMIT, KILN_MAX_DEFINITION, "definition is longer than 1 MiB");
		return NULL;
	}
	if (!kiln_lexer_next(&parser->lexer))
		return NULL;
	root = parse_type(parser, 0, &question);
	if (root == NULL)
		return NULL;
	if (root->kind == KILN_OPTIONAL)
	{
		kiln_fail(parser->error, KILN_E_SYNTAX, question, "a definition can't be optional as a whole");
		return NULL;
	}
	if (parser->lexer.token.kind != KILN_TOKEN_END)
	{
		fail_here(parser, KILN_E_SYNTAX, "unexpected text after the definition");
		return NULL;
	}
	return root;
}

/* Must the given text be its own canonical text, and is it? */
static bool
check_canonical(kiln_schema_parser *parser, const kiln_schema *schema)
{
	size_t		n = schema->text_length < parser->lexer.length ? schema->text_length : parser->lexer.length;
	size_t		same = 0;

	if (!parser->options.stored)
		return true;
	while (same < n && schema->text[same] == parser->lexer.text[same])
		same++;
	if (same == schema->text_length && same == parser->lexer.length)
		return true;
	return kiln_fail(parser->error, KILN_E_NOT_CANONICAL, same, NULL);
}

/* Print the canonical text and make the schema. NULL on failure. */
static kiln_schema *
make_schema(kiln_schema_parser *parser, kiln_type *root)
{
	kiln_schema *schema = kiln_arena_take(&parser->arena, sizeof *schema);
	size_t		length = kiln_print_measure(root);
	char	   *text;

	if (schema == NULL)
		return no_memory(parser);
	if (length > KILN_MAX_DEFINITION)
	{
		fail_here(parser, KILN_E_LIMIT, "canonical text of the definition is longer than 1 MiB");
		return NULL;
	}
	text = kiln_arena_take_bytes(&parser->arena, length + 1);
	if (text == NULL)
		return no_memory(parser);
	kiln_print_write(root, text);
	text[length] = '\0';

	memset(schema, 0, sizeof *schema);
	schema->root = root;
	schema->text = text;
	schema->text_length = length;
	schema->hash = kiln_hash(text, length);
	if (parser->options.allocator != NULL)
		schema->allocator = *parser->options.allocator;
	return check_canonical(parser, schema) ? schema : NULL;
}

bool
kiln_schema_parse(const char *text, size_t length, const kiln_parse_options *options,
				  kiln_schema **schema, kiln_error *error)
{
	kiln_schema_parser parser;
	kiln_type  *root;

	memset(&parser, 0, sizeof parser);
	if (options != NULL)
		parser.options = *options;
	parser.error = error;
	parser.arena.allocator = parser.options.allocator;
	parser.lexer.text = text;
	parser.lexer.length = length;
	parser.lexer.error = error;

	root = parse_definition(&parser);
	*schema = root != NULL ? make_schema(&parser, root) : NULL;
	kiln_release(parser.arena.allocator, parser.fields);
	kiln_release(parser.arena.allocator, parser.labels);
	if (*schema == NULL)
	{
		kiln_arena_release(&parser.arena);
		return false;
	}
	(*schema)->chunks = parser.arena.chunks;
	return true;
}

void
kiln_schema_free(kiln_schema *schema)
{
	kiln_allocator allocator;
	kiln_arena	arena;

	if (schema == NULL)
		return;
	/* both are in what is being released */
	allocator = schema->allocator;
	arena.allocator = &allocator;
	arena.chunks = schema->chunks;
	kiln_arena_release(&arena);
}
