/* A key that is not a field: which one was meant, and the fix where that is sure. What else helps
 * is in lint_unknown_help.h. */
#ifndef JR_LINT_UNKNOWN_H
#define JR_LINT_UNKNOWN_H

#include <stdbool.h>

#include "spec/lint.h"

/* A key that none of the fields of its mapping has. */
struct jr_unknown {
    const struct jr_spec_field *fields;
    const struct jr_node *mapping, *key;
    const struct jr_node_step *at; /* of the key's value */
};

/* Refuse it, with the name of the field that was meant. */
void jr_lint_unknown(struct jr_lint *lint, const struct jr_unknown *unknown);

/* The keys of a mapping that may be suggested, NULL-terminated. */
const char *const *jr_lint_keys(struct jr_lint *lint, const struct jr_spec_field *fields);

/* The key that is meant by `name` in the mapping at `group`, a path as jr_spec_group has it
 * ("limits", "results.fields.*"), or NULL. Case, dashes and underscores do not count. *ret_sure: it
 * means the same by the same values. */
const char *jr_member_meant(const char *group, const char *name, bool *ret_sure);

#endif
