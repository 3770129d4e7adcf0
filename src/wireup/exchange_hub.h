/*
 * The hub of the exchange (exchange_frame.h), which the controller has: it collects what nodes have
 * for a fence, and gives it to all of them once the last has come; and it hands questions about a
 * rank to the node of the rank, and its answer back. A node answers what it was asked, once; what
 * is anything else is no exchange, whatever an agent says.
 *
 * It is a value without descriptors: bytes of nodes go in, and what is to be sent comes out by a
 * hook. What it costs grows with the bytes, and with the ranks of a group for each fence.
 */
#ifndef JR_EXCHANGE_HUB_H
#define JR_EXCHANGE_HUB_H

#include <stdbool.h>

#include "wireup/exchange_frame.h"

#define JR_EXCHANGE_ALL UINT32_MAX

struct jr_exchange_hub {
    void *owner;
    /* Send bytes to a node, or to JR_EXCHANGE_ALL. Whoever gets a frame that is for others passes
     * it over. False: there is no memory for them. */
    bool (*send)(void *owner, uint32_t node, const char *bytes, size_t len);
    uint32_t nodes;
    const uint32_t *first;   /* rank of each node, and one more; borrowed */
    struct jr_inlet *inlets; /* of each node */
    void *fences;            /* that have begun, by group; of tsearch(3) */
    void *questions;         /* without an answer yet; the same */
};

/* Returns 0, or -1 with ENOMEM. jr_exchange_hub_release frees it in any case.
 */
int jr_exchange_hub_open(struct jr_exchange_hub *hub);

/* Take bytes of a node. False: they are no exchange (a part of a fence that is none of its, an
 * answer to nothing that it was asked), or there is no memory for them; the hub is of no more use
 * then. */
bool jr_exchange_hub_take(struct jr_exchange_hub *hub, uint32_t node, const char *bytes,
                          size_t len);

/* Free what it holds. */
void jr_exchange_hub_release(struct jr_exchange_hub *hub);

#endif
