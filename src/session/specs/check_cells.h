/* Checking a spec that is several: every cell of it. */
#ifndef JR_CHECK_CELLS_H
#define JR_CHECK_CELLS_H

#include "session/specs/check_specs.h"

struct jr_swept_words;

/* What is done with a cell that is valid in itself. */
typedef enum jr_status jr_cell_checker(struct jr_spec_checks *checks,
                                       struct jr_spec_file *cell,
                                       struct jr_diags *diags);

/* Load every cell of the sweep that `file` is, which is taken over, and have
 * `check` look at those that are valid. What is wrong with all of them is told
 * once; what is wrong with some names the first, and how many there are. The
 * lowest status, OK aside. */
enum jr_status jr_check_cells(struct jr_spec_checks *checks,
                              struct jr_spec_file *file,
                              const struct jr_swept_words *words,
                              jr_cell_checker *check);

#endif
