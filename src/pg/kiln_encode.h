/*
 * Sources of values in the server: SQL values (source_record.c, source_datum.c) and jsonb (source_jsonb.c).
 *
 * How an SQL type becomes a kiln type is worked out once for a row type and a definition, as a tree of converters
 * that follows the definition. Running it copies nothing that it need not: a scalar that the codec is given leads
 * into the row, or into CurrentMemoryContext, which has to live until the value is encoded and should be reset then.
 */
#ifndef KILN_ENCODE_H
#define KILN_ENCODE_H

#include "kiln_pg.h"

#include "access/htup.h"
#include "access/tupdesc.h"
#include "utils/array.h"
#include "utils/jsonb.h"
#include "utils/typcache.h"

typedef struct KilnConvert KilnConvert;
typedef struct KilnRecordPlan KilnRecordPlan;
typedef struct KilnArrayPlan KilnArrayPlan;

/* Turn one SQL value, not NULL, into the scalar that convert->type is stored as. False: *error is filled. */
typedef bool (*KilnConvertScalar) (const KilnConvert *convert, Datum value, kiln_scalar *out, kiln_error *error);

/* What a node of an SQL source's pointer leads to. */
typedef enum KilnForm
{
	KILN_FORM_PLAIN,			/* KilnConvert: a scalar from a scalar */
	KILN_FORM_RECORD,			/* KilnConvert: a struct from a composite */
	KILN_FORM_ARRAY,			/* KilnConvert: a list from an array */
	KILN_FORM_JSON,				/* KilnConvert: anything from json, jsonb or kiln */
	KILN_FORM_INNER				/* KilnInner: a place inside such a document */
} KilnForm;

/*
 * One place of a definition and the SQL type that fills it. The converters of a row belong to its plan's memory.
 */
struct KilnConvert
{
	KilnForm	form;			/* first: nodes are told apart by it */
	Oid			sql_type;		/* domains resolved */
	const kiln_type *type;		/* never OPTIONAL */
	KilnConvertScalar scalar;	/* PLAIN and JSON, where type is a scalar */
	KilnRecordPlan *record;		/* RECORD */
	KilnArrayPlan *array;		/* ARRAY */
	KilnConvert *element;		/* ARRAY: of the list's elements */
	int			level;			/* ARRAY: dimension that this list stands for */
};

/* A field of a struct: the column that fills it. */
typedef struct RecordSlot
{
	int			column;			/* position in values and nulls, -1 if the row type has none of that name */
	bool		document;		/* convert's form is JSON */
	KilnConvert *convert;
} RecordSlot;

struct KilnRecordPlan
{
	MemoryContext context;		/* of all that follows; reset when the row type changes */
	Oid			row_type;
	int32		row_typmod;
	struct TypeCacheEntry *entry;	/* of a named row type; such entries stay for the backend's life */
	uint64		identifier;		/* of the row type's shape, 0 before the first row */
	TupleDesc	columns;
	RecordSlot *slots;
	struct KilnFlatPlan *flat;	/* encode_flat.c: NULL if rows take the general way */
	Datum	   *values;			/* of the row at hand */
	bool	   *nulls;
};

/*
 * Is the plan that of this row type, as it is now? A change of a named one clears the identifier in its entry of the type cache.
 */
static inline bool
kiln_record_fits(const KilnRecordPlan *plan, Oid row_type, int32 row_typmod)
{
	return plan->identifier != 0 && plan->row_type == row_type && plan->row_typmod == row_typmod &&
		(plan->entry == NULL || plan->entry->tupDesc_identifier == plan->identifier);
}

struct KilnArrayPlan
{
	Oid			element_type;
	int16		element_length;
	bool		by_value;
	char		alignment;
	bool		same_layout;
	int			levels;			/* dimensions that become nested lists */
	/* of the array at hand */
	int			counts[MAXDIM];
	int			strides[MAXDIM];	/* elements in one position of a dimension */
	const char *data;			/* elements, packed; else values and nulls */
	Datum	   *values;
	bool	   *nulls;
};

/* ------------------------------------------------------------------ source_datum.c */

/*
 * The conversion from an SQL type (no domain) to a scalar kiln type, NULL if there is none. kiln_oid: that of type
 * kiln.
 */
extern KilnConvertScalar kiln_scalar_converter(Oid sql_type, const kiln_type *type, Oid kiln_oid);

/* Can a list of that element type take an array's bytes as they are? */
extern bool kiln_same_layout(Oid sql_element, const kiln_type *element);

/* One number given as numeric into any scalar type that takes numbers. */
extern bool kiln_numeric_scalar(const kiln_type *type, Datum numeric, kiln_scalar *out, kiln_error *error);

/* UTF-8 JSON text of a json, jsonb or kiln datum, without white space around it. May lead into the datum. */
extern const char *kiln_json_datum_text(Oid sql_type, Datum value, size_t *length);

/* ------------------------------------------------------------------ source_plan.c */

typedef struct KilnRecordSource KilnRecordSource;

/* Work out how sql_type becomes type; false if it can't. Allocates in CurrentMemoryContext. */
extern bool kiln_convert_compile(KilnRecordSource *source, Oid sql_type, const kiln_type *type, KilnConvert *convert);

/* Make the plan for a row type, or make it anew. False: *error is filled, and source->hint set. */
extern bool kiln_record_compile(KilnRecordSource *source, KilnRecordPlan *plan, const kiln_type *type,
								Oid row_type, int32 row_typmod, kiln_error *error);

/* ------------------------------------------------------------------ encode_flat.c */

/* A plan for structs of scalars that are stored as the columns of record have them, in CurrentMemoryContext; NULL if type is no such. */
extern struct KilnFlatPlan *kiln_flat_plan(const KilnRecordPlan *record, const kiln_type *type);

/* The frame of a row that fits record, under a registered definition; NULL: take the general way. */
extern struct varlena *kiln_flat_encode(const KilnRecordPlan *record, uint64 hash, HeapTupleHeader header);

/* ------------------------------------------------------------------ source_record.c */

/*
 * A plan for one type: root is the converter of the whole value, whose row type may change from row to row (it is
 * looked at each time).
 */
struct KilnRecordSource
{
	kiln_source source;			/* source.self leads here */
	KilnConvert root;
	Oid			kiln_oid;		/* type kiln */
	const char *hint;			/* of the last KILN_E_SOURCE error, NULL if there is none */
};

/* KilnConvert.scalar of a document where the definition wants a scalar other than json. */
extern bool kiln_document_scalar(const KilnConvert *convert, Datum value, kiln_scalar *out, kiln_error *error);

/* Make a source that encodes composites into type, a STRUCT. All of it lives in context. */
extern KilnRecordSource *kiln_record_source(const kiln_type *type, Oid kiln_oid, MemoryContext context);

/* The same for values of any SQL type into any type that is not OPTIONAL; NULL if there is no such conversion. */
extern KilnRecordSource *kiln_datum_source(const kiln_type *type, Oid sql_type, Oid kiln_oid, MemoryContext context);

/* The node to hand to kiln_encode() for one datum, a composite or of the type the source was made for. */
extern kiln_node kiln_record_node(KilnRecordSource *source, Datum record);

/* ------------------------------------------------------------------ source_jsonb.c */

typedef struct KilnJsonbSource
{
	kiln_source source;			/* source.self leads here */
	struct KilnJsonSource *content;	/* reads strings into what is no string; made when first wanted */
} KilnJsonbSource;

extern void kiln_jsonb_source_init(KilnJsonbSource *source);

/* The node of a whole document. Allocates in CurrentMemoryContext, as the source does. */
extern kiln_node kiln_jsonb_node(Jsonb *document);

/* Is the whole document null? */
extern bool kiln_jsonb_is_null(Jsonb *document);

#endif							/* KILN_ENCODE_H */
