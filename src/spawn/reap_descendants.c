/*
 * First the control group, where the run has one: what forks faster than it is killed one by one
 * cannot flee from that. Then, in any case, by descent.
 *
 * The caller is a subreaper: when a process ends, its children become the caller's own. So it is
 * enough to kill direct children, again and again: each pass brings the next generation near. A
 * direct child that was not reaped keeps its number, which makes this the one place where a plain
 * pid is safe to signal.
 *
 * Reaping is bounded per pass: against processes that fork without end, an unbounded one would
 * starve the killing.
 */
#include "spawn/reap_descendants.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/num.h"
#include "base/proc.h"

#include "base/banned.h"

#define PASS_REAPS   256     /* ends taken between two passes of killing */
#define PASS_WAIT_NS 1000000 /* for the killed ones to die */

/* What is done to each child: returns nothing, goes on. */
typedef void child_visit(pid_t pid, void *data);

/* By /proc/thread-self/children (CONFIG_PROC_CHILDREN); where the kernel has no such file, by who
 * is the parent of each process. */
static void visit_children(child_visit *visit, void *data)
{
    FILE *file = fopen("/proc/thread-self/children", "re");
    JR_CLOSEDIR DIR *proc = file == NULL ? opendir("/proc") : NULL;
    const struct dirent *entry;
    int child;
    while (file != NULL && fscanf(file, "%d", &child) == 1)
        visit(child, data);
    while (proc != NULL && (entry = readdir(proc)) != NULL) {
        uint32_t pid;
        struct jr_proc process;
        if (jr_num_u32(entry->d_name, &pid) && jr_proc_of(&process, pid) &&
            process.parent == getpid())
            visit((pid_t)pid, data);
    }
    if (file != NULL)
        (void)fclose(file);
}

static void kill_child(pid_t pid, void *data)
{
    (void)data;
    (void)kill(pid, SIGKILL);
}

static void name_child(pid_t pid, void *data)
{
    struct jr_reap *reap = data;
    if (reap->left < JR_REAP_PIDS)
        reap->left_pids[reap->left] = pid;
    reap->left++;
}

/* The process that should be the only child, and whether there is another. */
struct only {
    pid_t pid;
    bool other;
};

static void find_other_child(pid_t pid, void *data)
{
    struct only *only = data;
    only->other = only->other || pid != only->pid;
}

bool jr_reap_only(pid_t pid)
{
    struct only only = {.pid = pid};
    visit_children(find_other_child, &only);
    return !only.other;
}

/* Take the ends that are there. False when there is no child any more. */
static bool reap_ended_children(struct jr_reap *reap)
{
    for (unsigned i = 0; i < PASS_REAPS; i++) {
        siginfo_t info = {0};
        if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | __WALL) != 0)
            return errno != ECHILD;
        if (info.si_pid == 0)
            return true;
        reap->killed++;
    }
    return true;
}

void jr_reap(struct jr_reap *ret, uint64_t limit_ns, const struct jr_group *group)
{
    sigset_t chld;
    (void)sigemptyset(&chld);
    (void)sigaddset(&chld, SIGCHLD);
    *ret = (struct jr_reap){0};
    uint64_t until = jr_clock_ns() + limit_ns;
    while (reap_ended_children(ret)) {
        uint32_t before = ret->killed;
        if (group != NULL)
            jr_group_kill(group);
        visit_children(kill_child, NULL);
        if (!reap_ended_children(ret))
            return;
        if (jr_clock_ns() > until) {
            visit_children(name_child, ret);
            return;
        }
        /* While there are ends, there may be new children: no rest. Else until a child ends, or a
         * moment. */
        if (ret->killed == before)
            (void)sigtimedwait(&chld, NULL, &(struct timespec){.tv_nsec = PASS_WAIT_NS});
    }
}
