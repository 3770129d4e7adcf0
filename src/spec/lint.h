/*
 * Reading a tree against the field table: all mistakes in one pass, and the tree in normal form.
 * Private to this folder.
 *
 *   jr_lint_value    a node of any type         mappings, lists, ${...}
 *   jr_read_value    a function's argument      entry_arguments.c
 *   jr_read_*        a scalar of one kind       lint_value.h, lint_number.h,
 *                                               lint_duration.h
 *   jr_read_streams  redirects and tee          lint_redirect.h
 *   jr_read_trigger  a cause of a restart       check_failures.h
 *   jr_lint_error    a mistake at a node        lint_finding.h
 *   jr_lint_unknown  a key that is not a field  lint_unknown.h
 *
 * What may have been meant: lint_suggest.h.
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

/* Readers of scalars. The node is one, and `type` is of their kind. Each returns its normal form,
 * or NULL after a finding. */
typedef struct jr_node *jr_reader(struct jr_lint *lint, const struct jr_spec_type *type,
                                  const struct jr_node *node, const struct jr_node_step *at);

/* The reader of nodes of this kind that nothing was put into; NULL for none. */
jr_reader *jr_lint_reader(enum jr_spec_kind kind);

/* The reader of an argument of a function, which reads any node. entry_arguments.c */
jr_reader jr_read_value;

#endif
