/* The part of the PMIx server's process (pmix_server.c) that exchanges data of ranks with the
 * servers of other nodes. Not for other layers. */
#ifndef JR_PMIX_EXCHANGE_H
#define JR_PMIX_EXCHANGE_H

#include <stdbool.h>

#include "wireup/exchange_frame.h"
#include "wireup/pmix_abi.h"

/* The descriptors of the server's process. What the library calls for a fence has no parameter for
 * the server, so that a number has to be it. */
enum {
    JR_PMIX_RUNNER_FD = 3,
    JR_PMIX_EXCHANGE_FD, /* the stream of the exchange, which blocks */
    JR_PMIX_REQUESTS_FD, /* a pipe: what the library's threads have for us, by
                            its address */
    JR_PMIX_FREE_FD      /* others come after these */
};

struct jr_pmix_request;

struct jr_pmix_exchange {
    const struct jr_pmix_library *library;
    const char *name;      /* of the world */
    uint32_t node;         /* which this one is */
    uint32_t first, count; /* its ranks */
    uint32_t size;         /* ranks of the world */
    int requests_fd;       /* the other end of the pipe */
    bool ended;            /* there is nothing to exchange with */
    uint32_t token;        /* the last one */
    struct jr_inlet inlet;
    struct jr_pmix_request *waiting; /* for what others answer */
};

/* Make the pipe. -1 with errno. */
int jr_pmix_exchange_open(struct jr_pmix_exchange *exchange);

/* Put what the library is to call for it into the library's module. */
void jr_pmix_exchange_fill(struct jr_pmix_module *module);

/* Serve until the runner closes its end, or dies, which closes it too. */
void jr_pmix_exchange_serve(struct jr_pmix_exchange *exchange);

#endif
