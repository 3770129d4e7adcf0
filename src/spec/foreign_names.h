/*
 * Words of elsewhere: what other launchers, and habit, call the fields of a spec and their values.
 */
#ifndef JR_FOREIGN_NAMES_H
#define JR_FOREIGN_NAMES_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/buf.h"
#include "doc/doc.h"

/* Whether two names are equal except for case, dashes and underscores. */
bool jr_field_is_same_name(const char *a, const char *b);

/* The field that another launcher calls `name`, as a dotted path, or NULL. Case, dashes and
 * underscores do not count. */
const char *jr_field_foreign(const char *name);

/* Why there is no field for what another launcher calls `name`, or NULL; for jr_diag_help_text, as
 * are the two below. `top`:
 * at the top of a spec, where some words have a meaning that they have nowhere
 * else. */
const char *jr_field_needless(const char *name, bool top);

/* What to do for which others have a list or a mapping `name` at the top, and jobrun none; or
 * NULL. */
const char *jr_field_otherwise(const char *name);

/* The same for what the pods of Kubernetes have, in `engine.kubernetes`. */
const char *jr_field_pod_otherwise(const char *name);

/* Whether what another launcher calls `name` means the same by the same values, so that its name is
 * all that differs. False if there is no field for it. */
bool jr_field_foreign_is_same(const char *name);

/* The value of the field that another launcher's `name` is, where that launcher writes `value` and
 * the field has another word for it; NULL where the value stays as it is. In `arena`, or static. */
const char *jr_field_foreign_value(struct jr_arena *arena, const char *name, const char *value);

/* Append what other launchers call the field with this path: "nproc, np". */
void jr_field_others(struct jr_buf *out, const char *path);

/* The one of the allowed words, NULL-terminated, that others call `word` ("gpu" is cuda), or NULL.
 * *ret_sure: nothing else can be meant ("gpu" may be rocm as well, "nvidia" is cuda). */
const char *jr_field_foreign_word(const char *word, const char *const *allowed, bool *ret_sure);

/* The key that is meant by `name` in the mapping at `group`, a path as jr_spec_group has it
 * ("limits", "results.fields.*"), or NULL. Case, dashes and underscores do not count. *ret_sure: it
 * means the same by the same values. */
const char *jr_member_meant(const char *group, const char *name, bool *ret_sure);

/* Report that a document, as read, is the file of another program, if its keys say so: one finding,
 * instead of one for each key. */
bool jr_other_kind_report(struct jr_diags *diags, const struct jr_node *root);

#endif
