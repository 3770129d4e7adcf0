/* Waiting for all nodes, and telling of the one that it was in vain for. */
#include <stdio.h>
#include <sys/wait.h>

#include "clock.h"
#include "crew.h"

#include "banned.h"

#define START_MS 300000u

/* "srun ended with exit code 2" */
static void say_end(char *ret, size_t size, int status)
{
    if (WIFSIGNALED(status))
        (void)snprintf(ret, size, "srun was killed by signal %d",
                       WTERMSIG(status));
    else
        (void)snprintf(ret, size, "srun ended with exit code %d",
                       WEXITSTATUS(status));
}

/* Of a node that did not do in time what was awaited of it. */
static int tell_missing(const struct jr_head *head, enum jr_node_state state,
                        const char *what, struct jr_error *err)
{
    uint32_t node = 0, more = 0;
    char end[64] = "";
    for (uint32_t i = head->options.nodes; i-- > 0;)
        if (head->nodes[i].state < state) {
            node = i;
            more++;
        }
    if (head->gone) {
        node = head->gone_node;
        more = 1;
    }
    const char *why = head->said[0] != '\0' ? head->said : end;
    if (head->ended)
        say_end(end, sizeof end, head->status);
    else if (!head->gone)
        why = "it has had its time (timeouts.start)";
    const char *host = head->nodes[node].host;
    return jr_error_set(err, JR_STATUS_LAUNCH, "node %u%s%s%s%s %s: %s", node,
                        host != NULL ? " (" : "", host != NULL ? host : "",
                        host != NULL ? ")" : "",
                        more > 1 ? ", like others," : "", what, why);
}

int jr_head_await(struct jr_head *head, enum jr_node_state state,
                  const char *what, struct jr_error *err)
{
    uint64_t ms = head->options.start_ms;
    head->late = false;
    head->patience.at =
        jr_clock_ns() + (ms > 0 ? ms : START_MS) * UINT64_C(1000000);
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
