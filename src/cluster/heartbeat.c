#include "cluster/heartbeat.h"

#include "base/clock.h"
#include "cluster/agent_cells.h"
#include "cluster/controller_cells.h"
#include "cluster/controller_run.h"

#include "base/banned.h"

/* The controller. */

/* The nodes that are at work, and those of them that are silent. */
struct silence {
    uint32_t running, silent;
    uint32_t first; /* that is silent */
};

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

static struct silence count_turn(struct jr_controller *controller)
{
    struct silence found = {0};
    for (uint32_t i = controller->options.nodes; i-- > 0;) {
        struct jr_cluster_node *peer = &controller->nodes[i];
        found.running += expects_heartbeat(peer);
        peer->silent++;
        if (is_node_silent(controller, peer)) {
            found.silent++;
            found.first = i;
        }
    }
    return found;
}

static void describe_silence(struct jr_buf *out, const struct jr_controller *controller,
                             const struct silence *found)
{
    const struct jr_cluster_node *peer = &controller->nodes[found->first];
    uint64_t silent_ns = jr_clock_ns() - peer->heard_ns;
    bool all = found->silent == found->running && found->running > 1;
    char since[32];
    jr_clock_rfc3339(since, jr_clock_wall_ns() - silent_ns);
    jr_buf_str(out, "nothing was heard from ");
    if (all)
        jr_buf_str(out, "any node");
    else
        jr_controller_name(out, controller, found->first);
    if (!all && found->silent > 1)
        jr_buf_printf(out, ", nor of %u other%s,", found->silent - 1, found->silent > 2 ? "s" : "");
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

/* Before there is a run, a node that is lost is the end. */
static void mark_silent_lost(struct jr_controller *controller, const struct silence *found,
                             const char *how)
{
    if (controller->run == NULL && controller->watcher == NULL) {
        jr_controller_step_node(controller, found->first, JR_NODE_ON_TIMED_OUT, how);
        return;
    }
    for (uint32_t i = 0; i < controller->options.nodes; i++)
        if (is_node_silent(controller, &controller->nodes[i]))
            jr_controller_step_node(controller, i, JR_NODE_ON_TIMED_OUT, how);
}

static void on_heartbeat_silence(struct jr_controller *controller, const struct silence *found)
{
    struct jr_buf how JR_BUF_CLEANUP = JR_BUF_INIT;
    describe_silence(&how, controller, found);
    mark_silent_lost(controller, found, how.failed ? "" : how.data);
    if (!how.failed && controller->run != NULL &&
        !controller->run->stopped) /* else the report tells it */
        jr_controller_run_print(controller->run, 1, how.data, how.len);
}

/* Whether agents give their signs unasked. */
static bool is_unasked(const struct jr_controller *controller)
{
    return (controller->watcher != NULL && !controller->transport->each) ||
           (controller->run != NULL &&
            controller->run->plan->policy->on_failure == JR_ON_FAILURE_CONTINUE);
}

void jr_heartbeat_due(void *owner)
{
    struct jr_controller *controller = owner;
    bool unasked = is_unasked(controller);
    if (controller->run != NULL && controller->run->lost && !unasked &&
        !controller->transport->each)
        return; /* nothing may be sent, and all are told to stop */
    const struct silence found = count_turn(controller);
    if (found.silent > 0)
        on_heartbeat_silence(controller, &found);
    if (found.silent > 0 && !unasked && controller->watcher == NULL)
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

/* The nodes that do, with commas. Returns how many. */
static uint32_t list_owing(struct jr_buf *out, const struct jr_controller *controller)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < controller->options.nodes; i++) {
        if (!owes_sign(controller, i))
            continue;
        jr_buf_str(out, count++ > 0 ? ", " : "");
        jr_controller_name(out, controller, i);
    }
    return count;
}

/* "waiting for node 1 (gpu02), which does not answer, for at most 38 s" */
static void tell_owing(const struct jr_controller *controller)
{
    struct jr_buf line JR_BUF_CLEANUP = JR_BUF_INIT;
    jr_buf_str(&line, "waiting for ");
    uint32_t count = list_owing(&line, controller);
    jr_buf_str(&line, count == 1 ? ", which does not answer, for at most "
                                 : ", which do not answer, for at most ");
    jr_clock_human(&line, controller->demand_end_ns - jr_clock_ns());
    jr_buf_str(&line, "; to stop once more shortens that");
    if (count > 0 && !line.failed && controller->options.note != NULL)
        controller->options.note(controller->options.data, line.data);
}

static void give_up_owing(struct jr_controller *controller)
{
    struct jr_buf why JR_BUF_CLEANUP = JR_BUF_INIT;
    jr_buf_str(&why, "it was told to stop, and has not answered within ");
    jr_clock_human(&why, controller->demand_end_ns - controller->demanded_ns);
    for (uint32_t i = 0; i < controller->options.nodes; i++) {
        if (!owes_sign(controller, i))
            continue;
        jr_controller_forsake(controller);
        jr_controller_step_node(controller, i, JR_NODE_ON_GIVEN_UP, why.failed ? "" : why.data);
    }
}

void jr_heartbeat_demand_due(void *owner)
{
    struct jr_controller *controller = owner;
    if (jr_clock_ns() < controller->demand_end_ns) {
        controller->demand.at = controller->demand_end_ns;
        tell_owing(controller);
        return;
    }
    controller->demand.at = 0;
    give_up_owing(controller);
}

/* The agent. */

/* Where nothing can be sent any more, the end of the input tells an agent to stop its ranks: while
 * they end, its signs go on. */
static bool has_heartbeats(const struct jr_agent *agent)
{
    if (agent->leaving)
        return !agent->heartbeats && (agent->pid != 0 || jr_agent_has_cells(agent));
    return agent->pid != 0 || agent->serves;
}

static void schedule_heartbeat(struct jr_agent *agent)
{
    uint64_t turn_ns =
        agent->heartbeats ? JR_HEARTBEAT_NS * JR_HEARTBEAT_PATIENCE : JR_HEARTBEAT_NS;
    agent->turn.at = has_heartbeats(agent) ? jr_clock_ns() + turn_ns : 0;
}

void jr_heartbeat_listen(struct jr_agent *agent)
{
    agent->silent = 0;
    if (agent->heartbeats || agent->turn.at == 0)
        schedule_heartbeat(agent);
}

void jr_heartbeat_agent_due(void *owner)
{
    struct jr_agent *agent = owner;
    if (has_heartbeats(agent) && !agent->heartbeats)
        jr_agent_send(agent, &(struct jr_message){.type = JR_FROM_NODE_HEARTBEAT});
    else if (has_heartbeats(agent) && !agent->away && ++agent->silent >= JR_HEARTBEAT_MISSES)
        jr_agent_abandon(agent);
    schedule_heartbeat(agent);
}
