/* What the controller makes of the events of ranks, and when a rank stops the run. */
#include "cluster/internal.h"

#include "fake_controller.h"
#include "store/event_line.h"

static struct fake_controller fake;

/* A piece of a node's channel of events. */
static void take(uint32_t node, const char *bytes, size_t len)
{
    jr_buf_add(&fake.nodes[node].streams[JR_CHANNEL_EVENT], bytes, len);
    jr_controller_run_stream(&fake.run, node, JR_CHANNEL_EVENT);
}

static void event(uint32_t node, const struct jr_event *event)
{
    struct jr_buf line = JR_BUF_INIT;
    jr_event_put(&line, event);
    take(node, line.data, line.len);
    jr_buf_release(&line);
}

/* What is known of a rank, from the events of its node and of no other. */
TEST(keeps_what_is_known_of_ranks)
{
    fake_controller_start(&fake);
    fake.nodes[1].offset_ns = 100;
    event(1, &(struct jr_event){.name = JR_EVENT_RANK_STARTED, .rank = 2, .pid = 77, .ns = 500});
    event(1, &(struct jr_event){.name = JR_EVENT_RANK_STARTED, .rank = 1, .pid = 78, .ns = 500});
    event(1, &(struct jr_event){.name = JR_EVENT_RANK_STARTED, .rank = 4, .pid = 79, .ns = 500});
    CU_ASSERT_EQUAL(fake.outcomes[2].pid, 77);
    CU_ASSERT_NOT_EQUAL(fake.outcomes[2].started_ns, 0);
    CU_ASSERT_EQUAL(fake.outcomes[1].pid, 0);
    CU_ASSERT_EQUAL(fake.outcomes[4].pid, 0);
    event(
        1,
        &(struct jr_event){
            .name = JR_EVENT_RANK_ENDED, .rank = 3, .pid = 77, .exit_code = -1, .signal = SIGSEGV});
    CU_ASSERT_EQUAL(fake.outcomes[3].end, JR_END_SIGNALED);
    CU_ASSERT_EQUAL(fake.outcomes[3].signal, SIGSEGV);
    CU_ASSERT_EQUAL(fake.outcomes[3].exit_code, 0);
    event(1, &(struct jr_event){.name = JR_EVENT_RANK_ENDED, .rank = 2, .pid = 77, .exit_code = 4});
    CU_ASSERT_EQUAL(fake.outcomes[2].end, JR_END_EXITED);
    CU_ASSERT_EQUAL(fake.outcomes[2].exit_code, 4);
    CU_ASSERT_FALSE(fake.run.ended_well);
    fake_controller_check_sent(&fake, "");
    fake_controller_end(&fake);
}

/* What a lost node said before is read after it is known to be lost: its ranks stay lost, and are
 * no ranks that ended well. */
TEST(a_lost_node_tells_no_more)
{
    fake_controller_start(&fake);
    fake.policy.on_failure = JR_ON_FAILURE_CONTINUE;
    jr_controller_step_node(&fake.controller, 1, JR_NODE_ON_EXITED, "gone");
    CU_ASSERT_EQUAL(fake.outcomes[2].end, JR_END_LOST);
    event(1, &(struct jr_event){.name = JR_EVENT_RANK_ENDED, .rank = 2, .pid = 77});
    CU_ASSERT_EQUAL(fake.outcomes[2].end, JR_END_LOST);
    CU_ASSERT_FALSE(fake.run.ended_well);
    CU_ASSERT_EQUAL(fake.nodes[1].streams[JR_CHANNEL_EVENT].len, 0);
    fake_controller_end(&fake);
}

/* The first rank that ends well is told to all nodes, once. */
TEST(the_first_good_end_is_told)
{
    fake_controller_start(&fake);
    for (uint32_t rank = 2; rank < 4; rank++) {
        event(1, &(struct jr_event){.name = JR_EVENT_RANK_ENDED, .rank = rank, .pid = 7});
        fake_controller_check_sent(&fake, rank == 2 ? "first" : "");
    }
    CU_ASSERT_TRUE(fake.run.ended_well);
    fake_controller_end(&fake);
}

/* What begins to stop one node stops all; no other event does. */
TEST(a_stop_of_one_is_a_stop_of_all)
{
    for (int name = JR_EVENT_UNKNOWN + 1; name <= JR_EVENT_AGENTS; name++) {
        bool stops =
            name == JR_EVENT_STOP || name == JR_EVENT_KILL || name == JR_EVENT_START_FAILED;
        fake_controller_start(&fake);
        fake.policy.timeouts.stop_grace_ms = 30000;
        fake.policy.on_hang.wait_ms = 5000;
        uint64_t before = jr_clock_ns();
        event(0,
              &(struct jr_event){
                  .name = (enum jr_event_name)name, .rank = 99, .pid = 7, .stage = JR_STAGE_EXEC});
        fake_controller_check_sent(&fake, stops ? "stop" : "");
        CU_ASSERT_EQUAL(fake.run.stopped, stops);
        if (stops)
            CU_ASSERT_TRUE(fake_controller_is_after(fake.controller.deadline.at, before, 60000));
        const char *events = fake_controller_read(&fake, "events");
        CU_ASSERT_PTR_NOT_NULL(strstr(events, jr_event_word((enum jr_event_name)name)));
        CU_ASSERT_PTR_NOT_NULL(strstr(events, "\"node\":0"));
        fake_controller_end(&fake);
    }
}

/* What is no event is not written down. */
TEST(what_is_no_event_is_not_written)
{
    static const char *const lines[] = {"\n", "x\n", "{}\n", "{\"event\": \"later\"}\n"};
    fake_controller_start(&fake);
    CU_ASSERT_EQUAL_FATAL(jr_controller_steps_open(&fake.run), 0);
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        take(0, lines[i], strlen(lines[i]));
    JR_ASSERT_TEXT(fake_controller_read(&fake, "events"), "");
    fake_controller_end(&fake);
}

/* Pieces end where they will: a line is taken once it is whole. */
TEST(takes_whole_lines)
{
    struct jr_buf lines = JR_BUF_INIT;
    fake_controller_start(&fake);
    for (uint32_t rank = 2; rank < 4; rank++)
        jr_event_put(
            &lines,
            &(struct jr_event){.name = JR_EVENT_RANK_STARTED, .rank = rank, .pid = 70 + (int)rank});
    size_t first = (size_t)(strchr(lines.data, '\n') - lines.data);
    take(1, lines.data, first);
    CU_ASSERT_EQUAL(fake.outcomes[2].pid, 0);
    take(1, lines.data + first, 2);
    CU_ASSERT_EQUAL(fake.outcomes[2].pid, 72);
    CU_ASSERT_EQUAL(fake.nodes[1].streams[JR_CHANNEL_EVENT].len, 1);
    take(1, lines.data + first + 2, lines.len - first - 2);
    CU_ASSERT_EQUAL(fake.outcomes[3].pid, 73);
    CU_ASSERT_EQUAL(fake.nodes[1].streams[JR_CHANNEL_EVENT].len, 0);
    jr_buf_release(&lines);
    fake_controller_end(&fake);
}
