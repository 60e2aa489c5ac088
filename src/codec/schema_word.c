/*
 * Type words (FORMAT 1): the canonical ones and PostgreSQL's names for the same types, which are taken in input only.
 *
 * All of them are taken in any ASCII case; white space and comments may stand between the words of one type.
 */
#include "schema_internal.h"

/* Of two where one begins with the words of the other the longer one stands first. */
static const kiln_type_word type_words[] = {
	{"bigint", KILN_I64},
	{"bool", KILN_BOOL},
	{"boolean", KILN_BOOL},
	{"bytea", KILN_BYTES},
	{"bytes", KILN_BYTES},
	{"character varying", KILN_STRING},
	{"date", KILN_DATE},
	{"decimal", KILN_NUMERIC},
	{"double precision", KILN_F64},
	{"f32", KILN_F32},
	{"f64", KILN_F64},
	{"float", KILN_F64},
	{"float4", KILN_F32},
	{"float8", KILN_F64},
	{"i16", KILN_I16},
	{"i32", KILN_I32},
	{"i64", KILN_I64},
	{"i8", KILN_I8},
	{"int", KILN_I32},
	{"int2", KILN_I16},
	{"int4", KILN_I32},
	{"int8", KILN_I64},
	{"integer", KILN_I32},
	{"json", KILN_JSON},
	{"numeric", KILN_NUMERIC},
	{"real", KILN_F32},
	{"smallint", KILN_I16},
	{"string", KILN_STRING},
	{"text", KILN_STRING},
	{"timestamp with time zone", KILN_TIMESTAMPTZ},
	{"timestamp without time zone", KILN_TIMESTAMP},
	{"timestamp", KILN_TIMESTAMP},
	{"timestamptz", KILN_TIMESTAMPTZ},
	{"u16", KILN_U16},
	{"u32", KILN_U32},
	{"u64", KILN_U64},
	{"u8", KILN_U8},
	{"uuid", KILN_UUID},
	{"varchar", KILN_STRING},
};

const kiln_type_word *
kiln_find_type_word(const kiln_lexer *lexer, size_t *end)
{
	size_t		i;

	for (i = 0; i < sizeof type_words / sizeof type_words[0]; i++)
	{
		const char *word = type_words[i].words;
		size_t		pos = lexer->token.start;
		size_t		n;

		if ((lexer->text[pos] | 0x20) != word[0])
			continue;			/* whatever its case, another letter */
		n = strcspn(word, " ");
		while (n != 0 && kiln_lexer_peek_word(lexer, &pos, word, n))
		{
			word += n;
			word += *word == ' ';
			n = strcspn(word, " ");
		}
		if (n == 0)
		{
			*end = pos;
			return &type_words[i];
		}
	}
	return NULL;
}
