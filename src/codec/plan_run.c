/*
 * Plans, run over a payload that is in memory as a whole: raw, held and checked.
 *
 * The interpreter is plan_internal.h's; each function here is one instance of it.
 */
#include "plan_internal.h"

const uint8_t *
kiln_plan_run(const kiln_plan *plan, const uint8_t *payload)
{
	plan_cursor cursor = {.data = payload};

	if (plan->constant)
		return payload + plan->offset;
	if (plan_steps(PLAN_RAW, plan, &cursor, 0) != KILN_FOUND)
		return NULL;
	return payload + cursor.pos;
}

kiln_found
kiln_plan_run_held(const kiln_plan *plan, const kiln_held *held, size_t *pos)
{
	plan_cursor cursor = {.data = held->data, .n = held->n, .poll = held->poll};
	kiln_found	found;

	if (plan->constant)
	{
		*pos = plan->offset < held->n ? plan->offset : held->n;
		return KILN_FOUND;
	}
	found = plan_steps(PLAN_HELD, plan, &cursor, 0);
	*pos = cursor.pos < held->n ? cursor.pos : held->n;
	return found;
}

/*
 * Of the value found only the fewest bytes its type takes are known to be there: a checked reader goes on from *pos.
 */
kiln_found
kiln_plan_run_checked(const kiln_plan *plan, const uint8_t *payload, size_t n, size_t *pos, kiln_error *error)
{
	plan_cursor cursor = {.data = payload, .n = n};
	kiln_found	found = KILN_FOUND;

	if (plan->constant)
		cursor.pos = plan->offset;
	else
		found = plan_steps(PLAN_CHECKED, plan, &cursor, 0);
	if (found == KILN_FOUND && (cursor.pos > n || plan->type->least > n - cursor.pos))
	{
		plan_fail(&cursor, KILN_E_TRUNCATED, cursor.pos < n ? cursor.pos : n, 0);
		found = KILN_DAMAGED;
	}
	if (found == KILN_DAMAGED)
		kiln_fail(error, cursor.code, cursor.at, NULL);
	*pos = cursor.pos < n ? cursor.pos : n;
	return found;
}
