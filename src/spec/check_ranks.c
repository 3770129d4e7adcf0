#include "spec/check.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/cleanup.h"

#include "base/banned.h"

/* More ranks than this are taken for a mistake; and at most this many are
 * reported. */
enum { MOST_RANKS = 1 << 20, MOST_TOLD = 8 };

/* Rank sets name ranks of the world. */
static void check_ranks_beyond(const struct jr_check *check,
                               const struct jr_known *world,
                               const struct jr_node *node, const char *path)
{
    struct jr_set set;
    const char *bad;
    uint32_t last;
    if (world->node == NULL || node == NULL ||
        !jr_set_parse(&set, check->lint->arena, node->text, &bad) ||
        !jr_set_max(&set, &last) || last < world->value)
        return;
    const char *last_said = jr_lint_said(check->lint, node);
    if (node->filled == NULL)
        last_said = jr_arena_printf(check->lint->arena, "%u", last);
    struct jr_diag *diag =
        jr_check_clash(check, JR_CODE_RANK_BEYOND_WORLD, node, world->node,
                       "'%s' names rank %s, but the job has %s", path,
                       last_said, jr_check_amount(check, world, "rank"));
    if (world->told)
        jr_diag_help(check->lint->diags, diag,
                     "ranks count from 0: the last is %" PRIu64,
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
static const struct jr_node *find_owner(const struct entries *entries, size_t i,
                                        uint32_t rank)
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
        (void)jr_check_clash(
            entries->check, JR_CODE_RANK_BEYOND_WORLD, key, NULL,
            "'per_rank' names rank %u, but no job can have that many ranks",
            rank);
    else
        (void)jr_check_clash(entries->check, JR_CODE_RANK_ENTRY_TWICE, key,
                             find_owner(entries, i, rank),
                             "'per_rank' has two entries for rank %u", rank);
}

/* Mark the ranks of an entry; complain about the first that has one. */
static void claim_entry_ranks(struct entries *entries, size_t i,
                              const struct jr_range *range)
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
static void check_entries(const struct jr_check *check,
                          const struct jr_node *node)
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
            (void)jr_check_clash(
                check, JR_CODE_RANK_ENTRY_TWICE, key,
                node->pairs[i == 0 ? 1 : 0].key,
                "'per_rank' has an entry for all ranks, and further entries");
    }
}

void jr_check_ranks(const struct jr_check *check)
{
    static const char *const paths[] = {"results.required", "console.ranks"};
    const struct jr_node *entries = jr_doc_get(check->tree, "per_rank");
    const struct jr_sizes sizes = jr_check_known(check);
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
        check_ranks_beyond(check, &sizes.world,
                           jr_doc_find(check->tree, paths[i]), paths[i]);
    for (size_t i = 0; entries != NULL && i < entries->count; i++)
        check_ranks_beyond(check, &sizes.world, entries->pairs[i].key,
                           "per_rank");
    if (entries != NULL)
        check_entries(check, entries);
}
