/*
 * Reading one field of a datum.
 *
 * An accessor function calls kiln_access(), which finds the field by the path in the function's second argument, and then one of the
 * kiln_field_… functions, which turn it into a Datum. What depends on the path and the definition alone is worked out once a query and kept in
 * fn_extra; a column may mix definitions and versions.
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
 * A field found. The bytes [base, end) may be read; at is where it starts, and may be as far as end. Valid until the function
 * returns. type is never OPTIONAL. For tensors type is NULL and frame.kind tells.
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
	uint8_t		kind;			/* of the frame */
} KilnField;

/* Find the field; false where it is absent or the argument leads nowhere. Raises 42703, 42804, 42601 for paths, and as kiln_value_open(). */
extern bool kiln_access(FunctionCallInfo fcinfo, KilnPathForm form, KilnField *field);

/* The field that is a whole value, without a path; for casts. */
extern void kiln_access_whole(FunctionCallInfo fcinfo, KilnField *field);

/*
 * As SQL values. Each raises 42804 for a kind that does not convert, 22003 or 22008 where the number or time does not fit. A field
 * inside json goes through core's jsonb functions; *isnull is set where that finds nothing (or a JSON null), and never else.
 * name: of the SQL type, for the message.
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

/* As any SQL type: scalars as above, text, kiln, json; arrays from lists; composites from structs; domains and enums checked. */
extern Datum kiln_field_datum(const KilnField *field, Oid type, int32 typmod, bool *isnull);

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

#endif							/* KILN_ACCESS_H */
