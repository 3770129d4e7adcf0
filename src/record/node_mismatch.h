/* What the nodes of a run in parts do not have in common. */
#ifndef JR_NODE_MISMATCH_H
#define JR_NODE_MISMATCH_H

#include "record/multinode.h"

/* Whether the nodes of that list (jr_multinode_nodes) are not of one run: they
 * differ in its size, or their ranks overlap or, where all nodes are here,
 * leave some out, or they ran different experiments. If so, the reason is
 * appended to `ret`, which must be empty; otherwise its contents are undefined.
 */
bool jr_node_mismatch_find(struct jr_buf *ret, const json_t *nodes);

/* How to print what the nodes do not have in common. */
struct jr_node_mismatch_view {
    const char *before;  /* each line */
    const char *run;     /* what commands that are offered call the run */
    const char *run_dir; /* LOG_DIR/ID */
    const char *verdict; /* why the run is incomplete, which has been told;
                            NULL: it is not */
};

/* Append it, a line for each: nothing where they ran the same. Of what the verdict has said, only
 * the command that tells more. */
void jr_node_mismatch_print(struct jr_buf *out, const json_t *nodes,
                            const struct jr_node_mismatch_view *look);

/* Whether these results have fields that are compared over the ranks. */
bool jr_compare_nodes_asked(const json_t *results);

/* Compare them over all ranks of the joined results, as far as they are here:
 * who differs did not deliver, and where nothing graver is known, neither did
 * the run. */
void jr_compare_nodes_compare(json_t *joined);

#endif
