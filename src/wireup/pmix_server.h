/*
 * The process manager's side of PMIx (Open MPI), for the ranks of one node: the reference library's
 * server, in a process of its own. Where there are more nodes, the servers exchange what their
 * ranks have put (exchange.h).
 *
 * The library makes threads, allocates, logs and may crash. A runner that had it could not fork
 * safely any more, and would die with it. So the runner forks one process before it starts a rank;
 * that one loads the library, says by which variables ranks find it, and from then on tells what
 * ranks do, a message each. It ends with the runner, or when it is told to. Ranks reach it by the
 * library's own socket, on 127.0.0.1.
 */
#ifndef JR_PMIX_SERVER_H
#define JR_PMIX_SERVER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <jobrun/error.h>

#include "base/arena.h"
#include "base/strv.h"

enum jr_pmix_event_kind {
    JR_PMIX_READY,   /* `text`: NAME=VALUE entries for ranks, each with a NUL */
    JR_PMIX_REFUSED, /* there is no server; `text` says why */
    JR_PMIX_CONNECTED,
    JR_PMIX_FINISHED, /* it finalized */
    JR_PMIX_ABORTED,
    JR_PMIX_SPAWNED /* it asked for more processes, and was refused */
};

enum { JR_PMIX_TEXT_MAX = 32768 };

struct jr_pmix_event {
    enum jr_pmix_event_kind kind;
    uint32_t rank;
    int32_t code; /* of ABORTED */
    uint32_t len; /* bytes of the text */
};

struct jr_pmix_setup {
    const char *library; /* the path of the library */
    const char *name;    /* of the world, unlike any other's */
    const char *folder;  /* absolute: where the library may put files */
    char *const *env;    /* that the library sees, NULL-terminated */
    char *const *hosts;  /* the name of each node, unlike any other's */
    uint32_t nodes, node;
    const uint32_t *first; /* rank of each node, and one more */
    int exchange_fd;       /* a socket, for the exchange; -1: there is one node */
};

struct jr_pmix {
    pid_t pid;
    int fd;     /* its events; -1: there is no server */
    bool ready; /* it has said by which variables ranks find it */
    struct jr_arena arena;
    struct jr_strv env; /* variables that every rank has to have */
};

/* Start its process, which may take a while until it serves: see jr_pmix_take_start. Returns 0, or
 * -1 with `err` (JR_STATUS_LAUNCH). */
int jr_pmix_start(struct jr_pmix *ret, const struct jr_pmix_setup *setup, struct jr_error *err);

/* What `fd` tells first, once it can be read: whether it serves. Returns 0 when
 * `env` is there, 1 as long as it has not said so, and -1 with `err`
 * (JR_STATUS_LAUNCH), after which there is no server any more. */
int jr_pmix_take_start(struct jr_pmix *pmix, struct jr_error *err);

/* The next event, which has no text. False if there is none at the moment;
 * *ret_ended is whether the server is gone. */
bool jr_pmix_next(struct jr_pmix *pmix, struct jr_pmix_event *ret, bool *ret_ended);

/* Tell it to end, wait for that (SIGKILL follows after a second, and comes at once to one that does
 * not serve yet), and free what is known of it. */
void jr_pmix_end(struct jr_pmix *pmix);

#endif
