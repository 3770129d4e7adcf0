/*
 * Reading a tree against the field table: all mistakes in one pass, and the
 * tree in normal form. Private to this folder.
 *
 *   jr_lint_value    a node of any type         lint.c: mappings, lists, ${...}
 *   jr_read_value    a function's argument      entry_arguments.c
 *   jr_read_*        a scalar of one kind       lint_value.c, lint_number.c,
 *                                               lint_duration.c
 *   jr_read_streams  redirects and tee          lint_redirect.c
 *   jr_read_trigger  a cause of a restart       check_failures.c
 *   jr_lint_error    a mistake at a node        lint_finding.c
 *
 * What may have been meant, and a key that is not a field: lint_suggest.h.
 *
 * A reader returns the node's normal form, or NULL after it has complained.
 */
#ifndef JR_LINT_H
#define JR_LINT_H

#include "base/rank_set.h"
#include "doc/doc.h"
#include "doc/node_path.h"
#include "spec/field.h"

struct jr_regex;

/* The pattern of a type, compiled. */
struct jr_pattern {
    const struct jr_spec_type *type;
    struct jr_regex *regex; /* NULL: there was no memory for it */
};

struct jr_lint {
    struct jr_arena *arena; /* the document's */
    struct jr_diags *diags;
    const char *folder; /* absolute: what paths are relative to */
    const char *here;   /* absolute: what a default below the user is */
    bool validate;      /* ??? is not known, which is no mistake ... */
    bool strict;        /* ... and yet it is */
    bool composed;      /* null may be what is left of a removal */
    bool base;          /* a template: required fields may be missing */
    bool cell;          /* a cell of a sweep: %{cell} is known */
    bool garbled;       /* a parent, --set or a ${...} was wrong: what is read,
                           and what not, cannot be said */
    bool call;          /* arguments are those of a function: any values */
    struct jr_pattern *compiled; /* those of text types, as they are needed */
    size_t compiled_count;
};

/* Read the whole document. Returns its normal form, without what was wrong;
 * NULL when nothing can be made of it. */
struct jr_node *jr_lint_spec(struct jr_lint *lint, const struct jr_node *root);

/* Free the compiled patterns. */
void jr_lint_release(struct jr_lint *lint);

/* Read a node of any type: its normal form, or NULL after a finding. */
struct jr_node *jr_lint_value(struct jr_lint *lint,
                              const struct jr_spec_type *type,
                              const struct jr_node *node,
                              const struct jr_node_step *at);

/* The same for a scalar that contains ${...}. lint_template.c */
struct jr_node *jr_lint_filled(struct jr_lint *lint,
                               const struct jr_spec_type *type,
                               const struct jr_node *node,
                               const struct jr_node_step *at);

/* Whether a value is nothing: the null that is left of a removal where there
 * was nothing to remove. */
bool jr_lint_is_removed(const struct jr_lint *lint, const struct jr_node *node);

/* lint_finding.c */

/* Add a finding about the value at `at`, whose path it gets. */
struct jr_diag *jr_lint_error(struct jr_lint *lint, enum jr_diag_code code,
                              struct jr_span span,
                              const struct jr_node_step *at, const char *format,
                              ...) __attribute__((format(printf, 5, 6)));

/* "'PATH' wants WANTS, not SHOWN" at the node. */
struct jr_diag *jr_lint_wrong(struct jr_lint *lint,
                              const struct jr_spec_type *type,
                              const struct jr_node *node,
                              const struct jr_node_step *at);

/* Whether the text matches the type's pattern as a whole; true without one. */
bool jr_lint_fits(struct jr_lint *lint, const struct jr_spec_type *type,
                  const char *text, size_t len);

/* The dotted path of a step: "results.fields.loss", "hosts[2]"; "the spec" for
 * NULL. In the lint's arena, safe to show. */
const char *jr_lint_path(struct jr_lint *lint, const struct jr_node_step *at);

/* A node for people: 4x in quotes, `the string "4"`, "a list". */
const char *jr_lint_shown(struct jr_lint *lint, const struct jr_node *node);

/* What the source has for a scalar: its text, or the ${...} that made it. */
const char *jr_lint_source(const struct jr_node *node);

/* The same, made safe and short enough to show. */
const char *jr_lint_said(struct jr_lint *lint, const struct jr_node *node);

/* The scalar that a value repeats, however often it was handed on; or itself.
 */
const struct jr_node *jr_lint_origin(const struct jr_node *node);

/* Relate a finding to the origin of `node`, where that is another node. */
void jr_lint_relate_origin(struct jr_lint *lint, struct jr_diag *diag,
                           const struct jr_node *node);

/* Text made safe and short enough to show, in quotes. */
const char *jr_lint_quoted(struct jr_lint *lint, const char *text, size_t len);

/* The position of bytes [from, to) of a scalar's text; the whole node where the
 * text in the file is not the text itself (folded lines, escapes). */
struct jr_span jr_lint_part(const struct jr_lint *lint,
                            const struct jr_node *node, size_t from, size_t to);

/* A scalar at the position of `from`: a new one, or `from` itself if it is
 * already right, because both trees are only read. */
struct jr_node *jr_lint_scalar(struct jr_lint *lint, const struct jr_node *from,
                               const char *text, bool plain);

/* Readers of scalars. The node is one, and `type` is of their kind. */
typedef struct jr_node *jr_reader(struct jr_lint *lint,
                                  const struct jr_spec_type *type,
                                  const struct jr_node *node,
                                  const struct jr_node_step *at);

/* The reader of nodes of this kind that nothing was put into; NULL for none. */
jr_reader *jr_lint_reader(enum jr_spec_kind kind);

/* The readers of the kinds that they are named after; the last two read any
 * node. Each returns its normal form, or NULL after a finding. */
jr_reader jr_read_integer, jr_read_number, jr_read_boolean, jr_read_duration;
jr_reader jr_read_text, jr_read_path, jr_read_word;
jr_reader jr_read_ranks, jr_read_pattern, jr_read_scalar, jr_read_trigger;
jr_reader jr_read_streams, jr_read_value;

/* Complain about what a template gets wrong; whether it is good.
 * lint_template.c */
bool jr_read_template(struct jr_lint *lint, const struct jr_node *node,
                      const struct jr_node_step *at);

/* Whether a good template begins with a word for a folder of the run: those are
 * absolute. */
bool jr_template_is_absolute(const char *text);

/* The canonical text of a rank set: "0-3,8,10-14/2". lint_value.c */
const char *jr_ranks_text(struct jr_lint *lint, const struct jr_set *set);

/* The text of a type's words, NULL-terminated, for suggestions. */
const char *const *jr_did_you_mean_list(struct jr_lint *lint,
                                        const struct jr_spec_word *words);

#endif
