/*
 * From what ranks tell of their steps to the progress of the job: how far each is and how fast, who
 * is the slowest, and who is slower than the others by half. It writes progress.json, at most once
 * a second, and metrics.jsonl.
 *
 * The rate is that of the last 10 steps and 5 seconds, whichever is longer, and of all there were
 * where they were fewer. A straggler is a rank whose rate over so long is less than half of the
 * median rate of those that are watched.
 */
#ifndef JR_STEP_TRACKER_H
#define JR_STEP_TRACKER_H

#include <jobrun/plan.h>

#include "store/metrics_file.h"
#include "store/progress.h"

/* One metric that was told. */
struct jr_told_metric {
    const char *name;
    size_t len;
    double value;
};

/* What a rank told at once. */
struct jr_step_report {
    uint32_t i;    /* the rank's place in the plan, from plan->first on */
    bool has_step; /* else it is about the step that was told last */
    int64_t step;
    int64_t of; /* 0: it does not say */
    struct jr_told_metric metrics[JR_METRICS_MOST];
    uint32_t count;
};

enum { JR_STEP_SAMPLES = 16 };

/* Some of a rank's latest steps, from which its rate is computed. The oldest is first, or at `next`
 * once it is full. */
struct jr_step_window {
    uint64_t ns[JR_STEP_SAMPLES];
    int64_t step[JR_STEP_SAMPLES];
    uint32_t count, next;
};

struct jr_step_tracker {
    struct jr_progress *progress; /* borrowed */
    const struct jr_plan *plan;
    struct jr_step_window *windows; /* one a rank */
    uint8_t *watched;               /* the same: whether it counts */
    uint32_t watched_count;
    struct jr_metrics_file metrics;
    bool relays;  /* to the controller of several nodes, which looks for
                     stragglers */
    bool relayed; /* what comes from nodes, which have warned of it */
    int dir_fd;   /* of the run folder; -1: nothing is written */
    mode_t mode;
    bool lacked;         /* some rank had no step when the job's was computed */
    bool changed;        /* since progress.json was written */
    uint64_t summed_ns;  /* when the job's was last computed, */
    uint64_t checked_ns; /* and stragglers were looked for */
    uint64_t flushed_ns; /* and the files were written */
    double *rates;       /* room for one a rank */
    /* Who is told of what is new; NULL: nobody is. */
    void (*told)(void *owner);
    void (*warned)(void *owner, const struct jr_step_warning *warning);
    void *owner;
};

/* Begin an attempt of the plan. `dir_fd` is borrowed; -1: no files are written. Returns 0, or -1
 * with errno. */
int jr_step_tracker_open(struct jr_step_tracker *tracker, const struct jr_plan *plan,
                         struct jr_progress *progress, int dir_fd, mode_t mode);

/* Whether the rank at a place is one whose steps count. */
bool jr_step_tracker_watches(const struct jr_step_tracker *tracker, uint32_t i);

/* A rank told of a step at `now_ns`, by the monotonic clock. */
void jr_step_tracker_tell(struct jr_step_tracker *tracker, const struct jr_step_report *report,
                          uint64_t now_ns, uint64_t wall_ns);

/* Note what is wrong with how the rank at place `i` tells its steps: the first time in words, which
 * follow the rank's, then by number. Returns whether it was the first time. */
bool jr_step_tracker_warn(struct jr_step_tracker *tracker, enum jr_step_problem problem, uint32_t i,
                          const char *format, ...) __attribute__((format(printf, 4, 5)));

/* The same without words, which the caller adds: a new warning, or NULL where there are too
 * many. */
struct jr_step_warning *jr_step_tracker_add_warning(struct jr_step_tracker *tracker,
                                                    enum jr_step_problem problem, uint32_t i);

/* Take over a warning of a node. */
void jr_step_tracker_relay(struct jr_step_tracker *tracker, const struct jr_step_warning *warning);

/* The rank at a place has ended. */
void jr_step_tracker_end(struct jr_step_tracker *tracker, uint32_t i, uint64_t now_ns);

/* Compute the job's progress from that of its ranks. */
void jr_step_tracker_sum(struct jr_step_tracker *tracker, uint64_t now_ns);

/* Whether some rank whose steps count, and that has not ended, has made none.
 */
bool jr_step_tracker_lacks_first(const struct jr_step_tracker *tracker);

/* Whether some rank whose steps count can still make one. */
bool jr_step_tracker_goes_on(const struct jr_step_tracker *tracker);

/* Write progress.json and metrics.jsonl as they are to be now. */
void jr_step_tracker_flush(struct jr_step_tracker *tracker, uint64_t now_ns);

/* Write them for the last time, and free. `progress` stays. */
void jr_step_tracker_close(struct jr_step_tracker *tracker, uint64_t now_ns);

/*
 * timeouts.first_step and timeouts.progress: whether a job has made its first step, and then the
 * next one forward, in time. For the runner, and for the controller of several nodes.
 */

enum jr_step_overrun {
    JR_STEP_OVERRUN_NONE,
    JR_STEP_OVERRUN_FIRST, /* timeouts.first_step */
    JR_STEP_OVERRUN_NEXT   /* timeouts.progress */
};

struct jr_step_limit {
    bool counting;     /* the limit of steps has begun */
    uint64_t since_ns; /* no time is counted from before this */
};

/* A step was told: when to look first, or `at_ns` if that is to stay (0:
 * never). */
uint64_t jr_step_limit_told(struct jr_step_limit *limit, const struct jr_step_tracker *tracker,
                            uint64_t at_ns, uint64_t now_ns);

/* Which of the limits is met at `now_ns`. Else *ret_at is when one may be, 0:
 * never. All ranks had started at `started_ns`; 0: not yet. */
enum jr_step_overrun jr_step_limit_look(const struct jr_step_limit *limit,
                                        struct jr_step_tracker *tracker, uint64_t started_ns,
                                        uint64_t now_ns, uint64_t *ret_at);

/* The ranks stood still for so long. */
void jr_step_limit_pause(struct jr_step_limit *limit, const struct jr_step_tracker *tracker,
                         uint64_t started_ns, uint64_t paused_ns);

/*
 * How fast ranks make their steps, and which are slower than the others by half.
 */

/* Add a step that was made at `ns`, by the monotonic clock. One that is before the last begins
 * anew. */
void jr_step_window_add(struct jr_step_window *window, uint64_t ns, int64_t step);

/* The steps a second until `step` at `ns`: over the last 10 steps and 5 seconds, and then
 * *ret_whole is true; or over all there were. 0: it is not known. */
double jr_step_window_rate(const struct jr_step_window *window, int64_t step, uint64_t ns,
                           bool *ret_whole);

/* Warn of each rank whose rate is less than half of the median, once, and name its host and
 * device. */
void jr_stragglers_find(struct jr_step_tracker *tracker, uint64_t now_ns);

/*
 * What a node tells the controller of its ranks' steps: lines of JSON among those of its events, at
 * most one a second for each rank whose steps count.
 *
 *   {"steps_of": 3, "step": 120, "of": 1000, "ns": 81, "metrics": {"loss": 0.3}}
 *   {"warning_of": 3, "problem": 4, "count": 2, "text": "rank 3 ..."}
 */

/* Append the line of the rank at place `i`. */
void jr_step_message_put(struct jr_buf *out, const struct jr_step_tracker *tracker, uint32_t i);

/* Append the line of a warning. */
void jr_step_message_put_warning(struct jr_buf *out, const struct jr_step_warning *warning);

/* Read a line of either kind, of a node that has the ranks from `first` to below `end`, and note
 * what it says; `offset_ns` is the node's monotonic clock less ours. False: it is none. */
bool jr_step_message_take(struct jr_step_tracker *tracker, const char *line, size_t len,
                          const uint32_t ranks[2], int64_t offset_ns);

#endif
