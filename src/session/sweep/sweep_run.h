/*
 * Running a sweep: its cells, each a run of its own, as many at once as the machine has room for.
 *
 *   sweep_begin.c   the folder, the needs, what cells there are
 *   sweep_resume.c  the folder of a sweep that is gone on with
 *   latest_sweep.c  which one that is
 *   settle_cell.c   whether a cell of it that has no results still runs
 *   sweep_loop.c    one loop: begins cells, sees them end, takes signals
 *   cell_process.c  a cell: a process that is forked, with a session of its own
 *   sweep_nodes.c   the same on a node of an allocation, by its agent
 *   sweep_crews.c   the agents of all nodes, and others where one is lost
 *   sweep_devices.c which devices its cells get, beside other runs
 *   sweep_end.c     what became of a cell, and of all
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

#endif
