#include "store/stragglers.h"

#include <stdio.h>
#include <stdlib.h>

#include "store/step_window.h"

#include "base/banned.h"

#define STRAGGLERS_MOST 8 /* that are named */

static int compare_rates(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void warn_of_straggler(struct jr_step_tracker *tracker, uint32_t i,
                              double rate, double median)
{
    const struct jr_plan *plan = tracker->plan;
    const struct jr_plan_rank *rank = &plan->ranks[plan->first + i];
    const char *host =
        plan->hosts == NULL ? NULL : plan->hosts[rank->node_rank];
    tracker->progress->ranks[i].straggler = true;
    struct jr_step_warning *warning = NULL;
    uint32_t named = 0;
    for (uint32_t k = 0; k < tracker->progress->warnings_count; k++)
        named +=
            tracker->progress->warnings[k].problem == JR_STEP_PROBLEM_STRAGGLER;
    if (named < STRAGGLERS_MOST)
        warning =
            jr_step_tracker_add_warning(tracker, JR_STEP_PROBLEM_STRAGGLER, i);
    if (warning == NULL)
        return;
    (void)snprintf(warning->text, sizeof warning->text,
                   "rank %u (%s%s%s) is slow: %.3g steps/s, while the median "
                   "is %.3g",
                   rank->rank, host == NULL ? "this host" : host,
                   rank->device == NULL ? "" : ", device ",
                   rank->device == NULL ? "" : rank->device, rate, median);
}

/* The rates of ranks that have made enough steps, in `rates`; those that take
 * part now. */
static uint32_t gather_rates(struct jr_step_tracker *tracker, uint64_t now_ns)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < tracker->plan->count; i++) {
        const struct jr_steps *steps = &tracker->progress->ranks[i];
        bool whole;
        double rate = jr_step_window_rate(&tracker->windows[i], steps->best,
                                          now_ns, &whole);
        if (tracker->watched[i] && steps->any && !steps->ended && whole)
            tracker->rates[count++] = rate;
    }
    return count;
}

void jr_stragglers_find(struct jr_step_tracker *tracker, uint64_t now_ns)
{
    tracker->checked_ns = now_ns;
    uint32_t count = gather_rates(tracker, now_ns);
    if (count < 2)
        return;
    qsort(tracker->rates, count, sizeof *tracker->rates, compare_rates);
    double median =
        count % 2 == 1
            ? tracker->rates[count / 2]
            : (tracker->rates[count / 2 - 1] + tracker->rates[count / 2]) / 2;
    for (uint32_t i = 0; i < tracker->plan->count; i++) {
        const struct jr_steps *steps = &tracker->progress->ranks[i];
        bool whole;
        double rate = jr_step_window_rate(&tracker->windows[i], steps->best,
                                          now_ns, &whole);
        if (tracker->watched[i] && steps->any && !steps->ended && whole &&
            !steps->straggler && rate < median / 2)
            warn_of_straggler(tracker, i, rate, median);
    }
}
