/* The run in results.json: every key but `ranks`, one a line. */
#ifndef JR_RESULTS_RUN_H
#define JR_RESULTS_RUN_H

#include "record/results_table.h"

/* Append the keys before `ranks`, one a line. */
void jr_results_put_run(struct jr_buf *out, const struct jr_results_run *run);

/* Read the keys of the run. */
void jr_results_get_run(struct jr_loaded_run *loaded, const json_t *object);

/* The rows of the run. */
const struct jr_results_row *jr_results_rows(size_t *ret_count);

/* Append schemas/results-v1.schema.json, from all tables. */
void jr_schema_results(struct jr_buf *out);

#endif
