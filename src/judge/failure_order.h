/*
 * The order of failures: which of the ranks that failed was first, and which
 * cannot be told apart from that.
 */
#ifndef JR_FAILURE_ORDER_H
#define JR_FAILURE_ORDER_H

#include "judge/judge.h"

/* So much earlier than another rank's failure a rank may have noticed the loss
 * of it. */
#define JR_ORDER_GIVES_WAY_NS UINT64_C(1000000000)

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

/* The same for the end of a rank that ended with 0: when it told of that, or
 * was reaped. */
struct jr_candidate jr_order_end(const struct jr_judge *judge, uint32_t i);

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
