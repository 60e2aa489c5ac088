/*
 * Differences between the PostgreSQL versions that Kiln builds on (14 to 18). All version guards stand here.
 */
#ifndef KILN_COMPAT_H
#define KILN_COMPAT_H

#include "postgres.h"
#include "common/jsonapi.h"
#include "nodes/nodes.h"

#if PG_VERSION_NUM < 140000
#error "Kiln needs PostgreSQL 14 or later"
#endif

/*
 * Soft errors (PostgreSQL 16): a function that was given an ErrorSaveContext reports bad input there and returns.
 * Before 16 there is none to be given, and bad input is an ERROR.
 */
#if PG_VERSION_NUM >= 160000
#include "nodes/miscnodes.h"
#define kiln_ereturn(escontext, result, ...) ereturn(escontext, result, __VA_ARGS__)
#define kiln_errsave(escontext, ...) errsave(escontext, __VA_ARGS__)
#define kiln_soft_error_occurred(escontext) SOFT_ERROR_OCCURRED(escontext)
#define kiln_escontext(fcinfo) ((fcinfo)->context)
#else
#define kiln_ereturn(escontext, result, ...) \
	do { \
		(void) (escontext); \
		ereport(ERROR, __VA_ARGS__); \
		return result; \
	} while (0)
#define kiln_errsave(escontext, ...) \
	do { \
		(void) (escontext); \
		ereport(ERROR, __VA_ARGS__); \
	} while (0)
#define kiln_soft_error_occurred(escontext) ((void) (escontext), false)
#define kiln_escontext(fcinfo) ((void) (fcinfo), (Node *) NULL)
#endif

/* PostgreSQL 17 lets the caller own the lexer; before, it was always allocated. */
#if PG_VERSION_NUM >= 170000
#define kiln_json_lexer(json, length) \
	makeJsonLexContextCstringLen(NULL, (json), (length), PG_UTF8, false)
#else
#define kiln_json_lexer(json, length) \
	makeJsonLexContextCstringLen((json), (length), PG_UTF8, false)
#endif

/* PostgreSQL 16 moved varlena accessors and array helpers out of postgres.h. */
#if PG_VERSION_NUM >= 160000
#include "varatt.h"
#endif

/* PostgreSQL 16 asks for rights on any kind of object by one function. The caller includes utils/acl.h. */
#if PG_VERSION_NUM >= 160000
#define kiln_wrapper_aclcheck(wrapper, role) \
	object_aclcheck(ForeignDataWrapperRelationId, (wrapper), (role), ACL_USAGE)
#else
#define kiln_wrapper_aclcheck(wrapper, role) \
	pg_foreign_data_wrapper_aclcheck((wrapper), (role), ACL_USAGE)
#endif

#ifndef pg_noreturn				/* PostgreSQL 18 has it in front of the declaration */
#define pg_noreturn pg_attribute_noreturn()
#endif

#endif							/* KILN_COMPAT_H */
