#include "base/json.h"

#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"

#include "base/banned.h"

/* Append `text` with U+FFFD for every byte that is not UTF-8. */
static void add_utf8(struct jr_buf *out, const char *text, size_t len)
{
    for (size_t at = 0, size; at < len; at += size) {
        uint32_t point;
        size = jr_utf8_decode(text + at, len - at, &point);
        if (size != 0) {
            jr_buf_add(out, text + at, size);
        } else {
            jr_buf_str(out, "\xef\xbf\xbd");
            size = 1;
        }
    }
}

json_t *jr_json_str(const char *text)
{
    if (text == NULL)
        return json_null();
    json_t *string = json_string(text);
    if (string != NULL)
        return string;
    JR_BUF_CLEANUP struct jr_buf mended = JR_BUF_INIT;
    add_utf8(&mended, text, strlen(text));
    return mended.failed || mended.data == NULL ? NULL : json_stringn(mended.data, mended.len);
}

json_t *jr_json_buf(const struct jr_buf *text)
{
    return text->failed ? NULL : jr_json_str(text->data);
}

/* Replace a part that jansson does not print, because it is not UTF-8, so that the output is
 * visibly incomplete. If there is no memory even for this, there is none for printing either. */
static json_t *make_unprintable(void)
{
    return json_stringn_nocheck("\xff", 1);
}

void jr_json_set(json_t *object, const char *key, json_t *value)
{
    if (json_object_set_new(object, key, value) != 0)
        (void)json_object_set_new_nocheck(object, key, make_unprintable());
}

void jr_json_append(json_t *list, json_t *value)
{
    if (json_array_append_new(list, value) != 0)
        (void)json_array_append_new(list, make_unprintable());
}

void jr_json_set_str(json_t *object, const char *key, const char *text)
{
    jr_json_set(object, key, jr_json_str(text));
}

void jr_json_set_int(json_t *object, const char *key, json_int_t value)
{
    jr_json_set(object, key, json_integer(value));
}

void jr_json_set_bool(json_t *object, const char *key, bool value)
{
    jr_json_set(object, key, json_boolean(value));
}

void jr_json_set_null(json_t *object, const char *key)
{
    jr_json_set(object, key, json_null());
}

void jr_json_set_real(json_t *object, const char *key, double value)
{
    if (isfinite(value)) /* JSON has no other numbers */
        jr_json_set(object, key, json_real(value));
}

void jr_json_share(json_t *object, const json_t *from, const char *key)
{
    json_t *value = json_object_get(from, key);
    jr_json_set(object, key, value == NULL ? json_null() : json_incref(value));
}

const char *jr_json_get_str(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

json_int_t jr_json_get_int(const json_t *object, const char *key)
{
    return json_integer_value(json_object_get(object, key));
}

uint32_t jr_json_get_u32(const json_t *object, const char *key)
{
    json_int_t value = jr_json_get_int(object, key);
    return value < 0 || value > UINT32_MAX ? 0 : (uint32_t)value;
}

double jr_json_get_real(const json_t *object, const char *key)
{
    return json_number_value(json_object_get(object, key));
}

bool jr_json_get_bool(const json_t *object, const char *key)
{
    return json_is_true(json_object_get(object, key));
}

/* Whether a real in `json` reads back as another one when it is written with DBL_DIG digits (0.1,
 * not 0.10000000000000001). */
static bool needs_every_digit(const json_t *json)
{
    const char *key;
    json_t *value;
    size_t i;
    if (json_is_real(json)) {
        char text[32];
        double real = json_real_value(json);
        (void)snprintf(text, sizeof text, "%.*g", DBL_DIG, real);
        return strtod(text, NULL) != real;
    }
    json_object_foreach((json_t *)json, key, value)
        if (needs_every_digit(value))
            return true;
    json_array_foreach(json, i, value)
        if (needs_every_digit(value))
            return true;
    return false;
}

static int add_chunk(const char *text, size_t len, void *out)
{
    jr_buf_add(out, text, len);
    return 0;
}

void jr_json_print(struct jr_buf *out, const json_t *json, int indent)
{
    size_t digits = needs_every_digit(json) ? DBL_DECIMAL_DIG : DBL_DIG;
    size_t flags = JSON_ENCODE_ANY | (indent < 0 ? JSON_COMPACT : JSON_INDENT((size_t)indent)) |
                   JSON_REAL_PRECISION(digits);
    if (json_dump_callback(json, add_chunk, out, flags) != 0)
        out->failed = true;
}

/* Whether all of it is printable ASCII that needs no backslash. Without a branch in the loop, it is
 * done for many bytes at once. */
static bool is_plain_json(const char *text, size_t len)
{
    unsigned odd = 0;
    for (size_t i = 0; i < len; i++)
        odd |= (unsigned)(text[i] < ' ') | (unsigned)(text[i] > '~') | (unsigned)(text[i] == '"') |
               (unsigned)(text[i] == '\\');
    return odd == 0;
}

/* What is plain needs no more than its quotes; jansson does the rest. */
void jr_json_quote(struct jr_buf *out, const char *text)
{
    size_t len = text == NULL ? 0 : strlen(text);
    if (text != NULL && is_plain_json(text, len)) {
        jr_buf_char(out, '"');
        jr_buf_add(out, text, len);
        jr_buf_char(out, '"');
        return;
    }
    json_auto_t *json = jr_json_str(text);
    if (json != NULL)
        jr_json_print(out, json, 0);
    else
        out->failed = true;
}

/* A rank has two dozen keys, so each is put together at once. */
void jr_json_key(struct jr_buf *out, const char *key)
{
    static const char before[] = ", \"", after[] = "\": ";
    char last = out->len > 0 ? out->data[out->len - 1] : '{';
    size_t skip = last == '{' || last == ' ' || last == '\n' ? 2 : 0;
    size_t len = strlen(key);
    jr_buf_reserve(out, sizeof before + len + sizeof after);
    if (out->failed)
        return;
    char *at = out->data + out->len;
    at = mempcpy(at, before + skip, sizeof before - 1 - skip);
    at = mempcpy(at, key, len);
    at = mempcpy(at, after, sizeof after); /* with its end */
    out->len = (size_t)(at - 1 - out->data);
}

void jr_json_put_str(struct jr_buf *out, const char *key, const char *text)
{
    jr_json_key(out, key);
    jr_json_quote(out, text);
}

void jr_json_put_int(struct jr_buf *out, const char *key, json_int_t value)
{
    jr_json_key(out, key);
    jr_buf_str(out, value < 0 ? "-" : "");
    jr_buf_u64(out, value < 0 ? -(uint64_t)value : (uint64_t)value);
}

void jr_json_put_bool(struct jr_buf *out, const char *key, bool value)
{
    jr_json_key(out, key);
    jr_buf_str(out, value ? "true" : "false");
}

void jr_json_put_decimal(struct jr_buf *out, const char *key, uint64_t value, unsigned places)
{
    uint64_t unit = 1;
    for (unsigned i = 0; i < places; i++)
        unit *= 10;
    uint64_t rest = value % unit;
    jr_json_key(out, key);
    jr_buf_u64(out, value / unit);
    jr_buf_char(out, '.');
    do {
        unit /= 10;
        jr_buf_u64(out, rest / unit);
        rest %= unit;
    } while (rest != 0);
}

json_t *jr_json_parse(const char *text, size_t len, struct jr_error *err)
{
    json_error_t problem;
    /* jansson takes a NUL as the end and ignores what follows it. */
    if (len != 0 && memchr(text, '\0', len) != NULL) {
        jr_error_set(err, JR_STATUS_INVALID, "holds a NUL byte");
        return NULL;
    }
    json_t *json = json_loadb(len == 0 ? "" : text, len,
                              JSON_REJECT_DUPLICATES | JSON_DECODE_ANY | JSON_ALLOW_NUL, &problem);
    bool too_big = json == NULL && json_error_code(&problem) == json_error_numeric_overflow;
    if (too_big)
        jr_error_set(err, JR_STATUS_INVALID,
                     "line %d, column %d: a number beyond 64 bits; write it as a string",
                     problem.line, problem.column);
    else if (json == NULL)
        jr_error_set(err, JR_STATUS_INVALID, "line %d, column %d: %s", problem.line, problem.column,
                     problem.text);
    if (too_big && err != NULL)
        err->sys = ERANGE;
    return json;
}
