/* Control groups by their files, which are plain ones here: a kernel that has them, and lets us, is
 * needed by test_reap_descendants.c alone. */
#include "spawn/cgroup_tree.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "descriptors.h"
#include "elsewhere.h"
#include "scratch.h"

#define SECOND UINT64_C(1000000000)

/* A group in a folder, with control files that say this. */
static struct jr_group make_plain(const struct scratch *scratch, const char *events,
                                  const char *procs)
{
    struct jr_group group = {.lock_fd = -1};
    (void)snprintf(group.home, sizeof group.home, "%s", scratch->dir);
    (void)snprintf(group.path, sizeof group.path, "%s/g", scratch->dir);
    CU_ASSERT_EQUAL_FATAL(mkdirat(scratch->fd, "g", 0700), 0);
    scratch_write(scratch, "g/cgroup.kill", "");
    scratch_write(scratch, "g/cgroup.procs", procs);
    scratch_write(scratch, "g/cgroup.events", events);
    scratch_write(scratch, "cgroup.procs", "");
    return group;
}

static const char *content(const struct scratch *scratch, const char *name)
{
    static char text[64];
    int fd = openat(scratch->fd, name, O_RDONLY | O_CLOEXEC);
    ssize_t len = read(fd, text, sizeof text - 1);
    text[len < 0 ? 0 : len] = '\0';
    (void)close(fd);
    return text;
}

/* What enters, leaves and kills is a number in a file. */
TEST(is_told_by_its_files)
{
    struct scratch scratch;
    scratch_start(&scratch);
    struct jr_group group = make_plain(&scratch, "populated 0\n", "");
    unsigned open = count_descriptors();
    CU_ASSERT_EQUAL(jr_group_enter(&group), 0);
    JR_ASSERT_TEXT(content(&scratch, "g/cgroup.procs"), "0");
    JR_ASSERT_TEXT(content(&scratch, "cgroup.procs"), "");
    CU_ASSERT_EQUAL(jr_group_leave(&group), 0);
    JR_ASSERT_TEXT(content(&scratch, "cgroup.procs"), "0");
    JR_ASSERT_TEXT(content(&scratch, "g/cgroup.kill"), "");
    jr_group_kill(&group);
    JR_ASSERT_TEXT(content(&scratch, "g/cgroup.kill"), "1");
    CU_ASSERT_EQUAL(unlinkat(scratch.fd, "g/cgroup.procs", 0), 0);
    CU_ASSERT_EQUAL(jr_group_enter(&group), -1);
    CU_ASSERT_EQUAL(errno, ENOENT);
    CU_ASSERT_EQUAL(symlinkat("../cgroup.procs", scratch.fd, "g/cgroup.procs"), 0);
    CU_ASSERT_EQUAL(jr_group_enter(&group), -1); /* no link is followed */
    CU_ASSERT_EQUAL(count_descriptors(), open);
    scratch_end(&scratch);
}

/* Without a group nothing happens, and all is well. */
TEST(may_be_none)
{
    struct jr_group group;
    jr_group_make_in(&group, "", "id");
    JR_ASSERT_TEXT(group.path, "");
    JR_ASSERT_TEXT(group.home, "");
    CU_ASSERT_EQUAL(group.lock_fd, -1);
    unsigned open = count_descriptors();
    CU_ASSERT_EQUAL(jr_group_enter(&group), 0);
    CU_ASSERT_EQUAL(jr_group_leave(&group), 0);
    jr_group_kill(&group);
    jr_group_remove(&group);
    CU_ASSERT_EQUAL(count_descriptors(), open);
    for (int i = 0; i < 2; i++) {
        int status = -1;
        pid_t child = jr_group_fork(i == 0 ? NULL : &group);
        if (child == 0)
            _exit(7);
        CU_ASSERT_EQUAL(waitpid(child, &status, 0), child);
        CU_ASSERT_EQUAL(WEXITSTATUS(status), 7);
    }
}

/* Where nobody can be killed at one stroke, there is none, and none is left. */
TEST(is_not_made_where_it_could_not_kill)
{
    struct scratch scratch;
    struct jr_group group;
    scratch_start(&scratch);
    unsigned open = count_descriptors();
    jr_group_make_in(&group, scratch.dir, "id");
    JR_ASSERT_TEXT(group.path, "");
    JR_ASSERT_TEXT(group.home, scratch.dir);
    CU_ASSERT_EQUAL(count_descriptors(), open);
    CU_ASSERT_EQUAL(rmdir(scratch.dir), 0); /* it is empty */
    jr_group_make_in(&group, scratch.dir, "id");
    JR_ASSERT_TEXT(group.path, "");
    CU_ASSERT_EQUAL(count_descriptors(), open);
    scratch_end(&scratch);
}

/* Where it cannot be entered by the fork, the child enters it. */
TEST(is_entered_by_the_child_if_it_must)
{
    struct scratch scratch;
    int status = -1;
    scratch_start(&scratch);
    struct jr_group group = make_plain(&scratch, "populated 0\n", "");
    unsigned open = count_descriptors();
    (void)alarm(60); /* who enters waits for who reads that */
    CU_ASSERT_EQUAL(unlinkat(scratch.fd, "g/cgroup.procs", 0), 0);
    CU_ASSERT_EQUAL(mkfifoat(scratch.fd, "g/cgroup.procs", 0600), 0);
    pid_t child = jr_group_fork(&group);
    if (child == 0)
        _exit(count_descriptors() == open ? 7 : 1);
    JR_ASSERT_TEXT(content(&scratch, "g/cgroup.procs"), "0");
    CU_ASSERT_EQUAL(waitpid(child, &status, 0), child);
    CU_ASSERT_EQUAL(WEXITSTATUS(status), 7);
    (void)alarm(0);
    CU_ASSERT_EQUAL(count_descriptors(), open);
    scratch_end(&scratch);
}

/* Empty the group's folder, which a kernel does by itself. */
static void empty(const struct scratch *scratch)
{
    (void)unlinkat(scratch->fd, "g/cgroup.kill", 0);
    (void)unlinkat(scratch->fd, "g/cgroup.procs", 0);
    (void)unlinkat(scratch->fd, "g/cgroup.events", 0);
}

/* With what ranks made below it, as deep as sixteen. */
TEST(is_removed_with_what_is_below)
{
    struct scratch scratch;
    scratch_start(&scratch);
    struct jr_group group = make_plain(&scratch, "populated 0\n", "");
    empty(&scratch);
    char path[128] = "g";
    for (int depth = 0; depth < 16; depth++) {
        (void)strcat(path, "/d");
        CU_ASSERT_EQUAL(mkdirat(scratch.fd, path, 0700), 0);
    }
    CU_ASSERT_EQUAL(mkdirat(scratch.fd, "g/e", 0700), 0);
    group.lock_fd = open(group.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    unsigned open = count_descriptors();
    jr_group_remove(&group);
    CU_ASSERT_EQUAL(count_descriptors(), open - 1);
    CU_ASSERT_NOT_EQUAL(faccessat(scratch.fd, "g", F_OK, 0), 0);
    scratch_end(&scratch);
}

/* It is said how many processes there were, and none is waited for. */
TEST(is_cleared_of_its_processes)
{
    static const struct {
        const char *procs;
        uint32_t count;
    } vectors[] = {{"", 0}, {"7\n", 1}, {"7\n8\n", 2}, {"7\n8\n9\n", 3}};
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        struct scratch scratch;
        bool left = true;
        scratch_start(&scratch);
        struct jr_group group = make_plain(&scratch, "populated 0\nfrozen 0\n", vectors[i].procs);
        uint64_t before = jr_clock_ns();
        CU_ASSERT_EQUAL(jr_group_clear(group.path, 100 * SECOND, &left), vectors[i].count);
        CU_ASSERT_TRUE(jr_clock_ns() - before < 50 * SECOND);
        CU_ASSERT_FALSE(left);
        JR_ASSERT_TEXT(content(&scratch, "g/cgroup.kill"), "1");
        scratch_end(&scratch);
    }
}

/* What does not end is waited for no longer than is said. */
TEST(is_left_with_what_does_not_end)
{
    struct scratch scratch;
    bool left = false;
    scratch_start(&scratch);
    struct jr_group group = make_plain(&scratch, "populated 1\nfrozen 0\n", "7\n");
    uint64_t before = jr_clock_ns();
    CU_ASSERT_EQUAL(jr_group_clear(group.path, SECOND / 20, &left), 1);
    CU_ASSERT_TRUE(jr_clock_ns() - before >= SECOND / 20);
    CU_ASSERT_TRUE(jr_clock_ns() - before < 30 * SECOND);
    CU_ASSERT_TRUE(left);
    empty(&scratch);
    left = true;
    CU_ASSERT_EQUAL(jr_group_clear(group.path, SECOND, &left), 0);
    CU_ASSERT_FALSE(left);
    CU_ASSERT_NOT_EQUAL(faccessat(scratch.fd, "g", F_OK, 0), 0);
    scratch_end(&scratch);
}

/* What is led to by a link is nobody's. */
TEST(is_no_link)
{
    struct scratch scratch;
    bool left = true;
    char path[64];
    scratch_start(&scratch);
    CU_ASSERT_EQUAL(mkdirat(scratch.fd, "victim", 0700), 0);
    CU_ASSERT_EQUAL(mkdirat(scratch.fd, "victim/sub", 0700), 0);
    CU_ASSERT_EQUAL(symlinkat("victim", scratch.fd, "g"), 0);
    (void)snprintf(path, sizeof path, "%s/g", scratch.dir);
    unsigned open = count_descriptors();
    CU_ASSERT_EQUAL(jr_group_clear(path, SECOND, &left), 0);
    CU_ASSERT_FALSE(left);
    CU_ASSERT_EQUAL(count_descriptors(), open);
    CU_ASSERT_EQUAL(faccessat(scratch.fd, "victim/sub", F_OK, 0), 0);
    scratch_end(&scratch);
}

/* The group that this process is in, and what is left there of others, in the place of the
 * kernel's; in a mount namespace of its own. */
static bool finds_in_folder(const char *groups, const char *root, const char *type, bool found)
{
    char from[2][64], home[PATH_MAX], text[512], path[128];
    static const char *const targets[] = {"/proc/self/cgroup", "/proc/self/mountinfo"};
    struct scratch scratch;
    scratch_start(&scratch);
    if (unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0)
        _exit(SKIPPED);
    (void)snprintf(text, sizeof text, "30 20 0:30 %s %s rw - %s x rw\n", root, scratch.dir, type);
    scratch_write(&scratch, "mounts", text);
    scratch_write(&scratch, "groups", groups);
    static const char *const made[] = {
        "own",       "own/jobrun-a.1", "own/jobrun-a.1/sub", "own/jobrun-b.2",
        "own/other", "own/jobrun-c.3"};
    for (size_t i = 0; i < sizeof made / sizeof *made; i++)
        if (mkdirat(scratch.fd, made[i], 0700) != 0)
            _exit(1);
    scratch_write(&scratch, "own/jobrun-file", "");
    int lock = openat(scratch.fd, "own/jobrun-b.2", O_RDONLY | O_DIRECTORY);
    bool good = flock(lock, LOCK_EX) == 0 &&
                (geteuid() != 0 || fchownat(scratch.fd, "own/jobrun-c.3", 65534, 0, 0) == 0);
    for (int i = 0; i < 2; i++) {
        (void)snprintf(from[i], sizeof from[i], "%s/%s", scratch.dir, i == 0 ? "groups" : "mounts");
        if (mount(from[i], targets[i], NULL, MS_BIND, NULL) != 0)
            _exit(SKIPPED);
    }
    unsigned open = count_descriptors();
    jr_group_find_home(home);
    (void)snprintf(path, sizeof path, "%s%s", found ? scratch.dir : "", found ? "/own" : "");
    good = good && strcmp(home, path) == 0 && count_descriptors() == open;
    good = good && (faccessat(scratch.fd, "own/jobrun-a.1", F_OK, 0) != 0) == found &&
           faccessat(scratch.fd, "own/jobrun-b.2", F_OK, 0) == 0 &&
           faccessat(scratch.fd, "own/other", F_OK, 0) == 0 &&
           faccessat(scratch.fd, "own/jobrun-file", F_OK, 0) == 0 &&
           (geteuid() != 0 || faccessat(scratch.fd, "own/jobrun-c.3", F_OK, 0) == 0);
    scratch_end(&scratch);
    return good;
}

/* Those that were abandoned are removed: not what is locked, not what is somebody else's, and not
 * what has another name. */
TEST(removes_what_was_abandoned)
{
    static const struct {
        const char *groups, *root, *type;
        bool found;
    } vectors[] = {{"0::/own\n", "/", "cgroup2", true},
                   {"7:pids:/x\n0::/own\n", "/", "cgroup2", true},
                   {"7:pids:/own\n", "/", "cgroup2", false},
                   {"0::/own\n", "/", "tmpfs", false},
                   {"0::/own\n", "/elsewhere", "cgroup2", false}};
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++)
        ELSEWHERE(
            finds_in_folder(vectors[i].groups, vectors[i].root, vectors[i].type, vectors[i].found));
}

/* A runner is known by its name; who is not to be seen may be one. */
TEST(may_be_led_by_a_runner)
{
    struct scratch scratch;
    int ends[2];
    char text[64], byte;
    scratch_start(&scratch);
    struct jr_group group = make_plain(&scratch, "", "");
    CU_ASSERT_EQUAL(pipe(ends), 0);
    pid_t runner = fork();
    if (runner == 0) {
        (void)prctl(PR_SET_NAME, JR_RUNNER_NAME);
        (void)!write(ends[1], "n", 1);
        for (;;)
            (void)pause();
    }
    CU_ASSERT_EQUAL(read(ends[0], &byte, 1), 1);
    CU_ASSERT_FALSE(jr_group_may_be_led(group.path)); /* nobody is there */
    (void)snprintf(text, sizeof text, "%d\n", getpid());
    scratch_write(&scratch, "g/cgroup.procs", text);
    CU_ASSERT_FALSE(jr_group_may_be_led(group.path));
    (void)snprintf(text, sizeof text, "%d\n%d\n", getpid(), runner);
    scratch_write(&scratch, "g/cgroup.procs", text);
    CU_ASSERT_TRUE(jr_group_may_be_led(group.path));
    (void)snprintf(text, sizeof text, "%d\n0\n", getpid());
    scratch_write(&scratch, "g/cgroup.procs", text);
    CU_ASSERT_TRUE(jr_group_may_be_led(group.path));
    scratch_write(&scratch, "g/cgroup.procs", "none\n");
    CU_ASSERT_FALSE(jr_group_may_be_led(group.path));
    empty(&scratch);
    CU_ASSERT_TRUE(jr_group_may_be_led(group.path)); /* it cannot be read */
    (void)kill(runner, SIGKILL);
    (void)waitpid(runner, NULL, 0);
    (void)close(ends[0]);
    (void)close(ends[1]);
    scratch_end(&scratch);
}

/* A folder of that name is none of the kernel's. */
TEST(is_no_other_folder)
{
    struct scratch scratch;
    char path[128];
    scratch_start(&scratch);
    CU_ASSERT_EQUAL(mkdirat(scratch.fd, JR_GROUP_PREFIX "id.7", 0700), 0);
    (void)snprintf(path, sizeof path, "%s/" JR_GROUP_PREFIX "id.7", scratch.dir);
    CU_ASSERT_FALSE(jr_group_is_of(path, "id"));
    CU_ASSERT_FALSE(jr_group_is_of(JR_GROUP_PREFIX "id.7", "id"));
    CU_ASSERT_FALSE(jr_group_is_of("", "id"));
    CU_ASSERT_FALSE(jr_group_is_of("/", "id"));
    scratch_end(&scratch);
}
