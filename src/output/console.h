/*
 * The console: two outputs that whole lines go to, one temporary or standing line below them on a
 * terminal, and a bounded backlog where the reader is slow. Nothing here blocks, so that a stopped
 * terminal cannot keep jobrun from its work.
 */
#ifndef JR_CONSOLE_H
#define JR_CONSOLE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "eventloop/loop.h"

/* How an output is written to without blocking. */
enum jr_output_kind {
    JR_OUTPUT_CLOSED, /* there is no reader: what is written is dropped */
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
    bool wanted;           /* somebody waits for room, backlog or not */
    bool watched;
    struct jr_console_writer *console;
};

struct jr_console_writer {
    struct jr_loop *loop;
    struct jr_output outputs[2];
    struct jr_output *streams[2]; /* both the same where both are one file */
    bool failed;                  /* not all was shown */
    bool gated;                   /* somebody else writes there: all waits */
    int error;                    /* why not, where somebody may still look:
                                     errno of a full disk; 0 */
    struct jr_output *drawn_on;   /* where the temporary line is; NULL */
    struct jr_buf standing;       /* the line that stays below all others */
    struct jr_timer gone;         /* the reader of an output has gone */
    /* An output has no backlog any more, and would take more, or drops it. */
    void (*relieved)(void *owner, struct jr_output *output);
    void *owner;
};

/* Begin to write to these descriptors, which stay the caller's; -1: closed. */
void jr_console_writer_open(struct jr_console_writer *console, struct jr_loop *loop, int out_fd,
                            int err_fd);

/* Drop what waits, and free. */
void jr_console_writer_close(struct jr_console_writer *console);

/* Show bytes, which end a line, on the output of `stream` (0 or 1). */
void jr_console_writer_write(struct jr_console_writer *console, int stream, const char *bytes,
                             size_t len);

/* Draw, or with "" erase, the temporary line on the terminal of standard error. `text` is plain and
 * is cut to the terminal's width. */
void jr_console_writer_draw(struct jr_console_writer *console, const char *text);

/* Keep `text` as the last line on the terminal of standard error, below all that is written there
 * from now on; "": no more. It takes the place of the temporary line, which is not drawn meanwhile,
 * and is cut like it. Where the terminal becomes narrower, what it wraps of the line is erased with
 * it. */
void jr_console_writer_stand(struct jr_console_writer *console, const char *text);

/* The columns that a temporary line may have; 0: standard error is no terminal. */
unsigned jr_console_writer_columns(const struct jr_console_writer *console);

/* How many lines its terminal shows at once; 0: it is none. */
unsigned jr_output_rows(const struct jr_output *output);

/* Whether so much waits for an output that nothing more should be written. */
bool jr_output_is_full(const struct jr_output *output);

/* Whether any bytes wait for it. */
bool jr_output_is_waiting(const struct jr_output *output);

/* Whether its reader is gone, so that nothing need be written. */
bool jr_output_is_closed(const struct jr_output *output);

/* Whether `relieved` is to be called, again and again, while there is room. False where it will not
 * be: of a file, of which there always is. */
bool jr_output_want(struct jr_output *output, bool wanted);

/* Whether anything waits for any output. */
bool jr_console_writer_is_waiting(const struct jr_console_writer *console);

/* No other process writes there any more. */
void jr_console_writer_open_gate(struct jr_console_writer *console);

/* Drop what waits, and the output that it waited for with it. */
void jr_console_writer_abandon(struct jr_console_writer *console);

#endif
