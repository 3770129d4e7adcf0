/*
 * A sampler in a sweep: it is asked for a cell whenever there is room for one and none that waits,
 * and told what became of each. Values that were proposed before are no cell of their own: it is
 * told what became of them.
 */
#ifndef JR_SWEEP_SAMPLER_H
#define JR_SWEEP_SAMPLER_H

#include "base/json.h"
#include "session/sweep/sampler_process.h"
#include "sweep/shared_files.h"

/* Needs that cells of a sampler may differ in. */
enum { JR_SWEEP_KINDS_MOST = 64 };

struct jr_sweep_run;

struct jr_sweep_sampler {
    bool on; /* the sweep has one */
    struct jr_sampler_process process;
    struct jr_shared_files files;
    json_t *known;     /* the cell of each combination of values */
    uint32_t next;     /* number of the next cell */
    uint64_t asked_ns; /* when it was asked; 0: it has answered */
    uint32_t repeats;  /* answers in a row that were known before */
    size_t await;      /* + 1: the cell whose values it proposed again, and
                          which runs; 0: none */
    bool done, failed;
};

/* Make room for cells that will be proposed, in the place of the one that stands for them. -1
 * without memory. */
int jr_sweep_sampler_prepare(struct jr_sweep_run *run);

/* Add a cell with these values and this number. 0, or -1 with `err`. */
int jr_sweep_sampler_add(struct jr_sweep_run *run, const json_t *values, uint32_t number,
                         struct jr_error *err);

/* Start it, and tell it what is known of earlier cells. -1 with `err`. */
int jr_sweep_sampler_start(struct jr_sweep_run *run, struct jr_error *err);

/* Ask it if there is room, and take what it has said. Returns whether a cell was added. */
bool jr_sweep_sampler_turn(struct jr_sweep_run *run);

/* A cell has ended. */
void jr_sweep_sampler_tell(struct jr_sweep_run *run, size_t cell);

/* Whether an answer is awaited. */
bool jr_sweep_sampler_is_asked(const struct jr_sweep_run *run);

/* When its time is over (CLOCK_MONOTONIC); 0: never. */
uint64_t jr_sweep_sampler_due(const struct jr_sweep_run *run);

/* A process has ended that may be the sampler. Returns whether it was. */
bool jr_sweep_sampler_reap(struct jr_sweep_run *run, pid_t pid, int status);

/* End it. */
void jr_sweep_sampler_close(struct jr_sweep_run *run);

#endif
