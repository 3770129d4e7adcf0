/* The live status: one temporary line on a terminal, once a second, and when a
 * stop begins. */
#ifndef JR_PROGRESS_H
#define JR_PROGRESS_H

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
