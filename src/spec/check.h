/* The fields of a spec against each other, where the spec alone decides.
 * Private to this folder. */
#ifndef JR_CHECK_H
#define JR_CHECK_H

#include "lint.h"

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
jr_check_rule jr_check_start;                         /* check_start.c */
jr_check_rule jr_check_sizes;                         /* check_sizes.c */
jr_check_rule jr_check_ranks;                         /* check_ranks.c */
jr_check_rule jr_check_source, jr_check_fields;       /* check_results.c */
jr_check_rule jr_check_comparisons, jr_check_capture; /* check_results.c */
jr_check_rule jr_check_secrets;                       /* check_secrets.c */
jr_check_rule jr_check_restart;                       /* restart.c */
jr_check_rule jr_check_silence;                       /* check_silence.c */

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
struct jr_stated jr_check_number(const struct jr_check *check,
                                 const char *path);

/* What the spec says at a path, be it wrong; NULL: nothing. */
const struct jr_node *jr_check_raw(const struct jr_check *check,
                                   const char *path);

/* A stated text, or NULL. */
const char *jr_check_text(const struct jr_check *check, const char *path);

/* A contradiction at `at` (of the field `path`) with what `other` states. */
struct jr_diag *jr_check_clash(const struct jr_check *check, unsigned code,
                               const struct jr_node *at,
                               const struct jr_node *other, const char *format,
                               ...) __attribute__((format(printf, 5, 6)));

#endif
