/*
 * Fuzz target: definitions.
 *
 * The input is a definition's text; no text may crash the parser. From one that is taken, this must follow: its
 * canonical text parses in both modes to the same text and hash; every name is found at its own position; sums and
 * depth agree with the parts; every default is valid. From one that is refused: an offset inside the text.
 *
 * A default given as '…' stands for its own bytes as payload, so that the validator sees what no encoder would make.
 */
#include <stdio.h>
#include <stdlib.h>

#include "kiln.h"

int			LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
require(bool holds, const char *what)
{
	if (holds)
		return;
	fprintf(stderr, "fuzz_schema: %s\n", what);
	abort();
}

static bool
literal_bytes(void *context, const kiln_type *type, const char *text, size_t length,
			  const uint8_t **payload, size_t *payload_length, kiln_error *error)
{
	(void) context;
	(void) type;
	if (length == 0)
		return kiln_fail(error, KILN_E_TYPE, 0, "empty");
	*payload = (const uint8_t *) text;
	*payload_length = length;
	return true;
}

/* Half of all texts are JSON; which, follows from the text alone. */
static bool
json_by_length(void *context, const uint8_t *text, size_t n)
{
	(void) context;
	(void) text;
	return n % 2 == 1;
}

static const kiln_json_check json = {json_by_length, NULL};

static void
check_names(const kiln_type *type)
{
	uint32_t	i;

	for (i = 0; i < type->count; i++)
	{
		if (type->kind == KILN_ENUM)
			require(kiln_enum_find(type, type->labels[i].text, type->labels[i].length) == (int) i, "label not found");
		else
			require(kiln_struct_find(type, type->fields[i].name, type->fields[i].name_length) == (int) i,
					"field not found");
	}
}

static void
check_type(const kiln_schema *schema, const kiln_type *type)
{
	uint64_t	least = 0;
	uint32_t	i;

	require(type->text >= schema->text && type->text_length > 0 &&
			type->text + type->text_length <= schema->text + schema->text_length, "text is no slice");
	require(type->depth <= KILN_MAX_DEPTH && type->least > 0 && (type->width == 0 || type->width == type->least),
			"sizes disagree");
	check_names(type);
	if (type->element != NULL)
	{
		require(type->depth == type->element->depth + 1, "depth");
		check_type(schema, type->element);
	}
	for (i = 0; type->kind == KILN_STRUCT && i < type->count; i++)
	{
		const kiln_field *field = &type->fields[i];

		least += field->type->least;
		require(field->type->depth < type->depth, "depth");
		require(field->default_payload == NULL ||
				kiln_validate(field->type, field->default_payload, field->default_length, &json, NULL),
				"default is not valid");
		check_type(schema, field->type);
	}
	require(type->kind != KILN_STRUCT || least == type->least, "least is not the sum");
}

static void
check_again(const kiln_schema *schema, bool stored)
{
	kiln_parse_options options = {.stored = stored, .json = &json};
	kiln_schema *again;

	require(kiln_schema_parse(schema->text, schema->text_length, &options, &again, NULL),
			"canonical text is refused");
	require(again->text_length == schema->text_length && again->hash == schema->hash &&
			memcmp(again->text, schema->text, schema->text_length) == 0, "canonical text changes");
	kiln_schema_free(again);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	kiln_parse_options options = {.literal = literal_bytes, .json = &json};
	kiln_parse_options stored = {.stored = true, .json = &json};
	const char *text = (const char *) data;
	kiln_schema *schema;
	kiln_error	error;

	if (kiln_schema_parse(text, size, &options, &schema, &error))
	{
		check_type(schema, schema->root);
		check_again(schema, false);
		check_again(schema, true);
		kiln_schema_free(schema);
	}
	else
		require(error.code != KILN_E_OK && error.offset <= size, "refused without a reason");

	if (kiln_schema_parse(text, size, &stored, &schema, &error))
	{
		require(schema->text_length == size && memcmp(schema->text, text, size) == 0, "stored text changes");
		kiln_schema_free(schema);
	}
	else
		require(error.offset <= size, "offset beyond the text");
	return 0;
}
