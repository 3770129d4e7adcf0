/*
 * What is said of a run in the end: how it went, each rank's part in it, and why. What it is said
 * of is the outcome of run.h.
 */
#ifndef JOBRUN_VERDICT_H
#define JOBRUN_VERDICT_H

#include <jobrun/error.h>

/* How a run went as a whole. */
#define JR_RUN_STATUSES(X)                                                                         \
    X(SUCCEEDED, "succeeded")                                                                      \
    X(FAILED, "failed")                                                                            \
    X(INCOMPLETE, "incomplete")                                                                    \
    X(TIMED_OUT, "timed_out")                                                                      \
    X(HUNG, "hung")                                                                                \
    X(STOPPED, "stopped")                                                                          \
    X(LAUNCH_FAILED, "launch_failed")                                                              \
    X(YIELDED, "yielded")

/* What is said of a rank in the end. */
#define JR_RANK_STATES(X)                                                                          \
    X(SUCCEEDED, "succeeded")                                                                      \
    X(FAILED, "failed")                                                                            \
    X(INCOMPLETE, "incomplete")                                                                    \
    X(AFTER_FIRST_FAILURE, "after_first_failure")                                                  \
    X(STOPPED, "stopped")                                                                          \
    X(NOT_STARTED, "not_started")                                                                  \
    X(YIELDED, "yielded")

/* What the root cause is. */
#define JR_CAUSE_KINDS(X)                                                                          \
    X(NONE, "none")                                                                                \
    X(EXIT, "exit")                                                                                \
    X(SIGNAL, "signal")                                                                            \
    X(OOM, "oom")                                                                                  \
    X(START, "start")                                                                              \
    X(HANG, "hang")                                                                                \
    X(TIMEOUT, "timeout")                                                                          \
    X(RESULT, "result")                                                                            \
    X(LOST_NODE, "lost_node")                                                                      \
    X(STALL, "stall")                                                                              \
    X(MPI, "mpi")                                                                                  \
    X(MPI_ABORT, "mpi_abort")                                                                      \
    X(SINGLETONS, "singletons")

/* Why what a rank delivered does not count. */
#define JR_RESULT_ERRORS(X)                                                                        \
    X(NONE, "none")                                                                                \
    X(MISSING, "missing")                                                                          \
    X(EMPTY, "empty")                                                                              \
    X(NOT_JSON, "not_json")                                                                        \
    X(FIELD, "field")                                                                              \
    X(UNEQUAL, "unequal")                                                                          \
    X(STALE, "stale")                                                                              \
    X(CHANGED, "changed")                                                                          \
    X(TOO_LARGE, "too_large")

#define JR_RUN_STATUS_ENUM(name, word)   JR_RUN_##name,
#define JR_RANK_STATE_ENUM(name, word)   JR_RANK_##name,
#define JR_CAUSE_KIND_ENUM(name, word)   JR_CAUSE_##name,
#define JR_RESULT_ERROR_ENUM(name, word) JR_RESULT_##name,
enum jr_run_status { JR_RUN_STATUSES(JR_RUN_STATUS_ENUM) };
enum jr_rank_state { JR_RANK_STATES(JR_RANK_STATE_ENUM) };
enum jr_cause_kind { JR_CAUSE_KINDS(JR_CAUSE_KIND_ENUM) };
enum jr_result_error { JR_RESULT_ERRORS(JR_RESULT_ERROR_ENUM) };

#ifdef __cplusplus
extern "C" {
#endif

/* The word of results.json for a value. Static. */
JR_API const char *jr_run_status_word(enum jr_run_status status);
/* The same for a rank's state. */
JR_API const char *jr_rank_state_word(enum jr_rank_state state);
/* The same for why a result does not count. */
JR_API const char *jr_result_error_word(enum jr_result_error error);
/* The same for what the root cause is. */
JR_API const char *jr_cause_kind_word(enum jr_cause_kind kind);

#ifdef __cplusplus
}
#endif

#endif
