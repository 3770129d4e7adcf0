/*
 * A run that hangs: evidence first, then the stop. internal.h declares it.
 *
 * It begins when output_timeout.c, first_exit_timeout.c or steps.c finds that there is no more to
 * wait for. Each rank that lives is looked at twice, half a second apart: its processes and
 * threads, what each waits for, and the processor time that it took in between (process_probe.h).
 * What was seen goes into hang.json in the rank's folder. Then:
 *
 * - `on_hang.command` is run for each rank, eight at a time, in the rank's
 *   environment, with its output in the rank's hang.txt. %{pid} in its words is
 *   the rank's process.
 * - `on_hang.signal` is sent to each rank, as its stop signal would be. Where
 *   nobody said which, it is ABRT for what Python runs with PYTHONFAULTHANDLER
 *   set, for that is how all its threads' stacks come to standard error. A
 *   signal that dumps core does not: the limit is lowered to 0 before, unless
 *   `limits.core` is stated.
 *
 * All of it takes at most `on_hang.wait`. A rank that ends meanwhile ended because of the hang, and
 * is not a failure; nor does it begin the stop, which would keep the others from telling.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/io.h"
#include "base/pidfd.h"
#include "base/strv.h"
#include "plan/planner.h"
#include "run/internal.h"
#include "run/process_probe.h"
#include "store/run_folder.h"

#include "base/banned.h"

#define MS          UINT64_C(1000000)
#define INTERVAL_NS (500 * MS) /* between the two looks */
#define AT_ONCE     8          /* commands */

struct jr_hang_rank {
    struct jr_runner *runner;
    uint32_t i;
    struct jr_process_probe first;
    struct jr_watch command; /* pidfd; -1: none runs */
    pid_t pid;               /* of the command */
};

static bool is_hung_rank_alive(const struct jr_rank_run *rank)
{
    return rank->pid != 0 && rank->watch.fd >= 0;
}

/* The evidence. */

static void write_evidence(const struct jr_hang_rank *hung, const struct jr_process_probe *now)
{
    struct jr_runner *runner = hung->runner;
    const struct jr_rank_run *rank = &runner->ranks[hung->i];
    const char *path = rank->plan->dir == NULL ? "." : rank->plan->dir;
    JR_CLOSE int folder = jr_open_beneath(JR_SLOT_DIR, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
    struct jr_error err;
    uint64_t since = runner->hang.first_ns, last_ns = rank->outcome->heard_ns;
    uint64_t silent = since > last_ns ? since - last_ns : 0;
    json_t *object = json_object();
    char time[32];
    jr_clock_rfc3339(time, jr_clock_wall_ns());
    jr_json_set_int(object, "format_version", 1);
    jr_json_set_int(object, "rank", rank->plan->rank);
    jr_json_set_int(object, "pid", rank->outcome->pid);
    jr_json_set_str(object, "time", time);
    if (last_ns == 0)
        jr_json_set_null(object, "silent_seconds");
    else
        jr_json_set_real(object, "silent_seconds", (double)(silent / MS) / 1e3);
    jr_json_set_real(object, "interval_seconds", (double)((jr_clock_ns() - since) / MS) / 1e3);
    jr_json_set_real(object, "cpu_seconds",
                     (double)(jr_process_probe_used(now, &hung->first) / MS) / 1e3);
    jr_json_set(object, "processes", jr_process_probe_json(now, &hung->first));
    jr_json_print(&text, object, 2);
    jr_buf_char(&text, '\n');
    json_decref(object);
    if (text.failed || folder < 0 ||
        jr_io_replace(folder, "hang.json", text.data, text.len, runner->options->dir->file_mode,
                      &err) != 0)
        JR_TELL(runner, .name = JR_EVENT_EVIDENCE_FAILED, .rank = rank->plan->rank);
}

/* Both looks, by what is done with each rank that lives. */
static void probe_live_ranks(struct jr_runner *runner, bool again)
{
    size_t count = 0;
    struct jr_proc *all = jr_proc_all(&count);
    for (uint32_t i = 0; all != NULL && i < runner->next; i++) {
        struct jr_hang_rank *hung = &runner->hang.ranks[i];
        struct jr_process_probe now;
        if (!is_hung_rank_alive(&runner->ranks[i]))
            continue;
        jr_process_probe_read(&now, all, count, runner->ranks[i].pid);
        if (!again) {
            hung->first = now;
            continue;
        }
        write_evidence(hung, &now);
        jr_process_probe_release(&now);
    }
    free(all);
}

/* The commands. */

static void start_more_commands(struct jr_runner *runner);

static void on_command_end(void *owner, uint32_t events)
{
    (void)events;
    struct jr_hang_rank *hung = owner;
    struct jr_runner *runner = hung->runner;
    siginfo_t info = {0};
    struct rusage usage;
    if (jr_child_wait(hung->command.fd, hung->pid, &info, &usage) == 0 && info.si_pid == 0)
        return;
    jr_loop_close(&hung->command);
    runner->hang.running--;
    start_more_commands(runner);
}

/* The words of the command, for one rank; in its own memory. */
static char **make_command(struct jr_hang_rank *hung)
{
    const struct jr_on_hang *on_hang = &hung->runner->plan->policy->on_hang;
    struct jr_strv argv = {0};
    char pid[16];
    (void)snprintf(pid, sizeof pid, "%d", hung->runner->ranks[hung->i].pid);
    for (uint32_t i = 0; i < on_hang->command_count; i++) {
        JR_BUF_CLEANUP struct jr_buf word = JR_BUF_INIT;
        jr_buf_replaced(&word, on_hang->command[i], "%{pid}", pid);
        jr_strv_push(&argv, &hung->first.arena, jr_buf_keep(&word, &hung->first.arena));
    }
    return hung->first.arena.failed ? NULL : argv.items;
}

/* Kept, or made in `arena`. */
static char **rank_env(const struct jr_runner *runner, const struct jr_plan_rank *rank,
                       struct jr_arena *arena)
{
    return rank->env != NULL ? rank->env : jr_plan_rank_at(runner->plan, rank->rank, arena).env;
}

static void start_command(struct jr_hang_rank *hung)
{
    struct jr_runner *runner = hung->runner;
    const struct jr_plan_rank *rank = runner->ranks[hung->i].plan;
    struct jr_started started = {.pidfd = -1};
    struct jr_child child;
    char log[PATH_MAX];
    jr_start_child(&runner->starter, &child);
    child.argv = make_command(hung);
    child.env = rank_env(runner, rank, &hung->first.arena);
    child.workdir = rank->workdir;
    (void)snprintf(log, sizeof log, "%s/hang.txt", rank->dir == NULL ? "." : rank->dir);
    child.streams[0].path = child.streams[1].path = log;
    child.streams[0].shared = child.streams[1].shared = true;
    if (child.argv == NULL || hung->first.arena.failed ||
        jr_start_program(&runner->starter, &child, &started) != 0) {
        JR_TELL(runner, .name = JR_EVENT_EVIDENCE_FAILED, .says = JR_SAYS(ERRNO),
                .rank = rank->rank, .error = errno);
        return;
    }
    hung->pid = started.pid;
    hung->command = (struct jr_watch){.fd = started.pidfd, .ready = on_command_end, .owner = hung};
    runner->hang.running++;
    (void)jr_loop_add(&runner->loop, &hung->command, EPOLLIN);
}

/* The signal. */

static bool dumps_core(int sig)
{
    static const int dumping[] = {SIGQUIT, SIGILL,  SIGTRAP, SIGABRT, SIGBUS,
                                  SIGFPE,  SIGSEGV, SIGXCPU, SIGXFSZ, SIGSYS};
    size_t i = 0, count = sizeof dumping / sizeof dumping[0];
    while (i < count && dumping[i] != sig)
        i++;
    return i < count;
}

/* Returns how many ranks were sent one. */
static uint32_t signal_hung_ranks(struct jr_runner *runner)
{
    const struct jr_policy *policy = runner->plan->policy;
    const char *name = policy->on_hang.signal;
    uint32_t asked = 0;
    for (uint32_t i = 0; i < runner->next; i++) {
        struct jr_rank_run *rank = &runner->ranks[i];
        struct jr_arena arena = JR_ARENA_INIT;
        char **env = rank_env(runner, rank->plan, &arena);
        const char *handler = arena.failed ? NULL : jr_env_get(env, "PYTHONFAULTHANDLER");
        bool handled = runner->plan->form == JR_FORM_PYTHON && handler != NULL && *handler != '\0';
        int sig = name != NULL ? jr_signals_number(name) : handled ? SIGABRT : 0;
        jr_arena_release(&arena);
        struct rlimit limit;
        if (sig == 0 || !is_hung_rank_alive(rank))
            continue;
        /* Its leader is not reaped: the number is its own. */
        if (dumps_core(sig) && policy->limits.core == NULL &&
            prlimit(rank->pid, RLIMIT_CORE, NULL, &limit) == 0) {
            limit.rlim_cur = 0;
            (void)prlimit(rank->pid, RLIMIT_CORE, &limit, NULL);
        }
        jr_rank_handle(rank, JR_RANK_ON_ASK, sig);
        asked++;
    }
    return asked;
}

/* The steps. */

static void start_more_commands(struct jr_runner *runner)
{
    struct jr_hang *hang = &runner->hang;
    bool commands = runner->plan->policy->on_hang.command_count > 0;
    if (jr_stop_has_begun(runner))
        return;
    while (commands && hang->running < AT_ONCE && hang->next < runner->next) {
        uint32_t i = hang->next++;
        if (is_hung_rank_alive(&runner->ranks[i]))
            start_command(&hang->ranks[i]);
    }
    if (hang->running > 0)
        return;
    uint32_t asked = signal_hung_ranks(runner);
    JR_TELL(runner, .name = JR_EVENT_EVIDENCE, .signalled = asked);
    if (asked == 0)
        jr_stop_begin(runner);
}

static void on_hang_time(void *owner)
{
    struct jr_runner *runner = owner;
    struct jr_hang *hang = &runner->hang;
    if (hang->looked) {
        jr_stop_begin(runner);
        return;
    }
    probe_live_ranks(runner, true);
    hang->looked = true;
    hang->timer.at = hang->until_ns;
    start_more_commands(runner);
}

static int open_hang(struct jr_runner *runner)
{
    jr_runner_timer(runner, &runner->hang.timer, on_hang_time, true);
    return 0;
}

void jr_hang_begin(struct jr_runner *runner, enum jr_hang_why why)
{
    struct jr_hang *hang = &runner->hang;
    static const enum jr_timeout limits[] = {
        [JR_HANG_SILENCE] = JR_TIMEOUT_SILENCE,
        [JR_HANG_FIRST_EXIT] = JR_TIMEOUT_AFTER_FIRST_EXIT,
        [JR_HANG_PROGRESS] = JR_TIMEOUT_PROGRESS,
        [JR_HANG_FIRST_STEP] = JR_TIMEOUT_FIRST_STEP,
    };
    if (hang->begun || jr_stop_has_begun(runner))
        return;
    jr_stop_timed_out(runner, limits[why]);
    hang->begun = true;
    hang->ranks = calloc((size_t)runner->plan->count + 1, sizeof *hang->ranks);
    if (hang->ranks == NULL) {
        jr_stop_begin(runner);
        return;
    }
    for (uint32_t i = 0; i < runner->plan->count; i++)
        hang->ranks[i] = (struct jr_hang_rank){.runner = runner, .i = i, .command = {.fd = -1}};
    hang->first_ns = jr_clock_ns();
    hang->until_ns = hang->first_ns + runner->plan->policy->on_hang.wait_ms * MS;
    probe_live_ranks(runner, false);
    uint64_t next = hang->first_ns + INTERVAL_NS;
    hang->timer.at = next < hang->until_ns ? next : hang->until_ns;
}

bool jr_hang_has_begun(const struct jr_runner *runner)
{
    return runner->hang.begun;
}

struct jr_watch *jr_hang_watch(struct jr_runner *runner, pid_t pid)
{
    struct jr_hang *hang = &runner->hang;
    for (uint32_t i = 0; hang->running > 0 && i < hang->next; i++)
        if (hang->ranks[i].pid == pid && hang->ranks[i].command.fd >= 0)
            return &hang->ranks[i].command;
    return NULL;
}

/* The run is being stopped: no more evidence. */
static void end_evidence(struct jr_runner *runner)
{
    struct jr_hang *hang = &runner->hang;
    hang->timer.at = 0;
    for (uint32_t i = 0; hang->ranks != NULL && i < runner->plan->count; i++) {
        struct jr_hang_rank *hung = &hang->ranks[i];
        jr_process_probe_release(&hung->first);
        if (hung->command.fd < 0)
            continue;
        /* Not reaped: its group is what it seems. */
        (void)jr_child_signal(hung->command.fd, hung->pid, SIGKILL);
        (void)kill(-hung->pid, SIGKILL);
    }
}

const struct jr_runner_policy jr_hang_policy = {
    .name = "hang",
    .open = open_hang,
    .stopping = end_evidence,
    .close = end_evidence,
};
