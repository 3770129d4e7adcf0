/*
 * The session of jobrun.h: what its files share. attempts.c leads through all of it, executes and
 * judges; begin.c opens the run folder, multinode_session.c reaches other nodes, stages.c takes it
 * from a text to a plan, session_code.c keeps the code, on_end.c runs what is to follow,
 * foreground.c hands out what there is, and writing.c writes it down. Each calls only those that
 * are named behind it. node_session.c is a session on one of several nodes.
 *
 * What is written before the first rank starts is the spec, what it resolved to, the plan and a
 * record that says `running`; what is written at the end is the judgement. A run folder without one
 * was lost half-way.
 */
#ifndef JR_SESSION_INTERNAL_H
#define JR_SESSION_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <jobrun/error.h>
#include <jobrun/jobrun.h>
#include <jobrun/plan.h>
#include <jobrun/run.h>

#include "base/buf.h"
#include "base/io.h"
#include "base/json.h"
#include "base/strv.h"
#include "cluster/controller.h"
#include "diag/diag.h"
#include "judge/artifacts.h"
#include "judge/judgement.h"
#include "judge/restart.h"
#include "output/catch_up.h"
#include "plan/planner.h"
#include "record/record_code.h"
#include "record/record_facts.h"
#include "resolve/device_lease.h"
#include "resolve/job.h"
#include "resolve/resolve.h"
#include "run/companion.h"
#include "run/guard.h"
#include "session/session_code.h"
#include "spawn/cgroup_tree.h"
#include "spawn/keeper.h"
#include "spawn/slurm_job.h"
#include "spec/load.h"
#include "store/outcome.h"
#include "store/run_folder.h"
#include "vcs/copy_tree.h"
#include "vcs/git.h"
#include "vcs/run_tree.h"

struct jr_arena;
struct jr_code_archive;
struct jr_controller;
struct jr_copy;
struct jr_event;
struct jr_host;
struct jr_judgement;
struct jr_known_code;
struct jr_left_files;
struct jr_outcome;
struct jr_run_folder;
struct jr_run_options;
struct jr_session;
struct jr_spec_file;
struct jr_ssh;
struct jr_strv;
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

/* Machines that take the places of nodes that are lost. */
struct jr_spares {
    struct jr_placing placing;
    struct jr_controller_options options; /* of the first controller */
    uint32_t *known_as;                   /* of each machine: what the controller calls it */
    int stop_fd;                          /* readable once the run is to stop; 0, -1: not yet */
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
    struct jr_arena plans[2]; /* that plan's, after the first attempt, in the one that is not */
    unsigned spare;
    uint32_t attempt;
    struct jr_plan_mpi mpi; /* see session_mpi.h */
    bool mpi_found;
    const char *mpi_needed, *mpi_obstacle; /* the library of MPI that the
                                              program needs, and why it gets no
                                              world; NULL: none */

    /* Of several nodes; NULL: all ranks are here. */
    struct jr_controller *controller;
    struct jr_spares *spares;         /* NULL: it has none */
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

/* writing.c */

/* The findings of a stage are sorted by position; a failure is described in
 * `err`, by its first finding if it has one. Returns `status`. */
enum jr_status jr_session_end_stage(struct jr_session *session, size_t first, enum jr_status status,
                                    struct jr_error *err);

/* Give a failure on, or refuse a call: `err` is set, and its status returned. */
enum jr_status jr_session_fail(struct jr_error *err, const struct jr_error *why);
enum jr_status jr_session_misuse(struct jr_error *err, const char *why);

/* Tell what stops nothing. */
void jr_session_note(const struct jr_session *session, const char *line);

/* The same for those who call back, whose `data` is the session. */
void jr_session_note_line(void *data, const char *line);

/* The same of a text that was put together; nothing where it is empty, or there was no memory for
 * it. */
void jr_session_note_buf(const struct jr_session *session, const struct jr_buf *line);

/* Write a file of the run folder and empty the buffer. 0 or -1. */
int jr_session_write(struct jr_session *session, const char *name, struct jr_buf *bytes,
                     struct jr_error *err);

/* Write plan.json. 0 or -1. */
int jr_session_write_plan(struct jr_session *session, struct jr_error *err);

/* Write run.json, as the session's record has it. 0 or -1. */
int jr_session_write_record(struct jr_session *session, struct jr_error *err);

/* A function that appends a text of a session, `data`, to `out`, which `drain` may empty in
 * between: see jr_io_printed. */
typedef void jr_session_printer(struct jr_buf *out, const void *data, const struct jr_drain *drain);

/* What results.json has. */
jr_session_printer jr_session_print_results;

/* Write the file `name` in the folder `dir_fd` piece by piece. 0 or -1. */
int jr_session_stream(const struct jr_session *session, int dir_fd, const char *name,
                      jr_session_printer *print, struct jr_error *err);

/* Write the report as the results.json of the attempt, in its folder. An attempt without a rank has
 * none, and nothing to keep. What goes wrong is in `err`. */
void jr_session_keep_results(const struct jr_session *session, struct jr_error *err);

/* Add a line to events.jsonl. */
void jr_session_add_event(const struct jr_session *session, const struct jr_event *event);

/* stages.c */

/* Read the facts about devices that lie beside a spec of this machine, once. */
enum jr_status jr_session_read_devices(struct jr_session *session, const struct jr_spec_file *file);

/* The same, of the folder and the device that a spec has; `at`: where it says which. */
enum jr_status jr_session_read_custom(struct jr_session *session, const char *folder,
                                      const char *device, struct jr_span at);

/* Find out whether this is a `part`, which within a step of Slurm's has its run id from there
 * unless one was given; before the plan. */
void jr_session_find_part(struct jr_session *session);

/* The plan under `run_id`. */
enum jr_status jr_session_plan_as(struct jr_session *session, const char *run_id,
                                  struct jr_error *err);

/* Prepare the next attempt: its plan, and the present state of the artifacts. If that fails,
 * nothing is changed. */
enum jr_status jr_session_plan_again(struct jr_session *session, struct jr_error *err);

/* Whether the name or address at which the ranks of nodes that are started by hand meet means
 * anything here; a warning is noted where this is node 0, and it is another machine's. Not asked
 * with --local, for a profile, or where a controller leads. -1 with `err`. */
int jr_session_check_meeting(struct jr_session *session, struct jr_error *err);

/* Sleep until it is the turn of a place in the queue. Returns 0; a signal that stops runs by the
 * policy, all of which are blocked; or -1 where that moment is over (CLOCK_MONOTONIC; UINT64_MAX:
 * there is none). */
int jr_session_sleep_in_queue(struct jr_device_queue *queue,
                              const struct jr_device_request *request,
                              const struct jr_policy *policy, uint64_t until_ns);

/* Whether the ranks of a spec that is loaded are to be started by ssh; the second: or the cells of
 * a sweep. */
bool jr_ssh_session_is(const struct jr_session *session);
bool jr_ssh_session_has(const struct jr_session *session);

/* Have the job, which is resolved, on the nodes as they are placed. -1 without memory. */
int jr_spares_place(struct jr_session *session, struct jr_error *err);

/* requeue.c */

/* Find out whether the session is a job of Slurm's that this jobrun leads, and which. Once it is
 * resolved. */
void jr_requeue_find_job(struct jr_session *session);

/* Whether ranks begin with SIGTERM ignored: Slurm sends it to all processes of a job that it
 * preempts, before jobrun can send the deadline's signal. */
bool jr_requeue_shields(const struct jr_session *session);

/* Whether the run is the job's own, with its number, whose next start goes on with it. That of a
 * cell which was submitted always is: it has one folder. */
bool jr_requeue_keeps_run(const struct jr_session *session);

/* Ask for the job's place in the queue. NULL, or why it was not queued again. A call that Slurm has
 * ended with the job may have come through. */
const char *jr_requeue_queue_again(struct jr_session *session);

/* on_end.c */

/* Start the command of the session's spec, if it has one: the judgement is written. It runs beside
 * whatever the session does until jr_on_end_await. A failure is noted. */
void jr_on_end_start(struct jr_session *session);

/* Wait for its end, and note what went wrong. With `stoppable` a signal that
 * would stop the run ends the command. Where none was started, nothing is done.
 */
void jr_on_end_await(struct jr_session *session, bool stoppable);

/* Warn, as a finding, where the program is not there by now. */
void jr_on_end_check(struct jr_session *session);

/* multinode_session.c */

/* Whether this is the shell or the script of an allocation of several nodes, whose facts are read,
 * so that ranks can be on all of them. */
bool jr_session_leads_allocation(const struct jr_session *session);

/* Whether options ask for what only one terminal, or one machine, can give. */
bool jr_session_is_local_only(const struct jr_session *session);

/* In such a one, or over ssh: start an agent on each of its nodes, for the cells of a sweep, of
 * which `like` is one. Notes how many there are. It may take its time, as above. */
enum jr_status jr_session_connect_cell_agents(struct jr_session *session,
                                              const struct jr_spec_file *like,
                                              struct jr_error *err);

/* The same once more, on those of them that are named in *hosts, which lives as long as the
 * session; without waiting: jr_controller_start. */
int jr_session_renew_cell_agents(struct jr_controller **ret, struct jr_session *session,
                                 const struct jr_strv *hosts, struct jr_error *err);

/* This very program, where nodes see it too. */
const char *jr_session_own_program(struct jr_session *session);

/* An agent's environment variables about devices of the user's own kind: their
 * name, such as `custom:acme`, and where their facts are. Ranks do not see it.
 */
#define JR_AGENT_DEVICE "JOBRUN_AGENT_DEVICE"
#define JR_AGENT_FOLDER "JOBRUN_AGENT_FOLDER"

/* Another: which node each task of the step has, "0,3,1,2". Unset: they are in order. */
#define JR_AGENT_PLACES "JOBRUN_AGENT_PLACES"

/* One attempt on all nodes, as jr_run does it on one. */
int jr_session_run_nodes(struct jr_session *session, const struct jr_run_options *options,
                         struct jr_error *err);

/* Another port for the next attempt, where it is not stated. -1 if there is no next attempt, with
 * why. */
int jr_session_renew_nodes(struct jr_session *session, struct jr_error *err);

/* The facts of a node, as its agent has told them, in `arena`. -1 with `err`:
 * they cannot be believed, or its clock is too far off. */
int jr_session_read_node(struct jr_session *session, uint32_t node, struct jr_host *ret,
                         struct jr_arena *arena, struct jr_error *err);

/* A clock with a larger error than the first is told of; one with an error that Slurm's own
 * credentials do not tolerate (munge.conf(5): ttl) is refused. */
#define JR_CLOCK_TOLD_NS (UINT64_C(10) * 1000000000)
#define JR_CLOCK_MOST_NS (UINT64_C(300) * 1000000000)

/* The agents have not taken the spec, as `err` says: start again on others where one of them is
 * lost, until all have. -1 with `err` where that is not possible. */
int jr_spares_settle(struct jr_session *session, struct jr_error *err);

/* Note which spares were lost meanwhile, and what is left out in the report. */
void jr_spares_report(struct jr_session *session);

/* Release what it holds. */
void jr_spares_release(struct jr_session *session);

/* Check the hosts of a spec, and complete what a controller has to know of them. -1 with `err`
 * where there are none, or too few. */
int jr_ssh_session_prepare(struct jr_session *session, const struct jr_spec_file *file,
                           struct jr_controller_options *ret, struct jr_error *err);

/* Free what only that has needed. */
void jr_ssh_session_release(struct jr_session *session);

/* session_mpi.c */

/* Fill session->mpi once, before the first plan. What the spec states and this session cannot do is
 * an error (JR_STATUS_UNRESOLVED; without the library of PMIx JR_STATUS_LAUNCH), and so is a wish
 * that several libraries could mean; what the program would need, and does not get, is a
 * warning. */
enum jr_status jr_session_find_mpi(struct jr_session *session);

/* The word of a protocol: "pmi1". */
const char *jr_session_mpi_word(enum jr_mpi_protocol protocol);

/* The controller's: take what the agents have found in place of that. They have to agree. -1 with
 * `err`. */
int jr_session_take_node_worlds(struct jr_session *session, struct jr_error *err);

#endif
