/* What the files of sweep_run.h share: for them alone. */
#ifndef JR_SWEEP_RUN_PARTS_H
#define JR_SWEEP_RUN_PARTS_H

#include <limits.h>
#include <signal.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/strv.h"
#include "eventloop/signals.h"
#include "session/session.h"
#include "session/sweep/cell_needs.h"
#include "session/sweep/sweep_code.h"
#include "session/sweep/sweep_devices.h"
#include "session/sweep/sweep_nodes.h"
#include "session/sweep/sweep_output.h"
#include "session/sweep/sweep_run.h"
#include "store/progress.h"
#include "sweep/journal.h"
#include "sweep/schedule.h"
#include "sweep/sweep_file.h"
#include "sweep/swept_spec.h"

/* A cell that runs. */
struct jr_cell_process {
    size_t cell;
    pid_t pid;                        /* of its guard; 0: that was killed */
    int exit_status;                  /* of the guard, as waitpid(2) has it */
    bool on_node;                     /* an agent runs it: sweep_nodes.h */
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

enum { JR_SCREEN_LINES = 256 };

/* See sweep_screen.h. */
struct jr_sweep_screen {
    struct jr_sweep_output output;
    int pipe[2]; /* through which the cells print; -1: they have a console */
    bool draws;  /* the lines */
    bool utf8;
    struct jr_buf notes;            /* what has come through the pipe */
    size_t widths[JR_SCREEN_LINES]; /* of the lines that are drawn */
    size_t count;
    uint64_t drawn_ns, due_ns;
    struct jr_progress *progress;               /* room for a cell's; NULL: there was none */
    void (*note)(void *data, const char *line); /* of the session's options */
    void *data;
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
    sigset_t mask; /* as it was */
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

/* sweep_begin.c */

/* Find the needs, check all cells, and make the folder. */
enum jr_status jr_sweep_begin(struct jr_sweep_run *run, struct jr_error *err);

/* Begin: no cell has been run. */
void jr_sweep_begin_states(struct jr_sweep_run *run);

/* Make the folder, or open that of the sweep that is gone on with, where the first cell says. */
enum jr_status jr_sweep_open_folder(struct jr_sweep_run *run, const struct jr_spec *first,
                                    struct jr_error *err);

/* Free all of it. */
void jr_sweep_close(struct jr_sweep_run *run);

/* The absolute path of the spec, malloc'ed; NULL: it is no file. */
char *jr_sweep_spec_path(const struct jr_sweep_run *run);

/* Make the folder of the cells in that of the sweep, or open it. 0 or -1. */
int jr_sweep_make_cells(struct jr_sweep_run *run, struct jr_error *err);

/* Write sweep.json as it is now. 0 or -1. */
int jr_sweep_write(struct jr_sweep_run *run, struct jr_error *err);

/* sweep_resume.c */

/* Open the sweep that the options name, and decide which of its cells run. 0; with *ret_found false
 * where there is none, which was noted; -1 with `err`. */
int jr_sweep_resume(struct jr_sweep_run *run, enum jr_log_mode mode, bool *ret_found,
                    struct jr_error *err);

/* The fingerprint that a cell has now, in `arena`; NULL: it has none. */
const char *jr_sweep_fingerprint(struct jr_sweep_run *run, size_t cell, struct jr_arena *arena);

/* cell_process.c */

/* Begin a cell; -1 with `err` where no process can be made. */
int jr_cell_process_start(struct jr_sweep_run *run, struct jr_cell_process *process,
                          struct jr_error *err);

/* sweep_loop.c */

/* Run all cells to their end, or to that of the sweep. */
void jr_sweep_loop(struct jr_sweep_run *run);

/* sweep_end.c */

/* Take over what became of a cell, note it, and tell it. Returns whether it has delivered. */
bool jr_sweep_take_cell(struct jr_sweep_run *run, const struct jr_cell_process *process);

/* Note in the journal that a cell has ended; `interrupted`: with the sweep. */
void jr_sweep_note_end(struct jr_sweep_run *run, size_t cell, bool interrupted);

/* Read the record of a cell in the folder of that number into its state. False where it has no
 * results. */
bool jr_sweep_read_cell(struct jr_sweep_run *run, size_t cell);

/* The same name of a machine for as long as the run; NULL without memory. */
const char *jr_sweep_keep_host(struct jr_sweep_run *run, const char *host);

/* Write the record of the sweep, tell the end, and return the exit status. */
int jr_sweep_end(struct jr_sweep_run *run);

#endif
