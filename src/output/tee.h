/*
 * Moving the ranks' output: from one pipe per stream into its file first, byte by byte as it came,
 * then as whole, prefixed lines to the console.
 */
#ifndef JR_TEE_H
#define JR_TEE_H

#include <jobrun/plan.h>
#include <jobrun/run.h>

#include "eventloop/loop.h"
#include "output/catch_up.h"
#include "output/line_writer.h"
#include "output/log_file.h"
#include "output/step_lines.h"
#include "spawn/start.h"
#include "store/events.h"

/* One stream of one rank. */
struct jr_stream {
    struct jr_watch watch;   /* the read end; -1: closed */
    struct jr_log_file file; /* none, or given up, where that has none */
    int number;              /* 0 standard output, 1 standard error */
    const struct jr_plan_rank *rank;
    struct jr_rank_outcome *outcome;
    struct jr_tee *tee;
    /* How the console follows; without a feed it does not. Where the stream has no file, or that
     * cannot be written any more, the console has the only copy: once it has fallen behind, nothing
     * more is read, and the rank waits with it. */
    struct jr_follower follower;
    bool alone;      /* in its file, which can be read again */
    bool has_output; /* something was read */
    uint64_t began_ns;
    uint64_t total; /* bytes that were */
    struct jr_stream *next_paused;
    bool has_steps; /* the rank's steps are read from it: */
    struct jr_step_text steps;
};

struct jr_tee {
    struct jr_loop *loop;
    struct jr_console_writer *console;
    struct jr_events *events;
    struct jr_line_writer lines;
    struct jr_logfiles files;
    uint64_t limit;       /* of a file; 0: none */
    struct jr_timer logs; /* when silent streams get their files */
    const struct jr_run_options *options;
    struct jr_catch_up catch_up;
    struct jr_remainder *remainder;
    char *bytes;               /* what was read just now */
    struct jr_stream *streams; /* 2 per rank */
    uint32_t stream_count;
    struct jr_stream *paused;    /* nothing is read of them */
    uint32_t open;               /* streams that have not come to their end */
    bool ending;                 /* little waits for the console any more */
    bool draining;               /* nothing does */
    struct jr_step_lines *steps; /* by which steps are read; NULL: not at all */
    int steps_number;            /* of the streams that have them */
};

struct jr_tee_setup {
    struct jr_loop *loop;
    struct jr_console_writer *console;
    struct jr_events *events;
    const struct jr_plan *plan;
    const struct jr_run_options *options;
    unsigned files;                 /* log files that may be open at once; at least 2 */
    struct jr_remainder *remainder; /* where to leave what is not shown */
};

/* Room for the streams of the plan's ranks and of its setup. Returns 0, or -1 with errno. */
int jr_tee_open(struct jr_tee *tee, const struct jr_tee_setup *setup);

/* Take over the piped streams of the plan's rank `i`, which was started; the descriptors are the
 * tee's from here on; plan->count is the setup. Returns 0, or -1 with errno. */
int jr_tee_add(struct jr_tee *tee, uint32_t i, const struct jr_started *started,
               const struct jr_plan_rank *rank, struct jr_rank_outcome *outcome);

/* How many bytes the rank at place `i` has written to its stream `number` so far, with those that
 * wait in the pipe. */
uint64_t jr_tee_bytes(const struct jr_tee *tee, uint32_t i, int number);

/* Take what a stream of the plan's rank `i` has in its pipe by now into its file, so far as the
 * console allows: `number` is 0 for standard output, 1 for standard error. */
void jr_tee_pull(struct jr_tee *tee, uint32_t i, int number);

/* The ranks are asked to end: what they say about it does not wait for the console, as far as that
 * is not much. */
void jr_tee_hurry(struct jr_tee *tee);

/* Once no rank lives: read what is in the pipes and close them, even if other processes hold them.
 * Lines that the console has not shown are left. */
void jr_tee_drain(struct jr_tee *tee);

/* Close everything as it is. */
void jr_tee_close(struct jr_tee *tee);

#endif
