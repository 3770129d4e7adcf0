#include "spec/check_ranks.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/num.h"
#include "spec/internal.h"

#include "base/banned.h"

/* More ranks than this are taken for a mistake; and at most this many are reported. */
enum { MOST_RANKS = 1 << 20, MOST_TOLD = 8 };

/* Rank sets name ranks of the world. */
static void check_ranks_beyond(const struct jr_check *check, const struct jr_known *world,
                               const struct jr_node *node, const char *path)
{
    struct jr_set set;
    const char *bad;
    uint32_t last;
    if (world->node == NULL || node == NULL ||
        !jr_set_parse(&set, check->lint->arena, node->text, &bad) || !jr_set_max(&set, &last) ||
        last < world->value)
        return;
    const char *last_said = jr_lint_said(check->lint, node);
    if (node->filled == NULL)
        last_said = jr_arena_printf(check->lint->arena, "%u", last);
    struct jr_diag *diag = jr_check_clash(check, JR_CODE_RANK_BEYOND_WORLD, node, world->node,
                                          "'%s' names rank %s, but the job has %s", path, last_said,
                                          jr_check_amount(check, world, "rank"));
    if (world->told)
        jr_diag_help(check->lint->diags, diag, "ranks count from 0: the last is %" PRIu64,
                     world->value - 1);
}

/* Entries of `per_rank` on their way to be held against each other. */
struct entries {
    const struct jr_check *check;
    const struct jr_node *node;
    unsigned char *seen; /* a bit per rank that has an entry */
    unsigned told;
};

/* The entry before number `i` that has the rank. */
static const struct jr_node *find_owner(const struct entries *entries, size_t i, uint32_t rank)
{
    struct jr_set set;
    const char *bad;
    for (size_t j = 0; j < i; j++) {
        const struct jr_node *key = entries->node->pairs[j].key;
        if (jr_set_parse(&set, entries->check->lint->arena, key->text, &bad) &&
            jr_set_has(&set, rank))
            return key;
    }
    return NULL;
}

static void refuse_rank(struct entries *entries, size_t i, uint32_t rank)
{
    const struct jr_node *key = entries->node->pairs[i].key;
    if (++entries->told > MOST_TOLD)
        return;
    if (rank >= MOST_RANKS)
        (void)jr_check_clash(entries->check, JR_CODE_RANK_BEYOND_WORLD, key, NULL,
                             "'per_rank' names rank %u, but no job can have that many ranks", rank);
    else
        (void)jr_check_clash(entries->check, JR_CODE_RANK_ENTRY_TWICE, key,
                             find_owner(entries, i, rank), "'per_rank' has two entries for rank %u",
                             rank);
}

/* Mark the ranks of an entry; complain about the first that has one. */
static void claim_entry_ranks(struct entries *entries, size_t i, const struct jr_range *range)
{
    uint32_t rank = range->first;
    if (range->last >= MOST_RANKS) {
        refuse_rank(entries, i, range->last);
        return;
    }
    for (; rank <= range->last; rank += range->step) {
        unsigned char bit = (unsigned char)(1u << rank % 8);
        if ((entries->seen[rank / 8] & bit) != 0) {
            refuse_rank(entries, i, rank);
            return;
        }
        entries->seen[rank / 8] |= bit;
    }
}

/* No rank has two entries. */
static void check_entries(const struct jr_check *check, const struct jr_node *node)
{
    JR_FREE unsigned char *seen = calloc(MOST_RANKS / 8, 1);
    struct entries entries = {check, node, seen, 0};
    struct jr_set set;
    const char *bad;
    if (seen == NULL) {
        check->lint->arena->failed = true;
        return;
    }
    for (size_t i = 0; i < node->count; i++) {
        const struct jr_node *key = node->pairs[i].key;
        if (!jr_set_parse(&set, check->lint->arena, key->text, &bad))
            continue;
        for (size_t j = 0; j < set.count; j++)
            claim_entry_ranks(&entries, i, &set.ranges[j]);
        if (set.all && node->count > 1)
            (void)jr_check_clash(check, JR_CODE_RANK_ENTRY_TWICE, key,
                                 node->pairs[i == 0 ? 1 : 0].key,
                                 "'per_rank' has an entry for all ranks, and further entries");
    }
}

void jr_check_ranks(const struct jr_check *check)
{
    static const char *const paths[] = {"results.required", "console.ranks", "progress.ranks"};
    const struct jr_node *entries = jr_doc_get(check->tree, "per_rank");
    const struct jr_sizes sizes = jr_check_known(check);
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
        check_ranks_beyond(check, &sizes.world, jr_doc_find(check->tree, paths[i]), paths[i]);
    for (size_t i = 0; entries != NULL && i < entries->count; i++)
        check_ranks_beyond(check, &sizes.world, entries->pairs[i].key, "per_rank");
    if (entries != NULL)
        check_entries(check, entries);
}

/* Which of the nodes, of the ranks, and of a node's ranks a spec names: the spec alone may decide
 * that there is none of that number. */

/* node_rank and rank_start count from 0 to below the number of `what`. */
static bool check_index_below(const struct jr_check *check, const char *path,
                              const struct jr_known *most, const char *what)
{
    struct jr_stated index = jr_check_number(check, path);
    if (index.node == NULL || most->node == NULL || index.value < most->value)
        return true;
    struct jr_diag *diag = jr_check_clash(
        check, JR_CODE_INDEX_BEYOND_LAST, index.node, most->node, "%s %s is beyond the last of %s",
        path, jr_lint_said(check->lint, index.node), jr_check_amount(check, most, what));
    if (most->told)
        jr_diag_help(check->lint->diags, diag, "%ss count from 0: the last is %" PRIu64, what,
                     most->value - 1);
    else
        jr_diag_help(check->lint->diags, diag, "%ss count from 0", what);
    return false;
}

/* The ranks on the first `nodes` nodes. */
static uint64_t ranks_before(const struct jr_sizes *sizes, uint64_t nodes)
{
    uint64_t sum = 0, value = 0;
    if (sizes->list == NULL)
        return nodes * sizes->local.value;
    for (uint64_t i = 0; i < nodes && i < sizes->list->count; i++)
        if (jr_num_u64(sizes->list->items[i]->text, &value))
            sum += value;
    return sum;
}

/* Whether a node begins at a rank, as far as that can be known. */
static bool is_node_begin(const struct jr_sizes *sizes, uint64_t rank)
{
    uint64_t at = 0, value = 0;
    if (sizes->list == NULL)
        return rank % sizes->local.value == 0;
    for (size_t i = 0; i < sizes->list->count && at < rank; i++)
        if (jr_num_u64(sizes->list->items[i]->text, &value))
            at += value;
    return at == rank;
}

/* rank_start where this node is known. */
static void check_start(const struct jr_check *check, const struct jr_sizes *sizes,
                        const struct jr_stated *start, const struct jr_stated *node)
{
    const struct jr_node *local = sizes->local.node;
    if (node->value > 0 && local == NULL)
        return;
    uint64_t before = node->value == 0 ? 0 : ranks_before(sizes, node->value);
    if (start->value == before)
        return;
    bool told = start->node->filled == NULL && node->node->filled == NULL &&
                (node->value == 0 || sizes->local.told);
    bool stated = node->node == jr_doc_get(check->tree, "node_rank");
    struct jr_diag *diag =
        jr_check_clash(check, JR_CODE_RANK_START_MISPLACED, start->node, node->node,
                       "rank_start %s contradicts %s %s", jr_lint_said(check->lint, start->node),
                       stated ? "node_rank" : "a job of one node, whose node_rank is",
                       stated ? jr_lint_said(check->lint, node->node) : "0");
    if (node->value > 0)
        jr_diag_relate(check->lint->diags, diag, local->span,
                       "the ranks of each node are stated here");
    if (told)
        jr_diag_help(check->lint->diags, diag,
                     "leave rank_start out, or state the number of ranks "
                     "before this node: %" PRIu64,
                     before);
    else
        jr_diag_help(check->lint->diags, diag, "leave rank_start out");
}

/* rank_start where nothing else says which node this is: one begins there. */
static void check_begin(const struct jr_check *check, const struct jr_sizes *sizes,
                        const struct jr_stated *start)
{
    if (sizes->local.node == NULL || is_node_begin(sizes, start->value))
        return;
    struct jr_diag *diag =
        jr_check_clash(check, JR_CODE_RANK_START_MISPLACED, start->node, sizes->local.node,
                       "no node begins at rank_start %s", jr_lint_said(check->lint, start->node));
    if (sizes->list == NULL && sizes->local.told)
        jr_diag_help(check->lint->diags, diag,
                     "each node has %" PRIu64
                     " ranks, so rank_start must be a multiple of that; or "
                     "leave it out and state node_rank",
                     sizes->local.value);
    else
        jr_diag_help(check->lint->diags, diag,
                     "rank_start is the number of ranks on earlier nodes; or "
                     "leave it out and state node_rank");
}

static void check_rank_start(const struct jr_check *check, const struct jr_sizes *sizes)
{
    struct jr_stated start = jr_check_number(check, "rank_start");
    struct jr_stated node = jr_check_number(check, "node_rank");
    if (start.node == NULL)
        return;
    if (node.node == NULL && sizes->nodes.node != NULL && sizes->nodes.value == 1)
        node = (struct jr_stated){sizes->nodes.node, 0};
    if (node.node != NULL)
        check_start(check, sizes, &start, &node);
    else
        check_begin(check, sizes, &start);
}

/* A rule of `redirects` or `tee` is for local ranks that a node has; and no node has more ranks
 * than the job. */
static void check_local_ranks(const struct jr_check *check, const char *path,
                              const struct jr_node *ranks, const struct jr_sizes *sizes)
{
    const struct jr_known *most = jr_check_most(sizes);
    struct jr_arena *arena = check->lint->arena;
    const struct jr_node *raw = jr_check_raw(check, path);
    struct jr_set set;
    const char *bad, *named = "more";
    uint32_t last;
    if (!jr_set_parse(&set, arena, ranks->text, &bad) || !jr_set_max(&set, &last) ||
        last < most->value)
        return;
    if (raw == NULL || raw->filled == NULL)
        named = jr_arena_printf(arena, "local rank %u", last);
    else /* the path of a rule would tell what was put in */
        ranks = jr_doc_get(check->tree, path);
    struct jr_diag *diag =
        jr_check_clash(check, JR_CODE_STREAM_RULE_BEYOND_NODES, ranks, most->node,
                       "%s names %s, but %s", path, named, jr_check_say_most(check, sizes));
    if (most->told)
        jr_diag_help(check->lint->diags, diag, "local ranks count from 0: the last is %" PRIu64,
                     most->value - 1);
}

static void check_redirect_ranks(const struct jr_check *check, const struct jr_sizes *sizes)
{
    static const char *const paths[] = {"redirects", "tee"};
    for (size_t i = 0; i < 2 && jr_check_most(sizes)->node != NULL; i++) {
        const struct jr_node *rules = jr_doc_get(check->tree, paths[i]);
        bool each = rules != NULL && rules->kind == JR_NODE_MAPPING;
        for (size_t j = 0; each && j < rules->count; j++)
            check_local_ranks(check, paths[i], rules->pairs[j].key, sizes);
    }
}

/* By their names, and among equal ones by their place in the list. */
struct listed_host {
    const struct jr_node *node;
    size_t index;
};

static int compare_hosts(const void *a, const void *b)
{
    const struct listed_host *left = a, *right = b;
    int order = strcasecmp(left->node->text, right->node->text);
    if (order == 0)
        order = left->index > right->index ? 1 : -1;
    return order;
}

/* Two nodes are two machines. */
static void check_hosts(const struct jr_check *check)
{
    const struct jr_node *list = jr_doc_get(check->tree, "hosts");
    size_t count = list == NULL ? 0 : list->count;
    JR_FREE struct listed_host *hosts = calloc(count + 1, sizeof *hosts);
    if (hosts == NULL) {
        check->lint->arena->failed = true;
        return;
    }
    for (size_t i = 0; i < count; i++)
        hosts[i] = (struct listed_host){list->items[i], i};
    qsort(hosts, count, sizeof *hosts, compare_hosts);
    for (size_t i = 1; i < count; i++) {
        const struct jr_node *node = hosts[i].node;
        if (strcasecmp(hosts[i - 1].node->text, node->text) != 0)
            continue;
        struct jr_diag *diag =
            jr_check_clash(check, JR_CODE_HOST_TWICE, node, hosts[i - 1].node,
                           "'hosts' lists '%s' twice", jr_lint_said(check->lint, node));
        jr_diag_help(check->lint->diags, diag,
                     "each node is a machine of its own; --local starts all nodes on this one");
    }
}

void jr_check_places(const struct jr_check *check)
{
    check_hosts(check);
    const struct jr_sizes sizes = jr_check_known(check);
    bool node = check_index_below(check, "node_rank", &sizes.nodes, "node");
    if (check_index_below(check, "rank_start", &sizes.world, "rank") && node)
        check_rank_start(check, &sizes);
    check_redirect_ranks(check, &sizes);
}
