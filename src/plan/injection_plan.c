/*
 * Failures to order, for rehearsals: --inject.
 *
 *   ITEM[, ITEM]...     ITEM is KIND:RANKS[=CODE][@TIME][#ATTEMPT]
 *
 *   RANKS    3, 0-3, 0-7/2, or * for all
 *   =CODE    of `exit`, which wants one: 0 to 255
 *   @TIME    after the rank's start; without it at once. Not of `noresult`
 *   #ATTEMPT without it the first, 0, so that a restart can help; #* for all
 *
 * Declared in internal.h.
 */
#include "plan/internal.h"

#include <string.h>

#include "base/did_you_mean.h"
#include "base/num.h"
#include "base/utf8.h"

#include "base/banned.h"

enum { LAST_CODE = 255 };

/* An item on its way; the parts of its text are cut out as they are read. */
struct item {
    struct jr_plan *plan;
    struct jr_arena *arena;
    struct jr_diags *diags;
    const struct jr_source *source;
    const uint32_t *sizes; /* the ranks of each node */
    const char *text, *end;
    struct jr_injection ret;
    bool every;       /* attempt */
    uint32_t attempt; /* else this one */
};

static uint32_t injection_column(const struct item *item, const char *at)
{
    const char *text = item->source->text;
    return 1 + (uint32_t)jr_utf8_points(text, (size_t)(at - text));
}

/* Complain about [from, to). */
static bool refuse_injection(const struct item *item, const char *from, const char *to,
                             const char *text, const char *help)
{
    const struct jr_span span = {
        .source = item->source,
        .line = 1,
        .column = injection_column(item, from),
        .end_line = 1,
        .end_column = injection_column(item, to),
    };
    struct jr_diag *diag =
        jr_diags_error(item->diags, JR_CODE_WRONG_INJECTION, span, NULL, "%s", text);
    jr_diag_help_text(item->diags, diag, help);
    return false;
}

static char *cut_text(const struct item *item, const char *from, const char *to)
{
    return jr_arena_strndup(item->arena, from, (size_t)(to - from));
}

/* Up to one of the marks, or the end of the item. */
static const char *find_mark_end(const struct item *item, const char *from, const char *marks)
{
    const char *to = from;
    while (to < item->end && strchr(marks, *to) == NULL)
        to++;
    return to;
}

static bool read_injection_kind(struct item *item, const char *to)
{
#define WORD(name, word, help) word,
    static const char *const words[] = {JR_INJECTS(WORD) NULL};
    const char *word = cut_text(item, item->text, to);
    const char *near = word == NULL ? NULL : jr_did_you_mean(word, words);
    int kind = 0;
    while (word != NULL && words[kind] != NULL && strcmp(words[kind], word) != 0)
        kind++;
    if (word != NULL && words[kind] != NULL) {
        item->ret.what = (enum jr_inject)kind;
        return true;
    }
    const char *help = "kill:3@5s, exit:1=7, hang:2, stop:0, slow:*, noresult:1, oom:2: one range "
                       "of ranks each; lost_node:1@5s, deadline@10s, preempt@10s";
    size_t typed = near == NULL ? 0 : strcspn(word, " ");
    if (near != NULL && word[typed] == ' ')
        help = jr_arena_printf(item->arena, "did you mean '%s:%s'?", near, word + typed + 1);
    else if (near != NULL)
        help = jr_arena_printf(item->arena, "did you mean '%s'?", near);
    return refuse_injection(item, item->text, to, "no such injection", help == NULL ? "" : help);
}

static bool read_rank_range(struct item *item, const char *text)
{
    struct jr_injection *ret = &item->ret;
    uint64_t first, last, step = 1;
    ret->last = item->plan->world_size - 1;
    ret->step = 1;
    if (strcmp(text, "*") == 0)
        return true;
    if (!jr_num_digits(&text, &first))
        return false;
    last = first;
    if (*text == '-' && (text++, !jr_num_digits(&text, &last)))
        return false;
    if (*text == '/' && (text++, !jr_num_digits(&text, &step)))
        return false;
    if (*text != '\0' || last < first || step == 0 || last > UINT32_MAX || step > UINT32_MAX)
        return false;
    *ret = (struct jr_injection){.what = ret->what,
                                 .first = (uint32_t)first,
                                 .last = (uint32_t)last,
                                 .step = (uint32_t)step};
    return true;
}

static bool read_injection_ranks(struct item *item, const char *from, const char *to)
{
    const char *text = cut_text(item, from, to);
    if (text == NULL || !read_rank_range(item, text))
        return refuse_injection(item, from, to, "not a set of ranks",
                                "ranks are written as 3, 0-3, 0-7/2 or *");
    if (item->ret.last < item->plan->world_size)
        return true;
    const char *help = jr_arena_printf(item->arena, "the last of %u ranks is %u",
                                       item->plan->world_size, item->plan->world_size - 1);
    return refuse_injection(item, from, to, "there is no such rank", help == NULL ? "" : help);
}

static bool read_code(struct item *item, const char *from, const char *to)
{
    uint32_t code;
    const char *text = cut_text(item, from, to);
    if (item->ret.what != JR_INJECT_EXIT)
        return refuse_injection(item, from - 1, to, "only exit has a code", "exit:1=7");
    if (text == NULL || !jr_num_u32(text, &code) || code > LAST_CODE)
        return refuse_injection(item, from, to, "not an exit code",
                                "a code is from 0 to 255: exit:1=7");
    item->ret.code = (int32_t)code;
    return true;
}

static bool read_injection_time(struct item *item, const char *from, const char *to)
{
    const char *text = cut_text(item, from, to);
    if (item->ret.what == JR_INJECT_NORESULT)
        return refuse_injection(item, from - 1, to, "noresult has no time",
                                "the result is withheld when the rank ends");
    if (text != NULL && jr_num_duration(text, &item->ret.after_ms))
        return true;
    return refuse_injection(item, from, to, "not a duration",
                            "a time after the rank's start is 500ms, 5s or 1m30s");
}

/* Read the part after the ranks: each mark at most once, in any order. */
static bool read_marks(struct item *item, const char *at)
{
    static const char marks[] = "=@#";
    bool seen[3] = {false};
    while (at < item->end) {
        size_t mark = (size_t)(strchr(marks, *at) - marks);
        const char *to = find_mark_end(item, at + 1, marks);
        if (seen[mark])
            return refuse_injection(item, at, to, "given twice", "give it once");
        seen[mark] = true;
        if (mark == 2) {
            const char *text = cut_text(item, at + 1, to);
            item->every = text != NULL && strcmp(text, "*") == 0;
            if (!item->every && (text == NULL || !jr_num_u32(text, &item->attempt)))
                return refuse_injection(item, at + 1, to, "not an attempt",
                                        "attempts count from 0; #* is all of them");
        } else if (mark == 1 ? !read_injection_time(item, at + 1, to)
                             : !read_code(item, at + 1, to)) {
            return false;
        }
        at = to;
    }
    if (item->ret.what == JR_INJECT_EXIT && !seen[0])
        return refuse_injection(item, item->text, item->end, "exit needs a code", "exit:1=7");
    return true;
}

/* What happens to the whole job: deadline@10s. */
static bool read_job_injection(struct item *item, const char *marks)
{
    const struct jr_policy *policy = item->plan->policy;
    bool deadline = item->ret.what == JR_INJECT_DEADLINE;
    if (marks < item->end && *marks == ':')
        return refuse_injection(item, marks, item->end,
                                deadline ? "the deadline comes for the whole job"
                                         : "the whole job is preempted",
                                deadline ? "deadline@10s" : "preempt@10s");
    if (deadline && policy->deadline.before_ms == 0)
        return refuse_injection(item, item->text, item->end, "the spec has no deadline",
                                "state " JR_SETTING("deadline.before", "10m"));
    if (!deadline && policy->deadline.before_ms == 0 && policy->requeue.max == 0)
        return refuse_injection(item, item->text, item->end,
                                "the spec has neither deadline nor requeue, so that a preemption "
                                "is a stop like any other",
                                "state " JR_SETTING("requeue.max", "20"));
    item->ret = (struct jr_injection){.what = item->ret.what, .step = 1};
    return read_marks(item, marks);
}

/* The ranks of a node: lost_node:1. */
static bool read_injection_node(struct item *item, const char *from, const char *to)
{
    struct jr_injection *ret = &item->ret;
    const struct jr_plan *plan = item->plan;
    const char *text = cut_text(item, from, to);
    uint32_t node, begin = 0;
    if (text == NULL || !jr_num_u32(text, &node))
        return refuse_injection(item, from, to, "not the number of a node",
                                "nodes count from 0: lost_node:1@5s");
    if (node >= plan->nodes) {
        const char *help = jr_arena_printf(item->arena, "the last of %u nodes is %u", plan->nodes,
                                           plan->nodes - 1);
        return refuse_injection(item, from, to, "there is no such node", help == NULL ? "" : help);
    }
    for (uint32_t i = 0; i < node; i++)
        begin += item->sizes[i];
    *ret = (struct jr_injection){
        .what = ret->what, .first = begin, .last = begin + item->sizes[node] - 1, .step = 1};
    return true;
}

static bool read_injection(struct item *item)
{
    const char *colon = find_mark_end(item, item->text, ":@#=");
    if (!read_injection_kind(item, colon))
        return false;
    if (item->ret.what == JR_INJECT_DEADLINE || item->ret.what == JR_INJECT_PREEMPT)
        return read_job_injection(item, colon);
    bool node = item->ret.what == JR_INJECT_LOST_NODE;
    if (colon == item->end || *colon != ':')
        return refuse_injection(item, item->text, item->end, node ? "which node?" : "which ranks?",
                                node ? "lost_node:1" : "kill:3, or kill:* for all");
    const char *marks = find_mark_end(item, colon + 1, "=@#");
    if (!(node ? read_injection_node(item, colon + 1, marks)
               : read_injection_ranks(item, colon + 1, marks)) ||
        !read_marks(item, marks))
        return false;
    if (item->ret.what == JR_INJECT_NORESULT && !item->plan->policy->results.stated)
        return refuse_injection(item, item->text, item->end,
                                "the spec asks for no results that could be withheld",
                                "state " JR_SETTING("results.required", "all"));
    return true;
}

enum jr_status jr_inject_parse(struct jr_plan *plan, struct jr_arena *arena, const char *text,
                               const uint32_t *sizes, struct jr_diags *diags)
{
    struct jr_source *source = jr_arena_alloc(arena, sizeof *source);
    const char *kept = jr_arena_strdup(arena, text);
    if (source == NULL || kept == NULL)
        return JR_STATUS_LAUNCH;
    *source =
        (struct jr_source){.name = "--inject", .text = kept, .len = strlen(kept), .option = true};
    struct item item = {
        .plan = plan,
        .arena = arena,
        .diags = diags,
        .source = source,
        .sizes = sizes,
    };
    plan->inject = kept;
    bool good = true;
    const char *at = kept;
    do {
        /* blanks around items do not count */
        item.text = at + strspn(at, " ");
        item.end = item.text + strcspn(item.text, ",");
        while (item.end > item.text && item.end[-1] == ' ')
            item.end--;
        item.ret = (struct jr_injection){0};
        item.every = false;
        item.attempt = 0;
        bool read = read_injection(&item);
        size_t count = plan->injections_count;
        struct jr_injection *slot = NULL;
        if (read && (item.every || item.attempt == plan->attempt))
            slot = jr_arena_push(arena, &plan->injections, &count, sizeof *slot);
        if (slot != NULL)
            *slot = item.ret;
        plan->injections_count = (uint32_t)count;
        good = good && read;
        at += strcspn(at, ",");
    } while (*at++ == ',');
    if (arena->failed)
        return JR_STATUS_LAUNCH;
    return good ? JR_STATUS_OK : JR_STATUS_USAGE;
}
