/* What the files of the agent share: agent.c serves a controller, agent_run.c has the process that
 * runs the ranks, agent_cells.c the cells of sweeps, agent_survey.c answers a survey, agent_code.c
 * waits for the code of a run, heartbeat.c counts the turns of both sides. Not for other layers. */
#ifndef JR_AGENT_PARTS_H
#define JR_AGENT_PARTS_H

#include "cluster/agent_run.h"
#include "cluster/heartbeat.h"
#include "base/inlet.h"
#include "cluster/protocol.h"
#include "eventloop/loop.h"

#define JR_AGENT_PIECE (64U << 10) /* bytes that are read at once */

struct jr_agent;

/* A pipe from the process that runs the ranks. */
struct jr_agent_source {
    struct jr_watch watch;
    struct jr_agent *agent;
    enum jr_channel type; /* JR_CHANNEL_COUNT: reports */
    bool paused;
};

struct jr_agent {
    const struct jr_agent_hooks *hooks;
    struct jr_sender sender;
    const char *host;
    struct jr_loop loop;
    struct jr_watch in, out, signals;
    struct jr_inlet inlet;
    struct jr_buf outbox;
    size_t sent;            /* bytes of it */
    bool out_watched;       /* srun does not take it */
    struct jr_buf exchange; /* what MPI's manager here has not taken yet */
    size_t exchange_sent;   /* bytes of it */
    bool exchange_full;     /* room for it is waited for */
    struct jr_agent_source sources[JR_AGENT_ENDS];
    pid_t pid;                       /* of the process that runs the ranks; 0: none */
    int commands_fd;                 /* where it reads commands; -1: closed */
    bool held;                       /* the controller's console is full */
    bool behind;                     /* a process shows what is left of the last run */
    bool leaving;                    /* the input has ended */
    bool abandoned;                  /* the controller is gone, and nobody reads */
    bool serves;                     /* it runs cells: agent_cells.h */
    struct jr_watch notes, children; /* of these */
    struct jr_agent_cell_ends ends;  /* where they write; -1: closed */
    bool heartbeats;                 /* heartbeat.h: the controller gives signs of life */
    bool away;                       /* and none now */
    unsigned silent;                 /* turns since it sent something */
    struct jr_timer turn;
    struct jr_agent_answer answer; /* to the spec */
    bool waits;                    /* for the code of a run */
    bool joins;                    /* before it is ready; else one is to begin */
    struct jr_message go;          /* by which it begins then */
    struct jr_buf pending;         /* commands for it */
    struct jr_watch listener;      /* of a survey: of who tries to reach it */
    char *token;                   /* that they get; NULL: nobody listens */
    char *bytes;
};

/* Close the commands of the ranks, which stops them. What becomes of them is still sent, because
 * the controller may read it. agent_run.c. */
void jr_agent_leave(struct jr_agent *agent);

/* The same where nobody reads it: agent.c. */
void jr_agent_abandon(struct jr_agent *agent);

/* Send a message, to which node and time are added. agent.c. */
void jr_agent_send(struct jr_agent *agent, const struct jr_message *message);

/* Say that this node cannot do what it is to do. agent.c. */
void jr_agent_refuse(struct jr_agent *agent, const struct jr_error *why);

/* Say that this node is ready for the spec. agent.c. */
void jr_agent_ready(struct jr_agent *agent);

/* A run cannot begin by `go` before its code is here: ask for it. NULL: the agent is not ready
 * before that. agent_code.c. */
void jr_agent_await_code(struct jr_agent *agent, const struct jr_message *go);

/* Take bytes of it, and do behind the last what waits for it. agent_code.c. */
void jr_agent_on_code(struct jr_agent *agent, const struct jr_message *code);

/* Wait for none any more. agent_code.c. */
void jr_agent_end_code(struct jr_agent *agent);

/* Write what is in the outbox, as far as srun takes it. agent.c. */
void jr_agent_flush(struct jr_agent *agent);

/* Show no more of the last run. agent_run.c. */
void jr_agent_end_showing(struct jr_agent *agent);

/* Hand bytes of the exchange on to MPI's manager. agent_run.c. */
void jr_agent_take_exchange(struct jr_agent *agent, const char *text);

/* Fork the process that runs the ranks, and hand on what comes from it, to its end. Returns 0;
 * JR_AGENT_WANTS_CODE, and nothing is forked; or -1 with `err`. agent_run.c. */
int jr_agent_start(struct jr_agent *agent, const struct jr_message *go, struct jr_error *err);

/* Of a survey: listen, and say at which port. agent_survey.c. */
void jr_agent_on_listen(struct jr_agent *agent, const struct jr_message *word);

/* Of a survey: connect, and say how that went. agent_survey.c. */
void jr_agent_on_reach(struct jr_agent *agent, const struct jr_message *word);

/* Close the listener, if there is one. agent_survey.c. */
void jr_agent_stop_listening(struct jr_agent *agent);

/* Hand on what comes from a pipe, whose end is the agent's from now on, as bytes of a channel: 0,
 * or -1 with errno. agent_run.c. */
int jr_agent_open_source(struct jr_agent *agent, int end, int fd, enum jr_channel type);

/* Hand on what the pipes of the console hold by now, be it held or not, and that of what is left.
 * agent_run.c. */
void jr_agent_drain(struct jr_agent *agent);

/* Do what the controller says at descriptor 0, until that ends. agent.c. */
void jr_agent_on_input(void *owner, uint32_t events);

#endif
