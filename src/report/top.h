/*
 * `top`: the ranks of a running job, one per line: what they do, how much
 * processor time and memory they take, how long they have been silent, and the
 * last thing that they said.
 */
#ifndef JR_TOP_H
#define JR_TOP_H

#include "record/live_ranks.h"

struct jr_top_row;

struct jr_top {
    struct jr_live_ranks crew;
    struct jr_top_row *rows; /* one per rank of the crew */
    size_t count;
    uint64_t looked_ns; /* when; monotonic */
};

/* How much of it is shown; 0: all. */
struct jr_top_size {
    unsigned lines, columns;
};

/* The run whose jobrun is the process `guard`; see jr_live_ranks_open. */
int jr_top_open(struct jr_top *ret, const char *log_dir, const char *id,
                int32_t guard, struct jr_error *err);
void jr_top_close(struct jr_top *top);

/* Look at the ranks; processor time is counted since the look before, for the
 * first one since the rank began. */
void jr_top_look(struct jr_top *top);

/* Append what was seen, in whole lines. Where not all ranks fit, those that
 * have been silent the longest are shown, and the others counted. */
void jr_top_print(struct jr_buf *out, const struct jr_top *top,
                  const struct jr_top_size *size);

#endif
