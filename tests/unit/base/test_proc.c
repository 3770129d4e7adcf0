#include "base/proc.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"

#include "unit.h"

TEST(reads_what_is_there)
{
    struct jr_proc proc = {.pid = -7};
    CU_ASSERT_FALSE(jr_proc_read(&proc, "/no/such/file"));
    CU_ASSERT_FALSE(jr_proc_read(&proc, "/proc/self/statm"));
    CU_ASSERT_FALSE(jr_proc_read(&proc, "/dev/null"));
    CU_ASSERT_FALSE(jr_proc_of(&proc, INT64_MAX));
    CU_ASSERT_EQUAL(proc.pid, -7);
    CU_ASSERT_TRUE_FATAL(jr_proc_of(&proc, getpid()));
    CU_ASSERT_EQUAL(proc.pid, getpid());
    CU_ASSERT_EQUAL(proc.parent, getppid());
    CU_ASSERT_EQUAL(proc.session, getsid(0));
    CU_ASSERT_EQUAL(proc.state, 'R');
    CU_ASSERT_EQUAL(proc.threads, 1);
    CU_ASSERT_TRUE(proc.rss_bytes > 0 && proc.start_ticks > 0);
}

/* As it was when the process began, and of exactly that name. */
TEST(reads_a_variable)
{
    char value[64], name[64], *end = strchr(environ[0], '=');
    CU_ASSERT_PTR_NOT_NULL_FATAL(end);
    (void)snprintf(name, sizeof name, "%.*s", (int)(end - environ[0]), environ[0]);
    char *expected = strdup(end + 1);
    CU_ASSERT_TRUE_FATAL(strlen(expected) < sizeof value);
    CU_ASSERT_EQUAL(setenv(name, "changed", 1), 0);
    CU_ASSERT_TRUE(jr_proc_variable(getpid(), name, value, sizeof value));
    JR_ASSERT_TEXT(value, expected);
    CU_ASSERT_TRUE(jr_proc_variable(getpid(), name, value, strlen(expected) + 1));
    CU_ASSERT_FALSE(jr_proc_variable(getpid(), name, value, strlen(expected)));
    name[strlen(name) - 1] = '\0';
    CU_ASSERT_FALSE(jr_proc_variable(getpid(), name, value, sizeof value) &&
                    strcmp(value, expected) == 0);
    CU_ASSERT_FALSE(jr_proc_variable(-1, "PATH", value, sizeof value));
    free(expected);
}

/* Nothing in a name is taken for the fields behind it. */
TEST(names_hold_anything)
{
    static const char *const names[] = {"a) R 1 (b", ") Z 7 7", "", "\n\t ("};
    JR_EACH(row, names) {
        struct jr_proc proc;
        (void)prctl(PR_SET_NAME, *row);
        CU_ASSERT_TRUE(jr_proc_of(&proc, getpid()));
        JR_ASSERT_TEXT(proc.name, *row);
        CU_ASSERT_EQUAL(proc.state, 'R');
        CU_ASSERT_EQUAL(proc.parent, getppid());
    }
    (void)prctl(PR_SET_NAME, "test_proc");
}

/* A child that waits until it is killed, below one that waits, too. */
static pid_t make_family(pid_t *ret_grandchild)
{
    int ends[2];
    CU_ASSERT_EQUAL_FATAL(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0) {
        pid_t grandchild = fork();
        if (grandchild != 0)
            (void)!write(ends[1], &grandchild, sizeof grandchild);
        for (;;)
            (void)pause();
    }
    CU_ASSERT_EQUAL(read(ends[0], ret_grandchild, sizeof *ret_grandchild),
                    (ssize_t)sizeof *ret_grandchild);
    (void)close(ends[0]);
    (void)close(ends[1]);
    return child;
}

TEST(families_are_found)
{
    size_t count = 0, family[4];
    pid_t grandchild = 0, child = make_family(&grandchild);
    struct jr_proc *all = jr_proc_all(&count);
    CU_ASSERT_PTR_NOT_NULL_FATAL(all);
    CU_ASSERT_EQUAL(jr_proc_family(all, count, child, family, 4), 2);
    CU_ASSERT_EQUAL(all[family[0]].pid, child);
    CU_ASSERT_EQUAL(all[family[1]].pid, grandchild);
    CU_ASSERT_EQUAL(jr_proc_family(all, count, grandchild, family, 4), 1);
    CU_ASSERT_EQUAL(jr_proc_family(all, count, child, family, 1), 1);
    CU_ASSERT_EQUAL(jr_proc_family(all, count, child, family, 0), 0);
    CU_ASSERT_EQUAL(jr_proc_family(all, count, -1, family, 4), 0);
    CU_ASSERT_EQUAL(jr_proc_family(all, 0, child, family, 4), 0);
    free(all);
    (void)kill(grandchild, SIGKILL);
    (void)kill(child, SIGKILL);
    (void)waitpid(child, NULL, 0);
}

/* A zombie has exited; what is stopped has not, until it is sent SIGKILL. */
TEST(who_is_on_its_way_out)
{
    struct jr_proc proc;
    pid_t child = fork();
    if (child == 0) {
        (void)raise(SIGSTOP);
        _exit(3);
    }
    CU_ASSERT_EQUAL(waitpid(child, NULL, WUNTRACED), child);
    CU_ASSERT_TRUE_FATAL(jr_proc_of(&proc, child));
    CU_ASSERT_FALSE(jr_proc_is_exiting(&proc));
    (void)kill(child, SIGCONT);
    siginfo_t info;
    CU_ASSERT_EQUAL(waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT), 0);
    CU_ASSERT_TRUE_FATAL(jr_proc_of(&proc, child));
    CU_ASSERT_TRUE(jr_proc_is_exiting(&proc));
    CU_ASSERT_EQUAL(proc.parent, getpid());
    CU_ASSERT_EQUAL(waitpid(child, NULL, 0), child);
    CU_ASSERT_TRUE_FATAL(jr_proc_of(&proc, getpid()));
    CU_ASSERT_FALSE(jr_proc_is_exiting(&proc));
}

#define V2 "30 23 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw\n"
#define CPU                                                                                        \
    "33 25 0:29 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup "                                  \
    "rw,cpu,cpuacct\n"
#define MEM "35 25 0:31 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
#define OTHER                                                                                      \
    "24 1 8:1 / / rw shared:1 - ext4 /dev/sda1 rw\n"                                               \
    "25 24 0:22 / /proc rw - proc proc rw\n"

#define DOCKER "30 23 0:26 /docker/x /sys/fs/cgroup rw - cgroup2 c rw\n"

/* Where a control group controller lives, by the texts of the kernel. */
static const struct {
    const char *groups, *mounts, *controller;
    bool v2, shown;
    const char *point; /* NULL: nowhere */
    const char *leaf;
} vectors[] = {
    /* Nothing, or nothing of use. */
    {NULL, NULL, "cpu", true, false, NULL, ""},
    {"", "", "cpu", true, false, NULL, ""},
    {"0::/a\n", "", "cpu", true, false, NULL, ""},
    {"", V2, "cpu", true, false, NULL, ""},
    {"0::/a\n", OTHER, NULL, true, false, NULL, ""},
    {"nonsense\n0\n0:\n", V2, "cpu", true, false, NULL, ""},
    {"0::/a\n", "1 2 3\n- cgroup2\nx - cgroup2 c rw\n", NULL, true, false, NULL, ""},
    {"0::/a\n", "30 23 0:26 / /sys/fs/cgroup rw cgroup2 cgroup2 rw\n", NULL, true, false, NULL, ""},
    {"0::/a\n", CPU, NULL, true, false, NULL, ""},
    {"4:memory:/a\n", CPU, "memory", false, false, NULL, ""},
    /* Version 2. */
    {"0::/a/b\n", OTHER V2, NULL, true, true, "/sys/fs/cgroup", "/a/b"},
    {"0::/a/b\n", V2, "cpu", true, true, "/sys/fs/cgroup", "/a/b"},
    {"0::/\n", V2, NULL, true, true, "/sys/fs/cgroup", ""},
    {"0::/a b\n", V2, NULL, true, true, "/sys/fs/cgroup", "/a b"},
    {"0::/a:b\n", V2, NULL, true, true, "/sys/fs/cgroup", "/a:b"},
    {"0::/a", V2, NULL, true, true, "/sys/fs/cgroup", "/a"},
    /* Version 1, whatever the order of its names. */
    {"5:cpu,cpuacct:/a\n4:memory:/b\n", CPU MEM, "cpu", false, true, "/sys/fs/cgroup/cpu,cpuacct",
     "/a"},
    {"5:cpuacct,cpu:/a\n", CPU, "cpu", false, true, "/sys/fs/cgroup/cpu,cpuacct", "/a"},
    {"4:memory:/b\n5:cpu,cpuacct:/a\n", CPU MEM, "memory", false, true, "/sys/fs/cgroup/memory",
     "/b"},
    {"4:memory:/b\n", MEM, "mem", true, false, NULL, ""},
    {"4:memory:/b\n", MEM, "memor", true, false, NULL, ""},
    {"5:cpuset:/a\n0::/u\n", CPU V2, "cpu", true, true, "/sys/fs/cgroup", "/u"},
    {"1:name=systemd:/s\n4:memory:/b\n", MEM, "memory", false, true, "/sys/fs/cgroup/memory", "/b"},
    /* Both at once: a controller is where it is. */
    {"5:cpu,cpuacct:/a\n0::/u\n", CPU V2, "cpu", false, true, "/sys/fs/cgroup/cpu,cpuacct", "/a"},
    {"0::/u\n5:cpu,cpuacct:/a\n", CPU V2, "cpu", false, true, "/sys/fs/cgroup/cpu,cpuacct", "/a"},
    {"0::/u\n5:cpu,cpuacct:/a\n", V2 CPU, "memory", true, true, "/sys/fs/cgroup", "/u"},
    {"0::/u\n5:cpu,cpuacct:/a\n", CPU V2, NULL, true, true, "/sys/fs/cgroup", "/u"},
    /* A container, whose mount shows its own group, or another one. */
    {"0::/docker/x\n", DOCKER, NULL, true, true, "/sys/fs/cgroup", ""},
    {"0::/docker/x/y\n", DOCKER, NULL, true, true, "/sys/fs/cgroup", "/y"},
    {"0::/docker/xy\n", DOCKER, NULL, true, false, "/sys/fs/cgroup", ""},
    {"0::/\n", DOCKER, NULL, true, false, "/sys/fs/cgroup", ""},
    {"0::/../other\n", V2, NULL, true, false, "/sys/fs/cgroup", ""},
    {"0::/..\n", V2, NULL, true, false, "/sys/fs/cgroup", ""},
    /* Of several mounts the first that shows the group; else the first. */
    {"0::/a/b\n",
     "30 23 0:26 /x /one rw - cgroup2 c rw\n"
     "31 23 0:26 /a /two rw - cgroup2 c rw\n"
     "32 23 0:26 / /three rw - cgroup2 c rw\n",
     NULL, true, true, "/two", "/b"},
    {"0::/a/b\n",
     "30 23 0:26 /x /one rw - cgroup2 c rw\n"
     "31 23 0:26 /y /two rw - cgroup2 c rw\n",
     NULL, true, false, "/one", ""},
    /* Blanks and backslashes of paths are escaped. */
    {"0::/a\n", "30 23 0:26 / /with\\040blank\\134 rw - cgroup2 c rw\n", NULL, true, true,
     "/with blank\\", "/a"},
    {"0::/a b/c\n", "30 23 0:26 /a\\040b /x rw - cgroup2 c rw\n", NULL, true, true, "/x", "/c"},
    {"0::/a\n", "30 23 0:26 / /x\\04 rw - cgroup2 c rw\n", NULL, true, true, "/x\\04", "/a"},
    {"0::/a\n", "30 23 0:26 / /x\\089 rw - cgroup2 c rw\n", NULL, true, true, "/x\\089", "/a"},
    /* Optional fields before the dash are passed over. */
    {"0::/a\n",
     "30 23 0:26 / /sys/fs/cgroup rw shared:4 master:1 - cgroup2 cgroup2 rw,nsdelegate\n", NULL,
     true, true, "/sys/fs/cgroup", "/a"},
};

TEST(finds_hierarchies)
{
    JR_EACH(row, vectors) {
        JR_FREE char *groups = row->groups == NULL ? NULL : strdup(row->groups);
        JR_FREE char *mounts = row->mounts == NULL ? NULL : strdup(row->mounts);
        struct jr_cgroup_hierarchy found =
            jr_cgroup_hierarchy_find(groups, mounts, row->controller);
        if (found.v2 != row->v2 || found.shown != row->shown)
            printf("\n    vector %td", row - vectors);
        CU_ASSERT_TRUE(found.v2 == row->v2 && found.shown == row->shown);
        JR_ASSERT_TEXT(found.leaf, row->leaf);
        JR_ASSERT_TEXT(found.point == NULL ? "nowhere" : found.point,
                       row->point == NULL ? "nowhere" : row->point);
    }
}
