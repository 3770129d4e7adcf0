/* A run from its plan to its outcome, with real processes: what the guard tells, what it leaves in
 * its caller, and why a run does not begin. How runs are stopped, and how guard and runner survive
 * each other, is in tests/run. */
#include "run/guard.h"

#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
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
    char *argv[4], *env[RANKS][3];
    char names[RANKS][32], paths[RANKS][3][40];
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
    (void)snprintf(job.names[i], 32, "RANK=%u", i);
    (void)snprintf(job.paths[i][0], 40, "attempt_0/%u", i);
    (void)snprintf(job.paths[i][1], 40, "attempt_0/%u/stdout.log", i);
    (void)snprintf(job.paths[i][2], 40, "attempt_0/%u/stderr.log", i);
    job.env[i][0] = path_variable;
    job.env[i][1] = job.names[i];
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

/* The outcome is the ranks', and nothing of the run is left in the caller. */
static void tell_how_ranks_end(void)
{
    sigset_t before, after;
    struct sigaction action = {.sa_handler = SIG_IGN};
    int subreaper = 7;
    uint32_t orders = 0;
    make_job("echo $RANK; echo err >&2; exit $((2 * RANK))", RANKS);
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
    end_job();
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

/* What keeps the run from its begin, and what is said of it. */
static const struct {
    struct deny_call calls[2];
    enum jr_isolation isolation;
    int error;
    const char *text;
} refusals[] = {
    {{{SYS_clone, EAGAIN}, {SYS_clone3, ENOSYS}},
     JR_ISOLATION_NONE,
     EAGAIN,
     "could not fork the runner"},
    {{{SYS_epoll_create1, EMFILE}}, JR_ISOLATION_NONE, EMFILE, "could not set up the runner: "},
    {{{SYS_mount, EPERM}}, JR_ISOLATION_PID, EPERM, "isolation: pid needs its own /proc"},
};
static unsigned refusal; /* the one that is tried */

static void begin_nothing(void)
{
    make_job("exit 0", 2);
    job.policy.isolation = refusals[refusal].isolation;
    if (!deny(refusals[refusal].calls, 1 + (refusals[refusal].calls[1].number != 0)))
        _exit(SKIPPED);
    unsigned open = count_descriptors();
    run_job();
    need(job.status == -1 && job.err.status == JR_STATUS_LAUNCH);
    if (strstr(job.err.text, "is not possible here") != NULL)
        _exit(SKIPPED);
    need(strstr(job.err.text, refusals[refusal].text) == job.err.text);
    need(job.err.sys == refusals[refusal].error);
    need(count_descriptors() == open);
    need(waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD);
    end_job();
}

TEST(says_why_it_does_not_begin)
{
    for (refusal = 0; refusal < sizeof refusals / sizeof *refusals; refusal++)
        in_other_process(begin_nothing);
}

TEST(tells_how_ranks_end)
{
    in_other_process(tell_how_ranks_end);
}

TEST(has_a_companion_until_the_record_is_written)
{
    in_other_process(keep_a_companion);
}
