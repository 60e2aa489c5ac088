/*
 * A definition, a path and the plan they make, for the tests of paths and plans. Include after cmocka.h.
 */
#ifndef PLAN_FIXTURE_H
#define PLAN_FIXTURE_H

#include "plan_runs.h"

/* A path and a plan with the schema they stand on. */
typedef struct fixture
{
	kiln_schema *schema;
	kiln_path	path;
	kiln_plan	plan;
	kiln_error	error;
	bool		compiled;
} fixture;

static inline void
open_schema(fixture *f, const char *definition, size_t length)
{
	memset(f, 0, sizeof *f);
	if (!kiln_schema_parse(definition, length, NULL, &f->schema, &f->error))
		fail_msg("%.*s: %s", (int) length, definition, kiln_error_text(f->error.code));
}

/* Compile a path; what went wrong, if anything, is in error. */
static inline bool
open_plan(fixture *f, const char *definition, const char *path)
{
	open_schema(f, definition, strlen(definition));
	f->compiled = kiln_path_parse(path, strlen(path), NULL, &f->path, &f->error) &&
		kiln_plan_compile(f->schema->root, &f->path, NULL, &f->plan, &f->error);
	return f->compiled;
}

static inline void
close_fixture(fixture *f)
{
	if (f->compiled)
		kiln_plan_free(&f->plan);
	kiln_path_free(&f->path);
	kiln_schema_free(f->schema);
}

/* Bytes of hex digits; spaces are for the eye. */
static inline size_t
from_hex(const char *hex, uint8_t *out)
{
	size_t		n = 0;
	unsigned	byte;

	for (; *hex != '\0'; hex += 2)
	{
		while (*hex == ' ')
			hex++;
		assert_int_equal(sscanf(hex, "%2x", &byte), 1);
		out[n++] = (uint8_t) byte;
	}
	return n;
}

#endif							/* PLAN_FIXTURE_H */
