/*
 * Changing a value: what is put in, and where.
 *
 *   change.c      new values, SQL's or kiln's, as payloads of a field's type
 *   set.c         the place in a value, and the value around it; kiln_set
 *   subscript.c   v['a'][0], read and assigned
 *   merge.c       kiln_merge
 *   upgrade.c     kiln_upgrade, kiln_encode from a kiln value
 */
#ifndef KILN_CHANGE_H
#define KILN_CHANGE_H

#include "kiln_pg.h"

/* A value to be put in. */
typedef struct KilnNewValue
{
	Oid			sql_type;
	Oid			kiln_oid;		/* that of type kiln */
	Datum		datum;
	bool		isnull;
} KilnNewValue;

/* ------------------------------------------------------------------ change.c */

/*
 * Is it null: SQL's, or a JSON null (which is a value to a json field only)? type: the field's, not OPTIONAL.
 */
extern bool kiln_new_value_is_null(const KilnNewValue *value, const kiln_type *type);

/*
 * Append the payload of a value that is not null, as type, which is not OPTIONAL. False: *error is filled, its path
 * relative to the value; *place says whether it was read from text. Raises what is not about the value itself.
 */
extern bool kiln_put_value(const kiln_type *type, const KilnNewValue *value, kiln_writer *writer,
						   KilnErrorPlace *place, kiln_error *error);

/* The same for a kiln value: a scalar by its number or text, json as text input reads it, any other by evolution. */
extern bool kiln_put_kiln(const kiln_type *type, KilnValue *value, kiln_writer *writer,
						  KilnErrorPlace *place, kiln_error *error);

/* A value as jsonb, for what is set inside json. Not null. */
extern Datum kiln_new_value_jsonb(const KilnNewValue *value);

/* ------------------------------------------------------------------ set.c */

/*
 * A value with one place changed: definition and frame kind are kept. container: not null; it is what is returned, as
 * it is stored, where there is nothing to change. Raises 55000 for an unverified value, 42804 for tensors, and for a
 * path or value that does not fit as kiln_access() and kiln_encode() do.
 */
extern struct varlena *kiln_change(Datum container, const kiln_path *path, const KilnNewValue *value);

/* The value of schema that has one place set and else only absent fields and defaults; 22004 if it needs more. */
extern struct varlena *kiln_change_nothing(const KilnSchema *schema, const kiln_path *path, const KilnNewValue *value);

/* 54000 */
pg_noreturn extern void kiln_report_too_large(void);

/* CHECK_FOR_INTERRUPTS as a function. */
extern void kiln_poll_interrupts(void);

#endif							/* KILN_CHANGE_H */
