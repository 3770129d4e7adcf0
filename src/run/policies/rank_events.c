/*
 * What events.jsonl has of each rank: that it has started, that it has ended, or that it could not
 * be started. An end is written once it is settled, and before what other policies make of it, so
 * that the events stand in the order of cause and effect. internal.h declares it.
 */
#include "run/internal.h"

#include "base/banned.h"

static void record_rank_start(struct jr_rank_run *rank)
{
    JR_TELL(rank->runner, .name = JR_EVENT_RANK_STARTED, .rank = rank->plan->rank,
            .pid = rank->outcome->pid);
}

static void record_rank_end(struct jr_rank_run *rank)
{
    const struct jr_rank_outcome *outcome = rank->outcome;
    bool exited = outcome->end == JR_END_EXITED;
    if (rank->pid == 0) {
        JR_TELL(rank->runner, .name = JR_EVENT_START_FAILED, .rank = rank->plan->rank,
                .stage = outcome->stage, .error = outcome->start_errno);
        return;
    }
    JR_TELL(rank->runner, .name = JR_EVENT_RANK_ENDED, .rank = rank->plan->rank,
            .pid = outcome->pid, .exit_code = exited ? outcome->exit_code : -1,
            .signal = outcome->signal);
}

const struct jr_runner_policy jr_rank_events_policy = {
    .name = "rank_events",
    .rank_started = record_rank_start,
    .rank_ended = record_rank_end,
};
