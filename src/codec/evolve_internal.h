/*
 * What the two halves of evolution share: evolve.c works a conversion out, evolve_run.c carries it out.
 *
 * A conversion is a tree of moves that follows the new type. A move reads one value of the old type and writes one of
 * the new. Where both have the same bytes it is a copy, whatever stands below, so that most of a value goes by memcpy.
 */
#ifndef KILN_EVOLVE_INTERNAL_H
#define KILN_EVOLVE_INTERNAL_H

#include "schema_internal.h"

typedef enum kiln_move_op
{
	KILN_MOVE_COPY,				/* the bytes as they are */
	KILN_MOVE_NUMBER,			/* integer or f32 to a wider number */
	KILN_MOVE_DIGITS,			/* integer to numeric */
	KILN_MOVE_ENUM,				/* position to position, through labels */
	KILN_MOVE_OPTIONAL,			/* T? to U? */
	KILN_MOVE_PRESENT,			/* T to U? */
	KILN_MOVE_REQUIRED,			/* T? to U: the default, or an error, where it is absent */
	KILN_MOVE_LIST,
	KILN_MOVE_DICT,
	KILN_MOVE_STRUCT
} kiln_move_op;

typedef struct kiln_move kiln_move;

/*
 * One part of a struct's conversion, in the order of the new struct's fields:
 *
 *   COPY    old fields first … first + fields - 1, which stand side by side in both
 *   MOVE    old field first, through move
 *   SKIP    old fields first … first + fields - 1 are dropped (only in an ordered struct)
 *   BYTES   a new field: its default, or the tag of an absent one
 */
typedef enum kiln_part_op
{
	KILN_PART_COPY, KILN_PART_MOVE, KILN_PART_SKIP, KILN_PART_BYTES
} kiln_part_op;

typedef struct kiln_part
{
	uint8_t		op;				/* kiln_part_op */
	uint16_t	first;			/* old field */
	uint16_t	fields;
	const kiln_field *field;	/* MOVE: the new one */
	const kiln_move *move;
	const uint8_t *bytes;		/* BYTES */
	uint32_t	length;
} kiln_part;

struct kiln_move
{
	uint8_t		op;				/* kiln_move_op */
	bool		ordered;		/* STRUCT: the old fields that are kept stand in the new order */
	const kiln_type *from;
	const kiln_type *to;
	const kiln_move *child;		/* OPTIONAL, PRESENT, REQUIRED, LIST, DICT: of the element */
	const kiln_field *field;	/* REQUIRED: the new field if it has a default, else NULL */
	const int32_t *labels;		/* ENUM: new position by old one, -1 for a label that is gone */
	const kiln_part *parts;		/* STRUCT */
	uint32_t	part_count;
	size_t	   *places;			/* STRUCT that is not ordered: room for where its old fields start, and the end */
};

struct kiln_evolution
{
	kiln_arena	arena;
	kiln_allocator allocator;
	const kiln_move *root;
};

#endif							/* KILN_EVOLVE_INTERNAL_H */
