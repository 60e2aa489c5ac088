/*
 * Fuzz target: plans over any bytes.
 *
 * Byte 0 picks a definition, byte 1 one of its paths, the rest is the payload. What must hold stands at plan_run_all().
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

int			LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	compiled   *use;
	kiln_plan  *plan;
	uint8_t    *payload;
	bool		valid;

	if (size < 2)
		return 0;
	use = &compile_all()[data[0] % PLAN_RUN_CASES];
	plan = &use->plans[data[1] % use->count];
	payload = plan_run_copy(data + 2, size - 2);
	valid = kiln_validate(use->schema->root, payload, size - 2, NULL, NULL);
	plan_run_all(plan, payload, size - 2, valid);
	plan_run_release(payload);
	return 0;
}
