/* Processes with pidfds, and where there are none: a seccomp filter refuses them, as some sandboxes
 * do, in a process of each case. */
#include "base/pidfd.h"
#include "deny.h"
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define WAIT_MS 10000

/* What makes or uses pidfds; `error` 0 leaves all of it. */
static bool forbid(unsigned error)
{
    const struct deny_call calls[] = {{424, error}, {434, error}, {SYS_waitid, error}};
    return error == 0 || deny(calls, sizeof calls / sizeof *calls);
}

static int failures;

static void check(bool good, const char *what)
{
    if (!good)
        (void)printf("not so: %s (%s)\n", what, strerror(errno));
    failures += !good;
}
#define CHECK(what) check(what, #what)

/* The case in three processes: with pidfds, and without them in both ways. */
static void run_each_way(void (*what)(void))
{
    static const unsigned errors[] = {0, ENOSYS, EPERM};
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++) {
        int status = -1;
        (void)fflush(stdout);
        pid_t child = fork();
        if (child == 0) {
            failures = 0;
            CHECK(forbid(errors[i]));
            CHECK(jr_pidfd_works() == (errors[i] == 0));
            what();
            (void)fflush(stdout);
            _exit(failures);
        }
        CU_ASSERT_EQUAL(waitpid(child, &status, 0), child);
        CU_ASSERT_EQUAL(status, 0);
    }
}

/* A child that ends when it is told to. */
static pid_t start_sleeper(void)
{
    pid_t pid = fork();
    while (pid == 0)
        (void)pause();
    return pid;
}

static int watch_child(pid_t pid)
{
    return jr_pidfd_works() ? jr_pidfd_open(pid) : jr_pidfd_stand_in();
}

static void try_child(void)
{
    siginfo_t info = {0};
    struct rusage usage = {0};
    pid_t pid = start_sleeper();
    int fd = watch_child(pid);
    CHECK(fd >= 0 && (fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0);
    CHECK(!jr_child_has_ended(fd, pid));
    CHECK(!jr_child_await(jr_pidfd_works() ? fd : -1, pid, 1));
    CHECK(jr_child_wait(fd, pid, &info, &usage) == 0 && info.si_pid == 0);
    CHECK(jr_child_signal(fd, pid, SIGTERM) == 0);
    CHECK(jr_child_await(jr_pidfd_works() ? fd : -1, pid, WAIT_MS));
    CHECK(jr_child_has_ended(fd, pid));
    /* It has ended, and keeps its number: a signal is for nobody. */
    CHECK(jr_child_signal(fd, pid, SIGKILL) == 0);
    memset(&usage, 0xff, sizeof usage);
    CHECK(jr_child_wait(fd, pid, &info, &usage) == 0 && info.si_pid == pid);
    CHECK(info.si_code == CLD_KILLED && info.si_status == SIGTERM);
    CHECK(usage.ru_utime.tv_sec >= 0 && usage.ru_maxrss >= 0); /* filled in */
    CHECK(jr_child_wait(fd, pid, &info, NULL) != 0 && errno == ECHILD);
    CHECK(!jr_child_has_ended(fd, pid));
    CHECK(jr_child_signal(-1, 0, SIGKILL) != 0 && errno == ESRCH);
    CHECK(jr_child_signal(-1, -1, SIGKILL) != 0 && errno == ESRCH);
    (void)close(fd);
}

static void children_are_signalled_and_taken(void)
{
    run_each_way(try_child);
}

static void try_hold(void)
{
    int status;
    pid_t pid = start_sleeper();
    struct jr_hold hold = jr_hold_open(pid);
    CHECK(hold.pid == pid && (hold.fd >= 0) == jr_pidfd_works());
    CHECK(!jr_hold_has_ended(&hold) && !jr_hold_await(&hold, 1));
    CHECK(jr_hold_poll_ms(&hold, 5) == 5);
    CHECK(jr_hold_poll_ms(&hold, -1) == (hold.fd >= 0 ? -1 : JR_HOLD_LOOK_MS));
    CHECK(jr_hold_signal(&hold, SIGTERM) == 0);
    CHECK(jr_hold_await(&hold, WAIT_MS) && jr_hold_has_ended(&hold));
    CHECK(waitpid(pid, &status, 0) == pid && WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
    CHECK(jr_hold_signal(&hold, SIGTERM) != 0 && errno == ESRCH);
    jr_hold_close(&hold);
    CHECK(hold.pid == 0 && jr_hold_has_ended(&hold));
    CHECK(jr_hold_signal(&hold, SIGTERM) != 0 && errno == ESRCH);
    hold = jr_hold_open(pid);
    CHECK(hold.pid == 0 && hold.fd == -1);
    hold = jr_hold_open(-1);
    CHECK(hold.pid == 0 && jr_hold_signal(&hold, SIGTERM) != 0);
}

static void others_are_held_and_signalled(void)
{
    run_each_way(try_hold);
}

/* In a process that has the two signals blocked: how many of the first came before the second,
 * which is the later one of a number's order. */
static int count_signals(const sigset_t *set)
{
    int count = 0;
    while (sigwaitinfo(set, NULL) == SIGRTMIN)
        count++;
    return count;
}

static void try_count(void)
{
    int status;
    sigset_t set;
    (void)sigemptyset(&set);
    (void)sigaddset(&set, SIGRTMIN);
    (void)sigaddset(&set, SIGRTMIN + 1);
    (void)sigprocmask(SIG_BLOCK, &set, NULL);
    pid_t pid = fork();
    if (pid == 0)
        _exit(count_signals(&set));
    struct jr_hold hold = jr_hold_open(pid);
    CHECK(jr_hold_signal(&hold, SIGRTMIN) == 0);
    CHECK(jr_hold_signal(&hold, SIGRTMIN) == 0);
    CHECK(kill(pid, SIGRTMIN + 1) == 0);
    CHECK(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 2);
    jr_hold_close(&hold);
}

static void each_signal_comes_once(void)
{
    run_each_way(try_count);
}

static bool write_text(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    bool written = fd >= 0 && write(fd, text, strlen(text)) > 0;
    if (fd >= 0)
        (void)close(fd);
    return written;
}

/* The next process gets the number: 0 where that cannot be ordered. */
static pid_t start_as(pid_t number)
{
    char text[16];
    for (int i = 0; i < 100; i++) {
        (void)snprintf(text, sizeof text, "%d", (int)number - 1);
        if (!write_text("/proc/sys/kernel/ns_last_pid", text))
            return 0;
        pid_t pid = start_sleeper();
        if (pid == number)
            return pid;
        (void)kill(pid, SIGKILL);
        (void)waitpid(pid, NULL, 0);
    }
    return 0;
}

/* The attack: who is held has ended, and somebody else has its number. */
static void try_reused_number(void)
{
    pid_t pid = start_sleeper();
    struct jr_hold hold = jr_hold_open(pid);
    (void)kill(pid, SIGKILL);
    (void)waitpid(pid, NULL, 0);
    (void)usleep(20000); /* its start is known by the hundredth of a second */
    pid_t other = start_as(pid);
    if (other == 0) {
        (void)printf("SKIPPED: no process can be given a number here\n");
        return;
    }
    CHECK(jr_hold_has_ended(&hold));
    static const int signals[] = {SIGTERM, SIGCONT, SIGKILL};
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        CHECK(jr_hold_signal(&hold, signals[i]) != 0 && errno == ESRCH);
    CHECK(waitpid(other, NULL, WNOHANG) == 0);
    (void)usleep(20000);
    CHECK(waitpid(other, NULL, WNOHANG) == 0); /* it lives */
    (void)kill(other, SIGKILL);
    (void)waitpid(other, NULL, 0);
    jr_hold_close(&hold);
}

static void whoever_has_its_number_is_left_alone(void)
{
    run_each_way(try_reused_number);
}

JR_UNIT_MAIN("pidfd", CASE(children_are_signalled_and_taken), CASE(others_are_held_and_signalled),
             CASE(each_signal_comes_once), CASE(whoever_has_its_number_is_left_alone))
