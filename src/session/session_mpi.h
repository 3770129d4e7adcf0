/* How the ranks of a session become one world of MPI: what the spec states, or
 * what its program needs. */
#ifndef JR_SESSION_MPI_H
#define JR_SESSION_MPI_H

#include "session/session.h"

/* Fill session->mpi once, before the first plan. What the spec states and this
 * session cannot do is an error (JR_STATUS_UNRESOLVED); what the program would
 * need, and does not get, is a warning. */
enum jr_status jr_session_find_mpi(struct jr_session *session);

#endif
