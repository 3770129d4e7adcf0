/* What the files of this folder share: the steps of judgement.c. */
#ifndef JR_JUDGE_INTERNAL_H
#define JR_JUDGE_INTERNAL_H

#include "judge/judge.h"

/* Make the patterns and enums of the spec ready; fails on one that the spec should not have let
 * through. Release in any case. */
int jr_judge_init(struct jr_judge *judge, struct jr_error *err);

/* Free what was made ready. */
void jr_judge_release(struct jr_judge *judge);

/* A pattern for a log, where ^ and $ match at lines; one that begins with a verb of its own (*...)
 * stays as it is. NULL with `err`. */
struct jr_regex *jr_judge_regex(const char *pattern, struct jr_error *err);

/* Note that the file of rank `i` is `st`: that artifact, NULL for its result. */
void jr_judge_see(struct jr_judge *judge, size_t i, const char *artifact, const struct stat *st);

/* Whether rank `i` of the outcome must deliver. */
bool jr_judge_required(const struct jr_judge *judge, size_t i);

/* Whether rank `i` was warned of the deadline, ended with 0 and had nothing to deliver yet. What it
 * wrote and is wrong is a mistake. */
bool jr_judge_yielded(const struct jr_judge *judge, size_t i);

/* Note why rank `i` did not deliver; the first reason stays. Does nothing when the spec states no
 * results. */
void jr_judge_fault(struct jr_judge *judge, size_t i, enum jr_result_error error,
                    const char *format, ...) __attribute__((format(printf, 4, 5)));

/* cause.c: how each rank ended, and the root cause. */

/* The state of every rank by how it ended, and in judge->candidates those that may be the root
 * cause. */
void jr_cause_sort(struct jr_judge *judge);

/* Find the root cause: the first of the ranks that failed by themselves, and those that cannot be
 * told apart from it. A rank that ended with 0 and delivered nothing may be the cause, too, so this
 * is to be called once each rank's own delivery is known. */
void jr_cause_find(struct jr_judge *judge);

/* failure_order.c: which of the ranks that failed was first, and which cannot be told apart from
 * that. */

/* What a failure is, for the order of those whose times do not decide it: the lower comes first. */
enum jr_failure {
    JR_FAILURE_KILLED,   /* a signal that jobrun did not send, or no start */
    JR_FAILURE_OWN,      /* an exit code, an exception, SIGABRT */
    JR_FAILURE_LEFT,     /* it ended with 0, and owes its result */
    JR_FAILURE_LOST_PEER /* of a kind that only a lost peer causes */
};

/* A rank that may be the cause. Times are the outcome's, monotonic ns. */
struct jr_candidate {
    uint32_t i;
    uint32_t node;
    enum jr_failure failure;
    uint64_t from, until; /* its failure began between these */
};

/* The candidate for rank `i`, which failed or was stopped on its way out; `raised_ns` is when
 * its exception was raised; 0: there is none, or it does not say. */
struct jr_candidate jr_order_candidate(const struct jr_judge *judge, uint32_t i,
                                       uint64_t raised_ns);

/* The same for the end of a rank that ended with 0: when it told of that, or began to end. */
struct jr_candidate jr_order_end(const struct jr_judge *judge, uint32_t i);

/* Whether `a` surely failed, or ended, before `b`. */
bool jr_order_before(const struct jr_judge *judge, const struct jr_candidate *a,
                     const struct jr_candidate *b);

/* The first of them, none of which is before it; NULL for none. */
const struct jr_candidate *jr_order_first(const struct jr_candidate *candidates, size_t count);

/* Sort the candidates: the cause comes first, and after it those that cannot be distinguished from
 * it. Returns the number of these together. */
size_t jr_order_find(const struct jr_judge *judge, struct jr_candidate *candidates, size_t count);

/* results.c and pattern.c: what the ranks delivered. */

/* Find and parse what rank `i` delivered. */
void jr_result_find(struct jr_judge *judge, size_t i);

/* Whether it is a link that was made to what some earlier run, or attempt, has left. */
bool jr_result_is_old_link(const struct jr_judge *judge, const struct stat *st);

/* Once all files are noted (jr_judge_see): no file is the result, or the artifact, of two ranks. */
void jr_result_part(struct jr_judge *judge);

/* What reasons call a file: its last component when it lies in the run folder, the whole path
 * elsewhere. */
const char *jr_result_name(const char *path);

/* An object of the named groups of the last match in the log `path`, or NULL with the rank's fault
 * noted. Memory is bounded: a match may be 64 KiB long. `^` and `$` match at lines. */
json_t *jr_pattern_find(struct jr_judge *judge, size_t i, const char *path);

/* Whether the log `path` holds a match of `pattern`; NULL is no log. */
bool jr_pattern_holds(const char *pattern, int run_fd, const char *path);

/* result_checks.c and artifacts.c: what was delivered, held to the spec. */

/* Hold the result of rank `i` to `fields`. */
void jr_judge_fields(struct jr_judge *judge, size_t i);

/* Hold all ranks' results to `equal` and `distinct`. */
void jr_compare(struct jr_judge *judge);

/* Find out, before any rank is held to them, which artifacts are the job's. */
void jr_artifact_open(struct jr_judge *judge);

/* Hold rank `i` to those of `artifacts` that are its own. */
void jr_artifact_check(struct jr_judge *judge, size_t i);

/* Once all ranks are judged: hold them to those of the job. */
void jr_artifact_check_job(struct jr_judge *judge);

/* Why the result file of rank `i` is none of this run's: "is the one from before the start"; NULL:
 * it may be. It is open as `fd`, and `now` is how it stands. */
const char *jr_artifact_stale_result(const struct jr_judge *judge, size_t i, int fd,
                                     const struct stat *now);

/* judgement.c: what another node has found. */

/* What its node has found of the job's artifacts: one of `ret` for each of the spec's, with texts
 * that are borrowed. False: it does not say. */
bool jr_delivery_take_job(struct jr_fault *ret, const struct jr_judge *judge,
                          const json_t *delivery);

#endif
