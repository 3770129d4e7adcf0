/*
 * The ends of Python and library ranks, as they tell them, and which of them wait for the others.
 * internal.h declares it.
 *
 * Such a rank has a control socket (its descriptor 3 at first, which the worker keeps to itself).
 * It writes `b` before it runs what is the user's; `r` once that has returned and its result is
 * written, `t` where a script has come to its end and its threads go on, `f` once its exception is
 * written, or `x` and a code that is not 0 when it is going to exit with that, and then waits for a
 * byte, or for the end of the socket, before it continues to its end (first_failure.c). `x 0` says
 * that it exits without having returned, and waits for nothing. Whatever the rank forks has the
 * socket too, and is not the rank: only what the process wrote that jobrun started counts
 * (control.h).
 *
 * Functions and library steps have to return, with `exit_barrier` scripts and modules too. Others
 * are answered at once, and that is all: when such a rank is done is for it to say, by ending.
 *
 * With `exit_barrier` it gets that byte when every rank has returned, those of
 * the job's other nodes too (run_options.h: the link), or one has ended in
 * another way, or the run is stopped; else at once. From then on it has
 * `timeouts.exit` to end: threads that are no daemons and atexit handlers may
 * take for ever. After that it gets SIGKILL; a rank that has returned has
 * delivered all the same, and the report warns.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "run/internal.h"
#include "spawn/control.h"

#include "base/banned.h"

#define MS UINT64_C(1000000)

static void send_release(const struct jr_rank_run *rank)
{
    (void)send(rank->control.fd, "g", 1, MSG_DONTWAIT | MSG_NOSIGNAL);
}

/* Let it end, and begin to count `timeouts.exit`. */
static void let_rank_exit(struct jr_rank_run *rank)
{
    struct jr_runner *runner = rank->runner;
    uint64_t limit_ms = runner->plan->policy->timeouts.exit_ms;
    if (rank->control.fd < 0 || rank->leave_by != 0)
        return;
    send_release(rank);
    if (limit_ms == 0)
        return;
    rank->leave_by = jr_clock_ns() + limit_ms * MS;
    if (runner->exit_barrier.timer.at == 0)
        runner->exit_barrier.timer.at = rank->leave_by;
}

void jr_exit_barrier_release(struct jr_runner *runner)
{
    if (runner->exit_barrier.open)
        return;
    runner->exit_barrier.open = true;
    jr_node_link_report(runner, JR_REPORT_RELEASED, 0);
    for (uint32_t i = 0; i < runner->next; i++)
        if (runner->ranks[i].function_end == JR_FUNCTION_END_RETURNED)
            let_rank_exit(&runner->ranks[i]);
}

static void note_function_end(struct jr_rank_run *rank, enum jr_function_end end)
{
    struct jr_runner *runner = rank->runner;
    rank->function_end = end;
    if (!jr_control_is_awaited(runner->plan)) {
        send_release(rank);
        return;
    }
    rank->outcome->returned = end == JR_FUNCTION_END_RETURNED;
    JR_TELL(runner, .name = JR_EVENT_RANK_DONE, .rank = rank->plan->rank,
            .returned = end == JR_FUNCTION_END_RETURNED);
    if (end == JR_FUNCTION_END_FAILED) {
        let_rank_exit(rank);
        jr_exit_barrier_release(runner);
        return;
    }
    bool all = ++runner->exit_barrier.returned == runner->plan->count;
    if (all && runner->options->link == NULL)
        jr_exit_barrier_release(runner);
    else if (all) /* of several nodes, the others are waited for */
        jr_node_link_report(runner, JR_REPORT_ALL_RETURNED, 0);
    if (runner->exit_barrier.open)
        let_rank_exit(rank);
}

/* Whether the process is the rank. A fork's pid comes from the helper, which sends it before the
 * rank can write anything. */
static bool is_rank_itself(struct jr_rank_run *rank, pid_t pid)
{
    if (rank->pid == 0)
        jr_helper_receive(&rank->runner->helper);
    return rank->pid != 0 && rank->pid == pid;
}

static void handle_control_status(struct jr_rank_run *rank, const struct jr_control_status *status)
{
    const char *text = status->text;
    int code; /* of "x 3" */
    if (*text == 'b' && is_rank_itself(rank, status->from)) {
        jr_fork_stall_reached(rank);
        text++;
    }
    bool leaves = *text == 'r' || strcmp(text, "x 0") == 0;
    bool returned = *text == 'r' || *text == 't';
    if (!returned && *text != 'f' && *text != 'x')
        return;
    bool own = is_rank_itself(rank, status->from);
    if (own && leaves && rank->outcome->leaving_ns == 0) {
        jr_first_failure_hear_lines(rank->runner);
        rank->outcome->leaving_ns = jr_clock_ns();
    }
    if (leaves && !returned)
        return;
    if (!own) { /* what a wrapper started, most of the time, and that waits for a byte, too */
        if (returned && rank->outcome->returned_by == 0)
            rank->outcome->returned_by = status->from;
        if (!rank->other_released)
            send_release(rank);
        rank->other_released = true;
    }
    if (!own || rank->function_end != JR_FUNCTION_END_NONE)
        return;
    if (returned)
        jr_pin_returned(rank, text + 1);
    else
        jr_first_failure_announced(rank, sscanf(text, "x %d", &code) == 1 ? code : 0);
    note_function_end(rank, returned ? JR_FUNCTION_END_RETURNED : JR_FUNCTION_END_FAILED);
}

/* Returns how many bytes there were. */
static size_t read_control_status(struct jr_rank_run *rank)
{
    struct jr_control_status status;
    if (!jr_control_read(&status, rank->control.fd))
        return 0;
    if (status.len == 0)
        jr_loop_close(&rank->control);
    else
        handle_control_status(rank, &status);
    return status.len;
}

static void on_control_readable(void *owner, uint32_t events)
{
    (void)events;
    (void)read_control_status(owner);
}

/* Kill whose time is up, and wait for the next. */
static void on_exit_time(void *owner)
{
    struct jr_runner *runner = owner;
    uint64_t now = jr_clock_ns(), next = 0;
    for (uint32_t i = 0; i < runner->next; i++) {
        struct jr_rank_run *rank = &runner->ranks[i];
        if (rank->leave_by == 0 || rank->pid == 0 || rank->watch.fd < 0)
            continue;
        if (rank->leave_by > now) {
            next = next == 0 || rank->leave_by < next ? rank->leave_by : next;
            continue;
        }
        rank->leave_by = 0;
        rank->outcome->lingered = true;
        JR_TELL(runner, .name = JR_EVENT_TIMEOUT, .says = JR_SAYS(RANK), .timeout = JR_TIMEOUT_EXIT,
                .rank = rank->plan->rank);
        jr_rank_handle(rank, JR_RANK_ON_KILL, SIGKILL);
    }
    runner->exit_barrier.timer.at = next;
}

static int open_exit_barrier(struct jr_runner *runner)
{
    jr_runner_timer(runner, &runner->exit_barrier.timer, on_exit_time, true);
    runner->exit_barrier.open = !runner->plan->policy->exit_barrier;
    return 0;
}

static void extend_exit_limits(struct jr_runner *runner, uint64_t paused_ns)
{
    for (uint32_t i = 0; i < runner->next; i++)
        if (runner->ranks[i].leave_by != 0)
            runner->ranks[i].leave_by += paused_ns;
}

int jr_exit_barrier_add(struct jr_rank_run *rank, int fd)
{
    if (fd < 0)
        return 0;
    rank->control = (struct jr_watch){.fd = fd, .ready = on_control_readable, .owner = rank};
    return jr_loop_add(&rank->runner->loop, &rank->control, EPOLLIN);
}

static void end_control(struct jr_rank_run *rank)
{
    /* Its last word may not have been read yet; what others add from now on is not waited for. */
    size_t left = rank->control.fd < 0 ? 0 : jr_control_waiting(rank->control.fd);
    while (rank->control.fd >= 0 && rank->function_end == JR_FUNCTION_END_NONE && left > 0) {
        size_t len = read_control_status(rank);
        left = len == 0 || len > left ? 0 : left - len;
    }
    jr_loop_close(&rank->control);
    if (rank->function_end != JR_FUNCTION_END_RETURNED)
        jr_exit_barrier_release(rank->runner);
}

/* Before the stop signal those go that have returned; SIGKILL is for all. */
static void release_at_stop(struct jr_runner *runner)
{
    if (!jr_stop_is_forced(runner))
        jr_exit_barrier_release(runner);
}

const struct jr_runner_policy jr_exit_barrier_policy = {
    .name = "exit_barrier",
    .open = open_exit_barrier,
    .rank_ended = end_control,
    .stopping = release_at_stop,
    .resumed = extend_exit_limits,
};
