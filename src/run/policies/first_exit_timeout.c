/*
 * Ranks that run on when others are done: `timeouts.after_first_exit`. internal.h declares it.
 *
 * From the moment at which the first rank has ended well, on whichever node, the others have so
 * long to end, too. A rank that waits for one that has left, as in a collective of which it is the
 * last, would wait for ever. What is done to those that are left is in hang.c.
 */
#include "base/clock.h"
#include "run/internal.h"

#include "base/banned.h"

#define MS UINT64_C(1000000)

static void on_first_exit_timeout(void *owner)
{
    jr_hang_begin(owner, JR_HANG_FIRST_EXIT);
}

static int open_first_exit(struct jr_runner *runner)
{
    jr_runner_timer(runner, &runner->first_exit_timeout.timer, on_first_exit_timeout, true);
    return 0;
}

void jr_first_exit_begin(struct jr_runner *runner)
{
    uint64_t limit_ms = runner->plan->policy->timeouts.after_first_exit_ms;
    if (runner->first_exit_timeout.begun || limit_ms == 0)
        return;
    runner->first_exit_timeout.begun = true;
    runner->first_exit_timeout.timer.at = jr_clock_ns() + limit_ms * MS;
}

static void note_first_exit(struct jr_rank_run *rank)
{
    if (jr_outcome_is_well(rank->outcome) && !jr_hang_has_begun(rank->runner))
        jr_first_exit_begin(rank->runner);
}

static void end_first_exit(struct jr_runner *runner)
{
    runner->first_exit_timeout.timer.at = 0;
}

const struct jr_runner_policy jr_first_exit_timeout_policy = {
    .name = "first_exit_timeout",
    .open = open_first_exit,
    .rank_ended = note_first_exit,
    .stopping = end_first_exit,
    .close = end_first_exit,
};
