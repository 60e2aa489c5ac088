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
 *           dates, timestamps, structs that hold such) have to be looked at: check says how
 *   SPAN    one string, bytes, numeric or json field
 *   OTHER   one field of any other type (list, dict, optional, struct of varying length)
 *
 * The places in a run whose bits can be wrong, nested structs dissolved: bools among its first eight bytes are in zero,
 * the bits of those bytes (loaded as a number) that must not be set; the others are looks, again bools first, of which
 * there are bools, then the rest. A run with more than KILN_MAX_LOOKS looks is walked by its fields instead.
 */
typedef enum kiln_step_op
{
	KILN_STEP_RUN, KILN_STEP_SPAN, KILN_STEP_OTHER
} kiln_step_op;

typedef enum kiln_step_check
{
	KILN_CHECK_NONE,			/* all bits are valid */
	KILN_CHECK_ZERO,			/* zero says all */
	KILN_CHECK_LOOKS,			/* zero and looks do */
	KILN_CHECK_FIELDS			/* the fields have to be asked */
} kiln_step_check;

#define KILN_MAX_LOOKS	64

typedef struct kiln_look
{
	uint32_t	offset;			/* from the run's first byte */
	uint16_t	labels;			/* ENUM: how many */
	uint8_t		kind;			/* KILN_BOOL, ENUM, DATE, TIMESTAMP, TIMESTAMPTZ */
} kiln_look;

struct kiln_step
{
	uint8_t		op;				/* kiln_step_op */
	uint8_t		kind;			/* SPAN, OTHER: the field's */
	uint8_t		check;			/* RUN: kiln_step_check */
	uint8_t		bools;			/* RUN: looks that are bools */
	uint8_t		look_count;		/* RUN: looks in all */
	uint16_t	first;			/* first field */
	uint16_t	fields;			/* number of fields; 1 unless RUN */
	uint32_t	width;			/* RUN: bytes of the run */
	uint64_t	zero;			/* not 0 only in a run of at least eight bytes */
	const kiln_look *looks;
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

/* Ranges of FORMAT 2, the infinities inside: one subtraction and comparison for what is common. */
#define KILN_DATE_FIRST			(-2451545)	/* 4714-11-24 BC */
#define KILN_DATE_LAST			2145031948	/* 5874897-12-31 */
#define KILN_TIMESTAMP_FIRST	INT64_C(-211813488000000000)	/* 4714-11-24 00:00:00 BC */
#define KILN_TIMESTAMP_LAST		INT64_C(9223371331199999999)	/* 294276-12-31 23:59:59.999999 */

static inline bool
kiln_date_in_range(int32_t days)
{
	return (uint32_t) days - (uint32_t) KILN_DATE_FIRST <= (uint32_t) KILN_DATE_LAST - (uint32_t) KILN_DATE_FIRST ||
		days == INT32_MIN || days == INT32_MAX;
}

static inline bool
kiln_timestamp_in_range(int64_t microseconds)
{
	return (uint64_t) microseconds - (uint64_t) KILN_TIMESTAMP_FIRST <=
		(uint64_t) KILN_TIMESTAMP_LAST - (uint64_t) KILN_TIMESTAMP_FIRST ||
		microseconds == INT64_MIN || microseconds == INT64_MAX;
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

/*
 * The same where n is at most 16 and 16 bytes may be read: no branch depends on n, so that strings of uneven lengths are
 * not mispredicted. What stands behind the n bytes does not count.
 */
static inline bool
kiln_ascii_16(const uint8_t *s, size_t n)
{
	static const uint8_t window[32] = {
		0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff
	};
	const uint64_t good = UINT64_C(0x0101010101010101);
	uint64_t	first = kiln_load_u64(window + 16 - n);
	uint64_t	second = kiln_load_u64(window + 24 - n);
	uint64_t	low = (kiln_load_u64(s) & first) | (good & ~first);
	uint64_t	high = (kiln_load_u64(s + 8) & second) | (good & ~second);

	return (((low | (low - good)) | (high | (high - good))) & UINT64_C(0x8080808080808080)) == 0;
}

/* The same where n is 17 to 32: its bytes alone are read. */
static inline bool
kiln_ascii_32(const uint8_t *s, size_t n)
{
	const uint64_t good = UINT64_C(0x0101010101010101);
	uint64_t	a = kiln_load_u64(s);
	uint64_t	b = kiln_load_u64(s + 8);
	uint64_t	c = kiln_load_u64(s + n - 16);
	uint64_t	d = kiln_load_u64(s + n - 8);

	return (((a | (a - good)) | (b | (b - good)) | (c | (c - good)) | (d | (d - good))) &
			UINT64_C(0x8080808080808080)) == 0;
}

/* kiln_ascii() where room bytes may be read from s on: by length, so that few branches depend on it. */
static inline bool
kiln_ascii_room(const uint8_t *s, size_t n, size_t room)
{
	if (n <= 16 && room >= 16)
		return kiln_ascii_16(s, n);
	if (n > 16 && n <= 32)
		return kiln_ascii_32(s, n);
	return kiln_ascii(s, n);
}

/*
 * Is a short text that is known not to be plain ASCII well-formed UTF-8 without NUL? No fast path, and so no branch but
 * the loop's.
 */
bool		kiln_utf8_short(const uint8_t *s, size_t n);

#define KILN_UTF8_SHORT	40		/* bytes up to which that is the better way */

/* Number of bytes before the first that is neither 0 nor 1; n if there is none. */
size_t		kiln_bool_prefix(const uint8_t *p, size_t n);

#endif							/* KILN_INTERNAL_H */
