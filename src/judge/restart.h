/*
 * Whether a job starts again: a pure function of the spec's `restart` and of the attempts so far.
 *
 *   1. Only what failed starts again: a rank that failed or did not deliver, a
 *      hang, a timeout. A run that was told to stop, that jobrun itself failed
 *      at, that left processes behind, which the next attempt would meet, or
 *      that is one node's part of several, whose jobruns do not know of each
 *      other, ends.
 *   2. A cause that `never` names ends the run; else it must be one of `on`,
 *      where that names any.
 *   3. `max` restarts are allowed: in all, or within the last `window`, counted
 *      from when each next attempt began.
 *   4. The wait before it is `backoff`, doubled for each restart that counts
 *      under 3, up to five minutes, or to `backoff` where that is longer.
 *
 *   5. `progress.stall` attempts in a row that got no further than the furthest
 *      step of all attempts before them end the run: it has stalled. The first
 *      attempt sets the mark.
 *
 *   6. An attempt that is to be continued, for a cause that `requeue` names,
 *      starts again too, at once, `requeue.max` times in all, whatever
 * `restart` allows: 5 holds for it alone.
 *
 * Attempts that fail the same way at once, one after the other, are reported as no progress. That
 * ends nothing: `max` and `stall` do.
 */
#ifndef JR_RESTART_H
#define JR_RESTART_H

#include "judge/judgement.h"

/* What became of one attempt. Strings are the history's. */
struct jr_attempt {
    uint32_t number;
    enum jr_run_status status;
    int exit_code;
    enum jr_requeue_cause continues; /* why it is to be continued; NONE */
    bool requeued;                   /* and was; without a cause, the scheduler did it by itself */
    bool failed;                     /* in a way that could start again: see 1 */
    const char *left;                /* why not, where it failed otherwise; NULL */
    const char *on;                  /* the entry of `on` that it meets, "" if there are none;
                                        NULL: it meets none */
    const char *never;               /* the entry of `never` that it meets; NULL: none */
    const char *cause;               /* "rank 3 exited with code 1" */
    const char *how;                 /* the part of it that says how: "exited with code 1" */
    uint64_t started_ns, ended_ns;   /* monotonic */
    uint64_t started_wall_ns;
    uint64_t lived_ns; /* until the first rank had failed */
    uint64_t wait_ms;  /* before the next attempt */
    bool stepped;      /* the job made a step */
    int64_t best;      /* the furthest; only if `stepped` */
};

struct jr_history {
    struct jr_arena arena;
    struct jr_attempt *items; /* oldest first */
    size_t count;
};

struct jr_verdict {
    bool again;
    uint64_t wait_ms;              /* before the next attempt */
    uint32_t counted;              /* restarts that count under 3, the next one not */
    enum jr_requeue_cause requeue; /* NONE: `again` is by `restart` */
    uint32_t requeued;             /* requeues so far, the next one not */
    struct jr_stall stall;         /* what 5 found, if that is why not */
    char why[160];                 /* why it is not started again; empty if that is not
                                      relevant: without `max`, or after success */
};

/* What comes after the last of the attempts; `history` has at least one. */
void jr_restart_decide(struct jr_verdict *ret, const struct jr_policy *policy,
                       const struct jr_history *history);

/* How many attempts at the end of the history got no further than those before them, and the mark;
 * `attempts` is 0 where the last one got further. */
struct jr_stall jr_restart_stall(const struct jr_history *history);

/* How many attempts of the history were followed by a requeue. */
uint32_t jr_restart_requeues(const struct jr_history *history);

/* How many attempts at the end of the history failed the same way at once; 1 where the last one is
 * alone, 0 where it did not fail at once. */
size_t jr_restart_idle(const struct jr_history *history);

/* Append what became of an attempt, as the next one sees it. -1 without memory. */
int jr_history_add(struct jr_history *history, const struct jr_judgement *report,
                   const struct jr_plan *plan, const struct jr_outcome *outcome, int run_fd);

/* Append an attempt of an earlier process of this run, of which `attempt` has what is known; its
 * texts are copied. It was not followed by a restart. -1 without memory. */
int jr_history_recall(struct jr_history *history, const struct jr_attempt *attempt);

/* Free what was appended. */
void jr_history_release(struct jr_history *history);

#endif
