/* Words and short sentences that several renderings share. */
#ifndef JR_WORDS_H
#define JR_WORDS_H

#include <sys/utsname.h>

#include "judge/judgement.h"

/* The status of a run by its word in jobrun/verdict.h: "failed". False, and
 * *ret untouched, if the word is none. */
bool jr_run_status_of(const char *word, enum jr_run_status *ret);

/* The same for the state of a rank: "after_first_failure". */
bool jr_rank_state_of(const char *word, enum jr_rank_state *ret);

/* The same for what is wrong with a result: "missing". */
bool jr_result_error_of(const char *word, enum jr_result_error *ret);

/* The same for the kind of a root cause: "exit". */
bool jr_cause_kind_of(const char *word, enum jr_cause_kind *ret);

/* How a rank ended, to follow its number: "exited with code 1", "died by SIGSEGV (core dumped)",
 * "was killed by SIGKILL, sender unknown". For a rank that could not start, the `error` of its
 * report is used. */
void jr_words_rank_end(struct jr_buf *out, const struct jr_rank_outcome *rank);

struct jr_stall;

/* "the last 2 attempts got no further than step 120". */
void jr_words_stall(struct jr_buf *out, const struct jr_stall *stall);

/* The word of a cause in `requeue.on`: "preempted"; of NONE, NULL. */
const char *jr_requeue_word(enum jr_requeue_cause cause);

/* The same the other way around; NONE where the word is none. */
enum jr_requeue_cause jr_requeue_of(const char *word);

/* What an attempt did that is to be continued: "stopped for the deadline", "was preempted before
 * its checkpoint". */
void jr_words_yield(struct jr_buf *out, enum jr_requeue_cause cause,
                    const struct jr_outcome *outcome);

/* Which of jobrun's own processes was killed: "jobrun's guard (pid 4711) was killed by SIGKILL".
 * Nothing where none was. */
void jr_words_lost(struct jr_buf *out, const struct jr_outcome *outcome);

/* Whether a rank that jobrun told to stop died by another signal than it was sent. */
bool jr_words_crashed(const struct jr_rank_outcome *rank);

/* The code that a rank was about to exit with when jobrun's stop ended it; 0:
 * that is not how it ended. */
int jr_words_cut_short(const struct jr_rank_outcome *rank);

/* The code by which a rank that failed is told to have exited, never 0; 0: it did not exit, but
 * died by a signal or could not start. Who left its MPI world with 0 has the code that jobrun has
 * for it. */
int jr_words_exit_code(const struct jr_rank_outcome *rank);

/* "rank 3" or "ranks 0-2,5", with the ranks ascending. */
void jr_words_ranks(struct jr_buf *out, const uint32_t *ranks, size_t count);

/* The option that a command needs to find the run of the folder LOG_DIR/ID; nothing where that is
 * where commands look by themselves. */
void jr_words_log_dir(struct jr_buf *out, const char *run_dir);

/* "model", "pipeline", "data", by enum jr_axis. */
const char *jr_words_axis(int axis);

/* The host of a node; where the plan does not know it, the machine `here`. */
const char *jr_words_host(const struct jr_plan *plan, uint32_t node, const struct utsname *here);

/* Wall time as seconds since the epoch, to the millisecond: what 15 digits hold, so that it is
 * written as it is read. */
double jr_words_wall(uint64_t ns);

#endif
