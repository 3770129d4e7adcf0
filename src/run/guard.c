/*
 * The guard: the process that called jr_run. It does nothing but wait, relay signals, and, when the
 * runner is gone, end and reap what is left (guard_end.c); so there is little that could go wrong
 * with it.
 */
#include "run/guard.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/pidfd.h"
#include "eventloop/signals.h"
#include "output/replay.h"
#include "run/companion.h"
#include "run/guard_end.h"
#include "run/runner.h"
#include "spawn/cgroup_tree.h"
#include "spawn/isolation.h"
#include "spawn/terminal.h"

#include "base/banned.h"

/* The plan's rank with a terminal of its own, if there is one. */
static int open_terminal(struct jr_guard *guard, struct jr_error *err)
{
    const struct jr_plan *plan = guard->plan;
    uint32_t i = 0;
    guard->terminal = (struct jr_terminal)JR_TERMINAL_NONE;
    while (i < plan->count && plan->ranks[plan->first + i].input != JR_INPUT_TERMINAL)
        i++;
    if (i == plan->count)
        return 0;
    if (jr_terminal_open(&guard->terminal, guard->options->in_fd, err) != 0)
        return -1;
    guard->own = *guard->options;
    guard->own.in_fd = guard->terminal.slave;
    guard->options = &guard->own;
    return 0;
}

/* What lets the runner see our end. */
static void open_life(struct jr_guard *guard)
{
    int ends[2];
    guard->blind = !jr_pidfd_works();
    if (!guard->blind) {
        guard->self_fd = jr_pidfd_open(getpid());
    } else if (pipe2(ends, O_CLOEXEC) == 0) {
        guard->self_fd = ends[0];
        guard->life_fd = ends[1];
    }
}

static int open_guard(struct jr_guard *guard)
{
    const struct jr_plan *plan = guard->plan;
    const struct jr_replay *earlier = guard->options->replay;
    sigset_t taken;
    guard->shared = jr_shared_new(plan->count);
    guard->remainder = jr_remainder_new(plan->count);
    open_life(guard);
    if (guard->options->companion != NULL)
        guard->done_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (earlier != NULL && !jr_replay_is_done(earlier))
        guard->gate_fd = eventfd(0, EFD_CLOEXEC);
    jr_signals_make(&guard->signals, plan->policy, &guard->options->ignored);
    jr_signals_set(&guard->signals, &taken);
    if (guard->terminal.fd >= 0)
        (void)sigaddset(&taken, SIGWINCH);
    guard->signal_fd = signalfd(-1, &taken, SFD_CLOEXEC | SFD_NONBLOCK);
    (void)sigaddset(&taken, SIGCHLD);
    (void)sigprocmask(SIG_BLOCK, &taken, &guard->mask);
    (void)sigaction(SIGPIPE, &(struct sigaction){.sa_handler = SIG_IGN}, &guard->on_pipe);
    /* Where it is ignored on entry, ends cannot be waited for. */
    (void)sigaction(SIGCHLD, &(struct sigaction){.sa_handler = SIG_DFL}, &guard->on_child);
    (void)prctl(PR_GET_CHILD_SUBREAPER, &guard->subreaper);
    if (guard->shared == NULL || guard->remainder == NULL || guard->self_fd < 0 ||
        guard->signal_fd < 0)
        return -1;
    return prctl(PR_SET_CHILD_SUBREAPER, 1);
}

static void close_guard_fd(int fd)
{
    if (fd >= 0)
        (void)close(fd);
}

/* Signals that came while the run was ending were for the run. Returns the first of them that means
 * stop; 0. */
static int drop_pending(const struct jr_guard *guard)
{
    int first = jr_signals_await(&guard->signals, 0);
    while (jr_signals_await(&guard->signals, 0) != 0)
        continue;
    return first;
}

/* Returns the signal that came too late to stop the run; 0. */
static int close_guard(struct jr_guard *guard)
{
    jr_terminal_close(&guard->terminal);
    close_guard_fd(guard->self_fd);
    close_guard_fd(guard->life_fd);
    close_guard_fd(guard->runner_fd);
    close_guard_fd(guard->alive_fd);
    close_guard_fd(guard->done_fd);
    close_guard_fd(guard->gate_fd);
    close_guard_fd(guard->signal_fd);
    jr_shared_free(guard->shared);
    jr_remainder_free(guard->remainder);
    int late = drop_pending(guard);
    (void)prctl(PR_SET_CHILD_SUBREAPER, guard->subreaper);
    (void)sigaction(SIGPIPE, &guard->on_pipe, NULL);
    (void)sigaction(SIGCHLD, &guard->on_child, NULL);
    (void)sigprocmask(SIG_SETMASK, &guard->mask, NULL);
    return late;
}

/* Returns the runner's pid; 0 never, for the runner does not come back. */
static pid_t fork_isolated_runner(const struct jr_guard *guard, const struct jr_runner_args *args,
                                  struct jr_error *err)
{
    const struct jr_group *group = guard->options->group;
    bool isolated = args->plan->policy->isolation == JR_ISOLATION_PID;
    pid_t runner = isolated ? jr_isolate_fork(group, err) : jr_group_fork(group);
    if (runner == 0)
        jr_runner_main(args);
    if (runner < 0 && !isolated)
        (void)jr_error_sys(err, JR_STATUS_LAUNCH, "could not fork the runner");
    return runner;
}

/* A signal that stops the run and came before it began, while its code was recorded for instance;
 * 0. It stays pending. */
static int find_early_stop(const struct jr_guard *guard)
{
    sigset_t pending;
    if (sigpending(&pending) != 0)
        return 0;
    for (int sig = 1; sig < NSIG; sig++)
        if (guard->signals.use[sig] == JR_SIGNAL_STOP && sigismember(&pending, sig) == 1)
            return sig;
    return 0;
}

static int fork_runner(struct jr_guard *guard, const struct jr_budget *budget, struct jr_error *err)
{
    const struct jr_plan *plan = guard->plan;
    struct jr_runner_args args = {.plan = plan,
                                  .options = guard->options,
                                  .shared = guard->shared,
                                  .remainder = guard->remainder,
                                  .budget = budget,
                                  .guard_fd = guard->self_fd,
                                  .life_fd = guard->life_fd,
                                  .done_fd = guard->done_fd,
                                  .terminal = &guard->terminal,
                                  .gate_fd = guard->gate_fd,
                                  .stop_signal = find_early_stop(guard),
                                  .alive_fd = -1};
    int ends[2] = {-1, -1};
    bool alive = guard->blind || plan->policy->isolation == JR_ISOLATION_PID;
    if (alive && pipe2(ends, O_CLOEXEC) != 0)
        return jr_error_sys(err, JR_STATUS_LAUNCH, "could not set up the run");
    guard->alive_fd = ends[0];
    args.alive_fd = ends[1];
    pid_t runner = fork_isolated_runner(guard, &args, err);
    close_guard_fd(ends[1]);
    close_guard_fd(guard->terminal.slave);
    guard->terminal.slave = -1;
    if (runner < 0)
        return -1;
    guard->runner = runner;
    guard->runner_fd = guard->blind ? -1 : jr_pidfd_open(runner);
    /* The one of the attempt before has been relieved. */
    if (guard->options->companion != NULL)
        jr_companion_release(guard->options->companion);
    if (guard->runner_fd >= 0 || guard->blind)
        return 0;
    (void)jr_error_sys(err, JR_STATUS_LAUNCH, "the runner's pidfd");
    (void)kill(runner, SIGKILL);
    (void)waitpid(runner, NULL, 0);
    return -1;
}

/* A shell that we give the terminal to wants it as it was; with SIGCONT we have it again. */
static void suspend_guard(const struct jr_guard *guard)
{
    struct termios mode;
    bool changed = guard->terminal.fd >= 0 && tcgetattr(guard->terminal.fd, &mode) == 0;
    jr_terminal_restore(&guard->terminal);
    (void)kill(getpid(), SIGSTOP);
    if (changed)
        (void)tcsetattr(guard->terminal.fd, TCSANOW, &mode);
    jr_terminal_resize(&guard->terminal);
}

/* The runner sits in a session of its own, so that it gets a signal from the terminal only once,
 * and from us. SIGCONT after a stop wakes a runner that was stopped. SIGTSTP stops us too, as a
 * shell expects of its job. */
static void relay_signal(struct jr_guard *guard)
{
    pid_t pid;
    int sig = jr_signal_read(guard->signal_fd, &pid);
    enum jr_signal_use use = guard->signals.use[sig];
    if (sig == SIGWINCH)
        jr_terminal_resize(&guard->terminal);
    if (use == JR_SIGNAL_NONE || use == JR_SIGNAL_DROP)
        return;
    (void)jr_child_signal(guard->runner_fd, guard->runner, sig);
    if (use == JR_SIGNAL_STOP && guard->stop_signal == 0)
        guard->stop_signal = sig;
    if (use == JR_SIGNAL_STOP)
        (void)jr_child_signal(guard->runner_fd, guard->runner, SIGCONT);
    if (use == JR_SIGNAL_SUSPEND)
        suspend_guard(guard);
}

/* The runner's lines follow those of the earlier attempts. */
static void replay_earlier_attempts(struct jr_guard *guard)
{
    struct jr_replay *earlier = guard->options->replay;
    jr_replay_turn(earlier);
    if (jr_replay_is_done(earlier)) {
        (void)eventfd_write(guard->gate_fd, 1);
        close_guard_fd(guard->gate_fd);
        guard->gate_fd = -1;
    }
}

#define HELD_MS 100 /* for a tracer that has not yet waited for it */

/* Take the end of the runner, if it has one; `told` is whether its pidfd says
 * so. It is told first to who traces it. A rank may do that, and pass nothing
 * on: then the end is as /proc has it, and the rank is ended with the others.
 */
static bool take_runner_end(const struct jr_guard *guard, bool told, siginfo_t *ret)
{
    for (int i = 0; i < HELD_MS; i++) {
        if (jr_child_wait(guard->runner_fd, guard->runner, ret, NULL) != 0 || ret->si_pid != 0)
            return true;
        if (!told)
            return false;
        (void)nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    int sig = jr_companion_signal(guard->runner_fd, guard->runner, -1);
    *ret = (siginfo_t){.si_code = sig == 0 ? CLD_EXITED : CLD_KILLED};
    ret->si_pid = guard->runner;
    ret->si_status = sig;
    return true;
}

#define END_LOOK_MS 1 /* between the end of its descriptors and of itself */

/* The runner has closed its end of alive_fd. Returns the milliseconds until the next look, and the
 * moment at which it was waited for long enough: the init of a namespace ends once all in it have,
 * so it is only its wait for them that is bounded. */
static int begin_end_wait(const struct jr_guard *guard, uint64_t *ret_until)
{
    bool isolated = guard->plan->policy->isolation == JR_ISOLATION_PID;
    *ret_until = isolated ? jr_clock_ns() + JR_KILL_WAIT_NS : UINT64_MAX;
    return guard->blind ? END_LOOK_MS : (int)(JR_KILL_WAIT_NS / 1000000);
}

/* Returns false when that was too long: then it is not reaped. Nor is one that is done and
 * stays. */
static bool await_runner(struct jr_guard *guard, siginfo_t *ret)
{
    struct pollfd fds[] = {{.fd = guard->signal_fd, .events = POLLIN},
                           {.fd = guard->runner_fd, .events = POLLIN},
                           {.fd = guard->alive_fd, .events = POLLIN},
                           {.fd = guard->done_fd, .events = POLLIN},
                           {.fd = -1, .events = POLLIN}};
    if (guard->gate_fd >= 0)
        fds[4].fd = guard->options->replay->loop.epoll_fd;
    int wait_ms = -1;
    uint64_t until = 0;
    *ret = (siginfo_t){0};
    while (!take_runner_end(guard, (fds[1].revents & POLLIN) != 0, ret)) {
        if (poll(fds, 5, wait_ms) == 0 && jr_clock_ns() >= until)
            return false;
        if ((fds[4].revents & POLLIN) != 0)
            replay_earlier_attempts(guard);
        if (guard->gate_fd < 0)
            fds[4].fd = -1;
        if ((fds[0].revents & POLLIN) != 0)
            relay_signal(guard);
        if ((fds[3].revents & POLLIN) != 0)
            return true;
        if ((fds[2].revents & POLLHUP) != 0) {
            fds[2].fd = -1;
            wait_ms = begin_end_wait(guard, &until);
        }
    }
    return true;
}

static int run_guarded(struct jr_guard *guard, const struct jr_budget *budget,
                       struct jr_outcome *ret, struct jr_error *err)
{
    siginfo_t end;
    guard->shared->guard = getpid();
    guard->shared->outcome.started_ns = jr_clock_ns();
    guard->shared->outcome.started_wall_ns = jr_clock_wall_ns();
    if (fork_runner(guard, budget, err) != 0)
        return -1;
    bool gone = await_runner(guard, &end);
    if (jr_guard_end(guard, gone, &end, err) != 0)
        return -1;
    if (jr_shared_copy(ret, guard->shared) != 0)
        return jr_error_sys(err, JR_STATUS_LAUNCH, "the outcome");
    return 0;
}

int jr_run(struct jr_outcome *ret, const struct jr_plan *plan, const struct jr_run_options *options,
           struct jr_error *err)
{
    struct jr_guard guard = {.plan = plan,
                             .options = options,
                             .self_fd = -1,
                             .life_fd = -1,
                             .runner_fd = -1,
                             .alive_fd = -1,
                             .done_fd = -1,
                             .gate_fd = -1,
                             .signal_fd = -1};
    struct jr_budget budget;
    if (jr_budget_check(&budget, plan, options, err) != 0 || open_terminal(&guard, err) != 0)
        return -1;
    int result = -1;
    if (open_guard(&guard) != 0)
        (void)jr_error_sys(err, JR_STATUS_LAUNCH, "could not set up the run");
    else
        result = run_guarded(&guard, &budget, ret, err);
    int late = close_guard(&guard);
    if (result == 0)
        ret->late_signal = late;
    return result;
}
