/*
 * The agent: what a controller (controller.h) has on a node. It is a task of srun, or the command
 * of an ssh: it reports the node's facts, receives the spec, and for each attempt forks a process
 * that runs the node's ranks as any jobrun would; it sends on what they print, their events and
 * their outcomes. It decides nothing.
 *
 * When its input ends, or its commands do, the ranks are stopped with their grace; that holds when
 * controller, srun, ssh or the agent itself are killed. Where they are cut off, missing heartbeats
 * show it (internal.h).
 */
#ifndef JR_AGENT_H
#define JR_AGENT_H

#include <jobrun/run.h>

#include "base/buf.h"
#include "cluster/protocol.h"

/* The ends of the pipes between an agent and the process that runs the ranks; the latter's. Its
 * standard output and error are the console. */
struct jr_agent_ends {
    int events_fd; /* see jr_run_link */
    int reports_fd;
    int commands_fd;
    int exchange_fd; /* a socket */
    int left_fd;     /* for bytes that go to the controller's `left`, whole
                        before the run returns */
};

/* What its node has for the ranks of a spec. */
struct jr_agent_answer {
    struct jr_buf resources;        /* node_resources.h */
    const char *mpi;                /* see protocol.h: ready; borrowed, NULL: none */
    const char *library, *obstacle; /* the same */
    bool apart;                     /* for cells, it has a folder of its own */
};

/* A cell of a sweep that is over. */
struct jr_agent_cell_end {
    char cell[16]; /* its number */
    int code;      /* the exit status of its process */
    char *note;    /* a line about it, or NULL; to be freed */
    char *gone;    /* of its devices, those that are not there any more, numbers
                      in the facts of the node: "0,2"; NULL: none; the same */
    bool sent;     /* what it has left is in the pipe for that */
    bool full;     /* it did not begin, since there is no room for its files */
};

/* Where the processes of cells write: lines for the user, each with its cell; what the ranks of one
 * print whose console that is; and what a cell has left, whole before `next_end` tells of it, and
 * of one cell after the other. */
struct jr_agent_cell_ends {
    int notes_fd, out_fd, err_fd, left_fd;
};

/* The cells of sweeps, each a run of its own on this node (protocol.h: cell). They outlive nothing:
 * once the last is told of, nothing is left of it. */
struct jr_agent_cell_hooks {
    /* See whether they would write where the sweep reads (protocol.h: share);
     * *ret_apart: they have a folder of this node's own. JR_AGENT_WANTS_CODE:
     * they can run once the code is taken, too. -1 with `err`. */
    int (*share)(void *data, const struct jr_message *word, bool *ret_apart, struct jr_error *err);
    /* Begin one, in a process that leaves descriptors 0 to 2 alone. -1 with
     * `err`. */
    int (*begin)(void *data, const struct jr_message *cell, const struct jr_agent_cell_ends *ends,
                 struct jr_error *err);
    /* A child may have ended: the next cell that is over. False: none is. */
    bool (*next_end)(void *data, struct jr_agent_cell_end *ret);
    /* Signal all, or, unless it is NULL, the one of that number. */
    void (*signal)(void *data, const char *cell, int sig);
    /* Nobody takes any more what they leave: have all end. */
    void (*leave)(void *data);
    /* How many run. */
    size_t (*count)(void *data);
    /* Append a line for each whose files the controller does not see, for JR_CHANNEL_PROGRESS:
     * {"cell": 7, "progress": {...}}. */
    void (*progress)(void *data, struct jr_buf *out);
};

#define JR_AGENT_WANTS_CODE 1
#define JR_AGENT_IS_APART   2

/* What the agent is for; all return 0, or -1 with `err`, whose status is what the controller's exit
 * status becomes. */
struct jr_agent_hooks {
    void *data;
    /* Append the facts of this node. */
    int (*describe)(void *data, struct jr_buf *out, struct jr_error *err);
    /* A port that rank 0 could listen at, held until the next offer or attempt; 0: none. */
    uint32_t (*offer)(void *data);
    /* Hold the resolved spec against this node (protocol.h: spec), and say what its ranks will have
     * of it. */
    int (*resolve)(void *data, const struct jr_message *spec, struct jr_agent_answer *ret,
                   struct jr_error *err);
    /* Enter the folder of a run that has begun before (protocol.h: spec); JR_AGENT_WANTS_CODE: its
     * code has to be taken, too. */
    int (*join)(void *data, const struct jr_message *spec, struct jr_error *err);
    /* Make ready for an attempt (protocol.h: go); JR_AGENT_WANTS_CODE: it has to be tried again
     * once the code is taken; JR_AGENT_IS_APART: it is ready, with a run folder of its own. */
    int (*prepare)(void *data, const struct jr_message *go, struct jr_error *err);
    /* Take bytes of the code (protocol.h: code). */
    int (*take_code)(void *data, const struct jr_message *code, struct jr_error *err);
    /* In the forked process: run the ranks to their end. */
    int (*run)(void *data, const struct jr_agent_ends *ends, struct jr_outcome *ret,
               struct jr_error *err);
    /* After that: whether the console has still lines to show; and show them, however long it
     * takes. */
    bool (*is_behind)(void *data);
    void (*show)(void *data);
    const struct jr_agent_cell_hooks *cells;
    void *cells_data; /* of those */
};

/* Wait at descriptor 0 for the message `assign`, which says who this agent is. Its texts are
 * borrowed from *ret_object, which is the caller's. -1: the input has ended before. */
int jr_agent_await_assignment(struct jr_message *ret, json_t **ret_object, struct jr_error *err);

/* Serve a controller at descriptors 0 and 1, as the agent `self`, until the input ends. Returns 0,
 * or -1 where that cannot be begun. */
int jr_agent_serve(const struct jr_agent_hooks *hooks, const struct jr_sender *self,
                   const char *host, struct jr_error *err);

#endif
