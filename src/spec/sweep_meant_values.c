#include "spec/sweep_meant_values.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/num.h"

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

/* A range as it is written elsewhere, its last value in it. */
struct meant_range {
    double from, to, step;
    bool stepped; /* the step was stated */
};

/* The numbers of a text with a separator between them: 2 or 3; 0 for any other text. */
static size_t split_numbers(const char *text, const char *sign, double ret[3])
{
    for (size_t count = 0; count < 3;) {
        char part[32];
        const char *end = strstr(text, sign);
        size_t len = end == NULL ? strlen(text) : (size_t)(end - text);
        if (len >= sizeof part)
            return 0;
        memcpy(part, text, len);
        part[len] = '\0';
        if (!jr_num_double(part, &ret[count]) || !isfinite(ret[count]))
            return 0;
        count++;
        if (end == NULL)
            return count > 1 ? count : 0;
        text = end + strlen(sign);
    }
    return 0;
}

/* range(TO), range(FROM, TO, STEP), np.arange(...), which TO itself is not in.
 */
static bool read_call(const char *text, struct meant_range *ret)
{
    static const char *const names[] = {"range(", "arange(", "np.arange(", "numpy.arange("};
    double to;
    int end = 0;
    size_t i = 0, count = sizeof names / sizeof *names;
    while (i < count && strncmp(text, names[i], strlen(names[i])) != 0)
        i++;
    if (i == count)
        return false;
    text += strlen(names[i]);
    *ret = (struct meant_range){0, 0, 1, true};
    if (sscanf(text, "%lf , %lf , %lf )%n", &ret->from, &to, &ret->step, &end) < 3 &&
        sscanf(text, "%lf , %lf )%n", &ret->from, &to, &end) < 2) {
        ret->from = 0;
        (void)sscanf(text, "%lf )%n", &to, &end);
    }
    ret->to =
        end == 0 ? NAN : ret->from + (ceil((to - ret->from) / ret->step - 1e-9) - 1) * ret->step;
    return true;
}

/* A step that makes a handful of values, where one of 1 makes none of use. */
static double likely_step(double from, double to)
{
    double size = fabs(to - from), step = pow(10, floor(log10(size)));
    step = size / step < 2 ? step / 10 : step;
    return to < from ? -step : step;
}

/* A range as others write it. `alone`: the text is the only value, so that 1:4 and 1-4 can hardly
 * be meant as texts. A range without a value has a `to` that is not a number. */
static bool read_range(const char *text, bool alone, struct meant_range *ret)
{
    double numbers[3];
    if (read_call(text, ret))
        return true;
    size_t count = split_numbers(text, "..", numbers);
    if (count == 0 && alone)
        count = split_numbers(text, ":", numbers);
    if (count == 0 && alone && *text != '-' && split_numbers(text, "-", numbers) == 2 &&
        numbers[0] < numbers[1])
        count = 2;
    if (count == 0)
        return false;
    *ret = (struct meant_range){numbers[0], numbers[1], numbers[1] < numbers[0] ? -1 : 1, false};
    bool whole = floor(ret->from) == ret->from && floor(ret->to) == ret->to;
    if (count == 3)
        ret->step = numbers[2];
    else if (!whole)
        ret->step = likely_step(ret->from, ret->to);
    ret->stepped = count == 3 || !whole;
    return true;
}

/* What a range is called here; NULL where it has no value. */
static const char *range_text(struct jr_arena *arena, const struct meant_range *range, bool option)
{
    double steps = (range->to - range->from) / range->step;
    bool plain = range->step == (range->to < range->from ? -1 : 1);
    const char *quote = option ? "'" : "";
    if (!isfinite(steps) || steps < 0)
        return NULL;
    if (option && plain && floor(range->from) == range->from)
        return jr_arena_printf(arena, "%.15g..%.15g", range->from, range->to);
    const char *step = range->step == 1 ? "" : jr_arena_printf(arena, ", step: %.15g", range->step);
    return jr_arena_printf(arena, "%s{from: %.15g, to: %.15g%s}%s", quote, range->from, range->to,
                           step, quote);
}

/* The values of a range, one by one; NULL where there are none, or many. */
static const char *range_values(struct jr_arena *arena, const struct meant_range *range,
                                bool option)
{
    JR_BUF_CLEANUP struct jr_buf list = JR_BUF_INIT;
    double steps = floor((range->to - range->from) / range->step + 1e-9);
    if (!(steps >= 0 && steps < 16))
        return NULL;
    for (double i = 0; i <= steps; i++)
        jr_buf_printf(&list, "%s%.15g",
                      i == 0   ? ""
                      : option ? ","
                               : ", ",
                      range->from + i * range->step);
    return jr_buf_keep(&list, arena);
}

bool jr_sweep_is_meant_range(struct jr_arena *arena, const char *text, bool alone, bool option,
                             const char **ret_meant)
{
    struct meant_range range;
    if (!read_range(text, alone, &range))
        return false;
    *ret_meant = alone ? range_text(arena, &range, option) : range_values(arena, &range, option);
    return true;
}

/* range(1,10), range(10), 1..3, interval(0,1): as it is written here. */
static const char *meant_range(struct jr_arena *arena, const char *text)
{
    char tail[2];
    double from, to;
    const char *meant = NULL;
    if (sscanf(text, "interval(%lf,%lf%1[)]", &from, &to, tail) == 3)
        return jr_arena_printf(arena, "{uniform: [%.15g, %.15g]}", from, to);
    (void)jr_sweep_is_meant_range(arena, text, true, false, &meant);
    return meant;
}

/* Words of trackers and tuners of experiments, beside the kinds of draws. */
static const char *const lists[] = {"values", "value",       "choices", "choice", "options",
                                    "option", "grid_search", "grid",    "list",   NULL};
struct ends {
    const char *from, *to;
};
static const struct ends intervals[] = {{"min", "max"},        {"low", "high"},  {"lower", "upper"},
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
static const char *meant_list_below(struct jr_arena *arena, const struct jr_node *node)
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
    const struct jr_node *how = jr_doc_get(node, "distribution"), *log = jr_doc_get(node, "log");
    const char *text = how == NULL || how->kind != JR_NODE_SCALAR ? "" : how->text;
    bool logarithmic = log != NULL && log->kind == JR_NODE_SCALAR && strcmp(log->text, "true") == 0;
    if (logarithmic || strstr(text, "log") != NULL)
        return "log_uniform";
    return strstr(text, "int") != NULL ? "integers" : "uniform";
}

/* {from: 0.1, to: 0.5}, whose step is 1, and {from: 3, to: 0, step: 1}, which goes the other way;
 * NULL for any other mapping. */
static const char *meant_ends(struct jr_arena *arena, const struct jr_node *node)
{
    struct meant_range range;
    const struct jr_node *from = jr_doc_get(node, "from"), *to = jr_doc_get(node, "to"),
                         *step = jr_doc_get(node, "step");
    if (from == NULL || to == NULL || !is_plain_end(from) || !is_plain_end(to) ||
        !jr_num_double(from->text, &range.from) || !jr_num_double(to->text, &range.to) ||
        range.from == range.to)
        return NULL;
    if (step == NULL)
        range.step = likely_step(range.from, range.to);
    else if (!is_plain_end(step) || !jr_num_double(step->text, &range.step))
        return NULL;
    else if ((range.to - range.from) / range.step < 0)
        range.step = -range.step;
    return range_text(arena, &range, false);
}

/* {values: [1, 2]}, {min: 0, max: 1, distribution: log_uniform}, and {low: 1, high: 9, step: 2}. */
static const char *meant_mapping(struct jr_arena *arena, const struct jr_node *node)
{
    const struct jr_node *from = NULL, *to = NULL, *step = jr_doc_get(node, "step");
    for (size_t i = 0; to == NULL && i < sizeof intervals / sizeof *intervals; i++) {
        from = jr_doc_get(node, intervals[i].from);
        to = from == NULL ? NULL : jr_doc_get(node, intervals[i].to);
    }
    if (jr_doc_get(node, "from") != NULL)
        return meant_ends(arena, node);
    if (to == NULL || !is_plain_end(from) || !is_plain_end(to))
        return meant_list_below(arena, node);
    if (step != NULL && is_plain_end(step))
        return jr_arena_printf(arena, "{from: %s, to: %s, step: %s}", from->text, to->text,
                               step->text);
    return jr_arena_printf(arena, "{%s: [%s, %s]}", meant_draw(node), from->text, to->text);
}

const char *jr_sweep_meant_values(struct jr_arena *arena, const struct jr_node *node)
{
    if (node->kind == JR_NODE_MAPPING)
        return meant_mapping(arena, node);
    if (node->kind != JR_NODE_SCALAR || node->filled != NULL)
        return NULL;
    const char *range = meant_range(arena, node->text);
    return range != NULL ? range : meant_list(arena, node->text);
}
