/*
 * A past run: results.json read back into the values that it was made of, so that a later report is
 * printed by the same code, and metrics.jsonl as curves.
 *
 * Values that are not in the file are missing: the environment, and the policy except for what was
 * compared.
 */
#ifndef JR_LOAD_RESULTS_H
#define JR_LOAD_RESULTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "judge/judgement.h"

struct jr_loaded_run {
    struct jr_arena arena;
    struct jr_policy policy;
    struct jr_plan plan;
    struct jr_outcome outcome;
    struct jr_judgement report;
    char **hosts; /* by node */
    size_t hosts_count;
    json_t *json;   /* what the strings are in */
    const char *id; /* by which commands find it: "exp1", "exp1/node_0" */
};

/* Read the results `name` in the run folder `fd`, which is LOG_DIR/ID. Fails when they are not
 * there or not what jobrun writes. `id` is borrowed. */
int jr_loaded_run_load(struct jr_loaded_run *ret, int fd, const char *name, const char *log_dir,
                       const char *id, struct jr_error *err);

/* The same of results that have been read, which are taken over: without what other files of the
 * folder say, and its paths. */
int jr_loaded_run_read(struct jr_loaded_run *ret, json_t *results, struct jr_error *err);

/* Free what was loaded; the strings of its values are gone with it. */
void jr_loaded_run_release(struct jr_loaded_run *loaded);

/*
 * metrics.jsonl, the values that a job has told with its steps, as curves. The file may be damaged,
 * or be another user's: whatever it holds, a bounded part of it is read, and what is no point of a
 * curve is left out.
 */

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

/* Read that of the run folder `fd`, and those of its nodes' parts if it is in parts. A file that is
 * not there is like an empty one. */
void jr_metrics_read(struct jr_metrics *ret, int fd);

/* Free all of it. */
void jr_metrics_release(struct jr_metrics *metrics);

#endif
