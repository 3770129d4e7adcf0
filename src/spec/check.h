/* The fields of a spec against each other, where the spec alone decides. What the rules share; each
 * check_*.h has some. Private to this folder. */
#ifndef JR_CHECK_H
#define JR_CHECK_H

#include "spec/internal.h"

/* What the rules look at. Fields that were wrong are not in `tree`, so no rule complains about them
 * again. */
struct jr_check {
    struct jr_lint *lint;
    const struct jr_node *root; /* as read */
    const struct jr_node *tree; /* in normal form */
    char **secrets;             /* globs; for check_secrets.h */
    size_t secrets_count;
};

/* Run the table of rules. */
void jr_check_spec(struct jr_lint *lint, const struct jr_node *root, const struct jr_node *tree);

/* A rule: reports each contradiction that it finds. */
typedef void jr_check_rule(const struct jr_check *check);

/* A stated number; `node` is NULL when the spec has none there. */
struct jr_stated {
    const struct jr_node *node;
    uint64_t value;
};

/* The number that the spec states at `path`. */
struct jr_stated jr_check_number(const struct jr_check *check, const char *path);

/* How many of something there are, as the spec alone decides it. */
struct jr_known {
    const struct jr_node *node; /* what to point at; NULL: it decides nothing */
    uint64_t value;
    const char *said; /* "nodes 2 x local_world_size 4" */
    bool told;        /* the value may be told: no ${...} had a part in it */
};

struct jr_sizes {
    struct jr_known world, nodes;
    struct jr_known local;      /* of the largest node */
    const struct jr_node *list; /* local_world_size, one entry per node; NULL */
};

/* The sizes that the spec states, or that follow from those that it does. check.c */
struct jr_sizes jr_check_known(const struct jr_check *check);

/* `hosts`, where it has an entry for each node; NULL: it is not stated, or has
 * those of a sweep over ssh (jr_spec_pools_hosts). check.c */
const struct jr_node *jr_check_node_hosts(const struct jr_check *check);

/* "8 ranks", or in words where the number may not be told. check.c */
const char *jr_check_amount(const struct jr_check *check, const struct jr_known *known,
                            const char *what);

/* The most ranks that a node may have: local_world_size, or else as many as the job has. check.c */
const struct jr_known *jr_check_most(const struct jr_sizes *sizes);

/* Words for the same: "a node has 4 local ranks". In the document's arena; "" if memory runs
 * out. */
const char *jr_check_say_most(const struct jr_check *check, const struct jr_sizes *sizes);

/* Whether a field is stated but its value is not known: it is wrong, or comes from outside.
 * check.c */
bool jr_check_is_open(const struct jr_check *check, const char *path);

/* What the spec says at a path, be it wrong; NULL: nothing. */
const struct jr_node *jr_check_raw(const struct jr_check *check, const char *path);

/* A stated text, or NULL. */
const char *jr_check_text(const struct jr_check *check, const char *path);

/* A contradiction at `at` (of the field `path`) with what `other` states. */
struct jr_diag *jr_check_clash(const struct jr_check *check, enum jr_diag_code code,
                               const struct jr_node *at, const struct jr_node *other,
                               const char *format, ...) __attribute__((format(printf, 5, 6)));

#endif
