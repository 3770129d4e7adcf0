/* `timeouts.silence`; see output_timeout.c. */
#ifndef JR_OUTPUT_TIMEOUT_H
#define JR_OUTPUT_TIMEOUT_H

#include "eventloop/loop.h"
#include "run/policies/policies.h"

/* The sizes of a rank's plain files when they were last looked at. */
struct jr_output_timeout_sizes {
    int64_t bytes[2];
};

/* What the policy remembers. */
struct jr_output_timeout {
    struct jr_timer timer;
    bool open;                             /* it can be told */
    uint64_t since_ns;                     /* no silence began before this */
    struct jr_output_timeout_sizes *sizes; /* one per rank; NULL: no plain files */
};

extern const struct jr_runner_policy jr_output_timeout_policy;

/* Report to the other nodes of the job for how long all ranks here have written nothing. */
void jr_output_timeout_report(struct jr_runner *runner);

#endif
