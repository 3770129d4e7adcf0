/* What the files of this folder share: the keys of results.json, and the parts of a run. */
#ifndef JR_RECORD_INTERNAL_H
#define JR_RECORD_INTERNAL_H

#include "base/strv.h"
#include "record/load_results.h"

/* The root cause in results.json. */
struct jr_results_cause {
    enum jr_cause_kind kind; /* NONE: nothing went wrong */
    const char *host;        /* NULL: none */
    int64_t rank;            /* -1: no rank, but jobrun itself or time */
    int32_t exit_code;       /* -1: none */
    int32_t signal;          /* 0: none */
    const char *message;
    const uint32_t *together; /* ranks that cannot be told apart from it */
    size_t together_count;
};

/* The object, or null. The caller's. */
json_t *jr_results_cause_json(const struct jr_results_cause *cause);

/* Read it; `together` is of `arena`, the strings are the object's. */
void jr_results_cause_read(struct jr_results_cause *ret, struct jr_arena *arena,
                           const json_t *object);

/* The texts of a list, copied. */
struct jr_strv jr_results_texts(struct jr_arena *arena, const json_t *list);

/* Read the keys of the run but for the root cause, and `nodes`. */
void jr_results_read(struct jr_loaded_run *to, const json_t *object);

/* Read the object of a rank into all three values at `i`, whose strings are the object's. */
void jr_results_read_rank(struct jr_loaded_run *to, size_t i, const json_t *object);

/* Join the results of `count` parts, of which some may be NULL, by what their keys say of it. The
 * ranks are left out, and what multinode.c makes is null. The caller's. */
json_t *jr_results_join(const json_t *const *parts, size_t count, const json_t *decider);

/* The keys of a rank whose values are paths in the run folder, in order; NULL after the last. */
const char *jr_results_path(size_t i);

enum {
    JR_PART_NAME = 16, /* "node_1" */
    JR_PART_PATH = 64  /* and a file in it */
};

/* Make the path of the file `name` in the folder of a node's part. */
void jr_part_path(char ret[static JR_PART_PATH], uint32_t node, const char *name);

/* A file of one part; NULL where it is not there. With `head` the ranks may be left out. */
json_t *jr_node_part_json(int fd, uint32_t node, const char *name, bool head);

#endif
