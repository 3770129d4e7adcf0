/*
 * What the nodes of a run in parts do not have in common. They know nothing of
 * each other, and somebody may have changed the spec, or given `-s` on one of
 * them only: then they ran different experiments, or not even one world.
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
#include "judge/compare_ranks.h"
#include "judge/judge.h"
#include "judge/words.h"
#include "record/load_results.h"
#include "record/results_json.h"

#include "base/banned.h"

enum { MOST_KINDS = 4, MOST_RANGES = 8, FINGERPRINT = 12 };

/* A node that is here. */
struct kin {
    uint32_t node;
    uint32_t nodes, world, first, count; /* 0: not known */
    const char *fingerprint;             /* NULL: not known */
    const char *part;
};

struct kinship {
    struct kin *items;
    size_t count;
    bool all; /* no node is missing */
};

static void load_node_facts(struct kinship *ret, const json_t *nodes)
{
    size_t count = json_array_size(nodes), i = 0;
    const json_t *node = NULL;
    *ret = (struct kinship){.items = calloc(count + 1, sizeof *ret->items)};
    json_array_foreach(nodes, i, node) {
        const json_t *ranks = json_object_get(node, "ranks");
        const char *part = jr_json_get_str(node, "part");
        if (ret->items == NULL || part == NULL)
            continue;
        ret->items[ret->count++] = (struct kin){
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

static bool same_world(const struct kin *a, const struct kin *b)
{
    if (a->world == 0 || b->world == 0)
        return true;
    return a->nodes == b->nodes && a->world == b->world;
}

static bool same_experiment(const struct kin *a, const struct kin *b)
{
    if (a->fingerprint == NULL || b->fingerprint == NULL)
        return true;
    return strcmp(a->fingerprint, b->fingerprint) == 0;
}

static void add_world(struct jr_buf *out, const struct kin *kin)
{
    jr_buf_printf(out, "%u rank%s on %u node%s", kin->world,
                  kin->world == 1 ? "" : "s", kin->nodes,
                  kin->nodes == 1 ? "" : "s");
}

static void add_experiment(struct jr_buf *out, const struct kin *kin)
{
    const char *text = kin->fingerprint == NULL ? "none" : kin->fingerprint;
    jr_buf_str(out, "fingerprint ");
    jr_buf_escaped(out, text, strnlen(text, FINGERPRINT));
}

/* In what nodes may differ. */
struct trait {
    bool (*same)(const struct kin *a, const struct kin *b);
    void (*add)(struct jr_buf *out, const struct kin *kin);
};

/* Append "nodes 1-2": all that are like `kin`. */
static void add_same_nodes(struct jr_buf *out, const struct kinship *kinship,
                           const struct kin *kin, const struct trait *trait)
{
    size_t count = 0;
    JR_FREE uint32_t *nodes = calloc(kinship->count, sizeof *nodes);
    for (size_t i = 0; nodes != NULL && i < kinship->count; i++)
        if (trait->same(kin, &kinship->items[i]))
            nodes[count++] = kinship->items[i].node;
    jr_buf_printf(out, "node%s ", count == 1 ? "" : "s");
    jr_set_print(out, nodes, count);
}

/* Append "node 0: A; nodes 1-2: B"; returns the first node that is not
 * like the first one, NULL: all are alike. */
static const struct kin *add_kinds(struct jr_buf *out,
                                   const struct kinship *kinship,
                                   const struct trait *trait)
{
    const struct kin *kinds[MOST_KINDS + 1];
    size_t count = 0;
    for (size_t i = 0; i < kinship->count && count <= MOST_KINDS; i++) {
        size_t k = 0;
        while (k < count && !trait->same(kinds[k], &kinship->items[i]))
            k++;
        if (k == count)
            kinds[count++] = &kinship->items[i];
    }
    for (size_t k = 0; count > 1 && k < count && k < MOST_KINDS; k++) {
        jr_buf_str(out, k == 0 ? "" : "; ");
        add_same_nodes(out, kinship, kinds[k], trait);
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
    const struct kin *x = a, *y = b;
    return (x->first > y->first) - (x->first < y->first);
}

/* The ranks that no node has, and those that several have. */
static void find_ranges(const struct kinship *kinship, struct ranges *none,
                        struct ranges *twice)
{
    size_t count = kinship->count;
    uint32_t next = 0, world = count == 0 ? 0 : kinship->items[0].world;
    JR_FREE struct kin *sorted = calloc(count + 1, sizeof *sorted);
    if (sorted == NULL || count == 0)
        return;
    memcpy(sorted, kinship->items, count * sizeof *sorted);
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

static bool describe_worlds(struct jr_buf *out, const struct kinship *kinship)
{
    static const struct trait trait = {same_world, add_world};
    jr_buf_str(out, "the nodes are not of one run: ");
    return add_kinds(out, kinship, &trait) != NULL;
}

static bool describe_ranges(struct jr_buf *out, const struct kinship *kinship)
{
    struct ranges none = {0}, twice = {0};
    find_ranges(kinship, &none, &twice);
    bool lack = none.count > 0 && kinship->all;
    jr_buf_str(out, "the nodes are not of one run: ");
    if (twice.count > 0)
        jr_buf_printf(out, "more than one has rank%s %s",
                      strpbrk(twice.text.data, "-,") == NULL ? "" : "s",
                      twice.text.data);
    if (lack)
        jr_buf_printf(out, "%snone has rank%s %s", twice.count > 0 ? "; " : "",
                      strpbrk(none.text.data, "-,") == NULL ? "" : "s",
                      none.text.data);
    bool told = lack || twice.count > 0;
    jr_buf_release(&none.text);
    jr_buf_release(&twice.text);
    return told;
}

static bool describe_experiments(struct jr_buf *out,
                                 const struct kinship *kinship,
                                 const struct jr_multinode_look *look)
{
    static const struct trait trait = {same_experiment, add_experiment};
    jr_buf_str(out, "the nodes ran different experiments: ");
    const struct kin *other = add_kinds(out, kinship, &trait);
    if (other == NULL)
        return false;
    jr_buf_printf(out, " (jobrun diff %s/%s %s/%s", look->run,
                  kinship->items[0].part, look->run, other->part);
    jr_words_log_dir(out, look->run_dir);
    jr_buf_char(out, ')');
    return true;
}

bool jr_multinode_torn(struct jr_buf *ret, const json_t *nodes)
{
    struct kinship kinship;
    load_node_facts(&kinship, nodes);
    bool torn = describe_worlds(ret, &kinship);
    if (!torn) {
        jr_buf_clear(ret);
        torn = describe_ranges(ret, &kinship);
    }
    free(kinship.items);
    return torn && !ret->failed;
}

void jr_multinode_unlike(struct jr_buf *out, const json_t *nodes,
                         const struct jr_multinode_look *look)
{
    struct kinship kinship;
    JR_BUF_CLEANUP struct jr_buf torn = JR_BUF_INIT, text = JR_BUF_INIT;
    load_node_facts(&kinship, nodes);
    if (jr_multinode_torn(&torn, nodes) && !look->told)
        jr_buf_printf(out, "%s%s\n", look->before, torn.data);
    if (describe_experiments(&text, &kinship, look))
        jr_buf_printf(out, "%s%s\n", look->before, text.data);
    free(kinship.items);
}

bool jr_compare_nodes_asked(const json_t *results)
{
    return json_is_object(json_object_get(results, "compared"));
}

/* What comparing has made of each rank. */
static void note_ranks(json_t *joined, const struct jr_loaded_run *past)
{
    for (size_t i = 0; i < past->report.count; i++) {
        const struct jr_rank_judgement *rank = &past->report.ranks[i];
        json_t *line = json_array_get(json_object_get(joined, "ranks"), i);
        bool good = rank->state == JR_RANK_SUCCEEDED;
        if (!good && rank->state != JR_RANK_INCOMPLETE)
            continue;
        const char *error =
            good ? NULL : jr_result_error_word(rank->result_error);
        jr_json_set_str(line, "state", jr_rank_state_word(rank->state));
        jr_json_set_str(line, "error", good ? NULL : rank->reason);
        jr_json_set_str(line, "result_error", error);
        jr_json_set_bool(line, "differs", rank->differs);
    }
}

/* The verdict of a run whose ranks all ended well, of which some did not
 * deliver. */
static void note_verdict(json_t *joined, struct jr_loaded_run *past)
{
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
    past->report.status = JR_RUN_INCOMPLETE;
    jr_judgement_json_cause(&text, &past->report, &past->plan, &past->outcome);
    jr_json_set_str(joined, "status", jr_run_status_word(JR_RUN_INCOMPLETE));
    jr_json_set_int(joined, "exit_code", JR_STATUS_INCOMPLETE);
    jr_json_set(joined, "root_cause",
                text.failed ? NULL : jr_json_parse(text.data, text.len, NULL));
}

void jr_compare_nodes_compare(json_t *joined)
{
    struct jr_loaded_run past;
    if (!jr_compare_nodes_asked(joined) ||
        jr_loaded_run_read(&past, json_deep_copy(joined), NULL) != 0)
        return;
    struct jr_judge judge = {.report = &past.report,
                             .plan = &past.plan,
                             .outcome = &past.outcome,
                             .wants = &past.policy.results};
    bool open = past.report.status == JR_RUN_SUCCEEDED ||
                past.report.status == JR_RUN_INCOMPLETE;
    jr_compare_again(&judge);
    note_ranks(joined, &past);
    size_t odd = jr_judgement_first(&past.report, JR_RANK_INCOMPLETE);
    if (open && odd < past.report.count)
        note_verdict(joined, &past);
    jr_loaded_run_release(&past);
}
