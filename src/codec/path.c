/*
 * Paths (FORMAT 6): from text to steps, and from a name to its spelling in a path.
 *
 * The text is read twice by one scanner: first to check its syntax and count its steps, then to store them, so that
 * the steps and a copy of the text live in one chunk of memory. Names point into that copy; a quoted name is
 * unquoted in place, where it only shrinks.
 *
 * No value lies deeper than KILN_MAX_DEPTH levels of definition and the 200 levels of a json text below them. So only
 * the first PATH_STEPS steps are stored: the rest is checked for syntax and could lead nowhere, and a path of
 * a gigabyte of dots costs no more memory than its text.
 */
#include "internal.h"

#define PATH_STEPS	1024

typedef struct path_scanner
{
	const char *text;
	size_t		length;
	size_t		at;				/* the next byte to read */
	char	   *copy;			/* length bytes for names; NULL while counting */
} path_scanner;

static bool
path_special(char c)
{
	return c == '.' || c == '[' || c == ']' || c == '"';
}

/* A quoted step; the scanner stands on its opening quote. */
static bool
scan_quoted(path_scanner *in, kiln_path_step *step, kiln_error *error)
{
	size_t		open = in->at;
	size_t		from = open + 1;
	size_t		to = from;

	for (in->at = from; in->at < in->length; in->at++)
	{
		if (in->text[in->at] == '"')
		{
			if (in->at + 1 >= in->length || in->text[in->at + 1] != '"')
			{
				in->at++;
				step->name = in->copy ? in->copy + from : NULL;
				step->length = to - from;
				return true;
			}
			in->at++;
		}
		if (in->copy != NULL)
			in->copy[to] = in->text[in->at];
		to++;
	}
	return kiln_fail(error, KILN_E_PATH, open, "a quoted step has no closing quote");
}

/* A bare or quoted step. */
static bool
scan_name(path_scanner *in, kiln_path_step *step, kiln_error *error)
{
	size_t		from = in->at;

	step->is_index = false;
	step->index = 0;
	step->offset = from;
	if (from < in->length && in->text[from] == '"')
		return scan_quoted(in, step, error);
	while (in->at < in->length && !path_special(in->text[in->at]))
		in->at++;
	if (in->at == from)
		return kiln_fail(error, KILN_E_PATH, from, "expected a step");
	if (in->copy != NULL)
		memcpy(in->copy + from, in->text + from, in->at - from);
	step->name = in->copy ? in->copy + from : NULL;
	step->length = in->at - from;
	return true;
}

/* A position; the scanner stands on its bracket. Any number of digits: too large a position saturates. */
static bool
scan_index(path_scanner *in, kiln_path_step *step, kiln_error *error)
{
	size_t		digits;
	uint64_t	value = 0;
	bool		negative = false;

	step->is_index = true;
	step->offset = in->at++;
	step->name = NULL;
	step->length = 0;
	if (in->at < in->length && in->text[in->at] == '-')
	{
		negative = true;
		in->at++;
	}
	for (digits = in->at; in->at < in->length && in->text[in->at] >= '0' && in->text[in->at] <= '9'; in->at++)
	{
		uint64_t	digit = (uint64_t) (in->text[in->at] - '0');

		value = value > ((uint64_t) INT64_MAX - digit) / 10 ? (uint64_t) INT64_MAX : value * 10 + digit;
	}
	if (in->at == digits)
		return kiln_fail(error, KILN_E_PATH, in->at, "expected an integer in brackets");
	if (in->at >= in->length || in->text[in->at] != ']')
		return kiln_fail(error, KILN_E_PATH, in->at, "expected a closing bracket after a position");
	in->at++;
	step->index = negative ? -(int64_t) value : (int64_t) value;
	return true;
}

/* Read the whole text. steps: room for PATH_STEPS at most, or NULL to count; *count is the number stored. */
static bool
scan_path(path_scanner *in, kiln_path_step *steps, uint32_t *count, kiln_error *error)
{
	kiln_path_step step;

	*count = 0;
	for (in->at = 0; in->at < in->length;)
	{
		bool		good;

		if (in->text[in->at] == '[')
			good = scan_index(in, &step, error);
		else if (in->at == 0)
			good = scan_name(in, &step, error);
		else if (in->text[in->at] == '.')
		{
			in->at++;
			good = scan_name(in, &step, error);
		}
		else
			return kiln_fail(error, KILN_E_PATH, in->at, "expected . or [ after a step");
		if (!good)
			return false;
		if (*count < PATH_STEPS)
		{
			if (steps != NULL)
				steps[*count] = step;
			(*count)++;
		}
	}
	return true;
}

bool
kiln_path_parse(const char *text, size_t length, const kiln_allocator *allocator, kiln_path *path, kiln_error *error)
{
	path_scanner in = {text, length, 0, NULL};
	kiln_allocator none = {NULL, NULL, NULL};
	uint32_t	count;

	memset(path, 0, sizeof *path);
	path->allocator = allocator ? *allocator : none;
	if (!scan_path(&in, NULL, &count, error))
		return false;
	if (count == 0)
		return true;
	path->memory = kiln_allocate(allocator, count * sizeof(kiln_path_step) + length);
	if (path->memory == NULL)
		return kiln_fail(error, KILN_E_MEMORY, 0, NULL);
	path->steps = path->memory;
	in.copy = (char *) (path->steps + count);
	return scan_path(&in, path->steps, &path->count, error);
}

void
kiln_path_free(kiln_path *path)
{
	if (path->memory != NULL)
		kiln_release(path->allocator.allocate ? &path->allocator : NULL, path->memory);
	path->memory = NULL;
	path->steps = NULL;
	path->count = 0;
}

size_t
kiln_path_quote(const char *name, size_t length, bool first, char *out)
{
	bool		quote = length == 0;
	char	   *to = out;
	size_t		i;

	for (i = 0; i < length && !quote; i++)
		quote = path_special(name[i]);
	if (!first)
		*to++ = '.';
	if (!quote)
	{
		memcpy(to, name, length);
		return (size_t) (to - out) + length;
	}
	*to++ = '"';
	for (i = 0; i < length; i++)
	{
		if (name[i] == '"')
			*to++ = '"';
		*to++ = name[i];
	}
	*to++ = '"';
	return (size_t) (to - out);
}
