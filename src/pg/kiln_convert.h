/*
 * Whole tables converted: what the files that run queries share.
 *
 *   convert_row.c    what is asked of one row: does it fit, is it outdated
 *   convert.c        kiln_convert and kiln_upgrade_table: batches, commits, progress
 *   convert_list.c   kiln_misfits and kiln_infer_report: queries whose rows are handed on
 *   convert_table.c  names and columns
 *
 * These are the extension's only users of SPI. All that stands in a query is qualified or quoted, operators too, so
 * that no search_path has a say; rights are those of who calls.
 */
#ifndef KILN_CONVERT_H
#define KILN_CONVERT_H

#include "kiln_pg.h"

/* A column that was looked for. */
typedef struct KilnColumn
{
	const char *quoted;			/* its name, as SQL writes it */
	Oid			base_type;		/* domains resolved */
	int32		typmod;
	bool		not_null;
	bool		generated;
} KilnColumn;

/* ------------------------------------------------------------------ convert_row.c */

/* What has to come back of a document for it to fit. */
typedef enum KilnVerify
{
	KILN_VERIFY_NONE,			/* nothing: that it encodes is enough */
	KILN_VERIFY_VALUES,			/* all, but that null members of objects are absent */
	KILN_VERIFY_EXACT			/* all */
} KilnVerify;

/* The words none, values, exact; 22023 for others. */
extern KilnVerify kiln_verify_of(text *argument);

/* ------------------------------------------------------------------ convert_table.c */

/* The schema that the extension is in, that of the function at hand, quoted. */
extern char *kiln_own_schema(FunctionCallInfo fcinfo);

/* A relation's name, qualified and quoted. 42P01 if there is none. */
extern char *kiln_relation_name(Oid relation);

/* 42703 if the relation has no such column. */
extern KilnColumn kiln_find_column(Oid relation, const char *name);

/* A column of documents, json or jsonb: 42804 if it is of another type. */
extern KilnColumn kiln_document_column(Oid relation, const char *name);

/* The function that tells misfits of such a column. */
extern const char *kiln_misfit_function(const KilnColumn *column);

/* A column of type kiln that can be written to. */
extern KilnColumn kiln_kiln_column(Oid relation, const char *name);

/* Refuse what holds no rows of its own, or none that an UPDATE changes. */
extern void kiln_check_table(Oid relation);

#endif							/* KILN_CONVERT_H */
