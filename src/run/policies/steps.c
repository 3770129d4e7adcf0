/*
 * How far the job is: the steps that ranks tell. internal.h declares it.
 *
 * They come from a stream, line by line as it passes through the tee (step_lines.h), and from
 * progress files: JSON lines that ranks append to attempt_N/progress/RANK.jsonl, by
 * jobrun.progress() or by themselves. That folder is watched (inotify(7)), so that nothing is done
 * while nothing is told; each file is read from where it was read to, and for the last time when
 * its rank has ended. Where folders cannot be watched, that is the only time. The watch begins with
 * the first rank where the spec says something of these files or of steps, else a little later: to
 * end a watch the kernel takes several milliseconds, which are more than all else that ends a short
 * run.
 *
 * What is known goes into the outcome (step_tracker.h), and at most once a second into
 * progress.json and metrics.jsonl.
 *
 * `timeouts.first_step` counts from the start of the last rank, and
 * `timeouts.progress` from the job's furthest step on, while a rank whose steps
 * count runs (step_tracker.h). What happens then is up to hang.c. Of a job on
 * several nodes a node only tells what its ranks told (step_tracker.h), at most
 * once a second: the controller has the job's progress.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/io.h"
#include "base/num.h"
#include "run/internal.h"
#include "store/run_folder.h"
#include "store/step_tracker.h"

#include "base/banned.h"

#define MS        UINT64_C(1000000)
#define SECOND_NS (1000 * MS)
#define LATER_NS  (200 * MS) /* from the first rank to the watch */
#define READ_SIZE (256U << 10)
#define TAIL      32 /* bytes by which a file is known again */

struct jr_step_file {
    uint64_t read;   /* bytes, */
    char tail[TAIL]; /* and the last of them */
    struct jr_step_text text;
    bool refused;        /* it is no plain file */
    uint64_t relayed_ns; /* of the rank: the step that the controller knows */
};

/* The files. */

/* The file of the rank at place `i`, to be read; -1: there is none. */
static int open_step_file(struct jr_runner *runner, uint32_t i, struct stat *ret)
{
    struct jr_step_watch *steps = &runner->steps;
    char name[32];
    int folder = steps->folder_fd;
    (void)snprintf(name, sizeof name, "%u.jsonl", runner->ranks[i].plan->rank);
    if (fstatat(folder, name, ret, AT_SYMLINK_NOFOLLOW) != 0)
        return -1;
    mode_t mode = ret->st_mode;
    if (!S_ISREG(mode)) {
        const char *what = S_ISLNK(mode)    ? "a symbolic link"
                           : S_ISFIFO(mode) ? "a FIFO"
                           : S_ISDIR(mode)  ? "a folder"
                                            : "no plain file";
        if (!steps->files[i].refused)
            (void)jr_step_tracker_warn(&steps->tracker, JR_STEP_PROBLEM_FILE, i,
                                       "has %s in place of its progress file, which is not read",
                                       what);
        steps->files[i].refused = true;
        return -1;
    }
    JR_CLOSE int fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0 || fstat(fd, ret) != 0 || !S_ISREG(ret->st_mode))
        return -1;
    return jr_steal_fd(&fd);
}

/* Whether the file is another than what was read: ranks are to append, and some write it anew with
 * each step. */
static bool is_begun_anew(const struct jr_step_file *file, int fd, const struct stat *st)
{
    char tail[TAIL];
    size_t len = file->read < TAIL ? (size_t)file->read : TAIL;
    if ((uint64_t)st->st_size < file->read)
        return true;
    return pread(fd, tail, len, (off_t)(file->read - len)) == (ssize_t)len &&
           memcmp(tail, file->tail + TAIL - len, len) != 0;
}

/* What was added since the last time, as far as it is there now. */
static void read_step_file(struct jr_runner *runner, uint32_t i)
{
    struct jr_step_watch *steps = &runner->steps;
    struct jr_step_file *file = &steps->files[i];
    struct stat st;
    if (steps->folder_fd < 0 || file->refused || !jr_step_tracker_watches(&steps->tracker, i))
        return;
    JR_CLOSE int fd = open_step_file(runner, i, &st);
    if (fd >= 0 && is_begun_anew(file, fd, &st)) {
        file->read = 0;
        jr_step_lines_end(&steps->lines, &file->text);
    }
    while (fd >= 0 && file->read < (uint64_t)st.st_size) {
        ssize_t len = pread(fd, steps->bytes, READ_SIZE, (off_t)file->read);
        if (len <= 0)
            return;
        size_t kept = (size_t)len < TAIL ? (size_t)len : TAIL;
        file->read += (uint64_t)len;
        memmove(file->tail, file->tail + kept, TAIL - kept);
        memcpy(file->tail + TAIL - kept, steps->bytes + (size_t)len - kept, kept);
        jr_step_lines_add(&steps->lines, &file->text, steps->bytes, (size_t)len);
    }
}

static void read_all_step_files(struct jr_runner *runner)
{
    for (uint32_t i = 0; i < runner->next; i++)
        if (!runner->steps.tracker.progress->ranks[i].ended)
            read_step_file(runner, i);
}

static void on_step_files(void *owner, uint32_t events)
{
    (void)events;
    struct jr_runner *runner = owner;
    const struct jr_plan *plan = runner->plan;
    _Alignas(struct inotify_event) char bytes[8192];
    ssize_t len = read(runner->steps.folder.fd, bytes, sizeof bytes);
    for (ssize_t at = 0; at < len;) {
        const struct inotify_event *event =
            (const struct inotify_event *)(const void *)(bytes + at);
        const char *name = event->len > 0 ? event->name : "";
        uint64_t rank = 0; /* of "3.jsonl" */
        if ((event->mask & IN_Q_OVERFLOW) != 0)
            read_all_step_files(runner);
        else if (jr_num_digits(&name, &rank) && strcmp(name, ".jsonl") == 0 &&
                 rank >= plan->first && rank - plan->first < plan->count)
            read_step_file(runner, (uint32_t)(rank - plan->first));
        at += (ssize_t)(sizeof *event + event->len);
    }
}

static void watch_step_folder(void *owner)
{
    struct jr_runner *runner = owner;
    struct jr_step_watch *steps = &runner->steps;
    char link[64];
    (void)snprintf(link, sizeof link, "/proc/self/fd/%d", steps->folder_fd);
    steps->folder.fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    if (steps->folder.fd >= 0 &&
        inotify_add_watch(steps->folder.fd, link,
                          IN_MODIFY | IN_CREATE | IN_MOVED_TO | IN_ONLYDIR) >= 0 &&
        jr_loop_add(&runner->loop, &steps->folder, EPOLLIN) == 0) {
        read_all_step_files(runner);
        return;
    }
    int error = errno;
    jr_close_fd(&steps->folder.fd);
    if (runner->plan->policy->progress.from == JR_PROGRESS_FILE)
        (void)jr_step_tracker_warn(
            &steps->tracker, JR_STEP_PROBLEM_UNSEEN, 0,
            "has a progress file that is only read when the rank has ended: %s", strerror(error));
}

/* Time. */

static uint64_t last_start_ns(const struct jr_runner *runner)
{
    uint64_t last = 0;
    for (uint32_t i = 0; i < runner->next; i++)
        if (runner->ranks[i].outcome->started_ns > last)
            last = runner->ranks[i].outcome->started_ns;
    return last;
}

/* Begin the hang, or look again when it could be one. */
static void look_at_step_limits(void *owner)
{
    struct jr_runner *runner = owner;
    struct jr_step_watch *steps = &runner->steps;
    uint64_t started = jr_launch_is_due(runner) ? 0 : last_start_ns(runner);
    switch (jr_step_limit_look(&steps->limits, &steps->tracker, started, jr_clock_ns(),
                               &steps->limit.at)) {
    case JR_STEP_OVERRUN_FIRST:
        jr_hang_begin(runner, JR_HANG_FIRST_STEP);
        break;
    case JR_STEP_OVERRUN_NEXT:
        jr_hang_begin(runner, JR_HANG_PROGRESS);
        break;
    case JR_STEP_OVERRUN_NONE:
        break;
    }
}

/* Tell the controller what is new since the last time. */
static void relay_steps(struct jr_runner *runner)
{
    struct jr_step_watch *steps = &runner->steps;
    JR_BUF_CLEANUP struct jr_buf lines = JR_BUF_INIT;
    for (uint32_t i = 0; i < runner->plan->count; i++) {
        const struct jr_steps *rank = &steps->tracker.progress->ranks[i];
        if (!rank->any || rank->ns == steps->files[i].relayed_ns)
            continue;
        steps->files[i].relayed_ns = rank->ns;
        jr_step_message_put(&lines, &steps->tracker, i);
    }
    jr_events_add_line(&runner->events, &lines);
    steps->tracker.flushed_ns = jr_clock_ns();
}

static void flush_steps(void *owner)
{
    struct jr_runner *runner = owner;
    if (runner->steps.tracker.relays)
        relay_steps(runner);
    else
        jr_step_tracker_flush(&runner->steps.tracker, jr_clock_ns());
}

/* Called for each step, so that it does next to nothing. */
static void on_step_told(void *owner)
{
    struct jr_runner *runner = owner;
    struct jr_step_watch *steps = &runner->steps;
    if (steps->flush.at == 0)
        steps->flush.at = steps->tracker.flushed_ns + SECOND_NS;
    if (steps->open && !steps->limits.counting && !steps->tracker.relays &&
        !jr_stop_has_begun(runner))
        steps->limit.at =
            jr_step_limit_told(&steps->limits, &steps->tracker, steps->limit.at, jr_clock_ns());
}

static void on_step_warning(void *owner, const struct jr_step_warning *warning)
{
    struct jr_runner *runner = owner;
    JR_TELL(runner, .name = JR_EVENT_PROGRESS_WARNING, .rank = warning->rank,
            .problem = warning->problem);
}

/* The policy. */

static int open_steps(struct jr_runner *runner)
{
    struct jr_step_watch *steps = &runner->steps;
    const struct jr_progress_source *from = &runner->plan->policy->progress;
    bool alone = runner->options->link == NULL;
    uint32_t count = runner->plan->count;
    *steps = (struct jr_step_watch){
        .open = true,
        .folder = {.fd = -1, .ready = on_step_files, .owner = runner},
        .folder_fd = -1,
        .files = calloc((size_t)count + 1, sizeof *steps->files),
        .bytes = malloc(READ_SIZE),
        .flush = {.due = flush_steps, .owner = runner},
        .limit = {.due = look_at_step_limits, .owner = runner, .pauses = true},
        .watch = {.due = watch_step_folder, .owner = runner}};
    if (steps->files == NULL || steps->bytes == NULL ||
        jr_step_tracker_open(&steps->tracker, runner->plan, runner->outcome->progress,
                             alone ? JR_SLOT_DIR : -1, runner->options->dir->file_mode) != 0)
        return -1;
    steps->tracker.told = on_step_told;
    steps->tracker.warned = on_step_warning;
    steps->tracker.owner = runner;
    steps->tracker.relays = !alone;
    for (uint32_t i = 0; i < count; i++)
        steps->files[i].text.i = i;
    jr_loop_timer(&runner->loop, &steps->flush);
    jr_loop_timer(&runner->loop, &steps->limit);
    jr_loop_timer(&runner->loop, &steps->watch);
    if (alone && runner->plan->policy->timeouts.first_step_ms != 0 &&
        steps->tracker.watched_count > 0)
        steps->limit.at = jr_clock_ns() + runner->plan->policy->timeouts.first_step_ms * MS;
    if (jr_step_lines_open(&steps->lines, &steps->tracker, NULL) != 0)
        return -1;
    if (from->pattern == NULL)
        return 0;
    if (jr_step_lines_open(&steps->streams, &steps->tracker, from->pattern) != 0)
        return -1;
    runner->tee.steps = &steps->streams;
    runner->tee.steps_number = from->from == JR_PROGRESS_STDERR;
    return 0;
}

static void watch_first_rank(struct jr_rank_run *rank)
{
    struct jr_runner *runner = rank->runner;
    struct jr_step_watch *steps = &runner->steps;
    const struct jr_policy *policy = runner->plan->policy;
    char path[64];
    if (steps->folder_fd >= 0 || steps->tracker.watched_count == 0 || rank->plan->dir == NULL)
        return;
    /* It was made with the folder of the first rank. */
    (void)snprintf(path, sizeof path, "attempt_%u/" JR_PLAN_STEPS, runner->plan->attempt);
    steps->folder_fd = jr_open_beneath(JR_SLOT_DIR, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
    if (steps->folder_fd < 0)
        return;
    /* Whether the spec says that there are steps to look for. */
    if (policy->progress.from == JR_PROGRESS_FILE || policy->timeouts.first_step_ms != 0 ||
        policy->timeouts.progress_ms != 0)
        watch_step_folder(runner);
    else
        steps->watch.at = jr_clock_ns() + LATER_NS;
}

static void end_rank_steps(struct jr_rank_run *rank)
{
    struct jr_runner *runner = rank->runner;
    struct jr_step_watch *steps = &runner->steps;
    uint32_t i = (uint32_t)(rank - runner->ranks);
    read_step_file(runner, i);
    jr_step_lines_end(&steps->lines, &steps->files[i].text);
    jr_step_tracker_end(&steps->tracker, i, jr_clock_ns());
}

static void end_step_limits(struct jr_runner *runner)
{
    runner->steps.limit.at = 0;
}

static void extend_step_limits(struct jr_runner *runner, uint64_t paused_ns)
{
    struct jr_step_watch *steps = &runner->steps;
    jr_step_limit_pause(&steps->limits, &steps->tracker, last_start_ns(runner), paused_ns);
}

static void close_steps(struct jr_runner *runner)
{
    struct jr_step_watch *steps = &runner->steps;
    steps->open = false;
    steps->limit.at = steps->watch.at = 0;
    if (steps->folder.fd >= 0)
        jr_loop_close(&steps->folder);
    jr_close_fd(&steps->folder_fd);
}

void jr_steps_finish(struct jr_runner *runner)
{
    struct jr_step_watch *steps = &runner->steps;
    const struct jr_progress *progress = steps->tracker.progress;
    JR_BUF_CLEANUP struct jr_buf lines = JR_BUF_INIT;
    steps->flush.at = 0;
    if (steps->tracker.relays) {
        relay_steps(runner);
        for (uint32_t i = 0; i < progress->warnings_count; i++)
            jr_step_message_put_warning(&lines, &progress->warnings[i]);
        jr_events_add_line(&runner->events, &lines);
    }
    jr_step_tracker_close(&steps->tracker, jr_clock_ns());
    jr_step_lines_close(&steps->lines);
    jr_step_lines_close(&steps->streams);
    free(steps->files);
    free(steps->bytes);
    steps->files = NULL;
    steps->bytes = NULL;
}

const struct jr_runner_policy jr_steps_policy = {
    .name = "steps",
    .open = open_steps,
    .rank_started = watch_first_rank,
    .rank_ended = end_rank_steps,
    .stopping = end_step_limits,
    .resumed = extend_step_limits,
    .close = close_steps,
};
