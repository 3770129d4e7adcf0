/*
 * Artifacts: files that a job promises beside its results. A promise is kept
 * by a regular file that is not empty and is not the one that stood there
 * before the start: another device, inode, size or time. They are demanded of
 * the ranks that must deliver; where `required` is none, of every rank.
 *
 * A result file outside the run folder can be yesterday's too, and is
 * remembered in the same way.
 */
#include "judge.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cleanup.h"
#include "io.h"

#include "banned.h"

/* What stood at the paths before the start, rank by rank: the result file
 * first, then the artifacts. A zero st_mode: nothing. */
struct jr_artifacts {
    struct jr_arena arena;
    struct stat **ranks;
};

static bool same_time(const struct timespec *a, const struct timespec *b)
{
    return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

static bool is_same(const struct stat *a, const struct stat *b)
{
    return a->st_mode != 0 && b->st_mode != 0 && a->st_dev == b->st_dev &&
           a->st_ino == b->st_ino && a->st_size == b->st_size &&
           same_time(&a->st_mtim, &b->st_mtim) &&
           same_time(&a->st_ctim, &b->st_ctim);
}

/* stat(2) of a rank's path. Returns 0, or -1 with errno and zeroes. */
static int stat_path(struct stat *ret, const char *workdir, const char *path)
{
    JR_FREE char *absolute = jr_io_absolute(workdir, path);
    if (absolute != NULL && stat(absolute, ret) == 0)
        return 0;
    *ret = (struct stat){0};
    return -1;
}

static struct stat *stat_rank(struct jr_arena *arena,
                              const struct jr_plan_rank *rank)
{
    struct stat *stats =
        jr_arena_array(arena, rank->artifacts_count + 1, sizeof *stats);
    if (stats == NULL)
        return NULL;
    if (rank->result_path != NULL && rank->result_path[0] == '/')
        (void)stat_path(&stats[0], rank->workdir, rank->result_path);
    for (uint32_t n = 0; n < rank->artifacts_count; n++)
        (void)stat_path(&stats[n + 1], rank->workdir, rank->artifacts[n]);
    return stats;
}

int jr_artifacts_before(struct jr_artifacts **ret, const struct jr_plan *plan,
                        struct jr_error *err)
{
    struct jr_artifacts *before = calloc(1, sizeof *before);
    if (before != NULL)
        before->ranks =
            jr_arena_array(&before->arena, plan->count, sizeof(struct stat *));
    for (size_t i = 0;
         before != NULL && !before->arena.failed && i < plan->count; i++)
        before->ranks[i] = stat_rank(&before->arena, jr_plan_of(plan, i));
    if (before == NULL || before->arena.failed) {
        jr_artifacts_free(before);
        return jr_error_set(err, JR_STATUS_LAUNCH, "out of memory");
    }
    *ret = before;
    return 0;
}

void jr_artifacts_free(struct jr_artifacts *before)
{
    if (before != NULL)
        jr_arena_release(&before->arena);
    free(before);
}

static void check_artifact(struct jr_judge *judge, size_t i, uint32_t n)
{
    const struct jr_plan_rank *rank = jr_plan_of(judge->plan, i);
    const char *path = rank->artifacts[n];
    struct stat st;
    if (stat_path(&st, rank->workdir, path) != 0) {
        jr_judge_fault(judge, i, JR_RESULT_MISSING,
                       errno == ENOENT ? "artifact %s was not written"
                                       : "artifact %s could not be read",
                       path);
        return;
    }
    if (!S_ISREG(st.st_mode))
        jr_judge_fault(judge, i, JR_RESULT_MISSING,
                       "artifact %s is not a regular file", path);
    else if (st.st_size == 0)
        jr_judge_fault(judge, i, JR_RESULT_EMPTY, "artifact %s is empty", path);
    else if (judge->before != NULL &&
             is_same(&st, &judge->before->ranks[i][n + 1]))
        jr_judge_fault(judge, i, JR_RESULT_STALE,
                       "artifact %s is the one from before the start", path);
}

void jr_artifact_check(struct jr_judge *judge, size_t i)
{
    bool nobody = !judge->required.all && judge->required.count == 0;
    if (!nobody && !jr_judge_required(judge, i))
        return;
    for (uint32_t n = 0; n < jr_plan_of(judge->plan, i)->artifacts_count; n++)
        check_artifact(judge, i, n);
}

bool jr_artifact_stale_result(const struct jr_judge *judge, size_t i)
{
    const struct jr_plan_rank *rank = jr_plan_of(judge->plan, i);
    if (judge->before == NULL || rank->result_path[0] != '/')
        return false;
    struct stat now;
    (void)stat_path(&now, rank->workdir, rank->result_path);
    return is_same(&now, &judge->before->ranks[i][0]);
}
