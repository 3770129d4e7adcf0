/*
 * What the nodes of a run in parts do not have in common. They know nothing of each other, and
 * somebody may have changed the spec, or given `-s` on one of them only: then they ran different
 * experiments, or not even one world.
 *
 * `equal` and `distinct` over the ranks of all nodes, each of which has
 * compared its own: the joined results are read like those of one run, compared
 * again, and reported in the same words.
 */
#include "record/node_mismatch.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/rank_set.h"
#include "judge/judge.h"
#include "judge/result_checks.h"
#include "judge/words.h"
#include "record/load_results.h"
#include "record/results_json.h"

#include "base/banned.h"

enum { MOST_KINDS = 4, MOST_RANGES = 8, FINGERPRINT = 12 };

/* A node that is here. */
struct node_facts {
    uint32_t node;
    uint32_t nodes, world, first, count; /* 0: not known */
    const char *fingerprint;             /* NULL: not known */
    const char *part;
};

struct node_list {
    struct node_facts *items;
    size_t count;
    bool all; /* no node is missing */
};

static void load_node_facts(struct node_list *ret, const json_t *nodes)
{
    size_t count = json_array_size(nodes), i = 0;
    const json_t *node = NULL;
    *ret = (struct node_list){.items = calloc(count + 1, sizeof *ret->items)};
    json_array_foreach(nodes, i, node) {
        const json_t *ranks = json_object_get(node, "ranks");
        const char *part = jr_json_get_str(node, "part");
        if (ret->items == NULL || part == NULL)
            continue;
        ret->items[ret->count++] = (struct node_facts){
            .node = (uint32_t)i,
            .nodes = jr_json_get_u32(node, "nodes"),
            .world = jr_json_get_u32(node, "world_size"),
            .first = jr_json_get_u32(ranks, "first"),
            .count = jr_json_get_u32(ranks, "count"),
            .fingerprint = jr_json_get_str(node, "fingerprint"),
            .part = part,
        };
    }
    ret->all = ret->count == count;
}

static bool same_world(const struct node_facts *a, const struct node_facts *b)
{
    if (a->world == 0 || b->world == 0)
        return true;
    return a->nodes == b->nodes && a->world == b->world;
}

static bool same_experiment(const struct node_facts *a, const struct node_facts *b)
{
    if (a->fingerprint == NULL || b->fingerprint == NULL)
        return true;
    return strcmp(a->fingerprint, b->fingerprint) == 0;
}

static void add_world(struct jr_buf *out, const struct node_facts *facts)
{
    jr_buf_printf(out, "%u rank%s on %u node%s", facts->world, facts->world == 1 ? "" : "s",
                  facts->nodes, facts->nodes == 1 ? "" : "s");
}

static void add_experiment(struct jr_buf *out, const struct node_facts *facts)
{
    const char *text = facts->fingerprint == NULL ? "none" : facts->fingerprint;
    jr_buf_str(out, "fingerprint ");
    jr_buf_escaped(out, text, strnlen(text, FINGERPRINT));
}

/* In what nodes may differ. */
struct trait {
    bool (*same)(const struct node_facts *a, const struct node_facts *b);
    void (*add)(struct jr_buf *out, const struct node_facts *facts);
};

/* Append "nodes 1-2": all that are like `facts`. */
static void add_same_nodes(struct jr_buf *out, const struct node_list *list,
                           const struct node_facts *facts, const struct trait *trait)
{
    size_t count = 0;
    JR_FREE uint32_t *nodes = calloc(list->count, sizeof *nodes);
    for (size_t i = 0; nodes != NULL && i < list->count; i++)
        if (trait->same(facts, &list->items[i]))
            nodes[count++] = list->items[i].node;
    jr_buf_printf(out, "node%s ", count == 1 ? "" : "s");
    jr_set_print(out, nodes, count);
}

/* Append "node 0: A; nodes 1-2: B"; returns the first node that is not like the first one, NULL:
 * all are alike. */
static const struct node_facts *add_kinds(struct jr_buf *out, const struct node_list *list,
                                          const struct trait *trait)
{
    const struct node_facts *kinds[MOST_KINDS + 1];
    size_t count = 0;
    for (size_t i = 0; i < list->count && count <= MOST_KINDS; i++) {
        size_t k = 0;
        while (k < count && !trait->same(kinds[k], &list->items[i]))
            k++;
        if (k == count)
            kinds[count++] = &list->items[i];
    }
    for (size_t k = 0; count > 1 && k < count && k < MOST_KINDS; k++) {
        jr_buf_str(out, k == 0 ? "" : "; ");
        add_same_nodes(out, list, kinds[k], trait);
        jr_buf_str(out, ": ");
        trait->add(out, kinds[k]);
    }
    if (count > MOST_KINDS)
        jr_buf_str(out, "; and more");
    return count > 1 ? kinds[1] : NULL;
}

/* Ranges of ranks as they are found, the first few of them. */
struct ranges {
    struct jr_buf text;
    size_t count;
};

static void add_node_range(struct ranges *to, uint32_t first, uint32_t end)
{
    if (first >= end || to->count++ > MOST_RANGES)
        return;
    const char *before = to->count == 1 ? "" : ",";
    if (to->count > MOST_RANGES)
        jr_buf_str(&to->text, ",...");
    else if (end - first == 1)
        jr_buf_printf(&to->text, "%s%u", before, first);
    else
        jr_buf_printf(&to->text, "%s%u-%u", before, first, end - 1);
}

static int compare_first_ranks(const void *a, const void *b)
{
    const struct node_facts *x = a, *y = b;
    return (x->first > y->first) - (x->first < y->first);
}

/* The ranks that no node has, and those that several have. */
static void find_ranges(const struct node_list *list, struct ranges *none, struct ranges *twice)
{
    size_t count = list->count;
    uint32_t next = 0, world = count == 0 ? 0 : list->items[0].world;
    JR_FREE struct node_facts *sorted = calloc(count + 1, sizeof *sorted);
    if (sorted == NULL || count == 0)
        return;
    memcpy(sorted, list->items, count * sizeof *sorted);
    qsort(sorted, count, sizeof *sorted, compare_first_ranks);
    for (size_t i = 0; i < count; i++) {
        uint32_t end = sorted[i].first + sorted[i].count;
        if (sorted[i].count == 0 || end < sorted[i].first)
            return;
        add_node_range(none, next, sorted[i].first);
        add_node_range(twice, sorted[i].first, end < next ? end : next);
        next = end > next ? end : next;
    }
    add_node_range(none, next, world);
}

static bool describe_worlds(struct jr_buf *out, const struct node_list *list)
{
    static const struct trait trait = {same_world, add_world};
    jr_buf_str(out, "the nodes are not of one run: ");
    return add_kinds(out, list, &trait) != NULL;
}

static bool describe_ranges(struct jr_buf *out, const struct node_list *list)
{
    struct ranges none = {0}, twice = {0};
    find_ranges(list, &none, &twice);
    bool lack = none.count > 0 && list->all;
    jr_buf_str(out, "the nodes are not of one run: ");
    if (twice.count > 0)
        jr_buf_printf(out, "more than one has rank%s %s",
                      strpbrk(twice.text.data, "-,") == NULL ? "" : "s", twice.text.data);
    if (lack)
        jr_buf_printf(out, "%snone has rank%s %s", twice.count > 0 ? "; " : "",
                      strpbrk(none.text.data, "-,") == NULL ? "" : "s", none.text.data);
    bool found = lack || twice.count > 0;
    jr_buf_release(&none.text);
    jr_buf_release(&twice.text);
    return found;
}

/* Returns the first node that ran another experiment than the first one. */
static const struct node_facts *describe_experiments(struct jr_buf *out,
                                                     const struct node_list *list)
{
    static const struct trait trait = {same_experiment, add_experiment};
    jr_buf_str(out, "the nodes ran different experiments: ");
    return add_kinds(out, list, &trait);
}

/* The command that shows in what they differ. */
static void add_diff(struct jr_buf *out, const struct node_list *list,
                     const struct node_facts *other, const struct jr_node_mismatch_view *look)
{
    jr_buf_printf(out, "jobrun diff %s/%s %s/%s", look->run, list->items[0].part, look->run,
                  other->part);
    jr_words_log_dir(out, look->run_dir);
}

static bool describe_other_runs(struct jr_buf *out, const struct node_list *list)
{
    if (describe_worlds(out, list))
        return true;
    jr_buf_clear(out);
    return describe_ranges(out, list);
}

bool jr_node_mismatch_find(struct jr_buf *ret, const json_t *nodes)
{
    struct node_list list;
    load_node_facts(&list, nodes);
    bool found = describe_other_runs(ret, &list);
    if (!found) {
        jr_buf_clear(ret);
        found = describe_experiments(ret, &list) != NULL;
    }
    free(list.items);
    return found && !ret->failed;
}

void jr_node_mismatch_print(struct jr_buf *out, const json_t *nodes,
                            const struct jr_node_mismatch_view *look)
{
    struct node_list list;
    JR_BUF_CLEANUP struct jr_buf reason = JR_BUF_INIT, text = JR_BUF_INIT;
    load_node_facts(&list, nodes);
    const char *verdict = look->verdict == NULL ? "" : look->verdict;
    bool others = describe_other_runs(&reason, &list);
    if (others && strcmp(verdict, reason.data) != 0)
        jr_buf_printf(out, "%s%s\n", look->before, reason.data);
    const struct node_facts *other = describe_experiments(&text, &list);
    if (other != NULL) {
        bool told = strcmp(verdict, text.data) == 0;
        jr_buf_printf(out, "%s%s", look->before, told ? "try:        " : text.data);
        jr_buf_str(out, told ? "" : " (");
        add_diff(out, &list, other, look);
        jr_buf_str(out, told ? " shows in what they differ\n" : ")\n");
    }
    free(list.items);
}

bool jr_compare_nodes_asked(const json_t *results)
{
    return json_is_object(json_object_get(results, "compared"));
}

/* What comparing has made of each rank. */
static void note_ranks(json_t *joined, const struct jr_loaded_run *loaded)
{
    for (size_t i = 0; i < loaded->report.count; i++) {
        const struct jr_rank_judgement *rank = &loaded->report.ranks[i];
        json_t *line = json_array_get(json_object_get(joined, "ranks"), i);
        bool good = rank->state == JR_RANK_SUCCEEDED;
        if (!good && rank->state != JR_RANK_INCOMPLETE)
            continue;
        const char *error = good ? NULL : jr_result_error_word(rank->result_error);
        jr_json_set_str(line, "state", jr_rank_state_word(rank->state));
        jr_json_set_str(line, "error", good ? NULL : rank->reason);
        jr_json_set_str(line, "result_error", error);
        jr_json_set_bool(line, "differs", rank->differs);
    }
}

/* The verdict of a run whose ranks all ended well, of which some did not deliver. */
static void note_verdict(json_t *joined, struct jr_loaded_run *loaded)
{
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
    loaded->report.status = JR_RUN_INCOMPLETE;
    jr_judgement_json_cause(&text, &loaded->report, &loaded->plan, &loaded->outcome);
    jr_json_set_str(joined, "status", jr_run_status_word(JR_RUN_INCOMPLETE));
    jr_json_set_int(joined, "exit_code", JR_STATUS_INCOMPLETE);
    jr_json_set(joined, "root_cause",
                text.failed ? NULL : jr_json_parse(text.data, text.len, NULL));
}

void jr_compare_nodes_compare(json_t *joined)
{
    struct jr_loaded_run loaded;
    if (!jr_compare_nodes_asked(joined) ||
        jr_loaded_run_read(&loaded, json_deep_copy(joined), NULL) != 0)
        return;
    struct jr_judge judge = {.report = &loaded.report,
                             .plan = &loaded.plan,
                             .outcome = &loaded.outcome,
                             .wants = &loaded.policy.results};
    bool open =
        loaded.report.status == JR_RUN_SUCCEEDED || loaded.report.status == JR_RUN_INCOMPLETE;
    jr_compare_again(&judge);
    note_ranks(joined, &loaded);
    size_t odd = jr_judgement_first(&loaded.report, JR_RANK_INCOMPLETE);
    if (open && odd < loaded.report.count)
        note_verdict(joined, &loaded);
    jr_loaded_run_release(&loaded);
}
