/*
 * What the nodes of a session are, as their agents have told it: read of each, and taken together
 * for those of the session.
 */
#ifndef JR_NODE_FACTS_H
#define JR_NODE_FACTS_H

#include <stdint.h>

#include <jobrun/error.h>

struct jr_arena;
struct jr_host;
struct jr_session;

/* "node 1 (gpu02)", as long as the session lives. */
const char *jr_session_node_name(struct jr_session *session, uint32_t node);

/* The facts of a node, as its agent has told them, in `arena`. -1 with `err`:
 * they cannot be believed, or its clock is too far off. */
int jr_session_read_node(struct jr_session *session, uint32_t node, struct jr_host *ret,
                         struct jr_arena *arena, struct jr_error *err);

/* Take the facts of all nodes together for those of the session. -1 with `err`.
 */
int jr_session_join_nodes(struct jr_session *session, uint32_t nodes, struct jr_error *err);

/* A clock with a larger error than the first is told of; one with an error that Slurm's own
 * credentials do not tolerate (munge.conf(5): ttl) is refused. */
#define JR_CLOCK_TOLD_NS (UINT64_C(10) * 1000000000)
#define JR_CLOCK_MOST_NS (UINT64_C(300) * 1000000000)

#endif
