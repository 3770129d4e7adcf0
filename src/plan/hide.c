/* Values of secrets that the spec reads by ${env:NAME} stand in arguments,
 * variables and paths of the plan, and there they have to stand. Told they are
 * not, wherever they are met. */
#include "show.h"

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
        jr_buf_str(&tail, JR_SHOW_REDACTED);
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
void jr_show_hide(struct jr_buf *out, size_t from, const struct jr_plan *plan,
                  bool json)
{
    char *const *value = plan->hidden;
    for (; value != NULL && *value != NULL && !out->failed; value++) {
        JR_BUF_CLEANUP struct jr_buf inner = JR_BUF_INIT;
        if (strlen(*value) < SHORTEST)
            continue;
        hide(out, from, *value, json);
        add_inner(&inner, *value);
        if (inner.failed)
            out->failed = true;
        else if (strcmp(inner.data, *value) != 0)
            hide(out, from, inner.data, json);
    }
}
