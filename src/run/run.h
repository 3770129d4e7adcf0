/*
 * Executing a plan: guard and runner.
 *
 * The process that calls jr_run becomes the guard: it forks the runner, relays
 * signals to it, and when the runner is SIGKILLed it ends and reaps whatever
 * the run left. The runner starts the ranks, moves their output, stops them,
 * and ends them should the guard die.
 */
#ifndef JR_RUN_H
#define JR_RUN_H

#include <signal.h>

#include <jobrun/run.h>

/* Files of an attempt's folder, beside the ranks' folders: all that the setup
 * prints, and all that the helper does. */
#define JR_SETUP_LOG  "setup.log"
#define JR_HELPER_LOG "helper.log"

/* The folder, below the run's, of what is a node's own and not one rank's,
 * where a run has several nodes: the files above lie in its attempt's folder.
 */
#define JR_NODE_DIR "node_%u"

struct jr_companion;
struct jr_group;
struct jr_replay;
struct jr_rundir;

/* What ties a run on one node to the others of its job, where it is one of
 * several: what happens is told there, line by line, and in no events.jsonl;
 * and orders come from there, a byte each. The end of the orders is a stop. */
struct jr_run_link {
    int events_fd;
    int orders_fd;
};

/* End the ranks, for another node does (what the user sends comes as a signal);
 * all ranks of all nodes have returned, so that they may go
 * (`exit_barrier`); some rank of some node has ended well (`after_first_exit`
 * counts from then); tell for how long all have been silent; that was too long,
 * on every node (`silence`). */
#define JR_ORDER_STOP    's'
#define JR_ORDER_RELEASE 'r'
#define JR_ORDER_FIRST   'f'
#define JR_ORDER_QUERY   'q'
#define JR_ORDER_HANG    'h'

struct jr_run_options {
    struct jr_rundir *dir;
    const struct jr_group *group; /* the run's control group; NULL: none */
    int in_fd;          /* for the rank whose input says so; -1: /dev/null */
    int out_fd, err_fd; /* console; -1: closed, lines go nowhere */
    bool live;          /* err_fd is a terminal that wants a status line */
    bool color;
    sigset_t ignored;         /* signals that were ignored on entry (nohup) */
    struct jr_replay *replay; /* goes on with the console after the run; NULL:
                                 jr_run does not return before all is shown */
    const struct jr_run_link *link; /* NULL: the run is whole by itself */
    struct jr_companion *companion; /* who writes the record when the caller
                                       was killed; NULL: nobody */
};

/* Run the plan to its end: returns 0 and an outcome for whatever happened to
 * the ranks, or -1 when the run itself could not begin. The caller should have
 * one thread and no children of its own, for they are ended with the run;
 * SIGCHLD and the signals of the contract are blocked during the call and
 * restored after it. Where the options have a companion, one process is left:
 * jr_companion_release. Free with jr_outcome_release. */
int jr_run(struct jr_outcome *ret, const struct jr_plan *plan,
           const struct jr_run_options *options, struct jr_error *err);

/* The outcome of a run that did not begin: no rank was started. -1 with ENOMEM.
 */
int jr_outcome_none(struct jr_outcome *ret, const struct jr_plan *plan);

void jr_outcome_release(struct jr_outcome *outcome);

/* Why a rank whose end is JR_END_START could not start, in words that follow
 * its stage's: "not found in PATH". Static text. */
const char *jr_start_reason(const struct jr_plan_rank *rank,
                            const struct jr_rank_outcome *outcome);

#endif
