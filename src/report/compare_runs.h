/* What became of two runs, side by side, and what a run came from. */
#ifndef JR_COMPARE_RUNS_H
#define JR_COMPARE_RUNS_H

#include "base/diff_table.h"
#include "record/record_folder.h"

/* The outcomes of two runs, side by side: status, cause, times, where and as which user they ran if
 * that differs, and each field that their ranks delivered (results.NAME). The parts of the rows are
 * "outcome", "result", "time" and "circumstance"; the last two say nothing of the experiment. */
int jr_record_compare(struct jr_diff_table *ret, const struct jr_run_place places[static 2],
                      struct jr_error *err);

/* What run.json says that a rerun needs. Strings live in the arena. */
struct jr_record_origin {
    const char *run_dir;     /* absolute; of a run in parts that of one */
    const char *log_dir;     /* absolute */
    const char *fingerprint; /* NULL: unknown */
    const char *spec_folder; /* of the spec as it was; NULL: unknown */
    bool local;              /* --local */
    bool any_devices;        /* its spec asked for any free devices */
    struct jr_trust trust;   /* whether it may be run by its word */
    const char *spec;        /* the text of resolved.yaml; NULL: there is none */
};

/* Read that of the run LOG_DIR/ID. -1 with `err`. */
int jr_record_origin(struct jr_record_origin *ret, struct jr_arena *arena, const char *log_dir,
                     const char *id, struct jr_error *err);

#endif
