/*
 * A run of several nodes that had a jobrun each: RUN holds no record of its
 * own, but node_N of each node that wrote here, and each of those is a run
 * folder, judged by itself. What is asked of RUN is joined from them:
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
 * The nodes know nothing of each other. Whose failure was the first is told by
 * their wall clocks; what failed on others later is after the first failure. A
 * node that is not here has not begun, or has a log_dir of its own: the whole
 * is incomplete then.
 */
#ifndef JR_MULTINODE_H
#define JR_MULTINODE_H

#include "base/arena.h"
#include "base/json.h"
#include "record/timeline.h"

/* The nodes that have a part in the folder, ascending. None: it is no such
 * run, or is one that a single jobrun records. */
struct jr_multinode {
    uint32_t *nodes; /* by malloc(3); NULL: none */
    size_t count;
};

void jr_multinode_find(struct jr_multinode *ret, int fd);
void jr_multinode_release(struct jr_multinode *parts);

/* Whether there are any. */
bool jr_multinode_are(int fd);

/* The joined file; NULL where there is none, as for a run that goes on. With
 * `head` the ranks may be left out. */
json_t *jr_multinode_json(int fd, const char *name, bool head);

/* How each node stands, a list of {node_rank, host, pid, status, exit_code,
 * cause, part, fingerprint, world_size, nodes, ranks}. `status` is a word of
 * the contract, or running, elsewhere, lost, or absent; the last four are what
 * its run.json says. */
json_t *jr_multinode_nodes(int fd, const struct jr_multinode *parts);

/* Append that list as lines: those that did not succeed, a few of them, each
 * behind `before`. */
void jr_multinode_print(struct jr_buf *out, const json_t *nodes,
                        const char *before);

/* node_mismatch.c: whether the nodes of that list are not of one run: they
 * differ in its size, or their ranks overlap or, where all nodes are here,
 * leave some out. Then it is told in `ret`, which is empty before; else what is
 * left there means nothing. */
bool jr_multinode_torn(struct jr_buf *ret, const json_t *nodes);

/* How to tell what the nodes do not have in common. */
struct jr_multinode_look {
    const char *before;  /* each line */
    const char *run;     /* what commands that are offered call the run */
    const char *run_dir; /* LOG_DIR/ID */
    bool told;           /* the verdict has said that they are not of one run */
};

/* Append it, a line for each: nothing where they ran the same. */
void jr_multinode_unlike(struct jr_buf *out, const json_t *nodes,
                         const struct jr_multinode_look *look);

/* The events of all nodes, one behind the other by their wall clocks. */
void jr_multinode_timeline(struct jr_timeline *ret, int fd);

/* The ids by which the parts of the run `id` are known, "exp1/node_0"; only
 * `id` where it has none. Strings live in `arena`, whose failure is the only
 * one. */
struct jr_strv jr_multinode_ids(struct jr_arena *arena, const char *log_dir,
                                const char *id);

#endif
