/*
 * Flat rows: structs of scalars whose columns hold the very same numbers and strings.
 *
 * Most rows that are encoded are such rows. They need no source, no batch and no memory beside the frame: one pass over the row's
 * columns adds up the sizes, then each value is stored where it belongs. Whatever is not plain sailing (NULL where the field is not
 * optional, a toasted or damaged string, a date out of range, a frame too large) is no error here: the row is left to the general
 * way, which knows what to do or to say. The CHECKED build encodes every flat row in both ways and compares.
 *
 * A row whose columns come in the order of the fields, none of them NULL, is not even taken apart: its bytes are read where they lie, as
 * heap_deform_tuple() would, and go straight to the frame.
 */
#include "kiln_encode.h"

#include "access/htup_details.h"
#include "catalog/pg_type.h"
#include "utils/date.h"
#include "utils/timestamp.h"
#include "utils/uuid.h"

#include "ascii.h"
#include "kiln_text.h"

/* How a column's value is stored. */
typedef enum FlatOp
{
	FLAT_BOOL,
	FLAT_2,						/* the datum's low bytes, as they are */
	FLAT_4,
	FLAT_8,
	FLAT_INT2_TO_4,
	FLAT_INT2_TO_8,
	FLAT_INT4_TO_8,
	FLAT_DATE,
	FLAT_TIMESTAMP,
	FLAT_UUID,
	FLAT_STRING,
	FLAT_BYTES
} FlatOp;

typedef struct FlatField
{
	int			column;
	uint8		op;				/* FlatOp */
	uint8		width;			/* of the value, 4 for a span's length */
	uint8		alignment;		/* of the column in the row, in bytes */
	bool		optional;
} FlatField;

struct KilnFlatPlan
{
	uint32		count;
	uint32		fixed;			/* bytes of tags, lengths and values of fixed width, all present */
	bool		in_order;		/* field i is column i, and there is no other column */
	FlatField	fields[FLEXIBLE_ARRAY_MEMBER];
};

/* ------------------------------------------------------------------ making a plan */

static bool
integer_op(Oid sql_type, kiln_kind kind, FlatOp *op)
{
	static const struct
	{
		Oid			sql_type;
		kiln_kind	kind;
		FlatOp		op;
	}			pairs[] = {
		{INT2OID, KILN_I16, FLAT_2},
		{INT2OID, KILN_I32, FLAT_INT2_TO_4},
		{INT2OID, KILN_I64, FLAT_INT2_TO_8},
		{INT4OID, KILN_I32, FLAT_4},
		{INT4OID, KILN_I64, FLAT_INT4_TO_8},
		{INT8OID, KILN_I64, FLAT_8},
	};

	for (int i = 0; i < (int) lengthof(pairs); i++)
		if (pairs[i].sql_type == sql_type && pairs[i].kind == kind)
		{
			*op = pairs[i].op;
			return true;
		}
	return false;
}

/* How a column of that type is stored as that kind; false if it takes more than a store. */
static bool
flat_op(Oid sql_type, kiln_kind kind, FlatOp *op)
{
	switch (kind)
	{
		case KILN_BOOL:
			*op = FLAT_BOOL;
			return sql_type == BOOLOID;
		case KILN_I16:
		case KILN_I32:
		case KILN_I64:
			return integer_op(sql_type, kind, op);
		case KILN_F32:
			*op = FLAT_4;
			return sql_type == FLOAT4OID;
		case KILN_F64:
			*op = FLAT_8;
			return sql_type == FLOAT8OID;
		case KILN_STRING:
			*op = FLAT_STRING;
			return sql_type == TEXTOID || sql_type == VARCHAROID;
		case KILN_BYTES:
			*op = FLAT_BYTES;
			return sql_type == BYTEAOID;
		case KILN_UUID:
			*op = FLAT_UUID;
			return sql_type == UUIDOID;
		case KILN_DATE:
			*op = FLAT_DATE;
			return sql_type == DATEOID;
		case KILN_TIMESTAMP:
			*op = FLAT_TIMESTAMP;
			return sql_type == TIMESTAMPOID;
		case KILN_TIMESTAMPTZ:
			*op = FLAT_TIMESTAMP;
			return sql_type == TIMESTAMPTZOID;
		default:
			return false;
	}
}

static uint8
alignment_bytes(char alignment)
{
	switch (alignment)
	{
		case TYPALIGN_CHAR:
			return 1;
		case TYPALIGN_SHORT:
			return ALIGNOF_SHORT;
		case TYPALIGN_INT:
			return ALIGNOF_INT;
		default:
			return ALIGNOF_DOUBLE;
	}
}

/* A plan for rows that record is the plan of, in CurrentMemoryContext; NULL if they are not flat. */
struct KilnFlatPlan *
kiln_flat_plan(const KilnRecordPlan *record, const kiln_type *type)
{
	struct KilnFlatPlan *plan = palloc(offsetof(struct KilnFlatPlan, fields) + type->count * sizeof(FlatField));

	plan->count = type->count;
	plan->fixed = 0;
	plan->in_order = record->columns->natts == (int) type->count;
	for (uint32_t i = 0; i < type->count; i++)
	{
		const RecordSlot *slot = &record->slots[i];
		const kiln_type *scalar = type->fields[i].type;
		FlatField  *field = &plan->fields[i];
		FlatOp		op;

		field->optional = scalar->kind == KILN_OPTIONAL;
		if (field->optional)
			scalar = scalar->element;
		if (slot->column < 0 || slot->convert->form != KILN_FORM_PLAIN ||
			!flat_op(slot->convert->sql_type, scalar->kind, &op) ||
			(op == FLAT_STRING && !kiln_server_takes_utf8()))
		{
			pfree(plan);
			return NULL;
		}
		field->column = slot->column;
		field->op = (uint8) op;
		field->alignment = alignment_bytes(TupleDescAttr(record->columns, slot->column)->attalign);
		plan->in_order = plan->in_order && slot->column == (int) i;
		field->width = op == FLAT_STRING || op == FLAT_BYTES ? 4 : (uint8) scalar->width;
		plan->fixed += field->width + (field->optional ? 1 : 0);
	}
	return plan;
}

/* ------------------------------------------------------------------ rows */

/* Bytes of the payload; 0 if the row is not for the flat way. */
static Size
flat_size(const struct KilnFlatPlan *plan, const Datum *values, const bool *nulls)
{
	Size		size = plan->fixed;

	for (uint32 i = 0; i < plan->count; i++)
	{
		const FlatField *field = &plan->fields[i];

		if (unlikely(nulls[field->column]))
		{
			if (!field->optional)
				return 0;
			size -= field->width;
		}
		else if (field->op >= FLAT_STRING)
		{
			const struct varlena *value = (const struct varlena *) DatumGetPointer(values[field->column]);

			if (unlikely(VARATT_IS_EXTERNAL(value) || VARATT_IS_COMPRESSED(value)))
				return 0;
			size += VARSIZE_ANY_EXHDR(value);
		}
	}
	return size;
}

/* Store a span; NULL if it is a string that is no UTF-8. */
static inline uint8_t *
store_span(uint8_t *p, Datum datum, bool string)
{
	const struct varlena *value = (const struct varlena *) DatumGetPointer(datum);
	const uint8_t *data = (const uint8_t *) VARDATA_ANY(value);
	uint32_t	n = (uint32_t) VARSIZE_ANY_EXHDR(value);
	bool		nul;

	kiln_store_u32(p, n);
	if (!string)
		memcpy(p + 4, data, n);
	else if (unlikely(!kiln_copy_ascii(p + 4, data, n)))
	{
		memcpy(p + 4, data, n);
		if (kiln_utf8_prefix(data, n, &nul) < n)
			return NULL;
	}
	return p + 4 + n;
}

/* Store the values; false if one is not for the flat way. */
static bool
flat_store(const struct KilnFlatPlan *plan, const Datum *values, const bool *nulls, uint8_t *p)
{
	for (uint32 i = 0; i < plan->count; i++)
	{
		const FlatField *field = &plan->fields[i];
		Datum		value = values[field->column];

		if (field->optional)
		{
			*p++ = nulls[field->column] ? 0 : 1;
			if (nulls[field->column])
				continue;
		}
		switch ((FlatOp) field->op)
		{
			case FLAT_BOOL:
				*p = DatumGetBool(value) ? 1 : 0;
				break;
			case FLAT_2:
				kiln_store_u16(p, DatumGetUInt16(value));
				break;
			case FLAT_4:
				kiln_store_u32(p, DatumGetUInt32(value));
				break;
			case FLAT_8:
				kiln_store_u64(p, (uint64) DatumGetInt64(value));
				break;
			case FLAT_INT2_TO_4:
				kiln_store_u32(p, (uint32) (int32) DatumGetInt16(value));
				break;
			case FLAT_INT2_TO_8:
				kiln_store_u64(p, (uint64) (int64) DatumGetInt16(value));
				break;
			case FLAT_INT4_TO_8:
				kiln_store_u64(p, (uint64) (int64) DatumGetInt32(value));
				break;
			case FLAT_DATE:
				if (!kiln_date_valid(DatumGetDateADT(value)))
					return false;
				kiln_store_u32(p, (uint32) DatumGetDateADT(value));
				break;
			case FLAT_TIMESTAMP:
				if (!kiln_timestamp_valid(DatumGetTimestamp(value)))
					return false;
				kiln_store_u64(p, (uint64) DatumGetTimestamp(value));
				break;
			case FLAT_UUID:
				memcpy(p, DatumGetUUIDP(value)->data, UUID_LEN);
				break;
			case FLAT_STRING:
			case FLAT_BYTES:
				p = store_span(p, value, field->op == FLAT_STRING);
				if (p == NULL)
					return false;
				continue;
		}
		p += field->width;
	}
	return true;
}

/* Store a value of fixed width as the row has it, at from; false if it is not for the flat way. */
static inline bool
copy_fixed(uint8_t *p, FlatOp op, const char *from)
{
	int16		two;
	int32		four;
	int64		eight;

	switch (op)
	{
		case FLAT_BOOL:
			*p = *from != 0 ? 1 : 0;
			return true;
		case FLAT_2:
		case FLAT_INT2_TO_4:
		case FLAT_INT2_TO_8:
			memcpy(&two, from, 2);
			if (op == FLAT_2)
				kiln_store_u16(p, (uint16) two);
			else if (op == FLAT_INT2_TO_4)
				kiln_store_u32(p, (uint32) (int32) two);
			else
				kiln_store_u64(p, (uint64) (int64) two);
			return true;
		case FLAT_4:
		case FLAT_DATE:
		case FLAT_INT4_TO_8:
			memcpy(&four, from, 4);
			if (op == FLAT_INT4_TO_8)
				kiln_store_u64(p, (uint64) (int64) four);
			else
				kiln_store_u32(p, (uint32) four);
			return op != FLAT_DATE || kiln_date_valid(four);
		case FLAT_8:
		case FLAT_TIMESTAMP:
			memcpy(&eight, from, 8);
			kiln_store_u64(p, (uint64) eight);
			return op != FLAT_TIMESTAMP || kiln_timestamp_valid(eight);
		case FLAT_UUID:
			memcpy(p, from, UUID_LEN);
			return true;
		default:
			return false;		/* a span */
	}
}

/* Bytes of such a value in the row. */
static inline size_t
fixed_length(const FlatField *field)
{
	switch ((FlatOp) field->op)
	{
		case FLAT_INT2_TO_4:
		case FLAT_INT2_TO_8:
			return 2;
		case FLAT_INT4_TO_8:
			return 4;
		default:
			return field->width;
	}
}

/*
 * Store the values of a row without NULLs whose columns are the fields in order, from the row's bytes. Returns the byte after the last, NULL if
 * one is not for the flat way. The room at p holds plan->fixed bytes and as many as the row has.
 */
static uint8_t *
flat_copy(const struct KilnFlatPlan *plan, const char *row, uint8_t *p)
{
	size_t		at = 0;

	for (const FlatField *field = plan->fields, *stop = field + plan->count; field < stop; field++)
	{
		if (field->optional)
			*p++ = 1;
		if (field->op >= FLAT_STRING)
		{
			const struct varlena *value;

			/* a span with a short header is not aligned, and padding is zeros, which no short header is */
			if (!VARATT_NOT_PAD_BYTE(row + at))
				at = TYPEALIGN(field->alignment, at);
			value = (const struct varlena *) (row + at);
			if (unlikely(VARATT_IS_EXTERNAL(value) || VARATT_IS_COMPRESSED(value)))
				return NULL;
			p = store_span(p, PointerGetDatum(value), field->op == FLAT_STRING);
			if (p == NULL)
				return NULL;
			at += VARSIZE_ANY(value);
			continue;
		}
		at = TYPEALIGN(field->alignment, at);
		if (!copy_fixed(p, (FlatOp) field->op, row + at))
			return NULL;
		at += fixed_length(field);
		p += field->width;
	}
	return p;
}

/* kiln_flat_encode() for such rows. */
static struct varlena *
flat_encode_in_order(const struct KilnFlatPlan *plan, uint64 hash, HeapTupleHeader header)
{
	Size		bytes = HeapTupleHeaderGetDatumLength(header) - header->t_hoff;
	struct varlena *frame;
	uint8_t    *end;

	if (bytes > KILN_MAX_FRAME - KILN_HASH_HEAD - plan->fixed)
		return NULL;
	frame = palloc(VARHDRSZ + KILN_HASH_HEAD + plan->fixed + bytes);
	*(uint8_t *) VARDATA(frame) = KILN_FRAME_REGISTERED;
	kiln_store_u64((uint8_t *) VARDATA(frame) + 1, hash);
	end = flat_copy(plan, (const char *) header + header->t_hoff, (uint8_t *) VARDATA(frame) + KILN_HASH_HEAD);
	if (end == NULL)
	{
		pfree(frame);
		return NULL;
	}
	SET_VARSIZE(frame, end - (uint8_t *) frame);
	return frame;
}

/*
 * A row's frame under a registered definition, in CurrentMemoryContext; NULL: take the general way.
 */
struct varlena *
kiln_flat_encode(const KilnRecordPlan *record, uint64 hash, HeapTupleHeader header)
{
	const struct KilnFlatPlan *plan = record->flat;
	HeapTupleData tuple;
	struct varlena *frame;
	Size		size;

	if (plan->in_order && (header->t_infomask & HEAP_HASNULL) == 0 && HeapTupleHeaderGetNatts(header) == plan->count)
		return flat_encode_in_order(plan, hash, header);
	tuple.t_len = HeapTupleHeaderGetDatumLength(header);
	ItemPointerSetInvalid(&tuple.t_self);
	tuple.t_tableOid = InvalidOid;
	tuple.t_data = header;
	heap_deform_tuple(&tuple, record->columns, record->values, record->nulls);
	size = flat_size(plan, record->values, record->nulls);
	if (size == 0 || size > KILN_MAX_FRAME - KILN_HASH_HEAD)
		return NULL;
	frame = palloc(VARHDRSZ + KILN_HASH_HEAD + size);
	SET_VARSIZE(frame, VARHDRSZ + KILN_HASH_HEAD + size);
	*(uint8_t *) VARDATA(frame) = KILN_FRAME_REGISTERED;
	kiln_store_u64((uint8_t *) VARDATA(frame) + 1, hash);
	if (flat_store(plan, record->values, record->nulls, (uint8_t *) VARDATA(frame) + KILN_HASH_HEAD))
		return frame;
	pfree(frame);
	return NULL;
}
