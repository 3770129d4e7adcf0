/*
 * The protocol between the controller of a job on several nodes and the agents on them, through the
 * streams of a transport (transport.h): messages in both directions, and channels, which carry
 * bytes; the events of the run are lines of one. message_table.h has the tables of both.
 *
 * A message is a JSON object, one a line. What an agent says is at most JR_MESSAGE_MOST bytes long,
 * because srun moves what tasks print in pieces of 1 KiB and mixes the tasks between two pieces,
 * and begins with the agent's node:
 *
 *   {"n":1,"t":"hello","version":"0.1.0","host":"gpu02",...}
 *   {"n":1,"t":"out","b":"BASE64"}
 *
 * Those with `b` carry a piece of a channel, in order. What the controller says is of any length,
 * and every agent hears all of it.
 *
 *   agent                        controller
 *   want                    ->             where the program is copied, by a
 *                           <-   its bytes script in the place of the agent
 *   placed                  ->
 *                           <-   assign    to one that has a link of its own
 *   facts... hello          ->
 *                           <-   spec      once
 *   want                    ->             of a run that has begun before,
 * where
 *                           <-   code...   its code is not there
 *   resources... ready, or
 *   why... refuse           ->
 *                           <-   go        for each attempt
 *   begun                   ->
 *   want                    ->             where the code is not there
 *                           <-   code...
 *   apart                   ->             where the run folder is not there
 *   out err event...        ->
 *   all_returned, released,
 *   silent, quiet,
 *   terminated,
 *   initialized, exchange...->
 *                           <-   stop, release, first, query, hang, no_step,
 *                                no_first_step, preempted, not_preempted,
 *                                signal, hold, away, world, exchange
 *                           <-   heartbeat again and again: heartbeat.h
 *   heartbeat               ->
 *   left... outcome... done ->             more of out and err may follow
 *   out err... shown        ->             and then it has
 *                           <-   end of input: stop, and leave
 *
 * Or, where the agents run cells of a sweep, each a run of its own on one node:
 *
 *   facts... hello          ->
 *                           <-   share     by ssh
 *   want                    ->             where the code is not there
 *                           <-   code...
 *   ready, or
 *   why... refuse           ->
 *                           <-   serve     once
 *                           <-   cell      for one of them, again and again
 *   note... out err...
 *   left... cell_ended      ->             of one cell after the other
 *                           <-   signal, hold
 *   heartbeat               ->             unasked
 *                           <-   end of input: stop all cells, and leave
 *
 * A survey (survey.h) has `listen`, `reach` and `heartbeat` in the place of the spec and what
 * follows it.
 *
 * Both ends are of the same build. That they are is what `hello` tells, so its words `t`, `version`
 * and `host` stay what they are for good.
 */
#ifndef JR_PROTOCOL_H
#define JR_PROTOCOL_H

#include <stdint.h>

#include "base/buf.h"
#include "base/json.h"
#include "cluster/message_table.h"

#define JR_MESSAGE_MOST 1000u /* bytes of an agent's line, newline and all */
#define JR_MESSAGE_RAW  690u  /* bytes of a channel in one line */

/* One message. A writer sets its type and what that says; a reader finds 0, false or NULL for what
 * was not said. */
struct jr_message {
    enum jr_message_type type;
    uint32_t node; /* of the agent that says it */
    int64_t at_ns, wall_ns, for_ns;
    int64_t port, code, signal, number, as, piece, limit_ms, mode;
    const char *version, *host, *spec, *inject, *run_id; /* borrowed */
    const char *cell, *sweep, *cells;                    /* the same */
    const char *env, *device, *folder;                   /* the same */
    const char *name, *devices, *cores;                  /* the same */
    const char *bytes, *mpi, *library, *obstacle;        /* the same */
    const char *token, *console, *collect, *fingerprint; /* the same */
    bool behind, heartbeats, on, full;
};

/* The word of a message: "hello". */
const char *jr_message_word(enum jr_message_type type);
/* Append it as a line. */
void jr_message_put(struct jr_buf *out, const struct jr_message *message);

/* Read a message of an agent, whose texts are borrowed from `object`. False: it is none that this
 * build knows. */
bool jr_message_of_node(struct jr_message *ret, const json_t *object);
/* The same of the controller. */
bool jr_message_of_controller(struct jr_message *ret, const json_t *object);

/* The word of a channel. */
const char *jr_channel_word(enum jr_channel channel);
/* The channel of a word; JR_CHANNEL_COUNT: it is none. */
enum jr_channel jr_channel_find(const char *word);

/* An agent, as its lines begin. */
struct jr_sender {
    uint32_t node;
    size_t piece; /* bytes of a channel in one line; 0: JR_MESSAGE_RAW */
};

/* Append bytes of a channel, as many lines as it takes. */
void jr_channel_put(struct jr_buf *out, const struct jr_sender *sender, enum jr_channel channel,
                    const char *bytes, size_t len);

/* Append the bytes that a line of a channel holds; false: it is no base64. */
bool jr_channel_take(struct jr_buf *to, const json_t *object);

/* The object in a line of an agent, whether message or piece of a channel, with its node and its
 * word; NULL: it is neither. The caller's. */
json_t *jr_message_read(const char *line, size_t len);

#endif
