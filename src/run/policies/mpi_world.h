/* The world of an MPI program, whose process manager the runner is; see
 * mpi_world.c. */
#ifndef JR_MPI_WORLD_H
#define JR_MPI_WORLD_H

#include <stdbool.h>

#include "eventloop/loop.h"
#include "run/policies/policies.h"
#include "wireup/pmi_server.h"
#include "wireup/pmix_server.h"

/* The stream of one rank. */
struct jr_mpi_stream {
    struct jr_watch watch;
    struct jr_rank_run *rank;
    bool full; /* it takes no more: nothing is read from it until it does */
};

/* What the policy remembers. */
struct jr_mpi_world {
    struct jr_pmi pmi;
    struct jr_mpi_stream *streams; /* of all ranks; NULL: none is served */
    uint32_t initialized;          /* inits so far */
    bool opened;                   /* the barrier, a moment ago */
    struct jr_pmix pmix;           /* the server of PMIx; in its place */
    struct jr_watch events;        /* what that tells */
};

extern const struct jr_runner_policy jr_mpi_world_policy;

/* Serve a rank over `fd`, our end of its stream, which does not block; -1:
 * there is none. Returns 0, or -1 with errno. */
int jr_mpi_world_add(struct jr_rank_run *rank, int fd);

#endif
