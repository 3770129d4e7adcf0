/*
 * Frames of the exchange between the process managers of a world's nodes: each manager
 * (pmi_server.h, or the process of pmix_server.h) has one stream to the hub, on
 * which frames go both ways. The stream is carried by others, in pieces of any size.
 *
 * FENCE   what a node has for a group of ranks, once all of the group there are
 *         in the fence; and from the hub, what all nodes of it had, in order.
 * ASK     one manager asks that of a rank's node for the data of the rank.
 * ANSWER  what comes of it.
 */
#ifndef JR_EXCHANGE_H
#define JR_EXCHANGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

enum jr_exchange_kind {
    JR_EXCHANGE_FENCE = 1,
    JR_EXCHANGE_ASK,
    JR_EXCHANGE_ANSWER,
    JR_EXCHANGE_KINDS
};

struct jr_exchange_frame {
    enum jr_exchange_kind kind;
    uint32_t node;     /* of ASK and ANSWER: who asks; the hub writes it */
    uint32_t rank;     /* of ASK: whose data are wanted */
    uint32_t token;    /* of ASK and ANSWER: by which the asker knows it */
    int32_t status;    /* of ANSWER: the manager's own; 0: `data` is there */
    const char *group; /* of FENCE: a rank set, as "all" or "0-3,8" */
    const char *data;  /* `len` bytes; what they are is the managers' affair */
    size_t len;
};

/* Append a frame. What is longer than a frame may be fails the buffer. */
void jr_exchange_put(struct jr_buf *out, const struct jr_exchange_frame *frame);

enum jr_exchange_result {
    JR_EXCHANGE_NONE,  /* there is no whole frame */
    JR_EXCHANGE_TAKEN, /* *ret is the next one, valid until bytes are added */
    JR_EXCHANGE_BROKEN /* what comes is no frame, or there is no memory */
};

/* Take the next frame of what has come in pieces. */
enum jr_exchange_result jr_exchange_next(struct jr_inlet *inlet, struct jr_exchange_frame *ret);

/*
 * The hub of the exchange, which the controller has: it collects what nodes have
 * for a fence, and gives it to all of them once the last has come; and it hands questions about a
 * rank to the node of the rank, and its answer back. A node answers what it was asked, once; what
 * is anything else is no exchange, whatever an agent says.
 *
 * It is a value without descriptors: bytes of nodes go in, and what is to be sent comes out by a
 * hook. What it costs grows with the bytes, and with the ranks of a group for each fence.
 */

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
