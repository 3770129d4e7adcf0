#include "beat.h"

#include "agent_side.h"
#include "clock.h"

#include "banned.h"

static void next_turn(struct jr_agent *agent)
{
    bool listens = agent->pid != 0 && agent->beats && !agent->leaving;
    agent->turn.at = listens ? jr_clock_ns() + 2 * JR_BEAT_NS : 0;
}

void jr_beat_listen(struct jr_agent *agent)
{
    agent->silent = 0;
    next_turn(agent);
}

void jr_beat_unheard(void *owner)
{
    struct jr_agent *agent = owner;
    if (!agent->away)
        agent->silent++;
    if (agent->silent >= JR_BEATS)
        jr_agent_forsake(agent);
    next_turn(agent);
}
