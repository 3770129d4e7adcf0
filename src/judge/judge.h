/*
 * What the files of this folder share. Not for other layers.
 *
 * A judge is one pass over one outcome: judge.c is what it works with,
 * judgement.c makes the pass, cause.c sorts the ranks by how they ended,
 * results.c and pattern.c (over log_scan.c) find what those that ended well
 * delivered, fields.c, compare_ranks.c and artifacts.c hold it to the spec.
 */
#ifndef JR_JUDGE_H
#define JR_JUDGE_H

#include <sys/stat.h>

#include "base/rank_set.h"
#include "base/regex.h"
#include "judge/judgement.h"

/* A result file that was opened. */
struct jr_seen {
    uint64_t dev, ino;
    size_t i; /* whose it is */
};

struct jr_judge {
    struct jr_judgement *report;
    const struct jr_plan *plan;
    const struct jr_outcome *outcome;
    const struct jr_artifacts *before; /* NULL: nothing is remembered */
    const struct jr_results *wants;
    struct jr_set required;
    struct jr_regex *pattern;        /* of results.pattern; NULL: none */
    struct jr_regex **field_pattern; /* one per field; NULL entries */
    json_t **field_enums;            /* arrays, one per field; NULL entries */
    uint64_t limit;                  /* bytes of a result */
    const char *limit_text;
    struct jr_seen *seen; /* room for one of each rank */
    size_t seen_count;
    size_t last_rank; /* see artifacts.c */
    bool *common;     /* artifacts, which are the job's */
    int run_fd;
    bool comparing; /* faults are between ranks now */
};

/* The plan's view of rank `i` of the outcome. */
static inline const struct jr_plan_rank *jr_plan_of(const struct jr_plan *plan,
                                                    size_t i)
{
    return &plan->ranks[plan->first + i];
}

/* Make the patterns and enums of the spec ready; fails on one that the spec
 * should not have let through. Release in any case. */
int jr_judge_init(struct jr_judge *judge, struct jr_error *err);
void jr_judge_release(struct jr_judge *judge);

/* A pattern for a log, where ^ and $ match at lines; one that begins with a
 * verb of its own (*...) stays as it is. NULL with `err`. */
struct jr_regex *jr_judge_regex(const char *pattern, struct jr_error *err);

/* Whether rank `i` of the outcome must deliver. */
bool jr_judge_required(const struct jr_judge *judge, size_t i);

/* Note why rank `i` did not deliver; the first reason stays. Does nothing when
 * the spec states no results. */
void jr_judge_fault(struct jr_judge *judge, size_t i,
                    enum jr_result_error error, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* cause.c: the state of every rank by how it ended, and the root cause: the
 * first of the ranks that failed by themselves and those that cannot be told
 * apart from it. */
void jr_cause_find(struct jr_judge *judge);

/* results.c: find and parse what rank `i` delivered. */
void jr_result_find(struct jr_judge *judge, size_t i);

/* Note that the file of rank `i` is `st`; and once all are: no file is the
 * result of two ranks. */
void jr_judge_see(struct jr_judge *judge, size_t i, const struct stat *st);
void jr_result_part(struct jr_judge *judge);

/* What reasons call a file: its last component when it lies in the run folder,
 * the whole path elsewhere. */
const char *jr_result_name(const char *path);

/* What reasons call the place that rank `i` delivers to: "result.json". */
const char *jr_result_source(const struct jr_judge *judge, size_t i);

/* pattern.c: an object of the named groups of the last match in the log
 * `path`, or NULL with the rank's fault noted. Memory is bounded: a match may
 * be 64 KiB long. `^` and `$` match at lines. */
json_t *jr_pattern_find(struct jr_judge *judge, size_t i, const char *path);

/* Whether the log `path` holds a match of `pattern`; NULL is no log. */
bool jr_pattern_holds(const char *pattern, int run_fd, const char *path);

/* fields.c: hold the result of rank `i` to `fields`. */
void jr_judge_fields(struct jr_judge *judge, size_t i);

/* A value as reasons quote it: compact JSON, cut at 60 bytes; a number in the
 * fewest digits that read back as itself. */
void jr_judge_quote(struct jr_buf *out, const json_t *value);

/* compare_ranks.c: hold all ranks' results to `equal` and `distinct`. */
void jr_compare(struct jr_judge *judge);

/* The same once more, over ranks that have been compared in parts: what that
 * found is forgotten. */
void jr_compare_again(struct jr_judge *judge);

/* Whether two values are the same there: 1 is 1.0, the order of keys is none.
 */
bool jr_judge_equal(const json_t *a, const json_t *b);

/* artifacts.c: hold rank `i` to `artifacts`; and whether its result file, where
 * that lies outside the run folder, is the one from before the start. */
void jr_artifact_open(struct jr_judge *judge);
void jr_artifact_check(struct jr_judge *judge, size_t i);
bool jr_artifact_stale_result(const struct jr_judge *judge, size_t i,
                              const struct stat *now);

#endif
