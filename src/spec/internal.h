/*
 * What the files of this folder share.
 *
 * Reading a tree against the field table: all mistakes in one pass, and the tree in normal form. A
 * reader returns the node's normal form, or NULL after it has complained.
 *
 *   lint.c           a node of any type: mappings, lists; findings, and how they show values
 *   lint_value.c     scalars: numbers, words, texts, paths, durations, rank sets, patterns,
 *                    causes of a restart; values of JSON
 *   lint_template.c  %{rank} and ${...}
 *   lint_redirect.c  redirects and tee
 *   lint_unknown.c   a key that is not a field
 *   lint_suggest.c   what may have been meant by a value
 */
#ifndef JR_SPEC_INTERNAL_H
#define JR_SPEC_INTERNAL_H

#include <jobrun/spec.h>

#include "base/rank_set.h"
#include "base/setting_words.h"
#include "base/strv.h"
#include "doc/doc.h"
#include "doc/merge.h"
#include "doc/source_reader.h"
#include "spec/field.h"
#include "spec/load.h"
#include "spec/sweep_axes.h"

struct jr_regex;

/* The pattern of a type, compiled. */
struct jr_pattern {
    const struct jr_spec_type *type;
    struct jr_regex *regex; /* NULL: there was no memory for it */
};

struct jr_lint {
    struct jr_arena *arena; /* the document's */
    struct jr_diags *diags;
    const char *folder;          /* absolute: what paths are relative to */
    const char *here;            /* absolute: what a default below the user is */
    bool validate;               /* ??? is not known, which is no mistake ... */
    bool strict;                 /* ... and yet it is */
    bool composed;               /* null may be what is left of a removal */
    bool base;                   /* a template: required fields may be missing */
    bool cell;                   /* a cell of a sweep: %{cell} is known */
    bool pools;                  /* and its `hosts` are the sweep's */
    bool garbled;                /* a parent, --set or a ${...} was wrong: what is read,
                                    and what not, cannot be said */
    bool call;                   /* arguments are those of a function: any values */
    struct jr_pattern *compiled; /* those of text types, as they are needed */
    size_t compiled_count;
};

/* Read the whole document. Returns its normal form, without what was wrong; NULL when nothing can
 * be made of it. */
struct jr_node *jr_lint_spec(struct jr_lint *lint, const struct jr_node *root);

/* Free the compiled patterns. */
void jr_lint_release(struct jr_lint *lint);

/* Read a node of any type: its normal form, or NULL after a finding. */
struct jr_node *jr_lint_value(struct jr_lint *lint, const struct jr_spec_type *type,
                              const struct jr_node *node, const struct jr_node_step *at);

/* Whether a value is nothing: the null that is left of a removal where there was nothing to
 * remove. */
bool jr_lint_is_removed(const struct jr_lint *lint, const struct jr_node *node);

/* Reads a node of its kind, a scalar but for those of lists, mappings, streams and values: its
 * normal form, or NULL after a finding. */
typedef struct jr_node *jr_reader(struct jr_lint *lint, const struct jr_spec_type *type,
                                  const struct jr_node *node, const struct jr_node_step *at);

/* The reader of nodes of this kind that nothing was put into; NULL for none. */
jr_reader *jr_lint_reader(enum jr_spec_kind kind);

/* The readers of lint_value.c. */
jr_reader jr_read_integer, jr_read_number, jr_read_boolean, jr_read_text, jr_read_path,
    jr_read_word, jr_read_duration, jr_read_ranks, jr_read_pattern, jr_read_scalar;

/* Of redirects and tee, lint_redirect.c; of an argument of a function, lint_value.c. */
jr_reader jr_read_streams, jr_read_value;

/* Add a finding about the value at `at`, whose path it gets. */
struct jr_diag *jr_lint_error(struct jr_lint *lint, enum jr_diag_code code, struct jr_span span,
                              const struct jr_node_step *at, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

/* "'PATH' wants WANTS, not SHOWN" at the node. */
struct jr_diag *jr_lint_wrong(struct jr_lint *lint, const struct jr_spec_type *type,
                              const struct jr_node *node, const struct jr_node_step *at);

/* The dotted path of a step: "results.fields.loss", "hosts[2]"; "the spec" for NULL. In the lint's
 * arena, safe to show. */
const char *jr_lint_path(struct jr_lint *lint, const struct jr_node_step *at);

/* A node for people: 4x in quotes, `the string "4"`, "a list". */
const char *jr_lint_shown(struct jr_lint *lint, const struct jr_node *node);

/* What the source has for a scalar: its text, or the ${...} that made it. */
const char *jr_lint_source(const struct jr_node *node);

/* The same, made safe and short enough to show. */
const char *jr_lint_said(struct jr_lint *lint, const struct jr_node *node);

/* Text made safe and short enough to show, in quotes. */
const char *jr_lint_quoted(struct jr_lint *lint, const char *text, size_t len);

/* What is to be written for bytes [from, to) of what the source has for a scalar: `text` itself, or
 * the whole value in quotes where `text` needs some there, since no bare value begins with '%', nor
 * holds a brace within brackets; in an option, as a shell leaves it alone. */
const char *jr_lint_replaced(struct jr_lint *lint, const struct jr_node *node, size_t from,
                             size_t to, const char *text);

/* The scalar that a value repeats, however often it was handed on; or itself. */
const struct jr_node *jr_lint_origin(const struct jr_node *node);

/* Relate a finding to the origin of `node`, where that is another node. */
void jr_lint_relate_origin(struct jr_lint *lint, struct jr_diag *diag, const struct jr_node *node);

/* The position of bytes [from, to) of a scalar's text; the whole node where the text in the file is
 * not the text itself (folded lines, escapes). */
struct jr_span jr_lint_part(const struct jr_lint *lint, const struct jr_node *node, size_t from,
                            size_t to);

/* A scalar at the position of `from`: a new one, or `from` itself if it is already right, because
 * both trees are only read. */
struct jr_node *jr_lint_scalar(struct jr_lint *lint, const struct jr_node *from, const char *text,
                               bool plain);

/* lint_value.c */

/* Whether the text matches the type's pattern as a whole; true without one. */
bool jr_lint_fits(struct jr_lint *lint, const struct jr_spec_type *type, const char *text,
                  size_t len);

/* The canonical text of a rank set: "0-3,8,10-14/2". */
const char *jr_ranks_text(struct jr_lint *lint, const struct jr_set *set);

/* The time that a text is in words, as people write it elsewhere: 2 hours, 10min, 1.5h. False for
 * none. */
bool jr_lint_read_words(const char *text, uint64_t *ret_ms);

/* lint_template.c */

/* Read a scalar that contains ${...}: its normal form, or NULL after a finding. */
struct jr_node *jr_lint_filled(struct jr_lint *lint, const struct jr_spec_type *type,
                               const struct jr_node *node, const struct jr_node_step *at);

/* Complain about what a template gets wrong; whether it is good. */
bool jr_read_template(struct jr_lint *lint, const struct jr_node *node,
                      const struct jr_node_step *at);

/* lint_unknown.c */

/* Refuse the key of a pair of `mapping`, which none of `fields` has, with the name of the field
 * that was meant, and the fix where that is sure. */
void jr_lint_unknown(struct jr_lint *lint, const struct jr_spec_field *fields,
                     const struct jr_node *mapping, const struct jr_pair *pair,
                     const struct jr_node_step *at);

/* The name of the spec's `vars` that is meant by a bare one; NULL: none. */
const char *jr_lint_near_variable(const struct jr_node *spec, const char *name);

/* lint_suggest.c */

/* The text of a type's words, NULL-terminated, for suggestions. */
const char *const *jr_did_you_mean_list(struct jr_lint *lint, const struct jr_spec_word *words);

/* The word that a text may have been meant for, and whether nothing else can be meant; NULL for
 * none. */
const char *jr_lint_near_word(const char *text, const char *const *words, bool *ret_sure);

/* "help: did you mean 'X'?" when `words` holds a near one, with the fix where it is the only
 * one. */
void jr_lint_suggest(struct jr_lint *lint, struct jr_diag *diag, const struct jr_node *node,
                     const char *const *words);

/* Help for a value of another kind than is wanted, and for a text that is none of its type. */
void jr_lint_suggest_kind(struct jr_lint *lint, struct jr_diag *diag,
                          const struct jr_spec_type *type, const struct jr_node *node,
                          const struct jr_node_step *at);
void jr_lint_suggest_text(struct jr_lint *lint, struct jr_diag *diag,
                          const struct jr_spec_type *type, const struct jr_node *node,
                          const struct jr_node_step *at);

/* The signal that a text may have been meant for, as jobrun writes it: "TERM" of SIGTERM, sigterm
 * and 15. NULL for none. */
const char *jr_lint_signal_name(struct jr_lint *lint, const char *text);

/* Whether a text says that there is no limit: -1, inf, none, unlimited. */
bool jr_lint_is_endless(const char *text);

/* Whether a text is a word that needs no quotes anywhere. */
bool jr_lint_is_bare(const char *text);

/* The words of a text as those of a list, "a, b", in quotes if it was (JSON stays JSON), in the
 * arena; or NULL where only a shell could tell them apart. */
const char *jr_lint_word_list(struct jr_lint *lint, const char *text, bool quoted);

/* A plain scalar in typographic quotes as it was meant: in quotes of YAML. NULL for any other. */
const char *jr_lint_typed(struct jr_lint *lint, const struct jr_node *node);

/* Warn of typographic marks in a scalar that was read without complaint. */
void jr_lint_typography(struct jr_lint *lint, const struct jr_node *node,
                        const struct jr_node_step *at);

/* Give the finding a fix that replaces the scalar `node`, quotes and all (a NULL text is no fix),
 * or its text within them. Neither is done if it might change more than the mistake: if the source
 * differs from its text, or if it has an anchor. */
void jr_lint_fix(struct jr_lint *lint, struct jr_diag *diag, const struct jr_node *node,
                 const char *text);
void jr_lint_fix_text(struct jr_lint *lint, struct jr_diag *diag, const struct jr_node *node,
                      const char *text);

/* Report that a quoted scalar would be right without its quotes, and remove them if possible. */
void jr_lint_unquote(struct jr_lint *lint, struct jr_diag *diag, const struct jr_node *node);

/* The rules hold the fields of a spec against each other, where the spec alone decides. check.c has
 * the table of them; each of the other files has some of the rules, and check_facts.c what they
 * ask. */

/* What names of variables in a shell are made of. */
#define JR_SHELL_NAME_BYTES "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"

/* The exit code that a shell gives of a program that a signal ended, less the signal; and the last
 * of these signals. */
enum { JR_SHELL_SIGNAL_BASE = 128, JR_SHELL_SIGNAL_LAST = 31 };

/* What the rules look at. Fields that were wrong are not in `tree`, so no rule complains about them
 * again. */
struct jr_check {
    struct jr_lint *lint;
    const struct jr_node *root; /* as read */
    const struct jr_node *tree; /* in normal form */
    struct jr_strv secrets;     /* globs */
};

/* Run the rules. */
void jr_check_spec(struct jr_lint *lint, const struct jr_node *root, const struct jr_node *tree);

/* A rule: reports each contradiction that it finds. */
typedef void jr_check_rule(const struct jr_check *check);

/* check_entry.c: the entrypoint has one form, and only what that form takes; the start method suits
 * it; links are those of frozen code; no variable is one that jobrun sets; the command is a
 * program's, and no launcher's. */
jr_check_rule jr_check_forms, jr_check_calls, jr_check_start, jr_check_code, jr_check_env,
    jr_check_command;

/* check_facts.c: the numbers of ranks and nodes agree with each other. */
jr_check_rule jr_check_sizes;

/* check_ranks.c: the ranks, and then the nodes, hosts and local ranks, that are named are there;
 * the kind, the list and the backends of devices agree; spares can be had. */
jr_check_rule jr_check_ranks, jr_check_places, jr_check_devices, jr_check_spares;

/* check_failures.c: progress can be read as stated, a restart can happen, and so can a hang by
 * silence, the deadline, and that the job is queued again. */
jr_check_rule jr_check_progress, jr_check_restart, jr_check_silence, jr_check_deadline,
    jr_check_requeue;

/* check_results.c: results come from where they can, their fields can be met, what is compared are
 * fields, a stream that is read is kept, and no two ranks that deliver share a file. */
jr_check_rule jr_check_source, jr_check_fields, jr_check_comparisons, jr_check_capture,
    jr_check_shared;

/* check_texts.c: warnings by the looks of texts. */
jr_check_rule jr_check_secrets, jr_check_vars, jr_check_shell_syntax, jr_check_patterns;

/* The globs of `secrets`; the default ones when the spec states none. */
struct jr_strv jr_check_secret_globs(struct jr_lint *lint, const struct jr_node *tree);

/* A number that is stated, or follows from others that are. */
struct jr_known {
    const struct jr_node *node; /* what to point at; NULL: there is none */
    uint64_t value;
    const char *said; /* "nodes 2 x local_world_size 4" */
    bool told;        /* the value may be told: no ${...} had a part in it */
};

/* The number that the spec states at `path`. */
struct jr_known jr_check_number(const struct jr_check *check, const char *path);

/* How many of something there are, as the spec alone decides it. */
struct jr_sizes {
    struct jr_known world, nodes;
    struct jr_known local;      /* of the largest node */
    const struct jr_node *list; /* local_world_size, one entry per node; NULL */
};

/* The sizes that the spec states, or that follow from those that it does. */
struct jr_sizes jr_check_known(const struct jr_check *check);

/* `hosts`, where it has an entry for each node; NULL: it is not stated, or has
 * those of a sweep over ssh (jr_spec_pools_hosts). */
const struct jr_node *jr_check_node_hosts(const struct jr_check *check);

/* "8 ranks", or in words where the number may not be told. */
const char *jr_check_amount(const struct jr_check *check, const struct jr_known *known,
                            const char *what);

/* The most ranks that a node may have: local_world_size, or else as many as the job has. */
const struct jr_known *jr_check_most(const struct jr_sizes *sizes);

/* Words for the same: "a node has 4 local ranks". In the document's arena; "" if memory runs
 * out. */
const char *jr_check_say_most(const struct jr_check *check, const struct jr_sizes *sizes);

/* Whether a field is stated but its value is not known: it is wrong, or comes from outside. */
bool jr_check_is_open(const struct jr_check *check, const char *path);

/* What the spec says at a path, be it wrong; NULL: nothing. */
const struct jr_node *jr_check_raw(const struct jr_check *check, const char *path);

/* A stated text, or NULL. */
const char *jr_check_text(const struct jr_check *check, const char *path);

/* A contradiction at `at` with what `other` states. */
struct jr_diag *jr_check_clash(const struct jr_check *check, enum jr_diag_code code,
                               const struct jr_node *at, const struct jr_node *other,
                               const char *format, ...) __attribute__((format(printf, 5, 6)));

/* Complain at `at` where nothing keeps the stream, stdout or stderr, of some rank in a file. */
void jr_check_kept(const struct jr_check *check, const struct jr_node *at, const char *stream);

/* Whether a rule of `redirects` or `tee` (NULL: not stated) takes the stream, "out" or "err", of a
 * local rank. */
bool jr_check_takes(const struct jr_check *check, const struct jr_node *rules, const char *word,
                    uint32_t rank);

/* The reader of a cause of a restart. lint_value.c */
jr_reader jr_read_trigger;

/* What a rank matches that this signal ends, for a code as a shell gives it. lint_value.c */
const char *jr_lint_signal_cause(struct jr_lint *lint, int signal);

/* Profiles of the user's own: the files that `env_profiles` names beside its words. Each is a
 * mapping with `env` and `env_remove`, of the form that they have in a spec, and becomes part of
 * the tree there:
 *
 *   env         the spec's entries over those of the files, later files over earlier ones; so both
 *               come after the profiles that are words
 *   env_remove  those of the files, then the spec's
 *
 * What is left of `env_profiles` are words. All else about the entries, their names and templates,
 * is checked where the spec's own are. env_profile.c */

/* Whether the tree names a file among its profiles. */
bool jr_profiles_named(const struct jr_node *root);

/* Take them in. Returns 0, or -1 with findings. */
int jr_profiles_merge(struct jr_doc *doc, const struct jr_shapes *shapes,
                      const struct jr_reader *reader, struct jr_diags *diags);

/* References in shell text: ${vars.lr}, which no shell can read, becomes ${JOBRUN_VAR_lr}, and
 * `env` gets JOBRUN_VAR_lr: "${vars.lr}", so that quotes, $(( )) and values with blanks are the
 * shell's. Any other dotted path of the spec is named with its dots as underscores. What has no dot
 * is the shell's own.
 *
 * Change `entrypoint.shell` and `setup` of a whole tree so, before ${...} is replaced in it. What
 * has the tag !!str is left alone. Where the shell would not read a reference, in single quotes or
 * in a here-document whose word is quoted, and where its name is none for a variable, that is a
 * finding. shell_variables.c */
void jr_shell_variables(struct jr_doc *doc, struct jr_diags *diags);

/* The reading of a sweep. */
struct jr_sweep_reading {
    struct jr_sweep_axes *axes;
    struct jr_doc *doc;
    struct jr_arena *arena; /* the document's */
    struct jr_diags *diags;
    struct jr_sweep_axis *draws; /* the fields that are drawn; NULL: none yet */
};

/* A finding at a node of an axis, which is called by its key. sweep_axes.c */
struct jr_diag *jr_sweep_refuse(struct jr_sweep_reading *reading, enum jr_diag_code code,
                                struct jr_span span, const char *key, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

/* Fill in the values of an axis whose fields are known. False after a finding. sweep_values.c */
bool jr_sweep_read_values(struct jr_sweep_reading *reading, struct jr_sweep_axis *axis,
                          struct jr_node *value);

/* Whether a value says how others are drawn: {uniform: [0, 1]}. */
bool jr_sweep_is_draw(const struct jr_node *value);

/* Fill in the draws of all fields that are drawn, and leave out those that are the same as an
 * earlier one, which is a warning. */
void jr_sweep_draw(struct jr_sweep_reading *reading);

/* The values of the node, as other programs write them, as an axis has them here, in the arena or
 * constant; NULL: it is not known what was meant. */
const char *jr_sweep_meant_values(struct jr_arena *arena, const struct jr_node *node);

/* Whether a text is a range as others write it, range(3), 1..10..3; and, where it is `alone`, 1:4
 * and 1-4. *ret_meant is how it is written here, as an option or in a spec; NULL: it is not alone,
 * has no value, or nobody can know its step. */
bool jr_sweep_is_meant_range(struct jr_arena *arena, const char *text, bool alone, bool option,
                             const char **ret_meant);

/* load.c: a spec, its text and its tree; and the spec that is assumed if there is none. */
struct jr_spec_file {
    struct jr_doc doc;
    struct jr_node *tree;
    const char *folder, *here, *stem; /* what binding takes besides the tree */
    bool base;                        /* a template */
    bool sweeps;                      /* see jr_spec_sweeps */
    bool pools;                       /* see jr_spec_pools_hosts */
    struct jr_spec *spec;
};

/* The name of a spec that states none: that of its file, without the usual ending, and with
 * characters that a name may not contain replaced. In `arena`; NULL if memory runs out. */
char *jr_spec_stem(struct jr_arena *arena, const char *path);

/* Append the spec of a bare command, NULL-terminated; `n` ranks, or 0 for as many as there are to
 * be. Memory failure shows in `arena` or `out`. */
void jr_spec_write_command(struct jr_buf *out, struct jr_arena *arena, uint32_t n,
                           char *const *argv);

/* assemble.c: from a document to the whole tree, by parents, --set, ${...}. */

/* What a document becomes the whole tree by: parents, --set, ${...}. */
struct jr_assembly {
    const struct jr_spec_options *options;
    struct jr_file file; /* that the document is from */
    const char *here;    /* absolute: what a path in --set is relative to */
};

/* Make doc->root the whole tree. Returns -1 with findings when there is no tree that it makes sense
 * to look at, else 0, with or without findings. */
int jr_assemble(struct jr_doc *doc, const struct jr_assembly *assembly, struct jr_diags *diags);

/* Whether the spec says that it is only a base for others. */
bool jr_assembly_is_template(const struct jr_node *root);

/* Whether the spec says that its hosts are reached by ssh, or what is wrong with that is
 * reported. */
bool jr_assembly_states_ssh(const struct jr_node *root);

/* Whether the document, once it is put together, is several specs, and whoever reads it wants to
 * know: options->sweeps. */
bool jr_assembly_sweeps(const struct jr_assembly *assembly, const struct jr_doc *doc);

/* The shapes of the field table. */
struct jr_shapes jr_shapes_make(void);

/* Whether a key is the user's own, which is kept and never read. */
bool jr_shapes_is_own(const char *key);

/* cyaml_bind.c: from the tree in normal form to the struct, by libcyaml. */

/* Bind a tree without mistakes; `stem` is the name of a spec that states none. A failure is
 * jobrun's own fault and goes to the lint's diags. */
int jr_bind_spec(struct jr_spec **ret, struct jr_lint *lint, const struct jr_node *tree,
                 const char *stem);

/* NULL is allowed. */
void jr_bind_free(struct jr_spec *spec);

#endif
