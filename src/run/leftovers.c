#include "run/leftovers.h"

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/num.h"
#include "base/proc.h"
#include "run/runner.h"
#include "spawn/reap_descendants.h"

#include "base/banned.h"

#define MOMENT_NS UINT64_C(100000000) /* what a helper has to end by itself */
#define BUSY_NS   UINT64_C(500000000) /* where it still computes by then */
#define LOOK_NS   10000000            /* between two looks */
#define DESCENT   64                  /* generations that are followed */

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

/* Take the ends of children, and sleep until there is another, or a moment. */
static void await_ends(void)
{
    sigset_t chld;
    siginfo_t info;
    (void)sigemptyset(&chld);
    (void)sigaddset(&chld, SIGCHLD);
    (void)sigtimedwait(&chld, NULL, &(struct timespec){.tv_nsec = LOOK_NS});
    do
        info.si_pid = 0;
    while (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | __WALL) == 0 && info.si_pid != 0);
}

void jr_leftovers_note(struct jr_runner *runner)
{
    bool any = false;
    for (uint32_t i = 0; i < runner->next; i++)
        any = any || may_leave(runner->ranks[i].outcome);
    if (!any || jr_stop_has_given_up(runner) || runner->guard_lost || jr_reap_only(0))
        return;
    while (count_leftovers(runner) > jr_clock_ns() && !jr_reap_only(0))
        await_ends();
    if (count_leftovers(runner) == 0)
        return;
    for (uint32_t i = 0; i < runner->next; i++) {
        const struct jr_rank_run *rank = &runner->ranks[i];
        if (rank->outcome->left_running > 0)
            jr_events_add(&runner->events,
                          &(struct jr_event){.name = JR_EVENT_LEFT_RUNNING,
                                             .rank = rank->plan->rank,
                                             .processes = rank->outcome->left_running});
    }
}
