/* A session on one node of an allocation: the side of the agent there. */
#ifndef JR_NODE_SESSION_H
#define JR_NODE_SESSION_H

#include <stdbool.h>

#include <jobrun/error.h>

/* Be the agent of this node to the end of standard input: as srun has started it, or, where it is
 * `assigned`, as the first message there says. Returns the exit status, and tells in `err`. */
int jr_session_serve(char *const *envp, bool assigned, struct jr_error *err);

#endif
