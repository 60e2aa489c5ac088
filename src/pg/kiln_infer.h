/*
 * Inference over many documents: what was seen at each place, and the definition that all of it fits.
 *
 *   infer_place.c    places: made, merged, made dicts, kept within a bound
 *   infer_take.c     documents taken into places
 *   infer_choose.c   types chosen, the definition written
 *   infer_report.c   what was seen and what is uncertain, as rows
 *   infer_agg.c      the aggregates: state, combination, serialization
 *   infer.c          kiln_infer(), which has one document and rules of its own (docs/FORMAT.md, section 7)
 *
 * A definition that is chosen here gives every document back as it was: converted and cast to jsonb it equals its
 * source, but for null members of structs, which are absent then. So a string is a date, timestamp or uuid only if
 * that type writes it in the very same characters, a number is f64 only if its digits come back, a key that
 * normalisation would change makes a dict, and values of different kinds at one place are json.
 *
 * What a place has seen does not depend on the order of documents, so that a parallel plan gives what a serial one
 * does. The bounds below are the exception: beyond them, which object becomes a dict may depend on the order.
 */
#ifndef KILN_INFER_H
#define KILN_INFER_H

#include "kiln_pg.h"

#include "utils/jsonb.h"
#include "utils/numeric.h"

/* Keys of one object that are told apart: a struct has no more fields. One that has more is a dict. */
#define KILN_INFER_KEYS			KILN_MAX_FIELDS

/*
 * Places of a state, some 300 bytes each and their names. A definition of so many is a third of a megabyte of text,
 * where one is the limit, and wider by far than documents with a definition are. When a document leaves more, the
 * widest objects become dicts until half of them are left. Within one document an object that meets twice as many
 * becomes one.
 */
#define KILN_INFER_PLACES		16384

/*
 * An object's keys look open-ended, so that it is a dict though it could be a struct, if there are at least so many,
 * none of them is in all objects, an object has no more than one in so many of them on the average, and their
 * values are of one kind; or if every key begins with a digit, as numbers and dates do and field names do not.
 */
#define KILN_INFER_OPEN_KEYS	16
#define KILN_INFER_OPEN_SHARE	4

/* Kinds of JSON values. */
typedef enum KilnSeenKind
{
	KILN_SEEN_NULL,
	KILN_SEEN_BOOL,
	KILN_SEEN_NUMBER,
	KILN_SEEN_STRING,
	KILN_SEEN_LIST,
	KILN_SEEN_OBJECT
} KilnSeenKind;

#define KILN_SEEN_KINDS			6

/* Why an object is a dict. Ascending: what merges takes the greater. */
typedef enum KilnDictReason
{
	KILN_DICT_NOT,
	KILN_DICT_LOOKS,			/* its keys look open-ended; only in a settled tree */
	KILN_DICT_PLACES,			/* there were too many places */
	KILN_DICT_KEYS,				/* more keys than a struct has fields */
	KILN_DICT_NAME				/* a key that can't be a field's name */
} KilnDictReason;

/* Types that a string may be written by. */
#define KILN_WORD_DATE			0x01
#define KILN_WORD_TIMESTAMP		0x02
#define KILN_WORD_TIMESTAMPTZ	0x04
#define KILN_WORD_UUID			0x08
#define KILN_WORD_TIMES			(KILN_WORD_DATE | KILN_WORD_TIMESTAMP | KILN_WORD_TIMESTAMPTZ)
#define KILN_WORD_ALL			0x0f

typedef struct KilnPlace KilnPlace;

typedef struct KilnMember
{
	const char *name;			/* UTF-8, as in the documents and as normalised */
	size_t		length;
	KilnPlace  *place;			/* has seen a value for each object that has it */
} KilnMember;

/* Least and greatest of sizes. least > most: none yet. */
typedef struct KilnExtent
{
	uint64		least;
	uint64		most;
} KilnExtent;

struct KilnPlace
{
	uint64		seen[KILN_SEEN_KINDS];

	/* numbers */
	bool		whole;			/* all are integers from -2^63 to 2^64 - 1 */
	bool		f64;			/* f64 gives each back */
	int64		least;			/* of whole ones; 0 if there is none below */
	uint64		most;			/* 0 if there is none above */
	double		low;			/* of all; low > high: none yet */
	double		high;
	uint64		scaled;			/* with zeros at the end of a fraction, which a f64 or an integer does not keep */

	/* strings */
	uint8		exact;			/* types that write every string as it is */
	uint8		readable;		/* types that read every string */
	uint64		infinite;		/* "infinity" and "-infinity", which prove nothing */
	KilnExtent	bytes;

	/* lists and objects; freed when kinds mix */
	KilnExtent	elements;		/* of a list */
	KilnExtent	keys;			/* of an object */
	bool		deep;			/* there was a value below the last level that a definition has */
	KilnDictReason dict;		/* element is the place of its values, and there are no members */
	uint64		distinct;		/* dict: keys that were told apart when it became one */
	char	   *odd;			/* the key that can't be a field's name; NULL if there is none */
	KilnPlace  *element;		/* LIST, dict; NULL while all are empty */
	KilnMember *members;		/* in byte order of names */
	uint32		count;
	uint32		capacity;

	/* settled tree */
	bool		open;			/* keys look open-ended, but values differ in kind: it stays a struct */
	bool		null;			/* a whole document was null, which nothing but json takes */
	uint8		levels;			/* of the type, without its own "?" */
};

/* All that documents have left. */
typedef struct KilnInferState
{
	MemoryContext context;		/* of the places */
	uint32		places;
	char	   *name;			/* of the schema, normalised; NULL if the caller gave none */
	KilnPlace  *root;
} KilnInferState;

/* ------------------------------------------------------------------ infer_place.c */

extern KilnInferState *kiln_infer_state_new(MemoryContext context);
extern KilnPlace *kiln_place_new(KilnInferState *state);
extern void kiln_place_free(KilnInferState *state, KilnPlace *place);

/* The place of a list's or dict's elements, made when the first comes. */
extern KilnPlace *kiln_place_element(KilnInferState *state, KilnPlace *place);

/* Where a name is among the members, or belongs. */
extern uint32 kiln_place_find(const KilnPlace *place, const char *name, size_t length, bool *found);
extern KilnMember *kiln_place_insert(KilnInferState *state, KilnPlace *place, uint32 at, const char *name,
									 size_t length);

/* Make a dict of what was a struct until now. odd: the key that is the reason, or NULL. */
extern void kiln_place_become_dict(KilnInferState *state, KilnPlace *place, KilnDictReason reason,
								   const char *odd, size_t length);

/* Take in all that another place has seen, which is left alone. */
extern void kiln_place_merge(KilnInferState *state, KilnPlace *into, const KilnPlace *from);

/* Keep to KILN_INFER_PLACES. */
extern void kiln_infer_shrink(KilnInferState *state);

extern void kiln_extent_take(KilnExtent *extent, uint64 size);

/* Values that stood there; and how many kinds they are of, null apart. */
extern uint64 kiln_place_total(const KilnPlace *place);
extern int	kiln_place_kinds(const KilnPlace *place);

/* Values of more than one kind, or too deep: nothing but json holds them. */
static inline bool
kiln_place_mixed(const KilnPlace *place)
{
	return place->deep || kiln_place_kinds(place) > 1;
}

/* ------------------------------------------------------------------ infer_take.c */

/* Take a document in. Leaves nothing in CurrentMemoryContext that matters. */
extern void kiln_infer_take(KilnInferState *state, Jsonb *document);

/* ------------------------------------------------------------------ infer_choose.c */

/*
 * A copy of a state's places in CurrentMemoryContext, where objects whose keys look open-ended have become dicts and
 * levels are known. The outermost object stays a struct if it can be one.
 */
extern KilnPlace *kiln_infer_settle(const KilnInferState *state);

/* How a settled place is written. */
typedef struct KilnChoice
{
	bool		json;			/* for what it holds, or for want of levels */
	bool		optional;
	int			left;			/* levels for what is inside */
} KilnChoice;

/* absent: some objects lack it. left: levels that the definition may still have here. */
extern KilnChoice kiln_infer_choose(const KilnPlace *place, bool absent, int left);

/* Write the type of a settled place. brief: a struct as (...). */
extern void kiln_infer_print(const KilnPlace *place, bool absent, int left, bool brief, StringInfo buf);

/* Do some objects lack this member? */
extern bool kiln_infer_absent(const KilnPlace *object, const KilnMember *member);

/* The scalar kind that a place without lists and objects is given. */
extern uint8 kiln_infer_scalar(const KilnPlace *place);

/* ------------------------------------------------------------------ infer_report.c */

/* What a settled tree says, as jsonb: an object a place. */
extern Datum kiln_infer_report_datum(const KilnPlace *root);

/* ------------------------------------------------------------------ infer.c */

/* Does f64 give the same number back? text: the number's. */
extern bool kiln_infer_fits_f64(Numeric number, const char *text);

/* A definition in canonical form, its limits checked, as a text datum. */
extern Datum kiln_infer_canonical(const char *text, size_t length);

#endif							/* KILN_INFER_H */
