#include "cluster/heartbeat.h"

#include "base/clock.h"
#include "cluster/agent_parts.h"
#include "cluster/controller_parts.h"

#include "base/banned.h"

/* The controller. */

/* The nodes that are at work, and those of them that are silent. */
struct silence {
    uint32_t running, silent;
    uint32_t first; /* that is silent */
};

void jr_heartbeat_begin(struct jr_controller *head)
{
    uint64_t now = jr_clock_ns();
    for (uint32_t i = 0; i < head->options.nodes; i++) {
        head->nodes[i].silent = 0;
        head->nodes[i].going = head->nodes[i].begun = false;
        head->nodes[i].heard_ns = now;
    }
    head->beat.at = now + JR_HEARTBEAT_NS;
}

void jr_heartbeat_heard(struct jr_controller *head, uint32_t node)
{
    head->nodes[node].silent = 0;
    head->nodes[node].begun = head->nodes[node].going;
    head->nodes[node].heard_ns = jr_clock_ns();
}

/* Whether it should give signs of life. */
static bool should_node_beat(const struct jr_cluster_node *side)
{
    return side->state >= JR_NODE_MET && side->state <= JR_NODE_RUNS;
}

static bool is_node_silent(const struct jr_cluster_node *side)
{
    bool patient = side->state == JR_NODE_RUNS && !side->begun;
    unsigned most = patient ? JR_BEATS * JR_HEARTBEAT_PATIENCE : JR_BEATS;
    return should_node_beat(side) && side->silent >= most;
}

static struct silence count_turn(struct jr_controller *head)
{
    struct silence found = {0};
    for (uint32_t i = head->options.nodes; i-- > 0;) {
        struct jr_cluster_node *side = &head->nodes[i];
        found.running += should_node_beat(side);
        side->silent++;
        if (is_node_silent(side)) {
            found.silent++;
            found.first = i;
        }
    }
    return found;
}

static void describe_silence(struct jr_buf *out,
                             const struct jr_controller *head,
                             const struct silence *found)
{
    const struct jr_cluster_node *side = &head->nodes[found->first];
    uint64_t silent_ns = jr_clock_ns() - side->heard_ns;
    bool all = found->silent == found->running && found->running > 1;
    char since[32];
    jr_clock_rfc3339(since, jr_clock_wall_ns() - silent_ns);
    jr_buf_str(out, "nothing was heard from ");
    if (all)
        jr_buf_str(out, "any node");
    else
        jr_controller_name(out, head, found->first);
    if (!all && found->silent > 1)
        jr_buf_printf(out, ", nor of %u other%s,", found->silent - 1,
                      found->silent > 2 ? "s" : "");
    jr_buf_printf(out, " since %s, for ", since);
    jr_clock_human(out, silent_ns);
    if (all)
        jr_buf_printf(out, ": this machine is cut off, or srun (pid %d) hangs",
                      (int)head->srun.pid);
    else
        jr_buf_printf(out,
                      ": it is down, cut off or stopped; see `scontrol "
                      "show node %s`",
                      side->host);
}

/* Before there is a run, a node that is lost is the end. */
static void mark_silent_lost(struct jr_controller *head,
                             const struct silence *found, const char *how)
{
    if (head->run == NULL) {
        jr_controller_step_node(head, found->first, JR_NODE_ON_UNHEARD, how);
        return;
    }
    for (uint32_t i = 0; i < head->options.nodes; i++)
        if (is_node_silent(&head->nodes[i]))
            jr_controller_step_node(head, i, JR_NODE_ON_UNHEARD, how);
}

static void on_heartbeat_silence(struct jr_controller *head,
                                 const struct silence *found)
{
    struct jr_buf how JR_BUF_CLEANUP = JR_BUF_INIT;
    describe_silence(&how, head, found);
    mark_silent_lost(head, found, how.failed ? "" : how.data);
    if (!how.failed && head->run != NULL &&
        !head->run->stopped) /* else the report tells it */
        jr_controller_run_noise(head->run, 1, how.data, how.len);
}

void jr_heartbeat_due(void *owner)
{
    struct jr_controller *head = owner;
    bool unasked = head->run != NULL && head->run->plan->policy->on_failure ==
                                            JR_ON_FAILURE_CONTINUE;
    if (head->run != NULL && head->run->lost && !unasked)
        return; /* nothing may be sent, and all are told to stop */
    const struct silence found = count_turn(head);
    if (found.silent > 0)
        on_heartbeat_silence(head, &found);
    if (found.silent > 0 && !unasked)
        return;
    if (!unasked)
        jr_controller_tell(head, JR_TO_NODES_BEAT);
    head->beat.at = jr_clock_ns() + JR_HEARTBEAT_NS;
}

/* The agent. */

static bool has_heartbeats(const struct jr_agent *agent)
{
    return agent->pid != 0 && !agent->leaving;
}

static void schedule_heartbeat(struct jr_agent *agent)
{
    uint64_t turn_ns = agent->beats ? JR_HEARTBEAT_NS * JR_HEARTBEAT_PATIENCE
                                    : JR_HEARTBEAT_NS;
    agent->turn.at = has_heartbeats(agent) ? jr_clock_ns() + turn_ns : 0;
}

void jr_heartbeat_listen(struct jr_agent *agent)
{
    agent->silent = 0;
    if (agent->beats || agent->turn.at == 0)
        schedule_heartbeat(agent);
}

void jr_heartbeat_unheard(void *owner)
{
    struct jr_agent *agent = owner;
    if (has_heartbeats(agent) && !agent->beats)
        jr_agent_say(agent, &(struct jr_message){.type = JR_FROM_NODE_BEAT});
    else if (has_heartbeats(agent) && !agent->away &&
             ++agent->silent >= JR_BEATS)
        jr_agent_abandon(agent);
    schedule_heartbeat(agent);
}
