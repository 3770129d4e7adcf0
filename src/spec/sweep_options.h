/* --sweep PATH=A,B: an axis on the command line. Values end at commas outside
 * of brackets, braces and quotes, and are read as YAML; a single A..B is a
 * range. PATH may be several with commas, as in a spec. */
#ifndef JR_SWEEP_OPTIONS_H
#define JR_SWEEP_OPTIONS_H

/* The end of the value, or of PATH=VALUE, that begins at `text`: the comma before the next one,
 * outside of brackets, braces and quotes, or the end. sweep_axes.c */
const char *jr_sweep_value_end(const char *text);

#endif
