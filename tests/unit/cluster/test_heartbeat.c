#include "cluster/internal.h"

#include <sys/epoll.h>

#include "fake_controller.h"

enum { NODES = FAKE_NODES };

/* Nothing takes what is sent: it stays in the outbox. */
static void begin(enum jr_on_failure on_failure)
{
    fake_start();
    fake.policy.on_failure = on_failure;
    (void)close(fake.link.in.fd);
    fake.link.in.fd = -1;
    jr_controller_open_console(&fake.controller, -1, -1);
    jr_heartbeat_begin(&fake.controller);
    for (uint32_t i = 0; i < NODES; i++)
        fake.nodes[i].has_begun = fake.nodes[i].is_prepared = true;
}

/* Turns in which only those nodes are heard whose bits are set. */
static void turn(unsigned turns, unsigned heard)
{
    while (turns-- > 0) {
        fake.controller.heartbeat.at = 0;
        jr_heartbeat_due(&fake.controller);
        for (uint32_t i = 0; i < NODES; i++)
            if ((heard >> i & 1) != 0)
                jr_heartbeat_received(&fake.controller, i);
    }
}

static unsigned lost(void)
{
    unsigned bits = 0;
    for (uint32_t i = 0; i < NODES; i++)
        bits |= (unsigned)(fake.nodes[i].state == JR_NODE_LOST) << i;
    return bits;
}

#define M JR_HEARTBEAT_MISSES

/* So many turns in which those nodes are heard, and which are lost then. */
struct turns {
    unsigned count, heard, lost;
};

/* Nobody is judged any more once a node is lost that stops the run. */
TEST(loses_those_that_are_silent)
{
    static const struct {
        enum jr_on_failure on_failure;
        unsigned done, late; /* nodes that are done, or have not begun */
        struct turns turns[6];
        const char *told; /* of the loss */
    } rows[] = {
        {0, 0, 0, BRACED({100, 7, 0}), NULL},
        {0, 0, 0, BRACED({3, 7, 0}, {M - 1, 5, 0}, {1, 5, 2}, {2 * M, 0, 2}), "node 1 (n1) since"},
        {0, 0, 0, BRACED({M - 2, 5, 0}, {1, 7, 0}, {M - 2, 5, 0}, {1, 7, 0}), NULL},
        {0, 0, 4, BRACED({M * JR_HEARTBEAT_PATIENCE - 1, 3, 0}, {1, 3, 4}), "node 2 (n2) since"},
        {0, 1, 0, BRACED({10 * M, 6, 0}), NULL},
        {0, 1, 0, BRACED({M, 0, 6}), "any node since"},
        {0, 0, 0, BRACED({M, 1, 6}), "node 1 (n1), nor of 1 other, since"},
        {JR_ON_FAILURE_CONTINUE, 0, 0,
         BRACED({M, 5, 2}, {M - 1, 1, 2}, {1, 1, 6}, {100, 1, 6}, {M, 0, 7}), "node 1 (n1) since"}};
    JR_EACH(row, rows) {
        bool goes_on = row->on_failure == JR_ON_FAILURE_CONTINUE;
        uint64_t before = jr_clock_ns();
        begin(goes_on ? JR_ON_FAILURE_CONTINUE : JR_ON_FAILURE_STOP);
        CU_ASSERT_TRUE(is_after(fake.controller.heartbeat.at, before, JR_HEARTBEAT_NS / FAKE_MS));
        for (uint32_t i = 0; i < NODES; i++) {
            fake.nodes[i].is_prepared = (row->late >> i & 1) == 0;
            if ((row->done >> i & 1) != 0)
                fake.nodes[i].state = JR_NODE_DONE;
        }
        for (const struct turns *turns = row->turns; turns->count > 0; turns++) {
            turn(turns->count, turns->heard);
            CU_ASSERT_EQUAL(lost(), turns->lost);
        }
        bool ends = row->told != NULL && !goes_on;
        CU_ASSERT_EQUAL(fake.run.stopped, ends);
        CU_ASSERT_EQUAL(fake.controller.heartbeat.at == 0,
                        row->told != NULL && lost() != 0 && ends);
        for (uint32_t i = 0; i < FAKE_WORLD; i++)
            CU_ASSERT_EQUAL(fake.outcomes[i].end == JR_END_LOST, lost() >> i / FAKE_EACH & 1);
        JR_ASSERT_TEXT(row->told == NULL ? fake.outcome.lost_text : "", "");
        CU_ASSERT_PTR_NOT_NULL(strstr(fake.outcome.lost_text, row->told == NULL ? "" : row->told));
        if (lost() == 2)
            CU_ASSERT_PTR_NOT_NULL(strstr(fake.outcome.lost_text, "show node n1"));
        /* Where a run goes on without a node, srun may be told nothing after it is lost. */
        CU_ASSERT_EQUAL(strstr(fake.link.outbox.data, "heartbeat") == NULL, goes_on);
        fake_end();
    }
}

/* What it says before it has heard of the attempt is of before; then it says that it has, and then
 * it makes ready. */
TEST(has_begun_once_it_says_more)
{
    json_auto_t *word = jr_json_parse("{\"n\":2,\"t\":\"begun\"}", 19, NULL);
    begin(JR_ON_FAILURE_STOP);
    jr_heartbeat_begin(&fake.controller);
    turn(1, 7);
    CU_ASSERT_FALSE(fake.nodes[2].is_prepared);
    jr_controller_receive(&fake.controller, word);
    CU_ASSERT_FALSE(fake.nodes[2].is_prepared);
    turn(JR_HEARTBEAT_MISSES, 3);
    CU_ASSERT_EQUAL(lost(), 0);
    turn(1, 4);
    CU_ASSERT_TRUE(fake.nodes[2].is_prepared);
    turn(JR_HEARTBEAT_MISSES, 3);
    CU_ASSERT_EQUAL(lost(), 4);
    fake_end();
}

TEST(loses_one_before_the_run)
{
    for (int i = 0; i < 2; i++) {
        begin(JR_ON_FAILURE_STOP);
        fake.controller.run = NULL;
        fake.nodes[0].state = JR_NODE_READY;
        fake.nodes[1].state = JR_NODE_KNOWN;
        fake.nodes[2].state = i == 0 ? JR_NODE_UNKNOWN : JR_NODE_KNOWN;
        turn(3, 7);
        turn(JR_HEARTBEAT_MISSES - 1, 1);
        CU_ASSERT_FALSE(fake.controller.agent_exited);
        CU_ASSERT_PTR_NOT_NULL(strstr(fake.link.outbox.data, "heartbeat"));
        turn(1, 1);
        CU_ASSERT_TRUE(fake.controller.agent_exited);
        CU_ASSERT_EQUAL(fake.controller.exited_node, 1);
        CU_ASSERT_PTR_NOT_NULL(strstr(fake.controller.exited_why, "node 1 (n1)"));
        CU_ASSERT_EQUAL(strstr(fake.controller.exited_why, "1 other") != NULL, i == 1);
        CU_ASSERT_EQUAL(fake.controller.heartbeat.at, 0);
        fake_end();
    }
}

TEST(gives_up_the_controller)
{
    struct jr_agent agent = {.loop = {.epoll_fd = -1},
                             .out = {.fd = -1},
                             .commands_fd = -1,
                             .pid = 1,
                             .heartbeats = true};
    for (int i = 0; i < JR_AGENT_ENDS; i++)
        agent.sources[i].watch.fd = -1;
    jr_heartbeat_listen(&agent);
    CU_ASSERT_NOT_EQUAL(agent.turn.at, 0);
    for (unsigned i = 1; i < JR_HEARTBEAT_MISSES; i++)
        jr_heartbeat_agent_due(&agent);
    jr_heartbeat_listen(&agent);
    for (unsigned i = 1; i < JR_HEARTBEAT_MISSES; i++)
        jr_heartbeat_agent_due(&agent);
    CU_ASSERT_FALSE(agent.abandoned);
    agent.away = true;
    for (unsigned i = 0; i < 100; i++)
        jr_heartbeat_agent_due(&agent);
    CU_ASSERT_FALSE(agent.abandoned);
    agent.away = false;
    CU_ASSERT_NOT_EQUAL(agent.turn.at, 0);
    agent.held = true; /* for a console that is nobody's now */
    jr_heartbeat_agent_due(&agent);
    CU_ASSERT_TRUE(agent.abandoned && agent.leaving);
    CU_ASSERT_FALSE(agent.held);
    CU_ASSERT_EQUAL(agent.turn.at, 0);
}

/* `away` holds until the controller says something else. */
TEST(hears_that_the_head_is_away)
{
    static const char *const words[] = {"{\"t\":\"away\"}\n", "{\"t\":\"hold\"}\n"};
    int ends[2];
    char bytes[JR_AGENT_PIECE];
    CU_ASSERT_EQUAL_FATAL(pipe(ends), 0);
    struct jr_agent agent = {.loop = {.epoll_fd = -1},
                             .in = {.fd = ends[0]},
                             .out = {.fd = -1},
                             .commands_fd = -1,
                             .bytes = bytes};
    for (int i = 0; i < JR_AGENT_ENDS; i++)
        agent.sources[i].watch.fd = -1;
    for (size_t i = 0; i < 2; i++) {
        agent.silent = 4;
        CU_ASSERT_EQUAL(write(ends[1], words[i], strlen(words[i])), (ssize_t)strlen(words[i]));
        jr_agent_on_input(&agent, EPOLLIN);
        CU_ASSERT_EQUAL(agent.away, i == 0);
        CU_ASSERT_EQUAL(agent.silent, 0);
    }
    jr_inlet_release(&agent.inlet);
    (void)close(ends[0]);
    (void)close(ends[1]);
}

TEST(does_not_count_where_nothing_runs)
{
    struct jr_agent agent = {.heartbeats = true};
    jr_heartbeat_listen(&agent);
    CU_ASSERT_EQUAL(agent.turn.at, 0);
    for (unsigned i = 0; i < 2 * JR_HEARTBEAT_MISSES; i++)
        jr_heartbeat_agent_due(&agent);
    CU_ASSERT_FALSE(agent.abandoned);
}

/* Where the controller gives no signs of life, the agent does by itself, and goes on whatever it
 * hears, or does not. */
TEST(lives_without_being_asked)
{
    int ends[2];
    char said[256] = "";
    CU_ASSERT_EQUAL_FATAL(pipe(ends), 0);
    struct jr_agent agent = {
        .loop = {.epoll_fd = -1}, .out = {.fd = ends[1]}, .sender = {.node = 3}, .pid = 1};
    for (int i = 0; i < JR_AGENT_ENDS; i++)
        agent.sources[i].watch.fd = -1;
    jr_heartbeat_listen(&agent);
    uint64_t at = agent.turn.at;
    CU_ASSERT_NOT_EQUAL(at, 0);
    jr_heartbeat_listen(&agent); /* a word puts nothing off */
    CU_ASSERT_EQUAL(agent.turn.at, at);
    jr_heartbeat_agent_due(&agent);
    CU_ASSERT_TRUE(read(ends[0], said, sizeof said - 1) > 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(said, "\"heartbeat\""));
    for (unsigned i = 0; i < 10 * JR_HEARTBEAT_MISSES; i++)
        jr_heartbeat_agent_due(&agent);
    CU_ASSERT_FALSE(agent.abandoned);
    CU_ASSERT_TRUE(agent.turn.at > at);
    jr_buf_release(&agent.outbox);
    (void)close(ends[0]);
    (void)close(ends[1]);
}

static size_t count_one_cell(void *data)
{
    (void)data;
    return 1;
}

/* The end of its input is how it is told to stop: what it runs may take its time to end. */
TEST(lives_until_what_it_runs_has_ended)
{
    int ends[2];
    static const struct jr_agent_cell_hooks cells = {.count = count_one_cell};
    static const struct jr_agent_hooks hooks = {.cells = &cells};
    for (int i = 0; i < 2; i++) {
        CU_ASSERT_EQUAL_FATAL(pipe(ends), 0);
        struct jr_agent agent = {.hooks = &hooks,
                                 .loop = {.epoll_fd = -1},
                                 .out = {.fd = ends[1]},
                                 .pid = i == 0,
                                 .serves = i == 1,
                                 .leaving = true};
        for (int k = 0; k < JR_AGENT_ENDS; k++)
            agent.sources[k].watch.fd = -1;
        jr_heartbeat_agent_due(&agent);
        CU_ASSERT_NOT_EQUAL(agent.turn.at, 0);
        CU_ASSERT_FALSE(agent.abandoned);
        agent.pid = 0;
        agent.serves = false;
        jr_heartbeat_agent_due(&agent);
        CU_ASSERT_EQUAL(agent.turn.at, 0);
        jr_buf_release(&agent.outbox);
        (void)close(ends[0]);
        (void)close(ends[1]);
    }
}
