/* Commands under a keeper, by what they leave and by what is said of them. */
#include "spawn/keeper.h"
#include "deny.h"
#include "descriptors.h"
#include "elsewhere.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#define LONG_MS 60000

static const char *const environment[] = {"PATH=/usr/bin:/bin", "GIVEN=yes", NULL};

/* Start `script` in the shell; what it prints can be read from *ret_fd, whose end says that no
 * process has it any more. */
static struct jr_keeper start_script(const char *script, unsigned limit_ms, int *ret_fd)
{
    const char *const argv[] = {"sh", "-c", script, NULL};
    struct jr_keeper keeper = {.fd = -1};
    int ends[2] = {-1, -1};
    CU_ASSERT_EQUAL(pipe(ends), 0);
    const struct jr_keeper_command command = {.argv = (char *const *)argv,
                                              .env = (char *const *)environment,
                                              .workdir = "/usr",
                                              .out_fd = ends[1],
                                              .limit_ms = limit_ms};
    CU_ASSERT_EQUAL(jr_keeper_start(&keeper, &command), 0);
    (void)close(ends[1]);
    *ret_fd = ends[0];
    return keeper;
}

/* All that is printed until nobody is left who could. */
static void read_to_end(char *text, size_t size, int fd)
{
    size_t len = 0;
    ssize_t got;
    while (len + 1 < size && (got = read(fd, text + len, size - 1 - len)) > 0)
        len += (size_t)got;
    text[len] = '\0';
    (void)close(fd);
}

static struct jr_keeper_report run_script(const char *script, unsigned limit_ms,
                                          char text[static 256])
{
    struct jr_keeper_report report;
    int fd;
    struct jr_keeper keeper = start_script(script, limit_ms, &fd);
    read_to_end(text, 256, fd);
    jr_keeper_finish(&keeper, &report);
    CU_ASSERT_EQUAL(keeper.pid, 0);
    return report;
}

TEST(tells_the_end)
{
    char text[256];
    struct jr_keeper_report report =
        run_script("echo $GIVEN; pwd; echo err >&2; cat; exit 3", LONG_MS, text);
    CU_ASSERT_EQUAL(report.end, JR_KEEPER_EXITED);
    CU_ASSERT_EQUAL(report.value, 3);
    CU_ASSERT_FALSE(report.left);
    CU_ASSERT_STRING_EQUAL(text, "yes\n/usr\nerr\n");
    report = run_script("kill -SEGV $$", LONG_MS, text);
    CU_ASSERT_EQUAL(report.end, JR_KEEPER_SIGNALED);
    CU_ASSERT_EQUAL(report.value, SIGSEGV);
    report = run_script("exit 0", LONG_MS, text);
    CU_ASSERT_EQUAL(report.end, JR_KEEPER_EXITED);
    CU_ASSERT_EQUAL(report.value, 0);
}

/* Neither jobrun's descriptors nor its mask, nor a signal that it ignores. */
TEST(gives_a_clean_start)
{
    sigset_t all, before;
    char text[256];
    (void)signal(SIGPIPE, SIG_IGN);
    (void)sigfillset(&all);
    (void)sigprocmask(SIG_SETMASK, &all, &before);
    int secret = dup(STDIN_FILENO);
    (void)run_script("ls /proc/self/fd | wc -l; grep -E '^Sig(Blk|Ign)' /proc/self/status", LONG_MS,
                     text);
    (void)close(secret);
    (void)sigprocmask(SIG_SETMASK, &before, NULL);
    (void)signal(SIGPIPE, SIG_DFL);
    /* 0, 1, 2, and the folder that ls reads */
    CU_ASSERT_STRING_EQUAL(text, "4\nSigBlk:\t0000000000000000\n"
                                 "SigIgn:\t0000000000000000\n");
}

TEST(ends_what_hangs)
{
    char text[256];
    struct jr_keeper_report report =
        run_script("trap '' TERM INT HUP; (setsid sleep 1000 &); echo on; "
                   "while :; do sleep 1000; done",
                   300, text);
    CU_ASSERT_EQUAL(report.end, JR_KEEPER_TIMED_OUT);
    CU_ASSERT_STRING_EQUAL(text, "on\n");
}

/* The end of what it prints shows that the daemon is dead. */
TEST(ends_what_is_left)
{
    char text[256];
    struct jr_keeper_report report = run_script(
        "(setsid sh -c 'trap \"\" TERM; sleep 1000; sleep 1000' &); exit 0", LONG_MS, text);
    CU_ASSERT_EQUAL(report.end, JR_KEEPER_EXITED);
    CU_ASSERT_EQUAL(report.value, 0);
    CU_ASSERT_TRUE(report.left);
}

static void await_text(int fd)
{
    char byte;
    CU_ASSERT_EQUAL(read(fd, &byte, 1), 1);
}

TEST(stops)
{
    char text[256];
    struct jr_keeper_report report;
    int fd;
    struct jr_keeper keeper =
        start_script("trap '' TERM; echo; sleep 1000; sleep 1000", LONG_MS, &fd);
    await_text(fd);
    jr_keeper_stop(&keeper);
    read_to_end(text, sizeof text, fd);
    jr_keeper_finish(&keeper, &report);
    CU_ASSERT_EQUAL(report.end, JR_KEEPER_STOPPED);
}

/* Its death is the command's. */
TEST(survives_no_keeper)
{
    char text[256];
    struct jr_keeper_report report;
    int fd;
    struct jr_keeper keeper = start_script("echo; exec sleep 1000", LONG_MS, &fd);
    await_text(fd);
    (void)kill(keeper.pid, SIGKILL);
    read_to_end(text, sizeof text, fd);
    jr_keeper_finish(&keeper, &report);
    CU_ASSERT_EQUAL(report.end, JR_KEEPER_LOST);
}

/* A process that starts a command and dies leaves it to the keeper. */
TEST(outlives_its_maker)
{
    char text[256];
    int ends[2];
    CU_ASSERT_EQUAL(pipe(ends), 0);
    pid_t maker = fork();
    if (maker == 0) {
        /* once this process has ended and been reaped */
        const char *const argv[] = {"sh", "-c",
                                    "while kill -0 $MAKER 2> /dev/null; do :; done; echo on", NULL};
        char text_of_pid[32];
        (void)snprintf(text_of_pid, sizeof text_of_pid, "MAKER=%d", getpid());
        const char *const env[] = {environment[0], text_of_pid, NULL};
        const struct jr_keeper_command command = {.argv = (char *const *)argv,
                                                  .env = (char *const *)env,
                                                  .workdir = "/",
                                                  .out_fd = ends[1],
                                                  .limit_ms = LONG_MS};
        struct jr_keeper keeper;
        _exit(jr_keeper_start(&keeper, &command) == 0 ? 0 : 1);
    }
    (void)close(ends[1]);
    (void)waitpid(maker, NULL, 0);
    read_to_end(text, sizeof text, ends[0]);
    CU_ASSERT_STRING_EQUAL(text, "on\n");
}

static struct jr_keeper_report run_program(const char *name, const char *workdir)
{
    const char *const argv[] = {name, NULL};
    const struct jr_keeper_command command = {.argv = (char *const *)argv,
                                              .env = (char *const *)environment,
                                              .workdir = workdir,
                                              .out_fd = -1,
                                              .limit_ms = LONG_MS};
    struct jr_keeper_report report;
    struct jr_keeper keeper;
    CU_ASSERT_EQUAL_FATAL(jr_keeper_start(&keeper, &command), 0);
    jr_keeper_finish(&keeper, &report);
    return report;
}

TEST(tells_what_does_not_start)
{
    static const struct {
        const char *name, *workdir;
        enum jr_keeper_end end;
        int value;
    } rows[] = {
        {"no-such-program", "/", JR_KEEPER_NO_START, ENOENT},
        {"./no-such-program", "/", JR_KEEPER_NO_START, ENOENT},
        {"", "/", JR_KEEPER_NO_START, ENOENT},
        {"/etc/passwd", "/", JR_KEEPER_NO_START, EACCES},
        {"/etc", "/", JR_KEEPER_NO_START, EISDIR},
        {"true", "/no/such/folder", JR_KEEPER_NO_FOLDER, ENOENT},
        {"true", "/etc/passwd", JR_KEEPER_NO_FOLDER, ENOTDIR},
        {"true", "/", JR_KEEPER_EXITED, 0},
        {"bin/true", "/usr", JR_KEEPER_EXITED, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct jr_keeper_report report = run_program(rows[i].name, rows[i].workdir);
        CU_ASSERT_EQUAL(report.end, rows[i].end);
        CU_ASSERT_EQUAL(report.value, rows[i].value);
    }
}

static void hear(int sig)
{
    (void)sig;
}

/* A signal that is handled meanwhile changes nothing. */
TEST(is_waited_for_whatever_is_heard)
{
    const struct itimerval often = {{0, 2000}, {0, 2000}}, never = {0};
    struct sigaction action = {.sa_handler = hear}; /* without SA_RESTART */
    struct jr_keeper_report report;
    int fd;
    struct jr_keeper keeper = start_script("sleep 0.1; exit 3", LONG_MS, &fd);
    CU_ASSERT_EQUAL(sigaction(SIGALRM, &action, NULL), 0);
    CU_ASSERT_EQUAL(setitimer(ITIMER_REAL, &often, NULL), 0);
    jr_keeper_finish(&keeper, &report);
    CU_ASSERT_EQUAL(setitimer(ITIMER_REAL, &never, NULL), 0);
    CU_ASSERT_EQUAL(report.end, JR_KEEPER_EXITED);
    CU_ASSERT_EQUAL(report.value, 3);
    CU_ASSERT_EQUAL(keeper.fd, -1);
    CU_ASSERT_EQUAL(waitpid(-1, NULL, WNOHANG), -1);
    (void)close(fd);
}

/* A kernel without pidfds tells of the end by a signal. */
static bool is_told_blindly(void)
{
    static const struct deny_call calls[] = {{SYS_pidfd_open, ENOSYS}};
    char text[256];
    (void)alarm(30);
    if (!deny(calls, 1))
        return false;
    struct jr_keeper_report report = run_script("sleep 0.1; exit 3", LONG_MS, text);
    return report.end == JR_KEEPER_EXITED && report.value == 3;
}

TEST(needs_no_pidfds)
{
    ELSEWHERE(is_told_blindly());
}

/* Without descriptors nothing is started, and none is lost. */
TEST(says_where_descriptors_are_short)
{
    const char *const argv[] = {"true", NULL};
    const struct jr_keeper_command command = {.argv = (char *const *)argv,
                                              .env = (char *const *)environment,
                                              .workdir = "/",
                                              .out_fd = -1,
                                              .limit_ms = LONG_MS};
    struct rlimit before, few;
    int next = dup(STDIN_FILENO);
    (void)close(next);
    CU_ASSERT_EQUAL_FATAL(getrlimit(RLIMIT_NOFILE, &before), 0);
    unsigned open = count_descriptors();
    for (int more = 1; more < 4; more++) {
        struct jr_keeper keeper = {.fd = -1};
        struct jr_keeper_report report = {.end = JR_KEEPER_EXITED};
        few = before;
        few.rlim_cur = (rlim_t)(next + more);
        CU_ASSERT_EQUAL(setrlimit(RLIMIT_NOFILE, &few), 0);
        int status = jr_keeper_start(&keeper, &command);
        CU_ASSERT_EQUAL(status, more == 1 ? -1 : 0);
        CU_ASSERT_TRUE(more > 1 || errno == EMFILE);
        CU_ASSERT_EQUAL(setrlimit(RLIMIT_NOFILE, &before), 0);
        if (status == 0)
            jr_keeper_finish(&keeper, &report);
        CU_ASSERT_TRUE(status != 0 || report.end == JR_KEEPER_LOST);
        CU_ASSERT_EQUAL(count_descriptors(), open);
    }
}
