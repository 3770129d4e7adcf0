/* Signals and users by name, as people and records have them. */
#ifndef JR_NAMES_H
#define JR_NAMES_H

#include <sys/types.h>

#include "base/arena.h"
#include "base/buf.h"

#define JR_SIGNAL_NAME 24 /* bytes of a name */

/* Write the name of a signal: "SIGTERM", "SIGRTMIN+3", or "signal 99" for what is none. */
void jr_signal_name(char out[static JR_SIGNAL_NAME], int signal);

/* The number of the signal that has this name; 0 when none has. */
int jr_signal_of(const char *name);

/* The name of a user, in the arena; its number where it has no name (getpwuid_r(3)). NULL where
 * memory runs out. */
char *jr_user_name(struct jr_arena *arena, uid_t user);

/* Append the name of a user with its number, "bob (uid 1001)"; only the number where it has no
 * name. */
void jr_user_print(struct jr_buf *out, uid_t user);

#endif
