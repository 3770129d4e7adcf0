/*
 * What a sweep draws on a terminal while it runs, below all that is printed there: a line for each
 * running cell, and one for the sum. It is drawn once a second, and soon after a cell began or
 * ended; where nothing is drawn nothing is woken for.
 *
 * The leader alone writes to standard error (jr_sweep_output). What cells print goes through a pipe
 * to it, which is the standard error of their processes, and is shown above the lines. Nothing is
 * drawn until a terminal that was stopped has taken what it was given. Where standard error is a
 * pipe, nothing is drawn, and all else is as on a terminal.
 */
#ifndef JR_SWEEP_SCREEN_H
#define JR_SWEEP_SCREEN_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "store/progress.h"

struct jr_sweep_run;

/*
 * Standard error of a sweep, to which nobody waits to write: a terminal that is stopped, and a pipe
 * that is not read, hold neither the leader nor a cell. What they do not take waits in bounded
 * memory; what has no room there is counted, and that is said once there is room again.
 */

struct jr_sweep_output {
    int fd;                /* it never blocks; -1: standard error is neither a
                              terminal nor a pipe, and is written to as it is */
    pid_t owner;           /* the process that opened it */
    bool terminal;         /* else a pipe */
    bool gone;             /* nobody reads it any more */
    struct jr_buf pending; /* what it has not taken yet */
    size_t taken;          /* bytes of that which it has */
    size_t lost;           /* texts for which there was no room */
};

/* Open standard error once more, so that others who have it may wait. */
void jr_sweep_output_open(struct jr_sweep_output *ret);

/* Whether this process writes to it. */
bool jr_sweep_output_is_open(const struct jr_sweep_output *output);

/* Add whole lines that are to be shown. */
void jr_sweep_output_add(struct jr_sweep_output *output, const char *text, size_t len);

/* Whether it has not taken all yet. */
bool jr_sweep_output_is_behind(const struct jr_sweep_output *output);

/* Give it what it takes. Whether that was all. */
bool jr_sweep_output_flush(struct jr_sweep_output *output);

/* Close it, whatever waits; in another process, too. */
void jr_sweep_output_close(struct jr_sweep_output *output);

/* What a sweep shows on a terminal while it runs: a line for a running cell, and one for the sum.
 * Each fits into the columns that it gets; what does not fit is left out, the least important
 * first. */

struct jr_cell_line {
    uint32_t number;
    const char *values;                 /* "lr 0.03  seed 1"; may be anybody's text */
    size_t values_width;                /* to which they are filled with blanks */
    const char *devices;                /* "GPU 0"; "": none of its own */
    const struct jr_progress *progress; /* NULL: it has told no step */
    uint64_t elapsed_ns;
    bool utf8;
};

/* Append "0004  lr 0.03  seed 1  step 410/800  51 %  left 31s   GPU 0". */
void jr_cell_line_add(struct jr_buf *out, const struct jr_cell_line *line, unsigned columns);

struct jr_sum_line {
    size_t cells, done, failed, running, left;
    bool stopping; /* no other cell begins */
    bool timed;    /* it can be told how long it still takes */
    uint64_t left_ns;
    const char *best; /* "0002 (accuracy 0.962)"; "": none is */
};

/* Append "24 cells: 5 done, 1 failed, 4 running, 14 left; about 4m12s to go; best so far 0002
 * (accuracy 0.962)". */
void jr_sum_line_add(struct jr_buf *out, const struct jr_sum_line *line, unsigned columns);

/* Append how to erase `count` lines of the given widths, of which the last has the cursor in it, on
 * a terminal of so many columns: one that was made narrower has wrapped them. */
void jr_lines_erase(struct jr_buf *out, const size_t *widths, size_t count, unsigned columns);

enum { JR_SCREEN_LINES = 256 };

struct jr_sweep_screen {
    struct jr_sweep_output output;
    int pipe[2]; /* through which the cells print; -1: they have a console */
    bool draws;  /* the lines */
    bool utf8;
    struct jr_buf notes;            /* what has come through the pipe */
    size_t widths[JR_SCREEN_LINES]; /* of the lines that are drawn */
    size_t count;
    uint64_t drawn_ns, due_ns;
    struct jr_progress *progress;               /* room for a cell's; NULL: there was none */
    void (*note)(void *data, const char *line); /* of the session's options */
    void *data;
};

/* What is told of by run->screen, as poll(2) has it. */
enum { JR_SWEEP_SCREEN_FDS = 2 };

/* Begin, and draw if the options ask for it; it may turn out that nothing can be drawn, which is no
 * error. */
void jr_sweep_screen_open(struct jr_sweep_run *run);

/* Show what was printed last, and take the lines away. */
void jr_sweep_screen_close(struct jr_sweep_run *run);

/* All is written down: wait until what is left is shown, too, or a signal that stops runs has
 * come. */
void jr_sweep_screen_finish(struct jr_sweep_run *run);

/* Whether anything is drawn. */
bool jr_sweep_screen_is_open(const struct jr_sweep_run *run);

/* Take the lines away before something else is printed; they come again. */
void jr_sweep_screen_hide(struct jr_sweep_run *run);

/* A cell has begun or ended: draw soon. */
void jr_sweep_screen_stir(struct jr_sweep_run *run);

/* What to wait for, and until when (CLOCK_MONOTONIC ns; 0: for ever). */
uint64_t jr_sweep_screen_await(const struct jr_sweep_run *run,
                               struct pollfd ret[static JR_SWEEP_SCREEN_FDS]);

/* Show what has come, and draw if it is time. */
void jr_sweep_screen_turn(struct jr_sweep_run *run);

/* In the process of a cell: its standard error is the leader's from now on. */
void jr_sweep_screen_leave(struct jr_sweep_run *run);

#endif
