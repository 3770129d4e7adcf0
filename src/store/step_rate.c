#include "store/step_rate.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/banned.h"

#define SECOND_NS UINT64_C(1000000000)
#define SPAN_NS   (5 * SECOND_NS) /* a rate is over at least so long, */
#define SPAN      10              /* and so many steps */
#define SAMPLE_NS (SECOND_NS / 2) /* between two samples */

_Static_assert(JR_STEP_SAMPLES > SPAN && JR_STEP_SAMPLES > SPAN_NS / SAMPLE_NS,
               "the samples reach back far enough");

void jr_step_window_add(struct jr_step_window *window, uint64_t ns, int64_t step)
{
    uint32_t last = (window->next + JR_STEP_SAMPLES - 1) % JR_STEP_SAMPLES;
    if (window->count > 0 && step < window->step[last])
        *window = (struct jr_step_window){0};
    else if (window->count > 0 && ns < window->ns[last] + SAMPLE_NS)
        return;
    window->ns[window->next] = ns;
    window->step[window->next] = step;
    window->next = (window->next + 1) % JR_STEP_SAMPLES;
    window->count += window->count < JR_STEP_SAMPLES;
}

double jr_step_window_rate(const struct jr_step_window *window, int64_t step, uint64_t ns,
                           bool *ret_whole)
{
    uint32_t oldest = window->count < JR_STEP_SAMPLES ? 0 : window->next;
    uint32_t from = oldest;
    *ret_whole = false;
    for (uint32_t k = 0; k < window->count; k++) {
        uint32_t i = (oldest + k) % JR_STEP_SAMPLES;
        if (ns < window->ns[i] + SPAN_NS || step < window->step[i] + SPAN)
            break;
        from = i;
        *ret_whole = true;
    }
    if (window->count == 0 || ns <= window->ns[from] || step <= window->step[from])
        return 0;
    return (double)(step - window->step[from]) * (double)SECOND_NS /
           (double)(ns - window->ns[from]);
}

#define STRAGGLERS_MOST 8 /* that are named */

static int compare_rates(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void warn_of_straggler(struct jr_step_tracker *tracker, uint32_t i, double rate,
                              double median)
{
    const struct jr_plan *plan = tracker->plan;
    const struct jr_plan_rank *rank = &plan->ranks[plan->first + i];
    const char *host = plan->hosts == NULL ? NULL : plan->hosts[rank->node_rank];
    tracker->progress->ranks[i].straggler = true;
    struct jr_step_warning *warning = NULL;
    uint32_t named = 0;
    for (uint32_t k = 0; k < tracker->progress->warnings_count; k++)
        named += tracker->progress->warnings[k].problem == JR_STEP_PROBLEM_STRAGGLER;
    if (named < STRAGGLERS_MOST)
        warning = jr_step_tracker_add_warning(tracker, JR_STEP_PROBLEM_STRAGGLER, i);
    if (warning == NULL)
        return;
    (void)snprintf(warning->text, sizeof warning->text,
                   "rank %u (%s%s%s) is slow: %.3g steps/s, while the median is %.3g", rank->rank,
                   host == NULL ? "this host" : host, rank->device == NULL ? "" : ", device ",
                   rank->device == NULL ? "" : rank->device, rate, median);
}

/* The rates of ranks that have made enough steps, in `rates`; those that take part now. */
static uint32_t gather_rates(struct jr_step_tracker *tracker, uint64_t now_ns)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < tracker->plan->count; i++) {
        const struct jr_steps *steps = &tracker->progress->ranks[i];
        bool whole;
        double rate = jr_step_window_rate(&tracker->windows[i], steps->best, now_ns, &whole);
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
    double median = count % 2 == 1
                        ? tracker->rates[count / 2]
                        : (tracker->rates[count / 2 - 1] + tracker->rates[count / 2]) / 2;
    for (uint32_t i = 0; i < tracker->plan->count; i++) {
        const struct jr_steps *steps = &tracker->progress->ranks[i];
        bool whole;
        double rate = jr_step_window_rate(&tracker->windows[i], steps->best, now_ns, &whole);
        if (tracker->watched[i] && steps->any && !steps->ended && whole && !steps->straggler &&
            rate < median / 2)
            warn_of_straggler(tracker, i, rate, median);
    }
}
