/*
 * The line by which an agent is started on a host: one ssh(1) for each, the user's own, with the
 * user's configuration, keys and jump hosts, and with a command that finds jobrun there.
 * `localhost` needs none: the agent is started as it is.
 */
#ifndef JR_SSH_H
#define JR_SSH_H

#include <stdint.h>

#include "base/arena.h"
#include "cluster/transport.h"

struct jr_copy;
struct jr_ssh;

/* One ssh for each host. The agents know who they are by the message `assign` (protocol.h). */
extern const struct jr_transport jr_ssh_transport;

/* An agent that is to be started, or another command. */
struct jr_ssh_start {
    const struct jr_ssh *ssh;
    const char *program; /* the path of jobrun here */
    const char *host;
    uint32_t node;
    const struct jr_copy *copy; /* copy.h; NULL: it is there */
    const char *command;        /* for sh there; NULL: the agent's */
};

/* The words of the line that reaches a host, NULL-terminated, in `arena`: a shell that first asks
 * ssh what the user's configuration states, and becomes ssh. NULL without memory. */
char **jr_ssh_words(struct jr_arena *arena, const struct jr_ssh_start *start);

/* The command that starts it there, for whatever shell the user has. */
const char *jr_ssh_command(struct jr_arena *arena, const struct jr_ssh_start *start);

#endif
