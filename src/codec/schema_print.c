/*
 * The canonical text of a definition (FORMAT 1), and its hash.
 *
 * One walk serves twice: without a buffer it counts bytes, with one it writes them and notes in each type which part
 * of the text is its own. So the text is allocated once, at its exact size, and slices never move.
 */
#include "schema_internal.h"

/*
 * Everything inline: the hash is part of the format and must not depend on the library that happens to be installed.
 */
#define XXH_INLINE_ALL
#include <xxhash.h>

typedef struct printer
{
	char	   *out;			/* NULL: only count */
	size_t		length;
} printer;

static void
put(printer *to, const char *bytes, size_t n)
{
	if (to->out != NULL && n != 0)
		memcpy(to->out + to->length, bytes, n);
	to->length += n;
}

static void
put_char(printer *to, char c)
{
	put(to, &c, 1);
}

/* A name is at most KILN_MAX_NAME bytes. quoted: whether it needs quotes although it is plain. */
static void
put_name(printer *to, const char *name, size_t length, bool quoted)
{
	char		text[2 * KILN_MAX_NAME + 2];

	if (quoted)
		put_char(to, '"');
	put(to, text, kiln_name_quote(name, length, text));
	if (quoted)
		put_char(to, '"');
}

/* '…' of a string or label. */
static void
put_string(printer *to, const char *s, size_t n)
{
	const char *end = s + n;
	const char *quote;

	put_char(to, '\'');
	while (s < end && (quote = memchr(s, '\'', (size_t) (end - s))) != NULL)
	{
		put(to, s, (size_t) (quote + 1 - s));
		put_char(to, '\'');
		s = quote + 1;
	}
	put(to, s, (size_t) (end - s));
	put_char(to, '\'');
}

static void
put_hex(printer *to, const uint8_t *bytes, size_t n)
{
	static const char digits[] = "0123456789abcdef";
	size_t		i;

	put(to, "x'", 2);
	for (i = 0; i < n; i++)
	{
		char		pair[2] = {digits[bytes[i] >> 4], digits[bytes[i] & 15]};

		put(to, pair, 2);
	}
	put_char(to, '\'');
}

static void
put_integer(printer *to, bool negative, uint64_t magnitude)
{
	char		text[20];
	size_t		at = sizeof text;

	do
	{
		text[--at] = (char) ('0' + magnitude % 10);
		magnitude /= 10;
	} while (magnitude != 0);
	if (negative)
		put_char(to, '-');
	put(to, text + at, sizeof text - at);
}

static void
put_default(printer *to, const kiln_field *field)
{
	const kiln_type *type = field->type;
	const uint8_t *payload = field->default_payload;
	const kiln_label *label;
	int64_t		number;

	switch (type->kind)
	{
		case KILN_BOOL:
			if (payload[0] != 0)
				put(to, "true", 4);
			else
				put(to, "false", 5);
			break;
		case KILN_I8:
		case KILN_I16:
		case KILN_I32:
		case KILN_I64:
			number = kiln_view_signed(type, payload);
			put_integer(to, number < 0, number < 0 ? 0 - (uint64_t) number : (uint64_t) number);
			break;
		case KILN_U8:
		case KILN_U16:
		case KILN_U32:
		case KILN_U64:
			put_integer(to, false, kiln_view_unsigned(type, payload));
			break;
		case KILN_STRING:
			put_string(to, (const char *) payload + 4, field->default_length - 4);
			break;
		case KILN_ENUM:
			label = &type->labels[kiln_load_u16(payload)];
			put_string(to, label->text, label->length);
			break;
		default:
			put_hex(to, payload, field->default_length);
			break;
	}
}

static void put_type(printer *to, kiln_type *type);

static void
put_struct(printer *to, const kiln_type *type)
{
	uint32_t	i;

	/* before "(" an unquoted enum would open a list of labels */
	if (type->name != NULL)
		put_name(to, type->name, type->name_length, type->name_length == 4 && memcmp(type->name, "enum", 4) == 0);
	for (i = 0; i < type->count; i++)
	{
		const kiln_field *field = &type->fields[i];

		put_char(to, i == 0 ? '(' : ',');
		put_name(to, field->name, field->name_length, false);
		put_char(to, ' ');
		put_type(to, (kiln_type *) field->type);
		if (field->default_payload != NULL)
		{
			put_char(to, '=');
			put_default(to, field);
		}
	}
	put_char(to, ')');
}

static void
put_enum(printer *to, const kiln_type *type)
{
	uint32_t	i;

	put(to, "enum", 4);
	for (i = 0; i < type->count; i++)
	{
		put_char(to, i == 0 ? '(' : ',');
		put_string(to, type->labels[i].text, type->labels[i].length);
	}
	put_char(to, ')');
}

/*
 * The tree is const to everyone but the parse that made it, which is still going on when this runs.
 */
static void
put_type(printer *to, kiln_type *type)
{
	size_t		start = to->length;
	const char *word;

	switch (type->kind)
	{
		case KILN_STRUCT:
			put_struct(to, type);
			break;
		case KILN_ENUM:
			put_enum(to, type);
			break;
		case KILN_DICT:
			put(to, "dict<", 5);
			put_type(to, (kiln_type *) type->element);
			put_char(to, '>');
			break;
		case KILN_LIST:
			put_type(to, (kiln_type *) type->element);
			put(to, "[]", 2);
			break;
		case KILN_OPTIONAL:
			put_type(to, (kiln_type *) type->element);
			put_char(to, '?');
			break;
		default:
			word = kiln_kind_word(type->kind);
			put(to, word, strlen(word));
			break;
	}
	if (to->out != NULL)
	{
		type->text = to->out + start;
		type->text_length = (uint32_t) (to->length - start);
	}
}

size_t
kiln_print_measure(const kiln_type *root)
{
	printer		to = {NULL, 0};

	put_type(&to, (kiln_type *) root);
	return to.length;
}

void
kiln_print_write(kiln_type *root, char *out)
{
	printer		to = {out, 0};

	put_type(&to, root);
}

uint64_t
kiln_hash(const void *data, size_t length)
{
	return XXH3_64bits(data, length);
}
