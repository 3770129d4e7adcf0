/*
 * What a run costs in descriptors and processes, counted before it starts: what does not fit is
 * refused with the number, not discovered at rank 339.
 */
#ifndef JR_BUDGET_H
#define JR_BUDGET_H

#include <stdbool.h>
#include <sys/resource.h>

#include <jobrun/error.h>
#include <jobrun/policy.h>

#include "spawn/run_options.h"

/* The resource limits that ranks get (setrlimit(2)). */
#define JR_LIMITS_MOST 7

struct jr_limit {
    int resource; /* RLIMIT_* */
    struct rlimit limit;
};

struct jr_limit_list {
    unsigned count;
    struct jr_limit items[JR_LIMITS_MOST];
};

/* Set those that the policy states: the soft limit has the stated value; the hard limit is raised
 * to it if it is lower. Returns 0, or -1 with `err` where that is more than this user may have. */
int jr_limits_make(struct jr_limit_list *ret, const struct jr_limits *wanted, struct jr_error *err);

/* Undo a raised soft limit, unless the list has that resource already. */
void jr_limits_restore(struct jr_limit_list *list, int resource, const struct rlimit *found);

struct jr_budget {
    struct rlimit nofile;        /* as it was found: what the ranks get back */
    struct rlimit wanted;        /* what the runner needs */
    bool raise;                  /* they differ */
    unsigned files;              /* log files that may be open at once */
    uint64_t descriptors;        /* that the runner has at most */
    bool lines;                  /* each rank may have a life line; start.h */
    struct jr_limit_list limits; /* what the ranks get */
};

/* Count what the plan costs and take its limits. Returns 0, or -1 with `err` when the plan does not
 * fit. */
int jr_budget_check(struct jr_budget *ret, const struct jr_plan *plan,
                    const struct jr_run_options *options, struct jr_error *err);

#endif
