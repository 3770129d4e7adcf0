/*
 * A runner whose policies can be called one by one: six ranks, numbered from 10 on, that have no
 * process until a test gives them one. Events, reports and console are kept to be looked at;
 * JR_SLOT_DIR is an empty folder. Time is the real one: a test sets the moments that it compares,
 * or calls what a timer would.
 */
#ifndef FAKE_RUNNER_H
#define FAKE_RUNNER_H

#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/io.h"
#include "base/names.h"
#include "base/pidfd.h"
#include "run/internal.h"
#include "scratch.h"
#include "spawn/control.h"
#include "store/progress.h"
#include "store/run_folder.h"

enum { FAKE_RANKS = 6, FAKE_FIRST = 10, FAKE_WAIT_MS = 60000 };
#define FAKE_MS UINT64_C(1000000)

struct fake_runner {
    struct scratch scratch;
    struct jr_runner runner;
    struct jr_plan plan;
    struct jr_policy policy;
    struct jr_run_options options;
    struct jr_run_folder folder;
    struct jr_run_link link;
    struct jr_budget budget;
    bool started; /* there is a starter */
    struct jr_outcome outcome;
    struct jr_plan_rank planned[FAKE_RANKS];
    struct jr_rank_outcome outcomes[FAKE_RANKS];
    struct jr_rank_run ranks[FAKE_RANKS];
    struct jr_stream streams[2 * (FAKE_RANKS + 1)];
    int console;              /* a file; -1: none */
    int reports[2];           /* a pipe, where there are other nodes */
    int controls[FAKE_RANKS]; /* the ranks' ends of their sockets; -1: none */
    int signals[FAKE_RANKS];  /* what the ranks were sent; -1: no process */
};

static struct fake_runner fake;

static inline void fake_runner_rank(uint32_t i)
{
    fake.planned[i].rank = FAKE_FIRST + i;
    fake.controls[i] = fake.signals[i] = -1;
    fake.ranks[i] = (struct jr_rank_run){.runner = &fake.runner,
                                         .watch = {.fd = -1},
                                         .control = {.fd = -1},
                                         .plan = &fake.planned[i],
                                         .outcome = &fake.outcomes[i]};
    fake.streams[2 * i].watch.fd = fake.streams[2 * i + 1].watch.fd = -1;
}

/* All ranks wait to be started, and no policy is open. */
static inline void fake_runner_start(void)
{
    struct jr_runner *runner = &fake.runner;
    memset(&fake, 0, sizeof fake);
    (void)setpgid(0, 0); /* what is sent to group 0 by mistake meets only us */
    (void)signal(SIGPIPE, SIG_IGN);
    scratch_start(&fake.scratch);
    CU_ASSERT_EQUAL_FATAL(dup2(fake.scratch.fd, JR_SLOT_DIR), JR_SLOT_DIR);
    fake.console = fake.reports[0] = fake.reports[1] = -1;
    fake.options.in_fd = fake.options.out_fd = fake.options.err_fd = -1;
    fake.policy.on_failure = JR_ON_FAILURE_STOP;
    fake.folder.file_mode = 0600;
    fake.options.dir = &fake.folder;
    fake.plan = (struct jr_plan){.name = "digits",
                                 .policy = &fake.policy,
                                 .ranks = fake.planned,
                                 .first = 0,
                                 .count = FAKE_RANKS,
                                 .world_size = FAKE_RANKS};
    fake.outcome = (struct jr_outcome){
        .count = FAKE_RANKS, .ranks = fake.outcomes, .progress = jr_progress_new(FAKE_RANKS)};
    CU_ASSERT_PTR_NOT_NULL_FATAL(fake.outcome.progress);
    for (uint32_t i = 0; i < FAKE_RANKS; i++)
        fake_runner_rank(i);
    runner->plan = &fake.plan;
    runner->options = &fake.options;
    runner->outcome = &fake.outcome;
    runner->ranks = fake.ranks;
    runner->link = (struct jr_node_link){-1, -1, -1};
    runner->commands.watch.fd = -1;
    runner->steps.folder.fd = runner->steps.folder_fd = -1;
    runner->setup.run = (struct jr_rank_run){.runner = runner,
                                             .watch = {.fd = -1},
                                             .control = {.fd = -1},
                                             .plan = &runner->setup.plan,
                                             .outcome = &runner->setup.outcome};
    runner->setup.done = true;
    runner->tee.streams = fake.streams;
    jr_launch_open(runner);
    runner->events.fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
    CU_ASSERT_TRUE_FATAL(runner->events.fd >= 0);
    CU_ASSERT_EQUAL_FATAL(jr_loop_open(&runner->loop), 0);
    jr_console_writer_open(&runner->console, &runner->loop, -1, -1);
}

/* Let the runner start processes for real, of ranks that write files alone: to be called before
 * anything else is opened, for descriptors move into their slots. `argv` is every rank's, in the
 * folder attempt_0/N. */
static inline void fake_runner_starter(char **argv)
{
    static char *env[] = {(char *)"PATH=/bin:/usr/bin", NULL};
    static char names[FAKE_RANKS][3][32];
    fake.folder.fd = fake.scratch.fd;
    fake.folder.dir_mode = 0700;
    for (uint32_t i = 0; i < FAKE_RANKS; i++) {
        struct jr_plan_rank *rank = &fake.planned[i];
        (void)snprintf(names[i][0], 32, "attempt_0/%u", i);
        (void)snprintf(names[i][1], 32, "attempt_0/%u/stdout.log", i);
        (void)snprintf(names[i][2], 32, "attempt_0/%u/stderr.log", i);
        rank->argv = argv;
        rank->env = env;
        rank->workdir = "/";
        rank->out = rank->err = JR_SINK_FILE;
        rank->dir = names[i][0];
        rank->out_path = names[i][1];
        rank->err_path = names[i][2];
    }
    CU_ASSERT_EQUAL_FATAL(
        jr_starter_open(&fake.runner.starter, &fake.plan, &fake.options, &fake.budget), 0);
    (void)umask(022);
    fake.started = true;
}

/* Turn the loop until `done` says so. */
static inline void fake_runner_turn(bool (*done)(const struct jr_runner *))
{
    while (!done(&fake.runner)) {
        (void)jr_launch_turn(&fake.runner);
        (void)jr_loop_turn(&fake.runner.loop, fake.runner.next < fake.plan.count);
    }
}

/* It is one node of several: what is reported can be read. */
static inline void fake_runner_link(void)
{
    CU_ASSERT_EQUAL_FATAL(pipe(fake.reports), 0);
    fake.runner.link.reports_fd = fake.reports[1];
    fake.options.link = &fake.link;
}

/* Let the console write standard error into the file "console" of the folder.
 */
static inline void fake_runner_console(void)
{
    struct jr_runner *runner = &fake.runner;
    fake.console = openat(fake.scratch.fd, "console", O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    CU_ASSERT_TRUE_FATAL(fake.console >= 0);
    jr_console_writer_close(&runner->console);
    jr_console_writer_open(&runner->console, &runner->loop, -1, fake.console);
}

/* Read a file beneath the folder into `ret`, of `size` bytes; "" where there is none. */
static inline const char *fake_runner_read(const char *name, char *ret, size_t size)
{
    int fd = openat(fake.scratch.fd, name, O_RDONLY | O_CLOEXEC);
    ssize_t len = fd < 0 ? 0 : read(fd, ret, size - 1);
    ret[len < 0 ? 0 : len] = '\0';
    if (fd >= 0)
        (void)close(fd);
    return ret;
}

static inline void fake_runner_open(const struct jr_runner_policy *policy)
{
    CU_ASSERT_EQUAL_FATAL(policy->open(&fake.runner), 0);
}

/* Say that the rank runs, without a process: nothing can be sent to it. */
static inline void fake_runner_run(uint32_t i)
{
    if (i >= fake.runner.next)
        fake.runner.next = i + 1;
    fake.ranks[i].state = JR_LIFE_RUNNING;
    fake.outcomes[i].started_ns = jr_clock_ns();
    fake.runner.running++;
}

/* What the process of a rank does: tell of each signal, and never end. */
static inline _Noreturn void fake_runner_listen(int ready, int to)
{
    sigset_t all;
    for (int fd = 3; fd < 256; fd++) /* what a test closes is closed */
        if (fd != ready && fd != to)
            (void)close(fd);
    (void)sigfillset(&all);
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)sigprocmask(SIG_BLOCK, &all, NULL);
    (void)setpgid(0, 0);
    if (write(ready, "r", 1) != 1)
        _exit(1);
    for (;;) {
        int sig = sigwaitinfo(&all, NULL);
        unsigned char byte = (unsigned char)sig;
        if (sig > 0 && write(to, &byte, 1) != 1)
            _exit(1);
    }
}

static inline bool fake_runner_readable(int fd, int limit_ms)
{
    struct pollfd item = {.fd = fd, .events = POLLIN};
    return poll(&item, 1, limit_ms) == 1;
}

/* The time is up for which a stop is held, if it is. */
static inline void fake_runner_pass_hold(void)
{
    struct jr_timer *timer = &fake.runner.first_failure.timer;
    bool held = timer->at != 0;
    timer->at = 0;
    if (held)
        jr_stop_begin(&fake.runner);
}

/* Give the rank a process, which leads a group of its own. */
static inline void fake_runner_spawn(uint32_t i)
{
    int pair[2], ready[2];
    char byte;
    CU_ASSERT_EQUAL_FATAL(pipe(pair), 0);
    CU_ASSERT_EQUAL_FATAL(pipe(ready), 0);
    pid_t pid = fork();
    if (pid == 0)
        fake_runner_listen(ready[1], pair[1]);
    CU_ASSERT_TRUE_FATAL(pid > 0);
    (void)close(ready[1]);
    (void)close(pair[1]);
    CU_ASSERT_EQUAL(read(ready[0], &byte, 1), 1);
    (void)close(ready[0]);
    fake.signals[i] = pair[0];
    fake.ranks[i].pid = pid;
    fake.ranks[i].watch.fd = jr_pidfd_open(pid);
    fake.outcomes[i].pid = fake.outcomes[i].own_pid = pid;
    CU_ASSERT_TRUE_FATAL(fake.ranks[i].watch.fd >= 0);
    fake_runner_run(i);
}

/* Append the name of a signal, unless it is the last already. */
static inline void fake_runner_put_signal(struct jr_buf *out, int sig)
{
    char name[JR_SIGNAL_NAME];
    jr_signal_name(name, sig);
    const char *word = strncmp(name, "SIG", 3) == 0 ? name + 3 : name;
    size_t len = strlen(word);
    if (out->len >= len && memcmp(out->data + out->len - len, word, len) == 0)
        return;
    jr_buf_printf(out, "%s%s", out->len == 0 ? "" : " ", word);
}

/* Check what the rank was sent, in its order: "TERM CONT"; "KILL" at its end; "" for nothing, and
 * it goes on. The same signal twice counts once, for the kernel may make one of both. */
static inline void fake_runner_check_sent(uint32_t i, const char *expected)
{
    struct jr_buf got = JR_BUF_INIT;
    unsigned char byte = 0;
    bool more = true;
    (void)kill(fake.ranks[i].pid, SIGRTMAX); /* comes after all others */
    while (more) {
        bool told = fake_runner_readable(fake.signals[i], FAKE_WAIT_MS);
        CU_ASSERT_TRUE_FATAL(told);
        bool lives = read(fake.signals[i], &byte, 1) == 1;
        more = lives && byte != SIGRTMAX;
        if (more || !lives)
            fake_runner_put_signal(&got, lives ? byte : SIGKILL);
    }
    JR_ASSERT_TEXT(got.len == 0 ? "" : got.data, expected);
    jr_buf_release(&got);
}

/* Check that the rank was sent SIGSTOP. */
static inline void fake_runner_check_stopped(uint32_t i)
{
    siginfo_t info = {0};
    (void)waitid(P_PID, (id_t)fake.ranks[i].pid, &info, WSTOPPED | WEXITED | WNOWAIT);
    CU_ASSERT_EQUAL(info.si_code, CLD_STOPPED);
}

/* Let the rank's process be gone, and reaped. */
static inline void fake_runner_reap(uint32_t i)
{
    if (fake.signals[i] < 0)
        return;
    (void)kill(fake.ranks[i].pid, SIGKILL);
    (void)waitpid(fake.ranks[i].pid, NULL, 0);
    if (fake.ranks[i].watch.fd >= 0)
        (void)close(fake.ranks[i].watch.fd);
    fake.ranks[i].watch.fd = -1;
    (void)close(fake.signals[i]);
    fake.signals[i] = -1;
}

/* Let the rank's process end, and stay to be reaped. */
static inline void fake_runner_kill(uint32_t i)
{
    siginfo_t info = {0};
    id_t pid = (id_t)fake.ranks[i].pid;
    (void)kill(fake.ranks[i].pid, SIGKILL);
    CU_ASSERT_EQUAL(waitid(P_PID, pid, &info, WEXITED | WNOWAIT), 0);
}

/* Say that the rank has ended. */
static inline void fake_runner_note_end(uint32_t i, enum jr_end end, int number)
{
    struct jr_rank_outcome *outcome = &fake.outcomes[i];
    outcome->end = end;
    outcome->exit_code = end == JR_END_EXITED ? number : 0;
    outcome->signal = end == JR_END_SIGNALED ? number : 0;
    outcome->ended_ns = jr_clock_ns();
    outcome->order = ++fake.runner.ended;
    if (fake.ranks[i].state != JR_LIFE_ENDED && fake.runner.running > 0)
        fake.runner.running--;
    fake.ranks[i].state = JR_LIFE_ENDED;
}

/* Give the rank a control socket, which the exit barrier listens to. */
static inline void fake_runner_control(uint32_t i)
{
    int ends[2];
    CU_ASSERT_EQUAL_FATAL(jr_control_open(ends), 0);
    CU_ASSERT_EQUAL_FATAL(jr_exit_barrier_add(&fake.ranks[i], ends[0]), 0);
    fake.controls[i] = ends[1];
}

/* Let the rank write to its control socket, and the runner read it: the rank is this process, for
 * the kernel says who wrote. */
static inline void fake_runner_tell(uint32_t i, const char *text)
{
    fake.ranks[i].pid = getpid();
    CU_ASSERT_EQUAL(send(fake.controls[i], text, strlen(text), 0), (ssize_t)strlen(text));
    fake.ranks[i].control.ready(&fake.ranks[i], 0);
}

/* Whether the rank was told that it may end; the byte is taken. */
static inline bool fake_runner_released(uint32_t i)
{
    char byte = 0;
    return recv(fake.controls[i], &byte, 1, MSG_DONTWAIT) == 1 && byte == 'g';
}

/* Append an event, with the members that tests look at. */
static inline void fake_runner_put_event(struct jr_buf *out, const struct jr_event *event)
{
    char name[JR_SIGNAL_NAME];
    jr_buf_str(out, jr_event_word(event->name));
    if ((event->says & JR_SAYS(RANK)) != 0)
        jr_buf_printf(out, " rank=%u", event->rank);
    if ((event->says & JR_SAYS(EXIT_CODE)) != 0)
        jr_buf_printf(out, " code=%d", event->exit_code);
    if ((event->says & (JR_SAYS(SIGNAL) | JR_SAYS(EXIT_SIGNAL))) != 0 && event->signal != 0) {
        jr_signal_name(name, event->signal);
        jr_buf_printf(out, " signal=%s", name);
    }
    if ((event->says & JR_SAYS(RETURNED)) != 0)
        jr_buf_printf(out, " returned=%d", event->returned);
    if ((event->says & JR_SAYS(TIMEOUT)) != 0)
        jr_buf_printf(out, " timeout=%d", event->timeout);
    if ((event->says & JR_SAYS(RUNNING)) != 0)
        jr_buf_printf(out, " running=%u", event->running);
    if ((event->says & JR_SAYS(SIGNALLED)) != 0)
        jr_buf_printf(out, " signalled=%u", event->signalled);
    if ((event->says & JR_SAYS(STAGE)) != 0)
        jr_buf_printf(out, " stage=%d", event->stage);
    if ((event->says & (JR_SAYS(ERRNO) | JR_SAYS(START_ERRNO))) != 0)
        jr_buf_printf(out, " errno=%d", event->error);
    if ((event->says & JR_SAYS(INJECTION)) != 0)
        jr_buf_printf(out, " injection=%d", event->injection);
    if ((event->says & JR_SAYS(PROBLEM)) != 0)
        jr_buf_printf(out, " problem=%d", event->problem);
    jr_buf_str(out, "; ");
}

/* Check the events since the last call: "stop signal=SIGTERM running=2; ". */
static inline void fake_runner_check_events(const char *expected)
{
    struct jr_buf *lines = &fake.runner.events.lines, out = JR_BUF_INIT;
    size_t at = 0;
    while (at < lines->len) {
        const char *end = memchr(lines->data + at, '\n', lines->len - at);
        struct jr_event event;
        CU_ASSERT_PTR_NOT_NULL_FATAL(end);
        size_t len = (size_t)(end - lines->data) - at;
        CU_ASSERT_TRUE_FATAL(jr_event_read(&event, lines->data + at, len));
        fake_runner_put_event(&out, &event);
        at += len + 1;
    }
    JR_ASSERT_TEXT(out.len == 0 ? "" : out.data, expected);
    jr_buf_release(&out);
    jr_buf_clear(lines);
}

/* Check the report that comes next; for QUIET, *ret_ns gets its time. */
static inline void fake_runner_check_report(enum jr_report_name name, uint64_t *ret_ns)
{
    struct jr_report report = {0};
    CU_ASSERT_TRUE_FATAL(fake_runner_readable(fake.reports[0], 0));
    CU_ASSERT_EQUAL(read(fake.reports[0], &report, sizeof report), (ssize_t)sizeof report);
    CU_ASSERT_EQUAL(report.name, name);
    if (ret_ns != NULL)
        *ret_ns = report.for_ns;
}

static inline void fake_runner_check_no_report(void)
{
    CU_ASSERT_FALSE(fake_runner_readable(fake.reports[0], 0));
}

/* Whether `at` is `ms` after a moment between `before` and now. */
static inline bool fake_runner_is_after(uint64_t at, uint64_t before, uint64_t ms)
{
    return at >= before + ms * FAKE_MS && at <= jr_clock_ns() + ms * FAKE_MS;
}

ENDING(fake_runner_end)
{
    struct jr_runner *runner = &fake.runner;
    for (uint32_t i = 0; i < FAKE_RANKS; i++) {
        fake_runner_reap(i);
        if (fake.ranks[i].control.fd >= 0)
            (void)close(fake.ranks[i].control.fd);
        if (fake.controls[i] >= 0)
            (void)close(fake.controls[i]);
    }
    for (int i = 0; i < 2; i++)
        if (fake.reports[i] >= 0)
            (void)close(fake.reports[i]);
    if (runner->steps.files != NULL)
        jr_steps_finish(runner);
    free(runner->fault_injection.cells);
    free(runner->output_timeout.sizes);
    jr_hang_policy.close(runner);
    free(runner->hang.ranks);
    jr_console_writer_close(&runner->console);
    jr_events_close(&runner->events);
    if (fake.console >= 0)
        (void)close(fake.console);
    (void)close(runner->loop.epoll_fd);
    jr_progress_free(fake.outcome.progress);
    jr_exported_release(&runner->starter.exported);
    if (fake.started && runner->starter.attempt_fd >= 0)
        (void)close(runner->starter.attempt_fd);
    for (int fd = JR_SLOT_DIR; fd < JR_SLOT_END; fd++)
        if (fake.started || fd == JR_SLOT_DIR)
            (void)close(fd);
    scratch_end(&fake.scratch);
}

#endif
