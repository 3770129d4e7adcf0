/*
 * One rank while it runs: a state x event table, every cell filled.
 */
#ifndef JR_RANK_STATE_H
#define JR_RANK_STATE_H

#include <stdbool.h>
#include <sys/types.h>

#include <jobrun/plan.h>
#include <jobrun/run.h>

#include "base/buf.h"
#include "eventloop/loop.h"
#include "run/policies/exit_barrier.h"

#define JR_LIFE_STATES(X)                                                                          \
    X(WAITING, "waiting") /* not started yet */                                                    \
    X(RUNNING, "running")                                                                          \
    X(SUSPENDED, "suspended") /* by SIGSTOP, for jobrun was */                                     \
    X(STOPPING, "stopping")   /* was told to end; the grace runs */                                \
    X(KILLING, "killing")     /* got SIGKILL */                                                    \
    X(ENDED, "ended")

#define JR_RANK_EVENTS(X)                                                                          \
    X(STARTED, "started")                                                                          \
    X(UNSTARTED, "unstarted") /* could not be started, or shall not be */                          \
    X(EXIT, "exit")           /* its process ended and was reaped */                               \
    X(STOP, "stop")                                                                                \
    X(KILL, "kill")                                                                                \
    X(SUSPEND, "suspend")                                                                          \
    X(RESUME, "resume")                                                                            \
    X(FORWARD, "forward") /* a signal that is the rank's business */                               \
    X(ASK, "ask")         /* a signal for evidence of a hang; see hang.c */

#define JR_LIFE_ENUM(name, word)       JR_LIFE_##name,
#define JR_RANK_EVENT_ENUM(name, word) JR_RANK_ON_##name,
enum jr_life { JR_LIFE_STATES(JR_LIFE_ENUM) JR_LIFE_COUNT };
enum jr_rank_event { JR_RANK_EVENTS(JR_RANK_EVENT_ENUM) JR_RANK_EVENT_COUNT };

struct jr_runner;

struct jr_rank_run {
    struct jr_runner *runner;
    struct jr_watch watch;   /* its pidfd, or a stand-in; -1: it is reaped */
    struct jr_watch control; /* its control socket; see exit_barrier.c */
    struct jr_watch line;    /* its life line; see first_failure.c */
    enum jr_function_end function_end;
    uint64_t leave_by;   /* when it must have ended; 0: no such time */
    uint64_t reach_by;   /* when it must have reached its function; 0 */
    bool other_released; /* a process that is not the rank got its answer */
    enum jr_life state;
    bool announced; /* it told that it fails, before it let go of anything */
    bool group;     /* the stop signal goes to its whole process group */
    bool shielded;  /* it began with SIGTERM ignored */
    pid_t pid;      /* leader of its session and group, not reaped */
    const struct jr_plan_rank *plan;
    struct jr_rank_outcome *outcome;
};

/* Let `event` happen to the rank. `sig` is what STOP, FORWARD and ASK send. Returns whether the
 * rank's state changed. */
bool jr_rank_handle(struct jr_rank_run *rank, enum jr_rank_event event, int sig);

/* Take the end of the rank's process, once its pidfd is readable, into the outcome. False while
 * there is none. */
bool jr_rank_reap(struct jr_rank_run *rank);

/* The word of a state: "running". */
const char *jr_life_word(enum jr_life state);

/* Append the table as text: a row per state, a column per event. */
void jr_rank_table_print(struct jr_buf *out);

#endif
