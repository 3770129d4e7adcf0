/* Cells of a sweep on the nodes of a controller: what it sends, and what it hands on. */
#include "cluster/internal.h"

#include "fake_controller.h"

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

TEST_WITH(start, end, hands_on_ends_and_lines)
{
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
}

/* srun would end all others at the next message. */
TEST_WITH(start, end, says_nothing_once_a_node_is_lost)
{
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
}

TEST_WITH(start, end, loses_all_nodes_with_their_program)
{
    pid_t child;
    fake.link.pid = 4711;
    CU_ASSERT_EQUAL(jr_controller_children(&fake.controller, &child), 1);
    CU_ASSERT_EQUAL(child, 4711);
    CU_ASSERT_FALSE(jr_controller_reap(&fake.controller, 4712, 0));
    CU_ASSERT_TRUE(jr_controller_reap(&fake.controller, 4711, EXITED_WITH_1));
    check_seen("lost0(srun ended with exit code 1) lost1(srun ended with exit code 1) "
               "lost2(srun ended with exit code 1) ");
    CU_ASSERT_EQUAL(jr_controller_children(&fake.controller, &child), 0);
    CU_ASSERT_FALSE(jr_controller_reap(&fake.controller, 0, 0));
}

/* Where each has a link of its own, the others do not notice that one is lost, and signs of life
 * are asked for. */
TEST_WITH(start, end, goes_on_where_each_node_has_a_link)
{
    struct jr_link links[FAKE_NODES];
    pid_t children[FAKE_NODES];
    static struct jr_transport transport;
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
}
