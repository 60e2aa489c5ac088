/*
 * Random definitions: see random.h.
 *
 * The text is canonical as it is written: single blanks between name and type, quotes only where needed, names in
 * NFC. A default needs the payload of a type that exists only as text so far; that text is parsed by itself for it.
 */
#include "random.h"

#include <stdio.h>
#include <stdlib.h>

#define LEVELS	6			/* of nesting; the format allows 32 */

static const char *const scalar_words[] = {
	"bool", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f32", "f64", "string", "bytes", "uuid", "date",
	"timestamp", "timestamptz", "numeric", "json"
};

/* Names that need no quotes, type words among them, and names that do: all in NFC. */
static const char *const plain_names[] = {
	"a", "b", "id", "x", "name", "date", "i32", "enum", "true", "dict", "_", "z9_"
};
static const char *const quoted_names[] = {
	"Name", "with space", "a.b", "q\"uote", "[0]", "1st", "-", "it's", "a$b", "\xc3\xa9t\xc3\xa9",
	"\xe6\x97\xa5\xe6\x9c\xac", "\xf0\x9f\x98\x80"
};

#define NAMES	12

static void random_type(test_random *r, int levels, bool may_be_optional, test_bytes *out);

/* ------------------------------------------------------------------ names and labels */

static void
add_quoted(test_bytes *out, char quote, const char *text, size_t n)
{
	size_t		i;

	test_bytes_u8(out, (uint8_t) quote);
	for (i = 0; i < n; i++)
	{
		if (text[i] == quote)
			test_bytes_u8(out, (uint8_t) quote);
		test_bytes_u8(out, (uint8_t) text[i]);
	}
	test_bytes_u8(out, (uint8_t) quote);
}

/* A name that differs from those of all other positions. */
static void
add_name(test_random *r, uint32_t position, test_bytes *out)
{
	char		name[80];
	bool		plain = !test_random_once(r, 4);
	const char *word = (plain ? plain_names : quoted_names)[test_random_below(r, NAMES)];

	if (position == 0)
		snprintf(name, sizeof name, "%s", word);
	else
		snprintf(name, sizeof name, "%s_%u", word, (unsigned) position);
	if (plain)
		test_bytes_text(out, name);
	else
		add_quoted(out, '"', name, strlen(name));
}

static void
add_enum(test_random *r, test_bytes *out)
{
	static const char *const words[] = {"on", "off", "it's", "Two Words", "\xc3\x9f", "\"", ","};
	uint32_t	n = 1 + test_random_below(r, test_random_once(r, 20) ? 300 : 5);
	uint32_t	i;
	char		label[80];

	test_bytes_text(out, "enum(");
	for (i = 0; i < n; i++)
	{
		const char *word = words[test_random_below(r, sizeof words / sizeof words[0])];

		snprintf(label, sizeof label, "%s%u", word, (unsigned) i);
		add_quoted(out, '\'', label, strlen(label));
		test_bytes_text(out, i + 1 < n ? "," : ")");
	}
}

/* ------------------------------------------------------------------ defaults */

/* An integer default: any value that type holds. */
static void
add_integer(test_random *r, const kiln_type *type, test_bytes *out)
{
	char		digits[32];
	uint64_t	bits = test_random_next(r) >> test_random_below(r, 64);
	int			shift = 64 - 8 * (int) type->width;

	if (type->kind >= KILN_U8 && type->kind <= KILN_U64)
		snprintf(digits, sizeof digits, "%llu", (unsigned long long) (bits << shift >> shift));
	else
	{
		int64_t		most = (int64_t) (UINT64_MAX >> 1 >> shift);
		int64_t		value = (int64_t) (bits & (uint64_t) most);

		snprintf(digits, sizeof digits, "%lld", (long long) (test_random_once(r, 2) ? -value - 1 : value));
	}
	test_bytes_text(out, digits);
}

/* A string default: no control characters in it. */
static void
add_string_default(test_random *r, test_bytes *out)
{
	test_bytes	text = {0};
	size_t		i;

	test_random_string(r, test_random_below(r, 8), &text);
	for (i = 0; i < text.length; i++)
	{
		if (text.data[i] < 0x20 || text.data[i] == 0x7f)
			text.data[i] = '\'';
	}
	add_quoted(out, '\'', (const char *) text.data, text.length);
	test_bytes_free(&text);
}

static void
add_payload_default(test_random *r, const kiln_type *type, test_bytes *out)
{
	test_bytes	payload = {0};
	size_t		i;
	char		digits[3];

	test_random_payload(r, type, &payload);
	test_bytes_text(out, "x'");
	for (i = 0; i < payload.length; i++)
	{
		snprintf(digits, sizeof digits, "%02x", payload.data[i]);
		test_bytes_text(out, digits);
	}
	test_bytes_text(out, "'");
	test_bytes_free(&payload);
}

/* A default for the type whose text is given, in that type's own literal if it has one. */
static void
add_default(test_random *r, const char *text, size_t length, test_bytes *out)
{
	kiln_parse_options options = {0};
	kiln_schema *schema;
	kiln_error	error;
	const kiln_type *type;

	options.json = &test_json_any;
	if (!kiln_schema_parse(text, length, &options, &schema, &error))
	{
		fprintf(stderr, "generated type is refused at %zu: %s %s\n%.*s\n", error.offset, kiln_error_text(error.code),
				error.detail, (int) length, text);
		abort();
	}
	type = schema->root;
	test_bytes_text(out, "=");
	if (type->kind == KILN_BOOL)
		test_bytes_text(out, test_random_once(r, 2) ? "true" : "false");
	else if (type->kind >= KILN_I8 && type->kind <= KILN_U64)
		add_integer(r, type, out);
	else if (type->kind == KILN_STRING)
		add_string_default(r, out);
	else if (type->kind == KILN_ENUM)
	{
		const kiln_label *label = &type->labels[test_random_below(r, type->count)];

		add_quoted(out, '\'', label->text, label->length);
	}
	else
		add_payload_default(r, type, out);
	kiln_schema_free(schema);
}

/* ------------------------------------------------------------------ types */

static void
add_field(test_random *r, uint32_t position, int levels, test_bytes *out)
{
	size_t		start;

	add_name(r, position, out);
	test_bytes_text(out, " ");
	start = out->length;
	random_type(r, levels, true, out);
	if (out->data[out->length - 1] != '?' && test_random_once(r, 6))
	{
		test_bytes	type = {0};

		test_bytes_add(&type, out->data + start, out->length - start);
		add_default(r, (const char *) type.data, type.length, out);
		test_bytes_free(&type);
	}
}

static void
add_struct(test_random *r, int levels, test_bytes *out)
{
	static const char *const names[] = {"", "", "point", "date", "\"enum\"", "\"Big Name\"", "\"\xc3\xa9\""};
	bool		wide = test_random_once(r, 25);
	uint32_t	n = wide ? 60 + test_random_below(r, 80) : 1 + test_random_below(r, 7);
	uint32_t	i;

	test_bytes_text(out, names[test_random_below(r, sizeof names / sizeof names[0])]);
	test_bytes_text(out, "(");
	for (i = 0; i < n; i++)
	{
		add_field(r, i, wide ? (levels > 1 ? 1 : 0) : levels, out);
		test_bytes_text(out, i + 1 < n ? "," : ")");
	}
}

/* A type of at most that many levels. may_be_optional: not at the top, and not before another "?". */
static void
random_type(test_random *r, int levels, bool may_be_optional, test_bytes *out)
{
	uint32_t	choice = levels > 0 ? test_random_below(r, 14) : test_random_below(r, 7);

	switch (choice)
	{
		case 6:
			add_enum(r, out);
			break;
		case 7:
		case 8:
			random_type(r, levels - 1, !may_be_optional, out);
			test_bytes_text(out, may_be_optional ? "?" : "[]");
			break;
		case 9:
		case 10:
			random_type(r, levels - 1, true, out);
			test_bytes_text(out, "[]");
			break;
		case 11:
			test_bytes_text(out, "dict<");
			random_type(r, levels - 1, true, out);
			test_bytes_text(out, ">");
			break;
		case 12:
		case 13:
			add_struct(r, levels - 1, out);
			break;
		default:
			test_bytes_text(out, scalar_words[test_random_below(r, sizeof scalar_words / sizeof scalar_words[0])]);
			break;
	}
}

void
test_random_definition(test_random *r, test_bytes *text)
{
	int			levels = (int) test_random_below(r, LEVELS + 1);

	if (levels > 0 && !test_random_once(r, 4))
		add_struct(r, levels - 1, text);
	else
		random_type(r, levels, false, text);
}
