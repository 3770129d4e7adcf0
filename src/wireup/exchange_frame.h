/*
 * Frames of the exchange between the process managers of a world's nodes: each manager
 * (pmi_server.h, or the process of pmix_server.h) has one stream to the hub (exchange_hub.h), on
 * which frames go both ways. The stream is carried by others, in pieces of any size.
 *
 * FENCE   what a node has for a group of ranks, once all of the group there are
 *         in the fence; and from the hub, what all nodes of it had, in order.
 * ASK     one manager asks that of a rank's node for the data of the rank.
 * ANSWER  what comes of it.
 */
#ifndef JR_EXCHANGE_FRAME_H
#define JR_EXCHANGE_FRAME_H

#include <stddef.h>
#include <stdint.h>

#include "base/inlet.h"

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

#endif
