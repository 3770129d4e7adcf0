/*
 * The order of failures: which of the ranks that failed was first, and which cannot be told apart
 * from that.
 */
#ifndef JR_FAILURE_ORDER_H
#define JR_FAILURE_ORDER_H

#include "judge/judge.h"

/* What a failure is, for the order of those whose times do not decide it: the lower comes first. */
enum jr_failure {
    JR_FAILURE_KILLED,   /* a signal that jobrun did not send, or no start */
    JR_FAILURE_OWN,      /* an exit code, an exception, SIGABRT */
    JR_FAILURE_LEFT,     /* it ended with 0, and owes its result */
    JR_FAILURE_LOST_PEER /* of a kind that only a lost peer causes */
};

/* A rank that may be the cause. Times are the outcome's, monotonic ns. */
struct jr_candidate {
    uint32_t i;
    uint32_t node;
    enum jr_failure failure;
    uint64_t from, until; /* its failure began between these */
};

/* The candidate for rank `i`, which failed or was stopped on its way out;
 * `raised_ns` is when its exception was raised; 0: there is none, or it does
 * not say. */
struct jr_candidate jr_order_candidate(const struct jr_judge *judge, uint32_t i,
                                       uint64_t raised_ns);

/* The same for the end of a rank that ended with 0: when it told of that, or began to end. */
struct jr_candidate jr_order_end(const struct jr_judge *judge, uint32_t i);

/* Whether `a` surely failed, or ended, before `b`. */
bool jr_order_before(const struct jr_judge *judge, const struct jr_candidate *a,
                     const struct jr_candidate *b);

/* The first of them, none of which is before it; NULL for none. */
const struct jr_candidate *jr_order_first(const struct jr_candidate *candidates, size_t count);

/* Sort the candidates: the cause comes first, and after it those that cannot be distinguished from
 * it. Returns the number of these together. */
size_t jr_order_find(const struct jr_judge *judge, struct jr_candidate *candidates, size_t count);

#endif
