/* The worlds of MPI programs on several nodes: their process managers exchange through the
 * controller what ranks have told, and whether any has initialized. Not for other layers. */
#ifndef JR_CONTROLLER_MPI_H
#define JR_CONTROLLER_MPI_H

#include <stdbool.h>
#include <stdint.h>

#include "wireup/exchange_hub.h"

struct jr_controller_run;
struct jr_rank_outcome;

struct jr_controller_mpi {
    struct jr_exchange_hub hub;
    bool begun; /* a rank of some node has called MPI_Init */
};

/* Make ready for an attempt, whose ranks are known. -1 with errno. */
int jr_controller_mpi_open(struct jr_controller_run *run);

/* Take what has come of a node's exchange. */
void jr_controller_mpi_take(struct jr_controller_run *run, uint32_t node);

/* A rank of some node has called MPI_Init: tell all nodes, and stop the run if
 * a node is done or lost that has ranks without which the others cannot go on.
 */
void jr_controller_mpi_begin(struct jr_controller_run *run);

/* Whether the others cannot go on without a rank that has failed, whatever
 * `on_failure` says: one of them has initialized, and it has not finalized. */
bool jr_controller_mpi_needs(const struct jr_controller_run *run,
                             const struct jr_rank_outcome *rank);

/* The outcome of a node has come: its ranks that ended with 0 without MPI_Init have left the others
 * alone, if these have called it. Returns whether there are ranks without which the others cannot
 * go on. */
bool jr_controller_mpi_settle(struct jr_controller_run *run, uint32_t node);

/* Free what is left. */
void jr_controller_mpi_close(struct jr_controller_run *run);

#endif
