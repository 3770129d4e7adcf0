/* One verdict for the nodes of a run in parts; see merge_verdict.c. */
#ifndef JR_MERGE_VERDICT_H
#define JR_MERGE_VERDICT_H

#include "record/merge_nodes.h"

/* How much a part decides about the whole; what is more goes first. */
enum jr_part_weight {
    JR_PART_WELL,
    JR_PART_YIELDED,
    JR_PART_INCOMPLETE,
    JR_PART_LOST,  /* its jobrun is gone */
    JR_PART_FAILED /* among these the first decides */
};

/* The weight of a part. */
enum jr_part_weight jr_part_weight_of(const struct jr_part *part);

/* The part that decides; NULL: all that are here did well. */
const struct jr_part *jr_merge_decider(const struct jr_node_parts *parts);

/* Put the verdict over the parts, and why, into the joined results; `nodes` are theirs, as
 * jr_multinode_nodes has them. */
void jr_merge_verdict(json_t *head, const struct jr_node_parts *parts,
                      const struct jr_part *decider, const json_t *nodes);

#endif
