/*
 * Frames: the head that a stored or sent value starts with (FORMAT 3).
 *
 * Only the head is looked at here: whether a definition parses, a hash is known and a payload is valid are the
 * caller's next questions.
 */
#include "internal.h"

static bool
open_hashed(const uint8_t *frame, size_t n, kiln_frame *out, kiln_error *error)
{
	if (n < KILN_HASH_HEAD)
		return kiln_fail(error, KILN_E_FRAME_HEAD, 1, "the hash is cut short");
	out->hash = kiln_load_u64(frame + 1);
	out->payload = frame + KILN_HASH_HEAD;
	out->payload_length = n - KILN_HASH_HEAD;
	return true;
}

static bool
open_inline(const uint8_t *frame, size_t n, kiln_frame *out, kiln_error *error)
{
	uint32_t	length;

	if (n < KILN_INLINE_HEAD)
		return kiln_fail(error, KILN_E_FRAME_HEAD, 1, "the length of the definition is cut short");
	length = kiln_load_u32(frame + 1);
	if (length == 0 || length > KILN_MAX_DEFINITION)
		return kiln_fail(error, KILN_E_LENGTH, 1, "a definition takes 1 to 1048576 bytes");
	if (length > n - KILN_INLINE_HEAD)
		return kiln_fail(error, KILN_E_LENGTH, 1, "the definition is cut short");
	out->text = (const char *) frame + KILN_INLINE_HEAD;
	out->text_length = length;
	out->hash = kiln_hash(out->text, length);
	out->payload = frame + KILN_INLINE_HEAD + length;
	out->payload_length = n - KILN_INLINE_HEAD - length;
	return true;
}

static bool
open_tensors(const uint8_t *frame, size_t n, kiln_frame *out, kiln_error *error)
{
	if (n < KILN_TENSORS_HEAD)
		return kiln_fail(error, KILN_E_FRAME_HEAD, 1, "the reserved bytes are cut short");
	for (size_t i = 1; i < KILN_TENSORS_HEAD; i++)
		if (frame[i] != 0)
			return kiln_fail(error, KILN_E_RESERVED, i, NULL);
	out->payload = frame + KILN_TENSORS_HEAD;
	out->payload_length = n - KILN_TENSORS_HEAD;
	return true;
}

bool
kiln_frame_open(const uint8_t *frame, size_t n, kiln_frame *out, kiln_error *error)
{
	memset(out, 0, sizeof *out);
	if (n == 0)
		return kiln_fail(error, KILN_E_FRAME_HEAD, 0, "the frame is empty");
	if (n > KILN_MAX_FRAME)
		return kiln_fail(error, KILN_E_SIZE, 0, "a frame takes at most 700000000 bytes");
	out->kind = frame[0];
	switch (out->kind)
	{
		case KILN_FRAME_REGISTERED:
		case KILN_FRAME_UNVERIFIED:
			return open_hashed(frame, n, out, error);
		case KILN_FRAME_INLINE:
			return open_inline(frame, n, out, error);
		case KILN_FRAME_TENSORS:
			return open_tensors(frame, n, out, error);
		default:
			return kiln_fail(error, KILN_E_FRAME_KIND, 0, NULL);
	}
}
