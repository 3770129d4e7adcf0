/*
 * The protocol between the controller of a job on several nodes and the agents on them, through the
 * streams of a transport (transport.h): messages in both directions, and channels, which carry
 * bytes; the events of the run are lines of one. The tables of both come first.
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
 *                           <-   heartbeat again and again: internal.h
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

#include <jobrun/run.h>

#include "base/buf.h"
#include "base/json.h"

/* What messages say besides. X(KEY, its word, its type, member) */
#define JR_MESSAGE_KEYS(X)                                                                         \
    X(AT, "at", INT, at_ns) /* monotonic, of the sender */                                         \
    X(VERSION, "version", TEXT, version)                                                           \
    X(HOST, "host", TEXT, host)                                                                    \
    X(WALL, "wall", INT, wall_ns)                                                                  \
    X(PORT, "port", INT, port)     /* for rank 0; 0: none */                                       \
    X(STATUS, "status", INT, code) /* what becomes the exit status */                              \
    X(SIGNAL, "signal", INT, signal)                                                               \
    X(BEHIND, "behind", FLAG, behind)  /* more of out and err follows */                           \
    X(SILENCE, "for_ns", INT, for_ns)  /* of the rank that wrote last */                           \
    X(SPEC, "spec", TEXT, spec)        /* resolved, as YAML */                                     \
    X(INJECT, "inject", TEXT, inject)  /* --inject; left out: none */                              \
    X(CELL, "cell", TEXT, cell)        /* its number; left out: it is none */                      \
    X(SWEEP, "sweep", TEXT, sweep)     /* the id of the cell's */                                  \
    X(CELLS, "cells", TEXT, cells)     /* the folder of its cells, absolute */                     \
    X(ATTEMPT, "attempt", INT, number) /* from 1 on */                                             \
    X(RUN_ID, "run_id", TEXT, run_id)                                                              \
    X(HEARTBEATS, "heartbeats", FLAG, heartbeats) /* it sends them */                              \
    X(ON, "on", FLAG, on)                                                                          \
    X(FULL, "full", FLAG, full)                                                                    \
    X(AS, "as", INT, as)                    /* the index of the agent's node */                    \
    X(PIECE, "piece", INT, piece)           /* bytes of a channel in one line */                   \
    X(ENV, "env", TEXT, env)                /* base64: NAME=VALUE and a NUL each */                \
    X(DEVICE, "device", TEXT, device)       /* of the user's own kind: its name */                 \
    X(FOLDER, "folder", TEXT, folder)       /* and where its facts are */                          \
    X(NAME, "name", TEXT, name)             /* of the spec, for its record */                      \
    X(DEVICES, "devices", TEXT, devices)    /* numbers of a node's: "0,2" */                       \
    X(CORES, "cores", TEXT, cores)          /* the same */                                         \
    X(LIMIT, "limit_ms", INT, limit_ms)     /* of waiting for them; 0: none */                     \
    X(BYTES, "b", TEXT, bytes)              /* base64 */                                           \
    X(MPI, "mpi", TEXT, mpi)                /* the protocol of its ranks' world */                 \
    X(LIBRARY, "library", TEXT, library)    /* of MPI, that they need */                           \
    X(OBSTACLE, "obstacle", TEXT, obstacle) /* why they get no world */                            \
    X(TOKEN, "token", TEXT, token)          /* of a listener, or of a folder */                    \
    X(FINGERPRINT, "fingerprint", TEXT, fingerprint)                                               \
    X(MODE, "mode", INT, mode)           /* of the run folder: log_mode */                         \
    X(COLLECT, "collect", TEXT, collect) /* of engine.ssh: with commas */                          \
    X(CONSOLE, "console", TEXT, console) /* "plain" or "color": what its ranks                     \
                                            print is shown; left out: not */

#define JR_MESSAGE_KEY_ENUM(key, word, type, member) JR_KEY_##key,
enum jr_message_key { JR_MESSAGE_KEYS(JR_MESSAGE_KEY_ENUM) JR_KEY_COUNT };
#define JR_KEY(key) (UINT64_C(1) << JR_KEY_##key)
_Static_assert(JR_KEY_COUNT <= 64, "a set of keys is 64 bits");

/* The messages: of an agent, FROM(NAME, its word, what it says besides), and of the controller,
 * TO(the same). Every one of an agent says `at`. */
#define JR_MESSAGES(FROM, TO)                                                                      \
    /* An agent is there. */                                                                       \
    FROM(HELLO, "hello", JR_KEY(VERSION) | JR_KEY(HOST) | JR_KEY(WALL) | JR_KEY(PORT))             \
    /* Its node can run its part of the spec, with such a world of MPI; or                         \
     * cells, with `on` in a folder of its own. */                                                 \
    FROM(READY, "ready", JR_KEY(MPI) | JR_KEY(LIBRARY) | JR_KEY(OBSTACLE) | JR_KEY(ON))            \
    /* It cannot: the channel `why` says why not. */                                               \
    FROM(REFUSE, "refuse", JR_KEY(STATUS) | JR_KEY(HOST))                                          \
    /* It has heard `go`; its clock is known from when it says so. */                              \
    FROM(BEGUN, "begun", 0)                                                                        \
    /* Its ranks write into a run folder of the node's own. */                                     \
    FROM(APART, "apart", 0)                                                                        \
    /* A sign of life. */                                                                          \
    FROM(HEARTBEAT, "heartbeat", 0)                                                                \
    /* The run on the node is over. `signal` is what its process died of. */                       \
    FROM(DONE, "done", JR_KEY(SIGNAL) | JR_KEY(BEHIND) | JR_KEY(PORT))                             \
    /* What `done` has said to be behind is there. */                                              \
    FROM(SHOWN, "shown", 0)                                                                        \
    /* The exit barrier: all ranks of the node have returned. */                                   \
    FROM(ALL_RETURNED, "all_returned", 0)                                                          \
    /* The exit barrier: it is open there, and need not be held anywhere. */                       \
    FROM(RELEASED, "released", 0)                                                                  \
    /* No rank of the node has written anything for `timeouts.silence`. */                         \
    FROM(SILENT, "silent", 0)                                                                      \
    /* The answer to `query`. */                                                                   \
    FROM(QUIET, "quiet", JR_KEY(SILENCE))                                                          \
    /* SIGTERM came there, or a rank died of it. */                                                \
    FROM(TERMINATED, "terminated", 0)                                                              \
    /* A cell is over, and nothing is left of it there. `status` is the exit                       \
       status of its process; `devices` are those of its own that are gone.                        \
       `on`: what it has left was sent before; `full`: no other has room. */                       \
    FROM(CELL_ENDED, "cell_ended",                                                                 \
         JR_KEY(CELL) | JR_KEY(STATUS) | JR_KEY(DEVICES) | JR_KEY(ON) | JR_KEY(FULL))              \
    /* A rank of the node has called MPI_Init. */                                                  \
    FROM(INITIALIZED, "initialized", 0)                                                            \
    /* The answer to `listen`; port 0: it could not, and `why` says why. */                        \
    FROM(LISTENING, "listening", JR_KEY(PORT))                                                     \
    /* The answer to `reach`: an enum jr_reach; `why` says more. */                                \
    FROM(REACHED, "reached", JR_KEY(STATUS))                                                       \
    /* Of the script that copies the program, before there is an agent: it waits for the           \
     * program, whose bytes follow as they are; it is about to start it. Of an                     \
     * agent: it has heard `go`, or the spec, and waits for the code of the                        \
     * run. */                                                                                     \
    FROM(WANT, "want", 0)                                                                          \
    FROM(PLACED, "placed", 0)                                                                      \
    /* Who an agent is: the first message, where each has its own link. */                         \
    TO(ASSIGN, "assign",                                                                           \
       JR_KEY(AS) | JR_KEY(HOST) | JR_KEY(PIECE) | JR_KEY(ENV) | JR_KEY(DEVICE) | JR_KEY(FOLDER))  \
    /* What is to be run. Of a run that has begun before also what `go` says                       \
     * of its folder, which is entered at once. */                                                 \
    TO(SPEC, "spec",                                                                               \
       JR_KEY(SPEC) | JR_KEY(INJECT) | JR_KEY(CELL) | JR_KEY(SWEEP) | JR_KEY(CELLS) |              \
           JR_KEY(ATTEMPT) | JR_KEY(RUN_ID) | JR_KEY(TOKEN) | JR_KEY(ON))                          \
    /* An attempt begins. `on`: an agent before this one may have made the                         \
     * node's own run folder. */                                                                   \
    TO(GO, "go",                                                                                   \
       JR_KEY(ATTEMPT) | JR_KEY(PORT) | JR_KEY(RUN_ID) | JR_KEY(HEARTBEATS) | JR_KEY(TOKEN) |      \
           JR_KEY(ON))                                                                             \
    /* Bytes of the code, a tar archive of `folder`, which the job may know by                     \
     * another `name`; `on`: they are the last. */                                                 \
    TO(CODE, "code", JR_KEY(FOLDER) | JR_KEY(NAME) | JR_KEY(BYTES) | JR_KEY(ON))                   \
    /* Cells will come, in the folder `cells`: is it there, with the mark                          \
     * `token`? Where it is not, the node makes one of its own, and what cells                     \
     * leave there comes back; `on`: it needs their code, too. The answer is                       \
     * `ready`, or `refuse`. */                                                                    \
    TO(SHARE, "share",                                                                             \
       JR_KEY(CELLS) | JR_KEY(TOKEN) | JR_KEY(COLLECT) | JR_KEY(ON) | JR_KEY(MODE))                \
    /* They come now. */                                                                           \
    TO(SERVE, "serve", JR_KEY(HEARTBEATS))                                                         \
    /* A cell begins on node `as`. `folder` is that of its spec. */                                \
    TO(CELL, "cell",                                                                               \
       JR_KEY(AS) | JR_KEY(SPEC) | JR_KEY(NAME) | JR_KEY(FOLDER) | JR_KEY(INJECT) | JR_KEY(CELL) | \
           JR_KEY(SWEEP) | JR_KEY(CELLS) | JR_KEY(DEVICE) | JR_KEY(DEVICES) | JR_KEY(CORES) |      \
           JR_KEY(LIMIT) | JR_KEY(CONSOLE) | JR_KEY(FINGERPRINT))                                  \
    /* End the ranks. */                                                                           \
    TO(STOP, "stop", 0)                                                                            \
    /* The exit barrier is open. */                                                                \
    TO(RELEASE, "release", 0)                                                                      \
    /* Some rank has ended well: `timeouts.after_first_exit` begins. */                            \
    TO(FIRST, "first", 0)                                                                          \
    /* For how long have the ranks been silent? */                                                 \
    TO(QUERY, "query", 0)                                                                          \
    /* All have been for too long. */                                                              \
    TO(HANG, "hang", 0)                                                                            \
    /* The job has made no step forward for `timeouts.progress`. */                                \
    TO(NO_STEP, "no_step", 0)                                                                      \
    /* Nor its first one within `timeouts.first_step`. */                                          \
    TO(NO_FIRST_STEP, "no_first_step", 0)                                                          \
    /* A rank of some node has called MPI_Init. */                                                 \
    TO(WORLD, "world", 0)                                                                          \
    /* The next bytes of the exchange between MPI's process managers. */                           \
    TO(EXCHANGE, "exchange", JR_KEY(BYTES))                                                        \
    /* The job is preempted; or it is not. */                                                      \
    TO(PREEMPTED, "preempted", 0)                                                                  \
    TO(NOT_PREEMPTED, "not_preempted", 0)                                                          \
    /* jobrun was sent a signal, and so is the process of the run. */                              \
    TO(SIGNAL, "signal", JR_KEY(SIGNAL) | JR_KEY(CELL))                                            \
    /* Keep what is for the console; or send it again. */                                          \
    TO(HOLD, "hold", JR_KEY(ON))                                                                   \
    /* The controller is about to be suspended, and will say nothing. */                           \
    TO(AWAY, "away", 0)                                                                            \
    /* A sign of life, which is to be answered. */                                                 \
    TO(HEARTBEAT, "heartbeat", 0)                                                                  \
    /* Of a survey: listen at a port, or from one on; connect to that. */                          \
    TO(LISTEN, "listen", JR_KEY(PORT) | JR_KEY(ON) | JR_KEY(TOKEN))                                \
    TO(REACH, "reach", JR_KEY(HOST) | JR_KEY(PORT) | JR_KEY(TOKEN))

/* Those of an agent come first: the table of nodes has a row for each. */
#define JR_MESSAGE_FROM_ENUM(name, word, keys) JR_FROM_NODE_##name,
#define JR_MESSAGE_TO_ENUM(name, word, keys)   JR_TO_NODES_##name,
#define JR_MESSAGE_NO_ENUM(name, word, keys)
enum jr_message_type { JR_MESSAGES(JR_MESSAGE_FROM_ENUM, JR_MESSAGE_TO_ENUM) JR_MESSAGE_COUNT };
#define JR_MESSAGE_ONE(name, word, keys) +1
#define JR_MESSAGE_FROM_COUNT            (JR_MESSAGES(JR_MESSAGE_ONE, JR_MESSAGE_NO_ENUM))

/* The channels of an agent. */
#define JR_CHANNELS(X)                                                                             \
    X(FACTS, "facts")         /* of its node, as `doctor --format yaml` */                         \
    X(WHY, "why")             /* why it refuses */                                                 \
    X(RESOURCES, "resources") /* what its ranks get of it: node_resources.h */                     \
    X(OUT, "out")             /* console lines */                                                  \
    X(ERR, "err")                                                                                  \
    X(NOTE, "note")         /* lines about cells, for the user */                                  \
    X(EVENT, "event")       /* lines of events.jsonl, and of step_tracker.h */                     \
    X(OUTCOME, "outcome")   /* of an attempt: jr_outcome_message_add */                            \
    X(LEFT, "left")         /* what ranks, or a cell, have left in files */                        \
    X(EXCHANGE, "exchange") /* of MPI's managers: wireup/exchange.h */                             \
    X(PROGRESS, "progress") /* of cells with files of their own: agent.h */

#define JR_CHANNEL_ENUM(name, word) JR_CHANNEL_##name,
enum jr_channel { JR_CHANNELS(JR_CHANNEL_ENUM) JR_CHANNEL_COUNT };

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

/* Append the outcome of an attempt on one node, as its agent sends it: one JSON object in which
 * what is 0 is left out, so that a rank that ended well costs about 120 bytes. */
void jr_outcome_message_add(struct jr_buf *out, const struct jr_outcome *outcome);

/* The same where the run could not begin: why not. */
void jr_outcome_message_refuse(struct jr_buf *out, const struct jr_error *why);

/* Read it into *ret, whose `ranks` has room for `count`. -1 with why: it is none, it is of another
 * number of ranks, or the run there could not begin. */
int jr_outcome_message_read(struct jr_outcome *ret, uint32_t count, const char *text, size_t len,
                            struct jr_error *err);

#endif
