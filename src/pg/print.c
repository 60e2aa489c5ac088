/*
 * A payload as JSON (docs/FORMAT.md, section 5): a visitor of the codec's walk that writes UTF-8.
 *
 * Nothing raises in here, so that text output can fall back to base64: a string that is no UTF-8 or a date out of
 * range (a value read under a definition that is not its own) and a text that grows too long only set a fault. All
 * that is written first asks for room, so that the buffer never comes near the size at which growing it is an
 * error.
 */
#include "kiln_text.h"

#include "miscadmin.h"
#include "utils/builtins.h"

#define FIRST_ROOM	1024		/* bytes of the first growth */

void
kiln_printer_init(KilnPrinter *printer, StringInfo buf, Size limit)
{
	memset(printer, 0, sizeof *printer);
	printer->buf = buf;
	printer->limit = limit;
}

static bool
fail(KilnPrinter *printer, KilnPrintFault fault)
{
	printer->fault = fault;
	return false;
}

void
kiln_printer_report(const KilnPrinter *printer)
{
	switch (printer->fault)
	{
		case KILN_PRINT_UTF8:
			ereport(ERROR,
					(errcode(ERRCODE_CHARACTER_NOT_IN_REPERTOIRE),
					 errmsg("damaged value of type kiln: string is not valid UTF-8")));
			break;
		case KILN_PRINT_NUMERIC:
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_BINARY_REPRESENTATION),
					 errmsg("damaged value of type kiln: numeric is not spelled as the format asks")));
			break;
		case KILN_PRINT_TIMES:
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_BINARY_REPRESENTATION),
					 errmsg("damaged value of type kiln: date or timestamp out of range")));
			break;
		case KILN_PRINT_DIRECTORY:
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_BINARY_REPRESENTATION),
					 errmsg("damaged value of type kiln: tensor directory is damaged")));
			break;
		case KILN_PRINT_LIMIT:
		case KILN_PRINT_GOOD:
			break;
	}
	ereport(ERROR,
			(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
			 errmsg("JSON of the kiln value is too long"),
			 errdetail("It passes %zu bytes.", printer->limit)));
	pg_unreachable();
}

/* ------------------------------------------------------------------ text */

/* Room for n more bytes within the limit. */
bool
kiln_printer_room(KilnPrinter *printer, Size n)
{
	Size		used = (Size) printer->buf->len;

	if (n > printer->limit || used > printer->limit - n)
		return fail(printer, KILN_PRINT_LIMIT);
	if (used + n >= (Size) printer->buf->maxlen)
		enlargeStringInfo(printer->buf, (int) Max(n, Min(FIRST_ROOM, printer->limit - used)));
	return true;
}

bool
kiln_printer_add(KilnPrinter *printer, const char *text, Size n)
{
	if (!kiln_printer_room(printer, n))
		return false;
	memcpy(printer->buf->data + printer->buf->len, text, n);
	printer->buf->len += (int) n;
	printer->buf->data[printer->buf->len] = '\0';
	return true;
}

/* A character that can't stand in a JSON string as it is; returns the length of its escape. */
static int
put_escape(unsigned char c, char *out)
{
	const char *letters = "\"\"\\\\\bb\ff\nn\rr\tt";

	out[0] = '\\';
	for (const char *letter = letters; *letter; letter += 2)
	{
		if ((unsigned char) letter[0] == c)
		{
			out[1] = letter[1];
			return 2;
		}
	}
	out[1] = 'u';
	out[2] = '0';
	out[3] = '0';
	out[4] = "0123456789abcdef"[c >> 4];
	out[5] = "0123456789abcdef"[c & 0xf];
	return 6;
}

static inline bool
needs_escape(unsigned char c)
{
	return c < ' ' || c == '"' || c == '\\';
}

/* A string with its quotes and escapes. */
bool
kiln_printer_string(KilnPrinter *printer, const char *text, Size n)
{
	const char *p = text;
	const char *end = text + n;

	if (!kiln_printer_add(printer, "\"", 1))
		return false;
	while (p < end)
	{
		const char *run = p;
		char		escape[8];

		while (p < end && !needs_escape((unsigned char) *p))
			p++;
		if (!kiln_printer_add(printer, run, p - run))
			return false;
		if (p < end && !kiln_printer_add(printer, escape, put_escape((unsigned char) *p++, escape)))
			return false;
	}
	return kiln_printer_add(printer, "\"", 1);
}

bool
kiln_printer_base64(KilnPrinter *printer, const uint8_t *bytes, Size n)
{
	Size		encoded = kiln_base64_encoded(n);

	if (!kiln_printer_room(printer, encoded + 2))
		return false;
	kiln_printer_add(printer, "\"", 1);
	kiln_base64_encode(bytes, n, printer->buf->data + printer->buf->len);
	printer->buf->len += (int) encoded;
	return kiln_printer_add(printer, "\"", 1);
}

static bool
add_quoted(KilnPrinter *printer, const char *text, Size n)
{
	return kiln_printer_add(printer, "\"", 1) && kiln_printer_add(printer, text, n) &&
		kiln_printer_add(printer, "\"", 1);
}

/* NaN and Infinity are no JSON numbers. */
bool
kiln_printer_float(KilnPrinter *printer, const char *digits, int n)
{
	char		first = digits[0] == '-' ? digits[1] : digits[0];

	if (first >= '0' && first <= '9')
		return kiln_printer_add(printer, digits, n);
	return add_quoted(printer, digits, n);
}

/* ------------------------------------------------------------------ scalars */

/* Text of a string or json value: looked at again, for the definition it is read under may not be its own. */
static bool
is_text(const uint8_t *data, uint32_t length)
{
	bool		nul;

	return kiln_utf8_prefix(data, length, &nul) == length;
}

static bool
add_bytes(KilnPrinter *printer, const uint8_t *data, uint32_t length)
{
	Size		digits = (Size) length * 2;

	if (!kiln_printer_room(printer, digits + 2))
		return false;
	kiln_printer_add(printer, "\\x", 2);
	hex_encode((const char *) data, length, printer->buf->data + printer->buf->len);
	printer->buf->len += (int) digits;
	printer->buf->data[printer->buf->len] = '\0';
	return true;
}

/*
 * A scalar without quotes or escapes. A string's own text is given as it is; so is json's.
 */
static bool
add_plain(KilnPrinter *printer, const kiln_type *type, const uint8_t *data, uint32_t length)
{
	char		out[KILN_PRINT_TIME];
	uint16_t	position;

	switch (type->kind)
	{
		case KILN_BOOL:
			return data[0] ? kiln_printer_add(printer, "true", 4) : kiln_printer_add(printer, "false", 5);
		case KILN_F32:
			return kiln_printer_add(printer, out, kiln_print_f32(kiln_load_f32(data), out));
		case KILN_F64:
			return kiln_printer_add(printer, out, kiln_print_f64(kiln_load_f64(data), out));
		case KILN_BYTES:
			return add_bytes(printer, data, length);
		case KILN_UUID:
			return kiln_printer_add(printer, out, kiln_print_uuid(data, out));
		case KILN_DATE:
		case KILN_TIMESTAMP:
		case KILN_TIMESTAMPTZ:
			if (!kiln_print_time(type, data, out))
				return fail(printer, KILN_PRINT_TIMES);
			return kiln_printer_add(printer, out, strlen(out));
		case KILN_NUMERIC:
			if (!kiln_numeric_spelling(data, length))
				return fail(printer, KILN_PRINT_NUMERIC);
			return kiln_printer_add(printer, (const char *) data, length);
		case KILN_STRING:
		case KILN_JSON:
			if (!is_text(data, length))
				return fail(printer, KILN_PRINT_UTF8);
			return kiln_printer_add(printer, (const char *) data, length);
		case KILN_ENUM:
			position = kiln_load_u16(data);
			return kiln_printer_add(printer, type->labels[position].text, type->labels[position].length);
		default:
			return kiln_printer_add(printer, out, kiln_print_integer(type, data, out));
	}
}

/* A scalar as JSON. */
static bool
add_scalar(KilnPrinter *printer, const kiln_type *type, const uint8_t *data, uint32_t length)
{
	char		out[32];
	uint16_t	position;

	switch (type->kind)
	{
		case KILN_F32:
			return kiln_printer_float(printer, out, kiln_print_f32(kiln_load_f32(data), out));
		case KILN_F64:
			return kiln_printer_float(printer, out, kiln_print_f64(kiln_load_f64(data), out));
		case KILN_NUMERIC:
			if (!kiln_numeric_spelling(data, length))
				return fail(printer, KILN_PRINT_NUMERIC);
			return kiln_printer_float(printer, (const char *) data, (int) length);
		case KILN_STRING:
			if (!is_text(data, length))
				return fail(printer, KILN_PRINT_UTF8);
			return kiln_printer_string(printer, (const char *) data, length);
		case KILN_ENUM:
			position = kiln_load_u16(data);
			return kiln_printer_string(printer, type->labels[position].text, type->labels[position].length);
		case KILN_BYTES:
			/* the backslash in front of it is one of JSON's too */
			return kiln_printer_add(printer, "\"\\", 2) && add_plain(printer, type, data, length) &&
				kiln_printer_add(printer, "\"", 1);
		case KILN_UUID:
		case KILN_DATE:
		case KILN_TIMESTAMP:
		case KILN_TIMESTAMPTZ:
			return kiln_printer_add(printer, "\"", 1) && add_plain(printer, type, data, length) &&
				kiln_printer_add(printer, "\"", 1);
		default:
			return add_plain(printer, type, data, length);
	}
}

/* ------------------------------------------------------------------ the visitor */

/* What stands before a member of the innermost container. */
static bool
separate(KilnPrinter *printer, const char *separator)
{
	uint64		bit = UINT64CONST(1) << (printer->level - 1);

	if (printer->filled & bit)
		return kiln_printer_add(printer, separator, strlen(separator));
	printer->filled |= bit;
	return true;
}

/* The name of the field whose value comes now, if one is pending. */
static bool
add_pending(KilnPrinter *printer)
{
	const kiln_field *field = printer->pending;

	if (field == NULL)
		return true;
	printer->pending = NULL;
	return separate(printer, ", ") && kiln_printer_string(printer, field->name, field->name_length) &&
		kiln_printer_add(printer, ": ", 2);
}

static bool
open_container(KilnPrinter *printer, const char *bracket)
{
	if (!add_pending(printer) || !kiln_printer_add(printer, bracket, 1))
		return false;
	printer->filled &= ~(UINT64CONST(1) << printer->level);
	printer->level++;
	return true;
}

static bool
close_container(KilnPrinter *printer, const char *bracket)
{
	printer->level--;
	return kiln_printer_add(printer, bracket, 1);
}

static bool
visit_begin_struct(void *context, const kiln_type *type)
{
	KilnPrinter *printer = context;

	if (printer->opened)
	{
		printer->opened = false;
		return true;
	}
	return open_container(printer, "{");
}

static bool
visit_field(void *context, const kiln_type *type, uint32_t index)
{
	((KilnPrinter *) context)->pending = &type->fields[index];
	return true;
}

static bool
visit_end_struct(void *context, const kiln_type *type)
{
	return close_container(context, "}");
}

static bool
visit_begin_list(void *context, const kiln_type *type, uint32_t count)
{
	return open_container(context, "[");
}

static bool
visit_element(void *context, const kiln_type *type, uint32_t index)
{
	return separate(context, ",");
}

static bool
visit_end_list(void *context, const kiln_type *type)
{
	return close_container(context, "]");
}

static bool
visit_begin_dict(void *context, const kiln_type *type, uint32_t count)
{
	return open_container(context, "{");
}

static bool
visit_key(void *context, const kiln_type *type, const uint8_t *key, uint32_t length)
{
	KilnPrinter *printer = context;

	if (!is_text(key, length))
		return fail(printer, KILN_PRINT_UTF8);
	return separate(printer, ", ") && kiln_printer_string(printer, (const char *) key, length) &&
		kiln_printer_add(printer, ": ", 2);
}

static bool
visit_absent(void *context, const kiln_type *type)
{
	KilnPrinter *printer = context;

	if (printer->pending)
	{
		printer->pending = NULL;
		return true;
	}
	return kiln_printer_add(printer, "null", 4);
}

static bool
visit_scalar(void *context, const kiln_type *type, const uint8_t *data, uint32_t length)
{
	return add_pending(context) && add_scalar(context, type, data, length);
}

static const kiln_visitor printing_visitor = {
	.begin_struct = visit_begin_struct,
	.field = visit_field,
	.end_struct = visit_end_struct,
	.begin_list = visit_begin_list,
	.element = visit_element,
	.end_list = visit_end_list,
	.begin_dict = visit_begin_dict,
	.key = visit_key,
	.end_dict = visit_end_struct,
	.absent = visit_absent,
	.scalar = visit_scalar,
};

static void
poll_interrupts(void)
{
	CHECK_FOR_INTERRUPTS();
}

bool
kiln_printer_value(KilnPrinter *printer, const kiln_type *type, const uint8_t *payload, size_t n)
{
	return kiln_walk(type, payload, n, poll_interrupts, &printing_visitor, printer, NULL);
}

/* ------------------------------------------------------------------ for the rest of the extension */

void
kiln_print_json(StringInfo buf, const kiln_type *type, const uint8_t *payload, size_t n, Size limit)
{
	KilnPrinter printer;
	int			start = buf->len;

	kiln_printer_init(&printer, buf, Min(limit, KILN_PRINT_MAX));
	if (!kiln_printer_value(&printer, type, payload, n))
		kiln_printer_report(&printer);
	kiln_json_to_server(buf, start);
}

void
kiln_print_scalar(StringInfo buf, const kiln_type *type, const uint8_t *data, uint32_t length)
{
	KilnPrinter printer;
	int			start = buf->len;
	char	   *server;

	kiln_printer_init(&printer, buf, MaxAllocSize - 1);
	if (!add_plain(&printer, type, data, length))
		kiln_printer_report(&printer);
	if (type->kind == KILN_JSON)
		kiln_json_to_server(buf, start);
	else if ((type->kind == KILN_STRING || type->kind == KILN_ENUM) && !kiln_server_takes_utf8())
	{
		server = kiln_utf8_to_server(buf->data + start, buf->len - start);
		buf->len = start;
		appendStringInfoString(buf, server);
		pfree(server);
	}
}
