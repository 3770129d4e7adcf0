/*
 * What a sweep draws on a terminal while it runs, below all that is printed there: a line for each
 * running cell, and one for the sum. It is drawn once a second, and soon after a cell began or
 * ended; where nothing is drawn nothing is woken for.
 *
 * The leader alone writes to standard error (sweep_output.h). What cells print goes through a pipe
 * to it, which is the standard error of their processes, and is shown above the lines. Nothing is
 * drawn until a terminal that was stopped has taken what it was given. Where standard error is a
 * pipe, nothing is drawn, and all else is as on a terminal.
 */
#ifndef JR_SWEEP_SCREEN_H
#define JR_SWEEP_SCREEN_H

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>

struct jr_sweep_run;

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
