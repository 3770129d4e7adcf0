/*
 * Artifacts: files that a job promises beside its results. A promise is kept by a regular file,
 * reached without a link in its last part, that is not empty and is not the one that stood there
 * before the start: another device, inode, size or time of its last change (not of its status:
 * chmod makes nothing new). They are demanded of the ranks that must deliver; where `required` is
 * none, of every rank.
 *
 * Nor is it another one from before the start that came to stand there by a link, or with its
 * folder: what was born and last changed before that is old, in whatever folder it stands. What was
 * copied into place with its times was born there. And no file is the artifact of two ranks.
 *
 * An artifact whose path is the same for all ranks is the job's: it is well where it is in one of
 * the places that the ranks see. A node that has files of its own looks at its place, and whoever
 * judges the run at all.
 *
 * A result file outside the run folder can be yesterday's too, and is remembered in the same way.
 */
#include "judge/artifacts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/io.h"
#include "judge/internal.h"
#include "run/policies/pin_results.h"

#include "base/banned.h"

/* What stood at the paths before the start, rank by rank: the result file first, then the
 * artifacts. A zero st_mode: nothing. And when that was, by the clocks here, and by that of the
 * file system with the run folder. */
struct jr_artifacts {
    struct jr_arena arena;
    struct stat **ranks;
    struct timespec wall;
    int64_t ahead_ns; /* see clock_ahead */
    dev_t run_dev;
    struct timespec run_time; /* zeroes: it could not be found */
};

/* The file systems that have the clock of this machine. Any other may have that of a server. */
static bool has_own_clock(int dir_fd, const char *path)
{
    static const uint32_t kinds[] = {
        0xef53,     /* ext2 to ext4 */
        0x58465342, /* XFS */
        0x9123683e, /* Btrfs */
        0x01021994, /* tmpfs */
        0x858458f6, /* ramfs */
        0x794c7630, /* overlayfs */
        0xf2f52010, /* F2FS */
        0x2fc12fc1, /* ZFS */
        0xca451a4e, /* bcachefs */
    };
    struct statfs fs;
    JR_CLOSE int fd = openat(dir_fd, path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 || fstatfs(fd, &fs) != 0)
        return false;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if ((uint32_t)fs.f_type == kinds[i])
            return true;
    return false;
}

static int64_t in_ns(const struct timespec *time)
{
    return (int64_t)time->tv_sec * 1000000000 + time->tv_nsec;
}

/* By how much the clock of this machine is ahead of one that nobody sets. */
static int64_t clock_ahead(void)
{
    return (int64_t)(jr_clock_wall_ns() - jr_clock_ns());
}

/* How far it was set back since then; between two looks at clocks a while may pass, which is
 * none. */
static int64_t clock_set_back(const struct jr_artifacts *before)
{
    const int64_t while_ns = 100000000;
    int64_t back = before->ahead_ns - clock_ahead();
    return back < while_ns ? 0 : back;
}

/* Whether it is from before the start, though it did not stand at its place then. Where the file
 * system does not know when a file was born, the last change of its status has to do: a copy with
 * its times has one of now, and so has what was linked here, which has another name, too. The start
 * is by the clock of the file's file system: a server's is not known where the run folder is
 * elsewhere, and may differ by a minute. */
static bool is_old(const struct jr_artifacts *before, int dir_fd, const char *path,
                   const struct stat *st)
{
    const int64_t apart = INT64_C(60) * 1000000000;
    struct statx born = {0};
    int64_t start = -clock_set_back(before);
    if (st->st_dev == before->run_dev && before->run_time.tv_sec != 0)
        start += in_ns(&before->run_time);
    else
        start += in_ns(&before->wall) - (has_own_clock(dir_fd, path) ? 0 : apart);
    if (in_ns(&st->st_mtim) >= start)
        return false;
    if (statx(dir_fd, path, AT_SYMLINK_NOFOLLOW | (*path == '\0' ? AT_EMPTY_PATH : 0), STATX_BTIME,
              &born) == 0 &&
        (born.stx_mask & STATX_BTIME) != 0 && born.stx_btime.tv_sec != 0)
        return in_ns(&(struct timespec){.tv_sec = born.stx_btime.tv_sec,
                                        .tv_nsec = born.stx_btime.tv_nsec}) < start;
    return st->st_nlink > 1 || in_ns(&st->st_ctim) < start;
}

/* Why a file is none of this run's; NULL: it may be. What stood there before, and was written
 * since, is: whatever time it was given then. */
static const char *find_stale(const struct jr_artifacts *before, const struct stat *then,
                              int dir_fd, const char *path, const struct stat *now)
{
    /* What was not there has no mode, and nothing else has its device, 0. */
    if (now->st_mode != 0 && now->st_dev == then->st_dev && now->st_ino == then->st_ino &&
        now->st_size == then->st_size && in_ns(&now->st_mtim) == in_ns(&then->st_mtim))
        return "is the one from before the start";
    if (then->st_mode != 0 && then->st_dev == now->st_dev && then->st_ino == now->st_ino)
        return NULL;
    if (!is_old(before, dir_fd, path, now))
        return NULL;
    return now->st_nlink > 1 ? "is a link to a file from before the start"
                             : "is a file from before the start that was moved here, or whose "
                               "folder was: a copy counts";
}

/* lstat(2) of a rank's path. Returns 0, or -1 with errno and zeroes. */
static int stat_path(struct stat *ret, const char *workdir, const char *path)
{
    JR_FREE char *absolute = jr_io_absolute(workdir, path);
    if (absolute != NULL && lstat(absolute, ret) == 0)
        return 0;
    *ret = (struct stat){0};
    return -1;
}

int jr_artifacts_before(struct jr_artifacts **ret, const struct jr_plan *plan, int run_fd,
                        struct jr_error *err)
{
    struct jr_artifacts *before = calloc(1, sizeof *before);
    struct stat st;
    if (before == NULL)
        return jr_error_set(err, JR_STATUS_LAUNCH, "out of memory");
    (void)clock_gettime(CLOCK_REALTIME_COARSE, &before->wall);
    before->ahead_ns = clock_ahead();
    /* The time of the file system with the run folder, which may be a server's: the folder is
     * touched, and says when. */
    if (futimens(run_fd, NULL) == 0 && fstat(run_fd, &st) == 0) {
        before->run_dev = st.st_dev;
        before->run_time = st.st_ctim;
    }
    before->ranks = jr_arena_array(&before->arena, plan->count, sizeof(struct stat *));
    for (size_t i = 0; !before->arena.failed && i < plan->count; i++) {
        const struct jr_plan_rank *rank = jr_plan_of(plan, i);
        struct stat *stats =
            jr_arena_array(&before->arena, rank->artifacts_count + 1, sizeof *stats);
        before->ranks[i] = stats;
        if (stats == NULL)
            break;
        if (rank->result_path != NULL && rank->result_path[0] == '/')
            (void)stat_path(&stats[0], rank->workdir, rank->result_path);
        for (uint32_t n = 0; n < rank->artifacts_count; n++)
            (void)stat_path(&stats[n + 1], rank->workdir, rank->artifacts[n]);
    }
    if (before->arena.failed) {
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

/* What is wrong with an artifact that stands like that at its absolute path; `then` is what stood
 * there before the start, `kept` whether it is what was there when the rank ended, and `late` that
 * there was none. */
static struct jr_fault inspect_stat(const struct jr_judge *judge, const char *path,
                                    const struct stat *st, const struct stat *then, bool kept,
                                    bool late)
{
    const char *stale;
    if (S_ISLNK(st->st_mode))
        return (struct jr_fault){JR_RESULT_MISSING, "is a symbolic link, which is not followed: "
                                                    "the file itself must be there"};
    if (!S_ISREG(st->st_mode))
        return (struct jr_fault){JR_RESULT_MISSING, "is not a regular file"};
    if (st->st_size == 0)
        return (struct jr_fault){JR_RESULT_EMPTY, "is empty"};
    if (judge->before != NULL &&
        (stale = find_stale(judge->before, then, AT_FDCWD, path, st)) != NULL)
        return (struct jr_fault){JR_RESULT_STALE, stale};
    if (late)
        return (struct jr_fault){JR_RESULT_MISSING, "was not there when the rank ended: what was "
                                                    "written later does not count"};
    if (!kept)
        return (struct jr_fault){JR_RESULT_CHANGED, "was changed after the rank had ended"};
    return (struct jr_fault){0};
}

/* Whether the files of a rank are on another node, which has looked at them. */
static bool is_apart(const struct jr_judge *judge, size_t i)
{
    return judge->deliveries != NULL && judge->deliveries[i] != NULL;
}

/* The rank that ended last of those with which the job's artifacts are noted;
 * `count`: there is none. */
static size_t last_rank(const struct jr_judge *judge)
{
    const struct jr_outcome *run = judge->outcome;
    size_t last = run->count;
    for (size_t i = 0; i < run->count; i++)
        if (run->ranks[i].job_pinned && !is_apart(judge, i) &&
            (last == run->count || run->ranks[i].ended_ns > run->ranks[last].ended_ns))
            last = i;
    return last;
}

static bool is_rank_asked(const struct jr_judge *judge, size_t i)
{
    bool nobody = !judge->required.all && judge->required.count == 0;
    return nobody || jr_judge_required(judge, i);
}

/* Note how an artifact was delivered by rank `i`, or, if it is the job's, with it. In the run
 * folder it moves with that. */
static void note_delivered(struct jr_judge *judge, size_t i, const char *path,
                           const struct stat *st, uint64_t digest)
{
    struct jr_rank_judgement *report = &judge->report->ranks[i];
    struct jr_arena *arena = &judge->report->arena;
    const char *run_dir = judge->plan->run_dir;
    size_t len = run_dir == NULL ? 0 : strlen(run_dir);
    struct jr_delivered *slot =
        jr_arena_push(arena, &report->artifacts, &report->artifacts_count, sizeof *slot);
    if (slot == NULL)
        return;
    if (len > 0 && strncmp(path, run_dir, len) == 0 && path[len] == '/')
        path += len + 1;
    *slot = (struct jr_delivered){.path = jr_arena_strdup(arena, path),
                                  .size = (uint64_t)st->st_size,
                                  .mtime_ns = in_ns(&st->st_mtim),
                                  .digest = digest};
}

/* Hold the artifacts of rank `i`, its own or the job's, to what is noted with the rank `noted`; its
 * number is `count` where nothing is. Into one fault for each artifact; those of the other kind
 * stay as they are. */
static void inspect_rank(struct jr_fault *ret, struct jr_judge *judge, size_t i, size_t noted,
                         bool jobs)
{
    const struct jr_plan_rank *rank = jr_plan_of(judge->plan, i);
    const struct jr_rank_outcome *then = NULL;
    uint64_t now[JR_PINNED_ARTIFACTS] = {0};
    JR_FREE uint64_t *bytes = calloc(rank->artifacts_count + 1, sizeof *bytes);
    if (noted < judge->outcome->count && judge->outcome->ranks[noted].pinned)
        then = &judge->outcome->ranks[noted];
    if (then != NULL)
        jr_pin_artifacts(now, jr_plan_of(judge->plan, noted),
                         &(struct jr_pin_scope){.common = judge->common,
                                                .own = is_rank_asked(judge, noted),
                                                .jobs = then->job_pinned,
                                                .far = then->far,
                                                .bytes = bytes});
    for (uint32_t n = 0; n < rank->artifacts_count; n++) {
        uint32_t at = JR_PIN_PLACE(n);
        struct stat st = {0};
        if (judge->common[n] != jobs)
            continue;
        JR_FREE char *path = jr_io_absolute(rank->workdir, rank->artifacts[n]);
        bool kept = then == NULL || then->artifacts[at] == now[at];
        bool late = then != NULL && then->artifacts[at] == 0 &&
                    rank->artifacts_count <= JR_PINNED_ARTIFACTS;
        if (path != NULL && lstat(path, &st) == 0)
            ret[n] = inspect_stat(judge, path, &st,
                                  judge->before == NULL ? NULL : &judge->before->ranks[i][n + 1],
                                  kept, late);
        else
            ret[n] = (struct jr_fault){JR_RESULT_MISSING,
                                       errno == ENOENT ? "was not written" : "could not be read"};
        if (!jobs && S_ISREG(st.st_mode))
            jr_judge_see(judge, i, rank->artifacts[n], &st);
        if (ret[n].error == JR_RESULT_NONE && bytes != NULL)
            note_delivered(judge, i, path, &st, bytes[n]);
    }
}

static struct jr_fault *make_faults(const struct jr_judge *judge)
{
    return jr_arena_array(&judge->report->arena, judge->wants->artifacts_count,
                          sizeof(struct jr_fault));
}

void jr_artifact_check(struct jr_judge *judge, size_t i)
{
    const struct jr_plan_rank *rank = jr_plan_of(judge->plan, i);
    if (judge->wants->artifacts_count == 0 || judge->common == NULL || !is_rank_asked(judge, i))
        return;
    struct jr_fault *faults = make_faults(judge);
    if (faults == NULL)
        return;
    inspect_rank(faults, judge, i, i, false);
    for (uint32_t n = 0; n < rank->artifacts_count; n++)
        if (faults[n].error != JR_RESULT_NONE)
            jr_judge_fault(judge, i, faults[n].error, "artifact %s %s", rank->artifacts[n],
                           faults[n].reason);
}

/* The artifacts of the job. */

/* Add what was found of each artifact in a place where it may be to the best that was found so
 * far. */
static void add_artifact_place(struct jr_fault *best, bool *begun, const struct jr_fault *faults,
                               uint32_t count)
{
    for (uint32_t n = 0; n < count; n++)
        if (!*begun || faults[n].error == JR_RESULT_NONE || best[n].error == JR_RESULT_MISSING)
            best[n] = faults[n];
    *begun = true;
}

static void fault_ranks(struct jr_judge *judge, const struct jr_fault *faults)
{
    for (size_t i = 0; i < judge->report->count; i++) {
        const struct jr_plan_rank *rank = jr_plan_of(judge->plan, i);
        if (judge->report->ranks[i].state != JR_RANK_SUCCEEDED || !is_rank_asked(judge, i))
            continue;
        for (uint32_t n = 0; n < rank->artifacts_count; n++)
            if (faults[n].error != JR_RESULT_NONE)
                jr_judge_fault(judge, i, faults[n].error,
                               "artifact %s of the job, which any rank may make, %s",
                               rank->artifacts[n], faults[n].reason);
    }
}

void jr_artifact_check_job(struct jr_judge *judge)
{
    struct jr_judgement *report = judge->report;
    uint32_t count = judge->wants->artifacts_count;
    bool begun = false;
    size_t i = 0;
    if (count == 0 || judge->common == NULL)
        return;
    struct jr_fault *best = make_faults(judge), *faults = make_faults(judge);
    if (best == NULL || faults == NULL)
        return;
    /* If the nodes were started by hand, each knows only its own ranks: the node of rank 0 looks
     * for the artifacts of the job. */
    while (i < report->count && (is_apart(judge, i) || report->ranks[i].state != JR_RANK_SUCCEEDED))
        i++;
    if (i < report->count && (judge->plan->first == 0 || judge->apart)) {
        inspect_rank(faults, judge, i, judge->last_rank, true);
        add_artifact_place(best, &begun, faults, count);
    }
    /* What the nodes have found that have files of their own. */
    for (i = 0; i < report->count; i++)
        if (is_apart(judge, i) && jr_delivery_take_job(faults, judge, judge->deliveries[i]))
            add_artifact_place(best, &begun, faults, count);
    if (judge->apart && begun) {
        report->job = best;
        report->job_count = count;
    } else if (begun) {
        fault_ranks(judge, best);
    }
}

void jr_artifact_open(struct jr_judge *judge)
{
    judge->common = jr_pin_common(&judge->report->arena, judge->plan);
    judge->last_rank = last_rank(judge);
}

const char *jr_artifact_stale_result(const struct jr_judge *judge, size_t i, int fd,
                                     const struct stat *now)
{
    if (judge->before == NULL)
        return NULL;
    return find_stale(judge->before, &judge->before->ranks[i][0], fd, "", now);
}
