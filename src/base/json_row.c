#include "base/json_row.h"

#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/names.h"

#include "base/banned.h"

#define MS UINT64_C(1000000) /* in nanoseconds */

_Static_assert(sizeof(size_t) == sizeof(uint64_t), "a size_t is written and read as U64");

/* Whether it is null by its row. */
static bool is_none(const struct jr_json_row *row, const void *from)
{
    if (row->told_at != 0)
        return !*(const bool *)((const char *)from + row->told_at - 1);
    if (row->none == JR_NONE_ZERO)
        return jr_json_row_load(row, from) <= 0;
    return row->none == JR_NONE_LESS && jr_json_row_load(row, from) < 0;
}

int64_t jr_json_row_load(const struct jr_json_row *row, const void *from)
{
    const void *at = (const char *)from + row->at;
    if (row->kind == JR_ROW_FLAG)
        return *(const bool *)at;
    if (row->kind == JR_ROW_U32)
        return *(const uint32_t *)at;
    if (row->kind == JR_ROW_I32 || row->kind == JR_ROW_WORD || row->kind == JR_ROW_SIGNAL)
        return *(const int32_t *)at;
    if (row->kind == JR_ROW_REAL)
        return isfinite(*(const double *)at) && *(const double *)at > 0;
    return *(const int64_t *)at;
}

void jr_json_row_store(const struct jr_json_row *row, void *to, int64_t value)
{
    void *at = (char *)to + row->at;
    if (row->kind == JR_ROW_FLAG)
        *(bool *)at = value != 0;
    else if (row->kind == JR_ROW_U32)
        *(uint32_t *)at = (uint32_t)value;
    else if (row->kind == JR_ROW_I32 || row->kind == JR_ROW_WORD || row->kind == JR_ROW_SIGNAL)
        *(int32_t *)at = (int32_t)value;
    else
        *(int64_t *)at = value;
}

static void put_list(struct jr_buf *out, const struct jr_json_row *row, const void *from)
{
    const char *items = *(const char *const *)((const char *)from + row->at);
    size_t count = *(const size_t *)((const char *)from + row->count_at);
    jr_buf_char(out, '[');
    for (size_t i = 0; i < count; i++) {
        jr_buf_str(out, i == 0 ? "{" : ", {");
        jr_json_rows_put(out, row->rows, row->rows_count, (const void *[]){items + i * row->size});
        jr_buf_char(out, '}');
    }
    jr_buf_char(out, ']');
}

void jr_json_row_value(struct jr_buf *out, const struct jr_json_row *row, const void *holder)
{
    const void *at = (const char *)holder + row->at;
    int64_t number;
    char name[JR_SIGNAL_NAME];
    if (is_none(row, holder)) {
        jr_buf_str(out, "null");
        return;
    }
    switch (row->kind) {
    case JR_ROW_VALUE:
    case JR_ROW_VALUES:
    case JR_ROW_SECONDS:
    case JR_ROW_SPAN:
    case JR_ROW_TIME:
        break;
    case JR_ROW_TEXT:
        jr_json_quote(out, *(const char *const *)at);
        break;
    case JR_ROW_FLAG:
        jr_buf_str(out, *(const bool *)at ? "true" : "false");
        break;
    case JR_ROW_I32:
    case JR_ROW_U32:
    case JR_ROW_U64:
    case JR_ROW_I64:
        number = jr_json_row_load(row, holder);
        jr_buf_str(out, number < 0 ? "-" : "");
        jr_buf_u64(out, number < 0 ? -(uint64_t)number : (uint64_t)number);
        break;
    case JR_ROW_REAL: {
        json_t *real = json_real(*(const double *)at);
        jr_json_print(out, real, 0);
        json_decref(real);
        break;
    }
    case JR_ROW_WORD:
        jr_json_quote(out, row->shape.words[*(const int32_t *)at - row->first]);
        break;
    case JR_ROW_SIGNAL:
        jr_signal_name(name, *(const int32_t *)at);
        jr_json_quote(out, name);
        break;
    case JR_ROW_OBJECT:
        jr_buf_char(out, '{');
        jr_json_rows_put(out, row->rows, row->rows_count, &at);
        jr_buf_char(out, '}');
        break;
    case JR_ROW_LIST:
        put_list(out, row, holder);
        break;
    }
}

void jr_json_row_put(struct jr_buf *out, const struct jr_json_row *row, const void *const *from)
{
    if (row->put != NULL) {
        row->put(out, row, from);
        return;
    }
    if (row->kind == JR_ROW_VALUE || row->kind == JR_ROW_VALUES)
        return;
    const void *holder = from[row->in];
    const uint64_t *time = (const void *)((const char *)holder + row->at);
    if (row->kind == JR_ROW_SECONDS)
        jr_json_put_decimal(out, row->key, *time, 3);
    else if (row->kind == JR_ROW_SPAN)
        jr_json_put_decimal(out, row->key, *time / 1000, 6);
    else if (row->kind == JR_ROW_TIME)
        jr_json_put_decimal(out, row->key, *time / MS, 3);
    else {
        jr_json_key(out, row->key);
        jr_json_row_value(out, row, holder);
    }
}

void jr_json_rows_put(struct jr_buf *out, const struct jr_json_row *rows, size_t count,
                      const void *const *from)
{
    for (size_t i = 0; i < count; i++)
        if (rows[i].key != NULL)
            jr_json_row_put(out, &rows[i], from);
}

json_t *jr_json_rows_object(const struct jr_json_row *rows, size_t count, const void *const *from)
{
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
    jr_buf_char(&text, '{');
    jr_json_rows_put(&text, rows, count, from);
    jr_buf_char(&text, '}');
    return text.failed ? NULL : jr_json_parse(text.data, text.len, NULL);
}

uint32_t jr_json_below(const json_t *value, uint32_t end)
{
    json_int_t number = json_integer_value(value);
    return number >= 0 && number < (json_int_t)end ? (uint32_t)number : 0;
}

static void get_list(const struct jr_json_row *row, void *to, struct jr_arena *arena,
                     const json_t *value)
{
    size_t count = json_array_size(value);
    char *items = jr_arena_array(arena, count, row->size);
    *(void **)((char *)to + row->at) = items;
    *(size_t *)((char *)to + row->count_at) = items == NULL ? 0 : count;
    for (size_t i = 0; items != NULL && i < count; i++)
        jr_json_rows_get(row->rows, row->rows_count, (void *[]){items + i * row->size}, arena,
                         json_array_get(value, i));
}

static void get_row(const struct jr_json_row *row, void *to, struct jr_arena *arena,
                    const json_t *value)
{
    void *at = (char *)to + row->at;
    const char *text = json_string_value(value);
    uint64_t ns = 0;
    if (row->told_at != 0)
        *(bool *)((char *)to + row->told_at - 1) |= json_is_integer(value);
    switch (row->kind) {
    case JR_ROW_VALUE:
    case JR_ROW_VALUES:
        break;
    case JR_ROW_TEXT:
        *(const char **)at = text == NULL && row->none == JR_NONE_EMPTY ? "" : text;
        break;
    case JR_ROW_FLAG:
        *(bool *)at = json_is_true(value);
        break;
    case JR_ROW_U32:
        *(uint32_t *)at = jr_json_below(value, row->limit == 0 ? UINT32_MAX : row->limit);
        break;
    case JR_ROW_I32:
    case JR_ROW_U64:
    case JR_ROW_I64:
        jr_json_row_store(
            row, to,
            row->none == JR_NONE_LESS && !json_is_integer(value) ? -1 : json_integer_value(value));
        break;
    case JR_ROW_REAL:
        *(double *)at = json_number_value(value);
        break;
    case JR_ROW_WORD:
        *(int32_t *)at = 0;
        for (size_t i = 0; text != NULL && i < row->shape.words_count; i++)
            if (strcmp(row->shape.words[i], text) == 0)
                *(int32_t *)at = (int32_t)i + row->first;
        break;
    case JR_ROW_SIGNAL:
        *(int32_t *)at = text == NULL ? 0 : jr_signal_of(text);
        break;
    case JR_ROW_SECONDS:
    case JR_ROW_SPAN:
    case JR_ROW_TIME:
        ns = jr_clock_ns_of(json_number_value(value));
        *(uint64_t *)at = row->kind == JR_ROW_SECONDS ? ns / MS : ns;
        break;
    case JR_ROW_OBJECT:
        jr_json_rows_get(row->rows, row->rows_count, &at, arena, value);
        break;
    case JR_ROW_LIST:
        get_list(row, to, arena, value);
        break;
    }
}

void jr_json_rows_get(const struct jr_json_row *rows, size_t count, void *const *to,
                      struct jr_arena *arena, const json_t *object)
{
    for (const struct jr_json_row *row = rows; row < rows + count; row++) {
        const json_t *value = row->key == NULL ? NULL : json_object_get(object, row->key);
        if (row->get != NULL)
            row->get(to, row, value);
        else if (row->key != NULL)
            get_row(row, to[row->in], arena, value);
    }
}

/* One of the words. A list of words that ends with null has that for null. */
static json_t *words_schema(const struct jr_json_shape *shape, bool null)
{
    json_t *schema = json_object(), *words = json_array();
    for (size_t i = 0; i < shape->words_count; i++)
        jr_json_append(words, jr_json_str(shape->words[i]));
    if (null)
        jr_json_append(words, json_null());
    jr_json_set(schema, "enum", words);
    return schema;
}

/* Let it be null as well, by its type, where it has one, and describe it. */
static json_t *finish_schema(json_t *schema, bool null, const char *help)
{
    json_t *types = null ? json_array() : NULL;
    if (null) {
        jr_json_append(types, jr_json_str(jr_json_get_str(schema, "type")));
        jr_json_append(types, jr_json_str("null"));
        jr_json_set(schema, "type", types);
    }
    if (help != NULL && help[0] != '\0')
        jr_json_set_str(schema, "description", help);
    return schema;
}

json_t *jr_json_shape_schema(const struct jr_json_shape *shape, const char *help)
{
    if (shape->text == NULL)
        return finish_schema(words_schema(shape, shape->null), false, help);
    return finish_schema(jr_json_parse(shape->text, strlen(shape->text), NULL), shape->null, help);
}

void jr_json_shape_add(json_t *properties, json_t *required, const char *key, json_t *schema)
{
    jr_json_set(properties, key, schema);
    if (required != NULL)
        jr_json_append(required, jr_json_str(key));
}

static json_t *row_schema(const struct jr_json_row *row)
{
    static const char *const texts[] = {
        [JR_ROW_TEXT] = JR_SHAPE_TEXT,
        [JR_ROW_FLAG] = JR_SHAPE_FLAG,
        [JR_ROW_I32] = JR_SHAPE_COUNT,
        [JR_ROW_U32] = JR_SHAPE_COUNT,
        [JR_ROW_U64] = JR_SHAPE_COUNT,
        [JR_ROW_I64] = "{\"type\": \"integer\"}",
        [JR_ROW_REAL] = "{\"type\": \"number\"}",
        [JR_ROW_SIGNAL] = JR_SHAPE_SIGNAL,
        [JR_ROW_SECONDS] = JR_SHAPE_SECONDS,
        [JR_ROW_SPAN] = JR_SHAPE_SECONDS,
        [JR_ROW_TIME] = "{\"type\": \"number\"}",
    };
    struct jr_json_shape shape = row->shape;
    shape.null =
        shape.null || row->told_at != 0 || row->none == JR_NONE_ZERO || row->none == JR_NONE_LESS;
    if (row->rows == NULL) {
        if (shape.text == NULL && shape.words == NULL)
            shape.text = texts[row->kind];
        return jr_json_shape_schema(&shape, row->help);
    }
    json_t *properties = json_object(), *required = json_array();
    jr_json_rows_schema(row->rows, row->rows_count, properties, required);
    json_t *schema = json_pack("{s:s, s:o, s:o}", "type", "object", "required", required,
                               "properties", properties);
    if (row->kind == JR_ROW_LIST || row->kind == JR_ROW_VALUES)
        schema = json_pack("{s:s, s:o}", "type", "array", "items", schema);
    return finish_schema(schema, shape.null, row->help);
}

void jr_json_rows_schema(const struct jr_json_row *rows, size_t count, json_t *properties,
                         json_t *required)
{
    for (const struct jr_json_row *row = rows; row < rows + count; row++)
        if (row->key != NULL)
            jr_json_shape_add(properties, row->shape.optional ? NULL : required, row->key,
                              row_schema(row));
}

/* The value of a key over all objects: their sum, the first, the largest or the smallest. */
static json_t *join_value(const struct jr_json_row *row, const json_t *const *objects, size_t count)
{
    json_t *best = NULL;
    json_int_t sum = 0;
    for (size_t i = 0; i < count; i++) {
        json_t *value = json_object_get(objects[i], row->key);
        double number = json_number_value(value), before = json_number_value(best);
        sum += jr_json_get_u32(objects[i], row->key);
        bool fits = row->join == JR_JOIN_FIRST ? !json_is_null(value) : json_is_number(value);
        bool better = best == NULL || (row->join == JR_JOIN_MOST && number > before) ||
                      (row->join == JR_JOIN_LEAST && number < before);
        best = fits && better ? value : best;
    }
    if (row->join == JR_JOIN_SUM)
        return json_integer(sum);
    return best == NULL ? json_null() : json_incref(best);
}

json_t *jr_json_rows_join(const struct jr_json_row *rows, size_t count,
                          const json_t *const *objects, size_t objects_count, const json_t *decider)
{
    const json_t *any = decider;
    json_t *joined = json_object();
    for (size_t i = 0; any == NULL && i < objects_count; i++)
        any = objects[i];
    for (const struct jr_json_row *row = rows; row < rows + count; row++) {
        if (row->join == JR_JOIN_OWN)
            jr_json_set_null(joined, row->key);
        else if (row->join == JR_JOIN_ANY || row->join == JR_JOIN_DECIDER)
            jr_json_share(joined, row->join == JR_JOIN_ANY ? any : decider, row->key);
        else
            jr_json_set(joined, row->key, join_value(row, objects, objects_count));
    }
    return joined;
}
