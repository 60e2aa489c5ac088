/*
 * Fuzz target: the states of aggregates as parallel workers hand them over.
 *
 * The first byte picks the aggregate, the rest claims to be a serialized state. It may be refused. What is taken is used as the
 * server would: serialized again, and what that gives is a state of the same bytes (those taken may differ in the dimensions
 * beyond the rank, which mean nothing); combined with nothing and with itself; and made a result, which leaves the state as
 * it was.
 */
#include "stand_in.h"

#include "kiln_tensor.h"

#define FUNCTIONS(name) \
	extern Datum kiln_##name##_deserialize(PG_FUNCTION_ARGS); \
	extern Datum kiln_##name##_serialize(PG_FUNCTION_ARGS); \
	extern Datum kiln_##name##_combine(PG_FUNCTION_ARGS)

FUNCTIONS(agg);
FUNCTIONS(tensor_agg);
FUNCTIONS(stack);
FUNCTIONS(collect);
FUNCTIONS(element);
extern Datum kiln_agg_final(PG_FUNCTION_ARGS);
extern Datum kiln_tensor_agg_final(PG_FUNCTION_ARGS);
extern Datum kiln_stack_final(PG_FUNCTION_ARGS);
extern Datum kiln_collect_final(PG_FUNCTION_ARGS);
extern Datum kiln_sum_final(PG_FUNCTION_ARGS);
extern Datum kiln_avg_final(PG_FUNCTION_ARGS);
extern Datum kiln_pick_final(PG_FUNCTION_ARGS);
int			LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static const struct
{
	PGFunction	deserialize;
	PGFunction	serialize;
	PGFunction	combine;
	PGFunction	final;
}			aggregates[] =
{
	{kiln_agg_deserialize, kiln_agg_serialize, kiln_agg_combine, kiln_agg_final},
	{kiln_tensor_agg_deserialize, kiln_tensor_agg_serialize, kiln_tensor_agg_combine, kiln_tensor_agg_final},
	{kiln_stack_deserialize, kiln_stack_serialize, kiln_stack_combine, kiln_stack_final},
	{kiln_collect_deserialize, kiln_collect_serialize, kiln_collect_combine, kiln_collect_final},
	{kiln_element_deserialize, kiln_element_serialize, kiln_element_combine, kiln_sum_final},
	{kiln_element_deserialize, kiln_element_serialize, kiln_element_combine, kiln_avg_final}
};

/* Of the element aggregates' states, the second byte tells whose it is; only its own final function gets it. */
#define ELEMENT		4
#define KIND_SUM	0

typedef struct Input
{
	size_t		which;
	const uint8_t *data;
	size_t		n;
} Input;

static Datum
serialized(const Input *input, Datum state)
{
	bool		isnull;

	return call(aggregates[input->which].serialize, 1, &state, &isnull);
}

static bool
same(Datum a, Datum b)
{
	return VARSIZE_ANY(a) == VARSIZE_ANY(b) &&
		memcmp(DatumGetPointer(a), DatumGetPointer(b), VARSIZE_ANY(a)) == 0;
}

static void
use_state(void *context)
{
	Input	   *input = context;
	Datum		given = bytea_of(input->data, input->n);
	Datum		arguments[3] = {given, (Datum) 0, (Datum) 0};
	PGFunction	final = aggregates[input->which].final;
	Datum		state;
	Datum		other;
	Datum		copy;
	bool		isnull;

	if (input->which >= ELEMENT && input->n > 1 && input->data[1] != KIND_SUM)
		final = kiln_pick_final;
	state = call(aggregates[input->which].deserialize, 2, arguments, &isnull);
	MUST(!isnull && state != (Datum) 0);
	copy = serialized(input, state);
	MUST(VARSIZE_ANY(copy) == VARSIZE_ANY(given));
	arguments[0] = copy;
	state = call(aggregates[input->which].deserialize, 2, arguments, &isnull);
	MUST(!isnull && same(serialized(input, state), copy));

	(void) call(final, 1, &state, &isnull);
	MUST(same(serialized(input, state), copy));

	/* nothing and the state; then the state and itself, as of another worker */
	arguments[0] = (Datum) 0;
	arguments[1] = state;
	other = call(aggregates[input->which].combine, 2, arguments, &isnull);
	MUST(!isnull && same(serialized(input, state), copy));
	arguments[0] = other;
	other = call(aggregates[input->which].combine, 2, arguments, &isnull);
	MUST(!isnull && same(serialized(input, state), copy));
	(void) call(final, 1, &other, &isnull);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	Input		input;

	if (n < 1 || data[0] >= lengthof(aggregates))
		return -1;
	input = (Input) {data[0], data + 1, n - 1};
	/* a sum of rows of zeros is its shape alone, of however many elements: what is too large to try is left */
	attempt(use_state, &input, (size_t) 1 << 20);
	return 0;
}
