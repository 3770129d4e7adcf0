#include "hide.h"

#include <string.h>

#include "json.h"

#include "banned.h"

enum { SHORTEST = 4 };

/* The value as it stands in a string of JSON. */
static void add_inner(struct jr_buf *out, const char *value)
{
    JR_BUF_CLEANUP struct jr_buf quoted = JR_BUF_INIT;
    jr_json_quote(&quoted, value);
    if (!quoted.failed && quoted.len > 2)
        jr_buf_add(out, quoted.data + 1, quoted.len - 2);
    out->failed |= quoted.failed;
}

/* The value as it stands in the output. */
static void write_value(struct jr_buf *out, const char *value, bool json)
{
    if (json)
        add_inner(out, value);
    else
        jr_buf_escaped(out, value, strlen(value));
}

static void replace(struct jr_buf *out, size_t from, const struct jr_buf *what)
{
    JR_BUF_CLEANUP struct jr_buf tail = JR_BUF_INIT;
    const char *at = out->data + from, *end = out->data + out->len;
    const char *found = memmem(at, (size_t)(end - at), what->data, what->len);
    if (found == NULL)
        return;
    for (; found != NULL;
         found = memmem(at, (size_t)(end - at), what->data, what->len)) {
        jr_buf_add(&tail, at, (size_t)(found - at));
        jr_buf_str(&tail, JR_REDACTED);
        at = found + what->len;
    }
    jr_buf_add(&tail, at, (size_t)(end - at));
    out->len = from;
    jr_buf_add(out, tail.data, tail.len);
    out->failed |= tail.failed;
}

static void hide(struct jr_buf *out, size_t from, const char *value, bool json)
{
    JR_BUF_CLEANUP struct jr_buf what = JR_BUF_INIT;
    write_value(&what, value, json);
    if (what.failed)
        out->failed = true;
    else
        replace(out, from, &what);
}

/* A function's arguments are JSON to begin with, so a value in them is not what
 * it is elsewhere. */
void jr_hide(struct jr_buf *out, size_t from, char *const *values, bool json)
{
    for (; values != NULL && *values != NULL && !out->failed; values++) {
        JR_BUF_CLEANUP struct jr_buf inner = JR_BUF_INIT;
        if (strlen(*values) < SHORTEST)
            continue;
        hide(out, from, *values, json);
        add_inner(&inner, *values);
        if (inner.failed)
            out->failed = true;
        else if (strcmp(inner.data, *values) != 0)
            hide(out, from, inner.data, json);
    }
}
