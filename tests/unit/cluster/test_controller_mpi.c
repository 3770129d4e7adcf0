/* What the controller does for the worlds of MPI programs: it hands on what the process managers of
 * three nodes exchange, and fails ranks that left the others alone. */
#include "cluster/internal.h"

#include "base/hash.h"
#include "fake_controller.h"

static void start(void)
{
    fake_start();
    CU_ASSERT_EQUAL_FATAL(jr_controller_mpi_open(&fake.run), 0);
}

static void end(void)
{
    jr_exchange_hub_release(&fake.run.hub);
    fake_end();
}

/* A node's frame, as lines of its channel. */
static void receive_frame(uint32_t node, const struct jr_exchange_frame *frame)
{
    struct jr_buf bytes JR_BUF_CLEANUP = JR_BUF_INIT;
    struct jr_inlet lines RELEASE(jr_inlet_release) = {0};
    struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
    const char *line;
    size_t len;
    jr_exchange_put(&bytes, frame);
    jr_channel_put(&text, &(struct jr_sender){.node = node}, JR_CHANNEL_EXCHANGE, bytes.data,
                   bytes.len);
    jr_inlet_add(&lines, text.data, text.len);
    while ((line = jr_inlet_line(&lines, &len)) != NULL) {
        json_auto_t *object = jr_message_read(line, len);
        jr_controller_receive(&fake.controller, object);
    }
}

/* What all agents were sent, as one stream. */
static void read_exchange(struct jr_inlet *ret)
{
    static char bytes[1 << 18];
    ssize_t got = read(fake.sent, bytes, sizeof bytes);
    struct jr_inlet lines RELEASE(jr_inlet_release) = {0};
    const char *line;
    size_t len;
    jr_inlet_add(&lines, bytes, got < 0 ? 0 : (size_t)got);
    while ((line = jr_inlet_line(&lines, &len)) != NULL) {
        json_auto_t *object = jr_json_parse(line, len, NULL);
        struct jr_message message;
        struct jr_buf part JR_BUF_CLEANUP = JR_BUF_INIT;
        CU_ASSERT_TRUE(jr_message_of_controller(&message, object));
        CU_ASSERT_EQUAL(message.type, JR_TO_NODES_EXCHANGE);
        CU_ASSERT_TRUE(len < 40000);
        CU_ASSERT_TRUE(jr_base64_take(&part, message.bytes, strlen(message.bytes)));
        jr_inlet_add(ret, part.data, part.len);
    }
}

/* A run that cannot exchange ends, and says on which node that was. */
TEST_WITH(start, end, refuses_what_is_no_exchange)
{
    receive_frame(1, &(struct jr_exchange_frame){.kind = JR_EXCHANGE_FENCE, .group = "0-99"});
    CU_ASSERT_EQUAL(fake.run.result, -1);
    CU_ASSERT_TRUE(fake.run.stopped);
    CU_ASSERT_PTR_NOT_NULL(strstr(fake.err.text, "node 1 (n1): what MPI's "));
    check_sent("stop");
    receive_frame(2, &(struct jr_exchange_frame){.kind = JR_EXCHANGE_FENCE, .group = "0-99"});
    check_sent("");
}

/* Ranks that end because they were told to meet in MPI_Finalize. What cannot be exchanged then is
 * no reason of its own. */
TEST_WITH(start, end, exchanges_while_ranks_end)
{
    struct jr_inlet inlet = {0};
    struct jr_exchange_frame frame;
    jr_controller_run_stop(&fake.run);
    check_sent("stop");
    receive_frame(1, &(struct jr_exchange_frame){.kind = JR_EXCHANGE_FENCE, .group = "0-99"});
    CU_ASSERT_EQUAL(fake.run.result, 0);
    for (uint32_t node = 0; node < FAKE_NODES; node++)
        receive_frame(node, &(struct jr_exchange_frame){.kind = JR_EXCHANGE_FENCE, .group = "all"});
    read_exchange(&inlet);
    CU_ASSERT_EQUAL_FATAL(jr_exchange_next(&inlet, &frame), JR_EXCHANGE_TAKEN);
    JR_ASSERT_TEXT(frame.group, "all");
    jr_inlet_release(&inlet);
}

static void receive_initialized(uint32_t node)
{
    jr_controller_step_node(&fake.controller, node, JR_NODE_ON_INITIALIZED, "");
}

static void end_absent(uint32_t rank, int code)
{
    fake.outcomes[rank] = (struct jr_rank_outcome){
        .mpi = JR_MPI_PART_ABSENT, .end = JR_END_EXITED, .exit_code = code};
}

/* Ranks of a node that is done, where no rank had initialized before. */
TEST_WITH(start, end, fails_who_left_before)
{
    fake.nodes[1].state = JR_NODE_DONE;
    end_absent(2, 0);
    end_absent(3, 4);
    receive_initialized(0);
    check_sent("world stop");
    CU_ASSERT_EQUAL(fake.outcomes[2].mpi, JR_MPI_PART_LEFT);
    CU_ASSERT_EQUAL(fake.outcomes[3].mpi, JR_MPI_PART_ABSENT);
}

/* The outcome of a node comes when others have: its message may have crossed ours. */
TEST_WITH(start, end, fails_who_leaves_then)
{
    end_absent(4, 0);
    CU_ASSERT_FALSE(jr_controller_mpi_settle(&fake.run, 2));
    CU_ASSERT_EQUAL(fake.outcomes[4].mpi, JR_MPI_PART_ABSENT);
    receive_initialized(0);
    CU_ASSERT_FALSE(jr_controller_mpi_settle(&fake.run, 1));
    CU_ASSERT_TRUE(jr_controller_mpi_settle(&fake.run, 2));
    CU_ASSERT_EQUAL(fake.outcomes[4].mpi, JR_MPI_PART_LEFT);
}

/* Of nodes that are done, or lost, what would keep the others waiting ends the run under
 * `on_failure: continue` too. */
TEST(ends_without_a_rank_in_any_case)
{
    static const struct {
        struct jr_rank_outcome rank;
        enum jr_node_state state;
        bool stops;
    } vectors[] = {
        {{.mpi = JR_MPI_PART_ABSENT, .end = JR_END_EXITED}, JR_NODE_DONE, true},
        {{.mpi = JR_MPI_PART_ABSENT, .end = JR_END_EXITED, .exit_code = 1}, JR_NODE_DONE, true},
        {{.end = JR_END_LOST}, JR_NODE_LOST, true},
        {{.mpi = JR_MPI_PART_FINALIZED, .end = JR_END_EXITED}, JR_NODE_DONE, false},
        {{.mpi = JR_MPI_PART_FINALIZED, .end = JR_END_EXITED, .exit_code = 1}, JR_NODE_DONE, false},
    };
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        start();
        fake.policy.on_failure = JR_ON_FAILURE_CONTINUE;
        fake.nodes[1].state = vectors[i].state;
        fake.outcomes[2] = vectors[i].rank;
        receive_initialized(0);
        check_sent(vectors[i].stops ? "world stop" : "world");
        CU_ASSERT_EQUAL(fake.run.stopped, vectors[i].stops);
        end();
    }
}

/* A node that is lost: its ranks are what the others wait for, if they do. */
TEST(ends_with_a_node_of_the_world)
{
    for (int mpi = 0; mpi < 2; mpi++) {
        start();
        fake.policy.on_failure = JR_ON_FAILURE_CONTINUE;
        if (mpi > 0)
            receive_initialized(0);
        jr_controller_run_lost(&fake.run, 1, "its link is gone");
        CU_ASSERT_EQUAL(fake.run.stopped, mpi > 0);
        CU_ASSERT_EQUAL(fake.outcomes[2].end, JR_END_LOST);
        end();
    }
}
