/*
 * A tensor directory behind the accessors: its tensors are its fields.
 */
#include "kiln_tensor.h"

#include "kiln_text.h"

#include "utils/builtins.h"
#include "utils/fmgrprotos.h"

/* What a path leads to in a directory. */
typedef enum Target
{
	TARGET_NONE,				/* no tensor of that name */
	TARGET_TENSOR,
	TARGET_ALL					/* the directory itself */
} Target;

pg_noreturn static void
cannot_step(const KilnField *field)
{
	ereport(ERROR,
			(errcode(ERRCODE_DATATYPE_MISMATCH),
			 field->path->steps[0].is_index ?
			 errmsg("cannot take a list position of a tensor directory") :
			 errmsg("a path into a tensor directory is one name"),
			 errhint("kiln_at(), kiln_row() and kiln_slice() take parts of a tensor.")));
}

static Target
find(const KilnField *field, kiln_tensor *tensor)
{
	size_t		n = (size_t) (field->end - field->base);
	int64_t		i;

	if (field->path->count == 0)
		return TARGET_ALL;
	if (field->path->count > 1 || field->path->steps[0].is_index)
		cannot_step(field);
	i = kiln_directory_find(field->base, n, field->path->steps[0].name, field->path->steps[0].length);
	if (i < 0)
		return TARGET_NONE;
	if (!kiln_directory_entry(field->base, n, (uint32_t) i, tensor) ||
		tensor->offset > n || tensor->length > n - tensor->offset)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_BINARY_REPRESENTATION),
				 errmsg("damaged value of type kiln: tensor directory is damaged")));
	return TARGET_TENSOR;
}

/*
 * JSON of what the path leads to: of a directory an object by name, of a tensor its dtype, shape and elements.
 * False if there is none.
 */
static bool
print(const KilnField *field, StringInfo buf)
{
	KilnPrinter printer;
	kiln_tensor tensor;
	Target		target = find(field, &tensor);
	bool		done;

	if (target == TARGET_NONE)
		return false;
	initStringInfo(buf);
	kiln_printer_init(&printer, buf, KILN_JSON_LIMIT);
	if (target == TARGET_TENSOR)
		done = kiln_printer_tensor(&printer, &tensor);
	else
		done = kiln_printer_add(&printer, "{", 1) &&
			kiln_printer_tensors(&printer, field->base, (size_t) (field->end - field->base)) &&
			kiln_printer_add(&printer, "}", 1);
	if (!done)
		kiln_printer_report(&printer);
	kiln_json_to_server(buf, 0);
	return true;
}

Datum
kiln_tensor_field_text(const KilnField *field, bool *isnull)
{
	StringInfoData buf;

	*isnull = !print(field, &buf);
	return *isnull ? (Datum) 0 : PointerGetDatum(cstring_to_text_with_len(buf.data, buf.len));
}

Datum
kiln_tensor_field_json(const KilnField *field, bool *isnull)
{
	return kiln_tensor_field_text(field, isnull);
}

Datum
kiln_tensor_field_jsonb(const KilnField *field, bool *isnull)
{
	StringInfoData buf;

	*isnull = !print(field, &buf);
	return *isnull ? (Datum) 0 : DirectFunctionCall1(jsonb_in, CStringGetDatum(buf.data));
}

/* A directory of its own: of the one tensor, under its name, or all of it again. */
Datum
kiln_tensor_field_kiln(const KilnField *field, bool *isnull)
{
	kiln_tensor tensor;
	Target		target = find(field, &tensor);
	size_t		n = (size_t) (field->end - field->base);
	kiln_writer writer;

	*isnull = target == TARGET_NONE;
	if (target == TARGET_NONE)
		return (Datum) 0;
	if (target == TARGET_TENSOR)
		return PointerGetDatum(kiln_tensor_frame(&tensor, NULL));
	kiln_builder_init(&writer, KILN_TENSORS_HEAD + n);
	kiln_builder_head_tensors(&writer);
	if (!kiln_writer_reserve(&writer, n))
		kiln_tensor_too_large();
	kiln_writer_bytes(&writer, field->base, n);
	return PointerGetDatum(kiln_builder_finish(&writer));
}

bool
kiln_tensor_field_exists(const KilnField *field)
{
	kiln_tensor tensor;

	return find(field, &tensor) != TARGET_NONE;
}
