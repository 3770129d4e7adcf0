/* Which of the nodes, of the ranks, and of a node's ranks a spec names: the
 * spec alone may decide that there is none of that number. */
#include "spec/check.h"

#include <inttypes.h>

#include "base/num.h"

#include "base/banned.h"

/* node_rank and rank_start count from 0 to below the number of `what`. */
static bool check_index_below(const struct jr_check *check, const char *path,
                              const struct jr_known *most, const char *what)
{
    struct jr_stated index = jr_check_number(check, path);
    if (index.node == NULL || most->node == NULL || index.value < most->value)
        return true;
    struct jr_diag *diag =
        jr_check_clash(check, JR_CODE_INDEX_BEYOND_LAST, index.node, most->node,
                       "%s %s is beyond the last of %s", path,
                       jr_lint_said(check->lint, index.node),
                       jr_check_amount(check, most, what));
    if (most->told)
        jr_diag_help(check->lint->diags, diag,
                     "%ss count from 0: the last is %" PRIu64, what,
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
static void check_start(const struct jr_check *check,
                        const struct jr_sizes *sizes,
                        const struct jr_stated *start,
                        const struct jr_stated *node)
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
    struct jr_diag *diag = jr_check_clash(
        check, JR_CODE_RANK_START_MISPLACED, start->node, node->node,
        "rank_start %s contradicts %s %s",
        jr_lint_said(check->lint, start->node),
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
static void check_begin(const struct jr_check *check,
                        const struct jr_sizes *sizes,
                        const struct jr_stated *start)
{
    if (sizes->local.node == NULL || is_node_begin(sizes, start->value))
        return;
    struct jr_diag *diag =
        jr_check_clash(check, JR_CODE_RANK_START_MISPLACED, start->node,
                       sizes->local.node, "no node begins at rank_start %s",
                       jr_lint_said(check->lint, start->node));
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

static void check_rank_start(const struct jr_check *check,
                             const struct jr_sizes *sizes)
{
    struct jr_stated start = jr_check_number(check, "rank_start");
    struct jr_stated node = jr_check_number(check, "node_rank");
    if (start.node == NULL)
        return;
    if (node.node == NULL && sizes->nodes.node != NULL &&
        sizes->nodes.value == 1)
        node = (struct jr_stated){sizes->nodes.node, 0};
    if (node.node != NULL)
        check_start(check, sizes, &start, &node);
    else
        check_begin(check, sizes, &start);
}

/* A rule of `redirects` or `tee` is for local ranks that a node has; and no
 * node has more ranks than the job. */
static void check_local_ranks(const struct jr_check *check, const char *path,
                              const struct jr_node *ranks,
                              const struct jr_sizes *sizes)
{
    const struct jr_known *most = jr_check_most(sizes);
    struct jr_arena *arena = check->lint->arena;
    const struct jr_node *raw = jr_check_raw(check, path);
    struct jr_set set;
    const char *bad, *named = "more";
    uint32_t last;
    if (!jr_set_parse(&set, arena, ranks->text, &bad) ||
        !jr_set_max(&set, &last) || last < most->value)
        return;
    if (raw == NULL || raw->filled == NULL)
        named = jr_arena_printf(arena, "local rank %u", last);
    else /* the path of a rule would tell what was put in */
        ranks = jr_doc_get(check->tree, path);
    struct jr_diag *diag = jr_check_clash(
        check, JR_CODE_STREAM_RULE_BEYOND_NODES, ranks, most->node,
        "%s names %s, but %s", path, named, jr_check_say_most(check, sizes));
    if (most->told)
        jr_diag_help(check->lint->diags, diag,
                     "local ranks count from 0: the last is %" PRIu64,
                     most->value - 1);
}

static void check_redirect_ranks(const struct jr_check *check,
                                 const struct jr_sizes *sizes)
{
    static const char *const paths[] = {"redirects", "tee"};
    for (size_t i = 0; i < 2 && jr_check_most(sizes)->node != NULL; i++) {
        const struct jr_node *rules = jr_doc_get(check->tree, paths[i]);
        bool each = rules != NULL && rules->kind == JR_NODE_MAPPING;
        for (size_t j = 0; each && j < rules->count; j++)
            check_local_ranks(check, paths[i], rules->pairs[j].key, sizes);
    }
}

void jr_check_places(const struct jr_check *check)
{
    const struct jr_sizes sizes = jr_check_known(check);
    bool node = check_index_below(check, "node_rank", &sizes.nodes, "node");
    if (check_index_below(check, "rank_start", &sizes.world, "rank") && node)
        check_rank_start(check, &sizes);
    check_redirect_ranks(check, &sizes);
}
