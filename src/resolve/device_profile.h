/*
 * The facts of a machine that is not this one: `--on 2x8:H100`, a facts file, or what another node
 * has sent. Profiles are written by facts.c.
 */
#ifndef JR_DEVICE_PROFILE_H
#define JR_DEVICE_PROFILE_H

#include "base/buf.h"
#include "diag/diag.h"
#include "host/host.h"

/* Facts from --on: the shorthand NODESxDEVICES[:MODEL][,CPUSc][,MEMg], or the path of a facts file.
 * Into `arena`. Returns 0, or -1 with the mistakes, or that there was no memory, in `diags`. */
int jr_profile_load(struct jr_host *ret, struct jr_arena *arena, const char *profile,
                    struct jr_diags *diags);

/* The same for a profile that a spec states at `at`. Mistakes in the short form, or in the file as
 * a whole, are reported there; mistakes within the file, at their position in it. The facts' origin
 * is "the target". */
int jr_profile_load_target(struct jr_host *ret, struct jr_arena *arena, const char *profile,
                           struct jr_span at, struct jr_diags *diags);

/* What the mistakes in a profile, from the first one on, mean for who named it on the command line:
 * a profile that cannot be read is JR_STATUS_USAGE; one of a machine that cannot be is
 * JR_STATUS_UNRESOLVED; no memory is JR_STATUS_LAUNCH. */
enum jr_status jr_profile_status(const struct jr_diags *diags, size_t first);

/* Read facts that a node emitted; `name` is what findings call the text. Returns 0, or -1 with the
 * mistakes in `diags`. */
int jr_profile_read(struct jr_host *ret, struct jr_arena *arena, const char *name, const char *text,
                    size_t len, struct jr_diags *diags);

/* Append facts as the YAML that --on reads. facts.c */
void jr_profile_emit(struct jr_buf *out, const struct jr_host *hw);

#endif
