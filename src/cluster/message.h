/*
 * What head and agents say to each other, through srun's standard streams.
 *
 * An agent says frames: JSON objects, one a line, of at most JR_MESSAGE_MOST
 * bytes, because srun moves what tasks print in messages of 1 KiB and mixes the
 * tasks between two messages. Each begins with the agent's node:
 *
 *   {"n":1,"t":"hello","version":"0.1.0","host":"gpu02",...}
 *   {"n":1,"t":"out","b":"BASE64"}
 *
 * Those with `b` are pieces of a stream of bytes, in order, one for each type
 * of JR_FLOWS; the others are words. The head says words only, of any length,
 * and every agent hears all of them.
 *
 *   agent                        head
 *   facts... hello          ->
 *                           <-   spec      once
 *   seats... ready, or
 *   why... refuse           ->
 *                           <-   go        for each attempt
 *   begun                   ->
 *   out err event...        ->
 *                           <-   stop, release, first, query, hang, signal,
 *                                hold, away
 *                           <-   beat      again and again: heartbeat.h
 *   beat                    ->
 *   outcome... done         ->             more of out and err may follow
 *   out err... shown        ->             and then it has
 *                           <-   end of input: stop, and leave
 */
#ifndef JR_MESSAGE_H
#define JR_MESSAGE_H

#include <stdint.h>

#include "base/buf.h"
#include "base/json.h"

#define JR_MESSAGE_MOST 1000u /* bytes of a frame's line, newline and all */
#define JR_MESSAGE_RAW  690u  /* bytes of a stream in one frame */

/* The streams of an agent. */
#define JR_FLOWS(X)                                                            \
    X(FACTS, "facts") /* of its node, as `doctor --format yaml` */             \
    X(WHY, "why")     /* why it refuses */                                     \
    X(SEATS, "seats") /* what its ranks will have of it: node_resources.h */   \
    X(OUT, "out")     /* console lines */                                      \
    X(ERR, "err")                                                              \
    X(EVENT, "event")     /* lines of events.jsonl */                          \
    X(OUTCOME, "outcome") /* of an attempt: outcome_message.h */

#define JR_FLOW_ENUM(name, word) JR_FLOW_##name,
enum jr_flow { JR_FLOWS(JR_FLOW_ENUM) JR_FLOW_COUNT };

const char *jr_flow_word(enum jr_flow type);
/* JR_FLOW_COUNT where it is the word of none. */
enum jr_flow jr_flow_find(const char *word);

/* A word of an agent: {"n":node,"t":type}, to which more may be set; the
 * caller's. NULL without memory. */
json_t *jr_message_word(uint32_t node, const char *type);

/* Append it as a line; it is taken over. */
void jr_message_add(struct jr_buf *out, json_t *frame);

/* Append bytes of a stream, as many frames as it takes. */
void jr_message_bytes(struct jr_buf *out, uint32_t node, enum jr_flow type,
                      const char *bytes, size_t len);

/* The frame in a line; NULL: it is none. The caller's. */
json_t *jr_message_read(const char *line, size_t len);

/* Append the bytes that a frame holds; false where that is no base64. */
bool jr_message_take(struct jr_buf *to, const json_t *frame);

/* The whole lines of what has come in pieces. */
struct jr_inlet {
    struct jr_buf bytes;
    size_t at; /* of the next line */
};

/* Add what was read; then take line after line: NULL when there is no whole one
 * left. A line is valid until bytes are added; its newline is not counted. */
void jr_inlet_add(struct jr_inlet *inlet, const char *bytes, size_t len);
const char *jr_inlet_line(struct jr_inlet *inlet, size_t *ret_len);
/* What is no whole line. */
const char *jr_inlet_rest(const struct jr_inlet *inlet, size_t *ret_len);
void jr_inlet_release(struct jr_inlet *inlet);

#endif
