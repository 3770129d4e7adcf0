/* The sweep, by a process that does nothing else: it takes all children. */
#include "sweep.h"
#include "unit.h"

#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define SECOND UINT64_C(1000000000)

static void hang(void)
{
    (void)signal(SIGTERM, SIG_IGN);
    for (;;)
        (void)pause();
}

/* A chain of processes, each in a session of its own. */
static void daemonise(int depth)
{
    if (depth > 0 && fork() == 0) {
        (void)setsid();
        daemonise(depth - 1);
        hang();
    }
}

/* Fork and leave, for ever: always one process, never the same for long. */
static void hop(void)
{
    for (;;)
        if (fork() != 0)
            _exit(0);
}

static void make_nothing(void)
{
}

static void make_children(void)
{
    for (int i = 0; i < 20; i++)
        if (fork() == 0)
            hang();
}

static void make_daemons(void)
{
    for (int i = 0; i < 4; i++)
        daemonise(4);
}

static void make_hoppers(void)
{
    for (int i = 0; i < 4; i++)
        if (fork() == 0)
            hop();
}

static void make_stopped(void)
{
    pid_t child = fork();
    if (child == 0)
        hang();
    (void)kill(child, SIGSTOP);
}

/* Returns whether a process that made these sees none of them afterwards. */
static bool sweeps(void (*make)(void), unsigned at_least)
{
    pid_t sweeper = fork();
    if (sweeper == 0) {
        struct jr_sweep sweep;
        sigset_t chld;
        (void)sigemptyset(&chld);
        (void)sigaddset(&chld, SIGCHLD);
        (void)sigprocmask(SIG_BLOCK, &chld, NULL);
        (void)prctl(PR_SET_CHILD_SUBREAPER, 1);
        make();
        (void)alarm(20);
        jr_sweep(&sweep, 10 * SECOND);
        bool none =
            waitid(P_ALL, 0, &(siginfo_t){0}, WEXITED | WNOHANG | __WALL) != 0;
        _exit(none && sweep.left == 0 && sweep.killed >= at_least ? 0 : 1);
    }
    int status = -1;
    (void)waitpid(sweeper, &status, 0);
    return status == 0;
}

static void ends_all_descendants(void)
{
    CU_ASSERT_TRUE(sweeps(make_nothing, 0));
    CU_ASSERT_TRUE(sweeps(make_children, 20));
    CU_ASSERT_TRUE(sweeps(make_daemons, 4));
    CU_ASSERT_TRUE(sweeps(make_stopped, 1));
    CU_ASSERT_TRUE(sweeps(make_hoppers, 4));
}

JR_UNIT_MAIN("sweep", CASE(ends_all_descendants))
