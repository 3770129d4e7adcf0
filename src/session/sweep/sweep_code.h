/*
 * The code that the cells of a sweep execute: git is asked once for all of them, and again only
 * where a file has changed since. By the names of trees those cells are known that ran with other
 * code than there is now.
 */
#ifndef JR_SWEEP_CODE_H
#define JR_SWEEP_CODE_H

#include "session/session_code.h"

struct jr_sweep_run;

struct jr_sweep_code {
    struct jr_session *session; /* of the first cell, which is not run */
    struct jr_known_code known;
    char tree[JR_GIT_HASH];      /* the name, as it was at last; "": not known */
    uint64_t looked_ns, wait_ns; /* for changes; after a question, for the next
                                    one */
};

/* Ask for the first time; the folder of the sweep is there. Where the first cell is in no work
 * tree, or its code cannot be recorded, nothing is known. */
void jr_sweep_code_open(struct jr_sweep_run *run);

/* A cell is about to begin: ask again if files have changed, and if the last time is long enough
 * ago. */
void jr_sweep_code_renew(struct jr_sweep_run *run);

/* Free it. */
void jr_sweep_code_close(struct jr_sweep_run *run);

/* Whether the cell ran with other code than there is now, as far as both are known. */
bool jr_sweep_code_differs(const struct jr_sweep_run *run, size_t cell);

#endif
