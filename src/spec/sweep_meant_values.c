#include "spec/sweep_meant_values.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/banned.h"

/* The words that stand for a list or a range elsewhere. */
static const char *const list_words[] = {"choice(", "[", "(", ""};

/* "1,2,3", choice(1,2,3): as a list; NULL where it is none. */
static const char *meant_list(struct jr_arena *arena, const char *text)
{
    size_t i = 0;
    while (strncmp(text, list_words[i], strlen(list_words[i])) != 0)
        i++;
    text += strlen(list_words[i]);
    size_t len = strcspn(text, ")]");
    if (memchr(text, ',', len) == NULL || strpbrk(text, "(\"'{}:#") != NULL)
        return NULL;
    JR_BUF_CLEANUP struct jr_buf list = JR_BUF_INIT;
    for (size_t at = 0; at < len; at++)
        if (text[at] != ' ')
            jr_buf_printf(&list, "%c%s", text[at], text[at] == ',' ? " " : "");
    return jr_arena_printf(arena, "[%s]", list.failed ? "" : list.data);
}

/* range(FROM, TO, STEP), which TO itself is not in, as a range that ends with
 * its last value; NULL where it has none. */
static const char *meant_steps(struct jr_arena *arena, double from, double to,
                               double step)
{
    double last = from + (ceil((to - from) / step - 1e-9) - 1) * step;
    JR_BUF_CLEANUP struct jr_buf more = JR_BUF_INIT;
    if (step != 1)
        jr_buf_printf(&more, ", step: %.15g", step);
    if (!isfinite(last) || more.failed || (last - from) / step < 0)
        return NULL;
    return jr_arena_printf(arena, "{from: %.15g, to: %.15g%s}", from, last,
                           step != 1 ? more.data : "");
}

/* range(1,10), range(10), 1..3, interval(0,1): as it is written here. */
static const char *meant_range(struct jr_arena *arena, const char *text)
{
    char tail[2];
    double from, to, step;
    if (sscanf(text, "range(%lf,%lf,%lf%1[)]", &from, &to, &step, tail) == 4)
        return meant_steps(arena, from, to, step);
    if (sscanf(text, "range(%lf,%lf%1[)]", &from, &to, tail) == 3)
        return meant_steps(arena, from, to, 1);
    if (sscanf(text, "range(%lf%1[)]", &to, tail) == 2)
        return meant_steps(arena, 0, to, 1);
    if (sscanf(text, "interval(%lf,%lf%1[)]", &from, &to, tail) == 3)
        return jr_arena_printf(arena, "{uniform: [%.15g, %.15g]}", from, to);
    const char *dots = strstr(text, "..");
    size_t digits = strspn(text, "0123456789");
    if (dots == NULL || dots != text + digits || digits == 0 ||
        dots[2] == '\0' || dots[2 + strspn(dots + 2, "0123456789")] != '\0')
        return NULL;
    return jr_arena_printf(arena, "{from: %.*s, to: %s}", (int)digits, text,
                           dots + 2);
}

/* Words of trackers and tuners of experiments, beside the kinds of draws. */
static const char *const lists[] = {
    "values", "value",       "choices", "choice", "options",
    "option", "grid_search", "grid",    "list",   NULL};
struct ends {
    const char *from, *to;
};
static const struct ends intervals[] = {
    {"min", "max"},        {"low", "high"},  {"lower", "upper"},
    {"start", "stop"},     {"start", "end"}, {"begin", "end"},
    {"minimum", "maximum"}};

/* Whether nothing of it was inserted: it is shown as it was written. */
static bool is_as_written(const struct jr_node *node)
{
    bool written = node->kind != JR_NODE_SCALAR || node->filled == NULL;
    for (size_t i = 0; node->kind == JR_NODE_SEQUENCE && i < node->count; i++)
        written = written && is_as_written(node->items[i]);
    return written && node->kind != JR_NODE_MAPPING;
}

/* A list under such a word, on one line. */
static const char *meant_list_below(struct jr_arena *arena,
                                    const struct jr_node *node)
{
    enum { LONGEST = 100 };
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
    const struct jr_node *list = NULL;
    for (size_t i = 0; list == NULL && lists[i] != NULL; i++)
        list = jr_doc_get(node, lists[i]);
    if (list == NULL || (list->kind != JR_NODE_SEQUENCE && node->count > 1))
        return NULL;
    if (list->kind != JR_NODE_SEQUENCE)
        jr_buf_char(&text, '[');
    if (is_as_written(list))
        jr_doc_emit_line(&text, list);
    if (list->kind != JR_NODE_SEQUENCE)
        jr_buf_char(&text, ']');
    return text.failed || text.len > LONGEST || !is_as_written(list)
               ? "the list alone: [...]"
               : jr_arena_strdup(arena, text.data);
}

static bool is_plain_end(const struct jr_node *node)
{
    return node->kind == JR_NODE_SCALAR && node->filled == NULL;
}

/* How values between two ends are drawn, by what stands beside them. */
static const char *meant_draw(const struct jr_node *node)
{
    const struct jr_node *how = jr_doc_get(node, "distribution"),
                         *log = jr_doc_get(node, "log");
    const char *text =
        how == NULL || how->kind != JR_NODE_SCALAR ? "" : how->text;
    bool logarithmic = log != NULL && log->kind == JR_NODE_SCALAR &&
                       strcmp(log->text, "true") == 0;
    if (logarithmic || strstr(text, "log") != NULL)
        return "log_uniform";
    return strstr(text, "int") != NULL ? "integers" : "uniform";
}

/* {values: [1, 2]}, {min: 0, max: 1, distribution: log_uniform}, and
 * {low: 1, high: 9, step: 2}. */
static const char *meant_mapping(struct jr_arena *arena,
                                 const struct jr_node *node)
{
    const struct jr_node *from = NULL, *to = NULL,
                         *step = jr_doc_get(node, "step");
    for (size_t i = 0; to == NULL && i < sizeof intervals / sizeof *intervals;
         i++) {
        from = jr_doc_get(node, intervals[i].from);
        to = from == NULL ? NULL : jr_doc_get(node, intervals[i].to);
    }
    if (to == NULL || !is_plain_end(from) || !is_plain_end(to))
        return meant_list_below(arena, node);
    if (step != NULL && is_plain_end(step))
        return jr_arena_printf(arena, "{from: %s, to: %s, step: %s}",
                               from->text, to->text, step->text);
    return jr_arena_printf(arena, "{%s: [%s, %s]}", meant_draw(node),
                           from->text, to->text);
}

const char *jr_sweep_meant_values(struct jr_arena *arena,
                                  const struct jr_node *node)
{
    if (node->kind == JR_NODE_MAPPING)
        return meant_mapping(arena, node);
    if (node->kind != JR_NODE_SCALAR || node->filled != NULL)
        return NULL;
    const char *range = meant_range(arena, node->text);
    return range != NULL ? range : meant_list(arena, node->text);
}
