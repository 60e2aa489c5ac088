/*
 * Tensors in the server.
 *
 *   tensor_build.c     arrays to directories
 *   tensor_agg.c       rows to directories
 *   tensor_convert.c   elements from one dtype to another
 *   tensor_read.c      finding a tensor and its parts, by slice where it is stored out of line
 *   tensor_field.c     a directory's tensors as its fields, for the accessors
 *
 * Tensor positions count from 1, as SQL arrays do: a[i] = kiln_at(kiln_tensor(a), i).
 */
#ifndef KILN_TENSOR_H
#define KILN_TENSOR_H

#include "kiln_access.h"

#include "toast.h"

/* ------------------------------------------------------------------ tensor_convert.c */

/*
 * Convert n elements, little-endian and unaligned on both sides. Raises 22003 for what the target can't hold: a number out of its range, a
 * fraction into an integer, a non-zero number that would become zero or an infinity. NaN and infinities pass from
 * float to float.
 */
extern void kiln_convert_elements(uint8_t from, uint8_t to, const uint8_t *source, uint8_t *target, uint64 n);

/* The dtype of a word given as an argument; 22023 naming the known ones if it is none. */
extern uint8_t kiln_dtype_argument(Datum word);

/* The dtype in which an SQL type's values are kept, 0 if there is none. numeric is kept as f64. */
extern uint8_t kiln_dtype_of_type(Oid type);

/* ------------------------------------------------------------------ tensor_build.c */

/* A frame that holds one tensor; tensor->data may be NULL (room is left, at *payload). */
extern struct varlena *kiln_tensor_frame(kiln_tensor *tensor, uint8_t **payload);

/* ------------------------------------------------------------------ tensor_read.c */

/* One tensor of a datum. Its name, dtype and shape are at hand; its elements are read by range. */
typedef struct KilnTensorReader
{
	KilnToast	toast;
	kiln_tensor tensor;			/* name and data are not to be used: they move */
	uint64		elements;
} KilnTensorReader;

/*
 * Open the tensor of that name; name NULL: the only one, or the unnamed one. Raises 42804 for records, 42704 for a name that is not
 * there, 22023 where a name is wanted.
 */
extern void kiln_tensor_open(KilnTensorReader *reader, Datum datum, const char *name, size_t length);
extern void kiln_tensor_close(KilnTensorReader *reader);

/* Payload bytes [from, to) of the tensor. Valid until the next read. */
extern const uint8_t *kiln_tensor_bytes(KilnTensorReader *reader, uint64 from, uint64 to);

/* One element as a double. */
extern double kiln_element_f64(uint8_t dtype, const uint8_t *p);

/* ------------------------------------------------------------------ tensor_field.c */

/*
 * A path into a directory is '' (all of it) or one name; other paths are 42804. A name that is not there is NULL, as a
 * key of a dict is.
 */
extern Datum kiln_tensor_field_text(const KilnField *field, bool *isnull);
extern Datum kiln_tensor_field_json(const KilnField *field, bool *isnull);
extern Datum kiln_tensor_field_jsonb(const KilnField *field, bool *isnull);
extern Datum kiln_tensor_field_kiln(const KilnField *field, bool *isnull);
extern bool kiln_tensor_field_exists(const KilnField *field);

#endif							/* KILN_TENSOR_H */
