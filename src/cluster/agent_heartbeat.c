#include "cluster/heartbeat.h"

#include "base/clock.h"
#include "cluster/agent_parts.h"

#include "base/banned.h"

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
        jr_agent_forsake(agent);
    schedule_heartbeat(agent);
}
