/*
 * `top`: the ranks of a running job, one per line: what they do, how much
 * processor time and memory they take, how long they have been silent, and the
 * last thing that they said.
 */
#ifndef JR_TOP_H
#define JR_TOP_H

#include "base/rank_set.h"
#include "record/live_ranks.h"
#include "record/live_run.h"

struct jr_progress;
struct jr_top_row;

struct jr_top {
    struct jr_live_ranks live;
    struct jr_top_row *rows; /* one per rank of the live */
    size_t count;
    uint64_t looked_ns;           /* when; monotonic */
    uint64_t elapsed_ns;          /* of the run, at that time */
    struct jr_progress *progress; /* as progress.json had it; NULL: none */
};

/* By what the ranks are sorted: X(NAME, the key that says so, word). */
#define JR_TOP_SORTS(X)                                                                            \
    X(RANK, 'r', "rank")                                                                           \
    X(STATE, 't', "state")                                                                         \
    X(CPU, 'c', "CPU")                                                                             \
    X(MEMORY, 'm', "memory")                                                                       \
    X(SILENCE, 's', "silence")

#define JR_TOP_SORT_ENUM(name, key, word) JR_TOP_BY_##name,
enum jr_top_sort { JR_TOP_SORTS(JR_TOP_SORT_ENUM) JR_TOP_SORT_COUNT };

/* What of it is shown. */
struct jr_top_view {
    unsigned lines, columns; /* 0: all */
    bool keys;               /* the last line says which keys there are */
    bool chosen;             /* a sort was; else it is by rank where all ranks
                                fit, and by silence where they do not */
    bool reversed;
    enum jr_top_sort sort;
    size_t first; /* the row of the first rank that is shown */
    size_t page;  /* how many were shown last */
};

/* The run whose jobrun is the process `guard`; see jr_live_ranks_open. */
int jr_top_open(struct jr_top *ret, const char *log_dir, const char *id, int32_t guard,
                struct jr_error *err);

/* Close the files, and free. */
void jr_top_close(struct jr_top *top);

/* Look at the ranks; processor time is counted since the look before, for the first one since the
 * rank began. */
void jr_top_look(struct jr_top *top);

/* Append what was seen, in whole lines, of which none is wider than the view, and as many as it
 * has. Scrolling ends with the last rank. */
void jr_top_print(struct jr_buf *out, const struct jr_top *top, struct jr_top_view *view);

/* Change the view as the keys say that were typed: letters sort, and the same again sorts the other
 * way round; arrows, j, k, space, b, g and G scroll. False if one of them ends it. */
bool jr_top_type(struct jr_top_view *view, const char *keys, size_t len);

/*
 * The loop: the ranks of a run are looked at again and again, until the run has ended or the reader
 * has had enough. On a terminal they are drawn over each other, and keys sort and scroll; elsewhere
 * the tables are printed one below the other, less often, and nothing moves a cursor.
 */

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

/* The evidence of each rank of the set, as in hang.json: of a running job it is gathered now, by
 * two looks half a second apart; of another one, or of an attempt (NULL: the last, or the one that
 * continues), it is what was gathered when it hung. A new array, empty if there is none; NULL with
 * `err`. */
json_t *jr_stacks_of(const char *log_dir, const char *id, const struct jr_set *ranks,
                     const uint32_t *attempt, struct jr_error *err);

/* Append it for people. */
void jr_stacks_print(struct jr_buf *out, const json_t *stacks);

#endif
