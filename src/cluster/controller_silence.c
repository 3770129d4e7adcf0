#include "cluster/controller_silence.h"

#include "base/clock.h"

#include "base/banned.h"

void jr_controller_silence_ask(struct jr_controller_run *run)
{
    if (run->is_querying || run->stopped)
        return;
    run->is_querying = true;
    run->has_recent_output = false;
    for (uint32_t i = 0; i < run->plan->nodes; i++)
        run->controller->nodes[i].queried = run->controller->nodes[i].state == JR_NODE_RUNNING;
    jr_controller_send_type(run->controller, JR_TO_NODES_QUERY);
}

static uint64_t silence_limit_ns(const struct jr_controller_run *run)
{
    return run->plan->policy->timeouts.silence_ms * UINT64_C(1000000);
}

void jr_controller_silence_answer(struct jr_controller_run *run, uint32_t node, uint64_t silent_ns)
{
    run->controller->nodes[node].queried = false;
    run->has_recent_output = run->has_recent_output || silent_ns < silence_limit_ns(run);
    jr_controller_silence_decide(run);
}

/* Whether a rank of a node that has ended wrote something not long ago: it is asked no more, and
 * yet was no part of a silence that began after it. */
static bool has_ended_lately(const struct jr_controller_run *run, uint64_t limit_ns)
{
    uint64_t now = jr_clock_ns();
    for (uint32_t i = 0; i < run->plan->nodes; i++) {
        if (run->controller->nodes[i].state == JR_NODE_RUNNING)
            continue;
        for (uint32_t k = run->first[i]; k < run->first[i + 1]; k++)
            if (run->outcome->ranks[k].heard_ns + limit_ns > now)
                return true;
    }
    return false;
}

void jr_controller_silence_decide(struct jr_controller_run *run)
{
    for (uint32_t i = 0; i < run->plan->nodes; i++)
        if (run->controller->nodes[i].queried && run->controller->nodes[i].state == JR_NODE_RUNNING)
            return;
    if (run->is_querying && !run->has_recent_output && !run->stopped &&
        !has_ended_lately(run, silence_limit_ns(run)))
        jr_controller_send_type(run->controller, JR_TO_NODES_HANG);
    run->is_querying = false;
}
