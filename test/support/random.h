/*
 * Random definitions and random payloads.
 *
 * A definition is written as canonical text (FORMAT 1); a payload is written byte by byte from a type tree as
 * FORMAT 2 says, with none of the codec's encoder. So both serve as an independent word on what parser, validator
 * and encoder must agree with.
 *
 * Everything follows from the seed alone, on every machine.
 */
#ifndef TEST_RANDOM_H
#define TEST_RANDOM_H

#include "kiln.h"

/* splitmix64; any seed will do. */
typedef struct test_random
{
	uint64_t	state;
} test_random;

uint64_t	test_random_next(test_random *r);

/* Uniform enough below n, which is not 0. */
uint32_t	test_random_below(test_random *r, uint32_t n);

/* True once in n. */
bool		test_random_once(test_random *r, uint32_t n);

/* Bytes that grow; zero it to start. The test ends if memory does. */
typedef struct test_bytes
{
	uint8_t    *data;
	size_t		length;
	size_t		capacity;
} test_bytes;

void		test_bytes_add(test_bytes *bytes, const void *data, size_t n);
void		test_bytes_text(test_bytes *bytes, const char *text);
void		test_bytes_u8(test_bytes *bytes, uint8_t v);
void		test_bytes_u16(test_bytes *bytes, uint16_t v);
void		test_bytes_u32(test_bytes *bytes, uint32_t v);
void		test_bytes_u64(test_bytes *bytes, uint64_t v);
void		test_bytes_free(test_bytes *bytes);

/* Append a definition in canonical form: every type, nested, with quoted names, labels and defaults. */
void		test_random_definition(test_random *r, test_bytes *text);

/* Append a valid payload for type. */
void		test_random_payload(test_random *r, const kiln_type *type, test_bytes *payload);

/* Append well-formed UTF-8 without NUL, about that many characters of one to four bytes. */
void		test_random_string(test_random *r, uint32_t characters, test_bytes *text);

/* Takes any text for JSON: for definitions with json defaults whose text is known to be good. */
extern const kiln_json_check test_json_any;

#endif							/* TEST_RANDOM_H */
