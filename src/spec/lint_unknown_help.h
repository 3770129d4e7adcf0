/* What helps with a key that is not a field: the name that it has here, where it belongs, or what
 * the keys of its mapping are. The first of the hints that has something to say is the one. */
#ifndef JR_LINT_UNKNOWN_HELP_H
#define JR_LINT_UNKNOWN_HELP_H

#include "spec/lint_unknown.h"

/* The value of the key. */
const struct jr_node *jr_unknown_value(const struct jr_unknown *unknown);

/* Give the finding about the key the best help there is for it, where `keys` are those that may be
 * suggested. Returns whether a key of the mapping may be meant. */
bool jr_lint_unknown_help(struct jr_lint *lint, struct jr_diag *diag,
                          const struct jr_unknown *unknown, const char *const *keys);

/* How a value stands in a spec: "limits: {stack: 8MiB}" of the path limits.stack. In the lint's
 * arena. */
const char *jr_lint_nested(struct jr_lint *lint, const char *path, const char *value);

/* The path of the group that has these fields: "results.fields.*". */
const char *jr_lint_group(const struct jr_spec_field *fields);

/* The one of the keys that is `name` except for case, dashes and underscores, or NULL. */
const char *jr_lint_same_name(const char *name, const char *const *keys);

/* The name of the spec's `vars` that is meant by a bare one; NULL: none. */
const char *jr_lint_near_variable(const struct jr_node *spec, const char *name);

#endif
