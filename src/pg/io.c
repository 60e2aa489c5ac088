/*
 * The type's own functions: text and binary input and output.
 */
#include "kiln_pg.h"

#include "libpq/pqformat.h"

PG_FUNCTION_INFO_V1(kiln_in);
PG_FUNCTION_INFO_V1(kiln_out);
PG_FUNCTION_INFO_V1(kiln_recv);
PG_FUNCTION_INFO_V1(kiln_send);

/* kiln_in(cstring, oid, integer): the text of FORMAT 5, in the server's encoding. */
Datum
kiln_in(PG_FUNCTION_ARGS)
{
	char	   *text = PG_GETARG_CSTRING(0);
	int32		typmod = PG_GETARG_INT32(2);
	size_t		length;
	const char *utf8 = kiln_server_to_utf8(text, strlen(text), &length);
	struct varlena *frame = kiln_frame_from_text(utf8, length, typmod, kiln_escontext(fcinfo));

	if (frame == NULL)
		PG_RETURN_NULL();		/* a soft error */
	PG_RETURN_POINTER(frame);
}

/* kiln_out(kiln): never fails for want of a definition. */
Datum
kiln_out(PG_FUNCTION_ARGS)
{
	struct varlena *frame = PG_DETOAST_DATUM_PACKED(PG_GETARG_DATUM(0));
	StringInfoData buf;

	initStringInfo(&buf);
	kiln_frame_to_text(&buf, frame);
	PG_FREE_IF_COPY(frame, 0);
	PG_RETURN_CSTRING(buf.data);
}

/* kiln_recv(internal, oid, integer): one frame. */
Datum
kiln_recv(PG_FUNCTION_ARGS)
{
	StringInfo	message = (StringInfo) PG_GETARG_POINTER(0);
	int32		typmod = PG_GETARG_INT32(2);
	int			n = message->len - message->cursor;
	const char *bytes = pq_getmsgbytes(message, n);

	PG_RETURN_POINTER(kiln_admit((const uint8_t *) bytes, n, typmod));
}

/* kiln_send(kiln): the frame as it is stored. */
Datum
kiln_send(PG_FUNCTION_ARGS)
{
	struct varlena *frame = PG_DETOAST_DATUM_PACKED(PG_GETARG_DATUM(0));
	Size		n = VARSIZE_ANY_EXHDR(frame);
	bytea	   *result = (bytea *) palloc(VARHDRSZ + n);

	SET_VARSIZE(result, VARHDRSZ + n);
	memcpy(VARDATA(result), VARDATA_ANY(frame), n);
	PG_RETURN_BYTEA_P(result);
}
