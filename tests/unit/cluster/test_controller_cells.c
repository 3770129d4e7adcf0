/* Cells of a sweep on the nodes of a controller: what it sends, and what it hands on. */
#include "cluster/internal.h"

#include "fake_controller.h"
#include "unit.h"

enum { EXITED_WITH_1 = 1 << 8 };

/* What the watcher was told, a word each: "ended1:7=5". */
struct seen {
    struct jr_buf text;
};

static void see_end(void *data, uint32_t node, const struct jr_cell_end *end)
{
    struct seen *seen = data;
    jr_buf_printf(&seen->text, "ended%u:%s=%d%s%s%s ", node, end->cell, end->code,
                  end->gone == NULL ? "" : " without ", end->gone == NULL ? "" : end->gone,
                  end->sent ? " sent" : "");
}

static void see_left(void *data, uint32_t node, const char *bytes, size_t len)
{
    struct seen *seen = data;
    jr_buf_printf(&seen->text, "left%u(%.*s) ", node, (int)len, bytes);
}

static void see_line(void *data, uint32_t node, const char *line)
{
    struct seen *seen = data;
    jr_buf_printf(&seen->text, "said%u(%s) ", node, line);
}

static void see_ceasing(void *data, uint32_t node)
{
    struct seen *seen = data;
    jr_buf_printf(&seen->text, "ceased%u ", node);
}

static void see_loss(void *data, uint32_t node, const char *why)
{
    struct seen *seen = data;
    jr_buf_printf(&seen->text, "lost%u(%s) ", node, why);
}

static void see_progress(void *data, uint32_t node, const char *line)
{
    struct seen *seen = data;
    jr_buf_printf(&seen->text, "told%u(%s) ", node, line);
}

struct side {
    struct fake_controller fake;
    struct seen seen;
    struct jr_cell_watcher watcher;
};

static void start(struct side *side)
{
    struct jr_controller *controller = &side->fake.controller;
    fake_controller_start(&side->fake);
    controller->run = NULL;
    jr_loop_timer(&controller->loop, &controller->heartbeat);
    side->seen.text = JR_BUF_INIT;
    side->watcher = (struct jr_cell_watcher){&side->seen, see_end,  see_line,    see_left,
                                             see_ceasing, see_loss, see_progress};
    for (uint32_t i = 0; i < FAKE_NODES; i++)
        side->fake.nodes[i].state = JR_NODE_KNOWN;
    jr_controller_serve(controller, &side->watcher);
    fake_controller_check_sent(&side->fake, "serve");
}

/* An agent says something. */
static void hear(struct side *side, const char *line)
{
    json_t *object = jr_message_read(line, strlen(line));
    CU_ASSERT_PTR_NOT_NULL_FATAL(object);
    jr_controller_receive(&side->fake.controller, object);
    json_decref(object);
}

static void check_seen(struct side *side, const char *expected)
{
    JR_ASSERT_TEXT(side->seen.text.len == 0 ? "" : side->seen.text.data, expected);
    jr_buf_clear(&side->seen.text);
}

static void end(struct side *side)
{
    jr_buf_release(&side->seen.text);
    fake_controller_end(&side->fake);
}

/* Read what was sent last. */
static json_t *read_sent(struct side *side)
{
    static char bytes[4096];
    ssize_t len = read(side->fake.sent, bytes, sizeof bytes - 1);
    bytes[len < 0 ? 0 : len] = '\0';
    return jr_json_parse(bytes, strlen(bytes), NULL);
}

TEST(says_what_to_run_and_where)
{
    struct side side;
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
    start(&side);
    jr_controller_begin_cell(&side.fake.controller, &cell);
    json_t *sent = read_sent(&side);
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
    end(&side);
}

TEST(hands_on_ends_and_lines)
{
    struct side side;
    start(&side);
    hear(&side, "{\"n\":1,\"t\":\"note\",\"b\":\"Y2VsbCA3OiBhCmNlbA==\"}");
    check_seen(&side, "said1(cell 7: a) ");
    hear(&side, "{\"n\":1,\"t\":\"note\",\"b\":\"bCA4Cg==\"}");
    hear(&side, "{\"n\":1,\"t\":\"cell_ended\",\"at\":1,\"cell\":\"7\",\"status\":5}");
    check_seen(&side, "said1(cell 8) ended1:7=5 ");
    hear(&side,
         "{\"n\":1,\"t\":\"cell_ended\",\"at\":1,\"cell\":\"8\",\"status\":1,\"devices\":\"0,2\"}");
    check_seen(&side, "ended1:8=1 without 0,2 ");
    hear(&side, "{\"n\":1,\"t\":\"left\",\"b\":\"YWI=\"}");
    hear(&side, "{\"n\":1,\"t\":\"left\",\"b\":\"Yw==\"}");
    hear(&side, "{\"n\":1,\"t\":\"cell_ended\",\"at\":1,\"cell\":\"9\",\"status\":0,\"on\":true}");
    check_seen(&side, "left1(ab) left1(c) ended1:9=0 sent ");
    hear(&side, "{\"n\":1,\"t\":\"progress\",\"b\":\"e30Kew==\"}");
    check_seen(&side, "told1({}) ");
    hear(&side, "{\"n\":2,\"t\":\"terminated\",\"at\":1}");
    check_seen(&side, "ceased2 ");
    end(&side);
}

TEST(passes_signals_on)
{
    struct side side;
    start(&side);
    jr_controller_signal_cells(&side.fake.controller, SIGUSR1, false);
    jr_controller_signal_cells(&side.fake.controller, SIGTERM, true);
    fake_controller_check_sent(&side.fake, "signal signal");
    end(&side);
}

TEST(stops_one_cell)
{
    struct side side;
    struct jr_message message;
    start(&side);
    CU_ASSERT_TRUE(jr_controller_stop_cell(&side.fake.controller, 1, "7"));
    json_t *sent = read_sent(&side);
    CU_ASSERT_TRUE_FATAL(jr_message_of_controller(&message, sent));
    CU_ASSERT_EQUAL(message.type, JR_TO_NODES_SIGNAL);
    CU_ASSERT_EQUAL(message.signal, SIGTERM);
    JR_ASSERT_TEXT(message.cell, "7");
    json_decref(sent);
    side.fake.nodes[1].state = JR_NODE_LOST;
    CU_ASSERT_FALSE(jr_controller_stop_cell(&side.fake.controller, 1, "7"));
    CU_ASSERT_FALSE(jr_controller_stop_cell(&side.fake.controller, 0, "6"));
    fake_controller_check_sent(&side.fake, "");
    end(&side);
}

static void see_note(void *data, const char *line)
{
    struct seen *seen = data;
    jr_buf_printf(&seen->text, "noted(%.58s) ", line);
}

/* What is to be stopped answers, or is told of, and then is given up. */
TEST(gives_up_nodes_that_do_not_answer)
{
    for (int again = 0; again < 2; again++) {
        struct side side;
        uint64_t before = jr_clock_ns();
        start(&side);
        struct jr_controller *controller = &side.fake.controller;
        controller->options.note = see_note;
        controller->options.data = &side.seen;
        for (uint32_t i = 0; i < FAKE_NODES; i++)
            side.fake.nodes[i].heard_ns = 0;
        jr_heartbeat_demand(controller, again != 0);
        fake_controller_check_sent(&side.fake, "heartbeat");
        CU_ASSERT_TRUE(
            fake_controller_is_after(controller->demand.at, before, again ? 3000 : 2000));
        CU_ASSERT_EQUAL(jr_controller_due(controller), controller->demand.at);
        jr_heartbeat_received(controller, 0);
        if (again == 0)
            jr_heartbeat_demand_due(controller);
        check_seen(&side, again ? ""
                                : "noted(waiting for node 1 (n1), node 2 (n2), "
                                  "which do not answer,) ");
        CU_ASSERT_EQUAL(controller->demand.at, controller->demand_end_ns);
        controller->demanded_ns -= again ? JR_HEARTBEAT_AGAIN_NS : JR_HEARTBEAT_STOP_NS;
        controller->demand_end_ns = jr_clock_ns();
        jr_heartbeat_demand_due(controller);
        CU_ASSERT_EQUAL(side.fake.nodes[0].state, JR_NODE_SERVING);
        CU_ASSERT_EQUAL(side.fake.nodes[1].state, JR_NODE_LOST);
        CU_ASSERT_EQUAL(side.fake.nodes[2].state, JR_NODE_LOST);
        JR_ASSERT_TEXT(side.fake.nodes[2].loss, again ? "it was told to stop, and has not answered "
                                                        "within 3.0 s"
                                                      : "it was told to stop, and has not answered "
                                                        "within 40.0 s");
        CU_ASSERT_EQUAL(controller->demand.at, 0);
        CU_ASSERT_TRUE(controller->forsaken);
        jr_heartbeat_demand(controller, true); /* srun may take nothing more */
        fake_controller_check_sent(&side.fake, "");
        end(&side);
    }
}

/* srun would end all others at the next message. */
TEST(says_nothing_once_a_node_is_lost)
{
    struct side side;
    start(&side);
    (void)strcpy(side.fake.link.last_line, "srun: error: n1: task 1: Killed");
    jr_controller_handle_errors(&side.fake.controller, &side.fake.link);
    check_seen(&side, "lost1(srun: error: n1: task 1: Killed) ");
    hear(&side, "{\"n\":1,\"t\":\"cell_ended\",\"at\":1,\"cell\":\"7\",\"status\":0}");
    check_seen(&side, "");
    jr_controller_signal_cells(&side.fake.controller, SIGUSR1, false);
    fake_controller_check_sent(&side.fake, "");
    CU_ASSERT_TRUE(side.fake.link.in.fd >= 0);
    jr_controller_signal_cells(&side.fake.controller, SIGTERM, true);
    CU_ASSERT_TRUE(side.fake.link.in.fd < 0);
    hear(&side, "{\"n\":0,\"t\":\"cell_ended\",\"at\":1,\"cell\":\"6\",\"status\":0}");
    check_seen(&side, "ended0:6=0 ");
    end(&side);
}

TEST(loses_all_nodes_with_their_program)
{
    struct side side;
    pid_t child;
    start(&side);
    side.fake.link.pid = 4711;
    CU_ASSERT_EQUAL(jr_controller_children(&side.fake.controller, &child), 1);
    CU_ASSERT_EQUAL(child, 4711);
    CU_ASSERT_FALSE(jr_controller_reap(&side.fake.controller, 4712, 0));
    CU_ASSERT_TRUE(jr_controller_reap(&side.fake.controller, 4711, EXITED_WITH_1));
    check_seen(&side, "lost0(srun ended with exit code 1) lost1(srun ended with exit code 1) "
                      "lost2(srun ended with exit code 1) ");
    CU_ASSERT_EQUAL(jr_controller_children(&side.fake.controller, &child), 0);
    CU_ASSERT_FALSE(jr_controller_reap(&side.fake.controller, 0, 0));
    end(&side);
}

/* Each that is silent, and without a question. */
TEST(loses_nodes_that_are_silent)
{
    struct side side;
    uint64_t before = jr_clock_ns();
    start(&side);
    CU_ASSERT_TRUE(fake_controller_is_after(jr_controller_due(&side.fake.controller), before,
                                            JR_HEARTBEAT_NS / FAKE_MS));
    for (unsigned i = 0; i < JR_HEARTBEAT_MISSES; i++) {
        jr_heartbeat_received(&side.fake.controller, 1);
        jr_heartbeat_due(&side.fake.controller);
    }
    CU_ASSERT_EQUAL(side.fake.nodes[0].state, JR_NODE_LOST);
    CU_ASSERT_EQUAL(side.fake.nodes[1].state, JR_NODE_SERVING);
    CU_ASSERT_EQUAL(side.fake.nodes[2].state, JR_NODE_LOST);
    CU_ASSERT_NOT_EQUAL(jr_controller_due(&side.fake.controller), 0);
    fake_controller_check_sent(&side.fake, "");
    end(&side);
}

/* Where each has a link of its own, the others do not notice that one is lost, and signs of life
 * are asked for. */
TEST(goes_on_where_each_node_has_a_link)
{
    struct side side;
    struct jr_link links[FAKE_NODES];
    pid_t children[FAKE_NODES];
    static struct jr_transport transport;
    start(&side);
    struct jr_controller *controller = &side.fake.controller;
    transport = jr_srun_transport;
    transport.each = true;
    transport.program = "ssh";
    for (uint32_t i = 0; i < FAKE_NODES; i++) {
        jr_link_init(&links[i], controller, i);
        links[i].pid = (pid_t)(4711 + i);
    }
    links[0].in = side.fake.link.in;
    controller->transport = &transport;
    controller->links = links;
    controller->links_count = FAKE_NODES;
    CU_ASSERT_TRUE(jr_controller_has_links(controller));
    CU_ASSERT_TRUE(jr_controller_reap(controller, 4712, EXITED_WITH_1));
    check_seen(&side, "lost1(ssh ended with exit code 1) ");
    CU_ASSERT_EQUAL(jr_controller_children(controller, children), 2);
    CU_ASSERT_EQUAL(children[1], 4713);
    CU_ASSERT_FALSE(jr_controller_is_mute(controller));
    hear(&side, "{\"n\":0,\"t\":\"cell_ended\",\"at\":1,\"cell\":\"6\",\"status\":0}");
    check_seen(&side, "ended0:6=0 ");
    jr_heartbeat_due(controller);
    fake_controller_check_sent(&side.fake, "heartbeat");
    CU_ASSERT_NOT_EQUAL(jr_controller_due(controller), 0);
    for (uint32_t i = 0; i < FAKE_NODES; i++)
        jr_buf_release(&links[i].outbox);
    controller->links = &side.fake.link;
    controller->links_count = 1;
    end(&side);
}
