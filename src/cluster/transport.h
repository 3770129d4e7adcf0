/*
 * A transport: which program on this machine carries the messages between the controller and its
 * agents. srun (srun.h) is one process for the agents of all nodes; of ssh (ssh.h) there is one for
 * each. link.h has the streams.
 *
 * What a node's messages mean does not depend on it (node_state.h).
 */
#ifndef JR_TRANSPORT_H
#define JR_TRANSPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include <jobrun/error.h>

struct jr_controller_options;
struct jr_ssh;

/* A process that carries messages. */
struct jr_carrier {
    pid_t pid;
    int in_fd;          /* what the agents read; ours are not blocking */
    int out_fd, err_fd; /* what they and the program write */
};

struct jr_transport {
    const char *program; /* its name, for messages */
    bool each;           /* there is a process for each node */
    size_t piece;        /* bytes of a channel that an agent says in one line;
                            0: JR_MESSAGE_RAW */
    /* Start the process of a node, or that of all. 0, or -1 with `err`. */
    int (*start)(struct jr_carrier *ret, const struct jr_controller_options *options, uint32_t node,
                 struct jr_error *err);
    /* Whether a line that it printed is of no interest; NULL: all are. */
    bool (*is_idle)(const char *line, size_t len);
    /* Whether a line of its standard error says that a node is lost, or the agent on it, which is
     * task `task`. `host` is NULL where that is not known yet. NULL: only the end of its process
     * says so. */
    bool (*has_lost)(const char *line, uint32_t task, const char *host);
    /* Whether a line says so of the task of a node that is there. NULL: none does. */
    bool (*has_exited)(const char *line);
    /* Of `each`: whether a line of its standard error says why the node cannot be reached; and
     * append what is to be done about a line. */
    bool (*is_telling)(const char *line);
    void (*add_advice)(struct jr_buf *out, const char *line, const char *host,
                       const struct jr_ssh *ssh);
    /* Of `each`: whether the agent of a node is there only once its start has said so (`placed`);
     * NULL: at once. */
    bool (*places)(const struct jr_controller_options *options, uint32_t node);
    const char *version_hint; /* how nodes get the same version; NULL */
    const char *has_ended;    /* "srun has ended" */
    const char *nodes_hint;   /* where no agent has answered: "squeue shows..." */
    const char *hang_hint;    /* where its process does not end */
    const char *silent_hint;  /* where to look for a silent node, up to its
                                 host: "see `scontrol show node " */
};

/* Start a program whose three standard streams are those of a carrier, in a session of its own. One
 * that `dies` is killed when this process is; another one sees the end of its input. 0, or an
 * errno. */
int jr_carrier_start(struct jr_carrier *ret, char *const *argv, char *const *envp, bool dies);

#endif
