/*
 * What a console has not shown when its run has ended, in memory that guard and
 * runner share: the runner leaves it there, and the guard goes on (replay.h).
 */
#ifndef JR_REMAINDER_H
#define JR_REMAINDER_H

#include "output/catch_up.h"

struct jr_remainder {
    size_t size;            /* of the mapping */
    uint32_t count;         /* of streams */
    size_t pending_len[2];  /* by output of the screen */
    char *pending;          /* lines that the outputs did not take, the first's
                               before the second's */
    struct jr_times *times; /* `count` of them */
    struct jr_shown streams[]; /* 2 of each rank, and 2 of the setup */
};

/* For `ranks` ranks; unused parts cost no memory. NULL with errno. */
struct jr_remainder *jr_remainder_new(uint32_t ranks);
/* NULL is allowed. */
void jr_remainder_free(struct jr_remainder *remainder);

/* Keep what the screen's outputs have not taken: as many whole lines as there
 * is room for. */
void jr_remainder_keep(struct jr_remainder *remainder,
                       const struct jr_console_writer *screen);

#endif
