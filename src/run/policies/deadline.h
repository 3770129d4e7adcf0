/* The warning before the end of the time; see deadline.c. */
#ifndef JR_DEADLINE_H
#define JR_DEADLINE_H

#include "eventloop/loop.h"
#include "run/policies/policies.h"

/* What the policy remembers. */
struct jr_deadline_watch {
    struct jr_timer timer;
    bool begun; /* ranks that start from now on are warned at once */
};

/* Warn the ranks now; a second time nothing happens. */
void jr_deadline_begin(struct jr_runner *runner);

extern const struct jr_runner_policy jr_deadline_policy;

#endif
