/* Where the files lie with which jobrun runs Python and libraries. */
#ifndef JR_SUPPORT_H
#define JR_SUPPORT_H

#include "arena.h"

/* The folder, absolute, in `arena`: `support` beside this program, as it is
 * built, or ../libexec/jobrun, as it is installed. NULL where there is none. */
const char *jr_support_find(struct jr_arena *arena);

#endif
