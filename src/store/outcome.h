/*
 * The outcome of a run: in memory that guard and runner share, so that what the runner wrote
 * survives the runner, and what can be asked of it.
 */
#ifndef JR_OUTCOME_H
#define JR_OUTCOME_H

#include <jobrun/run.h>

struct jr_shared {
    struct jr_outcome outcome; /* its `ranks` point into this mapping */
    struct jr_error error;     /* why the runner could not begin */
    bool began;                /* false: `error` says why not */
    bool finished;             /* the runner came to its end by itself */
    int32_t guard;             /* its pid */
    struct jr_rank_outcome ranks[];
};

/* Room for `count` ranks, zeroed; NULL with errno. */
struct jr_shared *jr_shared_new(uint32_t count);
/* NULL is allowed. */
void jr_shared_free(struct jr_shared *shared);

/* Whether a rank ended well: with 0, or, where it returned, by our hand. */
bool jr_outcome_is_well(const struct jr_rank_outcome *rank);

/* Whether a rank failed as one of an MPI world, however it ended: it left the others alone, called
 * MPI_Abort, had an error within MPI, or broke the protocol. */
bool jr_outcome_failed_mpi(const struct jr_rank_outcome *rank);

/* Whether a rank that ended with 0 by itself left the other ranks of its MPI world alone: it had
 * not finalized, or had never initialized while others had. One that jobrun stopped did not. */
bool jr_outcome_left_mpi(const struct jr_rank_outcome *rank);

/* What a program that is to be continued exits with: EX_TEMPFAIL of sysexits.h. */
#define JR_YIELD_CODE 75

/* Whether a rank that was warned of the deadline, or whose job was `preempted`, ended in a way that
 * may mean that it is to be continued: by its word, by the deadline's signal, or by the SIGTERM of
 * a scheduler that preempts it. */
bool jr_outcome_may_yield(const struct jr_rank_outcome *rank, bool preempted);

/* Whether a rank died of a SIGTERM that jobrun had not sent: of a preempted job it was the
 * scheduler's, which came before any warning. */
bool jr_outcome_cut_off(const struct jr_rank_outcome *rank);

/* A scheduler that ends a job signals all of its processes at once, jobrun's and the ranks', as
 * fast as it can on a busy machine: what a rank died of so shortly before jobrun was sent it, in
 * nanoseconds, was meant for both. */
#define JR_SHARE_NS UINT64_C(1000000000)

/* Whether one of jobrun's own two processes was killed. */
bool jr_outcome_lost(const struct jr_outcome *outcome);
/* The signal that it was killed by; 0: none, or the kernel did not say. */
int jr_outcome_lost_by(const struct jr_outcome *outcome);

/* The signal that ended a rank, in its own words (exit code 128 + N) or the kernel's, where jobrun
 * had not sent it one; 0. */
int jr_outcome_hit(const struct jr_outcome *outcome);

/* jobrun was sent `sig`, a while before `now_ns` (monotonic) at most: those of the `count` ranks
 * that it has ended by then were stopped with it. */
void jr_outcome_share(struct jr_rank_outcome *ranks, uint32_t count, int sig, uint64_t now_ns);

/* Mark all running ranks as ended by our SIGKILL, without further knowledge. */
void jr_outcome_kill(struct jr_outcome *outcome);

/* Note which streams of the plan's ranks have no log, in the run folder `fd`.
 */
void jr_outcome_note_logs(struct jr_outcome *outcome, const struct jr_plan *plan, int fd);

/* Copy what was recorded into `ret`, in memory of its own. -1 with ENOMEM. */
int jr_shared_copy(struct jr_outcome *ret, const struct jr_shared *shared);

/* The outcome of a run that did not begin: no rank was started. -1 with ENOMEM.
 */
int jr_outcome_none(struct jr_outcome *ret, const struct jr_plan *plan);

/* Free what an outcome holds. */
void jr_outcome_release(struct jr_outcome *outcome);

/* Why a rank whose end is JR_END_START could not start, in words that follow its stage's: "not
 * found in PATH". Static text. */
const char *jr_start_reason(const struct jr_plan_rank *rank, const struct jr_rank_outcome *outcome);

#endif
