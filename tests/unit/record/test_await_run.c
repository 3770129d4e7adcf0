/* Waiting for a run of another jobrun, and telling it to stop. A child stands for that jobrun. */
#include "record/live_run.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "fake_run.h"
#include "record/record_facts.h"

enum { MINUTE = 60 }; /* after which a test that hangs is killed */

/* A LOG_DIR with the run `r`, and its jobrun. */
struct bench {
    struct fake fake;
    struct jr_record_facts facts;
    struct jr_live live;
    struct jr_error err;
    pid_t jobrun;
};

static void add_record(struct bench *bench)
{
    struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
    jr_record_run_json(&text, &bench->facts);
    (void)mkdirat(bench->fake.fd, "r", 0700);
    fake_write(&bench->fake, "r/run.json", text.data);
}

static void open_live(struct bench *bench)
{
    bench->live = (struct jr_live){.held = JR_HOLD_NONE};
    CU_ASSERT_EQUAL_FATAL(jr_live_open(&bench->live, bench->fake.dir, "r", NULL), 0);
}

static void begin(struct bench *bench)
{
    *bench = (struct bench){.jobrun = fork()};
    if (bench->jobrun == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (;;)
            (void)pause();
    }
    CU_ASSERT_TRUE_FATAL(bench->jobrun > 0);
    (void)alarm(MINUTE);
    fake_start(&bench->fake, 0);
    CU_ASSERT_EQUAL_FATAL(
        jr_record_facts_fill(&bench->facts, &bench->fake.arena, &bench->fake.plan, NULL), 0);
    bench->facts.pid = bench->jobrun;
    bench->facts.start_ticks = jr_record_folder_ticks(bench->jobrun);
    add_record(bench);
    open_live(bench);
}

static void end(struct bench *bench)
{
    jr_live_close(&bench->live);
    (void)kill(bench->jobrun, SIGKILL);
    (void)waitpid(bench->jobrun, NULL, 0);
    (void)alarm(0);
    fake_end(&bench->fake);
}

/* Let another process kill the jobrun, once the results are there, where there are to be any. */
static pid_t end_soon(struct bench *bench, const char *results)
{
    pid_t pid = fork();
    if (pid != 0)
        return pid;
    if (results != NULL)
        fake_write(&bench->fake, "r/results.json", results);
    (void)kill(bench->jobrun, SIGKILL);
    _exit(0);
}

static int await(struct bench *bench, uint64_t until_ns)
{
    return jr_live_await(&bench->live, bench->fake.dir, "r", until_ns, &bench->err);
}

TEST(signals_nothing_by_the_word_of_others)
{
    struct bench bench;
    begin(&bench);
    CU_ASSERT_EQUAL(fchmodat(bench.fake.fd, "r", 0777, 0), 0);
    jr_live_close(&bench.live);
    open_live(&bench);
    CU_ASSERT_EQUAL(jr_live_stop(&bench.live, bench.fake.dir, "r", "r", &bench.err), -1);
    CU_ASSERT_PTR_NOT_NULL(strstr(bench.err.text, "nothing was signalled"));
    CU_ASSERT_PTR_NOT_NULL(strstr(bench.err.text, bench.fake.dir));
    CU_ASSERT_EQUAL(fchmodat(bench.fake.fd, "r", 0700, 0), 0);
    jr_live_close(&bench.live);
    bench.facts.machine.user = "somebody";
    add_record(&bench);
    open_live(&bench);
    CU_ASSERT_EQUAL(jr_live_stop(&bench.live, bench.fake.dir, "r", "r", &bench.err), -1);
    CU_ASSERT_EQUAL(bench.err.status, JR_STATUS_LAUNCH);
    CU_ASSERT_PTR_NOT_NULL(strstr(bench.err.text, "r belongs to somebody"));
    CU_ASSERT_EQUAL(waitpid(bench.jobrun, NULL, WNOHANG), 0);
    end(&bench);
}

TEST(a_stopped_one_is_woken_to_stop)
{
    struct bench bench;
    int status = 0;
    begin(&bench);
    CU_ASSERT_EQUAL(kill(bench.jobrun, SIGSTOP), 0);
    CU_ASSERT_EQUAL(waitpid(bench.jobrun, &status, WUNTRACED), bench.jobrun);
    CU_ASSERT_EQUAL(jr_live_stop(&bench.live, bench.fake.dir, "r", "r", &bench.err), 0);
    CU_ASSERT_EQUAL(waitpid(bench.jobrun, &status, 0), bench.jobrun);
    CU_ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
    CU_ASSERT_EQUAL(jr_live_stop(&bench.live, bench.fake.dir, "r", "r", &bench.err), 0);
    CU_ASSERT_FALSE(jr_live_stays(&bench.live));
    end(&bench);
}

TEST(waits_no_longer_than_told)
{
    struct bench bench;
    begin(&bench);
    CU_ASSERT_EQUAL(await(&bench, 1), 1);
    CU_ASSERT_EQUAL(await(&bench, jr_clock_ns() + 20000000), 1);
    CU_ASSERT_EQUAL(bench.live.standing, JR_STANDING_RUNNING);
    end(&bench);
}

TEST(waits_for_the_results)
{
    struct bench bench;
    begin(&bench);
    pid_t writer = end_soon(&bench, "{\"status\": \"failed\", \"exit_code\": 3}");
    CU_ASSERT_EQUAL(await(&bench, 0), 0);
    CU_ASSERT_EQUAL(bench.live.standing, JR_STANDING_FINISHED);
    CU_ASSERT_EQUAL(bench.live.exit_code, 3);
    CU_ASSERT_EQUAL(waitpid(writer, NULL, 0), writer);
    end(&bench);
}

TEST(waits_for_an_end_without_any)
{
    struct bench bench;
    JR_BUF_CLEANUP struct jr_buf why = JR_BUF_INIT;
    char expected[128];
    begin(&bench);
    pid_t killer = end_soon(&bench, NULL);
    CU_ASSERT_EQUAL(await(&bench, 0), 0);
    CU_ASSERT_EQUAL(bench.live.standing, JR_STANDING_LOST);
    jr_live_explain(&why, &bench.live, "r");
    (void)snprintf(expected, sizeof expected,
                   "r is lost: its jobrun (pid %d) is gone and left no results", (int)bench.jobrun);
    CU_ASSERT_STRING_EQUAL(why.data, expected);
    CU_ASSERT_EQUAL(waitpid(killer, NULL, 0), killer);
    end(&bench);
}

TEST(tells_of_a_folder_that_went_away)
{
    struct bench bench;
    begin(&bench);
    CU_ASSERT_EQUAL(renameat(bench.fake.fd, "r", bench.fake.fd, "s"), 0);
    CU_ASSERT_EQUAL(await(&bench, 0), -1);
    CU_ASSERT_PTR_NOT_NULL(strstr(bench.err.text, "'r'"));
    end(&bench);
}

TEST(explains_where_a_run_is)
{
    struct bench bench;
    JR_BUF_CLEANUP struct jr_buf why = JR_BUF_INIT;
    begin(&bench);
    jr_live_close(&bench.live);
    bench.facts.machine.host = "node7";
    add_record(&bench);
    open_live(&bench);
    bench.live.part = "node_1";
    jr_live_explain(&why, &bench.live, "r");
    CU_ASSERT_STRING_EQUAL(why.data, "r/node_1 runs on another host: run this command on node7");
    jr_buf_clear(&why);
    bench.live.part = NULL;
    bench.live.contained = true;
    jr_live_explain(&why, &bench.live, "r");
    CU_ASSERT_PTR_NOT_NULL(strstr(why.data, "another PID namespace"));
    CU_ASSERT_EQUAL(strncmp(why.data, "r runs", 6), 0);
    end(&bench);
}
