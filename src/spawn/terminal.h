/*
 * --debug: a pseudo-terminal for one rank, and jobrun's own terminal at its
 * other end (pty(7), termios(3)).
 *
 * The guard opens both before it forks, passes changes of the window on, and puts the terminal's
 * mode back when the runner is gone. The runner moves the bytes: from the rank's start to its end
 * the terminal is raw, so that Ctrl-C is the rank's.
 */
#ifndef JR_TERMINAL_H
#define JR_TERMINAL_H

#include <stddef.h>
#include <termios.h>

#include <jobrun/error.h>

#include "eventloop/loop.h"

/* Bytes on their way. */
struct jr_channel {
    char bytes[4096];
    size_t at, end;
};

struct jr_terminal {
    int fd;     /* jobrun's, by a description of our own; -1: none of this */
    int master; /* of the pair */
    int slave;  /* for the rank; closed once that has it */
    struct termios saved;
    struct jr_loop *loop; /* while bytes are moved; else NULL */
    struct jr_watch near, far;
    struct jr_channel keys, shown;
};

#define JR_TERMINAL_NONE                                                                           \
    {                                                                                              \
        .fd = -1, .master = -1, .slave = -1                                                        \
    }

/* For the guard: `fd` must be a terminal in whose foreground we are. 0, or -1 with `err`. */
int jr_terminal_open(struct jr_terminal *ret, int fd, struct jr_error *err);

/* Give the rank's terminal the size of jobrun's. */
void jr_terminal_resize(const struct jr_terminal *terminal);

/* The mode that jobrun found. */
void jr_terminal_restore(const struct jr_terminal *terminal);

/* Close what is open, and restore. One that was not opened is none. */
void jr_terminal_close(struct jr_terminal *terminal);

/* For the runner: the rank has its end, begin to move bytes. */
int jr_terminal_begin(struct jr_terminal *terminal, struct jr_loop *loop);

/* The rank has ended: show the last of it, and restore. */
void jr_terminal_end(struct jr_terminal *terminal);

#endif
