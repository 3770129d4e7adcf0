/*
 * A node as the controller sees it: a state x message table, every cell filled. What is done
 * besides the change of state is named by an action, which controller_messages.c carries out.
 */
#ifndef JR_NODE_STATE_H
#define JR_NODE_STATE_H

#include "base/buf.h"
#include "cluster/protocol.h"

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
    X(TIMED_OUT, "timed_out") /* its heartbeats are missing: heartbeat.h */                        \
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

/* The table as text: a row per input, a column per state. */
void jr_node_table_print(struct jr_buf *out);

#endif
