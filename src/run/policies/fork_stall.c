/*
 * Forks of a helper that has threads. internal.h declares it.
 *
 * A fork has the forking thread alone. A lock that another thread held at that moment stays locked
 * for ever in the rank, and a rank that waits for one of the helper's threads waits for ever. Most
 * libraries are ready for that, and some are not; so jobrun warns of the threads once, and a rank
 * of such a helper that has not reached its function after 30 s is killed. Its start has failed
 * then, and the report names the threads. Without threads in the helper nothing is watched. What a
 * rank does before it calls its function besides (imports, `setup`, `init`) counts.
 */
#include <signal.h>
#include <stdio.h>

#include "base/clock.h"
#include "run/internal.h"

#include "base/banned.h"

#define LIMIT_NS (30 * UINT64_C(1000000000))

static void kill_stalled_rank(struct jr_rank_run *rank)
{
    struct jr_runner *runner = rank->runner;
    rank->reach_by = 0;
    rank->outcome->stage = JR_STAGE_STALL;
    (void)snprintf(runner->outcome->start_text, sizeof runner->outcome->start_text,
                   "not within 30 s; the helper that it was forked from has %s, which a "
                   "fork does not have, and a fork that waits for one of them hangs: do "
                   "not preload what starts them, or use start_method: spawn",
                   runner->fork_stall.threads);
    jr_rank_handle(rank, JR_RANK_ON_KILL, SIGKILL);
}

static void on_stall_time(void *owner)
{
    struct jr_runner *runner = owner;
    uint64_t now = jr_clock_ns(), next = 0;
    for (uint32_t i = 0; i < runner->next; i++) {
        struct jr_rank_run *rank = &runner->ranks[i];
        if (rank->reach_by == 0 || rank->watch.fd < 0)
            continue;
        if (rank->reach_by <= now)
            kill_stalled_rank(rank);
        else if (next == 0 || rank->reach_by < next)
            next = rank->reach_by;
    }
    runner->fork_stall.timer.at = next;
}

static int open_fork_stall(struct jr_runner *runner)
{
    jr_runner_timer(runner, &runner->fork_stall.timer, on_stall_time, true);
    return 0;
}

void jr_fork_stall_warn(struct jr_runner *runner, const char *threads)
{
    struct jr_fork_stall *stall = &runner->fork_stall;
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
    (void)snprintf(stall->threads, sizeof stall->threads, "%s", threads);
    JR_TELL(runner, .name = JR_EVENT_HELPER_THREADS);
    jr_buf_printf(&text,
                  "jobrun: warning: the imports of the helper left %s; ranks "
                  "are forked without them, and a rank that waits for them "
                  "hangs (fork_threads: refuse makes this an error)\n",
                  stall->threads);
    if (!text.failed)
        jr_console_writer_write(&runner->console, 1, text.data, text.len);
}

/* A rank has a process: a fork has its control socket by then. */
static void watch_fork(struct jr_rank_run *rank)
{
    struct jr_fork_stall *stall = &rank->runner->fork_stall;
    if (stall->threads[0] == '\0' || rank->control.fd < 0)
        return;
    rank->reach_by = jr_clock_ns() + LIMIT_NS;
    if (stall->timer.at == 0)
        stall->timer.at = rank->reach_by;
}

void jr_fork_stall_reached(struct jr_rank_run *rank)
{
    rank->reach_by = 0;
}

/* Where a rank was killed for never having reached its function, its start has failed. */
static void settle_stalled_end(struct jr_rank_run *rank)
{
    if (rank->outcome->stage != JR_STAGE_STALL)
        return;
    rank->outcome->end = JR_END_START;
    rank->outcome->killed = false;
    rank->outcome->stopped_with = 0;
}

static void extend_fork_limits(struct jr_runner *runner, uint64_t paused_ns)
{
    for (uint32_t i = 0; i < runner->next; i++)
        if (runner->ranks[i].reach_by != 0)
            runner->ranks[i].reach_by += paused_ns;
}

const struct jr_runner_policy jr_fork_stall_policy = {
    .name = "fork_stall",
    .open = open_fork_stall,
    .rank_started = watch_fork,
    .rank_ended = settle_stalled_end,
    .resumed = extend_fork_limits,
};
