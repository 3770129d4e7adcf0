/* A run by its files alone: what it told, its results, its report as lines or as HTML (page.c),
 * where its logs are. */
#ifndef JR_SHOW_H
#define JR_SHOW_H

#include "base/arena.h"
#include "base/buf.h"
#include <jobrun/error.h>

struct jr_set;

/* Append what the run told at its end, or how it stands: of an attempt (NULL: of the one that
 * decided). */
int jr_record_show(struct jr_buf *out, const char *log_dir, const char *id, const uint32_t *attempt,
                   bool color, struct jr_error *err);

/* Append the results of an attempt (NULL: of the one that decided); of a run that has none what is
 * known of it (jr_live_results). */
int jr_record_results(struct jr_buf *out, const char *log_dir, const char *id,
                      const uint32_t *attempt, struct jr_error *err);

/* How a report is to be. */
struct jr_record_report_view {
    bool html;
    bool color;       /* of text */
    const char *base; /* of HTML: the run folder, from where the file will be */
    const char *name; /* of the run, as it can be typed; NULL: its id */
};

/* Append the report of a run that has results: the lines that it ended with, or one HTML file with
 * all that its folder says, which loads and runs nothing. */
int jr_record_report(struct jr_buf *out, const char *log_dir, const char *id,
                     const struct jr_record_report_view *look, struct jr_error *err);

/* The logs of one rank: paths relative to the run folder; NULL: none. */
struct jr_record_log {
    uint32_t rank;
    const char *out, *err;
    bool silent; /* nothing was written to one that is NULL for that */
};

struct jr_record_logs {
    struct jr_arena arena;
    struct jr_record_log *items; /* by rank */
    size_t count;
    bool finished; /* nothing will be added to them */
    char **ends;   /* the files, NULL-terminated, that are all there once it is
                      so, unless a jobrun is lost */
};

#define JR_RECORD_LOGS_INIT                                                                        \
    {                                                                                              \
        0                                                                                          \
    }

/* Where a run's logs are: by its results, or while it has none by its plan; of an attempt, or of
 * the last one there is (NULL). */
int jr_record_logs_load(struct jr_record_logs *ret, const char *log_dir, const char *id,
                        const uint32_t *attempt, struct jr_error *err);

/* Say why there are no logs of these ranks: the run has other ranks, or their output was not kept.
 * Always returns -1, with JR_STATUS_USAGE. */
int jr_record_logs_refuse(const struct jr_record_logs *logs, const struct jr_set *ranks,
                          struct jr_error *err);

/* Free the list. */
void jr_record_logs_release(struct jr_record_logs *logs);

#endif
