/*
 * How far a job is, as one line of a terminal:
 *
 *   train  step 1840/4000  46 %  ━━━━━━━━━━╸           12.4 steps/s   left
 * 2m54s
 *
 * and behind that metrics, and which rank is behind. What does not fit is left out, the least
 * important first.
 */
#ifndef JR_PROGRESS_BAR_H
#define JR_PROGRESS_BAR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "output/console.h"
#include "store/progress.h"

/* A metric with its last value, which may be nan or infinite. */
struct jr_progress_metric {
    const char *name;
    double value;
};

/* What the line tells. Texts are borrowed, and may be anybody's. */
struct jr_progress_bar {
    const char *name; /* of the job */
    int64_t step, of; /* of 0 or less: the last step is unknown */
    double rate;      /* steps a second; 0: unknown */
    bool timed;       /* it can be told how long it still takes */
    uint64_t left_ns;
    const struct jr_progress_metric *metrics;
    size_t metrics_count; /* the first three are shown */
    uint32_t slowest;     /* a rank */
    int64_t behind;       /* its steps behind the first; 0: not worth a word */
};

/* Append the line, in at most `columns`; `plain`: in ASCII alone, but for names. What comes of
 * texts is safe to show. Nothing where not even the step fits. */
void jr_progress_bar_add(struct jr_buf *out, const struct jr_progress_bar *bar, unsigned columns,
                         bool plain);

/* What the line tells of a job that has made a step, with its metrics in
 * `metrics`. */
void jr_progress_bar_of(struct jr_progress_bar *ret,
                        struct jr_progress_metric metrics[static JR_METRICS_MOST], const char *name,
                        const struct jr_progress *progress);

/* Keep the line of the job `name` as the last one of the console, with ASCII alone unless `utf8`.
 * False, and nothing is drawn, where the job has told no step; `progress` may be NULL. */
bool jr_progress_bar_stand(struct jr_console_writer *console, const char *name,
                           const struct jr_progress *progress, bool utf8);

#endif
