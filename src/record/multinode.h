/*
 * A run of several nodes that had a jobrun each: RUN holds no record of its own, but node_N of each
 * node that wrote here, and each of those is a run folder, judged by itself. What is asked of RUN
 * is joined from them:
 *
 *   run.json      of the node that says how the run stands: one that runs on
 *                 this machine, else on another, else one that is lost; else
 *                 the first one. `part` is its folder; it has no fingerprint
 *                 where that of another node is another one
 *   results.json  once none of the nodes that are here goes on, and one has
 *                 results: all ranks that were judged, compared anew over all
 *                 nodes, and `nodes`, what became of each node
 *   plan.json     the ranks of the nodes that are here
 *
 * and of any other file the first node's. Paths begin with the part's folder.
 *
 * The nodes know nothing of each other. Their wall clocks decide whose
 * failure was the first; what failed on others later is after the first
 * failure. A node that is not here has not begun, or has a log_dir of its own:
 * the whole is incomplete then.
 */
#ifndef JR_MULTINODE_H
#define JR_MULTINODE_H

#include "base/arena.h"
#include "base/json.h"

/* The nodes that have a part in the folder, ascending. None: it is no such run, or is one that a
 * single jobrun records. */
struct jr_multinode {
    uint32_t *nodes; /* by malloc(3); NULL: none */
    size_t count;
};

/* Find them in the run folder `fd`. One whose number leaves out too many is passed over. */
void jr_multinode_find(struct jr_multinode *ret, int fd);

/* Free the list. */
void jr_multinode_release(struct jr_multinode *parts);

/* Whether there are any. */
bool jr_multinode_exists(int fd);

/* The joined file; NULL if there is none, as for a running job. With `head` the ranks may be left
 * out. */
json_t *jr_multinode_json(int fd, const char *name, bool head);

/* The ids by which the parts of the run `id` are known, "exp1/node_0"; only
 * `id` where it has none. Strings live in `arena`, whose failure is the only
 * one. */
struct jr_strv jr_multinode_ids(struct jr_arena *arena, const char *log_dir, const char *id);

/* The state of each node, a list of {node_rank, host, pid, status, exit_code, cause, part,
 * fingerprint, world_size, nodes, ranks}. `status` is a word of the contract, or running,
 * elsewhere, lost, or absent; the last four are what its run.json says. */
json_t *jr_multinode_nodes(int fd, const struct jr_multinode *parts);

/* Whether the nodes of that list are not of one run: they differ in its size, or their ranks
 * overlap or, where all nodes are here, leave some out, or they ran different experiments. If so,
 * the reason is appended to `ret`, which must be empty; otherwise its contents are undefined. */
bool jr_node_mismatch_find(struct jr_buf *ret, const json_t *nodes);

/* Append what they do not have in common, a line for each, that begins with `before`: nothing where
 * they ran the same. `run` is what commands that are offered call the run, `run_dir` its
 * LOG_DIR/ID. `verdict` is why the run is incomplete, which has been told; NULL: it is not. Of what
 * it has said, only the command that tells more. */
void jr_node_mismatch_print(struct jr_buf *out, const json_t *nodes, const char *before,
                            const char *run, const char *run_dir, const char *verdict);

struct jr_timeline;

/* The events of all nodes, merged by their wall clocks. */
void jr_multinode_timeline(struct jr_timeline *ret, int fd);

#endif
