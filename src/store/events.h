/*
 * events.jsonl: what happened in a run, one JSON object a line. Lines are gathered and written when
 * the loop has nothing else to do.
 */
#ifndef JR_EVENTS_H
#define JR_EVENTS_H

#include <sys/types.h>

#include "base/buf.h"
#include "store/event_line.h"

struct jr_events {
    int fd; /* -1: nowhere */
    struct jr_buf lines;
};

/* Open, or make, events.jsonl in the folder `dir_fd` to append to it. A file that cannot be opened
 * costs the events and nothing else. */
void jr_events_open(struct jr_events *events, int dir_fd, mode_t mode);

/* The same to a copy of `fd`, at `least` or beyond it. */
void jr_events_open_fd(struct jr_events *events, int fd, int least);

/* Add what happens now. The event is borrowed; its times are not looked at. */
void jr_events_add(struct jr_events *events, const struct jr_event *event);

/* Add what happened at another time, by the wall clock and by the monotonic one. */
void jr_events_add_at(struct jr_events *events, const struct jr_event *event, uint64_t wall_ns,
                      uint64_t ns);

/* Add a line, with its newline, that is no event: for the controller of several nodes, where there
 * is one. */
void jr_events_add_line(struct jr_events *events, const struct jr_buf *line);

/* Write the lines that were gathered. What cannot be written is dropped. */
void jr_events_flush(struct jr_events *events);

/* Write them, and close the file. A second time nothing happens. */
void jr_events_close(struct jr_events *events);

#endif
