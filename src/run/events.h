/*
 * events.jsonl: what happened in a run, one JSON object a line. Lines are
 * gathered and written when the loop has nothing else to do.
 */
#ifndef JR_EVENTS_H
#define JR_EVENTS_H

#include <sys/types.h>

#include "buf.h"

struct jr_events {
    int fd; /* -1: nowhere */
    struct jr_buf lines;
};

/* Open, or make, events.jsonl in the folder `dir_fd` to append to it. A file
 * that cannot be opened costs the events and nothing else. */
void jr_events_open(struct jr_events *events, int dir_fd, mode_t mode);

/* The same to a copy of `fd`, at `least` or beyond it. */
void jr_events_open_fd(struct jr_events *events, int fd, int least);

/* Add a line: time, ns, the event's name, and `format`, which is either empty
 * or more members, as in "\"rank\":%u". */
void jr_events_add(struct jr_events *events, const char *name,
                   const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* A signal as the value of a member: its name in quotes, null for 0. */
#define JR_EVENTS_SIGNAL 28 /* bytes of it */
const char *jr_events_signal(char out[static JR_EVENTS_SIGNAL], int sig);

/* An exit code as the value of a member: null for what is negative. */
const char *jr_events_code(char out[static JR_EVENTS_SIGNAL], int code);
void jr_events_flush(struct jr_events *events);
void jr_events_close(struct jr_events *events);

#endif
