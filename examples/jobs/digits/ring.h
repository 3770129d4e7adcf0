/*
 * A process group of RANK and WORLD_SIZE processes that meet at
 * MASTER_ADDR:MASTER_PORT, where rank 0 listens, and then form a ring.
 */
#ifndef DIGITS_RING_H
#define DIGITS_RING_H

#include <stddef.h>

struct ring {
    int rank, size;
    int left, right; /* sockets to the neighbours; -1 with one rank */
};

/* Meet the others. Waits at most 60 s for them. 0, or -1 after saying why. */
int ring_open(struct ring *ring, int rank, int size, const char *addr,
              const char *port);

/* Add up `values` over all ranks, in place; every rank gets the same bits.
 * A ring all-reduce: 2 (size - 1) messages of count / size values each. */
int ring_sum(const struct ring *ring, float *values, size_t count);

void ring_close(struct ring *ring);

#endif
