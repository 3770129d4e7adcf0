/* The table of variables that schedulers set, by scheduler.h, and how each is used. */
#ifndef JR_VARIABLES_H
#define JR_VARIABLES_H

#include "host/scheduler/scheduler.h"

/* All rows, by system. */
const struct jr_variable *jr_variables(size_t *ret_count);

/* Use a row's value: fill the member of hw->scheduler that it is for, if that is blank. False when
 * the value cannot be read. */
bool jr_variable_use(struct jr_host_reader *probe, const struct jr_variable *row,
                     const char *value);

#endif
