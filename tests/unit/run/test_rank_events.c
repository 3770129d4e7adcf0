/* The lines of events.jsonl about ranks that start and end. */
#include "fake_runner.h"

static struct fake_runner fake;

/* The events as they stand in the file, without their times. */
static void check_lines(const char *expected)
{
    const struct jr_buf *lines = &fake.runner.events.lines;
    char text[512] = "";
    CU_ASSERT_PTR_NOT_NULL_FATAL(lines->data);
    const char *at = strstr(lines->data, "\"event\"");
    CU_ASSERT_PTR_NOT_NULL_FATAL(at);
    (void)snprintf(text, sizeof text, "%.*s", (int)(lines->data + lines->len - at), at);
    JR_ASSERT_TEXT(text, expected);
    fake.runner.events.lines.len = 0;
}

static void a_start_has_the_machines_pid(void)
{
    fake_runner_start(&fake);
    fake.ranks[1].pid = 7; /* as it sees itself, in a namespace */
    fake.outcomes[1].pid = 4007;
    jr_rank_events_policy.rank_started(&fake.ranks[1]);
    check_lines("\"event\":\"rank_started\",\"rank\":11,\"pid\":4007}\n");
    fake_runner_end(&fake);
}

/* A code or a signal, and the other is null. */
static void an_end_has_its_code_or_its_signal(void)
{
    static const struct {
        enum jr_end end;
        int number;
        const char *text;
    } vectors[] = {
        {JR_END_EXITED, 0, "\"exit_code\":0,\"signal\":null}\n"},
        {JR_END_EXITED, 255, "\"exit_code\":255,\"signal\":null}\n"},
        {JR_END_SIGNALED, SIGKILL, "\"exit_code\":null,\"signal\":\"SIGKILL\"}\n"},
        {JR_END_SIGNALED, SIGHUP, "\"exit_code\":null,\"signal\":\"SIGHUP\"}\n"},
    };
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        char text[256];
        fake_runner_start(&fake);
        fake.ranks[2].pid = 7;
        fake.outcomes[2].pid = 4007;
        fake_runner_note_end(&fake, 2, vectors[i].end, vectors[i].number);
        jr_rank_events_policy.rank_ended(&fake.ranks[2]);
        (void)snprintf(text, sizeof text, "\"event\":\"rank_ended\",\"rank\":12,\"pid\":4007,%s",
                       vectors[i].text);
        check_lines(text);
        fake_runner_end(&fake);
    }
}

/* Without a process it did not end, but could not be started. */
static void a_failed_start_has_its_stage(void)
{
    static const int errors[] = {0, ENOENT};
    for (size_t i = 0; i < 2; i++) {
        fake_runner_start(&fake);
        fake.outcomes[0].stage = JR_STAGE_EXEC;
        fake.outcomes[0].start_errno = errors[i];
        fake_runner_note_end(&fake, 0, JR_END_START, 0);
        jr_rank_events_policy.rank_ended(&fake.ranks[0]);
        fake_runner_check_events(&fake, i == 0 ? "start_failed rank=10 stage=12 errno=0; "
                                               : "start_failed rank=10 stage=12 errno=2; ");
        fake_runner_end(&fake);
    }
}

/* A fork that never reached its function had one: it ended, by its signal. */
static void a_stalled_fork_has_ended(void)
{
    fake_runner_start(&fake);
    fake.ranks[0].pid = fake.outcomes[0].pid = 9;
    fake_runner_note_end(&fake, 0, JR_END_SIGNALED, SIGKILL);
    fake.outcomes[0].end = JR_END_START;
    fake.outcomes[0].stage = JR_STAGE_STALL;
    jr_rank_events_policy.rank_ended(&fake.ranks[0]);
    check_lines("\"event\":\"rank_ended\",\"rank\":10,\"pid\":9,\"exit_code\":null,\"signal\":"
                "\"SIGKILL\"}\n");
    fake_runner_end(&fake);
}

JR_UNIT_MAIN("rank_events", CASE(a_start_has_the_machines_pid),
             CASE(an_end_has_its_code_or_its_signal), CASE(a_failed_start_has_its_stage),
             CASE(a_stalled_fork_has_ended))
