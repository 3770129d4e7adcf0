/* A run from its plan to its outcome, with real processes: what guard and runner tell of ranks that
 * end, of signals, and of each other's death. */
#include "run/guard.h"

#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "deny.h"
#include "descriptors.h"
#include "eventloop/signals.h"
#include "run/companion.h"
#include "scratch.h"
#include "store/outcome.h"
#include "store/run_folder.h"

enum { RANKS = 3, SKIPPED = 77 };

/* A job of shells, in a run folder of its own. */
struct job {
    struct scratch scratch;
    struct jr_run_folder folder;
    struct jr_policy policy;
    struct jr_plan_rank ranks[RANKS];
    struct jr_plan plan;
    struct jr_run_options options;
    struct jr_outcome outcome;
    struct jr_error err;
    int status; /* of jr_run */
    char *argv[4], *env[RANKS][4];
    char names[RANKS][2][32], paths[RANKS][3][40];
};

static struct job job;
static char path_variable[] = "PATH=/usr/bin:/bin";

static void need_at(int line, bool good)
{
    if (good)
        return;
    (void)printf("\n    line %d; jr_run: %d '%s'\n", line, job.status, job.err.text);
    (void)fflush(stdout);
    _exit(1);
}

#define need(good) need_at(__LINE__, good)

static void make_rank(uint32_t i)
{
    (void)snprintf(job.names[i][0], 32, "RANK=%u", i);
    (void)snprintf(job.names[i][1], 32, "GUARD=%d", getpid());
    (void)snprintf(job.paths[i][0], 40, "attempt_0/%u", i);
    (void)snprintf(job.paths[i][1], 40, "attempt_0/%u/stdout.log", i);
    (void)snprintf(job.paths[i][2], 40, "attempt_0/%u/stderr.log", i);
    job.env[i][0] = path_variable;
    job.env[i][1] = job.names[i][0];
    job.env[i][2] = job.names[i][1];
    job.ranks[i] = (struct jr_plan_rank){.rank = i,
                                         .local_rank = i,
                                         .argv = job.argv,
                                         .env = job.env[i],
                                         .prefix = "> ",
                                         .around = {"[", "] "},
                                         .on_console = true,
                                         .out = JR_SINK_FILE,
                                         .err = JR_SINK_FILE,
                                         .dir = job.paths[i][0],
                                         .out_path = job.paths[i][1],
                                         .err_path = job.paths[i][2]};
}

/* `count` ranks that execute shell text. */
static void make_job(const char *text, uint32_t count)
{
    job = (struct job){.folder = JR_RUN_FOLDER_INIT, .status = 77};
    scratch_start(&job.scratch);
    need(jr_run_folder_create(&job.folder, job.scratch.dir, "run-0000", false, JR_LOG_PRIVATE,
                              &job.err) == 0);
    job.argv[0] = (char *)"sh";
    job.argv[1] = (char *)"-c";
    job.argv[2] = (char *)text;
    for (uint32_t i = 0; i < count; i++)
        make_rank(i);
    job.policy = (struct jr_policy){.timeouts = {.stop_grace_ms = 30000},
                                    .on_hang = {.wait_ms = 10000},
                                    .console = {.partial_ms = 250}};
    job.plan = (struct jr_plan){
        .world_size = count, .nodes = 1, .count = count, .policy = &job.policy, .ranks = job.ranks};
    job.options =
        (struct jr_run_options){.dir = &job.folder, .in_fd = -1, .out_fd = -1, .err_fd = -1};
    jr_signals_ignored(&job.options.ignored);
}

static void run_job(void)
{
    job.status = jr_run(&job.outcome, &job.plan, &job.options, &job.err);
}

static void end_job(void)
{
    if (job.status == 0)
        jr_outcome_release(&job.outcome);
    jr_run_folder_close(&job.folder);
    scratch_end(&job.scratch);
}

static const char *content(const char *name)
{
    static char text[8192];
    int fd = openat(job.folder.fd, name, O_RDONLY | O_CLOEXEC);
    ssize_t len = fd < 0 ? 0 : read(fd, text, sizeof text - 1);
    text[len < 0 ? 0 : len] = '\0';
    if (fd >= 0)
        (void)close(fd);
    return text;
}

/* Whether the run told of such an event. */
static bool has_event(const char *word)
{
    char text[64];
    (void)snprintf(text, sizeof text, "\"event\":\"%s\"", word);
    return strstr(content("events.jsonl"), text) != NULL;
}

/* Each case is a process of its own, which has no other children. */
static void in_other_process(void (*run)(void))
{
    int status = -1;
    (void)fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        (void)alarm(120);
        run();
        _exit(0);
    }
    CU_ASSERT_EQUAL(waitpid(pid, &status, 0), pid);
    if (WIFEXITED(status) && WEXITSTATUS(status) == SKIPPED)
        (void)printf("\n    SKIPPED: it cannot be done here\n");
    else
        CU_ASSERT_EQUAL(status, 0);
}

/* Nothing of it is left in the caller. */
static void leave_no_trace(void)
{
    sigset_t before, after;
    struct sigaction action = {.sa_handler = SIG_IGN};
    int subreaper = 7;
    make_job("exit $((2 * RANK))", RANKS);
    job.policy.on_failure = JR_ON_FAILURE_CONTINUE;
    (void)sigprocmask(SIG_BLOCK, NULL, &before);
    need(sigaction(SIGCHLD, &action, NULL) == 0);
    (void)signal(SIGPIPE, SIG_DFL);
    unsigned open = count_descriptors();
    run_job();
    need(job.status == 0);
    need(count_descriptors() == open);
    need(waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD);
    (void)sigprocmask(SIG_BLOCK, NULL, &after);
    for (int sig = 1; sig < NSIG; sig++)
        need(sigismember(&before, sig) == sigismember(&after, sig));
    need(sigaction(SIGCHLD, NULL, &action) == 0 && action.sa_handler == SIG_IGN);
    need(sigaction(SIGPIPE, NULL, &action) == 0 && action.sa_handler == SIG_DFL);
    need(prctl(PR_GET_CHILD_SUBREAPER, &subreaper) == 0 && subreaper == 0);
    end_job();
}

static void tell_how_ranks_end(void)
{
    make_job("echo $RANK; echo err >&2; exit $((2 * RANK))", RANKS);
    job.policy.on_failure = JR_ON_FAILURE_CONTINUE;
    uint32_t orders = 0;
    run_job();
    need(job.status == 0);
    const struct jr_outcome *outcome = &job.outcome;
    need(outcome->count == RANKS && outcome->stop_signal == 0 && outcome->late_signal == 0 &&
         outcome->runner_signal == 0 && outcome->left == 0 && !outcome->console_failed &&
         outcome->timed_out_by == JR_TIMEOUT_NONE);
    need(outcome->started_ns > 0 && outcome->ended_ns > outcome->started_ns);
    need(outcome->started_wall_ns > 0 && outcome->ended_wall_ns >= outcome->started_wall_ns);
    for (uint32_t i = 0; i < RANKS; i++) {
        const struct jr_rank_outcome *rank = &outcome->ranks[i];
        need(rank->end == JR_END_EXITED && rank->exit_code == (int)(2 * i));
        need(rank->pid > 0 && rank->own_pid == rank->pid);
        need(rank->started_ns >= outcome->started_ns && rank->ended_ns >= rank->started_ns &&
             rank->ended_ns <= outcome->ended_ns);
        need(rank->stopped_with == 0 && !rank->killed && rank->log_errno == 0);
        orders |= 1U << rank->order;
        char text[8];
        (void)snprintf(text, sizeof text, "%u\n", i);
        need(strcmp(content(job.paths[i][1]), text) == 0);
        need(strcmp(content(job.paths[i][2]), "err\n") == 0);
    }
    need(orders == 0xe); /* the first, the second and the third */
    need(has_event("rank_started") && has_event("rank_ended") && has_event("swept"));
    need(!has_event("stop") && !has_event("runner_lost") && !has_event("guard_lost"));
    end_job();
}

static void tells_how_ranks_end(void)
{
    in_other_process(tell_how_ranks_end);
    in_other_process(leave_no_trace);
}

/* The others are stopped, and what they forked is ended. */
static void stop_at_a_failure(void)
{
    make_job("(setsid sleep 1000 &); test $RANK = 1 && exit 3; exec sleep 1000", RANKS);
    run_job();
    need(job.status == 0 && job.outcome.stop_signal == 0);
    need(job.outcome.ranks[1].end == JR_END_EXITED && job.outcome.ranks[1].exit_code == 3 &&
         job.outcome.ranks[1].stopped_with == 0);
    for (uint32_t i = 0; i < RANKS; i += 2) {
        const struct jr_rank_outcome *rank = &job.outcome.ranks[i];
        need(rank->pid == 0 || (rank->end == JR_END_SIGNALED && rank->signal == SIGTERM &&
                                rank->stopped_with == SIGTERM));
        need(!rank->killed);
    }
    need(has_event("stop") && has_event("swept") && !has_event("kill"));
    need(strstr(content("events.jsonl"), "\"left\":0") != NULL);
    end_job();
}

/* What does not end when it is told to is killed after its grace. */
static void kill_after_the_grace(void)
{
    make_job("test $RANK = 1 && { until test -e ready; do sleep 0.01; done; "
             "exit 3; }; trap '' TERM; : > ready; while :; do sleep 1000; done",
             2);
    job.ranks[0].workdir = job.ranks[1].workdir = job.scratch.dir;
    job.policy.timeouts.stop_grace_ms = 500;
    run_job();
    need(job.status == 0);
    need(job.outcome.ranks[0].signal == SIGKILL && job.outcome.ranks[0].killed &&
         job.outcome.ranks[0].stopped_with == SIGTERM);
    need(has_event("kill"));
    end_job();
}

static void stops_all_at_a_failure(void)
{
    in_other_process(stop_at_a_failure);
    in_other_process(kill_after_the_grace);
}

static void obey_a_stop(void)
{
    make_job("test $RANK = 0 && kill -INT $GUARD; exec sleep 1000", 2);
    run_job();
    need(job.status == 0 && job.outcome.stop_signal == SIGINT);
    need(job.outcome.ranks[0].end == JR_END_SIGNALED &&
         job.outcome.ranks[0].stopped_with == SIGTERM);
    need(has_event("signal") && has_event("stop"));
    end_job();
}

/* One that came before it began starts nothing. */
static void obey_an_early_stop(void)
{
    sigset_t stop;
    make_job("exit 0", 2);
    (void)sigemptyset(&stop);
    (void)sigaddset(&stop, SIGTERM);
    (void)sigprocmask(SIG_BLOCK, &stop, NULL);
    (void)raise(SIGTERM);
    run_job();
    need(job.status == 0 && job.outcome.stop_signal == SIGTERM);
    need(job.outcome.ranks[0].pid == 0 && job.outcome.ranks[1].pid == 0);
    need(sigpending(&stop) == 0 && sigismember(&stop, SIGTERM) == 0);
    end_job();
}

/* Another one is passed on, and one that is ignored is not. */
static void forward_a_signal(void)
{
    static struct jr_signal_rule rules[] = {{.name = (char *)"USR2", .use = JR_ON_SIGNAL_IGNORE}};
    make_job("trap 'exit 9' USR1; trap 'exit 8' USR2; kill -USR2 $GUARD; "
             "kill -USR1 $GUARD; while :; do sleep 0.01; done",
             1);
    job.policy.signals = rules;
    job.policy.signals_count = 1;
    run_job();
    need(job.status == 0 && job.outcome.stop_signal == 0);
    need(job.outcome.ranks[0].exit_code == 9);
    need(has_event("forward") && !has_event("stop"));
    end_job();
}

static void obeys_signals(void)
{
    in_other_process(obey_a_stop);
    in_other_process(obey_an_early_stop);
    in_other_process(forward_a_signal);
}

/* Ctrl-Z: the guard stops, as its shell expects, and the ranks do. */
static void suspend(void)
{
    int status;
    pid_t guard = fork();
    if (guard == 0) {
        make_job("kill -TSTP $GUARD; sleep 0.3; exit 4", 1);
        run_job();
        need(job.status == 0 && job.outcome.ranks[0].exit_code == 4);
        end_job();
        _exit(0);
    }
    need(waitpid(guard, &status, WUNTRACED) == guard);
    need(WIFSTOPPED(status) && WSTOPSIG(status) == SIGSTOP);
    need(kill(guard, SIGCONT) == 0);
    need(waitpid(guard, &status, 0) == guard && status == 0);
}

static void stops_with_its_shell(void)
{
    in_other_process(suspend);
}

/* What the runner can no longer say, the guard does: it ends all that it left. */
static void lose_the_runner(void)
{
    make_job("(setsid sleep 1000 &); test $RANK = 1 && kill -KILL $PPID; exec sleep 1000", 2);
    run_job();
    need(job.status == 0 && job.outcome.runner_signal == SIGKILL);
    need(job.outcome.left == 0 && job.outcome.stop_signal == 0);
    need(job.outcome.ended_ns > job.outcome.started_ns);
    need(job.outcome.ended_wall_ns >= job.outcome.started_wall_ns);
    need(waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD);
    need(has_event("runner_lost") && !has_event("swept"));
    end_job();
}

/* The runner ends the ranks where nobody is left whom it could tell. */
static void lose_the_guard(void)
{
    int status, ends[2];
    char byte;
    need(pipe2(ends, O_CLOEXEC) == 0);
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1);
    make_job("kill -KILL $GUARD; exec sleep 1000", 1);
    pid_t guard = fork();
    if (guard == 0) {
        make_rank(0); /* with its own number */
        run_job();
        _exit(1);
    }
    (void)close(ends[1]);
    need(waitpid(guard, &status, 0) == guard);
    need(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    while (waitpid(-1, NULL, 0) > 0 || errno == EINTR)
        continue; /* the runner, and no rank that it did not reap */
    need(read(ends[0], &byte, 1) == 0);
    need(has_event("guard_lost") && has_event("swept"));
    end_job();
}

static void survives_either_of_both(void)
{
    in_other_process(lose_the_runner);
    in_other_process(lose_the_guard);
}

/* The runner that stays to write the record, until it is not needed. */
static void keep_a_companion(void)
{
    struct jr_companion companion = {.key = 7, .fd = -1, .life_fd = -1};
    make_job("exit $RANK", 2);
    job.policy.on_failure = JR_ON_FAILURE_CONTINUE;
    job.options.companion = &companion;
    scratch_write(&(struct scratch){.fd = job.folder.fd}, ".results.json", "");
    unsigned open = count_descriptors();
    run_job();
    need(job.status == 0 && job.outcome.ranks[1].exit_code == 1);
    need(companion.pid > 0 && kill(companion.pid, 0) == 0);
    need(jr_companion_of(job.folder.fd, 7) == companion.pid);
    need(jr_companion_of(job.folder.fd, 8 << 2) == 0);
    pid_t pid = companion.pid;
    jr_companion_release(&companion);
    need(companion.pid == 0 && kill(pid, 0) == -1);
    jr_companion_release(&companion);
    need(jr_companion_of(job.folder.fd, 7) == 0);
    need(count_descriptors() == open);
    need(waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD);
    end_job();
}

static void has_a_companion_until_the_record_is_written(void)
{
    in_other_process(keep_a_companion);
}

static void is_shown(void)
{
    int ends[2];
    char text[256];
    make_job("echo out; echo err >&2", 1);
    need(pipe2(ends, O_CLOEXEC) == 0);
    job.ranks[0].out = JR_SINK_FILE | JR_SINK_CONSOLE;
    job.ranks[0].err = JR_SINK_CONSOLE;
    job.options.out_fd = job.options.err_fd = ends[1];
    run_job();
    need(job.status == 0 && job.outcome.ranks[0].end == JR_END_EXITED &&
         !job.outcome.console_failed);
    (void)close(ends[1]);
    ssize_t len = read(ends[0], text, sizeof text - 1);
    need(len > 0);
    text[len] = '\0';
    need(strstr(text, "> out\n") != NULL && strstr(text, "> err\n") != NULL);
    need(strcmp(content(job.paths[0][1]), "out\n") == 0);
    need(strcmp(content(job.paths[0][2]), "") == 0);
    end_job();
}

/* A console that nobody reads any more is no reason to fail. */
static void is_shown_to_nobody(void)
{
    int ends[2];
    make_job("echo out; exit 0", 1);
    need(pipe2(ends, O_CLOEXEC) == 0);
    job.ranks[0].out = JR_SINK_FILE | JR_SINK_CONSOLE;
    job.options.out_fd = job.options.err_fd = ends[1];
    (void)close(ends[0]);
    run_job();
    need(job.status == 0 && job.outcome.ranks[0].exit_code == 0 &&
         job.outcome.ranks[0].end == JR_END_EXITED);
    need(job.outcome.console_failed);
    need(strcmp(content(job.paths[0][1]), "out\n") == 0);
    (void)close(ends[1]);
    end_job();
}

static void shows_what_is_for_the_console(void)
{
    in_other_process(is_shown);
    in_other_process(is_shown_to_nobody);
}

/* Its processes have numbers of their own, and of the machine. */
static void isolate(void)
{
    make_job("echo $$; (setsid sleep 1000 &); exit 5", 1);
    job.policy.isolation = JR_ISOLATION_PID;
    run_job();
    if (job.status != 0 && strstr(job.err.text, "isolation: pid") != NULL)
        _exit(SKIPPED);
    need(job.status == 0);
    const struct jr_rank_outcome *rank = &job.outcome.ranks[0];
    need(rank->end == JR_END_EXITED && rank->exit_code == 5);
    need(strtol(content(job.paths[0][1]), NULL, 10) == rank->own_pid);
    need(rank->own_pid > 1 && rank->own_pid < 20);
    need(rank->pid != rank->own_pid);
    need(waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD);
    end_job();
}

/* A kernel without pidfds is one on which it takes a millisecond more. */
static void run_blindly(void)
{
    static const struct deny_call calls[] = {{SYS_pidfd_open, ENOSYS}};
    make_job("exit $((3 * RANK))", RANKS);
    job.policy.on_failure = JR_ON_FAILURE_CONTINUE;
    if (!deny(calls, 1))
        _exit(SKIPPED);
    unsigned open = count_descriptors();
    run_job();
    need(job.status == 0 && job.outcome.left == 0);
    for (uint32_t i = 0; i < RANKS; i++)
        need(job.outcome.ranks[i].exit_code == (int)(3 * i));
    need(count_descriptors() == open);
    end_job();
}

static void runs_where_the_kernel_is_another(void)
{
    in_other_process(isolate);
    in_other_process(run_blindly);
}

/* A rank that does not start, and a run that does not begin. */
static void start_nothing(void)
{
    static char *nowhere[] = {(char *)"/no/such/program", NULL};
    make_job("exec sleep 1000", 2);
    job.ranks[1].argv = nowhere;
    run_job();
    need(job.status == 0);
    need(job.outcome.ranks[1].end == JR_END_START && job.outcome.ranks[1].stage == JR_STAGE_EXEC &&
         job.outcome.ranks[1].start_errno == ENOENT && job.outcome.ranks[1].pid == 0);
    need(job.outcome.ranks[0].pid == 0 || job.outcome.ranks[0].stopped_with == SIGTERM);
    need(has_event("start_failed"));
    end_job();
}

static void begin_nothing(void)
{
    const struct rlimit few = {60, 60};
    make_job("exit 0", 2);
    need(setrlimit(RLIMIT_NOFILE, &few) == 0);
    unsigned open = count_descriptors();
    run_job();
    need(job.status == -1 && job.err.status == JR_STATUS_LAUNCH);
    need(strstr(job.err.text, "file descriptors") != NULL);
    need(count_descriptors() == open);
    need(!has_event("swept"));
    end_job();
}

static void fork_nothing(void)
{
    static const struct deny_call calls[] = {{SYS_clone, EAGAIN}, {SYS_clone3, ENOSYS}};
    make_job("exit 0", 2);
    if (!deny(calls, 2))
        _exit(SKIPPED);
    unsigned open = count_descriptors();
    run_job();
    need(job.status == -1 && job.err.status == JR_STATUS_LAUNCH);
    need(strstr(job.err.text, "could not fork the runner") != NULL);
    need(job.err.sys == EAGAIN);
    need(count_descriptors() == open);
    end_job();
}

/* The runner could not be made ready, and the guard tells why. */
static void make_nothing_ready(void)
{
    static const struct deny_call calls[] = {{SYS_epoll_create1, EMFILE}};
    make_job("exit 0", 2);
    if (!deny(calls, 1))
        _exit(SKIPPED);
    unsigned open = count_descriptors();
    run_job();
    need(job.status == -1 && job.err.status == JR_STATUS_LAUNCH);
    need(strstr(job.err.text, "could not set up the runner: ") == job.err.text);
    need(job.err.sys == EMFILE);
    need(count_descriptors() == open);
    need(waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD);
    end_job();
}

static void isolate_nothing(void)
{
    static const struct deny_call calls[] = {{SYS_mount, EPERM}};
    make_job("exit 0", 2);
    job.policy.isolation = JR_ISOLATION_PID;
    if (!deny(calls, 1))
        _exit(SKIPPED);
    run_job();
    need(job.status == -1 && job.err.status == JR_STATUS_LAUNCH);
    if (strstr(job.err.text, "is not possible here") != NULL)
        _exit(SKIPPED);
    need(strstr(job.err.text, "isolation: pid needs its own /proc") == job.err.text);
    need(waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD);
    end_job();
}

static void says_why_it_does_not_begin(void)
{
    in_other_process(make_nothing_ready);
    in_other_process(isolate_nothing);
    in_other_process(begin_nothing);
    in_other_process(fork_nothing);
    in_other_process(start_nothing);
}

JR_UNIT_MAIN("guard", CASE(says_why_it_does_not_begin), CASE(tells_how_ranks_end),
             CASE(stops_all_at_a_failure), CASE(obeys_signals), CASE(stops_with_its_shell),
             CASE(survives_either_of_both), CASE(has_a_companion_until_the_record_is_written),
             CASE(shows_what_is_for_the_console), CASE(runs_where_the_kernel_is_another))
