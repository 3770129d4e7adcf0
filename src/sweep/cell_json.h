/* A cell as an object of sweep.json: one table says what is written, and what the schema says of
 * it. */
#ifndef JR_CELL_JSON_H
#define JR_CELL_JSON_H

#include "sweep/sweep_file.h"

/* The object of cell `i`. The caller's. */
json_t *jr_cell_json(const struct jr_sweep_record *record, size_t i);

/* The status of such an object that was read; NULL: none that a cell has. */
const char *jr_cell_json_status(const json_t *cell);

/* The schema of such an object. The caller's. */
json_t *jr_cell_json_schema(void);

#endif
