#include "run/internal.h"

#include "scratch.h"

/* A machine of files: its count of kills, and its log. */
struct machine {
    struct scratch scratch;
    struct jr_oom oom;
};

static void count(const struct machine *machine, const char *file, unsigned kills)
{
    char text[64];
    (void)snprintf(text, sizeof text, "oom 9\noom_kill %u\nlow 1\n", kills);
    scratch_write(&machine->scratch, file, text);
}

static void start(struct machine *machine)
{
    static const char *const folders[] = {"proc", "proc/self", "dev", "g", "g/a", "g/a/b"};
    scratch_start(&machine->scratch);
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
        CU_ASSERT_EQUAL(mkdirat(machine->scratch.fd, folders[i], 0700), 0);
    count(machine, "proc/vmstat", 3);
    scratch_write(&machine->scratch, "dev/kmsg",
                  "6,1,5,-;Out of memory: Killed process 41 (old) total-vm\n");
}

static void finish(struct machine *machine)
{
    if (machine->oom.log_fd >= 0)
        (void)close(machine->oom.log_fd);
    scratch_end(&machine->scratch);
}

static void say(const struct machine *machine, const char *text)
{
    int fd = openat(machine->scratch.fd, "dev/kmsg", O_WRONLY | O_APPEND);
    CU_ASSERT_TRUE_FATAL(fd >= 0);
    CU_ASSERT_TRUE(write(fd, text, strlen(text)) == (ssize_t)strlen(text));
    (void)close(fd);
}

TEST(the_log_names_processes)
{
    static const struct {
        const char *text;
        bool named; /* process 42 */
    } vectors[] = {
        {"", false},
        {"Killed process", false},
        {"Killed process ", false},
        {"Killed process 4", false},
        {"Killed process 421 (x)", false},
        {"Killed process 142 (x)", false},
        {"Killed process 42", false}, /* cut */
        {"Killed process -42 (x)", false},
        {"Killed process 99999999999999999999 (x)", false},
        {"Killing process 42 (x)", false},
        {"6,1,5,-;Out of memory: Killed process 42 (train) total-vm:1", true},
        {"3,8,7,-;Memory cgroup out of memory: Killed process 42 (a) b", true},
    };
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        struct machine m;
        start(&m);
        jr_oom_open(&m.oom, m.scratch.dir, 3);
        say(&m, vectors[i].text);
        CU_ASSERT_FALSE(jr_oom_explains(&m.oom, 42)); /* nothing is counted */
        count(&m, "proc/vmstat", 4);
        CU_ASSERT_EQUAL(jr_oom_explains(&m.oom, 42), vectors[i].named);
        CU_ASSERT_FALSE(jr_oom_explains(&m.oom, 41)); /* that was before */
        finish(&m);
    }
}

/* The record of one comes with that of the other. */
TEST(two_at_once_are_both_explained)
{
    struct machine m;
    start(&m);
    jr_oom_open(&m.oom, m.scratch.dir, 3);
    count(&m, "proc/vmstat", 5);
    say(&m, "6,2,5,-;Out of memory: Killed process 42 (x) total-vm\n");
    CU_ASSERT_TRUE(jr_oom_explains(&m.oom, 42));
    say(&m, "6,3,5,-;Out of memory: Killed process 43 (x) total-vm\n");
    CU_ASSERT_TRUE(!jr_oom_explains(&m.oom, 44) && jr_oom_explains(&m.oom, 43));
    finish(&m);
}

TEST(without_a_log_nothing_is_explained)
{
    struct machine m;
    start(&m);
    CU_ASSERT_EQUAL(unlinkat(m.scratch.fd, "dev/kmsg", 0), 0);
    jr_oom_open(&m.oom, m.scratch.dir, 3);
    CU_ASSERT_EQUAL(m.oom.log_fd, -1);
    count(&m, "proc/vmstat", 4);
    CU_ASSERT_FALSE(jr_oom_explains(&m.oom, 42));
    finish(&m);
}

/* The count of our own group, or of the nearest above that has one, needs no log: in both versions
 * of control groups. Those above may have none. */
TEST(own_groups_count)
{
    static const struct {
        const char *groups, *mount, *file; /* NULL: no group has a count */
    } vectors[] = {
        {"0::/a/b\n", "cgroup2 x rw", NULL},
        {"0::/a/b\n", "cgroup2 x rw", "g/memory.events"},
        {"0::/a/b\n", "cgroup2 x rw", "g/a/memory.events"},
        {"0::/a/b\n", "cgroup2 x rw", "g/a/b/memory.events"},
        {"5:memory:/a/b\n", "cgroup x rw,memory", "g/a/b/memory.oom_control"},
    };
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        bool there = vectors[i].file != NULL;
        struct machine m;
        char mounts[128];
        start(&m);
        (void)snprintf(mounts, sizeof mounts, "30 23 0:26 / /g rw - %s\n", vectors[i].mount);
        scratch_write(&m.scratch, "proc/self/cgroup", vectors[i].groups);
        scratch_write(&m.scratch, "proc/self/mountinfo", mounts);
        if (there)
            count(&m, vectors[i].file, 7);
        jr_oom_open(&m.oom, m.scratch.dir, 3);
        CU_ASSERT_EQUAL(m.oom.own, there);
        CU_ASSERT_EQUAL(m.oom.counted, there ? 7 : 0);
        CU_ASSERT_FALSE(jr_oom_explains(&m.oom, 42));
        if (there)
            count(&m, vectors[i].file, 9); /* two at once */
        CU_ASSERT_EQUAL(jr_oom_explains(&m.oom, 42), there);
        CU_ASSERT_EQUAL(jr_oom_explains(&m.oom, 43), there);
        CU_ASSERT_FALSE(jr_oom_explains(&m.oom, 44)); /* one for each */
        finish(&m);
    }
}

/* A rank in a group of its own, which ours does not count. */
TEST(the_log_knows_what_our_group_does_not)
{
    struct machine m;
    start(&m);
    scratch_write(&m.scratch, "proc/self/cgroup", "5:memory:/a\n");
    scratch_write(&m.scratch, "proc/self/mountinfo", "30 23 0:26 / /g rw - cgroup x rw,memory\n");
    count(&m, "g/a/memory.oom_control", 7);
    jr_oom_open(&m.oom, m.scratch.dir, 3);
    CU_ASSERT_TRUE(m.oom.own);
    say(&m, "3,8,7,-;Memory cgroup out of memory: Killed process 42 (a) b\n");
    CU_ASSERT_FALSE(jr_oom_explains(&m.oom, 42)); /* nothing is counted */
    count(&m, "proc/vmstat", 4);
    CU_ASSERT_TRUE(!jr_oom_explains(&m.oom, 43) && jr_oom_explains(&m.oom, 42));
    finish(&m);
}

/* However many the kernel kills, the last of them are known. */
TEST(remembers_the_last)
{
    struct machine m;
    start(&m);
    jr_oom_open(&m.oom, m.scratch.dir, 3);
    count(&m, "proc/vmstat", 99);
    for (int pid = 1000; pid <= 1000 + JR_OOM_NAMED; pid++) {
        char text[64];
        (void)snprintf(text, sizeof text, "Killed process %d (x)", pid);
        say(&m, text);
        (void)jr_oom_explains(&m.oom, 1); /* a read takes one record */
    }
    CU_ASSERT_TRUE(!jr_oom_explains(&m.oom, 1000) && jr_oom_explains(&m.oom, 1001));
    CU_ASSERT_TRUE(jr_oom_explains(&m.oom, 1000 + JR_OOM_NAMED) && !jr_oom_explains(&m.oom, 1));
    finish(&m);
}

/* The log lies where no rank's descriptors are, and is nobody else's. */
TEST(keeps_the_log_out_of_the_way)
{
    struct machine m;
    start(&m);
    jr_oom_open(&m.oom, m.scratch.dir, 77);
    CU_ASSERT_TRUE(m.oom.log_fd >= 77 && fcntl(m.oom.log_fd, F_GETFD) == FD_CLOEXEC);
    finish(&m);
}

/* Only a SIGKILL that is not jobrun's own is looked at. */
TEST(asks_of_foreign_kills)
{
    static const struct {
        int signal, stopped_with;
        bool killed, oom;
    } vectors[] = {
        {0, 0, false, false},      {SIGSEGV, 0, false, false}, {SIGKILL, SIGTERM, false, false},
        {SIGKILL, 0, true, false}, {SIGKILL, 0, false, true},
    };
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        struct jr_runner *runner = calloc(1, sizeof *runner);
        struct machine m;
        CU_ASSERT_PTR_NOT_NULL_FATAL(runner);
        struct jr_rank_outcome outcome = {.pid = 42,
                                          .signal = vectors[i].signal,
                                          .stopped_with = vectors[i].stopped_with,
                                          .killed = vectors[i].killed};
        struct jr_rank_run rank = {.runner = runner, .outcome = &outcome};
        start(&m);
        jr_oom_open(&runner->oom, m.scratch.dir, 3);
        m.oom = runner->oom;
        count(&m, "proc/vmstat", 4);
        say(&m, "Killed process 42 (train)");
        jr_oom_policy.rank_ended(&rank);
        CU_ASSERT_EQUAL(outcome.oom, vectors[i].oom);
        finish(&m);
        free(runner);
    }
}
