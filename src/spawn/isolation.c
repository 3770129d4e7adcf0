#include "spawn/isolation.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/proc.h"
#include "spawn/cgroup_tree.h"

#include "base/banned.h"

/* What the process between sends to the caller. */
struct fork_report {
    int error; /* errno; 0: the pid is good */
    pid_t pid; /* of the child, as the caller sees it */
};

static int write_proc_file(const char *path, const char *text)
{
    JR_CLOSE int fd = open(path, O_WRONLY | O_CLOEXEC);
    return fd < 0 ? -1 : jr_io_write_all(fd, text, strlen(text));
}

/* Ourselves to ourselves: who maps more needs help from the system. */
static int map_user(uid_t user, gid_t group)
{
    char text[64];
    (void)snprintf(text, sizeof text, "%u %u 1\n", user, user);
    if (write_proc_file("/proc/self/setgroups", "deny") != 0 ||
        write_proc_file("/proc/self/uid_map", text) != 0)
        return -1;
    (void)snprintf(text, sizeof text, "%u %u 1\n", group, group);
    return write_proc_file("/proc/self/gid_map", text);
}

/* The process between: it alone enters the namespaces, of which only children become part; its one
 * child is the caller's as soon as it is gone itself. Returns in that child. */
static void fork_child(const struct jr_group *group, int fd)
{
    const int flags = CLONE_NEWPID | CLONE_NEWNS;
    struct fork_report report = {.pid = -1};
    uid_t user = geteuid();
    gid_t users = getegid();
    if (unshare(flags) == 0 || (unshare(flags | CLONE_NEWUSER) == 0 && map_user(user, users) == 0))
        report.pid = jr_group_fork(group);
    if (report.pid == 0)
        return;
    report.error = report.pid < 0 ? errno : 0;
    (void)jr_io_write_all(fd, &report, sizeof report);
    _exit(0);
}

pid_t jr_isolate_fork(const struct jr_group *group, struct jr_error *err)
{
    int ends[2];
    struct fork_report report = {.error = EIO};
    if (pipe2(ends, O_CLOEXEC) != 0)
        return jr_error_sys(err, JR_STATUS_LAUNCH, "isolation: pid");
    pid_t between = fork();
    if (between == 0) {
        fork_child(group, ends[1]);
        (void)close(ends[0]);
        (void)close(ends[1]);
        return 0;
    }
    (void)close(ends[1]);
    if (between < 0)
        report.error = errno;
    else if (read(ends[0], &report, sizeof report) != (ssize_t)sizeof report)
        report.error = EIO;
    (void)close(ends[0]);
    while (between > 0 && waitpid(between, NULL, 0) == -1 && errno == EINTR)
        continue;
    if (report.error == 0)
        return report.pid;
    errno = report.error;
    return jr_error_sys(err, JR_STATUS_LAUNCH,
                        "isolation: pid is not possible here (it needs root, or a kernel and a "
                        "container that let users create namespaces: user.max_user_namespaces, "
                        "kernel.apparmor_restrict_unprivileged_userns); use -s isolation=none");
}

int jr_isolate_settle(int *ret_proc, int at_least)
{
    JR_CLOSE int proc = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
    int kept = proc < 0 ? -1 : fcntl(proc, F_DUPFD_CLOEXEC, at_least);
    if (kept < 0)
        return -1;
    *ret_proc = kept;
    if (mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL) != 0)
        return -1;
    return mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL);
}

/* The machine's /proc tells pids as the machine has them. */
pid_t jr_isolate_host_pid(int proc_fd, int pidfd, pid_t pid)
{
    pid_t number = proc_fd < 0 ? 0 : jr_proc_number(proc_fd, pidfd);
    if (number == 0 && proc_fd >= 0)
        number = jr_proc_child_number(proc_fd, pid);
    return number > 0 ? number : pid;
}
