/* The fields of a spec against each other, where the spec alone decides.
 * Private to this folder. */
#ifndef JR_CHECK_H
#define JR_CHECK_H

#include "spec/lint.h"

/* What the rules look at. Fields that were wrong are not in `tree`, so no rule
 * complains about them again. */
struct jr_check {
    struct jr_lint *lint;
    const struct jr_node *root; /* as read */
    const struct jr_node *tree; /* in normal form */
    char **secrets;             /* globs; for check_secrets.c */
    size_t secrets_count;
};

/* Run the table of rules. */
void jr_check_spec(struct jr_lint *lint, const struct jr_node *root,
                   const struct jr_node *tree);

typedef void jr_check_rule(const struct jr_check *check);

jr_check_rule jr_check_forms, jr_check_calls;         /* check_entry.c */
jr_check_rule jr_check_start;                         /* check_entry.c */
jr_check_rule jr_check_sizes;                         /* check_sizes.c */
jr_check_rule jr_check_ranks;                         /* check_ranks.c */
jr_check_rule jr_check_places;                        /* check_ranks.c */
jr_check_rule jr_check_devices;                       /* check_devices.c */
jr_check_rule jr_check_source, jr_check_fields;       /* check_results.c */
jr_check_rule jr_check_comparisons, jr_check_capture; /* check_results.c */
jr_check_rule jr_check_shared;                        /* check_results.c */
jr_check_rule jr_check_secrets;                       /* check_secrets.c */
jr_check_rule jr_check_restart;                       /* check_failures.c */
jr_check_rule jr_check_silence;                       /* check_failures.c */

/* Complain at `at` where nothing keeps the stream, stdout or stderr, of some
 * rank in a file. check_results.c */
void jr_check_kept(const struct jr_check *check, const struct jr_node *at,
                   const char *stream);

/* Whether a rule of `redirects` or `tee` (NULL: not stated) takes the stream,
 * "out" or "err", of a local rank. */
bool jr_check_takes(const struct jr_check *check, const struct jr_node *rules,
                    const char *word, uint32_t rank);

/* A stated number; `node` is NULL when the spec has none there. */
struct jr_stated {
    const struct jr_node *node;
    uint64_t value;
};

/* The number that the spec states at `path`. */
struct jr_stated jr_check_number(const struct jr_check *check,
                                 const char *path);

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
struct jr_sizes jr_check_known(const struct jr_check *check); /* check.c */

/* "8 ranks", or in words where the number may not be told. check.c */
const char *jr_check_amount(const struct jr_check *check,
                            const struct jr_known *known, const char *what);

/* The most ranks that a node may have: local_world_size, or else as many as the
 * job has; and "a node has 4 local ranks". check.c */
const struct jr_known *jr_check_most(const struct jr_sizes *sizes);

/* Words for the same: "a node has 4 local ranks". In the document's arena. */
const char *jr_check_say_most(const struct jr_check *check,
                              const struct jr_sizes *sizes);

/* Whether a field is stated but its value is not known: it is wrong, or comes
 * from outside. check.c */
bool jr_check_is_open(const struct jr_check *check, const char *path);

/* What the spec says at a path, be it wrong; NULL: nothing. */
const struct jr_node *jr_check_raw(const struct jr_check *check,
                                   const char *path);

/* A stated text, or NULL. */
const char *jr_check_text(const struct jr_check *check, const char *path);

/* A contradiction at `at` (of the field `path`) with what `other` states. */
struct jr_diag *jr_check_clash(const struct jr_check *check,
                               enum jr_diag_code code, const struct jr_node *at,
                               const struct jr_node *other, const char *format,
                               ...) __attribute__((format(printf, 5, 6)));

#endif
