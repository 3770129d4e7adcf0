/* How the files of a run's parts become one: what multinode.c and the files of
 * this name share. */
#ifndef JR_MERGE_NODES_H
#define JR_MERGE_NODES_H

#include "judge/judgement.h"
#include "judge/read_left.h"
#include "record/multinode.h"

enum {
    JR_PART_NAME = 16, /* "node_1" */
    JR_PART_PATH = 64  /* and a file in it */
};

void jr_part_path(char ret[static JR_PART_PATH], uint32_t node,
                  const char *name);

/* A file of one part; NULL where it is not there. */
json_t *jr_node_part_json(int fd, uint32_t node, const char *name, bool head);

/* How the part stands whose record is `run`: "finished", or as
 * jr_record_folder_standing has it. */
const char *jr_part_standing(int fd, uint32_t node, const json_t *run);

/* Whether that record has the fingerprint, as far as it has one. */
bool jr_part_ran_like(const json_t *run, const char *fingerprint);

/* A part that has been read. */
struct jr_part {
    uint32_t node;
    const char *standing;  /* "finished", "running", "elsewhere", "lost" */
    json_t *run, *results; /* results: NULL while there are none */
    enum jr_run_status status;
};

/* All parts that are here. */
struct jr_joining {
    int fd;
    struct jr_part *items;
    size_t count;
    uint32_t nodes, world; /* of the whole */
};

/* merge_verdict.c: how much a part says of the whole: 0, it did well; 1, it did
 * not deliver; 2, nobody knows; 3, it failed. The part that decides; NULL: all
 * that are here did well. And the verdict over the parts, and why, into the
 * joined results; `nodes` are theirs, as jr_multinode_nodes has them. */
int jr_part_weight(const struct jr_part *part);
const struct jr_part *jr_merge_decider(const struct jr_joining *parts);
void jr_merge_verdict(json_t *head, const struct jr_joining *parts,
                      const struct jr_part *decider, const json_t *nodes);

/* merge_nodes.c: see multinode.h. */
json_t *jr_merge_results(int fd, const struct jr_multinode *parts, bool head);
json_t *jr_merge_plan(int fd, const struct jr_multinode *parts, bool head);

/* compare_nodes.c: whether these results have fields that are compared over the
 * ranks; and to do so over all ranks of the joined results, as far as they are
 * here: who differs did not deliver, and where nothing graver is known, neither
 * did the run. */
bool jr_compare_nodes_asked(const json_t *results);
void jr_compare_nodes_compare(json_t *joined);

#endif
