/*
 * The session of jobrun.h, in six files: stages.c takes it from a text to a
 * plan, begin.c opens the run folder, attempts.c executes and judges,
 * write_judgement.c writes that down, run_report.c leads through all of it,
 * findings_text.c hands out what there is.
 *
 * What is written before the first rank starts is the spec, what it resolved
 * to, the plan and a record that says `running`; what is written at the end is
 * the judgement. A run folder without one was lost half-way.
 */
#ifndef JR_SESSION_H
#define JR_SESSION_H

#include <jobrun/jobrun.h>

#include "diag/diag.h"
#include "judge/judgement.h"
#include "judge/restart.h"
#include "output/replay.h"
#include "plan/planner.h"
#include "record/run_record.h"
#include "resolve/resolve.h"
#include "run/companion.h"
#include "run/guard.h"
#include "spawn/cgroup_tree.h"
#include "spec/load.h"
#include "store/outcome.h"
#include "store/run_folder.h"
#include "vcs/git.h"

struct jr_controller;

/* How far a session has come. */
enum jr_progress {
    JR_PROGRESS_OPEN,
    JR_PROGRESS_LOADED,
    JR_PROGRESS_RESOLVED,
    JR_PROGRESS_PLANNED,
    JR_PROGRESS_DONE
};

struct jr_session {
    struct jr_session_options options;
    enum jr_progress progress;
    struct jr_arena arena; /* of everything that has none of its own */
    struct jr_diags diags;
    struct jr_spec_file *file; /* before the stages, after the diags */
    const char *spec_name;     /* what the record calls it; NULL: nothing */
    bool facts;                /* hw is read */
    bool custom;               /* with what stands beside the spec */
    int *lease;                /* see jr_resolve_options; NULL: none */
    uint32_t lease_port;
    struct jr_host hw;
    struct jr_resolution resolution;
    struct jr_plan plan;
    struct jr_arena plans; /* that plan's, after the first attempt */
    uint32_t attempt;

    struct jr_controller *head; /* of several nodes; NULL: all ranks are here */
    bool part; /* or one node's, of a run that has a jobrun on each node */

    bool begun;
    struct jr_run_folder dir;
    bool replays; /* `replay` is open */
    struct jr_replay replay;
    struct jr_group group;
    struct jr_companion companion;
    struct jr_git git;
    struct jr_record_facts record;
    struct jr_artifacts *before;
    struct jr_outcome outcome;
    struct jr_error refusal; /* why the run could not begin; no text: it did */
    struct jr_judgement report;
    struct jr_history history;
    struct jr_rank_result *ranks; /* outcome.count of them */
    int exit_code;
};

/* What a stage found ends up in the order of positions; a failure is told in
 * `err`, by its first finding where it has one. Returns `status`. */
enum jr_status jr_session_end_stage(struct jr_session *session, size_t first,
                                    enum jr_status status,
                                    struct jr_error *err);

/* Go through the stages before the plan that have not been gone through. */
enum jr_status jr_session_settle(struct jr_session *session,
                                 struct jr_error *err);

/* Find out whether this is a `part`, which within a step of Slurm's has its run
 * id from there unless one was given; before the plan. */
void jr_session_find_part(struct jr_session *session);

/* The plan under `run_id`. */
enum jr_status jr_session_plan_as(struct jr_session *session,
                                  const char *run_id, struct jr_error *err);

/* The next attempt: the plan for it, and artifacts as they stand. Where that
 * cannot be, all stays as it was. */
enum jr_status jr_session_plan_again(struct jr_session *session,
                                     struct jr_error *err);

/* Launch and judge, attempt after attempt; attempts.c. The last one's outcome
 * and report stay in the session. */
int jr_session_attempts(struct jr_session *session,
                        const struct jr_session_console *console,
                        struct jr_error *err);

/* Reserve space on the disk for the judgement; write_judgement.c. */
void jr_session_reserve(const struct jr_session *session);

/* Complete the run folder; write_judgement.c. What cannot be written is told,
 * and is part of the judgement. */
void jr_session_write_judgement(struct jr_session *session);

/* The same, and fill session->ranks: nothing is left to be done; run_report.c.
 */
int jr_session_finish(struct jr_session *session, struct jr_error *err);

/* Write a file of the run folder and empty the buffer. 0 or -1. */
int jr_session_write(struct jr_session *session, const char *name,
                     struct jr_buf *bytes, struct jr_error *err);
int jr_session_write_plan(struct jr_session *session, struct jr_error *err);

/* Write a file piece by piece. */
typedef void jr_session_teller(struct jr_buf *out,
                               const struct jr_session *session,
                               const struct jr_drain *drain);
int jr_session_pour(const struct jr_session *session, int dir_fd,
                    const char *name, jr_session_teller *tell,
                    struct jr_error *err);

/* The same into an open file; 0, or -1 with errno. */
int jr_session_pour_fd(const struct jr_session *session, int fd,
                       jr_session_teller *tell);

/* What results.json has; findings_text.c. */
jr_session_teller jr_session_tell_results;
int jr_session_write_record(struct jr_session *session, struct jr_error *err);

/* Once the run has begun: from now on text can be printed there. Once. */
void jr_session_open_console(struct jr_session *session,
                             const struct jr_session_console *console);

/* Print text of our own to standard error, behind all that the console still
 * has to show, without waiting for it. False where there is no console of a
 * run, or no memory. */
bool jr_session_print(struct jr_session *session, const char *text, size_t len);

/* Show what is left: however long the console takes, or until a signal comes
 * that would stop the run, all of which are blocked. */
void jr_session_show_rest(struct jr_session *session);

/* Tell what stops nothing. */
void jr_session_note(const struct jr_session *session, const char *line);

/* The folder with the files of Python and library entrypoints, in `arena`: near
 * the program, else near the library. NULL: neither has it. */
const char *jr_support_find(struct jr_arena *arena);

/* For the program, which sees more than jobrun.h has: the facts, zeroed before
 * they are read, and the list of findings. */
const struct jr_host *jr_session_hw(const struct jr_session *session);
/* Facts that only people want: those of this machine, once it was read. */
void jr_session_more_facts(struct jr_session *session);
struct jr_diags *jr_session_findings(struct jr_session *session);

#endif
