#include "share.h"

#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "set.h"

#include "banned.h"

/* By path, then by rank, and so by node. */
static int by_file(const void *a, const void *b)
{
    const struct jr_plan_rank *x = *(const struct jr_plan_rank *const *)a;
    const struct jr_plan_rank *y = *(const struct jr_plan_rank *const *)b;
    int order = strcmp(x->result_path, y->result_path);
    return order != 0 ? order : (x->rank > y->rank) - (x->rank < y->rank);
}

/* The same path on two nodes is two files, unless all ranks run here. */
static bool share(const struct jr_plan *plan, const struct jr_plan_rank *x,
                  const struct jr_plan_rank *y)
{
    bool near = x->node_rank == y->node_rank || plan->count == plan->world_size;
    return near && strcmp(x->result_path, y->result_path) == 0;
}

static enum jr_status refuse(struct jr_diags *diags,
                             const struct jr_plan_rank *x,
                             const struct jr_plan_rank *y)
{
    struct jr_diag *diag =
        jr_diags_error(diags, 507, (struct jr_span){0}, "results.file",
                       "ranks %u and %u would write the same result file, %s",
                       x->rank, y->rank, x->result_path);
    jr_diag_help(diags, diag,
                 "put %%{rank} into results.file; or, where one rank delivers "
                 "for all, say so: required: \"%u\"",
                 x->rank);
    return JR_STATUS_INVALID;
}

enum jr_status jr_share_check(const struct jr_plan *plan,
                              struct jr_arena *scratch, struct jr_diags *diags)
{
    const struct jr_results *results = &plan->policy->results;
    struct jr_set required;
    const char *bad;
    if (!results->stated || results->file == NULL ||
        !jr_set_parse(&required, scratch, results->required, &bad))
        return JR_STATUS_OK;
    const struct jr_plan_rank **ranks =
        jr_arena_array(scratch, plan->world_size, sizeof *ranks);
    size_t count = 0;
    for (uint32_t i = 0; ranks != NULL && i < plan->world_size; i++)
        if (jr_set_has(&required, plan->ranks[i].rank))
            ranks[count++] = &plan->ranks[i];
    if (count > 1)
        qsort(ranks, count, sizeof *ranks, by_file);
    for (size_t i = 1; i < count; i++)
        if (share(plan, ranks[i - 1], ranks[i]))
            return refuse(diags, ranks[i - 1], ranks[i]);
    return JR_STATUS_OK;
}
