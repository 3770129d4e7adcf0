/* --sweep PATH=A,B: an axis on the command line. Values end at commas outside
 * of brackets, braces and quotes, and are read as YAML; a single A..B is a
 * range. PATH may be several with commas, as in a spec. */
#ifndef JR_SWEEP_OPTIONS_H
#define JR_SWEEP_OPTIONS_H

#include "spec/sweep_parts.h"

/* The end of the value, or of PATH=VALUE, that begins at `text`: the comma before the next one,
 * outside of brackets, braces and quotes, or the end. */
const char *jr_sweep_value_end(const char *text);

/* Add the axes of --sweep, which take the place of those of the spec that have the same paths. */
void jr_sweep_read_options(struct jr_sweep_reading *reading, char *const *sweeps,
                           const char *folder);

#endif
