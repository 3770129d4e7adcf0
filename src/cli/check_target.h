/*
 * What `validate` holds a spec against: machines that need not be this one.
 */
#ifndef JR_CHECK_TARGET_H
#define JR_CHECK_TARGET_H

#include "resolve/resolve.h"
#include "spec/load.h"

/* Resolve the spec on a machine. `name` is shown, `at` is where the spec names
 * it (line 0: it does not). Returns what jr_resolve does. */
enum jr_status jr_target_try(const struct jr_spec_file *file,
                             const struct jr_host *hw, const char *name,
                             struct jr_span at, struct jr_diags *diags);

/* Resolve the spec on each of its own targets, whose facts are read into
 * `arena` (their texts are quoted by findings). A contradiction of the spec
 * itself ends the resolving, as no machine can mend it; profiles that cannot be
 * read are all told. Returns the lowest of what the targets got, OK aside. */
enum jr_status jr_target_try_all(const struct jr_spec_file *file,
                                 struct jr_arena *arena,
                                 struct jr_diags *diags);

/* The lower of two, OK aside: which verdict counts for several. */
enum jr_status jr_target_worse(enum jr_status a, enum jr_status b);

#endif
