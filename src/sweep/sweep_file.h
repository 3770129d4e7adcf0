/* sweep.json: the axes, and each cell with its values and what became of it. */
#ifndef JR_SWEEP_FILE_H
#define JR_SWEEP_FILE_H

#include "base/json.h"
#include "spec/sweep_axes.h"
#include "sweep/cells.h"

#define JR_SWEEP_FILE  "sweep.json"
#define JR_SWEEP_CELLS "cells" /* the folder with those of the cells */

/* What may be said of a cell, and the class of that: an exit status, 0 where it delivered or has
 * none yet. X(word, class) */
#define JR_CELL_STATUSES(X)                                                                        \
    X("succeeded", 0)                                                                              \
    X("failed", JR_STATUS_FAILED)                                                                  \
    X("incomplete", JR_STATUS_INCOMPLETE)                                                          \
    X("timed_out", JR_STATUS_TIMEOUT)                                                              \
    X("hung", JR_STATUS_TIMEOUT)                                                                   \
    X("stopped", JR_STATUS_FAILED)                                                                 \
    X("launch_failed", JR_STATUS_LAUNCH)                                                           \
    X("yielded", JR_STATUS_YIELDED)                                                                \
    X("not_started", 0)                                                                            \
    X("running", 0)                                                                                \
    X("lost", JR_STATUS_LAUNCH)

/* What became of a cell. */
struct jr_cell_state {
    uint32_t number;      /* by which it is known, whatever becomes of the axes */
    const char *status;   /* a word of JR_CELL_STATUSES */
    char fingerprint[65]; /* of what ran; "": it did not */
    char code[72];        /* the name of the tree that it ran in; "": not known */
    const char *host;     /* that it runs or ran on; NULL: not known; borrowed */
    double seconds;
    json_t *result; /* jr_cell_result; NULL: none; owned */
};

/* The sweep as it is written. */
struct jr_sweep_record {
    const char *sweep_id, *name;
    const char *spec; /* the spec's file, absolute; NULL: it has none */
    const char *code; /* the name of the tree as it is now; "": not known */
    const struct jr_cells *cells;
    const struct jr_cell_state *states;
    bool submitted;       /* its cells are the tasks of a job array of Slurm's */
    const char *job;      /* the array, as sbatch prints it; NULL: not known yet */
    const int *exit_code; /* of the sweep; NULL: it has not ended, or nobody
                             leads it */
    const json_t *former; /* cells that the axes do not have any more, whose
                             numbers are taken: a list; NULL: there are none */
};

/* The name of a cell's folder: "0007". */
void jr_cell_folder(char ret[static 16], uint32_t number);

/* The class of a cell's status, by JR_CELL_STATUSES; 0 of any other word. */
int jr_cell_status_class(const char *status);

/* Append sweep.json; `drain` as elsewhere. */
void jr_sweep_record_json(struct jr_buf *out, const struct jr_sweep_record *record,
                          const struct jr_drain *drain);

/* Append schemas/sweep-v1.schema.json, from the tables of the writer. */
void jr_sweep_record_schema(struct jr_buf *out);

/* The index of the best of the cells, -1: none has the value. */
long jr_sweep_record_best(const struct jr_sweep_record *record);

/* What a cell delivered, as one value for each field of its ranks' results. */

/* The fields of all ranks of a results.json: the value that they have in
 * common; of numbers that differ an object of mean, min, max and first; null
 * for what else differs. NULL: no rank has a result that counts. The caller's.
 */
json_t *jr_cell_result(const json_t *results);

/* The number by which a cell is compared; false: its result has none. */
bool jr_cell_result_number(const json_t *result, const struct jr_sweep_best *best, double *ret);

/* Whether the result is the best so far; where there are `any` before it, the best of them has the
 * number *most, which becomes the result's. */
bool jr_cell_result_beats(const json_t *result, const struct jr_sweep_best *best, bool any,
                          double *most);

/* How cells are compared, as `best` of a sweep.json that was read has it; borrowed from that. */
struct jr_sweep_best jr_sweep_best_of(const json_t *best);

/* Append a value for people: "0.962", or "0.91 .. 0.97". */
void jr_cell_result_text(struct jr_buf *out, const json_t *value);

/* The status of a cell's object that was read; NULL: none that a cell has. */
const char *jr_cell_json_status(const json_t *cell);

#endif
