/* The scheduler takes the job's nodes away; see preemption.c. */
#ifndef JR_PREEMPTION_H
#define JR_PREEMPTION_H

#include "eventloop/loop.h"
#include "run/policies/policies.h"
#include "spawn/slurm_job.h"

/* What the policy remembers. */
struct jr_preemption {
    struct jr_timer injected; /* when it is rehearsed */
    struct jr_timer limit;    /* when the ranks have had their time */
    struct jr_timer patience; /* when no answer is awaited any more */
    struct jr_watch answer;
    struct jr_slurm_call call;
    unsigned tries;        /* calls that were made for the answer */
    bool open;             /* it is not known yet whether the job is preempted */
    bool hit;              /* a rank has died of SIGTERM since, and that ends the run */
    uint64_t signalled_ns; /* when jobrun was sent SIGTERM; 0: it was not */
};

/* The job is preempted: its ranks have `left_ms` from now on, or
 * `timeouts.stop_grace` where that is 0. A second time nothing happens. */
void jr_preemption_begin(struct jr_runner *runner, uint64_t left_ms);

/* jobrun was sent a signal that stops runs. True: it may mean a preemption, and is taken care
 * of. */
bool jr_preemption_takes(struct jr_runner *runner, int sig);

/* A rank has ended. True: by a signal that may mean a preemption, so that it is not known yet
 * whether it failed. */
bool jr_preemption_explains(struct jr_rank_run *rank);

/* Something may mean a preemption: find out. */
void jr_preemption_ask(struct jr_runner *runner);

/* The controller has found out. */
void jr_preemption_settle(struct jr_runner *runner, bool preempted);

/* Whether it is not known yet. */
bool jr_preemption_is_open(const struct jr_runner *runner);

extern const struct jr_runner_policy jr_preemption_policy;

#endif
