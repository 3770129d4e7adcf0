/*
 * events.jsonl read back: when each rank ran, and what else happened.
 */
#ifndef JR_TIMELINE_H
#define JR_TIMELINE_H

#include "base/arena.h"
#include "store/events.h"

/* One life of a rank: there is one more with each attempt. Seconds after the first event. */
struct jr_stretch {
    uint32_t rank;
    double started, ended; /* `ended` < 0: nothing says so */
    double heard;          /* its first output through a pipe; < 0: none */
    double wall;           /* when it ended, since the epoch; 0: unknown */
    bool last;             /* no later one of the same rank */
};

/* Further details. */
struct jr_moment {
    double at;
    double wall; /* the same since the epoch; 0: unknown */
    enum jr_event_name name;
    const char *words; /* what it was, for people */
    const char *text;  /* its members: "signal SIGTERM, running 5" */
};

struct jr_timeline {
    struct jr_arena arena;
    struct jr_stretch *spans; /* by start */
    size_t span_count;
    struct jr_moment *moments;
    size_t moment_count;
    double end;   /* of the last event */
    bool partial; /* some of it could not be read */
};

/* Read the events of the run folder `fd`. Lines that are no events are left out and a file that is
 * not there is an empty one: both make it partial. */
void jr_timeline_read(struct jr_timeline *ret, int fd);

/* Add those of the file `path` there, which begin `after` seconds later than the first of all. What
 * is there must be zeroed before. */
void jr_timeline_add(struct jr_timeline *timeline, int fd, const char *path, double after);

/* Free what was read. */
void jr_timeline_release(struct jr_timeline *timeline);

#endif
