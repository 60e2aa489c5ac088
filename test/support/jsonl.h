/*
 * Reader of the vector files: one JSON object a line.
 *
 * The files are written by a known program, so this is a reader, not a checker: a row it can't follow ends the test
 * run with a message. Keys are looked up among the row's own, not inside nested values. Strings are given raw,
 * as they stand between their quotes; what may hold escapes has an X_hex twin in the files, which jsonl_hex() reads.
 *
 * All that a function returns belongs to the jsonl it came from and lasts until its next jsonl_next() or jsonl_close().
 */
#ifndef JSONL_H
#define JSONL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct jsonl
{
	char	   *file;			/* the whole file, NULL for a nested object */
	const char *rest;			/* where the next line starts */
	const char *end;			/* end of the file */
	const char *row;			/* the current object, from its brace */
	size_t		row_length;
	struct jsonl_memory *memory;	/* handed out for the current row */
} jsonl;

/*
 * Open a file of the folder that the environment variable KILN_VECTORS names, else test/vectors. Says so on stderr
 * and returns false if it can't be read.
 */
bool		jsonl_open(jsonl *in, const char *name);

/* Go to the next row; false at the end. */
bool		jsonl_next(jsonl *in);

void		jsonl_close(jsonl *in);

/* The raw JSON text of a value, not NUL-terminated; NULL if the row lacks the key. */
const char *jsonl_raw(jsonl *in, const char *key, size_t *length);

/* A string's raw bytes, NUL-terminated; NULL if the key is absent or null. */
const char *jsonl_string(jsonl *in, const char *key);

/* A string of hex digits, decoded and NUL-terminated; the number of bytes, or SIZE_MAX if the key is absent or null. */
size_t		jsonl_hex(jsonl *in, const char *key, uint8_t **bytes);

/* A number; missing if the key is absent or null. */
long long	jsonl_int(jsonl *in, const char *key, long long missing);

/* 1 or 0; -1 if the key is absent or null. */
int			jsonl_bool(jsonl *in, const char *key);

/* Read inside a nested object, to be closed before the next row; false if the key is absent or null. */
bool		jsonl_sub(jsonl *in, const char *key, jsonl *out);

/* An array of strings, each raw and NUL-terminated; their number, or SIZE_MAX if the key is absent or null. */
size_t		jsonl_array(jsonl *in, const char *key, const char ***items);

/* Decode hex digits given by jsonl_string() or jsonl_array(), as jsonl_hex() does. */
size_t		jsonl_decode(jsonl *in, const char *digits, uint8_t **bytes);

#endif							/* JSONL_H */
