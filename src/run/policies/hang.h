/* Evidence of a hang, and then the stop; see hang.c. */
#ifndef JR_HANG_H
#define JR_HANG_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "eventloop/loop.h"
#include "run/policies/policies.h"

struct jr_hang_rank;

enum jr_hang_why {
    JR_HANG_SILENCE,    /* timeouts.silence */
    JR_HANG_FIRST_EXIT, /* timeouts.after_first_exit */
    JR_HANG_PROGRESS,   /* timeouts.progress */
    JR_HANG_FIRST_STEP  /* timeouts.first_step */
};

/* What the policy remembers. */
struct jr_hang {
    struct jr_timer timer;
    bool begun;                 /* no end of a rank begins the stop any more */
    bool looked;                /* the evidence is written */
    uint64_t until_ns;          /* then it is enough */
    uint64_t first_ns;          /* when the ranks were first looked at */
    struct jr_hang_rank *ranks; /* one per rank; see hang.c */
    uint32_t next;              /* the first rank whose command was not started */
    uint32_t running;           /* commands */
};

extern const struct jr_runner_policy jr_hang_policy;

/* Gather evidence from the ranks that live, and then stop the run. Once; not in a run that is being
 * stopped. */
void jr_hang_begin(struct jr_runner *runner, enum jr_hang_why why);

/* Whether evidence is, or was, gathered: from then on no end of a rank begins the stop. */
bool jr_hang_has_begun(const struct jr_runner *runner);

/* The watch of the process, if it is one of the commands that gather evidence; NULL. */
struct jr_watch *jr_hang_watch(struct jr_runner *runner, pid_t pid);

#endif
