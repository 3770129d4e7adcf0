#include "store/step_window.h"

#include "base/banned.h"

#define SECOND_NS UINT64_C(1000000000)
#define SPAN_NS   (5 * SECOND_NS) /* a rate is over at least so long, */
#define SPAN      10              /* and so many steps */
#define SAMPLE_NS (SECOND_NS / 2) /* between two samples */

_Static_assert(JR_STEP_SAMPLES > SPAN && JR_STEP_SAMPLES > SPAN_NS / SAMPLE_NS,
               "the samples reach back far enough");

void jr_step_window_add(struct jr_step_window *window, uint64_t ns,
                        int64_t step)
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

double jr_step_window_rate(const struct jr_step_window *window, int64_t step,
                           uint64_t ns, bool *ret_whole)
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
    if (window->count == 0 || ns <= window->ns[from] ||
        step <= window->step[from])
        return 0;
    return (double)(step - window->step[from]) * (double)SECOND_NS /
           (double)(ns - window->ns[from]);
}
