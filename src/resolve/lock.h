/*
 * A lock: the experiment of a resolved spec as a spec, without placement and with paths relative to
 * the spec's folder, so that it can be committed beside the spec and held against it later, on any
 * machine.
 */
#ifndef JR_LOCK_H
#define JR_LOCK_H

#include "diag/diag.h"
#include "resolve/resolve.h"

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
