/* How the ranks of a session become one world of MPI: what the spec states, or what its program
 * needs. */
#ifndef JR_SESSION_MPI_H
#define JR_SESSION_MPI_H

#include "session/session.h"

/* Fill session->mpi once, before the first plan. What the spec states and this session cannot do is
 * an error (JR_STATUS_UNRESOLVED; without the library of PMIx JR_STATUS_LAUNCH), and so is a wish
 * that several libraries could mean; what the program would need, and does not get, is a
 * warning. */
enum jr_status jr_session_find_mpi(struct jr_session *session);

/* The word of a protocol: "pmi1". */
const char *jr_session_mpi_word(enum jr_mpi_protocol protocol);

/* The controller's: take what the agents have found in place of that. They have to agree. -1 with
 * `err`. */
int jr_session_take_node_worlds(struct jr_session *session, struct jr_error *err);

#endif
