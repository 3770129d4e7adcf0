/*
 * The runner's policies: what each of them does at the turns of a run. The runner knows the array
 * alone; which policies there are, and in which order they are called, is in policies.c.
 */
#ifndef JR_POLICIES_H
#define JR_POLICIES_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

struct jr_rank_run;
struct jr_runner;

/* The turns of a run. X(hook, its parameters, what it returns) */
#define JR_POLICY_HOOKS(X)                                                                         \
    /* The loop is there, and no rank yet: -1 with errno fails the run. */                         \
    X(open, (struct jr_runner * runner), int)                                                      \
    /* A rank has a process. */                                                                    \
    X(rank_started, (struct jr_rank_run * rank), void)                                             \
    /* A rank was reaped, or could not be started: its outcome says which. */                      \
    X(rank_ended, (struct jr_rank_run * rank), void)                                               \
    /* The run is being stopped: no limit of time counts any more. Once more                       \
     * when SIGKILL follows. */                                                                    \
    X(stopping, (struct jr_runner * runner), void)                                                 \
    /* jobrun is suspended: the ranks are about to be. */                                          \
    X(suspended, (struct jr_runner * runner), void)                                                \
    /* The ranks go on, after `paused_ns`; 0 where they had not been told to                       \
     * stand still. */                                                                             \
    X(resumed, (struct jr_runner * runner, uint64_t paused_ns), void)                              \
    /* No rank is left: what the policy started ends. */                                           \
    X(close, (struct jr_runner * runner), void)

/* One policy. A hook is NULL where the policy has nothing to do. */
struct jr_runner_policy {
    const char *name; /* of its file */
#define JR_POLICY_FIELD(hook, parameters, type) type(*hook) parameters;
    JR_POLICY_HOOKS(JR_POLICY_FIELD)
#undef JR_POLICY_FIELD
};

/* Call `open` of every policy that has it, in order. -1 with errno at the first that cannot be
 * opened. */
int jr_policies_open(struct jr_runner *runner);

/* Call `rank_started` of every policy that has it, in order. */
void jr_policies_rank_started(struct jr_rank_run *rank);

/* The same of `rank_ended`. */
void jr_policies_rank_ended(struct jr_rank_run *rank);

/* The same of `stopping`. */
void jr_policies_stopping(struct jr_runner *runner);

/* The same of `suspended`. */
void jr_policies_suspended(struct jr_runner *runner);

/* The same of `resumed`; nanoseconds. */
void jr_policies_resumed(struct jr_runner *runner, uint64_t paused_ns);

/* The same of `close`. */
void jr_policies_close(struct jr_runner *runner);

/* Append the array as text: a row per policy, a column per hook. */
void jr_policies_print(struct jr_buf *out);

#endif
