/*
 * The ranks' bytes as lines on the console: whole, with a prefix, made safe for a terminal; those
 * that are filtered out left out, equal ones of several ranks collapsed into one.
 *
 * console.collapse: lines wait in a queue, for JR_COLLAPSE_WAIT_NS at most, in the order in which
 * the first of each came; another rank's equal line joins the first one there that comes after that
 * rank's own last line. So the lines of each stream keep their order, and a line that a rank prints
 * twice is shown twice. A line leaves when it has waited, when as many ranks as can have joined it,
 * or when the queue is full: memory and the work for a line are bounded.
 *
 * console.show and console.hide: what takes a pattern too many steps does not match it; a pattern
 * that this happens to again and again is given up, so that it cannot hold the ranks for ever.
 */
#ifndef JR_LINE_WRITER_H
#define JR_LINE_WRITER_H

#include <jobrun/plan.h>

#include "output/console.h"

#define JR_COLLAPSE_WAIT_NS    UINT64_C(100000000)
#define JR_COLLAPSE_LINES_MOST 4096
#define JR_COLLAPSE_BYTES_MOST (1U << 20)
#define JR_FILTER_LIMITED_MOST 100 /* lines; after them all are shown */

struct jr_regex;

/* What was decided about the line that a stream is in the middle of. */
enum jr_begun { JR_BEGUN_NOTHING, JR_BEGUN_SHOWN, JR_BEGUN_HIDDEN };

/* One stream of one rank. */
struct jr_feed {
    struct jr_line_writer *lines; /* NULL: it is not shown */
    const struct jr_plan_rank *rank;
    size_t prefix_len;
    int number; /* 0 standard output, 1 standard error */
    bool held;  /* more of it waits elsewhere */
    char *rest; /* the line that is not finished yet; malloc'ed or NULL */
    size_t rest_len, rest_cap;
    uint64_t rest_bytes; /* of the stream that it stands for */
    uint64_t rest_since; /* when its first byte came; 0: nothing to show */
    enum jr_begun begun;
    uint64_t place; /* one behind that of its last line in the queue; 0 */
    uint64_t last;  /* the number of its last line among all; 0: none */
};

/* Lines that wait for those of other ranks. */
struct jr_collapse {
    struct jr_collapse_line *lines;           /* a ring */
    uint64_t first, end;                      /* places of those that wait */
    uint64_t buckets[JR_COLLAPSE_LINES_MOST]; /* place + 1 of the last; 0 */
    uint64_t *bits;                           /* of ranks, by line */
    uint32_t *ranks;                          /* those of the line at hand */
    size_t bytes;
    struct jr_timer timer;
};

struct jr_line_writer {
    struct jr_console_writer *console;
    const struct jr_plan *plan;
    struct jr_regex *show, *hide; /* NULL: none */
    unsigned limited;             /* lines for which they took too many steps */
    struct jr_collapse *collapse; /* NULL: lines are not collapsed */
    struct jr_timer partial;
    uint64_t partial_ns;
    bool timestamps, color;
    bool late;           /* streams that have ended may have lines in common with others
                            that have not */
    struct jr_buf shown; /* lines on their way to the console */
    struct jr_buf line;  /* one that is going to be collapsed */
    char stamp[34];
    uint64_t wall_ns;      /* when what is added came; 0: now */
    uint64_t count;        /* of lines that were shown */
    bool full[2];          /* the console, by stream */
    struct jr_feed *feeds; /* 2 per rank, and 2 of the setup */
    uint32_t feed_count;
    uint32_t open[2]; /* feeds that are open, by stream */
};

/* `loop` NULL: for what came long ago, of which nothing is shown for the time that it has waited.
 * Returns 0, or -1 with errno, also for a pattern that cannot be compiled, which the spec's check
 * would have refused; close it in both cases. */
int jr_line_writer_open(struct jr_line_writer *lines, struct jr_loop *loop,
                        struct jr_console_writer *console, const struct jr_plan *plan, bool color);

/* Begin the stream `number` of `rank`, the plan's number `i`; plan->count is its setup, whose lines
 * are not collapsed (it has nothing around its number). */
struct jr_feed *jr_line_writer_feed(struct jr_line_writer *lines, uint32_t i,
                                    const struct jr_plan_rank *rank, int number);

/* What the stream wrote. Returns how many bytes were taken: while the console is full none, and the
 * lines are to come again once it has room. */
size_t jr_feed_add(struct jr_feed *feed, const char *bytes, size_t len);

/* More of it waits elsewhere, so that an unfinished line says nothing; or does no more. */
void jr_feed_hold(struct jr_feed *feed, bool held);

/* A line of jobrun's own among those of the stream, without its newline. */
void jr_feed_note(struct jr_feed *feed, const char *text, size_t len);

/* Where its lines go. */
static inline struct jr_output *jr_feed_output(const struct jr_feed *feed)
{
    return feed->lines->console->streams[feed->number];
}

/* The stream's end. */
void jr_feed_end(struct jr_feed *feed);

/* The console takes output again: lines that are to be collapsed wait for others from now on. */
void jr_line_writer_resume(struct jr_line_writer *lines);

/* Show the lines that wait for those of other ranks. */
void jr_line_writer_flush(struct jr_line_writer *lines);

/* Show what waits, and free. */
void jr_line_writer_close(struct jr_line_writer *lines);

#endif
