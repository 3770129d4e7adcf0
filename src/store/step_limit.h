/*
 * timeouts.first_step and timeouts.progress: whether a job has made its first
 * step, and then the next one forward, in time. For the runner, and for the
 * controller of several nodes.
 */
#ifndef JR_STEP_LIMIT_H
#define JR_STEP_LIMIT_H

#include "store/step_tracker.h"

enum jr_step_overrun {
    JR_STEP_OVERRUN_NONE,
    JR_STEP_OVERRUN_FIRST, /* timeouts.first_step */
    JR_STEP_OVERRUN_NEXT   /* timeouts.progress */
};

struct jr_step_limit {
    bool counting;     /* the limit of steps has begun */
    uint64_t since_ns; /* no time is counted from before this */
};

/* A step was told: when to look first, or `at_ns` if that is to stay (0:
 * never).
 */
uint64_t jr_step_limit_told(struct jr_step_limit *limit,
                            const struct jr_step_tracker *tracker,
                            uint64_t at_ns, uint64_t now_ns);

/* Which of the limits is met at `now_ns`. Else *ret_at is when one may be, 0:
 * never. All ranks had started at `started_ns`; 0: not yet. */
enum jr_step_overrun jr_step_limit_look(const struct jr_step_limit *limit,
                                        struct jr_step_tracker *tracker,
                                        uint64_t started_ns, uint64_t now_ns,
                                        uint64_t *ret_at);

/* The ranks stood still for so long. */
void jr_step_limit_pause(struct jr_step_limit *limit,
                         const struct jr_step_tracker *tracker,
                         uint64_t started_ns, uint64_t paused_ns);

#endif
