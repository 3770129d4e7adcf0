/*
 * The runner's stream to the process managers of other nodes, where it is one itself: frames of
 * wireup/exchange.h, over the link of jr_run_options. Neither end blocks, and what there is
 * no room for waits.
 */
#ifndef JR_MPI_EXCHANGE_H
#define JR_MPI_EXCHANGE_H

#include <stdbool.h>

#include "eventloop/loop.h"
#include "wireup/exchange.h"

struct jr_mpi_exchange {
    struct jr_watch watch; /* -1: it has ended, or there is none */
    struct jr_loop *loop;
    void *owner;
    /* A frame has come; NULL: nothing more will, for the other end is closed, what came is none, or
     * there was no memory. */
    void (*take)(void *owner, const struct jr_exchange_frame *frame);
    struct jr_inlet inlet;
    struct jr_buf out; /* what there was no room for yet */
    size_t sent;       /* bytes of it */
    bool full;         /* room is waited for */
};

/* Watch the stream `fd`, which is then the exchange's; owner and take are set.
 * -1 with errno. */
int jr_mpi_exchange_open(struct jr_mpi_exchange *exchange, struct jr_loop *loop, int fd);

/* Send a frame. */
void jr_mpi_exchange_send(struct jr_mpi_exchange *exchange, const struct jr_exchange_frame *frame);

/* Close the stream, and free what waits. */
void jr_mpi_exchange_close(struct jr_mpi_exchange *exchange);

#endif
