/* The part of the policy mpi_world (mpi_world.c) that has PMIx's server, a process beside the
 * runner, which tells what ranks do. */
#ifndef JR_MPI_PMIX_H
#define JR_MPI_PMIX_H

struct jr_mpi_world;

/* Begin to start the server for the ranks of world->runner, which wait for it:
 * it may have to load its library from a slow disk. If it comes to nothing, the
 * first rank is told to have failed to start. Returns 0, or -1 with why in the
 * run's error. */
int jr_mpi_pmix_open(struct jr_mpi_world *world);

/* Take all that it has told so far. */
void jr_mpi_pmix_read(struct jr_mpi_world *world);

/* End it, where there is one. */
void jr_mpi_pmix_close(struct jr_mpi_world *world);

#endif
