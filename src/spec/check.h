/* The fields of a spec against each other, where the spec alone decides.
 * Private to this folder, where it is the header of all check_*.c. */
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

/* A rule: reports each contradiction that it finds. */
typedef void jr_check_rule(const struct jr_check *check);

/* The entrypoint has one form, and only what that form takes. check_entry.c */
jr_check_rule jr_check_forms, jr_check_calls;
/* The start method suits the entrypoint. check_entry.c */
jr_check_rule jr_check_start;
/* The numbers of ranks and nodes agree with each other. check_sizes.c */
jr_check_rule jr_check_sizes;
/* The ranks, and then the nodes and local ranks, that are named are there.
 * check_ranks.c */
jr_check_rule jr_check_ranks, jr_check_places;
/* The kind, the list and the backends of devices agree. check_devices.c */
jr_check_rule jr_check_devices;
/* Results come from where they can, their fields can be met, and what is
 * compared are fields, each once. check_results.c */
jr_check_rule jr_check_source, jr_check_fields, jr_check_comparisons;
/* A stream that results are read from is kept, and no two ranks that deliver
 * share a file. check_results.c */
jr_check_rule jr_check_capture, jr_check_shared;
/* No secret is in the spec as a literal: warnings. check_secrets.c */
jr_check_rule jr_check_secrets;
/* The deadline comes before the end, and can be told from success.
 * check_failures.c */
jr_check_rule jr_check_deadline;
/* The exit status can say that the job is queued again, and the causes for it
 * can come. check_failures.c */
jr_check_rule jr_check_requeue;
/* Progress can be read as stated. check_failures.c */
jr_check_rule jr_check_progress;
/* Links are those of frozen code. check_entry.c */
jr_check_rule jr_check_code;
/* A restart, and a hang by silence, can happen. check_failures.c */
jr_check_rule jr_check_restart, jr_check_silence;
/* Entries of `vars` are read: warnings. check_shell_syntax.c */
jr_check_rule jr_check_vars;
/* Options of sbatch are known, with values of their form. sbatch_options.c */
jr_check_rule jr_check_engine;
/* The command is a program's, and no launcher's: warnings. check_command.c */
jr_check_rule jr_check_command;
/* No value has what only a shell would replace: warnings.
 * check_shell_syntax.c */
jr_check_rule jr_check_shell_syntax;

/* The globs of `secrets`; the default ones when the spec states none.
 * check_secrets.c */
struct jr_strv jr_check_secret_globs(const struct jr_check *check);

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

/* The sizes that the spec states, or that follow from those that it does.
 * check.c */
struct jr_sizes jr_check_known(const struct jr_check *check);

/* "8 ranks", or in words where the number may not be told. check.c */
const char *jr_check_amount(const struct jr_check *check,
                            const struct jr_known *known, const char *what);

/* The most ranks that a node may have: local_world_size, or else as many as the
 * job has. check.c */
const struct jr_known *jr_check_most(const struct jr_sizes *sizes);

/* Words for the same: "a node has 4 local ranks". In the document's arena; ""
 * if memory runs out. */
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
