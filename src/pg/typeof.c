/*
 * kiln_typeof(): the type that the definition has at a path, whether or not there is a value.
 */
#include "kiln_datum.h"

#include "utils/builtins.h"

#include "kiln_tensor.h"

/*
 * The type at a path that is known to apply, as the definition writes it: an optional with its "?". Inside a json
 * value it is json.
 */
static const kiln_type *
type_at(const kiln_type *type, const kiln_path *path)
{
	for (uint32_t i = 0; i < path->count; i++)
	{
		const kiln_path_step *step = &path->steps[i];
		const kiln_type *outer = kiln_without_optional(type);
		char		normalized[KILN_MAX_NAME + 1];
		size_t		length;
		int			field;

		if (outer->kind == KILN_JSON)
			return outer;
		if (outer->kind != KILN_STRUCT)
		{
			type = outer->element;
			continue;
		}
		field = kiln_struct_find(outer, step->name, step->length);
		if (field < 0 && kiln_name_nfc(step->name, step->length, normalized, &length))
			field = kiln_struct_find(outer, normalized, length);
		type = outer->fields[field].type;
	}
	return type;
}

PG_FUNCTION_INFO_V1(kiln_typeof);

/*
 * kiln_typeof(kiln, path): canonical text of the type there; NULL for a field that only another version has. A tensor
 * directory is of type "tensors", what it holds under a name of type "tensor".
 */
Datum
kiln_typeof(PG_FUNCTION_ARGS)
{
	KilnSchema *schema;
	const kiln_path *path;
	const kiln_type *type;
	KilnField	field;

	if (!kiln_access_path(fcinfo, KILN_PATH_TEXT, &schema, &path))
		PG_RETURN_NULL();
	if (schema == NULL)
	{
		if (path->count == 0)
			PG_RETURN_TEXT_P(cstring_to_text("tensors"));
		if (!kiln_access(fcinfo, KILN_PATH_TEXT, &field) || !kiln_tensor_field_exists(&field))
			PG_RETURN_NULL();
		PG_RETURN_TEXT_P(cstring_to_text("tensor"));
	}
	type = type_at(schema->root, path);
	return kiln_utf8_to_text_datum((const uint8_t *) type->text, type->text_length);
}
