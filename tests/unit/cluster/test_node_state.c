#include "cluster/internal.h"
#include "unit.h"

#include <fcntl.h>

#include "base/io.h"

#define WORD(name, word)            word,
#define FROM_WORD(name, word, keys) word,
#define TO_WORD(name, word, keys)

/* node_table.txt is the table as it is meant: a change of one is a change of the other. A row per
 * input, a column per state. */
TEST(knows_every_cell)
{
    static const char *const states[] = {JR_NODE_STATES(WORD)};
    static const char *const actions[] = {JR_NODE_ACTIONS(WORD)};
    static const char *const inputs[] = {JR_MESSAGES(FROM_WORD, TO_WORD) JR_NODE_INCIDENTS(WORD)};
    struct jr_buf JR_BUF_CLEANUP out = JR_BUF_INIT, expected = JR_BUF_INIT;
    jr_buf_printf(&out, "%-12s", "");
    for (unsigned i = 0; i < JR_NODE_STATE_COUNT; i++)
        jr_buf_printf(&out, " | %-20s", states[i]);
    jr_buf_char(&out, '\n');
    for (unsigned i = 0; i < JR_NODE_INPUT_COUNT; i++) {
        jr_buf_printf(&out, "%-12s", inputs[i]);
        for (unsigned j = 0; j < JR_NODE_STATE_COUNT; j++) {
            struct jr_node_change change =
                jr_node_step((enum jr_node_state)j, (enum jr_node_input)i);
            jr_buf_printf(&out, " | %-7s %-12s", states[change.next], actions[change.action]);
        }
        jr_buf_char(&out, '\n');
    }
    CU_ASSERT_EQUAL(jr_io_read_file(&expected, AT_FDCWD,
                                    TEST_SOURCE_DIR "/unit/cluster/node_table.txt", 65536, NULL),
                    0);
    JR_ASSERT_TEXT(out.data, expected.data);
}
