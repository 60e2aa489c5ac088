/*
 * Values written down in a test, as a source for the encoder.
 *
 * A value is built with the macros below: NODE(INT(1), TEXT("x")) is a struct or list, NODE(KEY("k", INT(1))) a dict, EMPTY any of them
 * without children. INT is for signed types, dates and timestamps, UINT for unsigned ones and enums. TEXT given for a list of numbers is
 * its packed elements; UINT for a list or dict is a mere claim of that many elements.
 */
#ifndef TEST_LITERAL_SOURCE_H
#define TEST_LITERAL_SOURCE_H

#include "kiln.h"

typedef enum value_kind
{
	V_END,						/* ends a list of children */
	V_NULL, V_MISSING, V_BROKEN, V_BOOL, V_INT, V_UINT, V_F32, V_F64, V_TEXT, V_NODE
} value_kind;

/* A literal. Children of a struct stand in the order of its fields; those of a dict have keys. */
typedef struct value
{
	value_kind	kind;
	kiln_scalar scalar;
	const char *key;
	size_t		key_length;
	const struct value *children;
} value;

#define NULL_		{V_NULL, {0}, NULL, 0, NULL}
#define MISSING		{V_MISSING, {0}, NULL, 0, NULL}
#define BROKEN		{V_BROKEN, {0}, NULL, 0, NULL}
#define BOOL(b)		{V_BOOL, {.boolean = (b)}, NULL, 0, NULL}
#define INT(i)		{V_INT, {.i64 = (i)}, NULL, 0, NULL}
#define UINT(u)		{V_UINT, {.u64 = (u)}, NULL, 0, NULL}
#define F32(f)		{V_F32, {.f32 = (f)}, NULL, 0, NULL}
#define F64(f)		{V_F64, {.f64 = (f)}, NULL, 0, NULL}
#define TEXT(t)		{V_TEXT, {.span = {t, sizeof(t) - 1}}, NULL, 0, NULL}
#define END			{V_END, {0}, NULL, 0, NULL}
#define NODE(...)	{V_NODE, {0}, NULL, 0, (const value[]) {__VA_ARGS__, END}}
#define EMPTY		{V_NODE, {0}, NULL, 0, (const value[]) {END}}
#define KEY(k, v)	{V_NODE, {0}, k, sizeof(k) - 1, (const value[]) {v}}

/* Answer for a child that is v: NULL_, MISSING and BROKEN are what they say. */
kiln_presence literal_give(const value *v, kiln_node *child, kiln_error *error);

/* A node's pointer is a value. JSON is checked by json_checker. */
extern const kiln_source literal_source;

#endif							/* TEST_LITERAL_SOURCE_H */
