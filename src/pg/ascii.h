/*
 * ASCII by words: the quick first question to ask of a string, which most strings answer with yes.
 */
#ifndef KILN_ASCII_H
#define KILN_ASCII_H

#include "postgres.h"

/* Are all eight bytes of a word ASCII other than NUL? A zero byte borrows into its top bit, whatever stands below it. */
static inline bool
kiln_is_ascii_word(uint64 word)
{
	return ((word | (word - UINT64CONST(0x0101010101010101))) & UINT64CONST(0x8080808080808080)) == 0;
}

/*
 * Copy ASCII without NUL. False if something else is met: then what was copied is good for nothing. The last word overlaps the one
 * before it, so that there is no loop over single bytes but for the shortest strings.
 */
static inline bool
kiln_copy_ascii(void *target, const void *source, size_t n)
{
	char	   *to = target;
	const char *from = source;
	uint64		word;

	if (n >= 8)
	{
		for (size_t i = 0; i < n - 8; i += 8)
		{
			memcpy(&word, from + i, 8);
			memcpy(to + i, &word, 8);
			if (!kiln_is_ascii_word(word))
				return false;
		}
		memcpy(&word, from + n - 8, 8);
		memcpy(to + n - 8, &word, 8);
		return kiln_is_ascii_word(word);
	}
	if (n >= 4)
	{
		uint32		first;
		uint32		last;

		memcpy(&first, from, 4);
		memcpy(&last, from + n - 4, 4);
		memcpy(to, &first, 4);
		memcpy(to + n - 4, &last, 4);
		return kiln_is_ascii_word(first | (uint64) last << 32);
	}
	for (size_t i = 0; i < n; i++)
	{
		to[i] = from[i];
		if ((unsigned char) from[i] - 1u >= 0x7f)
			return false;
	}
	return true;
}

#endif							/* KILN_ASCII_H */
