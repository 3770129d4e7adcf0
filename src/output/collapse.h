/*
 * Which lines of ranks the console shows, and which as one. console.collapse:
 * the same line from several ranks becomes one.
 *
 * Lines wait in a queue, for JR_COLLAPSE_WAIT_NS at most, in the order in which the first of each
 * came; another rank's equal line joins the first one there that comes after that rank's own last
 * line. So the lines of each stream keep their order, and a line that a rank prints twice is shown
 * twice. A line leaves when it has waited, when as many ranks as can have joined it, or when the
 * queue is full: memory and the work for a line are bounded.
 */
#ifndef JR_COLLAPSE_H
#define JR_COLLAPSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jobrun/policy.h>

#include "base/regex.h"
#include "eventloop/loop.h"

#define JR_COLLAPSE_WAIT_NS    UINT64_C(100000000)
#define JR_COLLAPSE_LINES_MOST 4096
#define JR_COLLAPSE_BYTES_MOST (1U << 20)

/* A line on its way through the queue. */
struct jr_collapsed {
    const char *text; /* with what ends it; `len` bytes */
    size_t len;
    const char *const *around; /* the text before and after the ranks */
    int number;                /* of the stream: 0 or 1 */
    uint64_t wall_ns;          /* when the first came */
    const uint32_t *ranks;     /* ascending */
    size_t count;
};

typedef void jr_collapse_show(void *owner, const struct jr_collapsed *line);

/* Whether the console takes nothing of stream `number` now: lines then wait longer, because equal
 * lines of other ranks may be delayed, too. */
typedef bool jr_collapse_blocked(void *owner, int number);

struct jr_collapse_line; /* one that waits */

struct jr_collapse {
    struct jr_collapse_line *lines;           /* a ring */
    uint64_t first, end;                      /* places of those that wait */
    uint64_t buckets[JR_COLLAPSE_LINES_MOST]; /* place + 1 of the last; 0 */
    uint64_t *bits;                           /* of ranks, by line */
    uint32_t *ranks;                          /* those of the line at hand */
    uint32_t count;                           /* of ranks there can be */
    uint32_t base;                            /* the least of them, to be set where it is not 0 */
    size_t bytes;
    struct jr_timer timer;
    jr_collapse_show *show;
    jr_collapse_blocked *is_blocked; /* NULL: it never is */
    void *owner;
};

/* For `count` ranks, from `base` on. `loop` NULL: no line leaves for the time it has waited. NULL
 * if memory runs out. */
struct jr_collapse *jr_collapse_new(uint32_t count, struct jr_loop *loop, jr_collapse_show *show,
                                    void *owner);

/* The console takes output again: the wait starts again. */
void jr_collapse_resume(struct jr_collapse *collapse);

/* Show all that waits, and free. NULL is allowed. */
void jr_collapse_free(struct jr_collapse *collapse);

/* A line of `rank`. `most` is how many ranks it can come from now; *place is the stream's: 0 before
 * its first line, and the collapse's from then on. Text is copied, `around` is borrowed. */
struct jr_collapse_input {
    const char *text;
    size_t len;
    const char *const *around;
    int number;
    uint32_t rank, most;
    uint64_t wall_ns; /* when it came */
    uint64_t *place;
};

/* Add a line to the queue, or its rank to an equal line there, and show the lines that may not wait
 * for others any more. */
void jr_collapse_add(struct jr_collapse *collapse, const struct jr_collapse_input *line);

/* Show all that waits now. */
void jr_collapse_flush(struct jr_collapse *collapse);

/*
 * console.show and console.hide: which lines the console shows. What takes a pattern too many steps
 * does not match it; a pattern that this happens to again and again is given up, so that it cannot
 * hold the ranks for ever.
 */

#define JR_FILTER_LIMITED_MOST 100 /* lines; after them all are shown */

struct jr_filter {
    struct jr_regex *show, *hide; /* NULL: none */
    unsigned limited;             /* lines that hit a limit */
};

/* Returns 0, or -1 with errno for a pattern that cannot be compiled, which the spec's check would
 * have refused. */
int jr_filter_open(struct jr_filter *ret, const struct jr_console *console);

/* Free the patterns. A second time nothing happens. */
void jr_filter_close(struct jr_filter *filter);

/* Whether there is anything to ask it. */
bool jr_filter_is_set(const struct jr_filter *filter);

/* Whether a line, without its newline, is shown. */
bool jr_filter_passes(struct jr_filter *filter, const char *line, size_t len);

#endif
