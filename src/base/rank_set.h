/*
 * Rank sets: "0-3,8,10-14/2", "all", "none". Sorted, disjoint, canonical.
 */
#ifndef JR_RANK_SET_H
#define JR_RANK_SET_H

#include <sched.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"

struct jr_range {
    uint32_t first, last, step; /* inclusive; step >= 1 */
};

struct jr_set {
    bool all;
    struct jr_range *ranges;
    size_t count;
};

/* Parse `text`. On failure returns false and points *ret_bad at the first offending character.
 * Repeated ranks are refused. */
bool jr_set_parse(struct jr_set *ret, struct jr_arena *arena, const char *text,
                  const char **ret_bad);

/* Whether `rank` is a member. O(ranges). */
bool jr_set_has(const struct jr_set *set, uint32_t rank);

/* Set values[rank] for every member below `count`. O(members). */
void jr_set_fill(const struct jr_set *set, unsigned *values, uint32_t count, unsigned value);

/* The largest explicitly named rank; false when none is named. */
bool jr_set_max(const struct jr_set *set, uint32_t *ret);

/* Append a set as it is read, in normal form: "0-3,8,10-14/2", all, none. */
void jr_set_write(struct jr_buf *out, const struct jr_set *set);

/* Ascending ranks as compact text: "0-2,4,6-7"; "none" for no rank. */
void jr_set_print(struct jr_buf *out, const uint32_t *ranks, size_t count);

/* CPUs as text, for sched_setaffinity(2) with a mask of `size` bytes. False,
 * with none in it, for what is no set of numbers, or names one beyond the mask.
 */
bool jr_set_cpus(cpu_set_t *ret, size_t size, const char *text);

#endif
