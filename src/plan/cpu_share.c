#include "plan/cpu_share.h"

#include <stdlib.h>
#include <string.h>

#include "plan/builder.h"

#include "base/banned.h"

/* Where a rank's result goes. */
struct place {
    const char *path;
    uint32_t rank;
};

/* By path, then by rank. */
static int compare_result_paths(const void *a, const void *b)
{
    const struct place *x = a, *y = b;
    int order = strcmp(x->path, y->path);
    return order != 0 ? order : (x->rank > y->rank) - (x->rank < y->rank);
}

static enum jr_status refuse_shared_result(struct jr_diags *diags,
                                           const struct place *x,
                                           const struct place *y)
{
    struct jr_diag *diag = jr_diags_error(
        diags, JR_CODE_RESULT_FILE_SHARED_IN_PLAN, (struct jr_span){0},
        "results.file", "ranks %u and %u would write the same result file, %s",
        x->rank, y->rank, x->path);
    jr_diag_help(diags, diag,
                 "put %%{rank} into results.file; or, if one rank delivers for "
                 "all, name that rank: required: \"%u\"",
                 x->rank);
    return JR_STATUS_INVALID;
}

/* Ranks `first` to before `end`, whose files are on one machine. */
static enum jr_status check_result_paths(struct jr_build *build,
                                         const struct jr_set *required,
                                         uint32_t first, uint32_t end)
{
    struct jr_arena arena = JR_ARENA_INIT;
    struct place *places = jr_arena_array(&arena, end - first, sizeof *places);
    enum jr_status status = JR_STATUS_OK;
    size_t count = 0;
    for (uint32_t i = first; i < end && !arena.failed; i++) {
        struct jr_arena texts = JR_ARENA_INIT;
        if (!jr_set_has(required, i))
            continue;
        struct jr_plan_rank rank = jr_plan_rank_at(build->plan, i, &texts);
        places[count++] =
            (struct place){jr_arena_strdup(&arena, rank.result_path), i};
        arena.failed |= texts.failed;
        jr_arena_release(&texts);
    }
    if (arena.failed)
        status = JR_STATUS_LAUNCH;
    else if (count > 1)
        qsort(places, count, sizeof *places, compare_result_paths);
    for (size_t i = 1; i < count && status == JR_STATUS_OK; i++)
        if (strcmp(places[i - 1].path, places[i].path) == 0)
            status =
                refuse_shared_result(build->diags, &places[i - 1], &places[i]);
    jr_arena_release(&arena);
    return status;
}

enum jr_status jr_share_check(struct jr_build *build)
{
    const struct jr_job *job = build->job;
    const struct jr_results *results = &job->policy->results;
    struct jr_set required;
    const char *bad;
    if (!results->stated || results->file == NULL ||
        jr_build_results_differ(build) ||
        !jr_set_parse(&required, build->scratch, results->required, &bad))
        return JR_STATUS_OK;
    /* The same path on two nodes is two files, unless all ranks run here. */
    if (build->plan->count == job->world_size)
        return check_result_paths(build, &required, 0, job->world_size);
    enum jr_status status = JR_STATUS_OK;
    uint32_t first = 0;
    for (uint32_t i = 0; i < job->nodes && status == JR_STATUS_OK; i++) {
        status = check_result_paths(build, &required, first,
                                    first + job->local_world_sizes[i]);
        first += job->local_world_sizes[i];
    }
    return status;
}
