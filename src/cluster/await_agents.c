#include "cluster/await_agents.h"

#include <poll.h>
#include <string.h>

#include "base/clock.h"
#include "base/num.h"
#include "generated/version.h"

#include "base/banned.h"

#define START_MS 300000u

static uint64_t patience_ms(const struct jr_controller *controller)
{
    uint64_t ms = controller->options.start_ms;
    return ms > 0 ? ms : START_MS;
}

/* The first node that is not in `state` yet, and how many there are. */
static uint32_t find_missing_node(const struct jr_controller *controller, enum jr_node_state state,
                                  uint32_t *ret_count)
{
    uint32_t node = 0;
    *ret_count = 0;
    for (uint32_t i = controller->options.nodes; i-- > 0;)
        if (controller->nodes[i].state < state) {
            node = i;
            ++*ret_count;
        }
    return node;
}

/* With what the program of the first missing node has said last. */
static void add_start_limit(struct jr_buf *out, const struct jr_controller *controller,
                            enum jr_node_state state)
{
    uint32_t count, node = find_missing_node(controller, state, &count);
    const struct jr_link *link = &controller->links[controller->transport->each ? node : 0];
    jr_buf_str(out, " within ");
    jr_num_add_duration(out, patience_ms(controller));
    jr_buf_str(out, " (timeouts.start)");
    if (link->last_line[0] != '\0')
        jr_buf_printf(out, "; the last output of %s: %s", controller->transport->program,
                      link->last_line);
}

static void add_waiting_reason(struct jr_buf *out, const struct jr_controller *controller,
                               enum jr_node_state state)
{
    const struct jr_transport *transport = controller->transport;
    if (controller->agent_exited) {
        jr_buf_printf(out, ": %s", controller->exited_why);
        if (controller->nodes[controller->exited_node].state == JR_NODE_UNKNOWN &&
            transport->has_exited != NULL && transport->has_exited(controller->exited_why))
            jr_buf_printf(out, " (is jobrun there, as %s, and of version " JR_VERSION "?)",
                          controller->options.program);
    } else if (controller->ended) {
        jr_buf_str(out, ": ");
        jr_link_describe_end(out, &controller->links[0], false);
    } else
        add_start_limit(out, controller, state);
}

/* Those that are not in `state` yet: "node 1 (gpu02) and 2 others". */
static void add_missing_nodes(struct jr_buf *out, const struct jr_controller *controller,
                              enum jr_node_state state)
{
    uint32_t nodes = controller->options.nodes, count;
    uint32_t node = find_missing_node(controller, state, &count);
    if (controller->agent_exited) {
        node = controller->exited_node;
        count = 1;
    }
    if (count == nodes && nodes > 1) {
        jr_buf_printf(out, "the %u nodes", nodes);
        return;
    }
    jr_controller_name(out, controller, node);
    if (count > 1)
        jr_buf_printf(out, " and %u other%s", count - 1, count > 2 ? "s" : "");
}

bool jr_controller_has_agent(const struct jr_controller *controller)
{
    for (uint32_t i = 0; i < controller->options.nodes; i++)
        if (controller->nodes[i].state >= JR_NODE_KNOWN)
            return true;
    return false;
}

/* The message about nodes that did not reach a state in time. */
static int report_missing_nodes(const struct jr_controller *controller, enum jr_node_state state,
                                const char *what, struct jr_error *err)
{
    struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
    add_missing_nodes(&text, controller, state);
    jr_buf_printf(&text, " did not %s", what);
    add_waiting_reason(&text, controller, state);
    if (!controller->agent_exited && controller->transport->nodes_hint != NULL &&
        !jr_controller_has_agent(controller)) /* as where a job has shrunk */
        jr_buf_printf(&text, "; %s", controller->transport->nodes_hint);
    return jr_error_set(err, JR_STATUS_LAUNCH, "%s", text.failed ? "out of memory" : text.data);
}

/* Of one that has not come in time. */
static const char *describe_absence(const struct jr_controller *controller, uint32_t node)
{
    bool late = controller->timed_out && controller->nodes[node].state < controller->awaited;
    return late ? "it was not ready within timeouts.start" : NULL;
}

/* Without the name of the node, with which it begins. */
static const char *describe_node_refusal(const struct jr_controller *controller, uint32_t node)
{
    const char *text = controller->refusal.text;
    struct jr_buf name JR_BUF_CLEANUP = JR_BUF_INIT;
    jr_controller_name(&name, controller, node);
    jr_buf_str(&name, ": ");
    bool named = !name.failed && strncmp(text, name.data, name.len) == 0;
    return named ? text + name.len : text;
}

const char *jr_controller_loss(const struct jr_controller *controller, uint32_t node,
                               bool *ret_refused)
{
    *ret_refused = controller->refused && controller->refused_node == node &&
                   controller->nodes[node].loss == NULL;
    if (*ret_refused)
        return describe_node_refusal(controller, node);
    if (controller->agent_exited && controller->exited_node == node)
        return controller->exited_why;
    return controller->nodes[node].loss != NULL ? controller->nodes[node].loss
                                                : describe_absence(controller, node);
}

bool jr_controller_is_told(const struct jr_controller *controller)
{
    struct pollfd fd = {.fd = controller->options.stop_fd, .events = POLLIN};
    return fd.fd > 0 && poll(&fd, 1, 0) > 0;
}

void jr_controller_wait_on(struct jr_controller *controller)
{
    controller->deadline.at = jr_clock_ns() + patience_ms(controller) * UINT64_C(1000000);
}

void jr_controller_begin_wait(struct jr_controller *controller, enum jr_node_state state)
{
    controller->timed_out = false;
    controller->awaited = state;
    jr_controller_wait_on(controller);
}

/* Whether it is to be waited on for nodes to be in a state. */
static bool is_in_patience(const struct jr_controller *controller, enum jr_node_state state)
{
    return !controller->refused && !controller->agent_exited && !controller->ended &&
           !controller->timed_out && !jr_controller_is_told(controller) &&
           jr_controller_awaits(controller, state);
}

/* What came of the wait. */
static int end_patience(struct jr_controller *controller, enum jr_node_state state,
                        const char *what, struct jr_error *err)
{
    controller->deadline.at = 0;
    if (controller->refused && err != NULL)
        *err = controller->refusal;
    if (controller->refused)
        return -1;
    if (jr_controller_is_told(controller) && jr_controller_awaits(controller, state))
        return jr_error_set(err, JR_STATUS_LAUNCH, "jobrun was told to stop");
    return controller->agent_exited || jr_controller_awaits(controller, state)
               ? report_missing_nodes(controller, state, what, err)
               : 0;
}

int jr_controller_await(struct jr_controller *controller, enum jr_node_state state,
                        const char *what, struct jr_error *err)
{
    jr_controller_begin_wait(controller, state);
    while (is_in_patience(controller, state))
        jr_controller_turn(controller);
    return end_patience(controller, state, what, err);
}

int jr_controller_started(struct jr_controller *controller, struct jr_error *err)
{
    return is_in_patience(controller, JR_NODE_KNOWN)
               ? 1
               : end_patience(controller, JR_NODE_KNOWN, "answer", err);
}
