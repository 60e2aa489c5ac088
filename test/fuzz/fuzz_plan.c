/*
 * Fuzz target: plans over any bytes.
 *
 * Byte 0 picks a definition, byte 1 one of its paths. The rest is the payload; or, if byte 1 has its high bit set,
 * byte 2 is a number of damages and the rest are choices: three bytes for each damage (the place, and what to add
 * there), then those that build a valid payload. What must hold stands at plan_run_all().
 */
#include "plan_runs.h"

typedef struct compiled
{
	kiln_schema *schema;
	kiln_plan	plans[PLAN_RUN_PATHS];
	size_t		count;
} compiled;

static compiled *
compile_all(void)
{
	static compiled all[PLAN_RUN_CASES];
	size_t		i;

	for (i = 0; i < PLAN_RUN_CASES && all[i].schema == NULL; i++)
	{
		const plan_run_case *from = &plan_run_cases[i];
		compiled   *to = &all[i];

		plan_run_require(kiln_schema_parse(from->definition, strlen(from->definition), NULL, &to->schema, NULL),
						 from->definition);
		for (; to->count < PLAN_RUN_PATHS && from->paths[to->count] != NULL; to->count++)
		{
			const char *text = from->paths[to->count];
			kiln_path	path;

			plan_run_require(kiln_path_parse(text, strlen(text), NULL, &path, NULL) &&
							 kiln_plan_compile(to->schema->root, &path, NULL, &to->plans[to->count], NULL), text);
			kiln_path_free(&path);
		}
	}
	return all;
}

/* Build a payload from choices and damage it. out: PLAN_RUN_PAYLOAD bytes. */
static size_t
build(const kiln_type *type, const uint8_t *choices, size_t count, uint8_t *out)
{
	size_t		damages = count ? choices[0] % 4 : 0;
	const uint8_t *damage = choices + 1;
	plan_run_source source = {NULL, 0, count};
	size_t		n = 0;
	size_t		i;

	if (count < 1 + 3 * damages)
		damages = 0;
	if (count > 0)
	{
		source.bytes = choices + 1 + 3 * damages;
		source.left = count - 1 - 3 * damages;
	}
	plan_run_build(type, &source, out, &n);
	for (i = 0; i < damages; i++, damage += 3)
		out[kiln_load_u16(damage) % n] += damage[2];
	return n;
}

int			LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t		bytes[PLAN_RUN_PAYLOAD];
	const kiln_type *type;
	compiled   *use;
	uint8_t    *payload;
	size_t		n;
	bool		valid;

	if (size < 2)
		return 0;
	use = &compile_all()[data[0] % PLAN_RUN_CASES];
	type = use->schema->root;
	if (data[1] & 128)
	{
		n = build(type, data + 2, size - 2, bytes);
		payload = plan_run_copy(bytes, n);
	}
	else
	{
		n = size - 2;
		payload = plan_run_copy(data + 2, n);
	}
	valid = kiln_validate(type, payload, n, NULL, NULL);
	plan_run_all(&use->plans[(data[1] & 127) % use->count], payload, n, valid);
	plan_run_release(payload);
	return 0;
}
