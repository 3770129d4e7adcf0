/* A run that hangs: which evidence is taken of which ranks, what they are sent for it, and when the
 * stop follows. */
#include <sys/resource.h>

#include "base/json.h"
#include "fake_runner.h"

#define WAIT_MS 3600000

static char *no_env[] = {NULL};

/* Ranks 0 and 1 have processes, and folders. */
static void start(const char *signal_name)
{
    static const char *const folders[] = {"attempt_0", "attempt_0/0", "attempt_0/1"};
    fake_runner_start();
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
        CU_ASSERT_EQUAL(mkdirat(fake.scratch.fd, folders[i], 0700), 0);
    fake.policy.on_hang.wait_ms = WAIT_MS;
    fake.policy.on_hang.signal = (char *)signal_name;
    fake.policy.timeouts.stop_grace_ms = WAIT_MS;
    for (uint32_t i = 0; i < FAKE_RANKS; i++)
        fake.planned[i].env = no_env;
    fake.planned[0].dir = "attempt_0/0";
    fake.planned[1].dir = "attempt_0/1";
    fake_runner_open(&jr_stop_policy);
    fake_runner_open(&jr_first_failure_policy);
    fake_runner_open(&jr_hang_policy);
    fake_runner_spawn(0);
    fake_runner_spawn(1);
}

static void look_twice(enum jr_hang_why why)
{
    jr_hang_begin(&fake.runner, why);
    fake.runner.hang.timer.at = 0;
    fake.runner.hang.timer.due(&fake.runner);
}

/* The evidence of a rank; NULL: there is none. */
static json_t *load_evidence(const char *path)
{
    char text[8192];
    (void)fake_runner_read(path, text, sizeof text);
    return jr_json_parse(text, strlen(text), NULL);
}

/* Which limit was met is the run's, the first time. */
TEST(each_reason_is_its_own_timeout)
{
    static const enum jr_timeout timeouts[] = {[JR_HANG_SILENCE] = JR_TIMEOUT_SILENCE,
                                               [JR_HANG_FIRST_EXIT] = JR_TIMEOUT_AFTER_FIRST_EXIT,
                                               [JR_HANG_PROGRESS] = JR_TIMEOUT_PROGRESS,
                                               [JR_HANG_FIRST_STEP] = JR_TIMEOUT_FIRST_STEP};
    for (int why = JR_HANG_SILENCE; why <= JR_HANG_FIRST_STEP; why++) {
        char expected[32];
        BEGIN(fake_runner_end, start("USR1"));
        CU_ASSERT_FALSE(jr_hang_has_begun(&fake.runner));
        jr_hang_begin(&fake.runner, (enum jr_hang_why)why);
        CU_ASSERT_TRUE(jr_hang_has_begun(&fake.runner));
        CU_ASSERT_EQUAL(fake.outcome.timed_out_by, timeouts[why]);
        (void)snprintf(expected, sizeof expected, "timeout timeout=%d; ", timeouts[why]);
        fake_runner_check_events(expected);
        jr_hang_begin(&fake.runner, JR_HANG_SILENCE);
        CU_ASSERT_EQUAL(fake.outcome.timed_out_by, timeouts[why]);
        fake_runner_check_events("");
        CU_ASSERT_FALSE(jr_stop_has_begun(&fake.runner));
    }
}

/* A run that is being stopped does not hang. */
TEST(a_stopped_run_does_not_hang)
{
    BEGIN(fake_runner_end, start("USR1"));
    fake.runner.stop.begun = true;
    jr_hang_begin(&fake.runner, JR_HANG_SILENCE);
    CU_ASSERT_FALSE(jr_hang_has_begun(&fake.runner));
    CU_ASSERT_TRUE(fake.outcome.timed_out_by == JR_TIMEOUT_NONE && fake.runner.hang.timer.at == 0);
    fake_runner_check_events("");
}

/* The second look comes half a second later, or at the end of on_hang.wait. */
TEST(looks_again_half_a_second_later)
{
    static const struct {
        uint64_t wait_ms, next_ms;
    } vectors[] = {{0, 0}, {499, 499}, {500, 500}, {501, 500}, {60000, 500}};
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        BEGIN(fake_runner_end, start("USR1"));
        fake.policy.on_hang.wait_ms = vectors[i].wait_ms;
        uint64_t before = jr_clock_ns();
        jr_hang_begin(&fake.runner, JR_HANG_SILENCE);
        const struct jr_hang *hang = &fake.runner.hang;
        CU_ASSERT_TRUE(fake_runner_is_after(hang->first_ns, before, 0));
        CU_ASSERT_EQUAL(hang->timer.at, hang->first_ns + vectors[i].next_ms * FAKE_MS);
        CU_ASSERT_EQUAL(hang->until_ns, hang->first_ns + vectors[i].wait_ms * FAKE_MS);
        CU_ASSERT_TRUE(hang->timer.pauses);
    }
}

/* How long it was silent before, to the millisecond; never less than nothing.
 */
TEST(says_for_how_long_it_was_silent)
{
    static const struct {
        int64_t before_ms; /* the last byte, before the first look */
        double seconds;
    } vectors[] = {{-5, 0}, {1, 0.001}, {1500, 1.5}, {61002, 61.002}};
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        BEGIN(fake_runner_end, start("USR1"));
        jr_hang_begin(&fake.runner, JR_HANG_SILENCE);
        fake.outcomes[0].heard_ns = (uint64_t)((int64_t)fake.runner.hang.first_ns -
                                               vectors[i].before_ms * (int64_t)FAKE_MS);
        fake.runner.hang.timer.due(&fake.runner);
        json_t *evidence = load_evidence("attempt_0/0/hang.json");
        CU_ASSERT_DOUBLE_EQUAL(jr_json_get_real(evidence, "silent_seconds"), vectors[i].seconds,
                               1e-9);
        CU_ASSERT_TRUE(json_is_real(json_object_get(evidence, "silent_seconds")));
        json_decref(evidence);
    }
}

/* Without a folder the evidence is lost, which is said, and nothing else. */
TEST(says_where_evidence_is_lost)
{
    BEGIN(fake_runner_end, start("USR1"));
    fake.planned[0].dir = "attempt_9/0";
    look_twice(JR_HANG_SILENCE);
    fake_runner_check_events("timeout timeout=3; evidence_failed rank=10; "
                             "evidence signalled=2; ");
    fake_runner_check_sent(0, "USR1");
}

/* A rank without a folder of its own has it in the run's. */
TEST(a_run_without_folders_has_one_file)
{
    BEGIN(fake_runner_end, start("USR1"));
    fake_runner_reap(1);
    fake.planned[0].dir = NULL;
    look_twice(JR_HANG_SILENCE);
    json_t *evidence = load_evidence("hang.json");
    CU_ASSERT_EQUAL(jr_json_get_int(evidence, "rank"), 10);
    json_decref(evidence);
}

/* The signal is the spec's; where nobody said which, it is ABRT for what is known to handle it. */
TEST(asks_by_a_signal)
{
    static char *with[] = {(char *)"PYTHONFAULTHANDLER=1", NULL};
    static char *empty[] = {(char *)"PYTHONFAULTHANDLER=", NULL};
    static const struct {
        const char *stated;
        char **env;
        enum jr_form form;
        const char *sent;
    } vectors[] = {
        {NULL, no_env, JR_FORM_PYTHON, ""},     {NULL, empty, JR_FORM_PYTHON, ""},
        {NULL, with, JR_FORM_COMMAND, ""},      {NULL, with, JR_FORM_SHELL, ""},
        {NULL, with, JR_FORM_PYTHON, "ABRT"},   {"USR1", no_env, JR_FORM_COMMAND, "USR1"},
        {"USR1", with, JR_FORM_PYTHON, "USR1"}, {"QUIT", with, JR_FORM_PYTHON, "QUIT"},
    };
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        bool asks = *vectors[i].sent != '\0';
        BEGIN(fake_runner_end, start(vectors[i].stated));
        fake.plan.form = vectors[i].form;
        fake.planned[0].env = fake.planned[1].env = vectors[i].env;
        look_twice(JR_HANG_PROGRESS);
        if (asks)
            fake_runner_check_sent(0, vectors[i].sent);
        else
            fake_runner_check_sent(0, "TERM CONT");
        CU_ASSERT_EQUAL(jr_stop_has_begun(&fake.runner), !asks);
        CU_ASSERT_EQUAL(fake.runner.hang.timer.at, asks ? fake.runner.hang.until_ns : 0);
        CU_ASSERT_EQUAL(fake.ranks[0].state, asks ? JR_LIFE_RUNNING : JR_LIFE_STOPPING);
        fake_runner_check_events(asks ? "timeout timeout=5; evidence signalled=2; "
                                      : "timeout timeout=5; evidence signalled=0; "
                                        "stop signal=SIGTERM running=2; ");
    }
}

/* A signal that dumps core does not, unless the spec states limits.core. */
TEST(dumps_no_core)
{
    static const struct {
        const char *signal, *core;
        bool lowered;
    } vectors[] = {
        {"USR1", NULL, false}, {"TERM", NULL, false},  {"QUIT", "1G", false}, {"QUIT", NULL, true},
        {"ILL", NULL, true},   {"TRAP", NULL, true},   {"ABRT", NULL, true},  {"BUS", NULL, true},
        {"FPE", NULL, true},   {"SEGV", NULL, true},   {"XCPU", NULL, true},  {"XFSZ", NULL, true},
        {"SYS", NULL, true},   {"RTMIN", NULL, false},
    };
    struct rlimit own;
    CU_ASSERT_EQUAL(getrlimit(RLIMIT_CORE, &own), 0);
    if (own.rlim_max == 0)
        return; /* there is none to lower */
    own.rlim_cur = own.rlim_max;
    CU_ASSERT_EQUAL(setrlimit(RLIMIT_CORE, &own), 0);
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        struct rlimit limit;
        BEGIN(fake_runner_end, start(vectors[i].signal));
        fake.policy.limits.core = (char *)vectors[i].core;
        look_twice(JR_HANG_SILENCE);
        CU_ASSERT_EQUAL(prlimit(fake.ranks[0].pid, RLIMIT_CORE, NULL, &limit), 0);
        CU_ASSERT_EQUAL(limit.rlim_cur, vectors[i].lowered ? 0 : own.rlim_cur);
        CU_ASSERT_EQUAL(limit.rlim_max, own.rlim_max);
        fake_runner_check_sent(0, vectors[i].signal);
    }
}
