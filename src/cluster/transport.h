/*
 * A transport: which program on this machine carries the messages between the controller and its
 * agents. srun is one process for the agents of all nodes; of ssh there is one for each. link.c has
 * the streams.
 *
 * What a node's messages mean does not depend on it (node.c).
 */
#ifndef JR_TRANSPORT_H
#define JR_TRANSPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <jobrun/error.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/hash.h"

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

/*
 * The line by which Slurm starts an agent on each node of an allocation: one task a node, all its
 * CPUs, shared with whatever else runs in the job; no binding, which is the ranks' own affair, and
 * no MPI, which is theirs too.
 */

/* One srun for the agents of all nodes, in a session of its own, so that no terminal's signal
 * reaches it. */
extern const struct jr_transport jr_srun_transport;

/* The words of that line, NULL-terminated, in `arena`. NULL without memory. */
char **jr_srun_words(struct jr_arena *arena, const struct jr_controller_options *options);

/* The environment of srun: `envp` without what would change how srun starts tasks or hands on what
 * they print. In `arena`. */
char **jr_srun_environment(struct jr_arena *arena, char *const *envp);

/*
 * The program for hosts that have none (engine.ssh.copy): its bytes and those of the files that
 * Python and libraries are run with, and the shell script that puts them into
 * ~/.cache/jobrun/VERSION-HASH on a host and starts the agent from there. They go through the
 * connection that the agent then has.
 *
 * The script says `want` where they are not there as they should be, reads them from its standard
 * input, and says `placed` when the agent is about to begin.
 */

#define JR_COPY_NAME 17 /* of a copy's hash: 16 digits and a NUL */

/* A file of it. */
struct jr_copy_file {
    const char *path; /* below the folder there */
    size_t at, len;   /* in the bytes */
    bool executable;
    char hash[JR_HASH_SIZE];
};

struct jr_copy {
    struct jr_arena arena;
    struct jr_buf bytes; /* of all files, one after the other */
    struct jr_copy_file *files;
    size_t count;
    char machine[65];        /* of uname(2): what the program is for */
    char hash[JR_COPY_NAME]; /* of all paths and hashes */
};

/* Read the program, and all regular files below the folder `support` (NULL:
 * there is none). -1 with `err`; *ret is to be released in any case. */
int jr_copy_read(struct jr_copy *ret, const char *program, const char *support,
                 struct jr_error *err);

/* Free what it has. */
void jr_copy_release(struct jr_copy *copy);

/*
 * The line by which an agent is started on a host: one ssh(1) for each, the user's own, with the
 * user's configuration, keys and jump hosts, and with a command that finds jobrun there.
 * `localhost` needs none: the agent is started as it is.
 */

/* One ssh for each host. The agents know who they are by the message `assign` (protocol.h). */
extern const struct jr_transport jr_ssh_transport;

/* An agent that is to be started, or another command. */
struct jr_ssh_start {
    const struct jr_ssh *ssh;
    const char *program; /* the path of jobrun here */
    const char *host;
    uint32_t node;
    const struct jr_copy *copy; /* NULL: it is there */
    const char *command;        /* for sh there; NULL: the agent's */
};

/* The words of the line that reaches a host, NULL-terminated, in `arena`: a shell that first asks
 * ssh what the user's configuration states, and becomes ssh. NULL without memory. */
char **jr_ssh_words(struct jr_arena *arena, const struct jr_ssh_start *start);

/* The command that starts it there, for whatever shell the user has. */
const char *jr_ssh_command(struct jr_arena *arena, const struct jr_ssh_start *start);

#endif
