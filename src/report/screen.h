/*
 * A terminal that is taken over for a while: its other screen, without cursor, echo and line
 * editing, and given back however the program ends. While it is open, all signals that could end or
 * stop the process are blocked and read from a descriptor, so that none comes between.
 */
#ifndef JR_SCREEN_H
#define JR_SCREEN_H

#include <signal.h>
#include <stdbool.h>
#include <termios.h>

#include "base/buf.h"

struct jr_screen {
    int out;               /* the terminal that is drawn on; it never blocks */
    int in;                /* the one that is typed on; -1: there is none */
    int keys;              /* the same while keys may come from it; else -1 */
    int signals;           /* a signalfd(2); -1: the screen is not open */
    bool taken, raw;       /* the terminals are ours at present */
    struct termios before; /* of `in` */
    sigset_t mask;         /* before it was opened */
};

/* What happened to an open screen. */
enum jr_screen_event {
    JR_SCREEN_NOTHING,
    JR_SCREEN_REDRAW, /* another size, or back in the foreground */
    JR_SCREEN_DIE     /* by a signal, once the screen is closed */
};

struct jr_screen_size {
    unsigned lines, columns;
};

/* Take the terminals `out` and, if that is one, `in`. False with errno if they or the signals
 * cannot be had. */
bool jr_screen_open(struct jr_screen *ret, int in, int out);

/* Give them back, and unblock the signals. A screen that is not open stays as it is. */
void jr_screen_close(struct jr_screen *screen);

/* Its size now; 24 lines of 80 columns where it does not say. */
struct jr_screen_size jr_screen_size(const struct jr_screen *screen);

/* Read the keys that were typed. The length; 0: there are none, and once the terminal has gone
 * there never will be. */
size_t jr_screen_keys(struct jr_screen *screen, char *ret, size_t size);

/* Read the signals that came. A stop gives the terminal back, stops the
 * process, and takes it again when the process continues. For DIE,
 * *ret_signal is the signal to raise after jr_screen_close. */
enum jr_screen_event jr_screen_signals(struct jr_screen *screen, int *ret_signal);

/* Draw `text` from the upper left corner, in lines that fit, and erase what was there before. False
 * if it cannot be written. */
bool jr_screen_draw(const struct jr_screen *screen, const struct jr_buf *text);

#endif
