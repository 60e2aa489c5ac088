/*
 * What an accessor's call site keeps in fn_extra: its path, and plans of the path for the definitions it meets.
 *
 * The path is made from the function's second argument and compared with it only where it is not a constant of the
 * query. A slot holds the plan for one definition, pinned; there are a few, and the one of the last row is at hand.
 */
#ifndef KILN_ACCESS_PLAN_H
#define KILN_ACCESS_PLAN_H

#include "kiln_access.h"

#include "toast.h"

/* Definitions that one call site keeps plans for; a column rarely mixes more versions. */
#define PLAN_SLOTS 4

typedef struct PlanSlot
{
	KilnSchema *schema;			/* pinned */
	uint64		hash;
	uint64		generation;		/* of the registry, when the slot was last found true */
	uint8		kind;			/* of frames it serves: REGISTERED, INLINE or UNVERIFIED */
	bool		elsewhere;		/* no such field here, but in another version: NULL */
	kiln_plan	plan;
	void	   *conversion;		/* kept for the caller: see kiln_access_cache() */
	MemoryContext conversion_context;	/* child of path_context; NULL until it is asked for */
} PlanSlot;

typedef struct Accessor
{
	KilnFastPlace fast;			/* first: kiln_fast_frame() reads it without knowing the rest */
	MemoryContext path_context; /* the path, its argument and the plans; emptied when the path changes */
	MemoryContextCallback unpin;
	KilnToastCache *toast_cache;	/* the query's; NULL until a value out of line comes by */
	bool		constant;		/* the path is a constant of the query */
	bool		have_path;
	struct varlena *argument;	/* what path was made from; NULL for a position */
	int32		position;
	kiln_path	path;
	PlanSlot   *last;			/* the slot of the row before */
	int			used;
	int			next;			/* slot to be given up next */
	PlanSlot	slots[PLAN_SLOTS];
} Accessor;

/* The call site's accessor, made if there is none, with the path of the argument. */
extern Accessor *kiln_accessor_ready(FunctionCallInfo fcinfo, KilnPathForm form);

/*
 * The slot for a frame, made if there is none; it is accessor->last afterwards. An unverified frame is validated each
 * time.
 */
extern PlanSlot *kiln_accessor_slot(Accessor *accessor, KilnPathForm form, const kiln_frame *frame);

#endif							/* KILN_ACCESS_PLAN_H */
