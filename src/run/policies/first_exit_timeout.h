/* `timeouts.after_first_exit`; see first_exit_timeout.c. */
#ifndef JR_FIRST_EXIT_TIMEOUT_H
#define JR_FIRST_EXIT_TIMEOUT_H

#include "eventloop/loop.h"

struct jr_rank_run;
struct jr_runner;

/* What the policy remembers. */
struct jr_first_exit {
    struct jr_timer timer;
    bool begun; /* a rank has ended well */
};

void jr_first_exit_open(struct jr_runner *runner);

/* The first rank has ended well; later ones change nothing. */
void jr_first_exit_begin(struct jr_runner *runner);

#endif
