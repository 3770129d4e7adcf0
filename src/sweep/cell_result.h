/* What a cell delivered, as one value for each field of its ranks' results. */
#ifndef JR_CELL_RESULT_H
#define JR_CELL_RESULT_H

#include "base/json.h"
#include "spec/sweep_axes.h"

/* The fields of all ranks of a results.json: the value that they have in
 * common; of numbers that differ an object of mean, min, max and first; null
 * for what else differs. NULL: no rank has a result that counts. The caller's.
 */
json_t *jr_cell_result(const json_t *results);

/* The number by which a cell is compared; false: its result has none. */
bool jr_cell_result_number(const json_t *result, const struct jr_sweep_best *best, double *ret);

/* Append a value for people: "0.962", or "0.91 .. 0.97". */
void jr_cell_result_text(struct jr_buf *out, const json_t *value);

#endif
