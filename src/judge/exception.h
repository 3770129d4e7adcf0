/*
 * A rank's error.json: the uncaught exception that ended it, as torch's
 * `record` writes it, with or without jobrun's `time_ns`.
 */
#ifndef JR_EXCEPTION_H
#define JR_EXCEPTION_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"

struct jr_exception {
    const char *what;   /* "ValueError: loss is NaN": one line */
    const char *where;  /* "train.py:88 in step", or NULL */
    const char *behind; /* what it was raised from, and that from...: "KeyError:
                           'lr', from OSError: gone"; NULL: nothing */
    uint64_t wall_ns;   /* when it was raised; 0: not stated */
    int64_t pid;        /* of the process that raised it, as it saw itself; 0:
                           not stated, as torch's own does not */
    bool lost_peer;     /* of a kind that only a lost peer causes, or raised
                           from one */
    bool start;         /* no code of the user's ran: the entrypoint could not
                           be called */
};

struct jr_rank_outcome;

/* Whether it is why the rank's entrypoint could not be called. */
bool jr_exception_is_start(const struct jr_exception *exception,
                           const struct jr_rank_outcome *rank);

/* Whether the rank itself raised it, and not a process that it started. A rank that has to return
 * (`returns`) states its pid. */
bool jr_exception_is_own(const struct jr_exception *exception, const struct jr_rank_outcome *rank,
                         bool returns);

enum jr_exception_found {
    JR_EXCEPTION_NONE, /* no such file, or an empty one */
    JR_EXCEPTION_READ,
    JR_EXCEPTION_FOREIGN /* torn, or nothing that torch or jobrun wrote */
};

/* Read `path` beneath `run_fd` into `arena`; NULL is no file. */
enum jr_exception_found jr_exception_read(struct jr_exception *ret, struct jr_arena *arena,
                                          int run_fd, const char *path);

#endif
