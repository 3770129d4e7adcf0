/* What the files of the controller share: controller.c begins and ends with all agents,
 * await_agents.c waits for them; connect_agents.c has the links to them (link.h),
 * controller_messages.c handles their messages, controller_console.c shows what all nodes print,
 * and controller_run.c (with controller_run.h) runs an attempt. connect_agents.c and
 * controller_messages.c have no other header. Not for other layers. */
#ifndef JR_CONTROLLER_PARTS_H
#define JR_CONTROLLER_PARTS_H

#include "cluster/controller.h"
#include "cluster/controller_code.h"
#include "cluster/heartbeat.h"
#include "cluster/node_state.h"
#include "cluster/link.h"
#include "cluster/protocol.h"
#include "eventloop/loop.h"
#include "eventloop/signals.h"
#include "output/console.h"

#define JR_CONTROLLER_PIECE (64U << 10) /* bytes that are read at once */

struct jr_cluster_node {
    enum jr_node_state state;
    char *host; /* NULL: not known yet */
    uint32_t port;
    int64_t clock_offset_ns;        /* its wall clock less ours */
    int64_t offset_ns;              /* its monotonic clock less ours */
    uint64_t clock_error_ns;        /* how exactly that is known */
    bool returned;                  /* all its ranks have, or they are not waited for */
    bool queried;                   /* for how long its ranks have been silent */
    bool behind;                    /* its run is over, and not all of it is shown */
    int signal;                     /* its run's own process died of it */
    bool has_begun;                 /* its agent has said `begun` */
    bool is_prepared;               /* and something since: it is ready for the attempt */
    unsigned silent;                /* heartbeat.h: turns since something was heard of it */
    uint64_t heard_ns;              /* when that was */
    char *mpi, *library, *obstacle; /* see jr_controller_node */
    bool apart;                     /* the same */
    char *loss;                     /* how it is known that it is lost; NULL: it is not */
    struct jr_buf streams[JR_CHANNEL_COUNT];
};

struct jr_cell_watcher;
struct jr_controller_run;

struct jr_controller {
    struct jr_controller_options options;
    const struct jr_transport *transport;
    struct jr_loop loop;
    struct jr_link *links; /* one for all agents, or one for each node */
    uint32_t links_count, ended_count;
    struct jr_watch children; /* without pidfds: it hears of every end */
    struct jr_watch stop;     /* of options.stop_fd, while agents start */
    struct jr_timer deadline, heartbeat;
    struct jr_timer steps_flush, steps_limit; /* of the run that goes on */
    struct jr_timer preempted;                /* when its ranks have had their time */
    struct jr_timer demand;                   /* heartbeat.h */
    uint64_t demanded_ns, demand_end_ns;      /* the same; 0: nothing is */
    bool timed_out;                           /* the deadline has passed */
    enum jr_node_state awaited;               /* what it was, or is, for; before a run */
    bool agent_exited;                        /* an agent ended before it was to */
    uint32_t exited_node;                     /* whose */
    bool joins;                               /* nodes are to enter a run before they are
                                                 ready */
    struct jr_controller_code code;           /* of a run */
    bool ended;                               /* all links have */
    char exited_why[512];                     /* and how that is known */
    struct jr_error refusal;                  /* the first of a node */
    uint32_t refused_node;                    /* whose */
    bool refused;
    bool leaves;   /* it is about to be closed, and no end is a loss */
    bool forsaken; /* programs of lost nodes are not waited for */
    struct jr_cluster_node *nodes;
    struct jr_controller_run *run;         /* NULL: none goes on */
    struct jr_survey *survey;              /* survey.h; NULL: none is made */
    const struct jr_cell_watcher *watcher; /* of cells; NULL: there are none */
    struct jr_console_writer console;      /* used once `console_open` is set */
    bool console_open;
    bool held; /* it is full, and agents send nothing for it */
    bool cut;  /* nor is anything wanted for it any more */
    char *bytes;
    uint64_t received_bytes, sent_bytes;
};

/* Its nodes and its spares. */
static inline uint32_t jr_controller_machines(const struct jr_controller *controller)
{
    return controller->options.nodes + controller->options.spares;
}

/* connect_agents.c: open the links, which start the agents. -1 with `err`. */
int jr_controller_connect(struct jr_controller *controller, struct jr_error *err);

/* The same file: close the input of the agents, wait a while for the programs of the links, and
 * kill them then. */
void jr_controller_disconnect(struct jr_controller *controller);

/* The same file: an agent that has a link of its own is told who it is. */
void jr_controller_assign(struct jr_controller *controller, uint32_t node);

/* The same file: send the program to a node, and say so. */
void jr_controller_copy(struct jr_controller *controller, uint32_t node);

/* The same file: send a message to all agents. */
void jr_controller_send(struct jr_controller *controller, const struct jr_message *message);

/* The same to one agent, as far as the transport can: to all where one program carries the messages
 * of all. */
void jr_controller_send_to(struct jr_controller *controller, uint32_t node,
                           const struct jr_message *message);

/* The same as the first of a message that has no keys. */
void jr_controller_send_type(struct jr_controller *controller, enum jr_message_type type);

/* The same file: send no more. The agents see that their input has ended. */
void jr_controller_close_input(struct jr_controller *controller);

/* controller_messages.c: handle a line of an agent. */
void jr_controller_receive(struct jr_controller *controller, const json_t *line);

/* The same file: handle the last line of a link's errors (`last_line`), as far as it is about
 * nodes. */
void jr_controller_handle_errors(struct jr_controller *controller, const struct jr_link *link);

/* connect_agents.c: a link has ended, and all it had is read. */
void jr_controller_handle_end(struct jr_controller *controller, const struct jr_link *link);

/* The same file: something happens to a node, and what node_state.h has for it is done. `why` is
 * what is reported of a node that is lost by it. */
void jr_controller_step_node(struct jr_controller *controller, uint32_t node,
                             enum jr_node_input input, const char *why);

/* controller.c: one turn of the loop. */
void jr_controller_turn(struct jr_controller *controller);

/* controller_messages.c: a node cannot take part, for this reason. */
void jr_controller_refuse(struct jr_controller *controller, uint32_t node, const char *text);

/* controller.c: whether a node is still in a state before `state`. */
bool jr_controller_awaits(const struct jr_controller *controller, enum jr_node_state state);

#endif
