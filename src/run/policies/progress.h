/* The live status: one temporary line on a terminal, once a second, and when a
 * stop begins. */
#ifndef JR_PROGRESS_H
#define JR_PROGRESS_H

#include <stdint.h>

#include "eventloop/loop.h"
#include "output/console.h"

struct jr_stop;

struct jr_status_line {
    struct jr_timer tick;
    struct jr_console_writer *screen;
    const uint32_t *running; /* ranks */
    const struct jr_stop *stop;
    uint64_t started_ns;
};

/* Begin to draw; without this call there is no line and no wake-up. */
void jr_status_open(struct jr_status_line *status, struct jr_loop *loop,
                    struct jr_console_writer *screen, const uint32_t *running,
                    const struct jr_stop *stop);

/* Draw at the next turn. */
void jr_status_hurry(struct jr_status_line *status);

/* Erase the line while jobrun is suspended; draw it again. Nothing happens to a
 * line that was not opened. */
void jr_status_pause(struct jr_status_line *status);
void jr_status_resume(struct jr_status_line *status);

/* Erase the line for good. */
void jr_status_close(struct jr_status_line *status);

#endif
