/*
 * What the codec's own files share and no caller needs.
 */
#ifndef KILN_INTERNAL_H
#define KILN_INTERNAL_H

#include "kiln.h"

/*
 * A struct's program for validation, skipping and encoding: its fields in order, with each run of neighbouring
 * fixed-width fields fused into one step, so that a run costs one bounds test.
 *
 *   RUN     fields first … first + fields - 1 take width bytes together; those of them that are not any_bits (bools, enums,
 *           dates, timestamps, structs that hold such) are checked one by one: check is true if there are any
 *   SPAN    one string, bytes, numeric or json field
 *   OTHER   one field of any other type (list, dict, optional, struct of varying length)
 */
typedef enum kiln_step_op
{
	KILN_STEP_RUN, KILN_STEP_SPAN, KILN_STEP_OTHER
} kiln_step_op;

struct kiln_step
{
	uint8_t		op;				/* kiln_step_op */
	bool		check;			/* RUN: some field's bit patterns are not all valid */
	uint16_t	first;			/* first field */
	uint16_t	fields;			/* number of fields; 1 unless RUN */
	uint32_t	width;			/* RUN: bytes of the run */
};

/* Allocate and release through an allocator that may be NULL (malloc and free). */
void	   *kiln_allocate(const kiln_allocator *allocator, size_t size);
void		kiln_release(const kiln_allocator *allocator, void *memory);

/*
 * The encoder's checks: a scalar against its type, and the content of a string, bytes, numeric or json value. On failure *error has
 * a code and perhaps a detail, no path.
 */
bool		kiln_scalar_check(const kiln_type *type, const kiln_scalar *value, const kiln_json_check *json, kiln_error *error);
bool		kiln_span_check(uint8_t kind, const void *content, size_t length, const kiln_json_check *json, kiln_error *error);

/* Make room for size more bytes within the writer's limit, or say which of the two is exhausted (KILN_E_SIZE, KILN_E_MEMORY). */
bool		kiln_writer_room(kiln_writer *writer, uint64_t size, kiln_error *error);

static inline bool
kiln_kind_is_span(uint8_t kind)
{
	return kind == KILN_STRING || kind == KILN_BYTES || kind == KILN_NUMERIC || kind == KILN_JSON;
}

/* Are all eight bytes of a word ASCII other than NUL? A zero byte borrows into its top bit, whatever stands below it. */
static inline bool
kiln_ascii_word(uint64_t word)
{
	return ((word | (word - UINT64_C(0x0101010101010101))) & UINT64_C(0x8080808080808080)) == 0;
}

/*
 * Are all n bytes ASCII other than NUL? The quick first question to ask of a string; kiln_utf8_prefix() settles the rest. The
 * last word overlaps the one before it, so that there is no loop over single bytes.
 */
static inline bool
kiln_ascii(const uint8_t *s, size_t n)
{
	if (n >= 8)
	{
		size_t		last = n - 8;

		for (size_t i = 0; i < last; i += 8)
			if (!kiln_ascii_word(kiln_load_u64(s + i)))
				return false;
		return kiln_ascii_word(kiln_load_u64(s + last));
	}
	if (n >= 4)
		return kiln_ascii_word(kiln_load_u32(s) | (uint64_t) kiln_load_u32(s + n - 4) << 32);
	for (size_t i = 0; i < n; i++)
		if (s[i] - 1u >= 0x7f)
			return false;
	return true;
}

/* Number of bytes before the first that is neither 0 nor 1; n if there is none. */
size_t		kiln_bool_prefix(const uint8_t *p, size_t n);

#endif							/* KILN_INTERNAL_H */
