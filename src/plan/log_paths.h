/*
 * `redirects` and `tee`: where both streams of each local rank go.
 */
#ifndef JR_LOG_PATHS_H
#define JR_LOG_PATHS_H

#include <jobrun/plan.h>

#include "base/arena.h"

struct jr_job;

/* The sinks of one local rank. */
struct jr_sinks {
    enum jr_sink out, err;
};

/* The sinks of local ranks 0 .. count - 1, in `arena`: what is teed goes to
 * file and console, what is only redirected to the file, the rest is inherited.
 * NULL if memory runs out, or, with `err`, when the ranks of a rule are no rank
 * set. */
struct jr_sinks *jr_sinks_build(struct jr_arena *arena,
                                const struct jr_job *job, uint32_t count,
                                struct jr_error *err);

#endif
