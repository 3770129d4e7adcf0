/*
 * The cells of a sweep that an agent runs on its node (cluster/agent.h): each is a fork of the
 * agent, with a session of its own, as on a machine where the sweep itself runs (sweep_run.h). When
 * the agent is killed, the kernel kills their guards, and each runner ends its run; when a guard is
 * killed, the agent waits for its runner; when both are, it ends what they left.
 *
 * Where the folder of the sweep is not seen, they have another one (jr_own_cells), and another fork
 * of it sends what a cell has left there, one after the other (cell_files.c).
 */
#ifndef JR_NODE_CELLS_H
#define JR_NODE_CELLS_H

#include <sys/types.h>

#include "cluster/agent.h"
#include "host/host.h"
#include "resolve/device_lease.h"
#include "store/run_folder.h"

struct jr_session;

/* The devices of a cell that an agent runs: leases, as cells have them where the sweep itself runs
 * (sweep_devices.c). What another run holds is waited for in the process of the cell. */
struct jr_node_devices {
    struct jr_device_list list; /* of those of its part */
    const char *around;         /* see jr_device_request */
    struct jr_device_lease *leases;
    uint32_t leased;  /* none, or all */
    const char *kind; /* what they are spelled like; borrowed */
    bool *gone;       /* of each, shared with the process of the cell, which finds out
                         when that has failed; NULL: there are none, or no memory */
};

/*
 * The folder of the cells on a host that does not see that of the sweep:
 * LOG_DIR/SWEEP_ID/node_N.TOKEN, of which no other agent, of an earlier jobrun
 * or on another host, has one. All that runs of its cells there holds its lock,
 * so that whoever goes on with the sweep waits for what an earlier jobrun is
 * still ending.
 */
/* The name of the folder, for printf(3): the node, and the token; and in it that of the file that
 * is locked. */
#define JR_OWN_CELLS_NAME JR_NODE_DIR ".%.32s"
#define JR_OWN_CELLS_LOCK ".agent"

/* Whether that is the name of such a folder. */
bool jr_own_cells_is(const char *name);

struct jr_own_cells {
    char *dir;   /* absolute, malloc'ed; NULL: the sweep's own is seen */
    int lock_fd; /* of the file that is locked; 0: none is */
};

/* A cell that runs here. */
struct jr_node_cell {
    struct jr_arena arena;
    uint32_t number;
    char folder[16];
    const char *cells_dir, *run_id; /* among those of all sweeps */
    struct jr_host_part part;       /* of the node, that it gets */
    int notes_fd;                   /* takes lines for the user */
    pid_t pid;                      /* of its guard; 0: that has ended */
    bool over;                      /* nothing is left of it */
    pid_t sender;                   /* of what it has left; 0: nobody sends it */
    bool sent;                      /* it is sent, or cannot be */
    int code;                       /* the exit status of the guard; 0: it was killed */
    char *note;                     /* a line about its end, malloc'ed; NULL: there is none */
    struct jr_node_devices devices;
};

struct jr_node_cells {
    const struct jr_session *node; /* whose facts are read */
    uint32_t index;                /* that the node has */
    int *lease_fd;                 /* of the port that the agent has offered; -1: of none */
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

/* The hooks of an agent (jr_agent_cell_hooks), whose `data` is the list. */
int jr_node_cells_share(void *data, const struct jr_message *word, bool *ret_apart,
                        struct jr_error *err);
int jr_node_cells_begin(void *data, const struct jr_message *word,
                        const struct jr_agent_cell_ends *ends, struct jr_error *err);
bool jr_node_cells_next_end(void *data, struct jr_agent_cell_end *ret);
void jr_node_cells_signal(void *data, const char *number, int sig);
void jr_node_cells_leave(void *data);
size_t jr_node_cells_count(void *data);
void jr_node_cells_progress(void *data, struct jr_buf *out);

/* End what is left of them, which is nothing where all was well, and free the list. */
void jr_node_cells_release(struct jr_node_cells *cells);

#endif
