/*
 * Names of structs and fields: their normal form, what may be one, and how one is written.
 *
 * A name is normalised to NFC where it enters, at registration, in a text's definition and in a path; stored names
 * are never touched again, so that a later Unicode version can't change a definition's hash. For the same reason code
 * points that are unassigned in this build's Unicode version are refused: a later version might give them a
 * decomposition.
 *
 * Nothing here allocates. A composed sequence is at most a few times shorter in UTF-8 than what it was composed from
 * (Hangul: 9 bytes to 3; the widest ratio in Unicode is below 4), so a raw name beyond KILN_MAX_RAW_NAME is refused
 * unseen.
 */
#include "schema_internal.h"

#include <utf8proc.h>

/*
 * A raw name's code points, decomposed: canonical decomposition makes at most four of one, and no code point takes
 * less than one byte.
 */
#define MAX_DECOMPOSED	(4 * KILN_MAX_RAW_NAME)

/*
 * NFC of at most KILN_MAX_RAW_NAME bytes into out (KILN_MAX_NAME + 1 bytes). False, with out left alone, if they are
 * ill-formed or the result is too long. Sets *unassigned if it meets a code point of category Cn.
 */
static bool
compose(const char *name, size_t length, char *out, size_t *out_length, bool *unassigned)
{
	const utf8proc_option_t options = UTF8PROC_STABLE | UTF8PROC_COMPOSE;
	utf8proc_int32_t points[MAX_DECOMPOSED];
	utf8proc_uint8_t bytes[KILN_MAX_NAME + 4];
	utf8proc_ssize_t count;
	utf8proc_ssize_t i;
	size_t		n = 0;

	count = utf8proc_decompose((const utf8proc_uint8_t *) name, (utf8proc_ssize_t) length,
							   points, MAX_DECOMPOSED, options);
	if (count < 0 || count > MAX_DECOMPOSED)
		return false;
	for (i = 0; i < count; i++)
	{
		if (utf8proc_category(points[i]) == UTF8PROC_CATEGORY_CN)
			*unassigned = true;
	}
	count = utf8proc_normalize_utf32(points, count, options);
	if (count < 0)
		return false;
	for (i = 0; i < count && n <= KILN_MAX_NAME; i++)
		n += (size_t) utf8proc_encode_char(points[i], bytes + n);
	if (n > KILN_MAX_NAME)
		return false;
	memcpy(out, bytes, n);
	out[n] = '\0';
	*out_length = n;
	return true;
}

bool
kiln_name_nfc(const char *name, size_t length, char *out, size_t *out_length)
{
	bool		unassigned = false;

	if (length > KILN_MAX_RAW_NAME)
		return false;
	if (!kiln_ascii((const uint8_t *) name, length))
		return compose(name, length, out, out_length, &unassigned);
	if (length > KILN_MAX_NAME)
		return false;
	if (length != 0)
		memcpy(out, name, length);
	out[length] = '\0';
	*out_length = length;
	return true;
}

/* Is every byte fit for a name: UTF-8 without control characters? */
static bool
check_characters(const char *name, size_t length, kiln_error *error)
{
	bool		nul;
	size_t		good = kiln_utf8_prefix((const uint8_t *) name, length, &nul);
	size_t		i;

	for (i = 0; i < good; i++)
	{
		if ((unsigned char) name[i] < 0x20 || name[i] == 0x7F)
			break;
	}
	if (i < good || (good < length && nul))
		return kiln_fail(error, KILN_E_NAME, i, "a name has no control characters");
	if (good < length)
		return kiln_fail(error, KILN_E_NAME, good, "name is not valid UTF-8");
	return true;
}

/* The rules that look at a name as a whole. */
static bool
check_shape(const char *name, size_t length, kiln_error *error)
{
	if (length == 0)
		return kiln_fail(error, KILN_E_NAME, 0, "a name can't be empty");
	if (length > KILN_MAX_NAME)
		return kiln_fail(error, KILN_E_NAME, 0, "name is longer than 63 bytes");
	if (name[0] == '$')
		return kiln_fail(error, KILN_E_NAME, 0, "a name can't begin with \"$\"");
	return true;
}

bool
kiln_name_check(const char *name, size_t length, kiln_error *error)
{
	return check_characters(name, length, error) && check_shape(name, length, error);
}

bool
kiln_name_normalize(const char *name, size_t length, char *out, size_t *out_length, kiln_error *error)
{
	char		normal[KILN_MAX_NAME + 1];
	size_t		n;
	bool		unassigned = false;
	bool		fits;

	if (length > KILN_MAX_RAW_NAME)
		return kiln_fail(error, KILN_E_NAME, 0, "name is longer than 63 bytes");
	if (!check_characters(name, length, error))
		return false;
	if (kiln_ascii((const uint8_t *) name, length))
		fits = kiln_name_nfc(name, length, normal, &n);
	else
		fits = compose(name, length, normal, &n, &unassigned);
	if (!fits)
		return kiln_fail(error, KILN_E_NAME, 0, "name is longer than 63 bytes");
	if (unassigned)
		return kiln_fail(error, KILN_E_NAME, 0, "name contains a code point that Unicode has not assigned");
	if (!check_shape(normal, n, error))
		return false;
	memcpy(out, normal, n + 1);
	*out_length = n;
	return true;
}

bool
kiln_name_is_plain(const char *name, size_t length)
{
	size_t		i;

	for (i = 0; i < length; i++)
	{
		char		c = name[i];

		if (!((c >= 'a' && c <= 'z') || c == '_' || (i > 0 && c >= '0' && c <= '9')))
			return false;
	}
	return length != 0;
}

size_t
kiln_name_quote(const char *name, size_t length, char *out)
{
	char	   *to = out;
	size_t		i;

	if (kiln_name_is_plain(name, length))
	{
		memcpy(out, name, length);
		return length;
	}
	*to++ = '"';
	for (i = 0; i < length; i++)
	{
		if (name[i] == '"')
			*to++ = '"';
		*to++ = name[i];
	}
	*to++ = '"';
	return (size_t) (to - out);
}
