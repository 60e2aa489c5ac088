/*
 * Memory: the caller's allocator, or malloc where there is none, and arenas over it.
 *
 * An arena hands out pieces of a few chunks and gives all of them back at once. Chunks grow with the arena, so that a
 * small definition costs one small chunk and a large one few calls; a piece too large for the space at hand gets a
 * chunk of its own.
 */
#include "schema_internal.h"

#include <stdalign.h>
#include <stdlib.h>

#define CHUNK_FIRST		1024	/* bytes of an arena's first chunk, head included */
#define CHUNK_LARGEST	65536	/* size at which chunks stop growing */

typedef struct chunk
{
	struct chunk *next;
	size_t		size;			/* bytes behind the head */
	size_t		used;
} chunk;

/* The head's size keeps what follows it aligned for any object. */
#define CHUNK_HEAD	((sizeof(chunk) + alignof(max_align_t) - 1) & ~(alignof(max_align_t) - 1))

void *
kiln_allocate(const kiln_allocator *allocator, size_t size)
{
	if (allocator == NULL || allocator->allocate == NULL)
		return malloc(size);
	return allocator->allocate(allocator->context, size);
}

void
kiln_release(const kiln_allocator *allocator, void *memory)
{
	if (memory == NULL)
		return;
	if (allocator == NULL || allocator->allocate == NULL)
		free(memory);
	else if (allocator->release != NULL)
		allocator->release(allocator->context, memory);
}

static chunk *
chunk_new(kiln_arena *arena, size_t size)
{
	chunk	   *new;

	if (size > SIZE_MAX - CHUNK_HEAD)
		return NULL;
	new = kiln_allocate(arena->allocator, CHUNK_HEAD + size);
	if (new == NULL)
		return NULL;
	new->next = NULL;
	new->size = size;
	new->used = 0;
	return new;
}

/*
 * A chunk with room for size more bytes. A piece that would waste most of a chunk gets one of its own, which goes
 * second in the list, so that the room left in the first is still used.
 */
static chunk *
chunk_for(kiln_arena *arena, size_t size)
{
	chunk	   *first = arena->chunks;
	chunk	   *new;
	size_t		grown = CHUNK_FIRST - CHUNK_HEAD;

	if (first != NULL && first->size >= grown)
		grown = first->size < CHUNK_LARGEST ? first->size * 2 : CHUNK_LARGEST;
	if (size > grown / 4)
	{
		new = chunk_new(arena, size);
		if (new == NULL)
			return NULL;
		if (first == NULL)
			arena->chunks = new;
		else
		{
			new->next = first->next;
			first->next = new;
		}
		return new;
	}
	new = chunk_new(arena, grown);
	if (new == NULL)
		return NULL;
	new->next = first;
	arena->chunks = new;
	return new;
}

static char *
take(kiln_arena *arena, size_t size, size_t align)
{
	chunk	   *from = arena->chunks;
	size_t		at = 0;

	if (from != NULL)
		at = (from->used + align - 1) & ~(align - 1);
	if (from == NULL || at > from->size || size > from->size - at)
	{
		from = chunk_for(arena, size);
		if (from == NULL)
			return NULL;
		at = 0;
	}
	from->used = at + size;
	return (char *) from + CHUNK_HEAD + at;
}

void *
kiln_arena_take(kiln_arena *arena, size_t size)
{
	return take(arena, size, alignof(max_align_t));
}

char *
kiln_arena_take_bytes(kiln_arena *arena, size_t size)
{
	return take(arena, size, 1);
}

char *
kiln_arena_copy(kiln_arena *arena, const void *bytes, size_t n)
{
	char	   *copy = kiln_arena_take_bytes(arena, n + 1);

	if (copy == NULL)
		return NULL;
	if (n != 0)
		memcpy(copy, bytes, n);
	copy[n] = '\0';
	return copy;
}

void
kiln_arena_release(kiln_arena *arena)
{
	chunk	   *next;
	chunk	   *each;

	for (each = arena->chunks; each != NULL; each = next)
	{
		next = each->next;
		kiln_release(arena->allocator, each);
	}
	arena->chunks = NULL;
}
