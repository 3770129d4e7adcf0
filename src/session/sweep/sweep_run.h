/*
 * Running a sweep: its cells, each a run of its own, as many at once as the machine has room for.
 *
 *   sweep_run.c     one loop that begins cells, each in a process that is forked, and sees them end
 *   sweep_folder.c  its folder: sweep.json, the records of cells, and their code
 *   sweep_resume.c  the folder of a sweep that is gone on with
 *   cell_session.c  what is a cell's of its process, and of its session
 *   sweep_nodes.c   the same on a node of an allocation, by its agent
 *   sweep_devices.c which devices its cells get, beside other runs
 *   sweep_screen.c  the lines that a terminal shows meanwhile
 *
 * The process that leads the sweep runs nothing itself. Each cell is a fork of it, which becomes
 * the guard of a run as any other, with a runner of its own. When the leader is killed, the kernel
 * kills the guards (PR_SET_PDEATHSIG), and each runner ends its run and writes its record, as it
 * does for any guard. When a guard is killed, its runner does the same, and the leader, a
 * subreaper, waits for it; when both are killed, the leader ends what they left.
 */
#ifndef JR_SWEEP_RUN_H
#define JR_SWEEP_RUN_H

#include <sys/types.h>

#include <jobrun/jobrun.h>

/* Where a sweep is written down. */
struct jr_sweep_place {
    const char *id;
    int dir_fd; /* its folder */
    mode_t file_mode;
};

/* What the command line says of a sweep. */
struct jr_sweep_options {
    uint32_t parallel;  /* cells at once at most; 0: what the spec says */
    const char *resume; /* the id of a sweep to go on with; "": the latest of
                           this spec, or a new one; NULL: a new one */
    bool skip_failed;   /* leave what failed as it is */
    bool live, utf8;    /* standard error is a terminal that lines are drawn on */
    bool rerun_changed; /* run again what delivered with other code */
    const struct jr_session_console *console; /* of the ranks of a cell, where
                                                 only one runs at once */
    /* Its folder is there, and no cell has begun. Not 0: the exit status with which none begins.
     * NULL: nobody wants to know. */
    int (*begun)(void *data, const struct jr_sweep_place *place);
    /* A line about a cell that ended; and about the sweep, with others behind it. They are safe to
     * show. */
    void (*line)(void *data, const char *line);
    /* In the process of a cell that could not begin: tell why, by the findings of its session or by
     * `err`. */
    void (*refused)(void *data, struct jr_session *cell, enum jr_status status,
                    const struct jr_error *err);
    void *data;
};

/* Run the cells of the session's sweep on the machine whose facts it has, or on the nodes that
 * jr_cell_hosts_connect has reached. JR_STATUS_OK says that it came to its end; *ret_code is then
 * the exit status of the program: 0 if every cell delivered. The signals that stop a run should be
 * blocked. */
enum jr_status jr_session_run_sweep(struct jr_session *session,
                                    const struct jr_sweep_options *options, int *ret_code,
                                    struct jr_error *err);

/* Within an allocation of several nodes, or for `hosts` by ssh: start an agent on each, for the
 * cells of the session's sweep, and read its facts. Elsewhere nothing is done. It may take its
 * time, so no signal should be held back. */
enum jr_status jr_cell_hosts_connect(struct jr_session *session, struct jr_error *err);

/* `jobrun plan` of a sweep: its cells, what each needs, and how many rounds
 * they take. */

struct jr_plan_cells_options {
    uint32_t parallel; /* cells at once at most; 0: what the spec says */
    bool json;
    int (*take)(void *data, const char *text, size_t len);
    void *data;
};

/* Find the needs of the cells on the machine whose facts the session has, and tell them as text or
 * as JSON, piece by piece: `take` as jr_session_tell has it. */
enum jr_status jr_session_plan_cells(struct jr_session *session,
                                     const struct jr_plan_cells_options *options,
                                     struct jr_error *err);

#endif
