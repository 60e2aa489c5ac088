/*
 * SHA-256 (FIPS 180-4), for comparing long results with the digests that the vectors give.
 */
#ifndef TEST_SHA256_H
#define TEST_SHA256_H

#include <stddef.h>
#include <stdint.h>

/* The digest of n bytes as 64 lower-case hex digits, NUL-terminated. */
void		sha256_hex(const uint8_t *data, size_t n, char out[65]);

#endif							/* TEST_SHA256_H */
