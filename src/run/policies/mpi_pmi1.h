/* The part of the policy mpi_world (mpi_world.c) that serves ranks by PMI-1: a stream to each, and
 * the exchange with the managers of other nodes. */
#ifndef JR_MPI_PMI1_H
#define JR_MPI_PMI1_H

#include <stdint.h>

struct jr_mpi_world;

/* Begin to serve the ranks of world->runner. Returns 0, or -1 with errno; jr_mpi_pmi1_close in any
 * case. */
int jr_mpi_pmi1_open(struct jr_mpi_world *world);

/* Serve the rank at place `i` over `fd`, our end of its stream, which does not block. Returns 0, or
 * -1 with errno. */
int jr_mpi_pmi1_add(struct jr_mpi_world *world, uint32_t i, int fd);

/* All ranks here are in the barrier. */
void jr_mpi_pmi1_barrier(struct jr_mpi_world *world);

/* The rank at place `i` has ended: take what it has sent before that. */
void jr_mpi_pmi1_end(struct jr_mpi_world *world, uint32_t i);

/* Serve no more, where anything is served. */
void jr_mpi_pmi1_close(struct jr_mpi_world *world);

#endif
