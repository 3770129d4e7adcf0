/* The process that runs a node's ranks, seen from its agent. Not for other layers. */
#ifndef JR_AGENT_RUN_H
#define JR_AGENT_RUN_H

#include <sys/types.h>

#include "cluster/agent.h"

/* What comes from it. */
enum {
    JR_AGENT_END_OUT, /* the console's lines */
    JR_AGENT_END_ERR,
    JR_AGENT_END_EVENT,    /* lines of events */
    JR_AGENT_END_REPORT,   /* struct jr_report after struct jr_report */
    JR_AGENT_END_OUTCOME,  /* at the end: outcome_message.h */
    JR_AGENT_END_EXCHANGE, /* a socket: bytes of MPI's managers, both ways */
    JR_AGENT_END_LEFT,     /* before the outcome: what its ranks have left */
    JR_AGENT_ENDS
};

/* Its exit code where it has left a process that shows what the console has not taken, and ends
 * then. */
#define JR_AGENT_BEHIND 3

struct jr_agent_run {
    pid_t pid;
    int fds[JR_AGENT_ENDS]; /* O_NONBLOCK; those of events, reports, outcome
                               and what is left end when all processes of the
                               run have */
    int commands_fd;        /* where it reads commands */
};

/* Fork it. The caller owns the descriptors. 0, or -1 with errno. */
int jr_agent_fork(struct jr_agent_run *ret, const struct jr_agent_hooks *hooks);

#endif
