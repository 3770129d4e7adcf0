/* What the controller makes of a run by what its nodes say: of their outcomes, of the events of
 * ranks, and of their silence. */
#include "cluster/internal.h"

#include "fake_controller.h"
#include "store/events.h"
#include "store/outcome.h"

#define HOUR_NS (3600000 * FAKE_MS)

/* A node tells its outcome: of its ranks as EXAMPLE[0] and [1], and that it is done. */
static void tell_outcome(uint32_t node, struct jr_outcome part, struct jr_rank_outcome *ranks)
{
    part.count = FAKE_EACH;
    part.ranks = ranks;
    jr_outcome_message_add(&fake.nodes[node].streams[JR_CHANNEL_OUTCOME], &part);
    hear(node, "done", "");
}

/* Each time is ours; of texts and signals the first counts, and of processes as many as fit. */
TEST_WITH(fake_start, fake_end, puts_the_outcomes_together)
{
    enum { AT = 1000, OFFSET = 300 };
    fake.policy.on_failure = JR_ON_FAILURE_CONTINUE;
    for (uint32_t node = FAKE_NODES; node-- > 0;) {
        struct jr_rank_outcome ranks[FAKE_EACH] = {{.pid = 100 + (int)node,
                                                    .end = JR_END_EXITED,
                                                    .started_ns = AT,
                                                    .ended_ns = AT + 1,
                                                    .alive_ns = AT + 2,
                                                    .exiting_ns = AT + 3,
                                                    .told_ns = AT + 4,
                                                    .leaving_ns = AT + 5,
                                                    .heard_ns = AT + 6},
                                                   {.end = JR_END_EXITED}};
        struct jr_outcome part = {.left = 10, .pattern_limits = node + 1};
        (void)snprintf(part.start_text, sizeof part.start_text, "text of %u", node);
        for (int i = 0; i < 10; i++)
            part.left_pids[i] = (int)(1000 * node) + i;
        part.stop_signal = node == 1 ? SIGINT : node == 0 ? SIGTERM : 0;
        part.runner_signal = node == 0 ? SIGSEGV : 0;
        part.timed_out_by = node == 1 ? JR_TIMEOUT_RUN : node == 0 ? JR_TIMEOUT_SILENCE : 0;
        fake.nodes[node].offset_ns = OFFSET;
        fake.nodes[node].clock_offset_ns = 7;
        tell_outcome(node, part, ranks);
        const struct jr_rank_outcome *rank = &fake.outcomes[FAKE_EACH * node];
        CU_ASSERT_EQUAL(rank->pid, 100 + (int)node);
        CU_ASSERT_EQUAL(rank->clock_offset_ns, 7);
        const uint64_t times[] = {rank->started_ns, rank->ended_ns, rank->alive_ns,
                                  rank->exiting_ns, rank->told_ns,  rank->leaving_ns,
                                  rank->heard_ns};
        for (uint64_t i = 0; i < sizeof times / sizeof *times; i++)
            CU_ASSERT_EQUAL(times[i], AT - OFFSET + i);
        CU_ASSERT_EQUAL(rank[1].told_ns, 0);
    }
    CU_ASSERT_EQUAL(fake.outcome.pattern_limits, 6);
    JR_ASSERT_TEXT(fake.outcome.start_text, "text of 2");
    CU_ASSERT_EQUAL(fake.outcome.left, 30);
    CU_ASSERT_EQUAL(fake.outcome.left_pids[0], 2000);
    CU_ASSERT_EQUAL(fake.outcome.left_pids[10], 1000);
    CU_ASSERT_EQUAL(fake.outcome.left_pids[15], 1005);
    CU_ASSERT_EQUAL(fake.outcome.stop_signal, SIGINT);
    CU_ASSERT_EQUAL(fake.outcome.runner_signal, SIGSEGV);
    CU_ASSERT_EQUAL(fake.outcome.timed_out_by, JR_TIMEOUT_RUN);
    JR_ASSERT_TEXT(fake.outcome.lost_text, "");
    check_sent("stop release"); /* of node 1, and once all are back */
}

/* Whether the run is stopped where a node's part is so. */
TEST(stops_all_for_one)
{
    static const struct {
        struct jr_rank_outcome rank;
        struct jr_outcome part;
        bool stop, go_on; /* what is done by `on_failure` */
    } vectors[] = {{{.end = JR_END_EXITED}, {0}, false, false},
                   {{.end = JR_END_EXITED, .exit_code = 1}, {0}, true, false},
                   {{.end = JR_END_SIGNALED, .signal = SIGKILL}, {0}, true, false},
                   {{.end = JR_END_START}, {0}, true, true},
                   {{.end = JR_END_EXITED}, {.timed_out_by = JR_TIMEOUT_RUN}, true, true},
                   {{.end = JR_END_EXITED}, {.stop_signal = SIGINT}, true, true},
                   {{.end = JR_END_EXITED}, {.runner_signal = SIGSEGV}, true, true}};
    for (size_t i = 0; i < 2 * sizeof vectors / sizeof *vectors; i++) {
        bool stops = i % 2 == 0 ? vectors[i / 2].stop : vectors[i / 2].go_on;
        struct jr_rank_outcome ranks[FAKE_EACH] = {vectors[i / 2].rank, {.end = JR_END_EXITED}};
        fake_start();
        fake.policy.on_failure = i % 2 == 0 ? JR_ON_FAILURE_STOP : JR_ON_FAILURE_CONTINUE;
        tell_outcome(0, vectors[i / 2].part, ranks);
        CU_ASSERT_EQUAL(fake.run.stopped, stops);
        check_sent(stops ? "stop" : "");
        fake_end();
    }
}

/* A node that could not begin says why, and that is the run's reason. */
TEST_WITH(fake_start, fake_end, says_which_node_could_not_begin)
{
    put(1, JR_CHANNEL_OUTCOME, "{\"error\":\"no more processes\"}");
    hear(1, "done", "");
    CU_ASSERT_EQUAL(fake.run.result, -1);
    CU_ASSERT_EQUAL(fake.err.status, JR_STATUS_LAUNCH);
    JR_ASSERT_TEXT(fake.err.text, "node 1 (n1): no more processes");
    check_sent("stop");
}

/* Its runner was killed: by what the guard tells, or, where that was killed, too, by nothing but
 * the events of before, the ranks that had not ended are lost with it. */
TEST(loses_a_node_whose_runner_died)
{
    for (int guard = 0; guard < 2; guard++) {
        struct jr_rank_outcome ranks[FAKE_EACH] = {{.end = JR_END_EXITED, .exit_code = 5},
                                                   {.killed = true, .started_ns = 1}};
        fake_start();
        if (guard) {
            const struct jr_outcome part = {.runner_signal = SIGSEGV, .left = 3};
            tell_outcome(1, part, ranks);
        } else {
            fake.outcomes[2] = ranks[0];
            hear(1, "done", "'signal': 11");
        }
        CU_ASSERT_EQUAL(fake.outcome.runner_signal, 0);
        JR_ASSERT_TEXT(fake.outcome.lost_text, "its jobrun was killed by SIGSEGV");
        CU_ASSERT_EQUAL(fake.nodes[1].state, JR_NODE_LOST);
        CU_ASSERT_EQUAL(fake.outcomes[2].exit_code, 5);
        CU_ASSERT_EQUAL(fake.outcomes[3].end, JR_END_LOST);
        CU_ASSERT_FALSE(fake.outcomes[3].killed);
        CU_ASSERT_EQUAL(fake.outcome.left, guard ? 3 : 0);
        fake_end();
    }
}

/* A piece of a node's channel of events. */
static void take(uint32_t node, const char *bytes, size_t len)
{
    jr_buf_add(&fake.nodes[node].streams[JR_CHANNEL_EVENT], bytes, len);
    jr_controller_run_stream(&fake.run, node, JR_CHANNEL_EVENT);
}

static void event(uint32_t node, struct jr_event event)
{
    struct jr_buf line JR_BUF_CLEANUP = JR_BUF_INIT;
    event.pid = event.pid == 0 ? 7 : event.pid;
    jr_event_put(&line, &event);
    take(node, line.data, line.len);
}

static void end_rank(uint32_t rank, int code, int sig)
{
    event(1, (struct jr_event){
                 .name = JR_EVENT_RANK_ENDED, .rank = rank, .exit_code = code, .signal = sig});
}

/* What is known of a rank, from the events of its node and of no other. */
TEST_WITH(fake_start, fake_end, keeps_what_is_known_of_ranks)
{
    fake.nodes[1].offset_ns = 100;
    for (uint32_t rank = 1; rank < 5; rank++)
        event(1,
              (struct jr_event){
                  .name = JR_EVENT_RANK_STARTED, .rank = rank, .pid = 75 + (int)rank, .ns = 500});
    CU_ASSERT_EQUAL(fake.outcomes[2].pid, 77);
    CU_ASSERT_NOT_EQUAL(fake.outcomes[2].started_ns, 0);
    CU_ASSERT_EQUAL(fake.outcomes[1].pid, 0);
    CU_ASSERT_EQUAL(fake.outcomes[4].pid, 0);
    end_rank(3, -1, SIGSEGV);
    CU_ASSERT_EQUAL(fake.outcomes[3].end, JR_END_SIGNALED);
    CU_ASSERT_EQUAL(fake.outcomes[3].signal, SIGSEGV);
    CU_ASSERT_EQUAL(fake.outcomes[3].exit_code, 0);
    end_rank(2, 4, 0);
    CU_ASSERT_EQUAL(fake.outcomes[2].end, JR_END_EXITED);
    CU_ASSERT_EQUAL(fake.outcomes[2].exit_code, 4);
    CU_ASSERT_FALSE(fake.run.ended_well);
    check_sent("");
}

/* What a lost node said before is read after it is known to be lost: its ranks stay lost, and are
 * no ranks that ended well. */
TEST_WITH(fake_start, fake_end, a_lost_node_tells_no_more)
{
    fake.policy.on_failure = JR_ON_FAILURE_CONTINUE;
    jr_controller_step_node(&fake.controller, 1, JR_NODE_ON_EXITED, "gone");
    end_rank(2, 0, 0);
    CU_ASSERT_EQUAL(fake.outcomes[2].end, JR_END_LOST);
    CU_ASSERT_FALSE(fake.run.ended_well);
    CU_ASSERT_EQUAL(fake.nodes[1].streams[JR_CHANNEL_EVENT].len, 0);
}

/* The first rank that ends well is told to all nodes, once. */
TEST_WITH(fake_start, fake_end, the_first_good_end_is_told)
{
    for (uint32_t rank = 2; rank < 4; rank++) {
        end_rank(rank, 0, 0);
        check_sent(rank == 2 ? "first" : "");
    }
    CU_ASSERT_TRUE(fake.run.ended_well);
}

/* What begins to stop one node stops all; no other event does. */
TEST(a_stop_of_one_is_a_stop_of_all)
{
    for (int name = JR_EVENT_UNKNOWN + 1; name <= JR_EVENT_AGENTS; name++) {
        bool stops =
            name == JR_EVENT_STOP || name == JR_EVENT_KILL || name == JR_EVENT_START_FAILED;
        fake_start();
        fake.policy.timeouts.stop_grace_ms = 30000;
        fake.policy.on_hang.wait_ms = 5000;
        uint64_t before = jr_clock_ns();
        event(0, (struct jr_event){
                     .name = (enum jr_event_name)name, .rank = 99, .stage = JR_STAGE_EXEC});
        check_sent(stops ? "stop" : "");
        CU_ASSERT_EQUAL(fake.run.stopped, stops);
        if (stops)
            CU_ASSERT_TRUE(is_after(fake.controller.deadline.at, before, 60000));
        CU_ASSERT_PTR_NOT_NULL(
            strstr(fake_read("events"), jr_event_word((enum jr_event_name)name)));
        CU_ASSERT_PTR_NOT_NULL(strstr(fake_read("events"), "\"node\":0"));
        fake_end();
    }
}

/* What is no event is not written down. */
TEST_WITH(fake_start, fake_end, what_is_no_event_is_not_written)
{
    static const char *const lines[] = {"\n", "x\n", "{}\n", "{\"event\": \"later\"}\n"};
    CU_ASSERT_EQUAL_FATAL(jr_controller_steps_open(&fake.run), 0);
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        take(0, lines[i], strlen(lines[i]));
    JR_ASSERT_TEXT(fake_read("events"), "");
}

/* Pieces end where they will: a line is taken once it is whole. Its time is by our clock. */
TEST_WITH(fake_start, fake_end, takes_whole_lines)
{
    struct jr_buf lines JR_BUF_CLEANUP = JR_BUF_INIT;
    struct jr_event read;
    fake.nodes[1].offset_ns = (int64_t)HOUR_NS;
    for (uint32_t rank = 2; rank < 4; rank++)
        jr_event_put(&lines, &(struct jr_event){.name = JR_EVENT_RANK_STARTED,
                                                .rank = rank,
                                                .pid = 70 + (int)rank,
                                                .ns = jr_clock_ns() + HOUR_NS});
    size_t first = (size_t)(strchr(lines.data, '\n') - lines.data);
    take(1, lines.data, first);
    CU_ASSERT_EQUAL(fake.outcomes[2].pid, 0);
    take(1, lines.data + first, 2);
    CU_ASSERT_EQUAL(fake.outcomes[2].pid, 72);
    CU_ASSERT_EQUAL(fake.nodes[1].streams[JR_CHANNEL_EVENT].len, 1);
    take(1, lines.data + first + 2, lines.len - first - 2);
    CU_ASSERT_EQUAL(fake.outcomes[3].pid, 73);
    CU_ASSERT_EQUAL(fake.nodes[1].streams[JR_CHANNEL_EVENT].len, 0);
    const char *events = fake_read("events");
    CU_ASSERT_TRUE(jr_event_read(&read, events, strcspn(events, "\n")));
    int64_t ago = (int64_t)(jr_clock_wall_ns() - read.wall_ns);
    CU_ASSERT_TRUE(ago >= 0 && ago < (int64_t)HOUR_NS / 2);
    CU_ASSERT_TRUE(read.ns <= jr_clock_ns());
}

/* A run whose ranks may be silent for five seconds. */
static void start_silent(void)
{
    fake_start();
    fake.policy.timeouts.silence_ms = 5000;
}

/* All nodes are asked, once, for how long they have been silent; the run hangs if it was long
 * enough for each. */
TEST(asks_all_about_silence)
{
    static const struct {
        unsigned answers[FAKE_NODES]; /* milliseconds */
        bool hangs;
    } vectors[] = {
        {{4999, 9000, 9000}, false}, {{9000, 9000, 0}, false},    {{0, 0, 0}, false},
        {{5000, 5000, 5000}, true},  {{9000, 5000, 70000}, true},
    };
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        start_silent();
        hear(1, "silent", "");
        check_sent("query");
        hear(2, "silent", "");
        check_sent("");
        for (uint32_t k = 0; k < FAKE_NODES; k++) {
            char answer[64];
            check_sent("");
            (void)snprintf(answer, sizeof answer, "'for_ns': %llu",
                           vectors[i].answers[k] * 1000000ULL);
            hear(k, "quiet", answer);
        }
        check_sent(vectors[i].hangs ? "hang" : "");
        CU_ASSERT_FALSE(fake.run.is_querying);
        hear(1, "silent", "");
        check_sent("query"); /* anew */
        fake_end();
    }
}

/* A run that is being stopped neither asks nor hangs. */
TEST_WITH(start_silent, fake_end, a_stopped_run_does_not_hang)
{
    fake.run.stopped = true;
    hear(1, "silent", "");
    check_sent("");
    fake.run.stopped = false;
    jr_controller_silence_ask(&fake.run);
    check_sent("query");
    fake.run.stopped = true;
    for (uint32_t k = 0; k < FAKE_NODES; k++)
        jr_controller_silence_answer(&fake.run, k, HOUR_NS);
    check_sent("");
}

/* A node that has ended is not asked; what its ranks wrote not long ago is no silence. */
TEST(an_ended_node_is_not_asked)
{
    for (int late = 0; late < 2; late++) {
        start_silent();
        fake.nodes[2].state = JR_NODE_DONE;
        fake.outcomes[5].heard_ns = late ? jr_clock_ns() + HOUR_NS : 1;
        jr_controller_silence_ask(&fake.run);
        CU_ASSERT_FALSE(fake.nodes[2].queried);
        jr_controller_silence_answer(&fake.run, 0, HOUR_NS);
        check_sent("query");
        jr_controller_silence_answer(&fake.run, 1, HOUR_NS);
        check_sent(late ? "" : "hang");
        fake_end();
    }
}

/* One that ends meanwhile, or is lost, is waited for no longer. */
TEST(an_answer_may_never_come)
{
    for (int ends = 0; ends < 2; ends++) {
        struct jr_rank_outcome ranks[FAKE_EACH] = {{.end = JR_END_EXITED}, {.end = JR_END_EXITED}};
        start_silent();
        fake.policy.on_failure = JR_ON_FAILURE_CONTINUE;
        jr_controller_silence_ask(&fake.run);
        jr_controller_silence_answer(&fake.run, 0, HOUR_NS);
        jr_controller_silence_answer(&fake.run, 1, HOUR_NS);
        check_sent("query");
        if (ends)
            tell_outcome(2, (struct jr_outcome){0}, ranks);
        else
            jr_controller_step_node(&fake.controller, 2, JR_NODE_ON_EXITED, "gone");
        CU_ASSERT_FALSE(fake.run.is_querying);
        fake_end();
    }
}
