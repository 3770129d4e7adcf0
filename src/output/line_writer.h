/*
 * The ranks' bytes as lines on the console: whole, with a prefix, made safe for a terminal; those
 * that are filtered out left out, equal ones of several ranks collapsed into one.
 */
#ifndef JR_LINE_WRITER_H
#define JR_LINE_WRITER_H

#include <jobrun/plan.h>

#include "output/collapse.h"
#include "output/console.h"

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
    uint64_t place; /* see jr_collapse_add */
    uint64_t last;  /* the number of its last line among all; 0: none */
};

struct jr_line_writer {
    struct jr_console_writer *console;
    const struct jr_plan *plan;
    struct jr_filter filter;
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

/* `loop` NULL: for what came long ago, of which nothing is shown for the time
 * that it has waited. Returns 0, or -1 with errno; close it in both cases. */
int jr_line_writer_open(struct jr_line_writer *lines, struct jr_loop *loop,
                        struct jr_console_writer *console, const struct jr_plan *plan, bool color);

/* Begin the stream `number` of `rank`, the plan's number `i`; plan->count is
 * its setup, whose lines are not collapsed (it has nothing around its number).
 */
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

/* Show what waits, and free. */
void jr_line_writer_close(struct jr_line_writer *lines);

#endif
