#include "beat.h"

#include "agent_side.h"
#include "clock.h"

#include "banned.h"

static bool listens(const struct jr_agent *agent)
{
    return agent->pid != 0 && agent->beats && !agent->leaving;
}

static void next_turn(struct jr_agent *agent)
{
    agent->turn.at =
        listens(agent) ? jr_clock_ns() + JR_BEAT_NS * JR_BEAT_PATIENCE : 0;
}

void jr_beat_listen(struct jr_agent *agent)
{
    agent->silent = 0;
    next_turn(agent);
}

void jr_beat_unheard(void *owner)
{
    struct jr_agent *agent = owner;
    if (listens(agent) && !agent->away && ++agent->silent >= JR_BEATS)
        jr_agent_forsake(agent);
    next_turn(agent);
}
