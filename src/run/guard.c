/*
 * The guard: the process that called jr_run. It does nothing but wait, relay signals, and, when the
 * runner is gone, end and reap what is left; so there is little that could go wrong with it. A
 * runner that ended by itself has left an outcome and nothing else. After one that was killed the
 * guard ends what it left, and records what it can no longer say; and if the console is behind, the
 * guard shows the rest.
 */
#include "run/guard.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/pidfd.h"
#include "output/catch_up.h"
#include "output/log_file.h"
#include "run/companion.h"
#include "run/internal.h"
#include "spawn/cgroup_tree.h"
#include "spawn/isolation.h"
#include "spawn/reap_descendants.h"
#include "store/run_folder.h"

#include "base/banned.h"

#define HELD_MS     100 /* for a tracer that has not yet waited for the runner's end */
#define END_LOOK_MS 1   /* between the end of its descriptors and of itself */

/* The guard of a run. */
struct guard {
    const struct jr_plan *plan;
    const struct jr_run_options *options;
    struct jr_shared *shared;
    struct jr_remainder *remainder;
    bool blind;  /* there are no pidfds: each watches the other by a pipe */
    int self_fd; /* a pidfd of our own, for the runner to watch; or the end of a
                    pipe */
    int life_fd; /* the other end, which only we have; -1: not there */
    pid_t runner;
    int runner_fd; /* its pidfd; -1: none */
    int alive_fd;  /* has an end once the runner goes, where it is init of a
                      namespace or there is no pidfd */
    int done_fd;   /* is written to by a runner that is done, and stays */
    int gate_fd;   /* an event: we have left the console; -1: not there */
    int signal_fd;
    int stop_signal; /* the first signal that means stop; 0 */
    struct jr_signals signals;
    struct jr_terminal terminal; /* --debug */
    struct jr_run_options own;   /* with the rank's end of it */
    int subreaper;               /* as it was, like those below */
    sigset_t mask;
    struct sigaction on_pipe, on_child;
};

/* The plan's rank with a terminal of its own, if there is one. */
static int open_terminal(struct guard *guard, struct jr_error *err)
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

static int open_guard(struct guard *guard)
{
    const struct jr_plan *plan = guard->plan;
    const struct jr_replay *earlier = guard->options->replay;
    sigset_t taken;
    int ends[2];
    guard->shared = jr_shared_new(plan->count);
    guard->remainder = jr_remainder_new(plan->count);
    /* What lets the runner see our end. */
    guard->blind = !jr_pidfd_works();
    if (!guard->blind) {
        guard->self_fd = jr_pidfd_open(getpid());
    } else if (pipe2(ends, O_CLOEXEC) == 0) {
        guard->self_fd = ends[0];
        guard->life_fd = ends[1];
    }
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

/* Returns the signal that came too late to stop the run; 0. */
static int close_guard(struct guard *guard)
{
    const int fds[] = {guard->self_fd, guard->life_fd, guard->runner_fd, guard->alive_fd,
                       guard->done_fd, guard->gate_fd, guard->signal_fd};
    jr_terminal_close(&guard->terminal);
    for (size_t i = 0; i < sizeof fds / sizeof *fds; i++)
        if (fds[i] >= 0)
            (void)close(fds[i]);
    jr_shared_free(guard->shared);
    jr_remainder_free(guard->remainder);
    /* Signals that came while the run was ending were for the run. */
    int late = jr_signals_await(&guard->signals, 0);
    while (jr_signals_await(&guard->signals, 0) != 0)
        continue;
    (void)prctl(PR_SET_CHILD_SUBREAPER, guard->subreaper);
    (void)sigaction(SIGPIPE, &guard->on_pipe, NULL);
    (void)sigaction(SIGCHLD, &guard->on_child, NULL);
    (void)sigprocmask(SIG_SETMASK, &guard->mask, NULL);
    return late;
}

/* A signal that stops the run and came before it began, while its code was recorded for instance;
 * 0. It stays pending. */
static int find_early_stop(const struct guard *guard)
{
    sigset_t pending;
    if (sigpending(&pending) != 0)
        return 0;
    for (int sig = 1; sig < NSIG; sig++)
        if (guard->signals.use[sig] == JR_SIGNAL_STOP && sigismember(&pending, sig) == 1)
            return sig;
    return 0;
}

static int fork_runner(struct guard *guard, const struct jr_budget *budget, struct jr_error *err)
{
    const struct jr_plan *plan = guard->plan;
    const struct jr_group *group = guard->options->group;
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
    bool isolated = plan->policy->isolation == JR_ISOLATION_PID;
    if ((guard->blind || isolated) && pipe2(ends, O_CLOEXEC) != 0)
        return jr_error_sys(err, JR_STATUS_LAUNCH, "could not set up the run");
    guard->alive_fd = ends[0];
    args.alive_fd = ends[1];
    pid_t runner = isolated ? jr_isolate_fork(group, err) : jr_group_fork(group);
    if (runner == 0)
        jr_runner_main(&args);
    if (runner < 0 && !isolated)
        (void)jr_error_sys(err, JR_STATUS_LAUNCH, "could not fork the runner");
    if (ends[1] >= 0)
        (void)close(ends[1]);
    if (guard->terminal.slave >= 0)
        (void)close(guard->terminal.slave);
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

/* The runner sits in a session of its own, so that it gets a signal from the terminal only once,
 * and from us. SIGCONT after a stop wakes a runner that was stopped. SIGTSTP stops us too, as a
 * shell expects of its job. */
static void relay_signal(struct guard *guard)
{
    struct termios mode;
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
    if (use != JR_SIGNAL_SUSPEND)
        return;
    /* A shell that we give the terminal to wants it as it was; with SIGCONT we have it again. */
    bool changed = guard->terminal.fd >= 0 && tcgetattr(guard->terminal.fd, &mode) == 0;
    jr_terminal_restore(&guard->terminal);
    (void)kill(getpid(), SIGSTOP);
    if (changed)
        (void)tcsetattr(guard->terminal.fd, TCSANOW, &mode);
    jr_terminal_resize(&guard->terminal);
}

/* Take the end of the runner, if it has one; `told` is whether its pidfd says
 * so. It is told first to who traces it. A rank may do that, and pass nothing
 * on: then the end is as /proc has it, and the rank is ended with the others.
 */
static bool take_runner_end(const struct guard *guard, bool told, siginfo_t *ret)
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

/* Returns false when that was too long: then it is not reaped. Nor is one that is done and
 * stays. */
static bool await_runner(struct guard *guard, siginfo_t *ret)
{
    struct pollfd fds[] = {{.fd = guard->signal_fd, .events = POLLIN},
                           {.fd = guard->runner_fd, .events = POLLIN},
                           {.fd = guard->alive_fd, .events = POLLIN},
                           {.fd = guard->done_fd, .events = POLLIN},
                           {.fd = -1, .events = POLLIN}};
    struct jr_replay *earlier = guard->options->replay;
    bool isolated = guard->plan->policy->isolation == JR_ISOLATION_PID;
    int wait_ms = -1;
    uint64_t until = 0;
    *ret = (siginfo_t){0};
    if (guard->gate_fd >= 0)
        fds[4].fd = earlier->loop.epoll_fd;
    while (!take_runner_end(guard, (fds[1].revents & POLLIN) != 0, ret)) {
        if (poll(fds, 5, wait_ms) == 0 && jr_clock_ns() >= until)
            return false;
        /* The runner's lines follow those of the earlier attempts. */
        bool shows = (fds[4].revents & POLLIN) != 0;
        if (shows)
            jr_replay_turn(earlier);
        if (shows && jr_replay_is_done(earlier)) {
            (void)eventfd_write(guard->gate_fd, 1);
            (void)close(guard->gate_fd);
            guard->gate_fd = fds[4].fd = -1;
        }
        if ((fds[0].revents & POLLIN) != 0)
            relay_signal(guard);
        if ((fds[3].revents & POLLIN) != 0)
            return true;
        if ((fds[2].revents & POLLHUP) != 0) {
            /* It has closed its end. The init of a namespace ends once all in it have, so it is
             * only its wait for them that is bounded. */
            fds[2].fd = -1;
            until = isolated ? jr_clock_ns() + JR_KILL_WAIT_NS : UINT64_MAX;
            wait_ms = guard->blind ? END_LOOK_MS : (int)(JR_KILL_WAIT_NS / 1000000);
        }
    }
    return true;
}

/* What the runner can no longer say, and the files that it was writing besides. */
static void record_loss(const struct guard *guard, int sig, const struct jr_reap *reap)
{
    const struct jr_plan *plan = guard->plan;
    struct jr_outcome *outcome = &guard->shared->outcome;
    struct jr_events events;
    outcome->runner_signal = sig;
    outcome->ended_ns = jr_clock_ns();
    outcome->ended_wall_ns = jr_clock_wall_ns();
    jr_outcome_kill(outcome);
    jr_outcome_note_logs(outcome, plan, guard->options->dir->fd);
    if (guard->options->link != NULL)
        jr_events_open_fd(&events, guard->options->link->events_fd, 0);
    else
        jr_events_open(&events, guard->options->dir->fd, guard->options->dir->file_mode);
    jr_events_add(&events, &(struct jr_event){.name = JR_EVENT_RUNNER_LOST,
                                              .signal = sig,
                                              .processes = reap->killed,
                                              .left = reap->left});
    jr_events_close(&events);
    for (uint32_t i = 0; i < plan->count; i++) {
        const struct jr_plan_rank *rank = &plan->ranks[plan->first + i];
        const char *const paths[] = {rank->out_path, rank->err_path};
        for (int stream = 0; rank->limited && stream < 2; stream++)
            if (paths[stream] != NULL)
                jr_log_file_tidy(guard->options->dir->fd, paths[stream]);
    }
}

static void finish_outcome(struct guard *guard, siginfo_t *end)
{
    struct jr_outcome *outcome = &guard->shared->outcome;
    struct jr_companion *companion = guard->options->companion;
    struct jr_reap reap;
    /* A runner that is done has left nothing; it stays until the record is written, unless we have
     * other children, which cannot be swept with it there. */
    if (end->si_pid == 0) {
        end->si_code = CLD_EXITED;
        companion->pid = guard->runner;
        companion->fd = guard->runner_fd;
        companion->life_fd = guard->life_fd;
        guard->runner_fd = guard->life_fd = -1;
        if (jr_reap_only(companion->pid))
            return;
        jr_companion_release(companion);
    }
    /* What the runner could not end has had its time. */
    jr_reap(&reap, outcome->left > 0 ? 0 : JR_KILL_WAIT_NS, guard->options->group);
    outcome->left = reap.left;
    memcpy(outcome->left_pids, reap.left_pids, sizeof reap.left_pids);
    if (end->si_code == CLD_EXITED)
        return;
    record_loss(guard, end->si_status, &reap);
}

/* Where a rank died of a signal that stops jobrun, too, and jobrun has not got it yet, it is worth
 * a moment to learn whether it was meant for both. */
static void receive_share(struct guard *guard)
{
    struct jr_outcome *outcome = &guard->shared->outcome;
    int hit = jr_outcome_hit(outcome);
    if (outcome->preempted || outcome->stop_signal != 0 || hit <= 0 || hit >= NSIG ||
        guard->signals.use[hit] != JR_SIGNAL_STOP)
        return;
    if (guard->stop_signal == 0)
        guard->stop_signal = jr_signals_await(&guard->signals, jr_clock_ns() + JR_SHARE_NS);
    if (guard->stop_signal == 0)
        return;
    outcome->stop_signal = guard->stop_signal;
    jr_outcome_share(outcome->ranks, outcome->count, guard->stop_signal, outcome->ended_ns);
}

/* The console continues where the runner has come to its end with it: with the earlier attempts, or
 * here and now. */
static void replay_console(const struct guard *guard)
{
    const struct jr_run_options *options = guard->options;
    bool stopped = guard->shared->outcome.stop_signal != 0;
    struct jr_replay own, *replay = options->replay == NULL ? &own : options->replay;
    if (!guard->shared->finished)
        return;
    bool open = replay != &own || jr_replay_open(&own, options->out_fd, options->err_fd,
                                                 options->dir->fd, options->color) == 0;
    if (open)
        jr_replay_add(replay, guard->plan, guard->remainder);
    if (open && stopped)
        jr_replay_hurry(replay);
    if (replay != &own)
        return;
    if (open)
        jr_replay_finish(&own, guard->plan->policy, &options->ignored);
    guard->shared->outcome.console_failed |= own.console.failed;
    jr_replay_close(&own);
}

/* Complete the outcome after the runner, whose end is `end`: end and reap what is left, record a
 * runner that was killed, and show what it has left for the console. `gone`: the runner has ended,
 * or is done and stays; else it could not be reaped, and is named among what is left. Returns 0
 * when there is an outcome, else -1 with `err`. */
static int finish_guard(struct guard *guard, bool gone, siginfo_t *end, struct jr_error *err)
{
    const struct jr_shared *shared = guard->shared;
    struct jr_outcome *outcome = &guard->shared->outcome;
    if (gone) {
        finish_outcome(guard, end);
    } else {
        /* What the runner could not end, it has named; if it was killed, it is what is left
         * itself. */
        end->si_code = shared->finished ? CLD_EXITED : CLD_KILLED;
        end->si_status = shared->finished ? 0 : SIGKILL;
        if (outcome->left == 0) {
            outcome->left = 1;
            outcome->left_pids[0] = guard->runner;
        }
    }
    if (!shared->finished && end->si_code == CLD_EXITED) {
        if (shared->began || shared->error.text[0] == '\0')
            return jr_error_set(err, JR_STATUS_LAUNCH,
                                "the runner ended by itself with exit code %d", end->si_status);
        if (err != NULL)
            *err = shared->error;
        return -1;
    }
    receive_share(guard);
    replay_console(guard);
    return 0;
}

int jr_run(struct jr_outcome *ret, const struct jr_plan *plan, const struct jr_run_options *options,
           struct jr_error *err)
{
    struct guard guard = {.plan = plan,
                          .options = options,
                          .self_fd = -1,
                          .life_fd = -1,
                          .runner_fd = -1,
                          .alive_fd = -1,
                          .done_fd = -1,
                          .gate_fd = -1,
                          .signal_fd = -1};
    struct jr_budget budget;
    siginfo_t end;
    int result = -1;
    if (jr_budget_check(&budget, plan, options, err) != 0 || open_terminal(&guard, err) != 0)
        return -1;
    if (open_guard(&guard) != 0) {
        (void)jr_error_sys(err, JR_STATUS_LAUNCH, "could not set up the run");
        (void)close_guard(&guard);
        return -1;
    }
    guard.shared->guard = getpid();
    guard.shared->outcome.started_ns = jr_clock_ns();
    guard.shared->outcome.started_wall_ns = jr_clock_wall_ns();
    if (fork_runner(&guard, &budget, err) == 0) {
        bool gone = await_runner(&guard, &end);
        result = finish_guard(&guard, gone, &end, err);
    }
    if (result == 0 && jr_shared_copy(ret, guard.shared) != 0)
        result = jr_error_sys(err, JR_STATUS_LAUNCH, "the outcome");
    int late = close_guard(&guard);
    if (result == 0)
        ret->late_signal = late;
    return result;
}

/* Between attempts. */

void jr_between_attempts_open(struct jr_between_attempts *ret, const struct jr_policy *policy,
                              const sigset_t *ignored)
{
    sigset_t taken;
    jr_signals_make(&ret->signals, policy, ignored);
    jr_signals_set(&ret->signals, &taken);
    (void)sigprocmask(SIG_BLOCK, &taken, &ret->mask);
}

/* Sleep until a signal has come, all is shown, or the time is over. */
static void show_replay_until(const struct jr_between_attempts *pause, uint64_t until_ns,
                              struct jr_replay *replay)
{
    sigset_t taken;
    jr_signals_set(&pause->signals, &taken);
    JR_CLOSE int signals = signalfd(-1, &taken, SFD_CLOEXEC);
    struct pollfd fds[] = {{.fd = replay->loop.epoll_fd, .events = POLLIN},
                           {.fd = signals, .events = POLLIN}};
    jr_replay_turn(replay);
    while (signals >= 0 && !jr_replay_is_done(replay)) {
        if (poll(fds, 2, jr_clock_poll_ms(until_ns)) <= 0 || fds[1].revents != 0)
            return;
        jr_replay_turn(replay);
    }
}

int jr_between_attempts_wait(const struct jr_between_attempts *pause, uint64_t ms,
                             struct jr_replay *replay)
{
    uint64_t now = jr_clock_ns(), ns = UINT64_MAX - now;
    if (ms < ns / 1000000)
        ns = ms * 1000000;
    if (replay != NULL)
        show_replay_until(pause, now + ns, replay);
    return jr_signals_await(&pause->signals, now + ns);
}

void jr_between_attempts_close(const struct jr_between_attempts *pause)
{
    while (jr_signals_await(&pause->signals, 0) != 0)
        continue;
    (void)sigprocmask(SIG_SETMASK, &pause->mask, NULL);
}
