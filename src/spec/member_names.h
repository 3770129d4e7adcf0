/* What people call the members of a mapping of the spec, and jobrun calls
 * otherwise. */
#ifndef JR_MEMBER_NAMES_H
#define JR_MEMBER_NAMES_H

#include <stdbool.h>

/* The key that is meant by `name` in the mapping at `group`, a path as
 * jr_spec_group has it ("limits", "results.fields.*"), or NULL. Case, dashes
 * and underscores do not count. *ret_sure: it means the same by the same
 * values. */
const char *jr_member_meant(const char *group, const char *name,
                            bool *ret_sure);

#endif
