/*
 * Cells of a sweep on the nodes of a controller (controller.h): each is a run of its own, on one
 * node, and an agent runs many of them at once. It is told which begins with which devices and
 * cores, and tells when one is over; what became of it is in the cell's own folder. Who leads the
 * sweep waits for much else, and calls the loop of the controller when its descriptor is ready.
 *
 * srun hands what it reads to all tasks, and ends the step when it cannot: so once a node is lost
 * no other cell can begin through this controller, while those that run on other nodes go on to
 * their end. So no signs of life are sent, either, but agents give theirs unasked (heartbeat.h).
 * Where each agent has a link of its own, the others go on as before.
 */
#ifndef JR_CONTROLLER_CELLS_H
#define JR_CONTROLLER_CELLS_H

#include <sys/types.h>

#include "cluster/controller.h"
#include "cluster/message_table.h"

/* A cell, for the agent of `node`; texts are borrowed, and NULL where there is nothing to say. */
struct jr_controller_cell {
    uint32_t node;
    const char *spec;                 /* whole, and not resolved */
    const char *folder;               /* in which that lies */
    const char *name;                 /* what its record calls it */
    const char *inject;               /* --inject */
    const char *cell, *sweep, *cells; /* see jr_controller_spec */
    const char *device;               /* what they are called: "cuda" */
    const char *devices, *cores;      /* numbers in the node's facts: "0,2" */
    uint64_t limit_ms;                /* of waiting for them; 0: none */
    const char *console;              /* see protocol.h */
    const char *fingerprint;          /* NULL: it is found there */
};

/* A cell is over. */
struct jr_cell_end {
    const char *cell; /* its number */
    int code;         /* how its process ended */
    const char *gone; /* of its devices, those that are not there any more,
                         numbers in the node's facts; NULL: none */
    bool sent;        /* what it has left was, as far as it was to be had */
    bool full;        /* there is no room for another one on the node */
};

/* Who is told what becomes of cells. Nothing may be closed meanwhile. */
struct jr_cell_watcher {
    void *data;
    /* A cell of the node is over. */
    void (*ended)(void *data, uint32_t node, const struct jr_cell_end *end);
    /* A line about a cell of the node. */
    void (*said)(void *data, uint32_t node, const char *line);
    /* Bytes of what a cell has left there, whole before it is over. */
    void (*left)(void *data, uint32_t node, const char *bytes, size_t len);
    /* The cluster ends what runs on the node, as where its time is over. */
    void (*ceased)(void *data, uint32_t node);
    /* The node is lost, and its cells; `why` says how that is known. */
    void (*lost)(void *data, uint32_t node, const char *why);
    /* A line of JR_CHANNEL_PROGRESS. */
    void (*told)(void *data, uint32_t node, const char *line);
};

/* Where cells are. */
struct jr_cells_place {
    const char *cells;   /* their folder, absolute */
    const char *token;   /* its mark: folder_mark.h */
    const char *collect; /* what comes back besides: words with commas */
    bool frozen;         /* their code is */
    int mode;            /* of what hosts make: an enum jr_log_mode */
};

/* Ask the nodes, whose facts are there, whether they see the folder, and wait for their answers:
 * one that does not makes a folder of its own, sends what cells leave there, and gets their code,
 * if that is frozen (open_code). -1 with what the first says that cannot. */
int jr_controller_share(struct jr_controller *controller, const struct jr_cells_place *place,
                        struct jr_error *err);

/* From now on the nodes, whose facts are there, run cells. The watcher is borrowed until
 * jr_controller_close. */
void jr_controller_serve(struct jr_controller *controller, const struct jr_cell_watcher *watcher);

/* Show what ranks print whose cells have the console, on these descriptors (-1:
 * closed). Then jr_controller_show_rest is to be called at the end. */
void jr_controller_show_cells(struct jr_controller *controller, int out_fd, int err_fd);

/* Begin a cell on a node that is not lost. */
void jr_controller_begin_cell(struct jr_controller *controller,
                              const struct jr_controller_cell *cell);

/* Every running cell gets a signal; `stop`: one that stops runs, which they get as SIGTERM where
 * nothing can be sent any more. */
void jr_controller_signal_cells(struct jr_controller *controller, int sig, bool stop);

/* The one cell of that number, which runs on a node, gets SIGTERM. False: the node cannot be
 * told. */
bool jr_controller_stop_cell(struct jr_controller *controller, uint32_t node, const char *cell);

/* What is readable when there is something to be done, for poll(2). */
int jr_controller_fd(const struct jr_controller *controller);

/* The moment at which there is besides (CLOCK_MONOTONIC; 0: none). */
uint64_t jr_controller_due(const struct jr_controller *controller);

/* Do it, without waiting, and without keeping the caller from all else: there may be more to be
 * done at once. */
void jr_controller_attend(struct jr_controller *controller);

/* A child has ended: is it of the controller, and if so, take note. */
bool jr_controller_reap(struct jr_controller *controller, pid_t pid, int status);

/* Write the programs of its links that have not ended, which are children of this process, to
 * `ret`, which has room for one for each node. Returns how many. */
size_t jr_controller_children(const struct jr_controller *controller, pid_t *ret);

/* Whether each node has a link of its own, so that the loss of one leaves the others as they
 * are. */
bool jr_controller_has_links(const struct jr_controller *controller);

/* In a process that was forked: let go of the streams, so that the agents see their end when the
 * controller is gone. Nothing else may be done with it. */
void jr_controller_forget(struct jr_controller *controller);

/* For the other files of the controller: whether nothing may be sent, since srun runs cells and has
 * lost a node. */
bool jr_controller_is_mute(const struct jr_controller *controller);

/* For the other files of the controller: the channel of an agent whose lines are about cells,
 * `note` or `progress`, has got bytes. */
void jr_controller_read_cell_lines(struct jr_controller *controller, uint32_t node,
                                   enum jr_channel channel);

/* The same of its `left`, where cells are watched. */
void jr_controller_read_left(struct jr_controller *controller, uint32_t node);

#endif
