/* Cells of a sweep on the nodes of a controller: what it sends, and what it hands on. */
#include "cluster/internal.h"

#include "fake_controller.h"
#include "unit.h"

enum { EXITED_WITH_1 = 1 << 8 };

/* What the watcher was told, a word each: "ended1:7=5". */
static struct jr_buf seen;

static void see_end(void *data, uint32_t node, const struct jr_cell_end *end)
{
    (void)data;
    jr_buf_printf(&seen, "ended%u:%s=%d%s%s%s ", node, end->cell, end->code,
                  end->gone == NULL ? "" : " without ", end->gone == NULL ? "" : end->gone,
                  end->sent ? " sent" : "");
}

static void see_left(void *data, uint32_t node, const char *bytes, size_t len)
{
    (void)data;
    jr_buf_printf(&seen, "left%u(%.*s) ", node, (int)len, bytes);
}

#define SEE(name, word)                                                                            \
    static void name(void *data, uint32_t node, const char *text)                                  \
    {                                                                                              \
        (void)data;                                                                                \
        jr_buf_printf(&seen, word "%u(%s) ", node, text);                                          \
    }
SEE(see_line, "said")
SEE(see_loss, "lost")
SEE(see_progress, "told")

static void see_ceasing(void *data, uint32_t node)
{
    (void)data;
    jr_buf_printf(&seen, "ceased%u ", node);
}

static const struct jr_cell_watcher watcher = {NULL,        see_end,  see_line,    see_left,
                                               see_ceasing, see_loss, see_progress};

static void start(void)
{
    struct jr_controller *controller = &fake.controller;
    fake_start();
    controller->run = NULL;
    jr_loop_timer(&controller->loop, &controller->heartbeat);
    seen = JR_BUF_INIT;
    all_in(JR_NODE_KNOWN);
    jr_controller_serve(controller, &watcher);
    check_sent("serve");
}

static void check_seen(const char *expected)
{
    JR_ASSERT_TEXT(seen.len == 0 ? "" : seen.data, expected);
    jr_buf_clear(&seen);
}

static void end(void)
{
    jr_buf_release(&seen);
    fake_end();
}

/* Read what was sent last. */
static json_t *read_sent(void)
{
    static char bytes[4096];
    ssize_t len = read(fake.sent, bytes, sizeof bytes - 1);
    bytes[len < 0 ? 0 : len] = '\0';
    return jr_json_parse(bytes, strlen(bytes), NULL);
}

TEST(says_what_to_run_and_where)
{
    const struct jr_controller_cell cell = {.node = 2,
                                            .spec = "version: 1\n",
                                            .folder = "/jobs",
                                            .cell = "7",
                                            .sweep = "s",
                                            .cells = "/runs/s/cells",
                                            .device = "cuda",
                                            .devices = "0,2",
                                            .limit_ms = 5,
                                            .console = "color"};
    struct jr_message message;
    start();
    jr_controller_begin_cell(&fake.controller, &cell);
    json_t *sent = read_sent();
    CU_ASSERT_TRUE_FATAL(jr_message_of_controller(&message, sent));
    CU_ASSERT_EQUAL(message.type, JR_TO_NODES_CELL);
    CU_ASSERT_EQUAL(message.as, 2);
    CU_ASSERT_EQUAL(message.limit_ms, 5);
    JR_ASSERT_TEXT(message.spec, "version: 1\n");
    JR_ASSERT_TEXT(message.folder, "/jobs");
    JR_ASSERT_TEXT(message.cells, "/runs/s/cells");
    JR_ASSERT_TEXT(message.device, "cuda");
    JR_ASSERT_TEXT(message.devices, "0,2");
    JR_ASSERT_TEXT(message.console, "color");
    CU_ASSERT_PTR_NULL(message.cores);
    CU_ASSERT_PTR_NULL(message.name);
    json_decref(sent);
    end();
}

TEST(hands_on_ends_and_lines)
{
    start();
    hear(1, "note", "'b': 'Y2VsbCA3OiBhCmNlbA=='");
    check_seen("said1(cell 7: a) ");
    hear(1, "note", "'b': 'bCA4Cg=='");
    hear(1, "cell_ended", "'cell': '7', 'status': 5");
    check_seen("said1(cell 8) ended1:7=5 ");
    hear(1, "cell_ended", "'cell': '8', 'status': 1, 'devices': '0,2'");
    check_seen("ended1:8=1 without 0,2 ");
    hear(1, "left", "'b': 'YWI='");
    hear(1, "left", "'b': 'Yw=='");
    hear(1, "cell_ended", "'cell': '9', 'status': 0, 'on': true");
    check_seen("left1(ab) left1(c) ended1:9=0 sent ");
    hear(1, "progress", "'b': 'e30Kew=='");
    check_seen("told1({}) ");
    hear(2, "terminated", "");
    check_seen("ceased2 ");
    end();
}

TEST(passes_signals_on)
{
    start();
    jr_controller_signal_cells(&fake.controller, SIGUSR1, false);
    jr_controller_signal_cells(&fake.controller, SIGTERM, true);
    check_sent("signal signal");
    end();
}

TEST(stops_one_cell)
{
    struct jr_message message;
    start();
    CU_ASSERT_TRUE(jr_controller_stop_cell(&fake.controller, 1, "7"));
    json_t *sent = read_sent();
    CU_ASSERT_TRUE_FATAL(jr_message_of_controller(&message, sent));
    CU_ASSERT_EQUAL(message.type, JR_TO_NODES_SIGNAL);
    CU_ASSERT_EQUAL(message.signal, SIGTERM);
    JR_ASSERT_TEXT(message.cell, "7");
    json_decref(sent);
    fake.nodes[1].state = JR_NODE_LOST;
    CU_ASSERT_FALSE(jr_controller_stop_cell(&fake.controller, 1, "7"));
    CU_ASSERT_FALSE(jr_controller_stop_cell(&fake.controller, 0, "6"));
    check_sent("");
    end();
}

static void see_note(void *data, const char *line)
{
    (void)data;
    jr_buf_printf(&seen, "noted(%.58s) ", line);
}

/* What is to be stopped answers, or is told of, and then is given up. */
TEST(gives_up_nodes_that_do_not_answer)
{
    for (int again = 0; again < 2; again++) {
        uint64_t before = jr_clock_ns();
        start();
        struct jr_controller *controller = &fake.controller;
        controller->options.note = see_note;
        for (uint32_t i = 0; i < FAKE_NODES; i++)
            fake.nodes[i].heard_ns = 0;
        jr_heartbeat_demand(controller, again != 0);
        check_sent("heartbeat");
        CU_ASSERT_TRUE(is_after(controller->demand.at, before, again ? 3000 : 2000));
        CU_ASSERT_EQUAL(jr_controller_due(controller), controller->demand.at);
        jr_heartbeat_received(controller, 0);
        if (again == 0)
            jr_heartbeat_demand_due(controller);
        check_seen(again ? ""
                         : "noted(waiting for node 1 (n1), node 2 (n2), "
                           "which do not answer,) ");
        CU_ASSERT_EQUAL(controller->demand.at, controller->demand_end_ns);
        controller->demanded_ns -= again ? JR_HEARTBEAT_AGAIN_NS : JR_HEARTBEAT_STOP_NS;
        controller->demand_end_ns = jr_clock_ns();
        jr_heartbeat_demand_due(controller);
        CU_ASSERT_EQUAL(fake.nodes[0].state, JR_NODE_SERVING);
        CU_ASSERT_EQUAL(fake.nodes[1].state, JR_NODE_LOST);
        CU_ASSERT_EQUAL(fake.nodes[2].state, JR_NODE_LOST);
        JR_ASSERT_TEXT(fake.nodes[2].loss, again ? "it was told to stop, and has not answered "
                                                   "within 3.0 s"
                                                 : "it was told to stop, and has not answered "
                                                   "within 40.0 s");
        CU_ASSERT_EQUAL(controller->demand.at, 0);
        CU_ASSERT_TRUE(controller->forsaken);
        jr_heartbeat_demand(controller, true); /* srun may take nothing more */
        check_sent("");
        end();
    }
}

/* srun would end all others at the next message. */
TEST(says_nothing_once_a_node_is_lost)
{
    start();
    (void)strcpy(fake.link.last_line, "srun: error: n1: task 1: Killed");
    jr_controller_handle_errors(&fake.controller, &fake.link);
    check_seen("lost1(srun: error: n1: task 1: Killed) ");
    hear(1, "cell_ended", "'cell': '7', 'status': 0");
    check_seen("");
    jr_controller_signal_cells(&fake.controller, SIGUSR1, false);
    check_sent("");
    CU_ASSERT_TRUE(fake.link.in.fd >= 0);
    jr_controller_signal_cells(&fake.controller, SIGTERM, true);
    CU_ASSERT_TRUE(fake.link.in.fd < 0);
    hear(0, "cell_ended", "'cell': '6', 'status': 0");
    check_seen("ended0:6=0 ");
    end();
}

TEST(loses_all_nodes_with_their_program)
{
    pid_t child;
    start();
    fake.link.pid = 4711;
    CU_ASSERT_EQUAL(jr_controller_children(&fake.controller, &child), 1);
    CU_ASSERT_EQUAL(child, 4711);
    CU_ASSERT_FALSE(jr_controller_reap(&fake.controller, 4712, 0));
    CU_ASSERT_TRUE(jr_controller_reap(&fake.controller, 4711, EXITED_WITH_1));
    check_seen("lost0(srun ended with exit code 1) lost1(srun ended with exit code 1) "
               "lost2(srun ended with exit code 1) ");
    CU_ASSERT_EQUAL(jr_controller_children(&fake.controller, &child), 0);
    CU_ASSERT_FALSE(jr_controller_reap(&fake.controller, 0, 0));
    end();
}

/* Each that is silent, and without a question. */
TEST(loses_nodes_that_are_silent)
{
    uint64_t before = jr_clock_ns();
    start();
    CU_ASSERT_TRUE(
        is_after(jr_controller_due(&fake.controller), before, JR_HEARTBEAT_NS / FAKE_MS));
    for (unsigned i = 0; i < JR_HEARTBEAT_MISSES; i++) {
        jr_heartbeat_received(&fake.controller, 1);
        jr_heartbeat_due(&fake.controller);
    }
    CU_ASSERT_EQUAL(fake.nodes[0].state, JR_NODE_LOST);
    CU_ASSERT_EQUAL(fake.nodes[1].state, JR_NODE_SERVING);
    CU_ASSERT_EQUAL(fake.nodes[2].state, JR_NODE_LOST);
    CU_ASSERT_NOT_EQUAL(jr_controller_due(&fake.controller), 0);
    check_sent("");
    end();
}

/* Where each has a link of its own, the others do not notice that one is lost, and signs of life
 * are asked for. */
TEST(goes_on_where_each_node_has_a_link)
{
    struct jr_link links[FAKE_NODES];
    pid_t children[FAKE_NODES];
    static struct jr_transport transport;
    start();
    struct jr_controller *controller = &fake.controller;
    transport = jr_srun_transport;
    transport.each = true;
    transport.program = "ssh";
    for (uint32_t i = 0; i < FAKE_NODES; i++) {
        jr_link_init(&links[i], controller, i);
        links[i].pid = (pid_t)(4711 + i);
    }
    links[0].in = fake.link.in;
    controller->transport = &transport;
    controller->links = links;
    controller->links_count = FAKE_NODES;
    CU_ASSERT_TRUE(jr_controller_has_links(controller));
    CU_ASSERT_TRUE(jr_controller_reap(controller, 4712, EXITED_WITH_1));
    check_seen("lost1(ssh ended with exit code 1) ");
    CU_ASSERT_EQUAL(jr_controller_children(controller, children), 2);
    CU_ASSERT_EQUAL(children[1], 4713);
    CU_ASSERT_FALSE(jr_controller_is_mute(controller));
    hear(0, "cell_ended", "'cell': '6', 'status': 0");
    check_seen("ended0:6=0 ");
    jr_heartbeat_due(controller);
    check_sent("heartbeat");
    CU_ASSERT_NOT_EQUAL(jr_controller_due(controller), 0);
    for (uint32_t i = 0; i < FAKE_NODES; i++)
        jr_buf_release(&links[i].outbox);
    controller->links = &fake.link;
    controller->links_count = 1;
    end();
}
