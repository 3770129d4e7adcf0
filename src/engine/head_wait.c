/* Waiting for all nodes, and telling of the one that it was in vain for. */
#include <sys/wait.h>

#include "clock.h"
#include "crew.h"
#include "num.h"
#include "signame.h"

#include "banned.h"

#define START_MS 300000u

void jr_head_end(struct jr_buf *out, const struct jr_head *head)
{
    char name[JR_SIGNAL_NAME];
    jr_signal_name(name, WTERMSIG(head->status));
    if (WIFSIGNALED(head->status))
        jr_buf_printf(out, "srun was killed by %s", name);
    else
        jr_buf_printf(out, "srun ended with exit code %d",
                      WEXITSTATUS(head->status));
    if (head->said[0] != '\0')
        jr_buf_printf(out, "; the last that it said: %s", head->said);
}

void jr_head_name(struct jr_buf *out, const struct jr_head *head, uint32_t node)
{
    const char *host = head->nodes[node].host;
    jr_buf_printf(out, "node %u", node);
    if (host == NULL)
        return;
    jr_buf_str(out, " (");
    jr_buf_safe(out, host);
    jr_buf_char(out, ')');
}

static uint64_t patience_ms(const struct jr_head *head)
{
    uint64_t ms = head->options.start_ms;
    return ms > 0 ? ms : START_MS;
}

static void tell_why(struct jr_buf *out, const struct jr_head *head)
{
    if (head->late && !head->ended && !head->gone) {
        jr_buf_str(out, " within ");
        jr_num_add_duration(out, patience_ms(head));
        jr_buf_str(out, " (timeouts.start)");
        return;
    }
    jr_buf_str(out, ": ");
    if (head->ended)
        jr_head_end(out, head);
    else
        jr_buf_str(out, head->said);
}

/* Of a node that did not do in time what was awaited of it. */
static int tell_missing(const struct jr_head *head, enum jr_node_state state,
                        const char *what, struct jr_error *err)
{
    uint32_t node = 0, more = 0;
    struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
    for (uint32_t i = head->options.nodes; i-- > 0;)
        if (head->nodes[i].state < state) {
            node = i;
            more++;
        }
    if (head->gone) {
        node = head->gone_node;
        more = 1;
    }
    jr_head_name(&text, head, node);
    jr_buf_printf(&text, "%s %s", more > 1 ? ", like others," : "", what);
    tell_why(&text, head);
    return jr_error_set(err, JR_STATUS_LAUNCH, "%s",
                        text.failed ? "out of memory" : text.data);
}

int jr_head_await(struct jr_head *head, enum jr_node_state state,
                  const char *what, struct jr_error *err)
{
    head->late = false;
    head->patience.at =
        jr_clock_ns() + patience_ms(head) * UINT64_C(1000000);
    while (!head->refused && !head->gone && !head->ended && !head->late &&
           jr_head_awaits(head, state))
        jr_head_turn(head);
    head->patience.at = 0;
    if (head->refused && err != NULL)
        *err = head->refusal;
    if (head->refused)
        return -1;
    return jr_head_awaits(head, state) ? tell_missing(head, state, what, err)
                                       : 0;
}
