/*
 * The controller of a job on several nodes: it has a transport (transport.h) start an agent on each
 * (agent.h), and exchanges messages with all of them through the standard streams of its programs
 * (protocol.h). So there is no port and no file between them, and the input of an agent whose
 * controller is gone has ended.
 *
 * The controller waits for events, and for signs of life (internal.h). Policies are those of the
 * runner on each node; the controller tells the other nodes what follows for them: the first that
 * begins to stop its ranks stops all.
 */
#ifndef JR_CONTROLLER_H
#define JR_CONTROLLER_H

#include <signal.h>
#include <sys/types.h>

#include <jobrun/plan.h>
#include <jobrun/run.h>

#include "base/arena.h"
#include "base/buf.h"

struct jr_controller;
struct jr_run_options;
struct jr_transport;

struct jr_code_archive {
    int fd;                 /* of a file of tar(1); the controller closes it */
    const char *top, *name; /* the folder that it is a copy of, without links
                               and as the job has it; borrowed */
};

struct jr_controller_options {
    const struct jr_transport *transport; /* transport.h */
    const char *program;                  /* jobrun, as nodes find it */
    uint32_t nodes;
    uint32_t spares;       /* behind these; agents stand by on them, where each has
                              a link of its own. None is needed to start */
    char *const *hosts;    /* as the scheduler lists them, for nodes of which
                              nothing was heard yet; NULL: not known */
    bool only_hosts;       /* of an allocation that has others besides */
    bool again;            /* agents of this run may have been on its hosts before */
    const uint32_t *tasks; /* which of the step's tasks each node is, where one
                              program starts all; NULL: they are in order */
    int stop_fd;           /* see jr_controller_heed; 0: there is none */
    char *const *envp;
    const struct jr_ssh *ssh;   /* of ssh; else NULL */
    const struct jr_copy *copy; /* for hosts without the program; NULL:
                                   they have it */
    /* Of agents that have a link each, in `assign`; NULL: nothing. */
    const char *agent_env, *device, *folder;
    uint64_t start_ms;                          /* for all nodes to answer; 0: five minutes */
    void (*note)(void *data, const char *line); /* what its programs say;
                                                    NULL */
    /* Bytes that the run on a node has written to `left_fd` (agent.h). */
    void (*take_left)(void *data, uint32_t node, const char *bytes, size_t len);
    /* The code of the run, for nodes that have no copy of it. -1 with `err`. NULL: all nodes have
     * it. */
    int (*open_code)(void *data, struct jr_code_archive *ret, struct jr_error *err);
    void *data;
};

/* What a node has reported about itself. */
struct jr_controller_node {
    const char *host;
    const char *facts; /* YAML, as --on reads it */
    size_t facts_len;
    const char *resources; /* what its ranks have of it; from
                              jr_controller_send_spec on */
    size_t resources_len;
    /* From jr_controller_send_spec on: the word of the protocol by which MPI's ranks there become a
     * world, the library of MPI that they need, and why there is no world; each NULL: nothing. */
    const char *mpi, *library, *obstacle;
    bool apart;              /* from jr_controller_share on: it has a folder of its own
                                for cells */
    uint32_t port;           /* that it holds for rank 0 to listen at; 0: none */
    int64_t clock_offset_ns; /* its wall clock less ours */
};

/* Start the agents and wait for all of them to answer. -1 with `err`: a node could not start, or
 * did not answer in time, or there are more agents than nodes. Everything that was started has then
 * ended. Options are borrowed until jr_controller_close. */
int jr_controller_open(struct jr_controller **ret, const struct jr_controller_options *options,
                       struct jr_error *err);

/* The end of that: wait for the agents of one that was started. On failure it stays open, for
 * jr_controller_loss. */
int jr_controller_meet(struct jr_controller *controller, struct jr_error *err);

/* The same without waiting; jr_controller_started says how it comes on. */
int jr_controller_start(struct jr_controller **ret, const struct jr_controller_options *options,
                        struct jr_error *err);

/* Whether all agents of one that was started have answered: 0; 1: not yet; -1 with `err`: one will
 * not. */
int jr_controller_started(struct jr_controller *controller, struct jr_error *err);

/* From now on nobody waits for agents any longer once `stop_fd` is readable, which is borrowed; 0
 * or -1: they are waited for. Returns what was heeded before. */
int jr_controller_heed(struct jr_controller *controller, int stop_fd);

/* Valid until the next call. */
struct jr_controller_node jr_controller_node(const struct jr_controller *controller, uint32_t node);

/* Append "node 1 (gpu02)"; only its number if its host is not known. */
void jr_controller_name(struct jr_buf *out, const struct jr_controller *controller, uint32_t node);

/* What nodes are to run. */
struct jr_controller_spec {
    const char *text;   /* resolved */
    const char *inject; /* what is to be injected; NULL: nothing */
    /* Of a cell: its number, the id of its sweep, and the folder of that one's cells; NULL: it is
     * none. */
    const char *cell, *sweep, *cells;
    /* Of a run that has begun before: its id, the mark of its folder
     * (store/run_folder.h), and the number of its next attempt; NULL, NULL, 0:
     * it has not. Its nodes are not ready before they are in that folder, with
     * their code. */
    const char *run_id, *token;
    uint32_t attempt;
};

/* Hand it to all nodes, and wait for every one to be ready for it. -1 with what the first that is
 * not says. */
int jr_controller_send_spec(struct jr_controller *controller, const struct jr_controller_spec *spec,
                            struct jr_error *err);

/* Why a node, or a spare, cannot take part any more: it was not reached, is lost or has refused;
 * NULL: it can, as far as is known. *ret_refused says whether it is there. Valid until the next
 * call. */
const char *jr_controller_loss(const struct jr_controller *controller, uint32_t node,
                               bool *ret_refused);

/* Do not wait for the programs of nodes that are lost when it is closed. */
void jr_controller_forsake(struct jr_controller *controller);

/* A node that cannot take part in another attempt, in words; NULL: all can. Valid until
 * jr_controller_close. */
const char *jr_controller_lacks(const struct jr_controller *controller);

/* Run an attempt: to its end on every node, whatever happens. 0 with the outcome of all ranks of
 * `plan`, which has all of the world; or -1 where it could not begin on a node. Of the options:
 * dir, out_fd, err_fd, ignored. */
int jr_controller_run(struct jr_controller *controller, struct jr_outcome *ret,
                      const struct jr_plan *plan, const struct jr_run_options *options,
                      uint32_t attempt, struct jr_error *err);

/* Show what runs have left, on whatever node, however long the console takes, or until one of the
 * signals that `policy` and `ignored` mean by a stop, which are blocked; a second or so where the
 * run was `stopped` itself. Returns whether all was shown. */
bool jr_controller_show_rest(struct jr_controller *controller, const struct jr_policy *policy,
                             const sigset_t *ignored, bool stopped);

/* All nodes were told to stop what they run: ask for a sign of life at once. One that gives none is
 * told of after a moment, and given up after 40 seconds; if that is said `again`, after three.
 * Nothing where nothing may be sent any more. */
void jr_heartbeat_demand(struct jr_controller *controller, bool again);

/* Let the agents go, and wait for what started them to end. NULL is allowed. */
void jr_controller_close(struct jr_controller *controller);

/*
 * Cells of a sweep on the nodes of a controller: each is a run of its own, on one
 * node, and an agent runs many of them at once. It is told which begins with which devices and
 * cores, and tells when one is over; what became of it is in the cell's own folder. Who leads the
 * sweep waits for much else, and calls the loop of the controller when its descriptor is ready.
 *
 * srun hands what it reads to all tasks, and ends the step when it cannot: so once a node is lost
 * no other cell can begin through this controller, while those that run on other nodes go on to
 * their end. So no signs of life are sent, either, but agents give theirs unasked (internal.h).
 * Where each agent has a link of its own, the others go on as before.
 */

/* A cell, for the agent of `node`; texts are borrowed, and NULL where there is nothing to say. */
struct jr_controller_cell {
    uint32_t node;
    const char *spec;                 /* whole, and not resolved */
    const char *folder;               /* in which that lies */
    const char *name;                 /* what its record calls it */
    const char *inject;               /* --inject */
    const char *cell, *sweep, *cells; /* see jr_controller_spec */
    const char *device;               /* what they are called: "cuda" */
    const char *devices, *cores;      /* numbers in the node's facts: "0,2" */
    uint64_t limit_ms;                /* of waiting for them; 0: none */
    const char *console;              /* see protocol.h */
    const char *fingerprint;          /* NULL: it is found there */
};

/* A cell is over. */
struct jr_cell_end {
    const char *cell; /* its number */
    int code;         /* how its process ended */
    const char *gone; /* of its devices, those that are not there any more,
                         numbers in the node's facts; NULL: none */
    bool sent;        /* what it has left was, as far as it was to be had */
    bool full;        /* there is no room for another one on the node */
};

/* Who is told what becomes of cells. Nothing may be closed meanwhile. */
struct jr_cell_watcher {
    void *data;
    /* A cell of the node is over. */
    void (*ended)(void *data, uint32_t node, const struct jr_cell_end *end);
    /* A line about a cell of the node. */
    void (*said)(void *data, uint32_t node, const char *line);
    /* Bytes of what a cell has left there, whole before it is over. */
    void (*left)(void *data, uint32_t node, const char *bytes, size_t len);
    /* The cluster ends what runs on the node, as where its time is over. */
    void (*ceased)(void *data, uint32_t node);
    /* The node is lost, and its cells; `why` says how that is known. */
    void (*lost)(void *data, uint32_t node, const char *why);
    /* A line of JR_CHANNEL_PROGRESS. */
    void (*told)(void *data, uint32_t node, const char *line);
};

/* Where cells are. */
struct jr_cells_place {
    const char *cells;   /* their folder, absolute */
    const char *token;   /* its mark: run_folder.h */
    const char *collect; /* what comes back besides: words with commas */
    bool frozen;         /* their code is */
    int mode;            /* of what hosts make: an enum jr_log_mode */
};

/* Ask the nodes, whose facts are there, whether they see the folder, and wait for their answers:
 * one that does not makes a folder of its own, sends what cells leave there, and gets their code,
 * if that is frozen (open_code). -1 with what the first says that cannot. */
int jr_controller_share(struct jr_controller *controller, const struct jr_cells_place *place,
                        struct jr_error *err);

/* From now on the nodes, whose facts are there, run cells. The watcher is borrowed until
 * jr_controller_close. */
void jr_controller_serve(struct jr_controller *controller, const struct jr_cell_watcher *watcher);

/* Show what ranks print whose cells have the console, on these descriptors (-1:
 * closed). Then jr_controller_show_rest is to be called at the end. */
void jr_controller_show_cells(struct jr_controller *controller, int out_fd, int err_fd);

/* Begin a cell on a node that is not lost. */
void jr_controller_begin_cell(struct jr_controller *controller,
                              const struct jr_controller_cell *cell);

/* Every running cell gets a signal; `stop`: one that stops runs, which they get as SIGTERM where
 * nothing can be sent any more. */
void jr_controller_signal_cells(struct jr_controller *controller, int sig, bool stop);

/* The one cell of that number, which runs on a node, gets SIGTERM. False: the node cannot be
 * told. */
bool jr_controller_stop_cell(struct jr_controller *controller, uint32_t node, const char *cell);

/* What is readable when there is something to be done, for poll(2). */
int jr_controller_fd(const struct jr_controller *controller);

/* The moment at which there is besides (CLOCK_MONOTONIC; 0: none). */
uint64_t jr_controller_due(const struct jr_controller *controller);

/* Do it, without waiting, and without keeping the caller from all else: there may be more to be
 * done at once. */
void jr_controller_attend(struct jr_controller *controller);

/* A child has ended: is it of the controller, and if so, take note. */
bool jr_controller_reap(struct jr_controller *controller, pid_t pid, int status);

/* Write the programs of its links that have not ended, which are children of this process, to
 * `ret`, which has room for one for each node. Returns how many. */
size_t jr_controller_children(const struct jr_controller *controller, pid_t *ret);

/* Whether each node has a link of its own, so that the loss of one leaves the others as they
 * are. */
bool jr_controller_has_links(const struct jr_controller *controller);

/* In a process that was forked: let go of the streams, so that the agents see their end when the
 * controller is gone. Nothing else may be done with it. */
void jr_controller_forget(struct jr_controller *controller);

/*
 * Which of the machines of a job have its nodes, and which are spares. A machine that cannot take
 * part is left out: the first spare takes the place of a node, and all other nodes stay where they
 * are.
 */
struct jr_placing {
    struct jr_arena *arena;
    uint32_t nodes, spares; /* spares that are left */
    /* Of each node, and then of each spare: its host, and its place among all machines as they were
     * given. */
    char **hosts;
    uint32_t *machines;
    struct jr_lost_machine *left_out; /* in the order in which it was found out */
    size_t left_out_count;
};

/* The first of `hosts`, which has nodes + spares entries, have the nodes. All is kept in the arena,
 * which lives longer. -1 without memory. */
int jr_placing_make(struct jr_placing *ret, struct jr_arena *arena, char *const *hosts,
                    uint32_t nodes, uint32_t spares);

/* Leave out the machine of a node, or of a spare (nodes + its index), because
 * of `why`, which is copied. -1 where it is a node's and there is no spare:
 * then nothing is changed; or without memory. */
int jr_placing_leave_out(struct jr_placing *placing, uint32_t index, const char *why);

/* The number of a node among all nodes in the order of the machines as they were given, which a
 * scheduler keeps. */
uint32_t jr_placing_task(const struct jr_placing *placing, uint32_t node);

#endif
