#include "spec/sweep_meant_values.h"

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

/* range(1,10), range(10), 1..3, interval(0,1): as it is written here. */
static const char *meant_range(struct jr_arena *arena, const char *text)
{
    char tail[2];
    double from, to, step = 1;
    if (sscanf(text, "range(%lf,%lf,%lf%1[)]", &from, &to, &step, tail) == 4)
        return jr_arena_printf(arena, "{from: %g, to: %g, step: %g}", from,
                               to - step, step);
    if (sscanf(text, "range(%lf,%lf%1[)]", &from, &to, tail) == 3)
        return jr_arena_printf(arena, "{from: %g, to: %g}", from, to - 1);
    if (sscanf(text, "range(%lf%1[)]", &to, tail) == 2)
        return jr_arena_printf(arena, "{from: 0, to: %g}", to - 1);
    if (sscanf(text, "interval(%lf,%lf%1[)]", &from, &to, tail) == 3)
        return jr_arena_printf(arena, "{uniform: [%g, %g]}", from, to);
    const char *dots = strstr(text, "..");
    size_t digits = strspn(text, "0123456789");
    if (dots == NULL || dots != text + digits || digits == 0 ||
        dots[2] == '\0' || dots[2 + strspn(dots + 2, "0123456789")] != '\0')
        return NULL;
    return jr_arena_printf(arena, "{from: %.*s, to: %s}", (int)digits, text,
                           dots + 2);
}

/* {values: [1, 2]} and {min: 0, max: 1, distribution: log_uniform}, as
 * trackers of experiments have them. */
static const char *meant_mapping(struct jr_arena *arena,
                                 const struct jr_node *node)
{
    const struct jr_node *min = jr_doc_get(node, "min"),
                         *max = jr_doc_get(node, "max"),
                         *how = jr_doc_get(node, "distribution"),
                         *values = jr_doc_get(node, "values");
    if (values != NULL && values->kind == JR_NODE_SEQUENCE)
        return "the list alone: [...]";
    if (min == NULL || max == NULL || min->kind != JR_NODE_SCALAR ||
        max->kind != JR_NODE_SCALAR)
        return NULL;
    const char *text =
        how == NULL || how->kind != JR_NODE_SCALAR ? "" : how->text;
    const char *word = strstr(text, "log") != NULL   ? "log_uniform"
                       : strstr(text, "int") != NULL ? "integers"
                                                     : "uniform";
    return jr_arena_printf(arena, "{%s: [%s, %s]}", word, min->text, max->text);
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
