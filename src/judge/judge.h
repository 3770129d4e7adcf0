/*
 * A judge is one pass over one outcome: judge.c is what it works with, the reading of files that
 * ranks wrote among it, judgement.c makes the pass, cause.c sorts the ranks by how they ended,
 * failure_order.c says which failed first, results.c and pattern.c find what those that ended well
 * delivered, result_checks.c and artifacts.c hold it to the spec. What they call of each other is
 * in internal.h.
 */
#ifndef JR_JUDGE_H
#define JR_JUDGE_H

#include <stdint.h>
#include <sys/stat.h>

#include <jobrun/error.h>

#include "base/buf.h"
#include "base/rank_set.h"
#include "base/regex.h"
#include "judge/judgement.h"

/* A file that is a result or an artifact. */
struct jr_seen {
    uint64_t dev, ino;
    size_t i;             /* whose it is */
    const char *artifact; /* its path; NULL: it is a result */
};

struct jr_candidate;

struct jr_judge {
    struct jr_judgement *report;
    const struct jr_plan *plan;
    const struct jr_outcome *outcome;
    const struct jr_artifacts *before; /* NULL: nothing is remembered */
    json_t *const *deliveries;         /* see jr_left */
    bool apart;                        /* the same */
    const struct jr_results *wants;
    struct jr_set required;
    struct jr_regex *pattern;        /* of results.pattern; NULL: none */
    struct jr_regex **field_pattern; /* one per field; NULL entries */
    json_t **field_enums;            /* arrays, one per field; NULL entries */
    uint64_t limit;                  /* bytes of a result */
    const char *limit_text;
    struct jr_candidate *candidates; /* for the root cause, in room for all */
    size_t candidates_count;
    struct jr_seen *seen; /* in the report's arena */
    size_t seen_count;
    size_t last_rank; /* see artifacts.c */
    bool *common;     /* artifacts, which are the job's */
    int run_fd;
    bool comparing; /* faults are between ranks now */
};

/* The plan's view of rank `i` of the outcome. */
static inline const struct jr_plan_rank *jr_plan_of(const struct jr_plan *plan, size_t i)
{
    return &plan->ranks[plan->first + i];
}

/*
 * Reading the files that ranks have written, with the caution that this needs. A path that is not
 * absolute lies beneath the run folder and no component of it may be a link; nothing but a regular
 * file is opened, and opening never blocks.
 */

/* Open it for reading. Returns a descriptor, or -1 with `err` (its `sys` is ENOENT when there is no
 * such file). */
int jr_run_file_open(int run_fd, const char *path, struct jr_error *err);

/* Append the whole file, at most `limit` bytes: a larger one is refused by its size, before
 * anything is read. 0, or -1 with `err`. */
int jr_run_file_read(struct jr_buf *ret, int run_fd, const char *path, size_t limit,
                     struct jr_error *err);

/* Append the last lines, at most `lines` of them out of the last 16 KiB, as in the file but without
 * the final newline. Nothing on any error, or for a file outside the run folder. */
void jr_run_file_tail(struct jr_buf *ret, int run_fd, const char *path, unsigned lines);

#endif
