/*
 * Reader of the vector files: see jsonl.h.
 *
 * A row is never parsed into a tree. Each look-up runs over the row's own keys and skips the values between, which is
 * quick enough for files of a megabyte and needs no more than jsonl_skip().
 */
#include "jsonl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct jsonl_memory
{
	struct jsonl_memory *next;
} jsonl_memory;

static void
jsonl_broken(const char *what)
{
	fprintf(stderr, "jsonl: %s\n", what);
	abort();
}

/* Memory that lasts as long as the row. */
static void *
jsonl_allocate(jsonl *in, size_t size)
{
	jsonl_memory *memory = malloc(sizeof(jsonl_memory) + size);

	if (memory == NULL)
		jsonl_broken("out of memory");
	memory->next = in->memory;
	in->memory = memory;
	return memory + 1;
}

static void
jsonl_forget(jsonl *in)
{
	while (in->memory != NULL)
	{
		jsonl_memory *memory = in->memory;

		in->memory = memory->next;
		free(memory);
	}
}

bool
jsonl_open(jsonl *in, const char *name)
{
	const char *folder = getenv("KILN_VECTORS");
	char		path[4096];
	FILE	   *file;
	long		size;

	memset(in, 0, sizeof *in);
	snprintf(path, sizeof path, "%s/%s", folder != NULL ? folder : "test/vectors", name);
	file = fopen(path, "rb");
	if (file == NULL)
	{
		fprintf(stderr, "jsonl: can't open %s\n", path);
		return false;
	}
	fseek(file, 0, SEEK_END);
	size = ftell(file);
	rewind(file);
	if (size >= 0)
		in->file = malloc((size_t) size + 1);
	if (in->file == NULL || fread(in->file, 1, (size_t) size, file) != (size_t) size)
	{
		fprintf(stderr, "jsonl: can't read %s\n", path);
		free(in->file);
		fclose(file);
		memset(in, 0, sizeof *in);
		return false;
	}
	fclose(file);
	in->file[size] = '\0';
	in->rest = in->file;
	in->end = in->file + size;
	return true;
}

bool
jsonl_next(jsonl *in)
{
	const char *newline;

	jsonl_forget(in);
	in->row = NULL;
	if (in->rest == NULL || in->rest >= in->end)
		return false;
	newline = memchr(in->rest, '\n', (size_t) (in->end - in->rest));
	if (newline == NULL)
		newline = in->end;
	in->row = in->rest;
	in->row_length = (size_t) (newline - in->rest);
	in->rest = newline + (newline < in->end);
	if (in->row_length < 2 || in->row[0] != '{')
		jsonl_broken("a line is not an object");
	return true;
}

void
jsonl_close(jsonl *in)
{
	jsonl_forget(in);
	free(in->file);
	memset(in, 0, sizeof *in);
}

static const char *
jsonl_space(const char *p, const char *end)
{
	while (p < end && (*p == ' ' || *p == '\t'))
		p++;
	return p;
}

/* The byte after the string whose opening quote is at p. */
static const char *
jsonl_skip_string(const char *p, const char *end)
{
	for (p++; p < end && *p != '"'; p++)
		if (*p == '\\')
			p++;
	if (p >= end)
		jsonl_broken("unterminated string");
	return p + 1;
}

/* The byte after the value at p. */
static const char *
jsonl_skip(const char *p, const char *end)
{
	int			depth = 0;

	do
	{
		if (p >= end)
			jsonl_broken("unterminated value");
		else if (*p == '"')
			p = jsonl_skip_string(p, end);
		else if (*p == '{' || *p == '[')
			depth++, p++;
		else if (*p == '}' || *p == ']')
			depth--, p++;
		else if (depth > 0)
			p++;
		else
			while (p < end && strchr(",}] \t", *p) == NULL)
				p++;
	} while (depth > 0);
	return p;
}

const char *
jsonl_raw(jsonl *in, const char *key, size_t *length)
{
	size_t		key_length = strlen(key);
	const char *p;
	const char *end;

	if (in->row == NULL)
		jsonl_broken("there is no current row");
	end = in->row + in->row_length;
	p = jsonl_space(in->row + 1, end);
	while (p < end && *p == '"')
	{
		const char *name = p + 1;
		const char *after = jsonl_skip_string(p, end);
		const char *value;

		p = jsonl_space(after, end);
		if (p >= end || *p != ':')
			jsonl_broken("a key lacks its colon");
		value = jsonl_space(p + 1, end);
		p = jsonl_skip(value, end);
		if ((size_t) (after - 1 - name) == key_length && memcmp(name, key, key_length) == 0)
		{
			*length = (size_t) (p - value);
			return value;
		}
		p = jsonl_space(p, end);
		if (p < end && *p == ',')
			p = jsonl_space(p + 1, end);
	}
	return NULL;
}

/* As jsonl_raw(), but null is as good as absent. */
static const char *
jsonl_present(jsonl *in, const char *key, size_t *length)
{
	const char *raw = jsonl_raw(in, key, length);

	return raw != NULL && *length == 4 && memcmp(raw, "null", 4) == 0 ? NULL : raw;
}

static char *
jsonl_copy(jsonl *in, const char *text, size_t length)
{
	char	   *copy = jsonl_allocate(in, length + 1);

	memcpy(copy, text, length);
	copy[length] = '\0';
	return copy;
}

const char *
jsonl_string(jsonl *in, const char *key)
{
	size_t		length;
	const char *raw = jsonl_present(in, key, &length);

	if (raw == NULL)
		return NULL;
	if (raw[0] != '"')
		jsonl_broken("a value is not a string");
	return jsonl_copy(in, raw + 1, length - 2);
}

static int
jsonl_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	jsonl_broken("not a hex digit");
	return 0;
}

size_t
jsonl_decode(jsonl *in, const char *digits, uint8_t **bytes)
{
	size_t		n = strlen(digits);

	if (n % 2 != 0)
		jsonl_broken("odd number of hex digits");
	*bytes = jsonl_allocate(in, n / 2 + 1);
	for (size_t i = 0; i < n / 2; i++)
		(*bytes)[i] = (uint8_t) (jsonl_digit(digits[2 * i]) << 4 | jsonl_digit(digits[2 * i + 1]));
	(*bytes)[n / 2] = 0;
	return n / 2;
}

size_t
jsonl_hex(jsonl *in, const char *key, uint8_t **bytes)
{
	const char *digits = jsonl_string(in, key);

	return digits != NULL ? jsonl_decode(in, digits, bytes) : SIZE_MAX;
}

long long
jsonl_int(jsonl *in, const char *key, long long missing)
{
	size_t		length;
	const char *raw = jsonl_present(in, key, &length);

	return raw != NULL ? strtoll(raw, NULL, 10) : missing;
}

int
jsonl_bool(jsonl *in, const char *key)
{
	size_t		length;
	const char *raw = jsonl_present(in, key, &length);

	return raw != NULL ? raw[0] == 't' : -1;
}

bool
jsonl_sub(jsonl *in, const char *key, jsonl *out)
{
	size_t		length;
	const char *raw = jsonl_present(in, key, &length);

	memset(out, 0, sizeof *out);
	if (raw == NULL)
		return false;
	if (raw[0] != '{')
		jsonl_broken("a value is not an object");
	out->row = raw;
	out->row_length = length;
	return true;
}

size_t
jsonl_array(jsonl *in, const char *key, const char ***items)
{
	size_t		length;
	const char *raw = jsonl_present(in, key, &length);
	const char *end;
	const char *p;
	size_t		count = 0;

	if (raw == NULL)
		return SIZE_MAX;
	if (raw[0] != '[')
		jsonl_broken("a value is not an array");
	end = raw + length;
	/* An item takes at least its quotes, so that length is room enough. */
	*items = jsonl_allocate(in, length * sizeof(const char *));
	p = jsonl_space(raw + 1, end);
	while (p < end && *p == '"')
	{
		const char *after = jsonl_skip_string(p, end);

		(*items)[count++] = jsonl_copy(in, p + 1, (size_t) (after - p) - 2);
		p = jsonl_space(after, end);
		if (p < end && *p == ',')
			p = jsonl_space(p + 1, end);
	}
	if (p + 1 != end)
		jsonl_broken("an array holds more than strings");
	return count;
}
