/*
 * Ranks while they run: what each is doing, for `show --stacks`, and the loop of `top`. There the
 * ranks of a run are looked at again and again, until the run has ended or the reader has had
 * enough. On a terminal they are drawn over each other, and keys sort and scroll; elsewhere the
 * tables are printed one below the other, less often, and nothing moves a cursor.
 */
#ifndef JR_WATCH_RANKS_H
#define JR_WATCH_RANKS_H

#include "base/buf.h"
#include "base/json.h"
#include "base/rank_set.h"
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
int jr_watch_ranks(const struct jr_top_watch *watch, const struct jr_live *live, int *ret_signal,
                   struct jr_error *err);

/* Whose stacks `show --stacks` shows: what these ranks are doing, or were when the run hung. */
struct jr_stacks_view {
    const struct jr_set *ranks;
    const uint32_t *attempt; /* NULL: the last, or the one that continues */
};

/* The evidence of each rank of the set, as in hang.json: of a running job it is
 * gathered now, by two looks half a second apart; of another one it is what was
 * gathered when it hung. A new array, empty if there is none; NULL with `err`.
 */
json_t *jr_stacks_of(const char *log_dir, const char *id, const struct jr_stacks_view *view,
                     struct jr_error *err);

/* Append it for people. */
void jr_stacks_print(struct jr_buf *out, const json_t *stacks);

#endif
