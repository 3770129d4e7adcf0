/* A run as another jobrun sees it: how it stands, and what is done about what a lost one has
 * left. */
#include "record/live_run.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "fake_run.h"
#include "quoted.h"
#include "record/record_facts.h"
#include "spawn/cgroup_tree.h"

/* A LOG_DIR, and the record of this process in it. */
struct bench {
    struct fake fake;
    struct jr_record_facts facts;
};

static void end(struct bench *bench)
{
    fake_end(&bench->fake);
}

static void begin(struct bench *bench)
{
    *bench = (struct bench){.facts = {0}};
    fake_start(&bench->fake, 0);
    CU_ASSERT_EQUAL_FATAL(
        jr_record_facts_fill(&bench->facts, &bench->fake.arena, &bench->fake.plan, NULL), 0);
}

#define BENCH(name)                                                                                \
    struct bench name RELEASE(end);                                                                \
    begin(&name)

/* The record of a run whose jobrun is gone: its pid is beyond any. */
#define LOST(name)                                                                                 \
    BENCH(name);                                                                                   \
    name.facts.pid = 2000000000

#define LIVE(name) struct jr_live name RELEASE(jr_live_close) = {.held = JR_HOLD_NONE}

static void add_record(struct bench *bench, const char *id)
{
    struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
    jr_record_run_json(&text, &bench->facts);
    (void)mkdirat(bench->fake.fd, id, 0700);
    fake_write(&bench->fake, jr_arena_printf(&bench->fake.arena, "%s/run.json", id), text.data);
}

static void add_results(struct bench *bench, const char *id, const char *text)
{
    fake_write(&bench->fake, jr_arena_printf(&bench->fake.arena, "%s/results.json", id), text);
}

static enum jr_standing standing_of(struct bench *bench, const char *id, struct jr_live *live)
{
    jr_live_close(live);
    CU_ASSERT_EQUAL(jr_live_open(live, bench->fake.dir, id, NULL), 0);
    return live->standing;
}

TEST(what_is_no_run_is_not_opened)
{
    struct jr_live live = {.held = {.fd = 7}};
    struct jr_error err = {0};
    BENCH(bench);
    CU_ASSERT_EQUAL(jr_live_open(&live, bench.fake.dir, "r", &err), -1);
    CU_ASSERT_EQUAL(err.status, JR_STATUS_USAGE);
    (void)mkdirat(bench.fake.fd, "r", 0700);
    CU_ASSERT_EQUAL(jr_live_open(&live, bench.fake.dir, "r", &err), -1);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "/r has no run.json"));
    CU_ASSERT_EQUAL(live.held.fd, 7); /* as it was */
}

TEST(the_record_says_where_and_whose_it_is)
{
    LIVE(live);
    BENCH(bench);
    bench.facts.cgroup = "/sys/fs/cgroup/somewhere";
    add_record(&bench, "r");
    CU_ASSERT_EQUAL(standing_of(&bench, "r", &live), JR_STANDING_RUNNING);
    CU_ASSERT_EQUAL(live.pid, getpid());
    JR_ASSERT_TEXT(live.host, bench.facts.machine.host);
    JR_ASSERT_TEXT(live.user, bench.facts.machine.user);
    JR_ASSERT_TEXT(live.cgroup, "/sys/fs/cgroup/somewhere");
    CU_ASSERT_PTR_NULL(live.part);
    CU_ASSERT_TRUE(live.ours && live.placed && !live.contained);
    CU_ASSERT_TRUE(live.held.fd >= 0);
    CU_ASSERT_EQUAL(fcntl(live.held.fd, F_GETFD), FD_CLOEXEC);
    jr_live_close(&live);
    CU_ASSERT_TRUE(live.held.fd == -1 && live.host == NULL);
    jr_live_close(&live); /* once more does no harm */
    add_results(&bench, "r", jq("{'status': 'failed', 'exit_code': 1}"));
    CU_ASSERT_EQUAL(standing_of(&bench, "r", &live), JR_STANDING_FINISHED);
    CU_ASSERT_TRUE(live.held.fd >= 0); /* we live, and may show the rest */
    CU_ASSERT_EQUAL(unlinkat(bench.fake.fd, "r/results.json", 0), 0);
    bench.facts.pid_namespace++;
    add_record(&bench, "r");
    CU_ASSERT_EQUAL(standing_of(&bench, "r", &live), JR_STANDING_ELSEWHERE);
    CU_ASSERT_TRUE(live.contained && live.placed && live.held.fd == -1);
    bench.facts.pid_namespace = 0;
    bench.facts.machine.user = NULL;
    add_record(&bench, "r");
    CU_ASSERT_EQUAL(standing_of(&bench, "r", &live), JR_STANDING_RUNNING);
    CU_ASSERT_TRUE(!live.contained && !live.placed && !live.ours);
}

TEST(results_say_how_it_ended)
{
    static const struct {
        const char *text, *status;
        int exit_code;
    } vectors[] = {{"{'status': 'odd', 'exit_code': 3}", "unknown", 3},
                   {"{'exit_code': 4}", "unknown", 4},
                   {"{'status': 'failed'}", "failed", 7},
                   {"{'exit_code': '0'}", "unknown", 7},
                   {"{'status': 'succeeded', 'exit_code': 0}", "succeeded", 0}};
    for (size_t i = 0; i < COUNT_OF(vectors); i++) {
        LIVE(live);
        LOST(bench);
        add_record(&bench, "r");
        CU_ASSERT_EQUAL(standing_of(&bench, "r", &live), JR_STANDING_LOST);
        add_results(&bench, "r", jq(vectors[i].text));
        CU_ASSERT_EQUAL(standing_of(&bench, "r", &live), JR_STANDING_FINISHED);
        JR_ASSERT_TEXT(live.status, vectors[i].status);
        CU_ASSERT_EQUAL(live.exit_code, vectors[i].exit_code);
        CU_ASSERT_EQUAL(live.held.fd, -1);
    }
}

/* Of a run in parts, the one that goes on stands for it. */
TEST(a_part_stands_for_the_run)
{
    LIVE(live);
    BENCH(bench);
    (void)mkdirat(bench.fake.fd, "p", 0700);
    add_record(&bench, "p/node_1");
    bench.facts.pid = 2000000000;
    add_record(&bench, "p/node_0");
    CU_ASSERT_EQUAL(standing_of(&bench, "p", &live), JR_STANDING_RUNNING);
    JR_ASSERT_TEXT(live.part, "node_1");
    CU_ASSERT_EQUAL(live.pid, getpid());
    CU_ASSERT_EQUAL(standing_of(&bench, "p/node_0", &live), JR_STANDING_LOST);
    CU_ASSERT_PTR_NULL(live.part);
    add_record(&bench, "p/node_1");
    add_results(&bench, "p/node_0", jq("{'status': 'failed', 'ranks': []}"));
    CU_ASSERT_EQUAL(standing_of(&bench, "p", &live), JR_STANDING_FINISHED);
}

/* A control group with so many processes, each called `name`; false where none can be made,
 * loudly. */
static bool fill_group(struct jr_group *group, const char *id, int count, const char *name,
                       pid_t *ret)
{
    int ready[2];
    char byte;
    jr_group_make(group, id);
    if (group->path[0] == '\0') {
        (void)printf("\n    SKIPPED: no control group can be made here\n");
        return false;
    }
    CU_ASSERT_EQUAL_FATAL(pipe(ready), 0);
    for (int i = 0; i < count; i++) {
        ret[i] = jr_group_fork(group);
        if (ret[i] == 0) {
            (void)prctl(PR_SET_NAME, name);
            if (write(ready[1], "!", 1) == 1)
                for (;;)
                    (void)pause();
            _exit(1);
        }
        CU_ASSERT_EQUAL(read(ready[0], &byte, 1), 1);
    }
    (void)close(ready[0]);
    (void)close(ready[1]);
    return true;
}

/* Whether a process of the group was killed; it is reaped. */
static bool was_killed(pid_t pid)
{
    int status = 0;
    bool ended = waitpid(pid, &status, WNOHANG) == pid;
    if (!ended) {
        (void)kill(pid, SIGTERM);
        CU_ASSERT_EQUAL(waitpid(pid, &status, 0), pid);
    }
    return ended && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
}

/* What a lost run of ours has left is ended; of any other, nothing is. A record may name any group:
 * only one of its own run is touched. */
TEST(what_a_lost_run_left_is_ended)
{
    enum bend { NOTHING, RUNS, FINISHED, THEIRS, ELSEWHERE, NO_GROUP, OTHERS_GROUP, BENDS };
    for (int bend = NOTHING; bend < BENDS; bend++) {
        struct jr_group group;
        struct jr_buf out JR_BUF_CLEANUP = JR_BUF_INIT;
        pid_t pids[2];
        if (!fill_group(&group, bend == OTHERS_GROUP ? "other" : "r", 2, "rank", pids))
            return;
        LOST(bench);
        bench.facts.cgroup = bend == NO_GROUP ? NULL : group.path;
        if (bend == RUNS)
            bench.facts.pid = getpid();
        if (bend == THEIRS)
            bench.facts.machine.user = "somebody else";
        if (bend == ELSEWHERE)
            bench.facts.pid_namespace++;
        add_record(&bench, "r");
        if (bend == FINISHED)
            add_results(&bench, "r", jq("{'status': 'failed'}"));
        unsigned count = jr_lost_sweep(&out, bench.fake.dir, "r");
        CU_ASSERT_EQUAL(count, bend == NOTHING ? 2 : 0);
        JR_ASSERT_TEXT(out.len == 0 ? "" : out.data,
                       bend == NOTHING ? "the lost run r had left 2 processes, now killed" : "");
        for (int i = 0; i < 2; i++)
            CU_ASSERT_EQUAL(was_killed(pids[i]), bend == NOTHING);
        CU_ASSERT_EQUAL(jr_lost_sweep(&out, bench.fake.dir, "r"), 0);
        jr_group_remove(&group);
    }
}

/* Records of earlier builds do not say to which PID namespace their pid belongs: the run may live
 * in another one, as long as its runner is there. */
TEST(a_group_with_a_runner_is_left_alone)
{
    static const struct {
        const char *name;
        bool placed, killed;
    } vectors[] = {
        {JR_RUNNER_NAME, false, false}, {JR_RUNNER_NAME, true, true}, {"rank", false, true}};
    for (size_t i = 0; i < COUNT_OF(vectors); i++) {
        struct jr_group group;
        struct jr_buf out JR_BUF_CLEANUP = JR_BUF_INIT;
        pid_t pid;
        if (!fill_group(&group, "r", 1, vectors[i].name, &pid))
            return;
        LOST(bench);
        bench.facts.cgroup = group.path;
        if (!vectors[i].placed)
            bench.facts.pid_namespace = 0;
        add_record(&bench, "r");
        CU_ASSERT_EQUAL(jr_lost_sweep(&out, bench.fake.dir, "r"), vectors[i].killed);
        CU_ASSERT_EQUAL(was_killed(pid), vectors[i].killed);
        jr_group_remove(&group);
    }
}

static void take_line(void *data, const char *line)
{
    jr_buf_printf(data, "%s\n", line);
}

/* All of a LOG_DIR, and each node of a run in parts by itself. */
TEST(all_lost_runs_are_swept)
{
    struct jr_group group;
    struct jr_buf lines JR_BUF_CLEANUP = JR_BUF_INIT;
    pid_t pid;
    if (!fill_group(&group, "p", 1, "rank", &pid))
        return;
    LOST(bench);
    add_record(&bench, "a");
    (void)mkdirat(bench.fake.fd, "p", 0700);
    add_record(&bench, "p/node_0");
    bench.facts.cgroup = group.path;
    add_record(&bench, "p/node_1");
    fake_write(&bench.fake, "file", "x");
    CU_ASSERT_EQUAL(symlinkat("p", bench.fake.fd, "link"), 0);
    jr_lost_sweep_all("/nonexistent", take_line, &lines);
    CU_ASSERT_EQUAL(lines.len, 0);
    jr_lost_sweep_all(bench.fake.dir, take_line, &lines);
    JR_ASSERT_TEXT(lines.len == 0 ? "" : lines.data,
                   "the lost run p/node_1 had left 1 process, now killed\n");
    CU_ASSERT_TRUE(was_killed(pid));
    jr_group_remove(&group);
}

/* Of many that have no results, those that were changed last: one that is older has its turn when
 * there are fewer. */
TEST(the_last_of_many_lost_runs_are_swept)
{
    enum { MANY = 255 }; /* and the attempt_0 of the folder */
    const struct timespec old[2] = {{.tv_sec = 1}, {.tv_sec = 1}};
    struct jr_group group;
    struct jr_buf lines JR_BUF_CLEANUP = JR_BUF_INIT;
    char id[32];
    pid_t pid;
    if (!fill_group(&group, "r", 1, "rank", &pid))
        return;
    LOST(bench);
    bench.facts.cgroup = group.path;
    add_record(&bench, "r");
    for (int i = 0; i < MANY; i++) {
        (void)snprintf(id, sizeof id, "other-%d", i);
        CU_ASSERT_EQUAL(mkdirat(bench.fake.fd, id, 0700), 0);
    }
    CU_ASSERT_EQUAL(utimensat(bench.fake.fd, "r", old, 0), 0);
    jr_lost_sweep_all(bench.fake.dir, take_line, &lines);
    CU_ASSERT_EQUAL(lines.len, 0);
    CU_ASSERT_EQUAL(unlinkat(bench.fake.fd, "other-7", AT_REMOVEDIR), 0);
    jr_lost_sweep_all(bench.fake.dir, take_line, &lines);
    JR_ASSERT_TEXT(lines.len == 0 ? "" : lines.data,
                   "the lost run r had left 1 process, now killed\n");
    CU_ASSERT_TRUE(was_killed(pid));
    jr_group_remove(&group);
}

/* What has results is not even opened. */
TEST(finished_runs_are_not_swept)
{
    struct jr_group group;
    struct jr_buf lines JR_BUF_CLEANUP = JR_BUF_INIT;
    pid_t pid;
    if (!fill_group(&group, "r", 1, "rank", &pid))
        return;
    LOST(bench);
    bench.facts.cgroup = group.path;
    add_record(&bench, "r");
    add_results(&bench, "r", "torn");
    jr_lost_sweep_all(bench.fake.dir, take_line, &lines);
    CU_ASSERT_EQUAL(lines.len, 0);
    CU_ASSERT_FALSE(was_killed(pid));
    jr_group_remove(&group);
}
