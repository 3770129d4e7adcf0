/* Users, as people know them. */
#ifndef JR_USER_H
#define JR_USER_H

#include <sys/types.h>

#include "base/buf.h"

/* Append the name of a user with its number, "bob (uid 1001)"; only the number
 * where it has no name (getpwuid_r(3)). */
void jr_user_print(struct jr_buf *out, uid_t user);

#endif
