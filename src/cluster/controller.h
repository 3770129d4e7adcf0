/*
 * The controller of a job on several nodes: it has a transport (transport.h) start an agent on each
 * (agent.h), and exchanges messages with all of them through the standard streams of its programs
 * (protocol.h). So there is no port and no file between them, and the input of an agent whose
 * controller is gone has ended.
 *
 * The controller waits for events, and for signs of life (heartbeat.h). Policies are those of the
 * runner on each node; the controller tells the other nodes what follows for them: the first that
 * begins to stop its ranks stops all.
 */
#ifndef JR_CONTROLLER_H
#define JR_CONTROLLER_H

#include <signal.h>

#include <jobrun/plan.h>
#include <jobrun/run.h>

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
    const struct jr_transport *transport; /* srun.h */
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
    const struct jr_ssh *ssh;   /* of ssh.h; else NULL */
    const struct jr_copy *copy; /* for hosts without the program: copy.h; NULL:
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
     * (store/folder_mark.h), and the number of its next attempt; NULL, NULL, 0:
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

/* Let the agents go, and wait for what started them to end. NULL is allowed. */
void jr_controller_close(struct jr_controller *controller);

#endif
