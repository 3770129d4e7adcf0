/*
 * metrics.jsonl, the values that a job has told with its steps, as curves. The
 * file may be damaged, or be another user's: whatever it holds, a bounded part
 * of it is read, and what is no point of a curve is left out.
 */
#ifndef JR_LOAD_METRICS_H
#define JR_LOAD_METRICS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"

struct jr_metric_point {
    double step, value; /* finite; value NAN: there was none */
    uint32_t rank, attempt;
    uint32_t metric; /* index of its name */
    uint32_t order;  /* in which it was read */
};

struct jr_metrics {
    struct jr_arena arena;
    const char **names; /* by when they came first; any text */
    size_t names_count;
    struct jr_metric_point *points; /* by metric, rank, attempt, and order */
    size_t points_count;
    bool partial; /* not all could be read, or there was more */
};

#define JR_METRICS_FILE "metrics.jsonl"

/* Read that of the run folder `fd`, and those of its nodes' parts if it is in
 * parts. A file that is not there is like an empty one. */
void jr_metrics_read(struct jr_metrics *ret, int fd);

/* Free all of it. */
void jr_metrics_release(struct jr_metrics *metrics);

#endif
