/* Commands from the other nodes, and reports to them. */
#include "fake_runner.h"

static int pipes[3][2]; /* events, reports, commands */

/* One node of several; its rank 0 has a process. */
static void start(void)
{
    fake_runner_start();
    fake.plan.count = 1;
    for (int i = 0; i < 3; i++)
        CU_ASSERT_EQUAL_FATAL(pipe(pipes[i]), 0);
    fake.link = (struct jr_run_link){.events_fd = pipes[0][1],
                                     .reports_fd = pipes[1][1],
                                     .commands_fd = pipes[2][0],
                                     .exchange_fd = pipes[1][0]};
    fake.options.link = &fake.link;
    (void)close(fake.runner.events.fd);
    fake.runner.events.fd = -1;
    CU_ASSERT_EQUAL_FATAL(jr_node_link_keep(&fake.runner), 0);
    fake_runner_open(&jr_commands_policy);
    fake_runner_open(&jr_stop_policy);
    fake_runner_open(&jr_exit_barrier_policy);
    fake_runner_open(&jr_first_exit_timeout_policy);
    fake_runner_open(&jr_hang_policy);
    fake.runner.exit_barrier.open = false;
    fake.policy.timeouts.after_first_exit_ms = 5000;
    fake.policy.timeouts.stop_grace_ms = 3600000;
    fake.policy.on_hang.wait_ms = 3600000;
    fake_runner_spawn(0);
}

ENDING(end)
{
    if (fake.runner.commands.watch.fd >= 0)
        (void)close(fake.runner.commands.watch.fd);
    (void)close(fake.runner.link.reports_fd);
    if (fake.runner.link.exchange_fd >= 0)
        (void)close(fake.runner.link.exchange_fd);
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 2; k++)
            if (pipes[i][k] >= 0)
                (void)close(pipes[i][k]);
    fake_runner_end();
}

static void command(const char *commands)
{
    CU_ASSERT_EQUAL(write(pipes[2][1], commands, strlen(commands)), (ssize_t)strlen(commands));
    CU_ASSERT_EQUAL(jr_loop_turn(&fake.runner.loop, true), 1);
}

/* Whether the next report is `name`. */
static bool has_report(enum jr_report_name name)
{
    struct jr_report report = {0};
    return fake_runner_readable(pipes[1][0], 0) &&
           read(pipes[1][0], &report, sizeof report) == (ssize_t)sizeof report &&
           report.name == name;
}

/* Without a link there is nobody to hear, or to tell. */
TEST(without_other_nodes_nothing_is_kept)
{
    BEGIN(fake_runner_end, fake_runner_start());
    fake.runner.link.commands_fd = fake.runner.link.reports_fd = 7;
    int events = fake.runner.events.fd;
    CU_ASSERT_TRUE(jr_node_link_keep(&fake.runner) == 0 && fake.runner.link.commands_fd == -1);
    CU_ASSERT_TRUE(fake.runner.link.reports_fd == -1 && fake.runner.events.fd == events);
    fake_runner_open(&jr_commands_policy);
    jr_node_link_report(&fake.runner, JR_REPORT_SILENT, 0);
    CU_ASSERT_EQUAL(jr_loop_turn(&fake.runner.loop, true), 0);
}

/* The copies lie above the slots, and are not the ranks' to have. */
TEST(keeps_copies)
{
    BEGIN(end, start());
    const int fds[] = {fake.runner.events.fd, fake.runner.link.reports_fd,
                       fake.runner.commands.watch.fd, fake.runner.link.exchange_fd};
    for (int i = 0; i < 4; i++) {
        CU_ASSERT_TRUE(fds[i] >= JR_SLOT_END);
        CU_ASSERT_EQUAL(fcntl(fds[i], F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
    }
    jr_events_add(&fake.runner.events, &(struct jr_event){.name = JR_EVENT_GUARD_LOST});
    jr_events_flush(&fake.runner.events);
    CU_ASSERT_TRUE(fake_runner_readable(pipes[0][0], 0));
}

TEST(each_descriptor_is_needed)
{
    for (int bad = 0; bad < 4; bad++) {
        BEGIN(end, start());
        (void)close(fake.runner.events.fd);
        (void)close(fake.runner.link.reports_fd);
        (void)close(fake.runner.commands.watch.fd);
        (void)close(fake.runner.link.exchange_fd);
        fake.link.events_fd = bad == 0 ? 9999 : pipes[0][1];
        fake.link.reports_fd = bad == 1 ? 9999 : pipes[1][1];
        fake.link.commands_fd = bad == 2 ? 9999 : pipes[2][0];
        fake.link.exchange_fd = bad == 3 ? 9999 : pipes[1][0];
        CU_ASSERT_EQUAL(jr_node_link_keep(&fake.runner), -1);
        fake.runner.commands.watch.fd = fake.runner.link.commands_fd;
    }
}

/* Whoever takes it closes it; there is one. */
TEST(the_exchange_is_taken_once)
{
    start();
    int fd = jr_node_link_take_exchange(&fake.runner);
    CU_ASSERT_TRUE(fd >= JR_SLOT_END);
    CU_ASSERT_EQUAL(jr_node_link_take_exchange(&fake.runner), -1);
    (void)close(fd);
    end();
    fake_runner_start();
    fake.runner.link.exchange_fd = 7;
    CU_ASSERT_EQUAL(jr_node_link_take_exchange(&fake.runner), -1);
    fake_runner_end();
}

/* A report is one write, whole. */
TEST(reports_go_out)
{
    struct jr_report report = {0};
    BEGIN(end, start());
    jr_node_link_report(&fake.runner, JR_REPORT_QUIET, 81000);
    CU_ASSERT_EQUAL(read(pipes[1][0], &report, sizeof report), (ssize_t)sizeof report);
    CU_ASSERT_TRUE(report.name == JR_REPORT_QUIET && report.for_ns == 81000);
    CU_ASSERT_FALSE(fake_runner_readable(pipes[1][0], 0));
}

/* What each command does, and that no other one does anything. */
TEST(does_what_it_is_told)
{
    static const struct {
        const char *commands;
        bool stops, releases, first, hangs;
        enum jr_timeout timeout;
    } vectors[] = {
        {"x", false, false, false, false, JR_TIMEOUT_NONE},
        {"S", false, false, false, false, JR_TIMEOUT_NONE},
        {"q", false, false, false, false, JR_TIMEOUT_NONE},
        {"s", true, true, false, false, JR_TIMEOUT_NONE},
        {"r", false, true, false, false, JR_TIMEOUT_NONE},
        {"f", false, false, true, false, JR_TIMEOUT_NONE},
        {"h", false, false, false, true, JR_TIMEOUT_SILENCE},
        {"p", false, false, false, true, JR_TIMEOUT_PROGRESS},
        {"b", false, false, false, true, JR_TIMEOUT_FIRST_STEP},
        {"rf", false, true, true, false, JR_TIMEOUT_NONE},
        {"hs", false, false, false, true, JR_TIMEOUT_SILENCE},
        {"sh", true, true, false, false, JR_TIMEOUT_NONE},
        {"hp", false, false, false, true, JR_TIMEOUT_SILENCE},
    };
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        BEGIN(end, start());
        command(vectors[i].commands);
        CU_ASSERT_EQUAL(jr_stop_has_begun(&fake.runner), vectors[i].stops);
        CU_ASSERT_EQUAL(fake.runner.exit_barrier.open, vectors[i].releases);
        CU_ASSERT_EQUAL(fake.runner.first_exit_timeout.timer.at != 0, vectors[i].first);
        CU_ASSERT_EQUAL(jr_hang_has_begun(&fake.runner), vectors[i].hangs);
        CU_ASSERT_EQUAL(fake.outcome.timed_out_by, vectors[i].timeout);
        CU_ASSERT_TRUE(fake.runner.commands.watch.fd >= 0);
    }
}

/* Whether the job is preempted: what waits for that is done, or was not to be.
 */
TEST(hears_whether_it_is_preempted)
{
    static const struct {
        const char *commands;
        bool asked, preempted, stops;
    } vectors[] = {
        {"n", false, false, false}, {"n", true, false, true},  {"P", false, true, true},
        {"P", true, true, true},    {"nP", true, false, true},
    };
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        BEGIN(end, start());
        fake_runner_open(&jr_preemption_policy);
        fake.policy.requeue.max = 1;
        if (vectors[i].asked)
            CU_ASSERT_TRUE(jr_preemption_takes(&fake.runner, SIGTERM));
        command(vectors[i].commands);
        CU_ASSERT_FALSE(jr_preemption_is_open(&fake.runner));
        CU_ASSERT_EQUAL(fake.outcome.preempted, vectors[i].preempted);
        CU_ASSERT_EQUAL(jr_stop_has_begun(&fake.runner), vectors[i].stops);
        CU_ASSERT_EQUAL(fake.outcome.stop_signal,
                        vectors[i].asked && !vectors[i].preempted ? SIGTERM : 0);
        jr_preemption_policy.close(&fake.runner);
    }
}

/* A query is answered. */
TEST(answers_a_query)
{
    BEGIN(end, start());
    command("q");
    CU_ASSERT_TRUE(has_report(JR_REPORT_QUIET) && !has_report(JR_REPORT_QUIET));
    command("qq");
    CU_ASSERT_TRUE(has_report(JR_REPORT_QUIET) && has_report(JR_REPORT_QUIET));
}

/* More than are read at once are all heard, in their order. */
TEST(hears_many)
{
    BEGIN(end, start());
    command("xxxxxxxxxxxxxxxxs");
    CU_ASSERT_TRUE(!jr_stop_has_begun(&fake.runner) && jr_loop_turn(&fake.runner.loop, true) == 1);
    CU_ASSERT_TRUE(jr_stop_has_begun(&fake.runner));
    fake_runner_check_sent(0, "TERM CONT");
}

/* Who gave the commands is gone: so is the job, even where it hangs. */
TEST(their_end_is_a_stop)
{
    for (int hangs = 0; hangs < 2; hangs++) {
        BEGIN(end, start());
        if (hangs)
            command("h");
        (void)close(pipes[2][1]);
        pipes[2][1] = -1;
        CU_ASSERT_EQUAL(jr_loop_turn(&fake.runner.loop, true), 1);
        CU_ASSERT_TRUE(jr_stop_has_begun(&fake.runner) && fake.runner.commands.watch.fd == -1);
    }
}

/* Nothing to read is no end. */
TEST(a_false_alarm_is_no_end)
{
    BEGIN(end, start());
    CU_ASSERT_EQUAL(fcntl(pipes[2][0], F_SETFL, O_NONBLOCK), 0);
    fake.runner.commands.watch.ready(&fake.runner, 0);
    CU_ASSERT_TRUE(!jr_stop_has_begun(&fake.runner) && fake.runner.commands.watch.fd >= 0);
}
