/*
 * Rehearsed failures: what a plan's injections do to the ranks.
 *
 * - kill, oom, exit: SIGKILL to the rank and its group, recorded as the end
 * that it stands for;
 * - stop: SIGSTOP to the rank, which continues with jobrun's own SIGCONT;
 * - hang: SIGSTOP to its whole group, which does not continue;
 * - slow: its group is stopped for four fifths of each half second.
 *
 * None of them happens to a rank that has ended, or is being stopped. A plan without injections
 * costs nothing, one with them a timer.
 */
#ifndef JR_FAULT_INJECTION_H
#define JR_FAULT_INJECTION_H

#include "eventloop/loop.h"
#include "run/policies/policies.h"

/* What is to come for one rank by one injection. */
struct jr_inject_cell {
    uint64_t at; /* 0: nothing */
    bool still;  /* slow: its group stands still */
};

/* What the policy remembers. */
struct jr_fault_injection {
    struct jr_timer timer;
    struct jr_inject_cell *cells; /* injections x ranks */
};

extern const struct jr_runner_policy jr_fault_injection_policy;

#endif
