/* `timeouts.after_first_exit`; see first_exit_timeout.c. */
#ifndef JR_FIRST_EXIT_TIMEOUT_H
#define JR_FIRST_EXIT_TIMEOUT_H

#include "eventloop/loop.h"
#include "run/policies/policies.h"

/* What the policy remembers. */
struct jr_first_exit_timeout {
    struct jr_timer timer;
    bool begun; /* a rank has ended well */
};

extern const struct jr_runner_policy jr_first_exit_timeout_policy;

/* The first rank has ended well; later ones change nothing. */
void jr_first_exit_begin(struct jr_runner *runner);

#endif
