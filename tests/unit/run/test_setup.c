/* The spec's setup, with a real shell: what it exports, where its output goes, and what its end
 * means. */
#include "base/strv.h"
#include "fake_runner.h"

static char *argv[] = {(char *)"true", NULL};
static char *environment[] = {(char *)"PATH=/bin:/usr/bin", (char *)"KEPT=1", NULL};
static char *drop[] = {(char *)"SECRET*", NULL};

static void start(const char *text)
{
    fake_runner_start();
    fake.plan.setup = (struct jr_plan_setup){.text = text, .env = environment, .drop = drop};
    fake.policy.timeouts.stop_grace_ms = 3600000;
    fake_runner_starter(argv);
    CU_ASSERT_EQUAL_FATAL(jr_policies_open(&fake.runner), 0);
    fake.runner.setup.done = false;
}

static bool is_over(const struct jr_runner *runner)
{
    return runner->running == 0;
}

/* Let it run to its end; ranks are not started here. */
static void run(void)
{
    jr_setup_open(&fake.runner);
    while (!is_over(&fake.runner))
        (void)jr_loop_turn(&fake.runner.loop, false);
}

ENDING(end)
{
    jr_policies_close(&fake.runner);
    if (fake.runner.oom.log_fd > 0)
        (void)close(fake.runner.oom.log_fd);
    fake_runner_end();
}

static void check_log(const char *expected)
{
    char text[512];
    JR_ASSERT_TEXT(fake_runner_read("attempt_0/setup.log", text, sizeof text), expected);
}

/* Where no rank is to be started here, ranks of other nodes need not wait. */
TEST(no_setup_is_done)
{
    BEGIN(end, start("exit 1"));
    fake.plan.count = 0;
    jr_setup_open(&fake.runner);
    CU_ASSERT_TRUE(fake.runner.setup.done && fake.runner.setup.run.pid == 0);
}

/* In a run that is being stopped it does not begin. */
TEST(a_stopped_run_has_none)
{
    BEGIN(end, start("echo x"));
    fake.runner.stop.begun = true;
    jr_setup_open(&fake.runner);
    CU_ASSERT_TRUE(!fake.runner.setup.done && fake.runner.running == 0);
    check_log("");
}

/* What it exports is the base of the ranks' environment, less what no rank gets. */
TEST(exports_variables)
{
    BEGIN(end, start("export A=1 SECRET_KEY=x; B=2; export C=\"it's\"; unset KEPT"));
    run();
    CU_ASSERT_TRUE(fake.runner.setup.done);
    CU_ASSERT_TRUE_FATAL(fake.runner.starter.exported.there);
    char *const *base = fake.runner.starter.exported.base.items;
    JR_ASSERT_TEXT(jr_env_get(base, "A"), "1");
    JR_ASSERT_TEXT(jr_env_get(base, "C"), "it's");
    CU_ASSERT_TRUE(jr_env_get(base, "B") == NULL && jr_env_get(base, "KEPT") == NULL);
    CU_ASSERT_PTR_NULL(jr_env_get(base, "SECRET_KEY"));
    JR_ASSERT_TEXT(jr_env_get(base, "PATH"), "/bin:/usr/bin");
    CU_ASSERT_EQUAL(fake.runner.setup.exported, -1);
}

/* The text is the shell's as it stands: quotes, lines, here-documents. Its output is in setup.log,
 * both streams. */
TEST(executes_the_text_as_it_stands)
{
    static const struct {
        const char *text, *log;
    } vectors[] = {
        {"echo one; echo two >&2", "one\ntwo\n"},
        {"echo \"it's\"", "it's\n"},
        {"echo 'a'\\''b'", "a'b\n"},
        {"cat <<E\nhere $((1 + 1))\nE\n", "here 2\n"},
        {"echo \"[$*]\" \"[$1]\"", "[] []\n"},
        {"# a comment", ""},
        {"pwd", "/\n"},
        {"echo $KEPT", "1\n"},
        {"false; true", ""},
    };
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        BEGIN(end, start(vectors[i].text));
        run();
        check_log(vectors[i].log);
        CU_ASSERT_TRUE(fake.runner.setup.done && !jr_stop_has_begun(&fake.runner));
    }
}

/* Where it cannot begin at all, the stage says why. */
TEST(may_not_begin)
{
    BEGIN(end, start("true"));
    scratch_write(&fake.scratch, "attempt_0", "planted");
    run();
    CU_ASSERT_TRUE(!fake.runner.setup.done && fake.outcomes[0].stage == JR_STAGE_FOLDER);
    CU_ASSERT_TRUE(jr_stop_has_begun(&fake.runner));
}
