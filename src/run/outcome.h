/*
 * The outcome in memory that guard and runner share: what the runner wrote
 * survives the runner.
 */
#ifndef JR_OUTCOME_H
#define JR_OUTCOME_H

#include <jobrun/run.h>

struct jr_shared {
    struct jr_outcome outcome; /* its `ranks` point into this mapping */
    struct jr_error error;     /* why the runner could not begin */
    bool began;                /* false: `error` says why not */
    bool finished;             /* the runner came to its end by itself */
    struct jr_rank_outcome ranks[];
};

/* Room for `count` ranks, zeroed; NULL with errno. */
struct jr_shared *jr_shared_new(uint32_t count);
/* NULL is allowed. */
void jr_shared_free(struct jr_shared *shared);

/* Copy what was recorded into `ret`, in memory of its own. -1 with ENOMEM. */
int jr_shared_copy(struct jr_outcome *ret, const struct jr_shared *shared);

#endif
