/*
 * Ranks that run on when others are done: `timeouts.after_first_exit`.
 *
 * From the moment at which the first rank has ended well, on whichever node,
 * the others have so long to end, too. A rank that waits for one that has left,
 * as in a collective of which it is the last, would wait for ever. What is done
 * to those that are left is told in hang.c.
 */
#include "run/policies/first_exit_timeout.h"

#include "base/clock.h"
#include "run/runner.h"

#include "base/banned.h"

#define MS UINT64_C(1000000)

static void on_first_exit_timeout(void *owner)
{
    jr_hang_begin(owner, JR_HANG_STRAGGLERS);
}

void jr_first_exit_open(struct jr_runner *runner)
{
    runner->straggle = (struct jr_first_exit){
        .timer = {
            .due = on_first_exit_timeout, .owner = runner, .pauses = true}};
    jr_loop_timer(&runner->loop, &runner->straggle.timer);
}

void jr_first_exit_begin(struct jr_runner *runner)
{
    uint64_t limit_ms = runner->plan->policy->timeouts.after_first_exit_ms;
    if (runner->straggle.begun || limit_ms == 0)
        return;
    runner->straggle.begun = true;
    runner->straggle.timer.at = jr_clock_ns() + limit_ms * MS;
}
