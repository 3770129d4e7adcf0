/*
 * A line of events.jsonl: an event with its details, written and read by the table of
 * event_table.h. What an event may say is a member of struct jr_event, and a row of the table in
 * event_line.c.
 */
#ifndef JR_EVENT_LINE_H
#define JR_EVENT_LINE_H

#include <jobrun/run.h>

#include "base/json.h"
#include "store/event_table.h"
#include "store/progress.h"

/* One event. A writer sets its name and what it says; other members are not written. */
struct jr_event {
    enum jr_event_name name;
    uint32_t says;    /* a writer: the optional members that it sets; a reader: all
                         members that are there. JR_SAYS(...) */
    uint64_t ns;      /* monotonic; 0: the line does not say */
    uint64_t wall_ns; /* 0: the line does not say */
    uint32_t rank;
    int32_t pid;
    uint32_t stream;   /* 1 stdout, 2 stderr */
    int32_t exit_code; /* -1: none */
    int32_t signal;    /* 0: none */
    bool returned;
    enum jr_stage stage;
    int32_t error; /* errno */
    enum jr_timeout timeout;
    enum jr_inject injection;
    uint32_t signalled, running; /* ranks */
    uint32_t attempt;
    uint64_t wait_ms;
    uint32_t master_port;
    uint32_t processes, left; /* that were killed, and that could not be */
    uint32_t node, nodes;
    uint64_t heard, told; /* bytes */
    enum jr_step_problem problem;
};

/* Append its line, with its times. */
void jr_event_put(struct jr_buf *out, const struct jr_event *event);

/* Read a line, without its newline; false: it is not an event. What it does not say is 0. */
bool jr_event_read(struct jr_event *ret, const char *line, size_t len);

/* The same of a line that was parsed. */
bool jr_event_of(struct jr_event *ret, const json_t *line);

/* Its description for people: "killed the ranks that still ran"; NULL for an unknown one. */
const char *jr_event_words(enum jr_event_name name);

/* Its kinds, JR_EVENT_IS_...; 0: none. */
unsigned jr_event_kind(enum jr_event_name name);

/* Its word in the file: "rank_started"; NULL for an unknown one. */
const char *jr_event_word(enum jr_event_name name);

/* Append schemas/events-v1.schema.json. */
void jr_schema_events(struct jr_buf *out);

#endif
