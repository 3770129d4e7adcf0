/*
 * What the files of the folder share. A controller reaches its agents by a transport (transport.h)
 * and links (link.c); controller.c begins and ends with all agents, hands them the code of a run,
 * and begins cells of a sweep; node.c takes what nodes say; controller_run.c runs an attempt;
 * controller_policies.c has what is decided, and shown, once for all nodes; heartbeat.c counts
 * signs of life. Not for other layers.
 */
#ifndef JR_CLUSTER_INTERNAL_H
#define JR_CLUSTER_INTERNAL_H

#include "base/buf.h"
#include "cluster/agent.h"
#include "cluster/controller.h"
#include "cluster/protocol.h"
#include "cluster/survey.h"
#include "cluster/transport.h"
#include "eventloop/loop.h"
#include "eventloop/signals.h"
#include "output/console.h"
#include "spawn/slurm_job.h"
#include "store/events.h"
#include "store/run_folder.h"
#include "store/step_tracker.h"
#include "wireup/exchange.h"

struct jr_agent;
struct jr_controller_run;

/*
 * Signs of life between controller and agents, from the spec on to the end of the ranks. srun does
 * not report a node that is cut off before Slurm has given it up (SlurmdTimeout), and a slurmstepd
 * that was killed not at all. Before all agents have said hello there are none: until then srun may
 * hold back what is sent to the first of them.
 *
 * Each JR_HEARTBEAT_NS the controller sends `heartbeat` and every agent answers. A node of which
 * nothing was heard for JR_HEARTBEAT_MISSES turns is lost. A file system that hangs is no reason:
 * an agent needs none but to make ready for an attempt, which may take JR_HEARTBEAT_PATIENCE times
 * as long. So may the controller, which writes to the console and to events.jsonl: an agent that
 * receives nothing for that long takes it for lost and stops its ranks.
 *
 * Under `on_failure: continue` ranks continue without a controller, and once a node is lost nothing
 * may be sent to the others. So there the controller sends no signs from the beginning, and agents
 * give theirs unasked. The same is so where they run cells of a sweep.
 *
 * Each process counts its own turns, and not time: one that was stopped, or whose machine slept,
 * has had a single turn, and has read before it what came meanwhile. A controller that is suspended
 * sends `away` first.
 */
#define JR_HEARTBEAT_NS       (UINT64_C(10) * 1000000000)
#define JR_HEARTBEAT_MISSES   6u
#define JR_HEARTBEAT_PATIENCE 10u

/* A link may be cut for half a minute, and nothing is lost by it. */
#define JR_HEARTBEAT_STOP_NS  (UINT64_C(40) * 1000000000)
#define JR_HEARTBEAT_AGAIN_NS (UINT64_C(3) * 1000000000)

/* The controller begins to count the turns of all nodes, from zero. */
void jr_heartbeat_begin(struct jr_controller *controller);

/* The controller has received something from a node. */
void jr_heartbeat_received(struct jr_controller *controller, uint32_t node);

/* A turn of the controller (struct jr_controller) is over: nodes that have been silent for too many
 * are lost, the others are asked for a sign of life. */
void jr_heartbeat_due(void *controller);

/* A moment of the controller for jr_heartbeat_demand (controller.h) has come. */
void jr_heartbeat_demand_due(void *controller);

/* An agent has received something from the controller, or a run begins: agent.c. */
void jr_heartbeat_listen(struct jr_agent *agent);

/* A turn of an agent (struct jr_agent) is over: it gives its sign of life unasked, or finds that
 * the controller has been silent for too many. */
void jr_heartbeat_agent_due(void *agent);

/*
 * A node as the controller sees it: a state x message table, every cell filled. What is done
 * besides the change of state is named by an action, which is carried out in the same file
 * (node.c).
 */

/* How far a node has come. Beyond RUNNING nothing is awaited of it. */
#define JR_NODE_STATES(X)                                                                          \
    X(UNKNOWN, "unknown") /* its agent has not said hello */                                       \
    X(KNOWN, "known")     /* said hello */                                                         \
    X(READY, "ready")     /* has the spec */                                                       \
    X(SERVING, "serving") /* runs cells of a sweep */                                              \
    X(RUNNING, "running") /* was told to begin an attempt */                                       \
    X(DONE, "done")       /* has sent the outcome of one */                                        \
    X(REFUSED, "refused")                                                                          \
    X(LOST, "lost")                                                                                \
    X(SPARE, "spare") /* stands by: its agent may have said hello */

/* What happens to a node besides what its agent says. */
#define JR_NODE_INCIDENTS(X)                                                                       \
    X(GO, "go")               /* an attempt begins */                                              \
    X(SERVE, "serve")         /* from now on it runs cells */                                      \
    X(EXITED, "exited")       /* srun says that its task has ended */                              \
    X(TIMED_OUT, "timed_out") /* its heartbeats are missing */                                     \
    X(GIVEN_UP, "given_up")   /* nobody waits for it any more */

#define JR_NODE_ACTIONS(X)                                                                         \
    X(NOTHING, "-")                                                                                \
    X(IDENTIFY, "identify")       /* take who it is; is it of this build? */                       \
    X(SECOND, "second agent")     /* refuse the node: there is one already */                      \
    X(WORLD, "take world")        /* of MPI, as its agent has found it out */                      \
    X(REFUSE, "refuse")           /* the first refusal ends the start, or run */                   \
    X(BEGIN, "begin")             /* its clock is known */                                         \
    X(APART, "note apart")        /* its logs are not here while it runs */                        \
    X(FINISH, "finish")           /* take its outcome */                                           \
    X(SHOWN, "shown")             /* no more lines of it are awaited */                            \
    X(RETURNED, "returned")       /* its ranks wait at the exit barrier */                         \
    X(RELEASE, "release")         /* open the exit barrier everywhere */                           \
    X(ASK, "ask all")             /* for how long every node has been silent */                    \
    X(ANSWER, "answer")           /* it says for how long */                                       \
    X(INITIALIZED, "initialized") /* tell all, and fail who ended without */                       \
    X(SUSPECT, "suspect")         /* it may mean that the job is preempted */                      \
    X(SURVEY, "survey")           /* take it as an answer, if one is made */                       \
    X(CELL, "cell")               /* one of its cells is over */                                   \
    X(CEASE, "cease")             /* the cluster ends its cells */                                 \
    X(LEAVE, "lose cells")        /* all of its cells are lost */                                  \
    X(COPY, "copy program")       /* send its bytes */                                             \
    X(ASSIGN, "assign")           /* say who it is */                                              \
    X(CODE, "send code")          /* of the run */                                                 \
    X(FAIL, "fail start")         /* without it there will be no run */                            \
    X(MISS, "miss spare")         /* nothing but a note: no rank is there */                       \
    X(LOSE, "lose")               /* its ranks are lost, and maybe the run */                      \
    X(GIVE_UP, "give up")         /* its ranks are lost; the run is over */

#define JR_NODE_STATE_ENUM(name, word)      JR_NODE_##name,
#define JR_NODE_FROM_ENUM(name, word, keys) JR_NODE_ON_##name,
#define JR_NODE_TO_ENUM(name, word, keys)
#define JR_NODE_INCIDENT_ENUM(name, word) JR_NODE_ON_##name,
#define JR_NODE_ACTION_ENUM(name, word)   JR_NODE_DO_##name,
enum jr_node_state { JR_NODE_STATES(JR_NODE_STATE_ENUM) JR_NODE_STATE_COUNT };
enum jr_node_input {
    JR_MESSAGES(JR_NODE_FROM_ENUM, JR_NODE_TO_ENUM) JR_NODE_INCIDENTS(JR_NODE_INCIDENT_ENUM)
        JR_NODE_INPUT_COUNT
};
enum jr_node_action { JR_NODE_ACTIONS(JR_NODE_ACTION_ENUM) JR_NODE_ACTION_COUNT };

struct jr_node_change {
    enum jr_node_state next;
    enum jr_node_action action;
};

/* What becomes of a node in `state` to which `input` happens, and what is to be done. The inputs
 * begin with the messages of an agent, by their types. */
struct jr_node_change jr_node_step(enum jr_node_state state, enum jr_node_input input);

/* Something happens to a node, and what the table has for it is done. `why` is what is reported of
 * a node that is lost by it. */
void jr_controller_step_node(struct jr_controller *controller, uint32_t node,
                             enum jr_node_input input, const char *why);

/* Handle a line of an agent. */
void jr_controller_receive(struct jr_controller *controller, const json_t *line);

/* A node cannot take part, for this reason. */
void jr_controller_refuse(struct jr_controller *controller, uint32_t node, const char *text);

/*
 * A link is the controller's end of the three streams of a carrier (transport.h): what is sent
 * waits for room, and what comes is taken line by line: frames of agents, and what else its program
 * prints, which is for the console.
 */
struct jr_link {
    struct jr_controller *controller;
    uint32_t node; /* that it reaches, where the transport has one for each */
    pid_t pid;     /* 0: it has ended */
    struct jr_watch in, out, err, process;
    struct jr_inlet out_lines, err_lines;
    struct jr_buf outbox; /* what the program has not taken yet */
    size_t sent;
    const char *bulk; /* borrowed bytes that go before that; NULL: none do */
    size_t bulk_len, bulk_sent;
    void (*feed)(
        struct jr_link *link); /* sends more, where nothing waits; NULL: there is no more */
    bool in_watched;
    bool answered;         /* something has come of the agent */
    struct jr_inlet early; /* lines of its standard error before that */
    bool closed;           /* nothing is sent any more */
    bool ended;            /* the program is gone, and all it had is read */
    int status;            /* of waitpid(2), then */
    char last_line[512];   /* of its standard error */
    char telling[512];     /* the first of its lines that says why the node cannot be reached; "":
                              none has */
};

/* Prepare a link, with nothing behind it. */
void jr_link_init(struct jr_link *link, struct jr_controller *controller, uint32_t node);

/* Start its program. -1 with `err`; jr_link_close closes it in any case. */
int jr_link_open(struct jr_link *link, struct jr_error *err);

/* Send bytes; what there is no room for waits. False: there was no memory for them, and they are
 * not sent. */
bool jr_link_send(struct jr_link *link, const char *bytes, size_t len);

/* Send bytes that stay where they are until jr_link_close, before all that waits. Once. */
void jr_link_send_bulk(struct jr_link *link, const char *bytes, size_t len);

/* Have `feed` called whenever the program has taken all that was sent, for what is too much to wait
 * for room; NULL: no longer. */
void jr_link_feed(struct jr_link *link, void (*feed)(struct jr_link *link));

/* Send no more: who reads sees the end. */
void jr_link_close_input(struct jr_link *link);

/* Take note of the end of its program, if it has ended. */
void jr_link_reap(struct jr_link *link);

/* The same where somebody else has waited for it. */
void jr_link_take_end(struct jr_link *link, int status);

/* Kill the program, and wait for its end. */
void jr_link_kill(struct jr_link *link);

/* The line that says why a node was not reached, as far as the program has said anything; NULL: it
 * has not. */
const char *jr_link_refusal(const struct jr_link *link);

/* Append how its program ended: "srun ended with exit code 1; its last output: ...", and where no
 * agent has `answered` what is to be done about it. */
void jr_link_describe_end(struct jr_buf *out, const struct jr_link *link, bool answered);

/* Close what is open, once its program has ended. */
void jr_link_close(struct jr_link *link);

/* The controller. */

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
    unsigned silent;                /* turns since something was heard of it */
    uint64_t heard_ns;              /* when that was */
    char *mpi, *library, *obstacle; /* see jr_controller_node */
    bool apart;                     /* the same */
    char *loss;                     /* how it is known that it is lost; NULL: it is not */
    struct jr_buf streams[JR_CHANNEL_COUNT];
};

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
    struct jr_timer demand;                   /* jr_heartbeat_demand */
    uint64_t demanded_ns, demand_end_ns;      /* the same; 0: nothing is */
    bool timed_out;                           /* the deadline has passed */
    enum jr_node_state awaited;               /* what it was, or is, for; before a run */
    bool agent_exited;                        /* an agent ended before it was to */
    uint32_t exited_node;                     /* whose */
    bool joins;                               /* nodes are to enter a run before they are ready */
    struct jr_code_archive code;              /* of the run; fd -1: nobody has wanted it */
    off_t *code_sent;                         /* bytes of it, for each node */
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

/* Open the links, which start the agents. -1 with `err`. */
int jr_controller_connect(struct jr_controller *controller, struct jr_error *err);

/* Close the input of the agents, wait a while for the programs of the links, and kill them then. */
void jr_controller_disconnect(struct jr_controller *controller);

/* One turn of the loop. */
void jr_controller_turn(struct jr_controller *controller);

/* Whether a node is still in a state before `state`. */
bool jr_controller_awaits(const struct jr_controller *controller, enum jr_node_state state);

/* Wait until all nodes are in `state`, within timeouts.start, which begins anew as long as
 * something is on its way. -1 with which is not, and why; `what` is what it did not do: "answer".
 */
int jr_controller_await(struct jr_controller *controller, enum jr_node_state state,
                        const char *what, struct jr_error *err);

/* An agent that has a link of its own is told who it is. */
void jr_controller_assign(struct jr_controller *controller, uint32_t node);

/* Send a message to all agents. */
void jr_controller_send(struct jr_controller *controller, const struct jr_message *message);

/* The same to one agent, as far as the transport can: to all where one program carries the messages
 * of all. */
void jr_controller_send_to(struct jr_controller *controller, uint32_t node,
                           const struct jr_message *message);

/* The same as the first of a message that has no keys. */
void jr_controller_send_type(struct jr_controller *controller, enum jr_message_type type);

/* Send no more. The agents see that their input has ended. */
void jr_controller_close_input(struct jr_controller *controller);

/* Whether nothing may be sent, since srun runs cells and has lost a node. */
bool jr_controller_is_mute(const struct jr_controller *controller);

/* A link has ended, and all it had is read. */
void jr_controller_handle_end(struct jr_controller *controller, const struct jr_link *link);

/* Handle the last line of a link's errors (`last_line`), as far as it is about nodes. */
void jr_controller_handle_errors(struct jr_controller *controller, const struct jr_link *link);

/* A node wants the code of the run (`code: freeze`), since its run folder is not the controller's:
 * an archive of the copy that the controller has, which is made once, goes there as fast as the
 * link takes it. Where there is none, the node is refused. */
void jr_controller_send_code(struct jr_controller *controller, uint32_t node);

/* Let go of it. */
void jr_controller_code_close(struct jr_controller *controller);

/* An attempt on all nodes, while it goes on. */

struct jr_controller_run {
    struct jr_controller *controller;
    const struct jr_plan *plan;
    const struct jr_run_options *options;
    struct jr_outcome *outcome;
    struct jr_watch signals;
    struct jr_signals uses;
    struct jr_events events;
    uint64_t go_ns;         /* when `go` was sent; monotonic */
    uint32_t *first;        /* rank of each node, and one more */
    bool is_querying;       /* nodes are asked about their silence */
    bool has_recent_output; /* a node was silent for less than the limit */
    struct jr_step_tracker steps;
    struct jr_step_limit limits;
    struct jr_exchange_hub hub; /* of MPI's process managers */
    bool has_world;             /* a rank of some node has called MPI_Init */
    struct jr_slurm_call call;  /* whether the job is preempted */
    struct jr_watch answer;
    unsigned tries;      /* calls that were made for it */
    bool terminated;     /* the controller was sent SIGTERM, which may mean that */
    bool was_terminated; /* or did */
    bool stopped, released, ended_well, lost;
    char mark[JR_TOKEN_SIZE]; /* of the run folder; "": none yet */
    int result;
    struct jr_error *err;
};

/* Tell all nodes to stop their ranks; who does not in time is given up. Where one program carries
 * the messages of all, and an agent has ended, srun would end all others at the next message to it:
 * then the end of their input tells them. */
void jr_controller_run_stop(struct jr_controller_run *run);

/* All ranks of a node have returned, or are not waited for: open the exit barrier if it was the
 * last node. */
void jr_controller_run_returned(struct jr_controller_run *run, uint32_t node);

/* Open the exit barrier on all nodes. Once. */
void jr_controller_run_release(struct jr_controller_run *run);

/* The controller's monotonic clock at the moment `ns` of a node's; 0 stays 0. */
uint64_t jr_controller_run_ns(const struct jr_cluster_node *peer, uint64_t ns);

/* A channel of a node has got bytes. */
void jr_controller_run_stream(struct jr_controller_run *run, uint32_t node, enum jr_channel type);

/* A node has begun the attempt: its `begun` tells the offset of its clock. */
void jr_controller_run_begun(struct jr_controller_run *run, uint32_t node,
                             const struct jr_message *message);

/* The logs of a node are its own, as long as the attempt goes on. */
void jr_controller_run_apart(struct jr_controller_run *run, uint32_t node);

/* The attempt has ended on a node, whose outcome has come. */
void jr_controller_run_over(struct jr_controller_run *run, uint32_t node);

/* A node cannot take part: the run ends, and is refused with this text. */
void jr_controller_run_refuse(struct jr_controller_run *run, uint32_t node, const char *text);

/* A node is lost, and its ranks; `how` says how that is known. */
void jr_controller_run_lost(struct jr_controller_run *run, uint32_t node, const char *how);

/* The same of a node that is not waited for any longer. */
void jr_controller_run_give_up(struct jr_controller_run *run, uint32_t node, const char *how);

/* Show a line that no agent sent (of srun, or the controller's own), escaped, on standard output
 * (`stream` 0) or standard error (1). */
void jr_controller_run_print(struct jr_controller_run *run, int stream, const char *line,
                             size_t len);

/* What is decided once for all nodes: controller_policies.c. */

/* Silence: timeouts.silence has passed on a node. All that are at work are asked for how long their
 * ranks have been silent, and the job hangs where it was long enough on each. */
void jr_controller_silence_ask(struct jr_controller_run *run);

/* A node answers, with nanoseconds. */
void jr_controller_silence_answer(struct jr_controller_run *run, uint32_t node, uint64_t silent_ns);

/* If no answer is missing any more, decide whether the run hangs. To be called when a node that was
 * asked will not answer, either. */
void jr_controller_silence_decide(struct jr_controller_run *run);

/* Progress: each node relays the steps of its ranks (store/step_tracker.h), and the controller has
 * the job's, writes it, and finds out when it hangs. Begin. 0, or -1 with errno. */
int jr_controller_steps_open(struct jr_controller_run *run);

/* Take a line of a node that is no event; whether it is about steps. */
bool jr_controller_steps_take(struct jr_controller_run *run, uint32_t node, const char *line,
                              size_t len);

/* A rank has ended, or its node is lost. */
void jr_controller_steps_end_rank(struct jr_controller_run *run, uint32_t rank);

/* Take the bar off the terminal, until further steps come. */
void jr_controller_steps_hide(struct jr_controller_run *run);

/* The controller, and all ranks, stood still for so long. */
void jr_controller_steps_pause(struct jr_controller_run *run, uint64_t paused_ns);

/* No limit counts any more. */
void jr_controller_steps_stop(struct jr_controller_run *run);

/* Write all for the last time. */
void jr_controller_steps_close(struct jr_controller_run *run);

/* Preemption: what run/policies/preemption.c asks of one node is asked here once, for all. SIGTERM
 * may come to the controller, or to any agent; each node that has it waits for the word of the
 * controller, and a preemption is everybody's. Ask scontrol, and tell all nodes. */
void jr_controller_preempt_ask(struct jr_controller_run *run);

/* The controller was sent a signal that stops runs. True: it may mean a preemption, and is taken
 * care of. */
bool jr_controller_preempt_takes(struct jr_controller_run *run, int sig);

/* The run is over; nothing is asked any more. */
void jr_controller_preempt_close(struct jr_controller_run *run);

/* MPI: the process managers of the nodes exchange through the controller what ranks have told, and
 * it knows whether any has initialized. Make ready for an attempt, whose ranks are known. -1 with
 * errno. */
int jr_controller_mpi_open(struct jr_controller_run *run);

/* Take what has come of a node's exchange. */
void jr_controller_mpi_take(struct jr_controller_run *run, uint32_t node);

/* A rank of some node has called MPI_Init: tell all nodes, and stop the run if a node is done or
 * lost that has ranks without which the others cannot go on. */
void jr_controller_mpi_begin(struct jr_controller_run *run);

/* Whether the others cannot go on without a rank that has failed, whatever `on_failure` says: one
 * of them has initialized, and it has not finalized. */
bool jr_controller_mpi_needs(const struct jr_controller_run *run,
                             const struct jr_rank_outcome *rank);

/* The outcome of a node has come: its ranks that ended with 0 without MPI_Init have left the others
 * alone, if these have called it. Returns whether there are ranks without which the others cannot
 * go on. */
bool jr_controller_mpi_settle(struct jr_controller_run *run, uint32_t node);

/*
 * The controller's console: lines of all nodes, while they run and afterwards.
 *
 * A full console blocks no rank and no message of an agent: agents are told to keep their lines,
 * and on each node the runner continues to write its files and catches up from them (catch_up.h).
 * What a node has not shown when its ranks have ended follows its `done`, and then comes `shown`.
 *
 * Open the console of all runs on these descriptors (-1: closed); a second time nothing is done.
 */
void jr_controller_open_console(struct jr_controller *controller, int out_fd, int err_fd);

/* Show the whole lines of a channel of a node. */
void jr_controller_read_lines(struct jr_controller *controller, uint32_t node,
                              enum jr_channel type);

/* Show bytes that end a line, on standard output (`stream` 0) or standard error (1). */
void jr_controller_show(struct jr_controller *controller, int stream, const char *bytes,
                        size_t len);

/* A survey (survey.h): a host cannot take part; the first reason counts. `advice` NULL: nothing is
 * known to be done about it. */
void jr_survey_fail(struct jr_survey *survey, uint32_t node, const char *what, const char *advice);

/* The link to a host has ended. */
void jr_survey_lose(struct jr_survey *survey, const struct jr_link *link);

/* An agent says something. */
void jr_survey_take(struct jr_survey *survey, uint32_t node, const struct jr_message *message);

/* The agent. */

#define JR_AGENT_PIECE (64U << 10) /* bytes that are read at once */

/* What comes from the process that runs the ranks. */
enum {
    JR_AGENT_END_OUT, /* the console's lines */
    JR_AGENT_END_ERR,
    JR_AGENT_END_EVENT,    /* lines of events */
    JR_AGENT_END_REPORT,   /* struct jr_report after struct jr_report */
    JR_AGENT_END_OUTCOME,  /* at the end: jr_outcome_message_add */
    JR_AGENT_END_EXCHANGE, /* a socket: bytes of MPI's managers, both ways */
    JR_AGENT_END_LEFT,     /* before the outcome: what its ranks have left */
    JR_AGENT_ENDS
};

/* A pipe from that process. */
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
    bool serves;                     /* it runs cells */
    struct jr_watch notes, children; /* of these */
    struct jr_agent_cell_ends ends;  /* where they write; -1: closed */
    bool heartbeats;                 /* the controller gives signs of life */
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

/* Do what the controller says at descriptor 0, until that ends. */
void jr_agent_on_input(void *owner, uint32_t events);

#endif
