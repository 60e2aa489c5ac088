/*
 * What tensor.c offers to the accessors: a directory's tensors are its fields.
 *
 * A path into a directory is '' (all of it) or one name; other paths are 42804. A name that is not there is NULL, as a key of a dict.
 */
#ifndef KILN_TENSOR_H
#define KILN_TENSOR_H

#include "kiln_access.h"

extern Datum kiln_tensor_field_text(const KilnField *field, bool *isnull);
extern Datum kiln_tensor_field_json(const KilnField *field, bool *isnull);
extern Datum kiln_tensor_field_jsonb(const KilnField *field, bool *isnull);
extern Datum kiln_tensor_field_kiln(const KilnField *field, bool *isnull);
extern bool kiln_tensor_field_exists(const KilnField *field);

#endif							/* KILN_TENSOR_H */
