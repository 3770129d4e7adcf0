/*
 * Which of our jobs are in Slurm's queue, waiting or running, by squeue: asked once for all jobs of
 * a cluster that come one after the other.
 */
#ifndef JR_SLURM_QUEUE_H
#define JR_SLURM_QUEUE_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/buf.h"

struct jr_slurm_queue {
    struct jr_arena arena;
    char *const *envp;
    struct jr_buf ids;   /* of our jobs, one a line; of an array its own */
    const char *cluster; /* whose queue it is; NULL: the own one */
    const char *silent;  /* why Slurm gave no answer; NULL: it did */
    bool asked;
};

enum jr_queue_place {
    JR_QUEUE_NO_JOB, /* what was asked for is no id of a job */
    JR_QUEUE_SILENT, /* Slurm gave no answer: `silent` says why */
    JR_QUEUE_QUEUED,
    JR_QUEUE_ENDED
};

/* Begin: nothing was asked. `envp`, which is borrowed, is that of squeue. */
void jr_slurm_queue_init(struct jr_slurm_queue *ret, char *const *envp);

/* Free it. */
void jr_slurm_queue_release(struct jr_slurm_queue *queue);

/* Whether a job, as `sbatch --parsable` prints it ("ID" or "ID;CLUSTER"; NULL:
 * none), has ended; an array has when its last task has. */
enum jr_queue_place jr_slurm_queue_find(struct jr_slurm_queue *queue, const char *job);

/* Have Slurm cancel a job, as sbatch prints it: what runs of it gets SIGTERM first. NULL, or why
 * that was not done, as a clause in the queue's memory. */
const char *jr_slurm_cancel(struct jr_slurm_queue *queue, const char *job);

#endif
