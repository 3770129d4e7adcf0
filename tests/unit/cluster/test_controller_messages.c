/* What the controller does with a message of a node, without an srun: who a node is, and what of
 * the run is lost with a node. */
#include "cluster/internal.h"

#include <errno.h>

#include "fake_controller.h"
#include "generated/version.h"

#define HOUR_NS (3600000 * FAKE_MS)

/* A line of no node, or of no kind, is passed over. */
TEST(passes_over_what_is_nobodys)
{
    EACH_PART(part, "{\"n\": 3, \"t\": \"silent\"}|{\"n\": 99, \"t\": \"released\"}|"
                    "{\"n\": 0, \"t\": \"stop\"}|{\"n\": 0, \"t\": \"nonsense\"}|{\"n\": 0}|"
                    "{\"n\": 4294967296, \"t\": \"x\"}|{\"t\": 5}|{\"n\": 0, \"t\": \"hold\"}") {
        fake_start();
        receive(part);
        check_sent("");
        for (uint32_t k = 0; k < FAKE_NODES; k++)
            CU_ASSERT_EQUAL(fake.nodes[k].state, JR_NODE_RUNNING);
        CU_ASSERT_FALSE(fake.controller.refused);
        fake_end();
    }
}

/* A node that cannot take part says with which status, and why. */
TEST(a_refusal_has_a_status_and_a_reason)
{
    static const struct {
        int code;
        const char *why;
        enum jr_status status;
        const char *text;
    } vectors[] = {{JR_STATUS_UNRESOLVED, "no GPU", JR_STATUS_UNRESOLVED, "node 1 (gpu07): no GPU"},
                   {JR_STATUS_LAUNCH, "", JR_STATUS_LAUNCH, "node 1 (gpu07): it does not say why"},
                   {0, "x", JR_STATUS_LAUNCH, "node 1 (gpu07): x"},
                   {-1, "x", JR_STATUS_LAUNCH, "node 1 (gpu07): x"},
                   {JR_STATUS_LAUNCH + 1, "x", JR_STATUS_LAUNCH, "node 1 (gpu07): x"},
                   {1, "x", (enum jr_status)1, "node 1 (gpu07): x"}};
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        char line[256];
        fake_start();
        all_in(JR_NODE_KNOWN);
        jr_buf_str(&fake.nodes[1].streams[JR_CHANNEL_WHY], vectors[i].why);
        (void)snprintf(line, sizeof line,
                       "{\"n\": 1, \"t\": \"refuse\", \"status\": %d, "
                       "\"host\": \"gpu07\", \"at\": 5}",
                       vectors[i].code);
        receive(line);
        CU_ASSERT_EQUAL(fake.nodes[1].state, JR_NODE_REFUSED);
        CU_ASSERT_EQUAL(fake.controller.refusal.status, vectors[i].status);
        JR_ASSERT_TEXT(fake.controller.refusal.text, vectors[i].text);
        fake_end();
    }
}

/* When the clock of a node is known: between our `go` and its answer. */
TEST(a_node_that_begins_has_a_clock)
{
    char line[128];
    fake_start();
    uint64_t now = jr_clock_ns();
    fake.run.go_ns = now - 2 * HOUR_NS;
    (void)snprintf(line, sizeof line, "{\"n\": 1, \"t\": \"begun\", \"at\": %llu}",
                   (unsigned long long)(now + 5 * HOUR_NS));
    jr_buf_str(&fake.nodes[1].streams[JR_CHANNEL_OUT], "of before");
    receive(line);
    CU_ASSERT_TRUE(fake.nodes[1].has_begun);
    CU_ASSERT_EQUAL(fake.nodes[1].streams[JR_CHANNEL_OUT].len, 0);
    int64_t off = fake.nodes[1].offset_ns - 6 * (int64_t)HOUR_NS;
    CU_ASSERT_TRUE(off <= 0 && off >= -(int64_t)HOUR_NS / 2);
    CU_ASSERT_TRUE(fake.nodes[1].clock_error_ns >= HOUR_NS);
    CU_ASSERT_TRUE(fake.nodes[1].clock_error_ns < HOUR_NS + HOUR_NS / 2);
    CU_ASSERT_EQUAL(fake.outcome.clock_error_ns, fake.nodes[1].clock_error_ns);
    fake.outcome.clock_error_ns = 4 * HOUR_NS;
    receive(line);
    CU_ASSERT_EQUAL(fake.outcome.clock_error_ns, 4 * HOUR_NS);
    CU_ASSERT_EQUAL(jr_controller_run_ns(&fake.nodes[1], 0), 0);
    fake.nodes[1].offset_ns = 70;
    CU_ASSERT_EQUAL(jr_controller_run_ns(&fake.nodes[1], 100), 30);
    fake_end();
}

/* What a node says for ever does not fill the memory here. */
TEST(a_node_that_floods_is_refused)
{
    static char bytes[1 << 20];
    const struct jr_sender sender = {.node = 1, .piece = sizeof bytes};
    for (enum jr_channel i = 0; i < JR_CHANNEL_COUNT; i++) {
        struct jr_buf frame JR_BUF_CLEANUP = JR_BUF_INIT;
        if (i == JR_CHANNEL_EXCHANGE) /* see test_controller_mpi.c */
            continue;
        fake_start();
        jr_channel_put(&frame, &sender, i, bytes, sizeof bytes);
        frame.data[frame.len - 1] = '\0';
        for (int k = 0; k < 15; k++)
            jr_buf_add(&fake.nodes[1].streams[i], bytes, sizeof bytes);
        receive(frame.data);
        CU_ASSERT_FALSE(fake.controller.refused);
        receive(frame.data);
        /* What ranks have left is taken as it comes. */
        CU_ASSERT_EQUAL(fake.controller.refused, i != JR_CHANNEL_LEFT);
        if (i != JR_CHANNEL_LEFT)
            CU_ASSERT_PTR_NOT_NULL(
                strstr(fake.controller.refusal.text, "node 1 (n1): what it says"));
        if (i != JR_CHANNEL_LEFT)
            CU_ASSERT_EQUAL(fake.controller.refusal.status, JR_STATUS_LAUNCH);
        CU_ASSERT_EQUAL(fake.nodes[1].streams[i].len, 0);
        fake_end();
    }
}

struct left {
    struct jr_buf text;
    uint32_t node;
};

static void keep_left(void *data, uint32_t node, const char *bytes, size_t len)
{
    struct left *left = data;
    left->node = node;
    jr_buf_add(&left->text, bytes, len);
}

/* What ranks have left on a node at work is handed on piece by piece, and gives a node that was
 * told to stop the time for it. */
TEST(hands_on_what_ranks_have_left)
{
    static const struct {
        enum jr_node_state state;
        bool stopped;
        const char *taken;
    } vectors[] = {{JR_NODE_RUNNING, false, "abcd"},
                   {JR_NODE_RUNNING, true, "abcd"},
                   {JR_NODE_LOST, true, ""}};
    const struct jr_sender sender = {.node = 2};
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        struct left left = {.text = JR_BUF_INIT};
        fake_start();
        fake.controller.options.take_left = keep_left;
        fake.controller.options.data = &left;
        fake.nodes[2].state = vectors[i].state;
        fake.run.stopped = vectors[i].stopped;
        uint64_t before = jr_clock_ns();
        fake.controller.deadline.at = before + 1;
        for (int k = 0; k < 2; k++) {
            struct jr_buf frame JR_BUF_CLEANUP = JR_BUF_INIT;
            jr_channel_put(&frame, &sender, JR_CHANNEL_LEFT, k ? "cd" : "ab", 2);
            frame.data[frame.len - 1] = '\0';
            receive(frame.data);
            CU_ASSERT_EQUAL(fake.nodes[2].streams[JR_CHANNEL_LEFT].len, 0);
        }
        JR_ASSERT_TEXT(left.text.data == NULL ? "" : left.text.data, vectors[i].taken);
        CU_ASSERT_EQUAL(left.node, left.text.len > 0 ? 2 : 0);
        if (vectors[i].stopped)
            CU_ASSERT_TRUE(is_after(fake.controller.deadline.at, before, 25000))
        else
            CU_ASSERT_EQUAL(fake.controller.deadline.at, before + 1);
        fake.controller.deadline.at = before + 100000 * FAKE_MS;
        jr_controller_run_stream(&fake.run, 2, JR_CHANNEL_LEFT);
        CU_ASSERT_EQUAL(fake.controller.deadline.at, before + 100000 * FAKE_MS);
        jr_buf_release(&left.text);
        fake_end();
    }
}

/* Where each node has a link, a lost one may only be cut off: its input ends, and that of no other,
 * which can be told to stop. */
TEST(a_lost_node_hears_no_more)
{
    struct jr_transport each = jr_srun_transport;
    struct jr_link links[FAKE_NODES];
    fake_start();
    each.each = true;
    fake.policy.on_failure = JR_ON_FAILURE_CONTINUE;
    fake.controller.transport = &each;
    fake.controller.links = links;
    fake.controller.links_count = FAKE_NODES;
    for (uint32_t i = 0; i < FAKE_NODES; i++) {
        jr_link_init(&links[i], &fake.controller, i);
        links[i].in.fd = dup(fake.link.in.fd);
    }
    jr_controller_step_node(&fake.controller, 1, JR_NODE_ON_EXITED, "gone");
    for (uint32_t i = 0; i < FAKE_NODES; i++)
        CU_ASSERT_EQUAL(links[i].in.fd < 0, i == 1);
    check_sent("");
    jr_controller_run_stop(&fake.run);
    check_sent("stop stop");
    for (uint32_t i = 0; i < FAKE_NODES; i++)
        jr_link_close(&links[i]);
    fake.controller.links = &fake.link;
    fake.controller.links_count = 1;
    fake_end();
}

/* As the controller's own. */
static void note_deadline(void *owner)
{
    struct jr_controller *controller = owner;
    controller->timed_out = true;
}

/* Those that did not come, by the first of them. */
TEST(says_who_did_not_come)
{
    static const struct {
        enum jr_node_state states[FAKE_NODES];
        uint32_t exited; /* node; 0: none */
        const char *text;
    } vectors[] = {
        {{JR_NODE_UNKNOWN, JR_NODE_UNKNOWN, JR_NODE_UNKNOWN},
         0,
         "the 3 nodes did not answer within 1ms (timeouts.start); squeue shows which nodes the "
         "job has now. If the SLURM_* variables are left over from another shell, type `unset "
         "SLURM_JOB_ID` first, or start all ranks here with --local"},
        {{JR_NODE_KNOWN, JR_NODE_UNKNOWN, JR_NODE_UNKNOWN},
         0,
         "node 1 (n1) and 1 other did not answer within 1ms (timeouts.start)"},
        {{JR_NODE_KNOWN, JR_NODE_KNOWN, JR_NODE_UNKNOWN},
         0,
         "node 2 (n2) did not answer within 1ms (timeouts.start)"},
        {{JR_NODE_UNKNOWN, JR_NODE_KNOWN, JR_NODE_UNKNOWN},
         0,
         "node 0 (n0) and 1 other did not answer within 1ms (timeouts.start)"},
        {{JR_NODE_UNKNOWN, JR_NODE_KNOWN, JR_NODE_UNKNOWN}, 2, "node 2 (n2) did not answer: gone"}};
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        fake_start();
        fake.controller.options.start_ms = 1;
        fake.controller.deadline =
            (struct jr_timer){.due = note_deadline, .owner = &fake.controller};
        jr_loop_timer(&fake.controller.loop, &fake.controller.deadline);
        fake.controller.run = NULL;
        for (uint32_t k = 0; k < FAKE_NODES; k++)
            fake.nodes[k].state = vectors[i].states[k];
        if (vectors[i].exited != 0)
            jr_controller_step_node(&fake.controller, vectors[i].exited, JR_NODE_ON_EXITED, "gone");
        CU_ASSERT_EQUAL(jr_controller_await(&fake.controller, JR_NODE_KNOWN, "answer", &fake.err),
                        -1);
        JR_ASSERT_TEXT(fake.err.text, vectors[i].text);
        CU_ASSERT_EQUAL(fake.err.status, JR_STATUS_LAUNCH);
        CU_ASSERT_EQUAL(fake.controller.deadline.at, 0);
        fake_end();
    }
}
