/*
 * The console: two outputs that whole lines go to, one temporary line below
 * them on a terminal, and a bounded backlog where the reader is slow. Nothing
 * here blocks, so that a stopped terminal cannot keep jobrun from its work.
 */
#ifndef JR_SCREEN_H
#define JR_SCREEN_H

#include <stdbool.h>
#include <stddef.h>

#include "buf.h"
#include "loop.h"

/* How an output is written to without blocking. */
enum jr_output_kind {
    JR_OUTPUT_CLOSED, /* nobody there: what is written is dropped */
    JR_OUTPUT_FILE,   /* never blocks for long */
    JR_OUTPUT_OPEN,   /* our own description, O_NONBLOCK */
    JR_OUTPUT_SOCKET, /* by MSG_DONTWAIT */
    JR_OUTPUT_SHARED  /* cannot be reopened: asked before each small write */
};

struct jr_output {
    struct jr_watch watch;
    enum jr_output_kind kind;
    bool terminal;
    struct jr_buf backlog; /* what the reader did not take yet */
    size_t taken;          /* bytes of it that it did */
    struct jr_screen *screen;
};

struct jr_screen {
    struct jr_loop *loop;
    struct jr_output outputs[2];
    struct jr_output *streams[2];  /* both the same where both are one file */
    bool failed;                   /* not all was shown */
    int error;                     /* why not, where somebody may still look:
                                      errno of a full disk; 0 */
    struct jr_output *lit;         /* where the temporary line stands */
    void (*relieved)(void *owner); /* the backlog has room again */
    void *owner;
};

/* `out_fd` and `err_fd` stay the caller's; -1: closed. */
void jr_screen_open(struct jr_screen *screen, struct jr_loop *loop, int out_fd,
                    int err_fd);
void jr_screen_close(struct jr_screen *screen);

/* Show bytes, which end a line, on the output of `stream` (0 or 1). */
void jr_screen_write(struct jr_screen *screen, int stream, const char *bytes,
                     size_t len);

/* Draw, or with "" erase, the temporary line on the terminal of standard
 * error. `text` is plain and is cut to the terminal's width. */
void jr_screen_light(struct jr_screen *screen, const char *text);

/* Whether so much waits that readers had better pause; whether any waits. */
bool jr_screen_is_full(const struct jr_screen *screen);
bool jr_screen_is_waiting(const struct jr_screen *screen);

/* Drop what waits. */
void jr_screen_abandon(struct jr_screen *screen);

#endif
