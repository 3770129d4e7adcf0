/* The signs of life of nodes. internal.h declares them, and has their manual. */
#include "base/clock.h"
#include "cluster/internal.h"

#include "base/banned.h"

void jr_heartbeat_begin(struct jr_controller *controller)
{
    uint64_t now = jr_clock_ns();
    for (uint32_t i = 0; i < controller->options.nodes; i++) {
        controller->nodes[i].silent = 0;
        controller->nodes[i].has_begun = controller->nodes[i].is_prepared = false;
        controller->nodes[i].heard_ns = now;
    }
    controller->heartbeat.at = now + JR_HEARTBEAT_NS;
    controller->demand.at = 0;
    controller->demanded_ns = 0;
}

void jr_heartbeat_received(struct jr_controller *controller, uint32_t node)
{
    controller->nodes[node].silent = 0;
    controller->nodes[node].is_prepared = controller->nodes[node].has_begun;
    controller->nodes[node].heard_ns = jr_clock_ns();
}

/* Whether it should give signs of life. */
static bool expects_heartbeat(const struct jr_cluster_node *peer)
{
    return peer->state >= JR_NODE_KNOWN && peer->state <= JR_NODE_RUNNING;
}

static bool is_node_silent(const struct jr_controller *controller,
                           const struct jr_cluster_node *peer)
{
    bool patient = (peer->state == JR_NODE_RUNNING && !peer->is_prepared) ||
                   (peer->state == JR_NODE_KNOWN && controller->joins);
    unsigned most = patient ? JR_HEARTBEAT_MISSES * JR_HEARTBEAT_PATIENCE : JR_HEARTBEAT_MISSES;
    return expects_heartbeat(peer) && peer->silent >= most;
}

/* The first of those that are silent, and whether it is `all` that are at work. */
static void describe_silence(struct jr_buf *out, const struct jr_controller *controller,
                             uint32_t first, uint32_t silent, bool all)
{
    const struct jr_cluster_node *peer = &controller->nodes[first];
    uint64_t silent_ns = jr_clock_ns() - peer->heard_ns;
    char since[32];
    jr_clock_rfc3339(since, jr_clock_wall_ns() - silent_ns);
    jr_buf_str(out, "nothing was heard from ");
    if (all)
        jr_buf_str(out, "any node");
    else
        jr_controller_name(out, controller, first);
    if (!all && silent > 1)
        jr_buf_printf(out, ", nor of %u other%s,", silent - 1, silent > 2 ? "s" : "");
    jr_buf_printf(out, " since %s, for ", since);
    jr_clock_human(out, silent_ns);
    if (all && controller->transport->each)
        jr_buf_str(out, ": this machine is cut off");
    else if (all)
        jr_buf_printf(out, ": this machine is cut off, or %s (pid %d) hangs",
                      controller->transport->program, (int)controller->links[0].pid);
    else
        jr_buf_str(out, ": it is down, cut off or stopped; ");
    if (!all && controller->transport->add_advice != NULL)
        controller->transport->add_advice(out, "", peer->host, controller->options.ssh);
    else if (!all)
        jr_buf_printf(out, "%s%s`", controller->transport->silent_hint, peer->host);
}

/* Count a turn; those that have been silent for too many are lost. Whether any is. */
static bool lose_silent_nodes(struct jr_controller *controller)
{
    struct jr_buf how JR_BUF_CLEANUP = JR_BUF_INIT;
    bool before = controller->run == NULL && controller->watcher == NULL;
    uint32_t running = 0, silent = 0, first = 0;
    for (uint32_t i = controller->options.nodes; i-- > 0;) {
        struct jr_cluster_node *peer = &controller->nodes[i];
        running += expects_heartbeat(peer);
        peer->silent++;
        if (is_node_silent(controller, peer)) {
            silent++;
            first = i;
        }
    }
    if (silent == 0)
        return false;
    describe_silence(&how, controller, first, silent, silent == running && running > 1);
    /* Before there is a run, a node that is lost is the end. */
    for (uint32_t i = first; i < (before ? first + 1 : controller->options.nodes); i++)
        if (is_node_silent(controller, &controller->nodes[i]))
            jr_controller_step_node(controller, i, JR_NODE_ON_TIMED_OUT,
                                    how.failed ? "" : how.data);
    if (!how.failed && controller->run != NULL &&
        !controller->run->stopped) /* else the report tells it */
        jr_controller_run_print(controller->run, 1, how.data, how.len);
    return true;
}

void jr_heartbeat_due(void *owner)
{
    struct jr_controller *controller = owner;
    const struct jr_controller_run *run = controller->run;
    bool each = controller->transport->each;
    /* Whether agents give their signs unasked. */
    bool unasked = (controller->watcher != NULL && !each) ||
                   (run != NULL && run->plan->policy->on_failure == JR_ON_FAILURE_CONTINUE);
    if (run != NULL && run->lost && !unasked && !each)
        return; /* nothing may be sent, and all are told to stop */
    if (lose_silent_nodes(controller) && !unasked && controller->watcher == NULL)
        return;
    if (!unasked)
        jr_controller_send_type(controller, JR_TO_NODES_HEARTBEAT);
    controller->heartbeat.at = jr_clock_ns() + JR_HEARTBEAT_NS;
}

/* What is to be stopped. */

#define TELL_NS (UINT64_C(2) * 1000000000)

/* Whether it is at work and has given no sign since it was asked. */
static bool owes_sign(const struct jr_controller *controller, uint32_t node)
{
    const struct jr_cluster_node *peer = &controller->nodes[node];
    return (peer->state == JR_NODE_SERVING || peer->state == JR_NODE_RUNNING) &&
           peer->heard_ns < controller->demanded_ns;
}

void jr_heartbeat_demand(struct jr_controller *controller, bool again)
{
    if (jr_controller_is_mute(controller))
        return;
    uint64_t now = jr_clock_ns();
    controller->demanded_ns = now;
    controller->demand_end_ns = now + (again ? JR_HEARTBEAT_AGAIN_NS : JR_HEARTBEAT_STOP_NS);
    controller->demand.at = again ? controller->demand_end_ns : now + TELL_NS;
    jr_controller_send_type(controller, JR_TO_NODES_HEARTBEAT);
}

/* "waiting for node 1 (gpu02), which does not answer, for at most 38 s" */
static void tell_owing(const struct jr_controller *controller)
{
    struct jr_buf line JR_BUF_CLEANUP = JR_BUF_INIT;
    uint32_t count = 0;
    jr_buf_str(&line, "waiting for ");
    for (uint32_t i = 0; i < controller->options.nodes; i++)
        if (owes_sign(controller, i)) {
            jr_buf_str(&line, count++ > 0 ? ", " : "");
            jr_controller_name(&line, controller, i);
        }
    jr_buf_str(&line, count == 1 ? ", which does not answer, for at most "
                                 : ", which do not answer, for at most ");
    jr_clock_human(&line, controller->demand_end_ns - jr_clock_ns());
    jr_buf_str(&line, "; to stop once more shortens that");
    if (count > 0 && !line.failed && controller->options.note != NULL)
        controller->options.note(controller->options.data, line.data);
}

void jr_heartbeat_demand_due(void *owner)
{
    struct jr_controller *controller = owner;
    struct jr_buf why JR_BUF_CLEANUP = JR_BUF_INIT;
    if (jr_clock_ns() < controller->demand_end_ns) {
        controller->demand.at = controller->demand_end_ns;
        tell_owing(controller);
        return;
    }
    controller->demand.at = 0;
    jr_buf_str(&why, "it was told to stop, and has not answered within ");
    jr_clock_human(&why, controller->demand_end_ns - controller->demanded_ns);
    for (uint32_t i = 0; i < controller->options.nodes; i++)
        if (owes_sign(controller, i)) {
            jr_controller_forsake(controller);
            jr_controller_step_node(controller, i, JR_NODE_ON_GIVEN_UP, why.failed ? "" : why.data);
        }
}
