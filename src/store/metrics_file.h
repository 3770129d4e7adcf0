/*
 * metrics.jsonl: what a run told of its metrics, one JSON object a line, in the order of time:
 *
 *   {"ns": 81, "time": "2026-11-21T06:30:12.345Z", "attempt": 0, "rank": 0,
 *    "step": 120, "metrics": {"loss": 0.31, "accuracy": null}}
 *
 * It stays small however long a run is: of a metric there are at most JR_POINTS_MOST points. What a
 * rank tells with the same metrics in one attempt is a series. Where there would be more, the large
 * series of that metric lose every second of their lines, and get only every second one from then
 * on, so that each stays even.
 */
#ifndef JR_METRICS_FILE_H
#define JR_METRICS_FILE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "store/progress.h"

enum {
    JR_POINTS_MOST = 10000,
    JR_SERIES_MOST = 4096 /* those of further ranks are left out */
};

struct jr_metrics_series;
struct jr_metrics_line;

struct jr_metrics_file {
    int dir_fd; /* the run folder, borrowed; -1: nothing is written */
    int fd;     /* to append to; -1: not opened yet */
    mode_t mode;
    uint32_t attempt;
    int error;                    /* errno of what could not be written; 0 */
    struct jr_progress *progress; /* the names of the metrics; borrowed */
    struct jr_buf pending;        /* lines that are not written yet */
    uint64_t written;             /* bytes that the file has when it is opened */
    struct jr_metrics_series *series;
    uint32_t series_count, latest; /* latest: the series of the last line */
    struct jr_metrics_line *lines;
    size_t lines_count, lines_room;
    uint32_t points[JR_METRICS_MOST + 1]; /* of each metric; the last: of lines
                                             without any */
};

/* A line to be. */
struct jr_metrics_point {
    uint64_t ns, wall_ns;
    uint32_t rank;
    int64_t step;
    uint32_t metrics; /* bit set of names */
    const double *values;
};

/* Begin with what earlier attempts left in the run folder `dir_fd`, if any. It is not made before
 * there is a line. What cannot be is noted in `error`. */
void jr_metrics_open(struct jr_metrics_file *file, int dir_fd, mode_t mode, uint32_t attempt,
                     struct jr_progress *progress);

/* Add a line, unless its series only gets one now and then. */
void jr_metrics_add(struct jr_metrics_file *file, const struct jr_metrics_point *point);

/* Write what waits. */
void jr_metrics_flush(struct jr_metrics_file *file);

/* Write what waits, close and free. */
void jr_metrics_close(struct jr_metrics_file *file);

#endif
