/* How each rank ended, and the root cause; see cause.c. */
#ifndef JR_CAUSE_H
#define JR_CAUSE_H

#include "judge/judge.h"

/* The state of every rank by how it ended, and the root cause: the first
 * of the ranks that failed by themselves and those that cannot be told apart
 * from it. */
void jr_cause_find(struct jr_judge *judge);

/* Where the root cause is that a rank lost a peer: blame the first that ended
 * with 0 by then, or up to a second later, and delivered nothing. To be called
 * once each rank's own delivery is known. */
void jr_cause_blame_early(struct jr_judge *judge);

/* The order of a rank's failure among others whose times do not decide it: the
 * lower comes first. */
enum jr_failure {
    JR_FAILURE_CRASH,    /* a signal that jobrun did not send, or no start */
    JR_FAILURE_EXIT,     /* an exit code without an exception */
    JR_FAILURE_RAISED,   /* an exception of its own */
    JR_FAILURE_ABORT,    /* SIGABRT */
    JR_FAILURE_LOST_PEER /* of a kind that only a lost peer causes */
};

/* A rank that may be the cause. Times are the outcome's, monotonic ns. */
struct jr_candidate {
    uint32_t i;
    uint32_t order;
    uint32_t node;
    enum jr_failure failure;
    bool overtaken;       /* see jr_rank_outcome */
    uint64_t from, until; /* its failure began between these */
    uint64_t at;          /* where it is put among others */
};

/* The candidate for rank `i`, which failed or was stopped on its way out;
 * `raised_ns` is when its exception was raised; 0: there is none, or it does
 * not say. */
struct jr_candidate jr_order_candidate(const struct jr_judge *judge, uint32_t i,
                                       uint64_t raised_ns);

/* Whether rank `i`, which ended with 0, had done so by the failure `first`, or
 * had told that it was about to. Who is lost closes its connections before it
 * ends: where `first` is the loss of a peer, it counts until the rank that
 * failed has ended. */
bool jr_order_had_ended(const struct jr_judge *judge, uint32_t i,
                        const struct jr_candidate *first);

/* Sort the candidates: the cause comes first, and after it those that cannot be
 * distinguished from it. Returns the number of these together. */
size_t jr_order_find(const struct jr_judge *judge,
                     struct jr_candidate *candidates, size_t count);

#endif
