/* What the files of this folder share: for them alone. */
#ifndef JR_SESSION_SWEEP_INTERNAL_H
#define JR_SESSION_SWEEP_INTERNAL_H

#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <jobrun/error.h>
#include <jobrun/types.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/json.h"
#include "base/strv.h"
#include "cluster/controller.h"
#include "eventloop/signals.h"
#include "record/prune.h"
#include "record/run_list.h"
#include "resolve/device_lease.h"
#include "session/left_files.h"
#include "session/internal.h"
#include "session/session_code.h"
#include "session/sweep/cell_needs.h"
#include "session/sweep/cell_session.h"
#include "session/sweep/node_cells.h"
#include "session/sweep/sweep_run.h"
#include "session/sweep/row_table.h"
#include "session/sweep/show_sweep.h"
#include "session/sweep/sweep_screen.h"
#include "store/run_folder.h"
#include "store/progress.h"
#include "sweep/journal.h"
#include "sweep/schedule.h"
#include "sweep/sweep_file.h"
#include "sweep/swept_spec.h"

struct jr_cell_process;
struct jr_sweep_run;

/*
 * A cell that was begun before a sweep is gone on with, and has no results: it may still come to
 * its end, or be lost.
 *
 * One that runs here is waited for. Of one on another machine, or in another container, nothing is
 * seen but what it writes. It is taken for lost where what ran it is known to be gone: the journal
 * says that its node was lost, the job of Slurm's in which it ran has ended, or the jobrun that led
 * the sweep ran on this machine, and has given up the lock of the journal. Agents end their cells
 * when their leader is gone, so that such a cell has its results after the grace of its stop, or
 * will never have any. Elsewhere a lock may be seen on its own machine only, and the cell is left
 * to its user.
 */

/* Who led the sweep before, as the journal tells it. */
struct jr_former_leader {
    char host[256];       /* "": not known */
    char job[32];         /* of Slurm's, in which it ran; "": in none, or not known */
    bool asked, job_over; /* Slurm was asked about it, and has ended it */
    double lost;          /* when a cell was lost last, since the epoch */
    uint64_t until_ns;    /* what it ran has come to its end by then; 0: that
                             was not needed yet */
};

/* What this process writes of itself for those that come after it; the texts are valid for as long
 * as the session. */
void jr_leader_of_now(const struct jr_sweep_run *run, struct jr_journal_line *ret);

/*
 * The code that the cells of a sweep execute: git is asked once for all of them, and again only
 * where a file has changed since. By the names of trees those cells are known that ran with other
 * code than there is now.
 */

struct jr_sweep_code {
    struct jr_session *session; /* of the first cell, which is not run */
    struct jr_known_code known;
    char tree[JR_GIT_HASH];      /* the name, as it was at last; "": not known */
    uint64_t looked_ns, wait_ns; /* for changes; after a question, for the next
                                    one */
};

/* Ask for the first time; the folder of the sweep is there. Where the first cell is in no work
 * tree, or its code cannot be recorded, nothing is known. */
void jr_sweep_code_open(struct jr_sweep_run *run);

/* A cell is about to begin: ask again if files have changed, and if the last time is long enough
 * ago. */
void jr_sweep_code_renew(struct jr_sweep_run *run);

/* Free it. */
void jr_sweep_code_close(struct jr_sweep_run *run);

/*
 * The devices of a sweep, which its cells share with other runs of the machine.
 *
 * Each cell has leases (resolve/device_lease.h) of the devices that it was
 * granted. The sweep takes them, before the process of the cell is made, and
 * both hold them: so they are held as long as anything of the cell lives, and
 * until the sweep has cleaned up behind it. What others hold, or wait for and
 * came earlier, is away for the schedule. A cell that lacks only such devices
 * waits for them in the queue (resolve/device_lease.h), as `--wait` does; once
 * it has them, the sweep's next one is behind all who wait by then. A cell
 * takes all of its devices at once, and a sweep that waits holds none for that:
 * two sweeps cannot wait for each other.
 */

/* The devices of the machine, in the order of its facts, and the wait for those that others
 * hold. */
struct jr_sweep_devices {
    struct jr_device_list list; /* a key is NULL: no cell may have the device */
    const char *around;         /* see jr_device_request */
    bool *gone;                 /* of each: it is not there any more */
    struct jr_arena arena;      /* of the request */
    struct jr_device_request request;
    struct jr_device_queue queue;
    uint32_t kind;     /* of the cell that waits */
    uint64_t since_ns; /* when it began to wait while nothing runs; 0: it does
                          not */
    bool told;         /* that it waits */
    bool again;        /* look again after a short time */
    bool over;         /* the time of --wait ran out, or what is left of the
                          devices is too little for some cells */
};

/* Name the devices of the session's machine that the cells may have, in its arena. */
void jr_sweep_devices_name(struct jr_device_list *ret, struct jr_session *session,
                           const struct jr_cell_needs *needs);

/* Append who holds some of the devices: "0, 1 are held by run x (pid 7)".
 * `without` (NULL: none) says which of them are not asked about. False: nobody
 * does, and nothing was appended. */
bool jr_sweep_devices_holders(struct jr_buf *out, const struct jr_device_list *list,
                              const bool *without, const char *around);

/* Begin: nobody waits. */
void jr_sweep_devices_open(struct jr_sweep_run *run);

/* Give back the place in the queue, and free it all. */
void jr_sweep_devices_close(struct jr_sweep_run *run);

/* See which devices are to be had, for the schedule. */
void jr_sweep_devices_look(struct jr_sweep_run *run);

/* Lease the devices that a cell was granted. False: somebody else was faster.
 */
bool jr_sweep_devices_take(struct jr_sweep_run *run, struct jr_cell_process *process);

/* Give them back. */
void jr_sweep_devices_give(struct jr_cell_process *process);

/* In the process of a cell: let go of all that is not its own. */
void jr_sweep_devices_keep(struct jr_sweep_run *run);

/* No other cell could begin. If that is for devices that others have, wait for them in the queue.
 * True: they can be had by now. */
bool jr_sweep_devices_await(struct jr_sweep_run *run);

/* The time at which to call that again, whatever happens (CLOCK_MONOTONIC); 0: none. */
uint64_t jr_sweep_devices_due(const struct jr_sweep_run *run);

/* Whether the facts have a device of that kind with that key. */
bool jr_device_is_there(const struct jr_host *host, const char *kind, const char *key);

/* A cell with devices did not deliver: see whether they are all still there, or
 * what its agent says of that. Those that are not are given to no other cell.
 */
void jr_sweep_devices_check(struct jr_sweep_run *run, const struct jr_cell_process *process);

/*
 * What comes back of the cells that ran on hosts which do not see the folder of the sweep
 * in records (left_files.h):
 *
 *   {"cell":7,"file":"results.json","size":712,"first":true,...}
 *   {"cell":7,"whole":true,"size":0}      nothing more follows of it
 *
 * Files gather in cells/.0007, which becomes cells/0007 when the cell is over:
 * so a cell of which not all has come is none that has run.
 */

/* What comes from a node. */
struct jr_cell_files {
    struct jr_left_stream stream;
    struct jr_sweep_run *run;
    uint32_t node;            /* of the sweep */
    bool any, whole;          /* something of a cell has come, and all of it */
    uint32_t number;          /* of that cell */
    struct jr_run_folder dir; /* where its files gather; -1: nowhere yet */
    uint32_t count;           /* of files that have come */
    int error;                /* why not all of it is here; EFBIG: it is more than the
                                 host was to send; 0 */
};

/* Nothing has come. */
void jr_cell_files_init(struct jr_cell_files *files, struct jr_sweep_run *run, uint32_t node);

/* Take bytes, which may end anywhere. What is no record, or is of a cell that does not run on the
 * node now, ends what is taken of it. */
void jr_cell_files_take(struct jr_cell_files *files, const char *bytes, size_t len);

/* The cell is over: what has come of it takes its place among the others, if that is all; if not,
 * it is removed, and the user told why where the reason is here. Another one may follow. */
void jr_cell_files_end(struct jr_cell_files *files, struct jr_cell_process *process);

/* The node is lost, or the sweep over: remove what is not whole. */
void jr_cell_files_drop(struct jr_cell_files *files);

/* Cells on a host that does not see the folder of its sweep are whole runs in one of their agent's
 * own (node_cells.h). What comes back of one is sent once it is over, by a process of
 * its own. */

/* Send what a cell of that folder has left, as far as `collect`, words with commas, says, to `fd`,
 * and that it is all. -1 with `err`. */
int jr_cell_send(const char *cells_dir, uint32_t number, const char *collect, int fd,
                 struct jr_error *err);

/*
 * The nodes of a sweep within an allocation, or its hosts: each has an agent, which
 * runs the cells that it is given. All agents are tasks of one step of Slurm's, or each is the
 * command of an ssh, and no cell starts another. The sweep hands out devices and cores; the agents
 * lease the devices, and wait where other runs have them.
 *
 * The agents of a step are a crew. Once one of them is lost, nothing can be sent to the others
 * (cluster/controller.h): their cells come to their end, and what is to begin does so by another
 * crew, on the nodes that are left. Hosts that ssh reaches are one crew to the end: who is lost is
 * left out.
 */

struct jr_sweep_crew {
    struct jr_sweep_run *run;
    struct jr_controller *controller;
    struct jr_cell_watcher watcher;
    uint32_t *nodes; /* of the sweep, by the numbers that the crew has */
    uint32_t count;
    bool starting;
};

struct jr_sweep_nodes {
    struct jr_sweep_crew **crews; /* the last one begins cells */
    size_t count;                 /* 0: cells of one node run here */
    char **hosts;                 /* of each node of the sweep */
    bool *lost;
    struct jr_cell_files *files; /* that come from each node */
    uint64_t synced_ns;          /* when the disk last had all of theirs */
    bool renews;                 /* the last crew has lost a node */
    bool told;                   /* that the cluster ends what runs */
    char token[JR_TOKEN_SIZE];   /* of the folders that hosts have made */
    int epoll_fd;                /* readable when agents have said something; -1: none can */
};

/* Begin, where the session has agents. */
void jr_sweep_nodes_open(struct jr_sweep_run *run);

/* Show what the console has not taken yet of what cells have printed, unless a signal comes by
 * which the policy means a stop. */
void jr_sweep_nodes_show_rest(struct jr_sweep_run *run, const struct jr_policy *policy);

/* Let them go. */
void jr_sweep_nodes_close(struct jr_sweep_run *run);

/* Whether a cell runs on one of them by its agent. */
bool jr_sweep_nodes_has(const struct jr_sweep_run *run, const struct jr_cell_process *process);

/* The cell of that number, if an agent runs it on that node of the sweep; NULL:
 * it does not. */
struct jr_cell_process *jr_sweep_nodes_find(struct jr_sweep_run *run, uint32_t node,
                                            uint32_t number);

/* Have an agent begin a cell. -1 with `err`. */
int jr_sweep_nodes_begin(struct jr_sweep_run *run, struct jr_cell_process *process,
                         struct jr_error *err);

/* Signal the cells there; `stop`: it stops runs. */
void jr_sweep_nodes_signal(struct jr_sweep_run *run, int sig, bool stop);

/* All cells were told to stop: a host that does not answer is given up, soon if that was said
 * `again`. */
void jr_sweep_nodes_hasten(struct jr_sweep_run *run, bool again);

/* Have the agent of a cell stop it alone. */
void jr_sweep_nodes_stop(struct jr_sweep_run *run, const struct jr_cell_process *process);

/* Where a cell is that runs on a host which does not see the folder of the sweep: the folder of its
 * cells there, in the cell's arena. NULL: it does. */
const char *jr_sweep_nodes_there(const struct jr_sweep_run *run, struct jr_cell_process *process);

/* When there is something to be done besides (CLOCK_MONOTONIC; 0: never). */
uint64_t jr_sweep_nodes_due(const struct jr_sweep_run *run);

/* Take what they have said: the processes of cells that are over say so. */
void jr_sweep_nodes_attend(struct jr_sweep_run *run);

/* A child has ended: it was theirs. */
bool jr_sweep_nodes_reap(struct jr_sweep_run *run, pid_t pid, int status);

/* Write the children that are theirs to `ret`, which has room for one more than there are nodes: an
 * srun for each crew, or an ssh for each host. Returns how many. */
size_t jr_sweep_nodes_children(const struct jr_sweep_run *run, pid_t *ret);

/* Whether another crew is on its way, for cells that wait. */
bool jr_sweep_nodes_are_awaited(const struct jr_sweep_run *run);

/* In the process of a cell: let go of them. */
void jr_sweep_nodes_leave(struct jr_sweep_run *run);

/* sweep.json as it stands: read back, with what has happened since. */

/* Open the folder LOG_DIR/ID of a sweep, which is no link; the caller's to close. -1 with errno:
 * there is none. */
int jr_sweep_open(const char *log_dir, const char *id);

/* Read the sweep LOG_DIR/ID: sweep.json, and of cells that the journal knows
 * more of what their own records say. Cells that began and have no results are
 * `running`, or, where nobody leads the sweep any more, `lost`. Of a sweep
 * whose cells are tasks of a job array, which write neither of the two files,
 * each cell is as its own folder says. NULL with `err`; the caller's. */
json_t *jr_load_sweep(const char *log_dir, const char *id, struct jr_error *err);

/* Whether the cells of a loaded sweep were handed to a scheduler, and no jobrun has led it since
 * then. *ret_job is the job, as `sbatch` prints it; NULL: it was never noted. */
bool jr_sweep_is_submitted(const json_t *sweep, const char **ret_job);

/* Whether every cell of a loaded sweep has ended. */
bool jr_sweep_is_over(const json_t *sweep);

/* The cells of a sweep as a table: what its file says, flat, with the columns and the order that
 * were asked for. */

struct jr_sweep_table {
    json_t *sweep; /* jr_load_sweep; owned */
    const char *log_dir, *id;
    struct jr_row_table rows; /* a name is "cell", "status", "seconds",
                                 "results.FIELD", or the path of an axis */
    json_t *fields;           /* the keys: the paths that cells have values of */
    const char *best_field;   /* its name in `rows`; NULL: there is none */
    bool best_is_max;
    json_int_t best; /* the number of the best cell; -1 */
};

/* Read LOG_DIR/ID, both borrowed. -1 with `err`. Close it in any case. */
int jr_sweep_table_open(struct jr_sweep_table *ret, const char *log_dir, const char *id,
                        enum jr_row_format format, struct jr_error *err);

/* Choose columns and order as the view says. -1 with `err`. */
int jr_sweep_table_arrange(struct jr_sweep_table *table, const struct jr_sweep_view *view,
                           struct jr_error *err);

/* Append the table. People see the best cell marked, and, where `view` has the word by which they
 * call the sweep, beside its usual columns why cells did not deliver. */
void jr_sweep_table_print(struct jr_buf *out, const struct jr_sweep_table *table,
                          const struct jr_sweep_view *view);

/* Append "23 of 24 delivered, 1 failed". */
void jr_sweep_table_count(struct jr_buf *out, const struct jr_sweep_table *table);

/* Append why a cell failed, by the record in its folder; nothing where it says nothing, or where
 * `dir_fd` is -1. */
void jr_sweep_cell_reason(struct jr_buf *out, int dir_fd);

/* Append why a cell did not deliver, by its own record: "rank 0   RuntimeError:
 * ..." False, and nothing, where it did, or has not ended. */
bool jr_sweep_table_reason(struct jr_buf *out, const struct jr_sweep_table *table,
                           const json_t *row);

/* Free it. */
void jr_sweep_table_close(struct jr_sweep_table *table);

/* A sweep that runs. */

/* A cell that runs. */
struct jr_cell_process {
    size_t cell;
    pid_t pid;                        /* of its guard; 0: that was killed */
    int exit_status;                  /* of the guard, as waitpid(2) has it */
    bool on_node;                     /* an agent runs it */
    const struct jr_sweep_crew *crew; /* whose; NULL */
    bool over, lost;                  /* it is over; and so because its node is lost */
    bool full;                        /* there was no room for what it has left there */
    int code;                         /* how it ended there, an exit status */
    const char *gone;                 /* of its devices there, those that are no more; NULL */
    json_t *progress;                 /* there, where its files are not here; NULL: not known */
    struct jr_arena arena;            /* of the grant and the leases */
    struct jr_grant grant;
    struct jr_device_lease *leases; /* of the devices that it was granted */
    uint32_t leases_count;
    uint64_t began_ns;
};

struct jr_sweep_run {
    struct jr_session *session; /* of the sweep */
    const struct jr_sweep_options *options;
    struct jr_cell_needs needs;
    struct jr_run_folder dir; /* of the sweep */
    int cells_fd;
    const char *cells_dir; /* absolute */
    const char *log_dir;   /* absolute */
    const char *name;
    struct jr_journal journal;
    struct jr_schedule schedule;
    struct jr_slots *slots; /* of each kind of needs */
    struct jr_sweep_devices devices;
    struct jr_sweep_nodes nodes;
    struct jr_sweep_code code;
    struct jr_record_machine machine; /* that the cells run on */
    char group_home[PATH_MAX];        /* of their control groups */
    struct jr_strv hosts;             /* names that states of cells have */
    struct jr_cell_state *states;     /* of each cell */
    bool *skips;                      /* cells that are not run */
    struct jr_cell_process *running;  /* room for as many as there can be */
    size_t running_count, running_most;
    struct jr_signals signals;
    int signal_fd;
    int stop_signal; /* the first that stops the sweep; 0 */
    uint32_t failed; /* cells, since it began or was resumed */
    size_t done, to_run;
    size_t kept;       /* cells that had delivered before */
    size_t other_code; /* those of them that ran with other code */
    json_t *former;    /* cells that the axes do not have any more; NULL */
    bool closing;      /* no other cell begins */
    bool ended;        /* with this exit status: */
    int exit_code;
    /* Of a sweep whose cells are handed to Slurm (submit_sweep.h): */
    bool submits;
    bool resumed;       /* its folder was there before */
    bool was_submitted; /* its cells were tasks of an array, */
    bool array_over;    /* which Slurm has ended */
    bool assumes;       /* each cell is resolved for a machine as it states it */
    const char *job;    /* the array; NULL: not known yet */
    struct jr_sweep_screen screen;
};

/* The members of one that has nothing open yet. */
#define JR_SWEEP_RUN_CLOSED                                                                        \
    .dir = JR_RUN_FOLDER_INIT, .cells_fd = -1, .devices = {.queue = JR_DEVICE_QUEUE_INIT},         \
    .nodes = {.epoll_fd = -1}, .journal = {.fd = -1}, .signal_fd = -1,                             \
    .screen = {.output = {.fd = -1}, .pipe = {-1, -1}}

/* sweep_folder.c */

/* Begin: no cell has been run. */
void jr_sweep_begin_states(struct jr_sweep_run *run);

/* The absolute path of the spec, malloc'ed; NULL: it is no file. */
char *jr_sweep_spec_path(const struct jr_sweep_run *run);

/* Make the folder of the cells in that of the sweep, or open it. 0 or -1. */
int jr_sweep_make_cells(struct jr_sweep_run *run, struct jr_error *err);

/* Write sweep.json as it is now. 0 or -1. */
int jr_sweep_write(struct jr_sweep_run *run, struct jr_error *err);

/* Open the folder of a cell. */
int jr_sweep_open_cell(const struct jr_sweep_run *run, size_t cell);

/* Read the record of a cell in the folder of that number into its state. False where it has no
 * results. */
bool jr_sweep_read_cell(struct jr_sweep_run *run, size_t cell);

/* Note in the journal that a cell has ended; `interrupted`: with the sweep. */
void jr_sweep_note_end(struct jr_sweep_run *run, size_t cell, bool interrupted);

/* The resolution of a cell's spec, for its experiment alone: no port is tried, so that one which is
 * in use now changes nothing. The file is the caller's to free. */
bool jr_sweep_resolve_cell(struct jr_sweep_run *run, struct jr_spec_file *file,
                           struct jr_resolution *ret);

/* The fingerprint that a cell has now, in `arena`; NULL: it has none. */
const char *jr_sweep_fingerprint(struct jr_sweep_run *run, size_t cell, struct jr_arena *arena);

/* sweep_resume.c */

/* Make the folder, or open that of the sweep that is gone on with, where the first cell says. */
enum jr_status jr_sweep_open_folder(struct jr_sweep_run *run, const struct jr_spec *first,
                                    struct jr_error *err);

/* sweep_run.c */

/* Free all of it. */
void jr_sweep_close(struct jr_sweep_run *run);

/*
 * Single cells that another jobrun tells to stop, by way of the jobrun that leads their sweep: it
 * alone reaches the machines that they run on. The word is a file, LOG_DIR/SWEEP_ID/.stop/0007, and
 * SIGCHLD has the leader look for it: that signal comes to it again and again, and does no harm to
 * anybody.
 */

/* In the leader: tell the cells to stop that somebody wants to. */
void jr_cell_stops_take(struct jr_sweep_run *run);

/* The same: forget what nobody has taken, as before the first cell begins. */
void jr_cell_stops_clear(const struct jr_sweep_run *run);

#endif
