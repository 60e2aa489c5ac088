/*
 * Kiln values as SQL values of any type.
 *
 *   to_datum.c   choosing a conversion; scalars, domains, other types through their input function
 *   to_array.c   lists as arrays
 *   to_row.c     structs as composites, columns by name
 *   record.c     kiln_to_record() and kiln_populate_record()
 *
 * How a kiln type becomes an SQL type is worked out once, as a tree of targets that follows both types; running it
 * looks nothing up. A target belongs to one definition and must go before that does. It is not reentrant: the values
 * of a row under construction are its own.
 *
 * Values are read held (docs/DESIGN.md, section 1): the helpers below step through a field's parts and never leave
 * [base, end), whatever the definition says.
 */
#ifndef KILN_DATUM_H
#define KILN_DATUM_H

#include "kiln_access.h"

#include "access/htup_details.h"

typedef struct KilnTarget KilnTarget;
typedef struct KilnArrayTarget KilnArrayTarget;
typedef struct KilnRowTarget KilnRowTarget;

/* Conversions that are one load: the kind is the SQL type's own. */
typedef enum KilnDirect
{
	KILN_DIRECT_NONE, KILN_DIRECT_BOOL, KILN_DIRECT_INT2, KILN_DIRECT_INT4, KILN_DIRECT_INT8, KILN_DIRECT_FLOAT4,
	KILN_DIRECT_FLOAT8, KILN_DIRECT_TEXT
} KilnDirect;

/*
 * One place of a definition and the SQL type that it becomes. run converts a value that is present; it sets *isnull
 * (false before) where a json value has nothing to give.
 */
struct KilnTarget
{
	Datum		(*run) (KilnTarget *target, const KilnField *field, bool *isnull);
	Datum		(*scalar) (const KilnField *field, bool *isnull);	/* what run rests on, for most */
	KilnDirect	direct;			/* instead of run, which is set all the same */
	const kiln_type *type;		/* never OPTIONAL */
	Oid			sql_type;		/* domains resolved */
	int32		typmod;
	Oid			domain;			/* what it was before, if it was a domain */
	void	   *domain_cache;
	FmgrInfo	input;			/* where values go through the type's input function */
	Oid			input_parameter;
	KilnTarget *base;			/* of a domain: the conversion to what it is over */
	KilnArrayTarget *array;
	KilnRowTarget *row;
	MemoryContext context;		/* of the target and all it points to */
};

/* ------------------------------------------------------------------ to_datum.c */

/*
 * Make the target for a type (for an OPTIONAL, of what is inside) in context. Raises 42804 if there is no conversion.
 */
extern KilnTarget *kiln_target_make(const kiln_type *type, Oid sql_type, int32 typmod, MemoryContext context);

/* A string as text, in a server whose encoding is UTF-8. */
extern Datum kiln_field_utf8_text(const KilnField *field);

/* Convert a value that is present. *isnull: false before. */
static inline Datum
kiln_target_run(KilnTarget *target, const KilnField *field, bool *isnull)
{
	switch (target->direct)
	{
		case KILN_DIRECT_BOOL:
			return BoolGetDatum(*kiln_field_fixed(field, 1) != 0);
		case KILN_DIRECT_INT2:
			return Int16GetDatum((int16) kiln_load_u16(kiln_field_fixed(field, 2)));
		case KILN_DIRECT_INT4:
			return Int32GetDatum((int32) kiln_load_u32(kiln_field_fixed(field, 4)));
		case KILN_DIRECT_INT8:
			return Int64GetDatum((int64) kiln_load_u64(kiln_field_fixed(field, 8)));
		case KILN_DIRECT_FLOAT4:
			return Float4GetDatum(kiln_load_f32(kiln_field_fixed(field, 4)));
		case KILN_DIRECT_FLOAT8:
			return Float8GetDatum(kiln_load_f64(kiln_field_fixed(field, 8)));
		case KILN_DIRECT_TEXT:
			return kiln_field_utf8_text(field);
		case KILN_DIRECT_NONE:
			break;
	}
	return target->run(target, field, isnull);
}

/* NULL of that type: a domain may refuse it. */
extern void kiln_target_check_null(KilnTarget *target);

/* Can a value of that type, which is no domain, be a whole list (json, jsonb, kiln, an array)? */
extern bool kiln_takes_lists(Oid sql_type);

/* Is it the type kiln? */
extern bool kiln_is_kiln_type(Oid sql_type);

/* ------------------------------------------------------------------ to_array.c */

extern KilnArrayTarget *kiln_array_target_make(const kiln_type *type, Oid element_type, int32 typmod,
											   MemoryContext context);
extern Datum kiln_array_target_run(KilnArrayTarget *target, const KilnField *field);

/* ------------------------------------------------------------------ to_row.c */

/*
 * The target for a struct as a composite: of a named type, or (row_type RECORD) of the blessed row type with that
 * typmod.
 */
extern KilnRowTarget *kiln_row_target_make(const kiln_type *type, Oid row_type, int32 row_typmod,
										   MemoryContext context);

/*
 * Convert. base, if not NULL, is a row of the same type: columns that the value has nothing for keep what they are
 * there.
 */
extern Datum kiln_row_target_run(KilnRowTarget *target, const KilnField *field, HeapTupleHeader base);

/* ------------------------------------------------------------------ stepping through parts */

extern void kiln_field_pass_slow(KilnField *field, const kiln_type *type);

/* Move on behind a value of that type. */
static inline void
kiln_field_pass(KilnField *field, const kiln_type *type)
{
	if (type->width != 0)
		field->at += Min((size_t) type->width, (size_t) (field->end - field->at));
	else if (type->kind == KILN_STRING)
	{
		uint32_t	length;
		const uint8_t *content = kiln_field_span(field, &length);

		field->at = content + length;
	}
	else
		kiln_field_pass_slow(field, type);
}

/* Read the tag of an optional and move on behind it. */
static inline bool
kiln_field_present(KilnField *field)
{
	const uint8_t *tag = kiln_field_fixed(field, 1);

	field->at = tag + 1;
	return *tag != 0;
}

/*
 * Read the count of a list or dict whose items take least bytes or more, and move on behind it. So many items do not
 * have to follow in a damaged value: reads of the rest stay at its end.
 */
static inline uint32_t
kiln_field_count(KilnField *field, uint32_t least)
{
	const uint8_t *p = kiln_field_fixed(field, 4);
	uint32_t	count = kiln_load_u32(p);
	size_t		most;

	field->at = p + 4;
	most = (size_t) (field->end - field->at) / least;
	return count < most ? count : (uint32_t) most;
}

static inline const kiln_type *
kiln_without_optional(const kiln_type *type)
{
	return type->kind == KILN_OPTIONAL ? type->element : type;
}

#endif							/* KILN_DATUM_H */
