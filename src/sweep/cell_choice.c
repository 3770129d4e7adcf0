/* Which cell --cell and SWEEP/CELL mean. cells.h declares it. */
#include <string.h>

#include "base/num.h"
#include "sweep/cells.h"

#include "base/banned.h"

const char *jr_cell_pair_end(const char *text)
{
    int depth = 0;
    char quote = 0;
    for (; *text != '\0'; text++) {
        if (quote != 0)
            quote = *text == quote ? 0 : quote;
        else if (*text == '\'' || *text == '"')
            quote = *text;
        else if (*text == '[' || *text == '{')
            depth++;
        else if (*text == ']' || *text == '}')
            depth--;
        else if (*text == ',' && depth <= 0)
            break;
    }
    return text;
}

/* The value of a text, by type; NULL where it is none. */
static struct jr_node *read_wanted(struct jr_doc *doc, const char *text,
                                   size_t len)
{
    struct jr_diags silent = JR_DIAGS_INIT;
    struct jr_buf value JR_BUF_CLEANUP = JR_BUF_INIT;
    jr_buf_add(&value, text, len);
    *doc = (struct jr_doc)JR_DOC_INIT;
    if (!value.failed && value.data != NULL)
        (void)jr_doc_load_value(doc, "--cell", value.data, 0, &silent);
    bool good = silent.errors == 0;
    jr_diags_release(&silent);
    return good ? doc->root : NULL;
}

/* Narrow `left` to the cells that have the pair from `text` to `end`. */
static int narrow_by_pair(const struct jr_cells *cells, bool *left,
                          const char *text, const char *end,
                          struct jr_stated_value *values, struct jr_error *err)
{
    const char *equals = memchr(text, '=', (size_t)(end - text));
    size_t len = equals == NULL ? 0 : (size_t)(equals - text);
    struct jr_doc doc = JR_DOC_INIT;
    bool known = false;
    if (len == 0)
        return jr_error_set(err, JR_STATUS_USAGE,
                            "'%.*s' is neither the number of a cell nor "
                            "PATH=VALUE",
                            (int)(end - text), text);
    const struct jr_node *wanted =
        read_wanted(&doc, equals + 1, (size_t)(end - equals - 1));
    for (size_t i = 0; i < cells->count; i++) {
        size_t count = left[i] ? jr_cells_values(cells, i, values) : 0;
        bool same = false;
        for (size_t j = 0; j < count; j++) {
            if (strncmp(values[j].path, text, len) != 0 ||
                values[j].path[len] != '\0')
                continue;
            known = true;
            same = wanted != NULL &&
                   jr_sweep_values_compare(values[j].value, wanted) == 0;
        }
        left[i] = same;
    }
    jr_doc_release(&doc);
    return known ? 0
                 : jr_error_set(err, JR_STATUS_USAGE,
                                "'%.*s' is not an axis of the sweep", (int)len,
                                text);
}

/* The only cell that is left, or why there is none. */
static int pick_cell(size_t *ret, const struct jr_cells *cells,
                     const bool *left, const char *text, struct jr_error *err)
{
    struct jr_buf list JR_BUF_CLEANUP = JR_BUF_INIT;
    size_t found = 0, first = 0;
    for (size_t i = 0; i < cells->count; i++) {
        if (!left[i])
            continue;
        if (found++ == 0)
            first = i;
        if (found <= 4)
            jr_buf_printf(&list, "%s%zu", found == 1 ? "" : ", ", i);
    }
    if (found == 1) {
        *ret = first;
        return 0;
    }
    if (found == 0)
        return jr_error_set(err, JR_STATUS_USAGE, "no cell has %s", text);
    return jr_error_set(err, JR_STATUS_USAGE,
                        "%s is true of %zu cells (%s%s): state more values, or "
                        "a number",
                        text, found, list.failed ? "" : list.data,
                        found > 4 ? ", ..." : "");
}

static int choose_by_values(size_t *ret, const struct jr_cells *cells,
                            const char *text, struct jr_error *err)
{
    struct jr_arena arena = JR_ARENA_INIT;
    bool *left = jr_arena_array(&arena, cells->count, sizeof *left);
    struct jr_stated_value *values =
        jr_arena_array(&arena, cells->most_values + 1, sizeof *values);
    int status = 0;
    if (left == NULL || values == NULL)
        status = jr_error_set(err, JR_STATUS_LAUNCH, "out of memory");
    for (size_t i = 0; status == 0 && i < cells->count; i++)
        left[i] = true;
    for (const char *at = text; status == 0;) {
        const char *end = jr_cell_pair_end(at);
        status = narrow_by_pair(cells, left, at, end, values, err);
        if (*end == '\0')
            break;
        at = end + 1;
    }
    if (status == 0)
        status = pick_cell(ret, cells, left, text, err);
    jr_arena_release(&arena);
    return status;
}

int jr_cells_choose(size_t *ret, const struct jr_cells *cells, const char *text,
                    struct jr_error *err)
{
    const char *digits = text;
    while (digits[0] == '0' && digits[1] != '\0') /* 0007 is 7 */
        digits++;
    uint64_t number;
    if (!jr_num_u64(digits, &number))
        return choose_by_values(ret, cells, text, err);
    if (number < cells->count) {
        *ret = (size_t)number;
        return 0;
    }
    return jr_error_set(err, JR_STATUS_USAGE,
                        "there is no cell %s: the sweep has cells 0 to %zu",
                        text, cells->count - 1);
}
