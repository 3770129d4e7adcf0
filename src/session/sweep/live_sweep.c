#include "session/sweep/live_sweep.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/pidfd.h"
#include "session/slurm_queue.h"
#include "session/sweep/load_sweep.h"
#include "sweep/journal.h"
#include "sweep/sweep_file.h"

#include "base/banned.h"

/* Signal the process that leads the sweep, which is held. */
static int stop_leader(int dir_fd, const struct jr_hold *leader, struct jr_error *err)
{
    struct stat st;
    if (fstat(dir_fd, &st) != 0 || st.st_uid != geteuid())
        return jr_error_set(err, JR_STATUS_LAUNCH,
                            "the sweep belongs to another user, and is left alone");
    if (jr_hold_signal(leader, SIGTERM) != 0)
        return jr_error_sys(err, JR_STATUS_LAUNCH, "could not stop process %d", (int)leader->pid);
    return 0;
}

/* Wait for the end of the process: false where the time was over. */
static bool await_leader(const struct jr_hold *leader, uint64_t until_ns)
{
    enum { TURN_MS = 60000 };
    uint64_t now = jr_clock_ns(), left_ms = TURN_MS;
    if (until_ns != 0 && until_ns <= now)
        return false;
    if (until_ns != 0 && (until_ns - now) / 1000000 < left_ms)
        left_ms = (until_ns - now) / 1000000 + 1;
    (void)jr_hold_await(leader, (int)left_ms);
    return true;
}

/* The exit status that the sweep ended with, which is more than that of its cells: a signal may
 * have come between two. One that was killed before its end has none,
 * and has not done what it was to do, whatever its cells did so far. */
static int own_exit_code(const json_t *sweep, int of_cells)
{
    const json_t *code = json_object_get(sweep, "exit_code");
    const char *job;
    if (json_is_integer(code) && json_integer_value(code) >= 0 && json_integer_value(code) < 256)
        return (int)json_integer_value(code);
    return of_cells == 0 && json_is_null(code) && !jr_sweep_is_submitted(sweep, &job)
               ? JR_STATUS_LAUNCH
               : of_cells;
}

int jr_sweep_exit_status(const char *log_dir, const char *id, int *ret_code, struct jr_error *err)
{
    json_t *sweep = jr_load_sweep(log_dir, id, err);
    const json_t *cells = json_object_get(sweep, "cells");
    int lowest = 0;
    bool whole = true;
    for (size_t i = 0; i < json_array_size(cells); i++) {
        const char *word = jr_json_get_str(json_array_get(cells, i), "status");
        int code = word == NULL ? 0 : jr_cell_status_class(word);
        whole = whole && word != NULL && (code != 0 || strcmp(word, "succeeded") == 0);
        if (code != 0 && (lowest == 0 || code < lowest))
            lowest = code;
    }
    *ret_code = own_exit_code(sweep, lowest == 0 && !whole ? JR_STATUS_LAUNCH : lowest);
    bool good = sweep != NULL;
    json_decref(sweep);
    return good ? 0 : -1;
}

/* The job of a sweep that was submitted, in `arena`; false: it was not, or each of its cells has
 * ended. */
static bool find_array(const char *log_dir, const char *id, struct jr_arena *arena,
                       const char **ret_job)
{
    json_t *sweep = jr_load_sweep(log_dir, id, NULL);
    bool submitted = jr_sweep_is_submitted(sweep, ret_job) && !jr_sweep_is_over(sweep);
    *ret_job = jr_arena_strdup(arena, *ret_job);
    json_decref(sweep);
    return submitted;
}

bool jr_sweep_goes_on(const char *log_dir, const char *id)
{
    struct jr_arena arena = JR_ARENA_INIT;
    const char *job;
    JR_CLOSE int fd = jr_sweep_open(log_dir, id);
    bool goes_on = fd >= 0 && (jr_journal_holder(fd) != 0 || find_array(log_dir, id, &arena, &job));
    jr_arena_release(&arena);
    return goes_on;
}

static int stop_array(struct jr_slurm_queue *queue, int dir_fd, const char *job,
                      struct jr_error *err)
{
    struct stat st;
    if (fstat(dir_fd, &st) != 0 || st.st_uid != geteuid())
        return jr_error_set(err, JR_STATUS_LAUNCH,
                            "the sweep belongs to another user, and is left alone");
    if (jr_slurm_queue_find(queue, job) == JR_QUEUE_ENDED)
        return 0;
    const char *why = jr_slurm_cancel(queue, job);
    if (why == NULL)
        return 0;
    return jr_error_set(err, JR_STATUS_LAUNCH, "scancel, told to cancel job %s, %s",
                        job == NULL ? "(none)" : job, why);
}

/* Wait for the end of the array, as long as Slurm knows it. Returns as jr_sweep_await. */
static int await_array(struct jr_slurm_queue *queue, const char *job, uint64_t until_ns,
                       struct jr_error *err)
{
    enum { FIRST_MS = 250, MOST_MS = 10000 };
    uint64_t pause_ms = FIRST_MS;
    for (;;) {
        queue->asked = false;
        enum jr_queue_place place = jr_slurm_queue_find(queue, job);
        uint64_t now = jr_clock_ns();
        if (place == JR_QUEUE_ENDED || place == JR_QUEUE_NO_JOB)
            return 0;
        if (place == JR_QUEUE_SILENT)
            return jr_error_set(err, JR_STATUS_LAUNCH, "squeue, asked for job %s, %s", job,
                                queue->silent);
        if (until_ns != 0 && until_ns <= now)
            return 1;
        if (until_ns != 0 && (until_ns - now) / 1000000 < pause_ms)
            pause_ms = (until_ns - now) / 1000000 + 1;
        (void)usleep((useconds_t)(pause_ms * 1000));
        pause_ms = pause_ms * 2 < MOST_MS ? pause_ms * 2 : MOST_MS;
    }
}

/* The same for a sweep whose cells are tasks of an array. */
static int end_array(int dir_fd, const char *job, const struct jr_sweep_wait *wait,
                     struct jr_error *err)
{
    struct jr_slurm_queue queue;
    jr_slurm_queue_init(&queue, wait->envp);
    int status = wait->stop ? stop_array(&queue, dir_fd, job, err) : 0;
    if (status == 0)
        status = await_array(&queue, job, wait->until_ns, err);
    jr_slurm_queue_release(&queue);
    return status;
}

int jr_sweep_await(const char *log_dir, const char *id, const struct jr_sweep_wait *wait,
                   int *ret_code, struct jr_error *err)
{
    bool stop = wait->stop;
    struct jr_arena arena = JR_ARENA_INIT;
    const char *job;
    JR_CLOSE int fd = jr_sweep_open(log_dir, id);
    if (fd < 0)
        return jr_error_sys(err, JR_STATUS_USAGE, "%s/%s", log_dir, id);
    pid_t pid;
    while ((pid = jr_journal_holder(fd)) > 0) {
        struct jr_hold leader = jr_hold_open(pid);
        bool same = leader.pid > 0 && jr_journal_holder(fd) == pid;
        int failed = same && stop ? stop_leader(fd, &leader, err) : 0;
        bool in_time = failed == 0 && (!same || await_leader(&leader, wait->until_ns));
        stop = stop && !same;
        jr_hold_close(&leader);
        if (failed != 0)
            return -1;
        if (!in_time)
            return 1;
    }
    if (pid == JR_JOURNAL_UNSEEN)
        return jr_error_set(err, JR_STATUS_LAUNCH,
                            "the sweep %s is being run " JR_SWEEP_UNSEEN
                            ": it can be waited for, and stopped, only there",
                            id);
    int status = 0;
    if (find_array(log_dir, id, &arena, &job))
        status = end_array(fd, job, wait, err);
    jr_arena_release(&arena);
    return status != 0 ? status : jr_sweep_exit_status(log_dir, id, ret_code, err);
}
