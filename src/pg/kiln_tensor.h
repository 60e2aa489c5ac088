/*
 * Tensors in the server.
 *
 *   tensor_build.c     arrays to directories
 *   tensor_list.c      lists in records to directories
 *   tensor_agg.c       rows of numbers to a tensor
 *   tensor_stack.c     rows of arrays to a matrix
 *   tensor_collect.c   named rows to a directory
 *   tensor_convert.c   elements from one dtype to another
 *   tensor_read.c      finding a tensor and its parts, by slice where it is stored out of line
 *   tensor_array.c     tensors to arrays
 *   tensor_shape.c     what a directory holds: names, dtypes, shapes
 *   tensor_slice.c     parts of a tensor: slices and rows
 *   tensor_edit.c      other shapes, dtypes and names; directories joined
 *   tensor_reduce.c    one number from a tensor or from two
 *   tensor_math.c      tensors from tensors, element by element
 *   tensor_npy.c       numpy's files
 *   tensor_safetensors.c  safetensors files
 *   tensor_field.c     a directory's tensors as its fields, for the accessors
 *
 * Tensor positions count from 1, as SQL arrays do: a[i] = kiln_at(kiln_tensor(a), i). A function that reads one
 * tensor takes a directory of one, or of several if one of them has the empty name, or else the name as its second
 * argument.
 */
#ifndef KILN_TENSOR_H
#define KILN_TENSOR_H

#include "kiln_access.h"

#include "utils/array.h"

#include "toast.h"

/* Most bytes of a directory: those of the largest frame. */
#define KILN_MAX_DIRECTORY	(KILN_MAX_FRAME - KILN_TENSORS_HEAD)

/* ------------------------------------------------------------------ tensor_convert.c */

/*
 * Convert n elements, little-endian and unaligned on both sides. Raises 22003 for what the target can't hold: a
 * number out of its range, a fraction into an integer, a non-zero number that would become zero or an infinity. NaN
 * and infinities pass from float to float. first: position of the first of them in the tensor, for that message.
 */
extern void kiln_convert_elements(uint8_t from, uint8_t to, const uint8_t *source, uint8_t *target, uint64 n,
								  uint64 first);

/* n elements as doubles; integers are rounded once each. */
extern void kiln_elements_f64(uint8_t dtype, const uint8_t *source, double *target, uint64 n);

/* One element as a double. */
extern double kiln_element_f64(uint8_t dtype, const uint8_t *p);

/* The element that decimal text, NaN or an infinity stands for, rounded once; false if the dtype can't hold it. */
extern bool kiln_element_from_text(uint8_t dtype, const char *text, size_t length, uint8_t *p);

/* 22003: the element at that position does not fit the dtype. */
pg_noreturn extern void kiln_report_element(uint8_t dtype, uint64 position);

/* The dtype of a word given as an argument; 22023 naming the known ones if it is none. */
extern uint8_t kiln_dtype_argument(Datum word);

/*
 * The dtype in which an SQL type's values, or a domain's over it, are kept, 0 if there is none. numeric is kept as
 * f64.
 */
extern uint8_t kiln_dtype_of_type(Oid type);

/* ------------------------------------------------------------------ tensor_build.c */

/* A frame that holds one tensor; tensor->data may be NULL (room is left, at *payload). */
extern struct varlena *kiln_tensor_frame(kiln_tensor *tensor, uint8_t **payload);

/* The same of several, which are in ascending order of their names. */
extern struct varlena *kiln_tensors_frame(kiln_tensor *tensors, uint32 count);

/* 54000: larger than a directory can be. */
pg_noreturn extern void kiln_tensor_too_large(void);

/* Name a tensor whose rank is set; 42602 for a name that is unfit. The name may lead into the datum. */
extern void kiln_tensor_set_name(kiln_tensor *tensor, Datum name);

/*
 * dtype, rank, shape, length and data of an array, whose bytes data leads into where they are what a tensor keeps,
 * else to a copy. Raises 42804 for types that no tensor is made of, 22004 for NULL elements.
 */
extern void kiln_tensor_of_array(kiln_tensor *tensor, ArrayType *array, uint64 *elements);

/* The tensor as a frame, its data converted to that dtype (0: its own). */
extern struct varlena *kiln_tensor_converted(kiln_tensor *tensor, uint64 elements, uint8_t dtype);

/* ------------------------------------------------------------------ tensor_npy.c */

/* 22P03 unless all are 0 or 1. */
extern void kiln_check_bools(const uint8_t *elements, uint64 n);

/* ------------------------------------------------------------------ tensor_agg.c: what aggregates share */

/* The context that states of this aggregate live in; raises if there is no aggregate. */
extern MemoryContext kiln_state_context(FunctionCallInfo fcinfo);

/*
 * Bytes for a state with that head and wanted bytes of elements: size, doubled until they fit. 54000 beyond the
 * largest directory.
 */
extern Size kiln_state_size(Size size, Size head, uint64 wanted);

/* 22004: the row's argument is NULL. call: how to leave such rows out. */
pg_noreturn extern void kiln_report_null_row(const char *call);

/* 22P03: a serialized state that is none. */
pg_noreturn extern void kiln_report_bad_state(void);

/*
 * The row's tensor, from the array in that argument: as kiln_tensor_of_array(); or from the only or unnamed tensor
 * of the kiln value there, read whole. The bytes are good until the end of the row.
 */
extern void kiln_row_of_array(FunctionCallInfo fcinfo, int argument, kiln_tensor *tensor);
extern void kiln_row_of_tensor(FunctionCallInfo fcinfo, int argument, kiln_tensor *tensor);

/* Raise unless a further row has the dtype (42804) and shape (2202E) of the first. */
extern void kiln_check_row(uint8_t dtype, uint8_t rank, const uint64 *shape, const kiln_tensor *row);

/* ------------------------------------------------------------------ tensor_read.c */

/* One tensor of a datum. Its name, dtype and shape are at hand; its elements are read by range. */
typedef struct KilnTensorReader
{
	KilnToast	toast;
	kiln_tensor tensor;			/* data is not to be used: it moves */
	uint64		elements;
	uint8_t		width;			/* bytes of an element */
	uint8_t    *part;			/* what kiln_tensor_some() read of a value out of line */
	MemoryContext context;		/* kiln_tensor_open_all() only: where the value is kept */
	uint8_t		entry[KILN_DIRECTORY_HEADER + KILN_DIRECTORY_ENTRY];	/* a directory of it alone; holds the name */
} KilnTensorReader;

/*
 * Open the tensor of that name; name NULL: the only one, or the unnamed one. Raises 42804 for records, 42704 for a
 * name that is not there, 22023 where a name is wanted.
 */
extern void kiln_tensor_open(KilnTensorReader *reader, Datum datum, const char *name, size_t length);
extern void kiln_tensor_close(KilnTensorReader *reader);

/* Open the tensor that arguments 0 and, if name_argument is not negative, that one ask for. */
extern void kiln_tensor_open_argument(KilnTensorReader *reader, FunctionCallInfo fcinfo, int name_argument);

/*
 * All tensors in turn: open the directory in CurrentMemoryContext, keeping a copy of the datum there, and then
 * tensor i below the count. Kept over calls of a set-returning function.
 */
extern KilnTensorReader *kiln_tensor_open_all(Datum datum, uint64 *count);
extern void kiln_tensor_open_next(KilnTensorReader *reader, uint32 i);

/*
 * All tensors of a datum at once, with names and data that lead into the (detoasted) value. palloc'd, with room for
 * extra more.
 */
extern kiln_tensor *kiln_directory_open(Datum datum, uint32 extra, uint32 *count);

/* Order of two tensors by name; sorting by it, which returns one of two of the same name, or NULL. */
extern int	kiln_tensors_compare(const kiln_tensor *a, const kiln_tensor *b);
extern const kiln_tensor *kiln_tensors_sort(kiln_tensor *tensors, uint32 count);

/* Where among count tensors that name is, or belongs: -1 - place. */
extern int64 kiln_tensors_find(const kiln_tensor *tensors, uint32 count, const char *name, size_t length);

/* 42704: no such tensor. */
pg_noreturn extern void kiln_report_no_tensor(const char *name, size_t length);

/* Payload bytes [from, to) of the tensor. Valid until the next read. */
extern const uint8_t *kiln_tensor_bytes(KilnTensorReader *reader, uint64 from, uint64 to);

/*
 * Elements from position on, at most up to end and no more than fit a buffer that stays in cache; *n gets their
 * number. For loops over all of them. Valid until the next read.
 */
extern const uint8_t *kiln_tensor_some(KilnTensorReader *reader, uint64 position, uint64 end, uint64 *n);

/* n elements from position on, converted, to target. */
extern void kiln_tensor_copy(KilnTensorReader *reader, uint64 position, uint64 n, uint8_t dtype, uint8_t *target);

/* ------------------------------------------------------------------ tensor_math.c */

/* 2202E unless both have one shape. */
extern void kiln_check_shapes(const kiln_tensor *a, const kiln_tensor *b);

/* A shape as messages show it: "2,3"; palloc'd. */
extern const char *kiln_shape_text(uint8_t rank, const uint64 *shape);

/* ------------------------------------------------------------------ tensor_array.c */

/* The elements as an array of a type that kiln_dtype_of_type() knows. */
extern ArrayType *kiln_tensor_array(KilnTensorReader *reader, Oid type);

/* ------------------------------------------------------------------ tensor_field.c */

/*
 * A path into a directory is '' (all of it) or one name; other paths are 42804. A name that is not there is NULL,
 * as a key of a dict is.
 */
extern Datum kiln_tensor_field_text(const KilnField *field, bool *isnull);
extern Datum kiln_tensor_field_json(const KilnField *field, bool *isnull);
extern Datum kiln_tensor_field_jsonb(const KilnField *field, bool *isnull);
extern Datum kiln_tensor_field_kiln(const KilnField *field, bool *isnull);
extern bool kiln_tensor_field_exists(const KilnField *field);

#endif							/* KILN_TENSOR_H */
