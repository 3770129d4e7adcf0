/*
 * Slurm's word on the job that this process is part of: scontrol(1) is asked by a process of its
 * own, and its answer read.
 */
#ifndef JR_SLURM_JOB_H
#define JR_SLURM_JOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "spawn/keeper.h"

/* Which job this is. Texts are borrowed. */
struct jr_slurm_self {
    const char *job;   /* its number, as SLURM_JOB_ID; NULL: there is none */
    const char *name;  /* what scontrol is given: that, or ARRAY_TASK */
    uint32_t restarts; /* how often the job was started again */
    char *const *envp; /* of scontrol */
};

/* What scontrol says of a job. */
struct jr_slurm_job {
    char state[24];    /* "RUNNING"; empty: it did not say */
    uint32_t restarts; /* of the job, by now */
    bool preempting;   /* it has a PreemptTime */
    uint64_t end;      /* of its time, seconds since the epoch; 0: unknown */
};

/* Read the answer to `scontrol show job`, with times in seconds. False: it says nothing of this
 * job, or says something twice, as where the name of the job looks like more of the answer. */
bool jr_slurm_job_read(struct jr_slurm_job *ret, const char *text, size_t len, const char *job);

/* Whether the job is taken away from this process, to be continued: it is about to be preempted, or
 * already in the queue once more. */
bool jr_slurm_job_is_preempted(const struct jr_slurm_job *job, const struct jr_slurm_self *self);

/* Milliseconds until the end of the job's time, less `spare_ms` or half of them; 0: that is not
 * known, or over. */
uint64_t jr_slurm_job_left_ms(const struct jr_slurm_job *job, uint64_t spare_ms);

/* A question to scontrol. */
struct jr_slurm_call {
    struct jr_keeper keeper; /* pid 0: none is open */
    int out_fd;              /* what it prints */
};

/* How long it may take to say whether a job is preempted. */
enum { JR_SLURM_QUICK_MS = 2000 };

/* Ask `scontrol show job`, or `scontrol requeue`, of the job, within so many milliseconds. There is
 * an answer once `keeper.fd` is readable. 0, or -1 with errno. */
int jr_slurm_call_start(struct jr_slurm_call *ret, const struct jr_slurm_self *self,
                        const char *verb, unsigned limit_ms);

/* Append what it printed, and end the call; waits for that as long as it may take. Returns NULL, or
 * why there is no answer: "did not answer within 2s". Static. */
const char *jr_slurm_call_finish(struct jr_slurm_call *call, struct jr_buf *out);

/* Slurm signals all processes of a job, and so may end the call, too, which says nothing about the
 * job. So many times it is made again. */
enum { JR_SLURM_TRIES = 5 };

/* Whether that is why there is no answer. */
bool jr_slurm_call_was_killed(const char *why);

/* End a call whose answer is not wanted any more; none is open afterwards. */
void jr_slurm_call_stop(struct jr_slurm_call *call);

#endif
