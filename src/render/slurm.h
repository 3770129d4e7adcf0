/* A batch script. jobrun takes the place of the script's shell, so that the signal before the limit
 * reaches it; on several nodes it starts an agent on each by itself. */
#ifndef JR_SLURM_H
#define JR_SLURM_H

#include "render/render.h"

/* Append what sbatch is handed: see jr_engine_render. */
int jr_slurm_render(struct jr_buf *out, const struct jr_engine_job *job, struct jr_error *err);

#endif
