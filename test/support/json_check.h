/*
 * A JSON checker for tests: what the server's jsonb would take, as kiln_validate()'s callback asks.
 *
 * Takes one JSON value with white space anywhere that JSON allows it. Refuses more than 200 levels of arrays and
 * objects, \u0000, lone surrogates, and numbers beyond the server's numeric: more than 131072 digits before the point
 * or a scale above 16383. The text is known to be UTF-8 without NUL.
 */
#ifndef JSON_CHECK_H
#define JSON_CHECK_H

#include "kiln.h"

bool		json_check_text(void *context, const uint8_t *text, size_t n);

extern const kiln_json_check json_checker;

#endif							/* JSON_CHECK_H */
