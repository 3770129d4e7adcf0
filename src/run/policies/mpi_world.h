/* The world of an MPI program, whose process manager the runner is; see mpi_world.c. */
#ifndef JR_MPI_WORLD_H
#define JR_MPI_WORLD_H

#include <stdbool.h>

#include <jobrun/plan.h>

#include "eventloop/loop.h"
#include "run/mpi_exchange.h"
#include "run/policies/policies.h"
#include "wireup/pmi_server.h"
#include "wireup/pmix_server.h"

struct jr_mpi_world;

/* The stream of one rank. */
struct jr_mpi_stream {
    struct jr_watch watch;
    struct jr_mpi_world *world;
    bool full; /* it takes no more: nothing is read from it until it does */
};

/* What the policy remembers. */
struct jr_mpi_world {
    struct jr_runner *runner;
    struct jr_pmi pmi;
    struct jr_mpi_stream *streams;   /* of all ranks; NULL: none is served */
    uint32_t initialized;            /* inits so far */
    bool others;                     /* a rank of another node has */
    bool opened;                     /* the barrier, a moment ago */
    bool told;                       /* that a failure ends it in spite of the spec */
    bool explained;                  /* why a second program has failed */
    struct jr_mpi_exchange exchange; /* with other nodes, by PMI-1 */
    struct jr_pmix pmix;             /* the server of PMIx; in its place */
    struct jr_watch events;          /* what that tells */
    bool starting;                   /* it does not serve yet */
    struct jr_timer ready;           /* when that has taken too long */
};

extern const struct jr_runner_policy jr_mpi_world_policy;

/* Serve a rank over `fd`, our end of its stream, which does not block; -1:
 * there is none. Returns 0, or -1 with errno. */
int jr_mpi_world_add(struct jr_rank_run *rank, int fd);

/* Whether ranks may start: there is a manager for them, or none is needed. */
bool jr_mpi_world_is_ready(const struct jr_runner *runner);

/* Whether the others cannot go on without a rank that has failed: one of them
 * has initialized, and it has not finalized. That ends the run, whatever
 * `on_failure` says. */
bool jr_mpi_world_needs(const struct jr_rank_run *rank);

/* Tell of a rank whose failure ends the run where `on_failure` is `continue`. Once. */
void jr_mpi_world_tell_end(struct jr_rank_run *rank);

/* What a rank does in MPI, as its process manager tells: `i` is its place among those of the runner
 * `owner`. */
void jr_mpi_world_initialized(void *owner, uint32_t i);
/* The same: MPI_Finalize. */
void jr_mpi_world_finalized(void *owner, uint32_t i);
/* The same: MPI_Abort with that code, or an error within MPI. */
void jr_mpi_world_aborted(void *owner, uint32_t i, int code);
/* The same: it broke the protocol, in words of `why`. */
void jr_mpi_world_broken(void *owner, uint32_t i, const char *why);
/* The same: all ranks here are in the barrier. */
void jr_mpi_world_synchronized(void *owner);
/* The same: it asked for more processes, and was refused. */
void jr_mpi_world_spawned(void *owner, uint32_t i);

/* The first rank of each of *ret_nodes nodes, and one more. Where one jobrun has all ranks they are
 * as of one node. To be freed; NULL without memory. */
uint32_t *jr_mpi_world_first(const struct jr_plan *plan, uint32_t *ret_nodes);

enum { JR_MPI_NAME = 128 }; /* bytes */

/* The name of the world to its process managers. */
void jr_mpi_world_name(char ret[JR_MPI_NAME], const struct jr_plan *plan);

/* Warn of a rank on the console: `what` follows its number. */
void jr_mpi_world_warn(struct jr_rank_run *rank, const char *what);

/* No rank can go on, for this reason, which the record tells: stop the run. */
void jr_mpi_world_break(struct jr_runner *runner, const char *why);

/* A rank of some node has called MPI_Init. */
void jr_mpi_world_note_others(struct jr_runner *runner);

#endif
