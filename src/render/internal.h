/* The engines, each in the file of its name: see jr_engine_render. Private to this folder. */
#ifndef JR_RENDER_INTERNAL_H
#define JR_RENDER_INTERNAL_H

#include "render/render.h"

/* Append what sbatch is handed. */
int jr_slurm_render(struct jr_buf *out, const struct jr_engine_job *job, struct jr_error *err);

/* Append what kubectl is handed. */
int jr_kubernetes_render(struct jr_buf *out, const struct jr_engine_job *job, struct jr_error *err);

/* Append what a shell is handed that has mpiexec. */
int jr_mpi_render(struct jr_buf *out, const struct jr_engine_job *job, struct jr_error *err);

#endif
