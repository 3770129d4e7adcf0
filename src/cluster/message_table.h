/*
 * What controller and agents say to each other (protocol.h): the keys of messages, the messages in
 * both directions, and the channels of an agent.
 */
#ifndef JR_MESSAGE_TABLE_H
#define JR_MESSAGE_TABLE_H

#include <stdint.h>

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
    /* Of the script in copy.h, before there is an agent: it waits for the                         \
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

/* Those of an agent come first: node_state.h has a column for each. */
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
    X(EVENT, "event")       /* lines of events.jsonl, and of step_message.h */                     \
    X(OUTCOME, "outcome")   /* of an attempt: outcome_message.h */                                 \
    X(LEFT, "left")         /* what ranks, or a cell, have left in files */                        \
    X(EXCHANGE, "exchange") /* of MPI's managers: wireup/exchange_frame.h */                       \
    X(PROGRESS, "progress") /* of cells with files of their own: agent.h */

#define JR_CHANNEL_ENUM(name, word) JR_CHANNEL_##name,
enum jr_channel { JR_CHANNELS(JR_CHANNEL_ENUM) JR_CHANNEL_COUNT };

#endif
