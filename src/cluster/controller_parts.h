/* What the files of the controller share: controller.c meets the agents, waits
 * for all of them and lets them go; connect_agents.c speaks with them through
 * srun, controller_messages.c takes what they say and what happens on the
 * nodes, controller_run.c runs an attempt, and controller_console.c shows what
 * all nodes print. Those four have no other header. Not for other layers. */
#ifndef JR_CONTROLLER_PARTS_H
#define JR_CONTROLLER_PARTS_H

#include "cluster/controller.h"
#include "cluster/heartbeat.h"
#include "cluster/node_state.h"
#include "cluster/protocol.h"
#include "cluster/srun.h"
#include "eventloop/loop.h"
#include "eventloop/signals.h"
#include "output/console.h"
#include "store/events.h"

#define JR_CONTROLLER_PIECE (64U << 10) /* bytes that are read at once */

struct jr_cluster_node {
    enum jr_node_state state;
    char *host; /* NULL: not known yet */
    uint32_t port;
    int64_t clock_offset_ns; /* its wall clock less ours */
    int64_t offset_ns;       /* its monotonic clock less ours */
    uint64_t clock_error_ns; /* how exactly that is known */
    bool returned;     /* all its ranks have, or they are not waited for */
    bool asked;        /* for how long its ranks have been silent */
    bool behind;       /* its run is over, and not all of it is shown */
    int signal;        /* its run's own process died of it */
    bool going;        /* it has heard that an attempt begins */
    bool begun;        /* and has made ready for it: it says more */
    unsigned silent;   /* heartbeat.h: turns since something was heard of it */
    uint64_t heard_ns; /* when that was */
    struct jr_buf streams[JR_CHANNEL_COUNT];
};

struct jr_controller_run;

struct jr_controller {
    struct jr_controller_options options;
    struct jr_srun srun;
    struct jr_loop loop;
    struct jr_watch out, err; /* srun's */
    struct jr_watch in, process;
    struct jr_inlet out_lines, err_lines;
    struct jr_buf outbox; /* what srun has not taken yet */
    size_t sent;
    bool in_watched;
    struct jr_timer patience, beat;
    bool late;               /* it is over */
    bool gone;               /* an agent is, before it was to go */
    uint32_t gone_node;      /* whose */
    bool ended;              /* srun is gone, and all it had is read */
    int status;              /* of waitpid(2), then */
    char said[512];          /* the last that srun said */
    struct jr_error refusal; /* the first of a node */
    bool refused;
    struct jr_cluster_node *nodes;
    struct jr_controller_run *run; /* NULL: none goes on */
    struct jr_console_writer
        screen; /* from the first run on, which is `screened` */
    bool screened;
    bool held; /* it is full, and agents send nothing for it */
    bool cut;  /* nor is anything wanted for it any more */
    char *bytes;
    uint64_t heard_bytes, told_bytes;
};

/* Start srun, and end it: the agents hear that their input has ended, and after
 * a while srun is killed. -1 with `err`. connect_agents.c. */
int jr_controller_connect(struct jr_controller *head, struct jr_error *err);
void jr_controller_disconnect(struct jr_controller *head);

/* Take a line of an agent; and what srun has said last (`said`), as far as it
 * is about tasks and nodes. controller_messages.c. */
void jr_controller_receive(struct jr_controller *head, const json_t *line);
void jr_controller_handle_srun(struct jr_controller *head);

/* Something happens to a node: what node_state.h says of it is done. `why` is
 * what is told of a node that is lost by it. controller_messages.c. */
void jr_controller_step_node(struct jr_controller *head, uint32_t node,
                             enum jr_node_input input, const char *why);

/* Tell all agents: a message, or one that says nothing besides. */
void jr_controller_send(struct jr_controller *head,
                        const struct jr_message *message);
void jr_controller_tell(struct jr_controller *head, enum jr_message_type type);

/* Say no more: the agents hear that their input has ended. */
void jr_controller_close_input(struct jr_controller *head);

/* One turn of the loop. */
void jr_controller_turn(struct jr_controller *head);

/* Wait, within timeouts.start, until all nodes are in `state`. -1 with which is
 * not, and why; `what` is what it did not do: "answer". controller.c. */
int jr_controller_await(struct jr_controller *head, enum jr_node_state state,
                        const char *what, struct jr_error *err);

/* The console, of all runs: have it; take the whole lines of a stream of a
 * node; show bytes that end a line. controller_console.c. */
void jr_controller_screen(struct jr_controller *head, int out_fd, int err_fd);
void jr_controller_read_lines(struct jr_controller *head, uint32_t node,
                              enum jr_channel type);
void jr_controller_show(struct jr_controller *head, int stream,
                        const char *bytes, size_t len);

/* Whether any node has said hello. */
bool jr_controller_has_met(const struct jr_controller *head);

/* How srun, which is gone, came to its end; append it. controller.c. */
void jr_controller_end(struct jr_buf *out, const struct jr_controller *head);

/* Whether a node is still in a state before `state`. */
bool jr_controller_awaits(const struct jr_controller *head,
                          enum jr_node_state state);

/* An attempt that continues. */
struct jr_controller_run {
    struct jr_controller *head;
    const struct jr_plan *plan;
    const struct jr_run_options *options;
    struct jr_outcome *outcome;
    struct jr_watch signals;
    struct jr_signals uses;
    struct jr_events events;
    uint64_t go_ns;
    uint32_t *first;  /* rank of each node, and one more */
    uint32_t running; /* nodes */
    bool asking;      /* nodes are asked about their silence */
    bool spoken;      /* one of them has been silent for less than the limit */
    bool stopped, released, ended_well, lost;
    int result;
    struct jr_error *err;
};

/* All nodes are to stop their ranks; who does not in time is given up. Once an
 * agent is gone, srun would end all others at the next word to it: that there
 * will be none is a stop, too. */
void jr_controller_run_stop(struct jr_controller_run *run);

/* The exit barrier: all ranks of a node have returned, or are not waited for;
 * and it is open. */
void jr_controller_run_returned(struct jr_controller_run *run, uint32_t node);
void jr_controller_run_release(struct jr_controller_run *run);

/* Our time of a node's; 0 stays 0. */
uint64_t jr_controller_run_ns(const struct jr_cluster_node *side, uint64_t ns);

/* The timeout of silence: a node asks that all are asked; a node answers. */
void jr_controller_run_ask(struct jr_controller_run *run);
void jr_controller_run_answer(struct jr_controller_run *run, uint32_t node,
                              uint64_t silent_ns);

/* Whether all nodes have told of their silence, and what follows: to be looked
 * at again when one that was asked has nothing more to say. */
void jr_controller_run_silence(struct jr_controller_run *run);

/* A line of the events of a node: controller_messages.c. */
void jr_controller_run_event(struct jr_controller_run *run, uint32_t node,
                             const char *line, size_t len);

/* What a run does with what comes meanwhile. */
void jr_controller_run_stream(struct jr_controller_run *run, uint32_t node,
                              enum jr_channel type);
void jr_controller_run_begun(struct jr_controller_run *run, uint32_t node,
                             const struct jr_message *message);
void jr_controller_run_over(struct jr_controller_run *run, uint32_t node);
void jr_controller_run_lost(struct jr_controller_run *run, uint32_t node,
                            const char *how);
void jr_controller_run_give_up(struct jr_controller_run *run, uint32_t node,
                               const char *how);
void jr_controller_run_noise(struct jr_controller_run *run, int stream,
                             const char *line, size_t len);

#endif
