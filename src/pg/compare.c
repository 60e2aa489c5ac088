/*
 * The same value: comparison and hashing (docs/FORMAT.md, section 3).
 *
 * Inline scalars compare by value across widths, as their jsonb forms do, in the order of ScalarRank. Everything
 * else compares by the definition's hash and then by bytes, so that a registered, an inline and an unverified frame
 * of one definition and payload are one value. Scalars come before records, records before tensors. Hash functions
 * follow the same rule.
 *
 * Opclass functions run in sorts and hash tables over millions of rows: what they detoast they free, and they look no
 * definition up.
 */
#include "kiln_pg.h"

#include "common/hashfn.h"
#include "utils/builtins.h"
#include "utils/float.h"
#include "utils/fmgrprotos.h"
#include "utils/numeric.h"

#include "toast.h"

typedef enum ScalarRank
{
	RANK_BOOL, RANK_NUMBER, RANK_STRING, RANK_BYTES, RANK_UUID, RANK_DATE, RANK_TIMESTAMP, RANK_TIMESTAMPTZ
} ScalarRank;

typedef enum ValueClass
{
	CLASS_SCALAR, CLASS_RECORD, CLASS_TENSORS
} ValueClass;

/* What comparison sees of a datum. */
typedef struct Operand
{
	struct varlena *varlena;
	bool		fetched;
	kiln_frame	frame;
	ValueClass	class;
	ScalarRank	rank;
	kiln_kind	kind;
	uint32		width;			/* of a fixed-width scalar */
} Operand;

static const struct
{
	const char *word;
	kiln_kind	kind;
	ScalarRank	rank;
	uint32		width;
}			scalars[] = {
	{"bool", KILN_BOOL, RANK_BOOL, 1},
	{"i8", KILN_I8, RANK_NUMBER, 1},
	{"i16", KILN_I16, RANK_NUMBER, 2},
	{"i32", KILN_I32, RANK_NUMBER, 4},
	{"i64", KILN_I64, RANK_NUMBER, 8},
	{"u8", KILN_U8, RANK_NUMBER, 1},
	{"u16", KILN_U16, RANK_NUMBER, 2},
	{"u32", KILN_U32, RANK_NUMBER, 4},
	{"u64", KILN_U64, RANK_NUMBER, 8},
	{"f32", KILN_F32, RANK_NUMBER, 4},
	{"f64", KILN_F64, RANK_NUMBER, 8},
	{"string", KILN_STRING, RANK_STRING, 0},
	{"bytes", KILN_BYTES, RANK_BYTES, 0},
	{"uuid", KILN_UUID, RANK_UUID, 16},
	{"date", KILN_DATE, RANK_DATE, 4},
	{"timestamp", KILN_TIMESTAMP, RANK_TIMESTAMP, 8},
	{"timestamptz", KILN_TIMESTAMPTZ, RANK_TIMESTAMPTZ, 8},
	{"numeric", KILN_NUMERIC, RANK_NUMBER, 0},
};

/* Longest word of the table: no definition that is longer can be a scalar's. */
#define LONGEST_WORD 11

static void
operand_init(Operand *operand, Datum datum)
{
	kiln_frame *frame = &operand->frame;

	operand->varlena = PG_DETOAST_DATUM_PACKED(datum);
	operand->fetched = (Pointer) operand->varlena != DatumGetPointer(datum);
	kiln_frame_parts(operand->varlena, frame);
	operand->class = frame->kind == KILN_FRAME_TENSORS ? CLASS_TENSORS : CLASS_RECORD;
	if (frame->kind != KILN_FRAME_INLINE || frame->text_length > LONGEST_WORD)
		return;
	for (int i = 0; i < (int) lengthof(scalars); i++)
	{
		if (strlen(scalars[i].word) != frame->text_length ||
			memcmp(scalars[i].word, frame->text, frame->text_length) != 0)
			continue;
		operand->class = CLASS_SCALAR;
		operand->kind = scalars[i].kind;
		operand->rank = scalars[i].rank;
		operand->width = scalars[i].width;
		/* a frame too short for its scalar could only be damage */
		if (frame->payload_length < Max(scalars[i].width, scalars[i].width == 0 ? 4 : 1))
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_BINARY_REPRESENTATION),
					 errmsg("damaged value of type kiln: value ends too early")));
		return;
	}
}

static void
operand_free(Operand *operand)
{
	if (operand->fetched)
		pfree(operand->varlena);
}

/* Content of a string, bytes or numeric. */
static const uint8_t *
span_of(const Operand *operand, size_t *length)
{
	*length = operand->frame.payload_length - 4;
	return operand->frame.payload + 4;
}

/* ------------------------------------------------------------------ numbers */

static bool
is_integer(kiln_kind kind)
{
	return kind >= KILN_I8 && kind <= KILN_U64;
}

/* An integer as sign and magnitude-preserving pair: negative ones as signed, others as unsigned. */
static bool
integer_of(const Operand *operand, uint64 *magnitude)
{
	const uint8_t *p = operand->frame.payload;
	int64		v;

	switch (operand->kind)
	{
		case KILN_U8:
			*magnitude = p[0];
			return false;
		case KILN_U16:
			*magnitude = kiln_load_u16(p);
			return false;
		case KILN_U32:
			*magnitude = kiln_load_u32(p);
			return false;
		case KILN_U64:
			*magnitude = kiln_load_u64(p);
			return false;
		case KILN_I8:
			v = (int8) p[0];
			break;
		case KILN_I16:
			v = (int16) kiln_load_u16(p);
			break;
		case KILN_I32:
			v = (int32) kiln_load_u32(p);
			break;
		default:
			v = (int64) kiln_load_u64(p);
	}
	*magnitude = (uint64) v;
	return v < 0;
}

static int
compare_integers(const Operand *a, const Operand *b)
{
	uint64		am;
	uint64		bm;
	bool		an = integer_of(a, &am);
	bool		bn = integer_of(b, &bm);

	if (an != bn)
		return an ? -1 : 1;
	return am < bm ? -1 : am > bm;	/* two's complement keeps the order of negatives, too */
}

/* The numeric that a number's text shows. */
static Numeric
numeric_of(const Operand *operand)
{
	char		buffer[64];
	char	   *text = buffer;
	const uint8_t *digits;
	size_t		length;
	uint64		magnitude;
	Datum		result;

	if (is_integer(operand->kind))
	{
		if (integer_of(operand, &magnitude) || magnitude <= PG_INT64_MAX)
			return int64_to_numeric((int64) magnitude);
		snprintf(buffer, sizeof buffer, UINT64_FORMAT, magnitude);
	}
	else if (operand->kind == KILN_F64)
	{
		double		v = kiln_load_f64(operand->frame.payload);

		strcpy(buffer, "NaN");
		if (!isnan(v))
			buffer[kiln_print_f64(v, buffer)] = '\0';
	}
	else if (operand->kind == KILN_F32)
	{
		float		v = kiln_load_f32(operand->frame.payload);

		strcpy(buffer, "NaN");
		if (!isnan(v))
			buffer[kiln_print_f32(v, buffer)] = '\0';
	}
	else
	{
		digits = span_of(operand, &length);
		text = pnstrdup((const char *) digits, length);
	}
	result = DirectFunctionCall3(numeric_in, CStringGetDatum(text), ObjectIdGetDatum(InvalidOid), Int32GetDatum(-1));
	if (text != buffer)
		pfree(text);
	return DatumGetNumeric(result);
}

static int
compare_numbers(const Operand *a, const Operand *b)
{
	Numeric		an;
	Numeric		bn;
	int			order;

	if (is_integer(a->kind) && is_integer(b->kind))
		return compare_integers(a, b);
	if (a->kind == KILN_F64 && b->kind == KILN_F64)
		return float8_cmp_internal(kiln_load_f64(a->frame.payload), kiln_load_f64(b->frame.payload));
	if (a->kind == KILN_F32 && b->kind == KILN_F32)
		return float4_cmp_internal(kiln_load_f32(a->frame.payload), kiln_load_f32(b->frame.payload));
	an = numeric_of(a);
	bn = numeric_of(b);
	order = DatumGetInt32(DirectFunctionCall2(numeric_cmp, NumericGetDatum(an), NumericGetDatum(bn)));
	pfree(an);
	pfree(bn);
	return order;
}

/* ------------------------------------------------------------------ comparison */

static int
compare_scalars(const Operand *a, const Operand *b)
{
	const uint8_t *ap = a->frame.payload;
	const uint8_t *bp = b->frame.payload;
	size_t		an;
	size_t		bn;

	if (a->rank != b->rank)
		return a->rank < b->rank ? -1 : 1;
	switch (a->rank)
	{
		case RANK_NUMBER:
			return compare_numbers(a, b);
		case RANK_DATE:
			{
				int32		av = (int32) kiln_load_u32(ap);
				int32		bv = (int32) kiln_load_u32(bp);

				return av < bv ? -1 : av > bv;
			}
		case RANK_TIMESTAMP:
		case RANK_TIMESTAMPTZ:
			{
				int64		av = (int64) kiln_load_u64(ap);
				int64		bv = (int64) kiln_load_u64(bp);

				return av < bv ? -1 : av > bv;
			}
		case RANK_STRING:
		case RANK_BYTES:
			ap = span_of(a, &an);
			bp = span_of(b, &bn);
			return kiln_compare_bytes(ap, an, bp, bn);
		default:
			return kiln_compare_bytes(ap, a->width, bp, b->width);
	}
}

static int
compare_operands(const Operand *a, const Operand *b)
{
	if (a->class != b->class)
		return a->class < b->class ? -1 : 1;
	if (a->class == CLASS_SCALAR)
		return compare_scalars(a, b);
	if (a->class == CLASS_RECORD)
	{
		if (a->frame.hash != b->frame.hash)
			return a->frame.hash < b->frame.hash ? -1 : 1;
		if (a->frame.kind == KILN_FRAME_INLINE && b->frame.kind == KILN_FRAME_INLINE)
		{
			/* one hash, two texts: a collision, which someone made */
			int			order = kiln_compare_bytes(a->frame.text, a->frame.text_length, b->frame.text, b->frame.text_length);

			if (order != 0)
				return order;
		}
	}
	return kiln_compare_bytes(a->frame.payload, a->frame.payload_length, b->frame.payload, b->frame.payload_length);
}

/* The head of a registered or unverified frame: nothing else of it decides before its payload does. */
static bool
has_hash_head(const KilnToast *toast)
{
	return toast->have > KILN_HASH_HEAD &&
		(toast->data[0] == KILN_FRAME_REGISTERED || toast->data[0] == KILN_FRAME_UNVERIFIED);
}

/*
 * Compare two values by what the first chunk of each says, so that a sort of large values need not fetch them
 * whole. False: they are alike so far, or of other frames.
 */
static bool
compare_heads(Datum x, Datum y, int *order)
{
	KilnToast	a;
	KilnToast	b;

	*order = 0;
	if (!kiln_toast_is_partial(x) && !kiln_toast_is_partial(y))
		return false;
	kiln_toast_open(&a, x);
	kiln_toast_open(&b, y);
	if (has_hash_head(&a) && has_hash_head(&b))
	{
		uint64		a_hash = kiln_load_u64(a.data + 1);
		uint64		b_hash = kiln_load_u64(b.data + 1);

		if (a_hash != b_hash)
			*order = a_hash < b_hash ? -1 : 1;
		else
			*order = memcmp(a.data + KILN_HASH_HEAD, b.data + KILN_HASH_HEAD, Min(a.have, b.have) - KILN_HASH_HEAD);
	}
	kiln_toast_close(&a);
	kiln_toast_close(&b);
	return *order != 0;
}

static int
compare_datums(Datum x, Datum y)
{
	Operand		a;
	Operand		b;
	int			order;

	if (compare_heads(x, y, &order))
		return order;
	operand_init(&a, x);
	operand_init(&b, y);
	order = compare_operands(&a, &b);
	operand_free(&a);
	operand_free(&b);
	return order;
}

PG_FUNCTION_INFO_V1(kiln_cmp);
PG_FUNCTION_INFO_V1(kiln_eq);
PG_FUNCTION_INFO_V1(kiln_ne);
PG_FUNCTION_INFO_V1(kiln_lt);
PG_FUNCTION_INFO_V1(kiln_le);
PG_FUNCTION_INFO_V1(kiln_gt);
PG_FUNCTION_INFO_V1(kiln_ge);

Datum
kiln_cmp(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT32(compare_datums(PG_GETARG_DATUM(0), PG_GETARG_DATUM(1)));
}

Datum
kiln_eq(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(compare_datums(PG_GETARG_DATUM(0), PG_GETARG_DATUM(1)) == 0);
}

Datum
kiln_ne(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(compare_datums(PG_GETARG_DATUM(0), PG_GETARG_DATUM(1)) != 0);
}

Datum
kiln_lt(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(compare_datums(PG_GETARG_DATUM(0), PG_GETARG_DATUM(1)) < 0);
}

Datum
kiln_le(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(compare_datums(PG_GETARG_DATUM(0), PG_GETARG_DATUM(1)) <= 0);
}

Datum
kiln_gt(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(compare_datums(PG_GETARG_DATUM(0), PG_GETARG_DATUM(1)) > 0);
}

Datum
kiln_ge(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(compare_datums(PG_GETARG_DATUM(0), PG_GETARG_DATUM(1)) >= 0);
}

/* ------------------------------------------------------------------ hashing */

/*
 * The bytes that stand for a value other than a number, and what to mix in with them.
 */
static const uint8_t *
hash_bytes_of(const Operand *operand, size_t *length, uint64 *mix)
{
	*mix = 0;
	if (operand->class == CLASS_SCALAR)
	{
		if (operand->rank == RANK_STRING || operand->rank == RANK_BYTES)
			return span_of(operand, length);
		*length = operand->width;
		return operand->frame.payload;
	}
	if (operand->class == CLASS_RECORD)
		*mix = operand->frame.hash;
	*length = operand->frame.payload_length;
	return operand->frame.payload;
}

PG_FUNCTION_INFO_V1(kiln_hash_value);
PG_FUNCTION_INFO_V1(kiln_hash_value_extended);

/* kiln_hash_value(kiln): hash opclass support 1. */
Datum
kiln_hash_value(PG_FUNCTION_ARGS)
{
	Operand		operand;
	uint32		result;

	operand_init(&operand, PG_GETARG_DATUM(0));
	if (operand.class == CLASS_SCALAR && operand.rank == RANK_NUMBER)
	{
		Numeric		number = numeric_of(&operand);

		result = DatumGetUInt32(DirectFunctionCall1(hash_numeric, NumericGetDatum(number)));
		pfree(number);
	}
	else
	{
		size_t		length;
		uint64		mix;
		const uint8_t *bytes = hash_bytes_of(&operand, &length, &mix);

		result = hash_bytes(bytes, (int) length) ^ (uint32) mix ^ (uint32) (mix >> 32);
	}
	operand_free(&operand);
	PG_RETURN_UINT32(result);
}

/* kiln_hash_value_extended(kiln, bigint): hash opclass support 2. */
Datum
kiln_hash_value_extended(PG_FUNCTION_ARGS)
{
	Operand		operand;
	uint64		seed = (uint64) PG_GETARG_INT64(1);
	uint64		result;

	operand_init(&operand, PG_GETARG_DATUM(0));
	if (operand.class == CLASS_SCALAR && operand.rank == RANK_NUMBER)
	{
		Numeric		number = numeric_of(&operand);

		result = DatumGetUInt64(DirectFunctionCall2(hash_numeric_extended, NumericGetDatum(number),
													Int64GetDatum((int64) seed)));
		pfree(number);
	}
	else
	{
		size_t		length;
		uint64		mix;
		const uint8_t *bytes = hash_bytes_of(&operand, &length, &mix);

		result = hash_bytes_extended(bytes, (int) length, seed) ^ mix;
	}
	operand_free(&operand);
	PG_RETURN_UINT64(result);
}
