/* Users, as people know them. */
#ifndef JR_USER_H
#define JR_USER_H

#include <sys/types.h>

#include "base/arena.h"
#include "base/buf.h"

/* The name of a user, in the arena; its number where it has no name
 * (getpwuid_r(3)). NULL where memory runs out. */
char *jr_user_name(struct jr_arena *arena, uid_t user);

/* Append the name of a user with its number, "bob (uid 1001)"; only the number
 * where it has no name. */
void jr_user_print(struct jr_buf *out, uid_t user);

#endif
