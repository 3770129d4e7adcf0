/* Where the files of Python and library entrypoints are. */
#ifndef JR_SUPPORT_H
#define JR_SUPPORT_H

#include "session/session.h"

/* The folder with the files of Python and library entrypoints, in `arena`: near
 * the program, else near the library. NULL: neither has it. */
const char *jr_support_find(struct jr_arena *arena);

#endif
