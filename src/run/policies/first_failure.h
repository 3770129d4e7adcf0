/*
 * What is noted of the first failure while it can still be told apart from what follows from it,
 * and the stop that waits for that; see first_failure.c.
 */
#ifndef JR_FIRST_FAILURE_H
#define JR_FIRST_FAILURE_H

#include "eventloop/loop.h"
#include "run/policies/policies.h"

/* What the policy remembers. */
struct jr_first_failure {
    struct jr_timer timer; /* the stop is held until then */
    struct jr_loop lines;  /* the ranks' life lines */
    uint64_t until_ns;     /* and at most until then; 0: it never was */
    uint64_t noted_ns;     /* when exiting ranks were last noted; 0: never */
    uint32_t failed;       /* ranks that failed while the stop was held */
    uint32_t exiting;      /* those that have announced that, and not ended */
};

extern const struct jr_runner_policy jr_first_failure_policy;

/* A rank was started: hear of the end of its life line, whose read end is
 * `line`; -1: it has none. */
void jr_first_failure_watch(struct jr_rank_run *rank, int line);

/* Note which life lines have hung up by now, in their order. */
void jr_first_failure_hear_lines(struct jr_runner *runner);

/* A rank announces that it fails, before it closes anything: by an exception, or to exit with
 * `code`, which is not 0 then. It waits for the answer. */
void jr_first_failure_announced(struct jr_rank_run *rank, int code);

/* A rank has failed, by being reaped. Returns whether the stop that follows waits for more to be
 * known. */
bool jr_first_failure_holds(struct jr_rank_run *rank);

/* A rank has ended well, or badly after all. */
void jr_first_failure_ended(struct jr_rank_run *rank);

/* Note which ranks are exiting, just before the stop signal is sent. */
void jr_first_failure_note_exiting(struct jr_runner *runner);

/* Whether the stop is being held: no further rank is started then. */
bool jr_first_failure_holds_stop(const struct jr_runner *runner);

/* Whether the run continues, without a rank of ours, only to hold its stop. */
bool jr_first_failure_waits(const struct jr_runner *runner);

#endif
