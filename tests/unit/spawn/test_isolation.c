/* A PID namespace of a run's own, and what it is told of processes there. */
#include "spawn/isolation.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/pidfd.h"
#include "deny.h"
#include "elsewhere.h"

#define need(good) need_at(__LINE__, good)
enum { NOBODY = 65534 };

static void need_at(int line, bool good)
{
    if (good)
        return;
    (void)dprintf(STDERR_FILENO, "\n    line %d: %s\n", line, strerror(errno));
    _exit(1);
}

/* Each case is a process of its own, which takes what it isolates. */
static void prepare(void)
{
    (void)alarm(60);
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1);
}

/* What the first process of the namespace finds; the numbers that the machine has for a child of
 * it, by its pidfd and without. */
static void tell_of_inside(int fd)
{
    char self[16] = "";
    int proc = -1;
    need(getpid() == 1 && getppid() == 0);
    errno = 0;
    if (jr_isolate_settle(&proc, 40) != 0)
        _exit(errno == EPERM ? SKIPPED : 1);
    need(proc >= 40 && (fcntl(proc, F_GETFD) & FD_CLOEXEC) != 0);
    need(readlink("/proc/self", self, sizeof self - 1) == 1 && self[0] == '1');
    pid_t child = fork();
    if (child == 0)
        for (;;)
            (void)pause();
    int pidfd = jr_pidfd_open(child);
    const pid_t numbers[] = {jr_isolate_host_pid(proc, pidfd, child),
                             jr_isolate_host_pid(proc, -1, child)};
    need(write(fd, numbers, sizeof numbers) == (ssize_t)sizeof numbers);
    for (;;)
        (void)pause();
}

/* The first word behind `key` in the status of a process. */
static long status_number(pid_t pid, const char *key)
{
    char path[64], line[256];
    long number = -1;
    (void)snprintf(path, sizeof path, "/proc/%d/status", pid);
    FILE *file = fopen(path, "re");
    while (file != NULL && fgets(line, sizeof line, file) != NULL)
        if (strncmp(line, key, strlen(key)) == 0)
            number = strtol(line + strlen(key), NULL, 10);
    if (file != NULL)
        (void)fclose(file);
    return number;
}

static void isolate(void)
{
    prepare();
    struct jr_error err = {0};
    pid_t numbers[2] = {0};
    int ends[2], status;
    need(pipe2(ends, O_CLOEXEC) == 0);
    pid_t pid = jr_isolate_fork(NULL, &err);
    if (pid == 0)
        tell_of_inside(ends[1]);
    if (pid < 0)
        _exit(err.sys == EPERM || err.sys == ENOSPC ? SKIPPED : 1);
    (void)close(ends[1]);
    if (read(ends[0], numbers, sizeof numbers) != (ssize_t)sizeof numbers) {
        need(waitpid(pid, &status, 0) == pid && WIFEXITED(status));
        _exit(WEXITSTATUS(status));
    }
    need(status_number(pid, "PPid:") == getpid()); /* nobody is between */
    need(numbers[0] == numbers[1] && numbers[0] > 0);
    need(status_number(numbers[0], "PPid:") == pid);
    need(status_number(pid, "Uid:") == (long)geteuid());
    need(status_number(pid, "Gid:") == (long)getegid());
    need(kill(pid, SIGKILL) == 0 && waitpid(pid, &status, 0) == pid);
    need(kill(numbers[0], 0) != 0); /* its end is theirs */
}

static void isolate_as_nobody(void)
{
    if (geteuid() != 0)
        _exit(SKIPPED);
    need(setresgid(NOBODY, NOBODY, NOBODY) == 0);
    need(setresuid(NOBODY, NOBODY, NOBODY) == 0);
    need(prctl(PR_SET_DUMPABLE, 1) == 0); /* /proc/self is ours again */
    isolate();
}

TEST(the_run_is_by_itself)
{
    ELSEWHERE((isolate(), true));
    ELSEWHERE((isolate_as_nobody(), true));
}

static void refuse(const struct deny_call *call, const char *text)
{
    struct jr_error err = {0};
    prepare();
    if (!deny(call, 1))
        _exit(SKIPPED);
    need(jr_isolate_fork(NULL, &err) == -1);
    need(err.status == JR_STATUS_LAUNCH && err.sys == (int)call->error);
    need(strncmp(err.text, text, strlen(text)) == 0);
    need(waitpid(-1, NULL, 0) == -1 && errno == ECHILD);
}

TEST(says_why_not)
{
    static const struct {
        struct deny_call call;
        const char *text;
    } rows[] = {
        {{SYS_unshare, EPERM}, "isolation: pid is not possible here (it needs root, or "},
        {{SYS_pipe2, EMFILE}, "isolation: pid: "},
        {{SYS_clone, EAGAIN}, "isolation: pid is not possible here"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        ELSEWHERE((refuse(&rows[i].call, rows[i].text), true));
}

/* A number that the machine does not tell is the one from here. */
TEST(numbers_are_those_of_the_machine)
{
    pid_t child = fork();
    if (child == 0)
        for (;;)
            (void)pause();
    int proc = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
    int pidfd = jr_pidfd_open(child);
    CU_ASSERT_EQUAL(jr_isolate_host_pid(-1, pidfd, 7), 7);
    CU_ASSERT_EQUAL(jr_isolate_host_pid(proc, pidfd, 7), pidfd < 0 ? 7 : child);
    CU_ASSERT_EQUAL(jr_isolate_host_pid(proc, -1, child), child);
    CU_ASSERT_EQUAL(jr_isolate_host_pid(proc, -1, 1 << 30), 1 << 30);
    (void)kill(child, SIGKILL);
    (void)waitpid(child, NULL, 0);
    (void)close(pidfd);
    (void)close(proc);
}
