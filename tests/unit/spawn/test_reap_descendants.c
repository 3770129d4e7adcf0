/* The sweep, by a process that does nothing else: it takes all children. */
#include "spawn/reap_descendants.h"
#include "elsewhere.h"

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
static void daemonise(const struct jr_group *group, int depth)
{
    if (depth > 0 && jr_group_fork(group) == 0) {
        (void)setsid();
        daemonise(group, depth - 1);
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

static void make_nothing(const struct jr_group *group)
{
    (void)group;
}

static void make_children(const struct jr_group *group)
{
    for (int i = 0; i < 20; i++)
        if (jr_group_fork(group) == 0)
            hang();
}

static void make_daemons(const struct jr_group *group)
{
    for (int i = 0; i < 4; i++)
        daemonise(group, 4);
}

static void make_hoppers(const struct jr_group *group)
{
    for (int i = 0; i < 4; i++)
        if (jr_group_fork(group) == 0)
            hop();
}

static void make_stopped(const struct jr_group *group)
{
    pid_t child = jr_group_fork(group);
    if (child == 0)
        hang();
    (void)kill(child, SIGSTOP);
}

/* Returns whether a process that made these sees none of them afterwards. */
static bool sweeps(void (*make)(const struct jr_group *), unsigned at_least,
                   const struct jr_group *group)
{
    pid_t sweeper = fork();
    if (sweeper == 0) {
        struct jr_reap sweep;
        sigset_t chld;
        (void)sigemptyset(&chld);
        (void)sigaddset(&chld, SIGCHLD);
        (void)sigprocmask(SIG_BLOCK, &chld, NULL);
        (void)prctl(PR_SET_CHILD_SUBREAPER, 1);
        make(group);
        (void)alarm(120);
        jr_reap(&sweep, 60 * SECOND, group);
        bool none = waitid(P_ALL, 0, &(siginfo_t){0}, WEXITED | WNOHANG | __WALL) != 0;
        _exit(none && sweep.left == 0 && sweep.killed >= at_least ? 0 : 1);
    }
    int status = -1;
    (void)waitpid(sweeper, &status, 0);
    return status == 0;
}

static void ends_all_with(const struct jr_group *group)
{
    CU_ASSERT_TRUE(sweeps(make_nothing, 0, group));
    CU_ASSERT_TRUE(sweeps(make_children, 20, group));
    CU_ASSERT_TRUE(sweeps(make_daemons, 4, group));
    CU_ASSERT_TRUE(sweeps(make_stopped, 1, group));
    CU_ASSERT_TRUE(sweeps(make_hoppers, 4, group));
}

TEST(ends_all_descendants)
{
    ends_all_with(NULL);
}

/* Fork on every side, faster than they can be killed one by one. */
static void make_flood(const struct jr_group *group)
{
    for (int i = 0; i < 64; i++)
        if (jr_group_fork(group) == 0)
            hop();
}

static bool is_there(const char *path)
{
    return access(path, F_OK) == 0;
}

/* A group, or false where this user may make none; loudly. */
static bool makes(struct jr_group *group, const char *id)
{
    jr_group_make(group, id);
    if (group->path[0] == '\0')
        (void)printf("\n    SKIPPED: no control group can be made here\n");
    return group->path[0] != '\0';
}

TEST(ends_a_group)
{
    struct jr_group group;
    if (!makes(&group, "sweep"))
        return;
    ends_all_with(&group);
    CU_ASSERT_TRUE(sweeps(make_flood, 64, &group));
    CU_ASSERT_TRUE(is_there(group.path));
    jr_group_remove(&group);
    CU_ASSERT_FALSE(is_there(group.path));
}

/* Whether the process has no other child. */
static bool knows_its_only_child(void)
{
    pid_t one = fork();
    if (one == 0)
        hang();
    bool alone = jr_reap_only(one) && !jr_reap_only(one + 1);
    pid_t other = fork();
    if (other == 0)
        hang();
    bool two = !jr_reap_only(one) && !jr_reap_only(other);
    (void)kill(one, SIGKILL);
    (void)kill(other, SIGKILL);
    (void)waitpid(one, NULL, 0);
    bool left = jr_reap_only(other);
    (void)waitpid(other, NULL, 0);
    return alone && two && left && jr_reap_only(one);
}

TEST(knows_who_is_the_only_child)
{
    ELSEWHERE(knows_its_only_child());
}

/* What nobody is the parent of: two processes of a run died at once. */
TEST(clears_what_is_left)
{
    struct jr_group group;
    bool left = true;
    if (!makes(&group, "lost"))
        return;
    CU_ASSERT_TRUE(jr_group_is_of(group.path, "lost"));
    CU_ASSERT_FALSE(jr_group_is_of(group.path, "los"));
    CU_ASSERT_FALSE(jr_group_is_of(group.home, "lost"));
    CU_ASSERT_FALSE(jr_group_is_of("/tmp/jobrun-lost.1", "lost"));
    pid_t child = jr_group_fork(&group);
    if (child == 0) {
        (void)kill(getpid(), SIGSTOP);
        _exit(0);
    }
    (void)waitpid(child, NULL, WUNTRACED);
    jr_group_remove(&group); /* it has a process: it stays */
    CU_ASSERT_TRUE(is_there(group.path));
    CU_ASSERT_EQUAL(jr_group_clear(group.path, 10 * SECOND, &left), 1);
    CU_ASSERT_FALSE(left);
    int status = 0;
    (void)waitpid(child, &status, 0);
    CU_ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    CU_ASSERT_FALSE(is_there(group.path));
}
