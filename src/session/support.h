/* Where this program and its files are. */
#ifndef JR_SUPPORT_H
#define JR_SUPPORT_H

#include <stdbool.h>

#include "base/arena.h"

/* The folder with the files of Python and library entrypoints, in `arena`: near the program, else
 * near the library. NULL: neither has it. */
const char *jr_support_find(struct jr_arena *arena);

/* The word that starts this program where the environment is `envp`, in
 * `arena`: "jobrun" if PATH finds it by that name, else its own path, so that
 * no other one is started. NULL if memory runs out. */
char *jr_support_program(struct jr_arena *arena, char *const *envp);

/* Whether the PATH of `envp` has a program `name`, as a rank's exec finds it.
 */
bool jr_support_has_program(const char *name, char *const *envp);

#endif
