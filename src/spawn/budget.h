/*
 * What a run costs in descriptors and processes, counted before it starts: what
 * does not fit is refused with the number, not discovered at rank 339.
 */
#ifndef JR_BUDGET_H
#define JR_BUDGET_H

#include <stdbool.h>
#include <sys/resource.h>

#include "spawn/rlimits.h"
#include "spawn/run_options.h"

struct jr_budget {
    struct rlimit nofile;        /* as it was found: what the ranks get back */
    struct rlimit wanted;        /* what the runner needs */
    bool raise;                  /* they differ */
    unsigned files;              /* log files that may be open at once */
    struct jr_limit_list limits; /* what the ranks get */
};

/* Returns 0, or -1 with `err` when the plan does not fit. */
int jr_budget_check(struct jr_budget *ret, const struct jr_plan *plan,
                    const struct jr_run_options *options, struct jr_error *err);

#endif
