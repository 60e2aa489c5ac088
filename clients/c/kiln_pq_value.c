/*
 * Values, and what paths find in them.
 *
 * A path is compiled for each definition that it meets and keeps the plans; rows of one definition, the common case,
 * find theirs by one comparison. Reads are held (see kiln.h): the server validated the value, so they check no more
 * than that they stay inside it. Values too short for that take the checked reader.
 */
#include <stdlib.h>

#include "kiln_pq_internal.h"

/* ------------------------------------------------------------------ values */

/* A frame whose bytes nobody vouches for is tested here, once. */
static bool
open_record(kiln_pq_value *value, const kiln_frame *frame, kiln_pq_error *error)
{
	if (frame->kind == KILN_FRAME_INLINE)
		value->schema = kiln_pq_stored(value->client, frame->text, frame->text_length, error);
	else
	{
		value->schema = kiln_pq_by_hash(value->client, frame->hash);
		if (value->schema == NULL)
			value->schema = kiln_pq_need(value->client, frame->hash, error);
	}
	if (value->schema == NULL)
		return false;
	return frame->kind != KILN_FRAME_UNVERIFIED || kiln_pq_check(value, NULL, error);
}

bool
kiln_pq_value_open(kiln_pq *client, const void *frame, size_t n, kiln_pq_value *value, kiln_pq_error *error)
{
	kiln_frame	parts;
	kiln_error	codec;

	if (!kiln_frame_open(frame, n, &parts, &codec))
		return kiln_pq_fail(error, KILN_PQ_E_FORMAT, &codec, "frame, at byte %zu", codec.offset);
	value->client = client;
	value->schema = NULL;
	value->frame = frame;
	value->frame_length = n;
	value->payload = parts.payload;
	value->length = parts.payload_length;
	value->kind = parts.kind;
	if (parts.kind != KILN_FRAME_TENSORS)
		return open_record(value, &parts, error);
	return kiln_pq_check(value, NULL, error);
}

kiln_pq_found
kiln_pq_result_value(kiln_pq *client, const PGresult *result, int row, int column, kiln_pq_value *value,
					 kiln_pq_error *error)
{
	if (PQftype(result, column) != kiln_pq_oid(client) || PQfformat(result, column) != 1)
	{
		kiln_pq_fail(error, KILN_PQ_E_TYPE, NULL, "column %d is not of type kiln and in binary", column);
		return KILN_PQ_FAILED;
	}
	if (PQgetisnull(result, row, column))
		return KILN_PQ_ABSENT;
	return kiln_pq_value_open(client, PQgetvalue(result, row, column), (size_t) PQgetlength(result, row, column),
							  value, error)
		? KILN_PQ_FOUND : KILN_PQ_FAILED;
}

bool
kiln_pq_check(const kiln_pq_value *value, const kiln_json_check *json, kiln_pq_error *error)
{
	kiln_error	codec;

	if (value->schema == NULL ? kiln_directory_validate(value->payload, value->length, &codec)
		: kiln_validate(value->schema->root, value->payload, value->length, json, &codec))
		return true;
	codec.offset += (size_t) (value->payload - value->frame);
	return kiln_pq_fail(error, KILN_PQ_E_FORMAT, &codec, "value, at byte %zu of its frame", codec.offset);
}

/* ------------------------------------------------------------------ paths */

typedef struct path_plan
{
	const kiln_schema *schema;
	kiln_plan	plan;
	bool		elsewhere;		/* only another version has the field: there is no plan */
} path_plan;

struct kiln_pq_path
{
	kiln_pq    *client;
	char	   *text;			/* the parsed path points into it */
	kiln_path	path;
	path_plan  *plans;
	size_t		count;
	size_t		room;
	size_t		last;			/* the plan that served last */
};

kiln_pq_path *
kiln_pq_path_open(kiln_pq *client, const char *text, kiln_pq_error *error)
{
	kiln_pq_path *path = calloc(1, sizeof *path);
	kiln_error	codec;

	if (path != NULL)
		path->text = strdup(text);
	if (path == NULL || path->text == NULL)
		kiln_pq_fail(error, KILN_PQ_E_MEMORY, NULL, "out of memory");
	else if (!kiln_path_parse(path->text, strlen(text), NULL, &path->path, &codec))
		kiln_pq_fail(error, KILN_PQ_E_PATH, &codec, "path \"%s\", at byte %zu", text, codec.offset);
	else
	{
		path->client = client;
		return path;
	}
	if (path != NULL)
		free(path->text);
	free(path);
	return NULL;
}

void
kiln_pq_path_close(kiln_pq_path *path)
{
	if (path == NULL)
		return;
	for (size_t i = 0; i < path->count; i++)
	{
		if (!path->plans[i].elsewhere)
			kiln_plan_free(&path->plans[i].plan);
	}
	kiln_path_free(&path->path);
	free(path->plans);
	free(path->text);
	free(path);
}

/* Work the path out for a schema that it has not met. */
static path_plan *
make_plan(kiln_pq_path *path, const kiln_schema *schema, kiln_pq_error *error)
{
	path_plan	made = {.schema = schema};
	kiln_error	codec;

	if (!kiln_plan_compile(schema->root, &path->path, NULL, &made.plan, &codec))
	{
		made.elsewhere = codec.code == KILN_E_PATH_FIELD && kiln_pq_other_version(path->client, schema, &path->path);
		if (!made.elsewhere)
		{
			kiln_pq_fail(error, KILN_PQ_E_PATH, &codec, "path \"%s\"", path->text);
			return NULL;
		}
	}
	else if (made.plan.json_rest)
	{
		kiln_plan_free(&made.plan);
		codec.code = KILN_E_PATH_STEP;
		codec.detail[0] = codec.path[0] = 0;
		kiln_pq_fail(error, KILN_PQ_E_PATH, &codec, "path \"%s\" goes on inside a json value", path->text);
		return NULL;
	}
	if (path->count == path->room)
	{
		size_t		room = path->room != 0 ? 2 * path->room : 4;
		path_plan  *plans = realloc(path->plans, room * sizeof *plans);

		if (plans == NULL)
		{
			if (!made.elsewhere)
				kiln_plan_free(&made.plan);
			kiln_pq_fail(error, KILN_PQ_E_MEMORY, NULL, "out of memory");
			return NULL;
		}
		path->plans = plans;
		path->room = room;
	}
	path->plans[path->count] = made;
	return &path->plans[path->count++];
}

static inline path_plan *
plan_for(kiln_pq_path *path, const kiln_schema *schema, kiln_pq_error *error)
{
	path_plan  *found;

	if (KILN_LIKELY(path->last < path->count && path->plans[path->last].schema == schema))
		return &path->plans[path->last];
	for (size_t i = 0; i < path->count; i++)
	{
		if (path->plans[i].schema == schema)
		{
			path->last = i;
			return &path->plans[i];
		}
	}
	found = make_plan(path, schema, error);
	if (found != NULL)
		path->last = (size_t) (found - path->plans);
	return found;
}

kiln_pq_found
kiln_pq_find(const kiln_pq_value *value, kiln_pq_path *path, kiln_pq_view *view, kiln_pq_error *error)
{
	path_plan  *found;
	kiln_held	held = {value->payload, value->length, NULL};
	kiln_found	result = KILN_FOUND;
	kiln_error	codec = {0};
	size_t		pos;

	if (value->schema == NULL)
	{
		kiln_pq_fail(error, KILN_PQ_E_TYPE, NULL, "no path leads into tensors");
		return KILN_PQ_FAILED;
	}
	found = plan_for(path, value->schema, error);
	if (found == NULL)
		return KILN_PQ_FAILED;
	if (found->elsewhere)
		return KILN_PQ_ABSENT;

	if (found->plan.constant)
		pos = found->plan.offset;
	else if (value->length >= KILN_HELD_LEAST)
		result = kiln_plan_run_held(&found->plan, &held, &pos);
	else
		result = kiln_plan_run_checked(&found->plan, value->payload, value->length, &pos, &codec);
	if (result == KILN_ABSENT)
		return KILN_PQ_ABSENT;
	if (result != KILN_FOUND || pos > value->length || value->length - pos < found->plan.type->least)
	{
		if (codec.code == KILN_E_OK)
			codec.code = KILN_E_TRUNCATED;
		kiln_pq_fail(error, KILN_PQ_E_FORMAT, &codec, "path \"%s\"", path->text);
		return KILN_PQ_FAILED;
	}
	view->type = found->plan.type;
	view->at = value->payload + pos;
	view->left = value->length - pos;
	return KILN_PQ_FOUND;
}

/* ------------------------------------------------------------------ what a view holds */

static bool
wrong_type(const kiln_pq_view *view, const char *wanted, kiln_pq_error *error)
{
	return kiln_pq_fail(error, KILN_PQ_E_TYPE, NULL, "%.*s is not %s",
						view->type->text_length < 80 ? (int) view->type->text_length : 80, view->type->text, wanted);
}

static bool
damaged(kiln_code code, kiln_pq_error *error)
{
	kiln_error	codec = {0};

	codec.code = code;
	return kiln_pq_fail(error, KILN_PQ_E_FORMAT, &codec, "value");
}

bool
kiln_pq_view_bool(const kiln_pq_view *view, bool *out, kiln_pq_error *error)
{
	if (view->type->kind != KILN_BOOL)
		return wrong_type(view, "bool", error);
	if (view->left < 1)
		return damaged(KILN_E_TRUNCATED, error);
	*out = view->at[0] != 0;
	return true;
}

bool
kiln_pq_view_int64(const kiln_pq_view *view, int64_t *out, kiln_pq_error *error)
{
	uint64_t	wide;

	if (view->left < view->type->width)
		return damaged(KILN_E_TRUNCATED, error);
	switch (view->type->kind)
	{
		case KILN_I8:
		case KILN_I16:
		case KILN_I32:
		case KILN_I64:
		case KILN_DATE:
		case KILN_TIMESTAMP:
		case KILN_TIMESTAMPTZ:
			*out = kiln_view_signed(view->type, view->at);
			return true;
		case KILN_U8:
		case KILN_U16:
		case KILN_U32:
		case KILN_U64:
			wide = kiln_view_unsigned(view->type, view->at);
			if (wide > INT64_MAX)
				return kiln_pq_fail(error, KILN_PQ_E_TYPE, NULL, "u64 is beyond the range of int64_t");
			*out = (int64_t) wide;
			return true;
		default:
			return wrong_type(view, "an integer", error);
	}
}

bool
kiln_pq_view_uint64(const kiln_pq_view *view, uint64_t *out, kiln_pq_error *error)
{
	int64_t		narrow;

	if (view->type->kind == KILN_U64)
	{
		if (view->left < 8)
			return damaged(KILN_E_TRUNCATED, error);
		*out = kiln_load_u64(view->at);
		return true;
	}
	if (!kiln_pq_view_int64(view, &narrow, error))
		return false;
	if (narrow < 0)
		return kiln_pq_fail(error, KILN_PQ_E_TYPE, NULL, "integer is negative");
	*out = (uint64_t) narrow;
	return true;
}

bool
kiln_pq_view_double(const kiln_pq_view *view, double *out, kiln_pq_error *error)
{
	if (view->left < view->type->width)
		return damaged(KILN_E_TRUNCATED, error);
	switch (view->type->kind)
	{
		case KILN_F64:
			*out = kiln_load_f64(view->at);
			return true;
		case KILN_F32:
			*out = kiln_load_f32(view->at);
			return true;
		case KILN_I8:
		case KILN_I16:
		case KILN_I32:
		case KILN_I64:
			*out = (double) kiln_view_signed(view->type, view->at);
			return true;
		case KILN_U8:
		case KILN_U16:
		case KILN_U32:
		case KILN_U64:
			*out = (double) kiln_view_unsigned(view->type, view->at);
			return true;
		default:
			return wrong_type(view, "a number", error);
	}
}

bool
kiln_pq_view_span(const kiln_pq_view *view, kiln_slice *out, kiln_pq_error *error)
{
	uint32_t	position;

	switch (view->type->kind)
	{
		case KILN_STRING:
		case KILN_BYTES:
		case KILN_NUMERIC:
		case KILN_JSON:
			if (view->left < 4)
				return damaged(KILN_E_TRUNCATED, error);
			out->data = kiln_view_span(view->at, &out->length);
			if (out->length > view->left - 4)
				return damaged(KILN_E_LENGTH, error);
			return true;
		case KILN_UUID:
			out->data = view->at;
			out->length = 16;
			return view->left >= 16 || damaged(KILN_E_TRUNCATED, error);
		case KILN_ENUM:
			if (view->left < 2)
				return damaged(KILN_E_TRUNCATED, error);
			position = kiln_load_u16(view->at);
			if (position >= view->type->count)
				return damaged(KILN_E_ENUM, error);
			out->data = view->type->labels[position].text;
			out->length = view->type->labels[position].length;
			return true;
		default:
			return wrong_type(view, "text or bytes", error);
	}
}

bool
kiln_pq_view_numbers(const kiln_pq_view *view, const uint8_t **data, uint32_t *count, kiln_pq_error *error)
{
	if (view->type->kind != KILN_LIST || !view->type->numbers)
		return wrong_type(view, "a list of numbers", error);
	if (view->left < 4)
		return damaged(KILN_E_TRUNCATED, error);
	*count = kiln_load_u32(view->at);
	if ((uint64_t) *count * view->type->element->width > view->left - 4)
		return damaged(KILN_E_COUNT, error);
	*data = view->at + 4;
	return true;
}

bool
kiln_pq_view_length(const kiln_pq_view *view, size_t *length, kiln_pq_error *error)
{
	kiln_reader reader;

	kiln_reader_init(&reader, view->at, view->left);
	if (!kiln_reader_skip(&reader, view->type))
		return damaged(KILN_E_TRUNCATED, error);
	*length = (size_t) (reader.pos - reader.start);
	return true;
}

/* ------------------------------------------------------------------ both in one */

#define GETTER(name, out_type) \
kiln_pq_found \
kiln_pq_get_##name(const kiln_pq_value *value, kiln_pq_path *path, out_type *out, kiln_pq_error *error) \
{ \
	kiln_pq_view view; \
	kiln_pq_found found = kiln_pq_find(value, path, &view, error); \
\
	if (found != KILN_PQ_FOUND) \
		return found; \
	return kiln_pq_view_##name(&view, out, error) ? KILN_PQ_FOUND : KILN_PQ_FAILED; \
}

GETTER(bool, bool)
GETTER(int64, int64_t)
GETTER(uint64, uint64_t)
GETTER(double, double)
GETTER(span, kiln_slice)

/* ------------------------------------------------------------------ members */

bool
kiln_pq_members_open(const kiln_pq_view *view, kiln_pq_members *members, kiln_pq_error *error)
{
	const kiln_type *type = view->type;
	uint64_t	least;

	members->type = type;
	members->at = view->at;
	members->left = view->left;
	members->next = 0;
	if (type->kind == KILN_STRUCT)
	{
		members->count = type->count;
		return true;
	}
	if (type->kind != KILN_LIST && type->kind != KILN_DICT)
		return wrong_type(view, "a struct, list or dict", error);
	if (view->left < 4)
		return damaged(KILN_E_TRUNCATED, error);
	members->count = kiln_load_u32(view->at);
	least = (uint64_t) type->element->least + (type->kind == KILN_DICT ? 4 : 0);
	if (members->count * least > view->left - 4)
		return damaged(KILN_E_COUNT, error);
	members->at += 4;
	members->left -= 4;
	return true;
}

/* Go on by n bytes, which are there. */
static void
advance(kiln_pq_members *members, size_t n)
{
	members->at += n;
	members->left -= n;
}

/* What stands before a member's value: a field's name, a dict's key. */
static bool
member_name(kiln_pq_members *members, kiln_slice *name, kiln_pq_error *error)
{
	const kiln_type *type = members->type;
	kiln_slice	found = {NULL, 0};

	if (type->kind == KILN_STRUCT)
	{
		found.data = type->fields[members->next].name;
		found.length = type->fields[members->next].name_length;
	}
	else if (type->kind == KILN_DICT)
	{
		if (members->left < 4)
			return damaged(KILN_E_TRUNCATED, error);
		found.data = kiln_view_span(members->at, &found.length);
		if (found.length > members->left - 4)
			return damaged(KILN_E_LENGTH, error);
		advance(members, 4 + (size_t) found.length);
	}
	if (name != NULL)
		*name = found;
	return true;
}

kiln_pq_found
kiln_pq_members_next(kiln_pq_members *members, kiln_slice *name, kiln_pq_view *view, kiln_pq_error *error)
{
	const kiln_type *type = members->type;
	size_t		length;

	if (members->next >= members->count)
		return KILN_PQ_ABSENT;
	if (!member_name(members, name, error))
		return KILN_PQ_FAILED;
	type = type->kind == KILN_STRUCT ? type->fields[members->next].type : type->element;
	members->next++;
	view->type = type;
	if (type->kind == KILN_OPTIONAL)
	{
		view->type = type->element;
		if (members->left < 1 || members->at[0] > 1)
		{
			damaged(members->left < 1 ? KILN_E_TRUNCATED : KILN_E_TAG, error);
			return KILN_PQ_FAILED;
		}
		advance(members, 1);
		if (members->at[-1] == 0)
		{
			view->at = NULL;
			view->left = 0;
			return KILN_PQ_FOUND;
		}
	}
	view->at = members->at;
	view->left = members->left;
	if (!kiln_pq_view_length(view, &length, error))
		return KILN_PQ_FAILED;
	advance(members, length);
	return KILN_PQ_FOUND;
}

/* ------------------------------------------------------------------ tensors */

kiln_pq_found
kiln_pq_tensor(const kiln_pq_value *value, const char *name, kiln_tensor *tensor, kiln_pq_error *error)
{
	int64_t		i;

	if (value->kind != KILN_FRAME_TENSORS)
	{
		kiln_pq_fail(error, KILN_PQ_E_TYPE, NULL, "the value holds no tensors");
		return KILN_PQ_FAILED;
	}
	i = kiln_directory_find(value->payload, value->length, name, strlen(name));
	if (i < 0 || !kiln_directory_entry(value->payload, value->length, (uint32_t) i, tensor))
		return KILN_PQ_ABSENT;
	return KILN_PQ_FOUND;
}
