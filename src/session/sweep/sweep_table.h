/* The cells of a sweep as a table: what its file says, flat, with the columns and the order that
 * were asked for. */
#ifndef JR_SWEEP_TABLE_H
#define JR_SWEEP_TABLE_H

#include "session/sweep/row_table.h"
#include "session/sweep/show_sweep.h"

struct jr_sweep_table {
    json_t *sweep; /* jr_load_sweep; owned */
    const char *log_dir, *id;
    struct jr_row_table rows; /* a name is "cell", "status", "seconds",
                                 "results.FIELD", or the path of an axis */
    json_t *fields;           /* the keys: the paths that cells have values of */
    const char *best_field;   /* its name in `rows`; NULL: there is none */
    bool best_is_max;
    json_int_t best; /* the number of the best cell; -1 */
};

/* Read LOG_DIR/ID, both borrowed. -1 with `err`. Close it in any case. */
int jr_sweep_table_open(struct jr_sweep_table *ret, const char *log_dir, const char *id,
                        enum jr_row_format format, struct jr_error *err);

/* Choose columns and order as the view says. -1 with `err`. */
int jr_sweep_table_arrange(struct jr_sweep_table *table, const struct jr_sweep_view *view,
                           struct jr_error *err);

/* Append "23 of 24 delivered, 1 failed". */
void jr_sweep_table_count(struct jr_buf *out, const struct jr_sweep_table *table);

/* Append why a cell failed, by the record in its folder; nothing where it says nothing, or where
 * `dir_fd` is -1. */
void jr_sweep_cell_reason(struct jr_buf *out, int dir_fd);

/* Append why a cell did not deliver, by its own record: "rank 0   RuntimeError:
 * ..." False, and nothing, where it did, or has not ended. */
bool jr_sweep_table_reason(struct jr_buf *out, const struct jr_sweep_table *table,
                           const json_t *row);

/* Free it. */
void jr_sweep_table_close(struct jr_sweep_table *table);

#endif
