#include "cluster/internal.h"
#include "unit.h"

#include <fcntl.h>

#include "base/io.h"

/* node_table.txt is the table as it is meant: a change of one is a change of the other. */
static void prints_every_cell(void)
{
    struct jr_buf out = JR_BUF_INIT, expected = JR_BUF_INIT;
    jr_node_table_print(&out);
    CU_ASSERT_EQUAL(jr_io_read_file(&expected, AT_FDCWD,
                                    TEST_SOURCE_DIR "/unit/cluster/node_table.txt", 65536, NULL),
                    0);
    JR_ASSERT_TEXT(out.data, expected.data);
    jr_buf_release(&out);
    jr_buf_release(&expected);
}

/* The columns of messages are found by the messages' types. */
static void takes_messages_by_their_type(void)
{
    CU_ASSERT_EQUAL((int)JR_NODE_ON_HELLO, (int)JR_FROM_NODE_HELLO);
    CU_ASSERT_EQUAL((int)JR_NODE_ON_QUIET, (int)JR_FROM_NODE_QUIET);
    CU_ASSERT_EQUAL((int)JR_NODE_ON_GO, (int)JR_MESSAGE_FROM_COUNT);
}

static void lives_as_a_node_does(void)
{
    static const struct {
        enum jr_node_input input;
        enum jr_node_state state;
        enum jr_node_action action;
    } steps[] = {
        {JR_NODE_ON_EXITED, JR_NODE_UNKNOWN, JR_NODE_DO_FAIL},
        {JR_NODE_ON_HELLO, JR_NODE_KNOWN, JR_NODE_DO_IDENTIFY},
        {JR_NODE_ON_GO, JR_NODE_KNOWN, JR_NODE_DO_NOTHING},
        {JR_NODE_ON_READY, JR_NODE_READY, JR_NODE_DO_WORLD},
        {JR_NODE_ON_DONE, JR_NODE_READY, JR_NODE_DO_NOTHING},
        {JR_NODE_ON_GO, JR_NODE_RUNNING, JR_NODE_DO_NOTHING},
        {JR_NODE_ON_BEGUN, JR_NODE_RUNNING, JR_NODE_DO_BEGIN},
        {JR_NODE_ON_INITIALIZED, JR_NODE_RUNNING, JR_NODE_DO_INITIALIZED},
        {JR_NODE_ON_SILENT, JR_NODE_RUNNING, JR_NODE_DO_ASK},
        {JR_NODE_ON_DONE, JR_NODE_DONE, JR_NODE_DO_FINISH},
        {JR_NODE_ON_QUIET, JR_NODE_DONE, JR_NODE_DO_NOTHING},
        {JR_NODE_ON_SHOWN, JR_NODE_DONE, JR_NODE_DO_SHOWN},
        {JR_NODE_ON_GO, JR_NODE_RUNNING, JR_NODE_DO_NOTHING},
        {JR_NODE_ON_TIMED_OUT, JR_NODE_LOST, JR_NODE_DO_LOSE},
        {JR_NODE_ON_DONE, JR_NODE_LOST, JR_NODE_DO_NOTHING},
        {JR_NODE_ON_GO, JR_NODE_LOST, JR_NODE_DO_NOTHING},
    };
    enum jr_node_state state = JR_NODE_UNKNOWN;
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        struct jr_node_change step = jr_node_step(state, steps[i].input);
        CU_ASSERT_EQUAL(step.next, steps[i].state);
        CU_ASSERT_EQUAL(step.action, steps[i].action);
        state = step.next;
    }
}

JR_UNIT_MAIN("node_state", CASE(prints_every_cell), CASE(takes_messages_by_their_type),
             CASE(lives_as_a_node_does))
