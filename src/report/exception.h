/*
 * A rank's error.json: the uncaught exception that ended it, as torch's
 * `record` writes it, with or without jobrun's `time_ns`.
 */
#ifndef JR_EXCEPTION_H
#define JR_EXCEPTION_H

#include <stdint.h>

#include "arena.h"

struct jr_exception {
    const char *what;  /* "ValueError: loss is NaN": one line */
    const char *where; /* "train.py:88 in step", or NULL */
    uint64_t wall_ns;  /* when it was raised; 0: not stated */
};

/* Read `path` beneath `run_fd` into `arena`. False when there is no such file,
 * or it is torn, or not of that form. */
bool jr_exception_read(struct jr_exception *ret, struct jr_arena *arena,
                       int run_fd, const char *path);

#endif
