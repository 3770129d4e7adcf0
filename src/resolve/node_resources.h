/*
 * The resources of ranks: what each gets of its node. A resolved job has those of the node that it
 * was resolved for; the controller of several nodes has those of each node, as that node describes
 * them, for no other knows them.
 */
#ifndef JR_NODE_RESOURCES_H
#define JR_NODE_RESOURCES_H

#include "base/buf.h"
#include "resolve/job.h"

struct jr_resolution;

/* Those on a node, as far as they are known. */
const struct jr_node_resources *jr_node_resources_of(const struct jr_job *job, uint32_t node);

/* Append them as JSON: what there is none of is left out. */
void jr_node_resources_tell(struct jr_buf *out, const struct jr_node_resources *resources);

/* Read them, in `arena`. -1: it is something else. Without memory the arena has failed. */
int jr_node_resources_read(struct jr_node_resources *ret, struct jr_arena *arena, const char *text,
                           size_t len);

/* Store them in the job, one for each node: they live as long as it does.
 * Values of the resolved spec are changed to what holds for all nodes:
 * `devices` is `all` if they differ. */
void jr_node_resources_take(struct jr_resolution *resolution, struct jr_node_resources *each);

/* Whether nodes have other devices than the first. */
bool jr_node_resources_differ(const struct jr_job *job);

#endif
