/*
 * Judging a run: results found and checked, the root cause, one exit status;
 * and telling it, to people and to programs.
 */
#ifndef JR_REPORT_H
#define JR_REPORT_H

#include <jobrun/plan.h>
#include <jobrun/run.h>

#include "arena.h"
#include "buf.h"
#include "json.h"

#define JR_RUN_STATUSES(X)                                                     \
    X(SUCCEEDED, "succeeded")                                                  \
    X(FAILED, "failed")                                                        \
    X(INCOMPLETE, "incomplete")                                                \
    X(TIMED_OUT, "timed_out")                                                  \
    X(HUNG, "hung")                                                            \
    X(STOPPED, "stopped")                                                      \
    X(LAUNCH_FAILED, "launch_failed")

#define JR_RANK_STATES(X)                                                      \
    X(SUCCEEDED, "succeeded")                                                  \
    X(FAILED, "failed")                                                        \
    X(INCOMPLETE, "incomplete")                                                \
    X(AFTER_FIRST_FAILURE, "after_first_failure")                              \
    X(STOPPED, "stopped")                                                      \
    X(NOT_STARTED, "not_started")

#define JR_RESULT_ERRORS(X)                                                    \
    X(NONE, "none")                                                            \
    X(MISSING, "missing")                                                      \
    X(EMPTY, "empty")                                                          \
    X(NOT_JSON, "not_json")                                                    \
    X(FIELD, "field")                                                          \
    X(UNEQUAL, "unequal")                                                      \
    X(STALE, "stale")

#define JR_RUN_STATUS_ENUM(name, word)   JR_RUN_##name,
#define JR_RANK_STATE_ENUM(name, word)   JR_RANK_##name,
#define JR_RESULT_ERROR_ENUM(name, word) JR_RESULT_##name,
enum jr_run_status { JR_RUN_STATUSES(JR_RUN_STATUS_ENUM) };
enum jr_rank_state { JR_RANK_STATES(JR_RANK_STATE_ENUM) };
enum jr_result_error { JR_RESULT_ERRORS(JR_RESULT_ERROR_ENUM) };

struct jr_rank_report {
    enum jr_rank_state state;
    json_t *result; /* owned; NULL: none */
    enum jr_result_error result_error;
    const char *reason; /* "result.json: 'accuracy' is 0.41, less than 0.9" */
    const char *error;  /* its exception, or why it could not start; NULL */
    const char *where;  /* of the exception: "train.py:88 in step"; NULL */
    bool error_file;    /* its error.json is there and says so */
};

struct jr_report {
    struct jr_arena arena;
    enum jr_run_status status;
    int exit_code;
    const char *error;    /* why the run could not begin; NULL: it began */
    bool logs_incomplete; /* a log file, or the console, is not whole */
    uint32_t *causes;     /* indices into ranks: the root cause, and what failed
                             together with it */
    size_t causes_count;
    struct jr_rank_report *ranks; /* outcome->count of them */
    size_t count;
};

/* Artifacts as they stood before the start, to tell a stale one. */
struct jr_artifacts;
int jr_artifacts_before(struct jr_artifacts **ret, const struct jr_plan *plan,
                        struct jr_error *err);
void jr_artifacts_free(struct jr_artifacts *before);

/* Judge the outcome. `run_fd` is the run folder. */
int jr_report_make(struct jr_report *ret, const struct jr_plan *plan,
                   const struct jr_outcome *outcome,
                   const struct jr_artifacts *before, int run_fd,
                   struct jr_error *err);

void jr_report_release(struct jr_report *report);

/* results.json of the contract, one rank a line. */
void jr_report_json(struct jr_buf *out, const struct jr_report *report,
                    const struct jr_plan *plan,
                    const struct jr_outcome *outcome);

/* The few lines that a person reads at the end. `run_fd` is for the last lines
 * of stderr. */
void jr_report_print(struct jr_buf *out, const struct jr_report *report,
                     const struct jr_plan *plan,
                     const struct jr_outcome *outcome, int run_fd, bool color);

#endif
