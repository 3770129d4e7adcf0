/*
 * The nodes of a sweep within an allocation, or its hosts: each has an agent (cell_hosts.h), which
 * runs the cells that it is given. All agents are tasks of one step of Slurm's, or each is the
 * command of an ssh, and no cell starts another. The sweep hands out devices and cores; the agents
 * lease the devices, and wait where other runs have them.
 *
 * The agents of a step are a crew. Once one of them is lost, nothing can be sent to the others
 * (controller_cells.h): their cells come to their end, and what is to begin does so by another
 * crew, on the nodes that are left. Hosts that ssh reaches are one crew to the end: who is lost is
 * left out.
 */
#ifndef JR_SWEEP_NODES_H
#define JR_SWEEP_NODES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <jobrun/error.h>

#include "cluster/controller_cells.h"
#include "session/sweep/cell_files.h"
#include "store/folder_mark.h"

struct jr_cell_process;
struct jr_policy;
struct jr_sweep_run;

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
    int epoll_fd;
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

/* What is readable when agents have said something, for poll(2); -1: nothing.
 */
int jr_sweep_nodes_fd(const struct jr_sweep_run *run);

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

/* sweep_crews.c, for sweep_nodes.c */

/* The first crew, on all nodes, which are named after its agents. -1: it cannot be led; the
 * controller is the caller's where there is no crew then. */
int jr_sweep_crews_open(struct jr_sweep_run *run, struct jr_controller *controller);

/* Start another crew, on the nodes that are left. */
void jr_sweep_crews_renew(struct jr_sweep_run *run);

/* See whether one that was started is there. */
void jr_sweep_crews_await(struct jr_sweep_run *run, struct jr_sweep_crew *crew);

/* No other cell begins, for a reason. */
void jr_sweep_crews_give_up(struct jr_sweep_run *run, const char *why);

#endif
