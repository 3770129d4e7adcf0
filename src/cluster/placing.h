/*
 * Which of the machines of a job have its nodes, and which are spares. A machine that cannot take
 * part is left out: the first spare takes the place of a node, and all other nodes stay where they
 * are.
 */
#ifndef JR_PLACING_H
#define JR_PLACING_H

#include <jobrun/run.h>

#include "base/arena.h"

struct jr_placing {
    struct jr_arena *arena;
    uint32_t nodes, spares; /* spares that are left */
    /* Of each node, and then of each spare: its host, and its place among all machines as they were
     * given. */
    char **hosts;
    uint32_t *machines;
    struct jr_lost_machine *left_out; /* in the order in which it was found out */
    size_t left_out_count;
};

/* The first of `hosts`, which has nodes + spares entries, have the nodes. All is kept in the arena,
 * which lives longer. -1 without memory. */
int jr_placing_make(struct jr_placing *ret, struct jr_arena *arena, char *const *hosts,
                    uint32_t nodes, uint32_t spares);

/* Leave out the machine of a node, or of a spare (nodes + its index), because
 * of `why`, which is copied. -1 where it is a node's and there is no spare:
 * then nothing is changed; or without memory. */
int jr_placing_leave_out(struct jr_placing *placing, uint32_t index, const char *why);

/* The number of a node among all nodes in the order of the machines as they were given, which a
 * scheduler keeps. */
uint32_t jr_placing_task(const struct jr_placing *placing, uint32_t node);

#endif
