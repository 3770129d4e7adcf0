/* A rank in results.json: who it was, what became of its process (store/outcome_codec.c), and what
 * it delivered. */
#ifndef JR_RESULTS_RANK_H
#define JR_RESULTS_RANK_H

#include "record/results_table.h"

/* Append a rank's object. */
void jr_results_put_rank(struct jr_buf *out, const struct jr_results_rank *rank);

/* Read it into all three values at `i`, whose strings are the object's. */
void jr_results_get_rank(struct jr_loaded_run *loaded, size_t i, const json_t *object);

/* The schema of a rank's object. */
json_t *jr_results_rank_schema(void);

/* The keys whose values are paths in the run folder, NULL-terminated. */
const char *jr_results_path(size_t i);

#endif
