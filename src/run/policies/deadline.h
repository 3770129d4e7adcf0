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

/* jobrun was sent a signal that it forwards. True: it is the word of the scheduler that the end is
 * near, and is not. */
bool jr_deadline_takes(struct jr_runner *runner, int sig);

extern const struct jr_runner_policy jr_deadline_policy;

#endif
