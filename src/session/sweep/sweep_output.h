/*
 * Standard error of a sweep, to which nobody waits to write: a terminal that is stopped, and a pipe
 * that is not read, hold neither the leader nor a cell. What they do not take waits in bounded
 * memory; what has no room there is counted, and that is said once there is room again.
 */
#ifndef JR_SWEEP_OUTPUT_H
#define JR_SWEEP_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/buf.h"

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

/* Whether there is room for more. */
bool jr_sweep_output_has_room(const struct jr_sweep_output *output);

/* Add whole lines that are to be shown. */
void jr_sweep_output_add(struct jr_sweep_output *output, const char *text, size_t len);

/* Whether it has not taken all yet. */
bool jr_sweep_output_is_behind(const struct jr_sweep_output *output);

/* Give it what it takes. Whether that was all. */
bool jr_sweep_output_flush(struct jr_sweep_output *output);

/* Close it, whatever waits; in another process, too. */
void jr_sweep_output_close(struct jr_sweep_output *output);

#endif
