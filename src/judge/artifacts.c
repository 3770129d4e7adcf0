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
#include "judge/delivery.h"
#include "judge/judge.h"
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

static bool same_time(const struct timespec *a, const struct timespec *b)
{
    return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

/* What is not there has no mode, and nothing else has its device, 0. */
static bool is_same_artifact(const struct stat *a, const struct stat *b)
{
    return a->st_mode != 0 && a->st_dev == b->st_dev && a->st_ino == b->st_ino &&
           a->st_size == b->st_size && same_time(&a->st_mtim, &b->st_mtim);
}

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

/* The start by the clock of the file's file system, in nanoseconds. A server's is not known where
 * the run folder is elsewhere: it may differ by a minute. */
static int64_t find_start(const struct jr_artifacts *before, int dir_fd, const char *path,
                          const struct stat *st)
{
    const int64_t apart = INT64_C(60) * 1000000000;
    if (st->st_dev == before->run_dev && before->run_time.tv_sec != 0)
        return in_ns(&before->run_time) - clock_set_back(before);
    return in_ns(&before->wall) - clock_set_back(before) -
           (has_own_clock(dir_fd, path) ? 0 : apart);
}

/* Whether it is from before the start, though it did not stand at its place then. Where the file
 * system does not know when a file was born, the last change of its status has to do: a copy with
 * its times has one of now, and so has what was linked here, which has another name, too. */
static bool is_old(const struct jr_artifacts *before, int dir_fd, const char *path,
                   const struct stat *st)
{
    struct statx born = {0};
    int64_t start = find_start(before, dir_fd, path, st);
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
    if (is_same_artifact(now, then))
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

static struct stat *stat_rank(struct jr_arena *arena, const struct jr_plan_rank *rank)
{
    struct stat *stats = jr_arena_array(arena, rank->artifacts_count + 1, sizeof *stats);
    if (stats == NULL)
        return NULL;
    if (rank->result_path != NULL && rank->result_path[0] == '/')
        (void)stat_path(&stats[0], rank->workdir, rank->result_path);
    for (uint32_t n = 0; n < rank->artifacts_count; n++)
        (void)stat_path(&stats[n + 1], rank->workdir, rank->artifacts[n]);
    return stats;
}

/* The time of the file system with the run folder, which may be a server's: the folder is touched,
 * and says when. */
static void note_times(struct jr_artifacts *before, int run_fd)
{
    struct stat st;
    (void)clock_gettime(CLOCK_REALTIME_COARSE, &before->wall);
    before->ahead_ns = clock_ahead();
    if (futimens(run_fd, NULL) == 0 && fstat(run_fd, &st) == 0) {
        before->run_dev = st.st_dev;
        before->run_time = st.st_ctim;
    }
}

int jr_artifacts_before(struct jr_artifacts **ret, const struct jr_plan *plan, int run_fd,
                        struct jr_error *err)
{
    struct jr_artifacts *before = calloc(1, sizeof *before);
    if (before != NULL)
        note_times(before, run_fd);
    if (before != NULL)
        before->ranks = jr_arena_array(&before->arena, plan->count, sizeof(struct stat *));
    for (size_t i = 0; before != NULL && !before->arena.failed && i < plan->count; i++)
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

/* One artifact on its way through the checks. */
struct artifact {
    const char *path;                  /* absolute */
    const struct jr_artifacts *before; /* NULL: nothing is remembered */
    const struct stat *then;           /* with `before`: what stood there */
    bool kept;                         /* it is what was there when the rank ended */
    bool late;                         /* and then there was none */
};

static struct jr_fault inspect_stat(const struct artifact *artifact, const struct stat *st)
{
    const char *stale;
    if (S_ISLNK(st->st_mode))
        return (struct jr_fault){JR_RESULT_MISSING, "is a symbolic link, which is not followed: "
                                                    "the file itself must be there"};
    if (!S_ISREG(st->st_mode))
        return (struct jr_fault){JR_RESULT_MISSING, "is not a regular file"};
    if (st->st_size == 0)
        return (struct jr_fault){JR_RESULT_EMPTY, "is empty"};
    if (artifact->before != NULL && (stale = find_stale(artifact->before, artifact->then, AT_FDCWD,
                                                        artifact->path, st)) != NULL)
        return (struct jr_fault){JR_RESULT_STALE, stale};
    if (artifact->late)
        return (struct jr_fault){JR_RESULT_MISSING, "was not there when the rank ended: what was "
                                                    "written later does not count"};
    if (!artifact->kept)
        return (struct jr_fault){JR_RESULT_CHANGED, "was changed after the rank had ended"};
    return (struct jr_fault){0};
}

static struct jr_fault inspect_artifact(const struct artifact *artifact, struct stat *ret)
{
    if (artifact->path != NULL && lstat(artifact->path, ret) == 0)
        return inspect_stat(artifact, ret);
    *ret = (struct stat){0};
    return (struct jr_fault){JR_RESULT_MISSING,
                             errno == ENOENT ? "was not written" : "could not be read"};
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
        struct stat st;
        if (judge->common[n] != jobs)
            continue;
        JR_FREE char *path = jr_io_absolute(rank->workdir, rank->artifacts[n]);
        ret[n] = inspect_artifact(
            &(struct artifact){.path = path,
                               .before = judge->before,
                               .then =
                                   judge->before == NULL ? NULL : &judge->before->ranks[i][n + 1],
                               .kept = then == NULL || then->artifacts[at] == now[at],
                               .late = then != NULL && then->artifacts[at] == 0 &&
                                       rank->artifacts_count <= JR_PINNED_ARTIFACTS},
            &st);
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

/* What has been found of them in the places where they may be. */
struct search {
    struct jr_fault *faults; /* of each artifact, of which that counts least
                                against it */
    bool begun;
};

static void add_artifact_place(struct search *search, const struct jr_judge *judge,
                               const struct jr_fault *faults)
{
    for (uint32_t n = 0; n < judge->wants->artifacts_count; n++) {
        struct jr_fault *best = &search->faults[n];
        if (!search->begun || faults[n].error == JR_RESULT_NONE || best->error == JR_RESULT_MISSING)
            *best = faults[n];
    }
    search->begun = true;
}

/* If the nodes were started by hand, each knows only its own ranks: the node of rank 0 looks for
 * the artifacts of the job. */
static void look_here(struct search *search, struct jr_judge *judge)
{
    const struct jr_judgement *report = judge->report;
    size_t i = 0;
    while (i < report->count && (is_apart(judge, i) || report->ranks[i].state != JR_RANK_SUCCEEDED))
        i++;
    struct jr_fault *faults = make_faults(judge);
    if (i == report->count || faults == NULL || (judge->plan->first != 0 && !judge->apart))
        return;
    inspect_rank(faults, judge, i, judge->last_rank, true);
    add_artifact_place(search, judge, faults);
}

/* What the nodes have found that have files of their own. */
static void look_elsewhere(struct search *search, const struct jr_judge *judge)
{
    struct jr_fault *faults = make_faults(judge);
    for (size_t i = 0; faults != NULL && i < judge->report->count; i++)
        if (is_apart(judge, i) && jr_delivery_take_job(faults, judge, judge->deliveries[i]))
            add_artifact_place(search, judge, faults);
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
    if (judge->wants->artifacts_count == 0 || judge->common == NULL)
        return;
    struct search search = {.faults = make_faults(judge)};
    if (search.faults == NULL)
        return;
    look_here(&search, judge);
    look_elsewhere(&search, judge);
    if (judge->apart && search.begun) {
        judge->report->job = search.faults;
        judge->report->job_count = judge->wants->artifacts_count;
    } else if (search.begun) {
        fault_ranks(judge, search.faults);
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
