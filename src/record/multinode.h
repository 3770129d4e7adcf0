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

/* The nodes that are not here are listed, too. A record that claims more of them than this is not
 * believed: whoever reads it would need the memory. */
#define JR_ABSENT_MOST 65536

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

enum {
    JR_PART_NAME = 16, /* "node_1" */
    JR_PART_PATH = 64  /* and a file in it */
};

/* Make the path of the file `name` in the folder of a node's part. */
void jr_part_path(char ret[static JR_PART_PATH], uint32_t node, const char *name);

/* A file of one part; NULL where it is not there. */
json_t *jr_node_part_json(int fd, uint32_t node, const char *name, bool head);

/* The state of the part whose record is `run`: "finished", or the one of
 * jr_record_folder_standing. */
const char *jr_part_standing(int fd, uint32_t node, const json_t *run);

/* Whether that record has the fingerprint, as far as it has one. */
bool jr_part_has_fingerprint(const json_t *run, const char *fingerprint);

#endif
