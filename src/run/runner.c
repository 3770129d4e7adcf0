/*
 * The runner: starts the ranks, moves their output, stops them, and leaves no process behind.
 * internal.h declares it; see guard.c for the other process.
 *
 * What ranks that ended by themselves have left running is told before it is killed, by the rank. A
 * helper that ends with its rank (a pool that reads to the end of a pipe, a tracker of resources,
 * the last part of a pipeline) is none: each process has a moment after its rank's end, and a
 * longer one if it wants the CPU then. It is waited for only where there is such a process, and not
 * beyond the last that ends. What is left of ranks that were stopped, or died by a signal, is
 * nobody's surprise, and is not told.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/num.h"
#include "base/pidfd.h"
#include "base/proc.h"
#include "eventloop/signals.h"
#include "run/companion.h"
#include "run/internal.h"
#include "spawn/cgroup_tree.h"
#include "spawn/isolation.h"
#include "spawn/reap_descendants.h"
#include "store/run_folder.h"

#include "base/banned.h"

#define DESCENT_NS 50000000            /* for descendants outside of the group */
#define MOMENT_NS  UINT64_C(100000000) /* what a helper has to end by itself */
#define BUSY_NS    UINT64_C(500000000) /* where it still computes by then */
#define LOOK_NS    10000000            /* between two looks */
#define DESCENT    64                  /* generations that are followed */

void jr_runner_timer(struct jr_runner *runner, struct jr_timer *timer, void (*due)(void *),
                     bool pauses)
{
    *timer = (struct jr_timer){.due = due, .owner = runner, .pauses = pauses};
    jr_loop_timer(&runner->loop, timer);
}

void jr_runner_handle_all(struct jr_runner *runner, enum jr_rank_event event, int sig)
{
    for (uint32_t i = 0; i < runner->next; i++)
        jr_rank_handle(&runner->ranks[i], event, sig);
    if (event != JR_RANK_ON_FORWARD)
        jr_rank_handle(&runner->setup.run, event, sig);
}

static void on_runner_signal(void *owner, uint32_t events)
{
    (void)events;
    struct jr_runner *runner = owner;
    uint64_t paused_ns;
    pid_t pid = 0;
    int sig = jr_signal_read(runner->signals.fd, &pid);
    switch (runner->uses.use[sig]) {
    case JR_SIGNAL_STOP:
        if (!jr_preemption_takes(runner, sig))
            jr_stop_signal(runner, sig, jr_clock_ns());
        break;
    case JR_SIGNAL_FORWARD:
        if (jr_deadline_takes(runner, sig))
            break;
        JR_TELL(runner, .name = JR_EVENT_FORWARD, .signal = sig);
        jr_runner_handle_all(runner, JR_RANK_ON_FORWARD, sig);
        break;
    /* By Ctrl-Z, or SIGTSTP in any other way. The ranks get SIGSTOP, each with its group, and no
     * further one is started. No time passes for them: timeouts stand still and go on with what
     * they had left once SIGCONT comes. A stop that has begun is not suspended, nor is its
     * grace. */
    case JR_SIGNAL_SUSPEND:
        jr_loop_pause(&runner->loop);
        jr_policies_suspended(runner);
        jr_runner_handle_all(runner, JR_RANK_ON_SUSPEND, 0);
        break;
    case JR_SIGNAL_RESUME:
        paused_ns = jr_loop_resume(&runner->loop);
        jr_runner_handle_all(runner, JR_RANK_ON_RESUME, 0);
        jr_policies_resumed(runner, paused_ns);
        break;
    case JR_SIGNAL_DROP:
        break;
    case JR_SIGNAL_NONE:
        runner->orphan = sig == SIGCHLD ? pid : runner->orphan;
        break;
    }
}

static void on_guard_end(void *owner, uint32_t events)
{
    (void)events;
    struct jr_runner *runner = owner;
    jr_loop_remove(&runner->loop, &runner->guard);
    runner->guard_lost = true;
    JR_TELL(runner, .name = JR_EVENT_GUARD_LOST);
    jr_console_writer_abandon(&runner->console);
}

/* What earlier attempts left to show has been shown. */
static void on_gate_opened(void *owner, uint32_t events)
{
    (void)events;
    struct jr_runner *runner = owner;
    jr_loop_remove(&runner->loop, &runner->gate);
    jr_loop_close(&runner->gate);
    jr_console_writer_open_gate(&runner->console);
}

static bool is_watched_process(const struct jr_rank_run *rank, pid_t pid)
{
    return rank->pid == pid && rank->watch.fd >= 0;
}

/* The watch of a process that is not only somebody's orphan; NULL. Ranks that end at once are
 * looked for in their order, so each begins where the one before was found. */
static struct jr_watch *find_process_watch(struct jr_runner *runner, pid_t pid)
{
    if (runner->helper.pid == pid && runner->helper.process.fd >= 0)
        return &runner->helper.process;
    if (is_watched_process(&runner->setup.run, pid))
        return &runner->setup.run.watch;
    for (uint32_t i = 0; i < runner->next; i++) {
        uint32_t at = (runner->found + i) % runner->next;
        if (!is_watched_process(&runner->ranks[at], pid))
            continue;
        runner->found = at;
        return &runner->ranks[at].watch;
    }
    return jr_hang_watch(runner, pid);
}

/* Reap daemons that have ended. Ranks are left to their pidfds, whose order is
 * the kernel's; usually SIGCHLD is about one that is already reaped. If it
 * hides that of an orphan, there is a zombie until the next one, or the end.
 */
static void reap_orphans(struct jr_runner *runner)
{
    siginfo_t info = {0};
    pid_t pid = runner->orphan;
    runner->orphan = 0;
    jr_helper_receive(&runner->helper);
    /* A group counts its zombies, too: while one is waited for, none stays. */
    if (runner->running == 0 && jr_stop_waits(runner))
        (void)waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT);
    else if (pid == 0 || waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) != 0)
        return;
    while (info.si_pid != 0 && find_process_watch(runner, info.si_pid) == NULL) {
        (void)waitid(P_PID, (id_t)info.si_pid, &info, WEXITED | WNOHANG);
        info.si_pid = 0;
        (void)waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT);
    }
}

/* One that has ended: the one that SIGCHLD named, which was the first of those that ended since it
 * was heard before, else any. 0: none has. */
static pid_t next_ended_child(struct jr_runner *runner)
{
    siginfo_t info = {0};
    pid_t pid = runner->orphan;
    runner->orphan = 0;
    if (pid > 0 && waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) != 0)
        info.si_pid = 0;
    if (info.si_pid == 0 && waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) != 0)
        return 0;
    return info.si_pid;
}

/* Without pidfds: take the ends of all children. Of several at once only the first is known to have
 * been it; the others follow in the order in which they were started. */
static void take_ended_children(struct jr_runner *runner)
{
    siginfo_t info;
    pid_t pid;
    if (runner->orphan == 0)
        return;
    while ((pid = next_ended_child(runner)) != 0) {
        /* Who forked a rank has said so before it left it to us. */
        jr_helper_receive(&runner->helper);
        struct jr_watch *watch = find_process_watch(runner, pid);
        if (watch != NULL)
            watch->ready(watch->owner, EPOLLIN);
        else
            (void)waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG);
        if (watch != NULL && watch->fd >= 0)
            return; /* it was not taken */
    }
}

/* From open to end. */

static int watch_runner_signals(struct jr_runner *runner)
{
    sigset_t set;
    jr_signals_make(&runner->uses, runner->plan->policy, &runner->options->ignored);
    jr_signals_set(&runner->uses, &set);
    (void)sigaddset(&set, SIGCHLD);
    (void)sigprocmask(SIG_BLOCK, &set, NULL);
    runner->signals = (struct jr_watch){.fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK),
                                        .ready = on_runner_signal,
                                        .owner = runner};
    if (runner->signals.fd < 0)
        return -1;
    return jr_loop_add(&runner->loop, &runner->signals, EPOLLIN);
}

static int open_process(const struct jr_runner_args *args)
{
    /* The caller's handlers are not for us, nor for a child side before execve. A log or console
     * that cannot be written is an error, not an end. */
    struct sigaction action, ignore = {.sa_handler = SIG_IGN};
    (void)sigaction(SIGPIPE, &ignore, NULL);
    (void)sigaction(SIGXFSZ, &ignore, NULL);
    for (int sig = 1; sig < NSIG; sig++)
        if (sigaction(sig, NULL, &action) == 0 && action.sa_handler != SIG_IGN &&
            action.sa_handler != SIG_DFL)
            (void)sigaction(sig, &(struct sigaction){.sa_handler = SIG_DFL}, NULL);
    if (setsid() < 0 || prctl(PR_SET_CHILD_SUBREAPER, 1) != 0)
        return -1;
    (void)prctl(PR_SET_NAME, JR_RUNNER_NAME);
    /* Somebody may have stopped us when the guard is killed. */
    (void)prctl(PR_SET_PDEATHSIG, SIGCONT);
    if (args->budget->raise)
        return setrlimit(RLIMIT_NOFILE, &args->budget->wanted);
    return 0;
}

static int open_runner(struct jr_runner *runner, const struct jr_runner_args *args)
{
    const struct jr_run_options *options = args->options;
    const struct jr_plan *plan = args->plan;
    /* Not where the slots will be; and none of the ranks' (child.c). */
    if (args->alive_fd >= 0 && fcntl(args->alive_fd, F_DUPFD_CLOEXEC, JR_SLOT_END) < 0)
        return -1;
    if (args->alive_fd >= 0)
        (void)close(args->alive_fd);
    runner->guard.fd = fcntl(args->guard_fd, F_DUPFD_CLOEXEC, JR_SLOT_END);
    if (args->life_fd >= 0)
        (void)close(args->life_fd);
    if (args->done_fd >= 0)
        runner->done_fd = fcntl(args->done_fd, F_DUPFD_CLOEXEC, JR_SLOT_END);
    if (args->gate_fd >= 0)
        runner->gate.fd = fcntl(args->gate_fd, F_DUPFD_CLOEXEC, JR_SLOT_END);
    runner->ranks = calloc((size_t)plan->count + 1, sizeof(struct jr_rank_run));
    for (uint32_t i = 0; runner->ranks != NULL && i < plan->count; i++)
        runner->ranks[i] = (struct jr_rank_run){.runner = runner,
                                                .watch = {.fd = -1},
                                                .control = {.fd = -1},
                                                .line = {.fd = -1},
                                                .group = plan->policy->stop_target == JR_STOP_GROUP,
                                                .shielded = options->shields,
                                                .plan = &plan->ranks[plan->first + i],
                                                .outcome = &runner->outcome->ranks[i]};
    if (runner->ranks == NULL || runner->guard.fd < 0 || jr_node_link_keep(runner) != 0 ||
        jr_lease_callers_keep(runner) != 0 || open_process(args) != 0 ||
        jr_starter_open(&runner->starter, args->plan, options, args->budget) != 0 ||
        jr_loop_open(&runner->loop) != 0 || watch_runner_signals(runner) != 0 ||
        jr_loop_add(&runner->loop, &runner->guard, EPOLLIN) != 0)
        return -1;
    if (options->companion != NULL)
        jr_companion_hold(JR_SLOT_DIR, options->companion->key);
    if (options->link == NULL)
        jr_events_open(&runner->events, JR_SLOT_DIR, options->dir->file_mode);
    jr_console_writer_open(&runner->console, &runner->loop, options->out_fd < 0 ? -1 : JR_SLOT_OUT,
                           options->err_fd < 0 ? -1 : JR_SLOT_ERR);
    runner->console.gated =
        runner->gate.fd >= 0 && jr_loop_add(&runner->loop, &runner->gate, EPOLLIN) == 0;
    const struct jr_tee_setup tee = {.loop = &runner->loop,
                                     .console = &runner->console,
                                     .events = &runner->events,
                                     .plan = args->plan,
                                     .options = options,
                                     .files = args->budget->files,
                                     .remainder = args->remainder};
    if (jr_tee_open(&runner->tee, &tee) != 0)
        return -1;
    return jr_policies_open(runner);
}

/* The end. */

static bool may_leave(const struct jr_rank_outcome *rank)
{
    return rank->end == JR_END_EXITED && rank->stopped_with == 0 && !rank->killed;
}

static bool is_descendant(const struct jr_proc *proc)
{
    struct jr_proc above = *proc;
    for (int n = 0; n < DESCENT && above.parent > 1; n++) {
        if (above.parent == getpid())
            return true;
        if (!jr_proc_of(&above, above.parent))
            return false;
    }
    return above.parent == getpid();
}

/* The rank whose session it is in, or else whose folder its environment names, which a daemon
 * keeps; NULL: nobody's, such as a helper of jobrun's. */
static struct jr_rank_run *find_owner(struct jr_runner *runner, const struct jr_proc *proc)
{
    char folder[4096];
    bool known = false, read = false;
    for (uint32_t i = 0; i < runner->next; i++)
        if (runner->ranks[i].pid > 0 && runner->ranks[i].pid == proc->session)
            return &runner->ranks[i];
    for (uint32_t i = 0; i < runner->next; i++) {
        const char *dir = runner->ranks[i].plan->dir;
        if (!read)
            known = jr_proc_variable(proc->pid, "JOBRUN_RANK_DIR", folder, sizeof folder);
        read = true;
        if (!known || dir == NULL)
            continue;
        size_t len = strlen(folder), tail = strlen(dir);
        if (len > tail && folder[len - tail - 1] == '/' && strcmp(folder + len - tail, dir) == 0)
            return &runner->ranks[i];
    }
    return NULL;
}

/* Count what lives, by rank. Returns when the last of its ranks' moments is over; 0: there is
 * nothing. */
static uint64_t count_leftovers(struct jr_runner *runner)
{
    DIR *dir = opendir("/proc");
    const struct dirent *entry = NULL;
    uint64_t until = 0;
    for (uint32_t i = 0; i < runner->next; i++)
        runner->ranks[i].outcome->left_running = 0;
    while (dir != NULL && (entry = readdir(dir)) != NULL) {
        uint32_t pid;
        struct jr_proc proc;
        if (!jr_num_u32(entry->d_name, &pid) || !jr_proc_of(&proc, pid) || proc.state == 'Z' ||
            jr_proc_is_exiting(&proc) || !is_descendant(&proc))
            continue;
        struct jr_rank_run *rank = find_owner(runner, &proc);
        if (rank == NULL || !may_leave(rank->outcome))
            continue;
        rank->outcome->left_running++;
        bool busy = proc.state == 'R' || proc.state == 'D';
        uint64_t over = rank->outcome->ended_ns + (busy ? BUSY_NS : MOMENT_NS);
        until = over > until ? over : until;
    }
    if (dir != NULL)
        (void)closedir(dir);
    return until;
}

/* No rank runs any more: set `left_running` of the outcomes, and write the events. The ends of
 * other children are taken meanwhile. */
static void note_leftovers(struct jr_runner *runner)
{
    bool any = false;
    siginfo_t info;
    sigset_t chld;
    (void)sigemptyset(&chld);
    (void)sigaddset(&chld, SIGCHLD);
    for (uint32_t i = 0; i < runner->next; i++)
        any = any || may_leave(runner->ranks[i].outcome);
    if (!any || jr_stop_has_given_up(runner) || runner->guard_lost || jr_reap_only(0))
        return;
    /* Take the ends of children, and sleep until there is another, or a moment. */
    while (count_leftovers(runner) > jr_clock_ns() && !jr_reap_only(0)) {
        (void)sigtimedwait(&chld, NULL, &(struct timespec){.tv_nsec = LOOK_NS});
        do
            info.si_pid = 0;
        while (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | __WALL) == 0 && info.si_pid != 0);
    }
    if (count_leftovers(runner) == 0)
        return;
    for (uint32_t i = 0; i < runner->next; i++) {
        const struct jr_rank_run *rank = &runner->ranks[i];
        if (rank->outcome->left_running > 0)
            JR_TELL(runner, .name = JR_EVENT_LEFT_RUNNING, .rank = rank->plan->rank,
                    .processes = rank->outcome->left_running);
    }
}

static void reap_descendants(struct jr_runner *runner)
{
    struct jr_outcome *outcome = runner->outcome;
    const struct jr_group *group = runner->options->group;
    bool given_up = jr_stop_has_given_up(runner);
    struct jr_reap reap;
    note_leftovers(runner);
    /* First only by descent, which is usually faster than leaving the group; processes that stay in
     * the group die with it. */
    jr_reap(&reap, given_up ? 0 : DESCENT_NS, NULL);
    if (reap.left > 0) {
        uint32_t killed = reap.killed;
        if (group != NULL && jr_group_leave(group) != 0)
            group = NULL;
        jr_reap(&reap, given_up ? 0 : JR_KILL_WAIT_NS, group);
        reap.killed += killed;
    }
    for (uint32_t i = 0; i < reap.left && i < JR_REAP_PIDS; i++) {
        int pidfd = jr_pidfd_open(reap.left_pids[i]);
        outcome->left_pids[i] = jr_isolate_host_pid(runner->proc_fd, pidfd, reap.left_pids[i]);
        if (pidfd >= 0)
            (void)close(pidfd);
    }
    outcome->left = reap.left;
    outcome->ended_ns = jr_clock_ns();
    outcome->ended_wall_ns = jr_clock_wall_ns();
    JR_TELL(runner, .name = JR_EVENT_SWEPT, .processes = reap.killed, .left = reap.left);
}

static bool is_run_going_on(struct jr_runner *runner)
{
    if (jr_stop_has_given_up(runner) || runner->guard_lost)
        return false;
    return jr_launch_is_due(runner) || runner->running > 0 || jr_stop_waits(runner) ||
           jr_first_failure_waits(runner) || jr_preemption_is_open(runner);
}

/* What went wrong before the run began, unless that is known better; errno says more. */
_Noreturn static void fail_before_run(struct jr_shared *shared, const char *what)
{
    if (shared->error.text[0] == '\0')
        (void)jr_error_sys(&shared->error, JR_STATUS_LAUNCH, "%s", what);
    _exit(EXIT_FAILURE);
}

/* No rank is left: end whatever else is, and write all that waits. */
static void finish_runner(struct jr_runner *runner)
{
    jr_terminal_end(runner->terminal);
    jr_policies_close(runner);
    reap_descendants(runner);
    jr_helper_tidy(&runner->helper);
    jr_tee_drain(&runner->tee);
    jr_steps_finish(runner);
    jr_outcome_note_logs(runner->outcome, runner->plan, JR_SLOT_DIR);
    runner->outcome->pattern_limits = runner->tee.lines.limited;
    runner->outcome->console_failed = runner->console.failed;
    runner->outcome->console_errno = runner->console.error;
    jr_console_writer_close(&runner->console);
    jr_events_close(&runner->events);
    if (!runner->guard_lost)
        return;
    jr_outcome_kill(runner->outcome);
    /* This is what the guard would have done. */
    const struct jr_group *group = runner->options->group;
    if (group != NULL && jr_group_leave(group) == 0)
        jr_group_remove(group);
}

_Noreturn void jr_runner_main(const struct jr_runner_args *args)
{
    struct jr_runner runner = {
        .plan = args->plan,
        .options = args->options,
        .shared = args->shared,
        .outcome = &args->shared->outcome,
        .guard = {.fd = -1, .ready = on_guard_end},
        .gate = {.fd = -1, .ready = on_gate_opened},
        .terminal = args->terminal,
        .proc_fd = -1,
        .done_fd = -1,
    };
    runner.guard.owner = runner.gate.owner = &runner;
    jr_launch_open(&runner);
    if (args->plan->policy->isolation == JR_ISOLATION_PID &&
        jr_isolate_settle(&runner.proc_fd, JR_SLOT_END) != 0)
        fail_before_run(args->shared, "isolation: pid needs its own /proc, and the container "
                                      "does not allow mounting it; use -s isolation=none");
    if (open_runner(&runner, args) != 0)
        fail_before_run(args->shared, access("/dev/null", F_OK) == 0
                                          ? "could not set up the runner"
                                          : "could not set up the runner, which needs /dev/null");
    if (runner.loop.crowded)
        fail_before_run(args->shared, "could not set up the runner: it has more timers than "
                                      "its loop, a defect of jobrun");
    args->shared->began = true;
    if (args->stop_signal != 0)
        jr_stop_signal(&runner, args->stop_signal, jr_clock_ns());
    jr_setup_open(&runner);
    while (is_run_going_on(&runner)) {
        bool busy = jr_launch_turn(&runner);
        if (jr_loop_turn(&runner.loop, true) == 0 && !busy) {
            jr_events_flush(&runner.events); /* before it sleeps */
            (void)jr_loop_turn(&runner.loop, false);
        }
        if (runner.starter.blind)
            take_ended_children(&runner);
        else
            reap_orphans(&runner);
    }
    finish_runner(&runner);
    args->shared->finished = true;
    jr_companion_end(&runner, runner.done_fd);
}
