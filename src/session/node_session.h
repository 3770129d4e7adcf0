/* A session on one node of an allocation: the side of the agent there. */
#ifndef JR_NODE_SESSION_H
#define JR_NODE_SESSION_H

#include <jobrun/error.h>

/* Be the agent of this node, which srun has started, to the end of standard
 * input. Returns the exit status, and tells in `err`. */
int jr_session_serve(char *const *envp, struct jr_error *err);

#endif
