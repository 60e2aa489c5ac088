/*
 * What stand_in.h promises.
 */
#include "stand_in.h"

#include "lib/stringinfo.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "nodes/memnodes.h"
#include "utils/memutils.h"

/* ------------------------------------------------------------------ memory */

/* In front of each chunk. Before PostgreSQL 16 the server's headers look for the context in the 8 bytes before the chunk. */
typedef struct Chunk
{
	struct Chunk *next;
	struct Chunk *previous;
	size_t		size;
	MemoryContext context;
} Chunk;

static MemoryContextData the_context = {.type = T_AllocSetContext, .name = "fuzz"};
static Chunk chunks = {&chunks, &chunks, 0, NULL};
static size_t held;
static size_t most;
static sigjmp_buf *handler;
static int	raised;

MemoryContext CurrentMemoryContext = &the_context;
MemoryContext TopMemoryContext = &the_context;
MemoryContext ErrorContext = &the_context;
volatile sig_atomic_t InterruptPending = false;

static void *
allocate(size_t size, int flags)
{
	Chunk	   *chunk;

	/* the server raises an internal error for this, which no input may lead to */
	MUST((flags & MCXT_ALLOC_HUGE) != 0 ? AllocHugeSizeIsValid(size) : AllocSizeIsValid(size));
	if (size > most - held)
	{
		raised = ERRCODE_OUT_OF_MEMORY;
		siglongjmp(*handler, 1);
	}
	chunk = malloc(sizeof(Chunk) + size);
	MUST(chunk != NULL);
	held += size;
	chunk->size = size;
	chunk->context = &the_context;
	chunk->next = chunks.next;
	chunk->previous = &chunks;
	chunks.next->previous = chunk;
	chunks.next = chunk;
	memset(chunk + 1, (flags & MCXT_ALLOC_ZERO) != 0 ? 0 : 0x7f, size);
	return chunk + 1;
}

void
pfree(void *pointer)
{
	Chunk	   *chunk = (Chunk *) pointer - 1;

	MUST(chunk->context == &the_context);
	chunk->next->previous = chunk->previous;
	chunk->previous->next = chunk->next;
	held -= chunk->size;
	free(chunk);
}

static void *
resize(void *pointer, size_t size, int flags)
{
	size_t		old = ((Chunk *) pointer - 1)->size;
	void	   *moved = allocate(size, flags);

	memcpy(moved, pointer, Min(old, size));
	pfree(pointer);
	return moved;
}

void *
palloc(Size size)
{
	return allocate(size, 0);
}

void *
palloc0(Size size)
{
	return allocate(size, MCXT_ALLOC_ZERO);
}

void *
palloc_extended(Size size, int flags)
{
	return allocate(size, flags);
}

void *
MemoryContextAlloc(MemoryContext context, Size size)
{
	return allocate(size, 0);
}

void *
MemoryContextAllocZero(MemoryContext context, Size size)
{
	return allocate(size, MCXT_ALLOC_ZERO);
}

void *
MemoryContextAllocZeroAligned(MemoryContext context, Size size)
{
	return allocate(size, MCXT_ALLOC_ZERO);
}

void *
MemoryContextAllocHuge(MemoryContext context, Size size)
{
	return allocate(size, MCXT_ALLOC_HUGE);
}

void *
MemoryContextAllocExtended(MemoryContext context, Size size, int flags)
{
	return allocate(size, flags);
}

void *
repalloc(void *pointer, Size size)
{
	return resize(pointer, size, 0);
}

void *
repalloc_huge(void *pointer, Size size)
{
	return resize(pointer, size, MCXT_ALLOC_HUGE);
}

#if PG_VERSION_NUM >= 160000
MemoryContext
GetMemoryChunkContext(void *pointer)
{
	return ((Chunk *) pointer - 1)->context;
}
#endif

char *
pnstrdup(const char *string, Size length)
{
	char	   *copy;

	length = strnlen(string, length);
	copy = allocate(length + 1, 0);
	memcpy(copy, string, length);
	copy[length] = '\0';
	return copy;
}

char *
pstrdup(const char *string)
{
	return pnstrdup(string, strlen(string));
}

/* ------------------------------------------------------------------ errors */

static char message[1024];

bool
errstart(int level, const char *domain)
{
	raised = ERRCODE_INTERNAL_ERROR;
	message[0] = '\0';
	return level >= ERROR;
}

bool
errstart_cold(int level, const char *domain)
{
	return errstart(level, domain);
}

int
errcode(int sqlstate)
{
	raised = sqlstate;
	return 0;
}

/* The parts of a message are made, and so their formats and arguments used. */
#define PART(name) \
	int \
	name(const char *format, ...) \
	{ \
		va_list		arguments; \
		\
		va_start(arguments, format); \
		vsnprintf(message, sizeof message, format, arguments); \
		va_end(arguments); \
		return 0; \
	} \
	extern int	no_such_variable

PART(errmsg);
PART(errmsg_internal);
PART(errdetail);
PART(errdetail_internal);
PART(errhint);

void
errfinish(const char *file, int line, const char *function)
{
	if (ERRCODE_TO_CATEGORY(raised) == ERRCODE_INTERNAL_ERROR || handler == NULL)
	{
		fprintf(stderr, "%s:%d: %s\n", file, line, message);
		abort();
	}
	siglongjmp(*handler, 1);
}

void
report_invalid_encoding(int encoding, const char *string, int length)
{
	ereport(ERROR,
			(errcode(ERRCODE_CHARACTER_NOT_IN_REPERTOIRE),
			 errmsg("invalid byte sequence")));
	pg_unreachable();
}

int
attempt(void (*work) (void *context), void *context, size_t limit)
{
	sigjmp_buf	here;

	most = limit;
	raised = 0;
	handler = &here;
	if (sigsetjmp(here, 0) == 0)
	{
		work(context);
		raised = 0;
	}
	handler = NULL;
	while (chunks.next != &chunks)
		pfree(chunks.next + 1);
	return raised;
}

/* ------------------------------------------------------------------ calls, and what the server knows */

Datum
bytea_of(const uint8_t *bytes, size_t n)
{
	bytea	   *datum = palloc(VARHDRSZ + n);

	SET_VARSIZE(datum, VARHDRSZ + n);
	if (n > 0)
		memcpy(VARDATA(datum), bytes, n);
	return PointerGetDatum(datum);
}

Datum
call(PGFunction function, int n, const Datum *arguments, bool *isnull)
{
	LOCAL_FCINFO(fcinfo, 3);
	Datum		result;

	MUST(n <= 3);
	memset(fcinfo, 0, SizeForFunctionCallInfo(3));
	fcinfo->nargs = (short) n;
	for (int i = 0; i < n; i++)
	{
		fcinfo->args[i].value = arguments[i];
		fcinfo->args[i].isnull = arguments[i] == (Datum) 0;
	}
	result = function(fcinfo);
	*isnull = fcinfo->isnull;
	return result;
}

int
AggCheckCallContext(FunctionCallInfo fcinfo, MemoryContext *context)
{
	if (context)
		*context = &the_context;
	return AGG_CONTEXT_AGGREGATE;
}

/* Nothing is compressed or out of line here. */
struct varlena *
pg_detoast_datum_packed(struct varlena *datum)
{
	MUST(!VARATT_IS_EXTENDED(datum) || VARATT_IS_SHORT(datum));
	return datum;
}

struct varlena *
pg_detoast_datum(struct varlena *datum)
{
	MUST(!VARATT_IS_EXTENDED(datum));
	return datum;
}

int
GetDatabaseEncoding(void)
{
	return PG_UTF8;
}

void
ProcessInterrupts(void)
{
}
