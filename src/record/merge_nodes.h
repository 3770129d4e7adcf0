/* How the files of a run's parts become one; see multinode.h. */
#ifndef JR_MERGE_NODES_H
#define JR_MERGE_NODES_H

#include "judge/judge.h"
#include "judge/judgement.h"
#include "record/multinode.h"
#include "record/timeline.h"

/* A part that has been read. */
struct jr_part {
    uint32_t node;
    const char *standing;  /* "finished", "running", "elsewhere", "lost" */
    json_t *run, *results; /* results: NULL while there are none */
    enum jr_run_status status;
};

/* All parts that are here. */
struct jr_node_parts {
    int fd;
    struct jr_part *items;
    size_t count;
    uint32_t nodes, world; /* of the whole */
};

/* Make results.json out of those of the parts; NULL where there is none. With
 * `head` the ranks may be left out. */
json_t *jr_merge_results(int fd, const struct jr_multinode *parts, bool head);

/* The same of plan.json. */
json_t *jr_merge_plan(int fd, const struct jr_multinode *parts, bool head);

/* The state of each node, a list of {node_rank, host, pid, status, exit_code, cause, part,
 * fingerprint, world_size, nodes, ranks}. `status` is a word of the contract, or running,
 * elsewhere, lost, or absent; the last four are what its run.json says. */
json_t *jr_multinode_nodes(int fd, const struct jr_multinode *parts);

/* The events of all nodes, merged by their wall clocks. */
void jr_multinode_timeline(struct jr_timeline *ret, int fd);

#endif
