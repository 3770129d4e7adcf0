/*
 * What the fields of a spec are about: the experiment, or only where it ran, what it is called, how
 * it was watched and written down. The rows of the field table say it; here it is looked up, and
 * the experiment gets its fingerprint.
 */
#ifndef JR_FINGERPRINT_H
#define JR_FINGERPRINT_H

#include "diag/diag.h"
#include "doc/doc.h"
#include "resolve/resolve.h"
#include "spec/field.h"

/* The part of a top-level key, or of the dotted path below one: that of the innermost field that
 * the path leads to. What is not a field is the experiment's, except for the user's own keys. */
enum jr_part jr_part_of(const char *path);

/* The word for a part, as `diff` shows it. */
const char *jr_part_word(enum jr_part part);

/* Whether a top-level field is placement that the resolver chose; a rerun resolves it again. */
bool jr_part_moves(const char *key);

/* Put paths of the experiment that are within a git work tree in relation to its top
 * ("./jobs/train.py"), in place; new texts live in `arena`. */
void jr_part_relate_paths(struct jr_arena *arena, struct jr_node *root);

/* The same, but relative to `folder`, absolute, of its work tree or, where it is in none, of its
 * own files: "train.py", "../data". Other paths stay. */
void jr_part_relate_paths_to(struct jr_arena *arena, struct jr_node *root, const char *folder);

/* Leave in a resolved tree, in place, what makes the experiment, without what is at its default or
 * follows from the rest. */
void jr_part_keep_experiment(struct jr_node *root);

/* Set job.fingerprint: SHA-256, in hex, over the resolved spec in a canonical form without what
 * does not change the experiment. Two runs with the same one ran the same experiment. Without
 * memory the resolution's arena fails. */
void jr_fingerprint(struct jr_resolution *resolution, const struct jr_spec_file *file);

/*
 * A lock: the experiment of a resolved spec as a spec, without placement and with paths relative to
 * the spec's folder, so that it can be committed beside the spec and held against it later, on any
 * machine.
 */

/* Append the lock of what was resolved from `file`. */
void jr_lock_emit(struct jr_buf *out, const struct jr_resolution *resolution,
                  const struct jr_spec_file *file);

/* Hold what was resolved against the lock at `path`; "" is NAME.lock.yaml beside the spec. What
 * differs, and a lock that cannot be read, are findings, whose texts live in `arena`. Returns
 * JR_STATUS_OK, JR_STATUS_INVALID, or JR_STATUS_LAUNCH without memory. */
enum jr_status jr_lock_check(const struct jr_resolution *resolution,
                             const struct jr_spec_file *file, const char *path,
                             struct jr_arena *arena, struct jr_diags *diags);

#endif
