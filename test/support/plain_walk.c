/*
 * A plain walk over payloads: see plain_walk.h.
 */
#include "plain_walk.h"

#include <stdio.h>

/* ------------------------------------------------------------------ generic decode, by FORMAT 2 alone */

static uint32_t
word_at(const uint8_t *p)
{
	return p[0] | (uint32_t) p[1] << 8 | (uint32_t) p[2] << 16 | (uint32_t) p[3] << 24;
}

const uint8_t *
plain_end(const kiln_type *type, const uint8_t *p)
{
	uint32_t	n;
	uint32_t	i;

	switch (type->kind)
	{
		case KILN_BOOL:
		case KILN_I8:
		case KILN_U8:
			return p + 1;
		case KILN_I16:
		case KILN_U16:
		case KILN_ENUM:
			return p + 2;
		case KILN_I32:
		case KILN_U32:
		case KILN_F32:
		case KILN_DATE:
			return p + 4;
		case KILN_I64:
		case KILN_U64:
		case KILN_F64:
		case KILN_TIMESTAMP:
		case KILN_TIMESTAMPTZ:
			return p + 8;
		case KILN_UUID:
			return p + 16;
		case KILN_OPTIONAL:
			return *p == 0 ? p + 1 : plain_end(type->element, p + 1);
		case KILN_LIST:
			n = word_at(p);
			for (p += 4; n > 0; n--)
				p = plain_end(type->element, p);
			return p;
		case KILN_DICT:
			n = word_at(p);
			for (p += 4; n > 0; n--)
				p = plain_end(type->element, p + 4 + word_at(p));
			return p;
		case KILN_STRUCT:
			for (i = 0; i < type->count; i++)
				p = plain_end(type->fields[i].type, p);
			return p;
		default:
			return p + 4 + word_at(p);
	}
}

/* ------------------------------------------------------------------ random paths */

/* One literal step, quoted where FORMAT 6 asks for it, and now and then where it does not. */
static void
add_step(test_random *r, const char *name, size_t n, plain_place *out)
{
	bool		quote = n == 0 || test_random_once(r, 5);
	size_t		i;

	for (i = 0; i < n; i++)
		quote = quote || strchr(".[]\"", name[i]) != NULL;
	if (out->path.length > 0)
		test_bytes_text(&out->path, ".");
	if (!quote)
	{
		test_bytes_add(&out->path, name, n);
		return;
	}
	test_bytes_text(&out->path, "\"");
	for (i = 0; i < n; i++)
		test_bytes_text(&out->path, name[i] == '"' ? "\"\"" : (char[]) {name[i], 0});
	test_bytes_text(&out->path, "\"");
}

static void
step_struct(test_random *r, plain_place *out)
{
	const kiln_type *type = out->type;
	uint32_t	index = test_random_below(r, type->count);
	uint32_t	i;

	add_step(r, type->fields[index].name, type->fields[index].name_length, out);
	if (out->at != NULL)
	{
		for (i = 0; i < index; i++)
			out->at = plain_end(type->fields[i].type, out->at);
	}
	out->type = type->fields[index].type;
}

/* A position inside the list, or a little outside on either end. */
static void
step_list(test_random *r, plain_place *out)
{
	int64_t		count = out->at != NULL ? word_at(out->at) : 3;
	int64_t		asked = (int64_t) test_random_below(r, (uint32_t) (2 * count + 3)) - count - 1;
	int64_t		position = asked < 0 ? asked + count : asked;
	char		text[40];

	snprintf(text, sizeof text, "[%lld]", (long long) asked);
	test_bytes_text(&out->path, text);
	if (out->at != NULL && (position < 0 || position >= count))
		out->at = NULL;
	if (out->at != NULL)
	{
		for (out->at += 4; position > 0; position--)
			out->at = plain_end(out->type->element, out->at);
	}
	out->type = out->type->element;
}

/* A key of the dict, mostly; else one that it may lack. */
static void
step_dict(test_random *r, plain_place *out)
{
	uint32_t	count = out->at != NULL ? word_at(out->at) : 0;
	uint32_t	wanted = count > 0 && !test_random_once(r, 4) ? test_random_below(r, count) : UINT32_MAX;
	const uint8_t *p = out->at != NULL ? out->at + 4 : NULL;
	uint32_t	i;

	out->at = NULL;
	if (wanted == UINT32_MAX)
	{
		add_step(r, "~no such key~", 13, out);	/* longer than any key */
		p = NULL;
	}
	for (i = 0; p != NULL && i <= wanted; i++)
	{
		if (i == wanted)
		{
			add_step(r, (const char *) p + 4, word_at(p), out);
			out->at = p + 4 + word_at(p);
		}
		p = plain_end(out->type->element, p + 4 + word_at(p));
	}
	out->type = out->type->element;
}

void
plain_random_place(test_random *r, const kiln_type *root, const uint8_t *payload, plain_place *out)
{
	memset(out, 0, sizeof *out);
	out->type = root;
	out->at = payload;
	for (;;)
	{
		if (out->type->kind == KILN_OPTIONAL)
		{
			if (out->at != NULL)
				out->at = *out->at == 0 ? NULL : out->at + 1;
			out->type = out->type->element;
		}
		if (out->type->kind < KILN_OPTIONAL || test_random_once(r, 8))
			break;
		if (out->type->kind == KILN_STRUCT)
			step_struct(r, out);
		else if (out->type->kind == KILN_LIST)
			step_list(r, out);
		else
			step_dict(r, out);
	}
	test_bytes_u8(&out->path, 0);	/* for messages */
	out->path.length--;
}
