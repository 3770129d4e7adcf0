/*
 * Which cell begins next, and on which cores and devices of which node: values only, so that a test
 * can play through it. The nodes are this machine alone, or those of an allocation.
 *
 * Cells begin in their order whenever what they need is free. One that does not fit is passed over
 * by later ones that do, but only a few times: then all wait until it fits, so that a large cell
 * comes to its turn among many small ones. Devices that are away, because somebody else holds them,
 * are given to nobody. A cell of several nodes has all of them for itself.
 */
#ifndef JR_SCHEDULE_H
#define JR_SCHEDULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"

/* What a kind of cells needs. */
struct jr_slots {
    uint32_t cores, devices; /* of one node */
    bool shares;             /* takes what it gets, also beside others */
    bool alone;              /* it is of several nodes */
    const bool *const *may;  /* of each node, and of each of its devices: whether
                                it will do; NULL: all do */
};

/* What a node has. */
struct jr_node_room {
    uint32_t cores, devices;
};

/* A node, as cells take its parts. */
struct jr_schedule_node {
    struct jr_node_room room;
    uint32_t free_cores;
    uint32_t running;
    bool *core_taken, *device_taken;
    bool *device_away; /* not to be had now: the caller keeps these */
    bool *device_lost; /* given to no other cell */
    bool gone;         /* no other cell begins there */
};

/* What a cell was given: numbers of cores and devices of a node, as many as it needs; none where it
 * shares, or has all there is. */
struct jr_grant {
    uint32_t node;
    bool alone; /* it has all nodes */
    uint32_t *cores, *devices;
    uint32_t cores_count, devices_count;
};

struct jr_schedule {
    struct jr_arena arena;
    const struct jr_slots *kinds;
    size_t kinds_count;
    const uint32_t *kind_of; /* of each cell */
    const bool *skips;       /* cells that are not to be run */
    size_t count;
    size_t *next;                     /* of each kind: the first cell that may begin */
    const struct jr_node_room *rooms; /* of each node; read by init alone */
    struct jr_schedule_node *nodes;
    uint32_t nodes_count;
    uint32_t parallel; /* cells at once at most; 0: no limit */
    uint32_t running;
    bool occupied;          /* a cell that has all nodes runs */
    uint32_t passed;        /* how often the first waiting cell was passed over */
    uint32_t passed_before; /* the last one began */
};

/* Begin: nothing runs. All pointers are borrowed. Without memory the arena has failed. */
void jr_schedule_init(struct jr_schedule *ret, const struct jr_schedule *with);

/* Free it. */
void jr_schedule_release(struct jr_schedule *schedule);

/* The cell that begins now, and what it gets, in `arena`; false: none does. */
bool jr_schedule_next(struct jr_schedule *schedule, struct jr_arena *arena, size_t *ret_cell,
                      struct jr_grant *ret);

/* The cell that jr_schedule_next has just said does not begin after all, since what it was granted
 * was not to be had: as if it had not been called. */
void jr_schedule_undo(struct jr_schedule *schedule, size_t cell, const struct jr_grant *grant);

/* Whether some cell would begin now if no device were away; *ret_kind is that of the first. */
bool jr_schedule_lacks(const struct jr_schedule *schedule, uint32_t *ret_kind);

/* No other cell begins on a node, nor one that wants all of them. */
void jr_schedule_lose(struct jr_schedule *schedule, uint32_t node);

/* The node is there again. */
void jr_schedule_regain(struct jr_schedule *schedule, uint32_t node);

/* A device of a node is given to no other cell. False: it was lost before. */
bool jr_schedule_lose_device(struct jr_schedule *schedule, uint32_t node, uint32_t device);

/* Whether a cell of that kind could begin if nothing ran: true also where none is left. *ret_left
 * is how many devices of one node would do at most. */
bool jr_schedule_could_begin(const struct jr_schedule *schedule, uint32_t kind, uint32_t *ret_left);

/* No other cell of a kind begins. */
void jr_schedule_drop(struct jr_schedule *schedule, uint32_t kind);

/* A cell has ended: give back what it had. */
void jr_schedule_end(struct jr_schedule *schedule, const struct jr_grant *grant);

/* Whether cells are left that have not begun: of those that want all nodes (`alone`), or of the
 * others. */
bool jr_schedule_has_more(const struct jr_schedule *schedule, bool alone);

#endif
