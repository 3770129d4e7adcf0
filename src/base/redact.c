#include "base/redact.h"

#include <string.h>

#include "base/json.h"
#include "base/num.h"

#include "base/banned.h"

enum { SHORTEST = 4 };

/* The value as written in a string of JSON. */
static void add_json_inner(struct jr_buf *out, const char *value)
{
    JR_BUF_CLEANUP struct jr_buf quoted = JR_BUF_INIT;
    jr_json_quote(&quoted, value);
    if (!quoted.failed && quoted.len > 2)
        jr_buf_add(out, quoted.data + 1, quoted.len - 2);
    out->failed |= quoted.failed;
}

/* The next occurrence of one of the texts, or NULL. In JSON, keys do not count.
 */
static const char *find_secret_text(const char *at, const char *end, const struct jr_buf *what,
                                    bool json)
{
    const char *begin = at;
    for (; (at = memmem(at, (size_t)(end - at), what->data, what->len)) != NULL; at++) {
        const char *behind = at + what->len;
        bool key = json && at > begin && at[-1] == '"' && end - behind > 1 && behind[0] == '"' &&
                   behind[1] == ':';
        if (!key)
            return at;
    }
    return NULL;
}

/* Put `instead` in the place of a text from byte `from` on. */
static void replace_secret(struct jr_buf *out, size_t from, const struct jr_buf *what,
                           const char *instead, bool json)
{
    JR_BUF_CLEANUP struct jr_buf tail = JR_BUF_INIT;
    out->failed |= what->failed;
    if (out->failed || out->len == from || what->len == 0)
        return;
    const char *at = out->data + from, *end = out->data + out->len;
    const char *found = find_secret_text(at, end, what, json);
    if (found == NULL)
        return;
    for (; found != NULL; found = find_secret_text(at, end, what, json)) {
        jr_buf_add(&tail, at, (size_t)(found - at));
        jr_buf_str(&tail, instead);
        at = found + what->len;
    }
    jr_buf_add(&tail, at, (size_t)(end - at));
    out->len = from;
    jr_buf_add(out, tail.data, tail.len);
    out->failed |= tail.failed;
}

static void redact_value(struct jr_buf *out, size_t from, const char *value, bool json)
{
    JR_BUF_CLEANUP struct jr_buf what = JR_BUF_INIT;
    if (json)
        add_json_inner(&what, value);
    else
        jr_buf_safe(&what, value);
    replace_secret(out, from, &what, JR_REDACTED, json);
}

/* A function's arguments are JSON to begin with, so a value in them is not what it is elsewhere. */
void jr_redact(struct jr_buf *out, size_t from, char *const *values, bool json)
{
    for (; values != NULL && *values != NULL && !out->failed; values++) {
        JR_BUF_CLEANUP struct jr_buf inner = JR_BUF_INIT;
        if (strlen(*values) < SHORTEST)
            continue;
        redact_value(out, from, *values, json);
        add_json_inner(&inner, *values);
        if (inner.failed)
            out->failed = true;
        else if (strcmp(inner.data, *values) != 0)
            redact_value(out, from, inner.data, json);
    }
}

void jr_redact_refer(struct jr_buf *out, size_t from, char *const *values, char *const *names)
{
    for (size_t i = 0; values != NULL && values[i] != NULL && !out->failed; i++) {
        JR_BUF_CLEANUP struct jr_buf what = JR_BUF_INIT, name = JR_BUF_INIT;
        if (strlen(values[i]) < SHORTEST)
            continue;
        jr_buf_str(&what, values[i]);
        jr_buf_printf(&name, "${env:%s}", names[i]);
        out->failed |= name.failed;
        replace_secret(out, from, &what, name.data, false);
    }
}

const char *jr_redact_copy(struct jr_arena *arena, const char *text, char *const *values)
{
    JR_BUF_CLEANUP struct jr_buf out = JR_BUF_INIT;
    bool found = false;
    for (; text != NULL && values != NULL && *values != NULL && !out.failed; values++) {
        JR_BUF_CLEANUP struct jr_buf what = JR_BUF_INIT;
        if (strlen(*values) < SHORTEST || strstr(found ? out.data : text, *values) == NULL)
            continue;
        if (!found)
            jr_buf_str(&out, text);
        found = true;
        jr_buf_str(&what, *values);
        replace_secret(&out, 0, &what, JR_REDACTED, false);
    }
    return found ? jr_buf_keep(&out, arena) : text;
}

/* "/etc/key", "~/key", "../key"; what has signs of base64 is not a path. */
static bool is_value_path(const char *value)
{
    static const char *const starts[] = {"/", "~/", "./", "../"};
    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++)
        if (strncmp(value, starts[i], strlen(starts[i])) == 0)
            return strpbrk(value, "+=") == NULL;
    return false;
}

bool jr_redact_wanted(const char *value, size_t least)
{
    double number;
    return strlen(value) >= least && !jr_num_double(value, &number) &&
           strcasecmp(value, "true") != 0 && strcasecmp(value, "false") != 0 &&
           !is_value_path(value);
}
