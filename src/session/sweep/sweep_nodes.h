/*
 * The nodes of a sweep within an allocation: each has an agent (cell_hosts.h),
 * which runs the cells that it is given. All agents are tasks of one step of
 * Slurm's, and no cell starts another. The sweep hands out devices and cores;
 * the agents lease the devices, and wait where other runs have them.
 */
#ifndef JR_SWEEP_NODES_H
#define JR_SWEEP_NODES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <jobrun/error.h>

#include "cluster/controller_cells.h"

struct jr_cell_process;
struct jr_sweep_run;

struct jr_sweep_nodes {
    struct jr_controller *controller; /* NULL: cells of one node run here */
    struct jr_cell_watcher watcher;
    bool told; /* that the cluster ends what runs */
};

/* Begin, where the session has agents. */
void jr_sweep_nodes_open(struct jr_sweep_run *run);

/* Let them go. */
void jr_sweep_nodes_close(struct jr_sweep_run *run);

/* Whether a cell runs on one of them by its agent. */
bool jr_sweep_nodes_has(const struct jr_sweep_run *run,
                        const struct jr_cell_process *process);

/* Have an agent begin a cell. -1 with `err`. */
int jr_sweep_nodes_begin(struct jr_sweep_run *run,
                         struct jr_cell_process *process, struct jr_error *err);

/* Signal the cells there; `stop`: it stops runs. */
void jr_sweep_nodes_signal(struct jr_sweep_run *run, int sig, bool stop);

/* What is readable when agents have said something, for poll(2); -1: nothing.
 */
int jr_sweep_nodes_fd(const struct jr_sweep_run *run);

/* When there is something to be done besides (CLOCK_MONOTONIC; 0: never). */
uint64_t jr_sweep_nodes_due(const struct jr_sweep_run *run);

/* Take what they have said: the processes of cells that are over say so. */
void jr_sweep_nodes_attend(struct jr_sweep_run *run);

/* A child has ended: it was theirs. */
bool jr_sweep_nodes_reap(struct jr_sweep_run *run, pid_t pid, int status);

/* The child that is theirs; 0: there is none. */
pid_t jr_sweep_nodes_child(const struct jr_sweep_run *run);

/* In the process of a cell: let go of them. */
void jr_sweep_nodes_leave(struct jr_sweep_run *run);

#endif
