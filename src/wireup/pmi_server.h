/*
 * The process manager's side of PMI-1, for the ranks of one node. Where there are more nodes, each
 * has a server, whose barriers are fences of the exchange (exchange.h): at each of them, all
 * get what was put on any of them.
 *
 * PMI-1 is lines of text on a stream that each client has to its manager
 * (MPICH's src/pmi documents it): one request, one reply, at most. The server
 * is a value without descriptors: who has the streams hands in the bytes with
 * the process that wrote them (jr_pmi_take), and sends what is in the client's
 * `out`. A client that does not read has to be left alone until it does, which
 * bounds that buffer.
 *
 * Whatever a rank starts has its stream too. The process that says `init` has it until it says
 * `finalize`: what others write meanwhile is dropped, byte by byte; one that says `init` itself
 * would wait for a reply, and ends the client. Lines before `init` that are no requests are dropped
 * as well, for the program may be none of MPI's. After it, what is no line of PMI-1, or comes at
 * the wrong time, ends the client: it is heard no more.
 */
#ifndef JR_PMI_SERVER_H
#define JR_PMI_SERVER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"

/* What clients are told that they may write, in bytes with a NUL. */
enum {
    JR_PMI_NAME_MAX = 256,
    JR_PMI_KEY_MAX = 64,
    JR_PMI_VALUE_MAX = 1024,
    JR_PMI_LINE_MAX = JR_PMI_NAME_MAX + JR_PMI_KEY_MAX + JR_PMI_VALUE_MAX + 64
};

/* What one client may have in the store. */
#define JR_PMI_CLIENT_BYTES ((size_t)1 << 20)

enum jr_pmi_state {
    JR_PMI_ABSENT,    /* has not initialized */
    JR_PMI_INSIDE,    /* has initialized */
    JR_PMI_FINALIZED, /* and finalized; it may initialize again */
    JR_PMI_ABORTED,   /* aborted: it waits to be ended */
    JR_PMI_BROKEN     /* broke the protocol; it is not heard any more */
};

struct jr_pmi_client {
    enum jr_pmi_state state;
    pid_t owner;             /* the process that speaks; 0: whoever does next */
    pid_t stranger;          /* another process, which has written last */
    int said;                /* so many bytes of its line are those of `init`; -1: it is
                                another line */
    bool waiting;            /* it is in the barrier */
    bool spawning;           /* a request of many lines has begun */
    int64_t spawns, spawned; /* programs that it names, and that it has named */
    bool skipping;           /* the rest of a line is dropped */
    size_t stored;           /* bytes of the store that are its own */
    struct jr_buf line;      /* that has not ended yet */
    struct jr_buf out;       /* replies that have to be sent */
};

/* What is done when a client did something that more than it has to know. */
struct jr_pmi_hooks {
    void *owner;
    void (*initialized)(void *owner, uint32_t client);
    void (*finalized)(void *owner, uint32_t client);
    /* MPI_Abort, or an error within MPI itself: see jr_pmi_is_internal. */
    void (*aborted)(void *owner, uint32_t client, int code);
    /* It broke the protocol; `why` is static. */
    void (*broken)(void *owner, uint32_t client, const char *why);
    /* It asked for more processes, and was refused. */
    void (*spawned)(void *owner, uint32_t client);
    /* All clients here are in the barrier; jr_pmi_open_barrier lets them on. */
    void (*barrier)(void *owner);
};

/* What the clients of a process manager put, for all of them to get. */
struct jr_pmi_entry {
    char *key, *value;
    bool fresh; /* put since jr_pmi_store_take_fresh */
};

struct jr_pmi_store {
    void *places;                  /* of the entries, by key; of tsearch(3) */
    struct jr_pmi_entry **entries; /* in the order of their first put */
    size_t count, room;
    struct jr_pmi_entry **fresh; /* those that are */
    size_t fresh_count, fresh_room;
};

struct jr_pmi {
    struct jr_pmi_hooks hooks;
    uint32_t world_size;
    uint32_t waiting; /* clients in the barrier */
    char name[64];    /* of the store */
    struct jr_pmi_store store;
    struct jr_pmi_client *clients;
    uint32_t count; /* of clients */
};

/* A server for `count` clients, in a world of `world_size` ranks, whose store is called `name`,
 * without blanks. The hooks are copied; all of them have to be there. Returns 0, or -1 with
 * ENOMEM. */
int jr_pmi_open(struct jr_pmi *ret, const struct jr_pmi_hooks *hooks, uint32_t count,
                uint32_t world_size, const char *name);

/* Say on which node each rank is: `first` has the first rank of each of
 * `nodes`, and one more (PMI_process_mapping). A text that is longer than a
 * value may be is left out, and clients find out by themselves. Returns 0, or
 * -1 with ENOMEM. */
int jr_pmi_map(struct jr_pmi *pmi, uint32_t nodes, const uint32_t *first);

/* Append what clients here have put since the last call, for other nodes. */
void jr_pmi_take_fresh(struct jr_pmi *pmi, struct jr_buf *out);

/* Take what was put on any node, in the order of the nodes. False: it is none of that, or there is
 * no memory for it. */
bool jr_pmi_take_all(struct jr_pmi *pmi, const char *lines, size_t len);

/* Take bytes that the process `from` wrote to the stream of a client. */
void jr_pmi_take(struct jr_pmi *pmi, uint32_t client, pid_t from, const char *bytes, size_t len);

/* Let all who wait in the barrier go on. */
void jr_pmi_open_barrier(struct jr_pmi *pmi);

/* Whether the code of an abort is one that MPICH made of an error of its own, such as 739859215,
 * and not what a program gave to MPI_Abort. */
bool jr_pmi_is_internal(int code);

/* Free what it holds. */
void jr_pmi_release(struct jr_pmi *pmi);

#endif
