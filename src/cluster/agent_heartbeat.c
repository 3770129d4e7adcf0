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
    uint64_t turn_ns =
        agent->beats ? JR_BEAT_NS * JR_BEAT_PATIENCE : JR_BEAT_NS;
    agent->turn.at = has_heartbeats(agent) ? jr_clock_ns() + turn_ns : 0;
}

void jr_beat_listen(struct jr_agent *agent)
{
    agent->silent = 0;
    if (agent->beats || agent->turn.at == 0)
        schedule_heartbeat(agent);
}

void jr_beat_unheard(void *owner)
{
    struct jr_agent *agent = owner;
    if (has_heartbeats(agent) && !agent->beats)
        jr_agent_say(agent, jr_frame_word(agent->node, "beat"));
    else if (has_heartbeats(agent) && !agent->away &&
             ++agent->silent >= JR_BEATS)
        jr_agent_forsake(agent);
    schedule_heartbeat(agent);
}
