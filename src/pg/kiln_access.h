/*
 * Reading one field of a datum.
 *
 * An accessor function calls kiln_access(), which finds the field by the path in the function's second argument,
 * and then one of the kiln_field_… functions, which turn it into a Datum. What depends on the path and the
 * definition alone is worked out once a query and kept in fn_extra; a column may mix definitions and versions.
 */
#ifndef KILN_ACCESS_H
#define KILN_ACCESS_H

#include "kiln_pg.h"

#include "utils/jsonb.h"
#include "utils/numeric.h"

/* How the second argument is to be read. */
typedef enum KilnPathForm
{
	KILN_PATH_TEXT,				/* text: a path of FORMAT 6 */
	KILN_PATH_KEY,				/* text: one literal step, as -> takes it */
	KILN_PATH_POSITION,			/* integer: a position in a list */
	KILN_PATH_KEYS,				/* text[]: literal steps, as #> takes them */
	KILN_PATH_WHOLE				/* no argument: the whole value */
} KilnPathForm;

/*
 * A field found. The bytes [base, end) may be read; at is where it starts, and may be as far as end. Valid until
 * the function returns. type is never OPTIONAL. For tensors type is NULL and frame.kind tells.
 */
typedef struct KilnField
{
	const kiln_type *type;
	const uint8_t *base;
	const uint8_t *at;
	const uint8_t *end;
	KilnSchema *schema;			/* the value's */
	const kiln_path *path;		/* of the access */
	uint32_t	rest;			/* first path step inside a json value; path->count if none */
	bool		loose;			/* a key may stand for a position: #> */
	uint8_t		kind;			/* of the frame */
} KilnField;

/*
 * Find the field; false where it is absent or the argument leads nowhere. Raises 42703, 42804, 42601 for paths, and
 * as kiln_value_open().
 */
extern bool kiln_access(FunctionCallInfo fcinfo, KilnPathForm form, KilnField *field);

/* Does a path that a definition does not know lead somewhere in another version of its schema? */
extern bool kiln_path_elsewhere(const KilnSchema *schema, const kiln_path *path);

/* The field that is a whole value, without a path; for casts. */
extern void kiln_access_whole(FunctionCallInfo fcinfo, KilnField *field);

/*
 * Where a caller may keep what follows from the field's type alone, after kiln_access() found one that is no
 * tensor's: one pointer for each definition that the call site meets, NULL at first. It goes, with *context, when
 * the definition's plan does.
 */
extern void **kiln_access_cache(FunctionCallInfo fcinfo, MemoryContext *context);

/*
 * The value's definition (NULL for tensors) and the path, found to apply to it, without a look at the payload.
 * False where the path leads somewhere in another version only.
 */
extern bool kiln_access_path(FunctionCallInfo fcinfo, KilnPathForm form, KilnSchema **schema, const kiln_path **path);

/*
 * As SQL values. Each raises 42804 for a kind that does not convert, 22003 or 22008 where the number or time does
 * not fit. A field inside json goes through core's jsonb functions; *isnull is set where that finds nothing (or a
 * JSON null), and never else. name: of the SQL type, for the message.
 */
extern Datum kiln_field_bool(const KilnField *field, bool *isnull);
extern Datum kiln_field_int2(const KilnField *field, bool *isnull);
extern Datum kiln_field_int4(const KilnField *field, bool *isnull);
extern Datum kiln_field_int8(const KilnField *field, bool *isnull);
extern Datum kiln_field_float4(const KilnField *field, bool *isnull);
extern Datum kiln_field_float8(const KilnField *field, bool *isnull);
extern Datum kiln_field_numeric(const KilnField *field, bool *isnull);
extern Datum kiln_field_text(const KilnField *field, bool *isnull);
extern Datum kiln_field_bytea(const KilnField *field, bool *isnull);
extern Datum kiln_field_uuid(const KilnField *field, bool *isnull);
extern Datum kiln_field_date(const KilnField *field, bool *isnull);
extern Datum kiln_field_timestamp(const KilnField *field, bool *isnull);
extern Datum kiln_field_timestamptz(const KilnField *field, bool *isnull);
extern Datum kiln_field_json(const KilnField *field, bool *isnull);
extern Datum kiln_field_jsonb(const KilnField *field, bool *isnull);

/* As a kiln value of its own: an inline frame (for tensors the directory itself). */
extern Datum kiln_field_kiln(const KilnField *field, bool *isnull);

/* A field of a record, or of a tensor directory: its text, and itself as a kiln value (not of an unverified one). */
extern Datum kiln_part_text(const KilnField *field, bool *isnull);
extern Datum kiln_part_kiln(const KilnField *field, bool *isnull);

/*
 * As any SQL type: scalars as above, text, kiln, json; arrays from lists; composites from structs; domains and
 * enums checked. What depends on the types alone is kept in *cache, in context; cache may be NULL, and has to be
 * emptied with the field's definition.
 */
extern Datum kiln_field_datum(const KilnField *field, Oid type, int32 typmod, void **cache, MemoryContext context,
							  bool *isnull);

/* What a message calls a type ("list", "i32"); NULL is a tensor directory. And 42804: such a thing is no sql_type. */
extern const char *kiln_kind_name(const kiln_type *type);
pg_noreturn extern void kiln_report_cast(const kiln_type *type, const char *sql_type);

/* First byte of a fixed-width value, held to the field's bounds. */
static inline const uint8_t *
kiln_field_fixed(const KilnField *field, size_t width)
{
	const uint8_t *last = field->end - width;

	if (unlikely(field->at > last))
	{
		if ((size_t) (field->end - field->base) < width)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_BINARY_REPRESENTATION),
					 errmsg("damaged value of type kiln: value ends too early")));
		return last;
	}
	return field->at;
}

/* Bytes and length of a span, held likewise. */
static inline const uint8_t *
kiln_field_span(const KilnField *field, uint32_t *length)
{
	const uint8_t *p = kiln_field_fixed(field, 4);
	size_t		left = (size_t) (field->end - p) - 4;
	uint32_t	n = kiln_load_u32(p);

	*length = n < left ? n : (uint32_t) left;
	return p + 4;
}

/* ------------------------------------------------------------------ the fast way */

/*
 * What an accessor's fast way needs to know, at the start of the state in fn_extra: that a row of the same
 * definition as the last one has its value at a constant place, or behind a few spans. Kept by access_plan.c.
 */
typedef struct KilnFastPlace
{
	uint64		hash;			/* of the definition */
	uint64		generation;		/* of the registry; KILN_NOT_FAST: there is no fast way */
	uint32		offset;			/* in the frame: of the value, or of the spans before it */
	uint8		kind;			/* kiln_kind of the value, and KILN_BEHIND_SPANS if spans stand before it */
	uint8		width;			/* of the value, 4 for a span */
	uint8		spans;
	uint32		after;			/* bytes between the spans and the value */
} KilnFastPlace;

#define KILN_NOT_FAST		UINT64_MAX	/* no generation ever */
#define KILN_BEHIND_SPANS	0x80

/* Spans that are passed in the fast way. */
#define KILN_FAST_SPANS	16

/*
 * The frame of this row's value, if it is a small registered one of the definition of *place; else NULL: ask
 * kiln_access(). *end is set too. The CHECKED build has no fast way.
 */
static inline const uint8_t *
kiln_fast_frame(FunctionCallInfo fcinfo, const KilnFastPlace **place, const uint8_t **end)
{
#ifdef KILN_CHECKED
	(void) fcinfo;
	(void) place;
	(void) end;
	return NULL;
#else
	const KilnFastPlace *fast = fcinfo->flinfo->fn_extra;
	const char *datum = DatumGetPointer(fcinfo->args[0].value);
	const uint8_t *frame;
	int			n;

	if (unlikely(fast == NULL))
		return NULL;
	if (likely(VARATT_IS_SHORT(datum)))
	{
		/* the header of an external value looks like that of a short one with less than no bytes */
		frame = (const uint8_t *) VARDATA_1B(datum);
		n = (int) VARSIZE_1B(datum) - VARHDRSZ_SHORT;
	}
	else if (VARATT_IS_4B_U(datum))
	{
		frame = (const uint8_t *) VARDATA_4B(datum);
		n = (int) VARSIZE_4B(datum) - VARHDRSZ;
	}
	else
		return NULL;
	if (unlikely(n < KILN_HASH_HEAD + KILN_HELD_LEAST || frame[0] != KILN_FRAME_REGISTERED ||
				 kiln_load_u64(frame + 1) != fast->hash || fast->generation != kiln_registry_generation))
		return NULL;
	*place = fast;
	*end = frame + n;
	return frame;
#endif
}

/* The first byte of a value of that width at a constant place, held as any load. */
static inline const uint8_t *
kiln_fast_fixed(const KilnFastPlace *place, const uint8_t *frame, const uint8_t *end, size_t width)
{
	const uint8_t *last = end - width;

	return (size_t) (last - frame) < place->offset ? last : frame + place->offset;
}

/* The same behind spans. */
static inline const uint8_t *
kiln_fast_behind(const KilnFastPlace *place, const uint8_t *frame, const uint8_t *end)
{
	size_t		n = (size_t) (end - frame);
	size_t		at = place->offset;

	for (uint8 i = 0; i < place->spans; i++)
	{
		at = Min(at, n - 4);
		at += 4 + (size_t) kiln_load_u32(frame + at);
	}
	at += place->after;
	return frame + Min(at, n - place->width);
}

/* Bytes and length of the span whose length stands at p. */
static inline const uint8_t *
kiln_fast_span(const uint8_t *p, const uint8_t *end, uint32_t *length)
{
	size_t		left = (size_t) (end - p) - 4;
	uint32_t	n = kiln_load_u32(p);

	*length = n < left ? n : (uint32_t) left;
	return p + 4;
}

#endif							/* KILN_ACCESS_H */
