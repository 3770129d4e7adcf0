/*
 * Lists of hosts as Slurm writes them, and counts per host.
 *
 *     gpu[01-04,7],login3      gpu01 gpu02 gpu03 gpu04 gpu7 login3
 *     r[1-2]n[1-2]             r1n1 r1n2 r2n1 r2n2
 *     2(x3),1                  2 2 2 1
 *
 * Both are stricter than Slurm's own reading, which takes `n[1-3` for a host
 * `n]`: what is not whole is not read.
 */
#ifndef JR_HOSTLIST_H
#define JR_HOSTLIST_H

#include <stdbool.h>
#include <stdint.h>

#include "base/strv.h"

/* A list of more hosts, or one with more brackets, is taken for a mistake. */
#define JR_HOSTLIST_MAX      65536u
#define JR_HOSTLIST_BRACKETS 8u

/* Expand `text` in the order of `scontrol show hostnames`; repeated hosts are
 * kept. Numbers are as wide as the low end of their range is written. Into
 * `arena`. Where it is no such list, false, and *ret_bad at the place that
 * cannot be read: blanks, empty items and ranges, brackets within brackets or
 * unclosed, text behind the last bracket, a range that goes down, and whatever
 * is beyond the limits. */
bool jr_hostlist_expand(struct jr_strv *ret, struct jr_arena *arena, const char *text,
                        const char **ret_bad);

/* Counts per node. */
struct jr_counts {
    uint32_t *items;
    uint32_t count;
};

/* Expand `COUNT[(xTIMES)],...` (SLURM_TASKS_PER_NODE), each count at least 1; false, and *ret
 * untouched, for anything else. */
bool jr_counts_expand(struct jr_counts *ret, struct jr_arena *arena, const char *text);

/* The same in its short form: "2(x3),1". NULL if there are none. */
char *jr_counts_print(const struct jr_counts *counts, struct jr_arena *arena);

#endif
