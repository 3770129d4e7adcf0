/* The live status, once a second, and when a stop begins: the bar of a job that tells its steps, as
 * the last line of a terminal; else a temporary line. */
#ifndef JR_STATUS_LINE_H
#define JR_STATUS_LINE_H

#include <stdint.h>

#include "eventloop/loop.h"
#include "run/policies/policies.h"

/* What the policy remembers. */
struct jr_progress_line {
    struct jr_timer tick;
    bool open; /* there is a line; without it nothing is drawn, nor woken for */
    uint64_t started_ns;
};

extern const struct jr_runner_policy jr_progress_policy;

#endif
