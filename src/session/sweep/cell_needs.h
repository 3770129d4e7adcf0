/*
 * What the cells of a sweep need of a machine, and what it has.
 *
 * Cells differ in what they need only by axes that have a part in it: sizes, devices, parents, and
 * what is referred to by these. So one cell of each combination of these axes is resolved, and
 * speaks for the others; 100,000 learning rates are one.
 */
#ifndef JR_CELL_NEEDS_H
#define JR_CELL_NEEDS_H

#include <jobrun/error.h>
#include <jobrun/types.h>

#include "base/arena.h"
#include "sweep/schedule.h"

struct jr_host;
struct jr_session;
struct jr_spec_file;

/* What a cell holds while it runs. */
struct jr_cell_need {
    uint32_t nodes, ranks;
    uint32_t devices; /* 0: it runs on CPUs */
    uint32_t cores;   /* physical ones; 0: it runs on devices */
    enum jr_device device;
    const char *device_name; /* as spelled: "cuda" */
    const bool *const *may;  /* of each node, and of each of its devices: whether
                                it will do; NULL: it runs on CPUs */
    uint32_t pool;           /* so many will do on the node that has most */
    bool oversubscribe;      /* it may run beside others where it does not fit */
    size_t cell;             /* the one that was resolved */
};

/* What a node has for all cells together. */
struct jr_room {
    uint32_t devices, cores;
    uint32_t places; /* devices that its facts have, be they for cells or not */
};

struct jr_cell_needs {
    struct jr_arena arena;
    struct jr_cell_need *kinds; /* that differ */
    size_t count;
    uint32_t *kind_of;     /* of each cell */
    struct jr_room *rooms; /* of each node */
    uint32_t nodes;
    uint32_t parallel; /* cells at once at most; 0: no limit */
};

/* Find what the cells of the session's sweep need on its nodes, as on the first of them. A cell
 * that cannot be resolved there, or that can never run there, is a finding of the session: the
 * status is that of jr_resolve, or JR_STATUS_UNRESOLVED. Release it in any case. */
enum jr_status jr_cell_needs_find(struct jr_cell_needs *ret, struct jr_session *session,
                                  struct jr_error *err);

/* What a schedule has to know of them. */
struct jr_slots jr_cell_needs_slots(const struct jr_cell_need *need);

/* Free it. */
void jr_cell_needs_release(struct jr_cell_needs *needs);

/* What all nodes have together. */
struct jr_room jr_cell_needs_room(const struct jr_cell_needs *needs);

/* Put a cell beside others, of which there are `running`, and which hold `held` of each node.
 * False: it does not fit. */
bool jr_cell_needs_place(const struct jr_cell_needs *needs, const struct jr_cell_need *need,
                         struct jr_room *held, uint32_t running);

/*
 * The machines on which the cells of a sweep run: this one; in the shell or the script of an
 * allocation its nodes, or the hosts that ssh reaches, each of which has an agent; or the nodes of
 * a profile, where it is only planned.
 *
 * A cell is for one of them, unless its spec states more nodes, or ranks for more: each cell then
 * sees a machine of its own, and nothing of the allocation. Cells of several nodes see that, as
 * runs do.
 */

/* How many there are. */
uint32_t jr_cell_hosts_count(const struct jr_session *session);

/* The facts of one, as a cell of one node sees them; they are the session's. */
struct jr_host jr_cell_host(const struct jr_session *session, uint32_t node);

/* The facts by which a cell, whose spec was loaded, is resolved. */
struct jr_host jr_cell_host_for(const struct jr_session *session, const struct jr_spec_file *file);

/* Take out of the facts of a machine what the scheduler says of other ones. */
void jr_cell_host_alone(struct jr_host *host);

#endif
