/*
 * Counting heap allocations: preloaded into a run that is not timed.
 *
 * malloc, calloc, realloc and the aligned ones are counted and passed on to the C library, C++'s operator new among
 * them. The timed runs go without this object, so that nobody pays for being counted.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stddef.h>
#include <stdint.h>

extern void *__libc_malloc(size_t n);
extern void *__libc_calloc(size_t count, size_t n);
extern void *__libc_realloc(void *memory, size_t n);
extern void *__libc_memalign(size_t alignment, size_t n);

static uint64_t allocations;

uint64_t	bench_allocations(void);

uint64_t
bench_allocations(void)
{
	return allocations;
}

void *
malloc(size_t n)
{
	allocations++;
	return __libc_malloc(n);
}

void *
calloc(size_t count, size_t n)
{
	allocations++;
	return __libc_calloc(count, n);
}

void *
realloc(void *memory, size_t n)
{
	allocations++;
	return __libc_realloc(memory, n);
}

void *
memalign(size_t alignment, size_t n)
{
	allocations++;
	return __libc_memalign(alignment, n);
}

void *
aligned_alloc(size_t alignment, size_t n)
{
	return memalign(alignment, n);
}

int
posix_memalign(void **memory, size_t alignment, size_t n)
{
	*memory = memalign(alignment, n);
	return *memory != NULL ? 0 : ENOMEM;
}
