#include "cluster/node_state.h"

#include "base/banned.h"

enum { INPUTS = JR_NODE_INPUT_COUNT, STATES = JR_NODE_STATE_COUNT };

#define TO(state, act)                                                                             \
    {                                                                                              \
        JR_NODE_##state, JR_NODE_DO_##act                                                          \
    }

/* The states of a row, in order: what happens in all of them is named once. */
#define ROW(unknown, known, ready, serving, running, done, refused, lost, spare)                   \
    {                                                                                              \
        unknown, known, ready, serving, running, done, refused, lost, spare                        \
    }

/* The columns are those of JR_NODE_STATES. A node that is done or lost does not change its mind; a
 * refusal is noted whenever it comes. Reports of ranks count while they run: the run that they were
 * of is over otherwise. */
static const struct jr_node_change table[INPUTS][STATES] = {
    [JR_NODE_ON_HELLO] = ROW(TO(KNOWN, IDENTIFY), TO(REFUSED, SECOND), TO(REFUSED, SECOND),
                             TO(SERVING, NOTHING), TO(REFUSED, SECOND), TO(DONE, SECOND),
                             TO(REFUSED, SECOND), TO(LOST, SECOND), TO(SPARE, IDENTIFY)),
    [JR_NODE_ON_READY] = ROW(TO(UNKNOWN, NOTHING), TO(READY, WORLD), TO(READY, NOTHING),
                             TO(SERVING, NOTHING), TO(RUNNING, NOTHING), TO(DONE, NOTHING),
                             TO(REFUSED, NOTHING), TO(LOST, NOTHING), TO(SPARE, NOTHING)),
    [JR_NODE_ON_REFUSE] = ROW(TO(REFUSED, REFUSE), TO(REFUSED, REFUSE), TO(REFUSED, REFUSE),
                              TO(SERVING, NOTHING), TO(REFUSED, REFUSE), TO(DONE, REFUSE),
                              TO(REFUSED, REFUSE), TO(LOST, REFUSE), TO(LOST, MISS)),
    [JR_NODE_ON_BEGUN] = ROW(TO(UNKNOWN, NOTHING), TO(KNOWN, NOTHING), TO(READY, NOTHING),
                             TO(SERVING, NOTHING), TO(RUNNING, BEGIN), TO(DONE, NOTHING),
                             TO(REFUSED, NOTHING), TO(LOST, NOTHING), TO(SPARE, NOTHING)),
    [JR_NODE_ON_APART] = ROW(TO(UNKNOWN, NOTHING), TO(KNOWN, NOTHING), TO(READY, NOTHING),
                             TO(SERVING, NOTHING), TO(RUNNING, APART), TO(DONE, NOTHING),
                             TO(REFUSED, NOTHING), TO(LOST, NOTHING), TO(SPARE, NOTHING)),
    [JR_NODE_ON_HEARTBEAT] = ROW(TO(UNKNOWN, NOTHING), TO(KNOWN, SURVEY), TO(READY, NOTHING),
                                 TO(SERVING, NOTHING), TO(RUNNING, NOTHING), TO(DONE, NOTHING),
                                 TO(REFUSED, NOTHING), TO(LOST, NOTHING), TO(SPARE, NOTHING)),
    [JR_NODE_ON_DONE] = ROW(TO(UNKNOWN, NOTHING), TO(KNOWN, NOTHING), TO(READY, NOTHING),
                            TO(SERVING, NOTHING), TO(DONE, FINISH), TO(DONE, NOTHING),
                            TO(REFUSED, NOTHING), TO(LOST, NOTHING), TO(SPARE, NOTHING)),
    [JR_NODE_ON_SHOWN] = ROW(TO(UNKNOWN, NOTHING), TO(KNOWN, NOTHING), TO(READY, NOTHING),
                             TO(SERVING, NOTHING), TO(RUNNING, NOTHING), TO(DONE, SHOWN),
                             TO(REFUSED, NOTHING), TO(LOST, NOTHING), TO(SPARE, NOTHING)),
    [JR_NODE_ON_ALL_RETURNED] = ROW(TO(UNKNOWN, NOTHING), TO(KNOWN, NOTHING), TO(READY, NOTHING),
                                    TO(SERVING, NOTHING), TO(RUNNING, RETURNED), TO(DONE, NOTHING),
                                    TO(REFUSED, NOTHING), TO(LOST, NOTHING), TO(SPARE, NOTHING)),
    [JR_NODE_ON_RELEASED] = ROW(TO(UNKNOWN, NOTHING), TO(KNOWN, NOTHING), TO(READY, NOTHING),
                                TO(SERVING, NOTHING), TO(RUNNING, RELEASE), TO(DONE, NOTHING),
                                TO(REFUSED, NOTHING), TO(LOST, NOTHING), TO(SPARE, NOTHING)),
    [JR_NODE_ON_SILENT] = ROW(TO(UNKNOWN, NOTHING), TO(KNOWN, NOTHING), TO(READY, NOTHING),
                              TO(SERVING, NOTHING), TO(RUNNING, ASK), TO(DONE, NOTHING),
                              TO(REFUSED, NOTHING), TO(LOST, NOTHING), TO(SPARE, NOTHING)),
    [JR_NODE_ON_QUIET] = ROW(TO(UNKNOWN, NOTHING), TO(KNOWN, NOTHING), TO(READY, NOTHING),
                             TO(SERVING, NOTHING), TO(RUNNING, ANSWER), TO(DONE, NOTHING),
                             TO(REFUSED, NOTHING), TO(LOST, NOTHING), TO(SPARE, NOTHING)),
    [JR_NODE_ON_TERMINATED] = ROW(TO(UNKNOWN, NOTHING), TO(KNOWN, NOTHING), TO(READY, NOTHING),
                                  TO(SERVING, CEASE), TO(RUNNING, SUSPECT), TO(DONE, NOTHING),
                                  TO(REFUSED, NOTHING), TO(LOST, NOTHING), TO(SPARE, NOTHING)),
    [JR_NODE_ON_CELL_ENDED] = ROW(TO(UNKNOWN, NOTHING), TO(KNOWN, NOTHING), TO(READY, NOTHING),
                                  TO(SERVING, CELL), TO(RUNNING, NOTHING), TO(DONE, NOTHING),
                                  TO(REFUSED, NOTHING), TO(LOST, NOTHING), TO(SPARE, NOTHING)),
    [JR_NODE_ON_INITIALIZED] =
        ROW(TO(UNKNOWN, NOTHING), TO(KNOWN, NOTHING), TO(READY, NOTHING), TO(SERVING, NOTHING),
            TO(RUNNING, INITIALIZED), TO(DONE, NOTHING), TO(REFUSED, NOTHING), TO(LOST, NOTHING),
            TO(SPARE, NOTHING)),
    [JR_NODE_ON_LISTENING] = ROW(TO(UNKNOWN, NOTHING), TO(KNOWN, SURVEY), TO(READY, NOTHING),
                                 TO(SERVING, NOTHING), TO(RUNNING, NOTHING), TO(DONE, NOTHING),
                                 TO(REFUSED, NOTHING), TO(LOST, NOTHING), TO(SPARE, NOTHING)),
    [JR_NODE_ON_REACHED] = ROW(TO(UNKNOWN, NOTHING), TO(KNOWN, SURVEY), TO(READY, NOTHING),
                               TO(SERVING, NOTHING), TO(RUNNING, NOTHING), TO(DONE, NOTHING),
                               TO(REFUSED, NOTHING), TO(LOST, NOTHING), TO(SPARE, NOTHING)),
    [JR_NODE_ON_WANT] = ROW(TO(UNKNOWN, COPY), TO(KNOWN, CODE), TO(READY, NOTHING),
                            TO(SERVING, NOTHING), TO(RUNNING, CODE), TO(DONE, NOTHING),
                            TO(REFUSED, NOTHING), TO(LOST, NOTHING), TO(SPARE, COPY)),
    [JR_NODE_ON_PLACED] = ROW(TO(UNKNOWN, ASSIGN), TO(KNOWN, NOTHING), TO(READY, NOTHING),
                              TO(SERVING, NOTHING), TO(RUNNING, NOTHING), TO(DONE, NOTHING),
                              TO(REFUSED, NOTHING), TO(LOST, NOTHING), TO(SPARE, ASSIGN)),
    [JR_NODE_ON_GO] = ROW(TO(UNKNOWN, NOTHING), TO(KNOWN, NOTHING), TO(RUNNING, NOTHING),
                          TO(SERVING, NOTHING), TO(RUNNING, NOTHING), TO(RUNNING, NOTHING),
                          TO(REFUSED, NOTHING), TO(LOST, NOTHING), TO(SPARE, NOTHING)),
    [JR_NODE_ON_SERVE] = ROW(TO(UNKNOWN, NOTHING), TO(SERVING, NOTHING), TO(SERVING, NOTHING),
                             TO(SERVING, NOTHING), TO(RUNNING, NOTHING), TO(DONE, NOTHING),
                             TO(REFUSED, NOTHING), TO(LOST, NOTHING), TO(SPARE, NOTHING)),
    [JR_NODE_ON_EXITED] =
        ROW(TO(UNKNOWN, FAIL), TO(KNOWN, FAIL), TO(READY, FAIL), TO(LOST, LEAVE), TO(LOST, LOSE),
            TO(LOST, SHOWN), TO(LOST, NOTHING), TO(LOST, NOTHING), TO(LOST, MISS)),
    [JR_NODE_ON_TIMED_OUT] =
        ROW(TO(UNKNOWN, NOTHING), TO(KNOWN, FAIL), TO(READY, FAIL), TO(LOST, LEAVE), TO(LOST, LOSE),
            TO(DONE, NOTHING), TO(REFUSED, NOTHING), TO(LOST, NOTHING), TO(SPARE, NOTHING)),
    [JR_NODE_ON_GIVEN_UP] = ROW(TO(UNKNOWN, NOTHING), TO(KNOWN, NOTHING), TO(READY, NOTHING),
                                TO(LOST, LEAVE), TO(LOST, GIVE_UP), TO(DONE, NOTHING),
                                TO(REFUSED, NOTHING), TO(LOST, NOTHING), TO(SPARE, NOTHING)),
};

struct jr_node_change jr_node_step(enum jr_node_state state, enum jr_node_input input)
{
    return table[input][state];
}

void jr_node_table_print(struct jr_buf *out)
{
#define WORD(name, word)            word,
#define FROM_WORD(name, word, keys) word,
#define TO_WORD(name, word, keys)
    static const char *const states[] = {JR_NODE_STATES(WORD)};
    static const char *const actions[] = {JR_NODE_ACTIONS(WORD)};
    static const char *const inputs[] = {JR_MESSAGES(FROM_WORD, TO_WORD) JR_NODE_INCIDENTS(WORD)};
    jr_buf_printf(out, "%-12s", "");
    for (unsigned i = 0; i < STATES; i++)
        jr_buf_printf(out, " | %-20s", states[i]);
    jr_buf_char(out, '\n');
    for (unsigned i = 0; i < INPUTS; i++) {
        jr_buf_printf(out, "%-12s", inputs[i]);
        for (unsigned j = 0; j < STATES; j++)
            jr_buf_printf(out, " | %-7s %-12s", states[table[i][j].next],
                          actions[table[i][j].action]);
        jr_buf_char(out, '\n');
    }
}
