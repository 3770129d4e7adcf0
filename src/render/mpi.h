/*
 * One command line that starts every rank as the plan has it, each as an application of its own:
 * its folder, its variables, its words. The variables are set by env(1), which all launchers
 * understand alike; what the launcher itself tells its processes is left to it. Nothing checks the
 * results.
 */
#ifndef JR_MPI_H
#define JR_MPI_H

#include "render/render.h"

/* Append what a shell is handed that has mpiexec: see jr_engine_render. */
int jr_mpi_render(struct jr_buf *out, const struct jr_engine_job *job, struct jr_error *err);

#endif
