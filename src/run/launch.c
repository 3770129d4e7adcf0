/*
 * The ranks' coming and going, as internal.h declares it: each is started when its turn comes, here
 * or by the helper, is watched, and is judged at its end.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/pidfd.h"
#include "run/internal.h"
#include "spawn/isolation.h"

#include "base/banned.h"

#define STARTS_PER_TURN 16 /* between two looks at everything else */

static void on_exit_of_rank(void *owner, uint32_t events)
{
    (void)events;
    struct jr_rank_run *rank = owner;
    struct jr_runner *runner = rank->runner;
    jr_first_failure_hear_lines(runner);
    if (!jr_rank_reap(rank))
        return;
    jr_loop_close(&rank->watch);
    runner->running--;
    if (rank->plan->input == JR_INPUT_TERMINAL)
        jr_terminal_end(runner->terminal);
    jr_rank_handle(rank, JR_RANK_ON_EXIT, 0);
    rank->outcome->order = ++runner->ended;
    jr_policies_rank_ended(rank);
}

static void fail_rank_start(struct jr_runner *runner, struct jr_rank_run *rank,
                            const struct jr_started *started)
{
    struct jr_rank_outcome *outcome = rank->outcome;
    const int fds[] = {started->pipes[0], started->pipes[1], started->control, started->pmi,
                       started->line};
    for (size_t i = 0; i < sizeof fds / sizeof *fds; i++)
        if (fds[i] >= 0)
            (void)close(fds[i]);
    outcome->stage = started->stage;
    outcome->start_errno = started->error;
    outcome->order = ++runner->ended;
    outcome->end = JR_END_START;
    jr_rank_handle(rank, JR_RANK_ON_UNSTARTED, 0);
    jr_policies_rank_ended(rank);
}

/* A rank that the loop cannot watch is no rank that could be supervised. */
static void fail_rank_watch(struct jr_runner *runner, struct jr_rank_run *rank)
{
    rank->outcome->log_errno = errno;
    jr_stop_force(runner);
}

/* Hear of its end, if that is not so already. Ranks that end while they are watched are told of in
 * that order; one that ended before it was, as of then. Of one whose tracer keeps its end, it is
 * told once, and again when the tracer lets go of it. -1 with errno. */
static int watch_rank(struct jr_rank_run *rank, int pidfd)
{
    rank->watch = (struct jr_watch){.fd = pidfd, .ready = on_exit_of_rank, .owner = rank};
    bool heard =
        jr_loop_add(&rank->runner->loop, &rank->watch, EPOLLIN | EPOLLET) == 0 || errno == EEXIST;
    return heard ? 0 : -1;
}

/* A rank has a process: watch it. `at_ns` is when it was started. */
static void note_rank_started(struct jr_rank_run *rank, pid_t pid, int pidfd, uint64_t at_ns)
{
    struct jr_runner *runner = rank->runner;
    rank->pid = pid;
    rank->outcome->pid = jr_isolate_host_pid(runner->proc_fd, pidfd, pid);
    rank->outcome->own_pid = pid;
    rank->outcome->started_ns = at_ns;
    int deaf = watch_rank(rank, pidfd) == 0 ? 0 : errno;
    rank->state = JR_LIFE_WAITING;
    jr_rank_handle(rank, JR_RANK_ON_STARTED, 0);
    runner->running++;
    if (rank->plan->input == JR_INPUT_TERMINAL) {
        /* The rank has its end of it; ours would keep it from ending. */
        (void)dup3(JR_SLOT_NULL, JR_SLOT_IN, O_CLOEXEC);
        if (jr_terminal_begin(runner->terminal, &runner->loop) != 0)
            jr_stop_force(runner);
    }
    jr_policies_rank_started(rank);
    errno = deaf;
    if (deaf != 0)
        fail_rank_watch(runner, rank);
}

/* Born too late: the run was stopped before its process was known. */
static void stop_late_rank(struct jr_rank_run *rank)
{
    if (jr_stop_is_forced(rank->runner))
        jr_rank_handle(rank, JR_RANK_ON_KILL, SIGKILL);
    else if (jr_stop_has_begun(rank->runner))
        jr_rank_handle(rank, JR_RANK_ON_STOP, SIGTERM);
}

/* It was started, or is going to be by the helper. */
static void accept_rank(struct jr_runner *runner, struct jr_rank_run *rank,
                        const struct jr_started *started)
{
    uint32_t i = (uint32_t)(rank - runner->ranks);
    if (started->pid != 0)
        note_rank_started(rank, started->pid, started->pidfd, started->at_ns);
    jr_first_failure_watch(rank, started->line);
    if (jr_exit_barrier_add(rank, started->control) != 0 ||
        jr_mpi_world_add(rank, started->pmi) != 0 ||
        jr_tee_add(&runner->tee, i, started, rank->plan, rank->outcome) != 0)
        fail_rank_watch(runner, rank);
    if (started->pid != 0)
        stop_late_rank(rank);
}

static bool may_start(const struct jr_runner *runner)
{
    return runner->setup.done && jr_mpi_world_is_ready(runner) &&
           runner->next < runner->plan->count && !jr_stop_has_begun(runner) &&
           !jr_first_failure_holds_stop(runner) && runner->loop.paused_ns == 0 &&
           (runner->plan->helper.argv == NULL || jr_helper_may_start(&runner->helper));
}

bool jr_launch_is_due(const struct jr_runner *runner)
{
    if (runner->helper.socket.fd >= 0 && runner->helper.pending > 0)
        return true;
    return runner->next < runner->plan->count && !jr_stop_has_begun(runner);
}

/* The helper says that it is a rank of ours. Without pidfds it has to be what the helper can have
 * forked: in the helper's session, or in one of its own by now. It keeps its number until we reap
 * it, for what forked it only ends, and leaves it to us. */
static int watch_forked(const struct jr_runner *runner, pid_t pid)
{
    if (!runner->starter.blind)
        return jr_pidfd_open(pid);
    pid_t session = pid > 1 ? getsid(pid) : -1;
    bool forked = session > 0 && (session == runner->helper.pid || session == pid);
    return forked ? jr_pidfd_stand_in() : -1;
}

static void on_forked(void *owner, uint32_t i, pid_t pid)
{
    struct jr_runner *runner = owner;
    int pidfd = i < runner->next ? watch_forked(runner, pid) : -1;
    if (pidfd < 0)
        return; /* ended, or not what was requested: it is reaped at the end */
    struct jr_rank_run *rank = &runner->ranks[i];
    if (rank->outcome->end == JR_END_START || rank->pid != 0) {
        (void)jr_child_signal(pidfd, pid, SIGKILL);
        (void)close(pidfd);
        return;
    }
    note_rank_started(rank, pid, pidfd, jr_clock_ns());
    stop_late_rank(rank);
}

void jr_launch_fail(struct jr_runner *runner, enum jr_stage stage, int error, const char *text)
{
    struct jr_started started = JR_STARTED_NONE;
    started.stage = stage;
    started.error = error;
    uint32_t i = 0;
    while (i < runner->next && runner->ranks[i].pid != 0)
        i++;
    if (jr_stop_has_begun(runner) || i >= runner->plan->count)
        return;
    if (i == runner->next)
        runner->next++;
    (void)snprintf(runner->outcome->start_text, sizeof runner->outcome->start_text, "%s", text);
    fail_rank_start(runner, &runner->ranks[i], &started);
}

static void on_helper_threads(void *owner, const char *text)
{
    jr_fork_stall_warn(owner, text);
}

static void on_helper_failed(void *owner, enum jr_stage stage, int error, const char *text)
{
    jr_launch_fail(owner, stage, error, text);
}

void jr_launch_open(struct jr_runner *runner)
{
    runner->helper =
        (struct jr_helper){.socket = {.fd = -1},
                           .process = {.fd = -1},
                           .hooks = {runner, on_forked, on_helper_threads, on_helper_failed}};
}

void jr_launch_begin(struct jr_runner *runner)
{
    enum jr_stage stage;
    if (runner->plan->helper.argv != NULL && runner->plan->count > 0 &&
        jr_helper_open(&runner->helper, &runner->starter, runner->plan, &runner->loop, &stage) != 0)
        jr_launch_fail(runner, stage, errno, "");
}

static bool are_texts_alike(const char *a, const char *b)
{
    return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

/* Whether a rank executes what another executes already, and where it does. */
static bool is_like(const struct jr_plan_rank *rank, const struct jr_plan_rank *other)
{
    return other != NULL && are_texts_alike(rank->argv[0], other->argv[0]) &&
           are_texts_alike(rank->workdir, other->workdir);
}

/* Begin to start several ranks, and watch each at once: by the time that the last one executes,
 * others may have ended, and the first of them is to be known. A program that no rank executes yet
 * comes alone: if it cannot be executed, no further rank is to be started. Returns how many were
 * begun. */
static uint32_t begin_batch(struct jr_runner *runner, struct jr_rank_run *first)
{
    struct jr_starter *starter = &runner->starter;
    uint32_t width = jr_start_width(starter), most = 1, count = 0;
    bool failed = false;
    while (most < width && runner->next + most < runner->plan->count &&
           is_like(first->plan, runner->proven) && is_like(first[most].plan, first->plan))
        most++;
    for (; count < most && !failed; count++) {
        failed = jr_start_begin(starter, count, first[count].plan) != 0;
        if (failed)
            continue;
        /* Or else later, once it executes. */
        (void)watch_rank(&first[count], starter->flights[count].started.pidfd);
        jr_start_release(starter, count);
    }
    return count;
}

/* Begin to start several ranks, and wait for all of them: between two batches no start is under
 * way. Those that execute come first, so that a failure finds them as ranks that run. */
static void start_batch(struct jr_runner *runner)
{
    struct jr_started started[JR_FLIGHTS];
    struct jr_rank_run *first = &runner->ranks[runner->next];
    uint32_t count = begin_batch(runner, first);
    runner->next += count;
    for (uint32_t n = 0; n < count; n++) {
        jr_start_end(&runner->starter, n, &started[n]);
        if (started[n].stage != JR_STAGE_NONE) {
            first[n].watch.fd = -1; /* it is closed, and so not watched */
            continue;
        }
        runner->proven = first[n].plan;
        accept_rank(runner, &first[n], &started[n]);
    }
    for (uint32_t n = 0; n < count; n++)
        if (started[n].stage != JR_STAGE_NONE)
            fail_rank_start(runner, &first[n], &started[n]);
}

bool jr_launch_turn(struct jr_runner *runner)
{
    struct jr_helper *helper = &runner->helper;
    bool busy = may_start(runner);
    uint32_t until = runner->next + STARTS_PER_TURN;
    while (runner->next < until && may_start(runner)) {
        struct jr_started started;
        if (runner->plan->helper.argv == NULL) {
            start_batch(runner);
            continue;
        }
        uint32_t i = runner->next++;
        struct jr_rank_run *rank = &runner->ranks[i];
        jr_helper_start(helper, &runner->starter, rank->plan, i, &started);
        if (started.stage == JR_STAGE_NONE)
            accept_rank(runner, rank, &started);
        else
            fail_rank_start(runner, rank, &started);
    }
    bool starting = jr_launch_is_due(runner);
    if (!starting)
        jr_stop_end_start(runner);
    jr_helper_fork(helper);
    if (jr_stop_has_begun(runner))
        jr_helper_kill(helper);
    if (!starting && helper->socket.fd >= 0)
        jr_helper_close(helper);
    return busy;
}
