/*
 * The loop of `top`: the ranks of a run are looked at again and again, until
 * the run has ended or the reader has had enough. On a terminal they are drawn
 * over each other, and keys sort and scroll; elsewhere the tables are printed
 * one below the other, less often, and nothing moves a cursor.
 */
#ifndef JR_WATCH_RANKS_H
#define JR_WATCH_RANKS_H

#include "record/live_run.h"

/* What `top` is asked for, and where it shows it. */
struct jr_top_watch {
    const char *log_dir, *id;
    int in, out;   /* descriptors */
    bool terminal; /* `out` is one on which the cursor can be moved */
    bool once;     /* print one table only */
};

/* Watch the run that `live` is about. Returns 0, or -1 if it cannot be read.
 * *ret_signal is 0, or the signal that ended it, for the caller to raise. */
int jr_watch_ranks(const struct jr_top_watch *watch, const struct jr_live *live,
                   int *ret_signal, struct jr_error *err);

#endif
