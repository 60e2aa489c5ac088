/*
 * Text output: a frame as the forms of FORMAT 5.
 *
 * Whatever is wrong with a value, it prints: without its definition, under one that is not its own, or when its
 * JSON would be too long, the text starts again as base64. A frame is held so short that this always fits.
 */
#include "kiln_text.h"

#include "miscadmin.h"

/* {"$kiln": "…" */
static bool
open_envelope(KilnPrinter *printer, const char *name, size_t length)
{
	return kiln_printer_add(printer, "{\"$kiln\": ", 10) && kiln_printer_string(printer, name, length);
}

/* What $kiln says of a registered definition: name#hash. *length gets its bytes. */
static char *
registered_name(const KilnSchema *schema, size_t *length)
{
	char	   *quoted = kiln_schema_quoted_name(schema);
	char	   *name = psprintf("%s#%016llx", quoted, (unsigned long long) schema->hash);

	pfree(quoted);
	*length = strlen(name);
	return name;
}

/* The value written out under its definition. */
static bool
add_members(KilnPrinter *printer, const char *name, size_t length, const kiln_type *type, const kiln_frame *frame)
{
	if (!open_envelope(printer, name, length))
		return false;
	printer->level = 1;
	printer->filled = 1;
	if (type->kind == KILN_STRUCT)
	{
		printer->opened = true;
		return kiln_printer_value(printer, type, frame->payload, frame->payload_length);
	}
	return kiln_printer_add(printer, ", \"$value\": ", 12) &&
		kiln_printer_value(printer, type, frame->payload, frame->payload_length) &&
		kiln_printer_add(printer, "}", 1);
}

/* The same in base64; unverified says so. */
static void
add_base64(KilnPrinter *printer, const char *name, size_t length, bool unverified, const kiln_frame *frame)
{
	if (!open_envelope(printer, name, length) ||
		(unverified && !kiln_printer_add(printer, ", \"$unverified\": true", 21)) ||
		!kiln_printer_add(printer, ", \"$base64\": ", 13) ||
		!kiln_printer_base64(printer, frame->payload, frame->payload_length) ||
		!kiln_printer_add(printer, "}", 1))
		kiln_printer_report(printer);	/* a frame that is larger than frames are */
}

/* In base64 from buf[start …) on, whatever stands there. */
static void
start_again(StringInfo buf, int start, const char *name, size_t length, bool unverified, const kiln_frame *frame)
{
	KilnPrinter printer;

	buf->len = start;
	kiln_printer_init(&printer, buf, MaxAllocSize - 1);
	add_base64(&printer, name, length, unverified, frame);
}

static void
print_schema(StringInfo buf, const char *name, size_t length, const kiln_type *type, const kiln_frame *frame)
{
	KilnPrinter printer;
	int			start = buf->len;

	kiln_printer_init(&printer, buf, (Size) start + KILN_JSON_LIMIT);
	if (!add_members(&printer, name, length, type, frame))
		start_again(buf, start, name, length, false, frame);
}

static void
print_hash(StringInfo buf, bool unverified, const kiln_frame *frame)
{
	char		name[32];

	snprintf(name, sizeof name, "#%016llx", (unsigned long long) frame->hash);
	start_again(buf, buf->len, name, strlen(name), unverified, frame);
}

static void
print_registered(StringInfo buf, const kiln_frame *frame)
{
	KilnSchema *schema;
	char	   *name;
	size_t		length;

	if (kiln_registry_find(frame->hash, &schema) != KILN_LOOKUP_FOUND)
	{
		print_hash(buf, false, frame);
		return;
	}
	name = registered_name(schema, &length);
	print_schema(buf, name, length, schema->root, frame);
	pfree(name);
}

static void
print_tensors(StringInfo buf, const kiln_frame *frame)
{
	KilnPrinter printer;
	int			start = buf->len;

	kiln_printer_init(&printer, buf, (Size) start + KILN_JSON_LIMIT);
	printer.filled = 1;
	if (!open_envelope(&printer, "tensors", 7) ||
		!kiln_printer_tensors(&printer, frame->payload, frame->payload_length) ||
		!kiln_printer_add(&printer, "}", 1))
		start_again(buf, start, "tensors", 7, false, frame);
}

void
kiln_frame_to_text(StringInfo buf, const struct varlena *varlena)
{
	kiln_frame	frame;
	int			start = buf->len;

	kiln_frame_parts(varlena, &frame);
	switch (frame.kind)
	{
		case KILN_FRAME_REGISTERED:
			print_registered(buf, &frame);
			break;
		case KILN_FRAME_INLINE:
			print_schema(buf, frame.text, frame.text_length,
						 kiln_schema_inline(frame.text, frame.text_length)->root, &frame);
			break;
		case KILN_FRAME_TENSORS:
			print_tensors(buf, &frame);
			break;
		default:
			print_hash(buf, true, &frame);
			break;
	}
	kiln_json_to_server(buf, start);
}

void
kiln_frame_to_json(StringInfo buf, Datum datum, Size limit)
{
	KilnValue	value;
	KilnPrinter printer;
	int			start = buf->len;

	kiln_value_open(datum, &value);
	if (value.schema)
		kiln_print_json(buf, value.schema->root, value.frame.payload, value.frame.payload_length, limit);
	else
	{
		kiln_printer_init(&printer, buf, Min(limit, KILN_PRINT_MAX));
		if (!kiln_printer_add(&printer, "{", 1) ||
			!kiln_printer_tensors(&printer, value.frame.payload, value.frame.payload_length) ||
			!kiln_printer_add(&printer, "}", 1))
			kiln_printer_report(&printer);
		kiln_json_to_server(buf, start);
	}
	kiln_value_close(&value, datum);
}
