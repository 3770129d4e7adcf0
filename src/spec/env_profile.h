/*
 * Profiles of the user's own: the files that `env_profiles` names beside its words. Each is a
 * mapping with `env` and `env_remove`, of the form that they have in a spec, and becomes part of
 * the tree there:
 *
 *   env         the spec's entries over those of the files, later files over
 *               earlier ones; so both come after the profiles that are words
 *   env_remove  those of the files, then the spec's
 *
 * What is left of `env_profiles` are words. All else about the entries, their names and templates,
 * is checked where the spec's own are.
 */
#ifndef JR_ENV_PROFILE_H
#define JR_ENV_PROFILE_H

#include "doc/merge.h"
#include "doc/source_reader.h"

/* How many files there may be. */
#define JR_PROFILES_MAX 16u

/* Whether the tree names a file among its profiles. */
bool jr_profiles_named(const struct jr_node *root);

/* Take them in. Returns 0, or -1 with findings. */
int jr_profiles_merge(struct jr_doc *doc, const struct jr_shapes *shapes,
                      const struct jr_reader *reader, struct jr_diags *diags);

#endif
