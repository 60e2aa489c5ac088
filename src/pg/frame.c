/*
 * Frames: building them, taking stored ones apart, and the door for those that come in binary.
 */
#include "kiln_pg.h"

/* ------------------------------------------------------------------ building */

static bool
builder_grow(kiln_writer *writer, size_t capacity)
{
	size_t		used = kiln_writer_length(writer);

	/* the writer's limit keeps capacity far below what repalloc takes */
	writer->start = repalloc(writer->start, capacity);
	writer->pos = writer->start + used;
	writer->end = writer->start + capacity;
	return true;
}

/*
 * Start a frame in a palloc'd varlena. estimate: bytes of the frame as far as known. The writer's positions count from
 * the varlena's first byte.
 */
void
kiln_builder_init(kiln_writer *writer, Size estimate)
{
	Size		capacity = VARHDRSZ + Min(estimate, (Size) KILN_MAX_FRAME);

	kiln_writer_init(writer, palloc(capacity), capacity);
	writer->limit = VARHDRSZ + (size_t) KILN_MAX_FRAME;
	writer->grow = builder_grow;
	writer->pos += VARHDRSZ;
}

static void
builder_reserve(kiln_writer *writer, size_t n)
{
	if (!kiln_writer_reserve(writer, n))
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("kiln value is too large"),
				 errdetail("A value has at most %d bytes.", KILN_MAX_FRAME)));
}

static void
builder_head_hash(kiln_writer *writer, uint8 kind, uint64 hash)
{
	builder_reserve(writer, KILN_HASH_HEAD);
	kiln_writer_u8(writer, kind);
	kiln_writer_u64(writer, hash);
}

void
kiln_builder_head_registered(kiln_writer *writer, uint64 hash)
{
	builder_head_hash(writer, KILN_FRAME_REGISTERED, hash);
}

void
kiln_builder_head_unverified(kiln_writer *writer, uint64 hash)
{
	builder_head_hash(writer, KILN_FRAME_UNVERIFIED, hash);
}

void
kiln_builder_head_inline(kiln_writer *writer, const char *text, size_t length)
{
	builder_reserve(writer, KILN_INLINE_HEAD + length);
	kiln_writer_u8(writer, KILN_FRAME_INLINE);
	kiln_writer_span(writer, text, (uint32) length);
}

void
kiln_builder_head_schema(kiln_writer *writer, const KilnSchema *schema)
{
	if (schema->registered)
		kiln_builder_head_registered(writer, schema->hash);
	else
		kiln_builder_head_inline(writer, schema->codec->text, schema->codec->text_length);
}

void
kiln_builder_head_tensors(kiln_writer *writer)
{
	builder_reserve(writer, KILN_TENSORS_HEAD);
	kiln_writer_u32(writer, KILN_FRAME_TENSORS);
}

struct varlena *
kiln_builder_finish(kiln_writer *writer)
{
	SET_VARSIZE(writer->start, kiln_writer_length(writer));
	return (struct varlena *) writer->start;
}

struct varlena *
kiln_make_frame(const KilnSchema *schema, const uint8_t *payload, size_t n)
{
	kiln_writer writer;

	kiln_builder_init(&writer, KILN_INLINE_HEAD + schema->codec->text_length + n);
	kiln_builder_head_schema(&writer, schema);
	builder_reserve(&writer, n);
	kiln_writer_bytes(&writer, payload, n);
	return kiln_builder_finish(&writer);
}

/* ------------------------------------------------------------------ stored frames */

/*
 * Take a stored frame apart. It was checked when it came in; what is tested here keeps a damaged one, or one of a
 * later version, from being read as something else.
 */
void
kiln_frame_parts(const struct varlena *varlena, kiln_frame *frame)
{
	const uint8_t *data = (const uint8_t *) VARDATA_ANY(varlena);
	size_t		n = VARSIZE_ANY_EXHDR(varlena);
	kiln_error	error;

	if (n >= KILN_HASH_HEAD && (data[0] == KILN_FRAME_REGISTERED || data[0] == KILN_FRAME_UNVERIFIED))
	{
		frame->kind = data[0];
		frame->hash = kiln_load_u64(data + 1);
		frame->payload = data + KILN_HASH_HEAD;
		frame->payload_length = n - KILN_HASH_HEAD;
		frame->text = NULL;
		frame->text_length = 0;
		return;
	}
	if (!kiln_frame_open(data, n, frame, &error))
		kiln_report(&error, KILN_IN_STORED, NULL);
}

/* 22P03 for a value kept unverified that turns out not to fit its definition. */
static void
check_unverified(const kiln_frame *frame, const KilnSchema *schema)
{
	kiln_error	error;

	if (kiln_validate(schema->root, frame->payload, frame->payload_length, &kiln_pg_json_check, &error))
		return;
	error.offset += KILN_HASH_HEAD;
	kiln_report(&error, KILN_IN_STORED, NULL);
}

/*
 * Find the definition of a frame; NULL for tensors. An unverified one is validated first.
 */
KilnSchema *
kiln_frame_schema(const kiln_frame *frame)
{
	KilnSchema *schema;

	switch (frame->kind)
	{
		case KILN_FRAME_REGISTERED:
			return kiln_registry_get(frame->hash);
		case KILN_FRAME_INLINE:
			return kiln_schema_inline(frame->text, frame->text_length);
		case KILN_FRAME_UNVERIFIED:
			schema = kiln_registry_get(frame->hash);
			check_unverified(frame, schema);
			return schema;
		default:
			return NULL;
	}
}

void
kiln_value_open(Datum datum, KilnValue *value)
{
	value->datum = PG_DETOAST_DATUM_PACKED(datum);
	kiln_frame_parts(value->datum, &value->frame);
	value->schema = kiln_frame_schema(&value->frame);
}

void
kiln_value_close(KilnValue *value, Datum datum)
{
	if ((Pointer) value->datum != DatumGetPointer(datum))
		pfree(value->datum);
}

/* ------------------------------------------------------------------ the binary door */

static struct varlena *
copy_frame(const uint8_t *frame, size_t n, uint8 kind)
{
	struct varlena *result = palloc(VARHDRSZ + n);

	SET_VARSIZE(result, VARHDRSZ + n);
	memcpy(VARDATA(result), frame, n);
	*(uint8 *) VARDATA(result) = kind;
	return result;
}

/*
 * Validate a payload that stands head bytes into its frame; raises with the offset in the frame.
 */
static void
validate_or_report(const KilnSchema *schema, const kiln_frame *frame, size_t head)
{
	kiln_error	error;

	if (kiln_validate(schema->root, frame->payload, frame->payload_length, &kiln_pg_json_check, &error))
		return;
	error.offset += head;
	kiln_report(&error, KILN_IN_BINARY, NULL);
}

/*
 * The definition of an inline frame from outside: it has to be canonical. Its hash may be registered, but not with
 * another text (a made collision would let one definition's values be taken for another's).
 */
static KilnSchema *
admit_definition(const kiln_frame *frame)
{
	KilnSchema *schema;
	kiln_error	error;

	schema = kiln_schema_admit(frame->text, frame->text_length, &error);
	if (schema == NULL)
	{
		error.offset = KILN_INLINE_HEAD + (error.code == KILN_E_NOT_CANONICAL ? 0 : error.offset);
		kiln_report(&error, KILN_IN_BINARY, NULL);
	}
	(void) kiln_schema_interned(schema);
	return schema;
}

struct varlena *
kiln_admit(const uint8_t *bytes, size_t n, int32 typmod)
{
	kiln_frame	frame;
	kiln_error	error;
	KilnSchema *schema;
	uint8		kind;

	if (n > KILN_MAX_FRAME)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("kiln value is too large"),
				 errdetail("A value has at most %d bytes.", KILN_MAX_FRAME)));
	if (!kiln_frame_open(bytes, n, &frame, &error))
		kiln_report(&error, KILN_IN_BINARY, NULL);

	kind = frame.kind;
	switch (frame.kind)
	{
		case KILN_FRAME_REGISTERED:
			switch (kiln_registry_find(frame.hash, &schema))
			{
				case KILN_LOOKUP_FOUND:
					validate_or_report(schema, &frame, KILN_HASH_HEAD);
					break;
				case KILN_LOOKUP_MISSING:
					kind = KILN_FRAME_UNVERIFIED;
					break;
				case KILN_LOOKUP_LIES:
					kiln_report_lie(frame.hash);
					break;
			}
			break;
		case KILN_FRAME_UNVERIFIED:
			if (kiln_registry_find(frame.hash, &schema) == KILN_LOOKUP_FOUND &&
				kiln_validate(schema->root, frame.payload, frame.payload_length, &kiln_pg_json_check, NULL))
				kind = KILN_FRAME_REGISTERED;
			break;
		case KILN_FRAME_INLINE:
			schema = admit_definition(&frame);
			validate_or_report(schema, &frame, KILN_INLINE_HEAD + frame.text_length);
			break;
		case KILN_FRAME_TENSORS:
			if (!kiln_directory_validate(frame.payload, frame.payload_length, &error))
			{
				error.offset += KILN_TENSORS_HEAD;
				kiln_report(&error, KILN_IN_BINARY, NULL);
			}
			break;
	}
	return kiln_coerce_frame(copy_frame(bytes, n, kind), typmod, NULL);
}
