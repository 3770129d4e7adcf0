/*
 * Help for what stands on the command line: a field that a help states in the words of a spec is
 * said as the option that states it.
 */
#ifndef JR_HELP_OPTIONS_H
#define JR_HELP_OPTIONS_H

#include "diag/diag.h"

/* In the findings from number `first` on that are about a word of the command line, write each
 * field with a value that their help tells to state ("restart: {max: 3}") as it is typed there (-s
 * restart.max=3). What holds "..." stays as it is. */
void jr_help_options(struct jr_diags *diags, size_t first);

#endif
