/*
 * Errors: the texts of codes, filling a kiln_error, and the path that grows in front as a failed walk unwinds.
 *
 * A path is built from its end: the innermost step is put down first, each level adds its own in front. When the
 * buffer is full the front is lost, for the steps near the fault say more; "..." then stands for it, and what is
 * prepended later falls into it too. No step begins with a dot (one with a dot in its name is quoted), so a leading
 * "..." can mean nothing else.
 */
#include "internal.h"

static const char *const error_texts[] = {
#define X(code, text) text,
	KILN_ERROR_MAP(X)
#undef X
};

const char *
kiln_error_text(kiln_code code)
{
	if ((unsigned) code >= KILN_E_COUNT_OF)
		return "unknown error";
	return error_texts[code];
}

/* Is this byte one inside a UTF-8 sequence? */
static bool
is_continuation(char byte)
{
	return ((unsigned char) byte & 0xC0) == 0x80;
}

bool
kiln_fail(kiln_error *error, kiln_code code, size_t offset, const char *detail)
{
	size_t		n;

	if (error == NULL)
		return false;
	error->code = code;
	error->offset = offset;
	error->path[0] = '\0';
	n = detail == NULL ? 0 : strlen(detail);
	if (n >= KILN_ERROR_DETAIL)
	{
		n = KILN_ERROR_DETAIL - 1;
		while (n > 0 && is_continuation(detail[n]))
			n--;
	}
	/* detail may be error->detail itself */
	if (n != 0)
		memmove(error->detail, detail, n);
	error->detail[n] = '\0';
	return false;
}

/* A text that is written from its end to its beginning. */
typedef struct backward
{
	char		bytes[KILN_ERROR_PATH];
	size_t		at;				/* the first byte written so far */
	bool		cut;			/* something did not fit */
} backward;

static void
put(backward *out, char byte)
{
	if (out->at == 0)
		out->cut = true;
	else
		out->bytes[--out->at] = byte;
}

/* Start a new path with error's present one at its end. False: the path takes no more. */
static bool
prepend_begin(const kiln_error *error, backward *out)
{
	size_t		n;

	if (error == NULL || strncmp(error->path, "...", 3) == 0)
		return false;
	n = strlen(error->path);
	out->at = KILN_ERROR_PATH - 1 - n;
	out->cut = false;
	memcpy(out->bytes + out->at, error->path, n + 1);
	if (n != 0 && error->path[0] != '[')
		put(out, '.');
	return true;
}

static void
prepend_end(kiln_error *error, const backward *out)
{
	size_t		from = out->at;
	size_t		dots = 0;

	if (out->cut)
	{
		dots = 3;
		from += dots;
		while (is_continuation(out->bytes[from]))
			from++;
		memcpy(error->path, "...", dots);
	}
	memcpy(error->path + dots, out->bytes + from, KILN_ERROR_PATH - from);
}

void
kiln_error_prepend_name(kiln_error *error, const char *name, size_t length)
{
	backward	out;
	bool		quoted = length == 0;
	size_t		i;

	if (!prepend_begin(error, &out))
		return;
	for (i = 0; i < length && !quoted; i++)
		quoted = name[i] == '.' || name[i] == '[' || name[i] == ']' || name[i] == '"';
	if (quoted)
		put(&out, '"');
	for (i = length; i > 0 && !out.cut; i--)
	{
		put(&out, name[i - 1]);
		if (name[i - 1] == '"')
			put(&out, '"');
	}
	if (quoted)
		put(&out, '"');
	prepend_end(error, &out);
}

void
kiln_error_prepend_index(kiln_error *error, uint64_t position)
{
	backward	out;

	if (!prepend_begin(error, &out))
		return;
	put(&out, ']');
	do
	{
		put(&out, (char) ('0' + position % 10));
		position /= 10;
	} while (position != 0);
	put(&out, '[');
	prepend_end(error, &out);
}
