/*
 * The codec's errors as PostgreSQL's.
 *
 * The codec says what is wrong by a code, an offset and a path; where it was met says which SQLSTATE a user expects
 * for it. Both come together here and nowhere else.
 */
#include "kiln_pg.h"

#include "utils/builtins.h"
#include "utils/varlena.h"

/* SQLSTATE of a code, by the place it was met (docs/DESIGN.md, section 6). */
static int
sqlstate_of(const kiln_error *error, KilnErrorPlace place)
{
	bool		text = (place == KILN_IN_TEXT || place == KILN_IN_RECORD);
	bool		binary = (place == KILN_IN_BINARY || place == KILN_IN_STORED);

	switch (error->code)
	{
		case KILN_E_SYNTAX:
		case KILN_E_UNKNOWN_TYPE:
		case KILN_E_NAME:
		case KILN_E_DUPLICATE:
		case KILN_E_DEFAULT:
			if (binary)			/* the definition of an inline frame: its bytes are damaged, nobody wrote it so */
				return ERRCODE_INVALID_BINARY_REPRESENTATION;
			break;
		default:
			break;
	}
	switch (error->code)
	{
		case KILN_E_UTF8:
		case KILN_E_NUL:
			return ERRCODE_CHARACTER_NOT_IN_REPERTOIRE;
		case KILN_E_DATE:
		case KILN_E_TIMESTAMP:
			return text ? ERRCODE_DATETIME_VALUE_OUT_OF_RANGE : ERRCODE_INVALID_BINARY_REPRESENTATION;
		case KILN_E_SYNTAX:
		case KILN_E_UNKNOWN_TYPE:
		case KILN_E_PATH:
			return ERRCODE_SYNTAX_ERROR;
		case KILN_E_NOT_CANONICAL:
			return text ? ERRCODE_INVALID_TEXT_REPRESENTATION : ERRCODE_INVALID_BINARY_REPRESENTATION;
		case KILN_E_NAME:
			return ERRCODE_INVALID_NAME;
		case KILN_E_DUPLICATE:
			return ERRCODE_DUPLICATE_COLUMN;
		case KILN_E_DEFAULT:
		case KILN_E_PATH_STEP:
		case KILN_E_REMOVED:
		case KILN_E_CONVERT:
			return ERRCODE_DATATYPE_MISMATCH;
		case KILN_E_LIMIT:
		case KILN_E_SIZE:
			return ERRCODE_PROGRAM_LIMIT_EXCEEDED;
		case KILN_E_PATH_FIELD:
			return ERRCODE_UNDEFINED_COLUMN;
		case KILN_E_NULL:
			return ERRCODE_NULL_VALUE_NOT_ALLOWED;
		case KILN_E_MISSING:
			return ERRCODE_NOT_NULL_VIOLATION;
		case KILN_E_RANGE:
			return ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE;
		case KILN_E_TYPE:
			return place == KILN_IN_RECORD ? ERRCODE_DATATYPE_MISMATCH : ERRCODE_INVALID_TEXT_REPRESENTATION;
		case KILN_E_MEMORY:
			return ERRCODE_OUT_OF_MEMORY;
		case KILN_E_SOURCE:
			return error->source_code;
		default:
			return text ? ERRCODE_INVALID_TEXT_REPRESENTATION : ERRCODE_INVALID_BINARY_REPRESENTATION;
	}
}

/* What the primary message says before the codec's own words; NULL: nothing. */
static const char *
subject_of(KilnErrorPlace place)
{
	switch (place)
	{
		case KILN_IN_BINARY:
			return "invalid binary value for type kiln";
		case KILN_IN_STORED:
			return "damaged value of type kiln";
		case KILN_IN_TEXT:
			return "invalid input for type kiln";
		case KILN_IN_RECORD:
			return "value does not fit the kiln schema";
		case KILN_IN_DEFINITION:
		case KILN_IN_PATH:
			break;
	}
	return NULL;
}

/*
 * The primary message: a source's own words where it has any, else the subject and the code's text, with the detail
 * behind it.
 */
static char *
primary_message(const kiln_error *error, KilnErrorPlace place)
{
	const char *subject = subject_of(place);
	const char *text = kiln_error_text(error->code);
	char	   *detail = error->detail[0] ? kiln_utf8_for_message(error->detail, strlen(error->detail)) : NULL;

	if (error->code == KILN_E_SOURCE)
	{
		text = detail ? detail : text;
		detail = NULL;
	}
	if (subject && detail)
		return psprintf("%s: %s (%s)", subject, text, detail);
	if (subject)
		return psprintf("%s: %s", subject, text);
	if (detail)
		return psprintf("%s: %s", text, detail);
	return pstrdup(text);
}

/* Where it is wrong, as a sentence; NULL if there is nothing to tell. */
static char *
place_detail(const kiln_error *error, KilnErrorPlace place)
{
	char	   *path = error->path[0] ? kiln_utf8_for_message(error->path, strlen(error->path)) : NULL;

	switch (place)
	{
		case KILN_IN_BINARY:
		case KILN_IN_STORED:
			if (path)
				return psprintf("At byte offset %zu, path %s.", error->offset, path);
			return psprintf("At byte offset %zu.", error->offset);
		case KILN_IN_DEFINITION:
		case KILN_IN_PATH:
			if (error->code == KILN_E_PATH_FIELD || error->code == KILN_E_PATH_STEP)
				return NULL;
			return psprintf("At byte offset %zu.", error->offset);
		case KILN_IN_TEXT:
		case KILN_IN_RECORD:
			break;
	}
	return path ? psprintf("At path %s.", path) : NULL;
}

/*
 * A codec error in one line, for lists of what did not go: palloc'd, server encoding.
 */
char *
kiln_error_line(const kiln_error *error)
{
	char	   *primary = primary_message(error, KILN_IN_PATH);	/* which adds no subject */

	if (error->path[0] == '\0')
		return primary;
	return psprintf("%s, at path %s", primary, kiln_utf8_for_message(error->path, strlen(error->path)));
}

/*
 * Raise, or save in escontext, the PostgreSQL error for a codec error. Returns only if it was saved.
 */
void
kiln_report(const kiln_error *error, KilnErrorPlace place, Node *escontext)
{
	char	   *primary = primary_message(error, place);
	char	   *detail = place_detail(error, place);

	kiln_errsave(escontext,
				 (errcode(sqlstate_of(error, place)),
				  errmsg_internal("%s", primary),
				  detail ? errdetail_internal("%s", detail) : 0));
}

/*
 * Set an error that a source found in the value itself: its SQLSTATE and its words, which kiln_report() gives as
 * they are. Returns false.
 */
bool
kiln_source_fail(kiln_error *error, int sqlstate, const char *format, ...)
{
	va_list		args;
	int			wanted;

	kiln_fail(error, KILN_E_SOURCE, 0, NULL);
	if (error == NULL)
		return false;
	error->source_code = sqlstate;
	va_start(args, format);
	wanted = vsnprintf(error->detail, sizeof error->detail, format, args);
	va_end(args);
	if (wanted >= (int) sizeof error->detail)
	{
		/* cut in the middle of a character, perhaps: what is left of one goes */
		size_t		length = strlen(error->detail);
		bool		nul;

		length = kiln_utf8_prefix((const uint8_t *) error->detail, length, &nul);
		error->detail[length] = '\0';
	}
	return false;
}

/*
 * Names near to one that does not exist, by edit distance as for columns in core; NULL if none is near. type: STRUCT.
 */
char *
kiln_near_names(const kiln_type *type, const char *name, size_t length)
{
	const int	farthest = 3;
	int			best = farthest + 1;
	char	   *near = NULL;
	char	   *wanted;

	if (length == 0 || length > KILN_MAX_NAME)
		return NULL;
	/* core's edit distance counts characters of the server's encoding */
	wanted = kiln_utf8_for_message(name, length);
	for (uint32_t i = 0; i < type->count; i++)
	{
		char	   *field = kiln_utf8_for_message(type->fields[i].name, type->fields[i].name_length);
		int			distance = varstr_levenshtein_less_equal(wanted, (int) strlen(wanted), field, (int) strlen(field),
															 1, 1, 1, farthest, true);

		if (distance < best && distance <= (int) length / 2)
		{
			best = distance;
			near = field;
		}
	}
	return near;
}

/*
 * 42703 for a field that a struct does not have. schema_name may be NULL or empty: an unnamed struct.
 */
void
kiln_report_unknown_field(const kiln_type *type, const char *schema_name, const char *name, size_t length)
{
	char	   *near = kiln_near_names(type, name, length);
	char	   *shown = kiln_utf8_for_message(name, length);

	if (schema_name && schema_name[0])
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_COLUMN),
				 errmsg("field \"%s\" does not exist in kiln schema \"%s\"", shown,
						kiln_utf8_for_message(schema_name, strlen(schema_name))),
				 near ? errhint("Perhaps you meant the field \"%s\".", near) : 0));
	ereport(ERROR,
			(errcode(ERRCODE_UNDEFINED_COLUMN),
			 errmsg("field \"%s\" does not exist in the kiln struct", shown),
			 near ? errhint("Perhaps you meant the field \"%s\".", near) : 0));
	pg_unreachable();
}
