/*
 * The session of jobrun.h: what its files share. stages.c takes it from a text to a plan, begin.c
 * opens the run folder, attempts.c leads through all of it, executes and judges, write_judgement.c
 * writes that down, on_end.c runs what is to follow, findings_text.c hands out what there is. Each
 * has a header of its own.
 *
 * What is written before the first rank starts is the spec, what it resolved to, the plan and a
 * record that says `running`; what is written at the end is the judgement. A run folder without one
 * was lost half-way.
 */
#ifndef JR_SESSION_H
#define JR_SESSION_H

#include <jobrun/jobrun.h>

#include "diag/diag.h"
#include "judge/artifacts.h"
#include "judge/judgement.h"
#include "judge/restart.h"
#include "output/replay.h"
#include "plan/planner.h"
#include "record/record_facts.h"
#include "record/record_facts.h"
#include "resolve/resolve.h"
#include "run/companion.h"
#include "run/guard.h"
#include "session/session_freeze.h"
#include "spawn/cgroup_tree.h"
#include "spawn/keeper.h"
#include "spawn/slurm_job.h"
#include "spec/load.h"
#include "store/outcome.h"
#include "store/run_folder.h"
#include "vcs/run_tree.h"

struct jr_controller;
struct jr_copy;
struct jr_known_code;
struct jr_left_files;
struct jr_spares;
struct jr_swept_spec;

/* How far a session has come. */
enum jr_session_progress {
    JR_PROGRESS_OPEN,
    JR_PROGRESS_LOADED,
    JR_PROGRESS_RESOLVED,
    JR_PROGRESS_PLANNED,
    JR_PROGRESS_DONE
};

/* The command of `on_end`. */
struct jr_on_end {
    struct jr_keeper keeper; /* without a pid it does not run */
    int unlogged;            /* why its output is lost, an errno; 0: it is not */
    bool deferred;           /* who runs the session waits for its end */
};

struct jr_session {
    struct jr_session_options options;
    enum jr_session_progress progress;
    struct jr_arena arena; /* of everything that has none of its own */
    struct jr_diags diags;
    /* Takes what is printed, so that nobody waits for standard error; NULL:
     * nothing does, or the console of the run (`replay`). */
    bool (*printer)(void *data, const char *text, size_t len);
    void *printer_data;
    const char *hosts_set;            /* what --hosts became; NULL: it is not given */
    struct jr_spec_file *file;        /* before the stages, after the diags */
    const char *spec_name;            /* what the record calls it; NULL: nothing */
    struct jr_swept_spec *swept;      /* that the spec is a cell of; NULL: none */
    struct jr_spec_file **cell_files; /* that findings and facts quote */
    size_t cell_files_count;
    const char *cell;               /* its number; NULL: it is none */
    const char *sweep_id;           /* of the sweep that runs it; NULL: none does */
    bool facts;                     /* `host` is read */
    const char *cells_dir;          /* absolute: where that has its cells */
    const char *cell_run_id;        /* its run id among those of all sweeps */
    const char *fingerprint;        /* as who leads the sweep has found it, where the
                                       work tree may be another one; NULL: to be found
                                     */
    struct jr_device_lease *leases; /* see jr_resolve_options */
    uint32_t leases_count;
    const struct jr_record_machine *machine; /* of it; NULL: to be read */
    const char *group_home;                  /* see jr_group_make_in; NULL: to be found */
    struct jr_known_code *known_code;        /* of the sweep, in a process of its own;
                                                NULL: none */
    bool submitted;                          /* a cell that is a job of a scheduler's */
    bool custom;                             /* with the facts beside the spec */
    int *lease;                              /* see jr_resolve_options; NULL: none */
    uint32_t lease_port;
    struct jr_host host;
    struct jr_host *cell_hosts; /* of the nodes of a sweep, which an agent is on
                                   each of: sweep/sweep_run.h; NULL: this machine */
    uint32_t cell_hosts_count;
    bool cells_by_ssh;             /* these are `hosts` */
    struct jr_session *first_cell; /* of the sweep, resolved: for its code;
                                      NULL: none wants that */
    bool placed;                   /* a cell of one node, which an agent runs on it */
    struct jr_resolution resolution;
    struct jr_plan plan;
    struct jr_arena plans; /* that plan's, after the first attempt */
    uint32_t attempt;
    struct jr_plan_mpi mpi; /* see session_mpi.h */
    bool mpi_found;
    const char *mpi_needed, *mpi_obstacle; /* the library of MPI that the
                                              program needs, and why it gets no
                                              world; NULL: none */

    /* Of several nodes; NULL: all ranks are here. */
    struct jr_controller *controller;
    struct jr_spares *spares;         /* spares.h; NULL: it has none */
    struct jr_copy *copy;             /* for hosts without the program; NULL: none is made */
    bool part;                        /* or one node's, of a run that has a jobrun on each node */
    bool apart;                       /* or an agent's, which has a run folder of its own */
    const char *code_top, *code_name; /* of the copy of the code that such one
                                         has got: see jr_frozen; NULL */
    struct jr_left_files *left;       /* of such agents: left_files.h; NULL */
    json_t *const *deliveries;        /* of their ranks: see jr_left */

    struct jr_slurm_self slurm; /* without a job it is none of Slurm's */
    bool over;                  /* there is nothing left of it to run */
    bool due;                   /* it is to be queued again */
    json_t *earlier;            /* the record of the start before; NULL: none */
    bool begun;
    struct jr_run_folder dir;
    bool replays; /* `replay` is open */
    struct jr_replay replay;
    struct jr_group group;
    struct jr_companion companion;
    struct jr_run_tree run_tree;
    struct jr_frozen frozen;
    struct jr_record_facts record;
    json_t *values; /* of the spec, for that; NULL: not yet */
    struct jr_artifacts *before;
    struct jr_outcome outcome;
    struct jr_error refusal; /* why the run could not begin; no text: it did */
    struct jr_judgement report;
    struct jr_history history;
    struct jr_rank_result *ranks; /* outcome.count of them */
    int exit_code;
    struct jr_on_end on_end;
};

#endif
