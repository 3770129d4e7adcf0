#include "store/step_limit.h"

#include "base/banned.h"

#define MS UINT64_C(1000000)

/* When a limit is met that is counted from `from_ns`. */
static uint64_t limit_due(const struct jr_step_limit *limit, uint64_t from_ns,
                          uint64_t limit_ms)
{
    uint64_t from = from_ns > limit->since_ns ? from_ns : limit->since_ns;
    return limit_ms == 0 ? UINT64_MAX : from + limit_ms * MS;
}

uint64_t jr_step_limit_told(struct jr_step_limit *limit,
                            const struct jr_step_tracker *tracker,
                            uint64_t at_ns, uint64_t now_ns)
{
    uint64_t ms = tracker->plan->policy->timeouts.progress_ms;
    if (limit->counting || ms == 0)
        return at_ns;
    limit->counting = true;
    uint64_t due = now_ns + ms * MS;
    return at_ns == 0 || due < at_ns ? due : at_ns;
}

enum jr_step_overrun jr_step_limit_look(const struct jr_step_limit *limit,
                                        struct jr_step_tracker *tracker,
                                        uint64_t started_ns, uint64_t now_ns,
                                        uint64_t *ret_at)
{
    const struct jr_timeouts *limits = &tracker->plan->policy->timeouts;
    const struct jr_steps *job = &tracker->progress->job;
    uint64_t first = UINT64_MAX, next = UINT64_MAX;
    *ret_at = 0;
    jr_step_tracker_sum(tracker, now_ns);
    if (jr_step_tracker_lacks_first(tracker))
        first = limit_due(limit, started_ns == 0 ? now_ns : started_ns,
                          limits->first_step_ms);
    if (job->any && jr_step_tracker_goes_on(tracker))
        next = limit_due(limit, job->best_ns, limits->progress_ms);
    if (first <= now_ns)
        return JR_STEP_OVERRUN_FIRST;
    if (next <= now_ns)
        return JR_STEP_OVERRUN_NEXT;
    if (first != UINT64_MAX || next != UINT64_MAX)
        *ret_at = first < next ? first : next;
    return JR_STEP_OVERRUN_NONE;
}

void jr_step_limit_pause(struct jr_step_limit *limit,
                         const struct jr_step_tracker *tracker,
                         uint64_t started_ns, uint64_t paused_ns)
{
    const struct jr_steps *job = &tracker->progress->job;
    uint64_t from = job->any ? job->best_ns : started_ns;
    if (from < limit->since_ns)
        from = limit->since_ns;
    limit->since_ns = from + paused_ns;
}
