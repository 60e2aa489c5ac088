/*
 * Text encodings: UTF-8 inside, the server's encoding at the edge.
 *
 * Text comes in whole and is converted whole. Text goes out in two ways: values that must be what they say raise
 * 22P05 for a character that the encoding lacks, JSON and messages write it as \uXXXX. In SQL_ASCII nothing is
 * converted, and what comes in has to be UTF-8.
 */
#include "kiln_text.h"

#include "catalog/namespace.h"
#include "utils/builtins.h"

#include "ascii.h"

/* Bytes converted in one call: few enough for a buffer on the stack. */
#define CHUNK	1024

static bool
is_ascii(const char *text, size_t length)
{
	unsigned char any = 0;

	for (size_t i = 0; i < length; i++)
		any |= (unsigned char) text[i];
	return any < 0x80;
}

/* ------------------------------------------------------------------ in */

const char *
kiln_server_to_utf8(const char *text, size_t length, size_t *out_length)
{
	unsigned char *converted;
	bool		nul;

	*out_length = length;
	if (kiln_server_takes_utf8())
	{
		size_t		good = kiln_utf8_prefix((const uint8_t *) text, length, &nul);

		if (good < length)
			report_invalid_encoding(PG_UTF8, text + good, (int) (length - good));
		return text;
	}
	if (length == 0 || is_ascii(text, length))
		return text;
	converted = pg_do_encoding_conversion((unsigned char *) unconstify(char *, text), (int) length,
										  GetDatabaseEncoding(), PG_UTF8);
	*out_length = strlen((const char *) converted);
	return (const char *) converted;
}

const char *
kiln_text_datum_to_utf8(Datum text_datum, size_t *length)
{
	text	   *packed = DatumGetTextPP(text_datum);

	return kiln_server_to_utf8(VARDATA_ANY(packed), VARSIZE_ANY_EXHDR(packed), length);
}

/* ------------------------------------------------------------------ out, exactly */

char *
kiln_utf8_to_server(const char *text, size_t length)
{
	if (kiln_server_takes_utf8() || is_ascii(text, length))
		return pnstrdup(text, length);
	/* a new string, since it is not ASCII and the encodings differ */
	return (char *) pg_do_encoding_conversion((unsigned char *) unconstify(char *, text), (int) length,
											  PG_UTF8, GetDatabaseEncoding());
}

/* A string that is not all ASCII. */
static pg_noinline Datum
text_of_utf8(const uint8_t *utf8, size_t length)
{
	bool		nul;
	size_t		good = kiln_utf8_prefix(utf8, length, &nul);
	const char *string = (const char *) utf8;

	if (good < length)
		ereport(ERROR,
				(errcode(ERRCODE_CHARACTER_NOT_IN_REPERTOIRE),
				 errmsg("damaged value of type kiln: %s",
						nul ? "string contains a NUL byte" : "string is not valid UTF-8")));
	if (kiln_server_takes_utf8())
		return PointerGetDatum(cstring_to_text_with_len(string, (int) length));
	return PointerGetDatum(cstring_to_text(kiln_utf8_to_server(string, length)));
}

/* ASCII is the same in every server encoding, and it is most of all text. */
Datum
kiln_utf8_to_text_datum(const uint8_t *utf8, size_t length)
{
	text	   *result = palloc(VARHDRSZ + length);

	SET_VARSIZE(result, VARHDRSZ + length);
	if (likely(kiln_copy_ascii(VARDATA(result), utf8, length)))
		return PointerGetDatum(result);
	pfree(result);
	return text_of_utf8(utf8, length);
}

/* ------------------------------------------------------------------ out, with escapes */

/* Length of the UTF-8 character at p, 0 if it is none. */
static int
character_length(const char *p, const char *end)
{
	int			length = pg_utf_mblen((const unsigned char *) p);

	if (length > end - p || !pg_utf8_islegal((const unsigned char *) p, length))
		return 0;
	return length;
}

static void
append_unit(StringInfo buf, unsigned int unit)
{
	appendStringInfo(buf, "\\u%04x", unit);
}

/* A character as JSON escapes it. */
static void
append_escaped(StringInfo buf, const char *p)
{
	pg_wchar	c = utf8_to_unicode((const unsigned char *) p);

	if (c < 0x10000)
		append_unit(buf, c);
	else
	{
		append_unit(buf, 0xd800 + ((c - 0x10000) >> 10));
		append_unit(buf, 0xdc00 + ((c - 0x10000) & 0x3ff));
	}
}

/*
 * Bytes of the longest part of at most CHUNK bytes that ends with a whole character; stops in front of what is no
 * UTF-8.
 */
static int
whole_characters(const char *p, const char *end)
{
	const char *start = p;

	while (p < end)
	{
		int			length = (unsigned char) *p < 0x80 ? 1 : character_length(p, end);

		if (length == 0 || p + length - start > CHUNK)
			break;
		p += length;
	}
	return (int) (p - start);
}

/*
 * Append UTF-8 text in the server's encoding. Characters that it lacks are escaped, bytes that are no UTF-8 (in
 * messages about just that) become question marks.
 */
static void
append_for_server(StringInfo buf, const char *text, size_t length)
{
	int			encoding = GetDatabaseEncoding();
	Oid			conversion = FindDefaultConversionProc(PG_UTF8, encoding);
	const char *p = text;
	const char *end = text + length;
	unsigned char out[(CHUNK + 1) * MAX_CONVERSION_GROWTH + 1];	/* less, and the conversion would stop short of CHUNK */

	while (p < end)
	{
		int			chunk = whole_characters(p, end);
		int			done = 0;

		if (chunk == 0)
		{
			appendStringInfoChar(buf, '?');
			p++;
			continue;
		}
		if (OidIsValid(conversion))
		{
			done = pg_do_encoding_conversion_buf(conversion, PG_UTF8, encoding,
												 (unsigned char *) unconstify(char *, p), chunk,
												 out, sizeof out, true);
			appendStringInfoString(buf, (char *) out);
		}
		else
			while (done < chunk && (unsigned char) p[done] < 0x80)
				appendStringInfoCharMacro(buf, p[done++]);
		p += done;
		if (done < chunk)
		{
			append_escaped(buf, p);
			p += character_length(p, end);
		}
	}
}

void
kiln_json_to_server(StringInfo buf, int start)
{
	size_t		length = (size_t) (buf->len - start);
	char	   *utf8;

	if (kiln_server_takes_utf8() || is_ascii(buf->data + start, length))
		return;
	utf8 = MemoryContextAllocHuge(CurrentMemoryContext, length);
	memcpy(utf8, buf->data + start, length);
	buf->len = start;
	append_for_server(buf, utf8, length);
	pfree(utf8);
}

char *
kiln_utf8_for_message(const char *text, size_t length)
{
	StringInfoData buf;
	bool		nul;

	if (is_ascii(text, length) ||
		(kiln_server_takes_utf8() && kiln_utf8_prefix((const uint8_t *) text, length, &nul) == length))
		return pnstrdup(text, length);
	initStringInfo(&buf);
	if (!kiln_server_takes_utf8())
	{
		append_for_server(&buf, text, length);
		return buf.data;
	}
	/* bytes that are no UTF-8, as a message was cut or speaks of them */
	for (const char *p = text; p < text + length;)
	{
		int			n = character_length(p, text + length);

		if (n > 0)
			appendBinaryStringInfo(&buf, p, n);
		else
			appendStringInfoChar(&buf, '?');
		p += Max(n, 1);
	}
	return buf.data;
}
