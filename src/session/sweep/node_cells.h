/*
 * The cells of a sweep that an agent runs on its node (cluster/agent.h): each is a fork of the
 * agent, with a session of its own, as on a machine where the sweep itself runs (sweep_run.h). When
 * the agent is killed, the kernel kills their guards, and each runner ends its run; when a guard is
 * killed, the agent waits for its runner; when both are, it ends what they left.
 *
 * Where the folder of the sweep is not seen, they have another one (own_cells.h), and another fork
 * of it sends what a cell has left there, one after the other (send_cell.h).
 */
#ifndef JR_NODE_CELLS_H
#define JR_NODE_CELLS_H

#include <sys/types.h>

#include "cluster/agent.h"
#include "host/host.h"
#include "session/sweep/node_devices.h"
#include "session/sweep/own_cells.h"

struct jr_session;

/* A cell that runs here. */
struct jr_node_cell {
    struct jr_arena arena;
    uint32_t number;
    const char *cells_dir;
    pid_t pid;    /* of its guard; 0: that has ended */
    bool over;    /* nothing is left of it */
    pid_t sender; /* of what it has left; 0: nobody sends it */
    bool sent;    /* it is sent, or cannot be */
    int code;     /* the exit status of the guard; 0: it was killed */
    char *note;   /* a line about its end, malloc'ed; NULL: there is none */
    struct jr_node_devices devices;
};

struct jr_node_cells {
    const struct jr_session *node; /* whose facts are read */
    struct jr_host host;           /* of them, what a cell sees */
    bool ready;                    /* `host` is filled */
    struct jr_own_cells own;       /* where they are, if not with the sweep */
    char *collect;                 /* of what comes back then: words with commas, malloc'ed;
                                      NULL: nothing does */
    char *code;                    /* the folder of their frozen code there; NULL: it is not, or
                                      is here; the same */
    bool leaves;                   /* nobody takes it any more */
    struct jr_agent_cell_ends ends;
    struct jr_node_cell *cells; /* count of them, malloc'ed */
    size_t count;
};

/* See whether the folder of the cells has its mark here, and make another one
 * where it has not, as jr_agent_cell_hooks has it; so it is with the others.
 * `node` is that of the agent. */
int jr_node_cells_share(struct jr_node_cells *cells, const struct jr_message *word, uint32_t node,
                        struct jr_error *err);

/* Begin a cell. */
int jr_node_cells_begin(struct jr_node_cells *cells, const struct jr_message *word,
                        const struct jr_agent_cell_ends *ends, struct jr_error *err);

/* The next cell that is over. */
bool jr_node_cells_next_end(struct jr_node_cells *cells, struct jr_agent_cell_end *ret);

/* Signal all, or, unless it is NULL, the one of that number. */
void jr_node_cells_signal(const struct jr_node_cells *cells, const char *number, int sig);

/* Append how far each is whose folder is not that of the sweep, a line of JSON each:
 * {"cell":7,"progress":{...}}. */
void jr_node_cells_progress(const struct jr_node_cells *cells, struct jr_buf *out);

/* Nobody takes what they leave: have them end, and send nothing more. */
void jr_node_cells_leave(struct jr_node_cells *cells);

/* End what is left of them, which is nothing where all was well, and free the list. */
void jr_node_cells_release(struct jr_node_cells *cells);

#endif
