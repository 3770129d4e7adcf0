/*
 * How far a job is, while it runs and afterwards: the step that it has come to
 * and the metrics that it told with it. It lies in memory that guard and runner
 * share, as the outcome does, so that what is known survives the runner;
 * `outcome->progress` points to it. step_tracker.h writes it.
 */
#ifndef JR_STORE_PROGRESS_H
#define JR_STORE_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/json_row.h"

enum {
    JR_METRICS_MOST = 32, /* names of metrics of a job; others are passed over
                           */
    JR_METRIC_NAME = 64,  /* bytes of one, with its NUL */
    JR_STEP_WARNINGS = 20 /* that are kept */
};

/* How far a rank is in this attempt, or the job as a whole. */
struct jr_steps {
    bool any;                       /* it has made a step; else nothing else counts */
    bool ended;                     /* a rank: it can make no further step */
    bool straggler;                 /* a rank: a warning has named it */
    int64_t step;                   /* the last that it told */
    int64_t best;                   /* the furthest in this attempt */
    int64_t of;                     /* the last step that there will be; 0: unknown */
    double rate;                    /* steps a second, of late; 0: unknown */
    uint64_t first_ns;              /* monotonic: when its first step was told, */
    uint64_t ns;                    /* the last one, */
    uint64_t best_ns;               /* and the furthest */
    uint64_t wall_ns;               /* `ns` by the wall clock, since the epoch */
    uint32_t metrics;               /* bit set: which of the names have a value */
    double values[JR_METRICS_MOST]; /* in the order of the names; NAN and
                                       infinities are values that were told */
};

/* What jobrun has to say of how a job told its progress. */
#define JR_STEP_PROBLEMS(X)                                                                        \
    X(FILE, "file")           /* the progress file is no plain file */                             \
    X(LINE, "line")           /* a line that is too long */                                        \
    X(JSON, "json")           /* a line of the file that is no object */                           \
    X(STEP, "step")           /* a step that is no whole number */                                 \
    X(BACKWARDS, "backwards") /* a step before the one that was told */                            \
    X(OF, "of")               /* another last step than before */                                  \
    X(METRIC, "metric")       /* a metric that is no number */                                     \
    X(METRICS, "metrics")     /* too many of them, or a name too long */                           \
    X(PATTERN, "pattern")     /* a line that takes the pattern too long */                         \
    X(RECORD, "record")       /* metrics.jsonl could not be written */                             \
    X(UNSEEN, "unseen")       /* files are read only when ranks have ended                         \
                               */                                                                  \
    X(STRAGGLER, "straggler") /* a rank that is slower than the others */

#define JR_STEP_PROBLEM_ENUM(name, word) JR_STEP_PROBLEM_##name,
enum jr_step_problem { JR_STEP_PROBLEMS(JR_STEP_PROBLEM_ENUM) };

struct jr_step_warning {
    enum jr_step_problem problem;
    uint32_t rank;
    uint32_t count; /* how often, the first time included */
    char text[200]; /* of the first time: a sentence without its end */
};

/* The progress of a job. */
struct jr_progress {
    struct jr_steps job; /* with several ranks: the step, `of` and rate of the
                            slowest that has not ended; the values of the first
                            rank that has any */
    bool all;            /* several ranks are watched, and `ranks` has each */
    uint32_t slowest;    /* rank; only if `all` */
    int64_t behind;      /* how many steps it is behind the furthest rank */
    uint32_t names_count;
    char names[JR_METRICS_MOST][JR_METRIC_NAME]; /* UTF-8 without controls */
    uint32_t warnings_count;
    struct jr_step_warning warnings[JR_STEP_WARNINGS];
    uint32_t count;          /* the ranks that `ranks` is about, those of the
                                plan that start here */
    struct jr_steps ranks[]; /* those that are not watched have no step */
};

/* Memory for `count` ranks that processes share, zeroed; parts that are not used cost none. NULL
 * with errno. */
struct jr_progress *jr_progress_new(uint32_t count);

/* Give it back. NULL is allowed. */
void jr_progress_free(struct jr_progress *progress);

/* A copy in such memory of its own; NULL with errno, or for NULL. */
struct jr_progress *jr_progress_copy(const struct jr_progress *progress);

/* Whether there is anything to tell of it. NULL is allowed. */
bool jr_progress_is_told(const struct jr_progress *progress);

/* The time that is left until the last step, in nanoseconds; false: it cannot be told. */
bool jr_steps_left(const struct jr_steps *steps, uint64_t *ret_ns);

/* The keys of that object: those of a rank, and those of a job. Their structs are the steps and the
 * progress. */
enum { JR_STEPS_ROWS = 6, JR_PROGRESS_ROWS = 8 };
extern const struct jr_json_row jr_progress_rows[JR_PROGRESS_ROWS];

/* The object that results.json, `show --json` and progress.json have of a job:
 * {step, best, of, rate, metrics, time, slowest, warnings}; null where there is
 * nothing to tell. The caller owns it. */
json_t *jr_progress_json(const struct jr_progress *progress);

/* The same of one rank, without `slowest` and `warnings`; null where it has made no step. */
json_t *jr_progress_rank_json(const struct jr_progress *progress, const struct jr_steps *steps);

/* Append it for people: "step 120 of 1000, 3.2 a second, 4 min 35 s left, loss 0.31"; with several
 * ranks also "rank 3 is 12 behind". Nothing where no step was made. `metrics`: with these; `ended`:
 * without what is left. */
void jr_progress_words(struct jr_buf *out, const struct jr_progress *progress, bool metrics,
                       bool ended);

/* Append "120/1000", "120", or "-". */
void jr_steps_short(struct jr_buf *out, const struct jr_steps *steps);

/* Read the job's back into *ret, which is zeroed: with its names. What cannot be is left out. */
void jr_progress_get(struct jr_progress *ret, const json_t *object);

/* Read a rank's back, whose metrics get their names in `names`. */
void jr_progress_get_rank(struct jr_steps *ret, struct jr_progress *names, const json_t *object);

/* The place of a metric's name, which is made for a new one; JR_METRICS_MOST:
 * there is no place for it, or it cannot be a name. */
uint32_t jr_progress_metric(struct jr_progress *progress, const char *name, size_t len);

#endif
