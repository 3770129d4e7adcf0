/*
 * Judging a run: results found and checked, the root cause, one exit status; and what is told of
 * it, without the values of secrets.
 */
#ifndef JR_JUDGEMENT_H
#define JR_JUDGEMENT_H

#include <jobrun/plan.h>
#include <jobrun/run.h>
#include <jobrun/verdict.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/json.h"

/* An artifact as it was delivered. */
struct jr_delivered {
    const char *path; /* absolute, or in the run folder */
    uint64_t size;
    int64_t mtime_ns;
    uint64_t digest; /* see jr_pin_digest; 0: not known */
};

struct jr_rank_judgement {
    enum jr_rank_state state;
    struct jr_delivered *artifacts; /* its own, and with one rank those of the
                                       job; none that is on another node */
    size_t artifacts_count;
    json_t *result; /* owned; NULL: none */
    json_t *text;   /* its JSON, where it is too large for a tree: then `result`
                       is what it begins with, and what `fields` name; NULL */
    enum jr_result_error result_error;
    bool differs;            /* that was found by comparing it with others' */
    const char *reason;      /* "result.json: 'accuracy' is 0.41, less than 0.9" */
    uint32_t pattern_limits; /* lines that took results.pattern too many steps
                              */
    bool unwritten;          /* it wrote nothing to the file that JOBRUN_RESULT_FILE
                                names */
    bool late_match;         /* more that matches it came after the rank's end */
    const char *error;       /* its exception, or why it could not start; NULL */
    const char *where;       /* of the exception: "train.py:88 in step"; NULL */
    const char *behind;      /* what the exception was raised from; NULL */
    bool error_file;         /* its error.json is there and says so */
    bool error_foreign;      /* that is torn, or not jobrun's or torch's */
    bool log_secret;         /* the last lines of its logs hold one */
    bool error_strange;      /* that is of another process than the rank */
    bool follows;            /* together with the cause, and of a kind that comes
                                after it */
    bool lost_peer;          /* it failed in a way that only a lost peer causes */
    bool early;              /* it had ended with 0 by the first failure, which may
                                come of that */
    bool unstarted;          /* its entrypoint could not be called: no code of the
                                user's ran */
};

struct jr_hang_group;

/* Attempts in a row that got no further: `progress.stall`. */
struct jr_stall {
    uint32_t attempts; /* 0: the job did not stall */
    bool stepped;      /* some attempt made a step */
    int64_t step;      /* the furthest of all; only if `stepped` */
};

/* Why the job is to be continued, and how often it was: `requeue`. */
struct jr_requeue_state {
    enum jr_requeue_cause cause; /* NONE: it is over */
    uint32_t done;               /* requeues before this attempt */
    uint32_t max;                /* that are allowed */
    bool queued;                 /* the scheduler has it in its queue again */
};

/* Why something does not count; JR_RESULT_NONE: it does. */
struct jr_fault {
    enum jr_result_error error;
    const char *reason;
};

struct jr_judgement {
    struct jr_arena arena;
    enum jr_run_status status;
    int exit_code;
    const char *error;                /* why the run could not begin, or what is wrong with it
                                         as a whole; NULL: nothing */
    bool singletons;                  /* that is that no rank initialized MPI */
    const struct jr_attempt *earlier; /* attempts before this one; restart.h */
    size_t earlier_count;
    const struct jr_lost_machine *left_out; /* machines without ranks of it;
                                               borrowed */
    size_t left_out_count;
    size_t idle; /* attempts in a row that failed like it at once */
    struct jr_stall stall;
    struct jr_requeue_state requeue;
    const char *not_again; /* why it was not started again; NULL: not relevant */
    bool logs_incomplete;  /* a log file, or the console, is not whole */
    uint32_t *causes;      /* indices into ranks: the root cause, and what failed
                              together with it */
    size_t causes_count;
    const char *overrun;        /* which of `timeouts` ended it, in words; NULL */
    struct jr_hang_group *hang; /* what hung ranks did, the fewest first;
                                   NULL */
    uint32_t *odd;              /* indices into ranks: who differs from the others then */
    size_t odd_count;
    bool odd_silent;      /* only by having been silent longer */
    struct jr_fault *job; /* of each artifact, where that is the job's: how it
                             stands on this node; NULL: that decides alone */
    size_t job_count;
    struct jr_rank_judgement *ranks; /* outcome->count of them */
    size_t count;
};

/* Whether a rank is to blame because it ended with 0 and delivered nothing, while its peers still
 * needed it. */
bool jr_judgement_left(const struct jr_rank_judgement *rank);

/* The first rank in `state`, which represents all of them; `count`: there is none. */
size_t jr_judgement_first(const struct jr_judgement *report, enum jr_rank_state state);

/* When the whole run began, its first attempt: monotonic ns. */
uint64_t jr_judgement_began_ns(const struct jr_judgement *report, const struct jr_outcome *outcome);

/* The same by wall time: ns since the epoch. */
uint64_t jr_judgement_began_wall_ns(const struct jr_judgement *report,
                                    const struct jr_outcome *outcome);

struct jr_artifacts;

/* What the ranks have left, and where it is found. */
struct jr_left {
    int run_fd;                        /* the run folder */
    const struct jr_artifacts *before; /* see artifacts.h; NULL: nothing is
                                          remembered */
    json_t *const *deliveries;         /* of each rank whose own files are on another
                                          node: delivery.h; NULL: all are here */
    bool apart;                        /* others judge the run, which have files of their own */
};

/* Judge the outcome. */
int jr_judgement_make(struct jr_judgement *ret, const struct jr_plan *plan,
                      const struct jr_outcome *outcome, const struct jr_left *left,
                      struct jr_error *err);

/* The job ends because it stalled: that decides its exit status, and it is not to be continued. */
void jr_judgement_stall(struct jr_judgement *report, const struct jr_stall *stall);

/* Free what a judgement holds. */
void jr_judgement_release(struct jr_judgement *report);

/* A copy that has none of the values of `hidden` (NULL-terminated; NULL: there are none) in
 * anything that ranks said or delivered. It borrows the rest, and is released as the report is. -1
 * without memory. */
int jr_judgement_redact(struct jr_judgement *ret, const struct jr_judgement *report,
                        char *const *hidden);

/* Hide the plan's secrets in the error files of ranks, and find out whether the lines that are
 * quoted of their logs, which are the ranks' own, hold any. */
void jr_judgement_hide_files(struct jr_judgement *report, const struct jr_plan *plan, int run_fd);

/*
 * What a rank has delivered, as it is found on a node that has the rank's files for itself: such a
 * node judges that itself, and sends this to where the run is judged. It is a JSON object in which
 * what is nothing is left out:
 *
 *   {"result": {"loss": 0.1}, "error": "field", "reason": "...",
 *    "unwritten": true, "late_match": true, "pattern_limits": 1,
 *    "job": [null, {"error": "missing", "reason": "was not written"}]}
 *
 * `job` is how each of `artifacts` stands on the node, where that is the job's,
 * and null where it is well, or a rank's own.
 */

/* The object of rank `i`, which was judged; NULL where it has none: it did not end well. What it
 * was found to be only beside other ranks is left out: that is found again among all of them. The
 * caller's. */
json_t *jr_delivery_pack(const struct jr_judgement *report, size_t i);

#endif
